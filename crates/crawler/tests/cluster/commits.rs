//! Commits: under a fence, once each, acknowledged only where they last.

use std::io::Write as _;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crawler::cluster::{Address, Database, PgStore};
use crawler::store::{Store as _, StoreError, Tree, Write};

use crate::proxy::Proxy;
use crate::server::{Server, until, url_by, wait};
use crate::store::{claim, new_crawl, open};

/// Commit number `n` of a store: a key of its own, and one that counts.
fn nth(n: u32) -> Vec<Write> {
    let number = n.to_be_bytes();
    vec![
        Write::put(Tree::Pages, number, number),
        Write::put(Tree::Meta, "count", number),
        Write::remove(Tree::Queue, (n - 1).to_be_bytes()),
        Write::put(Tree::Queue, number, ""),
    ]
}

/// All commits up to number `n` are there, and no other.
fn expect_commits(store: &PgStore, n: u32) {
    let keys: Vec<Vec<u8>> = store.scan(Tree::Pages, b"").map(|pair| pair.unwrap().0).collect();
    assert_eq!(keys, (1..=n).map(|n| n.to_be_bytes().to_vec()).collect::<Vec<_>>());
    assert_eq!(store.get(Tree::Meta, b"count").unwrap().as_deref(), Some(&n.to_be_bytes()[..]));
    let queued: Vec<Vec<u8>> = store.scan(Tree::Queue, b"").map(|pair| pair.unwrap().0).collect();
    assert_eq!(queued, [n.to_be_bytes()]);
}

#[test]
fn a_commit_under_an_old_fence_is_refused_and_changes_nothing() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let old = PgStore::new(open(&address), claim(&server, &url, 1, 1));
    old.commit(nth(1)).unwrap();
    let new = PgStore::new(open(&address), claim(&server, &url, 1, 2));
    assert!(matches!(old.commit(nth(2)), Err(StoreError::Fenced { part: 1 })));
    expect_commits(&new, 1);
    new.commit(nth(2)).unwrap();
    assert!(matches!(old.commit(nth(3)), Err(StoreError::Stopped)), "as any store after an error");
    expect_commits(&new, 2);
    // The same worker owned it before: its earlier claim is another fence.
    let before = new.claim();
    let again = PgStore::new(open(&address), claim(&server, &url, 1, 2));
    let before = PgStore::new(open(&address), before);
    assert!(matches!(before.commit(nth(3)), Err(StoreError::Fenced { part: 1 })));
    again.commit(nth(3)).unwrap();
    expect_commits(&again, 3);
}

/// While one commit waits for a lock, those of three other partitions come together into one statement, one of them fenced.
#[test]
fn partitions_of_one_statement_are_fenced_one_by_one() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let database = open(&address);
    let stores: Vec<_> = (0..4)
        .map(|part| Arc::new(PgStore::new(Arc::clone(&database), claim(&server, &url, part, 1))))
        .collect();
    let mut lock = server.psql(&url).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut orders = lock.stdin.take().unwrap();
    orders.write_all(b"begin; select 1 from part where id = 0 for update;\n").unwrap();
    let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
    let commit = |store: &Arc<PgStore>| {
        let store = Arc::clone(store);
        std::thread::spawn(move || store.commit(nth(1)))
    };
    until(|| server.sql(&url, "select count(*) from pg_locks where relation = 'part'::regclass") != "0");
    let first = commit(&stores[0]);
    until(|| server.sql(&url, waiting) == "1");
    claim(&server, &url, 2, 2);
    let others = [1, 2, 3].map(|part| commit(&stores[part]));
    wait(Duration::from_millis(300));
    orders.write_all(b"commit;\n").unwrap();
    drop(orders);
    lock.wait().unwrap();
    first.join().unwrap().unwrap();
    let [one, two, three] = others.map(|thread| thread.join().unwrap());
    one.unwrap();
    three.unwrap();
    assert!(matches!(two, Err(StoreError::Fenced { part: 2 })));
    for part in [0, 1, 3] {
        expect_commits(&stores[part], 1);
    }
    assert_eq!(stores[2].scan(Tree::Pages, b"").count(), 0);
}

/// The server commits and its answer is lost, more than once: the commit is found to be stored, and isn't made again.
#[test]
fn a_commit_whose_answer_is_lost_counts_once() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, _) = new_crawl(&server);
    let proxy = Proxy::of(server.dir());
    let name = url.split("///").nth(1).unwrap().split('?').next().unwrap();
    let address: Address = url_by(proxy.dir(), name).parse().unwrap();
    let store = PgStore::new(open(&address), claim(&server, &url, 1, 1));
    store.commit(nth(1)).unwrap();
    for round in 1..=6 {
        let n = round * 2;
        // On a connection that is used already, the next answer is the one that is lost; on new ones, those to its first questions.
        store.commit(nth(n)).unwrap();
        proxy.cut(1 + round as usize % 3);
        store.commit(nth(n + 1)).unwrap();
        assert_eq!(proxy.left(), 0);
        assert_eq!(server.sql(&url, "select commits from part where id = 1"), (n + 1).to_string());
    }
    expect_commits(&store, 13);
    // Lost in the same way, and another owner took over before the worker came back.
    store.commit(nth(14)).unwrap();
    let fenced = std::thread::spawn(move || {
        proxy.cut(6);
        (store.commit(nth(15)), store)
    });
    until(|| server.sql(&url, "select commits from part where id = 1") == "15");
    let new = PgStore::new(open(&url.parse().unwrap()), claim(&server, &url, 1, 2));
    let (result, _store) = fenced.join().unwrap();
    assert!(matches!(result, Err(StoreError::Fenced { part: 1 })), "{result:?}");
    expect_commits(&new, 15);
}

#[test]
fn what_is_acknowledged_survives_crashes_of_the_server() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let store = Arc::new(PgStore::new(open(&address), claim(&server, &url, 1, 1)));
    let acknowledged = Arc::new(AtomicU32::new(0));
    let thread = std::thread::spawn({
        let (store, acknowledged) = (Arc::clone(&store), Arc::clone(&acknowledged));
        move || {
            for n in 1..=1500 {
                store.commit(nth(n)).unwrap();
                acknowledged.store(n, Ordering::SeqCst);
                assert!(store.get(Tree::Pages, &n.to_be_bytes()).unwrap().is_some());
            }
        }
    });
    for round in 1..=4 {
        until(|| acknowledged.load(Ordering::SeqCst) >= round * 300);
        if round % 2 == 0 {
            server.end();
        } else {
            server.kill();
        }
        let before = acknowledged.load(Ordering::SeqCst);
        server.run();
        let stored: u32 = server.sql(&url, "select commits from part where id = 1").parse().unwrap();
        assert!(stored >= before, "round {round}: {before} acknowledged, {stored} stored");
    }
    thread.join().unwrap();
    expect_commits(&store, 1500);
    assert_eq!(server.sql(&url, "select commits from part where id = 1"), "1500");
}

/// PostgreSQL answers a commit as done whose wait for the standby server was cancelled; only a warning says so.
#[test]
fn a_commit_that_the_standby_did_not_confirm_is_not_acknowledged() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let store = PgStore::new(open(&address), claim(&server, &url, 1, 1));
    store.commit(nth(1)).unwrap();
    let waiting = "select pid from pg_stat_activity where wait_event = 'SyncRep'";
    server.sql(&url, "alter system set synchronous_standby_names = 'missing'");
    server.end();
    server.run();
    let acknowledged = Arc::new(AtomicU32::new(1));
    let thread = std::thread::spawn({
        let acknowledged = Arc::clone(&acknowledged);
        move || {
            store.commit(nth(2)).unwrap();
            acknowledged.store(2, Ordering::SeqCst);
            store
        }
    });
    for _ in 0..2 {
        until(|| !server.sql(&url, waiting).is_empty());
        let pid = server.sql(&url, waiting);
        server.sql(&url, &format!("select pg_cancel_backend({pid})"));
        until(|| server.sql(&url, waiting) != pid);
        assert_eq!(server.sql(&url, "select commits from part where id = 1"), "2", "stored on this server");
        assert_eq!(acknowledged.load(Ordering::SeqCst), 1);
    }
    server.sql(&url, "alter system reset synchronous_standby_names");
    server.sql(&url, "select pg_reload_conf()");
    let store = thread.join().unwrap();
    expect_commits(&store, 2);
}

#[test]
fn a_database_that_stays_away_is_an_error() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let claim = claim(&server, &url, 1, 1);
    let database = Database::open(address.clone(), Duration::from_millis(300)).unwrap();
    let store = PgStore::new(Arc::new(database), claim);
    store.commit(nth(1)).unwrap();
    server.kill();
    assert!(matches!(store.get(Tree::Meta, b"count"), Err(StoreError::Server { doing: "read", .. })));
    assert!(matches!(store.commit(nth(2)), Err(StoreError::Server { doing: "commit", .. })));
    assert!(matches!(store.commit(nth(2)), Err(StoreError::Stopped)));
    let error = Database::open(address, Duration::from_secs(20)).unwrap_err();
    assert!(error.to_string().contains("can't be reached"), "{error}");
    server.run();
    assert!(store.get(Tree::Meta, b"count").unwrap().is_some(), "reads go on");
}

/// One of a group has a key that no index takes; the other partitions' commits are stored.
#[test]
fn a_commit_that_the_database_refuses_stops_its_own_store_alone() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let database = open(&address);
    let [good, bad] = [0, 1].map(|part| PgStore::new(Arc::clone(&database), claim(&server, &url, part, 1)));
    // Nothing compresses it.
    let long: Vec<u8> = (0..300_u32).flat_map(|n| *blake3::hash(&n.to_be_bytes()).as_bytes()).collect();
    let bad = std::thread::spawn(move || bad.commit(vec![Write::put(Tree::Meta, long, "")]));
    for n in 1..=50 {
        good.commit(nth(n)).unwrap();
    }
    assert!(matches!(bad.join().unwrap(), Err(StoreError::Server { doing: "commit", .. })));
    expect_commits(&good, 50);
}
