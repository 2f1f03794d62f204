//! Crawl-delay, Request-rate and Visit-time as pure functions of the time (specification 3).
#![allow(clippy::unwrap_used, reason = "a test that can't read its table has failed")]

use std::time::Duration;

use jiff::Timestamp;
use robots::{Agent, Dialect, IntervalReason, Robots, Timing, WarningKind};

fn robots(file: &str, agent: &str, dialect: Dialect) -> Robots {
    Robots::parse(file.as_bytes(), &Agent::new(agent), &dialect.into(), None)
}

fn timing(file: &str, agent: &str) -> Timing {
    robots(file, agent, Dialect::Hardened).timing().clone()
}

fn at(time: &str) -> Timestamp {
    format!("2026-03-01T{time}Z").parse().unwrap()
}

#[test]
fn timing_table() {
    let mut asked = 0;
    for line in include_str!("data/timing.tsv").lines().filter(|line| !line.starts_with('#')) {
        let [lines, time, interval, asks, wait, clause] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("six columns wanted: {line}");
        };
        let file = format!("User-agent: *\n{}\nDisallow: /x\n", lines.replace(" / ", "\n"));
        for dialect in Dialect::ALL {
            // Honoured in every dialect (C20).
            let robots = robots(&file, "SuperRobot", dialect);
            let got = robots.timing().interval(at(time));
            let millis = got.map_or("-".to_owned(), |got| got.every.as_millis().to_string());
            let number = got.map_or("-".to_owned(), |got| got.line.to_string());
            let seconds = robots
                .timing()
                .visit_wait(at(time))
                .map_or("-".to_owned(), |wait| wait.as_secs().to_string());
            assert_eq!(
                (&*millis, &*number, &*seconds),
                (interval, asks, wait),
                "{line} [{dialect}] {clause}"
            );
        }
        asked += 1;
    }
    assert!(asked > 50, "{asked}");
}

#[test]
fn bing_crawl_delay_of_the_star_group_binds_a_named_group_without_one() {
    let file = "User-agent: a\nDisallow: /x\n\nUser-agent: *\nCrawl-delay: 9\nRequest-rate: 1/50\nVisit-time: 0100-0200\n";
    let ours = timing(file, "a");
    assert_eq!(ours.crawl_delay(), Some(Duration::from_secs(9)));
    assert!(ours.rates().is_empty() && ours.visits().is_empty());
    let file = "User-agent: a\nCrawl-delay: 2\nDisallow: /x\n\nUser-agent: *\nCrawl-delay: 9\n";
    assert_eq!(timing(file, "a").crawl_delay(), Some(Duration::from_secs(2)));
}

#[test]
fn rfc9309_other_fields_join_the_group_that_stands_open() {
    // The delay ends no list of names: both robots share the group, and its delay.
    let file = "User-agent: a\nCrawl-delay: 10\nUser-agent: *\nDisallow: /x\n";
    assert_eq!(timing(file, "a").crawl_delay(), Some(Duration::from_secs(10)));
    assert!(!robots(file, "a", Dialect::Rfc9309).verdict("/x").allowed);
}

#[test]
fn merged_groups_join_their_delays() {
    let file = "User-agent: a\nCrawl-delay: 3\nDisallow: /x\nUser-agent: b\nDisallow: /\nUser-agent: A\nCrawl-delay: 7\n";
    assert_eq!(timing(file, "a").crawl_delay(), Some(Duration::from_secs(7)));
}

#[test]
fn a_delay_beyond_all_numbers_is_never_none() {
    let delay = timing("User-agent: *\nCrawl-delay: 99999999999999999999999999\n", "a").crawl_delay();
    assert!(delay.unwrap() > Duration::from_hours(24 * 365 * 1000));
}

#[test]
fn waits_count_parts_of_a_second() {
    let timing = timing("User-agent: *\nVisit-time: 0600-0700\n", "a");
    assert_eq!(
        timing.visit_wait("2026-03-01T05:59:59.25Z".parse().unwrap()),
        Some(Duration::from_millis(750))
    );
    assert_eq!(timing.visit_wait("1969-12-31T05:59:59Z".parse().unwrap()), Some(Duration::from_secs(1)));
    let wait = timing.visit_wait("2026-03-01T07:01:00.5Z".parse().unwrap()).unwrap();
    assert_eq!(timing.visit_wait("2026-03-01T07:01:00.5Z".parse::<Timestamp>().unwrap() + wait), None);
}

#[test]
fn reasons_name_the_field_and_bad_lines_are_told() {
    let robots = robots(
        "User-agent: *\nCrawl-delay: 1\nRequest-rate: 1/5\nVisit-time: 9-5\nRequest-rate: x\nCrawl-delay: y",
        "a",
        Dialect::Hardened,
    );
    assert_eq!(robots.timing().interval(at("12:00:00")).map(|i| i.reason), Some(IntervalReason::RequestRate));
    let kinds: Vec<_> =
        robots.warnings().iter().map(|w| (w.line, w.kind)).filter(|(line, _)| *line > 3).collect();
    assert_eq!(
        kinds,
        [(4, WarningKind::BadVisitTime), (5, WarningKind::BadRate), (6, WarningKind::BadDelay)]
    );
}

#[test]
fn text_behind_a_value_is_told_and_the_value_is_read() {
    let warnings = |line: &str| -> Vec<WarningKind> {
        let file = format!("User-agent: *\nDisallow: /x\n{line}\n");
        robots(&file, "a", Dialect::Hardened).warnings().iter().map(|warning| warning.kind).collect()
    };
    for plain in [
        "Crawl-delay: 10",
        "Crawl-delay: 2.5 # s",
        "Request-rate: 1/5m",
        "Request-rate: 40/1m 0100 - 0759",
        "Visit-time: 0100-1300",
    ] {
        assert_eq!(warnings(plain), [], "{plain}");
    }
    for explained in [
        "Crawl-delay: 10 seconds",
        "Crawl-delay: 5s",
        "Crawl-delay: 10-20",
        "Request-rate: 1/5 please",
        "Request-rate: 40/1m 0100 - 0759 at night",
        "Request-rate: 1/5 0900",
        "Visit-time: 0100-1300 UTC",
    ] {
        assert_eq!(warnings(explained), [WarningKind::TextAfterValue], "{explained}");
    }
}
