//! Adds to the index what a running crawl commits: on a thread of its own, which yields to the crawl, behind a channel that holds few
//! commits. The crawl doesn't wait for it. Once a commit doesn't fit, the thread takes it and all later ones from the database: texts are read from the
//! archive, or from where those are kept that aren't archived ([`unarchived`](super::unarchived)). When it has caught up, commits are handed over again.
//!
//! A PDF file is added without its text, which is read later ([`later`](super::later)): nothing that a site sends has this thread work for long.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::Timestamp;

use super::archived::Archive;
use super::catch_up::{
    BUILT_AT_START, Built, is_too_much, keep_wanted_texts, open_for_run, take as take_as_it_is,
    take_unarchived,
};
use super::document::{Document, Kind, kind};
use super::due::{self, DuePage};
use super::error::SearchError;
use super::later::{Later, ReadPdf, Told};
use super::unarchived::{UnarchivedText, UnarchivedTexts};
use super::writer::Writer;
use crate::commit::{CommitError, Indexer, SettledPage};
use crate::page_store;
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
    /// With the page where its text isn't archived.
    Put(Box<Document>, Option<DuePage>),
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

/// What the crawl's end and the thread know of each other.
#[derive(Debug, Default)]
struct Shared {
    /// The last entry that the index holds durably.
    durable: AtomicU64,
    /// The last entry that the thread takes from the database; none while commits are handed over.
    behind: Mutex<Option<u64>>,
    /// Pages of the entries that it still has to take from there.
    lacking: AtomicU64,
}

impl Shared {
    fn behind(&self) -> MutexGuard<'_, Option<u64>> {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The crawl's end of the channel.
#[derive(Debug)]
struct Feed {
    sender: SyncSender<Message>,
    /// The number of the next entry.
    next: u64,
    /// What the last call of `enter` kept.
    waiting: Option<(u64, Vec<Change>)>,
    /// Gone with the thread.
    shared: Weak<Shared>,
    /// URLs that leave the index before the thread comes to their entry.
    deleted: Sender<String>,
    unarchived: UnarchivedTexts,
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
        let durable = self.shared.upgrade().map_or(0, |shared| shared.durable.load(Ordering::Acquire));
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
        let gone = || CommitError::Index(SearchError::Panicked.into());
        let shared = self.shared.upgrade().ok_or_else(gone)?;
        // The thread sees that it is behind once this is done.
        let mut behind = shared.behind();
        let left = if behind.is_some() {
            Some(changes)
        } else {
            match self.sender.try_send(Message::Commit { number, changes, held }) {
                Ok(()) => None,
                Err(TrySendError::Full(Message::Commit { changes, .. })) => Some(changes),
                Err(_) => return Err(gone()),
            }
        };
        if let Some(changes) = left {
            shared.lacking.fetch_add(changes.len() as u64, Ordering::AcqRel);
            self.leave(number, changes)?;
            *behind = Some(number);
        }
        drop(behind);
        if std::mem::take(&mut self.pdf.is_new)
            && let Some(told) = &self.pdf.told
        {
            told.came();
        }
        Ok(())
    }
}

impl Feed {
    /// Leaves an entry to be taken from the database: keeps the texts that can't be read again.
    fn leave(&self, number: u64, changes: Vec<Change>) -> Result<(), CommitError> {
        let mut texts = Vec::new();
        for change in changes {
            match change {
                Change::Put(document, Some(page)) => {
                    let Document { fetched_at, text, .. } = *document;
                    texts.push(UnarchivedText { page, fetched: fetched_at.as_millisecond(), text });
                }
                // What became of the thread the next commit finds out.
                Change::Delete(url) => drop(self.deleted.send(url)),
                Change::Put(_, None) | Change::Read(..) => {}
            }
        }
        self.unarchived.keep(number, &texts).map_err(|error| CommitError::Index(error.into()))
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
            return Some(Change::Put(Box::new(Document::new(record, MainText::default())), None));
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
        let unarchived = record.warc.is_none().then_some((page.host, page.page));
        return Some(Change::Put(Box::new(Document::new(record, *text)), unarchived));
    }
    // Not read again: the index is still right, unless it lost its body or got a date.
    if page.keeps_links && record.withdrawn.is_none() && record.unavailable_after.is_none() {
        return None;
    }
    Some(Change::Read(Box::new(record.clone()), kind))
}

/// Takes the number of pages that the index still lacks, once the crawl is over.
pub(crate) type TellLacking = Box<dyn FnMut(u64) + Send>;

/// The thread, the crawl's end of its channel, and what was built before.
type Started = (Indexing, Box<dyn Indexer>, Built);

/// The threads that write the index of a running crawl, and read PDF files for it.
#[derive(Debug)]
pub(crate) struct Indexing {
    thread: JoinHandle<Result<(Writer, u64), SearchError>>,
    later: Later,
    done: Done,
    database: Weak<dyn Store>,
    unarchived: UnarchivedTexts,
}

/// What the index lacks at the end of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lacking {
    pub(crate) pages: u64,
    /// PDF files that wait to be read.
    pub(crate) pdf: u64,
}

/// Has the thread, and every thread that it starts, run only while a processor has nothing else to do (`SCHED_IDLE`, sched(7)): on
/// other systems than Linux this would be about the process.
fn yield_to_crawl() {
    #[cfg(target_os = "linux")]
    {
        use thread_priority::{
            NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
            thread_native_id,
        };
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        // A system that refuses it has the index take its share of the processors.
        let _refused = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
    }
}

impl Indexing {
    /// Opens the index of the crawl in `root`, and starts the threads that bring it up to date and keep it so. With `purge` nothing of documents
    /// that were taken out earlier stays in its files. None where a whole index would have to be built for a large crawl first: nobody
    /// shall wait for that without having asked for it.
    pub(crate) fn start(
        root: &Path,
        store: &AnyStore,
        limits: &ExtractLimits,
        now: Timestamp,
        purge: bool,
        tell: TellLacking,
    ) -> Result<Option<Started>, SearchError> {
        if is_too_much(root, store, BUILT_AT_START)? {
            return Ok(None);
        }
        let open = || {
            yield_to_crawl();
            open_for_run(root, store, limits, now, purge)
        };
        // A thread of its own, since those of tantivy yield as the one does that they are started by.
        let opened = thread::scope(|scope| scope.spawn(open).join());
        let (writer, built, lacking) = opened.map_err(|_| SearchError::Panicked)??;
        let upto = writer.upto();
        let last = due::last(store)?.max(upto);
        let shared = Arc::new(Shared {
            durable: AtomicU64::new(upto),
            behind: Mutex::new((last > upto).then_some(last)),
            lacking: AtomicU64::new(lacking),
        });
        let (sender, receiver) = sync_channel(WAITING);
        let (deleted, to_delete) = channel();
        let done = Done::default();
        let archive = || Archive::new(root, limits.clone());
        let database = Arc::downgrade(store);
        let unarchived = UnarchivedTexts::new(root);
        let failed =
            |source| SearchError::Io { action: "start the thread of", path: root.join("index"), source };
        let reader = archive();
        let reads_pdf = reader.running_pdf().is_some();
        let to_index = sender.clone();
        let hand_on = move |read| to_index.send(Message::Pdf(Box::new(read))).is_ok();
        let later = Later::start(reader, Weak::clone(&database), Box::new(hand_on)).map_err(failed)?;
        let feed = Feed {
            sender,
            next: last + 1,
            waiting: None,
            shared: Arc::downgrade(&shared),
            deleted,
            unarchived: unarchived.clone(),
            removed: upto,
            pdf: Pdf {
                database: Weak::clone(&database),
                told: reads_pdf.then(|| Arc::clone(later.told())),
                done: Arc::clone(&done),
                has_any: has_unread_texts(&**store)?,
                is_new: false,
            },
        };
        let index = Index {
            writer,
            archive: archive().leaving_pdf(),
            shared,
            to_delete,
            unarchived: unarchived.clone(),
            taken: Vec::new(),
            told: Arc::clone(later.told()),
            tell,
            database: Weak::clone(&database),
            read: Vec::new(),
            ahead: HashMap::new(),
            done: Arc::clone(&done),
        };
        let run = move || index.run(&receiver);
        let thread = thread::Builder::new().name("index".to_owned()).spawn(run).map_err(failed)?;
        Ok(Some((Self { thread, later, done, database, unarchived }, Box::new(feed), built)))
    }

    /// Who has [`finish`](Self::finish) leave to the next run what waits.
    pub(crate) fn told(&self) -> Arc<Told> {
        Arc::clone(self.later.told())
    }

    /// Waits until everything is taken in, once the crawl's end of the channel is gone. With `purge` nothing of documents that were
    /// taken out stays in its files. Returns what remains for the next run.
    pub(crate) fn finish(self, purge: bool) -> Result<Lacking, SearchError> {
        // Whoever drops `later` has the thread leave what waits.
        let Self { thread, mut later, done, database, unarchived } = self;
        let count = later.finish();
        let (mut writer, pages) = thread.join().map_err(|_| SearchError::Panicked)??;
        if pages > 0 {
            writer.stay_unfinished();
        }
        let upto = writer.upto();
        writer.close(purge)?;
        unarchived.remove_upto(upto)?;
        if count.unread > 0 {
            tracing::warn!("PDF files whose text couldn't be read for the full-text index: {}", count.unread);
        }
        // The run is over: nobody else writes.
        let Some(database) = database.upgrade() else { return Ok(Lacking::default()) };
        let done = writes_of(take(&done), &*database)?;
        if !done.is_empty() {
            database.commit(done)?;
        }
        if purge {
            keep_wanted_texts(&unarchived, &database)?;
        }
        let mut left = Lacking { pages, pdf: 0 };
        for waiting in waiting_pdfs(&*database) {
            waiting?;
            left.pdf += 1;
        }
        Ok(left)
    }
}

/// What the thread that writes the index has.
struct Index {
    writer: Writer,
    archive: Archive,
    shared: Arc<Shared>,
    to_delete: Receiver<String>,
    unarchived: UnarchivedTexts,
    /// Entries that were taken from the database since the last commit.
    taken: Vec<u64>,
    told: Arc<Told>,
    tell: TellLacking,
    database: Weak<dyn Store>,
    /// PDF files that were taken in since the last commit.
    read: Vec<(WaitingPdf, Option<UnreadText>)>,
    /// Those that were taken in while this was behind, perhaps before their entries: when they were fetched, by URL.
    ahead: HashMap<String, i64>,
    done: Done,
}

impl Index {
    /// Takes in what comes until nothing can come any more, or it has to end. Returns how many pages it lacks.
    fn run(mut self, receiver: &Receiver<Message>) -> Result<(Writer, u64), SearchError> {
        yield_to_crawl();
        while self.step(receiver)? {
            if self.writer.is_full() {
                self.commit()?;
            }
        }
        self.commit()?;
        for (count, what) in [
            (self.archive.count.unread, "documents whose text couldn't be read for the full-text index"),
            (
                self.archive.count.unarchived,
                "pages that the full-text index finds only by title, description and URL, because their bodies aren't archived",
            ),
            (
                self.archive.count.crashed,
                "pages that the full-text index finds only by title, description and URL, because their body ended a process that read it",
            ),
        ] {
            if count > 0 {
                tracing::warn!("{what}: {count}");
            }
        }
        Ok((self.writer, self.shared.lacking.load(Ordering::Acquire)))
    }

    /// Takes in the next message or, where it is behind and none waits, the next entry. False where there is nothing more to do.
    #[expect(clippy::disallowed_methods, reason = "a thread of its own: it commits while nothing comes")]
    fn step(&mut self, receiver: &Receiver<Message>) -> Result<bool, SearchError> {
        hold_for_tests(&self.told);
        while let Ok(url) = self.to_delete.try_recv() {
            self.writer.delete(&url);
        }
        let message = if self.is_behind() {
            match receiver.try_recv() {
                Ok(message) => message,
                // What is in the channel is of earlier entries.
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                    return Ok(!self.told.leaves() && self.take_next()?);
                }
            }
        } else {
            match receiver.recv_timeout(IDLE) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => {
                    self.commit()?;
                    return Ok(true);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(self.is_behind()),
            }
        };
        match message {
            Message::Commit { number, changes, held } => {
                for change in changes {
                    self.take_in(change)?;
                }
                drop(held);
                self.writer.reach(number);
            }
            Message::Pdf(read) => self.take_in_pdf(*read)?,
        }
        Ok(true)
    }

    /// Whether entries have to be taken from the database.
    fn is_behind(&mut self) -> bool {
        let mut behind = self.shared.behind();
        *behind = behind.filter(|last| *last > self.writer.upto());
        if behind.is_none() {
            self.ahead.clear();
        }
        behind.is_some()
    }

    /// Takes in the next entry, as the records of its pages are now. False where the database is closed.
    fn take_next(&mut self) -> Result<bool, SearchError> {
        let Some(database) = self.database.upgrade() else { return Ok(false) };
        let (number, now) = (self.writer.upto() + 1, page::clock::wall());
        let mut texts = self.unarchived.of(number);
        let pages = due::pages(&*database, number)?;
        for page in &pages {
            let Some(record) = page_store::record_of(&database, page.0, page.1)? else { continue };
            let ahead = self.ahead.get(&record.url) == Some(&record.fetched_at.as_millisecond());
            if ahead && kind(&record) == Some(Kind::Pdf) {
                continue;
            }
            if !take_unarchived(&mut self.writer, &mut texts, *page, &record, now)? {
                take_as_it_is(&mut self.writer, &mut self.archive, &record, now, None)?;
            }
        }
        self.writer.reach(number);
        self.taken.push(number);
        let lacking = self.shared.lacking.fetch_sub(pages.len() as u64, Ordering::AcqRel);
        if self.told.is_over() {
            (self.tell)(lacking - pages.len() as u64);
        }
        Ok(true)
    }

    fn take_in(&mut self, change: Change) -> Result<(), SearchError> {
        match change {
            Change::Put(document, _) => self.writer.put(&document),
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
        if self.is_behind() {
            self.ahead.insert(waiting.url.clone(), waiting.fetched);
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
        self.shared.durable.store(self.writer.upto(), Ordering::Release);
        for number in self.taken.drain(..) {
            self.unarchived.remove(number)?;
        }
        self.done.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.read);
        Ok(())
    }
}

/// For tests of the whole program, in builds with debug assertions alone: nothing is taken in while the file exists that the variable
/// `WHOLE_PROGRAM_HOLDS_INDEX` names.
#[cfg(debug_assertions)]
#[expect(clippy::disallowed_methods, reason = "a test holds this thread")]
fn hold_for_tests(told: &Told) {
    let Some(file) = std::env::var_os("WHOLE_PROGRAM_HOLDS_INDEX") else { return };
    while Path::new(&file).exists() && !told.leaves() {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Does nothing: nobody holds the index of a release build.
#[cfg(not(debug_assertions))]
fn hold_for_tests(_: &Told) {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::HostId;
    use crate::page_store::{Change as StoredChange, PageWriter};
    use crate::search::{Request, Search};
    use crate::store::{MemoryStore, Tree};
    use page::url::Fingerprint;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_index_and_the_threads_that_it_starts_run_while_a_processor_is_idle() {
        /// The scheduling policy of the calling thread, the 41st field of its `stat` (`proc_pid_stat(5)`).
        fn policy() -> String {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            stat.rsplit(')').next().unwrap().split_whitespace().nth(38).unwrap().to_owned()
        }
        assert_eq!(policy(), "0", "SCHED_OTHER");
        let index = thread::spawn(|| {
            yield_to_crawl();
            (policy(), thread::spawn(policy).join().unwrap())
        });
        assert_eq!(index.join().unwrap(), ("5".to_owned(), "5".to_owned()), "SCHED_IDLE");
    }

    fn page(number: u64) -> SettledPage {
        SettledPage {
            host: HostId(0),
            page: Fingerprint(number),
            record: PageRecord {
                v: 1,
                url: format!("http://a.test/{number}"),
                indexed: true,
                charset: Some("utf-8".to_owned()),
                ..PageRecord::default()
            },
            links: Vec::new(),
            keeps_links: false,
            blanks_links: false,
            warc: None,
            discovery: None,
            text: Some(Box::new(MainText { text: format!("word{number}"), ..MainText::default() })),
        }
    }

    fn commit(feed: &mut Feed, store: &AnyStore, page: SettledPage) {
        let mut pages = [page];
        let mut writes = feed.enter(&mut pages);
        let [SettledPage { host, page, record, .. }] = pages;
        let record = serde_json::to_vec(&record).unwrap();
        let change = StoredChange { host, page, record, links: None };
        writes.extend(PageWriter::open(store).unwrap().store(store, vec![change]).unwrap());
        store.commit(writes).unwrap();
        feed.committed(Vec::new()).unwrap();
    }

    #[test]
    fn a_crawl_waits_for_no_index_and_what_it_did_not_take_in_is_taken_in_later() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path();
        let store: AnyStore = Arc::new(MemoryStore::default());
        store.commit(vec![Write::put(Tree::Meta, "crawl_id", "c")]).unwrap();
        let (limits, now) = (ExtractLimits::default(), Timestamp::UNIX_EPOCH);
        let (writer, ..) = open_for_run(root, &store, &limits, now, false).unwrap();
        let (sender, receiver) = sync_channel(WAITING);
        let (deleted, to_delete) = channel();
        let (shared, done, database) = (Arc::default(), Done::default(), Arc::downgrade(&store));
        let unarchived = UnarchivedTexts::new(root);
        let mut feed = Feed {
            sender,
            next: 1,
            waiting: None,
            shared: Arc::downgrade(&shared),
            deleted,
            unarchived: unarchived.clone(),
            removed: 0,
            pdf: Pdf {
                database: Weak::clone(&database),
                told: None,
                done: Arc::clone(&done),
                has_any: false,
                is_new: false,
            },
        };
        let index = Index {
            writer,
            archive: Archive::new(root, limits).leaving_pdf(),
            shared: Arc::clone(&shared),
            to_delete,
            unarchived: unarchived.clone(),
            taken: Vec::new(),
            told: Arc::default(),
            tell: Box::new(|_| {}),
            database,
            read: Vec::new(),
            ahead: HashMap::new(),
            done,
        };
        // Nobody takes anything in meanwhile.
        for number in 1..=10 {
            commit(&mut feed, &store, page(number));
        }
        let mut gone = page(7);
        (gone.record.indexed, gone.record.visits_before, gone.text) = (false, 1, None);
        commit(&mut feed, &store, gone);
        assert_eq!(crate::search::lacking(root, &*store).unwrap(), 11);
        let kept: Vec<usize> = (1..=11).map(|number| unarchived.of(number).len()).collect();
        assert_eq!(kept, [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0], "those that the channel has no space for");
        keep_wanted_texts(&unarchived, &store).unwrap();
        assert!(unarchived.of(7).is_empty(), "its page was withdrawn");

        drop(feed);
        let (writer, left) = index.run(&receiver).unwrap();
        writer.close(false).unwrap();
        assert_eq!((left, crate::search::lacking(root, &*store).unwrap()), (0, 0));
        let search = Search::open(root).unwrap();
        for number in 1..=10 {
            let request = Request { query: format!("word{number}"), limit: 9, ..Request::default() };
            let found = search.find(&request, now).unwrap();
            assert_eq!(found.total, u64::from(number != 7), "{number}");
        }
        assert!((1..=11).all(|number| unarchived.of(number).is_empty()));
    }
}
