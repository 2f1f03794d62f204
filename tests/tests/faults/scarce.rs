//! Few descriptors, little memory, and a directory that somebody else works on.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use whole_program::program::{Crawl, PATIENCE};
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;
use crate::support::{fault_row, skipped, wait_for};

#[test]
fn sixty_four_descriptors_are_enough_for_a_hundred_and_fifty_hosts() {
    let hosts = (0..150).map(|n| format!("h{n}.test"));
    let sites = hosts.fold(Sites::new(), |sites, host| sites.tree(&host, 3, Duration::from_millis(20)));
    let scene = Scene::new(sites);
    let output = scene.crawl().under("ulimit -n 64").run();
    fault_row("64 descriptors, 150 hosts", &output, 0);
    assert_eq!(scene.table("pages").len(), 450);
    assert_eq!(scene.server.pages().len(), 450, "nothing is asked for twice");
    scene.assert_polite();
}

/// A line of shell that goes on in a network of its own, which nothing can leave, without IPv6.
const WITHOUT_IPV6: &str = "exec unshare -rn sh -c 'ip link set lo up; echo 1 > \
    /proc/sys/net/ipv6/conf/all/disable_ipv6; exec \"$0\" \"$@\"' \"$0\" \"$@\"";

#[test]
fn a_host_of_ipv6_alone_on_a_machine_without_ipv6_keeps_no_crawl_for_ever() {
    let inside = std::process::Command::new("sh").args(["-c", WITHOUT_IPV6, "true"]).output();
    if !inside.is_ok_and(|output| output.status.success()) {
        return skipped("no network namespace can be made here");
    }
    let scene = Scene::new(Sites::new().page("six.test", "/", Answer::html("never seen")));
    let crawl = Crawl::new(["--agent", "SuperRobot/1.0", "--resolve", "six.test:[2001:db8::6]:80"])
        .args([Path::new("--seed"), &scene.seeds(), Path::new("--out"), &scene.out()])
        .under(WITHOUT_IPV6);
    let output = crawl.start().wait(PATIENCE);
    eprintln!("| a host of IPv6 alone, a machine without IPv6 | {:?} | |", output.code);
    output.expect(4);
    let ledger = scene.table("ledger");
    let asked: Vec<_> = ledger.iter().filter(|row| !row["evidence"]["request"].is_null()).collect();
    assert_eq!(asked.len(), 3, "robots.txt, as often as a page, and then it is waited for: {ledger:#?}");
    let errors = scene.table("errors");
    assert_eq!(errors.len(), 1);
    assert_eq!((&errors[0]["kind"], &errors[0]["url"]), (&"connection".into(), &"http://six.test/".into()));
}

#[test]
fn pages_of_two_thousand_new_links_fit_into_256_mb() {
    // What a page links to isn't there: 600 pages of links, then 404s. The limit is on all writable memory of the process.
    let mut sites = Sites::new();
    for host in ["a.test", "b.test", "c.test"] {
        for page in 0..200 {
            let mut body = format!("<a href=\"/{}\">page {page}, next</a>\n", page + 1);
            for link in 0..2_000 {
                // In letters: pages that differ in digits alone would be held back by the trap guard some day.
                let word: String =
                    (page * 2_000 + link).to_string().bytes().map(|digit| char::from(digit + 49)).collect();
                let _ = writeln!(body, "<a href=\"/far/{word}/some/longer/path.html\">link {link}</a>");
            }
            let path = if page == 0 { "/".to_owned() } else { format!("/{page}") };
            sites = sites.page(host, &path, Answer::html(body));
        }
    }
    let scene = Scene::new(sites);
    // The chain of pages would wait behind the links: it is given as seeds.
    let seeds: String = ["a.test", "b.test", "c.test"]
        .iter()
        .flat_map(|host| (0..200).map(move |page| format!("http://{host}/{page}\n").replace("/0\n", "/\n")))
        .collect();
    std::fs::write(scene.seeds(), seeds).unwrap();
    let running = scene.crawl().args(["--max-pages", "600"]).under("ulimit -d 262144").start();
    // More than a million links: a program without optimisation takes minutes on a busy machine.
    let output = running.wait(3 * PATIENCE);
    fault_row("256 MB, 2,000 new links a page", &output, 10);
    let summary = scene.look("show", &["--json"]).expect(0).json();
    // A host that is through with its pages before the others continues with the links.
    let missing = scene.table("errors").len() as u64;
    assert_eq!(
        summary[0]["queued"].as_u64().unwrap() + missing,
        3 * 200 * 2_000 + 3,
        "every link is queued, and the page behind each last one; skipped: {:?}",
        scene.table("skipped")
    );
    assert_eq!(scene.table("pages").len() as u64, 600 + missing);
}

#[test]
fn skipped_links_of_forty_hosts_fit_into_256_mb() {
    // Each link that isn't followed is a decision with its evidence until it is on disk.
    let links = |page: usize| -> String {
        let mut body = String::new();
        for link in 0..2_000 {
            let _ = writeln!(body, "<a rel=nofollow href=\"/far/{page}/{link}/some/longer/path.html\">x</a>");
        }
        body
    };
    let bodies: Vec<String> = (0..12).map(links).collect();
    let mut sites = Sites::new();
    let mut seeds = String::new();
    for host in 0..40 {
        for (page, body) in bodies.iter().enumerate() {
            sites = sites.page(&format!("h{host}.test"), &format!("/{page}"), Answer::html(body.as_str()));
            let _ = writeln!(seeds, "http://h{host}.test/{page}");
        }
    }
    let scene = Scene::new(sites);
    std::fs::write(scene.seeds(), seeds).unwrap();
    let running = scene.crawl().under("ulimit -d 262144").start();
    wait_for(&scene, 200);
    running.kill();
    let output = scene.resume().under("ulimit -d 262144").run();
    fault_row("256 MB, 40 hosts, 2,000 skipped links a page, after a kill", &output, 0);
    assert_eq!(scene.table("pages").len(), 480);
}

#[test]
fn a_second_process_on_a_directory_gets_an_error() {
    let scene = Scene::new(Sites::new().tree("a.test", 200, Duration::from_millis(10)));
    let running = scene.crawl().start();
    wait_for(&scene, 5);
    let output = scene.resume().run();
    assert!(fault_row("resume beside a running crawl", &output, 5).contains("in use"), "{output}");
    let output = scene.look("index", &[]);
    assert!(fault_row("index beside a running crawl", &output, 5).contains("in use"), "{output}");
    // What only reads goes through the running crawl.
    scene.look("show", &[]).expect(0);
    running.signal("TERM");
    running.wait(PATIENCE).expect(11);
    scene.resume().run().expect(0);
    assert_eq!(scene.table("pages").len(), 200);
}
