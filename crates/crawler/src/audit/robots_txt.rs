//! robots.txt, judged again: known and fresh before each page, no denied URL asked for, its delays and windows kept.

use std::collections::HashMap;

use jiff::Timestamp;
use meta::consent::{RobotsLine, robots_statements};
use robots::Robots;

use super::requests::{Asked, HostLog, Log, between};
use super::{AuditError, AuditRules, Check};
use crate::record::{RepairRecord, RobotsRecord};
use crate::store::{Store, Tree};
use crate::url::{CrawlUrl, Origin};

/// Times in the ledger are whole microseconds, those of robots.txt versions aren't.
const ROUNDING: f64 = 0.000_002;

/// A version of an origin's robots.txt.
struct Version {
    known: Timestamp,
    expires: Timestamp,
    defers: bool,
    rules: Robots,
    /// Until when it asks the host to be left in peace (429 and 503 with `Retry-After`).
    pause: Option<(Timestamp, String)>,
    record: RobotsRecord,
}

struct Checks {
    known: Check,
    denied: Check,
    delay: Check,
    window: Check,
    retry: Check,
    refused: Check,
    /// Versions of robots.txt from before may be lost.
    repaired: Option<Timestamp>,
}

pub(super) fn judge<S: Store>(
    store: &S,
    log: &Log,
    rules: &AuditRules,
    repair: Option<&RepairRecord>,
) -> Result<Vec<Check>, AuditError> {
    let mut checks = Checks {
        known: Check::new(
            "robots_known",
            "each origin's robots.txt is known, and in force (24 hours at the most), before any of its pages is asked for",
        ),
        denied: Check::new("denied", "no URL is asked for that the robots.txt then in force denies"),
        delay: Check::new(
            "site_delay",
            "the gap is never below the Crawl-delay or Request-rate of the robots.txt then in force",
        ),
        window: Check::new("visit_time", "no request outside the Visit-time of the robots.txt then in force"),
        retry: Check::new(
            "robots_retry",
            "a Retry-After with 429 or 503 for robots.txt is kept by the whole host",
        ),
        refused: Check::new(
            "purposes",
            "no URL is asked for whose robots.txt denies every declared purpose in words",
        ),
        repaired: repair.map(|repair| repair.at),
    };
    for (host, log) in &log.hosts {
        judge_host(store, host, log, rules, &mut checks)?;
    }
    let Checks { known, denied, delay, window, retry, refused, .. } = checks;
    let mut checks = vec![known, denied, delay, window, retry, refused];
    for check in &mut checks {
        check.unjudged.clone_from(&log.silent);
    }
    Ok(checks)
}

fn judge_host<S: Store>(
    store: &S,
    host: &str,
    log: &HostLog,
    rules: &AuditRules,
    checks: &mut Checks,
) -> Result<(), AuditError> {
    let mut versions: HashMap<Origin, Vec<Version>> = HashMap::new();
    let mut before: Option<&Asked> = None;
    for asked in &log.asked {
        if let Some(origin) = &asked.origin
            && !versions.contains_key(origin)
        {
            versions.insert(origin.clone(), read_versions(store, origin, rules)?);
        }
        if let Some(before) = before {
            judge_gap(&versions, before, asked, checks);
        }
        judge_retry(host, &versions, asked, checks);
        if !asked.is_robots {
            judge_page(&versions, asked, rules, checks);
        }
        before = Some(asked);
    }
    Ok(())
}

/// The version in force at a time.
fn in_force<'a>(
    versions: &'a HashMap<Origin, Vec<Version>>,
    asked: &Asked,
    at: Timestamp,
) -> Option<&'a Version> {
    let versions = versions.get(asked.origin.as_ref()?)?;
    let index = versions.partition_point(|version| version.known <= at);
    versions.get(index.checked_sub(1)?)
}

fn judge_page(
    versions: &HashMap<Origin, Vec<Version>>,
    asked: &Asked,
    rules: &AuditRules,
    checks: &mut Checks,
) {
    let rounded = asked.started.saturating_add(jiff::SignedDuration::from_micros(1)).unwrap_or(asked.started);
    let at = Some(asked.started);
    let is_lost = checks.repaired.is_some_and(|repaired| asked.started < repaired);
    let Some(version) = in_force(versions, asked, rounded) else {
        checks.known.case();
        let what = "no robots.txt of its origin had been asked for";
        checks.known.lost_or_broken(is_lost, &asked.url, at, what);
        return;
    };
    let left = version.expires.duration_since(asked.started).as_secs_f64();
    let age = asked.started.duration_since(version.known).as_secs_f64();
    // Within 24 hours of its fetch, and before its own end.
    let margin = left.min(24.0 * 3600.0 + 60.0 - age);
    if is_lost && margin < 0.0 {
        // The version that came after it isn't there.
        checks.known.case();
        checks.known.lost += 1;
        return;
    }
    if !checks.known.margin(margin) {
        let what =
            format!("the robots.txt in force was fetched {age:.0} s before, and ended {:.0} s before", -left);
        checks.known.broken(&asked.url, at, what);
    }
    let Ok(url) = CrawlUrl::parse(&asked.url) else { return };
    let path = url.path_and_query();
    let verdict = version.rules.verdict(path);
    checks.denied.case();
    if version.defers {
        checks.denied.broken(
            &asked.url,
            at,
            format!("robots.txt could not be had: {}", version.record.reason),
        );
    } else if !verdict.allowed {
        let line = verdict.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let rule = verdict.rule.as_deref().map_or_else(|| verdict.reason.to_string(), ToString::to_string);
        checks.denied.broken(&asked.url, at, format!("{line}{rule}"));
    }
    if !version.rules.timing().visits().is_empty() {
        checks.window.case();
        let wait = version.rules.timing().visit_wait(asked.started).unwrap_or_default();
        if !wait.is_zero() {
            let what = format!("{} s before the next window opens", wait.as_secs());
            checks.window.broken(&asked.url, at, what);
        }
    }
    let signals = version.rules.signals();
    let usage = signals.content_usage().iter().map(|line| ("Content-Usage", line));
    let signal = signals.content_signal().iter().map(|line| ("Content-Signal", line));
    let lines =
        usage.chain(signal).map(|(field, line)| RobotsLine { field, value: &line.raw, line: line.line });
    let statements = robots_statements(lines, path, version.known);
    checks.refused.case();
    if !rules.policy.may_fetch(&statements) {
        let words: Vec<_> = statements.iter().map(|statement| statement.source.to_string()).collect();
        checks.refused.broken(&asked.url, at, words.join("; "));
    }
}

/// The gap after a request is that of the robots.txt of the origin that was asked.
fn judge_gap(versions: &HashMap<Origin, Vec<Version>>, before: &Asked, after: &Asked, checks: &mut Checks) {
    let Some(version) = in_force(versions, before, before.ended) else { return };
    let Some(interval) = version.rules.timing().interval(before.ended) else { return };
    let asked = interval.every.as_secs_f64();
    let between = between(before, after);
    if !checks.delay.margin(between - asked + ROUNDING) {
        let what = format!("after {between:.6} s; robots.txt asks for {asked:.3} s");
        checks.delay.broken(format!("{} after {}", after.url, before.url), Some(after.started), what);
    }
}

fn judge_retry(host: &str, versions: &HashMap<Origin, Vec<Version>>, asked: &Asked, checks: &mut Checks) {
    let pauses = versions.values().flatten().filter_map(|version| Some((version, version.pause.as_ref()?)));
    for (version, (until, value)) in pauses {
        // Only requests between the answer and the end of its pause break it.
        if asked.started <= version.known {
            continue;
        }
        let margin = asked.started.duration_since(*until).as_secs_f64();
        if !checks.retry.margin(margin + ROUNDING) {
            let what = format!(
                "{:.0} s before the end of Retry-After: {value} for {}",
                -margin, version.record.origin
            );
            checks.retry.broken(format!("{host}: {}", asked.url), Some(asked.started), what);
        }
    }
}

fn read_versions<S: Store>(
    store: &S,
    origin: &Origin,
    rules: &AuditRules,
) -> Result<Vec<Version>, AuditError> {
    let name = origin.to_string();
    let mut versions: Vec<Version> = Vec::new();
    let mut good: Option<Robots> = None;
    for pair in store.scan(Tree::Robots, &RobotsRecord::prefix(&name)) {
        let (_, value) = pair?;
        let record = RobotsRecord::read(&value).map_err(|error| AuditError::record(Tree::Robots)(&error))?;
        let reading = match record.access.as_str() {
            "rules" => {
                let parsed = Robots::parse(&record.octets(), &rules.agent, &rules.options, Some(&name));
                good = Some(parsed.clone());
                parsed
            }
            "stored" => good.clone().unwrap_or_else(|| Robots::deny_all("no copy")),
            "allow_all" => Robots::allow_all(record.reason.as_str()),
            _ => Robots::deny_all(record.reason.as_str()),
        };
        let value = record.headers.iter().find(|(name, _)| name == "retry-after").map(|(_, value)| value);
        let pause = value
            .filter(|_| matches!(record.status, Some(429 | 503)) && record.hops.is_empty())
            .and_then(|value| {
                let length = robots::access::retry_after(value, record.fetched_at)?;
                let until = record.fetched_at.checked_add(super::requests::signed(length)).ok()?;
                Some((until, value.clone()))
            });
        versions.push(Version {
            known: record.fetched_at,
            expires: record.expires,
            defers: record.access == "defer",
            rules: reading,
            pause,
            record,
        });
    }
    versions.sort_by_key(|version| version.known);
    Ok(versions)
}
