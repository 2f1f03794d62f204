//! The file of notes: one place for each body that is being read at the same time.
//!
//! Notes are written without fsync: they have to survive the death of the process, not of the machine. The file has
//! fingerprints under the crawl's key alone, no text of any page. A place keeps its note until another body takes it, because a stale note costs one
//! trial, and clearing notes would cost a second write per page.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::nofollow;
use crate::store::StoreError;
use page::url::Fingerprint;

/// The crawl's file in the output directory.
pub const FILE: &str = "reading";

/// The file of the commands that read archived responses again.
pub const ARCHIVE_FILE: &str = "reading-archive";

/// Bytes of a note: the fingerprint, and a check of it, each big-endian.
const NOTE: usize = 16;

/// Notes of earlier processes that are read: the newest ones.
const MOST: usize = 4_096;

/// Notes of the bodies that are being read, in a file.
#[derive(Debug)]
pub(super) struct Notes {
    path: PathBuf,
    places: Mutex<Places>,
    /// It was reported that notes can't be written.
    is_reported: AtomicBool,
}

#[derive(Debug)]
struct Places {
    /// Made with the first note.
    file: Option<File>,
    /// Where the places begin: behind the notes of earlier processes.
    base: u64,
    free: Vec<u64>,
    count: u64,
}

/// A note, until its body is read.
#[derive(Debug)]
pub struct Noted<'a> {
    notes: &'a Notes,
    place: u64,
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.notes.lock().free.push(self.place);
    }
}

impl Notes {
    /// Takes up a file of an output directory, and returns what it holds. What isn't a whole note is passed over.
    pub(super) fn open(root: &Path, file: &str) -> Result<(Self, Vec<Fingerprint>), StoreError> {
        let path = root.join(file);
        let failed = |source| StoreError::Io { path: path.clone(), source };
        let (bytes, length) = read_end(&path).map_err(failed)?;
        let mut met = HashSet::new();
        let notes = bytes.rchunks_exact(NOTE).filter_map(read).filter(|url| met.insert(*url));
        let mut notes: Vec<Fingerprint> = notes.take(MOST).collect();
        notes.reverse();
        if length > (MOST * NOTE) as u64 {
            write_all(&path, notes.iter().copied()).map_err(failed)?;
        }
        let base = length.min((MOST * NOTE) as u64).next_multiple_of(NOTE as u64);
        let places = Mutex::new(Places { file: None, base, free: Vec::new(), count: 0 });
        Ok((Self { path, places, is_reported: AtomicBool::new(false) }, notes))
    }

    /// Has it not be reported that notes can't be written, as in a directory that may only be read.
    pub(super) fn quiet(self) -> Self {
        Self { is_reported: AtomicBool::new(true), ..self }
    }

    /// Notes a URL; none where that fails, which is reported once.
    pub(super) fn note(&self, url: Fingerprint) -> Option<Noted<'_>> {
        match self.write(url) {
            Ok(place) => Some(Noted { notes: self, place }),
            Err(error) => {
                if !self.is_reported.swap(true, Ordering::Relaxed) {
                    let file = self.path.display();
                    tracing::warn!(%error, %file, "what is being read can't be noted: a page that ends the process won't be found");
                }
                None
            }
        }
    }

    fn write(&self, url: Fingerprint) -> io::Result<u64> {
        let mut places = self.lock();
        if places.file.is_none() {
            let options = nofollow::options().create(true).write(true).truncate(false).open(&self.path);
            let file = options.map_err(nofollow::explain)?;
            places.file = Some(file);
        }
        let place = places.free.pop().unwrap_or_else(|| {
            places.count += 1;
            places.count - 1
        });
        let at = places.base + place * NOTE as u64;
        let written = match &places.file {
            Some(file) => file.write_all_at(&note(url), at),
            None => Ok(()),
        };
        if written.is_err() {
            places.free.push(place);
        }
        written.map(|()| place)
    }

    /// Leaves these notes alone in the file; without any it is removed.
    pub(super) fn finish(&self, left: impl Iterator<Item = Fingerprint>) {
        let mut places = self.lock();
        places.file = None;
        let left: Vec<Fingerprint> = left.take(MOST).collect();
        let finished = if left.is_empty() {
            match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        } else {
            write_all(&self.path, left.iter().copied())
        };
        places.base = (left.len() * NOTE) as u64;
        places.free.clear();
        places.count = 0;
        if let Err(error) = finished
            && !self.is_reported.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(%error, "the notes of what was read can't be dropped");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last notes of a file, whole places from its beginning on, and its length.
fn read_end(path: &Path) -> io::Result<(Vec<u8>, u64)> {
    let file = match nofollow::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let whole = length - length % NOTE as u64;
    let from = whole.saturating_sub((MOST * NOTE) as u64);
    let mut bytes = Vec::new();
    let mut file = file;
    io::Seek::seek(&mut file, io::SeekFrom::Start(from))?;
    file.take(whole - from).read_to_end(&mut bytes)?;
    Ok((bytes, length))
}

fn write_all(path: &Path, notes: impl Iterator<Item = Fingerprint>) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = nofollow::create(&part)?;
    file.write_all(&notes.flat_map(note).collect::<Vec<u8>>())?;
    drop(file);
    fs::rename(&part, path)
}

fn note(url: Fingerprint) -> [u8; NOTE] {
    let mut note = [0; NOTE];
    let (text, check) = note.split_at_mut(NOTE / 2);
    text.copy_from_slice(&url.0.to_be_bytes());
    check.copy_from_slice(&check_of(url).to_be_bytes());
    note
}

fn read(note: &[u8]) -> Option<Fingerprint> {
    let (url, check) = note.split_first_chunk::<8>()?;
    let (url, check) = (Fingerprint(u64::from_be_bytes(*url)), check.first_chunk::<8>()?);
    (u64::from_be_bytes(*check) == check_of(url)).then_some(url)
}

/// Differs from what blank or torn places hold.
fn check_of(url: Fingerprint) -> u64 {
    !url.0.rotate_left(31).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(root: &Path) -> Vec<u64> {
        let mut left: Vec<u64> = Notes::open(root, FILE).unwrap().1.into_iter().map(|url| url.0).collect();
        left.sort_unstable();
        left
    }

    #[test]
    fn bodies_read_at_the_same_time_have_places_of_their_own() {
        let top = tempfile::tempdir().unwrap();
        let (notes, none) = Notes::open(top.path(), FILE).unwrap();
        assert!(none.is_empty() && !top.path().join(FILE).exists());
        let first = notes.note(Fingerprint(1));
        let second = notes.note(Fingerprint(2));
        assert_eq!(left(top.path()), [1, 2]);
        drop(first);
        let _third = notes.note(Fingerprint(3));
        assert_eq!(left(top.path()), [2, 3], "it takes the place of the one that is read");
        drop(second);
        // Thousands of pages one after the other need one place.
        for url in 10..5_000 {
            drop(notes.note(Fingerprint(url)));
        }
        assert_eq!(fs::metadata(top.path().join(FILE)).unwrap().len(), 32);
    }

    #[test]
    fn damaged_files_are_read_as_far_as_they_go() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join(FILE);
        let whole: Vec<u8> = [note(Fingerprint(1)), note(Fingerprint(2))].concat();
        for (bytes, expected) in [
            (Vec::new(), vec![]),
            (vec![0; 160], vec![]),
            (vec![0xff; 170], vec![]),
            (whole[..24].to_vec(), vec![1]),
            ([&whole[..], &[7; 9]].concat(), vec![1, 2]),
            ([&[0; 16], &whole[16..]].concat(), vec![2]),
            ([&whole[..4], &[9; 12], &whole[16..]].concat(), vec![2]),
            (b"not a file of notes at all, but longer than a note".to_vec(), vec![]),
        ] {
            fs::write(&file, &bytes).unwrap();
            assert_eq!(left(top.path()), expected, "{bytes:?}");
            // What is noted now is found beside it.
            let (notes, _) = Notes::open(top.path(), FILE).unwrap();
            let _noted = notes.note(Fingerprint(77));
            assert_eq!(left(top.path()), [&expected[..], &[77]].concat(), "{bytes:?}");
        }
    }

    #[test]
    fn a_process_that_dies_again_and_again_leaves_a_bounded_file() {
        let top = tempfile::tempdir().unwrap();
        write_all(&top.path().join(FILE), (0..MOST as u64 - 2).map(Fingerprint)).unwrap();
        for url in 10_000..10_006 {
            let (notes, _) = Notes::open(top.path(), FILE).unwrap();
            std::mem::forget(notes.note(Fingerprint(url)));
        }
        let left = left(top.path());
        assert_eq!(left.len(), MOST);
        assert_eq!(left[..2], [4, 5], "the oldest went");
        assert_eq!(left[MOST - 6..], [10_000, 10_001, 10_002, 10_003, 10_004, 10_005]);
        assert!(fs::metadata(top.path().join(FILE)).unwrap().len() <= (NOTE * (MOST + 1)) as u64);
    }
}
