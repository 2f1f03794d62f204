//! The ledger: every decision with its evidence, append-only, packed, hash-chained. `docs/storage.md` gives the form.
//!
//! The chain shows accidental loss and careless editing. It has no key: who can write the database can write a new chain.

mod block;
mod columns;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use self::block::{Block, may_mention, read, read_saying};
pub use self::verify::{Fault, Verdict, verify};
pub use self::writer::{Ledger, State, count, entries_with, fitting, head, joint_head};

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::encoded::json;
use crate::packed::UnpackError;
use crate::record::Decision;

/// A stored value isn't one of the ledger's, or an entry can't be stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// Damaged, or of a form that this version doesn't know.
    #[error("it is damaged, or has an unsupported format version")]
    Form,
    /// Damaged, or of a form that this version doesn't know, as far as it is packed.
    #[error("it is damaged, or has an unsupported format version")]
    Packed(#[from] UnpackError),
    /// The entry can't be written as JSON.
    #[error("an entry can't be written")]
    Entry(#[from] serde_json::Error),
}

/// The chain's head: BLAKE3 over the head before and the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Head(pub [u8; 32]);

impl Head {
    /// The head of an empty ledger; another for each crawl, so that entries of one can't be moved to another.
    pub fn first(crawl_id: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("crawl ledger, form 2, first head");
        hasher.update(crawl_id);
        Self(*hasher.finalize().as_bytes())
    }

    /// The head after one more entry: over this head, the entry's number (u64, big-endian) and its JSON.
    pub fn after(self, seq: u64, decision: &Decision) -> Result<Self, LedgerError> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0);
        hasher.update(&seq.to_be_bytes());
        let bytes = json(decision)?;
        hasher.update(&bytes);
        Ok(Self(*hasher.finalize().as_bytes()))
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl Serialize for Head {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hash = blake3::Hash::from_hex(text).map_err(serde::de::Error::custom)?;
        Ok(Self(*hash.as_bytes()))
    }
}
