//! The numbers of all pages by their fingerprints, in memory: for readers that look most pages up.

use super::block;
use super::read::{UrlOfPage, missing, urls, value_at};
use super::{State, index, number_key, number_of_key, unreadable};
use crate::store::{Store, StoreError, Tree};
use page::ids::HostId;
use page::url::Fingerprint;

/// Pages at most: 64 MB.
const MOST: u64 = 8 << 20;

/// The numbers of all pages. Memory: 8 bytes a page.
#[derive(Debug)]
pub(crate) struct PageNumbers {
    /// Sorted: of each page the upper 32 bits of its fingerprint, then its number.
    pages: Vec<u64>,
}

impl PageNumbers {
    /// Reads them; none where there are more than 8 million pages. Cost: the whole index is read, 13 bytes a page.
    pub(crate) fn read<S: Store>(store: &S) -> Result<Option<Self>, StoreError> {
        // In this order: a page that is being entered in the index meanwhile is met twice, never missed.
        let state = State::read(store)?;
        if state.count > MOST {
            return Ok(None);
        }
        let mut pages = Vec::with_capacity(state.count as usize);
        let mut add = |page: Fingerprint, number: u64| {
            if number < state.count {
                pages.push(page.0 >> 32 << 32 | number);
            }
        };
        let mut next = state.indexed;
        while let Some((key, value)) = store.floor(Tree::Pages, &number_key(next))? {
            let first = number_of_key(Tree::Pages, &key)?;
            let heads = block::heads(&value).map_err(|error| unreadable(Tree::Pages, error))?;
            for (number, head) in (first..).zip(&heads) {
                add(head.page, number);
            }
            let behind = first + heads.len() as u64;
            if behind <= next {
                break;
            }
            next = behind;
        }
        index::each(store, &mut add)?;
        pages.sort_unstable();
        pages.dedup();
        Ok(Some(Self { pages }))
    }

    /// As [`urls_beside`](super::urls_beside); none where it was stored after the numbers were read. Cost: one value is read.
    pub(crate) fn urls_beside<S: Store>(
        &self,
        store: &S,
        host: HostId,
        page: Fingerprint,
    ) -> Result<Option<Vec<UrlOfPage>>, StoreError> {
        let from = self.pages.partition_point(|entry| entry >> 32 < page.0 >> 32);
        for entry in self.pages[from..].iter().take_while(|entry| *entry >> 32 == page.0 >> 32) {
            let number = *entry & u64::from(u32::MAX);
            let (first, value) = value_at(store, number)?;
            let urls = urls(&value, |_| true)?;
            let there = urls.get((number - first) as usize).ok_or_else(|| missing(number))?;
            if there.0 == (host, page) {
                return Ok(Some(urls));
            }
        }
        Ok(None)
    }
}
