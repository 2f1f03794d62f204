//! Requests that were in flight when their process was stopped or killed: entered, counted, and waited for.

use std::borrow::Cow;
use std::time::Duration;

use super::Engine;
use super::settlement::whose;
use crate::fetch::Fetch;
use crate::frontier::{HostId, Lease, Settlement};
use crate::intents::{Aim, Intent};
use crate::pace::{Delay, DelayReason, as_the_site_sees};
use crate::record::{Decided, Decision, Evidence, Layer, PlainReason, RUNS_EARLIER, RequestMade};
use crate::store::{Store, StoreError};

/// What is known of such a request.
const MAY_HAVE_REACHED: &str = "the request may have reached the host; what came of it isn't known";

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Enters the requests that an earlier process had in flight when it was killed, as the last ones of its run, and has their hosts wait: a server may
    /// still work on them. Those that are on record are passed over.
    pub(super) fn enter_left(&mut self, left: Vec<Intent>) -> Result<(), StoreError> {
        let boot = self.clock.boot();
        for intent in left {
            // This run is counted already. What was in flight in an earlier one is on record since the last one began.
            if intent.run.checked_add(1) != Some(self.totals.runs) {
                continue;
            }
            let id = self.frontier.host_id(&intent.host)?;
            if self.frontier.state(id).counts.requests > intent.number {
                continue;
            }
            let (until, wait) = self.wait_until_over(id, intent.remaining(boot));
            self.group_ends(id, intent.address, intent.remaining(boot));
            self.frontier.begin_days(id, &self.settings.wishes, intent.started());
            self.frontier.count_interrupted(id, intent.aim.is_robots(), until, wait);
            let made = request(&intent, intent.remaining(boot));
            self.enter_interrupted(&intent, PlainReason::Interrupted, Some(wait), made, 0);
        }
        Ok(())
    }

    /// Enters the requests of visits that were aborted, and has their hosts wait. Returns the other visits, which had sent none.
    pub(super) fn enter_aborted(&mut self, leases: Vec<Lease>) -> Vec<Lease> {
        let boot = self.clock.boot();
        let mut others = Vec::new();
        for lease in leases {
            let Some(intent) = self.take_aborted(&lease) else {
                others.push(lease);
                continue;
            };
            let (until, wait) = self.wait_until_over(lease.host, intent.remaining(boot));
            self.frontier.complete(&lease, Settlement::untouched(until, wait).after_request());
            self.frontier.count_interrupted(lease.host, intent.aim.is_robots(), until, wait);
            let made = request(&intent, intent.remaining(boot));
            self.enter_interrupted(&intent, PlainReason::Stopped, Some(wait), made, 0);
        }
        others
    }

    /// The request of a visit that panicked, where one is noted.
    pub(super) fn request_of_panicked(&mut self, lease: &Lease) -> Option<RequestMade> {
        let boot = self.clock.boot();
        let intent = self.take_aborted(lease)?;
        Some(request(&intent, intent.remaining(boot)))
    }

    fn take_aborted(&self, lease: &Lease) -> Option<Intent> {
        self.intents.as_ref()?.take_aborted_of(lease.url.host(), self.totals.runs)
    }

    /// How long a host waits: until its request must have timed out, and then its delay.
    fn wait_until_over(&self, id: HostId, remaining: Duration) -> (Duration, Delay) {
        let own = self.frontier.gap(id).length.max(self.settings.pace.delay);
        let length = remaining.saturating_add(own);
        (self.clock.now().mono + as_the_site_sees(length), Delay { length, why: DelayReason::Restart })
    }

    /// Enters a request whose end isn't known. `wait` is how long its host waits for it, `earlier` how many runs before this one it was made.
    pub(super) fn enter_interrupted(
        &mut self,
        intent: &Intent,
        reason: PlainReason,
        wait: Option<Delay>,
        request: RequestMade,
        earlier: u64,
    ) {
        self.totals.requests += 1;
        self.touch(64);
        let mut words = match &intent.aim {
            Aim::RobotsOf(origin) => whose(origin),
            Aim::Url | Aim::Robots | Aim::SiteFile => MAY_HAVE_REACHED.to_owned(),
        };
        if earlier > 0 {
            words = format!("{words}{RUNS_EARLIER}{earlier}");
        }
        let layer = match &intent.aim {
            Aim::Robots | Aim::RobotsOf(_) => Layer::Robots,
            Aim::SiteFile => Layer::Consent,
            Aim::Url => Layer::Fetch,
        };
        let clock = request.clock + request.took;
        let evidence = wait.map(Evidence::from).unwrap_or_default();
        let evidence = evidence.with_words(words).with_clock(clock).with_request(Some(request));
        self.decide(Decision {
            at: self.clock.now().wall,
            url: intent.url.clone(),
            host: intent.host.clone(),
            decision: Decided::Interrupted,
            layer,
            reason: reason.into(),
            evidence,
            via: None,
        });
    }
}

/// The record of a request whose end isn't known; it may last for `remaining` longer.
pub(super) fn request(intent: &Intent, remaining: Duration) -> RequestMade {
    let gap = intent.gap();
    RequestMade {
        started: intent.started(),
        took: intent.timeout().saturating_sub(remaining),
        clock: intent.clock(),
        status: None,
        bytes: 0,
        gap: gap.length,
        gap_reason: Cow::Borrowed(gap.why.as_str()),
        address: intent.address,
    }
}

impl Aim {
    /// Whether the request was for a robots.txt.
    pub(super) fn is_robots(&self) -> bool {
        matches!(self, Self::Robots | Self::RobotsOf(_))
    }
}
