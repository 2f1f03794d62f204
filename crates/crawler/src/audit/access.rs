//! What each robots.txt response permits and for how long, derived again from its status, its headers and its body,
//! never from what the crawl stored with them. Shares no code with `robots::access`.
//!
//! Source: RFC 9309 section 2.3.1, with the stricter readings that docs/robots.md lists, and RFC 9111 section 4.2.1 for lifetimes.

use jiff::fmt::rfc2822;

use super::{AuditError, AuditRules, Check};
use crate::record::robots::digest;
use crate::record::{RobotsAccess, RobotsRecord};
use crate::store::{Store, Tree};

const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;

/// Times on record may be rounded.
const ROUNDING: f64 = 1.0;

/// Judges each version. Cost: one pass over tree `robots`; in memory one version.
pub(super) fn judge<S: Store>(store: &S, rules: &AuditRules) -> Result<Check, AuditError> {
    let mut check = Check::new(
        "robots_access",
        "each robots.txt response was used as its status, headers and body allow, and not for longer",
    );
    for pair in store.scan(Tree::Robots, &[]) {
        let record = RobotsRecord::read(&pair?.1).map_err(AuditError::record(Tree::Robots))?;
        check.case();
        let faults = [body(&record), access(&record, rules), lifetime(&record)];
        for what in faults.into_iter().filter_map(Result::err) {
            check.broken(&record.origin, Some(record.fetched_at), what);
        }
    }
    Ok(check)
}

/// The stored body is the one whose digest and length are on record.
fn body(record: &RobotsRecord) -> Result<(), String> {
    let bytes = record.bytes();
    let is_there = record.body.is_some() || record.body_base64.is_some();
    match &record.digest {
        Some(named) if *named != digest(&bytes) => Err("the digest of the stored body differs".to_owned()),
        Some(_) if record.bytes != bytes.len() as u64 => {
            Err("the length of the stored body differs".to_owned())
        }
        None if is_there => Err("a body is stored without its digest".to_owned()),
        _ => Ok(()),
    }
}

/// No answer at all, or one that says: not now (RFC 9309 section 2.3.1.4).
fn is_unreachable(status: Option<u16>) -> bool {
    matches!(status, None | Some(206 | 408 | 421 | 425 | 429 | 500..)) || matches!(status, Some(..200))
}

fn access(record: &RobotsRecord, rules: &AuditRules) -> Result<(), String> {
    let status = record.status;
    let words = || status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
    let refused = |why: &str| Err(format!("{} was used as {}: {why}", words(), record.access));
    match (&record.access, status) {
        // Stricter is always right.
        (RobotsAccess::DenyAll | RobotsAccess::Defer, _)
        | (RobotsAccess::Rules, Some(200..=205 | 207..=299))
        | (RobotsAccess::Stored, Some(304)) => Ok(()),
        (RobotsAccess::Rules, _) => refused("only a 2xx answer has rules"),
        (RobotsAccess::Stored, _) if is_unreachable(status) && status != Some(429) => {
            let since =
                |at: Option<jiff::Timestamp>| at.map(|at| record.fetched_at.duration_since(at).as_secs_f64());
            let failing = since(record.first_failure).unwrap_or_default();
            match since(record.good_copy) {
                _ if failing + ROUNDING < 12.0 * HOUR => {
                    refused("it had been unreachable for less than 12 hours")
                }
                Some(age) if age <= 30.0 * DAY + ROUNDING => Ok(()),
                _ => refused("there is no copy of the last 30 days"),
            }
        }
        (RobotsAccess::AllowAll, Some(_)) if let Some(wall) = wall(record) => {
            refused(&format!("it is a wall in front of the file: {wall}"))
        }
        (RobotsAccess::AllowAll, Some(401 | 403))
            if rules.settings.robots.on_forbidden == robots::access::OnForbidden::Rfc9309 =>
        {
            Ok(())
        }
        (RobotsAccess::AllowAll, Some(401 | 402 | 403 | 407 | 451)) => refused("it closes the site"),
        (RobotsAccess::AllowAll, Some(400..=499)) if !is_unreachable(status) => Ok(()),
        (RobotsAccess::AllowAll, Some(200..=205 | 207..=299)) if is_no_robots_txt(record) => Ok(()),
        (RobotsAccess::AllowAll, Some(200..=205 | 207..=299)) => refused("its body is a robots.txt"),
        _ => refused("it allows nothing"),
    }
}

/// The wall that was sent in place of the file, by the classifier that the crawl has too: a crate of its own, which decides nothing.
fn wall(record: &RobotsRecord) -> Option<walls::Outcome> {
    let headers = record.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let (status, body) = (record.status?, record.bytes());
    let url = record.hops.last().unwrap_or(&record.origin);
    let answer =
        walls::Answer::new(status, url).with_headers(headers).with_body(&body).to(walls::Asked::Robots);
    let verdict = walls::classify(&answer);
    let hides_it = walls::robots_reading(&verdict, status) != walls::RobotsReading::AsItIs;
    verdict.wall().filter(|_| hides_it)
}

/// An HTML page, or a binary file, in which no line names a robot.
fn is_no_robots_txt(record: &RobotsRecord) -> bool {
    let bytes = record.bytes();
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes).trim_ascii_start();
    let names_robots = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).any(|line| {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        name.len() < line.len() && name.trim_ascii().eq_ignore_ascii_case(b"user-agent")
    });
    let is_html = text.starts_with(b"<")
        || values(record, "content-type").any(|value| value.to_ascii_lowercase().contains("html"));
    text.is_empty() || !names_robots && (is_html || bytes.iter().take(1024).any(|byte| *byte == 0))
}

fn lifetime(record: &RobotsRecord) -> Result<(), String> {
    let holds = record.expires.duration_since(record.fetched_at).as_secs_f64();
    let most = match (&record.access, record.status) {
        (RobotsAccess::Rules, _) | (RobotsAccess::Stored, Some(304)) => {
            freshness(record).unwrap_or(DAY).clamp(HOUR / 6.0, DAY)
        }
        (RobotsAccess::AllowAll, Some(200..=299)) if !record.bytes().trim_ascii().is_empty() => 6.0 * HOUR,
        (RobotsAccess::AllowAll, _) => DAY,
        // An hour and a tenth of it by chance, or as long as its Retry-After.
        (RobotsAccess::Stored, _) if values(record, "retry-after").next().is_none() => 1.1 * HOUR,
        _ => return Ok(()),
    };
    if holds > most + ROUNDING {
        return Err(format!("it was valid for {holds:.0} s; its headers and the limits allow {most:.0} s"));
    }
    Ok(())
}

fn values<'a>(record: &'a RobotsRecord, name: &'a str) -> impl Iterator<Item = &'a str> {
    record
        .headers
        .iter()
        .filter(move |(field, _)| field.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim())
}

/// A number of seconds of any size (RFC 9111 section 1.2.2): one that is too large for a crawl's clock is large, not unreadable.
fn seconds(value: &str) -> Option<f64> {
    let digits = value.trim();
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// For how long the answer is fresh by its own words, in seconds; none where they don't say, or say it in a form unknown here.
fn freshness(record: &RobotsRecord) -> Option<f64> {
    let mut most: Option<f64> = None;
    for value in values(record, "cache-control") {
        // Quoted strings may hold commas.
        let plain: String = value.split('"').step_by(2).collect();
        for directive in plain.split(',') {
            let (name, argument) = directive.split_once('=').unwrap_or((directive, ""));
            let name = name.trim().to_ascii_lowercase();
            if name == "no-store" || name == "no-cache" {
                return Some(0.0);
            }
            // One in quotes lost its argument above; it is read by the crawl alone.
            if name == "max-age" && !argument.trim().is_empty() {
                let age = seconds(argument).unwrap_or_default();
                most = Some(most.map_or(age, |most| most.min(age)));
            }
        }
    }
    if let Some(most) = most {
        let age = values(record, "age").next().and_then(seconds).unwrap_or_default();
        return Some((most - age).max(0.0));
    }
    let date = |name: &str| Some(rfc2822::parse(values(record, name).next()?).ok()?.timestamp());
    let from = date("date").unwrap_or(record.fetched_at);
    Some(date("expires")?.duration_since(from).as_secs_f64().max(0.0))
}
