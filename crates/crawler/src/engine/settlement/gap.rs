//! A host's next time: by its usual gap after a request, and by the pauses that an answer or its absence asks for.

use std::time::Duration;

use robots::StatusClass;

use super::failure::{Blame, blames};
use super::{Settling, about};
use crate::config::LedgerLevel;
use crate::fetch::FetchError;
use crate::frontier::{HostState, Lease, Work};
use crate::pace::{self, Delay, DelayReason, HostPace, PaceRules};
use crate::record::{Decided, Decision, Evidence, Layer};
use crate::visit::{Event, Outcome, Requested};
use page::clock::Now;

/// A host's next time, and the rule that set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct Gap {
    pub(in crate::engine) not_before: Duration,
    pub(in crate::engine) delay: Delay,
    /// A request was made.
    pub(in crate::engine) asked: bool,
}

impl Gap {
    /// The next time of a host that wasn't asked.
    pub(super) fn without_request(state: &HostState) -> Self {
        let (not_before, delay) = state.standing_wait();
        Self { not_before, delay, asked: false }
    }

    /// The later of this and a pause that begins with the end of the response.
    pub(super) fn or_later(self, ended: Now, pause: Delay) -> Self {
        let not_before = ended.mono.saturating_add(pace::as_the_site_sees(pause.length));
        if not_before > self.not_before { Self { not_before, delay: pause, ..self } } else { self }
    }
}

impl Settling<'_> {
    /// Counts the request, and sets the host's next time by its usual gap, and by a `Retry-After` of whatever was asked for.
    pub(super) fn request_ended(&mut self, outcome: &Outcome) {
        if let Some(Requested { started, ended, bytes, retry_after, given_up, .. }) = outcome.request {
            let took = ended.mono.saturating_sub(started.mono);
            let counts = &mut self.host.counts;
            counts.requests = 1;
            counts.bytes = bytes;
            counts.slowest_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            self.totals.requests = 1;
            self.totals.bytes = bytes;
            let delay = self.usual_gap(outcome, took);
            self.host.gap = Some(delay);
            let length = delay.length;
            let gap = if given_up { pace::after_giving_up(length) } else { pace::as_the_site_sees(length) };
            let not_before = ended.mono + gap;
            self.gap = Gap { not_before, delay, asked: true };
            if let Some(length) = retry_after {
                self.soon = true;
                self.gap = self.gap.or_later(ended, Delay { length, why: DelayReason::RetryAfter });
                // Those of pages are entered with the page.
                if !matches!(outcome.event, Event::Page(_)) && self.gap.delay.why == DelayReason::RetryAfter {
                    let evidence = Evidence::from(self.gap.delay).with_words("for the whole host");
                    self.decided(Decided::Paused, Layer::Pace, self.gap.delay.why, evidence);
                }
            }
        }
        if self.rules.ledger == LedgerLevel::Full {
            let delay = self.gap.delay;
            let entry =
                about(self.lease, self.facts.now, Decided::Waits, Layer::Pace, delay.why, delay.into());
            let url = self.lease.url.host().to_owned();
            self.enter(Decision { url, ..entry }, false);
        }
    }

    fn usual_gap(&self, outcome: &Outcome, took: Duration) -> Delay {
        let state = &self.lease.state;
        // What the robots.txt of another host's origin asks for isn't for the host that gave it: its own gap goes on.
        let is_foreign = origin_host(self.lease) != self.lease.url.host()
            && !matches!(outcome.event, Event::RobotsBefore(..));
        let asked = outcome.asked.filter(|_| !is_foreign);
        let mut delay = state.pace.gap(&self.rules.pace, asked, took);
        if is_foreign {
            delay = delay.or_longer(state.gap);
        }
        delay = delay.or_longer(self.facts.own_delay);
        if outcome.half_rate {
            delay.length = delay.length.max(Duration::from_millis(500)).saturating_mul(2);
        }
        delay
    }

    /// The host's state of pace, to be changed.
    pub(super) fn pace(&mut self) -> &mut HostPace {
        self.host.pace.get_or_insert(self.lease.state.pace)
    }

    /// The pause that a response with this status asks of the whole host, by `Retry-After`, by 429 and 503, or by five 5xx in a row.
    pub(super) fn pause_after(&mut self, status: u16) {
        let retry_after = self.requested.and_then(|requested| requested.retry_after);
        self.pause(status, retry_after);
    }

    fn pause(&mut self, status: u16, retry_after: Option<Duration>) {
        let (jitter, rules) = (self.facts.jitter, self.rules.pace);
        let Some(pause) = self.pace().answered(status, retry_after, &rules, jitter) else { return };
        self.soon = true;
        let evidence = Evidence::from(pause).with_words(format!("status {status}"));
        self.decided(Decided::Paused, Layer::Pace, pause.why, evidence);
        self.gap = self.gap.or_later(self.ended(), pause);
    }

    /// The pause after a request without a usable answer. A malformed answer is an answer: the host is there, and its usual gap
    /// goes on. Where nothing came at all (no connection, no name, no TLS, no response in time) the host pauses.
    pub(super) fn pause_after_failure(&mut self, error: &FetchError) {
        let Some(requested) = self.requested else { return };
        match (error.status, blames(error)) {
            (Some(status), _) => {
                // Of other statuses it is waited for already, as after any response.
                let retry_after = requested.retry_after.filter(|_| StatusClass::of(status).is_pushback());
                self.pause(status, retry_after);
            }
            (None, Blame::Page) => self.pace().answered_badly(),
            (None, Blame::Host) => self.pause_after_no_answer(error, requested.ended, HostPace::failed),
            (None, Blame::Nobody) => {}
        }
    }

    /// The pause after a request to which nothing came, as `failed` has it.
    pub(super) fn pause_after_no_answer(
        &mut self,
        error: &FetchError,
        ended: Now,
        failed: fn(&mut HostPace, &PaceRules, f64) -> Delay,
    ) {
        let (jitter, rules) = (self.facts.jitter, self.rules.pace);
        let pause = failed(self.pace(), &rules, jitter);
        let failures = self.pace().pushbacks;
        if failures > 1 {
            self.soon = true;
            let evidence = Evidence::from(pause).with_words(format!("{error}, failure {failures} in a row"));
            self.decided(Decided::Paused, Layer::Pace, pause.why, evidence);
        }
        self.gap = self.gap.or_later(ended, pause);
    }

    /// A server answered a request for a robots.txt: the failed requests for it before no longer count as failures in a row.
    pub(super) fn robots_answered(&mut self) {
        let is_answered = self.requested.is_some_and(|requested| requested.status.is_some());
        if is_answered && self.lease.state.pace.robots_failures > 0 {
            self.pace().robots_answered();
        }
    }
}

/// The host whose robots.txt a lease is after.
pub(in crate::engine) fn origin_host(lease: &Lease) -> &str {
    match &lease.work {
        Work::RobotsFetch(robots_fetch) => &robots_fetch.origin.host,
        Work::Visit(_) | Work::Sitemap(_) => lease.url.host(),
    }
}
