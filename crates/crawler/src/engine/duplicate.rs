//! A page whose own `rel=canonical` names another page with the same body: the body is kept once (digest, 4.7).

use super::Engine;
use crate::clock::Now;
use crate::fetch::Fetch;
use crate::frontier::Lease;
use crate::record::{Evidence, Layer, PageRecord};
use crate::store::Store;
use crate::url::CrawlUrl;
use crate::visit::Visited;

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Leaves the body of a duplicate out of the archive, where the page that it names as canonical is in there already.
    pub(super) fn leave_duplicate(&mut self, lease: &Lease, visited: &mut Visited, now: Now) {
        let record = &visited.record;
        let (Some(canonical), Some(digest), true) =
            (&record.canonical, &record.digest, visited.warc.is_some())
        else {
            return;
        };
        let Some(canonical) = CrawlUrl::parse(canonical).ok().filter(|canonical| *canonical != lease.url)
        else {
            return;
        };
        let Some(host) = self.frontier.known(canonical.host()) else { return };
        let page = canonical.fingerprint(&self.key);
        let same = |kept: &PageRecord| kept.archived && kept.digest.as_ref() == Some(digest);
        let waits = self.batch.pages.iter().find(|settled| settled.host == host && settled.page == page);
        let is_kept = match waits {
            Some(settled) => same(&settled.record),
            None => self.stored_page(host, page).is_some_and(|kept| same(&kept)),
        };
        if !is_kept {
            return;
        }
        visited.warc = None;
        visited.record.archived = false;
        visited.record.duplicate_of = Some(canonical.to_string());
        let evidence = Evidence {
            to: Some(canonical.to_string()),
            ..Evidence::from("same digest as its rel=canonical")
        };
        self.decided(lease, now, "not_archived", Layer::Dedup, "duplicate", evidence);
    }
}
