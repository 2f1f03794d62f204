//! Errors of the full-text index.

use std::path::PathBuf;

use super::query::QueryError;
use crate::causes::{Cause, with_causes};
use crate::store::StoreError;

/// Why the full-text index can't be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// There is none.
    #[error("{} has no full-text index; `crawl index {}` builds one from the archive", .0.display(), .0.display())]
    None(PathBuf),
    /// It was made by another version.
    #[error(
        "the full-text index of {} was built by another version of crawl; `crawl index {}` rebuilds it",
        .0.display(), .0.display()
    )]
    OtherForm(PathBuf),
    /// A directory has the index of something else.
    #[error("{} has the full-text index of another crawl; name another directory", .0.display())]
    OtherCrawl(PathBuf),
    /// A crawl on many machines whose changes can't be followed.
    #[error(
        "the crawl keeps no ledger (ledger.level = off), by which an index of its pages is kept up to date"
    )]
    NoLedger,
    /// The query can't be read.
    #[error("the query can't be read")]
    Query(#[from] QueryError),
    /// The index itself, in tantivy's words.
    #[error("the full-text index can't be read or written; `crawl index DIR` rebuilds it")]
    Index(#[source] Cause),
    /// A file of it.
    #[error("can't {action} {}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The thread that writes it ended.
    #[error("the writer thread of the full-text index failed unexpectedly")]
    Panicked,
}

impl SearchError {
    /// The error with its causes: what the program prints behind `error:`.
    pub fn message(&self) -> String {
        with_causes(self)
    }

    pub(super) fn io(action: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

/// What tantivy says; of an error in a thread of its own it doesn't know the cause.
impl From<tantivy::TantivyError> for SearchError {
    fn from(error: tantivy::TantivyError) -> Self {
        Self::Index(match error {
            tantivy::TantivyError::ErrorInThread(_) => "a file of it couldn't be written".into(),
            error => error.into(),
        })
    }
}

/// Of tantivy's files.
impl From<std::io::Error> for SearchError {
    fn from(error: std::io::Error) -> Self {
        Self::Index(error.into())
    }
}
