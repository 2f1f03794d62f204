//! A crawl that was moved out of its cluster: workers don't continue it, unless it is taken back.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::connection::{self, Connection};
use super::database::block_on;
use super::layout::open_all;
use super::{Address, ClusterError, schema};
use crate::crawl_dir::Moved;
use crate::store::Tree;

/// What partition 0 has beside its own records while the state is `moved`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    #[serde(flatten)]
    pub(super) moved: Moved,
    /// The state before.
    pub(super) was: String,
}

const READ: &str = "select value from kv where part = 0 and tree = $1 and key = 'moved'";

/// `$3` is the number of commits when the crawl was read: nothing was committed since, and nobody may now. Partition 0 is in the first
/// database, of which this is true then; what was looked at in the others stays true while workers can't join.
const SET: &str = "
with moved as (
    update crawl set state = 'moved'
    where state in ('stopped', 'complete', 'moved') and not exists (select from part where owner is not null)
        and (select (sum(commits) + sum(fence))::bigint from part) = $3
    returning state
)
insert into kv(part, tree, key, value) select 0, $1, 'moved', $2 from moved
on conflict (part, tree, key) do update set value = excluded.value returning part";

const AT_REST: &str = "
select not exists (select from part where owner is not null) and coalesce((select (sum(commits) + sum(fence))::bigint from part), 0) = $1";

/// The directory couldn't be made: the crawl stays in the cluster.
const UNSET: &str = "update crawl set state = $1 where state = 'moved'";

/// Where a crawl of the state `moved` is continued.
pub(super) async fn read(connection: &mut Connection) -> Result<Option<Mark>, connection::Error> {
    let rows = connection.query(READ, &[&(Tree::Meta as i16)]).await?;
    Ok(rows.first().and_then(|row| serde_json::from_slice(&row.get::<_, Vec<u8>>(0)).ok()))
}

/// Where it is continued and since when, in words.
pub(super) async fn words(connection: &mut Connection) -> Result<String, connection::Error> {
    let mark = read(connection).await?;
    Ok(mark.map_or_else(|| "another place".to_owned(), |mark| mark.moved.to_string()))
}

/// Marks a crawl that is at rest as continued elsewhere. False if workers crawled since, or may. `commits` are those of each database.
pub(super) fn set(
    address: &Address,
    (to, was): (String, &str),
    commits: &[i64],
    now: Timestamp,
) -> Result<bool, ClusterError> {
    let mark = Mark { moved: Moved::new(to, now), was: was.to_owned() };
    let failed = |error: serde_json::Error| ClusterError::server("mark the crawl as moved", address, error);
    let mark = serde_json::to_vec(&mark).map_err(failed)?;
    block_on(async {
        let mut all = open_all(address.clone()).await?;
        for ((connection, address), expected) in all.each().zip(commits).skip(1) {
            let failed = |error| ClusterError::server("mark the crawl as moved", address, error);
            let found = connection.query(AT_REST, &[expected]).await.map_err(failed)?;
            if !found.first().is_some_and(|row| row.get(0)) {
                return Ok(false);
            }
        }
        let set = all.first().query(SET, &[&(Tree::Meta as i16), &mark, &commits.first()]).await;
        let failed = |error| ClusterError::server("mark the crawl as moved", address, error);
        Ok(!set.map_err(failed)?.is_empty())
    })
}

/// Takes the mark away again.
pub(super) fn unset(address: &Address, was: &str) -> Result<(), ClusterError> {
    block_on(async {
        let (mut connection, _) = schema::open(address).await?;
        let failed = |error| ClusterError::server("unmark the crawl", address, error);
        connection.query(UNSET, &[&was]).await.map_err(failed)?;
        Ok(())
    })
}
