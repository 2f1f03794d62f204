//! When a group lets us visit: Crawl-delay, Request-rate, Visit-time. Pure functions of `now`.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

/// Holds the timing lines that bind us. Empty where the file has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Timing {
    crawl_delay: Option<(Duration, u32)>,
    rates: Vec<RequestRate>,
    visits: Vec<VisitTime>,
}

/// Holds one `Request-rate` line: `pages` per `per`, always or within a daily range of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RequestRate {
    /// Pages, at least 1.
    pub pages: u32,
    /// The time in which they may be taken, at least 1 s.
    pub per: Duration,
    /// When the line counts; always where none.
    pub range: Option<VisitTime>,
    /// The number of the line, from 1.
    pub line: u32,
}

/// Holds a daily range of UTC, both ends inside; the end minute counts whole; `from > to` runs over midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct VisitTime {
    /// First minute of the day, 0 to 1439.
    pub from: u16,
    /// Last minute of the day, 0 to 1440 (1440: up to midnight).
    pub to: u16,
    /// The number of the line, from 1.
    pub line: u32,
}

/// Holds the gap that the file asks for at one moment, and the line that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Interval {
    /// The least time from one request to the next.
    pub every: Duration,
    /// Which field asks.
    pub reason: IntervalReason,
    /// The number of the line, from 1.
    pub line: u32,
}

/// Names the field that asks for an [`Interval`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalReason {
    /// `Crawl-delay`, or `Cache-delay` where that is absent.
    CrawlDelay,
    /// `Request-rate`.
    RequestRate,
}

impl Timing {
    /// Gives the largest valid Crawl-delay of our group, or of `*` where our group has none.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay.map(|(delay, _)| delay)
    }

    /// Gives the Request-rate lines, in file order.
    pub fn rates(&self) -> &[RequestRate] {
        &self.rates
    }

    /// Gives the Visit-time lines, in file order; a visit is welcome within any of them.
    pub fn visits(&self) -> &[VisitTime] {
        &self.visits
    }

    /// Gives the gap in force at `now`: the slower of Crawl-delay and the slowest Request-rate that counts now.
    pub fn interval(&self, _now: Timestamp) -> Option<Interval> {
        None
    }

    /// Gives the time from `now` until a visit is welcome: none where it is welcome now.
    pub fn visit_wait(&self, _now: Timestamp) -> Option<Duration> {
        None
    }
}
