//! kill -9 at random points, any number of times.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use whole_program::output_dir::archived_responses;
use whole_program::program::{Crawl, PATIENCE, Running};
use whole_program::random::Random;
use whole_program::site::Sites;

use crate::scene::{Scene, sorted};
use crate::support::{pages, pause, refetched, tree, wait_for};

const HOSTS: [&str; 3] = ["a.test", "b.test", "c.test"];

#[test]
fn killed_at_random_moments_it_resumes_without_loss() {
    let number = |name: &str, or: u64| std::env::var(name).map_or(or, |text| text.parse().expect("a number"));
    let kills = number("WHOLE_PROGRAM_KILLS", 10) as usize;
    let seed = number("WHOLE_PROGRAM_SEED", 1);
    let mut random = Random::new(seed);
    // Large enough that the last kill still finds work.
    let size = 60 + 8 * kills;
    let scene = Scene::new(
        HOSTS.iter().fold(Sites::new(), |sites, host| sites.tree(host, size, Duration::from_millis(10))),
    );
    let all: Vec<String> = sorted(HOSTS.iter().flat_map(|host| tree(host, size)).collect());
    // Shorter than usual: the hosts of requests in flight wait for it after each kill.
    let mut running: Running = scene.crawl().args(["--timeout", "1s"]).start();
    let (mut in_flight, mut hit) = (0, 0);
    for kill in 0..kills {
        // In the first moments nothing is there to be resumed; after that any moment will do.
        if kill == 0 {
            wait_for(&scene, 3);
        }
        pause(Duration::from_millis(random.between(0, 1_600)));
        let output = running.kill();
        in_flight += HOSTS.len();
        assert!(matches!(output.code, None | Some(0)), "kill {kill} of seed {seed}: {output}");
        hit += usize::from(output.code.is_none());
        running = scene.resume().start();
    }
    running.wait(PATIENCE).expect(0);
    scene.resume().run().expect(0);
    let requests = scene.server.count();
    scene.resume().run().expect(0);
    assert_eq!(scene.server.count(), requests, "what is complete stays complete");
    let found = pages(&scene.out());
    let again = refetched(&scene);
    let lost = all.iter().filter(|url| !found.contains(url)).count();
    let doubled = found.windows(2).filter(|pair| pair[0] == pair[1]).count();
    eprintln!(
        "| kill -9 x {kills} at random points ({hit} while it ran) | | {} pages: {lost} lost, {doubled} doubled, {again} fetched again, {in_flight} in flight |",
        all.len()
    );
    assert_eq!(found, all, "the pages of a crawl that was killed {kills} times (seed {seed})");
    assert_eq!(sorted(archived_responses(&scene.out().join("warc"))), all, "each is in the archive once");
    assert!(hit * 10 >= kills * 7, "only {hit} of {kills} kills found the program at work");
    // What a kill costs: one request a host, under way or answered and not on record yet. No host is asked again before it is.
    assert!(again <= in_flight, "{again} pages were fetched again, {in_flight} were in flight (seed {seed})");
    scene.assert_polite();
}

/// How many requests for each URL the ledger has: all, and those that were interrupted.
fn recorded(scene: &Scene) -> BTreeMap<String, (usize, usize)> {
    let mut recorded: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for entry in scene.table("ledger") {
        if entry["evidence"]["request"].is_null() {
            continue;
        }
        let mut url = entry["url"].as_str().expect("a URL").to_owned();
        // An answer for a robots.txt is entered under its origin.
        if entry["layer"] == "robots" && !url.ends_with("/robots.txt") {
            url += "/robots.txt";
        }
        let (all, interrupted) = recorded.entry(url).or_default();
        *all += 1;
        *interrupted += usize::from(entry["decision"] == "interrupted");
    }
    recorded
}

#[test]
fn requests_in_flight_at_a_kill_are_in_the_ledger_and_none_overlaps() {
    const SLOW: Duration = Duration::from_millis(700);
    const TIMEOUT: Duration = Duration::from_secs(2);
    let number = |name: &str, or: u64| std::env::var(name).map_or(or, |text| text.parse().expect("a number"));
    let kills = number("WHOLE_PROGRAM_KILLS", 10).min(20);
    let mut random = Random::new(number("WHOLE_PROGRAM_SEED", 1));
    let size = 4 + kills as usize;
    let scene = Scene::new(HOSTS.iter().fold(Sites::new(), |sites, host| sites.tree(host, size, SLOW)));
    let mut running = scene.crawl().args(["--timeout", "2s"]).start();
    wait_for(&scene, 1);
    for _ in 0..kills {
        // The first answers of a process take this long, its waits included.
        pause(Duration::from_millis(random.between(0, 4_000)));
        running.kill();
        running = scene.resume().start();
    }
    running.wait(PATIENCE).expect(0);

    // The server works on, whether somebody waits for it or not: its log says for how long.
    scene.assert_polite();
    let log = scene.server.log();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for request in &log {
        *seen.entry(request.url()).or_default() += 1;
    }
    let recorded = recorded(&scene);
    let mut interrupted = 0;
    for (url, (all, of_kills)) in &recorded {
        let seen = seen.get(url).copied().unwrap_or_default();
        // One that was about to be sent may not have come.
        assert!(
            seen <= *all && *all - of_kills <= seen,
            "{url}: {seen} seen, {all} recorded, {of_kills} interrupted"
        );
        interrupted += of_kills;
    }
    assert!(seen.keys().all(|url| recorded.contains_key(url)), "{seen:?} {recorded:?}");
    assert!(interrupted > 0, "no kill met a request in flight");
    // What was repeated waited until the one before it had timed out, and then for the delay.
    for entry in scene.table("ledger").iter().filter(|entry| entry["decision"] == "interrupted") {
        let started: f64 = entry["evidence"]["request"]["clock"].as_f64().expect("a time");
        assert!(started >= 0.0 && entry["evidence"]["pause"]["reason"] == "restart", "{entry}");
    }
    for host in HOSTS {
        let mut times: Vec<_> = log.iter().filter(|request| request.host == host).collect();
        times.sort_by_key(|request| request.start);
        for pair in times.windows(2).filter(|pair| pair[0].url() == pair[1].url()) {
            let between = pair[1].start.abs_diff(pair[0].start);
            assert!(between >= TIMEOUT, "{} after {between:?}", pair[1]);
        }
    }
    scene.look("audit", &[]).expect(0);
    let report = scene.look("report", &["--host", HOSTS[0]]).expect(0).stdout.clone();
    let of_host =
        recorded.iter().filter(|(url, _)| url.contains(HOSTS[0])).map(|(_, (_, of_kills))| of_kills);
    let of_host = of_host.sum::<usize>();
    if of_host > 0 {
        assert!(report.contains(" in flight when the crawl was killed or stopped"), "{report}");
    }
    let (url, _) = recorded.iter().find(|(_, (_, of_kills))| *of_kills > 0).expect("one");
    let explained = scene.look("explain", &[url]).stdout.clone();
    assert!(explained.contains("interrupted"), "{explained}");
    eprintln!(
        "| kill -9 x {kills} beside a slow server | | {} requests seen, {interrupted} interrupted, none overlaps |",
        log.len()
    );
}

#[test]
fn a_repair_keeps_the_request_that_was_in_flight_at_a_kill() {
    let scene = Scene::new(Sites::new().tree("a.test", 6, Duration::from_millis(1_500)));
    let running = scene.crawl().args(["--timeout", "3s"]).start();
    // The robots.txt is answered, and soon a page is on its way.
    wait_for(&scene, 1);
    pause(Duration::from_millis(800));
    running.kill();
    let repaired = scene.path("repaired");
    let repair = Crawl::new(["repair".as_ref(), scene.out().as_os_str()]);
    repair.args(["--out".as_ref(), repaired.as_os_str()]).run().expect(0);
    fs::remove_dir_all(scene.out()).expect("it can be removed");
    fs::rename(&repaired, scene.out()).expect("it can be renamed");
    scene.resume().run().expect(0);
    let recorded = recorded(&scene);
    let interrupted: usize = recorded.values().map(|(_, interrupted)| interrupted).sum();
    assert_eq!(interrupted, 1, "{recorded:?}");
    for request in scene.server.log() {
        let seen = scene.server.log().iter().filter(|other| other.url() == request.url()).count();
        assert_eq!(recorded[&request.url()].0, seen, "{request}");
    }
    scene.assert_polite();
    scene.look("audit", &[]).expect(0);
}
