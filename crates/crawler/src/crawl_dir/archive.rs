//! Archive directories that are in use: one process writes in one, and finds every other one from whichever side that was named.
//!
//! The archive of a crawl or worker with the directory `D` is `D/warc`, and `D/.lock` is held while it runs. A worker with
//! `--warc X` holds `X/.lock` besides, and its text says that `X` is an archive. The archive directory itself is locked too: it may be mounted in several
//! places, whose paths have nothing in common.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::error::DirError;

/// What the lock of a directory begins with that is an archive itself.
const ARCHIVE: &str = "archive";

/// Levels of directories below an archive that are looked through: `OTHER` and `OTHER/warc`.
const BELOW: u32 = 2;

/// Refuses an archive directory that is that of another process, or lies in one or around one. `own` are the directories that this process holds; all paths
/// are canonical, and `archive` may be missing.
///
/// Cost: opens one file for each directory above and for each of two levels below.
pub(super) fn refuse_used(archive: &Path, own: &[&Path]) -> Result<(), DirError> {
    let used = |holder: &Path| {
        Err(DirError::ArchiveInUse { archive: archive.to_owned(), holder: holder.to_owned() })
    };
    for dir in archive.ancestors().filter(|dir| !own.contains(dir)) {
        if let Some(held) = held(dir)
            && archive.starts_with(if held.is_archive { dir.to_owned() } else { dir.join("warc") })
        {
            return used(dir);
        }
    }
    let mut dirs = vec![(archive.to_owned(), 0)];
    while let Some((dir, level)) = dirs.pop() {
        // It is made later, or has gone; this user writes nothing into what can't be listed.
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries {
            let Ok(entry) = entry else { continue };
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let below = entry.path();
            if !own.contains(&below.as_path()) && held(&below).is_some() {
                return used(&below);
            }
            if level + 1 < BELOW {
                dirs.push((below, level + 1));
            }
        }
    }
    Ok(())
}

/// A directory that a process holds.
struct Held {
    /// It is an archive itself, not the directory of a crawl or worker, whose archive is `warc/` in it.
    is_archive: bool,
}

/// Whether any process holds a directory. One whose lock can't be opened isn't known to be held.
fn held(dir: &Path) -> Option<Held> {
    let mut options = OpenOptions::new();
    // A pipe of that name keeps nobody waiting.
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let mut lock = options.open(dir.join(".lock")).ok()?;
    match lock.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            let mut text = [0; ARCHIVE.len()];
            Some(Held { is_archive: lock.read_exact(&mut text).is_ok() && text == *ARCHIVE.as_bytes() })
        }
        // A lock of this process ends with its file, here.
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// Locks an archive directory as long as the file is open. None where the file system has no locks for directories.
pub(super) fn lock(archive: &Path) -> Result<Option<File>, DirError> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_DIRECTORY);
    let dir = options.open(archive).map_err(DirError::io("open", archive))?;
    match dir.try_lock() {
        Ok(()) => Ok(Some(dir)),
        Err(TryLockError::WouldBlock) => {
            Err(DirError::ArchiveInUse { archive: archive.to_owned(), holder: archive.to_owned() })
        }
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// Says in a lock that is held whether its directory is an archive, and of which worker's directory.
pub(super) fn note(lock: &mut File, of: Option<&Path>) -> io::Result<()> {
    if lock.metadata()?.len() > 0 {
        lock.set_len(0)?;
        lock.rewind()?;
    }
    match of {
        Some(worker) => writeln!(lock, "{ARCHIVE} of the worker in {}", worker.display()),
        None => Ok(()),
    }
}
