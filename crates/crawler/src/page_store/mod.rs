//! The records of pages and their links: many to a value of the database, in the order in which they were stored.
//!
//! Each page has a number, from 0. A value of tree `pages` holds the records of a run of numbers, and its key is the first
//! of them; a value of tree `links` likewise. The records of a commit are first in a value of their own, links included;
//! when enough have gathered they are joined into values of about 1.5 KB. Tree `page_index` leads from fingerprints to numbers.
//! `docs/storage.md` gives the format and the reasons.

mod block;
mod filter;
mod index;
mod numbers;
mod read;
mod scan;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use self::numbers::PageNumbers;
pub(crate) use self::read::{
    UrlOfPage, entries, find, links_at_number, links_of, links_of_number, record_at, record_of, url_of_page,
    urls_beside,
};
pub(crate) use self::scan::{PageBlock, range_end, scan_blocks, scan_range};
pub use self::scan::{PageScan, StoredPage, scan, scan_with_links};
pub(crate) use self::write::Change;
pub use self::write::PageWriter;

use serde::{Deserialize, Serialize};

use crate::causes::Cause;
use crate::store::{Store, StoreError, Tree};

/// Key of the state in tree `meta`.
pub(crate) const STATE: &str = "pages";

/// How far the records have come; JSON in `meta`, written with every change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Pages so far: the number of the next one.
    pub count: u64,
    /// The first page in a value of its commit.
    pub loose: u64,
    /// The first page that isn't in the index.
    pub indexed: u64,
    /// Runs of the index ever written: the number of the next one.
    pub runs: u64,
    /// Levels of the index.
    pub levels: u8,
}

impl State {
    /// The state of a store; that of an empty one where nothing was stored yet.
    pub fn read<S: Store>(store: &S) -> Result<Self, StoreError> {
        match store.get(Tree::Meta, STATE.as_bytes())? {
            Some(value) => serde_json::from_slice(&value).map_err(|error| unreadable(Tree::Meta, error)),
            None => Ok(Self::default()),
        }
    }
}

/// The key of the value that begins with a page.
pub(crate) fn number_key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

fn number_of_key(tree: Tree, key: &[u8]) -> Result<u64, StoreError> {
    let number = <[u8; 8]>::try_from(key).map(u64::from_be_bytes).map_err(|error| unreadable(tree, error))?;
    if number < index::NUMBERS { Ok(number) } else { Err(unreadable(tree, format!("a key of {number}"))) }
}

fn unreadable(tree: Tree, cause: impl Into<Cause>) -> StoreError {
    StoreError::Unreadable { tree: tree.name(), source: cause.into() }
}

fn lost(tree: Tree, detail: impl Into<String>) -> StoreError {
    StoreError::Lost { tree: tree.name(), detail: detail.into() }
}
