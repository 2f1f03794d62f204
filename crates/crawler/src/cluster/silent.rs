//! Workers that fell silent when a crawl was stopped: no other worker is there to notice.

use tokio::runtime::Runtime;

use super::database::runtime;
use super::layout::{All, open_all};
use super::member::{DECLARE, free};
use super::observer::Observer;
use super::{Address, ClusterError};
use page::clock;

const WORKERS: &str = "select id, beat from worker where alive";

/// Watches the workers of a crawl that comes to rest, as each of them watches the others, and frees the partitions of those that are silent for 1.1 times
/// the lease.
pub struct Watch {
    runtime: Runtime,
    all: All,
    /// One for each database.
    observers: Vec<Observer>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("observers", &self.observers).finish_non_exhaustive()
    }
}

impl Watch {
    /// Connects to all databases of the crawl.
    pub fn open(address: &Address) -> Result<Self, ClusterError> {
        let runtime = runtime()?;
        let all = runtime.block_on(open_all(address.clone()))?;
        let observers = all.connections.iter().map(|_| Observer::new(all.terms.lease)).collect();
        Ok(Self { runtime, all, observers })
    }

    /// Looks once. To be called at least five times in a lease.
    pub fn look(&mut self) -> Result<(), ClusterError> {
        let Self { runtime, all, observers } = self;
        runtime.block_on(async {
            for ((connection, address), observer) in all.each().zip(observers) {
                let failed = |error| ClusterError::server("watch the workers", address, error);
                let rows = connection.query(WORKERS, &[]).await.map_err(failed)?;
                let beats: Vec<(i64, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
                let now = clock::since_boot().ok_or(ClusterError::NoClock)?;
                for (worker, beat) in observer.see(&beats, now) {
                    if !connection.query(DECLARE, &[&worker, &beat]).await.map_err(failed)?.is_empty() {
                        tracing::warn!(worker, "a worker is silent and counts as dead");
                    }
                }
                free(connection).await.map_err(failed)?;
            }
            Ok(())
        })
    }
}
