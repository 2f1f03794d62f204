//! Captures that have to leave the archive of a worker, whoever owns their partition now. [`super::forgotten_files`] finds those of forgotten
//! URLs.
//!
//! The owner of a partition enters what has to go, and removes what is in its own files. The rest is entered as not done until the worker
//! that has the file has removed it: at its start, every half minute, and at its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::ClusterError;
use super::connection::{Connection, Error, Link};
use super::forgotten_files;
use super::layout::Layout;
use crate::causes::with_causes;
use crate::post::{Series, stored_object_key};
use crate::record::{Archived, Withdrawal};
use crate::store::Tree;
use crate::warc::{self, Location};

/// How often a worker looks for them.
pub(super) const LOOK: Duration = Duration::from_secs(30);

/// How long the database may be out of reach: what isn't found now is found at the next look.
const PATIENCE: Duration = Duration::from_secs(5);

/// What isn't done yet. Partition by partition, since the primary key begins with it: the tree has few rows among those of all records.
const OPEN: &str = "
select part.id, of_part.key, of_part.value
from part cross join lateral (select key, value from kv where kv.part = part.id and kv.tree = $1 offset 0) as of_part
where position('\"done\":false'::bytea in of_part.value) > 0";

#[cfg(feature = "object-storage")]
const OF_PART: &str = "select value from kv where part = $1 and tree = $2";

/// The row changes where it is as it was read. Its partition may be anybody's: nobody else changes it but to the same.
const DONE: &str = "update kv set value = $5 where part = $1 and tree = $2 and key = $3 and value = $4";

/// What says that an archive file of a partition is in object storage: see [`stored_object_key`].
pub(super) const IS_STORED: &str = "select value from kv where part = $1 and tree = 0 and key = $2";

/// A row as it is stored.
pub(super) struct Open {
    part: i32,
    key: Vec<u8>,
    value: Vec<u8>,
    pub(super) withdrawal: Withdrawal,
}

impl Open {
    /// The number of the worker that has the file.
    fn worker(&self) -> Option<i64> {
        let series = warc::series(&self.withdrawal.place.file)?;
        Some(Series::read(series)?.worker)
    }

    /// Whether the file is in object storage.
    async fn is_stored(&self, connection: &mut Connection) -> Result<bool, Error> {
        let key = stored_object_key(&self.withdrawal.place.file);
        Ok(!connection.query(IS_STORED, &[&self.part, &key]).await?.is_empty())
    }

    pub(super) async fn set_done(self, connection: &mut Connection) -> Result<(), Error> {
        let Self { part, key, value, withdrawal } = self;
        // What was read as JSON is written as JSON.
        let Ok(done) = serde_json::to_vec(&Withdrawal { done: true, ..withdrawal }) else { return Ok(()) };
        let tree = Tree::Withdrawn as i16;
        connection.query(DONE, &[&part, &tree, &key, &value, &done]).await?;
        Ok(())
    }
}

/// All that isn't done yet.
pub(super) async fn open(connection: &mut Connection) -> Result<Vec<Open>, Error> {
    let rows = connection.query(OPEN, &[&(Tree::Withdrawn as i16)]).await?;
    let read = rows.iter().filter_map(|row| {
        let value: Vec<u8> = row.get(2);
        let withdrawal = serde_json::from_slice(&value).ok()?;
        Some(Open { part: row.get(0), key: row.get(1), value, withdrawal })
    });
    Ok(read.collect())
}

/// All captures of an archive file of a partition that have to leave it, or were removed.
#[cfg(feature = "object-storage")]
pub(super) async fn of_file(
    connection: &mut Connection,
    part: i32,
    file: &str,
) -> Result<Vec<Withdrawal>, Error> {
    let rows = connection.query(OF_PART, &[&part, &(Tree::Withdrawn as i16)]).await?;
    let read = rows.iter().filter_map(|row| serde_json::from_slice(row.get(0)).ok());
    Ok(read.filter(|withdrawal: &Withdrawal| withdrawal.place.file == file).collect())
}

/// What is still to be removed from one archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Due {
    /// Captures.
    pub(super) captures: u64,
    /// Files that have to be searched for forgotten URLs.
    pub(super) files: u64,
}

/// The numbers of workers from whose archives something is still to be removed; none for files of the time before the crawl was a cluster's.
pub(super) async fn due(connection: &mut Connection) -> Result<BTreeMap<Option<i64>, Due>, Error> {
    let mut due = BTreeMap::<Option<i64>, Due>::new();
    for worker in open(connection).await?.iter().map(Open::worker) {
        due.entry(worker).or_default().captures += 1;
    }
    for worker in forgotten_files::open(connection).await?.iter().map(forgotten_files::Entry::worker) {
        due.entry(worker).or_default().files += 1;
    }
    Ok(due)
}

/// Nothing has to be removed any more from the archives of these workers: they are lost.
pub(super) async fn give_up(connection: &mut Connection, workers: &[i64]) -> Result<(), Error> {
    for row in open(connection).await? {
        let is_theirs = row.worker().is_some_and(|worker| workers.contains(&worker));
        if is_theirs && !row.is_stored(connection).await? {
            row.set_done(connection).await?;
        }
    }
    forgotten_files::give_up(connection, workers).await
}

/// Removes captures from the archive of one worker.
pub(super) struct Withdrawals {
    /// One for each database.
    links: Vec<Link>,
    dir: PathBuf,
}

impl Withdrawals {
    /// Of the archive in this directory.
    pub(super) fn new(layout: &Layout, dir: &Path) -> Self {
        let link = |address: &Arc<_>| Link::new(Arc::clone(address), None, PATIENCE);
        Self { links: layout.databases().iter().map(link).collect(), dir: dir.to_owned() }
    }

    /// The connections, one for each database, for what is done between two calls.
    pub(super) fn links(&mut self) -> &mut [Link] {
        &mut self.links
    }

    pub(super) async fn connect(&mut self, layout: &Layout) -> Result<(), ClusterError> {
        for (link, address) in self.links.iter_mut().zip(layout.databases()) {
            link.open().await.map_err(ClusterError::connections(address))?;
        }
        Ok(())
    }

    /// Removes what has to go and is in the files here. What fails is reported, and tried again at the next call.
    pub(super) async fn carry_out(&mut self) {
        if !self.dir.is_dir() {
            return;
        }
        for link in &mut self.links {
            let removed = match forgotten_files::search_own(link, &self.dir).await {
                Ok(()) => try_to(link, &self.dir).await,
                Err(error) => Err(error),
            };
            if let Err(error) = removed {
                link.close();
                tracing::debug!("withdrawn captures can't be looked for: {}", with_causes(&error));
            }
        }
    }
}

async fn try_to(link: &mut Link, dir: &Path) -> Result<(), Error> {
    for row in open(link.connection().await?).await? {
        let withdrawal = row.withdrawal.clone();
        if !dir.join(&withdrawal.place.file).is_file() {
            continue;
        }
        let dir = dir.to_owned();
        match tokio::task::spawn_blocking(move || remove(&dir, &withdrawal)).await {
            Ok(Ok(())) => row.set_done(link.connection().await?).await?,
            Ok(Err(error)) => tracing::error!(
                url = row.withdrawal.url,
                "a capture can't be removed from the archive: {}",
                with_causes(&error)
            ),
            // The process ends.
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

/// Removes a capture from a file in this directory.
pub(super) fn remove(dir: &Path, withdrawal: &Withdrawal) -> warc::Result<()> {
    let Withdrawal { url, place, at, because, .. } = withdrawal;
    let Archived { file, offset, length } = place.clone();
    warc::write_tombstone(dir, &Location { file, offset, length }, url, *at, because)
}
