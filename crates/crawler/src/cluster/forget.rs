//! `crawl cluster forget`: takes the content of some URLs out of a crawl that rests, and keeps them out.
//!
//! The command owns all partitions for the time being, so that no worker writes to them. It enters the rule in each, removes the content from the
//! partitions that may have some, and enters which archive files have to be searched for it. Those are on the disks of the workers, or in object
//! storage: each worker searches its own when it is started next ([`super::forgotten_files`]). Whatever interrupts the command, the same again
//! finishes it.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::connection::Connection;
use super::database::runtime;
use super::init::PATIENCE;
use super::layout::{All, open_all};
use super::{Address, Claim, ClusterError, Database, PgStore, State, moved};
use crate::commit::{CommitError, Committer, read_warc_end};
use crate::forgotten::forget_rules;
use crate::post::{self, ForgottenFile};
use crate::record::{Forget, ForgetRule};
use crate::removal::{self, Removed, Rules, batch, write};
use crate::store::{AnyStore, Store, StoreError, Tree, Write, shared};
use crate::warc;

/// Nobody else changes partitions of a crawl that rests: as `crawl cluster add`. Held by the connection.
const ALONE: &str = "select pg_try_advisory_lock(4741, 20)";

const STATE: &str = "select state from crawl";

/// An owner that counts as dead: if this process ends early, the next worker frees what it owned.
const ENTER: &str = "insert into worker(name, alive) values ('crawl cluster forget', false) returning id";
const ENTER_FURTHER: &str = "insert into worker(id, name, alive) overriding system value values ($1, 'crawl cluster forget', false) on conflict do nothing";

const FREE: &str =
    "update part set owner = null, fence = fence + 1 where owner in (select id from worker where not alive)";
const CLAIM: &str =
    "update part set owner = $1, fence = fence + 1 where owner is null returning id, fence, commits";
const GIVE_BACK: &str = "update part set owner = null, fence = fence + 1 where owner = $1";

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
    /// The database.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Workers are at work, or may be.
    #[error("the crawl is running, or workers own parts of it: `crawl cluster stop DATABASE` first")]
    Running,
    /// It is continued elsewhere.
    #[error("the crawl was moved to {0}, and is continued there: run `crawl forget` there")]
    Moved(String),
    /// Another process does the same, or adds a database.
    #[error("another `crawl cluster forget` or `crawl cluster add` is at work")]
    Busy,
    /// Workers were started meanwhile.
    #[error("the crawl was resumed meanwhile; stop it, and run this again")]
    Resumed,
    /// The regular expression.
    #[error("the regular expression can't be read")]
    Pattern(#[source] regex::Error),
    /// What is stored, or the database.
    #[error(transparent)]
    Commit(CommitError),
}

impl From<CommitError> for ForgetError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Store(StoreError::Fenced { .. }) => Self::Resumed,
            error => Self::Commit(error),
        }
    }
}

impl From<StoreError> for ForgetError {
    fn from(error: StoreError) -> Self {
        CommitError::from(error).into()
    }
}

/// Removes what the cluster's database has of some URLs, has the archive files searched for them, and keeps them from being fetched again. The crawl must
/// be stopped or complete.
///
/// Cost: a pass over the page records of the host's partition, or of all for a regular expression; a commit in each partition; and where something was
/// removed, a copy of the tables of records, which needs their space again.
///
/// # Errors
/// See [`ForgetError`]. Whatever fails can be done again.
pub fn forget(
    address: &Address,
    forget: Forget,
    reason: &str,
    now: Timestamp,
) -> Result<Forgot, ForgetError> {
    let asked = ForgetRule { v: 1, forget, at: now, reason: reason.to_owned(), done: false };
    Rules::new(std::iter::once(&asked)).map_err(ForgetError::Pattern)?;
    let runtime = runtime()?;
    let mut all = runtime.block_on(open_all(address.clone()))?;
    let (owner, claims) = runtime.block_on(claim(&mut all))?;
    let carried = carry_out(address, &claims, &asked);
    let carried = carried.and_then(|done| {
        if done.pages > 0 {
            runtime.block_on(clear(&mut all))?;
        }
        Ok(done)
    });
    let given_back = runtime.block_on(give_back(&mut all, owner));
    let done = carried?;
    given_back?;
    Ok(done)
}

/// Takes all partitions, if the crawl rests and nobody has one.
async fn claim(all: &mut All) -> Result<(i64, Vec<Claim>), ForgetError> {
    let address = Arc::clone(all.layout.first());
    let failed = |error| ClusterError::server("read the crawl's state", &address, error);
    let connection = all.first();
    let rows = connection.query(ALONE, &[]).await.map_err(failed)?;
    if !rows.first().is_some_and(|row| row.get(0)) {
        return Err(ForgetError::Busy);
    }
    let rows = connection.query(STATE, &[]).await.map_err(failed)?;
    let state = rows.first().and_then(|row| State::of(row.get(0)));
    match state.ok_or_else(|| ClusterError::damaged("its state", &address))? {
        State::Making => return Err(ClusterError::Making.into()),
        State::Adding => return Err(ClusterError::Adding { address: address.to_string() }.into()),
        State::Running => return Err(ForgetError::Running),
        State::Moved => return Err(ForgetError::Moved(moved::words(connection).await.map_err(failed)?)),
        State::Stopped | State::Complete => {}
    }
    let rows = connection.query(ENTER, &[]).await.map_err(failed)?;
    let owner: i64 = rows.first().map_or(-1, |row| row.get(0));
    let mut claims = Vec::new();
    for (number, (connection, address)) in all.each().enumerate() {
        let failed = |error| ClusterError::server("take the partitions", address, error);
        if number > 0 {
            connection.query(ENTER_FURTHER, &[&owner]).await.map_err(failed)?;
        }
        connection.query(FREE, &[]).await.map_err(failed)?;
        let rows = connection.query(CLAIM, &[&owner]).await.map_err(failed)?;
        claims.extend(rows.iter().map(|row| Claim {
            part: row.get(0),
            owner,
            fence: row.get(1),
            commits: row.get(2),
        }));
    }
    if claims.len() < usize::try_from(all.terms.partitions).unwrap_or(usize::MAX) {
        give_back(all, owner).await?;
        return Err(ForgetError::Running);
    }
    claims.sort_by_key(|claim| claim.part);
    Ok((owner, claims))
}

async fn give_back(all: &mut All, owner: i64) -> Result<(), ClusterError> {
    for (connection, address) in all.each() {
        let failed = |error| ClusterError::server("give the partitions back", address, error);
        connection.query(GIVE_BACK, &[&owner]).await.map_err(failed)?;
    }
    Ok(())
}

async fn clear(all: &mut All) -> Result<(), ClusterError> {
    for (connection, address) in all.each() {
        let connection: &Connection = connection;
        let failed = |error| ClusterError::server("clear the free space of the tables", address, error);
        connection.execute(CLEAR).await.map_err(failed)?;
    }
    Ok(())
}

/// Enters the rule in each partition, under one number, and carries it out.
fn carry_out(address: &Address, claims: &[Claim], asked: &ForgetRule) -> Result<Forgot, ForgetError> {
    let database = Arc::new(Database::open(address.clone(), PATIENCE)?);
    let of = u32::try_from(claims.len()).unwrap_or(u32::MAX);
    let host = removal::host_of_rule(asked);
    let is_of_host = |part: i32| host.is_empty() || u32::try_from(part) == Ok(post::partition(&host, of));
    let mut parts: Vec<Part> = Vec::new();
    for claim in claims {
        let store = shared(Arc::new(PgStore::new(Arc::clone(&database), *claim)));
        let rules = forget_rules(&*store)?;
        parts.push(Part { store, rules, is_concerned: is_of_host(claim.part) });
    }
    let known = parts.iter().flat_map(|part| &part.rules).find(|(_, rule)| rule.forget == asked.forget);
    let last = parts.iter().flat_map(|part| &part.rules).map(|(number, _)| number + 1).max();
    let (number, rule) = match known {
        Some((number, rule)) => (*number, ForgetRule { done: false, ..rule.clone() }),
        None => (last.unwrap_or_default(), asked.clone()),
    };
    // In all before content goes from any: a link to these URLs is known for what it is wherever it is found.
    let first = usize::from(!host.is_empty()) * usize::try_from(post::partition(&host, of)).unwrap_or(0);
    for (place, part) in parts.iter().enumerate() {
        part.enter((number, &rule), place == first && known.is_none())?;
    }
    let rules = Rules::new(std::iter::once(&rule)).map_err(ForgetError::Pattern)?;
    let mut forgot = Forgot::default();
    for part in parts.iter().filter(|part| part.is_concerned) {
        let mut removed = Removed::default();
        let mut committer = Committer::open(Arc::clone(&part.store), None)?;
        removal::remove_pages(&part.store, &mut committer, &rules, &mut removed)?;
        let mut batch = batch(&*part.store)?;
        batch.removes.push(write(number, &ForgetRule { done: true, ..rule.clone() })?);
        committer.commit(batch)?;
        forgot.pages += removed.pages;
    }
    for part in &parts {
        forgot.files += part.files_to_search()?;
    }
    Ok(forgot)
}

/// A partition that this command owns.
struct Part {
    store: Arc<AnyStore>,
    rules: Vec<(u64, ForgetRule)>,
    /// It may have content that the rule is about.
    is_concerned: bool,
}

impl Part {
    /// Commits the rule, and which archive files have to be searched. One that is there already is carried out again. `is_first` is the one partition
    /// whose ledger says so.
    fn enter(&self, (number, rule): (u64, &ForgetRule), is_first: bool) -> Result<(), ForgetError> {
        let mut batch = batch(&*self.store)?;
        batch.decisions.extend(is_first.then(|| removal::decision(rule)));
        batch.removes.push(write(number, &ForgetRule { done: !self.is_concerned, ..rule.clone() })?);
        for file in self.archive_files()? {
            // Files of the time before the crawl was a cluster's have pages of all hosts.
            if self.is_concerned || file.series.is_none() {
                batch.removes.push(Write::put(Tree::Meta, file.key(), number.to_be_bytes()));
            }
        }
        Ok(Committer::open(Arc::clone(&self.store), None)?.commit(batch)?)
    }

    /// The archive files of the partition, by the committed ends of its series.
    fn archive_files(&self) -> Result<BTreeSet<ForgottenFile>, ForgetError> {
        let mut files = BTreeSet::new();
        for pair in self.store.scan(Tree::Meta, crate::commit::WARC_END.as_bytes()) {
            let end = read_warc_end(&pair?.1)?;
            let series = warc::series(&end.file).map(str::to_owned);
            let last = warc::serial(&end.file).unwrap_or_default();
            files.extend((1..=last).map(|serial| ForgottenFile { series: series.clone(), serial }));
        }
        Ok(files)
    }

    /// How many still have to be searched.
    fn files_to_search(&self) -> Result<u64, ForgetError> {
        let mut files = 0;
        for pair in self.store.scan(Tree::Meta, ForgottenFile::PREFIX) {
            pair?;
            files += 1;
        }
        Ok(files)
    }
}
