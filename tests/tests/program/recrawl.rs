//! `crawl recrawl`: which pages are asked for again, how, and what is recorded of their changes.

use std::collections::BTreeMap;
use std::path::Path;

use crawler::warc::{Reader, Record};
use serde_json::Value;
use whole_program::output_dir::{files, files_with};
use whole_program::program::Output;
use whole_program::request_log::Request;
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

const PAGES: usize = 20;

fn text(words: &str) -> String {
    (0..60).map(|number| format!("{words} {number}")).collect::<Vec<_>>().join(" ")
}

fn page(number: usize, head: &str, words: &str) -> Answer {
    let body = format!(
        "<html><head><title>Page {number}</title>{head}</head><body><p>{}</p></body></html>",
        text(words)
    );
    Answer::html(body).header("ETag", &format!("\"{number}\""))
}

fn path(number: usize) -> String {
    format!("/page{number}")
}

/// Twenty pages: two change, two are gone, two turn noindex, the others answer 304; and a front page.
fn site() -> Sites {
    let link = |number| format!("<a href={}>{number}</a>", path(number));
    let links = (0..PAGES).map(link).collect::<Vec<_>>().join(" ");
    let mut sites = Sites::new().page("a.test", "/", Answer::html(links));
    for number in 0..PAGES {
        let later = match number {
            0 | 1 => page(number, "", "zqnew other words"),
            2 | 3 => Answer::status(404),
            4 | 5 => page(number, "<meta name=robots content=noindex>", "zqclosed words"),
            _ => Answer::status(304).header("ETag", &format!("\"{number}\"")),
        };
        let first = if matches!(number, 4 | 5) { "zqclosed words" } else { "old words" };
        sites =
            sites.page("a.test", &path(number), page(number, "", first)).page("a.test", &path(number), later);
    }
    sites
}

fn recrawl(scene: &Scene, args: &[&str]) -> Output {
    scene.look("recrawl", args)
}

fn records(out: &Path) -> Vec<Record> {
    files(&out.join("warc"))
        .iter()
        .filter(|path| path.to_string_lossy().ends_with(".warc.gz"))
        .flat_map(|path| Reader::open(path).expect("it opens").map(|record| record.expect("a whole record")))
        .collect()
}

/// The rows of table `changes` by their URLs' paths.
fn changes(scene: &Scene) -> BTreeMap<String, Vec<Value>> {
    let mut changes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for row in scene.table("changes") {
        let path = row["url"].as_str().expect("a URL").trim_start_matches("http://a.test").to_owned();
        changes.entry(path).or_default().push(row);
    }
    changes
}

#[test]
fn a_recrawl_asks_conditionally_and_records_what_changed() {
    let scene = Scene::new(site());
    scene.crawl().run().expect(0);
    assert_eq!(changes(&scene), BTreeMap::new());
    let before = scene.server.log().len();

    let output = recrawl(&scene, &["--older-than", "0s"]);
    assert!(output.expect(0).stderr.contains("revisiting 21 pages"), "{output}");
    let log = scene.server.log();
    let asked = sorted(log[before..].iter().map(Request::url).collect());
    let mut expected: Vec<_> = (0..PAGES).map(|number| format!("http://a.test{}", path(number))).collect();
    expected.push("http://a.test/".to_owned());
    assert_eq!(asked, sorted(expected), "each page once, and nothing else");
    for hit in scene.server.hits().iter().skip(before) {
        let condition = hit.field("if-none-match");
        assert_eq!(condition.is_some(), hit.request.url() != "http://a.test/", "{}", hit.request.url());
    }
    scene.assert_polite();

    // Requests and answers as the ledger has them.
    let ledger = scene.table("ledger");
    let status = |reason: &str| ledger.iter().filter(|entry| entry["reason"] == reason).count();
    assert_eq!((status("http_304"), status("http_404")), (14, 2 + usize::from(status("http_404") > 2)));

    // An answer 304 is a revisit record that refers to the response.
    let records = records(&scene.out());
    let revisits: Vec<_> = records.iter().filter(|record| record.kind() == "revisit").collect();
    assert_eq!(revisits.len(), 14);
    for revisit in revisits {
        let url = revisit.field("WARC-Target-URI");
        let response = records
            .iter()
            .find(|record| record.kind() == "response" && record.field("WARC-Target-URI") == url)
            .expect("the response");
        let profile = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
        for (name, value) in [
            ("WARC-Profile", Some(profile)),
            ("WARC-Refers-To-Target-URI", url),
            ("WARC-Refers-To-Date", response.field("WARC-Date")),
            ("WARC-Payload-Digest", None),
        ] {
            assert_eq!(revisit.field(name), value, "{name}");
        }
        assert!(revisit.block.starts_with(b"HTTP/1.1 304 ") && revisit.block.ends_with(b"\r\n\r\n"));
        let request = records.iter().any(|record| {
            record.kind() == "request"
                && record.field("WARC-Concurrent-To") == revisit.field("WARC-Record-ID")
                && !String::from_utf8_lossy(&record.block).to_ascii_lowercase().contains("if-none-match")
        });
        assert!(request, "with its request");
    }

    // The changes, and only these.
    let found = changes(&scene);
    let paths: Vec<_> = found.keys().cloned().collect();
    assert_eq!(paths, (0..6).map(path).collect::<Vec<_>>());
    for (path, rows) in &found {
        let [row] = &rows[..] else { panic!("{path}: {rows:?}") };
        let number: usize = path.trim_start_matches("/page").parse().unwrap();
        let (changed, status, indexed) = match number {
            0 | 1 => (vec!["content"], 200, true),
            2 | 3 => (vec!["status", "content"], 404, false),
            _ => (vec!["indexed"], 200, false),
        };
        assert_eq!(row["changed"], serde_json::json!(changed), "{path}");
        assert_eq!((&row["status_before"], &row["status"]), (&200.into(), &status.into()), "{path}");
        assert_eq!((&row["indexed_before"], &row["indexed"]), (&true.into(), &indexed.into()), "{path}");
        assert_eq!(row["digest_before"].is_string(), number < 4, "{path}: none of a page under noindex");
        let similarity = row["similarity"].as_f64();
        assert_eq!(similarity.is_some(), number < 2, "{path}");
        assert!(similarity.is_none_or(|alike| alike < 0.95), "{path}: {similarity:?}");
        assert!(row["last_seen_before"].as_str() < row["at"].as_str(), "{path}");
    }
    assert_eq!(files_with(&scene.out(), &["zqclosed"]), []);
    scene.look("audit", &[]).expect(0);
    for (format, file) in [("csv", "changes.csv"), ("sqlite", "all.sqlite"), ("parquet", "changes.parquet")] {
        let file = scene.path(file);
        let table = if format == "sqlite" { vec![] } else { vec!["--table", "changes"] };
        let to = ["--format", format, "-o", file.to_str().unwrap()];
        scene.look("export", &[&to[..], &table].concat()).expect(0);
    }

    // Twice visited within a second: nothing is due by its own interval. The changed ones alone, where these are asked for.
    let count = |args: &[&str]| {
        let before = scene.server.count();
        let output = recrawl(&scene, args);
        output.expect(0);
        (output.stderr.clone(), scene.server.count() - before)
    };
    let (said, asked) = count(&[]);
    assert!(said.contains("no page is due; the next is due at 20") && asked == 0, "{said} {asked}");
    let (said, asked) = count(&["--older-than", "0s", "--changed-only"]);
    assert!(said.contains("revisiting 6 pages") && asked == 6, "{said} {asked}");
    // Nothing changed since.
    assert_eq!(changes(&scene).values().map(Vec::len).sum::<usize>(), 6);
    let (said, _) = count(&["--older-than", "0s"]);
    assert!(said.contains("revisiting 21 pages"), "{said}");
    scene.look("audit", &[]).expect(0);
}

#[test]
fn an_unchanged_page_that_is_withdrawn_later_takes_the_records_of_its_answers_304_with_it() {
    let tagged = |answer: Answer| answer.header("ETag", "\"zqtag\"");
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/x>x</a>"))
        .page("a.test", "/x", tagged(page(1, "", "zqtext")))
        .page("a.test", "/x", tagged(Answer::status(304)))
        .page("a.test", "/x", tagged(Answer::status(304)))
        .page("a.test", "/x", Answer::html("<meta name=robots content=noindex>"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    for _ in 0..2 {
        recrawl(&scene, &["--older-than", "0s"]).expect(0);
        scene.look("audit", &[]).expect(0);
    }
    assert_eq!(records(&scene.out()).iter().filter(|record| record.kind() == "revisit").count(), 2);
    assert!(!files_with(&scene.out().join("warc"), &["zqtag"]).is_empty());
    recrawl(&scene, &["--older-than", "0s"]).expect(0);
    assert_eq!(files_with(&scene.out(), &["zqtag", "zqtext"]), []);
    assert_eq!(records(&scene.out()).iter().filter(|record| record.kind() == "revisit").count(), 0);
    scene.look("audit", &[]).expect(0);
    // A repair takes none of them for the page.
    let repaired = scene.path("repaired");
    scene.look("repair", &["--out", repaired.to_str().unwrap()]).expect(0);
}

#[test]
fn neither_revisit_after_nor_a_cache_lifetime_is_cut_short() {
    let answer = |name: &str, value: &str| page(1, "", "words").header(name, value);
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/fresh>1</a><a href=/expires>2</a><a href=/stale>3</a><a href=/aged>4</a><a href=/wish>5</a>"))
        .page("a.test", "/fresh", answer("Cache-Control", "public, max-age=3600"))
        .page("a.test", "/expires", answer("Expires", "Fri, 01 Jan 2100 00:00:00 GMT"))
        .page("a.test", "/stale", answer("Cache-Control", "no-cache, max-age=3600"))
        .page("a.test", "/aged", answer("Cache-Control", "max-age=3600").header("Age", "3600"))
        .page("a.test", "/wish", page(1, "<meta name=revisit-after content='3 days'>", "words"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let before = scene.server.log().len();
    // The old spelling does the same.
    scene.resume().args(["--revisit", "0s"]).run().expect(0);
    let asked = sorted(scene.server.log()[before..].iter().map(Request::url).collect());
    assert_eq!(asked, ["http://a.test/", "http://a.test/aged", "http://a.test/stale"]);
}
