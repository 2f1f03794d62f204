//! Group commit: settled visits are collected for a short time, and written to archive and database together, off the loop.

use std::time::Duration;

use tokio::task::JoinHandle;

use super::{Engine, quota};
use crate::clock::Now;
use crate::commit::{Batch, CommitError, Committer, Totals};
use crate::event::CrawlEvent;
use crate::fetch::Fetch;
use crate::store::{Store, StoreError, Tree};
use crate::warc::WrittenFile;

/// A commit is made when it holds this much, or when this much time has passed.
const GROUP_BYTES: usize = 256 * 1024;
pub(super) const GROUP_TIME: Duration = Duration::from_millis(50);

/// What waits to be committed, and who commits it.
pub(super) struct Group<S> {
    /// None while it commits.
    committer: Option<Committer<S>>,
    pub(super) batch: Batch,
    /// About how many bytes wait, encoded.
    pub(super) bytes: usize,
    /// When the first of it came; none where nothing waits.
    pub(super) since: Option<Duration>,
    /// The totals that are on record.
    pub(super) durable: Totals,
}

impl<S> Group<S> {
    pub(super) fn new(committer: Committer<S>, durable: Totals) -> Self {
        Self { committer: Some(committer), batch: Batch::default(), bytes: 0, since: None, durable }
    }
}

/// A commit that is over.
pub(super) struct Committing<S> {
    committer: Committer<S>,
    generation: u64,
    totals: Totals,
    batch: Option<Batch>,
    result: Result<(), CommitError>,
}

impl<S: Store> Committing<S> {
    /// Writes it.
    pub(super) fn write(&mut self) {
        if let Some(batch) = self.batch.take() {
            self.result = self.committer.commit(batch);
        }
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    pub(super) fn batch_due(&self, now: Now) -> bool {
        self.group.since.is_some_and(|since| {
            self.group.bytes + self.frontier.pending_bytes() >= GROUP_BYTES
                || self.frontier.waits_for_commit()
                || now.mono >= since + GROUP_TIME
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

    pub(super) fn start_commit(
        &mut self,
        now: Now,
    ) -> Result<Option<JoinHandle<Committing<S>>>, CommitError> {
        let Some(mut committing) = self.begin_commit(now)? else { return Ok(None) };
        Ok(Some(tokio::task::spawn_blocking(move || {
            committing.write();
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
        self.group.bytes = 0;
        self.group.since = None;
        let totals = batch.totals;
        Ok(Some(Committing { committer, generation, totals, batch: Some(batch), result: Ok(()) }))
    }

    pub(super) fn committed(
        &mut self,
        done: Result<Committing<S>, tokio::task::JoinError>,
    ) -> Result<(), CommitError> {
        let done = done.map_err(|_| CommitError::Store(StoreError::Stopped))?;
        self.group.committer = Some(done.committer);
        done.result?;
        self.frontier.committed(done.generation);
        self.letters_committed();
        self.group.durable = done.totals;
        self.reports.done.commits += 1;
        (self.reports.listener)(CrawlEvent::Committed(done.totals));
        Ok(())
    }
}
