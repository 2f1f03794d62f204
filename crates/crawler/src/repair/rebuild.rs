//! Fills the new database, in order; here the ledger and what is stored as it was: robots.txt versions, files of sites, withdrawals.

mod pages;
mod queues;
mod withheld;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::archive::Archive;
use super::salvage::Salvage;
use super::{RepairError, Repaired};
use crate::commit::{Batch, Committer, SettledPage, Totals};
use crate::config::{Record, Settings};
use crate::frontier::{Frontier, FrontierLimits, HostId, Priority, QUEUES, QueuedUrl};
use crate::intents::{self, Intent};
use crate::job::{self, CrawlDir, FORMAT, JobError};
use crate::pace::{Delay, DelayReason};
use crate::record::{
    Decided, Decision, Evidence, ForgetRule, HostKinds, Layer, MovedSeed, OriginTerms, PlainReason,
    RepairRecord, RobotsRecord, RunSettings, SCOPE_ADDED, is_group_address_key, read_scope_added,
};
use crate::scope::Scope;
use crate::store::{AnyStore, SledStore, Store, Tree, Write, shared};
use crate::visit::{PageRules, Rereading};
use page::clock::Now;
use page::url::FingerprintKey;

/// Bytes of one commit, rough.
const AT_ONCE: usize = 2 << 20;

pub(super) struct Rebuild<'a> {
    salvaged: &'a Salvage,
    archive: &'a Archive,
    dir: &'a CrawlDir,
    repaired: &'a mut Repaired,
    store: Arc<AnyStore>,
    committer: Committer<AnyStore>,
    frontier: Frontier<AnyStore>,
    scope: Scope,
    rules: PageRules,
    rereading: Rereading,
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
    /// Requests that were in flight when the crawl was killed; after the ledger was read, those that aren't in it.
    in_flight: Vec<Intent>,
    /// New ids of the old hosts.
    hosts: HashMap<u32, HostId>,
    /// Heads of the queues of hosts whose record could be read.
    heads: HashMap<u32, [u64; QUEUES]>,
}

type Result<T> = std::result::Result<T, RepairError>;

/// Builds the new database under its unfinished name.
#[expect(clippy::too_many_arguments, reason = "what was read, and what is reported")]
pub(super) fn rebuild(
    dir: &CrawlDir,
    salvaged: &Salvage,
    key: FingerprintKey,
    archive: &Archive,
    rereading: Rereading,
    in_flight: Vec<Intent>,
    settings: &Settings,
    record: &Record,
    text: &str,
    now: Timestamp,
    repaired: &mut Repaired,
) -> Result<()> {
    let seeds = record.seed_urls()?;
    let mut scope = job::scope(settings).map_err(JobError::from)?;
    let added = salvaged.get(Tree::Meta, SCOPE_ADDED);
    let added_urls = added.as_deref().and_then(|value| read_scope_added(value).ok()).unwrap_or_default();
    for url in seeds.iter().chain(&added_urls) {
        scope.add_seed(url);
    }
    let store = shared(Arc::new(SledStore::create(&dir.unfinished_db())?));
    let kept =
        |name: &str, or: String| salvaged.get(Tree::Meta, name.as_bytes()).unwrap_or_else(|| or.into_bytes());
    let mut about = vec![
        Write::put(Tree::Meta, "format", FORMAT.to_string()),
        Write::put(Tree::Meta, "crawl_id", kept("crawl_id", uuid::Uuid::new_v4().to_string())),
        Write::put(Tree::Meta, "fingerprint_key", key.bytes()),
        Write::put(Tree::Meta, "started", record.started.to_string()),
        Write::put(Tree::Meta, "settings", text),
    ];
    about.extend(added.map(|value| Write::put(Tree::Meta, SCOPE_ADDED, value)));
    salvaged.each(Tree::Meta, |key, value| {
        let is_kept = RunSettings::is_key(&key) || OriginTerms::is_key(&key) || HostKinds::is_key(&key);
        if is_kept || is_group_address_key(&key) {
            about.push(Write::put(Tree::Meta, key, value));
        } else if let Some(moved) = MovedSeed::is_key(&key).then(|| MovedSeed::read(&value)) {
            if let Ok(moved) = moved {
                if let Some(url) = moved.brought_in(scope.follows_moved_seeds()) {
                    scope.add_seed(&url);
                }
                about.push(Write::put(Tree::Meta, key, value));
            }
        } else if let Some(rule) = key.starts_with(ForgetRule::PREFIX.as_bytes()).then_some(&value) {
            // The next run removes again what was found in damaged files.
            if let Ok(rule) = serde_json::from_slice::<ForgetRule>(rule) {
                let rule = ForgetRule { done: false, ..rule };
                about.push(Write::put(
                    Tree::Meta,
                    key,
                    serde_json::to_vec(&rule).map_err(crate::commit::CommitError::from)?,
                ));
            }
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
        rereading,
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
        in_flight,
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
            for entry in &decisions {
                let Some(request) = &entry.evidence.request else { continue };
                self.requests += 1;
                self.in_flight
                    .retain(|intent| intent.host != entry.host || intent.started() != request.started);
            }
            self.decisions.append(&mut decisions);
            if self.decisions.len() >= 5_000 {
                self.commit()?;
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
        let mut in_flight = std::mem::take(&mut self.in_flight);
        for intent in &mut in_flight {
            let id = self.frontier.host_id(&intent.host)?;
            intent.run = self.totals.runs;
            intent.number = self.frontier.state(id).counts.requests;
        }
        if !in_flight.is_empty() {
            let root = self.dir.root();
            intents::carry_over(&in_flight, root).map_err(|source| RepairError::Copy {
                from: intents::FILE.into(),
                to: root.join(intents::FILE),
                source,
            })?;
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
