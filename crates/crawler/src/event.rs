//! Events of a crawl: one enum for log, progress and tests.

use std::time::Duration;

use crate::commit::Totals;
use crate::pace::DelayReason;
use crate::record::{Decision, RobotsEvidence};
use page::url::CrawlUrl;

/// One event.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CrawlEvent<'a> {
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
    /// A decision goes to the ledger.
    Decided(&'a Decision),
    /// Everything counted in these totals is durable now.
    Committed(Totals),
    /// The state of the crawl, about once a second.
    Progress(Progress),
    /// The loop has done what there was to do, and waits: a crawl makes progress, waits for a stated time, or is over.
    Step(Step),
}

/// What the loop did since it last waited, and what it waits for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Now, on the run's clock that never jumps.
    pub at: Duration,
    /// When it goes on by itself, at the latest; none if only a visit or a commit can bring it on. Clock ticks don't count.
    pub until: Option<Duration>,
    /// Visits begun by this run.
    pub begun: u64,
    /// Visits over.
    pub over: u64,
    /// Visits that brought the crawl on: a URL is through or lost a try, a robots.txt or another file became known.
    pub fruitful: u64,
    /// Commits made.
    pub commits: u64,
    /// A commit is under way.
    pub is_committing: bool,
}

impl Step {
    /// Visits in flight.
    pub fn in_flight(&self) -> u64 {
        self.begun - self.over
    }
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
    pub waiting: Vec<(DelayReason, u64)>,
    /// The host that keeps its URLs longest: name, URLs, remaining time at its rate, what sets the rate.
    pub slowest: Option<(String, u64, Duration, DelayReason)>,
    /// Time since this run began.
    pub elapsed: Duration,
    /// Pages a second over the last ten seconds.
    pub pages_per_second: f64,
    /// Hosts that wait, those first that keep their URLs longest; ten at most.
    pub longest: Vec<HostWait>,
    /// The user has paused every host.
    pub paused: bool,
    /// Hosts that the user has paused one by one.
    pub hosts_paused: u64,
    /// Once the crawl is over: pages that the full-text index still lacks.
    pub to_index: Option<u64>,
}

/// A host with URLs queued.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostWait {
    /// How long it keeps its URLs at its rate.
    pub needs: Duration,
    /// Its name.
    pub host: String,
    /// URLs queued.
    pub queued: u64,
    /// Until its next request.
    pub remaining: Duration,
    /// What it waits for; what sets its rate, if it doesn't wait.
    pub why: DelayReason,
}
