//! `crawl cluster pause`, `continue` and `set`: what all workers keep to, those of later, too.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::judge::{GAP, Judge};
use crate::moves;
use crate::program::{
    Worker, audit, check, expect_clean_audit, expect_polite_and_whole, init_with, run, status, text,
};
use crate::server::{Server, until, wait};

const SITE: &str = "s3.test";

/// Long enough for whatever was to be asked.
const WHILE: Duration = Duration::from_secs(2);

fn order(url: &str, args: &[&str]) -> String {
    let done = run(&[&["cluster", args[0], url], &args[1..]].concat());
    assert_eq!(done.status.code(), Some(0), "{args:?}: {}", text(&done));
    text(&done)
}

/// Requests to a site so far, for robots.txt as well.
fn asked(judge: &Judge, site: &str) -> usize {
    judge.seen().rested.iter().filter(|(host, _)| host == site).count()
}

#[test]
fn a_paused_host_is_asked_by_no_worker_and_a_longer_delay_is_kept_by_all() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    // Before the crawl has begun, and before the host is known.
    let said = order(&url, &["pause", "--host", SITE]);
    assert_eq!(said, "s3.test is paused, as soon as workers have read the order\n");
    let mut one = Worker::start(&url, dir.path(), "one");
    until(|| judge.count() > 10);
    let said = order(&url, &["set", "delay=1s", "--host", "s1.test"]);
    assert_eq!(said, "the delay of s1.test is at least 1s\n");
    let set_at = judge.seen().rested.len();
    let refused = run(&["cluster", "set", &url, "delay=10ms"]);
    let said = text(&refused);
    assert!(refused.status.code() == Some(2) && said.contains("the crawl's delay is 300ms"), "{said}");
    let shown = text(&run(&["cluster", "status", &url]));
    assert!(shown.contains("s3.test is paused\n"), "{shown}");
    assert!(shown.contains("s1.test has a delay of at least 1s\n"), "{shown}");

    // A worker that comes later keeps to it.
    one.signal(Signal::KILL);
    let _killed = one.code();
    let mut two = Worker::start(&url, dir.path(), "two");
    let others = Judge::truth_without(3, &BTreeSet::new()).len();
    let found = || judge.seen().pages.len();
    until(|| found() > others / 2);
    until(|| found() == others);
    wait(WHILE);
    assert_eq!(found(), others, "nothing of the host that is paused");
    assert_eq!(judge.seen().pages.keys().filter(|page| page.starts_with(SITE)).count(), 0);
    assert_eq!(status(&url)["state"].as_str(), Some("running"), "the paused host has URLs");
    let rested = judge.seen().rested.split_off(set_at);
    let short: Vec<_> =
        rested.iter().filter(|(host, rested)| host == "s1.test" && *rested < GAP * 3).skip(1).collect();
    assert!(short.is_empty(), "one request may have been in flight: {short:?}");

    // All hosts, while nobody works; whoever comes then asks nobody.
    two.signal(Signal::INT);
    assert_eq!(two.code(), Some(11));
    order(&url, &["pause"]);
    order(&url, &["continue", "--host", SITE]);
    let mut three = Worker::start(&url, dir.path(), "three");
    until(|| status(&url)["steering"]["paused"] == true);
    wait(WHILE);
    assert_eq!(found(), others);
    assert_eq!(order(&url, &["continue"]), "all hosts continue\n");
    assert_eq!(three.code(), Some(0));
    // A kill has at most one request of each host made again, and one host was paused.
    let mut again = BTreeMap::<String, u32>::new();
    for (page, count) in &judge.seen().pages {
        let host = page.split('/').next().unwrap_or_default();
        *again.entry(host.to_owned()).or_default() += count - 1;
    }
    assert!(again.values().all(|count| *count <= 1), "{again:?}");
    expect_polite_and_whole(&judge, u32::try_from(again.len()).unwrap() - 1);
    expect_clean_audit(&url, dir.path(), &["one", "two", "three"]);
    let (_, report) = audit(&url, dir.path(), &["one", "two", "three"]);
    assert!(check(&report, "ledger").0 > 0);
    let ledger = run(&["export", "--cluster", &url, "--table", "ledger", "--format", "jsonl"]);
    let ledger = String::from_utf8_lossy(&ledger.stdout);
    let entries = |decision: &str| ledger.lines().filter(|line| line.contains(decision)).count();
    assert_eq!(
        ["operator_paused", "operator_continued", "delay_set"].map(entries),
        [2, 2, 1],
        "each order once, also those that are for all partitions"
    );
}

#[test]
fn what_was_paused_stays_paused_in_a_cluster_and_back() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    let (root, out) = (dir.path().join("first"), dir.path().join("first").display().to_string());
    let crawl = moves::begin_with(&judge, &root, GAP, &[]);
    until(|| judge.seen().pages.keys().any(|page| page.starts_with(SITE)));
    let paused = run(&["pause", &out, "--host", SITE]);
    assert!(paused.status.success(), "{}", text(&paused));
    moves::stop_at(crawl, &judge, judge.count() + 3);
    let before = asked(&judge, SITE);
    let imported = run(&["cluster", "import", &out, &url, "--single-server", "--partitions", "16"]);
    assert!(imported.status.success(), "{}", text(&imported));
    let mut worker = Worker::start(&url, dir.path(), "one");
    let count = judge.count();
    until(|| judge.count() > count + 30);
    // The order is under way when the crawl is moved.
    order(&url, &["pause", "--host", "s5.test"]);
    assert_eq!(run(&["cluster", "stop", &url]).status.code(), Some(0));
    assert_eq!(worker.code(), Some(11));
    assert_eq!(asked(&judge, SITE), before);
    order(&url, &["set", "delay=400ms", "--host", "s1.test"]);
    let back = dir.path().join("back").display().to_string();
    let warc = ["first", "one"].map(|name| dir.path().join(name).join("warc").display().to_string());
    let moved = run(&["cluster", "export", &url, "--out", &back, "--warc", &warc[0], "--warc", &warc[1]]);
    assert!(moved.status.success(), "{}", text(&moved));
    let (site, other) = (asked(&judge, SITE), asked(&judge, "s5.test"));
    let mut crawl = moves::start(&["resume", &back]);
    let count = judge.count();
    until(|| judge.count() > count);
    wait(WHILE);
    assert_eq!((asked(&judge, SITE), asked(&judge, "s5.test")), (site, other));
    for host in [SITE, "s5.test"] {
        let released = run(&["continue", &back, "--host", host]);
        assert!(released.status.success(), "{}", text(&released));
    }
    until(|| judge.seen().pages.len() == Judge::truth().len());
    let _ended = crawl.wait();
    expect_polite_and_whole(&judge, 0);
}
