//! Purposes for which a page may be used, and the consent of a site to each.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A permission or a denial; its absence (`None`) is "unknown". A denial outranks a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Consent {
    /// The use is permitted.
    Allow,
    /// The use is denied.
    Deny,
}

impl fmt::Display for Consent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        })
    }
}

/// A use that a crawl may declare (`--purpose search,archive`) and a site may deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// A search index with links and excerpts.
    Search,
    /// A kept copy.
    Archive,
    /// Input of a model that answers questions.
    AiInput,
    /// Training of models.
    AiTrain,
    /// Training of models with the page's images.
    AiTrainImages,
    /// Text and data mining.
    Tdm,
}

impl Purpose {
    /// Lists every purpose.
    pub const ALL: [Self; 6] =
        [Self::Search, Self::Archive, Self::AiInput, Self::AiTrain, Self::AiTrainImages, Self::Tdm];

    /// Returns the name used in options, columns and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Archive => "archive",
            Self::AiInput => "ai-input",
            Self::AiTrain => "ai-train",
            Self::AiTrainImages => "ai-train-images",
            Self::Tdm => "tdm",
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name isn't that of a purpose.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown purpose {0:?} (search, archive, ai-input, ai-train, ai-train-images or tdm)")]
pub struct UnknownPurpose(pub String);

impl FromStr for Purpose {
    type Err = UnknownPurpose;

    /// Reads a purpose's name; case doesn't matter, and `_` counts as `-`.
    fn from_str(name: &str) -> Result<Self, UnknownPurpose> {
        let wanted = name.trim().to_lowercase().replace('_', "-");
        Self::ALL.into_iter().find(|p| p.name() == wanted).ok_or_else(|| UnknownPurpose(name.to_owned()))
    }
}

/// How a copy may be used (`use=` of Content-Signal); a later variant is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// No limit.
    Full,
    /// Index, excerpt and link; no copy of the body.
    Reference,
    /// Store nothing.
    Immediate,
}

impl Grade {
    /// Returns the word as it's written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Reference => "reference",
            Self::Immediate => "immediate",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for purpose in Purpose::ALL {
            assert_eq!(purpose.to_string().parse(), Ok(purpose));
            assert_eq!(serde_json::to_value(purpose).unwrap(), purpose.name());
        }
        assert_eq!("AI_Train".parse(), Ok(Purpose::AiTrain));
        assert!("training".parse::<Purpose>().is_err());
    }
}
