//! Moves the complete files of a worker's archive to object storage.
//!
//! A file that nobody adds to any more is set aside first, and uploaded at the next look: whoever was about to overwrite a record in it is done by
//! then. When it is stored, the database says so, in the partition that it is of, and the file here is removed. Captures that have to leave
//! a stored file are overwritten in a copy, which takes its place.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::super::connection::{Connection, Error, Link};
use super::super::forgotten_files::{self, Entry, SearchError};
use super::super::layout::Layout;
use super::super::withdrawals::{self, IS_STORED, Open};
use super::super::written::Written;
use super::super::{Claim, Database, PgStore};
use super::{Objects, ObjectsError};
use crate::causes::with_causes;
use crate::commit::{CommitError, read_warc_end, warc_end_key};
use crate::crawl_dir::CrawlDir;
use crate::post::{Series, StoredObject, stored_object_key};
use crate::store::{Store as _, StoreError, Tree};
use crate::warc;
use page::clock::Clock;

/// How long the database may be out of reach: what isn't done now is done at the next look.
const PATIENCE: Duration = Duration::from_secs(5);

const STORED: &str = "
insert into kv(part, tree, key, value) values ($1, 0, $2, $3) on conflict (part, tree, key) do update set value = excluded.value";

/// One worker at a time changes a stored file.
const LOCK: &str = "select pg_try_advisory_lock(hashtextextended($1, 20))";
const UNLOCK: &str = "select pg_advisory_unlock(hashtextextended($1, 20))";

/// Why files stay here for now.
#[derive(Debug, thiserror::Error)]
enum UploadError {
    #[error(transparent)]
    Objects(#[from] ObjectsError),
    #[error("the database doesn't answer")]
    Database(#[from] Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Warc(#[from] warc::Error),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error("can't move or remove {}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("the entry of a stored file can't be written")]
    Entry(#[from] serde_json::Error),
}

/// What brings the archive of one worker to object storage.
#[derive(Debug)]
pub(in super::super) struct Uploads {
    objects: Arc<Objects>,
    /// Where files are written.
    warc: PathBuf,
    /// Where those are that nobody writes to any more.
    complete: PathBuf,
    layout: Arc<Layout>,
    database: Arc<Database>,
}

impl Uploads {
    /// Of the archive in this directory.
    pub(in super::super) fn new(objects: Arc<Objects>, dir: &CrawlDir, database: Arc<Database>) -> Self {
        let layout = Arc::clone(database.layout());
        Self { objects, warc: dir.warc(), complete: dir.complete_warc(), layout, database }
    }

    /// Uploads what was set aside before, and removes what has to leave stored files; then sets aside what is complete by now. Files of the
    /// series in `written` aren't. What fails is reported, and done at the next call.
    pub(in super::super) async fn look(&self, written: &Written) {
        self.upload().await;
        let (database, warc, complete) =
            (Arc::clone(&self.database), self.warc.clone(), self.complete.clone());
        let written = written.clone();
        let set = tokio::task::spawn_blocking(move || set_aside(&database, &warc, &complete, &written)).await;
        if let Ok(Err(error)) = set {
            tracing::warn!("archive files can't be set aside for upload: {}", with_causes(&error));
        }
    }

    /// Uploads what was set aside, and removes what has to leave stored files.
    pub(in super::super) async fn upload(&self) {
        self.objects.abort_unfinished(&self.complete).await;
        let files = warc::files(&self.complete).unwrap_or_default();
        for (_, path) in files {
            let Err(error) = self.upload_one(&path).await else { continue };
            tracing::warn!(
                file = %path.display(),
                "an archive file can't be uploaded yet; it is tried again: {}",
                with_causes(&error)
            );
            // The next one would be refused as well.
            if matches!(error, UploadError::Objects(ObjectsError::Service { .. }) | UploadError::Database(_))
            {
                return;
            }
        }
        if let Err(error) = self.withdraw().await {
            tracing::warn!("captures can't be removed from stored files yet: {}", with_causes(&error));
        }
    }

    /// Files that aren't uploaded yet.
    pub(in super::super) fn remaining(&self) -> usize {
        let files =
            [&self.complete, &self.warc].into_iter().filter_map(|dir| warc::files(dir).ok()).flatten();
        files.filter(|(_, path)| part_of(&super::file_name(path)).is_some()).count()
    }

    async fn upload_one(&self, path: &Path) -> Result<(), UploadError> {
        let file = super::file_name(path);
        let Some(part) = part_of(&file) else { return Ok(()) };
        let url = self.objects.put(path).await?;
        let bytes = fs::metadata(path).map_err(|source| as_file(path, source))?.len();
        let entry = StoredObject { url, bytes, at: Clock::system().now().wall };
        let mut link = self.link(part);
        let connection = link.connection().await?;
        let value = serde_json::to_vec(&entry)?;
        connection.query(STORED, &[&part, &stored_object_key(&file), &value]).await?;
        fs::remove_file(path).map_err(|source| as_file(path, source))
    }

    /// Searches stored files for forgotten URLs, and overwrites captures in them.
    async fn withdraw(&self) -> Result<(), UploadError> {
        for address in self.layout.databases() {
            let mut connection = Connection::open(address).await?;
            for entry in forgotten_files::open(&mut connection).await? {
                if let Some(file) = forgotten_files::stored_file(&mut connection, &entry).await?
                    && self.is_here(&mut connection, entry.part, &file).await?
                {
                    self.search(&mut connection, &entry, &file).await?;
                }
            }
            let mut files: BTreeMap<String, Vec<Open>> = BTreeMap::new();
            for row in withdrawals::open(&mut connection).await? {
                files.entry(row.withdrawal.place.file.clone()).or_default().push(row);
            }
            for (file, rows) in files {
                let Some(part) = part_of(&file) else { continue };
                if self.is_here(&mut connection, part, &file).await? {
                    self.withdraw_from(&mut connection, (part, &file), rows).await?;
                }
            }
        }
        Ok(())
    }

    /// Whether a file of a partition is stored where this worker stores.
    async fn is_here(&self, connection: &mut Connection, part: i32, file: &str) -> Result<bool, UploadError> {
        let found = connection.query(IS_STORED, &[&part, &stored_object_key(file)]).await?;
        let entry = found.first().and_then(|row| serde_json::from_slice::<StoredObject>(row.get(0)).ok());
        Ok(entry.is_some_and(|entry| entry.url == self.objects.bucket.url_of(file)))
    }

    /// Where a copy of a stored file is for the time being.
    fn changing(&self) -> Result<PathBuf, UploadError> {
        let dir = self.complete.join("changing");
        fs::create_dir_all(&dir).map_err(|source| as_file(&dir, source))?;
        Ok(dir)
    }

    /// Enters what has to go from a stored file.
    async fn search(
        &self,
        connection: &mut Connection,
        entry: &Entry,
        file: &str,
    ) -> Result<(), UploadError> {
        let rules = forgotten_files::rules(connection, entry.part).await?;
        let path = self.objects.get(file, &self.changing()?).await?;
        let searched = tokio::task::spawn_blocking(move || {
            let found = forgotten_files::search(&path, &rules)?;
            fs::remove_file(&path).map_err(|source| as_file(&path, source))?;
            Ok::<_, UploadError>(found)
        });
        // The process ends where it wasn't searched.
        let Ok(found) = searched.await else { return Ok(()) };
        Ok(entry.searched(connection, &found?).await?)
    }

    /// Overwrites all captures of a file that have to leave it, also those that were removed before: where two workers were at it, since one lost
    /// its connection and with it the lock, the later one may have put an older copy there. Its own rows are still open then.
    async fn withdraw_from(
        &self,
        connection: &mut Connection,
        (part, file): (i32, &str),
        rows: Vec<Open>,
    ) -> Result<(), UploadError> {
        let locked = connection.query(LOCK, &[&file]).await?;
        if !locked.first().is_some_and(|row| row.get(0)) {
            return Ok(());
        }
        let all = withdrawals::of_file(connection, part, file).await?;
        let dir = self.changing()?;
        let path = self.objects.get(file, &dir).await?;
        for withdrawal in &all {
            withdrawals::remove(&dir, withdrawal)?;
        }
        self.objects.put(&path).await?;
        fs::remove_file(&path).map_err(|source| as_file(&path, source))?;
        // Answered on the connection that has had the lock all the time, or not at all.
        connection.query(UNLOCK, &[&file]).await?;
        for row in rows {
            row.set_done(connection).await?;
        }
        Ok(())
    }

    fn link(&self, part: i32) -> Link {
        let address = &self.layout.databases()[self.layout.place(part)];
        Link::new(Arc::clone(address), None, PATIENCE)
    }
}

/// The partition of an archive file.
fn part_of(file: &str) -> Option<i32> {
    i32::try_from(Series::read(warc::series(file)?)?.part).ok()
}

fn as_file(path: &Path, source: std::io::Error) -> UploadError {
    UploadError::File { path: path.to_owned(), source }
}

/// Moves the files out of the archive's directory that nobody adds to any more: those before the one with the committed end of their series, and all
/// of a series that isn't written to any more, whose tail is cut first.
fn set_aside(
    database: &Arc<Database>,
    dir: &Path,
    complete: &Path,
    written: &Written,
) -> Result<(), UploadError> {
    if !dir.is_dir() {
        return Ok(());
    }
    let mut all: BTreeMap<String, Vec<(u32, PathBuf)>> = BTreeMap::new();
    for (serial, path) in warc::files(dir)? {
        if let Some(series) = path.file_name().and_then(|name| name.to_str()).and_then(warc::series) {
            all.entry(series.to_owned()).or_default().push((serial, path));
        }
    }
    for (series, files) in all {
        let is_written = written.has(&series);
        if is_written && files.len() == 1 {
            continue;
        }
        let Some(Series { part, .. }) = Series::read(&series) else { continue };
        let part = i32::try_from(part).unwrap_or(-1);
        // Read only: the partition may be anybody's.
        let store = PgStore::new(Arc::clone(database), Claim { part, owner: 0, fence: 0, commits: 0 });
        let end = store.get(Tree::Meta, warc_end_key(&series).as_bytes())?;
        let end = end.map(|end| read_warc_end(&end)).transpose()?;
        if !is_written {
            warc::repair_series(dir, Some(&series), end.as_ref())?;
        }
        let Some(last) = end.and_then(|end| warc::serial(&end.file)) else { continue };
        fs::create_dir_all(complete).map_err(|source| as_file(complete, source))?;
        // In their order: the one with the committed end is the last that goes. What is behind it was removed, or isn't committed yet.
        for (serial, path) in files {
            if serial < last || !is_written && serial == last {
                let to = complete.join(super::file_name(&path));
                fs::rename(&path, to).map_err(|source| as_file(&path, source))?;
            }
        }
    }
    Ok(())
}
