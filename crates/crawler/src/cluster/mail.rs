//! What a worker reads and says beside its commits, a few times a second: letters for its partitions, how far they are, and what the
//! crawl's state is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::Error;

use super::connection::Link;
use super::schema::MAIL_TREE;
use super::state::State;
use super::{Address, PgStore};
use crate::engine::{Allowance, Standing, Stored};
use crate::post::MAIL;

/// Letters that are read at once.
const LETTERS: &str = "
select part, key, value from kv where tree = $1 and part = any($2) order by part, key limit 1024";

const SAY: &str = "
insert into standing as old select * from unnest($1::int4[], $2::int8[], $3::int8[], $4::int8[], $5::int8[])
on conflict (part) do update set fence = excluded.fence, idle = excluded.idle, queued = excluded.queued, in_flight = excluded.in_flight
where old.fence <= excluded.fence";

/// The crawl is over when each partition has said so after its last commit, and no letter is under way. One statement sees all of that at
/// one moment.
const COMPLETE: &str = "
update crawl set state = 'complete', limit_reached = $2 where state = 'running'
and not exists (
    select from part where not exists (
        select from standing where standing.part = part.id and standing.fence = part.fence and standing.idle = part.commits
    )
) and not exists (select from kv where tree = $1)";

const STATE: &str = "select state from crawl";

/// A partition, for those who carry its letters.
#[derive(Debug, Clone)]
pub(super) struct Box {
    pub(super) store: Arc<PgStore>,
    pub(super) standing: Arc<Standing>,
    pub(super) allowance: Arc<Allowance>,
    pub(super) letters: UnboundedSender<Vec<Stored>>,
}

impl Box {
    /// The number of commits after which nothing remained to be done; none where something does.
    fn idle(&self) -> Option<i64> {
        let since = self.standing.idle_since()?;
        let commits = self.store.commits()?;
        (self.standing.idle_since() == Some(since)).then_some(commits)
    }
}

/// A worker's connection for all that.
pub(super) struct Carrier {
    link: Link,
}

impl Carrier {
    pub(super) fn new(address: Arc<Address>) -> Self {
        Self { link: Link::new(address, None, Duration::ZERO) }
    }

    /// Hands letters in, to the partitions that have dealt with those from before.
    pub(super) async fn carry(&mut self, boxes: &HashMap<i32, Box>) -> Result<(), Error> {
        let open: Vec<i32> =
            boxes.iter().filter(|(_, to)| to.standing.takes_letters()).map(|(part, _)| *part).collect();
        if open.is_empty() {
            return Ok(());
        }
        let read = self.link.read(LETTERS, &[&MAIL_TREE, &open]).await;
        let mut found: HashMap<i32, Vec<Stored>> = HashMap::new();
        if let Ok(rows) = &read {
            for row in rows {
                let part: i32 = row.get(0);
                // The key as the engine has it, with the partition that the letter is for.
                let key = [MAIL, &part.to_be_bytes(), row.get::<_, &[u8]>(1)].concat();
                found.entry(part).or_default().push((key, row.get(2)));
            }
        }
        for part in open {
            let Some(to) = boxes.get(&part) else { continue };
            let handed = found.remove(&part).is_some_and(|letters| to.letters.send(letters).is_ok());
            if !handed {
                to.standing.had_no_letters();
            }
        }
        read.map(drop)
    }

    /// Says how far the partitions are, and returns what the workers are to do. `limit` is the one that has ended the crawl.
    pub(super) async fn say(
        &mut self,
        boxes: &HashMap<i32, Box>,
        limit: Option<&str>,
    ) -> Result<Option<State>, Error> {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let mut rows: Vec<_> = boxes.iter().map(|(part, of)| (*part, of, of.idle())).collect();
        rows.sort_by_key(|(part, ..)| *part);
        let parts: Vec<i32> = rows.iter().map(|(part, ..)| *part).collect();
        let fences: Vec<i64> = rows.iter().map(|(_, of, _)| of.store.claim().fence).collect();
        let idle: Vec<Option<i64>> = rows.iter().map(|(.., idle)| *idle).collect();
        let queued: Vec<i64> = rows.iter().map(|(_, of, _)| number(of.standing.queued())).collect();
        let in_flight: Vec<i64> = rows.iter().map(|(_, of, _)| number(of.standing.in_flight())).collect();
        self.link.read(SAY, &[&parts, &fences, &idle, &queued, &in_flight]).await?;
        if !idle.is_empty() && idle.iter().all(Option::is_some) {
            self.link.read(COMPLETE, &[&MAIL_TREE, &limit]).await?;
        }
        let rows = self.link.read(STATE, &[]).await?;
        Ok(rows.first().and_then(|row| State::of(row.get(0))))
    }
}
