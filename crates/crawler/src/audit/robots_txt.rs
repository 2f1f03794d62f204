//! robots.txt, judged again: known and fresh before each page, no denied URL asked for, its delays and windows kept.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use meta::consent::RobotsSignals;
use robots::Robots;

use super::clocks::{Moment, Span};
use super::requests::{Asked, HostLog, Log};
use super::said::signals_of;
use super::{AuditError, AuditRules, Check};
use crate::record::{RepairRecord, RobotsRecord};
use crate::store::{Store, Tree};
use crate::url::{CrawlUrl, Origin};

/// Times in the ledger are whole microseconds, those of robots.txt versions aren't.
const ROUNDING: f64 = 0.000_002;

/// A version of an origin's robots.txt.
struct Version {
    /// When it was known, by the runs' clocks; none where no entry of the ledger says so.
    known: Option<Moment>,
    defers: bool,
    rules: Robots,
    signals: RobotsSignals,
    /// How long it asks the host to be left in peace (429 and 503 with `Retry-After`), in seconds.
    pause: Option<f64>,
    record: RobotsRecord,
}

impl Version {
    /// Whether it was known by a moment: by the runs' clocks, or else by the wall's.
    fn is_known(&self, moment: Moment) -> bool {
        match self.known {
            Some(known) => known.order() <= moment.order(),
            None => self.record.fetched_at <= rounded(moment.wall),
        }
    }

    /// For how long it holds, in seconds.
    fn lifetime(&self) -> f64 {
        self.record.expires.duration_since(self.record.fetched_at).as_secs_f64()
    }

    /// How long it had been known by a moment, in seconds, at the least and at the most.
    fn age(&self, log: &Log, moment: Moment) -> Span {
        let wall = moment.wall.duration_since(self.record.fetched_at).as_secs_f64();
        match self.known {
            Some(known) => log.runs.between(known, moment),
            None => Span { least: wall, most: wall },
        }
    }
}

/// Times in the ledger are whole microseconds, those of robots.txt versions aren't.
fn rounded(wall: Timestamp) -> Timestamp {
    wall.saturating_add(jiff::SignedDuration::from_micros(1)).unwrap_or(wall)
}

struct Checks {
    known: Check,
    denied: Check,
    delay: Check,
    window: Check,
    retry: Check,
    refused: Check,
    redirects: Check,
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
        redirects: Check::new(
            "robots_redirects",
            "what a robots.txt redirects to on another host is asked for only where that host's own robots.txt, known before, allows it",
        ),
        repaired: repair.map(|repair| repair.at),
    };
    for (host, of_host) in &log.hosts {
        judge_host(store, host, of_host, log, rules, &mut checks)?;
    }
    let Checks { known, denied, delay, window, retry, refused, redirects, .. } = checks;
    let mut checks = vec![known, denied, delay, window, retry, refused, redirects];
    for check in &mut checks {
        check.unjudged.clone_from(&log.silent);
    }
    Ok(checks)
}

fn judge_host<S: Store>(
    store: &S,
    host: &str,
    of_host: &HostLog,
    log: &Log,
    rules: &AuditRules,
    checks: &mut Checks,
) -> Result<(), AuditError> {
    let mut versions: HashMap<Origin, Vec<Version>> = HashMap::new();
    let mut before: Option<&Asked> = None;
    // Origins of this host whose own robots.txt was asked for on behalf of another origin: it may lead on within its site.
    let mut led: HashSet<(Origin, Origin)> = HashSet::new();
    for asked in &of_host.asked {
        if let Some(origin) = &asked.origin
            && !versions.contains_key(origin)
        {
            versions.insert(origin.clone(), read_versions(store, origin, log, rules)?);
        }
        if let Some(before) = before {
            judge_gap(&versions, before, asked, log, checks);
        }
        judge_retry(host, &versions, asked, log, checks);
        if !asked.is_robots {
            judge_page(&versions, asked, log, rules, checks);
        } else if let (Some(of), Some(origin)) = (&asked.robots_of, &asked.origin)
            && of != origin
        {
            let pair = (of.clone(), origin.clone());
            match CrawlUrl::parse(&asked.url) {
                Ok(url) if url.path_and_query() == "/robots.txt" => drop(led.insert(pair)),
                Ok(url) => judge_redirect(&versions, asked, &url, led.contains(&pair), log, checks),
                Err(_) => {}
            }
        }
        before = Some(asked);
    }
    Ok(())
}

/// The version in force at a moment.
fn in_force<'a>(
    versions: &'a HashMap<Origin, Vec<Version>>,
    asked: &Asked,
    at: Moment,
) -> Option<&'a Version> {
    let versions = versions.get(asked.origin.as_ref()?)?;
    versions.iter().rev().find(|version| version.is_known(at))
}

/// A hop to something else than a robots.txt: the file of its own host has to be known, and to allow it.
fn judge_redirect(
    versions: &HashMap<Origin, Vec<Version>>,
    asked: &Asked,
    url: &CrawlUrl,
    is_led: bool,
    log: &Log,
    checks: &mut Checks,
) {
    let at = Some(asked.from.wall);
    let is_lost = checks.repaired.is_some_and(|repaired| asked.from.wall < repaired);
    checks.redirects.case();
    let is_fresh = |version: &&Version| version.age(log, asked.from).least < version.lifetime();
    let version = in_force(versions, asked, asked.from).filter(is_fresh);
    let what = match version {
        None if is_led => return,
        None => "the robots.txt of its own host wasn't known".to_owned(),
        Some(version) if version.defers => {
            format!("the robots.txt of its own host: {}", version.record.reason)
        }
        Some(version) => {
            let verdict = version.rules.verdict(url.path_and_query());
            if verdict.allowed {
                return;
            }
            let line = verdict.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            format!("the robots.txt of its own host denies it: {line}{}", verdict.reason)
        }
    };
    checks.redirects.lost_or_broken(is_lost, &asked.url, at, what);
}

fn judge_page(
    versions: &HashMap<Origin, Vec<Version>>,
    asked: &Asked,
    log: &Log,
    rules: &AuditRules,
    checks: &mut Checks,
) {
    let started = asked.from.wall;
    let at = Some(started);
    let is_lost = checks.repaired.is_some_and(|repaired| started < repaired);
    let Some(version) = in_force(versions, asked, asked.from) else {
        checks.known.case();
        let what = "no robots.txt of its origin had been asked for";
        checks.known.lost_or_broken(is_lost, &asked.url, at, what);
        return;
    };
    let lifetime = version.lifetime();
    let age = version.age(log, asked.from).least;
    let left = lifetime - age;
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
        let wait = version.rules.timing().visit_wait(started).unwrap_or_default();
        if !wait.is_zero() {
            let what = format!("{} s before the next window opens", wait.as_secs());
            checks.window.broken(&asked.url, at, what);
        }
    }
    let statements = version.signals.statements(path, version.record.fetched_at);
    checks.refused.case();
    if !rules.policy.may_fetch(&statements) {
        let words: Vec<_> = statements.iter().map(|statement| statement.source.to_string()).collect();
        checks.refused.broken(&asked.url, at, words.join("; "));
    }
}

/// The gap after a request is that of the robots.txt of the origin that was asked.
fn judge_gap(
    versions: &HashMap<Origin, Vec<Version>>,
    before: &Asked,
    after: &Asked,
    log: &Log,
    checks: &mut Checks,
) {
    let Some(version) = in_force(versions, before, before.to) else { return };
    let Some(interval) = version.rules.timing().interval(before.to.wall) else { return };
    let asked = interval.every.as_secs_f64();
    let between = log.between(before, after);
    if !checks.delay.margin(between - asked + ROUNDING) {
        let what = format!("after {between:.6} s; robots.txt asks for {asked:.3} s");
        checks.delay.broken(format!("{} after {}", after.url, before.url), Some(after.from.wall), what);
    }
}

fn judge_retry(
    host: &str,
    versions: &HashMap<Origin, Vec<Version>>,
    asked: &Asked,
    log: &Log,
    checks: &mut Checks,
) {
    let pauses = versions.values().flatten().filter_map(|version| Some((version, version.pause?)));
    for (version, length) in pauses {
        // Only requests between the answer and the end of its pause break it.
        if !version.is_known(asked.from) {
            continue;
        }
        let margin = version.age(log, asked.from).most - length;
        if !checks.retry.margin(margin + ROUNDING) {
            let what = format!(
                "{:.0} s before the end of the {length:.0} s of Retry-After for {}",
                -margin, version.record.origin
            );
            checks.retry.broken(format!("{host}: {}", asked.url), Some(asked.from.wall), what);
        }
    }
}

fn read_versions<S: Store>(
    store: &S,
    origin: &Origin,
    log: &Log,
    rules: &AuditRules,
) -> Result<Vec<Version>, AuditError> {
    let name = origin.to_string();
    let mut records = Vec::new();
    for pair in store.scan(Tree::Robots, &RobotsRecord::prefix(&name)) {
        let (_, value) = pair?;
        let record = RobotsRecord::read(&value).map_err(|error| AuditError::record(Tree::Robots)(&error))?;
        let key = (name.clone(), record.fetched_at.as_microsecond());
        records.push((log.robots.get(&key).copied(), record));
    }
    if records.iter().all(|(known, _)| known.is_some()) {
        records.sort_by_key(|(known, _)| known.map(|known| known.order()));
    } else {
        // Older ledgers don't tell, nor one with gaps.
        for (known, _) in &mut records {
            *known = None;
        }
        records.sort_by_key(|(_, record)| record.fetched_at);
    }
    let mut good: Option<Robots> = None;
    let mut version = |(known, record): (Option<Moment>, RobotsRecord)| {
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
        let pushes_back = matches!(record.status, Some(429 | 503)) && record.hops.is_empty();
        let lines = record.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let pause = robots::access::retry_after(lines, record.fetched_at)
            .filter(|_| pushes_back)
            .map(|length| length.as_secs_f64());
        let signals = signals_of(&reading);
        Version { known, defers: record.access == "defer", signals, rules: reading, pause, record }
    };
    Ok(records.into_iter().map(&mut version).collect())
}
