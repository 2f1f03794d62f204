//! Group commit: settled visits are collected for a short time, and written to archive and database together, off the loop.
//!
//! What is written survives the end of the process, so its hosts may be asked again while it is synced, and the next commit may be written.
//! It counts, and is reported, once it is synced.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::busy::Busy;
use super::{Engine, quota};
use crate::causes::with_causes;
use crate::commit::{Batch, Begun, CommitError, Committer, Totals, UnderWay, Unsynced};
use crate::event::CrawlEvent;
use crate::fetch::Fetch;
use crate::intents::Place;
use crate::store::{Store, StoreError, Tree};
use crate::warc::{Position, WrittenFile};
use page::clock::{Clock, Now};

/// A commit is made when it holds this much, or when this much time has passed.
const GROUP_BYTES: usize = 1024 * 1024;
pub(super) const GROUP_TIME: Duration = Duration::from_millis(50);

/// The time from the beginning of a commit to that of the next one, at least, while this process keeps the processors busy, and more visits are in flight than
/// hosts wait for the commit: each costs what it costs, with one page or with fifty.
const SPACING: Duration = Duration::from_millis(7);

/// While something waits to be synced for longer than this, nothing more is written: a power cut then repeats what was asked in about as
/// much time, and not what a slow disk had us ask in minutes.
const UNSYNCED_TIME: Duration = Duration::from_millis(100);

/// What waits to be committed, and who commits it.
pub(super) struct Group<S> {
    /// None while it writes.
    committer: Option<Committer<S>>,
    store: Arc<S>,
    pub(super) batch: Batch,
    /// Where the requests of the batch are noted.
    pub(super) places: Vec<Place>,
    /// About how many bytes wait, encoded.
    pub(super) bytes: usize,
    /// When the first of it came; none where nothing waits.
    pub(super) since: Option<Duration>,
    /// When the commit before began.
    began: Duration,
    pub(super) busy: Busy,
    /// What is written, and is not being synced yet.
    unsynced: Option<Written>,
    /// When that was written which is being synced.
    syncing: Option<Duration>,
    /// The totals that are on record, and the cut that they belong to.
    pub(super) durable: Totals,
    durable_generation: u64,
    /// How far the archive was synced since the last commit began.
    archive_synced: Option<Position>,
}

/// What was written last.
struct Written {
    generation: u64,
    totals: Totals,
    /// When the first was written that isn't synced.
    since: Duration,
    unsynced: Unsynced,
}

impl<S: Store> Group<S> {
    pub(super) fn new(committer: Committer<S>, durable: Totals, clock: Clock) -> Self {
        Self {
            store: Arc::clone(committer.store()),
            committer: Some(committer),
            batch: Batch::default(),
            places: Vec::new(),
            bytes: 0,
            since: None,
            began: Duration::ZERO,
            busy: Busy::new(clock),
            unsynced: None,
            syncing: None,
            durable,
            durable_generation: 0,
            archive_synced: None,
        }
    }

    /// Whether what was written has waited too long to be synced.
    pub(super) fn is_behind(&self, now: Now) -> bool {
        let since = self.syncing.or(self.unsynced.as_ref().map(|written| written.since));
        since.is_some_and(|since| now.mono >= since + UNSYNCED_TIME)
    }
}

/// A sync that is over.
pub(super) struct Synced {
    written: Written,
    result: Result<Option<Position>, CommitError>,
}

/// A commit that is written.
pub(super) struct Committing<S> {
    committer: Committer<S>,
    generation: u64,
    totals: Totals,
    batch: Option<Batch>,
    /// Where its requests are noted.
    places: Vec<Place>,
    /// The store has it; its outcome isn't known yet.
    under_way: Option<UnderWay>,
    result: Result<Option<Unsynced>, CommitError>,
}

impl<S: Store> Committing<S> {
    /// Writes it.
    pub(super) fn write(&mut self) {
        if let Some(batch) = self.batch.take() {
            self.result = self.committer.write(batch);
        }
    }

    /// Gives it to the store. Where the outcome comes later, [`finish`](Self::finish) waits for it, and no thread does.
    fn begin(&mut self) {
        let Some(batch) = self.batch.take() else { return };
        match self.committer.begin(batch) {
            Ok(Begun::Written(unsynced)) => self.result = Ok(unsynced),
            Ok(Begun::UnderWay(under_way)) => self.under_way = Some(under_way),
            Err(error) => self.result = Err(error),
        }
    }

    /// Whether the outcome isn't known yet.
    pub(super) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Waits for the outcome.
    pub(super) async fn finish(mut self) -> Self {
        if let Some(under_way) = self.under_way.take() {
            self.result = under_way.finish(&mut self.committer).await;
        }
        self
    }
}

/// Waits for a commit that was [started](Engine::start_commit).
pub(super) async fn finished<S: Store>(
    commit: JoinHandle<Committing<S>>,
) -> Result<Committing<S>, tokio::task::JoinError> {
    Ok(commit.await?.finish().await)
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Whether what waits is to be committed now, while so many visits are in flight.
    pub(super) fn batch_due(&self, in_flight: usize, now: Now) -> bool {
        self.commit_at(in_flight).is_some_and(|at| {
            now.mono >= at || self.group.bytes + self.frontier.pending_bytes() >= GROUP_BYTES
        })
    }

    /// When what waits is to be committed at the latest, if nothing comes before; none where nothing waits.
    pub(super) fn commit_at(&self, in_flight: usize) -> Option<Duration> {
        let since = self.group.since?;
        Some(match self.frontier.waiting_for_commit() {
            0 => since + GROUP_TIME,
            waiting if waiting < in_flight && self.group.busy.is_busy() => {
                since.max(self.group.began + SPACING).min(since + GROUP_TIME)
            }
            _ => since,
        })
    }

    /// Marks that there is something to commit, of about so many bytes as encoded.
    pub(super) fn touch(&mut self, bytes: usize) {
        self.group.bytes += bytes;
        if self.group.since.is_none() {
            self.group.since = Some(self.clock.now().mono);
        }
    }

    /// As [`Engine::touch`], but the commit doesn't wait for company: a kill shall not make us forget a pause that a site
    /// asked for.
    pub(super) fn flush_soon(&mut self) {
        self.group.since = Some(self.clock.now().mono.saturating_sub(GROUP_TIME));
    }

    /// Begins to commit what waits, on a thread of its own; how it ended is known once the commit is [finished](Committing::finish).
    pub(super) fn start_commit(
        &mut self,
        now: Now,
    ) -> Result<Option<JoinHandle<Committing<S>>>, CommitError> {
        let Some(mut committing) = self.begin_commit(now)? else { return Ok(None) };
        Ok(Some(tokio::task::spawn_blocking(move || {
            committing.begin();
            committing
        })))
    }

    /// Ends the engine: the files of the archive whose indexes aren't written yet. None where a commit was lost.
    pub(crate) fn into_written_files(self) -> Vec<WrittenFile> {
        self.group.committer.map(Committer::finish_archive).unwrap_or_default()
    }

    /// Takes everything that waits into a commit, which is still to be written.
    pub(super) fn begin_commit(&mut self, now: Now) -> Result<Option<Committing<S>>, CommitError> {
        let Some(committer) = self.group.committer.take() else { return Ok(None) };
        if let Some(record) = self.gates.quotas.record(now, self.clock.boot()) {
            self.frontier.put(Tree::Meta, quota::KEY.to_vec(), serde_json::to_vec(&record)?);
        }
        let letters = self.letters_of_commit()?;
        let (generation, writes) = self.frontier.cut(now)?;
        let mut batch = std::mem::take(&mut self.group.batch);
        batch.generation = generation;
        batch.writes = writes;
        batch.removes.extend(letters);
        batch.totals = self.totals;
        batch.archive_synced = self.group.archive_synced.take();
        self.group.bytes = 0;
        self.group.since = None;
        self.group.began = now.mono;
        let totals = batch.totals;
        let places = std::mem::take(&mut self.group.places);
        Ok(Some(Committing {
            committer,
            generation,
            totals,
            batch: Some(batch),
            places,
            under_way: None,
            result: Ok(None),
        }))
    }

    /// Takes note of a commit that was written: hosts that wait for it may be asked.
    pub(super) fn written(
        &mut self,
        done: Result<Committing<S>, tokio::task::JoinError>,
    ) -> Result<(), CommitError> {
        let done = done.map_err(|_| CommitError::Store(StoreError::Stopped))?;
        self.group.committer = Some(done.committer);
        let unsynced = done.result?;
        done.places.into_iter().for_each(Place::settle);
        self.frontier.committed(done.generation);
        self.reports.done.commits += 1;
        self.group.busy.measure();
        let since = self.group.unsynced.take().map_or_else(|| self.clock.now().mono, |first| first.since);
        match unsynced {
            Some(unsynced) => {
                let Committing { generation, totals, .. } = done;
                self.group.unsynced = Some(Written { generation, totals, since, unsynced });
            }
            None => self.durable(done.generation, done.totals),
        }
        Ok(())
    }

    /// Begins to sync what was written, unless that is under way or nothing waits for it.
    pub(super) fn start_sync(&mut self) -> Option<JoinHandle<Synced>> {
        if self.group.syncing.is_some() {
            return None;
        }
        let written = self.group.unsynced.take()?;
        self.group.syncing = Some(written.since);
        let store = Arc::clone(&self.group.store);
        let archive = written.unsynced.archive.clone();
        // Both at once: most of what a sync takes is waiting.
        let archive = archive.map(|archive| tokio::task::spawn_blocking(move || archive.sync().cloned()));
        let database = tokio::task::spawn_blocking(move || store.sync());
        Some(tokio::spawn(async move {
            let database = database.await;
            let end = match archive {
                Some(archive) => archive.await.map(|synced| synced.map(Some)),
                None => Ok(Ok(None)),
            };
            let result = match (end, database) {
                (Ok(end), Ok(database)) => {
                    end.map_err(CommitError::from).and_then(|end| Ok(database.map(|()| end)?))
                }
                _ => Err(StoreError::Stopped.into()),
            };
            Synced { written, result }
        }))
    }

    pub(super) fn synced(&mut self, done: Result<Synced, tokio::task::JoinError>) -> Result<(), CommitError> {
        let done = done.map_err(|_| CommitError::Store(StoreError::Stopped))?;
        self.group.syncing = None;
        self.note_synced(&done.written, done.result?);
        Ok(())
    }

    /// Syncs what was written. Only while nothing is in flight: the loop doesn't run meanwhile.
    pub(super) fn sync_here(&mut self) -> Result<(), CommitError> {
        if let Some(written) = self.group.unsynced.take() {
            let end = written.unsynced.sync(&*self.group.store)?;
            self.note_synced(&written, end);
        }
        Ok(())
    }

    fn note_synced(&mut self, written: &Written, archive: Option<Position>) {
        // Of an earlier file it doesn't matter any more.
        self.group.archive_synced = archive.or(self.group.archive_synced.take());
        self.durable(written.generation, written.totals);
    }

    /// Takes note that a cut and all before it are durable.
    fn durable(&mut self, generation: u64, totals: Totals) {
        // A later one may have been synced for itself.
        if generation < self.group.durable_generation {
            return;
        }
        self.group.durable_generation = generation;
        self.letters_committed();
        self.group.durable = totals;
        (self.reports.listener)(CrawlEvent::Committed(totals));
    }

    /// After an error of a sync of the archive: cuts off what may not be on the disk, although the system would still show it.
    pub(super) fn drop_unsynced_archive(&mut self) {
        let synced = self.group.archive_synced.take();
        let committer = self.group.committer.as_mut();
        if let Some(Err(error)) = committer.map(|committer| committer.drop_unsynced_archive(synced.as_ref()))
        {
            tracing::warn!(
                "what may not be on the disk can't be taken off the end of the archive: {}",
                with_causes(&error)
            );
        }
    }
}
