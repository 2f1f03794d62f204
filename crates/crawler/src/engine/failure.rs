//! Visits without a response: a retry, or a record of the failure; and interrupted visits.

use std::collections::HashMap;

use meta::Effects;
use robots::StatusClass;

use super::Engine;
use super::gap::Gap;
use crate::clock::Now;
use crate::commit::CommitError;
use crate::fetch::{ErrorKind, Fetch, FetchError};
use crate::frontier::{Lease, Permit, QueuedUrl, Settlement, Work};
use crate::record::{
    Decided, Evidence, Layer, PageRecord, PlainReason, RobotsEvidence, SitemapRecord, SitemapState, link_key,
};
use crate::robots_cache::RobotsStep;
use crate::store::{Store, Tree};
use crate::visit::{Requested, Visited};

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
        let gap = self.gap_after_failure(&lease, error, request, gap, now);
        if may_pass(error.kind)
            && let Some(again) = self.again(item)
        {
            let evidence = Evidence::from(evidence)
                .with_words(format!("{error}, try {}", again.tries))
                .with_request(self.pending_request.take());
            self.decided(&lease, now, Decided::Retry, Layer::Fetch, error.kind, evidence);
            self.give_back(permit, true, Some(again), gap);
            return;
        }
        self.give_up(&lease, item, error, evidence, ended);
        self.give_back(permit, true, None, gap);
    }

    /// Records a URL as failed.
    pub(super) fn give_up(
        &mut self,
        lease: &Lease,
        item: &QueuedUrl,
        error: &FetchError,
        evidence: RobotsEvidence,
        ended: Now,
    ) {
        let now = self.clock.now();
        let layer = if error.kind == ErrorKind::BlockedAddress { Layer::Address } else { Layer::Fetch };
        let said = Evidence::from(evidence.clone())
            .with_words(error.detail.clone())
            .with_request(self.pending_request.take());
        self.decided(lease, now, Decided::Failed, layer, error.kind, said);
        let record = failure_record(lease, item, error, evidence, ended);
        let (_, counts) = self.frontier.pace_and_counts(lease.host);
        counts.errors += 1;
        self.totals.failed += 1;
        self.store_failure(lease, record);
    }

    /// The host's next time after a request without a usable answer. A malformed answer is an answer: the host is there, and its
    /// usual gap goes on. Where nothing came at all (no connection, no name, no TLS, no response in time) the host pauses.
    pub(super) fn gap_after_failure(
        &mut self,
        lease: &Lease,
        error: &FetchError,
        request: Option<Requested>,
        gap: Gap,
        now: Now,
    ) -> Gap {
        let Some(request) = request else { return gap };
        let pause = match (error.status, blames(error)) {
            (Some(status), _) => {
                // Of other statuses it is waited for already, as after any response.
                let retry_after = request.retry_after.filter(|_| StatusClass::of(status).is_pushback());
                self.pause_after(lease, status, Some(Requested { retry_after, ..request }), now)
            }
            (None, Blame::Page) => {
                let (pace, _) = self.frontier.pace_and_counts(lease.host);
                pace.answered_badly();
                None
            }
            (None, Blame::Host) => {
                let (jitter, rules) = (self.jitter.draw(), self.settings.pace);
                let (pace, _) = self.frontier.pace_and_counts(lease.host);
                Some(pace.failed(&rules, jitter))
            }
            (None, Blame::Nobody) => None,
        };
        pause.map_or(gap, |pause| gap.or_later(request.ended, pause))
    }

    /// Stores the record of a failed visit. What an earlier visit brought stays: the failure may pass.
    fn store_failure(&mut self, lease: &Lease, record: PageRecord) {
        let fingerprint = lease.url.fingerprint(&self.key);
        if self.context.revisiting.is_some() && self.stored_page(lease.host, fingerprint).is_some() {
            return;
        }
        let visited = Visited {
            effects: Effects::default(),
            denials: None,
            record,
            links: Vec::new(),
            warc: None,
            text: None,
            status: None,
            keeps_links: false,
            withdrawn: Vec::new(),
            mark: None,
        };
        self.store_page(lease, fingerprint, visited, Vec::new());
    }

    /// The next attempt of a URL, if there is one.
    pub(super) fn again(&self, item: &QueuedUrl) -> Option<QueuedUrl> {
        let tries = item.tries.saturating_add(1);
        (u32::from(tries) <= self.settings.retries).then(|| QueuedUrl { tries, ..item.clone() })
    }

    /// A visit panicked: the URL is entered as failed, the host goes on after its gap. Where it was for the robots.txt of another
    /// origin, that counts as unreachable: its pages wait for no more than the next attempt.
    pub(super) fn settle_panicked(&mut self, lease: &Lease) -> Result<(), CommitError> {
        let now = self.clock.now();
        self.pass_gates(lease, None);
        self.shortage.passed(lease, false);
        self.decided(lease, now, Decided::Failed, Layer::Fetch, PlainReason::Internal, "the visit panicked");
        let error = FetchError::new(ErrorKind::Parse, "the visit panicked; please report it");
        match &lease.work {
            Work::Visit(item) => {
                let record = failure_record(lease, item, &error, RobotsEvidence::default(), now);
                self.totals.failed += 1;
                self.store_failure(lease, record);
            }
            Work::RobotsFetch(robots_fetch) => {
                if let RobotsStep::Known(entry) =
                    self.context.robots.answered(robots_fetch, &Err(error), now)?
                {
                    self.robots_known(lease, &robots_fetch.origin.host, &entry, None, None)?;
                }
            }
            Work::Sitemap(sitemap) => {
                let detail = Some(error.to_string());
                let record = SitemapRecord { state: SitemapState::Failed, detail, ..(**sitemap).clone() };
                let key = link_key(lease.host, lease.url.fingerprint(&self.key));
                self.frontier.put(Tree::Sitemaps, key, record.write()?);
            }
        }
        self.touch(64);
        let delay = self.frontier.gap(lease.host);
        let not_before = now.mono + delay.length;
        self.frontier
            .complete(lease, Settlement { done: true, asked: true, again: None, not_before, wait: delay });
        Ok(())
    }

    /// Requests were interrupted: their URLs stay queued, and the delay of their hosts starts now.
    pub(super) fn release_aborted(&mut self, running: &mut HashMap<tokio::task::Id, Lease>) {
        let now = self.clock.now();
        self.done.over += running.len() as u64;
        for (_, lease) in running.drain() {
            self.enter_interrupted(&lease, now);
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

/// What a failure without a status tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blame {
    /// The page: something came, and can't be used.
    Page,
    /// The host: nothing came.
    Host,
    /// Neither: nothing was asked.
    Nobody,
}

fn blames(error: &FetchError) -> Blame {
    match error.kind {
        ErrorKind::Timeout | ErrorKind::Connection | ErrorKind::Tls | ErrorKind::Dns => Blame::Host,
        ErrorKind::BlockedAddress | ErrorKind::Local => Blame::Nobody,
        _ if error.connected => Blame::Page,
        _ => Blame::Nobody,
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
