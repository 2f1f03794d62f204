//! One host's seen set: fingerprints in the order they came, in blocks of 512 on disk, as a hash set in memory while
//! the host is in use.

use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashSet;
use serde::{Deserialize, Serialize};

use crate::url::Fingerprint;

/// Fingerprints in one block.
pub(crate) const BLOCK: u64 = 512;

/// Ends of a seen set, as the host record keeps them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenEnds {
    /// Fingerprints below this index are in blocks.
    pub sealed: u64,
    /// All fingerprints, at the time of the record; the journal may go beyond it.
    pub count: u64,
}

/// Fingerprints are uniform already.
#[derive(Debug, Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

pub(crate) type FingerprintSet = HashSet<Fingerprint, BuildHasherDefault<Identity>>;

/// A set of fingerprints at little more than 8 bytes each: a sorted run, and a hash set of what came since.
#[derive(Debug, Default)]
struct Packed {
    sorted: Vec<Fingerprint>,
    recent: FingerprintSet,
}

impl Packed {
    fn from(mut all: Vec<Fingerprint>) -> Self {
        all.sort_unstable();
        all.dedup();
        all.shrink_to_fit();
        Self { sorted: all, recent: FingerprintSet::default() }
    }

    fn len(&self) -> usize {
        self.sorted.len() + self.recent.len()
    }

    fn contains(&self, fingerprint: Fingerprint) -> bool {
        self.recent.contains(&fingerprint) || is_among(&self.sorted, fingerprint)
    }

    #[cfg(feature = "cluster")]
    fn iter(&self) -> impl Iterator<Item = Fingerprint> {
        self.sorted.iter().chain(&self.recent).copied()
    }

    fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        if is_among(&self.sorted, fingerprint) || !self.recent.insert(fingerprint) {
            return false;
        }
        // An eighth of the run at a time: sorting costs each fingerprint a few moves over the set's life.
        if self.recent.len() > (self.sorted.len() / 8).max(32) {
            self.sorted.reserve_exact(self.recent.len());
            self.sorted.extend(self.recent.drain());
            self.sorted.sort();
            self.recent.shrink_to_fit();
        }
        true
    }
}

/// Whether a fingerprint is in a sorted run. Fingerprints are uniform, so its place follows from its value: among 10,000 that takes about two reads of memory
/// that no cache has, where a binary search takes eight. Whatever the run, it takes no more steps than twice those of a binary search.
fn is_among(sorted: &[Fingerprint], wanted: Fingerprint) -> bool {
    let fraction = |value: u64| ((u128::from(value) * sorted.len() as u128) >> 64) as usize;
    let expected = fraction(wanted.0);
    let Some(there) = sorted.get(expected) else { return false };
    // How far off that is tells the difference to what is there, as closely as among the few values between.
    let start = if there.0 < wanted.0 {
        (expected + fraction(wanted.0 - there.0)).min(sorted.len() - 1)
    } else {
        expected.saturating_sub(fraction(there.0 - wanted.0))
    };
    let (mut from, mut to, mut step) = (start, start, 4);
    while from > 0 && sorted[from] > wanted {
        (to, from) = (from, from.saturating_sub(step));
        step *= 2;
    }
    while to < sorted.len() && sorted[to] < wanted {
        (from, to) = (to, to + step);
        step *= 2;
    }
    let to = sorted.len().min(to + 1);
    sorted[from..to].binary_search(&wanted).is_ok()
}

#[derive(Debug, Default)]
pub(crate) struct Seen {
    sealed: u64,
    journaled: u64,
    /// Indices `sealed..count`.
    fresh: Vec<Fingerprint>,
    /// Everything, while the host is in use.
    set: Option<Packed>,
    /// When the set was last used, in ticks of the frontier.
    pub(crate) used: u64,
}

impl Seen {
    pub(crate) fn restore(ends: SeenEnds) -> Self {
        Self { sealed: ends.sealed, ..Self::default() }
    }

    /// As [`Seen::restore`], with the fingerprints that are in no block and were stored elsewhere.
    pub(crate) fn restore_with(ends: SeenEnds, fresh: &[u64]) -> Self {
        let mut seen = Self::restore(ends);
        seen.fresh.extend(fresh.iter().copied().map(Fingerprint));
        seen
    }

    /// The fingerprints that are in no block.
    pub(crate) fn fresh(&self) -> &[Fingerprint] {
        &self.fresh
    }

    pub(crate) fn ends(&self) -> SeenEnds {
        SeenEnds { sealed: self.sealed, count: self.count() }
    }

    pub(crate) fn count(&self) -> u64 {
        self.sealed + self.fresh.len() as u64
    }

    pub(crate) fn loaded(&self) -> usize {
        self.set.as_ref().map_or(0, Packed::len)
    }

    /// All fingerprints of a loaded set.
    #[cfg(feature = "cluster")]
    pub(crate) fn all(&self) -> impl Iterator<Item = Fingerprint> {
        self.set.iter().flat_map(Packed::iter)
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.set.is_some()
    }

    pub(crate) fn evict(&mut self) {
        self.set = None;
    }

    /// Reads the whole set; `read` gives a block by its number.
    pub(crate) fn load<E>(&mut self, mut read: impl FnMut(u64) -> Result<Vec<u64>, E>) -> Result<(), E> {
        let mut all = Vec::with_capacity(self.count() as usize);
        for number in 0..self.sealed.div_ceil(BLOCK) {
            all.extend(read(number)?.into_iter().map(Fingerprint));
        }
        all.extend_from_slice(&self.fresh);
        self.set = Some(Packed::from(all));
        Ok(())
    }

    /// Adds a fingerprint to a loaded set; false if it was there.
    pub(crate) fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        let new = self.set.get_or_insert_default().insert(fingerprint);
        if new {
            self.fresh.push(fingerprint);
        }
        new
    }

    pub(crate) fn contains(&self, fingerprint: Fingerprint) -> bool {
        self.set.as_ref().is_some_and(|set| set.contains(fingerprint))
    }

    pub(crate) fn replay(&mut self, index: u64, fingerprint: u64) {
        if index == self.count() {
            self.fresh.push(Fingerprint(fingerprint));
            self.journaled = self.count();
        }
    }

    /// As [`super::queue::Queue::seal`].
    pub(crate) fn seal<E>(
        &mut self,
        all: bool,
        mut read: impl FnMut(u64) -> Result<Vec<u64>, E>,
        mut write: impl FnMut(u64, Vec<u64>),
    ) -> Result<(), E> {
        loop {
            let number = self.sealed / BLOCK;
            let end = (number + 1) * BLOCK;
            if self.fresh.is_empty() || (self.count() < end && !all) {
                self.fresh.shrink_to(BLOCK as usize / 16);
                return Ok(());
            }
            let take = (end.min(self.count()) - self.sealed) as usize;
            let mut block = if self.sealed.is_multiple_of(BLOCK) { Vec::new() } else { read(number)? };
            block.extend(self.fresh.drain(..take).map(|fingerprint| fingerprint.0));
            block.sort_unstable();
            self.sealed += take as u64;
            self.journaled = self.journaled.max(self.sealed);
            write(number, block);
        }
    }

    pub(crate) fn journal(&mut self) -> Option<(u64, Vec<u64>)> {
        let from = self.journaled.max(self.sealed);
        if from >= self.count() {
            return None;
        }
        let skip = (from - self.sealed) as usize;
        self.journaled = self.count();
        Some((from, self.fresh[skip..].iter().map(|fingerprint| fingerprint.0).collect()))
    }

    /// As [`super::queue::Queue::costs`].
    pub(crate) fn costs(&self) -> (usize, usize) {
        if self.fresh.is_empty() {
            return (0, 0);
        }
        let from = self.journaled.max(self.sealed);
        let block = self.fresh.len() + (self.sealed % BLOCK) as usize;
        (((self.count() - from) * 8) as usize, block * 8 + super::queue::ENTRY)
    }

    pub(crate) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs as they are, and runs that no digest would give: dense, at both ends, far apart.
    fn runs() -> impl Strategy<Value = Vec<u64>> {
        let near = |from: u64| prop::collection::vec(from..=from + 300, 0..200);
        prop_oneof![
            prop::collection::vec(any::<u64>(), 0..2000),
            near(0),
            near(u64::MAX - 300),
            near(1 << 63),
            (near(7), near(u64::MAX - 300)).prop_map(|(low, high)| [low, high].concat()),
            (0..500_u64).prop_map(|count| (0..count).map(|n| n * n * n).collect()),
        ]
    }

    proptest! {
        #[test]
        fn a_fingerprint_is_found_where_a_binary_search_finds_it(mut run in runs(), others in prop::collection::vec(any::<u64>(), 20)) {
            run.sort_unstable();
            run.dedup();
            let run: Vec<_> = run.into_iter().map(Fingerprint).collect();
            let beside = run.iter().flat_map(|Fingerprint(it)| [it.wrapping_sub(1), *it, it.wrapping_add(1)]);
            for wanted in beside.chain(others).chain([0, u64::MAX]).map(Fingerprint) {
                prop_assert_eq!(is_among(&run, wanted), run.binary_search(&wanted).is_ok(), "{:?} in {:?}", wanted, run);
            }
        }
    }
}
