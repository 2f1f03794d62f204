//! What a reference may have been requested as: without session ids and marks of advertising. By the crate that the crawl strips them with.

use crate::costly::normal_forms;

/// The URL without anything that may be stripped, where it has such a thing.
pub(super) fn bare(url: &str) -> Option<String> {
    normal_forms(url).pop()
}

/// All URLs that a reference may have been requested as, besides itself.
pub(super) fn forms(url: &str) -> Vec<String> {
    // Hardly any URL has a thing to strip.
    normal_forms(url)
}

pub(super) use crate::costly::leads_to as is_to;
