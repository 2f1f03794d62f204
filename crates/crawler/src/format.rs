//! The form of the database, and the key of its fingerprints.

use crate::store::{Store, StoreError, Tree};
use crate::url::FingerprintKey;

/// The form of the database that this version writes.
pub const FORMAT: u32 = 2;

/// Says why a database isn't read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The database itself.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database has a form of another version.
    #[error(
        "the database has format {found}, and this version of crawl reads format {FORMAT}; {}",
        if *.is_older { "`crawl repair DIR --out NEWDIR` converts it" } else { "a newer version of crawl reads it" }
    )]
    Other {
        /// The form found.
        found: String,
        /// It is one of an earlier version.
        is_older: bool,
    },
}

/// A key that nobody can guess: 32 bytes of two random UUIDs, hashed.
pub(crate) fn new_key() -> FingerprintKey {
    let mut hasher = blake3::Hasher::new();
    hasher.update(uuid::Uuid::new_v4().as_bytes());
    hasher.update(uuid::Uuid::new_v4().as_bytes());
    FingerprintKey(*hasher.finalize().as_bytes())
}

/// The key of an existing crawl, once its form is known to be ours.
pub fn read_key<S: Store>(store: &S) -> Result<FingerprintKey, FormatError> {
    let found = store.get(Tree::Meta, b"format")?.unwrap_or_default();
    let found = String::from_utf8_lossy(&found).into_owned();
    if found != FORMAT.to_string() {
        let is_older = found.parse().is_ok_and(|found: u32| found < FORMAT);
        return Err(FormatError::Other { found, is_older });
    }
    let key = store.get(Tree::Meta, b"fingerprint_key")?.unwrap_or_default();
    let key = <[u8; 32]>::try_from(key).map_err(|_| StoreError::Unreadable {
        tree: Tree::Meta.name(),
        source: "the fingerprint key is missing".into(),
    })?;
    Ok(FingerprintKey(key))
}
