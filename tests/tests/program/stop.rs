//! Stops of every kind, and going on after them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use whole_program::program::{Crawl, PATIENCE};
use whole_program::site::Sites;

use crate::scene::{Scene, sorted};

const PAGES: usize = 120;

fn scene() -> Scene {
    Scene::new(
        Sites::new()
            .tree("a.test", PAGES, Duration::from_millis(10))
            .tree("b.test", PAGES, Duration::from_millis(10))
            .tree("c.test", PAGES / 2, Duration::from_millis(30)),
    )
}

fn all_pages() -> Vec<String> {
    let site = |host: &'static str, pages: usize| {
        (0..pages).map(move |n| if n == 0 { format!("http://{host}/") } else { format!("http://{host}/{n}") })
    };
    sorted(site("a.test", PAGES).chain(site("b.test", PAGES)).chain(site("c.test", PAGES / 2)).collect())
}

/// Waits without looking at a clock: nobody ever sends.
pub(crate) fn pause(time: Duration) {
    let (_keep, receiver) = channel::<()>();
    assert!(receiver.recv_timeout(time).is_err());
}

/// Waits until the server has seen so many requests.
pub(crate) fn wait_for(scene: &Scene, requests: usize) {
    for _ in 0..3_000 {
        if scene.server.count() >= requests {
            return;
        }
        pause(Duration::from_millis(10));
    }
    panic!("only {} requests came", scene.server.count());
}

fn recorded(scene: &Scene) -> Vec<String> {
    sorted(scene.table("pages").iter().map(|page| page["url"].as_str().expect("a url").to_owned()).collect())
}

/// Page requests beyond the first one for each URL.
fn refetched(scene: &Scene) -> usize {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for url in scene.server.pages() {
        *counts.entry(url).or_default() += 1;
    }
    counts.values().map(|count| count - 1).sum()
}

#[test]
fn terminate_and_interrupt_finish_what_is_in_flight_and_tell_how_to_go_on() {
    for signal in ["TERM", "INT"] {
        let scene = scene();
        let running = scene.crawl().start();
        wait_for(&scene, 20);
        running.signal(signal);
        let output = running.wait(Duration::from_secs(10));
        output.expect(11);
        assert!(output.to_string().contains(&format!("crawl resume {}", scene.out().display())), "{output}");
        assert!(scene.server.hits().iter().all(|hit| hit.finished), "requests in flight were cut");
        let before = scene.server.count();
        scene.resume().run().expect(0);
        assert!(scene.server.count() > before);
        assert_eq!(recorded(&scene), all_pages());
        assert_eq!(refetched(&scene), 0, "a clean stop loses nothing and repeats nothing");
        scene.assert_polite();
    }
}

#[test]
fn a_second_signal_stops_at_once_and_resume_still_works() {
    let sites = Sites::new().tree("slow.test", 3, Duration::from_secs(8));
    let scene = Scene::new(sites.tree("a.test", 10, Duration::ZERO));
    let running = scene.crawl().start();
    wait_for(&scene, 5);
    running.signal("TERM");
    pause(Duration::from_millis(300));
    running.signal("TERM");
    let output = running.wait(Duration::from_secs(5));
    output.expect(12);
    let ledger = scene.table("ledger");
    let interrupted: Vec<_> = ledger.iter().filter(|entry| entry["decision"] == "interrupted").collect();
    let [interrupted] = &interrupted[..] else { panic!("{interrupted:?}") };
    assert_eq!(
        (&interrupted["url"], &interrupted["reason"]),
        (&"http://slow.test/".into(), &"stopped".into())
    );
    assert!(interrupted["evidence"]["request"].is_object(), "{interrupted}");
    let running = scene.resume().start();
    wait_for(&scene, 12);
    drop(running.kill());
}

#[test]
fn a_finished_crawl_can_be_resumed_and_does_nothing_more() {
    let scene = Scene::new(Sites::new().tree("a.test", 5, Duration::ZERO));
    scene.crawl().run().expect(0);
    let requests = scene.server.count();
    for _ in 0..2 {
        scene.resume().run().expect(0);
    }
    assert_eq!(scene.server.count(), requests);
}

#[test]
fn a_second_process_on_one_directory_ends_with_an_error() {
    let scene = scene();
    let running = scene.crawl().start();
    wait_for(&scene, 5);
    let output = scene.resume().run();
    assert!(output.expect(5).stderr.contains("in use"), "{output}");
    running.signal("TERM");
    running.wait(PATIENCE).expect(11);
    scene.resume().run().expect(0);
    assert_eq!(recorded(&scene), all_pages());
}

#[test]
fn resume_of_what_is_no_crawl_says_so_and_makes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    for path in [missing.as_path(), directory.path()] {
        let output = Crawl::new([Path::new("resume"), path]).run();
        assert!(output.expect(2).stderr.contains("crawl --seed"), "{output}");
    }
    assert!(!missing.exists());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
