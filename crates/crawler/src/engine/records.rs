//! What is stored of pages, or waits to be: read to judge redirects that aren't followed (loops, and chains that are too long), and pages
//! whose own `rel=canonical` or meta `url` names another page with the same body, which is stored once.

use crate::commit::Batch;
use crate::costly::leads_to;
use crate::frontier::{Frontier, HostId, Lease, QueuedUrl, Via};
use crate::page_store;
use crate::record::{LinkOutcome, PageRecord};
use crate::store::{Store, StoreError};
use crate::visit::Visited;
use page::url::{CrawlUrl, Fingerprint, FingerprintKey};

/// The records of pages.
pub(super) struct Records<'a, S> {
    pub(super) frontier: &'a Frontier<S>,
    /// What waits to be committed.
    pub(super) batch: &'a Batch,
    pub(super) key: &'a FingerprintKey,
}

/// The redirects that lead to a URL, one after the other.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// The URL that redirects first; the URL itself where none leads to it.
    pub(super) first: String,
    /// How many there are, 255 at most.
    pub(super) redirects: u8,
    /// No page led to the first one. Otherwise it was found on a page, or what led to it isn't in this database.
    pub(super) is_whole: bool,
}

impl<S: Store> Records<'_, S> {
    /// The record of a page that was stored before.
    pub(super) fn stored(&self, host: HostId, page: Fingerprint) -> Option<PageRecord> {
        page_store::record_of(self.frontier.store(), host, page).ok()?
    }

    /// Why a page's redirect isn't followed, where that is the redirect's own fault: the error of the page.
    pub(super) fn refused_redirect(
        &self,
        lease: &Lease,
        item: &QueuedUrl,
        visited: &Visited,
        max_redirects: u32,
    ) -> Result<Option<LinkOutcome>, StoreError> {
        let Some(link) = visited.links.iter().find(|link| link.is_redirect()) else { return Ok(None) };
        let (Ok((_, target)), None) = (&link.target, link.skip) else { return Ok(None) };
        if self.closes_a_loop(lease, item, *target)? {
            return Ok(Some(LinkOutcome::RedirectLoop));
        }
        let is_too_long = u32::from(item.redirects) + 1 > max_redirects;
        Ok(is_too_long.then_some(LinkOutcome::TooManyRedirects))
    }

    /// Returns whether a redirect's target is the page itself or part of the chain of redirects that led to it.
    ///
    /// Reads a record for each hop, ten at most by default.
    fn closes_a_loop(
        &self,
        lease: &Lease,
        item: &QueuedUrl,
        target: Fingerprint,
    ) -> Result<bool, StoreError> {
        if target == lease.url.fingerprint(self.key) {
            return Ok(true);
        }
        let mut via = item.via;
        for _ in 0..item.redirects {
            match via {
                Some(Via { page, .. }) if page == target => return Ok(true),
                Some(hop) => via = self.via_of(hop)?,
                None => break,
            }
        }
        Ok(false)
    }

    /// The redirects that lead to a URL, which `via` led to. Reads a record for each, from the last to the first.
    pub(super) fn chain_to(&self, url: &str, via: Option<Via>) -> Result<Chain, StoreError> {
        let (mut chain, mut via) = (Chain { first: url.to_owned(), redirects: 0, is_whole: false }, via);
        while chain.redirects < u8::MAX {
            let Some(hop) = via else {
                chain.is_whole = true;
                break;
            };
            let before = self.record(hop)?;
            let leads = |to: &str| leads_to(to, &chain.first);
            let before = before.filter(|before| before.redirect.as_deref().is_some_and(leads));
            let Some(before) = before else { break };
            (chain.first, via) = (before.url, before.via);
            chain.redirects += 1;
        }
        Ok(chain)
    }

    /// The record of a page, one that isn't committed yet before one that is.
    fn record(&self, hop: Via) -> Result<Option<PageRecord>, StoreError> {
        match self.waiting(hop) {
            Some(record) => Ok(Some(record.clone())),
            None => page_store::record_of(self.frontier.store(), hop.host, hop.page),
        }
    }

    /// The record of a page that waits to be committed.
    fn waiting(&self, hop: Via) -> Option<&PageRecord> {
        let mut pages = self.batch.pages.iter().rev();
        pages.find(|page| page.host == hop.host && page.page == hop.page).map(|page| &page.record)
    }

    /// The page that led to a page. A record that isn't committed yet is found in the batch.
    fn via_of(&self, hop: Via) -> Result<Option<Via>, StoreError> {
        if let Some(record) = self.waiting(hop) {
            return Ok(record.via);
        }
        Ok(page_store::record_of(self.frontier.store(), hop.host, hop.page)?.and_then(|record| record.via))
    }

    /// The page in the archive, or on its way there, that a page names as its original and that has the same body; and how it names it.
    pub(super) fn original(&self, lease: &Lease, visited: &Visited) -> Option<(CrawlUrl, &'static str)> {
        let record = &visited.record;
        let digest = record.digest.as_ref().filter(|_| visited.warc.is_some())?;
        let named = [(&record.canonical, "rel=canonical"), (&record.about.meta_url, "meta URL")];
        named.into_iter().find_map(|(url, how)| {
            let url = CrawlUrl::parse(url.as_deref()?).ok().filter(|url| *url != lease.url)?;
            self.holds(&url, digest).then_some((url, how))
        })
    }

    /// Returns whether a page with this digest is in the archive, or waits to be committed to it.
    fn holds(&self, url: &CrawlUrl, digest: &str) -> bool {
        let Some(host) = self.frontier.known(url.host()) else { return false };
        let page = url.fingerprint(self.key);
        let same = |kept: &PageRecord| kept.archived && kept.digest.as_deref() == Some(digest);
        let waits =
            self.batch.pages.iter().rev().find(|settled| settled.host == host && settled.page == page);
        match waits {
            Some(settled) => same(&settled.record),
            None => self.stored(host, page).is_some_and(|kept| same(&kept)),
        }
    }
}
