//! Which clock counts.

use super::*;
use crate::store::{MemoryStore, Write};
use page::clock::Boot;

const HOUR: i64 = 3600;

/// Seconds after the beginning on the run's own clock; the wall clock is so many seconds before or after that.
fn at(mono: i64, jumped: i64) -> Now {
    let began: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let wall = began + jiff::SignedDuration::from_secs(mono + jumped);
    Now { mono: Duration::from_secs(mono.unsigned_abs()), wall }
}

fn lifetime(entry: &Entry) -> Duration {
    Dated { record: &entry.record, aged: None }.lifetime()
}

struct Asked {
    store: Arc<MemoryStore>,
    cache: RobotsCache<MemoryStore>,
    robots_fetch: RobotsFetch,
}

impl Asked {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::default());
        let origin = CrawlUrl::parse("http://a.test/").unwrap().origin();
        let robots_fetch = RobotsFetch::new(origin.clone(), origin.robots_url().unwrap());
        Self { cache: cache(&store), store, robots_fetch }
    }

    fn known(&self, now: Now) -> Known {
        self.cache.lookup(&self.robots_fetch.origin, now).unwrap()
    }

    /// Whether robots.txt has to be asked for.
    fn is_due(&self, now: Now) -> bool {
        !matches!(self.known(now), Known::Fresh(_))
    }

    /// Takes in an answer, or a time-out, and stores what it says.
    fn answered(&self, status: Option<u16>, body: &str, now: Now) -> Arc<Entry> {
        let answer = match status {
            Some(status) => Ok(crate::consent::tests::response(status, &[], body)),
            None => Err(FetchError::new(ErrorKind::Timeout, "no answer")),
        };
        let step = self.cache.answered(&self.robots_fetch, &answer, now).unwrap();
        let RobotsStep::Known(entry) = step else { panic!("no hop") };
        let write = Write::put(Tree::Robots, entry.record.key(), entry.record.write().unwrap());
        self.store.commit(vec![write]).unwrap();
        entry
    }
}

fn cache(store: &Arc<MemoryStore>) -> RobotsCache<MemoryStore> {
    let entries = Arc::new(OriginCache::new(1 << 20));
    RobotsCache::new(
        Arc::clone(store),
        Agent::new("SuperRobot"),
        Options::default(),
        Policy::default(),
        entries,
    )
}

#[test]
fn rules_hold_until_either_clock_says_that_their_time_is_over() {
    for (mono, jumped, due) in [
        (HOUR, 0, false),
        (23 * HOUR, 0, false),
        (24 * HOUR, 0, true),
        // The wall clock was set back: by an hour, and before the file came.
        (24 * HOUR, -HOUR, true),
        (23 * HOUR, -HOUR, false),
        (HOUR, -2 * HOUR, true),
        // And on.
        (HOUR, 24 * HOUR, true),
        (HOUR, 22 * HOUR, false),
    ] {
        let asked = Asked::new();
        asked.answered(Some(200), "User-agent: *\nDisallow: /x\n", at(0, 0));
        assert_eq!(asked.is_due(at(mono, jumped)), due, "{mono} {jumped}");
    }
}

#[test]
fn where_pages_wait_nothing_is_asked_sooner_or_later_by_a_jump_of_the_wall_clock() {
    // A time-out (5 min), an answer that asks for a day, and a site that is closed for one.
    let cases: [(Option<u16>, i64); 2] = [(None, 300), (Some(403), 24 * HOUR)];
    for (status, length) in cases {
        for jumped in [0, HOUR, 40 * 24 * HOUR, -HOUR, -40 * 24 * HOUR] {
            let asked = Asked::new();
            let entry = asked.answered(status, "", at(0, 0));
            // What chance adds is part of it.
            let least = length;
            let length = i64::try_from(lifetime(&entry).as_secs()).unwrap();
            assert!(length >= least, "{status:?}");
            for mono in [1, length / 2, length - 1] {
                assert!(!asked.is_due(at(mono, jumped)), "{status:?} {mono} {jumped}");
                let remaining = entry.remaining(at(mono, jumped)).as_secs_f64();
                let want = lifetime(&entry).as_secs_f64() - mono as f64;
                assert!((remaining - want).abs() < 0.001, "{status:?} {mono} {jumped}: {remaining}");
            }
            assert!(asked.is_due(at(length + 1, jumped)), "{status:?} {jumped}");
        }
    }
}

#[test]
fn the_twelve_hours_until_a_stored_copy_serves_are_hours_of_the_runs_clock() {
    for jumped in [0, 13 * HOUR, 28 * 24 * HOUR, -HOUR, -40 * 24 * HOUR] {
        let asked = Asked::new();
        asked.answered(Some(200), "User-agent: *\nDisallow: /x\n", at(0, 0));
        asked.answered(None, "", at(24 * HOUR, 0));
        for hours in [25, 30, 35] {
            let entry = asked.answered(None, "", at(hours * HOUR, jumped));
            assert!(entry.deferred, "{jumped}, after {} h: {}", hours - 24, entry.record.reason);
        }
        let entry = asked.answered(None, "", at(36 * HOUR, jumped));
        assert_eq!(entry.record.access, RobotsAccess::Stored, "{jumped}: {}", entry.record.reason);
        assert!(!entry.robots.verdict("/x").allowed && entry.half_rate);
    }
}

#[test]
fn a_stored_copy_ages_by_the_runs_clock_too() {
    let asked = Asked::new();
    asked.answered(Some(200), "User-agent: *\nDisallow: /x\n", at(0, 0));
    // Somebody sets the wall clock back by 20 days, and the site is out of reach from the 15th day to the 31st.
    let back = -20 * 24 * HOUR;
    asked.answered(None, "", at(15 * 24 * HOUR, back));
    assert_eq!(asked.answered(None, "", at(16 * 24 * HOUR, back)).record.access, RobotsAccess::Stored);
    assert_eq!(asked.answered(None, "", at(31 * 24 * HOUR, back)).record.access, RobotsAccess::DenyAll);
}

#[tokio::test(start_paused = true)]
async fn over_a_restart_the_clock_of_the_machine_tells() {
    for jumped in [0, 40 * 24 * HOUR, -40 * 24 * HOUR] {
        let mut asked = Asked::new();
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        asked.cache = cache(&asked.store).with_clock(clock);
        let entry = asked.answered(None, "", clock.now());
        let boot = entry.record.clocks.unwrap().boot;
        assert!(boot.is_some_and(|Boot { ms, .. }| ms == 0));
        tokio::time::advance(Duration::from_secs(100)).await;
        let next = clock.next_process(false);
        asked.cache = cache(&asked.store).with_clock(next);
        let then = |seconds: u64| {
            let now = next.now();
            let jump = jiff::SignedDuration::from_secs(jumped);
            Now { mono: Duration::from_secs(seconds), wall: now.wall + jump }
        };
        let Known::Fresh(again) = asked.known(then(0)) else { panic!("{jumped}: asked too early") };
        let passed = lifetime(&entry).saturating_sub(again.remaining(then(0)));
        assert!((99.9..=100.0).contains(&passed.as_secs_f64()), "{jumped}: {passed:?}");
        assert!(!asked.is_due(then(190)), "{jumped}");
        assert!(asked.is_due(then(lifetime(&entry).as_secs() - 99)), "{jumped}");
    }
}
