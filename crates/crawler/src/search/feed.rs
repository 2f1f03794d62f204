//! Adds to the index what a running crawl commits: on a thread of its own, behind a channel that holds few commits. A PDF file is added
//! without its text, which is read later ([`later`](super::later)): nothing that a site sends has this thread work for long.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::Timestamp;

use super::archived::Archive;
use super::catch_up::{BUILT_AT_START, Built, catch_up, is_too_much};
use super::document::{Document, Kind, kind};
use super::due;
use super::error::SearchError;
use super::later::{Later, ReadPdf, Told};
use super::writer::Writer;
use crate::commit::{CommitError, Indexer, SettledPage};
use crate::record::{PageRecord, UnreadText, WaitingPdf, has_unread_texts, pdf_was_read, waiting_pdfs};
use crate::store::{AnyStore, Store, StoreError, Write};
use crate::visit::BacklogBytes;
use page::extract::{ExtractLimits, MainText};

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

/// What is handed to the thread.
#[derive(Debug)]
enum Message {
    /// What a commit of the crawl changes.
    Commit {
        number: u64,
        changes: Vec<Change>,
        /// Memory that is taken until it is done.
        held: Vec<BacklogBytes>,
    },
    /// A PDF file that was read.
    Pdf(Box<ReadPdf>),
}

/// PDF files that the index holds durably with their text, or whose text can't be read: they wait no more.
type Done = Arc<Mutex<Vec<(WaitingPdf, Option<UnreadText>)>>>;

/// Takes those that are done.
fn take(done: &Done) -> Vec<(WaitingPdf, Option<UnreadText>)> {
    std::mem::take(&mut done.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The writes for PDF files that are done, unless another version of them waits by now.
fn writes_of<S: Store + ?Sized>(
    done: Vec<(WaitingPdf, Option<UnreadText>)>,
    store: &S,
) -> Result<Vec<Write>, StoreError> {
    let mut writes = Vec::new();
    for (waiting, unread) in done {
        if waiting.waits(store)? {
            writes.extend(pdf_was_read(&waiting.url, unread));
        }
    }
    Ok(writes)
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
    pdf: Pdf,
}

/// PDF files, as the crawl's end knows them.
#[derive(Debug)]
struct Pdf {
    database: Weak<dyn Store>,
    /// The thread that reads them; none where none can be read.
    told: Option<Arc<Told>>,
    done: Done,
    /// Some may wait in the database, or be there as unread.
    has_any: bool,
    /// Some came with the last commit.
    is_new: bool,
}

impl Indexer for Feed {
    fn enter(&mut self, pages: &mut [SettledPage]) -> Vec<Write> {
        let mut writes = Vec::new();
        let durable = self.durable.load(Ordering::Acquire);
        while self.removed < durable {
            self.removed += 1;
            writes.push(due::remove(self.removed));
        }
        writes.extend(self.pdf.done());
        let (mut changes, mut entered) = (Vec::new(), Vec::new());
        for page in pages {
            if let Some(change) = self.pdf.change(page, &mut writes) {
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
            .send(Message::Commit { number, changes, held })
            .map_err(|_| CommitError::Index(SearchError::Panicked.into()))?;
        if std::mem::take(&mut self.pdf.is_new)
            && let Some(told) = &self.pdf.told
        {
            told.came();
        }
        Ok(())
    }
}

impl Pdf {
    /// The writes for files that are done.
    fn done(&self) -> Vec<Write> {
        let done = take(&self.done);
        match self.database.upgrade() {
            // What can't be looked up is read again in the next run.
            Some(database) if !done.is_empty() => writes_of(done, &*database).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// What a page changes in the index; with the writes that have a PDF file wait, or wait no more.
    fn change(&mut self, page: &mut SettledPage, writes: &mut Vec<Write>) -> Option<Change> {
        let change = change(page)?;
        let SettledPage { record, host, page, .. } = page;
        if self.has_any {
            writes.extend(pdf_was_read(&record.url, None));
        }
        if self.told.is_some() && record.warc.is_some() && matches!(change, Change::Read(_, Kind::Pdf)) {
            (self.has_any, self.is_new) = (true, true);
            writes.push(WaitingPdf::new(&record.url, *host, *page, record.fetched_at).enter());
            return Some(Change::Put(Box::new(Document::new(record, MainText::default()))));
        }
        Some(change)
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

/// The threads that write the index of a running crawl, and read PDF files for it.
#[derive(Debug)]
pub(crate) struct Indexing {
    thread: JoinHandle<Result<Writer, SearchError>>,
    later: Later,
    done: Done,
    database: Weak<dyn Store>,
}

impl Indexing {
    /// Brings the index of the crawl in `root` up to date, and starts the threads that keep it so. With `purge` nothing of documents
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
        let done = Done::default();
        let archive = || Archive::new(root, limits.clone());
        let database = Arc::downgrade(store);
        let index = Index {
            writer,
            archive: archive().leaving_pdf(),
            durable: Arc::clone(&durable),
            database: Weak::clone(&database),
            read: Vec::new(),
            done: Arc::clone(&done),
        };
        let failed =
            |source| SearchError::Io { action: "start the thread of", path: root.join("index"), source };
        let run = move || index.run(&receiver);
        let thread = thread::Builder::new().name("index".to_owned()).spawn(run).map_err(failed)?;
        let reader = archive();
        let reads_pdf = reader.running_pdf().is_some();
        let to_index = sender.clone();
        let hand_on = move |read| to_index.send(Message::Pdf(Box::new(read))).is_ok();
        let later = Later::start(reader, Weak::clone(&database), Box::new(hand_on)).map_err(failed)?;
        let pdf = Pdf {
            database: Weak::clone(&database),
            told: reads_pdf.then(|| Arc::clone(later.told())),
            done: Arc::clone(&done),
            has_any: has_unread_texts(&**store)?,
            is_new: false,
        };
        let feed = Feed { sender, next: upto + 1, waiting: None, durable, removed: upto, pdf };
        Ok(Some((Self { thread, later, done, database }, Box::new(feed), built)))
    }

    /// Who has [`finish`](Self::finish) leave the PDF files to the next run that wait.
    pub(crate) fn told(&self) -> Arc<Told> {
        Arc::clone(self.later.told())
    }

    /// Waits until everything is taken in, once the crawl's end of the channel is gone. With `purge` nothing of documents that were
    /// taken out stays in its files. Returns how many PDF files still wait to be read.
    pub(crate) fn finish(self, purge: bool) -> Result<u64, SearchError> {
        let Self { thread, later, done, database } = self;
        let count = later.finish();
        thread.join().map_err(|_| SearchError::Panicked)??.close(purge)?;
        if count.unread > 0 {
            tracing::warn!("PDF files whose text couldn't be read for the full-text index: {}", count.unread);
        }
        // The run is over: nobody else writes.
        let Some(database) = database.upgrade() else { return Ok(0) };
        let writes = writes_of(take(&done), &*database)?;
        if !writes.is_empty() {
            database.commit(writes)?;
        }
        let mut left = 0;
        for waiting in waiting_pdfs(&*database) {
            waiting?;
            left += 1;
        }
        Ok(left)
    }
}

/// What the thread that writes the index has.
struct Index {
    writer: Writer,
    archive: Archive,
    durable: Arc<AtomicU64>,
    database: Weak<dyn Store>,
    /// PDF files that were taken in since the last commit.
    read: Vec<(WaitingPdf, Option<UnreadText>)>,
    done: Done,
}

impl Index {
    /// Takes in what comes until nothing can come any more.
    #[expect(clippy::disallowed_methods, reason = "a thread of its own: it commits while nothing comes")]
    fn run(mut self, receiver: &Receiver<Message>) -> Result<Writer, SearchError> {
        loop {
            match receiver.recv_timeout(IDLE) {
                Ok(Message::Commit { number, changes, held }) => {
                    for change in changes {
                        self.take_in(change)?;
                    }
                    drop(held);
                    self.writer.reach(number);
                }
                Ok(Message::Pdf(read)) => self.take_in_pdf(*read)?,
                Err(RecvTimeoutError::Timeout) => self.commit()?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.writer.is_full() {
                self.commit()?;
            }
        }
        self.commit()?;
        if self.archive.count.unread > 0 {
            tracing::warn!(
                "documents whose text couldn't be read for the full-text index: {}",
                self.archive.count.unread
            );
        }
        Ok(self.writer)
    }

    fn take_in(&mut self, change: Change) -> Result<(), SearchError> {
        match change {
            Change::Put(document) => self.writer.put(&document),
            Change::Read(record, kind) => self.writer.put(&self.archive.document(&record, kind)),
            Change::Delete(url) => {
                self.writer.delete(&url);
                Ok(())
            }
        }
    }

    /// Takes in a PDF file, unless it was withdrawn, or fetched again, while it was read.
    fn take_in_pdf(&mut self, read: ReadPdf) -> Result<(), SearchError> {
        let Some(database) = self.database.upgrade() else { return Ok(()) };
        let ReadPdf { waiting, document, unread } = read;
        if !waiting.waits(&*database)? {
            return Ok(());
        }
        if let Some(document) = document {
            self.writer.put(&document)?;
        }
        self.read.push((waiting, unread));
        Ok(())
    }

    fn commit(&mut self) -> Result<(), SearchError> {
        // What the index has, the database has, whatever happens. One that is closed is that of a run that has to end at once.
        let Some(database) = self.database.upgrade() else { return Ok(()) };
        database.sync()?;
        drop(database);
        self.writer.commit()?;
        self.durable.store(self.writer.upto(), Ordering::Release);
        self.done.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.read);
        Ok(())
    }
}
