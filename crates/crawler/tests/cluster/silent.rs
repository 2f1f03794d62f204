//! Databases that don't answer: commands say so, a worker says so where it is watched, and ends when it is asked to.

use std::fmt;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use crawler::cluster::ANSWER;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::judge::Judge;
use crate::program::{Worker, at_work, crawl, init_with, status, text};
use crate::server::{Server, until, wait};

/// What a machine that has much else to do may need beside the program's own limits: to start processes, and between two looks.
const SLOW: Duration = Duration::from_secs(10);

/// How long something took.
struct Took(Duration);

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s", self.0.as_secs_f64())
    }
}

#[expect(clippy::disallowed_methods, reason = "measures other processes")]
fn measured<T>(what: impl FnOnce() -> T) -> (T, Took) {
    let began = Instant::now();
    let done = what();
    (done, Took(began.elapsed()))
}

#[expect(clippy::disallowed_methods, reason = "measures other processes")]
fn until_within(most: Duration, what: &str, mut is_so: impl FnMut() -> bool) -> Took {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < most, "{what}: not within {most:?}");
        wait(Duration::from_millis(50));
    }
    Took(began.elapsed())
}

/// What a command says of a database that is out of order; it is killed where it doesn't end.
fn run_within(most: Duration, args: &[&str]) -> (Output, Took) {
    let most = most.as_secs().to_string();
    let (output, took) = measured(|| {
        let mut limited = std::process::Command::new("timeout");
        limited.args(["-s", "KILL", &most]).arg(crawl(&[]).get_program()).args(args);
        limited.env_remove("CRAWL_CONFIG").output().unwrap()
    });
    assert!(output.status.signal().is_none() && output.status.code() != Some(137), "{args:?} doesn't end");
    (output, took)
}

/// Expects these commands to say that the database doesn't answer, with exit code 5.
fn expect_told(fault: &str, url: &str, words: &str, commands: &[&[&str]]) {
    std::thread::scope(|scope| {
        for command in commands {
            scope.spawn(move || {
                let (said, took) = run_within(ANSWER + SLOW, command);
                assert_eq!(said.status.code(), Some(5), "{command:?}: {}", text(&said));
                assert!(text(&said).contains(words), "{command:?}: {}", text(&said));
                let name: Vec<&str> = command.iter().copied().filter(|word| *word != url).collect();
                eprintln!("{fault}: `crawl {}` said so after {took}", name.join(" "));
            });
        }
    });
}

fn address(dir: &Path, name: &str) -> SocketAddr {
    crate::metrics::address(dir, name)
}

fn lease(of: SocketAddr) -> f64 {
    let (status, metrics) = crate::metrics::get(of, "/metrics", "Host: 127.0.0.1\r\n");
    assert_eq!(status, 200, "{metrics}");
    crate::metrics::value(&metrics, "crawl_worker_lease_seconds")
}

fn silent_for(of: SocketAddr) -> f64 {
    let (_, metrics) = crate::metrics::get(of, "/metrics", "Host: 127.0.0.1\r\n");
    crate::metrics::value(&metrics, "crawl_worker_database_silent_seconds")
}

fn health(of: SocketAddr) -> u16 {
    crate::metrics::get(of, "/healthz", "Host: 127.0.0.1\r\n").0
}

/// Three workers that crawl.
struct Crawl {
    url: String,
    watched: SocketAddr,
    _dir: TempDir,
    _judge: Judge,
    workers: [Worker; 3],
}

impl Crawl {
    /// With a lease that is longer than the database may be silent.
    fn start(server: &Server, options: &[&str]) -> Self {
        let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
        init_with(&url, &judge, &[options, &["--lease", "30s"]].concat());
        let start = |name: &str| Worker::start_with(&url, dir.path(), name, &["--serve=127.0.0.1:0"]);
        let workers = ["watched", "asked", "urged"].map(start);
        until(|| at_work(&url) == 3 && judge.count() > 10);
        let watched = address(dir.path(), "watched");
        until(|| health(watched) == 200);
        assert!(lease(watched) > 20.0 && silent_for(watched) < ANSWER.as_secs_f64());
        Self { url, watched, _dir: dir, _judge: judge, workers }
    }

    /// After a fault: one signal ends a worker, two end another, the third says what is the matter as long as it runs.
    fn expect_told_and_ended(&mut self, fault: &str) {
        let watched = self.watched;
        let [_, asked, urged] = &mut self.workers;
        let (asking, urging) = std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                asked.signal(Signal::TERM);
                measured(|| asked.code())
            });
            let urging = scope.spawn(|| {
                urged.signal(Signal::TERM);
                wait(Duration::from_millis(300));
                urged.signal(Signal::TERM);
                measured(|| urged.code())
            });
            let unhealthy = until_within(ANSWER + SLOW, "/healthz", || health(watched) == 503);
            eprintln!("{fault}: /healthz said so after {unhealthy}");
            (asking.join().unwrap(), urging.join().unwrap())
        });
        assert!(silent_for(watched) >= ANSWER.as_secs_f64());
        let before = lease(watched);
        until_within(SLOW, "the lease grows shorter", || lease(watched) < before - 1.0);
        let (code, took) = asking;
        assert_eq!(code, Some(11));
        assert!(took.0 < ANSWER + SLOW, "{took}");
        eprintln!("{fault}: one signal ended a worker after {took}");
        let (code, took) = urging;
        // The first may have been enough, where the database was known to be silent.
        assert!(matches!(code, Some(11 | 12)), "{code:?}");
        assert!(took.0 < Duration::from_secs(2) + SLOW, "{took}");
        eprintln!("{fault}: two signals ended a worker after {took}");
    }
}

#[test]
fn of_a_frozen_database_all_say_so_and_workers_end() {
    let Some(server) = Server::start(&[]) else { return };
    let mut crawl = Crawl::start(&server, &["--single-server"]);
    let url = crawl.url.clone();
    let frozen = server.freeze();
    crawl.expect_told_and_ended("frozen");
    let seed = crate::judge::SEED;
    let words = "doesn't answer: it took more than 4s to open a connection";
    let out = TempDir::new().unwrap();
    let dir = out.path().join("copy").display().to_string();
    expect_told(
        "frozen",
        &url,
        words,
        &[
            &["cluster", "status", &url],
            &["cluster", "stop", &url],
            &["cluster", "resume", &url],
            &["cluster", "pause", &url],
            &["cluster", "forget", &url, "s0.test"],
            &["cluster", "recrawl", &url],
            &["cluster", "lost", &url, "watched"],
            &["cluster", "export", &url, "--out", &dir],
            &["cluster", "init", &url, seed, "--agent", "SuperRobot/1.0", "--single-server"],
            &["explain", "--cluster", &url, seed],
            &["export", "--cluster", &url, "--table", "pages", "--format", "csv"],
            &["show", "--cluster", &url],
            &["audit", "--cluster", &url],
            &["worker", "--cluster", &url, "--out", &dir],
        ],
    );
    drop(frozen);
    let watched = crawl.watched;
    until(|| health(watched) == 200);
    assert!(silent_for(watched) < ANSWER.as_secs_f64());
}

#[test]
fn of_a_killed_database_all_say_so_and_workers_end() {
    let Some(mut server) = Server::start(&[]) else { return };
    let mut crawl = Crawl::start(&server, &["--single-server"]);
    let url = crawl.url.clone();
    server.kill();
    crawl.expect_told_and_ended("killed");
    let commands: [&[&str]; 2] = [&["cluster", "status", &url], &["cluster", "stop", &url]];
    expect_told("killed", &url, "can't be reached", &commands);
}

/// What only reads still has an answer.
#[test]
fn of_a_database_without_its_standby_all_say_so_and_workers_end() {
    let Some(server) = Server::start(&[]) else { return };
    let mut crawl = Crawl::start(&server, &["--single-server"]);
    let url = crawl.url.clone();
    server.sql("postgres", "alter system set synchronous_standby_names = 'nobody'");
    server.sql("postgres", "select pg_reload_conf()");
    crawl.expect_told_and_ended("standby away");
    assert_eq!(status(&url)["state"], "running");
    let words = "Its synchronous standby confirms nothing";
    // The second waits for the lock of the first, which the server still works on.
    for _ in 0..2 {
        expect_told("standby away", &url, words, &[&["cluster", "stop", &url]]);
    }
    expect_told("standby away", &url, words, &[&["cluster", "pause", &url]]);
    // A worker that tries again and again doesn't use up the connections.
    let waiting =
        "select count(*) from pg_stat_activity where wait_event = 'SyncRep' or wait_event_type = 'Lock'";
    let waiting: u32 = server.sql(&url, waiting).parse().unwrap();
    assert!(waiting < 30, "{waiting} statements wait");
    server.sql("postgres", "alter system reset synchronous_standby_names");
    server.sql("postgres", "select pg_reload_conf()");
    let mut watched = crawl.workers;
    assert_eq!(watched[0].code(), Some(11), "it was stopped");
}

/// As after a failover, where the old primary hangs.
#[test]
fn a_server_that_hangs_keeps_nobody_from_the_next_one() {
    let (Some(hanging), Some(server)) = (Server::start(&[]), Server::start(&[])) else { return };
    let (url, judge) = (server.database(), Judge::start());
    init_with(&url, &judge, &["--single-server"]);
    let both = url.replace("host=", &format!("host={}&host=", hanging.dir().display()));
    let _frozen = hanging.freeze();
    assert_eq!(status(&both)["state"], "running");
}

/// A statement may take as long as the server works on it.
#[test]
fn a_database_that_is_slow_is_waited_for() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge) = (server.database(), Judge::start());
    init_with(&url, &judge, &["--single-server"]);
    let seconds = (ANSWER * 2).as_secs();
    server.sql(
        &url,
        &format!(
            "alter table crawl rename to slow_crawl;
             create view crawl as select slow_crawl.* from slow_crawl, (select pg_sleep({seconds})) as slowly"
        ),
    );
    assert_eq!(status(&url)["state"], "running");
}
