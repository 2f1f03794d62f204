//! Archive files that have to be searched for records of forgotten URLs, and what searches them: the worker that has them. What it finds is entered
//! with the captures that have to go ([`super::withdrawals`]), which it removes next.
//!
//! `crawl cluster forget` enters each file of the archive in the partition that it is of. A worker looks for entries of its own files at its start, every
//! half minute, and at its end; one whose archive goes to object storage looks for entries of stored files as well.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::connection::{Connection, Error, Link};
use super::store::behind;
use crate::causes::with_causes;
use crate::commit::CommitError;
use crate::post::{ForgottenFile, Series, stored_object_key};
use crate::record::ForgetRule;
use crate::removal::{self, Removed, Rules};
use crate::store::Tree;
use crate::warc;
use page::clean::clean;
use page::quantity::count;

/// Partition by partition, since the primary key begins with it.
const OPEN: &str = "
select part.id, of_part.key, of_part.value
from part cross join lateral (
    select key, value from kv where kv.part = part.id and kv.tree = 0 and kv.key >= $1 and kv.key < $2 offset 0
) as of_part";

const RULES: &str =
    "select value from kv where part = $1 and tree = 0 and key >= $2 and key < $3 order by key";

/// What was found is entered as captures are that have to go, and the entry of the file goes if nothing was forgotten since it was read. What
/// was found may be there already.
const FOUND: &str = "
with entered as (
    insert into kv(part, tree, key, value)
    select $1, $4, key, value from unnest($5::bytea[], $6::bytea[]) as found(key, value)
    on conflict (part, tree, key) do nothing
)
delete from kv where part = $1 and tree = 0 and key = $2 and value = $3";

/// Why a file wasn't searched, or not to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum SearchError {
    #[error(transparent)]
    Archive(#[from] CommitError),
    #[error("an entry can't be read or written")]
    Entry(#[from] serde_json::Error),
    #[error("the regular expression of a rule can't be read")]
    Pattern(#[from] regex::Error),
}

/// An entry as it is stored.
pub(super) struct Entry {
    pub(super) part: i32,
    key: Vec<u8>,
    value: Vec<u8>,
    pub(super) file: ForgottenFile,
}

impl Entry {
    /// The number of the worker that wrote the file.
    pub(super) fn worker(&self) -> Option<i64> {
        Some(Series::read(self.file.series.as_deref()?)?.worker)
    }

    /// Enters the records that were found in it, which have to go.
    pub(super) async fn searched(&self, connection: &mut Connection, found: &[Found]) -> Result<(), Error> {
        let tree = Tree::Withdrawn as i16;
        let keys: Vec<&[u8]> = found.iter().map(|found| &found.key[..]).collect();
        let values: Vec<&[u8]> = found.iter().map(|found| &found.value[..]).collect();
        let Self { part, key, value, .. } = self;
        connection.query(FOUND, &[part, key, value, &tree, &keys, &values]).await.map(drop)
    }
}

/// All files that have to be searched.
pub(super) async fn open(connection: &mut Connection) -> Result<Vec<Entry>, Error> {
    let prefix = ForgottenFile::PREFIX;
    let rows = connection.query(OPEN, &[&prefix, &behind(prefix)]).await?;
    let read = rows.iter().filter_map(|row| {
        let key: Vec<u8> = row.get(1);
        let file = ForgottenFile::read(&key)?;
        Some(Entry { part: row.get(0), key, value: row.get(2), file })
    });
    Ok(read.collect())
}

/// The rules by which files of a partition are searched: all of them, also those of before.
pub(super) async fn rules(connection: &mut Connection, part: i32) -> Result<Vec<Vec<u8>>, Error> {
    let prefix = ForgetRule::PREFIX.as_bytes();
    let rows = connection.query(RULES, &[&part, &prefix, &behind(prefix)]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// A record that has to go, as the database has it.
#[derive(Debug)]
pub(super) struct Found {
    key: Vec<u8>,
    value: Vec<u8>,
}

/// Finds the records of forgotten URLs in an archive file. Cost: the file is read once.
pub(super) fn search(path: &Path, rules: &[Vec<u8>]) -> Result<Vec<Found>, SearchError> {
    let rules: Vec<ForgetRule> =
        rules.iter().map(|rule| serde_json::from_slice(rule)).collect::<Result<_, _>>()?;
    let rules = Rules::new(rules.iter())?;
    let (mut found, mut removed) = (Vec::new(), Removed::default());
    removal::judge_file(path, &rules, &mut removed, |records| -> Result<(), SearchError> {
        for record in &records {
            found.push(Found { key: record.key(), value: serde_json::to_vec(record)? });
        }
        Ok(())
    })?;
    if removed.shared > 0 {
        tracing::warn!(
            file = %path.display(),
            "the archive file had the same body for {}, and stored it once: it is gone there, too ({})",
            count(removed.shared, "other capture"),
            removed.shared_urls.iter().map(|url| clean(url)).collect::<Vec<_>>().join(", ")
        );
    }
    Ok(found)
}

/// The files in a directory by what identifies them: their names begin with a time that others needn't know.
fn files_in(dir: &Path) -> HashMap<ForgottenFile, PathBuf> {
    let files = warc::files(dir).unwrap_or_default().into_iter();
    let named = files.filter_map(|(serial, path)| {
        let series = warc::series(path.file_name()?.to_str()?).map(str::to_owned);
        Some((ForgottenFile { series, serial }, path))
    });
    named.collect()
}

/// Searches those files that are in this directory, and enters what has to go. What fails is reported, and tried again at the next call.
pub(super) async fn search_own(link: &mut Link, dir: &Path) -> Result<(), Error> {
    let entries = open(link.connection().await?).await?;
    if entries.is_empty() {
        return Ok(());
    }
    let files = files_in(dir);
    for entry in entries {
        let Some(path) = files.get(&entry.file).cloned() else { continue };
        let rules = rules(link.connection().await?, entry.part).await?;
        let shown = path.display().to_string();
        match tokio::task::spawn_blocking(move || search(&path, &rules)).await {
            Ok(Ok(found)) => entry.searched(link.connection().await?, &found).await?,
            Ok(Err(error)) => {
                tracing::error!(
                    file = shown,
                    "an archive file can't be searched for forgotten pages: {}",
                    with_causes(&error)
                );
            }
            // The process ends.
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

/// Nothing has to be removed any more from the archives of these workers: they are lost, but for what is in object storage.
pub(super) async fn give_up(connection: &mut Connection, workers: &[i64]) -> Result<(), Error> {
    for entry in open(connection).await? {
        let is_theirs = entry.worker().is_some_and(|worker| workers.contains(&worker));
        if is_theirs && stored_file(connection, &entry).await?.is_none() {
            entry.searched(connection, &[]).await?;
        }
    }
    Ok(())
}

const STORED: &str = "select key from kv where part = $1 and tree = 0 and key >= $2 and key < $3";

/// The name of a file that is in object storage.
pub(super) async fn stored_file(connection: &mut Connection, entry: &Entry) -> Result<Option<String>, Error> {
    let prefix = stored_object_key("");
    let rows = connection.query(STORED, &[&entry.part, &prefix, &behind(&prefix)]).await?;
    let named = rows.iter().filter_map(|row| {
        let key: Vec<u8> = row.get(0);
        String::from_utf8(key.strip_prefix(prefix.as_slice())?.to_vec()).ok()
    });
    let is_it = |name: &String| {
        let series = warc::series(name).map(str::to_owned);
        warc::serial(name).is_some_and(|serial| entry.file == ForgottenFile { series, serial })
    };
    Ok({ named }.find(is_it))
}
