//! A batch between its writing and the moment from which it survives a power cut.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{CommitError, Committer};
use crate::record::{RobotsRecord, SiteFileRecord, Withdrawal};
use crate::store::{Durability, Store, StoreError};
use crate::visit::BacklogBytes;
use crate::warc::{self, Position};

/// What is written and survives the end of the process, but not a power cut before it is synced.
#[derive(Debug, Clone, Default)]
pub struct Unsynced {
    /// The end of the archive, if there is one that isn't synced.
    pub(crate) archive: Option<warc::Unsynced>,
}

impl Unsynced {
    /// Syncs it, and all that was written before it: the archive, and the database. Returns how far the archive is synced.
    pub fn sync<S: Store>(&self, store: &S) -> Result<Option<Position>, CommitError> {
        let end = self.archive.as_ref().map(warc::Unsynced::sync).transpose()?.cloned();
        store.sync()?;
        Ok(end)
    }
}

/// What remains of a batch that is being written: versions of files stay in memory until they are in the store.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) robots: Vec<Arc<RobotsRecord>>,
    pub(super) site_files: Vec<Arc<SiteFileRecord>>,
    pub(super) withdrawals: Vec<Withdrawal>,
    pub(super) held: Vec<BacklogBytes>,
}

/// A batch whose writes the store has.
#[derive(Debug)]
pub enum Begun {
    /// They are written; what [`Committer::write`] returns.
    Written(Option<Unsynced>),
    /// Their outcome comes later.
    UnderWay(UnderWay),
}

/// A batch that is being written.
#[derive(Debug)]
pub struct UnderWay {
    pub(super) outcome: oneshot::Receiver<Result<(), StoreError>>,
    pub(super) rest: Rest,
}

impl UnderWay {
    /// Waits for the outcome, and does what remains, which takes no time: a store whose outcome comes later leaves no file of the archive to be synced
    /// then, and has no index. Returns what [`Committer::write`] does.
    pub async fn finish<S: Store>(
        self,
        committer: &mut Committer<S>,
    ) -> Result<Option<Unsynced>, CommitError> {
        self.outcome.await.map_err(|_| StoreError::Stopped)??;
        committer.finish(Durability::PowerCut, self.rest)
    }
}
