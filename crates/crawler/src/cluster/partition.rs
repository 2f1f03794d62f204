//! The crawl of one partition: an engine over its store, until its owner ends or gives it back.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Semaphore, watch};

use super::{Network, PgStore};
use crate::cdxj::Rotation;
use crate::commit::{CommitError, Committer, RecentBodies, Totals};
use crate::config::Settings;
use crate::deadline::Deadline;
use crate::engine::{
    AddressPool, Allowance, Engine, EngineParts, EngineSettings, LOST, PartitionParts, Pool, Portions, Post,
    Standing, Stop, Stored,
};
use crate::event::CrawlEvent;
use crate::fetch::HttpFetch;
use crate::forgotten::{Forgotten, forget_rules};
use crate::format;
use crate::intents::Intents;
use crate::job::{self, consent_cache, engine_settings, robots_cache};
use crate::origin_cache::OriginCache;
use crate::pauses::PauseLog;
use crate::portion::Portion;
use crate::post::{Place, Series};
use crate::record::{Round, RunSettings};
use crate::scope::Scope;
use crate::store::{self, AnyStore, Store, StoreError, Tree};
use crate::visit::{PageRules, Revisiting, VisitContext};
use page::clock::Clock;
use page::url::FingerprintKey;

/// What all partitions of a worker share.
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) scope: Scope,
    pub(super) pages: Arc<PageRules>,
    /// Hosts that the seeds name, by partition.
    pub(super) seed_hosts: HashMap<u32, HashSet<Box<str>>>,
    pub(super) run: (RunSettings, String),
    pub(super) key: FingerprintKey,
    pub(super) network: Network<HttpFetch>,
    pub(super) pauses: Arc<PauseLog>,
    /// Where each request is noted before it is sent.
    pub(super) intents: Arc<Intents>,
    pub(super) deadline: Deadline,
    /// This worker's part of a rate and a bandwidth.
    pub(super) pool: Option<Arc<Pool>>,
    /// The IP addresses that this worker may ask, where hosts share them.
    pub(super) addresses: Option<Arc<AddressPool>>,
    /// The directory of the archive.
    pub(super) warc: PathBuf,
    /// Complete files go to object storage.
    pub(super) moves_files: bool,
    /// What files there have that are being written, where equal bodies are stored once.
    pub(super) bodies: Option<Arc<RecentBodies>>,
    pub(super) started: Timestamp,
    pub(super) partitions: u32,
    /// Those that are being opened have a place.
    pub(super) opening: Semaphore,
    /// The memory for what is kept of origins.
    pub(super) origins: Portion,
    /// The same, of large robots.txt files that were read in the last minute.
    pub(super) robots_lately: Portion,
    /// The rest of what the engines hold in memory.
    pub(super) portions: Portions,
    /// Writes the indexes of complete files.
    pub(super) rotation: Arc<OnceLock<Rotation>>,
}

/// Partitions that are opened at a time: the threads that open them have other work as well.
pub(super) const OPENING: usize = 7;

/// What was counted of a partition: so far, and of that what its worker has taken into its own figures.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) now: Totals,
    taken: Totals,
}

impl Counted {
    /// Those of a partition as it is when it is taken over.
    fn of(totals: Totals) -> Self {
        Self { now: totals, taken: totals }
    }

    /// What is new since this was called last.
    pub(super) fn take(&mut self) -> Totals {
        self.now.since(&std::mem::replace(&mut self.taken, self.now))
    }
}

type Letters = UnboundedReceiver<Vec<Stored>>;

/// Crawls a partition until no more letters come and nothing remains, or until `stop` says so: one that still waits to be opened then isn't.
pub(super) async fn crawl(
    shared: Arc<Shared>,
    store: Arc<PgStore>,
    (standing, allowance): (Arc<Standing>, Option<Arc<Allowance>>),
    letters: Letters,
    mut stop: watch::Receiver<Stop>,
    counted: Arc<Mutex<Counted>>,
) -> Result<(), CommitError> {
    let runtime = Handle::current();
    let place = tokio::select! {
        biased;
        _asked = stop.wait_for(|asked| *asked != Stop::No) => return Ok(()),
        place = shared.opening.acquire() => place.map_err(|_| CommitError::Store(StoreError::Stopped))?,
    };
    let of_opening = Arc::clone(&shared);
    // Reads what the partition has: the database may take its time.
    let opening = tokio::task::spawn_blocking(move || {
        let _in_runtime = runtime.enter();
        open(&of_opening, &store, (standing, allowance), letters, counted)
    });
    let opened = opening.await.map_err(|_| CommitError::Store(StoreError::Stopped))?;
    drop(place);
    // Boxed: a task has space for all that it ever holds at a time, and a worker may have thousands.
    let mut engine = Box::new(opened?);
    Box::pin(engine.run(stop)).await.map(drop)
}

fn open(
    shared: &Shared,
    store: &Arc<PgStore>,
    (standing, allowance): (Arc<Standing>, Option<Arc<Allowance>>),
    letters: Letters,
    counted: Arc<Mutex<Counted>>,
) -> Result<Engine<Network<HttpFetch>, AnyStore>, CommitError> {
    let Shared { settings, key, .. } = shared;
    let (claim, clock) = (store.claim(), Clock::system());
    let store = store::shared(Arc::clone(store));
    let part = u32::try_from(claim.part).unwrap_or_default();
    format::renew(&store)?;
    let mut committer = Committer::open(Arc::clone(&store), None)?;
    if settings.warc.enabled {
        let name = format!("partition {part} of {}", shared.partitions);
        let info = job::warc_info(settings, &shared.run.0, name, shared.started);
        let size = settings.warc.max_file_size;
        let series = Series { worker: claim.owner, part, fence: claim.fence }.to_string();
        committer = committer.archiving_series(&shared.warc, &info, size, &series)?;
        committer = committer.sharing_bodies_within_files(shared.bodies.clone());
        committer = committer.moving_files(shared.moves_files);
        committer = committer.indexing_by(Arc::clone(&shared.rotation));
    }
    // One for each partition: when it comes back from another owner, nothing here is older than what that one stored.
    let caches = Arc::new(OriginCache::within(shared.origins.further()));
    let portions = shared.portions.further();
    let is_revisiting = store.get(Tree::Meta, LOST)?.is_some() || Round::is_open(&*store)?;
    let context = Arc::new(VisitContext {
        fetch: shared.network.clone(),
        caches: Arc::clone(&caches),
        robots: robots_cache(settings, Arc::clone(&store), &caches)
            .with_clock(clock)
            .sharing(shared.robots_lately.further()),
        consent: consent_cache(settings, Arc::clone(&store), &caches),
        revisiting: Revisiting::of(Arc::clone(&store), is_revisiting),
        pages: Arc::clone(&shared.pages),
        clock,
        seed_hosts: shared.seed_hosts.get(&part).cloned().unwrap_or_default(),
        max_crawl_delay: settings.pace.max_crawl_delay,
        retries: settings.fetch.retries,
        max_wait: settings.pace.max_wait,
    });
    let engine = EngineSettings {
        run: Some(shared.run.clone()),
        frontier: portions.frontier.limits(),
        ..engine_settings(settings, *key)
    };
    let totals = match store.get(Tree::Meta, b"totals")? {
        Some(value) => serde_json::from_slice(&value)?,
        None => Totals::default(),
    };
    *counted.lock().unwrap_or_else(PoisonError::into_inner) = Counted::of(totals);
    let listener = move |event: CrawlEvent<'_>| {
        if let CrawlEvent::Committed(now) = event {
            counted.lock().unwrap_or_else(PoisonError::into_inner).now = now;
        }
    };
    let mut scope = shared.scope.clone();
    scope.forget(forgotten(&*store)?);
    let place = Place { part, of: shared.partitions };
    let fence = u64::try_from(claim.fence).unwrap_or_default();
    let partition = PartitionParts {
        worker: Some(claim.owner),
        post: Some(Post::new(place, fence, letters, standing)),
        deadline: Some(shared.deadline.clone()),
        allowance,
        pool: shared.pool.clone(),
        addresses: shared.addresses.clone(),
        portions: Some(portions),
    };
    let parts = EngineParts {
        pauses: Some(Arc::clone(&shared.pauses)),
        // What dead workers noted comes as letters.
        intents: Some((Arc::clone(&shared.intents), Vec::new())),
        partition,
        ..EngineParts::new(committer, Box::new(listener))
    };
    Engine::open(engine, context, &store, scope, parts)
}

/// What was removed by `crawl cluster forget`.
fn forgotten<S: Store>(store: &S) -> Result<Forgotten, StoreError> {
    let rules = forget_rules(store)?;
    Forgotten::new(rules.iter().map(|(_, rule)| rule))
        .map_err(|error| StoreError::Unreadable { tree: Tree::Meta.name(), source: error.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_worker_counted_before_is_not_new() {
        let pages = |pages| Totals { pages, ..Totals::default() };
        let mut counted = Counted::of(pages(100));
        assert_eq!(counted.take(), pages(0));
        counted.now = pages(107);
        assert_eq!((counted.take(), counted.take()), (pages(7), pages(0)));
    }
}
