//! One host's seen set: fingerprints in the order they came, in blocks of 512 on disk, and all of them in memory while the host is in use.

use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashSet;
use serde::{Deserialize, Serialize};

use super::fingerprint_lines::FingerprintLines;
use page::url::Fingerprint;

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

#[derive(Debug, Default)]
pub(crate) struct Seen {
    sealed: u64,
    journaled: u64,
    /// Indices `sealed..count`.
    fresh: Vec<Fingerprint>,
    /// Everything, while the host is in use.
    set: Option<FingerprintLines>,
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
        self.set.as_ref().map_or(0, FingerprintLines::len)
    }

    /// All fingerprints of a loaded set.
    #[cfg(feature = "cluster")]
    pub(crate) fn all(&self) -> impl Iterator<Item = Fingerprint> {
        self.set.iter().flat_map(FingerprintLines::iter)
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.set.is_some()
    }

    pub(crate) fn evict(&mut self) {
        self.set = None;
    }

    /// Reads the whole set; `read` gives a block by its number.
    pub(crate) fn load<E>(&mut self, mut read: impl FnMut(u64) -> Result<Vec<u64>, E>) -> Result<(), E> {
        let mut all = FingerprintLines::with_capacity(self.count() as usize);
        for number in 0..self.sealed.div_ceil(BLOCK) {
            for fingerprint in read(number)? {
                all.insert(Fingerprint(fingerprint));
            }
        }
        for fingerprint in &self.fresh {
            all.insert(*fingerprint);
        }
        self.set = Some(all);
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

    /// As [`FingerprintLines::read_ahead`].
    pub(crate) fn read_ahead(&self, fingerprints: &[Fingerprint]) {
        if let Some(set) = &self.set {
            set.read_ahead(fingerprints);
        }
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
