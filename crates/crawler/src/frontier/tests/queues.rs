//! Queues of pages and of resources: their order, which of them are open, and how they are stored.

use super::*;

const ONLY_PAGES: OpenQueues = OpenQueues { pages: true, resources: false };
const ONLY_RESOURCES: OpenQueues = OpenQueues { pages: false, resources: true };

/// Leases and settles what is ready, and gives the paths.
fn drain(frontier: &mut Frontier<MemoryStore>) -> Vec<String> {
    let mut paths = Vec::new();
    while let Some(permit) = frontier.lease(now(9_000)).unwrap() {
        paths.push(permit.lease().url.path_and_query().split('?').next().unwrap().to_owned());
        settle(frontier, permit, true, None);
    }
    paths
}

/// Three hosts with a page and a resource each, of which only those queues are open. Two hosts are evicted, one is in memory.
fn with_closed_queues(store: &Arc<MemoryStore>, open: OpenQueues) -> Frontier<MemoryStore> {
    let mut frontier = few(store, 1);
    for host in 1..4 {
        offer(&mut frontier, &url(host, 1), true);
        let resource = url(host, 2);
        offer_item(&mut frontier, &resource, item(&resource, true), true);
        commit(&mut frontier);
    }
    frontier.set_open(open);
    frontier
}

#[test]
fn resources_are_leased_after_pages_and_their_repeated_tries_too() {
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 8);
    let id = frontier.host_id("h1.example").unwrap();
    for (n, is_resource) in [(1, true), (2, false), (3, true), (4, false)] {
        let url = url(1, n);
        offer_item(&mut frontier, &url, item(&url, is_resource), true);
    }
    // What waits untested may be either.
    frontier.host_mut(id).push(Priority::Untested, item(&url(1, 5), true));
    frontier.host_mut(id).push(Priority::Untested, item(&url(1, 6), false));
    frontier.queued += 2;
    commit(&mut frontier);
    assert_eq!(drain(&mut frontier), ["/page-2", "/page-4", "/page-6", "/page-1", "/page-3", "/page-5"]);
    assert_eq!(frontier.counts().queued, 0);

    for (n, is_resource) in [(11, true), (12, true)] {
        let url = url(1, n);
        offer_item(&mut frontier, &url, item(&url, is_resource), true);
    }
    let permit = frontier.lease(now(9_000)).unwrap().unwrap();
    settle(&mut frontier, permit, true, Some(QueuedUrl { tries: 1, ..item(&url(1, 11), true) }));
    offer(&mut frontier, &url(1, 13), true);
    assert_eq!(drain(&mut frontier), ["/page-13", "/page-12", "/page-11"]);
}

#[test]
fn costly_pages_are_leased_last_in_memory_or_not_and_after_a_restart() {
    for most in [8, 1] {
        let store = Arc::new(MemoryStore::default());
        let mut frontier = few(&store, most);
        let costly = |n| item(&url(1, n), false).marked(Marks::COSTLY);
        for n in [6, 7] {
            offer_item(&mut frontier, &url(1, n), costly(n), true);
        }
        offer_item(&mut frontier, &url(1, 3), item(&url(1, 3), true), true);
        let id = frontier.host_id("h1.example").unwrap();
        frontier.host_mut(id).push(Priority::Untested, costly(8));
        frontier.queued += 1;
        offer(&mut frontier, &url(1, 5), true);
        offer(&mut frontier, &url(2, 1), true);
        commit(&mut frontier);
        offer(&mut frontier, &url(3, 1), true);
        commit(&mut frontier);
        assert_eq!(frontier.hosts.is_idle(id), most == 1);
        for mut frontier in [few(&store, most), frontier] {
            let mut order = drain(&mut frontier);
            // That of the other hosts.
            order.retain(|path| path != "/page-1");
            assert_eq!(order, ["/page-5", "/page-3", "/page-6", "/page-7", "/page-8"]);
            assert_eq!(frontier.counts().queued, 0);
        }
        // They are pages: where no page is to be fetched any more, they wait.
        let mut closed = few(&store, most);
        closed.set_open(ONLY_RESOURCES);
        assert_eq!(drain(&mut closed), ["/page-3"]);
    }
}

#[test]
fn what_waits_in_a_closed_queue_stays_there_in_memory_or_not() {
    for (open, first, then) in [(ONLY_PAGES, "/page-1", "/page-2"), (ONLY_RESOURCES, "/page-2", "/page-1")] {
        let store = Arc::new(MemoryStore::default());
        let mut frontier = with_closed_queues(&store, open);
        assert_eq!(drain(&mut frontier), [first; 3]);
        assert!(!frontier.has_prospect(now(9_000), Duration::MAX) && frontier.has_closed());
        assert_eq!(frontier.next_ready(), None);
        assert_eq!(frontier.counts().queued, 3);
        commit(&mut frontier);
        // The next process finds them.
        let mut again = few(&store, 1);
        assert_eq!(drain(&mut again), [then; 3]);
    }
}

#[test]
fn a_queue_that_opens_again_gives_what_waited_in_it_in_memory_or_not() {
    const BOTH: OpenQueues = OpenQueues { pages: true, resources: true };
    for (open, first, then) in [(ONLY_PAGES, "/page-1", "/page-2"), (ONLY_RESOURCES, "/page-2", "/page-1")] {
        let store = Arc::new(MemoryStore::default());
        let mut frontier = with_closed_queues(&store, open);
        assert_eq!(drain(&mut frontier), [first; 3]);
        // The first look finds that they were used, the second one puts all but one away.
        commit(&mut frontier);
        commit(&mut frontier);
        assert_eq!(frontier.hosts.in_memory(), 0);
        assert!(!frontier.has_prospect(now(9_000), Duration::MAX));
        assert!(frontier.has_prospect_with(BOTH, now(9_000), Duration::MAX));
        assert!(!frontier.has_prospect_with(open, now(9_000), Duration::MAX));
        frontier.set_open(BOTH);
        assert_eq!(frontier.open_queues(), BOTH);
        assert!(frontier.has_prospect(now(9_000), Duration::MAX));
        assert_eq!(drain(&mut frontier), [then; 3]);
        assert!(!frontier.has_prospect_with(BOTH, now(9_000), Duration::MAX));
    }
}

#[test]
fn a_host_with_enough_pages_still_gives_its_resources() {
    for most in [8, 1] {
        let store = Arc::new(MemoryStore::default());
        let mut frontier = few(&store, most);
        offer(&mut frontier, &url(1, 1), true);
        let resource = url(1, 2);
        offer_item(&mut frontier, &resource, item(&resource, true), true);
        let id = frontier.host_id("h1.example").unwrap();
        frontier.counts_mut(id).pages = 9;
        frontier.park(id, "max-pages-per-host 9");
        for n in 0..4 {
            offer(&mut frontier, &host_url(n), false);
            commit(&mut frontier);
        }
        assert_eq!(frontier.hosts.is_idle(id), most == 1);
        assert!(drain(&mut frontier).contains(&"/page-2".to_owned()));
        assert_eq!(frontier.parked_for().unwrap().as_deref(), Some("max-pages-per-host 9"));
        assert_eq!(frontier.counts().queued, 1);
        // The same from the start of the next process on.
        let resource = url(1, 3);
        offer_item(&mut frontier, &resource, item(&resource, true), true);
        commit(&mut frontier);
        let mut again = few(&store, most);
        again.park_full(9).unwrap();
        assert_eq!(drain(&mut again), ["/page-3"]);
        assert_eq!(again.counts().queued, 1);
    }
}

#[test]
fn queues_of_format_2_are_read() {
    // A queued URL, whose fifth field from the end was a boolean: seed.
    #[derive(serde::Serialize)]
    struct Former<'a> {
        scheme: page::url::Scheme,
        port: Option<u16>,
        path: &'a str,
        depth: u32,
        tries: u8,
        redirects: u8,
        seed: bool,
        via: Option<Via>,
    }
    for seed in [false, true] {
        let former = Former {
            scheme: page::url::Scheme::Http,
            port: None,
            path: "/x",
            depth: 1,
            tries: 2,
            redirects: 0,
            seed,
            via: None,
        };
        let read: QueuedUrl = postcard::from_bytes(&postcard::to_stdvec(&former).unwrap()).unwrap();
        assert_eq!((read.is_seed(), read.is_resource(), read.tries, read.via), (seed, false, 2, None));
    }
    // A host's record, which has three queues, and a block, which ends with its hosts.
    let store = Arc::new(MemoryStore::default());
    let mut frontier = few(&store, 1);
    offer(&mut frontier, &url(1, 1), true);
    offer(&mut frontier, &url(2, 1), true);
    let mut record = frontier.hosts.iter().next().unwrap().1.record(now(1_000), None);
    commit(&mut frontier);
    record.resources = QueueEnds { head: 1, sealed: 1, tail: 3 };
    let written = record.write().unwrap();
    assert_eq!(HostRecord::read(&written).unwrap(), record);
    let mut value: serde_json::Value = serde_json::from_slice(&written).unwrap();
    value.as_object_mut().unwrap().remove("resources").unwrap();
    let former = HostRecord::read(&serde_json::to_vec(&value).unwrap()).unwrap();
    assert_eq!((former.queues, former.resources), (record.queues, QueueEnds::default()));
    let (_, block) = store.scan(Tree::IdleHosts, &[]).next().unwrap().unwrap();
    let hosts = super::super::idle_host::read_block(&block).unwrap();
    let plain = postcard::to_stdvec(&hosts).unwrap();
    assert_eq!(crate::packed::unpack(&block).unwrap(), plain, "a block without resources is as it was");
}

#[test]
fn what_is_closed_for_all_opens_with_either_queue() {
    const NONE: OpenQueues = OpenQueues { pages: false, resources: false };
    for (open, first) in [(ONLY_PAGES, "/page-1"), (ONLY_RESOURCES, "/page-2")] {
        let store = Arc::new(MemoryStore::default());
        let mut frontier = with_closed_queues(&store, NONE);
        assert!(drain(&mut frontier).is_empty() && frontier.has_closed());
        commit(&mut frontier);
        commit(&mut frontier);
        assert_eq!(frontier.hosts.in_memory(), 0);
        assert!(frontier.has_prospect_with(open, now(9_000), Duration::MAX));
        frontier.set_open(open);
        assert_eq!(drain(&mut frontier), [first; 3]);
    }
}

#[test]
fn what_waits_untested_may_be_a_page_or_a_resource() {
    for (open, is_leased) in
        [(ONLY_PAGES, true), (ONLY_RESOURCES, true), (OpenQueues { pages: false, resources: false }, false)]
    {
        let mut frontier = few(&Arc::default(), 8);
        let id = frontier.host_id("h1.example").unwrap();
        frontier.host_mut(id).push(Priority::Untested, item(&url(1, 1), false));
        frontier.set_open(open);
        assert_eq!(frontier.open_queues(), open);
        assert_eq!(frontier.has_work(id), is_leased, "{open:?}");
    }
}

#[test]
fn a_host_that_is_skipped_with_all_that_it_has_gives_no_resources() {
    for (reason, is_leased) in
        [("crawl-delay 900 s is over max-crawl-delay", false), ("max-pages-per-host 9", true)]
    {
        let mut frontier = few(&Arc::default(), 8);
        let resource = url(1, 1);
        offer_item(&mut frontier, &resource, item(&resource, true), true);
        let id = frontier.host_id("h1.example").unwrap();
        frontier.park(id, reason);
        assert_eq!(frontier.lease(now(9_000)).unwrap().is_some(), is_leased, "{reason}");
    }
}

#[test]
fn a_full_host_that_is_evicted_has_work_as_long_as_it_may_hold_resources() {
    for (priority, has_work) in
        [(Priority::Resource, true), (Priority::Untested, true), (Priority::Link, false)]
    {
        let mut frontier = few(&Arc::default(), 1);
        let id = frontier.host_id("h1.example").unwrap();
        frontier.host_mut(id).push(priority, item(&url(1, 1), priority == Priority::Resource));
        frontier.queued += 1;
        frontier.counts_mut(id).pages = 9;
        frontier.park(id, "max-pages-per-host 9");
        for n in 0..3 {
            offer(&mut frontier, &host_url(n), false);
            commit(&mut frontier);
        }
        assert!(frontier.hosts.is_idle(id));
        assert_eq!(frontier.has_work(id), has_work, "{priority:?}");
        // The same in the next process, which finds it in its block.
        let mut again = few(frontier.store(), 1);
        assert!(again.hosts.is_idle(id) && again.has_work(id), "nothing skips it yet");
        again.park_full(10).unwrap();
        assert!(again.has_work(id), "nine pages aren't ten");
        again.park_full(9).unwrap();
        assert!(again.hosts.is_idle(id));
        assert_eq!(again.has_work(id), has_work, "{priority:?}");
    }
}

#[test]
fn a_queued_url_is_queued_again_behind_the_others() {
    for most in [8, 1] {
        let mut frontier = few(&Arc::default(), most);
        let id = frontier.host_id("h1.example").unwrap();
        offer(&mut frontier, &url(1, 1), true);
        frontier.requeue(id, item(&url(1, 2), true));
        frontier.requeue(id, item(&url(1, 3), false));
        assert_eq!(frontier.requeue_held(id, item(&url(1, 4), false)), None, "there are no budgets");
        assert_eq!((frontier.queued_of(id), frontier.counts().queued), (4, 4));
        for n in 0..3 {
            offer(&mut frontier, &host_url(n), false);
            commit(&mut frontier);
        }
        assert_eq!(frontier.hosts.is_idle(id), most == 1);
        assert_eq!(frontier.queued_of(id), 4);
        let paths = drain(&mut frontier);
        let own: Vec<_> = paths.iter().filter(|path| path.starts_with("/page")).collect();
        assert_eq!(own, ["/page-1", "/page-3", "/page-4", "/page-2"]);
    }
}

#[test]
fn a_record_lacks_what_is_zero_or_none_and_reads_the_same_with_it() {
    const WHOLE: &str = r#"{"v":1,"host":"a.test","next_at":"2026-03-01T12:00:00Z","wait_ms":0,"left_ms":0,"boot":null,"wait_reason":"configured",
        "delay_ms":0,"delay_reason":"configured","robots_status":null,"parked":null,"pace":{"pushbacks":0,"slowed":0,"server_errors":0},
        "counts":{"requests":0,"pages":0,"bytes":0,"errors":0,"skipped":0,"robots_requests":0,"slowest_ms":0},
        "queues":[{"head":1,"sealed":1,"tail":1},{"head":0,"sealed":0,"tail":0},{"head":0,"sealed":0,"tail":0}],"seen":{"sealed":0,"count":24},
        "groups":[],"folders":[],"address_class":null,"resources":{"head":0,"sealed":0,"tail":0}}"#;
    let mut record = HostRecord::read(WHOLE.as_bytes()).unwrap();
    let written = String::from_utf8(record.write().unwrap()).unwrap();
    for name in [
        "wait_ms",
        "boot",
        "robots_status",
        "parked",
        "pace",
        "groups",
        "folders",
        "address_class",
        "resources",
    ] {
        assert!(WHOLE.contains(name) && !written.contains(name), "{name} {written}");
    }
    // Without it the wait would be taken from the wall clock.
    assert!(written.contains(r#""left_ms":0"#), "{written}");
    assert_eq!(HostRecord::read(written.as_bytes()).unwrap(), record);
    record.wait_ms = 5_000;
    record.boot = Some(page::clock::Boot { id: 7, ms: 9 });
    record.robots_status = Some("rules: fetched: 200".to_owned());
    record.parked = Some("crawl stopped".to_owned());
    record.pace.slowed = 2;
    record.address_class = Some(crate::address::AddressClass::Loopback);
    record.resources.tail = 4;
    assert_eq!(HostRecord::read(&record.write().unwrap()).unwrap(), record);
}
