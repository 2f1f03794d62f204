//! What happens in a crawl, as it happens: one enum for log, progress and tests.

use std::time::Duration;

use crate::commit::Totals;
use crate::pace::Why;
use crate::record::{Decision, RobotsEvidence};
use crate::url::CrawlUrl;

/// One event.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CrawlEvent {
    /// A response was read and settled.
    Page {
        /// The URL.
        url: String,
        /// Its status.
        status: u16,
    },
    /// robots.txt judged a page that isn't to be asked for: the crawl is only planned.
    Judged {
        /// The URL.
        url: CrawlUrl,
        /// What robots.txt says.
        evidence: Box<RobotsEvidence>,
        /// Whether the URL may be fetched.
        allowed: bool,
    },
    /// A decision went to the ledger.
    Decided(Box<Decision>),
    /// Everything counted in these totals is durable now.
    Committed(Totals),
    /// The state of the crawl, about once a second.
    Progress(Progress),
}

/// The state of the crawl at one moment.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Counters of what is durable.
    pub totals: Totals,
    /// URLs queued.
    pub queued: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Hosts known.
    pub hosts: u64,
    /// Hosts that wait, by reason.
    pub waiting: Vec<(Why, u64)>,
    /// The host that keeps its URLs longest: name, URLs, time left at its pace, what sets the pace.
    pub slowest: Option<(String, u64, Duration, Why)>,
    /// Time since this run began.
    pub elapsed: Duration,
    /// Pages a second over the last ten seconds.
    pub pages_per_second: f64,
}
