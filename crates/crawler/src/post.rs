//! Which partition of a cluster's crawl a host belongs to, and the letters that partitions write to each other.
//!
//! All hosts of one registrable domain are in one partition, so that budgets per domain stay exact. A letter is a key of the tree `meta` that begins
//! with [`MAIL`]: the writer puts it there with its own commit, and the reader removes it with the commit of what it did about it. The
//! store of a partition ([`PgStore`](crate::cluster)) has them brought to the partition that they are for, several of them under one key.

mod forgotten_file;
mod hop;
mod object;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::forgotten_file::ForgottenFile;
pub use self::hop::{Came, HopAnswer, HopRequest};
pub use self::object::{STORED_OBJECT, StoredObject, stored_object_key};
use crate::frontier::Marks;
use crate::intents::Intent;
use crate::live::Steered;
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

/// The name of a partition's archive files, of one owner: `w3p017f5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Series {
    /// The number of the worker.
    pub worker: i64,
    /// The number of the partition.
    pub part: u32,
    /// The partition's fence since the worker owns it.
    pub fence: i64,
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "w{}p{:03}f{}", self.worker, self.part, self.fence)
    }
}

impl Series {
    /// Reads a name; none for what isn't one.
    pub fn read(name: &str) -> Option<Self> {
        let (worker, rest) = name.strip_prefix('w')?.split_once('p')?;
        let (part, fence) = rest.split_once('f')?;
        Some(Self { worker: worker.parse().ok()?, part: part.parse().ok()?, fence: fence.parse().ok()? })
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
            let mut urls = Vec::new();
            for letter in letters(&text) {
                match letter.map_err(unreadable)? {
                    Letter::Links { links, .. } => urls.extend(links.into_iter().map(|link| link.url)),
                    Letter::Scope(_)
                    | Letter::Sitemap(_)
                    | Letter::Lost { .. }
                    | Letter::Again(_)
                    | Letter::Hop(_)
                    | Letter::HopAnswer(_)
                    | Letter::Steer(_)
                    | Letter::Moved { .. }
                    | Letter::InFlight { .. } => {}
                }
            }
            Ok(urls)
        });
        let (urls, error) = match read {
            Ok(urls) => (urls, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        urls.into_iter().map(Ok).chain(error.map(Err))
    })
}

/// Reads the letters of one key, which follow one another. Ends with the first that can't be read.
pub(crate) fn letters(mut text: &[u8]) -> impl Iterator<Item = Result<Letter, postcard::Error>> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let read = postcard::take_from_bytes(text);
        text = read.as_ref().map_or(&[], |(_, rest)| *rest);
        Some(read.map(|(letter, _)| letter))
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
    /// URLs that a redirect from a seed brought into the scope. Earlier versions wrote it.
    Scope(Vec<String>),
    /// A sitemap on a host of the partition: its record, as stored.
    Sitemap(Vec<u8>),
    /// The archives of these workers are lost.
    Lost {
        /// Their numbers.
        workers: Vec<i64>,
        /// The number of the first page that hasn't been looked at.
        next: u64,
    },
    /// Pages of the partition whose bodies were found to be lost, to be queued again.
    Again(Vec<String>),
    /// A hop of a robots.txt's redirects that a host of the partition is to be asked for.
    Hop(HopRequest),
    /// What came of such a hop.
    HopAnswer(HopAnswer),
    /// What a user changed while the crawl runs.
    Steer(SteerOrder),
    /// Where a seed redirects to.
    Moved {
        /// The fingerprint of the redirecting URL.
        from: u64,
        /// The record, as stored.
        record: Vec<u8>,
    },
    /// What a worker that died had in flight to hosts of the partition, as far as it didn't know it to be on record.
    InFlight {
        /// The number that it had.
        worker: i64,
        /// Its requests.
        intents: Vec<Intent>,
    },
}

/// An order of `crawl cluster pause`, `continue` or `set`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteerOrder {
    /// The host; none is all of them.
    pub host: Option<String>,
    /// What changes.
    pub change: Steered,
    /// The user's id, on the machine where it was given.
    pub user: u32,
}

/// The orders of users that a partition hasn't carried out. Cost: all letters for it are read.
pub(crate) fn orders_under_way<S: Store>(store: &S, part: u32) -> Result<Vec<SteerOrder>, StoreError> {
    let own = [MAIL, &part.to_be_bytes()].concat();
    let mut orders = Vec::new();
    for pair in store.scan(Tree::Meta, MAIL) {
        let (key, text) = pair?;
        if !key.starts_with(&own) {
            continue;
        }
        // One that can't be read is reported where it is carried out.
        let read = letters(&text).map_while(Result::ok);
        orders.extend(read.filter_map(|letter| match letter {
            Letter::Steer(order) => Some(order),
            _ => None,
        }));
    }
    Ok(orders)
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
    fn orders_for_a_partition_are_found_among_all_letters() {
        let store = crate::store::MemoryStore::default();
        let order = |host: &str| SteerOrder { host: Some(host.to_owned()), change: Steered::Pause, user: 7 };
        let letters =
            [Letter::Steer(order("a.test")), Letter::Scope(Vec::new()), Letter::Steer(order("b.test"))];
        let text: Vec<u8> =
            letters.iter().flat_map(|letter| postcard::to_allocvec(letter).unwrap()).collect();
        let place = Place { part: 9, of: 16 };
        let other = postcard::to_allocvec(&Letter::Steer(order("c.test"))).unwrap();
        store
            .commit(vec![
                crate::store::Write::put(Tree::Meta, place.letter_key(3, 1, 1), text),
                crate::store::Write::put(Tree::Meta, place.letter_key(4, 1, 2), other),
            ])
            .unwrap();
        assert_eq!(orders_under_way(&store, 3).unwrap(), [order("a.test"), order("b.test")]);
        assert_eq!(orders_under_way(&store, 5).unwrap(), []);
    }

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
    fn the_name_of_a_series_says_whose_files_these_are() {
        let series = Series { worker: 3, part: 17, fence: 5 };
        assert_eq!(series.to_string(), "w3p017f5");
        assert_eq!(Series::read("w3p017f5"), Some(series));
        assert_eq!(Series::read("w30p1024f12"), Some(Series { worker: 30, part: 1024, fence: 12 }));
        for other in ["", "w3", "w3p017", "3p017f5", "wxp017f5", "w3p017f5x"] {
            assert_eq!(Series::read(other), None, "{other}");
        }
    }

    #[test]
    fn letters_that_follow_one_another_are_read_in_order() {
        let all = [
            Letter::Scope(vec!["http://a.example/".to_owned()]),
            Letter::Sitemap(vec![1, 2, 3]),
            Letter::Links { from: "http://b.example/".to_owned(), links: Vec::new() },
        ];
        let text: Vec<u8> = all.iter().flat_map(|letter| postcard::to_allocvec(letter).unwrap()).collect();
        let read: Result<Vec<Letter>, _> = letters(&text).collect();
        assert_eq!(read.unwrap(), all);
        assert_eq!(letters(&[]).count(), 0);
        // One that ends early is an error, and ends them.
        let cut: Vec<_> = letters(&text[..text.len() - 1]).collect();
        assert_eq!((cut.len(), cut.iter().filter(|letter| letter.is_err()).count()), (3, 1));
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
