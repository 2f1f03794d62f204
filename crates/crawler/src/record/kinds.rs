//! Which kinds of site a host has, as its pages showed.

use std::collections::BTreeMap;

use ::costly::{Shown, Site};
use serde::{Deserialize, Serialize};

use super::RecordError;
use crate::store::{Store, StoreError, Tree};

/// What the keys in tree `meta` begin with; the host follows.
const PREFIX: &[u8] = b"kinds/";

/// The kinds of site of one host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostKinds {
    /// Form of this record: 1.
    pub v: u32,
    /// The kinds, each with its part of the host.
    pub shown: Vec<Shown>,
}

impl HostKinds {
    /// The record of what a host showed.
    pub(crate) fn of(site: &Site) -> Self {
        Self { v: 1, shown: site.shown().to_vec() }
    }

    /// The same for the judge.
    pub(crate) fn site(self) -> Site {
        let mut site = Site::default();
        site.add(self.shown);
        site
    }

    /// The kinds in words, each with its part of the host where that isn't the whole: `mediawiki`, `wordpress at /blog/`.
    pub(crate) fn words(&self) -> Vec<String> {
        let word = |shown: &Shown| match shown.prefix.as_str() {
            "/" => shown.kind.clone(),
            prefix => format!("{} at {prefix}", shown.kind),
        };
        self.shown.iter().map(word).collect()
    }

    /// The key of a host's record in tree `meta`.
    pub(crate) fn key(host: &str) -> Vec<u8> {
        [PREFIX, host.as_bytes()].concat()
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
}

/// The kinds of each host that showed any.
pub(crate) fn kinds_of_hosts<S: Store>(store: &S) -> Result<BTreeMap<String, HostKinds>, StoreError> {
    let mut hosts = BTreeMap::new();
    for pair in store.scan(Tree::Meta, PREFIX) {
        let (key, value) = pair?;
        let unreadable =
            |error: RecordError| StoreError::Unreadable { tree: Tree::Meta.name(), source: error.into() };
        let host = String::from_utf8_lossy(key.get(PREFIX.len()..).unwrap_or_default()).into_owned();
        hosts.insert(host, HostKinds::read(&value).map_err(unreadable)?);
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, Write};

    #[test]
    fn kinds_are_read_as_they_were_stored() {
        let shown = |kind: &str, prefix: &str| Shown {
            kind: kind.to_owned(),
            prefix: prefix.to_owned(),
            word: Some("Spezial".to_owned()),
        };
        let mut site = Site::default();
        assert!(site.add(vec![shown("mediawiki", "/"), shown("wordpress", "/blog/")]));
        let record = HostKinds::of(&site);
        let store = MemoryStore::default();
        let key = HostKinds::key("a.test");
        assert!(HostKinds::is_key(&key));
        store.commit(vec![Write::put(Tree::Meta, key, record.write().unwrap())]).unwrap();
        let all = kinds_of_hosts(&store).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all["a.test"].clone().site(), site);
        assert_eq!(all["a.test"].words(), ["mediawiki", "wordpress at /blog/"]);
    }
}
