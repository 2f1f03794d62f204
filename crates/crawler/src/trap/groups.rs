//! Counts the URLs of one host that have something in common, in bounded memory.
//!
//! What a page says is new to its host, or known: the frontier remembers the content of all pages of a host. Pages that repeat the same content may
//! have any name, at any depth: a site that responds to every URL may link to short made-up names that have nothing in common. So pages are
//! counted four times. By group: URLs that differ in their queries or digits. By folder: one where hardly any page says something new, and the last
//! ones all said the same, has no more to say. By host, as far as their URLs were found on pages with new content. And by host, as far as they
//! weren't, or are like one that repeated what was known (see [`variants`]): those are the links that an infinite space makes. They have a row of
//! their own, so that they cost no page that was found elsewhere.
//!
//! At most [`Groups::MOST`] groups are held, by the algorithm of Misra and Gries (1982): where a further one comes, all
//! lose one. So a count is never too high, and too low by at most the host's URLs divided by the number of groups:
//! nothing is held back too early, and what grows without end is always seen. Groups of at least [`Groups::KEPT`] URLs
//! are stored with their host, in the commit of the links that they count.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use ::costly::BUDGET;

use super::key::{HOST, Keys, REPEATS, costly_key};
use super::{Budget, BudgetExceeded, TrapSettings};

/// Where a group is stored whole, 8 numbers follow that were marks of pages once, and how many there were.
const UNUSED: usize = 8;

/// Links beyond a group's first URL; where there are more, its budget is a tenth: numbered pages that lead ever deeper.
const DEEPER: u32 = 20;

/// URLs by which one page that says something new raises a budget.
const GROWTH: u64 = 4;

/// Folders counted of a host: those with the most pages.
const FOLDERS: usize = 16;

/// The part of a folder's pages that may say something new, where the last ones said the same: one of so many.
const NEW_IN: u32 = 10;

/// Pages of a group with new content, where a copy counts as one of its own.
const OWN_COPIES: RangeInclusive<u32> = 1..=8;

/// The keys of a host's own accounts.
const ACCOUNTS: [u64; 2] = [HOST, REPEATS];

/// A host as a whole has so many times the row of known pages that its groups have; its row of other URLs only where that is as many times the
/// number of its pages with new content.
const HOST_ROWS: u64 = 2;

/// Known pages in a row from which on a host's account is stored with it.
const ROW_KEPT: u32 = 20;

/// Parameters of a query from which on its variants are combinations, whose number says nothing about pages.
const COMBINATIONS: usize = 3;

/// A group as stored with its host: key, URLs, depth of the first, pages, pages that said something new, and pages in a
/// row that didn't.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredGroup(pub u64, pub u32, pub u32, pub u32, pub u32, pub u32);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Group {
    key: u64,
    count: u32,
    depth: u32,
    pages: u32,
    fresh: u32,
    same: u32,
    #[serde(with = "unused")]
    unused: (),
}

/// What is in the place of marks.
mod unused {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::UNUSED;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference to the field")]
    pub(super) fn serialize<S: Serializer>((): &(), serializer: S) -> Result<S::Ok, S::Error> {
        ([0_u32; UNUSED], 0_u8).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        <([u32; UNUSED], u8)>::deserialize(deserializer).map(|_| ())
    }
}

/// What the content of a page is to its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// No page had it before.
    New,
    /// One page had it: a print version, a mirror. Of a host's accounts it `counts` for one of four contents.
    Copy { counts: bool },
    /// Two pages had it or more.
    Repeat,
}

impl Said {
    /// What a page says of which `before` pages had the content, up to two. `mark` is that of the content.
    pub(crate) fn of(before: usize, mark: u32) -> Self {
        match before {
            0 => Self::New,
            1 => Self::Copy { counts: mark.is_multiple_of(4) },
            _ => Self::Repeat,
        }
    }

    /// Whether a page had it before.
    pub(crate) fn is_known(self) -> bool {
        self != Self::New
    }

    /// How many fingerprints it adds to those that the frontier has of the host.
    fn remembered(self) -> u32 {
        u32::from(self != Self::Repeat)
    }
}

/// The groups of one host. A host that is evicted keeps them whole.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    /// By folder; what is counted here is pages that were read. So are those of the host's own accounts, which are among them:
    /// their count is that of fingerprints of contents and variants.
    folders: Vec<Group>,
}

impl Groups {
    /// Groups held in memory.
    const MOST: usize = 64;
    /// URLs from which on a group is stored.
    pub(crate) const KEPT: u32 = 100;

    pub(crate) fn restore(stored: &[StoredGroup], folders: &[StoredGroup]) -> Self {
        Self {
            groups: stored.iter().take(Self::MOST).map(Group::restore).collect(),
            folders: folders.iter().take(FOLDERS + ACCOUNTS.len()).map(Group::restore).collect(),
        }
    }

    pub(crate) fn stored(&self) -> Vec<StoredGroup> {
        stored(&self.groups)
    }

    pub(crate) fn stored_folders(&self) -> Vec<StoredGroup> {
        stored(&self.folders)
    }

    /// Bytes in memory beside its own size.
    pub(crate) fn bytes(&self) -> usize {
        (self.groups.capacity() + self.folders.capacity()) * size_of::<Group>()
    }

    /// Forgets what isn't stored: the host is at rest.
    pub(crate) fn shrink(&mut self) {
        for groups in [&mut self.groups, &mut self.folders] {
            groups.retain(Group::is_kept);
            groups.shrink_to_fit();
        }
    }

    /// Counts a new URL of the host, or says why it is held back. `have` is what the host has already; a URL `is_repeat` that
    /// was found on a page with known content, or is like one of those.
    pub(crate) fn admit(
        &mut self,
        rules: &TrapSettings,
        path_and_query: &str,
        depth: u32,
        have: u64,
        is_repeat: bool,
    ) -> Option<BudgetExceeded> {
        if let Some(most) = rules.urls_per_host.filter(|most| have >= *most) {
            return Some(BudgetExceeded::new(Budget::UrlsPerHost, most, have));
        }
        let keys = Keys::of(path_and_query);
        let most = rules.same_pages.map(|most| most.max(self.fresh()));
        let held = [keys.query, keys.shape]
            .into_iter()
            .flatten()
            .filter_map(|key| self.find(key))
            .find_map(|group| group.judge(rules, most, keys, depth))
            .or_else(|| self.folder(keys.folder)?.has_no_more_to_say(most?))
            .or_else(|| self.host_is_same(rules.same_pages?, is_repeat));
        if held.is_none() {
            for key in [keys.query, keys.shape].into_iter().flatten() {
                self.count(key, depth);
            }
        }
        held
    }

    /// As [`Groups::admit`], of a URL that costs its site much: those with the same path and the same parameters have a budget.
    pub(crate) fn admit_costly(&mut self, path_and_query: &str, depth: u32) -> Option<BudgetExceeded> {
        let key = costly_key(path_and_query);
        let count = self.find(key).map_or(0, |group| u64::from(group.count));
        if count >= u64::from(BUDGET) {
            return Some(BudgetExceeded::new(Budget::Costly, u64::from(BUDGET), count));
        }
        self.count(key, depth);
        None
    }

    /// Counts a URL that is admitted whatever its groups hold.
    pub(crate) fn note(&mut self, path_and_query: &str, depth: u32) {
        let keys = Keys::of(path_and_query);
        for key in [keys.query, keys.shape].into_iter().flatten() {
            self.count(key, depth);
        }
    }

    /// Takes in what a page of the host says. `remembered` is how many fingerprints of its variants were added to the host's.
    pub(crate) fn page(&mut self, path_and_query: &str, said: Said, is_repeat: bool, remembered: u32) {
        let keys = Keys::of(path_and_query);
        let mut says_the_same = false;
        for key in [keys.query, keys.shape].into_iter().flatten() {
            if let Some(group) = self.groups.iter_mut().find(|group| group.key == key) {
                says_the_same |= said.is_known() && group.pages > 0;
                group.page(said);
            }
        }
        // What one of those groups says over and over, session ids say, tells nothing of the rest of its folder.
        if !says_the_same {
            self.page_of_folder(keys.folder, said);
        }
        self.page_of_host(said, is_repeat, remembered);
    }

    /// Takes in what a resource of the host says, a style sheet. It comes when no page waits, and says nothing of them.
    pub(crate) fn resource(&mut self, said: Said) {
        self.page_of_host(said, true, 0);
    }

    fn page_of_folder(&mut self, key: u64, said: Said) {
        if let Some(folder) = self.folders.iter_mut().find(|folder| folder.key == key) {
            folder.count = folder.count.saturating_add(1);
            folder.page(said);
            return;
        }
        let folders = || self.folders.iter().enumerate().filter(|(_, folder)| !folder.is_account());
        if folders().count() >= FOLDERS {
            // A folder that grows without end soon has more pages than the others.
            let least = folders().min_by_key(|(_, folder)| folder.count);
            if let Some((least, _)) = least {
                self.folders.swap_remove(least);
            }
        }
        let mut folder = Group::new(key, 0);
        folder.page(said);
        self.folders.push(folder);
    }

    fn page_of_host(&mut self, said: Said, is_repeat: bool, remembered: u32) {
        let account = self.account(if is_repeat { REPEATS } else { HOST });
        account.count = account.count.saturating_add(said.remembered() + remembered);
        match said {
            Said::Copy { counts: true } => account.page(Said::Repeat),
            said => account.page(said),
        }
        if said == Said::New && is_repeat {
            // What such URLs lead to says nothing of the others, but that there is more to come.
            self.account(HOST).same = 0;
        }
    }

    fn account(&mut self, key: u64) -> &mut Group {
        let place = self.folders.iter().position(|account| account.key == key).unwrap_or_else(|| {
            self.folders.push(Group { count: 0, ..Group::new(key, 0) });
            self.folders.len() - 1
        });
        &mut self.folders[place]
    }

    /// Counts fingerprints that were added to the host's beside those of its URLs.
    pub(crate) fn remember(&mut self, more: u32) {
        let account = self.account(HOST);
        account.count = account.count.saturating_add(more);
    }

    /// Fingerprints that the host has beside those of its URLs.
    pub(crate) fn remembered(&self) -> u64 {
        self.folders
            .iter()
            .filter(|account| account.is_account())
            .map(|account| u64::from(account.count))
            .sum()
    }

    /// Pages of the host with new content: a site that has each of its pages in several languages, and many of them untranslated, repeats
    /// as many in a row, and ends.
    pub(crate) fn fresh(&self) -> u64 {
        self.folders
            .iter()
            .filter(|account| account.is_account())
            .map(|account| u64::from(account.fresh))
            .sum()
    }

    /// Whether a page of the host had content that was known.
    pub(crate) fn has_repeated(&self) -> bool {
        self.folders.iter().any(|account| account.is_account() && account.fresh < account.pages)
    }

    /// Whether the host went on saying what it had said.
    fn host_is_same(&self, most: u64, is_repeat: bool) -> Option<BudgetExceeded> {
        let (key, most) = if is_repeat { (REPEATS, most) } else { (HOST, most.saturating_mul(HOST_ROWS)) };
        let most = most.max(self.fresh().saturating_mul(HOST_ROWS));
        self.folder(key)?.is_same(most).map(|held| BudgetExceeded { of_host: true, ..held })
    }

    /// Whether what repeats known content, style sheets among it, went on doing so.
    pub(crate) fn resources_are_same(&self, rules: &TrapSettings) -> Option<BudgetExceeded> {
        self.host_is_same(rules.same_pages?, true)
    }

    fn folder(&self, key: u64) -> Option<&Group> {
        self.folders.iter().find(|folder| folder.key == key)
    }

    /// Returns why a URL that waits isn't asked for any more: its group went on saying the same.
    pub(crate) fn exhausted(
        &self,
        rules: &TrapSettings,
        path_and_query: &str,
        is_repeat: bool,
    ) -> Option<BudgetExceeded> {
        let least = rules.same_pages?;
        let most = least.max(self.fresh());
        if !self.groups.iter().chain(&self.folders).any(|group| u64::from(group.same) >= least) {
            return None;
        }
        let keys = Keys::of(path_and_query);
        let groups = [keys.query, keys.shape].into_iter().flatten().filter_map(|key| self.find(key));
        let held = groups.into_iter().find_map(|group| group.is_same(most));
        held.or_else(|| self.folder(keys.folder)?.has_no_more_to_say(most))
            .or_else(|| self.host_is_same(least, is_repeat))
    }

    fn find(&self, key: u64) -> Option<&Group> {
        self.groups.iter().find(|group| group.key == key)
    }

    fn count(&mut self, key: u64, depth: u32) {
        if let Some(group) = self.groups.iter_mut().find(|group| group.key == key) {
            group.count = group.count.saturating_add(1);
        } else if self.groups.len() < Self::MOST {
            self.groups.push(Group::new(key, depth));
        } else {
            self.groups.retain_mut(|group| {
                group.count -= 1;
                group.count > 0
            });
        }
    }
}

fn stored(groups: &[Group]) -> Vec<StoredGroup> {
    let kept = groups.iter().filter(|group| group.is_kept());
    kept.map(|group| StoredGroup(group.key, group.count, group.depth, group.pages, group.fresh, group.same))
        .collect()
}

impl Group {
    fn new(key: u64, depth: u32) -> Self {
        Self { key, count: 1, depth, pages: 0, fresh: 0, same: 0, unused: () }
    }

    fn is_account(&self) -> bool {
        ACCOUNTS.contains(&self.key)
    }

    /// Whether it is stored with its host.
    fn is_kept(&self) -> bool {
        self.count >= Groups::KEPT || self.is_account() && self.same >= ROW_KEPT
    }

    fn restore(&StoredGroup(key, count, depth, pages, fresh, same): &StoredGroup) -> Self {
        Self { count, pages, fresh, same, ..Self::new(key, depth) }
    }

    /// `most` is the longest row of pages that said the same.
    fn judge(
        &self,
        rules: &TrapSettings,
        most: Option<u64>,
        keys: Keys,
        depth: u32,
    ) -> Option<BudgetExceeded> {
        if let Some(most) = most
            && let Some(held) = self.is_same(most)
        {
            return Some(held);
        }
        let is_query = keys.query == Some(self.key);
        let (budget, base) = if is_query {
            (Budget::QueryVariants, rules.query_variants?)
        } else {
            (Budget::ShapeVariants, rules.shape_variants?)
        };
        let limit = if depth > self.depth.saturating_add(DEEPER) {
            (base / 10).max(1)
        } else if is_query && keys.parameters >= COMBINATIONS {
            base
        } else {
            base.saturating_add(GROWTH * u64::from(self.fresh))
        };
        (u64::from(self.count) >= limit).then(|| self.held(budget, limit, self.count))
    }

    fn is_same(&self, most: u64) -> Option<BudgetExceeded> {
        (u64::from(self.same) >= most).then(|| self.held(Budget::SamePages, most, self.same))
    }

    /// As [`Group::is_same`], of a folder: its pages may have nothing in common but that, so hardly any of them may have said
    /// something new.
    fn has_no_more_to_say(&self, most: u64) -> Option<BudgetExceeded> {
        let is_dull = self.fresh.saturating_mul(NEW_IN) <= self.pages;
        self.is_same(most).filter(|_| is_dull).map(|held| BudgetExceeded { in_folder: true, ..held })
    }

    fn held(&self, budget: Budget, limit: u64, count: u32) -> BudgetExceeded {
        let (fresh, pages) = (self.fresh.into(), self.pages.into());
        BudgetExceeded { budget, limit, count: count.into(), fresh, pages, in_folder: false, of_host: false }
    }

    /// Takes in a page of the group. A copy of what one of the group's own pages said lengthens a row; one of another page neither lengthens nor
    /// ends it. Only for a group with at most 8 new pages do we know which of the two it is.
    fn page(&mut self, said: Said) {
        self.pages = self.pages.saturating_add(1);
        match said {
            Said::New => {
                self.same = 0;
                self.fresh = self.fresh.saturating_add(1);
            }
            Said::Copy { .. } if !OWN_COPIES.contains(&self.fresh) => {}
            Said::Copy { .. } | Said::Repeat => self.same = self.same.saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests;
