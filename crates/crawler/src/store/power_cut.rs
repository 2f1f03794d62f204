//! A [`Store`] that a power cut takes back to its last sync: the machine of a test "fails" there, and opens what the disk has.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Durability, MemoryStore, Pair, Store, StoreError, Tree, Write};

/// Reads see what was written; the disk gets it when it is synced. Sync number `at` fails, as does everything that changes it from then on.
#[derive(Debug)]
pub struct PowerCutStore {
    disk: Arc<MemoryStore>,
    seen: MemoryStore,
    unsynced: Mutex<Vec<Write>>,
    at: u64,
    syncs: AtomicU64,
    is_cut: AtomicBool,
}

impl PowerCutStore {
    /// Takes up what a disk has. The power fails in the `at`-th sync, counted from 1.
    ///
    /// Errors: the disk can't be read.
    pub fn new(disk: Arc<MemoryStore>, at: u64) -> Result<Self, StoreError> {
        let seen = MemoryStore::default();
        for tree in Tree::ALL {
            let pairs = disk.scan(tree, &[]).collect::<Result<Vec<_>, _>>()?;
            seen.commit(pairs.into_iter().map(|(key, value)| Write::put(tree, key, value)).collect())?;
        }
        let (unsynced, syncs, is_cut) = (Mutex::default(), AtomicU64::new(0), AtomicBool::new(false));
        Ok(Self { disk, seen, unsynced, at, syncs, is_cut })
    }

    fn unsynced(&self) -> MutexGuard<'_, Vec<Write>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unless_cut(&self) -> Result<(), StoreError> {
        if self.is_cut.load(Ordering::Acquire) { Err(StoreError::Crash(self.at)) } else { Ok(()) }
    }
}

impl Store for PowerCutStore {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.seen.get(tree, key)
    }

    fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        self.seen.last(tree, prefix)
    }

    fn scan(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        self.seen.scan(tree, prefix)
    }

    fn floor(&self, tree: Tree, key: &[u8]) -> Result<Option<Pair>, StoreError> {
        self.seen.floor(tree, key)
    }

    fn commit(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.write(writes)?;
        self.sync()
    }

    fn write(&self, writes: Vec<Write>) -> Result<Durability, StoreError> {
        let mut unsynced = self.unsynced();
        self.unless_cut()?;
        unsynced.extend(writes.iter().cloned());
        self.seen.commit(writes).map(|()| Durability::Process)
    }

    fn defers_syncs(&self) -> bool {
        true
    }

    fn sync(&self) -> Result<(), StoreError> {
        let mut unsynced = self.unsynced();
        self.unless_cut()?;
        if self.syncs.fetch_add(1, Ordering::AcqRel) + 1 >= self.at {
            self.is_cut.store(true, Ordering::Release);
            return Err(StoreError::Crash(self.at));
        }
        self.disk.commit(std::mem::take(&mut *unsynced))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_conforms_before_the_power_fails() {
        let disk = Arc::<MemoryStore>::default();
        super::super::conformance::suite(|_| PowerCutStore::new(Arc::clone(&disk), u64::MAX).unwrap());
    }

    #[test]
    fn what_was_written_since_the_last_sync_is_gone() {
        let disk = Arc::<MemoryStore>::default();
        let store = PowerCutStore::new(Arc::clone(&disk), 2).unwrap();
        for (key, synced) in [("a", true), ("b", false)] {
            store.write(vec![Write::put(Tree::Meta, key, "1")]).unwrap();
            assert_eq!(store.sync().is_ok(), synced);
        }
        assert!(store.write(vec![Write::put(Tree::Meta, "c", "1")]).is_err());
        assert!(store.sync().is_err());
        let found = |store: &dyn Store, key: &str| store.get(Tree::Meta, key.as_bytes()).unwrap().is_some();
        assert_eq!(["a", "b", "c"].map(|key| found(&store, key)), [true, true, false]);
        assert_eq!(["a", "b", "c"].map(|key| found(&*disk, key)), [true, false, false]);
    }
}
