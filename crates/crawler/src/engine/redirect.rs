//! Redirects that aren't followed: loops, and chains that are too long.

use super::Engine;
use crate::fetch::Fetch;
use crate::frontier::{Lease, QueuedUrl, Via};
use crate::page_store;
use crate::record::{LinkOutcome, LinkRecord};
use crate::store::{Store, StoreError};
use crate::url::Fingerprint;

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Returns whether a redirect's target is the page itself or part of the chain of redirects that led to it.
    ///
    /// Reads a record for each hop, ten at most by default.
    pub(super) fn closes_a_loop(
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
            self.batch.pages.iter().rev().find(|page| page.host == hop.host && page.page == hop.page);
        if let Some(page) = waiting {
            return Ok(page.record.via);
        }
        Ok(page_store::record_of(self.frontier.store(), hop.host, hop.page)?.and_then(|record| record.via))
    }
}

/// The error kind of a page whose redirect isn't followed for its own fault.
pub(super) fn error_of(links: &[LinkRecord]) -> Option<&'static str> {
    let outcome = links.iter().find(|link| link.kind == "redirect")?.outcome;
    matches!(outcome, LinkOutcome::RedirectLoop | LinkOutcome::TooManyRedirects).then(|| outcome.as_str())
}
