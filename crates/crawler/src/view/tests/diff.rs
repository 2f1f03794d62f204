use serde_json::json;

use super::*;
use crate::tables::diff::{DiffFormat, write_diff};

fn found(one: &View, two: &View) -> (bool, Vec<Value>, String) {
    let (mut lines, mut text) = (Vec::new(), Vec::new());
    let counts = write_diff(one, two, DiffFormat::Json, &mut lines).unwrap();
    assert_eq!(write_diff(one, two, DiffFormat::Text, &mut text).unwrap(), counts);
    let lines = String::from_utf8(lines).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (counts.is_same(), lines, String::from_utf8(text).unwrap())
}

fn crawl_of(pages: Vec<PageRecord>, robots_txt: &[(&str, i64, &str)]) -> View {
    let mut crawl = Crawl::new();
    for record in pages {
        crawl.store_page(record, Vec::new());
    }
    for (origin, second, body) in robots_txt {
        let mut record = robots(origin, *second, "rules");
        record.set_body(body.as_bytes());
        crawl.batch.robots.push(Arc::new(record));
    }
    crawl.view()
}

fn other(url: &str, change: impl FnOnce(&mut PageRecord)) -> PageRecord {
    let mut record = page(url, Some(200));
    change(&mut record);
    record
}

#[test]
fn what_was_added_is_gone_or_changed_is_listed_and_nothing_else() {
    let one = crawl_of(
        vec![
            page("http://b.test/same", Some(200)),
            page("http://a.test/gone", Some(200)),
            other("http://a.test/text", |record| record.simhash = Some(0b1111)),
            page("http://a.test/state", Some(200)),
            page("http://a.test/closed", Some(200)),
            page("http://c.test/late", None),
        ],
        &[
            ("http://a.test", 1, "User-agent: *\nDisallow: /a\n"),
            ("http://b.test", 1, "User-agent: *\nDisallow: /x\n"),
            ("http://b.test", 2, "User-agent: *\nDisallow: /y\n"),
        ],
    );
    let two = crawl_of(
        vec![
            other("http://b.test/same", |record| {
                record.fetched_at = at(99);
                record.duration_ms = 7;
                record.depth = 4;
            }),
            other("http://a.test/text", |record| {
                record.simhash = Some(0b0110);
                record.digest = Some("blake3:01".to_owned());
            }),
            page("http://a.test/state", Some(404)),
            other("http://a.test/closed", |record| {
                record.directives = vec![directive("nofollow")];
                record.followed = false;
            }),
            page("http://a.test/new", Some(200)),
        ],
        &[
            ("http://a.test", 1, "User-agent: *\nDisallow: /b\n"),
            // The last answer counts.
            ("http://b.test", 1, "User-agent: *\nDisallow: /y\n"),
        ],
    );
    let (is_same, lines, text) = found(&one, &two);
    assert!(!is_same);
    let brief: Vec<_> = lines
        .iter()
        .map(|line| json!([line["what"], line["change"], line["url"], line["changed"], line["similarity"]]))
        .collect();
    assert_eq!(
        brief,
        [
            json!(["page", "changed", "http://a.test/closed", ["directives"], null]),
            json!(["page", "gone", "http://a.test/gone", [], null]),
            json!(["page", "added", "http://a.test/new", [], null]),
            json!(["page", "changed", "http://a.test/state", ["status", "directives"], null]),
            json!(["page", "changed", "http://a.test/text", ["content"], 0.96875]),
            json!(["robots", "changed", null, ["rules"], null]),
            json!(["summary", null, null, null, null]),
        ]
    );
    assert_eq!((&lines[1]["before"]["status"], &lines[1]["after"]), (&json!(200), &Value::Null));
    assert_eq!(lines[5]["lines"], json!([" User-agent: *", "-Disallow: /a", "+Disallow: /b"]));
    assert_eq!(lines[6]["pages"], json!({"added": 1, "gone": 1, "changed": 3, "same": 1}));
    assert_eq!(lines[6]["robots"], json!({"added": 0, "gone": 0, "changed": 1, "same": 1}));
    for line in [
        "~ http://a.test/closed  directives (+nofollow followed true -> false)\n",
        "- http://a.test/gone  status 200\n",
        "+ http://a.test/new  status 200\n",
        "~ http://a.test/state  status 200 -> 404, directives (indexed true -> false)\n",
        "~ http://a.test/text  content (similarity 0.97)\n",
        "~ http://a.test/robots.txt  the rules changed\n     User-agent: *\n    -Disallow: /a\n    +Disallow: /b\n",
        "pages: 1 added, 1 removed, 3 changed, 1 unchanged\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    let (is_same, lines, text) = found(&one, &one);
    assert!(is_same && lines.len() == 1, "{text}");
    let (_, turned, _) = found(&two, &one);
    assert_eq!((&turned[1]["change"], &turned[2]["change"]), (&json!("added"), &json!("gone")));
}
