//! A copy of a database, where its directory can't be written: sled opens no database without writing.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::nofollow;
use page::quantity::size;

/// Names of the directories that copies are made in begin with this.
const PREFIX: &str = "crawl-snapshot-";

/// A file in such a directory that is locked while it is used.
const LOCK: &str = ".lock";

/// What sled may write as it opens a database: a summary of its log, at most one part of this many of its size, and a little more.
const GROWTH: u64 = 8;

/// Bytes that are free besides.
const SPARE: u64 = 1024 * 1024;

/// Where databases are copied that can't be written, and what is called before.
#[derive(Debug, Clone)]
pub struct Copies {
    /// The directory that copies are made in; none is the one that the system has for temporary files.
    pub dir: Option<PathBuf>,
    /// Called before a copy is made.
    pub tell: fn(&CopyNotice<'_>),
}

/// A copy that is about to be made.
#[derive(Debug, Clone, Copy)]
pub struct CopyNotice<'a> {
    /// The directory of the crawl.
    pub root: &'a Path,
    /// Size of its database, in bytes.
    pub bytes: u64,
    /// The directory that the copy is made in, which is removed once it isn't read any more.
    pub place: &'a Path,
}

impl Default for Copies {
    /// Copies go where the system has temporary files, each with a warning in the log.
    fn default() -> Self {
        Self { dir: None, tell: |copy| tracing::warn!("{copy}") }
    }
}

impl std::fmt::Display for CopyNotice<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { root, bytes, place } = self;
        write!(
            f,
            "{} can't be written: its database ({}) is copied to {} to be read, and removed there at the end",
            root.display(),
            size(*bytes),
            place.display()
        )
    }
}

/// Why a database can't be copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// There isn't enough space.
    #[error(
        "{} can't be written, so its database has to be copied to be read: that takes {}, and {} has {} free; name another directory by --snapshot-dir",
        .root.display(), size(*.needed), .dir.display(), size(*.free)
    )]
    Space {
        /// The directory of the crawl.
        root: PathBuf,
        /// Where it was to be copied.
        dir: PathBuf,
        /// Bytes that the copy takes.
        needed: u64,
        /// Bytes that this user may still write there.
        free: u64,
    },
    /// The system refused to read, create or write a file of the copy.
    #[error("{} can't be written, so its database has to be copied to be read, and that failed: can't {action} {}", .root.display(), .path.display())]
    Io {
        /// The directory of the crawl.
        root: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The file or directory that it was refused for.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
}

/// A directory with a copy in it, which is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct Place {
    dir: tempfile::TempDir,
    /// Tells others that the directory is used.
    _lock: File,
}

impl Place {
    /// The directory.
    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The directory that the copy of `db/` has.
    pub(super) fn database(&self) -> PathBuf {
        self.path().join("db")
    }
}

/// Copies `database`, of the crawl in `root`, which can't be written. Nobody may write there meanwhile.
///
/// Cost: reads and writes as many bytes as the database has.
pub(super) fn copy(root: &Path, database: &Path, copies: &Copies) -> Result<Place, CopyError> {
    let error = |action, path: &Path| {
        let (root, path) = (root.to_owned(), path.to_owned());
        move |source| CopyError::Io { root, action, path, source }
    };
    let files = list(database).map_err(|(path, source)| error("read", &path)(source))?;
    let bytes = files.iter().map(|file| file.bytes).sum();
    let dir = copies.dir.clone().unwrap_or_else(std::env::temp_dir);
    remove_abandoned(&dir);
    let needed = bytes + bytes / GROWTH + SPARE;
    let space = rustix::fs::statvfs(&dir).map_err(io::Error::from).map_err(error("use", &dir))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    if free < needed {
        return Err(CopyError::Space { root: root.to_owned(), dir, needed, free });
    }
    let place = make(&dir).map_err(error("write in", &dir))?;
    (copies.tell)(&CopyNotice { root, bytes, place: place.path() });
    let copy = place.database();
    fs::create_dir(&copy).map_err(error("create", &copy))?;
    for file in &files {
        let (from, to) = (database.join(&file.name), copy.join(&file.name));
        let parent = to.parent().unwrap_or(&copy);
        fs::create_dir_all(parent).map_err(error("create", parent))?;
        let mut source = nofollow::open(&from).map_err(error("read", &from))?;
        let mut target = nofollow::create(&to).map_err(error("write", &to))?;
        io::copy(&mut source, &mut target).map_err(error("copy", &from))?;
    }
    Ok(place)
}

/// A file of a database.
struct Found {
    /// Its path in the database.
    name: PathBuf,
    bytes: u64,
}

/// Lists the files of a database. Whatever else is there was refused before.
fn list(database: &Path) -> Result<Vec<Found>, (PathBuf, io::Error)> {
    let (mut files, mut dirs) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(dir) = dirs.pop() {
        let path = database.join(&dir);
        let failed = |source| (path.clone(), source);
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = dir.join(entry.file_name());
            let found = entry.metadata().map_err(|source| (entry.path(), source))?;
            if found.is_dir() {
                dirs.push(name);
            } else if found.is_file() {
                files.push(Found { name, bytes: found.len() });
            }
        }
    }
    Ok(files)
}

/// Makes a place for a copy, which only this user can enter.
fn make(dir: &Path) -> io::Result<Place> {
    let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(dir)?;
    // It gets its name once it is locked: without that nobody takes the place for an abandoned one.
    let early = dir.path().join(".lock.new");
    let lock = nofollow::create(&early)?;
    lock.lock()?;
    fs::rename(&early, dir.path().join(LOCK))?;
    Ok(Place { dir, _lock: lock })
}

/// Removes the copies of processes of this user that were killed.
fn remove_abandoned(dir: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_copy = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        // Of the entry itself, not of what a link leads to.
        let is_ours = || entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user);
        if !is_copy || !is_ours() {
            continue;
        }
        let path = entry.path();
        let Ok(lock) = nofollow::open(&path.join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            // What can't be removed now is tried again by the next one.
            drop(fs::remove_dir_all(&path));
        }
    }
}
