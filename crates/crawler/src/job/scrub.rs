//! Writes the database anew where stored content was withdrawn: sled keeps a removed value in its free space until the
//! segment is used again, and withdrawn content must not be found in any file.
//!
//! The new one is complete before the old one is touched: `db.scrubbed` is filled and synced, `db` becomes `db.old`,
//! `db.scrubbed` becomes `db`, `db.old` goes. Cut off anywhere, opening the directory finishes or undoes it.

use std::fs;

use super::{CrawlDir, JobError};
use crate::commit::SCRUB;
use crate::store::{SledStore, Store, Tree, Write};

/// Octets of one commit.
const AT_ONCE: usize = 4 << 20;

/// True where withdrawn content may still stand in the database's free space.
pub(super) fn is_due<S: Store>(store: &S) -> Result<bool, JobError> {
    Ok(store.get(Tree::Meta, SCRUB.as_bytes())?.is_some())
}

/// Writes the database anew. No other handle to it may be open. Cost: its size, twice, on disk for the time being.
pub(super) fn scrub(dir: &CrawlDir) -> Result<(), JobError> {
    let path = dir.scrubbed_db();
    dir.prepare_scrubbed()?;
    {
        let from = SledStore::open(&dir.db())?;
        let to = SledStore::create(&path)?;
        for tree in Tree::ALL {
            let mut writes = Vec::new();
            let mut octets = 0;
            for pair in from.scan(tree, &[]) {
                let (key, value) = pair?;
                if tree == Tree::Meta && key == SCRUB.as_bytes() {
                    continue;
                }
                octets += key.len() + value.len();
                writes.push(Write::put(tree, key, value));
                if octets >= AT_ONCE {
                    to.commit(std::mem::take(&mut writes))?;
                    octets = 0;
                }
            }
            to.commit(writes)?;
        }
    }
    dir.take_scrubbed()?;
    Ok(())
}

/// As [`scrub`]; a failure (no room on the disk, say) is told and leaves everything as it was, to be tried at the next
/// start.
pub(super) fn try_scrub(dir: &CrawlDir) {
    if let Err(error) = scrub(dir) {
        drop(fs::remove_dir_all(dir.scrubbed_db()));
        tracing::warn!(
            "withdrawn content may still stand in free space of the database, the next `crawl resume` tries again: {error}"
        );
    }
}
