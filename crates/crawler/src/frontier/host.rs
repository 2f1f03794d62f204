//! One host in the frontier: its queues, its seen set, and when it may get the next request.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::error::form;
use super::item::QueuedUrl;
use super::priority::{OpenQueues, Priority, QUEUES};
use super::queue::{Queue, QueueEnds};
use super::seen::{Seen, SeenEnds};
use super::state::{HostCounts, HostDelta, HostState};
use crate::address::AddressClass;
use crate::encoded::json;
use crate::pace::{Delay, DelayReason, HostPace, as_the_site_sees};
use crate::store::{StoreError, Tree};
use crate::trap::{Groups, StoredGroup};
use crate::wishes::DayStart;
use page::clock::{Boot, Now};
use page::ids::HopId;
use page::url::{CrawlUrl, Fingerprint, Origin};
use walls::Streak;

/// A request that a host owes to another host's robots.txt: a hop of its redirects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RobotsFetch {
    /// Whose robots.txt is looked for.
    pub origin: Origin,
    /// What is asked of this host.
    pub url: CrawlUrl,
    /// The URLs so far, the first authority's robots.txt first.
    pub hops: Vec<String>,
    /// The robots.txt of the URL's own host was asked for before it, which may have to judge it.
    pub judged: bool,
    /// The partition of a cluster's crawl that has the origin, where this one has only the host that is asked: what comes of the hop is for
    /// that one.
    pub for_other: Option<HopId>,
}

impl RobotsFetch {
    /// The request for an origin's robots.txt that no redirect led to.
    pub fn new(origin: Origin, url: CrawlUrl) -> Self {
        Self { origin, url, hops: Vec::new(), judged: false, for_other: None }
    }
}

/// A host as stored: in tree `hosts` as [`HostRecord::write`] has it, in blocks of idle hosts as its fields follow one another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecord {
    /// Form of this record: 1.
    pub v: u32,
    /// The host's name.
    pub host: String,
    /// The earliest time of the next request.
    pub next_at: Timestamp,
    /// The wait that `next_at` was the end of, in milliseconds: a jump of the wall clock can't make it longer.
    pub wait_ms: u64,
    /// What remained of it when this was written, in milliseconds. A jump of the wall clock can't make it shorter either.
    pub left_ms: Option<u64>,
    /// When this was written, on the machine's own clock, if something remained.
    pub boot: Option<Boot>,
    /// Why it waits.
    pub wait_reason: DelayReason,
    /// The gap in force, in milliseconds.
    pub delay_ms: u64,
    /// What set the gap.
    pub delay_reason: DelayReason,
    /// The result of the last request for robots.txt.
    pub robots_status: Option<String>,
    /// Set if the host is skipped for the rest of this crawl.
    pub parked: Option<String>,
    /// State of pace.
    pub pace: HostPace,
    /// Counters.
    pub counts: HostCounts,
    /// Ends of the queues of pages.
    pub queues: [QueueEnds; 3],
    /// Ends of the seen set.
    pub seen: SeenEnds,
    /// What many of the host's URLs have in common.
    pub groups: Vec<StoredGroup>,
    /// What its folders' pages say.
    pub folders: Vec<StoredGroup>,
    /// The class of addresses that its name was answered with first: it is connected to no other one.
    pub address_class: Option<AddressClass>,
    /// The walls that it sent of late. Not in the form that blocks of idle hosts hold, which have them behind the hosts.
    #[serde(skip)]
    pub walls: Streak,
    /// Ends of the queue of resources. Not in the form that blocks of idle hosts hold, which have it behind the hosts.
    #[serde(skip)]
    pub resources: QueueEnds,
    /// Ends of the queue of costly pages. Stored as that of resources.
    #[serde(skip)]
    pub costly: QueueEnds,
    /// What was counted of it when the days began that wishes limit. Not in the form that blocks of idle hosts hold, which have them behind the
    /// hosts.
    #[serde(skip)]
    pub days: Vec<DayStart>,
}

/// A host's record as tree `hosts` holds it: JSON without what is zero, empty or none. A commit writes one for each host that was asked, and
/// little else takes as many bytes.
#[derive(Serialize, Deserialize)]
#[serde(remote = "HostRecord")]
struct InTree {
    v: u32,
    host: String,
    next_at: Timestamp,
    #[serde(default, skip_serializing_if = "is_default")]
    wait_ms: u64,
    /// Written where it is zero as well: none says that the record is an older version's.
    left_ms: Option<u64>,
    #[serde(skip_serializing_if = "is_default")]
    boot: Option<Boot>,
    wait_reason: DelayReason,
    delay_ms: u64,
    delay_reason: DelayReason,
    #[serde(skip_serializing_if = "is_default")]
    robots_status: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    parked: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pace: HostPace,
    counts: HostCounts,
    queues: [QueueEnds; 3],
    seen: SeenEnds,
    #[serde(default, skip_serializing_if = "is_default")]
    groups: Vec<StoredGroup>,
    #[serde(default, skip_serializing_if = "is_default")]
    folders: Vec<StoredGroup>,
    #[serde(skip_serializing_if = "is_default")]
    address_class: Option<AddressClass>,
    #[serde(default, skip_serializing_if = "is_default")]
    walls: Streak,
    #[serde(default, skip_serializing_if = "is_default")]
    resources: QueueEnds,
    #[serde(default, skip_serializing_if = "is_default")]
    costly: QueueEnds,
    #[serde(default, skip_serializing_if = "is_default")]
    days: Vec<DayStart>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl HostRecord {
    /// Reads a value of tree `hosts`.
    pub fn read(value: &[u8]) -> Result<Self, serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_slice(value);
        let record = InTree::deserialize(&mut reader)?;
        reader.end()?;
        Ok(record)
    }

    /// Writes it as a value of tree `hosts`.
    pub fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
        #[derive(Serialize)]
        #[serde(transparent)]
        struct Value<'a>(#[serde(with = "InTree")] &'a HostRecord);
        json(&Value(self))
    }

    /// The ends of each queue, by [`Priority`].
    pub fn all_queues(&self) -> [QueueEnds; QUEUES] {
        let [first, link, untested] = self.queues;
        [first, link, untested, self.resources, self.costly]
    }

    /// URLs that wait.
    pub fn queued(&self) -> u64 {
        self.all_queues().iter().map(|ends| ends.tail.saturating_sub(ends.head)).sum()
    }

    /// True if a resource waits, or may be among what waits untested.
    pub(super) fn may_hold_resources(&self) -> bool {
        let waits = |ends: &QueueEnds| ends.tail > ends.head;
        waits(&self.resources) || waits(&self.queues[Priority::Untested as usize])
    }
}

/// How the reason begins for which a host is skipped that sends walls instead of its pages.
pub(crate) const WALLED: &str = "wall: ";

/// How the reason begins for which a host is skipped that has brought enough pages. Its resources are still fetched.
pub(super) const FULL: &str = "max-pages-per-host ";

#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) name: Box<str>,
    pub(crate) queues: [Queue; QUEUES],
    pub(crate) seen: Seen,
    pub(crate) groups: Groups,
    pub(crate) robots_fetches: VecDeque<RobotsFetch>,
    /// Sitemaps that wait, by their URLs.
    pub(crate) sitemaps: VecDeque<Fingerprint>,
    pub(crate) not_before: Duration,
    pub(crate) wait: Delay,
    /// When the last request of this process ended.
    pub(crate) last_end: Option<Duration>,
    pub(crate) gap: Delay,
    pub(crate) pace: HostPace,
    /// The walls that it sent of late.
    pub(crate) walls: Streak,
    pub(crate) counts: HostCounts,
    /// See [`HostRecord::days`].
    pub(crate) days: Vec<DayStart>,
    pub(crate) robots_status: Option<Box<str>>,
    pub(crate) parked: Option<Box<str>>,
    /// Visits wait for a robots.txt that another host gives; robots fetches go on.
    pub(crate) held: bool,
    /// The cut that holds the host's last answer: it isn't asked again before that survives a kill.
    pub(crate) answered_in: u64,
    /// The lease in force, if there is one.
    pub(crate) leased: Option<Leased>,
    pub(crate) token: u64,
    /// The time of its valid entry in the ready heap.
    pub(crate) scheduled: Option<Duration>,
    pub(crate) dirty: bool,
    /// See [`HostRecord::address_class`]; set by the fetcher.
    pub(crate) class: Arc<OnceLock<AddressClass>>,
    /// Used since it was last looked at to be evicted.
    pub(crate) used: bool,
    /// Where the store has it.
    pub(crate) stored: StoredAs,
}

/// Where a host is in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoredAs {
    /// Nowhere yet.
    Nothing,
    /// Its name, in the journal.
    Name,
    /// In a block of idle hosts.
    Block,
    /// In a record of its own, which counts before a block.
    Record,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leased {
    Head(Priority),
    RobotsFetch,
    Sitemap,
}

/// How long a server is thought to work, at most, on a request that nobody waits for any more.
pub(super) const STILL_AT_WORK: Duration = Duration::from_secs(30);

/// Whole milliseconds, rounded up: a restart may make no wait shorter.
pub(super) fn milliseconds(length: Duration) -> u64 {
    u64::try_from(length.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

impl Host {
    pub(crate) fn new(name: &str, gap: Delay) -> Self {
        Self {
            name: name.into(),
            queues: Default::default(),
            seen: Seen::default(),
            groups: Groups::default(),
            robots_fetches: VecDeque::new(),
            sitemaps: VecDeque::new(),
            not_before: Duration::ZERO,
            wait: Delay { length: Duration::ZERO, why: DelayReason::Configured },
            last_end: None,
            gap,
            pace: HostPace::default(),
            walls: Streak::default(),
            counts: HostCounts::default(),
            days: Vec::new(),
            robots_status: None,
            parked: None,
            held: false,
            answered_in: 0,
            leased: None,
            token: 0,
            scheduled: None,
            dirty: true,
            used: false,
            stored: StoredAs::Nothing,
            class: Arc::default(),
        }
    }

    /// Takes up a stored host. A request may have been under way when the last process ended, so every host waits for
    /// its whole gap from now; a longer wait goes on, but never for longer than it was meant to last.
    ///
    /// The wall clock may have been set since, so it doesn't say what remains of a wait.  The machine's own clock (`boot`) does. Where
    /// it was rebooted in between that is unknown, and what remained then is waited for again.
    pub(crate) fn restore(record: &HostRecord, now: Now, boot: Option<Boot>) -> Self {
        let gap = Delay { length: Duration::from_millis(record.delay_ms), why: record.delay_reason };
        let mut host = Self::new(&record.host, gap);
        for (queue, ends) in host.queues.iter_mut().zip(record.all_queues()) {
            *queue = Queue::restore(ends);
        }
        host.seen = Seen::restore(record.seen);
        host.groups = Groups::restore(&record.groups, &record.folders);
        let passed = boot.and_then(|boot| boot.since(record.boot));
        let left = match record.left_ms.map(Duration::from_millis) {
            Some(left) => left.saturating_sub(passed.unwrap_or_default()),
            // Written by an older version.
            None => Duration::try_from(record.next_at.duration_since(now.wall)).unwrap_or_default(),
        };
        let left = left.min(Duration::from_millis(record.wait_ms));
        // Whoever was asked at its address, or of its group, isn't any more, and the wishes of this process may be others.
        let is_over = record.wait_reason.is_shared() || record.wait_reason.is_wish();
        let left = if is_over { Duration::ZERO } else { left };
        host.wait = Delay { length: left, why: record.wait_reason };
        if record.counts.requests > 0 {
            host.wait = host.wait.or_longer(Delay { length: gap.length, why: DelayReason::Restart });
        }
        host.not_before = now.mono + host.wait.length;
        host.pace = record.pace;
        host.walls = record.walls.clone();
        host.walls.next_run();
        host.counts = record.counts;
        host.days.clone_from(&record.days);
        host.robots_status = record.robots_status.as_deref().map(Into::into);
        host.class = Arc::new(record.address_class.map_or_else(OnceLock::new, OnceLock::from));
        // A wait that started over has to be recorded with the clock that it runs on now, or it would start over with each process.
        host.dirty = passed.is_none() && !left.is_zero();
        host
    }

    pub(crate) fn record(&self, now: Now, boot: Option<Boot>) -> HostRecord {
        let left = self.not_before.saturating_sub(now.mono);
        let next_at = jiff::SignedDuration::try_from(left)
            .ok()
            .and_then(|left| now.wall.checked_add(left).ok())
            .unwrap_or(Timestamp::MAX);
        HostRecord {
            v: 1,
            host: self.name.to_string(),
            next_at,
            wait_ms: milliseconds(as_the_site_sees(self.wait.length)),
            left_ms: Some(milliseconds(left)),
            boot: boot.filter(|_| !left.is_zero()),
            wait_reason: self.wait.why,
            delay_ms: milliseconds(self.gap.length),
            delay_reason: self.gap.why,
            robots_status: self.robots_status.as_deref().map(Into::into),
            parked: self.parked.as_deref().map(Into::into),
            pace: self.pace,
            walls: self.walls.clone(),
            counts: self.counts,
            queues: [self.queues[0].ends(), self.queues[1].ends(), self.queues[2].ends()],
            seen: self.seen.ends(),
            groups: self.groups.stored(),
            folders: self.groups.stored_folders(),
            address_class: self.class.get().copied(),
            resources: self.queues[Priority::Resource as usize].ends(),
            costly: self.queues[Priority::Costly as usize].ends(),
            days: self.days.clone(),
        }
    }

    /// Lets the host wait for its whole gap from now, at least `delay`, after as long as a server may work on a request that
    /// the process before this one had under way: its slowest response took so long, and `at_work` at least.
    pub(crate) fn rest(&mut self, now: Now, delay: Duration, at_work: Duration) {
        let rest = Delay { length: self.gap.length.max(delay), why: DelayReason::Restart };
        let worked = Duration::from_millis(self.counts.slowest_ms).min(STILL_AT_WORK).max(at_work);
        self.last_end = Some(now.mono + worked);
        if self.not_before < now.mono + worked + rest.length {
            self.not_before = now.mono + worked + rest.length;
            self.wait = rest;
        }
    }

    /// True if nothing goes on here that is not in the host's record, its queues and its seen set.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.leased.is_none() && self.robots_fetches.is_empty() && self.sitemaps.is_empty() && !self.held
    }

    /// True for a host that was found, and neither asked nor judged yet: its name and its URLs say all.
    pub(crate) fn is_untouched(&self) -> bool {
        self.counts == HostCounts::default()
            && self.pace == HostPace::default()
            && self.robots_status.is_none()
            && self.parked.is_none()
            && self.last_end.is_none()
            && self.not_before.is_zero()
            && self.queues.iter().all(|queue| queue.ends().sealed == 0)
            && self.seen.ends().sealed == 0
            && self.groups.stored().is_empty()
            && self.is_at_rest()
    }

    /// The whole URL of what waits here.
    pub(crate) fn url_of(&self, item: &QueuedUrl) -> Result<CrawlUrl, StoreError> {
        item.url(&self.name).map_err(|error| form(Tree::Queue, error))
    }

    /// What settling a visit to it has to know.
    pub(crate) fn state(&self) -> HostState {
        let Self { pace, counts, gap, wait, not_before, .. } = *self;
        HostState { pace, counts, gap, waited: wait, not_before, walls: self.walls.clone() }
    }

    /// Takes in what a visit changed. `before` is the state that its lease was given out with: where a robots.txt that lies at
    /// another host has raised the gap since, the longer one counts.
    pub(crate) fn change(&mut self, delta: HostDelta, before: &HostState) {
        let HostDelta { pace, counts, gap, walls, parked } = delta;
        if let Some(walls) = walls {
            self.walls = walls;
        }
        self.pace = pace.unwrap_or(self.pace);
        self.counts.add(&counts);
        let raised = Some(self.gap).filter(|raised| *raised != before.gap);
        self.gap = gap.unwrap_or(self.gap);
        if let Some(raised) = raised {
            self.wait_at_least(raised.or_longer(self.gap));
        }
        if let Some(reason) = parked {
            self.parked = Some(reason.into());
        }
    }

    /// Makes this the usual gap, and keeps it from the last request on.
    pub(crate) fn wait_at_least(&mut self, gap: Delay) {
        let last = self.not_before.saturating_sub(self.wait.length);
        let at = last.saturating_add(gap.length);
        if at > self.not_before {
            self.not_before = at;
            self.wait = gap;
        }
        self.gap = gap;
    }

    pub(crate) fn queue(&mut self, priority: Priority) -> &mut Queue {
        &mut self.queues[priority as usize]
    }

    pub(crate) fn queued(&self) -> u64 {
        self.queues.iter().map(Queue::len).sum()
    }

    /// True if there is something to ask the host for, as far as the queues are open.
    pub(crate) fn has_work(&self, open: OpenQueues) -> bool {
        let takes = |priority: Priority| self.takes(priority, open);
        !self.robots_fetches.is_empty()
            || (!self.held
                && (takes(Priority::First) && !self.sitemaps.is_empty()
                    || Priority::ALL
                        .into_iter()
                        .any(|each| takes(each) && !self.queues[each as usize].is_empty())))
    }

    /// Whether the host's next visit may be for a URL of this queue.
    pub(crate) fn takes(&self, priority: Priority, open: OpenQueues) -> bool {
        let (pages, resources) = (open.pages && self.parked.is_none(), open.resources && !self.is_closed());
        match priority {
            Priority::First | Priority::Link | Priority::Costly => pages,
            // It may hold resources.
            Priority::Untested => pages || resources,
            Priority::Resource => resources,
        }
    }

    /// True for a host that has brought enough pages. Its resources are still fetched.
    pub(crate) fn is_full(&self) -> bool {
        self.parked.as_deref().is_some_and(|reason| reason.starts_with(FULL))
    }

    /// True if a resource waits, or may be among what waits untested.
    pub(crate) fn may_hold_resources(&self) -> bool {
        [Priority::Resource, Priority::Untested]
            .into_iter()
            .any(|each| !self.queues[each as usize].is_empty())
    }

    /// True for a host that is skipped with all that it has.
    fn is_closed(&self) -> bool {
        self.parked.is_some() && !self.is_full()
    }

    pub(crate) fn push(&mut self, priority: Priority, url: QueuedUrl) {
        self.queue(priority).push(url);
    }

    /// Bytes that the journal would take now, and that sealing everything would take.
    pub(crate) fn costs(&self) -> (usize, usize) {
        let seen = self.seen.costs();
        self.queues.iter().map(Queue::costs).fold(seen, |sum, cost| (sum.0 + cost.0, sum.1 + cost.1))
    }

    pub(crate) fn has_fresh(&self) -> bool {
        self.seen.has_fresh() || self.queues.iter().any(Queue::has_fresh)
    }
}
