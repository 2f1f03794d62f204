//! Tree `page_index`: from a fingerprint to the number of its page.
//!
//! Fingerprints are uniform, so the index is a tree of buckets by their bits: a bucket of level `n` holds those that begin
//! with the same `3 n` bits, in sorted runs of about [`RUN`]. A new run goes to level 0. A bucket of [`FULL`] runs is moved: each
//! of the eight buckets below it gets one run. So an entry is written once a level, and nothing is ever read to be written
//! again. Key: level u8, the bucket's bits u64 (the others 0), number of the run u64. Value: fingerprint u64, number u40.

use super::filter::Filter;
use super::{State, unreadable};
use crate::store::{Store, StoreError, Tree, Write};
use page::url::Fingerprint;

/// Entries of a new run.
pub(super) const RUN: usize = 128;

/// Runs of a bucket that is moved.
const FULL: usize = 8;

/// Bits of a level.
const BITS: u32 = 3;

/// No level has buckets below this one.
const DEEPEST: u8 = 20;

/// Bytes of an entry.
const ENTRY: usize = 8 + 5;

/// Numbers that fit.
pub(super) const NUMBERS: u64 = 1 << 40;

/// A bucket: its level, and the bits that its fingerprints begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    level: u8,
    bits: u64,
}

impl Bucket {
    pub(super) const TOP: Self = Self { level: 0, bits: 0 };

    fn of(page: Fingerprint, level: u8) -> Self {
        let taken = u32::from(level) * BITS;
        Self { level, bits: if taken == 0 { 0 } else { page.0 >> (64 - taken) << (64 - taken) } }
    }

    fn prefix(self) -> Vec<u8> {
        let mut key = vec![self.level];
        key.extend(self.bits.to_be_bytes());
        key
    }

    fn key(self, run: u64) -> Vec<u8> {
        let mut key = self.prefix();
        key.extend(run.to_be_bytes());
        key
    }
}

/// A new run of level 0.
pub(super) fn add(state: &mut State, entries: &mut [(Fingerprint, u64)]) -> Write {
    put(state, Bucket::TOP, entries)
}

fn put(state: &mut State, bucket: Bucket, entries: &mut [(Fingerprint, u64)]) -> Write {
    entries.sort_unstable();
    let mut value = Vec::with_capacity(entries.len() * ENTRY);
    for (page, number) in entries {
        value.extend(page.0.to_be_bytes());
        value.extend(&number.to_be_bytes()[3..]);
    }
    let key = bucket.key(state.runs);
    state.runs += 1;
    state.levels = state.levels.max(bucket.level + 1);
    Write::put(Tree::PageIndex, key, value)
}

/// True if a bucket has to be moved once it has `more` runs.
pub(super) fn is_full<S: Store>(store: &S, bucket: Bucket, more: usize) -> Result<bool, StoreError> {
    let mut runs = more;
    for pair in store.scan(Tree::PageIndex, &bucket.prefix()) {
        pair?;
        runs += 1;
    }
    Ok(runs >= FULL && bucket.level < DEEPEST)
}

/// Moves a bucket into those below it, and gives the ones that are full then.
pub(super) fn push_down<S: Store>(
    store: &S,
    state: &mut State,
    bucket: Bucket,
    writes: &mut Vec<Write>,
) -> Result<Vec<Bucket>, StoreError> {
    let mut below: [Vec<(Fingerprint, u64)>; 1 << BITS] = Default::default();
    for pair in store.scan(Tree::PageIndex, &bucket.prefix()) {
        let (key, value) = pair?;
        for entry in read(&value)? {
            let place = entry.0.0 >> (64 - BITS * (u32::from(bucket.level) + 1)) & ((1 << BITS) - 1);
            below[place as usize].push(entry);
        }
        writes.push(Write::remove(Tree::PageIndex, key));
    }
    let mut full = Vec::new();
    for entries in below.iter_mut().filter(|entries| !entries.is_empty()) {
        let child = Bucket::of(entries[0].0, bucket.level + 1);
        writes.push(put(state, child, entries));
        if is_full(store, child, 1)? {
            full.push(child);
        }
    }
    Ok(full)
}

/// The numbers under a fingerprint: one, unless two URLs share it.
pub(super) fn look_up<S: Store>(store: &S, levels: u8, page: Fingerprint) -> Result<Vec<u64>, StoreError> {
    // From the bottom, where most are; then from the top: an entry that is moved meanwhile is met again further down, never missed.
    for level in (0..levels).rev().chain(0..=levels) {
        let mut found = Vec::new();
        for pair in store.scan(Tree::PageIndex, &Bucket::of(page, level).prefix()) {
            let (_, value) = pair?;
            found.extend(among(&value, page)?);
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// The numbers of a fingerprint in a run.
fn among(value: &[u8], page: Fingerprint) -> Result<Vec<u64>, StoreError> {
    check(value)?;
    let wanted = page.0.to_be_bytes();
    let entry = |place: usize| &value[place * ENTRY..(place + 1) * ENTRY];
    let (mut from, mut to) = (0, value.len() / ENTRY);
    while from < to {
        let middle = from.midpoint(to);
        if entry(middle)[..8] < wanted[..] { from = middle + 1 } else { to = middle }
    }
    let behind = (from..value.len() / ENTRY).map(entry);
    Ok(behind.take_while(|entry| entry[..8] == wanted[..]).map(|entry| number(&entry[8..])).collect())
}

fn read(value: &[u8]) -> Result<Vec<(Fingerprint, u64)>, StoreError> {
    check(value)?;
    let entry = |bytes: &[u8]| (Fingerprint(number(&bytes[..8])), number(&bytes[8..]));
    Ok(value.chunks_exact(ENTRY).map(entry).collect())
}

fn check(value: &[u8]) -> Result<(), StoreError> {
    if value.len().is_multiple_of(ENTRY) {
        Ok(())
    } else {
        Err(unreadable(Tree::PageIndex, format!("a run of {} bytes", value.len())))
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Gives every entry to a function: the fingerprint and the number of the page. Reads the whole index.
pub(super) fn each<S: Store>(store: &S, mut take: impl FnMut(Fingerprint, u64)) -> Result<(), StoreError> {
    for pair in store.scan(Tree::PageIndex, &[]) {
        let (_, value) = pair?;
        read(&value)?.into_iter().for_each(|(page, number)| take(page, number));
    }
    Ok(())
}

/// Reads which pages are there. One below `state.indexed` that isn't is an error. Cost: as [`each`], 13 bytes a page.
pub(super) fn read_all<S: Store>(store: &S, state: &State) -> Result<Filter, StoreError> {
    let mut found = 0;
    let mut filter = Filter::with_space(state.indexed);
    each(store, |page, _| {
        filter.insert(page);
        found += 1;
    })?;
    if found == state.indexed {
        Ok(filter)
    } else {
        Err(super::lost(
            Tree::PageIndex,
            format!("{} of its {} pages", state.indexed.saturating_sub(found), state.indexed),
        ))
    }
}
