//! Meta tags: a name and a content.

use serde::{Deserialize, Serialize};

use crate::Term;

/// Is one meta element of a page, as an HTML parser with scripting off sees it.
///
/// The values are as the parser gives them: character references resolved, nothing trimmed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MetaTag {
    /// Value of the attribute `name`.
    pub name: Option<String>,
    /// Value of the attribute `http-equiv`.
    pub http_equiv: Option<String>,
    /// Value of the attribute `property` (Open Graph); never a source of directives.
    pub property: Option<String>,
    /// Value of the attribute `content`.
    pub content: Option<String>,
    /// Where the tag stands in the page (ordinal or octet offset); kept as evidence.
    pub position: u32,
}

/// Reads the content of a robots meta tag into its terms (section 4.2).
pub fn parse_content(_content: &str) -> Vec<Term> {
    Vec::new()
}
