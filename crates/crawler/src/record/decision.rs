//! One decision with its reason and evidence: an entry of the ledger.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Decided, Evidence, LinkOutcome, Reason};

/// The layer that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layer {
    /// Hosts, paths, patterns, depth.
    Scope,
    /// The URL was known already.
    Seen,
    /// robots.txt.
    Robots,
    /// Gaps and pauses.
    Pace,
    /// The request and its response.
    Fetch,
    /// The address guard.
    Address,
    /// Meta tags and headers.
    Directive,
    /// What a site says about the use of its pages.
    Consent,
    /// A limit.
    Limit,
    /// A space of URLs without end.
    Trap,
    /// The same content under another URL.
    Dedup,
    /// Start, stop and resume of the crawl.
    Stop,
}

impl Layer {
    /// All layers. Their places in this list are what the ledger holds: a new one goes to the end.
    pub const ALL: [Self; 12] = [
        Self::Scope,
        Self::Seen,
        Self::Robots,
        Self::Pace,
        Self::Fetch,
        Self::Address,
        Self::Directive,
        Self::Consent,
        Self::Limit,
        Self::Trap,
        Self::Dedup,
        Self::Stop,
    ];

    /// The layer that leaves out a link with this outcome.
    pub fn of_skip(outcome: LinkOutcome) -> Self {
        match outcome {
            LinkOutcome::PageNofollow | LinkOutcome::RelNofollow | LinkOutcome::NoImageIndex => {
                Self::Directive
            }
            LinkOutcome::TooLong
            | LinkOutcome::TooManyRedirects
            | LinkOutcome::RedirectLoop
            | LinkOutcome::TooDeep
            | LinkOutcome::Growth
            | LinkOutcome::Type => Self::Limit,
            outcome if outcome.is_trap() => Self::Trap,
            _ => Self::Scope,
        }
    }

    /// The layer's name, as records and tables hold it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scope => "scope",
            Self::Seen => "seen",
            Self::Robots => "robots",
            Self::Pace => "pace",
            Self::Fetch => "fetch",
            Self::Address => "address",
            Self::Directive => "directive",
            Self::Consent => "consent",
            Self::Limit => "limit",
            Self::Trap => "trap",
            Self::Dedup => "dedup",
            Self::Stop => "stop",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// When.
    pub at: Timestamp,
    /// About which URL, or origin, or host.
    pub url: String,
    /// The host.
    pub host: String,
    /// What was decided.
    pub decision: Decided,
    /// Who decided.
    pub layer: Layer,
    /// Why.
    pub reason: Reason,
    /// The line, tag, limit or number that decided.
    #[serde(skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// The page that the URL was found on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

impl Decision {
    /// True for the entry that begins a run.
    pub fn begins_a_run(&self) -> bool {
        self.layer == Layer::Stop && matches!(self.decision, Decided::Started | Decided::Resumed)
    }

    /// How many runs before the one in which it was entered the request of this entry was made: an owner of a partition died, and it was known only
    /// later what that one had in flight. 0 for all other entries.
    pub fn runs_earlier(&self) -> u32 {
        if self.decision != Decided::Interrupted {
            return 0;
        }
        let words = self.evidence.words.as_deref().unwrap_or_default();
        words.rsplit_once(RUNS_EARLIER).and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
    }
}

/// How the words of an entry say how many runs were begun since its request was made; the number follows.
pub(crate) const RUNS_EARLIER: &str = "; runs begun since: ";

/// Evidence of an entry for a seed that the settings leave out.
pub(crate) const A_SEED: &str = "a seed";
