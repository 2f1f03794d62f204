//! Workers as processes of their own, of which some are stopped, killed and continued, and a judge that sees every request.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crawler::cluster::{Address, Claim, Database, PgStore};
use crawler::store::{Store as _, StoreError, Tree, Write};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};

use crate::member::Worker;
use crate::server::{Server, until, wait};
use crate::store::new_crawl;

const URL: &str = "CRAWL_TEST_WORKER_OF";

/// `new_crawl` makes leases of this length.
const LEASE: Duration = Duration::from_secs(3);

fn since_boot() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.try_into().unwrap(), now.tv_nsec.try_into().unwrap())
}

/// What a worker did, at a time since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// Asked a host of its partition.
    Request,
    /// Its commit was acknowledged.
    Stored,
    /// Its commit was refused.
    Fenced,
}

type Line = (Duration, Deed, i32, i64);

/// The body of a worker process: asks, as fast as a host might allow, one host of each partition that it owns.
#[test]
#[ignore = "run by another test, in a process of its own"]
fn worker() {
    let Ok(url) = std::env::var(URL) else { return };
    let address: Address = url.parse().unwrap();
    let mut worker = Worker::join(&address, "worker");
    let deadline = worker.member.deadline();
    let database =
        Arc::new(Database::open(address.of_worker(worker.member.id()), Duration::from_secs(30)).unwrap());
    let mut stores: Vec<PgStore> = Vec::new();
    let say = |deed: Deed, claim: Claim, at: Duration| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "DEED {} {deed:?} {} {}", at.as_nanos(), claim.part, claim.fence).unwrap();
    };
    while !worker.is_gone {
        worker.obey();
        let is_owned = |store: &PgStore| worker.claims().contains(&store.claim());
        // One that is gone commits what it has: to be refused.
        if !worker.is_gone {
            stores.retain(is_owned);
        }
        for claim in worker.claims() {
            if !stores.iter().any(|store| store.claim() == *claim) {
                stores.push(PgStore::new(Arc::clone(&database), *claim));
            }
        }
        for store in &stores {
            let now = since_boot();
            if std::env::var_os("CRAWL_TEST_WITHOUT_DEADLINE").is_some() || deadline.remaining().is_some() {
                say(Deed::Request, store.claim(), now);
            }
            let count = store.get(Tree::Meta, b"count").unwrap().map_or(0, |value| value.len());
            match store.commit(vec![Write::put(Tree::Meta, "count", vec![b'.'; count % 50 + 1])]) {
                Ok(()) => say(Deed::Stored, store.claim(), since_boot()),
                Err(StoreError::Fenced { .. }) => say(Deed::Fenced, store.claim(), since_boot()),
                Err(StoreError::Stopped) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
        wait(Duration::from_millis(10));
    }
}

struct Process {
    child: Child,
    pid: Pid,
}

impl Process {
    fn start(url: &str, deeds: &Sender<Line>, without_deadline: bool) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "partitions::worker", "--ignored", "--nocapture"]).env(URL, url);
        if without_deadline {
            command.env("CRAWL_TEST_WITHOUT_DEADLINE", "1");
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (lines, deeds) = (BufReader::new(child.stdout.take().unwrap()).lines(), deeds.clone());
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let words: Vec<&str> = line.split(' ').collect();
                let ["DEED", at, deed, part, fence] = words[..] else { continue };
                let deed = match deed {
                    "Request" => Deed::Request,
                    "Stored" => Deed::Stored,
                    _ => Deed::Fenced,
                };
                let at = Duration::from_nanos(at.parse().unwrap());
                let _unread = deeds.send((at, deed, part.parse().unwrap(), fence.parse().unwrap()));
            }
        });
        let pid = Pid::from_child(&child);
        Self { child, pid }
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.child.wait().unwrap();
    }
}

/// What the judge found.
#[derive(Debug, Default)]
struct Verdict {
    /// Requests for a partition after its next owner had begun.
    overlaps: usize,
    /// Commits that were refused.
    refused: usize,
    /// Commits that were acknowledged.
    stored: i64,
    /// Changes of an owner.
    changes: usize,
    /// The longest time between two requests for a partition.
    longest: Duration,
}

fn judge(deeds: &Receiver<Line>) -> Verdict {
    let mut verdict = Verdict::default();
    let mut parts: BTreeMap<i32, Vec<(Duration, i64)>> = BTreeMap::new();
    for (at, deed, part, fence) in deeds.try_iter() {
        match deed {
            Deed::Request => parts.entry(part).or_default().push((at, fence)),
            Deed::Stored => verdict.stored += 1,
            Deed::Fenced => verdict.refused += 1,
        }
    }
    for requests in parts.values_mut() {
        requests.sort_unstable();
        let mut latest = i64::MIN;
        for pair in requests.windows(2) {
            latest = latest.max(pair[0].1);
            verdict.overlaps += usize::from(pair[1].1 < latest);
            verdict.changes += usize::from(pair[1].1 > latest);
            verdict.longest = verdict.longest.max(pair[1].0.saturating_sub(pair[0].0));
        }
    }
    verdict
}

/// Two workers, of which one is stopped for two leases and goes on then; and a third one, which is killed.
fn stopped_and_killed(without_deadline: bool) -> Option<Verdict> {
    let server = Server::start(&[])?;
    let (url, _) = new_crawl(&server);
    let (sender, deeds) = channel();
    let start = || Process::start(&url, &sender, without_deadline);
    let two_work = || {
        let owners = "select count(distinct owner) from part where owner is not null";
        until(|| server.sql(&url, owners) == "2");
        wait(Duration::from_secs(1));
    };
    let (stopped, lasting) = (start(), start());
    two_work();
    stopped.signal(Signal::STOP);
    wait(LEASE * 2);
    stopped.signal(Signal::CONT);
    wait(LEASE / 2);
    let killed = start();
    two_work();
    drop(killed);
    wait(LEASE * 2);
    let free = server.sql(&url, "select count(*) from part where owner is null");
    assert_eq!(free, "0", "what the dead worker had");
    lasting.signal(Signal::STOP);
    wait(Duration::from_millis(300));
    let verdict = judge(&deeds);
    let commits: i64 = server.sql(&url, "select sum(commits) from part").parse().unwrap();
    // Of the worker that was killed and of the one that is stopped, one answer each may be on its way.
    assert!((verdict.stored..=verdict.stored + 2).contains(&commits), "{commits} commits, {verdict:?}");
    Some(verdict)
}

#[test]
fn no_partition_has_two_owners_and_none_is_without_one_for_longer_than_1_5_leases() {
    let Some(verdict) = stopped_and_killed(false) else { return };
    assert_eq!(verdict.overlaps, 0);
    assert!(verdict.refused > 0, "commits of the stopped worker: {verdict:?}");
    assert!(verdict.changes >= 4, "{verdict:?}");
    assert!(verdict.longest <= LEASE * 3 / 2, "{verdict:?}");
    assert!(verdict.longest > LEASE, "as long as a lease nobody may take it: {verdict:?}");
}

/// Fences alone aren't enough: a worker that wakes up asks a host before it learns that its commits are refused.
#[test]
fn without_the_deadline_a_worker_that_wakes_up_asks_hosts_of_others() {
    let Some(verdict) = stopped_and_killed(true) else { return };
    assert!(verdict.overlaps > 0, "{verdict:?}");
    assert!(verdict.refused > 0, "{verdict:?}");
}
