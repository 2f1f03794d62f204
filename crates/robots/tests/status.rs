//! What each status means for pages, robots.txt and files of consent: the standards, the code and the documents agree.

#![allow(clippy::unwrap_used, reason = "a test that can't read its table has failed")]

use std::collections::BTreeMap;

use robots::StatusClass;
use robots::access::{Access, History, Outcome, Policy, ResponseHead, judge};
use robots::jiff::Timestamp;

/// Status codes, what is true of them, and where that is said.
const TABLE: &[(&[std::ops::RangeInclusive<u16>], &str, &str)] = &[
    (&[0..=199, 600..=999], "error, nothing, server", "RFC 9110 section 15: as 5xx"),
    (&[200..=205, 207..=299], "success", "RFC 9110 section 15.3"),
    (&[206..=206], "error, nothing", "RFC 9110 section 15.3.7: no range was requested"),
    (&[301..=303, 307..=308], "redirect, elsewhere", "RFC 9110 section 15.4"),
    (&[304..=304], "", "RFC 9110 section 15.4.5"),
    (&[300..=300, 305..=306, 309..=399], "elsewhere", "RFC 9110 sections 15.4.1, 15.4.6, 15.4.7"),
    (&[401..=401, 403..=403], "error", "RFC 9110 sections 15.5.2, 15.5.4"),
    (&[402..=402, 407..=407, 451..=451], "error", "RFC 9110 sections 15.5.3, 15.5.8; RFC 7725 section 3"),
    (&[408..=408], "error, again, nothing", "RFC 9110 section 15.5.9: may be repeated"),
    (&[421..=421], "error, again, nothing", "RFC 9110 section 15.5.20, RFC 9113 section 9.1.2"),
    (&[425..=425], "error, again, nothing", "RFC 8470 section 5.2"),
    (&[429..=429], "error, again, nothing, pushback", "RFC 6585 section 4"),
    (
        &[400..=400, 404..=406, 409..=420, 422..=424, 426..=428, 430..=450, 452..=499],
        "error",
        "RFC 9110 section 15.5, RFC 9309 section 2.3.1.3",
    ),
    (&[503..=503], "error, again, nothing, pushback, server", "RFC 9110 section 15.6.4"),
    (
        &[500..=500, 502..=502, 504..=504],
        "error, again, nothing, server",
        "RFC 9110 sections 15.6.1, 15.6.3, 15.6.5; RFC 9309 section 2.3.1.4",
    ),
    (
        &[501..=501, 505..=599],
        "error, nothing, server",
        "RFC 9110 sections 15.6.2, 15.6.6; RFC 9309 section 2.3.1.4",
    ),
];

fn words(status: u16) -> String {
    let class = StatusClass::of(status);
    let said = [
        ("success", class.is_success()),
        ("redirect", class.is_redirect()),
        ("elsewhere", class.leads_elsewhere()),
        ("error", class.is_error()),
        ("again", class.may_pass()),
        ("nothing", class.says_nothing()),
        ("pushback", class.is_pushback()),
        ("server", class.is_server_error()),
    ];
    let said: Vec<_> = said.into_iter().filter(|said| said.1).map(|said| said.0).collect();
    said.join(", ")
}

#[test]
fn every_status_has_one_meaning_and_it_is_that_of_the_standards() {
    for status in 0..=999 {
        let mut rows = TABLE.iter().filter(|row| row.0.iter().any(|range| range.contains(&status)));
        let (_, expected, source) = rows.next().unwrap_or_else(|| panic!("{status} is in no row"));
        assert!(rows.next().is_none(), "{status} is in two rows");
        assert_eq!(words(status), *expected, "{status}: {source}");
    }
    assert_eq!(StatusClass::of(u16::MAX), StatusClass::Invalid);
}

/// What a row of the table in docs/politeness.md says in its columns but for files of consent.
fn row(status: u16) -> [String; 5] {
    let class = StatusClass::of(status);
    let page = match class {
        StatusClass::Success => "read",
        StatusClass::Redirect => "redirect",
        StatusClass::NotModified => "unchanged; error where nothing is stored",
        StatusClass::OtherRedirection => "no target",
        _ if class.is_error() => "error",
        _ => "?",
    };
    let is_kept = class.says_nothing() || class == StatusClass::NotModified;
    let judged = |history| {
        let outcome = Outcome::Answer { head: ResponseHead::new(status, []), body: b"User-agent: *\n" };
        match judge(&outcome, &history, &Policy::default(), Timestamp::UNIX_EPOCH).access {
            Access::Rules => "rules",
            Access::Stored { .. } => "stored",
            Access::AllowAll => "allow all",
            Access::DenyAll => "deny all",
            Access::Defer => "defer",
        }
    };
    let [with, without] = [Some(Timestamp::UNIX_EPOCH), None]
        .map(|good_copy| judged(History { good_copy, ..History::default() }));
    let robots = match class {
        StatusClass::Redirect => "redirect".to_owned(),
        _ if with == without => with.to_owned(),
        _ => format!("{with}; {without} where nothing is stored"),
    };
    let host = match class {
        _ if class.is_pushback() => "pauses",
        _ if class.is_server_error() => "pauses from the fifth in a row",
        _ => "goes on",
    };
    let kept = if is_kept { "kept" } else { "replaced" };
    let repeat = if class.may_pass() { "yes" } else { "no" };
    [page, kept, &robots, repeat, host].map(str::to_owned)
}

#[test]
fn the_table_of_statuses_in_the_documents_is_the_one_in_force() {
    let document = include_str!("../../../docs/politeness.md");
    let section = document.split("\n## What a status means\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| status"));
    let mut told = BTreeMap::new();
    for line in rows {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [statuses, page, stored, robots, _, repeat, host] = cells[..] else { panic!("{line}") };
        for range in statuses.split(',').next().unwrap().split(' ') {
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            for status in from.parse::<u16>().unwrap()..=to.parse().unwrap() {
                let cells = [page, stored, robots, repeat, host].map(str::to_owned);
                assert!(told.insert(status, cells).is_none(), "{status} is in two rows");
            }
        }
    }
    for status in 200..=999 {
        assert_eq!(told.get(&status), Some(&row(status)), "{status}");
    }
    assert_eq!(told.len(), 800);
}
