//! The worked examples, each a row of a table.

use crate::html::Page;
use meta::{Agent, MetaTag, Sources, resolve};
use serde_json::Value;

#[test]
fn every_worked_example_is_decided_as_written() {
    let table = include_str!("../data/worked_examples.tsv");
    let rows = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut numbers: Vec<u32> = rows.map(check).collect();
    numbers.dedup();
    assert_eq!(numbers, (1..=44).collect::<Vec<_>>(), "every number is there");
}

/// Checks one row and gives its number.
fn check(row: &str) -> u32 {
    let columns: Vec<&str> = row.split('|').map(str::trim).collect();
    let [number, agent, dialect, sources, flags, others] = columns[..] else {
        panic!("not six columns: {row}")
    };
    let (headers, metas) = read_sources(sources);
    let sources = Sources { headers: &headers, metas: &metas };
    let agent = Agent::new(agent);
    let directives =
        resolve(&sources, &agent, dialect.parse().unwrap(), "2026-01-01T00:00:00Z".parse().unwrap());
    let found = [directives.index, directives.follow, directives.archive, directives.snippet];
    let found: String = found.iter().map(|flag| if *flag { 'y' } else { 'n' }).collect();
    assert_eq!(found, flags, "{row}\n{directives:#?}");

    let mut json = serde_json::to_value(&directives).unwrap();
    let effects = serde_json::to_value(directives.effects()).unwrap();
    json.as_object_mut().unwrap().extend(effects.as_object().unwrap().clone());
    for expectation in others.split_whitespace() {
        let (key, expected) = expectation.split_once('=').unwrap();
        let expected = serde_json::from_str(expected).unwrap_or_else(|_| Value::String(expected.to_owned()));
        assert_eq!(json[key], expected, "{key}: {row}");
    }
    number.trim_end_matches(|c: char| c.is_alphabetic()).parse().unwrap()
}

fn read_sources(sources: &str) -> (Vec<(String, String)>, Vec<MetaTag>) {
    let (mut headers, mut metas) = (Vec::new(), Vec::new());
    for source in sources.split("&&").map(str::trim).filter(|source| !source.is_empty()) {
        let (kind, rest) = source.split_once(' ').unwrap();
        let pair = || rest.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
        match kind {
            "header" => headers.push(pair()),
            "html" => metas.extend(Page::read_html(rest).metas),
            "meta" => {
                metas.push(MetaTag { name: Some(pair().0), content: Some(pair().1), ..MetaTag::default() });
            }
            "property" => metas.push(MetaTag {
                property: Some(pair().0),
                content: Some(pair().1),
                ..MetaTag::default()
            }),
            other => panic!("no such source: {other}"),
        }
    }
    (headers, metas)
}
