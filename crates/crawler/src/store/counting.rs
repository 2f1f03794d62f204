//! A store in memory that counts what is read of it, for tests.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{MemoryStore, Pair, Store, StoreError, Tree, Write};

/// Counts what is read.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    store: MemoryStore,
    reads: AtomicUsize,
}

impl Counting {
    fn read(&self) -> &MemoryStore {
        self.reads.fetch_add(1, Ordering::Relaxed);
        &self.store
    }

    /// What a closure gives, and how many reads it makes.
    pub(crate) fn reads_of<T>(&self, run: impl FnOnce(&Self) -> T) -> (T, usize) {
        let before = self.reads.load(Ordering::Relaxed);
        let made = run(self);
        (made, self.reads.load(Ordering::Relaxed) - before)
    }
}

impl Store for Counting {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.read().get(tree, key)
    }

    fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        self.read().last(tree, prefix)
    }

    fn scan(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        self.read().scan(tree, prefix)
    }

    fn floor(&self, tree: Tree, key: &[u8]) -> Result<Option<Pair>, StoreError> {
        self.read().floor(tree, key)
    }

    fn commit(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.store.commit(writes)
    }
}
