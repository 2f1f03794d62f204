//! The conformance vectors: what gates what is said in their README.

mod kit;

use robots::{Additions, Agent, Dialect, Options, Robots, Verdict};
use serde_json::Value;

fn verdict(row: &Value, options: &Options) -> Option<Verdict> {
    let url = kit::url(row)?;
    let agent = Agent::new(row["agent"].as_str().unwrap());
    Some(Robots::parse(&kit::body(row), &agent, options, None).verdict(&url))
}

fn case_files() -> Vec<(&'static str, Value)> {
    ["google.jsonl", "rfc9309.jsonl", "book.jsonl", "edge.jsonl"]
        .into_iter()
        .flat_map(|file| kit::rows(file).into_iter().map(move |row| (file, row)))
        .collect()
}

#[test]
fn rfc9309_every_gating_case() {
    let mut failed = Vec::new();
    let mut asked = 0;
    for (file, row) in case_files() {
        if row["dialect"] != "rfc9309" {
            continue;
        }
        let Some(verdict) = verdict(&row, &Dialect::Rfc9309.into()) else { continue };
        asked += 1;
        if Some(verdict.allowed) != row["allowed"].as_bool() {
            failed.push(format!("{file} {}: {verdict}", row["id"]));
        }
    }
    assert!(failed.is_empty(), "{} of {asked} failed:\n{}", failed.len(), failed.join("\n"));
    assert!(asked == 0 || asked == 1010, "{asked} cases asked");
}

#[test]
fn hardened_differs_from_gating_cases_only_by_its_additions() {
    let mut failed = Vec::new();
    for (file, row) in case_files() {
        if row["dialect"] != "rfc9309" {
            continue;
        }
        let Some(verdict) = verdict(&row, &Options::default()) else { continue };
        if Some(verdict.allowed) != row["allowed"].as_bool() {
            let agent = Agent::new(row["agent"].as_str().unwrap());
            let robots = Robots::parse(&kit::body(&row), &agent, &Options::default(), None);
            let traced = !robots.additions().without(Additions::H5).is_empty();
            eprintln!("{file} {} [{}]: {verdict}", row["id"], robots.additions());
            if !traced {
                failed.push(format!("{file} {}: {verdict}", row["id"]));
            }
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn google_leniencies() {
    for (file, row) in case_files() {
        if row["dialect"] != "google" {
            continue;
        }
        for dialect in [Dialect::Rfc9309, Dialect::Hardened] {
            let Some(verdict) = verdict(&row, &dialect.into()) else { continue };
            if Some(verdict.allowed) != row["allowed"].as_bool() {
                eprintln!("{file} {} {:?}: {verdict} {}", row["id"], row["robots"], row["tags"]);
            }
        }
    }
}

#[test]
fn dialects_every_row() {
    let mut failed = Vec::new();
    for row in kit::rows("dialects.jsonl") {
        let agent = Agent::new(row["ua"].as_str().unwrap());
        for dialect in Dialect::ALL {
            let robots = Robots::parse(&kit::body(&row), &agent, &dialect.into(), None);
            let verdict = robots.verdict(row["path"].as_str().unwrap());
            if Some(verdict.allowed) != row["allowed"][dialect.name()].as_bool() {
                failed.push(format!("{} {dialect}: {verdict}", row["id"]));
            }
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn real_files_letters() {
    let mut counts = std::collections::BTreeMap::<(char, Dialect, bool), u32>::new();
    let mut shown = 0;
    for row in kit::real() {
        let body = kit::body(&row);
        for (agent, answers) in row["agents"].as_array().unwrap().iter().zip(row["allowed"].as_array().unwrap()) {
            let agent = Agent::new(agent.as_str().unwrap());
            for dialect in [Dialect::Rfc9309, Dialect::Hardened] {
                let robots = Robots::parse(&body, &agent, &dialect.into(), None);
                let urls = row["urls"].as_array().unwrap();
                for (url, letter) in urls.iter().zip(answers.as_str().unwrap().chars()) {
                    let verdict = robots.verdict(url.as_str().unwrap());
                    let want = matches!(letter, '1' | 'e' | 'r');
                    let good = verdict.allowed == want;
                    *counts.entry((letter, dialect, good)).or_default() += 1;
                    if !good && shown < 60 && (dialect == Dialect::Rfc9309 || (robots.additions().without(Additions::H5).is_empty())) {
                        shown += 1;
                        eprintln!("{} {} {letter} {url}: {verdict} [{}]", row["host"], agent.name(), robots.additions());
                    }
                }
            }
        }
    }
    eprintln!("{counts:#?}");
}
