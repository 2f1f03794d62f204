//! One connection to the database, and a link: a connection that is opened again when it is lost.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, Row, SimpleQueryMessage, Statement};

use super::Address;
use super::address::ANSWER;
use crate::causes::Cause;
use page::clock;

/// The longest time between two questions whether the server still works on a statement.
const PROBES: Duration = Duration::from_secs(8);

/// The first pause before a lost connection is opened again, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// A commit is answered when it is on disk, and on that of a synchronous standby where there is one, whatever a role or a database is set
/// to (PostgreSQL manual, `synchronous_commit`). A stronger setting stays.
const CONFIRMED: &str = "select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') in ('off', 'local', 'remote_write')";

/// Each statement is planned once a connection. The server would plan those over the partitioned table `kv` each time they are run, since it takes the plan
/// for given values for a cheaper one, and doesn't count what planning costs: 40 % of its time. A role's or a database's own setting stays, and
/// servers that don't have this one (before PostgreSQL 12) do without.
const PLANNED_ONCE: &str = "select set_config(name, 'force_generic_plan', false) from pg_settings where name = 'plan_cache_mode' and setting = 'auto'";

/// A statement whose connection is given up doesn't wait for a lock forever: the server doesn't notice that nobody waits for its answer.
const LOCKS: &str =
    "select set_config(name, '4s', false) from pg_settings where name = 'lock_timeout' and setting = '0'";

/// Whether a statement on the connection `$` waits for the standby server, or for a lock while another one has waited for the standby server for 2 s.
const STANDBY: &str = "
select count(*) from pg_stat_activity where wait_event = 'SyncRep' and (pid = $ or query_start < clock_timestamp() - interval '2 s'
    and exists (select from pg_stat_activity where pid = $ and wait_event_type = 'Lock'))";

/// Why a statement has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The server says why, or the connection is lost.
    #[error(transparent)]
    Postgres(#[from] tokio_postgres::Error),
    /// Nothing came within [`ANSWER`].
    #[error("{0} within {ANSWER:?}")]
    Silent(Silence),
}

/// Who was silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// The server.
    Server,
    /// The synchronous standby server, for which the server waits.
    Standby,
}

impl std::fmt::Display for Silence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Server => "it didn't answer",
            Self::Standby => "its synchronous standby didn't confirm it",
        })
    }
}

impl Error {
    /// The code that the server gave.
    pub(super) fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Postgres(error) => error.code(),
            Self::Silent(_) => None,
        }
    }
}

/// Values of a statement's parameters.
pub(super) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// An open connection. It ends when it is dropped. No call waits for a database that is silent for longer than [`ANSWER`]: a statement may take as
/// long as the server works on it, which another connection asks where it takes long, but waits for the standby server no longer than that.
pub(super) struct Connection {
    client: Client,
    address: Address,
    /// The one of the address's servers.
    server: Config,
    /// The server's number of the connection.
    pid: i32,
    warned: Arc<AtomicBool>,
    statements: HashMap<&'static str, Statement>,
}

/// What another connection to the server says of a statement.
enum Probe {
    AtWork,
    WaitsForStandby,
    Silent,
}

impl Connection {
    /// Connects to the server that takes writes. Has to be called in a runtime, which drives the connection.
    pub(super) async fn open(address: &Address) -> Result<Self, Error> {
        Self::open_with(address, "").await
    }

    /// As [`Self::open`], for a process that opens another connection when this one is silent: its statements don't wait for locks for longer than
    /// [`ANSWER`], unless the address says for how long.
    pub(super) async fn open_again(address: &Address) -> Result<Self, Error> {
        Self::open_with(address, LOCKS).await
    }

    async fn open_with(address: &Address, further: &str) -> Result<Self, Error> {
        let mut failed = None;
        for server in address.servers() {
            let most = server.get_connect_timeout().copied().unwrap_or(ANSWER);
            match timeout(most, Self::open_one(address, server, further)).await {
                Ok(Ok(open)) => return Ok(open),
                Ok(Err(error)) => failed = Some(error),
                Err(_) => failed = Some(Error::Silent(Silence::Server)),
            }
        }
        Err(failed.unwrap_or(Error::Silent(Silence::Server)))
    }

    async fn open_one(address: &Address, server: Config, further: &str) -> Result<Self, Error> {
        let (client, mut connection) = server.connect(address.tls.clone()).await?;
        let warned = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&warned);
        // Ends with the client, or with the connection: what is asked then is answered with an error.
        drop(tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notice(notice) = message {
                    tracing::debug!("the cluster's database: {notice}");
                    if notice.parsed_severity() == Some(Severity::Warning) {
                        noted.store(true, Ordering::Release);
                    }
                }
            }
        }));
        // By statements: a pooler refuses parameters in the startup message that it doesn't know.
        let locks =
            address.lock_timeout.map(|most| format!("set lock_timeout = {};", most.as_millis().max(1)));
        let locks = locks.unwrap_or_default();
        let begin = format!("{CONFIRMED}; {PLANNED_ONCE}; select pg_backend_pid(); {locks} {further}");
        let answers = client.simple_query(&begin).await?;
        let pid = answers.iter().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) if row.columns().first()?.name() == "pg_backend_pid" => {
                row.get(0)?.parse().ok()
            }
            _ => None,
        });
        let (address, pid) = (address.clone(), pid.unwrap_or_default());
        Ok(Self { client, address, server, pid, warned, statements: HashMap::new() })
    }

    /// Whether it was lost.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Runs one statement, in a transaction of its own where none was begun. It is prepared at its first use.
    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Error> {
        let statement = if let Some(statement) = self.statements.get(sql) {
            statement.clone()
        } else {
            let statement = self.answer(self.client.prepare(sql)).await?;
            self.statements.entry(sql).or_insert(statement).clone()
        };
        self.answer(self.client.query(&statement, parameters)).await
    }

    /// Runs statements without parameters in one transaction.
    pub(super) async fn execute(&self, sql: &str) -> Result<(), Error> {
        self.answer(self.client.batch_execute(sql)).await
    }

    /// Waits for an answer, as long as the server is at work on it.
    async fn answer<T>(
        &self,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Error> {
        let mut asked = pin!(asked);
        let began = clock::instant();
        let mut pause = ANSWER / 2;
        loop {
            if let Ok(answer) = timeout(pause, &mut asked).await {
                return Ok(answer?);
            }
            let probe = tokio::select! {
                biased;
                answer = &mut asked => return Ok(answer?),
                probe = timeout(ANSWER / 2, self.probe()) => probe.unwrap_or(Probe::Silent),
            };
            let waited = clock::instant().duration_since(began);
            match probe {
                Probe::AtWork => pause = (pause * 2).min(PROBES),
                Probe::WaitsForStandby if waited < ANSWER => pause = ANSWER.saturating_sub(waited),
                Probe::WaitsForStandby => return Err(Error::Silent(Silence::Standby)),
                Probe::Silent => return Err(Error::Silent(Silence::Server)),
            }
        }
    }

    /// Asks the server on another connection what it does about a statement on this one.
    async fn probe(&self) -> Probe {
        let asked = async {
            let (client, connection) = self.server.connect(self.address.tls.clone()).await?;
            drop(tokio::spawn(connection));
            client.simple_query(&STANDBY.replace('$', &self.pid.to_string())).await
        };
        match asked.await {
            Ok(answers) => {
                let count = answers.iter().find_map(|answer| match answer {
                    SimpleQueryMessage::Row(row) => row.get(0),
                    _ => None,
                });
                if count.is_none_or(|count| count == "0") { Probe::AtWork } else { Probe::WaitsForStandby }
            }
            // One that refuses, since it has as many connections as it may have, isn't silent.
            Err(error) if error.code().is_some() => Probe::AtWork,
            Err(_) => Probe::Silent,
        }
    }

    /// Whether the server has warned since this was asked last. It warns where a commit that it answers as done waits no longer for the
    /// standby server: its outcome is unknown then.
    pub(super) fn has_warned(&self) -> bool {
        self.warned.swap(false, Ordering::AcqRel)
    }
}

/// Whether the same may succeed on another connection, or later.
pub(super) fn may_pass(error: &Error) -> bool {
    let Some(code) = error.code() else { return true };
    // Connection exceptions, and a server that ends or starts (57P01 to 57P03).
    code.code().starts_with("08")
        || code.code().starts_with("57P0")
        || [
            &SqlState::READ_ONLY_SQL_TRANSACTION,
            &SqlState::TOO_MANY_CONNECTIONS,
            &SqlState::T_R_SERIALIZATION_FAILURE,
            &SqlState::T_R_DEADLOCK_DETECTED,
            &SqlState::LOCK_NOT_AVAILABLE,
        ]
        .contains(&code)
}

/// Growing pauses, up to the end of a patience.
#[derive(Debug)]
pub(super) struct Pauses {
    until: Instant,
    next: Duration,
}

impl Pauses {
    pub(super) fn new(patience: Duration) -> Self {
        let now = clock::instant();
        Self { until: now.checked_add(patience).unwrap_or(now), next: PAUSES.0 }
    }

    /// Waits; false where the patience is at its end.
    #[expect(clippy::disallowed_methods, reason = "waits for the database, on a thread of its own")]
    pub(super) async fn wait(&mut self) -> bool {
        if clock::instant() >= self.until {
            return false;
        }
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(PAUSES.1);
        true
    }

    /// Waits before what failed is tried again; the error where it is for good, or the patience is at its end.
    pub(super) async fn wait_after(&mut self, error: Error) -> Result<(), Error> {
        if !may_pass(&error) || !self.wait().await {
            return Err(error);
        }
        tracing::warn!(
            "the cluster's database doesn't answer, trying again: {}",
            crate::causes::with_causes(&error)
        );
        Ok(())
    }
}

/// A connection that is opened when it is needed, and again when it was lost.
pub(super) struct Link {
    address: Arc<Address>,
    open: Option<Connection>,
    patience: Duration,
}

impl Link {
    pub(super) fn new(address: Arc<Address>, open: Option<Connection>, patience: Duration) -> Self {
        Self { address, open, patience }
    }

    /// How long the database may be out of reach.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// The connection, opened if there is none.
    pub(super) async fn connection(&mut self) -> Result<&mut Connection, Error> {
        let open = match self.open.take() {
            Some(open) if !open.is_closed() => open,
            _ => Connection::open_again(&self.address).await?,
        };
        Ok(self.open.insert(open))
    }

    /// Opens the connection now rather than when it is needed. Waits for a pooler that has none as long as the address says, [`ANSWER`] by default.
    pub(super) async fn open(&mut self) -> Result<(), Cause> {
        Ok(self.connection().await.map(drop)?)
    }

    /// Forgets a connection that failed.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// Whether the server has warned since this was asked last, on the connection that is open; see [`Connection::has_warned`].
    pub(super) fn has_warned(&self) -> bool {
        self.open.as_ref().is_none_or(Connection::has_warned)
    }

    /// Runs a statement that changes nothing until it is answered.
    pub(super) async fn read(
        &mut self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Error> {
        let mut pauses = Pauses::new(self.patience);
        loop {
            let answer = match self.connection().await {
                Ok(connection) => connection.query(sql, parameters).await,
                Err(error) => Err(error),
            };
            let Err(error) = answer else { return answer };
            self.close();
            pauses.wait_after(error).await?;
        }
    }
}
