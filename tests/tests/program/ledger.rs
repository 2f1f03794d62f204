//! The ledger as a user meets it: each request in it, the story of a URL, the report for a site's owner.

use std::collections::BTreeMap;

use serde_json::Value;
use whole_program::program::{Crawl, Output};
use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::{DELAY, Scene};

/// URLs of every fate.
fn sites() -> Sites {
    let front = "<a href=/b>to b</a><a href=/private/x>p</a><a href=/gone>g</a><a href=/moved>m</a>\
                 <a href=/nofollowed rel=nofollow>n</a><a href=http://else.test/>e</a><a href=/hidden>h</a><a href=/busy>s</a>";
    Sites::new()
        .page("a.test", "/robots.txt", Answer::robots(Rules::default().deny("/private/")))
        .page("a.test", "/", Answer::html(front))
        .page("a.test", "/b", Answer::html("<a href=/c>to c</a><a href=/gone>g</a>"))
        .page("a.test", "/c", Answer::html("c"))
        .page("a.test", "/moved", Answer::redirect(301, "/target"))
        .page("a.test", "/target", Answer::html("t"))
        .page("a.test", "/hidden", Answer::html("<meta name=robots content=noindex>secret"))
        .page("a.test", "/busy", Answer::status(425).header("Retry-After", "1"))
        .page("a.test", "/busy", Answer::html("now"))
}

fn story(scene: &Scene, path: &str, code: i32) -> Value {
    explain(scene, path, &["--json"]).expect(code).json().remove(0)
}

fn explain(scene: &Scene, path: &str, arguments: &[&str]) -> Output {
    let url = if path.starts_with('/') { format!("http://a.test{path}") } else { path.to_owned() };
    let out = scene.out();
    Crawl::new(["explain", &url, out.to_str().expect("a path of text")]).args(arguments).run()
}

#[test]
fn each_request_is_in_one_entry_with_its_delay() {
    let scene = Scene::new(sites());
    scene.crawl().run().expect(0);
    scene.assert_polite();
    let ledger = scene.table("ledger");
    let requests: Vec<&Value> =
        ledger.iter().map(|row| &row["evidence"]["request"]).filter(|request| request.is_object()).collect();
    assert_eq!(requests.len(), scene.server.count(), "as many as the server saw");
    let mut statuses: BTreeMap<u64, usize> = BTreeMap::new();
    for request in &requests {
        *statuses.entry(request["status"].as_u64().expect("each was answered")).or_default() += 1;
    }
    assert_eq!(statuses, BTreeMap::from([(200, 7), (301, 1), (404, 1), (425, 1)]));
    let number = |request: &Value, name: &str| request[name].as_f64().expect("a number");
    let time = |request: &Value, name: &str| -> jiff::Timestamp {
        request[name].as_str().expect("a time").parse().expect("a time")
    };
    for pair in requests.windows(2) {
        let took = time(pair[0], "ended").duration_since(time(pair[0], "started")).as_secs_f64();
        let gap = number(pair[1], "clock") - number(pair[0], "clock") - took;
        assert!(gap + 2e-6 >= number(pair[1], "gap"), "{gap} s before {}", pair[1]);
        assert!(number(pair[1], "gap") >= DELAY.as_secs_f64(), "{}", pair[1]);
    }
    let after_busy = requests.iter().position(|request| request["status"] == 425).expect("it was busy");
    let waited = requests[after_busy + 1];
    assert_eq!((waited["gap"].as_f64(), waited["gap_reason"].as_str()), (Some(1.0), Some("retry-after")));
    let reported = |decision: &str| ledger.iter().filter(|row| row["decision"] == decision).count();
    assert_eq!(
        (reported("started"), reported("ended"), reported("not_indexed"), reported("robots_rules")),
        (1, 1, 1, 1)
    );

    let shown = scene.look("show", &["ledger"]).expect(0).clone();
    assert!(
        shown.stderr.contains(&format!("the chain of {} entries is intact", ledger.len())),
        "{}",
        shown.stderr
    );
    // A second run continues the chain.
    scene.resume().run().expect(0);
    let shown = scene.look("show", &["ledger"]).expect(0).clone();
    assert!(
        shown.stderr.contains(&format!("the chain of {} entries is intact", ledger.len() + 2)),
        "{}",
        shown.stderr
    );
    let last = scene.table("ledger").pop().expect("an entry");
    assert_eq!((&last["decision"], &last["reason"]), (&"ended".into(), &"complete".into()));
}

#[test]
fn explain_tells_every_fate_and_its_reason() {
    let scene = Scene::new(sites());
    scene.crawl().run().expect(0);
    for (path, code, fate, words) in [
        ("/", 0, "fetched", "indexed, archived, followed"),
        ("/c", 0, "fetched", "status 200"),
        ("/hidden", 0, "fetched", "not indexed, not archived, followed"),
        ("/moved", 0, "redirected", "status 301 to http://a.test/target"),
        ("/gone", 0, "error", "status 404"),
        ("/busy", 0, "fetched", "status 200"),
        ("/private/x", 1, "skipped", "line 2: Disallow: /private/"),
        ("/nofollowed", 1, "skipped", "rel=\"nofollow\""),
        ("http://else.test/", 1, "skipped", "its host is outside the scope"),
        ("/never/met", 0, "unseen", "the stored robots.txt would allow it"),
        ("/private/never/met", 1, "unseen", "robots.txt would deny it: line 2: Disallow: /private/"),
        ("http://stranger.test/", 1, "unseen", "it is outside the scope (other host)"),
    ] {
        let story = story(&scene, path, code);
        assert_eq!(story["fate"], fate, "{path}: {story}");
        assert_eq!(story["allowed"], code == 0, "{path}");
        let answer = story["answer"].as_str().expect("an answer");
        assert!(answer.contains(words), "{path}: {answer}");
        let change = story["change"].as_array().expect("a list");
        assert!(fate == "fetched" && path != "/hidden" || !change.is_empty(), "{path}");
        let text = explain(&scene, path, &[]).expect(code).stdout.clone();
        assert!(text.contains("What would change the answer"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 120 || line.contains("://")), "{text}");
    }
    let found = |path: &str| -> Vec<(String, String)> {
        let story = story(&scene, path, 0);
        let steps = story["found"].as_array().expect("a list").clone();
        let text = |step: &Value, name: &str| step[name].as_str().unwrap_or_default().to_owned();
        steps.iter().map(|step| (text(step, "url").replace("http://a.test", ""), text(step, "by"))).collect()
    };
    let steps = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(url, by)| ((*url).to_owned(), (*by).to_owned())).collect()
    };
    assert_eq!(found("/c"), steps(&[("/", "seed"), ("/b", "a"), ("/c", "a")]));
    assert_eq!(found("/target"), steps(&[("/", "seed"), ("/moved", "a"), ("/target", "redirect")]));
    let decisions = |path: &str| -> Vec<String> {
        let story = story(&scene, path, 0);
        let rows = story["decisions"].as_array().expect("a list").clone();
        rows.iter().map(|row| row["decision"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(decisions("/busy"), ["paused", "retry", "fetched"]);
    assert_eq!(decisions("/hidden"), ["fetched", "not_indexed", "not_archived"]);
    assert_eq!(story(&scene, "/moved", 0)["redirects"], serde_json::json!([["http://a.test/target", 200]]));
    explain(&scene, "mailto:ann@example.org", &[]).expect(2);
}

#[test]
fn the_ledger_has_three_levels() {
    for (level, decisions, links) in [("off", false, false), ("decisions", true, false), ("full", true, true)]
    {
        let scene = Scene::new(Sites::new().tree("a.test", 4, std::time::Duration::ZERO));
        scene.crawl().args(["--ledger", level]).run().expect(0);
        let ledger = scene.table("ledger");
        let has = |decision: &str| ledger.iter().any(|row| row["decision"] == decision);
        assert_eq!((has("fetched"), has("link"), has("waits")), (decisions, links, links), "{level}");
        assert_eq!(story(&scene, "/", 0)["fate"], "fetched", "{level}");
    }
}

#[test]
fn the_report_for_a_sites_owner_tells_pauses_and_broken_links() {
    let scene = Scene::new(sites());
    scene.crawl().run().expect(0);
    let report = scene.look("report", &["--host", "a.test", "--json"]).expect(0).json().remove(0);
    assert_eq!(
        (&report["requests"], &report["robots_requests"], &report["denied"]),
        (&10.into(), &1.into(), &1.into())
    );
    assert_eq!(report["gaps"]["count"], 9);
    let computed = ["recorded_requests", "overlaps", "denied_requested", "denied_requested_later"];
    assert_eq!(computed.map(|name| report[name].as_u64()), [Some(10), Some(0), Some(0), Some(0)]);
    assert_eq!(report["gaps"]["short"], 0);
    assert!(report["gaps"]["least"].as_f64().expect("a number") >= DELAY.as_secs_f64());
    assert_eq!(report["pauses"], serde_json::json!({"retry-after": 1}));
    assert_eq!(report["broken"].as_array().map(Vec::len), Some(1));
    let broken = &report["broken"][0];
    assert_eq!((&broken["url"], &broken["kind"]), (&"http://a.test/gone".into(), &"http_404".into()));
    let mut from: Vec<_> = broken["linked_from"].as_array().expect("a list").clone();
    from.sort_by_key(ToString::to_string);
    assert_eq!(from, ["http://a.test/", "http://a.test/b"]);
    let file = scene.path("owner.md");
    let file = file.to_str().expect("a path of text");
    scene.look("report", &["--host", "a.test", "-o", file]).expect(0);
    let text = std::fs::read_to_string(file).expect("the report is there");
    for line in [
        "# Requests by SuperRobot/1.0 to a.test",
        "- never more than one request at a time",
        "- none was shorter than the delay in effect",
        "- 1 URL was found but not requested, because robots.txt denied access",
        "- http_404  http://a.test/gone",
        "  - linked from http://a.test/b",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let printed = scene.look("report", &["--host", "a.test", "-o", "-"]).expect(0).stdout.clone();
    assert_eq!(printed, text, "- is standard output");
    scene.look("report", &["--host", "nobody.test"]).expect(2);
}

#[test]
fn what_responses_say_of_caches_is_recorded_and_the_owner_told() {
    let front =
        "<a href=/hit>h</a><a href=/miss>m</a><a href=/both>b</a><a href=/hidden>n</a><a href=/gone>g</a>";
    let miss = Answer::html("m").header("cf-cache-status", "DYNAMIC").header("Age", "0");
    let both = Answer::html("b").header("X-Cache", "MISS").header("X-Cache", "Hit from cloudfront");
    let hidden =
        Answer::html("<meta name=robots content=noindex>n").header("Server-Timing", "cache;desc=miss");
    let sites = Sites::new()
        .page("a.test", "/", Answer::html(front))
        .page("a.test", "/hit", Answer::html("h").header("Age", "77").header("Server-Timing", "db;dur=3"))
        .page("a.test", "/miss", miss)
        .page("a.test", "/both", both)
        .page("a.test", "/hidden", hidden)
        .page("a.test", "/gone", Answer::status(404).header("Cache-Status", "Edge; fwd=uri-miss"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let mut rows: Vec<_> = scene.table("pages").iter().map(caching).collect();
    rows.sort_by_key(ToString::to_string);
    let line = |name: &str, value: &str| serde_json::json!({"name": name, "value": value});
    let expected = [
        serde_json::json!(["/", null, null, []]),
        serde_json::json!(["/both", true, null, [line("x-cache", "MISS, Hit from cloudfront")]]),
        serde_json::json!(["/gone", false, null, [line("cache-status", "Edge; fwd=uri-miss")]]),
        serde_json::json!(["/hidden", false, null, []]),
        serde_json::json!(["/hit", true, 77, [line("server-timing", "db;dur=3")]]),
        serde_json::json!(["/miss", false, 0, [line("cf-cache-status", "DYNAMIC")]]),
    ];
    assert_eq!(rows, expected);
    let report = scene.look("report", &["--host", "a.test", "--json"]).expect(0).json().remove(0);
    assert_eq!(report["answered_by"], serde_json::json!({"cache": 2, "site": 3, "unknown": 1}));
    let text = scene.look("report", &["--host", "a.test"]).expect(0).stdout.clone();
    assert!(text.contains("a cache gave 2 and the site itself 3 (60% of these)"), "{text}");
}

fn caching(row: &Value) -> Value {
    let path = row["url"].as_str().and_then(|url| url.strip_prefix("http://a.test"));
    serde_json::json!([path, row["from_cache"], row["age"], row["cache_headers"]])
}

#[test]
fn the_report_of_a_crawl_has_the_figures_of_its_tables() {
    let scene = Scene::new(sites());
    scene.crawl().run().expect(0);
    let report = scene.look("report", &["--json"]).expect(0).json().remove(0);
    assert_eq!(report["summary"], scene.look("show", &["--json"]).expect(0).json()[0]);
    let requests = report["summary"]["totals"]["requests"].as_u64().expect("a number");
    let activity = &report["activity"];
    assert_eq!((requests, &activity["requests"]), (10, &10.into()));
    let steps = activity["timeline"]["steps"].as_array().expect("a list");
    assert_eq!(steps.iter().filter_map(|step| step["requests"].as_u64()).sum::<u64>(), 10);
    let gaps = &activity["gaps"];
    assert_eq!(["count", "short", "overlaps"].map(|name| gaps[name].as_u64()), [Some(9), Some(0), Some(0)]);
    assert!(gaps["least"].as_f64().expect("a number") >= DELAY.as_secs_f64());
    let failures = report["contents"]["failures"].as_array().expect("a list");
    let failed: Vec<_> = failures.iter().map(|failure| &failure["url"]).collect();
    assert_eq!(failed, scene.table("errors").iter().map(|row| &row["url"]).collect::<Vec<_>>());
    let changed: Vec<_> =
        report["settings"].as_array().expect("a list").iter().map(|row| &row["key"]).collect();
    assert!(
        changed.contains(&&"agent.product".into()) && changed.contains(&&"pace.delay".into()),
        "{changed:?}"
    );

    let file = scene.path("report.html");
    let name = file.to_str().expect("a path of text");
    scene.look("report", &["-o", name]).expect(0);
    let html = std::fs::read_to_string(&file).expect("the report is there");
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>"), "{html}");
    assert!(
        html.contains("http://a.test/gone") && html.contains("None was shorter than the delay"),
        "{html}"
    );
    let head = report["summary"]["head"].as_str().expect("the head of the ledger");
    assert!(html.contains(head), "{head}: {html}");
    let lost = scene.look("report", &["-o", "/nowhere/at/all.html"]);
    lost.expect(1);
    assert!(lost.stderr.contains("can't write /nowhere/at/all.html"), "{lost}");
}

#[test]
fn without_a_ledger_the_report_for_an_owner_says_nothing_of_the_pace() {
    let scene = Scene::new(sites());
    scene.crawl().args(["--ledger", "off"]).run().expect(0);
    let text = scene.look("report", &["--host", "a.test"]).expect(0).stdout.clone();
    for line in [
        "- the times of 0 of 10 requests are recorded; the figures below are about those",
        "- the URLs that robots.txt denied aren't recorded",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    for word in ["at once", "median", "shorter", "not requested"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_deposit_has_its_metadata_and_keeps_what_was_edited() {
    let scene = Scene::new(sites());
    scene.crawl().args(["--contact", "owner@example.org"]).run().expect(0);
    let deposit = scene.path("deposit");
    let tables = deposit.join("tables");
    let text = |path: &std::path::Path| path.to_str().expect("a path of text").to_owned();
    scene.look("export", &["--format", "csv", "-o", &format!("{}/", text(&tables))]).expect(0);
    scene.look("report", &["--provenance", &text(&deposit)]).expect(0);
    let methods = std::fs::read_to_string(deposit.join("methods.md")).expect("the methods are there");
    for part in [
        "We crawled 1 seed ",
        "as SuperRobot/1.0 (+owner@example.org)",
        "10 requests were sent",
        "none was shorter than the delay",
    ] {
        assert!(methods.contains(part), "{part}: {methods}");
    }
    let head =
        scene.look("show", &["--json"]).expect(0).json()[0]["head"].as_str().expect("a head").to_owned();
    assert!(methods.contains(&head), "{head}: {methods}");
    let crate_of: serde_json::Value =
        serde_json::from_slice(&std::fs::read(deposit.join("ro-crate-metadata.json")).expect("it is there"))
            .expect("JSON");
    let parts = crate_of["@graph"].as_array().expect("a list").iter().find(|entity| entity["@id"] == "./");
    let parts = parts.and_then(|root| root["hasPart"].as_array()).expect("its parts");
    assert!(parts.contains(&serde_json::json!({"@id": "tables/pages.csv"})), "{parts:?}");
    std::fs::write(deposit.join("methods.md"), "edited").expect("it can be written");
    let again = scene.look("report", &["--provenance", &text(&deposit)]);
    assert!(
        again.expect(0).stdout.contains("kept as they are: CITATION.cff, datasheet.md, methods.md"),
        "{again}"
    );
    for wrong in [&["--license", "CC0"][..], &["--host", "a.test"], &["-o", "x.html"]] {
        scene.look("report", &[&["--provenance", &text(&deposit)], wrong].concat()).expect(2);
    }
    scene.look("report", &["--title", "T"]).expect(2);
    assert_eq!(std::fs::read_to_string(deposit.join("methods.md")).expect("it is there"), "edited");
}
