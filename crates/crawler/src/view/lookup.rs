//! Finds a page's URL and a host's name by the numbers in other records. Caches the last ones.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::open::{View, ViewError};
use crate::page_store::{self, PageNumbers, UrlOfPage};
use crate::record::{LinkRecord, SitemapRecord, link_key, withhold_links};
use crate::store::{Store, Tree};
use hashbrown::HashMap;
use jiff::Timestamp;
use page::ids::{HostId, Via, elsewhere_key};
use page::url::Fingerprint;
use robots::StatusClass;
use serde::Deserialize;

/// Answers that are remembered before those that were remembered before them are forgotten: 8 MB with those.
const REMEMBERED: usize = 32 << 10;

/// Values that are found one by one in the database before the numbers of all pages are read into memory, 8 bytes a page.
const FEW: u32 = 256;

/// The URLs of pages, by host and fingerprint. Several threads may ask.
#[derive(Debug, Default)]
pub(super) struct PageUrls {
    known: Mutex<Known>,
    /// None where there are too many, or they can't be read.
    numbers: OnceLock<Option<PageNumbers>>,
}

/// The last answers.
#[derive(Debug, Default)]
struct Known {
    new: HashMap<(HostId, Fingerprint), Option<String>>,
    /// Those of before.
    old: HashMap<(HostId, Fingerprint), Option<String>>,
    /// Values that were looked for.
    searches: u32,
}

impl PageUrls {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The URL of the page that a link was found on.
    pub(super) fn of(&self, view: &View, via: Option<Via>) -> Result<Option<String>, ViewError> {
        let Some(Via { host, page }) = via else { return Ok(None) };
        let are_many = {
            let mut known = self.known();
            if let Some(url) = known.new.get(&(host, page)).or_else(|| known.old.get(&(host, page))) {
                return Ok(url.clone());
            }
            known.searches = known.searches.saturating_add(1);
            known.searches > FEW
        };
        if host == HostId::ELSEWHERE {
            let url = page_elsewhere(view, page)?;
            self.remember([((host, page), url.clone())]);
            return Ok(url);
        }
        let numbers = if are_many { self.numbers(view) } else { None };
        let beside = urls_beside(view, numbers, host, page)?;
        let own = beside.iter().find(|(at, _)| *at == (host, page));
        let Some((_, url)) = own else {
            let url = stored_sitemap(view, host, page)?;
            self.remember([((host, page), url.clone())]);
            return Ok(url);
        };
        let url = url.clone();
        // The next that are asked for were stored beside it.
        self.remember(beside.into_iter().map(|(page, url)| (page, Some(url))));
        Ok(Some(url))
    }

    fn numbers(&self, view: &View) -> Option<&PageNumbers> {
        // Where they can't be read, the index tells it.
        self.numbers.get_or_init(|| PageNumbers::read(view.store()).ok().flatten()).as_ref()
    }

    fn remember(&self, urls: impl IntoIterator<Item = ((HostId, Fingerprint), Option<String>)>) {
        let mut known = self.known();
        if known.new.len() >= REMEMBERED {
            known.old = std::mem::take(&mut known.new);
        }
        known.new.extend(urls);
    }
}

/// A page and those in the same value, with their URLs; nothing where it isn't stored.
fn urls_beside(
    view: &View,
    numbers: Option<&PageNumbers>,
    host: HostId,
    page: Fingerprint,
) -> Result<Vec<UrlOfPage>, ViewError> {
    if let Some(numbers) = numbers
        && let Some(urls) = numbers.urls_beside(view.store(), host, page)?
    {
        return Ok(urls);
    }
    // What was stored after the numbers were read is in the index alone.
    Ok(page_store::urls_beside(view.store(), host, page)?)
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
