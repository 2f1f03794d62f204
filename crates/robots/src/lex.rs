//! Bytes to numbered lines: line ends, comments, the limit of a line.

use memchr::{memchr, memchr2, memchr3};

use crate::bytes::{trim, words};
use crate::separators::SEPARATOR;

/// Bytes of a line that Google's parser keeps (8 x 2083 and a terminator).
pub(crate) const LINE_LIMIT: usize = 16_663;

/// One line without its line end and comment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// From 1.
    pub(crate) number: u32,
    /// Trimmed, without comment.
    pub(crate) raw: &'a [u8],
    /// The text was longer than [`LINE_LIMIT`] bytes and was cut there.
    pub(crate) cut: bool,
    pub(crate) content: Content<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content<'a> {
    /// Nothing at all: ends records in the dialects of 1994 and 1996.
    Blank,
    /// A comment alone: never ends a record.
    Comment,
    /// A name and a value, both trimmed. `colon`: parted by a colon, else by a blank between exactly two words.
    Pair { name: &'a [u8], value: &'a [u8], colon: bool },
    /// Anything else.
    Junk,
}

/// Iterates over the lines; CR, LF and CRLF end one.
pub(crate) struct Lines<'a> {
    rest: Option<&'a [u8]>,
    number: u32,
    limited: bool,
    is_separated: bool,
    /// The last line ended with a separator.
    is_within: bool,
}

impl<'a> Lines<'a> {
    /// `limited`: long lines are cut at [`LINE_LIMIT`].
    pub(crate) fn new(bytes: &'a [u8], limited: bool) -> Self {
        Self { rest: Some(bytes), number: 0, limited, is_separated: false, is_within: false }
    }

    /// Whether [`SEPARATOR`] ends a line as well: the parts of a line have its number.
    pub(crate) fn separated(self, is_separated: bool) -> Self {
        Self { is_separated, ..self }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.rest?;
        let end = if self.is_separated {
            memchr3(b'\n', b'\r', SEPARATOR, rest)
        } else {
            memchr2(b'\n', b'\r', rest)
        };
        if !self.is_within {
            self.number = self.number.saturating_add(1);
        }
        let line = if let Some(end) = end {
            self.is_within = rest[end] == SEPARATOR;
            let crlf = rest[end] == b'\r' && rest.get(end + 1) == Some(&b'\n');
            self.rest = Some(&rest[end + 1 + usize::from(crlf)..]);
            &rest[..end]
        } else {
            self.rest = None;
            if rest.is_empty() {
                return None;
            }
            rest
        };
        Some(read(line, self.number, self.limited))
    }
}

fn read(line: &[u8], number: u32, limited: bool) -> Line<'_> {
    // The colon, if there is one, is early in most lines: what comes first decides where to look for the other.
    let first = memchr2(b':', b'#', line);
    let (colon, comment) = match first {
        Some(at) if line[at] == b':' => (Some(at), memchr(b'#', &line[at..]).map(|more| at + more)),
        comment => (None, comment),
    };
    let width = comment.unwrap_or(line.len());
    let cut = limited && width > LINE_LIMIT;
    let width = if cut { LINE_LIMIT } else { width };
    let raw = trim(&line[..width]);
    let content = if raw.is_empty() {
        if comment.is_some() { Content::Comment } else { Content::Blank }
    } else if let Some(colon) = colon.filter(|&colon| colon < width) {
        Content::Pair { name: trim(&line[..colon]), value: trim(&line[colon + 1..width]), colon: true }
    } else {
        let mut words = words(raw);
        match (words.next(), words.next(), words.next()) {
            (Some(name), Some(value), None) => Content::Pair { name, value, colon: false },
            _ => Content::Junk,
        }
    };
    Line { number, raw, cut, content }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &[u8]) -> Vec<(u32, Vec<u8>)> {
        Lines::new(text, true).map(|line| (line.number, line.raw.to_vec())).collect()
    }

    #[test]
    fn cr_lf_and_crlf_end_a_line_and_nothing_else_does() {
        let got = numbers(b"a\r\nb\rc\n\rd\x0b\x0ce\xe2\x80\xa8f");
        let want: [(u32, &[u8]); 5] =
            [(1, b"a"), (2, b"b"), (3, b"c"), (4, b""), (5, b"d\x0b\x0ce\xe2\x80\xa8f")];
        assert_eq!(got, want.map(|(number, raw)| (number, raw.to_vec())));
    }

    #[test]
    fn a_comment_line_is_not_a_blank_line() {
        let contents: Vec<_> = Lines::new(b" # x\n \t\nField : a:b # c\nDisallow /x\none two three", true)
            .map(|l| l.content)
            .collect();
        assert_eq!(
            contents,
            [
                Content::Comment,
                Content::Blank,
                Content::Pair { name: b"Field", value: b"a:b", colon: true },
                Content::Pair { name: b"Disallow", value: b"/x", colon: false },
                Content::Junk,
            ]
        );
    }

    #[test]
    fn a_line_is_cut_where_it_is_longer_than_it_may_be() {
        let of = |length: usize, limited| {
            let text = [&b"a:"[..], &vec![b'x'; length - 2]].concat();
            let line = Lines::new(&text, limited).next().expect("a line");
            (line.cut, line.raw.len())
        };
        assert_eq!(of(LINE_LIMIT, true), (false, LINE_LIMIT));
        assert_eq!(of(LINE_LIMIT + 1, true), (true, LINE_LIMIT));
        assert_eq!(of(LINE_LIMIT + 1, false), (false, LINE_LIMIT + 1));
        // The colon is the first byte that is cut off.
        let text = [&vec![b'a'; LINE_LIMIT][..], b": b"].concat();
        assert_eq!(Lines::new(&text, true).map(|line| line.content).collect::<Vec<_>>(), [Content::Junk]);
    }
}
