//! Which of several decisions keeps a URL from its request.

use crate::record::{Decision, Layer, LinkOutcome, Reason};

/// How far a link to a URL got before it was skipped. A URL may be found by several links, each judged on its own; the one that got furthest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// The page or the sitemap that has it: nofollow, what kind of link it is, redirects before it.
    Link,
    /// Hosts, paths and patterns.
    Scope,
    /// Depth, length, growth, spaces without end.
    Limit,
    /// What its site says: robots.txt, consent, the type of its response.
    Site,
    /// The user had it removed.
    Removed,
}

/// The stage at which a decision excluded a URL.
pub(super) fn stage(skip: &Decision) -> Stage {
    use LinkOutcome as Skip;
    match (skip.layer, &skip.reason) {
        (_, Reason::Link(Skip::Forgotten)) => Stage::Removed,
        (Layer::Robots | Layer::Consent | Layer::Address, _) | (_, Reason::Link(Skip::Type)) => Stage::Site,
        (_, Reason::Link(Skip::OtherHost | Skip::OtherPath | Skip::Pattern)) => Stage::Scope,
        (Layer::Trap, _) | (_, Reason::Link(Skip::TooDeep | Skip::TooLong | Skip::Growth | Skip::Costly)) => {
            Stage::Limit
        }
        _ => Stage::Link,
    }
}
