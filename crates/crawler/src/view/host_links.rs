//! How many links lead from one host to another.

use serde::Serialize;

use super::open::{View, ViewError};
use super::row_sorter::host_of;
use crate::record::LinkOutcome;

/// Links from the pages of one host to URLs of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostLink {
    /// The host that links.
    pub from: String,
    /// The host that is linked to.
    pub to: String,
    /// How many links.
    pub links: u64,
}

/// The strongest connections between hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HostLinks {
    /// Those with the most links, the strongest first.
    pub strongest: Vec<HostLink>,
    /// Pairs of hosts in all.
    pub pairs: u64,
    /// Links between different hosts in all.
    pub links: u64,
}

impl View {
    /// The `most` strongest connections between different hosts. Links of pages under noindex and references that are no URL of a page don't
    /// count, as in the graph that `crawl export --format edges` writes. Reads all links once. Memory: some megabytes; pairs are sorted in temporary files.
    pub fn host_links(&self, most: usize) -> Result<HostLinks, ViewError> {
        HostLinks::of_parts(&[self], most)
    }
}

impl HostLinks {
    /// As [`View::host_links`], of a crawl whose hosts are divided among several stores.
    pub fn of_parts(parts: &[&View], most: usize) -> Result<Self, ViewError> {
        let mut all = Self::default();
        let Some(first) = parts.first() else { return Ok(all) };
        let mut pairs = first.sorter();
        for link in parts.iter().flat_map(|part| part.links()) {
            let link = link?;
            let from = link.from.as_deref().map(host_of).unwrap_or_default();
            let to = host_of(&link.to);
            let counts = !link.from_noindex && link.outcome != LinkOutcome::NotHttp.as_str();
            if counts && !from.is_empty() && from != to {
                pairs.push_parts(&[from.as_bytes(), b"\0", to.as_bytes()])?;
            }
        }
        let mut last: Option<(Vec<u8>, u64)> = None;
        for pair in pairs.sorted()? {
            let pair = pair?;
            all.links += 1;
            match &mut last {
                Some((known, count)) if *known == pair => *count += 1,
                _ => {
                    all.enter(last.take(), most);
                    last = Some((pair, 1));
                }
            }
        }
        all.enter(last, most);
        Ok(all)
    }

    /// Enters a pair, which is dropped if there are `most` stronger ones.
    fn enter(&mut self, pair: Option<(Vec<u8>, u64)>, most: usize) {
        let Some((pair, links)) = pair else { return };
        self.pairs += 1;
        let place = self.strongest.partition_point(|known| known.links >= links);
        if place >= most {
            return;
        }
        let text = String::from_utf8_lossy(&pair);
        let (from, to) = text.split_once('\0').unwrap_or_default();
        self.strongest.insert(place, HostLink { from: from.to_owned(), to: to.to_owned(), links });
        self.strongest.truncate(most);
    }
}
