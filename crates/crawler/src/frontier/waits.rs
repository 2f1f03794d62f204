//! What hosts wait for: gaps, pauses, visits that are held back, hosts that are left alone; and which is ready next.

use std::cmp::Reverse;
use std::time::Duration;

use super::Frontier;
use super::host::HostCounts;
use super::item::HostId;
use super::lease::Waiting;
use crate::clock::Now;
use crate::pace::{Delay, HostPace};
use crate::store::Store;

impl<S: Store> Frontier<S> {
    /// Ends or changes a host's wait.
    pub fn wait(&mut self, id: HostId, not_before: Duration, wait: Delay) {
        let host = self.host_mut(id);
        host.not_before = not_before;
        host.wait = wait;
        self.schedule_if_idle(id);
    }

    /// Holds a host's visits back until [`Frontier::release_visits`]: its robots.txt is asked for at another host. Its
    /// errands go on, so that two hosts whose files lie at each other's don't wait for one another.
    pub fn hold_visits(&mut self, id: HostId) {
        self.host_mut(id).held = true;
        self.schedule_if_idle(id);
    }

    /// Ends what [`Frontier::hold_visits`] began. The host keeps at least `gap` from its last request.
    pub fn release_visits(&mut self, id: HostId, gap: Delay) {
        let host = self.host_mut(id);
        if !std::mem::take(&mut host.held) {
            return;
        }
        let gap = gap.or_longer(host.gap);
        let last = host.not_before.saturating_sub(host.gap.length);
        if last.saturating_add(gap.length) > host.not_before {
            host.not_before = last.saturating_add(gap.length);
            host.wait = gap;
        }
        host.gap = gap;
        self.schedule_if_idle(id);
    }

    /// Leaves a host alone for the rest of this process; its URLs stay queued.
    pub fn park(&mut self, id: HostId, reason: &str) {
        self.host_mut(id).parked = Some(reason.into());
        self.schedule_if_idle(id);
    }

    /// Leaves the hosts alone that have brought so many pages, as [`Frontier::park`] did when they brought the last one.
    pub fn park_full(&mut self, most: u64) {
        for index in 0..self.hosts.len() {
            let pages = self.hosts[index].counts.pages;
            if pages >= most {
                self.park(HostId(index as u32), &format!("max-pages-per-host {pages}"));
            }
        }
    }

    /// When the next host is ready, on the monotonic clock. None if nothing is queued or everything is leased.
    pub fn next_ready(&mut self) -> Option<Duration> {
        while let Some(Reverse((at, stamp, id))) = self.ready.peek().copied() {
            let host = &self.hosts[id.0 as usize];
            if host.stamp == stamp && host.leased.is_none() {
                return Some(at);
            }
            self.ready.pop();
        }
        None
    }

    /// Whether there is anything to ask the host for.
    pub fn has_work(&self, id: HostId) -> bool {
        self.hosts[id.0 as usize].has_work()
    }

    /// The host's name.
    pub fn name(&self, id: HostId) -> &str {
        &self.hosts[id.0 as usize].name
    }

    /// The host's state of pace and its counters, to be changed by the engine.
    pub fn pace_and_counts(&mut self, id: HostId) -> (&mut HostPace, &mut HostCounts) {
        let host = self.host_mut(id);
        (&mut host.pace, &mut host.counts)
    }

    /// Sets the gap in force between two requests to a host.
    pub fn set_gap(&mut self, id: HostId, gap: Delay) {
        self.host_mut(id).gap = gap;
    }

    /// The gap in force.
    pub fn gap(&self, id: HostId) -> Delay {
        self.hosts[id.0 as usize].gap
    }

    /// The wait that a lease in force, or the last one, had to sit out.
    pub fn waited(&self, id: HostId) -> Delay {
        self.hosts[id.0 as usize].waited
    }

    /// When the host may be asked again.
    pub fn not_before(&self, id: HostId) -> Duration {
        self.hosts[id.0 as usize].not_before
    }

    /// Notes how the host's robots.txt was answered.
    pub fn set_robots_status(&mut self, id: HostId, status: &str) {
        self.host_mut(id).robots_status = Some(status.into());
    }

    /// The hosts with URLs queued and no request under way: what they wait for, and for how much longer.
    pub fn waiting(&self, now: Now) -> impl Iterator<Item = Waiting<'_>> {
        let idle = self.hosts.iter().filter(|host| host.leased.is_none() && host.queued() > 0);
        idle.map(move |host| Waiting {
            host: &host.name,
            why: host.wait.why,
            left: host.not_before.saturating_sub(now.mono),
            gap: host.gap,
            queued: host.queued(),
            parked: host.parked.as_deref(),
        })
    }

    /// True if a host will be ready within `most`, or waits for an ordinary gap, however long.
    pub fn has_prospect(&self, now: Now, most: Duration) -> bool {
        self.hosts.iter().any(|host| {
            host.leased.is_some()
                || (host.has_work()
                    && (!host.wait.why.is_pause() || host.not_before.saturating_sub(now.mono) <= most))
        })
    }
}
