//! Copies the archive files of a crawl from object storage to a directory, for the commands that read bodies.

use std::fs;
use std::path::Path;

use super::super::archive_place::{ArchivePlace, Bucket};
use super::super::database::block_on;
use super::super::layout::open_all;
use super::super::{Address, ClusterError};
use super::{Objects, ObjectsError};
use crate::crawl_dir::{CrawlDir, DirError};
use crate::nofollow;
use crate::post::{STORED_OBJECT, StoredObject};
use crate::warc;

/// The entries of one database.
const ALL: &str = "select key, value from kv where tree = 0 and substring(key for octet_length($1::bytea)) = $1 order by key";

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Downloaded {
    /// Files that were copied now.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that were there, and are still as they are in object storage.
    pub present: u64,
}

/// Why files can't be copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownloadError {
    /// The database.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The object storage, or a file here.
    #[error(transparent)]
    Objects(#[from] ObjectsError),
    /// The directory.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// An entry that no worker made.
    #[error("the database names an archive file that can't be one: {0}")]
    Entry(String),
}

/// Copies all archive files that workers moved to object storage into a directory, which is made where it is missing. A file that is there, and is as
/// long and as old as its object, isn't copied again. `tell` gets each file that is copied, with its bytes, before that begins. Memory: 16 MiB.
pub fn download(
    address: &Address,
    dir: &Path,
    tell: &mut dyn FnMut(&str, u64),
) -> Result<Downloaded, DownloadError> {
    let failed = |source| ObjectsError::File { doing: "make", path: dir.to_owned(), source };
    fs::create_dir_all(dir).map_err(failed)?;
    CrawlDir::refuse_used(dir)?;
    block_on(async {
        let mut all = open_all(address.clone()).await?;
        let mut entries = Vec::new();
        for (connection, address) in all.each() {
            let rows = connection.query(ALL, &[&STORED_OBJECT]).await;
            let rows = rows.map_err(|error| ClusterError::server("read what is stored", address, error))?;
            for row in rows {
                let (key, value): (Vec<u8>, Vec<u8>) = (row.get(0), row.get(1));
                entries.push(read_entry(&key, &value)?);
            }
        }
        let mut done = Downloaded::default();
        let mut last: Option<Objects> = None;
        for (file, bucket) in entries {
            let objects = match last.take() {
                Some(objects) if objects.bucket == bucket => objects,
                _ => Objects::new(&bucket)?,
            };
            let (bytes, modified) = objects.look(&file).await?;
            let path = dir.join(&file);
            let is_there = fs::metadata(&path)
                .is_ok_and(|here| here.len() == bytes && here.modified().is_ok_and(|at| at == modified));
            if is_there {
                done.present += 1;
            } else {
                tell(&file, bytes);
                let path = objects.get(&file, dir).await?;
                let set =
                    nofollow::options().write(true).open(&path).and_then(|copy| copy.set_modified(modified));
                set.map_err(|source| ObjectsError::File { doing: "date", path, source })?;
                done.files += 1;
                done.bytes += bytes;
            }
            last = Some(objects);
        }
        Ok(done)
    })
}

/// The file of an entry, and where it is.
fn read_entry(key: &[u8], value: &[u8]) -> Result<(String, Bucket), DownloadError> {
    let damaged = || DownloadError::Entry(String::from_utf8_lossy(key).into_owned());
    let file = key.strip_prefix(STORED_OBJECT).and_then(|file| std::str::from_utf8(file).ok());
    let file = file.filter(|file| warc::serial(file).is_some()).ok_or_else(damaged)?;
    let entry: StoredObject = serde_json::from_slice(value).map_err(|_| damaged())?;
    let place = entry.url.strip_suffix(file).ok_or_else(damaged)?;
    match place.parse() {
        Ok(ArchivePlace::Objects(bucket)) => Ok((file.to_owned(), bucket)),
        _ => Err(damaged()),
    }
}
