//! A bounded cache from words to what is indexed of them: most words of a text are among a few thousand frequent ones.

use std::hash::BuildHasher as _;

use frostem::Algorithm;
use hashbrown::DefaultHashBuilder;

/// How many words are kept, in sets of two: 2 MiB.
const SLOTS: usize = 1 << 15;

/// Bytes of a word and its stems together; longer ones aren't kept.
const BYTES: usize = 60;

/// A word as it is written, its stem, and the other stem that is indexed with it.
#[derive(Debug, Clone, Copy)]
struct Slot {
    stemmer: Option<Algorithm>,
    /// Where word, stem and other stem end in `bytes`.
    ends: [u8; 3],
    bytes: [u8; BYTES],
}

const EMPTY: Slot = Slot { stemmer: None, ends: [0; 3], bytes: [0; BYTES] };

impl Slot {
    fn is_of(&self, stemmer: Option<Algorithm>, word: &str) -> bool {
        self.stemmer == stemmer && self.bytes.get(..usize::from(self.ends[0])) == Some(word.as_bytes())
    }

    /// The text between two of the ends.
    fn text(&self, from: u8, to: u8) -> Option<&str> {
        std::str::from_utf8(self.bytes.get(usize::from(from)..usize::from(to))?).ok()
    }
}

/// Keeps what became of words lately.
#[derive(Debug, Default)]
pub(super) struct StemCache {
    /// Empty until a word is kept.
    slots: Vec<Slot>,
    hasher: DefaultHashBuilder,
}

impl StemCache {
    /// The stem of a word and the other one, which is empty where there is none.
    pub(super) fn find(&self, stemmer: Option<Algorithm>, word: &str) -> Option<(&str, &str)> {
        let first = self.set_of(stemmer, word);
        let slot = self.slots.get(first..first + 2)?.iter().find(|slot| slot.is_of(stemmer, word))?;
        let [word, stem, other] = slot.ends;
        Some((slot.text(word, stem)?, slot.text(stem, other)?))
    }

    /// Keeps a word with its stems, in the place of the older one of its set.
    pub(super) fn keep(&mut self, stemmer: Option<Algorithm>, word: &str, stem: &str, other: &str) {
        let mut slot = Slot { stemmer, ..EMPTY };
        let mut end = 0;
        for (text, slot_end) in [word, stem, other].into_iter().zip(&mut slot.ends) {
            let Some(place) = slot.bytes.get_mut(end..end + text.len()) else { return };
            place.copy_from_slice(text.as_bytes());
            end += text.len();
            *slot_end = end as u8;
        }
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, EMPTY);
        }
        let first = self.set_of(stemmer, word);
        self.slots[first + 1] = self.slots[first];
        self.slots[first] = slot;
    }

    /// The first slot of the two that a word may be in.
    fn set_of(&self, stemmer: Option<Algorithm>, word: &str) -> usize {
        (self.hasher.hash_one((stemmer, word)) as usize % SLOTS) & !1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_its_own_stems_in_each_language_and_memory_is_bounded() {
        assert!(size_of::<Slot>() * SLOTS <= 2 << 20);
        let mut cache = StemCache::default();
        let (en, de) = (Some(Algorithm::English), Some(Algorithm::German));
        assert_eq!(cache.find(en, "Häuser"), None);
        cache.keep(en, "Häuser", "hauser", "");
        cache.keep(de, "Häuser", "haus", "hauser");
        assert_eq!(cache.find(en, "Häuser"), Some(("hauser", "")));
        assert_eq!(cache.find(de, "Häuser"), Some(("haus", "hauser")));
        assert_eq!(cache.find(None, "Häuser"), None);
        assert_eq!(cache.find(de, "häuser"), None);
        let long = "a".repeat(BYTES / 2 + 1);
        cache.keep(en, &long, &long, "");
        assert_eq!(cache.find(en, &long), None);
        for number in 0..4 * SLOTS {
            let word = number.to_string();
            cache.keep(en, &word, &word, "");
            assert_eq!(cache.find(en, &word), Some((word.as_str(), "")));
        }
        assert_eq!(cache.slots.len(), SLOTS);
    }
}
