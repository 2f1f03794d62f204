//! The running web: counts requests, keeps time and writes the log.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::answer::{Answer, Reply, answer, space_answer};
use super::model::{Robots, RobotsForm, Site, Web};
use super::space::Space;
use crate::request_log::{Request, RequestKind};
use crate::rules::Rules;

/// A generated web that answers over the crawler's seam, on tokio's clock.
///
/// Clones share one log, so that a crawl may be stopped and resumed against the same web.
#[derive(Clone, Debug)]
pub struct SimWeb {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    web: Web,
    /// What its only site shows beside what the model has.
    space: Option<Space>,
    start: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    asked: HashMap<String, usize>,
    log: Vec<Request>,
    open: usize,
    most_open: usize,
    /// When the machine of whoever asks has no file descriptors.
    short: Vec<(Duration, Duration)>,
    refused: u64,
    /// When a host takes no connections.
    down: Vec<(String, Duration, Duration)>,
}

impl SimWeb {
    /// Puts a web on line. Must be called within the runtime whose clock the crawl uses.
    pub fn new(web: Web) -> Self {
        Self::showing(web, None)
    }

    /// Puts one site on line that has a space of URLs without end. As [`SimWeb::new`].
    pub fn of_space(host: &str, space: Space) -> Self {
        let rules = Rules::default();
        let form = RobotsForm::Missing;
        let robots = Robots { rules, form, failures: Vec::new(), later: Vec::new(), max_age: None };
        let site = Site { robots, latency: Duration::from_millis(20), resources: BTreeMap::new() };
        let sites = BTreeMap::from([(host.to_owned(), site)]);
        let web = Web { seed: space.seed, sites, seeds: vec![format!("http://{host}/")] };
        Self::showing(web, Some(space))
    }

    fn showing(web: Web, space: Option<Space>) -> Self {
        Self { shared: Arc::new(Shared { web, space, start: Instant::now(), state: Mutex::default() }) }
    }

    /// The model.
    pub fn web(&self) -> &Web {
        &self.shared.web
    }

    /// The space of its only site.
    pub fn space(&self) -> Option<Space> {
        self.shared.space
    }

    /// Time since the web is on line, as in the log.
    pub fn now(&self) -> Duration {
        self.shared.start.elapsed()
    }

    /// Leaves whoever asks without a file descriptor in this time: nothing reaches the web, and the log.
    pub fn run_short(&self, from: Duration, until: Duration) {
        self.state().short.push((from, until));
    }

    /// Has a host take no connections in this time.
    pub fn go_down(&self, host: &str, from: Duration, until: Duration) {
        self.state().down.push((host.to_owned(), from, until));
    }

    /// Whether the host takes no connections now.
    pub(super) fn is_down(&self, host: &str) -> bool {
        let now = self.now();
        self.state().down.iter().any(|(of, from, until)| of == host && (*from..*until).contains(&now))
    }

    /// How many requests weren't made for want of a descriptor.
    pub fn refused(&self) -> u64 {
        self.state().refused
    }

    /// Whether there is no descriptor now.
    pub(super) fn is_short(&self) -> bool {
        let now = self.now();
        let mut state = self.state();
        let short = state.short.iter().any(|(from, until)| (*from..*until).contains(&now));
        state.refused += u64::from(short);
        short
    }

    /// Every request so far, in the order in which they ended.
    pub fn log(&self) -> Vec<Request> {
        self.state().log.clone()
    }

    /// How many requests were in flight at once at most.
    pub fn most_open(&self) -> usize {
        self.state().most_open
    }

    /// Requests for pages, by URL.
    pub fn page_counts(&self) -> HashMap<String, usize> {
        let mut counts = HashMap::new();
        for request in self.state().log.iter().filter(|request| request.purpose == RequestKind::Page) {
            *counts.entry(request.url()).or_default() += 1;
        }
        counts
    }

    /// Begins a request: the answer that it shall get, and its line in the log.
    pub(super) fn begin(&self, url: &Url) -> (Option<Answer>, Flight) {
        let mut url = url.clone();
        url.set_fragment(None);
        let origin = url.origin().ascii_serialization();
        let path = url.as_str().strip_prefix(&origin).unwrap_or("/").to_owned();
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut state = self.state();
        let nth = state.asked.entry(url.as_str().to_owned()).or_default();
        // Only plain http on port 80 is served; anything else finds nobody there.
        let found = if url.scheme() == "http" && url.port().is_none() {
            let found = answer(&self.shared.web, url.as_str(), *nth);
            let is_page = |answer: &Answer| answer.purpose == RequestKind::Page;
            match self.shared.space.filter(|_| found.as_ref().is_some_and(is_page)) {
                Some(space) => Some(space_answer(space.answer(&path))),
                None => found,
            }
        } else {
            None
        };
        *nth += 1;
        state.open += 1;
        state.most_open = state.most_open.max(state.open);
        drop(state);
        let now = self.shared.start.elapsed();
        let request = Request {
            start: now,
            end: now,
            host,
            origin,
            path,
            purpose: found.as_ref().map_or(RequestKind::Page, |answer| answer.purpose),
            status: None,
            retry_after: None,
            lesson: None,
        };
        (found, Flight { sim: self.clone(), request })
    }

    /// How long an answer takes.
    pub(super) fn latency(&self, host: &str) -> Duration {
        self.shared.web.sites.get(host).map_or(Duration::from_millis(20), |site| site.latency)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way; its line lands in the log when it ends, also when the client goes away in the middle.
#[derive(Debug)]
pub(super) struct Flight {
    sim: SimWeb,
    request: Request,
}

impl Flight {
    /// Ends the request with what the client gets.
    pub(super) fn answered(mut self, answer: &Answer) {
        if let Reply::Response { status, headers, .. } = &answer.reply {
            self.request.status = Some(*status);
            let after = headers.iter().find(|(name, _)| name == "retry-after");
            self.request.retry_after =
                after.and_then(|(_, value)| value.parse().ok()).map(Duration::from_secs);
        }
        self.request.lesson.clone_from(&answer.lesson);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.request.end = self.sim.shared.start.elapsed();
        let mut state = self.sim.state();
        state.open -= 1;
        state.log.push(self.request.clone());
    }
}
