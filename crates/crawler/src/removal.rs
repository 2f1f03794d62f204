//! What `crawl forget` removes, from one database and from archive files, on one machine or in a cluster.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use crate::commit::{Batch, CommitError, Committer, SettledPage, Totals};
use crate::forgotten::Forgotten;
use crate::frontier::HostId;
use crate::pace::DelayReason;
use crate::page_store;
use crate::record::{
    Archived, Decided, Decision, Forget, ForgetRule, Layer, PlainReason, Withdrawal, moved_seeds,
    pdf_was_read,
};
use crate::store::{AnyStore, Store, Tree, Write};
use crate::view::host_of;
use crate::warc::{Original, Reader, Record};
use page::url::{CrawlUrl, Fingerprint};

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

/// Rules that are carried out.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    all: Forgotten,
    each: Vec<(Forgotten, ForgetRule)>,
}

impl Rules {
    /// # Errors
    /// Of the first regular expression that can't be read.
    pub(crate) fn new<'a>(rules: impl Iterator<Item = &'a ForgetRule> + Clone) -> Result<Self, regex::Error> {
        let each = rules.clone().map(|rule| Ok((Forgotten::new(std::iter::once(rule))?, rule.clone())));
        Ok(Self { all: Forgotten::new(rules)?, each: each.collect::<Result<_, regex::Error>>()? })
    }

    /// The rule that is about a URL.
    fn of(&self, url: &str) -> Option<&ForgetRule> {
        if !self.all.has(url) {
            return None;
        }
        self.each.iter().find(|(forgotten, _)| forgotten.has(url)).map(|(_, rule)| rule)
    }
}

/// The host that a rule is about; empty where it is about any.
pub(crate) fn host_of_rule(rule: &ForgetRule) -> String {
    match &rule.forget {
        Forget::Host(host) => host.clone(),
        Forget::Url(url) => CrawlUrl::parse(url).map(|url| url.host().to_owned()).unwrap_or_default(),
        Forget::Regex(_) => String::new(),
    }
}

/// What the ledger says of a rule.
pub(crate) fn decision(rule: &ForgetRule) -> Decision {
    Decision {
        at: rule.at,
        url: rule.forget.text().to_owned(),
        host: host_of_rule(rule),
        decision: Decided::Forgotten,
        layer: Layer::Stop,
        reason: DelayReason::Operator.into(),
        evidence: rule.because().into(),
        via: None,
    }
}

/// The entry of a rule.
pub(crate) fn write(number: u64, rule: &ForgetRule) -> Result<Write, CommitError> {
    Ok(Write::put(Tree::Meta, ForgetRule::key(number), serde_json::to_vec(rule)?))
}

/// An empty batch, with the counters as they are.
pub(crate) fn batch<S: Store>(store: &S) -> Result<Batch, CommitError> {
    let totals = match store.get(Tree::Meta, b"totals")? {
        Some(value) => serde_json::from_slice(&value)?,
        None => Totals::default(),
    };
    Ok(Batch { totals, ..Batch::default() })
}

/// Takes the content out of page records, their links and captures, and commits that. Returns the URLs of these pages, also of
/// those that had none any more. Cost: one pass over the page records, and a commit for 256 of those found; memory: about
/// 100 bytes per page found.
pub(crate) fn remove_pages(
    store: &Arc<AnyStore>,
    committer: &mut Committer<AnyStore>,
    rules: &Rules,
    removed: &mut Removed,
) -> Result<Vec<String>, CommitError> {
    let mut urls = Vec::new();
    let mut found: Vec<(HostId, Fingerprint)> = Vec::new();
    for page in page_store::scan(&**store) {
        let page = page?;
        let record = page.record()?;
        if rules.of(&record.url).is_some() {
            urls.push(record.url);
            found.push((page.host, page.page));
        }
    }
    for some in found.chunks(AT_ONCE) {
        let mut batch = batch(&**store)?;
        batch.scrub = true;
        for (host, page) in some {
            remove_page(store, (*host, *page), rules, &mut batch)?;
        }
        removed.pages += batch.pages.len() as u64;
        committer.commit(batch)?;
    }
    let mut batch = batch(&**store)?;
    for moved in moved_seeds(&**store) {
        let (key, moved) = moved?;
        if rules.of(&moved.seed).is_some() || rules.of(&moved.to).is_some() {
            batch.removes.push(Write::remove(Tree::Meta, key));
        }
    }
    if !batch.removes.is_empty() {
        batch.scrub = true;
        committer.commit(batch)?;
    }
    Ok(urls)
}

fn remove_page(
    store: &Arc<AnyStore>,
    (host, page): (HostId, Fingerprint),
    rules: &Rules,
    batch: &mut Batch,
) -> Result<(), CommitError> {
    let Some(mut record) = page_store::record_of(&**store, host, page)? else { return Ok(()) };
    let Some(rule) = rules.of(&record.url) else { return Ok(()) };
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
    batch.removes.extend(pdf_was_read(&url, None));
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

/// The places of bodies that are stored once, of these URLs.
pub(crate) fn payloads(store: &Arc<AnyStore>, rules: &Rules) -> Result<Vec<Write>, CommitError> {
    let mut removes = Vec::new();
    for pair in store.scan(Tree::Payloads, &[]) {
        let (key, value) = pair?;
        let original: Original = serde_json::from_slice(&value)?;
        if rules.of(&original.url).is_some() {
            removes.push(Write::remove(Tree::Payloads, key));
        }
    }
    Ok(removes)
}

/// Finds whatever an archive file has of these URLs: responses, requests, `metadata`, `revisit` records, sitemaps; and hands it to `each`, 256 at a
/// time. robots.txt and consent files stay: they are the evidence for what the crawl did.
pub(crate) fn judge_file<E: From<CommitError>>(
    path: &Path,
    rules: &Rules,
    removed: &mut Removed,
    mut each: impl FnMut(Vec<Withdrawal>) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |error| E::from(CommitError::from(error));
    let mut withdrawals = Vec::new();
    for record in Reader::open(path).map_err(failed)? {
        withdrawals.extend(judge(path, &record.map_err(failed)?, rules, removed));
        if withdrawals.len() >= AT_ONCE {
            each(std::mem::take(&mut withdrawals))?;
        }
    }
    if withdrawals.is_empty() { Ok(()) } else { each(withdrawals) }
}

fn judge(path: &Path, record: &Record, rules: &Rules, removed: &mut Removed) -> Option<Withdrawal> {
    let url = record.field("WARC-Target-URI")?;
    let Some(rule) = rules.of(url) else {
        let shared = record.field("WARC-Refers-To-Target-URI").filter(|url| rules.of(url).is_some());
        if shared.is_some() {
            removed.shared += 1;
            if removed.shared_urls.len() < NAMED {
                removed.shared_urls.push(url.to_owned());
            }
        }
        return None;
    };
    if record.is_evidence() {
        return None;
    }
    removed.records += 1;
    if record.is_tombstone() {
        return None;
    }
    let file = path.file_name()?.to_string_lossy().into_owned();
    let place = Archived { file, offset: record.offset, length: record.length };
    Some(Withdrawal::new(url, place, rule.at, &rule.because()))
}
