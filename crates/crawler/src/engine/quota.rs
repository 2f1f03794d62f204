//! Quotas over all hosts: requests a second, octets a second. Pure in `now`: they say when, the loop waits.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use crate::clock::Now;
use crate::frontier::HostId;
use crate::pace::Why;

/// Units of octets that are counted a second: a thousandth of the quota each.
const UNITS: u64 = 1_000;

/// The crawl's monotonic clock as governor reads it: it stands where the engine's last look put it.
#[derive(Debug, Clone, Default)]
struct CrawlClock(Arc<AtomicU64>);

impl CrawlClock {
    fn set(&self, now: Duration) {
        self.0.store(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Clock for CrawlClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

type Limiter =
    RateLimiter<NotKeyed, InMemoryState, CrawlClock, NoOpMiddleware<<CrawlClock as Clock>::Instant>>;

/// Both quotas.
#[derive(Debug)]
pub(super) struct Quotas {
    clock: CrawlClock,
    requests: Option<Limiter>,
    octets: Option<Limiter>,
    /// Octets of a unit.
    unit: u64,
    /// Octets received that aren't counted against the quota yet.
    owed: u64,
    /// A request was let through and not made yet.
    ticket: bool,
    /// The lease that used the last ticket, when it did, and when the one before did.
    last: Option<(HostId, u64, Duration)>,
    before: Option<Duration>,
    /// The least time between two requests.
    spacing: Duration,
    /// Nothing is asked before this, for this reason.
    until: Option<(Duration, Why)>,
}

impl Quotas {
    /// Quotas from now on; none lets everything through.
    pub(super) fn new(max_rate: Option<u32>, max_bandwidth: Option<u64>, now: Now) -> Self {
        let clock = CrawlClock::default();
        clock.set(now.mono);
        let limiter = |quota| RateLimiter::direct_with_clock(quota, clock.clone());
        let bandwidth = max_bandwidth.map(|most| most.max(1));
        let unit = bandwidth.map_or(1, |most| most.div_ceil(UNITS));
        let units = bandwidth.and_then(|most| NonZeroU32::new((most / unit) as u32));
        Self {
            // Spread evenly: one at a time.
            requests: max_rate
                .and_then(NonZeroU32::new)
                .map(|most| limiter(Quota::per_second(most).allow_burst(NonZeroU32::MIN))),
            octets: units.map(|units| limiter(Quota::per_second(units))),
            clock: clock.clone(),
            unit,
            owed: 0,
            ticket: false,
            last: None,
            before: None,
            spacing: max_rate.map_or(Duration::ZERO, |most| Duration::from_secs(1) / most.max(1)),
            until: None,
        }
    }

    /// Whether a request may be made now; where not, [`Quotas::until`] says when.
    pub(super) fn admit(&mut self, now: Now) -> bool {
        self.clock.set(now.mono);
        self.until = None;
        if let Some(octets) = &self.octets {
            let burst = (UNITS as u32).min(u32::try_from(self.owed / self.unit).unwrap_or(u32::MAX));
            let mut part = NonZeroU32::new(burst);
            while let Some(units) = part {
                match octets.check_n(units) {
                    Ok(Ok(())) => self.owed -= u64::from(units.get()) * self.unit,
                    Ok(Err(not_until)) => {
                        self.until = Some((not_until.earliest_possible(), Why::MaxBandwidth));
                        return false;
                    }
                    // More than a second's worth at once: a smaller quota has fewer units.
                    Err(most) => {
                        part = NonZeroU32::new(most.0);
                        continue;
                    }
                }
                let left = u32::try_from(self.owed / self.unit).unwrap_or(u32::MAX);
                part = NonZeroU32::new(left.min(units.get()));
            }
        }
        // A ticket that came back is used later than governor counted it.
        let last = self.last.map(|(_, _, at)| at).or(self.before);
        if let Some(next) = last.map(|at| at + self.spacing).filter(|next| *next > now.mono) {
            self.until = Some((next, Why::MaxRate));
            return false;
        }
        if let (Some(requests), false) = (&self.requests, self.ticket) {
            if let Err(not_until) = requests.check() {
                self.until = Some((not_until.earliest_possible(), Why::MaxRate));
                return false;
            }
            self.ticket = true;
        }
        true
    }

    /// The request that was let through is made, by this lease.
    pub(super) fn used(&mut self, host: HostId, token: u64, now: Now) {
        self.ticket = false;
        if self.requests.is_some() {
            self.before = self.last.map(|(_, _, at)| at).or(self.before);
            self.last = Some((host, token, now.mono));
        }
    }

    /// A lease made no request: if nobody was let through after it, its ticket is used again.
    pub(super) fn unused(&mut self, host: HostId, token: u64) {
        if self.last.is_some_and(|last| (last.0, last.1) == (host, token)) {
            self.last = None;
            self.ticket = true;
        }
    }

    /// Counts what came in.
    pub(super) fn received(&mut self, octets: u64) {
        if self.octets.is_some() {
            self.owed = self.owed.saturating_add(octets);
        }
    }

    /// Before when nothing is asked, and why.
    pub(super) fn until(&self) -> Option<(Duration, Why)> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Now {
        Now { mono: Duration::from_millis(ms), wall: jiff::Timestamp::UNIX_EPOCH }
    }

    /// Makes requests as soon as they are let through, for so long; `octets` came with each. Gives their times in ms.
    fn run(mut quotas: Quotas, ms: u64, octets: u64) -> Vec<u64> {
        let mut times = Vec::new();
        let mut now = 0;
        while now < ms {
            if quotas.admit(at(now)) {
                quotas.used(HostId(0), now, at(now));
                quotas.received(octets);
                times.push(now);
                now += 1;
            } else {
                let (until, _) = quotas.until().unwrap();
                now = (until.as_nanos().div_ceil(1_000_000) as u64).max(now + 1);
            }
        }
        times
    }

    #[test]
    fn requests_are_spread_evenly() {
        let times = run(Quotas::new(Some(5), None, at(0)), 10_000, 0);
        assert_eq!(times.len(), 50);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 200), "{times:?}");
    }

    #[test]
    fn octets_keep_their_average() {
        for (most, size) in
            [(1_000_000, 10_000), (1_000_000, 5_000_000), (700, 70), (7, 1), (3 << 40, 1 << 40)]
        {
            let times = run(Quotas::new(None, Some(most), at(0)), 60_000, size);
            let got = size.saturating_mul(times.len() as u64);
            // A second's worth may come at once in the beginning, the last body on top.
            let (least, largest) = (most * 58, most * 61 + 2 * size);
            assert!(got <= largest, "{most} a second, {size} each: {got} in {} requests", times.len());
            assert!(got >= least.min(59_000 * size), "{most} a second, {size} each: {got}");
        }
    }

    #[test]
    fn without_quotas_nothing_waits_and_a_ticket_is_used_once() {
        assert_eq!(run(Quotas::new(None, None, at(0)), 1_000, 1 << 40).len(), 1_000);
        let mut quotas = Quotas::new(Some(1), None, at(0));
        assert!(quotas.admit(at(0)) && quotas.admit(at(0)), "the same ticket");
        quotas.used(HostId(0), 1, at(0));
        assert!(!quotas.admit(at(999)));
        assert_eq!(quotas.until().unwrap(), (Duration::from_secs(1), Why::MaxRate));
        quotas.unused(HostId(0), 1);
        assert!(quotas.admit(at(999)), "what made no request is let through again");
        quotas.used(HostId(1), 1, at(999));
        quotas.unused(HostId(0), 1);
        assert!(!quotas.admit(at(1_998)), "and counts from then on");
        assert!(quotas.admit(at(2_000)));
    }
}
