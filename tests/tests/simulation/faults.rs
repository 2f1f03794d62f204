//! Whole crawls while the machine fails: a store whose reads and writes break down in bursts, archives with torn tails, a wall clock
//! that jumps. Every invariant is judged from the web's log.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use crawler::engine::End;
use crawler::store::{MemoryStore, Pair, Store, StoreError, Tree, Write};
use page::clock::Clock;
use whole_program::oracle::{Promise, assert_polite};
use whole_program::output_dir::{archived_responses, files};
use whole_program::random::Random;
use whole_program::simweb::{SimWeb, Size, generate, truth};

use crate::crash::remembered;
use crate::crawl::{Crawl, DELAY, LIMITS};

/// How many webs; `WHOLE_PROGRAM_SEEDS` sets another number, a third of it.
fn seeds() -> u64 {
    std::env::var("WHOLE_PROGRAM_SEEDS").map_or(8, |text| text.parse::<u64>().expect("a number") / 3)
}

/// When a store refuses to read, and how it commits.
trait Fault {
    fn read(&self) -> Result<(), StoreError>;
    fn commit(&self, inner: &MemoryStore, writes: Vec<Write>) -> Result<(), StoreError>;
}

/// Passes to the inner store what its fault lets through.
#[derive(Debug)]
struct FaultyStore<F> {
    inner: Arc<MemoryStore>,
    fault: F,
}

impl<F: Fault + fmt::Debug + Send + Sync + 'static> Store for FaultyStore<F> {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.fault.read()?;
        self.inner.get(tree, key)
    }

    fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        self.fault.read()?;
        self.inner.last(tree, prefix)
    }

    fn scan(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        match self.fault.read() {
            // The error may come after some entries.
            Err(error) => Box::new(self.inner.scan(tree, prefix).take(2).chain([Err(error)])),
            Ok(()) => self.inner.scan(tree, prefix),
        }
    }

    fn commit(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.fault.commit(&self.inner, writes)
    }
}

/// Bursts: stretches of operations that the "disk" refuses. A commit that is refused may have landed; after it the store takes no
/// further ones, as its contract says.
#[derive(Debug)]
struct Bursts {
    operations: AtomicU64,
    /// First operation of the burst, and its length.
    burst: (u64, u64),
    lands: bool,
    random: Mutex<Random>,
    stopped: AtomicBool,
}

impl Bursts {
    fn new(random: &mut Random) -> Self {
        Self {
            operations: AtomicU64::new(0),
            burst: (random.between(1, 120), random.between(1, 20)),
            lands: random.chance(50),
            random: Mutex::new(random.fork()),
            stopped: AtomicBool::new(false),
        }
    }
}

impl Fault for Bursts {
    fn read(&self) -> Result<(), StoreError> {
        let number = self.operations.fetch_add(1, Ordering::AcqRel);
        if !(self.burst.0..self.burst.0 + self.burst.1).contains(&number) {
            return Ok(());
        }
        let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::Other];
        let kind = *self.random.lock().unwrap_or_else(PoisonError::into_inner).pick(&kinds);
        Err(StoreError::Io { path: "simulated".into(), source: io::Error::from(kind) })
    }

    fn commit(&self, inner: &MemoryStore, writes: Vec<Write>) -> Result<(), StoreError> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(StoreError::Stopped);
        }
        if let Err(error) = self.read() {
            self.stopped.store(true, Ordering::Release);
            if self.lands {
                inner.commit(writes)?;
            }
            return Err(error);
        }
        inner.commit(writes)
    }
}

/// What a torn write leaves behind the last record: part of a member, zeros, or noise.
fn tear(archive: &Path, random: &mut Random) {
    let Some(last) = files(archive).pop() else { return };
    let mut bytes = std::fs::read(&last).expect("a file that was just listed");
    match random.between(0, 3) {
        0 => return,
        1 => {
            let part = bytes[..bytes.len().min(random.between(1, 400) as usize)].to_vec();
            bytes.extend(part);
        }
        2 => bytes.extend(vec![0; random.between(1, 5_000) as usize]),
        _ => bytes.extend((0..random.between(1, 2_000)).map(|_| random.bits() as u8)),
    }
    std::fs::write(last, bytes).expect("the archive can be written");
}

/// Runs a crawl whose store fails again and again until it is through; gives the number of failures.
async fn crawl_through_failures(seed: u64) -> usize {
    let mut random = Random::new(seed ^ 0xfa17);
    let web = generate(seed, Size { hosts: 3, resources: 12, outside: 1, lasting_outages: false });
    let truth = truth(&web, LIMITS);
    let sim = SimWeb::new(web);
    let inner = Arc::new(MemoryStore::default());
    let crawl = Crawl::new(&sim, Arc::clone(&inner));
    let directory = tempfile::tempdir().expect("a directory");
    let (mut failures, mut forgotten) = (0, Vec::new());
    loop {
        let result = if failures < 25 {
            let store = FaultyStore { inner: Arc::clone(&inner), fault: Bursts::new(&mut random) };
            crawl.on(Arc::new(store)).run(Some(directory.path())).await
        } else {
            crawl.run(Some(directory.path())).await
        };
        if let Ok(summary) = result {
            assert_eq!(summary.end, End::Complete, "seed {seed}");
            break;
        }
        failures += 1;
        forgotten.push((crawl.last_commit(), sim.now()));
        tear(directory.path(), &mut random);
        assert!(failures < 60, "seed {seed}: no progress");
    }
    let counts = sim.page_counts();
    let asked: BTreeSet<String> = counts.keys().cloned().collect();
    assert_eq!(asked, truth.requested, "seed {seed}");
    let mut archived = archived_responses(directory.path());
    let all = archived.len();
    archived.sort();
    archived.dedup();
    assert_eq!(archived.len(), all, "seed {seed}: a response is in the archive twice");
    assert_polite(&remembered(sim.log(), &forgotten), Promise::delay(DELAY));
    failures
}

#[tokio::test(start_paused = true)]
async fn bursts_of_failing_reads_and_writes_and_torn_archives_lose_nothing() {
    let mut failures = 0;
    for seed in 0..seeds() {
        failures += crawl_through_failures(seed).await;
    }
    assert!(failures as u64 > 2 * seeds(), "only {failures} failures");
}

/// Refuses reads while a commit is written, which takes its time.
#[derive(Default, Debug)]
struct Busy {
    is_committing: AtomicBool,
    commits: AtomicU64,
    refused: AtomicBool,
}

impl Fault for Busy {
    fn read(&self) -> Result<(), StoreError> {
        // The first commits are those of the start, which the engine waits for.
        if self.is_committing.load(Ordering::Acquire) && self.commits.load(Ordering::Acquire) > 3 {
            self.refused.store(true, Ordering::Release);
            return Err(StoreError::Io { path: "simulated".into(), source: io::ErrorKind::Other.into() });
        }
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "a slow disk, on the thread that writes")]
    fn commit(&self, inner: &MemoryStore, writes: Vec<Write>) -> Result<(), StoreError> {
        self.commits.fetch_add(1, Ordering::AcqRel);
        self.is_committing.store(true, Ordering::Release);
        std::thread::sleep(Duration::from_millis(100));
        let result = inner.commit(writes);
        self.is_committing.store(false, Ordering::Release);
        result
    }
}

#[tokio::test]
async fn a_run_that_fails_is_not_over_before_its_commit() {
    let web = generate(5, Size { hosts: 12, resources: 12, outside: 1, lasting_outages: false });
    let sim = SimWeb::new(web);
    let inner = Arc::new(MemoryStore::default());
    let crawl = Crawl::new(&sim, Arc::clone(&inner));
    let store = Arc::new(FaultyStore { inner, fault: Busy::default() });
    let ended = crawl.on(Arc::clone(&store)).run(None).await;
    assert!(ended.is_err() && store.fault.refused.load(Ordering::Acquire), "no read was refused: {ended:?}");
    assert!(!store.fault.is_committing.load(Ordering::Acquire), "a commit is still being written");
}

/// Crawls while the wall clock is set on or back in the middle, once or several times.
async fn crawl_through_jumps(seed: u64, jumps: &[(u64, i64)]) {
    let web = generate(seed, Size { hosts: 5, resources: 15, ..Size::default() });
    let truth = truth(&web, LIMITS);
    let sim = SimWeb::new(web);
    let offset: &'static AtomicI64 = Box::leak(Box::new(AtomicI64::new(0)));
    let clock = Clock::jumping("2026-03-01T00:00:00Z".parse().expect("a time"), offset);
    let crawl = Crawl::by(clock, &sim, Arc::new(MemoryStore::default()));
    let jumps = jumps.to_vec();
    let setter = tokio::spawn(async move {
        for (after, seconds) in jumps {
            pass(Duration::from_secs(after)).await;
            offset.fetch_add(seconds, Ordering::Relaxed);
        }
    });
    let summary = crawl.run(None).await.expect("the crawl ends well");
    setter.abort();
    assert_eq!(summary.end, End::Complete, "seed {seed}");
    // Nothing is hurried, and nothing waits for a time that has gone away: an outage of robots.txt is over within hours.
    assert_polite(&sim.log(), Promise::delay(DELAY));
    assert!(sim.now() < Duration::from_hours(24), "seed {seed}: stalled for {:?}", sim.now());
    let asked: BTreeSet<String> = sim.page_counts().into_keys().collect();
    let missing: Vec<_> =
        truth.requested.difference(&asked).map(|url| (url, crawl.decisions_on(url))).collect();
    let extra: Vec<_> = asked.difference(&truth.requested).collect();
    assert!(missing.is_empty() && extra.is_empty(), "seed {seed}: missing {missing:#?}, too many {extra:#?}");
    let audit = crawl.audit(None);
    assert!(audit.is_empty(), "seed {seed}: {audit:#?}");
    // A process that is started after the jump rests its hosts, and finds nothing more to do.
    let before = sim.log().len();
    crawl.run(None).await.expect("the crawl ends well");
    assert_eq!(sim.log().len(), before, "seed {seed}");
}

#[expect(clippy::disallowed_methods, reason = "somebody who sets the clock, on the paused one")]
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_jumps_neither_stalls_nor_hurries() {
    const DAY: i64 = 24 * 3600;
    for seed in 0..seeds() {
        crawl_through_jumps(seed, &[(15, -400 * DAY)]).await;
        crawl_through_jumps(seed, &[(15, 2 * 3600)]).await;
        crawl_through_jumps(seed, &[(5, 2 * 3600), (7, -400 * DAY), (9, 2 * 3600), (3, -2 * 3600)]).await;
    }
}
