//! A host's sitemaps: asked for like its pages, before them. They stand in the store as records; here is their order.

use std::time::Duration;

use super::item::HostId;
use super::{Frontier, Leased, Permit, Work};
use crate::record::SitemapRecord;
use crate::store::{Store, StoreError, Tree};
use crate::url::CrawlUrl;

/// Sitemaps that are fetched and read at the same time over all hosts: each may hold 50 MiB.
const AT_ONCE: usize = 4;

impl<S: Store> Frontier<S> {
    /// Queues a sitemap, which isn't stored by this. The host must be in memory ([`Frontier::load`]).
    pub fn send_sitemap(&mut self, id: HostId, sitemap: SitemapRecord) {
        self.host_mut(id).sitemaps.push_back(sitemap);
        self.schedule_if_idle(id);
    }

    /// A value as the next commit will leave it.
    pub fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.view.get(tree, key)
    }

    /// The next sitemap of a host, unless enough of them are under way: then the host's pages come first.
    pub(super) fn lease_sitemap(&mut self, id: HostId, rested: Option<Duration>) -> Option<Permit> {
        if self.sitemaps_leased >= AT_ONCE {
            return None;
        }
        loop {
            let host = &mut self.hosts[id];
            if host.parked.is_some() || host.held {
                return None;
            }
            let sitemap = host.sitemaps.front()?.clone();
            let Ok(url) = CrawlUrl::parse(&sitemap.url) else {
                host.sitemaps.pop_front();
                continue;
            };
            host.leased = Some(Leased::Sitemap);
            self.sitemaps_leased += 1;
            return Some(self.permit(id, url, Work::Sitemap(Box::new(sitemap)), rested));
        }
    }
}
