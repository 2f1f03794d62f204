//! The directory of the index, whose files are synced once something needs them: several at once, and none that is gone by then.
//!
//! tantivy syncs each file of a segment as it is written, and its list of files with each: a dozen times a segment, one after the other. What
//! has to be on the disk before `meta.json` names it is on the disk all the same: tantivy syncs the directory first.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, META_LOCK, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

use super::error::lacks_space;
use crate::nofollow;
use crate::parallel;

/// tantivy's list of the files that it made. Where it is lost they remain; where it is damaged the index is built again.
const MANAGED: &str = ".managed.json";

/// A directory of mapped files.
#[derive(Debug, Clone)]
pub(super) struct SyncedLater {
    inner: MmapDirectory,
    root: PathBuf,
    unsynced: Arc<Unsynced>,
}

/// Files that are complete and not synced.
#[derive(Debug, Default)]
struct Unsynced {
    files: Mutex<BTreeSet<PathBuf>>,
    /// A file couldn't be written for want of disk space, and that was said.
    lacks_space: AtomicBool,
}

impl Unsynced {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says once that disk space lacks: tantivy's threads report a file that can't be written in words of their own, or not at all.
    fn refused(&self, file: &Path, error: &io::Error) {
        if lacks_space(error) && !self.lacks_space.swap(true, Ordering::Relaxed) {
            let dir = file.parent().unwrap_or(file).display();
            tracing::warn!(%dir, "the search index lacks disk space");
        }
    }
}

impl SyncedLater {
    /// Opens a directory.
    ///
    /// # Errors
    /// It isn't there, or no directory.
    pub(super) fn open(root: &Path) -> Result<Self, OpenDirectoryError> {
        let inner = MmapDirectory::open(root)?;
        Ok(Self { inner, root: root.to_owned(), unsynced: Arc::default() })
    }

    /// Takes the lock of those who open the files that `meta.json` names, where this user can't write: shared, which keeps a writer from
    /// removing them meanwhile. Without a file of the lock nobody ever wrote beside a reader, and there is nothing to wait for.
    fn read_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let failed = |error| LockError::IoError(Arc::new(error));
        match nofollow::open(&self.root.join(&lock.filepath)) {
            Ok(file) => {
                file.lock_shared().map_err(failed)?;
                Ok(Box::new(file).into())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Box::new(()).into()),
            Err(error) => Err(failed(error)),
        }
    }

    /// Syncs the files that are complete and not synced.
    fn sync_files(&self) -> io::Result<()> {
        let files: Vec<PathBuf> = std::mem::take(&mut *self.unsynced.lock()).into_iter().collect();
        let synced = parallel::try_map(&files, |file| sync(file)).map(drop);
        synced.inspect_err(|_| self.unsynced.lock().extend(files))
    }
}

/// Syncs a file, unless it is gone: a merge may have removed it.
fn sync(file: &Path) -> io::Result<()> {
    match nofollow::open(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        opened => opened?.sync_data(),
    }
}

/// Refuses a path that leads out of the directory. The index has lists of its files, and may come from somebody else: tantivy deletes what
/// a list names and no segment has.
fn expect_name(path: &Path) -> io::Result<()> {
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(_)), None) => Ok(()),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "the index names a file outside of its directory")),
    }
}

/// A file that is being written.
struct Writing {
    file: File,
    path: PathBuf,
    unsynced: Arc<Unsynced>,
}

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|error| self.unsynced.refused(&self.path, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TerminatingWrite for Writing {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.unsynced.lock().insert(self.path.clone());
        Ok(())
    }
}

impl Directory for SyncedLater {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        expect_name(path).map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()))?;
        self.inner.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        expect_name(path)
            .map_err(|error| DeleteError::IoError { io_error: Arc::new(error), filepath: path.to_owned() })?;
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        expect_name(path).map_err(|error| OpenWriteError::wrap_io_error(error, path.to_owned()))?;
        let full = self.root.join(path);
        let opened = OpenOptions::new().write(true).create_new(true).open(&full);
        let file = opened.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        let unsynced = Arc::clone(&self.unsynced);
        Ok(BufWriter::new(Box::new(Writing { file, path: full, unsynced })))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        expect_name(path).map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()))?;
        self.inner.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        expect_name(path)?;
        if path != Path::new(MANAGED) {
            return self.inner.atomic_write(path, data);
        }
        let mut file = tempfile::NamedTempFile::new_in(&self.root)?;
        file.write_all(data)?;
        let full = self.root.join(path);
        file.persist(&full)?;
        self.unsynced.lock().insert(full);
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.sync_files()?;
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        match self.inner.acquire_lock(lock) {
            Err(LockError::IoError(error))
                if nofollow::is_write_refused(&error) && lock.filepath == META_LOCK.filepath =>
            {
                self.read_lock(lock)
            }
            taken => taken,
        }
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(callback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::error::SearchError;

    fn unsynced(directory: &SyncedLater) -> Vec<String> {
        let names = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        directory.unsynced.lock().iter().map(names).collect()
    }

    fn write(directory: &SyncedLater, name: &str) {
        let mut file = directory.open_write(Path::new(name)).unwrap();
        file.write_all(b"words").unwrap();
        file.terminate().unwrap();
    }

    #[test]
    fn what_is_complete_is_synced_with_the_directory_unless_it_is_gone() {
        let top = tempfile::tempdir().unwrap();
        let directory = SyncedLater::open(top.path()).unwrap();
        let open = directory.open_write(Path::new("open")).unwrap();
        for number in 0..20 {
            write(&directory, &format!("{number:02}"));
        }
        directory.delete(Path::new("07")).unwrap();
        directory.atomic_write(Path::new(MANAGED), b"[]").unwrap();
        directory.atomic_write(Path::new("meta.json"), b"{}").unwrap();
        let mut expected = vec![MANAGED.to_owned()];
        expected.extend((0..20).map(|number| format!("{number:02}")));
        assert_eq!(unsynced(&directory), expected, "not what is being written, nor what is synced at once");
        directory.clone().sync_directory().unwrap();
        assert!(unsynced(&directory).is_empty());
        open.terminate().unwrap();
        assert_eq!(unsynced(&directory), ["open"]);
        assert_eq!(std::fs::read(top.path().join("03")).unwrap(), b"words");
        assert_eq!(directory.atomic_read(Path::new(MANAGED)).unwrap(), b"[]");
        assert!(matches!(directory.open_write(Path::new("03")), Err(OpenWriteError::FileAlreadyExists(_))));
    }

    #[test]
    fn a_full_disk_is_distinguished_from_other_faults() {
        let unsynced = Arc::<Unsynced>::default();
        let writing = |device: &str| {
            let file = OpenOptions::new().write(true).open(device).unwrap();
            Writing { file, path: PathBuf::from(device), unsynced: Arc::clone(&unsynced) }
        };
        writing("/dev/null").write_all(b"words").unwrap();
        assert!(!unsynced.lacks_space.load(Ordering::Relaxed));
        // Linux, full(4): each write fails as on a full disk.
        let error = writing("/dev/full").write_all(b"words").unwrap_err();
        assert!(unsynced.lacks_space.load(Ordering::Relaxed), "{error}");
        assert_eq!(SearchError::from(error).message(), "the search index lacks disk space");
        let other = io::Error::from(ErrorKind::PermissionDenied);
        assert!(!lacks_space(&other));
        assert!(!SearchError::from(other).message().contains("disk space"));
    }

    #[test]
    fn what_cannot_be_synced_remains_to_be_synced() {
        let top = tempfile::tempdir().unwrap();
        let directory = SyncedLater::open(top.path()).unwrap();
        write(&directory, "1");
        // In the place of a directory there is a file: nothing under it can be opened.
        directory.unsynced.lock().insert(top.path().join("1").join("2"));
        directory.sync_directory().unwrap_err();
        assert_eq!(unsynced(&directory), ["1", "2"]);
    }
}
