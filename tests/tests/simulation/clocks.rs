//! A wall clock that somebody sets while no process of the crawl runs, and a machine that is rebooted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crawler::commit::CommitError;
use crawler::engine::End;
use crawler::store::{CrashStore, MemoryStore, StoreError};
use page::clock::Clock;
use whole_program::oracle::{self, Promise, Strict};
use whole_program::request_log::RequestKind;
use whole_program::rules::Rules;
use whole_program::simweb::{Failure, Later, SimWeb};

use crate::crawl::{Crawl, DELAY};
use crate::hours::{site, web};
use crate::statements::false_ones;

const PROMISE: Promise = Promise {
    delay: DELAY,
    strict: Some(Strict { adaptive: 5, longest_adaptive: Duration::from_secs(30), began: Duration::ZERO }),
};

const DAY: i64 = 24 * 3600;

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Asks for pauses of minutes, now and then.
fn pushes(n: usize) -> Vec<Failure> {
    match n % 10 {
        3 => vec![Failure::Status(503, Some(200))],
        5 => vec![Failure::Status(429, None)],
        7 => vec![Failure::Status(404, Some(300))],
        9 => vec![Failure::Refused],
        _ => Vec::new(),
    }
}

/// Crawls sites that ask for pauses. Every so many commits the process dies, and the wall clock is set by the next of these
/// amounts before the next one begins.
async fn crawl(jumps: &[i64], rebooted: bool) {
    let quick = Duration::from_millis(50);
    let sites = BTreeMap::from([
        ("pushes.test", site("pushes.test", (40, 40), Rules::default(), quick, pushes)),
        ("delay.test", site("delay.test", (40, 40), Rules::default().delay(secs(20)), quick, |_| Vec::new())),
        ("slow.test", site("slow.test", (40, 40), Rules::default(), secs(3), |_| Vec::new())),
    ]);
    let sim = SimWeb::new(web(sites));
    let jumped: &'static AtomicI64 = Box::leak(Box::default());
    let store = Arc::new(MemoryStore::default());
    let clock = Clock::jumping("2026-03-01T00:00:00Z".parse().expect("a time"), jumped);
    let crawl = Crawl { rebooted, ..Crawl::by(clock, &sim, Arc::clone(&store)) };
    let mut restarts = 0;
    loop {
        match crawl.on(Arc::new(CrashStore::new(Arc::clone(&store), 25, true))).run(None).await {
            Ok(summary) => {
                assert_eq!(summary.end, End::Complete, "{jumps:?}");
                break;
            }
            Err(CommitError::Store(StoreError::Crash(_) | StoreError::Stopped)) => {
                jumped.fetch_add(jumps[restarts % jumps.len()], Ordering::Relaxed);
                restarts += 1;
            }
            Err(error) => panic!("{error}"),
        }
        assert!(restarts < 500, "{jumps:?}: no progress");
    }
    assert!(restarts >= 5, "{restarts} restarts");
    let log = sim.log();
    let mut wrong: Vec<String> = oracle::judge(&log, PROMISE).iter().map(ToString::to_string).collect();
    wrong.extend(crawl.audit(None));
    wrong.extend(false_ones("a clock that jumps", &crawl, false));
    let first = wrong[..wrong.len().min(9)].join("\n");
    assert!(wrong.is_empty(), "{jumps:?}, rebooted {rebooted}: {} wrong:\n{first}", wrong.len());
    assert_eq!(sim.page_counts().len(), 120, "{jumps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_is_set_between_runs_erases_no_pause_and_the_audit_finds_nothing() {
    for jumps in
        [&[0][..], &[2 * 3600], &[-2 * 3600], &[400 * DAY], &[-40 * DAY], &[5 * DAY, -7 * DAY, 3600, -10]]
    {
        for rebooted in [false, true] {
            crawl(jumps, rebooted).await;
        }
    }
}

/// Crawls while the wall clock is set by so much after so many seconds; gives when robots.txt of each site was asked for.
async fn crawl_through(after: u64, jump: i64) -> BTreeMap<String, Vec<Duration>> {
    let quick = Duration::from_millis(50);
    let plain =
        |host, pages| site(host, (pages, pages), Rules::default().delay(secs(60)), quick, |_| Vec::new());
    let mut sites =
        BTreeMap::from([("aged.test", plain("aged.test", 60)), ("away.test", plain("away.test", 40))]);
    for site in sites.values_mut() {
        // Ten minutes, as the policy has it.
        site.robots.max_age = Some(1);
    }
    if let Some(away) = sites.get_mut("away.test") {
        // Out of reach from the second request to the ninth: two attempts, then 5 min, 15 min, 1 h and so on.
        away.robots.later = vec![Later::Failure(Failure::Timeout); 8];
        away.robots.later.push(Later::Rules(Rules::default().delay(secs(60))));
    }
    let sim = SimWeb::new(web(sites));
    let jumped: &'static AtomicI64 = Box::leak(Box::default());
    let clock = Clock::jumping("2026-03-01T00:00:00Z".parse().expect("a time"), jumped);
    let crawl = Crawl::by(clock, &sim, Arc::new(MemoryStore::default()));
    let setter = tokio::spawn(async move {
        pass(secs(after)).await;
        jumped.fetch_add(jump, Ordering::Relaxed);
    });
    let summary = crawl.run(None).await.expect("the crawl ends well");
    setter.abort();
    assert_eq!(summary.end, End::Complete, "{after} {jump}");
    let log = sim.log();
    // Among other things: no page by a file that is older than its lifetime, or after a failure within 12 h.
    let mut wrong: Vec<String> =
        oracle::judge(&log, Promise::delay(DELAY)).iter().map(ToString::to_string).collect();
    wrong.extend(crawl.audit(None));
    wrong.extend(false_ones("a clock that jumps", &crawl, false));
    assert!(wrong.is_empty(), "{after} {jump}: {}", wrong[..wrong.len().min(9)].join("\n"));
    assert_eq!(sim.page_counts().len(), 100, "{after} {jump}");
    let mut asked: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
    for request in log.iter().filter(|request| request.purpose == RequestKind::Robots) {
        asked.entry(request.host.clone()).or_default().push(request.start);
    }
    asked
}

#[expect(clippy::disallowed_methods, reason = "somebody who sets the clock, on the paused one")]
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_is_set_within_a_run_makes_no_robots_txt_older_or_younger() {
    // While rules are in force; as the first failure comes, and is judged; while pages wait. And without a jump.
    for after in [300, 625, 631, 632, 1_000, 9_000] {
        for jump in [0, -20 * 60, -2 * 3600, 13 * 3600, 40 * DAY, -400 * DAY] {
            let asked = crawl_through(after, jump).await;
            let asked = &asked["away.test"];
            let gaps: Vec<Duration> = asked.windows(2).map(|two| two[1].saturating_sub(two[0])).collect();
            // Rules count for ten minutes, or end with the jump. The next request is as late as the gap has it.
            assert!(gaps[0] <= secs(661), "{after} {jump}: {gaps:?}");
            assert!(
                gaps[0] >= secs(600) || after < 600 && gaps[0] >= secs(after),
                "{after} {jump}: {gaps:?}"
            );
            // The attempts of a failed request: the delay, and a minute, to which chance adds a quarter at most.
            for gap in &gaps[1..3] {
                assert!((secs(60)..=secs(75 + 62)).contains(gap), "{after} {jump}: {gaps:?}");
            }
            for (nth, gap) in gaps[3..9].iter().enumerate() {
                let step = secs([300, 900, 3600][nth.min(2)]);
                // What chance adds is a tenth at most.
                let most = step + step / 10 + secs(62);
                assert!((step..=most).contains(gap), "{after} {jump}: try {nth}: {gaps:?}");
            }
        }
    }
}
