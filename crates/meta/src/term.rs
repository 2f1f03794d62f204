//! One directive.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Is one term of section 4.4 of the digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are the terms")]
pub enum Term {
    All,
    None,
    NoIndex,
    Index,
    NoFollow,
    Follow,
    NoArchive,
    NoCache,
    Archive,
    NoSnippet,
    Snippet,
    MaxSnippet(Limit),
    MaxImagePreview(ImagePreview),
    MaxVideoPreview(Limit),
    NoImageIndex,
    NoTranslate,
    UnavailableAfter(Timestamp),
    IndexIfEmbedded,
    NoAi,
    NoMl,
    NoImageAi,
    NoOdp,
    NoYdir,
    NoYaca,
    NoSitelinksSearchBox,
}

/// Limits a length: characters of an excerpt, seconds of a video preview. A smaller one is stricter.
///
/// Written as a number, with -1 for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// At most this many.
    AtMost(u32),
    /// Said to be unlimited (`-1`).
    Unlimited,
}

impl Limit {
    /// Gives the number that is written for this limit: -1 is unlimited.
    pub fn number(self) -> i64 {
        match self {
            Self::AtMost(most) => i64::from(most),
            Self::Unlimited => -1,
        }
    }

    /// Reads a limit's number; every negative number is unlimited.
    fn from_number(number: i64) -> Self {
        if number < 0 { Self::Unlimited } else { Self::AtMost(u32::try_from(number).unwrap_or(u32::MAX)) }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.number())
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(Self::from_number)
    }
}

/// Limits the size of an image preview. A smaller one is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are the values")]
pub enum ImagePreview {
    None,
    Standard,
    Large,
}
