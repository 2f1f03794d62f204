//! A worker's place among the others: its count, its partitions, and the end of those that are silent.

use std::collections::HashSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::connection::{Connection, Link};
use super::database::runtime;
use super::observer::Observer;
use super::schema::{self, Terms};
use super::share::share;
use super::{Address, Claim, ClusterError};
use crate::causes::with_causes;
use crate::clock;
use crate::deadline::Deadline;

const JOIN: &str = "insert into worker(name) values ($1) returning id";
const BEAT: &str = "update worker set beat = beat + 1 where id = $1 and alive returning beat";
const LOOK: &str = "
with owned as (select owner, count(*) as parts from part where owner is not null group by owner)
select id, beat, alive, coalesce((select parts from owned where owner = id), 0) from worker
where alive or id in (select owner from owned)";
pub(super) const DECLARE: &str =
    "update worker set alive = false where id = $1 and beat = $2 and alive returning id";
const FREE: &str = "
update part set owner = null, fence = fence + 1 where owner in (select id from worker where not alive) returning id";
/// The worker's row is locked for the time being: nobody declares it dead in between.
const CLAIM: &str = "
with me as (select id from worker where id = $1 and alive for share)
update part set owner = me.id, fence = fence + 1 from me
where part.id in (select id from part where owner is null order by id limit $2 for update skip locked)
returning part.id, fence, commits";
const OWNED: &str = "select id, fence, commits from part where owner = $1";
const GIVE_BACK: &str =
    "update part set owner = null, fence = fence + 1 where id = $1 and owner = $2 and fence = $3";
const LEAVE: &str = "update worker set alive = false where id = $1";
const FREE_MINE: &str = "update part set owner = null, fence = fence + 1 where owner = $1";
/// Connections of a dead worker that hold locks: of a commit that was sent in part.
const CUT: &str = "
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and application_name in (select 'crawl worker ' || id from worker where not alive)";

/// What a worker has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The partition is the worker's now.
    Take(Claim),
    /// Another worker should have the partition: end what runs for it, and then call [`Member::give_back`].
    GiveBack(i32),
    /// The worker was declared dead: its partitions belong to others. It may join again.
    Gone,
}

/// What a worker says to its thread.
enum Said {
    GiveBack(i32),
    Leave,
}

/// A worker among the workers of a cluster, until it is dropped. With a lease of `L`, ten times in that time it
///
/// - raises its count, which moves its [`Deadline`] to 0.9 `L` after the moment before the count was sent;
/// - declares workers dead whose count it has seen unchanged for 1.1 `L`, and frees their partitions;
/// - claims free partitions up to its share of all, or gives back those above it.
///
/// So a partition of a worker that dies has another owner within about 1.3 `L`. All this runs on a thread and a connection of its own: no commit
/// delays it. A member that is dropped without [`Member::leave`] falls silent, as a crash does.
#[derive(Debug)]
pub struct Member {
    id: i64,
    deadline: Deadline,
    said: Option<UnboundedSender<Said>>,
    thread: Option<JoinHandle<()>>,
}

impl Member {
    /// Joins the workers of the crawl in a database, under a name for people. The orders come from then on.
    pub fn join(address: Address, name: &str) -> Result<(Self, UnboundedReceiver<Order>), ClusterError> {
        let runtime = runtime()?;
        if clock::since_boot().is_none() {
            return Err(ClusterError::NoClock);
        }
        let joining = async {
            // The first connection tells how long locks may be waited for.
            let (_, terms) = schema::open(&address).await?;
            let address = address.with_lock_timeout(terms.lease / 10);
            let (mut connection, _) = schema::open(&address).await?;
            let row = connection.query(JOIN, &[&name]).await;
            let row = row.map_err(|error| ClusterError::server("enter this worker", &address, error))?;
            Ok((address, connection, terms, row.first().map_or(0, |row| row.get(0))))
        };
        let (address, connection, terms, id) = runtime.block_on(joining)?;
        let deadline = Deadline::default();
        let (orders, received) = unbounded_channel();
        let (said, asked) = unbounded_channel();
        let link = Link::new(Arc::new(address), Some(connection), Duration::ZERO);
        let state = State {
            id,
            terms,
            deadline: deadline.clone(),
            link,
            observer: Observer::new(terms.lease),
            mine: Vec::new(),
            asked_back: HashSet::new(),
            returned: Vec::new(),
            orders,
        };
        let thread = std::thread::Builder::new()
            .name("member".to_owned())
            .spawn(move || runtime.block_on(state.run(asked)))
            .map_err(ClusterError::Thread)?;
        Ok((Self { id, deadline, said: Some(said), thread: Some(thread) }, received))
    }

    /// The worker's number.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Until when the worker may ask hosts.
    pub fn deadline(&self) -> Deadline {
        self.deadline.clone()
    }

    /// Gives a partition to the others. Nothing may run for it any more.
    pub fn give_back(&self, part: i32) {
        self.say(Said::GiveBack(part));
    }

    /// Gives all partitions to the others and ends. Nothing may run for them any more. Where the database doesn't answer
    /// within the lease, the others take this worker for dead later.
    pub fn leave(mut self) {
        self.deadline.end();
        self.say(Said::Leave);
        self.end();
    }

    fn say(&self, word: Said) {
        if let Some(said) = &self.said {
            // Nobody listens where the worker was declared dead: then there is nothing to give.
            drop(said.send(word));
        }
    }

    fn end(&mut self) {
        self.said = None;
        if let Some(thread) = self.thread.take() {
            // Its panic, if there was one, was reported where it happened.
            drop(thread.join());
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread knows.
struct State {
    id: i64,
    terms: Terms,
    deadline: Deadline,
    link: Link,
    observer: Observer,
    mine: Vec<Claim>,
    /// Those of them that the worker was asked to give back.
    asked_back: HashSet<i32>,
    /// Given back by the worker, not yet in the database.
    returned: Vec<Claim>,
    orders: UnboundedSender<Order>,
}

/// Whether a worker is still one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Member,
    Gone,
}

impl State {
    #[expect(clippy::disallowed_methods, reason = "waits for the next beat, on a thread of its own")]
    async fn run(mut self, mut asked: UnboundedReceiver<Said>) {
        let lease = self.terms.lease;
        loop {
            match tokio::time::timeout(lease / 2, self.step()).await {
                Ok(Ok(Standing::Member)) => {}
                Ok(Ok(Standing::Gone)) => {
                    self.deadline.end();
                    self.order(Order::Gone);
                    return;
                }
                Ok(Err(error)) => {
                    tracing::warn!("the cluster's database doesn't answer: {}", with_causes(&error));
                    self.link.close();
                }
                Err(_) => {
                    tracing::warn!("the cluster's database doesn't answer within {lease:?}");
                    self.link.close();
                }
            }
            let mut word = tokio::select! {
                word = asked.recv() => match word {
                    Some(word) => Some(word),
                    None => return,
                },
                () = tokio::time::sleep(lease / 10) => None,
            };
            while let Some(said) = word {
                match said {
                    Said::GiveBack(part) => self.take_back(part),
                    Said::Leave => {
                        if !matches!(tokio::time::timeout(lease, self.leave()).await, Ok(Ok(()))) {
                            tracing::warn!("the cluster's database wasn't informed that this worker ends");
                        }
                        return;
                    }
                }
                word = asked.try_recv().ok();
            }
        }
    }

    fn order(&self, order: Order) {
        // A worker that doesn't listen any more is about to end.
        let _unheard = self.orders.send(order);
    }

    fn take_back(&mut self, part: i32) {
        self.asked_back.remove(&part);
        if let Some(at) = self.mine.iter().position(|claim| claim.part == part) {
            self.returned.push(self.mine.swap_remove(at));
        }
    }

    /// One beat, and what follows from what it shows.
    async fn step(&mut self) -> Result<Standing, Error> {
        let (id, lease) = (self.id, self.terms.lease);
        let Some(before) = clock::since_boot() else { return Ok(Standing::Gone) };
        let connection = self.link.connection().await?;
        if connection.query(BEAT, &[&id]).await?.is_empty() {
            return Ok(Standing::Gone);
        }
        self.deadline.set(before + lease * 9 / 10);
        while let Some(Claim { part, fence, .. }) = self.returned.last().copied() {
            connection.query(GIVE_BACK, &[&part, &id, &fence]).await?;
            self.returned.pop();
        }
        let rows = connection.query(LOOK, &[]).await?;
        let Some(now) = clock::since_boot() else { return Ok(Standing::Gone) };
        let mut owned = Vec::new();
        let mut beats = Vec::new();
        let mut is_any_dead = false;
        for row in rows {
            let (worker, beat): (i64, i64) = (row.get(0), row.get(1));
            if row.get(2) {
                owned.push((worker, usize::try_from(row.get::<_, i64>(3)).unwrap_or_default()));
                beats.push((worker, beat));
            } else {
                is_any_dead = true;
            }
        }
        for (silent, beat) in self.observer.see(&beats, now) {
            if silent != id && !connection.query(DECLARE, &[&silent, &beat]).await?.is_empty() {
                tracing::warn!(
                    worker = silent,
                    "a worker was silent for {:?} and counts as dead",
                    lease * 11 / 10
                );
                is_any_dead = true;
                owned.retain(|(worker, _)| *worker != silent);
            }
        }
        if is_any_dead {
            free(connection).await?;
        }
        self.balance(&owned).await?;
        Ok(Standing::Member)
    }

    /// Claims what this worker lacks of its share, or asks it to give back what it has above.
    async fn balance(&mut self, owned: &[(i64, usize)]) -> Result<(), Error> {
        let share = share(self.id, owned, usize::try_from(self.terms.partitions).unwrap_or(usize::MAX));
        let mut has = owned.iter().find(|(worker, _)| *worker == self.id).map_or(0, |(_, owned)| *owned);
        let connection = self.link.connection().await?;
        if has != self.mine.len() {
            // The answer to a claim was lost.
            let rows = connection.query(OWNED, &[&self.id]).await?;
            has = rows.len();
            self.take(rows);
        }
        if has < share {
            let lacks = i64::try_from(share - has).unwrap_or(i64::MAX);
            let rows = self.link.connection().await?.query(CLAIM, &[&self.id, &lacks]).await?;
            self.take(rows);
        }
        let staying = self.mine.len() - self.asked_back.len();
        let above: Vec<i32> = self
            .mine
            .iter()
            .rev()
            .map(|claim| claim.part)
            .filter(|part| !self.asked_back.contains(part))
            .take(staying.saturating_sub(share))
            .collect();
        for part in above {
            self.asked_back.insert(part);
            self.order(Order::GiveBack(part));
        }
        Ok(())
    }

    /// Enters partitions that are this worker's, and hands those on that are new to it.
    fn take(&mut self, rows: Vec<tokio_postgres::Row>) {
        for row in rows {
            let claim = Claim { part: row.get(0), owner: self.id, fence: row.get(1), commits: row.get(2) };
            let is_known = |known: &[Claim]| {
                known.iter().any(|known| known.part == claim.part && known.fence == claim.fence)
            };
            if !is_known(&self.mine) && !is_known(&self.returned) {
                self.mine.push(claim);
                self.order(Order::Take(claim));
            }
        }
    }

    async fn leave(&mut self) -> Result<(), Error> {
        let connection = self.link.connection().await?;
        // Before the partitions are free: a worker that has ended claims none.
        connection.query(LEAVE, &[&self.id]).await?;
        connection.query(FREE_MINE, &[&self.id]).await?;
        Ok(())
    }
}

/// Frees the partitions of dead workers. A commit of theirs that reached the server in part may hold locks: its connection is cut then.
async fn free(connection: &mut Connection) -> Result<(), Error> {
    match connection.query(FREE, &[]).await {
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            connection.query(CUT, &[]).await?;
            connection.query(FREE, &[]).await?;
            Ok(())
        }
        freed => freed.map(drop),
    }
}
