//! Hosts that are asked as one: `--groups domain`, lists by hand.

use std::time::Duration;

use whole_program::oracle::{Promise, judge};
use whole_program::program::{Crawl, Running};
use whole_program::request_log::Request;
use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::{DELAY, Scene};

const HOSTS: [&str; 5] = ["a.uni.test", "b.uni.test", "www.uni.test", "a.else.test", "b.else.test"];

fn sites() -> Sites {
    HOSTS.into_iter().fold(Sites::new(), |sites, host| sites.tree(host, 6, Duration::from_millis(20)))
}

/// The log as if all hosts with this ending were one.
fn as_one(scene: &Scene, endings: &[&str]) -> Vec<Request> {
    let is_one = |request: &Request| endings.iter().any(|ending| request.host.ends_with(ending));
    let log = scene.server.log().into_iter().filter(is_one);
    log.map(|request| Request { host: "all".into(), ..request }).collect()
}

fn assert_one(scene: &Scene, endings: &[&str], delay: Duration) {
    let found = judge(&as_one(scene, endings), Promise::delay(delay));
    assert!(found.is_empty(), "{endings:?}: {} violations, first {}", found.len(), found[0]);
}

/// How many requests a check of the audit judged, none of which is a violation.
fn judged(scene: &Scene, check: &str) -> u64 {
    let report = scene.look("audit", &["--json"]).expect(0).json().remove(0);
    let checks = report["checks"].as_array().expect("a list");
    let check = checks.iter().find(|found| found["name"] == check).expect("it is a check");
    assert_eq!(check["violations"].as_u64(), Some(0), "{check}");
    check["judged"].as_u64().expect("a number")
}

#[test]
fn hosts_of_one_domain_share_a_slot_and_a_delay_where_asked_for() {
    let scene = Scene::new(sites());
    scene.crawl().args(["--groups", "domain"]).run().expect(0);
    assert_eq!(scene.server.pages().len(), 30);
    assert_one(&scene, &["uni.test"], DELAY);
    assert_one(&scene, &["else.test"], DELAY);
    assert!(!judge(&as_one(&scene, &["test"]), Promise::delay(DELAY)).is_empty(), "two groups at a time");
    // Each request but the first of each group.
    assert_eq!(judged(&scene, "shared_group"), 33);
    for row in scene.table("hosts") {
        let host = row["host"].as_str().expect("a name");
        assert_eq!(row["group"].as_str(), host.split_once('.').map(|(_, domain)| domain));
    }
    let summary = scene.look("show", &["--json"]).expect(0).json().remove(0);
    let groups = summary["groups"].as_array().expect("a list");
    let groups: Vec<_> = groups.iter().map(|group| (&group["group"], &group["hosts_known"])).collect();
    assert_eq!(groups, [(&"uni.test".into(), &3.into()), (&"else.test".into(), &2.into())]);
    let text = scene.look("show", &[]).expect(0).stdout.clone();
    assert!(text.contains("Groups of hosts that share one delay: 2"), "{text}");
    assert!(text.contains("uni.test: 3 hosts, 21 requests: a.uni.test, b.uni.test, www.uni.test"), "{text}");
    let report = scene.path("report.html");
    scene.look("report", &["-o", report.to_str().expect("a path")]).expect(0);
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(report.contains("uni.test: 3 hosts, 21 requests"), "it names groups");

    let independent = Scene::new(sites());
    independent.crawl().run().expect(0);
    independent.assert_polite();
    let found = judge(&as_one(&independent, &["uni.test"]), Promise::delay(DELAY));
    assert!(!found.is_empty(), "without the option they are independent");
    assert_eq!(judged(&independent, "shared_group"), 0);
}

#[test]
fn hosts_of_a_list_share_a_slot_and_a_delay_whatever_the_others_do() {
    for (groups, others) in [("host", false), ("domain", true)] {
        let scene = Scene::new(sites());
        let config = scene.path("list.toml");
        let text = "[pace]\ngroup = [{ name = \"library\", hosts = [\"a.uni.test\", \"*.else.test\"] }]\n";
        std::fs::write(&config, text).expect("the file can be written");
        let config = config.to_str().expect("a path");
        scene.crawl().args(["--config", config, "--groups", groups]).run().expect(0);
        assert_eq!(scene.server.pages().len(), 30);
        assert_one(&scene, &["a.uni.test", "else.test"], DELAY);
        let rest = judge(&as_one(&scene, &["b.uni.test", "www.uni.test"]), Promise::delay(DELAY));
        assert_eq!(rest.is_empty(), others, "{groups}: {rest:?}");
        // 21 requests to the list; with the domain, 14 to the other two.
        assert_eq!(judged(&scene, "shared_group"), if others { 20 + 13 } else { 20 });
    }
}

#[test]
fn a_delay_and_a_pause_of_one_host_hold_for_its_group() {
    let slow = Rules { crawl_delay: Some(Duration::from_millis(300)), ..Rules::default() };
    let slow = sites().page("a.uni.test", "/robots.txt", Answer::robots(slow));
    let busy = Answer::status(503).header("Retry-After", "2");
    let scene = Scene::new(slow.page("b.else.test", "/robots.txt", busy).page(
        "b.else.test",
        "/robots.txt",
        Answer::robots(Rules::default()),
    ));
    scene.crawl().args(["--groups", "domain"]).run();
    // As long as the slow host has something queued, nobody of its group is asked sooner than it may be.
    let log = as_one(&scene, &["uni.test"]);
    let of_slow: Vec<Request> =
        scene.server.log().into_iter().filter(|request| request.host == "a.uni.test").collect();
    let (from, to) = (of_slow[0].end, of_slow.last().expect("it was asked").start);
    let while_slow = |request: &&Request| request.start >= from && request.start <= to;
    let all: Vec<&Request> = log.iter().filter(while_slow).collect();
    assert!(all.len() > 10, "{all:?}");
    for pair in all.windows(2) {
        let gap = pair[1].start.saturating_sub(pair[0].end);
        assert!(gap >= Duration::from_millis(300), "{gap:?} before {}", pair[1]);
    }
    // The oracle lets nobody of the group be asked during the pause.
    assert_one(&scene, &["else.test"], DELAY);
    assert_eq!(judged(&scene, "shared_group") as usize + 2, scene.server.count());
}

#[test]
fn a_long_pause_of_a_group_doesnt_keep_the_crawl_running() {
    let busy = Answer::status(503).header("Retry-After", "600");
    let scene = Scene::new(sites().page("b.uni.test", "/robots.txt", busy));
    // It ends when the other group is through, and not after ten minutes.
    scene.crawl().args(["--groups", "domain"]).run().expect(13);
    let hosts = scene.table("hosts");
    for host in hosts.iter().filter(|host| host["queued"] != 0) {
        assert_eq!((&host["group"], &host["wait_reason"]), (&"uni.test".into(), &"retry-after".into()));
    }
    assert_eq!(scene.server.pages().iter().filter(|url| url.contains("else.test")).count(), 12);
    let log = as_one(&scene, &["uni.test"]);
    let paused = log.iter().position(|request| request.status == Some(503)).expect("it was asked");
    assert_eq!(paused + 1, log.len(), "nobody of its group is asked during the pause");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the program is killed after some requests")]
fn groups_hold_over_kills() {
    let scene = Scene::new(sites());
    let killed = |running: Running| {
        let count = scene.server.count();
        while scene.server.count() < count + 4 {
            std::thread::sleep(Duration::from_millis(1));
        }
        running.kill();
    };
    killed(scene.crawl_every("300ms").args(["--groups", "domain", "--timeout", "2s"]).start());
    for _ in 0..2 {
        killed(scene.resume().args(scene.server.resolve()).start());
    }
    scene.resume().args(scene.server.resolve()).args(["--max-pages", "20"]).run();
    let delay = Duration::from_millis(300);
    assert_one(&scene, &["uni.test"], delay);
    assert_one(&scene, &["else.test"], delay);
    assert!(judged(&scene, "shared_group") > 20);
}

#[test]
fn a_url_that_waits_says_for_which_group_and_addresses_are_groups_too() {
    let scene = Scene::new(sites());
    for (groups, name) in [("domain", "uni.test"), ("address", "127.0.0.1")] {
        let command = if groups == "domain" { scene.crawl() } else { scene.resume() };
        let pages = if groups == "domain" { "3" } else { "8" };
        command.args(["--groups", groups, "--max-pages", pages]).run().expect(10);
        let queue = scene.table("queue");
        let waits = queue.iter().find(|row| row["host"] == "a.uni.test").expect("a URL");
        let url = waits["url"].as_str().expect("a URL");
        let text = scene.look("explain", &[url]).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("which shares its delay with the group {name}")), "{text}");
    }
}

#[test]
fn a_plan_takes_the_shared_delay_into_account() {
    let scene = Scene::new(sites());
    let plan = |groups: &str| {
        let crawl = Crawl::new(["plan", "--agent", "SuperRobot/1.0", "--delay", "100ms", "--groups", groups])
            .args([std::path::Path::new("--seed"), &scene.seeds()])
            .args(scene.server.resolve())
            .args(["--json"]);
        crawl.run().expect(0).json().remove(0)
    };
    let domain = plan("domain");
    let of_group = |name: &str| {
        let hosts = domain["hosts"].as_array().expect("a list");
        let hosts =
            hosts.iter().filter(|host| host["host"].as_str().is_some_and(|host| host.ends_with(name)));
        hosts.map(|host| host["requests"].as_u64().expect("a number")).sum::<u64>()
    };
    let groups = domain["groups"].as_array().expect("a list");
    assert_eq!(groups.len(), 2, "{domain}");
    for group in groups {
        let requests = of_group(group["group"].as_str().expect("a name"));
        assert_eq!(group["requests"].as_u64(), Some(requests));
        let seconds = group["least_duration"].as_f64().expect("a number");
        assert!((seconds - (requests - 1) as f64 / 10.0).abs() < 1e-9, "{group}");
    }
    assert_eq!(domain["least_duration"], groups[1]["least_duration"], "the one with three hosts");
    let host = plan("host");
    assert_eq!(host["groups"], serde_json::json!([]));
    assert!(host["least_duration"].as_f64() < domain["least_duration"].as_f64());
}

#[test]
fn a_domain_with_more_than_50_hosts_has_a_note_unless_they_are_one() {
    let note =
        "51 hosts of big.test were requested, each at its own delay; --groups domain has them share one";
    for groups in ["host", "domain"] {
        let tree = |sites: Sites, n| sites.tree(&format!("h{n}.big.test"), 1, Duration::ZERO);
        let scene = Scene::new((0..51).fold(Sites::new(), tree));
        let ended = scene.crawl().args(["--groups", groups]).run();
        for output in [ended.expect(0), scene.look("show", &[]).expect(0)] {
            assert_eq!(output.stdout.contains(note), groups == "host", "{groups}: {output}");
        }
    }
}
