//! Where the words of a page begin and end.

use fearless_simd::{Simd, i8x64, mask8x64, prelude::*, u8x64};

/// Bytes of a window: each has a bit of a number.
const WINDOW: usize = 64;

/// Edges after which those found are used.
const ENOUGH: usize = 512;

/// Places in a page where words begin and end, in turn.
pub(super) struct Edges {
    places: [u32; ENOUGH + WINDOW],
    filled: usize,
    /// Where the next window begins.
    at: usize,
    /// Where text begins again: what lies before it is of a tag, or the name of a character reference.
    text_from: usize,
    /// The last byte of the window before is of a word.
    is_in_word: bool,
}

impl Edges {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { places: [0; _], filled: 0, at: 0, text_from: 0, is_in_word: false }
    }

    /// Finds the edges of about 256 words more. True at the end of the page.
    #[inline(always)]
    pub(super) fn read<S: Simd>(&mut self, simd: S, html: &[u8]) -> bool {
        while self.filled < ENOUGH {
            if self.at >= html.len() {
                if self.is_in_word {
                    self.push(simd, html.len(), 1);
                }
                return true;
            }
            let words = self.words_of_window(simd, html);
            // A word begins and ends where the bits change.
            self.push(simd, self.at, words ^ (words << 1 | u64::from(self.is_in_word)));
            self.is_in_word = words >> (WINDOW - 1) == 1;
            self.at = (self.at + WINDOW).max(self.text_from / WINDOW * WINDOW);
        }
        false
    }

    /// The bytes of the next window that are of words.
    #[inline(always)]
    fn words_of_window<S: Simd>(&mut self, simd: S, html: &[u8]) -> u64 {
        let window = Window::load(simd, &html[self.at..]);
        let behind = |place: usize| u64::MAX.unbounded_shl(place as u32);
        let mut text = behind(self.text_from.saturating_sub(self.at));
        let mut tags = window.tags & text;
        while tags != 0 {
            let tag = tags.trailing_zeros() as usize;
            let ends = window.ends & behind(tag);
            self.text_from = if ends == 0 || may_open_raw_text(html, self.at + tag) {
                after_tag(html, self.at + tag)
            } else {
                self.at + ends.trailing_zeros() as usize + 1
            };
            let rest = behind(self.text_from - self.at);
            text &= !behind(tag) | rest;
            tags &= rest;
        }
        let mut ampersands = window.ampersands & text;
        while ampersands != 0 {
            let name = ampersands.trailing_zeros() as usize + 1;
            if let Some(end) = after_name(html, self.at + name) {
                self.text_from = self.text_from.max(end);
                text &= !behind(name) | behind(end - self.at);
            }
            ampersands &= ampersands - 1;
        }
        window.words & text
    }

    /// Appends the places of these bits, of which the lowest is that of the byte `at` this place.
    #[inline(always)]
    fn push<S: Simd>(&mut self, simd: S, at: usize, bits: u64) {
        let at = at as u32;
        let all = bits.count_ones() as usize;
        // Always half a window, or eight at a time: the processor couldn't predict how many there are.
        let places = &mut self.places[self.filled..][..WINDOW];
        if S::u8s::LEN == WINDOW {
            let offsets = u8x64::simd_from(simd, OFFSETS).compress(mask8x64::from_bitmask(simd, bits));
            let (first, last) = places.split_at_mut(WINDOW / 2);
            let mut offsets = offsets.as_array().iter();
            for (place, offset) in first.iter_mut().zip(&mut offsets) {
                *place = at + u32::from(*offset);
            }
            if all > WINDOW / 2 {
                for (place, offset) in last.iter_mut().zip(offsets) {
                    *place = at + u32::from(*offset);
                }
            }
        } else {
            let mut bits = bits;
            let (eights, _) = places.as_chunks_mut::<8>();
            for eight in &mut eights[..all.div_ceil(8)] {
                for place in eight {
                    *place = at + bits.trailing_zeros();
                    bits &= bits.wrapping_sub(1);
                }
            }
        }
        self.filled += all;
    }

    /// Where the words found begin and end.
    #[inline(always)]
    pub(super) fn of_words(&self) -> &[[u32; 2]] {
        self.places[..self.filled].as_chunks().0
    }

    /// Forgets these words. The beginning of one whose end isn't found yet remains.
    #[inline(always)]
    pub(super) fn forget_whole_words(&mut self) {
        let remaining = self.filled % 2;
        self.places[0] = self.places[self.filled - remaining];
        self.filled = remaining;
    }
}

/// The numbers from 0 on.
const OFFSETS: [u8; WINDOW] = {
    let mut offsets = [0; WINDOW];
    let mut place = 0;
    while place < WINDOW {
        offsets[place] = place as u8;
        place += 1;
    }
    offsets
};

/// What the bytes of a window are: a bit for each, the lowest first.
struct Window {
    /// Of words.
    words: u64,
    /// `<`.
    tags: u64,
    /// `>`.
    ends: u64,
    /// `&`.
    ampersands: u64,
}

impl Window {
    /// The window at the start of `html`, which has at least one byte. Behind the page it has zeros.
    #[inline(always)]
    fn load<S: Simd>(simd: S, html: &[u8]) -> Self {
        let mut end_of_page = [0; WINDOW];
        let window = html.first_chunk().unwrap_or_else(|| {
            end_of_page[..html.len()].copy_from_slice(html);
            &end_of_page
        });
        // As signed numbers: bytes above ASCII are below zero.
        let bytes = i8x64::simd_from(simd, window.map(u8::cast_signed));
        // What comes first of `all` in a row becomes the least number that there is.
        let among = |bytes: i8x64<S>, first: u8, all: i8| {
            (bytes + i8::MIN.wrapping_sub(first.cast_signed())).simd_lt(i8::MIN + all)
        };
        let letters = among(bytes | 0x20, b'a', 26);
        let digits = among(bytes, b'0', 10);
        Self {
            words: (letters | digits | bytes.simd_lt(0)).to_bitmask(),
            tags: bytes.simd_eq(b'<'.cast_signed()).to_bitmask(),
            ends: bytes.simd_eq(b'>'.cast_signed()).to_bitmask(),
            ampersands: bytes.simd_eq(b'&'.cast_signed()).to_bitmask(),
        }
    }
}

/// Whether a byte is of a word.
pub(super) fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Where the name of a character reference ends that begins at `start`, right behind an ampersand. Names are no words: in source code, where `&gt;`
/// comes often, they would decide what the page is similar to. None has 64 bytes.
fn after_name(html: &[u8], start: usize) -> Option<usize> {
    let rest = &html[start..];
    let rest = &rest[..rest.len().min(WINDOW)];
    let length = rest.iter().position(|byte| !is_of_word(*byte)).unwrap_or(rest.len());
    (length < WINDOW).then_some(start + length)
}

/// Whether the tag that begins `at` this place has the first letter of one with raw text behind it.
#[inline(always)]
fn may_open_raw_text(html: &[u8], at: usize) -> bool {
    html.get(at + 1).is_some_and(|letter| letter.eq_ignore_ascii_case(&b's'))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_words_tags_and_ampersands_of_its_bytes() {
        for first in 0..=u8::MAX {
            let html: Vec<u8> = (0..90).map(|place: u8| first.wrapping_add(place.wrapping_mul(37))).collect();
            for length in [1, 63, 64, 90] {
                for level in super::super::tests::levels() {
                    let html = &html[..length];
                    let window = fearless_simd::dispatch!(level, simd => Window::load(simd, html));
                    for (place, byte) in html.iter().take(64).enumerate() {
                        let bit = |bits: u64| bits >> place & 1 == 1;
                        let is_word = byte.is_ascii_alphabetic() || byte.is_ascii_digit() || *byte > 127;
                        assert_eq!(bit(window.words), is_word, "{byte} {level:?}");
                        assert_eq!(bit(window.tags), *byte == b'<', "{byte} {level:?}");
                        assert_eq!(bit(window.ends), *byte == b'>', "{byte} {level:?}");
                        assert_eq!(bit(window.ampersands), *byte == b'&', "{byte} {level:?}");
                    }
                    let all = window.words | window.tags | window.ends | window.ampersands;
                    assert_eq!(all.unbounded_shr(length as u32), 0);
                }
            }
        }
    }
}
