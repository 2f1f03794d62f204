//! The frontier: which URL may be fetched next. One queue per host, and two operations: [`Frontier::lease`] returns a
//! [`Permit`], [`Frontier::settle`] takes it back with the outcome.
//!
//! - At most one permit per host exists at any time (I1), and none before the host's time (I2).
//! - The URL of a permit stays at the head of its queue until it is settled: a crash in between leases it again (I11).
//! - Memory holds the hosts in use, 60 bytes for each other host, the URLs since the last fold, and the seen sets in use, not
//!   the URLs queued (I12).
//!
//! All changes go to an overlay over the store; [`Frontier::cut`] hands them over for one atomic commit.

mod error;
mod fingerprint_lines;
mod host;
mod hosts;
mod idle;
mod idle_host;
mod item;
mod lease;
mod limits;
mod overlay;
mod persist;
mod priority;
mod queue;
mod read;
mod rebuild;
mod seen;
mod sitemaps;
mod state;
mod stored;
#[cfg(test)]
mod tests;
#[cfg(feature = "cluster")]
mod transfer;
#[cfg(test)]
mod trap_tests;
mod traps;
mod waits;

pub(crate) use self::host::WALLED;
pub use self::host::{HostRecord, RobotsFetch};
pub use self::item::{Finding, Marks, QueuedUrl};
pub use self::lease::{
    Admitted, Booking, Completion, FrontierCounts, Lease, Permit, Settlement, Waiting, Work,
};
pub use self::limits::{FrontierLimits, FrontierPortions};
pub(crate) use self::priority::QUEUES;
pub use self::priority::{OpenQueues, Priority};
pub use self::queue::QueueEnds;
pub use self::read::{StoredQueue, StoredUrl, stored_queue, stored_queue_of};
pub(crate) use self::rebuild::{block_hosts, chunk_urls, journal_names, journal_urls};
pub(crate) use self::seen::FingerprintSet;
pub use self::seen::SeenEnds;
pub use self::state::{HostCounts, HostDelta, HostState};
pub use self::stored::{stored_host, stored_hosts};

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use self::error::{form, lost};
use self::host::{Host, Leased, STILL_AT_WORK, StoredAs};
use self::hosts::Hosts;
use self::overlay::Overlay;
use self::queue::NextUrl;
use self::stored::host_id;
use self::waits::ReadyAt;
use crate::pace::Delay;
use crate::store::{Store, StoreError, Tree};
use crate::trap::{BudgetExceeded, TrapSettings};
use page::clock::{Clock, Now};
pub use page::ids::{HostId, Via};
use page::url::{CrawlUrl, Fingerprint, FingerprintKey};

/// When a host looks again whether its sitemap may be fetched.
const SITEMAP_TURN: Duration = Duration::from_millis(250);

/// What the first moments of a process have to know of the one before it.
pub struct Opening<'a> {
    /// The present moment.
    pub now: Now,
    /// How long the process before this one has been gone.
    pub clock: Option<Clock>,
    /// Set, every host waits for its whole gap, at least that long, from now: the process before this one may have had a request
    /// under way, or answered and not yet on record, to any of them. A server may work on such a request for as long as its
    /// slowest answer took, and not see that nobody waits for it any more: that much is waited for first.
    pub rest: Option<Duration>,
    /// For how long at least, where it isn't known to whom a request was under way. Counts only with `rest`.
    pub at_work: Duration,
    /// Called with the name of each host.
    pub names: &'a mut dyn FnMut(&str),
}

impl std::fmt::Debug for Opening<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opening").field("now", &self.now).field("rest", &self.rest).finish_non_exhaustive()
    }
}

/// The crawl's frontier on a [`Store`].
#[derive(Debug)]
pub struct Frontier<S> {
    clock: Option<Clock>,
    limits: FrontierLimits,
    first_gap: Delay,
    key: FingerprintKey,
    view: Overlay<S>,
    hosts: Hosts,
    /// Number of this process among those that worked on the crawl.
    process: u64,
    /// The number of the last lease.
    tokens: u64,
    /// When this process took the crawl up.
    opened: Duration,
    /// The same, if its hosts have to rest from then on.
    rested_from: Option<Duration>,
    /// How long a request of an earlier process may be under way from then on, at least as far as is known.
    at_work: Duration,
    /// Hosts with something to do, by when they may be asked. 16 bytes an entry.
    ready: BinaryHeap<Reverse<(ReadyAt, u32, HostId)>>,
    dirty: Vec<HostId>,
    queued: u64,
    in_flight: u64,
    sitemaps_leased: usize,
    /// Whether a host was refused a sitemap since the last one ended, because enough of them are under way.
    sitemaps_awaited: Arc<AtomicBool>,
    seen_loaded: usize,
    chunks_loaded: usize,
    ticks: u64,
    /// Entries in the store: number and bytes.
    journal: Vec<(u64, usize)>,
    /// Journal entries that nothing needs any more, to be dropped.
    folded: VecDeque<u64>,
    journal_next: u64,
    /// The fold under way: hosts still to be folded, and the first entry that outlives it.
    folding: Vec<HostId>,
    /// Hosts that are ready, but whose last answer a kill would undo.
    uncommitted: Vec<HostId>,
    /// The last cut that the store has.
    committed: u64,
    fold_until: u64,
    /// What may still be leased.
    open: OpenQueues,
    /// Budgets; none holds nothing back.
    traps: Option<TrapSettings>,
    /// Contents of pages that may not be stored.
    withheld: FingerprintSet,
    /// Of hosts with such pages: contents that were new before this process read one, and those that it has read.
    withheld_of: HashMap<HostId, (u64, u64)>,
    /// What was held back when its host woke or was to be asked.
    held: Vec<(HostId, QueuedUrl, BudgetExceeded)>,
}

impl<S: Store> Frontier<S> {
    /// As [`Frontier::open`], with the system's clock, which tells how long the process before this one has been gone.
    pub fn open_now(
        store: &Arc<S>,
        limits: FrontierLimits,
        first_gap: Delay,
        key: FingerprintKey,
        now: Now,
    ) -> Result<Self, StoreError> {
        let opening = Opening {
            now,
            clock: Some(Clock::system()),
            rest: None,
            at_work: Duration::ZERO,
            names: &mut |_| {},
        };
        Self::reopen(store, limits, first_gap, key, opening)
    }

    /// Takes up the frontier that `store` holds (an empty one is a new crawl): hosts, then the journal.
    /// `first_gap` is a new host's gap until its first response.
    pub fn open(
        store: &Arc<S>,
        limits: FrontierLimits,
        first_gap: Delay,
        key: FingerprintKey,
        now: Now,
    ) -> Result<Self, StoreError> {
        Self::reopen(
            store,
            limits,
            first_gap,
            key,
            Opening { now, clock: None, rest: None, at_work: Duration::ZERO, names: &mut |_| {} },
        )
    }

    /// As [`Frontier::open`], after a process that is gone.
    pub fn reopen(
        store: &Arc<S>,
        limits: FrontierLimits,
        first_gap: Delay,
        key: FingerprintKey,
        opening: Opening<'_>,
    ) -> Result<Self, StoreError> {
        let Opening { now, clock, rest, at_work, names } = opening;
        let boot = clock.and_then(|clock| clock.boot());
        let mut frontier = Self {
            clock,
            limits,
            first_gap,
            key,
            view: Overlay::new(Arc::clone(store)),
            hosts: Hosts::new(),
            process: uuid::Uuid::new_v4().as_u64_pair().0,
            tokens: 0,
            opened: now.mono,
            rested_from: rest.map(|_| now.mono),
            at_work,
            ready: BinaryHeap::new(),
            dirty: Vec::new(),
            queued: 0,
            in_flight: 0,
            sitemaps_leased: 0,
            sitemaps_awaited: Arc::default(),
            seen_loaded: 0,
            chunks_loaded: 0,
            ticks: 0,
            journal: Vec::new(),
            folded: VecDeque::new(),
            journal_next: 0,
            folding: Vec::new(),
            uncommitted: Vec::new(),
            committed: 0,
            fold_until: 0,
            open: OpenQueues::default(),
            traps: None,
            withheld: FingerprintSet::default(),
            withheld_of: HashMap::new(),
            held: Vec::new(),
        };
        for pair in store.scan(Tree::IdleHosts, &[]) {
            frontier.open_block(&pair?.1, now, boot, rest, names)?;
        }
        let mut ends = Vec::new();
        for pair in store.scan(Tree::Hosts, &[]) {
            let (key, value) = pair?;
            let record = HostRecord::read(&value).map_err(|error| form(Tree::Hosts, error))?;
            let id = host_id(&key)?;
            ends.push((id, record.all_queues().map(|ends| ends.tail), record.seen.count));
            if !frontier.hosts.is_idle(id) {
                names(&record.host);
            }
            let mut host = Host::restore(&record, now, boot);
            host.stored = StoredAs::Record;
            if host.dirty {
                frontier.dirty.push(id);
            }
            frontier.hosts.put(id, host);
        }
        for pair in store.scan(Tree::Journal, &[]) {
            let (key, value) = pair?;
            frontier.replay(&key, &value, names)?;
        }
        if let Some(gap) = frontier.hosts.gap() {
            return Err(lost(Tree::Hosts, &format!("host {gap}")));
        }
        for (id, tails, seen) in ends {
            let host = &frontier.hosts[id];
            let short = host.queues.iter().zip(tails).any(|(queue, tail)| queue.tail() < tail);
            if short || host.seen.count() < seen {
                return Err(lost(Tree::Journal, &format!("URLs of {}", host.name)));
            }
        }
        for id in frontier.hosts.ids() {
            if let Some(delay) = rest {
                frontier.hosts[id].rest(now, delay, at_work);
            }
            frontier.schedule(id);
        }
        frontier.schedule_idle();
        Ok(frontier)
    }

    /// Counts what waits, and enters the idle hosts into the ready heap.
    fn schedule_idle(&mut self) {
        let in_memory: u64 = self.hosts.iter().map(|(_, host)| host.queued()).sum();
        let idle: u64 = self
            .hosts
            .slots()
            .filter(|(_, slot)| slot.host().is_none())
            .map(|(_, slot)| u64::from(slot.queued))
            .sum();
        self.queued = in_memory + idle;
        let ready = self.hosts.slots().filter(|(_, slot)| slot.has_idle_work());
        self.ready.extend(ready.map(|(id, slot)| Reverse((ReadyAt::seconds(slot.at), slot.stamp, id))));
    }

    /// Opens and closes queues: what waits in one that is closed stays there. Costs a look at each host.
    pub fn set_open(&mut self, open: OpenQueues) {
        if self.open == open {
            return;
        }
        self.open = open;
        for id in self.hosts.ids() {
            self.schedule_if_idle(id);
        }
        let reopened = self.hosts.reopen(open);
        self.ready.extend(reopened.map(|(id, at, stamp)| Reverse((ReadyAt::seconds(at), stamp, id))));
    }

    /// Which queues are open.
    pub fn open_queues(&self) -> OpenQueues {
        self.open
    }

    /// How long any server may still work on a request of an earlier process.
    pub fn still_at_work(&self) -> Duration {
        let slowest = self.hosts.iter().map(|(_, host)| host.counts.slowest_ms).max();
        Duration::from_millis(slowest.unwrap_or_default()).min(STILL_AT_WORK).max(self.at_work)
    }

    /// The store below.
    pub fn store(&self) -> &Arc<S> {
        self.view.store()
    }

    /// The id of a host, which becomes known by this and is in memory until the next cut.
    pub fn host_id(&mut self, host: &str) -> Result<HostId, StoreError> {
        if let Some(id) = self.hosts.find(host) {
            self.load(id)?;
            return Ok(id);
        }
        let id = self.hosts.push(Host::new(host, self.first_gap));
        self.dirty.push(id);
        Ok(id)
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
        self.admit_with(id, fingerprint, priority, own_host, || url)
    }

    /// As [`Frontier::admit`], of a URL that is packed only where it isn't known yet: most links of a page are.
    pub fn admit_with(
        &mut self,
        id: HostId,
        fingerprint: Fingerprint,
        priority: Priority,
        own_host: bool,
        url: impl FnOnce() -> QueuedUrl,
    ) -> Result<Admitted, StoreError> {
        // There is always a URL, so there is an answer.
        let admitted = self.admit_if(id, fingerprint, priority, own_host, || Some(url()))?;
        Ok(admitted.unwrap_or(Admitted::Seen))
    }

    /// As [`Frontier::admit_with`]; none, and nothing is changed, where `url` gives none for a URL that would be queued.
    pub fn admit_if(
        &mut self,
        id: HostId,
        fingerprint: Fingerprint,
        priority: Priority,
        own_host: bool,
        url: impl FnOnce() -> Option<QueuedUrl>,
    ) -> Result<Option<Admitted>, StoreError> {
        self.load(id)?;
        let host = &self.hosts[id];
        if !host.seen.is_loaded() {
            if !own_host && host.seen.count() > self.limits.seen_loaded_for_links {
                let Some(url) = url() else { return Ok(None) };
                self.host_mut(id).push(Priority::Untested, url);
                self.queued += 1;
                self.schedule_if_idle(id);
                return Ok(Some(Admitted::Untested));
            }
            self.load_seen(id)?;
        }
        self.ticks += 1;
        let ticks = self.ticks;
        let host = &mut self.hosts[id];
        host.seen.used = ticks;
        if host.seen.contains(fingerprint) {
            return Ok(Some(Admitted::Seen));
        }
        let Some(mut url) = url() else { return Ok(None) };
        if let Some(rules) = &self.traps
            && let Some(held) = traps::admit(rules, host, &self.key, &mut url)
        {
            return Ok(Some(Admitted::Held(held)));
        }
        host.seen.insert(fingerprint);
        self.seen_loaded += 1;
        self.host_mut(id).push(priority, url);
        self.queued += 1;
        self.schedule_if_idle(id);
        self.evict_seen();
        Ok(Some(Admitted::Queued))
    }

    /// Reads what [`Frontier::admit_with`] will look at for these URLs of a host, all at once: in a large seen set, look-ups one after the other would each wait for memory.
    /// Nothing where the set isn't loaded. Cost: some nanoseconds each.
    pub fn read_ahead(&self, id: HostId, fingerprints: &[Fingerprint]) {
        if let Some(host) = self.hosts.slot(id).host() {
            host.seen.read_ahead(fingerprints);
        }
    }

    /// URLs that wait in the queues of a host.
    pub fn queued_of(&self, id: HostId) -> u64 {
        let slot = self.hosts.slot(id);
        slot.host().map_or(u64::from(slot.queued), Host::queued)
    }

    /// Queues a known URL again: it is to be revisited. The host must be in memory ([`Frontier::load`]).
    pub fn requeue(&mut self, id: HostId, url: QueuedUrl) {
        self.host_mut(id).push(url.priority_as_link(), url);
        self.queued += 1;
        self.schedule_if_idle(id);
    }

    /// Queues a URL again that was taken out of its queue unasked since a budget was used up; says so if it still is. The host must be in
    /// memory ([`Frontier::load`]).
    pub fn requeue_held(&mut self, id: HostId, url: QueuedUrl) -> Option<BudgetExceeded> {
        let held = self.exhausted(id, &url);
        if held.is_none() {
            self.requeue(id, url);
        }
        held
    }

    /// Whether a URL is known of a host, as far as memory has what is known of it.
    pub fn has_seen(&self, id: HostId, fingerprint: Fingerprint) -> bool {
        let host = self.hosts.slot(id).host();
        host.is_some_and(|host| host.seen.is_loaded() && host.seen.contains(fingerprint))
    }

    /// True if the URL was seen; only for hosts whose seen set is in memory or small.
    pub fn is_seen(&mut self, id: HostId, fingerprint: Fingerprint) -> Result<bool, StoreError> {
        self.load(id)?;
        if !self.hosts[id].seen.is_loaded() {
            self.load_seen(id)?;
        }
        Ok(self.hosts[id].seen.contains(fingerprint))
    }

    /// Hands out the right to ask the host that has been ready longest. None if no host is ready at `now`.
    pub fn lease(&mut self, now: Now) -> Result<Option<Permit>, StoreError> {
        while let Some(Reverse((at, stamp, id))) = self.ready.peek().copied() {
            if at.time() > now.mono {
                return Ok(None);
            }
            self.ready.pop();
            if self.hosts.slot(id).stamp != stamp {
                continue;
            }
            self.load(id)?;
            let host = &mut self.hosts[id];
            if host.leased.is_some() {
                continue;
            }
            host.used = true;
            host.scheduled = None;
            if host.answered_in > self.committed {
                self.uncommitted.push(id);
                continue;
            }
            self.tokens += 1;
            host.token = self.tokens;
            let rested = host.last_end.map(|end| now.mono.saturating_sub(end));
            if let Some(robots_fetch) = host.robots_fetches.pop_front() {
                host.leased = Some(Leased::RobotsFetch);
                let url = robots_fetch.url.clone();
                return Ok(Some(self.permit(id, url, Work::RobotsFetch(robots_fetch), rested)));
            }
            if let Some(permit) = self.lease_sitemap(id, rested)? {
                return Ok(Some(permit));
            }
            if let Some((priority, item, url)) = self.head(id)? {
                self.hosts[id].leased = Some(Leased::Head(priority));
                return Ok(Some(self.permit(id, url, Work::Visit(item), rested)));
            }
            if self.hosts[id].takes(Priority::First, self.open) && !self.hosts[id].sitemaps.is_empty() {
                // Only sitemaps remain, and enough of them are in flight.
                self.host_mut(id).not_before = now.mono + SITEMAP_TURN;
                self.schedule(id);
            }
        }
        Ok(None)
    }

    /// The permit for a host that was just leased.
    fn permit(&mut self, id: HostId, url: CrawlUrl, work: Work, rested: Option<Duration>) -> Permit {
        self.in_flight += 1;
        let host = &self.hosts[id];
        let class = Arc::clone(&host.class);
        let state = host.state();
        Permit::new(Lease { host: id, token: host.token, url, work, rested, class, booking: None, state })
    }

    /// The URL that the host's next visit is for.
    fn head(&mut self, id: HostId) -> Result<Option<(Priority, QueuedUrl, CrawlUrl)>, StoreError> {
        if self.hosts[id].held {
            return Ok(None);
        }
        let open = self.open;
        loop {
            let host = &mut self.hosts[id];
            let waits = |priority: &Priority| {
                host.takes(*priority, open) && !host.queues[*priority as usize].is_empty()
            };
            let Some(priority) = Priority::ALL.into_iter().find(waits) else {
                return Ok(None);
            };
            if priority == Priority::Untested {
                self.wake(id)?;
                continue;
            }
            match host.queue(priority).head() {
                NextUrl::Empty => return Ok(None),
                NextUrl::Here(mut item) => {
                    if matches!(priority, Priority::Link | Priority::Costly) {
                        self.mark_variant(id, &mut item);
                        if let Some(held) = self.exhausted(id, &item) {
                            self.hold(id, priority, item, held);
                            continue;
                        }
                    }
                    let url = self.hosts[id].url_of(&item);
                    return url.map(|url| Some((priority, item, url)));
                }
                NextUrl::Chunk(number) => self.load_chunk(id, priority, number)?,
            }
        }
    }

    /// Tests what waits untested, and queues what is new.
    fn wake(&mut self, id: HostId) -> Result<(), StoreError> {
        loop {
            let host = &mut self.hosts[id];
            match host.queue(Priority::Untested).head() {
                NextUrl::Empty => return Ok(()),
                NextUrl::Chunk(number) => self.load_chunk(id, Priority::Untested, number)?,
                NextUrl::Here(item) => {
                    let done = host.queue(Priority::Untested).advance();
                    let url = item.url(&host.name).map_err(|error| form(Tree::Queue, error))?;
                    self.drop_chunk(id, Priority::Untested, done);
                    self.mark(id);
                    self.queued -= 1;
                    let fingerprint = url.fingerprint(&self.key);
                    let priority = item.priority_as_link();
                    if let Admitted::Held(held) = self.admit(id, fingerprint, item.clone(), priority, true)? {
                        self.held.push((id, item, held));
                    }
                }
            }
        }
    }

    /// Takes a permit back with what became of it.
    pub fn settle(&mut self, permit: Permit, settlement: Settlement) -> Completion {
        self.complete(&permit.into_lease(), settlement)
    }

    /// As [`Frontier::settle`], by the lease's plain value: for a permit that was lost with the task that held it.
    pub(crate) fn complete(&mut self, lease: &Lease, settlement: Settlement) -> Completion {
        if self.hosts.is_idle(lease.host) {
            return Completion::Fenced;
        }
        let host = &mut self.hosts[lease.host];
        let Some(leased) = host.leased.filter(|_| host.token == lease.token) else {
            return Completion::Fenced;
        };
        host.leased = None;
        if settlement.asked {
            // Every wait begins with the end of the response.
            host.last_end = Some(settlement.not_before.saturating_sub(settlement.wait.length));
            host.answered_in = self.view.next_generation();
        }
        self.in_flight -= 1;
        let id = lease.host;
        if leased == Leased::Sitemap {
            self.sitemaps_leased -= 1;
            self.sitemaps_awaited.store(false, Ordering::Relaxed);
            if settlement.done {
                host.sitemaps.pop_front();
            }
        }
        if let (Leased::Head(priority), true) = (leased, settlement.done) {
            let dropped = host.queue(priority).advance();
            self.drop_chunk(id, priority, dropped);
            self.queued -= 1;
        }
        if let Some(item) = settlement.again {
            self.host_mut(id).push(item.priority_again(), item);
            self.queued += 1;
        }
        let host = self.host_mut(id);
        host.not_before = settlement.not_before;
        host.wait = settlement.wait;
        host.change(settlement.host, &lease.state);
        self.schedule(id);
        Completion::Applied
    }

    /// Returns an unused lease: the URL stays at the head of its queue, the host waits until `not_before`.
    pub fn release(&mut self, permit: Permit, not_before: Duration, wait: Delay) -> Completion {
        self.settle(permit, Settlement::untouched(not_before, wait))
    }

    /// True while the lease is in force.
    pub fn is_current(&self, lease: &Lease) -> bool {
        let host = self.hosts.slot(lease.host).host();
        host.is_some_and(|host| host.leased.is_some() && host.token == lease.token)
    }

    /// Queues the request of a robots.txt before the visits of its host. The host must be in memory ([`Frontier::load`]).
    pub fn queue_robots_fetch(&mut self, id: HostId, robots_fetch: RobotsFetch) {
        self.host_mut(id).robots_fetches.push_back(robots_fetch);
        self.schedule_if_idle(id);
    }

    /// Figures.
    pub fn counts(&self) -> FrontierCounts {
        FrontierCounts { queued: self.queued, in_flight: self.in_flight, hosts: self.hosts.len() as u64 }
    }

    /// Bytes that the next cut will write, without the journal.
    pub fn pending_bytes(&self) -> usize {
        self.view.bytes()
    }

    /// Adds a change of the caller's to the next cut.
    pub fn put(&mut self, tree: Tree, key: Vec<u8>, value: Vec<u8>) {
        self.view.put(tree, key, value);
    }

    /// Adds the removal of a key to the next cut.
    pub(crate) fn remove(&mut self, tree: Tree, key: Vec<u8>) {
        self.view.remove(tree, key);
    }

    /// The host, which is written with the next cut.
    fn host_mut(&mut self, id: HostId) -> &mut Host {
        self.mark(id);
        &mut self.hosts[id]
    }

    fn mark(&mut self, id: HostId) {
        let host = &mut self.hosts[id];
        if !host.dirty {
            host.dirty = true;
            self.dirty.push(id);
        }
    }

    fn schedule_if_idle(&mut self, id: HostId) {
        if self.hosts[id].leased.is_none() {
            self.schedule(id);
        }
    }

    /// Enters a host into the ready heap, or takes it out where it has nothing to do.
    fn schedule(&mut self, id: HostId) {
        let host = &mut self.hosts[id];
        let at = (host.has_work(self.open) && host.leased.is_none()).then_some(host.not_before);
        if at == host.scheduled {
            return;
        }
        host.scheduled = at;
        let slot = self.hosts.slot_mut(id);
        slot.stamp = slot.stamp.wrapping_add(1);
        if let Some(at) = at {
            self.ready.push(Reverse((ReadyAt::new(at), slot.stamp, id)));
        }
    }
}
