//! What a worker had in flight when it died: known to its directory alone, until a worker is started with it again.
//!
//! A worker notes each request in a file before it is sent ([`crate::intents`]), under its number. A process that has the directory knows that workers of
//! other numbers that have files there are dead. It sends what is in their files to the partitions that they had, as letters, and drops a file once no
//! partition waits for it any more.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::connection::{Connection, Error, Link};
use super::sent::pack_letters;
use super::store::behind;
use crate::causes::{Cause, with_causes};
use crate::intents::{self, Intent};
use crate::post::{self, Letter};
use crate::record::{DeadOwner, OWNER};

/// What partitions have of owners that died, or of the present one. Partition by partition, since the primary key begins with it.
const OWNERS: &str = "
select part.id, of_part.key, of_part.value
from part cross join lateral (
    select key, value from kv where kv.part = part.id and kv.tree = 0 and kv.key >= $1 and kv.key < $2
    union all
    select key, value from kv where kv.part = part.id and kv.tree = 0 and kv.key = $3
) as of_part";

/// Under a key that no partition gives, and that each worker has once. One that it sent before stays as it is.
const SEND: &str = "
insert into kv(part, tree, key, value)
select part, 16, decode('ffffffff', 'hex') || int8send(2) || int8send($1), text
from unnest($2::int4[], $3::bytea[]) as sent(part, text) on conflict do nothing";

/// It was asked for something: whoever looked before whether it is complete looks again.
const ORDERED: &str = "update crawl set orders = orders + 1";

/// A crawl that is complete goes on, to enter them. Not one that a limit ended: it would begin another run.
const RESUME: &str = "
update crawl set state = 'running', run = run + 1, worked_ms = 0 where state = 'complete' and limit_reached is null returning state";

/// A partition that a worker died with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) part: i32,
    pub(super) worker: i64,
    /// Its directory is lost.
    pub(super) is_lost: bool,
}

/// The partitions that workers died with, and those that they have now.
pub(super) async fn left(connection: &mut Connection) -> Result<Vec<Left>, Error> {
    let prefix = DeadOwner::PREFIX;
    let rows = connection.query(OWNERS, &[&prefix, &behind(prefix), &OWNER]).await?;
    let read = rows.iter().filter_map(|row| {
        let (part, key, value): (i32, &[u8], &[u8]) = (row.get(0), row.get(1), row.get(2));
        if key == OWNER {
            let worker = std::str::from_utf8(value).ok()?.parse().ok()?;
            return Some(Left { part, worker, is_lost: false });
        }
        let died: DeadOwner = serde_json::from_slice(value).ok()?;
        Some(Left { part, worker: died.worker, is_lost: died.lost })
    });
    Ok(read.collect())
}

/// Sends what is in the files of dead workers.
pub(super) struct Handover {
    root: PathBuf,
    partitions: u32,
    /// The number of the worker that this process is; none before it has one.
    own: Option<i64>,
    /// Files of dead workers, with what they have.
    files: BTreeMap<i64, (PathBuf, Vec<Intent>)>,
}

impl Handover {
    /// Of the directory of a worker, which has this number now. What can't be read is reported.
    pub(super) fn new(root: &Path, partitions: u32, own: Option<i64>) -> Self {
        Self { root: root.to_owned(), partitions, own, files: BTreeMap::new() }
    }

    /// Sends what is there, on one connection for each database, and drops the files that nothing waits for. What fails is reported, and tried again at
    /// the next call.
    pub(super) async fn carry_out(&mut self, links: &mut [Link]) {
        self.send(links).await;
    }

    /// The same at the start of a worker. Returns true if the crawl was complete, and goes on to enter what was sent.
    pub(super) async fn carry_out_and_resume(&mut self, links: &mut [Link]) -> bool {
        if !self.send(links).await {
            return false;
        }
        let Some(first) = links.first_mut() else { return false };
        let resumed = match first.connection().await {
            Ok(connection) => connection.query(RESUME, &[]).await,
            Err(error) => Err(error),
        };
        resumed.is_ok_and(|rows| !rows.is_empty())
    }

    /// Returns true if there was something to send.
    async fn send(&mut self, links: &mut [Link]) -> bool {
        if let Err(error) = self.read() {
            tracing::error!("what dead workers had in flight can't be read: {}", with_causes(&*error));
        }
        if self.files.is_empty() {
            return false;
        }
        self.try_to(links).await.unwrap_or_else(|error| {
            links.iter_mut().for_each(Link::close);
            tracing::debug!("what dead workers had in flight can't be sent: {}", with_causes(&error));
            false
        })
    }

    fn read(&mut self) -> Result<(), Cause> {
        for (worker, path) in intents::files_of_workers(&self.root)? {
            if Some(worker) != self.own && !self.files.contains_key(&worker) {
                let left = intents::left_in(&path)?;
                self.files.insert(worker, (path, left));
            }
        }
        Ok(())
    }

    async fn try_to(&mut self, links: &mut [Link]) -> Result<bool, Error> {
        let mut awaited = BTreeSet::new();
        let mut has_sent = false;
        for link in &mut *links {
            let connection = link.connection().await?;
            let left = left(connection).await?;
            for (worker, (_, intents)) in &self.files {
                let parts: BTreeSet<i32> =
                    left.iter().filter(|left| left.worker == *worker).map(|left| left.part).collect();
                if parts.is_empty() {
                    continue;
                }
                awaited.insert(*worker);
                let (parts, texts): (Vec<i32>, Vec<Vec<u8>>) = parts
                    .into_iter()
                    .filter_map(|part| {
                        let of_part = |intent: &&Intent| {
                            i64::from(post::partition(&intent.host, self.partitions)) == i64::from(part)
                        };
                        let intents = intents.iter().filter(of_part).cloned().collect();
                        let letter = postcard::to_allocvec(&Letter::InFlight { worker: *worker, intents });
                        Some((part, pack_letters(letter.ok()?)))
                    })
                    .unzip();
                connection.query(SEND, &[worker, &parts, &texts]).await?;
                has_sent = true;
            }
        }
        self.files.retain(|worker, (path, _)| {
            let is_awaited = awaited.contains(worker);
            if !is_awaited && let Err(error) = std::fs::remove_file(&*path) {
                tracing::warn!(%error, file = %path.display(), "the file of a worker's requests can't be removed");
            }
            is_awaited
        });
        let Some(first) = links.first_mut().filter(|_| has_sent) else { return Ok(false) };
        let connection = first.connection().await?;
        connection.query(ORDERED, &[]).await?;
        Ok(true)
    }
}
