//! [`Store`] in memory: tests and benchmarks.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Pair, Store, StoreError, Tree, Write};

type Maps = [BTreeMap<Vec<u8>, Vec<u8>>; Tree::ALL.len()];

/// Ordered maps that live as long as the value.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Maps>);

impl MemoryStore {
    fn maps(&self) -> MutexGuard<'_, Maps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.maps()[tree as usize].get(key).cloned())
    }

    fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        let maps = self.maps();
        let found = maps[tree as usize]
            .range(prefix.to_vec()..)
            .take_while(|(key, _)| key.starts_with(prefix))
            .last();
        Ok(found.map(|(key, value)| (key.clone(), value.clone())))
    }

    fn scan(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        let pairs: Vec<_> = self.maps()[tree as usize]
            .range(prefix.to_vec()..)
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, value)| Ok((key.clone(), value.clone())))
            .collect();
        Box::new(pairs.into_iter())
    }

    fn floor(&self, tree: Tree, key: &[u8]) -> Result<Option<Pair>, StoreError> {
        let maps = self.maps();
        let found = maps[tree as usize].range(..=key.to_vec()).next_back();
        Ok(found.map(|(key, value)| (key.clone(), value.clone())))
    }

    fn commit(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        let mut maps = self.maps();
        for Write { tree, key, value } in writes {
            match value {
                Some(value) => maps[tree as usize].insert(key, value),
                None => maps[tree as usize].remove(&key),
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn memory_store_conforms() {
        let store = Arc::new(MemoryStore::default());
        super::super::conformance::suite(|_| Arc::clone(&store));
    }
}
