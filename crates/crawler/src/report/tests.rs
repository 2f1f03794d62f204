//! The HTML of a report whose every text is hostile, and of one without anything.

use std::collections::BTreeMap;

use super::{ChangedSetting, Course, Report, RunValue};
use crate::commit::Totals;
use crate::config::Settings;
use crate::view::{
    Activity, Contents, Counted, DelayOrder, ErrorRow, GapClass, GapFigures, GroupSummary, HostLink,
    HostLinks, HostState, HostStatement, HostSummary, KindCount, Moment, MovedSeedSummary, Status, Summary,
    TimeStep, Timeline,
};
use page::clock::Clock;

pub(super) const HOSTILE: &str = "</style></title></svg><script>alert('x')</script><img src=http://evil.test/ onerror=\"x\">\u{202e}\u{1b}[2J";

fn moment() -> Moment {
    Moment(Clock::system().now().wall)
}

fn counts(what: &str, number: usize) -> Vec<Counted> {
    (0..number)
        .map(|place| Counted { what: format!("{what}{place}"), count: 10_000 + place as u64 })
        .collect()
}

pub(super) fn empty() -> Report {
    Report {
        v: 1,
        generated: moment(),
        program: None,
        in_force: Settings::default(),
        course: Course::of_one(Settings::default()),
        settings: Vec::new(),
        wishes: Vec::new(),
        summary: Summary {
            v: 1,
            crawl_id: String::new(),
            started: None,
            agent: None,
            unfetched_seeds: Vec::new(),
            seeds: Vec::new(),
            unusable_seeds: 0,
            unusable: Vec::new(),
            status: Status::Incomplete,
            complete: false,
            totals: Totals::default(),
            queued: 0,
            statuses: BTreeMap::new(),
            errors: BTreeMap::new(),
            walls: Vec::new(),
            suspects: 0,
            limits: Vec::new(),
            indexed: 0,
            noindex: 0,
            archived: 0,
            followed: 0,
            skipped: Vec::new(),
            costly: Vec::new(),
            cheaper: Vec::new(),
            skipped_not_listed: 0,
            sitemaps_known: 0,
            moved_seeds_known: 1,
            moved_seeds: vec![MovedSeedSummary {
                seed: HOSTILE.to_owned(),
                to: HOSTILE.to_owned(),
                scope: "outside",
            }],
            sitemaps_crashed: 0,
            sitemaps: Vec::new(),
            robots: Vec::new(),
            hosts_known: 0,
            hosts_complete: 0,
            hosts_complete_within_limits: 0,
            hosts_complete_except_walls: 0,
            hosts_incomplete: 0,
            groups: vec![GroupSummary {
                group: HOSTILE.to_owned(),
                hosts_known: 30,
                hosts: vec![HOSTILE.to_owned()],
                requests: 4,
            }],
            groups_known: 1,
            large_domain: Some(Counted { what: HOSTILE.to_owned(), count: 51 }),
            end: None,
            hosts: Vec::new(),
            head: None,
        },
        activity: Activity::default(),
        contents: Contents::default(),
        host_links: HostLinks::default(),
    }
}

pub(super) fn hostile() -> Report {
    let host = HostSummary {
        host: HOSTILE.to_owned(),
        pages: 3,
        requests: 4,
        errors: 1,
        queued: 2,
        delay: 1.5,
        delay_reason: "crawl-delay",
        state: HostState::Parked,
        coverage: Status::Incomplete,
        statement: HostStatement::Remaining,
        because: HOSTILE.to_owned(),
        held_back: Vec::new(),
        notes: vec![HOSTILE.to_owned()],
    };
    let failure = ErrorRow {
        url: "http://a.test/\"><script>alert(1)</script>".to_owned(),
        kind: "tls".to_owned(),
        detail: Some(HOSTILE.to_owned()),
        status: None,
        at: moment(),
        tries: 1,
        host: "a.test".to_owned(),
        via: Some(format!("javascript:{HOSTILE}")),
    };
    let classes =
        vec![GapClass { from: 0.0, to: Some(1.0), count: 2 }, GapClass { from: 1.0, to: None, count: 7 }];
    let step = TimeStep { requests: 5, failed: 1, bytes: 9 };
    let empty = empty();
    Report {
        program: Some(HOSTILE.to_owned()),
        settings: vec![ChangedSetting {
            key: "agent.contact",
            value: HOSTILE.to_owned(),
            by_run: [vec![1], vec![2, 3]].map(|runs| RunValue { runs, value: HOSTILE.to_owned() }).to_vec(),
        }],
        summary: Summary {
            crawl_id: HOSTILE.to_owned(),
            started: Some(moment()),
            agent: Some(HOSTILE.to_owned()),
            seeds: vec![HOSTILE.to_owned(); 70],
            statuses: BTreeMap::from([(200, 3), (404, 1)]),
            errors: BTreeMap::from([(HOSTILE.to_owned(), 1)]),
            limits: counts(HOSTILE, 2),
            skipped: counts(HOSTILE, 120),
            robots: counts(HOSTILE, 3),
            hosts_known: 2,
            hosts: vec![host.clone(), HostSummary { host: "b.test".to_owned(), ..host }],
            ..empty.summary
        },
        activity: Activity {
            requests: 10,
            timeline: Timeline {
                start: Some(moment()),
                step_s: 1,
                steps: vec![step, TimeStep::default(), step],
            },
            gaps: GapFigures {
                count: 9,
                short: 2,
                overlaps: 1,
                least: Some(0.25),
                classes,
                without_delay: 0,
            },
            delays: counts(HOSTILE, 1),
            pauses: counts(HOSTILE, 1),
            delay_orders: vec![DelayOrder { at: moment(), host: Some(HOSTILE.to_owned()), delay: Some(5.0) }],
            delay_order_count: 1,
            ..empty.activity
        },
        contents: Contents {
            pages: 9,
            hosts: 2,
            kinds: vec![KindCount { kind: "image", pages: 8, resources: 1 }],
            types: counts(HOSTILE, 30),
            languages: counts(HOSTILE, 2),
            depths: BTreeMap::from([(0, 1), (1, 8)]),
            sizes: BTreeMap::from([(0, 1), (1024, 8)]),
            directives: counts(HOSTILE, 2),
            consent: counts(HOSTILE, 2),
            failures: vec![failure],
            failure_count: 900,
        },
        host_links: HostLinks {
            strongest: vec![
                HostLink { from: HOSTILE.to_owned(), to: "b.test".to_owned(), links: 7 },
                HostLink { from: "b.test".to_owned(), to: "c.test".to_owned(), links: 1 },
            ],
            pairs: 2,
            links: 8,
        },
        ..empty
    }
}

fn written(report: &Report) -> String {
    let mut out = Vec::new();
    report.write_html(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The elements of a page, with their attributes, as a browser's parser finds them.
fn elements(html: &str) -> Vec<(String, Vec<(String, String)>)> {
    let document = scraper::Html::parse_document(html);
    let elements = document.tree.nodes().filter_map(|node| node.value().as_element());
    elements
        .map(|element| {
            let attributes =
                element.attrs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            (element.name().to_owned(), attributes)
        })
        .collect()
}

#[test]
fn hostile_texts_make_no_element_attribute_or_address() {
    let html = written(&hostile());
    assert!(html.contains("&lt;script&gt;alert"));
    let elements = elements(&html);
    let names: Vec<&str> = elements.iter().map(|(name, _)| name.as_str()).collect();
    for forbidden in ["script", "img", "iframe", "link", "object", "embed", "form", "base"] {
        assert!(!names.contains(&forbidden), "{forbidden}");
    }
    assert_eq!(names.iter().filter(|name| **name == "style").count(), 1);
    for (name, attributes) in &elements {
        for (attribute, value) in attributes {
            assert!(!attribute.starts_with("on"), "{name} {attribute}");
            assert!(!["src", "srcset", "style"].contains(&attribute.as_str()), "{name} {attribute}");
            if attribute == "href" {
                assert!(value.starts_with('#') || value.starts_with("http://a.test/"), "{value}");
            }
        }
    }
    assert!(!html.contains(['\u{202e}', '\u{1b}']), "a text could reorder or steer what is shown");
}

#[test]
fn nothing_is_loaded_and_no_script_may_run() {
    let html = written(&hostile());
    assert!(html.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""));
    assert!(!html.contains("url(") && !html.contains("@import"));
    assert!(html.starts_with("<!DOCTYPE html><html lang=\"en\">"));
}

#[test]
fn every_plot_has_a_text_and_the_numbers_behind_it() {
    let html = written(&hostile());
    let elements = elements(&html);
    let plots: Vec<_> = elements.iter().filter(|(name, _)| name == "svg").collect();
    // Statuses, largest hosts, time line, gaps, types, languages, depths, sizes, links.
    assert_eq!(plots.len(), 9);
    for (_, attributes) in plots {
        let value = |wanted: &str| {
            attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        assert_eq!(value("role"), Some("img"));
        assert!(value("aria-label").is_some_and(|text| text.len() > 20), "{attributes:?}");
    }
    assert!(html.contains("<td>200</td><td class=\"number\">3</td>"));
    assert!(html.contains("19 others"), "of 30 types 11 have a bar of their own");
    assert!(html.contains("2 were shorter than the delay"), "what was broken is said");
    assert!(html.contains("700 more failed URLs"), "the rest of the failures is counted");
    assert!(html.contains("20 more rows"), "the rest of the reasons is counted");
}

#[test]
fn a_report_of_nothing_is_a_page_too() {
    let html = written(&empty());
    for id in [
        "request",
        "result",
        "hosts",
        "politeness",
        "pages",
        "skipped",
        "unseen",
        "errors",
        "links",
        "provenance",
    ] {
        assert!(html.contains(&format!("<section id=\"{id}\"")), "{id}");
        assert!(html.contains(&format!("href=\"#{id}\"")), "{id}");
    }
    assert!(html.contains("The ledger has no request."));
    assert!(html.contains("No page links to another host."));
}
