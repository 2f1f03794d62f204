//! The WARC files of a crawl: as far as they are committed, and without what may not be shown any more.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Part, WaczError};
use crate::cdxj;
use crate::commit::{ArchiveEnd, WARC_END, warc_end_key};
use crate::nofollow;
use crate::page_store;
use crate::post::{ForgottenFile, Series};
use crate::record::{Archived, Withdrawal};
use crate::sorter::Sorter;
use crate::store::{AnyStore, Store as _, Tree};
use crate::warc::{self, Location};

/// A file of the archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WarcFile {
    /// Its name in the WACZ file: its own, unless an earlier crawl has one of that name.
    pub(super) name: String,
    path: PathBuf,
    /// Bytes of it that are committed.
    length: u64,
}

/// The files of a crawl, and the captures in them that are omitted.
#[derive(Debug)]
pub(super) struct Archive {
    files: Vec<WarcFile>,
    /// By the file's own name, then by offset: the length and the tombstone's URL and reason.
    left_out: BTreeMap<String, BTreeMap<u64, Withdrawal>>,
}

impl Archive {
    /// Finds the files of a crawl, the `number`-th from 0, as far as the database says that they are committed.
    pub(super) fn open(part: &Part<'_>, number: usize, earlier: &[Self]) -> Result<Self, WaczError> {
        for store in part.stores {
            if let Some(pair) = store.scan(Tree::Meta, ForgottenFile::PREFIX).next() {
                let file = ForgottenFile::read(&pair?.0).map(|file| file.to_string()).unwrap_or_default();
                return Err(WaczError::Forgotten(file));
            }
        }
        let taken: HashSet<&str> =
            earlier.iter().flat_map(|archive| &archive.files).map(|file| file.name.as_str()).collect();
        let mut ends: BTreeMap<Option<String>, Option<ArchiveEnd>> = BTreeMap::new();
        let mut own_names = HashSet::new();
        let mut files = Vec::new();
        for (serial, path) in
            part.archive.iter().map(|dir| warc::files(dir)).collect::<Result<Vec<_>, _>>()?.concat()
        {
            let own = file_name(&path);
            let series = warc::series(&own).map(str::to_owned);
            let end = match ends.entry(series) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let end = end_of(part.stores, new.key().as_deref())?;
                    new.insert(end)
                }
            };
            let Some(ArchiveEnd { end, synced }) = end else { continue };
            // A file that is in two directories, as a link, is one.
            if warc::serial(&end.file).is_none_or(|last| serial > last) || !own_names.insert(own.clone()) {
                continue;
            }
            let length = if own == end.file {
                // What follows isn't committed; and what wasn't synced may have been lost since, in a power failure.
                let whole = synced.map(|synced| warc::whole_until(&path, synced, end.offset)).transpose()?;
                whole.unwrap_or(end.offset)
            } else {
                path.metadata().map_err(|source| WaczError::Read { path: path.clone(), source })?.len()
            };
            let name = if taken.contains(own.as_str()) { format!("{}-{own}", number + 1) } else { own };
            files.push(WarcFile { name, path, length });
        }
        if part.root.is_none() {
            require_all(part.stores, &own_names)?;
        }
        if files.is_empty() {
            let place = part.root.or(part.archive.first().map(PathBuf::as_path)).unwrap_or(Path::new(""));
            return Err(WaczError::NoArchive(place.to_owned()));
        }
        let mut archive = Self { files, left_out: BTreeMap::new() };
        for store in part.stores {
            for pair in store.scan(Tree::Withdrawn, &[]) {
                let withdrawal: Withdrawal = serde_json::from_slice(&pair?.1)?;
                if !withdrawal.done {
                    archive.leave_out(withdrawal);
                }
            }
        }
        Ok(archive)
    }

    pub(super) fn files(&self) -> &[WarcFile] {
        &self.files
    }

    /// Puts a tombstone in the place of a capture.
    pub(super) fn leave_out(&mut self, withdrawal: Withdrawal) {
        let of_file = self.left_out.entry(withdrawal.place.file.clone()).or_default();
        of_file.insert(withdrawal.place.offset, withdrawal);
    }

    fn left_out_of(&self, file: &WarcFile) -> impl Iterator<Item = &Withdrawal> {
        self.left_out.get(&file_name(&file.path)).into_iter().flat_map(BTreeMap::values)
    }

    /// Copies a file.
    pub(super) fn copy(&self, file: &WarcFile, out: &mut dyn Write) -> Result<(), WaczError> {
        let error = |source| WaczError::Read { path: file.path.clone(), source };
        let mut source = nofollow::open(&file.path).map_err(error)?;
        let mut at = 0;
        for withdrawal in self.left_out_of(file) {
            let Archived { file, offset, length } = withdrawal.place.clone();
            copy(&mut source, offset - at, out).map_err(|fault| fault.of(error))?;
            let place = Location { file, offset, length };
            out.write_all(&warc::tombstone(&place, &withdrawal.url, withdrawal.at, &withdrawal.because)?)?;
            at = offset + length;
            source.seek(SeekFrom::Start(at)).map_err(error)?;
        }
        copy(&mut source, file.length - at, out).map_err(|fault| fault.of(error))
    }

    /// Gives the lines of the index to a sorter.
    pub(super) fn index(&self, sorter: &mut Sorter) -> Result<(), WaczError> {
        for file in &self.files {
            let left_out: HashSet<u64> =
                self.left_out_of(file).map(|withdrawal| withdrawal.place.offset).collect();
            let mut records = warc::Reader::open(&file.path)?;
            let mut read = 0;
            while read < file.length {
                let Some(record) = records.next().transpose()? else { break };
                read = record.offset + record.length;
                if !left_out.contains(&record.offset)
                    && let Some(line) = cdxj::line(&record, &file.name)
                {
                    sorter.push(line.as_bytes())?;
                }
            }
        }
        Ok(())
    }
}

/// Up to where the files of a series are committed; none where nothing is. In a cluster the partition that wrote a series knows.
fn end_of(stores: &[AnyStore], series: Option<&str>) -> Result<Option<ArchiveEnd>, WaczError> {
    let key = series.map_or_else(|| WARC_END.to_owned(), warc_end_key);
    let of_part = series.and_then(Series::read).and_then(|series| stores.get(series.part as usize));
    let stores = match of_part {
        Some(store) if stores.len() > 1 => std::slice::from_ref(store),
        _ => stores,
    };
    for store in stores {
        if let Some(end) = store.get(Tree::Meta, key.as_bytes())? {
            return Ok(Some(serde_json::from_slice(&end)?));
        }
    }
    Ok(None)
}

/// Refuses where a file is missing that a page refers to: another worker has it. Cost: one pass over the page records.
fn require_all(stores: &[AnyStore], names: &HashSet<String>) -> Result<(), WaczError> {
    for store in stores {
        for page in page_store::scan(store) {
            let record = page?.record()?;
            if let Some(place) = record.captures().find(|place| !names.contains(&place.file)) {
                return Err(WaczError::Missing(place.file.clone()));
            }
        }
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What failed while bytes were copied.
enum Fault {
    Read(io::Error),
    Write(io::Error),
}

impl Fault {
    fn of(self, read: impl FnOnce(io::Error) -> WaczError) -> WaczError {
        match self {
            Self::Read(error) => read(error),
            Self::Write(error) => WaczError::Write(error),
        }
    }
}

/// Copies so many bytes; fewer are an error.
fn copy(source: &mut File, mut count: u64, out: &mut dyn Write) -> Result<(), Fault> {
    let mut buffer = vec![0; 256 << 10];
    while count > 0 {
        let part = usize::try_from(count).unwrap_or(usize::MAX).min(buffer.len());
        source.read_exact(&mut buffer[..part]).map_err(Fault::Read)?;
        out.write_all(&buffer[..part]).map_err(Fault::Write)?;
        count -= part as u64;
    }
    Ok(())
}
