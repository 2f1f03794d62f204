//! Hosts that leave memory, and what stays of them.

use super::*;

#[test]
fn hosts_leave_memory_between_cuts_too() {
    assert_eq!(size_of::<Reverse<(ReadyAt, u32, HostId)>>(), 16, "an entry of the ready heap");
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 40);
    for n in 0..1_000 {
        assert_eq!(offer(&mut frontier, &host_url(n), false), Admitted::Queued);
        frontier.evict_idle_hosts(now(0)).unwrap();
        assert!(frontier.hosts.in_memory() <= 40, "{} hosts in memory", frontier.hosts.in_memory());
    }
    assert_eq!(
        offer(&mut frontier, &host_url(7), false),
        Admitted::Seen,
        "found in a block that isn't written yet"
    );
    commit(&mut frontier);
    for n in [0, 500, 999] {
        assert_eq!(offer(&mut frontier, &host_url(n), false), Admitted::Seen, "{n}");
    }
    let again = few(&store, 40);
    assert_eq!(again.counts(), FrontierCounts { queued: 1_000, in_flight: 0, hosts: 1_000 });
}

#[test]
fn a_fold_puts_unasked_hosts_into_blocks() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits { journal_bytes: 1_000, ..FrontierLimits::default() });
    for n in 0..640 {
        assert_eq!(offer(&mut frontier, &host_url(n), false), Admitted::Queued);
        commit(&mut frontier);
    }
    commit(&mut frontier);
    let stored = |tree| store.scan(tree, &[]).count();
    assert!(stored(Tree::IdleHosts) >= 9, "{} blocks", stored(Tree::IdleHosts));
    assert_eq!((stored(Tree::Hosts), stored(Tree::Queue), stored(Tree::Seen)), (0, 0, 0));
    assert_eq!(offer(&mut frontier, &host_url(0), false), Admitted::Seen);
    let leased = std::iter::from_fn(|| frontier.lease(now(1_000)).unwrap()).count();
    assert_eq!(leased, 640, "each host once");
    let again = open(&store, FrontierLimits::default());
    assert_eq!(again.counts(), FrontierCounts { queued: 640, in_flight: 0, hosts: 640 });
}

#[test]
fn hosts_that_are_not_in_use_leave_memory_and_lose_nothing() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 40);
    for n in 0..1_000 {
        assert_eq!(offer(&mut frontier, &host_url(n), false), Admitted::Queued);
        if n % 100 == 99 {
            commit(&mut frontier);
            assert!(frontier.hosts.in_memory() <= 40, "{} hosts in memory", frontier.hosts.in_memory());
        }
    }
    assert_eq!(store.scan(Tree::IdleHosts, &[]).count(), 1_000_usize.div_ceil(64), "64 hosts a block");
    assert!(store.scan(Tree::Hosts, &[]).count() <= 40, "no record for each host");
    assert_eq!(store.scan(Tree::Queue, &[]).count() + store.scan(Tree::Seen, &[]).count(), 0);
    for n in [0, 500, 999] {
        assert_eq!(offer(&mut frontier, &host_url(n), false), Admitted::Seen, "{n}");
    }
    let stored: Vec<_> = stored_hosts(&*store).unwrap().map(Result::unwrap).collect();
    assert_eq!(stored.len(), 1_000);
    assert!(stored.iter().enumerate().all(|(at, (id, record))| {
        id.0 as usize == at && record.host == format!("host-{at}.example") && record.queues[1].tail == 1
    }));
    assert_eq!(stored_queue(&*store).unwrap().count(), 1_000);

    for crash in [false, true] {
        let mut again = few(&store, 40);
        assert_eq!(again.counts(), FrontierCounts { queued: 1_000, in_flight: 0, hosts: 1_000 });
        let mut leased = BTreeSet::new();
        while let Some(permit) = again.lease(now(5_000)).unwrap() {
            assert!(leased.insert(permit.lease().url.to_string()), "leased twice");
            settle(&mut again, permit, true, None);
            if leased.len() % 50 == 0 && !crash {
                commit(&mut again);
                assert!(again.hosts.in_memory() <= 41 + 50);
            }
        }
        assert_eq!(leased.len(), 1_000);
        if !crash {
            // What was visited stays visited, whether its host is in memory or not.
            commit(&mut again);
            let mut after = few(&store, 40);
            assert!(after.lease(now(5_000)).unwrap().is_none());
            assert_eq!(offer(&mut after, &host_url(7), false), Admitted::Seen);
            break;
        }
    }
}

#[test]
fn a_host_that_is_evicted_keeps_its_wait_its_pace_and_when_it_was_asked() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 1);
    offer(&mut frontier, &host_url(1), true);
    offer(&mut frontier, &CrawlUrl::parse("http://host-1.example/2").unwrap(), true);
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    let host = permit.lease().host;
    frontier.set_gap(host, delay(Duration::from_secs(60)));
    frontier.counts_mut(host).requests = 1;
    let pause = Delay { length: Duration::from_millis(60_500), why: DelayReason::RetryAfter };
    let not_before = Duration::from_millis(2_060_500);
    frontier.settle(permit, Settlement::finished(not_before, pause).after_request());
    for n in 2..50 {
        offer(&mut frontier, &host_url(n), false);
        commit(&mut frontier);
    }
    assert!(frontier.hosts.is_idle(host), "it is evicted");
    let mut others = Vec::new();
    while let Some(permit) = frontier.lease(now(2_060)).unwrap() {
        assert_ne!(permit.lease().host, host, "half a second early");
        others.push(permit);
    }
    let permit = frontier.lease(now(2_061)).unwrap().unwrap();
    assert_eq!(permit.lease().host, host);
    assert_eq!(frontier.state(host).waited.why, DelayReason::RetryAfter);
    assert_eq!(frontier.gap(host).length, Duration::from_secs(60));
    let rested = permit.lease().rested.unwrap();
    let least = Duration::from_secs(61) - Duration::from_millis(2);
    assert!((least..=Duration::from_secs(61)).contains(&rested), "{rested:?}");
    assert_eq!(frontier.counts_mut(host).requests, 1);
}

#[test]
fn a_host_with_many_urls_is_put_away_in_chunks_and_a_skipped_one_stays_skipped() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 1);
    for n in 0..200 {
        offer(&mut frontier, &url(1, n), true);
    }
    let id = frontier.host_id("h1.example").unwrap();
    frontier.park(id, "max-pages-per-host 9");
    for n in 0..4 {
        offer(&mut frontier, &host_url(n), false);
        commit(&mut frontier);
    }
    assert!(frontier.hosts.is_idle(id));
    assert_eq!(frontier.parked_for().unwrap().as_deref(), Some("max-pages-per-host 9"));
    assert!(store.scan(Tree::IdleHosts, &[]).all(|pair| pair.unwrap().1.len() < 4_096));
    let rows = frontier.remaining(now(2_000), 100).unwrap();
    assert!(rows.contains(&("h1.example".to_owned(), "max-pages-per-host 9".to_owned(), 200)), "{rows:?}");
    while let Some(permit) = frontier.lease(now(9_000)).unwrap() {
        assert_ne!(permit.lease().host, id, "a skipped host is leased");
        settle(&mut frontier, permit, true, None);
    }
    assert_eq!(offer(&mut frontier, &url(1, 7), true), Admitted::Seen);
    assert_eq!(frontier.counts().queued, 200);
    // The next process asks it again.
    let mut again = few(&store, 1);
    let mut pages = 0;
    while let Some(permit) = again.lease(now(9_000)).unwrap() {
        pages += u32::from(permit.lease().host == id);
        settle(&mut again, permit, true, None);
    }
    assert_eq!(pages, 200);
}
