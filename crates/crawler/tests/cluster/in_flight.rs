//! Requests that were in flight when their worker was killed: each is in the ledger, and no host is asked before its server can be through with them.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::judge::Judge;
use crate::program::{
    Worker, audit, check, expect_clean_audit, expect_polite_and_whole, init_with, run, status, text,
};
use crate::recrawl::rows;
use crate::server::{Server, until, wait};

/// How long the sites take for a robots.txt, and for a page: longer than the others wait for a worker that is silent.
const ROBOTS: Duration = Duration::from_millis(5_500);
const PAGE: Duration = Duration::from_millis(700);

/// Longer than any answer takes.
const TIMEOUT: &str = "7s";

/// The requests to each host that the ledger has, and how many of all of them were interrupted.
fn on_record(url: &str) -> (BTreeMap<String, u64>, u64) {
    let (mut requests, mut interrupted) = (BTreeMap::new(), 0);
    for row in rows(url, "ledger") {
        if !row["evidence"]["request"].is_null() {
            *requests.entry(row["host"].as_str().unwrap().to_owned()).or_default() += 1;
            interrupted += u64::from(row["decision"] == "interrupted");
        }
    }
    (requests, interrupted)
}

/// Waits until the sites have seen so many requests.
fn until_asked(judge: &Judge, requests: u64) {
    for _ in 0..900 {
        if judge.seen().requests.values().sum::<u64>() >= requests {
            return;
        }
        wait(Duration::from_millis(100));
    }
    panic!("there are never {requests} requests");
}

fn unknown(url: &str) -> Vec<serde_json::Value> {
    status(url)["requests_unknown"].as_array().unwrap().clone()
}

#[test]
fn every_request_of_workers_that_are_killed_is_on_record_and_none_overlaps() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::slow(ROBOTS, PAGE), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server", "--timeout", TIMEOUT, "--adaptive", "0"]);
    let start = |name: &str| Worker::start(&url, dir.path(), name);
    let mut two = start("two");
    let mut one = start("one");
    // While the sites work on what both ask for first, and while they are asked for pages.
    for requests in [1, 4, 20] {
        until_asked(&judge, requests);
        wait(Duration::from_millis(300));
        one.signal(Signal::KILL);
        two.signal(Signal::KILL);
        drop((one, two));
        (one, two) = (start("one"), start("two"));
    }
    // One isn't started again: the other ends the crawl without it, and says what isn't known.
    until_asked(&judge, 50);
    drop(one);
    assert_eq!(two.code(), Some(0));
    let missing = unknown(&url);
    assert!(
        missing.len() == 1 && missing[0]["name"] == "one" && missing[0]["lost"] == false,
        "{missing:?}: {}",
        text(&run(&["cluster", "status", &url]))
    );
    let said = text(&run(&["cluster", "status", &url]));
    assert!(said.contains("requests that it had in flight may be missing from the ledger"), "{said}");
    let (_, report) = audit(&url, dir.path(), &["one", "two"]);
    let overlap =
        report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "overlap").unwrap();
    assert!(overlap["unchecked"]["requests_unknown"].as_u64() > Some(0), "{overlap}");

    // Its directory has them.
    assert_eq!(start("one").code(), Some(0));
    assert_eq!(unknown(&url), Vec::<serde_json::Value>::new());
    let (requests, interrupted) = on_record(&url);
    assert_eq!(requests, judge.seen().requests, "each request is in one entry");
    assert!(interrupted >= 4, "{interrupted} were in flight");
    let left: Vec<String> = ["one", "two"]
        .iter()
        .flat_map(|name| std::fs::read_dir(dir.path().join(name)).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("in-flight"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    expect_polite_and_whole(&judge, 60);
    expect_clean_audit(&url, dir.path(), &["one", "two"]);
    expect_known_to_readers(&url, &judge);
}

/// The report for a site's owner and the explanation of a URL have them.
fn expect_known_to_readers(url: &str, judge: &Judge) {
    let entry = rows(url, "ledger").into_iter().find(|row| row["decision"] == "interrupted").unwrap();
    let host = entry["host"].as_str().unwrap();
    let of_host =
        rows(url, "ledger").into_iter().filter(|row| row["host"] == host && row["decision"] == "interrupted");
    let report = run(&["report", "--cluster", url, "--host", host, "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["interrupted"].as_u64(), Some(of_host.count() as u64), "{report}");
    assert_eq!(report["recorded_requests"].as_u64(), judge.seen().requests.get(host).copied(), "{report}");
    assert_eq!(report["overlaps"].as_u64(), Some(0), "{report}");
    let explained = text(&run(&["explain", "--cluster", url, entry["url"].as_str().unwrap()]));
    assert!(explained.contains("interrupted"), "{explained}");
}

/// The directory of a worker that was killed is lost: that is said for good, and the hosts rest all the same.
#[test]
fn what_nobody_will_know_is_said() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::slow(ROBOTS, PAGE), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server", "--timeout", TIMEOUT, "--adaptive", "0"]);
    let gone = Worker::start(&url, dir.path(), "gone");
    until_asked(&judge, 1);
    drop(gone);
    std::fs::remove_dir_all(dir.path().join("gone")).unwrap();
    let mut other = Worker::start(&url, dir.path(), "other");
    until(|| !unknown(&url).is_empty() && judge.count() > 0);
    let lost = run(&["cluster", "lost", &url, "gone"]);
    assert!(lost.status.success(), "{}", text(&lost));
    assert_eq!(other.code(), Some(0));
    let missing = unknown(&url);
    assert!(missing.len() == 1 && missing[0]["lost"] == true, "{missing:?}");
    let said = text(&run(&["cluster", "status", &url]));
    assert!(said.contains("its directory is lost"), "{said}");
    let (code, report) = audit(&url, dir.path(), &["other"]);
    assert_eq!((code, check(&report, "overlap").1), (Some(0), 0), "{report}");
    expect_polite_and_whole(&judge, 5);
}
