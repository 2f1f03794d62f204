//! The frontier's side of the trap guard: a host's budgets are checked when a URL is new, and before it is fetched.

use super::host::Host;
use super::item::{Marks, QueuedUrl};
use super::priority::Priority;
use super::{BudgetExceeded, Frontier};
use crate::store::{Store, StoreError};
use crate::trap::{Said, TrapSettings, variants};
use page::ids::HostId;
use page::url::{CrawlUrl, Fingerprint, FingerprintKey};

impl<S: Store> Frontier<S> {
    /// Sets the budgets. Without them nothing is held back, and nothing is counted.
    pub fn set_traps(&mut self, rules: TrapSettings) {
        self.traps = Some(rules);
    }

    /// The id of a host that is known.
    pub fn known(&self, host: &str) -> Option<HostId> {
        self.hosts.find(host)
    }

    /// Takes in what a page says, by its mark; true if the host said it before.
    ///
    /// Of contents and variants the host's seen set has fingerprints, beside those of URLs. Of a page whose content may not be stored
    /// (`is_withheld`) memory alone has them, until it has too many.
    pub fn page_said(
        &mut self,
        id: HostId,
        url: &CrawlUrl,
        mark: u32,
        item: &QueuedUrl,
        is_withheld: bool,
    ) -> Result<bool, StoreError> {
        if self.traps.is_none() {
            return Ok(false);
        }
        let contents = [1, 2].map(|time| self.content(id, time, mark));
        let before = if is_withheld {
            if self.withheld.len() >= WITHHELD {
                self.withheld.clear();
                self.withheld_of.clear();
            }
            let before = contents.into_iter().take_while(|content| !self.withheld.insert(*content)).count();
            if before == 0 && !self.is_new_withheld(id) {
                return Ok(false);
            }
            before
        } else {
            let mut before = 0;
            for content in contents {
                if self.know(id, content)? {
                    break;
                }
                before += 1;
            }
            before
        };
        let said = Said::of(before, mark);
        if item.is_resource() {
            self.host_mut(id).groups.resource(said);
            return Ok(said.is_known());
        }
        let path = url.path_and_query();
        let mut remembered = 0;
        if said.is_known() {
            for variant in variants(path) {
                remembered += u32::from(self.know(id, self.variant(variant))?);
            }
        }
        self.host_mut(id).groups.page(path, said, item.is_repeat(), remembered);
        Ok(said.is_known())
    }

    /// Counts a content of a host's pages that this process hasn't read before and that may not be stored. False for as many as the host had
    /// new contents before: they may be the same.
    fn is_new_withheld(&mut self, id: HostId) -> bool {
        let fresh = self.hosts[id].groups.fresh();
        let (before, here) = self.withheld_of.entry(id).or_insert((fresh, 0));
        *here += 1;
        *here > *before
    }

    /// Takes in what a page says that was visited before: nothing is repeated by that.
    pub fn page_said_again(&mut self, id: HostId, mark: u32, is_withheld: bool) -> Result<(), StoreError> {
        if self.traps.is_some() && !is_withheld {
            let content = self.content(id, 1, mark);
            if self.know(id, content)? {
                // It is no URL of the host.
                self.host_mut(id).groups.remember(1);
            }
        }
        Ok(())
    }

    /// The fingerprint of a content that a host's pages have for the first or second time. Space isn't part of any URL.
    fn content(&self, id: HostId, time: u8, mark: u32) -> Fingerprint {
        Fingerprint(self.key.hash(&format!("content {time} {} {mark}", id.0)))
    }

    /// The fingerprint of what a URL has in common with others.
    fn variant(&self, key: u64) -> Fingerprint {
        variant(&self.key, key)
    }

    /// What was held back since the last call when its host woke or was to be asked: to be entered in the ledger.
    pub fn take_held(&mut self) -> Result<Vec<(HostId, CrawlUrl, QueuedUrl, BudgetExceeded)>, StoreError> {
        let held = std::mem::take(&mut self.held).into_iter();
        held.map(|(id, item, held)| Ok((id, self.hosts[id].url_of(&item)?, item, held))).collect()
    }

    /// Marks a queued link that is like the URL of a page that repeated what was known since it was queued.
    pub(super) fn mark_variant(&self, id: HostId, item: &mut QueuedUrl) {
        let host = &self.hosts[id];
        if self.traps.is_some() && !item.is_seed() && is_variant(host, &self.key, item) {
            item.marks = item.marks.with(Marks::REPEAT);
        }
    }

    pub(super) fn exhausted(&self, id: HostId, item: &QueuedUrl) -> Option<BudgetExceeded> {
        let rules = self.traps.as_ref()?;
        if item.is_seed() || item.is_resource() && !item.is_repeat() {
            return None;
        }
        if item.is_resource() {
            return self.hosts[id].groups.resources_are_same(rules);
        }
        self.hosts[id].groups.exhausted(rules, &item.path, item.is_repeat())
    }

    /// Takes the URL at the head of a queue out of it.
    pub(super) fn hold(&mut self, id: HostId, priority: Priority, item: QueuedUrl, held: BudgetExceeded) {
        let done = self.host_mut(id).queue(priority).advance();
        self.drop_chunk(id, priority, done);
        self.queued -= 1;
        self.held.push((id, item, held));
    }
}

/// Contents of pages that may not be stored, as many as are remembered: 1 MiB.
const WITHHELD: usize = 65_536;

/// Whether a URL that isn't marked is like that of a page which repeated what was known.
fn is_variant(host: &Host, key: &FingerprintKey, url: &QueuedUrl) -> bool {
    !url.is_repeat()
        && host.groups.has_repeated()
        && variants(&url.path).any(|each| host.seen.contains(variant(key, each)))
}

fn variant(key: &FingerprintKey, hash: u64) -> Fingerprint {
    Fingerprint(key.hash(&format!("variant {hash}")))
}

/// Counts a new URL, or says why it is held back. A seed, and what it redirects to, never is. Of a resource the host's number of URLs
/// counts, and of one that a style sheet with known content names whether such sheets went on repeating.
///
/// A link that is like the URL of a page that repeated what was known is marked so.
pub(super) fn admit(
    rules: &TrapSettings,
    host: &mut Host,
    key: &FingerprintKey,
    url: &mut QueuedUrl,
) -> Option<BudgetExceeded> {
    let have = host.seen.count().saturating_sub(host.groups.remembered());
    if url.is_resource() {
        let held = rules.over_urls_per_host(have);
        return held.or_else(|| host.groups.resources_are_same(rules).filter(|_| url.is_repeat()));
    }
    if url.is_seed() {
        host.groups.note(&url.path, url.depth);
        return None;
    }
    if url.is_costly() {
        return host.groups.admit_costly(&url.path, url.depth);
    }
    if is_variant(host, key, url) {
        url.marks = url.marks.with(Marks::REPEAT);
    }
    host.groups.admit(rules, &url.path, url.depth, have, url.is_repeat())
}
