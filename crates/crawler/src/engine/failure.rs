//! Visits that brought no response: another try, or a record of the failure; and visits that were cut off.

use std::collections::HashMap;

use super::Engine;
use super::settle::Gap;
use crate::clock::Now;
use crate::fetch::{ErrorKind, Fetch, FetchError};
use crate::frontier::{Lease, Permit, QueuedUrl, Settlement, Work};
use crate::pace::{Delay, Why};
use crate::record::{Evidence, Layer, PageRecord, RobotsEvidence};
use crate::store::Store;
use crate::visit::{LOCAL_PAUSE, Requested, Visited};

impl<F: Fetch, S: Store> Engine<F, S> {
    pub(super) fn failed(
        &mut self,
        permit: Permit,
        error: &FetchError,
        evidence: RobotsEvidence,
        request: Option<Requested>,
        gap: Gap,
        now: Now,
    ) {
        let lease = permit.lease().clone();
        let Work::Visit(item) = &lease.work else {
            self.give_back(permit, false, None, gap);
            return;
        };
        let ended = request.map_or(now, |request| request.ended);
        if error.kind == ErrorKind::Local {
            let pause = Delay { length: LOCAL_PAUSE, why: Why::BackOff };
            let evidence =
                Evidence::from(pause).with_words(error.detail.clone()).with_request(self.made.take());
            self.decided(&lease, now, "paused", Layer::Fetch, "local", evidence);
            self.give_back(permit, false, None, gap.or_later(ended, pause));
            return;
        }
        let passing = may_pass(error.kind);
        let mut gap = gap;
        if let Some(status @ (429 | 503)) = error.status {
            // Its head was an answer, whatever became of its body.
            let retry_after = request.and_then(|request| request.retry_after);
            if let Some(pause) = self.pause(&lease, status, retry_after, now) {
                gap = gap.or_later(ended, pause);
            }
        } else if passing {
            let jitter = self.jitter.draw();
            let (pace, _) = self.frontier.pace_and_counts(lease.host);
            let pause = pace.failed(jitter);
            gap = gap.or_later(ended, pause);
        }
        if passing && let Some(again) = self.again(item) {
            let evidence = Evidence::from(evidence)
                .with_words(format!("{error}, try {}", again.tries))
                .with_request(self.made.take());
            self.decided(&lease, now, "retry", Layer::Fetch, error.kind.as_str(), evidence);
            self.give_back(permit, true, Some(again), gap);
            return;
        }
        let layer = if error.kind == ErrorKind::BlockedAddress { Layer::Address } else { Layer::Fetch };
        let said =
            Evidence::from(evidence.clone()).with_words(error.detail.clone()).with_request(self.made.take());
        self.decided(&lease, now, "failed", layer, error.kind.as_str(), said);
        let record = failure_record(&lease, item, error, evidence, ended);
        let (_, counts) = self.frontier.pace_and_counts(lease.host);
        counts.errors += 1;
        self.totals.failed += 1;
        self.store_failure(&lease, record);
        self.give_back(permit, true, None, gap);
    }

    /// Stores the record of a failed visit. What an earlier visit brought stays: the failure may pass.
    fn store_failure(&mut self, lease: &Lease, record: PageRecord) {
        let fingerprint = lease.url.fingerprint(&self.key);
        if self.context.revisiting.is_some() && self.stored_page(lease.host, fingerprint).is_some() {
            return;
        }
        let visited = Visited {
            record,
            links: Vec::new(),
            warc: None,
            retry_after: None,
            status: None,
            keeps_links: false,
            withdrawn: Vec::new(),
            mark: None,
        };
        self.store_page(lease, fingerprint, visited, Vec::new());
    }

    /// The next try of a URL, if it has one left.
    pub(super) fn again(&self, item: &QueuedUrl) -> Option<QueuedUrl> {
        let tries = item.tries.saturating_add(1);
        (u32::from(tries) <= self.settings.retries).then(|| QueuedUrl { tries, ..item.clone() })
    }

    /// A visit panicked: the URL is entered as failed, the host goes on after its gap.
    pub(super) fn settle_panicked(&mut self, lease: &Lease) {
        let now = self.clock.now();
        self.pass_gates(lease, None);
        self.decided(lease, now, "failed", Layer::Fetch, "internal", "the visit panicked");
        if let Work::Visit(item) = &lease.work {
            let error = FetchError::new(ErrorKind::Parse, "the visit panicked; please report it");
            let record = failure_record(lease, item, &error, RobotsEvidence::default(), now);
            self.totals.failed += 1;
            self.store_failure(lease, record);
        }
        let delay = self.frontier.gap(lease.host);
        let not_before = now.mono + delay.length;
        self.frontier
            .complete(lease, Settlement { done: true, asked: true, again: None, not_before, wait: delay });
    }

    /// Requests were cut off: their URLs stay queued, and their hosts keep their gap from now.
    pub(super) fn release_aborted(&mut self, running: &mut HashMap<tokio::task::Id, Lease>) {
        let now = self.clock.now();
        for (_, lease) in running.drain() {
            self.enter_cut_off(&lease, now);
            let delay = self.frontier.gap(lease.host);
            let not_before = now.mono + delay.length;
            self.frontier.complete(
                &lease,
                Settlement { done: false, asked: true, again: None, not_before, wait: delay },
            );
            self.touch(64);
        }
    }
}

/// True for failures that another try may not meet.
pub(super) fn may_pass(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Timeout
            | ErrorKind::Connection
            | ErrorKind::Dns
            | ErrorKind::Truncated
            | ErrorKind::Protocol
    )
}

fn failure_record(
    lease: &Lease,
    item: &QueuedUrl,
    error: &FetchError,
    robots: RobotsEvidence,
    ended: Now,
) -> PageRecord {
    PageRecord {
        v: 1,
        url: lease.url.to_string(),
        status: error.status,
        error: Some(error.kind.as_str().to_owned()),
        detail: Some(error.detail.clone()),
        depth: item.depth,
        via: item.via,
        fetched_at: ended.wall,
        duration_ms: u64::try_from(error.elapsed.as_millis()).unwrap_or(u64::MAX),
        robots,
        tries: item.tries + 1,
        ..PageRecord::default()
    }
}
