//! How old a robots.txt is, and how long it holds, by the clock that counts.
//!
//! How long ago a robots.txt was judged is measured by the run's own clock, over a restart by the machine's.
//! Where the wall clock says otherwise, since somebody has set it, the stricter of the two counts: a file that lets pages be
//! fetched holds until one of them says that its time is over, and where pages have to wait, nothing is asked sooner because
//! the wall clock has jumped. If the machine was rebooted in between, only the wall clock is available; the host's own pause is
//! kept in full then ([`Boot::since`](page::clock::Boot::since)).

use std::time::Duration;

use jiff::Timestamp;
use robots::access::History;

use crate::record::{RobotsAccess, RobotsRecord};
use page::clock::Now;

/// An age at a moment of the run's own clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aged {
    pub(super) age: Duration,
    pub(super) mono: Duration,
}

/// A version, with its age as far as clocks that nobody sets can tell it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dated<'a> {
    pub(super) record: &'a RobotsRecord,
    pub(super) aged: Option<Aged>,
}

impl Dated<'_> {
    /// How long ago it was judged, by clocks that nobody sets; none if the machine was rebooted since.
    fn age(self, now: Now) -> Option<Duration> {
        self.aged.map(|Aged { age, mono }| age.saturating_add(now.mono.saturating_sub(mono)))
    }

    /// How long ago it was judged: at the least, and at the most. Where no clock can tell, the wall's speaks, and the run's own.
    fn ages(self, now: Now) -> (Duration, Duration) {
        let wall = between(self.record.fetched_at, now.wall);
        self.age(now).map_or((wall.min(now.mono), wall.max(now.mono)), |age| (age, age))
    }

    /// For how long it holds from when it was judged.
    pub(super) fn lifetime(self) -> Duration {
        between(self.record.fetched_at, self.record.expires)
    }

    /// Whether the end of its time allows more than it does, or only another try.
    fn keeps_waiting(self) -> bool {
        self.record.failures > 0 || matches!(self.record.access, RobotsAccess::Defer | RobotsAccess::DenyAll)
    }

    /// How long it holds yet, by the clock that counts.
    pub(super) fn remaining(self, now: Now) -> Duration {
        let of_wall = || match now.wall.duration_since(self.record.fetched_at) {
            // It comes from the future: the wall clock was set back by nobody knows how much.
            since if since.is_negative() => self.lifetime().saturating_sub(now.mono),
            _ => between(now.wall, self.record.expires),
        };
        match self.age(now) {
            Some(age) if self.keeps_waiting() => self.lifetime().saturating_sub(age),
            // A record from the future is asked for again rather than trusted.
            _ if !self.keeps_waiting() && self.record.fetched_at > now.wall => Duration::ZERO,
            Some(age) => self.lifetime().saturating_sub(age).min(of_wall()),
            None => of_wall(),
        }
    }

    /// How long robots.txt has been failing at the least, and how old the good copy is at the most.
    pub(super) fn elapsed(self, now: Now) -> (Duration, Duration) {
        let (least, most) = self.ages(now);
        let RobotsRecord { fetched_at, first_failure, good_copy, .. } = *self.record;
        let before = |since: Option<Timestamp>| since.map_or(Duration::ZERO, |at| between(at, fetched_at));
        let (failing, copy) = match self.record.clocks {
            Some(clocks) => (Duration::from_millis(clocks.failing_ms), Duration::from_millis(clocks.copy_ms)),
            None => (before(first_failure), before(good_copy)),
        };
        (failing.saturating_add(least), copy.saturating_add(most))
    }

    /// The earlier state, with times that fit the present wall clock.
    pub(super) fn history(self, now: Now) -> History {
        let (failing, copy) = self.elapsed(now);
        History {
            first_failure: self.record.first_failure.map(|_| before(now.wall, failing)),
            failures: self.record.failures,
            good_copy: self.record.good_copy.map(|at| at.min(before(now.wall, copy))),
        }
    }
}

/// From one moment to a later one; nothing where it isn't later.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

/// So much before a moment.
fn before(at: Timestamp, length: Duration) -> Timestamp {
    jiff::SignedDuration::try_from(length)
        .ok()
        .and_then(|length| at.checked_sub(length).ok())
        .unwrap_or(Timestamp::MIN)
}
