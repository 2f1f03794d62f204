//! Text forms with units: `500ms 10s 5m 2h 1d`, `10KB 4MiB`, and `none` for a limit that isn't set.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const DURATION_UNITS: [(&str, u128); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

const SIZE_UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("B", 1),
];

/// Why a text isn't a duration, a size or a limit; says what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnitError(String);

/// Reads a duration: a number with a unit, or several (`1m30s`, `1.5s`, `0`). Exact to the nanosecond.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let refuse =
        || UnitError(format!("{text:?} isn't a duration: a number and a unit, as in 500ms, 10s, 5m, 2h"));
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(refuse());
    }
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let &(_, scale) = DURATION_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(refuse)?;
        let part = scaled(number, scale).ok_or_else(refuse)?;
        nanos = nanos.checked_add(part).ok_or_else(refuse)?;
        rest = tail;
    }
    let seconds = u64::try_from(nanos / 1_000_000_000).map_err(|_| refuse())?;
    Ok(Duration::new(seconds, (nanos % 1_000_000_000) as u32))
}

/// Writes a duration in the largest unit that holds it exactly; [`parse_duration`] reads the same value back.
pub fn format_duration(value: Duration) -> String {
    let nanos = value.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    let fits = DURATION_UNITS.iter().find(|(_, scale)| nanos.is_multiple_of(*scale));
    fits.map_or_else(String::new, |(unit, scale)| format!("{}{unit}", nanos / scale))
}

/// Reads a size in bytes: `512B`, `10KB` (10,000), `4MiB` (4,194,304), or `0`. Every other number needs its unit.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let refuse =
        || UnitError(format!("{text:?} isn't a size: a number and a unit, as in 500B, 10KB, 4MiB, 1GiB"));
    let trimmed = text.trim();
    if trimmed == "0" {
        return Ok(0);
    }
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let unit = unit.trim_start();
    let scale = match unit {
        "" if scaled(number, 1).is_some() => {
            let units = format!("{number}B, {number}KB or {number}MiB");
            return Err(UnitError(format!("{text:?} isn't a size: the unit is missing, as in {units}")));
        }
        _ => SIZE_UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or_else(refuse)?.1,
    };
    scaled(number, u128::from(scale)).and_then(|bytes| u64::try_from(bytes).ok()).ok_or_else(refuse)
}

/// Writes a size in the largest unit that holds it exactly; [`parse_size`] reads the same value back.
pub fn format_size(value: u64) -> String {
    if value == 0 {
        return "0B".to_owned();
    }
    let fits = SIZE_UNITS.iter().find(|(_, scale)| value.is_multiple_of(*scale));
    fits.map_or_else(String::new, |(unit, scale)| format!("{}{unit}", value / scale))
}

/// Multiplies a decimal number by a scale, exactly; none where it has a remainder, too many digits or no digit.
fn scaled(number: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || whole.len() > 20 || fraction.len() > 9 || number.ends_with('.') {
        return None;
    }
    let mut value = whole.parse::<u128>().ok()?.checked_mul(scale)?;
    if !fraction.is_empty() {
        let part = fraction.parse::<u128>().ok()?.checked_mul(scale)?;
        let divisor = 10u128.pow(fraction.len() as u32);
        if part % divisor != 0 {
            return None;
        }
        value = value.checked_add(part / divisor)?;
    }
    Some(value)
}

/// A text, or a number that stands for its text.
struct Scalar(String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl serde::de::Visitor<'_> for Visitor {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a text")
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
        }

        input.deserialize_any(Visitor)
    }
}

/// Reads a limit: a number, or `none`.
pub fn parse_limit<T: FromStr>(text: &str) -> Result<Option<T>, UnitError> {
    optional(text, |text| {
        text.parse().map_err(|_| UnitError(format!("{text:?} isn't a limit: a number, or none")))
    })
}

/// Reads a duration, or `none`.
pub fn parse_duration_limit(text: &str) -> Result<Option<Duration>, UnitError> {
    optional(text, parse_duration)
}

/// Reads a size, or `none`.
pub fn parse_size_limit(text: &str) -> Result<Option<u64>, UnitError> {
    optional(text, parse_size)
}

fn optional<T>(text: &str, parse: impl Fn(&str) -> Result<T, UnitError>) -> Result<Option<T>, UnitError> {
    if text.trim() == "none" { Ok(None) } else { parse(text.trim()).map(Some) }
}

/// Makes a module for `#[serde(with)]` out of the two directions of a text form.
macro_rules! text_form {
    ($name:ident: $type:ty, $parse:expr, $format:expr) => {
        #[doc = concat!("Text form of `", stringify!($type), "` for `#[serde(with)]`.")]
        pub mod $name {
            use super::*;

            /// Writes the text form.
            pub fn serialize<S: Serializer>(value: &$type, out: S) -> Result<S::Ok, S::Error> {
                $format(value).serialize(out)
            }

            /// Reads the text form; any other text is an error that says what is expected.
            pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<$type, D::Error> {
                $parse(&Scalar::deserialize(input)?.0).map_err(D::Error::custom)
            }
        }
    };
}

text_form!(duration: Duration, parse_duration, |value: &Duration| format_duration(*value));
text_form!(duration_limit: Option<Duration>, parse_duration_limit, |value: &Option<Duration>| written(*value, format_duration));
text_form!(size: u64, parse_size, |value: &u64| format_size(*value));
text_form!(size_limit: Option<u64>, parse_size_limit, |value: &Option<u64>| written(*value, format_size));

fn written<T>(value: Option<T>, format: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "none".to_owned(), format)
}

/// A count or `none`, as the number itself in the TOML.
pub mod limit {
    use super::*;

    /// Writes an integer, or the text `none`.
    pub fn serialize<T: Copy + Into<u64>, S: Serializer>(
        value: &Option<T>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        // TOML's integers end at 2^63 - 1.
        match value.map(|number| (number.into(), i64::try_from(number.into()))) {
            Some((_, Ok(number))) => out.serialize_i64(number),
            Some((number, Err(_))) => out.collect_str(&number),
            None => out.serialize_str("none"),
        }
    }

    /// Reads an integer, or the text `none`.
    pub fn deserialize<'de, T: FromStr, D: Deserializer<'de>>(input: D) -> Result<Option<T>, D::Error> {
        parse_limit(&Scalar::deserialize(input)?.0).map_err(D::Error::custom)
    }
}

/// A rate or `none`, as the number itself in the TOML.
pub mod rate_limit {
    use super::*;

    /// Writes a number, or the text `none`.
    pub fn serialize<S: Serializer>(value: &Option<f64>, out: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(number) if number.fract() == 0.0 && number.abs() < 1e9 => out.serialize_i64(*number as i64),
            Some(number) => out.serialize_f64(*number),
            None => out.serialize_str("none"),
        }
    }

    /// Reads a number, or the text `none`.
    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Option<f64>, D::Error> {
        parse_limit(&Scalar::deserialize(input)?.0).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_carry_their_unit() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
            ("1.5s", 1_500),
            ("0.25h", 900_000),
            ("1m30s", 90_000),
            ("0", 0),
            ("0s", 0),
            (" 7s ", 7_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for bad in [
            "",
            "10",
            "s",
            "10 s",
            "-1s",
            "1..5s",
            ".5s",
            "5.s",
            "10S",
            "10M",
            "1e3s",
            "1s!",
            "99999999999999999999d",
            "1.0000000001s",
            "1,5s",
            "inf",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        assert_eq!(format_duration(Duration::from_secs(90)), "90s");
        assert_eq!(format_duration(Duration::from_hours(1)), "1h");
        assert_eq!(format_duration(Duration::ZERO), "0s");
    }

    #[test]
    fn sizes_carry_their_unit() {
        for (text, bytes) in [
            ("512B", 512),
            ("10KB", 10_000),
            ("10kb", 10_000),
            ("4MiB", 4 << 20),
            ("1.5MiB", 3 << 19),
            ("1 GiB", 1 << 30),
            ("0", 0),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for bad in ["10", "512", "00", "4194304", " 10 ", "18446744073709551615"] {
            let message = parse_size(bad).unwrap_err().to_string();
            let number = bad.trim();
            assert!(message.contains("the unit is missing"), "{bad}: {message}");
            assert!(
                message.ends_with(&format!("as in {number}B, {number}KB or {number}MiB")),
                "{bad}: {message}"
            );
            assert_eq!(
                parse_size_limit(bad).unwrap_err().to_string(),
                message.replace(bad, bad.trim()),
                "{bad}"
            );
        }
        assert_eq!((parse_size_limit("none"), parse_size_limit("0")), (Ok(None), Ok(Some(0))));
        for bad in ["", "KB", "1.5", "10K", "10M", "-1KB", "1.5B", "1..0KB", "99999999TiB", "10 KB x", "1e3"]
        {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
        assert_eq!(format_size(10_000), "10KB");
        assert_eq!(format_size(10 << 20), "10MiB");
        assert_eq!(format_size(1001), "1001B");
        assert_eq!(format_size(0), "0B");
    }

    #[test]
    fn a_limit_is_a_number_or_none() {
        assert_eq!(parse_limit::<u64>("17"), Ok(Some(17)));
        assert_eq!(parse_limit::<u64>("none"), Ok(None));
        assert_eq!(parse_duration_limit("none"), Ok(None));
        assert_eq!(parse_size_limit("1KB"), Ok(Some(1000)));
        for bad in ["", "-1", "1.5", "None at all", "4294967296"] {
            assert!(parse_limit::<u32>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(nanos: u64, seconds in 0..=u64::from(u32::MAX), bytes: u64) {
            for duration in [Duration::from_nanos(nanos), Duration::from_secs(seconds)] {
                prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
            }
            prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_breaks_a_parser(text in any::<String>()) {
            prop_assert!(parse_duration(&text).map_or(true, |value| parse_duration(&format_duration(value)) == Ok(value)));
            prop_assert!(parse_size(&text).map_or(true, |value| parse_size(&format_size(value)) == Ok(value)));
        }

        #[test]
        fn nothing_near_a_number_breaks_a_parser(text in "[0-9.]{0,24}(d|h|m|s|ms|KB|TiB)?") {
            prop_assert!(parse_duration(&text).map_or(true, |value| parse_duration(&format_duration(value)) == Ok(value)));
            prop_assert!(parse_size(&text).map_or(true, |value| parse_size(&format_size(value)) == Ok(value)));
        }
    }
}
