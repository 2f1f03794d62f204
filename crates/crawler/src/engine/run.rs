//! The loop of a run: leases, spawns, settles, commits, sleeps. The only place that sleeps.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::group::{self, Committing, Synced};
use super::permits::Use;
use super::{End, Engine, Leases, Stop, Summary, allowance, post};
use crate::commit::CommitError;
use crate::fetch::Fetch;
use crate::frontier::Permit;
use crate::intents::Place;
use crate::store::{Store, StoreError};
use crate::visit::{self, Outcome};
use page::clock::{Clock, Now};

/// No more is leased while this much waits to be committed.
const PENDING_BYTES: usize = 24 * 1024 * 1024;

/// How long requests in flight may take once the crawl was asked to stop; and once a limit is reached, or others are to continue it.
const DRAIN: Duration = Duration::from_secs(8);
const LONG_DRAIN: Duration = Duration::from_secs(30);

type Visit = (Permit, Result<Outcome, StoreError>);

/// What is under way while the loop runs.
pub(super) struct Run<S> {
    visits: JoinSet<Visit>,
    /// The leases of the visits, for those that end without an outcome.
    leases: Leases,
    committing: Option<JoinHandle<Committing<S>>>,
    syncing: Option<JoinHandle<Synced>>,
    /// Why the run ends, once nothing new is begun.
    pub(super) stopping: Option<End>,
    /// Its end is entered, and nothing was begun since.
    pub(super) end_entered: bool,
    /// What is in flight then is aborted.
    drain_until: Duration,
    next_tick: Duration,
}

impl<S> Default for Run<S> {
    fn default() -> Self {
        Self {
            visits: JoinSet::new(),
            leases: Leases::new(),
            committing: None,
            syncing: None,
            stopping: None,
            end_entered: false,
            drain_until: Duration::MAX,
            next_tick: Duration::ZERO,
        }
    }
}

impl<S> Run<S> {
    /// Nothing is under way.
    fn is_quiet(&self) -> bool {
        self.visits.is_empty() && !self.is_committing()
    }

    /// A commit is written or synced.
    fn is_committing(&self) -> bool {
        self.committing.is_some() || self.syncing.is_some()
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Crawls until nothing remains, a limit is reached, or `stop` says so. Everything settled is durable when it
    /// returns, after an error too as far as it was acknowledged, and nothing is written any more.
    pub async fn run(&mut self, stop: watch::Receiver<Stop>) -> Result<Summary, CommitError> {
        let mut run = Run::default();
        self.start(&mut run, &stop).await?;
        let ended = self.crawl(&mut run, stop).await;
        // After an error: whoever opens the crawl next must not meet a writer.
        let written = match run.committing.take() {
            Some(commit) => self.written(group::finished(commit).await),
            None => Ok(()),
        };
        let synced = match &ended {
            // A second sync would succeed, and bring nothing back.
            Err(error) if error.is_of_archive_sync() => {
                if let Some(sync) = run.syncing.take() {
                    drop(sync.await);
                }
                Ok(())
            }
            _ => self.sync(&mut run).await,
        };
        let ended = match (ended, written.and(synced)) {
            // Of a write and a sync, one fails because the other did.
            (Err(CommitError::Store(StoreError::Stopped)) | Ok(_), Err(cause)) => Err(cause),
            (ended, _) => ended,
        };
        if ended.as_ref().is_err_and(CommitError::is_of_archive_sync) {
            self.drop_unsynced_archive();
        }
        ended
    }

    /// Waits until all that was written is durable.
    async fn sync(&mut self, run: &mut Run<S>) -> Result<(), CommitError> {
        while let Some(sync) = run.syncing.take().or_else(|| self.start_sync()) {
            self.synced(sync.await)?;
        }
        Ok(())
    }

    async fn crawl(
        &mut self,
        run: &mut Run<S>,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<Summary, CommitError> {
        loop {
            let now = self.clock.now();
            let asked = *stop.borrow();
            self.handle_stop(asked, run, now).await?;
            self.spawn_visits(run, now)?;
            self.enter_held(now)?;
            self.tick_if_due(run, now)?;
            self.drop_noted(run.is_quiet());
            let may_end = !self.expects_letters() && self.nothing_to_do(now);
            let over = run.visits.is_empty() && (run.stopping.is_some() || may_end);
            self.commit_if_due(run, over, now)?;
            if over && !run.is_committing() && self.group.since.is_none() {
                match self.end(run, now)? {
                    Some(summary) => return Ok(summary),
                    None => continue,
                }
            }
            self.publish_status(&run.leases, run.is_quiet() && run.stopping.is_none(), now);
            let wake = self.wake(run);
            self.reports.step(now, wake, run.is_committing());
            tokio::select! {
                Some(done) = run.visits.join_next_with_id() => {
                    self.on_visit_done(done, &mut run.leases)?;
                    while let Some(done) = run.visits.try_join_next_with_id() {
                        self.on_visit_done(done, &mut run.leases)?;
                    }
                }
                done = finished(&mut run.committing) => {
                    run.committing = None;
                    match done {
                        Ok(begun) if begun.is_under_way() => run.committing = Some(tokio::spawn(begun.finish())),
                        done => self.written(done)?,
                    }
                    run.syncing = run.syncing.take().or_else(|| self.start_sync());
                }
                done = finished(&mut run.syncing) => {
                    run.syncing = None;
                    self.synced(done)?;
                    run.syncing = self.start_sync();
                }
                () = sleep_until(self.clock, wake.min(run.next_tick)) => {}
                Ok(()) = stop.changed() => {}
                order = self.steers.next() => self.steer(order)?,
                Some(part) = self.sitemaps.next_part() => self.sitemap_part(part)?,
                letters = post::arrive(&mut self.post) => self.read_letters(letters)?,
                () = allowance::changed(self.limits.own()) => {}
            }
        }
    }

    /// Puts the run on record before its first request: a process that dies at once leaves hosts that the next one rests.
    async fn start(&mut self, run: &mut Run<S>, stop: &watch::Receiver<Stop>) -> Result<(), CommitError> {
        let now = self.clock.now();
        let settings = self.settings.run.as_ref().map(|(run, _)| run.clone());
        self.close_queues();
        self.enter_start(now)?;
        self.restore_pauses()?;
        if let Some(settings) = settings {
            self.rejudge(&settings, stop)?;
        }
        if !self.expects_letters() && self.nothing_to_do(now) {
            // Start and end in one commit: a crawl that is through doesn't need to live for two.
            self.end(run, now)?;
        }
        if let Some(commit) = self.start_commit(now)? {
            let done = group::finished(commit).await;
            self.written(done)?;
        }
        self.sync(run).await
    }

    /// Does what the crawl is asked to do, or what a limit asks for: what is in flight is finished, or aborted.
    async fn handle_stop(&mut self, asked: Stop, run: &mut Run<S>, now: Now) -> Result<(), CommitError> {
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
        } else if asked == Stop::HandOver && run.stopping.is_none() {
            run.stopping = Some(End::Interrupted);
            run.drain_until = now.mono + LONG_DRAIN;
        } else if asked == Stop::Drain && matches!(run.stopping, None | Some(End::Interrupted)) {
            run.stopping = Some(End::Interrupted);
            run.drain_until = run.drain_until.min(now.mono + DRAIN);
        } else if run.stopping.is_none()
            && let Some(limit) = self.limit_reached(now)
        {
            run.stopping = Some(End::Limit(limit));
            run.drain_until = now.mono + LONG_DRAIN;
        }
        Ok(())
    }

    /// Closes the queues for which a limit is reached.
    fn close_queues(&mut self) {
        self.frontier.set_open(self.limits.open_queues(&self.totals));
    }

    /// Leases what is ready, and spawns a visit for each permit.
    fn spawn_visits(&mut self, run: &mut Run<S>, now: Now) -> Result<(), CommitError> {
        while run.stopping.is_none() && self.may_ask(&run.leases, now) {
            let Some(permit) = self.frontier.lease(now)? else { break };
            let Some((mut permit, of)) = self.let_pass(permit, now)? else { continue };
            self.reports.done.begun += 1;
            run.end_entered = false;
            let lease = permit.lease().clone();
            if of == Use::Request {
                self.suspect_first(&lease);
                if let Some(intents) = &self.intents {
                    permit.note_in(Place::new(intents, self.totals.runs));
                }
            }
            let context = Arc::clone(&self.context);
            let (only_judge, parts) = (self.settings.plan, self.sitemaps.parts());
            // Boxed: a visit's state is 10 KB, which the runtime would copy several times.
            let task = run.visits.spawn(Box::pin(async move {
                let outcome = match of {
                    Use::LookUp => Ok(visit::look_up(&context, &permit).await),
                    Use::Request if only_judge => visit::judge(&context, &permit, &parts).await,
                    Use::Request => visit::visit(&context, &permit, &parts).await,
                };
                (permit, outcome)
            }));
            run.leases.insert(task.id(), lease);
        }
        Ok(())
    }

    /// Whether one more visit may start now, as far as that doesn't hang on its host.
    fn may_ask(&mut self, in_flight: &Leases, now: Now) -> bool {
        self.has_capacity(in_flight) && {
            let is_ready = || self.frontier.next_ready().is_some_and(|at| at <= now.mono);
            self.gates.has_capacity(now, is_ready)
        }
    }

    /// Whether one more visit may start: each of those in flight may bring a page, or a resource, and its bytes.
    fn has_capacity(&self, in_flight: &Leases) -> bool {
        !self.steers.now.paused
            && self.limits.whole().is_none()
            && in_flight.len() < self.settings.concurrency
            && self.group.bytes < PENDING_BYTES
            && self.context.pages.read_pool.has_capacity()
            && self.limits.has_capacity(&self.totals, in_flight)
    }

    /// Once a second: progress, hosts whose turn doesn't come, pages whose date has come, and the memory of trap counters.
    fn tick_if_due(&mut self, run: &mut Run<S>, now: Now) -> Result<(), CommitError> {
        if now.mono >= run.next_tick {
            run.next_tick = now.mono + Duration::from_secs(1);
            let (closed, durable) = (self.gates.closed(), self.group.durable);
            self.reports.progress(&self.frontier, closed, &self.steers.now, durable, now);
            self.gates.pass_overdue(&mut self.frontier, now);
            self.retry_hops(now)?;
            self.withdraw_due(now)?;
            let caches = &self.context.caches;
            let counters = self.frontier.limit_trap_counters(caches.most_elsewhere(), now)?;
            caches.count_elsewhere(counters);
            self.context.robots.tidy(now);
            self.keep_to_portions();
        }
        Ok(())
    }

    fn commit_if_due(&mut self, run: &mut Run<S>, over: bool, now: Now) -> Result<(), CommitError> {
        let due = self.batch_due(run.visits.len(), now) || over && self.group.since.is_some();
        if run.committing.is_none() && due && !self.group.is_behind(now) {
            run.committing = self.start_commit(now)?;
        }
        Ok(())
    }

    /// When the loop has to look again, if nothing happens before.
    fn wake(&mut self, run: &Run<S>) -> Duration {
        let may_lease = run.stopping.is_none() && self.has_capacity(&run.leases);
        let ready = if may_lease { self.frontier.next_ready() } else { None };
        let ready = ready.and_then(|at| self.gates.opens(at));
        let may_write = run.committing.is_none() && !self.group.is_behind(self.clock.now());
        let due = self.commit_at(run.visits.len()).filter(|_| may_write);
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
                Ok(self.frontier.evict_idle_hosts(self.clock.now())?)
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
}

/// Waits for the commit or the sync in progress; forever if there is none.
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
