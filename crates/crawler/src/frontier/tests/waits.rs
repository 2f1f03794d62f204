//! What hosts wait for, and what is said of them.

use super::*;

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

const PAUSE: DelayReason = DelayReason::RetryAfter;

/// A host with one URL that may be asked at this time, for this reason.
fn waiting_host(frontier: &mut Frontier<MemoryStore>, host: u8, at: u64, why: DelayReason) -> HostId {
    offer(frontier, &url(host, 1), true);
    let id = frontier.known(&format!("h{host}.example")).unwrap();
    frontier.wait(id, secs(at), Delay { length: secs(60), why });
    id
}

/// Puts all hosts away that may be, by others that come after them. These have nothing to ask for.
fn evict(frontier: &mut Frontier<MemoryStore>) {
    for n in 900..904 {
        let id = frontier.host_id(&format!("host-{n}.example")).unwrap();
        frontier.hosts[id].used = false;
        commit(frontier);
    }
}

#[test]
fn the_time_of_an_evicted_host_is_in_whole_seconds() {
    assert_eq!(ReadyAt::seconds(7).time(), secs(7));
    assert_eq!(ReadyAt::new(secs(7)), ReadyAt::seconds(7));
    assert_eq!(ReadyAt::new(Duration::MAX).time(), Duration::from_nanos(u64::MAX));
}

#[test]
fn a_pause_is_told_from_an_ordinary_gap() {
    let mut frontier = few(&Arc::default(), 1);
    let id = waiting_host(&mut frontier, 1, 2_060, PAUSE);
    assert_eq!(frontier.name(id), "h1.example");
    assert_eq!(frontier.pause_of(id, now(2_000)), secs(60));
    assert_eq!(frontier.pause_of(id, now(3_000)), Duration::ZERO);
    frontier.wait(id, secs(2_060), delay(secs(60)));
    assert_eq!(frontier.pause_of(id, now(2_000)), Duration::ZERO);
    frontier.wait(id, secs(2_060), Delay { length: secs(60), why: PAUSE });
    evict(&mut frontier);
    assert!(frontier.hosts.is_idle(id));
    assert_eq!(frontier.pause_of(id, now(2_000)), Duration::ZERO, "it isn't in memory");
}

#[test]
fn the_next_time_is_that_of_the_last_word_on_a_wait() {
    for most in [8, 1] {
        let mut frontier = few(&Arc::default(), most);
        let id = waiting_host(&mut frontier, 1, 2_010, PAUSE);
        evict(&mut frontier);
        assert_eq!(frontier.hosts.is_idle(id), most == 1);
        frontier.wait(id, secs(2_060), Delay { length: secs(60), why: PAUSE });
        assert_eq!(frontier.next_ready(), Some(secs(2_060)));
        assert!(frontier.lease(now(2_059)).unwrap().is_none());
        assert!(frontier.lease(now(2_060)).unwrap().is_some());
    }
}

#[test]
fn hosts_are_listed_that_wait_with_urls_and_are_not_asked_just_now() {
    for most in [100, 1] {
        let mut frontier = few(&Arc::default(), most);
        let [asked, empty] = [1, 2].map(|host| waiting_host(&mut frontier, host, 0, DelayReason::Configured));
        for host in 3..=6 {
            waiting_host(&mut frontier, host, 9_000, PAUSE);
        }
        let first = frontier.lease(now(2_000)).unwrap().unwrap();
        let second = frontier.lease(now(2_000)).unwrap().unwrap();
        let (kept, done) = if first.lease().host == asked { (first, second) } else { (second, first) };
        assert_eq!(done.lease().host, empty);
        settle(&mut frontier, done, true, None);
        evict(&mut frontier);
        evict(&mut frontier);
        assert_eq!(frontier.hosts.is_idle(empty), most == 1);
        let names: BTreeSet<String> =
            frontier.waiting(now(2_000)).map(|waiting| waiting.host.to_owned()).collect();
        assert!(!names.contains("h1.example") && !names.contains("h2.example"), "{names:?}");
        assert_eq!(names.len(), if most == 1 { 0 } else { 4 });
        assert_eq!(frontier.remaining_hosts(), 4);
        assert_eq!(frontier.remaining(now(2_000), 100).unwrap().len(), 4);
        assert_eq!(frontier.remaining(now(2_000), 3).unwrap().len(), 3);
        settle(&mut frontier, kept, true, None);
    }
    // Some in memory and some not: those in memory first, and not more than are asked for.
    let mut frontier = few(&Arc::default(), 1);
    for host in 1..=3 {
        waiting_host(&mut frontier, host, 9_000, PAUSE);
    }
    evict(&mut frontier);
    waiting_host(&mut frontier, 4, 9_000, PAUSE);
    assert!(frontier.waiting(now(2_000)).count() == 1 && frontier.remaining_hosts() == 4);
    let rows = frontier.remaining(now(2_000), 3).unwrap();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().any(|(host, ..)| host == "h4.example"), "{rows:?}");
}

#[test]
fn a_skipped_host_is_the_reason_as_long_as_urls_of_it_wait() {
    for most in [100, 1] {
        for (reason, has_url, expected) in [
            (Some("crawl-delay 900 s"), true, Some("crawl-delay 900 s")),
            (Some("crawl-delay 900 s"), false, None),
            (None, true, None),
        ] {
            let mut frontier = few(&Arc::default(), most);
            let id = waiting_host(&mut frontier, 1, 0, DelayReason::Configured);
            if !has_url {
                let permit = frontier.lease(now(2_000)).unwrap().unwrap();
                settle(&mut frontier, permit, true, None);
            }
            if let Some(reason) = reason {
                frontier.park(id, reason);
            }
            evict(&mut frontier);
            evict(&mut frontier);
            assert_eq!(frontier.hosts.is_idle(id), most == 1, "{reason:?} {has_url}");
            let found = frontier.parked_for().unwrap();
            assert_eq!(found.is_some(), expected.is_some(), "{most} {reason:?} {has_url}");
            if most == 100 {
                assert_eq!(found.as_deref(), expected);
            }
        }
    }
    // While it is asked it isn't what remains.
    let mut frontier = few(&Arc::default(), 100);
    let id = waiting_host(&mut frontier, 1, 0, DelayReason::Configured);
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    frontier.park(id, "crawl-delay 900 s");
    assert_eq!(frontier.parked_for().unwrap(), None);
    settle(&mut frontier, permit, false, None);
    assert_eq!(frontier.parked_for().unwrap().as_deref(), Some("crawl-delay 900 s"));
}

#[test]
fn something_waits_in_a_closed_queue_where_urls_wait_that_may_not_be_asked_for() {
    const ONLY_RESOURCES: OpenQueues = OpenQueues { pages: false, resources: true };
    for most in [100, 1] {
        let mut frontier = few(&Arc::default(), most);
        let empty = waiting_host(&mut frontier, 1, 0, DelayReason::Configured);
        let permit = frontier.lease(now(2_000)).unwrap().unwrap();
        settle(&mut frontier, permit, true, None);
        evict(&mut frontier);
        evict(&mut frontier);
        assert_eq!(frontier.hosts.is_idle(empty), most == 1);
        assert!(!frontier.has_closed(), "nothing waits");
        let id = waiting_host(&mut frontier, 2, 0, DelayReason::Configured);
        assert!(!frontier.has_closed(), "what waits may be asked for");
        evict(&mut frontier);
        assert_eq!(frontier.hosts.is_idle(id), most == 1);
        assert!(!frontier.has_closed());
        frontier.load(id).unwrap();
        frontier.set_open(ONLY_RESOURCES);
        assert!(frontier.has_closed());
        evict(&mut frontier);
        evict(&mut frontier);
        assert_eq!(frontier.hosts.is_idle(id), most == 1);
        assert!(frontier.has_closed());
    }
}

#[test]
fn a_prospect_is_an_ordinary_gap_or_a_pause_that_ends_soon_enough() {
    for most in [100, 1] {
        for (why, at, patience, has_prospect) in [
            (DelayReason::Configured, 9_000, 10, true),
            (PAUSE, 2_010, 10, true),
            (PAUSE, 2_011, 10, false),
            (PAUSE, 1_000, 0, true),
        ] {
            let mut frontier = few(&Arc::default(), most);
            let id = waiting_host(&mut frontier, 1, at, why);
            evict(&mut frontier);
            assert_eq!(frontier.hosts.is_idle(id), most == 1);
            assert_eq!(frontier.has_prospect(now(2_000), secs(patience)), has_prospect, "{why} {at}");
        }
    }
}

#[cfg(feature = "cluster")]
#[test]
fn copied_hosts_leave_memory_where_their_blocks_still_have_them() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 1);
    let plain = waiting_host(&mut frontier, 1, 0, DelayReason::Configured);
    let changed = waiting_host(&mut frontier, 2, 0, DelayReason::Configured);
    evict(&mut frontier);
    evict(&mut frontier);
    let fresh = waiting_host(&mut frontier, 3, 0, DelayReason::Configured);
    frontier.hosts[fresh].dirty = false;
    for id in [plain, changed, fresh] {
        frontier.copy_host(id, now(2_000)).unwrap();
    }
    frontier.counts_mut(changed).requests = 7;
    frontier.forget_copied(&[plain, changed, fresh].into());
    assert!(frontier.hosts.is_idle(plain));
    assert!(!frontier.hosts.is_idle(changed), "its block has another number of requests");
    assert!(!frontier.hosts.is_idle(fresh), "no block has it");
}
