//! Until when hosts may be asked, where somebody else may ask them afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use page::clock;

/// The end of a worker's lease of hosts, on the machine's clock since boot, which nobody sets and which goes on while the machine sleeps. All
/// copies are one deadline.
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

    /// Returns when it is over. It may have been moved in the meantime.
    #[expect(
        clippy::disallowed_methods,
        reason = "waits for the end of a lease, which nothing else announces"
    )]
    pub(crate) async fn over(&self) {
        while let Some(left) = self.remaining() {
            tokio::time::sleep(left).await;
        }
    }

    /// Moves it to a time since boot.
    #[cfg(any(feature = "cluster", test))]
    pub(crate) fn set(&self, until: Duration) {
        self.0.store(u64::try_from(until.as_millis()).unwrap_or_default(), Ordering::Release);
    }

    /// Ends it.
    #[cfg(any(feature = "cluster", test))]
    pub(crate) fn end(&self) {
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
