//! The least time that the requests to a host take by what its owner asked for.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::wishes::Wish;

/// Stretches of time that are counted one by one; after so many the time so far is given, which is less than it takes.
const STRETCHES: u32 = 20_000;

/// The least time from the first of `requests` to the last, with at least `delay` between two of them, by the hours of a wish and its requests of a
/// day, none of which were made on the first one. Each request is made as early as the wish lets it.
pub(super) fn least(wish: &Wish, delay: Duration, start: Timestamp, requests: u64) -> Duration {
    let delay = delay.max(wish.least_delay());
    let step = SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
    let since = |at: Timestamp| Duration::try_from(at.duration_since(start)).unwrap_or_default();
    let after = |at: Timestamp, requests: u64| {
        let length = i32::try_from(requests).ok().and_then(|many| step.checked_mul(many));
        length.and_then(|length| at.checked_add(length).ok()).unwrap_or(Timestamp::MAX)
    };
    let (mut at, mut remaining, mut today) = (wish.opens(start), requests, 0_u64);
    let mut day = wish.day(at);
    for _ in 0..STRETCHES {
        if remaining == 0 || at == Timestamp::MAX {
            break;
        }
        let midnight = wish.limits_days().then(|| wish.next_day(at));
        let end = wish.closes(at).into_iter().chain(midnight).min();
        let slots = end.filter(|_| !delay.is_zero()).map(|end| {
            let length = Duration::try_from(end.duration_since(at)).unwrap_or_default().as_nanos();
            u64::try_from(length.saturating_sub(1) / delay.as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
        });
        let left = wish.requests_per_day().map_or(u64::MAX, |most| most.saturating_sub(today));
        let many = remaining.min(left).min(slots.unwrap_or(u64::MAX));
        if many == remaining {
            return since(after(at, many.saturating_sub(1)));
        }
        remaining -= many;
        today += many;
        let next = after(at, many);
        let next = if many == left { next.max(wish.next_day(at)) } else { next.max(end.unwrap_or(next)) };
        at = wish.opens(next);
        if wish.day(at) != day {
            (day, today) = (wish.day(at), 0);
        }
    }
    since(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wishes::{UTC, Wishes};

    #[test]
    fn hours_days_and_delays_of_a_wish_count() {
        const HOUR: u64 = 3_600;
        for (wish, start, requests, expected) in [
            ("delay = '10s'", "2026-07-01T12:00:00Z", 0, 0),
            ("delay = '10s'", "2026-07-01T12:00:00Z", 1, 0),
            ("delay = '10s'", "2026-07-01T12:00:00Z", 101, 1_000),
            // Less than the crawl's delay of a second.
            ("delay = '100ms'", "2026-07-01T12:00:00Z", 101, 100),
            ("hours = '22:00-06:00'", "2026-07-01T12:00:00Z", 1, 10 * HOUR),
            ("hours = '22:00-06:00'\nzone = 'Europe/Berlin'", "2026-07-01T12:00:00Z", 1, 8 * HOUR),
            ("hours = '22:00-06:00'", "2026-07-01T22:00:00Z", 8 * HOUR, 8 * HOUR - 1),
            ("hours = '22:00-06:00'", "2026-07-01T22:00:00Z", 8 * HOUR + 1, 24 * HOUR),
            // A night of seven hours.
            (
                "hours = '22:00-06:00'\nzone = 'Europe/Berlin'",
                "2026-03-28T21:00:00Z",
                7 * HOUR + 1,
                23 * HOUR,
            ),
            ("requests_per_day = 100", "2026-07-01T12:00:00Z", 100, 99),
            ("requests_per_day = 100", "2026-07-01T12:00:00Z", 101, 12 * HOUR),
            ("requests_per_day = 100", "2026-07-01T12:00:00Z", 1_000, (12 + 8 * 24) * HOUR + 99),
            ("requests_per_day = 100\nhours = '08:00-09:00'", "2026-07-01T12:00:00Z", 101, 44 * HOUR),
        ] {
            let toml = format!("hosts = ['a.test']\n{wish}");
            let wishes = Wishes::read(&[toml::from_str(&toml).unwrap()], UTC).unwrap();
            let wish = wishes.iter().next().unwrap();
            let found = least(wish, Duration::from_secs(1), start.parse().unwrap(), requests).as_secs();
            assert_eq!(found, expected, "{toml} {start} {requests}");
        }
    }

    #[test]
    fn a_plan_for_very_many_requests_ends() {
        let toml = "hosts = ['a.test']\nrequests_per_day = 2\nhours = '08:00-08:01'";
        let wishes = Wishes::read(&[toml::from_str(toml).unwrap()], UTC).unwrap();
        let found = least(wishes.iter().next().unwrap(), Duration::ZERO, Timestamp::UNIX_EPOCH, u64::MAX);
        assert!(found > Duration::from_hours(24 * 19_000), "{found:?}");
    }
}
