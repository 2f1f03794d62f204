//! Reads the values of timing lines: the value at the start, whatever text follows it.
//!
//! Authors explain their values on the line (`40/1m 0100 - 0759 at night`, `10 seconds`). A value that is dropped for that is a
//! limit that the site loses.

use std::time::Duration;

use super::{RequestRate, VisitTime};
use crate::bytes::trim;

/// A value, and whether text that says nothing follows it.
pub(super) struct Found<T> {
    pub(super) value: T,
    pub(super) has_text: bool,
}

/// Units of time in milliseconds.
const UNITS: [(&[&str], u64); 6] = [
    (&["ms", "msec", "msecs", "millisecond", "milliseconds"], 1),
    (&["s", "sec", "secs", "second", "seconds"], 1000),
    (&["m", "min", "mins", "minute", "minutes"], 60_000),
    (&["h", "hr", "hrs", "hour", "hours"], 3_600_000),
    (&["d", "day", "days"], 86_400_000),
    (&["w", "week", "weeks"], 7 * 86_400_000),
];

/// Reads `10`, `0.5`, `.5`, `2,5`, `3s`, `5 minutes`, `10-20`: a number with a unit where there is one, else of seconds. Of a range the
/// longer end. Rounds up to milliseconds. Negative numbers, exponents and what has several fractions are none.
pub(super) fn delay(value: &[u8]) -> Option<Found<Duration>> {
    let (mut thousandths, mut rest) = decimal(trim(value))?;
    let has_text = !trim(rest).is_empty();
    if let Some((upper, after)) = dash(rest).and_then(decimal) {
        thousandths = thousandths.max(upper);
        rest = after;
    }
    let unit = unit_of(rest).map_or(1000, |(unit, _)| unit);
    let millis = scaled(thousandths, unit);
    Some(Found { value: Duration::from_millis(millis), has_text })
}

/// Reads `40/1m 0100 - 0759`. Text behind the rate that is no range says nothing about when: the rate counts always, which only slows.
pub(super) fn rate(value: &[u8], line: u32) -> Option<Found<RequestRate>> {
    let (pages, rest) = number(trim(value))?;
    let rest = trim(trim(rest).strip_prefix(b"/")?);
    // `1/m` is one a minute; a word that is no unit is no time.
    let (thousandths, unit, rest) = match (decimal(rest), unit_of(rest)) {
        (Some((thousandths, rest)), _) => {
            let (unit, rest) = unit_of(rest).unwrap_or((1000, rest));
            (thousandths, unit, rest)
        }
        (None, Some((unit, rest))) => (1000, unit, rest),
        (None, None) => return None,
    };
    let time = scaled(thousandths, unit).div_ceil(1000);
    let pages = u32::try_from(pages).unwrap_or(u32::MAX);
    if pages == 0 || time == 0 {
        return None;
    }
    let rest = trim(rest);
    let (range, has_text) = match hours(rest, line) {
        Some((range, after)) => (Some(range), !trim(after).is_empty()),
        None => (None, !rest.is_empty()),
    };
    let range = range.filter(|range| range.from != range.to);
    Some(Found { value: RequestRate { pages, per: Duration::from_secs(time), range, line }, has_text })
}

/// Reads `0600-0845`.
pub(super) fn visit(value: &[u8], line: u32) -> Option<Found<VisitTime>> {
    let (range, rest) = hours(trim(value), line)?;
    (range.from != range.to).then_some(Found { value: range, has_text: !trim(rest).is_empty() })
}

/// Reads `hhmm-hhmm` or `hh:mm-hh:mm`, blanks around the dash allowed.
fn hours(value: &[u8], line: u32) -> Option<(VisitTime, &[u8])> {
    let (from, rest) = minute(value)?;
    let (to, rest) = minute(dash(rest)?)?;
    // A range of hours before and after noon would be misread.
    let word = word(trim(rest)).to_ascii_lowercase();
    let is_read = from < 1440 && !matches!(word.as_slice(), b"am" | b"pm" | b"a" | b"p");
    is_read.then_some((VisitTime { from, to, line }, rest))
}

/// Reads `hhmm`, `hh:mm`, `h:mm` or `hh:mm:ss` as a minute of the day; `2400` is the last.
fn minute(value: &[u8]) -> Option<(u16, &[u8])> {
    let digits = digits(value);
    let (hour, minute, rest) = match digits.len() {
        4 => (&value[..2], &value[2..4], &value[4..]),
        1 | 2 => {
            let rest = value[digits.len()..].strip_prefix(b":")?;
            (digits, rest.get(..2)?, &rest[2..])
        }
        _ => return None,
    };
    if !minute.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let rest = match rest {
        [b':', a, b, rest @ ..] if a.is_ascii_digit() && b.is_ascii_digit() => rest,
        _ => rest,
    };
    let two = |digits: &[u8]| digits.iter().fold(0, |n: u16, b| n * 10 + u16::from(b - b'0'));
    let (hour, minute) = (two(hour), two(minute));
    let is_time = minute < 60 && (hour < 24 || hour == 24 && minute == 0);
    (is_time && !rest.first().is_some_and(u8::is_ascii_digit)).then_some((hour * 60 + minute, rest))
}

/// Takes the dash of a range with the blanks around it: `-`, or one that a word processor made of it.
fn dash(value: &[u8]) -> Option<&[u8]> {
    const DASHES: [&[u8]; 7] = [
        b"-",
        "\u{2010}".as_bytes(),
        "\u{2011}".as_bytes(),
        "\u{2012}".as_bytes(),
        "\u{2013}".as_bytes(),
        "\u{2014}".as_bytes(),
        "\u{2212}".as_bytes(),
    ];
    let value = trim(value);
    DASHES.iter().find_map(|dash| value.strip_prefix(*dash)).map(trim)
}

/// Reads the unit at the start: milliseconds, and what follows.
fn unit_of(value: &[u8]) -> Option<(u64, &[u8])> {
    let value = trim(value);
    let word = word(value);
    let is_named = |names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()));
    let (_, millis) = UNITS.iter().find(|(names, _)| is_named(names))?;
    Some((*millis, &value[word.len()..]))
}

fn word(value: &[u8]) -> &[u8] {
    &value[..value.iter().take_while(|b| b.is_ascii_alphabetic()).count()]
}

fn digits(value: &[u8]) -> &[u8] {
    &value[..value.iter().take_while(|b| b.is_ascii_digit()).count()]
}

/// Reads the decimal number at the start, in thousandths, rounded up. No exponents, no second fraction.
fn decimal(value: &[u8]) -> Option<(u64, &[u8])> {
    let whole = digits(value);
    let mut rest = &value[whole.len()..];
    let mut fraction: &[u8] = b"";
    if let [b'.' | b',', after @ ..] = rest
        && !digits(after).is_empty()
    {
        fraction = digits(after);
        rest = &after[fraction.len()..];
    }
    let after = match rest {
        [b'e' | b'E', b'+' | b'-', after, ..] | [b'e' | b'E' | b'.' | b',', after, ..] => Some(after),
        _ => None,
    };
    let is_number = !after.is_some_and(u8::is_ascii_digit);
    if whole.is_empty() && fraction.is_empty() || !is_number {
        return None;
    }
    let whole = whole.iter().fold(0_u64, |n, b| n.saturating_mul(10).saturating_add(u64::from(b - b'0')));
    let mut thousandths = fraction.iter().chain(b"000").take(3).fold(0, |n, b| n * 10 + u64::from(b - b'0'));
    thousandths += u64::from(fraction.iter().skip(3).any(|&b| b != b'0'));
    Some((whole.saturating_mul(1000).saturating_add(thousandths), rest))
}

/// Reads the whole number at the start.
fn number(value: &[u8]) -> Option<(u64, &[u8])> {
    let digits = digits(value);
    let n = digits.iter().fold(0_u64, |n, b| n.saturating_mul(10).saturating_add(u64::from(b - b'0')));
    (!digits.is_empty()).then_some((n, &value[digits.len()..]))
}

/// Gives thousandths of a unit in milliseconds, rounded up.
fn scaled(thousandths: u64, unit_millis: u64) -> u64 {
    let millis = (u128::from(thousandths) * u128::from(unit_millis)).div_ceil(1000);
    u64::try_from(millis).unwrap_or(u64::MAX)
}
