//! Entries of every kind come back; the chain goes on over restarts and shows whatever is done to it.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::record::{
    Decided, DirectiveEvidence, EffectsTaken, Evidence, Layer, LimitReached, PauseSet, PlainReason, Reason,
    RequestMade, RobotsEvidence, RunSettings, Seal, Stored, StoredKind, Versions,
};
use crate::store::{MemoryStore, Store, Tree, Write};
use page::clock::Boot;

fn micros() -> impl Strategy<Value = Duration> {
    (0u64..1 << 40).prop_map(Duration::from_micros)
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0i64..1 << 51).prop_map(|at| Timestamp::from_microsecond(at).unwrap())
}

fn url() -> impl Strategy<Value = String> {
    prop_oneof!["https?://(a|b\\.test|\\[::1\\])(:8080)?/[a-c/?=]{0,12}", "mailto:.{0,9}", "\\PC{0,20}",]
}

prop_compose! {
    fn request()(started in time(), took in micros(), clock in micros(), status in proptest::option::of(1u16..999),
            bytes: u64, gap in micros(), reason in "[a-z-]{1,12}",
            address in proptest::option::of(any::<std::net::IpAddr>())) -> RequestMade {
        RequestMade { started, took, clock, status, bytes, gap, gap_reason: Cow::Owned(reason), address }
    }
}

prop_compose! {
    fn robots()(line in proptest::option::of(1u32..90), rule in proptest::option::of("[A-Z]{0,2}"),
            group in proptest::option::of("[*a]"), reason in "[a-z]{0,3}", digest in proptest::option::of("[a-b]{1,2}"))
            -> RobotsEvidence {
        RobotsEvidence { line, rule, group, dialect: robots::Dialect::Hardened, reason, digest }
    }
}

prop_compose! {
    fn stored()(kind in 0..StoredKind::ALL.len(), record: [u8; 16], links: Option<[u8; 16]>, archive: Option<[u8; 16]>) -> Stored {
        Stored { kind: StoredKind::ALL[kind], record: Seal(record), links: links.map(Seal), archive: archive.map(Seal) }
    }
}

prop_compose! {
    fn evidence()(words in proptest::option::of("\\PC{0,9}"), request in proptest::option::of(request()),
            robots in proptest::option::of(robots()), flags in proptest::option::of(any::<[bool; 3]>()),
            directive in proptest::option::of(("[a-z]{1,8}", "\\PC{0,9}")), limit in proptest::option::of(("[a-z]{1,8}", "[0-9]{1,4}")),
            pause in proptest::option::of((micros(), "[a-z]{1,8}")),
            versions in proptest::option::of((proptest::option::of("[a-f]{1,4}"), proptest::option::of("[a-f]{1,4}"))),
            to in proptest::option::of(url()), clock in proptest::option::of(micros()),
            boot in proptest::option::of(any::<(u32, u64)>()),
            (run, stored) in (proptest::option::of(("[0-9a-f]{64}", "[0-9a-f]{64}")), proptest::option::of(stored()))) -> Evidence {
        Evidence {
            words, request, robots, clock,
            boot: boot.map(|(id, ms)| Box::new(Boot { id, ms })),
            stored: stored.map(Box::new),
            run: run.map(|(settings, seeds)| Box::new(RunSettings { settings, seeds })),
            effects: flags.map(|[indexed, archived, followed]| EffectsTaken { indexed, archived, followed }),
            directive: directive.map(|(directive, source)| DirectiveEvidence { directive, source }),
            limit: limit.map(|(name, value)| LimitReached { name, value }),
            pause: pause.map(|(length, reason)| PauseSet { length, reason: Cow::Owned(reason) }),
            versions: versions.map(|(before, after)| Versions { before, after }),
            to,
        }
    }
}

/// A word of a vocabulary, or another one.
fn word<T: ToString>(known: &[T]) -> impl Strategy<Value = String> + use<T> {
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    prop_oneof![proptest::sample::select(known), "[a-z]{0,8}"]
}

prop_compose! {
    fn entry()(at in time(), url in url(), host in "(a|b\\.test|)", decision in word(&Decided::ALL), layer in 0..Layer::ALL.len(),
            reason in word(&Reason::all()), evidence in evidence(), via in proptest::option::of(url())) -> Decision {
        Decision { at, url, host, decision: decision.as_str().into(), layer: Layer::ALL[layer], reason: reason.as_str().into(), evidence, via }
    }
}

#[test]
fn a_value_of_form_2_is_read_as_it_was_written() {
    // Written by the version that had no columns for clocks.
    let block = read(include_bytes!("form_2.bin")).unwrap();
    assert_eq!(block.before, Head::first(b"a crawl of form 2"));
    let chain =
        (0..).zip(&block.decisions).fold(block.before, |head, (seq, entry)| head.after(seq, entry).unwrap());
    assert_eq!((chain, block.decisions.len()), (block.after, 6), "the chain is over what was entered then");
    let asked = block.decisions.iter().filter_map(|entry| entry.evidence.request.as_ref());
    let clocks: Vec<_> = asked.map(|request| request.clock.as_micros()).collect();
    assert_eq!(clocks, [100_005, 1_987_660, 69_900_005]);
    assert!(block.decisions.iter().all(|entry| entry.evidence.clock.is_none()));
    // An unknown form is refused, and a value without its columns.
    let mut newer = include_bytes!("form_2.bin").to_vec();
    newer[0] = 4;
    assert!(matches!(read(&newer), Err(LedgerError::Form)));
}

proptest! {
    #[test]
    fn every_kind_of_entry_comes_back_as_it_was(entries in proptest::collection::vec(entry(), 1..20)) {
        let (before, after) = (Head([1; 32]), Head([2; 32]));
        let value = block::write(before, after, &entries);
        for entry in &entries {
            prop_assert!(may_mention(&value, &entry.url).unwrap());
            prop_assert_eq!(&read_saying(&value, &["<none>", entry.decision.as_str()]).unwrap(), &entries);
        }
        prop_assert!(read_saying(&value, &["<none>"]).unwrap().is_empty());
        prop_assert_eq!(read(&value).unwrap(), Block { before, after, decisions: entries });
    }

    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes: Vec<u8>, entries in proptest::collection::vec(entry(), 1..4), at: prop::sample::Index, flip in 1u8..) {
        drop(read(&bytes));
        let mut value = block::write(Head([1; 32]), Head([2; 32]), &entries);
        let place = at.index(value.len());
        value[place] ^= flip;
        drop(read(&value));
    }
}

fn numbered(number: u64) -> Decision {
    let url = format!("http://h{}.test/page/{number}", number % 3);
    Decision {
        at: Timestamp::from_millisecond(1_700_000_000_000 + number.cast_signed()).unwrap(),
        host: format!("h{}.test", number % 3),
        url,
        decision: Decided::Skipped,
        layer: Layer::Robots,
        reason: PlainReason::RobotsTxt.into(),
        evidence: Evidence::from(format!("evidence {number}")),
        via: Some("http://h0.test/".to_owned()),
    }
}

/// A store with a ledger of so many commits of `size` entries; reopened before each commit if `restarts`.
fn filled(commits: u64, size: u64, restarts: bool) -> MemoryStore {
    let store = MemoryStore::default();
    store.commit(vec![Write::put(Tree::Meta, "crawl_id", "one")]).unwrap();
    let mut ledger = Ledger::open(&store).unwrap();
    for commit in 0..commits {
        if restarts {
            ledger = Ledger::open(&store).unwrap();
        }
        let entries = (commit * size..(commit + 1) * size).map(numbered).collect();
        store.commit(ledger.append(entries).unwrap()).unwrap();
    }
    store
}

fn entries(store: &MemoryStore) -> Vec<Decision> {
    store.scan(Tree::Ledger, &[]).flat_map(|pair| read(&pair.unwrap().1).unwrap().decisions).collect()
}

#[test]
fn entries_stay_in_order_whatever_comes_at_once_and_over_restarts() {
    for (commits, size) in [(1, 1), (15, 1), (16, 1), (17, 1), (100, 1), (40, 30), (3, 600), (2, 5000)] {
        let expected: Vec<_> = (0..commits * size).map(numbered).collect();
        let mut heads = Vec::new();
        for restarts in [false, true] {
            let store = filled(commits, size, restarts);
            assert_eq!(entries(&store), expected, "{commits} x {size}");
            let verdict = verify(&store).unwrap();
            assert_eq!(
                (verdict.intact, verdict.entries),
                (true, commits * size),
                "{commits} x {size}: {verdict}"
            );
            assert!(
                verdict.values <= 16 + commits * size / 64,
                "{commits} x {size}: {} values",
                verdict.values
            );
            let values = store.scan(Tree::Ledger, &[]);
            let most = values.map(|pair| read(&pair.unwrap().1).unwrap().decisions.len() as u64).max();
            assert!(most <= Some(64), "{commits} x {size}: {most:?} entries in a value");
            heads.push(verdict.head);
        }
        assert_eq!(heads[0], heads[1], "the same entries make the same head");
    }
}

#[test]
fn a_ledger_without_entries_is_intact() {
    let store = MemoryStore::default();
    assert_eq!(Ledger::open(&store).unwrap().append(Vec::new()).unwrap(), []);
    assert!(verify(&store).unwrap().intact);
}

/// The first entries of the stored values.
fn values(store: &MemoryStore) -> Vec<u64> {
    let keys = store.scan(Tree::Ledger, &[]).map(|pair| pair.unwrap().0);
    keys.map(|key| u64::from_be_bytes(key.try_into().unwrap())).collect()
}

fn value(store: &MemoryStore, first: u64) -> Vec<u8> {
    store.get(Tree::Ledger, &first.to_be_bytes()).unwrap().unwrap()
}

fn put(store: &MemoryStore, first: u64, value: Vec<u8>) {
    store.commit(vec![Write::put(Tree::Ledger, first.to_be_bytes(), value)]).unwrap();
}

fn remove(store: &MemoryStore, first: u64) {
    store.commit(vec![Write::remove(Tree::Ledger, first.to_be_bytes())]).unwrap();
}

/// Writes a value again with other entries, keeping its heads, or with heads that fit the new entries.
fn rewrite(store: &MemoryStore, first: u64, fitting: bool, change: fn(&mut Vec<Decision>)) {
    let Block { before, after, mut decisions } = read(&value(store, first)).unwrap();
    change(&mut decisions);
    let fits = (first..).zip(&decisions).fold(before, |head, (seq, entry)| head.after(seq, entry).unwrap());
    put(store, first, block::write(before, if fitting { fits } else { after }, &decisions));
}

#[test]
fn whatever_is_done_to_the_chain_shows() {
    type Deed = fn(&MemoryStore, &[u64]);
    let deeds: [(&str, Deed, &str); 12] = [
        ("an entry edited", |s, v| rewrite(s, v[1], false, |all| all[3].reason = "other".into()), "altered"),
        (
            "edited with its head",
            |s, v| rewrite(s, v[1], true, |all| all[3].evidence = Evidence::default()),
            "unlinked",
        ),
        (
            "the last one edited with its head",
            |s, v| rewrite(s, v[v.len() - 1], true, |all| all[0].url.push('x')),
            "head",
        ),
        ("two entries exchanged", |s, v| rewrite(s, v[0], false, |all| all.swap(1, 2)), "altered"),
        ("an entry taken out", |s, v| rewrite(s, v[0], false, |all| drop(all.remove(5))), "altered"),
        ("a value taken out", |s, v| remove(s, v[1]), "missing"),
        ("the last value taken out", |s, v| remove(s, v[v.len() - 1]), "count"),
        (
            "two values exchanged",
            |s, v| {
                let (one, two) = (value(s, v[0]), value(s, v[1]));
                put(s, v[0], two);
                put(s, v[1], one);
            },
            "unlinked",
        ),
        (
            "a value of another crawl",
            |s, v| {
                let store = MemoryStore::default();
                store
                    .commit(Ledger::open(&store).unwrap().append((0..512).map(numbered).collect()).unwrap())
                    .unwrap();
                put(s, v[0], value(&store, 0));
            },
            "unlinked",
        ),
        (
            "a damaged value",
            |s, v| {
                let mut bytes = value(s, v[0]);
                bytes.truncate(200);
                put(s, v[0], bytes);
            },
            "unreadable",
        ),
        (
            "the state taken out",
            |s, _| s.commit(vec![Write::remove(Tree::Meta, "ledger")]).unwrap(),
            "no_state",
        ),
        ("everything taken out", |s, v| v.iter().for_each(|first| remove(s, *first)), "count"),
    ];
    for (what, deed, fault) in deeds {
        let store = filled(9, 128, false);
        let values = values(&store);
        assert!(values.len() >= 3, "{values:?}");
        assert!(verify(&store).unwrap().intact);
        deed(&store, &values);
        let verdict = verify(&store).unwrap();
        let found = serde_json::to_value(&verdict).unwrap();
        assert!(!verdict.intact, "{what}");
        let faults: Vec<_> =
            found["faults"].as_array().unwrap().iter().map(|f| f["fault"].as_str().unwrap()).collect();
        assert!(faults.contains(&fault), "{what}: {faults:?}");
        assert!(verdict.to_string().starts_with("the chain of"), "{verdict}");
    }
}

#[test]
fn a_damaged_tail_is_kept_as_evidence_and_the_chain_continues_after_it() {
    let store = filled(3, 4, false);
    let mut bytes = value(&store, 4);
    bytes.truncate(100);
    put(&store, 4, bytes.clone());
    let mut ledger = Ledger::open(&store).unwrap();
    for round in 0..40 {
        store.commit(ledger.append(vec![numbered(12 + round)]).unwrap()).unwrap();
    }
    assert_eq!(value(&store, 4), bytes);
    let verdict = verify(&store).unwrap();
    assert_eq!(verdict.entries, 48);
    assert_eq!(
        verdict.faults,
        [Fault::Unreadable { first: Some(4) }, Fault::Count { written: 52, found: 48 }]
    );
}

#[test]
fn a_thousand_similar_entries_take_little_space() {
    let store = filled(10, 100, false);
    let bytes: usize = store.scan(Tree::Ledger, &[]).map(|pair| pair.unwrap().1.len()).sum();
    assert!(bytes < 20_000, "{bytes}");
}

/// An entry with three digests, which don't compress, and a URL of so many bytes more.
fn with_digests(number: u64, more: usize) -> Decision {
    let seal = |salt: u64| Seal::of(&(number * 3 + salt).to_be_bytes());
    let stored =
        Stored { kind: StoredKind::Page, record: seal(0), links: Some(seal(1)), archive: Some(seal(2)) };
    let evidence = Evidence { stored: Some(Box::new(stored)), ..Evidence::default() };
    let name = blake3::hash(&number.to_be_bytes()).to_hex().repeat(more.div_ceil(64));
    let url = format!("http://a.test/{number}{}", &name[..more]);
    Decision { evidence, url, decision: Decided::Fetched, reason: Reason::Http(200), ..numbered(number) }
}

#[test]
fn no_value_is_longer_than_seventeen_of_a_leaf_may_be_and_few_entries_are_written_twice() {
    // 32 KB for 17 values, their keys and what the leaf has of its own.
    const MOST: usize = 1920;
    for (commits, size, more) in
        [(200, 1, 0), (40, 30, 0), (10, 100, 0), (4, 700, 0), (200, 1, 900), (10, 20, 900)]
    {
        let store = MemoryStore::default();
        let mut ledger = Ledger::open(&store).unwrap();
        let (mut bytes, mut number) = (0, 0);
        for _ in 0..commits {
            let entries: Vec<_> = (number..number + size).map(|number| with_digests(number, more)).collect();
            number += size;
            let writes = ledger.append(entries).unwrap();
            let values = writes.iter().filter(|write| write.tree == Tree::Ledger);
            for value in values.filter_map(|write| write.value.as_ref()) {
                bytes += value.len();
                assert!(value.len() <= MOST, "{commits} x {size}, {more}: {} bytes", value.len());
            }
            store.commit(writes).unwrap();
        }
        assert_eq!(entries(&store).len() as u64, number);
        let stored: usize = store.scan(Tree::Ledger, &[]).map(|pair| pair.unwrap().1.len()).sum();
        // A commit that doesn't fill a value is written alone first.
        let most = if size < 20 { 6.0 } else { 1.5 };
        assert!((bytes as f64) < most * stored as f64, "{commits} x {size}, {more}: {bytes} for {stored}");
    }
}

/// Hex digits that don't repeat.
fn digits(of: u64, count: usize) -> String {
    let pieces =
        (0_u64..).map(|n| blake3::hash(&[of, n].map(u64::to_be_bytes).concat()).to_hex().to_string());
    pieces.take(count.div_ceil(64)).collect::<String>()[..count].to_owned()
}

#[test]
fn what_urls_begin_with_is_stored_once_for_many_entries_whatever_came_before() {
    const ENTRIES: u64 = 2_000;
    let found_on = |page: u64, n: u64| Decision {
        url: format!("http://other.test/{}/{n}", digits(page, 1_900)),
        decision: Decided::Skipped,
        via: Some(format!("http://a.test/{}", digits(page + 100, 1_900))),
        ..numbered(n)
    };
    let store = MemoryStore::default();
    let mut ledger = Ledger::open(&store).unwrap();
    // Few of these fill a value.
    let long = (0..9).map(|n| Decision { url: format!("http://a.test/{}", digits(n, 1_500)), ..numbered(n) });
    store.commit(ledger.append(long.collect()).unwrap()).unwrap();
    let before: usize = store.scan(Tree::Ledger, &[]).map(|pair| pair.unwrap().1.len()).sum();
    let all: Vec<_> = (0..ENTRIES).map(|n| found_on(n / 1_000, n)).collect();
    let (fitting, estimated) = fitting(&all, 200_000);
    assert_eq!(fitting, all.len());
    store.commit(ledger.append(all).unwrap()).unwrap();
    let added = store.scan(Tree::Ledger, &[]).map(|pair| pair.unwrap().1.len()).sum::<usize>() - before;
    assert!(
        added < 200_000 && added <= estimated + estimated / 10,
        "{added} bytes, estimated as {estimated}"
    );
    assert_eq!(entries(&store).len() as u64, ENTRIES + 9);
}

#[test]
fn as_many_entries_fit_as_they_take_bytes() {
    let all: Vec<_> = (0..500).map(|n| with_digests(n, 300)).collect();
    let (_, bytes) = fitting(&all, usize::MAX);
    assert_eq!(fitting(&all, bytes).0, 500);
    for part in [2, 3, 10] {
        let (count, taken) = fitting(&all, bytes / 8 / part);
        assert!(count < 500 && taken <= bytes / 8 / part, "{count} take {taken}");
    }
    assert_eq!(fitting(&all, 0), (0, 0));
    assert_eq!(fitting(&[], 0), (0, 0));
}

#[test]
fn digests_of_a_page_take_little_more_than_their_bits() {
    let size = |with: bool| {
        let entries: Vec<_> = (0..64_u64)
            .map(|number| {
                let seal = |salt: u64| Seal::of(&(number * 3 + salt).to_be_bytes());
                let stored = Stored {
                    kind: StoredKind::Page,
                    record: seal(0),
                    links: Some(seal(1)),
                    archive: Some(seal(2)),
                };
                let stored = with.then(|| Box::new(stored));
                let evidence = Evidence { stored, ..Evidence::default() };
                let url = format!("http://a.test/{number}");
                let (at, host, decision) = (Timestamp::UNIX_EPOCH, "a.test".to_owned(), Decided::Fetched);
                let reason = Reason::Http(200);
                Decision { at, url, host, decision, layer: Layer::Fetch, reason, evidence, via: None }
            })
            .collect();
        block::write(Head([1; 32]), Head([2; 32]), &entries).len()
    };
    let more = (size(true) - size(false)) as f64 / 64.0;
    assert!((40.0..62.0).contains(&more), "{more} bytes for three digests of 16");
}
