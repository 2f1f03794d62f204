//! Finds a page's URL and a host's name by the numbers in other records. Caches the last ones.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::open::{View, ViewError};
use crate::ids::{HostId, Via, elsewhere_key};
use crate::page_store;
use crate::record::{LinkRecord, SitemapRecord, link_key, withhold_links};
use crate::store::{Store, Tree};
use crate::url::Fingerprint;
use hashbrown::HashMap;
use jiff::Timestamp;
use robots::StatusClass;
use serde::Deserialize;

/// Answers that are remembered before those that were remembered before them are forgotten.
const REMEMBERED: usize = 8192;

/// The URLs of pages, by host and fingerprint. Several threads may ask.
#[derive(Debug, Default)]
pub(super) struct PageUrls(Mutex<Known>);

/// The last answers.
#[derive(Debug, Default)]
struct Known {
    new: HashMap<(HostId, Fingerprint), Option<String>>,
    /// Those of before.
    old: HashMap<(HostId, Fingerprint), Option<String>>,
    /// The number of the page behind the last value that was read.
    next: u64,
}

impl PageUrls {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The URL of the page that a link was found on.
    pub(super) fn of(&self, view: &View, via: Option<Via>) -> Result<Option<String>, ViewError> {
        let Some(Via { host, page }) = via else { return Ok(None) };
        let next = {
            let known = self.known();
            if let Some(url) = known.new.get(&(host, page)).or_else(|| known.old.get(&(host, page))) {
                return Ok(url.clone());
            }
            known.next
        };
        if host == HostId::ELSEWHERE {
            let url = page_elsewhere(view, page)?;
            self.remember([((host, page), url.clone())]);
            return Ok(url);
        }
        // Pages are stored in about the order in which those were that led to them.
        let found = match page_store::find_in_value(view.store(), next, host, page)? {
            Some(found) => Some(found),
            None => page_store::find_with_others(view.store(), host, page)?,
        };
        let Some((first, entries, place)) = found else {
            let url = stored_sitemap(view, host, page)?;
            self.remember([((host, page), url.clone())]);
            return Ok(url);
        };
        // The next that are asked for were stored beside it.
        let mut urls = Vec::with_capacity(entries.len());
        for entry in &entries {
            urls.push(((entry.host, entry.page), Some(entry.url()?)));
        }
        let url = urls[place].1.clone();
        let behind = first + urls.len() as u64;
        self.remember(urls);
        let mut known = self.known();
        known.next = known.next.max(behind);
        drop(known);
        Ok(url)
    }

    fn remember(&self, urls: impl IntoIterator<Item = ((HostId, Fingerprint), Option<String>)>) {
        let mut known = self.known();
        if known.new.len() >= REMEMBERED {
            known.old = std::mem::take(&mut known.new);
        }
        known.new.extend(urls);
    }
}

/// The part of a page record that says whether there was an answer, and whether it may be shown.
#[derive(Debug, Deserialize)]
pub(super) struct PageUrl {
    pub(super) url: String,
    pub(super) status: Option<u16>,
    #[serde(default)]
    unavailable_after: Option<Timestamp>,
    #[serde(default)]
    indexed: bool,
    #[serde(default)]
    followed: bool,
    #[serde(default)]
    withheld: bool,
}

impl PageUrl {
    /// True if nothing that tells of the content may be shown at this time.
    pub(super) fn is_withheld(&self, now: Timestamp) -> bool {
        let is_success = self.status.is_some_and(|status| StatusClass::of(status).is_success());
        self.withheld || !self.indexed && is_success || self.unavailable_after.is_some_and(|date| date <= now)
    }

    /// Its links as they may be shown at this time.
    pub(super) fn shown_links(&self, mut links: Vec<LinkRecord>, now: Timestamp) -> Vec<LinkRecord> {
        if self.is_withheld(now) {
            if !self.followed {
                return Vec::new();
            }
            withhold_links(&mut links);
        }
        links
    }
}

/// The URL of a page of another partition of a cluster's crawl.
pub(super) fn page_elsewhere(view: &View, page: Fingerprint) -> Result<Option<String>, ViewError> {
    let url = view.store().get(Tree::Meta, &elsewhere_key(page))?;
    Ok(url.and_then(|url| String::from_utf8(url).ok()))
}

/// The URL of a sitemap, by the key that a page would have.
pub(super) fn stored_sitemap(
    view: &View,
    host: HostId,
    page: Fingerprint,
) -> Result<Option<String>, ViewError> {
    let Some(value) = view.store().get(Tree::Sitemaps, &link_key(host, page))? else { return Ok(None) };
    let record = SitemapRecord::read(&value).map_err(ViewError::packed(Tree::Sitemaps))?;
    Ok(Some(record.url))
}
