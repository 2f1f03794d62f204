//! A host that isn't in use, as stored: 64 of them in one value.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::form;
use super::host::{FULL, Host, HostRecord, StoredAs};
use super::item::QueuedUrl;
use super::priority::{Priority, QUEUES};
use super::queue::{Queue, QueueEnds};
use super::seen::Seen;
use crate::pace::Delay;
use crate::store::{StoreError, Tree};
use crate::trap::Groups;
use crate::wishes::DayStart;
use page::clock::{Boot, Now};
use page::ids::HostId;
use walls::Streak;

/// Hosts in one block.
pub(super) const BLOCK_OF_HOSTS: u32 = 64;

/// One idle host as stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct IdleHost {
    pub(crate) id: u32,
    pub(crate) record: HostRecord,
    /// What many of its URLs have in common, with what an individual record leaves out.
    groups: Groups,
    /// The URLs of each queue that are in no chunk.
    pub(crate) urls: [Vec<QueuedUrl>; 3],
    /// The fingerprints that are in no block.
    fingerprints: Vec<u64>,
    /// The process that put it away, which is the one that its times are of.
    pub(super) process: u64,
    /// What it waits for, and its gap, as they are in memory: the record has them as a site sees them.
    wait: Delay,
    gap: Delay,
    /// When its last request ended, in milliseconds of the monotonic clock.
    ended: Option<u64>,
    /// The URLs of the queue of resources that are in no chunk. Stored behind the hosts of the block.
    #[serde(skip)]
    pub(crate) resources: Vec<QueuedUrl>,
    /// The same of the queue of costly pages.
    #[serde(skip)]
    pub(crate) costly: Vec<QueuedUrl>,
}

/// A queue of a host of a block that most hosts don't have, of those that ever had it: that of resources, and that of costly pages. They
/// follow the hosts, so that a block of format 2, which ends with those, is read as one without such queues.
#[derive(Serialize, Deserialize)]
struct IdleQueue {
    id: u32,
    ends: QueueEnds,
    urls: Vec<QueuedUrl>,
}

impl IdleQueue {
    /// That of each host which ever had one.
    fn of_each(hosts: &[IdleHost], queue: impl Fn(&IdleHost) -> (QueueEnds, &Vec<QueuedUrl>)) -> Vec<Self> {
        let of = |host| {
            let (ends, urls) = queue(host);
            (ends != QueueEnds::default()).then(|| Self { id: host.id, ends, urls: urls.clone() })
        };
        hosts.iter().filter_map(of).collect()
    }
}

/// The walls that a host of a block sent of late; only of those that did. They follow the resources, and costly
/// pages follow them.
#[derive(Serialize, Deserialize)]
struct IdleWalls {
    id: u32,
    walls: Streak,
}

/// The days of a host of a block that wishes limit; only of those that have any. They follow costly pages.
#[derive(Serialize, Deserialize)]
struct IdleDays {
    id: u32,
    days: Vec<DayStart>,
}

/// The number of the block that holds a host.
pub(super) fn block_of(id: HostId) -> u32 {
    id.0 / BLOCK_OF_HOSTS
}

/// Reads the value of a block.
pub(crate) fn read_block(value: &[u8]) -> Result<Vec<IdleHost>, StoreError> {
    let bad = |error| form(Tree::IdleHosts, error);
    let plain = crate::packed::unpack(value).map_err(|error| form(Tree::IdleHosts, error))?;
    let (mut hosts, rest) = postcard::take_from_bytes::<Vec<IdleHost>>(&plain).map_err(bad)?;
    let (resources, rest) = list(rest).map_err(bad)?;
    for IdleQueue { id, ends, urls } in resources {
        if let Some(host) = host_of(&mut hosts, id) {
            (host.record.resources, host.resources) = (ends, urls);
        }
    }
    let (walls, rest) = list(rest).map_err(bad)?;
    for IdleWalls { id, walls } in walls {
        if let Some(host) = host_of(&mut hosts, id) {
            host.record.walls = walls;
        }
    }
    let (costly, rest) = list(rest).map_err(bad)?;
    for IdleQueue { id, ends, urls } in costly {
        if let Some(host) = host_of(&mut hosts, id) {
            (host.record.costly, host.costly) = (ends, urls);
        }
    }
    let (days, _) = list(rest).map_err(bad)?;
    for IdleDays { id, days } in days {
        if let Some(host) = host_of(&mut hosts, id) {
            host.record.days = days;
        }
    }
    Ok(hosts)
}

/// Reads the next list behind the hosts, and what follows it; an empty one behind the last that was written.
fn list<'a, T: Deserialize<'a>>(rest: &'a [u8]) -> Result<(Vec<T>, &'a [u8]), postcard::Error> {
    if rest.is_empty() { Ok((Vec::new(), rest)) } else { postcard::take_from_bytes(rest) }
}

fn host_of(hosts: &mut [IdleHost], id: u32) -> Option<&mut IdleHost> {
    hosts.iter_mut().find(|host| host.id == id)
}

/// Writes the value of a block.
pub(super) fn write_block(hosts: &[IdleHost]) -> Result<Vec<u8>, StoreError> {
    let bad = |error| form(Tree::IdleHosts, error);
    let resources = IdleQueue::of_each(hosts, |host| (host.record.resources, &host.resources));
    let with_walls = hosts.iter().filter(|host| host.record.walls != Streak::default());
    let walls: Vec<_> =
        with_walls.map(|host| IdleWalls { id: host.id, walls: host.record.walls.clone() }).collect();
    let costly = IdleQueue::of_each(hosts, |host| (host.record.costly, &host.costly));
    let with_days = hosts.iter().filter(|host| !host.record.days.is_empty());
    let days: Vec<_> =
        with_days.map(|host| IdleDays { id: host.id, days: host.record.days.clone() }).collect();
    let lists = [
        (resources.is_empty(), postcard::to_stdvec(&resources).map_err(bad)?),
        (walls.is_empty(), postcard::to_stdvec(&walls).map_err(bad)?),
        (costly.is_empty(), postcard::to_stdvec(&costly).map_err(bad)?),
        (days.is_empty(), postcard::to_stdvec(&days).map_err(bad)?),
    ];
    let mut plain = postcard::to_stdvec(hosts).map_err(bad)?;
    // Each list is written as far as one after it has something.
    let used = lists.iter().rposition(|(is_empty, _)| !is_empty).map_or(0, |last| last + 1);
    for (_, list) in &lists[..used] {
        plain.extend_from_slice(list);
    }
    Ok(crate::packed::pack(plain))
}

impl IdleHost {
    /// The stored form of a host.
    pub(super) fn of(id: HostId, host: &Host, now: Now, boot: Option<Boot>, process: u64) -> Self {
        let fresh = |queue: usize| host.queues[queue].fresh().cloned().collect();
        let milliseconds = |end: Duration| u64::try_from(end.as_millis()).unwrap_or(u64::MAX);
        let mut record = host.record(now, boot);
        // They are stored beside it.
        record.groups.clear();
        Self {
            id: id.0,
            record,
            groups: host.groups.clone(),
            urls: [0, 1, 2].map(fresh),
            resources: fresh(Priority::Resource as usize),
            costly: fresh(Priority::Costly as usize),
            fingerprints: host.seen.fresh().iter().map(|fingerprint| fingerprint.0).collect(),
            // A millisecond late, since it is rounded down: the host rests longer, never shorter.
            ended: host.last_end.map(|end| milliseconds(end).saturating_add(1)),
            process,
            wait: host.wait,
            gap: host.gap,
        }
    }

    /// The host in memory again, in the process that put it away or in a later one.
    pub(super) fn host(&self, now: Now, boot: Option<Boot>, process: u64) -> Host {
        let mut host = Host::restore(&self.record, now, boot);
        for (queue, urls) in
            host.queues.iter_mut().zip(self.urls.iter().chain([&self.resources, &self.costly]))
        {
            *queue = Queue::restore_with(queue.ends(), urls.iter().cloned());
        }
        host.seen = Seen::restore_with(self.record.seen, &self.fingerprints);
        host.groups = self.groups.clone();
        if self.process == process {
            host.last_end = self.ended.map(Duration::from_millis);
            host.wait = self.wait;
            host.gap = self.gap;
            host.walls = self.record.walls.clone();
        }
        host.stored = StoredAs::Block;
        host
    }

    /// True if the host holds everything up to these ends already.
    pub(super) fn covers(
        &self,
        queues: &[(u8, u64, Vec<QueuedUrl>)],
        seen: Option<&(u64, Vec<u64>)>,
    ) -> bool {
        let urls = queues.iter().all(|(queue, first, urls)| {
            let all = self.record.all_queues();
            let ends = all.get(usize::from(*queue));
            ends.is_none_or(|ends| first + urls.len() as u64 <= ends.tail)
        });
        urls && seen.is_none_or(|(first, all)| first + all.len() as u64 <= self.record.seen.count)
    }

    /// The URLs of each queue that are in no chunk.
    pub(super) fn all_urls(self) -> (HostRecord, [Vec<QueuedUrl>; QUEUES]) {
        let [first, link, untested] = self.urls;
        (self.record, [first, link, untested, self.resources, self.costly])
    }

    /// Why the host is skipped, once it is.
    pub(super) fn parked(&self) -> String {
        let full = || format!("{FULL}{}", self.record.counts.pages);
        self.record.parked.clone().unwrap_or_else(full)
    }
}
