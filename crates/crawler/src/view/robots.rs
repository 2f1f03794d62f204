//! Table `robots`: the versions of each robots.txt.

use std::fmt;

use serde::Serialize;

use super::cell::{Element, Kind};
use super::moment::Moment;
use super::open::{View, ViewError};
use super::row::row;
use crate::record::{RobotsAccess, RobotsRecord};
use crate::store::{Store, Tree};

row! {
    /// A response to a request for robots.txt.
    RobotsRow {
        /// Scheme, host and port that it applies to.
        origin: String,
        /// When the response was complete.
        fetched_at: Moment,
        /// The final status.
        status: Option<u16> [null = "there was no response"],
        /// `blake3:` and 64 hex digits, of the body.
        digest: Option<String> [null = "there was no response"],
        /// How long it is valid, in seconds.
        lifetime: f64 [unit = "s"],
        /// Bytes of the body.
        bytes: u64 [unit = "bytes"],
        /// Warnings about its lines: `{"line", "message"}`; in CSV `line 2: ...`.
        warnings: Vec<Warned>,
        /// Its effect: `rules stored allow_all deny_all defer`.
        access: RobotsAccess [names],
        /// Why, in words.
        reason: String [names],
        /// The URLs requested, if it was redirected.
        hops: Vec<String>,
        /// Values of its `License` lines, the first eight; a record of what the site says, no permission.
        license: Vec<String>,
        /// The price that the response names (`crawler-price`), where it is an error.
        payment: Option<String> [null = "it names none", names],
    }
}

/// A warning about a line of robots.txt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warned {
    /// Number of the line, from 1.
    pub line: u32,
    /// What is wrong with it.
    pub message: String,
}

impl Element for Warned {
    const MEMBERS: &'static [(&'static str, Kind)] = &[("line", Kind::Integer), ("message", Kind::Text)];
}

impl fmt::Display for Warned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = format!("line {}", self.line);
        let says_so = self.message.starts_with(&about);
        if says_so { f.write_str(&self.message) } else { write!(f, "{about}: {}", self.message) }
    }
}

impl View {
    /// The rows of table `robots`, by origin and time.
    pub fn robots(&self) -> impl Iterator<Item = Result<RobotsRow, ViewError>> + '_ {
        let mut rules: Option<(String, Option<String>)> = None;
        self.store().scan(Tree::Robots, &[]).map(move |pair| {
            let (_, value) = pair?;
            let mut record = RobotsRecord::read(&value).map_err(ViewError::packed(Tree::Robots))?;
            if record.access == RobotsAccess::Rules {
                rules = Some((record.origin.clone(), record.digest.clone()));
            } else if record.access == RobotsAccess::Stored
                && let Some((_, digest)) = rules.as_ref().filter(|(origin, _)| *origin == record.origin)
            {
                record.digest = record.digest.or_else(|| digest.clone());
            }
            Ok(robots_row(record))
        })
    }
}

fn robots_row(record: RobotsRecord) -> RobotsRow {
    let lifetime = record.expires.duration_since(record.fetched_at).as_secs_f64().max(0.0);
    let (license, payment) = (record.licenses(), record.payment());
    RobotsRow {
        origin: record.origin,
        fetched_at: Moment(record.fetched_at),
        status: record.status,
        digest: record.digest,
        lifetime: (lifetime * 1000.0).round() / 1000.0,
        bytes: record.bytes,
        warnings: record.warnings.into_iter().map(|(line, message)| Warned { line, message }).collect(),
        access: record.access,
        reason: record.reason,
        license,
        payment,
        hops: record.hops,
    }
}
