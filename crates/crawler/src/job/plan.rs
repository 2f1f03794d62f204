//! Plans a crawl: fetches only robots.txt and sitemaps, with the delays and the address guard of a crawl; or uses what
//! the directory of a crawl has, without requests.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::watch;

use super::{
    JobError, Prepared, consent_cache, engine_settings, neighbours, origin_cache, page_rules, queue_seeds,
    robots_cache,
};
use crate::commit::Committer;
use crate::config::Settings;
use crate::engine::{Engine, EngineParts, EngineSettings, Stop};
use crate::event::CrawlEvent;
use crate::format::{new_key, read_key};
use crate::frontier::stored_queue;
use crate::plan::{Basis, Plan, Planner};
use crate::record::PlainReason;
use crate::store::{MemoryStore, Store, shared};
use crate::view::{SitemapSummary, View, ViewError, most_frequent, stored_moved_seeds};
use crate::visit::{Revisiting, VisitContext};
use crate::wishes::{Wishes, set_wishes};
use page::clock::{Clock, wall};
use page::url::CrawlUrl;

/// Plans a crawl of `seeds`. Nothing is written anywhere.
pub fn plan<'a>(
    settings: &'a Settings,
    seeds: &'a [CrawlUrl],
) -> Pin<Box<dyn Future<Output = Result<Plan, JobError>> + 'a>> {
    Box::pin(plan_here(settings, seeds))
}

async fn plan_here(settings: &Settings, seeds: &[CrawlUrl]) -> Result<Plan, JobError> {
    let Prepared { scope, fetch, caches, selectors, seed_hosts, areas, .. } = Prepared::new(settings, seeds)?;
    let _running = neighbours::enter("a plan", areas);
    let key = new_key();
    let store = shared(Arc::new(MemoryStore::default()));
    queue_seeds(&store, &scope, seeds, &[], key, wall())?;
    let context = Arc::new(VisitContext {
        fetch,
        caches: Arc::clone(&caches),
        robots: robots_cache(settings, Arc::clone(&store), &caches),
        consent: consent_cache(settings, Arc::clone(&store), &caches),
        revisiting: Revisiting::never(),
        pages: Arc::new(page_rules(settings, selectors, key)),
        clock: Clock::system(),
        seed_hosts,
        max_crawl_delay: settings.pace.max_crawl_delay,
        retries: settings.fetch.retries,
        max_wait: settings.pace.max_wait,
    });
    let planner: Arc<Mutex<Planner>> = Arc::default();
    let collected = Arc::clone(&planner);
    let listener = move |event: CrawlEvent<'_>| {
        if let CrawlEvent::Judged { url, evidence, allowed } = event {
            collected.lock().unwrap_or_else(PoisonError::into_inner).judged(&url, &evidence, allowed);
        }
    };
    let committer = Committer::open(Arc::clone(&store), None)?;
    let rules = EngineSettings { plan: true, ..engine_settings(settings, key) };
    let parts = EngineParts::new(committer, Box::new(listener));
    let mut engine = Engine::open(rules, context, &store, scope, parts)?;
    let (_stop, stopped) = watch::channel(Stop::No);
    engine.run(stopped).await?;
    drop(engine);

    let planner = std::mem::take(&mut *planner.lock().unwrap_or_else(PoisonError::into_inner));
    plan_asked(settings, planner, &store, wall())
}

/// Makes the plan once an engine that only plans has asked for robots.txt and sitemaps: `planner` holds its judgements, `store`
/// what it asked for and the URLs that it could not judge.
pub fn plan_asked<S: Store>(
    settings: &Settings,
    mut planner: Planner,
    store: &Arc<S>,
    now: Timestamp,
) -> Result<Plan, JobError> {
    let robots = robots_cache(settings, Arc::clone(store), &origin_cache(settings));
    // Of hosts that would be skipped or are unreachable now.
    for waiting in stored_queue(&**store)? {
        let waiting = waiting?;
        if let Ok(url) = waiting.url.url(&waiting.host.host) {
            planner.judge(&url, &robots, now)?;
        }
    }
    let known_from = if settings.scope.sitemaps { "the seeds and the sitemaps" } else { "the seeds" };
    let known_from = format!("{known_from}; the links of pages aren't known yet");
    let sitemaps = sitemaps(&**store)?;
    Ok(Plan::new(planner, &robots, sitemaps, &basis(settings, known_from, now))?)
}

/// Plans from what a crawl has stored, and `seeds`, without any request, as for a crawl that begins at `now`. Cost: one pass over the pages, the queue
/// and the table of skipped URLs; memory: a fingerprint of each URL.
pub fn plan_stored<S: Store>(
    settings: &Settings,
    seeds: &[CrawlUrl],
    store: &Arc<S>,
    now: Timestamp,
) -> Result<Plan, JobError> {
    let robots = robots_cache(settings, Arc::clone(store), &origin_cache(settings));
    let view = View::over(Arc::clone(store)).map_err(read)?;
    let key = read_key(&**store)?;
    let mut planner = Planner::default();
    let mut known = crate::frontier::FingerprintSet::default();
    let mut take = |url: &str| -> Result<(), JobError> {
        if let Ok(url) = CrawlUrl::parse(url)
            && known.insert(url.fingerprint(&key))
        {
            planner.judge(&url, &robots, now)?;
        }
        Ok(())
    };
    for seed in seeds {
        take(seed.as_str())?;
    }
    for page in view.pages() {
        take(&page.map_err(read)?.url)?;
    }
    for waiting in view.queue() {
        take(&waiting.map_err(read)?.url)?;
    }
    let mut costly: BTreeMap<String, u64> = BTreeMap::new();
    for skipped in view.skipped().map_err(read)? {
        let skipped = skipped.map_err(read)?;
        if let Some(class) = skipped.costly_class() {
            *costly.entry(class.to_owned()).or_default() += 1;
        }
        if skipped.reason == PlainReason::RobotsTxt {
            take(&skipped.url)?;
        }
    }
    let known_from = "the stored crawl: pages, queued URLs, and URLs denied by robots.txt".to_owned();
    let moved = stored_moved_seeds(&**store, settings.scope.follow_moved_seeds);
    let moved = moved.collect::<Result<Vec<_>, _>>()?;
    let sitemaps = sitemaps(&**store)?;
    let basis = basis(settings, known_from, now);
    let set = set_wishes(&**store)?;
    let basis = Basis { wishes: basis.wishes.clone().with_set(&set), ..basis };
    let plan = Plan::new(planner, &robots, sitemaps, &basis)?;
    let cheaper = view.cheaper_ways().map_err(read)?;
    Ok(plan.with_moved_seeds(moved).with_costly(most_frequent(costly), cheaper))
}

fn basis(settings: &Settings, known_from: String, now: Timestamp) -> Basis {
    Basis {
        agent: settings.agent.user_agent(),
        known_from,
        delay: settings.pace.delay,
        max_crawl_delay: settings.pace.max_crawl_delay,
        groups: settings.pace.host_groups(),
        wishes: Wishes::read(&settings.pace.wishes, &settings.pace.zone).unwrap_or_default(),
        now,
    }
}

fn sitemaps<S: Store>(store: &S) -> Result<Vec<SitemapSummary>, JobError> {
    crate::view::stored_sitemaps(store).collect::<Result<_, _>>().map_err(read)
}

fn read(error: ViewError) -> JobError {
    JobError::View(Box::new(error))
}
