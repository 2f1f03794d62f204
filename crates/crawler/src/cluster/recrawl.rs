//! `crawl cluster recrawl`: queues pages of a crawl that rests again, as `crawl recrawl` does on one machine.

use jiff::Timestamp;

use super::at_rest::{AtRest, AtRestError};
use super::{Address, ClusterError};
use crate::format::{FormatError, read_key};
use crate::job::{Revisit, again, revisit};

/// Why pages can't be queued again, or not all of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecrawlError {
    /// The partitions.
    #[error(transparent)]
    Partitions(#[from] AtRestError),
    /// The form of the partitions.
    #[error(transparent)]
    Format(#[from] FormatError),
}

impl From<ClusterError> for RecrawlError {
    fn from(error: ClusterError) -> Self {
        Self::Partitions(error.into())
    }
}

/// Queues the pages again that are due, and returns their number. Where an earlier round isn't over, it is continued instead. The crawl must be stopped or
/// complete, and of this `program` (name and version); it isn't resumed. Cost: a pass over all page records, and a commit for 5,000 URLs queued; memory: about 200 bytes for each of these.
///
/// # Errors
/// See [`RecrawlError`]. Whatever fails can be done again, and continues.
pub fn recrawl(
    address: &Address,
    program: &str,
    which: Revisit,
    now: Timestamp,
) -> Result<u64, RecrawlError> {
    let mut rest = AtRest::take(address, program, "crawl cluster recrawl")?;
    let queued = queue(&rest, which, now);
    let given_back = rest.give_back();
    let queued = queued?;
    given_back?;
    Ok(queued)
}

/// Queues the URLs again whose reading ended a process, as `crawl resume --retry-crashed` does on one machine, and returns their number. The crawl must be
/// stopped or complete, and of this `program`; it isn't resumed.
///
/// # Errors
/// See [`RecrawlError`]. Whatever fails can be done again.
pub fn retry_crashed(address: &Address, program: &str, now: Timestamp) -> Result<u64, RecrawlError> {
    let mut rest = AtRest::take(address, program, "crawl cluster resume --retry-crashed")?;
    let key = rest.parts().first().map(|first| read_key(&**first)).transpose();
    let queued = key.map_err(RecrawlError::from).and_then(|key| {
        let Some(key) = key else { return Ok(0) };
        Ok(rest.each(|_, part| Ok(again::crashed(part, key, now)?))?.iter().sum())
    });
    let given_back = rest.give_back();
    let queued = queued?;
    given_back?;
    Ok(queued)
}

fn queue(rest: &AtRest, which: Revisit, now: Timestamp) -> Result<u64, RecrawlError> {
    let Some(first) = rest.parts().first() else { return Ok(0) };
    let key = read_key(&**first)?;
    let queued = rest.each(|_, part| {
        if rest.is_complete() {
            // Nothing of it remains to be visited.
            revisit::close(&**part)?;
        }
        Ok(revisit::begin(part, key, Some(which), now)?.queued)
    })?;
    Ok(queued.iter().sum())
}
