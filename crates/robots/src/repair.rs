//! Text that only looks right: Unicode spaces, invisible characters, and full-width forms of `:`, `/` and `*`.
//!
//! Editors, word processors and input methods write them, and a person who reads the file sees an ordinary rule.

use std::borrow::Cow;

use crate::separators::SEPARATOR;

/// A text with such characters in order, and the lines that were changed.
#[derive(Debug)]
pub(crate) struct Repaired {
    pub(crate) bytes: Vec<u8>,
    pub(crate) lines: Vec<u32>,
}

/// Puts ASCII in the place of such characters, outside of comments; none where there are none. Lines keep their numbers.
/// `is_separated`: [`SEPARATOR`] ends lines too.
pub(crate) fn repair(text: &[u8], is_separated: bool) -> Option<Repaired> {
    // In blocks, so that nearly every file costs next to nothing.
    if !text.chunks(1024).any(|block| block.iter().fold(false, |odd, &b| odd | is_odd(b))) {
        return None;
    }
    let mut bytes = Vec::new();
    let mut lines = Vec::new();
    let (mut start, mut number) = (0, 0_u32);
    // A byte order mark that was taken for Latin-1 and encoded again.
    if let Some(rest) = text.strip_prefix("\u{ef}\u{bb}\u{bf}".as_bytes()) {
        start = text.len() - rest.len();
        lines.push(1);
    }
    while start < text.len() {
        let rest = &text[start..];
        let end = if is_separated {
            memchr::memchr3(b'\n', b'\r', SEPARATOR, rest)
        } else {
            memchr::memchr2(b'\n', b'\r', rest)
        };
        let end = end.map_or(text.len(), |at| start + at);
        let next = match &text[end..] {
            [b'\r', b'\n', ..] => end + 2,
            [] => end,
            _ => end + 1,
        };
        if start == 0 || text[start - 1] != SEPARATOR || !is_separated {
            number = number.saturating_add(1);
        }
        let line = &text[start..end];
        match line.iter().any(|&b| is_odd(b)).then(|| repair_line(line)) {
            Some(Cow::Owned(repaired)) => {
                bytes.extend_from_slice(&repaired);
                lines.push(number);
            }
            _ => bytes.extend_from_slice(line),
        }
        bytes.extend_from_slice(&text[end..next]);
        start = next;
    }
    lines.dedup();
    (!lines.is_empty()).then_some(Repaired { bytes, lines })
}

/// A byte that no plain ASCII text holds.
fn is_odd(b: u8) -> bool {
    // Without branches: the compiler then looks at many bytes at once.
    (b >= 0x7f) | ((b < b' ') & (b.wrapping_sub(b'\t') > b'\r' - b'\t'))
}

fn repair_line(line: &[u8]) -> Cow<'_, [u8]> {
    let end = memchr::memchr(b'#', line).unwrap_or(line.len());
    let (text, comment) = line.split_at(end);
    let mut repaired = match std::str::from_utf8(text) {
        Ok(text) => repair_utf8(text).into_bytes(),
        Err(_) => repair_bytes(text),
    };
    if repaired == text {
        return Cow::Borrowed(line);
    }
    repaired.extend_from_slice(comment);
    Cow::Owned(repaired)
}

fn repair_utf8(text: &str) -> String {
    let colon = text.char_indices().find(|&(_, c)| is_colon(c));
    let (name, value) = match colon {
        Some((at, colon)) => (&text[..at], &text[at + colon.len_utf8()..]),
        None => ("", text),
    };
    let mut out = String::with_capacity(text.len());
    out.extend(name.chars().filter(|&c| !is_invisible(c) && !is_joiner(c)).map(|c| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => '-',
        _ => blank(c),
    }));
    if colon.is_some() {
        out.push(':');
    }
    let is_edge = |c: char| is_blank(c) || is_invisible(c) || is_joiner(c);
    let middle = value.trim_start_matches(is_edge);
    let (before, _) = value.split_at(value.len() - middle.len());
    let (middle, after) = middle.split_at(middle.trim_end_matches(is_edge).len());
    out.extend(before.chars().filter(|&c| is_blank(c)).map(blank));
    out.extend(middle.chars().filter(|&c| !is_invisible(c)).map(|c| match c {
        '\u{ff0f}' => '/',
        '\u{ff0a}' => '*',
        '\u{ff03}' => '#',
        _ => blank(c),
    }));
    out.extend(after.chars().filter(|&c| is_blank(c)).map(blank));
    out
}

/// The colon, and what looks like it.
fn is_colon(c: char) -> bool {
    matches!(c, ':' | '\u{ff1a}' | '\u{fe55}' | '\u{2236}')
}

fn blank(c: char) -> char {
    if is_blank(c) && !c.is_ascii() { ' ' } else { c }
}

/// White space, and letters that show as nothing but their width.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{180e}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
}

/// Characters without width, and control characters.
fn is_invisible(c: char) -> bool {
    match c {
        '\t'..='\r' | '\u{85}' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => true,
        _ => matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}') || c.is_control(),
    }
}

/// Joiners and variation selectors have no width either, but belong to words of many languages: they go at the ends alone.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// A line in another encoding: Latin-1 and its kin, whose no-break space is one byte, and those of East Asia, whose full-width
/// characters are two. Within a value, only the ends are sure.
fn repair_bytes(text: &[u8]) -> Vec<u8> {
    // GB 2312 and EUC-KR, Shift_JIS, Big5, EUC-JP.
    const COLONS: [[u8; 2]; 4] = [[0xa3, 0xba], [0x81, 0x46], [0xa1, 0x47], [0xa1, 0xa7]];
    let wide = |pair: &[u8]| COLONS.iter().any(|colon| colon == pair);
    let wide = text.windows(2).position(wide).map(|at| (at, 2));
    let ascii = memchr::memchr(b':', text).map(|at| (at, 1));
    let parts = match (ascii, wide) {
        (Some(ascii), Some(wide)) => Some(ascii.min(wide)),
        (ascii, wide) => ascii.or(wide),
    };
    let (name, value) = match parts {
        Some((at, width)) => (&text[..at], &text[at + width..]),
        None => (&text[..0], text),
    };
    let mut out = Vec::with_capacity(text.len());
    blanks(name, &mut out);
    if parts.is_some() {
        out.push(b':');
    }
    let start = value.iter().position(|&b| !is_edge(b)).unwrap_or(value.len());
    // The full-width space of GB 2312, EUC-KR and EUC-JP.
    let start = start + value[start..].chunks(2).take_while(|pair| *pair == [0xa1, 0xa1]).count() * 2;
    let end = value.iter().rposition(|&b| !is_edge(b)).map_or(start, |at| (at + 1).max(start));
    blanks(&value[..start], &mut out);
    let middle = &value[start..end];
    match middle {
        [0xa3, 0xaf, ..] => out.push(b'/'),
        [0xa3, 0xaa, ..] => out.push(b'*'),
        _ => out.extend(middle.iter().take(2).filter(|b| !is_control(**b))),
    }
    out.extend(middle.iter().skip(2).filter(|b| !is_control(**b)));
    blanks(&value[end..], &mut out);
    out
}

/// Writes a blank for every blank, and drops what has no width.
fn blanks(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            0xa1 if after.first() == Some(&0xa1) => {
                rest = &after[1..];
                out.push(b' ');
            }
            0xa0 => out.push(b' '),
            // Dashes of Windows-1252.
            0x96 | 0x97 => out.push(b'-'),
            // The soft hyphen, and the bytes of a UTF-16 mark.
            0xad | 0xfe | 0xff => {}
            _ if is_control(*first) => {}
            _ => out.push(*first),
        }
    }
}

fn is_control(b: u8) -> bool {
    b.is_ascii_control() && !matches!(b, b'\t'..=b'\r')
}

/// A byte that shows as nothing: a blank, a control character, the no-break space and the soft hyphen of Latin-1.
fn is_edge(b: u8) -> bool {
    b <= b' ' || matches!(b, 0x7f | 0xa0 | 0xad)
}

#[cfg(test)]
mod tests;
