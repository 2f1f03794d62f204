//! Moves a whole crawl between stores: from one into the partitions of a cluster, or from these into one.
//!
//! What is stored of a host goes to the one store that has the host there. Hosts get new numbers, so what refers to them is
//! written again; records, links, robots.txt files and decisions stay as they are. The ledger's chain starts again: it ends with an entry that
//! names the head of the one before.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::causes::Cause;
use crate::commit::{Batch, CommitError, Committer, SettledPage, Totals, WARC_END};
use crate::engine::{LOST, STEERING, Steering};
use crate::frontier::{
    Frontier, FrontierLimits, HostId, Opening, QueuedUrl, Via, stored_hosts, stored_queue,
};
use crate::ledger;
use crate::pace::{Delay, DelayReason};
use crate::page_store;
use crate::post::{self, Letter, MAIL, SentLink};
use crate::record::{
    DeadOwner, Decided, Decision, Evidence, ForgetRule, HostKinds, Layer, MovedSeed, PlainReason,
    RepairRecord, RunSettings, SCOPE_ADDED, SitemapRecord, Withdrawal, group_address_key, link_key,
    moved_seeds, read_due_key, read_scope_added, write_scope_added,
};
use crate::store::{AnyStore, Store as _, StoreError, Tree, Write};
use page::clock::{Clock, Now};
use page::ids::elsewhere_key;
use page::url::{CrawlUrl, Fingerprint, FingerprintKey};

/// Bytes of what waits to be committed, over all stores; rough.
const AT_ONCE: usize = 16 << 20;

/// Hosts that are copied before those that can be read again leave memory.
const HOSTS_AT_ONCE: usize = 256;

/// URLs of pages that are remembered.
const REMEMBERED: usize = 8192;

/// Why a crawl can't be moved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// One of the stores.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The writing.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// What is stored can't be read.
    #[error("what is stored of the crawl can't be read")]
    Unreadable(#[source] Cause),
    /// Pages are being looked for whose bodies are lost.
    #[error(
        "pages whose bodies were lost (`crawl cluster lost`) are still being queued again: continue the crawl until `crawl cluster status` shows no letters"
    )]
    Losing,
    /// Requests of a dead worker are still to be entered.
    #[error(
        "the requests that a worker had in flight when it died are still being entered: continue the crawl until `crawl cluster status` shows no letters"
    )]
    Entering,
}

type Result<T> = std::result::Result<T, TransferError>;

fn unreadable(error: impl Into<Cause>) -> TransferError {
    TransferError::Unreadable(error.into())
}

/// What was moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Hosts.
    pub hosts: u64,
    /// Page records.
    pub pages: u64,
    /// URLs that wait.
    pub queued: u64,
    /// Entries of the ledger.
    pub decisions: u64,
}

/// What a move has to know of the crawl.
#[derive(Debug, Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) key: FingerprintKey,
    pub(super) delay: std::time::Duration,
    /// Where it was, for the ledger.
    pub(super) from: &'a str,
    /// The ledger's head there, in hex.
    pub(super) head: &'a str,
    /// How often it was begun or continued, where its stores don't say so.
    pub(super) runs: Option<u64>,
    pub(super) now: Timestamp,
}

/// A store that is filled.
struct Target {
    store: Arc<AnyStore>,
    committer: Committer<AnyStore>,
    frontier: Frontier<AnyStore>,
    writes: Vec<Write>,
    settled: Vec<SettledPage>,
    decisions: Vec<Decision>,
    bytes: usize,
    /// What could be counted of what it has.
    counted: Totals,
}

impl Target {
    fn open(store: AnyStore, about: About<'_>, now: Now, of: usize) -> Result<Self> {
        let store = Arc::new(store);
        let gap = Delay { length: about.delay, why: DelayReason::Configured };
        let limits = FrontierLimits::default();
        let hosts_in_memory = (limits.hosts_in_memory / of).max(64);
        let limits = FrontierLimits { hosts_in_memory, seen_in_memory: limits.seen_in_memory / of, ..limits };
        let frontier = Frontier::open_now(&store, limits, gap, about.key, now)?;
        Ok(Self {
            committer: Committer::open(Arc::clone(&store), None)?,
            store,
            frontier,
            writes: Vec::new(),
            settled: Vec::new(),
            decisions: Vec::new(),
            bytes: 0,
            counted: Totals::default(),
        })
    }

    fn put(&mut self, tree: Tree, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        let write = Write::put(tree, key, value);
        self.bytes += write.key.len() + write.value.as_ref().map_or(0, Vec::len);
        self.writes.push(write);
    }

    fn is_full(&self, of: usize) -> bool {
        self.bytes + self.frontier.pending_bytes() > AT_ONCE / of
    }

    fn commit(&mut self, now: Now) -> Result<()> {
        let (generation, mut writes) = self.frontier.cut(now)?;
        writes.append(&mut self.writes);
        self.bytes = 0;
        let decisions = std::mem::take(&mut self.decisions);
        let pages = std::mem::take(&mut self.settled);
        let totals = self.counted;
        self.committer.commit(Batch { generation, writes, pages, decisions, totals, ..Batch::default() })?;
        self.frontier.committed(generation);
        Ok(())
    }
}

/// The store that is read, with what became of its hosts.
struct Source<'a> {
    store: &'a AnyStore,
    hosts: HashMap<HostId, (usize, HostId)>,
    urls: lru::LruCache<Via, Option<Box<str>>>,
}

impl<'a> Source<'a> {
    fn new(store: &'a AnyStore) -> Self {
        let most = std::num::NonZeroUsize::new(REMEMBERED).unwrap_or(std::num::NonZeroUsize::MIN);
        Self { store, hosts: HashMap::new(), urls: lru::LruCache::new(most) }
    }

    /// The URL of the page or sitemap that a URL was found on.
    fn url_of(&mut self, via: Via) -> Result<Option<Box<str>>> {
        if let Some(url) = self.urls.get(&via) {
            return Ok(url.clone());
        }
        let Via { host, page } = via;
        let url = if host == HostId::ELSEWHERE {
            let text = self.store.get(Tree::Meta, &elsewhere_key(page))?;
            text.and_then(|text| String::from_utf8(text).ok())
        } else if let Some((_, entry)) = page_store::find(self.store, host, page)? {
            Some(entry.url()?)
        } else if let Some(value) = self.store.get(Tree::Sitemaps, &link_key(host, page))? {
            Some(SitemapRecord::read(&value).map_err(unreadable)?.url)
        } else {
            None
        };
        let url = url.map(Into::into);
        self.urls.put(via, url.clone());
        Ok(url)
    }
}

/// A move under way.
struct Transfer<'a> {
    sources: Vec<Source<'a>>,
    targets: Vec<Target>,
    about: About<'a>,
    now: Now,
    moved: Transferred,
    scope_added: BTreeSet<String>,
    steering: Steering,
}

/// Moves what `sources` have into `targets`, which hold nothing but what says that they are of this crawl. Cost: one pass over the sources for each kind
/// of record, two over the hosts. Memory: the hosts in use, and 32 bytes for each other one.
///
/// Returns what was moved, and the URLs that wait in each target.
pub(super) fn transfer(
    sources: &[AnyStore],
    targets: Vec<AnyStore>,
    about: About<'_>,
) -> Result<(Transferred, Vec<u64>)> {
    let now = Now { mono: std::time::Duration::ZERO, wall: about.now };
    let of = targets.len().max(1);
    let targets = targets.into_iter().map(|store| Target::open(store, about, now, of));
    let mut transfer = Transfer {
        sources: sources.iter().map(Source::new).collect(),
        targets: targets.collect::<Result<_>>()?,
        about,
        now,
        moved: Transferred::default(),
        scope_added: BTreeSet::new(),
        steering: Steering::default(),
    };
    for index in 0..sources.len() {
        transfer.settings_of(index)?;
        transfer.ledger_of(index)?;
        transfer.hosts_of(index)?;
    }
    // Pages and queues refer to hosts of other stores.
    for index in 0..sources.len() {
        transfer.pages_of(index)?;
        transfer.queues_of(index)?;
        transfer.files_of(index)?;
        transfer.letters_of(index)?;
    }
    transfer.finish()
}

impl Transfer<'_> {
    /// The place of a host's store among those that are filled.
    fn place(&self, host: &str) -> usize {
        let of = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
        post::partition(host, of) as usize
    }

    fn commit_in_time(&mut self, place: usize) -> Result<()> {
        let of = self.targets.len();
        let target = &mut self.targets[place];
        if target.is_full(of) { target.commit(self.now) } else { Ok(()) }
    }

    fn put_everywhere(&mut self, tree: Tree, key: &[u8], value: &[u8]) {
        for target in &mut self.targets {
            target.put(tree, key, value);
        }
    }

    /// What holds for every host: settings of runs, by which what was skipped was judged, what was forgotten, what a redirect of a seed brought
    /// into the scope.
    fn settings_of(&mut self, index: usize) -> Result<()> {
        let store = self.sources[index].store;
        for pair in store.scan(Tree::Meta, RunSettings::PREFIX.as_bytes()) {
            let (key, value) = pair?;
            self.put_everywhere(Tree::Meta, &key, &value);
        }
        for pair in store.scan(Tree::Meta, ForgetRule::PREFIX.as_bytes()) {
            let (key, value) = pair?;
            self.put_everywhere(Tree::Meta, &key, &value);
        }
        for key in ["judged_by".as_bytes(), LOST] {
            if let Some(value) = store.get(Tree::Meta, key)? {
                self.put_everywhere(Tree::Meta, key, &value);
            }
        }
        if let Some(value) = store.get(Tree::Meta, RepairRecord::KEY.as_bytes())? {
            // What is lost was counted once.
            self.targets[0].put(Tree::Meta, RepairRecord::KEY, value);
        }
        for pair in store.scan(Tree::Meta, WARC_END.as_bytes()) {
            // The ends of the archive, and of each of its series.
            let (key, value) = pair?;
            self.targets[0].put(Tree::Meta, key, value);
        }
        for died in DeadOwner::all(store)? {
            // Its worker has no number where the crawl is now: this only says that requests may be missing.
            let died = DeadOwner { worker: 0, lost: true, ..died };
            let value = serde_json::to_vec(&died).map_err(CommitError::from)?;
            self.targets[0].put(Tree::Meta, died.key(), value);
        }
        self.steering.add(Steering::stored(store)?);
        if let Some(value) = store.get(Tree::Meta, SCOPE_ADDED)? {
            let urls = read_scope_added(&value).map_err(unreadable)?;
            self.scope_added.extend(urls.iter().map(CrawlUrl::to_string));
        }
        for moved in moved_seeds(store) {
            let (key, moved) = moved?;
            self.put_everywhere(Tree::Meta, &key, &moved.write().map_err(unreadable)?);
        }
        Ok(())
    }

    /// The decisions in their order. What is about no host holds for all: the beginning of a run, which what follows refers to.
    fn ledger_of(&mut self, index: usize) -> Result<()> {
        let store = self.sources[index].store;
        for pair in store.scan(Tree::Ledger, &[]) {
            let block = ledger::read(&pair?.1).map_err(unreadable)?;
            for entry in block.decisions {
                self.moved.decisions += 1;
                let url = CrawlUrl::parse(&entry.url).ok();
                let host = url.as_ref().map_or(entry.host.as_str(), CrawlUrl::host);
                let host = if entry.host.is_empty() { host } else { &entry.host };
                let bytes = 256 + entry.url.len();
                if host.is_empty() {
                    for target in &mut self.targets {
                        target.bytes += bytes;
                        target.decisions.push(entry.clone());
                    }
                    continue;
                }
                let place = self.place(host);
                let target = &mut self.targets[place];
                target.counted.requests += u64::from(entry.evidence.request.is_some());
                target.bytes += bytes;
                target.decisions.push(entry);
                self.commit_in_time(place)?;
            }
        }
        for place in 0..self.targets.len() {
            self.targets[place].commit(self.now)?;
        }
        Ok(())
    }

    fn hosts_of(&mut self, index: usize) -> Result<()> {
        let store = Arc::new(Arc::clone(self.sources[index].store));
        let gap = Delay { length: self.about.delay, why: DelayReason::Configured };
        let opening = Opening {
            now: self.now,
            clock: Some(Clock::system()),
            rest: None,
            at_work: std::time::Duration::ZERO,
            names: &mut |_| {},
        };
        let mut frontier = Frontier::reopen(&store, FrontierLimits::default(), gap, self.about.key, opening)?;
        let mut copied = HashSet::new();
        for host in stored_hosts(&*store)? {
            let (old, record) = host?;
            let place = self.place(&record.host);
            let moved = frontier.copy_host(old, self.now)?;
            let target = &mut self.targets[place];
            let new = target.frontier.host_id(&record.host)?;
            target.frontier.take_in(new, moved, self.now)?;
            for key in [HostKinds::key(&record.host), group_address_key(&record.host)] {
                if let Some(value) = store.get(Tree::Meta, &key)? {
                    target.put(Tree::Meta, key, value);
                }
            }
            self.sources[index].hosts.insert(old, (place, new));
            self.moved.hosts += 1;
            self.commit_in_time(place)?;
            copied.insert(old);
            if copied.len() >= HOSTS_AT_ONCE {
                frontier.forget_copied(&copied);
                copied.clear();
            }
        }
        Ok(())
    }

    /// The page that something was found on, as its new store has it.
    fn via(&mut self, index: usize, place: usize, via: Option<Via>) -> Result<Option<Via>> {
        let Some(via) = via else { return Ok(None) };
        if let Some((of, host)) = self.sources[index].hosts.get(&via.host)
            && *of == place
        {
            return Ok(Some(Via { host: *host, page: via.page }));
        }
        let Some(url) = self.sources[index].url_of(via)? else { return Ok(None) };
        Ok(Some(self.via_of_url(place, &url, via.page)))
    }

    fn via_of_url(&mut self, place: usize, url: &str, page: Fingerprint) -> Via {
        let target = &mut self.targets[place];
        let host = CrawlUrl::parse(url).ok().and_then(|url| target.frontier.find(url.host()));
        if let Some(host) = host {
            return Via { host, page };
        }
        target.put(Tree::Meta, elsewhere_key(page), url.as_bytes());
        Via { host: HostId::ELSEWHERE, page }
    }

    fn host(&self, index: usize, old: HostId) -> Result<(usize, HostId)> {
        let known = self.sources[index].hosts.get(&old).copied();
        known.ok_or_else(|| unreadable(format!("host {} has no name", old.0)))
    }

    fn pages_of(&mut self, index: usize) -> Result<()> {
        for page in page_store::scan_with_links(self.sources[index].store) {
            let page = page?;
            let (place, host) = self.host(index, page.host)?;
            let mut record = page.record()?;
            record.via = self.via(index, place, record.via)?;
            let links = page.links()?;
            let target = &mut self.targets[place];
            target.counted.add_page(&record);
            target.bytes +=
                1024 + links.iter().map(|link| 64 + link.to.len() + link.text.len()).sum::<usize>();
            target.settled.push(SettledPage::taken_over(host, page.page, record, links));
            self.moved.pages += 1;
            self.commit_in_time(place)?;
        }
        Ok(())
    }

    fn queues_of(&mut self, index: usize) -> Result<()> {
        for queued in stored_queue(self.sources[index].store)? {
            let queued = queued?;
            let (place, host) = self.host(index, queued.id)?;
            let via = self.via(index, place, queued.url.via)?;
            let item = QueuedUrl { via, ..queued.url };
            self.targets[place].frontier.take_queued(host, queued.priority, item)?;
            self.moved.queued += 1;
            self.commit_in_time(place)?;
        }
        Ok(())
    }

    /// robots.txt versions, files of sites, sitemaps, dates, withdrawals.
    fn files_of(&mut self, index: usize) -> Result<()> {
        let store = self.sources[index].store;
        for tree in [Tree::Robots, Tree::SiteFiles] {
            for pair in store.scan(tree, &[]) {
                let (key, value) = pair?;
                let origin = key.split(|byte| *byte == 0).next().unwrap_or_default();
                let origin = String::from_utf8_lossy(origin);
                let url = CrawlUrl::parse(&format!("{origin}/")).map_err(unreadable)?;
                self.put_at(self.place(url.host()), tree, key, value)?;
            }
        }
        for pair in store.scan(Tree::Withdrawn, &[]) {
            let (key, value) = pair?;
            let withdrawal: Withdrawal = serde_json::from_slice(&value).map_err(unreadable)?;
            let url = CrawlUrl::parse(&withdrawal.url).map_err(unreadable)?;
            self.put_at(self.place(url.host()), Tree::Withdrawn, key, value)?;
        }
        for pair in store.scan(Tree::Sitemaps, &[]) {
            let (key, value) = pair?;
            let Some((old, page)) = key.split_first_chunk::<4>() else { continue };
            let (place, host) = self.host(index, HostId(u32::from_be_bytes(*old)))?;
            self.put_at(place, Tree::Sitemaps, [&host.key(), page].concat(), value)?;
        }
        for pair in store.scan(Tree::Due, &[]) {
            let (key, value) = pair?;
            let Some((_, old, _)) = read_due_key(&key) else { continue };
            let (place, host) = self.host(index, old)?;
            let key = [&key[..8], &host.key(), &key[12..]].concat();
            self.put_at(place, Tree::Due, key, value)?;
        }
        Ok(())
    }

    fn put_at(&mut self, place: usize, tree: Tree, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.targets[place].put(tree, key, value);
        self.commit_in_time(place)
    }

    /// What partitions wrote to each other and hadn't dealt with.
    fn letters_of(&mut self, index: usize) -> Result<()> {
        for pair in self.sources[index].store.scan(Tree::Meta, MAIL) {
            for letter in post::letters(&pair?.1) {
                match letter.map_err(unreadable)? {
                    Letter::Links { from, links } => self.links(&from, links)?,
                    Letter::Scope(urls) => self.scope_added.extend(urls),
                    Letter::Sitemap(value) => {
                        let record = SitemapRecord::read(&value).map_err(unreadable)?;
                        let url = CrawlUrl::parse(&record.url).map_err(unreadable)?;
                        let place = self.place(url.host());
                        let target = &mut self.targets[place];
                        let host = target.frontier.host_id(url.host())?;
                        let key = link_key(host, url.fingerprint(&self.about.key));
                        // One that is there has been read, or waits.
                        if target.store.get(Tree::Sitemaps, &key)?.is_none() {
                            self.put_at(place, Tree::Sitemaps, key, value)?;
                        }
                    }
                    // Whose robots.txt isn't known is asked for it.
                    Letter::Hop(_) | Letter::HopAnswer(_) => {}
                    Letter::Lost { .. } | Letter::Again(_) => return Err(TransferError::Losing),
                    Letter::Moved { from, record } => {
                        self.put_everywhere(Tree::Meta, &MovedSeed::key(Fingerprint(from)), &record);
                    }
                    Letter::InFlight { .. } => return Err(TransferError::Entering),
                    Letter::Steer(order) => self.steering.change(order.host.as_deref(), order.change),
                }
            }
        }
        Ok(())
    }

    fn links(&mut self, from: &str, links: Vec<SentLink>) -> Result<()> {
        let Ok(page) = CrawlUrl::parse(from) else { return Ok(()) };
        let page = page.fingerprint(&self.about.key);
        for SentLink { url, depth, redirects, marks } in links {
            let Ok(url) = CrawlUrl::parse(&url) else { continue };
            let place = self.place(url.host());
            let via = Some(self.via_of_url(place, from, page));
            let item = QueuedUrl { redirects, marks, ..QueuedUrl::link(&url, depth, via) };
            let (priority, fingerprint) = (item.priority(), url.fingerprint(&self.about.key));
            let target = &mut self.targets[place];
            let host = target.frontier.host_id(url.host())?;
            if target.frontier.know(host, fingerprint)? {
                target.frontier.take_queued(host, priority, item)?;
                self.moved.queued += 1;
            }
            self.commit_in_time(place)?;
        }
        Ok(())
    }

    /// Counts, and closes the ledgers.
    fn finish(mut self) -> Result<(Transferred, Vec<u64>)> {
        let mut all = Totals::default();
        for source in &self.sources {
            let totals = source.store.get(Tree::Meta, b"totals")?.unwrap_or_default();
            let totals: Totals = serde_json::from_slice(&totals).unwrap_or_default();
            // Each partition counts the owners that it had.
            all = Totals { runs: all.runs.max(totals.runs), ..sum(all, totals) };
        }
        all.runs = self.about.runs.unwrap_or(all.runs);
        let mut counted = Totals::default();
        for target in &self.targets {
            counted.add(&target.counted);
        }
        // What follows from no record, such as visits that later ones replaced.
        let rest = Totals { runs: 0, ..all.since(&counted) };
        self.targets[0].counted.add(&rest);
        for target in &mut self.targets {
            // Hosts rest before the first request of a crawl that has run.
            target.counted.runs = all.runs;
        }
        if !self.scope_added.is_empty() {
            let urls = std::mem::take(&mut self.scope_added).into_iter().collect();
            let value = write_scope_added(urls).map_err(CommitError::from)?;
            self.put_everywhere(Tree::Meta, SCOPE_ADDED, &value);
        }
        let of = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
        for (place, target) in self.targets.iter_mut().enumerate() {
            let own = self.steering.of_hosts(|host| post::partition(host, of) as usize == place);
            if own != Steering::default() {
                target.put(Tree::Meta, STEERING, serde_json::to_vec(&own).map_err(CommitError::from)?);
            }
        }
        let About { from, head, now, .. } = self.about;
        for target in &mut self.targets {
            target.decisions.push(Decision {
                at: now,
                url: String::new(),
                host: String::new(),
                decision: Decided::Moved,
                layer: Layer::Stop,
                reason: PlainReason::Move.into(),
                evidence: Evidence::from(format!("from {from}; the ledger's head was {head}")),
                via: None,
            });
            target.commit(self.now)?;
        }
        let queued = self.targets.iter().map(|target| target.frontier.counts().queued).collect();
        Ok((self.moved, queued))
    }
}

fn sum(mut one: Totals, other: Totals) -> Totals {
    one.add(&other);
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::init::beginning;
    use crate::frontier::Marks;
    use crate::post::Place;
    use crate::store::MemoryStore;

    const KEY: FingerprintKey = FingerprintKey::new([7; 16]);

    fn store() -> AnyStore {
        let store = MemoryStore::default();
        store.commit(beginning("crawl", KEY, Timestamp::UNIX_EPOCH, String::new())).unwrap();
        Arc::new(store)
    }

    fn about() -> About<'static> {
        let delay = std::time::Duration::from_secs(1);
        About { key: KEY, delay, from: "a test", head: "", runs: None, now: Timestamp::UNIX_EPOCH }
    }

    fn send(store: &AnyStore, number: u64, letter: &Letter) {
        let key = Place { part: 0, of: 2 }.letter_key(1, 1, number);
        store.commit(vec![Write::put(Tree::Meta, key, postcard::to_allocvec(letter).unwrap())]).unwrap();
    }

    fn link(url: &str) -> SentLink {
        SentLink { url: url.to_owned(), depth: 3, redirects: 1, marks: Marks::default() }
    }

    #[test]
    fn what_partitions_wrote_to_each_other_is_queued_once() {
        let (one, other) = (store(), store());
        let links = vec![link("http://a.test/x"), link("http://b.test/y"), link("http://a.test/x")];
        send(&one, 0, &Letter::Links { from: "http://c.test/".to_owned(), links });
        let links = vec![link("http://a.test/x")];
        send(&other, 1, &Letter::Links { from: "http://d.test/".to_owned(), links });
        send(&other, 2, &Letter::Scope(vec!["http://a.test/".to_owned()]));
        let moved_seed = MovedSeed {
            v: 1,
            seed: "http://d.test/".to_owned(),
            to: "http://b.test/y".to_owned(),
            same_site: false,
            inside: false,
            passed: false,
        };
        send(&other, 3, &Letter::Moved { from: 7, record: moved_seed.write().unwrap() });
        let target = store();
        let (moved, queued) = transfer(&[one, other], vec![Arc::clone(&target)], about()).unwrap();
        assert_eq!((moved.queued, queued), (2, vec![2]));
        let waiting: Vec<_> = stored_queue(&target).unwrap().map(|url| url.unwrap()).collect();
        let urls: Vec<_> =
            waiting.iter().map(|item| item.url.url(&item.host.host).unwrap().to_string()).collect();
        assert_eq!(urls, ["http://a.test/x", "http://b.test/y"]);
        assert!(waiting.iter().all(|item| (item.url.depth, item.url.redirects) == (3, 1)));
        let from = Source::new(&target).url_of(waiting[0].url.via.unwrap()).unwrap();
        assert_eq!(from.as_deref(), Some("http://c.test/"));
        let scope = target.get(Tree::Meta, SCOPE_ADDED).unwrap().unwrap();
        let scope = read_scope_added(&scope).unwrap();
        assert_eq!(scope.iter().map(CrawlUrl::to_string).collect::<Vec<_>>(), ["http://a.test/"]);
        let records: Vec<_> = moved_seeds(&target).map(|moved| moved.unwrap().1).collect();
        assert_eq!(records, [moved_seed]);
    }

    /// Hosts, each with a URL that was visited and some that wait.
    const HOSTS: u32 = 700;

    fn url(host: u32, path: &str) -> CrawlUrl {
        CrawlUrl::parse(&format!("http://host{host}.test/{path}")).unwrap()
    }

    /// A crawl with more hosts than are in memory at a time, so that some are in blocks, some in records, and some in the journal.
    fn many_hosts() -> AnyStore {
        let store = Arc::new(store());
        let limits = FrontierLimits { hosts_in_memory: 64, ..FrontierLimits::default() };
        let now = Now { mono: std::time::Duration::ZERO, wall: Timestamp::UNIX_EPOCH };
        let gap = Delay { length: std::time::Duration::from_secs(1), why: DelayReason::Configured };
        let mut frontier = Frontier::open(&store, limits, gap, KEY, now).unwrap();
        for host in 0..HOSTS {
            let id = frontier.host_id(&format!("host{host}.test")).unwrap();
            let visited = url(host, "visited").fingerprint(&KEY);
            assert!(frontier.know(id, visited).unwrap());
            let via = Some(Via { host: id, page: visited });
            for path in 0..70 {
                let waits = url(host, &path.to_string());
                let item = QueuedUrl::link(&waits, path, via);
                let priority = item.priority();
                frontier.admit(id, waits.fingerprint(&KEY), item, priority, true).unwrap();
            }
            if host.is_multiple_of(50) {
                let (generation, writes) = frontier.cut(now).unwrap();
                store.commit(writes).unwrap();
                frontier.committed(generation);
            }
        }
        let (_, writes) = frontier.cut(now).unwrap();
        store.commit(writes).unwrap();
        Arc::clone(&*store)
    }

    /// URLs that wait, with their depths and the hosts of the pages that they were found on.
    fn waiting(store: &AnyStore) -> Vec<(String, u32, Option<String>)> {
        let names: HashMap<_, _> = stored_hosts(store)
            .unwrap()
            .map(|host| host.map(|(id, record)| (id, record.host)).unwrap())
            .collect();
        let read = stored_queue(store).unwrap().map(|item| {
            let item = item.unwrap();
            let via = item.url.via.and_then(|via| names.get(&via.host).cloned());
            (item.url.url(&item.host.host).unwrap().to_string(), item.url.depth, via)
        });
        let mut all: Vec<_> = read.collect();
        all.sort();
        all
    }

    #[test]
    fn hosts_that_are_not_in_memory_are_moved_with_queues_and_what_was_seen() {
        let source = many_hosts();
        let before = waiting(&source);
        assert_eq!(before.len(), HOSTS as usize * 70);
        let parts: Vec<AnyStore> = (0..4).map(|_| store()).collect();
        let (moved, queued) = transfer(&[source], parts.clone(), about()).unwrap();
        assert_eq!((moved.hosts, moved.queued), (u64::from(HOSTS), before.len() as u64));
        assert!(queued.iter().sum::<u64>() == moved.queued && queued.iter().all(|part| *part > 0));
        let back = store();
        let (moved, _) = transfer(&parts, vec![Arc::clone(&back)], about()).unwrap();
        assert_eq!((moved.hosts, moved.queued), (u64::from(HOSTS), before.len() as u64));
        assert_eq!(before, waiting(&back));
        let now = Now { mono: std::time::Duration::ZERO, wall: Timestamp::UNIX_EPOCH };
        let gap = Delay { length: std::time::Duration::from_secs(1), why: DelayReason::Configured };
        let back = Arc::new(back);
        let mut frontier = Frontier::open(&back, FrontierLimits::default(), gap, KEY, now).unwrap();
        for host in 0..HOSTS {
            let id = frontier.find(&format!("host{host}.test")).unwrap();
            for path in ["visited", "0", "69"] {
                assert!(frontier.is_seen(id, url(host, path).fingerprint(&KEY)).unwrap(), "{host} {path}");
            }
        }
    }

    #[test]
    fn a_crawl_whose_lost_pages_are_being_queued_is_not_moved() {
        let source = store();
        send(&source, 0, &Letter::Lost { workers: vec![1], next: 0 });
        let refused = transfer(&[source], vec![store()], about());
        assert!(matches!(refused, Err(TransferError::Losing)));
    }

    #[test]
    fn requests_that_are_not_known_yet_are_entered_first_and_those_that_never_will_be_stay_so() {
        let source = store();
        let died = DeadOwner {
            v: 1,
            worker: 3,
            part: 9,
            run: 5,
            entries: 70,
            until: Timestamp::UNIX_EPOCH,
            lost: false,
        };
        source.commit(vec![Write::put(Tree::Meta, died.key(), serde_json::to_vec(&died).unwrap())]).unwrap();
        let target = store();
        transfer(&[source], vec![Arc::clone(&target)], about()).unwrap();
        let moved = DeadOwner::all(&target).unwrap();
        assert_eq!(moved, [DeadOwner { worker: 0, lost: true, ..died }]);

        let source = store();
        send(&source, 0, &Letter::InFlight { worker: 3, intents: Vec::new() });
        let refused = transfer(&[source], vec![store()], about());
        assert!(matches!(refused, Err(TransferError::Entering)));
    }
}
