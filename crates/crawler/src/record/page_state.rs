//! What a page was found to be at one time.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A state of a page; JSON. Of a page that is withheld now it has no digest and no simhash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageState {
    /// When it was found.
    pub at: Timestamp,
    /// When it was seen last.
    pub last_seen: Timestamp,
    /// The status code.
    pub status: Option<u16>,
    /// As of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// As of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<u64>,
    /// The page might be indexed.
    pub indexed: bool,
    /// Where a redirect led.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
}

impl PageState {
    /// What differs from a later state: `status`, `content` (the digest, where both have one), `indexed`, `redirect`.
    pub fn changed(&self, later: &Self) -> Vec<&'static str> {
        let has_both = self.digest.is_some() && later.digest.is_some();
        let parts = [
            ("status", self.status != later.status),
            ("content", has_both && self.digest != later.digest),
            ("indexed", self.indexed != later.indexed && self.status == later.status),
            ("redirect", self.redirect != later.redirect),
        ];
        parts.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }

    /// How alike the texts are: the part of the 64 bits of their simhashes that is the same. None where one has none.
    pub fn similarity(&self, later: &Self) -> Option<f64> {
        let (one, two) = self.simhash.zip(later.simhash)?;
        Some(f64::from((one ^ two).count_zeros()) / 64.0)
    }
}
