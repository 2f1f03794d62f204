//! Until when a worker may ask hosts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock;

/// The end of a worker's lease, on the machine's clock since boot, which nobody sets and which goes on while the machine sleeps. All copies
/// are one deadline.
///
/// It is asked before a connection is opened and before a request is written, and requests in flight are aborted at it.
#[derive(Debug, Clone, Default)]
pub struct Deadline(Arc<AtomicU64>);

impl Deadline {
    /// The time that remains; none once it is over.
    pub fn remaining(&self) -> Option<Duration> {
        self.remaining_at(clock::since_boot()?)
    }

    fn remaining_at(&self, now: Duration) -> Option<Duration> {
        let until = Duration::from_millis(self.0.load(Ordering::Acquire));
        until.checked_sub(now).filter(|left| !left.is_zero())
    }

    /// Moves it to a time since boot.
    pub(super) fn set(&self, until: Duration) {
        self.0.store(u64::try_from(until.as_millis()).unwrap_or_default(), Ordering::Release);
    }

    /// Ends it.
    pub(super) fn end(&self) {
        self.0.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_over_from_its_moment_on() {
        let second = Duration::from_secs;
        let deadline = Deadline::default();
        assert_eq!(deadline.remaining_at(second(1)), None, "before the first beat");
        deadline.set(second(10));
        assert_eq!(deadline.clone().remaining_at(second(7)), Some(second(3)));
        assert_eq!(deadline.remaining_at(second(10)), None);
        assert_eq!(deadline.remaining_at(second(11)), None);
        deadline.set(second(20));
        deadline.end();
        assert_eq!(deadline.remaining_at(second(1)), None);
    }
}
