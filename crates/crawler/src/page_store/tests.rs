//! What is stored comes back, in its order and by its fingerprint, whatever came between.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::frontier::HostId;
use crate::record::{LinkOutcome, LinkRecord, PageRecord, encode_links};
use crate::store::counting::Counting;
use crate::store::{CrashStore, MemoryStore, Write};
use page::url::Fingerprint;

/// Fingerprints are spread evenly.
fn print(page: u64) -> Fingerprint {
    let hash = blake3::hash(&page.to_be_bytes());
    Fingerprint(hash.as_bytes()[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

fn host(page: u64) -> HostId {
    HostId((page % 3) as u32)
}

fn record(page: u64, text: &str) -> PageRecord {
    PageRecord {
        v: 1,
        url: format!("http://{}.test/{page}", page % 3),
        title: Some(text.to_owned()),
        ..PageRecord::default()
    }
}

fn link(text: &str) -> LinkRecord {
    LinkRecord {
        to: "http://a.test/".into(),
        kind: "a".into(),
        rel: String::new(),
        text: text.into(),
        nofollow: false,
        outcome: LinkOutcome::Seen,
        position: None,
        hreflang: Some("de".to_owned()),
    }
}

fn change(page: u64, text: &str, links: Option<&[LinkRecord]>) -> Change {
    let record = serde_json::to_vec(&record(page, text)).unwrap();
    let links = links.map(|links| encode_links(links).unwrap());
    Change { host: host(page), page: print(page), record, links }
}

/// What should be stored: texts of titles and of anchors, in the order of the first storing.
#[derive(Default)]
struct Model {
    order: Vec<u64>,
    pages: HashMap<u64, (String, Vec<LinkRecord>)>,
}

#[derive(Debug, Clone)]
struct Step {
    page: u64,
    length: usize,
    links: Option<usize>,
}

impl Model {
    fn step(&mut self, step: &Step, number: usize) -> Change {
        let text = format!("<{number}>").repeat(step.length);
        let links: Option<Vec<_>> =
            step.links.map(|many| (0..many).map(|n| link(&format!("[{number}.{n}]"))).collect());
        let new = !self.pages.contains_key(&step.page);
        if new {
            self.order.push(step.page);
        }
        let known = self.pages.entry(step.page).or_default();
        known.0.clone_from(&text);
        if let Some(links) = &links {
            known.1.clone_from(links);
        }
        change(step.page, &text, links.as_deref())
    }

    fn check(&self, store: &MemoryStore) {
        let pages: Vec<_> = scan_with_links(store).map(Result::unwrap).collect();
        assert_eq!(pages.len(), self.order.len());
        for (stored, (number, page)) in pages.iter().zip((0..).zip(&self.order)) {
            let (text, links) = &self.pages[page];
            assert_eq!((stored.number, stored.host, stored.page), (number, host(*page), print(*page)));
            assert_eq!(stored.record().unwrap(), record(*page, text));
            assert_eq!(&stored.links().unwrap(), links, "page {page}");
            self.check_page(store, *page);
        }
        assert_eq!(scan(store).count(), self.order.len());
        assert_eq!(find(store, host(777), print(777)).unwrap(), None);
        assert_eq!(find(store, HostId(9), print(self.order[0])).unwrap(), None, "that of another host");
    }

    fn check_page(&self, store: &MemoryStore, page: u64) {
        let (text, links) = &self.pages[&page];
        let (number, entry) = find(store, host(page), print(page)).unwrap().expect("it is stored");
        assert_eq!(self.order[number as usize], page);
        assert_eq!(entry.read::<PageRecord>().unwrap(), record(page, text));
        assert_eq!(&links_of(store, host(page), print(page)).unwrap(), links);
    }
}

fn steps() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let step = (0..120_u64, 1..200_usize, proptest::option::of(0..40_usize))
        .prop_map(|(page, length, links)| Step { page, length, links });
    proptest::collection::vec(proptest::collection::vec(step, 0..20), 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pages_come_back_in_their_order_whatever_is_changed(commits in steps(), reopen in 1..9_usize) {
        let store = MemoryStore::default();
        let mut writer = PageWriter::open(&store).unwrap();
        let mut model = Model::default();
        let mut number = 0;
        for (turn, commit) in commits.iter().enumerate() {
            let changes = commit.iter().map(|step| {
                number += 1;
                model.step(step, number)
            });
            let changes: Vec<_> = changes.collect();
            store.commit(writer.store(&store, changes).unwrap()).unwrap();
            if turn % reopen == 0 {
                writer = PageWriter::open(&store).unwrap();
            }
        }
        if !model.order.is_empty() {
            model.check(&store);
        }
    }
}

#[test]
fn a_page_is_found_among_many_and_few_values_are_read_for_it() {
    let store = MemoryStore::default();
    let mut writer = PageWriter::open(&store).unwrap();
    let mut next = 0_u64;
    // Commits of a page, of some, and of hundreds.
    for many in [1, 3, 1, 17, 300, 1, 1, 40].into_iter().cycle().take(320) {
        let pages = (next..next + many).map(|page| change(page, "a title", Some(&[link("x"), link("y")])));
        next += many;
        store.commit(writer.store(&store, pages.collect()).unwrap()).unwrap();
    }
    for page in (0..next).step_by(97) {
        let (number, _) = find(&store, host(page), print(page)).unwrap().expect("it is stored");
        assert_eq!(number, page);
    }
    let state = State::read(&store).unwrap();
    assert_eq!(state.count, next);
    assert!(state.count - state.indexed < 128 && state.count - state.loose < 33, "{state:?}");
    for tree in [Tree::Pages, Tree::Links, Tree::PageIndex] {
        let sizes: Vec<_> = store.scan(tree, &[]).map(|pair| pair.unwrap().1.len()).collect();
        assert!(sizes.len() as u64 <= next / 8, "{}: {} values for {next} pages", tree.name(), sizes.len());
        assert!(sizes.iter().all(|size| *size < 3 * 1024), "{}: {:?}", tree.name(), sizes.iter().max());
    }
    let mut runs: HashMap<Vec<u8>, usize> = HashMap::new();
    for pair in store.scan(Tree::PageIndex, &[]) {
        *runs.entry(pair.unwrap().0[..9].to_vec()).or_default() += 1;
    }
    assert!(runs.values().all(|runs| *runs < 24), "{runs:?}");
    assert!(state.levels >= 2 && state.levels < 6, "{state:?}");
}

#[test]
fn a_page_that_is_new_is_not_looked_up() {
    let store = Counting::default();
    let put = |writer: &mut PageWriter, page: u64, title: &str| {
        let (writes, reads) =
            store.reads_of(|store| writer.store(store, vec![change(page, title, Some(&[]))]).unwrap());
        store.commit(writes).unwrap();
        reads
    };
    let mut writer = PageWriter::open(&store).unwrap();
    let reads: usize = (0..3000).map(|page| put(&mut writer, page, "first")).sum();
    // Some for each run of 128 pages, to see what is full.
    assert!(reads < 200, "{reads} reads for 3,000 new pages");
    let mut writer = PageWriter::open(&store).unwrap();
    let reads: usize = (3000..3100).map(|page| put(&mut writer, page, "first")).sum();
    assert!(reads < 20, "{reads} reads for 100 new pages after opening");
    assert!(put(&mut writer, 5, "second") > 0);
    assert_eq!(writer.state().count, 3100);
    assert_eq!(record_of(&store, host(5), print(5)).unwrap().unwrap().title.unwrap(), "second");
}

#[test]
fn a_writer_is_opened_with_few_reads() {
    let store = Counting::default();
    let mut writer = PageWriter::open(&store).unwrap();
    // Pages 256 to 382 aren't in the index, and lie in more than one range of 256 numbers with those before.
    for page in 0..383 {
        let change = change(page, "a title", Some(&[link("x")]));
        let made = writer.store(&store, vec![change]).unwrap();
        store.commit(made).unwrap();
    }
    let state = writer.state();
    assert_eq!((state.indexed, state.count), (256, 383));
    let (opened, reads) = store.reads_of(|store| PageWriter::open(store).unwrap());
    assert!(reads <= 6, "{reads} reads");
    assert_eq!(opened.state(), state);
}

#[test]
fn the_numbers_of_all_pages_find_each_of_them_with_one_read() {
    let store = Counting::default();
    assert!(
        PageNumbers::read(&store).unwrap().unwrap().urls_beside(&store, host(1), print(1)).unwrap().is_none()
    );
    let mut writer = PageWriter::open(&store).unwrap();
    let mut next = 0_u64;
    // In the index are whole runs of 128: the last pages are in their values alone, some of them in values of their commits.
    for many in [1, 300, 17, 90, 3] {
        let pages = (next..next + many).map(|page| change(page, "a title", Some(&[])));
        next += many;
        store.commit(writer.store(&store, pages.collect()).unwrap()).unwrap();
        let state = writer.state();
        let numbers = PageNumbers::read(&store).unwrap().expect("few pages");
        for page in 0..next {
            let (found, reads) = store.reads_of(|store| numbers.urls_beside(store, host(page), print(page)));
            let beside = found.unwrap().unwrap_or_else(|| panic!("page {page} of {state:?}"));
            let (_, entries, _) = read::find_with_others(&store, host(page), print(page)).unwrap().unwrap();
            let pages: Vec<_> = beside.iter().map(|(page, _)| *page).collect();
            assert_eq!(pages, entries.iter().map(|entry| (entry.host, entry.page)).collect::<Vec<_>>());
            assert_eq!(urls_beside(&store, host(page), print(page)).unwrap(), beside);
            let own = beside.into_iter().find(|(at, _)| *at == (host(page), print(page)));
            assert_eq!((own.unwrap().1, reads), (record(page, "").url, 1), "page {page} of {state:?}");
        }
        assert!(numbers.urls_beside(&store, host(next), print(next)).unwrap().is_none());
        assert!(
            numbers.urls_beside(&store, host(1), print(0)).unwrap().is_none(),
            "the host is compared as well"
        );
    }
    let state = writer.state();
    assert!(state.indexed > 0 && state.indexed < state.loose && state.loose < state.count, "{state:?}");
    assert_eq!(urls_beside(&store, host(next), print(next)).unwrap(), []);
    assert_eq!(urls_beside(&store, host(1), print(0)).unwrap(), [], "the host is compared as well");
}

#[test]
fn pages_with_the_same_beginning_of_their_fingerprints_are_told_apart() {
    let store = MemoryStore::default();
    let mut writer = PageWriter::open(&store).unwrap();
    let twins = [0x1234_5678_0000_0001, 0x1234_5678_0000_0002].map(Fingerprint);
    let changes = twins.map(|page| Change { page, host: HostId(1), ..change(0, "a title", Some(&[])) });
    store.commit(writer.store(&store, changes.into()).unwrap()).unwrap();
    let numbers = PageNumbers::read(&store).unwrap().expect("few pages");
    for page in twins {
        let found = numbers.urls_beside(&store, HostId(1), page).unwrap().expect("it is stored");
        assert!(found.iter().any(|(at, _)| *at == (HostId(1), page)));
    }
    let third = Fingerprint(0x1234_5678_0000_0003);
    assert!(numbers.urls_beside(&store, HostId(1), third).unwrap().is_none());
}

#[test]
fn ranges_have_every_page_once() {
    let store = MemoryStore::default();
    let mut writer = PageWriter::open(&store).unwrap();
    let mut next = 0_u64;
    for many in [1, 300, 17, 250, 3] {
        let pages = (next..next + many).map(|page| change(page, "a title", Some(&[link("x")])));
        next += many;
        store.commit(writer.store(&store, pages.collect()).unwrap()).unwrap();
    }
    let (mut from, mut found, mut ranges) = (0, Vec::new(), 0);
    while from < next {
        found.extend(scan_range(&store, from).map(|page| page.unwrap().number));
        from = range_end(from);
        ranges += 1;
    }
    assert_eq!((found, ranges), ((0..next).collect(), 3), "571 pages");
}

#[test]
fn what_was_replaced_is_in_no_value_any_more() {
    let store = MemoryStore::default();
    let mut writer = PageWriter::open(&store).unwrap();
    for page in 0..50 {
        let pages = vec![change(page, "the-old-title", Some(&[link("the-old-anchor")]))];
        store.commit(writer.store(&store, pages).unwrap()).unwrap();
    }
    for page in 0..50 {
        let pages = vec![change(page, "new", Some(&[link("")]))];
        store.commit(writer.store(&store, pages).unwrap()).unwrap();
    }
    for page in scan_with_links(&store) {
        let page = page.unwrap();
        assert_eq!(page.record().unwrap().title.as_deref(), Some("new"));
        assert_eq!(page.links().unwrap()[0].text, "");
    }
    for tree in Tree::ALL {
        for pair in store.scan(tree, &[]) {
            let value = pair.unwrap().1;
            let plain = (0..value.len().min(1500)).filter_map(|at| crate::packed::unpack(&value[at..]).ok());
            for text in plain.chain([value.clone()]) {
                assert!(memchr::memmem::find(&text, b"the-old").is_none(), "in tree {}", tree.name());
            }
        }
    }
}

#[test]
fn a_crash_at_any_commit_loses_whole_commits_alone() {
    for at in 1..40 {
        for lands in [false, true] {
            let inner = Arc::new(MemoryStore::default());
            let store = CrashStore::new(Arc::clone(&inner), at, lands);
            let mut writer = PageWriter::open(&store).unwrap();
            let mut durable = 0;
            for turn in 0..at {
                let pages =
                    (0..=turn % 4).map(|n| change(durable + n, "x", Some(&[link("y")]))).collect::<Vec<_>>();
                let many = pages.len() as u64;
                let changes = writer.store(&store, pages).unwrap();
                if store.commit(changes).is_ok() || lands {
                    durable += many;
                }
            }
            let mut writer = PageWriter::open(&inner).unwrap();
            assert_eq!(writer.state().count, durable);
            let more = vec![change(durable, "x", Some(&[link("y")]))];
            inner.commit(writer.store(&inner, more).unwrap()).unwrap();
            assert_eq!(
                scan_with_links(&inner)
                    .filter(|page| page.as_ref().unwrap().links().unwrap().len() == 1)
                    .count() as u64,
                durable + 1
            );
        }
    }
}

#[test]
fn missing_or_damaged_records_are_reported() {
    let filled = || {
        let store = MemoryStore::default();
        let mut writer = PageWriter::open(&store).unwrap();
        for page in 0..400 {
            let pages = vec![change(page, "a title", Some(&[link("x")]))];
            store.commit(writer.store(&store, pages).unwrap()).unwrap();
        }
        store
    };
    let keys = |store: &MemoryStore, tree| -> Vec<Vec<u8>> {
        store.scan(tree, &[]).map(|pair| pair.unwrap().0).collect()
    };
    let errors = |store: &MemoryStore| scan_with_links(store).filter(Result::is_err).count();
    let whole = filled();
    assert_eq!(errors(&whole), 0);
    for tree in [Tree::Pages, Tree::Links] {
        let many = keys(&whole, tree).len();
        for place in [0, 1, many / 2, many - 1] {
            for damage in [None, Some(Vec::new()), Some(vec![9; 40]), Some(vec![1, 2, 3])] {
                let store = filled();
                let key = keys(&store, tree).swap_remove(place);
                store.commit(vec![Write { tree, key, value: damage.clone() }]).unwrap();
                assert!(errors(&store) > 0, "{} value {place}: {damage:?}", tree.name());
                assert!(scan_with_links(&store).flatten().count() > 300, "the others are read");
            }
        }
    }
    let opens = |writes: Vec<Write>| {
        let store = filled();
        store.commit(writes).unwrap();
        PageWriter::open(&store).is_ok()
    };
    assert!(opens(Vec::new()));
    let index = keys(&whole, Tree::PageIndex).swap_remove(0);
    assert!(
        !opens(vec![Write::remove(Tree::PageIndex, index)]),
        "a page that isn't found would be stored twice"
    );
    let last = keys(&whole, Tree::Pages).pop().unwrap();
    assert!(!opens(vec![Write::remove(Tree::Pages, last)]));
    assert!(!opens(vec![Write::remove(Tree::Meta, STATE)]));
}

proptest! {
    #[test]
    fn no_value_makes_the_readers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), form in 0..4_u8) {
        let mut value = vec![form];
        value.extend(bytes);
        drop(block::read(&value));
        drop(block::heads(&value));
        drop(block::read_links(3, &value));
    }
}
