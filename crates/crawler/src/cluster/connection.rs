//! One connection to the database, and a link: a connection that is opened again when it is lost.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Error, Row, Statement};

use super::Address;
use crate::clock;

/// The first pause before a lost connection is opened again, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// A commit is answered when it is on disk, and on that of a synchronous standby where there is one, whatever a role or a database is set
/// to (PostgreSQL manual, `synchronous_commit`). A stronger setting stays.
const CONFIRMED: &str = "select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') in ('off', 'local', 'remote_write')";

/// Each statement is planned once a connection. The server would plan those over the partitioned table `kv` each time they are run, since it takes the plan
/// for given values for a cheaper one, and doesn't count what planning costs: 40 % of its time. A role's or a database's own setting stays, and
/// servers that don't have this one (before PostgreSQL 12) do without.
const PLANNED_ONCE: &str = "select set_config(name, 'force_generic_plan', false) from pg_settings where name = 'plan_cache_mode' and setting = 'auto'";

/// Values of a statement's parameters.
pub(super) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// An open connection. It ends when it is dropped.
pub(super) struct Connection {
    client: Client,
    warned: Arc<AtomicBool>,
    statements: HashMap<&'static str, Statement>,
}

impl Connection {
    /// Connects to the server that takes writes. Has to be called in a runtime, which drives the connection.
    pub(super) async fn open(address: &Address) -> Result<Self, Error> {
        let (client, mut connection) = address.config.connect(address.tls.clone()).await?;
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
        client.batch_execute(CONFIRMED).await?;
        client.batch_execute(PLANNED_ONCE).await?;
        Ok(Self { client, warned, statements: HashMap::new() })
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
            let statement = self.client.prepare(sql).await?;
            self.statements.entry(sql).or_insert(statement).clone()
        };
        self.client.query(&statement, parameters).await
    }

    /// Runs statements without parameters in one transaction.
    pub(super) async fn execute(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
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
            _ => Connection::open(&self.address).await?,
        };
        Ok(self.open.insert(open))
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
