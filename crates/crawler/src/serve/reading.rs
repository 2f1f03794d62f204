//! Reads the crawl for requests: a view that is shared while it is fresh, few readers at a time, and an end to each.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::failure::Failure;
use crate::clock;
use crate::live::Holder;
use crate::view::{View, ViewError};

/// What every request reads.
pub(super) type CrawlView = View;

/// Requests that read at the same time. A running crawl answers at most 32 processes, and this one keeps one or two connections to it.
const READERS: usize = 6;

/// How long a request waits for its turn.
const TURN: Duration = Duration::from_secs(10);

/// How long one view of a running crawl serves new requests.
const FRESH: Duration = Duration::from_secs(2);

/// How long a crawl that doesn't run stays open, and its directory locked, after a request.
pub(super) const IDLE: Duration = Duration::from_secs(5);

/// The crawl in a directory, opened when it is asked for.
pub(super) struct Reading {
    root: PathBuf,
    open: Mutex<Option<Open>>,
    turns: Arc<Semaphore>,
}

struct Open {
    view: CrawlView,
    opened: std::time::Instant,
    used: std::time::Instant,
}

/// When a reader gives up.
#[derive(Debug, Clone)]
pub(super) struct Until {
    end: Option<std::time::Instant>,
    gone: Arc<AtomicBool>,
}

impl Until {
    /// An end after some time; without one, when whoever asked is gone.
    fn after(most: Option<Duration>, gone: Arc<AtomicBool>) -> Self {
        Self { end: most.map(|most| clock::real_time() + most), gone }
    }

    /// An error once it is over.
    pub(super) fn check(&self) -> Result<(), ViewError> {
        let late = self.end.is_some_and(|end| clock::real_time() >= end);
        if !late && !self.gone.load(Ordering::Relaxed) {
            return Ok(());
        }
        let what = "this takes too long here: narrow the filter, or use `crawl show` or `crawl export`";
        Err(ViewError::Write(io::Error::new(io::ErrorKind::TimedOut, what)))
    }
}

/// Tells a reader that nobody waits for it any more.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Reading {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), open: Mutex::default(), turns: Arc::new(Semaphore::new(READERS)) }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn open(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A view for one reader.
    pub(super) fn view(&self) -> Result<CrawlView, ViewError> {
        let now = clock::real_time();
        let mut open = self.open();
        if let Some(known) = open.as_mut().filter(|known| is_fresh(known, now)) {
            known.used = now;
            return known.view.another();
        }
        // The directory is unlocked, or its holder's connection closed, before it is opened again.
        *open = None;
        let view = View::open(&self.root)?;
        let another = view.another()?;
        *open = Some(Open { view, opened: now, used: now });
        Ok(another)
    }

    /// Whether this process has locked the directory.
    pub(super) fn holds(&self) -> bool {
        self.open().as_ref().is_some_and(|open| open.view.holder().is_none())
    }

    /// Closes a view that another process served.
    pub(super) fn forget_served(&self) {
        let mut open = self.open();
        if open.as_ref().is_some_and(|known| known.view.holder().is_some()) {
            *open = None;
        }
    }

    /// Closes a view that nobody needs. Called every second.
    pub(super) fn tidy(&self) {
        let now = clock::real_time();
        let mut open = self.open();
        let is_idle = |known: &Open| match known.view.holder() {
            None => now.saturating_duration_since(known.used) >= IDLE,
            Some(_) => !is_fresh(known, now),
        };
        if open.as_ref().is_some_and(is_idle) {
            *open = None;
        }
    }

    /// Reads on a thread of its own, for at most so long.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        most: Duration,
        work: impl FnOnce(&CrawlView, &Until) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let gone = Arc::new(AtomicBool::new(false));
        let _gone = Gone(Arc::clone(&gone));
        let until = Until::after(Some(most), gone);
        self.work(move |view| work(view, &until)).await
    }

    /// Reads for as long as it takes: for what is counted once for all, or written as a download.
    pub(super) async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&CrawlView) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let turn = tokio::time::timeout(TURN, Arc::clone(&self.turns).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Failure::busy("too many requests at the same time; repeat this one in some seconds"));
        };
        let reading = Arc::clone(self);
        let working = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let result = work(&reading.view()?);
            if matches!(&result, Err(failure) if failure.status.is_server_error()) {
                // Whoever served it may have ended; the next reader finds out.
                reading.forget_served();
            }
            result
        });
        working.await.unwrap_or_else(|error| {
            Err(Failure::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
        })
    }
}

/// An end that only comes when a download is given up.
pub(super) fn until_gone(gone: Arc<AtomicBool>) -> Until {
    Until::after(None, gone)
}

fn is_fresh(open: &Open, now: std::time::Instant) -> bool {
    match open.view.holder() {
        None => true,
        Some(Holder::Crawl | Holder::Reader) => now.saturating_duration_since(open.opened) < FRESH,
    }
}
