//! The decision of 1994 and 1996: decoded prefixes, the first matching line.

use std::ops::Range;

use crate::bytes::{escaped, words};
use crate::memory;
use crate::read::RuleLine;

/// An escaped slash: unlike `/` and unlike every byte, so that `%252F` stays apart from `%2F` too.
pub(crate) const ESCAPED_SLASH: u16 = 0x12f;

/// Decodes every `%XX` but the escaped slash; an incomplete escape stays.
///
/// Source: draft-koster-robots-00 section 3.2.2.
pub(crate) fn decode(bytes: &[u8]) -> Vec<u16> {
    symbols(bytes).collect()
}

/// As [`decode`], one after the other.
fn symbols(bytes: &[u8]) -> impl Iterator<Item = u16> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let (symbol, width) = match escaped(rest) {
            Some(b'/') => (ESCAPED_SLASH, 3),
            Some(b) => (u16::from(b), 3),
            None => (u16::from(first), 1),
        };
        rest = &rest[width..];
        Some(symbol)
    })
}

/// Holds decoded prefixes in file order.
#[derive(Debug, Clone, Default)]
pub(crate) struct FirstPrefix {
    rules: Box<[Prefix]>,
    symbols: Box<[u16]>,
}

#[derive(Debug, Clone)]
struct Prefix {
    allow: bool,
    rule: u32,
    symbols: Range<u32>,
}

/// The paths that a line names: of 1994 several, and one without a slash gets one; of 1996 one, as it is written.
pub(crate) fn paths<'a>(value: &'a [u8], is_of_1994: bool) -> impl Iterator<Item = (bool, &'a [u8])> {
    let whole = (!is_of_1994 && !value.is_empty()).then_some(value);
    let several = if is_of_1994 { value } else { &[] };
    let path = move |path: &'a [u8]| (is_of_1994 && !matches!(path[0], b'/' | b'*'), path);
    words(several).chain(whole).map(path)
}

/// Returns whether a path of a line, decoded, is the beginning of a URL's path. `add_slash`: it lacks its slash.
pub(crate) fn is_prefix(add_slash: bool, path: &[u8], url: &[u16]) -> bool {
    let slash = add_slash.then_some(u16::from(b'/'));
    let mut symbols = slash.into_iter().chain(symbols(path));
    let mut url = url.iter();
    symbols.all(|symbol| url.next() == Some(&symbol))
}

impl FirstPrefix {
    /// Prepares the Disallow lines of 1994, or the Allow and Disallow lines of 1996. None where they would take more than `room` bytes.
    pub(crate) fn prepare(lines: &[RuleLine<'_>], is_of_1994: bool, room: usize) -> Option<Self> {
        let mut symbols = Vec::new();
        let mut rules = Vec::new();
        for (i, line) in lines.iter().enumerate() {
            for (add_slash, path) in paths(line.value, is_of_1994) {
                let start = symbols.len() as u32;
                symbols.extend(add_slash.then_some(u16::from(b'/')));
                symbols.extend(self::symbols(path));
                let allow = line.allow && !is_of_1994;
                rules.push(Prefix { allow, rule: i as u32, symbols: start..symbols.len() as u32 });
                if rules.len() * size_of::<Prefix>() + symbols.len() * size_of::<u16>() > room {
                    return None;
                }
            }
        }
        Some(Self { rules: rules.into(), symbols: symbols.into() })
    }

    /// The bytes that this takes on the heap.
    pub(crate) fn memory(&self) -> usize {
        memory::list::<Prefix>(self.rules.len()) + memory::list::<u16>(self.symbols.len())
    }

    /// Finds the first rule whose path is a prefix: whether it allows, and its number.
    pub(crate) fn decide(&self, path: &[u16]) -> Option<(bool, u32)> {
        let matching = self.rules.iter().find(|rule| {
            path.starts_with(&self.symbols[rule.symbols.start as usize..rule.symbols.end as usize])
        })?;
        Some((matching.allow, matching.rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_definitive_guide_table_9_3() {
        let rows = [
            ("/tmp", "/tmp", true),
            ("/tmp", "/tmpfile.html", true),
            ("/tmp", "/tmp/a.html", true),
            ("/tmp/", "/tmp", false),
            ("", "README.TXT", true),
            ("/~fred/hi.html", "/%7Efred/hi.html", true),
            ("/%7Efred/hi.html", "/~fred/hi.html", true),
            ("/%7efred/hi.html", "/%7Efred/hi.html", true),
            ("/~fred/hi.html", "~fred%2Fhi.html", false),
            ("/~fred/hi.html", "/~fred%2Fhi.html", false),
        ];
        for (rule, path, expected) in rows {
            assert_eq!(
                decode(path.as_bytes()).starts_with(&decode(rule.as_bytes())),
                expected,
                "{rule} {path}"
            );
        }
    }

    #[test]
    fn draft_koster_3_2_2_table() {
        let rows = [
            ("/tmp", "/tmp.html", true),
            ("/tmp/", "/tmp/", true),
            ("/tmp/", "/tmp/a.html", true),
            ("/a%3cd.html", "/a%3cd.html", true),
            ("/a%3Cd.html", "/a%3cd.html", true),
            ("/a%3cd.html", "/a%3Cd.html", true),
            ("/a%3Cd.html", "/a%3Cd.html", true),
            ("/a%2fb.html", "/a%2fb.html", true),
            ("/a%2fb.html", "/a/b.html", false),
            ("/a/b.html", "/a%2fb.html", false),
            ("/%7ejoe/index.html", "/~joe/index.html", true),
            ("/a%252Fb", "/a%2Fb", false),
        ];
        for (rule, path, expected) in rows {
            assert_eq!(
                decode(path.as_bytes()).starts_with(&decode(rule.as_bytes())),
                expected,
                "{rule} {path}"
            );
        }
    }
}
