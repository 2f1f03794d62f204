//! What a worker serves of itself.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use tempfile::TempDir;

use crate::judge::Judge;
use crate::program::{Worker, at_work, init_with, run, text};
use crate::server::{Server, until};

/// Where a worker says that it serves.
pub(crate) fn address(dir: &Path, name: &str) -> SocketAddr {
    let mut found = None;
    until(|| {
        let log = std::fs::read_to_string(dir.join(format!("{name}.log"))).unwrap_or_default();
        let line =
            log.lines().find_map(|line| line.split_once("serving http://")?.1.strip_suffix("/metrics"));
        found = line.and_then(|address| address.parse().ok());
        found.is_some()
    });
    found.unwrap()
}

/// The status and the body of an answer.
pub(crate) fn get(address: SocketAddr, path: &str, fields: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nConnection: close\r\n{fields}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("{answer}")), answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

pub(crate) fn value(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name}: {metrics}"))
}

#[test]
fn a_worker_serves_its_figures_and_says_when_it_may_ask_nobody() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    let first = Worker::start(&url, dir.path(), "first");
    until(|| at_work(&url) == 1 && judge.count() > 5);
    drop(first);
    let before = judge.seen().times.len();

    let token = dir.path().join("token");
    std::fs::write(&token, "0123456789abcdef\n").unwrap();
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let options = ["--serve=127.0.0.1:0", "--token-file", &token.display().to_string()];
    let _worker = Worker::start_with(&url, dir.path(), "one", &options);
    let address = address(dir.path(), "one");
    let local = "Host: 127.0.0.1\r\n";
    let known = "Host: 127.0.0.1\r\nAuthorization: Bearer 0123456789abcdef\r\n";
    until(|| get(address, "/healthz", local).0 == 200);
    assert_eq!(get(address, "/metrics", local).0, 401);
    assert_eq!(
        get(address, "/metrics", "Host: evil.example\r\nAuthorization: Bearer 0123456789abcdef\r\n").0,
        421
    );
    assert_eq!(get(address, "/", known).0, 404);
    let metrics = || {
        let (status, metrics) = get(address, "/metrics", known);
        assert_eq!(status, 200, "{metrics}");
        metrics
    };
    until(|| value(&metrics(), "crawl_pages_total") >= 10.0);
    let shown = metrics();
    assert!((value(&shown, "crawl_worker_number") - 2.0).abs() < 0.1, "{shown}");
    assert!((value(&shown, "crawl_worker_partitions") - 16.0).abs() < 0.1, "{shown}");
    let lease = value(&shown, "crawl_worker_lease_seconds");
    assert!(lease > 0.0 && lease <= 2.7, "0.9 of 3 s: {lease}");
    let (commits, seconds) =
        (value(&shown, "crawl_worker_commits_total"), value(&shown, "crawl_worker_commit_seconds_total"));
    assert!(commits > 0.0 && seconds > 0.0, "{shown}");
    // What the first one counted isn't its own.
    let asked = judge.seen().times.len() - before;
    let requests = value(&shown, "crawl_requests_total");
    assert!(requests > 0.0 && requests <= asked as f64, "{requests} of {asked}");

    server.kill();
    until(|| get(address, "/healthz", local).0 == 503);
    assert!(value(&metrics(), "crawl_worker_lease_seconds") < 0.001);
    server.run();
    until(|| get(address, "/healthz", local).0 == 200);
}

#[test]
fn metrics_for_other_machines_need_a_token() {
    let Some(server) = Server::start(&[]) else { return };
    let dir = TempDir::new().unwrap();
    let out = dir.path().display().to_string();
    let refused = run(&["worker", "--cluster", &server.database(), "--out", &out, "--serve=0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused).contains("--token-file"), "{}", text(&refused));
}
