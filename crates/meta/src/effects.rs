//! What directives mean for storing, showing and queueing (section 4.6).

use serde::{Deserialize, Serialize};

/// Says what a crawler may do with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Effects {
    /// Extracted text, title and other metadata may be stored and indexed.
    pub store_text: bool,
    /// The response body may be stored (WARC, cached copy).
    pub store_body: bool,
    /// The page's links may enter the frontier through this page.
    pub enqueue_links: bool,
}
