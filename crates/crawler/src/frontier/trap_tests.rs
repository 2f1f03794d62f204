//! Budgets in the frontier: counted once for each new URL, kept over a restart, and never for a seed.

use super::*;
use crate::pace::DelayReason;
use crate::store::MemoryStore;
use crate::trap::Budget;

const KEY: FingerprintKey = FingerprintKey::new([3; 16]);

fn now() -> Now {
    Now { mono: Duration::from_secs(1_000), wall: jiff::Timestamp::UNIX_EPOCH }
}

fn rules() -> TrapSettings {
    TrapSettings { query_variants: Some(150), same_pages: Some(20), ..TrapSettings::default() }
}

fn open(store: &Arc<MemoryStore>, seen_loaded_for_links: u64) -> Frontier<MemoryStore> {
    let limits = FrontierLimits { seen_loaded_for_links, ..FrontierLimits::default() };
    let gap = Delay { length: Duration::ZERO, why: DelayReason::Configured };
    let mut frontier = Frontier::open(store, limits, gap, KEY, now()).unwrap();
    frontier.set_traps(rules());
    frontier
}

fn offer(frontier: &mut Frontier<MemoryStore>, n: u32, own_host: bool) -> Admitted {
    let url = CrawlUrl::parse(&format!("http://a.test/cal?month={n}")).unwrap();
    let id = frontier.host_id("a.test").unwrap();
    let item = QueuedUrl::link(&url, 1, None);
    frontier.admit(id, url.fingerprint(&KEY), item, Priority::Link, own_host).unwrap()
}

fn commit(frontier: &mut Frontier<MemoryStore>) {
    let (generation, writes) = frontier.cut(now()).unwrap();
    frontier.store().commit(writes).unwrap();
    frontier.committed(generation);
}

fn take(frontier: &mut Frontier<MemoryStore>) -> Option<CrawlUrl> {
    let permit = frontier.lease(now()).unwrap()?;
    let url = permit.lease().url.clone();
    let wait = Delay { length: Duration::ZERO, why: DelayReason::Configured };
    let done = Settlement::finished(Duration::ZERO, wait);
    frontier.settle(permit, done);
    Some(url)
}

fn held(admitted: Admitted) -> Option<BudgetExceeded> {
    if let Admitted::Held(held) = admitted { Some(held) } else { None }
}

#[test]
fn a_budget_counts_new_urls_alone_and_survives_a_restart() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, 9_999);
    for n in 0..140 {
        assert_eq!(offer(&mut frontier, n, true), Admitted::Queued);
        assert_eq!(offer(&mut frontier, n, true), Admitted::Seen);
    }
    commit(&mut frontier);
    let mut frontier = open(&store, 9_999);
    for n in 140..150 {
        assert_eq!(offer(&mut frontier, n, true), Admitted::Queued);
    }
    let full = held(offer(&mut frontier, 150, true)).unwrap();
    assert_eq!((full.budget, full.limit, full.count), (Budget::QueryVariants, 150, 150));
    assert_eq!(offer(&mut frontier, 149, true), Admitted::Seen, "what is known isn't held back");
    assert_eq!(frontier.counts().queued, 150);
    let seed = CrawlUrl::parse("http://a.test/cal?month=151").unwrap();
    let id = frontier.host_id("a.test").unwrap();
    let admitted = frontier.admit(id, seed.fingerprint(&KEY), QueuedUrl::seed(&seed), Priority::First, true);
    assert_eq!(admitted.unwrap(), Admitted::Queued);
}

#[test]
fn what_waits_untested_is_counted_when_its_host_wakes() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, 0);
    offer(&mut frontier, 0, true);
    commit(&mut frontier);
    let mut frontier = open(&store, 0);
    for n in (0..200).chain(0..200) {
        assert_eq!(offer(&mut frontier, n, false), Admitted::Untested);
    }
    let mut taken = std::collections::BTreeSet::new();
    while let Some(url) = take(&mut frontier) {
        assert!(taken.insert(url.to_string()));
    }
    assert_eq!(taken.len(), 1 + 150, "a count below 100 doesn't outlive a restart");
    let held = frontier.take_held().unwrap();
    assert_eq!(held.len(), 2 * 49, "each of them was found twice");
    assert!(held.iter().all(|(_, url, _, held)| held.limit == 150 && !taken.contains(url.as_str())));
    assert_eq!(frontier.counts().queued, 0);
}

/// Takes in what a page at a URL says.
fn said(
    frontier: &mut Frontier<MemoryStore>,
    id: HostId,
    url: &CrawlUrl,
    mark: u32,
    is_withheld: bool,
) -> Result<bool, StoreError> {
    frontier.page_said(id, url, mark, &QueuedUrl::link(url, 1, None), is_withheld)
}

#[test]
fn queued_urls_are_held_back_once_their_group_repeats_itself() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, 9_999);
    for n in 0..100 {
        offer(&mut frontier, n, true);
    }
    let mut taken = 0;
    while let Some(url) = take(&mut frontier) {
        taken += 1;
        let id = frontier.known("a.test").unwrap();
        assert_eq!(said(&mut frontier, id, &url, 7, false).unwrap(), taken > 1);
    }
    assert_eq!(taken, 21, "the first had new content, twenty more didn't");
    let held = frontier.take_held().unwrap();
    assert_eq!(held.len(), 79);
    assert!(held.iter().all(|(.., held)| held.budget == Budget::SamePages));
    assert_eq!(frontier.counts().queued, 0);
    commit(&mut frontier);
    assert_eq!(store.scan(Tree::Queue, &[]).count(), 0, "an empty queue leaves no chunk");
    // A seed and a resource are asked for whatever the group says.
    let id = frontier.known("a.test").unwrap();
    let url = CrawlUrl::parse("http://a.test/cal?month=7").unwrap();
    let link = QueuedUrl::link(&url, 1, None);
    assert_eq!(frontier.requeue_held(id, link.clone()).unwrap().budget, Budget::SamePages);
    assert_eq!(frontier.requeue_held(id, link.marked(super::Marks::RESOURCE)), None);
    assert_eq!(frontier.requeue_held(id, QueuedUrl::seed(&url)), None);
    assert_eq!(frontier.counts().queued, 2);
}

#[test]
fn counters_over_their_memory_leave_it_with_hosts_at_rest_and_come_back_whole() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, 9_999);
    for host in 0..100 {
        for n in 0..40 {
            let url = CrawlUrl::parse(&format!("http://h{host}.test/cal{n}?month={host}")).unwrap();
            let id = frontier.host_id(url.host()).unwrap();
            let item = QueuedUrl::link(&url, 1, None);
            frontier.admit(id, url.fingerprint(&KEY), item, Priority::Link, true).unwrap();
        }
    }
    commit(&mut frontier);
    let bytes = frontier.trap_counter_bytes();
    assert!(bytes > 100 * 40 * 40, "{bytes}");
    assert_eq!(frontier.limit_trap_counters(bytes, now()).unwrap(), bytes, "that much may stay");
    let kept: Vec<_> = frontier.hosts.iter().map(|(id, host)| (id, format!("{:?}", host.groups))).collect();
    assert_eq!(kept.len(), 100);
    // All were used since they were last looked at: the first look takes none.
    frontier.limit_trap_counters(bytes / 2, now()).unwrap();
    let remaining = frontier.limit_trap_counters(bytes / 2, now()).unwrap();
    assert_eq!(remaining, frontier.trap_counter_bytes());
    assert!(remaining <= bytes / 2 && remaining > bytes / 4, "{remaining} of {bytes}");
    commit(&mut frontier);
    for (id, groups) in kept {
        frontier.load(id).unwrap();
        assert_eq!(format!("{:?}", frontier.hosts[id].groups), groups, "what was evicted is read again");
    }
}

#[test]
fn contents_are_known_whatever_their_number_and_after_a_restart() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, 9_999);
    let id = frontier.host_id("a.test").unwrap();
    let url = |n: u32| CrawlUrl::parse(&format!("http://a.test/page/{n}")).unwrap();
    for mark in 0..5_000 {
        assert!(!said(&mut frontier, id, &url(mark), mark, false).unwrap());
    }
    commit(&mut frontier);
    let mut frontier = open(&store, 9_999);
    assert!((0..5_000).all(|mark| said(&mut frontier, id, &url(mark), mark, false).unwrap()));
    assert!(!said(&mut frontier, id, &url(0), 5_000, false).unwrap());
    let other = frontier.host_id("b.test").unwrap();
    let url = CrawlUrl::parse("http://b.test/").unwrap();
    assert!(!said(&mut frontier, other, &url, 0, false).unwrap(), "another host");
}

#[test]
fn contents_of_pages_under_noindex_are_in_memory_alone() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, 9_999);
    let id = frontier.host_id("a.test").unwrap();
    let url = CrawlUrl::parse("http://a.test/search").unwrap();
    assert!(!said(&mut frontier, id, &url, 7, true).unwrap());
    commit(&mut frontier);
    assert_eq!(store.scan(Tree::Seen, &[]).count(), 0);
    assert!(said(&mut frontier, id, &url, 7, true).unwrap());
    let mut frontier = open(&store, 9_999);
    assert!(!said(&mut frontier, id, &url, 7, true).unwrap());
}

#[test]
fn restarts_dont_make_contents_under_noindex_new_again() {
    let store = Arc::new(MemoryStore::default());
    let url = |n: u32| CrawlUrl::parse(&format!("http://a.test/page/{n}")).unwrap();
    let mut asked = 0;
    for _ in 0..40 {
        let mut frontier = open(&store, 9_999);
        let id = frontier.host_id("a.test").unwrap();
        for n in 0..60 {
            let item = QueuedUrl::link(&url(asked), 1, None);
            if frontier.exhausted(id, &item).is_some() {
                assert!(asked < 300, "it ended after {asked}");
                return;
            }
            said(&mut frontier, id, &url(asked), n % 10, true).unwrap();
            asked += 1;
        }
        commit(&mut frontier);
    }
    panic!("it goes on after {asked}");
}

#[test]
fn style_sheets_that_repeat_known_content_end_what_they_name_and_no_page() {
    let mut frontier = open(&Arc::new(MemoryStore::default()), 9_999);
    let id = frontier.host_id("a.test").unwrap();
    let url = CrawlUrl::parse("http://a.test/x/s.css").unwrap();
    let of_page = QueuedUrl::link(&url, 1, None).marked(super::Marks::RESOURCE);
    let of_sheet = of_page.clone().marked(super::Marks::RESOURCE.with(super::Marks::REPEAT));
    let mut copies = 0;
    while frontier.exhausted(id, &of_sheet).is_none() {
        frontier.page_said(id, &url, 7, &of_page, false).unwrap();
        copies += 1;
        assert!(copies < 200);
    }
    assert!(copies > 10, "{copies}");
    assert_eq!(frontier.exhausted(id, &of_page), None);
    assert_eq!(frontier.exhausted(id, &QueuedUrl::link(&url, 1, None)), None);
}

#[test]
fn a_second_visit_repeats_nothing() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, 9_999);
    let id = frontier.host_id("a.test").unwrap();
    let url = CrawlUrl::parse("http://a.test/one").unwrap();
    assert!(!said(&mut frontier, id, &url, 7, false).unwrap());
    for _ in 0..100 {
        frontier.page_said_again(id, 7, false).unwrap();
    }
    assert!(!said(&mut frontier, id, &url, 8, false).unwrap());
    let item = QueuedUrl::link(&url, 1, None);
    assert_eq!(frontier.requeue_held(id, item), None);
}

#[test]
fn what_pages_say_at_further_visits_is_no_url_of_the_host() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, 9_999);
    frontier.set_traps(TrapSettings { urls_per_host: Some(12), ..rules() });
    let id = frontier.host_id("a.test").unwrap();
    let url = |n: u32| CrawlUrl::parse(&format!("http://a.test/{n}")).unwrap();
    let offer = |frontier: &mut Frontier<MemoryStore>, n: u32| {
        let item = QueuedUrl::link(&url(n), 1, None);
        frontier.admit(id, url(n).fingerprint(&KEY), item, Priority::Link, true).unwrap()
    };
    assert_eq!(offer(&mut frontier, 1), Admitted::Queued);
    assert_eq!(take(&mut frontier), Some(url(1)));
    said(&mut frontier, id, &url(1), 0, false).unwrap();
    // The page is another one at each visit.
    for mark in 1..1_000 {
        frontier.page_said_again(id, mark, false).unwrap();
    }
    // It holds over a restart.
    commit(&mut frontier);
    drop(frontier);
    let mut frontier = open(&store, 9_999);
    frontier.set_traps(TrapSettings { urls_per_host: Some(12), ..rules() });
    for n in 2..=12 {
        assert_eq!(offer(&mut frontier, n), Admitted::Queued, "{n}");
    }
    assert!(held(offer(&mut frontier, 13)).is_some());
}

#[test]
fn a_url_like_one_that_repeated_what_was_known_is_counted_with_those() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, 9_999);
    let id = frontier.host_id("a.test").unwrap();
    let url = |path: &str| CrawlUrl::parse(&format!("http://a.test{path}")).unwrap();
    let queued = |frontier: &mut Frontier<MemoryStore>, path: &str| {
        let item = QueuedUrl::link(&url(path), 1, None);
        frontier.admit(id, url(path).fingerprint(&KEY), item, Priority::Link, true).unwrap();
        frontier.lease(now()).unwrap().map(|permit| {
            let Work::Visit(item) = permit.lease().work.clone() else { unreachable!("a visit") };
            let wait = Delay { length: Duration::ZERO, why: DelayReason::Configured };
            frontier.settle(permit, Settlement::finished(Duration::ZERO, wait));
            item.is_repeat()
        })
    };
    assert_eq!(queued(&mut frontier, "/qwertyuiop/page3"), Some(false));
    said(&mut frontier, id, &url("/qwertyuiop/page3"), 3, false).unwrap();
    assert_eq!(queued(&mut frontier, "/asdfghjkl/page3"), Some(false), "nothing was repeated yet");
    assert!(said(&mut frontier, id, &url("/asdfghjkl/page3"), 3, false).unwrap());
    assert_eq!(queued(&mut frontier, "/zxcvbnm/page3"), Some(true));
    assert_eq!(queued(&mut frontier, "/zxcvbnm/page4"), Some(false));
    for (path, another, differs) in [
        ("/list?order=a", "/list?order=b", "/lists?order=a"),
        ("/page;id=a", "/page;id=b", "/pages;id=a"),
        ("/page5/abcdefghijklmnop", "/page5/ponmlkjihgfedcba", "/page5/chapter-one"),
    ] {
        assert!(said(&mut frontier, id, &url(path), 3, false).unwrap());
        assert_eq!(queued(&mut frontier, another), Some(true));
        assert_eq!(queued(&mut frontier, differs), Some(false));
    }
}
