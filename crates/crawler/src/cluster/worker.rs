//! A worker: it takes partitions, crawls each, and gives them back.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::address::ANSWER;
use super::addresses::AddressKeeper;
use super::archive::{self, Archive, Moving};
use super::database;
use super::handover::Handover;
use super::limits::{Keeper, Limits, Reached};
use super::mail::{self, Carrier};
use super::partition::{self, Counted, Shared};
use super::rate::Pacer;
use super::rounds::{Outboxes, Rounds};
use super::state::{self, Begun, State};
use super::withdrawals::Withdrawals;
use super::{
    Address, ArchiveError, ArchivePlace, Claim, ClusterError, Database, Member, Network, Order, PgStore,
};
use crate::commit::{CommitError, Totals, read_warc_end, warc_end_key};
use crate::config::{self, ConfigError, Settings, WarcDedup};
use crate::crawl_dir::CrawlDir;
use crate::engine::{Allowance, Portions, Standing, Stop};
use crate::intents::Intents;
use crate::job::{JobError, Prepared, page_rules};
use crate::nofollow;
use crate::pauses::PauseLog;
use crate::portion::Portion;
use crate::post::{self, Series};
use crate::robots_cache::large_files;
use crate::store::{Store as _, StoreError, Tree};
use crate::suspects::{Suspects, Trials};
use crate::visit::PageRules;
use crate::warc;
use page::clock::Clock;
use page::url::FingerprintKey;

/// How long the database may be out of reach before a worker gives up. It asks no host meanwhile. And how long while it starts.
const PATIENCE: Duration = Duration::from_hours(1);
const PATIENCE_AT_START: Duration = Duration::from_secs(2);

/// How often it is looked whether a worker that was asked to end can't, and how often its figures are given.
const LOOK: Duration = Duration::from_millis(200);
const REPORT: Duration = Duration::from_secs(1);

/// Name of the file in a worker's directory that says which crawl it is of.
pub(super) const CRAWL_FILE: &str = "cluster-crawl";

/// How long requests and commits in flight may take when a worker has to end at once.
const GRACE: Duration = Duration::from_secs(5);

/// Threads that crawl, and those on which they do what takes longer: both may wait for what they read in the database. They are as many whatever the worker owns: a
/// commit waits for its answer without a thread. On the second, only the reading of a sitemap, of which there is one at a time, waits for what others do there.
const THREADS: usize = 12;
const LONGER: usize = 10;

/// Threads that make requests, and those that decode and store large responses.
const NETWORK: (usize, usize) = (2, 3);

/// What a worker is started with.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// The crawl's database.
    pub address: Address,
    /// A name for people.
    pub name: String,
    /// Program and version: the crawl must have been made by the same.
    pub program: String,
    /// Where its archive goes.
    pub archive: ArchivePlace,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The crawl is complete.
    Complete,
    /// The whole crawl was stopped, by `crawl cluster stop`.
    CrawlStopped,
    /// This worker was asked to end; the others go on.
    Stopped,
    /// The same, and the database was silent: what it hasn't confirmed may have to be fetched again.
    Silent,
    /// This worker was asked to end at once.
    Forced,
}

/// What a worker does, for people.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures {
    /// Its number; another one after the others took it for dead.
    pub worker: i64,
    /// Partitions that it crawls.
    pub partitions: u64,
    /// URLs queued in them.
    pub queued: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// What was counted in these partitions, by this worker and those before.
    pub totals: Totals,
    /// What was counted since the process began, by this worker alone.
    pub done: Totals,
    /// How long it may ask hosts without an answer of the database; none while it may not.
    pub lease: Option<Duration>,
    /// How long ago the database last answered; see [`Member::silent_for`].
    pub silent: Duration,
    /// Commits of partitions that the database has confirmed since the process began.
    pub commits: u64,
    /// The time that they took, each counted.
    pub commit_time: Duration,
}

/// Why a worker can't work, or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// The database.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The crawl is of another version.
    #[error(
        "the crawl is of `{theirs}`, and this is `{ours}`: all workers of a crawl need the same version. To upgrade them, run `crawl cluster stop DATABASE`, and `crawl cluster resume DATABASE` with the new one"
    )]
    Version {
        /// The program that made the crawl.
        theirs: String,
        /// This one.
        ours: String,
    },
    /// The crawl is stopped.
    #[error("the crawl is stopped; `crawl cluster resume URL` continues it")]
    CrawlStopped,
    /// It is continued elsewhere.
    #[error("the crawl was moved to {0}, and is continued there")]
    Moved(String),
    /// The worker's directory has files of another crawl.
    #[error("{} has the archive of another crawl; give this worker another directory", .0.display())]
    OtherCrawl(PathBuf),
    /// The seeds in the database.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The settings.
    #[error(transparent)]
    Prepare(#[from] JobError),
    /// The archive in the worker's directory.
    #[error("the archive can't be written")]
    Warc(#[from] warc::Error),
    /// Where the archive goes.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The database, or the worker's disk.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system.
    #[error("no threads can be started")]
    Threads(#[source] std::io::Error),
}

/// How a membership ended.
enum Session {
    Ended(Ended),
    /// The others took this worker for dead: its partitions are theirs.
    Gone,
}

/// Works on a crawl until it is complete or stopped, or `stop` says so. `tell` is called about once a second. `dir` is for the archive and
/// the pauses that sites ask for.
pub fn work(
    options: &WorkerOptions,
    dir: &CrawlDir,
    stop: &watch::Receiver<Stop>,
    tell: &mut dyn FnMut(Figures),
) -> Result<Ended, WorkError> {
    // Two runtimes: the threads that make requests never wait for the database.
    let archive = Archive::new(&options.archive, dir)?;
    let runtime = |(threads, longer), name: &str| {
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(threads).max_blocking_threads(longer).thread_name(name).enable_all().build()
    };
    let network = runtime(NETWORK, "network").map_err(WorkError::Threads)?;
    let crawling = runtime((THREADS, LONGER), "crawl").map_err(WorkError::Threads)?;
    // Neither of them drives what reports and hears signals: all their threads may wait for the database.
    let own = database::runtime()?;
    let mut tally = Tally::default();
    let ended = loop {
        let worked = session(options, (dir, &archive), (&own, &crawling, &network), stop, (&mut tally, tell));
        match worked {
            Ok(Session::Ended(ended)) => break Ok(ended),
            Ok(Session::Gone) => {
                tracing::warn!("the others took this worker for dead; it joins again");
            }
            Err(error) => break Err(error),
        }
    };
    // What still runs holds nothing that has to be saved.
    own.shutdown_background();
    network.shutdown_background();
    crawling.shutdown_background();
    ended
}

/// Works until the crawl or the worker ends, or until the others take it for dead.
fn session(
    options: &WorkerOptions,
    (dir, archive): (&CrawlDir, &Archive),
    (own, crawling, network): (&Runtime, &Runtime, &Runtime),
    stop: &watch::Receiver<Stop>,
    (tally, tell): (&mut Tally, &mut dyn FnMut(Figures)),
) -> Result<Session, WorkError> {
    let mut begun = state::begin(&options.address)?;
    let is_ours = begun.plan.program == options.program;
    if is_ours && !matches!(begun.state, State::Making | State::Adding) {
        claim(dir, archive, &begun.plan.key, crawling)?;
    }
    if is_ours && matches!(begun.state, State::Running | State::Stopped | State::Complete) {
        let mut handover = Handover::new(dir.root(), begun.terms.partitions, None);
        let mut links = Withdrawals::new(&begun.layout, &archive.dir);
        if crawling.block_on(handover.carry_out_and_resume(links.links())) {
            begun = state::begin(&options.address)?;
        }
    }
    let Begun { state, plan, started, terms, layout, worked } = begun;
    let mut withdrawals = Withdrawals::new(&layout, &archive.dir);
    if is_ours && !matches!(state, State::Making | State::Adding) {
        // Also where the crawl rests: what wasn't committed may be of pages that have to go.
        cut_archive(&archive.dir, &Arc::new(Database::open(options.address.clone(), PATIENCE_AT_START)?))?;
        crawling.block_on(withdrawals.carry_out());
    }
    drop(withdrawals);
    if is_ours && archive.is_moved() && matches!(state, State::Complete | State::Stopped) {
        // What an earlier start couldn't move.
        let database = Arc::new(Database::open(options.address.clone(), PATIENCE_AT_START)?);
        crawling.block_on(archive.moving(dir, &database).finish());
    }
    match state {
        State::Making => return Err(ClusterError::Making.into()),
        State::Adding => {
            return Err(ClusterError::Adding { address: options.address.to_string() }.into());
        }
        State::Stopped => return Err(WorkError::CrawlStopped),
        State::Moved => return Err(WorkError::Moved(state::moved_to(&options.address)?)),
        State::Complete => return Ok(Session::Ended(Ended::Complete)),
        State::Running => {}
    }
    if !is_ours {
        return Err(WorkError::Version { theirs: plan.program, ours: options.program.clone() });
    }
    let (settings, record) = config::read_record_text(&plan.settings).map_err(ClusterError::Settings)?;
    let settings = Settings { out: dir.root().to_owned(), ..settings };
    let seeds = record.seed_urls()?;
    let prepared = Prepared::new(&settings, &seeds)?;
    let pauses = Arc::new(PauseLog::open(dir.root(), Clock::system())?);
    let (member, orders) = Member::enter(options.address.clone(), &options.name)?;
    let address = options.address.clone().of_worker(member.id());
    let database = match Database::open_whole(address, PATIENCE) {
        Ok(database) => Arc::new(database),
        Err(error) => {
            member.leave();
            return Err(error.into());
        }
    };
    let layout = Arc::clone(database.layout());
    let mut withdrawals = Withdrawals::new(&layout, &archive.dir);
    let fetch = prepared.fetch.noting(Arc::clone(&pauses)).keeping_to(member.deadline());
    let mut seed_hosts: HashMap<u32, HashSet<Box<str>>> = HashMap::new();
    for host in prepared.seed_hosts {
        seed_hosts.entry(post::partition(&host, terms.partitions)).or_default().insert(host);
    }
    let key = plan.key;
    let mut keeper = Limits::of(&settings).map(|limits| Keeper::new(&layout, limits, worked));
    let (mut pacer, pool) = Pacer::of(&settings, Arc::clone(layout.first())).unzip();
    let (mut keeper_of_addresses, addresses) =
        AddressKeeper::of(&settings, Arc::clone(layout.first()), member.id()).unzip();
    let mut carrier = Carrier::new(Arc::clone(&layout));
    // On the runtime that they are used on, which drives them.
    let connected = own.block_on(async {
        carrier.connect().await?;
        withdrawals.connect(&layout).await?;
        if let Some(keeper) = &mut keeper {
            keeper.connect(&layout).await?;
            let looked = keeper.look(&HashMap::new()).await;
            looked.map_err(|error| {
                ClusterError::server("read what the crawl counted", layout.first(), error)
            })?;
        }
        if let Some(pacer) = &mut pacer {
            pacer.connect(layout.first()).await?;
        }
        if let Some(keeper) = &mut keeper_of_addresses {
            keeper.connect(layout.first()).await?;
        }
        Ok::<_, ClusterError>(())
    });
    if let Err(error) = connected {
        member.leave();
        return Err(error.into());
    }
    let pacing = pacer.map(|pacer| own.spawn(pacer.run()));
    let sharing = keeper_of_addresses.map(|keeper| own.spawn(keeper.run()));
    let (longest, timeout) = (settings.limits.max_url_length, settings.fetch.timeout);
    let intents = Intents::of_worker(dir.root(), member.id(), timeout, longest)
        .map_err(|source| StoreError::Io { path: dir.root().to_owned(), source })?;
    let intents = Arc::new(intents);
    // One for all partitions: it bounds the memory of what is read.
    let suspects = Suspects::open(dir.root(), Trials::new(&prepared.run.1))?;
    let pages = PageRules { index: false, suspects, ..page_rules(&settings, prepared.selectors, key) };
    let pages = Arc::new(pages);
    let shared = Arc::new(Shared {
        scope: prepared.scope,
        pages: Arc::clone(&pages),
        seed_hosts,
        run: prepared.run,
        key,
        network: Network::new(fetch, network.handle().clone()),
        pauses,
        intents,
        deadline: member.deadline(),
        pool,
        addresses,
        warc: archive.dir.clone(),
        moves_files: archive.is_moved(),
        bodies: (settings.warc.dedup != WarcDedup::Off).then(Arc::default),
        started,
        partitions: terms.partitions,
        opening: Semaphore::new(partition::OPENING),
        origins: Portion::whole(usize::try_from(settings.limits.origin_cache).unwrap_or(usize::MAX)),
        robots_lately: large_files(),
        portions: Portions::default(),
        rotation: Arc::default(),
        settings,
    });
    let moving = archive.moving(dir, &database);
    let outboxes = Outboxes::default();
    let reached = keeper.as_ref().map(Keeper::reached);
    let (states, read_states) = unbounded_channel();
    let rounds = Rounds {
        withdrawals,
        handover: Handover::new(dir.root(), terms.partitions, Some(member.id())),
        carrier,
        keeper,
        outboxes: outboxes.clone(),
        states,
    };
    let rounds = own.spawn(rounds.run());
    let mut owner = Owner {
        shared,
        database,
        crawling: crawling.handle().clone(),
        moving,
        reached,
        tally: std::mem::take(tally),
        member,
        partitions: HashMap::new(),
        outboxes,
        running: JoinSet::new(),
        ending: None,
        is_asked: false,
        give_up_at: None,
        failed: None,
    };
    owner.member.begin();
    let ended = own.block_on(owner.run((orders, read_states), stop.clone(), tell));
    if let (Session::Ended(Ended::Stopped), Some(addresses)) = (&ended, &owner.shared.addresses) {
        own.block_on(AddressKeeper::finish(addresses));
    }
    for task in pacing.into_iter().chain(sharing).chain([rounds]) {
        task.abort();
        // Its connections end with it: what follows needs one.
        drop(own.block_on(task));
    }
    let Owner { member, database, failed, tally: mut counted, partitions, mut moving, .. } = owner;
    for partition in partitions.values() {
        counted.done.add(&lock(&partition.counted).take());
    }
    let (commits, commit_time) = database.confirmed();
    (counted.commits, counted.commit_time) = (counted.commits + commits, counted.commit_time + commit_time);
    *tally = counted;
    if matches!(ended, Session::Ended(Ended::Forced | Ended::Silent)) {
        // A database that doesn't answer keeps nobody: what is committed is known there.
        std::mem::forget(database);
        member.leave();
        return Ok(ended);
    }
    pages.suspects.finish(matches!(ended, Session::Ended(Ended::Complete)));
    let mut withdrawals = Withdrawals::new(&layout, &archive.dir);
    crawling.block_on(withdrawals.carry_out());
    match ended {
        Session::Ended(_) => crawling.block_on(moving.finish()),
        Session::Gone => crawling.block_on(moving.stop()),
    }
    if matches!((&ended, &failed), (Session::Gone, None)) {
        return Ok(ended);
    }
    member.leave();
    // What remains of this worker's own file is of partitions that it couldn't end.
    let mut leaving = Handover::new(dir.root(), terms.partitions, None);
    crawling.block_on(leaving.carry_out(withdrawals.links()));
    failed.map_or(Ok(ended), Err)
}

/// A crawl's name in the directories of its workers. The key itself stays in the database.
pub(super) fn crawl_name(key: &FingerprintKey) -> String {
    blake3::hash(key.bytes()).to_hex().to_string()
}

/// Binds a worker's directory to its crawl: the archive of another one must not be taken for the tail of this one's.
fn claim_dir(root: &Path, key: &FingerprintKey) -> Result<(), WorkError> {
    let path = root.join(CRAWL_FILE);
    let failed = |source| StoreError::Io { path: path.clone(), source };
    let id = crawl_name(key);
    match nofollow::read_to_string(&path) {
        Ok(found) if found.trim() == id.as_str() => Ok(()),
        Ok(_) => Err(WorkError::OtherCrawl(root.to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(nofollow::create(&path)
            .and_then(|mut file| file.write_all(format!("{id}\n").as_bytes()))
            .map_err(failed)?),
        Err(error) => Err(failed(error).into()),
    }
}

/// Binds all places that a worker keeps something in to its crawl.
fn claim(
    dir: &CrawlDir,
    archive: &Archive,
    key: &FingerprintKey,
    runtime: &Runtime,
) -> Result<(), WorkError> {
    // `warc/` of another worker's directory, which doesn't run.
    if let Some(parent) = archive.other_root().filter(|root| root.ends_with("warc")).and_then(Path::parent)
        && parent.join(CRAWL_FILE).exists()
    {
        claim_dir(parent, key)?;
    }
    for root in [Some(dir.root()), archive.other_root()].into_iter().flatten() {
        claim_dir(root, key)?;
    }
    Ok(runtime.block_on(archive.claim(&crawl_name(key)))?)
}

/// Cuts the tails off the archive that earlier owners wrote here and didn't commit.
fn cut_archive(dir: &Path, database: &Arc<Database>) -> Result<(), WorkError> {
    for series in warc::series_in(dir)? {
        let Some(Series { part, .. }) = Series::read(&series) else { continue };
        let part = i32::try_from(part).unwrap_or(-1);
        // Read only: the partition may be anybody's.
        let claim = Claim { part, owner: 0, fence: 0, commits: 0 };
        let store = PgStore::new(Arc::clone(database), claim);
        let end = store.get(Tree::Meta, warc_end_key(&series).as_bytes())?;
        let end = end.map(|end| read_warc_end(&end)).transpose()?;
        warc::repair_series(dir, Some(&series), end.as_ref())?;
    }
    Ok(())
}

/// A partition that is crawled.
struct Partition {
    /// The series of its archive files.
    series: String,
    stop: watch::Sender<Stop>,
    counted: Arc<Mutex<Counted>>,
}

/// What this process did, also under earlier numbers.
#[derive(Debug, Default)]
struct Tally {
    done: Totals,
    /// In earlier sessions.
    commits: u64,
    commit_time: Duration,
}

fn lock(counted: &Mutex<Counted>) -> MutexGuard<'_, Counted> {
    counted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker with its partitions.
struct Owner {
    shared: Arc<Shared>,
    database: Arc<Database>,
    /// What runs the engines.
    crawling: Handle,
    moving: Moving,
    /// Where the whole crawl has limits.
    reached: Option<Reached>,
    tally: Tally,
    member: Member,
    partitions: HashMap<i32, Partition>,
    outboxes: Outboxes,
    running: JoinSet<(i32, Result<(), CommitError>)>,
    /// How the session is to end, once nothing runs any more.
    ending: Option<Session>,
    /// A signal asked this worker to end.
    is_asked: bool,
    /// When the worker ends whatever is still under way.
    give_up_at: Option<tokio::time::Instant>,
    failed: Option<WorkError>,
}

impl Owner {
    /// Waits for no statement: it hears signals and tells the figures whether the database answers or not.
    async fn run(
        &mut self,
        (mut orders, mut states): (UnboundedReceiver<Order>, UnboundedReceiver<State>),
        mut stop: watch::Receiver<Stop>,
        tell: &mut dyn FnMut(Figures),
    ) -> Session {
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut moved = page::clock::instant();
        let mut reported = None;
        self.handle_stop(*stop.borrow_and_update());
        loop {
            if self.is_asked && self.member.silent_for() >= ANSWER {
                tracing::warn!(
                    "the cluster's database doesn't answer: what it hasn't confirmed may be fetched again"
                );
                return Session::Ended(Ended::Silent);
            }
            let gives_up = self.give_up_at.is_some_and(|at| page::clock::instant() >= at);
            if (self.running.is_empty() || gives_up)
                && let Some(ending) = self.ending.take()
            {
                return ending;
            }
            tokio::select! {
                Some(order) = orders.recv() => self.obey(order),
                Some(done) = self.running.join_next() => {
                    // A panic in an engine is a bug of ours, and the partition is another worker's when this one is gone.
                    match done {
                        Ok((part, result)) => self.ended(part, result),
                        Err(_) => self.fail(WorkError::Prepare(JobError::Panicked)),
                    }
                }
                Ok(()) = stop.changed() => { let asked = *stop.borrow_and_update(); self.handle_stop(asked); }
                Some(state) = states.recv() => match state {
                    State::Complete => self.complete(),
                    State::Stopped | State::Moved => self.end(Session::Ended(Ended::CrawlStopped), Stop::Drain),
                    State::Making | State::Running | State::Adding => {}
                },
                now = looks.tick() => {
                    if now.duration_since(moved) >= archive::LOOK {
                        self.moving.begin(&self.crawling);
                        moved = now;
                    }
                    if reported.is_none_or(|at| now.duration_since(at) >= REPORT) {
                        reported = Some(now);
                        tell(self.figures());
                    }
                }
            }
        }
    }

    fn handle_stop(&mut self, asked: Stop) {
        match asked {
            Stop::No => {}
            Stop::HandOver | Stop::Drain => {
                self.is_asked = true;
                self.end(Session::Ended(Ended::Stopped), Stop::Drain);
            }
            Stop::Now => {
                self.is_asked = false;
                self.ending = None;
                self.give_up_at = Some(page::clock::instant() + GRACE);
                self.end(Session::Ended(Ended::Forced), Stop::Now);
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Take(claim) if self.ending.is_none() => self.take(claim),
            // Leaving gives it back.
            Order::Take(_) => {}
            Order::GiveBack(part) => match self.partitions.get(&part) {
                Some(partition) => drop(partition.stop.send_replace(Stop::HandOver)),
                None => self.member.give_back(part),
            },
            Order::Gone => {
                self.ending = None;
                self.end(Session::Gone, Stop::Now);
            }
        }
    }

    fn take(&mut self, claim: Claim) {
        let store = Arc::new(PgStore::new(Arc::clone(&self.database), claim));
        let standing = Arc::new(Standing::default());
        let allowance = Arc::new(Allowance::default());
        if let Some(reached) = &self.reached {
            reached.tell(&allowance);
        }
        let (letters, received) = unbounded_channel();
        let (stop, stopped) = watch::channel(Stop::No);
        let counted = Arc::new(Mutex::new(Counted::default()));
        let part = claim.part;
        let of = mail::Outbox {
            store: Arc::clone(&store),
            standing: Arc::clone(&standing),
            allowance: Arc::clone(&allowance),
            letters,
        };
        self.outboxes.change(|outboxes| drop(outboxes.insert(part, of)));
        let allowance = self.reached.is_some().then_some(allowance);
        let series =
            Series { worker: claim.owner, part: u32::try_from(part).unwrap_or_default(), fence: claim.fence };
        let series = series.to_string();
        self.moving.written.begin(series.clone());
        self.partitions.insert(part, Partition { series, stop, counted: Arc::clone(&counted) });
        let crawl = partition::crawl(
            Arc::clone(&self.shared),
            store,
            (standing, allowance),
            received,
            stopped,
            counted,
        );
        self.running.spawn_on(async move { (part, crawl.await) }, &self.crawling);
    }

    /// A partition isn't crawled any more.
    fn ended(&mut self, part: i32, result: Result<(), CommitError>) {
        self.outboxes.change(|outboxes| drop(outboxes.remove(&part)));
        if let Some(partition) = self.partitions.remove(&part) {
            self.tally.done.add(&lock(&partition.counted).take());
            self.moving.written.end(&partition.series);
        }
        match result {
            Ok(()) if self.ending.is_none() => self.member.give_back(part),
            Ok(()) => {}
            Err(CommitError::Store(StoreError::Fenced { .. })) => {
                tracing::warn!(part, "the partition belongs to another worker now");
                self.member.give_back(part);
            }
            Err(_) if matches!(self.ending, Some(Session::Gone)) => {}
            Err(error) => self.fail(error.into()),
        }
    }

    fn fail(&mut self, error: WorkError) {
        self.failed.get_or_insert(error);
        self.end(Session::Ended(Ended::Stopped), Stop::Drain);
    }

    /// Ends all partitions. The first reason counts.
    fn end(&mut self, why: Session, how: Stop) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some(why);
        for partition in self.partitions.values() {
            partition.stop.send_replace(how);
        }
    }

    /// Nothing remains: the engines end by themselves when no more letters come.
    fn complete(&mut self) {
        if self.ending.is_none() {
            self.ending = Some(Session::Ended(Ended::Complete));
            self.outboxes.change(HashMap::clear);
        }
    }

    fn figures(&mut self) -> Figures {
        let mut totals = Totals::default();
        for partition in self.partitions.values() {
            let mut counted = lock(&partition.counted);
            totals.add(&counted.now);
            self.tally.done.add(&counted.take());
        }
        let (commits, commit_time) = self.database.confirmed();
        let outboxes = self.outboxes.now();
        Figures {
            worker: self.member.id(),
            partitions: self.partitions.len() as u64,
            queued: outboxes.values().map(|of| of.standing.queued()).sum(),
            in_flight: outboxes.values().map(|of| of.standing.in_flight()).sum(),
            totals,
            done: self.tally.done,
            lease: self.member.deadline().remaining(),
            silent: self.member.silent_for(),
            commits: self.tally.commits + commits,
            commit_time: self.tally.commit_time + commit_time,
        }
    }
}
