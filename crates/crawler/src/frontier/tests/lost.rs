//! Stores in which something is missing, and what the next process takes up.

use super::*;

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn reopened(
    store: &Arc<MemoryStore>,
    rest: Option<Duration>,
    most: usize,
) -> Result<Frontier<MemoryStore>, StoreError> {
    let opening = Opening { now: now(5_000), clock: None, rest, at_work: Duration::ZERO, names: &mut |_| {} };
    let limits = FrontierLimits { hosts_in_memory: most, ..FrontierLimits::default() };
    Frontier::reopen(store, limits, delay(Duration::ZERO), KEY, opening)
}

fn forget(store: &MemoryStore, tree: Tree, key: &[u8]) {
    store.commit(vec![Write { tree, key: key.to_vec(), value: None }]).unwrap();
}

fn keys(store: &MemoryStore, tree: Tree) -> Vec<Vec<u8>> {
    store.scan(tree, &[]).map(|pair| pair.unwrap().0).collect()
}

/// A host with a record and three URLs, one of them in the last journal entry.
fn with_a_record(change: impl FnOnce(&mut Frontier<MemoryStore>, HostId)) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits::default());
    offer(&mut frontier, &url(1, 1), true);
    let id = frontier.known("h1.example").unwrap();
    frontier.counts_mut(id).requests = 1;
    commit(&mut frontier);
    change(&mut frontier, id);
    commit(&mut frontier);
    store
}

#[test]
fn a_journal_entry_that_is_missing_is_noticed_by_urls_or_by_what_was_seen() {
    let changes: [fn(&mut Frontier<MemoryStore>, HostId); 2] = [
        |frontier, id| frontier.requeue(id, item(&url(1, 1), false)),
        |frontier, id| assert!(frontier.know(id, Fingerprint(7)).unwrap()),
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let store = with_a_record(change);
        assert!(reopened(&store, None, 9).is_ok(), "{n}");
        forget(&store, Tree::Journal, keys(&store, Tree::Journal).last().unwrap());
        let error = reopened(&store, None, 9).unwrap_err().to_string();
        assert!(error.contains("h1.example"), "{n}: {error}");
    }
}

#[test]
fn a_host_that_is_missing_is_noticed() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits::default());
    for host in 1..=3 {
        let id = frontier.host_id(&format!("h{host}.example")).unwrap();
        frontier.counts_mut(id).requests = 1;
    }
    commit(&mut frontier);
    assert!(reopened(&store, None, 9).is_ok());
    forget(&store, Tree::Hosts, &HostId(1).key());
    assert!(reopened(&store, None, 9).unwrap_err().to_string().contains("host 1"));
}

#[test]
fn a_fingerprint_that_is_missing_in_a_block_is_noticed() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = open(&store, FrontierLimits::default());
    // Two blocks of 512 fingerprints, the second one with 88, in parts of 128.
    for n in 0..600 {
        offer(&mut frontier, &url(1, n), true);
    }
    commit(&mut frontier);
    let id = frontier.known("h1.example").unwrap();
    frontier.seal(id, true).unwrap();
    frontier.mark(id);
    commit(&mut frontier);
    let blocks = keys(&store, Tree::Seen);
    let lengths: Vec<_> =
        blocks.iter().map(|key| store.get(Tree::Seen, key).unwrap().unwrap().len() / 8).collect();
    assert_eq!(lengths, [128, 128, 128, 128, 88]);
    let mut again = reopened(&store, None, 9).unwrap();
    assert_eq!(offer(&mut again, &url(1, 599), true), Admitted::Seen);
    for block in blocks {
        let whole = store.get(Tree::Seen, &block).unwrap().unwrap();
        let short = whole[8..].to_vec();
        store.commit(vec![Write::put(Tree::Seen, block.clone(), short)]).unwrap();
        let mut again = reopened(&store, None, 9).unwrap();
        assert!(again.is_seen(id, Fingerprint(1)).unwrap_err().to_string().contains("fingerprints"));
        store.commit(vec![Write::put(Tree::Seen, block, whole)]).unwrap();
    }
}

/// The paths of all that waits, in the order in which it is leased. Nothing is committed.
fn drained(frontier: &mut Frontier<MemoryStore>) -> Result<Vec<String>, StoreError> {
    let mut paths = Vec::new();
    while let Some(permit) = frontier.lease(now(6_000))? {
        paths.push(permit.lease().url.path_and_query().to_owned());
        settle(frontier, permit, true, None);
    }
    Ok(paths)
}

#[test]
fn long_urls_make_two_values_of_a_chunk_and_none_remains_when_it_is_done() {
    for bytes in [0, 60, 150] {
        let store = Arc::new(MemoryStore::default());
        let mut frontier = open(&store, FrontierLimits::default());
        let offer_more = |frontier: &mut Frontier<MemoryStore>, range: std::ops::Range<u16>| {
            for n in range {
                offer(frontier, &long_url(1, n, bytes), true);
            }
        };
        let seal = |frontier: &mut Frontier<MemoryStore>| {
            let id = frontier.known("h1.example").unwrap();
            frontier.seal(id, true).unwrap();
            frontier.mark(id);
            commit(frontier);
        };
        // A chunk of 64, and one that is continued twice.
        offer_more(&mut frontier, 0..70);
        seal(&mut frontier);
        offer_more(&mut frontier, 70..100);
        seal(&mut frontier);
        offer_more(&mut frontier, 100..120);
        seal(&mut frontier);
        let values = keys(&store, Tree::Queue);
        assert_eq!(values.len(), if bytes == 0 { 2 } else { 4 }, "{bytes}: {values:?}");
        for key in &values {
            let value = store.get(Tree::Queue, key).unwrap().unwrap();
            assert!(bytes > 60 || value.len() <= 1920, "{bytes}: {} bytes", value.len());
        }
        let waiting = stored_queue(&*store).unwrap().map(|stored| stored.unwrap().url.path.to_string());
        let expected: Vec<_> = (0..120).map(|n| long_url(1, n, bytes).path_and_query().to_owned()).collect();
        assert_eq!(waiting.collect::<Vec<_>>(), expected, "{bytes}");

        // Without any of its values the queue is damaged, and says so.
        for key in values.iter().filter(|_| bytes > 0) {
            let value = store.get(Tree::Queue, key).unwrap().unwrap();
            forget(&store, Tree::Queue, key);
            let mut again = reopened(&store, None, 9).unwrap();
            assert!(drained(&mut again).is_err(), "{key:?}");
            store.commit(vec![Write::put(Tree::Queue, key.clone(), value)]).unwrap();
        }
        let mut again = reopened(&store, None, 9).unwrap();
        assert_eq!(drained(&mut again).unwrap(), expected, "{bytes}");
        commit(&mut again);
        assert!(keys(&store, Tree::Queue).is_empty(), "{bytes}: what is done is removed");
    }
}

#[test]
fn blocks_of_database_format_4_are_read_and_go_on_in_parts() {
    // The last block has few, exactly a part, more, all.
    for many in [100, 128, 600, 640, 1000, 1024] {
        let store = Arc::new(MemoryStore::default());
        let mut frontier = open(&store, FrontierLimits::default());
        let seal = |frontier: &mut Frontier<MemoryStore>| {
            let id = frontier.known("h1.example").unwrap();
            frontier.seal(id, true).unwrap();
            frontier.mark(id);
            commit(frontier);
        };
        for n in 0..many {
            offer(&mut frontier, &url(1, n), true);
        }
        commit(&mut frontier);
        seal(&mut frontier);
        // As they were: a value of each block, under the key of its first part.
        let (firsts, others): (Vec<_>, Vec<_>) =
            keys(&store, Tree::Seen).into_iter().partition(|key| key.len() == 8);
        let mut blocks: Vec<_> = firsts
            .into_iter()
            .map(|key| (key.clone(), store.get(Tree::Seen, &key).unwrap().unwrap()))
            .collect();
        for key in others {
            let (_, block) = blocks.iter_mut().find(|(first, _)| key.starts_with(first)).unwrap();
            block.extend(store.get(Tree::Seen, &key).unwrap().unwrap());
            store.commit(vec![Write::remove(Tree::Seen, key)]).unwrap();
        }
        let writes = blocks.into_iter().map(|(key, block)| Write::put(Tree::Seen, key, block));
        store.commit(writes.collect()).unwrap();

        let mut again = reopened(&store, None, 9).unwrap();
        for n in 0..many {
            assert_eq!(offer(&mut again, &url(1, n), true), Admitted::Seen, "{n} of {many}");
        }
        for n in many..many + 300 {
            assert_eq!(offer(&mut again, &url(1, n), true), Admitted::Queued, "{n} behind {many}");
        }
        commit(&mut again);
        seal(&mut again);
        let mut again = reopened(&store, None, 9).unwrap();
        for n in 0..many + 300 {
            assert_eq!(offer(&mut again, &url(1, n), true), Admitted::Seen, "{n} of {many} and 300");
        }
    }
}

#[test]
fn a_host_without_a_wait_is_not_written_again_at_every_start() {
    let store = with_a_record(|_, _| {});
    let mut again = reopened(&store, None, 9).unwrap();
    let (_, writes) = again.cut(now(5_000)).unwrap();
    assert!(writes.is_empty(), "{writes:?}");
}

/// A host that is evicted while it waits so long, with a gap of 5 s; `asked` says that it was asked before.
fn evicted_waiting(length: Duration, why: DelayReason, asked: bool) -> (Arc<MemoryStore>, HostId) {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 1);
    offer(&mut frontier, &url(1, 1), true);
    let id = frontier.known("h1.example").unwrap();
    frontier.set_gap(id, delay(secs(5)));
    frontier.counts_mut(id).requests = asked.into();
    frontier.counts_mut(id).slowest_ms = 1_500;
    frontier.wait(id, secs(1_000) + length, Delay { length, why });
    for n in 0..3 {
        offer(&mut frontier, &host_url(n), false);
        commit(&mut frontier);
    }
    assert!(frontier.hosts.is_idle(id));
    (store, id)
}

#[test]
fn a_pause_of_an_evicted_host_is_on_record_again_where_it_starts_over_and_a_delay_is_not() {
    // No clock says how long the process before was gone.
    for (length, is_in_memory) in [(secs(60), true), (secs(3), false), (Duration::ZERO, false)] {
        let (store, id) = evicted_waiting(length, DelayReason::RetryAfter, true);
        let mut again = reopened(&store, None, 1).unwrap();
        assert_eq!(!again.hosts.is_idle(id), is_in_memory, "{length:?}");
        assert_eq!(again.dirty.contains(&id), is_in_memory, "{length:?}");
        again.load(id).unwrap();
        let waits = again.not_before(id).saturating_sub(secs(5_000));
        assert!(waits >= length.max(secs(5)), "{waits:?}");
    }
}

#[test]
fn a_host_evicted_by_another_process_waits_from_the_start_of_this_one() {
    let (store, id) = evicted_waiting(secs(3), DelayReason::RetryAfter, true);
    let mut again = reopened(&store, Some(secs(0)), 1).unwrap();
    assert!(again.hosts.is_idle(id));
    again.load(id).unwrap();
    // 1.5 s that its server may be at work, its gap of 5 s, in whole seconds.
    assert_eq!(again.not_before(id), secs(5_007));
    assert_eq!(again.state(id).waited.length, secs(7));
    assert_eq!(again.hosts[id].last_end, Some(secs(5_000) + Duration::from_millis(1_500)));
}

#[test]
fn a_host_evicted_by_this_process_keeps_its_own_wait() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 1);
    offer(&mut frontier, &url(1, 1), true);
    let id = frontier.known("h1.example").unwrap();
    let pause = Delay { length: secs(60), why: DelayReason::RetryAfter };
    frontier.wait(id, secs(1_010), pause);
    for n in 0..3 {
        offer(&mut frontier, &host_url(n), false);
        commit(&mut frontier);
    }
    assert!(frontier.hosts.is_idle(id));
    frontier.load(id).unwrap();
    assert_eq!((frontier.not_before(id), frontier.state(id).waited), (secs(1_010), pause));
}

#[test]
fn a_repair_reads_the_urls_of_the_journal_of_chunks_and_of_blocks() {
    use super::super::rebuild::{block_hosts, chunk_urls, journal_urls};
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 9);
    for n in 0..70 {
        offer(&mut frontier, &url(1, n), true);
    }
    commit(&mut frontier);
    let values = |tree| store.scan(tree, &[]).map(|pair| pair.unwrap().1).collect::<Vec<_>>();
    let waiting = |urls: &[QueuedUrl]| urls.iter().map(|url| url.path.to_string()).collect::<Vec<_>>();
    let expected = |range: std::ops::Range<u16>| {
        range.map(|n| url(1, n).path_and_query().to_owned()).collect::<Vec<_>>()
    };
    let [chunk] = &values(Tree::Queue)[..] else { panic!("one chunk of 64") };
    let (first, urls) = chunk_urls(chunk).unwrap();
    assert_eq!((first, waiting(&urls)), (0, expected(0..64)));
    let [entry] = &values(Tree::Journal)[..] else { panic!("one entry") };
    let stretches = journal_urls(entry).unwrap();
    let [(id, queue, first, urls)] = &stretches[..] else { panic!("{stretches:?}") };
    assert_eq!((*id, *queue, *first, waiting(urls)), (HostId(0), Priority::Link as u8, 64, expected(64..70)));
    assert!(chunk_urls(b"nonsense").is_none() && journal_urls(b"\xff\xff").is_none());

    let (store, id) = evicted_waiting(secs(3), DelayReason::RetryAfter, true);
    let (_, block) = store.scan(Tree::IdleHosts, &[]).next().unwrap().unwrap();
    let hosts = block_hosts(&block);
    let (_, record, stretches) = hosts.iter().find(|(host, ..)| *host == id).unwrap();
    assert_eq!(record.host, "h1.example");
    let urls: Vec<_> = stretches.iter().filter(|(.., urls)| !urls.is_empty()).collect();
    let [(host, queue, first, urls)] = urls[..] else { panic!("{stretches:?}") };
    assert_eq!((*host, *queue, *first, waiting(urls)), (id, Priority::Link as u8, 0, expected(1..2)));
}

#[test]
fn a_repair_takes_over_the_pace_the_pauses_and_the_counters_of_a_host() {
    let pause = Delay { length: secs(60), why: DelayReason::RetryAfter };
    let mut other = Host::new("h1.example", delay(secs(7)));
    other.counts = HostCounts { requests: 5, pages: 3, ..HostCounts::default() };
    other.pace = HostPace { pushbacks: 2, ..HostPace::default() };
    other.robots_status = Some("allows".into());
    (other.not_before, other.wait) = (secs(1_060), pause);
    other.push(Priority::Link, item(&url(1, 1), false));
    let record = other.record(now(1_000), None);
    let mut frontier = open(&Arc::default(), FrontierLimits::default());
    let id = frontier.host_id("h1.example").unwrap();
    frontier.take_over(id, &record, now(5_000));
    let state = frontier.state(id);
    assert_eq!((state.counts, state.pace, state.gap.length), (other.counts, other.pace, secs(7)));
    assert_eq!((state.not_before, state.waited.why), (secs(5_060), DelayReason::RetryAfter));
    assert_eq!(frontier.hosts[id].robots_status.as_deref(), Some("allows"));
    assert_eq!(frontier.counts().queued, 0, "its URLs are taken over one by one");
}

#[test]
fn the_queue_of_one_host_is_read_alone() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 1);
    for host in 1..=3 {
        offer(&mut frontier, &url(host, 1), true);
        commit(&mut frontier);
    }
    for host in 1..=3_u8 {
        let id = frontier.known(&format!("h{host}.example")).unwrap();
        let urls: Vec<_> = stored_queue_of(&*store, id).unwrap().map(Result::unwrap).collect();
        assert_eq!(urls.len(), 1, "{host}");
        assert_eq!(stored_host(&*store, id).unwrap().unwrap().host, format!("h{host}.example"));
    }
    assert_eq!(stored_queue(&*store).unwrap().count(), 3);
    assert!(stored_host(&*store, HostId(7)).unwrap().is_none());
    // Of a host that the journal alone has, its entries say what waits and what was seen.
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 9);
    for n in 1..=4 {
        offer(&mut frontier, &url(1, n), true);
        commit(&mut frontier);
    }
    let record = stored_host(&*store, HostId(0)).unwrap().unwrap();
    assert_eq!((record.queues[Priority::Link as usize].tail, record.seen.count), (4, 4));
}
