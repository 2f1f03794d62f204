//! What leaves memory and comes back.

use super::*;
use crate::fetch::BodyPermit;
use crate::store::counting::Counting;
use crate::store::{MemoryStore, Write};

fn at(second: i64) -> Now {
    let wall = Timestamp::from_second(1_800_000_000 + second).unwrap();
    Now { mono: Duration::from_secs(second.unsigned_abs()), wall }
}

fn origin(name: &str) -> Origin {
    CrawlUrl::parse(&format!("http://{name}/")).unwrap().origin()
}

fn cache(store: &Arc<MemoryStore>, budget: u64) -> RobotsCache<MemoryStore> {
    let entries = Arc::new(OriginCache::new(budget));
    RobotsCache::new(
        Arc::clone(store),
        Agent::new("SuperRobot"),
        Options::default(),
        Policy::default(),
        entries,
    )
}

fn answer(cache: &RobotsCache<MemoryStore>, name: &str, status: u16, body: &str, second: i64) -> Arc<Entry> {
    let origin = origin(name);
    let robots_fetch = RobotsFetch::new(origin.clone(), origin.robots_url().unwrap());
    let response = Response {
        status,
        version: "HTTP/1.1",
        headers: Vec::new(),
        wire_body: body.to_owned().into(),
        body: body.to_owned().into(),
        content_encoding: None,
        truncated: None,
        remote: None,
        tls: None,
        response_head: None,
        request_head: Vec::new(),
        elapsed: Duration::ZERO,
        permit: BodyPermit::default(),
    };
    match cache.answered(&robots_fetch, &Ok(response), at(second)).unwrap() {
        RobotsStep::Known(entry) => entry,
        RobotsStep::Hop(robots_fetch) => panic!("{robots_fetch:?}"),
    }
}

fn commit(store: &MemoryStore, entry: &Entry) {
    store.commit(vec![Write::put(Tree::Robots, entry.record.key(), entry.record.write().unwrap())]).unwrap();
}

fn known(cache: &RobotsCache<MemoryStore>, name: &str, second: i64) -> Option<Arc<Entry>> {
    match cache.lookup(&origin(name), at(second)).unwrap() {
        Known::Fresh(entry) | Known::Stale(entry) => Some(entry),
        Known::Missing => None,
    }
}

/// What an entry says, in words.
fn says(entry: &Entry) -> String {
    let verdict = entry.robots.verdict("/closed/x");
    let signals = entry.signals.statements("/closed/x", at(0).wall).len();
    let Entry { deferred, half_rate, expires, record, digest, .. } = entry;
    format!("{verdict:?} {signals} {deferred} {half_rate} {expires} {digest:?} {record:?}")
}

#[test]
fn an_evicted_entry_is_read_again_with_the_same_result() {
    let store = Arc::new(MemoryStore::default());
    let cache = cache(&store, 64 << 10);
    let mut said = Vec::new();
    for n in 0..1_000 {
        let name = format!("h{n}.test");
        let body =
            format!("User-agent: *\nDisallow: /{}\nContent-Signal: search=no\n", ["closed", "x"][n % 2]);
        let status = [200, 404, 403, 503][n / 2 % 4];
        let entry = answer(&cache, &name, status, &body, 0);
        commit(&store, &entry);
        said.push((name, says(&entry)));
        assert!(cache.entries.bytes() <= 64 << 10);
    }
    assert!(cache.entries.len(Kind::Robots) < 100);
    for (name, said) in &said {
        assert_eq!(said, &says(&known(&cache, name, 1).unwrap()), "{name}");
        assert!(cache.entries.bytes() <= 64 << 10);
    }
}

#[test]
fn an_entry_evicted_before_its_commit_is_fetched_only_once() {
    let store = Arc::new(MemoryStore::default());
    let cache = cache(&store, 1);
    let first = answer(&cache, "a.test", 200, "User-agent: *\nDisallow: /closed\n", 0);
    assert_eq!(cache.entries.len(Kind::Robots), 0, "larger than the whole budget");
    assert_eq!(says(&known(&cache, "a.test", 1).unwrap()), says(&first));
    // The batch holds the record alone.
    let batch = Arc::clone(&first.record);
    drop(first);
    assert!(!known(&cache, "a.test", 1).unwrap().robots.verdict("/closed").allowed);
    // Confirmed before that is committed: the copy that isn't stored yet is the one in force.
    let later = answer(&cache, "a.test", 304, "", 25 * 3_600);
    assert_eq!(later.record.access, RobotsAccess::Stored);
    assert!(!later.robots.verdict("/closed").allowed && later.digest.is_some());
    assert_eq!(says(&known(&cache, "a.test", 25 * 3_600 + 1).unwrap()), says(&later));
    // An interrupted visit: nothing of it is known.
    drop((batch, later));
    assert!(known(&cache, "a.test", 25 * 3_600 + 1).is_none());
}

#[test]
fn a_newer_version_takes_the_place_of_one_that_is_in_memory() {
    let store = Arc::new(MemoryStore::default());
    for budget in [1, 1 << 20] {
        let cache = cache(&store, budget);
        commit(&store, &answer(&cache, "a.test", 200, "User-agent: *\nDisallow: /closed\n", 0));
        commit(&store, &answer(&cache, "a.test", 200, "User-agent: *\nDisallow: /other\n", 10));
        assert!(known(&cache, "a.test", 11).unwrap().robots.verdict("/closed").allowed, "{budget}");
    }
}

#[test]
fn an_origin_that_was_never_asked_is_looked_for_once_until_it_is() {
    let store = Arc::new(Counting::default());
    let entries = Arc::new(OriginCache::new(1 << 20));
    let cache = RobotsCache::new(
        Arc::clone(&store),
        Agent::new("SuperRobot"),
        Options::default(),
        Policy::default(),
        Arc::clone(&entries),
    );
    let reads_of = |run: &dyn Fn()| store.reads_of(|_| run()).1;
    let a = origin("a.test");
    let reads = reads_of(&|| {
        for second in 0..3 {
            assert_eq!(cache.unread(&a).unwrap(), 0);
            assert!(matches!(cache.lookup(&a, at(second)).unwrap(), Known::Missing));
            assert!(cache.conditions(&a, at(second)).unwrap().is_empty());
        }
    });
    assert_eq!(reads, 1);
    // Another origin is another one.
    let other = || assert!(matches!(cache.lookup(&origin("b.test"), at(3)).unwrap(), Known::Missing));
    assert_eq!(reads_of(&other), 1);
    // What is judged, stored and then forgotten by the memory is found in the store.
    let robots_fetch = RobotsFetch::new(a.clone(), a.robots_url().unwrap());
    let late = FetchError::new(ErrorKind::Timeout, "no response");
    let RobotsStep::Known(entry) = cache.answered(&robots_fetch, &Err(late), at(4)).unwrap() else {
        panic!("a hop")
    };
    store.commit(vec![Write::put(Tree::Robots, entry.record.key(), entry.record.write().unwrap())]).unwrap();
    drop(entry);
    entries.remove(Kind::Robots, &a.to_string());
    let stored =
        || assert!(matches!(cache.lookup(&a, at(5)).unwrap(), Known::Fresh(entry) if entry.deferred));
    assert_eq!(reads_of(&stored), 1);
}

/// 500 KiB of rules that take many patterns each where every reading of them is one.
fn large() -> String {
    let line = format!("Disallow: {}\n", ["%24%24%24%24"; 60].join(" "));
    format!("User-agent: *\nDisallow:\u{200b} /zz\n{}Allow: /\n", line.repeat((500 << 10) / line.len() - 1))
}

#[test]
fn a_file_that_does_not_fit_is_read_once_a_minute_and_answers_the_same() {
    let store = Arc::new(MemoryStore::default());
    // Nothing fits into a cache of one byte.
    let cache = cache(&store, 1);
    let entry = answer(&cache, "a.test", 200, &large(), 0);
    commit(&store, &entry);
    let verdict = entry.robots.verdict("/$$$$x");
    assert!(!verdict.allowed, "{verdict}");
    let first = known(&cache, "a.test", 1).unwrap();
    for second in [2, 30, 60] {
        let again = known(&cache, "a.test", second).unwrap();
        assert!(Arc::ptr_eq(&first, &again), "read again after {second} s");
        assert_eq!(again.robots.verdict("/$$$$x"), verdict);
        assert_eq!(again.body(), large().as_bytes(), "what the rules come from");
    }
    // The next one that is read drops those whose minute is over.
    answer(&cache, "b.test", 200, &large(), 61);
    let later = known(&cache, "a.test", 62).unwrap();
    assert!(!Arc::ptr_eq(&first, &later));
    assert_eq!(later.robots.verdict("/$$$$x"), verdict);
    // A newer version takes the place of the older one at once.
    commit(&store, &answer(&cache, "a.test", 200, "User-agent: *\nDisallow: /new\n", 63));
    assert!(known(&cache, "a.test", 64).unwrap().robots.verdict("/$$$$x").allowed);
}

#[test]
fn twenty_of_the_largest_files_fit_into_the_default_budget() {
    let store = Arc::new(MemoryStore::default());
    let cache = cache(&store, OriginCache::DEFAULT_BUDGET);
    for n in 0..20 {
        answer(&cache, &format!("h{n}.test"), 200, &large(), n);
    }
    assert_eq!(cache.entries.len(Kind::Robots), 20, "{} bytes", cache.entries.bytes());
}

#[test]
fn the_files_of_the_last_minute_take_no_more_than_their_budget() {
    let store = Arc::new(MemoryStore::default());
    let cache = cache(&store, 1);
    for n in 0..60 {
        let name = format!("h{n}.test");
        commit(&store, &answer(&cache, &name, 200, &large(), 0));
    }
    let held = (0..60).filter(|n| cache.lately.get(&origin(&format!("h{n}.test")).name()).is_some()).count();
    assert!((20..32).contains(&held), "{held} of half a megabyte each in 16 MiB");
    assert!(cache.lately.get(&origin("h59.test").name()).is_some(), "the last ones");
}
