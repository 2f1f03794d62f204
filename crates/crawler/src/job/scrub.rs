//! Rewrites the database if stored content was withdrawn: sled keeps a removed value in its free space until the
//! segment is used again, and withdrawn content must not be found in any file.
//!
//! The new database is complete before the old one is touched: [`swap`] has the steps, and what an interruption leaves.

use super::{CrawlDir, JobError};
use crate::causes::with_causes;
use crate::commit::SCRUB;
use crate::crawl_dir::swap;
use crate::store::{SledStore, Store, Tree, Write};

/// Bytes of one commit.
const AT_ONCE: usize = 4 << 20;

/// True if withdrawn content may still be in the database's free space.
pub(super) fn is_due<S: Store>(store: &S) -> Result<bool, JobError> {
    Ok(store.get(Tree::Meta, SCRUB.as_bytes())?.is_some())
}

/// Rewrites the database. No other handle to it may be open. Needs as much free disk space as the database has.
fn scrub(dir: &CrawlDir) -> Result<(), JobError> {
    swap::prepare(dir.root())?;
    copy(dir)?;
    Ok(swap::replace(dir.root())?)
}

/// Copies every record; what sled kept of removed ones isn't copied.
fn copy(dir: &CrawlDir) -> Result<(), JobError> {
    let from = SledStore::open(&dir.db())?;
    let to = SledStore::create(&swap::unfinished(dir.root()))?;
    for tree in Tree::ALL {
        let mut writes = Vec::new();
        let mut bytes = 0;
        for pair in from.scan(tree, &[]) {
            let (key, value) = pair?;
            if tree == Tree::Meta && key == SCRUB.as_bytes() {
                continue;
            }
            bytes += key.len() + value.len();
            writes.push(Write::put(tree, key, value));
            if bytes >= AT_ONCE {
                to.commit(std::mem::take(&mut writes))?;
                bytes = 0;
            }
        }
        to.commit(writes)?;
    }
    Ok(())
}

/// Scrubs at the end of a run. A failure leaves a whole database, in which the content is still to be removed.
pub(super) fn after_run(dir: &CrawlDir) -> Result<(), JobError> {
    scrub(dir).map_err(|source| {
        if let Err(error) = swap::discard(dir.root()) {
            tracing::warn!("{}; `crawl resume` removes it", with_causes(&error));
        }
        JobError::Scrub { dir: dir.root().to_owned(), source: Box::new(source) }
    })
}

/// Scrubs before a run. If that fails (the disk is full, say) and the old database is still in force, the
/// crawl goes on, and the end of the run tries again.
pub(super) fn before_run(dir: &CrawlDir) -> Result<(), JobError> {
    match after_run(dir) {
        Err(error) if dir.db().exists() => {
            tracing::warn!("{}", with_causes(&error));
            swap::settle(dir.root())?;
            Ok(())
        }
        result => result,
    }
}
