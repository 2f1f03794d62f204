//! The table of outcomes.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::ResponseHead;
use crate::StatusClass;
use crate::field::Field;
use crate::hardened::has_field;

/// Says how a fetch of /robots.txt ended, redirects included.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// A final response came whole. `body` is decoded and may be cut at the size limit.
    Answer {
        /// Status and fields.
        head: ResponseHead,
        /// The body, content coding removed.
        body: &'a [u8],
    },
    /// No whole response came.
    Failed(Failure),
    /// The redirects lead nowhere.
    Redirects(BadRedirect),
    /// Something else was sent in place of the file, such as a challenge: what the site says to robots isn't known.
    Wall {
        /// Status and fields of the wall: its Retry-After counts.
        head: ResponseHead,
        /// What was sent, for the reason.
        what: &'a str,
        /// Its status closes the site by itself.
        closes: bool,
    },
    /// The target of a redirect wasn't asked for, for this reason: its host's own robots.txt denies it, say.
    Refused(&'a str),
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
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
pub enum UnreachableAfter30Days {
    /// It stays closed (the default).
    #[default]
    Never,
    /// It opens (RFC 9309 section 2.3.1.4, MAY).
    After30Days,
}

/// Holds the choices of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Parse the body that came and obey it; an empty one allows everything.
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
#[non_exhaustive]
pub struct Judgement {
    /// What is permitted.
    pub access: Access,
    /// The evidence, e.g. `unavailable: 404`, `closed: 403`, `unreachable since 2026-01-01T00:00:00Z: timeout`.
    pub reason: Arc<str>,
    /// For how long this holds, from `now`; /robots.txt is asked again before the next page after that.
    pub lifetime: Duration,
    /// `now + lifetime`.
    pub next_try: Timestamp,
    /// How much the caller may add to `lifetime` by chance, so that many origins that failed together are not asked together.
    pub jitter: Duration,
    /// The history to store for the next judgement.
    pub history: History,
}

/// Times after the first failure at which /robots.txt is asked again; hourly after the last one.
const RETRIES: [Duration; 3] = [Duration::from_mins(5), Duration::from_mins(15), Duration::from_mins(60)];
/// How long an unreachable origin must have been unreachable before a stored copy is used.
const FIRST_STOP: Duration = Duration::from_hours(12);
/// How old a stored copy may be, and after which time an unreachable origin may open by choice.
const LONGEST: Duration = Duration::from_hours(30 * 24);
/// Never closes the site and is never answered from a copy: it says "later".
const TOO_MANY_REQUESTS: &str = "429";
const DAY: Duration = Duration::from_hours(24);
/// Lifetime of an answer that is no robots.txt (HTML, binary).
const JUNK_TTL: Duration = Duration::from_hours(6);
/// After which time a file behind a wall is asked for again, at the earliest.
const WALL_RETRY: Duration = Duration::from_hours(1);
/// Bytes at the start in which a NUL tells a binary file.
const BINARY_PROBE: usize = 1024;

/// Judges how a fetch of /robots.txt ended. Pure: the same arguments give the same judgement.
///
/// Source: RFC 9309 sections 2.3 and 2.4; docs/robots.md lists the deviations, all of them to the stricter side.
pub fn judge(outcome: &Outcome<'_>, history: &History, policy: &Policy, now: Timestamp) -> Judgement {
    let table = Table { history, policy, now };
    match outcome {
        Outcome::Answer { head, body } => table.answer(head, body),
        Outcome::Failed(failure) => table.unreachable(failure.name(), None),
        Outcome::Refused(reason) => table.unreachable(reason, None),
        // Deviation: RFC 9309 section 2.3.1.3 would allow everything with most of these statuses, and its section 2.2 with 2xx.
        Outcome::Wall { head, what, closes: true } => {
            table.settled(Access::DenyAll, format!("closed: {}, {what}", head.status), DAY)
        }
        Outcome::Wall { head, what, closes: false } => table.walled(head, what),
        // Deviation: RFC 9309 section 2.3.1.2 would allow everything after five hops.
        Outcome::Redirects(bad) => table.settled(Access::DenyAll, format!("redirects: {}", bad.name()), DAY),
    }
}

struct Table<'a> {
    history: &'a History,
    policy: &'a Policy,
    now: Timestamp,
}

impl Table<'_> {
    fn answer(&self, head: &ResponseHead, body: &[u8]) -> Judgement {
        let status = head.status;
        match StatusClass::of(status) {
            // A part of the file, which was not requested.
            StatusClass::Partial => self.unreachable("206 unasked", None),
            StatusClass::Success => self.body(head, body),
            StatusClass::NotModified => match self.history.good_copy {
                Some(_) => self.fresh(
                    Access::Stored { half_rate: false },
                    "not modified: 304".to_owned(),
                    self.ttl(head),
                    true,
                ),
                None => self.unreachable("304 without a copy", None),
            },
            StatusClass::Redirect | StatusClass::OtherRedirection => {
                self.settled(Access::DenyAll, format!("redirects: {status} without target"), DAY)
            }
            StatusClass::Forbidden if self.policy.on_forbidden == OnForbidden::Rfc9309 => {
                self.unavailable(status)
            }
            // Deviation: RFC 9309 section 2.3.1.3 would allow everything.
            StatusClass::Forbidden | StatusClass::Closed => {
                self.settled(Access::DenyAll, format!("closed: {status}"), DAY)
            }
            StatusClass::TryAgain
            | StatusClass::TooManyRequests
            | StatusClass::Overloaded
            | StatusClass::ServerError
            | StatusClass::OtherServerError => {
                self.unreachable(&status.to_string(), head.asked_wait(self.now))
            }
            StatusClass::Unavailable => self.unavailable(status),
            StatusClass::Invalid => self.unreachable(&format!("status {status}"), None),
        }
    }

    fn unavailable(&self, status: u16) -> Judgement {
        self.settled(Access::AllowAll, format!("unavailable: {status}"), DAY)
    }

    fn body(&self, head: &ResponseHead, body: &[u8]) -> Judgement {
        let status = head.status;
        if body.trim_ascii().is_empty() {
            return self.fresh(Access::Rules, format!("empty file: {status}"), self.ttl(head), true);
        }
        let utf16 = body.starts_with(&[0xfe, 0xff]) || body.starts_with(&[0xff, 0xfe]);
        // A file that names any robot is a robots.txt, whatever else is in it: UTF-16 without a mark, UTF-32, stray NUL bytes.
        if !utf16
            && body[..body.len().min(BINARY_PROBE)].contains(&0)
            && !has_field(body, |field| field == Field::UserAgent)
        {
            return self.settled(Access::AllowAll, "no robots.txt: binary".to_owned(), JUNK_TTL);
        }
        if looks_like_html(head, body) && !utf16 && !has_field(body, |_| true) {
            return self.settled(
                Access::AllowAll,
                "no robots.txt: HTML without a known field".to_owned(),
                JUNK_TTL,
            );
        }
        self.fresh(Access::Rules, format!("fetched: {status}"), self.ttl(head), true)
    }

    fn ttl(&self, head: &ResponseHead) -> Duration {
        let said = head.freshness(self.now).unwrap_or(self.policy.default_ttl);
        said.min(self.policy.max_ttl).max(self.policy.min_ttl)
    }

    /// An answer that the origin gave: failures are forgotten.
    fn fresh(&self, access: Access, reason: String, lifetime: Duration, copy: bool) -> Judgement {
        let good_copy = if copy { Some(self.now) } else { None };
        let history = History { first_failure: None, failures: 0, good_copy };
        self.judgement(access, reason, lifetime, history)
    }

    /// An answer without rules: a stored copy, if there is one, no longer counts.
    fn settled(&self, access: Access, reason: String, lifetime: Duration) -> Judgement {
        self.fresh(access, reason, lifetime, false)
    }

    /// No answer: RFC 9309 section 2.3.1.4, and the steps of the specification.
    fn unreachable(&self, why: &str, asked: Option<Duration>) -> Judgement {
        let since = self.history.first_failure.filter(|&first| first <= self.now).unwrap_or(self.now);
        let lasted = between(since, self.now);
        let history = History {
            first_failure: Some(since),
            failures: self.history.failures.saturating_add(1),
            good_copy: self.history.good_copy,
        };
        let copy = self.history.good_copy.is_some_and(|at| between(at, self.now) <= LONGEST);
        let (access, step) = if lasted < FIRST_STOP || why == TOO_MANY_REQUESTS {
            (Access::Defer, RETRIES.get(self.history.failures as usize).copied().unwrap_or(RETRIES[2]))
        } else if copy {
            (Access::Stored { half_rate: true }, RETRIES[2])
        } else if lasted >= LONGEST && self.policy.open_unreachable == UnreachableAfter30Days::After30Days {
            (Access::AllowAll, DAY)
        } else {
            (Access::DenyAll, DAY)
        };
        let wait = asked.map_or(step, |asked| asked.max(step));
        self.judgement(access, format!("unreachable since {since:.0}: {why}"), wait, history)
    }

    /// A wall in place of the file: like no answer, but it is asked for again after an hour at the earliest, and nothing but the file itself
    /// opens the site.
    fn walled(&self, head: &ResponseHead, what: &str) -> Judgement {
        let asked = head.asked_wait(self.now).unwrap_or_default().max(WALL_RETRY);
        let judgement = self.unreachable(&format!("{}, {what}", head.status), Some(asked));
        match judgement.access {
            Access::Stored { .. } | Access::AllowAll => Judgement { access: Access::DenyAll, ..judgement },
            _ => judgement,
        }
    }

    fn judgement(&self, access: Access, reason: String, lifetime: Duration, history: History) -> Judgement {
        let next_try = self.now.saturating_add(lifetime).unwrap_or(Timestamp::MAX);
        let jitter = if history.failures > 0 { lifetime / 10 } else { Duration::ZERO };
        Judgement { access, reason: reason.into(), lifetime, next_try, jitter, history }
    }
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

fn looks_like_html(head: &ResponseHead, body: &[u8]) -> bool {
    let said = head.content_type.as_deref().unwrap_or_default().to_ascii_lowercase();
    let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    said.contains("html") || start.first() == Some(&b'<')
}

impl Failure {
    /// Returns the word used in reasons.
    pub fn name(self) -> &'static str {
        match self {
            Failure::Dns => "dns",
            Failure::Refused => "connection refused",
            Failure::Reset => "connection reset",
            Failure::Tls => "tls",
            Failure::Timeout => "timeout",
            Failure::Truncated => "body truncated",
            Failure::Encoding => "content coding",
            Failure::Protocol => "not http",
            Failure::Other => "network",
        }
    }
}

impl BadRedirect {
    /// Returns the word used in reasons.
    pub fn name(self) -> &'static str {
        match self {
            BadRedirect::Loop => "loop",
            BadRedirect::TooMany => "more than five",
            BadRedirect::BadTarget => "bad target",
        }
    }
}
