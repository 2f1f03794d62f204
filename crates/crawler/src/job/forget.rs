//! `crawl forget`: takes the content of some URLs out of a crawl that isn't running, and keeps them out.
//!
//! The rule is committed first, not done. Then records, captures, everything else that the archive has of these URLs, and documents
//! of the full-text index go; each step is the same however often it is done. Then the rule is done, and the database's free
//! space is cleared. Whatever interrupts this, the next `crawl forget` or `crawl resume` finishes it.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use super::{CrawlDir, JobError, scrub};
#[cfg(feature = "search")]
use crate::causes::with_causes;
use crate::cdxj;
use crate::commit::{Batch, CommitError, Committer};
use crate::forgotten::{Forgotten, forget_rules};
use crate::record::{Forget, ForgetRule, Withdrawal};
use crate::removal::{self, Removed, Rules, batch, write};
use crate::store::{AnyStore, SledStore, Store, Tree, shared};
use crate::warc::{self, Position};

/// Removes what the crawl in `root` has of some URLs, and keeps them from being fetched again.
///
/// Cost: one pass over page records and archive, a commit for 256 of what is removed, and a copy of the database, which needs its space
/// again. Memory: about 100 bytes per removed page.
///
/// # Errors
/// [`JobError::Dir`] where another process uses the directory, or it has no crawl; whatever else fails can be done again.
pub fn forget(root: &Path, forget: Forget, reason: &str, now: Timestamp) -> Result<Removed, JobError> {
    let dir = CrawlDir::open_alone(root)?;
    if dir.is_unfinished() {
        return Err(JobError::Unfinished(root.to_owned()));
    }
    let store = shared(Arc::new(SledStore::open(&dir.db())?));
    super::mend_archive(&dir, &store, super::read_key(&*store)?, now)?;
    enter(&store, forget, reason, now)?;
    let removed = finish(&dir, &store)?;
    drop(store);
    scrub::after_run(&dir)?;
    Ok(removed)
}

/// Commits the rule. One that is there already is carried out again.
fn enter(store: &Arc<AnyStore>, forget: Forget, reason: &str, now: Timestamp) -> Result<(), JobError> {
    let rules = forget_rules(&**store)?;
    let known = rules.iter().find(|(_, rule)| rule.forget == forget);
    let (number, rule) = if let Some((number, rule)) = known {
        (*number, ForgetRule { done: false, ..rule.clone() })
    } else {
        let rule = ForgetRule { v: 1, forget, at: now, reason: reason.to_owned(), done: false };
        (rules.last().map_or(0, |(number, _)| number + 1), rule)
    };
    let mut batch = batch(&**store)?;
    batch.decisions.extend(known.is_none().then(|| removal::decision(&rule)));
    batch.removes.push(write(number, &rule)?);
    Committer::open(Arc::clone(store), None)?.commit(batch)?;
    Ok(())
}

/// Carries out the rules that aren't done, up to the clearing of free space, which is due then.
pub(super) fn finish(dir: &CrawlDir, store: &Arc<AnyStore>) -> Result<Removed, JobError> {
    let rules: Vec<_> = forget_rules(&**store)?.into_iter().filter(|(_, rule)| !rule.done).collect();
    if rules.is_empty() {
        return Ok(Removed::default());
    }
    let mut work = Work::new(dir, Arc::clone(store), &rules)?;
    let urls = removal::remove_pages(store, &mut work.committer, &work.rules, &mut work.removed)?;
    work.archive()?;
    work.payloads()?;
    index(dir, store, &urls)?;
    // Written again at the next end of a run where this fails.
    cdxj::update(&dir.warc(), &[], None).map_err(|error| JobError::Cdxj(Box::new(error)))?;
    let mut batch = batch(&**store)?;
    batch.scrub = true;
    for (number, rule) in &rules {
        batch.removes.push(write(*number, &ForgetRule { done: true, ..rule.clone() })?);
    }
    work.committer.commit(batch)?;
    Ok(work.removed)
}

/// What is never fetched again.
pub(super) fn forgotten<S: Store>(store: &S) -> Result<Forgotten, JobError> {
    Forgotten::new(forget_rules(store)?.iter().map(|(_, rule)| rule)).map_err(JobError::Forget)
}

/// The rules that are carried out.
struct Work<'a> {
    dir: &'a CrawlDir,
    store: Arc<AnyStore>,
    committer: Committer<AnyStore>,
    rules: Rules,
    removed: Removed,
}

impl<'a> Work<'a> {
    fn new(dir: &'a CrawlDir, store: Arc<AnyStore>, rules: &[(u64, ForgetRule)]) -> Result<Self, JobError> {
        // What a killed run appended and didn't commit may be about these URLs, too.
        let end = store.get(Tree::Meta, b"warc_end")?;
        let end: Option<Position> =
            end.map(|value| serde_json::from_slice(&value)).transpose().map_err(CommitError::from)?;
        if let Some(end) = &end {
            warc::repair(&dir.warc(), Some(end)).map_err(CommitError::from)?;
        }
        let committer = Committer::open(Arc::clone(&store), None)?.with_archive_dir(&dir.warc())?;
        let rules = Rules::new(rules.iter().map(|(_, rule)| rule)).map_err(JobError::Forget)?;
        Ok(Self { dir, store, committer, rules, removed: Removed::default() })
    }

    /// Overwrites whatever else the archive has of these URLs.
    fn archive(&mut self) -> Result<(), JobError> {
        for (_, path) in warc::files(&self.dir.warc()).map_err(CommitError::from)? {
            let Self { store, committer, rules, removed, .. } = self;
            removal::judge_file(&path, rules, removed, |withdrawals: Vec<Withdrawal>| {
                let batch = batch(&**store)?;
                committer.commit(Batch { withdrawals, ..batch })
            })?;
        }
        Ok(())
    }

    /// Removes the places of bodies that are stored once.
    fn payloads(&mut self) -> Result<(), JobError> {
        let removes = removal::payloads(&self.store, &self.rules)?;
        if !removes.is_empty() {
            let batch = batch(&*self.store)?;
            self.committer.commit(Batch { removes, ..batch })?;
        }
        Ok(())
    }
}

#[cfg(feature = "search")]
fn index(dir: &CrawlDir, store: &Arc<AnyStore>, urls: &[String]) -> Result<(), JobError> {
    if let Err(error) = crate::search::forget(dir.root(), &**store, urls.iter().map(String::as_str)) {
        // A whole index can be built again; one that still has the words of these pages is worse than none.
        super::index::remove(dir.root())?;
        tracing::warn!(
            "{}; the full-text index was removed: `crawl index {}` builds it again",
            with_causes(&error),
            dir.root().display()
        );
    }
    Ok(())
}

/// This build can't take a page out of the index.
#[cfg(not(feature = "search"))]
fn index(dir: &CrawlDir, _store: &Arc<AnyStore>, urls: &[String]) -> Result<(), JobError> {
    tracing::debug!(pages = urls.len(), "the full-text index is removed");
    super::index::remove(dir.root())
}
