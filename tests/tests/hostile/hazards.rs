//! The hazards that the scenarios stand for, and that each has one.

use whole_program::hostile::{Expect, Scenario};

/// Key and rule. A scenario names the key.
pub(crate) const HAZARDS: &[(&str, &str)] = &[
    ("body", "a decoded body has no limit by itself: wire and decoded bytes are limited each"),
    ("tree", "the tree of a page amplifies: nodes and time are limited"),
    ("stack", "no input decides how deep the stack grows"),
    ("redirect", "redirects go back to the frontier: robots.txt, pace and limits hold for each hop"),
    ("deadline", "one deadline for a try; a connection doesn't outlive it"),
    ("stale", "a kept connection that the server closed is replaced and doesn't count"),
    ("cookie", "no cookies, no credentials, no userinfo"),
    ("address", "links and redirects never lead to addresses that aren't public"),
    ("robots", "an unreachable robots.txt closes a site; Retry-After is honoured"),
    ("limit", "header bytes and count, URL length, links per page have limits with a name"),
    ("framing", "what isn't HTTP, or breaks off, is an error of that URL with its kind"),
    ("text", "any bytes can be a page: charset, controls, types that lie"),
    ("output", "nothing from the web steers a terminal, a spreadsheet, a WARC header or a file name"),
    ("trap", "infinite URL spaces end at a budget"),
    ("tls", "TLS errors are errors of that host, never ignored"),
    ("pace", "a host that pushes back gets a pause"),
];

/// Every scenario of the suite.
pub(crate) fn all() -> Vec<Scenario> {
    let groups = [
        crate::wire::SCENARIOS,
        crate::head::SCENARIOS,
        crate::codings::SCENARIOS,
        crate::robots::SCENARIOS,
        crate::redirects::SCENARIOS,
        crate::addresses::SCENARIOS,
        crate::html::SCENARIOS,
        crate::output::SCENARIOS,
        crate::tls::SCENARIOS,
        crate::traps::SCENARIOS,
        crate::sitemaps::SCENARIOS,
    ];
    groups.concat()
}

#[test]
fn there_are_more_than_a_hundred_scenarios_and_one_at_least_for_each_hazard() {
    let all = all();
    assert!(all.len() > 100, "{}", all.len());
    let mut names: Vec<_> = all.iter().map(|scenario| scenario.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len(), "two scenarios share a name");
    for scenario in &all {
        assert!(HAZARDS.iter().any(|(key, _)| *key == scenario.hazard), "{}", scenario.name);
        assert!(!scenario.expect.is_empty(), "{} expects nothing", scenario.name);
    }
    for (key, rule) in HAZARDS {
        assert!(all.iter().any(|scenario| scenario.hazard == *key), "no scenario for {key}: {rule}");
    }
}

/// The kinds that docs/limits.md lists occur for real, and each of them alone somewhere: `blocked_address` in the crawl of
/// `addresses`, which counts them; `parse`, which only a defect of ours can make, and `local`, which only this machine can, in the
/// simulation; `crashed`, another defect, in the tests of faults.
#[test]
fn every_kind_of_failure_has_a_scenario() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/limits.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once("## Kinds of failure").unwrap();
    let listed = section.lines().filter_map(|line| Some(line.strip_prefix("| ")?.split_once(" | ")?.0));
    let listed: Vec<&str> = listed.filter(|kind| *kind != "kind").collect();
    assert_eq!(listed.len(), 19, "{listed:?}");
    let scenarios = all();
    let expected = scenarios.iter().flat_map(|scenario| scenario.expect).filter_map(|expect| match expect {
        Expect::Fails(_, [kind]) => Some(*kind),
        _ => None,
    });
    let expected: Vec<&str> = expected.collect();
    for kind in listed {
        let kind = kind.trim_end_matches("404 ...");
        // Walls have their own crate, and `program`, module `walls`.
        let elsewhere =
            ["blocked_address", "parse", "crashed", "local"].contains(&kind) || kind.contains("challenged");
        let is_http = |found: &&str| kind == "http_" && found.starts_with(kind);
        assert!(
            elsewhere || expected.iter().any(|found| *found == kind || is_http(found)),
            "no scenario fails as {kind} and nothing else"
        );
    }
}
