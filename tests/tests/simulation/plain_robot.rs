//! A robot of a hundred lines that reads the model instead of HTML and robots.txt: it shows that the truth can be reached
//! politely, and with one of its faults switched on, that the oracle and the truth notice.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crawler::fetch::{Fetch as _, FetchRequest, FetchResult, RequestKind};
use crawler::frontier::{Frontier, FrontierLimits, Permit, Priority, QueuedUrl};
use crawler::pace::{Delay, DelayReason};
use crawler::store::MemoryStore;
use page::clock::Now;
use page::url::{CrawlUrl, FingerprintKey};
use tokio::time::{Instant, sleep_until};
use url::Url;
use whole_program::simweb::{Directive, Kind, RobotsForm, SimWeb, Web};

/// What the robot does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Nothing,
    IgnoresRules,
    AsksRobotsLate,
    Hurries,
    IgnoresCrawlDelay,
    IgnoresRetryAfter,
    FailsOpen,
    KeepsRobotsForever,
    FollowsNofollow,
    ForgetsALink,
    LeavesScope,
}

pub(crate) struct PlainRobot {
    sim: SimWeb,
    fault: Fault,
    delay: Duration,
    /// Per host: when it may be asked again.
    next: BTreeMap<String, Instant>,
    /// Per host: until when its robots.txt may be relied on.
    fresh: BTreeMap<String, Instant>,
}

impl PlainRobot {
    pub(crate) fn new(sim: &SimWeb, fault: Fault, delay: Duration) -> Self {
        Self { sim: sim.clone(), fault, delay, next: BTreeMap::new(), fresh: BTreeMap::new() }
    }

    /// Crawls from the seeds, one request at a time; a URL is tried three times, ten redirects are followed.
    pub(crate) async fn crawl(&mut self) {
        let web = self.sim.web().clone();
        let scope: BTreeSet<&str> = web.seeds.iter().map(|seed| Web::split(seed).0).collect();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut queue: VecDeque<(String, usize)> = web.seeds.iter().map(|seed| (seed.clone(), 0)).collect();
        while let Some((url, hops)) = queue.pop_front() {
            let (host, path) = Web::split(&url);
            let inside =
                scope.contains(host) || (self.fault == Fault::LeavesScope && web.sites.contains_key(host));
            if !inside || !seen.insert(url.clone()) {
                continue;
            }
            let mut status = None;
            for _ in 0..3 {
                if !self.may_fetch(&web, host, path).await {
                    break;
                }
                status = self.ask(host, &url, RequestKind::Page).await.ok().map(|response| response.status);
                if status.is_some_and(|status| status < 500 && status != 429) {
                    break;
                }
            }
            match web.resource(&url).map(|resource| &resource.kind) {
                Some(Kind::Page(page)) if status == Some(200) => {
                    let stop = page.asks(Directive::Nofollow) && self.fault != Fault::FollowsNofollow;
                    let links =
                        page.links.iter().filter(|link| link.kind.is_queued() && !link.nofollow && !stop);
                    let skip = usize::from(self.fault == Fault::ForgetsALink && page.links.len() > 4);
                    queue.extend(links.skip(skip).map(|link| (link.to.clone(), 0)));
                }
                Some(Kind::Redirect(_, to)) if status.is_some() && hops < 10 => {
                    queue.push_back((to.clone(), hops + 1));
                }
                _ => {}
            }
        }
    }

    /// Sees to it that robots.txt is known, and says what it says.
    async fn may_fetch(&mut self, web: &Web, host: &str, path: &str) -> bool {
        let robots = &web.sites[host].robots;
        // Freshness counts at the moment of sending, not when the wait begins.
        self.wait_for(host).await;
        let known = self.fresh.get(host).is_some_and(|until| *until > Instant::now());
        if !(known || self.fault == Fault::KeepsRobotsForever && self.fresh.contains_key(host)) {
            if self.fault == Fault::AsksRobotsLate {
                let _early = self.ask(host, &format!("http://{host}{path}"), RequestKind::Page).await;
            }
            self.learn(web, host).await;
        }
        let open = match &robots.form {
            RobotsForm::Missing | RobotsForm::Html => true,
            RobotsForm::Forbidden | RobotsForm::Circle => false,
            RobotsForm::Moved(to) => may_follow(web, host, to) && robots.rules.allows(path),
            _ => robots.rules.allows(path),
        };
        open || self.fault == Fault::IgnoresRules
    }

    async fn learn(&mut self, web: &Web, host: &str) {
        let robots = &web.sites[host].robots;
        let mut url = format!("http://{host}/robots.txt");
        for _ in 0..6 {
            let answer = self.ask(Web::split(&url).0, &url, RequestKind::Robots).await;
            match answer {
                Ok(response) if (300..400).contains(&response.status) => {
                    response.header("location").expect("a redirect has a target").clone_into(&mut url);
                    let other = Web::split(&url).0.to_owned();
                    if other != host && !self.fresh.contains_key(&other) {
                        // What lies on another host is for that host's robots.txt to say.
                        Box::pin(self.learn(web, &other)).await;
                    }
                    if !may_follow(web, host, &url) {
                        break;
                    }
                }
                Ok(response) if response.status < 500 && response.status != 429 => break,
                _ if self.fault == Fault::FailsOpen => break,
                _ => {
                    let patience = Instant::now() + Duration::from_mins(5);
                    let next = self.next.entry(host.to_owned()).or_insert(patience);
                    *next = patience.max(*next);
                }
            }
        }
        if let Some(delay) = robots.rules.crawl_delay.filter(|_| self.fault != Fault::IgnoresCrawlDelay) {
            let next = self.next.entry(host.to_owned()).or_insert_with(Instant::now);
            *next = (*next).max(Instant::now() + delay);
        }
        let age = robots
            .max_age
            .map_or(Duration::from_hours(24), |age| Duration::from_secs(age).max(Duration::from_mins(10)));
        self.fresh.insert(host.to_owned(), Instant::now() + age);
    }

    #[expect(clippy::disallowed_methods, reason = "a robot of the tests has to wait too")]
    async fn wait_for(&self, host: &str) {
        if let Some(at) = self.next.get(host) {
            sleep_until(*at).await;
        }
    }

    async fn ask(&mut self, host: &str, url: &str, purpose: RequestKind) -> FetchResult {
        self.wait_for(host).await;
        let answer = self
            .sim
            .fetch(FetchRequest::new(&permit(), Url::parse(url).expect("a URL of the model"), purpose))
            .await;
        let asked = self.sim.web().sites[host].robots.rules.crawl_delay.unwrap_or_default();
        let mut gap = if self.fault == Fault::IgnoresCrawlDelay { self.delay } else { asked.max(self.delay) };
        if self.fault == Fault::Hurries {
            gap = Duration::from_millis(1);
        }
        if let Ok(response) = &answer
            && let Some(after) =
                response.header("retry-after").filter(|_| self.fault != Fault::IgnoresRetryAfter)
        {
            gap = gap.max(Duration::from_secs(after.parse().expect("seconds")));
        }
        self.next.insert(host.to_owned(), Instant::now() + gap);
        answer
    }
}

/// Whether a robots.txt may be taken from where it was moved to.
fn may_follow(web: &Web, host: &str, to: &str) -> bool {
    let (other, place) = Web::split(to);
    let robots = &web.sites[other].robots;
    other == host
        || match &robots.form {
            RobotsForm::Missing | RobotsForm::Html => true,
            RobotsForm::Forbidden | RobotsForm::Circle | RobotsForm::Moved(_) => false,
            _ => robots.rules.allows(place),
        }
}

/// A permit for a host, leased from a frontier of its own: this robot has none.
fn permit() -> Permit {
    let store = Arc::new(MemoryStore::default());
    let (now, key) = (Now::of_day(jiff::Timestamp::UNIX_EPOCH), FingerprintKey::new([7; 16]));
    let gap = Delay { length: Duration::ZERO, why: DelayReason::Configured };
    let mut frontier =
        Frontier::open(&store, FrontierLimits::default(), gap, key, now).expect("a store in memory");
    let url = CrawlUrl::parse("http://a.test/").expect("a URL");
    let id = frontier.host_id(url.host()).expect("a store in memory");
    frontier
        .admit(id, url.fingerprint(&key), QueuedUrl::seed(&url), Priority::First, true)
        .expect("a store in memory");
    frontier.lease(now).expect("a store in memory").expect("a host that is ready")
}
