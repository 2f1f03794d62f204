//! What the engine tells the groups of hosts (`turns`), and what it puts on record of them.

use std::net::IpAddr;
use std::time::Duration;

use super::Engine;
use super::turns::Rest;
use crate::fetch::{Booked, Fetch};
use crate::frontier::{HostId, Lease, stored_hosts};
use crate::host_groups::Membership;
use crate::pace::{Delay, DelayReason};
use crate::record::{group_address_key, group_addresses};
use crate::store::{Store, StoreError, Tree};
use crate::visit::Requested;
use page::clock::Now;

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Has each group know the delays and pauses of its hosts of an earlier process. Cost: one pass over the hosts, where there are groups.
    pub(super) fn restore_groups(&mut self) -> Result<(), StoreError> {
        if self.settings.groups.is_none() || self.totals.runs < 2 {
            return Ok(());
        }
        let addresses = group_addresses(&**self.frontier.store())?;
        let store = self.frontier.store().clone();
        for host in stored_hosts(&*store)? {
            let (id, record) = host?;
            let address = addresses.get(&record.host).copied();
            let Some(group) = self.gates.group(&record.host, address) else { continue };
            let delay = Delay { length: Duration::from_millis(record.delay_ms), why: record.delay_reason };
            let delay = self.group_delay(delay, record.parked.is_some()).unwrap_or_default();
            let (until, why) = self.frontier.wait_of(id);
            let pause = why.is_pause().then_some((until, why));
            if delay <= self.settings.pace.delay && pause.is_none() {
                continue;
            }
            if let Some(turns) = self.gates.turns() {
                turns.restore(group, id, delay, pause);
            }
        }
        Ok(())
    }

    /// The delay of a host as it counts in its group; none where the host isn't asked any more, since it asks for too long a delay.
    fn group_delay(&self, own: Delay, is_parked: bool) -> Option<Duration> {
        let is_too_long = own.is_asked() && own.length > self.context.max_crawl_delay;
        (!is_parked && !is_too_long).then_some(own.length)
    }

    /// A visit is settled: the slot of its group is free.
    pub(super) fn free_group(
        &mut self,
        lease: &Lease,
        requested: Option<Requested>,
        (not_before, wait): (Duration, Delay),
        now: Now,
    ) {
        let own = self.frontier.gap(lease.host);
        let delay = self.group_delay(own, false);
        let rest = requested.map(|requested| Rest {
            ended: requested.ended.mono,
            not_before,
            why: wait.why,
            delay,
            answered: requested.status.is_some() || requested.given_up,
        });
        self.gates.free(&mut self.frontier, lease.host, rest, now);
    }

    /// A visit panicked, perhaps in the midst of its request.
    pub(super) fn free_panicked(&mut self, lease: &Lease, now: Now) {
        let own = self.frontier.gap(lease.host);
        let delay = self.group_delay(own, false);
        let rest =
            Rest { ended: now.mono, not_before: now.mono, why: DelayReason::Restart, delay, answered: false };
        self.gates.free(&mut self.frontier, lease.host, Some(rest), now);
    }

    /// The robots.txt of a host became known, and with it the delay that it asks for.
    pub(super) fn slows_group(&mut self, host: HostId, own: Delay) {
        let delay = self.group_delay(own, false).unwrap_or_default();
        if let Some(turns) = self.gates.turns() {
            turns.slower(host, self.frontier.name(host), delay);
        }
    }

    /// A request of an earlier process may be in flight for so long.
    pub(super) fn group_ends(&mut self, host: HostId, address: Option<IpAddr>, remaining: Duration) {
        let name = self.frontier.name(host);
        if self.settings.groups.of(name) == Membership::Alone {
            return;
        }
        let until = self.clock.now().mono + remaining;
        let group = self.gates.group(name, address);
        if let Some(turns) = self.gates.turns() {
            turns.ends_at(group, until);
        }
    }

    /// A host pauses since an earlier process.
    pub(super) fn group_pauses(
        &mut self,
        host: HostId,
        until: Duration,
        why: DelayReason,
    ) -> Result<(), StoreError> {
        if self.settings.groups.is_none() {
            return Ok(());
        }
        let name = self.frontier.name(host).to_owned();
        let address = self.frontier.get(Tree::Meta, &group_address_key(&name))?;
        let address = address.and_then(|text| String::from_utf8_lossy(&text).parse().ok());
        let own = self.frontier.gap(host);
        let delay = self.group_delay(own, false).unwrap_or_default();
        if let Some(group) = self.gates.group(&name, address)
            && let Some(turns) = self.gates.turns()
        {
            turns.restore(group, host, delay, Some((until, why)));
        }
        Ok(())
    }

    /// Puts the address on record at which a host is asked that shares it.
    pub(super) fn note_address(&mut self, lease: &Lease) {
        let Some(Booked::At(address)) = lease.booking.map(|booking| booking.at) else { return };
        let address = crate::fetch::machine(address);
        if let Some(turns) = self.gates.turns()
            && turns.is_new_address(lease.host, address)
        {
            let key = group_address_key(self.frontier.name(lease.host));
            self.frontier.put(Tree::Meta, key, address.to_string().into_bytes());
        }
    }
}
