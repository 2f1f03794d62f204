//! A host's sitemaps: fetched like its pages, before them. They are in the store as records; here is their
//! order, 8 bytes for each: a robots.txt may name five hundred with a URL of a kilobyte each.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::error::form;
use super::priority::Priority;
use super::{Frontier, Leased, Permit, Work};
use crate::record::{SitemapRecord, SitemapState, link_key};
use crate::store::{Store, StoreError, Tree};
use page::ids::HostId;
use page::url::{CrawlUrl, Fingerprint};

/// Sitemaps that are fetched at the same time over all hosts: each may take 256 KiB of memory and 50 MiB of a temporary file.
pub(super) const AT_ONCE: usize = 32;

impl<S: Store> Frontier<S> {
    /// Queues a sitemap by the fingerprint of its URL. Its record is written by the caller, with the same cut at the latest,
    /// and is read when the sitemap is leased. The host must be in memory ([`Frontier::load`]).
    pub fn send_sitemap(&mut self, id: HostId, sitemap: Fingerprint) {
        self.host_mut(id).sitemaps.push_back(sitemap);
        self.schedule_if_idle(id);
    }

    /// A value as the next commit will leave it.
    pub fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.view.get(tree, key)
    }

    /// The next sitemap of a host, unless enough of them are under way: then the host's pages come first, and the permits of those under way
    /// say that others wait.
    pub(super) fn lease_sitemap(
        &mut self,
        id: HostId,
        rested: Option<Duration>,
    ) -> Result<Option<Permit>, StoreError> {
        if self.sitemaps_leased >= AT_ONCE {
            let host = &self.hosts[id];
            if !host.held && host.takes(Priority::First, self.open) && !host.sitemaps.is_empty() {
                self.sitemaps_awaited.store(true, Ordering::Relaxed);
            }
            return Ok(None);
        }
        loop {
            let host = &mut self.hosts[id];
            if host.held || !host.takes(Priority::First, self.open) {
                return Ok(None);
            }
            let Some(fingerprint) = host.sitemaps.front().copied() else { return Ok(None) };
            let value = self.view.get(Tree::Sitemaps, &link_key(id, fingerprint))?;
            let record = value.map(|value| SitemapRecord::read(&value)).transpose();
            let record = record.map_err(|error| form(Tree::Sitemaps, error))?;
            let waiting = record.filter(|record| record.state == SitemapState::Waits);
            let ready = waiting.and_then(|record| Some((CrawlUrl::parse(&record.url).ok()?, record)));
            let host = &mut self.hosts[id];
            let Some((url, sitemap)) = ready else {
                host.sitemaps.pop_front();
                continue;
            };
            host.leased = Some(Leased::Sitemap);
            self.sitemaps_leased += 1;
            let awaited = Arc::clone(&self.sitemaps_awaited);
            return Ok(Some(self.permit(id, url, Work::Sitemap(Box::new(sitemap)), rested).in_turn(awaited)));
        }
    }
}
