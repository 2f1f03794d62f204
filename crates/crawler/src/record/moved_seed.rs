//! Seeds that redirect to another site: entries in tree `meta`, by the redirecting URL. A cluster has each in all partitions.

use serde::{Deserialize, Serialize};

use super::RecordError;
use crate::store::{Store, StoreError, Tree};
use page::url::{CrawlUrl, Fingerprint};

/// What the keys begin with; the fingerprint of the redirecting URL follows, big-endian.
const PREFIX: &[u8] = b"moved_seed/";

/// Key in tree `meta` of the URLs that a redirect of a seed brought into the scope, in crawls of earlier versions.
pub(crate) const SCOPE_ADDED: &[u8] = b"scope_added";

/// A seed that redirects to another site, or out of the scope that the seeds give the crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedSeed {
    /// Form of this record: 1.
    pub v: u32,
    /// URL of the seed that redirects, as it was queued.
    pub seed: String,
    /// URL that its `Location` names, resolved.
    pub to: String,
    /// Both are of one site: they differ in scheme, in `www.`, or within the registrable domain. The scope follows such a move.
    pub same_site: bool,
    /// The target belonged to the crawl without this redirect.
    pub inside: bool,
    /// The target redirects as well; another record has where that leads.
    #[serde(default)]
    pub passed: bool,
}

impl MovedSeed {
    /// The key for the redirecting URL.
    pub(crate) fn key(from: Fingerprint) -> Vec<u8> {
        [PREFIX, &from.0.to_be_bytes()].concat()
    }

    /// Whether this is the key of such a record.
    pub(crate) fn is_key(key: &[u8]) -> bool {
        key.starts_with(PREFIX)
    }

    /// Reads a record as [`write`](Self::write) stores it.
    pub(crate) fn read(value: &[u8]) -> Result<Self, RecordError> {
        Ok(serde_json::from_slice(value)?)
    }

    /// Returns the record as it is stored: JSON with its version.
    pub(crate) fn write(&self) -> Result<Vec<u8>, RecordError> {
        Ok(serde_json::to_vec(self)?)
    }

    /// The target, if the scope takes it in because of the redirect. `follows`: the scope follows seeds to other sites.
    pub(crate) fn brought_in(&self, follows: bool) -> Option<CrawlUrl> {
        (self.same_site || follows).then(|| CrawlUrl::parse(&self.to).ok()).flatten()
    }
}

/// All records with their keys, in the order of the keys.
pub(crate) fn moved_seeds<S: Store>(
    store: &S,
) -> impl Iterator<Item = Result<(Vec<u8>, MovedSeed), StoreError>> + use<'_, S> {
    store.scan(Tree::Meta, PREFIX).map(|pair| {
        let (key, value) = pair?;
        let unreadable =
            |error: RecordError| StoreError::Unreadable { tree: Tree::Meta.name(), source: error.into() };
        Ok((key, MovedSeed::read(&value).map_err(unreadable)?))
    })
}

/// The stored form of [`SCOPE_ADDED`].
#[derive(Debug, Default, Serialize, Deserialize)]
struct ScopeAdded {
    urls: Vec<String>,
}

/// The URLs of a stored [`SCOPE_ADDED`].
pub(crate) fn read_scope_added(value: &[u8]) -> Result<Vec<CrawlUrl>, RecordError> {
    let added: ScopeAdded = serde_json::from_slice(value)?;
    Ok(added.urls.iter().filter_map(|url| CrawlUrl::parse(url).ok()).collect())
}

/// The value of [`SCOPE_ADDED`] for these URLs.
pub(crate) fn write_scope_added(urls: Vec<String>) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&ScopeAdded { urls })
}

/// The URLs that redirects of seeds bring into the scope. `follows`: the scope follows seeds to other sites.
pub(crate) fn brought_in<S: Store>(store: &S, follows: bool) -> Result<Vec<CrawlUrl>, StoreError> {
    let unreadable =
        |error: RecordError| StoreError::Unreadable { tree: Tree::Meta.name(), source: error.into() };
    let added = store.get(Tree::Meta, SCOPE_ADDED)?;
    let mut urls =
        added.map(|value| read_scope_added(&value)).transpose().map_err(unreadable)?.unwrap_or_default();
    for moved in moved_seeds(store) {
        urls.extend(moved?.1.brought_in(follows));
    }
    Ok(urls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, Write};

    #[test]
    fn what_earlier_versions_brought_into_the_scope_stays_and_other_sites_only_if_they_are_followed() {
        let store = MemoryStore::default();
        let moved = |seed: &str, to: &str, same_site| MovedSeed {
            v: 1,
            seed: seed.to_owned(),
            to: to.to_owned(),
            same_site,
            inside: false,
            passed: false,
        };
        let records = [
            moved("http://a.test/", "http://www.a.test/", true),
            moved("http://b.test/", "http://elsewhere.test/b", false),
        ];
        let mut writes =
            vec![Write::put(Tree::Meta, SCOPE_ADDED, br#"{"urls":["http://old.test/"]}"#.to_vec())];
        for (number, record) in (0..).zip(&records) {
            let key = MovedSeed::key(Fingerprint(number));
            assert!(MovedSeed::is_key(&key));
            writes.push(Write::put(Tree::Meta, key, record.write().unwrap()));
        }
        store.commit(writes).unwrap();
        let urls = |follows| {
            let urls = brought_in(&store, follows).unwrap();
            urls.iter().map(CrawlUrl::to_string).collect::<Vec<_>>()
        };
        assert_eq!(urls(false), ["http://old.test/", "http://www.a.test/"]);
        assert_eq!(urls(true), ["http://old.test/", "http://www.a.test/", "http://elsewhere.test/b"]);
        let read: Vec<_> = moved_seeds(&store).map(|moved| moved.unwrap().1).collect();
        assert_eq!(read, records);
    }
}
