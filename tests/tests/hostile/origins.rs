//! Hundreds of hosts whose robots.txt and consent files are as large as they may be: what is kept of each has one budget, and what
//! doesn't fit is read again from the database.

use std::sync::LazyLock;
use std::time::Duration;

use whole_program::hostile::Expect::{Answers, AtMost, Never, Robots, Skips};
use whole_program::hostile::http::{answer, page, text, typed};
use whole_program::hostile::{Ask, Expect, Scenario, Serve};

use crate::crawl::{Plan, run_alone};

/// A robots.txt is read up to here.
const MOST: usize = 500 << 10;

/// As many lines of these as fit into `MOST`, with `start` before and `end` behind them.
fn filled(start: &str, end: &str, line: impl Fn(usize) -> String) -> String {
    let mut file = start.to_owned();
    for n in 0.. {
        let line = line(n);
        if file.len() + line.len() + end.len() > MOST {
            break;
        }
        file.push_str(&line);
    }
    file + end
}

/// Nearly 30,000 rules; the last one closes a seed.
static RULES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    text(filled("User-agent: *\n", "Disallow: /closed\n", |n| format!("Disallow: /p{n}\n")))
});

static SIGNALS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let lines: String =
        (0..9_400).map(|n| format!("Content-Signal: /p{n} search=yes, ai-train=no\n")).collect();
    text(format!("User-agent: *\n{lines}Disallow: /closed\n"))
});

/// A thousand entries, the most that are kept.
static TDM: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let long = "x".repeat(400);
    let entry = |n: usize| {
        let policy = format!("https://site.test/policies/{n}");
        format!(r#"{{"location":"/p{n}/{long}","tdm-reservation":1,"tdm-policy":"{policy}"}}"#)
    };
    let entries: Vec<String> = (0..1_000).map(entry).collect();
    typed("application/json", format!("[{}]", entries.join(",")))
});

/// Ten thousand rules, the most that are kept.
static AI: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let rules: String = (0..10_000).map(|n| format!("Disallow: /p{n:030}/*.jpg\n")).collect();
    text(format!("User-agent: *\n{rules}"))
});

fn robots(ask: &Ask, file: &LazyLock<Vec<u8>>) -> Vec<u8> {
    if ask.path == "/robots.txt" { file.to_vec() } else { page("<title>good</title>") }
}

fn files(ask: &Ask) -> Vec<u8> {
    match ask.path.as_str() {
        "/robots.txt" => answer(404, &[], ""),
        "/.well-known/tdmrep.json" => TDM.to_vec(),
        "/ai.txt" => AI.to_vec(),
        _ => page("<title>good</title>"),
    }
}

/// So many hosts that answer alike.
fn hosts(
    count: usize,
    name: &str,
    serve: Serve,
    seeds: &'static [&'static str],
    expect: &'static [Expect],
) -> &'static [Scenario] {
    let host = |n| {
        let name: &'static str = format!("{name}-{n}").leak();
        Scenario::everything(name, "robots", serve, expect).seeds(seeds)
    };
    (1..=count).map(host).collect::<Vec<_>>().leak()
}

/// Everything is as by default, the delay too: the hosts all begin at once. Large files are read in turn, on whatever processors there
/// are: the limit is against hanging.
fn plan(name: &'static str, scenarios: &'static [Scenario]) -> Plan {
    let (delay, limit) = (Duration::from_secs(1), Duration::from_mins(6));
    // As long as the hosts take: a longer canary would only wait for its own delay.
    Plan { options: &["--adaptive", "1"], delay, limit, canary: 20, ..Plan::new(name, scenarios) }
}

const SEEDS: &[&str] = &["/open", "/closed"];

/// A file is read once, and still decides when its host has another turn. On a busy machine it may be asked for a second time: where it
/// didn't get its turn to be read within the deadline.
const READ: &[Expect] =
    &[AtMost(3), Answers("/open", 200), Never("/closed"), Skips("/closed", "robots_txt"), Robots("rules")];

#[test]
fn two_hundred_hosts_with_thousands_of_content_signals() {
    LazyLock::force(&SIGNALS);
    let serve = Serve::Answer(|ask| robots(ask, &SIGNALS));
    run_alone(&plan("content-signals", hosts(200, "signals", serve, SEEDS, READ)));
}

#[test]
fn four_hundred_hosts_with_half_a_megabyte_of_rules() {
    LazyLock::force(&RULES);
    let serve = Serve::Answer(|ask| robots(ask, &RULES));
    run_alone(&plan("rules", hosts(400, "rules", serve, SEEDS, READ)));
}

#[test]
fn four_hundred_hosts_with_the_largest_consent_files() {
    LazyLock::force(&TDM);
    LazyLock::force(&AI);
    assert!(TDM.len() <= MOST && AI.len() <= MOST, "{} {}", TDM.len(), AI.len());
    let expect = &[AtMost(6), Answers("/open", 200)];
    let scenarios = hosts(400, "consent", Serve::Answer(files), &["/open"], expect);
    let plan = plan("consent-files", scenarios);
    run_alone(&Plan { options: &["--adaptive", "1", "--purpose", "search,tdm,ai-train"], ..plan });
}
