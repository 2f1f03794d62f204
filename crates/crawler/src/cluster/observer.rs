//! Whose count no longer grows: what one worker sees of the others, on its own clock; pure.

use std::collections::HashMap;
use std::time::Duration;

/// The counts of the others, and since when each is what it is.
#[derive(Debug)]
pub(super) struct Observer {
    lease: Duration,
    last: Option<Duration>,
    seen: HashMap<i64, (i64, Duration)>,
}

impl Observer {
    pub(super) fn new(lease: Duration) -> Self {
        Self { lease, last: None, seen: HashMap::new() }
    }

    /// Takes in the counts of all that are taken to live, at a moment after they were read. Returns those whose count has been the same for
    /// 1.1 times the lease, with it.
    ///
    /// A worker's deadline lies 0.9 times the lease behind a moment before its count was raised, and its count was seen to be
    /// raised after that. So its deadline is over by then.
    ///
    /// Silence counts while this worker sees the others. After a gap, such as an outage of the database in which nobody could raise a
    /// count, it counts from then on.
    pub(super) fn see(&mut self, workers: &[(i64, i64)], at: Duration) -> Vec<(i64, i64)> {
        let is_gap = self.last.is_some_and(|last| at.saturating_sub(last) > self.lease / 2);
        self.last = Some(at);
        let before = std::mem::take(&mut self.seen);
        for (id, beat) in workers {
            let since = before.get(id).filter(|seen| seen.0 == *beat && !is_gap).map_or(at, |seen| seen.1);
            self.seen.insert(*id, (*beat, since));
        }
        let is_silent = |since: Duration| at.saturating_sub(since) >= self.lease * 11 / 10;
        workers
            .iter()
            .filter(|(id, _)| self.seen.get(id).is_some_and(|seen| is_silent(seen.1)))
            .copied()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(10);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(1000 + seconds)
    }

    #[test]
    fn a_count_that_stands_still_for_1_1_leases_is_silence() {
        let mut observer = Observer::new(LEASE);
        for second in 0..11 {
            assert_eq!(observer.see(&[(1, 5), (2, i64::try_from(second).unwrap())], at(second)), []);
        }
        assert_eq!(observer.see(&[(1, 5), (2, 11)], at(11)), [(1, 5)]);
        // It has raised it after all.
        assert_eq!(observer.see(&[(1, 6), (2, 12)], at(12)), []);
        for second in 13..23 {
            assert_eq!(observer.see(&[(1, 6), (2, 12)], at(second)), []);
        }
        assert_eq!(observer.see(&[(1, 6), (2, 12)], at(23)), [(1, 6), (2, 12)]);
    }

    #[test]
    fn silence_counts_anew_after_a_time_in_which_nothing_was_seen() {
        let mut observer = Observer::new(LEASE);
        for second in 0..9 {
            assert_eq!(observer.see(&[(1, 5)], at(second)), []);
        }
        assert_eq!(observer.see(&[(1, 5)], at(60)), [], "the database was away, for the others as well");
        for second in 61..71 {
            assert_eq!(observer.see(&[(1, 5)], at(second)), []);
        }
        assert_eq!(observer.see(&[(1, 5)], at(71)), [(1, 5)]);
    }

    #[test]
    fn a_count_that_went_back_is_a_sign_of_life() {
        // After a failover to a standby that lacked the last beats.
        let mut observer = Observer::new(LEASE);
        for second in 0..11 {
            assert_eq!(observer.see(&[(1, 5)], at(second)), []);
        }
        assert_eq!(observer.see(&[(1, 4)], at(11)), []);
    }
}
