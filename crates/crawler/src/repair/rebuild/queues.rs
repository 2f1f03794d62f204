//! What is queued, and what hosts asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::withheld;
use super::{AT_ONCE, Rebuild, Result};
use crate::frontier::{
    HostRecord, Marks, Priority, QueuedUrl, Via, block_hosts, chunk_urls, journal_names, journal_urls,
};
use crate::page_store;
use crate::store::Tree;
use page::extract::is_resource;
use page::url::CrawlUrl;

impl Rebuild<'_> {
    /// Returns the known hosts their new ids, with what they asked for. Their names are in three trees.
    pub(super) fn hosts(&mut self) -> Result<()> {
        let mut names: BTreeMap<u32, String> = BTreeMap::new();
        let mut records: HashMap<u32, HostRecord> = HashMap::new();
        let id = |key: &[u8]| key.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes));
        let whole = self.salvaged.each(Tree::Hosts, |key, value| -> Result<()> {
            if let (Some(id), Ok(record)) = (id(&key), HostRecord::read(&value)) {
                names.insert(id, record.host.clone());
                records.insert(id, record);
            }
            Ok(())
        })?;
        self.torn(Tree::Hosts, whole);
        let whole = self.salvaged.each(Tree::IdleHosts, |_, value| -> Result<()> {
            for (id, record, _) in block_hosts(&value) {
                // A record of the host's own is newer.
                names.entry(id.0).or_insert_with(|| record.host.clone());
                records.entry(id.0).or_insert(record);
            }
            Ok(())
        })?;
        self.torn(Tree::IdleHosts, whole);
        self.salvaged.each(Tree::Journal, |_, value| -> Result<()> {
            for (id, name) in journal_names(&value) {
                names.entry(id.0).or_insert(name);
            }
            Ok(())
        })?;
        for (old, name) in names {
            let new = self.frontier.host_id(&name)?;
            self.hosts.insert(old, new);
            if let Some(record) = records.get(&old) {
                self.frontier.take_over(new, record, self.now);
                self.heads.insert(old, record.all_queues().map(|ends| ends.head));
            }
        }
        self.commit()
    }

    pub(super) fn admit(&mut self, item: QueuedUrl, url: &CrawlUrl, priority: Priority) -> Result<()> {
        // What was queued as a resource was judged by the host of its page.
        let of = if item.is_resource() { url.host() } else { "" };
        let skip = if of.is_empty() {
            match self.scope.judge(url, item.depth) {
                // Where a seed redirects to is fetched on whatever host it is.
                Some(_) if item.is_seed() && item.redirects > 0 => {
                    self.scope.judge_moved_seed(url, item.depth)
                }
                outcome => outcome,
            }
        } else {
            self.scope.judge_resource(url, of)
        };
        if skip.is_some() {
            return Ok(());
        }
        let host = self.frontier.host_id(url.host())?;
        self.frontier.admit(host, url.fingerprint(&self.key), item, priority, true)?;
        if self.frontier.pending_bytes() > AT_ONCE { self.commit() } else { Ok(()) }
    }

    /// Queues what is in the queues and in the journal, from the heads on where these are known.
    pub(super) fn queues(&mut self) -> Result<()> {
        let salvaged = self.salvaged;
        let whole = salvaged.each(Tree::Queue, |key, value| {
            let (Some(host), Some(queue)) = (key.first_chunk::<4>(), key.get(4)) else { return Ok(()) };
            let Some((first, urls)) = chunk_urls(&value) else { return Ok(()) };
            self.queue(u32::from_be_bytes(*host), *queue, first, urls)
        })?;
        self.torn(Tree::Queue, whole);
        let whole = salvaged.each(Tree::Journal, |_, value| -> Result<()> {
            for (host, queue, first, urls) in journal_urls(&value).unwrap_or_default() {
                self.queue(host.0, queue, first, urls)?;
            }
            Ok(())
        })?;
        self.torn(Tree::Journal, whole);
        self.commit()
    }

    pub(super) fn queue(&mut self, host: u32, queue: u8, first: u64, urls: Vec<QueuedUrl>) -> Result<()> {
        let Some(id) = self.hosts.get(&host).copied() else { return Ok(()) };
        let name = self.frontier.name(id).to_owned();
        let head =
            self.heads.get(&host).and_then(|heads| heads.get(usize::from(queue))).copied().unwrap_or(0);
        for (position, mut item) in (first..).zip(urls) {
            if position < head {
                continue;
            }
            if let Ok(url) = item.url(&name) {
                let priority = match queue {
                    _ if item.is_resource() => Priority::Resource,
                    0 => Priority::First,
                    _ if item.is_costly() => Priority::Costly,
                    _ => Priority::Link,
                };
                item.via = self.via(item.via);
                self.admit(item, &url, priority)?;
            }
        }
        Ok(())
    }

    /// Queues the targets of all links that were to be followed, as far as they weren't visited.
    pub(super) fn links(&mut self) -> Result<()> {
        let store = Arc::clone(&self.store);
        for page in page_store::scan_with_links(&store) {
            let page = page?;
            let Ok(record) = page.record() else { continue };
            let via = Some(Via { host: page.host, page: page.page });
            if let Some(url) = withheld::unlisted_redirect(&record) {
                self.admit(QueuedUrl::link(&url, record.depth, via), &url, Priority::First)?;
            }
            for link in page.links().unwrap_or_default() {
                if link.outcome.is_skip() {
                    continue;
                }
                let Ok(url) = CrawlUrl::parse(&link.to) else { continue };
                let is_page = !is_resource(&link.kind, &link.rel);
                let url = self.rules.costly.normal(&url).filter(|_| is_page).unwrap_or(url);
                let redirect = link.kind == "redirect";
                let depth = if redirect { record.depth } else { record.depth.saturating_add(1) };
                let mut item = QueuedUrl::link(&url, depth, via);
                if is_resource(&link.kind, &link.rel) || redirect && record.resource {
                    item = item.marked(Marks::RESOURCE);
                }
                let priority =
                    if redirect && !item.is_resource() { Priority::First } else { item.priority() };
                self.admit(item, &url, priority)?;
            }
        }
        self.commit()
    }
}
