//! A connection that has no local address to begin from: in a network of the test's own, which nothing can leave.

use std::process::Command;

use crawler::fetch::{ErrorKind, FetchSettings, HttpFetch, RequestKind};
use tokio::net::{TcpListener, TcpSocket};

use crate::server::{Server, answer, bounded, request, settings};

const INSIDE: &str = "CRAWL_TEST_INSIDE";

/// Runs a test of this file again, in a network namespace that a script sets up. False if there can be none here.
fn in_a_network(script: &str, test: &str) -> bool {
    let this = std::env::current_exe().unwrap();
    let enter = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-rn", "sh", "-c", &format!("ip link set lo up && {script}"), this.to_str().unwrap()]);
        command.env(INSIDE, "yes").output()
    };
    if !enter(script).is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: no network namespace can be made here");
        return false;
    }
    let output = enter(&format!("{script} && exec \"$0\" --exact --nocapture no_source::{test}")).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
    true
}

fn inside(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
}

#[test]
fn a_host_of_ipv6_alone_cant_be_reached_from_a_machine_without_it() {
    let test = "a_host_of_ipv6_alone_cant_be_reached_from_a_machine_without_it";
    if std::env::var(INSIDE).is_err() {
        in_a_network("echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6", test);
        return;
    }
    inside(async {
        let server = Server::saying(answer("", b"ok")).await;
        let rules = [
            "six.example:[2001:db8::6]:80".to_owned(),
            "six.example:[2001:db8::7]:80".to_owned(),
            "both.example:[2001:db8::6]:80".to_owned(),
            format!("both.example:{}", server.addr),
        ];
        let resolve = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let mut settings = FetchSettings { resolve, ..settings() };
        settings.allow_net.push("::1/128".parse().unwrap());
        let http = HttpFetch::new(settings).unwrap();
        for url in ["http://six.example/", "https://six.example/", "http://[::1]:7/"] {
            let error = bounded(&http, request(url, RequestKind::Page)).await.unwrap_err();
            assert_eq!((error.kind, error.connected), (ErrorKind::Connection, false), "{url}: {error}");
            assert!(error.detail.contains("annot assign requested address"), "{error}");
        }
        bounded(&http, request("http://both.example/", RequestKind::Page))
            .await
            .expect("it has another address");
    });
}

#[test]
fn ports_that_are_used_up_are_this_machines_fault() {
    let test = "ports_that_are_used_up_are_this_machines_fault";
    if std::env::var(INSIDE).is_err() {
        let no_six = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6";
        let two = "echo 40000 40001 > /proc/sys/net/ipv4/ip_local_port_range";
        in_a_network(&format!("{no_six} && {two}"), test);
        return;
    }
    inside(async {
        let listener = TcpListener::bind("127.0.0.1:50000").await.unwrap();
        let server = listener.local_addr().unwrap();
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(TcpSocket::new_v4().unwrap().connect(server).await.unwrap());
        }
        let rules = [
            format!("a.example:{server}"),
            "both.example:[2001:db8::6]:80".to_owned(),
            format!("both.example:{server}"),
        ];
        let resolve = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let http = HttpFetch::new(FetchSettings { resolve, ..settings() }).unwrap();
        for url in
            [format!("http://{server}/"), "http://a.example/".to_owned(), "http://both.example/".to_owned()]
        {
            let error = bounded(&http, request(&url, RequestKind::Page)).await.unwrap_err();
            assert_eq!((error.kind, error.connected), (ErrorKind::Local, false), "{url}: {error}");
        }
    });
}
