//! A first run without a page: why, what a second one does, and what changed options do.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use whole_program::name_server::NameServer;
use whole_program::program::{Crawl, Output};
use whole_program::site::{Answer, Server, Sites};

use crate::scene::Scene;
use crate::stop::wait_for;

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

struct Study {
    server: Server,
    /// With its port: all names lead to this machine, which isn't a seed's address by the words of the seed.
    host: String,
    names: NameServer,
    directory: tempfile::TempDir,
}

impl Study {
    fn new(pages: &[(&str, Answer)]) -> Self {
        let free = TcpListener::bind((HERE, 0)).and_then(|free| free.local_addr()).expect("a free port");
        let host = format!("a.test:{}", free.port());
        let sites =
            pages.iter().fold(Sites::new(), |sites, (path, answer)| sites.page(&host, path, answer.clone()));
        let at: (IpAddr, u16) = (HERE.into(), free.port());
        let server = Server::start_on(SocketAddr::from(at), sites);
        let names = NameServer::start(|_, _| vec![HERE]);
        let directory = tempfile::tempdir().expect("a directory for the test");
        std::fs::write(directory.path().join("study.toml"), names.config()).expect("it can be written");
        Self { server, host, names, directory }
    }

    fn out(&self) -> PathBuf {
        self.directory.path().join("out")
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.host)
    }

    /// `crawl URL... --out DIR`.
    fn run(&self, paths: &[&str], options: &[&str]) -> Output {
        assert!(self.names.address().ip().is_loopback());
        Crawl::new(paths.iter().map(|path| self.url(path)))
            .args(["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0", "--retries", "0"])
            .args([Path::new("--out"), &self.out()])
            .args([Path::new("--config"), &self.directory.path().join("study.toml")])
            .args(options)
            .run()
    }

    fn look(&self, command: &str, options: &[&str]) -> Output {
        Crawl::new([Path::new(command), &self.out()]).args(options).run()
    }

    fn summary(&self) -> Value {
        self.look("show", &["--json"]).expect(0).json()[0].clone()
    }

    fn pages(&self) -> Vec<String> {
        let rows = self.look("show", &["pages", "--json"]).expect(0).json();
        let mut urls: Vec<_> =
            rows.iter().map(|row| row["url"].as_str().expect("a URL").replace(&self.url(""), "")).collect();
        urls.sort();
        urls
    }

    fn requests(&self, path: &str) -> usize {
        self.server.log().iter().filter(|request| request.path == path).count()
    }
}

const OPEN: &[&str] = &["--allow-net", "127.0.0.0/8"];

fn site() -> Study {
    Study::new(&[
        ("/robots.txt", Answer::content("text/plain", "User-agent: *\nDisallow: /private\n")),
        ("/", Answer::html("<title>front</title>")),
        ("/private", Answer::html("<title>private</title>")),
        ("/paper", Answer::content("application/pdf", "%PDF-1.4")),
    ])
}

#[test]
fn a_seed_without_a_page_is_counted_once_and_its_crawl_isnt_complete() {
    for (paths, options, failed, skipped, words) in [
        (
            &["/"][..],
            &[][..],
            1,
            0,
            "127.0.0.1 is a loopback address, which isn't allowed (--allow-net 127.0.0.1/32 allows it)",
        ),
        (&["/private"], OPEN, 0, 1, "robots.txt denies it: line 2: Disallow: /private"),
        (&["/"], &["--exclude", "test"], 0, 1, "--exclude matches it"),
        (&["/"], &["--include", "nothing"], 0, 1, "no --include matches it"),
        (&["/paper"], &["--allow-net", "127.0.0.0/8", "--types", "text/html"], 0, 1, "application/pdf"),
    ] {
        let study = site();
        let ran = study.run(paths, options);
        assert!(ran.expect(4).stdout.contains(words), "{words}: {ran}");
        assert!(ran.stdout.contains(&format!(" {failed} failed, {skipped} skipped")), "{ran}");
        let summary = study.summary();
        let totals = &summary["totals"];
        assert_eq!([&totals["failed"], &totals["skipped"]], [failed, skipped], "{words}: {summary}");
        assert_eq!(summary["status"], "incomplete", "{words}");
        let shown = study.look("show", &[]);
        assert!(shown.expect(0).stdout.contains("status    incomplete"), "{words}: {shown}");
        study.look("audit", &[]).expect(0);
    }
}

#[test]
fn a_second_run_where_no_page_is_stored_begins_anew_in_the_same_ledger() {
    // Options and paths of both runs, and the pages of the second.
    for (first, second, pages) in [
        ((&["/"][..], &[][..]), (&["/"][..], OPEN), &["/"][..]),
        ((&["/private"], OPEN), (&["/"], OPEN), &["/"]),
        ((&["/private"], OPEN), (&["/private"], OPEN), &[]),
        ((&["/"], &["--exclude", "test"]), (&["/"], OPEN), &["/"]),
        ((&["/"], &["--include", "nothing"]), (&["/", "/other"], OPEN), &["/", "/other"]),
        (
            (&["/paper"], &["--allow-net", "127.0.0.0/8", "--types", "text/html"]),
            (&["/paper"], OPEN),
            &["/paper"],
        ),
    ] {
        let study = site();
        study.run(first.0, first.1).expect(4);
        let begun = study.look("show", &["ledger", "--json"]).expect(0).json();
        let fetched = study.requests("/robots.txt");
        let ran = study.run(second.0, second.1);
        let case = format!("{first:?} {second:?}: {ran}");
        assert!(ran.stderr.contains("has no page: this is a new run of it"), "{case}");
        assert_eq!(ran.code, Some(if pages.is_empty() { 4 } else { 0 }), "{case}");
        assert_eq!(study.pages(), pages, "{case}");
        // What was asked before is known, as long as it may be.
        assert_eq!(study.requests("/robots.txt"), fetched.max(1), "{case}");
        assert_eq!(study.requests("/private"), 0, "{case}");
        let ledger = study.look("show", &["ledger", "--json"]).expect(0).json();
        assert_eq!(ledger[..begun.len()], begun[..], "{case}");
        let summary = study.summary();
        assert_eq!(summary["totals"]["runs"], 2, "{case}");
        study.look("audit", &[]).expect(0);
        if !pages.is_empty() {
            let again = study.run(second.0, second.1);
            assert!(again.expect(2).stderr.contains("already has a crawl"), "{again}");
        }
    }
}

#[test]
fn a_new_run_keeps_what_binds_the_whole_crawl_and_the_pauses_that_sites_asked_for() {
    let study = site();
    study.run(&["/private"], OPEN).expect(4);
    let before = std::fs::read(study.out().join("crawl.toml")).expect("it can be read");
    for (option, value, key) in
        [("--dialect", "rfc9309", "robots.dialect"), ("--purpose", "tdm", "consent.purpose")]
    {
        let refused = study.run(&["/private"], &["--allow-net", "127.0.0.0/8", option, value]);
        assert!(refused.expect(2).stderr.contains(key), "{refused}");
    }
    assert_eq!(std::fs::read(study.out().join("crawl.toml")).expect("it can be read"), before);

    let robots = Answer::content("text/plain", "User-agent: *\nDisallow:\n").header("Retry-After", "3600");
    let study = Study::new(&[("/", Answer::html("<title>front</title>")), ("/robots.txt", robots)]);
    let ran = study.run(&["/"], OPEN);
    assert!(ran.expect(4).stdout.contains("(retry-after)"), "{ran}");
    let asked = study.server.count();
    let again = study.run(&["/"], OPEN);
    assert!(again.stderr.contains("this is a new run"), "{again}");
    assert_eq!(study.server.count(), asked, "an hour hasn't passed: {again}");
    study.look("audit", &[]).expect(0);
}

#[test]
fn a_resume_with_the_option_that_kept_a_seed_out_tries_it_again() {
    for (path, first, changed) in [
        ("/", &[][..], OPEN),
        ("/", &["--allow-net", "127.0.0.0/8", "--exclude", "test"], &["--exclude", "nothing"]),
        ("/", &["--allow-net", "127.0.0.0/8", "--include", "nothing"], &["--include", "test"]),
        ("/paper", &["--allow-net", "127.0.0.0/8", "--types", "text/html"], &["--types", "application/pdf"]),
    ] {
        let study = site();
        study.run(&[path], first).expect(4);
        let same = study.look("resume", &[]);
        assert_eq!((same.expect(4).code, study.pages()), (Some(4), Vec::new()), "{first:?}");
        let resumed = study.look("resume", changed);
        assert_eq!(resumed.expect(0).code, Some(0), "{resumed}");
        assert_eq!(study.pages(), [path], "{first:?} {changed:?}: {resumed}");
        let totals = &study.summary()["totals"];
        assert_eq!([&totals["failed"], &totals["skipped"]], [0, 0], "{first:?}: {resumed}");
        study.look("audit", &[]).expect(0);
    }
}

#[test]
fn no_delay_for_a_host_of_somebody_else_is_warned_of() {
    let names = NameServer::start(|_, _| vec![HERE]);
    let directory = tempfile::tempdir().expect("a directory for the test");
    std::fs::write(directory.path().join("study.toml"), names.config()).expect("it can be written");
    for (url, delay, is_warned) in [
        ("http://www.example.org:9/", "0s", true),
        ("http://www.example.org:9/", "1s", false),
        ("http://www.example.test:9/", "0s", false),
    ] {
        // Its name leads to this machine, which no name may: nothing is requested.
        let ran = Crawl::new(["plan", url, "--agent", "SuperRobot/1.0", "--delay", delay, "--retries", "0"])
            .args([Path::new("--config"), &directory.path().join("study.toml")])
            .run();
        assert_eq!(
            ran.stderr.contains("--delay 0s: www.example.org is no host of this machine"),
            is_warned,
            "{ran}"
        );
    }
}

#[test]
fn the_status_of_a_killed_run_says_when_it_began() {
    let scene = Scene::new(Sites::new().tree("a.test", 500, Duration::from_millis(5)));
    let running = scene.crawl().start();
    wait_for(&scene, 20);
    running.kill();
    let status = scene.look("status", &["--json"]).expect(0).json()[0].clone();
    let pages = scene.table("pages");
    let first = pages.iter().filter_map(|page| page["fetched_at"].as_str()).min().expect("a page");
    assert_eq!((&status["state"], &status["ended"]), (&"killed".into(), &Value::Null), "{status}");
    assert!(status["begun"].as_str().is_some_and(|begun| begun <= first), "{first}: {status}");
    let text = scene.look("status", &[]);
    assert!(text.expect(0).stdout.starts_with("killed, begun 2") && !text.stdout.contains("ended"), "{text}");
    scene.resume().args(["--max-pages", "1"]).run().expect(10);
    let status = scene.look("status", &["--json"]).expect(0).json()[0].clone();
    assert!(status["begun"].is_null() && status["ended"].is_string(), "{status}");
}
