//! A running crawl, read and steered by other processes; and two readers at once.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use whole_program::program::{Crawl, Output, PATIENCE, Running};
use whole_program::site::Sites;

use crate::scene::Scene;
use crate::stop::{pause, wait_for};

/// Pages a site: more than are fetched while a test looks.
const PAGES: usize = 1500;

fn scene() -> Scene {
    Scene::new(
        Sites::new()
            .tree("a.test", PAGES, Duration::from_millis(5))
            .tree("b.test", PAGES, Duration::from_millis(5)),
    )
}

/// Starts a crawl, and waits until some pages are on record.
fn started(scene: &Scene) -> Running {
    let running = scene.crawl().start();
    wait_for(scene, 40);
    pause(Duration::from_millis(300));
    running
}

fn stopped(running: Running) {
    running.signal("TERM");
    running.wait(PATIENCE).expect(11);
}

fn urls(rows: &[Value], column: &str) -> BTreeSet<String> {
    rows.iter().map(|row| row[column].as_str().expect("a URL").to_owned()).collect()
}

#[test]
fn a_running_crawl_is_read_by_every_command_and_stays_polite() {
    let scene = scene();
    let running = started(&scene);
    let summary = scene.look("show", &["--json"]);
    assert!(summary.expect(0).json()[0]["totals"]["pages"].as_u64() > Some(10), "{summary}");
    for table in ["pages", "links", "hosts", "robots", "queue", "skipped", "ledger", "errors", "duplicates"] {
        scene.look("show", &[table, "--json"]).expect(0).json();
    }
    // Page and links are committed together, and a later command sees at least what an earlier one saw.
    let (links, pages) = (scene.table("links"), scene.table("pages"));
    let pages = urls(&pages, "url");
    assert!(pages.len() > 10);
    assert!(urls(&links, "from").is_subset(&pages), "links of a page that isn't there");
    let sqlite = scene.path("crawl.sqlite");
    let export = Crawl::new(["export"]).args([&scene.out(), Path::new("--format"), Path::new("sqlite")]);
    export.args([Path::new("-o"), &sqlite]).run().expect(0);
    assert!(sqlite.is_file());
    let explained = scene.look("explain", &["http://a.test/"]);
    assert!(explained.expect(0).stdout.contains("HTTP 200"), "{explained}");
    let log = Crawl::new(["robots", "log"]).args([scene.out()]).args(["http://a.test"]).run();
    assert_eq!(log.expect(0).stdout.lines().count(), 2, "{log}");
    scene.look("report", &["--host", "a.test"]).expect(0);
    scene.look("search", &["page"]).expect(0);
    for _ in 0..3 {
        let audit = scene.look("audit", &["--json"]);
        assert_eq!(audit.expect(0).json()[0]["violations"], 0, "{audit}");
    }
    // Those that write are for one process.
    assert!(scene.look("index", &[]).expect(5).stderr.contains("in use"));
    assert!(scene.resume().run().expect(5).stderr.contains("in use"));
    let before = scene.server.count();
    pause(Duration::from_millis(300));
    assert!(scene.server.count() > before, "it still runs");
    stopped(running);
    scene.assert_polite();
    scene.look("audit", &[]).expect(0);
    assert!(!scene.out().join(".crawl.sock").exists());
}

#[test]
fn what_is_read_of_a_running_crawl_is_one_state() {
    let scene = scene();
    let running = started(&scene);
    for _ in 0..3 {
        let file = scene.path("one.sqlite");
        let export = Crawl::new(["export"]).args([&scene.out(), Path::new("-o"), &file]);
        export.args(["--format", "sqlite", "--no-text"]).run().expect(0);
        let database = rusqlite::Connection::open(&file).expect("a database");
        let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a count");
        let pages = count("SELECT count(*) FROM pages");
        assert!(pages > 10);
        // Every page but the seeds was found by a link of a stored page, which says so; and each of them is in the ledger.
        let lost = "SELECT count(*) FROM pages WHERE depth > 0 AND url NOT IN (SELECT \"to\" FROM links)";
        assert_eq!(count(lost), 0, "pages whose links aren't there");
        let fetched = "SELECT count(*) FROM ledger WHERE decision = 'fetched' AND reason = 'http_200'";
        assert_eq!(count(fetched), pages, "pages and ledger are of one commit");
    }
    stopped(running);
}

#[test]
fn twenty_readers_at_once_read_a_running_crawl_and_the_gaps_hold() {
    let scene = scene();
    let running = started(&scene);
    let readers: Vec<_> = (0..20)
        .map(|n| {
            let table = ["pages", "links", "ledger", "queue"][n % 4];
            Crawl::new([Path::new("export"), &scene.out()]).args(["--table", table, "--format", "jsonl"]).start()
        })
        .collect();
    for reader in readers {
        assert!(!reader.wait(PATIENCE).expect(0).json().is_empty());
    }
    stopped(running);
    scene.assert_polite();
    scene.look("audit", &[]).expect(0);
}

#[test]
fn many_readers_at_once_read_a_finished_crawl() {
    let scene = Scene::new(Sites::new().tree("a.test", 60, Duration::ZERO));
    scene.crawl_every("1ms").run().expect(0);
    let readers: Vec<_> = (0..12)
        .map(|_| {
            Crawl::new([Path::new("export"), &scene.out()]).args(["--table", "pages", "--format", "jsonl"]).start()
        })
        .collect();
    for reader in readers {
        assert_eq!(reader.wait(PATIENCE).expect(0).json().len(), 60);
    }
    assert!(!scene.out().join(".crawl.sock").exists());
}

#[test]
fn the_socket_of_a_killed_crawl_is_replaced() {
    let scene = scene();
    drop(started(&scene).kill());
    let socket = scene.out().join(".crawl.sock");
    assert!(socket.exists(), "kill -9 leaves it");
    let pages = scene.table("pages").len();
    assert!(pages > 10);
    let running = scene.resume().start();
    wait_for(&scene, scene.server.count() + 20);
    assert!(scene.table("pages").len() >= pages);
    stopped(running);
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_reader_that_never_reads_costs_the_crawl_nothing() {
    let scene = scene();
    let running = started(&scene);
    let socket = scene.out().join(".crawl.sock");
    let greeting = format!("{{\"protocol\":1,\"version\":\"{}\"}}", env!("CARGO_PKG_VERSION"));
    let silent: Vec<_> = (0..20)
        .map(|n| {
            let mut stream = UnixStream::connect(&socket).expect("somebody listens");
            // Some greet and ask, some say nothing at all.
            for part in [greeting.as_bytes(), &[0]].iter().take(n % 3) {
                let length = u32::try_from(part.len()).expect("a length").to_be_bytes();
                stream.write_all(&[&length[..], part].concat()).expect("it is taken");
            }
            stream
        })
        .collect();
    assert!(scene.table("pages").len() > 10, "others read all the same");
    let before = scene.server.count();
    pause(Duration::from_millis(500));
    assert!(scene.server.count() > before + 10, "the crawl goes on");
    running.signal("TERM");
    running.wait(Duration::from_secs(30)).expect(11);
    drop(silent);
    scene.assert_polite();
    scene.look("audit", &[]).expect(0);
}

#[test]
fn the_end_of_a_crawl_waits_a_moment_for_its_readers() {
    let scene = Scene::new(Sites::new().tree("a.test", 400, Duration::ZERO));
    let running = scene.crawl_every("1ms").start();
    wait_for(&scene, 40);
    let mut whole = 0;
    // One of them is under way when it ends.
    for _ in 0..400 {
        let output: Output = scene.look("export", &["--table", "pages", "--format", "jsonl"]);
        whole = output.expect(0).json().len();
        if whole == 400 {
            break;
        }
    }
    assert_eq!(whole, 400);
    running.wait(PATIENCE).expect(0);
}
