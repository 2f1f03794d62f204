//! The tables of a cluster, and how they are made.

use std::time::Duration;

use jiff::Timestamp;
use tokio_postgres::error::SqlState;

use super::connection::Connection;
use super::{Address, ClusterError};
use page::url::FingerprintKey;

/// The form of the tables that this version reads and writes.
pub(super) const FORMAT: i32 = 6;

/// The oldest form of which [`migrate`](super::migrate()) makes the present one. No command made a crawl of an earlier one.
pub(super) const OLDEST: i32 = 2;

/// The number under which a partition has the letters that it is to read, beside those of the trees.
pub(super) const MAIL_TREE: i16 = 16;

/// The number under which a partition has the letters that it wrote, until its worker takes them to their readers.
pub(super) const SENT_TREE: i16 = 17;

/// The owner of all partitions while a crawl is being made. Workers are numbered from 1.
pub(super) const MAKER: i64 = 0;

/// `worker`: who works, and a count that it raises while it does. `part`: the partitions, each with its owner, a number that changes with
/// each change of the owner (the fence), and its number of commits. `standing`: what its owner said of a partition last; `idle` is the number of commits
/// after which nothing remained to be done. `kv`: the trees of the store of each partition; `tree` is the ordinal of `Tree`, 16 for letters
/// from other partitions, or 17 for letters to them, both packed as other values are.
///
/// `share`: how many pages and resources each partition may store, where the crawl has a limit; all of them together are no more than that.
/// `quota`: how often shares were changed, since what one worker read of them may be out of date when it writes; when the next request may
/// be made where the crawl has a rate; until when the bytes received are made up for where it has a bandwidth.
/// `address`: which worker has an IP address, where hosts share them, for which of its questions; who is the next to have it; and whether it has to
/// rest, since nobody knows when it was asked last.
/// `crawl.run` counts how often the crawl was begun or resumed, `worked_ms` is the time of this run, and `limit_reached` the limit that ended it.
/// `orders` counts what was asked of partitions from outside.
///
/// A crawl may have further databases with the same tables. `crawl.number` says which one this is: 0 for the first, which has the crawl's settings and state, the addresses, the shares of
/// all partitions and the quota; of the others these aren't read. `part`, `standing` and `kv` are in each for its own partitions. `worker` is
/// in each for all workers, with counts of their own. `further` and `place`, in the first, name the others, and the partitions that are there;
/// `crawl.databases` is how many there are. While one is being added, `was` is the state that the crawl returns to. `heard` says of each partition up to
/// which key of its letters those for this database have arrived, where they came from another one.
///
/// No column that changes is indexed and pages have free space, so that `worker` and `part` are updated in place. The trees of the
/// frontier, which change all the time, and those of records, which grow, lie apart: vacuuming the one doesn't read the other.
const TABLES: &str = "
create table crawl(
    format int not null, lease_ms bigint not null, state text not null, program text not null,
    fingerprint_key bytea not null, settings text not null, started timestamptz not null default now(),
    run bigint not null default 1, worked_ms bigint not null default 0, limit_reached text,
    partitions int not null, number int not null default 0, databases int not null default 1,
    orders bigint not null default 0, was text
);
create table further(number int primary key, url text not null);
create table place(part int primary key, number int not null);
create table worker(
    id bigint generated always as identity primary key, name text not null,
    beat bigint not null default 0, alive bool not null default true
) with (fillfactor = 50);
create table part(
    id int primary key, owner bigint, fence bigint not null default 0, commits bigint not null default 0
) with (fillfactor = 30);
create table standing(
    part int primary key, fence bigint not null, idle bigint,
    queued bigint not null, in_flight bigint not null
) with (fillfactor = 30);
create table share(
    part int primary key, fence bigint not null default 0, pages bigint not null default 0,
    resources bigint not null default 0
) with (fillfactor = 30);
create table quota(
    changes bigint not null default 0, slot timestamptz not null default 'epoch', paid timestamptz not null default 'epoch'
) with (fillfactor = 30);
insert into quota default values;
create table address(
    machine inet primary key, holder bigint, turn bigint not null, next bigint, rests bool not null default false
) with (fillfactor = 30);
create table heard(src int primary key, upto bytea not null) with (fillfactor = 30);
create table kv(
    part int not null, tree smallint not null, key bytea not null, value bytea not null,
    primary key (part, tree, key)
) partition by list (tree);
create table kv_state partition of kv for values in (0, 1, 2, 4, 5);
create table kv_queue partition of kv for values in (3);
create table kv_mail partition of kv for values in (16, 17);
create table kv_records partition of kv default;
";

const DROP: &str =
    "drop table if exists crawl, worker, part, standing, share, quota, address, kv, further, place, heard";

/// A number that changes with each commit, and with each change of an owner; and how many partitions have one.
pub(super) const COMMITS: &str =
    "select coalesce((sum(commits) + sum(fence))::bigint, 0), count(owner) from part";

/// `$1`: of each partition, in their order. The fence is that of [`MAKER`].
const QUEUED: &str = "
insert into standing(part, fence, queued, in_flight)
select (place - 1)::int4, 1, queued, 0 from unnest($1::int8[]) with ordinality as waiting(queued, place)";

/// What the database says of the whole crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How long a worker may be silent before its partitions go to others; see [`Member`](super::Member).
    pub lease: Duration,
    /// The number of partitions.
    pub partitions: u32,
}

/// What a crawl begins with, beside its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Program and version, `crawl 0.1.0`: others refuse to work on the crawl.
    pub program: String,
    /// The key of the fingerprints of URLs.
    pub key: FingerprintKey,
    /// Settings and seeds, as in `crawl.toml`.
    pub settings: String,
}

/// Makes the tables in a database that has none of them. The partitions are [`MAKER`]'s.
pub(super) async fn create(
    address: &Address,
    terms: Terms,
    plan: &Plan,
    single_server: bool,
) -> Result<(), ClusterError> {
    let parts = format!(
        "insert into part(id, owner, fence) select src, {MAKER}, 1 from heard; insert into share(part) select src from heard;"
    );
    let mut connection = create_tables(address, terms, &parts, single_server).await?;
    enter(&mut connection, address, terms, (plan, "making", 0)).await
}

/// Makes the tables of a further database, without partitions. Its crawl has no settings and the state `further`.
pub(super) async fn create_further(
    address: &Address,
    terms: Terms,
    (program, key): (&str, FingerprintKey),
    number: i32,
    single_server: bool,
) -> Result<Connection, ClusterError> {
    let mut connection = create_tables(address, terms, "", single_server).await?;
    let plan = Plan { program: program.to_owned(), key, settings: String::new() };
    enter(&mut connection, address, terms, (&plan, "further", number)).await?;
    Ok(connection)
}

async fn create_tables(
    address: &Address,
    terms: Terms,
    parts: &str,
    single_server: bool,
) -> Result<Connection, ClusterError> {
    let mut connection =
        Connection::open(address).await.map_err(|error| ClusterError::connect(address, error))?;
    if !single_server {
        let sql = "select current_setting('synchronous_standby_names') <> ''";
        let failed = |error| ClusterError::server("make the tables", address, error);
        let rows = connection.query(sql, &[]).await.map_err(failed)?;
        if !rows.first().is_some_and(|row| row.get(0)) {
            return Err(ClusterError::NoStandby { address: address.to_string() });
        }
    }
    let heard = format!(
        "insert into heard(src, upto) select id, '' from generate_series(0, {} - 1) as ids(id);",
        terms.partitions
    );
    connection.execute(&format!("begin; {TABLES} {heard} {parts} commit")).await.map_err(|error| {
        if error.code() == Some(&SqlState::DUPLICATE_TABLE) {
            ClusterError::Exists { address: address.to_string() }
        } else {
            ClusterError::server("make the tables", address, error)
        }
    })?;
    Ok(connection)
}

async fn enter(
    connection: &mut Connection,
    address: &Address,
    terms: Terms,
    (plan, state, number): (&Plan, &str, i32),
) -> Result<(), ClusterError> {
    let lease_ms = i64::try_from(terms.lease.as_millis()).unwrap_or(i64::MAX);
    let partitions = i32::try_from(terms.partitions).unwrap_or(i32::MAX);
    let sql = "
insert into crawl(format, lease_ms, state, program, fingerprint_key, settings, partitions, number) values ($1, $2, $3, $4, $5, $6, $7, $8)";
    let key = plan.key.bytes();
    connection
        .query(sql, &[&FORMAT, &lease_ms, &state, &plan.program, &key, &plan.settings, &partitions, &number])
        .await
        .map_err(|error| ClusterError::server("make the tables", address, error))?;
    Ok(())
}

/// Enters how many URLs wait in each partition while the crawl is being made.
pub(super) async fn enter_queued(address: &Address, queued: &[u64]) -> Result<(), ClusterError> {
    let queued: Vec<i64> = queued.iter().map(|queued| i64::try_from(*queued).unwrap_or(i64::MAX)).collect();
    let mut connection =
        Connection::open(address).await.map_err(|error| ClusterError::connect(address, error))?;
    connection
        .query(QUEUED, &[&queued])
        .await
        .map_err(|error| ClusterError::server("enter what is queued", address, error))?;
    Ok(())
}

/// Takes over a crawl that was begun elsewhere: when that was; what it has stored counts for its limits.
pub(super) async fn take_over(address: &Address, started: Timestamp) -> Result<(), ClusterError> {
    let connection =
        Connection::open(address).await.map_err(|error| ClusterError::connect(address, error))?;
    let sql = format!(
        "begin; update crawl set started = '{started}', run = (
            select 1 + coalesce(max((convert_from(value, 'UTF8')::json ->> 'runs')::int8), 0) from kv where tree = 0 and key = 'totals'
        );
        update share set pages = coalesce((totals ->> 'pages')::int8, 0), resources = coalesce((totals ->> 'resources')::int8, 0)
        from (select part, convert_from(value, 'UTF8')::json as totals from kv where tree = 0 and key = 'totals') as counted
        where counted.part = share.part; commit"
    );
    connection
        .execute(&sql)
        .await
        .map_err(|error| ClusterError::server("enter what was crawled", address, error))
}

/// The crawl is made: its partitions are free.
pub(super) async fn finish(address: &Address) -> Result<(), ClusterError> {
    let connection =
        Connection::open(address).await.map_err(|error| ClusterError::connect(address, error))?;
    let sql = format!(
        "begin; update part set owner = null, fence = fence + 1 where owner = {MAKER}; update crawl set state = 'running'; commit"
    );
    connection
        .execute(&sql)
        .await
        .map_err(|error| ClusterError::server("free the partitions", address, error))
}

/// Removes the tables of a crawl that couldn't be made.
pub(super) async fn undo(address: &Address) -> Result<(), ClusterError> {
    let connection =
        Connection::open(address).await.map_err(|error| ClusterError::connect(address, error))?;
    connection.execute(DROP).await.map_err(|error| ClusterError::server("remove the tables", address, error))
}

/// What a database says of itself.
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) terms: Terms,
    /// The key of the fingerprints of URLs, by which the databases of a crawl know each other.
    pub(super) key: Vec<u8>,
    /// Which of the crawl's databases it is.
    pub(super) number: i32,
}

/// Reads the terms of the crawl whose first database this is, and leaves the connection open.
pub(super) async fn open(address: &Address) -> Result<(Connection, Terms), ClusterError> {
    let Opened { connection, terms, number, .. } = open_any(address).await?;
    if number != 0 {
        return Err(ClusterError::Further { address: address.to_string() });
    }
    Ok((connection, terms))
}

/// The form of the tables. Read by itself: other forms have other columns.
async fn format(connection: &mut Connection, address: &Address) -> Result<i32, ClusterError> {
    let missing = || ClusterError::Missing { address: address.to_string() };
    let found = connection.query("select format from crawl", &[]).await;
    let found = found.map_err(|error| match error.code() {
        Some(&SqlState::UNDEFINED_TABLE) => missing(),
        _ => ClusterError::server("read the crawl's settings", address, error),
    })?;
    found.first().map(|row| row.get(0)).ok_or_else(missing)
}

/// What a database of this or an earlier form says of itself.
pub(super) struct Found {
    pub(super) format: i32,
    /// The crawl's state, or `further`.
    pub(super) state: String,
    pub(super) lease: Duration,
    pub(super) key: Vec<u8>,
    /// Which of the crawl's databases it is.
    pub(super) number: i32,
}

/// Opens a database of the present form, or of an earlier one that can be brought to it. Statements don't wait for locks for longer than
/// [`ANSWER`](super::ANSWER).
pub(super) async fn open_older(address: &Address) -> Result<(Connection, Found), ClusterError> {
    let mut connection =
        Connection::open_again(address).await.map_err(|error| ClusterError::connect(address, error))?;
    let format = format(&mut connection, address).await?;
    if !(OLDEST..=FORMAT).contains(&format) {
        return Err(ClusterError::format(format, address));
    }
    let sql = "
select state, lease_ms, fingerprint_key, coalesce((to_jsonb(crawl) ->> 'number')::int4, 0) from crawl";
    let failed = |error| ClusterError::server("read the crawl's settings", address, error);
    let rows = connection.query(sql, &[]).await.map_err(failed)?;
    let row = rows.first().ok_or_else(|| ClusterError::Missing { address: address.to_string() })?;
    let lease = Duration::from_millis(u64::try_from(row.get::<_, i64>(1)).unwrap_or_default());
    let found = Found { format, state: row.get(0), lease, key: row.get(2), number: row.get(3) };
    Ok((connection, found))
}

/// Reads the terms of a crawl in any of its databases.
pub(super) async fn open_any(address: &Address) -> Result<Opened, ClusterError> {
    let mut connection =
        Connection::open(address).await.map_err(|error| ClusterError::connect(address, error))?;
    let failed = |error| ClusterError::server("read the crawl's settings", address, error);
    let missing = || ClusterError::Missing { address: address.to_string() };
    let format = format(&mut connection, address).await?;
    if format != FORMAT {
        return Err(ClusterError::format(format, address));
    }
    let sql = "select lease_ms, partitions, fingerprint_key, number from crawl";
    let found = connection.query(sql, &[]).await.map_err(failed)?;
    let row = found.first().ok_or_else(missing)?;
    let lease = Duration::from_millis(u64::try_from(row.get::<_, i64>(0)).unwrap_or_default());
    let partitions = u32::try_from(row.get::<_, i32>(1)).unwrap_or_default();
    let (key, number) = (row.get(2), row.get(3));
    Ok(Opened { connection, terms: Terms { lease, partitions }, key, number })
}
