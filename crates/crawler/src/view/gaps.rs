//! The gaps between the requests to a host, computed from the times in the ledger.

use std::time::Duration;

use super::open::ViewError;
use crate::record::RequestMade;
use crate::sorter::{self, Sorter};

/// Times in the ledger are whole microseconds: two of them may be off by one each.
const ROUNDING: u64 = 2;

/// The times of requests, by host and run. Memory: some megabytes; they are sorted in temporary files, 40 bytes each.
#[derive(Debug)]
pub(super) struct RequestTimes(Sorter);

/// The time from the end of a response to the next request to the same host, in the same run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    /// The number of the run.
    pub(super) run: u64,
    /// How long it was, in microseconds; 0 where the second request was sent before the first response was complete.
    pub(super) length: u64,
    /// The delay that was in effect, in microseconds.
    pub(super) asked: u64,
    /// The second request was sent before the first response was complete.
    pub(super) overlaps: bool,
}

impl Gap {
    /// Shorter than the delay that was in effect.
    pub(super) fn is_short(self) -> bool {
        self.length.saturating_add(ROUNDING) < self.asked
    }
}

impl RequestTimes {
    /// Sorts in the temporary files of `sorter`.
    pub(super) fn new(sorter: Sorter) -> Self {
        Self(sorter)
    }

    /// Takes a request. `host` is any number that only this host has; `run` counts the runs, whose clocks start over.
    pub(super) fn push(&mut self, host: u64, run: u64, made: &RequestMade) -> Result<(), ViewError> {
        let parts = [host, run, micros(made.clock), micros(made.took), micros(made.gap)];
        self.0.push_parts(&parts.map(u64::to_be_bytes).each_ref().map(<[u8; 8]>::as_slice))?;
        Ok(())
    }

    /// Gives the gaps to a function, by host, run and time.
    pub(super) fn each_gap(
        self,
        mut take: impl FnMut(Gap) -> Result<(), ViewError>,
    ) -> Result<(), ViewError> {
        let mut last: Option<([u64; 2], u64)> = None;
        for request in self.0.sorted()? {
            let request = request?;
            let [host, run, start, took, asked] =
                [0, 8, 16, 24, 32].map(|at| sorter::number(&request, at, 8));
            let mut end = start.saturating_add(took);
            if let Some((_, last_end)) = last.filter(|(of, _)| *of == [host, run]) {
                let overlaps = start.saturating_add(ROUNDING) < last_end;
                take(Gap { run, length: start.saturating_sub(last_end), asked, overlaps })?;
                end = end.max(last_end);
            }
            last = Some(([host, run], end));
        }
        Ok(())
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
