//! The times that a search is limited to, as they are written.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Reads a lower bound for [`Request::since`](super::Request::since): an RFC 3339 time, or a date, which stands for its beginning in UTC. An error says what is required.
pub fn parse_since(text: &str) -> Result<Timestamp, String> {
    parse(text, false)
}

/// Reads an upper bound for [`Request::until`](super::Request::until): an RFC 3339 time, or a date, which stands for its end in UTC. An error says what is required.
pub fn parse_until(text: &str) -> Result<Timestamp, String> {
    parse(text, true)
}

fn parse(text: &str, is_end: bool) -> Result<Timestamp, String> {
    let of_date = |date: Date| {
        let date = if is_end { date.tomorrow()? } else { date };
        Ok::<_, jiff::Error>(date.to_zoned(TimeZone::UTC)?.timestamp())
    };
    let is_date = text.len() == 10;
    let time = if is_date { text.parse::<Date>().and_then(of_date) } else { text.parse::<Timestamp>() };
    time.map_err(|_| "a date (2026-01-31) or an RFC 3339 time (2026-01-31T12:00:00Z) is required".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_a_day_from_its_beginning_to_its_end() {
        assert_eq!(parse_since("2026-01-31").unwrap().to_string(), "2026-01-31T00:00:00Z");
        assert_eq!(parse_until("2026-01-31").unwrap().to_string(), "2026-02-01T00:00:00Z");
        assert_eq!(parse_until("2026-01-31T12:00:00+01:00").unwrap().to_string(), "2026-01-31T11:00:00Z");
        for wrong in ["yesterday", "2026-1-31", "2026-02-30", "2026-01-31T12:00:00", ""] {
            assert!(parse_since(wrong).is_err(), "{wrong}");
        }
    }
}
