//! sled panics on some damage. Here a panic becomes an error with sled's message.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::from_sled;
use crate::store::{Pair, StoreError};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Answers, within a panic hook, whether the panic is one of sled's that comes back as an error: it needn't be reported twice.
pub fn is_caught() -> bool {
    let of_sled = || std::thread::current().name().is_some_and(|name| name.starts_with("sled"));
    GUARDED.with(Cell::get) || of_sled()
}

/// Calls sled.
pub(super) fn guarded<T>(path: &Path, call: impl FnOnce() -> sled::Result<T>) -> Result<T, StoreError> {
    guarded_io(path, call)?.map_err(|error| from_sled(path, error))
}

/// Calls sled, whatever it answers; none where it panicked.
pub(super) fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
    let outer = GUARDED.with(|guarded| guarded.replace(true));
    let result = catch_unwind(AssertUnwindSafe(call));
    GUARDED.with(|guarded| guarded.set(outer));
    result.ok()
}

/// Calls sled, where the error isn't sled's own.
pub(super) fn guarded_io<T>(path: &Path, call: impl FnOnce() -> T) -> Result<T, StoreError> {
    let outer = GUARDED.with(|guarded| guarded.replace(true));
    let result = catch_unwind(AssertUnwindSafe(call));
    GUARDED.with(|guarded| guarded.set(outer));
    result.map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        let detail = format!("sled gave up: {}", page::clean::clean_to(words, 200));
        StoreError::Damaged { path: path.to_owned(), detail }
    })
}

/// Bytes of entries for which one is requested again, so that sled drops what was read.
///
/// sled 0.34.7 keeps what it has read in 256 parts, by the page's number, and looks for what to drop in a part after 64 accesses to
/// it (`lru.rs`). A scan accesses each leaf once: 16,384 leaves, some 400 MB, would come in before the first one goes. So it
/// looks after 64 KB of each part.
const BYTES_AN_ACCESS: usize = 1024;

/// More accesses for one entry let sled look no sooner.
const MOST_ACCESSES: usize = 64;

/// Iterates over a stretch of a tree, from its beginning or its end, up to the first error. What was read doesn't stay in
/// memory beyond the capacity of sled's cache.
pub(super) struct Guarded<'a> {
    path: &'a Path,
    tree: &'a sled::Tree,
    pairs: Option<sled::Iter>,
    backwards: bool,
    /// Bytes since the last access.
    bytes: usize,
}

impl<'a> Guarded<'a> {
    /// The entries of `tree` with this prefix.
    pub(super) fn new(path: &'a Path, tree: &'a sled::Tree, prefix: &[u8], backwards: bool) -> Self {
        Self::over(path, tree, tree.scan_prefix(prefix), backwards)
    }

    /// A stretch of `tree`.
    pub(super) fn over(path: &'a Path, tree: &'a sled::Tree, pairs: sled::Iter, backwards: bool) -> Self {
        Self { path, tree, pairs: Some(pairs), backwards, bytes: 0 }
    }
}

impl Iterator for Guarded<'_> {
    type Item = Result<Pair, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Self { tree, backwards, bytes, .. } = self;
        let pairs = self.pairs.as_mut()?;
        let next = || {
            let next = if *backwards { pairs.next_back() } else { pairs.next() };
            let Some((key, value)) = next.transpose()? else { return Ok(None) };
            *bytes += key.len() + value.len();
            for _ in 0..(*bytes / BYTES_AN_ACCESS).min(MOST_ACCESSES) {
                tree.contains_key(&key)?;
            }
            *bytes %= BYTES_AN_ACCESS;
            Ok(Some((key, value)))
        };
        match guarded(self.path, next) {
            Ok(pair) => pair.map(|(key, value)| Ok((key.to_vec(), value.to_vec()))),
            Err(error) => {
                // Behind an unreadable node sled would give the same error forever.
                self.pairs = None;
                Some(Err(error))
            }
        }
    }
}
