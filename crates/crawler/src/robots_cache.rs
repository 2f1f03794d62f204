//! The robots.txt of every origin in use: fresh, stale or missing; and how one is fetched, hop by hop.
//!
//! I3: no page of an origin is requested before its robots.txt is known, at most 24 hours old. I4: an unreachable one
//! means no pages. What is known is in the store too, so that a resumed crawl asks again only when it is due.
//!
//! Which clock counts: how long ago a robots.txt was judged is told by the run's own clock, over a restart by the machine's.
//! Where the wall clock says otherwise, since somebody has set it, the stricter of the two counts: a file that lets pages be
//! fetched holds until one of them says that its time is over, and where pages have to wait, nothing is asked sooner because
//! the wall clock has jumped. If the machine was started anew in between, the wall clock alone tells; the host's own pause is
//! kept in full then ([`Boot::since`](crate::clock::Boot::since)).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use meta::consent::RobotsSignals;
use robots::access::{self, Access, BadRedirect, Failure, Head, History, Judgement, Outcome, Policy};
use robots::{Agent, Options, Robots};

use crate::clock::{Clock, Now};
use crate::consent::consent_lines;
use crate::fetch::{ErrorKind, FetchError, Response};
use crate::frontier::Errand;
use crate::record::{RobotsClocks, RobotsRecord};
use crate::store::{Store, StoreError, Tree};
use crate::url::{CrawlUrl, Origin};

/// Origins held in memory; the others are read again from the store.
const IN_MEMORY: usize = 20_000;

/// Octets of the files of these origins: a file of 500 KiB takes a few times as much once it is read.
const OCTETS_IN_MEMORY: u64 = 4 << 20;

/// Redirects of a robots.txt that are followed (RFC 9309 section 2.3.1.2).
const HOPS: usize = 5;

/// The error kind of pages whose robots.txt can't be had.
const ROBOTS: &str = "robots";

/// What is known of one origin.
#[derive(Debug)]
pub struct Entry {
    /// The rules in force, or a file that allows or denies everything.
    pub robots: Robots,
    /// True while nothing may be fetched until `expires`, and URLs wait.
    pub deferred: bool,
    /// True where the usual rate is halved.
    pub half_rate: bool,
    /// Until when it holds.
    pub expires: Timestamp,
    /// The stored version that the rules come from.
    pub record: RobotsRecord,
    /// Digest of the rules in force.
    pub digest: Option<String>,
    /// What its lines say to uses of pages.
    pub signals: RobotsSignals,
    /// How old it was, and when, by clocks that nobody sets.
    aged: Option<Aged>,
}

/// An age at a moment of the run's own clock.
#[derive(Debug, Clone, Copy)]
struct Aged {
    age: Duration,
    mono: Duration,
}

impl Entry {
    /// How long ago it was judged, by clocks that nobody sets; none where the machine was started anew since.
    fn age(&self, now: Now) -> Option<Duration> {
        self.aged.map(|Aged { age, mono }| age.saturating_add(now.mono.saturating_sub(mono)))
    }

    /// How long ago it was judged: at the least, and at the most. Where no clock can tell, the wall's speaks, and the run's own.
    fn ages(&self, now: Now) -> (Duration, Duration) {
        let wall = between(self.record.fetched_at, now.wall);
        self.age(now).map_or((wall.min(now.mono), wall.max(now.mono)), |age| (age, age))
    }

    /// For how long it holds from when it was judged.
    fn lifetime(&self) -> Duration {
        between(self.record.fetched_at, self.expires)
    }

    /// Whether the end of its time allows more than it does, or only another try.
    fn keeps_waiting(&self) -> bool {
        self.record.failures > 0 || matches!(self.record.access.as_str(), "defer" | "deny_all")
    }

    /// How long it holds yet, by the clock that counts.
    pub fn remaining(&self, now: Now) -> Duration {
        let of_wall = || match now.wall.duration_since(self.record.fetched_at) {
            // It comes from the future: the wall clock was set back by nobody knows how much.
            since if since.is_negative() => self.lifetime().saturating_sub(now.mono),
            _ => between(now.wall, self.expires),
        };
        match self.age(now) {
            Some(age) if self.keeps_waiting() => self.lifetime().saturating_sub(age),
            // A record from the future is asked for again rather than trusted.
            _ if !self.keeps_waiting() && self.record.fetched_at > now.wall => Duration::ZERO,
            Some(age) => self.lifetime().saturating_sub(age).min(of_wall()),
            None => of_wall(),
        }
    }

    /// About how many bytes of memory it counts for: its file, and the lines that say something to uses of pages.
    fn memory(&self) -> u64 {
        /// Of one line as the parser keeps it.
        const LINE: usize = 256;
        let signals = self.robots.signals();
        let lines = signals.content_usage().len() + signals.content_signal().len();
        self.record.bytes + (lines * LINE + self.signals.memory()) as u64
    }

    fn history(&self) -> History {
        History {
            first_failure: self.record.first_failure,
            failures: self.record.failures,
            good_copy: self.record.good_copy,
        }
    }

    /// How long robots.txt has been failing at the least, and how old the good copy is at the most.
    fn elapsed(&self, now: Now) -> (Duration, Duration) {
        let (least, most) = self.ages(now);
        let RobotsRecord { fetched_at, first_failure, good_copy, .. } = self.record;
        let before = |since: Option<Timestamp>| since.map_or(Duration::ZERO, |at| between(at, fetched_at));
        let (failing, copy) = match self.record.clocks {
            Some(clocks) => (Duration::from_millis(clocks.failing_ms), Duration::from_millis(clocks.copy_ms)),
            None => (before(first_failure), before(good_copy)),
        };
        (failing.saturating_add(least), copy.saturating_add(most))
    }

    /// The history, with times that fit the wall clock as it stands now.
    fn history_at(&self, now: Now) -> History {
        let history = self.history();
        let (failing, copy) = self.elapsed(now);
        History {
            first_failure: history.first_failure.map(|_| before(now.wall, failing)),
            good_copy: history.good_copy.map(|at| at.min(before(now.wall, copy))),
            ..history
        }
    }
}

/// The answer for one origin at one moment.
#[derive(Debug, Clone)]
pub enum Known {
    /// It holds.
    Fresh(Arc<Entry>),
    /// It has to be asked for again, conditionally.
    Stale(Arc<Entry>),
    /// It was never asked for.
    Missing,
}

/// What one request for a robots.txt came to.
#[derive(Debug)]
pub enum Step {
    /// It is known now. The version is to be stored.
    Known(Arc<Entry>),
    /// Another URL has to be asked.
    Hop(Errand),
}

/// Robots.txt files by origin.
#[derive(Debug)]
pub struct RobotsCache<S> {
    store: Arc<S>,
    agent: Agent,
    options: Options,
    policy: Policy,
    clock: Option<Clock>,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    of_origin: HashMap<Origin, Arc<Entry>>,
    octets: u64,
}

impl<S: Store> RobotsCache<S> {
    /// An empty cache over a store.
    pub fn new(store: Arc<S>, agent: Agent, options: Options, policy: Policy) -> Self {
        Self { store, agent, options, policy, clock: None, entries: Mutex::default() }
    }

    /// With the clock of the machine, which tells how old a stored robots.txt is whatever was done to the wall clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// What is known of an origin.
    pub fn lookup(&self, origin: &Origin, now: Now) -> Result<Known, StoreError> {
        let cached =
            self.entries.lock().unwrap_or_else(PoisonError::into_inner).of_origin.get(origin).cloned();
        let entry = match cached {
            Some(entry) => entry,
            None => match self.stored(origin, now)? {
                Some(entry) => self.keep(origin, entry),
                None => return Ok(Known::Missing),
            },
        };
        let is_over = entry.remaining(now).is_zero();
        Ok(if is_over { Known::Stale(entry) } else { Known::Fresh(entry) })
    }

    fn keep(&self, origin: &Origin, entry: Entry) -> Arc<Entry> {
        let entry = Arc::new(entry);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let octets = entry.memory();
        if entries.of_origin.len() >= IN_MEMORY || entries.octets + octets > OCTETS_IN_MEMORY {
            *entries = Entries::default();
        }
        entries.octets += octets;
        if let Some(before) = entries.of_origin.insert(origin.clone(), Arc::clone(&entry)) {
            entries.octets -= before.memory();
        }
        entry
    }

    fn stored(&self, origin: &Origin, now: Now) -> Result<Option<Entry>, StoreError> {
        let name = origin.to_string();
        let Some((_, value)) = self.store.last(Tree::Robots, &RobotsRecord::prefix(&name))? else {
            return Ok(None);
        };
        let record = RobotsRecord::read(&value)
            .map_err(|error| StoreError::Form { tree: Tree::Robots.name(), detail: error.to_string() })?;
        let body = match record.access.as_str() {
            "stored" => self.good_copy(&name)?,
            _ => None,
        };
        let robots = match record.access.as_str() {
            "rules" => self.parse(&record.octets(), &name),
            "stored" => self.parse(&body.as_ref().map(RobotsRecord::octets).unwrap_or_default(), &name),
            "allow_all" => Robots::allow_all(record.reason.as_str()).with_dialect(self.options.dialect),
            _ => Robots::deny_all(record.reason.as_str()).with_dialect(self.options.dialect),
        };
        let lines = record.consent_lines.clone().unwrap_or_else(|| consent_lines(&robots));
        let boot = self.clock.and_then(|clock| clock.boot());
        let age = boot.and_then(|boot| boot.since(record.clocks?.boot));
        Ok(Some(Entry {
            aged: age.map(|age| Aged { age, mono: now.mono }),
            robots,
            signals: RobotsSignals::new(&lines),
            deferred: record.access == "defer",
            half_rate: record.access == "stored" && record.failures > 0,
            expires: record.expires,
            digest: body.map_or_else(|| record.digest.clone(), |body| body.digest),
            record,
        }))
    }

    /// The last version whose body holds rules.
    fn good_copy(&self, origin: &str) -> Result<Option<RobotsRecord>, StoreError> {
        let versions =
            self.store.scan(Tree::Robots, &RobotsRecord::prefix(origin)).collect::<Result<Vec<_>, _>>()?;
        let records = versions.iter().rev().filter_map(|(_, value)| RobotsRecord::read(value).ok());
        Ok(records.into_iter().find(|record| record.access == "rules"))
    }

    fn parse(&self, body: &[u8], origin: &str) -> Robots {
        Robots::parse(body, &self.agent, &self.options, Some(origin))
    }

    /// Header fields that make the request conditional, where there is a copy whose freshness ended.
    pub fn conditions(known: &Known) -> Vec<(String, String)> {
        let Known::Stale(entry) = known else { return Vec::new() };
        if entry.record.access != "rules" {
            return Vec::new();
        }
        let field =
            |name: &str| entry.record.headers.iter().find(|(field, _)| field == name).map(|(_, value)| value);
        match (field("etag"), field("last-modified")) {
            (Some(etag), _) => vec![("If-None-Match".to_owned(), etag.clone())],
            (None, Some(date)) => vec![("If-Modified-Since".to_owned(), date.clone())],
            (None, None) => Vec::new(),
        }
    }

    /// Takes in the answer to one request for `errand.url`.
    pub fn answered(
        &self,
        errand: &Errand,
        known: &Known,
        answer: &Result<Response, FetchError>,
        now: Now,
    ) -> Result<Step, StoreError> {
        if let Ok(response) = answer
            && matches!(response.status, 301 | 302 | 303 | 307 | 308)
        {
            return match next_hop(errand, response) {
                Ok(hop) => Ok(Step::Hop(hop)),
                Err(bad) => self
                    .judged(errand, known, &Outcome::Redirects(bad), Some(response), ROBOTS, now)
                    .map(Step::Known),
            };
        }
        let entry = match answer {
            Ok(response) => {
                let headers = response
                    .headers
                    .iter()
                    .filter_map(|(name, value)| Some((name.as_str(), std::str::from_utf8(value).ok()?)));
                let head = Head::new(response.status, headers);
                let outcome = Outcome::Answer { head, body: &response.body };
                self.judged(errand, known, &outcome, Some(response), ROBOTS, now)
            }
            Err(error) => {
                // Without a connection it's the host that can't be had, not its robots.txt.
                let of_host = !error.connected && errand.hops.is_empty();
                let kind = if of_host { error.kind.as_str() } else { ROBOTS };
                let words = format!("{}: {}", failure(error.kind).name(), error.detail);
                let outcome = if error.detail.is_empty() {
                    Outcome::Failed(failure(error.kind))
                } else {
                    Outcome::Refused(&words)
                };
                self.judged(errand, known, &outcome, None, kind, now)
            }
        };
        entry.map(Step::Known)
    }

    /// Takes in that a redirect isn't followed, for this reason: the origin counts as unreachable.
    pub fn refused(
        &self,
        errand: &Errand,
        known: &Known,
        reason: &str,
        now: Now,
    ) -> Result<Arc<Entry>, StoreError> {
        self.judged(errand, known, &Outcome::Refused(reason), None, ROBOTS, now)
    }

    fn judged(
        &self,
        errand: &Errand,
        known: &Known,
        outcome: &Outcome<'_>,
        response: Option<&Response>,
        kind: &str,
        now: Now,
    ) -> Result<Arc<Entry>, StoreError> {
        let before = match known {
            Known::Fresh(entry) | Known::Stale(entry) => Some(entry),
            Known::Missing => None,
        };
        let history = before.map_or_else(History::default, |entry| entry.history_at(now));
        let Judgement { access, reason, next_try, jitter, history, .. } =
            access::judge(outcome, &history, &self.policy, now.wall);
        let expires = later(next_try, jitter, &errand.origin, now.wall);
        // A row of failures that goes on, and a copy that is kept, are as old as they were, and what has passed since.
        let (failing, copy) = before.map_or_else(Default::default, |entry| entry.elapsed(now));
        let goes_on = |entry: &&Arc<Entry>| history.failures > 1 && entry.record.failures > 0;
        let failing = before.filter(goes_on).map_or(Duration::ZERO, |_| failing);
        let copy = if history.failures > 0 { copy } else { Duration::ZERO };
        let clocks = RobotsClocks {
            boot: self.clock.and_then(|clock| clock.boot()),
            failing_ms: milliseconds(failing),
            copy_ms: milliseconds(copy),
        };
        let name = errand.origin.to_string();
        let mut record = RobotsRecord {
            v: 1,
            origin: name.clone(),
            fetched_at: now.wall,
            status: response.map(|response| response.status),
            access: String::new(),
            reason: reason.to_string(),
            expires,
            digest: None,
            bytes: 0,
            body: None,
            body_base64: None,
            hops: errand.hops.clone(),
            headers: response.map(text_headers).unwrap_or_default(),
            warnings: Vec::new(),
            first_failure: history.first_failure,
            failures: history.failures,
            good_copy: history.good_copy,
            failure: (access == Access::Defer).then(|| kind.to_owned()),
            consent_lines: None,
            clocks: Some(clocks),
        };
        if let Some(response) = response {
            record.set_body(&response.body);
        }
        let mut rules_digest = record.digest.clone();
        let robots = match access {
            Access::Rules => {
                let robots =
                    self.parse(response.map(|response| &response.body[..]).unwrap_or_default(), &name);
                "rules".clone_into(&mut record.access);
                record.warnings = robots
                    .warnings()
                    .iter()
                    .take(100)
                    .map(|warning| (warning.line, warning.to_string()))
                    .collect();
                robots
            }
            Access::Stored { .. } => {
                "stored".clone_into(&mut record.access);
                let copy = self.good_copy(&name)?;
                rules_digest = copy.as_ref().and_then(|copy| copy.digest.clone());
                self.parse(&copy.map(|copy| copy.octets()).unwrap_or_default(), &name)
            }
            Access::AllowAll => {
                "allow_all".clone_into(&mut record.access);
                Robots::allow_all(Arc::clone(&reason)).with_dialect(self.options.dialect)
            }
            Access::DenyAll => {
                "deny_all".clone_into(&mut record.access);
                Robots::deny_all(Arc::clone(&reason)).with_dialect(self.options.dialect)
            }
            Access::Defer => {
                "defer".clone_into(&mut record.access);
                Robots::deny_all(Arc::clone(&reason)).with_dialect(self.options.dialect)
            }
        };
        let lines = consent_lines(&robots);
        if let Some(unread) = &lines.unread {
            record.warnings.insert(0, (unread.line, unread.words()));
        }
        let signals = RobotsSignals::new(&lines);
        record.consent_lines = Some(lines).filter(|lines| !lines.is_empty());
        let entry = Entry {
            robots,
            signals,
            deferred: access == Access::Defer,
            half_rate: matches!(access, Access::Stored { half_rate: true }),
            expires,
            record,
            digest: rules_digest,
            aged: Some(Aged { age: Duration::ZERO, mono: now.mono }),
        };
        Ok(self.keep(&errand.origin, entry))
    }
}

/// From one moment to a later one; nothing where it isn't later.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

/// So much before a moment.
fn before(at: Timestamp, length: Duration) -> Timestamp {
    jiff::SignedDuration::try_from(length)
        .ok()
        .and_then(|length| at.checked_sub(length).ok())
        .unwrap_or(Timestamp::MIN)
}

fn milliseconds(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// Spreads the tries of many origins that failed together over `jitter`; the same origin at the same time always gets
/// the same share, so that a simulation can be repeated.
fn later(next_try: Timestamp, jitter: Duration, origin: &Origin, now: Timestamp) -> Timestamp {
    let hash = blake3::hash(format!("{origin} {now}").as_bytes());
    let share = f64::from(hash.as_bytes()[0]) / 256.0;
    let more = jiff::SignedDuration::try_from(jitter.mul_f64(share)).unwrap_or_default();
    next_try.checked_add(more).unwrap_or(next_try)
}

fn next_hop(errand: &Errand, response: &Response) -> Result<Errand, BadRedirect> {
    if errand.hops.len() >= HOPS {
        return Err(BadRedirect::TooMany);
    }
    let target = response.header("location").and_then(|to| CrawlUrl::join(errand.url.as_url(), to).ok());
    let url = target.ok_or(BadRedirect::BadTarget)?;
    let mut hops = errand.hops.clone();
    hops.push(errand.url.to_string());
    if hops.iter().any(|hop| hop == url.as_str()) {
        return Err(BadRedirect::Loop);
    }
    Ok(Errand { origin: errand.origin.clone(), url, hops, judged: false })
}

fn failure(kind: ErrorKind) -> Failure {
    match kind {
        ErrorKind::Timeout => Failure::Timeout,
        ErrorKind::TooLarge | ErrorKind::Decode => Failure::Encoding,
        ErrorKind::Truncated => Failure::Truncated,
        ErrorKind::Protocol => Failure::Protocol,
        ErrorKind::Tls => Failure::Tls,
        ErrorKind::Dns => Failure::Dns,
        _ => Failure::Other,
    }
}

fn text_headers(response: &Response) -> Vec<(String, String)> {
    let headers = response.headers.iter();
    headers
        .map(|(name, value)| {
            (name.clone(), crate::clean::clean(&String::from_utf8_lossy(value)).into_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Boot;
    use crate::store::{MemoryStore, Write};

    const HOUR: i64 = 3600;

    /// Seconds after the beginning on the run's own clock; the wall clock stands so many seconds before or after that.
    fn at(mono: i64, jumped: i64) -> Now {
        let began: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let wall = began + jiff::SignedDuration::from_secs(mono + jumped);
        Now { mono: Duration::from_secs(mono.unsigned_abs()), wall }
    }

    struct Asked {
        store: Arc<MemoryStore>,
        cache: RobotsCache<MemoryStore>,
        errand: Errand,
    }

    impl Asked {
        fn new() -> Self {
            let store = Arc::new(MemoryStore::default());
            let origin = CrawlUrl::parse("http://a.test/").unwrap().origin();
            let errand =
                Errand { url: origin.robots_url().unwrap(), origin, hops: Vec::new(), judged: false };
            Self { cache: cache(&store), store, errand }
        }

        fn known(&self, now: Now) -> Known {
            self.cache.lookup(&self.errand.origin, now).unwrap()
        }

        /// Whether robots.txt has to be asked for.
        fn is_due(&self, now: Now) -> bool {
            !matches!(self.known(now), Known::Fresh(_))
        }

        /// Takes in an answer, or a time-out, and stores what it says.
        fn answered(&self, status: Option<u16>, body: &str, now: Now) -> Arc<Entry> {
            let answer = match status {
                Some(status) => Ok(crate::consent::tests::response(status, &[], body)),
                None => Err(FetchError::new(ErrorKind::Timeout, "no answer")),
            };
            let step = self.cache.answered(&self.errand, &self.known(now), &answer, now).unwrap();
            let Step::Known(entry) = step else { panic!("no hop") };
            let write = Write::put(Tree::Robots, entry.record.key(), entry.record.write().unwrap());
            self.store.commit(vec![write]).unwrap();
            entry
        }
    }

    fn cache(store: &Arc<MemoryStore>) -> RobotsCache<MemoryStore> {
        RobotsCache::new(Arc::clone(store), Agent::new("SuperRobot"), Options::default(), Policy::default())
    }

    #[test]
    fn rules_hold_until_either_clock_says_that_their_time_is_over() {
        for (mono, jumped, due) in [
            (HOUR, 0, false),
            (23 * HOUR, 0, false),
            (24 * HOUR, 0, true),
            // The wall clock was set back: by an hour, and before the file came.
            (24 * HOUR, -HOUR, true),
            (23 * HOUR, -HOUR, false),
            (HOUR, -2 * HOUR, true),
            // And on.
            (HOUR, 24 * HOUR, true),
            (HOUR, 22 * HOUR, false),
        ] {
            let asked = Asked::new();
            asked.answered(Some(200), "User-agent: *\nDisallow: /x\n", at(0, 0));
            assert_eq!(asked.is_due(at(mono, jumped)), due, "{mono} {jumped}");
        }
    }

    #[test]
    fn where_pages_wait_nothing_is_asked_sooner_or_later_by_a_jump_of_the_wall_clock() {
        // A time-out (5 min), an answer that asks for a day, and a site that is closed for one.
        let cases: [(Option<u16>, i64); 2] = [(None, 300), (Some(403), 24 * HOUR)];
        for (status, length) in cases {
            for jumped in [0, HOUR, 40 * 24 * HOUR, -HOUR, -40 * 24 * HOUR] {
                let asked = Asked::new();
                let entry = asked.answered(status, "", at(0, 0));
                // What chance adds is part of it.
                let least = length;
                let length = i64::try_from(entry.lifetime().as_secs()).unwrap();
                assert!(length >= least, "{status:?}");
                for mono in [1, length / 2, length - 1] {
                    assert!(!asked.is_due(at(mono, jumped)), "{status:?} {mono} {jumped}");
                    let remaining = entry.remaining(at(mono, jumped)).as_secs_f64();
                    let want = entry.lifetime().as_secs_f64() - mono as f64;
                    assert!((remaining - want).abs() < 0.001, "{status:?} {mono} {jumped}: {remaining}");
                }
                assert!(asked.is_due(at(length + 1, jumped)), "{status:?} {jumped}");
            }
        }
    }

    #[test]
    fn the_twelve_hours_until_a_stored_copy_serves_are_hours_of_the_runs_clock() {
        for jumped in [0, 13 * HOUR, 28 * 24 * HOUR, -HOUR, -40 * 24 * HOUR] {
            let asked = Asked::new();
            asked.answered(Some(200), "User-agent: *\nDisallow: /x\n", at(0, 0));
            asked.answered(None, "", at(24 * HOUR, 0));
            for hours in [25, 30, 35] {
                let entry = asked.answered(None, "", at(hours * HOUR, jumped));
                assert!(entry.deferred, "{jumped}, after {} h: {}", hours - 24, entry.record.reason);
            }
            let entry = asked.answered(None, "", at(36 * HOUR, jumped));
            assert_eq!(entry.record.access, "stored", "{jumped}: {}", entry.record.reason);
            assert!(!entry.robots.verdict("/x").allowed && entry.half_rate);
        }
    }

    #[test]
    fn a_stored_copy_ages_by_the_runs_clock_too() {
        let asked = Asked::new();
        asked.answered(Some(200), "User-agent: *\nDisallow: /x\n", at(0, 0));
        // Somebody sets the wall clock back by 20 days, and the site is out of reach from the 15th day to the 31st.
        let back = -20 * 24 * HOUR;
        asked.answered(None, "", at(15 * 24 * HOUR, back));
        assert_eq!(asked.answered(None, "", at(16 * 24 * HOUR, back)).record.access, "stored");
        assert_eq!(asked.answered(None, "", at(31 * 24 * HOUR, back)).record.access, "deny_all");
    }

    #[tokio::test(start_paused = true)]
    async fn over_a_restart_the_clock_of_the_machine_tells() {
        for jumped in [0, 40 * 24 * HOUR, -40 * 24 * HOUR] {
            let mut asked = Asked::new();
            let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
            asked.cache = cache(&asked.store).with_clock(clock);
            let entry = asked.answered(None, "", clock.now());
            let boot = entry.record.clocks.unwrap().boot;
            assert!(boot.is_some_and(|Boot { ms, .. }| ms == 0));
            tokio::time::advance(Duration::from_secs(100)).await;
            let next = clock.next_process(false);
            asked.cache = cache(&asked.store).with_clock(next);
            let then = |seconds: u64| {
                let now = next.now();
                let jump = jiff::SignedDuration::from_secs(jumped);
                Now { mono: Duration::from_secs(seconds), wall: now.wall + jump }
            };
            let Known::Fresh(again) = asked.known(then(0)) else { panic!("{jumped}: asked too early") };
            let passed = entry.lifetime().saturating_sub(again.remaining(then(0)));
            assert!((99.9..=100.0).contains(&passed.as_secs_f64()), "{jumped}: {passed:?}");
            assert!(!asked.is_due(then(190)), "{jumped}");
            assert!(asked.is_due(then(entry.lifetime().as_secs() - 99)), "{jumped}");
        }
    }
}
