//! Requests and bytes a second of a crawl on many machines. Its database gives out times at which a request may be made, and counts bytes; the
//! engines of a worker share what it has of both.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::frontier::HostId;
use crate::pace::DelayReason;
use page::clock::{self, Now};

/// How late a time may be used: as long as the next one is away, within these bounds.
const LATE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

/// How soon an engine that got no time looks again.
const LOOK: Duration = Duration::from_millis(50);

/// A worker's part of what the whole crawl may ask for. Times are those of the machine's clock since boot.
#[derive(Debug, Default)]
pub struct Pool {
    /// The least time between two requests; none without a limit.
    spacing: Option<Duration>,
    has_bandwidth: bool,
    inner: Mutex<Inner>,
    wanted: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// When requests may be made, one at each.
    times: VecDeque<Duration>,
    /// Engines that got none since some were added, and times that were used meanwhile.
    wanting: u64,
    used: u64,
    /// How often times were added.
    rounds: u64,
    /// Bytes that the database doesn't know of.
    received: u64,
    /// No request before this; none before the database said so.
    open_from: Option<Duration>,
}

impl Pool {
    /// For a rate in requests a second, and a bandwidth.
    pub fn new(rate: Option<f64>, has_bandwidth: bool) -> Self {
        let spacing = rate.map(|most| Duration::from_secs_f64(1.0 / most.clamp(1e-6, 1e9)));
        Self { spacing, has_bandwidth, ..Self::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when an engine wants a time and got none.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// How many times should be added, of at most `most` that wait to be used.
    pub fn lacks(&self, most: u64) -> u64 {
        let inner = self.inner();
        if inner.wanting == 0 {
            return 0;
        }
        (inner.wanting + inner.used).min(most).saturating_sub(inner.times.len() as u64)
    }

    /// Adds times, in their order.
    pub fn add(&self, times: impl Iterator<Item = Duration>) {
        let mut inner = self.inner();
        inner.times.extend(times);
        (inner.wanting, inner.used) = (0, 0);
        inner.rounds += 1;
    }

    /// Takes the bytes received that the database doesn't know of.
    pub fn take_received(&self) -> u64 {
        std::mem::take(&mut self.inner().received)
    }

    /// Counts bytes received.
    pub fn received(&self, bytes: u64) {
        if self.has_bandwidth {
            self.inner().received += bytes;
        }
    }

    /// Lets no request be made before this.
    pub fn open_from(&self, at: Duration) {
        self.inner().open_from = Some(at);
    }
}

/// An engine's place at the pool.
#[derive(Debug)]
pub(super) struct Pooled {
    pool: Arc<Pool>,
    /// The time of the next request.
    time: Option<Duration>,
    /// The lease that used the last one, and that one.
    last: Option<(HostId, u64, Duration)>,
    /// The round in which it asked for one in vain.
    asked: Option<u64>,
    until: Option<(Duration, DelayReason)>,
}

impl Pooled {
    pub(super) fn new(pool: Arc<Pool>) -> Self {
        Self { pool, time: None, last: None, asked: None, until: None }
    }

    /// Whether a request may be made now; where not, [`Pooled::until`] says when to look again.
    pub(super) fn admit(&mut self, now: Now) -> bool {
        let Some(boot) = clock::since_boot() else { return false };
        self.admit_at(now.mono, boot)
    }

    fn admit_at(&mut self, mono: Duration, boot: Duration) -> bool {
        self.until = self.closed(boot).map(|(wait, why)| (mono + wait, why));
        self.until.is_none()
    }

    fn closed(&mut self, boot: Duration) -> Option<(Duration, DelayReason)> {
        let mut inner = self.pool.inner();
        if self.pool.has_bandwidth {
            let Some(from) = inner.open_from else { return Some((LOOK, DelayReason::MaxBandwidth)) };
            if from > boot {
                return Some((from.saturating_sub(boot), DelayReason::MaxBandwidth));
            }
        }
        let late = self.pool.spacing?.clamp(LATE.0, LATE.1);
        loop {
            match self.time.or_else(|| inner.times.pop_front()) {
                Some(time) if time > boot => {
                    self.time = Some(time);
                    return Some((time.saturating_sub(boot), DelayReason::MaxRate));
                }
                Some(time) if boot.saturating_sub(time) <= late => {
                    self.time = Some(time);
                    return None;
                }
                // It is lost.
                Some(_) => self.time = None,
                None => {
                    if self.asked != Some(inner.rounds) {
                        self.asked = Some(inner.rounds);
                        inner.wanting += 1;
                        self.pool.wanted.notify_one();
                    }
                    return Some((LOOK, DelayReason::MaxRate));
                }
            }
        }
    }

    /// The request that was let through is made, by this lease.
    pub(super) fn used(&mut self, host: HostId, token: u64) {
        if let Some(time) = self.time.take() {
            self.last = Some((host, token, time));
            self.pool.inner().used += 1;
        }
    }

    /// A lease made no request: its time may be used for another one, while that isn't too late.
    pub(super) fn unused(&mut self, host: HostId, token: u64) {
        if let Some((.., time)) = self.last.take_if(|last| (last.0, last.1) == (host, token)) {
            self.time.get_or_insert(time);
            let mut inner = self.pool.inner();
            inner.used = inner.used.saturating_sub(1);
        }
    }

    pub(super) fn received(&mut self, bytes: u64) {
        self.pool.received(bytes);
    }

    /// When to look again, and why not before.
    pub(super) fn until(&self) -> Option<(Duration, DelayReason)> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn each_time_is_used_once_and_not_before_and_not_much_later() {
        let pool = Arc::new(Pool::new(Some(20.0), false));
        let mut one = Pooled::new(Arc::clone(&pool));
        let mut two = Pooled::new(Arc::clone(&pool));
        assert!(!one.admit_at(ms(0), ms(1_000)) && !two.admit_at(ms(0), ms(1_000)));
        assert!(!one.admit_at(ms(0), ms(1_001)));
        assert_eq!([pool.lacks(10), pool.lacks(1)], [2, 1], "each engine wants one");
        pool.add([ms(1_050), ms(1_100), ms(1_150)].into_iter());
        assert_eq!(pool.lacks(10), 0);
        assert!(!one.admit_at(ms(0), ms(1_010)) && !two.admit_at(ms(0), ms(1_010)));
        assert_eq!(one.until(), Some((ms(40), DelayReason::MaxRate)));
        assert_eq!(two.until(), Some((ms(90), DelayReason::MaxRate)));
        assert!(one.admit_at(ms(50), ms(1_060)));
        one.used(HostId(1), 1);
        assert!(!one.admit_at(ms(51), ms(1_061)));
        assert_eq!(one.until(), Some((ms(51 + 89), DelayReason::MaxRate)), "the third");
        assert!(two.admit_at(ms(140), ms(1_150)));
        two.used(HostId(2), 1);
        two.unused(HostId(2), 1);
        assert!(two.admit_at(ms(140), ms(1_150)), "nobody was asked");
        // Too late for both.
        assert!(!two.admit_at(ms(240), ms(1_250)) && !one.admit_at(ms(240), ms(1_250)));
        assert_eq!(pool.lacks(10), 3, "one was used");
    }

    #[test]
    fn nobody_is_asked_before_the_bytes_are_made_up_for() {
        let pool = Arc::new(Pool::new(None, true));
        let mut one = Pooled::new(Arc::clone(&pool));
        assert!(!one.admit_at(ms(0), ms(1_000)), "what others received isn't known");
        pool.open_from(ms(900));
        assert!(one.admit_at(ms(0), ms(1_000)));
        one.received(70);
        one.received(7);
        assert_eq!([pool.take_received(), pool.take_received()], [77, 0]);
        pool.open_from(ms(1_500));
        assert!(!one.admit_at(ms(0), ms(1_000)));
        assert_eq!(one.until(), Some((ms(500), DelayReason::MaxBandwidth)));
    }
}
