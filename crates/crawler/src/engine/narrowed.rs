//! URLs that were queued under wider settings: a resumed crawl may have another scope or depth, and asks for nothing outside of
//! it. What is dropped here is judged again (`rejudge`) when the settings change again.

use super::Engine;
use super::links::layer_of;
use crate::clock::Now;
use crate::commit::CommitError;
use crate::fetch::Fetch;
use crate::frontier::{Permit, QueuedUrl, Settlement, Work};
use crate::record::{A_SEED, Decided, Layer, LinkOutcome, SitemapState, link_key};
use crate::store::{Store, Tree};
use crate::trap::by_form;
use crate::url::CrawlUrl;

/// Evidence of an entry for a URL that was queued before the settings excluded it.
pub(super) const WAS_QUEUED: &str = "queued under earlier settings";

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Lets a permit through if the settings in force still let its URL in. Otherwise the URL leaves its queue, with an entry in
    /// the ledger, and nothing is asked for. A few microseconds.
    pub(super) fn still_in_scope(&mut self, permit: Permit, now: Now) -> Result<Option<Permit>, CommitError> {
        let lease = permit.lease().clone();
        let (outcome, held) = match &lease.work {
            Work::Visit(item) => match self.outside(&lease.url, item) {
                Some(outcome) => (outcome, None),
                None if item.is_seed() => return Ok(Some(permit)),
                None => match by_form(&self.settings.traps, &lease.url, item.depth) {
                    Some(held) => (held.budget.outcome(), Some(held.evidence(&lease.url))),
                    None => return Ok(Some(permit)),
                },
            },
            Work::Sitemap(_) if !self.bounds.scope.has_host(&lease.url) => (LinkOutcome::OtherHost, None),
            Work::Sitemap(_) | Work::RobotsFetch(_) => return Ok(Some(permit)),
        };
        let fingerprint = lease.url.fingerprint(&self.key);
        match &lease.work {
            Work::Sitemap(sitemap) => {
                let mut record = (**sitemap).clone();
                record.state = SitemapState::Denied;
                record.detail = Some(outcome.as_str().to_owned());
                self.frontier.put(Tree::Sitemaps, link_key(lease.host, fingerprint), record.write()?);
                let (url, host) = (lease.url.as_str(), lease.url.host());
                self.refuse_sitemap(url, host, Layer::Scope, outcome, WAS_QUEUED.to_owned().into());
            }
            work => {
                // A page that is stored stays stored, and counts as visited.
                if self.stored_page(lease.host, fingerprint).is_none() {
                    self.totals.skipped += 1;
                }
                let is_seed = matches!(work, Work::Visit(item) if item.via.is_none());
                let evidence = held.unwrap_or_else(|| if is_seed { A_SEED } else { WAS_QUEUED }.to_owned());
                self.decided(&lease, now, Decided::Skipped, layer_of(outcome), outcome, evidence);
            }
        }
        let (not_before, wait) = lease.state.standing_wait();
        self.frontier.settle(permit, Settlement::finished(not_before, wait));
        Ok(None)
    }

    /// Why a queued URL stays outside by the settings in force.
    fn outside(&mut self, url: &CrawlUrl, item: &QueuedUrl) -> Option<LinkOutcome> {
        if !item.is_resource() {
            return self.bounds.scope.judge(url, item.depth);
        }
        if !self.settings.resources {
            return Some(LinkOutcome::Resource);
        }
        let page = item.via.and_then(|via| self.url_of(via)).and_then(|page| CrawlUrl::parse(&page).ok());
        // Where its page isn't known any more it is judged as one of its own host.
        self.bounds.judge(url, item, page.as_ref().unwrap_or(url).host())
    }
}
