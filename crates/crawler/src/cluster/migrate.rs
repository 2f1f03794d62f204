//! Brings the databases of a crawl that rests from an earlier format to the present one.
//!
//! Each database changes in one transaction, the first one last: while that one has the earlier format, every command refuses the crawl. So what was
//! interrupted is done by the same command again.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::at_rest::ALONE;
use super::connection::{Connection, Error};
use super::database::block_on;
use super::lost::wait;
use super::member::{DECLARE, free};
use super::observer::Observer;
use super::schema::{self, FORMAT, Found, OLDEST};
use super::{Address, ClusterError, State};
use crate::format;
use page::clock;

/// What each format lacks of the next one, from [`OLDEST`] on. Some formats had several forms while they were the newest one: a step begins with what an
/// earlier form of its own format lacks.
const STEPS: [&str; 4] = [LIMITS, BUNDLES, ADDRESSES, PACKED];

/// From 2 to 3: limits of the whole crawl. What each partition has stored counts.
const LIMITS: &str = "
alter table crawl add column run bigint not null default 1, add column worked_ms bigint not null default 0, add column limit_reached text;
update crawl set run = greatest(1, (
    select max((convert_from(value, 'UTF8')::json ->> 'runs')::int8) from kv where tree = 0 and key = 'totals'
));
create table share(
    part int primary key, fence bigint not null default 0, pages bigint not null default 0,
    resources bigint not null default 0
) with (fillfactor = 30);
insert into share(part) select id from part;
update share set pages = coalesce((totals ->> 'pages')::int8, 0), resources = coalesce((totals ->> 'resources')::int8, 0)
from (select part, convert_from(value, 'UTF8')::json as totals from kv where tree = 0 and key = 'totals') as counted
where counted.part = share.part;
create table quota(changes bigint not null default 0) with (fillfactor = 30);
insert into quota default values;
";

/// From 3 to 4: letters that are with their writer. Later forms of 3 have a rate and a bandwidth.
const BUNDLES: &str = "
alter table quota add column if not exists slot timestamptz not null default 'epoch',
    add column if not exists paid timestamptz not null default 'epoch';
alter table kv detach partition kv_mail;
alter table kv attach partition kv_mail for values in (16, 17);
";

/// From 4 to 5: hosts of one IP address take turns.
const ADDRESSES: &str = "
create table address(
    machine inet primary key, holder bigint, turn bigint not null, next bigint, rests bool not null default false
) with (fillfactor = 30);
";

/// From 5 to 6: rows of letters are packed; the byte 0 says that one isn't compressed. Later forms of 5 have several databases.
const PACKED: &str = "
alter table crawl add column if not exists partitions int, add column if not exists number int not null default 0,
    add column if not exists databases int not null default 1, add column if not exists orders bigint not null default 0,
    add column if not exists was text;
update crawl set partitions = (select count(*) from part) where partitions is null;
alter table crawl alter column partitions set not null;
create table if not exists further(number int primary key, url text not null);
create table if not exists place(part int primary key, number int not null);
create table if not exists heard(src int primary key, upto bytea not null) with (fillfactor = 30);
insert into heard(src, upto) select generate_series(0, partitions - 1), '' from crawl on conflict do nothing;
update kv set value = '\\x00'::bytea || value where tree in (16, 17);
";

/// What can't change meanwhile: whether the crawl runs, and who owns what. Others may read.
const BEGIN: &str = "begin; lock table crawl, worker, part in share row exclusive mode";

const STATE: &str = "select state from crawl";
const WORKERS: &str = "select id, name, beat from worker where alive";
const OWNED: &str =
    "select exists (select from part where owner is not null) or exists (select from worker where alive)";

/// Partitions whose store has this format, and which isn't the newest one.
const STORES: &str = "
select convert_from(value, 'UTF8'), count(*) from kv where tree = 0 and key = 'format' and value <> convert_to($1, 'UTF8') group by value";

const FURTHER: &str = "select to_regclass('further') is not null";
const URLS: &str = "select number, url from further order by number";

/// Times that the workers are looked at in a lease, and for how many leases at most.
const LOOKS: (u32, u32) = (10, 4);

/// Why a crawl isn't brought to the present format. Its first database has the format that it had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// One of the databases.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Workers are at work.
    #[error(
        "workers own parts of the crawl in {address}, or may ({names}): stop them with the version that they have (`crawl cluster stop DATABASE`, or SIGTERM for each), and run this again"
    )]
    Running {
        /// The crawl's first database.
        address: String,
        /// Their numbers and names.
        names: String,
    },
    /// A database is being added.
    #[error(
        "a database is being added to the crawl in {0}, or that was interrupted: run the same `crawl cluster add` of the version that began it, and then this again"
    )]
    Adding(String),
    /// Another command changes the crawl.
    #[error(
        "another `crawl cluster migrate`, or a command that changes a crawl at rest, is at work on {0}: wait until it has ended, and run this again"
    )]
    Busy(String),
    /// Somebody holds a lock.
    #[error(
        "the tables of {0} are in use for more than 4 s, by a command that reads the crawl, or by a backup: wait until it has ended, and run this again"
    )]
    InUse(String),
    /// A partition's records are of a newer version.
    #[error(
        "partitions of {address} have records of format {found}, made by a newer version of crawl: use that one"
    )]
    Newer {
        /// The database that has them.
        address: String,
        /// The number of their format, as stored.
        found: String,
    },
}

/// What was done to a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigratedDatabase {
    /// Its name and server, as messages have them.
    pub address: String,
    /// The format that its tables had.
    pub from: i32,
    /// Partitions whose records had an earlier format than the present one.
    pub partitions: u64,
}

impl MigratedDatabase {
    /// It had the present format in all.
    pub fn is_unchanged(&self) -> bool {
        self.from == FORMAT && self.partitions == 0
    }
}

/// What was done to a crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The format that the tables of all its databases have now.
    pub format: i32,
    /// The databases, the first one first.
    pub databases: Vec<MigratedDatabase>,
    /// The state of the crawl now. One that was running without a worker is stopped.
    pub state: State,
}

/// A database as it is found.
struct Old {
    connection: Connection,
    address: Address,
    about: MigratedDatabase,
}

/// Brings all databases of the crawl whose first one this is to the present format. The crawl must be at rest: no worker lives. One that didn't say that
/// it ended is watched for 1.1 times the lease, and then counts as dead. Cost: letters that are under way are written again, and from format 3 on the server
/// reads what is stored once, to see that none are elsewhere.
pub fn migrate(first: &Address) -> Result<Migrated, MigrateError> {
    block_on(async {
        let (mut databases, found) = open(first).await?;
        let state = State::of(&found.state).ok_or_else(|| ClusterError::damaged("its state", first))?;
        let done = |databases: Vec<Old>, state| Migrated {
            format: FORMAT,
            databases: databases.into_iter().map(|of| of.about).collect(),
            state,
        };
        if databases.iter().all(|of| of.about.is_unchanged()) {
            return Ok(done(databases, state));
        }
        let failed = |error| ClusterError::server("bring the crawl to another format", first, error);
        let alone = databases[0].connection.query(ALONE, &[]).await.map_err(failed)?;
        if !alone.first().is_some_and(|row| row.get(0)) {
            return Err(MigrateError::Busy(first.to_string()));
        }
        refuse_unfinished(state, first)?;
        rest(&mut databases, first, found.lease).await?;
        let (head, further) = databases.split_at_mut(1);
        // From then on no worker joins.
        let state = head[0].begin(first).await?;
        for of in further {
            if !of.about.is_unchanged() {
                of.begin(first).await?;
                of.renew().await?;
            }
        }
        head[0].renew().await?;
        Ok(done(databases, state))
    })
}

/// Connects to all databases of a crawl of any format that can be brought to the present one.
async fn open(first: &Address) -> Result<(Vec<Old>, Found), MigrateError> {
    let (connection, found) = schema::open_older(first).await?;
    if found.number != 0 {
        return Err(ClusterError::Further { address: first.to_string() }.into());
    }
    let mut databases = vec![Old::new(connection, first, &found).await?];
    let failed = |error| ClusterError::server("read the list of databases", first, error);
    let connection = &mut databases[0].connection;
    let has_list = connection.query(FURTHER, &[]).await.map_err(failed)?;
    let mut urls = Vec::new();
    if has_list.first().is_some_and(|row| row.get(0)) {
        urls = connection.query(URLS, &[]).await.map_err(failed)?;
    }
    for row in urls {
        let further = first.further(row.get(1)).map_err(|source| ClusterError::FurtherAddress {
            address: first.to_string(),
            source: source.into(),
        })?;
        let (connection, of) = schema::open_older(&further).await?;
        if of.key != found.key || of.number != row.get::<_, i32>(0) {
            let (address, first) = (further.to_string(), first.to_string());
            return Err(ClusterError::OtherCrawl { address, first }.into());
        }
        databases.push(Old::new(connection, &further, &of).await?);
    }
    Ok((databases, found))
}

fn refuse_unfinished(state: State, first: &Address) -> Result<(), MigrateError> {
    match state {
        State::Making => Err(ClusterError::Making.into()),
        State::Adding => Err(MigrateError::Adding(first.to_string())),
        State::Running | State::Stopped | State::Complete | State::Moved => Ok(()),
    }
}

/// Watches the workers until none lives, and frees what the dead ones owned. A worker whose count grows is at work.
async fn rest(databases: &mut [Old], first: &Address, lease: Duration) -> Result<(), MigrateError> {
    let mut observers: Vec<Observer> = databases.iter().map(|_| Observer::new(lease)).collect();
    let mut before: Vec<BTreeMap<i64, i64>> = vec![BTreeMap::new(); databases.len()];
    let mut names = String::new();
    for _ in 0..LOOKS.0 * LOOKS.1 {
        let mut is_any = false;
        for ((of, observer), before) in databases.iter_mut().zip(&mut observers).zip(&mut before) {
            let failed = |error| ClusterError::server("watch the workers", &of.address, error);
            let rows = of.connection.query(WORKERS, &[]).await.map_err(failed)?;
            let beats: Vec<(i64, i64)> = rows.iter().map(|row| (row.get(0), row.get(2))).collect();
            let words =
                rows.iter().map(|row| format!("{} ({})", row.get::<_, i64>(0), row.get::<_, &str>(1)));
            if beats.iter().any(|(id, beat)| before.get(id).is_some_and(|before| before != beat)) {
                let names = words.collect::<Vec<_>>().join(", ");
                return Err(MigrateError::Running { address: first.to_string(), names });
            }
            if !beats.is_empty() {
                is_any = true;
                names = words.collect::<Vec<_>>().join(", ");
            }
            let now = clock::since_boot().ok_or(ClusterError::NoClock)?;
            for (worker, beat) in observer.see(&beats, now) {
                let failed = |error| ClusterError::server("watch the workers", &of.address, error);
                of.connection.query(DECLARE, &[&worker, &beat]).await.map_err(failed)?;
            }
            *before = beats.into_iter().collect();
        }
        if !is_any {
            for of in databases {
                let failed = |error| ClusterError::server("free the partitions", &of.address, error);
                free(&mut of.connection).await.map_err(failed)?;
            }
            return Ok(());
        }
        wait(lease / LOOKS.0).await;
    }
    Err(MigrateError::Running { address: first.to_string(), names })
}

impl Old {
    async fn new(mut connection: Connection, address: &Address, found: &Found) -> Result<Self, MigrateError> {
        let failed = |error| ClusterError::server("read the format of the records", address, error);
        let rows = connection.query(STORES, &[&format::FORMAT.to_string()]).await.map_err(failed)?;
        let mut partitions = 0;
        for row in rows {
            let (found, count): (String, i64) = (row.get(0), row.get(1));
            if !format::is_older(&found) {
                return Err(MigrateError::Newer { address: address.to_string(), found });
            }
            partitions += u64::try_from(count).unwrap_or_default();
        }
        let about = MigratedDatabase { address: address.to_string(), from: found.format, partitions };
        Ok(Self { connection, address: address.clone(), about })
    }

    fn failed(&self, error: Error) -> MigrateError {
        if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
            return MigrateError::InUse(self.address.to_string());
        }
        ClusterError::server("bring the tables to another format", &self.address, error).into()
    }

    /// Begins the transaction, in which no worker joins. Returns the state that the crawl has at its end.
    async fn begin(&mut self, first: &Address) -> Result<State, MigrateError> {
        self.connection.execute(BEGIN).await.map_err(|error| self.failed(error))?;
        let rows = self.connection.query(OWNED, &[]).await.map_err(|error| self.failed(error))?;
        if rows.first().is_some_and(|row| row.get(0)) {
            let names = "just started".to_owned();
            return Err(MigrateError::Running { address: first.to_string(), names });
        }
        let rows = self.connection.query(STATE, &[]).await.map_err(|error| self.failed(error))?;
        let state: &str = rows.first().map(|row| row.get(0)).unwrap_or_default();
        // A further database has none.
        let state = State::of(state).unwrap_or(State::Stopped);
        refuse_unfinished(state, first)?;
        Ok(if state == State::Running { State::Stopped } else { state })
    }

    /// Changes what has to be changed, and ends the transaction.
    async fn renew(&mut self) -> Result<(), MigrateError> {
        self.connection.has_warned();
        let from = usize::try_from(self.about.from - OLDEST).unwrap_or(STEPS.len());
        for step in STEPS.iter().skip(from) {
            self.connection.execute(step).await.map_err(|error| self.failed(error))?;
        }
        // A worker of an earlier version that joins now, since it read before that the crawl runs, ends again.
        let end = format!(
            "update kv set value = '{}' where tree = 0 and key = 'format' and value <> '{}';
            update crawl set format = {FORMAT}, state = case state when 'running' then 'stopped' else state end; commit",
            format::FORMAT,
            format::FORMAT
        );
        self.connection.execute(&end).await.map_err(|error| self.failed(error))?;
        if self.connection.has_warned() {
            return Err(ClusterError::NotConfirmed { address: self.address.to_string() }.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_step_from_each_earlier_format_to_the_next() {
        assert_eq!(i32::try_from(STEPS.len()), Ok(FORMAT - OLDEST));
    }
}
