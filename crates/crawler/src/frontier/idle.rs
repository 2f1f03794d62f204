//! Hosts that aren't in use: 64 of them in one value of the store, with their fresh URLs and fingerprints beside the
//! record, so that a host with one URL costs no entry of its own in any tree.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Frontier;
use super::error::lost;
use super::host::{Host, STILL_AT_WORK, StoredAs};
use super::hosts::Hosts;
use super::idle_host::{BLOCK_OF_HOSTS, IdleHost, block_of, read_block, write_block};
use super::item::QueuedUrl;
use super::overlay::Overlay;
use super::queue::Queue;
use super::waits::ReadyAt;
use crate::pace::DelayReason;
use crate::store::{Store, StoreError, Tree};
use page::clock::{Boot, Now};
use page::ids::HostId;

/// Bytes of fresh URLs and fingerprints that are stored with a host's record; a host with more gets chunks and blocks.
const INLINE: usize = 1_024;

/// Bytes that a host's fresh URLs and fingerprints would take beside its record.
fn inline_bytes(host: &Host) -> usize {
    let urls = host.queues.iter().flat_map(Queue::fresh).map(QueuedUrl::bytes).sum::<usize>();
    urls + 8 * host.seen.fresh().len()
}

/// Whether an unasked host has nothing under way, and so little queued that it is stored with its record.
pub(super) fn may_be_evicted(host: &Host) -> bool {
    host.is_at_rest() && inline_bytes(host) <= INLINE
}

pub(super) fn idle_block<S: Store>(
    hosts: &mut Hosts,
    view: &Overlay<S>,
    number: u32,
) -> Result<Arc<Vec<IdleHost>>, StoreError> {
    if let Some(block) = hosts.block(number) {
        return Ok(block);
    }
    let value = view.get(Tree::IdleHosts, &number.to_be_bytes())?;
    let block = Arc::new(value.as_deref().map(read_block).transpose()?.unwrap_or_default());
    hosts.keep_block(number, Arc::clone(&block));
    Ok(block)
}

impl<S: Store> Frontier<S> {
    /// Notes the hosts of a stored block. They wait as [`Host::restore`] says, and for as long as a restart asks for.
    pub(super) fn open_block(
        &mut self,
        value: &[u8],
        now: Now,
        boot: Option<Boot>,
        rest: Option<Duration>,
        names: &mut dyn FnMut(&str),
    ) -> Result<(), StoreError> {
        for idle in read_block(value)? {
            let id = HostId(idle.id);
            let mut host = Host::restore(&idle.record, now, boot);
            if host.dirty && host.wait.length > host.gap.length {
                // A pause that starts over has to be recorded; a mere delay starts over with each process.
                names(&idle.record.host);
                self.hosts.put(id, idle.host(now, boot, self.process));
                self.dirty.push(id);
                continue;
            }
            if let Some(delay) = rest {
                host.rest(now, delay, self.at_work);
            }
            names(&idle.record.host);
            self.hosts.put_idle(id, &idle.record.host, idle.record.queued(), host.not_before, host.wait.why);
        }
        Ok(())
    }

    /// The stored form of an idle host.
    pub(super) fn idle(&mut self, id: HostId) -> Result<IdleHost, StoreError> {
        let block = idle_block(&mut self.hosts, &self.view, block_of(id))?;
        let found = block.iter().find(|host| host.id == id.0);
        let found = found.filter(|host| self.hosts.is_named(id, &host.record.host));
        found.cloned().ok_or_else(|| lost(Tree::IdleHosts, &format!("host {}", id.0)))
    }

    /// Brings a host into memory, if it isn't there. Cost: one block of 64 hosts, unless it was read lately.
    pub fn load(&mut self, id: HostId) -> Result<(), StoreError> {
        if !self.hosts.is_idle(id) {
            return Ok(());
        }
        let idle = self.idle(id)?;
        let now = Now { mono: Duration::ZERO, wall: idle.record.next_at };
        let mut host = idle.host(now, None, self.process);
        host.dirty = false;
        let slot = self.hosts.slot(id);
        host.not_before = Duration::from_secs(u64::from(slot.at));
        if idle.process != self.process {
            // All of it counts as one wait since this process opened the crawl, as it does for hosts that were in memory.
            host.wait.length = host.not_before.saturating_sub(self.opened);
        }
        host.wait.why = slot.why;
        let worked =
            Duration::from_millis(idle.record.counts.slowest_ms).min(STILL_AT_WORK).max(self.at_work);
        host.last_end = host.last_end.or(self.rested_from.map(|from| from + worked));
        host.parked = (slot.parked || slot.full).then(|| idle.parked().into());
        host.used = true;
        self.hosts.put(id, host);
        Ok(())
    }

    /// Puts hosts away that weren't used lately, where more are in memory than [`super::FrontierLimits::hosts_in_memory`]:
    /// down to seven eighths of that. What they hold is in their blocks with the next cut.
    ///
    /// Each cut does it. A page may make ten thousand hosts known, and commits may be slow: called between two pages, it
    /// bounds what is in memory to the limit and one page's hosts.
    pub fn evict_idle_hosts(&mut self, now: Now) -> Result<(), StoreError> {
        if self.hosts.in_memory() <= self.limits.hosts_in_memory {
            return Ok(());
        }
        let most = self.limits.hosts_in_memory / 8 * 7;
        self.evict_least_used(now, |in_memory, _| in_memory > most)?;
        Ok(())
    }

    /// Bytes of the trap counters of hosts in memory. Cost: one step for each of these hosts.
    pub fn trap_counter_bytes(&self) -> usize {
        self.hosts.iter().map(|(_, host)| host.groups.bytes()).sum()
    }

    /// Puts hosts away that weren't used lately where trap counters take more than `most` bytes, and gives what they take then. A
    /// host that is in use keeps its counters: a few kilobytes at most. To be called once in a while: it looks at all hosts.
    pub fn limit_trap_counters(&mut self, most: usize, now: Now) -> Result<usize, StoreError> {
        let bytes = self.trap_counter_bytes();
        if bytes <= most {
            return Ok(bytes);
        }
        let freed = self.evict_least_used(now, |_, freed| bytes.saturating_sub(freed) > most / 8 * 7)?;
        Ok(bytes.saturating_sub(freed))
    }

    /// Puts hosts at rest away, those first that weren't used for longest, while `goes_on` says so of the hosts in memory and of the
    /// bytes of trap counters that were freed. Gives the latter.
    fn evict_least_used(
        &mut self,
        now: Now,
        goes_on: impl Fn(usize, usize) -> bool,
    ) -> Result<usize, StoreError> {
        let (mut taken, mut freed) = (Vec::new(), 0);
        for _ in 0..self.hosts.in_memory() {
            if !goes_on(self.hosts.in_memory(), freed) {
                break;
            }
            let Some(id) = self.hosts.rotate() else { break };
            let host = &mut self.hosts[id];
            if std::mem::take(&mut host.used) || !host.is_at_rest() || host.answered_in > self.committed {
                continue;
            }
            if inline_bytes(host) > INLINE {
                self.seal(id, true)?;
            }
            let Some(host) = self.hosts.take_rotated(self.open) else { break };
            freed += host.1.groups.bytes();
            taken.push(host);
        }
        self.evict(taken, now)?;
        Ok(freed)
    }

    /// Writes hosts that were taken out of memory into their blocks.
    pub(super) fn evict(&mut self, taken: Vec<(HostId, Box<Host>)>, now: Now) -> Result<(), StoreError> {
        if taken.is_empty() {
            return Ok(());
        }
        let boot = self.clock.and_then(|clock| clock.boot());
        let mut blocks: BTreeMap<u32, Vec<IdleHost>> = BTreeMap::new();
        for (id, host) in taken {
            self.seen_loaded = self.seen_loaded.saturating_sub(host.seen.loaded());
            if host.stored == StoredAs::Record {
                self.view.remove(Tree::Hosts, id.key().to_vec());
            }
            blocks.entry(block_of(id)).or_default().push(IdleHost::of(id, &host, now, boot, self.process));
        }
        for (number, evicted) in blocks {
            let before = idle_block(&mut self.hosts, &self.view, number)?;
            let is_replaced = |host: &&IdleHost| evicted.iter().any(|other| other.id == host.id);
            let kept: Vec<IdleHost> = before.iter().filter(|host| !is_replaced(host)).cloned().collect();
            let mut all = [kept, evicted].concat();
            all.sort_unstable_by_key(|host| host.id);
            self.view.put(Tree::IdleHosts, number.to_be_bytes().to_vec(), write_block(&all)?);
            self.hosts.keep_block(number, Arc::new(all));
        }
        let hosts = &self.hosts;
        self.dirty.retain(|id| !hosts.is_idle(*id));
        Ok(())
    }

    /// Leaves idle hosts alone that have brought so many pages.
    pub(super) fn park_idle(&mut self, most: u64) -> Result<(), StoreError> {
        for number in 0..(self.hosts.len() as u32).div_ceil(BLOCK_OF_HOSTS) {
            let Some(value) = self.view.get(Tree::IdleHosts, &number.to_be_bytes())? else { continue };
            for host in read_block(&value)? {
                let id = HostId(host.id);
                if host.record.counts.pages >= most && self.hosts.is_idle(id) {
                    let slot = self.hosts.slot_mut(id);
                    slot.full = true;
                    slot.parked = !host.record.may_hold_resources();
                    slot.stamp = slot.stamp.wrapping_add(1);
                    if slot.has_idle_work() {
                        let at = ReadyAt::seconds(slot.at);
                        self.ready.push(Reverse((at, slot.stamp, id)));
                    }
                }
            }
        }
        Ok(())
    }

    /// The idle hosts with URLs queued: name, what they wait for or why they are skipped, URLs. At most `most` of them.
    pub(super) fn idle_remaining(&mut self, most: usize) -> Result<Vec<(String, String, u64)>, StoreError> {
        let is_remaining = |slot: &super::hosts::Slot| slot.host().is_none() && slot.queued > 0;
        let ids: Vec<HostId> =
            self.hosts.slots().filter(|(_, slot)| is_remaining(slot)).map(|(id, _)| id).take(most).collect();
        let row = |id| {
            let idle = self.idle(id)?;
            let slot = self.hosts.slot(id);
            let reason = if slot.parked { idle.parked() } else { slot.why.to_string() };
            Ok((idle.record.host, reason, u64::from(slot.queued)))
        };
        ids.into_iter().map(row).collect()
    }

    /// What idle hosts wait for, each with the remaining time and whether it is skipped.
    pub fn idle_waits(&self, now: Now) -> impl Iterator<Item = (DelayReason, Duration, bool)> {
        let idle = self.hosts.slots().filter(|(_, slot)| slot.host().is_none() && slot.queued > 0);
        idle.map(move |(_, slot)| {
            (slot.why, Duration::from_secs(u64::from(slot.at)).saturating_sub(now.mono), slot.parked)
        })
    }
}
