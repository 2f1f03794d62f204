//! What the database says of the whole crawl: its state, its workers, its figures.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::connection::{self, Connection, Parameters};
use super::database::block_on;
use super::layout::{All, Layout, open_all};
use super::schema::{self, COMMITS, MAIL_TREE, Plan, SENT_TREE, Terms};
use super::withdrawals::{self, Due};
use super::{Address, ClusterError, handover, moved};
use crate::commit::Totals;
use crate::config;
use crate::crawl_dir::Moved;
use crate::engine::{CRASHED, Steering};
use page::clock;
use page::url::FingerprintKey;

/// What the workers of a crawl are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The crawl is being made, or its making was interrupted.
    Making,
    /// Crawl.
    Running,
    /// Finish what is in flight, and end.
    Stopped,
    /// Nothing remains to be done.
    Complete,
    /// It was moved to a directory, and is continued there.
    Moved,
    /// A database is being added to the crawl, or that was interrupted.
    Adding,
}

impl State {
    /// Its name in the database and in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Making => "making",
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Complete => "complete",
            Self::Moved => "moved",
            Self::Adding => "adding",
        }
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        [Self::Making, Self::Running, Self::Stopped, Self::Complete, Self::Moved, Self::Adding]
            .into_iter()
            .find(|state| state.as_str() == name)
    }
}

/// A worker that lives, as far as the others know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerStatus {
    /// Its number.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Partitions that it owns.
    pub partitions: u64,
    /// URLs queued in them.
    pub queued: u64,
    /// Requests in flight.
    pub in_flight: u64,
}

/// A partition that has much to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartStatus {
    /// Its number.
    pub part: u32,
    /// The worker that owns it.
    pub owner: Option<i64>,
    /// URLs queued, as an owner said last.
    pub queued: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Rows of letters that it hasn't dealt with.
    pub letters: u64,
}

/// A server that follows the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standby {
    /// Its `application_name`.
    pub name: String,
    /// `streaming`, `catchup` ...; none where this role may not see that (`pg_read_all_stats`).
    pub state: Option<String>,
    /// `sync`, `quorum`, `potential` or `async`.
    pub sync: Option<String>,
    /// Bytes of the log that aren't on its disk yet.
    pub behind: Option<u64>,
}

/// A worker from whose archive something is still to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawalsDue {
    /// Its number; none for the archive that the crawl was imported with.
    pub id: Option<i64>,
    /// Its name; none where the database doesn't know it.
    pub name: Option<String>,
    /// Captures.
    pub captures: u64,
    /// Files that have to be searched for pages that were removed by `crawl cluster forget`.
    pub files: u64,
}

/// A worker that ended without giving its partitions back, and whose requests in flight aren't known yet: some may be missing from the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestsUnknown {
    /// Its number; 0 for one of the time before the crawl was moved.
    pub id: i64,
    /// Its name; none where the database doesn't know it.
    pub name: Option<String>,
    /// The partitions concerned.
    pub partitions: u64,
    /// Its directory is lost, as `crawl cluster lost` said: they won't be known any more.
    pub is_lost: bool,
}

/// Partitions that a status names.
const LONGEST: i64 = 5;

/// What the database says of the whole crawl.
#[derive(Debug, Clone)]
pub struct Status {
    /// What the workers are to do.
    pub state: State,
    /// Where it is continued, and since when, if it was moved.
    pub moved: Option<Moved>,
    /// The state before it was moved; otherwise the state.
    pub at_rest: State,
    /// The limit at which it ended, with its value.
    pub limit: Option<String>,
    /// Program and version that made it.
    pub program: String,
    /// Its settings and seeds, as in `crawl.toml`.
    pub settings: String,
    /// When it was made.
    pub started: Timestamp,
    /// Lease and partitions.
    pub terms: Terms,
    /// Its databases, with the number of partitions in each. The first one has the settings.
    pub databases: Vec<(String, u64)>,
    /// Partitions that nobody owns.
    pub free: u64,
    /// URLs queued, as the owners of the partitions said last.
    pub queued: u64,
    /// Rows of letters between partitions that aren't dealt with; a row has all letters that were on their way to a partition at once.
    pub letters: u64,
    /// What the crawl counted; `runs` is how often it was begun or continued, whichever workers its partitions had.
    pub totals: Totals,
    /// Its workers.
    pub workers: Vec<WorkerStatus>,
    /// The partitions with most to do: URLs queued, and letters that aren't dealt with. Five at most.
    pub longest: Vec<PartStatus>,
    /// The servers that follow the database, as far as it says so: managed services replicate in ways of their own.
    pub standbys: Vec<Standby>,
    /// Where withdrawn captures are still to be removed. A running worker does it within half a minute, one that has ended when it is
    /// started again with its directory.
    pub withdrawals: Vec<WithdrawalsDue>,
    /// Workers whose requests in flight aren't known. Such a worker hands them in when it is started again with its directory.
    pub requests_unknown: Vec<RequestsUnknown>,
    /// Reading a URL ended a process once. It may have been read since.
    pub has_crashed: bool,
    /// What users changed while it ran, as far as the workers have read it.
    pub steering: Steering,
}

const CRAWL: &str = "
select state, program, (extract(epoch from started) * 1000000)::bigint,
    (extract(epoch from clock_timestamp()) * 1000000)::bigint, fingerprint_key, settings, limit_reached, run, worked_ms
from crawl";

/// What a worker begins with.
pub(super) struct Begun {
    pub(super) state: State,
    pub(super) plan: Plan,
    pub(super) started: Timestamp,
    pub(super) terms: Terms,
    pub(super) layout: Layout,
    /// The number of this run, and how long it has worked.
    pub(super) worked: (i64, Duration),
}

/// Makes the tables of a crawl that nobody has seeded: all partitions belong to owner 0 under fence 1. [`init`](super::init()) does the rest.
pub fn make_tables(
    address: &Address,
    terms: Terms,
    plan: &Plan,
    single_server: bool,
) -> Result<(), ClusterError> {
    block_on(schema::create(address, terms, plan, single_server))
}

/// Ends the making of a crawl: workers may take its partitions.
pub fn free_partitions(address: &Address) -> Result<(), ClusterError> {
    block_on(schema::finish(address))
}

/// Reads what a worker begins with. The process follows the database's time of day from then on.
pub(super) fn begin(address: &Address) -> Result<Begun, ClusterError> {
    block_on(async {
        let (mut connection, terms) = schema::open(address).await?;
        let failed = |error| ClusterError::server("read the crawl's settings", address, error);
        // Twice: the first answer waits for the statement to be prepared.
        connection.query(CRAWL, &[]).await.map_err(failed)?;
        let rows = connection.query(CRAWL, &[]).await.map_err(failed)?;
        let answered = clock::since_boot().ok_or(ClusterError::NoClock)?;
        let row = rows.first().ok_or_else(|| ClusterError::Missing { address: address.to_string() })?;
        let damaged = |what| ClusterError::damaged(what, address);
        let time = |at| {
            Timestamp::from_microsecond(row.get(at)).map_err(ClusterError::damaged_by("its time", address))
        };
        clock::follow(time(3)?, answered);
        let key = FingerprintKey::from_bytes(row.get(4)).ok_or_else(|| damaged("its fingerprint key"))?;
        let plan = Plan { program: row.get(1), key, settings: row.get(5) };
        let state = State::of(row.get(0)).ok_or_else(|| damaged("its state"))?;
        let worked = Duration::from_millis(u64::try_from(row.get::<_, i64>(8)).unwrap_or_default());
        let worked = (row.get(7), worked);
        let started = time(2)?;
        let layout = Layout::read(&mut connection, address.clone(), terms).await?;
        Ok(Begun { state, plan, started, terms, layout, worked })
    })
}

/// The settings and seeds that the crawl was made with, as in `crawl.toml`.
pub fn settings(address: &Address) -> Result<String, ClusterError> {
    block_on(async {
        let (mut connection, _) = schema::open(address).await?;
        let failed = |error| ClusterError::server("read the crawl's settings", address, error);
        let rows = connection.query("select settings from crawl", &[]).await.map_err(failed)?;
        rows.first()
            .map(|row| row.get(0))
            .ok_or_else(|| ClusterError::Missing { address: address.to_string() })
    })
}

/// Has the workers of a crawl that is running finish what is in flight, and end. Returns the state before.
pub fn stop(address: &Address) -> Result<State, ClusterError> {
    block_on(async {
        let (mut connection, _) = schema::open(address).await?;
        let failed = |error| ClusterError::server("change the crawl's state", address, error);
        let sql = "
with before as (select state from crawl for update), stopped as (update crawl set state = 'stopped' where state = 'running')
select state from before";
        let rows = connection.query(sql, &[]).await.map_err(failed)?;
        let before = rows.first().and_then(|row| State::of(row.get(0)));
        before.ok_or_else(|| ClusterError::Missing { address: address.to_string() })
    })
}

/// Limits that a crawl continues with; none leaves one as it is, and some of none removes it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NewLimits {
    /// Pages of the crawl.
    pub pages: Option<Option<u64>>,
    /// Resources of the crawl.
    pub resources: Option<Option<u64>>,
    /// Bytes received by the crawl.
    pub bytes: Option<Option<u64>>,
    /// Time of a run.
    pub time: Option<Option<Duration>>,
    /// Requests a second.
    pub rate: Option<Option<f64>>,
    /// Bytes a second.
    pub bandwidth: Option<Option<u64>>,
}

/// Why a crawl can't be continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The database.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Its limits are in use.
    #[error("the limits of a crawl can't change while it runs: `crawl cluster stop DATABASE` first")]
    Running,
    /// Workers of another version are at work.
    #[error(
        "workers of `{theirs}` own parts of the crawl, and this is `{ours}`: run `crawl cluster stop DATABASE` first, then upgrade them"
    )]
    Version {
        /// The program that the crawl is of.
        theirs: String,
        /// This one.
        ours: String,
    },
    /// It is continued elsewhere.
    #[error(
        "the crawl was moved to {0}, and is continued there. Where that is deleted, or never asks a host again: `crawl cluster resume DATABASE --take-back`"
    )]
    Moved(String),
    /// The settings can't be written as TOML.
    #[error("the settings can't be written as TOML")]
    Toml(#[from] toml::ser::Error),
}

/// `$1`: one that was moved is taken back.
const RESUME: &str = "
update crawl set state = 'running', run = run + 1, worked_ms = 0, limit_reached = null
where state in ('stopped', 'complete') or state = 'moved' and $1";

/// As above, with other settings, or by another version of the program. Shares that were given for other limits go: what each partition has
/// stored remains, its number of pages and of resources.
const RESUME_WITH: &str = "
with resumed as (
    update crawl set state = 'running', run = run + 1, worked_ms = 0, limit_reached = null, settings = $1, program = $2
    where (state in ('stopped', 'complete') or state = 'moved' and $3) and not exists (select from part where owner is not null)
        and (databases = 1 or not exists (select from worker where alive))
    returning run
), emptied as (
    update share set pages = counted.pages, resources = counted.resources
    from unnest($4::int4[], $5::int8[], $6::int8[]) as counted(part, pages, resources)
    where counted.part = share.part and exists (select from resumed)
)
select run from resumed";

const OWNED: &str = "select exists (select from part where owner is not null)";

const COUNTED: &str = "
select part, coalesce((totals ->> 'pages')::int8, 0), coalesce((totals ->> 'resources')::int8, 0)
from (select part, convert_from(value, 'UTF8')::json as totals from kv where tree = 0 and key = 'totals') as counted";

/// Lets workers of this program (name and version) continue a crawl that is stopped or complete, with other limits where some are given. A new
/// run begins: its time counts from then on. Returns the state before. Changes nothing where the crawl runs. One that was moved to a directory is
/// refused unless it is taken back.
pub fn resume(
    address: &Address,
    program: &str,
    new: NewLimits,
    takes_back: bool,
) -> Result<State, ResumeError> {
    block_on(async {
        let mut all = open_all(address.clone()).await?;
        let failed = |error| ClusterError::server("continue the crawl", address, error);
        let connection = all.first();
        let rows =
            connection.query("select state, settings, program from crawl", &[]).await.map_err(failed)?;
        let row = rows.first().ok_or_else(|| ClusterError::Missing { address: address.to_string() })?;
        let damaged = || ClusterError::damaged("its state", address);
        let before = State::of(row.get(0)).ok_or_else(damaged)?;
        if before == State::Making {
            return Err(ClusterError::Making.into());
        }
        if before == State::Moved && !takes_back {
            return Err(ResumeError::Moved(moved::words(connection).await.map_err(failed)?));
        }
        if before == State::Adding {
            return Err(ClusterError::Adding { address: address.to_string() }.into());
        }
        let theirs: String = row.get(2);
        if new == NewLimits::default() && theirs == program {
            connection.query(RESUME, &[&takes_back]).await.map_err(failed)?;
            return Ok(before);
        }
        let (mut settings, record) = config::read_record_text(row.get(1)).map_err(ClusterError::Settings)?;
        let limits = &mut settings.limits;
        limits.max_pages = new.pages.unwrap_or(limits.max_pages);
        limits.max_resources = new.resources.unwrap_or(limits.max_resources);
        limits.max_bytes = new.bytes.unwrap_or(limits.max_bytes);
        limits.max_time = new.time.unwrap_or(limits.max_time);
        let pace = &mut settings.pace;
        pace.max_rate = new.rate.unwrap_or(pace.max_rate);
        pace.max_bandwidth = new.bandwidth.unwrap_or(pace.max_bandwidth);
        let text = config::to_toml(&settings, &record)?;
        let (mut parts, mut pages, mut resources) = (Vec::<i32>::new(), Vec::<i64>::new(), Vec::<i64>::new());
        let mut is_owned = false;
        for (place, (connection, address)) in all.each().enumerate() {
            let failed = |error| ClusterError::server("continue the crawl", address, error);
            for row in connection.query(COUNTED, &[]).await.map_err(failed)? {
                parts.push(row.get(0));
                pages.push(row.get(1));
                resources.push(row.get(2));
            }
            // The first database looks at its own in the statement that continues the crawl.
            if place > 0 {
                let owned = connection.query(OWNED, &[]).await.map_err(failed)?;
                is_owned |= owned.first().is_some_and(|row| row.get(0));
            }
        }
        let resumed = if is_owned {
            Vec::new()
        } else {
            let parameters: Parameters<'_> = &[&text, &program, &takes_back, &parts, &pages, &resources];
            all.first().query(RESUME_WITH, parameters).await.map_err(failed)?
        };
        match resumed.first() {
            Some(_) => Ok(before),
            None if theirs == program => Err(ResumeError::Running),
            None => Err(ResumeError::Version { theirs, ours: program.to_owned() }),
        }
    })
}

/// The first number of [`COMMITS`], for each database.
pub(super) fn commits(address: &Address) -> Result<Vec<i64>, ClusterError> {
    block_on(async {
        let mut all = open_all(address.clone()).await?;
        let mut commits = Vec::new();
        for (connection, address) in all.each() {
            let failed = |error| ClusterError::server("read the crawl's state", address, error);
            let rows = connection.query(COMMITS, &[]).await.map_err(failed)?;
            commits.push(rows.first().map(|row| row.get(0)).unwrap_or_default());
        }
        Ok(commits)
    })
}

/// Where a crawl of the state `moved` is continued, and since when, in words.
pub(super) fn moved_to(address: &Address) -> Result<String, ClusterError> {
    block_on(async {
        let (mut connection, _) = schema::open(address).await?;
        let failed = |error| ClusterError::server("read the crawl's state", address, error);
        moved::words(&mut connection).await.map_err(failed)
    })
}

const CRASHES: &str = "select exists (select from kv where tree = 0 and key = $1)";
const NAME: &str = "select name from worker where id = $1";

/// Reads what the database says of the whole crawl. Costs a scan of the partitions, not of the crawl.
pub fn status(address: &Address) -> Result<Status, ClusterError> {
    block_on(read_status(address))
}

async fn read_status(address: &Address) -> Result<Status, ClusterError> {
    let mut all = open_all(address.clone()).await?;
    let failed = |error| ClusterError::server("read the crawl's state", address, error);
    let connection = all.first();
    let rows = connection.query(CRAWL, &[]).await.map_err(failed)?;
    let row = rows.first().ok_or_else(|| ClusterError::Missing { address: address.to_string() })?;
    let state = State::of(row.get(0)).ok_or_else(|| ClusterError::damaged("its state", address))?;
    let run = u64::try_from(row.get::<_, i64>(7)).unwrap_or_default();
    let started = Timestamp::from_microsecond(row.get(2));
    let started = started.map_err(ClusterError::damaged_by("its time", address))?;
    let mark = if state == State::Moved { moved::read(connection).await.map_err(failed)? } else { None };
    let at_rest = mark.as_ref().and_then(|mark| State::of(&mark.was)).unwrap_or(state);
    let mut workers: BTreeMap<i64, WorkerStatus> = BTreeMap::new();
    for row in connection.query("select id, name from worker where alive", &[]).await.map_err(failed)? {
        let (id, name) = (row.get(0), row.get(1));
        workers.insert(id, WorkerStatus { id, name, partitions: 0, queued: 0, in_flight: 0 });
    }
    let mut status = Status {
        state,
        moved: mark.map(|mark| mark.moved),
        at_rest,
        limit: row.get::<_, Option<String>>(6).filter(|_| at_rest == State::Complete),
        program: row.get(1),
        settings: row.get(5),
        started,
        terms: all.terms,
        databases: Vec::new(),
        free: 0,
        queued: 0,
        letters: 0,
        totals: Totals::default(),
        workers: Vec::new(),
        longest: Vec::new(),
        standbys: Vec::new(),
        withdrawals: Vec::new(),
        requests_unknown: Vec::new(),
        has_crashed: false,
        steering: Steering::default(),
    };
    let mut due = BTreeMap::new();
    let mut unknown = BTreeMap::new();
    let All { connections, layout, .. } = &mut all;
    for (place, (connection, address)) in connections.iter_mut().zip(layout.databases()).enumerate() {
        let failed = |error| ClusterError::server("read the crawl's state", address, error);
        let partitions = layout.parts(place).count() as u64;
        status.databases.push((address.to_string(), partitions));
        let totals = add_database(connection, &mut status, &mut workers, &mut due).await.map_err(failed)?;
        let left = handover::left(connection).await;
        for of in left.map_err(|error| ClusterError::server("read the crawl's state", address, error))? {
            if !workers.contains_key(&of.worker) {
                *unknown.entry((of.worker, of.is_lost)).or_insert(0_u64) += 1;
            }
        }
        for value in totals {
            let read = serde_json::from_slice(&value);
            status.totals.add(&read.map_err(ClusterError::damaged_by("its totals", address))?);
        }
    }
    // Each partition counts its owners.
    if status.totals.runs > 0 {
        status.totals.runs = run;
    }
    status.workers = workers.into_values().collect();
    status.longest.sort_by_key(|part| (std::cmp::Reverse(part.queued + part.letters), part.part));
    status.longest.truncate(usize::try_from(LONGEST).unwrap_or(usize::MAX));
    let connection = all.first();
    for ((id, is_lost), partitions) in unknown {
        let rows = connection.query(NAME, &[&Some(id)]).await.map_err(failed)?;
        let name = rows.first().map(|row| row.get(0));
        status.requests_unknown.push(RequestsUnknown { id, name, partitions, is_lost });
    }
    for (id, Due { captures, files }) in due {
        let rows = connection.query(NAME, &[&id]).await.map_err(failed)?;
        let name = rows.first().map(|row| row.get(0));
        status.withdrawals.push(WithdrawalsDue { id, name, captures, files });
    }
    Ok(status)
}

/// Adds what one of the databases says of its partitions. Returns what they counted, as they stored it.
async fn add_database(
    connection: &mut Connection,
    status: &mut Status,
    workers: &mut BTreeMap<i64, WorkerStatus>,
    due: &mut BTreeMap<Option<i64>, Due>,
) -> Result<Vec<Vec<u8>>, connection::Error> {
    let sql = "
select part.owner, count(*), coalesce(sum(queued), 0)::bigint,
    coalesce(sum(in_flight) filter (where standing.fence = part.fence), 0)::bigint
from standing right join part on standing.part = part.id group by part.owner";
    let number = |row: &tokio_postgres::Row, at| u64::try_from(row.get::<_, i64>(at)).unwrap_or_default();
    for row in connection.query(sql, &[]).await? {
        status.queued += number(&row, 2);
        match row.get::<_, Option<i64>>(0).and_then(|owner| workers.get_mut(&owner)) {
            Some(worker) => {
                worker.partitions += number(&row, 1);
                worker.queued += number(&row, 2);
                worker.in_flight += number(&row, 3);
            }
            None => status.free += number(&row, 1),
        }
    }
    status.letters += letters(connection).await?;
    status.longest.append(&mut longest(connection).await?);
    status.standbys.append(&mut standbys(connection).await);
    for (id, Due { captures, files }) in withdrawals::due(connection).await? {
        let due = due.entry(id).or_default();
        due.captures += captures;
        due.files += files;
    }
    let crashed = connection.query(CRASHES, &[&CRASHED]).await?;
    status.has_crashed |= crashed.first().is_some_and(|row| row.get(0));
    for row in connection.query("select value from kv where tree = 0 and key = 'steering'", &[]).await? {
        // What can't be read is reported by the partition that it is of.
        status.steering.add(serde_json::from_slice(row.get(0)).unwrap_or_default());
    }
    let rows = connection.query("select value from kv where tree = 0 and key = 'totals'", &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

async fn standbys(connection: &mut Connection) -> Vec<Standby> {
    let sql = "
select coalesce(application_name, ''), state, sync_state, pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn)::int8
from pg_stat_replication order by 1";
    // A service that doesn't offer this has its own way to say so.
    let rows = connection.query(sql, &[]).await.unwrap_or_default();
    let read = rows.iter().map(|row| Standby {
        name: row.get(0),
        state: row.get(1),
        sync: row.get(2),
        behind: row.get::<_, Option<i64>>(3).map(|behind| u64::try_from(behind).unwrap_or_default()),
    });
    read.collect()
}

async fn longest(connection: &mut Connection) -> Result<Vec<PartStatus>, connection::Error> {
    let sql = "
with mail as (select part, count(*) as letters from kv where tree = $1 group by part)
select part.id, owner, coalesce(queued, 0), case when standing.fence = part.fence then in_flight else 0 end, coalesce(letters, 0)
from mail right join (standing right join part on standing.part = part.id) on mail.part = part.id
where coalesce(queued, 0) + coalesce(letters, 0) > 0
order by coalesce(queued, 0) + coalesce(letters, 0) desc, part.id limit $2";
    let rows = connection.query(sql, &[&MAIL_TREE, &LONGEST]).await?;
    let number = |row: &tokio_postgres::Row, at| u64::try_from(row.get::<_, i64>(at)).unwrap_or_default();
    let read = rows.iter().map(|row| PartStatus {
        part: u32::try_from(row.get::<_, i32>(0)).unwrap_or_default(),
        owner: row.get(1),
        queued: number(row, 2),
        in_flight: number(row, 3),
        letters: number(row, 4),
    });
    Ok(read.collect())
}

async fn letters(connection: &mut Connection) -> Result<u64, connection::Error> {
    let rows =
        connection.query("select count(*) from kv where tree in ($1, $2)", &[&MAIL_TREE, &SENT_TREE]).await?;
    Ok(rows.first().map_or(0, |row| u64::try_from(row.get::<_, i64>(0)).unwrap_or_default()))
}

/// The shortest and the longest lease that make sense: a beat is a tenth of it.
pub(super) const LEASES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(10));
