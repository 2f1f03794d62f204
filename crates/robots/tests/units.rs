//! The parts of the reading, one by one (`units.jsonl`): path of a URL, tokens, line numbers, marks, the file's URL.
#![allow(clippy::unwrap_used, reason = "a test that can't read its table has failed")]

mod kit;

use robots::{Agent, Dialect, Robots, is_product_token, path_of_url, robots_url};
use serde_json::Value;

fn input(row: &Value) -> Vec<u8> {
    match row["input"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => data_encoding::BASE64.decode(row["input_b64"].as_str().unwrap().as_bytes()).unwrap(),
    }
}

#[test]
fn every_unit() {
    let mut asked = 0;
    for row in kit::rows("units.jsonl") {
        let bytes = input(&row);
        let text = String::from_utf8_lossy(&bytes);
        let (id, want) = (&row["id"], &row["output"]);
        match row["kind"].as_str().unwrap() {
            "path-of-url" => assert_eq!(path_of_url(&text), want.as_str().unwrap(), "{id}"),
            "robots-url" => assert_eq!(robots_url(&text).as_deref(), want.as_str(), "{id}"),
            "valid-product-token" => assert_eq!(is_product_token(&text), want.as_bool().unwrap(), "{id}"),
            "escape-pattern" => escape_pattern(&text, want.as_str().unwrap()),
            "line-count" => {
                // The last line is the rule that decides for `bar`; four lines are known.
                let robots = Robots::parse(&bytes, &Agent::new("bar"), &Dialect::Rfc9309.into(), None);
                assert_eq!(robots.known_fields() as u64, want["directives"].as_u64().unwrap(), "{id}");
                assert_eq!(robots.verdict("/x").line.map(u64::from), want["last_line"].as_u64(), "{id}");
            }
            "bom" => {
                let robots = Robots::parse(&bytes, &Agent::new("foo"), &Dialect::Rfc9309.into(), None);
                assert_eq!(robots.known_fields() as u64, want["directives"].as_u64().unwrap(), "{id}");
                let unknown = robots
                    .warnings()
                    .iter()
                    .filter(|w| w.kind.name() == "unknown-field" || w.kind.name() == "likely-typo");
                assert_eq!(unknown.count() as u64, want["unknown"].as_u64().unwrap(), "{id}");
            }
            other => panic!("unknown kind {other}"),
        }
        asked += 1;
    }
    assert_eq!(asked, 45);
}

/// Escaping shows in what a rule matches: the rule as written and as escaped decide the same URLs.
fn escape_pattern(rule: &str, escaped: &str) {
    let decides = |rule: &str, path: &str| {
        let file = format!("User-agent: *\nDisallow: /x{rule}$\n");
        !Robots::parse(file.as_bytes(), &Agent::new("a"), &Dialect::Rfc9309.into(), None)
            .verdict(path)
            .allowed
    };
    for path in [format!("/x{escaped}"), format!("/x{rule}")] {
        assert!(decides(rule, &path) && decides(escaped, &path), "{rule} {path}");
    }
    assert!(!decides(rule, &format!("/x{escaped}x")));
}
