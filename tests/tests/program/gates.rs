//! What holds hosts back together: one address, quotas.

use std::time::Duration;

use whole_program::oracle::{Promise, judge};
use whole_program::request_log::Request;
use whole_program::site::{Answer, Sites};

use crate::scene::{DELAY, Scene};

fn sites(hosts: usize) -> Scene {
    let tree = |sites: Sites, n| sites.tree(&format!("h{n}.test"), 8, Duration::from_millis(30));
    Scene::new((0..hosts).fold(Sites::new(), tree))
}

/// The log as if all names were one host.
fn as_one(scene: &Scene) -> Vec<Request> {
    scene.server.log().into_iter().map(|request| Request { host: "all".into(), ..request }).collect()
}

const PROMISE: Promise = Promise::delay(DELAY);

#[test]
fn hosts_on_one_address_share_a_slot_and_a_gap_where_asked_for() {
    let scene = sites(4);
    scene.crawl().args(["--per-ip"]).run().expect(0);
    assert_eq!(scene.server.pages().len(), 32);
    let found = judge(&as_one(&scene), PROMISE);
    assert!(found.is_empty(), "{} violations, first {}", found.len(), found[0]);

    let independent = sites(4);
    independent.crawl().run().expect(0);
    independent.assert_polite();
    assert!(!judge(&as_one(&independent), PROMISE).is_empty(), "without the option they are independent");
}

#[test]
fn a_hundred_and_fifty_names_on_one_address_are_hosts_of_their_own_unless_asked_for() {
    const NAMES: usize = 150;
    let sites = || {
        let front = |sites: Sites, n| sites.tree(&format!("h{n}.test"), 2, Duration::ZERO);
        Scene::new((0..NAMES).fold(Sites::new(), front))
    };
    let scene = sites();
    let run = scene.crawl_every("1s").run();
    run.expect(0);
    assert_eq!(scene.server.pages().len(), 2 * NAMES);
    let promise = Promise::delay(Duration::from_secs(1));
    let found = judge(&scene.server.log(), promise);
    assert!(found.is_empty(), "{} violations, first {}", found.len(), found[0]);
    // Three requests and two gaps for each; one after the other they would take seven minutes.
    let last = scene.server.log().iter().map(|request| request.end).max().unwrap();
    assert!(last < Duration::from_secs(100), "{last:?}");

    let scene = sites();
    scene.crawl().args(["--per-ip"]).run().expect(0);
    assert_eq!(scene.server.pages().len(), 2 * NAMES);
    let found = judge(&as_one(&scene), PROMISE);
    assert!(found.is_empty(), "{} violations, first {}", found.len(), found[0]);
    let names: std::collections::BTreeSet<String> =
        scene.server.log()[..NAMES].iter().map(|request| request.host.clone()).collect();
    assert!(names.len() > NAMES / 2, "they take turns: {} of {NAMES} names first", names.len());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the program is killed after some requests")]
fn quotas_and_addresses_hold_over_a_kill() {
    let scene = sites(4);
    let running =
        scene.crawl_every("300ms").args(["--per-ip", "--max-rate", "2.5", "--timeout", "2s"]).start();
    let killed = |running: whole_program::program::Running| {
        let count = scene.server.count();
        while scene.server.count() < count + 4 {
            std::thread::sleep(Duration::from_millis(1));
        }
        running.kill();
    };
    killed(running);
    for _ in 0..3 {
        killed(scene.resume().args(scene.server.resolve()).start());
    }
    let promise = Promise::delay(Duration::from_millis(300));
    let found = judge(&as_one(&scene), promise);
    assert!(found.is_empty(), "{} violations, first {}", found.len(), found[0]);
    let mut starts: Vec<Duration> = scene.server.log().iter().map(|request| request.start).collect();
    starts.sort();
    // The server's clock and ours differ by the time that a request is on its way.
    let close = starts.windows(2).find(|pair| pair[1].saturating_sub(pair[0]) < Duration::from_millis(380));
    assert_eq!(close, None, "{starts:?}");
}

/// What the ledger says was asked where, by host.
fn addresses(scene: &Scene) -> Vec<(String, String)> {
    let rows = scene.table("ledger");
    let asked = rows.iter().filter(|row| row["evidence"]["request"].is_object());
    let mut all: Vec<_> = asked
        .map(|row| {
            let address = row["evidence"]["request"]["address"].as_str().unwrap_or("none");
            (row["host"].as_str().unwrap_or_default().to_owned(), address.to_owned())
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

fn pair(host: &str, address: &str) -> (String, String) {
    (host.to_owned(), address.to_owned())
}

#[test]
fn a_host_is_booked_on_the_address_that_it_is_connected_to() {
    let tree = |sites: Sites, host: &str| sites.tree(host, 8, Duration::from_millis(60));
    let scene = Scene::new(["a.test", "b.test", "c.test"].into_iter().fold(Sites::new(), tree));
    let at = scene.server.address();
    let port = at.port();
    // Nobody is at the first address of one, another has the IPv6 form of the address of all.
    let rules = [
        format!("a.test:127.0.0.77:{port}"),
        format!("a.test:{at}"),
        format!("b.test:[::ffff:127.0.0.1]:{port}"),
        format!("c.test:{at}"),
    ];
    let options = rules.iter().flat_map(|rule| ["--resolve", rule]);
    let crawl = whole_program::program::Crawl::new([
        "--agent",
        "SuperRobot/1.0",
        "--delay",
        "20ms",
        "--adaptive",
        "0",
    ])
    .args([std::path::Path::new("--seed"), &scene.seeds(), std::path::Path::new("--out"), &scene.out()]);
    crawl.args(options).args(["--per-ip"]).run().expect(0);
    assert_eq!(scene.server.pages().len(), 24);
    let found = judge(&as_one(&scene), PROMISE);
    assert!(found.is_empty(), "{} violations, first {}", found.len(), found[0]);
    let expected = [
        pair("a.test", "127.0.0.1"),
        pair("a.test", "127.0.0.77"),
        pair("b.test", "::ffff:127.0.0.1"),
        pair("c.test", "127.0.0.1"),
    ];
    assert_eq!(addresses(&scene), expected);
    let report = scene.look("audit", &["--json"]).expect(0).json().remove(0);
    let checks = report["checks"].as_array().expect("a list");
    let shared = checks.iter().find(|check| check["name"] == "shared_address").expect("it is a check");
    // Each request but the first to each address.
    assert_eq!(shared["judged"].as_u64(), Some(26), "{shared}");
    assert!(shared["margin_s"].as_f64().is_some_and(|margin| margin >= 0.0), "{shared}");
    // Pages that were asked for are no failures, whichever address took no connection.
    assert_eq!(scene.table("errors"), Vec::<serde_json::Value>::new());
}

#[test]
fn a_plan_by_address_takes_turns_too() {
    let scene = sites(4);
    let crawl = whole_program::program::Crawl::new([
        "plan",
        "--agent",
        "SuperRobot/1.0",
        "--delay",
        "20ms",
        "--per-ip",
    ])
    .args([std::path::Path::new("--seed"), &scene.seeds()])
    .args(scene.server.resolve());
    crawl.run().expect(0);
    assert_eq!(scene.server.count(), 4, "robots.txt of each");
    let found = judge(&as_one(&scene), PROMISE);
    assert!(found.is_empty(), "{} violations, first {}", found.len(), found[0]);
}

#[test]
fn a_crawl_by_address_resumes_after_a_stop() {
    let scene = sites(3);
    scene.crawl().args(["--per-ip", "--max-pages", "7"]).run().expect(10);
    scene.resume().args(["--per-ip", "--max-pages", "none"]).run().expect(0);
    assert_eq!(scene.server.pages().len(), 24);
    let found = judge(&as_one(&scene), PROMISE);
    assert!(found.is_empty(), "{} violations, first {}", found.len(), found[0]);
}

#[test]
fn a_quota_of_requests_applies_to_all_hosts_and_is_reported() {
    let scene = sites(4);
    scene.crawl().args(["--max-rate", "20"]).run().expect(0);
    let mut starts: Vec<Duration> = scene.server.log().iter().map(|request| request.start).collect();
    starts.sort();
    // The server's clock and ours differ by the time that a request is on its way.
    let window = Duration::from_millis(50 * 10 - 20);
    let fast = starts.windows(11).filter(|starts| starts[10].saturating_sub(starts[0]) < window).count();
    assert_eq!(fast, 0, "{starts:?}");
    let ledger = scene.table("ledger");
    let reported = ledger.iter().filter(|entry| entry["reason"] == "max-rate").count();
    assert_eq!(reported, 1);
}

#[test]
fn an_origin_that_never_answers_holds_up_no_other_of_its_host() {
    // The server speaks no TLS: https of the host is unreachable. Each page is found on the one before, so that its link to https is
    // before the next page in the queue.
    let mut sites = Sites::new();
    for page in 0..20 {
        let body = format!("<a href=\"https://a.test/x{page}\">x</a> <a href=\"/{}\">next</a>", page + 1);
        sites = sites.page(
            "a.test",
            &if page == 0 { "/".to_owned() } else { format!("/{page}") },
            Answer::html(body),
        );
    }
    sites = sites.page("a.test", "/20", Answer::html("the end"));
    let robots = "User-agent: *\nDisallow:\nSitemap: https://a.test/map.xml\n";
    let scene = Scene::new(sites.page("a.test", "/robots.txt", Answer::content("text/plain", robots)));
    scene.crawl().args(["--sitemaps"]).run().expect(13);
    assert_eq!(scene.table("pages").len(), 21, "{:?}", scene.table("queue"));
    let queue = scene.table("queue");
    assert_eq!(queue.len(), 20, "the unreachable waits: {queue:?}");
    let aside: Vec<_> =
        scene.table("ledger").into_iter().filter(|row| row["decision"] == "put_back").collect();
    assert_eq!(aside.len(), 1, "reported once: {aside:?}");
    scene.assert_polite();
}

#[test]
fn a_url_with_another_port_than_its_resolve_rule_connects_nowhere_and_says_so() {
    let links = "<title>front</title><a href=http://a.test:81/x>x</a><a href=https://a.test:80/y>y</a><a href=http://a.test:80/z>z</a>";
    let sites = Sites::new().page("a.test", "/", Answer::html(links)).page("a.test", "/z", Answer::html("z"));
    let scene = Scene::new(sites);
    scene.crawl().args(["--allow-net", "127.0.0.0/8"]).run();
    let asked: Vec<String> = scene.server.log().iter().map(Request::url).collect();
    assert_eq!(asked, ["http://a.test/robots.txt", "http://a.test/", "http://a.test/z"]);
    let errors = scene.table("errors");
    let rule = scene.server.resolve().remove(1);
    let rule = rule.rsplit(':').next().expect("a port");
    for (url, port) in [("http://a.test:81/x", 81), ("https://a.test:80/y", 80)] {
        let row = errors.iter().find(|row| row["url"] == url).unwrap_or_else(|| panic!("{url}: {errors:?}"));
        assert_eq!(row["kind"], "blocked_address", "{row}");
        let words = format!("for port {rule} only, and the URL has port {port}: not connected");
        assert!(row["detail"].as_str().expect("words").contains(&words), "{row}");
    }
}
