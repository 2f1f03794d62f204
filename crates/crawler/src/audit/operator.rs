//! What the user ordered while the crawl ran: a paused host gets no request, and a delay that was set is kept.
//!
//! A request may have been under way when the order came, or have been about to start: a host's first request behind an order is
//! judged only if the one before it had ended after the order. Any other one was decided on later.

use std::time::Duration;

use super::Check;
use super::orders::Change;
use super::requests::{Asked, Log};

/// Times in the ledger are whole microseconds: two of them may be off by one each.
const ROUNDING: f64 = 0.000_002;

/// What holds for one host, from when on.
#[derive(Debug, Clone, Copy, Default)]
struct InForce {
    pause: Option<(u32, Duration)>,
    delay: Duration,
    delay_from: (u32, Duration),
}

/// Judges the requests of one host after the other.
pub(super) struct Operator<'a> {
    log: &'a Log,
    check: Check,
    /// The orders that concern the host, those still to come first; and what those passed came to.
    next: usize,
    own: InForce,
    all: InForce,
}

impl<'a> Operator<'a> {
    pub(super) fn new(log: &'a Log) -> Self {
        let check = Check::new(
            "operator",
            "a host that was paused by a command gets no request, and a delay that was set by one is kept",
        );
        Self { log, check, next: 0, own: InForce::default(), all: InForce::default() }
    }

    /// Begins with the next host.
    pub(super) fn begin(&mut self) {
        (self.next, self.own, self.all) = (0, InForce::default(), InForce::default());
    }

    /// Judges a request.
    pub(super) fn take(&mut self, host: &str, before: Option<&Asked>, after: &Asked) {
        // In this order: a request that starts in the moment of an order was sent before it.
        while let Some(order) = self.log.orders.get(self.next).filter(|order| order.is_before(after.from)) {
            self.next += 1;
            let state = match &*order.host {
                "" => &mut self.all,
                name if name == host => &mut self.own,
                _ => continue,
            };
            let at = (order.run, order.clock);
            match order.what {
                Change::Pause => state.pause = state.pause.or(Some(at)),
                Change::Continue => state.pause = None,
                Change::Delay(length) => (state.delay, state.delay_from) = (length, at),
            }
        }
        // Whether the crawl knew of the order when it decided on this request.
        let is_known = |at: (u32, Duration)| {
            at.0 < after.from.run || before.is_some_and(|before| before.to.order() > at)
        };
        for state in [self.own, self.all] {
            if let Some(at) = state.pause
                && is_known(at)
            {
                self.check.case();
                let what = "the host was paused by a command".to_owned();
                self.check.broken(&after.url, Some(after.from.wall), what);
            }
            if let Some(before) = before.filter(|_| !state.delay.is_zero() && is_known(state.delay_from)) {
                let between = self.log.between(before, after);
                let delay = state.delay.as_secs_f64();
                if !self.check.margin(between - delay + ROUNDING) {
                    let what =
                        format!("after {between:.6} s; the delay was set to {delay:.6} s by a command");
                    self.check.broken(&after.url, Some(after.from.wall), what);
                }
            }
        }
    }

    /// The check; none where no order was ever given.
    pub(super) fn check(self) -> Option<Check> {
        (!self.log.orders.is_empty()).then_some(self.check)
    }
}
