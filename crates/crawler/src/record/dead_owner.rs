//! Owners of a partition that ended without giving it back.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::{Store, StoreError, Tree};

/// Key in tree `meta` of a partition while a run is under way: the number of the worker that owns it, in decimal digits. A run that ends removes it, so
/// the next owner knows by it that the one before died.
pub(crate) const OWNER: &[u8] = b"owner";

/// An owner of a partition that died; JSON in tree `meta` of the partition, from the start of the next run until it is known which requests that owner
/// had in flight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadOwner {
    /// Form of this record: 1.
    pub v: u32,
    /// The worker's number; 0 after the crawl was moved, where it is no worker's any more.
    pub worker: i64,
    /// The partition.
    pub part: u32,
    /// The last run of the partition that it began.
    pub run: u64,
    /// Entries that the ledger had then.
    pub entries: u64,
    /// Until when hosts may work on its requests, by the clock of the database.
    pub until: Timestamp,
    /// Its directory is lost, as `crawl cluster lost` said: nobody will know which requests it had in flight.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

impl DeadOwner {
    /// What the keys begin with.
    pub(crate) const PREFIX: &[u8] = b"dead-owner/";

    /// The key: partition (u32) and run (u64), big-endian, follow the prefix.
    pub(crate) fn key(&self) -> Vec<u8> {
        [Self::PREFIX, &self.part.to_be_bytes(), &self.run.to_be_bytes()].concat()
    }

    /// Those that a store has.
    ///
    /// # Errors
    /// They can't be read.
    pub(crate) fn all<S: Store>(store: &S) -> Result<Vec<Self>, StoreError> {
        let read = store.scan(Tree::Meta, Self::PREFIX).map(|pair| {
            serde_json::from_slice(&pair?.1)
                .map_err(|error| StoreError::Unreadable { tree: Tree::Meta.name(), source: error.into() })
        });
        read.collect()
    }
}
