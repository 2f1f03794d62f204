//! The form of the database, and the key of its fingerprints.

use crate::store::{Store, StoreError, Tree, Write};
use page::url::FingerprintKey;

/// The form of the database that this version writes. Form 3 has a fourth queue for each host, for resources of pages; form 4 may have a
/// [`FingerprintKey`] of 16 bytes; form 5 has blocks of a host's seen set, and chunks of long URLs, in parts.
pub const FORMAT: u32 = 5;

/// The oldest form that this version reads. `crawl resume` makes the newest of it.
const OLDEST: u32 = 2;

/// Says why a database isn't read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The database itself.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database has a form of another version.
    #[error(
        "the database has format {found}, and this version of crawl reads formats {OLDEST} to {FORMAT}; {}",
        if *.is_older { "`crawl repair DIR --out NEWDIR` converts it" } else { "a newer version of crawl reads it" }
    )]
    Other {
        /// The form found.
        found: String,
        /// It is one of an earlier version.
        is_older: bool,
    },
}

/// A key that nobody can guess: 16 bytes of the hash of two random UUIDs, which have 122 random bits each.
pub(crate) fn new_key() -> FingerprintKey {
    let mut hasher = blake3::Hasher::new();
    hasher.update(uuid::Uuid::new_v4().as_bytes());
    hasher.update(uuid::Uuid::new_v4().as_bytes());
    let mut key = [0; 16];
    hasher.finalize_xof().fill(&mut key);
    FingerprintKey::new(key)
}

/// Makes an earlier form of a database the newest, before anything of that form is written. Others stay as they are.
pub(crate) fn renew<S: Store>(store: &S) -> Result<(), StoreError> {
    let found = store.get(Tree::Meta, b"format")?.unwrap_or_default();
    if !std::str::from_utf8(&found).is_ok_and(is_older) {
        return Ok(());
    }
    store.commit(vec![Write::put(Tree::Meta, "format", FORMAT.to_string())])
}

/// Whether this is the number of a form that this version reads, and before the newest one.
pub(crate) fn is_older(found: &str) -> bool {
    found.parse().is_ok_and(|number: u32| (OLDEST..FORMAT).contains(&number))
}

/// The key of an existing crawl, once its form is known to be ours.
pub fn read_key<S: Store>(store: &S) -> Result<FingerprintKey, FormatError> {
    let found = store.get(Tree::Meta, b"format")?.unwrap_or_default();
    let found = String::from_utf8_lossy(&found).into_owned();
    let number = found.parse::<u32>().ok().filter(|number| number.to_string() == found);
    if !number.is_some_and(|number| (OLDEST..=FORMAT).contains(&number)) {
        let is_older = number.is_some_and(|found| found < OLDEST);
        return Err(FormatError::Other { found, is_older });
    }
    let key = store.get(Tree::Meta, b"fingerprint_key")?.unwrap_or_default();
    let key = FingerprintKey::from_bytes(&key).ok_or_else(|| StoreError::Unreadable {
        tree: Tree::Meta.name(),
        source: "the fingerprint key is missing".into(),
    })?;
    Ok(key)
}
