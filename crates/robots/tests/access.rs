//! From the way a fetch ended to what it permits (specification 2.2-2.5, RFC 9309 sections 2.3 and 2.4).
#![allow(clippy::unwrap_used, reason = "a test that can't read its table has failed")]

mod kit;

use std::time::Duration;

use jiff::Timestamp;
use robots::access::{
    Access, BadRedirect, Failure, History, Judgement, OnForbidden, Outcome, Policy, ResponseHead,
    UnreachableAfter30Days, judge, retry_after,
};

const FILE: &[u8] = b"User-agent: *\nDisallow: /x\n";
const HOUR: Duration = Duration::from_hours(1);

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn ago(time: Duration) -> Timestamp {
    now() - time
}

fn answer(
    status: u16,
    headers: &[(&str, &str)],
    body: &[u8],
    history: History,
    policy: &Policy,
) -> Judgement {
    let head = ResponseHead::new(status, headers.iter().copied());
    judge(&Outcome::Answer { head, body }, &history, policy, now())
}

fn first(status: u16) -> Judgement {
    answer(status, &[], FILE, History::default(), &Policy::default())
}

fn word(access: Access) -> &'static str {
    match access {
        Access::Rules => "rules",
        Access::Stored { half_rate: false } => "stored",
        Access::Stored { half_rate: true } => "stored-half",
        Access::AllowAll => "allow",
        Access::DenyAll => "deny",
        Access::Defer => "defer",
    }
}

/// Columns of `access.tsv`: status or failure, headers, body, policy, history, access, lifetime in seconds, reason, clause.
#[test]
fn access_table() {
    let table = include_str!("data/access.tsv");
    let mut asked = 0;
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<_> = line.split('\t').collect();
        let [outcome, headers, body, policy, history, access, lifetime, reason, clause] = columns[..] else {
            panic!("nine columns wanted: {line}");
        };
        let headers: Vec<_> = headers.split(" | ").filter_map(|header| header.split_once(": ")).collect();
        let body: &[u8] = match body {
            "rules" => FILE,
            "html" => b"<!DOCTYPE html><p>Not found</p>",
            "html with rules" => b"<pre>\nUser-agent: *\nDisallow: /\n</pre>",
            "binary" => b"\x7fELF\0\0User-agent: *\nDisallow: /",
            "utf16" => b"\xff\xfeU\0s\0e\0r\0-\0a\0g\0e\0n\0t\0:\0*\0\n\0",
            "-" => b"",
            other => panic!("unknown body {other}"),
        };
        let mut rules = Policy::default();
        match policy {
            "-" => {}
            "forbidden=rfc9309" => rules.on_forbidden = OnForbidden::Rfc9309,
            "open after 30 days" => rules.open_unreachable = UnreachableAfter30Days::After30Days,
            "max 7d" => rules.max_ttl = 168 * HOUR,
            other => panic!("unknown policy {other}"),
        }
        // `failing 13h x4, copy 20d`
        let mut past = History::default();
        for part in history.split(", ").filter(|part| *part != "-") {
            let words: Vec<_> = part.split(' ').collect();
            let span = |text: &str| -> Duration {
                let n: u64 = text[..text.len() - 1].parse().unwrap();
                let unit = match &text[text.len() - 1..] {
                    "m" => 60,
                    "h" => 3600,
                    "d" => 86_400,
                    other => panic!("{other}"),
                };
                Duration::from_secs(n * unit)
            };
            match words[..] {
                ["failing", time, times] => {
                    past.first_failure = Some(ago(span(time)));
                    past.failures = times[1..].parse().unwrap();
                }
                ["copy", time] => past.good_copy = Some(ago(span(time))),
                _ => panic!("unknown history {part}"),
            }
        }
        let head = |status| ResponseHead::new(status, headers.iter().copied());
        let outcome = match outcome {
            "dns" => Outcome::Failed(Failure::Dns),
            "refused" => Outcome::Failed(Failure::Refused),
            "reset" => Outcome::Failed(Failure::Reset),
            "tls" => Outcome::Failed(Failure::Tls),
            "timeout" => Outcome::Failed(Failure::Timeout),
            "truncated" => Outcome::Failed(Failure::Truncated),
            "encoding" => Outcome::Failed(Failure::Encoding),
            "protocol" => Outcome::Failed(Failure::Protocol),
            "loop" => Outcome::Redirects(BadRedirect::Loop),
            "too many" => Outcome::Redirects(BadRedirect::TooMany),
            "bad target" => Outcome::Redirects(BadRedirect::BadTarget),
            "not asked" => Outcome::Refused("redirect to http://b.example/x"),
            status => Outcome::Answer { head: head(status.parse().unwrap()), body },
        };
        let got = judge(&outcome, &past, &rules, now());
        assert_eq!(word(got.access), access, "{line}: {clause}");
        assert_eq!(got.lifetime.as_secs().to_string(), lifetime, "{line}: {clause}");
        assert_eq!(&*got.reason, reason, "{line}: {clause}");
        assert_eq!(got.next_try, now() + got.lifetime);
        asked += 1;
    }
    assert!(asked > 60, "{asked}");
}

#[test]
fn spec_2_3_the_clock_starts_at_the_first_failure_after_the_last_success() {
    let failed = judge(&Outcome::Failed(Failure::Dns), &History::default(), &Policy::default(), now());
    assert_eq!(failed.history, History { first_failure: Some(now()), failures: 1, good_copy: None });
    let later = now() + HOUR;
    let again = judge(&Outcome::Failed(Failure::Timeout), &failed.history, &Policy::default(), later);
    assert_eq!(again.history, History { first_failure: Some(now()), failures: 2, good_copy: None });
    let head = ResponseHead::new(200, []);
    let good = judge(&Outcome::Answer { head, body: FILE }, &again.history, &Policy::default(), later);
    assert_eq!(good.history, History { first_failure: None, failures: 0, good_copy: Some(later) });
    assert_eq!(first(404).history, History::default());
}

#[test]
fn tries_after_a_failure_are_spread_over_a_tenth_of_the_wait_and_no_others() {
    for status in [500, 503, 429] {
        let judgement = first(status);
        assert!(!judgement.lifetime.is_zero());
        assert_eq!(judgement.jitter, judgement.lifetime / 10, "{status}");
    }
    for status in [200, 404] {
        assert_eq!(first(status).jitter, Duration::ZERO, "{status}");
    }
}

#[test]
fn a_clock_that_jumps_back_neither_opens_nor_panics() {
    let history =
        History { first_failure: Some(now() + 400 * 24 * HOUR), failures: 9, good_copy: Some(now() + HOUR) };
    let got = judge(&Outcome::Failed(Failure::Dns), &history, &Policy::default(), now());
    assert_eq!(got.access, Access::Defer);
}

#[test]
fn rfc9110_10_2_3_retry_after() {
    let rows = [
        ("120", Some(120)),
        (" 5 ", Some(5)),
        ("0", Some(1)),
        ("99999999999999999999999", Some(7 * 86_400)),
        ("Sun, 01 Mar 2026 12:10:00 GMT", Some(600)),
        ("Sunday, 01-Mar-26 12:10:00 GMT", Some(600)),
        ("Sun Mar  1 12:10:00 2026", Some(600)),
        ("Sun, 01 Mar 2026 11:00:00 GMT", Some(1)),
        ("Fri, 01 Jan 2027 00:00:00 GMT", Some(7 * 86_400)),
        ("-5", None),
        ("soon", None),
        ("", None),
    ];
    for (value, seconds) in rows {
        assert_eq!(asked(&[("Retry-After", value)]), seconds.map(Duration::from_secs), "{value}");
    }
    assert_eq!(retry_after([("retry-after", &b"\xff"[..]), ("Retry-After", b"7")], now()), Some(secs(7)));
}

/// Forms that RFC 9110 doesn't have, as servers and proxies send them.
#[test]
fn ext_retry_after_in_other_forms_is_a_wait_too() {
    let rows = [
        ("\"120\"", Some(120)),
        ("'120'", Some(120)),
        ("7200s", Some(7200)),
        ("7200 S", Some(7200)),
        ("7200.5", Some(7201)),
        ("7200.0", Some(7200)),
        ("1.5", Some(2)),
        ("0.25 sec", Some(1)),
        ("5 minutes", Some(300)),
        ("2h", Some(7200)),
        ("1 day", Some(86_400)),
        ("18446744073709551615 days", Some(7 * 86_400)),
        ("120; comment", Some(120)),
        ("120;", Some(120)),
        ("+120", Some(120)),
        ("+-120", None),
        // Of several readings the longer wait.
        ("120 parsecs", Some(120)),
        ("7,200", Some(7200)),
        ("7.200", Some(7200)),
        ("7 200", Some(7200)),
        ("7\u{a0}200 s", Some(7200)),
        ("7'200", Some(7200)),
        ("1,234,567", Some(7 * 86_400)),
        ("1,5", Some(5)),
        ("1,5 hours", Some(5400)),
        ("5,60", Some(60)),
        ("60-120", Some(120)),
        ("10 - 20 minutes", Some(1200)),
        // Units, and several of them.
        ("7200000ms", Some(7200)),
        ("soon [31m", None),
        ("soon \u{1b}[31;1m now", None),
        ("[31m]", Some(1860)),
        ("1500 milliseconds", Some(2)),
        ("1.5h", Some(5400)),
        ("1 minute", Some(60)),
        ("1h60m", Some(7200)),
        ("1h 60m", Some(7200)),
        ("1 hour and 60 minutes", Some(7200)),
        ("1 Hour, 60 Minutes", Some(7200)),
        ("1d2h3m4s", Some(93_784)),
        ("1h30", Some(5400)),
        ("60m or 90s", Some(3600)),
        ("an hour", Some(3600)),
        ("two hours", Some(7200)),
        ("2-hour", Some(7200)),
        ("hour(s): 2", Some(2)),
        ("2 hour(s)", Some(7200)),
        ("02:00:00", Some(7200)),
        ("0:30", Some(1800)),
        ("1 day, 2:00:00", Some(93_600)),
        ("1 week", Some(7 * 86_400)),
        ("7.2e3", Some(7200)),
        // ISO 8601.
        ("PT2H", Some(7200)),
        ("pt1h30m", Some(5400)),
        ("PT7200S", Some(7200)),
        ("PT0.5H", Some(1800)),
        ("P1D", Some(86_400)),
        ("P1DT2H", Some(93_600)),
        ("P1W", Some(7 * 86_400)),
        ("P1M", Some(7 * 86_400)),
        ("-PT2H", None),
        ("PT", None),
        // Other text around it.
        ("7200 (two hours)", Some(7200)),
        ("7200 # two hours", Some(7200)),
        ("120, please", Some(120)),
        ("seconds=7200", Some(7200)),
        ("delay-seconds: 7200", Some(7200)),
        ("in 5 minutes", Some(300)),
        ("{\"retry_after\": 7200}", Some(7200)),
        ("<7200>", Some(7200)),
        ("\u{a0}7200", Some(7200)),
        ("7200\u{a0}", Some(7200)),
        ("７２００", Some(7200)),
        ("7\u{1}", Some(7)),
        ("v2", None),
        ("seconds=-5", None),
        ("a while", None),
        ("-5s", None),
        (".", None),
        // The first of March 2026 is a Sunday.
        ("Mon, 01 Mar 2026 12:10:00 GMT", Some(600)),
        ("01 Mar 2026 12:10:00 GMT", Some(600)),
        ("Sun, 01 Mar 2026 12:10:00 +0000", Some(600)),
        ("Sun, 01 Mar 2026 14:10:00 +0200", Some(600)),
        ("Sun, 01 Mar 2026 12:10:00 UTC", Some(600)),
        ("Sun, 01 Mar 2026 12:10:00", Some(600)),
        ("sun, 01 mar 2026 12:10:00 gmt", Some(600)),
        ("Sun, 1 Mar 2026 12:10:00 GMT", Some(600)),
        ("2026-03-01T12:10:00Z", Some(600)),
        ("2026-03-01T12:10:00.5Z", Some(600)),
        ("2026-03-01 12:10:00", Some(600)),
        ("\"Sun, 01 Mar 2026 12:10:00 GMT\"", Some(600)),
        ("9999-12-31T23:59:59Z", Some(7 * 86_400)),
        ("Sat, 01 Jan 29999 00:00:00 GMT", Some(7 * 86_400)),
        ("99999-01-01T00:00:00Z", Some(7 * 86_400)),
        ("Sun, 01 Mar 02026 12:10:00 GMT", None),
        ("Sun, 30 Feb 2026 12:10:00 GMT", None),
        ("2026-13-45T12:10:00Z", None),
        ("120, Sun, 30 Feb 2026 12:10:00 GMT", Some(120)),
        // Of a day and a month that can't be told apart the later date counts.
        ("01/02/2026", Some(1)),
        ("01/03/2026 12:10:00", Some(600)),
        ("03/01/2026, 12:10:00 PM", Some(600)),
        ("01.03.2026 12:10", Some(600)),
        ("04/03/2026 12:00", Some(7 * 86_400)),
        // As programs write dates, and with text around them.
        ("Sun Mar 01 2026 12:10:00 GMT+0000 (Coordinated Universal Time)", Some(600)),
        ("Sun Mar 01 2026 14:10:00 GMT+0200 (Eastern European Standard Time)", Some(600)),
        ("Sun, 01 Mar 2026 12:10:00 GMT+00:00", Some(600)),
        ("Sun, 01 Mar 2026 14:10:00 UTC+2", Some(600)),
        ("Sun Mar  1 12:10:00 UTC 2026", Some(600)),
        ("2026-03-01 12:10:00.123456789 +0000 UTC m=+9000.000012", Some(600)),
        ("2026-03-01T12:10:00+00:00[UTC]", Some(600)),
        ("Sun, 01 Mar 2026 12:10:00 +0000 (UTC)", Some(600)),
        ("until Sun, 01 Mar 2026 12:10:00 GMT.", Some(600)),
        ("2026-03-01T12:10:00Z (maintenance)", Some(600)),
        ("date=\"2026-03-01T12:10:00Z\"", Some(600)),
        ("\u{a0}Sun, 01 Mar 2026 12:10:00 GMT", Some(600)),
        ("Sun,\u{a0}01 Mar 2026 12:10:00\u{a0}GMT", Some(600)),
        ("5, Sun, 01 Mar 2026 12:10:00 GMT", Some(600)),
        ("7200, Sun, 01 Mar 2026 12:10:00 GMT", Some(7200)),
        ("7200, 01 Mar 2026 12:10:00 GMT", Some(7200)),
    ];
    for (value, seconds) in rows {
        assert_eq!(asked(&[("Retry-After", value)]), seconds.map(Duration::from_secs), "{value}");
    }
    assert_eq!(asked(&[("Retry-After", "5, 2026-03-01T12:10:00Z, 90s")]), Some(secs(600)));
    // A no-break space in Latin-1.
    assert_eq!(retry_after([("retry-after", &b"\xa07200"[..])], now()), Some(secs(7200)));
    assert_eq!(retry_after([("retry-after", &b"2\xa0hours\xff"[..])], now()), Some(secs(7200)));
}

/// A value of any length is read in one pass, whatever it is made of.
#[test]
fn long_retry_after_values_are_read_to_their_end() {
    for part in [
        "1,111,",
        "5 ",
        "1 Mar ",
        "1-",
        "p1",
        "a ",
        "1.",
        "- 1",
        "\u{a0}",
        "1h,",
        "2026-01-01 ",
        "12:00:",
        "((",
        "1e",
    ] {
        let value = format!("{} x 7200s", part.repeat(60_000 / part.len()));
        assert!(asked(&[("Retry-After", &value)]).is_some_and(|wait| wait >= secs(7200)), "{part}");
    }
}

proptest::proptest! {
    #[test]
    fn any_retry_after_is_read_and_a_number_in_it_counts(text in "[ -~\u{a0}é]{0,40}", bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..60)) {
        let wait = retry_after([("retry-after", &bytes[..])], now());
        proptest::prop_assert!(wait.is_none_or(|wait| wait >= secs(1) && wait <= secs(7 * 86_400)));
        // Another value on the same line or on one of its own never shortens a wait.
        let both = asked(&[("retry-after", &text), ("retry-after", "7200")]);
        proptest::prop_assert!(both >= Some(secs(7200)));
    }
}

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn asked(lines: &[(&str, &str)]) -> Option<Duration> {
    retry_after(lines.iter().map(|(name, value)| (*name, value.as_bytes())), now())
}

#[test]
fn rfc9110_10_2_3_a_date_counts_from_the_date_of_the_response() {
    // The server's clock is ahead of ours by two hours, or behind, in any form that a date has.
    for date in [
        "Sun, 01 Mar 2026 14:00:00 GMT",
        "Sunday, 01-Mar-26 14:00:00 GMT",
        "Sun Mar  1 14:00:00 2026",
        // With a wrong weekday, and as RFC 9110 doesn't have it.
        "Tue, 01 Mar 2026 14:00:00 GMT",
        "2026-03-01T14:00:00Z",
        "Sun, 01 Mar 2026 10:00:00 GMT",
    ] {
        let hour = if date.contains("10:") { "10:05" } else { "14:05" };
        let until = format!("Sun, 01 Mar 2026 {hour}:00 GMT");
        assert_eq!(asked(&[("Date", date), ("Retry-After", &until)]), Some(secs(300)), "{date}");
        assert_eq!(asked(&[("retry-after", &until), ("date", date)]), Some(secs(300)), "{date}");
        assert_eq!(asked(&[("retry-after", "60"), ("date", date)]), Some(secs(60)), "{date}");
    }
    // Without one, or with one that can't be read, our own clock counts.
    let until = ("retry-after", "Sun, 01 Mar 2026 12:05:00 GMT");
    for date in ["", "soon", "01/03/2026"] {
        assert_eq!(asked(&[("date", date), until]), Some(secs(300)), "{date}");
    }
    assert_eq!(asked(&[until]), Some(secs(300)));
    // A date before the response's own is over; one far behind it is no longer than any other wait.
    assert_eq!(asked(&[("date", "Sun, 01 Mar 2026 14:00:00 GMT"), until]), Some(secs(1)));
    assert_eq!(asked(&[("date", "Thu, 01 Jan 1970 00:00:00 GMT"), until]), Some(secs(7 * 86_400)));
}

#[test]
fn of_several_retry_after_values_the_longest_counts() {
    let rows: [(&[&str], Option<u64>); 8] = [
        (&["5", "60"], Some(60)),
        (&["60", "5"], Some(60)),
        (&["soon", "60", "-1"], Some(60)),
        (&["60, 5"], Some(60)),
        (&["5, Sun, 01 Mar 2026 12:10:00 GMT"], Some(600)),
        (&["Sun Mar  1 12:10:00 2026, 5"], Some(600)),
        (&["5", "Sun, 01 Mar 2026 12:10:00 GMT"], Some(600)),
        (&["soon", "later, or never"], None),
    ];
    for (values, seconds) in rows {
        let lines: Vec<_> = values.iter().map(|value| ("Retry-After", *value)).collect();
        assert_eq!(asked(&lines), seconds.map(secs), "{values:?}");
        let head = ResponseHead::new(503, lines.iter().copied());
        let got = judge(&Outcome::Answer { head, body: b"" }, &History::default(), &Policy::default(), now());
        // The first step without any is five minutes: never less.
        assert_eq!(got.lifetime, secs(seconds.unwrap_or_default().max(300)), "{values:?}");
    }
}

proptest::proptest! {
    #[test]
    fn no_header_line_makes_an_unreachable_robots_txt_be_asked_sooner(
        status in proptest::sample::select(vec![408_u16, 421, 425, 429, 500, 502, 503, 504, 599]),
        lines in proptest::collection::vec(
            (proptest::sample::select(vec!["retry-after", "Retry-After", "date", "cache-control", "expires", "age"]),
             "(0|[0-9]{1,6}|-1|Sun, 0[1-9] Mar 20[0-9]{2} 1[0-9]:00:00 GMT|[ -~]{0,12})"),
            0..5,
        ),
        failures in 0_u32..6,
    ) {
        let history = History { first_failure: (failures > 0).then(|| ago(HOUR)), failures, good_copy: None };
        let lines: Vec<_> = lines.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let with = answer(status, &lines, b"", history, &Policy::default());
        let without = answer(status, &[], b"", history, &Policy::default());
        proptest::prop_assert!(with.next_try >= without.next_try);
    }
}

/// Each situation of `http.jsonl`, and what its column `politest` asks for.
#[test]
fn http_situations() {
    let none = History::default;
    let policy = Policy::default();
    let failed = |failure| judge(&Outcome::Failed(failure), &none(), &policy, now()).access;
    let redirects = |bad| judge(&Outcome::Redirects(bad), &none(), &policy, now()).access;
    let status = |status| first(status).access;
    let rows = kit::rows("http.jsonl");
    assert_eq!(rows.len(), 21);
    for row in rows {
        let id = row["id"].as_str().unwrap();
        let asked: Vec<(Access, Access)> = match id {
            "http-01" | "http-05" | "http-06" => vec![(status(200), Access::Rules)],
            "http-02" => vec![(answer(200, &[], b"", none(), &policy).access, Access::Rules)],
            "http-03" | "http-11" => vec![
                (
                    answer(200, &[("content-type", "text/html")], b"<h1>hi</h1>", none(), &policy).access,
                    Access::AllowAll,
                ),
                (
                    answer(200, &[("content-type", "text/html")], b"User-agent: *", none(), &policy).access,
                    Access::Rules,
                ),
            ],
            "http-04" => vec![(failed(Failure::Truncated), Access::Defer)],
            "http-07" => vec![(answer(204, &[], b"", none(), &policy).access, Access::Rules)],
            "http-08" => vec![(status(206), Access::Defer)],
            "http-09" => (301..=308)
                .filter(|s| ![304, 305, 306].contains(s))
                .map(|s| (status(s), Access::DenyAll))
                .collect(),
            "http-10" => vec![
                (redirects(BadRedirect::Loop), Access::DenyAll),
                (redirects(BadRedirect::TooMany), Access::DenyAll),
            ],
            "http-12" => vec![(redirects(BadRedirect::BadTarget), Access::DenyAll)],
            // Deviation of the specification to the stricter side: 402 and 451 close the site.
            "http-13" => vec![
                (status(400), Access::AllowAll),
                (status(404), Access::AllowAll),
                (status(405), Access::AllowAll),
                (status(410), Access::AllowAll),
                (status(402), Access::DenyAll),
                (status(451), Access::DenyAll),
            ],
            "http-14" => vec![(status(401), Access::DenyAll), (status(403), Access::DenyAll)],
            "http-15" => vec![(status(429), Access::Defer)],
            "http-16" => [500, 502, 503, 504].map(|s| (status(s), Access::Defer)).to_vec(),
            "http-17" => [Failure::Dns, Failure::Refused, Failure::Tls, Failure::Timeout]
                .map(|failure| (failed(failure), Access::Defer))
                .to_vec(),
            "http-18" => {
                let history = History { good_copy: Some(ago(HOUR)), ..none() };
                vec![(answer(304, &[], b"", history, &policy).access, Access::Stored { half_rate: false })]
            }
            "http-19" => {
                let got = answer(200, &[("cache-control", "max-age=604800")], FILE, none(), &policy);
                assert_eq!(got.lifetime, 24 * HOUR, "{id}");
                vec![(got.access, Access::Rules)]
            }
            "http-20" => {
                let urls = [
                    "http://a.example/",
                    "https://a.example/",
                    "https://a.example:8443/",
                    "https://b.a.example/",
                ];
                let files: std::collections::BTreeSet<_> =
                    urls.iter().map(|url| robots::robots_url(url)).collect();
                assert_eq!(files.len(), urls.len(), "{id}");
                continue;
            }
            "http-21" => {
                let root = robots::robots_url("https://a.example/sub/robots.txt");
                assert_eq!(root.as_deref(), Some("https://a.example/robots.txt"), "{id}");
                continue;
            }
            other => panic!("a situation without a test: {other} {row}"),
        };
        for (got, want) in asked {
            assert_eq!(got, want, "{id} {}", row["situation"]);
        }
    }
}

/// RFC 9309 section 2.3.1: unavailable allows all, unreachable denies all; 401 and 403 as the dialect has them.
#[test]
fn a_response_becomes_rules_in_one_step() {
    use robots::{Agent, Dialect, Options, Robots};
    let agent = Agent::new("SuperRobot/1.0");
    let body = b"User-agent: *\nDisallow: /private\n";
    let rows = [
        (200, Dialect::Hardened, [false, true], "2.3.1.1"),
        (206, Dialect::Hardened, [false, false], "a part of the file"),
        (301, Dialect::Rfc9309, [false, false], "2.3.1.2: a redirect that wasn't followed"),
        (304, Dialect::Rfc9309, [false, false], "no stored copy"),
        (401, Dialect::Hardened, [false, false], "draft of 1996"),
        (401, Dialect::Koster1996, [false, false], "draft of 1996"),
        (401, Dialect::Rfc9309, [true, true], "2.3.1.3"),
        (403, Dialect::Rfc9309, [true, true], "2.3.1.3"),
        (404, Dialect::Hardened, [true, true], "2.3.1.3"),
        (410, Dialect::Koster1994, [true, true], "2.3.1.3"),
        (429, Dialect::Rfc9309, [false, false], "RFC 6585 section 4"),
        (451, Dialect::Rfc9309, [false, false], "RFC 7725"),
        (500, Dialect::Rfc9309, [false, false], "2.3.1.4"),
        (503, Dialect::Strictest, [false, false], "2.3.1.4"),
        (0, Dialect::Rfc9309, [false, false], "no status"),
    ];
    for (status, dialect, want, source) in rows {
        let robots = Robots::from_response(status, [], body, &agent, &Options::from(dialect));
        let got = ["/private/x", "/x"].map(|path| robots.verdict(path).allowed);
        assert_eq!(got, want, "{status} {dialect}: {source}");
        assert!(robots.verdict("/robots.txt").allowed, "{status}");
        assert_eq!(robots.dialect(), dialect);
    }
    let options = Options::default();
    let page = Robots::from_response(200, [("content-TYPE", "text/html")], b"<p>Disallow", &agent, &options);
    assert!(page.verdict("/private/x").allowed, "an HTML page is no robots.txt");
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(body.iter().flat_map(|&b| [b, 0])).collect();
    let marked = Robots::from_response(200, [], &utf16, &agent, &options);
    assert!(!marked.verdict("/private/x").allowed, "UTF-16 with a byte order mark");
    let reason = |status| Robots::from_response(status, [], b"", &agent, &options).verdict("/").to_string();
    assert_eq!(reason(503), "not allowed: unreachable: 503 (hardened)");
    assert_eq!(reason(304), "not allowed: unreachable: 304 without a copy (hardened)");
    assert_eq!(reason(403), "not allowed: closed: 403 (hardened)");
}

#[test]
fn a_wall_in_place_of_the_file_never_opens_the_site() {
    let mut policy = Policy::default();
    policy.on_forbidden = OnForbidden::Rfc9309;
    policy.open_unreachable = UnreachableAfter30Days::After30Days;
    let walled = |status: u16, closes: bool, history: History, headers: &[(&str, &str)]| {
        let head = ResponseHead::new(status, headers.iter().copied());
        judge(&Outcome::Wall { head, what: "challenged by x", closes }, &history, &policy, now())
    };
    let fresh = walled(200, false, History::default(), &[]);
    assert_eq!((fresh.access, fresh.lifetime), (Access::Defer, HOUR));
    assert!(fresh.reason.ends_with(": 200, challenged by x"), "{}", fresh.reason);
    assert_eq!(walled(503, false, History::default(), &[("retry-after", "7200")]).lifetime, 2 * HOUR);
    // Neither a copy nor thirty days of it open the site.
    let copy = History { first_failure: Some(ago(13 * HOUR)), failures: 9, good_copy: Some(ago(14 * HOUR)) };
    let month = History { first_failure: Some(ago(800 * HOUR)), failures: 99, good_copy: None };
    for history in [copy, month] {
        assert_eq!(walled(200, false, history, &[]).access, Access::DenyAll);
    }
    let closed = walled(403, true, History::default(), &[]);
    assert_eq!((closed.access, &*closed.reason), (Access::DenyAll, "closed: 403, challenged by x"));
}
