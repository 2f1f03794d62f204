//! A crawl's output directory: its names, its lock, and the atomic creation of a new one.
//!
//! `crawl.toml` effective settings and seeds, `db/` the database, `warc/` bodies, `log/` JSON log, `.lock` held while a
//! process works on it. The database is prepared as `db.new/` and renamed once the seeds are in it: a directory with
//! `db.new` and without `db` is a start that never fetched anything.

mod error;
pub(crate) mod moved;
pub(crate) mod swap;

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

pub use self::error::DirError;
pub use self::moved::Moved;
pub(crate) use self::swap::whole_database;
use crate::nofollow;

/// The socket of the process that holds a directory.
pub(crate) const SOCKET: &str = ".crawl.sock";

/// Refuses a directory that may come from somebody else and has a symbolic link, pipe or device where a crawl has files: what it leads to
/// would be read, cut or overwritten. To be called before anything in the directory is opened; [`CrawlDir`] does.
///
/// # Errors
/// [`DirError::Link`]; [`DirError::Io`] where a directory can't be listed.
pub fn refuse_links(root: &Path) -> Result<(), DirError> {
    match nofollow::find(root, SOCKET).map_err(DirError::io("list", root))? {
        Some(nofollow::Refused { path, what }) => Err(DirError::Link { path, what }),
        None => Ok(()),
    }
}

/// An output directory that this process holds.
#[derive(Debug)]
pub struct CrawlDir {
    root: PathBuf,
    /// None where another value locks the directory, or another process.
    lock: Option<File>,
}

impl CrawlDir {
    /// Takes a directory for a new crawl; makes it if it isn't there.
    pub fn create(root: &Path) -> Result<Self, DirError> {
        refuse_links(root)?;
        let made = !root.exists();
        fs::create_dir_all(root).map_err(DirError::io("create the directory", root))?;
        let dir = match Self::lock(root) {
            Ok(dir) => dir,
            Err(error) => {
                if made {
                    // No partial directory remains; what can't be removed was not ours.
                    drop(fs::remove_dir(root));
                }
                return Err(error);
            }
        };
        let refused = if dir.settings().exists() {
            Some(DirError::HoldsCrawl(root.to_owned()))
        } else if swap::whole_database(root).exists() {
            Some(DirError::NoSettings(root.to_owned()))
        } else {
            None
        };
        if let Some(error) = refused {
            return Err(error);
        }
        if let Err(error) = dir.prepare_db() {
            drop(fs::remove_dir_all(dir.unfinished_db()));
            drop(fs::remove_file(root.join(".lock")));
            if made {
                drop(fs::remove_dir(root));
            }
            return Err(error);
        }
        Ok(dir)
    }

    /// Takes the directory of a crawl that was started before.
    pub fn open(root: &Path) -> Result<Self, DirError> {
        refuse_links(root)?;
        if !root.join("crawl.toml").is_file() {
            let damaged = swap::whole_database(root).exists();
            return Err(if damaged { DirError::NoSettings } else { DirError::NoCrawl }(root.to_owned()));
        }
        let dir = Self::lock(root)?;
        swap::settle(root)?;
        Ok(dir)
    }

    /// As [`CrawlDir::open`], to continue the crawl: one that was moved to a cluster is refused.
    pub fn open_to_continue(root: &Path) -> Result<Self, DirError> {
        let dir = Self::open(root)?;
        moved::refuse(root)?;
        Ok(dir)
    }

    /// The names in a directory that isn't locked by this value.
    pub fn unlocked(root: &Path) -> Self {
        Self { root: root.to_owned(), lock: None }
    }

    /// Holds a directory that is only read: against a crawl that would write there. None where it can't be written at all.
    pub fn hold(root: &Path) -> Result<Option<Self>, DirError> {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        refuse_links(root)?;
        match Self::lock(root) {
            Ok(dir) => Ok(Some(dir)),
            Err(DirError::Io { source, .. })
                if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes a directory for the files of a cluster's worker; makes it if it isn't there. There is no database in it.
    pub fn of_worker(root: &Path) -> Result<Self, DirError> {
        refuse_links(root)?;
        fs::create_dir_all(root).map_err(DirError::io("create the directory", root))?;
        let dir = Self::lock(root)?;
        if dir.settings().exists() { Err(DirError::HoldsCrawl(root.to_owned())) } else { Ok(dir) }
    }

    fn lock(root: &Path) -> Result<Self, DirError> {
        let path = root.join(".lock");
        let lock = nofollow::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(nofollow::explain)
            .map_err(DirError::io("write in the directory", root))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { root: root.to_owned(), lock: Some(lock) }),
            Err(TryLockError::WouldBlock) => Err(DirError::InUse(root.to_owned())),
            Err(TryLockError::Error(source)) => Err(DirError::Io { action: "lock", path, source }),
        }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database.
    pub fn db(&self) -> PathBuf {
        self.root.join("db")
    }

    /// The database while the seeds are put in.
    pub fn unfinished_db(&self) -> PathBuf {
        self.root.join("db.new")
    }

    /// Archive files of a cluster's worker that are complete, and still have to be moved to object storage.
    pub fn complete_warc(&self) -> PathBuf {
        self.root.join("warc-complete")
    }

    /// The archive.
    pub fn warc(&self) -> PathBuf {
        self.root.join("warc")
    }

    /// The effective settings.
    pub fn settings(&self) -> PathBuf {
        self.root.join("crawl.toml")
    }

    /// True if a start was interrupted before anything was fetched.
    pub fn is_unfinished(&self) -> bool {
        self.unfinished_db().is_dir() && !self.db().exists()
    }

    /// Makes an empty place for the database; removes one of an interrupted start (it has at most seeds).
    pub fn prepare_db(&self) -> Result<(), DirError> {
        let path = self.unfinished_db();
        if path.exists() {
            fs::remove_dir_all(&path).map_err(DirError::io("remove the unfinished", &path))?;
        }
        fs::create_dir(&path).map_err(DirError::io("create", &path))?;
        self.sync()
    }

    /// Returns the prepared database its name.
    pub fn finish_db(&self) -> Result<(), DirError> {
        fs::rename(self.unfinished_db(), self.db()).map_err(DirError::io("rename", &self.unfinished_db()))?;
        self.sync()
    }

    /// Writes `crawl.toml`, whole or not at all.
    pub fn write_settings(&self, text: &str) -> Result<(), DirError> {
        let path = self.settings();
        let part = self.root.join("crawl.toml.part");
        let write = || -> io::Result<()> {
            let mut file = nofollow::create(&part)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&part, &path)
        };
        write().map_err(DirError::io("write", &path))?;
        self.sync()
    }

    /// Opens the JSON log of this run, to append to.
    pub fn log(&self) -> Result<File, DirError> {
        let dir = self.root.join("log");
        fs::create_dir_all(&dir).map_err(DirError::io("create the directory", &dir))?;
        let path = dir.join("crawl.jsonl");
        let log = nofollow::options().create(true).append(true).open(&path);
        log.map_err(nofollow::explain).map_err(DirError::io("write", &path))
    }

    /// Removes what a start that failed has made: nothing of it was a crawl yet, the database (which [`CrawlDir::create`] found
    /// no other of) holds seeds at the most.
    pub fn undo(self) {
        let names = ["crawl.toml.part", SOCKET, ".lock", moved::FILE].map(|name| self.root.join(name));
        for path in names.into_iter().chain([self.settings()]) {
            drop(fs::remove_file(path));
        }
        for path in
            [self.unfinished_db(), self.db(), self.root.join("log"), self.warc(), self.root.join("index")]
        {
            drop(fs::remove_dir_all(path));
        }
        drop(self.lock);
        // Only if it is empty: what else lies there isn't ours.
        drop(fs::remove_dir(&self.root));
    }

    fn sync(&self) -> Result<(), DirError> {
        File::open(&self.root).and_then(|dir| dir.sync_all()).map_err(DirError::io("sync", &self.root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_whole_or_undone() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("out");
        let dir = CrawlDir::create(&root).unwrap();
        assert!(dir.is_unfinished());
        assert!(matches!(CrawlDir::create(&root), Err(DirError::InUse(_))));
        dir.undo();
        assert!(!root.exists());

        let dir = CrawlDir::create(&root).unwrap();
        dir.write_settings("x = 1\n").unwrap();
        dir.finish_db().unwrap();
        assert!(!dir.is_unfinished());
        drop(dir);
        assert!(matches!(CrawlDir::create(&root), Err(DirError::HoldsCrawl(_))));
        assert!(CrawlDir::open(&root).is_ok());
        fs::remove_file(root.join("crawl.toml")).unwrap();
        assert!(matches!(CrawlDir::create(&root), Err(DirError::NoSettings(_))));
        assert!(matches!(CrawlDir::open(&root), Err(DirError::NoSettings(_))));
        assert!(root.join("db").exists(), "nothing is touched");
    }
}
