//! A host as plain values: what was counted of it, what settling a visit has to know, and what the visit changes.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use walls::Streak;

#[cfg(test)]
use crate::pace::DelayReason;
use crate::pace::{Delay, HostPace};

/// What the crawl counted of a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostCounts {
    /// Requests sent, robots.txt included.
    pub requests: u64,
    /// Visits that ended with a page record of status 2xx.
    pub pages: u64,
    /// Bytes of bodies received, as transferred.
    pub bytes: u64,
    /// Failed visits.
    pub errors: u64,
    /// URLs that were denied or given up.
    pub skipped: u64,
    /// Requests that robots.txt cost.
    pub robots_requests: u64,
    /// The slowest response, in milliseconds.
    pub slowest_ms: u64,
}

impl HostCounts {
    /// Adds what one visit counted; of the slowest response the larger counts.
    pub fn add(&mut self, more: &Self) {
        let Self { requests, pages, bytes, errors, skipped, robots_requests, slowest_ms } = more;
        self.requests += requests;
        self.pages += pages;
        self.bytes += bytes;
        self.errors += errors;
        self.skipped += skipped;
        self.robots_requests += robots_requests;
        self.slowest_ms = self.slowest_ms.max(*slowest_ms);
    }
}

/// A host as it was when a lease was given out, as a plain value: what settling the visit has to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostState {
    /// Failures and pushback in a row.
    pub pace: HostPace,
    /// What was counted of it.
    pub counts: HostCounts,
    /// The usual gap in force between two requests to it.
    pub gap: Delay,
    /// The wait that was over with the lease.
    pub waited: Delay,
    /// When it was over (monotonic).
    pub not_before: Duration,
    /// The walls that it sent of late.
    pub walls: Streak,
}

impl HostState {
    /// The host's next time (monotonic) where nothing is asked of it: what it has waited for since its last answer stays what
    /// its next request has to wait for.
    pub fn standing_wait(&self) -> (Duration, Delay) {
        (self.not_before, self.waited.or_longer(self.gap))
    }
}

/// What a visit changed of its host. The default changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostDelta {
    /// The state of pace from now on.
    pub pace: Option<HostPace>,
    /// What is added to its counters; of the slowest response the larger counts.
    pub counts: HostCounts,
    /// The usual gap from now on, between two requests to it.
    pub gap: Option<Delay>,
    /// The walls of late, from now on.
    pub walls: Option<Streak>,
    /// The host is skipped for the rest of this process, for this reason; its URLs stay queued.
    pub parked: Option<String>,
}

#[cfg(test)]
impl HostState {
    /// A host that was never asked.
    pub(crate) fn of_a_test() -> Self {
        let nothing = Delay { length: Duration::ZERO, why: DelayReason::Configured };
        Self {
            pace: HostPace::default(),
            counts: HostCounts::default(),
            gap: nothing,
            waited: nothing,
            not_before: Duration::ZERO,
            walls: Streak::default(),
        }
    }
}
