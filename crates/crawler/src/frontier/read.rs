//! Reads the queues of a stored frontier without opening it: the URLs still to be fetched. Nothing is changed.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use super::error::form;
use super::idle_host::{IdleHost, block_of, read_block};
use super::persist::{JournalPart, read_chunk};
use super::priority::QUEUES;
use super::queue::CHUNK;
use super::stored::{Stored, stored, stored_one};
use super::{HostId, HostRecord, Priority, QueuedUrl};
use crate::store::{Store, StoreError, Tree};

/// A URL that waits in a stored queue.
#[derive(Debug, Clone)]
pub struct StoredUrl {
    /// The host's id.
    pub id: HostId,
    /// The host as stored.
    pub host: Arc<HostRecord>,
    /// Its queue.
    pub priority: Priority,
    /// The URL.
    pub url: QueuedUrl,
}

/// Iterates over the queues of a store: by host id, priority, and order of leasing.
///
/// Memory: the journal, which the frontier keeps below
/// [`FrontierLimits::journal_bytes`](super::FrontierLimits::journal_bytes), and one chunk.
pub fn stored_queue<S: Store>(store: &S) -> Result<StoredQueue<'_, S>, StoreError> {
    Ok(StoredQueue {
        store,
        hosts: Box::new(stored(store)?),
        journal: read_journal(store)?,
        host: None,
        stretches: VecDeque::new(),
        ready: VecDeque::new(),
    })
}

/// As [`stored_queue`], for one host.
pub fn stored_queue_of<S: Store>(store: &S, host: HostId) -> Result<StoredQueue<'_, S>, StoreError> {
    let hosts = Box::new(stored_one(store, host)?.map(Ok).into_iter());
    Ok(StoredQueue { hosts, ..stored_queue(store)? })
}

/// See [`stored_queue`].
pub struct StoredQueue<'a, S> {
    store: &'a S,
    hosts: Box<dyn Iterator<Item = Result<Stored, StoreError>> + Send + 'a>,
    journal: Journal,
    host: Option<(HostId, Arc<HostRecord>)>,
    stretches: VecDeque<Stretch>,
    ready: VecDeque<(Priority, QueuedUrl)>,
}

/// What a queue holds beyond its sealed positions, by host and number of the queue.
type Journal = HashMap<(HostId, u8), Vec<QueuedUrl>>;

/// The rest of one queue: chunks first, then what is only in the journal.
struct Stretch {
    priority: Priority,
    /// Positions that are on disk and not consumed.
    positions: Range<u64>,
    chunks: Range<u64>,
    /// What is stored with the host's record, before what is in the journal.
    fresh: Vec<QueuedUrl>,
}

impl<S: Store> StoredQueue<'_, S> {
    fn enter(&mut self, (id, host, fresh): Stored) {
        for ((priority, ends), fresh) in Priority::ALL.into_iter().zip(host.all_queues()).zip(fresh) {
            let chunks = ends.head / CHUNK..ends.sealed.div_ceil(CHUNK).max(ends.head / CHUNK);
            self.stretches.push_back(Stretch { priority, positions: ends.head..ends.sealed, chunks, fresh });
        }
        self.host = Some((id, Arc::new(host)));
    }

    fn read(&mut self, id: HostId) -> Result<(), StoreError> {
        let Some(stretch) = self.stretches.front_mut() else { return Ok(()) };
        let Stretch { priority, positions, chunks, fresh } = stretch;
        let priority = *priority;
        if let Some(number) = chunks.next().filter(|_| !positions.is_empty()) {
            let chunk = read_chunk(|key| self.store.get(Tree::Queue, key), id, priority, number)?
                .ok_or_else(|| form(Tree::Queue, format!("chunk {number} of host {} is missing", id.0)))?;
            let wanted = (chunk.first..).zip(chunk.urls).filter(|(at, _)| positions.contains(at));
            self.ready.extend(wanted.map(|(_, url)| (priority, url)));
        } else {
            let journaled = self.journal.remove(&(id, priority as u8)).unwrap_or_default();
            let rest = std::mem::take(fresh).into_iter().chain(journaled);
            self.ready.extend(rest.map(|url| (priority, url)));
            self.stretches.pop_front();
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
            match self.hosts.next()? {
                Ok(host) => self.enter(host),
                Err(error) => return Some(Err(error)),
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
    let mut ends: HashMap<HostId, [u64; QUEUES]> = HashMap::new();
    let mut journal = Journal::new();
    let mut blocks = Blocks::default();
    for pair in store.scan(Tree::Journal, &[]) {
        let (_, value) = pair?;
        let parts: Vec<JournalPart> =
            postcard::from_bytes(&value).map_err(|error| form(Tree::Journal, error))?;
        for JournalPart { host, queues, .. } in parts {
            if let std::collections::hash_map::Entry::Vacant(slot) = ends.entry(host) {
                slot.insert(if let Some(value) = store.get(Tree::Hosts, &host.key())? {
                    let record = HostRecord::read(&value).map_err(|error| form(Tree::Hosts, error))?;
                    record.all_queues().map(|ends| ends.sealed.max(ends.head))
                } else {
                    // A block holds all that the journal held when the host was evicted.
                    blocks.tails(store, host)?.unwrap_or_default()
                });
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

/// The block of hosts that was read last.
#[derive(Default)]
struct Blocks(Option<(u32, Vec<IdleHost>)>);

impl Blocks {
    /// The ends of an idle host's queues.
    fn tails<S: Store>(&mut self, store: &S, host: HostId) -> Result<Option<[u64; QUEUES]>, StoreError> {
        let number = block_of(host);
        if self.0.as_ref().is_none_or(|(known, _)| *known != number) {
            let value = store.get(Tree::IdleHosts, &number.to_be_bytes())?;
            self.0 = Some((number, value.as_deref().map(read_block).transpose()?.unwrap_or_default()));
        }
        let found = self.0.iter().flat_map(|(_, hosts)| hosts).find(|idle| idle.id == host.0);
        Ok(found.map(|idle| idle.record.all_queues().map(|ends| ends.tail)))
    }
}
