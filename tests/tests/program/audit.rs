//! `crawl audit`: a polite crawl passes, stops and revisits included; what doesn't fit is told with exit code 14.

use std::time::Duration;

use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

fn sites() -> Sites {
    let robots =
        "User-agent: SuperRobot\nDisallow: /closed\nCrawl-delay: 0.05\n\nUser-agent: OtherBot\nDisallow: /\n";
    Sites::new()
        .page("a.test", "/robots.txt", Answer::content("text/plain", robots))
        .page(
            "a.test",
            "/",
            Answer::html(
                "<a href=/closed>c</a><a href=/noindex>n</a><a href=/noarchive>k</a><a href=/plain rel=nofollow>p</a>\
                 <a href=/turns>t</a><a href=/moved>m</a><a href=/missing>4</a><a href=/later>l</a>",
            ),
        )
        .page("a.test", "/noindex", Answer::html("<meta name=robots content=noindex><a href=/behind>b</a>"))
        .page("a.test", "/behind", Answer::html("behind"))
        .page("a.test", "/noarchive", Answer::html("x").header("X-Robots-Tag", "noarchive"))
        .page("a.test", "/plain", Answer::html("plain"))
        .page("a.test", "/turns", Answer::html("<title>t</title>"))
        .page("a.test", "/moved", Answer::redirect(301, "/behind"))
        .page("a.test", "/later", Answer::status(425).header("Retry-After", "1"))
        .page("a.test", "/later", Answer::html("later"))
        .tree("b.test", 40, Duration::ZERO)
}

#[test]
fn a_crawl_with_stops_and_revisits_passes_its_audit() {
    let scene = Scene::new(sites());
    let running = scene.crawl().start();
    while scene.server.count() < 15 {
        std::thread::yield_now();
    }
    running.kill();
    scene.resume().run().expect(0);
    // Only now: had the first process taken it in without committing it, the second would never have stored the page.
    let noindex = "<title>t</title><meta name=robots content=noindex>";
    scene.server.change("a.test", "/turns", Answer::html(noindex));
    scene.resume().args(["--revisit", "0s"]).run().expect(0);
    let output = scene.look("audit", &[]);
    output.expect(0);
    assert!(output.stdout.contains("Nothing violated."), "{output}");
    let report = &scene.look("audit", &["--json"]).expect(0).json()[0];
    assert_eq!((&report["v"], &report["violations"]), (&1.into(), &0.into()));
    let check = |name: &str| {
        let checks = report["checks"].as_array().expect("a list");
        checks
            .iter()
            .find(|check| check["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {report}"))
            .clone()
    };
    for name in ["requests", "overlap", "gap", "denied", "noindex", "archive", "withdrawn", "accounts"] {
        assert!(check(name)["judged"].as_u64() > Some(0), "{}", check(name));
        assert!(check(name)["unjudged"].is_null());
    }
    let margin = check("configured_delay")["margin_s"].as_f64().expect("a margin");
    assert!(margin >= 0.0, "{margin}");
    scene.assert_polite();
}

#[test]
fn what_does_not_fit_is_told_with_its_own_exit_code() {
    let scene = Scene::new(sites());
    scene.crawl().run().expect(0);
    scene.look("audit", &[]).expect(0);

    // The same requests, had another robot made them: robots.txt closes the whole site to it.
    let settings = scene.out().join("crawl.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, text.replace("SuperRobot/1.0", "OtherBot/1.0")).unwrap();
    let output = scene.look("audit", &[]);
    output.expect(14);
    assert!(output.stdout.contains("denied: no URL is asked for"), "{output}");
    assert!(output.stdout.contains("line 6: Disallow: /"), "{output}");
    assert!(output.stdout.contains("agent.product isn't what run 1 was started with"), "{output}");
    std::fs::write(&settings, text).unwrap();

    // Every request went to this machine, which `--resolve` opens.
    let report = &scene.look("audit", &["--json"]).expect(0).json()[0];
    let judged = |name: &str| {
        let checks = report["checks"].as_array().expect("a list");
        checks.iter().find(|check| check["name"] == name).map(|check| check["judged"].clone())
    };
    assert_eq!(judged("settings"), Some(3.into()), "a run, crawl.toml, meta/settings");
    assert_eq!(judged("addresses"), judged("requests"), "each request has its address");

    let archive = std::fs::read_dir(scene.out().join("warc")).unwrap();
    let file = archive.map(|entry| entry.unwrap().path()).find(|path| path.extension().is_some()).unwrap();
    let mut octets = std::fs::read(&file).unwrap();
    let middle = octets.len() / 2;
    octets[middle] ^= 0x55;
    std::fs::write(&file, octets).unwrap();
    let output = scene.look("audit", &["--json"]);
    output.expect(14);
    let report = &output.json()[0];
    let broken: Vec<_> =
        report["checks"].as_array().unwrap().iter().filter(|c| c["violations"] != 0).collect();
    assert!(broken.iter().all(|check| check["name"] == "archive"), "{broken:?}");
}
