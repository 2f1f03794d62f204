//! What an engine works with besides its store, given to it before it begins.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::{AddressPool, Allowance, Listener, Pool, Portions, Post, Steer};
use crate::commit::Committer;
use crate::deadline::Deadline;
use crate::intents::{Intent, Intents};
use crate::pauses::PauseLog;
use crate::view::View;

/// What an engine works with besides its store.
pub struct EngineParts<S> {
    /// Writes what the engine has settled.
    pub committer: Committer<S>,
    /// Receives what happens.
    pub listener: Listener,
    /// Pauses that hosts asked for, noted before they are on record. The engine restores the rest of those that an earlier process noted.
    pub pauses: Option<Arc<PauseLog>>,
    /// Where each request is noted before it is sent, and what an earlier process noted there: requests that aren't on record are entered.
    pub intents: Option<(Arc<Intents>, Vec<Intent>)>,
    /// Orders of the user while the crawl runs.
    pub orders: Option<mpsc::UnboundedReceiver<Steer>>,
    /// The skipped URLs, to be judged again at the start of the run where [`EngineSettings::changed`](super::EngineSettings) names
    /// settings: a view of the same store, whose sorting takes place beside the crawl.
    pub skipped_urls: Option<View>,
    /// What connects the engine with the rest of a cluster's crawl, where it crawls one partition of it.
    pub partition: PartitionParts,
}

impl<S> EngineParts<S> {
    /// A crawl of its own that nobody steers and whose pauses and requests nobody notes.
    pub fn new(committer: Committer<S>, listener: Listener) -> Self {
        Self {
            committer,
            listener,
            pauses: None,
            intents: None,
            orders: None,
            skipped_urls: None,
            partition: PartitionParts::default(),
        }
    }
}

impl<S> std::fmt::Debug for EngineParts<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineParts").field("partition", &self.partition).finish_non_exhaustive()
    }
}

/// What one partition of a cluster's crawl has in common with the others; nothing by default, for a crawl that is whole.
#[derive(Debug, Default)]
pub struct PartitionParts {
    /// The number of the worker that owns it.
    pub worker: Option<i64>,
    /// Takes links to hosts of other partitions, and brings theirs, for which the crawl of the partition waits.
    pub post: Option<Post>,
    /// No host is asked after it. It may be moved on: then the crawl goes on as well. None where nobody else may ask the hosts.
    pub deadline: Option<Deadline>,
    /// The partition's part of the limits on pages, resources and bytes, instead of the whole limits.
    pub allowance: Option<Arc<Allowance>>,
    /// The worker's part of the rate and the bandwidth, instead of the whole of both.
    pub pool: Option<Arc<Pool>>,
    /// Has the hosts of one address take turns with those of other partitions, where they do with each other.
    pub addresses: Option<Arc<AddressPool>>,
    /// What the engine may hold in memory beside those of other partitions, instead of what one alone may.
    pub portions: Option<Portions>,
}
