//! Faults of the machines around a crawl: two primaries, clocks that are wrong, a full disk.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use tempfile::TempDir;

use crate::judge::Judge;
use crate::program::{
    LEASE, Worker, at_work, expect_clean_audit, expect_polite_and_whole, init_with, run, text,
};
use crate::server::{Server, until, url_by, wait};

/// The standby is promoted while the primary lives on: some workers see the one, some the other. The primary has no standby any more, so it
/// confirms nothing, and who sees it alone loses its lease.
#[test]
fn of_two_primaries_the_old_one_confirms_nothing_and_no_host_is_asked_by_both_sides() {
    let Some(primary) = Server::start(&[]) else { return };
    let name = primary.database().split(['/', '?']).nth(3).unwrap().to_owned();
    let standby = primary.standby();
    primary.sql(&name, "alter system set synchronous_standby_names = '*'");
    primary.sql(&name, "select pg_reload_conf()");
    until(|| primary.sql(&name, "select sync_state from pg_stat_replication") == "sync");
    let (judge, dir) = (Judge::start(), TempDir::new().unwrap());
    let (before, after) = (url_by(primary.dir(), &name), url_by(standby.dir(), &name));
    init_with(&before, &judge, &[]);
    let old = Worker::start(&before, dir.path(), "old");
    until(|| at_work(&before) == 1 && judge.count() > 20);
    standby.sql(&name, "select pg_promote()");
    until(|| standby.sql(&name, "select pg_is_in_recovery()") == "f");
    // What was under way at that moment may have been confirmed by the standby just before.
    wait(Duration::from_millis(500));
    let confirmed = "select sum(commits) from part";
    let at_promotion = primary.sql(&name, confirmed);
    let mut new = Worker::start(&after, dir.path(), "new");
    wait(LEASE);
    let count = judge.count();
    assert_eq!(new.code(), Some(0));
    assert!(judge.count() > count, "the new side crawled");
    assert_eq!(primary.sql(&name, confirmed), at_promotion, "the old side confirms nothing");
    let number = |text: String| text.parse::<u64>().unwrap();
    assert!(
        number(standby.sql(&name, confirmed)) > number(at_promotion),
        "and the new one has all that it did"
    );
    drop(old);
    // In flight, or not confirmed, on the old side.
    expect_polite_and_whole(&judge, 20);
    expect_clean_audit(&after, dir.path(), &["old", "new"]);
}

/// A library that shifts the time of day of a program by the seconds in the variable SKEW.
fn skewed_clock(dir: &Path) -> PathBuf {
    const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, at);
    if (clock == CLOCK_REALTIME) at->tv_sec += atol(getenv("SKEW"));
    return result;
}
"#;
    let (source, library) = (dir.join("skew.c"), dir.join("skew.so"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut cc = Command::new("cc");
    let built = cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl").output().unwrap();
    assert!(built.status.success(), "{}", text(&built));
    library
}

/// The pauses that sites ask for hold from one worker to another, and the times on record are those of the database.
#[test]
fn clocks_that_are_hours_apart_change_nothing() {
    let Some(server) = Server::start(&[]) else { return };
    // Longer than it takes until another worker has the hosts.
    let pause = Duration::from_secs(12);
    let (url, judge, dir) = (server.database(), Judge::asking_for(pause), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    let library = skewed_clock(dir.path());
    let start = |name: &str, skew: &str| {
        let mut command = Worker::command(&url, dir.path(), name);
        Worker::run(command.env("LD_PRELOAD", &library).env("SKEW", skew), dir.path(), name)
    };
    let began = server.sql(&url, "select extract(epoch from clock_timestamp())::int8");
    let early = start("early", "-10800");
    let mut late = start("late", "18000");
    until(|| at_work(&url) == 2 && judge.count() >= 30);
    wait(Duration::from_secs(1));
    // Its hosts, and their pauses, go to the one whose clock is eight hours ahead.
    drop(early);
    assert_eq!(late.code(), Some(0));
    let seen = judge.seen();
    assert!(seen.paused.is_empty(), "within pauses: {:?}", seen.paused);
    drop(seen);
    // What the killed worker had under way is asked for again.
    expect_polite_and_whole(&judge, 20);
    expect_clean_audit(&url, dir.path(), &["early", "late"]);
    let exported = run(&["export", "--cluster", &url, "--table", "pages", "--format", "jsonl"]);
    let began = Timestamp::from_second(began.parse().unwrap()).unwrap();
    let rows: Vec<serde_json::Value> = exported
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|row| serde_json::from_slice(row).ok())
        .collect();
    assert!(rows.len() >= Judge::truth().len(), "{}", text(&exported));
    for row in rows {
        let at: Timestamp = row["fetched_at"].as_str().unwrap().parse().unwrap();
        let age = at.duration_since(began).as_secs();
        assert!((-2..600).contains(&age), "{row}: {age} s after the start");
    }
}

/// The worker ends with what it has stored, and gives its partitions to the others at once.
#[test]
fn a_worker_whose_disk_is_full_ends_and_the_others_crawl_its_hosts() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    let worker = Worker::command(&url, dir.path(), "full");
    // No file of it may have more than 4 KB.
    let mut limited = Command::new("sh");
    limited
        .args(["-c", r#"trap '' XFSZ && ulimit -f 8 && exec "$@""#, "sh"])
        .arg(worker.get_program())
        .args(worker.get_args());
    let mut full = Worker::run(&mut limited, dir.path(), "full");
    assert_eq!(full.code(), Some(5), "{:?}", std::fs::read_to_string(dir.path().join("full.log")));
    assert_eq!(at_work(&url), 0, "it has given its partitions back");
    assert_eq!(Worker::start(&url, dir.path(), "other").code(), Some(0));
    expect_polite_and_whole(&judge, 40);
    expect_clean_audit(&url, dir.path(), &["full", "other"]);
}
