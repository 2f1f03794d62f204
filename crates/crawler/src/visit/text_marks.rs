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

/// The fingerprints of an HTML page's first 256 KiB. One pass, no allocation. Cost: about 9 ns a word.
pub(super) fn text_marks(html: &[u8]) -> TextMarks {
    let html = &html[..html.len().min(MOST)];
    let mut words = Words::default();
    let mut at = 0;
    while at < html.len() {
        let window = Window::load(&html[at..]);
        let mut offset = 0;
        at += loop {
            offset += window.blanks(offset);
            if offset >= window.bytes {
                break window.bytes;
            }
            if window.tags >> offset & 1 == 1 {
                let tag = at + offset;
                let end = after_tag(html, tag) - at;
                if end >= window.bytes {
                    break end;
                }
                offset = end;
                continue;
            }
            let length = window.word_length(offset);
            if offset + length == WINDOW {
                if offset > 0 {
                    // The next window has it whole, or no window has.
                    break offset;
                }
                let rest = &html[at..];
                let length = rest.iter().position(|byte| !is_of_word(*byte)).unwrap_or(rest.len());
                words.add(rest[0].is_ascii(), length, |from| eight_of(rest, from));
                break length;
            }
            words.add(window.lower[offset].is_ascii(), length, |from| window.eight(offset + from));
            offset += length;
        };
    }
    words.marks()
}

/// Whether a byte is of a word.
fn is_of_word(byte: u8) -> bool {
    let is_letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    let is_digit = byte.wrapping_sub(b'0') < 10;
    is_letter || is_digit || byte >= 0x80
}

/// Bytes of a window.
const WINDOW: usize = 64;

/// The next 64 bytes of a page, all of which are read in the same way: the compiler does so with 16 at once.
struct Window {
    /// Bytes of the page in it.
    bytes: usize,
    /// In lower case, and zeros.
    lower: [u8; WINDOW + 8],
    /// Those that are of words: a bit for each, the lowest first.
    words: u64,
    /// Those that begin tags.
    tags: u64,
}

impl Window {
    fn load(html: &[u8]) -> Self {
        let mut bytes = [0; WINDOW];
        let count = html.len().min(WINDOW);
        match html.first_chunk() {
            Some(chunk) => bytes = *chunk,
            None => bytes[..count].copy_from_slice(html),
        }
        let mut lower = [0; WINDOW + 8];
        for (lower, byte) in lower.iter_mut().zip(&bytes) {
            *lower = byte.to_ascii_lowercase();
        }
        let words = bits(&bytes, is_of_word);
        Self { bytes: count, lower, words, tags: bits(&bytes, |byte| byte == b'<') }
    }

    /// Bytes from a place on before the next word or tag; 64 where none comes.
    fn blanks(&self, offset: usize) -> usize {
        (self.words | self.tags).unbounded_shr(offset as u32).trailing_zeros() as usize
    }

    /// Bytes of the word that begins at a place, as far as the window has them.
    fn word_length(&self, offset: usize) -> usize {
        (!(self.words >> offset)).trailing_zeros() as usize
    }

    /// Eight bytes from a place of the window on.
    #[inline]
    fn eight(&self, offset: usize) -> u64 {
        self.lower[offset..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight))
    }
}

/// A bit for each byte, the first one lowest.
fn bits(bytes: &[u8; WINDOW], is: impl Fn(u8) -> bool) -> u64 {
    let mut flags = [0; WINDOW];
    for (flag, byte) in flags.iter_mut().zip(bytes) {
        *flag = u8::from(is(*byte));
    }
    let (eights, _) = flags.as_chunks::<8>();
    eights.iter().rev().fold(0, |bits, eight| {
        // The product has the flags of the eight bytes in its highest byte.
        bits << 8 | u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
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

/// The hash of the word or piece of this length that the text begins with. `eight` gives eight bytes of the text from a place on, in lower case.
#[inline]
fn hash(length: usize, eight: impl Fn(usize) -> u64) -> u64 {
    let part = |from: usize, length: usize| eight(from) & u64::MAX >> (64 - 8 * length);
    if length <= 8 {
        return mixed(part(0, length));
    }
    let mut hash = mixed(eight(0));
    let mut from = 8;
    while from < length {
        hash = mixed(hash.rotate_left(32) ^ part(from, (length - from).min(8)));
        from += 8;
    }
    hash
}

/// Eight bytes from a place on, in lower case, and zeros behind the end.
fn eight_of(html: &[u8], from: usize) -> u64 {
    let rest = &html[from..];
    let bytes = rest.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0; 8];
        padded[..rest.len()].copy_from_slice(rest);
        padded
    });
    u64::from_le_bytes(bytes.map(|byte: u8| byte.to_ascii_lowercase()))
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
    /// Takes the word of this length that the text begins with.
    #[inline]
    fn add(&mut self, is_ascii: bool, length: usize, eight: impl Fn(usize) -> u64) {
        if is_ascii || length <= PIECE {
            self.add_hash(hash(length, eight));
        } else {
            for from in (0..length).step_by(PIECE) {
                self.add_hash(hash(PIECE.min(length - from), |more| eight(from + more)));
            }
        }
    }

    #[inline]
    fn add_hash(&mut self, hash: u64) {
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

/// How many numbers have each of their 64 bits set. Counters of eight bits lie across the planes: bit 5 of all planes together is the
/// counter of bit 5. Sixteen numbers are added at a time, as full adders of a circuit would: about six operations a number for all bits.
#[derive(Default)]
struct BitCounts {
    waiting: [u64; 16],
    planes: [u64; 8],
    /// Numbers in the planes: they hold 255.
    in_planes: u32,
    /// Numbers so far.
    all: u32,
    sums: Sums,
}

impl BitCounts {
    #[inline]
    fn add(&mut self, number: u64) {
        let place = (self.all % 16) as usize;
        self.waiting[place] = number;
        self.all += 1;
        if place == 15 {
            self.add_waiting();
        }
    }

    /// Adds the numbers that wait to the planes.
    fn add_waiting(&mut self) {
        let [mut ones, mut twos, mut fours, mut eights, ..] = self.planes;
        let mut four = |[n0, n1, n2, n3]: [u64; 4]| {
            let (low, high) = (add(&mut ones, n0, n1), add(&mut ones, n2, n3));
            add(&mut twos, low, high)
        };
        let [n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, last @ ..] = self.waiting;
        let low = add(&mut fours, four([n0, n1, n2, n3]), four([n4, n5, n6, n7]));
        let high = add(&mut fours, four([n8, n9, n10, n11]), four(last));
        let mut carry = add(&mut eights, low, high);
        self.planes[..4].copy_from_slice(&[ones, twos, fours, eights]);
        for plane in &mut self.planes[4..] {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
        self.in_planes += 16;
        if self.in_planes > 255 - 16 {
            self.empty_planes();
        }
    }

    fn empty_planes(&mut self) {
        for (bit, sum) in self.sums.0.iter_mut().enumerate() {
            let planes = self.planes.iter().enumerate();
            *sum += planes.fold(0, |sum, (power, plane)| sum | ((plane >> bit & 1) as u32) << power);
        }
        self.planes = [0; 8];
        self.in_planes = 0;
    }

    /// The bits that are set in more than half of the numbers.
    fn set_in_most(&mut self) -> u64 {
        self.waiting[(self.all % 16) as usize..].fill(0);
        self.add_waiting();
        self.empty_planes();
        let sums = self.sums.0.iter().enumerate();
        sums.fold(0, |bits, (bit, sum)| bits | u64::from(2 * sum > self.all) << bit)
    }
}

/// Adds two numbers to a plane, and gives what is carried to the next one.
#[inline]
fn add(plane: &mut u64, a: u64, b: u64) -> u64 {
    let either = *plane ^ a;
    let carry = *plane & a | either & b;
    *plane = either ^ b;
    carry
}

/// A sum for each of 64 bits.
struct Sums([u32; 64]);

impl Default for Sums {
    fn default() -> Self {
        Self([0; 64])
    }
}

/// Spreads the bits of a hash: both halves of a product, folded.
fn mixed(hash: u64) -> u64 {
    let product = u128::from(hash ^ 0xbf58_476d_1ce4_e5b9) * 0x94d0_49bb_1331_11eb;
    product as u64 ^ (product >> 64) as u64
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
    fn a_window_has_the_words_and_tags_of_its_bytes() {
        for first in 0..=u8::MAX {
            let html: Vec<u8> = (0..90).map(|place: u8| first.wrapping_add(place.wrapping_mul(37))).collect();
            for length in [0, 1, 63, 64, 90] {
                let window = Window::load(&html[..length]);
                assert_eq!(window.bytes, length.min(64));
                for (place, byte) in html[..window.bytes].iter().enumerate() {
                    let is_word = byte.is_ascii_alphanumeric() || !byte.is_ascii();
                    assert_eq!(window.words >> place & 1 == 1, is_word, "{byte}");
                    assert_eq!(window.tags >> place & 1 == 1, *byte == b'<', "{byte}");
                    assert_eq!(window.eight(place) as u8, byte.to_ascii_lowercase());
                    assert_eq!(eight_of(&html[..length], place) as u8, byte.to_ascii_lowercase());
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
                words.extend(word.chunks(pieces).map(|piece| hash(piece.len(), |from| eight_of(piece, from))));
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
