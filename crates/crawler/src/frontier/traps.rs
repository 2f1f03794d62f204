//! The frontier's side of the trap guard: a host's budgets are checked when a URL is new, and before it is fetched.

use super::host::Host;
use super::item::QueuedUrl;
use super::priority::Priority;
use super::{BudgetExceeded, Frontier};
use crate::ids::HostId;
use crate::store::{Store, StoreError};
use crate::trap::TrapSettings;
use crate::url::CrawlUrl;

impl<S: Store> Frontier<S> {
    /// Sets the budgets. Without them nothing is held back, and nothing is counted.
    pub fn set_traps(&mut self, rules: TrapSettings) {
        self.traps = Some(rules);
    }

    /// The id of a host that is known.
    pub fn known(&self, host: &str) -> Option<HostId> {
        self.hosts.find(host)
    }

    /// Takes in what a page says, by its mark.
    pub fn page_said(&mut self, id: HostId, url: &CrawlUrl, mark: u32) {
        if self.traps.is_some() {
            self.host_mut(id).groups.page(url.path_and_query(), mark);
        }
    }

    /// What was held back since the last call when its host woke or was to be asked: to be entered in the ledger.
    pub fn take_held(&mut self) -> Result<Vec<(HostId, CrawlUrl, QueuedUrl, BudgetExceeded)>, StoreError> {
        let held = std::mem::take(&mut self.held).into_iter();
        held.map(|(id, item, held)| Ok((id, self.hosts[id].url_of(&item)?, item, held))).collect()
    }

    pub(super) fn exhausted(&self, id: HostId, item: &QueuedUrl) -> Option<BudgetExceeded> {
        let rules = self.traps.as_ref()?;
        if item.is_seed() || item.is_resource() {
            return None;
        }
        self.hosts[id].groups.exhausted(rules, &item.path)
    }

    /// Takes the URL at the head of a queue out of it.
    pub(super) fn hold(&mut self, id: HostId, priority: Priority, item: QueuedUrl, held: BudgetExceeded) {
        let done = self.host_mut(id).queue(priority).advance();
        self.drop_chunk(id, priority, done);
        self.queued -= 1;
        self.held.push((id, item, held));
    }
}

/// Counts a new URL, or says why it is held back. A seed, and what it redirects to, never is. Of a resource only the host's number of URLs
/// counts: pages alone have more of them without end.
pub(super) fn admit(rules: &TrapSettings, host: &mut Host, url: &QueuedUrl) -> Option<BudgetExceeded> {
    if url.is_resource() {
        return rules.over_urls_per_host(host.seen.count());
    }
    if url.is_seed() {
        host.groups.note(&url.path, url.depth);
        return None;
    }
    let have = host.seen.count();
    host.groups.admit(rules, &url.path, url.depth, have)
}
