//! The crawl's two clocks in one value: [`Now`]. Intervals run on the monotonic one, freshness on the wall's.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// One moment, on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Time since the crawl's process started, on a clock that never jumps. Pace is counted on this one.
    pub mono: Duration,
    /// The time of day, UTC. robots.txt lifetimes, Visit-time and records use this one.
    pub wall: Timestamp,
}

/// Source of [`Now`]: tokio's clock, so that a paused runtime tests hours in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    simulated: Option<Timestamp>,
    /// Seconds that somebody has set the simulated wall clock on.
    jumped: Option<&'static AtomicI64>,
}

impl Clock {
    /// The machine's clocks.
    pub fn system() -> Self {
        Self { start: Instant::now(), simulated: None, jumped: None }
    }

    /// A wall clock that starts at `wall` and advances with tokio's clock.
    pub fn simulated(wall: Timestamp) -> Self {
        Self { start: Instant::now(), simulated: Some(wall), jumped: None }
    }

    /// As [`Clock::simulated`], with a wall clock that somebody sets on by so many seconds, or back, at any time.
    pub fn jumping(wall: Timestamp, jumped: &'static AtomicI64) -> Self {
        Self { jumped: Some(jumped), ..Self::simulated(wall) }
    }

    /// The present moment.
    pub fn now(&self) -> Now {
        let mono = self.start.elapsed();
        let wall = match self.simulated {
            Some(base) => {
                let jumped = self.jumped.map_or(0, |seconds| seconds.load(Ordering::Relaxed));
                let passed = jiff::SignedDuration::try_from(mono).unwrap_or_default();
                let passed = passed.saturating_add(jiff::SignedDuration::from_secs(jumped));
                base.saturating_add(passed).unwrap_or(base)
            }
            None => Timestamp::now(),
        };
        Now { mono, wall }
    }

    /// The tokio instant of a moment on the monotonic clock.
    pub(crate) fn instant(&self, mono: Duration) -> Instant {
        self.start + mono
    }
}
