//! A running crawl, read and steered by other processes; and two readers at once.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use whole_program::program::{Crawl, Output, PATIENCE, Running};
use whole_program::site::Sites;

use crate::scene::Scene;
use crate::stop::{pause, wait_for};

/// Pages a site: more than are fetched while a test looks.
const PAGES: usize = 4000;

fn scene() -> Scene {
    Scene::new(Sites::new().tree("a.test", PAGES, Duration::from_millis(5)).tree(
        "b.test",
        PAGES,
        Duration::from_millis(5),
    ))
}

/// Starts a crawl, and waits until some pages are on record.
fn started(scene: &Scene) -> Running {
    // Hosts with a request in flight at a kill wait for as long.
    let running = scene.crawl().args(["--timeout", "1s"]).start();
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
    let text = scene.look("show", &[]);
    assert!(text.expect(0).stdout.contains("not yet, the crawl is running"), "{text}");
    for table in
        ["pages", "links", "hosts", "robots", "queue", "skipped", "ledger", "errors", "duplicates", "changes"]
    {
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
            Crawl::new([Path::new("export"), &scene.out()])
                .args(["--table", table, "--format", "jsonl"])
                .start()
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
            Crawl::new([Path::new("export"), &scene.out()])
                .args(["--table", "pages", "--format", "jsonl"])
                .start()
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
    let text = scene.look("show", &[]);
    assert!(text.expect(0).stdout.contains("killed: `crawl resume` continues it"), "{text}");
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
    // The crawl goes on.
    wait_for(&scene, scene.server.count() + 10);
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

/// What the crawl says of itself.
fn status(scene: &Scene) -> Value {
    scene.look("status", &["--json"]).expect(0).json().remove(0)
}

/// The entries of the ledger that orders made: decision and host.
fn orders(scene: &Scene) -> Vec<(String, String)> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let uid = std::fs::metadata(scene.out()).expect("a directory").uid();
    let given = ["operator_paused", "operator_continued", "delay_set", "stop_asked"];
    let rows = scene.table("ledger").into_iter().filter(|row| given.contains(&&*text(row, "decision")));
    rows.inspect(|row| {
        let evidence = row["evidence"].to_string();
        assert!(evidence.contains(&format!("by user {uid}")), "{row}");
    })
    .map(|row| (text(&row, "decision"), text(&row, "host")))
    .collect()
}

/// Requests so far of one host.
fn requests(scene: &Scene, host: &str) -> usize {
    scene.server.hits().iter().filter(|hit| hit.request.host == host).count()
}

fn wait_for_host(scene: &Scene, host: &str, count: usize) {
    for _ in 0..3_000 {
        if requests(scene, host) >= count {
            return;
        }
        pause(Duration::from_millis(10));
    }
    panic!("only {} requests came to {host}, not {count}", requests(scene, host));
}

#[test]
fn a_host_and_a_whole_crawl_are_paused_and_continued_and_the_audit_knows() {
    let scene = scene();
    let running = started(&scene);
    assert_eq!(status(&scene)["state"], "running");
    scene.look("pause", &["--host", "a.test"]).expect(0);
    // One may have been under way.
    pause(Duration::from_millis(200));
    let (a, b) = (requests(&scene, "a.test"), requests(&scene, "b.test"));
    pause(Duration::from_secs(2));
    wait_for_host(&scene, "b.test", b + 20);
    assert_eq!(requests(&scene, "a.test"), a, "paused, and the other one isn't");
    assert_eq!(status(&scene)["hosts_paused"], 1);
    scene.look("pause", &[]).expect(0);
    pause(Duration::from_millis(1300));
    let all = scene.server.count();
    let seen = status(&scene);
    assert_eq!(seen["state"], "paused", "{seen}");
    pause(Duration::from_secs(1));
    assert_eq!(scene.server.count(), all, "all are paused");
    // A stop while it is paused ends it, and the pause outlasts it.
    scene.look("stop", &[]).expect(0);
    running.wait(PATIENCE).expect(11);
    let running = scene.resume().start();
    pause(Duration::from_millis(1500));
    assert_eq!(scene.server.count(), all, "as it was when it ended");
    scene.look("continue", &[]).expect(0);
    wait_for_host(&scene, "b.test", b + 30);
    assert_eq!(requests(&scene, "a.test"), a, "that pause is another one");
    scene.look("continue", &["--host", "a.test"]).expect(0);
    wait_for_host(&scene, "a.test", a + 10);
    scene.look("stop", &[]).expect(0);
    running.wait(PATIENCE).expect(11);
    scene.assert_polite();
    let given = orders(&scene);
    let expected = [
        ("operator_paused", "a.test"),
        ("operator_paused", ""),
        ("stop_asked", ""),
        ("operator_continued", ""),
        ("operator_continued", "a.test"),
        ("stop_asked", ""),
    ];
    assert_eq!(given, expected.map(|(decision, host)| (decision.to_owned(), host.to_owned())));
    let audit = scene.look("audit", &["--json"]);
    let report = audit.expect(0).json().remove(0);
    let checks = report["checks"].as_array().expect("checks");
    assert!(checks.iter().any(|check| check["name"] == "operator"), "{audit}");
}

#[test]
fn a_delay_can_only_become_longer_and_outlasts_the_run() {
    let scene = scene();
    let running = started(&scene);
    let refused = scene.look("set", &["delay=10ms"]);
    assert!(refused.expect(2).stderr.contains("the crawl's delay is 20ms"), "{refused}");
    let refused = scene.look("set", &["delay=2s", "--host", "c.test"]);
    assert!(refused.expect(2).stderr.contains("no host c.test"), "{refused}");
    scene.look("set", &["delay=700ms", "--host", "a.test"]).expect(0);
    pause(Duration::from_millis(100));
    let (a, b) = (requests(&scene, "a.test"), requests(&scene, "b.test"));
    pause(Duration::from_secs(3));
    let more = requests(&scene, "a.test") - a;
    assert!((1..=5).contains(&more), "{more} in 3 s");
    wait_for_host(&scene, "b.test", b + 30);
    drop(running.kill());
    let a = requests(&scene, "a.test");
    let running = scene.resume().start();
    pause(Duration::from_secs(3));
    let more = requests(&scene, "a.test") - a;
    assert!((1..=5).contains(&more), "{more} in 3 s");
    scene.look("stop", &["--now"]).expect(0);
    running.wait(PATIENCE).expect(12);
    scene.assert_polite();
    let given = orders(&scene);
    let expected = [("delay_set", "a.test"), ("stop_asked", "")];
    assert_eq!(given, expected.map(|(decision, host)| (decision.to_owned(), host.to_owned())));
    let row = scene.table("hosts").into_iter().find(|row| row["host"] == "a.test").expect("a row");
    assert_eq!((&row["delay"], &row["delay_reason"]), (&Value::from(0.7), &Value::from("operator")), "{row}");
    let audit = scene.look("audit", &["--json"]);
    let report = audit.expect(0).json().remove(0);
    let checks = report["checks"].as_array().expect("checks");
    let check = checks.iter().find(|check| check["name"] == "operator").expect("the check");
    assert!(check["judged"].as_u64() > Some(2), "{check}");
}

#[test]
fn what_a_site_asks_for_is_never_shortened_by_a_command() {
    let rules = whole_program::rules::Rules::default().delay(Duration::from_secs(1));
    let site = Sites::new().tree("a.test", 30, Duration::ZERO);
    let scene = Scene::new(site.page("a.test", "/robots.txt", whole_program::site::Answer::robots(rules)));
    let running = scene.crawl().start();
    wait_for(&scene, 2);
    pause(Duration::from_millis(300));
    let refused = scene.look("set", &["delay=500ms", "--host", "a.test"]);
    assert!(refused.expect(2).stderr.contains("crawl-delay"), "{refused}");
    // For every host it is allowed, and this one keeps its own.
    scene.look("set", &["delay=500ms"]).expect(0);
    wait_for(&scene, 5);
    scene.look("stop", &[]).expect(0);
    running.wait(PATIENCE).expect(11);
    scene.look("audit", &[]).expect(0);
    let row = scene.table("hosts").remove(0);
    assert_eq!(row["delay_reason"], "crawl-delay", "{row}");
}

#[test]
fn orders_without_a_running_crawl_say_so() {
    let scene = Scene::new(Sites::new().tree("a.test", 3, Duration::ZERO));
    for command in ["status", "stop", "pause", "continue"] {
        assert!(scene.look(command, &[]).expect(2).stderr.contains("has no crawl"), "{command}");
    }
    scene.crawl().run().expect(0);
    assert_eq!(status(&scene)["state"], "finished");
    let ended = status(&scene)["ended"].as_str().expect("a time").to_owned();
    assert_eq!(ended.len(), "2026-03-01T12:00:00.000Z".len(), "{ended}");
    let text = scene.look("status", &[]);
    assert!(text.expect(0).stdout.starts_with("finished, ended "), "{text}");
    assert!(scene.look("stop", &[]).expect(0).stderr.contains("no crawl runs"));
    for (command, arguments) in [("pause", &[][..]), ("continue", &[]), ("set", &["delay=2s"])] {
        let output = scene.look(command, arguments);
        assert!(output.expect(2).stderr.contains("no crawl runs"), "{output}");
    }
    assert!(scene.look("set", &["max-pages=3"]).expect(2).stderr.contains("only the delay"));
}
