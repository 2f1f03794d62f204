//! PDF files whose text isn't in the full-text index: entries in tree `meta`, by URL. Those that wait to be read, and those that couldn't be.

#![cfg_attr(
    not(feature = "search"),
    expect(dead_code, reason = "nothing is entered without a full-text index")
)]

use jiff::Timestamp;

use crate::store::{Store, StoreError, Tree, Write};
use page::ids::HostId;
use page::url::Fingerprint;

/// What the keys of files begin with that wait to be read; the URL follows.
const WAITING: &[u8] = b"index-pdf/";

/// What the keys of files begin with that couldn't be read; the URL follows.
const UNREAD: &[u8] = b"index-unread/";

/// Why the text of a PDF file isn't in the full-text index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadText {
    /// It waits to be read.
    Waiting,
    /// Reading it takes longer than it may, or too many files of its site did.
    Slow,
    /// Reading it takes more memory than it may.
    Memory,
    /// It can't be read: it is damaged, or encrypted.
    Damaged,
}

impl UnreadText {
    /// Those that are stored, and their names in the database.
    const STORED: [(Self, &'static str); 3] =
        [(Self::Slow, "slow"), (Self::Memory, "memory"), (Self::Damaged, "damaged")];

    /// The word in `limits_hit` of a page; none where no limit was reached.
    pub(crate) fn limit(self) -> Option<&'static str> {
        match self {
            Self::Slow => Some("pdf time"),
            Self::Memory => Some("pdf memory"),
            Self::Waiting | Self::Damaged => None,
        }
    }

    /// Why the text isn't in the index, as part of a sentence.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Waiting => "its text isn't read yet for the full-text index",
            Self::Slow => "its text isn't in the full-text index: reading it takes too long",
            Self::Memory => "its text isn't in the full-text index: reading it takes too much memory",
            Self::Damaged => "its text isn't in the full-text index: the file can't be read",
        }
    }

    fn read(value: &[u8]) -> Option<Self> {
        Self::STORED.iter().find(|(_, name)| name.as_bytes() == value).map(|(unread, _)| *unread)
    }
}

/// A PDF file that waits to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitingPdf {
    pub(crate) url: String,
    pub(crate) host: HostId,
    pub(crate) page: Fingerprint,
    /// When this version of it was fetched, in milliseconds since 1970.
    pub(crate) fetched: i64,
}

fn key(prefix: &[u8], url: &str) -> Vec<u8> {
    [prefix, url.as_bytes()].concat()
}

impl WaitingPdf {
    pub(crate) fn new(url: &str, host: HostId, page: Fingerprint, fetched: Timestamp) -> Self {
        Self { url: url.to_owned(), host, page, fetched: fetched.as_millisecond() }
    }

    /// Host id (u32), fingerprint (u64), time (i64).
    fn value(&self) -> Vec<u8> {
        let Self { host, page, fetched, .. } = self;
        [&host.0.to_be_bytes()[..], &page.0.to_be_bytes(), &fetched.to_be_bytes()].concat()
    }

    fn read(key: &[u8], value: &[u8]) -> Option<Self> {
        let url = String::from_utf8(key.strip_prefix(WAITING)?.to_vec()).ok()?;
        let (host, rest) = value.split_first_chunk::<4>()?;
        let (page, rest) = rest.split_first_chunk::<8>()?;
        let fetched = i64::from_be_bytes(rest.try_into().ok()?);
        let (host, page) = (HostId(u32::from_be_bytes(*host)), Fingerprint(u64::from_be_bytes(*page)));
        Some(Self { url, host, page, fetched })
    }

    /// The write that has it wait.
    pub(crate) fn enter(&self) -> Write {
        Write::put(Tree::Meta, key(WAITING, &self.url), self.value())
    }

    /// Whether this version of it still waits.
    pub(crate) fn waits<S: Store + ?Sized>(&self, store: &S) -> Result<bool, StoreError> {
        Ok(store.get(Tree::Meta, &key(WAITING, &self.url))?.is_some_and(|value| value == self.value()))
    }
}

/// The files that wait, by URL.
pub(crate) fn waiting_pdfs<S: Store + ?Sized>(
    store: &S,
) -> impl Iterator<Item = Result<WaitingPdf, StoreError>> + '_ {
    waiting_pdfs_after(store, &[])
}

/// The files that wait, by URL, of those whose URL is greater than `after` byte by byte.
pub(crate) fn waiting_pdfs_after<'s, S: Store + ?Sized>(
    store: &'s S,
    after: &[u8],
) -> impl Iterator<Item = Result<WaitingPdf, StoreError>> + use<'s, S> {
    store.scan_after(Tree::Meta, WAITING, &[WAITING, after].concat()).map(|pair| {
        let (key, value) = pair?;
        let damaged = || StoreError::Unreadable {
            tree: Tree::Meta.name(),
            source: "a PDF file that waits to be read".into(),
        };
        WaitingPdf::read(&key, &value).ok_or_else(damaged)
    })
}

/// The writes after a file was read, or couldn't be.
pub(crate) fn pdf_was_read(url: &str, unread: Option<UnreadText>) -> [Write; 2] {
    [Write::remove(Tree::Meta, key(WAITING, url)), pdf_outcome(url, unread)]
}

/// The write that says why a file couldn't be read, or that it was.
pub(crate) fn pdf_outcome(url: &str, unread: Option<UnreadText>) -> Write {
    let name = UnreadText::STORED.iter().find(|(stored, _)| Some(*stored) == unread).map(|(_, name)| *name);
    let at = key(UNREAD, url);
    match name {
        Some(name) => Write::put(Tree::Meta, at, name),
        None => Write::remove(Tree::Meta, at),
    }
}

/// Whether any file waits, or couldn't be read.
pub(crate) fn has_unread_texts<S: Store + ?Sized>(store: &S) -> Result<bool, StoreError> {
    Ok(store.last(Tree::Meta, WAITING)?.is_some() || store.last(Tree::Meta, UNREAD)?.is_some())
}

/// Why the text of the page with this URL isn't in the full-text index, as far as that is on record.
pub(crate) fn unread_text<S: Store + ?Sized>(store: &S, url: &str) -> Result<Option<UnreadText>, StoreError> {
    if store.get(Tree::Meta, &key(WAITING, url))?.is_some() {
        return Ok(Some(UnreadText::Waiting));
    }
    Ok(store.get(Tree::Meta, &key(UNREAD, url))?.and_then(|value| UnreadText::read(&value)))
}

/// The files that couldn't be read.
pub(crate) fn unread_texts<S: Store + ?Sized>(
    store: &S,
) -> impl Iterator<Item = Result<UnreadText, StoreError>> + '_ {
    store.scan(Tree::Meta, UNREAD).filter_map(|pair| match pair {
        Ok((_, value)) => UnreadText::read(&value).map(Ok),
        Err(error) => Some(Err(error)),
    })
}

/// Entries that are removed at once.
const AT_ONCE: usize = 1_000;

/// No file waits any more.
pub(crate) fn clear_waiting_pdfs<S: Store + ?Sized>(store: &S) -> Result<(), StoreError> {
    clear(store, WAITING)
}

/// Removes all entries: there is no full-text index.
pub(crate) fn clear_unread_texts<S: Store + ?Sized>(store: &S) -> Result<(), StoreError> {
    clear(store, WAITING)?;
    clear(store, UNREAD)
}

fn clear<S: Store + ?Sized>(store: &S, prefix: &[u8]) -> Result<(), StoreError> {
    loop {
        let some = store.scan(Tree::Meta, prefix).take(AT_ONCE);
        let gone = some.map(|pair| pair.map(|(key, _)| Write::remove(Tree::Meta, key)));
        match gone.collect::<Result<Vec<_>, _>>()? {
            gone if gone.is_empty() => return Ok(()),
            gone => store.commit(gone)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn a_file_waits_until_this_version_of_it_was_read() {
        let store = MemoryStore::default();
        let url = "http://a.test/x.pdf";
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let waiting = |ms| WaitingPdf::new(url, HostId(7), Fingerprint(1 << 40), at(ms));
        assert!(!has_unread_texts(&store).unwrap());
        store.commit(vec![waiting(5).enter()]).unwrap();
        assert!(has_unread_texts(&store).unwrap());
        let all: Vec<_> = waiting_pdfs(&store).map(Result::unwrap).collect();
        assert_eq!(all, [waiting(5)]);
        assert!(waiting(5).waits(&store).unwrap() && !waiting(6).waits(&store).unwrap());
        assert_eq!(unread_text(&store, url).unwrap(), Some(UnreadText::Waiting));
        for unread in [UnreadText::Slow, UnreadText::Memory, UnreadText::Damaged] {
            store.commit(pdf_was_read(url, Some(unread)).to_vec()).unwrap();
            assert_eq!(unread_text(&store, url).unwrap(), Some(unread));
            assert_eq!(unread_texts(&store).map(Result::unwrap).collect::<Vec<_>>(), [unread]);
            assert!(waiting_pdfs(&store).next().is_none());
        }
        store.commit(pdf_was_read(url, None).to_vec()).unwrap();
        assert_eq!(unread_text(&store, url).unwrap(), None);
        assert!(!has_unread_texts(&store).unwrap());
        let other = WaitingPdf::new("http://a.test/y.pdf", HostId(7), Fingerprint(2), at(5));
        store.commit(vec![waiting(5).enter(), other.enter()]).unwrap();
        store.commit(pdf_was_read(url, Some(UnreadText::Slow)).to_vec()).unwrap();
        clear_waiting_pdfs(&store).unwrap();
        assert!(waiting_pdfs(&store).next().is_none());
        assert_eq!(unread_text(&store, url).unwrap(), Some(UnreadText::Slow));
        clear_unread_texts(&store).unwrap();
        assert!(!has_unread_texts(&store).unwrap());
    }
}
