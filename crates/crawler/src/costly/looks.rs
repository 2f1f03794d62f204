//! Which pages are looked at for signs of a kind of site: the first ones of each part of a host.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;

use page::url::CrawlUrl;

/// Pages of one part of a host that are looked at. A kind shows itself on each of its pages.
const PAGES: u8 = 8;

/// Parts of hosts that are remembered, 16 bytes each. Beyond them all counts start over.
const PARTS: usize = 65_536;

/// Counts the pages that were looked at.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// By the hash of host and first folder.
    counted: Mutex<HashMap<u64, u8>>,
    hasher: RandomState,
}

impl Looks {
    /// Whether a page is to be looked at; counts it.
    pub(super) fn take(&self, url: &CrawlUrl) -> bool {
        let key = self.hasher.hash_one((url.host(), first_folder(url.path())));
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= PARTS {
            counted.clear();
        }
        let count = counted.entry(key).or_default();
        *count = count.saturating_add(1);
        *count <= PAGES
    }
}

/// `/a/` of `/a/b`; the root of a path without a folder.
fn first_folder(path: &str) -> &str {
    let end = path.get(1..).and_then(|rest| rest.find('/')).map_or(0, |at| at + 2);
    &path[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pages_of_each_part_of_a_host_are_looked_at() {
        let looks = Looks::default();
        let take = |url: &str| looks.take(&CrawlUrl::parse(url).unwrap());
        let first: Vec<_> = (0..20).filter(|n| take(&format!("http://a.test/wiki/{n}"))).collect();
        assert_eq!(first, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(take("http://a.test/") && take("http://a.test/blog/1") && take("http://b.test/wiki/9"));
        assert_eq!(first_folder("/"), "");
        assert_eq!(first_folder("/a"), "");
        assert_eq!(first_folder("/a/b/c"), "/a/");
    }
}
