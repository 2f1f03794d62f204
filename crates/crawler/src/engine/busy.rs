//! Whether this process keeps the machine's processors busy.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Duration;

use page::clock::Clock;

/// From this share on of what all processors can do, hosts wait for the process, and not the process for hosts.
const BUSY: f64 = 0.6;

/// What the share is measured over, at least.
const SPAN: Duration = Duration::from_millis(20);

/// The share of the processors' time that the process took lately.
#[derive(Debug)]
pub(super) struct Busy {
    clock: Clock,
    processors: f64,
    /// When it was measured last, and the processor time until then.
    last: (Duration, Duration),
    /// Whether the share was [`BUSY`] then.
    reached: bool,
}

impl Busy {
    pub(super) fn new(clock: Clock) -> Self {
        let processors = available_parallelism().map_or(1, NonZero::get) as f64;
        let used = clock.processor_time().unwrap_or_default();
        Self { clock, processors, last: (clock.now().mono, used), reached: false }
    }

    /// Measures it again where enough time has passed. Cost: now and then a system call.
    pub(super) fn measure(&mut self) {
        let now = self.clock.now().mono;
        let passed = now.saturating_sub(self.last.0);
        if passed < SPAN {
            return;
        }
        // Simulated time tells nothing of it.
        let Some(used) = self.clock.processor_time() else { return };
        let share = used.saturating_sub(self.last.1).as_secs_f64() / passed.as_secs_f64() / self.processors;
        self.reached = share >= BUSY;
        self.last = (now, used);
    }

    /// Whether it was busy when it was measured last; false where that isn't known.
    pub(super) fn is_busy(&self) -> bool {
        self.reached
    }

    #[cfg(test)]
    pub(super) fn set(&mut self, is_busy: bool) {
        self.reached = is_busy;
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;
    use page::clock::real_time;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_computes_is_busy_and_one_that_waits_is_not() {
        let mut busy = Busy { processors: 0.5, ..Busy::new(Clock::system()) };
        assert!(!busy.is_busy());
        let begun = real_time();
        // One thread has half of what one processor can do at least, whatever else runs: measured until it had it.
        while !busy.is_busy() && real_time().duration_since(begun) < Duration::from_secs(20) {
            black_box((0..100_000_u64).fold(0, |sum, n| sum ^ black_box(n)));
            busy.measure();
        }
        assert!(busy.is_busy());
        // Other tests of this process compute meanwhile: as if there were many processors.
        busy.processors = 1e6;
        while busy.is_busy() && real_time().duration_since(begun) < Duration::from_secs(20) {
            busy.measure();
        }
        assert!(!busy.is_busy());
    }

    #[test]
    fn simulated_time_is_never_busy() {
        let mut busy = Busy::new(Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap()));
        busy.measure();
        assert!(!busy.is_busy());
        assert_eq!(busy.clock.processor_time(), None);
    }
}
