//! What owners of hosts asked for, by the settings of each run (`pace.wishes`): hours, requests and bytes a day, delays. Read and counted by code of its
//! own; time zones come from the same database as the crawl's.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::Check;
use super::requests::{Asked, Log};
use super::settings::Run;
use crate::wishes::WishSettings;

/// Times in the ledger are whole microseconds: two of them may be off by one each.
const ROUNDING: f64 = 0.000_002;

/// A request that was let pass is sent within this time.
const ABOUT_TO_START: Duration = Duration::from_secs(2);

/// Judges the requests of hosts, one host after the other.
pub(super) struct Wishes<'a> {
    log: &'a Log,
    runs: &'a [Run],
    zones: HashMap<&'a str, TimeZone>,
    /// Requests and bytes of the host that is judged, by zone and day: those of runs with a wish that limits its days there.
    days: BTreeMap<(&'a str, Date), (u64, u64)>,
    check: Check,
}

impl<'a> Wishes<'a> {
    pub(super) fn new(log: &'a Log, runs: &'a [Run]) -> Self {
        let check = Check::new(
            "wishes",
            "no request outside the hours, beyond the daily limits or before the delays that a host's owner asked for (pace.wishes)",
        );
        Self { log, runs, zones: HashMap::new(), days: BTreeMap::new(), check }
    }

    /// Begins with the next host.
    pub(super) fn begin(&mut self) {
        self.days.clear();
    }

    /// Judges a request of the host.
    pub(super) fn take(&mut self, host: &str, before: Option<&Asked>, asked: &Asked) {
        let run = usize::try_from(asked.from.run).ok().and_then(|run| self.runs.get(run.checked_sub(1)?));
        let Some(pace) = run.and_then(|run| run.settings.as_ref()).map(|settings| &settings.pace) else {
            return;
        };
        let log = self.log;
        let set = set_before(log, (asked.from.run, asked.from.mono));
        let of_host: Vec<&WishSettings> =
            pace.wishes.iter().chain(set).filter(|wish| is_for(wish, host)).collect();
        let mut faults = Vec::new();
        let mut counted: Vec<&str> = Vec::new();
        for wish in of_host {
            self.check.case();
            let name = wish.zone.as_deref().unwrap_or(&pace.zone);
            let zone = self.zones.entry(name).or_insert_with(|| TimeZone::get(name).unwrap_or(TimeZone::UTC));
            let local = zone.to_datetime(asked.from.wall);
            let minute = i32::from(local.hour()) * 60 + i32::from(local.minute());
            if let Some(hours) = wish.hours.as_ref().filter(|hours| !is_within(hours, minute)) {
                faults.push(format!("at {} in {name}, outside {hours}", local.time()));
            }
            if wish.requests_per_day.is_some() || wish.bytes_per_day.is_some() {
                let (requests, bytes) = self.days.entry((name, local.date())).or_default();
                if !counted.contains(&name) {
                    counted.push(name);
                    *requests += 1;
                    *bytes += asked.bytes;
                }
                if let Some(most) = wish.requests_per_day.filter(|most| *requests > *most) {
                    faults.push(format!(
                        "request {requests} of {} in {name}; {most} are asked for",
                        local.date()
                    ));
                }
                let earlier = *bytes - asked.bytes;
                if let Some(most) = wish.bytes_per_day.filter(|most| earlier >= *most) {
                    faults.push(format!(
                        "after {earlier} bytes on {} in {name}; {most} are asked for",
                        local.date()
                    ));
                }
            }
            let by_hour = wish.delays.iter().filter(|(hours, _)| is_within(hours, minute));
            let delay = by_hour.map(|(_, delay)| delay.0).chain(wish.delay).max().unwrap_or_default();
            if let Some(before) = before.filter(|_| !delay.is_zero()) {
                let between = self.log.between(before, asked);
                if between - delay.as_secs_f64() + ROUNDING < 0.0 {
                    faults.push(format!("after {between:.6} s; {} s are asked for", delay.as_secs_f64()));
                }
            }
        }
        for what in faults {
            self.check.broken(format!("{host}: {}", asked.url), Some(asked.from.wall), what);
        }
    }

    pub(super) fn check(self) -> Check {
        self.check
    }
}

/// The wishes that were set before a request: of those for the same hosts the last one. One that came just before may have met a request that was about to
/// start.
fn set_before(log: &Log, at: (u32, Duration)) -> Vec<&WishSettings> {
    let mut in_force: Vec<&WishSettings> = Vec::new();
    for ((run, clock), wish) in &log.wishes {
        if (*run, clock.saturating_add(ABOUT_TO_START)) < at {
            in_force.retain(|other| other.hosts != wish.hosts);
            in_force.push(wish);
        }
    }
    in_force
}

fn is_for(wish: &WishSettings, host: &str) -> bool {
    wish.hosts.iter().map(|name| name.to_lowercase()).any(|name| match name.strip_prefix("*.") {
        Some(above) => host.ends_with(&format!(".{above}")) && host.len() > above.len() + 1,
        None => name == host,
    })
}

/// Whether a minute of the day is within hours as the settings have them: `22:00-06:00, 12:00-13:00`.
fn is_within(hours: &str, minute: i32) -> bool {
    let read = |time: &str| {
        let (hour, minute) = time.trim().split_once(':')?;
        Some(hour.parse::<i32>().ok()? * 60 + minute.parse::<i32>().ok()?)
    };
    hours.split(',').any(|range| {
        let ends = range.split_once('-').and_then(|(from, to)| Some((read(from)?, read(to)?)));
        ends.is_some_and(|(from, to)| {
            let (is_behind, is_before) = (from <= minute, minute < to);
            if from < to { is_behind && is_before } else { is_behind || is_before }
        })
    })
}
