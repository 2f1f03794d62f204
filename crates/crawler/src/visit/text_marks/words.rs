//! The words of a text, as hashes, and what is counted of them.

use super::TextMarks;
use super::bit_counts::{BATCH, BitCounts};

/// Fewest words that make a simhash: shorter texts share theirs with too many others.
const FEWEST: u64 = 16;

/// Bytes of a piece of text that isn't ASCII: a language without blanks has no words, so that its texts are taken in
/// pieces of about two characters.
const PIECE: usize = 6;

/// Words before a shingle's last one.
const BEFORE: usize = 2;

/// The words up to now.
pub(super) struct Words {
    /// The hashes of words whose shingles aren't counted yet, behind those of up to two words before them.
    hashes: [u64; BATCH + BEFORE],
    /// Hashes there.
    filled: usize,
    /// Those of words before.
    before: usize,
    count: u64,
    mark: u64,
    shingles: BitCounts,
}

impl Words {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { hashes: [0; _], filled: 0, before: 0, count: 0, mark: 0, shingles: BitCounts::new() }
    }

    /// Takes the words that begin and end at these places of a page.
    #[inline(always)]
    pub(super) fn add(&mut self, html: &[u8], words: &[[u32; 2]]) {
        let mut words = words;
        while let Some([start, end]) = words.first() {
            let mut all = 0;
            // No branch in here depends on a word's length, which the processor couldn't predict.
            for (hash, [start, end]) in self.hashes[self.filled..].iter_mut().zip(words) {
                let Some(short) = hash_of_short(html, *start as usize, *end as usize) else { break };
                *hash = short;
                all += 1;
            }
            self.filled += all;
            words = &words[all..];
            if self.filled == self.hashes.len() {
                self.count_batch();
            } else if all == 0 {
                self.add_long(&html[*start as usize..*end as usize]);
                words = &words[1..];
            }
        }
    }

    /// Takes any word.
    #[inline(never)]
    fn add_long(&mut self, word: &[u8]) {
        let piece = if word[0].is_ascii() { word.len() } else { PIECE };
        for piece in word.chunks(piece) {
            if self.filled == self.hashes.len() {
                self.count_batch();
            }
            self.hashes[self.filled] = hash(piece);
            self.filled += 1;
        }
    }

    /// Counts the words and shingles of the batch, and keeps the last two words for the next one.
    #[inline(always)]
    fn count_batch(&mut self) {
        let new = &self.hashes[self.before..self.filled];
        // Each word has an odd factor of its own: the same words in another order have another sum.
        let factors = (2 * self.count + 1..).step_by(2);
        let products = new.iter().zip(factors).map(|(hash, factor)| hash.wrapping_mul(factor));
        self.mark = products.fold(self.mark, u64::wrapping_add);
        self.count += new.len() as u64;
        let mut shingles = [0; BATCH];
        for (shingle, three) in shingles.iter_mut().zip(self.hashes.windows(BEFORE + 1)) {
            *shingle = three[0].rotate_left(42) ^ three[1].rotate_left(21) ^ three[2];
        }
        let all = self.filled.saturating_sub(BEFORE);
        shingles[all..].fill(0);
        self.shingles.add(&shingles, all);
        self.before = self.filled.min(BEFORE);
        self.hashes.copy_within(self.filled - self.before..self.filled, 0);
        self.filled = self.before;
    }

    #[inline(always)]
    pub(super) fn marks(mut self) -> TextMarks {
        self.count_batch();
        TextMarks {
            simhash: (self.count >= FEWEST).then(|| self.shingles.set_in_most()),
            mark: (self.mark ^ self.mark >> 32) as u32,
        }
    }
}

/// The hash of a word of up to 16 bytes of ASCII that begins and ends at these places; none of another, and none of a word in the page's last 16 bytes.
#[inline(always)]
fn hash_of_short(html: &[u8], start: usize, end: usize) -> Option<u64> {
    // A letter or digit with this bit is in lower case.
    const LOWER: u64 = 0x2020_2020_2020_2020;
    const NOT_ASCII: u64 = 0x8080_8080_8080_8080;
    let [low_bytes, high_bytes] = FIRST.get(end - start)?;
    let sixteen = u128::from_le_bytes(*html.get(start..)?.first_chunk()?);
    let (low, high) = (sixteen as u64 & low_bytes, (sixteen >> 64) as u64 & high_bytes);
    ((low | high) & NOT_ASCII == 0).then(|| mixed(low | LOWER & low_bytes, high | LOWER & high_bytes))
}

/// The hash of a word or piece.
pub(super) fn hash(word: &[u8]) -> u64 {
    let mut sixteens = word.chunks(16).map(|part| {
        let mut sixteen = [0; 16];
        for (to, from) in sixteen.iter_mut().zip(part) {
            *to = from.to_ascii_lowercase();
        }
        let number = u128::from_le_bytes(sixteen);
        (number as u64, (number >> 64) as u64)
    });
    let (low, high) = sixteens.next().unwrap_or_default();
    sixteens.fold(mixed(low, high), |hash, (low, high)| mixed(hash.rotate_left(32) ^ low, high))
}

/// Spreads the bits of two numbers: both halves of a product, folded.
#[inline(always)]
pub(super) fn mixed(low: u64, high: u64) -> u64 {
    let product = u128::from(low ^ 0xbf58_476d_1ce4_e5b9) * u128::from(high ^ 0x94d0_49bb_1331_11eb);
    product as u64 ^ (product >> 64) as u64
}

/// The bits of the first bytes of 16, by their number.
const FIRST: [[u64; 2]; 17] = {
    let mut first = [[0; 2]; 17];
    let mut length = 1;
    while length <= 16 {
        let number = u128::MAX >> (128 - 8 * length);
        first[length] = [number as u64, (number >> 64) as u64];
        length += 1;
    }
    first
};
