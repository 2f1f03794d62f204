//! The writing end: what a commit brings, joined and entered in the index as it gathers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::block::{self, Entry, Links};
use super::filter::Filter;
use super::index::{self, Bucket};
use super::read::LinkBlock;
use super::{STATE, State, lost, number_key, read, unreadable};
use crate::frontier::HostId;
use crate::packed::Filling;
use crate::store::{Store, StoreError, Tree, Write};
use page::url::Fingerprint;

/// Most records of a value.
const MOST: usize = 32;

/// Records are joined at the latest when they have so many bytes.
const TAIL_BYTES: usize = 256 * 1024;

/// A page to be stored, new or in the place of its record.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) host: HostId,
    pub(crate) page: Fingerprint,
    /// JSON.
    pub(crate) record: Vec<u8>,
    /// Its links, encoded; empty for none. `None` if they stay.
    pub(crate) links: Option<Vec<u8>>,
}

/// Stores pages. Memory: the records of the last commits, some KB, and 2 to 4 bytes for each page, up to 32 MB.
#[derive(Debug)]
pub struct PageWriter {
    state: State,
    /// The pages from `state.loose` on, links included.
    tail: Vec<Entry>,
    /// The first pages of the values that have those.
    values: Vec<u64>,
    /// The pages from `state.indexed` on.
    fresh: Vec<(Fingerprint, u64)>,
    known: HashMap<(HostId, Fingerprint), u64>,
    /// Those before `state.indexed`.
    indexed: Filter,
    /// Buckets of the index that are full.
    full: Vec<Bucket>,
    /// Records and links that fill a value, as far as is known.
    records_a_value: Filling,
    links_a_value: Filling,
}

/// Changed values, by their keys.
#[derive(Debug, Default)]
struct Changed {
    pages: BTreeMap<u64, Vec<Entry>>,
    links: BTreeMap<u64, LinkBlock>,
    /// Values of the tail.
    tail: BTreeSet<u64>,
}

impl PageWriter {
    /// Takes up a store's pages. What is missing of them is an error.
    pub fn open<S: Store>(store: &S) -> Result<Self, StoreError> {
        let state = State::read(store)?;
        let indexed = index::read_all(store, &state)?;
        let mut writer = Self {
            state,
            tail: Vec::new(),
            values: Vec::new(),
            fresh: Vec::new(),
            known: HashMap::new(),
            indexed,
            full: Vec::new(),
            records_a_value: Filling::new(8, MOST),
            links_a_value: Filling::new(8, MOST),
        };
        if store.floor(Tree::Pages, &number_key(u64::MAX))?.is_some() && state.count == 0 {
            return Err(lost(Tree::Meta, "the number of its pages"));
        }
        for (first, entries) in read::blocks(store, state.indexed.min(state.loose), state.count)? {
            if first >= state.loose {
                writer.values.push(first);
            }
            for (number, entry) in (first..).zip(entries) {
                if number >= state.indexed {
                    writer.know(entry.host, entry.page, number);
                }
                if number >= state.loose {
                    writer.tail.push(entry);
                }
            }
        }
        Ok(writer)
    }

    /// How far the records have come.
    pub fn state(&self) -> State {
        self.state
    }

    fn know(&mut self, host: HostId, page: Fingerprint, number: u64) {
        self.fresh.push((page, number));
        self.known.insert((host, page), number);
    }

    /// Stores pages: the changes that have to be committed together.
    pub(crate) fn store<S: Store>(
        &mut self,
        store: &S,
        pages: Vec<Change>,
    ) -> Result<Vec<Write>, StoreError> {
        if pages.is_empty() {
            return Ok(Vec::new());
        }
        let from = self.state.count;
        let mut changed = Changed::default();
        for change in pages {
            match self.number_of(store, change.host, change.page)? {
                None => self.append(change)?,
                Some(number) if number >= self.state.loose => {
                    self.change_tail(number, change, &mut changed);
                }
                Some(number) => changed.apply(store, number, change)?,
            }
        }
        let mut writes = changed.write();
        let bytes: usize = self.tail.iter().map(Entry::bytes).sum();
        if self.tail.len() >= self.records_a_value.records() || bytes >= TAIL_BYTES {
            self.fold(bytes >= TAIL_BYTES, &mut writes);
        } else {
            changed.tail.retain(|first| *first < from);
            for first in &changed.tail {
                let end = self.values.iter().find(|next| *next > first).copied().unwrap_or(from);
                writes.push(self.tail_value(*first, end));
            }
            if self.state.count > from {
                writes.push(self.tail_value(from, self.state.count));
                self.values.push(from);
            }
        }
        self.enter(store, &mut writes)?;
        let state = serde_json::to_vec(&self.state).map_err(|error| unreadable(Tree::Meta, error))?;
        writes.push(Write::put(Tree::Meta, STATE, state));
        Ok(writes)
    }

    fn number_of<S: Store>(
        &self,
        store: &S,
        host: HostId,
        page: Fingerprint,
    ) -> Result<Option<u64>, StoreError> {
        if let Some(number) = self.known.get(&(host, page)) {
            return Ok(Some(*number));
        }
        if !self.indexed.may_have(page) {
            return Ok(None);
        }
        for number in index::look_up(store, self.state.levels, page)? {
            let (first, entries) = read::block_at(store, number)?;
            if entries[(number - first) as usize].host == host {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn append(&mut self, change: Change) -> Result<(), StoreError> {
        let Change { host, page, record, links } = change;
        let number = self.state.count;
        if number >= index::NUMBERS {
            return Err(unreadable(Tree::Pages, "there are too many pages"));
        }
        self.tail.push(Entry { host, page, record, links: Links::Here(links.unwrap_or_default()) });
        self.know(host, page, number);
        self.state.count += 1;
        Ok(())
    }

    fn change_tail(&mut self, number: u64, change: Change, changed: &mut Changed) {
        let entry = &mut self.tail[(number - self.state.loose) as usize];
        entry.record = change.record;
        if let Some(links) = change.links {
            entry.links = Links::Here(links);
        }
        changed.tail.extend(self.values.iter().rev().find(|first| **first <= number));
    }

    fn tail_value(&self, from: u64, to: u64) -> Write {
        let place = |number: u64| (number - self.state.loose) as usize;
        Write::put(Tree::Pages, number_key(from), block::write_together(&self.tail[place(from)..place(to)]))
    }

    /// Joins the pages of the last commits into values; with `all` to the last one.
    fn fold(&mut self, all: bool, writes: &mut Vec<Write>) {
        let mut tail = std::mem::take(&mut self.tail);
        writes.extend(self.values.drain(..).map(|first| Write::remove(Tree::Pages, number_key(first))));
        let (mut done, first) = (0, self.state.loose);
        while done < tail.len() && (all || tail.len() - done >= self.records_a_value.records()) {
            let rest = &tail[done..];
            let (count, value) =
                self.records_a_value.fill(rest.len(), |count| block::write_apart(&rest[..count]));
            writes.push(Write::put(Tree::Pages, number_key(first + done as u64), value));
            done += count;
        }
        self.fold_links(first, &tail[..done], writes);
        self.tail = tail.split_off(done);
        self.state.loose += done as u64;
        if !self.tail.is_empty() {
            writes.push(self.tail_value(self.state.loose, self.state.count));
            self.values.push(self.state.loose);
        }
    }

    fn fold_links(&mut self, first: u64, entries: &[Entry], writes: &mut Vec<Write>) {
        let pages: Vec<(u64, &[u8])> = (first..)
            .zip(entries)
            .filter_map(|(number, entry)| match &entry.links {
                Links::Here(links) if !links.is_empty() => Some((number, links.as_slice())),
                _ => None,
            })
            .collect();
        let mut rest = pages.as_slice();
        while let Some((key, _)) = rest.first() {
            let write = |count: usize| block::write_links(*key, rest[..count].iter().copied());
            let (count, value) = self.links_a_value.fill(rest.len(), write);
            writes.push(Write::put(Tree::Links, number_key(*key), value));
            rest = &rest[count..];
        }
    }

    /// Enters pages in the index, and moves some of its buckets that are full.
    fn enter<S: Store>(&mut self, store: &S, writes: &mut Vec<Write>) -> Result<(), StoreError> {
        let runs = self.fresh.len() / index::RUN;
        for _ in 0..runs {
            let mut run: Vec<_> = self.fresh.drain(..index::RUN).collect();
            for (page, _) in &run {
                self.indexed.insert(*page);
            }
            writes.push(index::add(&mut self.state, &mut run));
            self.state.indexed += run.len() as u64;
        }
        if runs > 0 {
            let indexed = self.state.indexed;
            self.known.retain(|_, number| *number >= indexed);
            if index::is_full(store, Bucket::TOP, runs)? && !self.full.contains(&Bucket::TOP) {
                self.full.push(Bucket::TOP);
            }
        }
        // A bucket is moved as it was before this commit: none twice, and what it gets meanwhile stays.
        let many = self.full.len().min(2 + 2 * runs);
        for bucket in self.full.drain(..many).collect::<Vec<_>>() {
            for below in index::push_down(store, &mut self.state, bucket, writes)? {
                if !self.full.contains(&below) {
                    self.full.push(below);
                }
            }
        }
        Ok(())
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        let links = match &self.links {
            Links::Here(links) => links.len(),
            Links::Apart => 0,
        };
        self.record.len() + links
    }
}

impl Changed {
    /// Replaces a record in a joined value.
    fn apply<S: Store>(&mut self, store: &S, number: u64, change: Change) -> Result<(), StoreError> {
        let known = self.pages.range(..=number).next_back();
        let known = known.filter(|(first, entries)| number - **first < entries.len() as u64);
        let first = if let Some((first, _)) = known {
            *first
        } else {
            let (first, entries) = read::block_at(store, number)?;
            self.pages.insert(first, entries);
            first
        };
        let Some(entry) = self.pages.get_mut(&first).and_then(|all| all.get_mut((number - first) as usize))
        else {
            return Err(lost(Tree::Pages, format!("the record of page {number}")));
        };
        entry.record = change.record;
        let Some(links) = change.links else { return Ok(()) };
        entry.links = if links.is_empty() { Links::Here(links.clone()) } else { Links::Apart };
        let pages = self.links_block(store, number)?;
        match pages.binary_search_by_key(&number, |(page, _)| *page) {
            Ok(place) if links.is_empty() => drop(pages.remove(place)),
            Ok(place) => pages[place].1 = links,
            Err(_) if links.is_empty() => {}
            Err(place) => pages.insert(place, (number, links)),
        }
        Ok(())
    }

    /// The value for the links of a page.
    fn links_block<S: Store>(&mut self, store: &S, number: u64) -> Result<&mut LinkBlock, StoreError> {
        let changed = self.links.range(..=number).next_back().map(|(first, _)| *first);
        let stored = read::links_block_at(store, number)?;
        let key = match stored {
            Some((first, pages)) if changed.is_none_or(|changed| changed < first) => {
                // Behind its last page another value may begin at any number.
                if pages.last().is_some_and(|(last, _)| *last >= number) {
                    self.links.insert(first, pages);
                    first
                } else {
                    number
                }
            }
            _ => changed.unwrap_or(number),
        };
        Ok(self.links.entry(key).or_default())
    }

    fn write(&self) -> Vec<Write> {
        let pages = self
            .pages
            .iter()
            .map(|(first, entries)| Write::put(Tree::Pages, number_key(*first), block::write_apart(entries)));
        let links = self.links.iter().map(|(first, pages)| {
            let value =
                block::write_links(*first, pages.iter().map(|(page, links)| (*page, links.as_slice())));
            let value = (!pages.is_empty()).then_some(value);
            Write { tree: Tree::Links, key: number_key(*first).to_vec(), value }
        });
        pages.chain(links).collect()
    }
}
