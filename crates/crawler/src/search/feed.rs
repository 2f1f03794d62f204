//! Adds to the index what a running crawl commits: on a thread of its own, behind a channel that holds few commits.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::Timestamp;

use super::archived::Archive;
use super::catch_up::{BUILT_AT_START, Built, catch_up, is_too_much};
use super::document::{Document, Kind, kind};
use super::due;
use super::error::SearchError;
use super::writer::Writer;
use crate::commit::{CommitError, Indexer, SettledPage};
use crate::extract::ExtractLimits;
use crate::record::PageRecord;
use crate::store::{AnyStore, Store, Write};
use crate::visit::BacklogBytes;

/// Commits of the crawl that may wait.
const WAITING: usize = 2;

/// A commit of the index is made at the latest when nothing has come for so long.
const IDLE: Duration = Duration::from_secs(5);

/// What becomes of a page in the index.
#[derive(Debug)]
enum Change {
    Put(Box<Document>),
    /// Its text is to be read from the archive.
    Read(Box<PageRecord>, Kind),
    Delete(String),
}

/// What a commit of the crawl changes.
#[derive(Debug)]
struct Message {
    number: u64,
    changes: Vec<Change>,
    /// Memory that is taken until it is done.
    _held: Vec<BacklogBytes>,
}

/// The crawl's end of the channel.
#[derive(Debug)]
struct Feed {
    sender: SyncSender<Message>,
    /// The number of the next entry.
    next: u64,
    /// What the last call of `enter` kept.
    waiting: Option<(u64, Vec<Change>)>,
    /// The last entry that the index holds durably.
    durable: Arc<AtomicU64>,
    /// The last entry that was taken out of the database.
    removed: u64,
}

impl Indexer for Feed {
    fn enter(&mut self, pages: &mut [SettledPage]) -> Vec<Write> {
        let mut writes = Vec::new();
        let durable = self.durable.load(Ordering::Acquire);
        while self.removed < durable {
            self.removed += 1;
            writes.push(due::remove(self.removed));
        }
        let (mut changes, mut entered) = (Vec::new(), Vec::new());
        for page in pages {
            if let Some(change) = change(page) {
                changes.push(change);
                entered.push((page.host, page.page));
            }
        }
        if changes.is_empty() {
            return writes;
        }
        writes.push(due::enter(self.next, &entered));
        self.waiting = Some((self.next, changes));
        self.next += 1;
        writes
    }

    fn committed(&mut self, held: Vec<BacklogBytes>) -> Result<(), CommitError> {
        let Some((number, changes)) = self.waiting.take() else { return Ok(()) };
        // The thread is gone: whoever waits for it reports its error.
        self.sender
            .send(Message { number, changes, _held: held })
            .map_err(|_| CommitError::Index(SearchError::Panicked.into()))
    }
}

/// What a committed page changes in the index.
fn change(page: &mut SettledPage) -> Option<Change> {
    let record = &page.record;
    let text = page.text.take();
    let Some(kind) = kind(record) else {
        let was_stored = record.visits_before > 0 || record.withdrawn.is_some();
        return was_stored.then(|| Change::Delete(record.url.clone()));
    };
    if let (Some(text), Kind::Text) = (text, kind) {
        return Some(Change::Put(Box::new(Document::new(record, *text))));
    }
    // Not read again: the index is still right, unless it lost its body or got a date.
    if page.keeps_links && record.withdrawn.is_none() && record.unavailable_after.is_none() {
        return None;
    }
    Some(Change::Read(Box::new(record.clone()), kind))
}

/// The thread, the crawl's end of its channel, and what was taken in before.
type Started = (Indexing, Box<dyn Indexer>, Built);

/// The thread that writes the index of a running crawl.
#[derive(Debug)]
pub(crate) struct Indexing {
    thread: JoinHandle<Result<Writer, SearchError>>,
}

impl Indexing {
    /// Brings the index of the crawl in `root` up to date, and starts the thread that keeps it so. With `purge` nothing of documents
    /// that were taken out earlier stays in its files. None where a whole index would have to be built for a large crawl first: nobody
    /// shall wait for that without having asked for it.
    pub(crate) fn start(
        root: &Path,
        store: &AnyStore,
        limits: &ExtractLimits,
        now: Timestamp,
        purge: bool,
    ) -> Result<Option<Started>, SearchError> {
        if is_too_much(root, store, BUILT_AT_START)? {
            return Ok(None);
        }
        let (mut writer, built) = catch_up(root, store, limits, now)?;
        if purge {
            writer.close(true)?;
            (writer, _) = catch_up(root, store, limits, now)?;
        }
        let upto = writer.upto();
        let durable = Arc::new(AtomicU64::new(upto));
        let (sender, receiver) = sync_channel(WAITING);
        let archive = Archive::new(root, limits.clone());
        let (done, database) = (Arc::clone(&durable), Arc::downgrade(store));
        let thread = thread::Builder::new()
            .name("index".to_owned())
            .spawn(move || run(writer, archive, &receiver, &done, &database))
            .map_err(|source| SearchError::Io {
                action: "start the thread of",
                path: root.join("index"),
                source,
            })?;
        let feed = Feed { sender, next: upto + 1, waiting: None, durable, removed: upto };
        Ok(Some((Self { thread }, Box::new(feed), built)))
    }

    /// Waits until everything is taken in, once the crawl's end of the channel is gone. With `purge` nothing of documents that were
    /// taken out stays in its files.
    pub(crate) fn finish(self, purge: bool) -> Result<(), SearchError> {
        self.thread.join().map_err(|_| SearchError::Panicked)??.close(purge)
    }
}

/// Takes in what comes until nothing can come any more.
#[expect(clippy::disallowed_methods, reason = "a thread of its own: it commits while nothing comes")]
fn run(
    mut writer: Writer,
    mut archive: Archive,
    receiver: &Receiver<Message>,
    durable: &AtomicU64,
    database: &Weak<dyn Store>,
) -> Result<Writer, SearchError> {
    let commit = |writer: &mut Writer| {
        // What the index has, the database has, whatever happens. One that is closed is that of a run that has to end at once.
        let Some(database) = database.upgrade() else { return Ok(()) };
        database.sync()?;
        drop(database);
        writer.commit()?;
        durable.store(writer.upto(), Ordering::Release);
        Ok::<_, SearchError>(())
    };
    loop {
        match receiver.recv_timeout(IDLE) {
            Ok(Message { number, changes, _held }) => {
                for change in changes {
                    match change {
                        Change::Put(document) => writer.put(&document)?,
                        Change::Read(record, kind) => writer.put(&archive.document(&record, kind))?,
                        Change::Delete(url) => writer.delete(&url),
                    }
                }
                writer.reach(number);
                if writer.is_full() {
                    commit(&mut writer)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => commit(&mut writer)?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    commit(&mut writer)?;
    if archive.count.unread > 0 {
        tracing::warn!(
            "documents whose text couldn't be read for the full-text index: {}",
            archive.count.unread
        );
    }
    Ok(writer)
}
