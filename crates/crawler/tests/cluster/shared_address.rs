//! Hosts of one IP address that take turns, whichever workers have them.

use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::judge::{GAP, Judge};
use crate::moves;
use crate::program::{
    LEASE, Worker, at_work, audit, check, expect_clean_audit, expect_polite_and_whole, init_with, run, text,
};
use crate::server::{Server, until, wait};

/// Longer than a move takes.
const LONG: Duration = Duration::from_secs(4);

/// All sites of the judge are at one address.
fn expect_turns(judge: &Judge) {
    let seen = judge.seen();
    assert!(seen.address_overlaps.is_empty(), "overlaps at the address: {:?}", seen.address_overlaps);
    assert!(seen.address_short.is_empty(), "short gaps at the address: {:?}", seen.address_short);
}

/// The worker that has the address.
fn holder(server: &Server, url: &str) -> String {
    server.sql(url, "select name from address join worker on worker.id = address.holder")
}

/// Waits for so many more pages: an address that rests takes longer than what is waited for elsewhere.
fn patiently(judge: &Judge, more: u32) {
    let count = judge.count();
    for _ in 0..180 {
        if judge.count() >= count + more {
            return;
        }
        wait(Duration::from_millis(500));
    }
    panic!("no {more} pages within 90 s");
}

fn init(url: &str, judge: &Judge, options: &[&str]) {
    init_with(url, judge, &[&["--single-server", "--per-ip"], options].concat());
}

#[test]
fn hosts_of_one_address_take_turns_whichever_workers_have_them() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &judge, &[]);
    let [mut one, mut two, mut three] =
        ["one", "two", "three"].map(|name| Worker::start(&url, dir.path(), name));
    until(|| at_work(&url) == 3 && judge.count() > 5);
    // One that ends gives the address back: it doesn't have to rest as that of a dead one.
    until(|| holder(&server, &url) == "three");
    three.signal(Signal::INT);
    assert_eq!(three.code(), Some(11));
    let count = judge.count();
    until(|| judge.count() > count + 5);
    assert_eq!([one.code(), two.code()], [Some(0); 2]);
    expect_turns(&judge);
    expect_polite_and_whole(&judge, 0);
    expect_clean_audit(&url, dir.path(), &["one", "two", "three"]);
    let (_, report) = audit(&url, dir.path(), &["one", "two", "three"]);
    assert!(check(&report, "shared_address").0 > judge.count().into(), "{report}");
    // A turn takes the gap, the answer, and what it takes to see that an address is free.
    let times = judge.seen().times.clone();
    let took = times[times.len() - 1].duration_since(times[0]);
    let least = GAP * u32::try_from(times.len()).unwrap();
    assert!((least..least * 3).contains(&took), "{took:?} for {} requests", times.len());
}

/// The last request on one machine isn't followed at once by the first one of a worker, to another host of the address.
#[test]
fn the_gap_at_an_address_is_kept_when_a_crawl_is_moved_to_a_cluster() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::with_gap(LONG), TempDir::new().unwrap());
    let (root, out) = (dir.path().join("first"), dir.path().join("first").display().to_string());
    moves::stop_at(moves::begin_with(&judge, &root, LONG, &["--per-ip"]), &judge, 2);
    let imported = run(&["cluster", "import", &out, &url, "--single-server", "--partitions", "16"]);
    assert!(imported.status.success(), "{}", text(&imported));
    let before = judge.count();
    let mut worker = Worker::start(&url, dir.path(), "one");
    until(|| judge.count() > before);
    worker.signal(Signal::INT);
    assert_eq!(worker.code(), Some(11));
    expect_turns(&judge);
    assert!(judge.seen().overlaps.is_empty() && judge.seen().short.is_empty());
}

/// One that has the address is killed, one is suspended past its lease, and the database is away for longer than that.
#[test]
fn an_address_has_one_request_at_a_time_whatever_fails() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    // Whoever takes the address of a dead worker over lets it rest for 30 s.
    init(&url, &judge, &["--max-pages", "60"]);
    let [mut suspended, killed, mut lasting] =
        ["suspended", "killed", "lasting"].map(|name| Worker::start(&url, dir.path(), name));
    until(|| at_work(&url) == 3 && judge.count() > 5);
    until(|| holder(&server, &url) == "suspended");
    suspended.signal(Signal::STOP);
    wait(LEASE * 2);
    suspended.signal(Signal::CONT);
    until(|| at_work(&url) == 3);
    patiently(&judge, 5);
    until(|| holder(&server, &url) == "killed");
    drop(killed);
    wait(LEASE * 2);
    server.kill();
    wait(LEASE * 2);
    server.run();
    patiently(&judge, 5);
    assert_eq!([lasting.code(), suspended.code()], [Some(10), Some(10)]);
    expect_turns(&judge);
    let seen = judge.seen();
    assert!(seen.overlaps.is_empty() && seen.short.is_empty(), "{:?} {:?}", seen.overlaps, seen.short);
    drop(seen);
    expect_clean_audit(&url, dir.path(), &["suspended", "killed", "lasting"]);
}
