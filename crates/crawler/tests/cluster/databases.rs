//! One crawl in several databases, with workers as processes of their own and sites that judge each request.

use std::path::Path;

use crawler::cluster;
use tempfile::TempDir;

use crate::judge::{GAP, Judge};
use crate::member::Worker as Member;
use crate::program::{
    LEASE, Worker, at_work, expect_clean_audit, expect_clean_audit_of, expect_polite_and_whole,
    expect_silence, init_at, init_with, run, status, survivors, text,
};
use crate::proxy::Proxy;
use crate::server::{Server, until, wait};
use crate::store::new_crawl;

pub(crate) fn add(first: &str, new: &str) -> std::process::Output {
    run(&["cluster", "add", first, new, "--single-server"])
}

/// A crawl of the judge's sites in a database, and its second one, of 16 partitions.
fn init(first: &str, second: &str, judge: &Judge, options: &[&str]) {
    init_with(first, judge, &[options, &["--single-server"]].concat());
    let added = add(first, second);
    assert!(added.status.success(), "{}", text(&added));
    assert_eq!(text(&added), "the crawl has 2 databases; the new one has 8 partitions\n");
}

fn number(server: &Server, url: &str, sql: &str) -> u64 {
    server.sql(url, sql).parse().unwrap()
}

const PAGES: &str = "select count(*) from kv where tree = 6";
const LETTERS: &str = "select count(*) from kv where tree in (16, 17)";

fn expect_refused(args: &[&str], words: &str) {
    let refused = run(args);
    assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", text(&refused));
    assert!(text(&refused).contains(words), "{args:?}: {}", text(&refused));
}

/// All that reads a crawl is given its first database, and reads the whole.
fn expect_whole(url: &str, dir: &Path, workers: &[&str]) {
    let pages = Judge::truth().len();
    let found = status(url);
    assert_eq!((found["state"].as_str(), found["letters"].as_u64()), (Some("complete"), Some(0)), "{found}");
    assert_eq!((found["queued"].as_u64(), found["totals"]["pages"].as_u64()), (Some(0), Some(pages as u64)));
    expect_clean_audit(url, dir, workers);
    let exported = run(&["export", "--cluster", url, "--table", "pages", "--format", "jsonl"]);
    assert_eq!(String::from_utf8_lossy(&exported.stdout).lines().count(), pages, "{}", text(&exported));
    let summary = run(&["show", "--cluster", url, "--json"]);
    let summary: serde_json::Value = serde_json::from_slice(&summary.stdout).unwrap();
    assert_eq!(summary["totals"]["pages"].as_u64(), Some(pages as u64), "{summary}");
    for site in 0..10 {
        let page = format!("http://s{site}.test/");
        let explained = run(&["explain", "--cluster", url, &page]);
        assert!(explained.status.success(), "{}", text(&explained));
    }
}

#[test]
fn a_crawl_in_two_databases_is_one_crawl() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, second, judge, dir) =
        (server.database(), server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &second, &judge, &[]);
    let found = status(&url);
    let counts: Vec<u64> =
        found["databases"].as_array().unwrap().iter().map(|of| of["partitions"].as_u64().unwrap()).collect();
    assert_eq!(
        (counts, found["partitions"].as_u64(), found["queued"].as_u64()),
        (vec![8, 8], Some(16), Some(1))
    );
    expect_refused(&["cluster", "status", &second], "is a further database of a crawl");
    expect_refused(
        &["cluster", "add", &url, &second, "--single-server"],
        "is a database of this crawl already",
    );
    expect_refused(&["cluster", "add", &url, &url, "--single-server"], "is a database of this crawl already");
    let third = server.database();
    expect_refused(&["cluster", "add", &url, &third], "synchronous_standby_names");
    let with_password = third.replace("user=crawl", "user=crawl&password=secret");
    expect_refused(&["cluster", "add", &url, &with_password, "--single-server"], "leave the password out");
    assert_eq!(status(&url)["state"], "running", "a database that can't be added changes nothing");
    let mut workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    until(|| at_work(&url) == 2 && judge.count() > 5);
    expect_refused(&["cluster", "add", &url, &third, "--single-server"], "crawl cluster stop");
    expect_refused(&["cluster", "status", &third], "there is no crawl");
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);
    expect_polite_and_whole(&judge, 0);
    for database in [&url, &second] {
        assert!(number(&server, database, PAGES) > 0, "{database} has pages");
        assert_eq!(number(&server, database, LETTERS), 0, "{database}");
    }
    assert!(
        server.sql(&second, "select count(*) from heard where upto <> ''") != "0",
        "letters came from the other database"
    );
    expect_whole(&url, dir.path(), &["one", "two"]);
}

/// A worker is suspended past its lease, one is killed, and the second database is away for longer than a lease.
#[test]
fn no_host_is_asked_by_two_workers_and_nothing_is_lost_when_one_of_two_databases_fails() {
    let (Some(first), Some(mut other)) = (Server::start(&[]), Server::start(&[])) else { return };
    let (url, second, judge, dir) =
        (first.database(), other.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &second, &judge, &[]);
    let [mut suspended, mut lasting] = survivors(&url, &judge, dir.path());
    other.kill();
    let meanwhile = expect_silence(&judge);
    assert!(u64::from(meanwhile) < Judge::truth().len() as u64, "it was in the middle");
    let owners = number(&first, &url, "select count(*) from worker where alive");
    assert_eq!(owners, 2, "an outage that all see kills nobody");
    other.run();
    assert_eq!([lasting.code(), suspended.code()], [Some(0), Some(0)]);
    // In flight at each of the three faults.
    expect_polite_and_whole(&judge, 30);
    expect_whole(&url, dir.path(), &["suspended", "killed", "lasting"]);
}

/// A worker may ask hosts while all databases know that it lives.
#[test]
fn a_lease_ends_while_one_of_the_databases_is_away_and_begins_again_with_the_same_partitions() {
    let (Some(first), Some(mut other)) = (Server::start(&[]), Server::start(&[])) else { return };
    let (url, address) = new_crawl(&first);
    let second = other.database();
    let added = cluster::add(&address, &second, true).unwrap();
    assert_eq!((added.databases, added.partitions), (2, 2));
    let mut worker = Member::join(&address, "one");
    until(|| worker.parts().len() == 4);
    let deadline = worker.member.deadline();
    other.kill();
    until(|| deadline.remaining().is_none());
    let beat = first.sql(&url, "select beat from worker");
    wait(LEASE);
    assert_eq!(deadline.remaining(), None, "the first database answers, which isn't enough");
    assert_eq!(first.sql(&url, "select beat from worker"), beat, "and it is silent there as well");
    other.run();
    until(|| deadline.remaining().is_some());
    assert_eq!((worker.parts().len(), worker.is_gone), (4, false));
    worker.member.leave();
    for (server, database) in [(&first, &url), (&other, &second)] {
        assert_eq!(number(server, database, "select count(*) from part where owner is null"), 2);
    }
}

/// Its partitions in the database that it reaches go to the others as well: they would rest as long as it owns them.
#[test]
fn a_worker_that_alone_does_not_reach_one_of_the_databases_loses_all_its_partitions() {
    let (Some(first), Some(other)) = (Server::start(&[]), Server::start(&[])) else { return };
    let (url, second, judge, dir) =
        (first.database(), other.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &second, &judge, &[]);
    // Each process has a way of its own to the second database: in its directory.
    let by_directory = second.replace(&other.dir().display().to_string(), "/proc/self/cwd");
    first.sql(&url, &format!("update further set url = '{by_directory}'"));
    let proxy = Proxy::of(other.dir());
    let start = |name: &str, database: &Path| {
        Worker::run(Worker::command(&url, dir.path(), name).current_dir(database), dir.path(), name)
    };
    let (isolated, mut lasting) = (start("cut-off", proxy.dir()), start("lasting", other.dir()));
    let owned = |by: u32| {
        let sql = format!("select count(*) from part where owner = {by}");
        number(&first, &url, &sql) + number(&other, &second, &sql)
    };
    until(|| owned(1) == 8 && owned(2) == 8 && judge.count() > 20);
    proxy.cut(usize::MAX / 2);
    wait(LEASE * 2);
    let (one, two) = (owned(1), owned(2));
    assert!((one, two) == (0, 16) || (one, two) == (16, 0), "{one} and {two}");
    proxy.cut(0);
    assert_eq!(lasting.code(), Some(0));
    // It may take partitions again, and enter that in their ledgers: not while these are audited.
    drop(isolated);
    first.sql(&url, &format!("update further set url = '{second}'"));
    expect_polite_and_whole(&judge, 20);
    expect_whole(&url, dir.path(), &["cut-off", "lasting"]);
}

#[test]
fn a_limit_of_pages_holds_over_two_databases_when_a_worker_is_killed() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, second, judge, dir) =
        (server.database(), server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &second, &judge, &["--max-pages", "50"]);
    let mut workers =
        ["killed", "two", "three"].map(|name| Worker::start(&url, dir.path(), name)).into_iter();
    let killed = workers.next();
    until(|| at_work(&url) == 3 && judge.count() > 15);
    drop(killed);
    assert!(judge.count() < 45, "it was in the middle");
    assert!(workers.all(|mut worker| worker.code() == Some(10)));
    let found = status(&url);
    assert_eq!(
        (found["limit"].as_str(), found["totals"]["pages"].as_u64()),
        (Some("max-pages 50"), Some(50)),
        "{found}"
    );
    // Shares that the killed worker had are counted again.
    assert!(run(&["cluster", "resume", &url, "--max-pages", "70"]).status.success());
    assert_eq!(Worker::start(&url, dir.path(), "two").code(), Some(10));
    assert_eq!(status(&url)["totals"]["pages"].as_u64(), Some(70));
    let seen = judge.seen();
    assert!(seen.overlaps.is_empty() && seen.short.is_empty(), "{:?} {:?}", seen.overlaps, seen.short);
    drop(seen);
    expect_clean_audit(&url, dir.path(), &["killed", "two", "three"]);
}

#[test]
fn a_limit_of_bytes_counts_what_all_databases_have() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, second, judge, dir) =
        (server.database(), server.database(), Judge::start(), TempDir::new().unwrap());
    // A look is due every second. Neither database has two thirds of the sites.
    init_at(&url, &judge, GAP * 2, &["--single-server", "--max-bytes", "12KB"]);
    assert!(add(&url, &second).status.success());
    let mut workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    assert_eq!(workers.each_mut().map(Worker::code), [Some(10), Some(10)]);
    let found = status(&url);
    assert_eq!(found["limit"].as_str(), Some("max-bytes 12000"), "{found}");
    let bytes = found["totals"]["bytes"].as_u64().unwrap();
    assert!((12_000..18_000).contains(&bytes), "{found}");
    let own = [&url, &second].map(|database| {
        let totals = "select sum((convert_from(value, 'UTF8')::json ->> 'bytes')::int8) from kv where tree = 0 and key = 'totals'";
        server.sql(database, totals).parse::<u64>().unwrap()
    });
    assert_eq!(own.iter().sum::<u64>(), bytes);
    assert!(own.iter().all(|own| *own < 12_000), "one database alone reached the limit: {own:?}");
    expect_clean_audit(&url, dir.path(), &["one", "two"]);
}

/// The second database fails over to its standby while the first one lives on.
#[test]
fn one_of_two_databases_fails_over_by_itself_and_nothing_is_lost() {
    let (Some(first), Some(mut primary)) = (Server::start(&[]), Server::start(&[])) else { return };
    let name = primary.database().split(['/', '?']).nth(3).unwrap().to_owned();
    let standby = primary.standby();
    let (before, after) = (primary.dir().display(), standby.dir().display());
    let second = format!("postgres:///{name}?user=crawl&host={before}&host={after}");
    let (url, judge, dir) = (first.database(), Judge::start(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    expect_refused(&["cluster", "add", &url, &second], "synchronous_standby_names");
    primary.sql(&name, "alter system set synchronous_standby_names = '*'");
    primary.sql(&name, "select pg_reload_conf()");
    until(|| primary.sql(&name, "select sync_state from pg_stat_replication") == "sync");
    let added = run(&["cluster", "add", &url, &second]);
    assert!(added.status.success(), "{}", text(&added));
    let mut workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    until(|| at_work(&url) == 2 && judge.count() > 20);
    let shown = status(&url);
    assert_eq!(shown["standbys"][0]["sync"].as_str(), Some("sync"), "{shown}");
    primary.kill();
    wait(LEASE);
    let count = judge.count();
    assert!(u64::from(count) < Judge::truth().len() as u64, "it was in the middle");
    standby.sql(&name, "select pg_promote()");
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);
    expect_polite_and_whole(&judge, 20);
    expect_whole(&url, dir.path(), &["one", "two"]);
}

/// As if the removal of each letter, once it had been brought to the other database, had been lost with its answer.
#[test]
fn letters_that_were_brought_to_another_database_are_not_brought_again() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, second, judge, dir) =
        (server.database(), server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &second, &judge, &[]);
    let note = |database: &str, table: &str, on: &str, row: &str| {
        server.sql(
            database,
            &format!(
                "create table {table} as select * from kv limit 0;
                create function note_{table}() returns trigger language plpgsql as
                $$ begin insert into {table} select {row}.*; return null; end $$;
                create trigger {table} after {on} on kv_mail for each row execute function note_{table}()"
            ),
        );
    };
    note(&url, "removed", "delete", "old");
    note(&second, "arrived", "insert", "new");
    assert_eq!(Worker::start(&url, dir.path(), "one").code(), Some(0));
    let asked = judge.count();
    let from_first = "select count(*) from arrived where tree = 16";
    assert!(number(&server, &second, from_first) > 0);
    server.sql(&second, "delete from arrived");
    let again = server
        .sql(&url, "with again as (insert into kv select * from removed where tree = 17 returning 1) select count(*) from again");
    assert_ne!(again, "0");
    assert!(run(&["cluster", "resume", &url]).status.success());
    assert_eq!(Worker::start(&url, dir.path(), "one").code(), Some(0));
    assert_eq!(number(&server, &url, LETTERS), 0, "they are removed");
    assert_eq!(number(&server, &second, from_first), 0, "and not brought again");
    assert_eq!(judge.count(), asked);
    expect_polite_and_whole(&judge, 0);
    expect_whole(&url, dir.path(), &["one"]);
}

/// A crawl with data gets a third database while it is stopped; then the disk of a worker is lost; at last it becomes a crawl on one machine.
#[test]
fn a_stopped_crawl_gets_another_database_and_goes_on() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, second, third) = (server.database(), server.database(), server.database());
    let (judge, dir) = (Judge::start(), TempDir::new().unwrap());
    init(&url, &second, &judge, &[]);
    let mut worker = Worker::start(&url, dir.path(), "one");
    until(|| judge.count() > 40);
    assert!(run(&["cluster", "stop", &url]).status.success());
    assert_eq!(worker.code(), Some(11));
    let before = status(&url);
    let added = run(&["cluster", "add", &url, &third, "--single-server", "--json"]);
    let event: serde_json::Value =
        serde_json::from_slice(&added.stdout).unwrap_or_else(|_| panic!("{}", text(&added)));
    assert_eq!((event["databases"].as_u64(), event["partitions"].as_u64()), (Some(3), Some(5)), "{event}");
    let after = status(&url);
    for key in ["state", "queued", "letters", "totals", "partitions", "partitions_free"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    let shown = text(&run(&["cluster", "status", &url]));
    assert!(shown.contains("6 partitions") && shown.contains("5 partitions"), "{shown}");
    expect_clean_audit(&url, dir.path(), &["one"]);
    // As if it had been interrupted before the end.
    server.sql(&url, "update crawl set was = state, state = 'adding'");
    server.sql(&second, "insert into part(id) select 15 on conflict do nothing");
    server.sql(&second, "insert into part(id) select 14 on conflict do nothing");
    let refused = Worker::start(&url, dir.path(), "early").code();
    assert_eq!(refused, Some(2), "{:?}", std::fs::read_to_string(dir.path().join("early.log")));
    assert!(add(&url, &third).status.success(), "it is ended");
    assert_eq!(number(&server, &second, "select count(*) from part"), 5);
    assert!(run(&["cluster", "resume", &url]).status.success());
    let mut workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);
    expect_polite_and_whole(&judge, 0);
    expect_whole(&url, dir.path(), &["one", "two"]);

    std::fs::remove_dir_all(dir.path().join("two")).unwrap();
    let lost = run(&["cluster", "lost", &url, "two"]);
    assert!(lost.status.success(), "{}", text(&lost));
    assert_eq!(Worker::start(&url, dir.path(), "three").code(), Some(0));
    expect_polite_and_whole(&judge, Judge::truth().len() as u32);
    assert_eq!(status(&url)["state"], "complete");
    expect_clean_audit(&url, dir.path(), &["one", "three"]);

    let back = dir.path().join("back").display().to_string();
    let archives: Vec<String> =
        ["one", "three"].map(|name| dir.path().join(name).join("warc").display().to_string()).into();
    let exported =
        run(&["cluster", "export", &url, "--out", &back, "--warc", &archives[0], "--warc", &archives[1]]);
    assert!(exported.status.success(), "{}", text(&exported));
    expect_clean_audit_of(&["audit", &back, "--json"]);
    assert_eq!(status(&url)["state"], "moved");
}
