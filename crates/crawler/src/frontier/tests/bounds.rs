//! What bounds the memory of the frontier and the work of one commit.

use super::super::queue::NextUrl;
use super::super::rebuild::journal_names;
use super::*;

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn ids(frontier: &mut Frontier<MemoryStore>, hosts: impl Iterator<Item = u8>) -> Vec<HostId> {
    hosts.map(|host| frontier.host_id(&format!("h{host}.example")).unwrap()).collect()
}

/// Hosts to be evicted: commits until no other than the last one is in memory.
fn evict(frontier: &mut Frontier<MemoryStore>) {
    for n in 900..903 {
        offer(frontier, &host_url(n), false);
        commit(frontier);
    }
}

#[test]
fn the_seen_sets_that_were_used_longest_ago_are_forgotten_down_to_three_quarters() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits { seen_in_memory: 100, ..FrontierLimits::default() });
    for host in 1..=8 {
        for n in 0..20 {
            assert_eq!(offer(&mut frontier, &url(host, n), true), Admitted::Queued);
        }
        if host == 5 {
            // A hundred are in memory. The first host is used again: the second one is now that which wasn't for longest.
            assert_eq!(offer(&mut frontier, &url(1, 0), true), Admitted::Seen);
        }
        // 61 remained, and 19 came.
        assert_eq!(frontier.seen_loaded, [20, 40, 60, 80, 100, 80, 100, 80][usize::from(host) - 1], "{host}");
    }
    // The 101st fingerprint forgets hosts 2 and 3, which leaves 61; the next 101st one hosts 4 and 5.
    let all = ids(&mut frontier, 1..9);
    let loaded: Vec<bool> = all.iter().map(|id| frontier.hosts[*id].seen.is_loaded()).collect();
    assert_eq!(loaded, [true, false, false, false, false, true, true, true]);
    assert_eq!(frontier.seen_loaded, 80);
    // What is read again counts again.
    assert_eq!(offer(&mut frontier, &url(2, 19), true), Admitted::Seen);
    assert_eq!(frontier.seen_loaded, 100);
    // The one that was used last stays, however large.
    let mut frontier = open(&store, FrontierLimits { seen_in_memory: 10, ..FrontierLimits::default() });
    for n in 0..20 {
        offer(&mut frontier, &url(1, n), true);
    }
    assert_eq!(frontier.seen_loaded, 20);
}

#[test]
fn a_link_of_another_host_waits_untested_where_more_was_seen_than_is_loaded_for_it() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits::default());
    for n in 0..4 {
        offer(&mut frontier, &url(4, n), true);
    }
    for n in 0..3 {
        offer(&mut frontier, &url(3, n), true);
    }
    commit(&mut frontier);
    let mut again = open(&store, FrontierLimits { seen_loaded_for_links: 3, ..FrontierLimits::default() });
    assert_eq!(offer(&mut again, &url(3, 9), false), Admitted::Queued, "three are loaded");
    assert_eq!(offer(&mut again, &url(4, 9), false), Admitted::Untested);
    let id = again.known("h4.example").unwrap();
    assert!(again.is_seen(id, url(4, 0).fingerprint(&KEY)).unwrap());
    assert!(!again.is_seen(id, url(4, 9).fingerprint(&KEY)).unwrap());
}

#[test]
fn what_waited_untested_and_was_known_makes_its_host_wait_no_longer() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits::default());
    offer(&mut frontier, &url(1, 1), true);
    commit(&mut frontier);
    let mut again = open(&store, FrontierLimits { seen_loaded_for_links: 0, ..FrontierLimits::default() });
    assert_eq!(offer(&mut again, &url(1, 1), false), Admitted::Untested);
    let id = again.known("h1.example").unwrap();
    let permit = again.lease(now(2_000)).unwrap().unwrap();
    settle(&mut again, permit, true, None);
    let before = again.not_before(id);
    assert!(again.lease(now(2_000)).unwrap().is_none(), "the link was known");
    assert_eq!((again.not_before(id), again.counts().queued), (before, 0));
}

#[test]
fn chunks_of_so_many_hosts_are_in_memory() {
    let store = Arc::new(MemoryStore::default());
    let limits = FrontierLimits { chunks_in_memory: 2, ..FrontierLimits::default() };
    let mut frontier = open(&store, limits);
    for host in 1..=5 {
        for n in 0..64 {
            offer(&mut frontier, &url(host, n), true);
        }
    }
    commit(&mut frontier);
    let mut frontier = open(&store, limits);
    let mut permits = Vec::new();
    for leased in 1..=5 {
        permits.push(frontier.lease(now(2_000)).unwrap().unwrap());
        let is_loaded = |host: &Host| matches!(host.queues[Priority::Link as usize].head(), NextUrl::Here(_));
        let loaded = frontier.hosts.iter().filter(|(_, host)| is_loaded(host)).count();
        // For the third one another is dropped first.
        assert_eq!(loaded, [1, 2, 1, 2, 1][leased - 1], "{leased}");
    }
    for permit in permits {
        settle(&mut frontier, permit, true, None);
    }
}

#[test]
fn few_urls_of_many_hosts_go_into_the_journal_and_many_of_one_host_into_a_chunk() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits::default());
    for n in 0..1_000 {
        offer(&mut frontier, &host_url(n), false);
    }
    commit(&mut frontier);
    let stored = |store: &MemoryStore, tree| store.scan(tree, &[]).count();
    let journal = stored(&store, Tree::Journal);
    assert!((20..60).contains(&journal), "{journal} entries of about 1.5 KB");
    assert_eq!(stored(&store, Tree::Queue), 0);

    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits::default());
    for n in 0..60 {
        let long = CrawlUrl::parse(&format!("http://h1.example/{n}?{}", "x".repeat(400))).unwrap();
        offer(&mut frontier, &long, true);
    }
    commit(&mut frontier);
    assert_eq!((stored(&store, Tree::Journal), stored(&store, Tree::Queue)), (0, 1));
}

#[test]
fn a_host_is_named_in_the_journal_once() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits::default());
    for n in 0..2 {
        offer(&mut frontier, &url(1, n), true);
        commit(&mut frontier);
    }
    let entries = store.scan(Tree::Journal, &[]).map(|pair| journal_names(&pair.unwrap().1));
    let names: Vec<_> =
        entries.map(|names| names.into_iter().map(|(_, name)| name).collect::<Vec<_>>()).collect();
    assert_eq!(names, [vec!["h1.example".to_owned()], Vec::<String>::new()]);
}

#[test]
fn hosts_are_evicted_down_to_seven_eighths() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 80);
    for n in 0..81 {
        offer(&mut frontier, &host_url(n), false);
    }
    frontier.evict_idle_hosts(now(0)).unwrap();
    frontier.evict_idle_hosts(now(0)).unwrap();
    assert_eq!(frontier.hosts.in_memory(), 70);
}

#[test]
fn trap_counters_are_freed_down_to_seven_eighths() {
    let mut frontier = few(&Arc::default(), 100);
    frontier.set_traps(TrapSettings::default());
    for n in 0..16 {
        let url = CrawlUrl::parse(&format!("http://host-{n}.example/?q=1")).unwrap();
        offer(&mut frontier, &url, false);
    }
    let each = frontier.trap_counter_bytes() / 16;
    assert!(each > 0);
    assert_eq!(frontier.limit_trap_counters(16 * each, now(0)).unwrap(), 16 * each, "that much may stay");
    assert_eq!(frontier.limit_trap_counters(8 * each, now(0)).unwrap(), 7 * each);
}

#[test]
fn a_host_with_something_under_way_stays_in_memory() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 1);
    for host in 1..=3 {
        offer(&mut frontier, &url(host, 1), true);
    }
    let [leased, held, owes] = ids(&mut frontier, 1..4)[..] else { panic!("three hosts") };
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    assert_eq!(permit.lease().host, leased);
    frontier.hold_visits(held);
    frontier.queue_robots_fetch(owes, RobotsFetch::new(url(9, 9).origin(), url(3, 77)));
    evict(&mut frontier);
    evict(&mut frontier);
    for id in [leased, held, owes] {
        assert!(!frontier.hosts.is_idle(id), "{id:?}");
    }
    settle(&mut frontier, permit, true, None);
    evict(&mut frontier);
    assert!(frontier.hosts.is_idle(leased));
}

#[test]
fn a_host_used_lately_stays_in_memory_for_another_look() {
    let mut frontier = few(&Arc::default(), 1);
    let id = frontier.host_id("h1.example").unwrap();
    offer(&mut frontier, &url(1, 1), true);
    frontier.hosts[id].used = true;
    offer(&mut frontier, &url(2, 1), true);
    frontier.evict_idle_hosts(now(0)).unwrap();
    assert!(!frontier.hosts.is_idle(id));
    offer(&mut frontier, &url(3, 1), true);
    frontier.evict_idle_hosts(now(0)).unwrap();
    assert!(frontier.hosts.is_idle(id));
}

#[test]
fn a_host_whose_answer_is_not_durable_stays_in_memory_whatever_is_folded() {
    let store = Arc::new(MemoryStore::default());
    let limits = FrontierLimits { journal_bytes: 1, ..FrontierLimits::default() };
    let mut frontier = open(&store, limits);
    for n in 0..3 {
        offer(&mut frontier, &url(1, n), true);
    }
    let id = frontier.known("h1.example").unwrap();
    frontier.cut(now(1_000)).unwrap();
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    let answered = Settlement::finished(Duration::ZERO, delay(Duration::ZERO)).after_request();
    frontier.settle(permit, answered);
    for _ in 0..3 {
        frontier.cut(now(2_000)).unwrap();
        assert!(!frontier.hosts.is_idle(id));
        assert!(frontier.lease(now(2_000)).unwrap().is_none(), "its answer isn't durable");
    }
}

#[test]
fn many_urls_of_a_host_that_is_evicted_are_in_chunks_and_few_are_beside_its_record() {
    // 20 bytes and the path of one URL, and 8 for its fingerprint: 1,024 at most.
    for (path, chunks) in [(996, 0), (997, 1)] {
        let store = Arc::new(MemoryStore::default());
        let mut frontier = few(&store, 1);
        let long = CrawlUrl::parse(&format!("http://h1.example/{}", "x".repeat(path - 1))).unwrap();
        offer(&mut frontier, &long, true);
        evict(&mut frontier);
        let id = frontier.known("h1.example").unwrap();
        assert!(frontier.hosts.is_idle(id));
        assert_eq!(store.scan(Tree::Queue, &[]).count(), chunks, "{path}");
    }
}

#[test]
fn some_sitemaps_are_fetched_at_once_and_a_host_with_nothing_else_looks_again_soon() {
    let most = super::super::sitemaps::AT_ONCE;
    let mut frontier = open(&Arc::default(), FrontierLimits::default());
    for host in 1..=most + 2 {
        let url = CrawlUrl::parse(&format!("http://h{host}.example/sitemap.xml")).unwrap();
        let id = frontier.host_id(url.host()).unwrap();
        let fingerprint = url.fingerprint(&KEY);
        let at = jiff::Timestamp::UNIX_EPOCH;
        let record = SitemapRecord::found(url.to_string(), SitemapFound::WellKnown, String::new(), at);
        frontier.put(Tree::Sitemaps, link_key(id, fingerprint), record.write().unwrap());
        frontier.send_sitemap(id, fingerprint);
    }
    let mut permits: Vec<Permit> = (0..most).map(|_| frontier.lease(now(2_000)).unwrap().unwrap()).collect();
    let is_awaited = |permits: &[Permit]| permits.iter().all(|each| each.awaited().load(Ordering::Relaxed));
    assert!(!is_awaited(&permits[..1]), "each has its place");
    assert!(frontier.lease(now(2_000)).unwrap().is_none());
    assert!(is_awaited(&permits), "two hosts wait");
    let turn = secs(2_000) + Duration::from_millis(250);
    assert_eq!(frontier.next_ready(), Some(turn));
    let later = Now { mono: turn, ..now(2_000) };
    assert!(frontier.lease(later).unwrap().is_none(), "all are still being fetched");
    for second in 2_001..2_003 {
        settle(&mut frontier, permits.pop().unwrap(), true, None);
        assert!(!is_awaited(&permits[..1]), "there is a place again");
        permits.insert(0, frontier.lease(now(second)).unwrap().unwrap());
        assert!(frontier.lease(now(second)).unwrap().is_none());
        assert_eq!(is_awaited(&permits), second == 2_001, "one host still waits, and then none");
    }
}

#[test]
fn any_server_may_still_be_at_work_for_as_long_as_its_slowest_answer_took() {
    let mut frontier = open(&Arc::default(), FrontierLimits::default());
    assert_eq!(frontier.still_at_work(), Duration::ZERO);
    let hosts = ids(&mut frontier, 1..4);
    for (id, slowest_ms) in hosts.iter().zip([200, 1_700, 900]) {
        frontier.counts_mut(*id).slowest_ms = slowest_ms;
    }
    assert_eq!(frontier.still_at_work(), Duration::from_millis(1_700));
    frontier.counts_mut(hosts[0]).slowest_ms = 90_000;
    assert_eq!(frontier.still_at_work(), secs(30));
}

#[test]
fn evicted_hosts_are_listed_as_long_as_urls_of_them_wait() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 1);
    let wait = Delay { length: secs(60), why: DelayReason::RetryAfter };
    offer(&mut frontier, &url(1, 1), true);
    offer(&mut frontier, &url(2, 1), true);
    let [waits, empty] = ids(&mut frontier, 1..3)[..] else { panic!("two hosts") };
    frontier.wait(waits, secs(2_060), wait);
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    assert_eq!(permit.lease().host, empty);
    settle(&mut frontier, permit, true, None);
    evict(&mut frontier);
    evict(&mut frontier);
    assert!(frontier.hosts.is_idle(waits) && frontier.hosts.is_idle(empty));
    let idle: Vec<_> =
        frontier.idle_waits(now(2_000)).filter(|(why, ..)| *why == DelayReason::RetryAfter).collect();
    assert_eq!(idle, [(DelayReason::RetryAfter, secs(60), false)]);
    let all = frontier.hosts.slots().filter(|(_, slot)| slot.host().is_none()).count();
    assert_eq!(frontier.idle_waits(now(2_000)).count(), all - 1, "nothing of the other host waits");
    let rows = frontier.remaining(now(2_000), 100).unwrap();
    assert!(rows.contains(&("h1.example".to_owned(), "retry-after".to_owned(), 1)), "{rows:?}");
    assert!(rows.iter().all(|(host, ..)| host != "h2.example"), "{rows:?}");
    assert_eq!(frontier.remaining_hosts(), rows.len() as u64);
}

#[test]
fn a_sitemap_waits_while_its_host_is_held() {
    let mut frontier = open(&Arc::default(), FrontierLimits::default());
    let url = CrawlUrl::parse("http://h1.example/sitemap.xml").unwrap();
    let id = frontier.host_id(url.host()).unwrap();
    let (fingerprint, at) = (url.fingerprint(&KEY), jiff::Timestamp::UNIX_EPOCH);
    let record = SitemapRecord::found(url.to_string(), SitemapFound::WellKnown, String::new(), at);
    let (key, value) = (link_key(id, fingerprint), record.write().unwrap());
    frontier.put(Tree::Sitemaps, key.clone(), value.clone());
    assert_eq!(frontier.get(Tree::Sitemaps, &key).unwrap(), Some(value), "as the next commit will leave it");
    assert_eq!(frontier.get(Tree::Sitemaps, b"other").unwrap(), None);
    frontier.send_sitemap(id, fingerprint);
    frontier.hold_visits(id);
    // Its robots fetches go on.
    frontier.queue_robots_fetch(id, RobotsFetch::new(super::url(9, 9).origin(), super::url(1, 77)));
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    assert!(matches!(permit.lease().work, Work::RobotsFetch(_)));
    settle(&mut frontier, permit, true, None);
    assert!(frontier.lease(now(2_000)).unwrap().is_none());
    frontier.release_visits(id, delay(Duration::ZERO));
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    assert!(matches!(permit.lease().work, Work::Sitemap(_)));
}

#[test]
fn a_sitemap_waits_while_pages_are_closed() {
    let mut frontier = open(&Arc::default(), FrontierLimits::default());
    let resource = url(1, 1);
    offer_item(&mut frontier, &resource, item(&resource, true), true);
    let id = frontier.known("h1.example").unwrap();
    let sitemap = CrawlUrl::parse("http://h1.example/sitemap.xml").unwrap();
    let (fingerprint, at) = (sitemap.fingerprint(&KEY), jiff::Timestamp::UNIX_EPOCH);
    let record = SitemapRecord::found(sitemap.to_string(), SitemapFound::WellKnown, String::new(), at);
    frontier.put(Tree::Sitemaps, link_key(id, fingerprint), record.write().unwrap());
    frontier.send_sitemap(id, fingerprint);
    frontier.set_open(OpenQueues { pages: false, resources: true });
    let permit = frontier.lease(now(2_000)).unwrap().unwrap();
    assert!(matches!(permit.lease().work, Work::Visit(_)), "{:?}", permit.lease().work);
    settle(&mut frontier, permit, true, None);
    assert!(frontier.lease(now(2_000)).unwrap().is_none());
}

#[test]
fn what_a_repair_knows_counts_among_the_sets_in_memory() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits { seen_in_memory: 100, ..FrontierLimits::default() });
    let all = ids(&mut frontier, 1..6);
    for id in &all {
        for n in 0..20 {
            assert!(frontier.know(*id, Fingerprint(n)).unwrap());
            assert!(!frontier.know(*id, Fingerprint(n)).unwrap(), "it was known");
        }
    }
    for id in all.iter().rev() {
        assert!(!frontier.know(*id, Fingerprint(0)).unwrap());
    }
    assert!(frontier.know(all[0], Fingerprint(20)).unwrap());
    let loaded: Vec<bool> = all.iter().map(|id| frontier.hosts[*id].seen.is_loaded()).collect();
    assert_eq!(loaded, [true, true, true, false, false], "the hosts used longest ago are forgotten");
    assert_eq!(frontier.seen_loaded, 61);
    assert!(!frontier.know(all[4], Fingerprint(7)).unwrap(), "what was forgotten is read again");
}
