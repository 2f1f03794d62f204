//! What a crawl writes keeps ISO 28500, as a strict reader sees it that shares no code with the crawler.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use whole_program::program::Crawl;
use whole_program::site::{Answer, Sites};
use whole_program::warc_grammar::{Record, faults, read};

use crate::scene::Scene;

/// A site with something for each kind of record.
fn site() -> Sites {
    let links = "<meta charset=utf-8><a href=/long>1</a><a href=/copy>2</a><a href='/path with blank?q=\u{e4}|<b>'>3</a><a href=/noindex>4</a>\
                 <a href=/noarchive>5</a><a href=/gone>6</a><a href=/moved>7</a><a href=/cached>8</a><a href=/empty>9</a>\
                 <a href=/odd>10</a><a href=/large>11</a><a href=/broken>12</a>";
    let long = || Answer::html("the same words ".repeat(300));
    let sitemap = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://a.test/mapped</loc></url></urlset>";
    Sites::new()
        .page("a.test", "/robots.txt", Answer::content("text/plain", "User-agent: *\nDisallow: /private\n"))
        .page("a.test", "/sitemap.xml", Answer::content("application/xml", sitemap))
        .page("a.test", "/", Answer::html(links))
        .page("a.test", "/long", long())
        .page("a.test", "/copy", long().header("X-Copy", "1"))
        .page("a.test", "/path%20with%20blank?q=%C3%A4|%3Cb%3E", Answer::html("blanks"))
        .page("a.test", "/noindex", Answer::html("<meta name=robots content=noindex>withheld"))
        .page("a.test", "/noarchive", Answer::html("<meta name=robots content=noarchive>withheld"))
        .page("a.test", "/moved", Answer::redirect(302, "/mapped?moved"))
        .page("a.test", "/mapped", Answer::html("mapped"))
        .page("a.test", "/mapped?moved", Answer::html("moved here"))
        .page("a.test", "/cached", Answer::html("cached").header("ETag", "\"1\""))
        .page("a.test", "/cached", Answer::status(304))
        .page("a.test", "/empty", Answer::content("text/plain", ""))
        .page(
            "a.test",
            "/odd",
            Answer::content("text/html; charset=\"\u{e4}", "odd").header("X-Odd", "a\tb : c"),
        )
        .page("a.test", "/large", Answer::content("text/plain", "large ".repeat(4_000)))
        .page("a.test", "/broken", Answer::html("broken").header("Content-Length", "1"))
}

fn checked(out: &Path, gone: &BTreeSet<String>) -> Vec<Record> {
    let records = read(&out.join("warc")).expect("the grammar of section 4");
    assert_eq!(faults(&records, gone), Vec::<String>::new());
    records
}

fn kinds(records: &[Record]) -> BTreeMap<&str, usize> {
    records.iter().fold(BTreeMap::new(), |mut counts, record| {
        *counts.entry(record.kind()).or_default() += 1;
        counts
    })
}

#[test]
fn the_archive_of_a_crawl_and_its_recrawl_keeps_the_grammar_of_iso_28500() {
    let scene = Scene::new(site());
    std::fs::write(scene.path("config.toml"), "[warc]\ndedup = \"crawl\"\n").unwrap();
    let config = scene.path("config.toml");
    let contacts = ["--contact", "https://example.org/robot", "--contact", "ann@example.org"];
    scene
        .crawl()
        .args(contacts)
        .args(["--sitemaps", "--retries", "0", "--max-body", "20KB"])
        .args([Path::new("--config"), &config])
        .run();
    let records = checked(&scene.out(), &BTreeSet::new());
    let counts = kinds(&records);
    assert_eq!(counts["revisit"], 1, "the copy");
    assert!(records.iter().any(|record| record.field("WARC-Truncated") == Some("length")));

    scene.resume().args(["--revisit", "0s", "--retries", "0"]).run();
    let records = checked(&scene.out(), &BTreeSet::new());
    let profiles: BTreeSet<_> = records.iter().filter_map(|record| record.field("WARC-Profile")).collect();
    assert_eq!(kinds(&records)["warcinfo"], 2, "a file of each run");
    assert_eq!(profiles.len(), 2, "a copy and an answer 304: {profiles:?}");

    // Records that take the place of others are records, too.
    let before: BTreeSet<String> =
        records.iter().filter_map(|record| record.field("WARC-Record-ID")).map(str::to_owned).collect();
    Crawl::new([Path::new("forget"), &scene.out()]).args(["http://a.test/long"]).run().expect(0);
    let after = read(&scene.out().join("warc")).unwrap();
    let left: BTreeSet<String> =
        after.iter().filter_map(|record| record.field("WARC-Record-ID")).map(str::to_owned).collect();
    let gone: BTreeSet<String> = before.difference(&left).cloned().collect();
    assert!(!gone.is_empty());
    checked(&scene.out(), &gone);
}
