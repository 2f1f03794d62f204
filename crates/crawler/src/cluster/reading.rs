//! A cluster's crawl as the commands that read see it: one crawl for each partition.

use std::sync::Arc;
use std::time::Duration;

use super::{Address, Claim, ClusterError, Database, PgStore, state};
use crate::format::{FormatError, read_key};
use crate::post;
use crate::store::AnyStore;
use crate::view::{View, ViewError};
use crate::warc::Directories;
use page::url::FingerprintKey;

/// How long the database may be out of reach.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a cluster's crawl can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The database.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// What is stored there.
    #[error(transparent)]
    View(#[from] ViewError),
}

/// The store of a partition, to read: its commits are refused.
fn store(database: &Arc<Database>, part: u32) -> PgStore {
    let part = i32::try_from(part).unwrap_or(i32::MAX);
    PgStore::new(Arc::clone(database), Claim { part, owner: -1, fence: -1, commits: 0 })
}

/// The stores of all partitions, to read.
pub(super) fn stores(address: &Address) -> Result<Vec<AnyStore>, ClusterError> {
    let database = Arc::new(Database::open(address.clone(), PATIENCE)?);
    let parts = 0..database.terms().partitions;
    Ok(parts.map(|part| Arc::new(store(&database, part)) as AnyStore).collect())
}

/// All partitions with their numbers. While the crawl runs, each read sees what is committed by then.
pub fn views(address: &Address) -> Result<Vec<(String, View)>, ReadError> {
    views_of(&Arc::new(Database::open(address.clone(), PATIENCE)?))
}

/// All partitions with their numbers, as they are at this moment: whatever is read of them fits together, also while the crawl runs. The servers
/// keep what is replaced or removed meanwhile. A crawl with several databases waits until each has a snapshot, some milliseconds.
pub fn snapshot_views(address: &Address) -> Result<Vec<(String, View)>, ReadError> {
    views_of(&Arc::new(Database::open_snapshot(address.clone(), PATIENCE)?))
}

fn views_of(database: &Arc<Database>) -> Result<Vec<(String, View)>, ReadError> {
    let parts = 0..database.terms().partitions;
    parts.map(|part| Ok((part.to_string(), View::over(Arc::new(store(database, part)))?))).collect()
}

/// The partition of a host.
pub fn view_of(address: &Address, host: &str) -> Result<View, ReadError> {
    let database = Arc::new(Database::open(address.clone(), PATIENCE)?);
    let part = post::partition(host, database.terms().partitions);
    Ok(View::over(Arc::new(store(&database, part)))?)
}

/// The partitions of a crawl, to be read again and again over the same connections.
#[derive(Debug)]
pub struct Parts {
    database: Arc<Database>,
    key: FingerprintKey,
    archive: Arc<Directories>,
}

impl Parts {
    /// Connects. `archive` has the bodies of pages, as far as it is within reach; the database may be out of reach for as long as `patience`.
    pub fn open(address: &Address, archive: Directories, patience: Duration) -> Result<Self, ReadError> {
        let database = Arc::new(Database::open(address.clone(), patience)?);
        if database.terms().partitions == 0 {
            return Err(ClusterError::damaged("its number of partitions", address).into());
        }
        let key = read_key(&store(&database, 0)).map_err(|error| match error {
            FormatError::Store(error) => ViewError::from(error),
            error => ViewError::Form(error),
        })?;
        Ok(Self { database, key, archive: Arc::new(archive) })
    }

    /// All partitions with their numbers, for one reader; nothing is read yet. While the crawl runs, each read sees what is committed by then.
    pub fn views(&self) -> Vec<(String, View)> {
        let view = |part: u32| {
            View::with_key(Arc::new(store(&self.database, part)), self.key)
                .with_archive(Arc::clone(&self.archive))
        };
        (0..self.database.terms().partitions).map(|part| (part.to_string(), view(part))).collect()
    }

    /// How often the crawl was begun or continued.
    pub fn runs(&self) -> Result<u64, ClusterError> {
        Ok(state::status(self.database.layout().first())?.totals.runs)
    }

    /// A number that changes with each commit, and with each change of an owner of a partition.
    pub fn commits(&self) -> Result<u64, ClusterError> {
        let commits = state::commits(self.database.layout().first())?;
        Ok(commits.into_iter().filter_map(|count| u64::try_from(count).ok()).sum())
    }
}
