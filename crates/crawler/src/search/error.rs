//! Errors of the full-text index.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use tantivy::query::QueryParserError;

use crate::causes::{Cause, with_causes};
use crate::crawl_dir::DirError;
use crate::nofollow;
use crate::store::StoreError;

/// The fields that a query may name, for messages.
const NAMED: &str = "title, description, headings, text, host, lang, url, status, depth";

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
    /// The disk is full.
    #[error("the search index lacks disk space")]
    NoSpace,
    /// The index itself, in tantivy's words.
    #[error("the full-text index can't be read or written; `crawl index DIR` rebuilds it")]
    Index(#[source] Cause),
    /// This user may not open a file of it.
    #[error("the full-text index can't be read")]
    Denied(#[source] std::io::Error),
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
    /// The directory may lead outside of it.
    #[error(transparent)]
    Dir(#[from] DirError),
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

/// Whether the system refused to open a file, which tantivy says in a form for its programmers.
fn denied(error: &tantivy::TantivyError) -> Option<std::io::Error> {
    use tantivy::TantivyError::{IoError, LockFailure, OpenReadError, OpenWriteError};
    use tantivy::directory::error::{LockError, OpenReadError as Read, OpenWriteError as Write};
    let (IoError(found)
    | OpenReadError(Read::IoError { io_error: found, .. })
    | OpenWriteError(Write::IoError { io_error: found, .. })
    | LockFailure(LockError::IoError(found), _)) = error
    else {
        return None;
    };
    let code = found.raw_os_error().filter(|_| nofollow::is_write_refused(found))?;
    Some(std::io::Error::from_raw_os_error(code))
}

/// The disk is full, or the user's part of it.
pub(super) fn lacks_space(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

/// What tantivy says; of an error in a thread of its own it doesn't know the cause.
impl From<tantivy::TantivyError> for SearchError {
    fn from(error: tantivy::TantivyError) -> Self {
        if let Some(denied) = denied(&error) {
            return Self::Denied(denied);
        }
        if let tantivy::TantivyError::IoError(error) = &error
            && lacks_space(error)
        {
            return Self::NoSpace;
        }
        Self::Index(match error {
            tantivy::TantivyError::ErrorInThread(_) => "a file of it couldn't be written".into(),
            error => error.into(),
        })
    }
}

impl From<tantivy::directory::error::OpenDirectoryError> for SearchError {
    fn from(error: tantivy::directory::error::OpenDirectoryError) -> Self {
        Self::from(tantivy::TantivyError::from(error))
    }
}

/// Of tantivy's files.
impl From<std::io::Error> for SearchError {
    fn from(error: std::io::Error) -> Self {
        if lacks_space(&error) { Self::NoSpace } else { Self::Index(error.into()) }
    }
}

/// What is wrong with a query, in words for whoever wrote it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// It ends too early.
    #[error(
        "a quote or parenthesis isn't closed, or an operator has no operand; put text with special characters in quotes"
    )]
    Syntax,
    /// It is longer than this.
    #[error("it has more than {0} bytes; ask for fewer words at a time")]
    TooLong(usize),
    /// It has more of these than its parser may nest.
    #[error(
        "it has more than {most} opening parentheses and `NOT`s, one too many at character {at}; write a list without parentheses, as in `a OR b OR c`, and `-word` instead of `NOT word`"
    )]
    Nested {
        /// How many there may be.
        most: usize,
        /// Where the first one too many is, in characters, from 1.
        at: usize,
    },
    /// One of its phrases is longer than this.
    #[error("it has a phrase of more than {0} characters; look for a part of it")]
    LongPhrase(usize),
    /// It is limited to more values than this.
    #[error("it is limited to more than {0} hosts and languages")]
    TooManyFilters(usize),
    /// It names a field that pages don't have.
    #[error("there is no field `{0}`; fields are {NAMED}; put a word with a colon in quotes")]
    NoField(String),
    /// Every word of it is excluded.
    #[error("it only excludes words")]
    OnlyExcludes,
    /// A field of numbers is compared with something else.
    #[error("status and depth need a whole number")]
    NoNumber,
    /// It names a field that is only shown.
    #[error("field `{0}` can't be searched; fields are {NAMED}")]
    NotSearched(String),
    /// It has a phrase for a field that is compared as a whole.
    #[error("field `{0}` needs one word, not a phrase")]
    Phrase(String),
    /// Anything else that its parser refuses.
    #[error(transparent)]
    Other(QueryParserError),
}

impl From<QueryParserError> for QueryError {
    fn from(error: QueryParserError) -> Self {
        match error {
            QueryParserError::SyntaxError(_) => Self::Syntax,
            QueryParserError::FieldDoesNotExist(name) => Self::NoField(name),
            QueryParserError::AllButQueryForbidden => Self::OnlyExcludes,
            QueryParserError::ExpectedInt(_) => Self::NoNumber,
            QueryParserError::FieldNotIndexed(name) => Self::NotSearched(name),
            QueryParserError::FieldDoesNotHavePositionsIndexed(name) => Self::Phrase(name),
            error => Self::Other(error),
        }
    }
}
