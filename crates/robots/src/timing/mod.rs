//! When a group lets us visit: Crawl-delay, Request-rate, Visit-time. Pure functions of `now`.

mod read;

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::field::Field;
use crate::memory;
use crate::read::OtherLine;
use crate::room::Room;
use crate::warning::{Notes, WarningKind};

/// Holds the timing lines that bind us. Empty where the file has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Timing {
    delays: Vec<CrawlDelay>,
    rates: Vec<RequestRate>,
    visits: Vec<VisitTime>,
}

/// Holds one valid `Crawl-delay` line, rounded up to milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CrawlDelay {
    /// The least time from one request to the next.
    pub delay: Duration,
    /// The number of the line, from 1.
    pub line: u32,
}

/// Holds one `Request-rate` line: `pages` per `per`, always or within a daily range of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct VisitTime {
    /// First minute of the day, 0 to 1439.
    pub from: u16,
    /// Last minute of the day, 0 to 1440 (1440, written `2400`: up to midnight).
    pub to: u16,
    /// The number of the line, from 1.
    pub line: u32,
}

/// Holds the gap that the file asks for at one moment, and the line that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
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
    /// The bytes that this takes on the heap.
    pub(crate) fn memory(&self) -> usize {
        memory::list::<CrawlDelay>(self.delays.capacity())
            + memory::list::<RequestRate>(self.rates.capacity())
            + memory::list::<VisitTime>(self.visits.capacity())
    }

    /// Returns the largest valid Crawl-delay of our group, or of `*` where our group has none.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.delays.iter().map(|line| line.delay).max()
    }

    /// Gives every valid Crawl-delay line that binds us, in file order.
    pub fn crawl_delays(&self) -> &[CrawlDelay] {
        &self.delays
    }

    /// Returns the Request-rate lines, in file order.
    pub fn rates(&self) -> &[RequestRate] {
        &self.rates
    }

    /// Returns the Visit-time lines, in file order; a visit is welcome within any of them.
    pub fn visits(&self) -> &[VisitTime] {
        &self.visits
    }

    /// Returns the gap in force at `now`: the slower of Crawl-delay and the slowest Request-rate that counts now.
    pub fn interval(&self, now: Timestamp) -> Option<Interval> {
        let delays = self.delays.iter().map(|line| Interval {
            every: line.delay,
            reason: IntervalReason::CrawlDelay,
            line: line.line,
        });
        let rates =
            self.rates.iter().filter(|rate| rate.range.is_none_or(|range| range.wait(now).is_zero())).map(
                |rate| Interval {
                    every: rate.interval(),
                    reason: IntervalReason::RequestRate,
                    line: rate.line,
                },
            );
        delays.chain(rates).max_by_key(|interval| (interval.every, std::cmp::Reverse(interval.line)))
    }

    /// Returns the time from `now` until a visit is welcome: none where it is welcome now.
    pub fn visit_wait(&self, now: Timestamp) -> Option<Duration> {
        self.visits.iter().map(|range| range.wait(now)).min().filter(|wait| !wait.is_zero())
    }

    /// Reads the timing lines of our group, of `*` for what falls back to it, and of groups that restrict us and open nothing: their
    /// delays and rates count as well, their visit times where ours says none.
    ///
    /// Of each kind at most 1,000 are kept, the slowest among them. `room` is told where there are more.
    pub(crate) fn read<'a>(
        ours: impl Iterator<Item = &'a OtherLine<'a>>,
        fallback: impl Iterator<Item = &'a OtherLine<'a>>,
        restricting: impl Iterator<Item = &'a OtherLine<'a>>,
        room: &mut Room,
    ) -> Timing {
        let mut timing = Timing::default();
        let mut cache_delays = Vec::new();
        for line in ours {
            match line.field {
                Field::CrawlDelay => keep_delay(&mut timing.delays, delay(line), room),
                Field::CacheDelay => keep_delay(&mut cache_delays, delay(line), room),
                Field::RequestRate => keep_rate(&mut timing.rates, rate(line), room),
                Field::VisitTime => keep_visit(&mut timing.visits, visit(line), room),
                _ => {}
            }
        }
        if timing.delays.is_empty() {
            timing.delays = cache_delays;
        }
        // Bing's exception: a Crawl-delay of `*` slows the robots that have a group without one.
        if timing.delays.is_empty() {
            for line in fallback.filter(|line| line.field == Field::CrawlDelay) {
                keep_delay(&mut timing.delays, delay(line), room);
            }
        }
        let is_unlimited = timing.visits.is_empty();
        for line in restricting {
            match line.field {
                Field::CrawlDelay | Field::CacheDelay => keep_delay(&mut timing.delays, delay(line), room),
                Field::RequestRate => keep_rate(&mut timing.rates, rate(line), room),
                Field::VisitTime if is_unlimited => keep_visit(&mut timing.visits, visit(line), room),
                _ => {}
            }
        }
        timing.delays.shrink_to_fit();
        timing.rates.shrink_to_fit();
        timing.visits.shrink_to_fit();
        timing
    }

    /// Takes the lines of another reading of the same file that this one doesn't have (`strictest`).
    pub(crate) fn join(&mut self, other: Timing) {
        join(&mut self.delays, other.delays);
        join(&mut self.rates, other.rates);
        join(&mut self.visits, other.visits);
    }

    /// As [`Timing::join`], but takes no visit times beside ours: they would widen them.
    pub(crate) fn restrict(&mut self, mut other: Timing) {
        if !self.visits.is_empty() {
            other.visits.clear();
        }
        self.join(other);
    }
}

/// Lines of a kind that are kept.
const MOST: usize = 1_000;

/// Keeps a delay; of those beyond the most, the longest in place of the last.
fn keep_delay(delays: &mut Vec<CrawlDelay>, delay: Option<CrawlDelay>, room: &mut Room) {
    let Some(delay) = delay else { return };
    if delays.len() < MOST {
        return delays.push(delay);
    }
    room.is_used_up = true;
    if delays.iter().all(|kept| kept.delay < delay.delay)
        && let Some(last) = delays.last_mut()
    {
        *last = delay;
    }
}

/// Keeps a rate; those beyond the most count as one, the slowest, at every hour.
fn keep_rate(rates: &mut Vec<RequestRate>, rate: Option<RequestRate>, room: &mut Room) {
    let Some(rate) = rate else { return };
    if rates.len() < MOST {
        return rates.push(rate);
    }
    room.is_used_up = true;
    if let Some(last) = rates.last_mut() {
        let slower = if rate.interval() > last.interval() { rate } else { *last };
        *last = RequestRate { range: None, ..slower };
    }
}

/// Keeps a time of visits. Those beyond the most are dropped, which leaves less time for visits, never more.
fn keep_visit(visits: &mut Vec<VisitTime>, visit: Option<VisitTime>, room: &mut Room) {
    let Some(visit) = visit else { return };
    if visits.len() < MOST {
        return visits.push(visit);
    }
    room.is_used_up = true;
}

/// Adds what isn't there yet. Both are short.
pub(crate) fn join<T: PartialEq>(ours: &mut Vec<T>, theirs: Vec<T>) {
    if *ours == theirs {
        return;
    }
    for line in theirs {
        if !ours.contains(&line) {
            ours.push(line);
        }
    }
    ours.shrink_to_fit();
}

impl RequestRate {
    /// Returns the gap that spreads the requests evenly, rounded up to milliseconds.
    pub fn interval(&self) -> Duration {
        let millis = self.per.as_millis().div_ceil(u128::from(self.pages.max(1)));
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

impl VisitTime {
    /// Returns the time from `now` until the range begins: zero inside of it.
    fn wait(self, now: Timestamp) -> Duration {
        const DAY: i64 = 24 * 3600;
        let second = now.as_second().rem_euclid(DAY);
        let (from, end) = (i64::from(self.from) * 60, (i64::from(self.to) * 60 + 60).min(DAY));
        let inside =
            if self.from <= self.to { (from..end).contains(&second) } else { second >= from || second < end };
        if inside {
            return Duration::ZERO;
        }
        let whole = Duration::from_secs((from - second).rem_euclid(DAY) as u64);
        // `now` lies within its second: the range begins that much sooner.
        whole.saturating_sub(Duration::from_nanos(now.subsec_nanosecond().max(0) as u64))
    }
}

impl fmt::Display for VisitTime {
    /// Writes `0600-0845`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}{:02}-{:02}{:02}", self.from / 60, self.from % 60, self.to / 60, self.to % 60)
    }
}

/// Warns about the timing lines that can't be read, and of text behind a value.
pub(crate) fn inspect(line: &OtherLine<'_>, notes: &mut Notes) {
    let (found, kind) = match line.field {
        Field::CrawlDelay | Field::CacheDelay => {
            (read::delay(line.value).map(|found| found.has_text), WarningKind::BadDelay)
        }
        Field::RequestRate => {
            (read::rate(line.value, line.line).map(|found| found.has_text), WarningKind::BadRate)
        }
        Field::VisitTime => {
            (read::visit(line.value, line.line).map(|found| found.has_text), WarningKind::BadVisitTime)
        }
        _ => return,
    };
    let kind = match found {
        None => kind,
        Some(true) => WarningKind::TextAfterValue,
        Some(false) => return,
    };
    notes.add(line.line, kind, &[line.field.name().as_bytes(), b": ", line.value].concat());
}

fn delay(line: &OtherLine<'_>) -> Option<CrawlDelay> {
    Some(CrawlDelay { delay: read::delay(line.value)?.value, line: line.line })
}

fn rate(line: &OtherLine<'_>) -> Option<RequestRate> {
    Some(read::rate(line.value, line.line)?.value)
}

fn visit(line: &OtherLine<'_>) -> Option<VisitTime> {
    Some(read::visit(line.value, line.line)?.value)
}
