//! The settings of the engine, the requests it accepts while running, and its result.

use std::time::Duration;

use crate::commit::Totals;
use crate::config::{LedgerLevel, TrapSettings};
use crate::frontier::FrontierLimits;
use crate::host_groups::HostGroups;
use crate::pace::PaceRules;
use crate::record::RunSettings;
use crate::wishes::Wishes;
use page::sitemap::SitemapLimits;

/// The settings of the engine.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// Gaps.
    pub pace: PaceRules,
    /// What owners of hosts asked for.
    pub wishes: Wishes,
    /// Requests in flight over all hosts.
    pub concurrency: usize,
    /// Which hosts share one slot and one gap.
    pub groups: HostGroups,
    /// Requests a second over all hosts; a fraction is fewer than one.
    pub max_rate: Option<f64>,
    /// Bytes a second over all hosts.
    pub max_bandwidth: Option<u64>,
    /// Further tries after a failure that may pass.
    pub retries: u32,
    /// How long this machine may be short of what a request needs.
    pub local_patience: Duration,
    /// Redirects in a row.
    pub max_redirects: u32,
    /// Pages over all hosts.
    pub max_pages: Option<u64>,
    /// Pages of one host.
    pub max_pages_per_host: Option<u64>,
    /// Whether resources of pages are fetched: a limit on pages doesn't end the run before they are.
    pub resources: bool,
    /// Resources of pages, over all hosts.
    pub max_resources: Option<u64>,
    /// Time of this run.
    pub max_time: Option<Duration>,
    /// Bytes received over all hosts.
    pub max_bytes: Option<u64>,
    /// A pause longer than this doesn't keep the crawl running when there is nothing else to do.
    pub max_wait: Duration,
    /// A stored page that robots.txt forbids when it is visited again loses its content.
    pub withdraw_when_denied: bool,
    /// Budgets against spaces of URLs without end.
    pub traps: TrapSettings,
    /// Whether sitemaps are looked for.
    pub sitemaps: bool,
    /// How many a host may have, and within each other.
    pub sitemap_limits: SitemapLimits,
    /// Whether pages are judged and not asked for: robots.txt and sitemaps alone are.
    pub plan: bool,
    /// Sizes of the frontier.
    pub frontier: FrontierLimits,
    /// Seed of the jitter.
    pub jitter: u64,
    /// What is entered in the ledger.
    pub ledger: LedgerLevel,
    /// What the run is started with: digests for the ledger, and the settings' text. None where nothing is put on record.
    pub run: Option<(RunSettings, String)>,
    /// Settings that excluded URLs in earlier runs and have changed: each key with its value in this run. Those URLs are judged again.
    pub changed: Vec<(&'static str, String)>,
}

/// What the crawl is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Stop {
    /// Go on.
    #[default]
    No,
    /// Finish what is in flight, which may take its time, then end: others go on at once, and would ask again for what is aborted.
    HandOver,
    /// Finish what is in flight, then end.
    Drain,
    /// End now; what is settled is kept.
    Now,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Nothing remains that could be fetched; hosts that pause for longer than `max_wait` may remain.
    Complete,
    /// A limit was reached: its name and value.
    Limit(String),
    /// Asked to stop, and drained.
    Interrupted,
    /// Asked to stop at once.
    Forced,
}

/// Hosts that a summary names at most.
pub const HOSTS_LISTED: usize = 1_000;

/// What a run came to.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Why it ended.
    pub end: End,
    /// Counters over all runs.
    pub totals: Totals,
    /// URLs still queued.
    pub queued: u64,
    /// Hosts that hold them: name, reason, URLs. The first [`HOSTS_LISTED`].
    pub remaining: Vec<(String, String, u64)>,
    /// How many hosts hold them.
    pub remaining_hosts: u64,
}
