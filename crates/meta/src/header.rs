//! `X-Robots-Tag` and `Robots-Tag` header lines with their agent scopes.

use crate::Term;

/// Says whom a term addresses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Every robot.
    All,
    /// The robot of this name (lower case, without version).
    Agent(String),
}

/// Is one term with whom it addresses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scoped {
    /// Whom it addresses.
    pub scope: Scope,
    /// What it says.
    pub term: Term,
}

/// Reads one header field line; gives nothing for a field that isn't `X-Robots-Tag` or `Robots-Tag`.
pub fn parse_header_line(_name: &str, _value: &str) -> Vec<Scoped> {
    Vec::new()
}
