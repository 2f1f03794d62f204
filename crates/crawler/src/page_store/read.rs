//! Finds the record of one page.

use super::block::{self, Entry, Links, PageKey};
use super::{State, index, lost, number_key, number_of_key, unreadable};
use crate::frontier::HostId;
use crate::record::{LinkRecord, PageRecord, decode_links};
use crate::store::{Store, StoreError, Tree};
use page::url::Fingerprint;

/// Finds a page: its number, record and links. Cost: about 100 µs among a million pages.
pub(crate) fn find<S: Store>(
    store: &S,
    host: HostId,
    page: Fingerprint,
) -> Result<Option<(u64, Entry)>, StoreError> {
    let found = find_with_others(store, host, page)?;
    Ok(found.map(|(first, mut entries, place)| (first + place as u64, entries.swap_remove(place))))
}

/// A value of tree `pages`: its first number, its entries, and the place of the one that was looked for.
pub(crate) type Found = (u64, Vec<Entry>, usize);

/// Finds a page with those in the same value: its neighbours in time.
pub(crate) fn find_with_others<S: Store>(
    store: &S,
    host: HostId,
    page: Fingerprint,
) -> Result<Option<Found>, StoreError> {
    let Some((first, value, place)) = find_value(store, host, page)? else { return Ok(None) };
    let entries = block::read(&value).map_err(|error| unreadable(Tree::Pages, error))?;
    Ok(Some((first, entries, place)))
}

/// Finds the value that has a page: its first number, what it holds, and the place of the page there.
fn find_value<S: Store>(
    store: &S,
    host: HostId,
    page: Fingerprint,
) -> Result<Option<(u64, Vec<u8>, usize)>, StoreError> {
    // First: a page that is entered in the index meanwhile is found by its value, one that was before is in there.
    let state = State::read(store)?;
    for number in index::look_up(store, state.levels, page)? {
        let (first, value) = value_at(store, number)?;
        let heads = block::heads(&value).map_err(|error| unreadable(Tree::Pages, error))?;
        let place = (number - first) as usize;
        let head = heads.get(place).ok_or_else(|| missing(number))?;
        if head.host == host && head.page == page {
            return Ok(Some((first, value, place)));
        }
    }
    among_the_last(store, state.indexed, host, page)
}

/// A page, by its host and fingerprint, and its URL.
pub(crate) type UrlOfPage = ((HostId, Fingerprint), String);

/// Finds a page, and gives it with those in the same value, its neighbours in time: whoever asks for one will ask for others of them. Nothing where
/// it isn't stored.
pub(crate) fn urls_beside<S: Store>(
    store: &S,
    host: HostId,
    page: Fingerprint,
) -> Result<Vec<UrlOfPage>, StoreError> {
    match find_value(store, host, page)? {
        Some((_, value, _)) => urls(&value, |_| true),
        None => Ok(Vec::new()),
    }
}

/// Finds a page, and gives its URL. Cost: that of [`urls_beside`], less reading the URLs of the others.
pub(crate) fn url_of_page<S: Store>(
    store: &S,
    host: HostId,
    page: Fingerprint,
) -> Result<Option<String>, StoreError> {
    let Some((_, value, _)) = find_value(store, host, page)? else { return Ok(None) };
    let found = urls(&value, |head| (head.host, head.page) == (host, page))?;
    Ok(found.into_iter().next().map(|(_, url)| url))
}

/// The URLs of the pages of a value that are wanted.
pub(super) fn urls(value: &[u8], wanted: impl Fn(&PageKey) -> bool) -> Result<Vec<UrlOfPage>, StoreError> {
    let (mut urls, mut failed) = (Vec::new(), None);
    let each = |head: PageKey, record: &[u8]| {
        if wanted(&head) {
            match url_of(record) {
                Ok(url) => urls.push(((head.host, head.page), url)),
                Err(error) => failed = Some(error),
            }
        }
    };
    block::each_record(value, each).map_err(|error| unreadable(Tree::Pages, error))?;
    failed.map_or(Ok(urls), Err)
}

/// Finds the record of a page.
pub(crate) fn record_of<S: Store>(
    store: &S,
    host: HostId,
    page: Fingerprint,
) -> Result<Option<PageRecord>, StoreError> {
    find(store, host, page)?.map(|(_, entry)| entry.read()).transpose()
}

/// Finds the links of a page; none where it has none, or isn't stored.
pub(crate) fn links_of<S: Store>(
    store: &S,
    host: HostId,
    page: Fingerprint,
) -> Result<Vec<LinkRecord>, StoreError> {
    match find(store, host, page)? {
        Some((number, entry)) => links_of_number(store, number, &entry),
        None => Ok(Vec::new()),
    }
}

/// The links of a page that was found.
pub(crate) fn links_of_number<S: Store>(
    store: &S,
    number: u64,
    entry: &Entry,
) -> Result<Vec<LinkRecord>, StoreError> {
    let apart;
    let bytes = match &entry.links {
        Links::Here(bytes) => bytes,
        Links::Apart => {
            apart = links_at(store, number)?;
            &apart
        }
    };
    decode_links(bytes).map_err(|error| unreadable(Tree::Links, error))
}

impl Entry {
    /// The record, or a part of it.
    pub(crate) fn read<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, StoreError> {
        serde_json::from_slice(&self.record).map_err(|error| unreadable(Tree::Pages, error))
    }

    /// The URL of the page. The record isn't read beyond it.
    #[cfg(feature = "cluster")]
    pub(crate) fn url(&self) -> Result<String, StoreError> {
        url_of(&self.record)
    }
}

/// The URL in a record, which isn't read beyond it.
pub(super) fn url_of(record: &[u8]) -> Result<String, StoreError> {
    let mut url = None;
    let mut record = serde_json::Deserializer::from_slice(record);
    let read = serde::Deserializer::deserialize_map(&mut record, FirstUrl(&mut url));
    match (url, read) {
        (Some(url), _) => Ok(url),
        (None, Err(error)) => Err(unreadable(Tree::Pages, error)),
        (None, Ok(())) => Err(unreadable(Tree::Pages, "no URL")),
    }
}

/// Takes the member `url` of an object, and ends there: serde then reports what it hasn't read.
struct FirstUrl<'a>(&'a mut Option<String>);

impl<'de> serde::de::Visitor<'de> for FirstUrl<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a page record")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            if name == "url" {
                *self.0 = Some(members.next_value()?);
                return Ok(());
            }
            members.next_value::<serde::de::IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Looks through the values of pages that aren't in the index, from the last one on.
fn among_the_last<S: Store>(
    store: &S,
    indexed: u64,
    host: HostId,
    page: Fingerprint,
) -> Result<Option<(u64, Vec<u8>, usize)>, StoreError> {
    let mut below = u64::MAX;
    while below >= indexed {
        let Some((key, value)) = store.floor(Tree::Pages, &number_key(below))? else { break };
        let first = number_of_key(Tree::Pages, &key)?;
        let heads = block::heads(&value).map_err(|error| unreadable(Tree::Pages, error))?;
        let place = heads.iter().rposition(|head| head.host == host && head.page == page);
        if let Some(place) = place {
            return Ok(Some((first, value, place)));
        }
        let Some(next) = first.checked_sub(1) else { break };
        below = next;
    }
    Ok(None)
}

/// The value that has a page: its first number and its entries.
pub(super) fn block_at<S: Store>(store: &S, number: u64) -> Result<(u64, Vec<Entry>), StoreError> {
    let (first, value) = value_at(store, number)?;
    let entries = block::read(&value).map_err(|error| unreadable(Tree::Pages, error))?;
    if number - first < entries.len() as u64 { Ok((first, entries)) } else { Err(missing(number)) }
}

/// The value that has a page, if one has: its first number, and what it holds.
pub(super) fn value_at<S: Store>(store: &S, number: u64) -> Result<(u64, Vec<u8>), StoreError> {
    let (key, value) = store.floor(Tree::Pages, &number_key(number))?.ok_or_else(|| missing(number))?;
    Ok((number_of_key(Tree::Pages, &key)?, value))
}

pub(super) fn missing(number: u64) -> StoreError {
    lost(Tree::Pages, format!("the record of page {number}"))
}

/// The values from the one that has a page on, up to the last one before `to`: the first number and the entries of each. Many are read at once.
pub(super) fn blocks<S: Store>(store: &S, from: u64, to: u64) -> Result<Vec<(u64, Vec<Entry>)>, StoreError> {
    let mut blocks = Vec::new();
    if from >= to {
        return Ok(blocks);
    }
    let (first, entries) = block_at(store, from)?;
    let mut next = first + entries.len() as u64;
    blocks.push((first, entries));
    while next < to {
        let before = next;
        // The values that begin with one of 256 numbers.
        for pair in store.scan(Tree::Pages, &number_key(before)[..7]) {
            let (key, value) = pair?;
            let first = number_of_key(Tree::Pages, &key)?;
            if first > next {
                break;
            }
            if first == next {
                let entries = block::read(&value).map_err(|error| unreadable(Tree::Pages, error))?;
                next += entries.len() as u64;
                blocks.push((first, entries));
            }
        }
        if next == before {
            return Err(lost(Tree::Pages, format!("the record of page {next}")));
        }
    }
    Ok(blocks)
}

/// The record of a page by its number.
pub(crate) fn record_at<S: Store>(store: &S, number: u64) -> Result<PageRecord, StoreError> {
    at(store, number)?.read()
}

/// The links of a page by its number.
pub(crate) fn links_at_number<S: Store>(store: &S, number: u64) -> Result<Vec<LinkRecord>, StoreError> {
    links_of_number(store, number, &at(store, number)?)
}

fn at<S: Store>(store: &S, number: u64) -> Result<Entry, StoreError> {
    let (first, mut entries) = block_at(store, number)?;
    Ok(entries.swap_remove((number - first) as usize))
}

/// The links in a value of tree `links`: numbers of pages, and the links of each.
pub(super) type LinkBlock = Vec<(u64, Vec<u8>)>;

/// The value for the links of a page: its key and its content.
pub(super) fn links_block_at<S: Store>(
    store: &S,
    number: u64,
) -> Result<Option<(u64, LinkBlock)>, StoreError> {
    let Some((key, value)) = store.floor(Tree::Links, &number_key(number))? else { return Ok(None) };
    let first = number_of_key(Tree::Links, &key)?;
    let pages = block::read_links(first, &value).map_err(|error| unreadable(Tree::Links, error))?;
    Ok(Some((first, pages)))
}

fn links_at<S: Store>(store: &S, number: u64) -> Result<Vec<u8>, StoreError> {
    let found = links_block_at(store, number)?
        .and_then(|(_, pages)| pages.into_iter().find(|(page, _)| *page == number));
    found.map(|(_, links)| links).ok_or_else(|| lost(Tree::Links, format!("the links of page {number}")))
}

/// The entries of a value of tree `pages`, by their numbers.
pub(crate) fn entries(key: &[u8], value: &[u8]) -> Result<Vec<(u64, Entry)>, StoreError> {
    let first = number_of_key(Tree::Pages, key)?;
    let entries = block::read(value).map_err(|error| unreadable(Tree::Pages, error))?;
    Ok((first..).zip(entries).collect())
}
