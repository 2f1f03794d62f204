//! Quotas over all hosts: requests per second, bytes per second. Pure in `now`: they return a time, the loop waits.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::pool::Pooled;
use crate::frontier::HostId;
use crate::pace::DelayReason;
use page::clock::{Boot, Now};

/// The key of the record in the tree `meta`.
pub(super) const KEY: &[u8] = b"quotas";

/// Units of bytes that are counted a second: a thousandth of the quota each.
const UNITS: u64 = 1_000;

/// The crawl's monotonic clock as governor reads it: it has the time of the engine's last look.
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

/// What a quota of bytes has to remember, as stored with each commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QuotaRecord {
    /// When this held.
    at: Timestamp,
    /// Bytes received that the average had not made up for by then.
    debt: u64,
    /// When that was on the machine's own clock, which nobody sets.
    #[serde(default)]
    boot: Option<Boot>,
}

/// Both quotas.
#[derive(Debug)]
pub(super) struct Quotas {
    clock: CrawlClock,
    requests: Option<Limiter>,
    bytes: Option<Limiter>,
    /// Bytes of a unit.
    unit: u64,
    /// Bytes received that aren't counted against the quota yet.
    owed: u64,
    /// All bytes that the average hasn't made up for, as of this time; and the bytes a second that it makes up.
    debt: (f64, Duration),
    bandwidth: Option<u64>,
    /// A request was let through and not made yet.
    ticket: bool,
    /// The lease that used the last ticket, when it did, and when the one before did.
    last: Option<(HostId, u64, Duration)>,
    before: Option<Duration>,
    /// The least time between two requests.
    spacing: Duration,
    /// Nothing is asked before this, for this reason.
    until: Option<(Duration, DelayReason)>,
    /// What counts instead, where several engines keep quotas together.
    pooled: Option<Pooled>,
}

impl Quotas {
    /// Quotas from now on; none lets everything through.
    pub(super) fn new(max_rate: Option<f64>, max_bandwidth: Option<u64>, now: Now) -> Self {
        let clock = CrawlClock::default();
        clock.set(now.mono);
        let limiter = |quota| RateLimiter::direct_with_clock(quota, clock.clone());
        let bandwidth = max_bandwidth.map(|most| most.max(1));
        let unit = bandwidth.map_or(1, |most| most.div_ceil(UNITS));
        let spacing = max_rate.map(|most| Duration::from_secs_f64(1.0 / most.clamp(1e-6, 1e9)));
        let units = bandwidth.and_then(|most| NonZeroU32::new((most / unit) as u32));
        Self {
            // Spread evenly: one at a time.
            requests: spacing
                .and_then(Quota::with_period)
                .map(|quota| limiter(quota.allow_burst(NonZeroU32::MIN))),
            bytes: units.map(|units| limiter(Quota::per_second(units))),
            clock: clock.clone(),
            unit,
            owed: 0,
            debt: (0.0, now.mono),
            bandwidth,
            ticket: false,
            last: None,
            before: None,
            spacing: spacing.unwrap_or_default(),
            until: None,
            pooled: None,
        }
    }

    /// Quotas that this engine keeps together with others.
    pub(super) fn pooled(pooled: Pooled, now: Now) -> Self {
        Self { pooled: Some(pooled), ..Self::new(None, None, now) }
    }

    /// Restores the state of the previous process. It may have made a request at its very end: the first one of this
    /// process comes after a whole interval. A debt of bytes goes on, less what the time between made up for by the machine's own
    /// clock; if that restarted, nothing was.
    pub(super) fn restore(&mut self, record: Option<&[u8]>, now: Now, boot: Option<Boot>) {
        if self.requests.is_some() {
            self.before = Some(now.mono);
        }
        let record: Option<QuotaRecord> = record.and_then(|value| serde_json::from_slice(value).ok());
        if let (Some(QuotaRecord { debt, boot: before, .. }), Some(_)) = (record, self.bandwidth) {
            self.debt = (debt as f64, now.mono);
            let between = boot.and_then(|boot| boot.since(before)).unwrap_or_default();
            self.pay(now.mono.saturating_add(between));
            self.debt.1 = now.mono;
            self.owed = self.debt.0 as u64;
        }
    }

    /// What is to be stored; none where nothing is.
    pub(super) fn record(&mut self, now: Now, boot: Option<Boot>) -> Option<QuotaRecord> {
        self.bandwidth?;
        self.pay(now.mono);
        Some(QuotaRecord { at: now.wall, debt: self.debt.0.ceil() as u64, boot })
    }

    /// Lowers the debt by what the time since the last look makes up for.
    fn pay(&mut self, mono: Duration) {
        let (debt, since) = self.debt;
        let paid = mono.saturating_sub(since).as_secs_f64() * self.bandwidth.unwrap_or_default() as f64;
        self.debt = ((debt - paid).max(0.0), mono.max(since));
    }

    /// Whether a request may be made now; where not, [`Quotas::until`] says when.
    pub(super) fn admit(&mut self, now: Now) -> bool {
        if let Some(pooled) = &mut self.pooled {
            return pooled.admit(now);
        }
        self.clock.set(now.mono);
        self.until = None;
        if let Some(bytes) = &self.bytes {
            let burst = (UNITS as u32).min(u32::try_from(self.owed / self.unit).unwrap_or(u32::MAX));
            let mut part = NonZeroU32::new(burst);
            while let Some(units) = part {
                match bytes.check_n(units) {
                    Ok(Ok(())) => self.owed -= u64::from(units.get()) * self.unit,
                    Ok(Err(not_until)) => {
                        self.until = Some((not_until.earliest_possible(), DelayReason::MaxBandwidth));
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
            self.until = Some((next, DelayReason::MaxRate));
            return false;
        }
        if let (Some(requests), false) = (&self.requests, self.ticket) {
            if let Err(not_until) = requests.check() {
                self.until = Some((not_until.earliest_possible(), DelayReason::MaxRate));
                return false;
            }
            self.ticket = true;
        }
        true
    }

    /// The request that was let through is made, by this lease.
    pub(super) fn used(&mut self, host: HostId, token: u64, now: Now) {
        if let Some(pooled) = &mut self.pooled {
            pooled.used(host, token);
        }
        self.ticket = false;
        if self.requests.is_some() {
            self.before = self.last.map(|(_, _, at)| at).or(self.before);
            self.last = Some((host, token, now.mono));
        }
    }

    /// A lease made no request: if nobody was let through after it, its ticket is used again.
    pub(super) fn unused(&mut self, host: HostId, token: u64) {
        if let Some(pooled) = &mut self.pooled {
            pooled.unused(host, token);
        }
        if self.last.is_some_and(|last| (last.0, last.1) == (host, token)) {
            self.last = None;
            self.ticket = true;
        }
    }

    /// Counts what came in.
    pub(super) fn received(&mut self, bytes: u64, now: Now) {
        if let Some(pooled) = &mut self.pooled {
            pooled.received(bytes);
        }
        if self.bytes.is_some() {
            self.pay(now.mono);
            self.debt.0 += bytes as f64;
            self.owed = self.owed.saturating_add(bytes);
        }
    }

    /// Before when nothing is asked, and why.
    pub(super) fn until(&self) -> Option<(Duration, DelayReason)> {
        match &self.pooled {
            Some(pooled) => pooled.until(),
            None => self.until,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Now {
        Now { mono: Duration::from_millis(ms), wall: jiff::Timestamp::UNIX_EPOCH }
    }

    /// Makes requests as soon as they are let through, for so long; `bytes` came with each. Gives their times in ms.
    fn run(mut quotas: Quotas, ms: u64, bytes: u64) -> Vec<u64> {
        let mut times = Vec::new();
        let mut now = 0;
        while now < ms {
            if quotas.admit(at(now)) {
                quotas.used(HostId(0), now, at(now));
                quotas.received(bytes, at(now));
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
        for (rate, gap, count) in [(5.0, 200, 50), (0.5, 2_000, 5), (2.5, 400, 25), (1000.0, 1, 10_000)] {
            let times = run(Quotas::new(Some(rate), None, at(0)), 10_000, 0);
            assert_eq!(times.len(), count, "{rate}");
            assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= gap), "{rate}: {times:?}");
        }
    }

    #[test]
    fn bytes_keep_their_average() {
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

    /// Restarts at a moment of the old process, so many ms later by the machine's own clock, or after a reboot.
    /// The new clock begins at 0; somebody has set the wall clock meanwhile.
    fn restarted(
        old: &mut Quotas,
        stopped: u64,
        away: Option<u64>,
        rate: Option<f64>,
        most: Option<u64>,
    ) -> Quotas {
        let wall = |ms: i64| jiff::Timestamp::from_millisecond(ms).unwrap();
        let then = Now { wall: wall(1_000_000), ..at(stopped) };
        let boot = Boot { id: 1, ms: 500_000 };
        let value = old.record(then, Some(boot)).map(|record| serde_json::to_vec(&record).unwrap());
        let now = Now { wall: wall(9_000_000), ..at(0) };
        let boot = away.map_or(Boot { id: 2, ms: 900_000 }, |away| Boot { id: 1, ms: 500_000 + away });
        let mut new = Quotas::new(rate, most, now);
        new.restore(value.as_deref(), now, Some(boot));
        new
    }

    #[test]
    fn a_restart_rests_a_whole_interval_and_keeps_the_debt() {
        let mut old = Quotas::new(Some(0.5), None, at(0));
        assert!(old.admit(at(0)));
        old.used(HostId(0), 1, at(0));
        let times = run(restarted(&mut old, 1, Some(1), Some(0.5), None), 10_000, 0);
        assert_eq!(times, [2_000, 4_000, 6_000, 8_000]);

        // 30 s of a quota came at once, and a second's worth may run ahead. Ten of them passed before the stop.
        for (away, first) in [(Some(0), 19_000), (Some(5_010), 14_000), (Some(60_000), 0), (None, 19_000)] {
            let mut old = Quotas::new(None, Some(1_000), at(0));
            assert!(old.admit(at(0)));
            old.received(30_000, at(0));
            let times = run(restarted(&mut old, 10_000, away, None, Some(1_000)), 21_000, 0);
            assert!(times[0].abs_diff(first) <= 1, "away for {away:?} ms: {} and not {first}", times[0]);
        }
    }

    #[test]
    fn without_quotas_nothing_waits_and_a_ticket_is_used_once() {
        assert_eq!(run(Quotas::new(None, None, at(0)), 1_000, 1 << 40).len(), 1_000);
        let mut quotas = Quotas::new(Some(1.0), None, at(0));
        assert!(quotas.admit(at(0)) && quotas.admit(at(0)), "the same ticket");
        quotas.used(HostId(0), 1, at(0));
        assert!(!quotas.admit(at(999)));
        assert_eq!(quotas.until().unwrap(), (Duration::from_secs(1), DelayReason::MaxRate));
        quotas.unused(HostId(0), 1);
        assert!(quotas.admit(at(999)), "what made no request is let through again");
        quotas.used(HostId(1), 1, at(999));
        quotas.unused(HostId(0), 1);
        assert!(!quotas.admit(at(1_998)), "and counts from then on");
        assert!(quotas.admit(at(2_000)));
    }
}
