//! What a worker reads and says beside its commits, a few times a second: letters for its partitions, how far they are, and what the
//! crawl's state is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::connection::Link;
use super::schema::{MAIL_TREE, SENT_TREE};
use super::sent::{Sent, rows_for_readers};
use super::state::State;
use super::{Address, PgStore};
use crate::engine::{Allowance, Standing, Stored};
use crate::post::MAIL;

/// Rows of letters that are read at once.
const ROWS: usize = 256;

/// Letters of partitions, those that they wrote or those that they are to read.
const LETTERS: &str = "
select part, key, value from kv where tree = $1 and part = any($2) order by part, key limit 256";

/// Takes letters from those who wrote them to their readers, all of these or none: where another worker took some of them meanwhile, the
/// division fails and with it the statement. So each arrives once, and no lock outlives the statement.
const DELIVER: &str = "
with gone as (
    delete from kv using unnest($1::int4[], $2::bytea[]) as sent(part, key)
    where kv.tree = 17 and kv.part = sent.part and kv.key = sent.key
    returning 1
), kept as (
    insert into kv(part, tree, key, value)
    select new.part, 16, new.key, new.value from unnest($3::int4[], $4::bytea[], $5::bytea[]) as new(part, key, value)
)
select 1 / (count(*) = cardinality($1::int4[]))::int from gone";

const SAY: &str = "
insert into standing as old select * from unnest($1::int4[], $2::int8[], $3::int8[], $4::int8[], $5::int8[])
on conflict (part) do update set fence = excluded.fence, idle = excluded.idle, queued = excluded.queued, in_flight = excluded.in_flight
where old.fence <= excluded.fence";

/// The crawl is over when each partition has said so after its last commit, and no letter is under way. One statement sees all of that at
/// one moment.
const COMPLETE: &str = "
update crawl set state = 'complete', limit_reached = $1 where state = 'running'
and not exists (
    select from part where not exists (
        select from standing where standing.part = part.id and standing.fence = part.fence and standing.idle = part.commits
    )
) and not exists (select from kv where tree in (16, 17))";

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
    has_told_damaged: bool,
}

impl Carrier {
    pub(super) fn new(address: Arc<Address>) -> Self {
        Self { link: Link::new(address, None, Duration::ZERO), has_told_damaged: false }
    }

    /// Takes the letters that these partitions wrote to their readers.
    pub(super) async fn deliver(&mut self, boxes: &HashMap<i32, Box>) -> Result<(), Error> {
        let parts: Vec<i32> = boxes.keys().copied().collect();
        while !parts.is_empty() {
            let found = self.link.read(LETTERS, &[&SENT_TREE, &parts]).await?;
            let mut letters = Vec::new();
            let (mut writers, mut keys) = (Vec::<i32>::new(), Vec::<&[u8]>::new());
            for row in &found {
                match Sent::read(row.get(2)) {
                    Ok(sent) => letters.extend(sent),
                    Err(error) => {
                        self.tell_damaged(row.get(0), &error);
                        continue;
                    }
                }
                writers.push(row.get(0));
                keys.push(row.get(1));
            }
            if writers.is_empty() {
                break;
            }
            let rows = rows_for_readers(letters);
            let readers: Vec<i32> = rows.iter().map(|row| i32::try_from(row.to).unwrap_or(-1)).collect();
            let new: Vec<&[u8]> = rows.iter().map(|row| &row.key[..]).collect();
            let texts: Vec<&[u8]> = rows.iter().map(|row| &row.text[..]).collect();
            match self.link.read(DELIVER, &[&writers, &keys, &readers, &new, &texts]).await {
                // Another worker delivered some of them, whose partition it is by now.
                Err(error) if error.code() == Some(&SqlState::DIVISION_BY_ZERO) => break,
                done => done?,
            };
            if found.len() < ROWS {
                break;
            }
        }
        Ok(())
    }

    /// Says once that letters can't be delivered.
    fn tell_damaged(&mut self, part: i32, error: &postcard::Error) {
        if !std::mem::replace(&mut self.has_told_damaged, true) {
            tracing::error!(
                "letters of partition {part} can't be read ({error}): they stay with it, and the crawl can't be completed"
            );
        }
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
            self.link.read(COMPLETE, &[&limit]).await?;
        }
        let rows = self.link.read(STATE, &[]).await?;
        Ok(rows.first().and_then(|row| State::of(row.get(0))))
    }
}
