//! The coverage of a crawl and of each of its hosts: complete, complete within limits, or incomplete, and why.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::SkippedRow;
use super::moment::Moment;
use crate::error_kind::ErrorKind;
use crate::frontier::{HostRecord, WALLED};
use crate::record::{EndRecord, Layer, LinkOutcome, PlainReason, in_words};
use page::quantity;
use walls::Outcome;

/// How much of a crawl, or of one host, is there. The worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// URLs or hosts remain that may be fetched and weren't, reading a URL ended a process, or a seed can't be used.
    Incomplete,
    /// Nothing remains but what walls keep out: challenges, refusals, sign-ins, shells.
    CompleteExceptWalls,
    /// Nothing remains but what a limit of the crawl keeps out: a number of pages, a depth, the size of a body.
    CompleteWithinLimits,
    /// Every URL that was found, belongs to the crawl and may be fetched was fetched whole, or has a final reason on record.
    Complete,
}

impl Status {
    /// Its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::CompleteExceptWalls => "complete_except_walls",
            Self::CompleteWithinLimits => "complete_within_limits",
            Self::Complete => "complete",
        }
    }

    /// Its name for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::CompleteExceptWalls => "complete except walls",
            Self::CompleteWithinLimits => "complete within limits",
            _ => self.as_str(),
        }
    }
}

/// What the sentence about a host states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostStatement {
    /// URLs remain, and the host was skipped.
    Skipped,
    /// URLs remain, and the host sends walls: it was skipped.
    Walled,
    /// Nothing remains, and walls were sent instead of pages.
    Walls,
    /// URLs remain, and the host asked for a pause, or is out of reach.
    Pausing,
    /// URLs remain, and a limit of the crawl was reached.
    Limited,
    /// URLs remain, and the crawl was stopped.
    Stopped,
    /// URLs remain, and the crawl runs or was killed.
    Unended,
    /// URLs remain for no reason that is on record.
    Remaining,
    /// Nothing remains but what ended a process.
    Crashed,
    /// Nothing remains but what limits keep out.
    WithinLimits,
    /// Nothing remains, and no limit kept anything out.
    Whole,
}

impl HostStatement {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Skipped,
        Self::Walled,
        Self::Walls,
        Self::Pausing,
        Self::Limited,
        Self::Stopped,
        Self::Unended,
        Self::Remaining,
        Self::Crashed,
        Self::WithinLimits,
        Self::Whole,
    ];

    /// How much of the host is there.
    fn status(self) -> Status {
        match self {
            Self::Skipped | Self::Limited | Self::WithinLimits => Status::CompleteWithinLimits,
            Self::Walled | Self::Walls => Status::CompleteExceptWalls,
            Self::Whole => Status::Complete,
            Self::Pausing | Self::Stopped | Self::Unended | Self::Remaining | Self::Crashed => {
                Status::Incomplete
            }
        }
    }
}

/// How often something was counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// What.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// What keeps URLs of a host back: the reasons with their numbers, and those among them that are limits of ours.
#[derive(Debug, Default)]
pub(super) struct HeldBack {
    reasons: BTreeMap<String, u64>,
    limits: BTreeMap<String, u64>,
    /// URLs whose last visit failed.
    failed: u64,
    /// Walls that were sent instead of pages, by what they are.
    walls: BTreeMap<&'static str, u64>,
    /// Pages of which a part is missing, by the limit that cut them.
    cut: BTreeMap<&'static str, u64>,
    /// What else is to be known of the host, at most [`NOTES_LISTED`].
    notes: Vec<String>,
    /// How many notes there are beyond those that are listed.
    more_notes: u64,
}

/// Notes of one host that are listed; the others are counted.
const NOTES_LISTED: usize = 20;

impl HeldBack {
    /// Counts a page of which `limit` kept a part out.
    pub(super) fn cut(&mut self, limit: &'static str) {
        *self.cut.entry(limit).or_default() += 1;
    }

    /// Counts a wall that was sent instead of a page.
    pub(super) fn wall(&mut self, outcome: Outcome) {
        *self.walls.entry(outcome.name()).or_default() += 1;
    }

    /// Counts a URL whose last visit failed.
    pub(super) fn fail(&mut self) {
        self.failed += 1;
    }

    /// Adds a note that changes nothing about how complete the host is.
    pub(super) fn note(&mut self, note: String) {
        if self.notes.len() < NOTES_LISTED {
            self.notes.push(note);
        } else {
            self.more_notes += 1;
        }
    }

    /// The notes; the last one says how many more there are.
    pub(super) fn notes(&self) -> Vec<String> {
        let more = (self.more_notes > 0).then(|| format!("and {} more", self.more_notes));
        self.notes.iter().cloned().chain(more).collect()
    }
}

/// The reasons by host.
pub(super) type HeldBackBy = HashMap<String, HeldBack>;

/// Counts a skipped URL.
pub(super) fn hold_back(by: &mut HeldBackBy, row: &SkippedRow) {
    // URLs of hosts outside, and of hosts that a budget leaves unknown, are many, and say nothing about the hosts inside; what
    // waits is counted by the queue.
    let elsewhere = [LinkOutcome::OtherHost, LinkOutcome::TrapDomain, LinkOutcome::TrapPage];
    let is_elsewhere =
        elsewhere.iter().any(|outcome| row.reason == *outcome) || row.reason == PlainReason::Parked;
    if row.host.is_empty() || is_elsewhere {
        return;
    }
    let held = by.entry(row.host.clone()).or_default();
    *held.reasons.entry(row.reason.to_string()).or_default() += 1;
    // A loop has no end that a greater limit would reach.
    if matches!(row.layer, Layer::Limit | Layer::Trap) && row.reason != LinkOutcome::RedirectLoop {
        let is_large = row.reason == LinkOutcome::Type;
        let limit = if is_large { "limits.max_media".to_owned() } else { row.reason.to_string() };
        *held.limits.entry(limit).or_default() += 1;
    }
}

/// The statement about a host: how much of it there is, what is stated, in words, and how many URLs each reason holds back.
pub(super) fn statement(
    record: &HostRecord,
    end: Option<&EndRecord>,
    held: Option<&HeldBack>,
) -> (Status, HostStatement, String, Vec<Counted>) {
    let remaining = record.queued();
    let mut reasons: Vec<Counted> = held
        .iter()
        .flat_map(|held| &held.reasons)
        .map(|(what, count)| Counted { what: what.clone(), count: *count })
        .collect();
    if remaining > 0 {
        let what = if record.parked.is_some() { "parked" } else { "queued" };
        reasons.push(Counted { what: what.to_owned(), count: remaining });
    }
    let cut = held.iter().flat_map(|held| &held.cut);
    reasons.extend(cut.map(|(what, count)| Counted { what: format!("truncated by {what}"), count: *count }));
    reasons.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.what.cmp(&b.what)));
    let (what, words) = if remaining > 0 { waiting(record, end, remaining) } else { through(held) };
    let status = what.status();
    (status, what, format!("{}{words}", status.words()), reasons)
}

/// What follows the status, where URLs remain.
fn waiting(record: &HostRecord, end: Option<&EndRecord>, remaining: u64) -> (HostStatement, String) {
    use HostStatement as S;
    let remain = format!("{} {}", urls(remaining), if remaining == 1 { "remains" } else { "remain" });
    let limit = end.and_then(|end| end.limit.as_deref());
    match (&record.parked, end.map(|end| end.end.as_str()), limit) {
        (Some(why), ..) if why.starts_with(WALLED) => (S::Walled, format!(" ({why}): {remain}")),
        (Some(why), ..) => (S::Skipped, format!(" ({why}): {remain}")),
        _ if record.wait_reason.is_pause() => {
            let until = Moment(record.next_at);
            let robots = robots_words(record);
            (S::Pausing, format!(": {remain}, {} until {until}{robots}", record.wait_reason))
        }
        (_, _, Some(limit)) => (S::Limited, format!(" ({limit}): {remain}")),
        (_, Some("interrupted" | "forced"), _) => (S::Stopped, format!(": {remain}, the crawl was stopped")),
        (_, Some("running"), _) => (S::Unended, format!(": {remain}, the crawl has not ended")),
        _ => (S::Remaining, format!(": {remain}{}", robots_words(record))),
    }
}

/// What is wrong with the host's robots.txt, if anything is.
fn robots_words(record: &HostRecord) -> String {
    match record.robots_status.as_deref().and_then(|status| status.strip_prefix("defer: ")) {
        Some(why) => format!(" (robots.txt {why})"),
        None => String::new(),
    }
}

/// What follows the status, where nothing remains.
fn through(held: Option<&HeldBack>) -> (HostStatement, String) {
    use HostStatement as S;
    let crashed = held.and_then(|held| held.reasons.get(ErrorKind::Crashed.as_str())).copied();
    if let Some(crashed) = crashed {
        let urls = urls(crashed);
        let words =
            format!(": reading {urls} ended a process; `crawl resume DIR --retry-crashed` tries again");
        return (S::Crashed, words);
    }
    let failed = match held.map_or(0, |held| held.failed) {
        0 => String::new(),
        failed => format!("; {} failed", urls(failed)),
    };
    if let Some(walls) = held.map(|held| &held.walls).filter(|walls| !walls.is_empty()) {
        let counts: Vec<String> =
            walls.iter().map(|(name, count)| format!("{count} {}", in_words(name))).collect();
        return (S::Walls, format!(" ({}): nothing else remains to be fetched{failed}", counts.join(", ")));
    }
    let limits: BTreeMap<String, u64> =
        held.iter().flat_map(|held| &held.limits).map(|(name, count)| (in_words(name), *count)).collect();
    let cut: BTreeMap<&str, u64> =
        held.iter().flat_map(|held| &held.cut).map(|(name, count)| (*name, *count)).collect();
    if limits.is_empty() && cut.is_empty() {
        return (S::Whole, format!(": nothing remains to be fetched{failed}"));
    }
    let names: Vec<&str> = limits.keys().map(String::as_str).chain(cut.keys().copied()).collect();
    let mut counts = Vec::new();
    if !limits.is_empty() {
        counts.push(format!("{} skipped", urls(limits.values().sum())));
    }
    if !cut.is_empty() {
        let pages = cut.values().sum::<u64>();
        counts.push(format!("{} truncated", quantity::count(pages, "page")));
    }
    (S::WithinLimits, format!(" ({}): {}{failed}", names.join(", "), counts.join(", ")))
}

fn urls(count: u64) -> String {
    quantity::count(count, "URL")
}
