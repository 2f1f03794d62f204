//! The response fields that say for how long an answer holds.

use std::time::Duration;

use jiff::Timestamp;

/// Holds the status and the response fields that `judge` reads; others are dropped.
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
    /// Picks the fields out of a response's header lines; names ignore case.
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
}

/// Reads a `Retry-After` value: seconds, or an HTTP date compared with `now`. Clamped to 1 s .. 7 d.
///
/// Negative and unreadable values are none. Source: RFC 9110 section 10.2.3.
pub fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    const LEAST: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_hours(7 * 24);
    let value = value.trim();
    let wait = if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let at = httpdate::parse_http_date(value).ok().and_then(|at| Timestamp::try_from(at).ok())?;
        Duration::try_from(at.duration_since(now)).unwrap_or_default()
    };
    Some(wait.clamp(LEAST, MOST))
}
