//! The hosts of a crawl by their ids: those in use in memory, the others in blocks in the store, with 32 bytes in memory
//! for each.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashTable;

use super::host::Host;
use super::idle_host::IdleHost;
use super::priority::OpenQueues;
use crate::pace::DelayReason;
use page::ids::HostId;

/// Decoded blocks that are kept: hosts found together are in one block, and become ready one after the other.
const BLOCKS: usize = 16;

/// What is known of every host in memory.
#[derive(Debug)]
pub(super) struct Slot {
    /// The host, where it is in use.
    host: Option<Box<Host>>,
    /// Keyed hash of its name; 0 for a number that no host has yet.
    name: u64,
    /// URLs that wait; of an idle host.
    pub(super) queued: u32,
    /// When it may be asked, in seconds of the monotonic clock, rounded up; of an idle host.
    pub(super) at: u32,
    /// Which entry of the ready heap is the valid one.
    pub(super) stamp: u32,
    /// What it waits for; of an idle host.
    pub(super) why: DelayReason,
    /// It is skipped for the rest of this process; of an idle host.
    pub(super) parked: bool,
    /// It has brought enough pages, and may have resources; of an idle host.
    pub(super) full: bool,
    /// Nothing of what waits may be asked for: those queues are closed; of an idle host.
    pub(super) closed: Closed,
}

impl Slot {
    const UNKNOWN: Self = Self {
        host: None,
        name: 0,
        queued: 0,
        at: 0,
        stamp: 0,
        why: DelayReason::Configured,
        parked: false,
        full: false,
        closed: Closed::No,
    };

    /// The host, if it is in memory.
    pub(super) fn host(&self) -> Option<&Host> {
        self.host.as_deref()
    }

    /// True for an idle host with something to do once these queues are open.
    pub(super) fn has_idle_work_with(&self, open: OpenQueues) -> bool {
        self.host.is_none() && self.queued > 0 && !self.parked && self.closed.opens(open)
    }

    /// Takes the host out of memory; what has to be known of it stays.
    fn evict(&mut self, open: OpenQueues) -> Option<Box<Host>> {
        let host = self.host.take()?;
        self.queued = u32::try_from(host.queued()).unwrap_or(u32::MAX);
        self.at = seconds(host.not_before);
        self.why = host.wait.why;
        self.full = host.is_full();
        self.parked = host.parked.is_some() && !(self.full && host.may_hold_resources());
        self.closed = Closed::of(&host, open);
        Some(host)
    }

    /// True for an idle host with something to do.
    pub(super) fn has_idle_work(&self) -> bool {
        self.host.is_none() && self.queued > 0 && !self.parked && self.closed == Closed::No
    }
}

/// Whether queues that are closed keep a host from being asked, and which of them have something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    No,
    Pages,
    Resources,
    /// Either would do.
    Both,
    /// Nothing would be asked for if all were open.
    Nothing,
}

impl Closed {
    fn of(host: &Host, open: OpenQueues) -> Self {
        if host.has_work(open) {
            return Self::No;
        }
        let pages = host.has_work(OpenQueues { pages: true, resources: false });
        match (pages, host.has_work(OpenQueues { pages: false, resources: true })) {
            (true, true) => Self::Both,
            (true, false) => Self::Pages,
            (false, true) => Self::Resources,
            (false, false) => Self::Nothing,
        }
    }

    /// Whether the host may be asked where these queues are open.
    fn opens(self, open: OpenQueues) -> bool {
        match self {
            Self::No => true,
            Self::Pages => open.pages,
            Self::Resources => open.resources,
            Self::Both => open.pages || open.resources,
            Self::Nothing => false,
        }
    }
}

/// Whole seconds, rounded up: no host is asked early.
pub(super) fn seconds(at: Duration) -> u32 {
    u32::try_from(at.as_nanos().div_ceil(1_000_000_000)).unwrap_or(u32::MAX)
}

#[derive(Debug)]
pub(super) struct Hosts {
    slots: Vec<Slot>,
    by_name: HashTable<u32>,
    key: RandomState,
    /// The hosts in memory, in the order in which they are looked at to be evicted.
    in_memory: VecDeque<HostId>,
    /// Blocks read last, the newest first.
    blocks: VecDeque<(u32, Arc<Vec<IdleHost>>)>,
}

impl Hosts {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            by_name: HashTable::new(),
            key: RandomState::new(),
            in_memory: VecDeque::new(),
            blocks: VecDeque::new(),
        }
    }

    fn hash(&self, name: &str) -> u64 {
        self.key.hash_one(name).max(1)
    }

    /// Hosts known.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Hosts in memory.
    pub(super) fn in_memory(&self) -> usize {
        self.in_memory.len()
    }

    /// The first number that no host has, though a later one does.
    pub(super) fn gap(&self) -> Option<usize> {
        self.slots.iter().position(|slot| slot.name == 0)
    }

    /// Finds a host by its name. Two names are distinguished by 64 bits of a hash (`SipHash`) whose key is a
    /// secret of this process.
    pub(super) fn find(&self, name: &str) -> Option<HostId> {
        let hash = self.hash(name);
        self.by_name.find(hash, |&index| self.slots[index as usize].name == hash).map(|&index| HostId(index))
    }

    pub(super) fn is_named(&self, id: HostId, name: &str) -> bool {
        self.slots.get(id.0 as usize).is_some_and(|slot| slot.name == self.hash(name))
    }

    pub(super) fn slot(&self, id: HostId) -> &Slot {
        &self.slots[id.0 as usize]
    }

    pub(super) fn slot_mut(&mut self, id: HostId) -> &mut Slot {
        &mut self.slots[id.0 as usize]
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = (HostId, &Slot)> {
        (0_u32..).map(HostId).zip(&self.slots)
    }

    /// Opens queues of the hosts that are evicted: number, time and stamp of each that may be asked now and couldn't before.
    pub(super) fn reopen(&mut self, open: OpenQueues) -> impl Iterator<Item = (HostId, u32, u32)> {
        (0_u32..).map(HostId).zip(&mut self.slots).filter_map(move |(id, slot)| {
            if slot.closed == Closed::No || !slot.has_idle_work_with(open) {
                return None;
            }
            slot.closed = Closed::No;
            slot.stamp = slot.stamp.wrapping_add(1);
            Some((id, slot.at, slot.stamp))
        })
    }

    /// True if the host is known, and not in memory.
    pub(super) fn is_idle(&self, id: HostId) -> bool {
        self.slots.get(id.0 as usize).is_some_and(|slot| slot.host.is_none() && slot.name != 0)
    }

    pub(super) fn is_known(&self, id: HostId) -> bool {
        self.slots.get(id.0 as usize).is_some_and(|slot| slot.name != 0)
    }

    /// The hosts in memory.
    pub(super) fn iter(&self) -> impl Iterator<Item = (HostId, &Host)> {
        self.in_memory.iter().map(|id| (*id, &self[*id]))
    }

    /// The ids of the hosts in memory.
    pub(super) fn ids(&self) -> Vec<HostId> {
        self.in_memory.iter().copied().collect()
    }

    /// The first host in memory to be looked at; it goes to the end of the line unless it is evicted.
    pub(super) fn rotate(&mut self) -> Option<HostId> {
        let id = self.in_memory.pop_front()?;
        self.in_memory.push_back(id);
        Some(id)
    }

    fn name_slot(&mut self, id: HostId, name: &str) {
        let index = id.0 as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || Slot::UNKNOWN);
        }
        if self.slots[index].name == 0 {
            let hash = self.hash(name);
            self.slots[index].name = hash;
            let slots = &self.slots;
            self.by_name.insert_unique(hash, id.0, |&index| slots[index as usize].name);
        }
    }

    /// Adds a host under the next id.
    pub(super) fn push(&mut self, host: Host) -> HostId {
        let id = HostId(self.slots.len() as u32);
        self.put(id, host);
        id
    }

    /// Puts a host into memory.
    pub(super) fn put(&mut self, id: HostId, host: Host) {
        self.name_slot(id, &host.name);
        if self.slots[id.0 as usize].host.replace(Box::new(host)).is_none() {
            self.in_memory.push_back(id);
        }
    }

    /// Notes an idle host.
    pub(super) fn put_idle(&mut self, id: HostId, name: &str, queued: u64, at: Duration, why: DelayReason) {
        self.name_slot(id, name);
        let slot = &mut self.slots[id.0 as usize];
        slot.queued = u32::try_from(queued).unwrap_or(u32::MAX);
        slot.at = seconds(at);
        slot.why = why;
    }

    /// Takes the host that [`Hosts::rotate`] gave last out of memory.
    pub(super) fn take_rotated(&mut self, open: OpenQueues) -> Option<(HostId, Box<Host>)> {
        let id = self.in_memory.pop_back()?;
        Some((id, self.slots[id.0 as usize].evict(open)?))
    }

    /// Takes these hosts out of memory, those of them that are there. Cost: one look at each host in memory.
    pub(super) fn take(&mut self, ids: &HashSet<HostId>, open: OpenQueues) -> Vec<(HostId, Box<Host>)> {
        if ids.is_empty() {
            return Vec::new();
        }
        self.in_memory.retain(|id| !ids.contains(id));
        ids.iter().filter_map(|id| Some((*id, self.slots.get_mut(id.0 as usize)?.evict(open)?))).collect()
    }

    /// A decoded block, if it was read or written lately.
    pub(super) fn block(&mut self, number: u32) -> Option<Arc<Vec<IdleHost>>> {
        let at = self.blocks.iter().position(|(known, _)| *known == number)?;
        let block = self.blocks.remove(at)?;
        let hosts = Arc::clone(&block.1);
        self.blocks.push_front(block);
        Some(hosts)
    }

    /// Keeps a decoded block in place of an older one of its number.
    pub(super) fn keep_block(&mut self, number: u32, hosts: Arc<Vec<IdleHost>>) {
        self.blocks.retain(|(known, _)| *known != number);
        self.blocks.push_front((number, hosts));
        self.blocks.truncate(BLOCKS);
    }
}

/// A host that the caller knows to be in memory: it is leased, or was given by a method that loads it.
impl Index<HostId> for Hosts {
    type Output = Host;

    fn index(&self, id: HostId) -> &Host {
        self.slots[id.0 as usize].host.as_ref().expect("a host in use is in memory")
    }
}

impl IndexMut<HostId> for Hosts {
    fn index_mut(&mut self, id: HostId) -> &mut Host {
        self.slots[id.0 as usize].host.as_mut().expect("a host in use is in memory")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: OpenQueues = OpenQueues { pages: true, resources: true };
    const PAGES: OpenQueues = OpenQueues { pages: true, resources: false };
    const RESOURCES: OpenQueues = OpenQueues { pages: false, resources: true };
    const NONE: OpenQueues = OpenQueues { pages: false, resources: false };

    #[test]
    fn an_idle_host_has_work_where_something_waits_that_may_be_asked_for() {
        let idle = || Slot { queued: 1, ..Slot::UNKNOWN };
        assert!(idle().has_idle_work() && idle().has_idle_work_with(NONE));
        let delay = crate::pace::Delay { length: Duration::ZERO, why: DelayReason::Configured };
        for slot in [
            Slot { queued: 0, ..idle() },
            Slot { parked: true, ..idle() },
            Slot { host: Some(Box::new(Host::new("h1.example", delay))), ..idle() },
            Slot { closed: Closed::Nothing, ..idle() },
        ] {
            assert!(!slot.has_idle_work() && !slot.has_idle_work_with(BOTH), "{slot:?}");
        }
    }

    #[test]
    fn a_host_opens_with_the_queue_that_has_something() {
        for (closed, opens) in [
            (Closed::No, [true, true, true, true]),
            (Closed::Pages, [true, true, false, false]),
            (Closed::Resources, [true, false, true, false]),
            (Closed::Both, [true, true, true, false]),
            (Closed::Nothing, [false, false, false, false]),
        ] {
            assert_eq!([BOTH, PAGES, RESOURCES, NONE].map(|open| closed.opens(open)), opens, "{closed:?}");
        }
    }

    #[test]
    fn hosts_that_open_are_given_once() {
        let mut hosts = Hosts::new();
        for (id, closed, queued) in
            [(0, Closed::No, 1), (1, Closed::Pages, 1), (2, Closed::Resources, 1), (3, Closed::Pages, 0)]
        {
            let at = Duration::from_millis(1_500);
            hosts.put_idle(HostId(id), &format!("h{id}.example"), queued, at, DelayReason::Configured);
            hosts.slot_mut(HostId(id)).closed = closed;
        }
        let opened: Vec<_> = hosts.reopen(PAGES).collect();
        assert_eq!(opened, [(HostId(1), 2, 1)], "with its time, in whole seconds");
        assert_eq!(hosts.reopen(PAGES).count(), 0);
        assert_eq!(hosts.reopen(BOTH).map(|(id, ..)| id).collect::<Vec<_>>(), [HostId(2)]);
    }

    #[test]
    fn times_are_rounded_up_to_whole_seconds() {
        for (ms, expected) in [(0, 0), (1, 1), (1_000, 1), (1_001, 2), (u64::MAX, u32::MAX)] {
            assert_eq!(seconds(Duration::from_millis(ms)), expected, "{ms}");
        }
    }

    #[test]
    fn a_number_without_a_name_is_a_gap_and_a_name_is_its_hosts_alone() {
        let mut hosts = Hosts::new();
        hosts.put_idle(HostId(2), "h2.example", 1, Duration::ZERO, DelayReason::Configured);
        assert_eq!(hosts.gap(), Some(0));
        for id in [0, 1] {
            hosts.put_idle(HostId(id), &format!("h{id}.example"), 1, Duration::ZERO, DelayReason::Configured);
        }
        assert_eq!(hosts.gap(), None);
        assert!(hosts.is_named(HostId(1), "h1.example"));
        assert!(!hosts.is_named(HostId(1), "h2.example") && !hosts.is_named(HostId(7), "h7.example"));
    }
}
