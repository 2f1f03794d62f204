//! What a worker reads and says beside its commits, a few times a second: letters for its partitions, how far they are, and what the
//! crawl's state is.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::error::SqlState;

use super::completion::complete;
use super::connection::{Error, Link, Parameters};
use super::layout::Layout;
use super::schema::{MAIL_TREE, SENT_TREE};
use super::sent::{Sent, rows_for_readers, unpack_letters};
use super::state::State;
use super::{Address, ClusterError, PgStore};
use crate::causes::Cause;
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

/// Up to which key letters of these partitions have come from another database.
const HEARD: &str = "select src, upto from heard where src = any($1)";

/// Writes what is there already: once this is answered, what made it so is as durable as this.
const CONFIRM: &str = "update heard set upto = upto where src = any($1)";

/// Puts letters of another database there, all of these or none: where another worker brought some of them meanwhile, the division fails.
const ARRIVE: &str = "
with noted as (
    update heard set upto = asked.upto from unnest($1::int4[], $2::bytea[], $3::bytea[]) as asked(src, before, upto)
    where heard.src = asked.src and heard.upto = asked.before
    returning 1
), kept as (
    insert into kv(part, tree, key, value)
    select new.part, 16, new.key, new.value from unnest($4::int4[], $5::bytea[], $6::bytea[]) as new(part, key, value)
)
select 1 / (count(*) = cardinality($1::int4[]))::int from noted";

const SAY: &str = "
insert into standing as old select * from unnest($1::int4[], $2::int8[], $3::int8[], $4::int8[], $5::int8[])
on conflict (part) do update set fence = excluded.fence, idle = excluded.idle, queued = excluded.queued, in_flight = excluded.in_flight
where old.fence <= excluded.fence";

const STATE: &str = "select state from crawl";

/// A partition, for those who carry its letters.
#[derive(Debug, Clone)]
pub(super) struct Outbox {
    pub(super) store: Arc<PgStore>,
    pub(super) standing: Arc<Standing>,
    pub(super) allowance: Arc<Allowance>,
    pub(super) letters: UnboundedSender<Vec<Stored>>,
}

impl Outbox {
    /// The number of commits after which nothing remained to be done; none where something does.
    fn idle(&self) -> Option<i64> {
        let since = self.standing.idle_since()?;
        let commits = self.store.commits()?;
        (self.standing.idle_since() == Some(since)).then_some(commits)
    }
}

/// Letters of one commit of a partition, as it keeps them until they are with their readers.
struct Bundle {
    part: i32,
    key: Vec<u8>,
    letters: Vec<Sent>,
}

/// A worker's connections for all that, one to each database.
pub(super) struct Carrier {
    links: Vec<Link>,
    layout: Arc<Layout>,
    has_told_damaged: bool,
}

/// Rows for readers, as the columns of a statement.
struct Rows {
    readers: Vec<i32>,
    rows: Vec<Sent>,
}

impl Rows {
    fn of(rows: Vec<Sent>) -> Self {
        let readers = rows.iter().map(|row| i32::try_from(row.to).unwrap_or(-1)).collect();
        Self { readers, rows }
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.rows.iter().map(|row| &row.key[..]).collect()
    }

    fn texts(&self) -> Vec<&[u8]> {
        self.rows.iter().map(|row| &row.text[..]).collect()
    }
}

/// What comes of a statement that does all or nothing.
enum Carried {
    All,
    /// Another worker was faster, whose partition it is by now.
    Nothing,
}

async fn all_or_nothing(
    link: &mut Link,
    sql: &'static str,
    parameters: Parameters<'_>,
) -> Result<Carried, Error> {
    match link.read(sql, parameters).await {
        Err(error) if error.code() == Some(&SqlState::DIVISION_BY_ZERO) => Ok(Carried::Nothing),
        done => done.map(|_| Carried::All),
    }
}

impl Carrier {
    pub(super) fn new(layout: Arc<Layout>) -> Self {
        let link = |address: &Arc<Address>| Link::new(Arc::clone(address), None, Duration::ZERO);
        let links = layout.databases().iter().map(link).collect();
        Self { links, layout, has_told_damaged: false }
    }

    pub(super) async fn connect(&mut self) -> Result<(), ClusterError> {
        for (link, address) in self.links.iter_mut().zip(self.layout.databases()) {
            link.open().await.map_err(ClusterError::connections(address))?;
        }
        Ok(())
    }

    /// Takes the letters that these partitions wrote to their readers.
    pub(super) async fn deliver(&mut self, outboxes: &HashMap<i32, Outbox>) -> Result<(), Error> {
        for place in 0..self.links.len() {
            let parts: Vec<i32> =
                outboxes.keys().copied().filter(|part| self.layout.place(*part) == place).collect();
            while !parts.is_empty() {
                let found = self.links[place].read(LETTERS, &[&SENT_TREE, &parts]).await?;
                let mut bundles = Vec::new();
                for row in &found {
                    match Sent::read(row.get(2)) {
                        Ok(letters) => bundles.push(Bundle { part: row.get(0), key: row.get(1), letters }),
                        Err(error) => self.tell_damaged(row.get(0), &error),
                    }
                }
                if bundles.is_empty() {
                    break;
                }
                // What is for other databases has to be there before it is removed here.
                for other in (0..self.links.len()).filter(|other| *other != place) {
                    if matches!(self.bring(other, &bundles).await?, Carried::Nothing) {
                        return Ok(());
                    }
                }
                if matches!(self.deliver_within(place, bundles).await?, Carried::Nothing)
                    || found.len() < ROWS
                {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Brings letters to their readers in another database. Those that arrived before, when they couldn't be removed afterwards, are known by their keys,
    /// which grow: they aren't brought again.
    async fn bring(&mut self, place: usize, bundles: &[Bundle]) -> Result<Carried, Error> {
        let is_there = |letter: &&Sent| self.layout.place(i32::try_from(letter.to).unwrap_or(-1)) == place;
        let concerned: Vec<&Bundle> =
            bundles.iter().filter(|bundle| bundle.letters.iter().any(|letter| is_there(&letter))).collect();
        if concerned.is_empty() {
            return Ok(Carried::All);
        }
        let writers: Vec<i32> = concerned.iter().map(|bundle| bundle.part).collect();
        let heard: HashMap<i32, Vec<u8>> = self.links[place]
            .read(HEARD, &[&writers])
            .await?
            .iter()
            .map(|row| (row.get(0), row.get(1)))
            .collect();
        let (new, old): (Vec<&Bundle>, Vec<&Bundle>) = concerned
            .into_iter()
            .partition(|bundle| heard.get(&bundle.part).is_none_or(|upto| bundle.key > *upto));
        let link = &mut self.links[place];
        link.has_warned();
        if !old.is_empty() {
            let writers: Vec<i32> = old.iter().map(|bundle| bundle.part).collect();
            link.read(CONFIRM, &[&writers]).await?;
        }
        let mut upto: BTreeMap<i32, &[u8]> = BTreeMap::new();
        for bundle in &new {
            let last = upto.entry(bundle.part).or_default();
            *last = (*last).max(&bundle.key);
        }
        let mut carried = Carried::All;
        if !upto.is_empty() {
            let letters = new.iter().flat_map(|bundle| bundle.letters.iter().filter(is_there).cloned());
            let rows = Rows::of(rows_for_readers(letters));
            let (writers, upto): (Vec<i32>, Vec<&[u8]>) = upto.into_iter().unzip();
            let before: Vec<&[u8]> =
                writers.iter().map(|part| heard.get(part).map_or(&[][..], |upto| upto)).collect();
            let (keys, texts) = (rows.keys(), rows.texts());
            let parameters: Parameters<'_> = &[&writers, &before, &upto, &rows.readers, &keys, &texts];
            carried = all_or_nothing(link, ARRIVE, parameters).await?;
        }
        // Where the standby server may not have them, they stay where they are until it is known to have them.
        Ok(if link.has_warned() { Carried::Nothing } else { carried })
    }

    /// Takes letters to their readers in the same database, and removes them.
    async fn deliver_within(&mut self, place: usize, bundles: Vec<Bundle>) -> Result<Carried, Error> {
        let writers: Vec<i32> = bundles.iter().map(|bundle| bundle.part).collect();
        let (mut keys, mut letters) = (Vec::new(), Vec::new());
        for bundle in bundles {
            keys.push(bundle.key);
            letters.extend(bundle.letters);
        }
        let layout = &self.layout;
        letters.retain(|letter| layout.place(i32::try_from(letter.to).unwrap_or(-1)) == place);
        let rows = Rows::of(rows_for_readers(letters));
        let (new, texts) = (rows.keys(), rows.texts());
        let link = &mut self.links[place];
        all_or_nothing(link, DELIVER, &[&writers, &keys, &rows.readers, &new, &texts]).await
    }

    /// Says once that letters can't be delivered.
    fn tell_damaged(&mut self, part: i32, error: &Cause) {
        if !std::mem::replace(&mut self.has_told_damaged, true) {
            tracing::error!(
                "letters of partition {part} can't be read ({error}): they stay with it, and the crawl can't be completed"
            );
        }
    }

    /// Hands letters in, to the partitions that have dealt with those from before.
    pub(super) async fn carry(&mut self, outboxes: &HashMap<i32, Outbox>) -> Result<(), Error> {
        let mut carried = Ok(());
        let mut damaged = Vec::new();
        for (place, link) in self.links.iter_mut().enumerate() {
            let is_open = |(part, to): &(&i32, &Outbox)| {
                self.layout.place(**part) == place && to.standing.takes_letters()
            };
            let open: Vec<i32> = outboxes.iter().filter(is_open).map(|(part, _)| *part).collect();
            if open.is_empty() {
                continue;
            }
            let read = link.read(LETTERS, &[&MAIL_TREE, &open]).await;
            let mut found: HashMap<i32, Vec<Stored>> = HashMap::new();
            for row in read.iter().flatten() {
                let part: i32 = row.get(0);
                // The key as the engine has it, with the partition that the letter is for.
                let key = [MAIL, &part.to_be_bytes(), row.get::<_, &[u8]>(1)].concat();
                match unpack_letters(row.get(2)) {
                    Ok(text) => found.entry(part).or_default().push((key, text)),
                    Err(error) => damaged.push((part, error)),
                }
            }
            for part in open {
                let Some(to) = outboxes.get(&part) else { continue };
                let handed = found.remove(&part).is_some_and(|letters| to.letters.send(letters).is_ok());
                if !handed {
                    to.standing.had_no_letters();
                }
            }
            carried = carried.and(read.map(drop));
        }
        for (part, error) in damaged {
            self.tell_damaged(part, &error);
        }
        carried
    }

    /// Says how far the partitions are, and returns what the workers are to do. `limit` is the one that has ended the crawl.
    pub(super) async fn say(
        &mut self,
        outboxes: &HashMap<i32, Outbox>,
        limit: Option<&str>,
    ) -> Result<Option<State>, Error> {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let mut rows: Vec<_> = outboxes.iter().map(|(part, of)| (*part, of, of.idle())).collect();
        rows.sort_by_key(|(part, ..)| *part);
        for (place, link) in self.links.iter_mut().enumerate() {
            let here = || rows.iter().filter(|(part, ..)| self.layout.place(*part) == place);
            let parts: Vec<i32> = here().map(|(part, ..)| *part).collect();
            let fences: Vec<i64> = here().map(|(_, of, _)| of.store.claim().fence).collect();
            let idle: Vec<Option<i64>> = here().map(|(.., idle)| *idle).collect();
            let queued: Vec<i64> = here().map(|(_, of, _)| number(of.standing.queued())).collect();
            let in_flight: Vec<i64> = here().map(|(_, of, _)| number(of.standing.in_flight())).collect();
            link.read(SAY, &[&parts, &fences, &idle, &queued, &in_flight]).await?;
        }
        if !rows.is_empty() && rows.iter().all(|(.., idle)| idle.is_some()) {
            complete(&mut self.links, limit).await?;
        }
        let Some(first) = self.links.first_mut() else { return Ok(None) };
        let rows = first.read(STATE, &[]).await?;
        Ok(rows.first().and_then(|row| State::of(row.get(0))))
    }
}
