//! A worker's place among the others: its count, its partitions, and the end of those that are silent.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::error::SqlState;

use super::address::ANSWER;
use super::connection::{Connection, Error, Link};
use super::database::runtime;
use super::layout::{Layout, open_all};
use super::observer::Observer;
use super::share::share;
use super::{Address, Claim, ClusterError};
use crate::causes::with_causes;
use crate::deadline::Deadline;
use page::clock;

/// `$2` is the number of databases that this worker knows of. The row of the crawl is locked for the time being: it is running, and no database is
/// added meanwhile.
const JOIN: &str = "
with here as materialized (select from crawl where databases = $2 and state = 'running' for share)
insert into worker(name) select $1 from here returning id";
/// In a further database, under the number that the first one gave.
const JOIN_FURTHER: &str = "
insert into worker(id, name) overriding system value values ($1, $2) on conflict do nothing returning id";
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
pub(super) const FREE_MINE: &str = "update part set owner = null, fence = fence + 1 where owner = $1";
/// Connections of a dead worker that hold locks: of a commit that was sent in part.
const CUT: &str = "
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and application_name in (select 'crawl worker ' || id from worker where not alive)";

/// The longest time between two beats: so it is soon known that the database is silent, however long the lease is.
const BEATS: Duration = Duration::from_secs(1);

/// How long a worker that ends waits for a database that is silent.
const FAREWELL: Duration = Duration::from_millis(500);

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
    Begin,
    GiveBack(i32),
    /// For no longer than this.
    Leave(Duration),
}

/// When all databases had answered a beat last, in milliseconds since boot.
#[derive(Debug, Clone, Default)]
struct Answered(Arc<AtomicU64>);

impl Answered {
    fn note(&self, now: Duration) {
        self.0.store(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), Ordering::Release);
    }

    fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(Duration::from_millis(self.0.load(Ordering::Acquire)))
    }
}

/// A worker among the workers of a cluster, until it is dropped. With a lease of `L`, ten times in that time, and at least once a second, it
///
/// - raises its count, which moves its [`Deadline`] to 0.9 `L` after the moment before the count was sent;
/// - declares workers dead whose count it has seen unchanged for 1.1 `L`, and frees their partitions;
/// - claims free partitions up to its share of all, or gives back those above it.
///
/// So a partition of a worker that dies has another owner within about 1.3 `L`. All this runs on a thread and a connection of its own: no commit
/// delays it. Where the crawl has several databases, the worker does all that in each, for the partitions that are there, and its deadline moves
/// once all have its count. While it doesn't reach one of them it raises its count in none, so that others take all its partitions, unless they don't
/// reach it either. A member that is dropped without [`Member::leave`] falls silent, as a crash does.
#[derive(Debug)]
pub struct Member {
    id: i64,
    deadline: Deadline,
    answered: Answered,
    said: Option<UnboundedSender<Said>>,
    thread: Option<JoinHandle<()>>,
}

impl Member {
    /// Joins the workers of the crawl whose first database this is, under a name for people. The orders come from then on.
    pub fn join(address: Address, name: &str) -> Result<(Self, UnboundedReceiver<Order>), ClusterError> {
        let (member, orders) = Self::enter(address, name)?;
        member.begin();
        Ok((member, orders))
    }

    /// As [`Member::join`], and claims no partition before [`Member::begin`] is called.
    pub fn enter(address: Address, name: &str) -> Result<(Self, UnboundedReceiver<Order>), ClusterError> {
        let runtime = runtime()?;
        if clock::since_boot().is_none() {
            return Err(ClusterError::NoClock);
        }
        let (id, nodes, layout, lease) = runtime.block_on(enter(address, name))?;
        let now = clock::since_boot().ok_or(ClusterError::NoClock)?;
        let deadline = Deadline::default();
        let answered = Answered::default();
        answered.note(now);
        let (orders, received) = unbounded_channel();
        let (said, asked) = unbounded_channel();
        let state = State {
            id,
            lease,
            deadline: deadline.clone(),
            answered: answered.clone(),
            nodes,
            layout,
            at: 0,
            mine: Vec::new(),
            asked_back: HashSet::new(),
            returned: Vec::new(),
            may_claim: false,
            orders,
        };
        let thread = std::thread::Builder::new()
            .name("member".to_owned())
            .spawn(move || {
                runtime.block_on(state.run(asked));
                // A name may still be looked up.
                runtime.shutdown_background();
            })
            .map_err(ClusterError::Thread)?;
        Ok((Self { id, deadline, answered, said: Some(said), thread: Some(thread) }, received))
    }

    /// The worker's number.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Until when the worker may ask hosts.
    pub fn deadline(&self) -> Deadline {
        self.deadline.clone()
    }

    /// For how long not all databases have answered. Grows from one answer to the next, a second at most while all are well.
    pub fn silent_for(&self) -> Duration {
        clock::since_boot().map_or(Duration::MAX, |now| self.answered.age(now))
    }

    /// Claims partitions from now on.
    pub fn begin(&self) {
        self.say(Said::Begin);
    }

    /// Gives a partition to the others. Nothing may run for it any more.
    pub fn give_back(&self, part: i32) {
        self.say(Said::GiveBack(part));
    }

    /// Gives all partitions to the others and ends. Nothing may run for them any more. Where the database doesn't answer
    /// within [`ANSWER`], or was silent for that long before, the others take this worker for dead later.
    pub fn leave(mut self) {
        self.deadline.end();
        let most = if self.silent_for() < ANSWER { ANSWER } else { FAREWELL };
        self.say(Said::Leave(most));
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

/// One of the databases, as a member knows it.
struct Node {
    link: Link,
    observer: Observer,
    /// The number of partitions that are in it.
    partitions: usize,
    /// It didn't answer.
    is_away: bool,
}

/// Enters a worker in all databases of a crawl.
async fn enter(first: Address, name: &str) -> Result<(i64, Vec<Node>, Layout, Duration), ClusterError> {
    let mut all = open_all(first).await?;
    let first = Arc::clone(all.layout.first());
    let lease = all.terms.lease;
    let mut nodes = Vec::new();
    for (place, address) in all.layout.databases().iter().enumerate() {
        // Further connections: these wait for locks for a shorter time.
        let waiting_less = Arc::new(Address::clone(address).with_lock_timeout(lease / 10));
        let mut link = Link::new(waiting_less, None, Duration::ZERO);
        link.open().await.map_err(ClusterError::connections(address))?;
        nodes.push(Node {
            link,
            observer: Observer::new(lease),
            partitions: all.layout.parts(place).count(),
            is_away: false,
        });
    }
    let databases = i32::try_from(all.connections.len()).unwrap_or(i32::MAX);
    let failed = |error| ClusterError::server("enter this worker", &first, error);
    let id = 'numbers: loop {
        let rows = all.first().query(JOIN, &[&name, &databases]).await.map_err(failed)?;
        let Some(row) = rows.first() else {
            return Err(ClusterError::Changed { address: first.to_string() });
        };
        let id: i64 = row.get(0);
        for (connection, address) in all.each().skip(1) {
            let failed = |error| ClusterError::server("enter this worker", address, error);
            if connection.query(JOIN_FURTHER, &[&id, &name]).await.map_err(failed)?.is_empty() {
                // Of a worker that the first database doesn't know: it was restored to an earlier time. The next number may be free.
                continue 'numbers;
            }
        }
        break id;
    };
    Ok((id, nodes, all.layout, lease))
}

/// What the thread knows.
struct State {
    id: i64,
    lease: Duration,
    deadline: Deadline,
    answered: Answered,
    /// In the order of the layout.
    nodes: Vec<Node>,
    layout: Layout,
    /// The one that is being asked.
    at: usize,
    mine: Vec<Claim>,
    /// Those of them that the worker was asked to give back.
    asked_back: HashSet<i32>,
    /// Given back by the worker, not yet in the database.
    returned: Vec<Claim>,
    /// The worker has what it needs to crawl.
    may_claim: bool,
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
        let lease = self.lease;
        loop {
            let mut said = Vec::new();
            let stepped = {
                let mut step = pin!(tokio::time::timeout(lease / 2, self.step()));
                loop {
                    // Who leaves doesn't wait for a step that has no answer.
                    tokio::select! {
                        stepped = &mut step => break Some(stepped),
                        word = asked.recv() => match word {
                            Some(word @ (Said::Begin | Said::GiveBack(_))) => said.push(word),
                            Some(word @ Said::Leave(_)) => { said.push(word); break None; }
                            None => return,
                        },
                    }
                }
            };
            match stepped {
                None | Some(Ok(Ok(Standing::Member))) => {}
                Some(Ok(Ok(Standing::Gone))) => {
                    self.deadline.end();
                    self.order(Order::Gone);
                    return;
                }
                Some(Ok(Err(error))) => {
                    tracing::warn!("{} doesn't answer: {}", self.asked_now(), with_causes(&error));
                    self.note_away();
                }
                Some(Err(_)) => {
                    tracing::warn!("{} doesn't answer within {:?}", self.asked_now(), lease / 2);
                    self.note_away();
                }
            }
            if said.is_empty() {
                tokio::select! {
                    word = asked.recv() => match word {
                        Some(word) => said.push(word),
                        None => return,
                    },
                    () = tokio::time::sleep((lease / 10).min(BEATS)) => {}
                }
            }
            while let Ok(word) = asked.try_recv() {
                said.push(word);
            }
            for word in said {
                match word {
                    Said::Begin => self.may_claim = true,
                    Said::GiveBack(part) => self.take_back(part),
                    Said::Leave(most) => {
                        if !matches!(tokio::time::timeout(most, self.leave()).await, Ok(Ok(()))) {
                            tracing::warn!("the cluster's database wasn't informed that this worker ends");
                        }
                        return;
                    }
                }
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

    /// The database that was asked last, for people.
    fn asked_now(&self) -> String {
        let address = self.layout.databases().get(self.at).filter(|_| self.nodes.len() > 1);
        address.map_or_else(
            || "the cluster's database".to_owned(),
            |address| format!("the cluster's database {address}"),
        )
    }

    /// The database that was asked last didn't answer.
    fn note_away(&mut self) {
        if let Some(node) = self.nodes.get_mut(self.at) {
            node.is_away = true;
            node.link.close();
        }
    }

    /// The connection to a database, which is asked from now on.
    async fn connection(&mut self, place: usize) -> Result<&mut Connection, Error> {
        self.at = place;
        self.nodes[place].link.connection().await
    }

    /// One beat in each database, and what follows from what they show.
    async fn step(&mut self) -> Result<Standing, Error> {
        let (id, lease) = (self.id, self.lease);
        let Some(before) = clock::since_boot() else { return Ok(Standing::Gone) };
        // One that didn't answer comes first: as long as it doesn't, this worker is silent in all, and others take its partitions.
        let mut places: Vec<usize> = (0..self.nodes.len()).collect();
        places.sort_by_key(|place| !self.nodes[*place].is_away);
        for place in places {
            if self.connection(place).await?.query(BEAT, &[&id]).await?.is_empty() {
                return Ok(Standing::Gone);
            }
            self.nodes[place].is_away = false;
        }
        self.deadline.set(before + lease * 9 / 10);
        if let Some(now) = clock::since_boot() {
            self.answered.note(now);
        }
        while let Some(Claim { part, fence, .. }) = self.returned.last().copied() {
            let place = self.layout.place(part);
            self.connection(place).await?.query(GIVE_BACK, &[&part, &id, &fence]).await?;
            self.returned.pop();
        }
        for place in 0..self.nodes.len() {
            let Some(owned) = self.look(place).await? else { return Ok(Standing::Gone) };
            if self.may_claim {
                self.balance(place, &owned).await?;
            }
        }
        Ok(Standing::Member)
    }

    /// Looks at the workers in a database, and frees the partitions of those that are silent. Returns how many each owns; none if the system has no clock.
    async fn look(&mut self, place: usize) -> Result<Option<Vec<(i64, usize)>>, Error> {
        let (id, lease) = (self.id, self.lease);
        let rows = self.connection(place).await?.query(LOOK, &[]).await?;
        let Some(now) = clock::since_boot() else { return Ok(None) };
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
        let silent = self.nodes[place].observer.see(&beats, now);
        let connection = self.connection(place).await?;
        for (silent, beat) in silent {
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
        Ok(Some(owned))
    }

    /// Claims what this worker lacks of its share of the partitions in a database, or asks it to give back what it has above.
    async fn balance(&mut self, place: usize, owned: &[(i64, usize)]) -> Result<(), Error> {
        let id = self.id;
        let share = share(id, owned, self.nodes[place].partitions);
        let mut has = owned.iter().find(|(worker, _)| *worker == id).map_or(0, |(_, owned)| *owned);
        if has != self.mine_in(place).count() {
            // The answer to a claim was lost.
            let rows = self.connection(place).await?.query(OWNED, &[&id]).await?;
            has = rows.len();
            self.take(rows);
        }
        if has < share {
            let lacks = i64::try_from(share - has).unwrap_or(i64::MAX);
            let rows = self.connection(place).await?.query(CLAIM, &[&id, &lacks]).await?;
            self.take(rows);
        }
        let mut staying: Vec<i32> =
            self.mine_in(place).filter(|part| !self.asked_back.contains(part)).collect();
        for part in staying.split_off(share.min(staying.len())).into_iter().rev() {
            self.asked_back.insert(part);
            self.order(Order::GiveBack(part));
        }
        Ok(())
    }

    /// The partitions of this worker that are in a database.
    fn mine_in(&self, place: usize) -> impl Iterator<Item = i32> {
        self.mine.iter().map(|claim| claim.part).filter(move |part| self.layout.place(*part) == place)
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

    /// Gives everything back: first where an answer is to be expected. An error of one database keeps the others from nothing.
    async fn leave(&mut self) -> Result<(), Error> {
        let id = self.id;
        let mut places: Vec<usize> = (0..self.nodes.len()).collect();
        places.sort_by_key(|place| self.nodes[*place].is_away);
        let mut left = Ok(());
        for place in places {
            let leaving = async {
                let connection = self.connection(place).await?;
                // Before the partitions are free: a worker that has ended claims none.
                connection.query(LEAVE, &[&id]).await?;
                connection.query(FREE_MINE, &[&id]).await?;
                Ok(())
            };
            left = left.and(leaving.await);
        }
        left
    }
}

/// Frees the partitions of dead workers. A commit of theirs that reached the server in part may hold locks: its connection is cut then.
pub(super) async fn free(connection: &mut Connection) -> Result<(), Error> {
    match connection.query(FREE, &[]).await {
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            connection.query(CUT, &[]).await?;
            connection.query(FREE, &[]).await?;
            Ok(())
        }
        freed => freed.map(drop),
    }
}
