//! What is read of a crawl at work is of one moment.

use crawler::cluster::{self, Address, PgStore};
use crawler::format::FORMAT;
use crawler::store::{Store as _, Tree, Write};
use crawler::view::View;
use tempfile::TempDir;

use crate::databases::add;
use crate::judge::{GAP, Judge};
use crate::program::{Worker, audit, check, init_at, status, text};
use crate::server::{Server, until};
use crate::store::{claim, new_crawl, open};

/// Partitions that can be read, each with an owner.
fn owned(server: &Server, url: &str, address: &Address) -> Vec<PgStore> {
    let database = open(address);
    (0..4)
        .map(|part| {
            let store = PgStore::new(database.clone(), claim(server, url, part, 1));
            let form = Write::put(Tree::Meta, "format", FORMAT.to_string());
            store.commit(vec![form, Write::put(Tree::Meta, "fingerprint_key", [7; 16])]).unwrap();
            store
        })
        .collect()
}

fn value(views: &[(String, View)], part: usize) -> Result<Option<Vec<u8>>, String> {
    let read = views[part].1.store().get(Tree::Queue, b"k");
    read.map_err(|error| crawler::causes::with_causes(&error))
}

/// Ends the connections of all others.
fn end_connections(server: &Server, url: &str) {
    let others = "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    assert_ne!(server.sql(url, others), "0");
}

#[test]
fn a_snapshot_of_all_partitions_stays_as_it_was_whatever_is_committed() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let stores = owned(&server, &url, &address);
    let put = |text: &str| {
        for store in &stores {
            store.commit(vec![Write::put(Tree::Queue, "k", text)]).unwrap();
        }
    };
    put("before");
    let views = cluster::snapshot_views(&address).unwrap();
    assert_eq!(views.len(), 4);
    put("after");
    let now = cluster::views(&address).unwrap();
    for part in 0..4 {
        assert_eq!(value(&views, part).unwrap().as_deref(), Some(&b"before"[..]), "{part}");
        assert_eq!(value(&now, part).unwrap().as_deref(), Some(&b"after"[..]), "{part}");
    }
    end_connections(&server, &url);
    for part in 0..4 {
        let error = value(&views, part).unwrap_err();
        assert!(error.contains("start the command again"), "{error}");
        assert_eq!(value(&now, part).unwrap().as_deref(), Some(&b"after"[..]), "{part}");
    }
}

#[test]
fn a_crawl_at_rest_is_read_on_after_its_connections_are_lost() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let stores = owned(&server, &url, &address);
    stores[2].commit(vec![Write::put(Tree::Queue, "k", "at rest")]).unwrap();
    server.sql(&url, "update part set owner = null");
    let views = cluster::snapshot_views(&address).unwrap();
    end_connections(&server, &url);
    assert_eq!(value(&views, 2).unwrap().as_deref(), Some(&b"at rest"[..]));
    assert_eq!(value(&views, 1).unwrap(), None);
    // Somebody took it over meanwhile.
    let store = PgStore::new(open(&address), claim(&server, &url, 2, 9));
    store.commit(vec![Write::put(Tree::Queue, "k", "later")]).unwrap();
    assert_eq!(value(&views, 2).unwrap().as_deref(), Some(&b"at rest"[..]));
    end_connections(&server, &url);
    let error = value(&views, 2).unwrap_err();
    assert!(error.contains("start the command again"), "{error}");
}

/// A crawl in two databases.
fn init_in_two(url: &str, second: &str, judge: &Judge) {
    init_at(url, judge, GAP * 2, &["--single-server"]);
    let added = add(url, second);
    assert!(added.status.success(), "{}", text(&added));
}

/// Letters go from one database to another in two steps: no snapshot may lie between them.
#[test]
fn snapshots_of_two_databases_are_of_a_moment_at_which_nobody_writes() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, second, judge) = (server.database(), server.database(), Judge::start());
    init_in_two(&url, &second, &judge);
    let part: usize = server.sql(&second, "select min(part) from kv").parse().unwrap();
    let write = |sql: &str| {
        let row = format!("insert into kv values ({part}, 3, 'k', 'last')");
        server.psql(&second).arg("-c").arg(format!("begin; {row}; {sql}")).spawn().unwrap()
    };
    let mut writer = write("select pg_sleep(0.7); commit");
    until(|| server.sql(&second, "select count(*) from pg_locks where mode = 'RowExclusiveLock'") != "0");
    let address: Address = url.parse().unwrap();
    let views = std::thread::spawn(move || cluster::snapshot_views(&address).unwrap());
    let held = "set lock_timeout = 20; insert into kv values (0, 3, 'k', ''); delete from kv where part = 0 and tree = 3 and key = 'k'";
    until(|| server.try_sql(&url, held).is_err_and(|error| error.contains("lock timeout")));
    assert!(writer.wait().unwrap().success());
    let views = views.join().unwrap();
    assert_eq!(value(&views, part).unwrap().as_deref(), Some(&b"last"[..]));
    until(|| server.try_sql(&url, held).is_ok());
}

/// Audits a crawl again and again while two workers crawl it.
fn audits_at_work(url: &str, judge: &Judge) {
    let dir = TempDir::new().unwrap();
    let mut workers = ["one", "two"].map(|name| Worker::start(url, dir.path(), name));
    until(|| judge.count() > 3);
    let mut at_work = 0;
    while status(url)["state"] == "running" {
        let (code, report) = audit(url, dir.path(), &["one", "two"]);
        let broken: Vec<_> =
            report["checks"].as_array().unwrap().iter().filter(|check| check["violations"] != 0).collect();
        assert!(code == Some(0) && broken.is_empty(), "{code:?}: {broken:#?}");
        at_work += u32::from(check(&report, "ledger").0 > 0 && judge.count() < Judge::truth().len() as u32);
    }
    assert!(at_work > 1, "{at_work} audits while it was at work");
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);
}

#[test]
fn a_crawl_at_work_passes_its_audit_again_and_again() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge) = (server.database(), Judge::start());
    init_at(&url, &judge, GAP * 2, &["--single-server"]);
    audits_at_work(&url, &judge);
}

#[test]
fn a_crawl_at_work_in_two_databases_passes_its_audit_again_and_again() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, second, judge) = (server.database(), server.database(), Judge::start());
    init_in_two(&url, &second, &judge);
    audits_at_work(&url, &judge);
}
