//! Which pages the index may have: a Bloom filter over their fingerprints, so that a new page isn't looked up.
//!
//! It is in memory alone, and made from the index when a store is opened. Fingerprints are uniform: their bits serve as the hashes.

use page::url::Fingerprint;

/// Bits for each fingerprint, at least, and how many of them it sets: of those that aren't there one in 1,000 is taken for one that may be, where a
/// part is full ((1 - exp(-6/16))^6).
const BITS: usize = 16;
const HASHES: u64 = 6;

/// Fingerprints for which the first part has space, and the largest ones: 2 KB, and 16 MB.
const SPACE: (usize, usize) = (1 << 10, 1 << 23);

/// Fingerprints, of which it tells those that certainly aren't there. Memory: 2 to 4 bytes for each; from 16 million on it grows no more, and
/// tells fewer.
#[derive(Debug, Default)]
pub(super) struct Filter {
    /// Each has space for twice as many as the one before.
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    /// A power of two of them.
    words: Vec<u64>,
    /// How many fingerprints it has, and for how many there is space.
    count: usize,
    space: usize,
}

impl Filter {
    /// One without fingerprints, for so many of them and more.
    pub(super) fn with_space(count: u64) -> Self {
        let mut filter = Self::default();
        if count > 0 {
            filter.parts.push(Part::new(usize::try_from(count).unwrap_or(usize::MAX)));
        }
        filter
    }

    /// Takes a fingerprint in.
    pub(super) fn insert(&mut self, page: Fingerprint) {
        let space = match self.parts.last() {
            None => Some(SPACE.0),
            Some(last) if last.count >= last.space && last.space < SPACE.1 => Some(2 * last.space),
            Some(_) => None,
        };
        self.parts.extend(space.map(Part::new));
        if let Some(last) = self.parts.last_mut() {
            last.count += 1;
            for (word, bit) in last.places(page) {
                last.words[word] |= bit;
            }
        }
    }

    /// False where a fingerprint certainly isn't there.
    pub(super) fn may_have(&self, page: Fingerprint) -> bool {
        self.parts.iter().any(|part| part.places(page).all(|(word, bit)| part.words[word] & bit != 0))
    }
}

impl Part {
    fn new(space: usize) -> Self {
        let space = space.clamp(SPACE.0, SPACE.1).next_power_of_two();
        Self { words: vec![0; space * BITS / 64], count: 0, space }
    }

    /// The words and bits of a fingerprint.
    fn places(&self, page: Fingerprint) -> impl Iterator<Item = (usize, u64)> + use<> {
        let last = self.words.len() as u64 * 64 - 1;
        let step = page.0.rotate_left(32) | 1;
        (0..HASHES).map(move |hash| {
            let place = page.0.wrapping_add(hash.wrapping_mul(step)) & last;
            ((place / 64) as usize, 1 << (place % 64))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(number: u64) -> Fingerprint {
        let hash = blake3::hash(&number.to_be_bytes());
        Fingerprint(hash.as_bytes()[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    fn check(filter: &Filter, many: u64) {
        assert!((0..many).all(|number| filter.may_have(print(number))), "{many}");
        let in_vain = (many..2 * many + 10_000).filter(|number| filter.may_have(print(*number))).count();
        // One in 1,000 of each part that is full.
        let most = (many + 10_000) * filter.parts.len() as u64 / 500;
        assert!((in_vain as u64) <= most, "{in_vain} of {many}");
    }

    #[test]
    fn what_is_there_is_always_told_and_nearly_nothing_else() {
        let mut filter = Filter::default();
        check(&filter, 0);
        for many in 0..100_000 {
            filter.insert(print(many));
            if [0, 1, 100, 1023, 1024, 1025, 50_000, 99_999].contains(&many) {
                check(&filter, many + 1);
            }
        }
        let bytes: usize = filter.parts.iter().map(|part| part.words.len() * 8).sum();
        assert!(bytes <= 4 * 100_000, "{bytes} bytes");
    }

    #[test]
    fn one_that_is_made_at_once_has_one_part_and_grows() {
        let mut filter = Filter::with_space(5_000);
        (0..5_000).for_each(|number| filter.insert(print(number)));
        assert_eq!((filter.parts.len(), filter.parts[0].words.len()), (1, 8192 * BITS / 64));
        check(&filter, 5_000);
        (5_000..20_000).for_each(|number| filter.insert(print(number)));
        assert_eq!(filter.parts.len(), 2);
        check(&filter, 20_000);
        assert_eq!(Filter::with_space(u64::MAX).parts[0].words.len() * 8, 16 << 20);
    }
}
