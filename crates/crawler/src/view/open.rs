//! Opens a crawl's directory to read it. A directory without a complete crawl is an error; nothing is created.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use meta::consent::Purpose;

use super::host_ids::HostIds;
use super::moment::Moment;
use crate::causes::{Cause, with_causes};
use crate::config::read_record;
use crate::consent::RobotsStatements;
use crate::crawl_dir::{CrawlDir, DirError};
use crate::format::{FormatError, read_key};
use crate::live::{Copies, CopyError, DirStore, Holder, OpenError};
use crate::record::{PageRecord, RecordError, UnreadText, unread_text};
use crate::sorter::{SortError, Sorter};
use crate::store::{AnyStore, Store, StoreError, Tree};
use crate::warc::Directories;
use page::clock::Clock;
use page::url::FingerprintKey;

/// Why a crawl can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The directory holds no crawl, or can't be entered.
    #[error(transparent)]
    Dir(DirError),
    /// A process uses it that doesn't let others read.
    #[error(
        "{} is in use by a process that can't be asked (a repair, another version of crawl, or one that is starting or ending); run the command again, or copy the directory and open the copy",
        .0.display()
    )]
    InUse(PathBuf),
    /// The start was interrupted.
    #[error(
        "{} holds a crawl that was killed before it fetched anything; `crawl resume {}` restarts it",
        .0.display(), .0.display()
    )]
    Unfinished(PathBuf),
    /// The database is missing, damaged or of another version.
    #[error(transparent)]
    Store(StoreError),
    /// The directory can't be written, and its database can't be copied.
    #[error(transparent)]
    Copy(CopyError),
    /// The database has a form that this version doesn't know.
    #[error(transparent)]
    Form(FormatError),
    /// A record can't be read.
    #[error("a record of tree `{tree}` can't be read")]
    Record {
        /// The tree's name.
        tree: &'static str,
        /// What is wrong with it.
        source: Cause,
    },
    /// What has to be sorted can't be.
    #[error(transparent)]
    Sort(#[from] SortError),
    /// The rows can't be written.
    #[error("the output can't be written")]
    Write(#[from] io::Error),
}

impl ViewError {
    pub(super) fn record(tree: Tree, cause: impl Into<Cause>) -> Self {
        Self::Record { tree: tree.name(), source: cause.into() }
    }

    pub(super) fn packed(tree: Tree) -> impl Fn(RecordError) -> Self {
        move |error| Self::record(tree, error)
    }
}

impl ViewError {
    /// The error with its causes on one line: what the program prints behind `error:`.
    pub fn message(&self) -> String {
        with_causes(self)
    }
}

impl From<StoreError> for ViewError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::InUse { path } => Self::InUse(path),
            error => Self::Store(error),
        }
    }
}

/// A crawl that is open for reading.
#[derive(Debug)]
pub struct View {
    store: AnyStore,
    /// The same, where it is that of a directory.
    in_dir: Option<Arc<DirStore>>,
    key: FingerprintKey,
    /// The time at which it is looked at.
    now: Timestamp,
    /// The ids of hosts by their names, once they are asked for.
    host_ids: Mutex<HostIds>,
    /// The purpose that pages must serve to be shown.
    purpose: Option<Purpose>,
    /// Table `links` has the links of pages under noindex, too.
    with_noindex: bool,
    /// Where it lies; none for a store alone.
    dir: Option<Arc<CrawlDir>>,
    /// Where the archive's files are, where the store is of no directory.
    archive: Arc<Directories>,
    /// What robots.txt files said to uses of pages.
    statements: RobotsStatements,
}

impl View {
    /// Opens the crawl in `root`. If another process holds it, that process is asked for the database: see [`DirStore`]. If the directory
    /// can't be written, its database is copied to where the system has temporary files, with a warning in the log.
    pub fn open(root: &Path) -> Result<Self, ViewError> {
        Self::open_with(root, &Copies::default())
    }

    /// As [`View::open`]; `copies` says where the database is copied.
    pub fn open_with(root: &Path, copies: &Copies) -> Result<Self, ViewError> {
        let store = Arc::new(open(root, copies)?);
        let view = Self::over(Arc::clone(&store))?;
        Ok(Self { in_dir: Some(store), ..view }.in_dir(Arc::new(CrawlDir::unlocked(root))))
    }

    /// The process that has the directory locked and answers for it; none where this one holds it, or there is none.
    pub fn holder(&self) -> Option<Holder> {
        self.in_dir.as_ref().and_then(|store| store.holder())
    }

    /// How many commits the database of the directory has, as far as they are read here.
    pub fn commits(&self) -> u64 {
        self.in_dir.as_ref().map_or(0, |store| store.commits())
    }

    /// Whether a copy of the database is read, because the directory can't be written.
    pub fn is_copy(&self) -> bool {
        self.copy().is_some()
    }

    /// Whether something was committed since the database was copied.
    pub fn is_outdated_copy(&self) -> bool {
        self.in_dir.as_ref().is_some_and(|store| store.is_outdated_copy())
    }

    fn copy(&self) -> Option<&Path> {
        self.in_dir.as_ref()?.copy()
    }

    /// The directory for temporary files: beside the crawl or, where that can't be written, beside the copy of its database. None: where the
    /// system has them.
    pub fn temporary(&self) -> Option<&Path> {
        self.copy().or_else(|| self.dir().map(CrawlDir::root))
    }
}

fn open(root: &Path, copies: &Copies) -> Result<DirStore, ViewError> {
    DirStore::open_with(root, copies).map_err(|error| match error {
        OpenError::Dir(DirError::InUse(path)) => ViewError::InUse(path),
        OpenError::Dir(error) => ViewError::Dir(error),
        OpenError::Unfinished(path) => ViewError::Unfinished(path),
        OpenError::Copy(error) => ViewError::Copy(error),
        OpenError::Store(error) => error.into(),
    })
}

impl View {
    /// Another view of the same database, for another thread: a view is read by one thread at a time. It has the time of this one, and none
    /// of its options. The directory stays locked until the last view is dropped.
    pub fn another(&self) -> Result<Self, ViewError> {
        let view = Self::over_any(Arc::clone(&self.store))?;
        let archive = Arc::clone(&self.archive);
        Ok(Self { in_dir: self.in_dir.clone(), now: self.now, dir: self.dir.clone(), archive, ..view })
    }
}

impl View {
    /// Reads a store that is open already.
    pub fn over<S: Store>(store: Arc<S>) -> Result<Self, ViewError> {
        Self::over_any(store)
    }

    fn over_any(store: AnyStore) -> Result<Self, ViewError> {
        let key = read_key(&store).map_err(|error| match error {
            FormatError::Store(error) => ViewError::from(error),
            error => ViewError::Form(error),
        })?;
        Ok(Self::with_key(store, key))
    }

    /// Reads a store of a form that is known, and whose key is. Nothing is read yet.
    pub(crate) fn with_key(store: AnyStore, key: FingerprintKey) -> Self {
        Self {
            store,
            in_dir: None,
            key,
            now: Clock::system().now().wall,
            host_ids: Mutex::default(),
            purpose: None,
            with_noindex: false,
            dir: None,
            archive: Arc::default(),
            statements: RobotsStatements::default(),
        }
    }

    /// Says where the files of the archive are, of a store that is that of no directory.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn with_archive(self, archive: Arc<Directories>) -> Self {
        Self { archive, ..self }
    }

    /// The directory with a file of the archive; none where it is out of reach, as in the directory of a cluster's worker.
    pub(super) fn archive_of(&self, file: &str) -> Option<PathBuf> {
        match &self.dir {
            Some(dir) => Some(dir.warc()),
            None => self.archive.of(file).map(Path::to_owned),
        }
    }

    /// The record of a URL's last visit as it is stored, with what may not be shown. Hosts that are new since they were read are read again.
    #[cfg(feature = "search")]
    pub(crate) fn stored_record(&self, url: &page::url::CrawlUrl) -> Result<Option<PageRecord>, StoreError> {
        let mut ids = self.host_ids();
        let mut host = ids.named(&self.store, &self.key, url.host())?;
        if host.is_none() {
            *ids = HostIds::default();
            host = ids.named(&self.store, &self.key, url.host())?;
        }
        drop(ids);
        let Some(host) = host else { return Ok(None) };
        crate::page_store::record_of(&self.store, host, url.fingerprint(&self.key))
    }

    /// Shows in table `pages` only what may serve a purpose that the crawl declared.
    #[must_use]
    pub fn serving(self, purpose: Option<Purpose>) -> Self {
        Self { purpose, ..self }
    }

    /// Writes in table `links` also the links of pages that may not be indexed.
    #[must_use]
    pub fn with_noindex(self, with_noindex: bool) -> Self {
        Self { with_noindex, ..self }
    }

    /// Whether a row of table `links` from a page under noindex is written.
    pub(super) fn has_noindex(&self) -> bool {
        self.with_noindex
    }

    pub(super) fn purpose(&self) -> Option<Purpose> {
        self.purpose
    }

    /// Puts the statements of robots.txt that a record refers to before its own, and the limit that its text met in the full-text index
    /// behind the limits that it met as it was fetched.
    pub(super) fn complete(&self, record: &mut PageRecord) -> Result<(), ViewError> {
        let unread = self.unread_text(record)?;
        record.limits_hit.extend(unread.and_then(UnreadText::limit).map(str::to_owned));
        Ok(self.statements.complete(&self.store, record)?)
    }

    /// Why the text of a PDF file isn't in the full-text index. Cost: for each of them two look-ups.
    pub(super) fn unread_text(&self, record: &PageRecord) -> Result<Option<UnreadText>, ViewError> {
        if !record.indexed || record.media_type().as_deref() != Some("application/pdf") {
            return Ok(None);
        }
        Ok(unread_text(&self.store, &record.url)?)
    }

    /// The directory, where there is one.
    pub fn dir(&self) -> Option<&CrawlDir> {
        self.dir.as_deref()
    }

    /// Says in which directory the store lies.
    #[must_use]
    pub(crate) fn in_dir(self, dir: Arc<CrawlDir>) -> Self {
        Self { dir: Some(dir), ..self }
    }

    /// A sorter whose temporary files lie in [`View::temporary`].
    pub(super) fn sorter(&self) -> Sorter {
        Sorter::new(self.temporary())
    }

    /// The store that is read.
    pub fn store(&self) -> &AnyStore {
        &self.store
    }

    /// The time at which it is looked at.
    pub fn looked_at(&self) -> Moment {
        Moment(self.now)
    }

    /// The program that began the crawl, as `crawl.toml` names it: `crawl 0.1.0`.
    pub fn program(&self) -> Option<String> {
        let record = read_record(&self.dir()?.settings()).ok()?;
        Some(record.program).filter(|program| !program.is_empty())
    }

    /// The time at which it is looked at.
    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    pub(super) fn host_ids(&self) -> MutexGuard<'_, HostIds> {
        self.host_ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn key(&self) -> &FingerprintKey {
        &self.key
    }
}
