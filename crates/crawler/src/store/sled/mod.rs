//! [`Store`] on sled 0.34.7: a write is one multi-tree transaction, `flush`, and `fsync` of new files beside the log; a sync is a real `fsync`
//! of the log.

mod blobs;
mod count;
mod guard;
mod seal;
mod snapshot;
#[cfg(test)]
mod tests;
mod watch;

pub use self::guard::is_caught;
pub use self::snapshot::Snapshot;

use std::fs::{self, File, TryLockError};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sled::Transactional;
use sled::transaction::TransactionError;

use self::blobs::Blobs;
use self::count::{Count, Counting};
use self::guard::{Guarded, guarded, guarded_io};
use self::seal::{Seal, Sealed};
use self::snapshot::Snapshots;
use self::watch::Watch;
use super::{Durability, Pair, Store, StoreError, Tree, Write};
use crate::nofollow;

/// The segment size of every database, in bytes: fixed for its life, and sled panics where it is opened with another one. Measured to write 5-10 times less
/// than sled's default.
pub const SEGMENT_SIZE: usize = 128 * 1024;

/// The cache size that sled gets, in bytes. It counts about a third of what it uses. With four times as much a page takes as much processor time
/// (`docs/lab/performance.md`).
const CACHE_CAPACITY: u64 = 4 * 1024 * 1024;

/// The same for those who only read, mostly once and in order: one page in each of sled's 256 parts of the cache. sled counts a
/// leaf that lies in a file of its own as 32 bytes, so that a larger cache would hold thousands of them.
const CACHE_TO_READ: u64 = 256 * 32;

/// Key in tree `meta`: how many commits were made. What the seal beside the database is compared with.
const COMMITS: &[u8] = b"commits";

/// Key in tree `meta`: the entries of the counted trees.
const ENTRIES: &[u8] = b"entries";

/// A crawl's database directory, open in this process alone.
///
/// sled panics on some damage; each call of it is guarded, and a panic becomes [`StoreError::Damaged`].
pub struct SledStore {
    open: Option<Open>,
    watch: Watch,
    /// The file `db`: sled's `flush` hands pages to the kernel, `sync_all` on this file makes them survive a power cut.
    /// Declared after `open`, so that it is dropped after it.
    file: DbFile,
    blobs: Blobs,
    seal: Seal,
    commits: AtomicU64,
    /// How many commits are synced, of those since it was opened. Held while the log is synced, and taken before any turn of the snapshots.
    synced: Mutex<u64>,
    count: Count,
    snapshots: Snapshots,
    path: PathBuf,
    stopped: AtomicBool,
    /// Where the database is a copy that goes with the store; dropped last.
    place: Option<tempfile::TempDir>,
}

struct Open {
    trees: Vec<sled::Tree>,
    db: sled::Db,
}

impl Drop for SledStore {
    fn drop(&mut self) {
        let open = self.open.take();
        // Its thread has a handle as well.
        drop(std::mem::take(&mut self.watch));
        // The commits have reported what there was; a damaged database may panic again when it is dropped.
        drop(guarded(&self.path, || {
            drop(open);
            Ok(())
        }));
    }
}

/// sled's background threads may hold its lock for a moment longer than the last handle lives. Dropping a store waits
/// for them, so that the next to open the directory doesn't find it in use.
struct DbFile(File);

impl Drop for DbFile {
    #[expect(
        clippy::disallowed_methods,
        reason = "a store is dropped at the end of a run, when nothing else remains to be done"
    )]
    fn drop(&mut self) {
        let (_never, pause) = std::sync::mpsc::channel::<()>();
        for _ in 0..500 {
            match self.0.try_lock() {
                Err(TryLockError::WouldBlock) => drop(pause.recv_timeout(Duration::from_millis(4))),
                _ => return,
            }
        }
    }
}

impl std::fmt::Debug for SledStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SledStore({})", self.path.display())
    }
}

impl SledStore {
    /// Makes a new database. An existing one is an error: nothing is ever started over.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        if path.join("db").exists() || path.join("conf").exists() {
            return Err(StoreError::Damaged {
                path: path.to_owned(),
                detail: "a database is there already".to_owned(),
            });
        }
        let store = Self::open_with(path, CACHE_CAPACITY)?;
        store.seal.write(&store.path, Sealed { commits: 0, bytes: store.bytes()? })?;
        // The directory entries must survive a power cut as well as the files.
        for dir in [path, path.parent().unwrap_or(path)] {
            if let Ok(handle) = File::open(dir) {
                handle.sync_all().map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
            }
        }
        Ok(store)
    }

    /// Opens an existing database; finishes what a crash interrupted. One that lacks commits is refused.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        expect_files(path)?;
        let sealed = Seal::read(path)?;
        if sealed.bytes > bytes(&path.join("db"), path)? {
            // sled may have freed space, or somebody truncated the file. To find out, a copy is read: opening changes files.
            let copy = Self::open_copy(path)?;
            copy.lacks(sealed)?.map_or(Ok(()), |lack| Err(damaged(path, &lack)))?;
            copy.read_all()?;
        }
        let store = Self::open_with(path, CACHE_CAPACITY)?;
        match store.lacks(sealed)? {
            Some(lack) => Err(damaged(path, &lack)),
            None => Ok(store),
        }
    }

    /// As [`SledStore::open`], to look at only: a copy that was made while the crawl ran may lack its last commits, which
    /// is logged.
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        Self::open_to_read_as(path, path)
    }

    /// As [`SledStore::open_to_read`], the copy in `at` of the database `path`, which messages name: the copy goes with the process.
    pub(crate) fn open_copied(at: &Path, path: &Path) -> Result<Self, StoreError> {
        let mut store = Self::open_to_read_as(at, path).map_err(|error| match error {
            StoreError::Damaged { detail, .. } => damaged(path, &detail),
            StoreError::Missing { .. } => StoreError::Missing { path: path.to_owned() },
            error => error,
        })?;
        path.clone_into(&mut store.path);
        Ok(store)
    }

    fn open_to_read_as(path: &Path, named: &Path) -> Result<Self, StoreError> {
        expect_files(path)?;
        let sealed = Seal::read(path)?;
        let cut = sealed.bytes > bytes(&path.join("db"), path)?;
        let store = if cut { Self::open_copy(path)? } else { Self::open_with(path, CACHE_TO_READ)? };
        match store.lacks(sealed)? {
            Some(lack) if store.commits() == 0 => return Err(damaged(path, &lack)),
            Some(lack) => tracing::warn!(
                "the database is incomplete ({lack}): expected in a copy of a running crawl; otherwise it is damaged, and `crawl repair {} --out NEWDIR` saves what can be read",
                super::crawl_dir(named)
            ),
            None => {}
        }
        Ok(store)
    }

    /// Opens a copy of the database in a place that is removed with the store. Needs as much disk space as the database.
    fn open_copy(path: &Path) -> Result<Self, StoreError> {
        let io = |source| StoreError::Io { path: path.to_owned(), source };
        let place = tempfile::Builder::new().prefix("db.check").tempdir_in(path.parent().unwrap_or(path));
        let place = place.map_err(io)?;
        copy_database(path, place.path()).map_err(io)?;
        let mut copy = Self::open_with(place.path(), CACHE_TO_READ).map_err(|error| match error {
            StoreError::Damaged { detail, .. } => damaged(path, &detail),
            error => error,
        })?;
        path.clone_into(&mut copy.path);
        copy.place = Some(place);
        Ok(copy)
    }

    /// Reads every entry. The newest commits may be at the start of a truncated file, which then lacks older entries.
    fn read_all(&self) -> Result<(), StoreError> {
        Tree::ALL.into_iter().try_for_each(|tree| self.scan(tree, b"").try_for_each(|pair| pair.map(drop)))
    }

    /// Opens a database as well as sled can, whatever it lacks: what `crawl repair` does with a copy.
    pub(crate) fn open_as_it_is(path: &Path) -> Result<Self, StoreError> {
        expect_files(path)?;
        Self::open_with(path, CACHE_CAPACITY)
    }

    /// How many commits a database must hold, if its seal can be read.
    pub(crate) fn sealed_commits(path: &Path) -> Option<u64> {
        Seal::read(path).ok().map(|sealed| sealed.commits)
    }

    /// The entries that a counted tree must hold, if that is known.
    pub(crate) fn entries(&self, tree: Tree) -> Option<u64> {
        self.count.of(tree)
    }

    /// As [`Store::scan`], from the end.
    pub(crate) fn scan_back(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        match self.tree(tree) {
            Ok(tree) => Box::new(Guarded::new(&self.path, tree, prefix, true)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }

    /// How many commits the database has seen.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    /// What the database lacks of what was committed, in words.
    fn lacks(&self, sealed: Sealed) -> Result<Option<String>, StoreError> {
        let found = self.commits();
        Ok(if found < sealed.commits {
            Some(format!("the last {} of its {} commits are missing", sealed.commits - found, sealed.commits))
        } else if self.get(Tree::Meta, b"format")?.is_none() && !self.opened()?.db.was_recovered() {
            Some("nothing could be recovered from it".to_owned())
        } else {
            None
        })
    }

    fn open_with(path: &Path, cache: u64) -> Result<Self, StoreError> {
        remove_unfinished_snapshots(path)?;
        let open = guarded(path, || {
            let db = sled::Config::new()
                .path(path)
                .segment_size(SEGMENT_SIZE)
                .cache_capacity(cache)
                .flush_every_ms(None)
                .open()?;
            let trees =
                Tree::ALL.iter().map(|tree| db.open_tree(tree.name())).collect::<Result<Vec<_>, _>>()?;
            Ok(Open { trees, db })
        })?;
        let file = nofollow::open(&path.join("db"))
            .map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
        let store = Self {
            open: Some(open),
            watch: Watch::default(),
            file: DbFile(file),
            blobs: Blobs::new(path),
            seal: Seal::open(path)?,
            commits: AtomicU64::new(0),
            synced: Mutex::new(0),
            count: Count::default(),
            snapshots: Snapshots::default(),
            path: path.to_owned(),
            stopped: AtomicBool::new(false),
            place: None,
        };
        let commits = store.get(Tree::Meta, COMMITS)?.and_then(|value| <[u8; 8]>::try_from(value).ok());
        let commits = commits.map_or(0, u64::from_be_bytes);
        store.commits.store(commits, Ordering::Release);
        *store.synced() = commits;
        let entries = store.get(Tree::Meta, ENTRIES)?;
        let is_new = entries.is_none() && store.get(Tree::Meta, b"format")?.is_none();
        store.count.set(entries.and_then(|value| count::read(&value)).or(is_new.then(Default::default)));
        Ok(store)
    }

    fn opened(&self) -> Result<&Open, StoreError> {
        self.open.as_ref().ok_or(StoreError::Stopped)
    }

    fn bytes(&self) -> Result<u64, StoreError> {
        let found = self.file.0.metadata();
        found.map(|found| found.len()).map_err(|source| StoreError::Io { path: self.path.clone(), source })
    }

    fn tree(&self, tree: Tree) -> Result<&sled::Tree, StoreError> {
        Ok(&self.opened()?.trees[tree as usize])
    }

    /// Writes a commit, so that the end of the process doesn't undo it. Gives whether files beside the log changed with it.
    fn transact(&self, writes: Vec<Write>) -> Result<bool, StoreError> {
        if writes.is_empty() {
            return Ok(false);
        }
        // Snapshots begin between commits, and a seal is written between them.
        let _turn = self.snapshots.turn();
        let commits = self.commits.load(Ordering::Acquire) + 1;
        let keys = writes.iter().map(|write| (write.tree, &write.key[..]));
        let own_keys = [COMMITS, ENTRIES].map(|key| (Tree::Meta, key));
        self.keep_for_snapshots(commits, keys.chain(own_keys))?;
        let mut batches: Vec<Option<sled::Batch>> = (0..Tree::ALL.len()).map(|_| None).collect();
        let counts = self.count.after(&writes, |tree, key| {
            let tree = self.tree(tree)?;
            guarded(&self.path, || tree.contains_key(key))
        })?;
        let own = [
            Some(Write::put(Tree::Meta, COMMITS, commits.to_be_bytes())),
            counts.map(|counts| Write::put(Tree::Meta, ENTRIES, count::write(counts))),
        ];
        for Write { tree, key, value } in writes.into_iter().chain(own.into_iter().flatten()) {
            let batch = batches[tree as usize].get_or_insert_with(sled::Batch::default);
            match value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        let Open { trees, db } = self.opened()?;
        let touched: Vec<(&sled::Tree, sled::Batch)> = batches
            .into_iter()
            .zip(trees)
            .filter_map(|(batch, tree)| batch.map(|batch| (tree, batch)))
            .collect();
        let trees: Vec<&sled::Tree> = touched.iter().map(|(tree, _)| *tree).collect();
        let transaction = || {
            trees.as_slice().transaction(|views| {
                for (view, (_, batch)) in views.iter().zip(&touched) {
                    view.apply_batch(batch)?;
                }
                Ok(())
            })
        };
        let mut changed = false;
        self.watch.watched(db, || {
            guarded_io(&self.path, transaction)?.map_err(|error: TransactionError<()>| match error {
                TransactionError::Storage(error) => from_sled(&self.path, error),
                TransactionError::Abort(()) => StoreError::Stopped,
            })?;
            // Before the log: what it names is there, also if another thread syncs it now.
            changed = self.blobs.sync()?.changed;
            guarded(&self.path, || db.flush().map(drop))
        })?;
        changed |= self.blobs.sync()?.changed;
        self.commits.store(commits, Ordering::Release);
        self.count.set(counts);
        Ok(changed)
    }

    fn synced(&self) -> MutexGuard<'_, u64> {
        self.synced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Syncs the log, if something was written since it was synced: what was written before the call. Others may write meanwhile.
    fn sync_log(&self) -> Result<(), StoreError> {
        let mut synced = self.synced();
        if let Some(sealed) = self.unsynced(*synced)? {
            self.sync_file()?;
            let _turn = self.snapshots.turn();
            self.seal(sealed, &mut synced)?;
        }
        Ok(())
    }

    /// What a seal will say once the log is synced; none if it says so already.
    fn unsynced(&self, synced: u64) -> Result<Option<Sealed>, StoreError> {
        let commits = self.commits();
        Ok(if commits > synced { Some(Sealed { commits, bytes: self.bytes()? }) } else { None })
    }

    fn sync_file(&self) -> Result<(), StoreError> {
        self.file.0.sync_all().map_err(|source| StoreError::Io { path: self.path.clone(), source })
    }

    /// Behind the sync: the seal never promises more than the disk holds.
    fn seal(&self, sealed: Sealed, synced: &mut u64) -> Result<(), StoreError> {
        self.seal.write(&self.path, sealed)?;
        *synced = sealed.commits;
        Ok(())
    }

    /// Does what changes the files, unless that failed before.
    fn unless_stopped<T>(&self, change: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(StoreError::Stopped);
        }
        let result = change();
        if result.is_err() {
            self.stopped.store(true, Ordering::Release);
        }
        result
    }
}

impl Store for SledStore {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let tree = self.tree(tree)?;
        guarded(&self.path, || Ok(tree.get(key)?.map(|bytes| bytes.to_vec())))
    }

    fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        let tree = self.tree(tree)?;
        let found = guarded(&self.path, || tree.scan_prefix(prefix).next_back().transpose())?;
        Ok(found.map(|(key, value)| (key.to_vec(), value.to_vec())))
    }

    fn scan(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        let pairs = match self.tree(tree) {
            Ok(tree) => Guarded::new(&self.path, tree, prefix, false),
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        match self.count.of(tree).filter(|_| prefix.is_empty()) {
            Some(least) => {
                Box::new(Counting { pairs, tree, found: 0, begun_with: Some(least), now: &self.count })
            }
            None => Box::new(pairs),
        }
    }

    fn scan_after(
        &self,
        tree: Tree,
        prefix: &[u8],
        after: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        let tree = match self.tree(tree) {
            Ok(tree) => tree,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        let prefix = prefix.to_vec();
        let start =
            if *after < *prefix { Bound::Included(prefix.clone()) } else { Bound::Excluded(after.to_vec()) };
        let pairs = tree.range::<Vec<u8>, _>((start, Bound::Unbounded));
        let has_prefix = move |pair: &Result<Pair, StoreError>| {
            pair.as_ref().map_or(true, |(key, _)| key.starts_with(&prefix))
        };
        Box::new(Guarded::over(&self.path, tree, pairs, false).take_while(has_prefix))
    }

    fn floor(&self, tree: Tree, key: &[u8]) -> Result<Option<Pair>, StoreError> {
        let tree = self.tree(tree)?;
        let found = guarded(&self.path, || tree.range(..=key).next_back().transpose())?;
        Ok(found.map(|(key, value)| (key.to_vec(), value.to_vec())))
    }

    fn commit(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.unless_stopped(|| {
            self.transact(writes)?;
            self.sync_log()
        })
    }

    fn write(&self, writes: Vec<Write>) -> Result<Durability, StoreError> {
        self.unless_stopped(|| {
            if !self.transact(writes)? {
                return Ok(Durability::Process);
            }
            // At once: sled may have removed a file that the log on the disk still names.
            self.sync_log()?;
            Ok(Durability::PowerCut)
        })
    }

    fn defers_syncs(&self) -> bool {
        true
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.unless_stopped(|| self.sync_log())
    }
}

fn bytes(file: &Path, path: &Path) -> Result<u64, StoreError> {
    let found = fs::metadata(file).map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
    Ok(found.len())
}

fn damaged(path: &Path, detail: &str) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), detail: detail.to_owned() }
}

/// sled makes what is missing, and takes what is empty for new.
fn expect_files(path: &Path) -> Result<(), StoreError> {
    for name in ["db", "conf"] {
        match fs::metadata(path.join(name)) {
            Ok(found) if found.len() > 0 => {}
            Ok(_) => return Err(damaged(path, &format!("its file `{name}` is empty"))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && path.is_dir() => {
                return Err(damaged(path, &format!("its file `{name}` is missing")));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(StoreError::Missing { path: path.to_owned() });
            }
            Err(source) => return Err(StoreError::Io { path: path.to_owned(), source }),
        }
    }
    Ok(())
}

/// Copies the files of a database that nobody has open: everything beside what sled hasn't finished.
pub(crate) fn copy_database(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_database(&entry.path(), &target)?;
        } else {
            nofollow::copy(&entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Removes snapshots that a crash interrupted while they were written. sled fails to open with one of them present
/// (spacejam/sled issues 1527 and 1533); the log that they sum up is complete without them.
fn remove_unfinished_snapshots(path: &Path) -> Result<(), StoreError> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(StoreError::Io { path: path.to_owned(), source }),
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            fs::remove_file(entry.path())
                .map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
        }
    }
    Ok(())
}

/// The system's own error, where sled has wrapped its debugging form as a text.
fn plain(error: std::io::Error) -> std::io::Error {
    match wrapped(&error) {
        Some(code) => std::io::Error::from_raw_os_error(code),
        None => error,
    }
}

fn plain_kind(error: &std::io::Error) -> std::io::ErrorKind {
    wrapped(error).map_or(error.kind(), |code| std::io::Error::from_raw_os_error(code).kind())
}

fn wrapped(error: &std::io::Error) -> Option<i32> {
    if error.raw_os_error().is_some() {
        return None;
    }
    error.to_string().split_once("Os { code: ").and_then(|(_, rest)| rest.split_once(',')?.0.parse().ok())
}

fn from_sled(path: &Path, error: sled::Error) -> StoreError {
    let path = path.to_owned();
    match error {
        // sled wraps the lock's error in one of kind Other and keeps the system's words.
        sled::Error::Io(source)
            if source.kind() == std::io::ErrorKind::WouldBlock
                || source.to_string().contains("WouldBlock")
                || source.to_string().contains("could not acquire lock") =>
        {
            StoreError::InUse { path }
        }
        // An open database misses a blob: its directory was there.
        sled::Error::Io(source) if plain_kind(&source) == std::io::ErrorKind::NotFound && path.is_dir() => {
            StoreError::Damaged { path, detail: "a file of it is missing".to_owned() }
        }
        // A record of the log begins and doesn't end: a file that was cut.
        sled::Error::Io(source)
            if source.kind() == std::io::ErrorKind::UnexpectedEof
                || source.to_string().contains("failed to fill whole buffer") =>
        {
            StoreError::Damaged { path, detail: "a file of it ends too early".to_owned() }
        }
        sled::Error::Io(source) => StoreError::Io { path, source: plain(source) },
        sled::Error::Corruption { .. } => {
            StoreError::Damaged { path, detail: "a checksum doesn't match".to_owned() }
        }
        other => StoreError::Damaged { path, detail: other.to_string() },
    }
}
