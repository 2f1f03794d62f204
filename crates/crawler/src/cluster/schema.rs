//! The tables of a cluster, and how they are made.

use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::connection::Connection;
use super::{Address, ClusterError};

/// The form of the tables that this version reads and writes.
const FORMAT: i32 = 1;

/// `worker`: who works, and a count that it raises while it does. `part`: the partitions, each with its owner, a number that changes with
/// each change of the owner (the fence), and its number of commits. `kv`: the trees of the store of each partition; `tree` is the
/// ordinal of `Tree`.
///
/// No column that changes is indexed and pages have free space, so that `worker` and `part` are updated in place. The trees of the
/// frontier, which change all the time, and those of records, which grow, lie apart: vacuuming the one doesn't read the other.
const TABLES: &str = "
create table crawl(format int not null, lease_ms bigint not null);
create table worker(
    id bigint generated always as identity primary key, name text not null,
    beat bigint not null default 0, alive bool not null default true
) with (fillfactor = 50);
create table part(
    id int primary key, owner bigint, fence bigint not null default 0, commits bigint not null default 0
) with (fillfactor = 30);
create table kv(
    part int not null, tree smallint not null, key bytea not null, value bytea not null,
    primary key (part, tree, key)
) partition by list (tree);
create table kv_state partition of kv for values in (0, 1, 2, 4, 5);
create table kv_queue partition of kv for values in (3);
create table kv_records partition of kv default;
";

/// What the database says of the whole crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How long a worker may be silent before its partitions go to others; see [`Member`](super::Member).
    pub lease: Duration,
    /// The number of partitions.
    pub partitions: u32,
}

/// Makes the tables in a database that has none of them.
pub(super) async fn create(address: &Address, terms: Terms) -> Result<(), ClusterError> {
    let connection =
        Connection::open(address).await.map_err(|error| ClusterError::connect(address, error))?;
    let Terms { lease, partitions } = terms;
    let rows = format!(
        "insert into crawl values ({FORMAT}, {}); insert into part(id) select generate_series(0, {partitions} - 1);",
        lease.as_millis()
    );
    connection.execute(&format!("begin; {TABLES} {rows} commit")).await.map_err(|error| {
        if error.code() == Some(&SqlState::DUPLICATE_TABLE) {
            ClusterError::Exists { address: address.to_string() }
        } else {
            ClusterError::server("make the tables", address, error)
        }
    })
}

/// Reads the terms of the crawl, and leaves the connection open.
pub(super) async fn open(address: &Address) -> Result<(Connection, Terms), ClusterError> {
    let mut connection =
        Connection::open(address).await.map_err(|error| ClusterError::connect(address, error))?;
    let found = connection
        .query("select format, lease_ms, (select count(*) from part) from crawl", &[])
        .await
        .map_err(|error| {
            if error.code() == Some(&SqlState::UNDEFINED_TABLE) {
                ClusterError::Missing { address: address.to_string() }
            } else {
                ClusterError::server("read the crawl's settings", address, error)
            }
        })?;
    let row = found.first().ok_or_else(|| ClusterError::Missing { address: address.to_string() })?;
    let format: i32 = row.get(0);
    if format != FORMAT {
        return Err(ClusterError::Format { address: address.to_string(), found: format });
    }
    let lease = Duration::from_millis(u64::try_from(row.get::<_, i64>(1)).unwrap_or_default());
    let partitions = u32::try_from(row.get::<_, i64>(2)).unwrap_or_default();
    Ok((connection, Terms { lease, partitions }))
}
