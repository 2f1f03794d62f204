//! The report for a site's owner: the requests to one host, their rate, and broken links.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::hosts::seconds;
use super::moment::Moment;
use super::open::{View, ViewError};
use super::robots::Warned;
use crate::frontier::{HostId, stored_host};
use crate::page_store::{self, StoredPage};
use crate::record::{PageRecord, RobotsAccess, RobotsRecord};
use crate::store::{Store, StoreError, Tree};
use crate::wishes::Wish;
use page::url::Fingerprint;

/// Broken URLs that are named; the others are counted.
const BROKEN: usize = 500;

/// Pages that are named for each broken URL.
const LINKED_FROM: usize = 5;

/// What a crawl asked of one host, for its owner.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnerReport {
    /// Form of this object: 1.
    pub v: u32,
    /// The host.
    pub host: String,
    /// The User-Agent that came.
    pub agent: Option<String>,
    /// The program.
    pub program: Option<String>,
    /// When the first request was sent, as far as the ledger says.
    pub first_request: Option<Moment>,
    /// When the last request was sent.
    pub last_request: Option<Moment>,
    /// Requests, robots.txt included.
    pub requests: u64,
    /// Requests of which the ledger has the times: what is said of overlaps, pauses and denied URLs is computed from these.
    pub recorded_requests: u64,
    /// Requests that were in flight when the crawl was killed or stopped at once: they may have reached the host.
    pub interrupted: u64,
    /// Requests that were sent before the answer to an earlier one of the same run was complete.
    pub overlaps: u64,
    /// Requests for robots.txt.
    pub robots_requests: u64,
    /// Responses with status 2xx except 206.
    pub pages: u64,
    /// Bytes of bodies received, as transferred.
    pub bytes: u64,
    /// The pauses between the end of an answer and the next request of the same run; none without a ledger, or after one request.
    pub gaps: Option<Gaps>,
    /// The gap in force at the end, in seconds.
    pub delay: f64,
    /// What set it.
    pub delay_reason: &'static str,
    /// What the owner asked for, as the last run kept it, in words.
    pub wishes: Vec<String>,
    /// How often the host was paused, by reason: Retry-After, back-off ...
    pub pauses: BTreeMap<String, u64>,
    /// The slowest answers, the slowest first.
    pub slowest: Vec<Slow>,
    /// URLs that robots.txt denied and of which no request is on record.
    pub denied: u64,
    /// URLs that robots.txt denied at one time and that were requested at another.
    pub denied_requested: u64,
    /// Those of them that were requested after they had been denied.
    pub denied_requested_later: u64,
    /// Failed visits by kind.
    pub errors: BTreeMap<String, u64>,
    /// Broken URLs with the pages that link to them: the first 500.
    pub broken: Vec<Broken>,
    /// How many broken URLs there are.
    pub broken_count: u64,
    /// Who gave the last responses to the URLs of the host: its caches, or the site itself.
    pub answered_by: AnsweredBy,
    /// The robots.txt files of the host, as last answered.
    pub robots: Vec<OwnRobots>,
}

/// Measured pauses, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gaps {
    /// How many were measured.
    pub count: u64,
    /// The least.
    pub least: f64,
    /// The median.
    pub median: f64,
    /// Those shorter than the delay that was in force for the request: by robots.txt, configuration or response time.
    pub short: u64,
}

/// How many responses caches gave, by their headers; each URL counts with its last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AnsweredBy {
    /// A cache gave it.
    pub cache: u64,
    /// No cache gave it.
    pub site: u64,
    /// The headers don't say.
    pub unknown: u64,
}

/// A slow answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Slow {
    /// The URL.
    pub url: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// When it was asked for.
    pub at: Moment,
}

/// A URL that could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// The URL.
    pub url: String,
    /// The kind of failure: `http_404`, `timeout` ...
    pub kind: String,
    /// When it was asked for last.
    pub at: Moment,
    /// Pages of the host that link to it, at most five; none that is under noindex.
    pub linked_from: Vec<String>,
    /// How many pages of the host link to it; those under noindex aren't counted.
    pub linked_from_count: u64,
}

/// A robots.txt of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OwnRobots {
    /// Scheme, host and port.
    pub origin: String,
    /// When it was last answered.
    pub fetched_at: Moment,
    /// What the answer meant.
    pub access: RobotsAccess,
    /// Why.
    pub reason: String,
    /// What is wrong with it.
    pub warnings: Vec<Warned>,
}

impl View {
    /// The report for the owner of a host; none if the crawl doesn't know it. Reads the ledger once.
    pub fn owner_report(&self, host: &str) -> Result<Option<OwnerReport>, ViewError> {
        let host = host.trim().trim_end_matches('.').to_ascii_lowercase();
        let Some(id) = self.id_of(&host)? else { return Ok(None) };
        let Some(record) = stored_host(self.store(), id)? else { return Ok(None) };
        let settings = self.crawl_settings();
        let mut report = OwnerReport {
            v: 1,
            agent: settings.map(|settings| settings.agent.user_agent()),
            program: self.program(),
            first_request: None,
            last_request: None,
            requests: record.counts.requests,
            recorded_requests: 0,
            interrupted: 0,
            overlaps: 0,
            robots_requests: record.counts.robots_requests,
            pages: record.counts.pages,
            bytes: record.counts.bytes,
            gaps: None,
            delay: seconds(record.delay_ms),
            delay_reason: record.delay_reason.as_str(),
            wishes: self.wishes().of(&host).map(Wish::in_words).collect(),
            pauses: BTreeMap::new(),
            slowest: Vec::new(),
            denied: 0,
            denied_requested: 0,
            denied_requested_later: 0,
            errors: BTreeMap::new(),
            broken: Vec::new(),
            broken_count: 0,
            answered_by: AnsweredBy::default(),
            robots: self.own_robots(&host)?,
            host,
        };
        self.read_ledger_for(&mut report)?;
        self.read_pages_for(id, &mut report)?;
        Ok(Some(report))
    }

    fn own_robots(&self, host: &str) -> Result<Vec<OwnRobots>, ViewError> {
        let mut files: BTreeMap<String, OwnRobots> = BTreeMap::new();
        for scheme in ["http", "https"] {
            for pair in self.store().scan(Tree::Robots, format!("{scheme}://{host}").as_bytes()) {
                let (_, value) = pair?;
                let version = RobotsRecord::read(&value).map_err(ViewError::packed(Tree::Robots))?;
                let rest = version.origin.strip_prefix(&format!("{scheme}://{host}")).unwrap_or("x");
                if !(rest.is_empty() || rest.starts_with(':')) {
                    continue;
                }
                let warnings =
                    version.warnings.into_iter().map(|(line, message)| Warned { line, message }).collect();
                let file = OwnRobots {
                    origin: version.origin.clone(),
                    fetched_at: Moment(version.fetched_at),
                    access: version.access,
                    reason: version.reason,
                    warnings,
                };
                files.insert(version.origin, file);
            }
        }
        Ok(files.into_values().collect())
    }

    fn read_pages_for(&self, id: HostId, report: &mut OwnerReport) -> Result<(), ViewError> {
        let mut places: HashMap<Fingerprint, usize> = HashMap::new();
        let of_host =
            |page: &Result<StoredPage, StoreError>| page.as_ref().map_or(true, |page| page.host == id);
        for page in page_store::scan(self.store()).filter(of_host) {
            let page = page?;
            let PageRecord { url, status, error, fetched_at, caching, .. } = page.record()?;
            if status.is_some() {
                match caching.and_then(|caching| caching.from_cache) {
                    Some(true) => report.answered_by.cache += 1,
                    Some(false) => report.answered_by.site += 1,
                    None => report.answered_by.unknown += 1,
                }
            }
            let Some(kind) = error else { continue };
            *report.errors.entry(kind.clone()).or_default() += 1;
            report.broken_count += 1;
            if report.broken.len() < BROKEN {
                places.insert(page.page, report.broken.len());
                let at = Moment(fetched_at);
                report.broken.push(Broken { url, kind, at, linked_from: Vec::new(), linked_from_count: 0 });
            }
        }
        if places.is_empty() {
            return Ok(());
        }
        for page in page_store::scan_with_links(self.store()).filter(of_host) {
            let page = page?;
            let mut hit: Vec<usize> = page
                .links()?
                .iter()
                .filter_map(|link| page::url::CrawlUrl::parse(&link.to).ok())
                .filter(|to| to.host() == report.host)
                .filter_map(|to| places.get(&to.fingerprint(self.key())).copied())
                .collect();
            hit.sort_unstable();
            hit.dedup();
            if hit.is_empty() {
                continue;
            }
            let from = self.shown(page.record()?);
            // The links of a page under noindex are listed only on request.
            if from.is_withheld() {
                continue;
            }
            for place in hit {
                let broken = &mut report.broken[place];
                broken.linked_from_count += 1;
                if broken.linked_from.len() < LINKED_FROM {
                    broken.linked_from.push(from.url.clone());
                }
            }
        }
        Ok(())
    }
}
