//! The answer for one URL, with its evidence.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Dialect;

/// Whether a URL may be fetched, and why. The same value is used in the crawl, the log and the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    /// Whether the URL may be fetched.
    pub allowed: bool,
    /// The dialect that decided. Under `strictest`: the member that denies, or `strictest` where all allow.
    pub dialect: Dialect,
    /// What decided.
    pub reason: Reason,
    /// The number of the deciding line, from 1; none where no line decided.
    pub line: Option<u32>,
    /// The deciding line as it was written, without comment, in lossy UTF-8, cut after 2,048 bytes.
    pub rule: Option<Arc<str>>,
    /// The value of the user-agent line that selected the group.
    pub group: Option<Arc<str>>,
}

impl Verdict {
    /// Makes a verdict that no line decided.
    pub(crate) fn bare(allowed: bool, dialect: Dialect, reason: Reason) -> Verdict {
        Verdict { allowed, dialect, reason, line: None, rule: None, group: None }
    }
}

/// Says what decided a [`Verdict`]. Serialised as its [`Display`](fmt::Display) text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A rule of the file: `line` and `rule` name it.
    Rule,
    /// A group binds us and none of its rules matches.
    NoRuleMatches,
    /// A group binds us and holds no rules.
    NoRulesInGroup,
    /// The file has groups, none for us and none for `*`.
    NoGroup,
    /// The file has no groups at all.
    NoRules,
    /// `/robots.txt` may always be fetched (RFC 9309 section 2.2.2).
    RobotsTxt,
    /// A 2.0 record that holds Allow lines alone denies the rest (`conner1996`).
    OnlyAllowLines,
    /// No file decided but the way its fetch ended, e.g. `unavailable: 404`, `closed: 403`, `unreachable since ...`.
    Access(Arc<str>),
}

impl Reason {
    const NAMED: [Reason; 7] = [
        Reason::Rule,
        Reason::NoRuleMatches,
        Reason::NoRulesInGroup,
        Reason::NoGroup,
        Reason::NoRules,
        Reason::RobotsTxt,
        Reason::OnlyAllowLines,
    ];
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Rule => "rule",
            Reason::NoRuleMatches => "no rule matches",
            Reason::NoRulesInGroup => "group without rules",
            Reason::NoGroup => "no group for us",
            Reason::NoRules => "no rules in the file",
            Reason::RobotsTxt => "robots.txt itself",
            Reason::OnlyAllowLines => "2.0 record with only Allow lines",
            Reason::Access(text) => text,
        })
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let known = Reason::NAMED.iter().find(|reason| reason.to_string() == text).cloned();
        Ok(known.unwrap_or_else(|| Reason::Access(text.into())))
    }
}

impl fmt::Display for Verdict {
    /// Writes one sentence, e.g. ``not allowed: line 2 `Disallow: /private` in the group `SuperRobot` (hardened)``.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.allowed { "allowed: " } else { "not allowed: " })?;
        match (&self.rule, self.line) {
            (Some(rule), Some(line)) => write!(f, "line {line} `{rule}`")?,
            _ => write!(f, "{}", self.reason)?,
        }
        if let Some(group) = &self.group {
            write!(f, " in the group `{group}`")?;
        }
        write!(f, " ({})", self.dialect)
    }
}
