//! What owners of hosts asked for, over days of simulated time, with restarts in between: judged from the web's side, and by the audit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crawler::commit::CommitError;
use crawler::config::Settings;
use crawler::engine::{End, EngineSettings};
use crawler::store::{CrashStore, MemoryStore, StoreError};
use crawler::wishes::{WishDelay, WishSettings, Wishes};
use whole_program::request_log::Request;
use whole_program::rules::Rules;
use whole_program::simweb::{SimWeb, Web};

use crate::crawl::{Crawl, settings};
use crate::hours::{site, web};

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

/// Requests a day to b.test.
const MOST: usize = 7;

fn wishes() -> Vec<WishSettings> {
    let wish = |host: &str| WishSettings { hosts: vec![host.to_owned()], ..WishSettings::default() };
    let text = |text: &str| Some(text.to_owned());
    vec![
        WishSettings { hours: text("22:00-06:00"), zone: text("America/New_York"), ..wish("a.test") },
        WishSettings {
            requests_per_day: Some(MOST as u64),
            zone: text("Asia/Kathmandu"),
            reason: "a letter".to_owned(),
            ..wish("b.test")
        },
        WishSettings {
            delay: Some(Duration::from_secs(10)),
            delays: BTreeMap::from([("00:00-00:02".to_owned(), WishDelay(Duration::from_secs(30)))]),
            ..wish("*.c.test")
        },
        WishSettings { bytes_per_day: Some(2_000), ..wish("d.test") },
    ]
}

fn with_wishes() -> Settings {
    let mut all = settings();
    all.pace.wishes = wishes();
    all
}

fn sites() -> Web {
    let plain = |host: &str, pages: usize| {
        site(host, (pages, 3), Rules::default(), Duration::from_millis(100), |_| Vec::new())
    };
    web(BTreeMap::from([
        ("a.test", plain("a.test", 30)),
        ("b.test", plain("b.test", 30)),
        ("www.c.test", plain("www.c.test", 20)),
        ("d.test", plain("d.test", 30)),
        ("e.test", plain("e.test", 30)),
    ]))
}

/// Crawls to the end, with as many deaths before.
async fn crawl(
    settings: Settings,
    deaths: &[u64],
    adjust: fn(EngineSettings) -> EngineSettings,
) -> (Crawl<MemoryStore>, Vec<Request>) {
    let sim = SimWeb::new(sites());
    let mut crawl = Crawl::with(settings, &sim, Arc::new(MemoryStore::default()));
    crawl.adjust = adjust;
    for (death, step) in deaths.iter().enumerate() {
        let store = CrashStore::new(Arc::clone(&crawl.store), *step, death % 2 == 0);
        match crawl.on(Arc::new(store)).run(None).await {
            Err(CommitError::Store(StoreError::Crash(_) | StoreError::Stopped)) => {}
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("no death at step {step}"),
        }
    }
    let summary = crawl.run(None).await.expect("the crawl ends");
    assert_eq!((summary.end, summary.queued), (End::Complete, 0));
    let mut log = sim.log();
    log.sort_by_key(|request| request.start);
    (crawl, log)
}

fn patient(settings: EngineSettings) -> EngineSettings {
    EngineSettings { max_wait: Duration::from_secs(2 * DAY), ..settings }
}

fn of<'a>(log: &'a [Request], host: &'a str) -> impl Iterator<Item = &'a Request> + Clone {
    log.iter().filter(move |request| request.host == host)
}

/// How many requests a day a host got, whose zone is so many seconds before UTC.
fn days(log: &[Request], host: &str, ahead: u64) -> Vec<usize> {
    let mut days: BTreeMap<u64, usize> = BTreeMap::new();
    for request in of(log, host) {
        *days.entry((request.start.as_secs() + ahead) / DAY).or_default() += 1;
    }
    days.into_values().collect()
}

/// Everything that the web's side shows of the wishes. `deaths`: each may have cost a host a request that nobody knows of.
fn judge(log: &[Request], deaths: usize) {
    assert_eq!(
        of(log, "a.test").filter(|request| request.path != "/robots.txt").count(),
        30 + lost(log, "a.test")
    );
    for request in of(log, "a.test") {
        // From 22:00 to 06:00 in New York: UTC-5 until 8 March.
        let hour = request.start.as_secs() % DAY / HOUR;
        assert!((3..11).contains(&hour), "{request}");
    }
    let of_b = days(log, "b.test", 5 * HOUR + 45 * 60);
    assert!(of_b.len() > 4 && of_b.iter().all(|many| *many <= MOST + deaths), "{of_b:?}");
    assert!(of_b.iter().rev().skip(1).all(|many| *many >= MOST), "no day of it is wasted: {of_b:?}");
    let of_c: Vec<&Request> = of(log, "www.c.test").collect();
    for pair in of_c.windows(2) {
        let least = if pair[1].start.as_secs() < 120 { 30 } else { 10 };
        let gap = pair[1].start.saturating_sub(pair[0].end);
        assert!(gap >= Duration::from_secs(least), "{gap:?} before {}", pair[1]);
    }
    assert!(days(log, "d.test", 0).len() > 1, "{:?}", days(log, "d.test", 0));
    let last = of(log, "e.test").last().expect("a request").start;
    assert!(last < Duration::from_secs(HOUR), "nobody asked for anything there: {last:?}");
}

/// Pages that were requested again after a death.
fn lost(log: &[Request], host: &str) -> usize {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for request in of(log, host).filter(|request| request.path != "/robots.txt") {
        *seen.entry(&request.path).or_default() += 1;
    }
    seen.values().map(|many| many - 1).sum()
}

#[tokio::test(start_paused = true)]
async fn hours_daily_limits_and_delays_of_owners_are_kept() {
    let (crawl, log) = crawl(with_wishes(), &[], patient).await;
    judge(&log, 0);
    assert_eq!(crawl.audit(None), Vec::<String>::new());
    let waited = crawl.waited.lock().expect("nobody panicked").clone();
    for why in ["wish hours", "wish day"] {
        assert!(waited.contains(why), "{why}: {waited:?}");
    }
    let report = crawl.audit_report(None);
    let check = report.checks.iter().find(|check| check.name == "wishes").expect("the check is made");
    assert!(check.judged > 80, "{check:?}");
}

#[tokio::test(start_paused = true)]
async fn the_requests_of_a_day_are_counted_on_after_a_restart() {
    let (crawl, log) = crawl(with_wishes(), &[12, 3, 25], patient).await;
    judge(&log, 3);
    assert_eq!(crawl.audit(None), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_keeps_no_wish_is_caught() {
    for (wish, what) in wishes().into_iter().zip([
        "wishes: a.test: http://a.test/",
        "request 8 of 2026-03-01 in Asia/Kathmandu; 7 are asked for",
        "s; 30 s are asked for",
        "2000 are asked for",
    ]) {
        let mut asked = settings();
        asked.pace.wishes = vec![wish];
        let (crawl, _) =
            crawl(asked, &[], |settings| EngineSettings { wishes: Wishes::default(), ..settings }).await;
        let found = crawl.audit(None);
        assert!(found.iter().all(|line| line.starts_with("audit, wishes: ")), "{found:?}");
        assert!(found.iter().any(|line| line.contains(what)), "{what}: {found:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_crawl_that_only_waits_for_hours_ends_and_is_resumed() {
    let sim = SimWeb::new(sites());
    let mut crawl = Crawl::with(with_wishes(), &sim, Arc::new(MemoryStore::default()));
    crawl.adjust = |settings| EngineSettings { max_wait: Duration::from_secs(120), ..settings };
    let summary = crawl.run(None).await.expect("the crawl ends");
    assert_eq!(summary.end, End::Complete);
    let why: Vec<(&str, &str)> =
        summary.remaining.iter().map(|(host, why, _)| (host.as_str(), why.as_str())).collect();
    assert_eq!(why, [("a.test", "wish hours"), ("b.test", "wish day"), ("d.test", "wish day")]);
    assert_eq!(of(&sim.log(), "a.test").count(), 0, "not even robots.txt");
    // Without wishes nothing is waited for any more.
    crawl.base = settings();
    let summary = crawl.run(None).await.expect("the crawl ends");
    assert_eq!((summary.end, summary.queued), (End::Complete, 0));
    assert!(sim.now() < Duration::from_secs(2 * HOUR), "{:?}", sim.now());
    assert_eq!(crawl.audit(None), Vec::<String>::new());
}
