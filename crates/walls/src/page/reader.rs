//! How the tokenizer reads a document that is in memory.

use html5gum::{Readable, Reader};

/// Attribute values in double quotes that are read before the tokenizer has to return: it calls itself for each.
const VALUES: u32 = 8;

/// Bytes of a text that are looked through at a time: what ends it may come often, and another thing that ends it never.
const BLOCK: usize = 256;

/// The tokenizer has to return, and is called again: nothing was read, and nothing is lost.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the tokenizer has to be called again")]
pub(super) struct CallAgain;

/// The rest of a document, as html5gum's own reader of a text, with a bound on the stack: from a double-quoted attribute value to the next
/// one of a tag the states of html5gum call each other. An error after every eighth such value ends all calls, and the tokenizer goes on
/// with the next byte when it is called again. Test: `no_page_takes_stack_for_each_repetition`.
#[derive(Debug)]
pub(super) struct DocumentReader<'a> {
    rest: &'a [u8],
    values: u32,
}

impl<'a> DocumentReader<'a> {
    pub(super) fn new(document: &'a [u8]) -> Self {
        Self { rest: document, values: 0 }
    }
}

impl Reader for DocumentReader<'_> {
    type Error = CallAgain;

    fn read_byte(&mut self) -> Result<Option<u8>, CallAgain> {
        if self.values >= VALUES {
            self.values = 0;
            return Err(CallAgain);
        }
        let Some((first, rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        Ok(Some(*first))
    }

    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, CallAgain> {
        let Some((start, rest)) = self.rest.split_at_checked(text.len()) else { return Ok(false) };
        let is_there = start == text || !case_sensitive && start.eq_ignore_ascii_case(text);
        if is_there {
            self.rest = rest;
        }
        Ok(is_there)
    }

    fn read_until<'b>(
        &'b mut self,
        ends: &[u8],
        buffer: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, CallAgain> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let length = match *ends {
            [first, second, third] if is_long_text(ends, self.rest) => {
                text_length(self.rest, [first, second, third], None)
            }
            [first, second, third, last] if is_long_text(ends, self.rest) => {
                text_length(self.rest, [first, second, third], Some(last))
            }
            _ => {
                let mut own = self.rest.to_reader();
                let Ok(read) = own.read_until(ends, buffer);
                read.map_or(0, <[u8]>::len)
            }
        };
        let (read, rest) = self.rest.split_at(length);
        self.rest = rest;
        // Only a value in double quotes ends at these two. What is read next is the byte behind it.
        if matches!(*ends, [b'"', b'&', ..]) && read == b"\"" {
            self.values += 1;
        }
        Ok(Some(read))
    }
}

/// Whether a text is read that a tag ends, and doesn't end within a few bytes.
fn is_long_text(ends: &[u8], rest: &[u8]) -> bool {
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
