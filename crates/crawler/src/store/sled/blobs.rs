//! Syncs the files that sled keeps beside its log.
//!
//! sled 0.34.7 stores a leaf of more than a quarter of a segment (32 KB) in a file of its own, `blobs/N`, and writes a pointer to it into
//! its log (`pagecache/blob_io.rs`). It never syncs these files nor their directory: after a power cut the log could name a file that
//! is empty or isn't there, and sled passes over such a pointer in silence. So each commit syncs those that are new, between `flush` and
//! the sync of the log.
//!
//! A commit without new files costs one `fstat`: after each look at the directory its time of modification is set to [`mark`],
//! which every file that is made or removed takes away. A commit with new ones lists the directory once.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::nofollow;
use crate::parallel;
use crate::store::StoreError;

/// What of a database's `blobs/` is synced.
#[derive(Debug)]
pub(super) struct Blobs {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// None until the first commit: what an earlier process didn't sync isn't known.
    dir: Option<File>,
    /// The files of the last look, sorted: 8 bytes each.
    known: Vec<i64>,
    /// Those that were new then, with the length that was synced. Another thread may have been writing them.
    fresh: Vec<(i64, u64)>,
}

/// From how many files on those that were there before the first commit are synced all at once, with whatever else waits in the file
/// system.
const MANY: usize = 64;

/// The directory's time of modification while nothing is new: a second after 1970 began.
fn mark() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1)
}

/// What a look at the files came to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Looked {
    /// How many files were synced by themselves.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests count them"))]
    pub(super) synced: usize,
    /// Files were made, removed, or written to since the last look.
    pub(super) changed: bool,
}

impl Blobs {
    pub(super) fn new(database: &Path) -> Self {
        Self { path: database.join("blobs"), state: Mutex::default() }
    }

    /// Syncs the files that are new since the last call, and the directory.
    pub(super) fn sync(&self) -> Result<Looked, StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let synced = state.sync(&self.path);
        if synced.is_err() {
            // Nothing is known to be synced.
            *state = State::default();
        }
        synced.map_err(|source| StoreError::Io { path: self.path.clone(), source })
    }
}

impl State {
    fn sync(&mut self, path: &Path) -> io::Result<Looked> {
        let mut synced = 0;
        for (id, length) in std::mem::take(&mut self.fresh) {
            synced += usize::from(sync_file(path, id, Some(length))?.is_some());
        }
        let mut changed = synced > 0;
        let is_first = self.dir.is_none();
        let dir = match self.dir.take() {
            Some(dir) => dir,
            None => File::open(path)?,
        };
        if is_first || dir.metadata()?.modified()? != mark() {
            changed = true;
            // Before the look: what is made from now on takes the mark away. Where it can't be set each commit looks.
            drop(dir.set_modified(mark()));
            let mut found = Vec::new();
            for entry in fs::read_dir(path)? {
                found.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i64>().ok()));
            }
            found.sort_unstable();
            if is_first && found.len() > MANY && CAN_SYNC_ALL {
                for id in &found {
                    self.fresh.extend(length(path, *id)?.map(|length| (*id, length)));
                }
                sync_all(&dir)?;
            } else {
                let new: Vec<i64> =
                    found.iter().copied().filter(|id| self.known.binary_search(id).is_err()).collect();
                self.fresh = sync_new(&dir, path, &new)?;
                synced += self.fresh.len();
            }
            self.known = found;
        }
        self.dir = Some(dir);
        Ok(Looked { synced, changed })
    }
}

/// Opens a file; none where it is gone: sled removes files that it doesn't need any more.
fn open(dir: &Path, id: i64) -> io::Result<Option<File>> {
    match nofollow::open(&dir.join(id.to_string())) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn length(dir: &Path, id: i64) -> io::Result<Option<u64>> {
    open(dir, id)?.map(|file| Ok(file.metadata()?.len())).transpose()
}

/// Syncs a file, unless it has this length, and gives its length from before. None where nothing was synced.
fn sync_file(dir: &Path, id: i64, unless: Option<u64>) -> io::Result<Option<u64>> {
    let Some(file) = open(dir, id)? else { return Ok(None) };
    let length = file.metadata()?.len();
    if unless == Some(length) {
        return Ok(None);
    }
    file.sync_all()?;
    Ok(Some(length))
}

/// Syncs new files and their directory, several at once: most of what a sync takes is waiting. Gives the files that are there, with their lengths.
fn sync_new(dir: &File, path: &Path, new: &[i64]) -> io::Result<Vec<(i64, u64)>> {
    // None is the directory.
    let all: Vec<Option<i64>> = [None].into_iter().chain(new.iter().copied().map(Some)).collect();
    let synced = parallel::try_map(&all, |id| match id {
        Some(id) => Ok(sync_file(path, *id, None)?.map(|length| (*id, length))),
        None => dir.sync_all().map(|()| None),
    })?;
    Ok(synced.into_iter().flatten().collect())
}

/// Whether [`sync_all`] does anything.
const CAN_SYNC_ALL: bool = cfg!(target_os = "linux");

/// Syncs the whole file system at once: what a killed process didn't sync, perhaps in thousands of files.
#[cfg(target_os = "linux")]
fn sync_all(dir: &File) -> io::Result<()> {
    rustix::fs::syncfs(dir).map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn sync_all(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_new_file_is_synced_once_and_nothing_where_none_is_new() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("blobs");
        fs::create_dir(&dir).unwrap();
        let write = |id: i64, bytes: &[u8]| fs::write(dir.join(id.to_string()), bytes).unwrap();
        write(5, b"from before");
        let blobs = Blobs::new(top.path());
        assert_eq!(blobs.sync().unwrap().synced, 1, "what was there isn't known to be synced");
        assert_eq!(blobs.sync().unwrap().synced, 0);
        // At the same tick of the clock as the last look, and not in the order of their names.
        for id in [70, 60, 61] {
            write(id, b"new");
            assert_eq!(blobs.sync().unwrap().synced, 1, "{id}");
        }
        assert_eq!(blobs.sync().unwrap().synced, 0);
        write(80, b"half");
        assert_eq!(blobs.sync().unwrap().synced, 1);
        write(80, b"half, and the rest");
        assert_eq!(blobs.sync().unwrap().synced, 1, "it was being written");
        assert_eq!(blobs.sync().unwrap().synced, 0);
        fs::remove_file(dir.join("60")).unwrap();
        write(90, b"new");
        fs::write(dir.join("other"), b"no number").unwrap();
        assert_eq!(blobs.sync().unwrap().synced, 1);
        assert_eq!(blobs.sync().unwrap().synced, 0);
    }

    #[test]
    fn many_files_from_before_are_synced_at_once_and_one_that_is_written_still_by_itself() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("blobs");
        fs::create_dir(&dir).unwrap();
        let many = 65;
        (0..many).for_each(|id: i64| fs::write(dir.join(id.to_string()), b"from before").unwrap());
        let blobs = Blobs::new(top.path());
        let by_themselves = if CAN_SYNC_ALL { 0 } else { MANY + 1 };
        assert_eq!(blobs.sync().unwrap().synced, by_themselves);
        fs::write(dir.join("7"), b"from before, and the rest").unwrap();
        assert_eq!(blobs.sync().unwrap().synced, 1);
        assert_eq!(blobs.sync().unwrap().synced, 0);
    }

    #[test]
    fn a_directory_that_is_gone_is_an_error() {
        let top = tempfile::tempdir().unwrap();
        assert!(matches!(Blobs::new(top.path()).sync(), Err(StoreError::Io { .. })));
    }
}
