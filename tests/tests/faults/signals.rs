//! Signals while servers say nothing.

use std::time::Duration;

use whole_program::site::{Answer, Sites};

use crate::scene::Scene;
use crate::support::{fault_row, pause, tree, wait_for};

/// Two hosts accept and say nothing, one answers.
fn scene() -> Scene {
    let silent = || Answer::html("").after(Duration::from_hours(1));
    Scene::new(
        Sites::new()
            .page("frozen.test", "/robots.txt", silent())
            .page("dumb.test", "/robots.txt", Answer::status(404))
            .page("dumb.test", "/", silent())
            .tree("a.test", 60, Duration::from_millis(10)),
    )
}

#[test]
fn a_signal_ends_the_crawl_within_ten_seconds_although_servers_are_frozen() {
    for signal in ["INT", "TERM"] {
        let scene = scene();
        let running = scene.crawl().start();
        wait_for(&scene, 15);
        running.signal(signal);
        let output = running.wait(Duration::from_secs(10));
        fault_row(&format!("SIG{signal}, frozen servers"), &output, 11);
        assert!(output.to_string().contains("crawl resume"), "{output}");
        let done: Vec<_> = scene.table("pages").iter().map(|page| page["url"].to_string()).collect();
        assert!(done.len() >= 10, "what was answered is kept: {done:?}");
    }
}

#[test]
fn a_second_signal_ends_it_at_once_and_nothing_is_lost() {
    for (first, second) in [("INT", "INT"), ("TERM", "INT")] {
        let scene = scene();
        let running = scene.crawl().start();
        wait_for(&scene, 15);
        running.signal(first);
        pause(Duration::from_millis(300));
        running.signal(second);
        let output = running.wait(Duration::from_secs(5));
        fault_row(&format!("SIG{first} and SIG{second}, frozen servers"), &output, 12);
        let running = scene.resume().args(["--timeout", "1s", "--retries", "0"]).start();
        let fetched =
            |scene: &Scene| scene.server.pages().iter().filter(|url| url.contains("//a.test")).count();
        while fetched(&scene) < 60 {
            pause(Duration::from_millis(20));
        }
        running.signal("TERM");
        let output = running.wait(Duration::from_secs(10));
        assert!(matches!(output.code, Some(11 | 13)), "{output}");
        let mut done: Vec<String> =
            scene.table("pages").iter().map(|page| page["url"].as_str().unwrap().to_owned()).collect();
        done.retain(|url| url.contains("//a.test"));
        done.sort();
        assert_eq!(done, tree("a.test", 60));
    }
}

#[test]
fn frozen_servers_dont_affect_other_hosts() {
    let scene = scene();
    let output = scene.crawl().args(["--timeout", "2s", "--retries", "0"]).run();
    fault_row("frozen servers", &output, 13);
    assert_eq!(scene.table("pages").len(), 60);
    let errors = scene.table("errors");
    assert!(errors.iter().any(|row| row["kind"] == "timeout"), "{errors:?}");
    assert!(output.stdout.contains("frozen.test"), "the remaining host is named: {output}");
}
