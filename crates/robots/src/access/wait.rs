//! How long a value of `Retry-After` asks us to wait, in the forms of RFC 9110 and in others that people and programs write.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;

use crate::date::{leading_date, month};

/// What a value asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    For(Duration),
    Until(Timestamp),
}

/// Reads one line: the longest length of time and the latest date in it, each where there is one.
///
/// Digits alone are seconds, and a date as RFC 9110 writes it is nothing else. Other text is searched for dates, and what is left of
/// it for lengths. Cost: linear.
pub(super) fn waits(line: &[u8]) -> impl Iterator<Item = Wait> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    let (length, date) = if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        (Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX))), None)
    } else if let Some(date) = super::head::http_date(text) {
        (None, Some(date))
    } else {
        search(&plain(text))
    };
    [length.map(Wait::For), date.map(Wait::Until)].into_iter().flatten()
}

/// Writes a text in lower-case ASCII: what looks like it or stands for it as that, anything else as a blank.
fn plain(text: &str) -> String {
    let ascii = |c: char| match c {
        '!'..='~' => c.to_ascii_lowercase(),
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(' ').to_ascii_lowercase(),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2019}' => '\'',
        '\u{b5}' | '\u{3bc}' => 'u',
        _ => ' ',
    };
    without_colours(text.chars().map(ascii).collect())
}

/// Blanks what remains of an escape sequence for a terminal's colours without its control character: `[31m`.
fn without_colours(text: String) -> String {
    let mut text = text.into_bytes();
    for at in 0..text.len() {
        if text[at] != b'[' {
            continue;
        }
        let length = text[at + 1..].iter().take_while(|b| b.is_ascii_digit() || **b == b';').count();
        let end = at + 1 + length;
        if text.get(end) == Some(&b'm') && text.get(end + 1) != Some(&b']') {
            text[at..=end].fill(b' ');
        }
    }
    String::from_utf8(text).unwrap_or_default()
}

/// Finds the longest length of time and the latest date.
fn search(text: &str) -> (Option<Duration>, Option<Timestamp>) {
    let tokens = tokens(text);
    let dates = dates(&tokens);
    let mut rest = text.as_bytes().to_vec();
    let mut is_date = vec![false; tokens.len()];
    for date in &dates {
        // Words on both sides of a date don't belong together.
        let last = date.first + date.tokens - 1;
        rest[tokens[date.first].start..tokens[last].end()].fill(b'\n');
        is_date[date.first..=last].fill(true);
    }
    let left: Vec<&str> =
        tokens.iter().zip(&is_date).map(|(token, is_date)| if *is_date { "" } else { token.text }).collect();
    let millis = if has_unread_date(&left) {
        // Its numbers are those of a day and of a time, but not where one stands between commas by itself.
        let alone = |part: &[u8]| {
            let part = part.trim_ascii();
            (!part.is_empty() && part.iter().all(u8::is_ascii_digit)).then(|| thousandths(part, b""))
        };
        rest.split(|&b| b == b',').filter_map(alone).chain(lengths(&rest, false)).max()
    } else {
        lengths(&rest, true)
    };
    // A part of a second counts as a whole one.
    let length = millis.map(|millis| Duration::from_secs(millis.div_ceil(1000)));
    (length, dates.iter().map(|date| date.at).max())
}

/// A part of a text that may belong to a date.
#[derive(Debug, Clone, Copy)]
struct Token<'t> {
    start: usize,
    text: &'t str,
}

impl Token<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut start = 0;
    let mut tokens = Vec::new();
    let parts = text.split(|c: char| c == ' ' || ",;=()[]{}<>\"'|&".contains(c));
    for part in parts {
        let token = part.trim_end_matches(['.', ':', '!', '?']);
        if !token.is_empty() {
            tokens.push(Token { start, text: token });
        }
        start += part.len() + 1;
    }
    tokens
}

/// A date, and the tokens that it is made of.
#[derive(Debug, Clone, Copy)]
struct Found {
    first: usize,
    tokens: usize,
    at: Timestamp,
}

/// Finds dates that don't overlap: of those that do the one of more tokens, of equal ones the later.
fn dates(tokens: &[Token<'_>]) -> Vec<Found> {
    let day_first: Vec<_> = tokens.iter().map(|token| year_first(token.text, false)).collect();
    let month_first: Vec<_> = tokens.iter().map(|token| year_first(token.text, true)).collect();
    let mut found = Vec::new();
    for first in 0..tokens.len() {
        let read = |texts: &[Cow<'_, str>]| leading_date(texts[first..].iter().map(AsRef::as_ref));
        // Which of the two numbers is the day can't be told: the later date counts.
        let Some((at, count)) = read(&day_first).into_iter().chain(read(&month_first)).max() else {
            continue;
        };
        // Digits alone are seconds.
        if count > 1 || !tokens[first].text.bytes().all(|b| b.is_ascii_digit()) {
            found.push(Found { first, tokens: count, at });
        }
    }
    found.sort_by_key(|date| std::cmp::Reverse((date.tokens, date.first)));
    let mut is_taken = vec![false; tokens.len()];
    found.retain(|date| {
        let own = &mut is_taken[date.first..date.first + date.tokens];
        let is_free = !own.contains(&true);
        if is_free {
            own.fill(true);
        }
        is_free
    });
    found
}

/// Writes `28/11/2026` and `28.11.2026` as `2026-11-28`, with the first or the second number as the month.
fn year_first(token: &str, is_month_first: bool) -> Cow<'_, str> {
    let parts: Vec<&str> = token.splitn(4, ['/', '.', '-']).collect();
    let is_number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
    };
    match parts[..] {
        [a, b, year] if is_number(a, 1..=2) && is_number(b, 1..=2) && is_number(year, 4..=4) => {
            let (month, day) = if is_month_first { (a, b) } else { (b, a) };
            format!("{year}-{month}-{day}").into()
        }
        _ => token.into(),
    }
}

/// Returns whether tokens that are no date look like one: a month beside a number, or three numbers and more with `-` or `/` between.
fn has_unread_date(tokens: &[&str]) -> bool {
    let is_month = |token: &str| month(token).is_some();
    let is_number = |token: &str| token.starts_with(|c: char| c.is_ascii_digit());
    let is_compound = |token: &&str| {
        let separators = token.as_bytes().windows(3).filter(|three| {
            three[0].is_ascii_digit() && matches!(three[1], b'-' | b'/') && three[2].is_ascii_digit()
        });
        separators.take(2).count() == 2
    };
    tokens.iter().any(is_compound)
        || tokens
            .windows(2)
            .any(|pair| is_month(pair[0]) && is_number(pair[1]) || is_number(pair[0]) && is_month(pair[1]))
}

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Units of time in milliseconds, none for those below one. A month has 31 days, a year 366.
const UNITS: [(&[&str], u64); 9] = [
    (&["ms", "msec", "msecs", "milli", "millis", "millisecond", "milliseconds"], 1),
    (&["s", "sec", "secs", "second", "seconds"], SECOND),
    (&["m", "min", "mins", "minute", "minutes"], MINUTE),
    (&["h", "hr", "hrs", "hour", "hours"], HOUR),
    (&["d", "day", "days"], DAY),
    (&["w", "wk", "wks", "week", "weeks"], 7 * DAY),
    (&["mo", "month", "months"], 31 * DAY),
    (&["y", "yr", "yrs", "year", "years"], 366 * DAY),
    (&["us", "usec", "usecs", "microsecond", "microseconds", "ns", "nanosecond", "nanoseconds"], 0),
];

/// Numbers that are written as words.
const NUMBERS: [(&str, u64); 20] = [
    ("a", 1),
    ("an", 1),
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("twelve", 12),
    ("fifteen", 15),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("ninety", 90),
];

/// A length as far as it is read: `1 hour and` of `1 hour and 60 minutes`.
#[derive(Debug, Clone, Copy)]
struct Sum {
    millis: u64,
    /// Milliseconds of the unit of its last term: the next one has to be shorter.
    unit: u64,
    end: usize,
}

/// Reads the lengths of time in a text.
struct Lengths<'t> {
    text: &'t [u8],
    /// Numbers without a unit are seconds.
    reads_bare: bool,
    longest: Option<u64>,
    sum: Option<Sum>,
}

/// Finds the longest length of time, in milliseconds.
fn lengths(text: &[u8], reads_bare: bool) -> Option<u64> {
    let mut lengths = Lengths { text, reads_bare, longest: None, sum: None };
    let mut at = 0;
    while at < text.len() {
        at = lengths.step(at);
    }
    lengths.longest
}

impl Lengths<'_> {
    /// Reads what begins here; returns where to go on.
    fn step(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let before = &self.text[..at];
        match rest[0] {
            b'a'..=b'z' => {
                if rest[0] == b'p'
                    && !before.last().is_some_and(u8::is_ascii_alphanumeric)
                    && let Some((millis, end)) = iso8601(rest)
                {
                    if !is_negative(before) {
                        self.found(millis);
                    }
                    return at + end;
                }
                let word = letters(rest);
                let after = at + word.len();
                if let Some((_, number)) = NUMBERS.iter().find(|(name, _)| name.as_bytes() == word)
                    && let Some((unit, end)) = self.unit(after)
                {
                    self.term(number * 1000, unit, at, end);
                    return end;
                }
                // `v2` is a name, and `m=+0.5` the clock that Go writes behind a date.
                match &self.text[after..] {
                    [b'=', b'+' | b'-', rest @ ..] if word == b"m" => {
                        after + 2 + decimal(rest).map_or(0, |(_, length)| length)
                    }
                    rest if word.len() == 1 => after + digits(rest).len(),
                    _ => after,
                }
            }
            b'0'..=b'9' => self.number(at),
            b'.' if rest.get(1).is_some_and(u8::is_ascii_digit) => self.number(at),
            _ => at + 1,
        }
    }

    fn number(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        if is_negative(&self.text[..at]) {
            let end = rest.iter().position(|b| b.is_ascii_whitespace() || matches!(b, b',' | b';'));
            return at + end.unwrap_or(rest.len());
        }
        if let Some((millis, length)) = clock(rest) {
            let end = at + length;
            if self.reads_bare {
                self.found(millis);
            }
            // As the last term: `1 day, 2:00:00`.
            if self.sum.is_some_and(|sum| sum.unit > HOUR) {
                self.term(millis, SECOND, at, end);
            }
            return end;
        }
        let plain = digits(rest);
        if let Some((number, length)) = exponent(rest) {
            return self.numbers(at, &[(number, length)], length);
        }
        let mut readings = vec![(thousandths(plain, b""), plain.len())];
        readings.extend(decimal(rest));
        readings.extend(grouped(rest));
        // What follows a comma may be a value of its own.
        let is_list = rest.get(plain.len()) == Some(&b',');
        let longest = readings.iter().map(|&(_, length)| length).max().unwrap_or_default();
        self.numbers(at, &readings, if is_list { plain.len() } else { longest })
    }

    /// Takes the readings of one number, each with its length; returns where to go on where none has a unit: behind `length`.
    fn numbers(&mut self, at: usize, readings: &[(u64, usize)], length: usize) -> usize {
        let mut best: Option<(u64, u64, usize)> = None;
        for &(number, length) in readings {
            match self.unit(at + length) {
                Some((unit, end)) => {
                    let is_better = best.is_none_or(|(other, ..)| number > other);
                    best = if is_better { Some((number, unit, end)) } else { best };
                }
                None if self.reads_bare => {
                    self.found(number);
                    // `1h30` is an hour and 30 minutes.
                    if let Some(sum) = self.sum.filter(|sum| self.joins(sum, at)) {
                        let unit = match sum.unit {
                            DAY => HOUR,
                            HOUR => MINUTE,
                            _ => SECOND,
                        };
                        self.found(sum.millis.saturating_add(scaled(number, unit)));
                    }
                }
                None => {}
            }
        }
        let Some((number, unit, end)) = best else {
            self.sum = None;
            return at + length.max(1);
        };
        self.term(number, unit, at, end);
        end
    }

    /// Takes a number of thousandths of a unit, from `at` to `end`.
    fn term(&mut self, number: u64, unit: u64, at: usize, end: usize) {
        let millis = scaled(number, unit);
        let before = self.sum.filter(|sum| unit < sum.unit && self.joins(sum, at));
        let millis = before.map_or(millis, |sum| sum.millis.saturating_add(millis));
        self.sum = Some(Sum { millis, unit, end });
        self.found(millis);
    }

    /// Whether nothing but `and` and the like is between a sum and what begins here.
    fn joins(&self, sum: &Sum, at: usize) -> bool {
        const LONGEST: usize = 12;
        let gap = &self.text[sum.end..at];
        gap.len() <= LONGEST
            && gap
                .split(|b| matches!(b, b' ' | b',' | b'&' | b'+' | b':' | b'.'))
                .all(|word| word.is_empty() || word == b"and")
    }

    /// Reads the unit behind a number: its milliseconds, and where it ends.
    fn unit(&self, at: usize) -> Option<(u64, usize)> {
        let rest = &self.text[at..];
        let gap = rest.iter().take_while(|b| matches!(b, b' ' | b'(' | b'-')).count();
        let word = letters(&rest[gap..]);
        let (_, unit) = UNITS.iter().find(|(names, _)| names.iter().any(|name| name.as_bytes() == word))?;
        Some((*unit, at + gap + word.len()))
    }

    fn found(&mut self, millis: u64) {
        self.longest = self.longest.max(Some(millis));
    }
}

/// Whether a number behind this text has a minus sign, and isn't the end of a range (`60-120`).
fn is_negative(before: &[u8]) -> bool {
    let Some(before) = before.strip_suffix(b"-") else { return false };
    let is_word = before.last().is_some_and(u8::is_ascii_alphabetic);
    !is_word && !before.trim_ascii_end().last().is_some_and(u8::is_ascii_digit)
}

/// Reads `p1dt12h`, `pt2h`, `pt0.5s` (ISO 8601): milliseconds and length. A missing `t` matters for `m` alone: before it these are months.
fn iso8601(text: &[u8]) -> Option<(u64, usize)> {
    let mut at = 1;
    let mut is_time = false;
    let mut millis = None;
    loop {
        if text.get(at) == Some(&b't') {
            is_time = true;
            at += 1;
        }
        let plain = (thousandths(digits(&text[at..]), b""), digits(&text[at..]).len());
        let (number, length) = decimal(&text[at..]).unwrap_or(plain);
        let unit = match text.get(at + length) {
            _ if length == 0 => break,
            Some(b'y') => 366 * DAY,
            Some(b'm') if !is_time => 31 * DAY,
            Some(b'm') => MINUTE,
            Some(b'w') => 7 * DAY,
            Some(b'd') => DAY,
            Some(b'h') => HOUR,
            Some(b's') => SECOND,
            _ => break,
        };
        millis = Some(millis.unwrap_or(0_u64).saturating_add(scaled(number, unit)));
        at += length + 1;
    }
    let is_word = text.get(at).is_some_and(u8::is_ascii_alphabetic);
    millis.filter(|_| !is_word).map(|millis| (millis, at))
}

/// Reads `2:00:00` and `2:00`, hours and minutes: milliseconds and length.
fn clock(text: &[u8]) -> Option<(u64, usize)> {
    let hours = digits(text);
    let mut millis = scaled(thousandths(hours, b""), HOUR);
    let mut at = hours.len();
    let mut fields = 0;
    for unit in [MINUTE, SECOND] {
        let Some([b':', tens @ b'0'..=b'5', ones @ b'0'..=b'9', ..]) = text.get(at..) else { break };
        let number = u64::from(tens - b'0') * 10 + u64::from(ones - b'0');
        millis = millis.saturating_add(number * unit);
        at += 3;
        fields += 1;
    }
    let is_longer = text.get(at).is_some_and(|b| b.is_ascii_digit() || *b == b':');
    (!hours.is_empty() && fields > 0 && !is_longer).then_some((millis, at))
}

/// Reads `7.2e3` in thousandths, and its length.
fn exponent(text: &[u8]) -> Option<(u64, usize)> {
    let base = decimal(text).filter(|&(_, length)| !text[..length].contains(&b','));
    let mut at = base.map_or_else(|| digits(text).len(), |(_, length)| length);
    if text.get(at) != Some(&b'e') {
        return None;
    }
    at += 1;
    at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
    let power = digits(&text[at..]);
    at += power.len();
    if power.is_empty() || text.get(at).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let number: f64 = std::str::from_utf8(&text[..at]).ok()?.parse().ok()?;
    // Casts saturate.
    Some(((number * 1000.0).ceil() as u64, at))
}

/// Reads `1.5`, `1,5` and `.5` in thousandths, rounded up, and its length.
fn decimal(text: &[u8]) -> Option<(u64, usize)> {
    let whole = digits(text);
    let [b'.' | b',', rest @ ..] = &text[whole.len()..] else { return None };
    let fraction = digits(rest);
    let length = whole.len() + 1 + fraction.len();
    (!fraction.is_empty()).then(|| (thousandths(whole, fraction), length))
}

/// Reads `7,200`, `7.200`, `7 200`, `7'200` and `7_200` in thousandths, and its length.
fn grouped(text: &[u8]) -> Option<(u64, usize)> {
    /// More groups are a number that is longer than any wait.
    const MOST: usize = 5;
    let first = digits(text);
    if !(1..=3).contains(&first.len()) || first[0] == b'0' {
        return None;
    }
    let separator = *text.get(first.len()).filter(|b| b",. '_".contains(b))?;
    let mut number = first.to_vec();
    let mut at = first.len();
    for _ in 0..MOST {
        let group = match text.get(at..) {
            Some([b, rest @ ..]) if *b == separator => digits(rest.get(..4).unwrap_or(rest)),
            _ => break,
        };
        if group.len() != 3 {
            break;
        }
        number.extend_from_slice(group);
        at += 4;
    }
    (at > first.len()).then(|| (thousandths(&number, b""), at))
}

/// Gives a number in thousandths, rounded up; the largest where it doesn't fit.
fn thousandths(whole: &[u8], fraction: &[u8]) -> u64 {
    let digit = |number: u64, b: &u8| number.saturating_mul(10).saturating_add(u64::from(b - b'0'));
    let part = fraction.iter().chain(b"000").take(3).fold(0, digit);
    let more = u64::from(fraction.iter().skip(3).any(|&b| b != b'0'));
    whole.iter().fold(0, digit).saturating_mul(1000).saturating_add(part + more)
}

/// Gives thousandths of a unit in milliseconds, rounded up.
fn scaled(number: u64, unit: u64) -> u64 {
    let millis = (u128::from(number) * u128::from(unit)).div_ceil(1000);
    u64::try_from(millis).unwrap_or(u64::MAX)
}

fn letters(text: &[u8]) -> &[u8] {
    &text[..text.iter().take_while(|b| b.is_ascii_lowercase()).count()]
}

fn digits(text: &[u8]) -> &[u8] {
    &text[..text.iter().take_while(|b| b.is_ascii_digit()).count()]
}
