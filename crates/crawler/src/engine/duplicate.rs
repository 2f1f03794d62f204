//! A page whose own `rel=canonical` or meta `url` names another page with the same body: the body is stored once.

use super::Engine;
use crate::clock::Now;
use crate::fetch::Fetch;
use crate::frontier::Lease;
use crate::record::{Decided, Evidence, Layer, PageRecord, PlainReason};
use crate::store::Store;
use crate::url::CrawlUrl;
use crate::visit::Visited;

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Leaves the body of a duplicate out of the archive, where the page that it names as the original is in there already.
    pub(super) fn leave_duplicate(&mut self, lease: &Lease, visited: &mut Visited, now: Now) {
        let record = &visited.record;
        let (Some(digest), true) = (&record.digest, visited.warc.is_some()) else { return };
        let named = [(&record.canonical, "rel=canonical"), (&record.about.meta_url, "meta URL")];
        let original = named.into_iter().find_map(|(url, how)| {
            let url = CrawlUrl::parse(url.as_deref()?).ok().filter(|url| *url != lease.url)?;
            self.holds(&url, digest).then_some((url, how))
        });
        let Some((original, how)) = original else { return };
        visited.warc = None;
        visited.record.archived = false;
        visited.record.duplicate_of = Some(original.to_string());
        let evidence = Evidence {
            to: Some(original.to_string()),
            ..Evidence::from(format!("same digest as its {how}"))
        };
        self.decided(lease, now, Decided::NotArchived, Layer::Dedup, PlainReason::Duplicate, evidence);
    }

    /// Returns whether a page with this digest is in the archive, or waits to be committed to it.
    fn holds(&self, url: &CrawlUrl, digest: &str) -> bool {
        let Some(host) = self.frontier.known(url.host()) else { return false };
        let page = url.fingerprint(&self.key);
        let same = |kept: &PageRecord| kept.archived && kept.digest.as_deref() == Some(digest);
        let waits =
            self.batch.pages.iter().rev().find(|settled| settled.host == host && settled.page == page);
        match waits {
            Some(settled) => same(&settled.record),
            None => self.stored_page(host, page).is_some_and(|kept| same(&kept)),
        }
    }
}
