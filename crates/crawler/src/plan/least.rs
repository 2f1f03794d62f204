//! The minimum time that the requests to a host take: a lower bound for a crawl, whatever the site responds.

use std::time::Duration;

use jiff::Timestamp;
use robots::Timing;

const SECOND: u128 = 1_000_000_000;
const MINUTE: u128 = 60 * SECOND;
const MINUTES: u128 = 24 * 60;
const DAY: u128 = MINUTES * MINUTE;

/// The gap between two requests and whether visits are welcome, over a day in UTC.
struct Day(Vec<Part>);

/// A part of the day in which nothing changes.
#[derive(Clone, Copy)]
struct Part {
    /// Nanoseconds since midnight.
    from: u128,
    /// Nanoseconds.
    gap: u128,
    is_welcome: bool,
}

/// The least time from the first of `requests` to the last, with at least `delay` between two of them, where the first is made
/// at `start`, for robots.txt: it alone may be made outside the Visit-time windows. Response times, pauses and failures aren't
/// counted: they only make it longer.
///
/// Each request is made as early as any crawl could make it, also where it pays to wait for the end of a slower Request-rate.
/// Cost: one pass over the lines for each minute of a day, then a few steps for each change of the rules in the time that it takes.
pub(super) fn least(timing: Option<&Timing>, delay: Duration, start: Timestamp, requests: u64) -> Duration {
    let day = Day::new(timing, delay);
    let start = start.as_nanosecond().rem_euclid(DAY.cast_signed()).unsigned_abs();
    let (mut at, mut remaining) = (start, u128::from(requests.saturating_sub(1)));
    while remaining > 0 {
        // The first one may be outside the windows.
        at = day.next(at);
        remaining -= 1;
        let (part, end) = day.part(at);
        let many = match (day.0.len(), part.gap) {
            (1, _) | (_, 0) => remaining,
            (_, gap) => remaining.min((end - at - 1) / gap),
        };
        at = at.saturating_add(many.saturating_mul(part.gap));
        remaining -= many;
    }
    let nanos = at - start;
    let seconds = u64::try_from(nanos / SECOND).unwrap_or(u64::MAX);
    Duration::new(seconds, (nanos % SECOND) as u32)
}

/// The shortest gap that is ever asked for in the course of a day.
pub(super) fn shortest_gap(timing: Option<&Timing>, delay: Duration) -> Duration {
    let gaps = (0..MINUTES).map(|minute| gap(timing, delay, at_minute(minute)));
    gaps.min().unwrap_or(delay)
}

fn gap(timing: Option<&Timing>, delay: Duration, at: Timestamp) -> Duration {
    let asked = timing.and_then(|timing| timing.interval(at));
    asked.map_or(delay, |asked| asked.every.max(delay))
}

fn at_minute(minute: u128) -> Timestamp {
    Timestamp::from_second((minute * 60) as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl Day {
    fn new(timing: Option<&Timing>, delay: Duration) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        for minute in 0..MINUTES {
            let at = at_minute(minute);
            let gap = gap(timing, delay, at).as_nanos();
            let is_welcome = timing.is_none_or(|timing| timing.visit_wait(at).is_none());
            if parts.last().is_none_or(|last| (last.gap, last.is_welcome) != (gap, is_welcome)) {
                parts.push(Part { from: minute * MINUTE, gap, is_welcome });
            }
        }
        Self(parts)
    }

    /// The part of the day at a time, in nanoseconds since the first midnight, and when it ends.
    fn part(&self, at: u128) -> (Part, u128) {
        let (midnight, of_day) = (at - at % DAY, at % DAY);
        let after = self.0.partition_point(|part| part.from <= of_day);
        let end = self.0.get(after).map_or(DAY, |next| next.from);
        (self.0[after - 1], midnight + end)
    }

    /// The earliest time for the request after one at `at` or later.
    fn next(&self, at: u128) -> u128 {
        let (part, mut end) = self.part(at);
        let mut next = at.saturating_add(part.gap);
        // The one before may have waited for a shorter gap. After a day every gap was seen.
        while end < next && end - at <= DAY {
            let (later, its_end) = self.part(end);
            next = next.min(end + later.gap);
            end = its_end;
        }
        // Some minute of the day is welcome, or all are.
        for _ in 0..=self.0.len() {
            let (part, end) = self.part(next);
            if part.is_welcome {
                break;
            }
            next = end;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;
    use robots::{Agent, Options, Robots};

    use super::*;

    fn timing(lines: &str) -> Timing {
        let text = format!("User-agent: *\n{lines}\n");
        Robots::parse(text.as_bytes(), &Agent::new("SuperRobot"), &Options::default(), None).timing().clone()
    }

    fn seconds(lines: &str, start: &str, requests: u64) -> u64 {
        let start: Timestamp = format!("2026-03-01T{start}Z").parse().unwrap();
        least(Some(&timing(lines)), Duration::from_secs(1), start, requests).as_secs()
    }

    #[test]
    fn gaps_windows_and_rates_count() {
        const HOUR: u64 = 3_600;
        for (lines, start, requests, expected) in [
            ("", "00:00:00", 0, 0),
            ("", "00:00:00", 1, 0),
            ("", "23:59:59", 1_000_001, 1_000_000),
            ("Crawl-delay: 10", "12:00:00", 101, 1_000),
            ("Crawl-delay: 0.5", "12:00:00", 101, 100),
            ("Request-rate: 1/20", "12:00:00", 11, 200),
            // robots.txt at once, the pages from four o'clock on.
            ("Visit-time: 0400-0845", "03:00:00", 1, 0),
            ("Visit-time: 0400-0845", "03:00:00", 2, HOUR),
            ("Visit-time: 0400-0845", "03:00:00", 12, HOUR + 10),
            ("Visit-time: 0400-0845", "09:00:00", 2, 19 * HOUR),
            ("Visit-time: 2300-0100", "00:30:00", 11, 10),
            // A window of two minutes allows 120 pages a day.
            ("Visit-time: 0400-0401", "04:00:00", 120, 119),
            ("Visit-time: 0400-0401", "04:00:00", 121, 24 * HOUR),
            ("Visit-time: 0400-0401", "04:00:00", 241, 48 * HOUR),
            ("Visit-time: 0400-0401\nCrawl-delay: 30", "04:00:00", 4, 90),
            ("Visit-time: 0400-0401\nCrawl-delay: 30", "04:00:00", 5, 24 * HOUR),
            // Until the end of the minute 01:00 a page in ten seconds, then one in a second.
            ("Request-rate: 1/10s 0000-0100", "01:00:00", 6, 50),
            ("Request-rate: 1/10s 0000-0100", "01:00:00", 7, 60),
            ("Request-rate: 1/10s 0000-0100", "01:00:00", 17, 70),
            // It pays to wait half an hour for the end of the rate.
            ("Request-rate: 1/10000s 0000-0129", "01:00:00", 3, 1_802),
        ] {
            // Requests at the very end of a slow rate may wait for its end, and have the short gap from there.
            let found = seconds(lines, start, requests);
            assert!(found <= expected && found + 1 >= expected, "{lines:?} {start} {requests}: {found}");
        }
    }

    /// A crawl that asks as soon as it may, and a little later at times: never faster than the least.
    fn crawl(timing: &Timing, delay: Duration, start: Timestamp, late: &[u16]) -> Duration {
        let mut now = start;
        for (n, delayed) in late.iter().enumerate() {
            now += Duration::from_millis(u64::from(*delayed));
            // robots.txt alone is asked for outside the windows.
            if n > 0
                && let Some(wait) = timing.visit_wait(now)
            {
                now += wait;
            }
            // The next one: after the gap in force.
            if n + 1 < late.len() {
                now += timing.interval(now).map_or(delay, |asked| asked.every.max(delay));
            }
        }
        Duration::try_from(now.duration_since(start)).unwrap()
    }

    proptest! {
        #[test]
        fn no_crawl_is_faster(
            windows in proptest::collection::vec((0_u16..1440, 0_u16..90), 0..3),
            rates in proptest::collection::vec((0_u16..1440, 0_u16..300, 1_u32..4000), 0..3),
            start in 0_i64..86_400_000,
            late in proptest::collection::vec(0_u16..3000, 2..60),
        ) {
            let time = |minute: u16| format!("{:02}{:02}", minute / 60 % 24, minute % 60);
            let mut lines = String::new();
            for (from, long) in windows {
                writeln!(lines, "Visit-time: {}-{}", time(from), time(from + long)).unwrap();
            }
            for (from, long, seconds) in rates {
                writeln!(lines, "Request-rate: 1/{seconds}s {}-{}", time(from), time(from + long)).unwrap();
            }
            let (timing, delay) = (timing(&lines), Duration::from_secs(1));
            let start = Timestamp::from_millisecond(start).unwrap();
            let took = crawl(&timing, delay, start, &late);
            let found = least(Some(&timing), delay, start, late.len() as u64);
            prop_assert!(found <= took, "{}: {:?} > {:?}", lines, found, took);
        }
    }
}
