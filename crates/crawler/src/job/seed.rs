//! Puts the seeds of a new crawl into its frontier, in one commit.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::commit::{Batch, CommitError, Committer, Totals};
use crate::frontier::{Admitted, Frontier, FrontierLimits, Priority, QueuedUrl};
use crate::pace::{Delay, DelayReason};
use crate::record::{A_SEED, Decided, Decision, Layer, PlainReason};
use crate::scope::Scope;
use crate::seeds::BadLine;
use crate::store::Store;
use page::clock::Now;
use page::url::{CrawlUrl, FingerprintKey};

/// What became of the seeds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueuedSeeds {
    /// Queued.
    pub queued: u64,
    /// Given more than once.
    pub repeated: u64,
    /// Outside the scope by pattern or length; each has an entry in the ledger.
    pub refused: u64,
}

/// Queues a seed that the frontier doesn't know; gives the decision where the scope refuses it.
pub(super) fn admit_seed<S: Store>(
    frontier: &mut Frontier<S>,
    scope: &Scope,
    seed: &CrawlUrl,
    key: &FingerprintKey,
    now: Timestamp,
) -> Result<Result<Admitted, Decision>, CommitError> {
    if let Some(refused) = refused_seed(scope, seed, now) {
        return Ok(Err(refused));
    }
    let host = frontier.host_id(seed.host())?;
    let item = QueuedUrl::seed(seed);
    Ok(Ok(frontier.admit(host, seed.fingerprint(key), item, Priority::First, true)?))
}

/// Queues the seeds, enters the lines of the seed file that can't be used, and commits. `scope` must know the seeds already.
pub fn queue_seeds<S: Store>(
    store: &Arc<S>,
    scope: &Scope,
    seeds: &[CrawlUrl],
    unusable: &[BadLine],
    key: FingerprintKey,
    now: Timestamp,
) -> Result<QueuedSeeds, CommitError> {
    let at = Now { mono: Duration::ZERO, wall: now };
    let no_gap = Delay { length: Duration::ZERO, why: DelayReason::Configured };
    let mut frontier = Frontier::open(store, FrontierLimits::default(), no_gap, key, at)?;
    let mut result = QueuedSeeds::default();
    let mut decisions = Vec::new();
    for url in seeds {
        match admit_seed(&mut frontier, scope, url, &key, now)? {
            Err(refused) => {
                result.refused += 1;
                decisions.push(refused);
            }
            Ok(Admitted::Seen) => result.repeated += 1,
            Ok(_) => result.queued += 1,
        }
    }
    decisions.extend(unusable.iter().map(|bad| unusable_line(bad, now)));
    let (generation, writes) = frontier.cut(at)?;
    let totals = Totals { skipped: result.refused, ..Totals::default() };
    let mut committer = Committer::open(Arc::clone(store), None)?;
    committer.commit(Batch { generation, writes, decisions, totals, ..Batch::default() })?;
    Ok(result)
}

/// The entry of a seed that the scope excludes, if it does.
fn refused_seed(scope: &Scope, url: &CrawlUrl, now: Timestamp) -> Option<Decision> {
    let outcome = scope.judge(url, 0)?;
    Some(Decision {
        at: now,
        url: url.to_string(),
        host: url.host().to_owned(),
        decision: Decided::Skipped,
        layer: Layer::Scope,
        reason: outcome.into(),
        evidence: A_SEED.into(),
        via: None,
    })
}

/// The entry of a line of the seed file that can't be used.
pub(super) fn unusable_line(bad: &BadLine, now: Timestamp) -> Decision {
    Decision {
        at: now,
        url: bad.text.clone(),
        host: String::new(),
        decision: Decided::Skipped,
        layer: Layer::Scope,
        reason: PlainReason::UnusableSeed.into(),
        evidence: format!("line {} of the seed file {}", bad.line_no, bad.why).into(),
        via: None,
    }
}
