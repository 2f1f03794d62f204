//! The archive of a worker: its directory, and object storage where it goes there.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;

use super::objects::{Objects, Uploads};
use super::written::Written;
use super::{ArchivePlace, Database, ObjectsError};
use crate::crawl_dir::{CrawlDir, DirError};
use crate::job::JobError;

/// How often it is looked for complete files.
pub(super) const LOOK: Duration = Duration::from_secs(10);

/// Why an archive can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Its directory.
    #[error(transparent)]
    Dir(JobError),
    /// The object storage that it goes to.
    #[error(transparent)]
    Objects(#[from] ObjectsError),
}

/// Where the archive files of a worker are written, and go.
pub(super) struct Archive {
    /// Where they are written.
    pub(super) dir: PathBuf,
    /// Holds that directory, where it isn't in the worker's own.
    held: Option<CrawlDir>,
    /// Locks that directory, where it is in the worker's own.
    _lock: Option<File>,
    objects: Option<Arc<Objects>>,
    /// The place there is known to be one of this crawl.
    is_claimed: AtomicBool,
    /// What isn't complete: one for all sessions, since what an earlier one began may still look.
    written: Written,
}

impl Archive {
    /// Of a worker with this directory of its own.
    pub(super) fn new(place: &ArchivePlace, own: &CrawlDir) -> Result<Self, ArchiveError> {
        let refused = |error: DirError| ArchiveError::Dir(error.into());
        let (dir, held, lock) = match place {
            ArchivePlace::Dir(dir) => {
                (dir.clone(), Some(CrawlDir::of_archive(dir, own).map_err(refused)?), None)
            }
            ArchivePlace::Own | ArchivePlace::Objects(_) => {
                (own.warc(), None, own.lock_archive().map_err(refused)?)
            }
        };
        let objects = match place {
            ArchivePlace::Objects(bucket) => Some(Arc::new(Objects::new(bucket)?)),
            ArchivePlace::Own | ArchivePlace::Dir(_) => None,
        };
        Ok(Self {
            dir,
            held,
            _lock: lock,
            objects,
            is_claimed: AtomicBool::new(false),
            written: Written::default(),
        })
    }

    /// The directory that has to be of the crawl, besides the worker's own.
    pub(super) fn other_root(&self) -> Option<&Path> {
        self.held.as_ref().map(CrawlDir::root)
    }

    /// Makes the place in object storage one of this crawl, or says that it is another's. Asks once: a worker that joins again does without the
    /// service.
    pub(super) async fn claim(&self, crawl: &str) -> Result<(), ArchiveError> {
        if let Some(objects) = &self.objects
            && !self.is_claimed.load(Ordering::Relaxed)
        {
            objects.claim(crawl).await?;
            self.is_claimed.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Whether complete files go to object storage.
    pub(super) fn is_moved(&self) -> bool {
        self.objects.is_some()
    }

    /// What moves complete files there, if they go to object storage.
    pub(super) fn moving(&self, own: &CrawlDir, database: &Arc<Database>) -> Moving {
        let uploads = self
            .objects
            .as_ref()
            .map(|objects| Arc::new(Uploads::new(Arc::clone(objects), own, Arc::clone(database))));
        Moving { uploads, running: None, written: self.written.clone() }
    }
}

/// Moves complete archive files to object storage, beside the crawl.
pub(super) struct Moving {
    /// What isn't complete.
    pub(super) written: Written,
    uploads: Option<Arc<Uploads>>,
    running: Option<tokio::task::JoinHandle<()>>,
}

impl Moving {
    /// Begins to move what is complete, unless it is still at it, on a runtime that may be kept busy.
    pub(super) fn begin(&mut self, on: &Handle) {
        let is_idle = self.running.as_ref().is_none_or(tokio::task::JoinHandle::is_finished);
        if let (Some(uploads), true) = (&self.uploads, is_idle) {
            let (uploads, written) = (Arc::clone(uploads), self.written.clone());
            self.running = Some(on.spawn(async move { uploads.look(&written).await }));
        }
    }

    /// Ends what it is at: the rest is for the next session.
    pub(super) async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort();
            drop(running.await);
        }
    }

    /// Moves everything: nothing is written any more. What can't be moved stays, and is reported.
    pub(super) async fn finish(&mut self) {
        let Some(uploads) = self.uploads.take() else { return };
        if let Some(running) = self.running.take() {
            drop(running.await);
        }
        uploads.look(&Written::default()).await;
        uploads.upload().await;
        let remaining = uploads.remaining();
        if remaining > 0 {
            tracing::warn!(
                "archive files that aren't in object storage yet: {remaining}; start the worker again with its directory"
            );
        }
    }
}
