//! The budgets, as a user sets them.

use serde::{Deserialize, Serialize};

use page::units;

/// Budgets for infinite URL spaces. URLs beyond a budget are in the ledger, with the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrapSettings {
    /// Links from a seed to a page, where `limits.max_depth` says nothing. Default: 1000.
    #[serde(with = "units::limit")]
    pub depth: Option<u32>,
    /// Segments of a path. Default: 32.
    #[serde(with = "units::limit")]
    pub segments: Option<u32>,
    /// How often the same segment or run of segments may be repeated in a row in a path; a segment may occur
    /// twice as often altogether. Default: 3.
    #[serde(with = "units::limit")]
    pub repeats: Option<u32>,
    /// URLs of one host. Default: 1,000,000.
    #[serde(with = "units::limit")]
    pub urls_per_host: Option<u64>,
    /// Hosts of one registrable domain, without those that a seed names. Default: 1,000.
    #[serde(with = "units::limit")]
    pub hosts_per_domain: Option<u64>,
    /// Hosts that one page makes known. Default: 1,000.
    #[serde(with = "units::limit")]
    pub hosts_per_page: Option<u64>,
    /// URLs that differ in the query alone. Default: 10,000, and 4 for each page of theirs that said something new.
    #[serde(with = "units::limit")]
    pub query_variants: Option<u64>,
    /// URLs whose paths differ in digits alone. Default: 100,000, and 4 for each page of theirs that said something new.
    #[serde(with = "units::limit")]
    pub shape_variants: Option<u64>,
    /// Pages in a row, of those that differ in query or digits alone, of a folder, or of those that were found on such pages, that say what
    /// their host said before; twice as many of the host. Default: 200.
    #[serde(with = "units::limit")]
    pub same_pages: Option<u64>,
}

impl Default for TrapSettings {
    fn default() -> Self {
        Self {
            depth: Some(1000),
            segments: Some(32),
            repeats: Some(3),
            urls_per_host: Some(1_000_000),
            hosts_per_domain: Some(1_000),
            hosts_per_page: Some(1_000),
            query_variants: Some(10_000),
            shape_variants: Some(100_000),
            same_pages: Some(200),
        }
    }
}
