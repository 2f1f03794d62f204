//! Groups that end, and groups that go on.

use std::collections::HashMap;

use super::*;

const RULES: TrapSettings = TrapSettings {
    depth: None,
    segments: None,
    repeats: None,
    urls_per_host: None,
    hosts_per_domain: None,
    hosts_per_page: None,
    query_variants: Some(1_000),
    shape_variants: Some(2_000),
    same_pages: Some(50),
};

/// What pages of a host have said, as the frontier remembers it.
#[derive(Default)]
struct Contents(HashMap<u32, usize>);

impl Contents {
    /// What the next page with this mark says.
    fn said(&mut self, mark: u32) -> Said {
        let before = self.0.entry(mark).or_default();
        *before += 1;
        Said::of(*before - 1, mark)
    }
}

/// Offers numbered URLs until one is held; each that is admitted is read at once and says `text(n)`.
fn until_held(
    rules: &TrapSettings,
    most: u64,
    path: impl Fn(u64) -> String,
    depth: impl Fn(u64) -> u32,
    text: impl Fn(u64) -> Option<u32>,
) -> Option<(u64, BudgetExceeded)> {
    let (mut groups, mut contents) = (Groups::default(), Contents::default());
    for n in 0..most {
        if let Some(held) = groups.admit(rules, &path(n), depth(n), n, false) {
            return Some((n, held));
        }
        if let Some(mark) = text(n) {
            groups.page(&path(n), contents.said(mark), false, 0);
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
    // However many contents there are.
    for contents in [8, 9, 50] {
        let (at, held) = until_held(&RULES, 9_999, path, |_| 2, |n| Some((n % contents) as u32)).unwrap();
        // Copies count where there are few contents.
        let copies = if contents <= 8 { 0 } else { contents };
        assert_eq!((at, held.count, held.fresh), (contents + copies + 50, 50, contents), "{contents}");
    }
    // The more the host has said, the longer it may repeat it: 500 contents, a copy of each, and as many in a row.
    let (at, held) = until_held(&RULES, 9_999, path, |_| 2, |n| Some((n % 500) as u32)).unwrap();
    assert_eq!((at, held.count, held.of_host), (500 + 500 + 500, 500, false));
    let mut groups = Groups::default();
    groups.note("/front?sid=0", 1);
    for n in 0..60 {
        groups.page(&path(n), Said::of(2, 7), false, 0);
    }
    let exhausted = |groups: &Groups, rules, path| groups.exhausted(rules, path, false);
    assert_eq!(exhausted(&groups, &RULES, "/front?sid=99").unwrap().count, 60);
    assert_eq!(exhausted(&groups, &RULES, "/other?sid=99"), None);
    assert_eq!(exhausted(&groups, &TrapSettings { same_pages: None, ..RULES }, "/front?sid=99"), None);
    groups.page("/front?sid=1000", Said::New, false, 0);
    assert_eq!(exhausted(&groups, &RULES, "/front?sid=99"), None, "something new ends the row");
}

#[test]
fn counts_survive_a_restart() {
    let mut groups = Groups::default();
    for n in 0..150 {
        assert_eq!(groups.admit(&RULES, &format!("/cal?m={n}"), 2, n, false), None);
        groups.page(&format!("/cal?m={n}"), Said::of(n as usize, 7), false, 0);
        assert_eq!(groups.admit(&RULES, &format!("/rare/x?m={}", n.min(10)), 2, n, false), None);
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
    for _ in 0..11 {
        again.page("/cal?m=1", Said::Repeat, false, 0);
    }
    assert!(again.exhausted(&RULES, "/cal?m=1", false).is_some());
    let (mut left, mut again) = (0, Groups::restore(&stored, &[]));
    while again.admit(&RULES, &format!("/cal?m=x{left}"), 2, 0, false).is_none() {
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
        assert_eq!(groups.admit(&RULES, &format!("/page{}/x?a=1", letters(n)), 2, n, false), None);
        let is_of_calendar = n % 10 == 0 && held.is_none();
        if is_of_calendar && groups.admit(&RULES, &format!("/cal?m={n}"), 2, n, false).is_some() {
            held = Some(n / 10);
        }
        assert!(groups.groups.len() <= Groups::MOST);
    }
    let held = held.expect("the calendar ends");
    assert!((1_000..1_000 + 200_000 / 64).contains(&held), "{held}");
}

#[test]
fn a_group_beyond_those_that_are_held_makes_room_for_the_next() {
    let mut groups = Groups::default();
    for n in 1..=64 {
        groups.note(&format!("/{}?x", letters(n)), 1);
    }
    assert_eq!(groups.groups.len(), 64);
    // Misra and Gries: each of them loses the only URL that it has.
    groups.note("/one-more?x", 1);
    assert_eq!(groups.groups.len(), 0);
    groups.note("/next?x", 1);
    assert_eq!(groups.groups.len(), 1);
}

#[test]
fn a_group_at_rest_keeps_what_is_stored_of_it_and_its_memory_is_counted() {
    let of = |key, count| StoredGroup(key, count, 1, 0, 0, 0);
    let mut groups = Groups::restore(&[of(1, 100), of(2, 99), of(3, 101)], &[of(4, 500), of(5, 7)]);
    let each = size_of::<Group>();
    assert_eq!(groups.bytes(), 5 * each);
    assert_eq!(each, 32, "ten thousand hosts have 80 of them each");
    groups.shrink();
    let keys = |groups: &[StoredGroup]| groups.iter().map(|group| group.0).collect::<Vec<_>>();
    assert_eq!((keys(&groups.stored()), keys(&groups.stored_folders())), (vec![1, 3], vec![4]));
    assert_eq!(groups.bytes(), 3 * each);
}

#[test]
fn a_group_has_a_tenth_more_than_twenty_links_beyond_its_first_url() {
    // As the default settings say it: "more than 20 links deeper than the first of them".
    let held_at = |depth: u32| {
        let depth = |n| if n == 0 { 3 } else { depth };
        until_held(&RULES, 9_999, |n| format!("/cal?m={n}"), depth, |_| None).unwrap().0
    };
    assert_eq!((held_at(23), held_at(24)), (1_000, 100));
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
            let byte = b"abcdefghijklmnopqrstuvwxyz0123456789"[(n % 36) as usize];
            n /= 36;
            char::from(byte)
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
    assert_eq!(until_held(&RULES, 9_999, path, |_| 2, |n| Some(if n % 3 == 0 { n as u32 } else { 7 })), None);
    // Each page has its own text.
    assert_eq!(until_held(&RULES, 9_999, path, |_| 2, |n| Some(n as u32)), None);
}

#[test]
fn a_folder_with_pages_of_its_own_survives_a_row_of_links_that_lead_nowhere() {
    let mut groups = Groups::default();
    for n in 0..20 {
        groups.page(&format!("/{}", letters(n)), Said::New, false, 0);
    }
    let exhausted = |groups: &Groups, path| groups.exhausted(&RULES, path, false);
    for n in 20..119 {
        groups.page(&format!("/{}", made_up(n)), Said::Repeat, false, 0);
    }
    assert_eq!(exhausted(&groups, "/about"), None, "more than a tenth of them had new content");
    // Twice the budget in a row ends the rest of the host.
    groups.page(&format!("/{}", made_up(119)), Said::Repeat, false, 0);
    let held = exhausted(&groups, "/about").unwrap();
    assert_eq!((held.limit, held.count, held.fresh, held.of_host), (100, 100, 20, true));
    for n in 120..200 {
        groups.page(&format!("/{}", made_up(n)), Said::Repeat, false, 0);
    }
    // 20 new ones of 200 are no more than a tenth.
    assert!(exhausted(&groups, "/about").is_some_and(|held| held.in_folder));
    assert!(groups.admit(&RULES, "/more", 2, 0, false).is_some());
    // It survives a restart, and ends with something new.
    let mut again = Groups::restore(&groups.stored(), &groups.stored_folders());
    assert!(exhausted(&again, "/about").is_some());
    assert!(exhausted(&again, "/other/about").is_some_and(|held| held.of_host));
    again.page("/x", Said::New, false, 0);
    assert_eq!(exhausted(&again, "/about"), None);
    assert_eq!(exhausted(&again, "/other/about"), None);
}

#[test]
fn links_of_pages_with_known_content_have_a_row_of_their_own() {
    let mut groups = Groups::default();
    for n in 0..50 {
        // Whatever new pages are found meanwhile elsewhere.
        assert_eq!(groups.admit(&RULES, "/a/b", 2, 0, true), None);
        groups.page(&format!("/page/{}/", letters(n)), Said::New, false, 0);
        groups.page(&format!("/{}/x", made_up(n)), Said::Repeat, true, 0);
    }
    assert_eq!(groups.admit(&RULES, "/a/b", 2, 0, true), None, "twice as many as there were new pages");
    for n in 0..50 {
        groups.page(&format!("/{}/x", made_up(n)), Said::Repeat, true, 0);
    }
    let held = groups.admit(&RULES, "/a/b", 2, 0, true).unwrap();
    assert_eq!((held.limit, held.count, held.of_host), (100, 100, true));
    assert_eq!(groups.admit(&RULES, "/a/b", 2, 0, false), None, "what new pages link to goes on");
    // One that led to something new: there may be more.
    groups.page("/a/c", Said::New, true, 0);
    assert_eq!(groups.admit(&RULES, "/a/b", 2, 0, true), None);
}

#[test]
fn copies_are_a_quarter_of_a_repetition_for_the_host_and_none_for_groups_of_copies() {
    let mut groups = Groups::default();
    groups.note("/print?id=0", 1);
    for mark in 0..396 {
        groups.page(&format!("/print?id={mark}"), Said::of(1, mark), false, 0);
    }
    assert_eq!(groups.exhausted(&RULES, "/print?id=x", false), None);
    groups.page("/print?id=396", Said::of(1, 396), false, 0);
    let held = groups.exhausted(&RULES, "/print?id=x", false);
    assert!(held.is_some_and(|held| held.of_host && held.count == 100 && held.pages == 397), "{held:?}");
}

#[test]
fn fingerprints_that_are_no_urls_are_counted() {
    let mut groups = Groups::default();
    groups.page("/a", Said::New, false, 0);
    groups.page("/b/c", Said::Copy { counts: false }, true, 2);
    groups.page("/b/d", Said::Repeat, true, 1);
    assert_eq!(groups.remembered(), 1 + 3 + 1);
    assert!(groups.has_repeated());
}

#[test]
fn the_folders_of_a_host_are_few_and_the_one_that_grows_is_among_them() {
    let mut groups = Groups::default();
    for n in 0..20_000 {
        groups.page(&format!("/{}/x", letters(n)), Said::Copy { counts: false }, false, 0);
        if n % 50 == 0 {
            groups.page(&format!("/found/{}", made_up(n)), Said::Repeat, false, 0);
            groups.page(&format!("/found/{}", made_up(n + 1)), Said::Repeat, false, 0);
        }
        assert!(groups.folders.len() <= FOLDERS + ACCOUNTS.len());
    }
    assert!(groups.exhausted(&RULES, "/found/abc", false).is_some_and(|held| held.in_folder));
}

/// A group as idle hosts have it in the database: the fields of form 1, in this order.
#[derive(serde::Serialize)]
struct StoredWhole(u64, u32, u32, u32, u32, u32, [u32; UNUSED], u64);

#[test]
fn a_group_is_stored_as_ever() {
    let mut group = Group::new(300, 2);
    let bytes = |group: &Group| postcard::to_stdvec(group).unwrap();
    let plain = StoredWhole(300, 1, 2, 0, 0, 0, [0; UNUSED], 0);
    assert_eq!(bytes(&group), postcard::to_stdvec(&plain).unwrap());
    group.page(Said::New);
    group.page(Said::Repeat);
    // As an earlier version wrote it: with the marks of its pages.
    let marked = StoredWhole(300, 1, 2, 2, 1, 1, [900, 0, 0, 0, 0, 0, 0, 0], 1);
    let read: Group = postcard::from_bytes(&postcard::to_stdvec(&marked).unwrap()).unwrap();
    assert_eq!(bytes(&read), bytes(&group));
}
