//! Counts the URLs of one host that have something in common, in bounded memory.
//!
//! Where pages go on saying the same their names may be anything: a site that finds whatever is asked for links to short made-up
//! names that have nothing in common. So pages are also counted by folder: one where hardly any page says something new, and
//! the last ones all said the same, has no more to say.
//!
//! At most [`Groups::MOST`] groups are held, by the algorithm of Misra and Gries (1982): where a further one comes, all
//! lose one. So a count is never too high, and too low by at most the host's URLs divided by the number of groups:
//! nothing is held back too early, and what grows without end is always seen. Groups of at least [`Groups::KEPT`] URLs
//! are stored with their host, in the commit of the links that they count.

use serde::{Deserialize, Serialize};

use super::key::Keys;
use super::{Budget, Held};
use crate::config::TrapSettings;

/// Marks remembered of a group.
const MARKS: usize = 8;

/// Links beyond a group's first URL from which on its budget is a tenth: numbered pages that lead ever deeper.
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
    /// The last marks that were new.
    marks: [u32; MARKS],
    marked: usize,
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
    ) -> Option<Held> {
        if let Some(most) = rules.urls_per_host.filter(|most| have >= *most) {
            return Some(Held::new(Budget::UrlsPerHost, most, have));
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

    /// Says why a URL that waits isn't asked for any more: its group went on saying the same.
    pub(crate) fn exhausted(&self, rules: &TrapSettings, path_and_query: &str) -> Option<Held> {
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
        Self { key, count: 1, depth, pages: 0, fresh: 0, same: 0, marks: [0; MARKS], marked: 0 }
    }

    fn restore(&StoredGroup(key, count, depth, pages, fresh, same): &StoredGroup) -> Self {
        Self { count, pages, fresh, same, ..Self::new(key, depth) }
    }

    fn judge(&self, rules: &TrapSettings, keys: Keys, depth: u32) -> Option<Held> {
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

    fn is_same(&self, most: u64) -> Option<Held> {
        (u64::from(self.same) >= most).then(|| self.held(Budget::SamePages, most, self.same))
    }

    /// As [`Group::is_same`], of a folder: its pages may have nothing in common but that, so hardly any of them may have said
    /// something new.
    fn has_no_more_to_say(&self, most: u64) -> Option<Held> {
        let is_dull = self.fresh.saturating_mul(NEW_IN) <= self.pages;
        self.is_same(most).filter(|_| is_dull).map(|held| Held { in_folder: true, ..held })
    }

    fn held(&self, budget: Budget, limit: u64, count: u32) -> Held {
        let (fresh, pages) = (self.fresh.into(), self.pages.into());
        Held { budget, limit, count: count.into(), fresh, pages, in_folder: false }
    }

    /// Takes in a page of the group; true if it says what others have said.
    fn page(&mut self, mark: u32) -> bool {
        // The marks aren't stored: after a restart the first page can't be compared.
        let is_first_again = self.marked == 0 && self.pages > 0;
        self.pages = self.pages.saturating_add(1);
        if self.marks[..self.marked.min(MARKS)].contains(&mark) {
            self.same = self.same.saturating_add(1);
            return true;
        }
        self.marks[self.marked % MARKS] = mark;
        // Counts on beyond the ring, without ever coming back to 0.
        self.marked = if self.marked + 1 == 2 * MARKS { MARKS } else { self.marked + 1 };
        if !is_first_again {
            self.same = 0;
            self.fresh = self.fresh.saturating_add(1);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: TrapSettings = TrapSettings {
        depth: None,
        segments: None,
        repeats: None,
        urls_per_host: None,
        hosts_per_domain: None,
        query_variants: Some(1_000),
        shape_variants: Some(2_000),
        same_pages: Some(50),
    };

    /// Offers numbered URLs until one is held; each that is admitted is read at once and says `text(n)`.
    fn until_held(
        rules: &TrapSettings,
        most: u64,
        path: impl Fn(u64) -> String,
        depth: impl Fn(u64) -> u32,
        text: impl Fn(u64) -> Option<u32>,
    ) -> Option<(u64, Held)> {
        let mut groups = Groups::default();
        for n in 0..most {
            if let Some(held) = groups.admit(rules, &path(n), depth(n), n) {
                return Some((n, held));
            }
            if let Some(mark) = text(n) {
                groups.page(&path(n), mark);
            }
        }
        None
    }

    #[test]
    fn a_site_of_fifty_thousand_pages_is_not_cut_by_the_defaults() {
        let rules = TrapSettings::default();
        for path in [|n| format!("/item/{n}"), |n| format!("/viewtopic.php?t={n}")] {
            // As from a site map: read only after all were found, or one by one, some three clicks deep.
            let found = until_held(&rules, 50_000, path, |_| 3, |n| Some(n as u32));
            assert_eq!(found, None);
        }
        let listed = until_held(&rules, 50_000, |n| format!("/item/{n}"), |_| 1, |_| None);
        assert_eq!(listed, None);
    }

    #[test]
    fn variants_of_a_query_end_at_their_budget_and_new_content_raises_it() {
        let path = |n| format!("/cal?m={n}");
        let (at, held) = until_held(&RULES, 9_999, path, |_| 2, |_| None).unwrap();
        assert_eq!((at, held.budget, held.limit, held.count), (1_000, Budget::QueryVariants, 1_000, 1_000));
        assert_eq!(until_held(&RULES, 9_999, path, |_| 2, |n| Some(n as u32)), None);
        // One of ten pages says something new: four URLs more for each.
        let (at, held) = until_held(&RULES, 9_999, path, |_| 2, |n| Some(n as u32 / 10)).unwrap();
        assert_eq!((at, held.limit), (1_668, 1_668));
        let combinations = |n| format!("/list?size={n}&colour=2&sort=3");
        let (at, _) = until_held(&RULES, 9_999, combinations, |_| 2, |n| Some(n as u32)).unwrap();
        assert_eq!(at, 1_000);
    }

    #[test]
    fn a_calendar_that_leads_ever_deeper_ends_at_a_tenth() {
        let path = |n| format!("/cal/{}/{}", 2000 + n / 12, n % 12);
        let (at, held) = until_held(&RULES, 9_999, path, |n| n as u32, |n| Some(n as u32)).unwrap();
        assert_eq!((at, held.budget, held.limit), (200, Budget::ShapeVariants, 200));
        assert_eq!(until_held(&RULES, 9_999, path, |_| 5, |n| Some(n as u32)), None);
    }

    #[test]
    fn pages_that_go_on_saying_the_same_end_their_group_wherever_they_wait() {
        let path = |n| format!("/front?sid={n}");
        let (at, held) = until_held(&RULES, 9_999, path, |_| 2, |n| Some((n % 3) as u32)).unwrap();
        assert_eq!((at, held.budget, held.count, held.fresh), (53, Budget::SamePages, 50, 3));
        let mut groups = Groups::default();
        groups.note("/front?sid=0", 1);
        for n in 0..60 {
            groups.page(&path(n), 7);
        }
        assert_eq!(groups.exhausted(&RULES, "/front?sid=99").unwrap().count, 59);
        assert_eq!(groups.exhausted(&RULES, "/other?sid=99"), None);
        assert_eq!(groups.exhausted(&TrapSettings { same_pages: None, ..RULES }, "/front?sid=99"), None);
        groups.page("/front?sid=1000", 8);
        assert_eq!(groups.exhausted(&RULES, "/front?sid=99"), None, "something new ends the row");
    }

    #[test]
    fn counts_survive_a_restart() {
        let mut groups = Groups::default();
        for n in 0..150 {
            assert_eq!(groups.admit(&RULES, &format!("/cal?m={n}"), 2, n), None);
            groups.page(&format!("/cal?m={n}"), 7);
            assert_eq!(groups.admit(&RULES, &format!("/rare/x?m={}", n.min(10)), 2, n), None);
            if n == 40 {
                break;
            }
        }
        for n in 41..150 {
            groups.note(&format!("/cal?m={n}"), 2);
        }
        let stored = groups.stored();
        assert_eq!(stored.len(), 1, "what is rare isn't stored");
        assert_eq!((stored[0].1, stored[0].3, stored[0].5), (150, 41, 40));
        let mut again = Groups::restore(&stored, &[]);
        // The first page after it can't be compared; those after that can.
        for _ in 0..11 {
            again.page("/cal?m=1", 7);
        }
        assert!(again.exhausted(&RULES, "/cal?m=1").is_some());
        let (mut left, mut again) = (0, Groups::restore(&stored, &[]));
        while again.admit(&RULES, &format!("/cal?m=x{left}"), 2, 0).is_none() {
            left += 1;
        }
        assert_eq!(left, 1_000 + 4 - 150);
    }

    #[test]
    fn memory_is_bounded_and_what_grows_is_still_seen() {
        let mut groups = Groups::default();
        let mut held = None;
        for n in 0..200_000_u64 {
            // A hundred thousand paths with one query each hide a calendar.
            assert_eq!(groups.admit(&RULES, &format!("/page{}/x?a=1", letters(n)), 2, n), None);
            if n % 10 == 0 && held.is_none() && groups.admit(&RULES, &format!("/cal?m={n}"), 2, n).is_some() {
                held = Some(n / 10);
            }
            assert!(groups.groups.len() <= Groups::MOST);
        }
        let held = held.expect("the calendar ends");
        assert!((1_000..1_000 + 200_000 / 64).contains(&held), "{held}");
    }

    fn letters(mut n: u64) -> String {
        let mut word = String::new();
        while n > 0 {
            word.push(char::from(b'a' + (n % 26) as u8));
            n /= 26;
        }
        word
    }

    #[test]
    fn a_host_has_a_budget_of_its_own() {
        let rules = TrapSettings { urls_per_host: Some(10), ..RULES };
        let (at, held) = until_held(&rules, 99, |n| format!("/{}", letters(n)), |_| 1, |_| None).unwrap();
        assert_eq!((at, held.budget, held.limit), (10, Budget::UrlsPerHost, 10));
    }

    /// A short name of letters and digits, which may be letters alone.
    fn made_up(n: u64) -> String {
        let mut n = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        (0..5)
            .map(|_| {
                let octet = b"abcdefghijklmnopqrstuvwxyz0123456789"[(n % 36) as usize];
                n /= 36;
                char::from(octet)
            })
            .collect()
    }

    #[test]
    fn a_folder_that_finds_whatever_is_asked_for_ends() {
        let path = |n| format!("/wiki/{}", made_up(n));
        // One page says "not found, but see here", whatever the name.
        let (at, held) = until_held(&RULES, 9_999, path, |_| 2, |_| Some(7)).unwrap();
        assert_eq!(
            (at, held.budget, held.count, held.fresh, held.in_folder),
            (51, Budget::SamePages, 50, 1, true)
        );
        // Two pages in three do.
        assert_eq!(
            until_held(&RULES, 9_999, path, |_| 2, |n| Some(if n % 3 == 0 { n as u32 } else { 7 })),
            None
        );
        // Each page has its own text.
        assert_eq!(until_held(&RULES, 9_999, path, |_| 2, |n| Some(n as u32)), None);
    }

    #[test]
    fn a_folder_with_pages_of_its_own_survives_a_row_of_links_that_lead_nowhere() {
        let mut groups = Groups::default();
        for n in 0..20 {
            groups.page(&format!("/{}", letters(n)), n as u32);
        }
        for n in 20..199 {
            groups.page(&format!("/{}", made_up(n)), 999_999);
        }
        assert_eq!(groups.exhausted(&RULES, "/about"), None, "a tenth of them had said something new");
        for n in 199..201 {
            groups.page(&format!("/{}", made_up(n)), 999_999);
        }
        // 21 new ones of 210 are no more than a tenth.
        for n in 201..210 {
            groups.page(&format!("/{}", made_up(n)), 999_999);
        }
        assert!(groups.exhausted(&RULES, "/about").is_some_and(|held| held.in_folder));
        assert_eq!(groups.exhausted(&RULES, "/other/about"), None);
        assert!(groups.admit(&RULES, "/more", 2, 0).is_some());
        // It survives a restart, and ends with something new.
        let mut again = Groups::restore(&groups.stored(), &groups.stored_folders());
        assert!(again.exhausted(&RULES, "/about").is_some());
        again.page("/x", 1);
        again.page("/y", 2);
        assert_eq!(again.exhausted(&RULES, "/about"), None);
    }

    #[test]
    fn the_folders_of_a_host_are_few_and_the_one_that_grows_is_among_them() {
        let mut groups = Groups::default();
        for n in 0..20_000 {
            groups.page(&format!("/{}/x", letters(n)), n as u32);
            if n % 50 == 0 {
                groups.page(&format!("/found/{}", made_up(n)), 7);
                groups.page(&format!("/found/{}", made_up(n + 1)), 7);
            }
            assert!(groups.folders.len() <= FOLDERS);
        }
        assert!(groups.exhausted(&RULES, "/found/abc").is_some());
    }
}
