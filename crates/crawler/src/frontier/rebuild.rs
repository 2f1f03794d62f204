//! Builds a new frontier for `crawl repair`: which URLs are done, and the delays and pauses of hosts.

use super::host::{Host, HostRecord};
use super::{Frontier, HostId};
use crate::store::{Store, StoreError};
use page::clock::Now;
use page::url::Fingerprint;

impl<S: Store> Frontier<S> {
    /// Notes a URL as seen, without queueing it: it was visited. False if it was known.
    pub(crate) fn know(&mut self, id: HostId, fingerprint: Fingerprint) -> Result<bool, StoreError> {
        self.load(id)?;
        if !self.hosts[id].seen.is_loaded() {
            self.load_seen(id)?;
        }
        self.ticks += 1;
        let ticks = self.ticks;
        let host = self.host_mut(id);
        host.seen.used = ticks;
        if !host.seen.insert(fingerprint) {
            return Ok(false);
        }
        self.seen_loaded += 1;
        self.evict_seen();
        Ok(true)
    }

    /// Takes over a host's pace, pauses and counters from its record in another database; not its queues.
    pub(crate) fn take_over(&mut self, id: HostId, record: &HostRecord, now: Now) {
        let before = Host::restore(record, now, self.clock.and_then(|clock| clock.boot()));
        let host = self.host_mut(id);
        host.gap = before.gap;
        host.wait = before.wait;
        host.not_before = before.not_before;
        host.pace = before.pace;
        host.counts = before.counts;
        host.days = before.days;
        host.robots_status = before.robots_status;
        host.groups = before.groups;
        host.class = before.class;
    }
}

/// A stretch of a queue: host, number of the queue, position of the first URL, URLs.
pub(crate) type Stretch = (HostId, u8, u64, Vec<super::QueuedUrl>);

/// Returns the URLs of a journal entry, with host and number of the queue.
pub(crate) fn journal_urls(value: &[u8]) -> Option<Vec<Stretch>> {
    let parts: Vec<super::persist::JournalPart> = postcard::from_bytes(value).ok()?;
    let urls = parts.into_iter().flat_map(|part| {
        part.queues.into_iter().map(move |(queue, first, urls)| (part.host, queue, first, urls))
    });
    Some(urls.collect())
}

/// Returns the position of the first URL of a chunk, and its URLs.
pub(crate) fn chunk_urls(value: &[u8]) -> Option<(u64, Vec<super::QueuedUrl>)> {
    let bytes = crate::packed::unpack(value).ok()?;
    let chunk: super::queue::Chunk = postcard::from_bytes(&bytes).ok()?;
    Some((chunk.first, chunk.urls))
}

/// Returns the ids and names of the hosts that a journal entry found.
pub(crate) fn journal_names(value: &[u8]) -> Vec<(HostId, String)> {
    let parts: Vec<super::persist::JournalPart> = postcard::from_bytes(value).unwrap_or_default();
    parts.into_iter().filter_map(|part| Some((part.host, part.new?.name))).collect()
}

/// Returns the hosts of a block, with its URLs: host, number of the queue, position of the first.
pub(crate) fn block_hosts(value: &[u8]) -> Vec<(HostId, HostRecord, Vec<Stretch>)> {
    let hosts = super::idle_host::read_block(value).unwrap_or_default().into_iter().map(|host| {
        let id = HostId(host.id);
        let (record, urls) = host.all_urls();
        let queues = (0_u8..).zip(record.all_queues()).zip(urls);
        let stretches =
            queues.map(|((queue, ends), urls)| (id, queue, ends.sealed.max(ends.head), urls)).collect();
        (id, record, stretches)
    });
    hosts.collect()
}
