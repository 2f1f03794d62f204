//! A tree read in pieces, for stores that answer question by question.

use super::{Pair, StoreError, Tree};

/// The next entries of a tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// In the order of their keys; perhaps none, though more follow.
    pub pairs: Vec<Pair>,
    /// The key behind which the next batch begins; none if this is the last one.
    pub next: Option<Vec<u8>>,
}

/// Reads one batch after the other, up to the first error. Ends with an error where a tree that was read as a whole has fewer
/// entries than it must.
pub(crate) struct Batches<A> {
    tree: Tree,
    least: Option<u64>,
    ask: A,
    found: u64,
    pairs: std::vec::IntoIter<Pair>,
    /// Behind which key to go on; none at the beginning.
    after: Option<Vec<u8>>,
    done: bool,
}

impl<A: FnMut(Option<&[u8]>) -> Result<Batch, StoreError>> Batches<A> {
    /// `ask` gets the key behind which the batch begins; `least` is how many entries the tree must have.
    pub(crate) fn new(tree: Tree, least: Option<u64>, ask: A) -> Self {
        Self { tree, least, ask, found: 0, pairs: Vec::new().into_iter(), after: None, done: false }
    }
}

impl<A: FnMut(Option<&[u8]>) -> Result<Batch, StoreError>> Iterator for Batches<A> {
    type Item = Result<Pair, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(pair) = self.pairs.next() {
                self.found += 1;
                return Some(Ok(pair));
            }
            if self.done {
                let least = self.least.take().filter(|least| self.found < *least)?;
                let detail = format!("{} of its {least} records", least - self.found);
                return Some(Err(StoreError::Lost { tree: self.tree.name(), detail }));
            }
            match (self.ask)(self.after.as_deref()) {
                Ok(Batch { pairs, next }) => {
                    self.done = next.is_none();
                    self.after = next;
                    self.pairs = pairs.into_iter();
                }
                Err(error) => {
                    (self.done, self.least) = (true, None);
                    return Some(Err(error));
                }
            }
        }
    }
}
