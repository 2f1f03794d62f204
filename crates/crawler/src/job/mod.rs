//! A whole crawl from settings to summary: what `crawl run`, `crawl resume` and `crawl demo` call.

pub(crate) mod again;
mod descriptors;
mod forget;
mod index;
mod neighbours;
mod plan;
mod power_failure;
mod rejudge;
pub(crate) mod revisit;
mod rules;
mod scrub;
mod seed;
mod trial;

pub use self::forget::forget;
pub use self::plan::{plan, plan_asked, plan_stored};
pub(crate) use self::power_failure::mend_archive;
pub use self::rejudge::{Rejudged, changed as changed_since};
pub use self::revisit::{Begun, Revisit, begin as begin_revisit, close as close_revisit};
use self::rules::fetch_settings;
pub(crate) use self::rules::selectors;
pub use self::rules::{
    consent_cache, consent_rules, engine_settings, origin_cache, page_rules, robots_cache,
};
pub use self::seed::{QueuedSeeds, queue_seeds};
pub use self::trial::read_response_alone;

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{mpsc, watch};

use crate::causes::with_causes;
use crate::cdxj;
use crate::commit::{CommitError, Committer, EarlierBodies, EarlierError};
pub use crate::config::scope;
use crate::config::{self, ConfigError, Record, Settings, WarcDedup};
use crate::crawl_dir;
pub use crate::crawl_dir::{CrawlDir, DirError};
use crate::engine::{
    End, Engine, EngineParts, EngineSettings, LOST, Listener, Steer, Steering, Stop, Summary,
};
use crate::fetch::{FetchSettings, HttpFetch, OwnSeeds, SetupError};
use crate::format::{self, new_key};
pub use crate::format::{FORMAT, FormatError, read_key};
use crate::intents::{self, Intents};
use crate::live::{Control, GRACE, NoOrders, Socket};
use crate::neighbours::Area;
use crate::origin_cache::OriginCache;
use crate::page_store;
use crate::pauses::PauseLog;
use crate::record::{Round, RunSettings};
pub use crate::removal::Removed;
use crate::scope::{PatternError, Scope};
use crate::seeds::SeedList;
use crate::store::{SledStore, Store, StoreError, Tree, Write, shared};
use crate::suspects::{Suspects, Trials};
use crate::view::{self, View};
use crate::visit::{PageRules, Revisiting, VisitContext};
use crate::warc::WarcInfo;
use page::clock::Clock;
use page::extract::{BadSelector, SelectRule};
use page::url::{CrawlUrl, FingerprintKey};

/// Why a crawl couldn't start, go on or end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// `crawl.toml` of an existing crawl.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The output directory.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// `warc.dedup`.
    #[error(transparent)]
    Earlier(#[from] EarlierError),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Writing while it ran.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// `--include`, `--exclude`.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// `[[extract]]`.
    #[error(transparent)]
    Selector(#[from] BadSelector),
    /// The HTTP client.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// `crawl.toml` can't be written as TOML.
    #[error("the settings can't be written as TOML")]
    Toml(#[from] toml::ser::Error),
    /// A record of a crawl can't be read.
    #[error(transparent)]
    View(Box<crate::view::ViewError>),
    /// Withdrawn content may still be in the database's free space.
    #[error(
        "withdrawn content may still be in free space of the database; `crawl resume {}` removes it once the disk is writable",
        .dir.display()
    )]
    Scrub {
        /// The crawl's directory.
        dir: std::path::PathBuf,
        /// Why it couldn't be removed.
        source: Box<JobError>,
    },
    /// The start was interrupted: nothing was fetched.
    #[error(
        "{} holds a crawl that was killed before it fetched anything; `crawl resume {}` restarts it",
        .0.display(), .0.display()
    )]
    Unfinished(std::path::PathBuf),
    /// The regular expression of `crawl forget`.
    #[error("the regular expression can't be read")]
    Forget(#[source] regex::Error),
    /// The indexes beside the archive can't be written.
    #[error(transparent)]
    Cdxj(Box<cdxj::CdxjError>),
    /// The full-text index.
    #[cfg(feature = "search")]
    #[error(transparent)]
    Search(#[from] crate::search::SearchError),
    /// The full-text index of an earlier run, which this one doesn't keep, can't be removed.
    #[error("the full-text index in {} can't be removed, and would still show withdrawn content", .dir.display())]
    Index {
        /// The crawl's directory.
        dir: std::path::PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// The database has a form of another version.
    #[error(transparent)]
    Format(FormatError),
    /// A thread of ours panicked.
    #[error("counting what is stored, or removing withdrawn content, failed unexpectedly")]
    Panicked,
}

impl From<FormatError> for JobError {
    fn from(error: FormatError) -> Self {
        match error {
            FormatError::Store(error) => Self::Store(error),
            error => Self::Format(error),
        }
    }
}

/// A crawl that is ready to run.
pub struct Job {
    /// Where other processes connect that read the crawl while it runs. It goes before the lock does.
    socket: std::io::Result<Socket>,
    dir: CrawlDir,
    settings: Settings,
    scope: Scope,
    fetch: HttpFetch,
    caches: Arc<OriginCache>,
    store: Arc<SledStore>,
    key: FingerprintKey,
    selectors: Vec<SelectRule>,
    seed_hosts: HashSet<Box<str>>,
    areas: Vec<Area>,
    run: (RunSettings, String),
    started: Timestamp,
    revisiting: bool,
    rejudged: Rejudged,
    begins_again: bool,
    /// Withdrawn content was removed from the database: it may still be in the files of the index.
    purges_index: bool,
    lost: u64,
    control: Arc<dyn Control>,
    orders: Option<mpsc::UnboundedReceiver<Steer>>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Job {
    /// Starts a new crawl in `settings.out`. Everything that can be wrong with the settings is found before anything
    /// is made; a start that fails later leaves nothing behind. Where a crawl is there that has no page, a new run of that is begun
    /// ([`Job::begins_again`]): with these settings and its seeds besides those of before, and with its ledger, robots.txt files and pauses.
    ///
    /// # Errors
    /// [`DirError::HoldsCrawl`]: a crawl is there that has a page. [`DirError::OtherRules`]: one without, that went by other rules.
    pub fn start(
        settings: Settings,
        list: &SeedList,
        program: &str,
        now: Timestamp,
    ) -> Result<Self, JobError> {
        let record = Record::new(program, now, list);
        let seeds: Vec<CrawlUrl> = list.seeds.iter().map(|(_, url)| url.clone()).collect();
        let prepared = Prepared::new(&settings, &seeds)?;
        if crawl_dir::expect_crawl(&settings.out).is_ok() {
            return Self::begin_again(settings, list, record, now);
        }
        let dir = CrawlDir::create(&settings.out)?;
        let socket = Socket::bind(dir.root());
        let text = config::to_toml(&settings, &record)?;
        let made = dir
            .write_settings(&text)
            .map_err(JobError::from)
            .and_then(|()| seed_database(&dir, &prepared.scope, &seeds, &record, &text, now));
        match made {
            Ok(opened) => Ok(Self::new(dir, socket, settings, prepared, opened, now)),
            Err(error) => {
                drop(socket);
                dir.undo();
                Err(error)
            }
        }
    }

    /// Begins a new run of a crawl that has no page; `new` is the record of one that were begun now.
    fn begin_again(
        settings: Settings,
        list: &SeedList,
        new: Record,
        now: Timestamp,
    ) -> Result<Self, JobError> {
        let dir = CrawlDir::open_to_continue(&settings.out)?;
        let file = dir.settings();
        let is_unfinished = dir.is_unfinished();
        let mut unusable = list.bad.clone();
        let record = if is_unfinished {
            // Killed before its seeds were in.
            new
        } else {
            match has_page(&dir) {
                Ok(false) => {}
                Ok(true) | Err(StoreError::Missing { .. } | StoreError::Damaged { .. }) => {
                    return Err(DirError::HoldsCrawl(settings.out.clone()).into());
                }
                Err(error) => return Err(error.into()),
            }
            let before = config::load_own(&config::CliOverrides::default(), [], &file, None)?.settings;
            let keys: Vec<_> = config::differences(&before, &settings)
                .into_iter()
                .filter(|key| config::is_of_the_crawl(key))
                .collect();
            if !keys.is_empty() {
                let (root, keys) = (settings.out.clone(), keys.join(", "));
                return Err(DirError::OtherRules { root, keys }.into());
            }
            let record = config::read_record(&file)?;
            unusable.retain(|bad| record.unusable.iter().all(|known| known.text != bad.text));
            record.joined_by(new)
        };
        dir.write_settings(&config::to_toml(&settings, &record)?)?;
        let mut job = Self::resume_in(dir, settings, &record, now)?;
        if !is_unfinished {
            let seeds: Vec<CrawlUrl> = list.seeds.iter().map(|(_, url)| url.clone()).collect();
            again::seeds(&job.store, &job.scope, &seeds, &unusable, job.key, now)?;
        }
        job.begins_again = true;
        Ok(job)
    }

    /// Whether this is a new run of a crawl that had no page.
    pub fn begins_again(&self) -> bool {
        self.begins_again
    }

    /// Takes up the crawl in `settings.out`; `record` is what its `crawl.toml` says of its start.
    pub fn resume(settings: Settings, record: &Record, now: Timestamp) -> Result<Self, JobError> {
        let dir = CrawlDir::open_to_continue(&settings.out)?;
        Self::resume_in(dir, settings, record, now)
    }

    fn resume_in(
        dir: CrawlDir,
        settings: Settings,
        record: &Record,
        now: Timestamp,
    ) -> Result<Self, JobError> {
        let socket = Socket::bind(dir.root());
        let seeds = record.seed_urls()?;
        let prepared = Prepared::new(&settings, &seeds)?;
        let (mut purges_index, mut lost) = (false, 0);
        let mut prepared = prepared;
        let opened = if dir.is_unfinished() {
            // Killed before the seeds were in: nothing was fetched, so the start is made again.
            dir.prepare_db()?;
            let text = config::to_toml(&settings, record)?;
            seed_database(&dir, &prepared.scope, &seeds, record, &text, now)?
        } else {
            let mut store = Arc::new(SledStore::open(&dir.db())?);
            let key = read_key(&*store)?;
            format::renew(&*store)?;
            lost = mend_archive(&dir, &store, key, now)?;
            // What a `crawl forget` was interrupted in.
            forget::finish(&dir, &shared(Arc::clone(&store)))?;
            if scrub::is_due(&*store)? {
                purges_index = true;
                drop(store);
                scrub::before_run(&dir)?;
                store = Arc::new(SledStore::open(&dir.db())?);
            }
            prepared.scope.forget(forget::forgotten(&*store)?);
            (store, key)
        };
        let mut job = Self::new(dir, socket, settings, prepared, opened, record.started);
        (job.purges_index, job.lost) = (purges_index, lost);
        job.revisit(None, now)?;
        job.rejudged = rejudge::changed(&*job.store, &job.run.0, &job.settings)?;
        if !job.rejudged.failures.is_empty() {
            job.rejudged.again = again::failed(&job.store, &job.rejudged.failures, job.key, now)?;
        }
        Ok(job)
    }

    /// How many pages are fetched again because a power failure took their bodies.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// What the run will judge again of the URLs that earlier runs skipped.
    pub fn rejudged(&self) -> &Rejudged {
        &self.rejudged
    }

    fn new(
        dir: CrawlDir,
        socket: std::io::Result<Socket>,
        settings: Settings,
        prepared: Prepared,
        (store, key): (Arc<SledStore>, FingerprintKey),
        started: Timestamp,
    ) -> Self {
        let Prepared { scope, fetch, caches, selectors, seed_hosts, areas, run } = prepared;
        Self {
            dir,
            settings,
            scope,
            fetch,
            caches,
            store,
            key,
            selectors,
            seed_hosts,
            areas,
            run,
            started,
            revisiting: false,
            rejudged: Rejudged::default(),
            begins_again: false,
            purges_index: false,
            lost: 0,
            socket,
            control: Arc::new(NoOrders),
            orders: None,
        }
    }

    /// Says who takes the orders that other processes give while the crawl runs, and where those come in that the engine carries
    /// out; without it nobody takes any.
    #[must_use]
    pub fn with_control(self, control: Arc<dyn Control>, orders: mpsc::UnboundedReceiver<Steer>) -> Self {
        Self { control, orders: Some(orders), ..self }
    }

    /// Queues the pages again that are due, and returns how many they are; an interrupted round is continued instead. Without `which` only
    /// the latter.
    pub fn revisit(&mut self, which: Option<Revisit>, now: Timestamp) -> Result<Begun, JobError> {
        let begun = revisit::begin(&self.store, self.key, which, now)?;
        self.revisiting = Round::is_open(&*self.store)?;
        Ok(begun)
    }

    /// Queues the URLs again whose reading ended a process, and returns their number.
    pub fn retry_crashed(&mut self, now: Timestamp) -> Result<u64, JobError> {
        Ok(again::crashed(&self.store, self.key, now)?)
    }

    /// The output directory.
    pub fn dir(&self) -> &CrawlDir {
        &self.dir
    }

    /// Crawls until it is over or `stop` says so, then counts what is stored. The count takes some seconds for a million URLs. A
    /// run that was interrupted gives it up after [`PATIENCE`], and every run when `stop` asks to end at once.
    pub fn run(self, stop: watch::Receiver<Stop>, listener: Listener) -> Running {
        Box::pin(self.run_here(stop, listener))
    }

    async fn run_here(self, stop: watch::Receiver<Stop>, listener: Listener) -> Result<Finished, JobError> {
        let settings = &self.settings;
        let dir = Arc::new(self.dir);
        let root = std::path::absolute(dir.root()).unwrap_or_else(|_| dir.root().to_owned());
        let _running = neighbours::enter(&format!("the crawl in {}", root.display()), self.areas);
        let name = dir.root().file_name().map(|name| name.to_string_lossy().into_owned());
        let info = warc_info(settings, &self.run.0, name.unwrap_or_default(), self.started);
        let warc = dir.warc();
        let settings_keep_archive = settings.warc.enabled;
        let archive = settings.warc.enabled.then_some((warc.as_path(), &info, settings.warc.max_file_size));
        let store = shared(Arc::clone(&self.store));
        let committer = Committer::open(Arc::clone(&store), archive)?.with_archive_dir(&warc)?;
        let dedup = settings.warc.dedup.clone();
        let committer = committer.storing_bodies_once(dedup != WarcDedup::Off);
        let committer = committer.sharing_bodies_of(earlier_bodies(&warc, settings).await?);
        let clock = Clock::system();
        let (listener, tell) = index::share(listener, clock);
        let (index, indexer) =
            index::start(dir.root(), &store, settings, clock.now().wall, self.purges_index, tell)?;
        let keeps_index = indexer.is_some();
        let committer = committer.with_index(indexer);
        let pauses = Arc::new(PauseLog::open(dir.root(), clock)?);
        let (timeout, longest) = (settings.fetch.timeout, settings.limits.max_url_length);
        let left = intents::left(dir.root())?;
        let intents = Arc::new(Intents::new(dir.root(), timeout, longest));
        // Pages are fetched again whose bodies were lost, in a power failure or with the disk of a worker.
        let has_lost = store.get(Tree::Meta, LOST)?.is_some();
        let context = Arc::new(VisitContext {
            fetch: self.fetch.noting(Arc::clone(&pauses)).spooling_in(dir.root()),
            caches: Arc::clone(&self.caches),
            robots: robots_cache(settings, Arc::clone(&store), &self.caches).with_clock(clock),
            consent: consent_cache(settings, Arc::clone(&store), &self.caches),
            revisiting: Revisiting::of(Arc::clone(&store), self.revisiting || has_lost),
            pages: Arc::new(PageRules {
                index: keeps_index,
                suspects: Suspects::open(dir.root(), Trials::new(&self.run.1))?,
                ..page_rules(settings, self.selectors, self.key)
            }),
            clock,
            seed_hosts: self.seed_hosts,
            max_crawl_delay: settings.pace.max_crawl_delay,
            retries: settings.fetch.retries,
            max_wait: settings.pace.max_wait,
        });
        let changed = self.rejudged.changed;
        let skipped_urls = (!changed.is_empty())
            .then(|| View::over(Arc::clone(&self.store)).map(|view| view.in_dir(Arc::clone(&dir))))
            .transpose()
            .map_err(|error| JobError::View(Box::new(error)))?;
        let engine = EngineSettings { run: Some(self.run), changed, ..engine_settings(settings, self.key) };
        let parts = EngineParts {
            pauses: Some(pauses),
            intents: Some((Arc::clone(&intents), left)),
            orders: self.orders,
            skipped_urls,
            ..EngineParts::new(committer, listener)
        };
        let pages = Arc::clone(&context.pages);
        let mut engine = Engine::open(engine, context, &store, self.scope, parts)?;
        let steering = Steering::stored(&*self.store)?;
        if steering.paused {
            tracing::warn!("the crawl is paused, as it was when it ended; `crawl continue DIR` ends that");
        }
        let control = self.control;
        let server = self.socket.and_then(|socket| socket.serve(Arc::clone(&self.store), Some(control)));
        if let Err(error) = &server {
            tracing::warn!("no other command can read the crawl while it runs: {error}");
        }
        let max_time = settings.limits.max_time;
        let ran = engine.run(stop.clone()).await;
        let written = engine.into_written_files();
        let summary = match ran {
            Ok(summary) => summary,
            Err(error) => {
                // Where the index is what failed, its thread knows how.
                if matches!(error, CommitError::Index(_)) {
                    index::finish(index, false, std::future::ready(())).await?;
                }
                return Err(error.into());
            }
        };
        intents.finish();
        if !matches!(summary.end, End::Forced) {
            // Whatever didn't come to an end is read alone next time. Hosts that pause may remain after a complete run.
            pages.suspects.finish(summary.end == End::Complete && summary.queued == 0);
        }
        let done = !matches!(summary.end, End::Interrupted | End::Forced);
        if self.revisiting && summary.end == End::Complete {
            revisit::close(&*self.store)?;
        }
        let account = match summary.end {
            End::Forced => None,
            End::Interrupted => {
                account(Arc::clone(&self.store), Arc::clone(&dir), stop.clone(), PATIENCE).await?
            }
            End::Complete | End::Limit(_) => {
                account(Arc::clone(&self.store), Arc::clone(&dir), stop.clone(), Duration::MAX).await?
            }
        };
        if settings_keep_archive && !matches!(summary.end, End::Forced) {
            let (warc, until) = (dir.warc(), (!done).then(|| page::clock::instant() + PATIENCE));
            let updated = tokio::task::spawn_blocking(move || cdxj::update(&warc, &written, until)).await;
            // The archive is whole without it, and `crawl export` writes one at any time.
            if let Err(error) = updated.map_err(|_| JobError::Panicked)? {
                tracing::warn!("no index of the archive was written: {}", with_causes(&error));
            }
        }
        let scrub_due = done && scrub::is_due(&*self.store)?;
        // A run that has to end at once leaves the rest to the next one.
        if !matches!(summary.end, End::Forced) {
            let rest = max_time.map(|most| most.saturating_sub(clock.now().mono));
            index::finish(index, scrub_due, asked_to_stop(stop, rest)).await?;
        }
        if let Ok(server) = server {
            let grace = if matches!(summary.end, End::Forced) { Duration::ZERO } else { GRACE };
            let ended = tokio::task::spawn_blocking(move || server.finish(grace)).await;
            ended.map_err(|_| JobError::Panicked)?;
        }
        drop((store, self.store));
        if scrub_due {
            // Nothing else waits for this thread.
            tokio::task::spawn_blocking(move || scrub::after_run(&dir))
                .await
                .map_err(|_| JobError::Panicked)??;
        }
        Ok(Finished { summary, account })
    }
}

/// What the files of the archive say of the crawl, which is called `name` in them.
pub(crate) fn warc_info(
    settings: &Settings,
    run: &RunSettings,
    name: String,
    started_at: Timestamp,
) -> WarcInfo {
    WarcInfo {
        software: concat!("crawl/", env!("CARGO_PKG_VERSION")).to_owned(),
        operator: settings.agent.operator(),
        robots: format!("obeyed ({})", settings.robots.dialect),
        user_agent: settings.agent.user_agent(),
        from: settings.agent.from_header(),
        settings: Some(format!("blake3:{}", run.settings)),
        is_part_of: name,
        started_at,
    }
}

/// Reads what earlier crawls have stored, where the settings name any. `warc` is the archive of this crawl.
async fn earlier_bodies(
    warc: &std::path::Path,
    settings: &Settings,
) -> Result<Option<EarlierBodies>, JobError> {
    let dirs = settings.warc.dedup.earlier().to_vec();
    if dirs.is_empty() || !settings.warc.enabled {
        return Ok(None);
    }
    let warc = warc.to_owned();
    let reading = tokio::task::spawn_blocking(move || EarlierBodies::open(&warc, &dirs));
    Ok(Some(reading.await.map_err(|_| JobError::Panicked)??))
}

/// A run that goes on as it is polled. It has no type of its own, or whoever polls it would compile the engine again.
pub type Running = Pin<Box<dyn Future<Output = Result<Finished, JobError>> + Send>>;

/// A run that is over.
#[derive(Debug)]
pub struct Finished {
    /// How it ended, and what remains queued.
    pub summary: Summary,
    /// What the crawl holds, as `crawl show` has it; none where the run ended before it was counted.
    pub account: Option<view::Summary>,
}

/// Returns when somebody asks the run to stop, or has asked before, or when `rest` has passed.
#[expect(clippy::disallowed_methods, reason = "the run is over: this waits for its own work, not for a site")]
async fn asked_to_stop(mut stop: watch::Receiver<Stop>, rest: Option<Duration>) {
    let asked = async {
        // A sender that is gone asks for nothing.
        if stop.wait_for(|stop| *stop != Stop::No).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = asked => {}
        () = tokio::time::sleep(rest.unwrap_or(Duration::MAX)) => {}
    }
}

/// How long somebody who interrupts a crawl waits for its counts.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Counts what is stored, unless that takes longer than `patience`, or `stop` asks to end at once.
#[expect(clippy::disallowed_methods, reason = "the run is over: this waits for a person, not for a site")]
async fn account(
    store: Arc<SledStore>,
    dir: Arc<CrawlDir>,
    mut stop: watch::Receiver<Stop>,
    patience: Duration,
) -> Result<Option<view::Summary>, JobError> {
    let counting = tokio::task::spawn_blocking(move || View::over(store)?.in_dir(dir).summary());
    let at_once = async {
        // A sender that is gone asks for nothing.
        if stop.wait_for(|stop| *stop == Stop::Now).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        counted = counting => {
            let counted = counted.map_err(|_| JobError::Panicked)?;
            Ok(Some(counted.map_err(|error| JobError::View(Box::new(error)))?))
        }
        () = at_once => Ok(None),
        () = tokio::time::sleep(patience) => Ok(None),
    }
}

/// What is checked before anything is made.
pub(crate) struct Prepared {
    pub(crate) scope: Scope,
    pub(crate) fetch: HttpFetch,
    caches: Arc<OriginCache>,
    pub(crate) selectors: Vec<SelectRule>,
    pub(crate) seed_hosts: HashSet<Box<str>>,
    /// What it requests pages of, as other commands are to know it.
    areas: Vec<Area>,
    /// Settings and seeds, for the ledger.
    pub(crate) run: (RunSettings, String),
}

impl Prepared {
    pub(crate) fn new(settings: &Settings, seeds: &[CrawlUrl]) -> Result<Self, JobError> {
        let mut scope = scope(settings)?;
        for seed in seeds {
            scope.add_seed(seed);
        }
        if settings.warc.enabled {
            EarlierBodies::check(settings.warc.dedup.earlier())?;
        }
        let caches = origin_cache(settings);
        Ok(Self {
            scope,
            fetch: HttpFetch::with_cache(
                FetchSettings {
                    own_seeds: OwnSeeds::of(seeds.iter().map(CrawlUrl::to_url)),
                    keeps_dns_answers: settings.warc.enabled,
                    ..fetch_settings(settings)
                },
                Arc::clone(&caches),
            )?,
            caches,
            selectors: selectors(settings)?,
            seed_hosts: seeds.iter().map(|seed| seed.host().into()).collect(),
            areas: neighbours::areas(settings, seeds),
            run: config::run_settings(settings, seeds)?,
        })
    }
}

/// Whether the crawl in a directory has a row of table `pages`, or had one that was removed. Cost: reads the records up to the first such.
fn has_page(dir: &CrawlDir) -> Result<bool, StoreError> {
    let store = SledStore::open(&dir.db())?;
    for page in page_store::scan(&store) {
        let page = page?.record()?;
        if page.status.is_some() || page.forgotten {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes the database with the seeds in it, under its final name.
fn seed_database(
    dir: &CrawlDir,
    scope: &Scope,
    seeds: &[CrawlUrl],
    record: &Record,
    text: &str,
    now: Timestamp,
) -> Result<(Arc<SledStore>, FingerprintKey), JobError> {
    let key = new_key();
    {
        let store = shared(Arc::new(SledStore::create(&dir.unfinished_db())?));
        let about = vec![
            Write::put(Tree::Meta, "format", FORMAT.to_string()),
            Write::put(Tree::Meta, "crawl_id", uuid::Uuid::new_v4().to_string()),
            Write::put(Tree::Meta, "fingerprint_key", key.bytes()),
            Write::put(Tree::Meta, "started", now.to_string()),
            Write::put(Tree::Meta, "settings", text),
        ];
        store.commit(about)?;
        queue_seeds(&store, scope, seeds, &record.unusable, key, now)?;
    }
    dir.finish_db()?;
    Ok((Arc::new(SledStore::open(&dir.db())?), key))
}
