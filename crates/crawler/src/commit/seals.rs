//! Digests of what a commit stores, recorded in the ledger with the decisions behind it.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::page_store::Change;
use crate::record::{Decided, Decision, Evidence, Layer, PageRecord, PlainReason, Seal, Stored, StoredKind};

/// The digests of one commit.
#[derive(Debug, Default)]
pub(super) struct Seals {
    /// Of captures, by the page's URL.
    captures: HashMap<String, Seal>,
    stored: Vec<(String, Timestamp, Stored)>,
    others: Vec<(String, Seal)>,
}

impl Seals {
    /// Takes what was appended to the archive for a page.
    pub(super) fn capture(&mut self, url: &str, bytes: &[u8]) {
        self.captures.insert(url.to_owned(), Seal::of(bytes));
    }

    /// Takes what was appended to the archive for a request that wasn't for a page.
    pub(super) fn other(&mut self, url: String, bytes: &[u8]) {
        self.others.push((url, Seal::of(bytes)));
    }

    /// Takes a page as it is stored.
    pub(super) fn page(&mut self, record: &PageRecord, change: &Change) {
        let links = change.links.as_deref().map(Seal::of);
        let archive = self.captures.remove(&record.url);
        let stored = Stored { kind: StoredKind::Page, record: Seal::of(&change.record), links, archive };
        self.stored.push((record.url.clone(), record.fetched_at, stored));
    }

    /// Takes a version of a file of an origin, by key and value.
    pub(super) fn file(
        &mut self,
        kind: StoredKind,
        origin: &str,
        at: Timestamp,
        (key, value): (&[u8], &[u8]),
    ) {
        let stored = Stored { kind, record: Seal::of_value(key, value), links: None, archive: None };
        self.stored.push((origin.to_owned(), at, stored));
    }

    /// Puts each digest into the entry that speaks of the visit, or into one of its own where none does.
    pub(super) fn enter(self, decisions: &mut Vec<Decision>) {
        let mut free: HashMap<(StoredKind, &str), Vec<usize>> = HashMap::new();
        for (index, entry) in decisions.iter().enumerate().rev() {
            let kind = match entry.layer {
                Layer::Fetch if entry.decision == Decided::Fetched => StoredKind::Page,
                Layer::Robots if entry.decision.is_about_robots() => StoredKind::Robots,
                _ => continue,
            };
            free.entry((kind, entry.url.as_str())).or_default().push(index);
        }
        let places: Vec<_> = self
            .stored
            .iter()
            .map(|(url, _, stored)| free.get_mut(&(stored.kind, url.as_str())).and_then(Vec::pop))
            .collect();
        for ((url, at, stored), place) in self.stored.into_iter().zip(places) {
            if let Some(entry) = place.and_then(|place| decisions.get_mut(place)) {
                entry.evidence.stored = Some(Box::new(stored));
            } else {
                decisions.push(changed(url, at, stored));
            }
        }
        enter_others(self.others, decisions);
    }
}

/// Puts the digests of records that belong to no page into the entries about their requests, or into entries of their own.
fn enter_others(others: Vec<(String, Seal)>, decisions: &mut Vec<Decision>) {
    let count = decisions.len();
    for (url, seal) in others {
        let stored = Stored { kind: StoredKind::Archive, record: seal, links: None, archive: Some(seal) };
        let is_it = |entry: &&mut Decision| {
            let has_room = match &entry.evidence.stored {
                None => true,
                Some(stored) => stored.kind != StoredKind::Page && stored.archive.is_none(),
            };
            let is_about = entry.url == url || is_of_robots_txt(entry, &url);
            has_room && is_about && entry.evidence.request.is_some()
        };
        if let Some(entry) = decisions[..count].iter_mut().find(is_it) {
            match &mut entry.evidence.stored {
                Some(stored) => stored.archive = Some(seal),
                none => *none = Some(Box::new(stored)),
            }
        } else {
            let at = decisions.last().map_or(Timestamp::UNIX_EPOCH, |entry| entry.at);
            decisions.push(changed(url, at, stored));
        }
    }
}

/// Whether an entry speaks of the request for this robots.txt: its URL is the origin then.
fn is_of_robots_txt(entry: &Decision, url: &str) -> bool {
    entry.decision.is_about_robots() && url.strip_suffix("/robots.txt") == Some(entry.url.as_str())
}

/// An entry for a record that was changed without a visit.
fn changed(url: String, at: Timestamp, stored: Stored) -> Decision {
    let host = page::url::CrawlUrl::parse(&url).map(|url| url.host().to_owned()).unwrap_or_default();
    let evidence = Evidence { stored: Some(Box::new(stored)), ..Evidence::default() };
    Decision {
        at,
        url,
        host,
        decision: Decided::Stored,
        layer: Layer::Fetch,
        reason: PlainReason::Record.into(),
        evidence,
        via: None,
    }
}
