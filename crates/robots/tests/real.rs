//! Real files: 107,301 answers on which two independent oracles were asked.
#![allow(clippy::unwrap_used, reason = "a test that can't read its table has failed")]

mod kit;

use std::collections::BTreeMap;
use std::time::Duration;

use robots::{Additions, Agent, Dialect, Options, Robots};
use serde_json::Value;

fn agents(row: &Value) -> Vec<(Agent, &str, &str)> {
    let answers = row["allowed"].as_array().unwrap();
    row["agents"]
        .as_array()
        .unwrap()
        .iter()
        .zip(answers)
        .map(|(agent, letters)| {
            (Agent::new(agent.as_str().unwrap()), agent.as_str().unwrap(), letters.as_str().unwrap())
        })
        .collect()
}

fn urls(row: &Value) -> Vec<&str> {
    row["urls"].as_array().unwrap().iter().map(|url| url.as_str().unwrap()).collect()
}

/// The answer that a letter takes (README of the vectors).
fn wanted(letter: char) -> bool {
    matches!(letter, '1' | 'e' | 'r')
}

#[test]
fn rfc9309_agrees_on_every_letter() {
    let mut asked = 0;
    for row in kit::real() {
        let body = kit::body(&row);
        for (agent, name, letters) in agents(&row) {
            let robots = Robots::parse(&body, &agent, &Dialect::Rfc9309.into(), None);
            for (url, letter) in urls(&row).iter().zip(letters.chars()) {
                let verdict = robots.verdict(url);
                assert_eq!(verdict.allowed, wanted(letter), "{} {name} {letter} {url}: {verdict}", row["id"]);
                asked += 1;
            }
        }
    }
    assert!(asked == 0 || asked == 107_301, "{asked}");
}

#[test]
fn hardened_differs_by_its_additions_alone() {
    let mut counts = BTreeMap::new();
    for row in kit::real() {
        let body = kit::body(&row);
        for (agent, name, letters) in agents(&row) {
            let robots = Robots::parse(&body, &agent, &Options::default(), None);
            for (url, letter) in urls(&row).iter().zip(letters.chars()) {
                let verdict = robots.verdict(url);
                if verdict.allowed == wanted(letter) {
                    continue;
                }
                let trace = robots.additions();
                let plain =
                    Options::default().with_additions(Additions::HARDENED.without(trace).with(Additions::H5));
                let plain = Robots::parse(&body, &agent, &plain, None).verdict(url);
                assert_eq!(
                    plain.allowed,
                    wanted(letter),
                    "{} {name} {letter} {url}: {verdict} [{trace}]",
                    row["id"]
                );
                *counts.entry((trace.to_string(), verdict.allowed)).or_insert(0) += 1;
            }
        }
    }
    eprintln!("answers of hardened that differ, by (additions, allowed): {counts:?}");
}

/// `crawl_delays`: every valid value of the merged group, in order. `n_sitemaps`: Sitemap lines with a value.
#[test]
fn delays_and_sitemaps_are_found() {
    for row in kit::real() {
        let body = kit::body(&row);
        for (agent, name, _) in agents(&row) {
            let robots = Robots::parse(&body, &agent, &Dialect::Rfc9309.into(), None);
            assert_eq!(robots.sitemaps().len() as u64, row["n_sitemaps"].as_u64().unwrap(), "{}", row["id"]);
            let Some(delays) = row["crawl_delays"][name].as_array() else { continue };
            let want: Vec<_> = delays.iter().map(|s| Duration::from_secs_f64(s.as_f64().unwrap())).collect();
            let got: Vec<_> = robots.timing().crawl_delays().iter().map(|line| line.delay).collect();
            assert_eq!(got, want, "{} {name}", row["id"]);
        }
    }
}

#[test]
fn no_dialect_panics_and_every_verdict_explains_itself() {
    for row in kit::real().iter().step_by(7) {
        let body = kit::body(row);
        for (agent, ..) in agents(row) {
            for dialect in Dialect::ALL {
                let robots = Robots::parse(&body, &agent, &dialect.into(), Some("https://site.example"));
                for url in urls(row) {
                    let verdict = robots.verdict(url);
                    assert!(verdict.to_string().len() > 10);
                    if let Some(line) = verdict.line {
                        let text = String::from_utf8_lossy(&body).replace("\r\n", "\n").replace('\r', "\n");
                        let found = text.split('\n').nth(line as usize - 1).unwrap_or_default();
                        let rule = verdict.rule.as_deref().unwrap();
                        assert!(
                            found.contains(rule) || !rule.is_ascii(),
                            "{} line {line}: {rule} | {found}",
                            row["id"]
                        );
                    }
                }
            }
        }
    }
}
