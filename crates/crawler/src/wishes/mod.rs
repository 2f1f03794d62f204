//! What owners of hosts asked the operator for: hours, requests and bytes a day, delays. Pure in `now`; nothing here waits.
//!
//! A wish only makes the crawl slower: what the configuration and the site itself ask for holds as well. All wishes for a host hold.

mod hours;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

pub use self::hours::{Hours, HoursError};
use crate::pace::{Delay, DelayReason};
use crate::store::{Store, StoreError, Tree};
use page::quantity;
use page::units::{self, format_duration, format_size};

/// Key in tree `meta` of what users ordered.
pub const STEERING: &[u8] = b"steering";

/// The zone of wishes that name none.
pub const UTC: &str = "UTC";

/// Bytes of a wish's reason.
pub const REASON_BYTES: usize = 500;

/// Wishes that a configuration may have, and hosts that one may name.
pub const MOST: usize = 1_000;

/// No request begins so shortly before the end of the hours or of a day, since it takes a moment until it is sent.
const MARGIN: Duration = Duration::from_secs(2);

/// A wish as the configuration has it: `[[pace.wishes]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WishSettings {
    /// The hosts: names, and `*.name` for all hosts below a name. Has no default.
    pub hosts: Vec<String>,
    /// When the hosts may be asked, as `22:00-06:00`; several with commas. Default: always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hours: Option<String>,
    /// The zone of hours and days, as `Europe/Berlin`. Default: `pace.zone`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Requests to each host in a day of the zone. Default: none.
    #[serde(with = "units::limit", skip_serializing_if = "Option::is_none")]
    pub requests_per_day: Option<u64>,
    /// Bytes from each host in a day of the zone, after which no request begins. Default: none.
    #[serde(with = "units::size_limit", skip_serializing_if = "Option::is_none")]
    pub bytes_per_day: Option<u64>,
    /// Minimum delay between two requests to each host. Default: none.
    #[serde(with = "units::duration_limit", skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Who asked for it, when and how. Default: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Minimum delays by hour. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub delays: BTreeMap<String, WishDelay>,
}

impl WishSettings {
    /// True if it asks for nothing.
    pub fn asks_for_nothing(&self) -> bool {
        let Self { hosts: _, hours, zone: _, requests_per_day, bytes_per_day, delay, reason: _, delays } =
            self;
        hours.is_none()
            && requests_per_day.is_none()
            && bytes_per_day.is_none()
            && delay.is_none()
            && delays.is_empty()
    }
}

/// A delay of some hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WishDelay(#[serde(with = "units::duration")] pub Duration);

/// Why a wish can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WishError {
    /// It is for no host.
    #[error("a wish names no hosts: add hosts = [\"www.example.org\", \"*.example.org\"]")]
    NoHosts,
    /// This isn't the name of a host.
    #[error(
        "{0:?} isn't a host: write a name, as in www.example.org, or *.example.org for all hosts below one"
    )]
    Host(String),
    /// It asks for nothing.
    #[error("a wish asks for nothing: add hours, requests_per_day, bytes_per_day, delay or delays")]
    Nothing,
    /// Its hours can't be read.
    #[error(transparent)]
    Hours(#[from] HoursError),
    /// Its zone isn't one.
    #[error("{0:?} isn't a time zone: write one of the IANA database, as in Europe/Berlin, or UTC")]
    Zone(String),
    /// No page would ever be asked for.
    #[error("requests_per_day must be 2 at least: one is for robots.txt")]
    Requests,
    /// Nothing would ever be asked for.
    #[error("bytes_per_day must be 1 at least")]
    Bytes,
    /// A delay is too long.
    #[error("a delay must be at most 366d")]
    Delay,
    /// The reason is too long.
    #[error("a reason has at most {REASON_BYTES} bytes")]
    Reason,
    /// There are too many.
    #[error("there are more than {MOST} {0}")]
    Many(&'static str),
}

/// What one wish asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    hosts: Vec<String>,
    hours: Option<Hours>,
    zone: TimeZone,
    zone_name: String,
    requests: Option<u64>,
    bytes: Option<u64>,
    delay: Duration,
    delays: Vec<(Hours, Duration)>,
    reason: String,
    /// It was set by `crawl set`.
    is_set: bool,
}

/// What was counted of a host when a day of a zone began, as far as wishes limit its days there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayStart {
    /// The zone by its name in the IANA database.
    pub zone: String,
    /// The calendar day there.
    pub day: Date,
    /// Requests to the host so far.
    pub requests: u64,
    /// Bytes from it so far.
    pub bytes: u64,
}

/// What a host waits for by a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WishedWait {
    /// How long it waits from now on.
    pub length: Duration,
    /// What the wait is for.
    pub why: DelayReason,
    /// The wish in words.
    pub words: String,
}

/// All wishes of a crawl.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wishes {
    all: Vec<Wish>,
    /// The zone of those that name none.
    zone: String,
}

/// What of the crawl's record of orders (`steering` in tree `meta`) is about wishes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Ordered {
    wishes: Vec<WishSettings>,
}

/// The wishes that were set by `crawl set`, of a crawl's database.
pub fn set_wishes<S: Store>(store: &S) -> Result<Vec<WishSettings>, StoreError> {
    let value = store.get(Tree::Meta, STEERING)?;
    // What can't be read is reported by those that go by it.
    Ok(value.and_then(|value| serde_json::from_slice::<Ordered>(&value).ok()).unwrap_or_default().wishes)
}

impl Wishes {
    /// Reads what the configuration says; `zone` is the zone of those that name none.
    pub fn read(wishes: &[WishSettings], zone: &str) -> Result<Self, WishError> {
        if wishes.len() > MOST {
            return Err(WishError::Many("wishes"));
        }
        let all = wishes.iter().map(|wish| Wish::read(wish, zone)).collect::<Result<_, _>>()?;
        Ok(Self { all, zone: zone.to_owned() })
    }

    /// Those of the configuration with the ones that `crawl set` set, in place of such that were set before. What can't be read of these is passed over.
    #[must_use]
    pub fn with_set(mut self, set: &[WishSettings]) -> Self {
        self.all.retain(|wish| !wish.is_set);
        let zone = self.zone().to_owned();
        let read = set.iter().filter_map(|wish| Wish::read(wish, &zone).ok());
        self.all.extend(read.map(|wish| Wish { is_set: true, ..wish }));
        self
    }

    /// The zone of those that name none.
    pub fn zone(&self) -> &str {
        if self.zone.is_empty() { UTC } else { &self.zone }
    }

    /// True if nobody asked for anything.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Those for a host.
    pub fn of<'a>(&'a self, host: &'a str) -> impl Iterator<Item = &'a Wish> {
        self.all.iter().filter(move |wish| wish.is_for(host))
    }

    /// Iterates over all of them.
    pub fn iter(&self) -> impl Iterator<Item = &Wish> {
        self.all.iter()
    }

    /// Notes what was counted of a host when the days began that wishes limit and that have begun since; true if anything was noted. The day of a
    /// zone never goes back, so that a clock that is set back brings no new day.
    pub fn begin_days(
        &self,
        host: &str,
        days: &mut Vec<DayStart>,
        now: Timestamp,
        (requests, bytes): (u64, u64),
    ) -> bool {
        let mut is_changed = false;
        for wish in self.of(host).filter(|wish| wish.limits_days()) {
            let day = wish.day(now);
            match days.iter_mut().find(|start| start.zone == wish.zone_name) {
                Some(start) if start.day >= day => {}
                Some(start) => {
                    (start.day, start.requests, start.bytes) = (day, requests, bytes);
                    is_changed = true;
                }
                None => {
                    days.push(DayStart { zone: wish.zone_name.clone(), day, requests, bytes });
                    is_changed = true;
                }
            }
        }
        is_changed
    }

    /// What a host has to wait for before its next request; the longest where there are several. `days` are up to date.
    pub fn wait(
        &self,
        host: &str,
        days: &[DayStart],
        now: Timestamp,
        (requests, bytes): (u64, u64),
    ) -> Option<WishedWait> {
        let of_wish = |wish: &Wish| {
            let start = days.iter().find(|start| start.zone == wish.zone_name);
            let start = start.map_or((requests, bytes), |start| (start.requests, start.bytes));
            let today = (requests.saturating_sub(start.0), bytes.saturating_sub(start.1));
            wish.wait(now, today)
        };
        self.of(host).filter_map(of_wish).max_by_key(|wait| wait.length)
    }

    /// The wishes that a host waits for, in words: those that have hours, limit days or ask for delays, by the reason of the wait.
    pub fn awaited(&self, host: &str, why: DelayReason) -> Option<String> {
        let is_of = |wish: &&Wish| match why {
            DelayReason::WishHours => wish.hours.is_some(),
            DelayReason::WishDay => wish.limits_days(),
            DelayReason::WishDelay => !wish.delay.is_zero() || !wish.delays.is_empty(),
            _ => false,
        };
        let words: Vec<String> = self.of(host).filter(is_of).map(Wish::in_words).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// The longest delay that is asked for between two requests to a host at this time, or in a moment.
    pub fn delay(&self, host: &str, now: Timestamp) -> Delay {
        let soon = now.checked_add(MARGIN).unwrap_or(now);
        let of_wish = |wish: &Wish| wish.delay(now).max(wish.delay(soon));
        let length = self.of(host).map(of_wish).max().unwrap_or_default();
        Delay { length, why: DelayReason::WishDelay }
    }
}

impl Wish {
    fn read(wish: &WishSettings, zone: &str) -> Result<Self, WishError> {
        let WishSettings { hosts, hours, zone: own, requests_per_day, bytes_per_day, delay, delays, reason } =
            wish;
        if hosts.is_empty() {
            return Err(WishError::NoHosts);
        }
        if hosts.len() > MOST {
            return Err(WishError::Many("hosts in a wish"));
        }
        if wish.asks_for_nothing() {
            return Err(WishError::Nothing);
        }
        if requests_per_day.is_some_and(|most| most < 2) {
            return Err(WishError::Requests);
        }
        if *bytes_per_day == Some(0) {
            return Err(WishError::Bytes);
        }
        if reason.len() > REASON_BYTES {
            return Err(WishError::Reason);
        }
        let longest = delays.values().map(|delay| delay.0).chain(*delay).max().unwrap_or_default();
        if longest > Duration::from_hours(366 * 24) {
            return Err(WishError::Delay);
        }
        let zone_name = own.as_deref().unwrap_or(zone);
        let by_hour = |(hours, delay): (&String, &WishDelay)| Ok::<_, WishError>((hours.parse()?, delay.0));
        Ok(Self {
            hosts: hosts.iter().map(|host| host_pattern(host)).collect::<Result<_, _>>()?,
            hours: hours.as_deref().map(str::parse).transpose()?,
            zone: TimeZone::get(zone_name).map_err(|_| WishError::Zone(zone_name.to_owned()))?,
            zone_name: zone_name.to_owned(),
            requests: *requests_per_day,
            bytes: *bytes_per_day,
            delay: delay.unwrap_or_default(),
            delays: delays.iter().map(by_hour).collect::<Result<_, _>>()?,
            reason: page::clean::clean(reason).into_owned(),
            is_set: false,
        })
    }

    /// Whether it is for a host.
    pub fn is_for(&self, host: &str) -> bool {
        let below =
            |name: &str| host.strip_suffix(name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'));
        self.hosts.iter().any(|pattern| match pattern.strip_prefix("*.") {
            Some(name) => below(name),
            None => host == pattern,
        })
    }

    /// The hosts as the configuration names them.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Who asked for it, when and how.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Whether it limits what is asked for in a day.
    pub fn limits_days(&self) -> bool {
        self.requests.is_some() || self.bytes.is_some()
    }

    /// Requests in a day.
    pub fn requests_per_day(&self) -> Option<u64> {
        self.requests
    }

    /// The shortest delay that it ever asks for.
    pub fn least_delay(&self) -> Duration {
        self.delay
    }

    /// The day in its zone.
    pub fn day(&self, at: Timestamp) -> Date {
        at.to_zoned(self.zone.clone()).date()
    }

    /// When the next day begins in its zone.
    pub fn next_day(&self, at: Timestamp) -> Timestamp {
        let next = at.to_zoned(self.zone.clone()).tomorrow().and_then(|next| next.start_of_day());
        next.map_or(Timestamp::MAX, |next| next.timestamp())
    }

    /// When its hours begin next, at this time or later.
    pub fn opens(&self, at: Timestamp) -> Timestamp {
        self.hours.as_ref().map_or(at, |hours| hours.opens(at, &self.zone))
    }

    /// When its hours end that include this time; none where they don't end.
    pub fn closes(&self, at: Timestamp) -> Option<Timestamp> {
        self.hours.as_ref().and_then(|hours| hours.closes(at, &self.zone))
    }

    fn delay(&self, now: Timestamp) -> Duration {
        let now = now.to_zoned(self.zone.clone());
        let by_hour = self.delays.iter().filter(|(hours, _)| hours.include(now.time()));
        by_hour.map(|(_, delay)| *delay).max().unwrap_or_default().max(self.delay)
    }

    /// How long the next request has to wait, where so many requests and bytes are of this day.
    fn wait(&self, now: Timestamp, (requests, bytes): (u64, u64)) -> Option<WishedWait> {
        let soon = now.checked_add(MARGIN).unwrap_or(now);
        let mut until = now;
        let mut why = DelayReason::WishHours;
        if self.limits_days() {
            let is_used_up = self.requests.is_some_and(|most| requests >= most)
                || self.bytes.is_some_and(|most| bytes >= most);
            if is_used_up || self.day(soon) != self.day(now) {
                until = self.next_day(now);
                why = DelayReason::WishDay;
            }
        }
        // A wait for a new day may end outside the hours.
        if until > now || self.opens(now) > now || self.opens(soon) > soon {
            let from = if until > now {
                until
            } else if self.opens(now) > now {
                now
            } else {
                soon
            };
            let opens = self.opens(from);
            if opens > until {
                (until, why) = (opens, DelayReason::WishHours);
            }
        }
        let length = Duration::try_from(until.duration_since(now)).ok().filter(|length| !length.is_zero())?;
        Some(WishedWait { length, why, words: self.in_words() })
    }

    /// The wish in words: `only 22:00-06:00, 5000 requests a day (Europe/Berlin): mail of the administrator`.
    pub fn in_words(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.hours.as_ref().map(|hours| format!("only {hours}")));
        parts.extend(self.requests.map(|most| format!("{} a day", quantity::count(most, "request"))));
        parts.extend(self.bytes.map(|most| format!("{} of bodies a day", format_size(most))));
        parts.extend((!self.delay.is_zero()).then(|| format!("a delay of {}", format_duration(self.delay))));
        parts.extend(
            self.delays
                .iter()
                .map(|(hours, delay)| format!("a delay of {} {hours}", format_duration(*delay))),
        );
        let reason = if self.reason.is_empty() { String::new() } else { format!(": {}", self.reason) };
        format!("{} ({}){reason}", parts.join(", "), self.zone_name)
    }
}

/// A name of hosts in the form that hosts have.
fn host_pattern(text: &str) -> Result<String, WishError> {
    let bad = || WishError::Host(text.to_owned());
    let (prefix, name) = match text.strip_prefix("*.") {
        Some(name) => ("*.", name),
        None => ("", text),
    };
    let is_plain = !name.is_empty() && !name.contains(['/', '*', '@', '?', '#', ' ', ':']);
    let url =
        page::url::CrawlUrl::parse(&format!("http://{name}/")).ok().filter(|_| is_plain).ok_or_else(bad)?;
    Ok(format!("{prefix}{}", url.host()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn wish(toml: &str) -> Result<Wish, WishError> {
        Wish::read(&toml::from_str(toml).unwrap(), UTC)
    }

    fn wishes(all: &[&str]) -> Wishes {
        let all: Vec<WishSettings> = all.iter().map(|toml| toml::from_str(toml).unwrap()).collect();
        Wishes::read(&all, UTC).unwrap()
    }

    #[test]
    fn what_is_set_later_holds_beside_the_configuration_until_it_is_set_again() {
        let configured = wishes(&["hosts = ['a.test']\ndelay = '5s'"]);
        let set = |seconds: &str| -> Vec<WishSettings> {
            vec![toml::from_str(&format!("hosts = ['a.test']\ndelay = '{seconds}s'")).unwrap()]
        };
        let delay = |wishes: &Wishes| wishes.delay("a.test", at("2026-07-01T00:00:00Z")).length.as_secs();
        let with = configured.with_set(&set("9"));
        assert_eq!(delay(&with), 9);
        let with = with.with_set(&set("7"));
        assert_eq!((delay(&with), with.iter().count()), (7, 2));
        let with = with.with_set(&set("1"));
        assert_eq!(delay(&with), 5, "the configuration holds as well");
        assert_eq!(delay(&with.with_set(&[])), 5);
    }

    #[test]
    fn a_pattern_names_a_host_or_all_below_it() {
        let wish = wish("hosts = ['WWW.a.test', '*.b.test']\nhours = '01:00-02:00'").unwrap();
        for (host, is_for) in [
            ("www.a.test", true),
            ("a.test", false),
            ("x.www.a.test", false),
            ("b.test", false),
            (".b.test", false),
            ("x.b.test", true),
            ("x.y.b.test", true),
            ("xb.test", false),
        ] {
            assert_eq!(wish.is_for(host), is_for, "{host}");
        }
    }

    #[test]
    fn what_can_not_be_meant_is_refused() {
        for (toml, expected) in [
            ("hours = '01:00-02:00'", "names no hosts"),
            ("hosts = ['a.test']", "asks for nothing"),
            ("hosts = ['a.test/x']\ndelay = '1s'", "isn't a host"),
            ("hosts = ['*']\ndelay = '1s'", "isn't a host"),
            ("hosts = ['a.*.test']\ndelay = '1s'", "isn't a host"),
            ("hosts = ['a.test']\nhours = '6-8'", "isn't a range of hours"),
            ("hosts = ['a.test']\ndelays = { '6-8' = '1s' }", "isn't a range of hours"),
            ("hosts = ['a.test']\nhours = '01:00-02:00'\nzone = 'Europe/Nowhere'", "isn't a time zone"),
            ("hosts = ['a.test']\nrequests_per_day = 1", "2 at least"),
            ("hosts = ['a.test']\nbytes_per_day = '0'", "1 at least"),
            ("hosts = ['a.test']\ndelay = '400d'", "at most 366d"),
        ] {
            let error = wish(toml).unwrap_err().to_string();
            assert!(error.contains(expected), "{toml}: {error}");
        }
        let reason = "x".repeat(REASON_BYTES + 1);
        assert!(wish(&format!("hosts = ['a.test']\ndelay = '1s'\nreason = '{reason}'")).is_err());
    }

    #[test]
    fn requests_and_bytes_of_a_day_are_counted_from_its_beginning_in_the_zone() {
        const DAY: DelayReason = DelayReason::WishDay;
        let toml = "hosts = ['a.test']\nzone = 'Europe/Berlin'\nrequests_per_day = 3\nbytes_per_day = '1KB'";
        let wishes = wishes(&[toml]);
        let mut days = Vec::new();
        let mut wait = |now: &str, counts: (u64, u64)| {
            let now = at(now);
            wishes.begin_days("a.test", &mut days, now, counts);
            wishes.wait("a.test", &days, now, counts).map(|wait| (wait.length.as_secs(), wait.why))
        };
        // 11:00 in Berlin; midnight is at 22:00 UTC in summer.
        assert_eq!(wait("2026-07-01T09:00:00Z", (100, 5_000)), None, "what was before doesn't count");
        assert_eq!(wait("2026-07-01T10:00:00Z", (102, 5_999)), None);
        assert_eq!(wait("2026-07-01T10:00:00Z", (103, 5_000)), Some((12 * 3_600, DAY)));
        assert_eq!(wait("2026-07-01T10:00:00Z", (101, 6_000)), Some((12 * 3_600, DAY)));
        assert_eq!(wait("2026-07-01T21:59:57Z", (101, 5_000)), None);
        assert_eq!(wait("2026-07-01T21:59:59Z", (101, 5_000)), Some((1, DAY)), "it might be sent tomorrow");
        assert_eq!(wait("2026-07-01T22:00:00Z", (103, 6_000)), None, "a new day");
        // The clock is set back by a day: no other day.
        assert_eq!(wait("2026-07-01T10:00:00Z", (105, 6_000)), None);
        assert_eq!(wait("2026-07-01T10:00:00Z", (106, 6_000)).map(|wait| wait.1), Some(DAY));
        // The day of the spring has 23 hours: from 23:00 to 22:00 UTC.
        assert_eq!(wait("2027-03-27T23:00:00Z", (200, 6_000)), None);
        assert_eq!(wait("2027-03-27T23:00:00Z", (203, 6_000)), Some((23 * 3_600, DAY)));
        assert_eq!(wishes.wait("b.test", &[], at("2026-07-01T10:00:00Z"), (9, 9)), None);
    }

    #[test]
    fn a_new_day_may_begin_outside_the_hours() {
        let toml = "hosts = ['a.test']\nhours = '08:00-10:00'\nrequests_per_day = 2";
        let wishes = wishes(&[toml]);
        let wait = |now: &str, requests: u64| {
            let days =
                [DayStart { zone: UTC.to_owned(), day: wishes.all[0].day(at(now)), requests: 0, bytes: 0 }];
            wishes
                .wait("a.test", &days, at(now), (2 * requests, 0))
                .map(|wait| (wait.length.as_secs(), wait.why))
        };
        assert_eq!(wait("2026-07-01T07:00:00Z", 0), Some((3_600, DelayReason::WishHours)));
        assert_eq!(wait("2026-07-01T08:00:00Z", 0), None);
        assert_eq!(wait("2026-07-01T08:00:00Z", 1), Some((24 * 3_600, DelayReason::WishHours)));
        assert_eq!(wait("2026-07-01T09:59:59Z", 0), Some((22 * 3_600 + 1, DelayReason::WishHours)));
    }

    #[test]
    fn the_longest_delay_of_the_hour_holds() {
        let toml = "hosts = ['a.test']\nzone = 'Europe/Berlin'\ndelay = '5s'\ndelays = { '08:00-18:00' = '30s', '12:00-13:00' = '20s' }";
        let other = "hosts = ['*.test']\ndelay = '10s'";
        let wishes = wishes(&[toml, other]);
        for (host, now, seconds) in [
            ("a.test", "2026-07-01T05:59:57Z", 10),
            ("a.test", "2026-07-01T06:00:00Z", 30),
            ("a.test", "2026-07-01T10:30:00Z", 30),
            ("a.test", "2026-07-01T16:00:00Z", 10),
            ("a.test", "2026-12-01T06:30:00Z", 10),
            ("b.test", "2026-07-01T10:30:00Z", 10),
            ("b.example", "2026-07-01T10:30:00Z", 0),
        ] {
            assert_eq!(wishes.delay(host, at(now)).length.as_secs(), seconds, "{host} {now}");
        }
    }

    #[test]
    fn a_wish_says_what_it_asks_for_and_who_asked() {
        let toml = "hosts = ['a.test']\nhours = '22:00-06:00'\nzone = 'Europe/Berlin'\nrequests_per_day = 5000\n\
                    bytes_per_day = '1GB'\ndelay = '5s'\ndelays = { '08:00-18:00' = '30s' }\nreason = \"mail\\u001b[31m of 3 November\"";
        assert_eq!(
            wish(toml).unwrap().in_words(),
            "only 22:00-06:00, 5000 requests a day, 1GB of bodies a day, a delay of 5s, a delay of 30s 08:00-18:00 (Europe/Berlin): mail of 3 November"
        );
    }
}
