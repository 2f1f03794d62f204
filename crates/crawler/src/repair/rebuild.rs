//! Fills the new database: pages with their links, what is queued, what hosts asked for, robots.txt versions, the ledger.

mod withheld;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use robots::StatusClass;

use super::archive::Archive;
use super::salvage::Salvage;
use super::{RepairError, Repaired};
use crate::clock::Now;
use crate::commit::{Batch, Committer, SettledPage, Totals};
use crate::config::{Record, Settings};
use crate::frontier::{
    Frontier, FrontierLimits, HostId, HostRecord, Priority, QueuedUrl, Via, block_hosts, chunk_urls,
    journal_names, journal_urls,
};
use crate::job::{self, CrawlDir, FORMAT, JobError};
use crate::pace::{Delay, DelayReason};
use crate::page_store;
use crate::record::{
    Archived, Decided, Decision, Evidence, Layer, LinkOutcome, LinkRecord, PageRecord, PlainReason,
    RepairRecord, RobotsRecord, RunSettings, withhold_links,
};
use crate::scope::Scope;
use crate::store::{SledStore, Store, Tree, Write};
use crate::url::{CrawlUrl, FingerprintKey};
use crate::visit::{self, PageRules};
use crate::warc;

/// Bytes of one commit, rough.
const AT_ONCE: usize = 2 << 20;

pub(super) struct Rebuild<'a> {
    salvaged: &'a Salvage,
    archive: &'a Archive,
    dir: &'a CrawlDir,
    repaired: &'a mut Repaired,
    store: Arc<SledStore>,
    committer: Committer<SledStore>,
    frontier: Frontier<SledStore>,
    scope: Scope,
    rules: PageRules,
    key: FingerprintKey,
    /// The key is the old one: fingerprints in old records mean what they say.
    key_kept: bool,
    now: Now,
    writes: Vec<Write>,
    settled: Vec<SettledPage>,
    bytes: usize,
    decisions: Vec<Decision>,
    totals: Totals,
    /// Requests in the ledger.
    requests: u64,
    /// New ids of the old hosts.
    hosts: HashMap<u32, HostId>,
    /// Heads of the queues of hosts whose record could be read.
    heads: HashMap<u32, [u64; 3]>,
}

type Result<T> = std::result::Result<T, RepairError>;

/// Builds the new database under its unfinished name.
#[expect(clippy::too_many_arguments, reason = "what was read, and what is reported")]
pub(super) fn rebuild(
    dir: &CrawlDir,
    salvaged: &Salvage,
    key: FingerprintKey,
    archive: &Archive,
    settings: &Settings,
    record: &Record,
    text: &str,
    now: Timestamp,
    repaired: &mut Repaired,
) -> Result<()> {
    let seeds = record.seed_urls()?;
    let mut scope = job::scope(settings).map_err(JobError::from)?;
    let added = salvaged.get(Tree::Meta, b"scope_added");
    let added_urls = added.as_deref().map(crate::engine::scope_added).unwrap_or_default();
    for url in seeds.iter().chain(&added_urls) {
        scope.add_seed(url);
    }
    let store = Arc::new(SledStore::create(&dir.unfinished_db())?);
    let kept =
        |name: &str, or: String| salvaged.get(Tree::Meta, name.as_bytes()).unwrap_or_else(|| or.into_bytes());
    let mut about = vec![
        Write::put(Tree::Meta, "format", FORMAT.to_string()),
        Write::put(Tree::Meta, "crawl_id", kept("crawl_id", uuid::Uuid::new_v4().to_string())),
        Write::put(Tree::Meta, "fingerprint_key", key.0.to_vec()),
        Write::put(Tree::Meta, "started", record.started.to_string()),
        Write::put(Tree::Meta, "settings", text),
    ];
    about.extend(added.map(|value| Write::put(Tree::Meta, "scope_added", value)));
    salvaged.each(Tree::Meta, |key, value| {
        if RunSettings::is_key(&key) {
            about.push(Write::put(Tree::Meta, key, value));
        }
        Ok::<(), RepairError>(())
    })?;
    store.commit(about)?;
    let at = Now { mono: Duration::ZERO, wall: now };
    let first_gap = Delay { length: settings.pace.delay, why: DelayReason::Configured };
    let frontier = Frontier::open_now(&store, FrontierLimits::default(), first_gap, key, at)?;
    let selectors = job::selectors(settings).map_err(JobError::from)?;
    let mut rebuild = Rebuild {
        committer: Committer::open(Arc::clone(&store), None)?,
        rules: PageRules { archive: false, index: false, ..job::page_rules(settings, selectors, key) },
        key_kept: salvaged.get(Tree::Meta, b"fingerprint_key").is_some(),
        salvaged,
        archive,
        dir,
        repaired,
        store,
        frontier,
        scope,
        key,
        now: at,
        writes: Vec::new(),
        settled: Vec::new(),
        bytes: 0,
        decisions: Vec::new(),
        totals: Totals::default(),
        requests: 0,
        hosts: HashMap::new(),
        heads: HashMap::new(),
    };
    rebuild.ledger()?;
    rebuild.hosts()?;
    let again = rebuild.pages()?;
    rebuild.pages_of_the_archive()?;
    for url in &seeds {
        rebuild.admit(QueuedUrl::seed(url), url, Priority::First)?;
    }
    rebuild.queues()?;
    for (url, item) in again {
        rebuild.admit(item, &url, Priority::First)?;
    }
    rebuild.links()?;
    rebuild.rest()?;
    rebuild.finish()
}

impl Rebuild<'_> {
    fn put(&mut self, write: Write) -> Result<()> {
        self.bytes += write.key.len() + write.value.as_ref().map_or(0, Vec::len);
        self.writes.push(write);
        self.commit_in_time()
    }

    fn commit_in_time(&mut self) -> Result<()> {
        if self.bytes + self.frontier.pending_bytes() > AT_ONCE { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<()> {
        let (generation, mut writes) = self.frontier.cut(self.now)?;
        writes.append(&mut self.writes);
        self.bytes = 0;
        let decisions = std::mem::take(&mut self.decisions);
        let pages = std::mem::take(&mut self.settled);
        let totals = self.totals;
        self.committer.commit(Batch { generation, writes, pages, decisions, totals, ..Batch::default() })?;
        self.frontier.committed(generation);
        Ok(())
    }

    fn torn(&mut self, tree: Tree, whole: bool) {
        if !whole {
            self.repaired.torn.push(tree.name());
        }
    }

    /// Enters the decisions that can be read; the numbers and the chain start over.
    fn ledger(&mut self) -> Result<()> {
        let mut runs: Vec<(Vec<u8>, Vec<Decision>)> = Vec::new();
        let mut whole = true;
        let read = self.salvaged.each(Tree::Ledger, |key, value| -> Result<()> {
            match crate::ledger::read(&value) {
                Ok(block) => runs.push((key, block.decisions)),
                Err(_) => whole = false,
            }
            Ok(())
        })?;
        self.torn(Tree::Ledger, whole && read);
        runs.sort_by(|a, b| a.0.cmp(&b.0));
        for (_, mut decisions) in runs {
            self.repaired.decisions += decisions.len() as u64;
            self.requests += decisions.iter().filter(|entry| entry.evidence.request.is_some()).count() as u64;
            self.decisions.append(&mut decisions);
            if self.decisions.len() >= 5_000 {
                self.commit()?;
            }
        }
        self.commit()
    }

    /// Returns the known hosts their new ids, with what they asked for. Their names are in three trees.
    fn hosts(&mut self) -> Result<()> {
        let mut names: std::collections::BTreeMap<u32, String> = std::collections::BTreeMap::new();
        let mut records: HashMap<u32, HostRecord> = HashMap::new();
        let id = |key: &[u8]| key.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes));
        let whole = self.salvaged.each(Tree::Hosts, |key, value| -> Result<()> {
            if let (Some(id), Ok(record)) = (id(&key), serde_json::from_slice::<HostRecord>(&value)) {
                names.insert(id, record.host.clone());
                records.insert(id, record);
            }
            Ok(())
        })?;
        self.torn(Tree::Hosts, whole);
        let whole = self.salvaged.each(Tree::IdleHosts, |_, value| -> Result<()> {
            for (id, record, _) in block_hosts(&value) {
                // A record of the host's own is newer.
                names.entry(id.0).or_insert_with(|| record.host.clone());
                records.entry(id.0).or_insert(record);
            }
            Ok(())
        })?;
        self.torn(Tree::IdleHosts, whole);
        self.salvaged.each(Tree::Journal, |_, value| -> Result<()> {
            for (id, name) in journal_names(&value) {
                names.entry(id.0).or_insert(name);
            }
            Ok(())
        })?;
        for (old, name) in names {
            let new = self.frontier.host_id(&name)?;
            self.hosts.insert(old, new);
            if let Some(record) = records.get(&old) {
                self.frontier.take_over(new, record, self.now);
                self.heads.insert(old, record.queues.map(|ends| ends.head));
            }
        }
        self.commit()
    }

    fn via(&self, via: Option<Via>) -> Option<Via> {
        let via = via.filter(|_| self.key_kept)?;
        Some(Via { host: *self.hosts.get(&via.host.0)?, page: via.page })
    }

    /// Keeps the page records that can be read, with their links; gives the pages that have to be asked for again.
    fn pages(&mut self) -> Result<Vec<(CrawlUrl, QueuedUrl)>> {
        let mut again = Vec::new();
        let salvaged = self.salvaged;
        let whole = salvaged.pages(|mut record, links| {
            let Ok(url) = CrawlUrl::parse(&record.url) else { return Ok(()) };
            record.via = self.via(record.via);
            let before = record.warc.is_some();
            record.warc = record.warc.filter(|place| self.archive.holds(place));
            record.earlier.retain(|place| self.archive.holds(place));
            if before && record.warc.is_none() {
                record.archived = false;
                self.repaired.bodies_lost += 1;
            }
            if record.is_withheld() {
                record.withhold();
            }
            let links = if record.lists_links() { links } else { Some(Vec::new()) };
            let Some(mut links) = links.or_else(|| self.links_again(&url, &record)) else {
                again.push((url.clone(), QueuedUrl::link(&url, record.depth, record.via)));
                self.repaired.pages_again += 1;
                return Ok(());
            };
            if record.is_withheld() {
                withhold_links(&mut links);
            }
            self.repaired.pages += 1;
            self.keep(&url, record, links)
        })?;
        self.torn(Tree::Pages, whole);
        self.commit()?;
        Ok(again)
    }

    fn links_again(&self, url: &CrawlUrl, record: &PageRecord) -> Option<Vec<LinkRecord>> {
        let place = record.warc.as_ref()?;
        Some(self.reread(url, place)?.1)
    }

    /// Reads an archived response as its visit did.
    fn reread(&self, url: &CrawlUrl, place: &Archived) -> Option<(PageRecord, Vec<LinkRecord>)> {
        let location =
            warc::Location { file: place.file.clone(), offset: place.offset, length: place.length };
        let response = warc::read(&self.dir.warc(), &location).ok()?;
        let visited = visit::reread(&self.rules, url, &response, None)?;
        let links = visited.links.iter().map(|link| {
            link.record(match (&link.target, link.skip) {
                (_, Some(skip)) => skip,
                (Ok((url, _)), None) => self.scope.judge(url, 0).unwrap_or(LinkOutcome::Seen),
                (Err(_), None) => LinkOutcome::NotHttp,
            })
        });
        let links = if visited.record.lists_links() { links.collect() } else { Vec::new() };
        Some((visited.record, links))
    }

    fn keep(&mut self, url: &CrawlUrl, record: PageRecord, links: Vec<LinkRecord>) -> Result<()> {
        let host = self.frontier.host_id(url.host())?;
        let page = url.fingerprint(&self.key);
        if !self.frontier.know(host, page)? {
            return Ok(());
        }
        match record.status.map(StatusClass::of) {
            Some(StatusClass::Success) => self.totals.pages += 1,
            Some(class) if class.leads_elsewhere() => self.totals.redirects += 1,
            _ => self.totals.failed += 1,
        }
        self.totals.indexed += u64::from(record.indexed);
        self.totals.archived += u64::from(record.archived);
        self.totals.requests += 1;
        self.totals.bytes += record.wire_bytes;
        if let Some(date) = record.unavailable_after.filter(|_| record.holds_content()) {
            self.put(Write::put(Tree::Due, crate::record::due_key(date, host, page), Vec::new()))?;
        }
        self.bytes += 1024 + links.iter().map(|link| 64 + link.to.len() + link.text.len()).sum::<usize>();
        self.settled.push(SettledPage {
            host,
            page,
            record,
            links,
            keeps_links: false,
            blanks_links: false,
            warc: None,
            text: None,
        });
        self.commit_in_time()
    }

    /// Reads the responses again whose page record is lost.
    fn pages_of_the_archive(&mut self) -> Result<()> {
        for (page, place) in self.archive.places() {
            let location =
                warc::Location { file: place.file.clone(), offset: place.offset, length: place.length };
            let Ok(response) = warc::read(&self.dir.warc(), &location) else { continue };
            let Some(Ok(url)) = response.field("WARC-Target-URI").map(CrawlUrl::parse) else { continue };
            let host = self.frontier.host_id(url.host())?;
            if self.frontier.is_seen(host, page)? {
                continue;
            }
            let Some((mut record, links)) = self.reread(&url, &place) else { continue };
            if !self.buried(&url, &place, &record)? {
                record.warc = Some(place);
                record.archived = true;
            }
            self.repaired.pages_from_archive += 1;
            self.keep(&url, record, links)?;
        }
        self.commit()
    }

    fn admit(&mut self, item: QueuedUrl, url: &CrawlUrl, priority: Priority) -> Result<()> {
        if self.scope.judge(url, item.depth).is_some() {
            return Ok(());
        }
        let host = self.frontier.host_id(url.host())?;
        self.frontier.admit(host, url.fingerprint(&self.key), item, priority, true)?;
        if self.frontier.pending_bytes() > AT_ONCE { self.commit() } else { Ok(()) }
    }

    /// Queues what is in the queues and in the journal, from the heads on where these are known.
    fn queues(&mut self) -> Result<()> {
        let salvaged = self.salvaged;
        let whole = salvaged.each(Tree::Queue, |key, value| {
            let (Some(host), Some(queue)) = (key.first_chunk::<4>(), key.get(4)) else { return Ok(()) };
            let Some((first, urls)) = chunk_urls(&value) else { return Ok(()) };
            self.queue(u32::from_be_bytes(*host), *queue, first, urls)
        })?;
        self.torn(Tree::Queue, whole);
        let whole = salvaged.each(Tree::Journal, |_, value| -> Result<()> {
            for (host, queue, first, urls) in journal_urls(&value).unwrap_or_default() {
                self.queue(host.0, queue, first, urls)?;
            }
            Ok(())
        })?;
        self.torn(Tree::Journal, whole);
        self.commit()
    }

    fn queue(&mut self, host: u32, queue: u8, first: u64, urls: Vec<QueuedUrl>) -> Result<()> {
        let Some(id) = self.hosts.get(&host).copied() else { return Ok(()) };
        let name = self.frontier.name(id).to_owned();
        let head =
            self.heads.get(&host).and_then(|heads| heads.get(usize::from(queue))).copied().unwrap_or(0);
        let priority = if queue == 0 { Priority::First } else { Priority::Link };
        for (position, mut item) in (first..).zip(urls) {
            if position < head {
                continue;
            }
            if let Ok(url) = item.url(&name) {
                item.via = self.via(item.via);
                self.admit(item, &url, priority)?;
            }
        }
        Ok(())
    }

    /// Queues the targets of all links that were to be followed, as far as they weren't visited.
    fn links(&mut self) -> Result<()> {
        let store = Arc::clone(&self.store);
        for page in page_store::scan_with_links(&store) {
            let page = page?;
            let Ok(record) = page.record() else { continue };
            let via = Some(Via { host: page.host, page: page.page });
            if let Some(url) = withheld::unlisted_redirect(&record) {
                self.admit(QueuedUrl::link(&url, record.depth, via), &url, Priority::First)?;
            }
            for link in page.links().unwrap_or_default() {
                if link.outcome.is_skip() {
                    continue;
                }
                let Ok(url) = CrawlUrl::parse(&link.to) else { continue };
                let redirect = link.kind == "redirect";
                let depth = if redirect { record.depth } else { record.depth.saturating_add(1) };
                let priority = if redirect { Priority::First } else { Priority::Link };
                self.admit(QueuedUrl::link(&url, depth, via), &url, priority)?;
            }
        }
        self.commit()
    }

    /// robots.txt versions, files of sites, withdrawals: each kept if it can be read.
    fn rest(&mut self) -> Result<()> {
        let salvaged = self.salvaged;
        for tree in [Tree::Robots, Tree::SiteFiles, Tree::Withdrawn] {
            let whole = salvaged.each(tree, |key, value| {
                if tree == Tree::Robots {
                    if RobotsRecord::read(&value).is_err() {
                        return Ok(());
                    }
                    self.repaired.robots += 1;
                }
                self.put(Write::put(tree, key, value))
            })?;
            self.torn(tree, whole);
        }
        let whole = salvaged.each(Tree::Sitemaps, |key, value| {
            // What still waits is asked for again; without its host it is found again.
            let host = key.first_chunk::<4>().and_then(|host| self.hosts.get(&u32::from_be_bytes(*host)));
            match (host, key.get(4..)) {
                (Some(host), Some(page)) if self.key_kept => {
                    let key = [&host.key(), page].concat();
                    self.put(Write::put(Tree::Sitemaps, key, value))
                }
                _ => Ok(()),
            }
        })?;
        self.torn(Tree::Sitemaps, whole);
        self.commit()
    }

    fn finish(mut self) -> Result<()> {
        let salvaged = salvaged_totals(self.salvaged);
        self.repaired.pages_lost = self.salvaged.pages_counted().map(|counted| {
            let found = self.repaired.pages + self.repaired.pages_from_archive + self.repaired.pages_again;
            counted.saturating_sub(found)
        });
        // The counters that follow from the records are counted again; the others continue.
        self.totals = Totals {
            requests: salvaged.requests.max(self.totals.requests),
            skipped: salvaged.skipped,
            bytes: salvaged.bytes.max(self.totals.bytes),
            runs: salvaged.runs.max(1),
            ..self.totals
        };
        if let Some((file, offset)) = &self.archive.end {
            let end = serde_json::json!({"file": file, "offset": offset}).to_string();
            self.put(Write::put(Tree::Meta, "warc_end", end))?;
        }
        let record = RepairRecord {
            v: 1,
            at: self.now.wall,
            requests_lost: self.totals.requests.saturating_sub(self.requests),
        };
        let record = record.write().map_err(crate::commit::CommitError::from)?;
        self.put(Write::put(Tree::Meta, RepairRecord::KEY, record))?;
        self.repaired.queued = self.frontier.counts().queued;
        let Repaired { pages, pages_from_archive, pages_again, .. } = *self.repaired;
        let evidence = format!(
            "{pages} pages kept, {pages_from_archive} read again from the archive, {pages_again} queued again; database {}",
            self.repaired.database
        );
        self.decisions.push(Decision {
            at: self.now.wall,
            url: String::new(),
            host: String::new(),
            decision: Decided::Repaired,
            layer: Layer::Stop,
            reason: PlainReason::Repair.into(),
            evidence: Evidence::from(evidence),
            via: None,
        });
        self.commit()
    }
}

fn salvaged_totals(salvaged: &Salvage) -> Totals {
    let value = salvaged.get(Tree::Meta, b"totals").unwrap_or_default();
    serde_json::from_slice(&value).unwrap_or_default()
}
