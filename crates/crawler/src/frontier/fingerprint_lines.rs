//! A set of fingerprints in memory, for the hosts that are in use: little larger than a list of them, and a look-up reads memory once.

use page::url::Fingerprint;

/// Fingerprints of a line. A processor reads 64 bytes of memory at once.
const LINE: usize = 8;

/// Maximum load: 6 of 8 slots, on average of all lines. With more, too many lines would be full; with fewer, memory would be wasted.
const MAX_LOAD_OF_EIGHT: usize = 6;

/// A set at 11 to 12 bytes a fingerprint.
///
/// Fingerprints are uniform, so the line of one follows from its value: one at a third of all values is in the line at a third of all lines. Where that is full, it is in the
/// next one that isn't; after the last line comes the first. Nothing is ever removed. There is an eighth more lines at a time, filled in the order of their fingerprints, so that
/// memory is read and written from its beginning to its end.
#[derive(Debug, Default)]
pub(super) struct FingerprintLines {
    lines: Vec<Line>,
    /// Fingerprints in the lines.
    filled: usize,
    /// It has the fingerprint that stands for an empty place.
    has_empty: bool,
}

/// Filled from its beginning; the rest is [`EMPTY`].
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line([u64; LINE]);

const EMPTY: u64 = 0;

impl Line {
    fn has(&self, fingerprint: u64) -> bool {
        // Without a branch for each: the processor couldn't predict where it is found.
        let mut found = false;
        for other in self.0 {
            found |= other == fingerprint;
        }
        found
    }

    fn is_full(&self) -> bool {
        self.0[LINE - 1] != EMPTY
    }
}

impl FingerprintLines {
    /// An empty set with space for so many.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { lines: empty_lines(lines_for(count)), ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.filled + usize::from(self.has_empty)
    }

    pub(super) fn contains(&self, Fingerprint(wanted): Fingerprint) -> bool {
        if wanted == EMPTY {
            return self.has_empty;
        }
        !self.lines.is_empty() && self.line_for_new(wanted).is_none()
    }

    /// Reads where these may lie, so that looking for one after the other doesn't wait for memory each time: no read depends on another one.
    pub(super) fn read_ahead(&self, fingerprints: &[Fingerprint]) {
        if self.lines.is_empty() {
            return;
        }
        let read = |Fingerprint(one): &Fingerprint| self.lines[self.line_of(*one)].0[0];
        std::hint::black_box(fingerprints.iter().map(read).fold(0, |all, one| all ^ one));
    }

    /// Adds one; false if it was there.
    pub(super) fn insert(&mut self, Fingerprint(new): Fingerprint) -> bool {
        if new == EMPTY {
            return !std::mem::replace(&mut self.has_empty, true);
        }
        if self.lines.is_empty() {
            self.lines = empty_lines(1);
        }
        let Some(mut line) = self.line_for_new(new) else { return false };
        if self.filled >= self.lines.len() * MAX_LOAD_OF_EIGHT {
            self.grow();
            line = self.first_open(new);
        }
        self.put(line, new);
        true
    }

    #[cfg(any(feature = "cluster", test))]
    pub(super) fn iter(&self) -> impl Iterator<Item = Fingerprint> {
        let empty = self.has_empty.then_some(EMPTY);
        let all = self.lines.iter().flat_map(|line| line.0).filter(|place| *place != EMPTY);
        all.chain(empty).map(Fingerprint)
    }

    /// The line that a fingerprint would be added to; none if it is there.
    fn line_for_new(&self, wanted: u64) -> Option<usize> {
        let mut at = self.line_of(wanted);
        loop {
            let line = &self.lines[at];
            if line.has(wanted) {
                return None;
            }
            if !line.is_full() {
                return Some(at);
            }
            at = self.behind(at);
        }
    }

    /// The same for one that isn't there.
    fn first_open(&self, new: u64) -> usize {
        let mut at = self.line_of(new);
        while self.lines[at].is_full() {
            at = self.behind(at);
        }
        at
    }

    fn line_of(&self, fingerprint: u64) -> usize {
        ((u128::from(fingerprint) * self.lines.len() as u128) >> 64) as usize
    }

    fn behind(&self, line: usize) -> usize {
        if line + 1 == self.lines.len() { 0 } else { line + 1 }
    }

    fn put(&mut self, line: usize, new: u64) {
        if let Some(place) = self.lines[line].0.iter_mut().find(|place| **place == EMPTY) {
            *place = new;
            self.filled += 1;
        }
    }

    fn grow(&mut self) {
        let grown = empty_lines(self.lines.len() * 9 / 8 + 1);
        let before = std::mem::replace(&mut self.lines, grown);
        self.filled = 0;
        for fingerprint in before.iter().flat_map(|line| line.0).filter(|place| *place != EMPTY) {
            self.put(self.first_open(fingerprint), fingerprint);
        }
    }
}

/// Lines that have space for so many.
fn lines_for(count: usize) -> usize {
    count.div_ceil(MAX_LOAD_OF_EIGHT)
}

fn empty_lines(count: usize) -> Vec<Line> {
    vec![Line([EMPTY; LINE]); count]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// Fingerprints as they are, and such as no digest would give: dense, at both ends, far apart.
    fn fingerprints() -> impl Strategy<Value = Vec<u64>> {
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
        fn it_has_what_was_added_and_nothing_else(all in fingerprints(), space in 0..300_usize) {
            let (mut set, mut plain) = (FingerprintLines::with_capacity(space), HashSet::new());
            let fingerprints: Vec<_> = all.iter().copied().map(Fingerprint).collect();
            set.read_ahead(&fingerprints);
            for one in &all {
                prop_assert_eq!(set.insert(Fingerprint(*one)), plain.insert(*one), "{}", one);
            }
            set.read_ahead(&fingerprints);
            prop_assert_eq!(set.len(), plain.len());
            let beside = all.iter().flat_map(|it| [it.wrapping_sub(1), *it, it.wrapping_add(1)]);
            for wanted in beside.chain([0, u64::MAX]) {
                prop_assert_eq!(set.contains(Fingerprint(wanted)), plain.contains(&wanted), "{}", wanted);
            }
            let listed: Vec<_> = set.iter().map(|one| one.0).collect();
            prop_assert_eq!(listed.len(), plain.len());
            prop_assert_eq!(listed.into_iter().collect::<HashSet<_>>(), plain);
        }
    }

    /// Numbers as a digest gives them.
    fn uniform(count: u64) -> impl Iterator<Item = Fingerprint> {
        (1..=count).map(|n| {
            let mixed = (n ^ n >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Fingerprint((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9))
        })
    }

    #[test]
    fn a_fingerprint_takes_eleven_to_twelve_bytes_and_few_lines_are_looked_at() {
        let mut set = FingerprintLines::default();
        for (count, one) in (1..).zip(uniform(200_000)) {
            assert!(set.insert(one));
            if count > 1_000 && count % 97 == 0 {
                let bytes = set.lines.len() * size_of::<Line>();
                assert!((10 * count..=12 * count + 500).contains(&bytes), "{count}: {bytes}");
            }
        }
        let lines = |one: Fingerprint| {
            let (from, to) = (set.line_of(one.0), set.first_open(one.0));
            (to + set.lines.len() - from) % set.lines.len() + 1
        };
        let (all, most) = uniform(100_000).map(lines).fold((0, 0), |(all, most), n| (all + n, most.max(n)));
        assert!(all < 200_000 && most < 100, "{all} {most}");
    }

    #[test]
    fn one_with_space_for_all_does_not_grow() {
        for count in [1, 6, 7, 8, 1_000] {
            let mut set = FingerprintLines::with_capacity(count as usize);
            let lines = set.lines.len();
            for one in uniform(count) {
                set.insert(one);
            }
            assert_eq!(set.lines.len(), lines, "{count}");
        }
    }
}
