//! Equal bodies are stored once: a response whose body is in the archive already becomes a `revisit` record.
//!
//! The index is a tree of the store, so memory doesn't grow with it. A body counts as stored only if its record can be read now: one that
//! was withdrawn or damaged is stored again.

use std::collections::HashMap;
use std::path::Path;

use super::CommitError;
use super::earlier::EarlierBodies;
use crate::record::{Archived, Withdrawal};
use crate::store::{Store, Tree, Write};
use crate::warc::{self, Encoded, Location, Original};

/// The bodies of one commit, and of those before.
pub(super) struct Bodies<'a, S> {
    store: &'a S,
    dir: &'a Path,
    withdrawals: &'a [Withdrawal],
    earlier: Option<&'a EarlierBodies>,
    /// By digest, what this commit stored.
    new: HashMap<String, Original>,
}

impl<'a, S: Store> Bodies<'a, S> {
    /// None where no directory of the archive is known.
    pub(super) fn new(
        store: &'a S,
        dir: Option<&'a Path>,
        withdrawals: &'a [Withdrawal],
        earlier: Option<&'a EarlierBodies>,
    ) -> Option<Self> {
        Some(Self { store, dir: dir?, withdrawals, earlier, new: HashMap::new() })
    }

    /// Returns a response, without its body where that is stored, here or by an earlier crawl. Cost: one read of the database, a search
    /// in the index of earlier bodies, and one read of a record that is found.
    pub(super) fn share(&self, encoded: Encoded) -> Result<Encoded, CommitError> {
        let Some(digest) = encoded.shareable() else { return Ok(encoded) };
        let original = match self.new.get(digest) {
            Some(original) => Some(original.clone()),
            None => match self.store.get(Tree::Payloads, digest.as_bytes())? {
                Some(value) => serde_json::from_slice(&value)?,
                None => None,
            },
        };
        let original = match original.filter(|original| self.is_there(original, digest)) {
            Some(original) => Some(original),
            None => self.earlier.map(|earlier| earlier.find(digest)).transpose()?.flatten(),
        };
        Ok(match original {
            Some(original) => encoded.into_revisit(&original),
            None => encoded,
        })
    }

    /// Notes a response that was appended with its body.
    pub(super) fn stored(&mut self, encoded: &Encoded, place: &Location) {
        if let (Some(digest), Some(original)) = (encoded.shareable(), encoded.original(place)) {
            self.new.insert(digest.to_owned(), original);
        }
    }

    /// What enters the bodies of this commit.
    pub(super) fn into_writes(self) -> Vec<Write> {
        let write = |(digest, original): (String, Original)| {
            let value = serde_json::to_vec(&original).ok()?;
            Some(Write::put(Tree::Payloads, digest.into_bytes(), value))
        };
        self.new.into_iter().filter_map(write).collect()
    }

    fn is_there(&self, original: &Original, digest: &str) -> bool {
        let Location { file, offset, length } = original.place.clone();
        let place = Archived { file, offset, length };
        // Those of this commit are still to be overwritten.
        if self.withdrawals.iter().any(|withdrawal| withdrawal.place == place) {
            return false;
        }
        warc::read(self.dir, &original.place).is_ok_and(|record| {
            record.kind() == "response" && record.field("WARC-Payload-Digest") == Some(digest)
        })
    }
}
