//! Explains one URL: how it was found, each decision about it, the outcome, and what would change that.

mod commands;
mod find;
mod now;
mod original;
mod parts;
mod statement;
mod text;
mod words;

pub use self::find::PathStep;
pub use self::now::{HostNow, RobotsNow};
pub use self::original::OriginalBody;
pub use self::parts::explain_among;
pub use self::statement::{Advice, Statement};

use std::collections::BTreeMap;

use meta::consent::{Claim, Consent, Purpose};
use robots::StatusClass;
use serde::{Deserialize, Serialize};

use self::commands::in_cluster;
use self::now::ScopeNow;
use self::parts::{Elsewhere, Parts};
use self::words::Facts;
use super::ledger::ledger_row;
use super::moment::Moment;
use super::open::{View, ViewError};
use super::pages::{PageRow, page_row};
use super::stage::{Stage, stage};
use super::{LedgerRow, lookup::PageUrls};
use crate::consent::denials;
use crate::costly::{CostlyRules, leads_to};
use crate::ledger;
use crate::page_store;
use crate::record::{Decided, Decision, Layer, PageRecord, UnreadText};
use crate::store::{Store, Tree};
use page::url::CrawlUrl;

/// What a URL came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was answered with status 2xx.
    Fetched,
    /// It was answered with a redirect.
    Redirected,
    /// It was answered with an error, or with a response that can't be used.
    Error,
    /// No usable answer came.
    Failed,
    /// It waits.
    Queued,
    /// It is queued for a skipped host.
    Parked,
    /// It was found, and skipped.
    Skipped,
    /// The crawl doesn't know it.
    Unseen,
}

/// The story of one URL.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// Form of this object: 1.
    pub v: u32,
    /// The URL, normalised.
    pub url: String,
    /// The URL that was asked about, where the crawl knows it without its session id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalised_from: Option<String>,
    /// What it came to.
    pub fate: Fate,
    /// False if a rule, of the site or of the crawl, keeps it from being fetched; the exit code says the same.
    pub allowed: bool,
    /// The answer in one sentence.
    pub answer: String,
    /// The path to it, from a seed; empty where it isn't known how it was found.
    pub found: Vec<PathStep>,
    /// Every entry of the ledger about it, in order.
    pub decisions: Vec<LedgerRow>,
    /// Its record.
    pub page: Option<PageRow>,
    /// The response that has its body, where the archive stores equal bodies once and this isn't the one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<OriginalBody>,
    /// Where its redirects lead: each target with its status, if it was answered.
    pub redirects: Vec<(String, Option<u16>)>,
    /// What the stored robots.txt of its origin says to it now.
    pub robots: Option<RobotsNow>,
    /// Why it lies outside the crawl's scope; none inside it, or where that is unknown.
    pub scope: Option<String>,
    /// The settings and seeds are stored that say whether it lies inside.
    #[serde(skip)]
    pub is_scope_known: bool,
    /// The state of its host.
    pub host: Option<HostNow>,
    /// What would change the answer.
    pub change: Vec<String>,
    /// What the sentences of the answer state.
    #[serde(skip)]
    pub statements: Vec<Statement>,
    /// What kind of change each of `change` is.
    #[serde(skip)]
    pub advice: Vec<Advice>,
    /// The decision that keeps it from being fetched, of a skipped URL.
    #[serde(skip)]
    pub skip: Option<Decision>,
    /// It is of a crawl on many machines, which has commands of its own.
    #[serde(skip)]
    is_of_cluster: bool,
}

/// Redirects that are followed on.
const HOPS: usize = 20;

impl View {
    /// Explains every decision about a URL. Reads the ledger once, unpacking entries that may be about it; twice for a URL with a session id
    /// that the crawl knows without it.
    pub fn explain(&self, url: &CrawlUrl) -> Result<Explanation, ViewError> {
        self.explain_with(url, Parts::default())
    }

    /// As [`View::explain`], also of one of several partitions.
    fn explain_with(&self, url: &CrawlUrl, parts: Parts<'_>) -> Result<Explanation, ViewError> {
        let story = self.explain_spelt(url, parts)?;
        let is_unknown = story.fate == Fate::Unseen && story.decisions.is_empty();
        let settings = self.crawl_settings().unwrap_or_default();
        let rules = || CostlyRules::of_program(&settings.costly);
        let Some(normal) = is_unknown.then(|| rules().normal(url)).flatten() else {
            return Ok(story);
        };
        let mut story = self.explain_spelt(&normal, parts)?;
        story.statements.insert(0, Statement::Normalised);
        let answer = format!("Normalised to {normal} (costly.session). {}", story.answer);
        Ok(Explanation { answer, normalised_from: Some(url.to_string()), ..story })
    }

    /// As [`View::explain`], of the URL as it is spelt.
    fn explain_spelt(&self, url: &CrawlUrl, parts: Parts<'_>) -> Result<Explanation, ViewError> {
        let record = self.record_of(url)?;
        // Where it has a record, nothing that is said depends on whether it waits for another visit.
        let queued = if record.is_some() { None } else { self.queued_url(url)? };
        let mut spellings = vec![url.to_string()];
        for other in record.iter().map(|record| &record.url) {
            if !spellings.contains(other) {
                spellings.push(other.clone());
            }
        }
        let mut decisions = self.decisions_on(&spellings)?;
        let settings = self.crawl_settings();
        let robots = self.robots_now(url, settings.as_ref())?;
        let host = self.host_now(url)?;
        // However deep: what was too deep is another matter.
        let is_in_scope = self.scope_now(url, 0, settings.as_ref())? == ScopeNow::Inside;
        let is_allowed = robots.as_ref().is_some_and(|robots| robots.allowed);
        let skip = governing(&self.of_last_runs(&decisions)?, is_allowed, is_in_scope).cloned();
        let skip = match skip {
            None if record.is_none() && queued.is_none() => self.not_listed(url)?,
            known => known,
        };
        let mut elsewhere = Elsewhere::default();
        if record.is_none() && queued.is_none() && skip.is_none() {
            elsewhere = Elsewhere::read(parts.beside(self), url, (is_allowed, is_in_scope))?;
            decisions.append(&mut elsewhere.decisions);
        }
        // Where the page is on record that the URL was found on.
        let (skip, at) = match elsewhere.skip {
            Some((skip, view)) => (Some(skip), view),
            None => (skip, self),
        };
        let fate = fate(record.as_ref(), queued.is_some(), host.as_ref(), skip.is_some());
        let via = match (&record, &queued) {
            (Some(record), _) => self.page_url(record.via)?,
            (None, Some(queued)) => self.page_url(queued.via)?,
            (None, None) => match &skip {
                Some(skip) => skip.via.clone(),
                None => decisions.iter().rev().find_map(|(_, decision)| decision.via.clone()),
            },
        };
        let is_seed = record.is_some() || queued.is_some() || self.is_seed(url);
        let last_via = via.clone();
        let found = at.path_to(url, via, is_seed)?;
        let source = match last_via.as_deref().map(CrawlUrl::parse) {
            Some(Ok(source)) if record.is_none() && queued.is_none() => at.record_of(&source)?,
            _ => None,
        };
        let depth = match (&record, &queued, &source) {
            (Some(record), ..) => record.depth,
            (_, Some(queued), _) => queued.depth,
            (.., Some(page)) if page.redirect.as_deref().is_some_and(|to| leads_to(to, url.as_str())) => {
                page.depth
            }
            (.., Some(page)) => page.depth.saturating_add(1),
            (None, None, None) => u32::try_from(found.len().saturating_sub(1)).unwrap_or(u32::MAX),
        };
        let scope = self.scope_now(url, depth, settings.as_ref())?;
        let is_forgotten = record.as_ref().is_some_and(|record| record.forgotten)
            || record.is_none() && self.is_forgotten(url)?;
        let mut hints = self.hints(url, depth, settings.as_ref())?;
        hints.parked = match (host.as_ref().and_then(|host| host.parked.clone()), &source) {
            (None, Some(page)) => at.parked_host_of(&page.url)?,
            (parked, _) => parked,
        };
        if let Some(page) = &source
            && let Ok(page_url) = CrawlUrl::parse(&page.url)
        {
            hints.source_outside = at.scope_now(&page_url, page.depth, settings.as_ref())?.outside();
        }
        hints.is_host_limited =
            settings.as_ref().is_some_and(|settings| settings.limits.max_pages_per_host.is_some());
        hints.is_barred = source
            .is_some_and(|page| page.directives.iter().any(|because| because.directive == "noimageindex"));
        let redirects = self.redirects_from(record.as_ref(), parts)?;
        let mut story = Explanation {
            v: 1,
            url: url.to_string(),
            normalised_from: None,
            fate,
            allowed: true,
            answer: String::new(),
            found,
            redirects,
            robots,
            is_scope_known: scope != ScopeNow::Unknown,
            scope: scope.outside(),
            host,
            change: Vec::new(),
            statements: Vec::new(),
            advice: Vec::new(),
            skip: skip.clone().filter(|_| fate == Fate::Skipped),
            is_of_cluster: false,
            page: None,
            original: record.as_ref().and_then(|record| self.original_of(record)),
            decisions: Vec::new(),
        };
        let mut is_perhaps_unlisted = false;
        for view in parts.beside(self).chain([self]).filter(|_| fate == Fate::Unseen) {
            is_perhaps_unlisted = is_perhaps_unlisted || view.has_unlisted_links()?;
        }
        let unread = record.as_ref().map(|record| self.unread_text(record)).transpose()?.flatten();
        let unsearched = record.as_ref().map(|record| self.search_denial(record)).transpose()?.flatten();
        story.conclude(&Facts {
            record: record.as_ref(),
            unread,
            unsearched,
            skip: skip.as_ref(),
            decisions: &decisions,
            hints: &hints,
            is_forgotten,
            is_perhaps_unlisted,
        });
        if hints.is_of_cluster {
            story.is_of_cluster = true;
            for advice in &mut story.change {
                *advice = in_cluster(advice);
            }
        }
        story.decisions = decisions.into_iter().map(|(seq, decision)| ledger_row(seq, decision)).collect();
        let urls = PageUrls::default();
        story.page = match record {
            Some(mut record) => {
                record.limits_hit.extend(unread.and_then(UnreadText::limit).map(str::to_owned));
                let via = urls.of(self, record.via)?;
                record.status.map(|status| page_row(record, status, via))
            }
            None => None,
        };
        Ok(story)
    }

    /// The statements that keep an indexed page out of the full-text search; none where it may be found.
    fn search_denial(&self, record: &PageRecord) -> Result<Option<String>, ViewError> {
        if !record.indexed || record.is_searchable() {
            return Ok(None);
        }
        let mut record = record.clone();
        self.complete(&mut record)?;
        let denial = Claim::Purpose(Purpose::Search, Consent::Deny);
        let words = denials(record.consent.iter().filter(|said| said.claim == denial));
        Ok(Some(words.unwrap_or_else(|| "silence doesn't permit search (consent.silence_allows)".to_owned())))
    }

    /// The entries about a URL, by number.
    fn decisions_on(&self, spellings: &[String]) -> Result<Vec<(u64, Decision)>, ViewError> {
        let mut found = Vec::new();
        for pair in self.store().scan(Tree::Ledger, &[]) {
            let pair = pair?;
            let bad = |error: ledger::LedgerError| ViewError::record(Tree::Ledger, error);
            let mut speaks = false;
            for url in spellings {
                speaks = speaks || ledger::may_mention(&pair.1, url).map_err(bad)?;
            }
            if speaks {
                let (first, decisions) = super::ledger::decisions(&pair)?;
                found.extend(
                    (first..).zip(decisions).filter(|(_, decision)| spellings.contains(&decision.url)),
                );
            }
        }
        Ok(found)
    }

    /// How a URL was skipped that the ledger doesn't have, as the links of a page say that counts such URLs.
    fn not_listed(&self, url: &CrawlUrl) -> Result<Option<Decision>, ViewError> {
        for page in page_store::scan_with_links(self.store()) {
            let page = page?;
            let NotListed { skipped_not_listed } = page.read()?;
            if skipped_not_listed == 0 {
                continue;
            }
            let record = self.shown(page.record()?);
            let link =
                page.links()?.into_iter().find(|link| link.outcome.is_skip() && link.to == url.as_str());
            if let Some(link) = link {
                return Ok(Some(Decision {
                    at: record.fetched_at,
                    url: url.to_string(),
                    host: url.host().to_owned(),
                    decision: Decided::Skipped,
                    layer: Layer::of_skip(link.outcome),
                    reason: link.outcome.into(),
                    evidence: link.kind.into_owned().into(),
                    via: Some(record.url),
                }));
            }
        }
        Ok(None)
    }

    /// The skips among decisions about one URL, in order. Of those about the links of one page the last run that made any counts: it judged these
    /// links again, by its own settings. What robots.txt denied when its turn came is no decision about a link.
    fn of_last_runs<'d>(&self, decisions: &'d [(u64, Decision)]) -> Result<Vec<&'d Decision>, ViewError> {
        let skips = || decisions.iter().filter(|(_, decision)| decision.decision == Decided::Skipped);
        if skips().count() < 2 {
            return Ok(skips().map(|(_, skip)| skip).collect());
        }
        let mut starts = Vec::new();
        for block in self.decision_blocks_with(&[Decided::Started, Decided::Resumed]) {
            let (first, entries) = block?;
            let numbered = (first..).zip(entries);
            starts.extend(numbered.filter(|(_, entry)| entry.begins_a_run()).map(|(number, _)| number));
        }
        let run = |number: &u64| starts.partition_point(|start| start <= number);
        let is_end = |skip: &Decision| skip.layer == Layer::Robots;
        let of_links = skips().filter(|(_, skip)| !is_end(skip));
        let last: BTreeMap<Option<&str>, usize> =
            of_links.map(|(number, skip)| (skip.via.as_deref(), run(number))).collect();
        let is_of_last = |(number, skip): &&(u64, Decision)| {
            is_end(skip) || last.get(&skip.via.as_deref()) == Some(&run(number))
        };
        Ok(skips().filter(is_of_last).map(|(_, skip)| skip).collect())
    }

    /// True if there are links that are only counted.
    fn has_unlisted_links(&self) -> Result<bool, ViewError> {
        for block in self.decision_blocks_with(&[Decided::NotListed]) {
            if block?.1.iter().any(|entry| entry.decision == Decided::NotListed) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn redirects_from(
        &self,
        record: Option<&PageRecord>,
        parts: Parts<'_>,
    ) -> Result<Vec<(String, Option<u16>)>, ViewError> {
        let mut hops: Vec<(String, Option<u16>)> = Vec::new();
        let mut target = record.and_then(|record| record.redirect.clone());
        while let Some(url) = target.take() {
            if hops.len() >= HOPS || hops.iter().any(|(known, _)| *known == url) {
                break;
            }
            let next = match CrawlUrl::parse(&url) {
                Ok(parsed) => parts.of_host(parsed.host()).unwrap_or(self).record_of(&parsed)?,
                Err(_) => None,
            };
            hops.push((url, next.as_ref().and_then(|next| next.status)));
            target = next.and_then(|next| next.redirect);
        }
        Ok(hops)
    }
}

/// The skip that keeps a URL from its request. A URL may be found by several links, each judged on its own: by the link itself, the scope, the
/// limits, and robots.txt last. The link that got furthest is the one with the least against it, so what would let that one through lets the URL
/// through. What no longer holds, since robots.txt or the scope has changed, counts least.
fn governing<'d>(skips: &[&'d Decision], is_allowed: bool, is_in_scope: bool) -> Option<&'d Decision> {
    // Of equal ones the last.
    skips.iter().copied().max_by_key(|skip| {
        let stage = stage(skip);
        let is_past = stage == Stage::Site && skip.layer == Layer::Robots && is_allowed
            || stage == Stage::Scope && is_in_scope;
        (!is_past, stage)
    })
}

/// How many URLs a page counts that the ledger doesn't have.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NotListed {
    skipped_not_listed: u64,
}

fn fate(record: Option<&PageRecord>, queued: bool, host: Option<&HostNow>, skipped: bool) -> Fate {
    match record.map(|record| record.status.map(StatusClass::of)) {
        Some(Some(StatusClass::Success)) if record.is_some_and(|record| record.error.is_some()) => {
            Fate::Error
        }
        Some(Some(StatusClass::Success)) => Fate::Fetched,
        Some(Some(class)) if class.leads_elsewhere() => Fate::Redirected,
        Some(Some(_)) => Fate::Error,
        Some(None) => Fate::Failed,
        None if queued && host.is_some_and(|host| host.parked.is_some()) => Fate::Parked,
        None if queued => Fate::Queued,
        None if skipped => Fate::Skipped,
        None => Fate::Unseen,
    }
}

/// A time in words; nothing where there is none.
fn moment(at: Option<Moment>) -> String {
    at.map_or_else(String::new, |at| at.to_string())
}
