//! How the last run ended.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How the last run ended; JSON in tree `meta`, key `end`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRecord {
    /// `running`, `complete`, `limit`, `interrupted` or `forced`. A run that was killed leaves `running`.
    pub end: String,
    /// The limit's name and value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Key of [`EndRecord`].
pub(crate) const RUN_END: &str = "end";
