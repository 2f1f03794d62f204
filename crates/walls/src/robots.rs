//! What a wall in place of robots.txt means.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::verdict::{Outcome, Verdict};

/// Names of fields whose lines are rules, or lead to what a site wants crawled. Lower case.
const FIELDS: [&[u8]; 9] = [
    b"user-agent",
    b"useragent",
    b"disallow",
    b"allow",
    b"sitemap",
    b"crawl-delay",
    b"noindex",
    b"content-signal",
    b"content-usage",
];

/// Bytes of a file that are looked through: those that RFC 9309, section 2.5, has every parser read.
const LOOKED_AT: usize = 500 * 1024;

/// After which time a robots.txt behind a wall is asked for again, the first time.
pub const FIRST_RETRY: Duration = Duration::from_secs(60 * 60);

/// How a response to a request for robots.txt is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RobotsReading {
    /// As its status and body say: no wall, or one that says nothing of what may be crawled (`placeholder`, `shell`).
    AsItIs,
    /// The file wasn't seen: nothing of the site may be asked for, under any setting, until it is. It is asked for again, first after
    /// [`FIRST_RETRY`].
    Defer,
    /// The status closes the site by itself (401, 402, 403, 407, 451). It stays closed, or waits like [`Defer`](Self::Defer), but for the
    /// wall: a count of sites that deny robots doesn't have it.
    ClosedByWall,
}

/// How a response to a request for robots.txt is read, from its verdict and status. The verdict is of an answer to
/// [`Asked::Robots`](crate::Asked::Robots): then lines of rules have won over its body already.
pub fn robots_reading(verdict: &Verdict, status: u16) -> RobotsReading {
    let wall = match status {
        // A page that says that there is no file may look like many things.
        404 | 410 => verdict.is_certain().then_some(verdict.outcome),
        _ => verdict.wall(),
    };
    match wall {
        Some(outcome) if !outcome.keeps_out() => RobotsReading::AsItIs,
        None | Some(Outcome::Page) => RobotsReading::AsItIs,
        Some(_) if matches!(status, 401 | 402 | 403 | 407 | 451) => RobotsReading::ClosedByWall,
        Some(_) => RobotsReading::Defer,
    }
}

/// Whether a body has a line with a field of robots.txt.
pub(crate) fn has_rules(body: &[u8]) -> bool {
    let body = &body[..body.len().min(LOOKED_AT)];
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    body.split(|byte| matches!(byte, b'\n' | b'\r')).any(|line| {
        let line = line.trim_ascii_start();
        let Some(colon) = memchr::memchr(b':', &line[..line.len().min(40)]) else { return false };
        let name = line[..colon].trim_ascii_end();
        FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name))
    })
}
