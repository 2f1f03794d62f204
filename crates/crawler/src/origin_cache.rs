//! The in-memory cache of data about origins and hosts that isn't needed for politeness: one budget in bytes for all
//! kinds. The least recently used entry is dropped first, whatever its kind.
//!
//! Everything here can be read again from the store, looked up again, or computed again. State that a site relies on
//! (delays, pauses, attempts, what is in flight) is never here.

use std::any::Any;
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use robots::memory::block;

use crate::portion::Portion;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A robots.txt, read; by origin.
    Robots,
    /// A `tdmrep.json`, read; by origin.
    TdmRep,
    /// An `ai.txt`, read; by origin.
    AiTxt,
    /// Whether a robots.txt closes AI crawlers out; by the digest of its rules.
    AiBlockHint,
    /// An HTTP client with its idle connection; by origin.
    Client,
    /// The addresses of a name; by host.
    Addresses,
    /// An origin whose URLs were put back, which the ledger has an entry of; by origin.
    SetAside,
    /// An origin of whose robots.txt no version is stored; by origin.
    NeverAsked,
}

/// How many kinds there are.
const KINDS: usize = Kind::NeverAsked as usize + 1;

/// Bytes that an entry takes beside its key and its value: its node in the list, its place in the table, and the shared pointer.
const OVERHEAD: usize = 192;

/// A cache over all origins, least recently used out first. Shared; a look-up costs one short lock and no copy of the value.
///
/// ```
/// use std::sync::Arc;
///
/// use crawler::origin_cache::{Kind, OriginCache};
///
/// let cache = OriginCache::new(1_000);
/// cache.keep(Kind::Robots, "http://a.test", Arc::new("rules"), 100);
/// cache.keep(Kind::Robots, "http://b.test", Arc::new("more rules"), 100);
/// assert!(cache.get::<&str>(Kind::Robots, "http://a.test").is_some());
/// cache.keep(Kind::Robots, "http://c.test", Arc::new("still more"), 400);
/// // b.test was used longest ago.
/// assert!(cache.get::<&str>(Kind::Robots, "http://b.test").is_none());
/// assert_eq!(*cache.get::<&str>(Kind::Robots, "http://a.test").unwrap(), "rules");
/// ```
#[derive(Debug)]
pub struct OriginCache {
    portion: Portion,
    held: Mutex<Entries>,
}

/// A list for each kind, so that a kind can have a limit of its own; all share the clock and the count of bytes.
#[derive(Debug)]
struct Entries {
    lists: [LruCache<Box<str>, Slot, RandomState>; KINDS],
    /// Of all entries.
    bytes: usize,
    /// What is kept elsewhere, and counts for the same budget.
    elsewhere: usize,
    /// Counts uses.
    clock: u64,
}

#[derive(Debug)]
struct Slot {
    value: Arc<dyn Any + Send + Sync>,
    bytes: usize,
    used: u64,
}

impl OriginCache {
    /// The budget of the default settings, in bytes.
    pub const DEFAULT_BUDGET: u64 = 16 << 20;

    /// An empty cache with this budget in bytes.
    pub fn new(budget: u64) -> Self {
        Self::within(Portion::whole(usize::try_from(budget).unwrap_or(usize::MAX)))
    }

    /// An empty cache that shares a budget in bytes with others: what they leave is its budget, and its part of the whole in any case.
    pub fn within(portion: Portion) -> Self {
        let lists = std::array::from_fn(|_| LruCache::unbounded_with_hasher(RandomState::new()));
        let held = Entries { lists, bytes: 0, elsewhere: 0, clock: 0 };
        Self { portion, held: Mutex::new(held) }
    }

    /// An entry, which counts as used by this. None where it isn't kept, or is of another type.
    pub fn get<V: Any + Send + Sync>(&self, kind: Kind, name: &str) -> Option<Arc<V>> {
        let mut held = self.lock();
        held.clock += 1;
        let used = held.clock;
        let slot = held.lists[kind as usize].get_mut(name)?;
        slot.used = used;
        let value = Arc::clone(&slot.value);
        drop(held);
        value.downcast().ok()
    }

    /// Keeps a value in place of an older one. `bytes` is what it takes, its own size included; key and place are added here. A value
    /// that is larger than the whole budget isn't kept.
    pub fn keep<V: Any + Send + Sync>(&self, kind: Kind, name: &str, value: Arc<V>, bytes: usize) {
        let bytes = block(bytes) + block(name.len()) + OVERHEAD;
        let mut held = self.lock();
        held.clock += 1;
        let slot = Slot { value, bytes, used: held.clock };
        let mut dropped: Vec<Slot> = held.remove(kind, name).into_iter().collect();
        let budget = self.budget_beside(held.elsewhere);
        if bytes <= budget {
            held.bytes += bytes;
            held.lists[kind as usize].put(name.into(), slot);
            held.shrink(budget, &mut dropped);
        } else {
            dropped.push(slot);
        }
        self.note(&held);
        // Large values take a while to be freed: not under the lock.
        drop(held);
        drop(dropped);
    }

    /// Drops an entry.
    pub fn remove(&self, kind: Kind, name: &str) {
        let mut held = self.lock();
        let dropped = held.remove(kind, name);
        self.note(&held);
        drop(held);
        drop(dropped);
    }

    /// Drops the entries of a kind that were used longest ago, until there are `most` of them at most.
    pub fn limit(&self, kind: Kind, most: usize) {
        let mut dropped = Vec::new();
        let mut held = self.lock();
        while held.lists[kind as usize].len() > most {
            dropped.extend(held.pop(kind as usize));
        }
        self.note(&held);
        drop(held);
        drop(dropped);
    }

    /// Bytes that may be kept elsewhere for the same budget: a quarter of it stays for the entries here.
    pub fn most_elsewhere(&self) -> usize {
        let budget = self.budget();
        budget - budget / 4
    }

    /// Counts bytes that are kept elsewhere for the same budget: the trap counters of hosts in memory. Beyond
    /// [`most_elsewhere`](Self::most_elsewhere) they take nothing from the entries here.
    pub fn count_elsewhere(&self, bytes: usize) {
        let mut dropped = Vec::new();
        let mut held = self.lock();
        held.elsewhere = bytes;
        held.shrink(self.budget_beside(bytes), &mut dropped);
        self.note(&held);
        drop(held);
        drop(dropped);
    }

    fn budget_beside(&self, elsewhere: usize) -> usize {
        let budget = self.budget();
        budget - elsewhere.min(budget - budget / 4)
    }

    /// Says what is held to those who share the budget.
    fn note(&self, held: &Entries) {
        self.portion.hold(held.bytes.saturating_add(held.elsewhere));
    }

    /// The budget in bytes.
    pub fn budget(&self) -> usize {
        self.portion.most()
    }

    /// Bytes in use: never more than the budget.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Entries of a kind.
    pub fn len(&self, kind: Kind) -> usize {
        self.lock().lists[kind as usize].len()
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for OriginCache {
    fn default() -> Self {
        Self::new(Self::DEFAULT_BUDGET)
    }
}

impl Entries {
    fn remove(&mut self, kind: Kind, name: &str) -> Option<Slot> {
        let slot = self.lists[kind as usize].pop(name)?;
        self.bytes -= slot.bytes;
        Some(slot)
    }

    fn pop(&mut self, list: usize) -> Option<Slot> {
        let (_, slot) = self.lists[list].pop_lru()?;
        self.bytes -= slot.bytes;
        Some(slot)
    }

    fn shrink(&mut self, budget: usize, dropped: &mut Vec<Slot>) {
        while self.bytes > budget {
            let oldest =
                (0..KINDS).filter_map(|list| Some((self.lists[list].peek_lru()?.1.used, list))).min();
            let Some((_, list)) = oldest else { return };
            dropped.extend(self.pop(list));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn has(cache: &OriginCache, kind: Kind, name: &str) -> bool {
        cache.get::<u32>(kind, name).is_some()
    }

    #[test]
    fn what_was_used_longest_ago_goes_first_whatever_its_kind() {
        let cache = OriginCache::new(3 * (OVERHEAD as u64 + 1_000));
        let keep = |kind, name| cache.keep(kind, name, Arc::new(1_u32), 900);
        keep(Kind::Robots, "a");
        keep(Kind::AiTxt, "a");
        keep(Kind::Client, "b");
        assert!(has(&cache, Kind::Robots, "a") && has(&cache, Kind::Client, "b"));
        keep(Kind::Robots, "c");
        assert!(!has(&cache, Kind::AiTxt, "a"), "used longest ago, beside newer ones of other kinds");
        assert!(has(&cache, Kind::Robots, "a"));
        keep(Kind::Robots, "d");
        assert!(!has(&cache, Kind::Client, "b"));
        assert!(["a", "c", "d"].iter().all(|name| has(&cache, Kind::Robots, name)));
        cache.limit(Kind::Robots, 2);
        assert!(!has(&cache, Kind::Robots, "a") && cache.len(Kind::Robots) == 2);
    }

    #[test]
    fn a_value_over_the_budget_takes_no_other_ones_place_and_replaces_its_own() {
        let cache = OriginCache::new(1_000);
        cache.keep(Kind::Robots, "a", Arc::new(1_u32), 100);
        cache.keep(Kind::Robots, "b", Arc::new(1_u32), 100);
        cache.keep(Kind::Robots, "c", Arc::new(1_u32), 1_000);
        assert!(has(&cache, Kind::Robots, "a") && has(&cache, Kind::Robots, "b"));
        assert!(!has(&cache, Kind::Robots, "c"));
        cache.keep(Kind::Robots, "b", Arc::new(2_u32), 1_000);
        assert!(!has(&cache, Kind::Robots, "b"), "an outdated value isn't given out");
        cache.remove(Kind::Robots, "a");
        assert_eq!((cache.bytes(), cache.len(Kind::Robots)), (0, 0));
    }

    #[test]
    fn the_budget_holds_over_a_hundred_thousand_origins() {
        let cache = OriginCache::default();
        let kinds = [Kind::Robots, Kind::TdmRep, Kind::AiTxt, Kind::Client, Kind::Addresses, Kind::SetAside];
        for n in 0..100_000_usize {
            let name = format!("https://host-{n}.test");
            cache.keep(kinds[n % kinds.len()], &name, Arc::new(n), 40 + n * 7_919 % 20_000);
            assert!(cache.bytes() <= cache.budget());
            assert_eq!(cache.get::<usize>(kinds[n % kinds.len()], &name).as_deref(), Some(&n));
        }
        assert!(cache.bytes() > cache.budget() - 30_000, "and is made use of: {}", cache.bytes());
        let entries: usize = kinds.iter().map(|kind| cache.len(*kind)).sum();
        assert!((1_000..3_000).contains(&entries), "{entries}");
    }

    #[test]
    fn what_is_kept_elsewhere_takes_its_part_of_the_budget_and_leaves_a_quarter() {
        let cache = OriginCache::new(8 * (OVERHEAD as u64 + 1_000));
        let budget = cache.budget();
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let fill = || names.map(|name| cache.keep(Kind::Robots, name, Arc::new(1_u32), 900));
        fill();
        assert_eq!(cache.len(Kind::Robots), 8);
        cache.count_elsewhere(budget / 2);
        assert!(!has(&cache, Kind::Robots, "d") && has(&cache, Kind::Robots, "e"));
        assert!(cache.bytes() + budget / 2 <= budget);
        fill();
        assert_eq!(cache.len(Kind::Robots), 4, "what comes later has no more");
        cache.count_elsewhere(10 * budget);
        assert_eq!(cache.len(Kind::Robots), 2);
        cache.count_elsewhere(0);
        fill();
        assert_eq!(cache.len(Kind::Robots), 8);
    }

    #[test]
    fn caches_that_share_a_budget_have_what_the_others_leave_and_their_part_in_any_case() {
        let of_one = OVERHEAD + 1_000;
        let budget = Portion::whole(8 * of_one);
        let [one, two] = [budget.further(), budget.further()].map(OriginCache::within);
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let fill = |cache: &OriginCache| {
            for name in names {
                cache.keep(Kind::Robots, name, Arc::new(1_u32), 900);
            }
        };
        fill(&one);
        assert_eq!(one.len(Kind::Robots), 8);
        fill(&two);
        // A third of it: the owner of the budget counts as well.
        assert_eq!(two.len(Kind::Robots), 2);
        one.count_elsewhere(0);
        assert_eq!(one.len(Kind::Robots), 6, "what the other one took");
        assert!(one.bytes() + two.bytes() <= 8 * of_one);
        drop(one);
        fill(&two);
        assert_eq!(two.len(Kind::Robots), 8);
    }

    proptest! {
        /// The same as a list in the order of use.
        #[test]
        fn it_is_a_list_in_the_order_of_use(
            steps in prop::collection::vec((0_usize..3, 0_usize..12, 1_usize..1_500, any::<bool>()), 1..200)
        ) {
            let kinds = [Kind::Robots, Kind::AiTxt, Kind::Client];
            let budget = 5_000;
            let cache = OriginCache::new(budget);
            let mut model: Vec<(usize, usize, usize)> = Vec::new();
            for (kind, name, bytes, is_kept) in steps {
                let text = name.to_string();
                let found = model.iter().position(|entry| (entry.0, entry.1) == (kind, name));
                if is_kept {
                    cache.keep(kinds[kind], &text, Arc::new(1_u32), bytes);
                    if let Some(at) = found {
                        model.remove(at);
                    }
                    let bytes = block(bytes) + block(text.len()) + OVERHEAD;
                    if bytes as u64 <= budget {
                        model.push((kind, name, bytes));
                    }
                    while model.iter().map(|entry| entry.2 as u64).sum::<u64>() > budget {
                        model.remove(0);
                    }
                } else {
                    prop_assert_eq!(has(&cache, kinds[kind], &text), found.is_some());
                    if let Some(at) = found {
                        let entry = model.remove(at);
                        model.push(entry);
                    }
                }
                prop_assert_eq!(cache.bytes(), model.iter().map(|entry| entry.2).sum::<usize>());
            }
        }
    }
}
