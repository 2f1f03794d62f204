//! A capture that has to be removed from the archive: written before its place is overwritten, kept as a record of it afterwards.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Archived;

/// One capture's withdrawal; JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawal {
    /// Form of this record: 1.
    pub v: u32,
    /// The page.
    pub url: String,
    /// The place of its response record.
    pub place: Archived,
    /// When it was decided.
    pub at: Timestamp,
    /// The directive, date or statement that asked for it.
    pub because: String,
    /// The place holds a tombstone.
    pub done: bool,
}

impl Withdrawal {
    /// Makes the record of a capture that has to go.
    pub(crate) fn new(url: &str, place: Archived, at: Timestamp, because: &str) -> Self {
        Self { v: 1, url: url.to_owned(), place, at, because: because.to_owned(), done: false }
    }

    /// Key: file, a zero byte, offset.
    pub fn key(&self) -> Vec<u8> {
        let mut key = self.place.file.as_bytes().to_vec();
        key.push(0);
        key.extend(self.place.offset.to_be_bytes());
        key
    }
}
