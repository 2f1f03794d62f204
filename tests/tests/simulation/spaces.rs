//! Infinite spaces of URLs: whatever the kind and the number of real pages, all of these are fetched, and the crawl ends within a budget.

use std::collections::BTreeMap;
use std::sync::Arc;

use crawler::engine::EngineSettings;
use crawler::record::Decided;
use crawler::store::MemoryStore;
use whole_program::simweb::{SimWeb, Space, SpaceKind};

use crate::crawl::Crawl;

/// `traps.same_pages`.
const ROW: usize = 200;

/// What docs/politeness.md allows beside the pages with new content: one copy of each, a row of known pages on URLs that such pages named,
/// and one on all others.
fn budget(pages: usize) -> usize {
    pages + ROW.max(2 * pages) + (2 * ROW).max(2 * pages)
}

/// Runs that end early.
const RUNS: [fn(EngineSettings) -> EngineSettings; 4] = [
    |settings| EngineSettings { max_pages: Some(40), ..settings },
    |settings| EngineSettings { max_pages: Some(90), ..settings },
    |settings| EngineSettings { max_pages: Some(150), ..settings },
    |settings| EngineSettings { max_pages: Some(170), ..settings },
];

struct Crawled {
    requests: usize,
    missing: Vec<usize>,
    skips: BTreeMap<String, usize>,
    audit: Vec<String>,
}

async fn crawled(space: Space, restarts: usize) -> Crawled {
    let sim = SimWeb::of_space("space.test", space);
    let mut crawl = Crawl::new(&sim, Arc::new(MemoryStore::default()));
    // The limit ends a run; the next process takes the crawl up.
    for adjust in RUNS.into_iter().take(restarts) {
        crawl.adjust = adjust;
        crawl.run(None).await.expect("the store works");
    }
    crawl.adjust = |settings| settings;
    crawl.run(None).await.expect("the store works");
    let counts = sim.page_counts();
    let origin = "http://space.test";
    let paths: Vec<&str> = counts.keys().filter_map(|url| url.strip_prefix(origin)).collect();
    let found = space.found(paths.iter().copied());
    let mut skips = BTreeMap::new();
    for decision in crawl.decisions.lock().expect("no panic").iter() {
        if decision.decision == Decided::Skipped {
            assert!(!decision.evidence.to_string().is_empty(), "{decision:?}");
            *skips.entry(decision.reason.to_string()).or_default() += 1;
        }
    }
    Crawled {
        requests: counts.values().sum(),
        missing: (0..space.pages).filter(|page| !found.contains(page)).collect(),
        skips,
        audit: crawl.audit(None),
    }
}

async fn judge(kind: SpaceKind, pages: usize, seed: u64, restarts: usize) -> Option<String> {
    let space = Space { kind, pages, seed };
    let Crawled { requests, missing, skips, audit } = crawled(space, restarts).await;
    let most = pages + budget(pages);
    println!("{kind:?} {pages} pages, seed {seed}: {requests} requests of {most}; {skips:?}");
    let is_right = missing.is_empty() && requests <= most && audit.is_empty();
    (!is_right).then(|| {
        format!("{kind:?} {pages} {seed}: {requests} of {most}, missing {missing:?}, {skips:?}, {audit:?}")
    })
}

#[tokio::test(start_paused = true)]
async fn every_infinite_space_ends_and_no_page_is_lost() {
    let mut wrong = Vec::new();
    for kind in SpaceKind::ALL {
        for (seed, pages) in (0..).zip([5, 9, 50]) {
            wrong.extend(judge(kind, pages, seed, 0).await);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_restart_gives_no_budget_back() {
    let mut wrong = Vec::new();
    for kind in [SpaceKind::WordFirst, SpaceKind::RelativeMenu, SpaceKind::JavaSession, SpaceKind::Mirrors] {
        wrong.extend(judge(kind, 50, 3, 4).await);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(start_paused = true)]
async fn five_thousand_pages_end_as_five_do() {
    let mut wrong = Vec::new();
    wrong.extend(judge(SpaceKind::WordFirst, 5_000, 1, 0).await);
    for kind in [SpaceKind::RelativeMenu, SpaceKind::Mirrors, SpaceKind::AnyWord, SpaceKind::SortOrders] {
        wrong.extend(judge(kind, 500, 1, 0).await);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
