//! A crawl on one machine becomes one on many, and that becomes one on a single machine again.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::forget;
use crate::judge::{GAP, Judge, SEED};
use crate::program::{Worker, expect_clean_audit_of, expect_polite_and_whole, init_with, run, status, text};
use crate::server::{Server, until, wait};

/// A crawl on one machine, as a process.
pub(crate) fn start(args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawl"));
    command.args(args).env_remove("CRAWL_CONFIG").stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Stops a crawl in order once the sites were asked for so many pages.
pub(crate) fn stop_at(mut crawl: Child, judge: &Judge, count: u32) {
    until(|| judge.count() >= count);
    kill_process(Pid::from_child(&crawl), Signal::INT).unwrap();
    let mut code = None;
    for _ in 0..120 {
        code = crawl.try_wait().unwrap();
        if code.is_some() {
            break;
        }
        wait(Duration::from_millis(250));
    }
    assert_eq!(code.expect("it stops within 30 s").code(), Some(11));
}

fn begin(judge: &Judge, dir: &Path) -> Child {
    begin_with(judge, dir, GAP, &[])
}

/// As [`begin`], with another delay and further options.
pub(crate) fn begin_with(judge: &Judge, dir: &Path, delay: Duration, options: &[&str]) -> Child {
    let seeds = dir.with_extension("txt");
    std::fs::write(&seeds, SEED).unwrap();
    let gap = format!("{}ms", delay.as_millis());
    let (seeds, out, resolve) = (seeds.display().to_string(), dir.display().to_string(), judge.resolve());
    let common = [
        "--seed",
        &seeds,
        "--agent",
        "SuperRobot/1.0",
        "--delay",
        &gap,
        "--scope",
        "any",
        "--resolve",
        &resolve,
        "--out",
        &out,
    ];
    start(&[&common, options].concat())
}

/// Rows of a table as text, each once: what doesn't depend on the database that they are in.
fn rows(of: &[&str], table: &str, columns: &[&str]) -> Vec<String> {
    let columns = columns.join(",");
    let columns = if columns.is_empty() { Vec::new() } else { vec!["--columns", &columns] };
    let args = [&["export"], of, &["--table", table, "--format", "jsonl"], &columns].concat();
    let rows = run(&args);
    assert!(rows.status.success(), "{table}: {}", text(&rows));
    let mut rows: Vec<String> = String::from_utf8_lossy(&rows.stdout)
        .lines()
        .map(|row| {
            let row: BTreeMap<String, serde_json::Value> = serde_json::from_str(row).unwrap();
            let row = row.into_iter().filter(|(name, _)| name != "crawl");
            serde_json::to_string(&row.collect::<BTreeMap<_, _>>()).unwrap()
        })
        .collect();
    rows.sort();
    rows
}

/// Tables with the columns that a move leaves as they are.
const TABLES: [(&str, &[&str]); 8] = [
    ("pages", &[]),
    ("links", &[]),
    ("robots", &[]),
    ("errors", &[]),
    ("changes", &[]),
    ("skipped", &[]),
    (
        "hosts",
        &[
            "host",
            "requests",
            "pages",
            "bytes",
            "delay",
            "delay_reason",
            "robots_status",
            "errors",
            "skipped",
        ],
    ),
    ("queue", &["url", "depth", "via", "priority", "tries", "host"]),
];

fn tables(of: &[&str]) -> Vec<Vec<String>> {
    TABLES.iter().map(|(table, columns)| rows(of, table, columns)).collect()
}

/// What `letters` say is in no table before the move, and queued after it.
fn expect_equal(before: &[Vec<String>], after: &[Vec<String>], letters: u64) {
    for ((before, after), (table, _)) in before.iter().zip(after).zip(TABLES) {
        assert!(!before.is_empty() || ["errors", "changes", "skipped"].contains(&table), "{table} has rows");
        let (gone, new): (Vec<_>, Vec<_>) = (
            before.iter().filter(|row| !after.contains(row)).collect(),
            after.iter().filter(|row| !before.contains(row)).collect(),
        );
        let may_have_new = table == "queue" && letters > 0;
        let is_whole = gone.is_empty() && (may_have_new || new.is_empty() && before.len() == after.len());
        assert!(is_whole, "{table}: {gone:#?} {new:#?}");
    }
}

#[test]
fn a_crawl_moves_to_a_cluster_and_back_with_all_that_it_knows() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (first, back) = (path("first"), path("back"));
    stop_at(begin(&judge, &dir.path().join("first")), &judge, 30);
    expect_clean_audit_of(&["audit", &first, "--json"]);
    let before = tables(&[&first]);

    let imported =
        run(&["cluster", "import", &first, &url, "--single-server", "--partitions", "16", "--lease", "3s"]);
    assert!(imported.status.success(), "{}", text(&imported));
    expect_equal(&before, &tables(&["--cluster", &url]), 0);
    let shown = status(&url);
    assert_eq!(shown["totals"]["pages"].as_u64(), Some(before[0].len() as u64), "{shown}");
    assert_eq!(shown["queued"].as_u64(), Some(before[7].len() as u64), "{shown}");
    let archive = format!("{first}/warc");
    expect_clean_audit_of(&["audit", "--cluster", &url, "--json", "--warc", &archive]);
    for (command, rest) in [("resume", &[][..]), ("recrawl", &[]), ("cluster", &["import", &first, &url])] {
        let args = if rest.is_empty() { vec![command, first.as_str()] } else { [&[command], rest].concat() };
        let refused = run(&args);
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
        assert!(text(&refused).contains("was moved to the cluster"), "{args:?}: {}", text(&refused));
    }
    assert_eq!(rows(&[&first], "pages", &[]), before[0], "it can be read");

    let mut worker = Worker::start(&url, dir.path(), "one");
    until(|| judge.count() > 70);
    let refused = run(&["cluster", "export", &url, "--out", &back]);
    assert!(
        refused.status.code() == Some(2) && text(&refused).contains("cluster stop"),
        "{}",
        text(&refused)
    );
    assert!(run(&["cluster", "stop", &url]).status.success());
    assert_eq!(worker.code(), Some(11));
    let (before, letters) = (tables(&["--cluster", &url]), status(&url)["letters"].as_u64().unwrap());

    let refused = run(&["cluster", "export", &url, "--out", &back, "--warc", &archive]);
    assert!(refused.status.code() == Some(2) && text(&refused).contains("(worker 1)"), "{}", text(&refused));
    assert!(!dir.path().join("back").exists(), "it is removed again");
    let archives = ["--warc", &archive, "--warc", &format!("{}/warc", path("one"))];
    let exported = run(&[&["cluster", "export", &url, "--out", &back][..], &archives].concat());
    assert!(exported.status.success(), "{}", text(&exported));
    expect_equal(&before, &tables(&[&back]), letters);
    expect_clean_audit_of(&["audit", &back, "--json"]);

    let moved = status(&url);
    assert_eq!(moved["state"], "moved", "{moved}");
    assert!(moved["moved"]["to"].as_str().unwrap().contains(&back), "{moved}");
    let asked = judge.count();
    for args in [&["cluster", "resume", &url][..], &["cluster", "lost", &url, "1"]] {
        let refused = run(args);
        let words = format!("was moved to the directory {back}");
        assert!(refused.status.code() == Some(2) && text(&refused).contains(&words), "{}", text(&refused));
    }
    assert!(text(&run(&["cluster", "stop", &url])).contains("was moved"), "nothing is to be stopped");
    assert_eq!(Worker::start(&url, dir.path(), "two").code(), Some(2));
    assert_eq!(judge.count(), asked, "nobody crawls");

    let mut resumed = start(&["resume", &back]);
    until(|| resumed.try_wait().unwrap().is_some());
    assert_eq!(resumed.wait().unwrap().code(), Some(0));
    expect_polite_and_whole(&judge, 0);
    expect_clean_audit_of(&["audit", &back, "--json"]);
    let pages = rows(&[&back], "pages", &["url"]);
    assert_eq!(pages.len(), Judge::truth().len());
    let found = run(&["search", &back, "s3.test"]);
    assert_ne!(found.status.code(), Some(101), "{}", text(&found));
}

#[test]
fn a_copy_of_a_cluster_is_not_continued_and_a_moved_crawl_can_be_taken_back() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    let path = |name: &str| dir.path().join(name).display().to_string();
    init_with(&url, &judge, &["--single-server"]);
    let mut worker = Worker::start(&url, dir.path(), "one");
    until(|| judge.count() > 30);
    assert!(run(&["cluster", "stop", &url]).status.success());
    assert_eq!(worker.code(), Some(11));

    let (copy, archive) = (path("copy"), format!("{}/warc", path("one")));
    let copied = run(&["cluster", "export", &url, "--out", &copy, "--copy", "--warc", &archive]);
    assert!(copied.status.success(), "{}", text(&copied));
    assert_eq!(status(&url)["state"], "stopped");
    let refused = run(&["resume", &copy]);
    assert!(refused.status.code() == Some(2) && text(&refused).contains("moved.json"), "{}", text(&refused));
    expect_clean_audit_of(&["audit", &copy, "--json"]);
    assert!(!rows(&[&copy], "pages", &["url"]).is_empty());

    let (back, repaired) = (path("back"), path("repaired"));
    let moved = run(&["cluster", "export", &url, "--out", &back, "--warc", &archive]);
    assert!(moved.status.success(), "{}", text(&moved));
    let again = run(&["cluster", "export", &url, "--out", &path("third"), "--copy", "--warc", &archive]);
    assert!(again.status.code() == Some(2) && text(&again).contains("without --copy"), "{}", text(&again));
    assert!(run(&["repair", &copy, "--out", &repaired]).status.success());
    let refused = run(&["resume", &repaired]);
    assert!(text(&refused).contains("was moved to the cluster"), "{}", text(&refused));
    std::fs::remove_dir_all(&back).unwrap();
    assert_eq!(run(&["cluster", "resume", &url]).status.code(), Some(2));
    assert!(run(&["cluster", "resume", &url, "--take-back"]).status.success());
    assert_eq!(status(&url)["state"], "running");
    let mut worker = Worker::start(&url, dir.path(), "one");
    assert_eq!(worker.code(), Some(0));
    expect_polite_and_whole(&judge, 0);
}

#[test]
fn what_is_under_way_or_not_kept_by_a_cluster_is_not_moved_and_nothing_is_made() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    let (root, out) = (dir.path().join("first"), dir.path().join("first").display().to_string());
    let refused = |words: &str| {
        let refused = run(&["cluster", "import", &out, &url, "--single-server"]);
        assert!(refused.status.code() == Some(2) && text(&refused).contains(words), "{}", text(&refused));
        let none = run(&["cluster", "status", &url]);
        assert!(text(&none).contains("there is no crawl in the database"), "{}", text(&none));
    };
    refused("no crawl");
    let mut killed = begin(&judge, &root);
    until(|| judge.count() > 5);
    killed.kill().unwrap();
    killed.wait().unwrap();
    refused("was killed");
}

/// What was forgotten on one machine stays so in the cluster, and what the cluster forgets goes from the archive that was imported.
#[test]
fn forgotten_pages_stay_forgotten_after_a_move_and_go_from_the_archive_of_before() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    let (root, out) = (dir.path().join("first"), dir.path().join("first").display().to_string());
    stop_at(begin(&judge, &root), &judge, 40);
    let forgotten = run(&["forget", &out, "s3.test", "--reason", "asked for by its author"]);
    assert!(forgotten.status.success(), "{}", text(&forgotten));
    let asked = |site: &str| -> Vec<(String, u32)> {
        judge.seen().pages.clone().into_iter().filter(|(page, _)| page.starts_with(site)).collect()
    };
    let before = (asked("s3.test"), asked("s0.test"));
    assert!(!before.0.is_empty() && !before.1.is_empty());
    let imported = run(&["cluster", "import", &out, &url, "--single-server", "--partitions", "16"]);
    assert!(imported.status.success(), "{}", text(&imported));
    assert_eq!(run(&["cluster", "stop", &url]).status.code(), Some(0));
    let forgotten = run(&["cluster", "forget", &url, "s0.test"]);
    assert!(forgotten.status.success(), "{}", text(&forgotten));
    let due = &status(&url)["withdrawals"];
    assert!(due[0]["worker"].is_null() && due[0]["files"] == 1, "{due}");

    // As the manual says: the worker is given the files.
    let own = dir.path().join("one/warc");
    std::fs::create_dir_all(&own).unwrap();
    for file in std::fs::read_dir(root.join("warc")).unwrap().flatten() {
        std::fs::hard_link(file.path(), own.join(file.file_name())).unwrap();
    }
    assert_eq!(run(&["cluster", "resume", &url]).status.code(), Some(0));
    assert_eq!(Worker::start(&url, dir.path(), "one").code(), Some(0));
    assert_eq!((asked("s3.test"), asked("s0.test")), before, "neither is asked for again");
    assert_eq!(status(&url)["withdrawals"].as_array().map(Vec::len), Some(0));
    let of_both = |url: &str| url.starts_with("http://s3.test/") || url.starts_with("http://s0.test/");
    assert_eq!(forget::records(dir.path(), "one", of_both), [""; 0]);
    assert!(!forget::records(dir.path(), "first", |url| url.starts_with("http://s1.test/")).is_empty());
    expect_clean_audit_of(&["audit", "--cluster", &url, "--warc", &own.display().to_string(), "--json"]);
}
