//! Hours of simulated time on sites that ask for everything that slows a crawler, with restarts in between, judged from
//! the web's side.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crawler::commit::CommitError;
use crawler::engine::End;
use crawler::store::{CrashStore, MemoryStore, StoreError};
use whole_program::oracle::{self, Promise, Strict};
use whole_program::random::Random;
use whole_program::request_log::{Request, RequestKind};
use whole_program::rules::Rules;
use whole_program::simweb::{
    Failure, Kind, Link, LinkKind, Page, Resource, Robots, RobotsForm, SimWeb, Site, Web,
};

use crate::crawl::{Crawl, DELAY};
use crate::statements::false_ones;

/// The simulated day begins at midnight.
const PROMISE: Promise = Promise {
    delay: DELAY,
    strict: Some(Strict { adaptive: 5, longest_adaptive: Duration::from_secs(30), began: Duration::ZERO }),
};

/// How many times each test runs, with other jitter, latencies and restarts each time; `WHOLE_PROGRAM_SEEDS` sets another
/// number.
fn seeds() -> std::ops::Range<u64> {
    let set = std::env::var("WHOLE_PROGRAM_SEEDS").ok();
    0..set.map_or(2, |text| text.parse::<u64>().expect("a number"))
}

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// What comes before the content of a site's n-th page.
type Failures = fn(usize) -> Vec<Failure>;

/// A site of `pages` pages, each with links to the next ones: `fan` of them.
pub(crate) fn site(
    host: &str,
    (pages, fan): (usize, usize),
    rules: Rules,
    latency: Duration,
    failures: Failures,
) -> Site {
    let path = |n: usize| if n == 0 { "/".to_owned() } else { format!("/n{n}") };
    let link = |n: usize| Link {
        kind: LinkKind::Anchor,
        to: format!("http://{host}{}", path(n)),
        href: path(n),
        nofollow: false,
    };
    let resource = |n: usize| {
        let links = (fan * n + 1..pages.min(fan * n + fan + 1)).map(link).collect();
        let marker = format!("marker-{host}-{n}");
        let page = Page { marker, links, directives: Vec::new(), base: None, padding: 0 };
        (path(n), Resource { failures: failures(n), kind: Kind::Page(page) })
    };
    let form = RobotsForm::Star;
    let robots = Robots { rules, form, failures: Vec::new(), later: Vec::new(), max_age: None };
    Site { robots, latency, resources: (0..pages).map(resource).collect() }
}

pub(crate) fn web(sites: BTreeMap<&str, Site>) -> Web {
    let seeds = sites.keys().map(|host| format!("http://{host}/")).collect();
    Web { seed: 0, sites: sites.into_iter().map(|(host, site)| (host.to_owned(), site)).collect(), seeds }
}

fn none(_: usize) -> Vec<Failure> {
    Vec::new()
}

/// A site in trouble, now and then.
fn pushes(n: usize) -> Vec<Failure> {
    use Failure::{Refused, Status, Timeout, Truncated};
    match n {
        5 => vec![Status(503, None), Status(503, None)],
        20 => vec![Status(503, Some(120)), Status(429, Some(30))],
        40 => vec![Status(404, Some(45))],
        41 => vec![Status(200, Some(20))],
        42 => vec![Status(301, Some(25))],
        50 => vec![Truncated],
        60 => vec![Timeout, Refused],
        80 => vec![Status(429, None)],
        _ => Vec::new(),
    }
}

/// Five pushbacks in a row, and more later: the rate is halved for good.
fn phase(n: usize) -> Vec<Failure> {
    use Failure::Status;
    match n {
        10 => vec![Status(503, Some(5)), Status(503, Some(5))],
        11 => vec![Status(503, Some(5)), Status(503, None)],
        12 => vec![Status(429, Some(7))],
        _ => Vec::new(),
    }
}

/// Errors in a row, over several pages: the fifth is the whole site's.
fn errors(n: usize) -> Vec<Failure> {
    use Failure::Status;
    match n {
        // Three tries, of which none brings the page.
        4 | 30 => vec![Status(500, None), Status(502, None), Status(504, None)],
        5 => vec![Status(500, None), Status(500, None), Status(500, None)],
        31 => vec![Status(500, None), Status(503, None), Status(500, Some(90))],
        _ => Vec::new(),
    }
}

/// A site in trouble all the time: now with a date, now without, on several answers in a row.
fn phases(n: usize) -> Vec<Failure> {
    use Failure::{Status, Timeout};
    match n % 12 {
        3 => vec![Status(503, Some(90)), Status(503, None)],
        7 => vec![Status(429, None)],
        10 => vec![Timeout],
        11 => vec![Status(500, Some(45))],
        _ => Vec::new(),
    }
}

/// Takes from the log the answers that came between the last commit of a process and its death: nobody can know what they
/// said any more, if it wasn't in that very commit. The requests stay, and the gaps between them. A robots.txt is forgotten
/// where it is asked for again next. Gives their number.
fn forget(log: &mut [Request], deaths: &[(Duration, Duration)]) -> usize {
    log.sort_by_key(|request| request.start);
    let mut forgotten = 0;
    for at in 0..log.len() {
        let (end, origin) = (log[at].end, &log[at].origin);
        if !deaths.iter().any(|(from, to)| (*from..=*to).contains(&end)) {
            continue;
        }
        let next = log[at + 1..].iter().find(|request| request.origin == *origin);
        let unknown = log[at].lesson.is_none() || next.is_none_or(|next| next.purpose == RequestKind::Robots);
        if unknown {
            (log[at].status, log[at].retry_after, log[at].lesson) = (None, None, None);
            forgotten += 1;
        }
    }
    forgotten
}

/// What a web's side saw of a whole crawl that died and was taken up many times.
struct Hours {
    log: Vec<Request>,
    took: Duration,
    restarts: usize,
}

/// Crawls a web whole. Every so many commits the process dies; whether the last one is kept alternates.
async fn hours(web: &Web, seed: u64, commits: u64) -> Hours {
    let mut web = web.clone();
    let mut random = Random::new(seed);
    if seed > 0 {
        for site in web.sites.values_mut() {
            site.latency = site.latency.mul_f64(random.between(80, 150) as f64 / 100.0);
        }
    }
    let sim = SimWeb::new(web);
    let store = Arc::new(MemoryStore::default());
    let mut crawl = Crawl::new(&sim, Arc::clone(&store));
    crawl.jitter = seed;
    let mut restarts = 0;
    let mut deaths = Vec::new();
    let days = tokio::time::Instant::now();
    loop {
        let commits = if seed == 0 { commits } else { random.between(commits / 2, commits * 2) };
        let dying = crawl.on(Arc::new(CrashStore::new(Arc::clone(&store), commits, restarts % 2 == 0)));
        match dying.run(None).await {
            Ok(summary) => {
                assert_eq!(summary.end, End::Complete, "seed {seed}");
                if summary.queued == 0 {
                    break;
                }
                // A window closed before the last of its pages. No run waits until the next day, and one that begins then goes on.
                let waits = |(_, why, _): &(String, String, u64)| why.contains("visit-time");
                assert!(summary.remaining.iter().all(waits), "seed {seed}: {:?}", summary.remaining);
                assert!(days.elapsed() < Duration::from_hours(48), "seed {seed}: {:?}", summary.remaining);
                pass(Duration::from_hours(1)).await;
            }
            Err(CommitError::Store(StoreError::Crash(_) | StoreError::Stopped)) => {
                restarts += 1;
                deaths.push((crawl.last_commit(), sim.now()));
            }
            Err(error) => panic!("{error}"),
        }
        assert!(restarts < 2_000, "no progress");
    }
    let mut log = sim.log();
    let forgotten = forget(&mut log, &deaths);
    assert!(forgotten <= restarts * sim.web().sites.len(), "{forgotten} answers in {restarts} deaths");
    let pages = sim.page_counts();
    for (host, site) in &sim.web().sites {
        for path in site.resources.keys() {
            assert!(
                pages.contains_key(&format!("http://{host}{path}")),
                "seed {seed}: {host}{path} was never asked for"
            );
        }
    }
    let mut wrong: Vec<String> = oracle::judge(&log, PROMISE).iter().map(ToString::to_string).collect();
    wrong.extend(crawl.audit(None));
    if seed == 0 {
        wrong.extend(false_ones("hours", &crawl, false));
    }
    let first = wrong[..wrong.len().min(9)].join("\n");
    assert!(wrong.is_empty(), "seed {seed}: {} in {} requests:\n{first}", wrong.len(), log.len());
    let took = sim.now();
    println!(
        "seed {seed}: {} requests in {:.1} h, {restarts} restarts",
        log.len(),
        took.as_secs_f64() / 3600.0
    );
    Hours { log, took, restarts }
}

#[expect(clippy::disallowed_methods, reason = "until a window opens, on the paused clock")]
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

#[tokio::test(start_paused = true)]
async fn an_hour_under_every_rule_of_pace_with_restarts_has_no_violation() {
    let rules = Rules::default;
    let quick = Duration::from_millis(50);
    let rates = rules().rate(1, secs(5), None).rate(1, secs(30), Some((10, 20)));
    let all =
        |host, rules, latency, failures: Failures| (host, site(host, (151, 150), rules, latency, failures));
    let mut sites = BTreeMap::from([
        all("delay.test", rules().delay(secs(20)), quick, none),
        all("rate.test", rates, quick, none),
        all("window.test", rules().visit(15, 40), quick, none),
        all("both.test", rules().visit(5, 50).delay(secs(12)), quick, pushes),
        all("slow.test", rules(), secs(4), none),
        all("pushes.test", rules(), quick, pushes),
        all("phase.test", rules(), quick, phase),
        all("errors.test", rules(), quick, errors),
        all("robots.test", rules(), quick, none),
    ]);
    if let Some(site) = sites.get_mut("robots.test") {
        site.robots.failures = vec![Failure::Status(503, Some(700))];
    }
    // Its file is requested again in the minute in which its slower rate begins: that applies to the request for it, too.
    if let Some(site) = sites.get_mut("rate.test") {
        site.robots.max_age = Some(1);
    }
    let web = web(sites);
    for seed in seeds() {
        let Hours { log, took, restarts } = hours(&web, seed, 60).await;
        // The rules bound something, or this would show nothing.
        assert!(took > secs(3_000) && restarts >= 10, "{took:?}, {restarts} restarts");
        let count = |of: fn(&Request) -> bool| log.iter().filter(|request| of(request)).count();
        assert!(count(|r| matches!(r.status, Some(429 | 503))) >= 10);
        assert!(count(|r| r.retry_after.is_some() && matches!(r.status, Some(200 | 301 | 404))) >= 3);
    }
}

#[tokio::test(start_paused = true)]
async fn hours_of_delays_rates_windows_outages_and_restarts_bring_no_violation() {
    let fast = Duration::from_millis(20);
    let rules = Rules::default;
    let every = |seconds| rules().rate(1, secs(seconds), None);
    let tree = |host, pages, rules, latency, failures: Failures| {
        (host, site(host, (pages, 4), rules, latency, failures))
    };
    let web = web(BTreeMap::from([
        tree("delay.test", 420, rules().delay(secs(10)), fast, none),
        tree("rate.test", 240, every(20), fast, none),
        tree("both.test", 100, every(7).delay(secs(13)), fast, none),
        tree("window.test", 300, rules().visit(30, 75), fast, none),
        tree("slow.test", 120, rules(), secs(4), none),
        tree("crawling.test", 40, rules(), secs(12), none),
        tree("busy.test", 60, rules(), fast, phases),
        tree("plain.test", 400, rules(), fast, none),
    ]));
    for seed in seeds() {
        let Hours { took, restarts, .. } = hours(&web, seed, 150).await;
        assert!(took > Duration::from_hours(1), "{took:?}");
        assert!(restarts >= 5, "{restarts} restarts");
    }
}
