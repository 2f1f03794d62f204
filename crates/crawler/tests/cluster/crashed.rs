//! A page that ends the process that reads it costs a cluster one worker, and not one after the other.

use tempfile::TempDir;

use crate::judge::Judge;
use crate::program::{Worker, expect_clean_audit, init_with, run, text};
use crate::recrawl::rows;
use crate::server::Server;

/// The program aborts while it reads a body with the text of this variable, where it is built with debug assertions.
const VARIABLE: &str = "WHOLE_PROGRAM_ABORTS_ON";
/// A page that leads to nothing that others don't lead to.
const POISON: &str = "s3.test/p11";

#[test]
fn a_page_that_ends_the_process_costs_one_worker() {
    if !cfg!(debug_assertions) {
        return;
    }
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    let mark = format!("<title>{POISON}</title>");
    let start = |name: &str| {
        Worker::run(Worker::command(&url, dir.path(), name).env(VARIABLE, &mark), dir.path(), name)
    };
    let mut workers = ["one", "two", "three"].map(start);
    let mut codes = workers.each_mut().map(Worker::code);
    codes.sort_unstable();
    assert_eq!(codes, [None, Some(13), Some(13)], "one died, and the others went on to the end");

    let poison = format!("http://{POISON}");
    let crashed = || -> Vec<serde_json::Value> {
        rows(&url, "skipped").into_iter().filter(|row| row["reason"] == "crashed").collect()
    };
    let found = crashed();
    assert!(found.len() == 1 && found[0]["url"] == poison.as_str(), "{found:?}");
    let truth = Judge::truth().len();
    assert_eq!(rows(&url, "pages").len(), truth - 1);
    assert_eq!(judge.seen().pages.get(POISON), Some(&2), "once by each of the two that had it");
    let shown = run(&["show", "--cluster", &url, "--json"]);
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["status"], "incomplete", "{shown}");

    // Tried again, by a program that survives it.
    let resumed = run(&["cluster", "resume", &url, "--retry-crashed"]);
    let said = text(&resumed);
    assert!(resumed.status.success() && said.contains("retrying 1 URL that crashed the process"), "{said}");
    assert_eq!(Worker::start(&url, dir.path(), "four").code(), Some(0));
    assert_eq!((crashed().len(), rows(&url, "pages").len()), (0, truth));
    {
        let seen = judge.seen();
        assert!(seen.overlaps.is_empty() && seen.short.is_empty(), "{:?} {:?}", seen.overlaps, seen.short);
    }
    expect_clean_audit(&url, dir.path(), &["one", "two", "three", "four"]);
}
