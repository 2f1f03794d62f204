//! Table `queue`: the URLs still to be fetched.

use super::lookup::PageUrls;
use super::moment::Moment;
use super::open::{View, ViewError};
use super::row::row;
use crate::frontier::{Priority, stored_queue};
use crate::store::Tree;

row! {
    /// A queued URL.
    QueueRow {
        /// The URL.
        url: String,
        /// Links from a seed.
        depth: u32,
        /// `first` (seeds, redirect targets, retries), `link`, `untested` (may already be known), `resource`, or `costly` (after all others).
        priority: &'static str [names],
        /// Attempts so far.
        tries: u8,
        /// URL of the page on which it was found.
        via: Option<String> [null = "it is a seed"],
        /// The host.
        host: String [names],
        /// The earliest time of the host's next request.
        next_at: Moment,
        /// Why the host was skipped for the rest of the run.
        parked: Option<String> [null = "it isn't", names],
    }
}

impl View {
    /// The rows of table `queue`: by host, in the order in which each host's URLs will be fetched.
    pub fn queue(&self) -> impl Iterator<Item = Result<QueueRow, ViewError>> + '_ {
        let urls = PageUrls::default();
        let (stored, error) = match stored_queue(self.store()) {
            Ok(stored) => (Some(stored), None),
            Err(error) => (None, Some(Err(ViewError::from(error)))),
        };
        let rows = stored.into_iter().flatten().map(move |stored| {
            let stored = stored?;
            let host = &stored.host;
            let url = stored.url.url(&host.host).map_err(|error| ViewError::record(Tree::Queue, error))?;
            Ok(QueueRow {
                url: url.to_string(),
                depth: stored.url.depth,
                priority: match stored.priority {
                    Priority::First => "first",
                    Priority::Link => "link",
                    Priority::Untested => "untested",
                    Priority::Resource => "resource",
                    Priority::Costly => "costly",
                },
                tries: stored.url.tries,
                via: urls.of(self, stored.url.via)?,
                host: host.host.clone(),
                next_at: Moment(host.next_at),
                parked: host.parked.clone(),
            })
        });
        rows.chain(error)
    }
}
