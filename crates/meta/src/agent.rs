//! Agent names in tags, headers and robots.txt lines, normalised for comparison.

/// Cuts a name at its version and its first blank, and lowers its case.
pub(crate) fn product_token(name: &str) -> String {
    let name = name.split_whitespace().next().unwrap_or_default();
    name.split('/').next().unwrap_or_default().to_ascii_lowercase()
}
