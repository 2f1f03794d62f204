//! What delays a ready host besides its own delay: quotas over all hosts, and other hosts on its address.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::Engine;
use super::address::{Addresses, Turn};
use super::pool::{Pool, Pooled};
use super::quota::Quotas;
use super::shortage::Shortage;
use crate::clock::Now;
use crate::fetch::Fetch;
use crate::frontier::{HostId, Lease, Permit, Work};
use crate::pace::{Delay, DelayReason};
use crate::record::{Decided, Layer};
use crate::store::Store;
use crate::visit::Requested;

/// What delays a ready host besides its own delay.
pub(super) struct Gates {
    pub(super) quotas: Quotas,
    /// A wait for a quota that isn't in the ledger yet, and those that are.
    quota_wait: Option<DelayReason>,
    quotas_entered: Vec<DelayReason>,
    addresses: Option<Addresses>,
    pub(super) shortage: Shortage,
}

impl Gates {
    pub(super) fn new(quotas: Quotas, addresses: Option<Addresses>) -> Self {
        let (quota_wait, quotas_entered) = (None, Vec::new());
        Self { quotas, quota_wait, quotas_entered, addresses, shortage: Shortage::default() }
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Has the engine keep to its worker's part of the rate and the bandwidth, instead of the whole of both.
    pub fn keep_pace(&mut self, pool: Arc<Pool>) {
        self.gates.quotas = Quotas::pooled(Pooled::new(pool), self.clock.now());
    }

    /// Whether the quotas let one more request start now.
    pub(super) fn quota_lets(&mut self, now: Now) -> bool {
        let lets = self.gates.quotas.admit(now);
        if let Some((_, why)) = self.gates.quotas.until()
            && self.frontier.next_ready().is_some_and(|at| at <= now.mono)
        {
            self.gates.quota_wait = Some(why);
        }
        lets
    }

    /// A permit goes out: the request counts, and the first wait for each quota is entered.
    pub(super) fn leased_by_quota(&mut self, lease: &Lease, to_look_up: bool, now: Now) {
        if !to_look_up {
            self.gates.quotas.used(lease.host, lease.token, now);
        }
        if let Some(why) = self.gates.quota_wait.take()
            && !self.gates.quotas_entered.contains(&why)
        {
            self.gates.quotas_entered.push(why);
            let most = match why {
                DelayReason::MaxRate => self.settings.max_rate.map(|most| most.to_string()),
                _ => self.settings.max_bandwidth.map(|most| most.to_string()),
            };
            let evidence = format!("{} per second over all hosts; reported once", most.unwrap_or_default());
            self.decided(lease, now, Decided::Paused, Layer::Pace, why, evidence);
        }
    }

    /// Lets a permit through if its host's address is free. The second value says that the address isn't known yet. None: the
    /// host waits.
    pub(super) fn turn(&mut self, mut permit: Permit, now: Now) -> Option<(Permit, bool)> {
        let Some(addresses) = &mut self.gates.addresses else { return Some((permit, false)) };
        let host = permit.lease().host;
        match addresses.turn(host, now) {
            Turn::Now(booking) => {
                permit.book(Some(booking));
                Some((permit, false))
            }
            Turn::Unknown => Some((permit, true)),
            Turn::At(at) => {
                let length = at.saturating_sub(now.mono);
                self.put_back(permit, at, Delay { length, why: DelayReason::SharedAddress });
                None
            }
        }
    }

    /// A visit is over: the quotas count it, and the next host of its address has its turn.
    pub(super) fn pass_gates(&mut self, lease: &Lease, request: Option<&Requested>) {
        match request {
            Some(request) => self.gates.quotas.received(request.bytes, request.ended),
            None => self.gates.quotas.unused(lease.host, lease.token),
        }
        let Some(addresses) = &mut self.gates.addresses else { return };
        if request.is_some_and(|request| request.unreached) {
            addresses.unreached(lease.host);
        }
        let next = addresses.free(lease.host, request.map(|request| request.ended.mono));
        self.call(next);
    }

    /// Ends the wait of the host whose turn is next on its address.
    fn call(&mut self, next: Option<(HostId, Duration)>) {
        if let Some((next, at)) = next {
            let now = self.clock.now().mono;
            let wait = Delay { length: at.saturating_sub(now), why: DelayReason::SharedAddress };
            self.frontier.wait(next, at, wait);
        }
    }

    /// Returns the hosts their turn that wait behind one which doesn't come.
    pub(super) fn pass_overdue(&mut self, now: Now) {
        let Some(addresses) = &mut self.gates.addresses else { return };
        for next in addresses.overdue(now, |host| self.frontier.has_work(host)) {
            self.frontier.wait(
                next,
                now.mono,
                Delay { length: Duration::ZERO, why: DelayReason::SharedAddress },
            );
        }
    }

    /// A host's addresses became known: the host is ready as before.
    pub(super) fn located(&mut self, host: HostId, found: Vec<IpAddr>) {
        let now = self.clock.now();
        let next = self.gates.addresses.as_mut().and_then(|all| all.know(host, found, now));
        self.call(next);
    }

    /// Returns a permit back as if it had never been out: a robots fetch, too, is still to be done.
    pub(super) fn put_back(&mut self, permit: Permit, not_before: Duration, wait: Delay) {
        let (host, work) = (permit.lease().host, permit.lease().work.clone());
        self.frontier.release(permit, not_before, wait);
        if let Work::RobotsFetch(robots_fetch) = work {
            self.frontier.send(host, robots_fetch);
        }
    }
}
