//! Few file descriptors: a process of its own, since the limit is the process's.

use std::process::Command;
use std::sync::Arc;

use crawler::fetch::{ErrorKind, FetchRequest, FetchSettings, HttpFetch, RequestKind};

use crate::server::{Server, answer, bounded, request, settings};

const SERVER: &str = "CRAWL_TEST_SERVER";

#[test]
fn a_hundred_hosts_are_fetched_with_forty_descriptors() {
    let test = "descriptors::a_hundred_hosts_are_fetched_with_forty_descriptors";
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    if let Ok(server) = std::env::var(SERVER) {
        runtime.block_on(fetch_a_hundred_hosts(&server));
        return;
    }
    let server = runtime.block_on(Server::saying(answer("", b"ok")));
    let this = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 40; exec \"$0\" --exact \"$1\"", this.to_str().unwrap(), test])
        .env(SERVER, server.addr.to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(server.connections() >= 200, "the child really asked: {}", server.connections());
}

async fn fetch_a_hundred_hosts(server: &str) {
    let url = |host: usize| request(&format!("http://host{host}.example/"), RequestKind::Page);
    let by_itself = FetchSettings { resolve: vec![format!("*:{server}").parse().unwrap()], ..settings() };
    assert_eq!((by_itself.max_in_flight, by_itself.max_connections), (20, 5), "a half and an eighth");

    // All at once.
    let http = Arc::new(HttpFetch::new(by_itself.clone()).unwrap());
    let mut all = tokio::task::JoinSet::new();
    for host in 0..100 {
        let http = Arc::clone(&http);
        all.spawn(async move { until_done(&http, || url(host)).await });
    }
    all.join_all().await;
    drop(http);

    // One that never minds the number of its connections runs out, closes them, and goes on.
    let http = HttpFetch::new(FetchSettings { max_connections: 10_000, ..by_itself }).unwrap();
    let mut failures = 0;
    for host in 0..100 {
        failures += until_done(&http, || url(host)).await;
    }
    assert!(failures > 0);
}

/// Asks again while this machine is at fault; returns how often it was.
async fn until_done(http: &HttpFetch, request: impl Fn() -> FetchRequest) -> usize {
    for failures in 0..100_000 {
        match bounded(http, request()).await {
            Ok(_) => return failures,
            Err(error) => assert_eq!((error.kind, error.connected), (ErrorKind::Local, false), "{error}"),
        }
        tokio::task::yield_now().await;
    }
    panic!("descriptors never come back");
}
