//! What a user had removed from a crawl by `crawl forget`: a rule, which stays.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Which URLs a rule is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what", content = "text")]
pub enum Forget {
    /// This URL, normalised.
    Url(String),
    /// Every URL of this host, whatever scheme and port.
    Host(String),
    /// Every URL that matches this regular expression.
    Regex(String),
}

impl Forget {
    /// The URL, host or expression.
    pub fn text(&self) -> &str {
        match self {
            Self::Url(text) | Self::Host(text) | Self::Regex(text) => text,
        }
    }
}

/// A rule as stored; JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetRule {
    /// Form of this record: 1.
    pub v: u32,
    /// Which URLs.
    #[serde(flatten)]
    pub forget: Forget,
    /// When it was ordered.
    pub at: Timestamp,
    /// Why, in the user's words; empty where none were given.
    #[serde(default)]
    pub reason: String,
    /// Database, archive and indexes have nothing of the content any more; the database's free space is cleared apart.
    pub done: bool,
}

impl ForgetRule {
    /// Rules are in `meta` under this and their number (u64, big-endian).
    pub const PREFIX: &str = "forgotten/";

    /// Key of the rule with this number.
    pub fn key(number: u64) -> Vec<u8> {
        [Self::PREFIX.as_bytes(), &number.to_be_bytes()].concat()
    }

    /// What tombstones say.
    pub fn because(&self) -> String {
        if self.reason.is_empty() { "forgotten".to_owned() } else { format!("forgotten: {}", self.reason) }
    }
}
