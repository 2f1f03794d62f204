//! URLs that limits and scope of earlier runs excluded, judged again by the settings of this one. Nothing is fetched again: the ledger
//! has each such URL with its reason, and the page that it was found on says how deep it lies and whether it may be followed.
//!
//! What was done before a kill is done: a URL that was admitted waits or has a record, and is no longer among those skipped. That
//! everything was judged is on record (`judged_by` in tree `meta`) with the last of them; until then the next run begins again.

use std::collections::HashMap;

use tokio::sync::watch;

use super::costly::Cost;
use super::permits::WAS_QUEUED;
use super::{Engine, Stop, sitemaps};
use crate::commit::CommitError;
use crate::costly::{leads_to, normal_forms};
use crate::fetch::Fetch;
use crate::frontier::{Admitted, HostId, Marks, QueuedUrl, Via};
use crate::page_store;
use crate::record::{
    A_SEED, Decided, Decision, Evidence, JUDGED_BY, Layer, LinkOutcome, LinkRecord, PageRecord, Reason,
    RunSettings, SitemapRecord, link_key, names_the_page,
};
use crate::store::{Store, StoreError, Tree};
use crate::view::{SkippedRow, ViewError};
use page::extract::is_resource;
use page::url::{CrawlUrl, Fingerprint};

/// Pages whose new hosts are counted at once, 40 bytes each. Beyond them all counts start over.
const PAGES_COUNTED: usize = 65_536;

/// Rows between two looks at whether the crawl is to stop.
const AT_ONCE: usize = 1_000;

/// The page or sitemap that URLs were found on.
struct Source {
    at: Via,
    host: String,
    /// Its record, and its links by their targets.
    page: Option<(PageRecord, HashMap<String, Vec<LinkRecord>>)>,
}

/// What is remembered from row to row.
#[derive(Default)]
struct Before {
    source: Option<Source>,
    /// Hosts that each page has made known by this judging, for `traps.hosts_per_page`.
    new_hosts: HashMap<Via, u64>,
}

/// How a URL was found.
struct Way {
    /// The host of the page, and its name.
    own: Option<(HostId, String)>,
    item: QueuedUrl,
    is_redirect: bool,
    /// The page that redirected to the one that redirects here.
    before: Option<Via>,
    /// It is a resource that may not be fetched, whatever the settings say.
    barred: Option<LinkOutcome>,
}

/// What a URL comes to now.
enum Judgement {
    Admitted,
    /// It is known by another way.
    Known,
    LeftOut(LinkOutcome, Option<String>),
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Records by which settings the skipped URLs were judged.
    pub(super) fn put_judged_by(&mut self, run: &RunSettings) -> Result<(), StoreError> {
        let digest = run.settings.as_bytes();
        if self.frontier.get(Tree::Meta, JUDGED_BY.as_bytes())?.as_deref() != Some(digest) {
            self.frontier.put(Tree::Meta, JUDGED_BY.into(), digest.to_vec());
            self.touch(64);
        }
        Ok(())
    }

    /// Judges again the URLs that were skipped because of settings that have changed. Memory: some megabytes; commits
    /// as it goes. A stop ends it
    /// early: the next run with these settings begins again.
    pub(super) fn rejudge(
        &mut self,
        run: &RunSettings,
        stop: &watch::Receiver<Stop>,
    ) -> Result<(), CommitError> {
        let Some(view) = self.skipped_urls.take().filter(|_| !self.settings.changed.is_empty()) else {
            return Ok(self.put_judged_by(run)?);
        };
        let mut before = Before::default();
        let listed = view.skipped_in_ledger().map_err(unreadable)?.map(|row| (row, true));
        // The ledger doesn't have them; the links of their pages do.
        let others = view.skipped_not_listed().map(|row| (row, false));
        for (number, (row, is_listed)) in listed.chain(others).enumerate() {
            self.judge_row(&row.map_err(unreadable)?, is_listed, &mut before)?;
            if self.batch_due(0, self.clock.now()) {
                self.commit_here()?;
            }
            if number % AT_ONCE == 0 && *stop.borrow() != Stop::No {
                return Ok(());
            }
        }
        Ok(self.put_judged_by(run)?)
    }

    fn judge_row(
        &mut self,
        row: &SkippedRow,
        is_listed: bool,
        known: &mut Before,
    ) -> Result<(), CommitError> {
        let Reason::Link(before) = row.reason else { return Ok(()) };
        if !before.is_by_settings() {
            return Ok(());
        }
        let changed = |key: &&str| self.settings.changed.iter().find(|(changed, _)| changed == key).cloned();
        let Some((key, value)) = before.keys().iter().find_map(changed) else { return Ok(()) };
        let Ok(url) = CrawlUrl::parse(&row.url) else { return Ok(()) };
        let Some(way) = self.way_to(&url, row, before, &mut known.source)? else { return Ok(()) };
        let via = row.via.clone();
        let now = self.clock.now();
        let page = way.item.via;
        let have = page.and_then(|page| known.new_hosts.get(&page)).copied();
        self.bounds.domains.begin_page(have.unwrap_or_default());
        let judged =
            self.admit_again(&url, via.as_deref(), way, before, row.detail.as_deref() == Some(WAS_QUEUED))?;
        if let Some(page) = page.filter(|_| self.bounds.domains.of_page() > 0) {
            if known.new_hosts.len() >= PAGES_COUNTED {
                known.new_hosts.clear();
            }
            known.new_hosts.insert(page, self.bounds.domains.of_page());
        }
        let decision = match judged {
            Judgement::Known => return Ok(()),
            Judgement::LeftOut(outcome, _) if outcome == before || !is_listed => return Ok(()),
            Judgement::LeftOut(outcome, held) => Decision {
                at: now.wall,
                host: url.host().to_owned(),
                url: url.to_string(),
                decision: Decided::Skipped,
                layer: Layer::of_skip(outcome),
                reason: outcome.into(),
                evidence: held.or_else(|| row.detail.clone()).unwrap_or_default().into(),
                via,
            },
            Judgement::Admitted => {
                self.totals.skipped = self.totals.skipped.saturating_sub(u64::from(is_listed));
                Decision {
                    at: now.wall,
                    host: url.host().to_owned(),
                    url: url.to_string(),
                    decision: Decided::Admitted,
                    layer: Layer::of_skip(before),
                    reason: before.into(),
                    evidence: Evidence::limit(key, value),
                    via,
                }
            }
        };
        self.decide(decision);
        Ok(())
    }

    /// How a URL was found, if it may still be followed from there.
    fn way_to(
        &self,
        url: &CrawlUrl,
        row: &SkippedRow,
        before: LinkOutcome,
        source: &mut Option<Source>,
    ) -> Result<Option<Way>, CommitError> {
        let Some(via) = &row.via else {
            // Only seeds are skipped without a page on which they were found.
            let is_seed = row.detail.as_deref() == Some(A_SEED) || before == LinkOutcome::Type;
            let item = QueuedUrl::seed(url);
            return Ok(is_seed.then_some(Way {
                own: None,
                item,
                is_redirect: false,
                before: None,
                barred: None,
            }));
        };
        let Ok(via) = CrawlUrl::parse(via) else { return Ok(None) };
        let Some(host) = self.frontier.known(via.host()) else { return Ok(None) };
        let at = Via { host, page: via.fingerprint(&self.key) };
        if source.as_ref().is_none_or(|source| source.at != at) {
            *source = self.source(at, via.host())?;
        }
        let Some(source) = source else { return Ok(None) };
        let own = Some((host, source.host.clone()));
        let Some((page, links)) = &source.page else {
            let item = QueuedUrl::link(url, sitemaps::DEPTH, Some(at)).marked(Marks::EXEMPT);
            return Ok(Some(Way { own, item, is_redirect: false, before: None, barred: None }));
        };
        if page.redirect.as_deref().is_some_and(|to| leads_to(to, url.as_str())) {
            let chain = self.records().chain_to(&page.url, page.via)?;
            let redirects = chain.redirects.saturating_add(1);
            let is_seed = chain.is_whole && page.depth == 0;
            let mut item = QueuedUrl { redirects, ..QueuedUrl::link(url, page.depth, Some(at)) };
            if is_seed {
                item = item.marked(Marks::SEED);
            }
            if page.resource {
                item = item.marked(Marks::RESOURCE);
            }
            let before = page.via;
            return Ok(Some(Way { own, item, is_redirect: true, before, barred: None }));
        }
        let is_open = |link: &&LinkRecord| {
            let is_known =
                matches!(link.outcome, LinkOutcome::Queued | LinkOutcome::Seen | LinkOutcome::Untested);
            !link.nofollow && (is_known || !link.outcome.keys().is_empty())
        };
        if !page.followed {
            return Ok(None);
        }
        let mut ways = links.get(url.as_str()).into_iter().flatten().filter(is_open).peekable();
        if ways.peek().is_none() {
            return Ok(None);
        }
        let is_shown = |link: &LinkRecord| is_resource(&link.kind, &link.rel);
        let is_page = |link: &LinkRecord| link.outcome != LinkOutcome::Resource && !is_shown(link);
        let leads_to_page = ways.clone().any(is_page);
        let barred = if leads_to_page {
            None
        } else if !ways.any(is_shown) {
            Some(LinkOutcome::Resource)
        } else {
            // Which resources are images isn't on record: all of them keep out.
            let is_barred = page.directives.iter().any(|because| because.directive == "noimageindex");
            is_barred.then_some(LinkOutcome::NoImageIndex)
        };
        let is_canonical = ways.clone().any(|link| names_the_page(&link.kind, &link.rel));
        let mut item = QueuedUrl::link(url, page.depth.saturating_add(1), Some(at));
        if is_canonical {
            item = item.marked(Marks::EXEMPT);
        }
        let item = if leads_to_page { item } else { item.marked(Marks::RESOURCE) };
        Ok(Some(Way { own, item, is_redirect: false, before: None, barred }))
    }

    fn source(&self, at: Via, host: &str) -> Result<Option<Source>, CommitError> {
        let store = self.frontier.store();
        let host = host.to_owned();
        if let Some((number, entry)) = page_store::find(&**store, at.host, at.page)? {
            let record: PageRecord = entry.read()?;
            let links = if record.lists_links() {
                page_store::links_of_number(&**store, number, &entry)?
            } else {
                Vec::new()
            };
            let mut by_target: HashMap<String, Vec<LinkRecord>> = HashMap::new();
            for link in links {
                for form in normal_forms(&link.to) {
                    by_target.entry(form).or_default().push(link.clone());
                }
                by_target.entry(link.to.to_string()).or_default().push(link);
            }
            return Ok(Some(Source { at, host, page: Some((record, by_target)) }));
        }
        let value = store.get(Tree::Sitemaps, &link_key(at.host, at.page))?;
        let is_sitemap = value.map(|value| SitemapRecord::read(&value)).transpose()?.is_some();
        Ok(is_sitemap.then_some(Source { at, host, page: None }))
    }

    fn admit_again(
        &mut self,
        url: &CrawlUrl,
        via: Option<&str>,
        way: Way,
        before: LinkOutcome,
        was_queued: bool,
    ) -> Result<Judgement, CommitError> {
        let Way { own, item, is_redirect, before: redirecting, barred } = way;
        let from = item.via.map(|via| via.page).and_then(|page| Some((CrawlUrl::parse(via?).ok()?, page)));
        if let Some(outcome) = barred {
            return Ok(Judgement::LeftOut(outcome, Some("noimageindex".to_owned())));
        }
        if before == LinkOutcome::Resource
            && !self.settings.changed.iter().any(|(key, value)| *key == "scope.resources" && value == "true")
        {
            return Ok(Judgement::LeftOut(before, None));
        }
        if is_redirect {
            if u32::from(item.redirects) > self.settings.max_redirects {
                return Ok(Judgement::LeftOut(LinkOutcome::TooManyRedirects, None));
            }
            if item.is_seed()
                && let Some((from, page)) = from
            {
                self.seed_redirects(&from, page, redirecting, url)?;
            }
        }
        let own = own.as_ref().map(|(id, name)| (name.as_str(), *id));
        if let Some(outcome) =
            self.bounds.judge(url, item.finding(), own.map_or(url.host(), |(name, _)| name))
        {
            return Ok(Judgement::LeftOut(outcome, None));
        }
        let fingerprint: Fingerprint = url.fingerprint(&self.key);
        let mut item = item;
        match self.cost(url, item.finding(), via, self.clock.now()) {
            Cost::Usual => {}
            Cost::Budgeted => item = item.marked(Marks::COSTLY),
            Cost::Skipped { why, .. } => return Ok(Judgement::LeftOut(LinkOutcome::Costly, Some(why))),
        }
        let host = match own {
            Some(own) => match self.host_within_budgets(own, item.finding(), url)? {
                Ok(host) => host,
                Err(held) => return Ok(Judgement::LeftOut(held.budget.outcome(), Some(held.evidence(url)))),
            },
            None => self.frontier.host_id(url.host())?,
        };
        // What was dropped from its queue is known, and neither waits nor was visited, or it wouldn't be among the skipped.
        let has_been_queued = before.is_trap()
            || matches!(before, LinkOutcome::Type | LinkOutcome::Costly)
            || was_queued
            || item.is_seed();
        let held =
            match self.frontier.admit(host, fingerprint, item.clone(), item.priority(), has_been_queued)? {
                Admitted::Queued | Admitted::Untested => None,
                Admitted::Held(held) => Some(held),
                Admitted::Seen if has_been_queued => self.frontier.requeue_held(host, item),
                Admitted::Seen => return Ok(Judgement::Known),
            };
        self.touch(64);
        Ok(match held {
            Some(held) => Judgement::LeftOut(held.budget.outcome(), Some(held.evidence(url))),
            None => Judgement::Admitted,
        })
    }

    /// Commits what waits. Only while nothing is in flight: the loop doesn't run meanwhile.
    fn commit_here(&mut self) -> Result<(), CommitError> {
        let Some(mut committing) = self.begin_commit(self.clock.now())? else { return Ok(()) };
        committing.write();
        self.written(Ok(committing))?;
        self.sync_here()
    }
}

fn unreadable(error: ViewError) -> CommitError {
    match error {
        ViewError::Store(error) => error.into(),
        error => StoreError::Unreadable { tree: Tree::Ledger.name(), source: error.into() }.into(),
    }
}
