//! What of a robots.txt decided about a request.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The robots.txt line that let the request pass, or the reason why there was none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsEvidence {
    /// Number of the deciding line, from 1.
    pub line: Option<u32>,
    /// The deciding rule as written.
    pub rule: Option<String>,
    /// The value of the user-agent line that chose the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The dialect that decided.
    #[serde(default)]
    pub dialect: robots::Dialect,
    /// The reason in words.
    pub reason: String,
    /// Digest of the robots.txt version.
    pub digest: Option<String>,
}

impl RobotsEvidence {
    /// Whether it says anything: a request may have failed before a robots.txt was asked.
    pub(crate) fn is_known(&self) -> bool {
        self.line.is_some() || !self.reason.is_empty()
    }
}

impl fmt::Display for RobotsEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, rule, group, dialect, reason, .. } = self;
        let group = group.as_ref().map(|group| format!("group {group}, ")).unwrap_or_default();
        match (line, rule) {
            (Some(line), Some(rule)) => write!(f, "line {line}: {rule} ({group}{dialect})"),
            (Some(line), None) => write!(f, "line {line} ({group}{dialect})"),
            _ => write!(f, "{reason} ({group}{dialect})"),
        }
    }
}
