//! At which IP address a host was asked last, in a crawl that has the hosts of one address take turns.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::store::{Store, StoreError, Tree};

/// What the keys in tree `meta` begin with; the host follows. The value is the address as text.
const PREFIX: &[u8] = b"group_address/";

/// The key of a host's address in tree `meta`.
pub(crate) fn group_address_key(host: &str) -> Vec<u8> {
    [PREFIX, host.as_bytes()].concat()
}

/// Whether this is such a key.
pub(crate) fn is_group_address_key(key: &[u8]) -> bool {
    key.starts_with(PREFIX)
}

/// The addresses by host.
pub(crate) fn group_addresses<S: Store>(store: &S) -> Result<BTreeMap<String, IpAddr>, StoreError> {
    let mut addresses = BTreeMap::new();
    for pair in store.scan(Tree::Meta, PREFIX) {
        let (key, value) = pair?;
        let host = String::from_utf8_lossy(key.get(PREFIX.len()..).unwrap_or_default()).into_owned();
        if let Ok(address) = String::from_utf8_lossy(&value).parse() {
            addresses.insert(host, address);
        }
    }
    Ok(addresses)
}
