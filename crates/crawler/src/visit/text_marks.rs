//! Two fingerprints of a page's text, without tags, scripts and styles, taken in one pass over its bytes.
//!
//! The simhash is similar for similar texts (Charikar 2002; Manku and others 2007: pages whose 64-bit fingerprints differ
//! in at most 3 bits are near duplicates). The mark is the same for the same words, and tells pages of an infinite URL
//! space from pages that say something else. Letters are compared in lower case as far as they are ASCII.

use wide::i8x16;

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

/// The fingerprints of an HTML page's first 256 KiB. One pass, no allocation. Cost: about 4 ns a word.
pub(super) fn text_marks(html: &[u8]) -> TextMarks {
    let html = &html[..html.len().min(MOST)];
    let mut words = Words::new();
    let mut at = 0;
    while at < html.len() {
        at += marks_of_window(html, at, &mut words);
    }
    words.marks()
}

/// Takes the words of the window that begins `at` this place, and gives the number of bytes to the next one.
fn marks_of_window(html: &[u8], at: usize, words: &mut Words) -> usize {
    let mut room = [0; WINDOW + MARGIN];
    let before = at.checked_sub(1).map(|before| html[before]);
    let window = Window::load(before, &html[at..], &mut room);
    // What wasn't looked at yet of the window: a bit for each byte.
    let mut rest = u64::MAX;
    loop {
        let tag = (window.tags & rest).trailing_zeros() as usize;
        let before_tag = !u64::MAX.unbounded_shl(tag as u32);
        let mut unread = window.words & rest & before_tag;
        if window.is_ascii {
            unread = words.add_short(&window, unread);
        }
        while unread != 0 {
            let (start, length) = first_word(unread);
            if start + length == WINDOW {
                if start > 0 {
                    // The next window has it whole, or no window has.
                    return start;
                }
                let html = &html[at..];
                let length = html.iter().position(|byte| !is_of_word(*byte)).unwrap_or(html.len());
                words.add(&html[..length]);
                return length;
            }
            words.add(&window.text[start..][..length]);
            unread = behind_word(unread, start);
        }
        if tag == WINDOW {
            return window.bytes;
        }
        let end = after_tag(html, at + tag) - at;
        if end >= window.bytes {
            return end;
        }
        rest = u64::MAX << end;
    }
}

/// Where the first word of a window begins, and how long it is, as far as the window has it.
#[inline]
fn first_word(unread: u64) -> (usize, usize) {
    let start = unread.trailing_zeros();
    (start as usize, (!(unread >> start)).trailing_zeros() as usize)
}

/// The words of a window behind that which begins at `start`: a carry runs through its bits.
#[inline]
fn behind_word(unread: u64, start: usize) -> u64 {
    unread & unread.wrapping_add(1 << start)
}

/// Whether a byte is of a word.
fn is_of_word(byte: u8) -> bool {
    let is_letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    let is_digit = byte.wrapping_sub(b'0') < 10;
    is_letter || is_digit || byte >= 0x80
}

/// Bytes of a window.
const WINDOW: usize = 64;

/// Bytes behind a window that belong to a word of up to 16 bytes which begins in it.
const MARGIN: usize = 16;

/// The next 64 bytes of a page, which are classified 16 at a time.
struct Window<'a> {
    /// Bytes of the page in it.
    bytes: usize,
    /// They and those behind them; zeros behind the page.
    text: &'a [u8; WINDOW + MARGIN],
    /// Those that are of words: a bit for each, the lowest first.
    words: u64,
    /// Those that begin tags.
    tags: u64,
    /// All of the bytes in it are ASCII.
    is_ascii: bool,
}

impl<'a> Window<'a> {
    /// The window at the start of `html`, with the byte `before` it. `room` holds it where the page ends in it or soon behind it.
    fn load(before: Option<u8>, html: &'a [u8], room: &'a mut [u8; WINDOW + MARGIN]) -> Self {
        let text = html.first_chunk().unwrap_or_else(|| {
            *room = [0; WINDOW + MARGIN];
            room[..html.len()].copy_from_slice(html);
            room
        });
        let (mut words, mut tags, mut ampersands, mut others) = (0, 0, 0, 0);
        let (sixteens, _) = text[..WINDOW].as_chunks::<16>();
        for (place, sixteen) in sixteens.iter().enumerate() {
            // As signed numbers: bytes above ASCII are below zero, and have the highest bit as those have of which something is true.
            let bytes = i8x16::new(sixteen.map(u8::cast_signed));
            let among = |bytes: i8x16, first: u8, last: u8| {
                bytes.simd_gt(i8x16::splat(first.cast_signed() - 1))
                    & bytes.simd_lt(i8x16::splat(last.cast_signed() + 1))
            };
            let letters = among(bytes | i8x16::splat(0x20), b'a', b'z');
            let digits = among(bytes, b'0', b'9');
            words |= u64::from((letters | digits | bytes).to_bitmask()) << (16 * place);
            let are = |what: u8| {
                u64::from(bytes.simd_eq(i8x16::splat(what.cast_signed())).to_bitmask()) << (16 * place)
            };
            tags |= are(b'<');
            ampersands |= are(b'&');
            others |= bytes.to_bitmask();
        }
        let after_ampersand = words & (ampersands << 1 | u64::from(before == Some(b'&')));
        let words = without_names(words, after_ampersand);
        Self { bytes: html.len().min(WINDOW), text, words, tags, is_ascii: others == 0 }
    }

    /// Eight bytes from a place on.
    #[inline]
    fn eight(&self, offset: usize) -> u64 {
        self.text[offset..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight))
    }
}

/// The words of a window but those that begin at these places, right behind an ampersand: they are the names of character references, and in source
/// code, where `&gt;` comes often, they would decide what the page is similar to. One that the window's end may cut stays for the next window.
fn without_names(words: u64, after_ampersand: u64) -> u64 {
    let last = u64::MAX.unbounded_shl(WINDOW as u32 - words.leading_ones());
    // A carry runs through the bits of each of them.
    words & words.wrapping_add(after_ampersand & !last)
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

/// The hash of a word or piece.
fn hash(word: &[u8]) -> u64 {
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
#[inline]
fn mixed(low: u64, high: u64) -> u64 {
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

/// Shingles that are counted at a time: all counters hold that many, and sixteen are added at once.
const BATCH: usize = 240;

/// The words up to now.
struct Words {
    /// The hashes of words whose shingles aren't counted yet, behind those of up to two words before them.
    hashes: [u64; BATCH + 2],
    /// Hashes there.
    filled: usize,
    /// Those of words before.
    before: usize,
    count: u64,
    mark: u64,
    shingles: BitCounts,
}

impl Words {
    fn new() -> Self {
        Self {
            hashes: [0; BATCH + 2],
            filled: 0,
            before: 0,
            count: 0,
            mark: 0,
            shingles: BitCounts { all: 0, sums: [0; 64] },
        }
    }

    /// Takes the words of a window of ASCII, up to one of more than 16 bytes or at the window's end, and gives those that remain. Nothing
    /// here but the number of words depends on how long they are: nobody can predict that.
    #[inline]
    fn add_short(&mut self, window: &Window<'_>, unread: u64) -> u64 {
        // A letter or digit with this bit is in lower case.
        const LOWER: u64 = 0x2020_2020_2020_2020;
        if self.filled > self.hashes.len() - WINDOW / 2 {
            self.count_batch();
        }
        // Words begin and end where the bits change.
        let mut starts = unread & !(unread << 1);
        let mut ends = !unread & unread << 1;
        let mut filled = self.filled;
        while ends != 0 {
            let (start, end) = (starts.trailing_zeros() as usize, ends.trailing_zeros() as usize);
            let Some([low, high]) = FIRST.get(end - start) else { break };
            let hash = mixed((window.eight(start) | LOWER) & low, (window.eight(start + 8) | LOWER) & high);
            self.hashes[filled] = hash;
            filled += 1;
            (starts, ends) = (starts & (starts - 1), ends & (ends - 1));
        }
        // One that the window's end may cut has no end.
        let unread = if starts == 0 { 0 } else { unread & u64::MAX << starts.trailing_zeros() };
        self.filled = filled;
        unread
    }

    /// Takes a word.
    fn add(&mut self, word: &[u8]) {
        let piece = if word[0].is_ascii() { word.len() } else { PIECE };
        for piece in word.chunks(piece) {
            self.add_hash(hash(piece));
        }
    }

    fn add_hash(&mut self, hash: u64) {
        if self.filled == self.hashes.len() {
            self.count_batch();
        }
        self.hashes[self.filled] = hash;
        self.filled += 1;
    }

    /// Counts the words and shingles of the batch, and keeps the last two words for the next one.
    fn count_batch(&mut self) {
        let filled = &self.hashes[..self.filled];
        let new = &filled[self.before..];
        // Each word has an odd factor of its own: the same words in another order have another sum.
        let factors = (2 * self.count + 1..).step_by(2);
        let products = new.iter().zip(factors).map(|(hash, factor)| hash.wrapping_mul(factor));
        self.mark = products.fold(self.mark, u64::wrapping_add);
        self.count += new.len() as u64;
        let mut shingles = [0; BATCH];
        let mut all = 0;
        for (shingle, three) in shingles.iter_mut().zip(filled.windows(3)) {
            *shingle = three[0].rotate_left(42) ^ three[1].rotate_left(21) ^ three[2];
            all += 1;
        }
        self.shingles.add(&shingles, all);
        self.before = filled.len().min(2);
        let last = filled.len() - self.before;
        self.hashes.copy_within(last..self.filled, 0);
        self.filled = self.before;
    }

    fn marks(mut self) -> TextMarks {
        self.count_batch();
        TextMarks {
            simhash: (self.count >= FEWEST).then(|| self.shingles.set_in_most()),
            mark: (self.mark ^ self.mark >> 32) as u32,
        }
    }
}

/// How many numbers have each of their 64 bits set.
struct BitCounts {
    /// Numbers.
    all: u32,
    sums: [u32; 64],
}

impl BitCounts {
    /// Adds `all` numbers, and zeros behind them. Counters of eight bits lie across the planes: bit 5 of all planes together is the counter of
    /// bit 5. Sixteen numbers are added at a time, as full adders of a circuit would: about six operations a number for all bits.
    fn add(&mut self, numbers: &[u64; BATCH], all: u32) {
        let mut planes = [0; 8];
        let (sixteens, _) = numbers.as_chunks();
        for sixteen in &sixteens[..all.div_ceil(16) as usize] {
            add_sixteen(&mut planes, sixteen);
        }
        let (eights, _) = self.sums.as_chunks_mut::<8>();
        for (place, sums) in eights.iter_mut().enumerate() {
            let counts = planes
                .iter()
                .enumerate()
                .fold(0, |counts, (power, plane)| counts | spread((plane >> (8 * place)) as u8) << power);
            for (sum, count) in sums.iter_mut().zip(counts.to_le_bytes()) {
                *sum += u32::from(count);
            }
        }
        self.all += all;
    }

    /// The bits that are set in more than half of the numbers.
    fn set_in_most(&self) -> u64 {
        let sums = self.sums.iter().enumerate();
        sums.fold(0, |bits, (bit, sum)| bits | u64::from(2 * sum > self.all) << bit)
    }
}

/// Adds sixteen numbers to planes.
fn add_sixteen(planes: &mut [u64; 8], numbers: &[u64; 16]) {
    let [mut ones, mut twos, mut fours, mut eights, ..] = *planes;
    let mut four = |[n0, n1, n2, n3]: [u64; 4]| {
        let (low, high) = (add(&mut ones, n0, n1), add(&mut ones, n2, n3));
        add(&mut twos, low, high)
    };
    let [n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, last @ ..] = *numbers;
    let low = add(&mut fours, four([n0, n1, n2, n3]), four([n4, n5, n6, n7]));
    let high = add(&mut fours, four([n8, n9, n10, n11]), four(last));
    let mut carry = add(&mut eights, low, high);
    planes[..4].copy_from_slice(&[ones, twos, fours, eights]);
    for plane in &mut planes[4..] {
        (*plane, carry) = (*plane ^ carry, *plane & carry);
    }
}

/// Eight bits as the lowest ones of eight bytes.
fn spread(bits: u8) -> u64 {
    let each = (u64::from(bits) * 0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    (each + 0x7f7f_7f7f_7f7f_7f7f) >> 7 & 0x0101_0101_0101_0101
}

/// Adds two numbers to a plane, and gives what is carried to the next one.
#[inline]
fn add(plane: &mut u64, a: u64, b: u64) -> u64 {
    let either = *plane ^ a;
    let carry = *plane & a | either & b;
    *plane = either ^ b;
    carry
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of words of its own.
    fn text(seed: u64, words: usize) -> Vec<String> {
        (0..words as u64).map(|word| format!("w{:x}", mixed(seed << 32 | word, 0) % 5000)).collect()
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
    fn names_of_character_references_are_no_words() {
        for blanks in 0..130 {
            let before = " ".repeat(blanks);
            assert_eq!(
                mark(&format!("{before}one &gt;&gt; two&nbsp;three")),
                mark("one two three"),
                "{blanks}"
            );
        }
        assert_ne!(mark(&format!("one &{}", "x".repeat(64))), mark("one"));
        assert_ne!(mark("one &#38; two"), mark("one two"), "a number is a word");
    }

    #[test]
    fn a_short_text_has_no_simhash() {
        assert_eq!(simhash(&text(1, 15).join(" ")), None);
        assert!(simhash(&text(1, 16).join(" ")).is_some());
        assert_eq!(simhash(""), None);
    }

    #[test]
    fn a_window_has_the_words_and_tags_of_its_bytes() {
        for first in 0..=u8::MAX {
            let html: Vec<u8> = (0..90).map(|place: u8| first.wrapping_add(place.wrapping_mul(37))).collect();
            for length in [0, 1, 63, 64, 90] {
                let mut room = [0; WINDOW + MARGIN];
                let window = Window::load(None, &html[..length], &mut room);
                assert_eq!(window.bytes, length.min(64));
                assert_eq!(window.is_ascii, html[..window.bytes].is_ascii());
                for (place, byte) in html[..window.bytes].iter().enumerate() {
                    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
                    let run = html[..place].iter().rev().take_while(|byte| is_of_word(**byte)).count();
                    let rest = html[place..window.bytes].iter().take_while(|byte| is_of_word(**byte)).count();
                    let is_named = html[..place - run].last() == Some(&b'&') && place + rest < WINDOW;
                    let is_word = is_of_word(*byte) && !is_named;
                    assert_eq!(window.words >> place & 1 == 1, is_word, "{byte}");
                    assert_eq!(window.tags >> place & 1 == 1, *byte == b'<', "{byte}");
                    assert_eq!(window.eight(place) as u8, *byte);
                    assert_eq!(
                        window.eight(place + 8) as u8,
                        html[..length].get(place + 8).copied().unwrap_or(0)
                    );
                }
                assert_eq!((window.words | window.tags).unbounded_shr(window.bytes as u32), 0);
            }
        }
    }

    #[test]
    fn a_word_is_the_same_wherever_a_window_ends() {
        for length in [1, 7, 8, 9, 40, 63, 64, 65, 200] {
            let word = "Ab1".repeat(length)[..length].to_owned();
            let text = |blanks: usize| format!("{}{word} other words", " ".repeat(blanks));
            for blanks in 0..130 {
                assert_eq!(mark(&text(blanks)), mark(&text(0)), "{length} {blanks}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn words_and_shingles_are_those_of_a_plain_count(
            html in proptest::collection::vec(proptest::sample::select(&b" .aBc19\xe3\x81\x82<p>&;"[..]), 0..2000),
        ) {
            // Tags and text, taken apart in the plainest way; there is no script and no style among them.
            let html = String::from_utf8_lossy(&html).replace('\u{fffd}', "\u{3042}");
            let mut pieces = html.split('<');
            let mut text = pieces.next().unwrap_or_default().to_owned();
            for piece in pieces {
                text = text + " " + piece.split_once('>').map_or("", |(_, text)| text);
            }
            let mut words = Vec::new();
            // Without what follows an ampersand, unless it is longer than the name of any character reference.
            let text = text.split('&').enumerate().map(|(place, part)| {
                let name = part.bytes().take_while(|byte| is_of_word(*byte)).count();
                if place > 0 && name < WINDOW { part[name..].to_owned() } else { part.to_owned() }
            });
            let text = text.collect::<Vec<_>>().join("&");
            for word in text.as_bytes().split(|byte| !is_of_word(*byte)).filter(|word| !word.is_empty()) {
                let pieces = if word[0].is_ascii() { word.len() } else { PIECE };
                words.extend(word.chunks(pieces).map(hash));
            }
            let shingles: Vec<_> = words.windows(3)
                .map(|three| three[0].rotate_left(42) ^ three[1].rotate_left(21) ^ three[2])
                .collect();
            let most = |bit: &u32| shingles.iter().filter(|one| *one >> bit & 1 == 1).count() * 2 > shingles.len();
            let plain = (0..64).filter(most).fold(0, |bits, bit| bits | 1_u64 << bit);
            let sum = (0..).zip(&words).fold(0_u64, |sum, (place, word)| sum.wrapping_add(word.wrapping_mul(2 * place + 1)));
            let expected = TextMarks { simhash: (words.len() >= 16).then_some(plain), mark: (sum ^ sum >> 32) as u32 };
            proptest::prop_assert_eq!(text_marks(html.as_bytes()), expected);
        }

        #[test]
        fn no_bytes_break_it(
            html in proptest::collection::vec(proptest::sample::select(&b"<>/script yle!a\xe3"[..]), 0..200),
        ) {
            let _marks = text_marks(&html);
        }
    }
}
