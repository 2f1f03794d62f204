//! Workers whose archives are lost: each partition gets a letter, and queues the pages again whose bodies were there.

use std::time::Duration;

use super::connection::{self, Connection};
use super::database::block_on;
use super::layout::open_all;
use super::member::DECLARE;
use super::observer::Observer;
use super::sent::pack_letters;
use super::{Address, ClusterError, State, moved, withdrawals};
use crate::post::Letter;
use page::clock;

const STATE: &str = "select state from crawl";
const WORKERS: &str = "select id, name, beat, alive from worker order by id";

/// A letter to each partition, under a key that no partition gives.
const QUEUE: &str = "
insert into kv(part, tree, key, value)
select id, 16, decode('ffffffff', 'hex') || int8send(0) || int8send((extract(epoch from clock_timestamp()) * 1000000)::int8), $1
from part returning part";

/// It was asked for something: whoever looked before whether it is complete looks again.
const ORDERED: &str = "update crawl set orders = orders + 1";

/// A crawl that is complete continues.
const RESUME: &str = "
update crawl set state = 'running', run = run + 1, worked_ms = 0, limit_reached = null where state = 'complete'";

/// A worker that looked whether the crawl is complete before the letters were there has said so by then.
const SETTLED: Duration = Duration::from_secs(2);

/// A worker whose archive is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostWorker {
    /// Its number: a worker that is started again gets another one.
    pub id: i64,
    /// Its name.
    pub name: String,
}

/// Why pages can't be queued again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LostError {
    /// The database.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// It is continued elsewhere.
    #[error("the crawl was moved to {0}, and is continued there: nothing is fetched for it here")]
    Moved(String),
    /// No worker is called so.
    #[error("the crawl had no worker {name}; it had {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// All that there were.
        known: String,
    },
    /// One of them is at work.
    #[error("worker {id} ({name}) is running, so its archive isn't lost{before}")]
    Running {
        /// Its number.
        id: i64,
        /// Its name.
        name: String,
        /// The numbers of others of this name, in words; empty if there are none.
        before: String,
    },
    /// The letter can't be written.
    #[error("the order can't be written")]
    Write(#[from] postcard::Error),
}

/// A worker as the database has it.
struct Known {
    id: i64,
    name: String,
    beat: i64,
    is_alive: bool,
}

/// Has the pages queued again whose bodies were in the archives of these workers, given by name or number. A worker that hasn't said that it
/// ended is watched for 1.1 times the lease, and then taken for dead. Returns the state of the crawl before, and the workers; a crawl that was
/// complete goes on.
pub fn lose(address: &Address, which: &[String]) -> Result<(State, Vec<LostWorker>), LostError> {
    block_on(async {
        let mut all = open_all(address.clone()).await?;
        let lease = all.terms.lease;
        let failed = |error| ClusterError::server("queue pages again", address, error);
        let connection = all.first();
        let rows = connection.query(STATE, &[]).await.map_err(failed)?;
        let damaged = || ClusterError::damaged("its state", address);
        let state = rows.first().and_then(|row| State::of(row.get(0))).ok_or_else(damaged)?;
        if state == State::Making {
            return Err(ClusterError::Making.into());
        }
        if state == State::Moved {
            return Err(LostError::Moved(moved::words(connection).await.map_err(failed)?));
        }
        if state == State::Adding {
            return Err(ClusterError::Adding { address: address.to_string() }.into());
        }
        let known = workers(connection).await.map_err(failed)?;
        let lost = chosen(&known, which)?;
        for worker in lost.iter().filter(|worker| worker.is_alive) {
            bury(connection, address, (worker, &known), lease).await?;
        }
        let workers: Vec<i64> = lost.iter().map(|worker| worker.id).collect();
        let letter =
            pack_letters(postcard::to_allocvec(&Letter::Lost { workers: workers.clone(), next: 0 })?);
        for (connection, address) in all.each() {
            let failed = |error| ClusterError::server("queue pages again", address, error);
            withdrawals::give_up(connection, &workers).await.map_err(failed)?;
            connection.query(QUEUE, &[&letter]).await.map_err(failed)?;
        }
        let connection = all.first();
        connection.query(ORDERED, &[]).await.map_err(failed)?;
        connection.query(RESUME, &[]).await.map_err(failed)?;
        if state == State::Running {
            wait(SETTLED).await;
            connection.query(RESUME, &[]).await.map_err(failed)?;
        }
        let named = |worker: &&Known| LostWorker { id: worker.id, name: worker.name.clone() };
        Ok((state, lost.iter().map(named).collect()))
    })
}

async fn workers(connection: &mut Connection) -> Result<Vec<Known>, connection::Error> {
    let rows = connection.query(WORKERS, &[]).await?;
    let read = rows.iter().map(|row| Known {
        id: row.get(0),
        name: row.get(1),
        beat: row.get(2),
        is_alive: row.get(3),
    });
    Ok(read.collect())
}

/// Those of these names and numbers.
fn chosen<'a>(known: &'a [Known], which: &[String]) -> Result<Vec<&'a Known>, LostError> {
    let is_meant = |worker: &Known, word: &String| worker.name == *word || worker.id.to_string() == *word;
    for word in which {
        if !known.iter().any(|worker| is_meant(worker, word)) {
            let names: Vec<String> =
                known.iter().map(|worker| format!("{} ({})", worker.id, worker.name)).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(LostError::Unknown { name: word.clone(), known });
        }
    }
    Ok(known.iter().filter(|worker| which.iter().any(|word| is_meant(worker, word))).collect())
}

/// Declares a worker dead that raises its count no longer.
async fn bury(
    connection: &mut Connection,
    address: &Address,
    (worker, known): (&Known, &[Known]),
    lease: Duration,
) -> Result<(), LostError> {
    let failed = |error| ClusterError::server("watch a worker", address, error);
    let mut observer = Observer::new(lease);
    loop {
        let now = workers(connection).await.map_err(failed)?;
        let at = clock::since_boot().ok_or(ClusterError::NoClock)?;
        let Some(seen) = now.iter().find(|seen| seen.id == worker.id && seen.is_alive) else { return Ok(()) };
        if seen.beat != worker.beat {
            let of_name = |other: &&Known| other.name == worker.name && other.id != worker.id;
            let before: Vec<String> =
                known.iter().filter(of_name).map(|other| other.id.to_string()).collect();
            let before = if before.is_empty() {
                String::new()
            } else {
                format!(
                    ". If it was started again on another disk, give the numbers of those before it: {}",
                    before.join(", ")
                )
            };
            return Err(LostError::Running { id: worker.id, name: worker.name.clone(), before });
        }
        if !observer.see(&[(seen.id, seen.beat)], at).is_empty() {
            connection.query(DECLARE, &[&seen.id, &seen.beat]).await.map_err(failed)?;
            return Ok(());
        }
        wait(lease / 10).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "waits for another process")]
pub(super) async fn wait(time: Duration) {
    tokio::time::sleep(time).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(id: i64, name: &str) -> Known {
        Known { id, name: name.to_owned(), beat: 0, is_alive: false }
    }

    #[test]
    fn workers_are_chosen_by_name_and_by_number() {
        let known = [worker(1, "east"), worker(2, "west"), worker(3, "east"), worker(4, "2")];
        let chosen = |which: &[&str]| {
            let which: Vec<String> = which.iter().map(ToString::to_string).collect();
            chosen(&known, &which).map(|chosen| chosen.iter().map(|worker| worker.id).collect::<Vec<_>>())
        };
        assert_eq!(chosen(&["east"]).unwrap(), [1, 3]);
        assert_eq!(chosen(&["3", "west"]).unwrap(), [2, 3]);
        assert_eq!(chosen(&["2"]).unwrap(), [2, 4], "a name may be a number");
        let error = chosen(&["east", "north"]).unwrap_err().to_string();
        assert_eq!(error, "the crawl had no worker north; it had 1 (east), 2 (west), 3 (east), 4 (2)");
    }
}
