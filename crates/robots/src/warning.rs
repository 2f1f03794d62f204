//! What a reader of the file, and its author, should know about single lines.

use std::fmt;

use serde::Serialize;

/// Names a line of a file and what is odd about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The number of the line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// What is odd.
    pub kind: WarningKind,
    /// The line or the part of it that is meant, in lossy UTF-8, cut after 100 octets; may be empty.
    pub text: String,
}

/// Says what is odd about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WarningKind {
    /// The field name is misspelt but clear.
    Typo,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        write!(f, "{:?} `{}`", self.kind, self.text)
    }
}
