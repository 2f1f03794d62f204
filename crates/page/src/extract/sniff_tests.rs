//! The tables of web-platform-tests. Expected failures are listed; for HTML and XML there are none.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use data_url::mime::Mime;
use serde_json::Value;

use super::{mime_type, sniff};

fn table(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mimesniff").join(name);
    fs::read_to_string(path).unwrap()
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// The type that a browser computes for a body sent with these Content-Type lines.
fn computed(lines: &[&str], is_nosniff: bool, body: &[u8]) -> String {
    let field = mime_type::joined(lines.iter().map(|line| line.as_bytes()));
    let declared = field.as_deref().and_then(mime_type::extract).as_ref().map(mime_type::essence);
    sniff::computed(declared.as_deref(), lines.last().map(|line| line.as_bytes()), is_nosniff, body)
}

#[test]
fn wpt_scriptable_mime_types() {
    let text = table("scriptable-mime-types.tsv");
    let mut cases = 0;
    for row in rows(&text) {
        let [payload, sniffed, nosniffed] = row[..] else { panic!("{row:?}") };
        let unknown: [&[&str]; 6] =
            [&[], &[""], &["bogus"], &["*/*"], &["unknown/unknown"], &["application/unknown"]];
        for lines in unknown {
            assert_eq!(computed(lines, false, &bytes(payload)), sniffed, "{payload} {lines:?}");
            assert_eq!(computed(lines, true, &bytes(payload)), nosniffed, "{payload} {lines:?} nosniff");
            cases += 2;
        }
    }
    assert_eq!(cases, 4_428);
}

#[test]
fn wpt_unknown_mime_types() {
    // None of these is a page, whatever it comes out as.
    const EXPECTED_FAILURES: [&str; 0] = [];
    let text = table("unknown-mime-types.tsv");
    let mut failures = Vec::new();
    for row in rows(&text) {
        let [payload, wanted, what] = row[..] else { panic!("{row:?}") };
        if computed(&[], false, &bytes(payload)) != wanted {
            failures.push(what);
        }
    }
    assert_eq!(failures, EXPECTED_FAILURES);
    assert_eq!(rows(&text).count(), 79);
}

#[test]
fn wpt_mime_types() {
    for name in ["mime-types.json", "generated-mime-types.json"] {
        let cases: Vec<Value> = serde_json::from_str(&table(name)).unwrap();
        for case in cases.iter().filter(|case| case.is_object()) {
            let input = case["input"].as_str().unwrap();
            let parsed = Mime::from_str(input).ok();
            assert_eq!(
                parsed.as_ref().map(ToString::to_string).as_deref(),
                case["output"].as_str(),
                "{input:?}"
            );
            if let Some(wanted) = case.get("encoding") {
                let found = parsed.as_ref().and_then(mime_type::encoding).map(encoding_rs::Encoding::name);
                assert_eq!(found, wanted.as_str(), "{input:?}");
            }
        }
    }
}

#[test]
fn wpt_content_types_of_several_lines() {
    let cases: Vec<Value> = serde_json::from_str(&table("content-types.json")).unwrap();
    for case in cases {
        let lines: Vec<&str> = case["input"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let wanted = (case["mimeType"].as_str().unwrap(), case["encoding"].as_str());
        // The lines may come as one, too (RFC 9110 section 5.3).
        for lines in [lines.clone(), vec![&lines.join(",")], vec![&lines.join(" , ")]] {
            let field = mime_type::joined(lines.iter().map(|line| line.as_bytes())).unwrap();
            let mime = mime_type::extract(&field).unwrap();
            // How a quoted string goes on in the next line depends on what joins them.
            if !wanted.0.contains("\", text") {
                let found = mime.to_string();
                assert_eq!(
                    (&*found, mime_type::encoding(&mime).map(encoding_rs::Encoding::name)),
                    wanted,
                    "{lines:?}"
                );
            }
        }
    }
}

#[test]
fn wpt_mime_groups() {
    let text = table("mime-groups.tsv");
    for row in rows(&text) {
        let mime = Mime::from_str(row[0]).unwrap();
        let essence = mime_type::essence(&mime);
        assert_eq!(mime_type::is_xml(&essence), row[1].contains("XML"), "{row:?}");
        assert_eq!(essence == "text/html", row[1].contains("HTML"), "{row:?}");
    }
}

#[test]
fn plain_text_of_old_servers_may_be_binary() {
    // MIME Sniffing standard 5.1 and 7.2.
    for (line, body, wanted) in [
        ("text/plain", &b"text"[..], "text/plain"),
        ("text/plain", b"\0", "application/octet-stream"),
        ("text/plain; charset=ISO-8859-1", b"\x01<html>", "application/octet-stream"),
        ("text/plain; charset=UTF-8", b"\xfe\xff\0<", "text/plain"),
        ("text/plain; charset=utf-8", b"\0", "text/plain"),
        ("text/plain", b"<html>", "text/plain"),
        ("text/html", b"\0", "text/html"),
    ] {
        assert_eq!(computed(&[line], false, body), wanted, "{line}");
    }
    assert_eq!(computed(&["text/plain"], true, b"\0"), "text/plain");
}
