//! The hosts of a stored frontier, in the order of their ids, wherever they are stored: in records of their own, in blocks, or in
//! the journal alone. Nothing is changed.

use std::collections::BTreeMap;

use super::error::form;
use super::host::HostRecord;
use super::idle_host::{IdleHost, block_of, read_block};
use super::item::QueuedUrl;
use super::persist::{JournalPart, NewHost};
use super::priority::QUEUES;
use crate::store::{Store, StoreError, Tree};
use page::ids::HostId;

/// A host as stored, with the URLs of each queue that are stored with its record.
pub(super) type Stored = (HostId, HostRecord, [Vec<QueuedUrl>; QUEUES]);

/// Iterates over the hosts of a store with their records. Memory: the names in the journal, and one block.
pub fn stored_hosts<S: Store>(
    store: &S,
) -> Result<impl Iterator<Item = Result<(HostId, HostRecord), StoreError>> + '_, StoreError> {
    Ok(stored(store)?.map(|host| host.map(|(id, record, _)| (id, record))))
}

/// The record of one host.
pub fn stored_host<S: Store>(store: &S, id: HostId) -> Result<Option<HostRecord>, StoreError> {
    Ok(stored_one(store, id)?.map(|(_, record, _)| record))
}

pub(super) fn stored_one<S: Store>(store: &S, id: HostId) -> Result<Option<Stored>, StoreError> {
    if let Some(value) = store.get(Tree::Hosts, &id.key())? {
        return Ok(Some((id, read_record(&value)?, Default::default())));
    }
    if let Some(value) = store.get(Tree::IdleHosts, &block_of(id).to_be_bytes())?
        && let Some(host) = read_block(&value)?.into_iter().find(|host| host.id == id.0)
    {
        return Ok(Some(of_idle(host)));
    }
    Ok(journal_hosts(store)?.remove(&id).map(|host| (id, host.record(), Default::default())))
}

pub(super) fn stored<S: Store>(
    store: &S,
) -> Result<impl Iterator<Item = Result<Stored, StoreError>> + Send + '_, StoreError> {
    let records = store.scan(Tree::Hosts, &[]).map(|pair| {
        let (key, value) = pair?;
        Ok((host_id(&key)?, read_record(&value)?, Default::default()))
    });
    let idle = store.scan(Tree::IdleHosts, &[]).flat_map(|pair| {
        match pair.and_then(|(_, value)| read_block(&value)) {
            Ok(hosts) => hosts.into_iter().map(|host| Ok(of_idle(host))).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        }
    });
    let named = journal_hosts(store)?;
    let named = named.into_iter().map(|(id, host)| Ok((id, host.record(), Default::default())));
    let sources: [Box<dyn Iterator<Item = Result<Stored, StoreError>> + Send + '_>; 3] =
        [Box::new(records), Box::new(idle), Box::new(named)];
    Ok(Merged { sources: sources.map(Iterator::peekable) })
}

/// Merges iterators that are in the order of ids. Of one host the first source counts.
struct Merged<I: Iterator> {
    sources: [std::iter::Peekable<I>; 3],
}

impl<I: Iterator<Item = Result<Stored, StoreError>>> Iterator for Merged<I> {
    type Item = Result<Stored, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut first: Option<(HostId, usize)> = None;
        for (number, source) in self.sources.iter_mut().enumerate() {
            match source.peek() {
                Some(Ok((id, ..))) if first.is_none_or(|(least, _)| *id < least) => {
                    first = Some((*id, number));
                }
                Some(Err(_)) => return source.next(),
                _ => {}
            }
        }
        let (id, number) = first?;
        let found = self.sources[number].next();
        for source in &mut self.sources {
            while source.next_if(|host| matches!(host, Ok((other, ..)) if *other == id)).is_some() {}
        }
        found
    }
}

fn of_idle(host: IdleHost) -> Stored {
    let id = HostId(host.id);
    let (record, urls) = host.all_urls();
    (id, record, urls)
}

fn read_record(value: &[u8]) -> Result<HostRecord, StoreError> {
    HostRecord::read(value).map_err(|error| form(Tree::Hosts, error))
}

/// What the journal says of a host. A journal of 8 MB names a hundred thousand, whose records would take 100 MB.
struct JournalHost {
    new: NewHost,
    /// The ends of its queues, and how many fingerprints it has.
    tails: [u64; QUEUES],
    seen: u64,
}

impl JournalHost {
    fn record(self) -> HostRecord {
        let mut record = self.new.record();
        for (ends, tail) in
            record.queues.iter_mut().chain([&mut record.resources, &mut record.costly]).zip(self.tails)
        {
            ends.tail = ends.tail.max(tail);
        }
        record.seen.count = record.seen.count.max(self.seen);
        record
    }
}

/// The hosts that the journal names, as far as it tells of them.
fn journal_hosts<S: Store>(store: &S) -> Result<BTreeMap<HostId, JournalHost>, StoreError> {
    let mut hosts: BTreeMap<HostId, JournalHost> = BTreeMap::new();
    for pair in store.scan(Tree::Journal, &[]) {
        let (_, value) = pair?;
        let parts: Vec<JournalPart> =
            postcard::from_bytes(&value).map_err(|error| form(Tree::Journal, error))?;
        for part in parts {
            if let Some(new) = part.new {
                hosts.entry(part.host).or_insert(JournalHost { new, tails: [0; QUEUES], seen: 0 });
            }
            let Some(host) = hosts.get_mut(&part.host) else { continue };
            for (queue, first, urls) in part.queues {
                if let Some(tail) = host.tails.get_mut(usize::from(queue)) {
                    *tail = (*tail).max(first + urls.len() as u64);
                }
            }
            if let Some((first, all)) = part.seen {
                host.seen = host.seen.max(first + all.len() as u64);
            }
        }
    }
    Ok(hosts)
}

pub(super) fn host_id(key: &[u8]) -> Result<HostId, StoreError> {
    let bytes = <[u8; 4]>::try_from(key).map_err(|error| form(Tree::Hosts, error))?;
    Ok(HostId(u32::from_be_bytes(bytes)))
}
