//! Reads the ledger into requests, by host and time.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;

use super::clocks::{Moment, Runs};
use super::{AuditError, AuditRules, Check};
use crate::commit::Totals;
use crate::ledger;
use crate::record::{Decision, Layer, RepairRecord};
use crate::store::{Store, Tree};
use crate::url::{CrawlUrl, Origin};

/// A request as the ledger holds it.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) url: String,
    pub(super) origin: Option<Origin>,
    pub(super) from: Moment,
    pub(super) to: Moment,
    /// The gap that the ledger says was in force.
    pub(super) gap: Duration,
    pub(super) gap_reason: String,
    /// A request for robots.txt, or a hop of one.
    pub(super) is_robots: bool,
    /// Whose robots.txt it was for, where that isn't told by the URL.
    pub(super) robots_of: Option<Origin>,
    /// The IP address that was asked, where that is on record.
    pub(super) address: Option<IpAddr>,
    /// What the operator set for the run.
    pub(super) configured: Duration,
    pub(super) per_ip: bool,
}

/// A pause that the ledger says a host was to be left in peace for.
#[derive(Debug, Clone)]
pub(super) struct Pause {
    /// When it was entered; the run's own clock isn't on record in ledgers of older versions.
    pub(super) run: u32,
    pub(super) clock: Option<Duration>,
    pub(super) at: Timestamp,
    pub(super) length: Duration,
    pub(super) reason: String,
}

/// The requests and pauses of one host, in order.
#[derive(Debug, Default)]
pub(super) struct HostLog {
    pub(super) asked: Vec<Asked>,
    pub(super) pauses: Vec<Pause>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) hosts: BTreeMap<String, HostLog>,
    pub(super) runs: Runs,
    /// When the answers for robots.txt came, by origin and the wall clock's microseconds.
    pub(super) robots: HashMap<(String, i64), Moment>,
    pub(super) requests: u64,
    /// Set where the ledger holds no requests although some were made.
    pub(super) silent: Option<String>,
}

pub(super) fn read<S: Store>(store: &S, rules: &AuditRules) -> Result<Log, AuditError> {
    let mut log = Log::default();
    let mut run = 0;
    let (mut configured, mut per_ip) = (rules.delay, false);
    for pair in store.scan(Tree::Ledger, &[]) {
        let (_, value) = pair?;
        // What can't be read is a fault of the chain, and told there.
        let Ok(block) = ledger::read(&value) else { continue };
        for entry in block.decisions {
            if entry.begins_a_run() {
                run += 1;
                log.runs.of(run).begun = entry.evidence.boot.map(|boot| *boot).zip(entry.evidence.clock);
                let words = entry.evidence.words.as_deref().unwrap_or_default();
                configured = delay_of(words).unwrap_or(rules.delay);
                per_ip = words.ends_with(", per-ip");
                continue;
            }
            take(&mut log, entry, run, configured, per_ip);
        }
    }
    for host in log.hosts.values_mut() {
        host.asked.sort_by_key(|asked| asked.from.order());
    }
    let made = totals(store)?.requests;
    if log.requests == 0 && made > 0 {
        log.silent = Some("no request is on record: the ledger was off, or lost".to_owned());
    }
    Ok(log)
}

fn take(log: &mut Log, entry: Decision, run: u32, configured: Duration, per_ip: bool) {
    let Decision { at, url, host, decision, layer, evidence, .. } = entry;
    let clock = evidence.clock;
    if decision == "paused"
        && let Some(pause) = evidence.pause
    {
        let (length, reason) = (pause.length, pause.reason.into_owned());
        log.hosts.entry(host.clone()).or_default().pauses.push(Pause { run, clock, at, length, reason });
    }
    let ended = evidence.request.as_ref().map(|request| request.clock + request.took);
    if let Some(mono) = ended.max(clock) {
        let run = log.runs.of(run);
        run.last = run.last.max(mono);
    }
    if layer == Layer::Robots
        && decision.starts_with("robots_")
        && let Some(mono) = ended.or(clock)
    {
        let moment = Moment { run, mono, wall: at };
        log.robots.entry((url.clone(), at.as_microsecond())).or_insert(moment);
    }
    let Some(request) = evidence.request else { return };
    log.requests += 1;
    let is_robots = layer == Layer::Robots;
    let robots_of = evidence.words.as_deref().and_then(|words| words.strip_prefix("robots.txt of "));
    let robots_of = robots_of.and_then(|origin| CrawlUrl::parse(origin).ok()).map(|url| url.origin());
    let parsed = CrawlUrl::parse(&url).ok();
    // An entry about an origin's robots.txt names the origin, whichever host was asked; the host's own column counts.
    let asked = Asked {
        origin: parsed.map(|url| url.origin()),
        from: Moment { run, mono: request.clock, wall: request.started },
        to: Moment { run, mono: request.clock + request.took, wall: request.ended() },
        gap: request.gap,
        gap_reason: request.gap_reason.into_owned(),
        is_robots,
        robots_of: robots_of.filter(|_| is_robots),
        address: request.address,
        configured,
        per_ip,
        url,
    };
    log.hosts.entry(host).or_default().asked.push(asked);
}

/// `run 1; delay 0.02 s, ...`
fn delay_of(words: &str) -> Option<Duration> {
    let (_, rest) = words.split_once("delay ")?;
    let (number, _) = rest.split_once(" s")?;
    Duration::try_from_secs_f64(number.parse().ok()?).ok()
}

impl Log {
    /// Seconds from one request's end to the next one's start, at the most: what is too short by this is too short.
    pub(super) fn between(&self, before: &Asked, after: &Asked) -> f64 {
        self.runs.between(before.to, after.from).most
    }
}

fn totals<S: Store>(store: &S) -> Result<Totals, AuditError> {
    let value = store.get(Tree::Meta, b"totals")?;
    let totals = value.map(|value| serde_json::from_slice(&value)).transpose();
    Ok(totals.map_err(|error| AuditError::record(Tree::Meta)(&error))?.unwrap_or_default())
}

/// Every request that was counted is on record.
pub(super) fn complete<S: Store>(
    store: &S,
    log: &Log,
    repair: Option<&RepairRecord>,
) -> Result<Check, AuditError> {
    let mut check = Check::new("requests", "every request that was counted stands in the ledger");
    let counted = totals(store)?.requests;
    check.judged = counted;
    if log.silent.is_some() {
        check.unjudged.clone_from(&log.silent);
        return Ok(check);
    }
    check.lost = repair.map_or(0, |repair| repair.requests_lost);
    if counted != log.requests + check.lost {
        let what = format!("{counted} requests were counted, {} stand in the ledger", log.requests);
        check.broken("ledger", None, what);
    }
    Ok(check)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_of_a_run_is_read_from_its_start() {
        let words = "run 2; delay 0.02 s, adaptive 5, max-delay 30 s";
        assert_eq!(delay_of(words), Some(Duration::from_millis(20)));
        assert_eq!(delay_of("run 2"), None);
    }
}
