//! What the engines of several partitions may hold in memory together.

use super::{Engine, SKIPS_REMEMBERED};
use crate::fetch::Fetch;
use crate::frontier::{FingerprintSet, FrontierLimits, FrontierPortions};
use crate::portion::Portion;
use crate::store::Store;

/// What they may hold in their frontiers, in 11 to 12 bytes, 700 bytes and about 8 KB each: 24 MB, 7 MB and 8 MB.
const FRONTIERS: FrontierLimits = FrontierLimits {
    seen_in_memory: 2_000_000,
    hosts_in_memory: 10_000,
    chunks_in_memory: 1_024,
    ..FrontierLimits::DEFAULT
};

/// Fingerprints of URLs that were skipped or sent to other partitions, remembered. 10 to 18 bytes each.
const REMEMBERED: usize = 500_000;

/// URLs of pages that others were found on, remembered. About 140 bytes each.
const URLS: usize = 16_384;

/// What an engine remembers of each in any case.
const LEAST: usize = 16;

/// An engine's part of all that.
#[derive(Debug)]
pub struct Portions {
    /// Hosts, known URLs and chunks of queues that its frontier may hold.
    pub frontier: FrontierPortions,
    remembered: Portion,
    urls: Portion,
}

impl Default for Portions {
    /// For one engine, which may hold all.
    fn default() -> Self {
        Self {
            frontier: FrontierPortions::whole(FRONTIERS),
            remembered: Portion::whole(REMEMBERED),
            urls: Portion::whole(URLS),
        }
    }
}

impl Portions {
    /// For a further engine that shares them.
    #[must_use]
    pub fn further(&self) -> Self {
        Self {
            frontier: self.frontier.further(),
            remembered: self.remembered.further(),
            urls: self.urls.further(),
        }
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Takes note of what the other engines hold. To be called once a second.
    pub(super) fn keep_to_portions(&mut self) {
        let Some(portions) = &self.portions else { return };
        self.frontier.keep_to(&portions.frontier);
        let sent = self.post.as_mut().map(|post| &mut post.sent);
        let skips = &mut self.bounds.skips;
        portions.remembered.hold(skips.len() + sent.as_ref().map_or(0, |sent| sent.len()));
        let most = portions.remembered.most() / 2;
        self.remembered_at_most = most.clamp(LEAST, SKIPS_REMEMBERED);
        for set in [Some(skips), sent].into_iter().flatten() {
            if set.len() > self.remembered_at_most {
                // With its space, which clearing would keep.
                *set = FingerprintSet::default();
            }
        }
        portions.urls.hold(self.urls.len());
        self.urls.keep(portions.urls.most().max(LEAST));
    }
}
