//! Reads what can be read of a damaged database: a copy of it, opened as well as sled can, tree by tree.

use std::fs;
use std::path::{Path, PathBuf};

use crate::causes::with_causes;
use crate::page_store::{self, State};
use crate::record::{LinkRecord, PageRecord, unpack_links};
use crate::store::{Pair, SledStore, Store, StoreError, Tree, copy_database};
use page::url::FingerprintKey;

/// A copy that could be opened, or none. The copy goes with the value.
pub(super) struct Salvage {
    store: Option<SledStore>,
    place: PathBuf,
    /// What had to be done to open it, in words.
    pub(super) outcome: String,
}

impl Drop for Salvage {
    fn drop(&mut self) {
        self.store = None;
        // It is of no further use.
        drop(fs::remove_dir_all(&self.place));
    }
}

/// In words, and what is done to the copy before it is opened.
type Way = (&'static str, fn(&Path));

/// What is tried, each on a fresh copy.
const WAYS: [Way; 4] = [
    ("opened unchanged", |_| {}),
    ("opened from its log, without its snapshot", without_snapshots),
    ("opened with new settings of sled", with_conf),
    ("opened from its log, with new settings of sled", |path| {
        without_snapshots(path);
        with_conf(path);
    }),
];

/// Copies the database and opens the copy, in the way that gives most of its commits.
pub(super) fn open(from: &Path, place: &Path) -> Salvage {
    let mut salvage = Salvage { store: None, place: place.to_owned(), outcome: String::new() };
    let mut best = None;
    let mut why = "there is no database".to_owned();
    for (index, (outcome, prepare)) in WAYS.iter().enumerate() {
        if !from.join("db").is_file() {
            break;
        }
        match attempt(from, place, *prepare) {
            Ok(store) => {
                let commits = store.commits();
                let whole = commits >= SledStore::sealed_commits(from).unwrap_or(0) && commits > 0;
                if best.is_none_or(|(most, _)| commits > most) {
                    best = Some((commits, index));
                }
                if whole {
                    (*outcome).clone_into(&mut salvage.outcome);
                    salvage.store = Some(store);
                    return salvage;
                }
            }
            Err(StoreError::Damaged { detail, .. }) => why = detail,
            Err(error) => why = with_causes(&error),
        }
    }
    if let Some((_, index)) = best
        && let Ok(store) = attempt(from, place, WAYS[index].1)
    {
        let sealed = SledStore::sealed_commits(from).unwrap_or(0);
        salvage.outcome = format!("{}; {} of {sealed} commits recovered", WAYS[index].0, store.commits());
        salvage.store = Some(store);
    } else {
        salvage.outcome = format!("can't be opened: {}", page::clean::clean_to(&why, 300));
    }
    salvage
}

fn attempt(from: &Path, place: &Path, prepare: fn(&Path)) -> Result<SledStore, StoreError> {
    drop(fs::remove_dir_all(place));
    copy_database(from, place).map_err(|source| StoreError::Io { path: from.to_owned(), source })?;
    prepare(place);
    let store = SledStore::open_as_it_is(place)?;
    match store.get(Tree::Meta, b"format")? {
        Some(_) => Ok(store),
        None => Err(StoreError::Damaged {
            path: from.to_owned(),
            detail: "nothing could be recovered from it".to_owned(),
        }),
    }
}

fn without_snapshots(path: &Path) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("snap.") {
            // A copy of ours; sled will say what is still wrong with it.
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Puts the settings of a new database in the place of those that can't be read: they are the same for all of ours.
fn with_conf(path: &Path) {
    let Ok(fresh) = tempfile::tempdir() else { return };
    let fresh = fresh.path().join("db");
    if SledStore::create(&fresh).is_ok() {
        drop(fs::copy(fresh.join("conf"), path.join("conf")));
    }
}

impl Salvage {
    /// The value of a key, if it can be read.
    pub(super) fn get(&self, tree: Tree, key: &[u8]) -> Option<Vec<u8>> {
        self.store.as_ref()?.get(tree, key).ok().flatten()
    }

    /// The crawl's fingerprint key, if it can be read; otherwise another one.
    pub(super) fn key(&self) -> FingerprintKey {
        let kept = self.get(Tree::Meta, b"fingerprint_key");
        kept.and_then(|key| FingerprintKey::from_bytes(&key)).unwrap_or_else(crate::format::new_key)
    }

    /// The pages that there were at the last commit, if that is known.
    pub(super) fn pages_counted(&self) -> Option<u64> {
        let store = self.store.as_ref()?;
        match store.get(Tree::Meta, b"format").ok()?.as_deref() {
            Some(b"1") => store.entries(Tree::Pages),
            _ => State::read(store).ok().map(|state| state.count),
        }
    }

    /// Returns every page record that can be read to `each`, with its links unless these are lost; false if a part couldn't be read.
    /// Databases of form 1 hold one page a value.
    pub(super) fn pages<E>(
        &self,
        mut each: impl FnMut(PageRecord, Option<Vec<LinkRecord>>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let Some(store) = &self.store else { return Ok(false) };
        let mut readable = true;
        let whole = self.each(Tree::Pages, |key, value| {
            if let Some(page) = key.get(..12) {
                let Ok(record) = serde_json::from_slice::<PageRecord>(&value) else { return Ok(()) };
                let links = self.get(Tree::Links, page).and_then(|value| unpack_links(&value).ok());
                let links = links.or((record.links_out == 0).then(Vec::new));
                return each(record, links);
            }
            let Ok(entries) = page_store::entries(&key, &value) else {
                readable = false;
                return Ok(());
            };
            for (number, entry) in entries {
                let Ok(record) = entry.read::<PageRecord>() else { continue };
                each(record, page_store::links_of_number(store, number, &entry).ok())?;
            }
            Ok(())
        })?;
        Ok(whole && readable)
    }

    /// Returns every entry of a tree that can be read to `each`; false if a part couldn't be read.
    ///
    /// Where sled stops, reading continues from the end, and host by host in between.
    pub(super) fn each<E>(
        &self,
        tree: Tree,
        mut each: impl FnMut(Vec<u8>, Vec<u8>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let Some(store) = &self.store else { return Ok(false) };
        let mut last: Option<Vec<u8>> = None;
        let mut whole = true;
        for pair in store.scan(tree, &[]) {
            match pair {
                Ok((key, value)) => {
                    last = Some(key.clone());
                    each(key, value)?;
                }
                Err(StoreError::Lost { .. }) => return Ok(false),
                Err(_) => whole = false,
            }
        }
        if whole {
            return Ok(true);
        }
        let is_new = |key: &Vec<u8>, last: &Option<Vec<u8>>| last.as_ref().is_none_or(|last| key > last);
        let mut first_behind: Option<Vec<u8>> = None;
        let behind = store.scan_back(tree, &[]).map_while(Result::ok);
        for (key, value) in behind.take_while(|(key, _)| is_new(key, &last)) {
            first_behind = Some(key.clone());
            each(key, value)?;
        }
        for prefix in between(tree, last.as_deref(), first_behind.as_deref()) {
            for (key, value) in around(store, tree, &prefix) {
                let is_before = first_behind.as_ref().is_none_or(|first| key < *first);
                if is_before && is_new(&key, &last) {
                    each(key, value)?;
                }
            }
        }
        Ok(false)
    }
}

/// What the keys between two begin with, for trees whose keys begin with a host or are numbers of pages.
fn between(tree: Tree, last: Option<&[u8]>, first: Option<&[u8]>) -> Vec<Vec<u8>> {
    const MOST: u64 = 1_000_000;
    // Pages are joined, some 10 to a value: 256 numbers are some 25 keys.
    let width = match tree {
        Tree::Pages | Tree::Links if [last, first].iter().flatten().all(|key| key.len() == 8) => 7,
        Tree::Hosts | Tree::Queue | Tree::Seen | Tree::Pages | Tree::Links => 4,
        _ => return Vec::new(),
    };
    let number =
        |key: &[u8]| key.get(..width).map(|bytes| bytes.iter().fold(0, |n, o| n << 8 | u64::from(*o)));
    let from = last.and_then(number).unwrap_or(0);
    let to = first.and_then(number).unwrap_or_else(|| from.saturating_add(100_000));
    let prefix = |number: u64| number.to_be_bytes()[8 - width..].to_vec();
    (from..=to.min(from.saturating_add(MOST))).map(prefix).collect()
}

/// What can be read of the entries under a prefix from both ends.
fn around(store: &SledStore, tree: Tree, prefix: &[u8]) -> Vec<Pair> {
    let mut found: Vec<Pair> = Vec::new();
    let mut whole = true;
    for pair in store.scan(tree, prefix) {
        match pair {
            Ok(pair) => found.push(pair),
            Err(_) => whole = false,
        }
    }
    if !whole {
        let last = found.last().map(|(key, _)| key.clone());
        let behind = store.scan_back(tree, prefix).map_while(Result::ok);
        found.extend(behind.take_while(|(key, _)| last.as_ref().is_none_or(|last| key > last)));
    }
    found
}
