//! Adds a further database to a crawl that is at rest, and moves partitions there.
//!
//! While that is under way the crawl's state is `adding`, in which no worker joins. Until the first database has the new one on its list, everything is
//! where it was, and from then on the new one has all that was copied: what remains is to remove it where it came from. So an
//! interrupted addition is done again from the beginning, or ended.

use std::sync::Arc;

use super::at_rest::ALONE;
use super::connection::{self, Connection, Parameters};
use super::database::block_on;
use super::layout::{All, Layout, open_all};
use super::schema;
use super::{Address, AddressError, ClusterError, State, moved};
use page::url::FingerprintKey;

/// The state, whether there has been a worker, and whether one may be at work.
const STATE: &str = "
select coalesce(was, state), exists (select from worker), exists (select from worker where alive), program, fingerprint_key from crawl";

const OWNED: &str = "select exists (select from part where owner is not null)";

/// Whether that was its state before.
const BEGIN: &str = "
with before as (select state from crawl where state in ('running', 'stopped', 'complete', 'adding') for update)
update crawl set was = coalesce(was, before.state), state = 'adding' from before returning before.state = 'adding'";

const END: &str = "update crawl set state = was, was = null where state = 'adding'";

/// From then on the partitions are there.
const SWITCH: &str = "
with entered as (
    insert into further(number, url) values ($1, $2)
), counted as (
    update crawl set databases = $1 + 1
)
insert into place(part, number) select part, $1 from unnest($3::int4[]) as new(part)
on conflict (part) do update set number = excluded.number";

const TREES: &str = "select distinct tree from kv where part = $1";

/// The next rows of a tree, up to 4 MiB.
const ROWS: &str = "
select key, value from (
    select key, value, sum(octet_length(value)) over (order by key rows unbounded preceding) as bytes
    from (select key, value from kv where part = $1 and tree = $2 and key > $3 order by key limit 2048) as few
) as summed where bytes - octet_length(value) < 4194304 order by key";

const FIRST_ROWS: &str = "
select key, value from (
    select key, value, sum(octet_length(value)) over (order by key rows unbounded preceding) as bytes
    from (select key, value from kv where part = $1 and tree = $2 order by key limit 2048) as few
) as summed where bytes - octet_length(value) < 4194304 order by key";

const PUT: &str = "
insert into kv(part, tree, key, value) select $1, $2, key, value from unnest($3::bytea[], $4::bytea[]) as new(key, value)";

const PART: &str = "
select part.fence, commits, standing.fence, idle, coalesce(queued, 0) from standing right join part on standing.part = part.id where id = $1";

/// Its owners before can't commit any more, wherever they are.
const PUT_PART: &str = "insert into part(id, fence, commits) values ($1, $2, $3)";

const PUT_STANDING: &str = "
insert into standing(part, fence, idle, queued, in_flight) values ($1, $2, $3, $4, 0)";

const REMOVE: [&str; 3] = [
    "delete from kv where part = any($1::int4[])",
    "delete from standing where part = any($1::int4[])",
    "delete from part where id = any($1::int4[])",
];

/// Why a database can't be added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// One of the databases.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The URL.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The URL has a password.
    #[error(
        "the URL of the new database is stored in the first one, where it can be read: leave the password out. Workers use that of the first database's URL, or the variable PGPASSWORD"
    )]
    Password,
    /// Workers are at work, or may be.
    #[error(
        "workers own parts of the crawl, or may: a database can be added before the first worker is started, or to a crawl that is stopped (`crawl cluster stop DATABASE`)"
    )]
    Running,
    /// It is continued elsewhere.
    #[error("the crawl was moved to {0}, and is continued there")]
    Moved(String),
    /// It belongs to the crawl.
    #[error(
        "{0} is a database of this crawl already, or remains of an interrupted addition: give an empty database"
    )]
    Known(String),
    /// There would be fewer partitions than databases.
    #[error("a crawl of {0} partitions can't have more databases")]
    TooMany(u32),
    /// Another process does the same.
    #[error("another `crawl cluster add`, `crawl cluster forget` or `crawl cluster recrawl` is at work")]
    Busy,
}

/// What was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    /// Partitions that are in the new database.
    pub partitions: u64,
    /// Databases that the crawl has now.
    pub databases: u64,
}

/// Adds an empty database, under the URL by which workers reach it, to the crawl in the first database, and moves its part of the partitions there. The
/// crawl must be stopped, complete, or without a worker so far. Cost: a copy of what these partitions have.
pub fn add(first: &Address, url: &str, single_server: bool) -> Result<Added, AddError> {
    if Address::has_password(url)? {
        return Err(AddError::Password);
    }
    let new = Arc::new(first.further(url)?);
    block_on(async {
        let mut all = open_all(first.clone()).await?;
        let failed = |error| ClusterError::server("add a database", first, error);
        if !all.first().query(ALONE, &[]).await.map_err(failed)?.first().is_some_and(|row| row.get(0)) {
            return Err(AddError::Busy);
        }
        let about = look(&mut all, first).await?;
        let begun = all.first().query(BEGIN, &[]).await.map_err(failed)?;
        let Some(was_adding) = begun.first().map(|row| row.get::<_, bool>(0)) else {
            return Err(AddError::Running);
        };
        if was_adding {
            // An addition was interrupted, perhaps when its database was on the list.
            remove_moved(&mut all).await?;
        }
        let place = match place_of(&mut all, url).await? {
            Some(place) if was_adding => place,
            Some(_) => {
                all.first().query(END, &[]).await.map_err(failed)?;
                return Err(AddError::Known(new.to_string()));
            }
            None => match fill(&mut all, first, &new, about, single_server).await {
                Ok(parts) => switch(&mut all, first, url, &parts).await?,
                Err(error) => {
                    all.first().query(END, &[]).await.map_err(failed)?;
                    return Err(error);
                }
            },
        };
        remove_moved(&mut all).await?;
        all.first().query(END, &[]).await.map_err(failed)?;
        let partitions = all.layout.parts(place).count() as u64;
        Ok(Added { partitions, databases: all.layout.databases().len() as u64 })
    })
}

/// Puts a database on the list that has these partitions. An error leaves it open whether it is there: then the addition has to be done again.
async fn switch(all: &mut All, first: &Address, url: &str, parts: &[i32]) -> Result<usize, AddError> {
    let place = all.layout.databases().len();
    let number = i32::try_from(place).unwrap_or(i32::MAX);
    let terms = all.terms;
    let connection = all.first();
    connection.has_warned();
    let failed = |error| ClusterError::server("enter the new database", first, error);
    connection.query(SWITCH, &[&number, &url, &parts]).await.map_err(failed)?;
    if connection.has_warned() {
        return Err(ClusterError::NotConfirmed { address: first.to_string() }.into());
    }
    all.layout = Layout::read(connection, first.clone(), terms).await?;
    Ok(place)
}

/// Program and key of the crawl, where a database may be added to it.
async fn look(all: &mut All, first: &Address) -> Result<(String, FingerprintKey), AddError> {
    let failed = |error| ClusterError::server("read the crawl's state", first, error);
    let rows = all.first().query(STATE, &[]).await.map_err(failed)?;
    let row = rows.first().ok_or_else(|| ClusterError::Missing { address: first.to_string() })?;
    let damaged = |what| ClusterError::damaged(what, first);
    let state = State::of(row.get(0)).ok_or_else(|| damaged("its state"))?;
    let key = FingerprintKey::from_bytes(row.get(4)).ok_or_else(|| damaged("its fingerprint key"))?;
    match state {
        State::Making => return Err(ClusterError::Making.into()),
        State::Moved => return Err(AddError::Moved(moved::words(all.first()).await.map_err(failed)?)),
        // One that no worker has begun.
        State::Running if !row.get::<_, bool>(1) => {}
        State::Running => return Err(AddError::Running),
        State::Stopped | State::Complete | State::Adding => {}
    }
    if row.get(2) {
        return Err(AddError::Running);
    }
    for (connection, address) in all.each() {
        let failed = |error| ClusterError::server("read who owns the partitions", address, error);
        let owned = connection.query(OWNED, &[]).await.map_err(failed)?;
        if owned.first().is_some_and(|row| row.get(0)) {
            return Err(AddError::Running);
        }
    }
    Ok((row.get(3), key))
}

/// The place of the database with this URL, where an interrupted addition has put it on the list.
async fn place_of(all: &mut All, url: &str) -> Result<Option<usize>, AddError> {
    let address = Arc::clone(all.layout.first());
    let failed = |error| ClusterError::server("read the list of databases", &address, error);
    let rows =
        all.first().query("select number from further where url = $1", &[&url]).await.map_err(failed)?;
    Ok(rows.first().map(|row| usize::try_from(row.get::<_, i32>(0)).unwrap_or_default()))
}

/// Makes the tables, and copies the partitions that the database gets, which it returns.
async fn fill(
    all: &mut All,
    first: &Address,
    new: &Arc<Address>,
    (program, key): (String, FingerprintKey),
    single_server: bool,
) -> Result<Vec<i32>, AddError> {
    // A worker that joined just before is seen now, and none joins any more.
    look(all, first).await?;
    let place = all.layout.databases().len();
    let parts = all.layout.for_another();
    if parts.is_empty() {
        return Err(AddError::TooMany(all.terms.partitions));
    }
    let number = i32::try_from(place).unwrap_or(i32::MAX);
    match schema::open_any(new).await {
        // An addition of it was interrupted: nothing there is in use.
        Ok(found) if found.key == key.bytes() && found.number == number => schema::undo(new).await?,
        Ok(found) if found.key == key.bytes() => return Err(AddError::Known(new.to_string())),
        Err(ClusterError::Missing { .. }) => {}
        Ok(_) => return Err(ClusterError::Exists { address: new.to_string() }.into()),
        Err(error) => return Err(error.into()),
    }
    let mut target = schema::create_further(new, all.terms, (&program, key), number, single_server).await?;
    let copied = async {
        for part in &parts {
            let from = all.layout.place(*part);
            copy(&mut all.connections[from], &mut target, *part)
                .await
                .map_err(|error| ClusterError::server("copy a partition", new, error))?;
        }
        // A commit that waits for the standby no longer says so in a warning.
        if target.has_warned() {
            return Err(ClusterError::NotConfirmed { address: new.to_string() });
        }
        Ok(())
    };
    if let Err(error) = copied.await {
        schema::undo(new).await?;
        return Err(error.into());
    }
    Ok(parts)
}

/// Copies what a partition has; its row comes last.
async fn copy(from: &mut Connection, to: &mut Connection, part: i32) -> Result<(), connection::Error> {
    for row in from.query(TREES, &[&part]).await? {
        let tree: i16 = row.get(0);
        let mut rows = from.query(FIRST_ROWS, &[&part, &tree]).await?;
        while !rows.is_empty() {
            let keys: Vec<&[u8]> = rows.iter().map(|row| row.get(0)).collect();
            let values: Vec<&[u8]> = rows.iter().map(|row| row.get(1)).collect();
            let parameters: Parameters<'_> = &[&part, &tree, &keys, &values];
            to.query(PUT, parameters).await?;
            let last = keys.last().copied().unwrap_or_default();
            rows = from.query(ROWS, &[&part, &tree, &last]).await?;
        }
    }
    for row in from.query(PART, &[&part]).await? {
        let (fence, commits): (i64, i64) = (row.get(0), row.get(1));
        if let Some(said) = row.get::<_, Option<i64>>(2) {
            let (idle, queued): (Option<i64>, i64) = (row.get(3), row.get(4));
            to.query(PUT_STANDING, &[&part, &said, &idle, &queued]).await?;
        }
        to.query(PUT_PART, &[&part, &(fence + 1), &commits]).await?;
    }
    Ok(())
}

/// Removes from each database what is in another one by now.
async fn remove_moved(all: &mut All) -> Result<(), AddError> {
    for place in 0..all.connections.len() {
        let others = (0..all.layout.databases().len()).filter(|other| *other != place);
        let parts: Vec<i32> = others.flat_map(|other| all.layout.parts(other)).collect();
        let address = Arc::clone(&all.layout.databases()[place]);
        let connection = &mut all.connections[place];
        for sql in REMOVE {
            let failed = |error| ClusterError::server("remove partitions that were moved", &address, error);
            connection.query(sql, &[&parts]).await.map_err(failed)?;
        }
    }
    Ok(())
}
