//! The URLs of the pages that others were found on: each entry of the ledger names one.

use lru::LruCache;

use crate::frontier::Via;
use crate::page_store;
use crate::store::{Store, StoreError};

/// After so many look-ups without them, the pages beside one are taken again, to see whether they help now.
const ALONE: u32 = 16;

/// One look-up, as savings are counted. Taking the pages beside one costs about as much, so it has to save one.
const LOOK_UP: u32 = 256;

/// URLs that are remembered; the least recently used one goes. A look-up takes the pages stored beside the one wanted as well, as long as that
/// saves others: in a crawl from link to link they are wanted soon, at the end of one, or with other orders, hardly ever.
pub(super) struct UrlsOfPages {
    remembered: LruCache<Via, Remembered>,
    /// How many are remembered at most. Space is taken as they come: a worker may have thousands of partitions.
    most: usize,
    /// What taking the pages beside one saved, on average of the last times, each look-up as [`LOOK_UP`].
    saved: u32,
    /// Look-ups that were saved since the last time.
    saves: u32,
    /// Look-ups without the pages beside, since then.
    alone: u32,
}

struct Remembered {
    url: Box<str>,
    /// It was stored beside one that was looked up, and nobody has asked for it.
    is_beside: bool,
}

impl UrlsOfPages {
    pub(super) fn new(most: usize) -> Self {
        Self { remembered: LruCache::unbounded(), most, saved: 8 * LOOK_UP, saves: 0, alone: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.remembered.len()
    }

    /// Remembers so many at most from now on.
    pub(super) fn keep(&mut self, most: usize) {
        self.most = most;
        while self.remembered.len() > most {
            self.remembered.pop_lru();
        }
    }

    /// The URL of a page, if it is remembered.
    pub(super) fn get(&mut self, page: Via) -> Option<&str> {
        let found = self.remembered.get_mut(&page)?;
        self.saves += u32::from(std::mem::take(&mut found.is_beside));
        Some(&found.url)
    }

    pub(super) fn remember(&mut self, page: Via, url: &str) {
        self.put(page, url.into(), false);
    }

    /// Looks a page up in the store, and remembers it; none where it isn't stored.
    pub(super) fn look_up<S: Store>(&mut self, store: &S, page: Via) -> Result<Option<String>, StoreError> {
        if !self.takes_those_beside() {
            let url = page_store::url_of_page(store, page.host, page.page)?;
            if let Some(url) = &url {
                self.remember(page, url);
            }
            return Ok(url);
        }
        let mut wanted = None;
        for ((host, other), url) in page_store::urls_beside(store, page.host, page.page)? {
            let other = Via { host, page: other };
            if other == page {
                wanted = Some(url.clone());
            }
            self.put(other, url.into(), other != page);
        }
        Ok(wanted)
    }

    /// Whether a look-up takes the pages beside it.
    fn takes_those_beside(&mut self) -> bool {
        if self.saved < LOOK_UP && self.alone < ALONE {
            self.alone += 1;
            return false;
        }
        self.saved = self.saved - self.saved / 8 + std::mem::take(&mut self.saves).min(32) * LOOK_UP / 8;
        self.alone = 0;
        true
    }

    fn put(&mut self, page: Via, url: Box<str>, is_beside: bool) {
        self.remembered.put(page, Remembered { url, is_beside });
        if self.remembered.len() > self.most {
            self.remembered.pop_lru();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::HostId;
    use page::url::Fingerprint;

    fn page(number: u64) -> Via {
        Via { host: HostId(1), page: Fingerprint(number) }
    }

    /// Takes so many look-ups, each with this many pages beside it that are asked for later. Gives how many took those.
    fn taken(urls: &mut UrlsOfPages, look_ups: u64, asked: u64) -> u64 {
        let mut taken = 0;
        for _ in 0..look_ups {
            if urls.takes_those_beside() {
                taken += 1;
                for number in 0..31 {
                    urls.put(page(number), "http://a.test/".into(), true);
                }
                for number in 0..asked {
                    assert!(urls.get(page(number)).is_some());
                    assert!(urls.get(page(number)).is_some(), "a second time it saves nothing more");
                }
            }
        }
        taken
    }

    #[test]
    fn those_beside_are_taken_as_long_as_they_are_wanted() {
        let mut urls = UrlsOfPages::new(64);
        assert_eq!(taken(&mut urls, 1000, 31), 1000);
        assert_eq!(taken(&mut urls, 1000, 2), 1000);
        assert!(taken(&mut urls, 1000, 0) < 100);
        assert!((1000 / 17..1000 / 17 + 2).contains(&taken(&mut urls, 1000, 0)), "now and then one tries");
        let again = taken(&mut urls, 1000, 20);
        assert!(again > 900, "{again}: wanted again, they are taken again");
    }
}
