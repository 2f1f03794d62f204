//! Spaces of URLs without end, against the budgets that are the default.

use std::fmt::Write as _;
use std::time::Duration;

use whole_program::hostile::Expect::{Answers, AtLeast, AtMost, Skips};
use whole_program::hostile::http::{page, redirect};
use whole_program::hostile::{Ask, Scenario, Serve};

use crate::crawl::{Plan, run};

/// The number at the end of a path, or 0.
fn number(ask: &Ask) -> usize {
    let digits = ask.path.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// A name of five letters and digits.
fn made_up(n: usize) -> String {
    let mut bits = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24;
    (0..5)
        .map(|_| {
            let byte = b"abcdefghijklmnopqrstuvwxyz0123456789"[(bits % 36) as usize];
            bits /= 36;
            char::from(byte)
        })
        .collect()
}

/// Text that is on no other page.
fn news(n: usize) -> String {
    (0..40).fold(String::new(), |mut text, k| {
        let _ = write!(text, "word{} ", (n * 7919 + k * 104_729) % 999_983);
        text
    })
}

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::pages(
        "calendar",
        "trap",
        // Each month leads to the next one, and each has its own name, forever.
        Serve::Answer(|ask| {
            let month = number(ask);
            page(format!("<title>Month {month}</title>{}<a href=/month/{}>next</a>", news(month), month + 1))
        }),
        &[Answers("/", 200), AtLeast(100), AtMost(103), Skips("/month/101", "trap_depth")],
    ),
    Scenario::pages(
        "calendar-without-news",
        "trap",
        // Two links a page: wide, not deep. No event on any day.
        Serve::Answer(|ask| {
            let day = number(ask);
            page(format!(
                "<p>No events.</p><a href=/day/{}>a</a><a href=/day/{}>b</a>",
                2 * day + 1,
                2 * day + 2
            ))
        }),
        &[Answers("/", 200), AtLeast(150), AtMost(230)],
    ),
    Scenario::pages(
        "session-ids",
        "trap",
        Serve::Answer(|ask| {
            page(format!("<p>Welcome</p><a href='/?session={:x}'>home</a>", ask.nth * 0x9E37_79B9))
        }),
        &[Answers("/", 200), AtMost(103)],
    ),
    Scenario::pages(
        "session-ids-in-paths",
        "trap",
        Serve::Answer(|ask| {
            page(format!("<p>{}</p><a href='/s{:x}/shop'>shop</a>", news(ask.nth), ask.nth * 0x9E37_79B9))
        }),
        &[Answers("/", 200), AtMost(103)],
    ),
    Scenario::pages(
        "a-b-a-b",
        "trap",
        Serve::Answer(|ask| page(format!("{}<a href='a/b/'>deeper</a>", news(ask.nth)))),
        &[Answers("/", 200), Skips("/a/b/a/b/a/b/a/b/", "trap_repeats"), AtMost(6)],
    ),
    Scenario::pages(
        "same-segment",
        "trap",
        Serve::Answer(|ask| page(format!("{}<a href='more/'>more</a>", news(ask.nth)))),
        &[Answers("/", 200), Skips("/more/more/more/more/", "trap_repeats"), AtMost(6)],
    ),
    Scenario::pages(
        "ever-deeper",
        "trap",
        Serve::Answer(|ask| page(format!("{}<a href='d{}/'>deeper</a>", news(ask.nth), ask.nth))),
        &[Answers("/", 200), AtLeast(30), AtMost(36)],
    ),
    Scenario::pages(
        "pages-without-end",
        "trap",
        Serve::Answer(|ask| {
            let n = number(ask);
            page(format!("{}<a href='/list?page={}'>next</a>", news(n), n + 1))
        }),
        &[Answers("/", 200), Skips("/list?page=101", "trap_depth"), AtMost(103)],
    ),
    Scenario::pages(
        "soft-404",
        "trap",
        // Whatever is asked for is "found", and leads to ten things more.
        Serve::Answer(|ask| {
            let n = ask.nth;
            let links: String =
                (0..10).map(|k| format!("<a href='/x{:x}-{k}'>x</a>", n * 0x9E37_79B9)).collect();
            page(format!("<title>Sorry</title><p>We couldn't find that, but see here:</p>{links}"))
        }),
        // The last of these are held back while they wait.
        &[Answers("/", 200), AtLeast(150), AtMost(230)],
    ),
    Scenario::pages(
        "soft-404-short-names",
        "trap",
        // The same, and the names are short: letters and digits, or letters alone.
        Serve::Answer(|ask| {
            let links: String =
                (0..10).map(|k| format!("<a href='/{}'>x</a>", made_up(10 * ask.nth + k))).collect();
            page(format!("<title>Sorry</title><p>We couldn't find that, but see here:</p>{links}"))
        }),
        &[Answers("/", 200), AtLeast(150), AtMost(230)],
    ),
    Scenario::pages(
        "queries-by-the-thousand",
        "trap",
        Serve::Answer(|ask| match number(ask) {
            n @ 1..=3 => {
                page((0..5000).map(|k| format!("<a href='/shop?filter={n}-{k}'>f</a>")).collect::<String>())
            }
            _ => page(news(ask.nth)),
        }),
        &[Answers("/1", 200), Answers("/3", 200), Skips("/shop?filter=3-4999", "trap_query")],
    )
    .seeds(&["/1", "/2", "/3"]),
    Scenario::pages(
        "redirects-into-a-calendar",
        "trap",
        Serve::Answer(|ask| {
            let n = number(ask);
            if n.is_multiple_of(2) {
                redirect(302, &format!("/m{}", n + 1))
            } else {
                page(format!("{}<a href=/m{}>x</a>", news(n), n + 1))
            }
        }),
        &[Answers("/", 302), AtLeast(100), AtMost(210)],
    ),
    Scenario::pages(
        "print-versions",
        "trap",
        Serve::Answer(|ask| {
            page(format!(
                "{}<a href='{}&print=1'>print</a>",
                news(1),
                if ask.path == "/" { "/?a=1" } else { &ask.path }
            ))
        }),
        &[Answers("/", 200), AtMost(103)],
    ),
];

#[test]
fn spaces_without_end() {
    let options: &[_] = &["--timeout", "4s", "--adaptive", "0", "--max-pages-per-host", "300"];
    // One host holds ten thousand URLs, of which three hundred are asked for: a limit, which has an exit code of its own.
    run(&Plan {
        delay: Duration::from_millis(20),
        canary: 200,
        exit: 10,
        options,
        ..Plan::new("traps", SCENARIOS)
    });
}
