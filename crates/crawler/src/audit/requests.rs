//! Reads the ledger into requests, by host and time, and by group of hosts and time: sorted in temporary files.

use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::clocks::{Moment, Runs};
use super::host_groups::{GroupOf, RunGroups, group_key, group_of, host_key, host_of};
use super::orders::Given;
use super::settings::Run;
use super::shared::Shared;
use super::table::Table;
use super::{AuditError, AuditRules, Check};
use crate::commit::Totals;
use crate::config::PaceSettings;
use crate::ledger;
use crate::record::{Decided, Decision, Layer, RepairRecord, RequestMade};
use crate::sorter::{self, SortError, Sorted, Sorter};
use crate::store::{Store, Tree};
use crate::wishes::WishSettings;
use page::url::{CrawlUrl, Origin};

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
    /// Whose robots.txt it was for, if the URL doesn't say.
    pub(super) robots_of: Option<Origin>,
    /// What the operator set for the run.
    pub(super) configured: Duration,
    /// The least delay between it and any other request to its group.
    pub(super) of_group: Duration,
    /// Bytes of the body as sent.
    pub(super) bytes: u64,
    /// Its position in the ledger.
    pub(super) place: Place,
}

/// A pause that the ledger has for a host.
#[derive(Debug, Clone)]
pub(super) struct Pause {
    /// When it was entered; the run's own clock isn't on record in ledgers of older versions.
    pub(super) run: u32,
    pub(super) clock: Option<Duration>,
    pub(super) at: Timestamp,
    pub(super) length: Duration,
    pub(super) reason: String,
}

/// What the ledger says of one host, in the order of [`Hosts`].
#[derive(Debug)]
pub(super) enum Entry {
    /// Pauses come behind its requests.
    WillPause,
    Request(Box<Asked>),
    Pause(Pause),
}

/// What the ledger says of requests. In memory: a few bytes a run.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) runs: Runs,
    pub(super) requests: u64,
    /// Set where the ledger holds no requests although some were made.
    pub(super) silent: Option<String>,
    /// When the answers for robots.txt came.
    answers: Table,
    /// What the user ordered while the crawl ran.
    pub(super) orders: Vec<Given>,
    /// What owners asked for while it ran: when that was set, and what.
    pub(super) wishes: Vec<((u32, Duration), WishSettings)>,
}

/// The log, and its requests host by host and group by group.
pub(super) struct Read {
    pub(super) log: Log,
    pub(super) hosts: Hosts,
    pub(super) groups: Groups,
    /// Those of groups, for a comparison with those of other partitions.
    pub(super) shared: Shared,
}

/// Place of an entry: the key of its value in the ledger, and its number in there. In the order of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    key: u64,
    number: u32,
}

impl Place {
    pub(super) const BYTES: usize = 8 + 4;

    pub(super) fn new(key: u64, number: u32) -> Self {
        Self { key, number }
    }

    pub(super) fn bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.key.to_be_bytes());
        bytes[8..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Self {
        Self { key: sorter::number(bytes, 0, 8), number: sorter::number(bytes, 8, 4) as u32 }
    }

    /// The URL of the entry; empty where it can't be read any more.
    pub(super) fn url<S: Store>(self, store: &S) -> Result<String, AuditError> {
        let value = store.get(Tree::Ledger, &self.key.to_be_bytes())?;
        let block = value.and_then(|value| ledger::read(&value).ok());
        let entry = block.and_then(|block| block.decisions.into_iter().nth(self.number as usize));
        Ok(entry.map(|entry| entry.url).unwrap_or_default())
    }
}

/// Kinds of what is sorted by host.
const WILL_PAUSE: u8 = 0;
const REQUEST: u8 = 1;
const PAUSE: u8 = 2;

/// What of a request is sorted with it, behind both of its moments.
#[derive(Serialize, Deserialize)]
struct Rest {
    url: String,
    gap: Duration,
    gap_reason: String,
    is_robots: bool,
    robots_of: Option<String>,
    configured: Duration,
    of_group: Duration,
    bytes: u64,
}

/// The same of a pause.
#[derive(Serialize, Deserialize)]
struct PauseRest {
    run: u32,
    clock: Option<Duration>,
    /// The wall clock.
    seconds: i64,
    nanos: i32,
    length: Duration,
    reason: String,
}

/// What gathers while the ledger is read.
struct Reading {
    runs: Runs,
    requests: u64,
    hosts: Sorter,
    of_groups: Sorter,
    shared: Shared,
    answers: Sorter,
    /// Of the run that is read: its number, what the operator set, and which hosts take turns.
    run: u32,
    configured: Duration,
    groups: Rc<RunGroups>,
    /// The same of the runs before, by their numbers from 1.
    before: Vec<(Duration, Rc<RunGroups>)>,
    orders: Vec<Given>,
    wishes: Vec<((u32, Duration), WishSettings)>,
}

pub(super) fn read<S: Store>(store: &S, runs: &[Run], rules: &AuditRules) -> Result<Read, AuditError> {
    let mut settings = runs.iter().map(|run| run.settings.as_ref());
    let mut reading = Reading {
        runs: Runs::default(),
        requests: 0,
        hosts: rules.sorter(),
        of_groups: rules.sorter(),
        shared: Shared::new(rules),
        answers: rules.sorter(),
        run: 0,
        orders: Vec::new(),
        wishes: Vec::new(),
        configured: rules.delay,
        groups: Rc::default(),
        before: Vec::new(),
    };
    for pair in store.scan(Tree::Ledger, &[]) {
        let (key, value) = pair?;
        // What can't be read is a fault of the chain, and reported there.
        let Ok(block) = ledger::read(&value) else { continue };
        for (number, entry) in (0..).zip(block.decisions) {
            let place = Place { key: sorter::number(&key, 0, 8), number };
            if entry.begins_a_run() {
                let of_run = settings.next().flatten();
                reading.begin_run(&entry, of_run.map(|settings| &settings.pace), rules);
            } else {
                reading.take_of_run(entry, place)?;
            }
        }
    }
    let Reading { runs, requests, hosts, of_groups, shared, answers, orders, wishes, .. } = reading;
    let made = totals(store)?.requests;
    let silent =
        (requests == 0 && made > 0).then(|| "no request is recorded: the ledger was off or lost".to_owned());
    let log = Log { runs, requests, silent, answers: answers_by_origin(answers, rules)?, orders, wishes };
    Ok(Read { log, hosts: Hosts(hosts.sorted()?), groups: Groups(of_groups.sorted()?), shared })
}

impl Reading {
    fn begin_run(&mut self, entry: &Decision, pace: Option<&PaceSettings>, rules: &AuditRules) {
        if self.run > 0 {
            self.before.push((self.configured, Rc::clone(&self.groups)));
        }
        self.run += 1;
        let evidence = &entry.evidence;
        self.runs.of(self.run).begun = evidence.boot.as_ref().map(|boot| **boot).zip(evidence.clock);
        let words = evidence.words.as_deref().unwrap_or_default();
        self.configured = delay_of(words).unwrap_or(rules.delay);
        self.groups = Rc::new(RunGroups::of(pace, words));
    }

    /// Takes an entry as one of the run in which its request was made, where it was entered later.
    fn take_of_run(&mut self, entry: Decision, place: Place) -> Result<(), AuditError> {
        let now = (self.run, self.configured, Rc::clone(&self.groups));
        let run = self.run.saturating_sub(entry.runs_earlier());
        let of = usize::try_from(run).ok().and_then(|run| self.before.get(run.checked_sub(1)?));
        if let Some((configured, groups)) = of {
            (self.run, self.configured, self.groups) = (run, *configured, Rc::clone(groups));
        }
        let taken = self.take(entry, place);
        (self.run, self.configured, self.groups) = now;
        taken
    }

    fn take(&mut self, entry: Decision, place: Place) -> Result<(), AuditError> {
        self.orders.extend(Given::read(&entry, self.run));
        self.wishes.extend(wish_set(&entry, self.run));
        let Decision { at, url, host, decision, layer, evidence, .. } = entry;
        let clock = evidence.clock;
        let is_interrupted = decision == Decided::Interrupted;
        if (decision == Decided::Paused || is_interrupted)
            && let Some(pause) = &evidence.pause
        {
            let reason = pause.reason.to_string();
            self.pause(&host, Pause { run: self.run, clock, at, length: pause.length, reason }, place)?;
        }
        let ended = evidence.request.as_ref().map(|request| request.clock + request.took);
        // Of an interrupted one, only its beginning was within the run.
        let begun = evidence.request.as_ref().map(|request| request.clock);
        if let Some(mono) = if is_interrupted { begun } else { ended.max(clock) } {
            let run = self.runs.of(self.run);
            run.last = run.last.max(mono);
        }
        if layer == Layer::Robots
            && decision.is_about_robots()
            && let Some(mono) = ended.or(clock)
        {
            let moment = Moment { run: self.run, mono, wall: at };
            self.answers.push_parts(&[&answer_key(&url, at), &place.bytes(), &moment.bytes()])?;
        }
        let Some(request) = evidence.request else { return Ok(()) };
        let is_robots = layer == Layer::Robots;
        let robots_of = evidence.words.as_deref().and_then(|words| words.strip_prefix("robots.txt of "));
        let robots_of = robots_of.map(|words| words.split("; ").next().unwrap_or(words));
        let robots_of = robots_of.filter(|_| is_robots).map(str::to_owned);
        self.request(&host, url, request, is_robots, robots_of, place)
    }

    fn request(
        &mut self,
        host: &str,
        url: String,
        request: RequestMade,
        is_robots: bool,
        robots_of: Option<String>,
        place: Place,
    ) -> Result<(), AuditError> {
        self.requests += 1;
        let wall = request.ended();
        let from = Moment { run: self.run, mono: request.clock, wall: request.started }.bytes();
        let to = Moment { run: self.run, mono: request.clock + request.took, wall }.bytes();
        let (order, place) = (&from[..Moment::ORDER], place.bytes());
        // Pauses of the host, and what it waited for since it was put on record, aren't delays between any two requests.
        let holds = self.groups.longest && IN_GROUPS.contains(&&*request.gap_reason);
        let of_group = if holds { request.gap.max(self.configured) } else { self.configured };
        let rest = Rest {
            url,
            gap: request.gap,
            gap_reason: request.gap_reason.into_owned(),
            is_robots,
            robots_of,
            configured: self.configured,
            of_group,
            bytes: request.bytes,
        };
        let group = self.groups.of_request(host, request.address);
        if let Some(group) = &group {
            self.shared.push(group, (request.started, wall), self.configured, (host, &rest.url))?;
        }
        let rest = packed(&rest)?;
        let host = host_key(host);
        if let Some(group) = group {
            let group = group_key(&group);
            self.of_groups.push_parts(&[&group, order, &host, &place, &from, &to, &rest])?;
        }
        self.hosts.push_parts(&[&host, &[REQUEST], order, &place, &from, &to, &rest])?;
        Ok(())
    }

    fn pause(&mut self, host: &str, pause: Pause, place: Place) -> Result<(), AuditError> {
        let Pause { run, clock, at, length, reason } = pause;
        let (seconds, nanos) = (at.as_second(), at.subsec_nanosecond());
        let rest = packed(&PauseRest { run, clock, seconds, nanos, length, reason })?;
        let host = host_key(host);
        self.hosts.push_parts(&[&host, &[WILL_PAUSE]])?;
        self.hosts.push_parts(&[&host, &[PAUSE], &place.bytes(), &rest])?;
        Ok(())
    }
}

/// The wish that an entry says was set, as JSON before the user's id.
fn wish_set(entry: &Decision, run: u32) -> Option<((u32, Duration), WishSettings)> {
    let words = entry.evidence.words.as_deref().filter(|_| entry.decision == Decided::WishSet)?;
    let (wish, _) = words.rsplit_once("; by user ")?;
    Some(((run, entry.evidence.clock?), serde_json::from_str(wish).ok()?))
}

fn packed<T: Serialize>(value: &T) -> Result<Vec<u8>, AuditError> {
    postcard::to_stdvec(value).map_err(AuditError::record(Tree::Ledger))
}

fn unpacked<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, AuditError> {
    postcard::from_bytes(bytes).map_err(AuditError::record(Tree::Ledger))
}

/// Reasons of delays that hold between any two requests to a group.
const IN_GROUPS: [&str; 7] =
    ["configured", "crawl-delay", "request-rate", "adaptive", "operator", "shared address", "shared group"];

/// Reads what follows the sort key: place, both moments, the rest.
fn read_request(bytes: &[u8]) -> Result<Asked, AuditError> {
    let bad = || AuditError::record(Tree::Ledger)("a request was sorted badly");
    let (place, bytes) = bytes.split_at_checked(Place::BYTES).ok_or_else(bad)?;
    let (from, bytes) = bytes.split_at_checked(Moment::BYTES).ok_or_else(bad)?;
    let (to, rest) = bytes.split_at_checked(Moment::BYTES).ok_or_else(bad)?;
    let Rest { url, gap, gap_reason, is_robots, robots_of, configured, of_group, bytes } = unpacked(rest)?;
    let origin = |url: &str| CrawlUrl::parse(url).ok().map(|url| url.origin());
    Ok(Asked {
        // An entry about an origin's robots.txt names the origin, whichever host was asked; the host's own column counts.
        origin: origin(&url),
        from: Moment::read(from).ok_or_else(bad)?,
        to: Moment::read(to).ok_or_else(bad)?,
        gap,
        gap_reason,
        is_robots,
        robots_of: robots_of.as_deref().and_then(origin),
        configured,
        of_group,
        bytes,
        place: Place::read(place),
        url,
    })
}

/// What the ledger says of hosts, host by host in the order of their names: [`Entry::WillPause`] if there are pauses, the requests in
/// their order, the pauses in the order of the ledger.
pub(super) struct Hosts(Sorted);

impl Iterator for Hosts {
    type Item = Result<(String, Entry), AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(AuditError::from).and_then(|record| {
            let (host, at) = host_of(&record);
            let rest = record.get(at + 1..).unwrap_or_default();
            let entry = match record.get(at) {
                Some(&REQUEST) => {
                    Entry::Request(Box::new(read_request(rest.get(Moment::ORDER..).unwrap_or_default())?))
                }
                Some(&PAUSE) => {
                    let rest: PauseRest = unpacked(rest.get(Place::BYTES..).unwrap_or_default())?;
                    let at = Timestamp::new(rest.seconds, rest.nanos);
                    let at = at.map_err(AuditError::record(Tree::Ledger))?;
                    let PauseRest { run, clock, length, reason, .. } = rest;
                    Entry::Pause(Pause { run, clock, at, length, reason })
                }
                _ => Entry::WillPause,
            };
            Ok((host, entry))
        }))
    }
}

/// The requests of runs in which hosts take turns, group by group, each in their order.
pub(super) struct Groups(Sorted);

impl Iterator for Groups {
    type Item = Result<(GroupOf, Asked), AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(AuditError::from).and_then(|record| {
            let (group, length) = group_of(&record);
            let from = length + Moment::ORDER;
            let (_, length) = host_of(record.get(from..).unwrap_or_default());
            let asked = read_request(record.get(from + length..).unwrap_or_default())?;
            Ok((group, asked))
        }))
    }
}

/// Bytes of [`answer_key`].
const ANSWER_KEY: usize = 16 + 8;

/// An answer for the robots.txt of an origin: a hash of the origin, and the wall clock in microseconds.
fn answer_key(origin: &str, at: Timestamp) -> [u8; ANSWER_KEY] {
    let mut key = [0; ANSWER_KEY];
    key[..16].copy_from_slice(&blake3::hash(origin.as_bytes()).as_bytes()[..16]);
    // In the order of signed numbers.
    key[16..].copy_from_slice(&(at.as_microsecond() as u64 ^ 1 << 63).to_be_bytes());
    key
}

/// The answers in the order of their keys, the first in the ledger of each.
fn answers_by_origin(answers: Sorter, rules: &AuditRules) -> Result<Table, AuditError> {
    let mut table = Table::new(rules.temporary.as_deref(), ANSWER_KEY + Moment::BYTES);
    let mut last = Vec::new();
    for answer in answers.sorted()? {
        let answer = answer?;
        let (Some(key), Some(moment)) = (answer.get(..ANSWER_KEY), answer.get(ANSWER_KEY + Place::BYTES..))
        else {
            continue;
        };
        if last != key {
            table.push(&[key, moment].concat())?;
            last = key.to_vec();
        }
    }
    Ok(table)
}

impl Log {
    /// Seconds from one request's end to the next one's start, at the most: what is too short by this is too short.
    pub(super) fn between(&self, before: &Asked, after: &Asked) -> f64 {
        self.runs.between(before.to, after.from).most
    }

    /// When the answer for an origin's robots.txt came that has this time on record; none where no entry of the ledger says so.
    pub(super) fn answered(&self, origin: &str, at: Timestamp) -> Result<Option<Moment>, SortError> {
        let key = answer_key(origin, at);
        let place = self.answers.partition_point(|row| row < &key[..])?;
        let row = self.answers.get(place)?.filter(|row| row.starts_with(&key));
        Ok(row.and_then(|row| Moment::read(&row[ANSWER_KEY..])))
    }
}

/// `run 1; delay 0.02 s, ...`
fn delay_of(words: &str) -> Option<Duration> {
    let (_, rest) = words.split_once("delay ")?;
    let (number, _) = rest.split_once(" s")?;
    Duration::try_from_secs_f64(number.parse().ok()?).ok()
}

fn totals<S: Store>(store: &S) -> Result<Totals, AuditError> {
    let value = store.get(Tree::Meta, b"totals")?;
    let totals = value.map(|value| serde_json::from_slice(&value)).transpose();
    Ok(totals.map_err(AuditError::record(Tree::Meta))?.unwrap_or_default())
}

/// Every request that was counted is on record.
pub(super) fn complete<S: Store>(
    store: &S,
    log: &Log,
    repair: Option<&RepairRecord>,
) -> Result<Check, AuditError> {
    let mut check = Check::new("requests", "every request that was counted is in the ledger");
    let counted = totals(store)?.requests;
    check.judged = counted;
    if log.silent.is_some() {
        check.unjudged.clone_from(&log.silent);
        return Ok(check);
    }
    check.lost = repair.map_or(0, |repair| repair.requests_lost);
    if counted != log.requests + check.lost {
        let what = format!("{counted} requests were counted, {} are in the ledger", log.requests);
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
