//! The vectors of page directives, every key that they expect.

use crate::html::Page;
use meta::{Agent, Dialect, Sources, resolve};
use serde_json::{Value, json};
use url::Url;

const VECTORS: &str = include_str!("../../../../tests/data/vectors/meta/page-directives.jsonl");

#[test]
fn every_vector_is_decided_as_expected() {
    let mut failures = Vec::new();
    let mut count = 0;
    for line in VECTORS.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let found = decide(&case);
        for (key, expected) in case["expect"].as_object().unwrap() {
            if found[key] != *expected {
                failures.push(format!("{} {key}: {} instead of {expected}", case["id"], found[key]));
            }
        }
        count += 1;
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(count, 75);
}

fn decide(case: &Value) -> Value {
    let page = case["html"].as_str().map(Page::read_html).unwrap_or_default();
    let headers: Vec<(String, String)> =
        serde_json::from_value::<Option<_>>(case["headers"].clone()).unwrap().unwrap_or_default();
    let aliases: Vec<String> =
        serde_json::from_value::<Option<_>>(case["aliases"].clone()).unwrap().unwrap_or_default();
    let agent = Agent::new(case["agent"].as_str().unwrap()).with_aliases(aliases);
    let dialect: Dialect = case["dialect"].as_str().unwrap().parse().unwrap();
    let now = case["now"].as_str().unwrap().parse().unwrap();
    let directives = resolve(&Sources { headers: &headers, metas: &page.metas }, &agent, dialect, now);

    let mut found = serde_json::to_value(&directives).unwrap();
    found["effects"] = serde_json::to_value(directives.effects()).unwrap();
    found["revisit_after_days"] = json!(directives.revisit_after.map(|time| time.as_secs() / 86_400));
    if let Some(url) = case["url"].as_str() {
        let url = Url::parse(url).unwrap();
        let queued = page.links.iter().filter(|(_, may_queue)| *may_queue && directives.follow);
        found["links"] = queued.map(|(href, _)| page.resolve(&url, href)).collect();
        if let Some(canonical) = &page.canonical {
            found["canonical"] = json!(page.resolve(&url, canonical));
        }
    }
    found
}
