//! Which worker has which IP address, where the hosts of one address take turns (`--per-ip`), and which list of hosts (`pace.group`). A list is in
//! the table under an address that no machine has. The hosts of a registrable domain are in one partition, whose engine has them take turns.
//!
//! A row of `address` names the worker that has it. A worker asks no address that it hasn't, and gives it back once the gap after its last request is
//! over. That of a dead worker is free: it counts as dead only when its deadline is over. Whoever takes that over lets it rest, since nobody knows
//! when it was asked last. No clock of another machine counts.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;

use super::connection::{Error, Link, Parameters};
use super::{Address, ClusterError};
use crate::causes::with_causes;
use crate::config::Settings;
use crate::engine::AddressPool;
use page::clock;

/// Gives the worker the addresses that nobody has, unless another one is the next for them. The worker's row is locked for the time being: nobody
/// declares it dead in between. A holder counts as dead where it is seen dead: one that isn't seen may have joined since the statement began.
const TAKE: &str = "
with me as (select id from worker where id = $1 and alive for share)
insert into address as had (machine, holder, turn)
select asked.machine, me.id, $2 from me, unnest($3::inet[]) as asked(machine) order by asked.machine
on conflict (machine) do update set
    rests = had.rests or (had.holder is not null and had.holder <> $1),
    turn = case when had.holder = $1 then had.turn else $2 end,
    holder = $1,
    next = case when had.next = $1 then null else had.next end
where (had.holder is null or had.holder = $1 or had.holder in (select id from worker where not alive))
    and (had.holder = $1 or had.next is null or had.next = $1 or had.next in (select id from worker where not alive))
returning machine, turn, rests";

/// Notes the worker as the next for addresses that others have, where no one is.
const WAIT: &str = "
with asked as (
    select address.machine from address where machine = any($2::inet[]) and holder <> $1
    and (next is null or next in (select id from worker where not alive)) order by machine for update
)
update address set next = $1 from asked where address.machine = asked.machine";

/// Gives addresses back, each under the number of the question that it was given for: a statement that comes late gives back nothing else. `$4`: they have
/// rested, if they had to.
const LEAVE: &str = "
with mine as (
    select address.machine from address join unnest($2::inet[], $3::int8[]) as asked(machine, turn)
    on address.machine = asked.machine and address.turn = asked.turn
    where holder = $1 order by address.machine for update of address
)
update address set holder = null, rests = rests and not $4 from mine where address.machine = mine.machine";

/// Waits no longer for addresses.
const WAIT_NO_MORE: &str = "
with mine as (
    select machine from address where next = $1 and machine = any($2::inet[]) order by machine for update
)
update address set next = null from mine where address.machine = mine.machine";

const CLEAN: &str = "delete from address where holder is null and next is null and not rests";

const LOOK: &str = "
select machine, turn, holder is not distinct from $1, next is not null and next <> $1 and next not in (select id from worker where not alive)
from address where holder = $1 or next = $1";

/// How often the database is asked, where an address is wanted or had, and where none is.
const STEP: Duration = Duration::from_millis(100);
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// How long a worker that ends waits until its addresses are given back.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(30);

/// A worker's connection for its addresses.
pub(super) struct AddressKeeper {
    link: Link,
    worker: i64,
    pool: Arc<AddressPool>,
    /// How often it has asked.
    turn: i64,
}

impl AddressKeeper {
    /// Where the settings have hosts of different partitions take turns.
    pub(super) fn of(
        settings: &Settings,
        address: Arc<Address>,
        worker: i64,
    ) -> Option<(Self, Arc<AddressPool>)> {
        settings.pace.host_groups().is_across_partitions().then(|| {
            let pool = Arc::new(AddressPool::new(settings.pace.delay));
            let link = Link::new(address, None, Duration::ZERO);
            (Self { link, worker, pool: Arc::clone(&pool), turn: 0 }, pool)
        })
    }

    pub(super) async fn connect(&mut self, address: &Address) -> Result<(), ClusterError> {
        self.link.open().await.map_err(ClusterError::connections(address))
    }

    /// Takes addresses and gives them back, until the task is aborted.
    #[expect(clippy::disallowed_methods, reason = "looks at the database every now and then")]
    pub(super) async fn run(mut self) {
        loop {
            match tokio::time::timeout(ANSWER, self.step()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!("addresses can't be taken or given back: {}", with_causes(&error));
                    self.link.close();
                }
                Err(_) => self.link.close(),
            }
            let is_idle = self.pool.is_empty();
            tokio::time::sleep(if is_idle { Duration::ZERO } else { STEP }).await;
            if is_idle {
                tokio::select! {
                    () = self.pool.wanted() => {}
                    () = tokio::time::sleep(LOOK_AGAIN) => {}
                }
            }
        }
    }

    /// Waits until the addresses of a worker that ends are given back, while another task does that: else others would let them rest as those of a dead one. Not
    /// for longer than it takes where the gap is a usual one.
    #[expect(clippy::disallowed_methods, reason = "looks whether another task is through")]
    pub(super) async fn finish(pool: &AddressPool) {
        for _ in 0..(PATIENCE.as_millis() / STEP.as_millis()) {
            if pool.is_empty() {
                return;
            }
            tokio::time::sleep(STEP).await;
        }
    }

    async fn step(&mut self) -> Result<(), Error> {
        let Some(now) = clock::since_boot() else { return Ok(()) };
        let left = self.pool.leave(now);
        if !left.is_empty() {
            self.give_back(&left, true).await?;
            for (address, _) in left {
                self.pool.returned(address);
            }
        }
        let wanted = self.pool.wants(now);
        if !wanted.is_empty() {
            self.take(&wanted).await?;
        }
        self.look(&wanted).await
    }

    /// Runs a statement; none where it isn't known whether the standby has what it did.
    async fn ask(
        &mut self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Option<Vec<Row>>, Error> {
        let connection = self.link.connection().await?;
        connection.has_warned();
        let rows = connection.query(sql, parameters).await?;
        Ok((!connection.has_warned()).then_some(rows))
    }

    async fn take(&mut self, wanted: &[IpAddr]) -> Result<(), Error> {
        self.turn += 1;
        let (worker, turn) = (self.worker, self.turn);
        let Some(rows) = self.ask(TAKE, &[&worker, &turn, &wanted]).await? else { return Ok(()) };
        let Some(now) = clock::since_boot() else { return Ok(()) };
        for row in &rows {
            self.pool.given(row.get(0), row.get(1), row.get(2), now);
        }
        if rows.len() < wanted.len() {
            self.ask(WAIT, &[&worker, &wanted]).await?;
        }
        Ok(())
    }

    async fn give_back(&mut self, left: &[(IpAddr, i64)], has_rested: bool) -> Result<(), Error> {
        let (addresses, turns): (Vec<IpAddr>, Vec<i64>) = left.iter().copied().unzip();
        let worker = self.worker;
        self.ask(LEAVE, &[&worker, &addresses, &turns, &has_rested]).await?;
        self.ask(CLEAN, &[]).await?;
        Ok(())
    }

    /// Looks who waits for this worker's addresses, and gives back what it has or waits for without knowing: of a question whose answer was lost.
    async fn look(&mut self, wanted: &[IpAddr]) -> Result<(), Error> {
        let worker = self.worker;
        let Some(rows) = self.ask(LOOK, &[&worker]).await? else { return Ok(()) };
        let (mut unknown, mut waits) = (Vec::new(), Vec::new());
        for row in rows {
            let (address, turn): (IpAddr, i64) = (row.get(0), row.get(1));
            let (is_mine, has_others): (bool, bool) = (row.get(2), row.get(3));
            if is_mine && !self.pool.seen(address, turn, has_others) {
                unknown.push((address, turn));
            } else if !is_mine && !wanted.contains(&address) {
                waits.push(address);
            }
        }
        if !unknown.is_empty() {
            self.give_back(&unknown, false).await?;
        }
        if !waits.is_empty() {
            self.ask(WAIT_NO_MORE, &[&worker, &waits]).await?;
        }
        Ok(())
    }
}
