//! The disk of a worker is lost: `crawl cluster lost` has its pages fetched again.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crawler::warc::Reader;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::judge::Judge;
use crate::program::{
    Worker, at_work, audit, expect_clean_audit, expect_polite_and_whole, init_at, init_with, run, status,
    text,
};
use crate::server::{Server, until};

/// Pages whose bodies are in the archive of a worker, as the judge calls them.
fn archived(dir: &Path, name: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(dir.join(name).join("warc")).unwrap().flatten();
    let files = files.filter(|file| file.file_name().to_string_lossy().ends_with(".warc.gz"));
    let records = files.flat_map(|file| Reader::open(&file.path()).unwrap().map(Result::unwrap));
    let pages = records.filter(|record| record.kind() == "response");
    let pages = pages.filter(|page| !page.field("WARC-Target-URI").unwrap().ends_with("/robots.txt"));
    pages.map(|page| page.field("WARC-Target-URI").unwrap().replace("http://", "")).collect()
}

/// Pages that the judge was asked for more than once.
fn asked_again(judge: &Judge) -> BTreeSet<String> {
    judge.seen().pages.iter().filter(|(_, count)| **count > 1).map(|(page, _)| page.clone()).collect()
}

fn lost(url: &str, worker: &str) -> (Option<i32>, String) {
    let lost = run(&["cluster", "lost", url, worker]);
    (lost.status.code(), text(&lost))
}

#[test]
fn pages_of_a_lost_archive_are_fetched_again_once_and_no_others() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    // So short that hosts are ready when the order is read: nothing may be asked for before the records are stored.
    init_at(&url, &judge, Duration::from_millis(20), &["--single-server"]);
    let mut workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);
    let (gone, kept) = (archived(dir.path(), "one"), archived(dir.path(), "two"));
    assert!(!gone.is_empty() && !kept.is_empty(), "both took part: {gone:?} {kept:?}");
    std::fs::remove_dir_all(dir.path().join("one")).unwrap();
    assert_ne!(audit(&url, dir.path(), &["two"]).0, Some(0), "the audit misses them");

    let (code, said) = lost(&url, "north");
    assert!(code == Some(2) && said.contains("no worker north; it had 1 ("), "{said}");
    let (code, said) = lost(&url, "one");
    assert!(code == Some(0) && said.contains("(one)"), "{said}");
    assert_eq!(status(&url)["state"].as_str(), Some("running"));
    // Twice is as good as once.
    assert_eq!(lost(&url, "one").0, Some(0));
    assert_eq!(Worker::start(&url, dir.path(), "three").code(), Some(0));

    assert_eq!(asked_again(&judge), gone);
    assert!(judge.seen().overlaps.is_empty());
    assert!(judge.seen().pages.keys().eq(Judge::truth().iter()));
    assert_eq!(archived(dir.path(), "three"), gone);
    expect_clean_audit(&url, dir.path(), &["two", "three"]);
    let page = gone.first().unwrap();
    let explained = text(&run(&["explain", "--cluster", &url, &format!("http://{page}")]));
    assert!(explained.contains("body lost (fetch): body") && explained.contains("is lost"), "{explained}");
}

#[test]
fn a_worker_that_runs_is_not_lost_and_one_that_is_silent_for_a_lease_is() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    let worker = Worker::start(&url, dir.path(), "one");
    until(|| at_work(&url) == 1 && judge.count() > 20);
    let (code, said) = lost(&url, "one");
    assert!(code == Some(2) && said.contains("worker 1 (one) is running"), "{said}");
    worker.signal(Signal::KILL);
    let stored = status(&url)["totals"]["pages"].as_u64().unwrap();
    assert!(stored > 0);
    std::fs::remove_dir_all(dir.path().join("one")).unwrap();
    // Nobody else is there who could have noticed.
    let (code, said) = lost(&url, "1");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(Worker::start(&url, dir.path(), "two").code(), Some(0));
    assert_eq!(archived(dir.path(), "two"), Judge::truth(), "each page has its body again");
    expect_polite_and_whole(&judge, u32::try_from(Judge::truth().len()).unwrap());
    expect_clean_audit(&url, dir.path(), &["two"]);
}
