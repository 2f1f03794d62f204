//! Reads all records, one value at a time.

use std::collections::VecDeque;

use super::block::{self, Links};
use super::{State, lost, number_key, number_of_key, unreadable};
use crate::frontier::HostId;
use crate::record::{LinkRecord, PageRecord, decode_links};
use crate::store::{Pair, Store, StoreError, Tree};
use page::url::Fingerprint;

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
        read_record(&self.record)
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

/// The records of the values whose first one has a number in the range of this number: 256 numbers, up to [`range_end`]. What is missing isn't
/// noticed.
pub(crate) fn scan_range<S: Store>(store: &S, number: u64) -> PageScan<'_> {
    let key = number_key(number);
    let range = key.split_last().map_or(&key[..], |(_, range)| range);
    let blocks = BlockScan { values: store.scan(Tree::Pages, range), state: None, next: 0, missing: 0 };
    PageScan { blocks, links: None, ready: VecDeque::new() }
}

/// The first number behind the range of this one.
pub(crate) fn range_end(number: u64) -> u64 {
    (number | 0xff).saturating_add(1)
}

/// The values that hold the records, in the order in which these were stored.
pub(crate) fn scan_blocks<S: Store>(store: &S) -> BlockScan<'_> {
    BlockScan { state: Some(State::read(store)), values: store.scan(Tree::Pages, &[]), next: 0, missing: 0 }
}

/// A value with records.
pub(crate) struct PageBlock {
    first: u64,
    value: Vec<u8>,
}

impl PageBlock {
    /// Bytes of the value as it is stored.
    pub(crate) fn bytes(&self) -> usize {
        self.value.len()
    }

    /// Gives each record to a function, with the number of its page. The first error of the function ends it.
    pub(crate) fn each_record<E: From<StoreError>>(
        &self,
        mut take: impl FnMut(u64, PageRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut taken = Ok(());
        let mut number = self.first;
        let each = |_, record: &[u8]| {
            if taken.is_ok() {
                taken = match read_record(record) {
                    Ok(record) => take(number, record),
                    Err(error) => Err(error.into()),
                };
            }
            number += 1;
        };
        block::each_record(&self.value, each).map_err(|error| unreadable(Tree::Pages, error))?;
        taken
    }
}

/// Reads a record, or a part of it.
fn read_record<'a, T: serde::Deserialize<'a>>(record: &'a [u8]) -> Result<T, StoreError> {
    // Checked to be UTF-8 as a whole, and not text by text.
    let text = std::str::from_utf8(record).map_err(|error| unreadable(Tree::Pages, error))?;
    serde_json::from_str(text).map_err(|error| unreadable(Tree::Pages, error))
}

/// See [`scan_blocks`]. What can't be read is an error in its place, and the scan goes on behind it; records that are missing make an error at
/// the end.
pub(crate) struct BlockScan<'a> {
    values: Pairs<'a>,
    /// What there must be; taken when it was reported, or no longer can be.
    state: Option<Result<State, StoreError>>,
    next: u64,
    missing: u64,
}

impl BlockScan<'_> {
    fn next_block(&mut self) -> Option<Result<PageBlock, StoreError>> {
        Some(self.values.next()?.and_then(|pair| self.block(pair)))
    }

    fn block(&mut self, (key, value): Pair) -> Result<PageBlock, StoreError> {
        let first = number_of_key(Tree::Pages, &key)?;
        let count = block::count(&value).map_err(|error| unreadable(Tree::Pages, error))?;
        self.missing += first.saturating_sub(self.next);
        self.next = first + count as u64;
        Ok(PageBlock { first, value })
    }

    /// What is missing when all values are read.
    fn lost(&self, state: State) -> Option<StoreError> {
        let missing = self.missing + state.count.saturating_sub(self.next);
        (missing > 0).then(|| lost(Tree::Pages, format!("{missing} of its {} records", state.count)))
    }
}

impl Iterator for BlockScan<'_> {
    type Item = Result<PageBlock, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = match self.next_block() {
            Some(block) => block,
            None => match self.state.take()? {
                Ok(state) => Err(self.lost(state)?),
                Err(error) => Err(error),
            },
        };
        if block.is_err() {
            // This reports what is missing then.
            self.state = None;
        }
        Some(block)
    }
}

/// See [`scan`]. What can't be read is an error in its place, and the scan goes on behind it; records that are missing
/// make an error at the end.
pub struct PageScan<'a> {
    blocks: BlockScan<'a>,
    links: Option<LinkScan<'a>>,
    ready: VecDeque<StoredPage>,
}

impl std::fmt::Debug for PageScan<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageScan").field("next", &self.blocks.next).finish_non_exhaustive()
    }
}

impl<'a> PageScan<'a> {
    fn new<S: Store>(store: &'a S, links: Option<Pairs<'a>>) -> Self {
        Self {
            blocks: scan_blocks(store),
            links: links.map(|pairs| LinkScan { pairs, ready: VecDeque::new() }),
            ready: VecDeque::new(),
        }
    }

    fn read_block(&mut self, block: &PageBlock) -> Result<(), StoreError> {
        let entries = block::read(&block.value).map_err(|error| unreadable(Tree::Pages, error))?;
        for (number, entry) in (block.first..).zip(entries) {
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
        let state = match self.blocks.state.take()? {
            Ok(state) => state,
            Err(error) => return Some(error),
        };
        while let Some(taken) = self.links.as_mut().and_then(LinkScan::read_value) {
            if let Err(error) = taken {
                return Some(error);
            }
        }
        self.blocks.lost(state)
    }
}

impl Iterator for PageScan<'_> {
    type Item = Result<StoredPage, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(page) = self.ready.pop_front() {
                return Some(Ok(page));
            }
            let taken = match self.blocks.next_block() {
                Some(block) => block.and_then(|block| self.read_block(&block)),
                None => return self.end().map(Err),
            };
            if let Err(error) = taken {
                // This reports what is missing then.
                self.blocks.state = None;
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
