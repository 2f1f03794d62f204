//! The decision of the extended standard 2.0 (Conner, 1996): whole paths and shell patterns.

use crate::bytes::escaped;
use crate::memory;
use crate::places::{ANY, Places};
use crate::prefix::{ESCAPED_SLASH, decode};
use crate::read::RuleLine;

/// Holds the rules of a 2.0 record, in the order in which they are asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conner {
    rules: Box<[Rule]>,
}

#[derive(Debug, Clone)]
struct Rule {
    allow: bool,
    number: u32,
    glob: Glob,
}

#[derive(Debug, Clone)]
enum Glob {
    Explicit(Box<[u16]>),
    Pattern(Box<[Token]>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Literal(u16),
    /// `*`: any run, also of `/`.
    Run,
    /// `?`: one byte.
    One,
    /// `[a-z]`, or `[!a-z]`.
    Set {
        ranges: Box<[(u16, u16)]>,
        complement: bool,
    },
}

impl Conner {
    /// The bytes that this takes on the heap.
    pub(crate) fn memory(&self) -> usize {
        let glob = |rule: &Rule| match &rule.glob {
            Glob::Explicit(path) => memory::list::<u16>(path.len()),
            Glob::Pattern(tokens) => {
                let set = |token: &Token| match token {
                    Token::Set { ranges, .. } => memory::list::<(u16, u16)>(ranges.len()),
                    _ => 0,
                };
                memory::list::<Token>(tokens.len()) + tokens.iter().map(set).sum::<usize>()
            }
        };
        memory::list::<Rule>(self.rules.len()) + self.rules.iter().map(glob).sum::<usize>()
    }

    /// Prepares the rules. None where they would take more than `room` bytes.
    pub(crate) fn prepare(lines: &[RuleLine<'_>], room: usize) -> Option<Self> {
        let mut sorted: Vec<_> =
            lines.iter().enumerate().filter(|(_, line)| !line.value.is_empty()).collect();
        let most = |(_, line): &(usize, &RuleLine<'_>)| {
            size_of::<Rule>() + memory::list::<Token>(line.value.len()) + memory::block(4 * line.value.len())
        };
        if sorted.iter().map(most).sum::<usize>() > room {
            return None;
        }
        sorted.sort_by_key(|(_, line)| rank(line));
        let rules = sorted
            .into_iter()
            .map(|(i, line)| {
                let glob = if is_explicit(line.value) {
                    Glob::Explicit(decode(line.value).into())
                } else {
                    Glob::Pattern(tokens(line.value).into())
                };
                Rule { allow: line.allow, number: i as u32, glob }
            })
            .collect();
        Some(Self { rules })
    }

    /// Finds the deciding rule: whether it allows, and its number.
    pub(crate) fn decide(&self, path: &[u16]) -> Option<(bool, u32)> {
        let mut places = None;
        let matching = self.rules.iter().find(|rule| match &rule.glob {
            Glob::Explicit(whole) => **whole == *path,
            Glob::Pattern(tokens) => matches(tokens, path, &mut places),
        })?;
        Some((matching.allow, matching.number))
    }
}

/// Returns whether a record has Allow lines and no Disallow line, empty ones aside: it denies the rest.
pub(crate) fn has_only_allow(lines: &[RuleLine<'_>]) -> bool {
    let mut lines = lines.iter().filter(|line| !line.value.is_empty()).peekable();
    lines.peek().is_some() && lines.all(|line| line.allow)
}

/// The place of a rule in the order in which they are asked, the first of equal ones first.
///
/// Explicit beats pattern, then the longer value, then Disallow: no source fixes this order; it is the only simple one that
/// gives the results in the comments of the author's example.
pub(crate) fn rank(line: &RuleLine<'_>) -> (bool, std::cmp::Reverse<usize>, bool) {
    (!is_explicit(line.value), std::cmp::Reverse(line.value.len()), line.allow)
}

fn is_explicit(value: &[u8]) -> bool {
    memchr::memchr3(b'*', b'?', b'[', value).is_none() && !value.contains(&b'\\')
}

/// Returns whether a value covers a path, without preparing it for others. Memory: 24 bytes for each of the value's. `places`: those of
/// the path, once they are made.
pub(crate) fn covers(value: &[u8], path: &[u16], places: &mut Option<Places>) -> bool {
    if is_explicit(value) { decode(value) == path } else { matches(&tokens(value), path, places) }
}

fn tokens(value: &[u8]) -> Vec<Token> {
    let mut out = Vec::with_capacity(value.len());
    // No set is closed behind it: looking again for each bracket would take the square of the time.
    let last_close = memchr::memrchr(b']', value).unwrap_or_default();
    let mut i = 0;
    while i < value.len() {
        let (token, width) = match value[i] {
            b'*' => (Token::Run, 1),
            b'?' => (Token::One, 1),
            b'\\' if i + 1 < value.len() => (Token::Literal(u16::from(value[i + 1])), 2),
            b'[' if i < last_close => set(&value[i..]).unwrap_or((Token::Literal(u16::from(b'[')), 1)),
            _ => symbol(&value[i..]),
        };
        // Neighbouring runs are one run.
        if !(token == Token::Run && out.last() == Some(&Token::Run)) {
            out.push(token);
        }
        i += width;
    }
    out
}

fn symbol(bytes: &[u8]) -> (Token, usize) {
    match escaped(bytes) {
        Some(b'/') => (Token::Literal(ESCAPED_SLASH), 3),
        Some(b) => (Token::Literal(u16::from(b)), 3),
        None => (Token::Literal(u16::from(bytes[0])), 1),
    }
}

/// Reads `[...]`; none where it isn't closed, so that the bracket stays literal.
fn set(bytes: &[u8]) -> Option<(Token, usize)> {
    let complement = matches!(bytes.get(1), Some(b'!' | b'^'));
    let start = 1 + usize::from(complement);
    // A `]` that comes first belongs to the set.
    let end = start + 1 + bytes.get(start + 1..)?.iter().position(|&b| b == b']')?;
    let members = &bytes[start..end];
    let mut ranges = Vec::new();
    let mut i = 0;
    while i < members.len() {
        let from = u16::from(members[i]);
        if i + 2 < members.len() && members[i + 1] == b'-' {
            ranges.push((from, u16::from(members[i + 2])));
            i += 3;
        } else {
            ranges.push((from, from));
            i += 1;
        }
    }
    Some((Token::Set { ranges: ranges.into(), complement }, end + 1))
}

/// Compares a whole path. Cost: a step for each 64 bytes of the path, for each token and each range of a set. `places`: those of the
/// path, once they are made.
fn matches(pattern: &[Token], path: &[u16], places: &mut Option<Places>) -> bool {
    let places = places.get_or_insert_with(|| Places::new(path.len(), path.iter().copied().enumerate()));
    places.start();
    let mut step = |token: &Token| match token {
        Token::Literal(symbol) => places.step([(*symbol, 1)]),
        Token::One => places.step([(ANY, 1)]),
        Token::Set { ranges, complement } => places.step_ranges(ranges, *complement),
        Token::Run => places.first().map(|first| places.spread(first)).is_some(),
    };
    pattern.iter().all(&mut step) && places.is_at_end()
}

/// Reads a Robot-version value: its first number, 1 where there is none.
pub(crate) fn version(value: &[u8]) -> Version {
    let Some(start) = value.iter().position(u8::is_ascii_digit) else { return Version::One };
    let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(&value[start..]);
    let major: u32 = decimal(&value[start..start + whole]);
    let fraction = match value.get(start + whole) {
        Some(b'.') => &value[start + whole + 1..],
        _ => &[],
    };
    let more = fraction[..digits(fraction)].iter().any(|&b| b != b'0');
    match (major, more) {
        (0 | 1, _) => Version::One,
        (2, false) => Version::Two,
        _ => Version::Higher,
    }
}

fn decimal(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |n: u32, b| n.saturating_mul(10).saturating_add(u32::from(b - b'0')))
}

/// The version of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// Absent, unreadable, or below 2.
    One,
    /// 2, 2.0, 2.0.0.
    Two,
    /// Higher: the record is skipped.
    Higher,
}

#[cfg(test)]
mod tests;
