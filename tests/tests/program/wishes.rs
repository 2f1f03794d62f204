//! What owners of hosts asked for, as a user meets it: entered in the configuration, kept over kills, explained, planned, audited, reported.

use std::time::Duration;

use whole_program::program::Crawl;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// A zone in which it is noon.
fn noon() -> String {
    let hour = jiff::Timestamp::now().as_second() / 3_600 % 24;
    match 12 - hour {
        // The signs of these names are those of POSIX: west is positive.
        ahead if ahead >= 0 => format!("Etc/GMT-{ahead}"),
        behind => format!("Etc/GMT+{}", -behind),
    }
}

fn scene() -> Scene {
    let front = (1..20).map(|n| format!("<a href=/{n}>{n}</a>")).collect::<Vec<_>>().concat();
    let site = |sites: Sites, host: &str| {
        let sites = sites.page(host, "/", Answer::html(front.as_str()));
        (1..20).fold(sites, |sites, n| sites.page(host, &format!("/{n}"), Answer::html("page")))
    };
    let scene = Scene::new(["few.test", "shut.test", "free.test"].into_iter().fold(Sites::new(), site));
    let zone = noon();
    let wishes = format!(
        "[pace]\nzone = {zone:?}\n\
         [[pace.wishes]]\nhosts = [\"few.test\"]\nrequests_per_day = 8\nreason = \"mail of 3 November\"\n\
         [[pace.wishes]]\nhosts = [\"shut.*\", \"*.test\"]\nhours = \"18:00-19:00\"\n"
    );
    std::fs::write(scene.path("bad.toml"), &wishes).expect("a file");
    let wishes = wishes.replace("\"shut.*\", \"*.test\"", "\"shut.test\"");
    std::fs::write(scene.path("wishes.toml"), wishes).expect("a file");
    scene
}

fn crawl(scene: &Scene) -> Crawl {
    scene.crawl().args([std::path::Path::new("--config"), &scene.path("wishes.toml")])
}

fn count(scene: &Scene, host: &str) -> usize {
    scene.server.log().iter().filter(|request| request.host == host).count()
}

#[expect(clippy::disallowed_methods, reason = "the program is killed after some time on the wall clock")]
fn pass() {
    std::thread::sleep(Duration::from_millis(5));
}

#[test]
fn what_owners_asked_for_holds_over_kills_and_is_told() {
    let scene = scene();
    scene.crawl().args([std::path::Path::new("--config"), &scene.path("bad.toml")]).run().expect(3);
    assert_eq!(scene.server.count(), 0);
    let mut running = crawl(&scene).start();
    for most in [3, 5] {
        while count(&scene, "few.test") < most && running.is_running() {
            pass();
        }
        running.kill();
        running = scene.resume().args(scene.server.resolve()).start();
    }
    running.wait(Duration::from_mins(1)).expect(13);
    // Each kill may have cost a request that didn't arrive; it counts as well.
    let arrived = count(&scene, "few.test");
    assert!((6..=8).contains(&arrived) && count(&scene, "shut.test") == 0, "{arrived}");
    scene.resume().args(scene.server.resolve()).run().expect(13);
    assert_eq!(count(&scene, "few.test"), arrived, "the day isn't over");
    assert!(count(&scene, "free.test") >= 21);

    let hosts = scene.table("hosts");
    let why = |name: &str| hosts.iter().find(|row| row["host"] == name).map(|row| row["wait_reason"].clone());
    assert_eq!((why("few.test"), why("shut.test")), (Some("wish day".into()), Some("wish hours".into())));
    let shut = explain(&scene, "http://shut.test/");
    let zone = noon();
    assert!(
        shut.contains(&format!("the owner of its host asked for it: only 18:00-19:00 ({zone})")),
        "{shut}"
    );
    let waits =
        scene.table("queue").iter().find(|row| row["host"] == "few.test").map(|row| row["url"].clone());
    let few = explain(&scene, waits.as_ref().and_then(serde_json::Value::as_str).expect("a URL"));
    let wish = format!("8 requests a day ({zone}): mail of 3 November");
    assert!(few.contains(&format!("the owner of its host asked for it: {wish}")), "{few}");

    let audit = scene.look("audit", &["--json"]).expect(0).json().remove(0);
    let checks = audit["checks"].as_array().expect("a list");
    let check = checks.iter().find(|check| check["name"] == "wishes").expect("the check");
    assert_eq!((&check["judged"], &check["violations"]), (&8.into(), &0.into()));

    let report = scene.look("report", &["--json"]).expect(0).json().remove(0);
    assert_eq!(report["wishes"][0], serde_json::json!({"hosts": ["few.test"], "wish": wish}));
    let owner = scene.look("report", &["--host", "few.test"]).expect(0).stdout.clone();
    assert!(owner.contains("- asked for by the owner, and kept: 8 requests a day"), "{owner}");

    let plan = Crawl::new(["plan", "--offline"])
        .args([scene.out()])
        .args(["--json"])
        .run()
        .expect(0)
        .json()
        .remove(0);
    let of = |host: &str| {
        let hosts = plan["hosts"].as_array().expect("a list");
        hosts.iter().find(|row| row["host"] == host).and_then(|row| row["least_duration"].as_f64())
    };
    let least = [of("few.test"), of("free.test")];
    assert!(least[0].is_some_and(|least| least > 24.0 * 3_600.0), "{least:?}");
    assert!(least[1].is_some_and(|least| least < 60.0), "{least:?}");
}

#[test]
fn a_wish_can_be_set_while_the_crawl_runs_and_outlasts_it() {
    let scene = scene();
    let running = scene.crawl_every("150ms").start();
    while count(&scene, "free.test") < 3 {
        pass();
    }
    let zone = format!("zone={}", noon());
    let host = ["--host", "free.test"];
    let refused = scene.look("set", &[&["hours=6-8"][..], &host].concat());
    assert!(refused.expect(2).stderr.contains("isn't a range of hours"), "{refused}");
    let asked = ["hours=18:00-19:00", &zone, "--reason", "a phone call"];
    scene.look("set", &[&asked[..], &host].concat()).expect(0);
    // One may have been under way.
    for _ in 0..40 {
        pass();
    }
    let before = count(&scene, "free.test");
    running.wait(Duration::from_mins(1)).expect(13);
    assert_eq!((count(&scene, "free.test"), count(&scene, "few.test")), (before, 21));
    assert!(before < 10, "{before}");
    scene.resume().args(scene.server.resolve()).run().expect(13);
    assert_eq!(count(&scene, "free.test"), before, "it holds in later runs");
    let waits =
        scene.table("queue").iter().find(|row| row["host"] == "free.test").map(|row| row["url"].clone());
    let told = explain(&scene, waits.as_ref().and_then(serde_json::Value::as_str).expect("a URL"));
    assert!(told.contains(&format!("only 18:00-19:00 ({}): a phone call", noon())), "{told}");
    let entries = scene.table("ledger");
    let entry = entries.iter().find(|row| row["decision"] == "wish_set").expect("an entry");
    assert_eq!((&entry["host"], &entry["layer"]), (&"free.test".into(), &"pace".into()));
    scene.look("audit", &[]).expect(0);
    let stopped = scene.look("set", &[&["wish=none"][..], &host].concat());
    assert!(stopped.expect(2).stderr.contains("pace.wishes"), "{stopped}");
    // A wish for a crawl that is stopped is one of its settings.
    scene.look("set", &[&["requests_per_day=100"][..], &host].concat()).expect(0);
    scene.resume().args(scene.server.resolve()).run().expect(13);
    assert_eq!(count(&scene, "free.test"), before);
    let report = scene.look("report", &["--json"]).expect(0).json().remove(0);
    assert_eq!(report["wishes"].as_array().map(Vec::len), Some(2), "{}", report["wishes"]);
    scene.look("audit", &[]).expect(0);
}

fn explain(scene: &Scene, url: &str) -> String {
    let text = scene.look("explain", &[url]).stdout;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
