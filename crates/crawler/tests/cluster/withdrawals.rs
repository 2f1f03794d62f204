//! Content that has to leave the archive lies in the directory of one worker, and its partition is another one's.

use std::path::Path;
use std::time::Duration;

use crawler::warc::Reader;
use page::clock::wall;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::judge::{EXPIRING, Judge};
use crate::program::{Worker, expect_clean_audit, init_at, run, status, text};
use crate::server::{Server, until};

/// The gap of the crawl: each site takes at least twelve of them.
const DELAY: Duration = Duration::from_secs(1);

/// Captures of pages that expire, in the archive of a worker.
fn captures(dir: &Path, name: &str) -> usize {
    let files = std::fs::read_dir(dir.join(name).join("warc")).unwrap().flatten();
    let files = files.filter(|file| file.file_name().to_string_lossy().ends_with(".warc.gz"));
    let records = files.flat_map(|file| Reader::open(&file.path()).unwrap().map(Result::unwrap));
    let is_page = |url: &str| url.contains(EXPIRING) && !url.ends_with("/robots.txt");
    let of_pages = records
        .filter(|record| record.kind() == "response")
        .filter(|record| record.field("WARC-Target-URI").is_some_and(is_page));
    of_pages.count()
}

#[test]
fn what_expires_in_the_archive_of_another_worker_is_removed_when_that_one_is_back() {
    let Some(server) = Server::start(&[]) else { return };
    let dir = TempDir::new().unwrap();
    // Before the crawl can be over, and long after the first worker has ended.
    let expires = wall() + Duration::from_secs(11);
    let (url, judge) = (server.database(), Judge::expiring_at(&format!("{expires:.0}")));
    init_at(&url, &judge, DELAY, &["--single-server"]);
    let mut first = Worker::start(&url, dir.path(), "one");
    until(|| judge.count() > 25 && judge.seen().pages.keys().any(|page| page.starts_with(EXPIRING)));
    first.signal(Signal::INT);
    assert_eq!(first.code(), Some(11));
    let had = captures(dir.path(), "one");
    assert!(had > 0 && wall() < expires, "{had} captures");

    let mut second = Worker::start(&url, dir.path(), "two");
    assert_eq!(second.code(), Some(0), "what expires elsewhere doesn't end it");
    assert_eq!(captures(dir.path(), "two"), 0);
    assert_eq!(captures(dir.path(), "one"), had);
    let due = &status(&url)["withdrawals"];
    let [one] = &due.as_array().unwrap()[..] else { panic!("{due}") };
    assert_eq!((one["worker"].as_i64(), one["name"].as_str()), (Some(1), Some("one")));
    assert_eq!(one["captures"].as_u64(), Some(had as u64));
    let shown = text(&run(&["cluster", "status", &url]));
    assert!(shown.contains("to be removed from the archive of worker 1 (one)"), "{shown}");

    assert_eq!(Worker::start(&url, dir.path(), "one").code(), Some(0), "the crawl is complete");
    assert_eq!(captures(dir.path(), "one"), 0);
    assert_eq!(status(&url)["withdrawals"].as_array().map(Vec::len), Some(0));
    expect_clean_audit(&url, dir.path(), &["one", "two"]);
}

/// A worker that isn't started again has nothing to remove once its disk is lost.
#[test]
fn nothing_has_to_be_removed_from_an_archive_that_is_lost() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init_at(&url, &judge, Duration::from_millis(20), &["--single-server"]);
    assert_eq!(Worker::start(&url, dir.path(), "one").code(), Some(0));
    let withdrawal = r#"{"v":1,"url":"http://s0.test/","place":{"file":"crawl-20260301120000-w1p003f2-00001.warc.gz","offset":0,"length":9},"at":"2026-03-01T12:00:00Z","because":"noarchive","done":false}"#;
    let sql = format!("insert into kv values (3, 12, 'x', convert_to('{withdrawal}', 'UTF8'))");
    server.sql(&url, &sql);
    assert_eq!(status(&url)["withdrawals"][0]["worker"].as_i64(), Some(1));
    let lost = run(&["cluster", "lost", &url, "one"]);
    assert_eq!(lost.status.code(), Some(0), "{}", text(&lost));
    assert_eq!(status(&url)["withdrawals"].as_array().map(Vec::len), Some(0));
}
