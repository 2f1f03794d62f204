//! `crawl audit`: a polite crawl passes, stops and revisits included; what doesn't fit is reported with exit code 14.

use std::time::Duration;

use serde_json::json;
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
    assert!(output.stdout.contains("No violations."), "{output}");
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
fn violations_have_their_own_exit_code() {
    let scene = Scene::new(sites());
    scene.crawl().run().expect(0);
    scene.look("audit", &[]).expect(0);

    // The same requests, had another robot made them: robots.txt closes the whole site to it.
    let settings = scene.out().join("crawl.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, text.replace("SuperRobot/1.0", "OtherBot/1.0")).unwrap();
    let output = scene.look("audit", &[]);
    output.expect(14);
    assert!(output.stdout.contains("denied: no URL is requested that"), "{output}");
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
    let file = archive
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "gz"))
        .unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(&file, bytes).unwrap();
    let output = scene.look("audit", &["--json"]);
    output.expect(14);
    let report = &output.json()[0];
    let broken: Vec<_> =
        report["checks"].as_array().unwrap().iter().filter(|c| c["violations"] != 0).collect();
    assert!(broken.iter().all(|check| check["name"] == "archive"), "{broken:?}");
}

/// Pages whose bodies are kept, cut, or not kept for one reason or another.
fn kept_and_not() -> Sites {
    let twin = "<link rel=canonical href=/one>the same text";
    let long = |head: &str| format!("{head}<a href=/one>o</a>{}", "x ".repeat(20 << 10));
    Sites::new()
        .page(
            "a.test",
            "/",
            Answer::html(
                "<a href=/noindex>n</a><a href=/noarchive>k</a><a href=/one>o</a><a href=/long>l</a>\
                 <a href=/unread>u</a><a href=/moved>m</a><a href=/missing>4</a>",
            ),
        )
        .page("a.test", "/noindex", Answer::html("<meta name=robots content=noindex><a href=/one>o</a>"))
        .page(
            "a.test",
            "/noarchive",
            Answer::html("<title>k</title><a href=/two>t</a>").header("X-Robots-Tag", "noarchive"),
        )
        .page("a.test", "/one", Answer::html(twin))
        .page("a.test", "/two", Answer::html(twin))
        .page("a.test", "/long", Answer::html(long("<head><title>long</title></head><body>")))
        // What is cut within its head may have held a word in the rest of it.
        .page("a.test", "/unread", Answer::html(long("<title>long</title><noscript>")))
        .page("a.test", "/moved", Answer::redirect(301, "/one"))
}

/// What the audit of a crawl couldn't derive again, by check, as `--json` says; and the text for people.
fn not_derived(scene: &Scene, code: i32) -> ([serde_json::Value; 3], String) {
    let report = scene.look("audit", &["--json"]).expect(code).json()[0].clone();
    let of = |name: &str| {
        let mut checks = report["checks"].as_array().expect("a list").iter();
        let check = checks.find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {report}"));
        check["unchecked"].clone()
    };
    let checks = ["archived_words", "archived_digests", "archived_links"].map(of);
    (checks, scene.look("audit", &[]).expect(code).stdout.clone())
}

#[test]
fn what_cant_be_derived_again_is_counted_with_its_reason() {
    let scene = Scene::new(kept_and_not());
    scene.crawl().args(["--max-body", "16KiB"]).run().expect(10);
    // Of /noindex and /unread no digest is stored.
    let ([words, digests, links], text) = not_derived(&scene, 0);
    assert_eq!(words, json!({"cut": 1, "duplicate": 1, "noarchive": 1, "noindex": 1, "unread": 1}));
    assert_eq!(digests, json!({"duplicate": 1, "noarchive": 1}));
    assert_eq!(links, words);
    assert!(
        text.contains("; 5 not checked: cut 1, duplicate 1, noarchive 1, noindex 1, unread 1\n"),
        "{text}"
    );
    let line = "Not checked again, because bodies aren't stored or were truncated: directives of 5 pages, digests of 2 pages, links of 5 pages.\n";
    assert!(text.contains(line), "{text}");

    // Nine responses, of which five are in the archive: without its files nothing can be derived.
    for entry in std::fs::read_dir(scene.out().join("warc")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let ([words, digests, links], text) = not_derived(&scene, 14);
    assert_eq!(words, json!({"duplicate": 1, "missing": 5, "noarchive": 1, "noindex": 1, "unread": 1}));
    assert_eq!(digests, json!({"duplicate": 1, "missing": 5, "noarchive": 1}));
    // Neither the redirect nor the 404 has any.
    assert_eq!(links, json!({"duplicate": 1, "missing": 3, "noarchive": 1, "noindex": 1, "unread": 1}));
    assert!(text.contains("directives of 9 pages, digests of 7 pages, links of 7 pages.\n"), "{text}");
    // As well as without the directory.
    std::fs::remove_dir(scene.out().join("warc")).unwrap();
    let (without, _) = not_derived(&scene, 14);
    assert_eq!(without[0], words);
}

#[test]
fn a_crawl_without_an_archive_says_that_its_pages_cant_be_derived_again() {
    let scene = Scene::new(kept_and_not());
    scene.crawl().args(["--no-warc"]).run().expect(0);
    let ([words, digests, links], _) = not_derived(&scene, 0);
    assert_eq!(words, json!({"archive_off": 7, "noarchive": 1, "noindex": 1}));
    assert_eq!(digests, json!({"archive_off": 7, "noarchive": 1}));
    assert_eq!(links, json!({"archive_off": 5, "noarchive": 1, "noindex": 1}));
}

#[test]
fn the_head_that_a_crawl_prints_is_the_one_that_show_has_and_audit_compares() {
    let scene = Scene::new(sites());
    let output = scene.crawl().run();
    let ended = output.expect(0).stdout.clone();
    let shown = scene.look("show", &["--json"]).expect(0).json()[0]["head"].clone();
    let head = shown.as_str().expect("a head").to_owned();
    assert_eq!(head.len(), 64);
    let line = |text: &str| {
        let mut lines = text.lines().filter(|line| line.contains(&head));
        (lines.next().is_some(), lines.count())
    };
    assert_eq!(line(&ended), (true, 0), "{head}:\n{ended}");
    let text = scene.look("show", &[]).expect(0).stdout.clone();
    assert_eq!(line(&text), (true, 0), "{head}:\n{text}");

    for right in [head.clone(), head[..16].to_owned(), head.to_ascii_uppercase()] {
        scene.look("audit", &["--head", &right]).expect(0);
    }
    let other = if head.starts_with('0') { "1" } else { "0" }.to_owned() + &head[1..];
    for wrong in [other.clone(), other[..16].to_owned()] {
        let output = scene.look("audit", &["--head", &wrong]);
        output.expect(14);
        let reported = format!("its head is {head}, not {wrong}: it was changed, or the crawl was resumed");
        assert!(output.stdout.contains(&reported), "{output}");
    }
    for bad in ["", "6f1ed002ab55958", "6f1ed002ab55958g", &"0".repeat(65), "0x6f1ed002ab559585"] {
        let output = scene.look("audit", &["--head", bad]);
        output.expect(2);
        assert!(output.stderr.contains("16 to 64 hex digits are required"), "{output}");
    }
    // JSON has it as well, at the end of a run that goes on: another one.
    let output = scene.resume().args(["--revisit", "0s", "--json"]).run();
    let last = output.expect(0).json().last().expect("a line").clone();
    assert_ne!(last["head"], shown);
    assert_eq!(last["head"], scene.look("show", &["--json"]).expect(0).json()[0]["head"]);
    scene.look("audit", &["--head", &head]).expect(14);
}
