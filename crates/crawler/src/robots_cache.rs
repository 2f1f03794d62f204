//! The robots.txt of every origin in use: fresh, stale or missing; and how one is fetched, hop by hop.
//!
//! I3: no page of an origin is requested before its robots.txt is known, at most 24 hours old. I4: an unreachable one
//! means no pages. What is known is in the store too, so that a resumed crawl asks again only when it is due.

mod age;
mod consent_lines;
mod lately;

use self::consent_lines::consent_lines;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use meta::consent::RobotsSignals;
use robots::access::{self, Access, BadRedirect, Failure, History, Judgement, Outcome, Policy, ResponseHead};
use robots::memory::block;
use robots::{Agent, Options, Robots, StatusClass};

use self::age::{Aged, Dated};
use self::lately::Lately;
use crate::encoded::Size;
use crate::fetch::{ErrorKind, FetchError, Response};
use crate::frontier::RobotsFetch;
use crate::origin_cache::{Kind, OriginCache};
use crate::portion::Portion;
use crate::record::{RobotsAccess, RobotsClocks, RobotsRecord, Uncommitted, Wall};
use crate::store::{Store, StoreError, Tree};
use crate::wall;
use page::clock::{Clock, Now};
use page::url::{CrawlUrl, Origin};
use walls::{Asked, RobotsReading};

/// Redirects of a robots.txt that are followed (RFC 9309 section 2.3.1.2).
const HOPS: usize = 5;

/// The error kind of pages whose robots.txt is unreachable.
const ROBOTS: &str = "robots";

/// What is known of one origin.
#[derive(Debug)]
pub struct Entry {
    /// The rules in force, or a file that allows or denies everything.
    pub robots: Arc<Robots>,
    /// True while nothing may be fetched until `expires`, and URLs wait.
    pub deferred: bool,
    /// True where the usual rate is halved.
    pub half_rate: bool,
    /// Until when it holds.
    pub expires: Timestamp,
    /// The stored version that the rules come from. Without its body where the rules hold it: see [`Entry::body`].
    pub record: Arc<RobotsRecord>,
    /// Digest of the rules in force.
    pub digest: Option<String>,
    /// What its lines say to uses of pages.
    pub signals: RobotsSignals,
    /// How old it was, and when, by clocks that nobody sets.
    aged: Option<Aged>,
    /// What the record takes, once it was measured.
    record_size: OnceLock<Size>,
}

impl Entry {
    /// How long it holds yet, by the clock that counts.
    pub fn remaining(&self, now: Now) -> Duration {
        Dated { record: &self.record, aged: self.aged }.remaining(now)
    }

    /// Bytes of memory that it takes: the rules as they are read, the record with the file as it was sent, and the lines that say
    /// something to uses of pages. Within a quarter of what an allocator gives, and never less.
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + block(size_of::<Robots>() + 2 * size_of::<usize>())
            + self.robots.memory()
            + self.signals.memory()
            + self.digest.as_ref().map_or(0, |digest| block(digest.capacity()))
            + block(size_of::<RobotsRecord>())
            + self.record.memory()
    }

    /// The file that the rules come from, as far as it was read.
    pub fn body(&self) -> Cow<'_, [u8]> {
        let is_slim = self.record.body.is_none() && self.record.body_base64.is_none();
        match self.robots.file() {
            Some(file) if is_slim => Cow::Borrowed(file),
            _ => Cow::Owned(self.record.bytes()),
        }
    }

    /// The same without what is there twice: the body of the record, where the rules hold the file. None where there is no such thing.
    fn slim(&self) -> Option<Self> {
        self.robots.file()?;
        let record = RobotsRecord { body: None, body_base64: None, ..(*self.record).clone() };
        Some(Self {
            robots: Arc::clone(&self.robots),
            deferred: self.deferred,
            half_rate: self.half_rate,
            expires: self.expires,
            record: Arc::new(record),
            digest: self.digest.clone(),
            signals: self.signals.clone(),
            aged: self.aged,
            record_size: OnceLock::new(),
        })
    }

    /// What the record takes encoded. Cost: the first time that of encoding it, half a megabyte at most: not for the engine's loop.
    pub(crate) fn record_size(&self) -> Size {
        *self.record_size.get_or_init(|| Size::of(&*self.record))
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
pub enum RobotsStep {
    /// It is known now. The version is to be stored.
    Known(Arc<Entry>),
    /// Another URL has to be asked.
    Hop(RobotsFetch),
}

/// Robots.txt files by origin: those used lately in memory, all in the store.
#[derive(Debug)]
pub struct RobotsCache<S> {
    store: Arc<S>,
    agent: Agent,
    options: Options,
    policy: Policy,
    clock: Option<Clock>,
    entries: Arc<OriginCache>,
    /// Large files that were read in the last minute: they aren't read again for each page where they don't fit beside the others.
    lately: Lately,
    /// Versions that may not be in the store yet: an entry may leave memory before its commit is through.
    uncommitted: Uncommitted<RobotsRecord>,
    /// The same, of those whose body holds rules.
    uncommitted_rules: Uncommitted<RobotsRecord>,
}

/// The memory for large files that were read in the last minute.
pub fn large_files() -> Portion {
    Portion::whole(lately::MOST)
}

impl<S: Store> RobotsCache<S> {
    /// A cache over a store, in this budget.
    pub fn new(
        store: Arc<S>,
        agent: Agent,
        options: Options,
        policy: Policy,
        entries: Arc<OriginCache>,
    ) -> Self {
        let (lately, uncommitted, uncommitted_rules) = Default::default();
        Self { store, agent, options, policy, clock: None, entries, lately, uncommitted, uncommitted_rules }
    }

    /// With the clock of the machine, which tells how old a stored robots.txt is whatever was done to the wall clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// Shares the memory for large files that were read in the last minute with other caches.
    #[must_use]
    pub fn sharing(self, lately: Portion) -> Self {
        Self { lately: Lately::within(lately), ..self }
    }

    /// Drops large files that were read more than a minute ago. To be called once a second.
    pub fn tidy(&self, now: Now) {
        self.lately.tidy(now);
    }

    /// What is known of an origin. Cost: where it isn't in memory, one value of the store, which is read again; a file of 500 KiB takes
    /// some milliseconds, and is read once a minute at most while such files of less than 16 MiB are in use.
    pub fn lookup(&self, origin: &Origin, now: Now) -> Result<Known, StoreError> {
        let name = origin.name();
        let entry = match self.in_memory(&name) {
            Some(entry) => entry,
            None => match self.stored(&name, now)? {
                Some(entry) => self.keep(&name, entry, now),
                None => return Ok(Known::Missing),
            },
        };
        let is_over = entry.remaining(now).is_zero();
        Ok(if is_over { Known::Stale(entry) } else { Known::Fresh(entry) })
    }

    fn in_memory(&self, origin: &str) -> Option<Arc<Entry>> {
        self.entries.get::<Entry>(Kind::Robots, origin).or_else(|| self.lately.get(origin))
    }

    fn keep(&self, origin: &str, entry: Entry, now: Now) -> Arc<Entry> {
        let entry = Arc::new(entry);
        let kept = entry.slim().map_or_else(|| Arc::clone(&entry), Arc::new);
        let bytes = kept.memory();
        self.lately.keep(origin, &kept, bytes, now);
        self.entries.keep(Kind::Robots, origin, kept, bytes);
        entry
    }

    /// Bytes that a look-up and a verdict would have to read: none where the origin is in memory with its rules prepared, or isn't known.
    pub fn unread(&self, origin: &Origin) -> Result<usize, StoreError> {
        let name = origin.name();
        if let Some(entry) = self.in_memory(&name) {
            return Ok(entry.robots.read_again());
        }
        if let Some(record) = self.uncommitted.get(&name) {
            return Ok(record.bytes as usize);
        }
        Ok(self.last_stored(&name)?.map_or(0, |value| crate::packed::unpacked_len(&value)))
    }

    /// The value of the last version that is stored. An origin that was never asked is looked for once: each step of its first visit wants to
    /// know, and where the database is another machine each look is a round trip.
    fn last_stored(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        if self.entries.get::<()>(Kind::NeverAsked, name).is_some() {
            return Ok(None);
        }
        let last = self.store.last(Tree::Robots, &RobotsRecord::prefix(name))?;
        if last.is_none() {
            self.entries.keep(Kind::NeverAsked, name, Arc::new(()), 0);
            // A version that was judged meanwhile, by a redirect from another host, was noted before this was forgotten.
            if self.uncommitted.get(name).is_some() {
                self.entries.remove(Kind::NeverAsked, name);
            }
        }
        Ok(last.map(|(_, value)| value))
    }

    /// The last version, as it is stored or about to be.
    fn last(&self, name: &str) -> Result<Option<Arc<RobotsRecord>>, StoreError> {
        if let Some(record) = self.uncommitted.get(name) {
            return Ok(Some(record));
        }
        let Some(value) = self.last_stored(name)? else { return Ok(None) };
        let record = RobotsRecord::read(&value)
            .map_err(|error| StoreError::Unreadable { tree: Tree::Robots.name(), source: error.into() })?;
        Ok(Some(Arc::new(record)))
    }

    /// The age of a version that isn't in memory, by the machine's own clock.
    fn aged(&self, record: &RobotsRecord, now: Now) -> Option<Aged> {
        let boot = self.clock.and_then(|clock| clock.boot())?;
        Some(Aged { age: boot.since(record.clocks?.boot)?, mono: now.mono })
    }

    /// The age of the version that is in force, as memory has it, else as the machine's own clock tells it.
    fn age_of_last(&self, name: &str, record: &RobotsRecord, now: Now) -> Option<Aged> {
        match self.in_memory(name) {
            Some(entry) => entry.aged,
            None => self.aged(record, now),
        }
    }

    /// The last version, read.
    fn stored(&self, name: &str, now: Now) -> Result<Option<Entry>, StoreError> {
        let Some(record) = self.last(name)? else { return Ok(None) };
        let body = if record.access == RobotsAccess::Stored { self.good_copy(name)? } else { None };
        let robots = match record.access {
            RobotsAccess::Rules => self.parse(&record.bytes(), name),
            RobotsAccess::Stored => {
                self.parse(&body.as_ref().map(|body| body.bytes()).unwrap_or_default(), name)
            }
            RobotsAccess::AllowAll => {
                Robots::allow_all(record.reason.as_str()).with_dialect(self.options.dialect)
            }
            RobotsAccess::DenyAll | RobotsAccess::Defer | RobotsAccess::Other(_) => {
                Robots::deny_all(record.reason.as_str()).with_dialect(self.options.dialect)
            }
        };
        let lines = record.consent_lines.clone().unwrap_or_else(|| consent_lines(&robots));
        Ok(Some(Entry {
            aged: self.aged(&record, now),
            robots: Arc::new(robots),
            signals: RobotsSignals::new(&lines),
            deferred: record.access == RobotsAccess::Defer,
            half_rate: record.access == RobotsAccess::Stored && record.failures > 0,
            expires: record.expires,
            digest: body.map_or_else(|| record.digest.clone(), |body| body.digest.clone()),
            record,
            record_size: OnceLock::new(),
        }))
    }

    /// The last version whose body holds rules.
    fn good_copy(&self, name: &str) -> Result<Option<Arc<RobotsRecord>>, StoreError> {
        if let Some(record) = self.uncommitted_rules.get(name) {
            return Ok(Some(record));
        }
        let versions =
            self.store.scan(Tree::Robots, &RobotsRecord::prefix(name)).collect::<Result<Vec<_>, _>>()?;
        let records = versions.iter().rev().filter_map(|(_, value)| RobotsRecord::read(value).ok());
        Ok(records.into_iter().find(|record| record.access == RobotsAccess::Rules).map(Arc::new))
    }

    fn parse(&self, body: &[u8], origin: &str) -> Robots {
        Robots::parse(body, &self.agent, &self.options, Some(origin))
    }

    /// Header fields that make the request conditional, where there is a copy whose freshness ended. Reads no rules.
    pub fn conditions(&self, origin: &Origin, now: Now) -> Result<Vec<(String, String)>, StoreError> {
        let name = origin.name();
        let Some(record) = self.last(&name)? else { return Ok(Vec::new()) };
        let dated = Dated { record: &record, aged: self.age_of_last(&name, &record, now) };
        if record.access != RobotsAccess::Rules || !dated.remaining(now).is_zero() {
            return Ok(Vec::new());
        }
        let field =
            |name: &str| record.headers.iter().find(|(field, _)| field == name).map(|(_, value)| value);
        Ok(match (field("etag"), field("last-modified")) {
            (Some(etag), _) => vec![("If-None-Match".to_owned(), etag.clone())],
            (None, Some(date)) => vec![("If-Modified-Since".to_owned(), date.clone())],
            (None, None) => Vec::new(),
        })
    }

    /// Takes in the answer to one request for `robots_fetch.url`.
    pub fn answered(
        &self,
        robots_fetch: &RobotsFetch,
        answer: &Result<Response, FetchError>,
        now: Now,
    ) -> Result<RobotsStep, StoreError> {
        if let Ok(response) = answer
            && let Some(wall) = in_place(&robots_fetch.url, response)
        {
            let outcome = wall.outcome(response);
            return self.judged(robots_fetch, &outcome, Some(response), ROBOTS, now).map(RobotsStep::Known);
        }
        if let Ok(response) = answer
            && StatusClass::of(response.status).is_redirect()
        {
            return match next_hop(robots_fetch, response) {
                Ok(hop) => Ok(RobotsStep::Hop(hop)),
                Err(bad) => self
                    .judged(robots_fetch, &Outcome::Redirects(bad), Some(response), ROBOTS, now)
                    .map(RobotsStep::Known),
            };
        }
        let entry = match answer {
            Ok(response) => {
                let outcome = Outcome::Answer { head: head_of(response), body: &response.body };
                self.judged(robots_fetch, &outcome, Some(response), ROBOTS, now)
            }
            Err(error) => {
                // Without a connection it's the host that is unreachable, not its robots.txt.
                let of_host = !error.connected && robots_fetch.hops.is_empty();
                let kind = if of_host { error.kind.as_str() } else { ROBOTS };
                let words = format!("{}: {}", failure(error.kind).name(), error.detail);
                let outcome = if error.detail.is_empty() {
                    Outcome::Failed(failure(error.kind))
                } else {
                    Outcome::Refused(&words)
                };
                self.judged(robots_fetch, &outcome, None, kind, now)
            }
        };
        entry.map(RobotsStep::Known)
    }

    /// Takes in that a redirect isn't followed, for this reason: the origin counts as unreachable.
    pub fn refused(
        &self,
        robots_fetch: &RobotsFetch,
        reason: &str,
        now: Now,
    ) -> Result<Arc<Entry>, StoreError> {
        self.judged(robots_fetch, &Outcome::Refused(reason), None, ROBOTS, now)
    }

    fn judged(
        &self,
        robots_fetch: &RobotsFetch,
        outcome: &Outcome<'_>,
        response: Option<&Response>,
        kind: &str,
        now: Now,
    ) -> Result<Arc<Entry>, StoreError> {
        let name = robots_fetch.origin.to_string();
        let last = self.last(&name)?;
        let before =
            last.as_deref().map(|record| Dated { record, aged: self.age_of_last(&name, record, now) });
        let history = before.map_or_else(History::default, |before| before.history(now));
        let Judgement { access, reason, next_try, jitter, history, .. } =
            access::judge(outcome, &history, &self.policy, now.wall);
        let expires = later(next_try, jitter, &robots_fetch.origin, now.wall);
        // A row of failures that goes on, and a copy that is kept, are as old as they were, and what has passed since.
        let (failing, copy) = before.map_or_else(Default::default, |before| before.elapsed(now));
        let goes_on = history.failures > 1 && before.is_some_and(|before| before.record.failures > 0);
        let failing = if goes_on { failing } else { Duration::ZERO };
        let copy = if history.failures > 0 { copy } else { Duration::ZERO };
        let clocks = RobotsClocks {
            boot: self.clock.and_then(|clock| clock.boot()),
            failing_ms: milliseconds(failing),
            copy_ms: milliseconds(copy),
        };
        let mut record = RobotsRecord {
            v: 1,
            origin: name.clone(),
            fetched_at: now.wall,
            status: response.map(|response| response.status),
            access: access.into(),
            reason: reason.to_string(),
            expires,
            digest: None,
            bytes: 0,
            body: None,
            body_base64: None,
            hops: robots_fetch.hops.clone(),
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
                record.warnings = robots
                    .warnings()
                    .iter()
                    .take(100)
                    .map(|warning| (warning.line, warning.to_string()))
                    .collect();
                robots
            }
            Access::Stored { .. } => {
                let copy = self.good_copy(&name)?;
                rules_digest = copy.as_ref().and_then(|copy| copy.digest.clone());
                self.parse(&copy.map(|copy| copy.bytes()).unwrap_or_default(), &name)
            }
            Access::AllowAll => Robots::allow_all(Arc::clone(&reason)).with_dialect(self.options.dialect),
            Access::DenyAll | Access::Defer => {
                Robots::deny_all(Arc::clone(&reason)).with_dialect(self.options.dialect)
            }
        };
        let lines = consent_lines(&robots);
        if let Some(unread) = &lines.unread {
            record.warnings.insert(0, (unread.line, unread.words()));
        }
        let signals = RobotsSignals::new(&lines);
        record.consent_lines = Some(lines).filter(|lines| !lines.is_empty());
        let record = Arc::new(record);
        self.uncommitted.note(&name, &record);
        self.entries.remove(Kind::NeverAsked, &name);
        if access == Access::Rules {
            self.uncommitted_rules.note(&name, &record);
        }
        let entry = Entry {
            robots: Arc::new(robots),
            signals,
            deferred: access == Access::Defer,
            half_rate: matches!(access, Access::Stored { half_rate: true }),
            expires,
            record,
            digest: rules_digest,
            aged: Some(Aged { age: Duration::ZERO, mono: now.mono }),
            record_size: OnceLock::new(),
        };
        Ok(self.keep(&name, entry, now))
    }
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

/// What was sent in place of a robots.txt.
struct InPlace {
    what: String,
    closes: bool,
}

impl InPlace {
    fn outcome(&self, response: &Response) -> Outcome<'_> {
        Outcome::Wall { head: head_of(response), what: &self.what, closes: self.closes }
    }
}

/// The wall in front of a robots.txt, where there is one that hides it.
fn in_place(url: &CrawlUrl, response: &Response) -> Option<InPlace> {
    let verdict = wall::verdict(url, Asked::Robots, response)?;
    let closes = match walls::robots_reading(&verdict, response.status) {
        RobotsReading::AsItIs => return None,
        RobotsReading::Defer => false,
        RobotsReading::ClosedByWall => true,
    };
    Some(InPlace { what: Wall::of(&verdict)?.in_words(), closes })
}

fn head_of(response: &Response) -> ResponseHead {
    let text = |(name, value)| Some((name, std::str::from_utf8(value).ok()?));
    let headers = response.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
    ResponseHead::new(response.status, headers.filter_map(text))
}

fn next_hop(robots_fetch: &RobotsFetch, response: &Response) -> Result<RobotsFetch, BadRedirect> {
    if robots_fetch.hops.len() >= HOPS {
        return Err(BadRedirect::TooMany);
    }
    let target =
        response.reference("location").and_then(|to| CrawlUrl::join(&robots_fetch.url.to_url(), &to).ok());
    let url = target.ok_or(BadRedirect::BadTarget)?;
    let mut hops = robots_fetch.hops.clone();
    hops.push(robots_fetch.url.to_string());
    if hops.iter().any(|hop| hop == url.as_str()) {
        return Err(BadRedirect::Loop);
    }
    Ok(RobotsFetch { hops, ..RobotsFetch::new(robots_fetch.origin.clone(), url) })
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
        .map(|(name, value)| (name.clone(), page::clean::clean(&String::from_utf8_lossy(value)).into_owned()))
        .collect()
}

#[cfg(test)]
mod clock_tests;
#[cfg(test)]
mod tests;
