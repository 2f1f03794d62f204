//! One slot and one gap for each IP address, where the operator asked for that: many names may be one machine.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use crate::clock::Now;
use crate::frontier::HostId;

/// How far a host is put off that waits for another one's answer; it is called before that.
pub(super) const PUT_OFF: Duration = Duration::from_secs(3600);

/// Whoever doesn't come this long after its turn began lets the next one pass.
const OVERDUE: Duration = Duration::from_secs(1);

/// The addresses in use.
#[derive(Debug)]
pub(super) struct Addresses {
    delay: Duration,
    of_host: HashMap<HostId, IpAddr>,
    slots: HashMap<IpAddr, Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    busy: Option<HostId>,
    not_before: Duration,
    waiting: VecDeque<HostId>,
}

/// Whether a host may be asked, as far as its address is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It may, and has the slot of its address now.
    Now,
    /// Not before this.
    At(Duration),
    /// Its address has to be looked up first.
    Unknown,
}

impl Addresses {
    /// Addresses with this gap.
    pub(super) fn new(delay: Duration) -> Self {
        Self { delay, of_host: HashMap::new(), slots: HashMap::new() }
    }

    /// Notes where a host is: from a look-up, or from its last connection.
    pub(super) fn know(&mut self, host: HostId, address: IpAddr) {
        self.of_host.insert(host, address);
    }

    /// Takes the slot of a host's address, if it is free.
    pub(super) fn turn(&mut self, host: HostId, now: Now) -> Turn {
        let Some(address) = self.of_host.get(&host) else { return Turn::Unknown };
        let slot = self.slots.entry(*address).or_default();
        if slot.busy.is_some() {
            if !slot.waiting.contains(&host) {
                slot.waiting.push_back(host);
            }
            return Turn::At(now.mono + PUT_OFF);
        }
        if slot.not_before > now.mono {
            return Turn::At(slot.not_before);
        }
        slot.busy = Some(host);
        Turn::Now
    }

    /// Gives a slot back; `ended` tells when the request ended, if there was one. Returns the host whose turn is next, and
    /// from when on.
    pub(super) fn free(&mut self, host: HostId, ended: Option<Duration>) -> Option<(HostId, Duration)> {
        let (_, slot) = self.slots.iter_mut().find(|(_, slot)| slot.busy == Some(host))?;
        slot.busy = None;
        if let Some(ended) = ended {
            slot.not_before = slot.not_before.max(ended + crate::pace::as_the_site_sees(self.delay));
        }
        let next = slot.waiting.pop_front()?;
        Some((next, slot.not_before))
    }

    /// The next hosts in lines where nobody comes: whose turn it was has nothing left to ask for. Those without work are left
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

    fn at(secs: u64) -> Now {
        Now { mono: Duration::from_secs(secs), wall: jiff::Timestamp::UNIX_EPOCH }
    }

    #[test]
    fn hosts_of_one_address_take_turns_and_keep_one_gap() {
        let mut addresses = Addresses::new(Duration::from_secs(2));
        let hosts: Vec<HostId> = (0..4).map(HostId).collect();
        assert_eq!(addresses.turn(hosts[0], at(0)), Turn::Unknown);
        for (host, last) in [(0, 1), (1, 1), (2, 1), (3, 9)] {
            addresses.know(hosts[host], IpAddr::from([127, 0, 0, last]));
        }
        assert_eq!(addresses.turn(hosts[0], at(0)), Turn::Now);
        assert_eq!(addresses.turn(hosts[3], at(0)), Turn::Now, "another address");
        for host in [1, 2, 1] {
            assert_eq!(addresses.turn(hosts[host], at(1)), Turn::At(Duration::from_secs(1) + PUT_OFF));
        }
        assert_eq!(addresses.free(hosts[1], None), None, "it has no slot");
        let ended = Some(Duration::from_secs(5));
        let next = crate::pace::as_the_site_sees(Duration::from_secs(2)) + Duration::from_secs(5);
        assert_eq!(addresses.free(hosts[0], ended), Some((hosts[1], next)));
        assert_eq!(addresses.turn(hosts[1], at(6)), Turn::At(next));
        assert_eq!(addresses.turn(hosts[1], at(8)), Turn::Now);
        // A turn without a request, a denied URL say, leaves the gap as it was.
        assert_eq!(addresses.free(hosts[1], None), Some((hosts[2], next)));
    }

    #[test]
    fn whoever_has_no_work_left_holds_up_nobody_behind_it() {
        let mut addresses = Addresses::new(Duration::from_secs(2));
        let hosts: Vec<HostId> = (0..5).map(HostId).collect();
        for host in &hosts {
            addresses.know(*host, IpAddr::from([127, 0, 0, 1]));
        }
        assert_eq!(addresses.turn(hosts[0], at(0)), Turn::Now);
        for host in &hosts[1..] {
            assert_eq!(addresses.turn(*host, at(0)), Turn::At(PUT_OFF));
        }
        let has_work = |host: HostId| host.0 >= 3;
        assert_eq!(addresses.overdue(at(9), has_work), [], "somebody is asked there");
        // The turn of host 1, which has nothing left to ask for, nor has host 2.
        assert_eq!(addresses.free(hosts[0], None), Some((hosts[1], Duration::ZERO)));
        assert_eq!(addresses.overdue(at(0), has_work), [], "not a second late yet");
        assert_eq!(addresses.overdue(at(1), has_work), [hosts[3]]);
        assert_eq!(addresses.turn(hosts[3], at(1)), Turn::Now);
        assert_eq!(addresses.free(hosts[3], None), Some((hosts[4], Duration::ZERO)));
        assert_eq!(addresses.overdue(at(9), has_work), [], "nobody waits");
    }
}
