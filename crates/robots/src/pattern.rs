//! One rule as a pattern: `*` = any run, `$` at the end = end of the URL. No backtracking.

use memchr::{memchr, memmem};

use crate::bytes::{DOLLAR, PERCENT, STAR, classes, normalise};

/// Stand for a literal `*` and `$`, in URLs and in patterns. Normalised text holds no control characters.
const LITERAL_STAR: u8 = 1;
const LITERAL_DOLLAR: u8 = 2;

/// Holds a URL as patterns are compared with it.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    bytes: std::borrow::Cow<'a, [u8]>,
    head: u64,
    present: u64,
}

impl<'a> Subject<'a> {
    /// Normalises path and query, and marks the literal `*` and `$`.
    pub(crate) fn new(path_and_query: &'a [u8]) -> Self {
        let classes = classes(path_and_query);
        let mut bytes = normalise(path_and_query, classes);
        // No escape decodes to `*` or `$`.
        if classes & (STAR | DOLLAR) != 0 {
            for b in bytes.to_mut() {
                match *b {
                    b'*' => *b = LITERAL_STAR,
                    b'$' => *b = LITERAL_DOLLAR,
                    _ => {}
                }
            }
        }
        let (head, present) = (head(&bytes).0, present(&bytes));
        Self { bytes, head, present }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the other reading of a URL with `%24` or `%2A`: each escape read as its character.
    pub(crate) fn unescaped(&self) -> Option<Subject<'static>> {
        let escaped = escaped_specials(&self.bytes);
        if escaped.is_empty() {
            return None;
        }
        let bytes = literal_specials(&self.bytes, escaped.into_iter());
        let (head, present) = (head(&bytes).0, present(&bytes));
        Some(Subject { bytes: bytes.into(), head, present })
    }
}

/// Holds a pattern in short form: what can refuse a URL at once, and where the rest of it lies in an arena.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern {
    head: u64,
    mask: u64,
    present: u64,
    start: u32,
    len: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The whole literal text is a prefix of the URL.
    Prefix,
    /// The whole literal text is the URL.
    Whole,
    /// Literal parts between `*`, the last one anywhere.
    Parts,
    /// Literal parts between `*`, the last one at the end of the URL.
    PartsToEnd,
}

impl Pattern {
    /// Prepares a rule value that starts with `/` or `*`, and gives its length in bytes, `*` and `$` counted
    /// (the length that decides between rules, RFC 9309 section 2.2.2). No pattern where no URL can match: the value starts with
    /// another byte. Several where the value holds `%2A` or `%24`, which match the literal character as well.
    ///
    /// `classes`: those of the value. `arena` takes the text of the patterns.
    pub(crate) fn compile(
        value: &[u8],
        classes: u8,
        arena: &mut Vec<u8>,
        mut give: impl FnMut(Pattern, u32),
    ) {
        if !matches!(value.first(), Some(b'/' | b'*')) {
            return;
        }
        let text = normalise(value, classes);
        let length = text.len() as u32;
        let escaped = if classes & PERCENT == 0 { Vec::new() } else { escaped_specials(&text) };
        if escaped.is_empty() {
            return give(Pattern::of(&text, classes, arena), length);
        }
        // Each of the first four as escape or as character; of more, all the others as the first one.
        let counted = escaped.len().min(4);
        for choice in 0..1_u32 << counted {
            let is_chosen = |i: usize| choice >> (if i < counted { i } else { 0 }) & 1 == 1;
            let chosen = escaped.iter().enumerate().filter(|&(i, _)| is_chosen(i)).map(|(_, &at)| at);
            let other = literal_specials(&text, chosen);
            give(Pattern::of(&other, classes, arena), length);
        }
    }

    /// Prepares normalised text.
    fn of(text: &[u8], classes: u8, arena: &mut Vec<u8>) -> Pattern {
        let (body, to_end) = match text.strip_suffix(b"$") {
            Some(body) => (body, true),
            None => (text, false),
        };
        // A trailing `*` adds nothing, with or without `$` behind it.
        let trimmed = body.iter().rposition(|&b| b != b'*').map_or(0, |at| at + 1);
        let to_end = to_end && trimmed == body.len();
        let body = &body[..trimmed];
        let start = arena.len() as u32;
        if classes & DOLLAR == 0 {
            arena.extend_from_slice(body);
        } else {
            arena.extend(body.iter().map(|&b| if b == b'$' { LITERAL_DOLLAR } else { b }));
        }
        let text = &arena[start as usize..];
        let star = if classes & STAR == 0 { None } else { memchr(b'*', text) };
        let kind = match (star.is_some(), to_end) {
            (false, false) => Kind::Prefix,
            (false, true) => Kind::Whole,
            (true, false) => Kind::Parts,
            (true, true) => Kind::PartsToEnd,
        };
        let (head, mask) = head(&text[..star.unwrap_or(text.len())]);
        let present = present(text) & !bit(b'*');
        Pattern { head, mask, present, start, len: text.len() as u32, kind }
    }

    /// Compares with a URL in O(pattern + URL) time for each literal part, without backtracking.
    #[inline]
    pub(crate) fn matches(&self, subject: &Subject<'_>, arena: &[u8]) -> bool {
        if (subject.head ^ self.head) & self.mask != 0 || self.present & !subject.present != 0 {
            return false;
        }
        let text = &arena[self.start as usize..][..self.len as usize];
        let url = subject.bytes();
        match self.kind {
            Kind::Prefix => url.starts_with(text),
            Kind::Whole => url == text,
            Kind::Parts => parts(text, url, false),
            Kind::PartsToEnd => parts(text, url, true),
        }
    }
}

/// Takes each literal part at its first place behind the one before: with `*` alone between them, the first place is never
/// worse than a later one, so nothing is ever tried twice.
fn parts(text: &[u8], url: &[u8], to_end: bool) -> bool {
    let mut parts = text.split(|&b| b == b'*');
    let Some(mut rest) = parts.next().and_then(|first| url.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if to_end && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let found = match part {
            [] => Some(0),
            [one] => memchr(*one, rest),
            _ => memmem::find(rest, part),
        };
        let Some(at) = found else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

/// Finds the `%2A` and `%24` of a normalised rule or URL.
fn escaped_specials(text: &[u8]) -> Vec<usize> {
    memchr::memchr_iter(b'%', text).filter(|&at| matches!(text[at + 1..], [b'2', b'A' | b'4', ..])).collect()
}

/// Puts the characters in the place of the `%2A` and `%24` at these places.
fn literal_specials(text: &[u8], places: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = 0;
    for at in places {
        out.extend_from_slice(&text[rest..at]);
        out.push(if text[at + 2] == b'A' { LITERAL_STAR } else { LITERAL_DOLLAR });
        rest = at + 3;
    }
    out.extend_from_slice(&text[rest..]);
    out
}

/// Packs the up to eight bytes behind the first one (which is always `/`), and gives the mask of the bytes that are there.
fn head(bytes: &[u8]) -> (u64, u64) {
    if let Some(Ok(head)) = bytes.get(1..9).map(<[u8; 8]>::try_from) {
        return (u64::from_le_bytes(head), u64::MAX);
    }
    let rest = bytes.get(1..).unwrap_or_default();
    let mut head = [0; 8];
    head[..rest.len()].copy_from_slice(rest);
    (u64::from_le_bytes(head), (1 << (8 * rest.len())) - 1)
}

fn present(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |set, &b| set | bit(b))
}

fn bit(b: u8) -> u64 {
    1 << (b & 63)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, url: &str) -> bool {
        let (mut arena, mut patterns) = (Vec::new(), Vec::new());
        let bytes = pattern.as_bytes();
        Pattern::compile(bytes, classes(bytes), &mut arena, |pattern, _| patterns.push(pattern));
        let subject = Subject::new(url.as_bytes());
        patterns.iter().any(|pattern| pattern.matches(&subject, &arena))
    }

    /// The position-set method of the specification, one byte at a time: slow, and too simple to be wrong.
    fn by_position_set(pattern: &[u8], url: &[u8]) -> bool {
        let (pattern, to_end) = match pattern.strip_suffix(b"$") {
            Some(body) => (body, true),
            None => (pattern, false),
        };
        let mut at: Vec<bool> = (0..=url.len()).map(|i| i == 0).collect();
        for &b in pattern {
            let mut next = vec![false; url.len() + 1];
            if b == b'*' {
                let first = at.iter().position(|&here| here);
                if let Some(first) = first {
                    next[first..].fill(true);
                }
            } else {
                (0..url.len()).for_each(|i| next[i + 1] = at[i] && url[i] == b);
            }
            at = next;
        }
        if to_end { at[url.len()] } else { at.contains(&true) }
    }

    #[test]
    fn rfc9309_2_2_3_special_characters() {
        let rows = [
            ("/fish*.php", "/fishheads/catfish.php?p", true),
            ("/fish*.php", "/Fish.PHP", false),
            ("/*.php$", "/filename.php", true),
            ("/*.php$", "/filename.php5", false),
            ("*.gif$", "/a/b.gif", true),
            ("/x$$", "/x$", true),
            ("/x$$", "/x", false),
            ("/x$*", "/x$y", true),
            ("/x$*", "/xy", false),
            ("/x*$", "/x/y", true),
            ("/x%2a", "/x*", true),
            ("/x%2a", "/xy", false),
            ("/x%2a", "/x%2A", true),
            ("/x%2a%24%2a", "/x*%24*y", true),
            ("/x%24", "/x$", true),
            ("/a$b", "/a$b", true),
            ("/a$b", "/a%24b", false),
            // The escape of a literal star is not in the URL, so no part of a rule finds it there.
            ("/*A", "/a*", false),
            ("/*2", "/a*", false),
            ("/*a*ab$", "/aab", true),
            ("/*ab*ab$", "/ab", false),
            ("/a*a$", "/a", false),
            ("*", "/", true),
            ("x/", "/x/", false),
            ("", "/", false),
        ];
        for (pattern, url, expected) in rows {
            assert_eq!(matches(pattern, url), expected, "{pattern} {url}");
        }
    }

    #[test]
    fn length_counts_normalised_bytes_and_specials() {
        let length = |value: &str| {
            let mut found = None;
            let bytes = value.as_bytes();
            Pattern::compile(bytes, classes(bytes), &mut Vec::new(), |_, length| found = Some(length));
            found
        };
        assert_eq!(length("/a*b$"), Some(5));
        assert_eq!(length("/%7Ea/***"), Some(7));
        assert_eq!(length("/é"), Some(7));
        assert_eq!(length("/a$b"), Some(4));
    }

    proptest! {
        #[test]
        fn agrees_with_the_position_set_method(pattern in "[/*][/ab*]{0,10}[$]?", url in "/[/ab]{0,14}") {
            prop_assert_eq!(matches(&pattern, &url), by_position_set(pattern.as_bytes(), url.as_bytes()));
        }
    }
}
