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
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        match escaped(&bytes[i..]) {
            Some(b'/') => out.push(ESCAPED_SLASH),
            Some(b) => out.push(u16::from(b)),
            None => {
                out.push(u16::from(bytes[i]));
                i += 1;
                continue;
            }
        }
        i += 3;
    }
    out
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

impl FirstPrefix {
    /// Prepares the Disallow lines of 1994: a line may have several paths, and a path without slash gets one.
    pub(crate) fn koster1994(lines: &[RuleLine<'_>]) -> Self {
        let paths = lines
            .iter()
            .enumerate()
            .flat_map(|(i, line)| words(line.value).map(move |word| (i, false, word)));
        Self::build(paths, true)
    }

    /// Prepares the Allow and Disallow lines of 1996: one path a line, as it is written.
    pub(crate) fn koster1996(lines: &[RuleLine<'_>]) -> Self {
        Self::build(lines.iter().enumerate().map(|(i, line)| (i, line.allow, line.value)), false)
    }

    fn build<'a>(paths: impl Iterator<Item = (usize, bool, &'a [u8])>, add_slash: bool) -> Self {
        let mut symbols = Vec::new();
        let mut rules = Vec::new();
        for (i, allow, path) in paths.filter(|(_, _, path)| !path.is_empty()) {
            let start = symbols.len() as u32;
            if add_slash && !matches!(path[0], b'/' | b'*') {
                symbols.push(u16::from(b'/'));
            }
            symbols.extend(decode(path));
            rules.push(Prefix { allow, rule: i as u32, symbols: start..symbols.len() as u32 });
        }
        Self { rules: rules.into(), symbols: symbols.into() }
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
