//! URLs that failed, or were skipped, are queued again: those whose reading ended a process (`--retry-crashed`), those whose failure other settings may
//! turn into an answer, and the seeds where a crawl without a page is begun again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::seed::{admit_seed, unusable_line};
use crate::commit::{Batch, CommitError, Committer, Totals};
use crate::engine::LOST;
use crate::error_kind::ErrorKind;
use crate::frontier::{Admitted, Frontier, FrontierLimits, QueuedUrl, stored_queue};
use crate::pace::{Delay, DelayReason};
use crate::page_store;
use crate::record::{PageRecord, SitemapRecord, SitemapState};
use crate::scope::Scope;
use crate::seeds::BadLine;
use crate::store::{Store, Tree};
use page::clock::Now;
use page::ids::HostId;
use page::url::{CrawlUrl, Fingerprint, FingerprintKey};

/// Queues the pages and sitemaps again whose reading ended a process, and returns their number. Those that are queued already stay as they are. Each is
/// read in a process of its own before the crawl reads it. Cost: as of [`failed`].
pub(crate) fn crashed<S: Store>(
    store: &Arc<S>,
    key: FingerprintKey,
    now: Timestamp,
) -> Result<u64, CommitError> {
    let sitemaps = crashed_sitemaps(&**store)?;
    retry(store, &[ErrorKind::Crashed], sitemaps, key, now)
}

/// Queues the pages again that failed in one of these ways, and returns their number. Those that are queued already stay as they are.
///
/// Cost: one pass over the page records, and one over the queue if there are any; memory: the records of those that failed so.
pub(crate) fn failed<S: Store>(
    store: &Arc<S>,
    kinds: &[ErrorKind],
    key: FingerprintKey,
    now: Timestamp,
) -> Result<u64, CommitError> {
    retry(store, kinds, Vec::new(), key, now)
}

fn retry<S: Store>(
    store: &Arc<S>,
    kinds: &[ErrorKind],
    sitemaps: Vec<(Vec<u8>, SitemapRecord)>,
    key: FingerprintKey,
    now: Timestamp,
) -> Result<u64, CommitError> {
    let mut failed: HashMap<Fingerprint, (HostId, PageRecord)> = HashMap::new();
    for page in page_store::scan(&**store) {
        let page = page?;
        let record = page.record()?;
        let is_one = |error: &str| kinds.iter().any(|kind| kind.as_str() == error);
        if record.error.as_deref().is_some_and(is_one) && !record.forgotten {
            failed.insert(page.page, (page.host, record));
        }
    }
    if !failed.is_empty() {
        for queued in stored_queue(&**store)? {
            let queued = queued?;
            if let Ok(url) = queued.url.url(&queued.host.host) {
                failed.remove(&url.fingerprint(&key));
            }
        }
    }
    let again = (failed.len() + sitemaps.len()) as u64;
    if again == 0 {
        return Ok(0);
    }
    let at = Now { mono: std::time::Duration::ZERO, wall: now };
    let no_gap = Delay { length: std::time::Duration::ZERO, why: DelayReason::Configured };
    let mut frontier = Frontier::open_now(store, FrontierLimits::default(), no_gap, key, at)?;
    let mut failed: Vec<(HostId, PageRecord)> = failed.into_values().collect();
    failed.sort_unstable_by(|(_, one), (_, other)| one.url.cmp(&other.url));
    for (host, record) in failed {
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
    let totals = totals(&**store)?;
    let (generation, writes) = frontier.cut(at)?;
    Committer::open(Arc::clone(store), None)?.commit(Batch {
        generation,
        writes,
        totals,
        ..Batch::default()
    })?;
    Ok(again)
}

/// The counters so far.
fn totals<S: Store>(store: &S) -> Result<Totals, CommitError> {
    Ok(match store.get(Tree::Meta, b"totals")? {
        Some(value) => serde_json::from_slice(&value)?,
        None => Totals::default(),
    })
}

/// Queues the seeds that have no answer, and enters those that the settings exclude and the lines of the seed file that can't be used. Those that are
/// queued already stay as they are. `scope` must know the seeds already. For a crawl without a page.
///
/// Cost: one pass over the queue; memory: the fingerprints of the seeds.
pub(crate) fn seeds<S: Store>(
    store: &Arc<S>,
    scope: &Scope,
    seeds: &[CrawlUrl],
    unusable: &[BadLine],
    key: FingerprintKey,
    now: Timestamp,
) -> Result<(), CommitError> {
    let mut wanted: HashSet<Fingerprint> = seeds.iter().map(|seed| seed.fingerprint(&key)).collect();
    for queued in stored_queue(&**store)? {
        let queued = queued?;
        if let Ok(url) = queued.url.url(&queued.host.host) {
            wanted.remove(&url.fingerprint(&key));
        }
    }
    let at = Now { mono: std::time::Duration::ZERO, wall: now };
    let no_gap = Delay { length: std::time::Duration::ZERO, why: DelayReason::Configured };
    let mut frontier = Frontier::open_now(store, FrontierLimits::default(), no_gap, key, at)?;
    let (mut decisions, mut totals) = (Vec::new(), totals(&**store)?);
    for seed in seeds {
        if !wanted.remove(&seed.fingerprint(&key)) {
            continue;
        }
        match admit_seed(&mut frontier, scope, seed, &key, now)? {
            Err(refused) => {
                totals.skipped += 1;
                decisions.push(refused);
            }
            Ok(Admitted::Seen) => {
                let host = frontier.host_id(seed.host())?;
                frontier.load(host)?;
                frontier.requeue(host, QueuedUrl::seed(seed));
            }
            Ok(_) => {}
        }
    }
    decisions.extend(unusable.iter().map(|bad| unusable_line(bad, now)));
    // What they bring takes the place of the records of their failures.
    frontier.put(Tree::Meta, LOST.to_vec(), Vec::new());
    let (generation, writes) = frontier.cut(at)?;
    let batch = Batch { generation, writes, decisions, totals, ..Batch::default() };
    Committer::open(Arc::clone(store), None)?.commit(batch)?;
    Ok(())
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
