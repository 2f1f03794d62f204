//! What one partition wants to have committed.

use super::Claim;
use crate::store::StoreError;

/// Gets the outcome of a commit. It must not wait for anything.
pub(super) type Reply = Box<dyn FnOnce(Result<(), StoreError>) + Send + Sync>;

/// The next commit of a partition.
pub(super) struct PartCommit {
    /// `commits` is the number of this one.
    pub(super) claim: Claim,
    pub(super) removes: Vec<(i16, Vec<u8>)>,
    pub(super) puts: Vec<(i16, Vec<u8>, Vec<u8>)>,
    pub(super) reply: Reply,
}

impl PartCommit {
    /// Bytes of its keys and values.
    pub(super) fn bytes(&self) -> usize {
        let removes: usize = self.removes.iter().map(|(_, key)| key.len()).sum();
        let puts: usize = self.puts.iter().map(|(_, key, value)| key.len() + value.len()).sum();
        removes + puts
    }

    /// Answers who asked for it.
    pub(super) fn reply(self, result: Result<(), StoreError>) {
        (self.reply)(result);
    }
}
