//! Redirects that aren't followed: loops, and chains that are too long.

use super::Engine;
use crate::fetch::Fetch;
use crate::frontier::{Lease, QueuedUrl, Via};
use crate::page_store;
use crate::record::LinkOutcome;
use crate::store::{Store, StoreError};
use crate::url::Fingerprint;
use crate::visit::Visited;

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Why a page's redirect isn't followed, where that is the redirect's own fault: the error of the page.
    pub(super) fn refused_redirect(
        &self,
        lease: &Lease,
        item: &QueuedUrl,
        visited: &Visited,
    ) -> Result<Option<LinkOutcome>, StoreError> {
        let Some(link) = visited.links.iter().find(|link| link.is_redirect()) else { return Ok(None) };
        let (Ok((_, target)), None) = (&link.target, link.skip) else { return Ok(None) };
        if self.closes_a_loop(lease, item, *target)? {
            return Ok(Some(LinkOutcome::RedirectLoop));
        }
        let is_too_long = u32::from(item.redirects) + 1 > self.settings.max_redirects;
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
        if target == lease.url.fingerprint(&self.key) {
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

    /// The page that led to a page. A record that isn't committed yet is found in the batch.
    fn via_of(&self, hop: Via) -> Result<Option<Via>, StoreError> {
        let waiting =
            self.group.batch.pages.iter().rev().find(|page| page.host == hop.host && page.page == hop.page);
        if let Some(page) = waiting {
            return Ok(page.record.via);
        }
        Ok(page_store::record_of(self.frontier.store(), hop.host, hop.page)?.and_then(|record| record.via))
    }
}
