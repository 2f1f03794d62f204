//! The table of outcomes.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Head;

/// Says how a fetch of /robots.txt ended, redirects included.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// A final response came whole. `body` is decoded and may be cut at the size limit.
    Answer {
        /// Status and fields.
        head: Head,
        /// The body, content coding removed.
        body: &'a [u8],
    },
    /// No whole response came.
    Failed(Failure),
    /// The redirects lead nowhere.
    Redirects(BadRedirect),
}

/// Names why no whole response came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Failure {
    /// The name could not be resolved.
    Dns,
    /// The connection was refused.
    Refused,
    /// The connection was reset.
    Reset,
    /// TLS failed.
    Tls,
    /// The deadline passed.
    Timeout,
    /// The body was shorter than announced, or its framing broke.
    Truncated,
    /// The content coding could not be undone, or expanded beyond the limit.
    Encoding,
    /// The response wasn't HTTP.
    Protocol,
    /// Anything else of the network.
    Other,
}

/// Names why redirects lead nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BadRedirect {
    /// A target came twice.
    Loop,
    /// More than five hops.
    TooMany,
    /// No Location, or one that isn't an http or https URL that may be visited.
    BadTarget,
}

/// What is remembered of earlier tries at this origin. The default: nothing, ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The first failure after the last success.
    pub first_failure: Option<Timestamp>,
    /// Failures in a row before this outcome.
    pub failures: u32,
    /// When the last good copy of the rules was fetched or confirmed; none where none is stored.
    pub good_copy: Option<Timestamp>,
}

/// Says what 401 and 403 mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnForbidden {
    /// The whole site is closed (draft of 1996; the default).
    #[default]
    Closed,
    /// "Unavailable": everything may be fetched (RFC 9309 section 2.3.1.3).
    Rfc9309,
}

/// Says what happens 30 days after the first failure of an origin without a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnreachableAfter30Days {
    /// It stays closed (the default).
    #[default]
    Never,
    /// It opens (RFC 9309 section 2.3.1.4, MAY).
    After30Days,
}

/// Holds the choices of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// What 401 and 403 mean.
    pub on_forbidden: OnForbidden,
    /// Whether an unreachable origin ever opens by itself.
    pub open_unreachable: UnreachableAfter30Days,
    /// Least lifetime of a file. Default 10 min.
    pub min_ttl: Duration,
    /// Lifetime where no field says one. Default 24 h.
    pub default_ttl: Duration,
    /// Longest lifetime. Default 24 h (RFC 9309 section 2.4); up to 7 d for `koster1996`.
    pub max_ttl: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            on_forbidden: OnForbidden::Closed,
            open_unreachable: UnreachableAfter30Days::Never,
            min_ttl: Duration::from_mins(10),
            default_ttl: Duration::from_hours(24),
            max_ttl: Duration::from_hours(24),
        }
    }
}

/// Says what an origin permits until the judgement is due again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Parse the body that came and obey it.
    Rules,
    /// Obey the stored copy: 304, or unreachable for over 12 h. `half_rate`: at no more than half the usual rate.
    Stored {
        /// Whether the usual rate is halved.
        half_rate: bool,
    },
    /// Everything may be fetched.
    AllowAll,
    /// Nothing may be fetched; queued URLs may be skipped with this reason.
    DenyAll,
    /// Nothing may be fetched now; queued URLs wait until `next_try`.
    Defer,
}

/// What `judge` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What is permitted.
    pub access: Access,
    /// The evidence, e.g. `unavailable: 404`, `closed: 403`, `unreachable since 2026-01-01T00:00:00Z: timeout`.
    pub reason: Arc<str>,
    /// For how long this holds, from `now`; /robots.txt is asked again before the next page after that.
    pub lifetime: Duration,
    /// `now + lifetime`.
    pub next_try: Timestamp,
    /// The history to store for the next judgement.
    pub history: History,
}

/// Judges how a fetch of /robots.txt ended.
///
/// Source: RFC 9309 sections 2.3 and 2.4, and docs/robots.md for the deviations.
pub fn judge(outcome: &Outcome<'_>, history: &History, policy: &Policy, now: Timestamp) -> Judgement {
    let _ = outcome;
    Judgement {
        access: Access::Defer,
        reason: "unreachable".into(),
        lifetime: policy.min_ttl,
        next_try: now + policy.min_ttl,
        history: *history,
    }
}
