//! One request slot and one delay per IP address (`--per-ip`): many names may be one machine.
//!
//! A host is assigned to one address before a request, and is connected only to that one. If it accepts no connection,
//! the host is assigned to its next one: a fall-back within the client could meet a request in flight there.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::address_pool::{AddressPool, Taken};
use crate::fetch::{Booked, machine};
use crate::frontier::{Booking, HostId};
use page::clock::Now;

/// How far a host is put off that waits for another one's answer; it is called before that.
pub(super) const PUT_OFF: Duration = Duration::from_secs(3600);

/// Whoever doesn't come this long after its turn began lets the next one pass.
const OVERDUE: Duration = Duration::from_secs(1);
/// For how long the addresses of a host hold; then they are looked up again.
const LIFE: Duration = Duration::from_mins(5);

/// Hosts and addresses that are kept without a sweep.
const FEW: usize = 1_024;

/// How soon a host looks again whose address another engine asks, or another worker.
const LOOK: Duration = Duration::from_millis(100);

/// For how long it holds that a host has none.
const NOWHERE: Duration = Duration::from_secs(1);

/// The addresses in use.
#[derive(Debug)]
pub(super) struct Addresses {
    delay: Duration,
    /// No address is asked before this: an earlier process may have asked any of them.
    open_from: Duration,
    of_host: HashMap<HostId, Places>,
    slots: HashMap<IpAddr, Slot>,
    /// When there are so many of either, those that say nothing any more are dropped.
    sweep_at: usize,
    /// What the worker has of the addresses, where this is one of its engines.
    taken: Option<Taken>,
}

/// The addresses of a host, and which of them it is booked on.
#[derive(Debug)]
struct Places {
    addresses: Vec<IpAddr>,
    at: usize,
    since: Duration,
}

#[derive(Debug, Default)]
struct Slot {
    busy: Option<HostId>,
    /// Who looks whether the worker has the address; the others wait.
    looks: Option<HostId>,
    not_before: Duration,
    waiting: VecDeque<HostId>,
}

/// Whether a host may be asked, as far as its address is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It may be asked here, and has the slot of this address now.
    Now(Booking),
    /// Not before this.
    At(Duration),
    /// Its address has to be looked up first.
    Unknown,
}

impl Addresses {
    /// Addresses with this gap, none of which is asked before `open_from`.
    pub(super) fn new(delay: Duration, open_from: Duration) -> Self {
        Self { delay, open_from, of_host: HashMap::new(), slots: HashMap::new(), sweep_at: FEW, taken: None }
    }

    /// As [`Addresses::new`], for an engine whose worker shares addresses with others: who asked before is known there.
    pub(super) fn shared(delay: Duration, pool: Arc<AddressPool>) -> Self {
        Self { taken: Some(Taken::new(pool)), ..Self::new(delay, Duration::ZERO) }
    }

    /// None is asked before `until`.
    pub(super) fn rest_until(&mut self, until: Duration) {
        self.open_from = self.open_from.max(until);
    }

    /// Notes the addresses of a host from a look-up. It stays booked where it was, if that is still one of them; else the next
    /// host that waits there has its turn, which is returned as by [`Addresses::free`].
    pub(super) fn know(
        &mut self,
        host: HostId,
        addresses: Vec<IpAddr>,
        now: Now,
    ) -> Option<(HostId, Duration)> {
        self.sweep(now);
        let booked = self.of_host.get(&host).and_then(|places| places.addresses.get(places.at)).copied();
        let at = booked.and_then(|booked| addresses.iter().position(|address| *address == booked));
        self.of_host.insert(host, Places { addresses, at: at.unwrap_or_default(), since: now.mono });
        let left = booked.filter(|_| at.is_none())?;
        let slot = self.slots.get_mut(&machine(left)).filter(|slot| slot.busy.is_none())?;
        Some((slot.waiting.pop_front()?, slot.not_before))
    }

    /// Drops hosts that have to be looked up again anyhow, and addresses whose gap is over. Who has a slot, or waits in a line, stays, and
    /// so does a host that moved on from an address that took no connection.
    fn sweep(&mut self, now: Now) {
        if self.of_host.len().max(self.slots.len()) < self.sweep_at {
            return;
        }
        let is_open = |slot: &Slot| slot.not_before <= now.mono;
        self.slots.retain(|_, slot| slot.busy.is_some() || !slot.waiting.is_empty() || !is_open(slot));
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

    /// Takes the slot of a host's address, if it is free.
    pub(super) fn turn(&mut self, host: HostId, now: Now) -> Turn {
        let fresh = self.of_host.get(&host).filter(|places| {
            let life = if places.addresses.is_empty() { NOWHERE } else { LIFE };
            now.mono.saturating_sub(places.since) < life
        });
        let Some(places) = fresh else { return Turn::Unknown };
        let Some(address) = places.addresses.get(places.at).copied() else {
            // One that can't be looked up shares nothing, and is connected to nothing: its request tells why.
            return Turn::Now(Booking { at: Booked::Nowhere, is_last: true });
        };
        let is_last = places.at + 1 == places.addresses.len();
        let open_from = self.open_from;
        let slot = self
            .slots
            .entry(machine(address))
            .or_insert_with(|| Slot { not_before: open_from, ..Slot::default() });
        let is_looked_for = slot.looks.is_some_and(|looks| looks != host)
            && now.mono < slot.not_before.saturating_add(OVERDUE);
        if slot.busy.is_some() || is_looked_for {
            if !slot.waiting.contains(&host) {
                slot.waiting.push_back(host);
            }
            return Turn::At(now.mono + PUT_OFF);
        }
        if slot.not_before > now.mono {
            return Turn::At(slot.not_before);
        }
        if let Some(taken) = &mut self.taken
            && !taken.take(machine(address))
        {
            (slot.looks, slot.not_before) = (Some(host), now.mono + LOOK);
            return Turn::At(slot.not_before);
        }
        (slot.busy, slot.looks) = (Some(host), None);
        Turn::Now(Booking { at: Booked::At(address), is_last })
    }

    /// Returns a slot back; `ended` tells when the request ended, if there was one. Returns the host whose turn is next, and
    /// from when on.
    pub(super) fn free(&mut self, host: HostId, ended: Option<Duration>) -> Option<(HostId, Duration)> {
        let (address, slot) = self.slots.iter_mut().find(|(_, slot)| slot.busy == Some(host))?;
        slot.busy = None;
        if let Some(taken) = &mut self.taken {
            taken.give_back(*address, ended.is_some());
        }
        if let Some(ended) = ended {
            slot.not_before = slot.not_before.max(ended + crate::pace::as_the_site_sees(self.delay));
        }
        let next = slot.waiting.pop_front()?;
        Some((next, slot.not_before))
    }

    /// The next hosts in lines that are stuck: the host whose turn it was has nothing queued. Those without work are taken
    /// out.
    pub(super) fn overdue(&mut self, now: Now, has_work: impl Fn(HostId) -> bool) -> Vec<HostId> {
        let is_overdue =
            |slot: &Slot| slot.busy.is_none() && slot.not_before.saturating_add(OVERDUE) <= now.mono;
        let lines = self.slots.values_mut().filter(|slot| is_overdue(slot)).map(|slot| &mut slot.waiting);
        lines
            .filter_map(|line| {
                let idle = line.iter().take_while(|host| !has_work(**host)).count();
                line.drain(..idle);
                line.pop_front()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use page::clock::since_boot;

    fn at(secs: u64) -> Now {
        Now { mono: Duration::from_secs(secs), wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// The turn on this address, the last one of its host or not.
    fn on(text: &str, is_last: bool) -> Turn {
        Turn::Now(Booking { at: Booked::At(text.parse().unwrap()), is_last })
    }

    #[test]
    fn hosts_of_one_address_take_turns_and_keep_one_gap() {
        let mut all = Addresses::new(Duration::from_secs(2), Duration::ZERO);
        let hosts: Vec<HostId> = (0..4).map(HostId).collect();
        assert_eq!(all.turn(hosts[0], at(0)), Turn::Unknown);
        for (host, address) in [(0, "127.0.0.1"), (1, "::ffff:127.0.0.1"), (2, "127.0.0.1"), (3, "127.0.0.9")]
        {
            all.know(hosts[host], addresses(&[address]), at(0));
        }
        assert_eq!(all.turn(hosts[0], at(0)), on("127.0.0.1", true));
        assert_eq!(all.turn(hosts[3], at(0)), on("127.0.0.9", true), "another address");
        for host in [1, 2, 1] {
            assert_eq!(all.turn(hosts[host], at(1)), Turn::At(Duration::from_secs(1) + PUT_OFF));
        }
        assert_eq!(all.free(hosts[1], None), None, "it has no slot");
        let ended = Some(Duration::from_secs(5));
        let next = crate::pace::as_the_site_sees(Duration::from_secs(2)) + Duration::from_secs(5);
        assert_eq!(all.free(hosts[0], ended), Some((hosts[1], next)));
        assert_eq!(all.turn(hosts[1], at(6)), Turn::At(next));
        assert_eq!(
            all.turn(hosts[1], at(8)),
            on("::ffff:127.0.0.1", true),
            "it is connected to as it was found"
        );
        // A turn without a request, a denied URL say, leaves the gap as it was.
        assert_eq!(all.free(hosts[1], None), Some((hosts[2], next)));
    }

    #[test]
    fn a_fall_back_is_a_booking_of_its_own() {
        let mut all = Addresses::new(Duration::from_secs(2), Duration::ZERO);
        let (host, other) = (HostId(0), HostId(1));
        all.know(host, addresses(&["::1", "127.0.0.1"]), at(0));
        all.know(other, addresses(&["127.0.0.1"]), at(0));
        assert_eq!(all.turn(other, at(0)), on("127.0.0.1", true));
        assert_eq!(all.turn(host, at(0)), on("::1", false));
        all.unreached(host);
        all.free(host, Some(Duration::from_secs(1)));
        assert_eq!(
            all.turn(host, at(2)),
            Turn::At(Duration::from_secs(2) + PUT_OFF),
            "the other is asked there"
        );
        all.free(other, Some(Duration::from_secs(2)));
        assert!(matches!(all.turn(host, at(3)), Turn::At(_)), "and has a gap");
        assert_eq!(all.turn(host, at(5)), on("127.0.0.1", true));
        all.free(host, Some(Duration::from_secs(5)));
        // A later look-up doesn't lead back to what took no connection.
        all.know(host, addresses(&["::1", "127.0.0.1"]), at(6));
        assert_eq!(all.turn(host, at(9)), on("127.0.0.1", true));
        all.free(host, None);
        all.unreached(host);
        assert_eq!(all.turn(host, at(9)), Turn::Unknown, "none remains");
    }

    #[test]
    fn addresses_are_looked_up_again_after_a_while_and_none_means_nowhere() {
        let mut all = Addresses::new(Duration::from_secs(2), Duration::from_secs(4));
        let host = HostId(0);
        all.know(host, addresses(&["127.0.0.1"]), at(0));
        assert_eq!(all.turn(host, at(0)), Turn::At(Duration::from_secs(4)), "a process before this one");
        assert_eq!(all.turn(host, at(299)), on("127.0.0.1", true));
        all.free(host, None);
        assert_eq!(all.turn(host, at(300)), Turn::Unknown);
        all.know(host, Vec::new(), at(300));
        let nowhere = Turn::Now(Booking { at: Booked::Nowhere, is_last: true });
        assert_eq!(all.turn(host, at(300)), nowhere);
        assert_eq!(all.turn(host, at(301)), Turn::Unknown, "it may have one the next time");
    }

    #[test]
    fn hosts_and_addresses_of_the_past_take_no_memory_and_gaps_stay() {
        let gap = Duration::from_secs(600);
        let mut all = Addresses::new(gap, Duration::ZERO);
        let address = |n: u32| IpAddr::from(std::net::Ipv4Addr::from(0x0a00_0000 + n));
        let (busy, waiting, rests) = (HostId(1_000_000), HostId(1_000_001), HostId(1_000_002));
        for host in [busy, waiting] {
            all.know(host, addresses(&["127.0.0.1"]), at(0));
        }
        assert_eq!(all.turn(busy, at(0)), on("127.0.0.1", true));
        assert!(matches!(all.turn(waiting, at(0)), Turn::At(_)));
        for n in 0..100_000 {
            // Ten hosts a second, each asked once.
            let now = at(u64::from(n / 10));
            all.know(HostId(n), vec![address(n)], now);
            assert!(matches!(all.turn(HostId(n), now), Turn::Now(_)));
            assert_eq!(all.free(HostId(n), None), None);
            assert!(all.of_host.len() <= 3 * 3_100 && all.slots.len() <= 3 * 3_100);
        }
        assert_eq!(all.turn(waiting, at(10_000)), Turn::Unknown, "looked up again, but still in line");
        all.know(rests, vec![address(7)], at(10_000));
        assert!(matches!(all.turn(rests, at(10_000)), Turn::Now(_)));
        all.free(rests, Some(Duration::from_secs(10_000)));
        all.sweep_at = 0;
        all.sweep(at(10_400));
        all.know(rests, vec![address(7)], at(10_400));
        assert!(matches!(all.turn(rests, at(10_400)), Turn::At(_)), "the gap isn't over");
        assert_eq!(all.free(busy, None), Some((waiting, Duration::ZERO)));
    }

    #[test]
    fn a_host_that_moves_away_leaves_its_turn_to_the_next() {
        let mut all = Addresses::new(Duration::from_secs(2), Duration::ZERO);
        let hosts: Vec<HostId> = (0..3).map(HostId).collect();
        for host in &hosts {
            all.know(*host, addresses(&["127.0.0.1"]), at(0));
        }
        assert_eq!(all.turn(hosts[0], at(0)), on("127.0.0.1", true));
        for host in &hosts[1..] {
            assert!(matches!(all.turn(*host, at(0)), Turn::At(_)));
        }
        assert_eq!(all.free(hosts[0], None), Some((hosts[1], Duration::ZERO)));
        assert_eq!(all.know(hosts[1], addresses(&["127.0.0.2"]), at(1)), Some((hosts[2], Duration::ZERO)));
        assert_eq!(all.turn(hosts[2], at(1)), on("127.0.0.1", true));
        assert_eq!(all.turn(hosts[1], at(1)), on("127.0.0.2", true));
        assert_eq!(all.know(hosts[0], addresses(&["127.0.0.1", "127.0.0.2"]), at(2)), None, "it stays");
    }

    #[test]
    fn a_host_without_work_doesnt_delay_those_behind_it() {
        let mut all = Addresses::new(Duration::from_secs(2), Duration::ZERO);
        let hosts: Vec<HostId> = (0..5).map(HostId).collect();
        for host in &hosts {
            all.know(*host, addresses(&["127.0.0.1"]), at(0));
        }
        assert_eq!(all.turn(hosts[0], at(0)), on("127.0.0.1", true));
        for host in &hosts[1..] {
            assert_eq!(all.turn(*host, at(0)), Turn::At(PUT_OFF));
        }
        let has_work = |host: HostId| host.0 >= 3;
        assert_eq!(all.overdue(at(9), has_work), [], "somebody is asked there");
        // The turn of host 1, which has nothing queued, nor has host 2.
        assert_eq!(all.free(hosts[0], None), Some((hosts[1], Duration::ZERO)));
        assert_eq!(all.overdue(at(0), has_work), [], "not a second late yet");
        assert_eq!(all.overdue(at(1), has_work), [hosts[3]]);
        assert_eq!(all.turn(hosts[3], at(1)), on("127.0.0.1", true));
        assert_eq!(all.free(hosts[3], None), Some((hosts[4], Duration::ZERO)));
        assert_eq!(all.overdue(at(9), has_work), [], "nobody waits");
    }

    #[test]
    fn engines_of_one_worker_take_turns_and_one_host_of_each_looks() {
        let pool = Arc::new(AddressPool::new(Duration::from_secs(2)));
        let [mut one, mut two] =
            [(); 2].map(|()| Addresses::shared(Duration::from_secs(2), Arc::clone(&pool)));
        let (here, hosts) = (addresses(&["192.0.2.7"]), [HostId(0), HostId(1)]);
        for host in hosts {
            one.know(host, here.clone(), at(0));
        }
        two.know(hosts[0], here.clone(), at(0));
        assert_eq!(one.turn(hosts[0], at(0)), Turn::At(LOOK), "the worker hasn't got it");
        assert_eq!(one.turn(hosts[1], at(0)), Turn::At(PUT_OFF), "the other one looks");
        let now = since_boot().unwrap();
        assert_eq!(pool.wants(now), here);
        pool.given(here[0], 1, false, now);
        assert_eq!(one.turn(hosts[0], at(1)), on("192.0.2.7", true));
        assert_eq!(two.turn(hosts[0], at(1)), Turn::At(Duration::from_secs(1) + LOOK));
        assert_eq!(one.free(hosts[0], None), Some((hosts[1], LOOK)), "nothing was asked");
        assert_eq!(two.turn(hosts[0], at(2)), on("192.0.2.7", true));
        two.free(hosts[0], Some(Duration::from_secs(2)));
        assert_eq!(one.turn(hosts[1], at(2)), Turn::At(Duration::from_secs(2) + LOOK), "there is a gap");
        // Who looks and doesn't come any more lets the others pass.
        assert_eq!(one.turn(hosts[0], at(3)), Turn::At(PUT_OFF + Duration::from_secs(3)));
        assert_eq!(one.overdue(at(9), |_| true), [hosts[0]]);
        assert_eq!(one.turn(hosts[0], at(9)), Turn::At(Duration::from_secs(9) + LOOK));
    }
}
