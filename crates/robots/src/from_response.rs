//! From a response to its rules, in one step.

use jiff::Timestamp;

use crate::access::{Access, History, OnForbidden, Outcome, Policy, ResponseHead, judge};
use crate::{Agent, Dialect, Options, Robots};

impl Robots {
    /// Reads the final response to a request for /robots.txt: status, header fields and decoded body.
    ///
    /// Always answers, by RFC 9309 section 2.3.1 and [`judge`]:
    ///
    /// | response | rules |
    /// |---|---|
    /// | 2xx, but 206 | those of the body, as [`Robots::parse`] reads it; all is allowed where the body is HTML or binary without a known field |
    /// | 401, 403 | all is denied (draft of 1996); in [`Dialect::Rfc9309`] all is allowed |
    /// | 402, 407, 451 | all is denied |
    /// | 408, 421, 425, 429, 5xx, 206, no status | all is denied for now: ask again later |
    /// | other 4xx | all is allowed ("unavailable") |
    /// | 3xx | all is denied: follow redirects before |
    ///
    /// For how long an answer holds, what a stored copy is good for and how a failed connection is read, [`judge`] says. Full URLs
    /// in rules count as URLs of this site.
    ///
    /// ```
    /// use robots::{Agent, Options, Robots};
    ///
    /// let (agent, options) = (Agent::new("SuperRobot/1.0"), Options::default());
    /// let headers = [("Content-Type", "text/plain")];
    /// let robots = Robots::from_response(200, headers, b"User-agent: *\nDisallow: /private\n", &agent, &options);
    /// assert!(!robots.verdict("/private/x").allowed);
    /// assert!(Robots::from_response(404, [], b"", &agent, &options).verdict("/private/x").allowed);
    /// let broken = Robots::from_response(503, [], b"", &agent, &options);
    /// assert_eq!(broken.verdict("/").to_string(), "not allowed: unreachable: 503 (hardened)");
    /// ```
    pub fn from_response<'a>(
        status: u16,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: &[u8],
        agent: &Agent,
        options: &Options,
    ) -> Robots {
        let on_forbidden = match options.dialect {
            Dialect::Rfc9309 => OnForbidden::Rfc9309,
            _ => OnForbidden::Closed,
        };
        let policy = Policy { on_forbidden, ..Policy::default() };
        let outcome = Outcome::Answer { head: ResponseHead::new(status, headers), body };
        // Without a history there is no stored copy, and the time bears on lifetimes alone.
        let judged = judge(&outcome, &History::default(), &policy, Timestamp::UNIX_EPOCH);
        let robots = match judged.access {
            Access::Rules => return Robots::parse(body, agent, options, None),
            Access::AllowAll => Robots::allow_all(judged.reason),
            Access::DenyAll => Robots::deny_all(judged.reason),
            Access::Stored { .. } | Access::Defer => {
                let why = judged.reason.split_once(": ").map_or(&*judged.reason, |(_, why)| why);
                Robots::deny_all(format!("unreachable: {why}"))
            }
        };
        robots.with_dialect(options.dialect)
    }
}
