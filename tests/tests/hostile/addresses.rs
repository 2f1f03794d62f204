//! Ways to make a crawler ask what only this machine or its network can reach. The secret port listens on 127.0.0.1 and is never to
//! be asked; see `crawl::run`.

use whole_program::hostile::Expect::{Answers, AtMost};
use whole_program::hostile::http::{page, redirect};
use whole_program::hostile::{Ask, Scenario, Serve};

use crate::crawl::{Plan, run};

/// A front page that links and a page that redirects to the same place.
fn lead(ask: &Ask, place: &str) -> Vec<u8> {
    let place = place.replace("PORT", &ask.secret.to_string());
    match ask.path.as_str() {
        "/" => page(format!("<a href='{place}'>x</a><a href=/moved>y</a>")),
        _ => redirect(302, &place),
    }
}

macro_rules! leads {
    ($name:literal, $place:literal) => {
        Scenario::pages(
            $name,
            "address",
            Serve::Answer(|ask| lead(ask, $place)),
            &[Answers("/", 200), Answers("/moved", 302), AtMost(3)],
        )
    };
}

pub(crate) const SCENARIOS: &[Scenario] = &[
    leads!("leads-to-loopback", "http://127.0.0.1:PORT/"),
    leads!("leads-to-loopback-in-decimal", "http://2130706433:PORT/"),
    leads!("leads-to-loopback-in-octal", "http://0177.0.0.1:PORT/"),
    leads!("leads-to-loopback-in-hex", "http://0x7f.1:PORT/"),
    leads!("leads-to-loopback-in-full-width", "http://１２７.０.０.１:PORT/"),
    leads!("leads-to-short-loopback", "http://127.1:PORT/"),
    leads!("leads-to-zero", "http://0.0.0.0:PORT/"),
    leads!("leads-to-just-zero", "http://0:PORT/"),
    leads!("leads-to-mapped-loopback", "http://[::ffff:127.0.0.1]:PORT/"),
    leads!("leads-to-compatible-loopback", "http://[::127.0.0.1]:PORT/"),
    leads!("leads-to-loopback-v6", "http://[::1]:PORT/"),
    leads!("leads-to-nat64-loopback", "http://[64:ff9b::7f00:1]:PORT/"),
    leads!("leads-to-localhost", "http://localhost:PORT/"),
    leads!("leads-to-localhost-with-dot", "http://LOCALHOST.:PORT/"),
    leads!("leads-to-metadata", "http://169.254.169.254/latest/meta-data/"),
    leads!("leads-to-carrier-nat", "http://100.64.0.1/"),
    leads!("leads-to-private-10", "http://10.0.0.1/"),
    leads!("leads-to-private-192", "http://192.168.0.1/"),
    leads!("leads-to-unique-local-v6", "http://[fd00::1]/"),
    leads!("leads-to-link-local-v6", "http://[fe80::1]/"),
    leads!("leads-to-multicast", "http://224.0.0.1/"),
    leads!("leads-to-broadcast", "http://255.255.255.255/"),
    leads!("leads-to-a-share", r"\\127.0.0.1\share"),
    leads!("leads-to-a-share-on-the-port", r"\\127.0.0.1:PORT\share"),
    leads!("leads-with-userinfo", "http://good.test@127.0.0.1:PORT/"),
    leads!("leads-by-backslash", r"http:\\127.0.0.1:PORT\x"),
    leads!("leads-with-tabs", "http://127.0.\t0.1:PORT/"),
    Scenario::pages(
        "seed-leads-to-loopback",
        "address",
        Serve::Answer(|ask| redirect(302, &format!("http://127.0.0.1:{}/", ask.secret))),
        &[Answers("/", 302), AtMost(2)],
    ),
    Scenario::pages(
        "seed-leads-to-localhost",
        "address",
        Serve::Answer(|ask| redirect(302, &format!("http://localhost:{}/", ask.secret))),
        &[Answers("/", 302), AtMost(2)],
    ),
];

#[test]
fn ways_to_closed_addresses() {
    let plan = Plan {
        options: &["--scope", "any", "--timeout", "2s", "--adaptive", "1"],
        ..Plan::new("addresses", SCENARIOS)
    };
    let crawled = run(&plan);
    // Every one of them is on record, under the kind that says so.
    let blocked: Vec<&str> = crawled
        .tables
        .errors
        .iter()
        .filter(|row| row["kind"] == "blocked_address")
        .filter_map(|row| row["url"].as_str())
        .collect();
    for place in [
        "//127.0.0.1:",
        "//0.0.0.0:",
        "//[::ffff:7f00:1]:",
        "//[::7f00:1]:",
        "//[::1]:",
        "//[64:ff9b::7f00:1]:",
        "//localhost:",
        "//169.254.169.254/latest",
        "//100.64.0.1/",
        "//10.0.0.1/",
        "//192.168.0.1/",
        "//[fd00::1]/",
        "//[fe80::1]/",
        "//224.0.0.1/",
        "//255.255.255.255/",
    ] {
        assert!(blocked.iter().any(|url| url.contains(place)), "{place} isn't among {blocked:?}");
    }
}
