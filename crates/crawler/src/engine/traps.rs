//! The engine's side of the trap guard: budgets that concern several hosts, and ledger entries for URLs that are no longer queued.

use super::Engine;
use crate::clock::Now;
use crate::commit::CommitError;
use crate::fetch::Fetch;
use crate::frontier::{HostId, QueuedUrl};
use crate::record::{Decided, Decision, Layer};
use crate::store::{Store, StoreError};
use crate::trap::{BudgetExceeded, by_form};
use crate::url::CrawlUrl;

impl<F: Fetch, S: Store> Engine<F, S> {
    /// The host of a URL that was found on a page of `own`, unless the URL's form, or the number of
    /// hosts of its domain or of that page, holds it back.
    pub(super) fn host_within_budgets(
        &mut self,
        own: (&str, HostId),
        queued: &QueuedUrl,
        url: &CrawlUrl,
    ) -> Result<Result<HostId, BudgetExceeded>, StoreError> {
        if !queued.is_seed()
            && let Some(held) = by_form(&self.settings.traps, url, queued.depth)
        {
            return Ok(Err(held));
        }
        if url.host() == own.0 {
            return Ok(Ok(own.1));
        }
        if let Some(host) = self.frontier.known(url.host()) {
            return Ok(Ok(host));
        }
        if !queued.is_seed()
            && let Some(held) = self.bounds.domains.judge(&self.settings.traps, url.host())
        {
            return Ok(Err(held));
        }
        self.bounds.domains.add(url.host());
        self.frontier.host_id(url.host()).map(Ok)
    }

    /// Enters what was held back when its host woke or was to be asked.
    pub(super) fn enter_held(&mut self, now: Now) -> Result<(), CommitError> {
        for (id, url, item, held) in self.frontier.take_held()? {
            self.totals.skipped += 1;
            let via = item.via.and_then(|via| self.url_of(via));
            self.decide(Decision {
                at: now.wall,
                url: url.to_string(),
                host: self.frontier.name(id).to_owned(),
                decision: Decided::Skipped,
                layer: Layer::Trap,
                reason: held.budget.outcome().into(),
                evidence: held.evidence(&url).into(),
                via,
            });
        }
        Ok(())
    }
}
