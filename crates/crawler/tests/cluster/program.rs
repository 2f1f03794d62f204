//! `crawl cluster` and `crawl worker` as users run them, with sites that judge each request.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::judge::{GAP, Judge, SEED};
use crate::server::{Server, until, wait};

/// Of the crawls here.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

pub(crate) fn crawl(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawl"));
    command.args(args).env_remove("CRAWL_CONFIG");
    command
}

pub(crate) fn run(args: &[&str]) -> Output {
    crawl(args).output().unwrap()
}

pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Makes a crawl of the judge's sites in a database without a standby.
fn init(url: &str, judge: &Judge) {
    init_with(url, judge, &["--single-server"]);
}

pub(crate) fn init_with(url: &str, judge: &Judge, options: &[&str]) {
    init_at(url, judge, GAP, options);
}

/// As [`init_with`], with another delay than the sites want.
pub(crate) fn init_at(url: &str, judge: &Judge, delay: Duration, options: &[&str]) {
    let gap = format!("{}ms", delay.as_millis());
    let lease = format!("{}s", LEASE.as_secs());
    let resolve = judge.resolve();
    let args = [
        "cluster",
        "init",
        url,
        SEED,
        "--agent",
        "SuperRobot/1.0",
        "--delay",
        &gap,
        "--scope",
        "any",
        "--resolve",
        &resolve,
        "--partitions",
        "16",
    ];
    let usual: &[&str] = if options.contains(&"--lease") { &[] } else { &["--lease", &lease] };
    // For as long the hosts of a worker rest that was killed.
    let timeout: &[&str] = if options.contains(&"--timeout") { &[] } else { &["--timeout", "4s"] };
    let made = run(&[&args, usual, timeout, options].concat());
    assert!(made.status.success(), "{}", text(&made));
}

/// A worker as a process.
pub(crate) struct Worker(Child);

impl Worker {
    pub(crate) fn start(url: &str, dir: &Path, name: &str) -> Self {
        Self::start_with(url, dir, name, &[])
    }

    pub(crate) fn start_with(url: &str, dir: &Path, name: &str, options: &[&str]) -> Self {
        Self::run(Self::command(url, dir, name).args(options), dir, name)
    }

    /// The command of a worker, to be changed before it is run.
    pub(crate) fn command(url: &str, dir: &Path, name: &str) -> Command {
        let mut command = crawl(&["worker", "--cluster", url, "--name", name, "--out"]);
        command.arg(dir.join(name));
        command
    }

    pub(crate) fn run(command: &mut Command, dir: &Path, name: &str) -> Self {
        let log = std::fs::File::create(dir.join(format!("{name}.log"))).unwrap();
        Self(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// The exit code, once it has ended.
    pub(crate) fn code(&mut self) -> Option<i32> {
        let mut status = None;
        for _ in 0..240 {
            status = self.0.try_wait().unwrap();
            if status.is_some() {
                break;
            }
            wait(Duration::from_millis(500));
        }
        status.expect("the worker ends within 2 minutes").code()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        self.0.wait().unwrap();
    }
}

pub(crate) fn status(url: &str) -> serde_json::Value {
    let status = run(&["cluster", "status", url, "--json"]);
    assert!(status.status.success(), "{}", text(&status));
    serde_json::from_slice(&status.stdout).unwrap()
}

/// How many workers own partitions.
pub(crate) fn at_work(url: &str) -> usize {
    let status = status(url);
    let workers = status["workers"].as_array().unwrap();
    workers.iter().filter(|worker| worker["partitions"].as_u64() > Some(0)).count()
}

/// What the judge says of a crawl that is complete. `repeats` is how many requests for pages may have been made again.
pub(crate) fn expect_polite_and_whole(judge: &Judge, repeats: u32) {
    let seen = judge.seen();
    assert!(seen.overlaps.is_empty(), "overlaps: {:?}", seen.overlaps);
    assert!(seen.short.is_empty(), "short gaps: {:?}", seen.short);
    let truth = Judge::truth();
    let asked = seen.pages.keys().cloned().collect();
    let missing: Vec<_> = truth.difference(&asked).collect();
    assert!(missing.is_empty(), "never asked for: {missing:?}");
    assert_eq!(asked.difference(&truth).count(), 0);
    let again: u32 = seen.pages.values().map(|count| count - 1).sum();
    assert!(again <= repeats, "{again} requests were made again: {:?}", seen.pages);
}

/// The report of `crawl audit` over the whole crawl, with the exit code.
pub(crate) fn audit(url: &str, dir: &Path, workers: &[&str]) -> (Option<i32>, serde_json::Value) {
    let archives: Vec<String> =
        workers.iter().map(|name| dir.join(name).join("warc").display().to_string()).collect();
    let mut args = vec!["audit", "--cluster", url, "--json"];
    args.extend(archives.iter().flat_map(|archive| ["--warc", archive]));
    let audit = run(&args);
    let report = serde_json::from_slice(&audit.stdout).unwrap_or_else(|_| panic!("{}", text(&audit)));
    (audit.status.code(), report)
}

/// How many cases a check judged, and how many broke its promise.
pub(crate) fn check(report: &serde_json::Value, name: &str) -> (u64, u64) {
    let checks = report["checks"].as_array().unwrap();
    let check =
        checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {report}"));
    (check["judged"].as_u64().unwrap(), check["violations"].as_u64().unwrap())
}

pub(crate) fn expect_clean_audit(url: &str, dir: &Path, workers: &[&str]) {
    let (code, report) = audit(url, dir, workers);
    let broken: Vec<_> =
        report["checks"].as_array().unwrap().iter().filter(|check| check["violations"] != 0).collect();
    assert!(code == Some(0) && broken.is_empty(), "{code:?}: {broken:#?}");
    for name in
        ["partitions", "ledger", "gap", "overlap", "denied", "discovery", "archive", "seals", "accounts"]
    {
        assert!(check(&report, name).0 > 0, "{name}: {report}");
    }
}

/// Expects an audit that this command makes to find nothing, of a crawl that has requests, pages and an archive.
pub(crate) fn expect_clean_audit_of(args: &[&str]) {
    let audit = run(args);
    let report: serde_json::Value =
        serde_json::from_slice(&audit.stdout).unwrap_or_else(|_| panic!("{}", text(&audit)));
    let checks = report["checks"].as_array().unwrap();
    let broken: Vec<_> =
        checks.iter().filter(|check| check["violations"] != 0 || check["lost"].is_u64()).collect();
    assert!(audit.status.code() == Some(0) && broken.is_empty(), "{:?}: {broken:#?}", audit.status.code());
    for name in ["ledger", "gap", "overlap", "denied", "discovery", "archive", "seals", "accounts"] {
        assert!(check(&report, name).0 > 0, "{name}: {report}");
    }
}

/// `crawl show` reads all partitions as one crawl.
fn expect_whole_in_show(url: &str) {
    let pages = Judge::truth();
    let summary = run(&["show", "--cluster", url, "--json"]);
    let summary: serde_json::Value =
        serde_json::from_slice(&summary.stdout).unwrap_or_else(|_| panic!("{}", text(&summary)));
    assert_eq!(summary["status"], "complete", "{summary}");
    assert_eq!(summary["totals"]["pages"].as_u64(), Some(pages.len() as u64), "{summary}");
    assert_eq!(summary["statuses"]["200"].as_u64(), Some(pages.len() as u64), "{summary}");
    assert_eq!(summary["seeds"], serde_json::json!([SEED]), "{summary}");
    assert_eq!(summary["end"]["end"], "complete", "{summary}");
    // Partitions had two owners.
    assert_eq!(summary["totals"]["runs"], 1, "{summary}");
    let head = summary["head"].as_str().unwrap();
    let audit = run(&["audit", "--cluster", url, "--head", head]);
    assert_eq!(audit.status.code(), Some(0), "{}", text(&audit));
    assert!(text(&audit).contains("not judged: the directories of the workers"), "{}", text(&audit));
    let other = run(&["audit", "--cluster", url, "--head", &"0".repeat(64)]);
    assert_eq!(other.status.code(), Some(14), "{}", text(&other));
    let table =
        run(&["show", "--cluster", url, "pages", "--columns", "url", "--where", "status = 200", "--json"]);
    let rows = String::from_utf8_lossy(&table.stdout).into_owned();
    let urls: std::collections::BTreeSet<String> = rows
        .lines()
        .map(|row| {
            serde_json::from_str::<serde_json::Value>(row).unwrap()["url"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(urls.len(), pages.len(), "{rows}");
    for page in ["http://s1.test/p0", "http://s7.test/p9", "http://s4.test/p11"] {
        let explained = run(&["explain", "--cluster", url, page, "--json"]);
        let explained: serde_json::Value = serde_json::from_slice(&explained.stdout).unwrap();
        let path = explained["found"].as_array().unwrap();
        let is_whole = path.iter().all(|step| !step["by"].as_str().unwrap().contains("partition"));
        assert!(is_whole && path[0]["url"] == SEED && path[0]["by"] == "seed", "{explained}");
        assert!(path[1..].iter().all(|step| step["by"] == "a" && step["outcome"] == "queued"), "{explained}");
    }
    let unseen = run(&["explain", "--cluster", url, "http://s1.test/nowhere", "--json"]);
    let unseen: serde_json::Value = serde_json::from_slice(&unseen.stdout).unwrap();
    let change = unseen["change"].to_string();
    assert!(change.contains("`crawl cluster recrawl DATABASE --older-than 0s`"), "{change}");
    assert!(!change.contains("DIR"), "a directory of a cluster's crawl: {change}");
    for (args, expected) in [
        (&["page", SEED, "--json"][..], "\"status\":200"),
        (&["robots", "s0.test"], "User-agent"),
        (&["hosts", "--limit", "3"], "s0.test"),
    ] {
        let shown = run(&[&["show", "--cluster", url], args].concat());
        assert_eq!(shown.status.code(), Some(0), "{args:?}: {}", text(&shown));
        assert!(text(&shown).contains(expected), "{args:?}: {}", text(&shown));
    }
    for (args, words) in [
        (&["no-such-table"][..], "possible values"),
        (&["pages", "x", "y"], "there is no DIR"),
        (&["page"], "needs a URL"),
    ] {
        let refused = run(&[&["show", "--cluster", url], args].concat());
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", text(&refused));
        assert!(text(&refused).contains(words), "{args:?}: {}", text(&refused));
    }
}

/// `crawl report` reads all partitions as one crawl, in which each page and each robots.txt was asked for once.
fn expect_whole_in_report(url: &str) {
    let truth = Judge::truth();
    let pages = truth.len() as u64;
    let hosts: std::collections::BTreeSet<_> = truth.iter().map(|page| page.split('/').next()).collect();
    let report = run(&["report", "--cluster", url, "--json"]);
    let report: serde_json::Value =
        serde_json::from_slice(&report.stdout).unwrap_or_else(|_| panic!("{}", text(&report)));
    assert_eq!(report["summary"]["status"], "complete", "{report}");
    assert_eq!(report["contents"]["pages"].as_u64(), Some(pages), "{report}");
    assert_eq!(report["activity"]["requests"].as_u64(), Some(pages + hosts.len() as u64), "{report}");
    let gaps = &report["activity"]["gaps"];
    assert!(gaps["count"].as_u64() > Some(0), "{gaps}");
    assert_eq!((gaps["short"].as_u64(), gaps["overlaps"].as_u64()), (Some(0), Some(0)), "{gaps}");
    let html = run(&["report", "--cluster", url]);
    assert!(text(&html).to_ascii_lowercase().starts_with("<!doctype html>"), "{}", text(&html));
    let owner = run(&["report", "--cluster", url, "--host", "S0.test", "--json"]);
    let owner: serde_json::Value =
        serde_json::from_slice(&owner.stdout).unwrap_or_else(|_| panic!("{}", text(&owner)));
    let of_host = truth.iter().filter(|page| page.starts_with("s0.test/")).count() as u64;
    assert_eq!(
        (owner["host"].as_str(), owner["pages"].as_u64()),
        (Some("s0.test"), Some(of_host)),
        "{owner}"
    );
    let unknown = run(&["report", "--cluster", url, "--host", "other.test"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", text(&unknown));
    assert!(
        text(&unknown).contains("the crawl has no host other.test; `crawl show --cluster DATABASE hosts`"),
        "{}",
        text(&unknown)
    );
}

/// An archive that isn't there, a host that is in another partition, and a page whose record is gone are found.
fn expect_faults_in_audit(server: &Server, url: &str, dir: &Path) {
    let (code, report) = audit(url, dir, &["one"]);
    assert_eq!(code, Some(14));
    assert!(check(&report, "archive").1 > 0, "{report}");
    // Hosts, by the numbers of their trees: see `the_numbers_of_trees_in_the_database_are_fixed`. In two steps, so that no two rows meet.
    let move_hosts = |by: u32| {
        server.sql(url, "update kv set part = part + 100 where tree in (1, 2)");
        server.sql(url, &format!("update kv set part = (part - 100 + {by}) % 16 where tree in (1, 2)"));
    };
    move_hosts(1);
    let (code, report) = audit(url, dir, &["one", "two"]);
    assert_eq!((code, check(&report, "partitions")), (Some(14), (10, 10)), "{report}");
    move_hosts(15);
    expect_clean_audit(url, dir, &["one", "two"]);
}

/// While a crawl runs its status names partitions with URLs queued: the longest queue first, and who owns it.
fn expect_longest_in_status(url: &str) {
    let mut found = serde_json::Value::Null;
    until(|| {
        found = status(url);
        found["longest"].as_array().is_some_and(|parts| parts.len() > 2)
    });
    let parts = found["longest"].as_array().unwrap();
    let number = |part: &serde_json::Value, key: &str| part[key].as_u64().unwrap();
    let load: Vec<u64> = parts.iter().map(|part| number(part, "queued") + number(part, "letters")).collect();
    assert!(parts.len() <= 5 && load.is_sorted_by(|more, less| more >= less), "{found}");
    let workers: Vec<&serde_json::Value> =
        found["workers"].as_array().unwrap().iter().map(|worker| &worker["id"]).collect();
    assert!(parts.iter().all(|part| number(part, "partition") < 16), "{found}");
    assert!(parts.iter().all(|part| workers.contains(&&part["worker"])), "{found}");
    let shown = text(&run(&["cluster", "status", url]));
    assert!(shown.contains("(worker ") && shown.contains("to read"), "{shown}");
}

#[test]
fn workers_share_a_crawl_ask_each_page_once_and_end_when_it_is_complete() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &judge);
    let made = status(&url);
    assert_eq!((made["queued"].as_u64(), made["totals"]["runs"].as_u64()), (Some(1), Some(0)), "{made}");
    let mut workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    until(|| at_work(&url) == 2);
    expect_longest_in_status(&url);
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);
    expect_polite_and_whole(&judge, 0);
    assert_eq!(status(&url)["longest"], serde_json::json!([]), "nothing remains");
    let status = status(&url);
    let pages = Judge::truth().len() as u64;
    assert_eq!(
        (status["state"].as_str(), status["totals"]["pages"].as_u64()),
        (Some("complete"), Some(pages))
    );
    assert_eq!((status["queued"].as_u64(), status["letters"].as_u64()), (Some(0), Some(0)));
    // Each body is in the archive of one of them, in a file that names its owner.
    let mut responses = 0;
    for name in ["one", "two"] {
        let archive = dir.path().join(name).join("warc");
        for file in std::fs::read_dir(&archive).unwrap().flatten() {
            assert!(file.file_name().to_string_lossy().contains("-w"), "{file:?}");
            let records = crawler::warc::Reader::open(&file.path()).unwrap();
            let read = records.map(|record| record.unwrap());
            responses += read.filter(|record| record.field("WARC-Type") == Some("response")).count() as u64;
        }
    }
    assert!(responses >= pages, "{responses} responses of {pages} pages");
    let late = run(&["worker", "--cluster", &url, "--out", &dir.path().join("late").display().to_string()]);
    assert_eq!(late.status.code(), Some(0), "{}", text(&late));
    expect_clean_audit(&url, dir.path(), &["one", "two"]);
    expect_whole_in_show(&url);
    expect_whole_in_report(&url);
    expect_faults_in_audit(&server, &url, dir.path());
}

#[test]
fn a_crawl_is_stopped_and_resumed() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &judge);
    let mut worker = Worker::start(&url, dir.path(), "one");
    until(|| judge.count() > 10);
    let stopped = run(&["cluster", "stop", &url]);
    assert!(stopped.status.success(), "{}", text(&stopped));
    assert_eq!(worker.code(), Some(11));
    let count = judge.count();
    let refused = run(&["worker", "--cluster", &url, "--out", &dir.path().join("two").display().to_string()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused).contains("crawl cluster resume"), "{}", text(&refused));
    assert_eq!(judge.count(), count);
    assert!(run(&["cluster", "resume", &url]).status.success());
    let mut worker = Worker::start(&url, dir.path(), "one");
    // Ctrl-C ends the worker alone.
    until(|| judge.count() > count + 10);
    worker.signal(Signal::INT);
    assert_eq!(worker.code(), Some(11));
    assert_eq!(status(&url)["state"].as_str(), Some("running"));
    let mut worker = Worker::start(&url, dir.path(), "two");
    assert_eq!(worker.code(), Some(0));
    expect_polite_and_whole(&judge, 0);
}

/// Starts three workers, suspends one for longer than its lease, and kills one. Returns the first, which runs again, and the third.
pub(crate) fn survivors(url: &str, judge: &Judge, dir: &Path) -> [Worker; 2] {
    let [suspended, killed, lasting] =
        ["suspended", "killed", "lasting"].map(|name| Worker::start(url, dir, name));
    until(|| at_work(url) == 3 && judge.count() > 10);
    suspended.signal(Signal::STOP);
    drop(killed);
    wait(LEASE * 2);
    suspended.signal(Signal::CONT);
    until(|| at_work(url) == 2);
    [suspended, lasting]
}

/// Waits for longer than the leases of all workers, whose database is away: in the end none asks a host. Returns how many requests were made.
pub(crate) fn expect_silence(judge: &Judge) -> u32 {
    let count = judge.count();
    wait(LEASE * 2);
    let meanwhile = judge.count();
    wait(LEASE);
    assert_eq!(judge.count(), meanwhile, "without a lease no host is asked ({count} at the outage)");
    meanwhile
}

/// One worker is suspended for two leases, one is killed, and the database is away for longer than a lease.
#[test]
fn no_host_is_asked_by_two_workers_whatever_fails() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &judge);
    let [mut suspended, mut lasting] = survivors(&url, &judge, dir.path());
    server.kill();
    expect_silence(&judge);
    server.run();
    assert_eq!([lasting.code(), suspended.code()], [Some(0), Some(0)]);
    // In flight at each of the three faults.
    expect_polite_and_whole(&judge, 30);
    expect_clean_audit(&url, dir.path(), &["suspended", "killed", "lasting"]);
}

/// Without its standby the database confirms nothing, and then no host is asked any more. After a failover the crawl continues, and
/// all that was confirmed is there.
#[test]
fn nothing_that_was_acknowledged_is_lost_when_the_primary_fails() {
    let Some(mut primary) = Server::start(&[]) else { return };
    let name = primary.database().split(['/', '?']).nth(3).unwrap().to_owned();
    let mut standby = primary.standby();
    let url = format!(
        "postgres:///{name}?user=crawl&host={}&host={}",
        primary.dir().display(),
        standby.dir().display()
    );
    primary.sql(&name, "alter system set synchronous_standby_names = '*'");
    primary.sql(&name, "select pg_reload_conf()");
    let follows =
        |primary: &Server| primary.sql(&name, "select sync_state from pg_stat_replication") == "sync";
    until(|| follows(&primary));
    let (judge, dir) = (Judge::start(), TempDir::new().unwrap());
    init_with(&url, &judge, &[]);
    // What somebody sets for other programs doesn't weaken it.
    primary.sql(&name, "alter role crawl set synchronous_commit = off");
    let mut workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    until(|| at_work(&url) == 2 && judge.count() > 10);
    let shown = status(&url);
    let [follower] = &shown["standbys"].as_array().unwrap()[..] else { panic!("one standby: {shown}") };
    assert_eq!((follower["state"].as_str(), follower["sync"].as_str()), (Some("streaming"), Some("sync")));
    assert!(follower["behind_bytes"].is_u64(), "{shown}");
    let shown = text(&run(&["cluster", "status", &url]));
    assert!(shown.contains(": streaming, sync, ") && shown.contains(" behind"), "{shown}");
    standby.kill();
    wait(LEASE * 2);
    let unconfirmed = judge.count();
    wait(LEASE);
    assert_eq!(judge.count(), unconfirmed, "nothing is confirmed, and hosts are asked");
    standby.run();
    until(|| judge.count() > unconfirmed + 10);
    until(|| follows(&primary));
    primary.kill();
    wait(LEASE);
    standby.sql(&name, "select pg_promote()");
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);
    // In flight, or not yet confirmed, at each of the two faults.
    expect_polite_and_whole(&judge, 40);
    expect_clean_audit(&url, dir.path(), &["one", "two"]);
}

#[test]
fn what_a_cluster_cannot_keep_is_refused_and_nothing_is_made() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, made) = (server.database(), TempDir::new().unwrap());
    let config = made.path().join("crawl.toml");
    std::fs::write(&config, "[warc]\ndedup = [\"earlier\"]\n").unwrap();
    for (options, words) in [
        (
            &["--config", &config.display().to_string(), "--single-server"][..],
            "workers may not have; \"crawl\" is possible",
        ),
        (&["--partitions", "0", "--single-server"], "between 1 and 4096"),
        (&["--lease", "1s", "--single-server"], "between 2 s and 10 min"),
        (&["--out", "x", "--single-server"], "--out"),
        (&[], "synchronous_standby_names"),
    ] {
        let mut args = vec!["cluster", "init", &url, SEED, "--agent", "SuperRobot/1.0"];
        args.extend(options);
        let refused = run(&args);
        assert_eq!(refused.status.code(), Some(2), "{options:?}: {}", text(&refused));
        assert!(text(&refused).contains(words), "{options:?}: {}", text(&refused));
    }
    let empty = run(&["cluster", "status", &url]);
    assert_eq!(empty.status.code(), Some(2));
    assert!(text(&empty).contains("there is no crawl in the database"), "{}", text(&empty));
    init(&url, &Judge::start());
    server.sql(&url, "update crawl set program = 'crawl 0.0.0'");
    let dir = TempDir::new().unwrap();
    let other = run(&["worker", "--cluster", &url, "--out", &dir.path().display().to_string()]);
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other).contains("the crawl is of `crawl 0.0.0`"), "{}", text(&other));
}

/// Workers of another version refuse until the crawl is stopped and resumed with it.
#[test]
fn a_crawl_is_upgraded_while_it_is_stopped() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init(&url, &judge);
    let mut old = Worker::start(&url, dir.path(), "one");
    until(|| at_work(&url) == 1 && judge.count() > 10);
    // As if they were of another version.
    server.sql(&url, "update crawl set program = 'crawl 0.0.0'");
    assert_eq!(Worker::start(&url, dir.path(), "two").code(), Some(2));
    old.signal(Signal::STOP);
    server.sql(&url, "update crawl set state = 'stopped'");
    let refused = run(&["cluster", "resume", &url]);
    let said = text(&refused);
    assert!(
        refused.status.code() == Some(2) && said.contains("workers of `crawl 0.0.0` own parts"),
        "{said}"
    );
    old.signal(Signal::CONT);
    assert!(run(&["cluster", "stop", &url]).status.success());
    assert_eq!(old.code(), Some(11));
    assert!(run(&["cluster", "resume", &url]).status.success());
    assert_eq!(Worker::start(&url, dir.path(), "two").code(), Some(0));
    expect_polite_and_whole(&judge, 0);
    expect_clean_audit(&url, dir.path(), &["one", "two"]);
}
