//! The storage interface: [`Store`], an ordered map of bytes per [`Tree`], changed by whole groups of writes.
//!
//! Implementations: [`SledStore`] (the crawl's database), [`MemoryStore`] (tests and benchmarks), [`CrashStore`]
//! (tests: dies at the n-th commit), [`PowerCutStore`] (tests: loses what isn't synced). [`conformance`] is the one suite that each of them passes.

mod batch;
pub mod conformance;
#[cfg(test)]
pub(crate) mod counting;
mod crash;
mod memory;
mod power_cut;
mod sled;

pub use self::batch::Batch;
pub(crate) use self::batch::Batches;
pub use self::crash::CrashStore;
pub use self::memory::MemoryStore;
pub use self::power_cut::PowerCutStore;
pub(crate) use self::sled::copy_database;
pub use self::sled::{SEGMENT_SIZE, SledStore, Snapshot, is_caught};

use std::path::PathBuf;

use tokio::sync::oneshot;

use crate::causes::Cause;

/// The trees of a crawl's database. `docs/storage.md` gives their keys and values to the byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tree {
    /// Format version, crawl id, counters.
    Meta,
    /// Blocks of hosts that aren't in use.
    IdleHosts,
    /// Host id to the host's state, of hosts in use.
    Hosts,
    /// Chunks of queued URLs.
    Queue,
    /// Journal of what was queued and seen since the last fold.
    Journal,
    /// Blocks of fingerprints.
    Seen,
    /// Page records.
    Pages,
    /// Every robots.txt version ever fetched.
    Robots,
    /// Outlinks by page.
    Links,
    /// Decisions with their reasons.
    Ledger,
    /// Files in which sites speak of the uses of their pages.
    SiteFiles,
    /// Pages with a date from which on they are not to be shown.
    Due,
    /// Captures that had to leave the archive.
    Withdrawn,
    /// Sitemaps.
    Sitemaps,
    /// Numbers of the page records, by fingerprint.
    PageIndex,
    /// Archived bodies by their digest, where they are stored once.
    Payloads,
}

impl Tree {
    /// All trees, in the order of their declaration.
    pub const ALL: [Self; 16] = [
        Self::Meta,
        Self::IdleHosts,
        Self::Hosts,
        Self::Queue,
        Self::Journal,
        Self::Seen,
        Self::Pages,
        Self::Robots,
        Self::Links,
        Self::Ledger,
        Self::SiteFiles,
        Self::Due,
        Self::Withdrawn,
        Self::Sitemaps,
        Self::PageIndex,
        Self::Payloads,
    ];

    /// The tree's name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::IdleHosts => "idle_hosts",
            Self::Hosts => "hosts",
            Self::Queue => "queue",
            Self::Journal => "journal",
            Self::Seen => "seen",
            Self::Pages => "pages",
            Self::Robots => "robots",
            Self::Links => "links",
            Self::Ledger => "ledger",
            Self::SiteFiles => "site_files",
            Self::Due => "due",
            Self::Withdrawn => "withdrawn",
            Self::Sitemaps => "sitemaps",
            Self::PageIndex => "page_index",
            Self::Payloads => "payloads",
        }
    }
}

/// One change: a key of a tree set to a value, or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The tree.
    pub tree: Tree,
    /// The key; integers in it are big-endian, so that the order of bytes is the order wanted.
    pub key: Vec<u8>,
    /// The new value; none removes the key.
    pub value: Option<Vec<u8>>,
}

impl Write {
    /// Sets a key.
    pub fn put(tree: Tree, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Self {
        Self { tree, key: key.into(), value: Some(value.into()) }
    }

    /// Removes a key.
    pub fn remove(tree: Tree, key: impl Into<Vec<u8>>) -> Self {
        Self { tree, key: key.into(), value: None }
    }
}

/// A key with its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// Ordered, durable maps of bytes.
pub trait Store: std::fmt::Debug + Send + Sync + 'static {
    /// The value of a key.
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// The last key with this prefix, and its value.
    fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError>;

    /// The keys with this prefix, in order. What is committed while the iteration runs may or may not appear.
    fn scan(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_>;

    /// As [`scan`](Self::scan), of the keys that are greater than `after`. By default it costs a scan of all of them.
    fn scan_after(
        &self,
        tree: Tree,
        prefix: &[u8],
        after: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        let after = after.to_vec();
        let is_behind =
            move |pair: &Result<Pair, StoreError>| pair.as_ref().map_or(true, |(key, _)| *key > after);
        Box::new(self.scan(tree, prefix).filter(is_behind))
    }

    /// The entry with the greatest key that isn't above this one.
    fn floor(&self, tree: Tree, key: &[u8]) -> Result<Option<Pair>, StoreError> {
        floor_by_scans(self, tree, key)
    }

    /// Makes all changes or none, and returns when they will survive a power cut. Later writes of one key win.
    ///
    /// After an error the store takes no further commits: what is on disk is known only after opening it again.
    fn commit(&self, writes: Vec<Write>) -> Result<(), StoreError>;

    /// As [`commit`](Self::commit), but what is written may only survive the end of the process: a power cut may undo it until
    /// [`sync`](Self::sync) has returned. Reads see it at once. By default a commit.
    fn write(&self, writes: Vec<Write>) -> Result<Durability, StoreError> {
        self.commit(writes).map(|()| Durability::PowerCut)
    }

    /// As [`write`](Self::write), but may return before the outcome is known, which is what it returns. Nothing else may be written before that is
    /// there. By default it is there at once.
    fn begin_write(&self, writes: Vec<Write>) -> Writing {
        Writing::Over(self.write(writes))
    }

    /// Whether [`write`](Self::write) leaves it to [`sync`](Self::sync) that what it wrote survives a power cut. By default it doesn't.
    fn defers_syncs(&self) -> bool {
        false
    }

    /// Returns when everything that was written before the call will survive a power cut. Another thread may write meanwhile.
    ///
    /// Errors: as those of a commit. By default there is nothing to do.
    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// What written changes survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process, also by `kill -9`.
    Process,
    /// A power cut as well.
    PowerCut,
}

/// The outcome of a write that may be under way.
#[derive(Debug)]
pub enum Writing {
    /// The store has written it, or failed, before it returned.
    Over(Result<Durability, StoreError>),
    /// The outcome comes later, unless who writes is gone; what is written survives a power cut then.
    UnderWay(oneshot::Receiver<Result<(), StoreError>>),
}

impl From<Result<Durability, StoreError>> for Writing {
    fn from(outcome: Result<Durability, StoreError>) -> Self {
        Self::Over(outcome)
    }
}

/// A store of any kind, shared by who reads it. What only reads takes this, so that it is compiled once and not for each kind.
pub type AnyStore = std::sync::Arc<dyn Store>;

/// A store as what writes takes it, so that the engine and what it uses are compiled once. Its calls cost a pointer more.
pub fn shared<S: Store>(store: std::sync::Arc<S>) -> std::sync::Arc<AnyStore> {
    let store: AnyStore = store;
    std::sync::Arc::new(store)
}

impl<S: Store + ?Sized> Store for std::sync::Arc<S> {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        (**self).get(tree, key)
    }

    fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        (**self).last(tree, prefix)
    }

    fn scan(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        (**self).scan(tree, prefix)
    }

    fn scan_after(
        &self,
        tree: Tree,
        prefix: &[u8],
        after: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        (**self).scan_after(tree, prefix, after)
    }

    fn floor(&self, tree: Tree, key: &[u8]) -> Result<Option<Pair>, StoreError> {
        (**self).floor(tree, key)
    }

    fn commit(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        (**self).commit(writes)
    }

    fn write(&self, writes: Vec<Write>) -> Result<Durability, StoreError> {
        (**self).write(writes)
    }

    fn begin_write(&self, writes: Vec<Write>) -> Writing {
        (**self).begin_write(writes)
    }

    fn defers_syncs(&self) -> bool {
        (**self).defers_syncs()
    }

    fn sync(&self) -> Result<(), StoreError> {
        (**self).sync()
    }
}

/// [`Store::floor`] by the other verbs.
fn floor_by_scans<S: Store + ?Sized>(store: &S, tree: Tree, key: &[u8]) -> Result<Option<Pair>, StoreError> {
    if let Some(value) = store.get(tree, key)? {
        return Ok(Some((key.to_vec(), value)));
    }
    // The greatest key below shares the longest prefix with it.
    for length in (0..key.len()).rev() {
        let mut found = None;
        for pair in store.scan(tree, &key[..length]) {
            let pair = pair?;
            if pair.0.as_slice() > key {
                break;
            }
            found = Some(pair);
        }
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The crawl's directory that a database lies in, as a command line takes it.
fn crawl_dir(path: &std::path::Path) -> String {
    path.parent().map_or_else(|| "DIR".to_owned(), |dir| dir.display().to_string())
}

/// What happened to the database, and where.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the directory locked.
    #[error("the database {path} is in use by another process; wait for it to end, or stop it")]
    InUse {
        /// The database directory.
        path: PathBuf,
    },
    /// There is no database where one should be.
    #[error(
        "there is no crawl database at {path}; start one with `crawl --seed FILE --agent NAME/VERSION --out DIR`"
    )]
    Missing {
        /// The database directory.
        path: PathBuf,
    },
    /// The directory or its files are damaged or incomplete. Nothing was removed; nothing is ever started over.
    #[error(
        "the database {} is damaged ({detail}); leave it unchanged, and run `crawl repair {} --out NEWDIR` to save what can be read",
        path.display(), crawl_dir(path)
    )]
    Damaged {
        /// The database directory.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The operating system refused to read or write.
    #[error("the database {path} can't be read or written")]
    Io {
        /// The database directory.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// A record that others refer to isn't there: the database lost it.
    #[error(
        "the database is damaged: tree `{tree}` lacks {detail}; run `crawl repair DIR --out NEWDIR` to save what can be read"
    )]
    Lost {
        /// The tree's name.
        tree: &'static str,
        /// What is missing.
        detail: String,
    },
    /// A record is damaged, or has a format version that isn't supported.
    #[error(
        "a record in tree `{tree}` is damaged or was written by another version of crawl; run `crawl repair DIR --out NEWDIR` to save what can be read"
    )]
    Unreadable {
        /// The tree's name.
        tree: &'static str,
        /// What was found.
        source: Cause,
    },
    /// An earlier commit failed; see [`Store::commit`].
    #[error("the database refuses writes after an earlier error")]
    Stopped,
    /// What is read can't be written.
    #[error("the database is open for reading only")]
    ReadOnly,
    /// The crawl replaced too much since a [`Snapshot`] of it began.
    #[error(
        "the crawl changed too much while it was read (more than 64 MiB of old values would have to be kept); run the command again"
    )]
    Outdated,
    /// The process that a database is read through refused, in its own words.
    #[error("{detail}")]
    Served {
        /// What happened, and what to do.
        detail: String,
    },
    /// The process that a database is read through can't be asked, or gave no answer.
    #[error(transparent)]
    Unserved(Cause),
    /// The partition of a cluster has another owner, or none.
    #[error("partition {part} belongs to this worker no longer: nothing that it found since is stored")]
    Fenced {
        /// The partition's number.
        part: i32,
    },
    /// A cluster's database refused, or was out of reach for too long.
    #[error("the cluster's database failed to {doing}")]
    Server {
        /// What was tried.
        doing: &'static str,
        /// Why.
        source: Cause,
    },
    /// The planned death of a [`CrashStore`] or [`PowerCutStore`].
    #[error("simulated crash at commit {0}")]
    Crash(u64),
}
