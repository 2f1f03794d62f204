//! How many entries the trees must hold that are read as a whole. sled passes over what it can't read in the middle of its log:
//! a page that is missing among thousands shows only where they are counted.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::store::{Pair, StoreError, Tree, Write};

/// The trees that are counted: what researchers read. The others are read by keys that are known, and missed there.
pub(super) const COUNTED: [Tree; 4] = [Tree::Pages, Tree::Links, Tree::Robots, Tree::Ledger];

/// Entries of each counted tree.
pub(super) type Counts = [u64; COUNTED.len()];

fn index(tree: Tree) -> Option<usize> {
    COUNTED.iter().position(|counted| *counted == tree)
}

/// The counts of an open database; none where an older version wrote it without counting.
#[derive(Debug, Default)]
pub(super) struct Count(Mutex<Option<Counts>>);

impl Count {
    pub(super) fn set(&self, counts: Option<Counts>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = counts;
    }

    pub(super) fn of(&self, tree: Tree) -> Option<u64> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some((*counts)?[index(tree)?])
    }

    /// The counts after these changes; `holds` looks a key up as it is before them.
    pub(super) fn after(
        &self,
        writes: &[Write],
        holds: impl Fn(Tree, &[u8]) -> Result<bool, StoreError>,
    ) -> Result<Option<Counts>, StoreError> {
        let Some(mut counts) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) else {
            return Ok(None);
        };
        let mut last: HashMap<(usize, &[u8]), bool> = HashMap::new();
        for Write { tree, key, value } in writes {
            if let Some(index) = index(*tree) {
                last.insert((index, key), value.is_some());
            }
        }
        for ((index, key), there) in last {
            let count = &mut counts[index];
            match (holds(COUNTED[index], key)?, there) {
                (false, true) => *count += 1,
                (true, false) => *count = count.saturating_sub(1),
                _ => {}
            }
        }
        Ok(Some(counts))
    }
}

pub(super) fn write(counts: Counts) -> Vec<u8> {
    counts.iter().flat_map(|count| count.to_be_bytes()).collect()
}

pub(super) fn read(value: &[u8]) -> Option<Counts> {
    let mut counts = Counts::default();
    if value.len() != 8 * counts.len() {
        return None;
    }
    for (count, bytes) in counts.iter_mut().zip(value.chunks_exact(8)) {
        *count = bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    }
    Some(counts)
}

/// Passes a whole tree through, and ends with an error where it has fewer entries than it must.
pub(super) struct Counting<'a, I> {
    pub(super) pairs: I,
    pub(super) tree: Tree,
    pub(super) found: u64,
    /// What the tree held when the scan began; none ends the counting.
    pub(super) begun_with: Option<u64>,
    pub(super) now: &'a Count,
}

impl<I: Iterator<Item = Result<Pair, StoreError>>> Iterator for Counting<'_, I> {
    type Item = Result<Pair, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(pair) = self.pairs.next() {
            if pair.is_ok() {
                self.found += 1;
            } else {
                self.begun_with = None;
            }
            return Some(pair);
        }
        // Entries may come and go while the scan runs.
        let least = self.begun_with.take()?.min(self.now.of(self.tree)?);
        (self.found < least).then(|| {
            let detail = format!("{} of its {least} records", least - self.found);
            Err(StoreError::Lost { tree: self.tree.name(), detail })
        })
    }
}
