//! Links that cost much, and useful ones that look alike: `data/links.jsonl`, one a line, each with its source; and the cases of each kind.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use costly::{Action, Judge, Kinds, Link, Month, PageSigns, Reason, Site, Standing, Switches, recognise};
use serde_json::Value;

const NOW: Month = Month { year: 2026, month: 11 };

fn name(action: &Action) -> &'static str {
    match action {
        Action::Keep => "keep",
        Action::Budget => "budget",
        Action::Skip => "skip",
        Action::Normalise(_) => "normalise",
    }
}

#[test]
fn every_link_is_judged_as_it_should_be() {
    let kinds = Kinds::embedded().unwrap();
    let switches = Switches::default();
    let judge = Judge { kinds: &kinds, switches: &switches, now: NOW };
    let mut bad = Vec::new();
    let mut count = 0;
    for line in include_str!("data/links.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap();
        let evidence = &row["evidence"];
        let generators: Vec<&str> = evidence["generator"].as_str().into_iter().collect();
        let headers: Vec<(&str, &str)> = evidence["headers"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|field| (field[0].as_str().unwrap(), field[1].as_str().unwrap()))
            .collect();
        let markup = evidence["markup"].as_str().unwrap_or_default();
        let page = PageSigns { url: text("page"), generators: &generators, headers: &headers, markup };
        let shown = recognise(&page, &kinds);
        let mut site = Site::default();
        site.add(shown);
        let link = Link { url: text("link"), page: Some(text("page")), standing: Standing::Found };
        let judged = judge.judge(&link, Some(&site), |_| false);
        let is_budget = row["note"] == "budget";
        let expected = if is_budget { "budget" } else { text("expected") };
        let names: Vec<&str> = site.shown().iter().map(|shown| shown.kind.as_str()).collect();
        let mut is_right = name(&judged.action) == expected;
        if let Some(kind) = row["kind"].as_str() {
            is_right &= names.contains(&kind);
        } else {
            is_right &= names.is_empty();
        }
        if matches!(expected, "skip" | "normalise") {
            is_right &= judged.reason.is_some_and(|reason| reason.class.name() == text("reason"));
        }
        if let (Action::Normalise(to), Some(expected)) = (&judged.action, row["to"].as_str()) {
            is_right &= to == expected;
        }
        if !is_right {
            bad.push(format!("{} {} ({}): {judged:?}, {names:?}", text("id"), text("link"), text("reason")));
        }
        count += 1;
    }
    assert!(bad.is_empty(), "{} of {count}:\n{}", bad.len(), bad.join("\n"));
    assert_eq!(count, 206);
}

#[test]
fn every_kind_can_be_read_and_passes_its_own_cases() {
    let kinds = Kinds::embedded().unwrap();
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/kinds")).unwrap().count();
    assert_eq!(kinds.iter().count(), files, "a file of kinds/ that src/embedded.rs lacks");
    let switches = Switches::default();
    let judge = Judge { kinds: &kinds, switches: &switches, now: NOW };
    let mut bad = Vec::new();
    for kind in kinds.iter() {
        assert!(kind.cases().len() >= 2, "{} has no two cases", kind.name());
        assert!(kind.cases().iter().any(|case| case.expected == "keep"), "{} keeps nothing", kind.name());
        for case in kind.cases() {
            let shown = costly::Shown { kind: kind.name().to_owned(), prefix: "/".to_owned(), word: None };
            let mut site = Site::default();
            site.add(vec![shown]);
            let link = Link { url: &case.link, page: Some(&case.page), standing: Standing::Found };
            let judged = judge.judge(&link, Some(&site), |_| false);
            let mut is_right = name(&judged.action) == case.expected;
            is_right &= judged.reason.map(|Reason { class, .. }| class) == case.class;
            if let Action::Normalise(to) = &judged.action {
                is_right &= Some(to) == case.to.as_ref();
            }
            if !is_right {
                bad.push(format!("{}: {case:?}, not {judged:?}", kind.name()));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
