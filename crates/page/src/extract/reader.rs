//! How the tokenizer reads a document that is in memory.

#![expect(
    clippy::inline_always,
    reason = "what ends a piece is a constant of each state of the tokenizer, once it is inlined there"
)]

use html5gum::{Readable, Reader};

/// Bytes that are looked through at a time: what ends a text may come often, and another thing that ends one never.
const BLOCK: usize = 256;

/// Attribute values in double quotes that are read before the tokenizer has to return: it calls itself for each.
const VALUES: u32 = 8;

/// The tokenizer has to return, and is called again: nothing was read, and nothing is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the tokenizer has to be called again")]
pub(super) struct CallAgain;

/// The rest of a document. As html5gum's own reader of a text, with two differences.
///
/// It looks for the end of a run of text with [`memchr`], some ten bytes at a time instead of two.
///
/// It bounds the stack. The states of html5gum return to its loop, with one exception: from a double-quoted attribute value to the next one
/// of the same tag they call each other (`AttributeValueDoubleQuoted`, `AfterAttributeValueQuoted`, `BeforeAttributeName`, `AttributeName`,
/// `BeforeAttributeValue`), and compilers don't turn all of these calls into jumps. So an error is returned after every eighth such
/// value: it ends all calls, the tokenizer is in `AfterAttributeValueQuoted` and has read nothing there, and continues with the next
/// byte when it is called again. Test: `no_state_of_the_tokenizer_takes_stack_for_each_repetition`.
#[derive(Debug)]
pub(super) struct DocumentReader<'a> {
    rest: &'a [u8],
    /// Values in double quotes that were read since the tokenizer returned.
    values: u32,
    /// Those that are read before it has to return.
    most: u32,
}

impl<'a> DocumentReader<'a> {
    pub(super) fn new(document: &'a [u8]) -> Self {
        Self { rest: document, values: 0, most: VALUES }
    }
}

impl Reader for DocumentReader<'_> {
    type Error = CallAgain;

    #[inline(always)]
    fn read_byte(&mut self) -> Result<Option<u8>, CallAgain> {
        if self.values >= self.most {
            self.values = 0;
            return Err(CallAgain);
        }
        let Some((first, rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        Ok(Some(*first))
    }

    #[inline(always)]
    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, CallAgain> {
        let Some((start, rest)) = self.rest.split_at_checked(text.len()) else { return Ok(false) };
        let is_there = start == text || !case_sensitive && start.eq_ignore_ascii_case(text);
        if is_there {
            self.rest = rest;
        }
        Ok(is_there)
    }

    #[inline(always)]
    fn read_until<'b>(
        &'b mut self,
        ends: &[u8],
        buffer: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, CallAgain> {
        let length = match *ends {
            [first, second, third] if is_in_text(ends, self.rest) => {
                text_length(self.rest, [first, second, third], None)
            }
            [first, second, third, last] if is_in_text(ends, self.rest) => {
                text_length(self.rest, [first, second, third], Some(last))
            }
            _ => {
                let mut own = self.rest.to_reader();
                let Ok(read) = own.read_until(ends, buffer);
                read.map_or(0, <[u8]>::len)
            }
        };
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (read, rest) = self.rest.split_at(length);
        self.rest = rest;
        // Only a value in double quotes ends at these two. What is read next is the byte behind it.
        if matches!(*ends, [b'"', b'&', ..]) && read == b"\"" {
            self.values += 1;
        }
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
    use std::fmt::Debug;

    use html5gum::{DefaultEmitter, Tokenizer};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// What ends text, raw text, a quoted value and a name in the tokenizer.
    const ENDS: [&[u8]; 4] = [b"&<\0\r", b"<\0\r", b"\"&\0\r", b"\t\n\x0c />\0AZ\r"];

    /// A reader that never asks to be called again.
    fn straight(document: &[u8]) -> DocumentReader<'_> {
        DocumentReader { most: u32::MAX, ..DocumentReader::new(document) }
    }

    /// The pieces of a document up to its end, with what each of them was to be ended by.
    fn pieces<E: Debug>(mut reader: impl Reader<Error = E>, ends: &[usize]) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        for which in ends.iter().cycle() {
            let mut buffer = [0; 4];
            match reader.read_until(ENDS[*which], &mut buffer).unwrap() {
                Some(piece) => pieces.push(piece.to_vec()),
                None => break,
            }
        }
        pieces
    }

    /// The tokens of a document, and how often the tokenizer had to be called again.
    fn tokens(reader: DocumentReader<'_>) -> (Vec<String>, usize) {
        let (mut tokens, mut again) = (Vec::new(), 0);
        let mut emitter = DefaultEmitter::<usize>::new_with_span();
        emitter.naively_switch_states(true);
        for token in Tokenizer::new_with_emitter(reader, emitter) {
            match token {
                Ok(token) => tokens.push(format!("{token:?}")),
                Err(CallAgain) => again += 1,
            }
        }
        (tokens, again)
    }

    #[test]
    fn the_tokenizer_returns_after_every_eighth_value() {
        let document = format!("<p {}>x", "a=\"\" ".repeat(80));
        let (found, again) = tokens(DocumentReader::new(document.as_bytes()));
        assert_eq!((found, again), (tokens(straight(document.as_bytes())).0, 10));
    }

    proptest! {
        #[test]
        fn tokens_are_the_same_however_often_the_tokenizer_is_called_again(
            parts in vec(select(&[
                "<p", "<a ", "</p ", " a=\"", "b=\"x&amp;y\"", "\"", "c='\"'", "d=e", "&quot", "&", "\r\n", " ", "=", "/", ">", "<!--", "-->",
                "<!doctype html public \"a\" \"b", "<title>", "</title>", "<script>", "\0", "é", "x",
            ][..]), 0..60),
            most in 1..4_u32,
        ) {
            let document = parts.concat();
            let often = DocumentReader { most, ..DocumentReader::new(document.as_bytes()) };
            prop_assert_eq!(tokens(often).0, tokens(straight(document.as_bytes())).0);
        }

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
            prop_assert_eq!(pieces(straight(&document), &ends), expected);
        }

        #[test]
        fn texts_and_bytes_are_those_of_the_tokenizers_own_reader(
            document in vec(select(&b"sCrIpt"[..]), 0..9),
            text in vec(select(&b"script"[..]), 1..4),
            case_sensitive in any::<bool>(),
        ) {
            let (mut own, mut reader) = (document.as_slice().to_reader(), straight(&document));
            while !reader.rest.is_empty() {
                prop_assert_eq!(
                    reader.try_read_string(&text, case_sensitive).unwrap(),
                    own.try_read_string(&text, case_sensitive).unwrap()
                );
                prop_assert_eq!(reader.read_byte().unwrap(), own.read_byte().unwrap());
            }
            prop_assert_eq!(own.read_byte(), Ok(None));
        }
    }
}
