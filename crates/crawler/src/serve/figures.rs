//! Figures that need a pass over the whole crawl: counted in the background, one at a time, seldom enough not to burden a crawl, and kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

use super::crawl_view::CrawlView;
use super::failure::Failure;
use super::reading::Reading;
use page::clock;

/// A count isn't repeated before this many times as long as it took have passed: at most a twentieth of one reader's time.
const REST: u32 = 20;

/// The shortest time between two counts.
const LEAST: Duration = Duration::from_secs(5);

const COUNTING: &str = "the crawl is being counted; this page loads again in some seconds";

/// A figure, and when it was counted.
#[derive(Debug)]
pub(super) struct Counted<T> {
    pub(super) value: Arc<T>,
    pub(super) at: Timestamp,
    /// The commits that the database had.
    commits: u64,
}

impl<T> Clone for Counted<T> {
    fn clone(&self) -> Self {
        Self { value: Arc::clone(&self.value), at: self.at, commits: self.commits }
    }
}

/// One figure of the crawl.
pub(super) struct Figure<T> {
    state: Arc<Mutex<State<T>>>,
    changed: watch::Sender<u64>,
    /// Lets one count of all figures go on at a time.
    one: Arc<tokio::sync::Mutex<()>>,
}

struct State<T> {
    last: Option<Counted<T>>,
    /// Why the last count failed.
    failed: Option<String>,
    /// When the last one ended, and how long it took.
    ended: Option<(std::time::Instant, Duration)>,
    is_counting: bool,
}

impl<T: Send + Sync + 'static> Figure<T> {
    pub(super) fn new(one: &Arc<tokio::sync::Mutex<()>>) -> Self {
        let state = State { last: None, failed: None, ended: None, is_counting: false };
        Self { state: Arc::new(Mutex::new(state)), changed: watch::Sender::new(0), one: Arc::clone(one) }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last count, after beginning another one if that one is old. Waits up to `patience` where there is none yet.
    pub(super) async fn get(
        &self,
        reading: &Arc<Reading>,
        patience: Duration,
        count: impl FnOnce(&CrawlView) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Counted<T>, Failure> {
        let mut changed = self.changed.subscribe();
        self.begin(reading, false, count);
        let known = || {
            let state = self.lock();
            match (&state.last, &state.failed) {
                (Some(last), _) => Some(Ok(last.clone())),
                (None, Some(failed)) => Some(Err(Failure::busy(failed.clone()))),
                (None, None) => None,
            }
        };
        if let Some(known) = known() {
            return known;
        }
        // An error of this is the time that is over.
        drop(tokio::time::timeout(patience, changed.changed()).await);
        known().unwrap_or_else(|| Err(Failure::busy(COUNTING)))
    }

    /// The count of the database as it is after so many commits or more: of a crawl that doesn't run. Waits for it up to `patience`.
    pub(super) async fn of(
        &self,
        commits: u64,
        reading: &Arc<Reading>,
        patience: Duration,
        count: impl FnOnce(&CrawlView) -> Result<T, Failure> + Clone + Send + 'static,
    ) -> Result<Counted<T>, Failure> {
        let end = clock::instant() + patience;
        loop {
            let mut changed = self.changed.subscribe();
            if let Some(last) = self.lock().last.as_ref().filter(|last| last.commits >= commits) {
                return Ok(last.clone());
            }
            self.begin(reading, true, count.clone());
            if tokio::time::timeout_at(end, changed.changed()).await.is_err() {
                return Err(Failure::busy(COUNTING));
            }
            if let Some(failed) = self.lock().failed.clone() {
                return Err(Failure::busy(failed));
            }
        }
    }

    fn begin(
        &self,
        reading: &Arc<Reading>,
        at_once: bool,
        count: impl FnOnce(&CrawlView) -> Result<T, Failure> + Send + 'static,
    ) {
        let mut state = self.lock();
        let rests = state.ended.is_some_and(|(at, took)| {
            clock::real_time().saturating_duration_since(at) < LEAST.max(took * REST)
        });
        if state.is_counting || rests && !at_once {
            return;
        }
        state.is_counting = true;
        let seen = state.last.as_ref().map(|last| last.commits);
        drop(state);
        let (shared, reading, changed, one) =
            (Arc::clone(&self.state), Arc::clone(reading), self.changed.clone(), Arc::clone(&self.one));
        tokio::spawn(async move {
            let _one = one.lock().await;
            let began = clock::real_time();
            let counted = reading
                .work(move |view| {
                    let commits = view.commits()?;
                    // Nothing was committed since.
                    let value = if seen == Some(commits) { None } else { Some(Arc::new(count(view)?)) };
                    Ok((value, commits))
                })
                .await;
            let now = clock::real_time();
            let took = now.saturating_duration_since(began);
            let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
            state.is_counting = false;
            match counted {
                Ok((value, commits)) => {
                    let at = clock::wall();
                    let value = value.or_else(|| state.last.as_ref().map(|last| Arc::clone(&last.value)));
                    state.last = value.map(|value| Counted { value, at, commits });
                    state.failed = None;
                }
                Err(failure) => state.failed = Some(failure.what),
            }
            state.ended = Some((now, took));
            drop(state);
            changed.send_modify(|number| *number += 1);
        });
    }
}
