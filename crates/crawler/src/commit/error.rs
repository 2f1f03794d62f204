//! Why a commit fails.

use super::EarlierError;
use crate::ledger;
use crate::record::RecordError;
use crate::store::StoreError;
use crate::warc;

/// Why a commit failed. Nothing of it is acknowledged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The archive.
    #[error("the archive can't be written")]
    Warc(#[from] warc::Error),
    /// A record of our own can't be packed or read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The full-text index.
    #[error(
        "the full-text index can't be written; `crawl resume` continues the crawl, and `crawl index DIR` rebuilds the index"
    )]
    Index(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The bodies of earlier crawls.
    #[error(transparent)]
    Earlier(#[from] EarlierError),
    /// An entry of the ledger can't be written.
    #[error(transparent)]
    Ledger(#[from] ledger::LedgerError),
    /// As above, JSON.
    #[error("a record can't be written")]
    Json(#[from] serde_json::Error),
}
