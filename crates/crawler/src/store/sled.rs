//! [`Store`] on sled 0.34.7: one multi-tree transaction a commit, then `flush` and a real `fsync`.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sled::Transactional;
use sled::transaction::TransactionError;

use super::{Pair, Store, StoreError, Tree, Write};

/// Fixed for the life of a database; measured to write 5-10 times less than sled's default.
const SEGMENT_SIZE: usize = 128 * 1024;

/// What sled is told, in octets. It counts about a third of what it uses.
const CACHE_CAPACITY: u64 = 16 * 1024 * 1024;

/// A crawl's database directory, open in this process alone.
pub struct SledStore {
    db: sled::Db,
    trees: Vec<sled::Tree>,
    /// The file `db`: sled's `flush` hands pages to the kernel, `sync_all` on this file makes them survive a power cut.
    /// Stands behind `db` and `trees`, so that it is dropped after them.
    file: DbFile,
    path: PathBuf,
    stopped: AtomicBool,
}

/// sled's background threads may hold its lock for a moment longer than the last handle lives. Dropping a store waits
/// for them, so that the next to open the directory isn't told that it is in use.
struct DbFile(File);

impl Drop for DbFile {
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
        let store = Self::open_with(path)?;
        // The directory entries must survive a power cut as well as the files.
        for dir in [path, path.parent().unwrap_or(path)] {
            if let Ok(handle) = File::open(dir) {
                handle.sync_all().map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
            }
        }
        Ok(store)
    }

    /// Opens an existing database; finishes what a crash left unfinished.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        for name in ["db", "conf"] {
            match fs::metadata(path.join(name)) {
                Ok(found) if found.len() > 0 => {}
                Ok(_) => {
                    return Err(StoreError::Damaged {
                        path: path.to_owned(),
                        detail: format!("its file `{name}` is empty"),
                    });
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Err(if path.is_dir() {
                        StoreError::Damaged {
                            path: path.to_owned(),
                            detail: format!("its file `{name}` is missing"),
                        }
                    } else {
                        StoreError::Missing { path: path.to_owned() }
                    });
                }
                Err(source) => return Err(StoreError::Io { path: path.to_owned(), source }),
            }
        }
        let store = Self::open_with(path)?;
        if store.get(Tree::Meta, b"format")?.is_none() && !store.db.was_recovered() {
            return Err(StoreError::Damaged {
                path: path.to_owned(),
                detail: "nothing could be recovered from it".to_owned(),
            });
        }
        Ok(store)
    }

    fn open_with(path: &Path) -> Result<Self, StoreError> {
        remove_unfinished_snapshots(path)?;
        let db = sled::Config::new()
            .path(path)
            .segment_size(SEGMENT_SIZE)
            .cache_capacity(CACHE_CAPACITY)
            .flush_every_ms(None)
            .open()
            .map_err(|error| from_sled(path, error))?;
        let trees = Tree::ALL
            .iter()
            .map(|tree| db.open_tree(tree.name()).map_err(|error| from_sled(path, error)))
            .collect::<Result<Vec<_>, _>>()?;
        let file =
            File::open(path.join("db")).map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
        Ok(Self { db, trees, file: DbFile(file), path: path.to_owned(), stopped: AtomicBool::new(false) })
    }

    fn tree(&self, tree: Tree) -> &sled::Tree {
        &self.trees[tree as usize]
    }

    fn write(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        let mut batches: Vec<Option<sled::Batch>> = (0..Tree::ALL.len()).map(|_| None).collect();
        for Write { tree, key, value } in writes {
            let batch = batches[tree as usize].get_or_insert_with(sled::Batch::default);
            match value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        let touched: Vec<(&sled::Tree, sled::Batch)> = batches
            .into_iter()
            .zip(&self.trees)
            .filter_map(|(batch, tree)| batch.map(|batch| (tree, batch)))
            .collect();
        if touched.is_empty() {
            return Ok(());
        }
        let trees: Vec<&sled::Tree> = touched.iter().map(|(tree, _)| *tree).collect();
        trees
            .as_slice()
            .transaction(|views| {
                for (view, (_, batch)) in views.iter().zip(&touched) {
                    view.apply_batch(batch)?;
                }
                Ok(())
            })
            .map_err(|error: TransactionError<()>| match error {
                TransactionError::Storage(error) => from_sled(&self.path, error),
                TransactionError::Abort(()) => StoreError::Stopped,
            })?;
        self.db.flush().map_err(|error| from_sled(&self.path, error))?;
        self.file.0.sync_all().map_err(|source| StoreError::Io { path: self.path.clone(), source })
    }
}

impl Store for SledStore {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.tree(tree).get(key) {
            Ok(value) => Ok(value.map(|octets| octets.to_vec())),
            Err(error) => Err(from_sled(&self.path, error)),
        }
    }

    fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        match self.tree(tree).scan_prefix(prefix).next_back() {
            None => Ok(None),
            Some(Ok((key, value))) => Ok(Some((key.to_vec(), value.to_vec()))),
            Some(Err(error)) => Err(from_sled(&self.path, error)),
        }
    }

    fn scan(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        Box::new(self.tree(tree).scan_prefix(prefix).map(|pair| match pair {
            Ok((key, value)) => Ok((key.to_vec(), value.to_vec())),
            Err(error) => Err(from_sled(&self.path, error)),
        }))
    }

    fn commit(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(StoreError::Stopped);
        }
        let result = self.write(writes);
        if result.is_err() {
            self.stopped.store(true, Ordering::Release);
        }
        result
    }
}

/// Removes snapshots that a crash cut off while they were written. sled fails to open with one of them present
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
        sled::Error::Io(source) => StoreError::Io { path, source },
        sled::Error::Corruption { .. } => {
            StoreError::Damaged { path, detail: "a checksum doesn't fit".to_owned() }
        }
        other => StoreError::Damaged { path, detail: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sled_store_conforms() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        super::super::conformance::suite(|again| {
            if again { SledStore::open(&path).unwrap() } else { SledStore::create(&path).unwrap() }
        });
    }

    #[test]
    fn a_second_opener_is_told_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let first = SledStore::create(&path).unwrap();
        first.commit(vec![Write::put(Tree::Meta, "format", "1")]).unwrap();
        assert!(matches!(SledStore::open(&path), Err(StoreError::InUse { .. })));
    }

    #[test]
    fn a_dropped_store_can_be_opened_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let store = SledStore::create(&path).unwrap();
        drop(store);
        for _ in 0..20 {
            let store = SledStore::open(&path).unwrap();
            store.commit(vec![Write::put(Tree::Meta, "format", "1")]).unwrap();
        }
    }

    #[test]
    fn never_a_fresh_start_over_an_existing_or_emptied_crawl() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        assert!(matches!(SledStore::open(&path), Err(StoreError::Missing { .. })));
        drop(SledStore::create(&path).unwrap());
        assert!(matches!(SledStore::create(&path), Err(StoreError::Damaged { .. })));
        fs::write(path.join("db"), b"").unwrap();
        assert!(matches!(SledStore::open(&path), Err(StoreError::Damaged { .. })));
        fs::remove_file(path.join("db")).unwrap();
        assert!(matches!(SledStore::open(&path), Err(StoreError::Damaged { .. })));
    }

    #[test]
    fn an_unfinished_snapshot_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let store = SledStore::create(&path).unwrap();
        store.commit(vec![Write::put(Tree::Meta, "format", "1")]).unwrap();
        drop(store);
        fs::write(path.join("snap.0000000000000ABC.generating"), b"half").unwrap();
        let store = SledStore::open(&path).unwrap();
        assert_eq!(store.get(Tree::Meta, b"format").unwrap(), Some(b"1".to_vec()));
        assert!(!path.join("snap.0000000000000ABC.generating").exists());
    }
}
