//! The conformance vectors: what gates what is said in their README.
#![allow(clippy::unwrap_used, reason = "a test that can't read its table has failed")]

mod kit;

use robots::{Additions, Agent, Dialect, Options, Robots, Verdict};
use serde_json::Value;

fn parse(row: &Value, options: &Options) -> Robots {
    Robots::parse(&kit::body(row), &Agent::new(row["agent"].as_str().unwrap()), options, None)
}

fn verdict(row: &Value, options: &Options) -> Option<Verdict> {
    kit::url(row).map(|url| parse(row, options).verdict(&url))
}

fn cases(dialect: &str) -> Vec<Value> {
    let files = ["google.jsonl", "rfc9309.jsonl", "book.jsonl", "edge.jsonl"];
    files
        .into_iter()
        .flat_map(kit::rows)
        .filter(|row| row["dialect"] == dialect && row["allowed"].is_boolean())
        .collect()
}

fn assert_none(failed: &[String]) {
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn rfc9309_every_gating_case() {
    let cases = cases("rfc9309");
    assert_eq!(cases.len(), 1014);
    let mut failed = Vec::new();
    for row in &cases {
        let verdict = verdict(row, &Dialect::Rfc9309.into()).unwrap();
        if Some(verdict.allowed) != row["allowed"].as_bool() {
            failed.push(format!("{}: {verdict}", row["id"]));
        }
    }
    assert_none(&failed);
}

/// The additions that bear on a file, H5 aside, which `rfc9309` makes too; taken away, `hardened` must answer as RFC 9309.
fn without_what_came_to_bear(robots: &Robots) -> Options {
    Options::default().with_additions(Additions::HARDENED.without(robots.additions()).with(Additions::H5))
}

#[test]
fn hardened_differs_from_gating_cases_by_its_additions_alone() {
    let mut differ = Vec::new();
    for row in cases("rfc9309") {
        let want = row["allowed"].as_bool();
        let robots = parse(&row, &Options::default());
        let url = kit::url(&row).unwrap();
        if Some(robots.verdict(&url).allowed) != want {
            assert_eq!(want, Some(true), "{}: an addition allowed more", row["id"]);
            let plain = parse(&row, &without_what_came_to_bear(&robots));
            assert_eq!(Some(plain.verdict(&url).allowed), want, "{}", row["id"]);
            differ.push(format!("{} {}", row["id"].as_str().unwrap(), robots.additions()));
        }
    }
    let known = include_str!("data/hardened-differs.txt");
    let known: Vec<_> = known.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(differ, known);
}

/// Google's leniencies that are not followed, each with its reason; all others are.
#[test]
fn google_leniencies_are_followed_but_for_a_named_few() {
    let known = include_str!("data/google-not-followed.txt");
    let known: Vec<_> = known.lines().filter(|line| !line.starts_with('#')).collect();
    let mut not_followed = Vec::new();
    for row in cases("google") {
        let got = verdict(&row, &Options::default()).unwrap();
        if Some(got.allowed) != row["allowed"].as_bool() {
            not_followed.push(row["id"].as_str().unwrap().to_owned());
        }
    }
    let named: Vec<_> = known.iter().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(not_followed, named);
}

#[test]
fn google_index_folder_is_an_option() {
    let option = Options::from(Dialect::Rfc9309).with_index_folder(true);
    for row in cases("google") {
        let tags = row["tags"].as_array().cloned().unwrap_or_default();
        if tags.contains(&"index-html".into()) {
            assert_eq!(verdict(&row, &option).map(|v| v.allowed), row["allowed"].as_bool(), "{}", row["id"]);
        }
    }
}

#[test]
fn koster1996_cases() {
    let mut failed = Vec::new();
    for row in cases("koster1996") {
        let verdict = verdict(&row, &Dialect::Koster1996.into()).unwrap();
        if Some(verdict.allowed) != row["allowed"].as_bool() {
            failed.push(format!("{}: {verdict}", row["id"]));
        }
    }
    assert_none(&failed);
}

#[test]
fn dialects_every_row() {
    let mut failed = Vec::new();
    let mut unlike_source = Vec::new();
    for row in kit::rows("dialects.jsonl") {
        let agent = Agent::new(row["ua"].as_str().unwrap());
        let mut answers = Vec::new();
        for dialect in Dialect::ALL {
            let robots = Robots::parse(&kit::body(&row), &agent, &dialect.into(), None);
            let verdict = robots.verdict(row["path"].as_str().unwrap());
            // `User-agent: bot` means every robot to `hardened` (H11), which the rows don't have.
            let is_closed_by_h11 = dialect == Dialect::Hardened
                && !verdict.allowed
                && kit::body(&row).starts_with(b"User-Agent: bot\n");
            if Some(verdict.allowed) != row["allowed"][dialect.name()].as_bool() && !is_closed_by_h11 {
                failed.push(format!("{} {dialect}: {verdict}", row["id"]));
            }
            answers.push(verdict.allowed);
        }
        if let Some(says) = row["source_says"].as_bool() {
            // The source holds for at least one dialect, but where the project decided otherwise (C1).
            if !answers.contains(&says) {
                unlike_source.push(row["id"].as_str().unwrap().to_owned());
            }
        }
    }
    assert_none(&failed);
    assert_eq!(unlike_source, ["R021"]);
}
