//! Finds hosts by their names.

use std::collections::HashMap;

use crate::frontier::stored_hosts;
use crate::store::{Store, StoreError};
use page::ids::HostId;
use page::url::{CrawlUrl, FingerprintKey};

/// The ids of hosts by their names, read at the first question. Memory: about 20 bytes a host.
#[derive(Debug, Default)]
pub(super) struct HostIds(Option<HashMap<u64, HostId>>);

impl HostIds {
    /// The id of a URL's host; none for a host that the crawl doesn't know.
    pub(super) fn of<S: Store>(
        &mut self,
        store: &S,
        key: &FingerprintKey,
        url: &CrawlUrl,
    ) -> Result<Option<HostId>, StoreError> {
        self.named(store, key, url.host())
    }

    /// The id of a host by its name.
    pub(super) fn named<S: Store>(
        &mut self,
        store: &S,
        key: &FingerprintKey,
        name: &str,
    ) -> Result<Option<HostId>, StoreError> {
        if let Some(ids) = &self.0 {
            return Ok(ids.get(&key.hash(name)).copied());
        }
        let mut ids = HashMap::new();
        for host in stored_hosts(store)? {
            let (id, record) = host?;
            ids.insert(key.hash(&record.host), id);
        }
        let ids = self.0.insert(ids);
        Ok(ids.get(&key.hash(name)).copied())
    }
}
