//! Which partition of a cluster's crawl a host belongs to, and the letters that partitions write to each other.
//!
//! All hosts of one registrable domain are in one partition, so that budgets per domain stay exact. A letter is a key of the tree `meta` that begins
//! with [`MAIL`]: the writer puts it there with its own commit, and the reader removes it with the commit of what it did about it. The
//! store of a partition ([`PgStore`](crate::cluster)) keeps such keys with the partition that they are for.

use serde::{Deserialize, Serialize};

use crate::frontier::Marks;
use crate::scope::domain;
use crate::store::{Store, StoreError, Tree};

/// What the key of a letter begins with. It continues with the numbers of the partition that it is for, of the one that wrote it, of that
/// one's fence, and of the letter: 4, 4, 8 and 8 bytes, big-endian.
pub const MAIL: &[u8] = b"mail/";

/// How many partitions a crawl has, and which of them this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The number of this partition, from 0.
    pub part: u32,
    /// The number of partitions.
    pub of: u32,
}

impl Place {
    /// The partition of a host, where that is another one.
    pub fn elsewhere(self, host: &str) -> Option<u32> {
        Some(partition(host, self.of)).filter(|part| *part != self.part)
    }

    /// All other partitions.
    pub fn others(self) -> impl Iterator<Item = u32> {
        (0..self.of).filter(move |part| *part != self.part)
    }

    /// The key of a letter that this partition writes.
    pub fn letter_key(self, to: u32, fence: u64, number: u64) -> Vec<u8> {
        let mut key = MAIL.to_vec();
        key.extend(to.to_be_bytes());
        key.extend(self.part.to_be_bytes());
        key.extend(fence.to_be_bytes());
        key.extend(number.to_be_bytes());
        key
    }
}

/// The partition of a host, of so many: by BLAKE3 of its registrable domain.
pub fn partition(host: &str, of: u32) -> u32 {
    let hash = blake3::hash(domain(host).as_bytes());
    let first = hash.as_bytes().first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    u32::try_from(first % u64::from(of.max(1))).unwrap_or_default()
}

/// The partition that the key of a letter names, and what follows in the key; none for other keys.
#[cfg(feature = "cluster")]
pub(crate) fn addressee(key: &[u8]) -> Option<(u32, &[u8])> {
    let (part, rest) = key.strip_prefix(MAIL)?.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*part), rest))
}

/// The URLs in letters that are for the crawl in this store, or that it wrote and another hasn't got.
pub(crate) fn links_under_way<S: Store>(
    store: &S,
) -> impl Iterator<Item = Result<String, StoreError>> + use<'_, S> {
    store.scan(Tree::Meta, MAIL).flat_map(|pair| {
        let read = pair.and_then(|(_, text)| {
            let unreadable = |error: postcard::Error| StoreError::Unreadable {
                tree: Tree::Meta.name(),
                source: error.into(),
            };
            match postcard::from_bytes(&text).map_err(unreadable)? {
                Letter::Links { links, .. } => Ok(links.into_iter().map(|link| link.url).collect()),
                Letter::Scope(_) | Letter::Sitemap(_) => Ok(Vec::new()),
            }
        });
        let (urls, error) = match read {
            Ok(urls) => (urls, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        urls.into_iter().map(Ok).chain(error.map(Err))
    })
}

/// A letter; postcard. New variants at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Letter {
    /// Links within the crawl's scope to hosts of the partition.
    Links {
        /// The page or sitemap that they were found on.
        from: String,
        /// The links.
        links: Vec<SentLink>,
    },
    /// URLs that a redirect from a seed brought into the scope.
    Scope(Vec<String>),
    /// A sitemap on a host of the partition: its record, as stored.
    Sitemap(Vec<u8>),
}

/// A link to a host of another partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentLink {
    /// Where to.
    pub url: String,
    /// Links from a seed.
    pub depth: u32,
    /// Redirects that led here, in a row; none for a link of another kind.
    pub redirects: u8,
    /// Whether it is a resource, or what a seed redirects to.
    pub marks: Marks,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_one_registrable_domain_are_in_one_partition_and_domains_are_spread() {
        for of in [1, 7, 256] {
            for hosts in [["example.org", "www.example.org"], ["a.b.example.co.uk", "example.co.uk"]] {
                assert_eq!(partition(hosts[0], of), partition(hosts[1], of), "{hosts:?}");
            }
        }
        let mut counts = [0_u32; 16];
        for n in 0..16_000 {
            counts[partition(&format!("site{n}.example"), 16) as usize] += 1;
        }
        // 1,000 each on average, with a standard deviation of 31.
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
        let place = Place { part: partition("example.org", 16), of: 16 };
        assert_eq!(place.elsewhere("www.example.org"), None);
        assert_eq!(place.others().count(), 15);
    }

    #[test]
    #[cfg(feature = "cluster")]
    fn the_key_of_a_letter_names_its_partition() {
        let key = Place { part: 3, of: 256 }.letter_key(200, 5, 77);
        let (to, rest) = addressee(&key).unwrap();
        assert_eq!((to, rest), (200, &[0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 77][..]));
        assert_eq!(addressee(b"totals"), None);
    }
}
