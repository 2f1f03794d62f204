//! The database of a crawl on many machines, for the commands that read one.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crawler::causes::with_causes;
use crawler::cluster::{self, Address, ClusterError, Parts, ReadError, State};
use crawler::view::View;
use crawler::warc::Directories;

use crate::exit::{self, Stop};
use crate::terminal::Console;

/// How long the database may be out of reach of a command that reads.
const PATIENCE: Duration = Duration::from_secs(30);

/// The address of a cluster's database.
pub(crate) fn address(url: &str) -> Result<Address, String> {
    let address: Address = url.parse().map_err(|error: cluster::AddressError| with_causes(&error))?;
    WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(address.warnings());
    Ok(address)
}

/// What is said of the addresses on the command line, once that is read.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Prints what is to be said of the addresses on the command line, each once.
pub(crate) fn warn(console: Console) {
    let mut warnings = std::mem::take(&mut *WARNINGS.lock().unwrap_or_else(PoisonError::into_inner));
    warnings.dedup();
    for warning in warnings {
        console.warning(&warning);
    }
}

/// An error of the database with its exit code.
pub(crate) fn database_error(error: &ClusterError) -> anyhow::Error {
    let code = match error {
        ClusterError::Exists { .. }
        | ClusterError::Missing { .. }
        | ClusterError::NoStandby { .. }
        | ClusterError::Making
        | ClusterError::Further { .. }
        | ClusterError::OtherCrawl { .. }
        | ClusterError::Adding { .. } => exit::USAGE,
        ClusterError::Settings(_) => exit::CONFIG,
        _ => exit::STORAGE,
    };
    Stop::new(code, with_causes(error)).into()
}

fn read_error(error: &ReadError) -> anyhow::Error {
    match error {
        ReadError::Cluster(error) => database_error(error),
        ReadError::View(error) => exit::view_error(error),
        error => Stop::new(exit::STORAGE, with_causes(error)).into(),
    }
}

/// The partition of a host, to read.
pub(crate) fn view_of(database: &Address, host: &str) -> anyhow::Result<View> {
    cluster::view_of(database, host).map_err(|error| read_error(&error))
}

/// All partitions with their numbers, of which few will be read. `archive` has the bodies of pages, as far as it is within reach.
pub(crate) fn some_views(database: &Address, archive: Directories) -> anyhow::Result<Vec<(String, View)>> {
    let parts = Parts::open(database, archive, PATIENCE).map_err(|error| read_error(&error))?;
    Ok(parts.views())
}

/// All partitions with their numbers, to read what is committed last.
pub(crate) fn views(database: &Address) -> anyhow::Result<Vec<(String, View)>> {
    cluster::views(database).map_err(|error| read_error(&error))
}

/// All partitions with their numbers, to read them as they are at this moment.
pub(crate) fn snapshot_views(database: &Address) -> anyhow::Result<Vec<(String, View)>> {
    cluster::snapshot_views(database).map_err(|error| read_error(&error))
}

/// The settings and seeds that the crawl was made with, as in `crawl.toml`.
pub(crate) fn settings(database: &Address) -> anyhow::Result<String> {
    cluster::settings(database).map_err(|error| database_error(&error))
}

/// Whether workers may crawl.
pub(crate) fn is_running(database: &Address) -> anyhow::Result<bool> {
    Ok(course(database)?.0)
}

/// Whether workers may crawl, and how often the crawl was begun or continued.
pub(crate) fn course(database: &Address) -> anyhow::Result<(bool, u64)> {
    let status = cluster::status(database).map_err(|error| database_error(&error))?;
    Ok((status.state == State::Running, status.totals.runs))
}
