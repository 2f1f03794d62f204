//! What delays a ready host besides its own delay: quotas over all hosts, other hosts of its group, a shortage of this machine, and
//! the end of a worker's lease.

use std::net::IpAddr;
use std::time::Duration;

use super::quota::Quotas;
use super::shortage::Shortage;
use super::turns::{Comes, Group, Next, Rest, Turn, Turns};
use crate::deadline::Deadline;
use crate::frontier::{Frontier, HostId, Lease};
use crate::pace::DelayReason;
use crate::store::Store;
use crate::visit::Requested;
use page::clock::Now;

/// What delays a ready host besides its own delay.
pub(super) struct Gates {
    pub(super) quotas: Quotas,
    /// A wait for a quota that isn't in the ledger yet, and those that are.
    quota_wait: Option<DelayReason>,
    quotas_entered: Vec<DelayReason>,
    turns: Option<Turns>,
    pub(super) shortage: Shortage,
    /// Until when hosts may be asked, where somebody else may ask them afterwards.
    deadline: Option<Deadline>,
}

impl Gates {
    pub(super) fn new(quotas: Quotas, turns: Option<Turns>, deadline: Option<Deadline>) -> Self {
        let (quota_wait, quotas_entered) = (None, Vec::new());
        Self { quotas, quota_wait, quotas_entered, turns, shortage: Shortage::default(), deadline }
    }

    /// Whether hosts may be asked now: the worker's lease of them isn't over.
    fn has_lease(&self) -> bool {
        self.deadline.as_ref().is_none_or(|deadline| deadline.remaining().is_some())
    }

    /// Whether one more request may start now, whichever its host. `is_ready`: a host is, so that it waits for the gate alone.
    pub(super) fn has_capacity(&mut self, now: Now, is_ready: impl FnOnce() -> bool) -> bool {
        if !self.has_lease() || !self.shortage.lets(now.mono) {
            return false;
        }
        let lets = self.quotas.admit(now);
        if let Some((_, why)) = self.quotas.until()
            && is_ready()
        {
            self.quota_wait = Some(why);
        }
        lets
    }

    /// When a host that is ready at a time may be asked. None without a lease of the hosts: each tick looks again.
    pub(super) fn opens(&self, ready: Duration) -> Option<Duration> {
        let held = [self.quotas.until().map(|(until, _)| until), self.shortage.until()];
        let opens = held.into_iter().flatten().fold(ready, Duration::max);
        self.has_lease().then_some(opens)
    }

    /// Why a host that is ready isn't asked.
    pub(super) fn closed(&self) -> Option<DelayReason> {
        let shortage = self.shortage.until().map(|_| DelayReason::LocalShortage);
        shortage.or(self.quotas.until().map(|(_, why)| why))
    }

    /// A request goes out. Returns the quota that it waited for, the first time for each quota.
    pub(super) fn leased(&mut self, lease: &Lease, to_look_up: bool, now: Now) -> Option<DelayReason> {
        if !to_look_up {
            self.quotas.used(lease.host, lease.token, now);
        }
        self.shortage.leased(lease);
        let why = self.quota_wait.take().filter(|why| !self.quotas_entered.contains(why))?;
        self.quotas_entered.push(why);
        Some(why)
    }

    /// The groups of hosts; none where each host is by itself.
    pub(super) fn turns(&mut self) -> Option<&mut Turns> {
        self.turns.as_mut()
    }

    /// The group of a host that is asked at this address.
    pub(super) fn group(&self, name: &str, address: Option<IpAddr>) -> Option<Group> {
        self.turns.as_ref()?.group(name, address)
    }

    /// Whether the group of a host is free: the slot is taken then.
    pub(super) fn turn<S: Store>(&mut self, frontier: &Frontier<S>, lease: &Lease, now: Now) -> Turn {
        let Some(turns) = &mut self.turns else { return Turn::Alone };
        let waited = lease.state.waited;
        let own = if waited.why.is_usual() { waited.or_longer(lease.state.gap) } else { lease.state.gap };
        let comes = Comes { host: lease.host, name: frontier.name(lease.host), delay: own.length };
        turns.turn(comes, now, |host| frontier.has_work(host))
    }

    /// A visit is over: the quotas count it.
    pub(super) fn passed(&mut self, lease: &Lease, request: Option<&Requested>) {
        match request {
            Some(request) => self.quotas.received(request.bytes, request.ended),
            None => self.quotas.unused(lease.host, lease.token),
        }
        if let Some(turns) = &mut self.turns
            && request.is_some_and(|request| request.unreached)
        {
            turns.unreached(lease.host);
        }
    }

    /// A visit is settled: the next host of its group has its turn.
    pub(super) fn free<S: Store>(
        &mut self,
        frontier: &mut Frontier<S>,
        host: HostId,
        rest: Option<Rest>,
        now: Now,
    ) {
        let Some(turns) = &mut self.turns else { return };
        let next = turns.free(host, rest, now, |host| frontier.has_work(host));
        call(frontier, next);
    }

    /// Gives the hosts their turn that wait behind one which doesn't come.
    pub(super) fn pass_overdue<S: Store>(&mut self, frontier: &mut Frontier<S>, now: Now) {
        let Some(turns) = &mut self.turns else { return };
        let next = turns.overdue(now, |host| frontier.has_work(host));
        call(frontier, next);
    }

    /// A host's addresses became known: the host is ready as before.
    pub(super) fn located<S: Store>(
        &mut self,
        frontier: &mut Frontier<S>,
        host: HostId,
        found: Vec<IpAddr>,
        now: Now,
    ) {
        let Some(turns) = &mut self.turns else { return };
        let next = turns.know(host, found, now, |host| frontier.has_work(host));
        call(frontier, next);
    }
}

/// Ends the wait of hosts whose turn is next in their groups.
fn call<S: Store>(frontier: &mut Frontier<S>, next: Vec<Next>) {
    for (next, at, wait) in next {
        frontier.wait(next, at, wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::Permit;

    fn at(ms: u64) -> Now {
        Now { mono: Duration::from_millis(ms), wall: jiff::Timestamp::UNIX_EPOCH }
    }

    #[test]
    fn a_wait_for_a_quota_is_reported_once_and_only_if_a_host_was_ready() {
        let mut gates = Gates::new(Quotas::new(Some(1.0), None, at(0)), None, None);
        let permit = Permit::of_a_test();
        let mut reported = Vec::new();
        // When, and whether a host is ready meanwhile.
        for (ms, is_ready) in [(0, true), (1_000, false), (2_000, true), (3_000, true)] {
            assert!(gates.has_capacity(at(ms), || panic!("no quota holds it back")), "{ms}");
            reported.extend(gates.leased(permit.lease(), false, at(ms)).map(|why| (ms, why)));
            assert!(!gates.has_capacity(at(ms + 999), || is_ready), "{ms}");
            assert_eq!(gates.opens(Duration::ZERO), Some(at(ms + 1_000).mono));
            assert_eq!(gates.closed(), Some(DelayReason::MaxRate));
        }
        assert_eq!(reported, [(1_000, DelayReason::MaxRate)]);
    }

    #[test]
    fn nothing_is_asked_after_the_deadline() {
        let mut gates = Gates::new(Quotas::new(None, None, at(0)), None, None);
        assert!(gates.has_capacity(at(0), || true));
        assert_eq!(gates.opens(at(7).mono), Some(at(7).mono));
        let mut gates = Gates { deadline: Some(Deadline::default()), ..gates };
        assert!(!gates.has_capacity(at(0), || true), "no lease yet");
        assert_eq!(gates.opens(at(7).mono), None, "each tick looks again");
    }
}
