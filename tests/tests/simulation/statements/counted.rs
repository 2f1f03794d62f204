//! The counts of one crawl wherever they are given, and the coverage of each host against the simulated web.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crawler::report::{About, Report, write_provenance};
use crawler::view::{HostState, HostStatement, HostSummary, Status, Summary, View};
use serde_json::Value;
use whole_program::simweb::{Truth, Web};

use super::tables::{Tables, text};

/// Compares what report and provenance say with `show --json`; gives what is wrong, and how many figures were compared.
pub(crate) fn judge(parts: &[(String, View)], summary: &Summary, files: &Path) -> (Vec<String>, u64) {
    let mut figures = Figures::default();
    let shown = serde_json::to_value(summary).expect("it is JSON");
    let report = match parts {
        [(_, view)] => Report::of(view),
        _ => Report::of_parts(parts, false, summary.totals.runs),
    };
    let report = report.expect("the crawl can be counted");
    let of_report = serde_json::to_value(&report).expect("it is JSON");
    figures.equal("report: summary", &of_report["summary"], &shown);
    let totals = &summary.totals;
    figures.equal("report: requests", &of_report["activity"]["requests"], &totals.requests.into());
    let pages = totals.pages + totals.resources;
    figures.equal("report: pages by content", &of_report["contents"]["pages"], &pages.into());
    figures.equal("report: failed", &of_report["contents"]["failure_count"], &totals.failed.into());

    let about = About { title: None, authors: Vec::new(), license: None };
    write_provenance(&report, &about, files).expect("the files can be written");
    let read = |name: &str| std::fs::read_to_string(files.join(name)).expect("the file can be read");
    let written: Value = serde_json::from_str(&read("report.json")).expect("it is JSON");
    figures.equal("report.json: totals", &written["summary"]["totals"], &shown["totals"]);
    let methods = read("methods.md");
    for (word, count) in [("request", totals.requests), ("redirect", totals.redirects), ("run", totals.runs)]
    {
        let said = numbers(&methods, word);
        figures.equal(&format!("methods.md: {word}"), &said.first().copied().into(), &count.into());
    }
    // By kind, the same as pages and resources together; the runs, the same as all requests.
    let kinds = |name: &str| -> u64 {
        let kinds = of_report["contents"]["kinds"].as_array().expect("a list");
        kinds.iter().map(|kind| kind[name].as_u64().expect("a number")).sum()
    };
    figures.equal("report: pages by kind", &kinds("pages").into(), &totals.pages.into());
    figures.equal("report: resources by kind", &kinds("resources").into(), &totals.resources.into());
    let runs = of_report["activity"]["runs"].as_array().expect("a list");
    let of_runs: u64 = runs.iter().map(|run| run["requests"].as_u64().expect("a number")).sum();
    figures.equal("report: requests of the runs", &of_runs.into(), &totals.requests.into());
    figures.equal("report: runs", &runs.len().into(), &totals.runs.into());
    // Groups of digits have a narrow space between them.
    let html = read("report.html").replace('\u{202f}', "");
    figures.equal(
        "report.html: requests",
        &html.contains(&format!(">{}<", totals.requests)).into(),
        &true.into(),
    );
    (figures.wrong, figures.compared)
}

#[derive(Default)]
struct Figures {
    wrong: Vec<String>,
    compared: u64,
}

impl Figures {
    fn equal(&mut self, what: &str, one: &Value, other: &Value) {
        self.compared += 1;
        if one != other {
            self.wrong.push(format!("{what}: {one}, and `show --json`: {other}"));
        }
    }
}

/// The numbers before a word, in the singular or the plural.
fn numbers(text: &str, word: &str) -> Vec<u64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_word = |found: &str| {
        let found = found.trim_matches(|c: char| !c.is_alphanumeric());
        found == word || found.strip_suffix('s') == Some(word)
    };
    let pairs = words.windows(2).filter(|pair| is_word(pair[1]));
    pairs.filter_map(|pair| pair[0].replace(',', "").parse().ok()).collect()
}

/// What is wrong with the coverage of the hosts, and how many were judged. `truth`: what a whole crawl requests, of a crawl that came to its end;
/// `asked`: what the simulated web was asked for.
pub(crate) fn coverage(
    summary: &Summary,
    tables: &Tables,
    truth: Option<&Truth>,
    asked: &BTreeSet<String>,
) -> (Vec<String>, u64) {
    let mut wrong = Vec::new();
    let mut by_status: BTreeMap<Status, u64> = BTreeMap::new();
    for host in &summary.hosts {
        let name = &host.host;
        *by_status.entry(host.coverage).or_default() += 1;
        let waiting = tables.queue.values().filter(|row| text(row, "host") == name).count() as u64;
        let parked = tables.hosts.get(name).is_some_and(|row| !row["parked"].is_null());
        let state = match (waiting, parked) {
            (0, _) => HostState::Complete,
            (_, true) => HostState::Parked,
            (_, false) => HostState::Queued,
        };
        if (host.queued, host.state) != (waiting, state) {
            wrong.push(format!(
                "{name}: {} queued, {:?}, and {waiting} wait, {state:?}",
                host.queued, host.state
            ));
        }
        let of_host = |url: &&String| Web::split(url).0 == name;
        let missing: Vec<_> =
            truth.iter().flat_map(|truth| truth.requested.difference(asked)).filter(of_host).collect();
        if host.coverage == Status::Complete && (waiting > 0 || !missing.is_empty()) {
            wrong.push(format!("{name}: complete, {waiting} wait, never asked for: {missing:?}"));
        }
        for of_host in [host.clone()].into_iter().chain(altered(&host.because).map(|because| {
            // One that is false has to be noticed.
            HostSummary { because, ..host.clone() }
        })) {
            let is_said = of_host.because == host.because;
            match sentence(&of_host, summary, tables) {
                Some(why) if is_said => wrong.push(format!("{name}: {}: {why}", host.because)),
                None if !is_said => wrong.push(format!("{name}: {} passes as true", of_host.because)),
                _ => {}
            }
        }
        let has_crashed = host.because.contains("ended a process");
        if host.coverage == Status::Incomplete && waiting == 0 && !has_crashed {
            wrong.push(format!("{name}: incomplete, and nothing waits: {}", host.because));
        }
        let limits = tables
            .skipped
            .values()
            .filter(|row| text(row, "host") == name && ["limit", "trap"].contains(&text(row, "layer")));
        let is_cut = host.because.contains("truncated");
        if host.coverage == Status::CompleteWithinLimits && waiting == 0 && limits.count() == 0 && !is_cut {
            wrong.push(format!("{name}: {}, and no limit kept anything out", host.because));
        }
    }
    let of = |status| by_status.get(&status).copied().unwrap_or_default();
    let counted = [
        (Status::Complete, summary.hosts_complete),
        (Status::CompleteWithinLimits, summary.hosts_complete_within_limits),
        (Status::CompleteExceptWalls, summary.hosts_complete_except_walls),
        (Status::Incomplete, summary.hosts_incomplete),
    ];
    for (status, count) in counted {
        if of(status) != count {
            wrong.push(format!("{count} hosts are {status:?}, and {} are listed so", of(status)));
        }
    }
    (wrong, summary.hosts.len() as u64 + 3)
}

/// The sentence with another number at each place.
fn altered(because: &str) -> impl Iterator<Item = String> {
    let digits =
        because.match_indices(|c: char| c.is_ascii_digit()).map(|(at, digit)| (at, digit.to_owned()));
    let digits: Vec<(usize, String)> = digits.collect();
    digits.into_iter().map(|(at, digit)| {
        let other = if digit == "9" { "8" } else { "9" };
        format!("{}{other}{}", &because[..at], &because[at + 1..])
    })
}

/// What is wrong with the sentence about a host, which is made again from the tables.
fn sentence(host: &HostSummary, summary: &Summary, tables: &Tables) -> Option<String> {
    use HostStatement as S;
    let of_host = |row: &&Value| text(row, "host") == host.host;
    let count = |number: usize, one: &str| format!("{number} {one}{}", if number == 1 { "" } else { "s" });
    let waiting = tables.queue.values().filter(of_host).count();
    let remain = format!("{} remain{}", count(waiting, "URL"), if waiting == 1 { "s" } else { "" });
    let row = tables.hosts.get(&host.host)?;
    let robots = text(row, "robots_status").strip_prefix("defer: ");
    let robots = robots.map(|why| format!(" (robots.txt {why})")).unwrap_or_default();
    let failed =
        tables.errors.values().filter(of_host).filter(|row| !tables.queue.contains_key(text(row, "url")));
    let failed = failed.count();
    let failed = if failed == 0 { String::new() } else { format!("; {} failed", count(failed, "URL")) };
    let end = summary.end.as_ref();
    let limit = end.and_then(|end| end.limit.as_deref()).unwrap_or_default();
    let kept_out: Vec<&str> = tables
        .skipped
        .values()
        .filter(of_host)
        .filter(|row| {
            ["limit", "trap"].contains(&text(row, "layer")) && text(row, "reason") != "redirect_loop"
        })
        .filter(|row| !["trap_domain", "trap_page", "other_host"].contains(&text(row, "reason")))
        .map(|row| text(row, "reason"))
        .collect();
    let crashed = tables.errors.values().filter(of_host).filter(|row| text(row, "kind") == "crashed").count();
    let expected = match host.statement {
        S::Skipped => format!("complete within limits ({}): {remain}", text(row, "parked")),
        S::Walled => format!("complete except walls ({}): {remain}", text(row, "parked")),
        S::Walls => {
            let mut walls: BTreeMap<&str, usize> = BTreeMap::new();
            let not_walls = ["page", "redirect", "error"];
            let outcomes = tables.pages.values().filter(of_host).map(|row| text(row, "outcome"));
            for outcome in outcomes.filter(|outcome| !not_walls.contains(outcome)) {
                *walls.entry(outcome).or_default() += 1;
            }
            let walls: Vec<String> =
                walls.iter().map(|(what, count)| format!("{count} {}", what.replace('_', " "))).collect();
            let walls = walls.join(", ");
            format!("complete except walls ({walls}): nothing else remains to be fetched{failed}")
        }
        S::Pausing => {
            let (why, until) = (text(row, "wait_reason"), text(row, "next_at"));
            format!("incomplete: {remain}, {why} until {until}{robots}")
        }
        S::Limited => format!("complete within limits ({limit}): {remain}"),
        S::Stopped => format!("incomplete: {remain}, the crawl was stopped"),
        S::Unended => format!("incomplete: {remain}, the crawl has not ended"),
        S::Remaining => format!("incomplete: {remain}{robots}"),
        S::Crashed => format!(
            "incomplete: reading {} ended a process; `crawl resume DIR --retry-crashed` tries again",
            count(crashed, "URL")
        ),
        S::Whole => format!("complete: nothing remains to be fetched{failed}"),
        S::WithinLimits => {
            let cut: Vec<&str> = tables.pages.values().filter(of_host).filter_map(cut_by).collect();
            let names: BTreeSet<String> = kept_out.iter().map(|reason| reason.replace('_', " ")).collect();
            let limits: BTreeSet<&str> = cut.iter().copied().collect();
            let names: Vec<&str> = names.iter().map(String::as_str).chain(limits).collect();
            let skipped = (!kept_out.is_empty()).then(|| format!("{} skipped", count(kept_out.len(), "URL")));
            let cut = (!cut.is_empty()).then(|| format!("{} truncated", count(cut.len(), "page")));
            let counts: Vec<String> = skipped.into_iter().chain(cut).collect();
            format!("complete within limits ({}): {}{failed}", names.join(", "), counts.join(", "))
        }
    };
    (host.because != expected).then(|| format!("by the tables: {expected}"))
}

/// The limit that kept a part of a page out, by its row; none where its end didn't arrive.
fn cut_by(row: &Value) -> Option<&'static str> {
    let hit = |name: &str| row["limits_hit"].as_array().is_some_and(|hit| hit.iter().any(|hit| hit == name));
    match text(row, "truncated") {
        "wire" | "decoded" => Some("limits.max_body"),
        _ if hit("links") => Some("limits.max_links_per_page"),
        _ => None,
    }
}
