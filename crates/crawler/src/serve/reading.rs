//! Reads the crawl for requests: few readers at a time, and an end to each.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::crawl_view::CrawlView;
use super::failure::Failure;
use super::served::Served;
use super::source::Source;
use crate::live::Copies;
use crate::view::ViewError;
use page::clock;

/// Requests that read at the same time. A running crawl answers at most 32 processes, and this one keeps one or two connections to it.
const READERS: usize = 6;

/// Searches of the full-text index at the same time: each may have thousands of words to look up.
#[cfg(feature = "search")]
const SEARCHES: usize = 2;

/// How long a request waits for its turn.
const TURN: Duration = Duration::from_secs(10);

/// The crawl that is served, and the turns of its readers.
pub(super) struct Reading {
    served: Served,
    source: Source,
    turns: Arc<Semaphore>,
    #[cfg(feature = "search")]
    searches: Arc<Semaphore>,
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
    pub(super) fn new(served: Served, copies: Copies) -> Self {
        let source = Source::of(&served, copies);
        Self {
            served,
            source,
            turns: Arc::new(Semaphore::new(READERS)),
            #[cfg(feature = "search")]
            searches: Arc::new(Semaphore::new(SEARCHES)),
        }
    }

    /// Which crawl it is.
    pub(super) fn served(&self) -> &Served {
        &self.served
    }

    /// Where it is read from.
    pub(super) fn source(&self) -> &Source {
        &self.source
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
        let turn = turn_of(&self.turns).await?;
        let reading = Arc::clone(self);
        let working = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let result = work(&reading.source.view()?);
            if matches!(&result, Err(failure) if failure.status.is_server_error()) {
                // Whoever served it may have ended; the next reader finds out.
                reading.source.forget_served();
            }
            result
        });
        working.await.unwrap_or_else(|error| {
            Err(Failure::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
        })
    }

    /// Searches the full-text index, which is read beside the database.
    #[cfg(feature = "search")]
    pub(super) async fn search<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Served) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let turn = turn_of(&self.searches).await?;
        let reading = Arc::clone(self);
        let working = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work(&reading.served)
        });
        working.await.unwrap_or_else(|error| Err(Failure::busy(error.to_string())))
    }
}

/// Waits for a turn.
async fn turn_of(turns: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Failure> {
    match tokio::time::timeout(TURN, Arc::clone(turns).acquire_owned()).await {
        Ok(Ok(turn)) => Ok(turn),
        _ => Err(Failure::busy("too many requests at the same time; repeat this one in some seconds")),
    }
}

/// An end that only comes when a download is given up.
pub(super) fn until_gone(gone: Arc<AtomicBool>) -> Until {
    Until::after(None, gone)
}
