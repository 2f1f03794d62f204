//! Moves hosts from one frontier to another: a crawl that becomes one on many machines, or one of these that becomes one on a single machine.

use std::collections::HashSet;

use super::host::{HostRecord, StoredAs};
use super::{Frontier, HostId, Priority, QueuedUrl};
use crate::store::{Store, StoreError};
use crate::trap::Groups;
use page::clock::Now;
use page::url::Fingerprint;

/// What a frontier knows of a host, without its queues.
#[derive(Debug)]
pub(crate) struct MovedHost {
    record: HostRecord,
    groups: Groups,
    seen: Vec<Fingerprint>,
}

impl<S: Store> Frontier<S> {
    /// A host to be taken in elsewhere.
    pub(crate) fn copy_host(&mut self, id: HostId, now: Now) -> Result<MovedHost, StoreError> {
        self.load(id)?;
        if !self.hosts[id].seen.is_loaded() {
            self.load_seen(id)?;
        }
        let boot = self.clock.and_then(|clock| clock.boot());
        let host = &mut self.hosts[id];
        let seen = host.seen.all().collect();
        self.seen_loaded = self.seen_loaded.saturating_sub(host.seen.loaded());
        host.seen.evict();
        Ok(MovedHost { record: host.record(now, boot), groups: host.groups.clone(), seen })
    }

    /// Takes hosts out of memory that were copied and can be read again.
    pub(crate) fn forget_copied(&mut self, ids: &HashSet<HostId>) {
        let blocks = ids.iter().filter(|id| {
            self.hosts.slot(**id).host().is_some_and(|host| host.stored == StoredAs::Block && !host.dirty)
        });
        let blocks = blocks.copied().collect();
        drop(self.hosts.take(&blocks, self.open));
    }

    /// Takes in a host with its pace, its pauses and what it has seen. It rests for its whole gap, as at every start.
    pub(crate) fn take_in(&mut self, id: HostId, moved: MovedHost, now: Now) -> Result<(), StoreError> {
        self.load(id)?;
        self.take_over(id, &moved.record, now);
        self.host_mut(id).groups = moved.groups;
        for fingerprint in moved.seen {
            self.know(id, fingerprint)?;
        }
        Ok(())
    }

    /// Takes in a URL that waits, and was seen.
    pub(crate) fn take_queued(
        &mut self,
        id: HostId,
        priority: Priority,
        url: QueuedUrl,
    ) -> Result<(), StoreError> {
        self.load(id)?;
        self.host_mut(id).push(priority, url);
        self.queued += 1;
        self.schedule_if_idle(id);
        Ok(())
    }
}
