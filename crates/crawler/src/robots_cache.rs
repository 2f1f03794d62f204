//! The robots.txt of every origin in use: fresh, stale or missing; and how one is fetched, hop by hop.
//!
//! I3: no page of an origin is requested before its robots.txt is known, at most 24 hours old. I4: an unreachable one
//! means no pages. What is known is in the store too, so that a resumed crawl asks again only when it is due.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use meta::consent::RobotsSignals;
use robots::access::{self, Access, BadRedirect, Failure, Head, History, Judgement, Outcome, Policy};
use robots::{Agent, Options, Robots};

use crate::consent::consent_lines;
use crate::fetch::{ErrorKind, FetchError, Response};
use crate::frontier::Errand;
use crate::record::RobotsRecord;
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
}

impl Entry {
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
        Self { store, agent, options, policy, entries: Mutex::default() }
    }

    /// What is known of an origin.
    pub fn lookup(&self, origin: &Origin, now: Timestamp) -> Result<Known, StoreError> {
        let cached =
            self.entries.lock().unwrap_or_else(PoisonError::into_inner).of_origin.get(origin).cloned();
        let entry = match cached {
            Some(entry) => entry,
            None => match self.stored(origin)? {
                Some(entry) => self.keep(origin, entry),
                None => return Ok(Known::Missing),
            },
        };
        // A record from the future (the wall clock was set back) is asked for again rather than trusted.
        let fresh = now < entry.expires && entry.record.fetched_at <= now;
        Ok(if fresh { Known::Fresh(entry) } else { Known::Stale(entry) })
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

    fn stored(&self, origin: &Origin) -> Result<Option<Entry>, StoreError> {
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
        Ok(Some(Entry {
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
        now: Timestamp,
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
        now: Timestamp,
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
        now: Timestamp,
    ) -> Result<Arc<Entry>, StoreError> {
        let before = match known {
            Known::Fresh(entry) | Known::Stale(entry) => Some(entry),
            Known::Missing => None,
        };
        let history = before.map_or_else(History::default, |entry| entry.history());
        let Judgement { access, reason, next_try, jitter, history, .. } =
            access::judge(outcome, &history, &self.policy, now);
        let expires = later(next_try, jitter, &errand.origin, now);
        let name = errand.origin.to_string();
        let mut record = RobotsRecord {
            v: 1,
            origin: name.clone(),
            fetched_at: now,
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
        };
        Ok(self.keep(&errand.origin, entry))
    }
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
