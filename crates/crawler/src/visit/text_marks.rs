//! Two fingerprints of a page's text, without tags, scripts and styles, taken in one pass over its bytes.
//!
//! The simhash is similar for similar texts (Charikar 2002; Manku and others 2007: pages whose 64-bit fingerprints differ
//! in at most 3 bits are near duplicates). The mark is the same for the same words, and tells pages of an infinite URL
//! space from pages that say something else. Letters are compared in lower case as far as they are ASCII.

/// Bytes of a page that are looked at.
const MOST: usize = 256 * 1024;

/// Fewest words that make a simhash: shorter texts share theirs with too many others.
const FEWEST: u64 = 16;

/// Bytes of a piece of text that isn't ASCII: a language without blanks has no words, so that its texts are taken in
/// pieces of about two characters.
const PIECE: usize = 6;

/// The fingerprints of a page's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextMarks {
    /// Of three-word shingles; none where the text has fewer than 16 words.
    pub(super) simhash: Option<u64>,
    /// Of all words in their order. Kept in memory alone, never stored.
    pub(super) mark: u32,
}

/// The fingerprints of an HTML page's first 256 KiB. One pass, no allocation. Cost: about 15 ns a word.
pub(super) fn text_marks(html: &[u8]) -> TextMarks {
    let html = &html[..html.len().min(MOST)];
    let mut words = Words::default();
    let mut at = 0;
    while let Some(byte) = html.get(at) {
        if *byte == b'<' {
            at = after_tag(html, at);
        } else if !is_of_word(*byte) {
            at += 1;
        } else {
            let eight = Eight::load(html, at);
            let length = eight.word_length();
            if length <= PIECE || length < 8 && byte.is_ascii() {
                words.add(mixed(eight.lower_case(length)));
                at += length;
            } else {
                let end = html[at..].iter().position(|byte| !is_of_word(*byte));
                let word = &html[at..end.map_or(html.len(), |length| at + length)];
                if byte.is_ascii() {
                    words.add(hash(word));
                } else {
                    word.chunks(PIECE).for_each(|piece| words.add(hash(piece)));
                }
                at += word.len();
            }
        }
    }
    words.marks()
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Where the tag ends that begins `at` this place, or the content of the raw-text element that it opens.
fn after_tag(html: &[u8], at: usize) -> usize {
    let mut at = at;
    let rest = &html[at..];
    for name in [&b"<script"[..], b"<style"] {
        if rest.len() > name.len() && rest[..name.len()].eq_ignore_ascii_case(name) {
            at += raw_text_end(rest, &name[1..]);
        }
    }
    memchr::memchr(b'>', &html[at..]).map_or(html.len(), |end| at + end + 1)
}

/// Where the end tag of a raw-text element begins.
fn raw_text_end(rest: &[u8], name: &[u8]) -> usize {
    memchr::memmem::find_iter(rest, b"</")
        .find(|at| rest[at + 2..].get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name)))
        .unwrap_or(rest.len())
}

/// Eight bytes, the first one lowest, so that one operation looks at all of them.
#[derive(Clone, Copy)]
struct Eight(u64);

/// The highest bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

impl Eight {
    /// The bytes from `at`, and zeros after the end.
    fn load(bytes: &[u8], at: usize) -> Self {
        match bytes[at..].first_chunk() {
            Some(eight) => Self(u64::from_le_bytes(*eight)),
            None => Self::short(&bytes[at..]),
        }
    }

    /// Up to eight bytes, and zeros.
    fn short(bytes: &[u8]) -> Self {
        Self(bytes.iter().rev().fold(0, |eight, byte| eight << 8 | u64::from(*byte)))
    }

    /// The highest bit of each byte that is at least `low` and less than `end`; of bytes that are ASCII.
    fn range(ascii: u64, low: u8, end: u8) -> u64 {
        let at_least = |least: u8| ascii + u64::from_le_bytes([0x80 - least; 8]);
        at_least(low) & !at_least(end) & HIGH
    }

    /// The highest bit of each ASCII letter.
    fn letters(self) -> u64 {
        Self::range(self.0 & !HIGH | 0x2020_2020_2020_2020, b'a', b'z' + 1) & !self.0
    }

    /// How many of the bytes, from the first one, are of a word; `is_of_word` for eight bytes at once.
    fn word_length(self) -> usize {
        let digits = Self::range(self.0 & !HIGH, b'0', b'9' + 1) & !self.0;
        let others = !(self.letters() | digits | self.0) & HIGH;
        others.trailing_zeros() as usize / 8
    }

    /// The first bytes, letters in lower case.
    fn lower_case(self, length: usize) -> u64 {
        let all = self.0 | self.letters() >> 2;
        if length < 8 { all & ((1 << (8 * length)) - 1) } else { all }
    }
}

/// The hash of a word or piece of any length.
fn hash(word: &[u8]) -> u64 {
    word.chunks(8)
        .fold(0, |hash: u64, part| mixed(hash.rotate_left(32) ^ Eight::short(part).lower_case(part.len())))
}

/// What is counted of the words, up to now.
#[derive(Default)]
struct Words {
    count: u64,
    /// The hashes of the last two words.
    last: [u64; 2],
    mark: u64,
    shingles: BitCounts,
}

impl Words {
    #[inline]
    fn add(&mut self, hash: u64) {
        self.count += 1;
        self.mark = (self.mark.rotate_left(5) ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let [first, second] = self.last;
        if self.count > 2 {
            self.shingles.add(mixed(first.rotate_left(42) ^ second.rotate_left(21) ^ hash));
        }
        self.last = [second, hash];
    }

    fn marks(mut self) -> TextMarks {
        let simhash = self.shingles.set_in_most();
        TextMarks {
            simhash: (self.count >= FEWEST).then_some(simhash),
            mark: (self.mark ^ self.mark >> 32) as u32,
        }
    }
}

/// How many numbers have each of their 64 bits set. Counters of eight bits lie across the planes: bit 5 of all planes
/// together is the counter of bit 5, so that a number is added with a few operations for all bits.
struct BitCounts {
    planes: [u64; 8],
    /// Numbers in the planes: they hold 255.
    in_planes: u32,
    all: u32,
    sums: [u32; 64],
}

impl Default for BitCounts {
    fn default() -> Self {
        Self { planes: [0; 8], in_planes: 0, all: 0, sums: [0; 64] }
    }
}

impl BitCounts {
    #[inline]
    fn add(&mut self, number: u64) {
        let mut carry = number;
        for plane in &mut self.planes {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
        self.in_planes += 1;
        if self.in_planes == 255 {
            self.empty_planes();
        }
    }

    fn empty_planes(&mut self) {
        for (bit, sum) in self.sums.iter_mut().enumerate() {
            let planes = self.planes.iter().enumerate();
            *sum += planes.fold(0, |sum, (power, plane)| sum | ((plane >> bit & 1) as u32) << power);
        }
        self.all += self.in_planes;
        self.planes = [0; 8];
        self.in_planes = 0;
    }

    /// The bits that are set in more than half of the numbers.
    fn set_in_most(&mut self) -> u64 {
        self.empty_planes();
        let sums = self.sums.iter().enumerate();
        sums.fold(0, |bits, (bit, sum)| bits | u64::from(2 * sum > self.all) << bit)
    }
}

/// Spreads the bits of a hash (the finaliser of splitmix64).
fn mixed(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of words of its own.
    fn text(seed: u64, words: usize) -> Vec<String> {
        (0..words as u64).map(|word| format!("w{:x}", mixed(seed << 32 | word) % 5000)).collect()
    }

    fn page(words: &[String]) -> u64 {
        simhash(&format!("<title>t</title><p class=x>{}</p>", words.join(" "))).unwrap()
    }

    fn simhash(html: &str) -> Option<u64> {
        text_marks(html.as_bytes()).simhash
    }

    fn mark(html: &str) -> u32 {
        text_marks(html.as_bytes()).mark
    }

    #[test]
    fn one_changed_word_of_many_changes_few_bits_and_another_text_about_half() {
        for seed in 0..20 {
            let words = text(seed, 800);
            let mut changed = words.clone();
            changed[400] = "another".to_owned();
            let (one, two, other) = (page(&words), page(&changed), page(&text(seed + 100, 800)));
            assert!((one ^ two).count_ones() <= 6, "{seed}: {}", (one ^ two).count_ones());
            let apart = (one ^ other).count_ones();
            assert!((16..=48).contains(&apart), "{seed}: {apart}");
        }
    }

    #[test]
    fn tags_scripts_styles_case_and_blanks_do_not_count() {
        let words = text(1, 40).join(" ");
        let plain = text_marks(words.as_bytes());
        assert!(plain.simhash.is_some());
        for same in [
            format!("<p a=b>{words}</p><SCRIPT>var x = 1 < 2</script><style>p {{}}</style>"),
            words.to_ascii_uppercase(),
            words.replace(' ', "\n <b> </b>"),
        ] {
            assert_eq!(text_marks(same.as_bytes()), plain, "{same}");
        }
        let japanese: String = (0x3042..0x3082).filter_map(char::from_u32).collect();
        assert!(simhash(&japanese).is_some());
    }

    #[test]
    fn what_is_said_counts_and_how_it_is_linked_does_not() {
        let one = mark("<p>April 2031</p><a href='/x?sid=1'>next</a><script>var sid = 1</script>");
        for same in [
            "<p>April 2031</p><a href='/x?sid=2'>next</a><SCRIPT src=x>var sid = 2; a < b</script >",
            "<p class=x>April\n 2031<a href=y>next</a><style>p {}</style>",
        ] {
            assert_eq!(mark(same), one, "{same}");
        }
        for other in ["<p>April 2032</p><a>next</a>", "", "<script>April 2031 next", "<p>2031 April<a>next"] {
            assert_ne!(mark(other), one, "{other}");
        }
    }

    #[test]
    fn a_short_text_has_no_simhash() {
        assert_eq!(simhash(&text(1, 15).join(" ")), None);
        assert!(simhash(&text(1, 16).join(" ")).is_some());
        assert_eq!(simhash(""), None);
    }

    #[test]
    fn eight_bytes_at_once_are_read_as_one_by_one() {
        for byte in 0..=u8::MAX {
            let bytes = [byte, b'A', byte, b'z', b'0', byte, byte, b'9'];
            let eight = Eight::load(&bytes, 0);
            let length = bytes.iter().position(|byte| !is_of_word(*byte)).unwrap_or(8);
            assert_eq!(eight.word_length(), length, "{byte}");
            assert_eq!(
                eight.lower_case(8).to_le_bytes(),
                bytes.map(|byte| byte.to_ascii_lowercase()),
                "{byte}"
            );
        }
        assert_eq!(Eight::load(b"Ab", 1).lower_case(1), u64::from(b'b'));
    }

    proptest::proptest! {
        #[test]
        fn words_and_shingles_are_those_of_a_plain_count(
            html in proptest::collection::vec(proptest::sample::select(&b" .aBc19\xe3\x81\x82<p>"[..]), 0..2000),
        ) {
            // Tags and text, taken apart in the plainest way; there is no script and no style among them.
            let html = String::from_utf8_lossy(&html).replace('\u{fffd}', "\u{3042}");
            let mut pieces = html.split('<');
            let mut text = pieces.next().unwrap_or_default().to_owned();
            for piece in pieces {
                text = text + " " + piece.split_once('>').map_or("", |(_, text)| text);
            }
            let mut words = Vec::new();
            for word in text.as_bytes().split(|byte| !is_of_word(*byte)).filter(|word| !word.is_empty()) {
                let pieces = if word[0].is_ascii() { word.len() } else { PIECE };
                words.extend(word.chunks(pieces).map(|piece| hash(&piece.to_ascii_lowercase())));
            }
            let shingles: Vec<_> = words.windows(3)
                .map(|three| mixed(three[0].rotate_left(42) ^ three[1].rotate_left(21) ^ three[2]))
                .collect();
            let most = |bit: &u32| shingles.iter().filter(|one| *one >> bit & 1 == 1).count() * 2 > shingles.len();
            let plain = (0..64).filter(most).fold(0, |bits, bit| bits | 1_u64 << bit);
            let expected = (words.len() >= 16).then_some(plain);
            proptest::prop_assert_eq!(simhash(&html), expected);
        }

        #[test]
        fn no_bytes_break_it(
            html in proptest::collection::vec(proptest::sample::select(&b"<>/script yle!a\xe3"[..]), 0..200),
        ) {
            let _marks = text_marks(&html);
        }
    }
}
