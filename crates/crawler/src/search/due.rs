//! What the index has yet to add: entries in tree `meta`, each in the transaction of the pages that it names. They go when
//! the index holds them durably.

use crate::frontier::HostId;
use crate::store::{Store, StoreError, Tree, Write};
use page::url::Fingerprint;

/// What the keys begin with; the number of the entry follows (u64, big-endian).
const PREFIX: &[u8] = b"index/";

/// A page of an entry.
pub(super) type DuePage = (HostId, Fingerprint);

fn key(number: u64) -> Vec<u8> {
    [PREFIX, &number.to_be_bytes()].concat()
}

/// The write that enters pages under a number: 12 bytes each, host id and fingerprint.
pub(super) fn enter(number: u64, pages: &[DuePage]) -> Write {
    let value: Vec<u8> = pages
        .iter()
        .flat_map(|(host, page)| host.0.to_be_bytes().into_iter().chain(page.0.to_be_bytes()))
        .collect();
    Write::put(Tree::Meta, key(number), value)
}

/// The write that takes an entry out.
pub(super) fn remove(number: u64) -> Write {
    Write::remove(Tree::Meta, key(number))
}

/// The entries, in order.
pub(super) fn entries<S: Store + ?Sized>(
    store: &S,
) -> impl Iterator<Item = Result<(u64, Vec<DuePage>), StoreError>> + '_ {
    store.scan(Tree::Meta, PREFIX).map(|pair| {
        let (key, value) = pair?;
        let number = key.get(PREFIX.len()..).and_then(|number| <[u8; 8]>::try_from(number).ok());
        let number = number.map(u64::from_be_bytes).ok_or_else(|| damaged("a key of the index"))?;
        Ok((number, read(&value)?))
    })
}

/// The pages of an entry; none where it is gone.
pub(super) fn pages<S: Store + ?Sized>(store: &S, number: u64) -> Result<Vec<DuePage>, StoreError> {
    read(&store.get(Tree::Meta, &key(number))?.unwrap_or_default())
}

/// How many pages the entries behind this one have.
pub(super) fn count<S: Store + ?Sized>(store: &S, behind: u64) -> Result<u64, StoreError> {
    let mut count = 0;
    for entry in entries(store) {
        let (number, pages) = entry?;
        count += if number > behind { pages.len() as u64 } else { 0 };
    }
    Ok(count)
}

fn damaged(what: &str) -> StoreError {
    StoreError::Unreadable { tree: Tree::Meta.name(), source: what.into() }
}

fn read(value: &[u8]) -> Result<Vec<DuePage>, StoreError> {
    let (pages, rest) = value.as_chunks::<12>();
    if !rest.is_empty() {
        return Err(damaged("an entry of the index"));
    }
    let page = |bytes: &[u8; 12]| {
        let (mut host, mut page) = ([0; 4], [0; 8]);
        host.copy_from_slice(&bytes[..4]);
        page.copy_from_slice(&bytes[4..]);
        (HostId(u32::from_be_bytes(host)), Fingerprint(u64::from_be_bytes(page)))
    };
    Ok(pages.iter().map(page).collect())
}

/// The number of the last entry; 0 where there is none.
pub(super) fn last<S: Store>(store: &S) -> Result<u64, StoreError> {
    let last = store.last(Tree::Meta, PREFIX)?;
    let number = last.and_then(|(key, _)| <[u8; 8]>::try_from(key.get(PREFIX.len()..)?).ok());
    Ok(number.map(u64::from_be_bytes).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn entries_come_back_in_order_and_go() {
        let store = MemoryStore::default();
        assert_eq!(last(&store).unwrap(), 0);
        let page = |number: u64| (HostId(number as u32), Fingerprint(number << 40));
        let writes = [300, 2, 9].map(|number| enter(number, &[page(number), page(number + 1)]));
        store.commit(writes.to_vec()).unwrap();
        assert_eq!(last(&store).unwrap(), 300);
        let all: Vec<_> = entries(&store).map(Result::unwrap).collect();
        assert_eq!(all, [2, 9, 300].map(|number| (number, vec![page(number), page(number + 1)])));
        assert_eq!(pages(&store, 9).unwrap(), [page(9), page(10)]);
        assert_eq!([count(&store, 0), count(&store, 2), count(&store, 300)].map(Result::unwrap), [6, 4, 0]);
        store.commit(vec![remove(9)]).unwrap();
        assert_eq!(entries(&store).count(), 2);
        assert_eq!(pages(&store, 9).unwrap(), []);
    }
}
