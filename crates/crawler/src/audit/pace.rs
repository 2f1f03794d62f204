//! One request at a time per host, and the delay in effect between any two.

use super::clocks::Moment;
use super::host_groups::GroupOf;
use super::requests::{Asked, Groups, Log, Pause, Place};
use super::shared::{of_addresses, of_names};
use super::table::Table;
use super::{AuditError, AuditRules, Check, LISTED};
use crate::store::Store;

/// Times in the ledger are whole microseconds: two of them may be off by one each.
const ROUNDING: f64 = 0.000_002;

/// Judges the requests and pauses of hosts, one host after the other.
pub(super) struct Pace<'a> {
    log: &'a Log,
    overlap: Check,
    gap: Check,
    configured: Check,
    pauses: Check,
    /// Moments and place of each request of a host that has pauses.
    asked: Table,
    has_pauses: bool,
}

impl<'a> Pace<'a> {
    pub(super) fn new(log: &'a Log, rules: &AuditRules) -> Self {
        Self {
            log,
            overlap: Check::new("overlap", "never more than one request at a time to one host"),
            gap: Check::new("gap", "the time between two requests is never less than the delay in effect"),
            configured: Check::new(
                "configured_delay",
                "the time between two requests is never less than the configured delay",
            ),
            pauses: Check::new(
                "pauses",
                "a host gets no request during a pause (Retry-After, 429, 503, failures)",
            ),
            asked: Table::new(rules.temporary.as_deref(), 2 * Moment::BYTES + Place::BYTES),
            has_pauses: false,
        }
    }

    /// Begins with the next host.
    pub(super) fn begin(&mut self) {
        self.asked.clear();
        self.has_pauses = false;
    }

    /// Says that pauses come behind the host's requests.
    pub(super) fn will_pause(&mut self) {
        self.has_pauses = true;
    }

    /// Judges a request against the one before it.
    pub(super) fn take(&mut self, before: Option<&Asked>, after: &Asked) -> Result<(), AuditError> {
        if self.has_pauses {
            let row = [&after.from.bytes()[..], &after.to.bytes(), &after.place.bytes()].concat();
            self.asked.push(&row)?;
        }
        let Some(before) = before else { return Ok(()) };
        let Self { overlap, gap, configured, .. } = self;
        let between = self.log.between(before, after);
        let subject = || format!("{} after {}", after.url, before.url);
        if !overlap.margin(between + ROUNDING) {
            let what = format!("sent {:.6} s before the previous response was complete", -between);
            overlap.broken(subject(), Some(after.from.wall), what);
        }
        if !gap.margin(between - after.gap.as_secs_f64() + ROUNDING) {
            let (asked, why) = (after.gap.as_secs_f64(), &after.gap_reason);
            let what = format!("after {between:.6} s; the delay in effect was {asked:.6} s ({why})");
            gap.broken(subject(), Some(after.from.wall), what);
        }
        let own = after.configured.as_secs_f64();
        if !configured.margin(between - own + ROUNDING) {
            let what = format!("after {between:.6} s; the configured delay is {own:.6} s");
            configured.broken(subject(), Some(after.from.wall), what);
        }
        Ok(())
    }

    /// Judges a pause. It counts from the end of the request that brought it: the last one that had ended when it was entered.
    pub(super) fn pause<S: Store>(&mut self, store: &S, host: &str, pause: &Pause) -> Result<(), AuditError> {
        let next = self.asked.partition_point(|row| {
            Moment::read(&row[Moment::BYTES..]).is_some_and(|ended| is_ended(ended, pause))
        })?;
        let Some(before) = next.checked_sub(1).map(|before| self.asked.get(before)).transpose()?.flatten()
        else {
            return Ok(());
        };
        let Some(after) = self.asked.get(next)? else { return Ok(()) };
        let (Some(ended), Some(from)) = (Moment::read(&before[Moment::BYTES..]), Moment::read(&after)) else {
            return Ok(());
        };
        let between = self.log.runs.between(ended, from).most;
        let length = pause.length.as_secs_f64();
        let check = &mut self.pauses;
        if !check.margin(between - length + ROUNDING) {
            let what = format!(
                "requested {between:.3} s after the start of a pause of {length:.3} s ({})",
                pause.reason
            );
            // Those behind are counted.
            let place = Place::read(&after[2 * Moment::BYTES..]);
            let url = if check.first.len() < LISTED { place.url(store)? } else { String::new() };
            check.broken(format!("{host}: {url}"), Some(from.wall), what);
        }
        Ok(())
    }

    pub(super) fn checks(self) -> Vec<Check> {
        vec![self.overlap, self.gap, self.configured, self.pauses]
    }
}

/// Whether a request that ended then had ended when a pause was entered.
fn is_ended(ended: Moment, pause: &Pause) -> bool {
    match pause.clock {
        Some(clock) => ended.order() <= (pause.run, clock),
        // An older version: the wall clock, within the pause's run.
        None => ended.run < pause.run || (ended.run == pause.run && ended.wall <= pause.at),
    }
}

/// All hosts of one group are like one host: a case is any two of its requests in a row, whatever the hosts.
pub(super) fn judge_groups(log: &Log, groups: Groups) -> Result<[Check; 2], AuditError> {
    let (mut of_addresses, mut of_names) = (of_addresses(), of_names());
    let mut last: Option<(GroupOf, Asked)> = None;
    for asked in groups {
        let (group, asked) = asked?;
        let before = last.as_ref().filter(|(of, _)| *of == group).map(|(_, before)| before);
        if let Some(before) = before {
            let after = log.between(before, &asked);
            let (check, name) = match &group {
                GroupOf::Address(address) => (&mut of_addresses, address.to_string()),
                GroupOf::Named(name) => (&mut of_names, format!("the group {name}")),
            };
            let delay = asked.of_group.as_secs_f64();
            if !check.margin(after - delay + ROUNDING) {
                let what = format!(
                    "{name} got a request {after:.6} s after its response to {}; the delay in effect was {delay:.6} s",
                    before.url
                );
                check.broken(&asked.url, Some(asked.from.wall), what);
            }
        }
        // The one that ended last counts.
        if before.is_none_or(|before| before.to.order() <= asked.to.order()) {
            last = Some((group, asked));
        }
    }
    Ok([of_addresses, of_names])
}
