//! `crawl forget`: takes the content of some URLs out of a crawl that isn't running, and keeps them out.
//!
//! The rule is committed first, not done. Then records, captures, everything else that the archive has of these URLs, and documents
//! of the full-text index go; each step is the same however often it is done. Then the rule is done, and the database's free
//! space is cleared. Whatever interrupts this, the next `crawl forget` or `crawl resume` finishes it.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::{CrawlDir, JobError, scrub};
#[cfg(feature = "search")]
use crate::causes::with_causes;
use crate::cdxj;
use crate::commit::{Batch, CommitError, Committer, SettledPage, Totals};
use crate::forgotten::{Forgotten, forget_rules};
use crate::frontier::HostId;
use crate::pace::DelayReason;
use crate::page_store;
use crate::record::{Archived, Decided, Decision, Forget, ForgetRule, Layer, PlainReason, Withdrawal};
use crate::store::{AnyStore, SledStore, Store, Tree, Write, shared};
use crate::url::{CrawlUrl, Fingerprint};
use crate::view::host_of;
use crate::warc::{self, Original, Position, Reader, Record};

/// Pages, or records of the archive, of one commit.
const AT_ONCE: usize = 256;

/// Pages with a removed body that are named; the others are counted.
const NAMED: usize = 20;

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// Page records that lost their content.
    pub pages: u64,
    /// Records of the archive that became tombstones.
    pub records: u64,
    /// Pages of other URLs whose body was stored with a removed one, and went with it.
    pub shared: u64,
    /// The first 20 of them.
    pub shared_urls: Vec<String>,
}

/// Removes what the crawl in `root` has of some URLs, and keeps them from being fetched again.
///
/// Cost: one pass over page records and archive, a commit for 256 of what is removed, and a copy of the database, which needs its space
/// again. Memory: about 100 bytes per removed page.
///
/// # Errors
/// [`JobError::Dir`] where another process uses the directory, or it has no crawl; whatever else fails can be done again.
pub fn forget(root: &Path, forget: Forget, reason: &str, now: Timestamp) -> Result<Removed, JobError> {
    let dir = CrawlDir::open(root)?;
    if dir.is_unfinished() {
        return Err(JobError::Unfinished(root.to_owned()));
    }
    let store = shared(Arc::new(SledStore::open(&dir.db())?));
    enter(&store, forget, reason, now)?;
    let removed = finish(&dir, &store)?;
    drop(store);
    scrub::after_run(&dir)?;
    Ok(removed)
}

/// Commits the rule. One that is there already is carried out again.
fn enter(store: &Arc<AnyStore>, forget: Forget, reason: &str, now: Timestamp) -> Result<(), JobError> {
    let rules = forget_rules(&**store)?;
    let known = rules.iter().find(|(_, rule)| rule.forget == forget);
    let (number, rule) = if let Some((number, rule)) = known {
        (*number, ForgetRule { done: false, ..rule.clone() })
    } else {
        let rule = ForgetRule { v: 1, forget, at: now, reason: reason.to_owned(), done: false };
        (rules.last().map_or(0, |(number, _)| number + 1), rule)
    };
    let host = match &rule.forget {
        Forget::Host(host) => host.clone(),
        Forget::Url(url) => CrawlUrl::parse(url).map(|url| url.host().to_owned()).unwrap_or_default(),
        Forget::Regex(_) => String::new(),
    };
    let decision = Decision {
        at: now,
        url: rule.forget.text().to_owned(),
        host,
        decision: Decided::Forgotten,
        layer: Layer::Stop,
        reason: DelayReason::Operator.into(),
        evidence: rule.because().into(),
        via: None,
    };
    let mut batch = batch(&**store)?;
    batch.decisions.extend(known.is_none().then_some(decision));
    batch.removes.push(write(number, &rule)?);
    Committer::open(Arc::clone(store), None)?.commit(batch)?;
    Ok(())
}

fn write(number: u64, rule: &ForgetRule) -> Result<Write, CommitError> {
    Ok(Write::put(Tree::Meta, ForgetRule::key(number), serde_json::to_vec(rule)?))
}

/// An empty batch, with the counters as they are.
fn batch<S: Store>(store: &S) -> Result<Batch, CommitError> {
    let totals = match store.get(Tree::Meta, b"totals")? {
        Some(value) => serde_json::from_slice(&value)?,
        None => Totals::default(),
    };
    Ok(Batch { totals, ..Batch::default() })
}

/// Carries out the rules that aren't done, up to the clearing of free space, which is due then.
pub(super) fn finish(dir: &CrawlDir, store: &Arc<AnyStore>) -> Result<Removed, JobError> {
    let rules: Vec<_> = forget_rules(&**store)?.into_iter().filter(|(_, rule)| !rule.done).collect();
    if rules.is_empty() {
        return Ok(Removed::default());
    }
    let mut work = Work::new(dir, Arc::clone(store), &rules)?;
    work.pages()?;
    work.archive()?;
    work.payloads()?;
    work.index()?;
    // Written again at the next end of a run where this fails.
    cdxj::update(&dir.warc(), &[], None).map_err(|error| JobError::Cdxj(Box::new(error)))?;
    let mut batch = batch(&**store)?;
    batch.scrub = true;
    for (number, rule) in &rules {
        batch.removes.push(write(*number, &ForgetRule { done: true, ..rule.clone() })?);
    }
    work.committer.commit(batch)?;
    Ok(work.removed)
}

/// What is never fetched again.
pub(super) fn forgotten<S: Store>(store: &S) -> Result<Forgotten, JobError> {
    Forgotten::new(forget_rules(store)?.iter().map(|(_, rule)| rule)).map_err(JobError::Forget)
}

/// The rules that are carried out.
struct Work<'a> {
    dir: &'a CrawlDir,
    store: Arc<AnyStore>,
    committer: Committer<AnyStore>,
    forgotten: Forgotten,
    rules: Vec<(Forgotten, &'a ForgetRule)>,
    urls: Vec<String>,
    removed: Removed,
}

impl<'a> Work<'a> {
    fn new(
        dir: &'a CrawlDir,
        store: Arc<AnyStore>,
        rules: &'a [(u64, ForgetRule)],
    ) -> Result<Self, JobError> {
        // What a killed run appended and didn't commit may be about these URLs, too.
        let end = store.get(Tree::Meta, b"warc_end")?;
        let end: Option<Position> =
            end.map(|value| serde_json::from_slice(&value)).transpose().map_err(CommitError::from)?;
        if let Some(end) = &end {
            warc::repair(&dir.warc(), Some(end)).map_err(CommitError::from)?;
        }
        let committer = Committer::open(Arc::clone(&store), None)?.with_archive_dir(&dir.warc())?;
        let each = rules.iter().map(|(_, rule)| Ok((Forgotten::new(std::iter::once(rule))?, rule)));
        let rules_apart = each.collect::<Result<Vec<_>, regex::Error>>().map_err(JobError::Forget)?;
        let forgotten = Forgotten::new(rules.iter().map(|(_, rule)| rule)).map_err(JobError::Forget)?;
        let removed = Removed::default();
        Ok(Self { dir, store, committer, forgotten, rules: rules_apart, urls: Vec::new(), removed })
    }

    /// The rule that is about a URL.
    fn rule_of(&self, url: &str) -> Option<&'a ForgetRule> {
        if !self.forgotten.has(url) {
            return None;
        }
        self.rules.iter().find(|(forgotten, _)| forgotten.has(url)).map(|(_, rule)| *rule)
    }

    /// Takes the content out of page records, their links and captures.
    fn pages(&mut self) -> Result<(), JobError> {
        let mut found: Vec<(HostId, Fingerprint)> = Vec::new();
        let store = Arc::clone(&self.store);
        for page in page_store::scan(&*store) {
            let page = page?;
            let record = page.record()?;
            if self.rule_of(&record.url).is_some() {
                self.urls.push(record.url);
                found.push((page.host, page.page));
            }
        }
        for some in found.chunks(AT_ONCE) {
            let mut batch = batch(&*store)?;
            batch.scrub = true;
            for (host, page) in some {
                self.page(*host, *page, &mut batch)?;
            }
            self.committer.commit(batch)?;
        }
        Ok(())
    }

    fn page(&mut self, host: HostId, page: Fingerprint, batch: &mut Batch) -> Result<(), JobError> {
        let Some(mut record) = page_store::record_of(&*self.store, host, page)? else { return Ok(()) };
        let Some(rule) = self.rule_of(&record.url) else { return Ok(()) };
        if record.forgotten {
            return Ok(());
        }
        let (url, because) = (record.url.clone(), rule.because());
        let captures = record.forget(rule.at, &because);
        batch.decisions.push(Decision {
            at: rule.at,
            url: url.clone(),
            host: host_of(&url).to_owned(),
            decision: Decided::Withdrawn,
            layer: Layer::Stop,
            reason: PlainReason::Content.into(),
            evidence: because.clone().into(),
            via: None,
        });
        let of_capture = |place| Withdrawal::new(&url, place, rule.at, &because);
        batch.withdrawals.extend(captures.into_iter().map(of_capture));
        self.removed.pages += 1;
        batch.pages.push(SettledPage {
            host,
            page,
            record,
            links: Vec::new(),
            keeps_links: false,
            blanks_links: true,
            warc: None,
            discovery: None,
            text: None,
        });
        Ok(())
    }

    /// Overwrites whatever else the archive has of these URLs: requests, `metadata`, `revisit` records, sitemaps. robots.txt and
    /// consent files stay: they are the evidence for what the crawl did.
    fn archive(&mut self) -> Result<(), JobError> {
        for (_, path) in warc::files(&self.dir.warc()).map_err(CommitError::from)? {
            let mut withdrawals = Vec::new();
            for record in Reader::open(&path).map_err(CommitError::from)? {
                let record = record.map_err(CommitError::from)?;
                withdrawals.extend(self.judge(&path, &record));
                if withdrawals.len() >= AT_ONCE {
                    self.withdraw(std::mem::take(&mut withdrawals))?;
                }
            }
            self.withdraw(withdrawals)?;
        }
        Ok(())
    }

    fn judge(&mut self, path: &Path, record: &Record) -> Option<Withdrawal> {
        let url = record.field("WARC-Target-URI")?;
        let Some(rule) = self.rule_of(url) else {
            let shared = record.field("WARC-Refers-To-Target-URI").filter(|url| self.rule_of(url).is_some());
            if shared.is_some() {
                self.removed.shared += 1;
                if self.removed.shared_urls.len() < NAMED {
                    self.removed.shared_urls.push(url.to_owned());
                }
            }
            return None;
        };
        if record.is_evidence() {
            return None;
        }
        if record.is_tombstone() {
            self.removed.records += 1;
            return None;
        }
        let file = path.file_name()?.to_string_lossy().into_owned();
        let place = Archived { file, offset: record.offset, length: record.length };
        self.removed.records += 1;
        Some(Withdrawal::new(url, place, rule.at, &rule.because()))
    }

    fn withdraw(&mut self, withdrawals: Vec<Withdrawal>) -> Result<(), JobError> {
        if !withdrawals.is_empty() {
            let batch = batch(&*self.store)?;
            self.committer.commit(Batch { withdrawals, ..batch })?;
        }
        Ok(())
    }

    /// Removes the places of bodies that are stored once.
    fn payloads(&mut self) -> Result<(), JobError> {
        let mut removes = Vec::new();
        for pair in self.store.scan(Tree::Payloads, &[]) {
            let (key, value) = pair?;
            let original: Original = serde_json::from_slice(&value).map_err(CommitError::from)?;
            if self.rule_of(&original.url).is_some() {
                removes.push(Write::remove(Tree::Payloads, key));
            }
        }
        if !removes.is_empty() {
            let batch = batch(&*self.store)?;
            self.committer.commit(Batch { removes, ..batch })?;
        }
        Ok(())
    }

    #[cfg(feature = "search")]
    fn index(&self) -> Result<(), JobError> {
        let urls = self.urls.iter().map(String::as_str);
        if let Err(error) = crate::search::forget(self.dir.root(), &*self.store, urls) {
            // A whole index can be built again; one that still has the words of these pages is worse than none.
            super::index::remove(self.dir.root())?;
            tracing::warn!(
                "{}; the full-text index was removed: `crawl index {}` builds it again",
                with_causes(&error),
                self.dir.root().display()
            );
        }
        Ok(())
    }

    /// This build can't take a page out of the index.
    #[cfg(not(feature = "search"))]
    fn index(&self) -> Result<(), JobError> {
        tracing::debug!(pages = self.urls.len(), "the full-text index is removed");
        super::index::remove(self.dir.root())
    }
}
