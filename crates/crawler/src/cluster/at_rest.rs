//! A crawl that rests, and a command that changes its partitions: it owns them all for the time being, so that no worker writes to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Runtime;

use super::database::runtime;
use super::init::PATIENCE;
use super::layout::{All, open_all};
use super::member::{FREE_MINE, free};
use super::{Address, Claim, ClusterError, Database, PgStore, State, moved};
use crate::commit::CommitError;
use crate::store::{AnyStore, StoreError, shared};

/// Nobody else changes partitions of a crawl that rests. Held by the connection.
pub(super) const ALONE: &str = "select pg_try_advisory_lock(4741, 20)";

const STATE: &str = "select state, limit_reached, program from crawl";

/// An owner that counts as dead: if this process ends early, the next worker frees what it owned.
const ENTER: &str = "insert into worker(name, alive) values ($1, false) returning id";
const ENTER_FURTHER: &str = "
insert into worker(id, name, alive) overriding system value values ($1, $2, false) on conflict do nothing";

const CLAIM: &str =
    "update part set owner = $1, fence = fence + 1 where owner is null returning id, fence, commits";

/// Partitions that are changed at the same time; their commits go together.
const THREADS: usize = 16;

/// Why the partitions can't be changed, or not all of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AtRestError {
    /// The database.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Workers are at work, or may be.
    #[error("the crawl is running, or workers own parts of it: `crawl cluster stop DATABASE` first")]
    Running,
    /// It is continued elsewhere.
    #[error("the crawl was moved to {0}, and is continued there")]
    Moved(String),
    /// The crawl is of another version.
    #[error(
        "the crawl is of `{theirs}`, and this is `{ours}`: use the version that its workers have, or upgrade the crawl with `crawl cluster resume DATABASE` of the new one"
    )]
    Version {
        /// The program that made the crawl.
        theirs: String,
        /// This one.
        ours: String,
    },
    /// Another process does something of the kind.
    #[error("another `crawl cluster forget`, `crawl cluster recrawl` or `crawl cluster add` is at work")]
    Busy,
    /// Workers were started meanwhile.
    #[error("the crawl was resumed meanwhile; stop it, and run this again")]
    Resumed,
    /// What is stored, or the database.
    #[error(transparent)]
    Commit(CommitError),
    /// A thread of ours panicked.
    #[error("a partition couldn't be changed: an error of this program")]
    Panicked,
}

impl From<CommitError> for AtRestError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Store(StoreError::Fenced { .. }) => Self::Resumed,
            error => Self::Commit(error),
        }
    }
}

impl From<StoreError> for AtRestError {
    fn from(error: StoreError) -> Self {
        CommitError::from(error).into()
    }
}

/// All partitions of a crawl that is stopped or complete.
pub(super) struct AtRest {
    runtime: Runtime,
    all: All,
    owner: i64,
    /// In their order.
    parts: Vec<Arc<AnyStore>>,
    /// Nothing remained to be done, and no limit had ended it.
    is_complete: bool,
}

impl AtRest {
    /// Takes them, if nobody has one. `program` is this one, with its version; `name` is the command's, for those who look.
    pub(super) fn take(address: &Address, program: &str, name: &str) -> Result<Self, AtRestError> {
        let runtime = runtime()?;
        let mut all = runtime.block_on(open_all(address.clone()))?;
        let is_complete = runtime.block_on(check(&mut all, program))?;
        let (owner, claims) = runtime.block_on(claim(&mut all, name))?;
        let mut this = Self { runtime, all, owner, parts: Vec::new(), is_complete };
        let database = match Database::open(address.clone(), PATIENCE) {
            Ok(database) => Arc::new(database),
            Err(error) => {
                this.give_back()?;
                return Err(error.into());
            }
        };
        let store = |claim: &Claim| shared(Arc::new(PgStore::new(Arc::clone(&database), *claim)));
        this.parts = claims.iter().map(store).collect();
        Ok(this)
    }

    pub(super) fn parts(&self) -> &[Arc<AnyStore>] {
        &self.parts
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Does something to each partition, several at a time; returns what came of each, or the first error.
    pub(super) fn each<T: Send>(
        &self,
        change: impl Fn(usize, &Arc<AnyStore>) -> Result<T, AtRestError> + Sync,
    ) -> Result<Vec<T>, AtRestError> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = self.parts.get(place) else { return Ok(done) };
                match change(place, part) {
                    Ok(value) => done.push((place, value)),
                    Err(error) => {
                        // The others needn't begin what would be done again.
                        next.store(self.parts.len(), Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
        };
        let mut all = Vec::new();
        let threads = THREADS.min(self.parts.len());
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            for thread in running {
                all.extend(thread.join().map_err(|_| AtRestError::Panicked)??);
            }
            Ok::<_, AtRestError>(())
        })?;
        all.sort_unstable_by_key(|(place, _)| *place);
        Ok(all.into_iter().map(|(_, value)| value).collect())
    }

    /// Runs a statement without parameters in each database.
    pub(super) fn execute(&mut self, what: &'static str, sql: &str) -> Result<(), ClusterError> {
        let Self { runtime, all, .. } = self;
        runtime.block_on(async {
            for (connection, address) in all.each() {
                let done = connection.execute(sql).await;
                done.map_err(|error| ClusterError::server(what, address, error))?;
            }
            Ok(())
        })
    }

    /// Gives all back. Where that isn't done, the next worker does it.
    pub(super) fn give_back(&mut self) -> Result<(), ClusterError> {
        let Self { runtime, all, owner, .. } = self;
        runtime.block_on(give_back(all, *owner))
    }
}

/// Whether the crawl is complete, where it rests.
async fn check(all: &mut All, program: &str) -> Result<bool, AtRestError> {
    let address = Arc::clone(all.layout.first());
    let failed = |error| ClusterError::server("read the crawl's state", &address, error);
    let connection = all.first();
    let rows = connection.query(ALONE, &[]).await.map_err(failed)?;
    if !rows.first().is_some_and(|row| row.get(0)) {
        return Err(AtRestError::Busy);
    }
    let rows = connection.query(STATE, &[]).await.map_err(failed)?;
    let row = rows.first().ok_or_else(|| ClusterError::Missing { address: address.to_string() })?;
    let limit: Option<String> = row.get(1);
    let theirs: String = row.get(2);
    let state = State::of(row.get(0)).ok_or_else(|| ClusterError::damaged("its state", &address))?;
    if matches!(state, State::Stopped | State::Complete) && theirs != program {
        return Err(AtRestError::Version { theirs, ours: program.to_owned() });
    }
    match state {
        State::Making => Err(ClusterError::Making.into()),
        State::Adding => Err(ClusterError::Adding { address: address.to_string() }.into()),
        State::Running => Err(AtRestError::Running),
        State::Moved => Err(AtRestError::Moved(moved::words(connection).await.map_err(failed)?)),
        State::Stopped => Ok(false),
        State::Complete => Ok(limit.is_none()),
    }
}

async fn claim(all: &mut All, name: &str) -> Result<(i64, Vec<Claim>), AtRestError> {
    let address = Arc::clone(all.layout.first());
    let failed = |error| ClusterError::server("take the partitions", &address, error);
    let rows = all.first().query(ENTER, &[&name]).await.map_err(failed)?;
    let owner: i64 = rows.first().map_or(-1, |row| row.get(0));
    let mut claims = Vec::new();
    for (number, (connection, address)) in all.each().enumerate() {
        let failed = |error| ClusterError::server("take the partitions", address, error);
        if number > 0 {
            connection.query(ENTER_FURTHER, &[&owner, &name]).await.map_err(failed)?;
        }
        free(connection).await.map_err(failed)?;
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
        return Err(AtRestError::Running);
    }
    claims.sort_by_key(|claim| claim.part);
    Ok((owner, claims))
}

async fn give_back(all: &mut All, owner: i64) -> Result<(), ClusterError> {
    for (connection, address) in all.each() {
        let failed = |error| ClusterError::server("give the partitions back", address, error);
        connection.query(FREE_MINE, &[&owner]).await.map_err(failed)?;
    }
    Ok(())
}
