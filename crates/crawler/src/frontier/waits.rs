//! What hosts wait for: delays, pauses, visits that are held back, skipped hosts; and which is ready next.

use std::cmp::Reverse;
use std::time::Duration;

use super::Frontier;
use super::host::{FULL, WALLED};
use super::hosts::Closed;
use super::lease::Waiting;
use super::priority::OpenQueues;
#[cfg(test)]
use super::state::HostCounts;
use super::state::HostState;
use crate::pace::{Delay, DelayReason};
use crate::store::{Store, StoreError};
use crate::wishes::{DayStart, Wishes};
use page::clock::Now;
use page::ids::HostId;

/// When a host may be asked, in nanoseconds of the monotonic clock: half the size of a [`Duration`], once for each host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReadyAt(u64);

impl ReadyAt {
    /// The same time; 584 years and more are one.
    pub(super) fn new(at: Duration) -> Self {
        Self(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(super) fn seconds(at: u32) -> Self {
        Self(u64::from(at) * 1_000_000_000)
    }

    pub(super) fn time(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl<S: Store> Frontier<S> {
    /// Ends or changes a host's wait.
    pub fn wait(&mut self, id: HostId, not_before: Duration, wait: Delay) {
        if self.hosts.is_idle(id) {
            let slot = self.hosts.slot_mut(id);
            slot.at = super::hosts::seconds(not_before);
            slot.why = wait.why;
            slot.stamp = slot.stamp.wrapping_add(1);
            if slot.has_idle_work() {
                self.ready.push(Reverse((ReadyAt::seconds(slot.at), slot.stamp, id)));
            }
            return;
        }
        let host = self.host_mut(id);
        host.not_before = not_before;
        host.wait = wait;
        self.schedule_if_idle(id);
    }

    /// Counts a request whose end isn't known, for a robots.txt or not, and has its host wait until `not_before` at least. The host is in memory.
    pub fn count_interrupted(&mut self, id: HostId, is_robots: bool, not_before: Duration, wait: Delay) {
        let host = self.host_mut(id);
        host.counts.requests += 1;
        host.counts.robots_requests += u64::from(is_robots);
        if not_before > host.not_before {
            host.not_before = not_before;
            host.wait = wait;
        }
        self.schedule_if_idle(id);
    }

    /// Notes what was counted of a host when the days began that wishes limit. The host is in memory.
    pub fn begin_days(&mut self, id: HostId, wishes: &Wishes, now: jiff::Timestamp) {
        let host = &mut self.hosts[id];
        let counts = (host.counts.requests, host.counts.bytes);
        if wishes.begin_days(&host.name, &mut host.days, now, counts) {
            self.host_mut(id);
        }
    }

    /// What was counted of a host in memory when the days began that wishes limit.
    pub fn days(&self, id: HostId) -> &[DayStart] {
        &self.hosts[id].days
    }

    /// How long a host in memory pauses yet; nothing where it waits for its ordinary gap.
    pub fn pause_of(&self, id: HostId, now: Now) -> Duration {
        match self.hosts.slot(id).host() {
            Some(host) if host.wait.why.is_pause() => host.not_before.saturating_sub(now.mono),
            _ => Duration::ZERO,
        }
    }

    /// Holds a host's visits back until [`Frontier::release_visits`]: its robots.txt is asked for at another host. Its
    /// robots fetches go on, so that two hosts whose files lie at each other's don't wait for one another.
    pub fn hold_visits(&mut self, id: HostId) {
        self.host_mut(id).held = true;
        self.schedule_if_idle(id);
    }

    /// Ends what [`Frontier::hold_visits`] began. The host keeps at least `gap` from its last request.
    pub fn release_visits(&mut self, id: HostId, gap: Delay) {
        // A host whose visits are held is in memory.
        if self.hosts.is_idle(id) {
            return;
        }
        let host = self.host_mut(id);
        if !std::mem::take(&mut host.held) {
            return;
        }
        let gap = gap.or_longer(host.gap);
        host.wait_at_least(gap);
        self.schedule_if_idle(id);
    }

    /// Skips a host for the rest of this process; its URLs stay queued.
    pub fn park(&mut self, id: HostId, reason: &str) {
        self.host_mut(id).parked = Some(reason.into());
        self.schedule_if_idle(id);
    }

    /// Skips the hosts whose robots.txt asked for more than `longest` between pages, and which still wait for that: the crawl that an earlier process
    /// stopped would wait for them before it finds the same, perhaps forever. Returns their names and what they asked for. Cost: one pass over all
    /// hosts.
    pub fn park_slow(&mut self, longest: Duration) -> Result<Vec<(String, Delay)>, StoreError> {
        let late = self.opened.saturating_add(longest);
        let is_late = |slot: &super::hosts::Slot| match slot.host() {
            Some(host) => host.not_before > late,
            None => slot.queued > 0 && Duration::from_secs(u64::from(slot.at)) > late,
        };
        let late: Vec<HostId> =
            self.hosts.slots().filter(|(_, slot)| is_late(slot)).map(|(id, _)| id).collect();
        let mut parked = Vec::new();
        for id in late {
            self.load(id)?;
            let host = &self.hosts[id];
            let asked = host.gap;
            if asked.is_asked() && asked.length > longest && !host.wait.why.is_pause() {
                parked.push((host.name.to_string(), asked));
                self.park(id, &asked.over_max_crawl_delay());
            }
        }
        Ok(parked)
    }

    /// Leaves the hosts alone that have brought so many pages, as [`Frontier::park`] did when they brought the last one.
    pub fn park_full(&mut self, most: u64) -> Result<(), StoreError> {
        for id in self.hosts.ids() {
            let pages = self.hosts[id].counts.pages;
            if pages >= most {
                self.park(id, &format!("{FULL}{pages}"));
            }
        }
        self.park_idle(most)
    }

    /// When the next host is ready, on the monotonic clock. None if nothing is queued or everything is leased.
    pub fn next_ready(&mut self) -> Option<Duration> {
        while let Some(Reverse((at, stamp, id))) = self.ready.peek().copied() {
            let slot = self.hosts.slot(id);
            if slot.stamp == stamp && slot.host().is_none_or(|host| host.leased.is_none()) {
                return Some(at.time());
            }
            self.ready.pop();
        }
        None
    }

    /// Whether there is anything to ask the host for.
    pub fn has_work(&self, id: HostId) -> bool {
        let slot = self.hosts.slot(id);
        slot.host().map_or(slot.has_idle_work(), |host| host.has_work(self.open))
    }

    /// The host of a name, if the crawl has one.
    pub fn find(&self, host: &str) -> Option<HostId> {
        self.hosts.find(host)
    }

    /// The host's name.
    pub fn name(&self, id: HostId) -> &str {
        &self.hosts[id].name
    }

    /// The gap in force.
    pub fn gap(&self, id: HostId) -> Delay {
        self.hosts[id].gap
    }

    /// What settling a visit to the host has to know of it.
    pub fn state(&self, id: HostId) -> HostState {
        self.hosts[id].state()
    }

    /// The host's counters, to be set by a test.
    #[cfg(test)]
    pub(crate) fn counts_mut(&mut self, id: HostId) -> &mut HostCounts {
        &mut self.host_mut(id).counts
    }

    /// Sets the gap in force, in a test.
    #[cfg(test)]
    pub(crate) fn set_gap(&mut self, id: HostId, gap: Delay) {
        self.host_mut(id).gap = gap;
    }

    /// Until when a host waits, and why; of hosts that aren't in memory in whole seconds.
    pub fn wait_of(&self, id: HostId) -> (Duration, DelayReason) {
        let slot = self.hosts.slot(id);
        match slot.host() {
            Some(host) => (host.not_before, host.wait.why),
            None => (Duration::from_secs(u64::from(slot.at)), slot.why),
        }
    }

    /// When the host may be asked again.
    pub fn not_before(&self, id: HostId) -> Duration {
        self.hosts[id].not_before
    }

    /// Notes how the host's robots.txt was answered.
    pub fn set_robots_status(&mut self, id: HostId, status: &str) {
        self.host_mut(id).robots_status = Some(status.into());
    }

    /// The hosts in memory with URLs queued and no request under way: what they wait for, and for how much longer.
    pub fn waiting(&self, now: Now) -> impl Iterator<Item = Waiting<'_>> {
        let idle = self.hosts.iter().filter(|(_, host)| host.leased.is_none() && host.queued() > 0);
        idle.map(move |(_, host)| Waiting {
            host: &host.name,
            why: host.wait.why,
            remaining: host.not_before.saturating_sub(now.mono),
            gap: host.gap,
            queued: host.queued(),
            parked: host.parked.as_deref(),
        })
    }

    /// The hosts with URLs queued: name, what they wait for or why they are skipped, URLs queued. At most `most` of them,
    /// those in memory first. Cost: one read for 64 of the others.
    pub fn remaining(&mut self, now: Now, most: usize) -> Result<Vec<(String, String, u64)>, StoreError> {
        let row = |host: Waiting<'_>| {
            let reason = host.parked.map_or_else(|| host.why.to_string(), str::to_owned);
            (host.host.to_owned(), reason, host.queued)
        };
        let mut rows: Vec<_> = self.waiting(now).take(most).map(row).collect();
        let idle = self.idle_remaining(most - rows.len())?;
        rows.extend(idle);
        rows.sort();
        Ok(rows)
    }

    /// How many hosts have URLs queued and no request under way.
    pub fn remaining_hosts(&self) -> u64 {
        let slots = self.hosts.slots().filter(|(_, slot)| match slot.host() {
            Some(host) => host.leased.is_none() && host.queued() > 0,
            None => slot.queued > 0,
        });
        slots.count() as u64
    }

    /// The limit because of which a host with URLs queued is skipped, if one is. A wall is none.
    pub fn parked_for(&mut self) -> Result<Option<String>, StoreError> {
        let waits = |host: &super::host::Host| host.leased.is_none() && host.queued() > 0;
        let is_limit = |reason: &str| !reason.starts_with(WALLED);
        let in_memory = self.hosts.iter().filter(|(_, host)| waits(host));
        let reason =
            { in_memory }.filter_map(|(_, host)| host.parked.as_deref()).find(|reason| is_limit(reason));
        if let Some(reason) = reason {
            return Ok(Some(reason.to_owned()));
        }
        let is_parked = |slot: &super::hosts::Slot| {
            slot.host().is_none() && (slot.parked || slot.full) && slot.queued > 0
        };
        let idle: Vec<HostId> =
            self.hosts.slots().filter(|(_, slot)| is_parked(slot)).map(|(id, _)| id).collect();
        for id in idle {
            let reason = self.idle(id)?.parked();
            if is_limit(&reason) {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    /// True if something waits in a queue that is closed.
    pub fn has_closed(&self) -> bool {
        self.hosts.slots().any(|(_, slot)| match slot.host() {
            Some(host) => host.queued() > 0 && !host.has_work(self.open),
            None => slot.queued > 0 && slot.closed != Closed::No,
        })
    }

    /// True if a host would be ready within `most`, or waits for an ordinary gap, were these queues open.
    pub fn has_prospect_with(&self, open: OpenQueues, now: Now, most: Duration) -> bool {
        let soon = |why: DelayReason, at: Duration| !why.is_pause() || at.saturating_sub(now.mono) <= most;
        self.hosts.slots().any(|(_, slot)| match slot.host() {
            Some(host) => {
                host.leased.is_some() || host.has_work(open) && soon(host.wait.why, host.not_before)
            }
            None => slot.has_idle_work_with(open) && soon(slot.why, Duration::from_secs(u64::from(slot.at))),
        })
    }

    /// True if a host will be ready within `most`, or waits for an ordinary gap, however long.
    pub fn has_prospect(&self, now: Now, most: Duration) -> bool {
        self.has_prospect_with(self.open, now, most)
    }
}
