//! Line separators that RFC 9309 doesn't know: a person who wrote them, or a program that lost the line ends, meant lines.

use crate::bytes::trim;
use crate::field::Field;

/// The byte that stands for every separator in a separated text: VT.
pub(crate) const SEPARATOR: u8 = 0x0b;

/// Replaces VT, FF, FS, GS, RS, NEL, U+2028, U+2029 and line ends that are written out by [`SEPARATOR`]; none where there are none.
///
/// Written out are `\n` and `\r\n`, with any number of backslashes each, and `\r` where a known field, a comment or the end of the line
/// follows: paths have it too. Each `\t` behind them is a blank.
///
/// Lines keep their numbers. Cost: linear.
pub(crate) fn separate(text: &[u8]) -> Option<Vec<u8>> {
    // In blocks, so that nearly every file costs next to nothing.
    if !text.chunks(1024).any(|block| block.iter().fold(false, |any, &b| any | may_begin(b))) {
        return None;
    }
    let mut out = Vec::new();
    let (mut at, mut kept) = (0, 0);
    while at < text.len() {
        let width = if may_begin(text[at]) { width(text, at) } else { 0 };
        if width == 0 {
            at += 1;
            continue;
        }
        out.extend_from_slice(&text[kept..at]);
        out.push(SEPARATOR);
        at += width;
        kept = at;
    }
    if out.is_empty() {
        return None;
    }
    out.extend_from_slice(&text[kept..]);
    Some(out)
}

/// A byte that a separator may begin with.
fn may_begin(b: u8) -> bool {
    matches!(b, SEPARATOR | 0x0c | 0x1c..=0x1e | b'\\' | 0xc2 | 0xe2 | 0x85)
}

/// The bytes of the separator that begins here; 0 where none does.
fn width(text: &[u8], at: usize) -> usize {
    match &text[at..] {
        [0x0b | 0x0c | 0x1c..=0x1e, ..] => 1,
        [b'\\', ..] => written(&text[at..]),
        [0xc2, 0x85, ..] => 2,
        [0xe2, 0x80, 0xa8 | 0xa9, ..] => 3,
        // NEL of Latin-1. Beside another high byte it is a part of a character.
        [0x85, rest @ ..] => {
            let is_plain = |b: Option<&u8>| b.is_none_or(u8::is_ascii);
            usize::from(is_plain(rest.first()) && is_plain(at.checked_sub(1).map(|before| &text[before])))
        }
        _ => 0,
    }
}

/// The bytes of a line end that is written out here, with the tabs behind it; 0 where there is none.
fn written(text: &[u8]) -> usize {
    let width = match escape(text) {
        Some((b'n', width)) => width,
        Some((b'r', width)) => match escape(&text[width..]) {
            Some((b'n', more)) => width + more,
            _ if begins_a_line(&text[width + tabs(&text[width..])..]) => width,
            _ => 0,
        },
        _ => 0,
    };
    if width == 0 { 0 } else { width + tabs(&text[width..]) }
}

/// Reads backslashes and the letter behind them, and their length. Longer runs than anybody writes are none.
fn escape(text: &[u8]) -> Option<(u8, usize)> {
    const MOST: usize = 8;
    let width = text.iter().take(MOST).take_while(|&&b| b == b'\\').count();
    let letter = text.get(width).filter(|_| width > 0)?;
    Some((*letter, width + 1))
}

/// The bytes of the written tabs here; no more than a few are read.
fn tabs(text: &[u8]) -> usize {
    const MOST: usize = 16;
    let mut at = 0;
    for _ in 0..MOST {
        match escape(&text[at..]) {
            Some((b't', width)) => at += width,
            _ => break,
        }
    }
    at
}

/// Whether a line may begin here: with a known field, a comment, another written end, or nothing.
fn begins_a_line(text: &[u8]) -> bool {
    /// The longest name of a field, and blanks around it.
    const LONGEST: usize = 32;
    let start = &text[..text.len().min(LONGEST)];
    if let None | Some(b'\n' | b'\r' | b'#') = start.first() {
        return true;
    }
    if matches!(escape(start), Some((b'r' | b'n', _))) {
        return true;
    }
    let colon = memchr::memchr(b':', start);
    colon.is_some_and(|colon| Field::read(trim(&start[..colon])).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_separator_becomes_one_byte_and_nothing_else_does() {
        let rows: [(&[u8], Option<&[u8]>); 18] = [
            (b"a\x0bb\x0cc\x1cd\x1de\x1ef", Some(b"a\x0bb\x0bc\x0bd\x0be\x0bf")),
            ("a\u{85}b\u{2028}c\u{2029}d".as_bytes(), Some(b"a\x0bb\x0bc\x0bd")),
            (br"a\nb\r\nc\n", Some(b"a\x0bb\x0bc\x0b")),
            (br"\n\n", Some(b"\x0b\x0b")),
            (br"a\\nb\\\\nc\\r\\nd", Some(b"a\x0bb\x0bc\x0bd")),
            (br"a\n\tb\\n\\t\tc\td", Some(b"a\x0bb\x0bc\\td")),
            (br"a\rDisallow: /\r\tallow:/b\r#c\r", Some(b"a\x0bDisallow: /\x0ballow:/b\x0b#c\x0b")),
            (br"a\r\rUser-agent : *", Some(b"a\x0b\x0bUser-agent : *")),
            (b"Disallow: /\\r\nx", Some(b"Disallow: /\x0b\nx")),
            (br"Disallow: \reports\temp\r/x\red: 1", None),
            (b"a\x85b", Some(b"a\x0bb")),
            // U+0105 in UTF-8, a character of GBK.
            (b"/\xc4\x85/\xb0\x85/", None),
            ("/\u{e9}\u{2026}\u{2022}".as_bytes(), None),
            (br"/a\b\N\rn\", None),
            (b"a\r\nb\n\tc\rd", None),
            (b"", None),
            (b"\\", None),
            (b"\xe2\x80", None),
        ];
        for (text, want) in rows {
            assert_eq!(separate(text).as_deref(), want, "{}", text.escape_ascii());
        }
    }
}
