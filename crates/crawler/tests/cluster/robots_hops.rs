//! Robots.txt files that redirect to sites of other partitions.

use std::collections::BTreeSet;

use tempfile::TempDir;

use crate::judge::{DENIED, Judge};
use crate::program::{Worker, at_work, expect_clean_audit, init_with, run, text};
use crate::server::{Server, until};

fn expect_whole(judge: &Judge, repeats: u32) {
    let seen = judge.seen();
    assert!(seen.overlaps.is_empty(), "overlaps: {:?}", seen.overlaps);
    assert!(seen.short.is_empty(), "short gaps: {:?}", seen.short);
    let (truth, asked) = (Judge::truth_of_moved(), seen.pages.keys().cloned().collect::<BTreeSet<_>>());
    assert_eq!(truth.difference(&asked).collect::<Vec<_>>(), Vec::<&String>::new(), "never asked for");
    assert_eq!(asked.difference(&truth).collect::<Vec<_>>(), Vec::<&String>::new(), "should not have been");
    assert_eq!(seen.moved.len(), 5, "{:?}", seen.moved);
    let again: u32 = seen.moved.values().chain(seen.pages.values()).map(|count| count - 1).sum();
    assert!(again <= repeats, "{again} requests were made again: {:?} {:?}", seen.moved, seen.pages);
}

/// The owner of the target asks for the file, in its turn and by its host's own robots.txt, and the file's rules hold for the site that redirects.
#[test]
fn a_robots_txt_on_a_site_of_another_partition_is_asked_for_by_its_owner_and_obeyed() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::moved(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    let mut workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    until(|| at_work(&url) == 2);
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);
    expect_whole(&judge, 0);
    expect_clean_audit(&url, dir.path(), &["one", "two"]);
    let robots = run(&["show", "--cluster", &url, "robots", "s1.test"]);
    let said = text(&robots);
    assert!(said.contains(DENIED) && said.contains("http://s1.test/robots.txt"), "{said}");
    let explained = run(&["explain", "--cluster", &url, &format!("http://s1.test{DENIED}")]);
    let said = text(&explained);
    assert!(said.contains("robots.txt denies it") && said.contains(DENIED), "{said}");
}

#[test]
fn hops_that_a_killed_worker_had_to_make_or_waited_for_are_made_by_the_next() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::moved(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    let [killed, mut lasting] = ["killed", "lasting"].map(|name| Worker::start(&url, dir.path(), name));
    until(|| at_work(&url) == 2 && judge.count() > 2);
    drop(killed);
    assert_eq!(lasting.code(), Some(0));
    expect_whole(&judge, 20);
    expect_clean_audit(&url, dir.path(), &["killed", "lasting"]);
}
