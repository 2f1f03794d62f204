//! The parts of the frontier by themselves: hosts, queues, what is stored of them, and the overlay.

use std::collections::VecDeque;

use super::super::host::{FULL, Host, HostRecord, RobotsFetch};
use super::super::idle::may_be_evicted;
use super::super::idle_host::IdleHost;
use super::super::overlay::Overlay;
use super::super::persist::{at_once, is_sealed};
use super::super::queue::{CHUNK, ENTRY, Queue};
use super::super::seen::Seen;
use super::*;
use crate::address::Booked;

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn host() -> Host {
    Host::new("h1.example", delay(secs(5)))
}

#[test]
fn a_host_rests_for_what_its_server_may_work_on_and_its_whole_gap() {
    let at = |ms: u64| Duration::from_millis(ms);
    let now = Now { mono: secs(1_000), ..now(0) };
    // The slowest answer, the least delay, the time before which it isn't asked anyway; and when it is asked then.
    for (slowest_ms, least, not_before, expected) in [
        (0, 0, 0, 1_005_000),
        (0, 8, 0, 1_008_000),
        (1_500, 0, 0, 1_006_500),
        // Nobody works on a request for longer than half a minute.
        (90_000, 0, 0, 1_035_000),
        (1_500, 0, 1_006_499, 1_006_500),
        (1_500, 0, 1_006_501, 1_006_501),
    ] {
        let mut host = host();
        host.counts.slowest_ms = slowest_ms;
        (host.not_before, host.wait) = (at(not_before), delay(secs(1)));
        host.rest(now, secs(least), Duration::ZERO);
        assert_eq!(host.not_before, at(expected), "{slowest_ms} {least} {not_before}");
        assert_eq!(host.last_end, Some(secs(1_000) + at(slowest_ms.min(30_000))));
        let waits_longer = not_before > 1_006_500;
        assert_eq!(host.wait.why == DelayReason::Restart, !waits_longer, "{not_before}");
    }
    // Where nobody knows whether it was asked, it rests as long as a request may take.
    for (slowest_ms, at_work, expected) in [(0, 60_000, 1_065_000), (1_500, 1_000, 1_006_500)] {
        let mut host = host();
        host.counts.slowest_ms = slowest_ms;
        host.rest(now, secs(0), at(at_work));
        assert_eq!(host.not_before, at(expected), "{slowest_ms} {at_work}");
    }
    // A wait that ends at that moment says why already.
    let mut host = host();
    host.not_before = secs(1_005);
    host.rest(now, secs(0), Duration::ZERO);
    assert_eq!(host.wait.why, DelayReason::Configured);
}

#[test]
fn a_host_is_at_rest_where_nothing_goes_on_and_untouched_where_nothing_ever_did() {
    assert!(host().is_at_rest() && host().is_untouched() && may_be_evicted(&host()));
    let busy: [fn(&mut Host); 4] = [
        |host| host.leased = Some(Leased::Head(Priority::Link)),
        |host| host.robots_fetches.push_back(RobotsFetch::new(url(9, 9).origin(), url(1, 77))),
        |host| host.sitemaps.push_back(Fingerprint(1)),
        |host| host.held = true,
    ];
    for (n, change) in busy.into_iter().enumerate() {
        let mut host = host();
        change(&mut host);
        assert!(!host.is_at_rest() && !host.is_untouched() && !may_be_evicted(&host), "{n}");
    }
    let touched: [fn(&mut Host); 7] = [
        |host| host.counts.requests = 1,
        |host| host.pace.pushbacks = 1,
        |host| host.robots_status = Some("allows".into()),
        |host| host.parked = Some(FULL.into()),
        |host| host.last_end = Some(secs(0)),
        |host| host.not_before = secs(1),
        |host| {
            host.push(Priority::Link, item(&url(1, 1), false));
            host.queue(Priority::Link).advance();
        },
    ];
    for (n, change) in touched.into_iter().enumerate() {
        let mut host = host();
        change(&mut host);
        assert!(host.is_at_rest() && !host.is_untouched(), "{n}");
    }
}

#[test]
fn a_host_has_something_fresh_once_a_url_waits_or_was_seen() {
    assert!(!host().has_fresh());
    let mut queued = host();
    queued.push(Priority::Resource, item(&url(1, 1), true));
    assert!(queued.has_fresh());
    let mut seen = host();
    seen.seen.insert(Fingerprint(1));
    assert!(seen.has_fresh());
}

#[test]
fn a_raised_gap_that_ends_with_the_wait_leaves_its_reason() {
    let mut host = host();
    host.not_before = secs(10);
    host.wait = Delay { length: secs(2), why: DelayReason::RetryAfter };
    let gap = |n| Delay { length: secs(n), why: DelayReason::CrawlDelay };
    host.wait_at_least(gap(2));
    assert_eq!((host.not_before, host.wait.why, host.gap), (secs(10), DelayReason::RetryAfter, gap(2)));
    host.wait_at_least(gap(3));
    assert_eq!((host.not_before, host.wait), (secs(11), gap(3)));
}

#[test]
fn a_record_says_whether_a_resource_may_wait() {
    let ends = |head, tail| QueueEnds { head, sealed: head, tail };
    let record = |link, untested, resources| HostRecord {
        queues: [ends(0, 0), link, untested],
        resources,
        ..host().record(now(0), None)
    };
    assert!(!record(ends(0, 3), ends(2, 2), ends(5, 5)).may_hold_resources());
    assert!(record(ends(0, 0), ends(2, 3), ends(5, 5)).may_hold_resources());
    assert!(record(ends(0, 0), ends(2, 2), ends(5, 6)).may_hold_resources());
}

#[test]
fn what_costs_more_than_it_may_beside_a_record_stays_out_of_it() {
    // 20 bytes for a URL beside its path, 8 for each fingerprint: 1,024 of them at most.
    let with = |path: usize, fingerprints: u64| {
        let mut host = host();
        for _ in 0..2 {
            let path = "x".repeat(path).into();
            host.push(Priority::Link, QueuedUrl { path, ..item(&url(1, 1), false) });
        }
        for n in 0..fingerprints {
            host.seen.insert(Fingerprint(n));
        }
        may_be_evicted(&host)
    };
    assert!(with(492, 0) && !with(493, 0));
    assert!(with(480, 3) && !with(480, 4));
}

#[test]
fn a_stored_host_covers_a_journal_entry_up_to_its_ends() {
    let mut host = host();
    for n in 0..3 {
        host.push(Priority::Link, item(&url(1, n), false));
        host.seen.insert(Fingerprint(n.into()));
    }
    let idle = IdleHost::of(HostId(0), &host, now(0), None, 1);
    let urls = |first: u64, count: u16| {
        vec![(Priority::Link as u8, first, (0..count).map(|n| item(&url(1, n), false)).collect())]
    };
    assert!(idle.covers(&[], None));
    assert!(
        idle.covers(&urls(1, 2), None) && !idle.covers(&urls(1, 3), None) && !idle.covers(&urls(3, 1), None)
    );
    let seen = |first, count: u64| idle.covers(&urls(0, 1), Some(&(first, (0..count).collect())));
    assert!(seen(1, 2) && !seen(1, 3) && !seen(3, 1));
    assert!(!idle.covers(&urls(0, 4), Some(&(0, vec![1]))), "all of it has to be covered");
}

#[test]
fn the_marks_of_a_url_say_how_it_was_found_and_which_queue_it_goes_into() {
    let plain = item(&url(1, 1), false);
    assert!(!plain.is_seed() && !plain.has_head_seen() && !plain.finding().is_seed());
    assert!(plain.clone().marked(Marks::HEAD_SEEN).has_head_seen());
    let twice = plain.clone().marked(Marks::HEAD_SEEN).marked(Marks::HEAD_SEEN);
    assert!(twice.has_head_seen(), "a mark stays where it is set again");
    assert!(QueuedUrl::seed(&url(1, 1)).finding().is_seed());
    assert_eq!(plain.priority(), Priority::Link);
    assert_eq!(QueuedUrl::seed(&url(1, 1)).priority(), Priority::First);
    assert_eq!(QueuedUrl { redirects: 1, ..plain.clone() }.priority(), Priority::First);
    let resource = QueuedUrl { redirects: 1, ..plain.marked(Marks::RESOURCE) };
    assert_eq!(resource.priority(), Priority::Resource);
}

#[test]
fn a_permit_keeps_where_its_host_is_booked() {
    let mut frontier = open(&Arc::default(), FrontierLimits::default());
    offer(&mut frontier, &url(1, 1), true);
    let mut permit = frontier.lease(now(2_000)).unwrap().unwrap();
    let booking = Some(Booking { at: Booked::Nowhere, is_last: true });
    permit.book(booking);
    assert_eq!(permit.lease().booking, booking);
}

#[test]
fn a_queue_says_what_the_journal_and_what_chunks_would_take() {
    let one = item(&url(1, 1), false).bytes();
    let mut queue = Queue::default();
    assert_eq!(queue.costs(), (0, 0));
    queue.push(item(&url(1, 1), false));
    assert_eq!(queue.costs(), (one, one + ENTRY));
    queue.journal();
    assert_eq!(queue.costs(), (0, one + ENTRY), "it is in the journal already");
    queue.push(item(&url(1, 1), false));
    assert_eq!(queue.costs(), (one, 2 * one + ENTRY));
    // Three are in a chunk, which would be written again with the next one.
    let ends = QueueEnds { head: CHUNK, sealed: CHUNK + 3, tail: CHUNK + 3 };
    let mut queue = Queue::restore(ends);
    queue.push(item(&url(1, 1), false));
    assert_eq!(queue.costs(), (one, 4 * one + ENTRY));
    assert_eq!(queue.advance(), None, "two of the chunk remain");
    let mut queue = Queue::restore(ends);
    queue.push(item(&url(1, 1), false));
    queue.push(item(&url(1, 1), false));
    assert_eq!(queue.costs(), (2 * one, 5 * one + ENTRY));

    let mut seen = Seen::default();
    assert_eq!(seen.costs(), (0, 0));
    for n in 0..3 {
        seen.insert(Fingerprint(n));
    }
    assert_eq!(seen.costs(), (24, 24 + ENTRY));
    seen.journal();
    seen.insert(Fingerprint(3));
    assert_eq!(seen.costs(), (8, 32 + ENTRY));
    let mut seen = Seen::restore(SeenEnds { sealed: 515, count: 515 });
    seen.insert(Fingerprint(3));
    assert_eq!(seen.costs(), (8, 4 * 8 + ENTRY), "three of the block are written again");

    let mut host = host();
    host.push(Priority::Link, item(&url(1, 1), false));
    host.push(Priority::Resource, item(&url(1, 1), false));
    host.seen.insert(Fingerprint(1));
    assert_eq!(host.costs(), (2 * one + 8, 2 * one + 8 + 3 * ENTRY));
}

#[test]
fn a_url_that_was_in_no_chunk_leaves_none_behind() {
    let mut queue = Queue::default();
    queue.push(item(&url(1, 1), false));
    assert_eq!(queue.advance(), None);
    assert!(queue.is_empty());
}

#[test]
fn what_fills_a_chunk_or_a_block_is_sealed_with_it() {
    for (count, chunks) in [(CHUNK - 1, 0), (CHUNK, 1), (2 * CHUNK, 2)] {
        let mut queue = Queue::default();
        for n in 0..count {
            queue.push(item(&url(1, n as u16), false));
        }
        let mut written = Vec::new();
        queue
            .seal(false, |_| Ok::<_, ()>(None), |number, chunk| written.push((number, chunk.urls.len())))
            .unwrap();
        assert_eq!(written, (0..chunks).map(|number| (number, 64)).collect::<Vec<_>>(), "{count}");
    }
    for (count, blocks) in [(511, 0), (512, 1)] {
        let mut seen = Seen::default();
        for n in 0..count {
            seen.insert(Fingerprint(n));
        }
        let mut written = Vec::new();
        seen.seal(false, |_| Ok::<_, ()>(Vec::new()), |number, block| written.push((number, block.len())))
            .unwrap();
        assert_eq!(written, (0..blocks).map(|number| (number, 512)).collect::<Vec<_>>(), "{count}");
    }
}

#[test]
fn counters_add_up_and_of_the_slowest_response_the_larger_counts() {
    let of = |n: u64, slowest_ms: u64| HostCounts {
        requests: n,
        pages: 2 * n,
        bytes: 3 * n,
        errors: 4 * n,
        skipped: 5 * n,
        robots_requests: 6 * n,
        slowest_ms,
    };
    let mut counts = of(10, 300);
    counts.add(&of(1, 200));
    assert_eq!(counts, of(11, 300));
    counts.add(&of(2, 400));
    assert_eq!(counts, of(13, 400));
}

#[test]
fn much_that_fits_into_few_chunks_goes_there_at_once() {
    assert!(is_sealed(40_000, 80_000) && !is_sealed(40_000, 80_001), "at most twice as much");
    assert!(is_sealed(16_385, 16_385) && !is_sealed(16_384, 16_384), "more than 16 KiB");
    assert!(!is_sealed(1_000, 1_000) && !is_sealed(20_000, 90_000));
}

#[test]
fn the_longer_the_journal_the_more_hosts_are_folded_at_once() {
    let limits = FrontierLimits { folded_at_once: 10, journal_bytes: 1_000, ..FrontierLimits::default() };
    for (journal, expected) in [(0, 10), (1_001, 10), (1_999, 10), (2_000, 20), (3_500, 30)] {
        assert_eq!(at_once(&limits, journal), expected, "{journal}");
    }
    assert_eq!(at_once(&FrontierLimits { journal_bytes: 0, ..limits }, 7), 70);
}

#[test]
fn the_overlay_shows_what_is_cut_until_it_is_committed() {
    let store = Arc::new(MemoryStore::default());
    let mut overlay = Overlay::new(Arc::clone(&store));
    let key = |n: u8| vec![n; 3];
    let get = |overlay: &Overlay<MemoryStore>, n| overlay.get(Tree::Hosts, &key(n)).unwrap();
    assert_eq!((overlay.bytes(), overlay.next_generation()), (0, 1));
    overlay.put(Tree::Hosts, key(1), vec![0; 10]);
    overlay.put(Tree::Hosts, key(2), vec![1; 20]);
    overlay.remove(Tree::Hosts, key(3));
    assert_eq!(overlay.bytes(), 3 + 10 + 3 + 20 + 3);
    let (first, writes) = overlay.cut();
    assert_eq!((first, writes.len(), overlay.bytes(), overlay.next_generation()), (1, 3, 0, 2));
    overlay.put(Tree::Hosts, key(2), vec![2]);
    let (second, later) = overlay.cut();
    assert_eq!((second, overlay.next_generation()), (2, 3));
    // None of it is in the store yet.
    assert_eq!(get(&overlay, 1), Some(vec![0; 10]));
    assert_eq!(get(&overlay, 2), Some(vec![2]));
    store.commit(writes).unwrap();
    overlay.committed(first);
    assert_eq!(get(&overlay, 2), Some(vec![2]), "the second cut isn't in the store");
    // What is committed is read from the store, and takes no memory here.
    store.commit(vec![Write::put(Tree::Hosts, key(1), vec![9])]).unwrap();
    assert_eq!(get(&overlay, 1), Some(vec![9]));
    store.commit(later).unwrap();
    overlay.committed(second);
    store.commit(vec![Write::put(Tree::Hosts, key(2), vec![8])]).unwrap();
    assert_eq!(get(&overlay, 2), Some(vec![8]));
}

#[test]
fn changes_of_the_caller_count_among_the_bytes_of_the_next_cut() {
    let mut frontier = open(&Arc::default(), FrontierLimits::default());
    assert_eq!(frontier.pending_bytes(), 0);
    frontier.put(Tree::Sitemaps, vec![1; 5], vec![2; 70]);
    assert_eq!(frontier.pending_bytes(), 75);
    commit(&mut frontier);
    assert_eq!(frontier.pending_bytes(), 0);
}

#[test]
fn a_lease_is_fenced_by_a_later_one_of_its_host() {
    let mut frontier = open(&Arc::default(), FrontierLimits::default());
    offer(&mut frontier, &url(1, 1), true);
    let first = frontier.lease(now(2_000)).unwrap().unwrap();
    let lost = first.lease().clone();
    assert_eq!(frontier.counts().in_flight, 1);
    settle(&mut frontier, first, false, None);
    assert_eq!(frontier.counts().in_flight, 0);
    let second = frontier.lease(now(2_000)).unwrap().unwrap();
    assert!(!frontier.is_current(&lost) && frontier.is_current(second.lease()));
    let late = Settlement::finished(Duration::ZERO, delay(Duration::ZERO));
    assert_eq!(frontier.complete(&lost, late), Completion::Fenced);
    settle(&mut frontier, second, true, None);
    assert_eq!(frontier.counts(), FrontierCounts { queued: 0, in_flight: 0, hosts: 1 });
    assert_eq!(frontier.next_ready(), None, "a host without URLs isn't looked at");
    assert_eq!(frontier.waiting_for_commit(), 0, "nothing was asked");
}

#[test]
fn the_names_of_all_hosts_are_said_once_whatever_the_store_has_of_them() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 1);
    for n in 0..3 {
        offer(&mut frontier, &host_url(n), false);
        commit(&mut frontier);
    }
    // One of those that are in a block gets a record of its own, and one is in the journal alone.
    let id = frontier.known("host-0.example").unwrap();
    frontier.load(id).unwrap();
    frontier.counts_mut(id).requests = 1;
    frontier.send_sitemap(id, Fingerprint(1));
    offer(&mut frontier, &host_url(3), false);
    commit(&mut frontier);
    let stored = |tree| store.scan(tree, &[]).count();
    assert!(stored(Tree::IdleHosts) > 0 && stored(Tree::Hosts) > 0 && stored(Tree::Journal) > 0);
    let mut names = Vec::new();
    let mut note = |name: &str| names.push(name.to_owned());
    let opening =
        Opening { now: now(1_000), clock: None, rest: None, at_work: Duration::ZERO, names: &mut note };
    let gap = delay(Duration::ZERO);
    Frontier::reopen(&store, FrontierLimits::default(), gap, KEY, opening).unwrap();
    names.sort();
    let expected: VecDeque<String> = (0..4).map(|n| format!("host-{n}.example")).collect();
    assert_eq!(VecDeque::from(names), expected);
}
