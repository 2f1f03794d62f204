//! Visits without a response: a retry, or a record of the failure; and requests that this machine couldn't make.

use super::{FollowUp, Place, Settled, Settling, Shortfall, whose};
use crate::fetch::{ErrorKind, FetchError};
use crate::frontier::{Lease, QueuedUrl, Work};
use crate::pace::{Delay, DelayReason, HostPace};
use crate::record::{Decided, Decision, Evidence, Layer, PageRecord, RobotsEvidence};
use page::clock::Now;

/// What a failure without a status tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// The page: something came, and can't be used.
    Page,
    /// The host: nothing came.
    Host,
    /// Neither: nothing was asked.
    Nobody,
}

pub(super) fn blames(error: &FetchError) -> Blame {
    match error.kind {
        kind if kind.is_of_host() => Blame::Host,
        ErrorKind::BlockedAddress | ErrorKind::Local => Blame::Nobody,
        _ if error.connected => Blame::Page,
        _ => Blame::Nobody,
    }
}

impl Settling<'_> {
    /// No usable response came.
    pub(super) fn failed(mut self, error: &FetchError, robots: RobotsEvidence) -> Settled {
        let Work::Visit(item) = &self.lease.work else { return self.end(Place::Stays, FollowUp::Nothing) };
        self.pause_after_failure(error);
        if error.kind.may_pass()
            && let Some(again) = self.again(item)
        {
            let evidence = Evidence::from(robots)
                .with_words(format!("{error}, try {}", again.tries))
                .with_request(self.request.take());
            self.decided(Decided::Retry, Layer::Fetch, error.kind, evidence);
            return self.end(Place::Again(again), FollowUp::Nothing);
        }
        self.give_up(item, error, robots)
    }

    /// No response to a request for a robots.txt came, and it is asked for again after the pause that a failed page has as well. The
    /// URLs that wait for it stay where they are.
    pub(super) fn robots_again(mut self, error: &FetchError) -> Settled {
        self.host.counts.robots_requests += 1;
        if let Some(requested) = self.requested {
            self.pause_after_no_answer(error, requested.ended, HostPace::robots_failed);
        }
        let tries = self.pace().robots_failures;
        let mut words = format!("{error}, try {tries}");
        if let Work::RobotsFetch(robots_fetch) = &self.lease.work {
            words = format!("{}: {words}", whose(&robots_fetch.origin.to_string()));
        }
        let evidence = Evidence::from(words).with_request(self.request.take());
        let entry = self.about(Decided::Retry, Layer::Robots, error.kind, evidence);
        let url = self.robots_url.take().map_or_else(|| entry.url.clone(), |url| url.to_string());
        self.enter(Decision { url, ..entry }, false);
        self.unfinished(FollowUp::Nothing)
    }

    /// Records the URL as failed.
    fn give_up(mut self, item: &QueuedUrl, error: &FetchError, robots: RobotsEvidence) -> Settled {
        let layer = if error.kind == ErrorKind::BlockedAddress { Layer::Address } else { Layer::Fetch };
        let evidence =
            Evidence::from(robots.clone()).with_words(error.detail.clone()).with_request(self.request.take());
        self.decided(Decided::Failed, layer, error.kind, evidence);
        self.host.counts.errors += 1;
        self.totals.failed += 1;
        let record = failure_record(self.lease, item, error, robots, self.ended());
        self.end(Place::Done, FollowUp::Failed(Box::new(record)))
    }

    /// This machine had no resources for the request or its response: no host is at fault, and it isn't an attempt.
    pub(super) fn local(mut self, error: &FetchError) -> Settled {
        let Some(Shortfall { gives_up, wait, .. }) = self.facts.shortage else {
            return self.unfinished(FollowUp::Nothing);
        };
        self.enter_shortage(error);
        let mut wait = Delay { length: wait, why: DelayReason::LocalShortage };
        match &self.lease.work {
            Work::Visit(item) if gives_up => return self.give_up(item, error, RobotsEvidence::default()),
            Work::RobotsFetch(_) if gives_up => {
                // Another origin's robots.txt stays to be asked for: its pages wait.
                wait = Delay { length: self.rules.pace.max_backoff, why: DelayReason::BackOff };
            }
            Work::Visit(_) | Work::Sitemap(_) | Work::RobotsFetch(_) => {}
        }
        self.gap = self.gap.or_later(self.ended(), wait);
        self.unfinished(FollowUp::Nothing)
    }

    /// Enters that this machine is short of something: with the first request that couldn't be made, or with each whose response
    /// couldn't be held. A URL that fails has an entry of its own.
    pub(super) fn enter_shortage(&mut self, error: &FetchError) {
        let Some(Shortfall { begins, gives_up, wait }) = self.facts.shortage else { return };
        let patience = self.rules.local_patience.as_secs_f64();
        let fails = gives_up && !matches!(self.lease.work, Work::RobotsFetch(_));
        if self.requested.is_some() && !fails {
            let wait = Delay { length: wait, why: DelayReason::LocalShortage };
            let words = format!("{}; retrying for at most {patience}s", error.detail);
            let evidence = Evidence::from(wait).with_words(words).with_request(self.request.take());
            self.decided(Decided::Paused, Layer::Fetch, ErrorKind::Local, evidence);
        } else if self.requested.is_none() && begins {
            let words = format!(
                "{}; no requests until a connection can be opened, for at most {patience}s",
                error.detail
            );
            self.decided(Decided::Paused, Layer::Fetch, ErrorKind::Local, words);
        }
    }
}

/// The record of a URL that couldn't be fetched.
pub(in crate::engine) fn failure_record(
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
