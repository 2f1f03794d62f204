//! Hours of a day in a time zone, with its changes of the clock.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

const MINUTES: u16 = 24 * 60;

/// Days in which hours open again that aren't skipped by a change of the clock: one that is may follow the next.
const DAYS: i32 = 3;

/// Ranges of local time, each from its first minute to before its last one; `22:00-06:00` runs over midnight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hours(Vec<(u16, u16)>);

/// Why a text isn't hours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} isn't a range of hours: write HH:MM-HH:MM, as in 22:00-06:00; several with commas")]
pub struct HoursError(String);

impl FromStr for Hours {
    type Err = HoursError;

    fn from_str(text: &str) -> Result<Self, HoursError> {
        let ranges = text.split(',').map(|part| range(part.trim())).collect::<Option<Vec<_>>>();
        ranges.filter(|ranges| ranges.len() <= 100).map(Self).ok_or_else(|| HoursError(text.to_owned()))
    }
}

/// From and to, in minutes of the day. Equal ones are none: it isn't clear whether that is nothing or all day.
fn range(text: &str) -> Option<(u16, u16)> {
    let (from, to) = text.split_once('-')?;
    let (from, to) = (minute(from.trim())?, minute(to.trim())?);
    (from < MINUTES && from != to && (from, to) != (0, 0)).then_some((from, to))
}

fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let is_number = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let (hour, minute) = (is_number(hour) && is_number(minute)).then_some((hour, minute))?;
    let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
    (hour < 24 && minute < 60 || (hour, minute) == (24, 0)).then_some(hour * 60 + minute)
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (from, to)) in self.0.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)?;
        }
        Ok(())
    }
}

impl Hours {
    /// Whether they include a local time.
    pub(super) fn include(&self, time: Time) -> bool {
        let minute = u16::from(time.hour().unsigned_abs()) * 60 + u16::from(time.minute().unsigned_abs());
        self.0.iter().any(|&(from, to)| {
            if from < to { (from..to).contains(&minute) } else { minute >= from || minute < to }
        })
    }

    fn include_at(&self, at: Timestamp, zone: &TimeZone) -> bool {
        self.include(zone.to_datetime(at).time())
    }

    /// The first moment at this time or later that they include.
    pub(super) fn opens(&self, at: Timestamp, zone: &TimeZone) -> Timestamp {
        if self.include_at(at, zone) {
            return at;
        }
        let ends = self.0.iter().map(|(from, _)| *from);
        let moments = changes(ends, at, zone);
        moments.filter(|moment| self.include_at(*moment, zone)).min().unwrap_or(Timestamp::MAX)
    }

    /// The first moment after this one that they don't include; none where they include the next days.
    pub(super) fn closes(&self, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let ends = self.0.iter().map(|(_, to)| *to % MINUTES);
        changes(ends, at, zone).filter(|moment| !self.include_at(*moment, zone)).min()
    }
}

/// The moments of the next days at which something may change: when local clocks show one of these minutes, twice in a day in which they are set
/// back, and when they are set.
fn changes<'a>(
    minutes: impl Iterator<Item = u16> + Clone + 'a,
    at: Timestamp,
    zone: &'a TimeZone,
) -> impl Iterator<Item = Timestamp> + 'a {
    let today = zone.to_datetime(at).date();
    let last = at.checked_add((24 * DAYS).hours()).unwrap_or(Timestamp::MAX);
    let days = (0..=DAYS).filter_map(move |days| today.checked_add(days.days()).ok());
    let of_day = move |day: jiff::civil::Date| {
        minutes.clone().map(move |minute| day.at((minute / 60) as i8, (minute % 60) as i8, 0, 0))
    };
    let both = move |local: DateTime| {
        let moments = zone.to_ambiguous_timestamp(local);
        [moments.earlier().ok(), moments.later().ok()].into_iter().flatten()
    };
    let set = zone.following(at).map(|change| change.timestamp()).take_while(move |change| *change <= last);
    days.flat_map(of_day).flat_map(both).filter(move |moment| *moment > at).chain(set)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn hours_are_read_strictly() {
        for (text, shown) in [
            ("22:00-06:00", Some("22:00-06:00")),
            (" 08:00 - 12:00,13:30-24:00 ", Some("08:00-12:00, 13:30-24:00")),
            ("00:00-24:00", Some("00:00-24:00")),
            ("22:00-00:00", Some("22:00-00:00")),
            ("", None),
            ("8-10", None),
            ("8:00-10:00", None),
            ("08:00", None),
            ("08:00-25:00", None),
            ("08:60-09:00", None),
            ("24:00-06:00", None),
            ("06:00-06:00", None),
            ("+8:00-09:00", None),
            ("08:00-10:00,", None),
        ] {
            let read: Result<Hours, _> = text.parse();
            assert_eq!(read.as_ref().ok().map(ToString::to_string).as_deref(), shown, "{text:?}");
        }
    }

    #[test]
    fn hours_open_in_their_zone_also_when_its_clocks_are_set() {
        for (hours, zone, now, opens) in [
            ("22:00-06:00", "UTC", "2026-07-01T12:00:00Z", "2026-07-01T22:00:00Z"),
            ("22:00-06:00", "UTC", "2026-07-01T05:59:59Z", "2026-07-01T05:59:59Z"),
            ("22:00-06:00", "UTC", "2026-07-01T06:00:00Z", "2026-07-01T22:00:00Z"),
            ("22:00-00:00", "UTC", "2026-07-01T00:00:00Z", "2026-07-01T22:00:00Z"),
            ("22:00-24:00", "UTC", "2026-07-01T23:59:59Z", "2026-07-01T23:59:59Z"),
            ("08:00-09:00, 20:00-21:00", "UTC", "2026-07-01T10:00:00Z", "2026-07-01T20:00:00Z"),
            // Summer and winter in Berlin: UTC+2, UTC+1.
            ("22:00-06:00", "Europe/Berlin", "2026-07-01T12:00:00Z", "2026-07-01T20:00:00Z"),
            ("22:00-06:00", "Europe/Berlin", "2026-12-01T12:00:00Z", "2026-12-01T21:00:00Z"),
            ("22:00-06:00", "America/New_York", "2026-07-01T12:00:00Z", "2026-07-02T02:00:00Z"),
            ("12:00-13:00", "Asia/Kathmandu", "2026-07-01T00:00:00Z", "2026-07-01T06:15:00Z"),
            // On 2026-03-29 clocks go from 02:00 to 03:00 (01:00 UTC): 02:30 is skipped, and 03:00 is within the hours.
            ("02:30-04:00", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"),
            // All of these hours are skipped.
            ("02:10-02:50", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-30T00:10:00Z"),
            ("06:00-07:00", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T04:00:00Z"),
            // On 2026-10-25 they go from 03:00 to 02:00 (01:00 UTC): these hours come twice.
            ("02:10-02:50", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T00:10:00Z"),
            ("02:10-02:50", "Europe/Berlin", "2026-10-25T00:55:00Z", "2026-10-25T01:10:00Z"),
            ("02:10-02:50", "Europe/Berlin", "2026-10-25T01:55:00Z", "2026-10-26T01:10:00Z"),
            // 02:30 is over, and clocks are set back to it.
            ("01:00-02:30", "Europe/Berlin", "2026-10-25T00:40:00Z", "2026-10-25T01:00:00Z"),
        ] {
            let (zone, hours) = (TimeZone::get(zone).unwrap(), hours.parse::<Hours>().unwrap());
            assert_eq!(hours.opens(at(now), &zone), at(opens), "{hours} {now}");
        }
    }

    #[test]
    fn hours_close_in_their_zone_also_when_its_clocks_are_set() {
        for (hours, zone, now, closes) in [
            ("22:00-06:00", "UTC", "2026-07-01T22:00:00Z", Some("2026-07-02T06:00:00Z")),
            ("00:00-24:00", "UTC", "2026-07-01T22:00:00Z", None),
            ("08:00-12:00, 12:00-14:00", "UTC", "2026-07-01T09:00:00Z", Some("2026-07-01T14:00:00Z")),
            // The night has seven hours, and nine.
            ("22:00-06:00", "Europe/Berlin", "2026-03-28T21:00:00Z", Some("2026-03-29T04:00:00Z")),
            ("22:00-06:00", "Europe/Berlin", "2026-10-24T20:00:00Z", Some("2026-10-25T05:00:00Z")),
            // 02:30 is skipped: closed from 03:00 on.
            ("00:00-02:30", "Europe/Berlin", "2026-03-29T00:00:00Z", Some("2026-03-29T01:00:00Z")),
        ] {
            let (zone, hours) = (TimeZone::get(zone).unwrap(), hours.parse::<Hours>().unwrap());
            assert_eq!(hours.closes(at(now), &zone), closes.map(at), "{hours} {now}");
        }
    }

    proptest! {
        /// Compared with a look at every minute.
        #[test]
        fn hours_open_at_the_first_minute_that_they_include(
            ranges in proptest::collection::vec((0_u16..1440, 1_u16..1440), 1..4),
            zone in prop_oneof![
                Just("UTC"), Just("Europe/Berlin"), Just("America/New_York"), Just("Australia/Lord_Howe"),
                Just("America/Sao_Paulo"), Just("Pacific/Apia"), Just("Asia/Kathmandu"), Just("America/Havana"),
            ],
            // From 2011 to 2030, and often around the changes in spring and autumn.
            minute in 21_565_440_i64..32_080_000,
        ) {
            let text: Vec<_> = ranges.iter().map(|(from, long)| {
                let to = (from + long) % MINUTES;
                format!("{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)
            }).collect();
            let (zone, hours) = (TimeZone::get(zone).unwrap(), text.join(",").parse::<Hours>().unwrap());
            let now = Timestamp::from_second(minute * 60).unwrap();
            let minutes = (0..4 * 1440).map(|n| Timestamp::from_second((minute + n) * 60).unwrap());
            let expected = minutes.clone().find(|at| hours.include(zone.to_datetime(*at).time()));
            if let Some(expected) = expected {
                prop_assert_eq!(hours.opens(now, &zone), expected);
            }
            let closed = minutes.skip(1).find(|at| !hours.include(zone.to_datetime(*at).time()));
            if hours.opens(now, &zone) == now && closed.is_some_and(|at| at < now + 48.hours()) {
                prop_assert_eq!(hours.closes(now, &zone), closed);
            }
        }
    }
}
