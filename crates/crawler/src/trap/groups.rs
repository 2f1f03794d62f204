//! Counts the URLs of one host that have something in common, in bounded memory.
//!
//! Pages that repeat the same content may have any name: a site that responds to every URL may link to short made-up
//! names that have nothing in common. So pages are also counted by folder: one where hardly any page says something
//! new, and
//! the last ones all said the same, has no more to say.
//!
//! At most [`Groups::MOST`] groups are held, by the algorithm of Misra and Gries (1982): where a further one comes, all
//! lose one. So a count is never too high, and too low by at most the host's URLs divided by the number of groups:
//! nothing is held back too early, and what grows without end is always seen. Groups of at least [`Groups::KEPT`] URLs
//! are stored with their host, in the commit of the links that they count.

use serde::{Deserialize, Serialize};

use super::key::Keys;
use super::{Budget, BudgetExceeded, TrapSettings};

/// Marks remembered of a group.
const MARKS: usize = 8;

/// Links beyond a group's first URL; where there are more, its budget is a tenth: numbered pages that lead ever deeper.
const DEEPER: u32 = 20;

/// URLs by which one page that says something new raises a budget.
const GROWTH: u64 = 4;

/// Folders counted of a host: those with the most pages.
const FOLDERS: usize = 16;

/// The part of a folder's pages that may say something new, where the last ones said the same: one of so many.
const NEW_IN: u32 = 10;

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
    /// The last marks that were new. Most groups have no page yet, and no memory for marks.
    #[serde(with = "marks")]
    marks: Option<Box<[u32; MARKS]>>,
    marked: u8,
}

/// The stored form of marks: all of them, 0 where there are none.
mod marks {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::MARKS;

    #[expect(clippy::ref_option, reason = "serde gives a reference to the field")]
    pub(super) fn serialize<S: Serializer>(
        marks: &Option<Box<[u32; MARKS]>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        marks.as_deref().unwrap_or(&[0; MARKS]).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Box<[u32; MARKS]>>, D::Error> {
        let marks = <[u32; MARKS]>::deserialize(deserializer)?;
        Ok((marks != [0; MARKS]).then(|| Box::new(marks)))
    }
}

/// The groups of one host. A host that is put away keeps them whole.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    /// By folder; what is counted here is pages that were read.
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
            folders: folders.iter().take(FOLDERS).map(Group::restore).collect(),
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
        let marked = self.groups.iter().chain(&self.folders).filter(|group| group.marks.is_some()).count();
        let groups = self.groups.capacity() + self.folders.capacity();
        groups * size_of::<Group>() + marked * size_of::<[u32; MARKS]>()
    }

    /// Forgets what isn't stored: the host is at rest.
    pub(crate) fn shrink(&mut self) {
        for groups in [&mut self.groups, &mut self.folders] {
            groups.retain(|group| group.count >= Self::KEPT);
            groups.shrink_to_fit();
        }
    }

    /// Counts a new URL of the host, or says why it is held back. `have` is what the host has already.
    pub(crate) fn admit(
        &mut self,
        rules: &TrapSettings,
        path_and_query: &str,
        depth: u32,
        have: u64,
    ) -> Option<BudgetExceeded> {
        if let Some(most) = rules.urls_per_host.filter(|most| have >= *most) {
            return Some(BudgetExceeded::new(Budget::UrlsPerHost, most, have));
        }
        let keys = Keys::of(path_and_query);
        let held = [keys.query, keys.shape]
            .into_iter()
            .flatten()
            .filter_map(|key| self.find(key))
            .find_map(|group| group.judge(rules, keys, depth))
            .or_else(|| self.folder(keys.folder)?.has_no_more_to_say(rules.same_pages?));
        if held.is_none() {
            for key in [keys.query, keys.shape].into_iter().flatten() {
                self.count(key, depth);
            }
        }
        held
    }

    /// Counts a URL that is admitted whatever its groups hold.
    pub(crate) fn note(&mut self, path_and_query: &str, depth: u32) {
        let keys = Keys::of(path_and_query);
        for key in [keys.query, keys.shape].into_iter().flatten() {
            self.count(key, depth);
        }
    }

    /// Takes in what a page of the host says.
    pub(crate) fn page(&mut self, path_and_query: &str, mark: u32) {
        let keys = Keys::of(path_and_query);
        let mut says_the_same = false;
        for key in [keys.query, keys.shape].into_iter().flatten() {
            if let Some(group) = self.groups.iter_mut().find(|group| group.key == key) {
                says_the_same |= group.page(mark);
            }
        }
        // What one of those groups says over and over, session ids say, tells nothing of the rest of its folder.
        if !says_the_same {
            self.page_of_folder(keys.folder, mark);
        }
    }

    fn page_of_folder(&mut self, key: u64, mark: u32) {
        if let Some(folder) = self.folders.iter_mut().find(|folder| folder.key == key) {
            folder.count = folder.count.saturating_add(1);
            folder.page(mark);
            return;
        }
        if self.folders.len() >= FOLDERS {
            // A folder that grows without end soon has more pages than the others.
            let least = self.folders.iter().enumerate().min_by_key(|(_, folder)| folder.count);
            if let Some((least, _)) = least {
                self.folders.swap_remove(least);
            }
        }
        let mut folder = Group::new(key, 0);
        folder.page(mark);
        self.folders.push(folder);
    }

    fn folder(&self, key: u64) -> Option<&Group> {
        self.folders.iter().find(|folder| folder.key == key)
    }

    /// Returns why a URL that waits isn't asked for any more: its group went on saying the same.
    pub(crate) fn exhausted(&self, rules: &TrapSettings, path_and_query: &str) -> Option<BudgetExceeded> {
        let most = rules.same_pages?;
        if !self.groups.iter().chain(&self.folders).any(|group| u64::from(group.same) >= most) {
            return None;
        }
        let keys = Keys::of(path_and_query);
        let groups = [keys.query, keys.shape].into_iter().flatten().filter_map(|key| self.find(key));
        let held = groups.into_iter().find_map(|group| group.is_same(most));
        held.or_else(|| self.folder(keys.folder)?.has_no_more_to_say(most))
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
    let kept = groups.iter().filter(|group| group.count >= Groups::KEPT);
    kept.map(|group| StoredGroup(group.key, group.count, group.depth, group.pages, group.fresh, group.same))
        .collect()
}

impl Group {
    fn new(key: u64, depth: u32) -> Self {
        Self { key, count: 1, depth, pages: 0, fresh: 0, same: 0, marks: None, marked: 0 }
    }

    fn restore(&StoredGroup(key, count, depth, pages, fresh, same): &StoredGroup) -> Self {
        Self { count, pages, fresh, same, ..Self::new(key, depth) }
    }

    fn judge(&self, rules: &TrapSettings, keys: Keys, depth: u32) -> Option<BudgetExceeded> {
        if let Some(most) = rules.same_pages
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
        BudgetExceeded { budget, limit, count: count.into(), fresh, pages, in_folder: false }
    }

    /// Takes in a page of the group; true if it says what others have said.
    fn page(&mut self, mark: u32) -> bool {
        // The marks aren't stored: after a restart the first page can't be compared.
        let is_first_again = self.marked == 0 && self.pages > 0;
        self.pages = self.pages.saturating_add(1);
        let marked = usize::from(self.marked);
        let marks = self.marks.get_or_insert_default();
        if marks[..marked.min(MARKS)].contains(&mark) {
            self.same = self.same.saturating_add(1);
            return true;
        }
        marks[marked % MARKS] = mark;
        // Counts on beyond the ring, without ever coming back to 0.
        self.marked = if marked + 1 == 2 * MARKS { MARKS as u8 } else { self.marked + 1 };
        if !is_first_again {
            self.same = 0;
            self.fresh = self.fresh.saturating_add(1);
        }
        false
    }
}

#[cfg(test)]
mod tests;
