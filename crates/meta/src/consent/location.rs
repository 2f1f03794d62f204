//! Paths with `*` and `$`, as consent files write them.

use robots::memory::block;

/// A pattern for paths: a prefix, `*` is any run of bytes, `$` at the end is the end of the URL.
///
/// Percent-escapes are compared after normalising: escaped unreserved characters are decoded, hex digits are
/// upper case, other bytes over 127 are escaped (RFC 9309 section 2.2.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pattern: Vec<u8>,
    is_whole: bool,
    bytes: usize,
}

impl Location {
    /// Makes a pattern; a missing `/` at the start is added.
    pub fn new(pattern: &str) -> Self {
        let pattern = pattern.trim();
        let bytes = pattern.len();
        let (pattern, is_whole) = pattern.strip_suffix('$').map_or((pattern, false), |start| (start, true));
        let start = if pattern.starts_with(['/', '*']) { "" } else { "/" };
        Self { pattern: normalise(&format!("{start}{pattern}")), is_whole, bytes }
    }

    /// Returns the length of the pattern as written, in bytes: the longest pattern that matches decides.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether a path (with query) is covered. Cost: at most pattern x path, without backtracking further
    /// than the last `*`.
    pub fn matches(&self, path: &str) -> bool {
        self.matches_normalised(&normalise(path))
    }

    /// The bytes that this takes on the heap.
    pub(crate) fn memory(&self) -> usize {
        block(self.pattern.capacity())
    }

    /// Returns what every path that is covered begins with, normalised.
    pub(crate) fn literal_start(&self) -> &[u8] {
        self.pattern.split(|byte| *byte == b'*').next().unwrap_or_default()
    }

    /// As [`Location::matches`], of a path that [`normalise`] gave.
    pub(crate) fn matches_normalised(&self, path: &[u8]) -> bool {
        let pattern = &self.pattern;
        let (mut p, mut s) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        loop {
            if p == pattern.len() && (!self.is_whole || s == path.len()) {
                return true;
            }
            match pattern.get(p) {
                Some(b'*') => {
                    star = Some((p, s));
                    p += 1;
                }
                Some(byte) if path.get(s) == Some(byte) => {
                    p += 1;
                    s += 1;
                }
                _ => match star {
                    Some((at, from)) if from < path.len() => {
                        star = Some((at, from + 1));
                        p = at + 1;
                        s = from + 1;
                    }
                    _ => return false,
                },
            }
        }
    }
}

/// Normalises percent-escapes.
pub(crate) fn normalise(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut normal = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        let escaped = (*byte == b'%').then(|| bytes.get(at..at + 2).and_then(hex)).flatten();
        match escaped {
            Some(decoded) => {
                at += 2;
                let is_unreserved = decoded.is_ascii_alphanumeric() || b"-._~".contains(&decoded);
                if is_unreserved { normal.push(decoded) } else { push_escaped(&mut normal, decoded) }
            }
            None if byte.is_ascii() => normal.push(*byte),
            None => push_escaped(&mut normal, *byte),
        }
    }
    normal
}

fn push_escaped(normal: &mut Vec<u8>, byte: u8) {
    normal.extend(format!("%{byte:02X}").bytes());
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(*digits.first()?)? * 16 + digit(*digits.get(1)?)?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_prefixes_with_stars_and_an_end_mark() {
        for (pattern, path, expected) in [
            ("/", "/x", true),
            ("", "/x", true),
            ("/a", "/ab", true),
            ("/a$", "/ab", false),
            ("/a$", "/a", true),
            ("a/", "/a/b", true),
            ("*.jpg", "/x/y.jpg?z", true),
            ("/*.jpg$", "/x/y.jpg?z", false),
            ("/*.jpg$", "/x.jpg.jpg", true),
            ("/a*$", "/a", true),
            ("/a*$", "/a/b", true),
            ("/a*b$", "/a/b/c", false),
            ("/*/b/*/d", "/a/b/c/d", true),
            ("/*/b/*/d", "/a/c/d", false),
            ("/A", "/a", false),
            ("/%7Ea", "/~a", true),
            ("/a%2fb", "/a/b", false),
            ("/a%2fb", "/a%2Fb", true),
            ("/ä", "/%c3%A4", true),
            ("/%", "/%x", true),
        ] {
            assert_eq!(Location::new(pattern).matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_cost_no_more_than_pattern_times_path() {
        let pattern = Location::new(&format!("/{}b", "*a".repeat(2_000)));
        assert!(!pattern.matches(&format!("/{}", "a".repeat(20_000))));
    }
}
