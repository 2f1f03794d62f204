//! Evidence: which tag or header line stated what.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest text kept as evidence, in characters.
const TEXT_LIMIT: usize = 200;

/// The kind of place in which a statement was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SourceKind {
    /// A line of robots.txt.
    RobotsTxt,
    /// A file of the site, such as `/.well-known/tdmrep.json`.
    File,
    /// A response header field line.
    Header,
    /// A meta element of the page.
    Meta,
    /// A link of the page.
    Link,
    /// No statement: the dialect's own default.
    Dialect,
    /// No statement: a part of the response that couldn't be read, and may have held one.
    Unread,
}

/// Names the place of a statement: "which tag or header line".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Source {
    /// The kind of place.
    pub origin: SourceKind,
    /// Number of the header line (from 0) or position of the tag in the page, as handed in.
    pub position: u32,
    /// Name of the header field, the meta element, the file or the dialect.
    pub name: String,
    /// Its text, at most 200 characters, control characters replaced by spaces.
    pub text: String,
}

impl Source {
    /// Makes a source; the text is cut and cleaned.
    pub fn new(origin: SourceKind, position: u32, name: &str, text: &str) -> Self {
        Self { origin, position, name: clean(name), text: clean(text) }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.origin {
            SourceKind::RobotsTxt => {
                write!(f, "robots.txt line {}: {}: {}", self.position, self.name, self.text)
            }
            SourceKind::File => write!(f, "file {}: {}", self.name, self.text),
            SourceKind::Header => write!(f, "header {}: {}", self.name, self.text),
            SourceKind::Meta => write!(f, "meta {}: {}", self.name, self.text),
            SourceKind::Link => write!(f, "link {}: {}", self.name, self.text),
            SourceKind::Dialect => write!(f, "default of dialect {}", self.name),
            SourceKind::Unread => write!(f, "unread {}: {}", self.name, self.text),
        }
    }
}

/// Pairs a directive that took effect with the place that gave it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DirectiveSource {
    /// The directive in its canonical form: `noindex` (also where `none` was written), `max-snippet:30` ...
    pub directive: String,
    /// Its place.
    pub source: Source,
}

impl DirectiveSource {
    /// Returns the directive without its value.
    pub(crate) fn key(&self) -> &str {
        self.directive.split(':').next().unwrap_or_default()
    }
}

impl fmt::Display for DirectiveSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.directive, self.source)
    }
}

/// A value that couldn't be used, or was applied although malformed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Warning {
    /// What is wrong, in a few words.
    pub message: String,
    /// Its place.
    pub source: Source,
}

impl Warning {
    /// Makes a warning.
    pub(crate) fn new(message: &str, source: Source) -> Self {
        Self { message: message.to_owned(), source }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.source)
    }
}

/// Truncates untrusted text and removes its control characters, including bidirectional marks.
pub(crate) fn clean(text: &str) -> String {
    let text = text.trim();
    let text = text.char_indices().nth(TEXT_LIMIT).map_or(text, |(end, _)| &text[..end]);
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let is_bad = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if is_bad(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_cut_and_steers_no_terminal() {
        assert_eq!(clean(" noindex "), "noindex");
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c\nä"), "a [31mb c ä");
        assert_eq!(clean(&"ä".repeat(500)), "ä".repeat(200));
        assert_eq!(clean(&"a".repeat(500)).len(), 200);
    }
}
