//! The program's own account of a crawl: one status, the same counts everywhere, nothing that vanishes.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use whole_program::program::Crawl;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// Adds lines to the seed file.
fn add_seeds(scene: &Scene, lines: &str) {
    let mut file = OpenOptions::new().append(true).open(scene.seeds()).expect("the seed file");
    file.write_all(lines.as_bytes()).expect("it can be written");
}

/// The object of `crawl show DIR --json`.
fn shown(scene: &Scene) -> Value {
    scene.look("show", &["--json"]).expect(0).json()[0].clone()
}

/// Checks that the counts of a summary are those of the tables.
fn assert_tables_agree(scene: &Scene, totals: &Value) {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for page in scene.table("pages") {
        let kind = match (page["error"].is_null(), page["status"].as_u64()) {
            (true, Some(200..300)) => "pages",
            (true, _) => "redirects",
            (false, _) => continue,
        };
        *counts.entry(kind).or_default() += 1;
    }
    counts.insert("failed", scene.table("errors").len() as u64);
    let skipped = scene.table("skipped");
    let mut urls: Vec<&str> = skipped.iter().map(|row| row["url"].as_str().expect("a URL")).collect();
    counts.insert("skipped", urls.len() as u64);
    urls.sort_unstable();
    urls.dedup();
    assert_eq!(urls.len(), skipped.len(), "each URL once");
    for (name, count) in counts {
        assert_eq!(totals[name], count, "{name}: {totals}");
    }
}

fn sites() -> Sites {
    let link = |n: usize| format!("<a href=/p{n}>p</a><a href=/closed/{}>c</a>", n % 7);
    let links = (0..30).map(link).collect::<Vec<_>>().concat();
    let links = links
        + "<a href=/gone>g</a><a href=/moved>m</a><a href=http://else.test/>e</a><a href=/p1#again>a</a>";
    let robots = "User-agent: *\nDisallow: /closed/\n";
    let mut sites = Sites::new()
        .page("a.test", "/robots.txt", Answer::content("text/plain", robots))
        .page("a.test", "/", Answer::html(links.clone()))
        .page("a.test", "/moved", Answer::redirect(301, "/p3"))
        .page("b.test", "/", Answer::html("b"));
    for page in 0..30 {
        sites = sites.page("a.test", &format!("/p{page}"), Answer::html(links.clone()));
    }
    sites
}

#[test]
fn a_whole_crawl_is_complete_and_every_account_of_it_agrees() {
    let scene = Scene::new(sites());
    let output = scene.crawl().args(["--json"]).run();
    let last = output.expect(0).json().last().unwrap().clone();
    assert_eq!((&last["status"], &last["exit_code"]), (&"complete".into(), &0.into()));
    let shown = shown(&scene);
    assert_eq!((&shown["status"], &shown["complete"]), (&"complete".into(), &true.into()));
    assert_eq!(shown["totals"], last["totals"]);
    assert_eq!(shown["totals"]["pages"], 32);
    // Seven paths that robots.txt denies, whatever the number of links, and another host.
    assert_eq!(shown["totals"]["skipped"], 8);
    assert_tables_agree(&scene, &last["totals"]);
    let text = scene.look("show", &[]).expect(0).stdout.clone();
    assert!(text.contains("  status    complete\n"), "{text}");
}

#[test]
fn the_counts_dont_depend_on_where_the_crawl_was_stopped() {
    let whole = Scene::new(sites());
    whole.crawl().run().expect(0);
    let broken = Scene::new(sites());
    for stop_at in [3, 9, 20] {
        let running = if stop_at == 3 { broken.crawl().start() } else { broken.resume().start() };
        while broken.server.count() < stop_at {
            std::thread::yield_now();
        }
        running.kill();
        let totals = shown(&broken)["totals"].clone();
        assert_tables_agree(&broken, &totals);
    }
    let output = broken.resume().run();
    let text = output.expect(0).stdout.clone();
    let (one, other) = (shown(&whole), shown(&broken));
    for name in ["pages", "redirects", "failed", "skipped", "indexed", "archived"] {
        assert_eq!(one["totals"][name], other["totals"][name], "{name}");
    }
    assert_eq!(one["skipped"], other["skipped"]);
    let totals = &other["totals"];
    let count = |name: &str| totals[name].as_u64().expect("a number");
    let line = format!(
        "complete: {} pages, {} redirect{}, {} failed, {} skipped; ",
        count("pages"),
        count("redirects"),
        if count("redirects") == 1 { "" } else { "s" },
        count("failed"),
        count("skipped")
    );
    assert!(text.starts_with(&line), "{line}\n{text}");
}

#[test]
fn what_a_limit_keeps_out_makes_a_crawl_complete_within_limits() {
    let long = format!("<title>long</title>{}", "x".repeat(40 << 10));
    let long = || {
        Sites::new().page("a.test", "/", Answer::html("<a href=/long>l</a>")).page(
            "a.test",
            "/long",
            Answer::html(long.clone()),
        )
    };
    for (sites, options, words) in [
        (long(), ["--max-body", "30KiB"], "complete within limits (limits.max_body): 1 page truncated"),
        (sites(), ["--max-depth", "0"], "complete within limits (too deep): "),
    ] {
        let scene = Scene::new(sites);
        let output = scene.crawl().args(options).run();
        output.expect(10);
        assert!(output.stdout.starts_with("complete within limits: "), "{output}");
        assert!(output.stdout.contains(words), "{words}: {output}");
        let shown = shown(&scene);
        assert_eq!((&shown["status"], &shown["complete"]), (&"complete_within_limits".into(), &false.into()));
        let host = shown["hosts"].as_array().unwrap().iter().find(|host| host["host"] == "a.test").unwrap();
        assert_eq!(host["coverage"], "complete_within_limits");
        assert_tables_agree(&scene, &shown["totals"]);
    }
}

#[test]
fn a_dead_seed_and_an_unusable_one_are_counted_named_and_remain() {
    let scene = Scene::new(Sites::new().page("a.test", "/", Answer::html("a")));
    // Nothing listens on port 1.
    add_seeds(&scene, "http://127.0.0.1:1/\nhttp://../\nhttp://\n");
    std::fs::write(scene.path("c.toml"), "[pace]\nmax_wait = \"0s\"\n").unwrap();
    let config = scene.path("c.toml").display().to_string();
    let output = scene.crawl().args(["--config", &config]).run();
    output.expect(13);
    assert!(output.stdout.starts_with("incomplete: 1 page, 0 redirects, 1 failed, 2 skipped; "), "{output}");
    assert!(output.stdout.contains("  127.0.0.1 is incomplete: 1 URL remains, "), "{output}");
    assert!(output.stdout.contains("Connection refused"), "{output}");
    assert!(output.stdout.contains("  2 lines of the seed file can't be crawled\n"), "{output}");
    assert!(output.stderr.contains("line 3: \"http://../\" "), "{output}");

    let shown = shown(&scene);
    assert_eq!((&shown["status"], &shown["unusable_seeds"]), (&"incomplete".into(), &2.into()));
    assert_eq!(shown["unusable"][0]["line"], 3);
    assert_eq!(shown["unusable"][0]["text"], "http://../");
    assert_tables_agree(&scene, &shown["totals"]);
    let errors = scene.table("errors");
    assert_eq!(errors.len(), 1);
    assert!(errors[0]["detail"].as_str().unwrap().contains("Connection refused"), "{errors:?}");
    let unusable = scene.table("skipped").into_iter().filter(|row| row["reason"] == "unusable_seed");
    let unusable: Vec<_> = unusable.map(|row| row["url"].as_str().unwrap().to_owned()).collect();
    assert_eq!(crate::scene::sorted(unusable), ["http://", "http://../"]);
    scene.look("audit", &[]).expect(0);
}

#[test]
fn pages_that_are_as_they_were_count_as_unchanged() {
    let tagged = |answer: Answer| answer.header("ETag", "\"1\"");
    let scene = Scene::new(
        Sites::new()
            .page("a.test", "/", tagged(Answer::html("<a href=/b>b</a>")))
            .page("a.test", "/", tagged(Answer::status(304)))
            .page("a.test", "/b", tagged(Answer::html("b")))
            .page("a.test", "/b", tagged(Answer::status(304))),
    );
    scene.crawl().run().expect(0);
    let output = scene.resume().args(["--revisit", "0s"]).run();
    output.expect(0);
    assert!(output.stdout.starts_with("complete: 2 pages, 0 redirects, 0 failed, 0 skipped; "), "{output}");
    let totals = &shown(&scene)["totals"];
    assert_eq!(
        (&totals["pages"], &totals["redirects"], &totals["unchanged"]),
        (&2.into(), &0.into(), &2.into())
    );
    let text = scene.look("show", &[]).expect(0).stdout.clone();
    assert!(
        text.contains("2 pages, 0 redirects, 0 failed, 0 skipped; 2 visits found a page unchanged\n"),
        "{text}"
    );
}

#[test]
fn every_command_says_the_same_of_a_directory_without_a_crawl() {
    let top = tempfile::tempdir().unwrap();
    let empty = top.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    for dir in [empty.display().to_string(), top.path().join("none").display().to_string()] {
        let out = top.path().join("new").display().to_string();
        let url = "http://a.test/";
        for words in [
            vec!["show", &dir],
            vec!["show", &dir, "pages"],
            vec!["export", &dir, "--table", "pages", "--format", "jsonl"],
            vec!["audit", &dir],
            vec!["resume", &dir],
            vec!["explain", url, &dir],
            vec!["report", &dir, "--host", "a.test"],
            vec!["robots", "log", "a.test", &dir],
            vec!["robots", "diff", "a.test", &dir],
            vec!["plan", "--offline", &dir],
            vec!["repair", &dir, "--out", &out],
            vec!["page", "check", "--from", &dir, url],
        ] {
            let output = Crawl::new(&words).run();
            output.expect(2);
            let message = format!(
                "error: {dir} has no crawl; start one with `crawl --seed FILE --agent NAME/VERSION --out {dir}`\n"
            );
            assert_eq!(output.stderr, message, "{words:?}");
        }
    }
}

#[test]
fn a_reader_that_goes_away_ends_show_and_export_quietly() {
    let scene = Scene::new(Sites::new().tree("a.test", 200, Duration::ZERO));
    scene.crawl_every("0s").run();
    for arguments in [
        &["export", "--table", "links", "--format", "jsonl"][..],
        &["export", "--table", "pages", "--format", "csv"],
        &["show", "links"],
        &["audit", "--json"],
    ] {
        let mut running = Command::new(whole_program::program::binary())
            .arg(arguments[0])
            .arg(scene.out())
            .args(&arguments[1..])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(running.stdout.take());
        let output = running.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}
