//! Makes a new crawl in an empty database: tables, settings, and the seeds in the partitions of their hosts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use super::schema::{self, MAKER};
use super::{Address, Claim, ClusterError, Database, PgStore, Plan, Terms};
use crate::causes::with_causes;
use crate::commit::CommitError;
use crate::config::{self, ConfigError, Record, Settings};
use crate::format::{FORMAT, new_key};
use crate::job::{JobError, Prepared, QueuedSeeds, queue_seeds};
use crate::post;
use crate::scope::Scope;
use crate::seeds::{BadLine, SeedList};
use crate::store::{Store as _, Tree, Write};
use page::url::{CrawlUrl, FingerprintKey};

/// Partitions that are filled at the same time; their commits go together.
const THREADS: u32 = 16;

/// How long the database may be out of reach.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// A crawl that is to be made.
#[derive(Debug)]
pub struct NewCrawl<'a> {
    /// Settings of the crawl.
    pub settings: Settings,
    /// Seeds.
    pub list: &'a SeedList,
    /// Program and version, as `crawl.toml` has it.
    pub program: &'a str,
    /// Lease and partitions.
    pub terms: Terms,
    /// Accepts a database whose commits no standby server confirms.
    pub single_server: bool,
}

/// Why a crawl wasn't made. The database is as it was before, where it could be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InitError {
    /// The database.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The seeds can't be stored.
    #[error("the seeds can't be stored in the cluster's database")]
    Seeds(#[source] CommitError),
    /// The settings.
    #[error(transparent)]
    Settings(#[from] JobError),
    /// The settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The settings can't be written as TOML.
    #[error("the settings can't be written as TOML")]
    Toml(#[from] toml::ser::Error),
    /// `warc.dedup` names directories.
    #[error(
        "warc.dedup names directories of earlier crawls, which the machines of a cluster's workers may not have; \"crawl\" is possible"
    )]
    EarlierBodies,
    /// `costly.directory` names a directory.
    #[error(
        "costly.directory names a directory of kinds of sites, which the machines of a cluster's workers may not have; leave it out"
    )]
    OwnKinds,
    /// The number of partitions.
    #[error("a crawl has between 1 and 4096 partitions")]
    Partitions,
    /// The lease.
    #[error("a lease lasts between 2 s and 10 min")]
    Lease,
}

/// Refuses what only a crawl on one machine can do.
pub(super) fn check_settings(settings: &Settings) -> Result<(), InitError> {
    if !settings.warc.dedup.earlier().is_empty() {
        return Err(InitError::EarlierBodies);
    }
    if !settings.costly.directory.as_os_str().is_empty() {
        return Err(InitError::OwnKinds);
    }
    Ok(())
}

/// Refuses terms that make no sense.
pub(super) fn check(terms: Terms) -> Result<(), InitError> {
    if !(1..=4096).contains(&terms.partitions) {
        return Err(InitError::Partitions);
    }
    if terms.lease < super::state::LEASES.0 || terms.lease > super::state::LEASES.1 {
        return Err(InitError::Lease);
    }
    Ok(())
}

/// Makes a crawl, and says what became of its seeds. Everything that can be wrong with the settings is found before anything is made; a
/// failure later on removes what was made.
pub fn init(address: &Address, new: NewCrawl<'_>, now: Timestamp) -> Result<QueuedSeeds, InitError> {
    let NewCrawl { mut settings, list, program, terms, single_server } = new;
    check_settings(&settings)?;
    check(terms)?;
    // A worker keeps none.
    settings.index.enabled = false;
    let seeds: Vec<CrawlUrl> = list.seeds.iter().map(|(_, url)| url.clone()).collect();
    let prepared = Prepared::new(&settings, &seeds)?;
    let record = Record::new(program, now, list);
    let key = new_key();
    let plan = Plan { program: program.to_owned(), key, settings: config::to_toml(&settings, &record)? };
    super::make_tables(address, terms, &plan, single_server)?;
    let filled = fill(address, &settings, &prepared.scope, &record, key, terms.partitions, now);
    let finished = filled.and_then(|(seeds, queued)| {
        super::database::block_on(schema::enter_queued(address, &queued))?;
        super::free_partitions(address)?;
        Ok(seeds)
    });
    if finished.is_err() {
        let _removed = undo(address);
    }
    finished
}

/// Removes what was made of a crawl that couldn't be. False where it may remain, which is said in the log.
pub(super) fn undo(address: &Address) -> bool {
    let removed = super::database::block_on(schema::undo(address));
    if let Err(error) = &removed {
        tracing::warn!("the tables of the crawl that wasn't made remain: {}", with_causes(error));
    }
    removed.is_ok()
}

/// What a store begins with.
pub(super) fn beginning(
    crawl_id: &str,
    key: FingerprintKey,
    started: Timestamp,
    settings: String,
) -> Vec<Write> {
    vec![
        Write::put(Tree::Meta, "format", FORMAT.to_string()),
        Write::put(Tree::Meta, "crawl_id", crawl_id),
        Write::put(Tree::Meta, "fingerprint_key", key.bytes()),
        Write::put(Tree::Meta, "started", started.to_string()),
        Write::put(Tree::Meta, "settings", settings),
    ]
}

/// What is on record of the start, of one partition: the seeds of its hosts, and with the first the lines that are none.
pub(super) fn record_of(record: &Record, part: u32, seeds: &[CrawlUrl]) -> Record {
    let is_first = part == 0;
    Record {
        seeds: seeds.iter().map(CrawlUrl::to_string).collect(),
        unusable: if is_first { record.unusable.clone() } else { Vec::new() },
        unusable_seeds: if is_first { record.unusable_seeds } else { 0 },
        ..record.clone()
    }
}

/// A partition while a crawl is being made.
pub(super) fn claim_of(part: u32) -> Claim {
    Claim { part: i32::try_from(part).unwrap_or(i32::MAX), owner: MAKER, fence: 1, commits: 0 }
}

/// The seeds of each partition.
pub(super) fn seeds_of(record: &Record, partitions: u32) -> Result<Vec<Vec<CrawlUrl>>, ConfigError> {
    let mut seeds: Vec<Vec<CrawlUrl>> = (0..partitions).map(|_| Vec::new()).collect();
    for url in record.seed_urls()? {
        if let Some(seeds) = seeds.get_mut(post::partition(url.host(), partitions) as usize) {
            seeds.push(url);
        }
    }
    Ok(seeds)
}

/// Stores in each partition what its owners read first, with the seeds of its hosts. Returns what became of these, and how many are queued in each partition.
fn fill(
    address: &Address,
    settings: &Settings,
    scope: &Scope,
    record: &Record,
    key: FingerprintKey,
    partitions: u32,
    now: Timestamp,
) -> Result<(QueuedSeeds, Vec<u64>), InitError> {
    let seeds = seeds_of(record, partitions)?;
    let database = Arc::new(Database::open(address.clone(), PATIENCE)?);
    let crawl_id = uuid::Uuid::new_v4().to_string();
    let next = AtomicU32::new(0);
    let fill_some = || -> Result<Vec<(u32, QueuedSeeds)>, InitError> {
        let mut all = Vec::new();
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            let Some(seeds) = seeds.get(part as usize) else { return Ok(all) };
            let unusable: &[BadLine] = if part == 0 { &record.unusable } else { &[] };
            let own = record_of(record, part, seeds);
            let claim = claim_of(part);
            let store = Arc::new(PgStore::new(Arc::clone(&database), claim));
            let text = config::to_toml(settings, &own)?;
            let mut about = beginning(&crawl_id, key, now, text);
            about.push(Write::put(Tree::Meta, "partition", format!("{part} of {partitions}")));
            store.commit(about).map_err(|error| InitError::Seeds(error.into()))?;
            if !seeds.is_empty() || !unusable.is_empty() {
                let queued =
                    queue_seeds(&store, scope, seeds, unusable, key, now).map_err(InitError::Seeds)?;
                all.push((part, queued));
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS.min(partitions)).map(|_| scope.spawn(fill_some)).collect();
        let (mut all, mut queued) = (QueuedSeeds::default(), vec![0; partitions as usize]);
        for thread in threads {
            // A panic was reported where it happened.
            for (part, some) in thread.join().unwrap_or(Err(InitError::Settings(JobError::Panicked)))? {
                all.queued += some.queued;
                all.repeated += some.repeated;
                all.refused += some.refused;
                if let Some(queued) = queued.get_mut(part as usize) {
                    *queued = some.queued;
                }
            }
        }
        Ok((all, queued))
    })
}
