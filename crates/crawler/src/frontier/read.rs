//! Reads the queues of a stored frontier without taking it up: what is still to be fetched. Nothing is changed.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use super::persist::{JournalPart, form, queue_key};
use super::queue::{CHUNK, Chunk};
use super::{HostId, HostRecord, Priority, QueuedUrl};
use crate::store::{Pair, Store, StoreError, Tree};

/// A URL that waits in a stored queue.
#[derive(Debug, Clone)]
pub struct StoredUrl {
    /// The host's id.
    pub id: HostId,
    /// The host as stored.
    pub host: Arc<HostRecord>,
    /// The queue it stands in.
    pub priority: Priority,
    /// The URL.
    pub url: QueuedUrl,
}

/// Iterates over the queues of a store: by host id, priority, and order of leasing.
///
/// Memory: the journal, which the frontier keeps below
/// [`FrontierLimits::journal_octets`](super::FrontierLimits::journal_octets), and one chunk.
pub fn stored_queue<S: Store>(store: &S) -> Result<StoredQueue<'_, S>, StoreError> {
    Ok(StoredQueue {
        store,
        hosts: store.scan(Tree::Hosts, &[]),
        journal: read_journal(store)?,
        host: None,
        stretches: VecDeque::new(),
        ready: VecDeque::new(),
    })
}

/// As [`stored_queue`], for one host.
pub fn stored_queue_of<S: Store>(store: &S, host: HostId) -> Result<StoredQueue<'_, S>, StoreError> {
    let hosts = store.scan(Tree::Hosts, &host.key());
    Ok(StoredQueue { hosts, ..stored_queue(store)? })
}

/// See [`stored_queue`].
pub struct StoredQueue<'a, S> {
    store: &'a S,
    hosts: Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + 'a>,
    journal: Journal,
    host: Option<(HostId, Arc<HostRecord>)>,
    stretches: VecDeque<Stretch>,
    ready: VecDeque<(Priority, QueuedUrl)>,
}

/// What a queue holds beyond its sealed positions, by host and number of the queue.
type Journal = HashMap<(HostId, u8), Vec<QueuedUrl>>;

/// The rest of one queue: chunks first, then what stands in the journal only.
struct Stretch {
    priority: Priority,
    /// Positions that are on disk and not consumed.
    positions: Range<u64>,
    chunks: Range<u64>,
}

impl<S: Store> StoredQueue<'_, S> {
    fn enter(&mut self, (key, value): Pair) -> Result<(), StoreError> {
        let id = host_id(&key)?;
        let host: HostRecord = serde_json::from_slice(&value).map_err(|error| form(Tree::Hosts, &error))?;
        for (priority, ends) in Priority::ALL.into_iter().zip(host.queues) {
            let chunks = ends.head / CHUNK..ends.sealed.div_ceil(CHUNK).max(ends.head / CHUNK);
            self.stretches.push_back(Stretch { priority, positions: ends.head..ends.sealed, chunks });
        }
        self.host = Some((id, Arc::new(host)));
        Ok(())
    }

    fn read(&mut self, id: HostId) -> Result<(), StoreError> {
        let Some(stretch) = self.stretches.front_mut() else { return Ok(()) };
        let Stretch { priority, positions, chunks } = stretch;
        let priority = *priority;
        if let Some(number) = chunks.next().filter(|_| !positions.is_empty()) {
            let chunk = read_chunk(self.store, id, priority, number)?;
            let wanted = (chunk.first..).zip(chunk.urls).filter(|(at, _)| positions.contains(at));
            self.ready.extend(wanted.map(|(_, url)| (priority, url)));
        } else {
            self.stretches.pop_front();
            let fresh = self.journal.remove(&(id, priority as u8)).unwrap_or_default();
            self.ready.extend(fresh.into_iter().map(|url| (priority, url)));
        }
        Ok(())
    }
}

impl<S: Store> Iterator for StoredQueue<'_, S> {
    type Item = Result<StoredUrl, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((id, host)) = &self.host {
                if let Some((priority, url)) = self.ready.pop_front() {
                    return Some(Ok(StoredUrl { id: *id, host: Arc::clone(host), priority, url }));
                }
                let id = *id;
                if !self.stretches.is_empty() {
                    if let Err(error) = self.read(id) {
                        self.stretches.clear();
                        return Some(Err(error));
                    }
                    continue;
                }
            }
            let entered = self.hosts.next()?.and_then(|pair| self.enter(pair));
            if let Err(error) = entered {
                return Some(Err(error));
            }
        }
    }
}

impl<S> std::fmt::Debug for StoredQueue<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredQueue").field("host", &self.host).finish_non_exhaustive()
    }
}

/// As [`Frontier::open`](super::Frontier::open) replays it: each entry goes on where chunks and earlier entries end.
fn read_journal<S: Store>(store: &S) -> Result<Journal, StoreError> {
    let mut ends: HashMap<HostId, [u64; 3]> = HashMap::new();
    let mut journal = Journal::new();
    for pair in store.scan(Tree::Journal, &[]) {
        let (_, value) = pair?;
        let parts: Vec<JournalPart> =
            postcard::from_bytes(&value).map_err(|error| form(Tree::Journal, &error))?;
        for JournalPart { host, queues, .. } in parts {
            if let std::collections::hash_map::Entry::Vacant(slot) = ends.entry(host) {
                let value = store.get(Tree::Hosts, &host.key())?;
                let value =
                    value.ok_or_else(|| form(Tree::Journal, &format!("host {} is unknown", host.0)))?;
                let record: HostRecord =
                    serde_json::from_slice(&value).map_err(|error| form(Tree::Hosts, &error))?;
                slot.insert(record.queues.map(|ends| ends.sealed.max(ends.head)));
            }
            for (number, first, urls) in queues {
                let tail = ends.get_mut(&host).and_then(|ends| ends.get_mut(usize::from(number)));
                let Some(tail) = tail else { continue };
                let fresh = journal.entry((host, number)).or_default();
                for (position, url) in (first..).zip(urls) {
                    if position == *tail {
                        fresh.push(url);
                        *tail += 1;
                    }
                }
            }
        }
    }
    Ok(journal)
}

fn read_chunk<S: Store>(store: &S, id: HostId, priority: Priority, number: u64) -> Result<Chunk, StoreError> {
    let value = store.get(Tree::Queue, &queue_key(id, priority, number))?;
    let value =
        value.ok_or_else(|| form(Tree::Queue, &format!("chunk {number} of host {} is missing", id.0)))?;
    let octets = crate::packed::unpack(&value).map_err(|error| form(Tree::Queue, &error))?;
    postcard::from_bytes(&octets).map_err(|error| form(Tree::Queue, &error))
}

fn host_id(key: &[u8]) -> Result<HostId, StoreError> {
    let octets = <[u8; 4]>::try_from(key).map_err(|error| form(Tree::Hosts, &error))?;
    Ok(HostId(u32::from_be_bytes(octets)))
}
