//! Table `skipped`: what was found and left out for good, each URL once, with the reason that counts.

use std::collections::HashMap;

use jiff::Timestamp;

use super::cell::Moment;
use super::ledger::decisions;
use super::lookup::{HostIds, PageUrls, stored_page};
use super::open::{View, ViewError};
use super::row::row;
use crate::frontier::{FingerprintSet, StoredQueue, StoredUrl, stored_queue};
use crate::record::{Decision, Layer, link_key};
use crate::store::{Store, Tree};
use crate::url::{CrawlUrl, Fingerprint};

row! {
    /// A URL that was left out.
    SkippedRow {
        /// The URL, or the reference as written where it is none.
        url: String,
        /// Why: one word of a fixed vocabulary.
        reason: String,
        /// The line, tag, limit or figure that said so.
        detail: Option<String>,
        /// The page that it was found on, where that is known.
        via: Option<String>,
        /// When that was decided; null if the host was left alone and the ledger doesn't say when.
        at: Option<Moment>,
        /// Who decided.
        layer: &'static str,
        /// The host; empty where the URL has none.
        host: String,
    }
}

impl<S: Store> View<S> {
    /// The rows of table `skipped`: the ledger from its end, then the URLs of hosts that are left alone. Sitemaps that were refused are
    /// among them.
    ///
    /// A link that wasn't followed doesn't count where the same URL was visited or waits by another way. A URL that was
    /// denied or failed without an answer counts for that, whatever its later links say. Memory: 8 octets for each URL
    /// told, denied or queued, and for each commit.
    pub fn skipped(&self) -> Result<impl Iterator<Item = Result<SkippedRow, ViewError>> + '_, ViewError> {
        let mut pass = Pass {
            view: self,
            ids: HostIds::default(),
            told: FingerprintSet::default(),
            ends: FingerprintSet::default(),
            queued: self.queued_fingerprints()?,
        };
        let mut blocks = Vec::new();
        let mut parked_at: HashMap<String, Timestamp> = HashMap::new();
        for block in self.decision_blocks() {
            let (first, decisions) = block?;
            blocks.push(first);
            for decision in decisions {
                if is_end(&decision) {
                    let mark = pass.mark(&decision.url);
                    pass.ends.insert(mark);
                } else if decision.decision == "parked" {
                    parked_at.insert(decision.host, decision.at);
                }
            }
        }
        let left = blocks.into_iter().rev().flat_map(move |first| match pass.block(first) {
            Ok(rows) => rows.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        });
        let parked = ParkedUrls {
            view: self,
            queue: stored_queue(self.store())?,
            parked_at,
            urls: PageUrls::default(),
            told: FingerprintSet::default(),
        };
        Ok(left.chain(parked))
    }
}

/// A decision that ends a URL's way, other than those about a link to it.
fn is_end(decision: &Decision) -> bool {
    match decision.decision.as_str() {
        "failed" => true,
        "skipped" => decision.layer == Layer::Robots,
        _ => false,
    }
}

/// The way through the ledger, from its end to its beginning.
struct Pass<'a, S> {
    view: &'a View<S>,
    ids: HostIds,
    /// What has its row already.
    told: FingerprintSet,
    /// What was denied or failed.
    ends: FingerprintSet,
    /// What waits.
    queued: FingerprintSet,
}

impl<S: Store> Pass<'_, S> {
    fn block(&mut self, first: u64) -> Result<Vec<SkippedRow>, ViewError> {
        let key = first.to_be_bytes();
        let Some(value) = self.view.store().get(Tree::Ledger, &key)? else { return Ok(Vec::new()) };
        let (_, decisions) = decisions(&(key.to_vec(), value))?;
        let mut rows = Vec::new();
        for decision in decisions.into_iter().rev() {
            if self.counts(&decision)? {
                rows.push(skipped_row(decision));
            }
        }
        Ok(rows)
    }

    fn counts(&mut self, decision: &Decision) -> Result<bool, ViewError> {
        let is_end = is_end(decision);
        let is_sitemap = decision.decision == "sitemap_refused";
        if !is_end && !is_sitemap && decision.decision != "skipped" {
            return Ok(false);
        }
        let mark = self.mark(&decision.url);
        if !is_end && self.ends.contains(&mark) || !self.told.insert(mark) || self.queued.contains(&mark) {
            return Ok(false);
        }
        let Ok(url) = CrawlUrl::parse(&decision.url) else { return Ok(true) };
        let Some(host) = self.ids.of(self.view, &url)? else { return Ok(true) };
        // Refused from one place, and taken from another.
        if is_sitemap && self.view.store().get(Tree::Sitemaps, &link_key(host, mark))?.is_some() {
            return Ok(false);
        }
        // What was answered is a page; what failed has a record too, but no status.
        let stored = stored_page(self.view, host, mark)?;
        Ok(stored.is_none_or(|page| page.status.is_none() && decision.decision == "failed"))
    }

    /// The URL's fingerprint, or the like of a reference that is no URL.
    fn mark(&self, url: &str) -> Fingerprint {
        if let Ok(url) = CrawlUrl::parse(url) {
            return url.fingerprint(self.view.key());
        }
        let hash = blake3::keyed_hash(&self.view.key().0, url.as_bytes());
        Fingerprint(hash.as_bytes()[..8].iter().fold(0, |sum, octet| sum << 8 | u64::from(*octet)))
    }
}

fn skipped_row(decision: Decision) -> SkippedRow {
    SkippedRow {
        url: decision.url,
        reason: decision.reason,
        detail: (!decision.evidence.is_empty()).then(|| decision.evidence.to_string()),
        via: decision.via,
        at: Some(Moment(decision.at)),
        layer: decision.layer.as_str(),
        host: decision.host,
    }
}

/// The URLs that wait for hosts that are left alone.
struct ParkedUrls<'a, S> {
    view: &'a View<S>,
    queue: StoredQueue<'a, S>,
    parked_at: HashMap<String, Timestamp>,
    urls: PageUrls,
    told: FingerprintSet,
}

impl<S: Store> ParkedUrls<'_, S> {
    fn row(&mut self, stored: &StoredUrl) -> Result<Option<SkippedRow>, ViewError> {
        let host = &stored.host.host;
        let Some(parked) = &stored.host.parked else { return Ok(None) };
        let url = stored.url.url(host).map_err(|error| ViewError::record(Tree::Queue, &error))?;
        let mark = url.fingerprint(self.view.key());
        // What waits untested may have been visited, or wait twice.
        if !self.told.insert(mark) || stored_page(self.view, stored.id, mark)?.is_some() {
            return Ok(None);
        }
        Ok(Some(SkippedRow {
            url: url.to_string(),
            reason: "parked".to_owned(),
            detail: Some(parked.clone()),
            via: self.urls.of(self.view, stored.url.via)?,
            at: self.parked_at.get(host).copied().map(Moment),
            layer: Layer::Limit.as_str(),
            host: host.clone(),
        }))
    }
}

impl<S: Store> Iterator for ParkedUrls<'_, S> {
    type Item = Result<SkippedRow, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let row = match self.queue.next()? {
                Ok(stored) => self.row(&stored),
                Err(error) => Err(error.into()),
            };
            if let Some(row) = row.transpose() {
                return Some(row);
            }
        }
    }
}
