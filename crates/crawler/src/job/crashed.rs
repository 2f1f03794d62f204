//! `--retry-crashed`: the URLs whose reading ended a process are queued again.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::clock::Now;
use crate::commit::{Batch, CommitError, Committer, Totals};
use crate::engine::LOST;
use crate::error_kind::ErrorKind;
use crate::frontier::{Frontier, FrontierLimits, QueuedUrl, stored_queue};
use crate::ids::HostId;
use crate::pace::{Delay, DelayReason};
use crate::page_store;
use crate::record::{PageRecord, SitemapRecord, SitemapState};
use crate::store::{Store, Tree};
use crate::url::{CrawlUrl, Fingerprint, FingerprintKey};

/// Queues the pages and sitemaps again whose reading ended a process, and returns their number. Those that are queued already stay as they are. Each is
/// read in a process of its own before the crawl reads it.
///
/// Cost: one pass over the page records, and one over the queue if there are any; memory: the records of those that crashed.
pub(crate) fn retry<S: Store>(
    store: &Arc<S>,
    key: FingerprintKey,
    now: Timestamp,
) -> Result<u64, CommitError> {
    let mut crashed: HashMap<Fingerprint, (HostId, PageRecord)> = HashMap::new();
    for page in page_store::scan(&**store) {
        let page = page?;
        let record = page.record()?;
        if record.error.as_deref() == Some(ErrorKind::Crashed.as_str()) && !record.forgotten {
            crashed.insert(page.page, (page.host, record));
        }
    }
    let sitemaps = crashed_sitemaps(&**store)?;
    if !crashed.is_empty() {
        for queued in stored_queue(&**store)? {
            let queued = queued?;
            if let Ok(url) = queued.url.url(&queued.host.host) {
                crashed.remove(&url.fingerprint(&key));
            }
        }
    }
    let again = (crashed.len() + sitemaps.len()) as u64;
    if again == 0 {
        return Ok(0);
    }
    let at = Now { mono: std::time::Duration::ZERO, wall: now };
    let no_gap = Delay { length: std::time::Duration::ZERO, why: DelayReason::Configured };
    let mut frontier = Frontier::open_now(store, FrontierLimits::default(), no_gap, key, at)?;
    let mut crashed: Vec<(HostId, PageRecord)> = crashed.into_values().collect();
    crashed.sort_unstable_by(|(_, one), (_, other)| one.url.cmp(&other.url));
    for (host, record) in crashed {
        if let Ok(url) = CrawlUrl::parse(&record.url) {
            let item = QueuedUrl::again(&url, record.depth, record.via, record.resource);
            frontier.load(host)?;
            frontier.requeue(host, item);
        }
    }
    for (key, record) in sitemaps {
        frontier.put(Tree::Sitemaps, key, record.write()?);
    }
    // What they bring takes the place of the records of their failures.
    frontier.put(Tree::Meta, LOST.to_vec(), Vec::new());
    let totals: Totals = match store.get(Tree::Meta, b"totals")? {
        Some(value) => serde_json::from_slice(&value)?,
        None => Totals::default(),
    };
    let (generation, writes) = frontier.cut(at)?;
    Committer::open(Arc::clone(store), None)?.commit(Batch {
        generation,
        writes,
        totals,
        ..Batch::default()
    })?;
    Ok(again)
}

/// The sitemaps whose reading ended a process, as they wait to be asked for again, by their keys.
fn crashed_sitemaps<S: Store>(store: &S) -> Result<Vec<(Vec<u8>, SitemapRecord)>, CommitError> {
    let mut crashed = Vec::new();
    for pair in store.scan(Tree::Sitemaps, &[]) {
        let (key, value) = pair?;
        let record = SitemapRecord::read(&value)?;
        if record.state == SitemapState::Failed && record.is_crashed() {
            crashed.push((key, SitemapRecord { state: SitemapState::Waits, ..record }));
        }
    }
    Ok(crashed)
}
