//! The frontier: which URL may be asked for next. One queue per host, and two verbs that own it: [`Frontier::lease`]
//! hands out a [`Permit`], [`Frontier::settle`] takes it back with what became of it.
//!
//! - At most one permit per host exists at any time (I1), and none before the host's time (I2).
//! - The URL of a permit stays at the head of its queue until it is settled: a crash in between leases it again (I11).
//! - Memory holds the hosts, the URLs since the last fold, and the seen sets in use, not the URLs queued (I12).
//!
//! All changes go to an overlay over the store; [`Frontier::cut`] hands them over for one atomic commit.

mod host;
mod item;
mod overlay;
mod queue;
mod read;
mod seen;
#[cfg(test)]
mod tests;

pub use self::host::{Errand, HostCounts, HostRecord, Priority};
pub use self::item::{HostId, QueuedUrl, Via};
pub use self::queue::QueueEnds;
pub use self::read::{StoredQueue, StoredUrl, stored_queue};
pub(crate) use self::seen::FingerprintSet;
pub use self::seen::SeenEnds;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::host::{Host, Leased};
use self::overlay::Overlay;
use self::queue::{CHUNK, Chunk, Head};
use self::seen::BLOCK;
use crate::clock::Now;
use crate::pace::{Delay, HostPace, Why};
use crate::store::{Store, StoreError, Tree, Write};
use crate::url::{CrawlUrl, Fingerprint, FingerprintKey};

/// Sizes that bound the frontier's memory.
#[derive(Debug, Clone, Copy)]
pub struct FrontierLimits {
    /// Fingerprints held in memory over all hosts. About 9 octets each.
    pub seen_in_memory: usize,
    /// A host with more fingerprints than this is not loaded for a link from another host; the link waits untested.
    pub seen_loaded_for_links: u64,
    /// Octets of journal after which everything in memory is folded into chunks and blocks.
    pub journal_octets: usize,
    /// Hosts that one commit folds: a fold of many hosts goes over several.
    pub folded_at_once: usize,
    /// Hosts that keep a read chunk of their queue in memory.
    pub chunks_in_memory: usize,
}

impl Default for FrontierLimits {
    fn default() -> Self {
        Self {
            seen_in_memory: 8_000_000,
            seen_loaded_for_links: 8_192,
            journal_octets: 8 * 1024 * 1024,
            folded_at_once: 2_000,
            chunks_in_memory: 4_096,
        }
    }
}

/// The right to make one request to one host. Can't be copied or made elsewhere; ends in [`Frontier::settle`].
#[derive(Debug)]
pub struct Permit(Lease);

impl Permit {
    /// What the permit is for.
    pub fn lease(&self) -> &Lease {
        &self.0
    }
}

/// What a permit is for, as a plain value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The host.
    pub host: HostId,
    /// Number of this lease among the host's; a later one fences it.
    pub token: u64,
    /// The URL.
    pub url: CrawlUrl,
    /// What to do with it.
    pub work: Work,
}

/// The two kinds of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Visit a queued URL.
    Visit(QueuedUrl),
    /// Fetch a hop of another origin's robots.txt.
    Errand(Errand),
}

/// What became of a lease, as far as the frontier is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// True takes the URL off its queue; false leaves it at the head, to be leased again.
    pub done: bool,
    /// A request was made. The host isn't leased again before this settlement is durable, so that a crash costs a site no
    /// more than the one request under way.
    pub asked: bool,
    /// The URL goes back into the queue [`Priority::First`] in this form (another try).
    pub again: Option<QueuedUrl>,
    /// The host's next request starts at this time (monotonic) at the earliest.
    pub not_before: Duration,
    /// Why, and how long the wait is.
    pub wait: Delay,
}

/// Whether [`Frontier::complete`] did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Completion {
    /// It did.
    Applied,
    /// The lease was settled before, or a later one took its place.
    Fenced,
}

/// What became of a URL that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Admitted {
    /// It was new, and is queued.
    Queued,
    /// It was seen before.
    Seen,
    /// It is queued, and will be tested when its host wakes.
    Untested,
}

/// The frontier's figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontierCounts {
    /// URLs queued, leased ones included.
    pub queued: u64,
    /// Leases in force.
    pub in_flight: u64,
    /// Hosts known.
    pub hosts: u64,
}

/// The crawl's frontier on a [`Store`].
#[derive(Debug)]
pub struct Frontier<S> {
    limits: FrontierLimits,
    first_gap: Delay,
    key: FingerprintKey,
    view: Overlay<S>,
    hosts: Vec<Host>,
    ids: HashMap<Box<str>, HostId>,
    ready: BinaryHeap<Reverse<(Duration, u32, HostId)>>,
    dirty: Vec<HostId>,
    queued: u64,
    in_flight: u64,
    seen_loaded: usize,
    chunks_loaded: usize,
    ticks: u64,
    /// Entries in the store: number and octets.
    journal: Vec<(u64, usize)>,
    journal_next: u64,
    /// The fold under way: hosts still to be folded, and the first entry that outlives it.
    folding: Vec<HostId>,
    /// Hosts that are ready, but whose last answer isn't durable yet.
    undurable: Vec<HostId>,
    durable: u64,
    fold_until: u64,
}

/// One host's part of a journal entry.
#[derive(Debug, Serialize, Deserialize)]
struct JournalPart {
    host: HostId,
    /// Queue, first position, URLs.
    queues: Vec<(u8, u64, Vec<QueuedUrl>)>,
    /// First index, fingerprints.
    seen: Option<(u64, Vec<u64>)>,
}

impl<S: Store> Frontier<S> {
    /// Takes up the frontier that `store` holds (an empty one is a new crawl): hosts, then the journal.
    /// `first_gap` is a new host's gap until its first response.
    pub fn open(
        store: &Arc<S>,
        limits: FrontierLimits,
        first_gap: Delay,
        key: FingerprintKey,
        now: Now,
    ) -> Result<Self, StoreError> {
        let mut frontier = Self {
            limits,
            first_gap,
            key,
            view: Overlay::new(Arc::clone(store)),
            hosts: Vec::new(),
            ids: HashMap::new(),
            ready: BinaryHeap::new(),
            dirty: Vec::new(),
            queued: 0,
            in_flight: 0,
            seen_loaded: 0,
            chunks_loaded: 0,
            ticks: 0,
            journal: Vec::new(),
            journal_next: 0,
            folding: Vec::new(),
            undurable: Vec::new(),
            durable: 0,
            fold_until: 0,
        };
        for pair in store.scan(Tree::Hosts, &[]) {
            let (key, value) = pair?;
            let record: HostRecord =
                serde_json::from_slice(&value).map_err(|error| form(Tree::Hosts, &error))?;
            let id = HostId(frontier.hosts.len() as u32);
            if key != id.key() {
                return Err(form(Tree::Hosts, &format!("key {key:?} where {:?} was expected", id.key())));
            }
            frontier.ids.insert(record.host.as_str().into(), id);
            frontier.hosts.push(Host::restore(&record, now));
        }
        for pair in store.scan(Tree::Journal, &[]) {
            let (key, value) = pair?;
            frontier.replay(&key, &value)?;
        }
        for index in 0..frontier.hosts.len() {
            let id = HostId(index as u32);
            frontier.queued += frontier.hosts[index].queued();
            frontier.schedule(id);
        }
        Ok(frontier)
    }

    /// Lets every host wait for its whole gap, at least `delay`, from now: the process before this one may have had a
    /// request under way, or answered and not yet on record, to any of them.
    pub fn rest_all(&mut self, now: Now, delay: Duration) {
        for index in 0..self.hosts.len() {
            let host = &mut self.hosts[index];
            let rest = Delay { length: host.gap.length.max(delay), why: Why::Restart };
            if host.not_before < now.mono + rest.length {
                host.not_before = now.mono + rest.length;
                host.wait = rest;
            }
            self.schedule_if_idle(HostId(index as u32));
        }
    }

    fn replay(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let number = <[u8; 8]>::try_from(key).map_err(|error| form(Tree::Journal, &error))?;
        let number = u64::from_be_bytes(number);
        self.journal.push((number, value.len()));
        self.journal_next = number + 1;
        let parts: Vec<JournalPart> =
            postcard::from_bytes(value).map_err(|error| form(Tree::Journal, &error))?;
        for part in parts {
            let Some(host) = self.hosts.get_mut(part.host.0 as usize) else {
                return Err(form(Tree::Journal, &format!("host {} is unknown", part.host.0)));
            };
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

    /// The store below.
    pub fn store(&self) -> &Arc<S> {
        self.view.store()
    }

    /// The id of a host, which becomes known by this.
    pub fn host_id(&mut self, host: &str) -> HostId {
        if let Some(id) = self.ids.get(host) {
            return *id;
        }
        let id = HostId(self.hosts.len() as u32);
        self.ids.insert(host.into(), id);
        self.hosts.push(Host::new(host, self.first_gap));
        self.dirty.push(id);
        self.view.put(Tree::HostId, reversed(host).into_bytes(), id.key().to_vec());
        id
    }

    /// Offers a URL to its host's queue (`push` of a shared frontier; repeating it changes nothing).
    pub fn admit(
        &mut self,
        id: HostId,
        fingerprint: Fingerprint,
        url: QueuedUrl,
        priority: Priority,
        own_host: bool,
    ) -> Result<Admitted, StoreError> {
        let host = &self.hosts[id.0 as usize];
        if !host.seen.is_loaded() {
            if !own_host && host.seen.count() > self.limits.seen_loaded_for_links {
                self.host_mut(id).push(Priority::Untested, url);
                self.queued += 1;
                self.schedule_if_idle(id);
                return Ok(Admitted::Untested);
            }
            self.load_seen(id)?;
        }
        self.ticks += 1;
        let ticks = self.ticks;
        let host = &mut self.hosts[id.0 as usize];
        host.seen.used = ticks;
        if !host.seen.insert(fingerprint) {
            return Ok(Admitted::Seen);
        }
        self.seen_loaded += 1;
        self.host_mut(id).push(priority, url);
        self.queued += 1;
        self.schedule_if_idle(id);
        self.evict_seen();
        Ok(Admitted::Queued)
    }

    /// True if the URL was seen; only for hosts whose seen set is in memory or small.
    pub fn is_seen(&mut self, id: HostId, fingerprint: Fingerprint) -> Result<bool, StoreError> {
        if !self.hosts[id.0 as usize].seen.is_loaded() {
            self.load_seen(id)?;
        }
        Ok(self.hosts[id.0 as usize].seen.contains(fingerprint))
    }

    /// Hands out the right to ask the host that has been ready longest. None if no host is ready at `now`.
    pub fn lease(&mut self, now: Now) -> Result<Option<Permit>, StoreError> {
        while let Some(Reverse((at, stamp, id))) = self.ready.peek().copied() {
            if at > now.mono {
                return Ok(None);
            }
            self.ready.pop();
            let host = &mut self.hosts[id.0 as usize];
            if host.stamp != stamp || host.leased.is_some() {
                continue;
            }
            host.scheduled = None;
            if host.answered_in > self.durable {
                self.undurable.push(id);
                continue;
            }
            host.token += 1;
            let token = host.token;
            if let Some(errand) = host.errands.pop_front() {
                host.leased = Some(Leased::Errand);
                self.in_flight += 1;
                let url = errand.url.clone();
                return Ok(Some(Permit(Lease { host: id, token, url, work: Work::Errand(errand) })));
            }
            if let Some((priority, item, url)) = self.head(id)? {
                self.hosts[id.0 as usize].leased = Some(Leased::Head(priority));
                self.in_flight += 1;
                return Ok(Some(Permit(Lease { host: id, token, url, work: Work::Visit(item) })));
            }
        }
        Ok(None)
    }

    /// The URL that the host's next visit is for.
    fn head(&mut self, id: HostId) -> Result<Option<(Priority, QueuedUrl, CrawlUrl)>, StoreError> {
        let host = &self.hosts[id.0 as usize];
        if host.parked.is_some() || host.held {
            return Ok(None);
        }
        loop {
            let host = &mut self.hosts[id.0 as usize];
            let Some(priority) = Priority::ALL.into_iter().find(|priority| !host.queue(*priority).is_empty())
            else {
                return Ok(None);
            };
            if priority == Priority::Untested {
                self.wake(id)?;
                continue;
            }
            match host.queue(priority).head() {
                Head::Empty => return Ok(None),
                Head::Here(item) => match item.url(&host.name) {
                    Ok(url) => return Ok(Some((priority, item, url))),
                    Err(error) => return Err(form(Tree::Queue, &error)),
                },
                Head::Chunk(number) => self.load_chunk(id, priority, number)?,
            }
        }
    }

    fn load_chunk(&mut self, id: HostId, priority: Priority, number: u64) -> Result<(), StoreError> {
        if self.chunks_loaded >= self.limits.chunks_in_memory {
            for host in &mut self.hosts {
                host.queues.iter_mut().for_each(queue::Queue::unload);
            }
            self.chunks_loaded = 0;
        }
        let chunk = read_chunk(&self.view, id, priority, number)?
            .ok_or_else(|| form(Tree::Queue, &format!("chunk {number} of host {} is missing", id.0)))?;
        let queue = self.hosts[id.0 as usize].queue(priority);
        queue.load(chunk);
        self.chunks_loaded += 1;
        // A chunk that doesn't hold its own head would be read for ever.
        if matches!(queue.head(), Head::Chunk(_)) {
            return Err(form(Tree::Queue, &format!("chunk {number} of host {} is short", id.0)));
        }
        Ok(())
    }

    /// Tests what waits untested, and queues what is new.
    fn wake(&mut self, id: HostId) -> Result<(), StoreError> {
        if !self.hosts[id.0 as usize].seen.is_loaded() {
            self.load_seen(id)?;
        }
        loop {
            let host = &mut self.hosts[id.0 as usize];
            match host.queue(Priority::Untested).head() {
                Head::Empty => return Ok(()),
                Head::Chunk(number) => self.load_chunk(id, Priority::Untested, number)?,
                Head::Here(item) => {
                    let done = host.queue(Priority::Untested).advance();
                    let url = item.url(&host.name).map_err(|error| form(Tree::Queue, &error))?;
                    self.drop_chunk(id, Priority::Untested, done);
                    self.mark(id);
                    self.queued -= 1;
                    let fingerprint = url.fingerprint(&self.key);
                    self.admit(id, fingerprint, item, Priority::Link, true)?;
                }
            }
        }
    }

    /// Takes a permit back with what became of it.
    #[expect(clippy::needless_pass_by_value, reason = "a settled permit must be gone")]
    pub fn settle(&mut self, permit: Permit, settlement: Settlement) -> Completion {
        self.complete(&permit.0, settlement)
    }

    /// As [`Frontier::settle`], by the lease's plain value: what a frontier shared by many machines offers.
    pub fn complete(&mut self, lease: &Lease, settlement: Settlement) -> Completion {
        let host = &mut self.hosts[lease.host.0 as usize];
        let Some(leased) = host.leased.filter(|_| host.token == lease.token) else {
            return Completion::Fenced;
        };
        host.leased = None;
        if settlement.asked {
            host.answered_in = self.view.next_generation();
        }
        self.in_flight -= 1;
        let id = lease.host;
        if let (Leased::Head(priority), true) = (leased, settlement.done) {
            let dropped = host.queue(priority).advance();
            self.drop_chunk(id, priority, dropped);
            self.queued -= 1;
        }
        if let Some(item) = settlement.again {
            self.host_mut(id).push(Priority::First, item);
            self.queued += 1;
        }
        let host = self.host_mut(id);
        host.not_before = settlement.not_before;
        host.wait = settlement.wait;
        self.schedule(id);
        Completion::Applied
    }

    /// Gives a lease back untouched: the URL stays at the head of its queue, the host waits until `not_before`.
    pub fn release(&mut self, permit: Permit, not_before: Duration, wait: Delay) -> Completion {
        self.settle(permit, Settlement { done: false, asked: false, again: None, not_before, wait })
    }

    /// True while the lease is in force.
    pub fn is_current(&self, lease: &Lease) -> bool {
        let host = &self.hosts[lease.host.0 as usize];
        host.leased.is_some() && host.token == lease.token
    }

    /// Gives a host an errand, which it does before its own visits.
    pub fn send(&mut self, id: HostId, errand: Errand) {
        self.host_mut(id).errands.push_back(errand);
        self.schedule_if_idle(id);
    }

    /// Ends or changes a host's wait.
    pub fn wait(&mut self, id: HostId, not_before: Duration, wait: Delay) {
        let host = self.host_mut(id);
        host.not_before = not_before;
        host.wait = wait;
        self.schedule_if_idle(id);
    }

    /// Holds a host's visits back until [`Frontier::release_visits`]: its robots.txt is asked for at another host. Its
    /// errands go on, so that two hosts whose files lie at each other's don't wait for one another.
    pub fn hold_visits(&mut self, id: HostId) {
        self.host_mut(id).held = true;
        self.schedule_if_idle(id);
    }

    /// Ends what [`Frontier::hold_visits`] began. The host keeps at least `gap` from its last request.
    pub fn release_visits(&mut self, id: HostId, gap: Delay) {
        let host = self.host_mut(id);
        if !std::mem::take(&mut host.held) {
            return;
        }
        let gap = gap.or_longer(host.gap);
        let last = host.not_before.saturating_sub(host.gap.length);
        if last.saturating_add(gap.length) > host.not_before {
            host.not_before = last.saturating_add(gap.length);
            host.wait = gap;
        }
        host.gap = gap;
        self.schedule_if_idle(id);
    }

    /// Leaves a host alone for the rest of this process; its URLs stay queued.
    pub fn park(&mut self, id: HostId, reason: &str) {
        self.host_mut(id).parked = Some(reason.into());
        self.schedule_if_idle(id);
    }

    /// When the next host is ready, on the monotonic clock. None if nothing is queued or everything is leased.
    pub fn next_ready(&mut self) -> Option<Duration> {
        while let Some(Reverse((at, stamp, id))) = self.ready.peek().copied() {
            let host = &self.hosts[id.0 as usize];
            if host.stamp == stamp && host.leased.is_none() {
                return Some(at);
            }
            self.ready.pop();
        }
        None
    }

    /// The host's name.
    pub fn name(&self, id: HostId) -> &str {
        &self.hosts[id.0 as usize].name
    }

    /// The host's state of pace and its counters, to be changed by the engine.
    pub fn pace_and_counts(&mut self, id: HostId) -> (&mut HostPace, &mut HostCounts) {
        let host = self.host_mut(id);
        (&mut host.pace, &mut host.counts)
    }

    /// Sets the gap in force between two requests to a host.
    pub fn set_gap(&mut self, id: HostId, gap: Delay) {
        self.host_mut(id).gap = gap;
    }

    /// The gap in force.
    pub fn gap(&self, id: HostId) -> Delay {
        self.hosts[id.0 as usize].gap
    }

    /// When the host may be asked again.
    pub fn not_before(&self, id: HostId) -> Duration {
        self.hosts[id.0 as usize].not_before
    }

    /// Notes how the host's robots.txt was answered.
    pub fn set_robots_status(&mut self, id: HostId, status: &str) {
        self.host_mut(id).robots_status = Some(status.into());
    }

    /// The hosts with URLs queued that wait beyond `now`: name, reason, until when, URLs queued.
    pub fn waiting(&self, now: Now) -> impl Iterator<Item = Waiting<'_>> {
        self.hosts.iter().filter(move |host| host.leased.is_none() && host.queued() > 0).filter_map(
            move |host| {
                let left = host.not_before.saturating_sub(now.mono);
                let parked = host.parked.as_deref();
                (parked.is_some() || host.held || left > Duration::ZERO).then(|| Waiting {
                    host: &host.name,
                    why: if host.held { Why::RobotsElsewhere } else { host.wait.why },
                    left,
                    gap: host.gap,
                    queued: host.queued(),
                    parked,
                })
            },
        )
    }

    /// True if a host will be ready within `most`, or waits for an ordinary gap, however long.
    pub fn has_prospect(&self, now: Now, most: Duration) -> bool {
        self.hosts.iter().any(|host| {
            host.leased.is_some()
                || (host.has_work()
                    && (!host.wait.why.is_pause() || host.not_before.saturating_sub(now.mono) <= most))
        })
    }

    /// Figures.
    pub fn counts(&self) -> FrontierCounts {
        FrontierCounts { queued: self.queued, in_flight: self.in_flight, hosts: self.hosts.len() as u64 }
    }

    /// Octets that the next cut will write, without the journal.
    pub fn pending_octets(&self) -> usize {
        self.view.octets()
    }

    /// Adds a change of the caller's to the next cut.
    pub fn put(&mut self, tree: Tree, key: Vec<u8>, value: Vec<u8>) {
        self.view.put(tree, key, value);
    }

    /// Hands over all changes since the last cut, for one commit, with the number to call [`Frontier::committed`] by.
    pub fn cut(&mut self, now: Now) -> Result<(u64, Vec<Write>), StoreError> {
        self.persist_fresh()?;
        for id in std::mem::take(&mut self.dirty) {
            let host = &mut self.hosts[id.0 as usize];
            host.dirty = false;
            let record = serde_json::to_vec(&host.record(now)).map_err(|error| form(Tree::Hosts, &error))?;
            self.view.put(Tree::Hosts, id.key().to_vec(), record);
        }
        Ok(self.view.cut())
    }

    /// True if a host that is ready waits for a commit alone.
    pub fn waits_for_commit(&self) -> bool {
        !self.undurable.is_empty()
    }

    /// Told when a cut is durable.
    pub fn committed(&mut self, generation: u64) {
        self.view.committed(generation);
        self.durable = self.durable.max(generation);
        for id in std::mem::take(&mut self.undurable) {
            self.schedule_if_idle(id);
        }
    }

    /// Brings what was queued and seen since the last cut to the store: whole chunks and blocks as such, the rest by
    /// the journal, or as unfinished chunks and blocks where that costs no more than twice as much.
    fn persist_fresh(&mut self) -> Result<(), StoreError> {
        let dirty = self.dirty.clone();
        for id in &dirty {
            self.seal(*id, false)?;
        }
        self.fold()?;
        let costs = dirty.iter().map(|id| self.hosts[id.0 as usize].costs());
        let (journal, all) = costs.fold((0, 0), |sum, cost| (sum.0 + cost.0, sum.1 + cost.1));
        if journal == 0 {
            return Ok(());
        }
        if all <= 2 * journal && journal > 16 * 1024 {
            for id in dirty {
                self.seal(id, true)?;
            }
            return Ok(());
        }
        let mut parts = Vec::new();
        for id in dirty {
            let host = &mut self.hosts[id.0 as usize];
            let queues = (0_u8..)
                .zip(&mut host.queues)
                .filter_map(|(number, queue)| queue.journal().map(|(first, urls)| (number, first, urls)))
                .collect::<Vec<_>>();
            let seen = host.seen.journal();
            if !queues.is_empty() || seen.is_some() {
                parts.push(JournalPart { host: id, queues, seen });
            }
        }
        let value = postcard::to_stdvec(&parts).map_err(|error| form(Tree::Journal, &error))?;
        self.journal.push((self.journal_next, value.len()));
        self.view.put(Tree::Journal, self.journal_next.to_be_bytes().to_vec(), value);
        self.journal_next += 1;
        Ok(())
    }

    /// Folds what stands in memory and journal into chunks and blocks once the journal is long, some hosts at a time. When
    /// all are done the entries that were there at the beginning are dropped; until then a replay passes over what is
    /// folded already.
    fn fold(&mut self) -> Result<(), StoreError> {
        let octets: usize = self.journal.iter().map(|(_, octets)| octets).sum();
        if self.folding.is_empty() {
            if octets <= self.limits.journal_octets {
                return Ok(());
            }
            let hosts = (0..self.hosts.len()).filter(|index| self.hosts[*index].has_fresh());
            self.folding = hosts.map(|index| HostId(index as u32)).collect();
            self.fold_until = self.journal_next;
        }
        let many =
            if octets > 4 * self.limits.journal_octets { usize::MAX } else { self.limits.folded_at_once };
        let rest = self.folding.len().saturating_sub(many);
        for id in self.folding.split_off(rest) {
            self.mark(id);
            self.seal(id, true)?;
        }
        if self.folding.is_empty() {
            let until = self.fold_until;
            let (done, left): (Vec<_>, Vec<_>) =
                self.journal.drain(..).partition(|(number, _)| *number < until);
            self.journal = left;
            for (number, _) in done {
                self.view.remove(Tree::Journal, number.to_be_bytes().to_vec());
            }
        }
        Ok(())
    }

    fn seal(&mut self, id: HostId, all: bool) -> Result<(), StoreError> {
        let host = &mut self.hosts[id.0 as usize];
        let mut made = Vec::new();
        for priority in Priority::ALL {
            let view = &self.view;
            host.queue(priority).seal(
                all,
                |number| read_chunk(view, id, priority, number),
                |number, chunk| made.push((Tree::Queue, queue_key(id, priority, number), pack(&chunk))),
            )?;
        }
        let view = &self.view;
        host.seen.seal(
            all,
            |number| read_block(view, id, number),
            |number, block| made.push((Tree::Seen, seen_key(id, number), Ok(pack_block(&block)))),
        )?;
        for (tree, key, value) in made {
            self.view.put(tree, key, value?);
        }
        Ok(())
    }

    fn drop_chunk(&mut self, id: HostId, priority: Priority, number: Option<u64>) {
        if let Some(number) = number {
            self.view.remove(Tree::Queue, queue_key(id, priority, number));
        }
    }

    fn load_seen(&mut self, id: HostId) -> Result<(), StoreError> {
        let view = &self.view;
        let host = &mut self.hosts[id.0 as usize];
        host.seen.load(|number| read_block(view, id, number))?;
        self.ticks += 1;
        host.seen.used = self.ticks;
        self.seen_loaded += host.seen.loaded();
        self.evict_seen();
        Ok(())
    }

    /// Forgets the seen sets that were used longest ago, down to three quarters of the bound.
    fn evict_seen(&mut self) {
        if self.seen_loaded <= self.limits.seen_in_memory {
            return;
        }
        let mut loaded: Vec<(u64, usize)> = (0..self.hosts.len())
            .filter(|index| self.hosts[*index].seen.is_loaded())
            .map(|index| (self.hosts[index].seen.used, index))
            .collect();
        loaded.sort_unstable();
        // The set in use now stays, however large.
        loaded.pop();
        for (_, index) in loaded {
            if self.seen_loaded <= self.limits.seen_in_memory / 4 * 3 {
                break;
            }
            self.seen_loaded -= self.hosts[index].seen.loaded();
            self.hosts[index].seen.evict();
        }
    }

    /// The host, which is written with the next cut.
    fn host_mut(&mut self, id: HostId) -> &mut Host {
        self.mark(id);
        &mut self.hosts[id.0 as usize]
    }

    fn mark(&mut self, id: HostId) {
        let host = &mut self.hosts[id.0 as usize];
        if !host.dirty {
            host.dirty = true;
            self.dirty.push(id);
        }
    }

    fn schedule_if_idle(&mut self, id: HostId) {
        if self.hosts[id.0 as usize].leased.is_none() {
            self.schedule(id);
        }
    }

    /// Enters a host into the ready heap, or takes it out where it has nothing to do.
    fn schedule(&mut self, id: HostId) {
        let host = &mut self.hosts[id.0 as usize];
        let at = (host.has_work() && host.leased.is_none()).then_some(host.not_before);
        if at == host.scheduled {
            return;
        }
        host.scheduled = at;
        host.stamp = host.stamp.wrapping_add(1);
        if let Some(at) = at {
            self.ready.push(Reverse((at, host.stamp, id)));
        }
    }
}

/// A host that waits.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    /// The host's name.
    pub host: &'a str,
    /// What for.
    pub why: Why,
    /// How much longer.
    pub left: Duration,
    /// The gap in force.
    pub gap: Delay,
    /// URLs it holds back.
    pub queued: u64,
    /// Set where it is left alone for the rest of this process.
    pub parked: Option<&'a str>,
}

fn form(tree: Tree, detail: &dyn std::fmt::Display) -> StoreError {
    StoreError::Form { tree: tree.name(), detail: detail.to_string() }
}

/// `www.example.org` as `org.example.www`: the hosts of one domain are neighbours. Address literals stay.
pub(crate) fn reversed(host: &str) -> String {
    if host.starts_with('[') || host.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.') {
        return host.to_owned();
    }
    host.rsplit('.').collect::<Vec<_>>().join(".")
}

fn queue_key(id: HostId, priority: Priority, number: u64) -> Vec<u8> {
    let mut key = id.key().to_vec();
    key.push(priority as u8);
    key.extend(number.to_be_bytes());
    key
}

fn seen_key(id: HostId, number: u64) -> Vec<u8> {
    let mut key = id.key().to_vec();
    key.extend((number as u32).to_be_bytes());
    key
}

fn pack(chunk: &Chunk) -> Result<Vec<u8>, StoreError> {
    debug_assert!(chunk.urls.len() as u64 <= CHUNK);
    let packed = postcard::to_stdvec(chunk).map_err(|error| form(Tree::Queue, &error))?;
    Ok(crate::packed::pack(packed))
}

fn read_chunk<S: Store>(
    view: &Overlay<S>,
    id: HostId,
    priority: Priority,
    number: u64,
) -> Result<Option<Chunk>, StoreError> {
    let Some(value) = view.get(Tree::Queue, &queue_key(id, priority, number))? else { return Ok(None) };
    let octets = crate::packed::unpack(&value).map_err(|error| form(Tree::Queue, &error))?;
    postcard::from_bytes(&octets).map(Some).map_err(|error| form(Tree::Queue, &error))
}

fn pack_block(block: &[u64]) -> Vec<u8> {
    debug_assert!(block.len() as u64 <= BLOCK);
    block.iter().flat_map(|fingerprint| fingerprint.to_be_bytes()).collect()
}

fn read_block<S: Store>(view: &Overlay<S>, id: HostId, number: u64) -> Result<Vec<u64>, StoreError> {
    let value = view.get(Tree::Seen, &seen_key(id, number))?.unwrap_or_default();
    Ok(value
        .chunks_exact(8)
        .map(|octets| octets.iter().fold(0, |sum, octet| sum << 8 | u64::from(*octet)))
        .collect())
}
