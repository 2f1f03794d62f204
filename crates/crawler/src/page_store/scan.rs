//! Reads all records, one value at a time.

use std::collections::VecDeque;

use super::block::{self, Links};
use super::{State, lost, number_of_key, unreadable};
use crate::frontier::HostId;
use crate::record::{LinkRecord, PageRecord, decode_links};
use crate::store::{Pair, Store, StoreError, Tree};
use crate::url::Fingerprint;

/// A page as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPage {
    /// Its number, in the order in which pages were stored.
    pub number: u64,
    /// Its host.
    pub host: HostId,
    /// Its fingerprint.
    pub page: Fingerprint,
    record: Vec<u8>,
    links: Vec<u8>,
}

impl StoredPage {
    /// The record.
    pub fn record(&self) -> Result<PageRecord, StoreError> {
        self.read()
    }

    /// The record, or a part of it.
    pub(crate) fn read<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, StoreError> {
        serde_json::from_slice(&self.record).map_err(|error| unreadable(Tree::Pages, error))
    }

    /// The record as it is stored: JSON.
    pub(crate) fn json(&self) -> &[u8] {
        &self.record
    }

    /// The links; none by [`scan`].
    pub fn links(&self) -> Result<Vec<LinkRecord>, StoreError> {
        decode_links(&self.links).map_err(|error| unreadable(Tree::Links, error))
    }
}

type Pairs<'a> = Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + 'a>;

/// The records in the order in which they were stored. Memory: one value.
pub fn scan<S: Store>(store: &S) -> PageScan<'_> {
    PageScan::new(store, None)
}

/// The records with their links.
pub fn scan_with_links<S: Store>(store: &S) -> PageScan<'_> {
    PageScan::new(store, Some(store.scan(Tree::Links, &[])))
}

/// See [`scan`]. What can't be read is an error in its place, and the scan goes on behind it; records that are missing
/// make an error at the end.
pub struct PageScan<'a> {
    pages: Pairs<'a>,
    links: Option<LinkScan<'a>>,
    ready: VecDeque<StoredPage>,
    /// What there must be; taken when it was reported, or no longer can be.
    state: Option<Result<State, StoreError>>,
    next: u64,
    missing: u64,
}

impl std::fmt::Debug for PageScan<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageScan").field("next", &self.next).finish_non_exhaustive()
    }
}

impl<'a> PageScan<'a> {
    fn new<S: Store>(store: &'a S, links: Option<Pairs<'a>>) -> Self {
        Self {
            state: Some(State::read(store)),
            pages: store.scan(Tree::Pages, &[]),
            links: links.map(|pairs| LinkScan { pairs, ready: VecDeque::new() }),
            ready: VecDeque::new(),
            next: 0,
            missing: 0,
        }
    }

    fn read_value(&mut self, (key, value): &Pair) -> Result<(), StoreError> {
        let first = number_of_key(Tree::Pages, key)?;
        let entries = block::read(value).map_err(|error| unreadable(Tree::Pages, error))?;
        self.missing += first.saturating_sub(self.next);
        self.next = first + entries.len() as u64;
        for (number, entry) in (first..).zip(entries) {
            let links = match (entry.links, &mut self.links) {
                (Links::Here(links), _) => links,
                (Links::Apart, None) => Vec::new(),
                (Links::Apart, Some(links)) => links.of(number)?,
            };
            let (host, page, record) = (entry.host, entry.page, entry.record);
            self.ready.push_back(StoredPage { number, host, page, record, links });
        }
        Ok(())
    }

    /// What is wrong when all values are read.
    fn end(&mut self) -> Option<StoreError> {
        let state = match self.state.take()? {
            Ok(state) => state,
            Err(error) => return Some(error),
        };
        while let Some(taken) = self.links.as_mut().and_then(LinkScan::read_value) {
            if let Err(error) = taken {
                return Some(error);
            }
        }
        let missing = self.missing + state.count.saturating_sub(self.next);
        (missing > 0).then(|| lost(Tree::Pages, format!("{missing} of its {} records", state.count)))
    }
}

impl Iterator for PageScan<'_> {
    type Item = Result<StoredPage, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(page) = self.ready.pop_front() {
                return Some(Ok(page));
            }
            let taken = match self.pages.next() {
                Some(pair) => pair.and_then(|pair| self.read_value(&pair)),
                None => return self.end().map(Err),
            };
            if let Err(error) = taken {
                // This reports what is missing then.
                self.state = None;
                return Some(Err(error));
            }
        }
    }
}

/// The links behind the records, in the same order.
struct LinkScan<'a> {
    pairs: Pairs<'a>,
    ready: VecDeque<(u64, Vec<u8>)>,
}

impl LinkScan<'_> {
    fn of(&mut self, number: u64) -> Result<Vec<u8>, StoreError> {
        loop {
            while self.ready.front().is_some_and(|(page, _)| *page < number) {
                self.ready.pop_front();
            }
            match self.ready.front() {
                Some((page, _)) if *page == number => {
                    return Ok(self.ready.pop_front().unwrap_or_default().1);
                }
                Some(_) => return Err(Self::missing(number)),
                None => {}
            }
            self.read_value().unwrap_or_else(|| Err(Self::missing(number)))?;
        }
    }

    /// Reads the next value; none at the end.
    fn read_value(&mut self) -> Option<Result<(), StoreError>> {
        let read = self.pairs.next()?.and_then(|(key, value)| {
            let first = number_of_key(Tree::Links, &key)?;
            self.ready =
                block::read_links(first, &value).map_err(|error| unreadable(Tree::Links, error))?.into();
            Ok(())
        });
        Some(read)
    }

    fn missing(number: u64) -> StoreError {
        lost(Tree::Links, format!("the links of page {number}"))
    }
}
