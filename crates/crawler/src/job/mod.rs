//! A whole crawl from settings to summary: what `crawl run`, `crawl resume` and `crawl demo` call.

mod descriptors;
mod dir;
mod plan;
mod revisit;
mod rules;
mod scrub;
mod seed;
mod swap;

pub use self::dir::{CrawlDir, DirError};
pub use self::plan::{plan, plan_offline};
use self::rules::fetch_settings;
pub(crate) use self::rules::selectors;
pub use self::rules::{consent_cache, consent_rules, engine_settings, page_rules, robots_cache, scope};
pub use self::seed::{Planted, plant};
pub(crate) use self::swap::whole_database;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::commit::{CommitError, Committer};
use crate::config::{self, Record, Settings};
use crate::engine::{End, Engine, EngineSettings, Listener, Stop, Summary};
use crate::extract::{BadSelector, SelectRule};
use crate::fetch::{FetchSettings, HttpFetch, OwnSeeds, SetupError};
use crate::pauses::PauseLog;
use crate::record::RunSettings;
use crate::scope::{PatternError, Scope};
use crate::store::{SledStore, Store, StoreError, Tree, Write};
use crate::url::{CrawlUrl, FingerprintKey};
use crate::visit::VisitContext;
use crate::warc::WarcInfo;

/// The form of the database that this version writes.
pub const FORMAT: u32 = 2;

/// Says why a crawl couldn't start, go on or end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The output directory.
    #[error(transparent)]
    Dir(#[from] DirError),
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
        "withdrawn content may still be in free space of the database; `crawl resume {}` removes it when the disk can be written again",
        .dir.display()
    )]
    Scrub {
        /// The crawl's directory.
        dir: std::path::PathBuf,
        /// Why it couldn't be removed.
        source: Box<JobError>,
    },
    /// A thread of ours panicked.
    #[error("removing withdrawn content from the database failed unexpectedly")]
    Panicked,
    /// The database has a form of another version.
    #[error(
        "the database has format {found}, and this version of crawl reads format {FORMAT}; {}",
        if *.is_older { "`crawl repair DIR --out NEWDIR` makes a crawl of this format out of it" } else { "a newer version of crawl reads it" }
    )]
    Format {
        /// The form found.
        found: String,
        /// It is one of an earlier version.
        is_older: bool,
    },
}

/// A crawl that is ready to run.
#[derive(Debug)]
pub struct Job {
    dir: CrawlDir,
    settings: Settings,
    scope: Scope,
    fetch: HttpFetch,
    store: Arc<SledStore>,
    key: FingerprintKey,
    selectors: Vec<SelectRule>,
    seed_hosts: HashSet<Box<str>>,
    run: (RunSettings, String),
    started: Timestamp,
    revisiting: bool,
}

impl Job {
    /// Starts a new crawl in `settings.out`. Everything that can be wrong with the settings is found before anything
    /// is made; a start that fails later leaves nothing behind.
    pub fn start(
        settings: Settings,
        seeds: &[CrawlUrl],
        program: &str,
        now: Timestamp,
    ) -> Result<Self, JobError> {
        let prepared = Prepared::new(&settings, seeds)?;
        let dir = CrawlDir::create(&settings.out)?;
        let record = Record {
            program: program.to_owned(),
            started: now,
            seeds: seeds.iter().map(ToString::to_string).collect(),
        };
        let text = config::to_toml(&settings, &record)?;
        let made = dir
            .write_settings(&text)
            .map_err(JobError::from)
            .and_then(|()| seed_database(&dir, &prepared.scope, seeds, &text, now));
        match made {
            Ok((store, key)) => Ok(Self::new(dir, settings, prepared, store, key, now)),
            Err(error) => {
                dir.undo();
                Err(error)
            }
        }
    }

    /// Takes up the crawl in `settings.out`; `record` is what its `crawl.toml` says of its start.
    pub fn resume(settings: Settings, record: &Record, now: Timestamp) -> Result<Self, JobError> {
        let dir = CrawlDir::open(&settings.out)?;
        let seeds: Vec<CrawlUrl> = record.seeds.iter().filter_map(|url| CrawlUrl::parse(url).ok()).collect();
        let prepared = Prepared::new(&settings, &seeds)?;
        let (store, key) = if dir.is_unfinished() {
            // Killed before the seeds were in: nothing was fetched, so the start is made again.
            dir.prepare_db()?;
            let text = config::to_toml(&settings, record)?;
            seed_database(&dir, &prepared.scope, &seeds, &text, now)?
        } else {
            let mut store = SledStore::open(&dir.db())?;
            let key = read_key(&store)?;
            if scrub::is_due(&store)? {
                drop(store);
                scrub::before_run(&dir)?;
                store = SledStore::open(&dir.db())?;
            }
            (Arc::new(store), key)
        };
        let mut job = Self::new(dir, settings, prepared, store, key, record.started);
        job.revisit(None, now)?;
        Ok(job)
    }

    fn new(
        dir: CrawlDir,
        settings: Settings,
        prepared: Prepared,
        store: Arc<SledStore>,
        key: FingerprintKey,
        started: Timestamp,
    ) -> Self {
        let Prepared { scope, fetch, selectors, seed_hosts, run } = prepared;
        Self {
            dir,
            settings,
            scope,
            fetch,
            store,
            key,
            selectors,
            seed_hosts,
            run,
            started,
            revisiting: false,
        }
    }

    /// Queues every page again whose last visit is at least `age` ago, and gives their number; a round that was cut off is
    /// gone on with instead. Without an age only the latter.
    pub fn revisit(&mut self, age: Option<Duration>, now: Timestamp) -> Result<u64, JobError> {
        let queued = revisit::begin(&self.store, self.key, age, now)?;
        self.revisiting = revisit::is_open(&*self.store)?;
        Ok(queued)
    }

    /// The output directory.
    pub fn dir(&self) -> &CrawlDir {
        &self.dir
    }

    /// Crawls until it is over or `stop` says so.
    pub async fn run(self, stop: watch::Receiver<Stop>, listener: Listener) -> Result<Summary, JobError> {
        let settings = &self.settings;
        let agent = settings.agent.user_agent();
        let info = WarcInfo {
            software: concat!("crawl/", env!("CARGO_PKG_VERSION")).to_owned(),
            robots: format!("obeyed, dialect {}", settings.robots.dialect),
            user_agent: agent.clone(),
            from: settings.agent.from_header(),
            is_part_of: self
                .dir
                .root()
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            started_at: self.started,
        };
        let warc = self.dir.warc();
        let archive = settings.warc.enabled.then_some((warc.as_path(), &info, settings.warc.max_file_size));
        let committer = Committer::open(Arc::clone(&self.store), archive)?.with_archive_dir(&warc)?;
        let clock = Clock::system();
        let pauses = Arc::new(PauseLog::open(self.dir.root(), clock)?);
        let context = Arc::new(VisitContext {
            fetch: self.fetch.noting(Arc::clone(&pauses)),
            robots: robots_cache(settings, Arc::clone(&self.store)),
            consent: consent_cache(settings, Arc::clone(&self.store)),
            revisiting: self.revisiting.then(|| Arc::clone(&self.store)),
            pages: Arc::new(page_rules(settings, self.selectors, self.key)),
            clock,
            seed_hosts: self.seed_hosts,
            max_crawl_delay: settings.pace.max_crawl_delay,
        });
        let engine = EngineSettings { run: Some(self.run), ..engine_settings(settings, self.key) };
        let mut engine = Engine::open(engine, context, &self.store, self.scope, committer, listener)?;
        engine.take_up_pauses(pauses)?;
        let summary = engine.run(stop).await?;
        drop(engine);
        let done = !matches!(summary.end, End::Interrupted | End::Forced);
        if self.revisiting && summary.end == End::Complete {
            revisit::close(&*self.store)?;
        }
        let scrub_due = done && scrub::is_due(&*self.store)?;
        drop(self.store);
        if scrub_due {
            let dir = self.dir;
            // Nothing else waits for this thread.
            tokio::task::spawn_blocking(move || scrub::after_run(&dir))
                .await
                .map_err(|_| JobError::Panicked)??;
        }
        Ok(summary)
    }
}

/// What is checked before anything is made.
struct Prepared {
    scope: Scope,
    fetch: HttpFetch,
    selectors: Vec<SelectRule>,
    seed_hosts: HashSet<Box<str>>,
    /// Settings and seeds, for the ledger.
    run: (RunSettings, String),
}

impl Prepared {
    fn new(settings: &Settings, seeds: &[CrawlUrl]) -> Result<Self, JobError> {
        let mut scope = scope(settings)?;
        for seed in seeds {
            scope.add_seed(seed);
        }
        Ok(Self {
            scope,
            fetch: HttpFetch::new(FetchSettings {
                own_seeds: OwnSeeds::of(seeds.iter().map(CrawlUrl::as_url)),
                ..fetch_settings(settings)
            })?,
            selectors: selectors(settings)?,
            seed_hosts: seeds.iter().map(|seed| seed.host().into()).collect(),
            run: RunSettings::new(settings, seeds)?,
        })
    }
}

/// Makes the database with the seeds in it, under its final name.
fn seed_database(
    dir: &CrawlDir,
    scope: &Scope,
    seeds: &[CrawlUrl],
    text: &str,
    now: Timestamp,
) -> Result<(Arc<SledStore>, FingerprintKey), JobError> {
    let key = new_key();
    {
        let store = Arc::new(SledStore::create(&dir.unfinished_db())?);
        let about = vec![
            Write::put(Tree::Meta, "format", FORMAT.to_string()),
            Write::put(Tree::Meta, "crawl_id", uuid::Uuid::new_v4().to_string()),
            Write::put(Tree::Meta, "fingerprint_key", key.0.to_vec()),
            Write::put(Tree::Meta, "started", now.to_string()),
            Write::put(Tree::Meta, "settings", text),
        ];
        store.commit(about)?;
        plant(&store, scope, seeds, key, now)?;
    }
    dir.finish_db()?;
    Ok((Arc::new(SledStore::open(&dir.db())?), key))
}

/// A key that nobody can guess: 32 octets of two random UUIDs, hashed.
pub(crate) fn new_key() -> FingerprintKey {
    let mut hasher = blake3::Hasher::new();
    hasher.update(uuid::Uuid::new_v4().as_bytes());
    hasher.update(uuid::Uuid::new_v4().as_bytes());
    FingerprintKey(*hasher.finalize().as_bytes())
}

/// The key of an existing crawl, once its form is known to be ours.
pub fn read_key<S: Store>(store: &S) -> Result<FingerprintKey, JobError> {
    let found = store.get(Tree::Meta, b"format")?.unwrap_or_default();
    let found = String::from_utf8_lossy(&found).into_owned();
    if found != FORMAT.to_string() {
        let is_older = found.parse().is_ok_and(|found: u32| found < FORMAT);
        return Err(JobError::Format { found, is_older });
    }
    let key = store.get(Tree::Meta, b"fingerprint_key")?.unwrap_or_default();
    let key = <[u8; 32]>::try_from(key).map_err(|_| StoreError::Form {
        tree: Tree::Meta.name(),
        detail: "the fingerprint key is missing".to_owned(),
    })?;
    Ok(FingerprintKey(key))
}
