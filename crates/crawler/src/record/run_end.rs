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

impl EndRecord {
    /// The run hasn't ended, or its process died.
    pub(crate) fn is_of_death(&self) -> bool {
        self.end == "running"
    }
}

/// Key of [`EndRecord`].
pub(crate) const RUN_END: &str = "end";
