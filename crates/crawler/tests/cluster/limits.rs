//! Limits of the whole crawl, with workers as processes of their own.

use std::path::Path;
use std::time::Instant;

use tempfile::TempDir;

use crate::judge::Judge;
use crate::program::{Worker, at_work, expect_clean_audit, init_with, run, status, text};
use crate::server::{Server, until};

/// Of the crawls here. The sites have 120.
const PAGES: u64 = 50;

/// The exit code of a crawl that a limit ended.
const LIMIT: Option<i32> = Some(10);

fn init(url: &str, judge: &Judge, options: &[&str]) {
    init_with(url, judge, &[options, &["--single-server"]].concat());
}

/// Lets workers crawl until they end, and gives their exit codes.
fn work(url: &str, dir: &Path, names: &[&str]) -> Vec<Option<i32>> {
    let mut workers: Vec<_> = names.iter().map(|name| Worker::start(url, dir, name)).collect();
    workers.iter_mut().map(Worker::code).collect()
}

/// The pages that are stored.
fn stored(url: &str) -> u64 {
    let args = ["show", "--cluster", url, "pages", "--columns", "url", "--where", "status = 200", "--json"];
    let table = run(&args);
    assert!(table.status.success(), "{}", text(&table));
    String::from_utf8_lossy(&table.stdout).lines().count() as u64
}

fn expect_limit(url: &str, pages: u64) {
    let status = status(url);
    let limit = format!("max-pages {pages}");
    assert_eq!(
        (status["state"].as_str(), status["limit"].as_str()),
        (Some("complete_within_limits"), Some(&limit[..])),
        "{status}"
    );
    assert_eq!((status["totals"]["pages"].as_u64(), stored(url)), (Some(pages), pages), "{status}");
    let shown = run(&["cluster", "status", url]);
    assert!(text(&shown).contains(&format!("complete within limits ({limit})")), "{}", text(&shown));
    let summary = run(&["show", "--cluster", url, "--json"]);
    let summary: serde_json::Value = serde_json::from_slice(&summary.stdout).unwrap();
    assert_eq!(
        (summary["status"].as_str(), summary["end"]["limit"].as_str()),
        (Some("complete_within_limits"), Some(&limit[..])),
        "{summary}"
    );
}

fn expect_polite(judge: &Judge) {
    let seen = judge.seen();
    assert!(seen.overlaps.is_empty() && seen.short.is_empty(), "{:?} {:?}", seen.overlaps, seen.short);
}

#[test]
fn as_many_pages_are_stored_as_the_limit_says_with_one_two_and_three_workers() {
    let Some(server) = Server::start(&[]) else { return };
    for names in [&["one"][..], &["one", "two"], &["one", "two", "three"]] {
        let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
        init(&url, &judge, &["--max-pages", &PAGES.to_string()]);
        let mut workers: Vec<_> = names.iter().map(|name| Worker::start(&url, dir.path(), name)).collect();
        until(|| at_work(&url) == names.len());
        assert!(workers.iter_mut().all(|worker| worker.code() == LIMIT));
        expect_limit(&url, PAGES);
        expect_polite(&judge);
        expect_clean_audit(&url, dir.path(), names);
    }
}

#[test]
fn a_limit_of_pages_holds_when_a_worker_is_killed() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &judge, &["--max-pages", &PAGES.to_string()]);
    let mut workers =
        ["killed", "two", "three"].map(|name| Worker::start(&url, dir.path(), name)).into_iter();
    let killed = workers.next();
    until(|| at_work(&url) == 3 && judge.count() > 15);
    drop(killed);
    assert!(judge.count() < 45, "it was in the middle");
    assert!(workers.all(|mut worker| worker.code() == LIMIT));
    expect_limit(&url, PAGES);
    expect_polite(&judge);
    expect_clean_audit(&url, dir.path(), &["killed", "two", "three"]);
}

#[test]
fn a_limit_that_is_raised_lets_the_crawl_go_on_and_one_that_is_not_reached_says_nothing() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &judge, &["--max-pages", "20"]);
    assert_eq!(work(&url, dir.path(), &["one", "two"]), [LIMIT; 2]);
    expect_limit(&url, 20);
    let count = judge.count();
    assert!(run(&["cluster", "resume", &url]).status.success());
    assert_eq!(work(&url, dir.path(), &["one"]), [LIMIT], "nothing has changed");
    assert_eq!(judge.count(), count);
    assert!(run(&["cluster", "resume", &url, "--max-pages", "30"]).status.success());
    let refused = run(&["cluster", "resume", &url, "--max-pages", "40"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("crawl cluster stop"), "{}", text(&refused));
    assert_eq!(work(&url, dir.path(), &["one", "two"]), [LIMIT; 2]);
    expect_limit(&url, 30);
    let refused = run(&["cluster", "resume", &url, "--max-pages", "0"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    let whole = Judge::truth().len() as u64;
    assert!(run(&["cluster", "resume", &url, "--max-pages", "1000"]).status.success());
    assert_eq!(work(&url, dir.path(), &["one", "two"]), [Some(0); 2]);
    let status = status(&url);
    assert_eq!((status["state"].as_str(), status["limit"].as_str()), (Some("complete"), None), "{status}");
    assert_eq!((status["totals"]["pages"].as_u64(), stored(&url)), (Some(whole), whole), "{status}");
    expect_clean_audit(&url, dir.path(), &["one", "two"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the time that a crawl takes")]
fn bytes_and_time_end_the_whole_crawl() {
    let Some(server) = Server::start(&[]) else { return };
    // A page has about 150 bytes, ten sites are asked for robots.txt, and a look is due every second.
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &judge, &["--max-bytes", "4KB"]);
    assert_eq!(work(&url, dir.path(), &["one", "two"]), [LIMIT; 2]);
    let found = status(&url);
    assert_eq!(found["limit"].as_str(), Some("max-bytes 4000"), "{found}");
    let bytes = found["totals"]["bytes"].as_u64().unwrap();
    assert!((4_000..16_000).contains(&bytes), "{found}");
    assert!(stored(&url) < Judge::truth().len() as u64);
    expect_clean_audit(&url, dir.path(), &["one", "two"]);

    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &judge, &["--max-time", "3s"]);
    let begun = Instant::now();
    assert_eq!(work(&url, dir.path(), &["one", "two"]), [LIMIT; 2]);
    let took = begun.elapsed();
    assert!((3..12).contains(&took.as_secs()), "{took:?}");
    assert_eq!(status(&url)["limit"].as_str(), Some("max-time 3s"));
    let first = stored(&url);
    assert!((1..Judge::truth().len() as u64).contains(&first), "{first}");
    // The time of a run: the next one has as much again.
    assert!(run(&["cluster", "resume", &url]).status.success());
    assert_eq!(work(&url, dir.path(), &["one", "two"]), [LIMIT; 2]);
    assert!(stored(&url) > first);
    expect_polite(&judge);
    expect_clean_audit(&url, dir.path(), &["one", "two"]);
}

/// Requests a second that the sites would see without a limit: ten of them, with a gap of 300 ms after each answer.
const UNLIMITED: f64 = 1.0 / 0.33 * 10.0;

/// How many more requests came in any time than a rate allows in it, and how long all of them took.
fn excess(judge: &Judge, rate: f64) -> (f64, f64) {
    let times = judge.seen().times.clone();
    let since = |from: Instant, to: Instant| to.duration_since(from).as_secs_f64();
    let mut most = 0.0_f64;
    for (from, first) in times.iter().enumerate() {
        for (to, last) in times.iter().enumerate().skip(from) {
            most = most.max((to - from) as f64 - rate * since(*first, *last));
        }
    }
    (most, since(times[0], times[times.len() - 1]))
}

#[test]
fn a_rate_is_kept_by_all_workers_together_and_by_those_that_remain() {
    const RATE: f64 = 10.0;
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &judge, &["--max-rate", "10"]);
    let [killed, mut two, mut three] =
        ["killed", "two", "three"].map(|name| Worker::start(&url, dir.path(), name));
    until(|| at_work(&url) == 3 && judge.count() > 30);
    drop(killed);
    assert_eq!([two.code(), three.code()], [Some(0); 2]);
    let (excess, took) = excess(&judge, RATE);
    let count = judge.seen().times.len() as f64;
    // A time may be used 100 ms late, and a worker doesn't know how long an answer of the database was on the way; nor do the sites how
    // long a request was.
    assert!(excess <= 5.0, "{excess} more than {RATE} a second");
    // They ask in turn, and the partitions of the one that was killed rest for a lease.
    assert!(took < 3.0 * count / RATE && RATE < UNLIMITED, "{count} requests in {took} s");
    expect_polite(&judge);
    expect_clean_audit(&url, dir.path(), &["killed", "two", "three"]);
}

#[test]
fn a_bandwidth_is_kept_by_all_workers_together() {
    const BANDWIDTH: f64 = 1_000.0;
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &judge, &["--max-bandwidth", "1KB"]);
    assert_eq!(work(&url, dir.path(), &["one", "two", "three"]), [Some(0); 3]);
    let (_, took) = excess(&judge, 1.0);
    let bytes = judge.seen().bytes as f64;
    let (rate, page) = (bytes / took, bytes / judge.seen().times.len() as f64);
    // One second's worth may run ahead, and what comes until all workers have reported: ten answers and more.
    assert!(bytes <= BANDWIDTH * (took + 1.0) + 20.0 * page, "{bytes} bytes in {took} s");
    assert!(rate >= BANDWIDTH / 3.0 && BANDWIDTH < page * UNLIMITED * 0.8, "{rate} a second; {page} a page");
    expect_polite(&judge);
    expect_clean_audit(&url, dir.path(), &["one", "two", "three"]);
    for (option, most, words) in
        [("--max-rate", "0", "between 0.001"), ("--max-bandwidth", "0B", "greater than 0")]
    {
        let refused = run(&["cluster", "resume", &url, option, most]);
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
        assert!(text(&refused).contains(words), "{}", text(&refused));
    }
    let other = ["cluster", "resume", &url, "--max-rate", "2.5", "--max-bandwidth", "none"];
    assert!(run(&other).status.success());
    let settings = server.sql(&url, "select settings from crawl");
    assert!(settings.contains("max_rate = 2.5") && !settings.contains("max_bandwidth = \"1"), "{settings}");
}
