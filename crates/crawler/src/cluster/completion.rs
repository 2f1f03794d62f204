//! Whether nothing remains to be done in the whole crawl.

use super::connection::{Error, Link};

/// The crawl is over when each partition has said so after its last commit, and no letter is under way. One statement sees all of that at
/// one moment.
const COMPLETE: &str = "
update crawl set state = 'complete', limit_reached = $1 where state = 'running'
and not exists (
    select from part where not exists (
        select from standing where standing.part = part.id and standing.fence = part.fence and standing.idle = part.commits
    )
) and not exists (select from kv where tree in (16, 17))";

/// Whether that is so in one of several databases, with a number that grows with each commit and each change of an owner.
const QUIET: &str = "
select not exists (
    select from part where not exists (
        select from standing where standing.part = part.id and standing.fence = part.fence and standing.idle = part.commits
    )
) and not exists (select from kv where tree in (16, 17)), (select (sum(commits) + sum(fence))::int8 from part)";

/// How often partitions were asked for something from outside.
const ORDERS: &str = "select orders from crawl";

const COMPLETE_OF_SEVERAL: &str = "
update crawl set state = 'complete', limit_reached = $1 where state = 'running' and orders = $2";

/// Enters the crawl as complete if it is. `limit` is the one that has ended it.
///
/// No statement sees several databases at one moment, so they are looked at twice. Where nothing was to be done at both looks, and no commit was made
/// between them, it was so for all of them at any moment after the first look was over: a partition gets something to do by a letter
/// alone. One that was under way unseen, taken out of one database after that was looked at and put into another before, is still
/// there at the second look, or its reader has committed what it did about it.
pub(super) async fn complete(links: &mut [Link], limit: Option<&str>) -> Result<(), Error> {
    let [first] = links else { return complete_several(links, limit).await };
    first.read(COMPLETE, &[&limit]).await.map(drop)
}

async fn complete_several(links: &mut [Link], limit: Option<&str>) -> Result<(), Error> {
    let Some(first) = links.first_mut() else { return Ok(()) };
    let orders: i64 = first.read(ORDERS, &[]).await?.first().map_or(-1, |row| row.get(0));
    let Some(before) = quiet(links).await? else { return Ok(()) };
    if quiet(links).await? != Some(before) {
        return Ok(());
    }
    if let Some(first) = links.first_mut() {
        first.read(COMPLETE_OF_SEVERAL, &[&limit, &orders]).await?;
    }
    Ok(())
}

/// The numbers of all databases where nothing is to be done in any; none otherwise.
async fn quiet(links: &mut [Link]) -> Result<Option<Vec<Option<i64>>>, Error> {
    let mut numbers = Vec::new();
    for link in links {
        let rows = link.read(QUIET, &[]).await?;
        match rows.first() {
            Some(row) if row.get(0) => numbers.push(row.get(1)),
            _ => return Ok(None),
        }
    }
    Ok(Some(numbers))
}
