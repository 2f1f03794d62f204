//! The history of a page: what its visits found, and how often it changes.

use std::time::Duration;

use super::{PageRecord, PageState};

impl PageState {
    /// The state that a record has.
    pub fn of(record: &PageRecord) -> Self {
        Self {
            at: record.fetched_at,
            last_seen: record.last_seen(),
            status: record.status,
            digest: record.digest.clone(),
            simhash: record.simhash,
            indexed: record.indexed,
            redirect: record.redirect.clone(),
        }
    }
}

/// Until a page was visited twice.
const FIRST: Duration = Duration::from_hours(7 * 24);

/// No page is visited more often by its own interval.
const LEAST: Duration = Duration::from_hours(24);

/// No page is visited less often by its own interval.
const MOST: Duration = Duration::from_hours(90 * 24);

impl PageRecord {
    /// Puts what an earlier visit found into the history of this record, which a later one made; where both found the same, the earlier
    /// one was the first to find it.
    pub(crate) fn follow(&mut self, before: &Self) {
        self.first_at = Some(before.first_at.unwrap_or(before.fetched_at));
        self.history.clone_from(&before.history);
        let (old, new) = (PageState::of(before), PageState::of(self));
        if !old.changed(&new).is_empty() {
            self.history.push(old);
        }
        if self.is_withheld() {
            self.withhold_history();
        }
    }

    /// Takes out of the history what tells of the content.
    pub(super) fn withhold_history(&mut self) {
        for state in &mut self.history {
            state.digest = None;
            state.simhash = None;
        }
    }

    /// The time after which this page is likely to have changed, by what its visits found.
    ///
    /// Of *n* visits after the first, spread over the time *T*, *x* found a change. The rate of changes is estimated as
    /// `-ln((n - x + 0.5) / (n + 0.5)) * n / T` (Cho and Garcia-Molina, Estimating frequency of change, 2003, section 4.2), which is defined where
    /// each visit found one, too; the interval is its inverse: at most twice *T*, and from 1 day to 90 days. 7 days for a page that was
    /// visited once.
    pub fn interval(&self) -> Duration {
        let first = self.history.first().map_or(self.fetched_at, |state| state.at);
        let first = self.first_at.map_or(first, |at| at.min(first));
        let visits = f64::from(self.visits_before);
        let changes = (self.history.len() as f64).min(visits);
        let observed = self.last_seen().duration_since(first).as_secs_f64();
        if self.visits_before == 0 || observed <= 0.0 {
            return FIRST;
        }
        let rate = ((visits + 0.5) / (visits - changes + 0.5)).ln() * visits / observed;
        let interval = if rate > 0.0 { (1.0 / rate).min(2.0 * observed) } else { 2.0 * observed };
        Duration::try_from_secs_f64(interval).unwrap_or(MOST).clamp(LEAST, MOST)
    }

    /// The time after a visit before which this page isn't visited again, whatever is asked: its `revisit-after`, and how long its response may
    /// be used.
    pub fn not_before(&self) -> Duration {
        Duration::from_secs(self.revisit_after_s.unwrap_or_default().max(self.fresh_s.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn at(days: i64) -> Timestamp {
        Timestamp::from_second(days * 86_400).unwrap()
    }

    fn state(day: i64) -> PageState {
        PageState { at: at(day), last_seen: at(day), status: Some(200), ..PageState::default() }
    }

    /// A page visited first on day 0, and so many times after that up to a day, with so many changes.
    fn page(visits: u32, changes: usize, day: i64) -> PageRecord {
        PageRecord {
            fetched_at: at(0),
            checked_at: Some(at(day)),
            first_at: Some(at(0)),
            visits_before: visits,
            history: (0..changes).map(|_| state(0)).collect(),
            ..PageRecord::default()
        }
    }

    #[test]
    fn the_interval_is_that_of_the_formula_within_its_bounds() {
        let days = |record: &PageRecord| record.interval().as_secs_f64() / 86_400.0;
        // By hand: n = 10, x = 5, T = 100 days: 100 / (10 * ln(10.5 / 5.5)) = 15.4647...
        let half = days(&page(10, 5, 100));
        assert!((half - 15.4647).abs() < 0.001, "{half}");
        // n = 10, x = 10, T = 100: 100 / (10 * ln(21)) = 3.2846...
        let always = days(&page(10, 10, 100));
        assert!((always - 3.2846).abs() < 0.001, "{always}");
        for (record, expected) in [
            (page(0, 0, 0), 7.0),
            // Nothing changed: twice the time that it was looked at.
            (page(1, 0, 7), 14.0),
            (page(2, 0, 21), 42.0),
            (page(9, 0, 60), 90.0),
            (page(5, 5, 2), 1.0),
        ] {
            assert!((days(&record) - expected).abs() < 1e-6, "{record:?}");
        }
    }

    #[test]
    fn a_history_has_what_was_something_else() {
        let found = |day, status, digest: &str| PageRecord {
            fetched_at: at(day),
            status: Some(status),
            digest: Some(digest.to_owned()),
            indexed: status == 200,
            simhash: (status == 200).then_some(0xff),
            ..PageRecord::default()
        };
        let one = found(1, 200, "a");
        let mut two = found(2, 200, "a");
        two.follow(&one);
        assert_eq!((two.history.len(), two.first_at), (0, Some(at(1))));
        let mut three = found(3, 200, "b");
        three.simhash = Some(0xf0);
        three.follow(&two);
        assert_eq!(three.history, [PageState::of(&two)]);
        let later = PageState::of(&three);
        assert_eq!(three.history[0].changed(&later), ["content"]);
        assert_eq!(three.history[0].similarity(&later), Some(60.0 / 64.0));
        let mut four = found(4, 404, "c");
        four.follow(&three);
        assert_eq!(four.history[1].changed(&PageState::of(&four)), ["status", "content"]);
        assert_eq!((four.history.len(), four.first_at), (2, Some(at(1))));
        four.withhold();
        assert!(four.history.iter().all(|state| state.digest.is_none() && state.simhash.is_none()));
    }
}
