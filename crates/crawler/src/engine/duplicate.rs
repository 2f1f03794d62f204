//! A page whose own `rel=canonical` or meta `url` names another page with the same body: the body is stored once.

use super::Engine;
use crate::fetch::Fetch;
use crate::frontier::Lease;
use crate::record::PageRecord;
use crate::store::Store;
use crate::url::CrawlUrl;
use crate::visit::Visited;

impl<F: Fetch, S: Store> Engine<F, S> {
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
        let page = url.fingerprint(&self.key);
        let same = |kept: &PageRecord| kept.archived && kept.digest.as_deref() == Some(digest);
        let waits =
            self.group.batch.pages.iter().rev().find(|settled| settled.host == host && settled.page == page);
        match waits {
            Some(settled) => same(&settled.record),
            None => self.stored_page(host, page).is_some_and(|kept| same(&kept)),
        }
    }
}
