//! Dates of sitemaps and feeds: W3C date and time formats (sitemaps, Atom) and RFC 2822 (RSS).

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, fmt::rfc2822};

/// Reads a date; a date without a time is its midnight in UTC, a month or a year its first day.
pub(super) fn read(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(time) = text.parse() {
        return Some(time);
    }
    let day = match (text.len(), text.is_ascii()) {
        (4, true) => format!("{text}-01-01"),
        (7, true) => format!("{text}-01"),
        _ => text.to_owned(),
    };
    if let Ok(date) = day.parse::<Date>() {
        return date.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    }
    rfc2822::parse(text).ok().map(|time| time.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_protocol_is_read() {
        for (text, expected) in [
            ("2004-10-01T18:23:17+00:00", Some("2004-10-01T18:23:17Z")),
            ("2004-10-01T18:23:17.5+02:00", Some("2004-10-01T16:23:17.5Z")),
            ("2004-12-23", Some("2004-12-23T00:00:00Z")),
            (" 2004-12 ", Some("2004-12-01T00:00:00Z")),
            ("2004", Some("2004-01-01T00:00:00Z")),
            ("Sat, 07 Sep 2002 09:42:31 GMT", Some("2002-09-07T09:42:31Z")),
            ("yesterday", None),
            ("2004-13-40", None),
            ("", None),
        ] {
            assert_eq!(read(text), expected.map(|time| time.parse().unwrap()), "{text}");
        }
    }
}
