//! `crawl cluster forget`: takes the content of some URLs out of a crawl that rests, and keeps them out.
//!
//! The command enters the rule in each partition, removes the content from those that may have some, and enters which archive files have to be searched
//! for it. These are on the disks of the workers, or in object storage: each worker searches its own when it is started next
//! ([`super::forgotten_files`]). Whatever interrupts the command, the same again finishes it.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::at_rest::{AtRest, AtRestError};
use super::{Address, ClusterError};
use crate::commit::{Committer, WARC_END, read_warc_end};
use crate::forgotten::forget_rules;
use crate::post::{self, ForgottenFile};
use crate::record::{Forget, ForgetRule};
use crate::removal::{self, Removed, Rules, batch, write};
use crate::store::{AnyStore, Store as _, Tree, Write};
use crate::warc;

/// Removed content isn't in the pages of the table any more: a copy takes its place.
const CLEAR: &str = "vacuum (full) kv_records";

/// What was removed, and what remains to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Forgot {
    /// Page records that lost their content.
    pub pages: u64,
    /// Archive files that have to be searched for it by the workers that have them.
    pub files: u64,
}

/// Why content can't be removed, or not all of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForgetError {
    /// The partitions.
    #[error(transparent)]
    Partitions(#[from] AtRestError),
    /// The regular expression.
    #[error("the regular expression can't be read")]
    Pattern(#[source] regex::Error),
}

impl From<ClusterError> for ForgetError {
    fn from(error: ClusterError) -> Self {
        Self::Partitions(error.into())
    }
}

/// Removes what the cluster's database has of some URLs, has the archive files searched for them, and keeps them from being fetched again. The crawl must
/// be stopped or complete, and of this `program` (name and version).
///
/// Cost: a pass over the page records of the host's partition, or of all for a regular expression; a commit in each partition; and where something was
/// removed, a copy of the tables of records, which needs their space again.
///
/// # Errors
/// See [`ForgetError`]. Whatever fails can be done again.
pub fn forget(
    address: &Address,
    program: &str,
    forget: Forget,
    reason: &str,
    now: Timestamp,
) -> Result<Forgot, ForgetError> {
    let asked = ForgetRule { v: 1, forget, at: now, reason: reason.to_owned(), done: false };
    Rules::new(std::iter::once(&asked)).map_err(ForgetError::Pattern)?;
    let mut rest = AtRest::take(address, program, "crawl cluster forget")?;
    let done = carry_out(&rest, &asked).and_then(|done| {
        if done.pages > 0 {
            rest.execute("clear the free space of the tables", CLEAR)?;
        }
        Ok(done)
    });
    let given_back = rest.give_back();
    let done = done?;
    given_back?;
    Ok(done)
}

/// Enters the rule in each partition, under one number, and carries it out.
fn carry_out(rest: &AtRest, asked: &ForgetRule) -> Result<Forgot, ForgetError> {
    let of = u32::try_from(rest.parts().len()).unwrap_or(u32::MAX);
    let host = removal::host_of_rule(asked);
    let only = (!host.is_empty()).then(|| post::partition(&host, of) as usize);
    let is_concerned = |place| only.is_none_or(|only| only == place);
    let known = rest.each(|_, part| Ok(forget_rules(&**part)?))?.concat();
    let next = known.iter().map(|(number, _)| number + 1).max().unwrap_or_default();
    let again = known.into_iter().find(|(_, rule)| rule.forget == asked.forget);
    let is_new = again.is_none();
    let (number, rule) =
        again.map_or((next, asked.clone()), |(number, rule)| (number, ForgetRule { done: false, ..rule }));
    // In all before content goes from any: a link to these URLs is known for what it is wherever it is found.
    rest.each(|place, part| {
        let records_it = is_new && place == only.unwrap_or_default();
        enter(part, (number, &rule), is_concerned(place), records_it)
    })?;
    let rules = Rules::new(std::iter::once(&rule)).map_err(ForgetError::Pattern)?;
    let each = rest.each(|place, part| {
        let mut removed = Removed::default();
        if is_concerned(place) {
            let mut committer = Committer::open(Arc::clone(part), None)?;
            removal::remove_pages(part, &mut committer, &rules, &mut removed)?;
            let mut batch = batch(&**part)?;
            batch.removes.push(write(number, &ForgetRule { done: true, ..rule.clone() })?);
            committer.commit(batch)?;
        }
        Ok(Forgot { pages: removed.pages, files: files_to_search(part)? })
    })?;
    let pages = each.iter().map(|part| part.pages).sum();
    Ok(Forgot { pages, files: each.iter().map(|part| part.files).sum() })
}

/// Commits the rule in a partition, and which archive files have to be searched. One that is there already is carried out again. `records_it` where
/// it is the partition whose ledger says so.
fn enter(
    part: &Arc<AnyStore>,
    (number, rule): (u64, &ForgetRule),
    is_concerned: bool,
    records_it: bool,
) -> Result<(), AtRestError> {
    let mut batch = batch(&**part)?;
    batch.decisions.extend(records_it.then(|| removal::decision(rule)));
    batch.removes.push(write(number, &ForgetRule { done: !is_concerned, ..rule.clone() })?);
    for file in archive_files(part)? {
        // Files of the time before the crawl was a cluster's have pages of all hosts.
        if is_concerned || file.series.is_none() {
            batch.removes.push(Write::put(Tree::Meta, file.key(), number.to_be_bytes()));
        }
    }
    Ok(Committer::open(Arc::clone(part), None)?.commit(batch)?)
}

/// The archive files of a partition, by the committed ends of its series.
fn archive_files(part: &Arc<AnyStore>) -> Result<BTreeSet<ForgottenFile>, AtRestError> {
    let mut files = BTreeSet::new();
    for pair in part.scan(Tree::Meta, WARC_END.as_bytes()) {
        let end = read_warc_end(&pair?.1)?;
        let series = warc::series(&end.file).map(str::to_owned);
        let last = warc::serial(&end.file).unwrap_or_default();
        files.extend((1..=last).map(|serial| ForgottenFile { series: series.clone(), serial }));
    }
    Ok(files)
}

/// How many of them still have to be searched.
fn files_to_search(part: &Arc<AnyStore>) -> Result<u64, AtRestError> {
    let mut files = 0;
    for pair in part.scan(Tree::Meta, ForgottenFile::PREFIX) {
        pair?;
        files += 1;
    }
    Ok(files)
}
