//! The response fields that say for how long an answer holds.

use std::time::Duration;

use jiff::Timestamp;

use super::wait::{Wait, waits};
use crate::parse_date;

/// Holds the status and the response fields that [`judge`](super::judge) reads; others are dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseHead {
    /// The status code of the final response.
    pub status: u16,
    /// Every `Cache-Control` value, joined with `, `.
    pub cache_control: String,
    /// `Expires`.
    pub expires: Option<String>,
    /// `Date`.
    pub date: Option<String>,
    /// `Age`.
    pub age: Option<String>,
    /// Every `Retry-After` value, one entry a line.
    pub retry_after: Vec<String>,
    /// `Content-Type`.
    pub content_type: Option<String>,
}

impl ResponseHead {
    /// Picks the fields out of a response's header lines; names ignore case, of repeated ones the first counts,
    /// but every Cache-Control and Retry-After line is kept.
    pub fn new<'a>(status: u16, headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut head = Self { status, ..Self::default() };
        for (name, value) in headers {
            let first = |slot: &mut Option<String>| {
                slot.get_or_insert_with(|| value.trim().to_owned());
            };
            let is = |field: &str| name.eq_ignore_ascii_case(field);
            if is("cache-control") {
                if !head.cache_control.is_empty() {
                    head.cache_control.push_str(", ");
                }
                head.cache_control.push_str(value.trim());
            } else if is("expires") {
                first(&mut head.expires);
            } else if is("date") {
                first(&mut head.date);
            } else if is("age") {
                first(&mut head.age);
            } else if is("retry-after") {
                head.retry_after.push(value.trim().to_owned());
            } else if is("content-type") {
                first(&mut head.content_type);
            }
        }
        head
    }

    /// Returns how long the response is fresh by its own fields; none where they don't say.
    ///
    /// `no-store` and `no-cache` give zero; `max-age` is lessened by `Age`; `Expires` counts from `Date` (from `now` where there is
    /// none), a bad or past date is zero. `s-maxage` and heuristics are not for a private cache. Source: RFC 9111 sections 4.2
    /// and 5.2.2.
    pub fn freshness(&self, now: Timestamp) -> Option<Duration> {
        let mut max_age = None;
        for directive in directives(&self.cache_control) {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            match name.trim().to_ascii_lowercase().as_str() {
                "no-store" | "no-cache" => return Some(Duration::ZERO),
                // Unreadable values are stale (RFC 9111 section 4.2.1), of several the shortest counts.
                "max-age" => {
                    let age = delta_seconds(value.trim().trim_matches('"')).unwrap_or_default();
                    max_age = Some(max_age.map_or(age, |shortest: Duration| shortest.min(age)));
                }
                _ => {}
            }
        }
        if let Some(max_age) = max_age {
            let age = self.age.as_deref().and_then(delta_seconds).unwrap_or_default();
            return Some(max_age.saturating_sub(age));
        }
        let expires = self.expires.as_deref()?;
        let date = self.date.as_deref().and_then(http_date).unwrap_or(now);
        let lifetime = http_date(expires).map(|expires| expires.duration_since(date));
        Some(lifetime.and_then(|lifetime| Duration::try_from(lifetime).ok()).unwrap_or_default())
    }

    /// Returns how long the response asks us to wait: see [`retry_after`].
    pub fn asked_wait(&self, now: Timestamp) -> Option<Duration> {
        let asked = self.retry_after.iter().map(|value| ("retry-after", value.as_bytes()));
        retry_after(asked.chain(self.date.iter().map(|value| ("date", value.as_bytes()))), now)
    }
}

/// Splits a Cache-Control value at the commas outside of quotes.
fn directives(value: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    value.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
}

/// Reads how long a response asks us to wait: its `Retry-After` lines, seconds or dates. Clamped to 1 s .. 7 d.
///
/// `lines` are the response's header lines, names in any case; others are passed over. A date counts from the response's own
/// `Date`, since our clock may be wrong by hours; from `now` where there is none that can be read. Of several lines, or values
/// that an intermediary joined by commas, the longest wait counts. Negative and unreadable values are none; a date in the past
/// gives the least wait. Source: RFC 9110 sections 5.6.7, 6.6.1 and 10.2.3.
///
/// Deviation: RFC 9110 knows whole seconds and dates with a correct weekday in GMT. Other forms ask for a wait too, and are read
/// wherever they stand in a value: fractions and units (`1.5`, `90s`, `1 hour and 60 minutes`, `2:00:00`), ISO 8601 (`PT2H`), separators of
/// thousands (`7,200`), every date that [`parse_date`] reads, and numeric dates (`28/11/2026`). Of several readings the longer
/// wait counts (`1.500` is 1,500 s). `Date` is read in every form that [`parse_date`] reads.
///
/// The wait is never a reason to ask sooner: the caller takes the longer of it and its own back-off. Cost: linear.
pub fn retry_after<'a>(
    lines: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    now: Timestamp,
) -> Option<Duration> {
    const LEAST: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_hours(7 * 24);
    let mut asked: Vec<Wait> = Vec::new();
    let mut date: Option<Timestamp> = None;
    for (name, value) in lines {
        if name.eq_ignore_ascii_case("retry-after") {
            asked.extend(waits(value));
        } else if name.eq_ignore_ascii_case("date")
            && let Some(at) = std::str::from_utf8(value).ok().and_then(date_of)
        {
            // Two of them are a mistake: the earlier one makes the longer wait.
            date = Some(date.map_or(at, |before| before.min(at)));
        }
    }
    let from = date.unwrap_or(now);
    let wait = asked.into_iter().map(|asked| match asked {
        Wait::For(length) => length,
        Wait::Until(at) => Duration::try_from(at.duration_since(from)).unwrap_or_default(),
    });
    Some(wait.max()?.clamp(LEAST, MOST))
}

/// Reads a date in one of the forms of RFC 9110, or in another one that leaves no doubt.
fn date_of(value: &str) -> Option<Timestamp> {
    let value = value.trim().trim_matches(['"', '\'']).trim();
    http_date(value).or_else(|| parse_date(value))
}

/// Reads digits; more than fit are as many as fit (RFC 9111 section 1.2.2).
fn delta_seconds(value: &str) -> Option<Duration> {
    let value = value.trim();
    if value.is_empty() || !value.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)))
}

/// Reads an HTTP date; the last hours of the year 9999, which a [`Timestamp`] can't hold, are its last moment.
pub(super) fn http_date(value: &str) -> Option<Timestamp> {
    let at = httpdate::parse_http_date(value.trim()).ok()?;
    Some(Timestamp::try_from(at).unwrap_or(Timestamp::MAX))
}
