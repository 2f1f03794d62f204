//! The loop: leases, visits, settles, commits, and sleeps. The only place that sleeps.

mod address;
mod allowance;
mod aside;
mod duplicate;
mod entries;
mod failure;
mod gates;
mod group;
mod links;
mod lost;
mod narrowed;
mod pauses;
mod pool;
mod post;
mod progress;
mod quota;
mod redirect;
mod rejudge;
mod settings;
mod settle;
mod settlement;
mod shortage;
mod sitemaps;
mod steer;
mod traps;
mod withdraw;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use self::address::Addresses;
pub use self::allowance::{Allowance, Share};
use self::entries::URLS_REMEMBERED;
use self::gates::Gates;
use self::group::{Committing, GROUP_TIME, Group};
use self::links::Bounds;
pub use self::lost::LOST;
pub use self::pool::Pool;
pub use self::post::{Post, Standing, Stored};
use self::progress::Reports;
use self::quota::Quotas;
pub use self::settings::{End, EngineSettings, HOSTS_LISTED, Stop, Summary};
use self::steer::Steers;
pub use self::steer::{HostSteering, Steer, Steering};
use crate::clock::{Clock, Now};
use crate::commit::{CommitError, Committer, Totals};
use crate::deadline::Deadline;
use crate::event::CrawlEvent;
use crate::fetch::Fetch;
use crate::frontier::{FingerprintSet, Frontier, HostId, Lease, OpenQueues, Opening, Permit, Via};
use crate::pace::{Delay, DelayReason, Jitter};
use crate::pauses::PauseLog;
use crate::scope::Scope;
use crate::store::{Store, StoreError, Tree};
use crate::trap::Domains;
use crate::url::{CrawlUrl, FingerprintKey};
use crate::view::View;
use crate::visit::{self, Outcome, VisitContext};

/// No more is leased while this much waits to be committed.
const PENDING_BYTES: usize = 24 * 1024 * 1024;

/// How long requests in flight may take once the crawl was asked to stop.
const DRAIN: Duration = Duration::from_secs(8);

/// URLs whose skip was entered, remembered so that a footer's links are entered once and not once a page.
const SKIPS_REMEMBERED: usize = 500_000;

/// Receives events. Called in the loop: it must not wait.
pub type Listener = Box<dyn FnMut(CrawlEvent) + Send>;

/// One crawl.
pub struct Engine<F, S> {
    settings: EngineSettings,
    rules: settlement::Rules,
    context: Arc<VisitContext<F, S>>,
    frontier: Frontier<S>,
    /// What belongs to the crawl: scope, and budgets over several hosts.
    bounds: Bounds,
    /// What delays a ready host besides its own delay.
    gates: Gates,
    /// What waits to be committed.
    group: Group<S>,
    reports: Reports,
    key: FingerprintKey,
    clock: Clock,
    /// Everything settled, committed or not.
    totals: Totals,
    /// Sitemaps known, by host.
    sitemaps: HashMap<HostId, usize>,
    jitter: Jitter,
    /// The earliest date at which a stored page becomes unavailable.
    next_due: Option<jiff::Timestamp>,
    end_entered: bool,
    asides: aside::Asides,
    /// Pauses that are noted before they are on record.
    pauses: Option<Arc<PauseLog>>,
    /// The pages that URLs were found on lately.
    urls: LruCache<Via, Box<str>>,
    /// What is judged again at the start of the run, where settings are different.
    skipped_urls: Option<View>,
    /// What the user changes meanwhile.
    steers: Steers,
    /// The other partitions, where this is one of a cluster's crawl.
    post: Option<Post>,
    /// Until when hosts may be asked, where somebody else may ask them afterwards.
    deadline: Option<Deadline>,
    /// The partition's part of the limits, where this is one of a cluster's crawl.
    allowance: Option<Arc<Allowance>>,
}

impl<F, S: std::fmt::Debug> std::fmt::Debug for Engine<F, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("frontier", &self.frontier).finish_non_exhaustive()
    }
}

/// URLs that a redirect from a seed brought into the scope; stored, so that a resumed crawl has the same boundary.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ScopeAdded {
    urls: Vec<String>,
}

/// The URLs of a stored `scope_added`.
pub(crate) fn scope_added(value: &[u8]) -> Vec<CrawlUrl> {
    let added: ScopeAdded = serde_json::from_slice(value).unwrap_or_default();
    added.urls.iter().filter_map(|url| CrawlUrl::parse(url).ok()).collect()
}

/// The value of `scope_added` for these URLs.
#[cfg(feature = "cluster")]
pub(crate) fn write_scope_added(urls: Vec<String>) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&ScopeAdded { urls })
}

type Visit = (Permit, Result<Outcome, StoreError>);

/// The leases of the visits under way.
type Leases = HashMap<tokio::task::Id, Lease>;

/// What is under way while the loop runs.
struct Run<S> {
    visits: JoinSet<Visit>,
    /// The leases of the visits, for those that end without an outcome.
    leases: Leases,
    committing: Option<JoinHandle<Committing<S>>>,
    /// Why the run ends, once nothing new is begun.
    stopping: Option<End>,
    /// What is in flight then is aborted.
    drain_until: Duration,
    next_tick: Duration,
}

impl<S> Default for Run<S> {
    fn default() -> Self {
        Self {
            visits: JoinSet::new(),
            leases: HashMap::new(),
            committing: None,
            stopping: None,
            drain_until: Duration::MAX,
            next_tick: Duration::ZERO,
        }
    }
}

impl<S> Run<S> {
    /// Nothing is under way.
    fn is_quiet(&self) -> bool {
        self.visits.is_empty() && self.committing.is_none()
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Takes up the crawl that the store holds; an empty store is a new one.
    pub fn open(
        settings: EngineSettings,
        context: Arc<VisitContext<F, S>>,
        store: &Arc<S>,
        mut scope: Scope,
        committer: Committer<S>,
        listener: Listener,
    ) -> Result<Self, CommitError> {
        let clock = context.clock;
        let now = clock.now();
        let key = context.pages.key;
        let first_gap = Delay { length: settings.pace.delay, why: DelayReason::Configured };
        let totals: Totals = match store.get(Tree::Meta, b"totals")? {
            Some(value) => serde_json::from_slice(&value)?,
            None => Totals::default(),
        };
        let mut domains = Domains::default();
        let mut count = |host: &str| {
            if !context.seed_hosts.contains(host) {
                domains.add(host);
            }
        };
        let rest = (totals.runs > 0).then_some(settings.pace.delay);
        let opening = Opening { now, clock: Some(clock), rest, names: &mut count };
        let mut frontier = Frontier::reopen(store, settings.frontier, first_gap, key, opening)?;
        let added: ScopeAdded = match store.get(Tree::Meta, b"scope_added")? {
            Some(value) => serde_json::from_slice(&value)?,
            None => ScopeAdded::default(),
        };
        for url in &added.urls {
            let detail = |error| format!("scope_added: {url}: {error}");
            let url = CrawlUrl::parse(url).map_err(|error| StoreError::Unreadable {
                tree: Tree::Meta.name(),
                source: detail(error).into(),
            })?;
            scope.add_seed(&url);
        }
        let jitter = Jitter::new(settings.jitter);
        let mut quotas = Quotas::new(settings.max_rate, settings.max_bandwidth, now);
        if totals.runs > 0 {
            quotas.restore(store.get(Tree::Meta, quota::KEY)?.as_deref(), now, clock.boot());
        }
        let delay = settings.pace.delay;
        let open_from =
            if totals.runs > 0 { now.mono + frontier.still_at_work() + delay } else { Duration::ZERO };
        let addresses = settings.per_ip.then(|| Addresses::new(delay, open_from));
        frontier.set_traps(settings.traps);
        let sitemaps = sitemaps::restore(&mut frontier)?;
        if let Some(most) = settings.max_pages_per_host {
            frontier.park_full(most)?;
        }
        let totals = Totals { runs: totals.runs + 1, ..totals };
        let steers = Steers::new(Steering::stored(&**store)?);
        let rules = settlement::Rules {
            pace: settings.pace,
            retries: settings.retries,
            max_crawl_delay: context.max_crawl_delay,
            max_pages_per_host: settings.max_pages_per_host,
            local_patience: settings.local_patience,
            ledger: settings.ledger,
            archive: context.pages.archive,
        };
        Ok(Self {
            settings,
            rules,
            context,
            frontier,
            bounds: Bounds { scope, added: added.urls, domains, skips: FingerprintSet::default() },
            gates: Gates::new(quotas, addresses),
            group: Group::new(committer, totals),
            reports: Reports::new(listener),
            key,
            clock,
            totals,
            sitemaps,
            jitter,
            next_due: Some(jiff::Timestamp::MIN),
            end_entered: false,
            asides: aside::Asides::default(),
            pauses: None,
            urls: LruCache::new(URLS_REMEMBERED[0]),
            skipped_urls: None,
            steers,
            post: None,
            deadline: None,
            allowance: None,
        })
    }

    /// Crawls until nothing remains, a limit is reached, or `stop` says so. Everything settled is durable when it
    /// returns, after an error too as far as it was acknowledged, and nothing is written any more.
    pub async fn run(&mut self, stop: watch::Receiver<Stop>) -> Result<Summary, CommitError> {
        self.start(&stop).await?;
        let mut run = Run::default();
        let ended = self.crawl(&mut run, stop).await;
        // After an error: whoever opens the crawl next must not meet a writer.
        let written = match run.committing.take() {
            Some(commit) => self.committed(commit.await),
            None => Ok(()),
        };
        let summary = ended?;
        written.map(|()| summary)
    }

    async fn crawl(
        &mut self,
        run: &mut Run<S>,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<Summary, CommitError> {
        loop {
            let now = self.clock.now();
            let asked = *stop.borrow();
            self.heed(asked, run, now).await?;
            self.spawn_visits(run, now)?;
            self.enter_held(now)?;
            self.tick_if_due(run, now)?;
            self.drop_noted(run.is_quiet());
            let may_end = !self.expects_letters() && self.nothing_to_do(now);
            let over = run.visits.is_empty() && (run.stopping.is_some() || may_end);
            self.commit_if_due(run, over, now)?;
            if over && run.committing.is_none() && self.group.since.is_none() {
                match self.finish(run.stopping.clone(), now)? {
                    Some(summary) => return Ok(summary),
                    None => continue,
                }
            }
            self.tell_standing(&run.leases, run.is_quiet() && run.stopping.is_none(), now);
            let wake = self.wake(run);
            self.report_step(now, wake, run.committing.is_some());
            tokio::select! {
                Some(done) = run.visits.join_next_with_id() => {
                    self.on_visit_done(done, &mut run.leases)?;
                    while let Some(done) = run.visits.try_join_next_with_id() {
                        self.on_visit_done(done, &mut run.leases)?;
                    }
                }
                done = finished(&mut run.committing) => {
                    run.committing = None;
                    self.committed(done)?;
                }
                () = sleep_until(self.clock, wake.min(run.next_tick)) => {}
                Ok(()) = stop.changed() => {}
                order = self.steers.next() => self.steer(order)?,
                letters = post::arrive(&mut self.post) => self.read_letters(letters)?,
                () = allowance::changed(self.allowance.as_ref()) => {}
            }
        }
    }

    /// Puts the run on record before its first request: a process that dies at once leaves hosts that the next one rests.
    async fn start(&mut self, stop: &watch::Receiver<Stop>) -> Result<(), CommitError> {
        let now = self.clock.now();
        let run = self.settings.run.as_ref().map(|(run, _)| run.clone());
        self.close_queues();
        self.enter_start(now)?;
        if let Some(run) = run {
            self.rejudge(&run, stop)?;
        }
        if !self.expects_letters() && self.nothing_to_do(now) {
            // Start and end in one commit: a crawl that is through doesn't need to live for two.
            let end = self.parked()?.unwrap_or(End::Complete);
            let summary = self.summary(end, now)?;
            self.enter_end(&summary, now)?;
        }
        if let Some(commit) = self.start_commit(now)? {
            let done = commit.await;
            self.committed(done)?;
        }
        Ok(())
    }

    /// Does what the crawl is asked to do, or what a limit asks for: what is in flight is finished, or aborted.
    async fn heed(&mut self, asked: Stop, run: &mut Run<S>, now: Now) -> Result<(), CommitError> {
        self.close_queues();
        if asked == Stop::Now {
            // The order to stop among them: the loop takes none once it has ended.
            while let Some(order) = self.steers.waiting() {
                self.steer(order)?;
            }
        }
        if asked == Stop::Now || (run.stopping.is_some() && now.mono >= run.drain_until) {
            run.visits.abort_all();
            while let Some(done) = run.visits.join_next_with_id().await {
                self.on_visit_done(done, &mut run.leases)?;
            }
            self.release_aborted(&mut run.leases);
            run.drain_until = Duration::MAX;
            if asked == Stop::Now {
                run.stopping = Some(End::Forced);
            }
        } else if asked == Stop::Drain && run.stopping.is_none() {
            run.stopping = Some(End::Interrupted);
            run.drain_until = now.mono + DRAIN;
        } else if run.stopping.is_none()
            && let Some(limit) = self.limit_reached(now)
        {
            run.stopping = Some(End::Limit(limit));
            run.drain_until = now.mono + DRAIN.max(Duration::from_secs(30));
        }
        Ok(())
    }

    /// Leases what is ready, and spawns a visit for each permit.
    fn spawn_visits(&mut self, run: &mut Run<S>, now: Now) -> Result<(), CommitError> {
        while run.stopping.is_none() && self.may_ask(&run.leases, now) {
            let Some(permit) = self.frontier.lease(now)? else { break };
            let Some(permit) = self.still_in_scope(permit, now)? else { continue };
            let Some(permit) = self.unless_steered(permit, now) else { continue };
            let Some((permit, to_look_up)) = self.turn(permit, now) else { continue };
            self.leased_by_quota(permit.lease(), to_look_up, now);
            self.gates.shortage.leased(permit.lease());
            self.reports.done.begun += 1;
            self.end_entered = false;
            let lease = permit.lease().clone();
            let context = Arc::clone(&self.context);
            let only_judge = self.settings.plan;
            let task = run.visits.spawn(async move {
                let outcome = if to_look_up {
                    Ok(visit::look_up(&context, &permit).await)
                } else if only_judge {
                    visit::judge(&context, &permit).await
                } else {
                    visit::visit(&context, &permit).await
                };
                (permit, outcome)
            });
            run.leases.insert(task.id(), lease);
        }
        Ok(())
    }

    /// Once a second: progress, hosts whose turn doesn't come, pages whose date has come, and the memory of trap counters.
    fn tick_if_due(&mut self, run: &mut Run<S>, now: Now) -> Result<(), CommitError> {
        if now.mono >= run.next_tick {
            run.next_tick = now.mono + Duration::from_secs(1);
            self.tick(now);
            self.pass_overdue(now);
            self.withdraw_due(now)?;
            let caches = &self.context.caches;
            let counters = self.frontier.limit_trap_counters(caches.most_elsewhere(), now)?;
            caches.count_elsewhere(counters);
        }
        Ok(())
    }

    fn commit_if_due(&mut self, run: &mut Run<S>, over: bool, now: Now) -> Result<(), CommitError> {
        let due = self.batch_due(now) || over && self.group.since.is_some();
        if run.committing.is_none() && due {
            run.committing = self.start_commit(now)?;
        }
        Ok(())
    }

    /// The summary of a run whose end is on record; none where that is still to be committed.
    fn finish(&mut self, stopping: Option<End>, now: Now) -> Result<Option<Summary>, CommitError> {
        let end = match stopping {
            Some(end) => end,
            None => self.parked()?.unwrap_or(End::Complete),
        };
        let summary = self.summary(end, now)?;
        Ok(if self.enter_end(&summary, now)? { None } else { Some(summary) })
    }

    /// True if no host is ready, nor will be soon enough to wait for it.
    fn nothing_to_do(&mut self, now: Now) -> bool {
        // What is paused goes on once the user says so.
        let is_paused = self.steers.now.paused && self.frontier.counts().queued > 0;
        !is_paused
            && (self.whole_limit().is_some()
                || self.frontier.next_ready().is_none_or(|at| at > now.mono)
                    && !self.frontier.has_prospect(now, self.settings.max_wait))
    }

    /// Whether one more visit may start now, as far as that doesn't hang on its host.
    fn may_ask(&mut self, in_flight: &Leases, now: Now) -> bool {
        self.has_lease()
            && self.has_capacity(in_flight)
            && self.gates.shortage.lets(now.mono)
            && self.quota_lets(now)
    }

    /// Whether hosts may be asked now: the worker's lease of them isn't over.
    fn has_lease(&self) -> bool {
        self.deadline.as_ref().is_none_or(|deadline| deadline.remaining().is_some())
    }

    /// Asks no host after this deadline. It may be moved on: then the crawl goes on as well.
    pub fn keep_to(&mut self, deadline: Deadline) {
        self.deadline = Some(deadline);
    }

    /// Whether one more visit may start: each of those in flight may bring a page, or a resource, and its bytes.
    fn has_capacity(&self, in_flight: &Leases) -> bool {
        let EngineSettings { concurrency, max_pages, max_resources, .. } = self.settings;
        !self.steers.now.paused
            && self.whole_limit().is_none()
            && in_flight.len() < concurrency
            && self.group.bytes < PENDING_BYTES
            && self.context.pages.read_pool.has_capacity()
            && (max_pages.is_none() && max_resources.is_none() || self.keeps_limits(in_flight))
    }

    /// Whether the limits hold, whatever those in flight and one more bring. Once one is reached, its queues are closed instead.
    fn keeps_limits(&self, in_flight: &Leases) -> bool {
        let (max_pages, max_resources) = self.most();
        let (pages, resources) = Self::coming(in_flight);
        let keeps = |most: Option<u64>, have: u64, coming: u64| {
            most.is_none_or(|most| have >= most || have + coming < most)
        };
        keeps(max_pages, self.totals.pages, pages) && keeps(max_resources, self.totals.resources, resources)
    }

    /// Closes the queues for which a limit is reached.
    fn close_queues(&mut self) {
        let (max_pages, max_resources) = self.most();
        let is_below = |most: Option<u64>, have: u64| most.is_none_or(|most| have < most);
        let pages = is_below(max_pages, self.totals.pages);
        let resources = is_below(max_resources, self.totals.resources);
        self.frontier.set_open(OpenQueues { pages, resources });
    }

    /// When the loop has to look again, if nothing happens before.
    fn wake(&mut self, run: &Run<S>) -> Duration {
        let may_lease = run.stopping.is_none() && self.has_capacity(&run.leases);
        let ready = if may_lease { self.frontier.next_ready() } else { None };
        let held = [self.gates.quotas.until().map(|(until, _)| until), self.gates.shortage.until()];
        let ready = ready.map(|at| held.into_iter().flatten().fold(at, Duration::max));
        // Without a lease of the hosts, each tick looks again.
        let ready = ready.filter(|_| self.has_lease());
        let due = self.group.since.filter(|_| run.committing.is_none()).map(|since| since + GROUP_TIME);
        let drained = run.stopping.as_ref().map(|_| run.drain_until);
        ready.into_iter().chain(due).chain(drained).min().unwrap_or(Duration::MAX)
    }

    fn on_visit_done(
        &mut self,
        done: Result<(tokio::task::Id, Visit), tokio::task::JoinError>,
        leases: &mut Leases,
    ) -> Result<(), CommitError> {
        match done {
            Ok((id, (permit, outcome))) => {
                leases.remove(&id);
                self.settle(permit, outcome?)?;
                Ok(self.frontier.put_away_hosts(self.clock.now())?)
            }
            Err(error) if error.is_cancelled() => Ok(()),
            Err(error) => {
                self.reports.done.over += 1;
                self.reports.done.fruitful += 1;
                // A panic in a visit is a bug of ours; it costs this URL, and nothing else.
                if let Some(lease) = leases.remove(&error.id()) {
                    self.settle_panicked(&lease)?;
                }
                Ok(())
            }
        }
    }

    fn limit_reached(&self, now: Now) -> Option<String> {
        let EngineSettings { mut max_pages, mut max_bytes, mut max_time, .. } = self.settings;
        if self.allowance.is_some() {
            // They are the whole crawl's: one partition doesn't judge them.
            (max_pages, max_bytes, max_time) = (None, None, None);
        }
        let over = |name: &str, most: Option<u64>, have: u64| {
            most.filter(|most| have >= *most).map(|most| format!("{name} {most}"))
        };
        // The resources of those pages are still to be fetched.
        let goes_on = self.settings.resources && self.frontier.open_queues().resources;
        over("max-pages", max_pages, self.totals.pages)
            .filter(|_| !goes_on)
            .or_else(|| over("max-bytes", max_bytes, self.totals.bytes))
            .or_else(|| {
                let patience = self.settings.local_patience.as_secs_f64();
                let is_over = self.gates.shortage.is_over() && self.frontier.counts().queued > 0;
                is_over.then(|| format!("local-patience {patience}s"))
            })
            .or_else(|| {
                max_time.filter(|most| now.mono >= *most).map(|most| format!("max-time {}s", most.as_secs()))
            })
    }

    /// The limit because of which pages, hosts or resources were skipped, if any were.
    fn parked(&mut self) -> Result<Option<End>, StoreError> {
        let EngineSettings { max_pages, max_resources, .. } = self.settings;
        if let Some(limit) = self.whole_limit() {
            return Ok(Some(End::Limit(limit)));
        }
        let open = self.open_within_limits();
        let limit = match (max_pages, max_resources) {
            (Some(most), _) if !open.pages => Some(format!("max-pages {most}")),
            (_, Some(most)) if !open.resources && self.frontier.has_closed() => {
                Some(format!("max-resources {most}"))
            }
            _ => None,
        };
        Ok(match limit {
            Some(limit) => Some(limit),
            None => self.frontier.parked_for()?,
        }
        .map(End::Limit))
    }

    fn summary(&mut self, end: End, now: Now) -> Result<Summary, StoreError> {
        let remaining = self.frontier.remaining(now, HOSTS_LISTED)?;
        let remaining_hosts = self.frontier.remaining_hosts();
        Ok(Summary {
            end,
            totals: self.totals,
            queued: self.frontier.counts().queued,
            remaining,
            remaining_hosts,
        })
    }
}

/// Waits for the commit in progress; forever if there is none.
async fn finished<T>(task: &mut Option<JoinHandle<T>>) -> Result<T, tokio::task::JoinError> {
    match task {
        Some(task) => task.await,
        None => std::future::pending().await,
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that sleeps")]
async fn sleep_until(clock: Clock, mono: Duration) {
    if mono == Duration::MAX {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep_until(clock.instant(mono)).await;
}
