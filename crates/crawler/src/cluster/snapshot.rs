//! The databases of a crawl as they were at one moment, for commands that read for long while workers commit.
//!
//! Each connection reads in one transaction (`repeatable read`), and those to the same database share its snapshot (PostgreSQL manual, section 9.28.5,
//! *Snapshot Synchronization Functions*). A letter goes from one database to another in two steps, so a crawl with several databases is held up while
//! their snapshots are taken: a lock that waits for writers, and that they wait for, some milliseconds.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

use super::connection::{Connection, Error, Parameters, Pauses};
use super::schema::COMMITS;
use super::{Address, ClusterError};
use crate::causes::Cause;

/// The first statement decides what a transaction of this kind sees.
const BEGIN: &str = "begin isolation level repeatable read read only";

/// A role or a database may be set to end connections that read for long, or that rest between two reads.
const NO_TIMEOUTS: &str = "
select set_config(name, '0', true) from pg_settings
where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')";

const EXPORT: &str = "select pg_export_snapshot()";

/// Waits for those who write, who wait for it in turn. A vacuum that is in the way ends after `deadlock_timeout`, 1 s by default, so this waits a little longer.
const HOLD: &str = "begin; set local lock_timeout = '2s'; lock table kv in share mode";

/// What is said where a lost connection can't be replaced.
const CHANGED: &str = "the connection was lost, and the crawl has gone on since: what would be read now doesn't fit \
                       what was read before; start the command again";

/// How far a database was at the moment of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Progress {
    /// Changes with each commit, and with each change of an owner.
    commits: i64,
    /// Partitions that have an owner, who may commit.
    owned: i64,
}

impl Progress {
    async fn read(connection: &mut Connection) -> Result<Self, Error> {
        let rows = connection.query(COMMITS, &[]).await?;
        let number = |column| rows.first().map(|row| row.get(column)).unwrap_or_default();
        Ok(Self { commits: number(0), owned: number(1) })
    }

    /// True if nothing was committed since `before`, nor could be: the crawl is at rest.
    fn is_as(self, before: Self) -> bool {
        self == before && self.owned == 0
    }
}

/// A connection that reads what a database held at one moment.
pub(super) struct Reader {
    address: Arc<Address>,
    open: Option<Connection>,
    progress: Progress,
    patience: Duration,
}

impl Reader {
    /// Runs a statement that changes nothing. A connection that is lost is opened again where the database is still the same, as that of a crawl at rest is;
    /// else it is an error.
    pub(super) async fn read(
        &mut self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Cause> {
        let mut pauses = Pauses::new(self.patience);
        loop {
            let connected = match self.open.take().filter(|open| !open.is_closed()) {
                Some(open) => Ok(open),
                None => match begin(Connection::open(&self.address).await).await {
                    Ok((open, progress)) if progress.is_as(self.progress) => Ok(open),
                    Ok(_) => return Err(CHANGED.into()),
                    Err(error) => Err(error),
                },
            };
            let answer = match connected {
                Ok(mut open) => {
                    let answer = open.query(sql, parameters).await;
                    self.open = answer.is_ok().then_some(open);
                    answer
                }
                Err(error) => Err(error),
            };
            let Err(error) = answer else { return answer.map_err(Cause::from) };
            pauses.wait_after(error).await?;
        }
    }
}

/// Begins a transaction that sees the database as it is now.
async fn begin(opened: Result<Connection, Error>) -> Result<(Connection, Progress), Error> {
    let mut connection = opened?;
    connection.execute(BEGIN).await?;
    connection.query(NO_TIMEOUTS, &[]).await?;
    let progress = Progress::read(&mut connection).await?;
    Ok((connection, progress))
}

/// Takes the snapshots of all databases, each with so many connections that read it: those of the first database first. `connections` has one to each.
pub(super) async fn take(
    connections: Vec<Connection>,
    addresses: &[Arc<Address>],
    readers: usize,
    patience: Duration,
) -> Result<Vec<Vec<Reader>>, ClusterError> {
    let holds = hold(addresses, patience).await?;
    let mut first = Vec::new();
    for (connection, address) in connections.into_iter().zip(addresses) {
        let failed = |error| ClusterError::server("take a snapshot", address, error);
        first.push(begin(Ok(connection)).await.map_err(failed)?);
    }
    for hold in holds {
        // One that is lost holds nothing.
        drop(hold.execute("rollback").await);
    }
    let mut all = Vec::new();
    for ((mut connection, progress), address) in first.into_iter().zip(addresses) {
        let failed = |error| ClusterError::server("share a snapshot", address, error);
        let rows = connection.query(EXPORT, &[]).await.map_err(failed)?;
        let id: String = rows.first().map(|row| row.get(0)).unwrap_or_default();
        let reader = |open| Reader { address: Arc::clone(address), open: Some(open), progress, patience };
        let mut of_one = Vec::new();
        for _ in 1..readers {
            let mut further = Connection::open(address).await.map_err(failed)?;
            let sql = format!("{BEGIN}; set transaction snapshot '{id}'");
            further.execute(&sql).await.map_err(failed)?;
            further.query(NO_TIMEOUTS, &[]).await.map_err(failed)?;
            of_one.push(reader(further));
        }
        of_one.push(reader(connection));
        all.push(of_one);
    }
    Ok(all)
}

/// Locks the databases of a crawl that has several: none changes until these transactions end.
async fn hold(addresses: &[Arc<Address>], patience: Duration) -> Result<Vec<Connection>, ClusterError> {
    if addresses.len() < 2 {
        return Ok(Vec::new());
    }
    let mut pauses = Pauses::new(patience);
    loop {
        // Where one can't be locked, those who wait for the others go on.
        let (address, error) = match lock_each(addresses).await {
            Ok(holds) => return Ok(holds),
            Err(refused) => refused,
        };
        if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
            tracing::warn!(
                "this role may not lock the tables of {address}, so what is read of its databases may be some milliseconds apart"
            );
            return Ok(Vec::new());
        }
        let failed = |error| ClusterError::server("take a snapshot", address, error);
        pauses.wait_after(error).await.map_err(failed)?;
    }
}

async fn lock_each(addresses: &[Arc<Address>]) -> Result<Vec<Connection>, (&Address, Error)> {
    let mut holds = Vec::new();
    for address in addresses {
        let failed = |error| (&**address, error);
        let connection = Connection::open(address).await.map_err(failed)?;
        connection.execute(HOLD).await.map_err(failed)?;
        holds.push(connection);
    }
    Ok(holds)
}
