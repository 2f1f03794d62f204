//! The deadline of a try, without the time that its body waits for memory.
//!
//! The server isn't to blame for that time, and a try that is given up because of it costs the site a second request.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use page::clock::instant;

/// How often a try that waits for memory is looked at again after its deadline.
const STEP: Duration = Duration::from_secs(1);

/// How long a try has waited for memory. Clones share one account.
#[derive(Debug, Clone, Default)]
pub(super) struct MemoryWait(Arc<Mutex<Account>>);

#[derive(Debug, Default)]
struct Account {
    /// All waits that are over.
    total: Duration,
    /// The begin of the one that isn't.
    since: Option<Instant>,
}

/// A wait that ends when this is dropped.
#[derive(Debug)]
pub(super) struct Waiting<'a>(&'a MemoryWait);

impl MemoryWait {
    /// Begins a wait.
    pub(super) fn begin(&self) -> Waiting<'_> {
        self.with(|account| account.since = Some(instant()));
        Waiting(self)
    }

    /// Returns the sum of all waits up to now, and whether one is under way.
    fn so_far(&self, now: Instant) -> (Duration, bool) {
        self.with(|account| {
            let current = account.since.map(|since| now.saturating_duration_since(since));
            (account.total + current.unwrap_or_default(), current.is_some())
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut Account) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.with(|account| {
            let since = account.since.take();
            account.total += since.map(|since| instant() - since).unwrap_or_default();
        });
    }
}

/// Why a try was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// The server took its time.
    Server,
    /// There was no memory for its body.
    Memory,
}

/// Runs `attempt` from `start` for at most `timeout` beside its waits for memory, and for at most `patience` of those.
///
/// A wait that is under way at the deadline is looked at each second, so that the end may come a second later.
pub(super) async fn within<T>(
    start: Instant,
    timeout: Duration,
    patience: Duration,
    wait: &MemoryWait,
    attempt: impl Future<Output = T>,
) -> Result<T, Late> {
    let mut attempt = pin!(attempt);
    let mut deadline = start + timeout;
    loop {
        if let Ok(ended) = timeout_at(deadline, &mut attempt).await {
            return Ok(ended);
        }
        let now = instant();
        let (waited, is_waiting) = wait.so_far(now);
        let extended = start + timeout + waited.min(patience);
        deadline = match (is_waiting, waited >= patience) {
            (true, true) => return Err(Late::Memory),
            (true, false) => now + STEP.min(patience.saturating_sub(waited)),
            (false, _) if extended > now => extended,
            (false, _) => return Err(Late::Server),
        };
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);
    const PATIENCE: Duration = Duration::from_mins(10);

    /// Runs a try that works and waits for memory in turn, in seconds; says how it ends and after how many seconds.
    #[expect(
        clippy::disallowed_methods,
        reason = "a server's time and a wait for memory, on the paused clock"
    )]
    async fn run(work_and_wait: &[(u64, u64)]) -> (Result<(), Late>, u64) {
        let (start, wait) = (instant(), MemoryWait::default());
        let attempt = async {
            for &(work, waits) in work_and_wait {
                sleep(Duration::from_secs(work)).await;
                let _waiting = wait.begin();
                sleep(Duration::from_secs(waits)).await;
            }
        };
        let ended = within(start, TIMEOUT, PATIENCE, &wait, attempt).await;
        (ended, (instant() - start).as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_servers_time_counts_and_the_wait_for_memory_has_an_end() {
        assert_eq!(run(&[(29, 0)]).await, (Ok(()), 29));
        assert_eq!(run(&[(31, 0)]).await, (Err(Late::Server), 30));
        assert_eq!(run(&[(10, 300), (10, 0)]).await, (Ok(()), 320));
        assert_eq!(run(&[(10, 100), (10, 200), (9, 0)]).await, (Ok(()), 329));
        assert_eq!(run(&[(10, 100), (25, 0)]).await, (Err(Late::Server), 130));
        assert_eq!(run(&[(29, 599), (0, 0)]).await, (Ok(()), 628));
        assert_eq!(run(&[(29, 5000)]).await, (Err(Late::Memory), 629));
        assert_eq!(run(&[(1, 400), (1, 400)]).await, (Err(Late::Memory), 602));
    }
}
