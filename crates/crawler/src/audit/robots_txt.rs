//! robots.txt, checked again: known and fresh before each page, no denied URL requested, its delays and visit times observed.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use jiff::Timestamp;
use meta::consent::RobotsSignals;
use robots::Robots;

use super::clocks::{Moment, Span};
use super::requests::{Asked, Log};
use super::said::signals_of;
use super::{AuditError, AuditRules, Check};
use crate::record::{RepairRecord, RobotsAccess, RobotsRecord};
use crate::store::{Store, Tree};
use page::url::{CrawlUrl, Origin};

/// Times in the ledger are whole microseconds, those of robots.txt versions aren't.
const ROUNDING: f64 = 0.000_002;

/// Origins whose versions are in memory. Those of one host are few, but robots.txt of many origins may lie on one.
const ORIGINS: usize = 64;

/// Parsed files in memory.
const PARSED: usize = 8;

/// When a version of a robots.txt came.
#[derive(Debug, Clone, Copy)]
struct Known {
    /// By the runs' clocks; none where no entry of the ledger says so.
    moment: Option<Moment>,
    /// By the wall's.
    fetched_at: Timestamp,
}

impl Known {
    /// Whether it was known by a moment: by the runs' clocks, or else by the wall's.
    fn is_known(&self, moment: Moment) -> bool {
        match self.moment {
            Some(known) => known.order() <= moment.order(),
            None => self.fetched_at <= rounded(moment.wall),
        }
    }

    /// How long it had been known by a moment, in seconds, at the least and at the most.
    fn age(&self, log: &Log, moment: Moment) -> Span {
        let wall = moment.wall.duration_since(self.fetched_at).as_secs_f64();
        match self.moment {
            Some(known) => log.runs.between(known, moment),
            None => Span { least: wall, most: wall },
        }
    }
}

/// A version of an origin's robots.txt, without its body.
struct Version {
    known: Known,
    expires: Timestamp,
    access: RobotsAccess,
    reason: String,
    /// Its key in the tree `robots`.
    key: Vec<u8>,
    /// The key of the version whose body counts, where it is another's.
    body: Option<Vec<u8>>,
}

impl Version {
    fn defers(&self) -> bool {
        self.access == RobotsAccess::Defer
    }

    /// For how long it holds, in seconds.
    fn lifetime(&self) -> f64 {
        self.expires.duration_since(self.known.fetched_at).as_secs_f64()
    }
}

/// Times in the ledger are whole microseconds, those of robots.txt versions aren't.
fn rounded(wall: Timestamp) -> Timestamp {
    wall.saturating_add(jiff::SignedDuration::from_micros(1)).unwrap_or(wall)
}

/// How long a robots.txt response asks for no requests to the host: 429 and 503 with `Retry-After`.
struct Retry {
    origin: Origin,
    known: Known,
    seconds: f64,
}

/// What a version says.
struct ParsedRobots {
    rules: Robots,
    signals: RobotsSignals,
}

/// The versions of origins, read from the database as they are asked for.
struct Versions<'a, S> {
    store: &'a S,
    log: &'a Log,
    rules: &'a AuditRules,
    held: HashMap<Origin, Vec<Version>>,
    /// Of all origins whose versions were asked for since the last [`Versions::begin`].
    retries: Vec<Retry>,
    /// The last ones that were read, by their keys.
    said: Vec<(Vec<u8>, Rc<ParsedRobots>)>,
}

impl<S: Store> Versions<'_, S> {
    fn begin(&mut self) {
        self.held.clear();
        self.retries.clear();
    }

    fn load(&mut self, origin: Option<&Origin>) -> Result<(), AuditError> {
        let Some(origin) = origin.filter(|origin| !self.held.contains_key(origin)) else { return Ok(()) };
        if self.held.len() >= ORIGINS {
            self.held.clear();
        }
        let name = origin.to_string();
        let mut versions = Vec::new();
        let mut good = None;
        let mut retries = Vec::new();
        for pair in self.store.scan(Tree::Robots, &RobotsRecord::prefix(&name)) {
            let (key, value) = pair?;
            let record = RobotsRecord::read(&value).map_err(AuditError::record(Tree::Robots))?;
            let moment = self.log.answered(&name, record.fetched_at)?;
            let pushes_back = matches!(record.status, Some(429 | 503)) && record.hops.is_empty();
            let lines = record.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
            let retry = robots::access::retry_after(lines, record.fetched_at).filter(|_| pushes_back);
            let known = Known { moment, fetched_at: record.fetched_at };
            let RobotsRecord { expires, access, reason, .. } = record;
            let version = Version { known, expires, access, reason, key, body: None };
            versions.push((version, retry.map(|length| length.as_secs_f64())));
        }
        if versions.iter().all(|(version, _)| version.known.moment.is_some()) {
            versions.sort_by_key(|(version, _)| version.known.moment.map(|known| known.order()));
        } else {
            // Older ledgers don't tell, nor one with gaps.
            for (version, _) in &mut versions {
                version.known.moment = None;
            }
            versions.sort_by_key(|(version, _)| version.known.fetched_at);
        }
        for (version, retry) in &mut versions {
            match version.access {
                RobotsAccess::Rules => {
                    good = Some(version.key.clone());
                    version.body.clone_from(&good);
                }
                RobotsAccess::Stored => version.body.clone_from(&good),
                RobotsAccess::AllowAll
                | RobotsAccess::DenyAll
                | RobotsAccess::Defer
                | RobotsAccess::Other(_) => {}
            }
            let known = version.known;
            retries.extend(retry.map(|seconds| Retry { origin: origin.clone(), known, seconds }));
        }
        if !self.retries.iter().any(|retry| retry.origin == *origin) {
            self.retries.append(&mut retries);
        }
        self.held.insert(origin.clone(), versions.into_iter().map(|(version, _)| version).collect());
        Ok(())
    }

    /// The version in force at a moment, of an origin that was loaded.
    fn in_force(&self, asked: &Asked, at: Moment) -> Option<&Version> {
        let versions = self.held.get(asked.origin.as_ref()?)?;
        versions.iter().rev().find(|version| version.known.is_known(at))
    }

    /// What the version in force says.
    fn in_force_parsed(&mut self, asked: &Asked, at: Moment) -> Result<Option<Rc<ParsedRobots>>, AuditError> {
        let Some(version) = self.in_force(asked, at) else { return Ok(None) };
        if let Some((_, said)) = self.said.iter().find(|(key, _)| *key == version.key) {
            return Ok(Some(Rc::clone(said)));
        }
        let key = version.key.clone();
        let rules = match (&version.access, &version.body) {
            (RobotsAccess::Rules | RobotsAccess::Stored, Some(body)) => self.parse(body, asked)?,
            (RobotsAccess::Rules | RobotsAccess::Stored, None) => Robots::deny_all("no copy"),
            (RobotsAccess::AllowAll, _) => Robots::allow_all(version.reason.as_str()),
            (RobotsAccess::DenyAll | RobotsAccess::Defer | RobotsAccess::Other(_), _) => {
                Robots::deny_all(version.reason.as_str())
            }
        };
        let said = Rc::new(ParsedRobots { signals: signals_of(&rules), rules });
        if self.said.len() >= PARSED {
            self.said.remove(0);
        }
        self.said.push((key, Rc::clone(&said)));
        Ok(Some(said))
    }

    fn parse(&self, key: &[u8], asked: &Asked) -> Result<Robots, AuditError> {
        let Some(value) = self.store.get(Tree::Robots, key)? else {
            return Ok(Robots::deny_all("no copy"));
        };
        let record = RobotsRecord::read(&value).map_err(AuditError::record(Tree::Robots))?;
        let name = asked.origin.as_ref().map(ToString::to_string);
        Ok(Robots::parse(&record.bytes(), &self.rules.agent, &self.rules.options, name.as_deref()))
    }
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

/// Judges the requests of hosts, one host after the other.
pub(super) struct RobotsTxt<'a, S> {
    log: &'a Log,
    rules: &'a AuditRules,
    versions: Versions<'a, S>,
    /// Pairs of origins, hashed: the second one's own robots.txt was asked for on behalf of the first. It may lead on within its
    /// site.
    led: HashSet<u128>,
    checks: Checks,
}

impl<'a, S: Store> RobotsTxt<'a, S> {
    pub(super) fn new(
        store: &'a S,
        log: &'a Log,
        rules: &'a AuditRules,
        repair: Option<&RepairRecord>,
    ) -> Self {
        let checks = Checks {
            known: Check::new(
                "robots_known",
                "each origin's robots.txt is known and valid (at most 24 hours old) before any of its pages is requested",
            ),
            denied: Check::new("denied", "no URL is requested that the robots.txt in effect denies"),
            delay: Check::new(
                "site_delay",
                "the time between two requests is never less than the Crawl-delay or Request-rate of the robots.txt in effect",
            ),
            window: Check::new("visit_time", "no request outside the Visit-time of the robots.txt in effect"),
            retry: Check::new(
                "robots_retry",
                "a Retry-After with 429 or 503 for robots.txt pauses the whole host",
            ),
            refused: Check::new(
                "purposes",
                "no URL is requested whose robots.txt denies every declared purpose",
            ),
            redirects: Check::new(
                "robots_redirects",
                "the target of a redirected robots.txt on another host is requested only if that host's robots.txt is known and allows it",
            ),
            repaired: repair.map(|repair| repair.at),
        };
        let (held, retries, said) = (HashMap::new(), Vec::new(), Vec::new());
        let versions = Versions { store, log, rules, held, retries, said };
        Self { log, rules, versions, led: HashSet::new(), checks }
    }

    /// Begins with the next host.
    pub(super) fn begin(&mut self) {
        self.versions.begin();
        self.led.clear();
    }

    /// Judges a request of the host, and the gap to the one before it.
    pub(super) fn take(
        &mut self,
        host: &str,
        before: Option<&Asked>,
        asked: &Asked,
    ) -> Result<(), AuditError> {
        self.versions.load(asked.origin.as_ref())?;
        if let Some(before) = before {
            self.versions.load(before.origin.as_ref())?;
            self.versions.load(asked.origin.as_ref())?;
            self.judge_gap(before, asked)?;
        }
        self.judge_retry(host, asked);
        if !asked.is_robots {
            return self.judge_page(asked);
        }
        if let (Some(of), Some(origin)) = (&asked.robots_of, &asked.origin)
            && of != origin
        {
            let pair = pair_of(of, origin);
            match CrawlUrl::parse(&asked.url) {
                Ok(url) if url.path_and_query() == "/robots.txt" => drop(self.led.insert(pair)),
                Ok(url) => self.judge_redirect(asked, &url, self.led.contains(&pair))?,
                Err(_) => {}
            }
        }
        Ok(())
    }

    pub(super) fn checks(self) -> Vec<Check> {
        let Checks { known, denied, delay, window, retry, refused, redirects, .. } = self.checks;
        vec![known, denied, delay, window, retry, refused, redirects]
    }

    /// A hop to something else than a robots.txt: the file of its own host has to be known, and to allow it.
    fn judge_redirect(&mut self, asked: &Asked, url: &CrawlUrl, is_led: bool) -> Result<(), AuditError> {
        let Self { log, versions, checks, .. } = self;
        let at = Some(asked.from.wall);
        let is_lost = checks.repaired.is_some_and(|repaired| asked.from.wall < repaired);
        checks.redirects.case();
        let said = versions.in_force_parsed(asked, asked.from)?;
        let is_fresh = |version: &&Version| version.known.age(log, asked.from).least < version.lifetime();
        let version = versions.in_force(asked, asked.from).filter(is_fresh);
        let what = match version.zip(said) {
            None if is_led => return Ok(()),
            None => "the robots.txt of its host wasn't known".to_owned(),
            Some((version, _)) if version.defers() => {
                format!("the robots.txt of its host: {}", version.reason)
            }
            Some((_, said)) => {
                let verdict = said.rules.verdict(url.path_and_query());
                if verdict.allowed {
                    return Ok(());
                }
                let line = verdict.line.map(|line| format!("line {line}: ")).unwrap_or_default();
                format!("the robots.txt of its host denies it: {line}{}", verdict.reason)
            }
        };
        checks.redirects.lost_or_broken(is_lost, &asked.url, at, what);
        Ok(())
    }

    fn judge_page(&mut self, asked: &Asked) -> Result<(), AuditError> {
        let Self { log, rules, versions, checks, .. } = self;
        let started = asked.from.wall;
        let at = Some(started);
        let is_lost = checks.repaired.is_some_and(|repaired| started < repaired);
        let said = versions.in_force_parsed(asked, asked.from)?;
        let Some((version, said)) = versions.in_force(asked, asked.from).zip(said) else {
            checks.known.case();
            let what = "no robots.txt of its origin had been requested";
            checks.known.lost_or_broken(is_lost, &asked.url, at, what);
            return Ok(());
        };
        let lifetime = version.lifetime();
        let age = version.known.age(log, asked.from).least;
        let remaining = lifetime - age;
        // Within 24 hours of its fetch, and before its own end.
        let margin = remaining.min(24.0 * 3600.0 + 60.0 - age);
        if is_lost && margin < 0.0 {
            // The version that came after it isn't there.
            checks.known.case();
            checks.known.lost += 1;
            return Ok(());
        }
        if !checks.known.margin(margin) {
            let what = format!(
                "the robots.txt in effect was fetched {age:.0} s before, and expired {:.0} s before",
                -remaining
            );
            checks.known.broken(&asked.url, at, what);
        }
        let Ok(url) = CrawlUrl::parse(&asked.url) else { return Ok(()) };
        let path = url.path_and_query();
        let verdict = said.rules.verdict(path);
        checks.denied.case();
        if version.defers() {
            checks.denied.broken(&asked.url, at, format!("robots.txt was unreachable: {}", version.reason));
        } else if !verdict.allowed {
            let line = verdict.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            let rule =
                verdict.rule.as_deref().map_or_else(|| verdict.reason.to_string(), ToString::to_string);
            checks.denied.broken(&asked.url, at, format!("{line}{rule}"));
        }
        if !said.rules.timing().visits().is_empty() {
            checks.window.case();
            let wait = said.rules.timing().visit_wait(started).unwrap_or_default();
            if !wait.is_zero() {
                let what = format!("{} s before the next window opens", wait.as_secs());
                checks.window.broken(&asked.url, at, what);
            }
        }
        let statements = said.signals.statements(path, version.known.fetched_at);
        checks.refused.case();
        if !rules.policy.may_fetch(&statements) {
            let words: Vec<_> = statements.iter().map(|statement| statement.source.to_string()).collect();
            checks.refused.broken(&asked.url, at, words.join("; "));
        }
        Ok(())
    }

    /// The gap after a request is that of the robots.txt of the origin that was asked.
    fn judge_gap(&mut self, before: &Asked, after: &Asked) -> Result<(), AuditError> {
        let Self { log, versions, checks, .. } = self;
        let Some(said) = versions.in_force_parsed(before, before.to)? else { return Ok(()) };
        let Some(interval) = said.rules.timing().interval(before.to.wall) else { return Ok(()) };
        let asked = interval.every.as_secs_f64();
        let between = log.between(before, after);
        if !checks.delay.margin(between - asked + ROUNDING) {
            let what = format!("after {between:.6} s; robots.txt asks for {asked:.3} s");
            checks.delay.broken(format!("{} after {}", after.url, before.url), Some(after.from.wall), what);
        }
        Ok(())
    }

    fn judge_retry(&mut self, host: &str, asked: &Asked) {
        let Self { log, versions, checks, .. } = self;
        for Retry { origin, known, seconds } in &versions.retries {
            // Only requests between the answer and the end of its pause break it.
            if !known.is_known(asked.from) {
                continue;
            }
            let margin = known.age(log, asked.from).most - seconds;
            if !checks.retry.margin(margin + ROUNDING) {
                let what = format!(
                    "{:.0} s before the end of the {seconds:.0} s of Retry-After for {origin}",
                    -margin
                );
                checks.retry.broken(format!("{host}: {}", asked.url), Some(asked.from.wall), what);
            }
        }
    }
}

fn pair_of(of: &Origin, origin: &Origin) -> u128 {
    let hash = blake3::hash(format!("{of} {origin}").as_bytes());
    hash.as_bytes()[..16].iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}
