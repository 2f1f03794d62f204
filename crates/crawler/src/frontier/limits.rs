//! Sizes of the frontier.

use crate::portion::Portion;

/// Sizes that bound the frontier's memory.
#[derive(Debug, Clone, Copy)]
pub struct FrontierLimits {
    /// Fingerprints held in memory over all hosts. 11 to 12 bytes each.
    pub seen_in_memory: usize,
    /// A host with more fingerprints than this is not loaded for a link from another host; the link waits untested.
    pub seen_loaded_for_links: u64,
    /// Bytes of journal after which everything in memory is folded into chunks and blocks.
    pub journal_bytes: usize,
    /// Hosts that one commit folds: a fold of many hosts goes over several.
    pub folded_at_once: usize,
    /// Journal entries that one commit drops once they are folded, more than one makes as a rule. The database keeps a copy of the changed leaf for each of
    /// them until the commit is through: 18,000 at once took 60 MB and more.
    pub dropped_at_once: usize,
    /// Hosts in memory from which on those that aren't in use are evicted. About 700 bytes each, with their queues.
    pub hosts_in_memory: usize,
    /// Hosts that keep a read chunk of their queue in memory.
    pub chunks_in_memory: usize,
}

impl FrontierLimits {
    /// Those of a crawl on one machine.
    pub const DEFAULT: Self = Self {
        seen_in_memory: 6_500_000,
        seen_loaded_for_links: 8_192,
        journal_bytes: 8 * 1024 * 1024,
        folded_at_once: 2_000,
        dropped_at_once: 1_024,
        hosts_in_memory: 10_000,
        chunks_in_memory: 4_096,
    };
}

impl Default for FrontierLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A host in use needs its own record, and those beside it.
const LEAST_HOSTS: usize = 8;

/// A frontier's part of what several hold in memory.
#[derive(Debug)]
pub struct FrontierPortions {
    limits: FrontierLimits,
    seen: Portion,
    hosts: Portion,
    chunks: Portion,
}

impl FrontierPortions {
    /// For one frontier, which may hold all.
    pub fn whole(limits: FrontierLimits) -> Self {
        Self {
            limits,
            seen: Portion::whole(limits.seen_in_memory),
            hosts: Portion::whole(limits.hosts_in_memory),
            chunks: Portion::whole(limits.chunks_in_memory),
        }
    }

    /// For a further frontier that shares them.
    #[must_use]
    pub fn further(&self) -> Self {
        let Self { limits, seen, hosts, chunks } = self;
        Self { limits: *limits, seen: seen.further(), hosts: hosts.further(), chunks: chunks.further() }
    }

    /// What the frontier may hold now.
    pub fn limits(&self) -> FrontierLimits {
        FrontierLimits {
            seen_in_memory: self.seen.most(),
            hosts_in_memory: self.hosts.most().max(LEAST_HOSTS),
            chunks_in_memory: self.chunks.most().max(1),
            ..self.limits
        }
    }

    /// Says what it holds: fingerprints, hosts and chunks.
    pub(super) fn hold(&self, seen: usize, hosts: usize, chunks: usize) {
        self.seen.hold(seen);
        self.hosts.hold(hosts);
        self.chunks.hold(chunks);
    }
}
