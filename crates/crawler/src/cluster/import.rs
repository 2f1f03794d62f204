//! A crawl on one machine becomes one on many: what its directory has goes into an empty database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::init::{self, beginning, claim_of, record_of, seeds_of};
use super::schema;
use super::transfer::{About, TransferError, Transferred, transfer};
use super::{Address, ClusterError, Database, InitError, PgStore, Plan, Terms};
use crate::causes::Cause;
use crate::commit::CommitError;
use crate::config::{self, ConfigError, Record, Settings};
use crate::crawl_dir::{CrawlDir, DirError, Moved};
use crate::forgotten::forget_rules;
use crate::format::{FORMAT, FormatError, read_key};
use crate::job::mend_archive;
use crate::ledger;
use crate::nofollow;
use crate::pauses;
use crate::record::{EndRecord, RUN_END, Round, Withdrawal};
use crate::store::{AnyStore, SledStore, Store, StoreError, Tree, Write};
use crate::warc;

/// Why a crawl can't be moved to a cluster. The directory is as it was, and so is the database, where it could be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The directory.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// Its settings.
    #[error("{} can't be read", .path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Cause,
    },
    /// The seeds in its settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What it stores of a recrawl.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The form of its database.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// It is of an older version.
    #[error("the database of {} is of an older version: run `crawl resume` with it once", .0.display())]
    Old(PathBuf),
    /// It isn't at rest.
    #[error("{0}")]
    NotAtRest(String),
    /// What a cluster doesn't have.
    #[error("{0}, which a cluster doesn't support")]
    Unsupported(String),
    /// The cluster's database, or the terms.
    #[error(transparent)]
    Init(#[from] InitError),
    /// The move.
    #[error(transparent)]
    Transfer(#[from] TransferError),
}

impl From<ClusterError> for ImportError {
    fn from(error: ClusterError) -> Self {
        Self::Init(error.into())
    }
}

/// Moves the crawl in a directory to a cluster. The directory is read, and marked: it isn't continued. Bodies stay where they are: readers of the
/// cluster are given the directory's `warc/`. Every host
/// rests for its whole delay when a worker takes it up: so the gap is kept at an address that hosts share, too, whichever of them is asked next.
pub fn import(
    root: &Path,
    address: &Address,
    program: &str,
    terms: Terms,
    single_server: bool,
    now: Timestamp,
) -> Result<Transferred, ImportError> {
    init::check(terms)?;
    let dir = CrawlDir::open_to_continue(root)?;
    if dir.is_unfinished() {
        let what = "the crawl hasn't begun: make it with `crawl cluster init`";
        return Err(ImportError::NotAtRest(what.to_owned()));
    }
    let (settings, record) = settings(&dir.settings())?;
    init::check_settings(&settings)?;
    let store = Arc::new(SledStore::open(&dir.db())?);
    let key = read_key(&*store)?;
    mend_archive(&dir, &store, key, now)?;
    check(&dir, &*store)?;
    let crawl_id = store.get(Tree::Meta, b"crawl_id")?.unwrap_or_default();
    let crawl_id = String::from_utf8_lossy(&crawl_id).into_owned();
    let head = ledger::head(&*store)?.map(|head| head.to_string()).unwrap_or_default();
    let text = config::to_toml(&settings, &record).map_err(InitError::from)?;
    let plan = Plan { program: program.to_owned(), key, settings: text };
    super::make_tables(address, terms, &plan, single_server)?;
    let mut is_marked = false;
    let move_all = || -> Result<Transferred, ImportError> {
        let database = Arc::new(Database::open(address.clone(), init::PATIENCE)?);
        let mut targets: Vec<AnyStore> = Vec::new();
        for (part, seeds) in (0..terms.partitions).zip(seeds_of(&record, terms.partitions)?) {
            let target = PgStore::new(Arc::clone(&database), claim_of(part));
            let own =
                config::to_toml(&settings, &record_of(&record, part, &seeds)).map_err(InitError::from)?;
            let mut about = beginning(&crawl_id, key, record.started, own);
            about.push(Write::put(Tree::Meta, "partition", format!("{part} of {}", terms.partitions)));
            target.commit(about)?;
            targets.push(Arc::new(target));
        }
        let from = format!("the directory {}", root.display());
        let about = About { key, delay: settings.pace.delay, from: &from, head: &head, runs: None, now };
        let source: AnyStore = store;
        let (moved, queued) = transfer(&[source], targets, about)?;
        super::database::block_on(async {
            schema::take_over(address, record.started).await?;
            schema::enter_queued(address, &queued).await
        })?;
        // Before workers may crawl: an end between leaves a crawl that goes on nowhere, and not one that goes on twice.
        dir.mark_moved(&Moved::new(format!("the cluster {address}"), now))?;
        is_marked = true;
        super::free_partitions(address)?;
        Ok(moved)
    };
    let moved = move_all();
    if moved.is_err() {
        // Where the tables can't be removed, they may be those of a crawl that goes on: then the mark stays.
        if init::undo(address) && is_marked {
            dir.unmark_moved()?;
        }
    }
    moved
}

fn settings(path: &Path) -> Result<(Settings, Record), ImportError> {
    let failed = |source| ImportError::Settings { path: path.to_owned(), source };
    let text = nofollow::read_to_string(path).map_err(|error| failed(error.into()))?;
    // A full-text index stays a setting of the crawl: workers keep none, and a later move back does.
    config::read_record_text(&text).map_err(|error| failed(error.into()))
}

/// Refuses what is under way, and settings that workers ignore.
fn check<S: Store>(dir: &CrawlDir, store: &S) -> Result<(), ImportError> {
    let root = dir.root();
    let at_rest = |what: &str| Err(ImportError::NotAtRest(format!("{}: {what}", root.display())));
    if store.get(Tree::Meta, b"format")?.as_deref() != Some(FORMAT.to_string().as_bytes()) {
        return Err(ImportError::Old(root.to_owned()));
    }
    let end = store.get(Tree::Meta, RUN_END.as_bytes())?;
    let end: Option<EndRecord> = end.and_then(|end| serde_json::from_slice(&end).ok());
    if end.is_none_or(|end| end.end == "running") || root.join(pauses::FILE).exists() {
        return at_rest("the last run was killed; `crawl resume` it, and stop it with Ctrl-C");
    }
    if Round::is_open(store)? {
        return at_rest("a recrawl is under way; `crawl resume` ends it");
    }
    for pair in store.scan(Tree::Withdrawn, &[]) {
        let (_, value) = pair?;
        if serde_json::from_slice::<Withdrawal>(&value).is_ok_and(|withdrawal| !withdrawal.done) {
            return at_rest("withdrawn content is still in its archive; `crawl resume` removes it");
        }
    }
    if warc::series_in(&dir.warc()).is_ok_and(|series| !series.is_empty()) {
        // Names of files would be given twice.
        let what = "its archive has files of workers: the crawl was moved from a cluster before";
        return Err(ImportError::Unsupported(what.to_owned()));
    }
    if forget_rules(store)?.iter().any(|(_, rule)| !rule.done) {
        return at_rest("`crawl forget` was interrupted; run it again");
    }
    Ok(())
}
