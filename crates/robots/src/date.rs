//! Dates as people write them, for `Retry-After` and `unavailable_after`: RFC 822, RFC 850, ISO 8601 and common variations of them.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Longest text that is read as a date, in bytes.
const LONGEST: usize = 96;

/// Reads a date: RFC 822 (`25 Jun 2010 15:00:00 PST`), RFC 850 (`Saturday, 01-Jan-22 00:00:00 GMT`), asctime,
/// ISO 8601 (`2020-09-21`, `2020-09-21T15:00:00+02:00`, `20200921`) and mixtures of their parts.
///
/// The whole text must be a date. Without a zone it's UTC; a date alone is its first second; hour 24 is the
/// next midnight; a two-digit year under 70 is 20xx. The weekday isn't checked. A purely numeric order of day
/// and month (`01/02/2020`) is ambiguous and isn't accepted. A comment in parentheses at the end is dropped. What a [`Timestamp`] can't hold, at the end of the year 9999, is its last moment.
///
/// ```
/// let date = robots::parse_date("25 Jun 2010 15:00:00 PST").unwrap();
/// assert_eq!(date.to_string(), "2010-06-25T23:00:00Z");
/// ```
pub fn parse_date(text: &str) -> Option<Timestamp> {
    if text.len() > LONGEST || !text.is_ascii() {
        return None;
    }
    let text = without_comment(text);
    let mut parts = Parts::default();
    for chunk in text.split([' ', '\t', '\r', '\n', ',']).filter(|chunk| !chunk.is_empty()) {
        parts.read(&chunk.to_ascii_lowercase())?;
    }
    parts.timestamp()
}

/// Reads the date that begins with the first of these chunks, each in lower case: the longest run of them that is one, and its length.
pub(crate) fn leading_date<'t>(chunks: impl Iterator<Item = &'t str>) -> Option<(Timestamp, usize)> {
    let mut parts = Parts::default();
    let mut longest = None;
    // No part is given twice: at most eight chunks are read.
    for (chunk, length) in chunks.zip(1..) {
        if parts.read(chunk).is_none() {
            break;
        }
        if let Some(at) = parts.timestamp() {
            longest = Some((at, length));
        }
    }
    longest
}

/// Collects the parts of a date; each may be given once.
#[derive(Debug, Clone, Copy, Default)]
struct Parts {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    time: Option<Clock>,
    /// Hours that `am` or `pm` adds.
    half: Option<Half>,
    /// Seconds east of UTC.
    zone: Option<i32>,
    weekday: Option<()>,
}

#[derive(Debug, Clone, Copy)]
struct Clock {
    hour: i8,
    minute: i8,
    second: i8,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Half {
    Am,
    Pm,
}

impl Parts {
    /// Reads one chunk between spaces; `None` if it can't be part of a date.
    fn read(&mut self, chunk: &str) -> Option<()> {
        if is_weekday(chunk) {
            return set(&mut self.weekday, ());
        }
        if let Some(month) = month(chunk) {
            return set(&mut self.month, month);
        }
        if chunk == "am" || chunk == "pm" {
            return set(&mut self.half, if chunk == "am" { Half::Am } else { Half::Pm });
        }
        if let Some(zone) = zone(chunk) {
            return set(&mut self.zone, zone);
        }
        if let Some((date, time)) = chunk.split_once('t').filter(|(_, time)| time.starts_with(digit)) {
            self.read_date(date)?;
            return self.read_time(time);
        }
        if chunk.contains(':') { self.read_time(chunk) } else { self.read_date(chunk) }
    }

    /// Reads `2020-09-21`, `2020/09/21`, `20200921`, `01-jan-22`, or a day or year alone.
    fn read_date(&mut self, text: &str) -> Option<()> {
        let fields: Vec<&str> = text.splitn(4, ['-', '/']).collect();
        match fields[..] {
            [year, mon, day] if year.len() >= 4 => {
                set(&mut self.year, full_year(year)?)?;
                set(&mut self.month, number(mon, 2)? as i8)?;
                set(&mut self.day, number(day, 2)? as i8)
            }
            [day, mon, year] => {
                set(&mut self.day, number(day, 2)? as i8)?;
                set(&mut self.month, month(mon)?)?;
                set(&mut self.year, full_year(year)?)
            }
            [basic] if basic.len() == 8 => {
                set(&mut self.year, number(&basic[..4], 4)?)?;
                set(&mut self.month, number(&basic[4..6], 2)? as i8)?;
                set(&mut self.day, number(&basic[6..], 2)? as i8)
            }
            [year] if year.len() >= 4 && year.bytes().all(|b| b.is_ascii_digit()) => {
                set(&mut self.year, full_year(year)?)
            }
            [day] if self.day.is_none() => {
                let day =
                    ["st", "nd", "rd", "th"].iter().find_map(|end| day.strip_suffix(end)).unwrap_or(day);
                set(&mut self.day, number(day, 2)? as i8)
            }
            [year] => set(&mut self.year, full_year(year)?),
            _ => None,
        }
    }

    /// Reads `15:00`, `15:00:00`, `15:00:00.5`, `150000`, with a zone at its end or without.
    fn read_time(&mut self, text: &str) -> Option<()> {
        let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.')).unwrap_or(text.len());
        let (clock, rest) = text.split_at(end);
        match rest {
            "" => {}
            "am" => set(&mut self.half, Half::Am)?,
            "pm" => set(&mut self.half, Half::Pm)?,
            zone_name => set(&mut self.zone, zone(zone_name)?)?,
        }
        let clock = clock.split_once('.').map_or(Some(clock), |(whole, fraction)| {
            (!fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit())).then_some(whole)
        })?;
        let fields: Vec<&str> = if clock.contains(':') {
            clock.splitn(4, ':').collect()
        } else {
            clock.as_bytes().chunks(2).filter_map(|two| std::str::from_utf8(two).ok()).collect()
        };
        let (hour, minute, second) = match fields[..] {
            [hour, minute] => (hour, minute, "0"),
            [hour, minute, second] => (hour, minute, second),
            _ => return None,
        };
        let clock = Clock {
            hour: number(hour, 2)? as i8,
            minute: number(minute, 2)? as i8,
            second: number(second, 2)? as i8,
        };
        set(&mut self.time, clock)
    }

    /// Puts the parts together.
    fn timestamp(self) -> Option<Timestamp> {
        let date = Date::new(self.year?, self.month?, self.day?).ok()?;
        let Clock { mut hour, minute, mut second } =
            self.time.unwrap_or(Clock { hour: 0, minute: 0, second: 0 });
        if let Some(half) = self.half {
            self.time?;
            if !(1..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + if half == Half::Pm { 12 } else { 0 };
        }
        if hour > 24 || minute > 59 || second > 60 || (hour == 24 && (minute, second) != (0, 0)) {
            return None;
        }
        second = second.min(59); // a leap second ends with the one before it
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second)
            - i64::from(self.zone.unwrap_or(0));
        let Ok(midnight) = date.to_zoned(TimeZone::UTC) else { return Some(Timestamp::MAX) };
        Some(midnight.timestamp().checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX))
    }
}

/// Cuts off a comment in parentheses at the end (RFC 5322 section 3.3): `+0000 (UTC)`.
fn without_comment(text: &str) -> &str {
    let comment = text.trim_end().strip_suffix(')').and_then(|text| text.rfind('('));
    comment.map_or(text, |start| &text[..start])
}

/// Sets a part that hasn't been given yet.
fn set<T>(part: &mut Option<T>, value: T) -> Option<()> {
    if part.is_some() {
        return None;
    }
    *part = Some(value);
    Some(())
}

fn digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Reads a number of at most `digits` digits.
fn number(text: &str, digits: usize) -> Option<i16> {
    let fits = !text.is_empty() && text.len() <= digits && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

/// Reads a year of two digits, or of four and more; one beyond 9999 is 9999.
fn full_year(text: &str) -> Option<i16> {
    if text.len() > 4 {
        let is_late = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
        return is_late.then_some(9999);
    }
    let year = number(text, 4)?;
    match text.len() {
        4 => Some(year),
        2 if year < 70 => Some(2000 + year),
        2 => Some(1900 + year),
        _ => None,
    }
}

/// Returns whether a word is a day's name: three letters or more of it.
fn is_weekday(word: &str) -> bool {
    const NAMES: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    named(word, &NAMES).is_some()
}

/// Reads a month's name: three letters or more of it.
pub(crate) fn month(word: &str) -> Option<i8> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    named(word, &NAMES).map(|index| index as i8 + 1)
}

fn named(word: &str, names: &[&str]) -> Option<usize> {
    let word = word.strip_suffix('.').unwrap_or(word);
    (word.len() >= 3).then(|| names.iter().position(|name| name.starts_with(word))).flatten()
}

/// Reads a zone in seconds east of UTC: a name of RFC 822, a number such as `+0200`, `-08:00`, `+02`, or such a number behind `GMT` or
/// `UTC`, as JavaScript writes it (`GMT+0200`).
fn zone(word: &str) -> Option<i32> {
    const NAMES: [(&str, i32); 15] = [
        ("z", 0),
        ("ut", 0),
        ("utc", 0),
        ("gmt", 0),
        ("est", -5),
        ("edt", -4),
        ("cst", -6),
        ("cdt", -5),
        ("mst", -7),
        ("mdt", -6),
        ("pst", -8),
        ("pdt", -7),
        ("akst", -9),
        ("akdt", -8),
        ("hst", -10),
    ];
    if let Some((_, hours)) = NAMES.iter().find(|(name, _)| *name == word) {
        return Some(hours * 3600);
    }
    let word = ["gmt", "utc"].iter().find_map(|name| word.strip_prefix(name)).unwrap_or(word);
    let (sign, digits) = match word.as_bytes().first()? {
        b'+' => (1, &word[1..]),
        b'-' => (-1, &word[1..]),
        _ => return None,
    };
    let (hours, minutes) = match (digits.split_once(':'), digits.len()) {
        (Some(parts), _) => parts,
        (None, 4) => digits.split_at(2),
        (None, _) => (digits, "0"),
    };
    let (hours, minutes) = (i32::from(number(hours, 2)?), i32::from(number(minutes, 2)?));
    (hours <= 15 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}
