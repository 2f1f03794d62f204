//! A round of revisits: every page that is due is queued again.
//!
//! A page is due when its last visit is as long ago as requested, but never earlier than its `revisit-after`;
//! one whose `unavailable_after` has passed ten times later, 30 days at the least. The round is on record,
//! so that an interrupted one is continued and not started over.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::commit::{Batch, CommitError, Committer, Totals};
use crate::frontier::{Frontier, FrontierLimits, QueuedUrl};
use crate::pace::{Delay, DelayReason};
use crate::page_store;
use crate::record::{PageRecord, Round};
use crate::store::{Store, Tree, Write};
use page::clock::Now;
use page::url::{CrawlUrl, FingerprintKey};

/// URLs that one commit queues.
const AT_ONCE: usize = 5_000;

/// Which pages are visited again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revisit {
    /// Those whose last visit is at least as long ago; none: those whose own interval has passed ([`PageRecord::interval`]).
    pub older_than: Option<Duration>,
    /// Of these only those that an earlier visit found changed.
    pub changed_only: bool,
}

/// Ends the round.
pub fn close<S: Store>(store: &S) -> Result<(), CommitError> {
    if let Some(round) = Round::read(store)?.filter(|round| round.open) {
        let round = Round { open: false, ..round };
        let value = serde_json::to_vec(&round)?;
        store.commit(vec![Write::put(Tree::Meta, Round::KEY, value)])?;
    }
    Ok(())
}

/// What a round has queued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Begun {
    /// URLs queued so far.
    pub queued: u64,
    /// When the next page is due, where one is that isn't yet.
    pub next: Option<Timestamp>,
}

/// Starts a round, or continues an interrupted one.
pub fn begin<S: Store>(
    store: &Arc<S>,
    key: FingerprintKey,
    revisit: Option<Revisit>,
    now: Timestamp,
) -> Result<Begun, CommitError> {
    let mut round = match (Round::read(&**store)?.filter(|round| round.open), revisit) {
        (Some(round), _) => round,
        (None, Some(Revisit { older_than, changed_only })) => {
            let age_s = older_than.map(|age| age.as_secs());
            Round { at: now, age_s, changed_only, upto: Some(Vec::new()), queued: 0, open: true }
        }
        (None, None) => return Ok(Begun::default()),
    };
    let Some(mut upto) = round.upto.take() else { return Ok(Begun { queued: round.queued, next: None }) };
    let at = Now { mono: Duration::ZERO, wall: now };
    let no_gap = Delay { length: Duration::ZERO, why: DelayReason::Configured };
    let mut frontier = Frontier::open_now(store, FrontierLimits::default(), no_gap, key, at)?;
    let mut committer = Committer::open(Arc::clone(store), None)?;
    let totals: Totals = match store.get(Tree::Meta, b"totals")? {
        Some(value) => serde_json::from_slice(&value)?,
        None => Totals::default(),
    };
    let revisit =
        Revisit { older_than: round.age_s.map(Duration::from_secs), changed_only: round.changed_only };
    let mut pending = 0;
    let mut next = None;
    for page in page_store::scan(&**store) {
        let page = page?;
        let number = page.number.to_be_bytes();
        if number[..] <= upto[..] {
            continue;
        }
        let record = page.record()?;
        let due = due(&record, revisit, round.at);
        if due.is_some_and(|due| due > round.at) {
            next = next.into_iter().chain(due).min();
        } else if due.is_some()
            && let Ok(url) = CrawlUrl::parse(&record.url)
        {
            let item = QueuedUrl::again(&url, record.depth, record.via, record.resource);
            frontier.load(page.host)?;
            frontier.requeue(page.host, item);
            round.queued += 1;
            pending += 1;
        }
        upto = number.to_vec();
        if pending >= AT_ONCE {
            pending = 0;
            commit(
                &mut frontier,
                &mut committer,
                &Round { upto: Some(upto.clone()), ..round.clone() },
                at,
                totals,
            )?;
        }
    }
    commit(&mut frontier, &mut committer, &round, at, totals)?;
    Ok(Begun { queued: round.queued, next })
}

fn commit<S: Store>(
    frontier: &mut Frontier<S>,
    committer: &mut Committer<S>,
    round: &Round,
    at: Now,
    totals: Totals,
) -> Result<(), CommitError> {
    let value = serde_json::to_vec(round)?;
    frontier.put(Tree::Meta, Round::KEY.into(), value);
    let (generation, writes) = frontier.cut(at)?;
    committer.commit(Batch { generation, writes, totals, ..Batch::default() })?;
    frontier.committed(generation);
    Ok(())
}

/// When a page is due; none of those that aren't visited again.
fn due(record: &PageRecord, revisit: Revisit, now: Timestamp) -> Option<Timestamp> {
    const DAYS_30: Duration = Duration::from_hours(30 * 24);
    if record.forgotten || revisit.changed_only && record.history.is_empty() {
        return None;
    }
    let interval = revisit.older_than.unwrap_or_else(|| record.interval()).max(record.not_before());
    let interval =
        if record.is_unavailable(now) { interval.saturating_mul(10).max(DAYS_30) } else { interval };
    let interval = SignedDuration::try_from(interval).unwrap_or(SignedDuration::MAX);
    record.last_seen().checked_add(interval).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_due_when_neither_we_nor_its_author_want_it_later() {
        let day = 24 * 3600;
        let at = |days: i64| Timestamp::from_second(days * day).unwrap();
        let page = |revisit_after_s, unavailable_after| PageRecord {
            fetched_at: at(100),
            revisit_after_s,
            unavailable_after,
            ..PageRecord::default()
        };
        let due = |record: &PageRecord, age: u64, now| {
            let older_than = Some(Duration::from_secs(age * day as u64));
            super::due(record, Revisit { older_than, changed_only: false }, at(now)).unwrap() <= at(now)
        };
        let plain = page(None, None);
        assert!(due(&plain, 0, 100) && due(&plain, 7, 107) && !due(&plain, 7, 106));
        let wish = page(Some(10 * day as u64), None);
        assert!(!due(&wish, 0, 109) && due(&wish, 0, 110) && !due(&wish, 20, 119) && due(&wish, 20, 120));
        let gone = page(None, Some(at(101)));
        assert!(!due(&gone, 1, 129) && due(&gone, 1, 130) && !due(&gone, 7, 169) && due(&gone, 7, 170));
        let checked = PageRecord { checked_at: Some(at(105)), ..plain };
        assert!(!due(&checked, 7, 111) && due(&checked, 7, 112));
    }
}
