//! How the frontier is stored: chunks, blocks, the journal, and the fold of the journal into the others.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Frontier;
use super::error::form;
use super::error::lost;
use super::host::{Host, HostRecord, StoredAs};
use super::idle::may_be_evicted;
use super::item::QueuedUrl;
use super::limits::{FrontierLimits, FrontierPortions};
use super::overlay::Overlay;
use super::priority::Priority;
use super::queue::{CHUNK, Chunk, NextUrl, Queue};
use super::seen::BLOCK;
use crate::pace::{Delay, DelayReason};
use crate::packed::{LONGEST, TARGET};
use crate::store::{Store, StoreError, Tree, Write};
use page::clock::Now;
use page::ids::HostId;

/// One host's part of a journal entry.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct JournalPart {
    pub(super) host: HostId,
    /// Set for a host that is stored nowhere else yet.
    pub(super) new: Option<NewHost>,
    /// Queue, first position, URLs.
    pub(super) queues: Vec<(u8, u64, Vec<QueuedUrl>)>,
    /// First index, fingerprints.
    pub(super) seen: Option<(u64, Vec<u64>)>,
}

/// Fingerprints of a piece.
const FINGERPRINTS: usize = 128;

impl JournalPart {
    /// In pieces of which none is much longer than an entry, in their order. Each can be replayed by itself, once those before it are.
    fn pieces(self) -> Vec<Self> {
        let Self { host, mut new, queues, seen } = self;
        let mut pieces = Vec::new();
        let mut piece = |queues, seen| pieces.push(Self { host, new: new.take(), queues, seen });
        for (queue, mut first, urls) in queues {
            let mut urls = urls.into_iter().peekable();
            while let Some(url) = urls.next() {
                let (mut bytes, mut some) = (url.bytes(), vec![url]);
                while let Some(url) = urls.next_if(|url| bytes + url.bytes() <= TARGET) {
                    bytes += url.bytes();
                    some.push(url);
                }
                let next = first + some.len() as u64;
                piece(vec![(queue, first, some)], None);
                first = next;
            }
        }
        if let Some((first, fingerprints)) = seen {
            for (first, some) in (first..).step_by(FINGERPRINTS).zip(fingerprints.chunks(FINGERPRINTS)) {
                piece(Vec::new(), Some((first, some.to_vec())));
            }
        }
        pieces
    }
}

/// Parts of hosts as journal entries.
fn entries(parts: Vec<JournalPart>) -> Result<Vec<Vec<u8>>, postcard::Error> {
    let mut entries = Vec::new();
    let (mut count, mut body) = (0_u64, Vec::new());
    for piece in parts.into_iter().flat_map(JournalPart::pieces) {
        let bytes = postcard::to_stdvec(&piece)?;
        if count > 0 && body.len() + bytes.len() > TARGET {
            entries.push(entry(std::mem::take(&mut count), &std::mem::take(&mut body))?);
        }
        count += 1;
        body.extend(bytes);
    }
    if count > 0 {
        entries.push(entry(count, &body)?);
    }
    Ok(entries)
}

/// As postcard writes a sequence.
fn entry(count: u64, body: &[u8]) -> Result<Vec<u8>, postcard::Error> {
    let mut entry = postcard::to_stdvec(&count)?;
    entry.extend(body);
    Ok(entry)
}

/// A host that was found and not asked yet.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NewHost {
    pub(super) name: String,
    /// The gap in force, in milliseconds.
    pub(super) delay_ms: u64,
}

impl NewHost {
    fn host(&self) -> Host {
        let length = Duration::from_millis(self.delay_ms);
        let mut host = Host::new(&self.name, Delay { length, why: DelayReason::Configured });
        host.dirty = false;
        host.stored = StoredAs::Name;
        host
    }

    /// As an unasked host's record would be.
    pub(super) fn record(&self) -> HostRecord {
        self.host().record(Now { mono: Duration::ZERO, wall: jiff::Timestamp::UNIX_EPOCH }, None)
    }
}

impl<S: Store> Frontier<S> {
    pub(super) fn replay(
        &mut self,
        key: &[u8],
        value: &[u8],
        names: &mut dyn FnMut(&str),
    ) -> Result<(), StoreError> {
        let number = <[u8; 8]>::try_from(key).map_err(|error| form(Tree::Journal, error))?;
        let number = u64::from_be_bytes(number);
        self.journal.push((number, value.len()));
        self.journal_next = number + 1;
        let parts: Vec<JournalPart> =
            postcard::from_bytes(value).map_err(|error| form(Tree::Journal, error))?;
        for part in parts {
            if self.hosts.is_idle(part.host) {
                if self.idle(part.host)?.covers(&part.queues, part.seen.as_ref()) {
                    continue;
                }
                self.load(part.host)?;
            } else if !self.hosts.is_known(part.host) {
                let Some(new) = &part.new else {
                    return Err(lost(Tree::Hosts, &format!("host {}", part.host.0)));
                };
                names(&new.name);
                self.hosts.put(part.host, new.host());
            }
            let host = &mut self.hosts[part.host];
            for (queue, first, urls) in part.queues {
                let Some(queue) = host.queues.get_mut(usize::from(queue)) else { continue };
                for (position, url) in (first..).zip(urls) {
                    queue.replay(position, url);
                }
            }
            if let Some((first, fingerprints)) = part.seen {
                for (index, fingerprint) in (first..).zip(fingerprints) {
                    host.seen.replay(index, fingerprint);
                }
            }
        }
        Ok(())
    }

    pub(super) fn load_chunk(
        &mut self,
        id: HostId,
        priority: Priority,
        number: u64,
    ) -> Result<(), StoreError> {
        if self.chunks_loaded >= self.limits.chunks_in_memory {
            for id in self.hosts.ids() {
                self.hosts[id].queues.iter_mut().for_each(Queue::unload);
            }
            self.chunks_loaded = 0;
        }
        let chunk = read_chunk(|key| self.view.get(Tree::Queue, key), id, priority, number)?
            .ok_or_else(|| lost(Tree::Queue, &format!("chunk {number} of host {}", id.0)))?;
        let queue = self.hosts[id].queue(priority);
        queue.load(chunk);
        self.chunks_loaded += 1;
        // A chunk that doesn't hold its own head would be read forever.
        if matches!(queue.head(), NextUrl::Chunk(_)) {
            return Err(lost(Tree::Queue, &format!("URLs of chunk {number} of host {}", id.0)));
        }
        Ok(())
    }

    /// Hands over all changes since the last cut, for one commit, with the number to call [`Frontier::committed`] by.
    pub fn cut(&mut self, now: Now) -> Result<(u64, Vec<Write>), StoreError> {
        self.evict_idle_hosts(now)?;
        self.persist_fresh(now)?;
        let boot = self.clock.and_then(|clock| clock.boot());
        for id in std::mem::take(&mut self.dirty) {
            let host = &mut self.hosts[id];
            host.dirty = false;
            if host.stored == StoredAs::Name && host.is_untouched() {
                continue;
            }
            host.stored = StoredAs::Record;
            let record = host.record(now, boot).write().map_err(|error| form(Tree::Hosts, error))?;
            self.view.put(Tree::Hosts, id.key().to_vec(), record);
        }
        Ok(self.view.cut())
    }

    /// The number of hosts that are ready, and wait for a commit alone.
    pub fn waiting_for_commit(&self) -> usize {
        self.uncommitted.len()
    }

    /// Called when the store has a cut: a kill can't undo it any more.
    pub fn committed(&mut self, generation: u64) {
        self.view.committed(generation);
        self.committed = self.committed.max(generation);
        for id in std::mem::take(&mut self.uncommitted) {
            self.schedule_if_idle(id);
        }
    }

    /// Brings what was queued and seen since the last cut to the store: whole chunks and blocks as such, the rest by
    /// the journal, or as unfinished chunks and blocks where that costs no more than twice as much.
    fn persist_fresh(&mut self, now: Now) -> Result<(), StoreError> {
        let mut dirty = self.dirty.clone();
        for id in &dirty {
            self.seal(*id, false)?;
        }
        self.drop_folded();
        self.fold(now)?;
        dirty.retain(|id| !self.hosts.is_idle(*id));
        let costs = dirty.iter().map(|id| self.hosts[*id].costs());
        let (journal, all) = costs.fold((0, 0), |sum, cost| (sum.0 + cost.0, sum.1 + cost.1));
        if journal == 0 {
            return Ok(());
        }
        if is_sealed(journal, all) {
            for id in dirty {
                self.seal(id, true)?;
            }
            return Ok(());
        }
        let mut parts = Vec::new();
        for id in dirty {
            let host = &mut self.hosts[id];
            let untouched = host.is_untouched();
            let queues = (0_u8..)
                .zip(&mut host.queues)
                .filter_map(|(number, queue)| queue.journal().map(|(first, urls)| (number, first, urls)))
                .collect::<Vec<_>>();
            let seen = host.seen.journal();
            if !queues.is_empty() || seen.is_some() {
                let is_new = host.stored == StoredAs::Nothing && untouched;
                let delay_ms = super::host::milliseconds(host.gap.length);
                let new = is_new.then(|| NewHost { name: host.name.to_string(), delay_ms });
                if is_new {
                    host.stored = StoredAs::Name;
                }
                parts.push(JournalPart { host: id, new, queues, seen });
            }
        }
        for value in entries(parts).map_err(|error| form(Tree::Journal, error))? {
            self.journal.push((self.journal_next, value.len()));
            self.view.put(Tree::Journal, self.journal_next.to_be_bytes().to_vec(), value);
            self.journal_next += 1;
        }
        Ok(())
    }

    /// Folds what is in memory and journal into chunks and blocks once the journal is long, some hosts at a time. When
    /// all are done the entries that were there at the beginning can be dropped; until then a replay passes over what is
    /// folded already. Hosts that weren't asked yet are evicted: 64 of them take one value, and not three for each.
    fn fold(&mut self, now: Now) -> Result<(), StoreError> {
        let bytes: usize = self.journal.iter().map(|(_, bytes)| bytes).sum();
        if self.folding.is_empty() {
            if bytes <= self.limits.journal_bytes {
                return Ok(());
            }
            let named = |host: &Host| host.stored == StoredAs::Name;
            let hosts = self.hosts.iter().filter(|(_, host)| host.has_fresh() || named(host));
            self.folding = hosts.map(|(id, _)| id).collect();
            self.fold_until = self.journal_next;
        }
        // The longer the journal has become meanwhile, the more at once.
        let rest = self.folding.len().saturating_sub(at_once(&self.limits, bytes));
        let mut unasked = HashSet::new();
        for id in self.folding.split_off(rest) {
            // One that was evicted meanwhile is in its block, with all that the journal holds of it.
            if self.hosts.is_idle(id) {
                continue;
            }
            let host = &self.hosts[id];
            if matches!(host.stored, StoredAs::Nothing | StoredAs::Name)
                && host.is_untouched()
                && may_be_evicted(host)
            {
                unasked.insert(id);
                continue;
            }
            self.mark(id);
            self.seal(id, true)?;
            let host = &mut self.hosts[id];
            if host.stored == StoredAs::Name {
                // Its name leaves the journal.
                host.stored = StoredAs::Nothing;
            }
        }
        let unasked = self.hosts.take(&unasked, self.open);
        self.evict(unasked, now)?;
        if self.folding.is_empty() {
            let until = self.fold_until;
            let (done, left): (Vec<_>, Vec<_>) =
                self.journal.drain(..).partition(|(number, _)| *number < until);
            self.journal = left;
            self.folded.extend(done.into_iter().map(|(number, _)| number));
        }
        Ok(())
    }

    /// Drops journal entries that are folded, the oldest first, some at a time. One that is still there is passed over by a
    /// replay.
    fn drop_folded(&mut self) {
        let many = self.folded.len().min(self.limits.dropped_at_once);
        for number in self.folded.drain(..many) {
            self.view.remove(Tree::Journal, number.to_be_bytes().to_vec());
        }
    }

    pub(super) fn seal(&mut self, id: HostId, all: bool) -> Result<(), StoreError> {
        let host = &mut self.hosts[id];
        let (mut chunks, mut blocks) = (Vec::new(), Vec::new());
        for priority in Priority::ALL {
            let view = &self.view;
            host.queue(priority).seal(
                all,
                |number| read_chunk(|key| view.get(Tree::Queue, key), id, priority, number),
                |number, chunk| chunks.push((queue_keys(id, priority, number), chunk_values(chunk))),
            )?;
        }
        let view = &self.view;
        host.seen.seal(
            all,
            |number| read_block(view, id, number),
            |number, block| {
                blocks.extend(parts(&block).map(|(part, value)| (seen_key(id, number, part), value)));
            },
        )?;
        for (keys, values) in chunks {
            for (key, value) in keys.into_iter().zip(values?) {
                match value {
                    Some(value) => self.view.put(Tree::Queue, key, value),
                    None => self.view.remove(Tree::Queue, key),
                }
            }
        }
        for (key, value) in blocks {
            self.view.put(Tree::Seen, key, value);
        }
        Ok(())
    }

    pub(super) fn drop_chunk(&mut self, id: HostId, priority: Priority, number: Option<u64>) {
        if let Some(number) = number {
            for key in queue_keys(id, priority, number) {
                self.view.remove(Tree::Queue, key);
            }
        }
    }

    pub(super) fn load_seen(&mut self, id: HostId) -> Result<(), StoreError> {
        let view = &self.view;
        let host = &mut self.hosts[id];
        let sealed = host.seen.ends().sealed;
        host.seen.load(|number| {
            let block = read_block(view, id, number)?;
            let whole = BLOCK.min(sealed.saturating_sub(number * BLOCK));
            // A URL that is forgotten would be fetched again.
            if (block.len() as u64) < whole {
                return Err(lost(Tree::Seen, &format!("fingerprints of block {number} of host {}", id.0)));
            }
            Ok(block)
        })?;
        self.ticks += 1;
        host.seen.used = self.ticks;
        self.seen_loaded += host.seen.loaded();
        self.evict_seen();
        Ok(())
    }

    /// Keeps to the frontier's part of what several hold, as it is now: hosts are evicted with the next cut.
    pub fn keep_to(&mut self, portions: &FrontierPortions) {
        portions.hold(self.seen_loaded, self.hosts.in_memory(), self.chunks_loaded);
        self.limits = portions.limits();
        self.evict_seen();
    }

    /// Forgets the seen sets that were used longest ago, down to three quarters of the bound.
    pub(super) fn evict_seen(&mut self) {
        if self.seen_loaded <= self.limits.seen_in_memory {
            return;
        }
        let hosts = self.hosts.iter().filter(|(_, host)| host.seen.is_loaded());
        let mut loaded: Vec<(u64, HostId)> = hosts.map(|(id, host)| (host.seen.used, id)).collect();
        loaded.sort_unstable();
        // The set in use now stays, however large.
        loaded.pop();
        for (_, id) in loaded {
            if self.seen_loaded <= self.limits.seen_in_memory / 4 * 3 {
                break;
            }
            self.seen_loaded -= self.hosts[id].seen.loaded();
            self.hosts[id].seen.evict();
            self.hosts[id].groups.shrink();
        }
    }
}

/// Whether what would take so many bytes in the journal goes into unfinished chunks and blocks at once, which take `all` of them.
pub(super) fn is_sealed(journal: usize, all: usize) -> bool {
    all <= 2 * journal && journal > 16 * 1024
}

/// How many hosts one commit folds where the journal has so many bytes.
pub(super) fn at_once(limits: &FrontierLimits, journal: usize) -> usize {
    limits.folded_at_once * (journal / limits.journal_bytes.max(1)).max(1)
}

/// The keys of a chunk: of the whole of it, or its first half, and of the second half.
fn queue_keys(id: HostId, priority: Priority, number: u64) -> [Vec<u8>; 2] {
    let mut first = id.key().to_vec();
    first.push(priority as u8);
    first.extend(number.to_be_bytes());
    let second = [&first[..], &[1]].concat();
    [first, second]
}

/// The values of a chunk: two halves where the whole would be longer than [`LONGEST`]. Where it has one, none may remain of the other.
fn chunk_values(chunk: Chunk) -> Result<[Option<Vec<u8>>; 2], StoreError> {
    debug_assert!(chunk.urls.len() as u64 <= CHUNK);
    let whole = pack(&chunk)?;
    if whole.len() <= LONGEST || chunk.urls.len() < 2 {
        return Ok([Some(whole), None]);
    }
    let Chunk { first, mut urls } = chunk;
    let half = urls.len() / 2;
    let second = Chunk { first: first + half as u64, urls: urls.split_off(half) };
    Ok([Some(pack(&Chunk { first, urls })?), Some(pack(&second)?)])
}

/// Fingerprints of a value, which is a third shorter than [`TARGET`].
const PART: usize = 128;

/// The key of a part of a block. The first part has that of the whole block, which was one value before database format 5.
fn seen_key(id: HostId, number: u64, part: u8) -> Vec<u8> {
    let mut key = id.key().to_vec();
    key.extend((number as u32).to_be_bytes());
    key.extend((part > 0).then_some(part));
    key
}

fn pack(chunk: &Chunk) -> Result<Vec<u8>, StoreError> {
    let packed = postcard::to_stdvec(chunk).map_err(|error| form(Tree::Queue, error))?;
    Ok(crate::packed::pack(packed))
}

fn unpack(value: &[u8]) -> Result<Chunk, StoreError> {
    let bytes = crate::packed::unpack(value).map_err(|error| form(Tree::Queue, error))?;
    postcard::from_bytes(&bytes).map_err(|error| form(Tree::Queue, error))
}

/// Reads a chunk; `get` gives the value of a key.
pub(super) fn read_chunk(
    get: impl Fn(&[u8]) -> Result<Option<Vec<u8>>, StoreError>,
    id: HostId,
    priority: Priority,
    number: u64,
) -> Result<Option<Chunk>, StoreError> {
    let [first, second] = queue_keys(id, priority, number);
    let Some(value) = get(&first)? else { return Ok(None) };
    let mut chunk = unpack(&value)?;
    if let Some(value) = get(&second)? {
        let second = unpack(&value)?;
        if second.first != chunk.first + chunk.urls.len() as u64 {
            return Err(form(
                Tree::Queue,
                format!("chunk {number} of host {} has two halves that don't fit together", id.0),
            ));
        }
        chunk.urls.extend(second.urls);
    }
    Ok(Some(chunk))
}

/// The parts of a block, as they are stored.
fn parts(block: &[u64]) -> impl Iterator<Item = (u8, Vec<u8>)> {
    debug_assert!(block.len() as u64 <= BLOCK);
    let values = block.chunks(PART).map(|part| part.iter().flat_map(|print| print.to_be_bytes()).collect());
    (0..).zip(values)
}

fn read_block<S: Store>(view: &Overlay<S>, id: HostId, number: u64) -> Result<Vec<u64>, StoreError> {
    let mut block = Vec::new();
    // One value has a whole block, before format 5, or a part: another one follows a full part.
    for part in 0.. {
        let value = view.get(Tree::Seen, &seen_key(id, number, part))?.unwrap_or_default();
        let (prints, _) = value.as_chunks();
        block.extend(prints.iter().map(|print| u64::from_be_bytes(*print)));
        if prints.len() != PART || block.len() as u64 >= BLOCK {
            break;
        }
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use page::url::CrawlUrl;

    #[test]
    fn journal_entries_are_short_and_have_everything_in_its_order() {
        let url = |number: u64| {
            let url = CrawlUrl::parse(&format!("http://a.test/a-page-with-a-slug-{number}.html")).unwrap();
            QueuedUrl::link(&url, 1, None)
        };
        let part = |host: u32, urls: u64, fingerprints: u64| JournalPart {
            host: HostId(host),
            new: Some(NewHost { name: format!("{host}.test"), delay_ms: 500 }),
            queues: if urls == 0 { Vec::new() } else { vec![(1, 7, (0..urls).map(url).collect())] },
            seen: (fingerprints > 0).then(|| (9, (0..fingerprints).map(|n| u64::MAX - n).collect())),
        };
        for (urls, fingerprints) in [(1, 0), (0, 1), (60, 60), (1_000, 2_000), (0, 128), (0, 129)] {
            let parts = (0..3).map(|host| part(host, urls, fingerprints)).collect();
            let entries = entries(parts).unwrap();
            let all = 3 * (urls * 40 + fingerprints * 10) as usize;
            assert!(entries.len() <= 3 + all / (TARGET / 2), "{} for {all} bytes", entries.len());
            let mut found: Vec<(Vec<QueuedUrl>, Vec<u64>)> = vec![(Vec::new(), Vec::new()); 3];
            let mut named = Vec::new();
            for entry in entries {
                assert!(entry.len() <= TARGET + 16, "{}", entry.len());
                let parts: Vec<JournalPart> = postcard::from_bytes(&entry).unwrap();
                for JournalPart { host, new, queues, seen } in parts {
                    named.extend(new.map(|new| new.name));
                    let (urls, fingerprints) = &mut found[host.0 as usize];
                    for (queue, first, some) in queues {
                        assert_eq!((queue, first), (1, 7 + urls.len() as u64));
                        urls.extend(some);
                    }
                    if let Some((first, some)) = seen {
                        assert_eq!(first, 9 + fingerprints.len() as u64);
                        fingerprints.extend(some);
                    }
                }
            }
            assert_eq!(named, ["0.test", "1.test", "2.test"], "each once, with its first piece");
            for (host, (some, all)) in (0..).zip(found) {
                let whole = part(host, urls, fingerprints);
                assert_eq!(some, whole.queues.into_iter().flat_map(|(.., urls)| urls).collect::<Vec<_>>());
                assert_eq!(all, whole.seen.map(|(_, all)| all).unwrap_or_default());
            }
        }
    }
}
