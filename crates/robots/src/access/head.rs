//! The response fields that say for how long an answer holds.

use std::time::Duration;

use jiff::Timestamp;

/// Holds the status and the response fields that [`judge`](super::judge) reads; others are dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
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
    /// `Retry-After`.
    pub retry_after: Option<String>,
    /// `Content-Type`.
    pub content_type: Option<String>,
}

impl Head {
    /// Picks the fields out of a response's header lines; names ignore case, of repeated ones the first counts.
    pub fn new<'a>(status: u16, headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut head = Self { status, ..Self::default() };
        for (name, value) in headers {
            let first = |slot: &mut Option<String>| {
                slot.get_or_insert_with(|| value.trim().to_owned());
            };
            match name.to_ascii_lowercase().as_str() {
                "cache-control" => {
                    if !head.cache_control.is_empty() {
                        head.cache_control.push_str(", ");
                    }
                    head.cache_control.push_str(value.trim());
                }
                "expires" => first(&mut head.expires),
                "date" => first(&mut head.date),
                "age" => first(&mut head.age),
                "retry-after" => first(&mut head.retry_after),
                "content-type" => first(&mut head.content_type),
                _ => {}
            }
        }
        head
    }

    /// Gives for how long the response is fresh by its own word: none where it doesn't say.
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
        let left = http_date(expires).map(|expires| expires.duration_since(date));
        Some(left.and_then(|left| Duration::try_from(left).ok()).unwrap_or_default())
    }
}

/// Splits a Cache-Control value at the commas that stand outside of quotes.
fn directives(value: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    value.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
}

/// Reads a `Retry-After` value: seconds, or an HTTP date compared with `now`. Clamped to 1 s .. 7 d.
///
/// Negative and unreadable values are none; a date in the past gives the least wait. Source: RFC 9110 section 10.2.3.
pub fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    const LEAST: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_hours(7 * 24);
    let value = value.trim();
    let wait = match delta_seconds(value) {
        Some(wait) => wait,
        None => Duration::try_from(http_date(value)?.duration_since(now)).unwrap_or_default(),
    };
    Some(wait.clamp(LEAST, MOST))
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
fn http_date(value: &str) -> Option<Timestamp> {
    let at = httpdate::parse_http_date(value.trim()).ok()?;
    Some(Timestamp::try_from(at).unwrap_or(Timestamp::MAX))
}
