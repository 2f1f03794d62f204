//! One request slot and one delay for hosts that are asked as one: those of one IP address (`--per-ip`), of one registrable domain, or of a
//! list by hand (`pace.groups`).
//!
//! Between any two requests to a group lies the longest delay of its hosts that have something queued. A pause that a response asks for
//! (`Retry-After`, 429, 503, walls) holds for the whole group; one for lack of a response, only for its host.
//!
//! Where an address is what hosts share, a host is assigned to one address before a request, and is connected only to that one. If it
//! accepts no connection, the host is assigned to its next one: a fall-back within the client could meet a request in flight there.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use super::address_pool::{AddressPool, Taken};
use crate::fetch::{Booked, machine};
use crate::frontier::{Booking, HostId};
use crate::host_groups::{HostGroups, Membership};
use crate::pace::{Delay, DelayReason, after_giving_up, as_the_site_sees};
use page::clock::Now;

/// How far a host is put off that waits for another one's answer; it is called before that.
pub(super) const PUT_OFF: Duration = Duration::from_secs(3600);

/// Whoever doesn't come this long after its turn began lets the next one pass.
const OVERDUE: Duration = Duration::from_secs(1);
/// For how long the addresses of a host hold; then they are looked up again.
const LIFE: Duration = Duration::from_mins(5);

/// Hosts and groups that are kept without a sweep.
const FEW: usize = 1_024;

/// How soon a host looks again whose address another engine asks, or another worker.
const LOOK: Duration = Duration::from_millis(100);

/// For how long it holds that a host has none.
const NOWHERE: Duration = Duration::from_secs(1);

/// The groups of hosts in use.
#[derive(Debug)]
pub(super) struct Turns {
    groups: HostGroups,
    delay: Duration,
    /// When the last request of an earlier process was over at the latest, whichever group it was for.
    ended: Option<Duration>,
    /// The addresses of hosts that share them.
    of_host: HashMap<HostId, Places>,
    slots: HashMap<Group, Slot>,
    /// Which slots are taken.
    held: HashMap<HostId, Group>,
    /// When there are so many hosts or groups, those that say nothing any more are dropped.
    sweep_at: usize,
    /// What the worker has of the addresses, where this is one of its engines.
    taken: Option<Taken>,
}

/// What hosts are asked as one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Group {
    /// Those of a list.
    Listed(Arc<str>),
    /// Those of a registrable domain.
    OfDomain(Arc<str>),
    /// Those of an address.
    Machine(IpAddr),
}

impl Group {
    /// What a host waits for that waits for the others.
    fn reason(&self) -> DelayReason {
        match self {
            Self::Listed(_) | Self::OfDomain(_) => DelayReason::SharedGroup,
            Self::Machine(_) => DelayReason::SharedAddress,
        }
    }

    /// Under which address the workers of a cluster share it; none where all of its hosts are in one partition. A list has one that no machine
    /// has: of the block that only discards (`100::/64`, RFC 6666), with a hash of its name.
    fn shared_as(&self) -> Option<IpAddr> {
        match self {
            Self::Machine(address) => Some(*address),
            Self::OfDomain(_) => None,
            Self::Listed(name) => {
                let hash = blake3::hash(name.as_bytes());
                let hash = u64::from_be_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default());
                Some(Ipv6Addr::from_bits(0x0100 << 112 | u128::from(hash)).into())
            }
        }
    }
}

/// The addresses of a host, and which of them it is booked on.
#[derive(Debug)]
struct Places {
    addresses: Vec<IpAddr>,
    at: usize,
    since: Duration,
    /// The one that is on record as the host's.
    noted: Option<IpAddr>,
}

#[derive(Debug, Default)]
struct Slot {
    busy: Option<HostId>,
    /// Whose turn it is; the others wait, also the one that was asked last and is ready at the same time.
    called: Option<HostId>,
    /// Who looks whether the worker has the address; the others wait.
    looks: Option<HostId>,
    /// When the last request was over.
    ended: Option<Duration>,
    /// Nobody is asked before this: a host pauses, or another worker has the address. And why.
    not_before: Duration,
    why: Option<DelayReason>,
    waiting: VecDeque<HostId>,
    /// The delays of hosts that are longer than the configured one.
    delays: HashMap<HostId, Duration>,
}

impl Slot {
    /// Notes the delay of a host.
    fn note(&mut self, host: HostId, length: Duration, configured: Duration) {
        if length > configured {
            self.delays.insert(host, length);
        } else {
            self.delays.remove(&host);
        }
    }

    /// The delay between two requests: the longest of the hosts that have work.
    fn delay(&self, configured: Duration, has_work: impl Fn(HostId) -> bool) -> Duration {
        let in_force = self.delays.iter().filter(|(host, length)| **length > configured && has_work(**host));
        in_force.map(|(_, length)| *length).max().unwrap_or_default().max(configured)
    }

    /// When the next one may be asked, with this delay.
    fn opens(&self, delay: Duration) -> Duration {
        let after = self.ended.map(|ended| ended.saturating_add(as_the_site_sees(delay)));
        after.unwrap_or_default().max(self.not_before)
    }

    /// Nobody is asked before `until`.
    fn hold(&mut self, until: Duration, why: DelayReason) {
        if until > self.not_before {
            (self.not_before, self.why) = (until, Some(why));
        }
    }
}

/// Whether a host may be asked, as far as others are concerned with which it shares a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It may be asked: it shares nothing.
    Alone,
    /// It may be asked, after this delay of its group, and has the slot of its group now; the booking is where it shares an address.
    Now(Delay, Option<Booking>),
    /// Not before this, and what for.
    At(Duration, Delay),
    /// Its address has to be looked up first.
    Unknown,
}

/// What a host is asked for, by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comes<'a> {
    pub(super) host: HostId,
    pub(super) name: &'a str,
    /// The delay of this host alone, whatever its group has.
    pub(super) delay: Duration,
}

/// What a request leaves behind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest {
    /// When it was over.
    pub(super) ended: Duration,
    /// From when on its host may be asked again, and why not before.
    pub(super) not_before: Duration,
    pub(super) why: DelayReason,
    /// The usual delay of its host; none where it isn't asked any more.
    pub(super) delay: Option<Duration>,
    /// The server answered.
    pub(super) answered: bool,
}

/// The host whose turn is next, from when on, and its wait until then.
pub(super) type Next = (HostId, Duration, Delay);

impl Turns {
    /// Groups with at least this delay. `ended`: when the last request of an earlier process was over.
    pub(super) fn new(groups: HostGroups, delay: Duration, ended: Option<Duration>) -> Self {
        let (of_host, slots, held) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { groups, delay, ended, of_host, slots, held, sweep_at: FEW, taken: None }
    }

    /// As [`Turns::new`], for an engine whose worker shares addresses with others: who asked before is known there.
    pub(super) fn shared(self, pool: Arc<AddressPool>) -> Self {
        Self { taken: Some(Taken::new(pool)), ..self }
    }

    /// The group of a host; `address` is the one that it is asked at. None where it is by itself, or its address isn't known.
    pub(super) fn group(&self, name: &str, address: Option<IpAddr>) -> Option<Group> {
        match self.groups.of(name) {
            Membership::Alone => None,
            Membership::Listed(name) => Some(Group::Listed(name)),
            Membership::OfDomain(name) => Some(Group::OfDomain(name)),
            Membership::OfAddress => Some(Group::Machine(machine(address?))),
        }
    }

    /// A request of an earlier process may be in flight to one host of a group until then; where the group isn't known, to any.
    pub(super) fn ends_at(&mut self, group: Option<Group>, until: Duration) {
        if let Some(group) = group {
            let slot = self.slot(group);
            slot.ended = slot.ended.max(Some(until));
            return;
        }
        self.ended = self.ended.max(Some(until));
        for slot in self.slots.values_mut() {
            slot.ended = slot.ended.max(self.ended);
        }
    }

    /// What an earlier process knew of a host: its delay, and its pause until `not_before`.
    pub(super) fn restore(
        &mut self,
        group: Group,
        host: HostId,
        delay: Duration,
        pause: Option<(Duration, DelayReason)>,
    ) {
        let configured = self.delay;
        let slot = self.slot(group);
        slot.note(host, delay, configured);
        if let Some((until, why)) = pause.filter(|(_, why)| is_of_group(*why)) {
            slot.hold(until, why);
        }
    }

    fn slot(&mut self, group: Group) -> &mut Slot {
        // Who asked before is known to the worker.
        let is_known = self.taken.is_some() && group.shared_as().is_some();
        let ended = self.ended.filter(|_| !is_known);
        self.slots.entry(group).or_insert_with(|| Slot { ended, ..Slot::default() })
    }

    /// Notes the addresses of a host from a look-up. It stays booked where it was, if that is still one of them; else the next
    /// host that waits there has its turn, which is returned as by [`Turns::free`].
    pub(super) fn know(
        &mut self,
        host: HostId,
        addresses: Vec<IpAddr>,
        now: Now,
        has_work: impl Fn(HostId) -> bool,
    ) -> Vec<Next> {
        self.sweep(now, &has_work);
        let booked = self.of_host.get(&host).and_then(|places| places.addresses.get(places.at)).copied();
        let at = booked.and_then(|booked| addresses.iter().position(|address| *address == booked));
        let noted = self.of_host.get(&host).and_then(|places| places.noted);
        let places = Places { addresses, at: at.unwrap_or_default(), since: now.mono, noted };
        self.of_host.insert(host, places);
        let Some(left) = booked.filter(|_| at.is_none()) else { return Vec::new() };
        let left = Group::Machine(machine(left));
        let configured = self.delay;
        let Some(slot) = self.slots.get_mut(&left) else { return Vec::new() };
        slot.delays.remove(&host);
        slot.called = slot.called.filter(|called| *called != host);
        if slot.busy.is_some() {
            return Vec::new();
        }
        next(slot, left.reason(), configured, now, has_work)
    }

    /// Drops hosts that have to be looked up again anyhow, and groups whose delay is over. Who has a slot, or waits in a line, stays, and
    /// so does a host that moved on from an address that took no connection, and a long delay of a host that has work.
    fn sweep(&mut self, now: Now, has_work: impl Fn(HostId) -> bool) {
        if self.of_host.len().max(self.slots.len()) < self.sweep_at {
            return;
        }
        let configured = self.delay;
        self.slots.retain(|_, slot| {
            let is_open = slot.opens(slot.delay(configured, &has_work)) <= now.mono;
            slot.delays.retain(|host, _| has_work(*host));
            slot.busy.is_some() || !slot.waiting.is_empty() || !slot.delays.is_empty() || !is_open
        });
        let in_slots = self.slots.values().flat_map(|slot| slot.busy.iter().chain(&slot.waiting));
        let in_slots: HashSet<HostId> = in_slots.copied().collect();
        self.of_host.retain(|host, places| {
            let is_fresh = now.mono.saturating_sub(places.since) < LIFE;
            is_fresh || places.at > 0 || in_slots.contains(host)
        });
        self.sweep_at = FEW.max(2 * self.of_host.len().max(self.slots.len()));
    }

    /// The address that a host is booked on took no connection: it is booked on its next one, or looked up again.
    pub(super) fn unreached(&mut self, host: HostId) {
        if let Some(places) = self.of_host.get_mut(&host) {
            places.at += 1;
            if places.at >= places.addresses.len() {
                self.of_host.remove(&host);
            }
        }
    }

    /// Takes the slot of a host's group, if it is free.
    pub(super) fn turn(&mut self, comes: Comes<'_>, now: Now, has_work: impl Fn(HostId) -> bool) -> Turn {
        let Comes { host, name, delay } = comes;
        let (group, booking) = match self.groups.of(name) {
            Membership::Alone => return Turn::Alone,
            Membership::Listed(name) => (Group::Listed(name), None),
            Membership::OfDomain(name) => {
                self.sweep(now, &has_work);
                (Group::OfDomain(name), None)
            }
            Membership::OfAddress => match self.booking(host, now) {
                None => return Turn::Unknown,
                Some(Booking { at: Booked::Nowhere, is_last }) => {
                    // One that can't be looked up shares nothing, and is connected to nothing: its request tells why.
                    let none = Delay { length: self.delay, why: DelayReason::Configured };
                    return Turn::Now(none, Some(Booking { at: Booked::Nowhere, is_last }));
                }
                Some(booking @ Booking { at: Booked::At(address), .. }) => {
                    (Group::Machine(machine(address)), Some(booking))
                }
            },
        };
        let (configured, why) = (self.delay, group.reason());
        let slot = self.slot(group.clone());
        slot.note(host, delay, configured);
        // Its own counts, whatever it has queued.
        let length = slot.delay(configured, &has_work).max(delay);
        let opens = slot.opens(length);
        let is_another = |of: Option<HostId>| of.is_some_and(|of| of != host);
        let is_late = now.mono >= opens.saturating_add(OVERDUE);
        if slot.busy.is_some() || !is_late && (is_another(slot.looks) || is_another(slot.called)) {
            if !slot.waiting.contains(&host) {
                slot.waiting.push_back(host);
            }
            return Turn::At(now.mono + PUT_OFF, Delay { length: PUT_OFF, why });
        }
        if opens > now.mono {
            let why = if opens == slot.not_before { slot.why.unwrap_or(why) } else { why };
            let length = if why.is_pause() { opens.saturating_sub(now.mono) } else { length };
            return Turn::At(opens, Delay { length, why });
        }
        if let Some(taken) = &mut self.taken
            && let Some(address) = group.shared_as()
            && !taken.take(address)
        {
            let Some(slot) = self.slots.get_mut(&group) else { return Turn::Unknown };
            slot.looks = Some(host);
            slot.hold(now.mono + LOOK, why);
            return Turn::At(now.mono + LOOK, Delay { length: LOOK, why });
        }
        if let Some(slot) = self.slots.get_mut(&group) {
            (slot.busy, slot.looks, slot.called) = (Some(host), None, None);
        }
        self.held.insert(host, group);
        Turn::Now(Delay { length, why }, booking)
    }

    /// Whether another address is on record for a host than the one that it is asked at; from now on it is this one.
    pub(super) fn is_new_address(&mut self, host: HostId, address: IpAddr) -> bool {
        let places = self.of_host.get_mut(&host);
        places.is_some_and(|places| places.noted.replace(address) != Some(address))
    }

    /// Where a host is booked; none where its addresses have to be looked up.
    fn booking(&self, host: HostId, now: Now) -> Option<Booking> {
        let places = self.of_host.get(&host)?;
        let life = if places.addresses.is_empty() { NOWHERE } else { LIFE };
        if now.mono.saturating_sub(places.since) >= life {
            return None;
        }
        let at = places.addresses.get(places.at).map_or(Booked::Nowhere, |address| Booked::At(*address));
        Some(Booking { at, is_last: places.at + 1 >= places.addresses.len() })
    }

    /// A host turned out to ask for a longer delay.
    pub(super) fn slower(&mut self, host: HostId, name: &str, delay: Duration) {
        let address = self.of_host.get(&host).and_then(|places| places.addresses.get(places.at)).copied();
        let configured = self.delay;
        if let Some(group) = self.group(name, address) {
            self.slot(group).note(host, delay, configured);
        }
    }

    /// Returns a slot back; `rest` is what has to be waited for after the request, if there was one. Returns the host whose turn is next; during a pause
    /// of the group, all that wait.
    pub(super) fn free(
        &mut self,
        host: HostId,
        rest: Option<Rest>,
        now: Now,
        has_work: impl Fn(HostId) -> bool,
    ) -> Vec<Next> {
        let Some(group) = self.held.remove(&host) else { return Vec::new() };
        let configured = self.delay;
        let Some(slot) = self.slots.get_mut(&group) else { return Vec::new() };
        slot.busy = None;
        if let Some(Rest { ended, not_before, why, delay, answered }) = rest {
            slot.ended = slot.ended.max(Some(ended));
            let own = delay.unwrap_or_default();
            slot.note(host, own, configured);
            slot.hold(ended.saturating_add(as_the_site_sees(own.max(configured))), group.reason());
            if why.is_usual() && delay.is_some() {
                slot.hold(not_before, group.reason());
            } else if answered && is_of_group(why) {
                slot.hold(not_before, why);
            } else if !answered {
                slot.hold(ended.saturating_add(after_giving_up(own.max(configured))), group.reason());
            }
        }
        if let Some(taken) = &mut self.taken
            && let Some(address) = group.shared_as()
        {
            let opens = slot.opens(slot.delay(configured, &has_work));
            taken.give_back(address, rest.map(|_| opens.saturating_sub(now.mono)));
        }
        next(slot, group.reason(), configured, now, has_work)
    }

    /// The next hosts in lines that are stuck: the host whose turn it was has nothing queued. Those without work are taken
    /// out.
    pub(super) fn overdue(&mut self, now: Now, has_work: impl Fn(HostId) -> bool) -> Vec<Next> {
        let configured = self.delay;
        let stuck = self.slots.iter_mut().filter(|(_, slot)| {
            slot.busy.is_none() && !slot.waiting.is_empty() && {
                let opens = slot.opens(slot.delay(configured, &has_work));
                opens.saturating_add(OVERDUE) <= now.mono
            }
        });
        stuck
            .filter_map(|(group, slot)| {
                let idle = slot.waiting.iter().take_while(|host| !has_work(**host)).count();
                slot.waiting.drain(..idle);
                let wait = Delay { length: configured, why: group.reason() };
                let host = slot.waiting.pop_front()?;
                slot.called = Some(host);
                Some((host, now.mono, wait))
            })
            .collect()
    }
}

/// The next host in a line, and when its turn is. During a pause all of them: the crawl has to know that they pause, too.
fn next(
    slot: &mut Slot,
    reason: DelayReason,
    configured: Duration,
    now: Now,
    has_work: impl Fn(HostId) -> bool,
) -> Vec<Next> {
    let delay = slot.delay(configured, has_work);
    let opens = slot.opens(delay);
    let why = if opens == slot.not_before { slot.why.unwrap_or(reason) } else { reason };
    let length = if why.is_pause() { opens.saturating_sub(now.mono) } else { delay };
    let is_pause = why.is_pause();
    slot.called = slot.waiting.front().copied().filter(|_| !is_pause);
    let many = if is_pause { slot.waiting.len() } else { slot.waiting.len().min(1) };
    slot.waiting.drain(..many).map(|host| (host, opens, Delay { length, why })).collect()
}

/// Whether a pause of one host holds for its group: a response asked for it.
fn is_of_group(why: DelayReason) -> bool {
    matches!(why, DelayReason::RetryAfter | DelayReason::BackOff | DelayReason::Wall)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_groups::{GroupBy, HostList};
    use page::clock::since_boot;

    fn at(secs: u64) -> Now {
        Now { mono: secs_of(secs), wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn secs_of(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// What a host got, without why.
    #[derive(Debug, PartialEq, Eq)]
    enum Got {
        /// The turn on this address, the last one of its host or not.
        On(IpAddr, bool),
        Nowhere,
        At(Duration),
        Unknown,
    }

    fn on(text: &str, is_last: bool) -> Got {
        Got::On(text.parse().unwrap(), is_last)
    }

    fn by_address(gap: Duration, ended: Option<Duration>) -> Turns {
        Turns::new(HostGroups::new(GroupBy::Address, &[]).unwrap(), gap, ended)
    }

    fn turn(all: &mut Turns, host: HostId, now: Now) -> Got {
        match all.turn(Comes { host, name: "", delay: Duration::ZERO }, now, |_| true) {
            Turn::Now(_, Some(Booking { at: Booked::At(address), is_last })) => Got::On(address, is_last),
            Turn::Now(..) | Turn::Alone => Got::Nowhere,
            Turn::At(at, _) => Got::At(at),
            Turn::Unknown => Got::Unknown,
        }
    }

    fn know(all: &mut Turns, host: HostId, found: Vec<IpAddr>, now: Now) -> Option<(HostId, Duration)> {
        all.know(host, found, now, |_| true).first().map(|(host, at, _)| (*host, *at))
    }

    /// What a request leaves behind that ended then, without an own delay of its host.
    fn rest(ended: Duration) -> Rest {
        let why = DelayReason::Configured;
        Rest { ended, not_before: ended, why, delay: Some(Duration::ZERO), answered: true }
    }

    fn free(all: &mut Turns, host: HostId, ended: Option<Duration>) -> Option<(HostId, Duration)> {
        let now = Now { mono: ended.unwrap_or_default(), wall: jiff::Timestamp::UNIX_EPOCH };
        all.free(host, ended.map(rest), now, |_| true).first().map(|(host, at, _)| (*host, *at))
    }

    fn overdue(all: &mut Turns, now: Now, has_work: impl Fn(HostId) -> bool) -> Vec<HostId> {
        all.overdue(now, has_work).into_iter().map(|(host, ..)| host).collect()
    }

    #[test]
    fn hosts_of_one_address_take_turns_and_keep_one_gap() {
        let mut all = by_address(Duration::from_secs(2), None);
        let hosts: Vec<HostId> = (0..4).map(HostId).collect();
        assert_eq!(turn(&mut all, hosts[0], at(0)), Got::Unknown);
        for (host, address) in [(0, "127.0.0.1"), (1, "::ffff:127.0.0.1"), (2, "127.0.0.1"), (3, "127.0.0.9")]
        {
            know(&mut all, hosts[host], addresses(&[address]), at(0));
        }
        assert_eq!(turn(&mut all, hosts[0], at(0)), on("127.0.0.1", true));
        assert_eq!(turn(&mut all, hosts[3], at(0)), on("127.0.0.9", true), "another address");
        for host in [1, 2, 1] {
            assert_eq!(turn(&mut all, hosts[host], at(1)), Got::At(Duration::from_secs(1) + PUT_OFF));
        }
        assert_eq!(free(&mut all, hosts[1], None), None, "it has no slot");
        let ended = Some(Duration::from_secs(5));
        let next = crate::pace::as_the_site_sees(Duration::from_secs(2)) + Duration::from_secs(5);
        assert_eq!(free(&mut all, hosts[0], ended), Some((hosts[1], next)));
        assert_eq!(turn(&mut all, hosts[1], at(6)), Got::At(next));
        assert_eq!(
            turn(&mut all, hosts[1], at(8)),
            on("::ffff:127.0.0.1", true),
            "it is connected to as it was found"
        );
        // A turn without a request, a denied URL say, leaves the gap as it was.
        assert_eq!(free(&mut all, hosts[1], None), Some((hosts[2], next)));
    }

    #[test]
    fn a_fall_back_is_a_booking_of_its_own() {
        let mut all = by_address(Duration::from_secs(2), None);
        let (host, other) = (HostId(0), HostId(1));
        know(&mut all, host, addresses(&["::1", "127.0.0.1"]), at(0));
        know(&mut all, other, addresses(&["127.0.0.1"]), at(0));
        assert_eq!(turn(&mut all, other, at(0)), on("127.0.0.1", true));
        assert_eq!(turn(&mut all, host, at(0)), on("::1", false));
        all.unreached(host);
        free(&mut all, host, Some(Duration::from_secs(1)));
        assert_eq!(
            turn(&mut all, host, at(2)),
            Got::At(Duration::from_secs(2) + PUT_OFF),
            "the other is asked there"
        );
        free(&mut all, other, Some(Duration::from_secs(2)));
        assert!(matches!(turn(&mut all, host, at(3)), Got::At(_)), "and has a gap");
        assert_eq!(turn(&mut all, host, at(5)), on("127.0.0.1", true));
        free(&mut all, host, Some(Duration::from_secs(5)));
        // A later look-up doesn't lead back to what took no connection.
        know(&mut all, host, addresses(&["::1", "127.0.0.1"]), at(6));
        assert_eq!(turn(&mut all, host, at(9)), on("127.0.0.1", true));
        free(&mut all, host, None);
        all.unreached(host);
        assert_eq!(turn(&mut all, host, at(9)), Got::Unknown, "none remains");
    }

    #[test]
    fn addresses_are_looked_up_again_after_a_while_and_none_means_nowhere() {
        let mut all = by_address(Duration::from_secs(2), Some(Duration::from_millis(1_994)));
        let host = HostId(0);
        know(&mut all, host, addresses(&["127.0.0.1"]), at(0));
        assert_eq!(turn(&mut all, host, at(0)), Got::At(Duration::from_secs(4)), "a process before this one");
        assert_eq!(turn(&mut all, host, at(299)), on("127.0.0.1", true));
        free(&mut all, host, None);
        assert_eq!(turn(&mut all, host, at(300)), Got::Unknown);
        know(&mut all, host, Vec::new(), at(300));
        assert_eq!(turn(&mut all, host, at(300)), Got::Nowhere);
        assert_eq!(turn(&mut all, host, at(301)), Got::Unknown, "it may have one the next time");
    }

    #[test]
    fn hosts_and_addresses_of_the_past_take_no_memory_and_gaps_stay() {
        let gap = Duration::from_secs(600);
        let mut all = by_address(gap, None);
        let address = |n: u32| IpAddr::from(std::net::Ipv4Addr::from(0x0a00_0000 + n));
        let (busy, waiting, rests) = (HostId(1_000_000), HostId(1_000_001), HostId(1_000_002));
        for host in [busy, waiting] {
            know(&mut all, host, addresses(&["127.0.0.1"]), at(0));
        }
        assert_eq!(turn(&mut all, busy, at(0)), on("127.0.0.1", true));
        assert!(matches!(turn(&mut all, waiting, at(0)), Got::At(_)));
        for n in 0..100_000 {
            // Ten hosts a second, each asked once.
            let now = at(u64::from(n / 10));
            know(&mut all, HostId(n), vec![address(n)], now);
            assert!(matches!(turn(&mut all, HostId(n), now), Got::On(..)));
            assert_eq!(free(&mut all, HostId(n), None), None);
            assert!(all.of_host.len() <= 3 * 3_100 && all.slots.len() <= 3 * 3_100);
        }
        assert_eq!(turn(&mut all, waiting, at(10_000)), Got::Unknown, "looked up again, but still in line");
        know(&mut all, rests, vec![address(7)], at(10_000));
        assert!(matches!(turn(&mut all, rests, at(10_000)), Got::On(..)));
        free(&mut all, rests, Some(Duration::from_secs(10_000)));
        all.sweep_at = 0;
        all.sweep(at(10_400), |_| true);
        know(&mut all, rests, vec![address(7)], at(10_400));
        assert!(matches!(turn(&mut all, rests, at(10_400)), Got::At(_)), "the gap isn't over");
        assert_eq!(free(&mut all, busy, None), Some((waiting, Duration::ZERO)));
    }

    #[test]
    fn a_host_that_moves_away_leaves_its_turn_to_the_next() {
        let mut all = by_address(Duration::from_secs(2), None);
        let hosts: Vec<HostId> = (0..3).map(HostId).collect();
        for host in &hosts {
            know(&mut all, *host, addresses(&["127.0.0.1"]), at(0));
        }
        assert_eq!(turn(&mut all, hosts[0], at(0)), on("127.0.0.1", true));
        for host in &hosts[1..] {
            assert!(matches!(turn(&mut all, *host, at(0)), Got::At(_)));
        }
        assert_eq!(free(&mut all, hosts[0], None), Some((hosts[1], Duration::ZERO)));
        assert_eq!(
            know(&mut all, hosts[1], addresses(&["127.0.0.2"]), at(1)),
            Some((hosts[2], Duration::ZERO))
        );
        assert_eq!(turn(&mut all, hosts[2], at(1)), on("127.0.0.1", true));
        assert_eq!(turn(&mut all, hosts[1], at(1)), on("127.0.0.2", true));
        assert_eq!(know(&mut all, hosts[0], addresses(&["127.0.0.1", "127.0.0.2"]), at(2)), None, "it stays");
    }

    #[test]
    fn a_host_without_work_doesnt_delay_those_behind_it() {
        let mut all = by_address(Duration::from_secs(2), None);
        let hosts: Vec<HostId> = (0..5).map(HostId).collect();
        for host in &hosts {
            know(&mut all, *host, addresses(&["127.0.0.1"]), at(0));
        }
        assert_eq!(turn(&mut all, hosts[0], at(0)), on("127.0.0.1", true));
        for host in &hosts[1..] {
            assert_eq!(turn(&mut all, *host, at(0)), Got::At(PUT_OFF));
        }
        let has_work = |host: HostId| host.0 >= 3;
        assert_eq!(overdue(&mut all, at(9), has_work), [], "somebody is asked there");
        // The turn of host 1, which has nothing queued, nor has host 2.
        assert_eq!(free(&mut all, hosts[0], None), Some((hosts[1], Duration::ZERO)));
        assert_eq!(overdue(&mut all, at(0), has_work), [], "not a second late yet");
        assert_eq!(overdue(&mut all, at(1), has_work), [hosts[3]]);
        assert_eq!(turn(&mut all, hosts[3], at(1)), on("127.0.0.1", true));
        assert_eq!(free(&mut all, hosts[3], None), Some((hosts[4], Duration::ZERO)));
        assert_eq!(overdue(&mut all, at(9), has_work), [], "nobody waits");
    }

    #[test]
    fn engines_of_one_worker_take_turns_and_one_host_of_each_looks() {
        let pool = Arc::new(AddressPool::new(Duration::from_secs(2)));
        let [mut one, mut two] =
            [(); 2].map(|()| by_address(Duration::from_secs(2), None).shared(Arc::clone(&pool)));
        let (here, hosts) = (addresses(&["192.0.2.7"]), [HostId(0), HostId(1)]);
        for host in hosts {
            know(&mut one, host, here.clone(), at(0));
        }
        know(&mut two, hosts[0], here.clone(), at(0));
        assert_eq!(turn(&mut one, hosts[0], at(0)), Got::At(LOOK), "the worker hasn't got it");
        assert_eq!(turn(&mut one, hosts[1], at(0)), Got::At(PUT_OFF), "the other one looks");
        let now = since_boot().unwrap();
        assert_eq!(pool.wants(now), here);
        pool.given(here[0], 1, false, now);
        assert_eq!(turn(&mut one, hosts[0], at(1)), on("192.0.2.7", true));
        assert_eq!(turn(&mut two, hosts[0], at(1)), Got::At(Duration::from_secs(1) + LOOK));
        assert_eq!(free(&mut one, hosts[0], None), Some((hosts[1], LOOK)), "nothing was asked");
        assert_eq!(turn(&mut two, hosts[0], at(2)), on("192.0.2.7", true));
        free(&mut two, hosts[0], Some(Duration::from_secs(2)));
        assert_eq!(turn(&mut one, hosts[1], at(2)), Got::At(Duration::from_secs(2) + LOOK), "there is a gap");
        // Who looks and doesn't come any more lets the others pass.
        assert_eq!(turn(&mut one, hosts[0], at(3)), Got::At(PUT_OFF + Duration::from_secs(3)));
        assert_eq!(overdue(&mut one, at(9), |_| true), [hosts[0]]);
        assert_eq!(turn(&mut one, hosts[0], at(9)), Got::At(Duration::from_secs(9) + LOOK));
    }

    /// Groups by domain, and a list.
    fn by_domain(ended: Option<Duration>) -> Turns {
        let list =
            HostList { name: "list".to_owned(), hosts: vec!["x.test".to_owned(), "*.y.test".to_owned()] };
        Turns::new(HostGroups::new(GroupBy::Domain, &[list]).unwrap(), secs_of(2), ended)
    }

    /// A host comes with its own delay: when it may be asked, and for what it waits; zero where it is asked.
    fn comes(all: &mut Turns, (host, name): (u32, &str), delay: u64, now: u64) -> (Duration, Delay) {
        let comes = Comes { host: HostId(host), name, delay: secs_of(delay) };
        match all.turn(comes, at(now), |_| true) {
            Turn::Now(delay, None) => (Duration::ZERO, delay),
            Turn::At(at, delay) => (at, delay),
            other => panic!("{other:?}"),
        }
    }

    fn shared(secs: u64) -> Delay {
        Delay { length: secs_of(secs), why: DelayReason::SharedGroup }
    }

    fn over(secs: u64, gap: u64) -> Duration {
        secs_of(secs) + as_the_site_sees(secs_of(gap))
    }

    #[test]
    fn hosts_of_one_domain_or_list_share_a_slot_and_the_longest_delay() {
        let mut all = by_domain(None);
        let (a, b, other) = ((0, "a.uni.test"), (1, "b.uni.test"), (2, "a.else.test"));
        assert_eq!(comes(&mut all, a, 0, 0), (Duration::ZERO, shared(2)));
        assert_eq!(comes(&mut all, other, 0, 0), (Duration::ZERO, shared(2)), "another domain");
        assert_eq!(comes(&mut all, b, 7, 0).0, PUT_OFF, "one at a time");
        let next = all.free(HostId(0), Some(rest(secs_of(1))), at(1), |_| true);
        assert_eq!(next, [(HostId(1), over(1, 7), shared(7))], "the delay of b");
        assert_eq!(
            comes(&mut all, a, 0, 8).0,
            secs_of(8) + PUT_OFF,
            "it is the turn of b, though a is ready, too"
        );
        assert_eq!(comes(&mut all, b, 7, 8), (over(1, 7), shared(7)));
        assert_eq!(comes(&mut all, b, 7, 9), (Duration::ZERO, shared(7)));
        let slow = Rest { delay: Some(secs_of(7)), not_before: over(10, 7), ..rest(secs_of(10)) };
        let next = all.free(HostId(1), Some(slow), at(10), |_| true);
        assert_eq!(next, [(HostId(0), over(10, 7), shared(7))], "for a, too");
        assert_eq!(comes(&mut all, a, 0, 11), (over(10, 7), shared(7)));
        // Once b has nothing queued its delay counts after its own requests alone.
        let nothing = |host| host != HostId(1);
        let again = Comes { host: HostId(0), name: "a.uni.test", delay: Duration::ZERO };
        assert_eq!(all.turn(again, at(11), nothing), Turn::At(over(10, 7), shared(2)));
        assert_eq!(all.turn(again, at(18), nothing), Turn::Now(shared(2), None));
        assert_eq!(all.free(HostId(0), Some(rest(secs_of(18))), at(18), nothing), []);
        assert_eq!(all.turn(again, at(18), nothing), Turn::At(over(18, 2), shared(2)));
        // A list has hosts of several domains.
        assert_eq!(comes(&mut all, (5, "x.test"), 0, 20), (Duration::ZERO, shared(2)));
        assert_eq!(comes(&mut all, (6, "a.y.test"), 0, 20).0, secs_of(20) + PUT_OFF);
        assert_eq!(comes(&mut all, (7, "b.x.test"), 0, 20), (Duration::ZERO, shared(2)), "not in the list");
    }

    #[test]
    fn a_pause_that_a_response_asks_for_holds_for_the_group_and_one_without_a_response_doesnt() {
        let (a, b) = ((0, "a.uni.test"), (1, "b.uni.test"));
        for (why, answered, delay, expected) in [
            (DelayReason::RetryAfter, true, 0, secs_of(60)),
            (DelayReason::BackOff, true, 0, secs_of(60)),
            (DelayReason::Wall, true, 0, secs_of(60)),
            (DelayReason::BackOff, false, 0, secs_of(1) + after_giving_up(secs_of(2))),
            (DelayReason::BackOff, false, 7, secs_of(1) + after_giving_up(secs_of(7))),
            (DelayReason::VisitTime, true, 0, over(1, 2)),
            (DelayReason::RobotsUnreachable, true, 0, over(1, 2)),
        ] {
            let mut all = by_domain(None);
            comes(&mut all, a, delay, 0);
            let delay = Some(secs_of(delay));
            let left = Rest { ended: secs_of(1), not_before: secs_of(60), why, delay, answered };
            for host in [(2, "c.uni.test"), (3, "d.uni.test")] {
                assert_eq!(comes(&mut all, host, 0, 0).0, PUT_OFF);
            }
            let called = all.free(HostId(0), Some(left), at(1), |_| true);
            // Who waits for a pause has to know.
            assert_eq!(called.len(), if expected == secs_of(60) { 2 } else { 1 });
            assert!(
                called
                    .iter()
                    .all(|(_, at, wait)| *at == expected && wait.why.is_pause() == (called.len() == 2))
            );
            let (opens, wait) = comes(&mut all, if called.len() == 2 { b } else { (2, "c.uni.test") }, 0, 1);
            assert_eq!(opens, expected, "{why} {answered}");
            let is_pause = expected == secs_of(60);
            assert_eq!(wait.why, if is_pause { why } else { DelayReason::SharedGroup });
        }
    }

    #[test]
    fn a_list_has_an_address_for_the_workers_of_a_cluster_that_no_machine_has() {
        let address = Group::Listed("library".into()).shared_as().unwrap();
        assert!(address.to_string().starts_with("100::"), "{address}");
        assert_ne!(Some(address), Group::Listed("other".into()).shared_as());
        assert_eq!(Group::OfDomain("uni.test".into()).shared_as(), None);
        let pool = Arc::new(AddressPool::new(secs_of(2)));
        let mut all = by_domain(None).shared(Arc::clone(&pool));
        assert_eq!(comes(&mut all, (0, "x.test"), 0, 0).0, LOOK, "the worker hasn't got it");
        assert_eq!(
            comes(&mut all, (1, "a.uni.test"), 0, 0),
            (Duration::ZERO, shared(2)),
            "all in one partition"
        );
        let now = since_boot().unwrap();
        let list = Group::Listed("list".into()).shared_as().unwrap();
        assert_eq!(pool.wants(now), [list]);
        pool.given(list, 1, false, now);
        assert_eq!(comes(&mut all, (0, "x.test"), 0, 1), (Duration::ZERO, shared(2)));
    }

    #[test]
    fn delays_and_pauses_of_an_earlier_process_go_on() {
        let mut all = by_domain(Some(secs_of(100)));
        let named = |name: &str| Group::OfDomain(name.into());
        assert_eq!(
            comes(&mut all, (0, "a.one.test"), 0, 100),
            (over(100, 2), shared(2)),
            "whoever was asked"
        );
        all.restore(named("two.test"), HostId(1), secs_of(9), None);
        assert_eq!(comes(&mut all, (2, "a.two.test"), 0, 100), (over(100, 9), shared(9)));
        let pause = Some((secs_of(500), DelayReason::RetryAfter));
        all.restore(named("three.test"), HostId(3), Duration::ZERO, pause);
        assert_eq!(comes(&mut all, (4, "a.three.test"), 0, 100).0, secs_of(500));
        let own = Some((secs_of(500), DelayReason::RobotsUnreachable));
        all.restore(named("four.test"), HostId(5), Duration::ZERO, own);
        assert_eq!(comes(&mut all, (6, "a.four.test"), 0, 100).0, over(100, 2));
        // A request that may be in flight.
        all.ends_at(Some(named("four.test")), secs_of(130));
        assert_eq!(comes(&mut all, (6, "a.four.test"), 0, 100).0, over(130, 2));
        assert_eq!(comes(&mut all, (0, "a.one.test"), 0, 100).0, over(100, 2), "another group");
        all.ends_at(None, secs_of(140));
        assert_eq!(comes(&mut all, (0, "a.one.test"), 0, 100).0, over(140, 2));
    }

    proptest::proptest! {
        /// Whatever comes in whatever order: of a group one request at a time, and between two of them the delay of each host that comes.
        #[test]
        fn of_a_group_one_request_at_a_time_and_the_delay_of_each(
            steps in proptest::collection::vec((0_u32..6, 0_u64..4, 0_u64..3), 1..200),
        ) {
            let mut all = by_domain(None);
            let (mut now, mut busy) = (0, None);
            let mut last: Option<(Duration, u64)> = None;
            for (host, passes, takes) in steps {
                now += passes;
                // Hosts ask for 0 to 5 s.
                let own = u64::from(host);
                if let Some((asked, ends)) = busy.take() {
                    if now < ends {
                        busy = Some((asked, ends));
                    } else {
                        let delay = u64::from(asked);
                        let left = Rest { delay: Some(secs_of(delay)), not_before: over(ends, delay), ..rest(secs_of(ends)) };
                        all.free(HostId(asked), Some(left), at(now), |_| true);
                        last = Some((secs_of(ends), delay));
                    }
                }
                let name = format!("h{host}.uni.test");
                let (at, _) = comes(&mut all, (host, &name), own, now);
                if at.is_zero() {
                    proptest::prop_assert_eq!(busy, None);
                    if let Some((ended, delay)) = last {
                        proptest::prop_assert!(secs_of(now).saturating_sub(ended) >= secs_of(own.max(delay).max(2)));
                    }
                    busy = Some((host, now + takes));
                }
            }
        }
    }
}
