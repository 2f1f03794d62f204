//! `crawl cluster recrawl`: pages are visited again by all workers, each once a round.

use rustix::process::Signal;
use tempfile::TempDir;

use crate::judge::Judge;
use crate::program::{Worker, expect_clean_audit, init_with, run, status, text};
use crate::server::{Server, until};

fn recrawl(url: &str, options: &[&str]) -> (Option<i32>, serde_json::Value) {
    let done = run(&[&["cluster", "recrawl", url, "--json"], options].concat());
    let said = serde_json::from_slice(&done.stdout).unwrap_or_else(|_| text(&done).into());
    (done.status.code(), said)
}

/// Rows of a table.
pub(crate) fn rows(url: &str, table: &str) -> Vec<serde_json::Value> {
    let exported = run(&["export", "--cluster", url, "--table", table, "--format", "jsonl"]);
    let lines = String::from_utf8(exported.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_page_is_visited_again_once_a_round_and_what_changed_is_stored() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::changing(3), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    let start = |name| Worker::start(&url, dir.path(), name);
    let mut workers = ["one", "two"].map(start);
    until(|| judge.count() > 5);
    let (code, said) = recrawl(&url, &[]);
    assert!(code == Some(2) && said.as_str().unwrap().contains("crawl cluster stop"), "{said}");
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);
    let pages = Judge::truth().len();
    assert_eq!(judge.seen().pages.values().max(), Some(&1));

    // None is as old as that; then all are.
    let (code, said) = recrawl(&url, &["--older-than", "1d"]);
    assert_eq!((code, said["queued"].as_u64()), (Some(0), Some(0)), "{said}");
    assert_eq!(status(&url)["state"].as_str(), Some("complete"));
    let (code, said) = recrawl(&url, &["--older-than", "0s"]);
    assert_eq!((code, said["queued"].as_u64()), (Some(0), Some(pages as u64)), "{said}");
    assert_eq!(status(&url)["state"].as_str(), Some("running"));

    // Stopped halfway it isn't moved, and continued, not begun again.
    let mut one = start("one");
    let again = || judge.seen().pages.values().filter(|count| **count == 2).count();
    until(|| again() > pages / 3);
    one.signal(Signal::INT);
    assert_eq!(one.code(), Some(11));
    assert_eq!(run(&["cluster", "stop", &url]).status.code(), Some(0));
    assert!(again() < pages, "it was stopped too late to show anything");
    let out = dir.path().join("moved").display().to_string();
    let refused = run(&["cluster", "export", &url, "--out", &out]);
    let said = text(&refused);
    assert!(refused.status.code() == Some(2) && said.contains("a recrawl is under way"), "{said}");
    let (code, said) = recrawl(&url, &["--older-than", "0s"]);
    assert_eq!((code, said["queued"].as_u64()), (Some(0), Some(pages as u64)), "{said}");
    let mut workers = ["two", "three"].map(start);
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);

    {
        let seen = judge.seen();
        assert!(seen.pages.keys().eq(Judge::truth().iter()), "the same pages as before");
        let other: Vec<_> = seen.pages.iter().filter(|(_, count)| **count != 2).collect();
        assert!(other.len() <= 1, "each twice, but for a request in flight when its worker ended: {other:?}");
        assert!(seen.overlaps.is_empty() && seen.short.is_empty(), "{:?} {:?}", seen.overlaps, seen.short);
    }
    let changed: Vec<_> = rows(&url, "changes");
    let of_site = |row: &&serde_json::Value| row["url"].as_str().unwrap().starts_with("http://s3.test/");
    assert!(!changed.is_empty() && changed.iter().filter(of_site).count() == changed.len(), "{changed:?}");
    let of_site = Judge::truth().iter().filter(|page| page.starts_with("s3.test/")).count();
    assert_eq!(changed.len(), of_site, "{changed:?}");
    expect_clean_audit(&url, dir.path(), &["one", "two", "three"]);

    // The next round is one of its own, for pages that changed.
    let (code, said) = recrawl(&url, &["--older-than", "0s", "--changed-only"]);
    assert_eq!((code, said["queued"].as_u64()), (Some(0), Some(of_site as u64)), "{said}");
    assert_eq!(start("one").code(), Some(0));
    let thrice = judge.seen().pages.clone().into_iter().filter(|(_, count)| *count >= 3);
    let thrice: Vec<String> = thrice.map(|(page, _)| page).collect();
    assert!(thrice.len() >= of_site && thrice.len() <= of_site + 1, "{thrice:?}");
    expect_clean_audit(&url, dir.path(), &["one", "two", "three"]);
}
