//! A machine that has no file descriptors left, for a moment or for good.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crawler::engine::{End, EngineSettings, Summary};
use crawler::page_store;
use crawler::record::{Decision, PageRecord, SiteFileRecord};
use crawler::store::{MemoryStore, Store, Tree};
use meta::consent::Purpose;
use whole_program::oracle::{Promise, assert_polite};
use whole_program::rules::Rules;
use whole_program::simweb::{SimWeb, Size, generate, truth};

use crate::crawl::{Crawl, DELAY, LIMITS};

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
    decisions.iter().filter(|decision| decision.reason == "local").cloned().collect()
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
        assert_polite(&sim.log(), Promise { delay: DELAY, slack: Duration::ZERO });
        let told = local(&crawl);
        assert!((1..=2).contains(&told.len()), "seed {seed}: {told:#?}");
        assert!(told.iter().all(|entry| entry.decision == "paused"), "seed {seed}: {told:#?}");
        // All hosts at once in the first moment, then one request at a time, ever more rarely.
        assert!(sim.refused() < 2 * 6 + 16, "seed {seed}: {} requests weren't made", sim.refused());
        let waited = crawl.waited.lock().expect("nobody panicked").clone();
        assert!(waited.contains("local shortage"), "seed {seed}: the progress line says {waited:?}");
        let audit = crawl.audit(None);
        assert!(audit.is_empty(), "seed {seed}: {audit:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shortage_that_lasts_ends_the_run_and_leaves_the_rest_queued() {
    for seed in 0..seeds() {
        let sim = SimWeb::new(generate(seed, Size { hosts: 6, resources: 15, ..Size::default() }));
        sim.run_short(secs(20), FOR_EVER);
        let (crawl, summary) = crawl(&sim, |settings| settings).await;
        let End::Limit(limit) = &summary.end else { panic!("seed {seed}: {:?}", summary.end) };
        assert_eq!(limit, "local-patience 600s", "seed {seed}");
        // What was under way when it began, and the patience.
        assert!((620..=670).contains(&sim.now().as_secs()), "seed {seed}: {:?}", sim.now());
        let failed = failed_as_local(&*crawl.store);
        assert_eq!(failed.len(), 1, "seed {seed}: the URL in hand");
        assert!(summary.queued > 0, "seed {seed}");
        let told = local(&crawl);
        let told: Vec<_> = told.iter().map(|entry| entry.decision.as_str()).collect();
        assert_eq!(told, ["paused", "failed"], "seed {seed}");
        assert!(sim.log().iter().all(|request| request.start < secs(20)), "seed {seed}");
    }
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
