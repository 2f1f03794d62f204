//! The report for a site's owner: figures about the requests to one host, computed from the ledger.

use std::time::Duration;

use jiff::Timestamp;

use super::gaps::RequestTimes;
use super::moment::Moment;
use super::open::{View, ViewError};
use super::owner::{Gaps, OwnerReport, Slow};
use super::skipped::mark;
use crate::record::{Decided, PlainReason, RequestMade};
use crate::sorter::{self, Sorter};

/// Slowest answers that are named.
const SLOWEST: usize = 10;

/// What one URL met: a denial by robots.txt, or a request.
const DENIED: u8 = 0;
const REQUESTED: u8 = 1;

impl View {
    /// Reads the ledger once. Memory: some megabytes; requests and denials are sorted in temporary files.
    pub(super) fn read_ledger_for(&self, report: &mut OwnerReport) -> Result<(), ViewError> {
        let (mut requests, mut met) = (RequestTimes::new(self.sorter()), self.sorter());
        let mut run = 0_u64;
        for block in self.decision_blocks() {
            for decision in block?.1 {
                // The clock of each run starts over.
                run += u64::from(decision.begins_a_run());
                if decision.host != report.host {
                    continue;
                }
                let url = mark(self.key(), &decision.url).0.to_be_bytes();
                match decision.decision {
                    Decided::Paused => *report.pauses.entry(decision.reason.to_string()).or_default() += 1,
                    Decided::Skipped if decision.reason == PlainReason::RobotsTxt => {
                        met.push_parts(&[&url, &time_key(decision.at), &[DENIED]])?;
                    }
                    _ => {}
                }
                let earlier = u64::from(decision.runs_earlier());
                let Some(made) = decision.evidence.request else { continue };
                report.recorded_requests += 1;
                let is_interrupted = decision.decision == Decided::Interrupted;
                report.interrupted += u64::from(is_interrupted);
                let RequestMade { started, took, .. } = made;
                let at = Moment(started);
                report.first_request = report.first_request.map(|first| first.min(at)).or(Some(at));
                report.last_request = report.last_request.map(|last| last.max(at)).or(Some(at));
                requests.push(0, run.saturating_sub(earlier), &made)?;
                met.push_parts(&[&url, &time_key(started), &[REQUESTED]])?;
                if !is_interrupted {
                    slow(&mut report.slowest, decision.url, took, started);
                }
            }
        }
        self.read_gaps(requests, report)?;
        read_denials(met, report)
    }

    /// The pauses between requests of one run, in the order in which they were sent.
    fn read_gaps(&self, requests: RequestTimes, report: &mut OwnerReport) -> Result<(), ViewError> {
        let (mut gaps, mut count, mut short) = (self.sorter(), 0_u64, 0_u64);
        requests.each_gap(|gap| {
            report.overlaps += u64::from(gap.overlaps);
            short += u64::from(gap.is_short());
            count += 1;
            Ok(gaps.push(&gap.length.to_be_bytes())?)
        })?;
        let mut gaps = gaps.sorted()?.map(|gap| gap.map(|gap| sorter::number(&gap, 0, 8) as f64 / 1e6));
        if let Some(least) = gaps.next().transpose()? {
            let middle = usize::try_from(count / 2).unwrap_or(usize::MAX);
            let median = middle.checked_sub(1).and_then(|skipped| gaps.nth(skipped)).transpose()?;
            report.gaps = Some(Gaps { count, least, median: median.unwrap_or(least), short });
        }
        Ok(())
    }
}

/// URLs that robots.txt denied, each once, and those of them that were requested all the same.
fn read_denials(met: Sorter, report: &mut OwnerReport) -> Result<(), ViewError> {
    let (mut url, mut denied, mut requested, mut later) = (None, false, false, false);
    let mut end = |denied: bool, requested: bool, later: bool| {
        report.denied += u64::from(denied && !requested);
        report.denied_requested += u64::from(denied && requested);
        report.denied_requested_later += u64::from(later);
    };
    for record in met.sorted()? {
        let record = record?;
        let of = sorter::number(&record, 0, 8);
        if url != Some(of) {
            end(denied, requested, later);
            (url, denied, requested, later) = (Some(of), false, false, false);
        }
        if record.get(16) == Some(&DENIED) {
            denied = true;
        } else {
            (requested, later) = (true, later || denied);
        }
    }
    end(denied, requested, later);
    Ok(())
}

/// Sorts by time.
fn time_key(at: Timestamp) -> [u8; 8] {
    u64::try_from(at.as_microsecond()).unwrap_or_default().to_be_bytes()
}

fn slow(slowest: &mut Vec<Slow>, url: String, took: Duration, at: Timestamp) {
    let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let place = slowest.partition_point(|known| known.duration_ms >= duration_ms);
    if place < SLOWEST {
        slowest.insert(place, Slow { url, duration_ms, at: Moment(at) });
        slowest.truncate(SLOWEST);
    }
}
