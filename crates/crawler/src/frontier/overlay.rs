//! The frontier's view of the store: what is committed, overlaid with what is about to be.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::store::{Store, StoreError, Tree, Write};

type Layer = HashMap<(Tree, Vec<u8>), Option<Vec<u8>>>;

#[derive(Debug)]
pub(crate) struct Overlay<S> {
    store: Arc<S>,
    /// Changes since the last cut.
    pending: Layer,
    /// Cut and handed to the committer, not acknowledged yet.
    cut: VecDeque<(u64, Layer)>,
    generation: u64,
    bytes: usize,
}

impl<S: Store> Overlay<S> {
    pub(crate) fn new(store: Arc<S>) -> Self {
        Self { store, pending: Layer::new(), cut: VecDeque::new(), generation: 0, bytes: 0 }
    }

    pub(crate) fn store(&self) -> &Arc<S> {
        &self.store
    }

    pub(crate) fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let id = (tree, key.to_vec());
        let layers = std::iter::once(&self.pending).chain(self.cut.iter().rev().map(|(_, layer)| layer));
        for layer in layers {
            if let Some(value) = layer.get(&id) {
                return Ok(value.clone());
            }
        }
        self.store.get(tree, key)
    }

    pub(crate) fn put(&mut self, tree: Tree, key: Vec<u8>, value: Vec<u8>) {
        self.bytes += key.len() + value.len();
        self.pending.insert((tree, key), Some(value));
    }

    pub(crate) fn remove(&mut self, tree: Tree, key: Vec<u8>) {
        self.bytes += key.len();
        self.pending.insert((tree, key), None);
    }

    /// Number of the cut that the next change goes into.
    pub(crate) fn next_generation(&self) -> u64 {
        self.generation + 1
    }

    /// Bytes of the changes since the last cut.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the changes since the last cut, and the number to pass to [`Overlay::committed`] for them.
    pub(crate) fn cut(&mut self) -> (u64, Vec<Write>) {
        let layer = std::mem::take(&mut self.pending);
        self.bytes = 0;
        self.generation += 1;
        let writes = layer
            .iter()
            .map(|((tree, key), value)| Write { tree: *tree, key: key.clone(), value: value.clone() })
            .collect();
        self.cut.push_back((self.generation, layer));
        (self.generation, writes)
    }

    pub(crate) fn committed(&mut self, generation: u64) {
        self.cut.retain(|(number, _)| *number > generation);
    }
}
