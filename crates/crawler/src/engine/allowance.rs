//! What the limits of a crawl on many machines leave to one of its partitions.
//!
//! Of `max_pages` and `max_resources` each partition has a part, its share: no partition stores more than that, and all of them together are no
//! larger than the limit. Only the owner's connection to the database makes a share larger, after it is so there; only the engine makes it
//! smaller, before it is so there. The other limits end the whole crawl: the engine is notified when one is reached.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// A partition's part of a limit.
#[derive(Debug, Default)]
pub struct Share {
    most: AtomicU64,
    /// Stored, or on the way.
    taken: AtomicU64,
    /// How far the engine may keep more than is taken.
    reserve: AtomicU64,
    is_wanted: AtomicBool,
    /// The limit is reached: no partition gets more.
    is_over: AtomicBool,
}

impl Share {
    /// How much the partition may store in all.
    pub fn most(&self) -> u64 {
        self.most.load(Ordering::Acquire)
    }

    /// How much it has stored, or is about to.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Acquire)
    }

    /// Whether the engine could use more than it has taken.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }

    /// Makes the share so large, where it is smaller.
    pub fn raise(&self, most: u64) {
        self.most.fetch_max(most, Ordering::AcqRel);
    }

    /// Sets how much more than it has taken the partition keeps.
    pub fn set_reserve(&self, reserve: u64) {
        self.reserve.store(reserve, Ordering::Release);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Notes what is taken, and gives back what isn't needed.
    pub(super) fn tell(&self, taken: u64, is_wanted: bool) {
        self.taken.store(taken, Ordering::Release);
        self.is_wanted.store(is_wanted, Ordering::Release);
        let keeps = if is_wanted { self.reserve.load(Ordering::Acquire).max(1) } else { 0 };
        let (most, enough) = (self.most(), taken.saturating_add(keeps));
        // Not for a little: what is given back has to be asked for again.
        if most > enough.saturating_add(keeps) {
            // A share that was made larger meanwhile stays so.
            let _changed = self.most.compare_exchange(most, enough, Ordering::AcqRel, Ordering::Acquire);
        }
    }
}

/// What the limits of the whole crawl leave to a partition.
#[derive(Debug, Default)]
pub struct Allowance {
    /// Pages.
    pub pages: Share,
    /// Resources of pages.
    pub resources: Share,
    /// The limit that the whole crawl has reached: its name and value.
    over: Mutex<Option<String>>,
    changed: Notify,
}

impl Allowance {
    /// Says which limits are reached: `over` is the one that ends the crawl, with its value.
    pub fn reached(&self, pages: bool, resources: bool, over: Option<String>) {
        self.pages.is_over.store(pages, Ordering::Release);
        self.resources.is_over.store(resources, Ordering::Release);
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) = over;
        self.changed.notify_one();
    }

    /// Wakes the engine: a share became larger.
    pub fn wake(&self) {
        self.changed.notify_one();
    }

    pub(super) fn over(&self) -> Option<String> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Waits until the limits leave something else than before; forever, where none are shared.
pub(super) async fn changed(allowance: Option<&Arc<Allowance>>) {
    match allowance {
        Some(allowance) => allowance.changed.notified().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_gives_back_what_it_does_not_need_and_never_what_it_took() {
        let share = Share::default();
        share.raise(40);
        share.set_reserve(8);
        share.tell(10, true);
        assert_eq!((share.most(), share.taken(), share.is_wanted()), (18, 10, true));
        share.tell(12, true);
        assert_eq!(share.most(), 18, "not for a little");
        share.tell(12, false);
        assert_eq!(share.most(), 12, "nothing is to be done");
        share.raise(5);
        assert_eq!(share.most(), 12, "what is taken stays");
        share.tell(12, true);
        assert_eq!((share.most(), share.is_wanted()), (12, true));
    }
}
