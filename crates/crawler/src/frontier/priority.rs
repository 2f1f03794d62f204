//! The queues of a host, and which of them are open.

use serde::{Deserialize, Serialize};

/// Which of a host's queues a URL waits in; its number is part of the key of stored chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Priority {
    /// Seeds, redirect targets and repeated tries.
    First = 0,
    /// Links.
    Link = 1,
    /// Not tested against the seen set yet, since the host was asleep when they were found.
    Untested = 2,
    /// Resources of pages: images, scripts, style sheets.
    Resource = 3,
    /// Pages that cost their site much, and have a budget.
    Costly = 4,
}

impl Priority {
    /// All priorities, in the order of leasing.
    pub const ALL: [Self; QUEUES] = [Self::First, Self::Link, Self::Untested, Self::Resource, Self::Costly];
}

/// How many queues a host has.
pub(crate) const QUEUES: usize = 5;

/// What may still be leased, as far as the limits of the crawl decide it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenQueues {
    /// Pages and sitemaps.
    pub pages: bool,
    /// Resources of pages.
    pub resources: bool,
}

impl Default for OpenQueues {
    fn default() -> Self {
        Self { pages: true, resources: true }
    }
}
