//! From header lines and meta tags to the decision.

use jiff::Timestamp;

use crate::{Agent, Dialect, Directives, MetaTag};

/// Holds what a page and its response say.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sources<'a> {
    /// Header field lines in order, each by itself: joining two lines would change their agent scopes.
    pub headers: &'a [(String, String)],
    /// Meta elements in document order.
    pub metas: &'a [MetaTag],
}

/// Decides what the sources ask of this agent at this time.
pub fn resolve(_sources: &Sources<'_>, _agent: &Agent, _dialect: Dialect, now: Timestamp) -> Directives {
    Directives::default().at(now)
}
