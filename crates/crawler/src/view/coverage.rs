//! How much of each host a crawl has: all of it, all but what a limit keeps out, or a part, and why.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::SkippedRow;
use super::cell::Moment;
use super::hosts::queued;
use super::summary::Counted;
use crate::engine::EndRecord;
use crate::frontier::HostRecord;

/// How much of a host the crawl has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// A part; there is more that may be fetched.
    Partial,
    /// All but what a limit of the crawl keeps out.
    Bounded,
    /// Everything that was found and may be fetched.
    Complete,
}

/// What keeps URLs of a host back: the reasons with their numbers, and those among them that are limits of ours.
#[derive(Debug, Default)]
pub(super) struct HeldBack {
    reasons: BTreeMap<String, u64>,
    limits: BTreeMap<String, u64>,
}

/// The reasons by host.
pub(super) type HeldBackBy = HashMap<String, HeldBack>;

/// Counts a URL that was left out.
pub(super) fn hold_back(by: &mut HeldBackBy, row: &SkippedRow) {
    // URLs of hosts outside are many, and say nothing about the hosts inside; what waits is counted by the queue.
    if row.host.is_empty() || matches!(row.reason.as_str(), "other_host" | "parked") {
        return;
    }
    let held = by.entry(row.host.clone()).or_default();
    *held.reasons.entry(row.reason.clone()).or_default() += 1;
    if matches!(row.layer, "limit" | "trap") {
        *held.limits.entry(row.reason.clone()).or_default() += 1;
    }
}

/// The statement about a host: how much of it there is, in words why, and how many URLs each reason holds back.
pub(super) fn statement(
    record: &HostRecord,
    end: Option<&EndRecord>,
    held: Option<&HeldBack>,
) -> (Coverage, String, Vec<Counted>) {
    let left = queued(record);
    let mut reasons: Vec<Counted> = held
        .iter()
        .flat_map(|held| &held.reasons)
        .map(|(what, count)| Counted { what: what.clone(), count: *count })
        .collect();
    if left > 0 {
        let what = if record.parked.is_some() { "parked" } else { "queued" };
        reasons.push(Counted { what: what.to_owned(), count: left });
    }
    reasons.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.what.cmp(&b.what)));
    let (coverage, words) = if left > 0 { waiting(record, end, left) } else { through(record, held) };
    (coverage, words, reasons)
}

fn waiting(record: &HostRecord, end: Option<&EndRecord>, left: u64) -> (Coverage, String) {
    let left = urls(left);
    if let Some(why) = &record.parked {
        return (Coverage::Bounded, format!("bounded by {why}: {left} left, the host is left alone"));
    }
    if record.wait_reason.is_pause() {
        let until = Moment(record.next_at);
        return (Coverage::Partial, format!("partial, {} until {until}: {left} left", record.wait_reason));
    }
    let limit = end.and_then(|end| end.limit.as_deref());
    match (end.map(|end| end.end.as_str()), limit) {
        (_, Some(limit)) => (Coverage::Bounded, format!("bounded by {limit}: {left} left")),
        (Some("interrupted" | "forced"), _) => {
            (Coverage::Partial, format!("partial: {left} left, the crawl was stopped"))
        }
        (Some("running"), _) => {
            (Coverage::Partial, format!("partial: {left} left, the crawl was cut off or runs still"))
        }
        _ => (Coverage::Partial, format!("partial: {left} left")),
    }
}

fn through(record: &HostRecord, held: Option<&HeldBack>) -> (Coverage, String) {
    let failed = match record.counts.errors {
        0 => String::new(),
        errors => format!("; {} failed", urls(errors)),
    };
    if record.counts.pages == 0 && record.counts.errors > 0 {
        return (Coverage::Partial, format!("partial: none of its pages could be had{failed}"));
    }
    let limits = held.map(|held| &held.limits).filter(|limits| !limits.is_empty());
    match limits {
        Some(limits) => {
            let names: Vec<_> = limits.keys().map(|name| name.replace('_', " ")).collect();
            let count = limits.values().sum();
            let words = format!("bounded by {}: {} left out{failed}", names.join(", "), urls(count));
            (Coverage::Bounded, words)
        }
        None => (Coverage::Complete, format!("complete: nothing is left to fetch{failed}")),
    }
}

fn urls(count: u64) -> String {
    format!("{count} {}", if count == 1 { "URL" } else { "URLs" })
}
