//! What one page may add to the database: four times the bytes of its response, and 64 KiB. A page of 60 KB can name thousands of URLs of
//! 2,000 characters each, through `<base>`.
//!
//! Everything is counted as it is stored, compressed: the record and the links of the page first, then each URL that is queued for it, then
//! the entries of the ledger about links that are skipped, as long as the total stays within two fifths of the budget. So URLs that are
//! followed never lack space because of evidence, and evidence takes no more on the disk either, where sled needs up to two and a half times the bytes of its
//! values. `docs/limits.md`, "What a page may add".

use page::url::CrawlUrl;

/// Bytes for each byte of the response, headers included, as transferred.
const FOR_EACH_BYTE: usize = 4;

/// Bytes for any response.
const FOR_ANY: usize = 64 * 1024;

/// Bytes that a queued URL takes besides its own text: its fingerprint and its share of the compressed chunk.
const QUEUED: usize = 10;

/// URLs in one compressed chunk: a common prefix is stored once per chunk.
const SHARING: usize = 24;

/// What a host takes that wasn't known.
const HOST: usize = 160;

/// A budget of bytes, and what of it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    most: usize,
    used: usize,
    /// What of that was estimated, from what isn't compressed yet: it is never less than what is stored.
    estimated: usize,
    /// The URL that was queued last.
    last: String,
}

impl Default for Growth {
    /// That of an empty response.
    fn default() -> Self {
        Self::of(0)
    }
}

impl Growth {
    /// Budget of a response of so many bytes, headers included, as transferred.
    pub fn of(bytes: usize) -> Self {
        let most = bytes.saturating_mul(FOR_EACH_BYTE).saturating_add(FOR_ANY);
        Self { most, used: 0, estimated: 0, last: String::new() }
    }

    /// Allows for URLs that a sitemap names, with all their bytes: its limits bound their number and length, and each is a statement of its site.
    pub fn allow_for_urls(&mut self, bytes: usize) {
        self.most = self.most.saturating_add(bytes.saturating_mul(FOR_EACH_BYTE));
    }

    /// The whole of it, in bytes.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Counts bytes that are stored.
    pub fn add(&mut self, bytes: usize) {
        self.used = self.used.saturating_add(bytes);
    }

    /// Counts an upper bound; [`Growth::correct`] replaces it.
    pub fn estimate(&mut self, bytes: usize) {
        self.add(bytes);
        self.estimated = self.estimated.saturating_add(bytes);
    }

    /// Whether a part of what is used was only estimated.
    pub fn is_estimate(&self) -> bool {
        self.estimated > 0
    }

    /// Puts what is stored in the place of the estimate.
    pub fn correct(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(std::mem::take(&mut self.estimated)).saturating_add(bytes);
    }

    /// Bytes that entries about skipped links may still take.
    pub fn left_for_skips(&self) -> usize {
        (self.most / 5 * 2).saturating_sub(self.used)
    }

    /// Counts a URL if it may be queued; false where it may add no more. URLs that begin as the one before share that.
    pub fn may_queue(&mut self, url: &CrawlUrl) -> bool {
        let url = url.as_str();
        let shared = self.last.bytes().zip(url.bytes()).take_while(|(one, other)| one == other).count();
        let bytes = QUEUED + url.len() - shared + shared / SHARING;
        if self.used.saturating_add(bytes) > self.most {
            return false;
        }
        self.used += bytes;
        self.last.clear();
        self.last.push_str(url);
        true
    }

    /// Counts a host that wasn't known; false where it may add no more.
    pub fn may_add_host(&mut self) -> bool {
        let is_left = self.used.saturating_add(HOST) <= self.most;
        self.used += if is_left { HOST } else { 0 };
        is_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_may_add_four_times_its_bytes_and_64_kib_and_entries_two_fifths_of_it() {
        let mut growth = Growth::of(60_000);
        assert_eq!((growth.most(), growth.left_for_skips()), (305_536, 122_214));
        growth.estimate(200_000);
        assert_eq!((growth.is_estimate(), growth.left_for_skips()), (true, 0));
        growth.correct(100_000);
        assert_eq!((growth.is_estimate(), growth.left_for_skips()), (false, 22_214));
        growth.add(200_000);
        let url = |name: &str| CrawlUrl::parse(&format!("http://a.test/{name}")).unwrap();
        let queued = (0..10_000).take_while(|n| growth.may_queue(&url(&format!("{n:05}")))).count();
        assert!((200..500).contains(&queued), "{queued} in the 5,536 bytes that remain");
        assert!(!growth.may_add_host());
        assert_eq!(Growth::of(usize::MAX).most(), usize::MAX);
    }

    #[test]
    fn what_urls_begin_with_counts_once_for_those_of_a_value() {
        let long = "x".repeat(1_900);
        let mut growth = Growth::of(60_000);
        let url = |n: usize| CrawlUrl::parse(&format!("http://a.test/{long}/{n:04}")).unwrap();
        let queued = (0..9_000).filter(|n| growth.may_queue(&url(*n))).count();
        assert!((3_000..3_500).contains(&queued), "{queued}");
        let mut growth = Growth::of(60_000);
        let other = |n: usize| CrawlUrl::parse(&format!("http://a.test/{n:04}/{long}")).unwrap();
        let queued = (0..9_000).filter(|n| growth.may_queue(&other(*n))).count();
        assert!((150..170).contains(&queued), "{queued}");
    }
}
