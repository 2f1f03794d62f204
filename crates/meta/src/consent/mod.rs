//! Consent signals: who may use a page for what (section 5 of the digest).

mod location;
pub mod tdm;

use serde::{Deserialize, Serialize};

pub use location::Location;

/// Is a word of consent; its absence (`None`) is "unknown". A denial outranks a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Consent {
    /// The use is permitted.
    Allow,
    /// The use is denied.
    Deny,
}

/// Is a use that a crawl may declare (`--purpose search,archive`) and a site may deny.
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
