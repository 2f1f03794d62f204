//! Responses that break the rules of HTTP: what is used of them, and how the record says so.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use whole_program::output_dir::files_with;
use whole_program::program::Crawl;

use crate::archive::{crawl, record, records, serve};

/// A front page with a link to each of the others.
fn front(paths: &[&str]) -> Vec<u8> {
    let links: Vec<String> = paths.iter().map(|path| format!("<a href={path}>x</a>")).collect();
    response("Content-Type: text/html\r\n", links.concat().as_bytes())
}

fn response(fields: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{fields}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// The rows of a table, by their paths.
fn rows(out: &Path, table: &str) -> BTreeMap<String, Value> {
    let rows = Crawl::new([Path::new("export"), out]).args(["--table", table, "--format", "jsonl"]).run();
    let path = |row: &Value| row["url"].as_str().unwrap_or_default().replacen("http://a.test", "", 1);
    rows.expect(0).json().into_iter().map(|row| (path(&row), row)).collect()
}

#[test]
fn restrictions_in_lines_with_control_characters_apply_and_the_audit_agrees() {
    const LINES: [(&str, &[u8]); 15] = [
        ("/after", b"X-Robots-Tag: noindex\x01"),
        ("/before", b"X-Robots-Tag: \x0bnoindex"),
        ("/within", b"X-Robots-Tag: noi\x01ndex"),
        ("/between", b"X-Robots-Tag: noindex\x0cnofollow"),
        ("/escape", b"X-Robots-Tag: noindex\x1b[0m"),
        ("/name", b"X-Robots\x7f-Tag\x01: noindex"),
        ("/folded", b"X-Robots-Tag: nofollow,\r\n\x02noindex"),
        ("/continued", b"X-Robots-Tag: nofollow,\r\n noindex\x02"),
        ("/folded-control", b"X-Robots-Tag: nofollow,\r\n\x01 noindex"),
        ("/behind", b"garbage\r\nX-Robots-Tag: noindex"),
        ("/other", b"Robots-Tag: *=noindex\x1f"),
        ("/type", b"Content-Type: text/plain\x01\r\nX-Robots-Tag: noindex"),
        ("/nul", b"X-Robots-Tag: noindex\0"),
        ("/nul-elsewhere", b"X-Other: a\0b\r\nX-Robots-Tag: noindex"),
        ("/free", b"X-Robots-Tag: all\x01"),
    ];
    let mut paths: Vec<&str> = LINES.iter().map(|(path, _)| *path).collect();
    let page = |fields: &[u8], name: &str| {
        let body = format!("<title>t</title><p>zq-{}-zq</p>", &name[1..]);
        let length = body.len();
        let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n";
        let end = format!("\r\nContent-Length: {length}\r\n\r\n{body}");
        [head, fields, end.as_bytes()].concat()
    };
    let mut answers: Vec<(&'static str, Vec<u8>)> =
        LINES.iter().map(|(path, fields)| (*path, page(fields, path))).collect();
    paths.sort_unstable();
    answers.push(("/", front(&paths)));
    let address = serve(answers);
    let directory = tempfile::tempdir().expect("it works");
    crawl(address, directory.path()).run().expect(0);
    let out = directory.path().join("out");
    let pages = rows(&out, "pages");
    for (path, _) in LINES {
        let page = &pages[path];
        // The second line of /folded begins a field of its own, which has no name.
        let is_free = matches!(path, "/free" | "/folded");
        assert_eq!(page["indexed"], is_free, "{path}: {page}");
        let warnings = page["directive_warnings"].as_array().expect("a list");
        assert!(!warnings.is_empty(), "{path}");
        let word = format!("zq-{}-zq", &path[1..]);
        assert!(is_free || files_with(&out, &[&word]).is_empty(), "{path}");
    }
    assert!(pages["/behind"]["directive_warnings"].to_string().contains("not read"));
    Crawl::new([Path::new("audit"), &out]).run().expect(0);
}

#[test]
fn pages_whose_bodies_end_early_are_used_as_far_as_they_came() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
    let page = "<html><head><title>t</title></head><body><a href=/next>x</a>";
    let short = format!("{head}Content-Length: 999\r\n\r\n{page}");
    let unended = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{page}\r\n", page.len());
    let no_head = format!("{head}Content-Length: 999\r\n\r\n<html><head><title>zq-secret</title>");
    let forbidden =
        format!("{head}Content-Length: 999\r\n\r\n<meta name=robots content=noindex><p>zq-secret");
    let bad_chunk = format!("{head}Transfer-Encoding: chunked\r\n\r\nx\r\n{page}\r\n0\r\n\r\n");
    let range = format!("Content-Range: bytes 0-{}/{}", page.len() - 1, page.len());
    let whole_range = response(&format!("Content-Type: text/html\r\n{range}\r\n"), page.as_bytes());
    let whole_range =
        String::from_utf8(whole_range).expect("text").replacen("200 OK", "206 Partial Content", 1);
    let address = serve(vec![
        ("/", front(&["/short", "/unended", "/no-head", "/forbidden", "/bad-chunk", "/range"])),
        ("/short", short.into()),
        ("/unended", unended.into()),
        ("/no-head", no_head.into()),
        ("/forbidden", forbidden.into()),
        ("/bad-chunk", bad_chunk.into()),
        ("/range", whole_range.into()),
        ("/next", response("Content-Type: text/html\r\n", b"<title>next</title>")),
    ]);
    let directory = tempfile::tempdir().expect("it works");
    crawl(address, directory.path()).run().expect(0);
    let out = directory.path().join("out");
    let (pages, errors) = (rows(&out, "pages"), rows(&out, "errors"));
    let records = records(&out);
    for path in ["/short", "/unended"] {
        let page = &pages[path];
        assert_eq!((&page["title"], &page["truncated"]), (&"t".into(), &"disconnect".into()), "{path}");
        let response = record(&records, "response", &format!("http://a.test{path}"));
        assert_eq!(response.field("WARC-Truncated"), Some("disconnect"), "{path}");
    }
    assert_eq!((&pages["/range"]["status"], &pages["/range"]["title"]), (&200.into(), &"t".into()));
    assert_eq!(pages["/range"]["truncated"], Value::Null);
    assert_eq!(pages["/next"]["title"], "next");
    assert_eq!(pages["/forbidden"]["indexed"], false);
    assert_eq!(errors["/no-head"]["kind"], "truncated");
    assert_eq!(errors["/bad-chunk"]["kind"], "protocol");
    assert_eq!(files_with(&out, &["zq-secret"]), []);
    Crawl::new([Path::new("audit"), &out]).run().expect(0);
}

/// RFC 9111 section 3.3: what a validator of an incomplete response vouches for isn't what is stored.
#[test]
fn a_page_whose_end_was_lost_is_asked_for_in_full_and_replaces_no_whole_one() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nETag: \"v1\"\r\n";
    let begin = "<title>t</title><body><p>begin";
    let body = format!("{begin}<a href=/late>x</a>");
    let whole = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let cut = format!("{head}Content-Length: {}\r\n\r\n{begin}", body.len());
    let other = response("Content-Type: text/html\r\n", body.replace("begin", "other").as_bytes());
    let other_cut = cut.replace("begin", "other");
    let hidden_cut = cut.replace("<title>", "<meta name=robots content=noindex><title>");
    let address = serve(vec![
        ("/", front(&["/first", "/later", "/hidden"])),
        ("/first", cut.clone().into()),
        ("/first", whole.clone().into()),
        ("/later", other),
        ("/later", other_cut.replace("ETag", "X-Tag").into()),
        ("/hidden", response("Content-Type: text/html\r\n", body.as_bytes())),
        ("/hidden", hidden_cut.into()),
        ("/late", response("Content-Type: text/html\r\n", b"<title>late</title>")),
    ]);
    let directory = tempfile::tempdir().expect("it works");
    crawl(address, directory.path()).run().expect(0);
    let out = directory.path().join("out");
    let before = rows(&out, "pages");
    assert_eq!(before["/first"]["truncated"], "disconnect");
    assert_eq!((&before["/later"]["truncated"], &before["/hidden"]["indexed"]), (&Value::Null, &true.into()));

    Crawl::new([Path::new("resume"), &out]).args(["--revisit", "0s"]).run().expect(0);
    let after = rows(&out, "pages");
    let fields = ["truncated", "digest", "bytes", "title"];
    assert_eq!(fields.map(|field| &after["/later"][field]), fields.map(|field| &before["/later"][field]));
    assert_eq!((&after["/later"]["visits"], &after["/later"]["changes"]), (&2.into(), &0.into()));
    assert_eq!((&after["/first"]["truncated"], &after["/first"]["links_out"]), (&Value::Null, &1.into()));
    assert_eq!(after["/late"]["title"], "late");
    assert_eq!(after["/hidden"]["indexed"], false, "what the part forbids holds");
    assert!(after["/hidden"]["withdrawn_because"].to_string().contains("noindex"));
    Crawl::new([Path::new("audit"), &out]).run().expect(0);
}

#[test]
fn a_location_in_another_encoding_is_followed_and_one_that_is_missing_is_an_error() {
    let to = |location: &[u8]| {
        let head = b"HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\n";
        [head, location, b"\r\n"].concat()
    };
    let address = serve(vec![
        ("/", front(&["/latin", "/nowhere"])),
        ("/latin", to(b"Location: /caf\xe9?q=\xa3\r\n")),
        ("/nowhere", to(b"")),
        ("/caf%E9?q=%A3", response("Content-Type: text/html\r\n", b"<title>coffee</title>")),
    ]);
    let directory = tempfile::tempdir().expect("it works");
    crawl(address, directory.path()).run().expect(0);
    let out = directory.path().join("out");
    let (pages, errors) = (rows(&out, "pages"), rows(&out, "errors"));
    assert_eq!(pages["/latin"]["redirect"], "http://a.test/caf%E9?q=%A3");
    assert_eq!(pages["/caf%E9?q=%A3"]["title"], "coffee");
    assert_eq!(errors["/nowhere"]["kind"], "no_location");
    Crawl::new([Path::new("audit"), &out]).run().expect(0);
}
