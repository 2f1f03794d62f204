//! What sites say of licences and prices. It is recorded and gives no permission.
//!
//! Sources: `License` in robots.txt and `rel=license` as Really Simple Licensing 1.0 has them (rslstandard.org), RFC 4946 and RFC 8288 for the
//! `Link` field, `crawler-price` as paid crawls send it with status 402.

use std::collections::BTreeMap;

use robots::StatusClass;
use serde::{Deserialize, Serialize};

use super::RecordError;
use crate::store::{Store, StoreError, Tree};
use page::url::CrawlUrl;

/// What the keys in tree `meta` begin with; the origin follows.
const PREFIX: &[u8] = b"terms/";

/// Licences that are kept of one response.
pub(crate) const LICENSES: usize = 8;

/// The field that names the price of a page.
const PRICE: &str = "crawler-price";

/// The licences and the price that an origin names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginTerms {
    /// Form of this record: 1.
    pub v: u32,
    /// Values of the `License` lines of its robots.txt, the first eight.
    pub license: Vec<String>,
    /// The last price that a response named, of robots.txt or a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment: Option<String>,
}

impl OriginTerms {
    /// The key of an origin's record in tree `meta`.
    pub(crate) fn key(origin: &str) -> Vec<u8> {
        [PREFIX, origin.as_bytes()].concat()
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

/// The terms of each host that names any, those of its origins together.
pub(crate) fn terms_of_hosts<S: Store>(store: &S) -> Result<BTreeMap<String, OriginTerms>, StoreError> {
    let mut hosts: BTreeMap<String, OriginTerms> = BTreeMap::new();
    for pair in store.scan(Tree::Meta, PREFIX) {
        let (key, value) = pair?;
        let unreadable =
            |error: RecordError| StoreError::Unreadable { tree: Tree::Meta.name(), source: error.into() };
        let terms = OriginTerms::read(&value).map_err(unreadable)?;
        let origin = String::from_utf8_lossy(key.get(PREFIX.len()..).unwrap_or_default());
        let Ok(url) = CrawlUrl::parse(&origin) else { continue };
        let host = hosts.entry(url.host().to_owned()).or_default();
        let new = terms.license.into_iter().filter(|url| !host.license.contains(url));
        let new: Vec<String> = new.collect();
        host.license.extend(new);
        host.payment = terms.payment.or(host.payment.take());
    }
    Ok(hosts)
}

/// The price that a response without the page names. `headers`: names in lower case.
pub(crate) fn price<'a>(
    status: u16,
    mut headers: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<&'a str> {
    if !StatusClass::of(status).is_error() {
        return None;
    }
    headers.find(|(name, _)| *name == PRICE).map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, Write};

    #[test]
    fn the_origins_of_a_host_are_taken_together() {
        let store = MemoryStore::default();
        let put = |origin: &str, license: &[&str], payment: Option<&str>| {
            let license = license.iter().map(|&url| url.to_owned()).collect();
            let terms = OriginTerms { v: 1, license, payment: payment.map(str::to_owned) };
            let key = OriginTerms::key(origin);
            assert!(OriginTerms::is_key(&key));
            Write::put(Tree::Meta, key, terms.write().unwrap())
        };
        let writes = vec![
            put("http://a.test", &["https://a.test/l.xml"], Some("USD 0.01")),
            put("https://a.test", &["https://a.test/l.xml", "https://b.test/m.xml"], None),
            put("https://c.test:8443", &[], Some("USD 1")),
        ];
        store.commit(writes).unwrap();
        let hosts = terms_of_hosts(&store).unwrap();
        assert_eq!(hosts.keys().collect::<Vec<_>>(), ["a.test", "c.test"]);
        assert_eq!(hosts["a.test"].license, ["https://a.test/l.xml", "https://b.test/m.xml"]);
        assert_eq!(hosts["a.test"].payment.as_deref(), Some("USD 0.01"));
        assert_eq!((hosts["c.test"].license.len(), hosts["c.test"].payment.as_deref()), (0, Some("USD 1")));
    }

    #[test]
    fn a_price_counts_where_the_page_did_not_come() {
        let said = [("content-type", "text/html"), ("crawler-price", " USD 0.05 ")];
        for (status, expected) in [(402, Some("USD 0.05")), (403, Some("USD 0.05")), (200, None), (304, None)]
        {
            assert_eq!(price(status, said.into_iter()), expected, "{status}");
        }
        assert_eq!(price(402, [("crawler-price", "")].into_iter()), None);
    }
}
