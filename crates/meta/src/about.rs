//! What else a page says about itself (section 4.7).

use serde::{Deserialize, Serialize};

/// Tells whether a page says that it's made anew for each visit (`document-state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentState {
    /// The page stays as it is.
    Static,
    /// The page changes with every visit: nothing of it is stored.
    Dynamic,
}

/// Is a request to load a page again, or another one (`meta refresh` or the header `Refresh`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Refresh {
    /// Seconds to wait.
    pub seconds: u32,
    /// The target as written, to be resolved against the page's base; none = the page itself.
    pub url: Option<String>,
}
