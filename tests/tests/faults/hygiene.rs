//! Text from the web in every place that it can come from, and every place that it could come out of: no terminal is steered, no cell
//! is run, no line is forged, no file is named by it.

use std::fmt::Write as _;

use whole_program::output_dir::files;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// What steers terminals, readers and spreadsheets.
const HOSTILE: [&str; 14] = [
    "\u{1b}[31mred\u{1b}[0m",
    "\u{1b}]0;owned\u{7}",
    "\u{1b}]8;;http://evil.test/\u{1b}\\click",
    "\u{9b}31mred",
    "\u{9d}0;owned\u{9c}",
    "a\u{202e}gnp.exe",
    "a\u{2066}b\u{2069}",
    "a\u{0}b\u{8}c\u{7f}",
    "one\r\nWARC-Type: forged\r\n\r\ntwo",
    "line\u{2028}separator\u{85}next",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "\t=1+1",
    "-2+3+cmd|' /C calc'!D2",
];

fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[track_caller]
fn clean(what: &str, text: &str, allowed: &[char]) {
    let found = text.char_indices().find(|(_, c)| steers(*c) && !allowed.contains(c));
    if let Some((at, c)) = found {
        let near: String = text[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
        panic!("{what} holds {c:?} behind {near:?}");
    }
}

/// A site that says all of it everywhere.
fn scene() -> Scene {
    let mut sites = Sites::new();
    let mut front = String::new();
    for (n, text) in HOSTILE.iter().enumerate() {
        let _ = writeln!(front, "<a href=\"/{n}\" rel=\"{text}\" hreflang=\"{text}\">{text}</a>");
        let _ = writeln!(front, "<a href=\"/q?x={text}\">q</a><a href=\"{text}:nothing\">n</a>");
        let _ =
            writeln!(front, "<a href=\"http://elsewhere.test/{text}\" rel=\"nofollow {text}\">{text}</a>");
        let head = format!(
            "<title>{text}</title><meta name=description content=\"{text}\"><meta name=keywords content=\"{text},b\">\
             <meta name=robots content=\"{text}\"><meta property=\"og:title\" content=\"{text}\">\
             <link rel=canonical href=\"/{text}\"><script type=\"application/ld+json\">{{\"name\":\"{text}\"}}</script>"
        );
        let page =
            Answer::html(format!("<html lang=\"{text}\"><head>{head}</head><body>{text}</body></html>"));
        // What a field may have: no CR, LF, NUL, ESC.
        let field: String = text.chars().filter(|c| !c.is_ascii_control() || *c == '\t').collect();
        let page =
            page.header("ETag", &field).header("X-Robots-Tag", &field).header("Content-Language", &field);
        sites = sites.page("a.test", &format!("/{n}"), page);
        let target = format!("/moved/{field}");
        let _ = writeln!(front, "<a href=\"/to/{n}\">to</a><a href=\"/type/{n}\">type</a>");
        sites = sites.page("a.test", &format!("/to/{n}"), Answer::redirect(301, &target));
        sites = sites.page("a.test", &format!("/type/{n}"), Answer::content(&format!("text/{field}"), "x"));
    }
    let mut rules = String::new();
    for text in HOSTILE {
        let _ = writeln!(rules, "Disallow: /private/{text}\n# {text}\n{text}: x");
    }
    let robots = Answer::content("text/plain", format!("User-agent: *\n{rules}"));
    Scene::new(sites.page("a.test", "/robots.txt", robots).page("a.test", "/", Answer::html(front)))
}

#[test]
fn nothing_from_the_web_steers_a_terminal_runs_in_a_sheet_or_forges_a_line() {
    let scene = scene();
    let output = scene.crawl().args(["-vvv", "--retries", "0"]).run();
    output.expect(0);
    clean("stdout of the crawl", &output.stdout, &['\n']);
    clean("stderr of the crawl", &output.stderr, &['\n']);
    assert!(output.stderr.contains("owned") || output.stderr.contains("cmd"), "the test is worth something");
    for file in files(&scene.out().join("log")) {
        let log = std::fs::read_to_string(&file).unwrap();
        clean("the log", &log, &['\n']);
        assert!(log.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    }
    let tables = ["pages", "links", "hosts", "robots", "queue", "skipped", "ledger", "errors", "changes"];
    clean("show", &scene.look("show", &[]).expect(0).stdout, &['\n']);
    for table in tables {
        let shown = scene.look("show", &[table]);
        clean(&format!("show {table}"), &shown.expect(0).stdout, &['\n', '\t']);
        let json = scene.look("export", &["--table", table, "--format", "jsonl"]);
        clean(&format!("{table} as JSON lines"), &json.expect(0).stdout, &['\n']);
        let csv = scene.look("export", &["--table", table, "--format", "csv"]);
        clean(&format!("{table} as CSV"), &csv.expect(0).stdout, &['\n', '\r']);
        let mut reader = csv::ReaderBuilder::new().has_headers(true).from_reader(csv.stdout.as_bytes());
        for row in reader.records() {
            for cell in &row.unwrap() {
                let runs = cell.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
                assert!(!runs || cell.parse::<f64>().is_ok(), "{table}: a sheet would run {cell:?}");
            }
        }
        assert!(
            csv.stdout.lines().count() > 1 || matches!(table, "queue" | "errors" | "changes"),
            "{table} is empty"
        );
    }
    let titles = scene.table("pages");
    assert!(titles.iter().any(|page| page["title"].as_str().is_some_and(|title| title.contains("cmd"))));
    let output = scene.look("audit", &[]);
    clean("audit", &(output.stdout.clone() + &output.stderr), &['\n']);
}

#[test]
fn no_record_of_the_archive_has_a_field_of_the_web_s_and_no_file_a_name() {
    let scene = scene();
    scene.crawl().args(["--retries", "0"]).run().expect(0);
    let mut records = 0;
    for path in files(&scene.out()) {
        let name = path.strip_prefix(scene.out()).unwrap().to_str().unwrap().to_owned();
        let ours = ["crawl.toml", ".lock", "log/crawl.jsonl", "db/db", "db/conf", "db/sealed"];
        let of_counters =
            ["warc/crawl-", "db/snap.", "db/blobs/"].iter().find_map(|prefix| name.strip_prefix(prefix));
        let counted = of_counters.is_some_and(|rest| {
            rest.trim_end_matches(".warc.gz")
                .trim_end_matches(".cdxj")
                .chars()
                .all(|c| c.is_ascii_hexdigit() || c == '-')
        });
        assert!(
            ours.contains(&name.as_str()) || counted || is_of_index(&name),
            "{name} isn't a name of ours"
        );
        if !name.ends_with(".warc.gz") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let mut plain = Vec::new();
            let mut member = flate2::bufread::GzDecoder::new(rest);
            std::io::Read::read_to_end(&mut member, &mut plain).unwrap();
            rest = member.into_inner();
            let end = plain.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
            let head = String::from_utf8(plain[..end].to_vec()).unwrap();
            clean("the head of a record", &head, &['\r', '\n', '\u{202e}', '\u{2066}', '\u{2069}']);
            for line in head.split("\r\n").skip(1) {
                let name = line.split(':').next().unwrap();
                let is_own = ["Crawl-Purpose", "Crawl-Refers-To-Place"].contains(&name);
                assert!(is_own || name.starts_with("WARC-") || name.starts_with("Content-"), "{line}");
                assert!(!line.contains("forged") || name == "WARC-Target-URI", "{line}");
            }
            let length = head.split("\r\n").find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
            assert_eq!(plain.len(), end + 4 + length.parse::<usize>().unwrap() + 4, "{head}");
            records += 1;
        }
    }
    assert!(records > 20, "{records} records");
}

/// A name that the full-text index gives: a random number and what kind of file it is.
fn is_of_index(name: &str) -> bool {
    let Some(name) = name.strip_prefix("index/") else { return false };
    let kinds = ["fast", "fieldnorm", "idx", "pos", "store", "term", "del"];
    let is_random = |text: &str| text.len() == 32 && text.chars().all(|c| c.is_ascii_hexdigit());
    let mut parts = name.split('.');
    let is_segment = parts.next().is_some_and(is_random)
        && parts.next_back().is_some_and(|kind| kinds.contains(&kind))
        && parts.all(|part| part.chars().all(|c| c.is_ascii_digit()));
    is_segment || ["meta.json", ".managed.json", ".tantivy-meta.lock", ".tantivy-writer.lock"].contains(&name)
}
