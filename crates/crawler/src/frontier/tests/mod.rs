//! The frontier against a model of sets: whatever the order of offers, visits, commits and crashes, each URL that was
//! committed is leased until it is settled, once, in a store that holds it packed.

mod bounds;
mod lost;
mod memory;
mod parts;
mod queues;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicI64;

use proptest::prelude::*;

use super::*;
use crate::pace::{DelayReason, HostPace};
use crate::record::{SitemapFound, SitemapRecord, link_key};
use crate::store::{MemoryStore, Write};

const KEY: FingerprintKey = FingerprintKey::new([3; 16]);

/// Small enough that a few hundred URLs fold the journal, evict seen sets and leave links untested.
const TIGHT: FrontierLimits = FrontierLimits {
    seen_in_memory: 150,
    seen_loaded_for_links: 20,
    journal_bytes: 900,
    folded_at_once: 1,
    dropped_at_once: 1,
    chunks_in_memory: 2,
    hosts_in_memory: 1,
};

fn now(seconds: u64) -> Now {
    Now { mono: Duration::from_secs(seconds), wall: jiff::Timestamp::UNIX_EPOCH }
}

fn delay(length: Duration) -> Delay {
    Delay { length, why: DelayReason::Configured }
}

fn url(host: u8, n: u16) -> CrawlUrl {
    CrawlUrl::parse(&format!("http://h{host}.example/page-{n}?with=a-query-of-some-length")).unwrap()
}

/// A URL with so many bytes that don't get shorter.
fn long_url(host: u8, n: u16, bytes: usize) -> CrawlUrl {
    let name = blake3::hash(&n.to_be_bytes()).to_hex().repeat(bytes.div_ceil(64));
    CrawlUrl::parse(&format!("http://h{host}.example/{n}/{}", &name[..bytes])).unwrap()
}

fn open(store: &Arc<MemoryStore>, limits: FrontierLimits) -> Frontier<MemoryStore> {
    Frontier::open(store, limits, delay(Duration::ZERO), KEY, now(1_000)).unwrap()
}

fn offer(frontier: &mut Frontier<MemoryStore>, url: &CrawlUrl, own_host: bool) -> Admitted {
    offer_item(frontier, url, QueuedUrl::link(url, 1, None), own_host)
}

fn offer_item(
    frontier: &mut Frontier<MemoryStore>,
    url: &CrawlUrl,
    item: QueuedUrl,
    own_host: bool,
) -> Admitted {
    let id = frontier.host_id(url.host()).unwrap();
    let priority = item.priority();
    frontier.admit(id, url.fingerprint(&KEY), item, priority, own_host).unwrap()
}

/// A link, or a resource.
fn item(url: &CrawlUrl, is_resource: bool) -> QueuedUrl {
    let item = QueuedUrl::link(url, 1, None);
    if is_resource { item.marked(Marks::RESOURCE) } else { item }
}

fn commit(frontier: &mut Frontier<MemoryStore>) {
    commit_at(frontier, now(1_000));
}

fn commit_at(frontier: &mut Frontier<MemoryStore>, now: Now) {
    let (generation, writes) = frontier.cut(now).unwrap();
    frontier.store().commit(writes).unwrap();
    frontier.committed(generation);
}

fn settle(frontier: &mut Frontier<MemoryStore>, permit: Permit, done: bool, again: Option<QueuedUrl>) {
    let settlement =
        Settlement { done, again, ..Settlement::untouched(Duration::ZERO, delay(Duration::ZERO)) };
    assert_eq!(frontier.settle(permit, settlement), Completion::Applied);
}

#[derive(Debug, Clone)]
enum Op {
    /// Offers a run of URLs.
    Offer {
        host: u8,
        first: u16,
        count: u16,
        own_host: bool,
    },
    /// Visits so many URLs.
    Visit {
        count: u8,
        retry_every: u8,
    },
    Commit,
    Crash,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..4_u8, 0..300_u16, 1..90_u16, any::<bool>())
            .prop_map(|(host, first, count, own_host)| Op::Offer { host, first, count, own_host }),
        4 => (1..80_u8, 2..9_u8).prop_map(|(count, retry_every)| Op::Visit { count, retry_every }),
        3 => Just(Op::Commit),
        1 => Just(Op::Crash),
    ]
}

#[derive(Debug, Clone, Default)]
struct Model {
    known: BTreeSet<String>,
    done: BTreeSet<String>,
    tries: BTreeMap<String, u8>,
}

fn visit(frontier: &mut Frontier<MemoryStore>, model: &mut Model, retry: bool) -> bool {
    let Some(permit) = frontier.lease(now(2_000)).unwrap() else { return false };
    let url = permit.lease().url.to_string();
    let Work::Visit(item) = permit.lease().work.clone() else { panic!("no robots fetches here") };
    assert!(model.known.contains(&url), "{url} was never offered");
    assert!(!model.done.contains(&url), "{url} was settled before");
    assert_eq!(item.tries, model.tries.get(&url).copied().unwrap_or(0));
    if retry && item.tries == 0 {
        model.tries.insert(url, 1);
        settle(frontier, permit, true, Some(QueuedUrl { tries: 1, ..item }));
    } else {
        model.done.insert(url);
        settle(frontier, permit, true, None);
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_committed_url_is_visited_once_whatever_crashes(ops in proptest::collection::vec(op(), 1..60)) {
        let store = Arc::new(MemoryStore::default());
        let mut frontier = open(&store, TIGHT);
        let mut model = Model::default();
        let mut durable = Model::default();
        for op in ops {
            match op {
                Op::Offer { host, first, count, own_host } => {
                    for n in first..first + count {
                        // Chunks of one host are stored in two values.
                        let url = if host == 3 { long_url(host, n, 60) } else { url(host, n) };
                        let admitted = offer_item(&mut frontier, &url, item(&url, n % 3 == 0), own_host);
                        let new = model.known.insert(url.to_string());
                        // A known URL that waits untested may be queued again; `visit` sees that it comes once.
                        prop_assert!(!(new && admitted == Admitted::Seen), "{} was never offered", url);
                    }
                }
                Op::Visit { count, retry_every } => {
                    for n in 0..count {
                        if !visit(&mut frontier, &mut model, n % retry_every == 0) {
                            break;
                        }
                    }
                }
                Op::Commit => {
                    commit(&mut frontier);
                    durable = model.clone();
                }
                Op::Crash => {
                    frontier = open(&store, TIGHT);
                    model = durable.clone();
                }
            }
        }
        commit(&mut frontier);
        let mut frontier = open(&store, TIGHT);
        while visit(&mut frontier, &mut model, false) {}
        prop_assert_eq!(&model.done, &model.known);
        prop_assert_eq!(frontier.counts().queued, 0);
        commit(&mut frontier);
        prop_assert_eq!(store.scan(Tree::Queue, &[]).count(), 0, "an empty queue leaves no chunk");
    }
}

#[test]
fn one_lease_a_host_and_none_before_its_time() {
    let mut frontier = open(&Arc::default(), FrontierLimits::default());
    for n in 0..3 {
        offer(&mut frontier, &url(1, n), true);
        offer(&mut frontier, &url(2, n), true);
    }
    let first = frontier.lease(now(2_000)).unwrap().unwrap();
    let second = frontier.lease(now(2_000)).unwrap().unwrap();
    assert_ne!(first.lease().host, second.lease().host);
    // Another port is another origin of the same host.
    for n in 1..=2 {
        offer(&mut frontier, &CrawlUrl::parse(&format!("http://h{n}.example:8080/")).unwrap(), true);
    }
    assert!(frontier.lease(now(2_000)).unwrap().is_none(), "both hosts are leased");
    let gap = delay(Duration::from_secs(10));
    let not_before = Duration::from_secs(2_010);
    frontier.settle(first, Settlement::finished(not_before, gap));
    assert!(frontier.lease(now(2_009)).unwrap().is_none());
    assert_eq!(frontier.next_ready(), Some(not_before));
    assert!(frontier.lease(now(2_010)).unwrap().is_some());
    drop(second);
}

#[test]
fn a_settled_lease_is_fenced() {
    let mut frontier = open(&Arc::default(), FrontierLimits::default());
    offer(&mut frontier, &url(1, 1), true);
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    let lease = permit.lease().clone();
    assert!(frontier.is_current(&lease));
    settle(&mut frontier, permit, false, None);
    assert!(!frontier.is_current(&lease));
    let again = Settlement::finished(Duration::ZERO, delay(Duration::ZERO));
    assert_eq!(frontier.complete(&lease, again), Completion::Fenced);
    assert_eq!(frontier.counts().queued, 1);
}

#[test]
fn a_leased_url_is_leased_again_after_a_crash_and_its_host_waits_its_gap() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits::default());
    offer(&mut frontier, &url(1, 1), true);
    offer(&mut frontier, &url(1, 2), true);
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    let host = permit.lease().host;
    frontier.counts_mut(host).requests = 1;
    frontier.set_gap(host, delay(Duration::from_secs(7)));
    let settlement = Settlement::finished(Duration::from_secs(2_007), delay(Duration::from_secs(7)));
    frontier.settle(permit, settlement);
    commit(&mut frontier);
    let leased = frontier.lease(now(2_007)).unwrap().unwrap().lease().url.clone();
    let mut frontier = open(&store, FrontierLimits::default());
    assert!(frontier.lease(now(1_006)).unwrap().is_none(), "the whole gap from the restart at 1000 s");
    // 7 s, 5 ms and 500 ppm, stored as whole milliseconds.
    let rested =
        |after| Now { mono: Duration::from_secs(1_000) + Duration::from_millis(after), ..now(1_007) };
    assert!(frontier.lease(rested(7_008)).unwrap().is_none());
    assert_eq!(frontier.lease(rested(7_009)).unwrap().unwrap().lease().url, leased);
}

/// Whole seconds until the only host may be asked, in a process of this clock.
fn waits(frontier: &mut Frontier<MemoryStore>, clock: Clock) -> u64 {
    let left = frontier.next_ready().unwrap().saturating_sub(clock.now().mono);
    // Gaps are waited for a little longer, and the machine's clock ticks.
    left.saturating_sub(Duration::from_millis(40)).as_millis().div_ceil(1_000) as u64
}

/// Takes a frontier up in a new process.
fn open_in(store: &Arc<MemoryStore>, clock: Clock) -> Frontier<MemoryStore> {
    let gap = delay(Duration::ZERO);
    let opening = Opening {
        now: clock.now(),
        clock: Some(clock),
        rest: None,
        at_work: Duration::ZERO,
        names: &mut |_| {},
    };
    Frontier::reopen(store, FrontierLimits::default(), gap, KEY, opening).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_jump_of_the_wall_clock_makes_no_wait_longer_or_shorter_than_its_gap() {
    const DAY: i64 = 24 * 3600;
    // How far the wall clock is set, how long no process ran, whether the machine was rebooted, and what remains of a minute.
    for (jump, away, rebooted, left) in [
        (0, 20, false, 40),
        (400 * DAY, 20, false, 40),
        (-400 * DAY, 20, false, 40),
        (-400 * DAY, 3_600, false, 5),
        (0, 20, true, 60),
        (400 * DAY, 20, true, 60),
        (-400 * DAY, 3_600, true, 60),
    ] {
        let jumped: &'static AtomicI64 = Box::leak(Box::default());
        let clock =
            Clock::jumping(jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(99_999), jumped);
        let store = Arc::new(MemoryStore::default());
        let mut frontier = open_in(&store, clock);
        offer(&mut frontier, &url(1, 1), true);
        let host = frontier.host_id("h1.example").unwrap();
        frontier.counts_mut(host).requests = 1;
        frontier.set_gap(host, delay(Duration::from_secs(5)));
        frontier.wait(host, Duration::from_secs(60), delay(Duration::from_secs(60)));
        commit_at(&mut frontier, clock.now());
        jumped.store(jump, std::sync::atomic::Ordering::Relaxed);
        tokio::time::advance(Duration::from_secs(away)).await;
        let clock = clock.next_process(rebooted);
        let mut frontier = open_in(&store, clock);
        assert_eq!(waits(&mut frontier, clock), left, "{jump} {away} {rebooted}");
        // A wait that started over is recorded as such: it doesn't start over with each process.
        commit_at(&mut frontier, clock.now());
        tokio::time::advance(Duration::from_secs(25)).await;
        let clock = clock.next_process(false);
        let left = left.saturating_sub(25).max(5);
        assert_eq!(waits(&mut open_in(&store, clock), clock), left, "{jump} {away} {rebooted}, later");
    }
}

#[test]
fn a_record_of_an_older_version_keeps_its_wait_by_the_wall_clock() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits::default());
    offer(&mut frontier, &url(1, 1), true);
    let host = frontier.host_id("h1.example").unwrap();
    frontier.wait(host, Duration::from_secs(1_060), delay(Duration::from_secs(60)));
    commit(&mut frontier);
    let value = store.get(Tree::Hosts, &host.key()).unwrap().unwrap();
    let mut record: serde_json::Value = serde_json::from_slice(&value).unwrap();
    for name in ["left_ms", "boot"] {
        record.as_object_mut().unwrap().remove(name);
    }
    store.commit(vec![Write::put(Tree::Hosts, host.key(), serde_json::to_vec(&record).unwrap())]).unwrap();
    for (away, left) in [(20, 40), (90, 0)] {
        let wall = jiff::Timestamp::from_second(away).unwrap();
        let (limits, at) = (FrontierLimits::default(), Now { mono: Duration::ZERO, wall });
        let mut again = Frontier::open(&store, limits, delay(Duration::ZERO), KEY, at).unwrap();
        assert_eq!(again.next_ready().unwrap().as_secs(), left);
    }
}

#[test]
fn robots_fetches_go_before_visits_and_parked_hosts_keep_their_urls() {
    let mut frontier = open(&Arc::default(), FrontierLimits::default());
    offer(&mut frontier, &url(1, 1), true);
    let host = frontier.host_id("h1.example").unwrap();
    let robots_fetch = RobotsFetch::new(url(9, 9).origin(), url(1, 77));
    frontier.queue_robots_fetch(host, robots_fetch.clone());
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    assert_eq!(permit.lease().work, Work::RobotsFetch(robots_fetch));
    settle(&mut frontier, permit, false, None);
    frontier.park(host, "test");
    assert!(frontier.lease(now(3_000)).unwrap().is_none());
    assert_eq!(frontier.counts().queued, 1);
    assert!(!frontier.has_prospect(now(3_000), Duration::from_secs(60)));
}

#[test]
fn one_seen_set_at_a_time_is_enough() {
    // Memory is bounded by what is in use: with space for 150 fingerprints, 40 hosts of 100 URLs keep two sets at most.
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, TIGHT);
    for host in 0..40 {
        for n in 0..100 {
            assert_eq!(offer(&mut frontier, &url(host, n), true), Admitted::Queued);
        }
        commit(&mut frontier);
        assert!(frontier.seen_loaded <= 150 + 100, "{} fingerprints in memory", frontier.seen_loaded);
    }
    let fresh: usize = frontier.hosts.iter().map(|(_, host)| host.costs().1).sum();
    assert!(fresh < 8 * 1024, "{fresh} bytes of URLs in memory for 4,000 queued");
    for host in (0..40).rev() {
        assert_eq!(
            offer(&mut frontier, &url(host, 50), true),
            Admitted::Seen,
            "what was forgotten is read again"
        );
    }
}

#[test]
fn a_long_journal_is_dropped_some_entries_a_commit() {
    const AT_ONCE: usize = 7;
    let store = Arc::new(MemoryStore::default());
    let limits =
        FrontierLimits { journal_bytes: 20_000, dropped_at_once: AT_ONCE, ..FrontierLimits::default() };
    let mut frontier = open(&store, limits);
    let mut most = 0;
    let mut longest = 0;
    let mut step = |frontier: &mut Frontier<MemoryStore>| {
        let (generation, writes) = frontier.cut(now(1_000)).unwrap();
        let dropped =
            writes.iter().filter(|write| write.tree == Tree::Journal && write.value.is_none()).count();
        frontier.store().commit(writes).unwrap();
        frontier.committed(generation);
        most = most.max(dropped);
        longest = longest.max(store.scan(Tree::Journal, &[]).count());
    };
    // About 70 bytes each: two folds, far from each other.
    for n in 0..700 {
        assert_eq!(offer(&mut frontier, &url((n % 5) as u8, n), true), Admitted::Queued);
        step(&mut frontier);
    }
    for _ in 0..60 {
        step(&mut frontier);
    }
    assert_eq!(most, AT_ONCE);
    let left = store.scan(Tree::Journal, &[]).count();
    assert!(longest > 200 && left < 150, "{longest} entries at most, {left} remain");
    let mut again = open(&store, limits);
    assert_eq!(again.counts().queued, 700);
    assert_eq!(offer(&mut again, &url(0, 0), true), Admitted::Seen);
}

#[test]
fn a_host_isnt_asked_again_before_its_answer_is_durable() {
    let mut frontier = open(&Arc::default(), FrontierLimits::default());
    for n in 0..3 {
        offer(&mut frontier, &url(1, n), true);
    }
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    let answered = Settlement::finished(Duration::ZERO, delay(Duration::ZERO)).after_request();
    frontier.settle(permit, answered);
    assert!(frontier.lease(now(2_000)).unwrap().is_none());
    assert_eq!(frontier.waiting_for_commit(), 1);
    assert!(frontier.has_prospect(now(2_000), Duration::ZERO));
    let (generation, writes) = frontier.cut(now(2_000)).unwrap();
    frontier.store().commit(writes).unwrap();
    assert!(frontier.lease(now(2_000)).unwrap().is_none(), "cut isn't durable");
    frontier.committed(generation);
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    // What cost no request needs no commit.
    settle(&mut frontier, permit, true, None);
    assert!(frontier.lease(now(2_000)).unwrap().is_some());
}

/// A frontier that keeps `most` hosts in memory.
fn few(store: &Arc<MemoryStore>, most: usize) -> Frontier<MemoryStore> {
    open(store, FrontierLimits { hosts_in_memory: most, ..FrontierLimits::default() })
}

fn host_url(n: u32) -> CrawlUrl {
    CrawlUrl::parse(&format!("http://host-{n}.example/")).unwrap()
}

#[test]
fn a_sitemap_that_waits_is_read_when_its_turn_comes() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 40);
    let url = CrawlUrl::parse("http://host-1.example/sitemap.xml").unwrap();
    let id = frontier.host_id(url.host()).unwrap();
    let fingerprint = url.fingerprint(&KEY);
    let at = jiff::Timestamp::UNIX_EPOCH;
    let mut record = SitemapRecord::found(url.to_string(), SitemapFound::WellKnown, String::new(), at);
    frontier.put(Tree::Sitemaps, link_key(id, fingerprint), record.write().unwrap());
    frontier.send_sitemap(id, fingerprint);
    // One whose record isn't there, or that has been read meanwhile, is passed over.
    frontier.send_sitemap(id, Fingerprint(1));
    record.speaks_for.push("other.example".into());
    frontier.put(Tree::Sitemaps, link_key(id, fingerprint), record.write().unwrap());
    let permit = frontier.lease(now(0)).unwrap().unwrap();
    let Work::Sitemap(leased) = permit.lease().work.clone() else { panic!("a sitemap") };
    assert_eq!(*leased, record, "as its record says now");
    settle(&mut frontier, permit, true, None);
    assert!(frontier.lease(now(10_000)).unwrap().is_none());
}

#[test]
fn a_settlement_changes_its_host_and_a_gap_that_was_raised_meanwhile_stays() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 8);
    offer(&mut frontier, &url(1, 1), true);
    offer(&mut frontier, &url(1, 2), true);
    let secs = Duration::from_secs;
    let permit = frontier.lease(now(1_000)).unwrap().unwrap();
    let id = permit.lease().host;
    assert_eq!(permit.lease().state, frontier.state(id), "a copy of what the host was like");
    let pace = HostPace { pushbacks: 2, ..HostPace::default() };
    let counts = HostCounts { requests: 1, bytes: 10, slowest_ms: 300, ..HostCounts::default() };
    let gap = delay(secs(2));
    let host = HostDelta { pace: Some(pace), counts, gap: Some(gap), walls: None, parked: None };
    let settlement = Settlement { host, ..Settlement::untouched(secs(1_002), gap).after_request() };
    frontier.settle(permit, settlement);
    let state = frontier.state(id);
    assert_eq!((state.pace, state.counts, state.gap, state.not_before), (pace, counts, gap, secs(1_002)));
    commit(&mut frontier);

    // While it is asked, another host's answer to a hop of its robots.txt asks for 30 s.
    let permit = frontier.lease(now(1_002)).unwrap().unwrap();
    frontier.hold_visits(id);
    frontier.release_visits(id, Delay { length: secs(30), why: DelayReason::CrawlDelay });
    let more = HostCounts { requests: 1, bytes: 5, slowest_ms: 200, ..HostCounts::default() };
    let host = HostDelta { counts: more, gap: Some(gap), ..HostDelta::default() };
    frontier.settle(permit, Settlement { host, ..Settlement::finished(secs(1_005), gap).after_request() });
    let state = frontier.state(id);
    assert_eq!((state.counts.requests, state.counts.bytes, state.counts.slowest_ms), (2, 15, 300));
    assert_eq!((state.pace, state.gap.length, state.not_before), (pace, secs(30), secs(1_033)));
    commit(&mut frontier);

    let permit = frontier.lease(now(1_033)).unwrap().unwrap();
    let lease = permit.lease().clone();
    let host = HostDelta { parked: Some("max-pages-per-host 1".to_owned()), ..HostDelta::default() };
    let wait = delay(Duration::ZERO);
    frontier.settle(permit, Settlement { host, ..Settlement::untouched(Duration::ZERO, wait) });
    assert!(frontier.lease(now(9_000)).unwrap().is_none(), "it is skipped");
    let host = HostDelta { counts: more, ..HostDelta::default() };
    let late = Settlement { host, ..Settlement::untouched(Duration::ZERO, wait) };
    assert_eq!(frontier.complete(&lease, late), Completion::Fenced);
    assert_eq!(frontier.state(id).counts.requests, 2, "what is fenced counts nothing");
}
