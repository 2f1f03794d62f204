//! What a web saw of a crawler: the only evidence that the oracle accepts.

use std::fmt;
use std::time::Duration;

use crate::rules::Rules;

/// Why a request was made, as the web understands it (a crawler's own word for it isn't asked).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// `/robots.txt`, or the place that one redirects to.
    Robots,
    /// Anything else.
    Page,
}

/// What the answer to a robots.txt request tells about an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// The origin that the rules bind (the first one of a redirect chain, RFC 9309 section 2.3.1.2).
    pub origin: String,
    /// The rules, or none if the answer leaves the origin unreachable (5xx, 429 or no answer).
    pub rules: Option<Rules>,
    /// How long the answer may be relied on.
    pub fresh_for: Duration,
}

/// One request with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// When the first byte of the request arrived, since the start of the log.
    pub start: Duration,
    /// When the last byte of the response was sent, the connection failed, or the client closed it.
    pub end: Duration,
    /// The host name without port: the unit of pace.
    pub host: String,
    /// Scheme, host and port: the unit of robots.txt.
    pub origin: String,
    /// Path and query.
    pub path: String,
    /// robots.txt or a page.
    pub purpose: RequestKind,
    /// The status code, if there was an answer.
    pub status: Option<u16>,
    /// The `Retry-After` of the answer.
    pub retry_after: Option<Duration>,
    /// What the answer tells about robots.txt.
    pub lesson: Option<Lesson>,
}

impl Request {
    /// The whole URL.
    pub fn url(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        write!(
            f,
            "{:.3}..{:.3} s {}{} {:?} {status}",
            self.start.as_secs_f64(),
            self.end.as_secs_f64(),
            self.origin,
            self.path,
            self.purpose
        )?;
        self.retry_after.map_or(Ok(()), |after| write!(f, " Retry-After {} s", after.as_secs_f64()))
    }
}
