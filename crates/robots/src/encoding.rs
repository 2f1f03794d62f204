//! A body as text: the size limit, byte order marks, and files in UTF-16 and UTF-32, marked or not.

use std::borrow::Cow;

use crate::warning::WarningKind;

/// Bytes at the start in which the NUL bytes of a wide encoding are counted.
const PROBE: usize = 4096;

/// A body within the size limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body<'a> {
    /// All that is read of it, the unfinished last line included.
    read: &'a [u8],
    /// Whole lines, where a line ends with the byte CR or LF.
    lines: &'a [u8],
    pub(crate) truncated: bool,
    pub(crate) wide: Option<Wide>,
}

/// An encoding whose ASCII characters come with NUL bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wide {
    /// Bytes of a unit: 2 or 4.
    width: usize,
    is_big: bool,
    /// A byte order mark says so, and not the places of the NUL bytes alone.
    is_marked: bool,
}

/// A form in which a body is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) decoding: Decoding,
    /// Separators that RFC 9309 does not know end lines (H12).
    pub(crate) is_separated: bool,
    /// What only looks like ASCII is ASCII.
    pub(crate) is_repaired: bool,
}

/// How a body becomes text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Decoding {
    /// The bytes as they are.
    #[default]
    Plain,
    /// From UTF-16 or UTF-32.
    Wide,
    /// Without NUL bytes.
    WithoutNul,
}

impl From<Decoding> for Form {
    fn from(decoding: Decoding) -> Self {
        Self { decoding, ..Self::default() }
    }
}

impl<'a> Body<'a> {
    /// Cuts a body at the limit.
    pub(crate) fn open(body: &'a [u8], max_bytes: usize) -> Self {
        let truncated = body.len() > max_bytes;
        let read = if truncated { &body[..max_bytes] } else { body };
        let is_cut = truncated && !matches!(body[max_bytes], b'\n' | b'\r');
        let lines = if is_cut { whole_lines(read) } else { read };
        Self { read, lines, truncated, wide: Wide::of(read) }
    }

    /// The parts of a body that was opened: its bytes, how many of them are whole lines, and whether there was more.
    pub(crate) fn parts(&self) -> (&'a [u8], usize, bool) {
        (self.read, self.lines.len(), self.truncated)
    }

    /// Opens a body again, from its parts.
    pub(crate) fn from_parts((read, lines, truncated): (&'a [u8], usize, bool)) -> Self {
        Self { read, lines: &read[..lines], truncated, wide: Wide::of(read) }
    }

    /// Returns the text of a decoding; empty where there is none.
    pub(crate) fn decoding(&self, decoding: Decoding) -> Cow<'a, [u8]> {
        match decoding {
            Decoding::Plain => Cow::Borrowed(self.plain().0),
            Decoding::Wide => Cow::Owned(self.decoded().unwrap_or_default()),
            Decoding::WithoutNul => Cow::Owned(self.without_nul().unwrap_or_default()),
        }
    }

    /// Returns the bytes as they are, without a UTF-8 byte order mark, and what is odd about them.
    ///
    /// A part of a mark is dropped too, as Google's parser does.
    pub(crate) fn plain(&self) -> (&'a [u8], Option<WarningKind>) {
        let mark = self.lines.iter().zip([0xef, 0xbb, 0xbf]).take_while(|(have, want)| *have == want).count();
        (&self.lines[mark..], (mark > 0).then_some(WarningKind::ByteOrderMark))
    }

    /// Returns the text of a file in UTF-16 or UTF-32.
    pub(crate) fn decoded(&self) -> Option<Vec<u8>> {
        let mut text = self.wide?.decode(self.read).into_bytes();
        if self.truncated {
            text.truncate(whole_lines(&text).len());
        }
        Some(text)
    }

    /// Returns the bytes without NUL, where a whole line has any: the ASCII of a file in UTF-16 or UTF-32, wherever that is.
    pub(crate) fn without_nul(&self) -> Option<Vec<u8>> {
        memchr::memchr(0, self.lines)?;
        let mut text: Vec<u8> = self.lines.iter().copied().filter(|&b| b != 0).collect();
        if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = text[..] {
            text.drain(..2);
        }
        Some(text)
    }

    /// Returns the text as every dialect but `rfc9309` and `hardened` reads it, and what is odd about the file.
    pub(crate) fn text(&self) -> (Cow<'a, [u8]>, Option<WarningKind>) {
        if let Some(text) = self.decoded() {
            return (Cow::Owned(text), self.wide.map(Wide::warning));
        }
        let (text, odd) = self.plain();
        (Cow::Borrowed(text), odd)
    }

    /// The decoding that [`text`](Self::text) gives.
    pub(crate) fn text_decoding(&self) -> Decoding {
        if self.wide.is_some() { Decoding::Wide } else { Decoding::Plain }
    }
}

impl Wide {
    pub(crate) fn warning(self) -> WarningKind {
        if self.width == 4 { WarningKind::Utf32 } else { WarningKind::Utf16 }
    }

    /// Returns whether it is UTF-16 with a byte order mark.
    pub(crate) fn is_marked_utf16(self) -> bool {
        self.is_marked && self.width == 2
    }

    /// Finds a wide encoding by its byte order mark, else by the places of its NUL bytes.
    fn of(body: &[u8]) -> Option<Wide> {
        let marked = |width, is_big| Some(Wide { width, is_big, is_marked: true });
        match body {
            [0xff, 0xfe, 0, 0, ..] => marked(4, false),
            [0, 0, 0xfe, 0xff, ..] => marked(4, true),
            [0xff, 0xfe, ..] => marked(2, false),
            [0xfe, 0xff, ..] => marked(2, true),
            _ => Self::by_nul_bytes(&body[..body.len().min(PROBE)]),
        }
    }

    /// ASCII characters make a good part of every robots.txt: their NUL bytes are all at the same places of a unit, and hardly
    /// any is at the place of the ASCII byte.
    fn by_nul_bytes(start: &[u8]) -> Option<Wide> {
        memchr::memchr(0, start)?;
        let mut nul = [0; 4];
        for (i, _) in start.iter().enumerate().filter(|(_, b)| **b == 0) {
            nul[i % 4] += 1;
        }
        let units = start.len() / 4;
        let many = nul.map(|n| units > 1 && n * 4 >= units);
        let few = nul.map(|n| n * 20 <= units);
        let wide = |width, is_big| Some(Wide { width, is_big, is_marked: false });
        match (many, few) {
            ([_, true, true, true], [true, ..]) => wide(4, false),
            ([true, true, true, _], [.., true]) => wide(4, true),
            ([_, true, _, true], [true, _, true, _]) => wide(2, false),
            ([true, _, true, _], [_, true, _, true]) => wide(2, true),
            _ => None,
        }
    }

    fn decode(self, body: &[u8]) -> String {
        let body = if self.is_marked { &body[self.width..] } else { body };
        let value = |unit: &[u8]| {
            let byte = |value: u32, b: &u8| value << 8 | u32::from(*b);
            if self.is_big { unit.iter().fold(0, byte) } else { unit.iter().rev().fold(0, byte) }
        };
        let units = body.chunks_exact(self.width).map(value);
        if self.width == 4 {
            return units.map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        }
        char::decode_utf16(units.map(|unit| unit as u16))
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    }
}

/// Drops the unfinished last line.
fn whole_lines(text: &[u8]) -> &[u8] {
    let end = memchr::memrchr2(b'\n', b'\r', text).map_or(0, |at| at + 1);
    &text[..end]
}

#[cfg(test)]
mod tests;
