//! A [`Store`] that dies at its n-th commit: the process of a test "crashes" there, and opens what remains.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Pair, Store, StoreError, Tree, Write};

/// Passes everything to the inner store until commit number `at`, which fails, as do all later ones.
#[derive(Debug)]
pub struct CrashStore<S> {
    inner: S,
    at: u64,
    lands: bool,
    commits: AtomicU64,
}

impl<S: Store> CrashStore<S> {
    /// Dies at the `at`-th commit, counted from 1. With `lands` its writes still reach the store: the crash came
    /// after the sync and before the acknowledgement.
    pub fn new(inner: S, at: u64, lands: bool) -> Self {
        Self { inner, at, lands, commits: AtomicU64::new(0) }
    }
}

impl<S: Store> Store for CrashStore<S> {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.get(tree, key)
    }

    fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        self.inner.last(tree, prefix)
    }

    fn scan(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        self.inner.scan(tree, prefix)
    }

    fn floor(&self, tree: Tree, key: &[u8]) -> Result<Option<Pair>, StoreError> {
        self.inner.floor(tree, key)
    }

    fn commit(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        let number = self.commits.fetch_add(1, Ordering::AcqRel) + 1;
        if number < self.at || (number == self.at && self.lands) {
            self.inner.commit(writes)?;
        }
        if number >= self.at { Err(StoreError::Crash(number)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::MemoryStore;
    use super::*;

    #[test]
    fn crash_store_conforms_before_its_crash() {
        let inner = Arc::new(MemoryStore::default());
        super::super::conformance::suite(|_| CrashStore::new(Arc::clone(&inner), u64::MAX, false));
    }

    #[test]
    fn the_crash_loses_the_whole_commit_or_only_its_answer() {
        for lands in [false, true] {
            let inner = Arc::new(MemoryStore::default());
            let store = CrashStore::new(Arc::clone(&inner), 2, lands);
            store.commit(vec![Write::put(Tree::Meta, "a", "1")]).unwrap();
            assert!(matches!(
                store.commit(vec![Write::put(Tree::Meta, "b", "2")]),
                Err(StoreError::Crash(2))
            ));
            assert!(store.commit(vec![Write::put(Tree::Meta, "c", "3")]).is_err());
            assert_eq!(inner.get(Tree::Meta, b"a").unwrap(), Some(b"1".to_vec()));
            assert_eq!(inner.get(Tree::Meta, b"b").unwrap().is_some(), lands);
            assert_eq!(inner.get(Tree::Meta, b"c").unwrap(), None);
        }
    }
}
