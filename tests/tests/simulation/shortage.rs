//! A machine that is out of file descriptors, for a moment or for good.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crawler::engine::{End, EngineSettings, Summary};
use crawler::fetch::ErrorKind;
use crawler::page_store;
use crawler::record::{Decided, Decision, Layer, PageRecord, SiteFileRecord};
use crawler::store::{MemoryStore, Store, Tree};
use jiff::Timestamp;
use meta::consent::Purpose;
use whole_program::oracle::{Promise, assert_polite};
use whole_program::request_log::RequestKind;
use whole_program::rules::Rules;
use whole_program::simweb::{SimWeb, Size, Web, generate, truth};

use crate::crawl::{Crawl, DELAY, LIMITS};
use crate::hours::{site, web};

const FOR_EVER: Duration = Duration::from_hours(24 * 400);

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// How many webs; `WHOLE_PROGRAM_SEEDS` sets another number.
fn seeds() -> u64 {
    std::env::var("WHOLE_PROGRAM_SEEDS").map_or(8, |text| text.parse().expect("a number"))
}

/// The entries of the ledger about this machine's own shortage.
fn local<S: Store>(crawl: &Crawl<S>) -> Vec<Decision> {
    let decisions = crawl.decisions.lock().expect("nobody panicked");
    decisions
        .iter()
        .filter(|decision| decision.reason == crawler::record::Reason::Failure(ErrorKind::Local))
        .cloned()
        .collect()
}

fn failed_as_local<S: Store>(store: &S) -> Vec<String> {
    let pages = page_store::scan(store).map(|page| page.expect("the store works"));
    let records = pages.map(|page| page.record().expect("a record"));
    let local = records.filter(|page: &PageRecord| page.error.as_deref() == Some("local"));
    local.map(|page| page.url).collect()
}

async fn crawl(
    sim: &SimWeb,
    patience: fn(EngineSettings) -> EngineSettings,
) -> (Crawl<MemoryStore>, Summary) {
    let mut crawl = Crawl::new(sim, Arc::new(MemoryStore::default()));
    crawl.adjust = patience;
    let summary = crawl.run(None).await.expect("the crawl ends well");
    (crawl, summary)
}

#[tokio::test(start_paused = true)]
async fn a_shortage_that_passes_costs_time_and_one_entry_a_pause() {
    for seed in 0..seeds() {
        let web = generate(seed, Size { hosts: 6, resources: 15, ..Size::default() });
        let truth = truth(&web, LIMITS);
        let sim = SimWeb::new(web);
        sim.run_short(secs(0), secs(40));
        sim.run_short(secs(70), secs(75));
        let (crawl, summary) = crawl(&sim, |settings| settings).await;
        assert_eq!(summary.end, End::Complete, "seed {seed}");
        let asked: BTreeSet<String> = sim.page_counts().into_keys().collect();
        assert_eq!(asked, truth.requested, "seed {seed}");
        assert_polite(&sim.log(), Promise::delay(DELAY));
        let found = local(&crawl);
        assert!((1..=2).contains(&found.len()), "seed {seed}: {found:#?}");
        assert!(found.iter().all(|entry| entry.decision == Decided::Paused), "seed {seed}: {found:#?}");
        // All hosts at once in the first moment, then one request at a time, ever more rarely.
        assert!(sim.refused() < 2 * 6 + 16, "seed {seed}: {} requests weren't made", sim.refused());
        let waited = crawl.waited.lock().expect("nobody panicked").clone();
        assert!(waited.contains("local shortage"), "seed {seed}: the progress line says {waited:?}");
        let audit = crawl.audit(None);
        assert!(audit.is_empty(), "seed {seed}: {audit:#?}");
    }
}

/// What is asked for where one URL never answers.
fn without(mut web: Web, url: &str) -> BTreeSet<String> {
    let (host, path) = Web::split(url);
    web.sites.get_mut(host).expect("a host of the web").resources.remove(path);
    truth(&web, LIMITS).requested
}

#[tokio::test(start_paused = true)]
async fn a_server_that_restarts_for_eight_seconds_costs_no_page() {
    let site = |host| site(host, (12, 2), Rules::default(), Duration::from_millis(50), |_| Vec::new());
    let web = web(BTreeMap::from([("a.test", site("a.test")), ("b.test", site("b.test"))]));
    let expected = truth(&web, LIMITS).requested;
    let sim = SimWeb::new(web);
    // Its robots.txt is known by then.
    sim.go_down("a.test", secs(4), secs(12));
    let (crawl, summary) = crawl(&sim, |settings| settings).await;
    let asked: BTreeSet<String> = sim.page_counts().into_keys().collect();
    assert_eq!((summary.end, asked), (End::Complete, expected));
    let decisions = crawl.decisions.lock().expect("nobody panicked").clone();
    let count = |what: Decided| decisions.iter().filter(|entry| entry.decision == what).count();
    // Two attempts that failed, and a pause of a minute.
    assert_eq!((count(Decided::Retry), count(Decided::Paused), count(Decided::Failed)), (2, 1, 0));
    let paused = decisions.iter().find(|entry| entry.decision == Decided::Paused).expect("an entry");
    let length = paused.evidence.pause.as_ref().expect("its length").length;
    assert!((secs(60)..=secs(75)).contains(&length), "{length:?}");
    assert!(sim.now() >= secs(4 + 60), "{:?}", sim.now());
    let audit = crawl.audit(None);
    assert!(audit.is_empty(), "{audit:#?}");
}

/// A host whose server isn't there from the beginning until then, and another one; and how the crawl goes that waits for a pause of
/// two minutes at most.
async fn away_until(seconds: u64) -> (SimWeb, Crawl<MemoryStore>, Summary, BTreeSet<String>) {
    let site = |host| site(host, (12, 2), Rules::default(), Duration::from_millis(50), |_| Vec::new());
    let web = web(BTreeMap::from([("a.test", site("a.test")), ("b.test", site("b.test"))]));
    let expected = truth(&web, LIMITS).requested;
    let sim = SimWeb::new(web);
    sim.go_down("a.test", secs(0), secs(seconds));
    let waiting = |settings| EngineSettings { max_wait: secs(120), ..settings };
    let (crawl, summary) = crawl(&sim, waiting).await;
    (sim, crawl, summary, expected)
}

/// The entries about requests for the robots.txt of a.test.
fn of_robots(crawl: &Crawl<MemoryStore>) -> Vec<Decision> {
    let decisions = crawl.decisions.lock().expect("nobody panicked").clone();
    decisions
        .into_iter()
        .filter(|entry| {
            entry.layer == Layer::Robots && entry.host == "a.test" && entry.evidence.request.is_some()
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_when_its_robots_txt_is_asked_for_costs_no_page() {
    // From when on it responds, and the attempts until then: at 0 s, 1 s, and 61 s, or up to a quarter later.
    for (seconds, failed) in [(1, 1), (8, 2), (60, 2)] {
        let (sim, crawl, summary, expected) = away_until(seconds).await;
        let asked: BTreeSet<String> = sim.page_counts().into_keys().collect();
        assert_eq!((summary.end, asked), (End::Complete, expected), "away for {seconds} s");
        let entries = of_robots(&crawl);
        let (last, before) = entries.split_last().expect("entries");
        assert_eq!((before.len(), &last.decision), (failed, &Decided::RobotsRules), "{entries:#?}");
        for entry in before {
            let what = (&entry.decision, entry.url.as_str());
            assert_eq!(what, (&Decided::Retry, "http://a.test/robots.txt"), "{entry:#?}");
            assert_eq!(entry.reason, crawler::record::Reason::Failure(ErrorKind::Connection));
        }
        let starts: Vec<_> =
            entries.iter().filter_map(|entry| entry.evidence.request.as_ref()).map(|r| r.clock).collect();
        for (pair, least) in starts.windows(2).zip([1, 60]) {
            let waited = pair[1].saturating_sub(pair[0]);
            let most = secs(least) * 5 / 4 + Duration::from_millis(100);
            assert!((secs(least)..=most).contains(&waited), "{waited:?} instead of {least} s");
        }
        let first = sim.log().into_iter().find(|request| request.host == "a.test").expect("a request");
        assert_eq!(first.purpose, RequestKind::Robots, "nothing else is asked for before");
        let audit = crawl.audit(None);
        assert!(audit.is_empty(), "{audit:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_robots_txt_counts_as_unreachable_after_as_many_attempts_as_a_page_has() {
    let (sim, crawl, summary, _) = away_until(1_000).await;
    let words: Vec<_> = of_robots(&crawl).into_iter().map(|entry| entry.decision).collect();
    assert_eq!(words, [Decided::Retry, Decided::Retry, Decided::RobotsDefer]);
    assert_eq!(summary.remaining_hosts, 1);
    assert!(sim.log().iter().all(|request| request.host == "b.test"));
    // Five minutes later it is asked for once, and stays unreachable: 15 minutes this time.
    pass(secs(360)).await;
    crawl.run(None).await.expect("the crawl ends well");
    let words: Vec<_> = of_robots(&crawl).into_iter().map(|entry| entry.decision).skip(3).collect();
    assert_eq!(words, [Decided::RobotsDefer]);
    pass(secs(1_000)).await;
    let summary = crawl.run(None).await.expect("the crawl ends well");
    assert_eq!((summary.end, summary.queued), (End::Complete, 0));
    let audit = crawl.audit(None);
    assert!(audit.is_empty(), "{audit:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_shortage_that_lasts_ends_the_run_and_leaves_the_rest_queued() {
    const PATIENCE: Duration = Duration::from_secs(600);
    /// What is added to each wait, since clocks differ.
    const MARGIN: Duration = Duration::from_millis(20);
    let began: Timestamp = "2026-03-01T00:00:00Z".parse().expect("a time");
    let (short_from, over) = (secs(20), secs(2_000));
    let (mut complete, mut remaining) = (0, 0);
    for seed in 0..seeds() {
        let web = generate(seed, Size { hosts: 6, resources: 15, ..Size::default() });
        let sim = SimWeb::new(web.clone());
        sim.run_short(short_from, over);
        let (crawl, summary) = crawl(&sim, |settings| settings).await;
        let ended = sim.now();
        assert!(sim.log().iter().all(|request| request.start < short_from), "seed {seed}");

        // One entry as the first request can't be made, which may be later: the hosts may all be waiting. Then, after its
        // patience, the URL in hand fails.
        let found = local(&crawl);
        let words: Vec<_> = found.iter().map(|entry| entry.decision.as_str()).collect();
        assert_eq!(words, ["paused", "failed"], "seed {seed}: {found:#?}");
        let [paused, gave_up] = [&found[0], &found[1]]
            .map(|entry| Duration::try_from(entry.at.duration_since(began)).expect("after the beginning"));
        assert!(paused >= short_from, "seed {seed}: {paused:?}");
        let waited = gave_up.saturating_sub(paused);
        assert!((PATIENCE..=PATIENCE + MARGIN).contains(&waited), "seed {seed}: {waited:?}");
        assert_eq!(ended, gave_up, "seed {seed}: the run ends with it");
        let failed = failed_as_local(&*crawl.store);
        assert_eq!(failed, [found[1].url.clone()], "seed {seed}: the URL in hand alone");

        // What else is there stays queued, and the summary says so.
        if summary.queued > 0 {
            assert_eq!(summary.end, End::Limit("local-patience 600s".to_owned()), "seed {seed}");
            assert!(summary.remaining_hosts > 0, "seed {seed}: {summary:?}");
            remaining += 1;
        } else {
            assert_eq!(summary.end, End::Complete, "seed {seed}");
            complete += 1;
        }

        // Once the shortage is over, another run gets every other URL.
        pass(over.saturating_sub(ended)).await;
        let summary = crawl.run(None).await.expect("the crawl ends well");
        assert_eq!((&summary.end, summary.queued), (&End::Complete, 0), "seed {seed}");
        // It may have been asked for before, in vain.
        let but_it = |mut urls: BTreeSet<String>| {
            urls.remove(&failed[0]);
            urls
        };
        let asked = but_it(sim.page_counts().into_keys().collect());
        assert_eq!(asked, but_it(without(web, &failed[0])), "seed {seed}");
        assert_eq!(failed_as_local(&*crawl.store), failed, "seed {seed}");
        assert_polite(&sim.log(), Promise::delay(DELAY));
        let audit = crawl.audit(None);
        assert!(audit.is_empty(), "seed {seed}: {audit:#?}");
    }
    assert!(remaining > complete, "{remaining} runs with URLs that remain, {complete} without");
}

#[expect(clippy::disallowed_methods, reason = "until the shortage is over, on the paused clock")]
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

#[tokio::test(start_paused = true)]
async fn a_crawl_of_one_url_without_any_descriptor_is_over_after_its_patience() {
    let sim = SimWeb::new(crate::hours::web(std::collections::BTreeMap::from([(
        "a.test",
        crate::hours::site("a.test", (1, 1), whole_program::rules::Rules::default(), secs(1), |_| Vec::new()),
    )])));
    sim.run_short(secs(0), FOR_EVER);
    let patience = |settings| EngineSettings { local_patience: Duration::from_secs(30), ..settings };
    let (crawl, summary) = crawl(&sim, patience).await;
    assert_eq!((summary.end, summary.queued, summary.totals.failed), (End::Complete, 0, 1));
    assert_eq!(failed_as_local(&*crawl.store), ["http://a.test/"]);
    assert!((30..=32).contains(&sim.now().as_secs()), "{:?}", sim.now());
    assert!(sim.log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_shortage_says_nothing_of_a_sites_consent() {
    let plain = |host| crate::hours::site(host, (3, 3), Rules::default(), secs(0), |_| Vec::new());
    let sim = SimWeb::new(crate::hours::web(BTreeMap::from([("a.test", plain("a.test"))])));
    // robots.txt comes; then the file in which a site speaks of text mining is asked for more than three times in vain.
    sim.run_short(Duration::from_millis(500), secs(60));
    let mut crawl = Crawl::new(&sim, Arc::new(MemoryStore::default()));
    crawl.purposes = vec![Purpose::Search, Purpose::Tdm];
    crawl.silence.clone_from(&crawl.purposes);
    let summary = crawl.run(None).await.expect("the crawl ends well");
    assert_eq!((summary.end, summary.totals.pages), (End::Complete, 3));
    assert!(sim.refused() > 3, "{}", sim.refused());
    let asked: Vec<_> = sim.log().into_iter().map(|request| request.path).collect();
    assert_eq!(asked[..2], ["/robots.txt", "/.well-known/tdmrep.json"], "{asked:?}");
    let files = crawl.store.scan(Tree::SiteFiles, &[]);
    let files: Vec<_> = files.map(|pair| SiteFileRecord::read(&pair.unwrap().1).unwrap()).collect();
    assert!(files.len() == 1 && !files[0].unreachable, "{files:?}");
    for record in page_store::scan(&*crawl.store).map(|page| page.unwrap().record().unwrap()) {
        assert!(record.serves.contains(&Purpose::Tdm), "{}: {:?}", record.url, record.serves);
    }
}
