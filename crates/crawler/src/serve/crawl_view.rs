//! The crawl as one request reads it: a store, or the partitions of a crawl on many machines.

use std::path::Path;
#[cfg(feature = "cluster")]
use std::sync::Arc;

use super::failure::Failure;
#[cfg(feature = "cluster")]
use crate::cluster::Parts;
#[cfg(feature = "cluster")]
use crate::store::StoreError;
use crate::view::{self, Activity, Explanation, HostLinks, Rows, Summary, Table, View, ViewError};
use page::url::CrawlUrl;

/// What every request reads.
pub(super) struct CrawlView {
    /// In the order of their numbers. Each host is in one of them.
    parts: Vec<(String, View)>,
    #[cfg(feature = "cluster")]
    cluster: Option<Arc<Parts>>,
}

impl CrawlView {
    /// A crawl in a directory.
    pub(super) fn in_dir(view: View) -> Self {
        Self {
            parts: vec![(String::new(), view)],
            #[cfg(feature = "cluster")]
            cluster: None,
        }
    }

    /// A crawl on many machines.
    #[cfg(feature = "cluster")]
    pub(super) fn of_cluster(parts: &Arc<Parts>) -> Self {
        Self { parts: parts.views(), cluster: Some(Arc::clone(parts)) }
    }

    /// All stores of the crawl.
    pub(super) fn parts(&self) -> impl Iterator<Item = &View> {
        self.parts.iter().map(|(_, view)| view)
    }

    /// The store that has a host, or would have it.
    pub(super) fn of_host(&self, host: &str) -> &View {
        let parts = u32::try_from(self.parts.len()).unwrap_or(1);
        &self.parts[crate::post::partition(host, parts) as usize].1
    }

    /// Every decision about a URL.
    pub(super) fn explain(&self, url: &CrawlUrl) -> Result<Explanation, ViewError> {
        view::explain_among(&self.parts, url)
    }

    /// The rows of a table as they are stored.
    pub(super) fn rows(&self, table: Table) -> Result<Rows<'_>, ViewError> {
        view::rows_of(&self.parts, table)
    }

    /// Its figures.
    #[cfg_attr(not(feature = "cluster"), expect(unused_variables, reason = "a directory says it itself"))]
    pub(super) fn summary(&self, is_running: bool) -> Result<Summary, ViewError> {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster {
            let failed = |error| StoreError::Server { doing: "read", source: Box::new(error) };
            let runs = cluster.runs().map_err(failed)?;
            return view::summary_of(&self.parts, is_running, runs);
        }
        self.parts[0].1.summary()
    }

    /// Its requests over time.
    pub(super) fn activity(&self) -> Result<Activity, ViewError> {
        Activity::of_parts(&self.parts().collect::<Vec<_>>())
    }

    /// The strongest connections between its hosts.
    pub(super) fn host_links(&self, most: usize) -> Result<HostLinks, ViewError> {
        HostLinks::of_parts(&self.parts().collect::<Vec<_>>(), most)
    }

    /// A number that changes with what is committed.
    #[cfg_attr(
        not(feature = "cluster"),
        expect(clippy::unnecessary_wraps, reason = "a cluster may not answer")
    )]
    pub(super) fn commits(&self) -> Result<u64, Failure> {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster {
            return cluster.commits().map_err(|error| Failure::busy(crate::causes::with_causes(&error)));
        }
        Ok(self.parts[0].1.commits())
    }

    /// Where temporary files lie; none for those of the system.
    pub(super) fn temporary(&self) -> Option<&Path> {
        self.parts[0].1.temporary()
    }
}
