//! The crawl's two clocks in one value: [`Now`]. Intervals use the monotonic clock, freshness the wall clock. A third
//! one, [`Boot`], keeps running while no process of the crawl does: it decides what a restart has to wait for.

#![expect(clippy::disallowed_methods, reason = "the one module that reads a clock")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// What [`wall`] adds to the clock since boot, in nanoseconds, once it follows another machine; `i64::MIN` before.
static FOLLOWED: AtomicI64 = AtomicI64::new(i64::MIN);

/// The time of day, UTC: that of this machine, or of the one that the process follows.
pub fn wall() -> Timestamp {
    let offset = FOLLOWED.load(Ordering::Acquire);
    let followed = || {
        let since_boot = i128::try_from(since_boot()?.as_nanos()).ok()?;
        Timestamp::from_nanosecond(since_boot + i128::from(offset)).ok()
    };
    if offset == i64::MIN { Timestamp::now() } else { followed().unwrap_or_else(Timestamp::now) }
}

/// Has the process follow another machine's time of day from now on: all the processes that do so agree on it, however their machines'
/// clocks are set. `theirs` is what they answered, and `answered` the moment on this machine's clock since boot when the answer
/// was here: the time is late by what the way of the answer took, never early.
pub fn follow(theirs: Timestamp, answered: Duration) {
    let offset = theirs.as_nanosecond() - i128::try_from(answered.as_nanos()).unwrap_or(i128::MAX);
    if let Ok(offset) = i64::try_from(offset) {
        FOLLOWED.store(offset, Ordering::Release);
    }
}

/// The present moment on tokio's clock: for a try that has to end, and for what is kept for a while.
pub fn instant() -> Instant {
    Instant::now()
}

/// The machine's own clock, in a simulation too: it bounds work, and no decision about a site hangs on it.
pub fn real_time() -> std::time::Instant {
    std::time::Instant::now()
}

/// Time since the machine was started, its sleep included; none on systems that don't tell.
pub fn since_boot() -> Option<Duration> {
    #[cfg(target_os = "linux")]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(now.tv_sec).ok()?;
        Some(Duration::new(seconds, u32::try_from(now.tv_nsec).ok()?))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// One moment, on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Time since the crawl's process started, on a clock that never jumps. Pace is counted on this one.
    pub mono: Duration,
    /// The time of day, UTC. robots.txt lifetimes, Visit-time and records use this one.
    pub wall: Timestamp,
}

impl Now {
    /// A time of day without a run: for looking at what is stored.
    pub fn of_day(wall: Timestamp) -> Self {
        Self { mono: Duration::ZERO, wall }
    }
}

/// A moment on the clock of the machine since it was started: nobody sets it, and it goes on in its sleep. Two moments of the same
/// start tell how much time lies between them, whatever processes came and went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// Which start of the machine, by which of its clocks: the beginning of a BLAKE3 of its boot id.
    pub id: u32,
    /// Milliseconds since then.
    pub ms: u64,
}

/// What two readings of the clock since boot may be apart for no time that passed.
const BOOT_TICK: Duration = Duration::from_millis(10);

impl Boot {
    /// How much time has passed from `earlier` to this moment, at least; none if unknown: the machine was rebooted
    /// in between, or it is another one.
    pub fn since(self, earlier: Option<Self>) -> Option<Duration> {
        let earlier = earlier.filter(|earlier| earlier.id == self.id)?;
        let passed = Duration::from_millis(self.ms.checked_sub(earlier.ms)?);
        Some(passed.saturating_sub(BOOT_TICK))
    }

    fn system() -> Option<Self> {
        static ID: OnceLock<Option<u32>> = OnceLock::new();
        let id = ID.get_or_init(|| {
            let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
            // Earlier versions read `/proc/uptime`, which may count from another moment in a container, and hashed the boot id alone.
            let hash = blake3::hash(format!("CLOCK_BOOTTIME {}", text.trim()).as_bytes());
            hash.as_bytes().first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))
        });
        Some(Self { id: (*id)?, ms: u64::try_from(since_boot()?.as_millis()).ok()? })
    }
}

/// Source of [`Now`]: tokio's clock, so that a paused runtime tests hours in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    simulated: Option<Timestamp>,
    /// Seconds that somebody has set the simulated wall clock on.
    jumped: Option<&'static AtomicI64>,
    /// Which start of the simulated machine, and when it was rebooted.
    boot: (u32, Instant),
}

impl Clock {
    /// The machine's clocks.
    pub fn system() -> Self {
        let start = Instant::now();
        Self { start, simulated: None, jumped: None, boot: (0, start) }
    }

    /// A wall clock that starts at `wall` and advances with tokio's clock.
    pub fn simulated(wall: Timestamp) -> Self {
        Self { simulated: Some(wall), ..Self::system() }
    }

    /// As [`Clock::simulated`], with a wall clock that somebody sets on by so many seconds, or back, at any time.
    pub fn jumping(wall: Timestamp, jumped: &'static AtomicI64) -> Self {
        Self { jumped: Some(jumped), ..Self::simulated(wall) }
    }

    /// The simulated clock of a process that is started now: the wall clock continues, the run's own restarts, and the machine's
    /// too where it was `rebooted`.
    #[must_use]
    pub fn next_process(self, rebooted: bool) -> Self {
        let start = Instant::now();
        let passed = jiff::SignedDuration::try_from(start - self.start).unwrap_or_default();
        let simulated = self.simulated.map(|base| base.saturating_add(passed).unwrap_or(base));
        let boot = if rebooted { (self.boot.0 + 1, start) } else { self.boot };
        Self { start, simulated, boot, ..self }
    }

    /// The present moment on the machine's own clock; none where it has none.
    pub fn boot(&self) -> Option<Boot> {
        if self.simulated.is_none() {
            return Boot::system();
        }
        let (id, since) = self.boot;
        Some(Boot { id, ms: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX) })
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
            None => wall(),
        };
        Now { mono, wall }
    }

    /// The processor time that this process has taken, over all threads; none where time is simulated, or the system doesn't say.
    pub fn processor_time(&self) -> Option<Duration> {
        #[cfg(target_os = "linux")]
        if self.simulated.is_none() {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
            return Duration::try_from(time).ok();
        }
        None
    }

    /// The tokio instant of a moment on the monotonic clock.
    pub fn instant(&self, mono: Duration) -> Instant {
        self.start + mono
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_process_starts_its_own_clock_and_that_of_the_machine_continues() {
        let first = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let before = first.boot();
        tokio::time::advance(Duration::from_secs(60)).await;
        let second = first.next_process(false);
        assert_eq!((first.now().mono, second.now().mono), (Duration::from_secs(60), Duration::ZERO));
        assert_eq!(first.now().wall, second.now().wall);
        let passed = second.boot().unwrap().since(before).unwrap();
        assert_eq!(passed + BOOT_TICK, Duration::from_secs(60), "never more than it was");
        let third = second.next_process(true);
        assert_eq!(third.boot().unwrap().since(before), None, "the machine was rebooted");
        assert_eq!(second.boot().unwrap().since(None), None);
        let later = Boot { id: 7, ms: 5 };
        assert_eq!(later.since(Some(Boot { id: 7, ms: 6 })), None, "a container with a clock of its own");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_systems_clock_advances() {
        let clock = Clock::system();
        let first = clock.boot().unwrap();
        let second = Clock::system().boot().unwrap();
        assert!(first.id == second.id && first.ms > 0 && first.ms <= second.ms);
        assert_eq!(first.since(Some(first)), Some(Duration::ZERO));
    }
}
