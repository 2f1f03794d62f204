//! Reads the PDF files that wait, on a thread of its own and one at a time: however long a file takes, the crawl commits, and other pages
//! are indexed. Which files wait is in the database, so memory doesn't grow with them, and what a run doesn't come to the next one reads.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::archived::{Archive, Count, Text};
use super::document::{Document, Kind, kind};
use super::pdf::Running;
use crate::causes::with_causes;
use crate::page_store;
use crate::record::{PageRecord, UnreadText, WaitingPdf, waiting_pdfs_after};
use crate::store::{AnyStore, Store, StoreError};
use page::extract::MainText;

/// Files that are taken from the database at once, and the most of one host among them: each host has its turn.
const AT_ONCE: usize = 256;
const OF_ONE_HOST: usize = 16;

/// Files that may fail to be read once the crawl is over: five minutes of processor time. The next run reads the others.
const FAILURES_AT_END: u64 = 30;

/// A PDF is read only while the crawl's own resident memory is below this, in bytes. The process that reads it takes up to 96 MB more.
const BESIDE: u64 = 190 << 20;

/// How soon to look again whether there is so much memory.
const LOOK: Duration = Duration::from_millis(200);

/// After so long it is said that the end of the run waits for files.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the thread shall do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Goal {
    /// Reads the files that come in.
    #[default]
    Run,
    /// Read what waits, and end.
    ReadAll,
    /// Ends at once; the files that wait stay in the database.
    Leave,
}

#[derive(Debug, Default)]
struct State {
    goal: Goal,
    /// Files came since the thread looked.
    is_new: bool,
    has_ended: bool,
}

/// What the thread shall do, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct Told {
    state: Mutex<State>,
    changed: Condvar,
    running: Option<Arc<Running>>,
}

impl Told {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Files came that wait.
    pub(super) fn came(&self) {
        self.change(|state| state.is_new = true);
    }

    /// Has the thread end at once: what it reads, and what waits, the next run reads.
    pub(crate) fn leave(&self) {
        self.change(|state| state.goal = Goal::Leave);
        if let Some(running) = &self.running {
            running.stop();
        }
    }

    fn goal(&self) -> Goal {
        self.state().goal
    }

    /// Whether the crawl is over.
    pub(super) fn is_over(&self) -> bool {
        self.goal() != Goal::Run
    }

    /// Whether what waits has to wait for the next run.
    pub(super) fn leaves(&self) -> bool {
        self.goal() == Goal::Leave
    }

    fn wait(&self, most: Duration, goes_on: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_timeout_while(self.state(), most, |state| goes_on(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Takes what was read; false where nobody wants more.
pub(super) type HandOn = Box<dyn FnMut(ReadPdf) -> bool + Send>;

/// Handle of the thread that reads PDF files, and what it is sent.
#[derive(Debug)]
pub(super) struct Later {
    told: Arc<Told>,
    thread: Option<JoinHandle<Count>>,
}

impl Later {
    /// Starts the thread. What it has read it hands on, once for each version of a file; it ends where `hand_on` says no.
    pub(super) fn start(
        archive: Archive,
        database: Weak<dyn Store>,
        hand_on: HandOn,
    ) -> std::io::Result<Self> {
        let running = archive.running_pdf().map(Arc::clone);
        let told = Arc::new(Told { running, ..Told::default() });
        let reading =
            Reading { archive, database, hand_on, told: Arc::clone(&told), queue: Queue::default() };
        let run = move || {
            let told = Arc::clone(&reading.told);
            let count = reading.run();
            told.change(|state| state.has_ended = true);
            count
        };
        let thread = thread::Builder::new().name("pdf".to_owned()).spawn(run)?;
        Ok(Self { told, thread: Some(thread) })
    }

    pub(super) fn told(&self) -> &Arc<Told> {
        &self.told
    }

    /// Waits until everything is read that waits, unless it has to leave.
    pub(super) fn finish(&mut self) -> Count {
        self.told.change(|state| {
            if state.goal == Goal::Run {
                state.goal = Goal::ReadAll;
            }
        });
        if !self.told.wait(PATIENCE, |state| !state.has_ended).has_ended {
            tracing::warn!("reading PDF files for the full-text index; Ctrl-C leaves them to the next run");
        }
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Later {
    /// A run that ends with an error, or has to end at once, waits for no file.
    fn drop(&mut self) {
        self.told.leave();
    }
}

/// A version of a file that was read, or couldn't be.
#[derive(Debug)]
pub(super) struct ReadPdf {
    pub(super) waiting: WaitingPdf,
    /// What is indexed of it: without its text where that couldn't be read; none where this version isn't to be indexed any more.
    pub(super) document: Option<Document>,
    pub(super) unread: Option<UnreadText>,
}

/// State of the thread that reads PDF files.
struct Reading {
    archive: Archive,
    database: Weak<dyn Store>,
    hand_on: HandOn,
    told: Arc<Told>,
    queue: Queue,
}

/// What was taken of the files that wait in the database.
#[derive(Debug, Default)]
struct Queue {
    /// The versions that were read and may still wait in the database, by URL.
    read: HashMap<String, WaitingPdf>,
    /// The last URL that was taken.
    last: String,
}

impl Queue {
    /// Some of the files that wait, those of different hosts in turn. Cost: a step for each of them and of those that were read lately, and a seek
    /// for each host; others of the same hosts are passed over at once.
    fn some<S: Store + ?Sized>(&mut self, database: &S) -> Result<VecDeque<WaitingPdf>, StoreError> {
        let mut still = HashMap::new();
        for (url, waiting) in std::mem::take(&mut self.read) {
            if waiting.waits(database)? {
                still.insert(url, waiting);
            }
        }
        self.read = still;
        let mut hosts = self.behind(database, self.last.as_bytes())?;
        if hosts.files == 0 {
            hosts = self.behind(database, &[])?;
        }
        if let Some(last) = hosts.last() {
            last.clone_into(&mut self.last);
        }
        Ok(hosts.in_turn())
    }

    /// As many files as are taken at once, of those behind a URL.
    fn behind<S: Store + ?Sized>(&self, database: &S, after: &[u8]) -> Result<Hosts, StoreError> {
        let mut hosts = Hosts::default();
        let mut after = after.to_vec();
        'hosts: loop {
            for waiting in waiting_pdfs_after(database, &after) {
                let waiting = waiting?;
                if self.read.get(&waiting.url) == Some(&waiting) {
                    continue;
                }
                let end = end_of_site(&waiting.url);
                match hosts.add(waiting) {
                    Added::One => {}
                    Added::EnoughOfHost => {
                        after = end;
                        continue 'hosts;
                    }
                    Added::Enough => return Ok(hosts),
                }
            }
            return Ok(hosts);
        }
    }

    fn was_read(&mut self, waiting: WaitingPdf) {
        self.read.insert(waiting.url.clone(), waiting);
    }
}

/// What is greater than each URL of a scheme, host and port, and less than those of the next one: a URL has ASCII characters only.
fn end_of_site(url: &str) -> Vec<u8> {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(host..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| host + at + 1);
    [url.get(..end).unwrap_or(url).as_bytes(), &[0xff]].concat()
}

impl Reading {
    fn run(mut self) -> Count {
        if let Err(error) = self.read_all() {
            tracing::warn!(
                "PDF files aren't read any more for the full-text index: {}; `crawl index DIR` reads them",
                with_causes(&error)
            );
        }
        self.archive.count
    }

    fn read_all(&mut self) -> Result<(), StoreError> {
        let mut slow_before = None;
        loop {
            self.told.state().is_new = false;
            let Some(database) = self.database.upgrade() else { return Ok(()) };
            let some = self.queue.some(&*database)?;
            drop(database);
            if some.is_empty() {
                let idle = |state: &State| state.goal == Goal::Run && !state.is_new;
                let state = self.told.wait(Duration::MAX, idle);
                if state.goal == Goal::Leave || (state.goal == Goal::ReadAll && !state.is_new) {
                    return Ok(());
                }
                continue;
            }
            for waiting in some {
                self.await_memory();
                match self.told.goal() {
                    Goal::Run => {}
                    Goal::Leave => return Ok(()),
                    Goal::ReadAll => {
                        let slow = self.archive.count.slow;
                        if slow - *slow_before.get_or_insert(slow) >= FAILURES_AT_END {
                            return Ok(());
                        }
                    }
                }
                let Some(database) = self.database.upgrade() else { return Ok(()) };
                let record = record_of(&database, &waiting)?;
                // It isn't held while a file is read: the run may have to close it.
                drop(database);
                if !self.read_one(waiting, record) {
                    return Ok(());
                }
            }
        }
    }

    /// Waits until the crawl takes little enough memory, while it goes on.
    fn await_memory(&self) {
        while self.told.goal() == Goal::Run && resident().is_some_and(|bytes| bytes > BESIDE) {
            drop(self.told.wait(LOOK, |state| state.goal == Goal::Run));
        }
    }

    /// Reads a file. False where the thread has to end.
    fn read_one(&mut self, waiting: WaitingPdf, record: Option<PageRecord>) -> bool {
        let (mut document, mut unread) = (None, None);
        if let Some(record) = record {
            match self.archive.text(&record, Kind::Pdf) {
                Text::Read(text) => document = Some(Document::new(&record, *text)),
                Text::None(because) => {
                    document = Some(Document::new(&record, MainText::default()));
                    unread = because;
                }
                // Stopped, or the disk is full: it still waits.
                Text::Left => {
                    self.queue.was_read(waiting);
                    return true;
                }
            }
        }
        self.queue.was_read(waiting.clone());
        (self.hand_on)(ReadPdf { waiting, document, unread })
    }
}

/// The record of a file; none where this version of it isn't to be read any more.
fn record_of(database: &AnyStore, waiting: &WaitingPdf) -> Result<Option<PageRecord>, StoreError> {
    if !waiting.waits(database)? {
        return Ok(None);
    }
    let record = page_store::record_of(database, waiting.host, waiting.page)?;
    let is_wanted = |record: &PageRecord| {
        kind(record) == Some(Kind::Pdf)
            && record.fetched_at.as_millisecond() == waiting.fetched
            && !record.is_unavailable(page::clock::wall())
    };
    Ok(record.filter(is_wanted))
}

/// Files by host, few of each.
#[derive(Default)]
struct Hosts {
    hosts: Vec<(page::ids::HostId, Vec<WaitingPdf>)>,
    files: usize,
}

/// What became of a file that was to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Added {
    /// It was.
    One,
    /// There are enough of its host.
    EnoughOfHost,
    /// There are enough of all.
    Enough,
}

impl Hosts {
    fn add(&mut self, waiting: WaitingPdf) -> Added {
        if self.files >= AT_ONCE {
            return Added::Enough;
        }
        // They come by URL, so those of a host follow each other, but for its scheme.
        match self.hosts.last_mut() {
            Some((host, files)) if *host == waiting.host => {
                if files.len() >= OF_ONE_HOST {
                    return Added::EnoughOfHost;
                }
                files.push(waiting);
            }
            _ => self.hosts.push((waiting.host, vec![waiting])),
        }
        self.files += 1;
        Added::One
    }

    fn last(&self) -> Option<&str> {
        Some(&self.hosts.last()?.1.last()?.url)
    }

    /// The first of each host, then the second of each, and so on.
    fn in_turn(self) -> VecDeque<WaitingPdf> {
        let mut numbered: Vec<(usize, WaitingPdf)> =
            self.hosts.into_iter().flat_map(|(_, files)| files.into_iter().enumerate()).collect();
        numbered.sort_by_key(|(number, _)| *number);
        numbered.into_iter().map(|(_, waiting)| waiting).collect()
    }
}

/// Memory of this process in bytes; none on systems that don't tell.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::record::pdf_was_read;
    use crate::store::{MemoryStore, Pair, Tree, Write};
    use page::ids::HostId;
    use page::url::Fingerprint;

    fn waiting(host: u32, url: &str) -> WaitingPdf {
        WaitingPdf::new(url, HostId(host), Fingerprint(0), jiff::Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn files_of_different_hosts_are_read_in_turn() {
        let mut hosts = Hosts::default();
        for (host, url) in [(7, "http://a.test/1"), (7, "http://a.test/2"), (7, "http://a.test/3")]
            .into_iter()
            .chain([(4, "http://b.test/1"), (9, "http://c.test/1"), (9, "http://c.test/2")])
        {
            hosts.add(waiting(host, url));
        }
        assert_eq!(hosts.last(), Some("http://c.test/2"));
        let urls: Vec<String> = hosts.in_turn().into_iter().map(|waiting| waiting.url).collect();
        let expected = ["a.test/1", "b.test/1", "c.test/1", "a.test/2", "c.test/2", "a.test/3"];
        assert_eq!(urls, expected.map(|url| format!("http://{url}")));
    }

    #[test]
    fn of_a_host_with_many_files_few_are_taken_at_once() {
        let mut hosts = Hosts::default();
        for n in 0..1_000 {
            hosts.add(waiting(1, &format!("http://a.test/{n:04}")));
        }
        for n in 0..1_000 {
            hosts.add(waiting(n + 2, &format!("http://b{n:04}.test/")));
        }
        let files = hosts.in_turn();
        assert_eq!(files.len(), AT_ONCE);
        assert_eq!(files.iter().filter(|file| file.host == HostId(1)).count(), OF_ONE_HOST);
    }

    /// A store in memory that counts the entries that its scans give.
    #[derive(Debug, Default)]
    struct Steps {
        store: MemoryStore,
        steps: Arc<AtomicUsize>,
    }

    impl Store for Steps {
        fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
            self.store.get(tree, key)
        }

        fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
            self.store.last(tree, prefix)
        }

        fn scan(
            &self,
            tree: Tree,
            prefix: &[u8],
        ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
            self.scan_after(tree, prefix, &[])
        }

        fn scan_after(
            &self,
            tree: Tree,
            prefix: &[u8],
            after: &[u8],
        ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
            let step = |_: &Result<Pair, StoreError>| {
                self.steps.fetch_add(1, Ordering::Relaxed);
            };
            Box::new(self.store.scan_after(tree, prefix, after).inspect(step))
        }

        fn commit(&self, writes: Vec<Write>) -> Result<(), StoreError> {
            self.store.commit(writes)
        }
    }

    #[test]
    fn a_host_with_very_many_files_costs_a_few_steps_for_each() {
        const FILES: usize = 2_000;
        let store = Steps::default();
        let mut urls: Vec<String> = (0..FILES).map(|n| format!("http://b.test/{n:05}")).collect();
        urls.extend(
            ["http://a.test/1", "http://b.test:8080/1", "http://c.test/1", "https://b.test/1"]
                .map(str::to_owned),
        );
        let host = |url: &str| match url {
            _ if url.starts_with("http://b.test/") => 1,
            _ => 2 + url.len() as u32,
        };
        store.commit(urls.iter().map(|url| waiting(host(url), url).enter()).collect()).unwrap();
        let (mut queue, mut met) = (Queue::default(), Vec::new());
        let mut batches = 0;
        loop {
            let some = queue.some(&store).unwrap();
            if some.is_empty() {
                break;
            }
            batches += 1;
            assert!(batches <= FILES, "a batch has at least one");
            if batches == 1 {
                assert!(
                    some.iter().any(|file| file.url == "https://b.test/1"),
                    "hosts behind it come in the first batch"
                );
            }
            for file in some {
                met.push(file.url.clone());
                // Half of them are still to be committed when the next ones are taken.
                if met.len() % 2 == 0 {
                    store.commit(pdf_was_read(&file.url, None).to_vec()).unwrap();
                }
                queue.was_read(file);
            }
            let late: Vec<_> = queue.read.keys().take(8).cloned().collect();
            for url in late {
                store.commit(pdf_was_read(&url, None).to_vec()).unwrap();
            }
        }
        met.sort_unstable();
        urls.sort_unstable();
        assert_eq!(met, urls, "each is read once");
        let steps = store.steps.load(Ordering::Relaxed);
        assert!(steps < 10 * FILES, "{steps} steps for {FILES} files");
    }

    #[test]
    fn this_process_takes_memory() {
        if cfg!(target_os = "linux") {
            assert!(resident().unwrap() > 1 << 20);
        }
    }
}
