//! One rule as a pattern: `*` = any run, `$` at the end = end of the URL. No backtracking.

use std::borrow::Cow;
use std::cell::RefCell;

use memchr::memchr;

use crate::bytes::{DOLLAR, PERCENT, STAR, classes, normalise, normalise_into};
use crate::places::Places;

/// Stand for a literal `*` and `$`, in URLs and in patterns. Normalised text holds no control characters.
const LITERAL_STAR: u8 = 1;
const LITERAL_DOLLAR: u8 = 2;
/// Stand in patterns for a `%2A` and a `%24`, which match the escape and the character.
const EITHER_STAR: u8 = 3;
const EITHER_DOLLAR: u8 = 4;
/// The same, of those that are all read in the same way: the first, and what comes after the fourth.
const TIED_STAR: u8 = 5;
const TIED_DOLLAR: u8 = 6;

/// Escapes of `*` and `$` in one rule that are read independently of each other.
const INDEPENDENT: usize = 4;

/// Holds a URL as patterns are compared with it.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    bytes: Cow<'a, [u8]>,
    head: u64,
    present: u64,
    /// Made for the first pattern that has to be searched for.
    places: RefCell<Option<Box<Places>>>,
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
        Self::of(bytes)
    }

    fn of(bytes: Cow<'a, [u8]>) -> Self {
        let (head, present) = (head(&bytes).0, present(&bytes));
        Self { bytes, head, present, places: RefCell::default() }
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
        Some(Subject::of(literal_specials(&self.bytes, escaped.into_iter()).into()))
    }

    /// The places of its bytes, and of its escapes of `*` and `$`.
    fn new_places(&self) -> Box<Places> {
        let bytes = self.bytes.iter().map(|&b| u16::from(b));
        let escapes = escaped_specials(&self.bytes)
            .into_iter()
            .map(|at| (at, if self.bytes[at + 2] == b'A' { EITHER_STAR } else { EITHER_DOLLAR }.into()));
        Box::new(Places::new(self.bytes.len(), bytes.enumerate().chain(escapes)))
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
    escapes: Escapes,
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

/// The `%2A` and `%24` of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escapes {
    None,
    /// Each is read as escape or as character.
    Either,
    /// Some of them are read in the same way.
    Tied,
}

impl Pattern {
    /// Prepares a rule value that starts with `/` or `*`, and gives its length in bytes, `*` and `$` counted
    /// (the length that decides between rules, RFC 9309 section 2.2.2). No pattern where no URL can match: the value starts with
    /// another byte. A `%2A` or `%24` of the value matches the literal character as well: up to four independently; if there are
    /// more, the first and all from the fifth on are read alike.
    ///
    /// `classes`: those of the value. `arena` takes the text of the pattern, which is no longer than the normalised value.
    pub(crate) fn compile(value: &[u8], classes: u8, arena: &mut Vec<u8>) -> Option<(Pattern, u32)> {
        if !matches!(value.first(), Some(b'/' | b'*')) {
            return None;
        }
        let start = arena.len();
        normalise_into(value, classes, arena);
        let length = (arena.len() - start) as u32;
        let escapes = if classes & PERCENT == 0 { Escapes::None } else { mark_escapes(arena, start) };
        Some((Pattern::of(arena, start, classes, escapes), length))
    }

    /// Prepares the normalised text at the end of the arena.
    fn of(arena: &mut Vec<u8>, start: usize, classes: u8, escapes: Escapes) -> Pattern {
        let to_end = arena[start..].ends_with(b"$");
        if to_end {
            arena.pop();
        }
        // A trailing `*` adds nothing, with or without `$` behind it.
        let trimmed = arena[start..].iter().rposition(|&b| b != b'*').map_or(0, |at| at + 1);
        let to_end = to_end && start + trimmed == arena.len();
        arena.truncate(start + trimmed);
        let text = &mut arena[start..];
        if classes & DOLLAR != 0 {
            text.iter_mut().filter(|b| **b == b'$').for_each(|b| *b = LITERAL_DOLLAR);
        }
        let star = if classes & STAR == 0 { None } else { memchr(b'*', text) };
        let kind = match (star.is_some(), to_end) {
            (false, false) => Kind::Prefix,
            (false, true) => Kind::Whole,
            (true, false) => Kind::Parts,
            (true, true) => Kind::PartsToEnd,
        };
        let mut literal = &text[..star.unwrap_or(text.len())];
        let mut present = present(text) & !bit(b'*');
        if escapes != Escapes::None {
            literal = &literal[..literal.iter().position(|&b| is_escape(b)).unwrap_or(literal.len())];
            present = self::present_beside_escapes(text);
        }
        let (head, mask) = head(literal);
        Pattern { head, mask, present, start: start as u32, len: text.len() as u32, kind, escapes }
    }

    /// Compares with a URL. Cost: a step for each 64 bytes of the URL, for each byte of the pattern between the first and the last `*`;
    /// one for each other byte. Twice that with tied escapes.
    #[inline]
    pub(crate) fn matches(&self, subject: &Subject<'_>, arena: &[u8]) -> bool {
        if (subject.head ^ self.head) & self.mask != 0 || self.present & !subject.present != 0 {
            return false;
        }
        let text = &arena[self.start as usize..][..self.len as usize];
        match (self.escapes, self.kind) {
            (Escapes::None, Kind::Prefix) => subject.bytes.starts_with(text),
            (Escapes::None, Kind::Whole) => *subject.bytes == *text,
            (Escapes::Tied, kind) => {
                Tied::Escape.matches(text, subject, kind) || Tied::Character.matches(text, subject, kind)
            }
            (_, kind) => Tied::Escape.matches(text, subject, kind),
        }
    }
}

/// What a URL may hold in the place of an escape: the symbol of its [`Places`], and its bytes.
type Form = (u8, &'static [u8]);

const STAR_FORMS: &[Form] = &[(LITERAL_STAR, &[LITERAL_STAR]), (EITHER_STAR, b"%2A")];
const DOLLAR_FORMS: &[Form] = &[(LITERAL_DOLLAR, &[LITERAL_DOLLAR]), (EITHER_DOLLAR, b"%24")];

/// How the tied escapes of a pattern are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tied {
    Escape,
    Character,
}

impl Tied {
    /// Takes each part at its first place behind the one before: with `*` alone between them, the first place is never worse than a
    /// later one. An escape takes the character or the escape of the URL, whichever is there: never both are. So a part matches at a
    /// place in one way at most, and the first place ends before every later one.
    fn matches(self, text: &[u8], subject: &Subject<'_>, kind: Kind) -> bool {
        let url = subject.bytes();
        let mut parts = text.split(|&b| b == b'*').peekable();
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = self.take(first, url) else { return false };
        if kind == Kind::Whole {
            return rest.is_empty();
        }
        while let Some(part) = parts.next() {
            if kind == Kind::PartsToEnd && parts.peek().is_none() {
                return self.is_end_of(part, rest);
            }
            let Some(end) = self.find(part, url.len() - rest.len(), subject) else { return false };
            rest = &url[end..];
        }
        true
    }

    /// Gives what follows the part at the start of a URL.
    fn take<'u>(self, mut part: &[u8], mut url: &'u [u8]) -> Option<&'u [u8]> {
        while !part.is_empty() {
            let literal = part.iter().position(|&b| is_escape(b)).unwrap_or(part.len());
            url = url.strip_prefix(&part[..literal])?;
            let Some(&escape) = part.get(literal) else { break };
            url = self.forms(escape).iter().find_map(|(_, form)| url.strip_prefix(*form))?;
            part = &part[literal + 1..];
        }
        Some(url)
    }

    /// Returns whether a URL ends with the part.
    fn is_end_of(self, mut part: &[u8], mut url: &[u8]) -> bool {
        while !part.is_empty() {
            let literal = part.iter().rposition(|&b| is_escape(b)).map_or(0, |at| at + 1);
            let Some(before) = url.strip_suffix(&part[literal..]) else { return false };
            url = before;
            let Some(at) = literal.checked_sub(1) else { break };
            let Some(before) = self.forms(part[at]).iter().find_map(|(_, form)| url.strip_suffix(*form))
            else {
                return false;
            };
            url = before;
            part = &part[..at];
        }
        true
    }

    /// Finds where the first place of the part at or behind `from` ends.
    fn find(self, part: &[u8], from: usize, subject: &Subject<'_>) -> Option<usize> {
        match part {
            [] => return Some(from),
            [one] if !is_escape(*one) => {
                return memchr(*one, &subject.bytes[from..]).map(|at| from + at + 1);
            }
            _ => {}
        }
        let mut places = subject.places.borrow_mut();
        let places = places.get_or_insert_with(|| subject.new_places());
        places.spread(from);
        let mut step = |&b: &u8| match b {
            _ if is_escape(b) => {
                places.step(self.forms(b).iter().map(|&(symbol, form)| (symbol.into(), form.len())))
            }
            _ => places.step([(b.into(), 1)]),
        };
        if part.iter().all(&mut step) { places.first() } else { None }
    }

    /// What a URL may hold in the place of an escape.
    fn forms(self, escape: u8) -> &'static [Form] {
        let forms = if matches!(escape, EITHER_STAR | TIED_STAR) { STAR_FORMS } else { DOLLAR_FORMS };
        match self {
            _ if matches!(escape, EITHER_STAR | EITHER_DOLLAR) => forms,
            Tied::Character => &forms[..1],
            Tied::Escape => &forms[1..],
        }
    }
}

fn is_escape(b: u8) -> bool {
    (EITHER_STAR..=TIED_DOLLAR).contains(&b)
}

/// Puts a mark in the place of each `%2A` and `%24` behind `start`.
fn mark_escapes(text: &mut Vec<u8>, start: usize) -> Escapes {
    let count =
        memchr::memchr_iter(b'%', &text[start..]).filter(|&at| is_special(&text[start + at..])).count();
    if count == 0 {
        return Escapes::None;
    }
    let has_tied = count > INDEPENDENT;
    let (mut to, mut from, mut seen) = (start, start, 0);
    while from < text.len() {
        if text[from] != b'%' || !is_special(&text[from..]) {
            text[to] = text[from];
            (to, from) = (to + 1, from + 1);
            continue;
        }
        let is_tied = has_tied && (seen == 0 || seen >= INDEPENDENT);
        text[to] = match (text[from + 2], is_tied) {
            (b'A', false) => EITHER_STAR,
            (b'A', true) => TIED_STAR,
            (_, false) => EITHER_DOLLAR,
            (_, true) => TIED_DOLLAR,
        };
        (to, from, seen) = (to + 1, from + 3, seen + 1);
    }
    text.truncate(to);
    if has_tied { Escapes::Tied } else { Escapes::Either }
}

/// Returns whether a normalised text begins with `%2A` or `%24`.
fn is_special(text: &[u8]) -> bool {
    matches!(text, [b'%', b'2', b'A' | b'4', ..])
}

/// Finds the `%2A` and `%24` of a normalised rule or URL.
fn escaped_specials(text: &[u8]) -> Vec<usize> {
    memchr::memchr_iter(b'%', text).filter(|&at| is_special(&text[at..])).collect()
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

/// As [`present`], of the bytes that a URL holds however the escapes are read.
fn present_beside_escapes(text: &[u8]) -> u64 {
    text.iter().filter(|&&b| b != b'*' && !is_escape(b)).fold(0, |set, &b| set | bit(b))
}

fn bit(b: u8) -> u64 {
    1 << (b & 63)
}

#[cfg(test)]
mod tests;
