//! How the tokenizer reads a document that is in memory.

#![expect(
    clippy::inline_always,
    reason = "what ends a piece is a constant of each state of the tokenizer, once it is inlined there"
)]

use std::convert::Infallible;

use html5gum::{Readable, Reader};

/// Bytes that are looked through at a time: what ends a text may come often, and another thing that ends one never.
const BLOCK: usize = 256;

/// The rest of a document. As html5gum's own reader of a text, but looks for the end of a run of text with [`memchr`], some ten bytes at a
/// time instead of two.
#[derive(Debug)]
pub(super) struct DocumentReader<'a>(pub(super) &'a [u8]);

impl Reader for DocumentReader<'_> {
    type Error = Infallible;

    #[inline(always)]
    fn read_byte(&mut self) -> Result<Option<u8>, Infallible> {
        let Some((first, rest)) = self.0.split_first() else { return Ok(None) };
        self.0 = rest;
        Ok(Some(*first))
    }

    #[inline(always)]
    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, Infallible> {
        let Some((start, rest)) = self.0.split_at_checked(text.len()) else { return Ok(false) };
        let is_there = start == text || !case_sensitive && start.eq_ignore_ascii_case(text);
        if is_there {
            self.0 = rest;
        }
        Ok(is_there)
    }

    #[inline(always)]
    fn read_until<'b>(
        &'b mut self,
        ends: &[u8],
        buffer: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Infallible> {
        let length = match *ends {
            [first, second, third] if is_in_text(ends, self.0) => {
                text_length(self.0, [first, second, third], None)
            }
            [first, second, third, last] if is_in_text(ends, self.0) => {
                text_length(self.0, [first, second, third], Some(last))
            }
            _ => self.0.to_reader().read_until(ends, buffer)?.map_or(0, <[u8]>::len),
        };
        if self.0.is_empty() {
            return Ok(None);
        }
        let (read, rest) = self.0.split_at(length);
        self.0 = rest;
        Ok(Some(read))
    }
}

/// Whether text is read that a tag ends, and doesn't end within a few bytes.
#[inline(always)]
fn is_in_text(ends: &[u8], rest: &[u8]) -> bool {
    let is_no_end = |byte: &u8| !ends.contains(byte);
    ends.contains(&b'<') && rest.first_chunk::<8>().is_some_and(|next| next.iter().all(is_no_end))
}

/// Bytes before the first of three or four.
fn text_length(rest: &[u8], [first, second, third]: [u8; 3], fourth: Option<u8>) -> usize {
    let mut before = 0;
    for block in rest.chunks(BLOCK) {
        let end = memchr::memchr3(first, second, third, block);
        let before_end = &block[..end.unwrap_or(block.len())];
        let end = fourth.and_then(|fourth| memchr::memchr(fourth, before_end)).or(end);
        if let Some(end) = end {
            return before + end;
        }
        before += block.len();
    }
    before
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// What ends text, raw text, a quoted value and a name in the tokenizer.
    const ENDS: [&[u8]; 4] = [b"&<\0\r", b"<\0\r", b"\"&\0\r", b"\t\n\x0c />\0AZ\r"];

    /// The pieces of a document up to its end, with what each of them was to be ended by.
    fn pieces(mut reader: impl Reader<Error = Infallible>, ends: &[usize]) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        for which in ends.iter().cycle() {
            let mut buffer = [0; 4];
            let Ok(piece) = reader.read_until(ENDS[*which], &mut buffer);
            match piece {
                Some(piece) => pieces.push(piece.to_vec()),
                None => break,
            }
        }
        pieces
    }

    proptest! {
        #[test]
        fn pieces_are_those_of_the_tokenizers_own_reader(
            runs in vec((select(&b"a<&\0\r\"Z \xc3"[..]), 1..700_usize), 0..20),
            ends in vec(0..ENDS.len(), 1..4),
        ) {
            // Runs of a byte, some of them longer than a block, between single ones.
            let document: Vec<u8> = runs.iter().flat_map(|(byte, times)| {
                let times = if byte.is_ascii_lowercase() { *times } else { times % 3 };
                std::iter::repeat_n(*byte, times)
            }).collect();
            let expected = pieces(document.as_slice().to_reader(), &ends);
            prop_assert_eq!(pieces(DocumentReader(&document), &ends), expected);
        }

        #[test]
        fn texts_and_bytes_are_those_of_the_tokenizers_own_reader(
            document in vec(select(&b"sCrIpt"[..]), 0..9),
            text in vec(select(&b"script"[..]), 1..4),
            case_sensitive in any::<bool>(),
        ) {
            let (mut own, mut reader) = (document.as_slice().to_reader(), DocumentReader(&document));
            while !reader.0.is_empty() {
                prop_assert_eq!(
                    reader.try_read_string(&text, case_sensitive),
                    own.try_read_string(&text, case_sensitive)
                );
                prop_assert_eq!(reader.read_byte(), own.read_byte());
            }
            prop_assert_eq!(own.read_byte(), Ok(None));
        }
    }
}
