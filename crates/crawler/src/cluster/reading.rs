//! A cluster's crawl as the commands that read see it: one crawl for each partition.

use std::sync::Arc;
use std::time::Duration;

use super::{Address, Claim, ClusterError, Database, PgStore};
use crate::post;
use crate::store::AnyStore;
use crate::view::{View, ViewError};

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
    let database = Arc::new(Database::open(address.clone(), PATIENCE)?);
    let parts = 0..database.terms().partitions;
    parts.map(|part| Ok((part.to_string(), View::over(Arc::new(store(&database, part)))?))).collect()
}

/// The partition of a host.
pub fn view_of(address: &Address, host: &str) -> Result<View, ReadError> {
    let database = Arc::new(Database::open(address.clone(), PATIENCE)?);
    let part = post::partition(host, database.terms().partitions);
    Ok(View::over(Arc::new(store(&database, part)))?)
}
