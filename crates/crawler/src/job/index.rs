//! The full-text index of a run: started before it, finished after it; removed if the run keeps none.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use super::JobError;
use crate::commit::Indexer;
use crate::config::Settings;
use crate::engine::Listener;
use crate::event::{CrawlEvent, Progress};
use crate::record::clear_unread_texts;
use crate::store::AnyStore;
use page::clock::Clock;

/// The full-text index, one that is being built, and texts that wait for it.
const DIRS: [&str; 3] = ["index", "index.new", "index-later"];

#[cfg(feature = "search")]
pub(super) type Index = Option<crate::search::Indexing>;
/// A build without search keeps none.
#[cfg(not(feature = "search"))]
pub(super) type Index = ();

/// Takes the number of pages that the index still lacks, once the crawl is over.
pub(super) type TellLacking = Box<dyn FnMut(u64) + Send>;

/// Shares a listener between the crawl and the index, for which the last figures are repeated with the number of pages that it lacks.
pub(super) fn share(listener: Listener, clock: Clock) -> (Listener, TellLacking) {
    let shared = Arc::new(Mutex::new((listener, Progress::default())));
    let of_index = Arc::clone(&shared);
    let tell = move |lacking| {
        let (listener, last) = &mut *of_index.lock().unwrap_or_else(PoisonError::into_inner);
        let progress = Progress { elapsed: clock.now().mono, to_index: Some(lacking), ..last.clone() };
        listener(CrawlEvent::Progress(progress));
    };
    let listener = move |event: CrawlEvent<'_>| {
        let (listener, last) = &mut *shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let CrawlEvent::Progress(progress) = &event {
            last.clone_from(progress);
        }
        listener(event);
    };
    (Box::new(listener), Box::new(tell))
}

/// Has the index brought up to date, and take in what the run commits; with `purge` nothing of documents that were taken out stays in
/// its files.
#[cfg(feature = "search")]
pub(super) fn start(
    root: &Path,
    store: &AnyStore,
    settings: &Settings,
    now: Timestamp,
    purge: bool,
    tell: TellLacking,
) -> Result<(Index, Option<Box<dyn Indexer>>), JobError> {
    if !settings.index.enabled {
        clear_unread_texts(&**store)?;
        remove(root)?;
        return Ok((None, None));
    }
    let limits = settings.page.extract_limits(settings.limits.max_links_per_page);
    let Some((indexing, indexer, built)) =
        crate::search::Indexing::start(root, store, &limits, now, purge, tell)?
    else {
        tracing::warn!(
            "this crawl is large and has no full-text index of this version, so the run keeps none; run `crawl index {}` after it",
            root.display()
        );
        clear_unread_texts(&**store)?;
        remove(root)?;
        return Ok((None, None));
    };
    if built.pages > 0 {
        tracing::info!("pages added to the full-text index: {}", built.pages);
    }
    if built.unarchived > 0 {
        tracing::warn!(
            "pages that the full-text index finds only by title, description and URL, because their bodies aren't archived: {}",
            built.unarchived
        );
    }
    if built.crashed > 0 {
        tracing::warn!(
            "pages that the full-text index finds only by title, description and URL, because their body ended a process that read it: {}",
            built.crashed
        );
    }
    Ok((Some(indexing), Some(indexer)))
}

/// Removes an index that an earlier run made: nobody keeps it up to date.
#[cfg(not(feature = "search"))]
pub(super) fn start(
    root: &Path,
    store: &AnyStore,
    _: &Settings,
    _: Timestamp,
    _: bool,
    _: TellLacking,
) -> Result<(Index, Option<Box<dyn Indexer>>), JobError> {
    clear_unread_texts(&**store)?;
    remove(root)?;
    Ok(((), None))
}

/// Waits until the index holds everything. Pages that it lacks, and PDF files that wait to be read, wait for the next run once `leave`
/// returns.
#[cfg(feature = "search")]
pub(super) async fn finish(
    index: Index,
    purge: bool,
    leave: impl Future<Output = ()>,
) -> Result<(), JobError> {
    let Some(indexing) = index else { return Ok(()) };
    let told = indexing.told();
    let mut finishing = tokio::task::spawn_blocking(move || indexing.finish(purge));
    let finished = tokio::select! {
        // A run that has to leave them begins none.
        biased;
        () = leave => {
            told.leave();
            finishing.await
        }
        finished = &mut finishing => finished,
    };
    let left = finished.map_err(|_| JobError::Panicked)??;
    for (count, what, verb) in [
        (left.pages, "pages that the full-text index lacks yet", "takes them in"),
        (left.pdf, "PDF files whose text isn't in the full-text index yet", "reads them"),
    ] {
        if count > 0 {
            tracing::warn!("{what}: {count}; the next run or `crawl index DIR` {verb}");
        }
    }
    Ok(())
}

#[cfg(not(feature = "search"))]
#[expect(clippy::unused_async, reason = "with search it waits")]
pub(super) async fn finish((): Index, _: bool, _: impl Future<Output = ()>) -> Result<(), JobError> {
    Ok(())
}

/// Removes the index, whole or not: what was withdrawn without it would stay there.
pub(super) fn remove(root: &Path) -> Result<(), JobError> {
    for dir in DIRS.map(|name| root.join(name)) {
        match std::fs::remove_dir_all(&dir) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(JobError::Index { dir: root.to_owned(), source });
            }
            _ => {}
        }
    }
    Ok(())
}
