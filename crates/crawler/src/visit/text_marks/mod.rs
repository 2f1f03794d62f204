//! Two fingerprints of a page's text, without tags, scripts and styles, taken in one pass over its bytes.
//!
//! The simhash is similar for similar texts (Charikar 2002; Manku and others 2007: pages whose 64-bit fingerprints differ
//! in at most 3 bits are near duplicates). The mark is the same for the same words, and tells pages of an infinite URL
//! space from pages that say something else. Letters are compared in lower case as far as they are ASCII.
//!
//! The work is compiled for each kind of vectors that processors have, and the widest that this one has is taken.

#![expect(
    clippy::inline_always,
    reason = "part of what is compiled for each kind of vectors; on its own it would be compiled for the oldest processor"
)]

mod bit_counts;
mod edges;
mod words;

use fearless_simd::{Level, Simd, dispatch};

use edges::Edges;
use words::Words;

/// Bytes of a page that are looked at.
const MOST: usize = 256 * 1024;

/// The fingerprints of a page's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextMarks {
    /// Of three-word shingles; none where the text has fewer than 16 words.
    pub(super) simhash: Option<u64>,
    /// Of all words in their order. Kept in memory alone, never stored.
    pub(super) mark: u32,
}

/// Returns the mark of a document that isn't a page: the same for the same bytes.
pub(super) fn bytes_mark(body: &[u8]) -> u32 {
    first_bytes(&blake3::hash(body))
}

/// Returns the mark of a style sheet: the same for sheets that differ in the addresses and texts that they hold.
pub(super) fn style_sheet_mark(css: &[u8]) -> u32 {
    let mut hasher = blake3::Hasher::new();
    let mut rest = css;
    while let Some(at) = memchr::memchr3(b'"', b'\'', b'(', rest) {
        hasher.update(&rest[..at]);
        let is_address = rest[..at].len() >= 3 && rest[at - 3..at].eq_ignore_ascii_case(b"url");
        let end = match rest[at] {
            b'(' if is_address => b')',
            // Of other functions the parts count.
            b'(' => b'(',
            quote => quote,
        };
        let after = &rest[at + 1..];
        let length =
            if end == b'(' { 0 } else { memchr::memchr(end, after).map_or(after.len(), |length| length + 1) };
        hasher.update(&[end]);
        rest = &after[length..];
    }
    hasher.update(rest);
    first_bytes(&hasher.finalize())
}

fn first_bytes(hash: &blake3::Hash) -> u32 {
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// The fingerprints of an HTML page's first 256 KiB. One pass, no allocation. Cost: 3 to 4 ns a word.
pub(super) fn text_marks(html: &[u8]) -> TextMarks {
    with_vectors(Level::new(), html)
}

/// The fingerprints, with vectors of this kind.
fn with_vectors(level: Level, html: &[u8]) -> TextMarks {
    let html = &html[..html.len().min(MOST)];
    dispatch!(level, simd => marks_of(simd, html))
}

#[inline(always)]
fn marks_of<S: Simd>(simd: S, html: &[u8]) -> TextMarks {
    let mut edges = Edges::new();
    let mut words = Words::new();
    let mut is_over = false;
    while !is_over {
        is_over = edges.read(simd, html);
        words.add(html, edges.of_words());
        edges.forget_whole_words();
    }
    words.marks()
}

#[cfg(test)]
mod tests {
    use super::edges::is_of_word;
    use super::words::{hash, mixed};
    use super::*;

    /// Each kind of vectors that this processor has.
    pub(super) fn levels() -> Vec<Level> {
        let widest = Level::new();
        #[cfg(target_arch = "x86_64")]
        let others = [
            widest.as_sse2().map(fearless_simd::Simd::level),
            widest.as_sse4_2().map(fearless_simd::Simd::level),
            widest.as_avx2().map(fearless_simd::Simd::level),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let others = [];
        others.into_iter().flatten().chain([widest]).collect()
    }

    /// A text of words of its own.
    fn text(seed: u64, words: usize) -> Vec<String> {
        (0..words as u64).map(|word| format!("w{:x}", mixed(seed << 32 | word, 0) % 5000)).collect()
    }

    fn page(words: &[String]) -> u64 {
        simhash(&format!("<title>t</title><p class=x>{}</p>", words.join(" "))).unwrap()
    }

    /// The fingerprints, which are the same with each kind of vectors.
    fn marks(html: &str) -> TextMarks {
        let widest = text_marks(html.as_bytes());
        for level in levels() {
            assert_eq!(with_vectors(level, html.as_bytes()), widest, "{level:?}");
        }
        widest
    }

    fn simhash(html: &str) -> Option<u64> {
        marks(html).simhash
    }

    #[test]
    fn a_style_sheet_has_the_mark_of_those_that_name_other_addresses() {
        let sheet = |address: &str, rest: &str| {
            style_sheet_mark(
                format!("@import \"{address}\"; a{{background:URL({address}) red}} {rest}").as_bytes(),
            )
        };
        assert_eq!(sheet("a.css", "b{color:rgb(1,2,3)}"), sheet("x/y.css", "b{color:rgb(1,2,3)}"));
        assert_ne!(sheet("a.css", "b{color:rgb(1,2,3)}"), sheet("a.css", "b{color:rgb(1,2,4)}"));
        for open in ["url(", "\"", "'", "(", "url(\""] {
            style_sheet_mark(open.as_bytes());
        }
        assert_ne!(bytes_mark(b"a"), bytes_mark(b"b"));
    }

    fn mark(html: &str) -> u32 {
        marks(html).mark
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
        let plain = marks(&words);
        assert!(plain.simhash.is_some());
        for same in [
            format!("<p a=b>{words}</p><SCRIPT>var x = 1 < 2</script><style>p {{}}</style>"),
            words.to_ascii_uppercase(),
            words.replace(' ', "\n <b> </b>"),
        ] {
            assert_eq!(marks(&same), plain, "{same}");
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
    fn a_word_is_the_same_wherever_a_window_ends() {
        for length in [1, 7, 8, 9, 40, 63, 64, 65, 200] {
            let word = "Ab1".repeat(length)[..length].to_owned();
            let text = |blanks: usize| format!("{}{word} other words", " ".repeat(blanks));
            for blanks in 0..130 {
                assert_eq!(mark(&text(blanks)), mark(&text(0)), "{length} {blanks}");
            }
        }
    }

    /// The fingerprints, counted in the plainest way. There is no script and no style in the page.
    fn plain_marks(html: &str) -> TextMarks {
        let mut pieces = html.split('<');
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            text = text + " " + piece.split_once('>').map_or("", |(_, text)| text);
        }
        // Without what follows an ampersand, unless it is longer than the name of any character reference.
        let text = text.split('&').enumerate().map(|(place, part)| {
            let name = part.bytes().take_while(|byte| is_of_word(*byte)).count();
            if place > 0 && name < 64 { part[name..].to_owned() } else { part.to_owned() }
        });
        let text = text.collect::<Vec<_>>().join("&");
        let mut words = Vec::new();
        for word in text.as_bytes().split(|byte| !is_of_word(*byte)).filter(|word| !word.is_empty()) {
            let pieces = if word[0].is_ascii() { word.len() } else { 6 };
            words.extend(word.chunks(pieces).map(hash));
        }
        let shingles: Vec<_> = words
            .windows(3)
            .map(|three| three[0].rotate_left(42) ^ three[1].rotate_left(21) ^ three[2])
            .collect();
        let most =
            |bit: &u32| shingles.iter().filter(|one| *one >> bit & 1 == 1).count() * 2 > shingles.len();
        let simhash = (0..64).filter(most).fold(0, |bits, bit| bits | 1_u64 << bit);
        let sum = (0..)
            .zip(&words)
            .fold(0_u64, |sum, (place, word)| sum.wrapping_add(word.wrapping_mul(2 * place + 1)));
        TextMarks { simhash: (words.len() >= 16).then_some(simhash), mark: (sum ^ sum >> 32) as u32 }
    }

    #[test]
    fn every_word_of_a_large_page_is_counted() {
        for words in [1_000, 30_000, 100_000] {
            let page = text(7, words).join(if words == 1_000 { " <br>\u{e4}" } else { " " });
            let page = &page[..page.len().min(MOST)];
            assert_eq!(marks(page), plain_marks(page), "{words}");
        }
    }

    proptest::proptest! {
        #[test]
        fn words_and_shingles_are_those_of_a_plain_count(
            html in proptest::collection::vec(proptest::sample::select(&b" .aBc19\xe3\x81\x82<p>&;"[..]), 0..2000),
        ) {
            let html = String::from_utf8_lossy(&html).replace('\u{fffd}', "\u{3042}");
            proptest::prop_assert_eq!(marks(&html), plain_marks(&html));
        }

        #[test]
        fn no_bytes_break_it(
            html in proptest::collection::vec(proptest::sample::select(&b"<>/script yle!a\xe3"[..]), 0..200),
        ) {
            for level in levels() {
                let _marks = with_vectors(level, &html);
            }
        }
    }
}
