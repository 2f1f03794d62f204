//! A crawl's output directory: its names, its lock, and the atomic creation of a new one.
//!
//! `crawl.toml` effective settings and seeds, `db/` the database, `warc/` bodies, `log/` JSON log, `.lock` held while a
//! process works on it. The database is prepared as `db.new/` and renamed once the seeds are in it: a directory with
//! `db.new` and without `db` is a start that never fetched anything.

mod archive;
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
    match nofollow::find(root, SOCKET).map_err(|(path, error)| DirError::io("list", &path)(error))? {
        Some(nofollow::Refused { path, what }) => Err(DirError::Link { path, what }),
        None => Ok(()),
    }
}

/// Checks that a directory holds a crawl, as its settings show.
///
/// # Errors
/// [`DirError::NoCrawl`]; [`DirError::NoSettings`] where there is a database alone; [`DirError::Io`] where this user may not look.
pub fn expect_crawl(root: &Path) -> Result<(), DirError> {
    let settings = root.join("crawl.toml");
    match fs::metadata(&settings) {
        Ok(found) if found.is_file() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(DirError::io("read", &settings)(error))
        }
        _ if swap::whole_database(root).exists() => Err(DirError::NoSettings(root.to_owned())),
        _ => Err(DirError::NoCrawl(root.to_owned())),
    }
}

/// An output directory that this process holds.
#[derive(Debug)]
pub struct CrawlDir {
    root: PathBuf,
    /// None where another value locks the directory, or another process.
    lock: Option<File>,
    /// The archive directory, locked; none where there was none, or it isn't written.
    archive: Option<File>,
}

impl CrawlDir {
    /// Takes a directory for a new crawl; makes it if it isn't there.
    pub fn create(root: &Path) -> Result<Self, DirError> {
        refuse_links(root)?;
        let made = !root.exists();
        fs::create_dir_all(root).map_err(DirError::io("create the directory", root))?;
        let mut dir = match Self::lock(root) {
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
        if let Err(error) = dir.take_archive().and_then(|()| dir.prepare_db()) {
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
        expect_crawl(root)?;
        let dir = Self::lock(root)?;
        swap::settle(root)?;
        Ok(dir)
    }

    /// As [`CrawlDir::open`], of a directory that this user can't write in: no crawl can begin to write there while this value lives,
    /// but others may read. Nothing in it is changed.
    ///
    /// # Errors
    /// [`DirError::InUse`] where a process that may write holds it.
    pub(crate) fn open_read_only(root: &Path) -> Result<Self, DirError> {
        refuse_links(root)?;
        expect_crawl(root)?;
        let path = root.join(".lock");
        let lock = match nofollow::open(&path) {
            Ok(lock) => lock,
            // A copy without hidden files: no process can have locked it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::unlocked(root)),
            Err(source) => return Err(DirError::Io { action: "read", path, source }),
        };
        match lock.try_lock_shared() {
            Ok(()) => Ok(Self { root: root.to_owned(), lock: Some(lock), archive: None }),
            Err(TryLockError::WouldBlock) => Err(DirError::InUse(root.to_owned())),
            Err(TryLockError::Error(source)) => Err(DirError::Io { action: "lock", path, source }),
        }
    }

    /// As [`CrawlDir::open`], to continue the crawl: one that was moved to a cluster is refused.
    pub fn open_to_continue(root: &Path) -> Result<Self, DirError> {
        let dir = Self::open_alone(root)?;
        moved::refuse(root)?;
        Ok(dir)
    }

    /// As [`CrawlDir::open`], to write in the archive: it is refused where a worker uses that too.
    pub fn open_alone(root: &Path) -> Result<Self, DirError> {
        let mut dir = Self::open(root)?;
        dir.take_archive()?;
        Ok(dir)
    }

    /// The names in a directory that isn't locked by this value.
    pub fn unlocked(root: &Path) -> Self {
        Self { root: root.to_owned(), lock: None, archive: None }
    }

    /// Holds a directory that is only read: against a crawl that would write there. None where it can't be written at all.
    pub fn hold(root: &Path) -> Result<Option<Self>, DirError> {
        refuse_links(root)?;
        match Self::lock(root) {
            Ok(mut dir) => {
                dir.take_archive()?;
                Ok(Some(dir))
            }
            Err(error) if error.is_write_refused() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a directory for the files of a cluster's worker; makes it if it isn't there. There is no database in it.
    pub fn of_worker(root: &Path) -> Result<Self, DirError> {
        refuse_links(root)?;
        fs::create_dir_all(root).map_err(DirError::io("create the directory", root))?;
        let dir = Self::lock(root)?;
        if dir.settings().exists() {
            return Err(DirError::HoldsCrawl(root.to_owned()));
        }
        dir.refuse_used_archive()?;
        Ok(dir)
    }

    /// Takes a directory for the archive of a cluster's worker, besides the worker's own; makes it if it isn't there.
    ///
    /// # Errors
    /// [`DirError::ArchiveInUse`] where it is in use, or lies in an archive that is, or around one, through links too;
    /// [`DirError::ArchiveOfCrawl`], [`DirError::ArchiveIsOwn`].
    pub fn of_archive(archive: &Path, worker: &Self) -> Result<Self, DirError> {
        let canonical = |path: &Path| fs::canonicalize(path).map_err(DirError::io("find", path));
        let made = !archive.exists();
        fs::create_dir_all(archive).map_err(DirError::io("create the directory", archive))?;
        let (root, own) = (canonical(archive)?, canonical(worker.root())?);
        if root == own {
            return Err(DirError::ArchiveIsOwn(archive.to_owned()));
        }
        refuse_links(&root)?;
        let crawl = if root.ends_with("warc") { root.parent() } else { None };
        for dir in [Some(root.as_path()), crawl].into_iter().flatten() {
            if Self::unlocked(dir).settings().exists() {
                return Err(DirError::ArchiveOfCrawl { archive: archive.to_owned(), crawl: dir.to_owned() });
            }
        }
        let mut dir = Self::lock(&root).map_err(|error| match error {
            DirError::InUse(holder) => DirError::ArchiveInUse { archive: archive.to_owned(), holder },
            error => error,
        })?;
        if let Some(lock) = &mut dir.lock {
            archive::note(lock, Some(&own)).map_err(DirError::io("write in the directory", archive))?;
        }
        let taken = archive::refuse_used(&root, &[&root, &own]).and_then(|()| {
            // That of the worker itself is locked by it.
            let is_own = root == own.join("warc");
            dir.archive = if is_own { None } else { archive::lock(&root)? };
            Ok(())
        });
        taken.inspect_err(|_| {
            if made {
                drop(fs::remove_file(root.join(".lock")));
                drop(fs::remove_dir(&root));
            }
        })?;
        Ok(dir)
    }

    /// Refuses an archive directory that another process writes in: it isn't taken, and what is there may be read at any time.
    #[cfg(any(feature = "cluster", test))]
    pub(crate) fn refuse_used(archive: &Path) -> Result<(), DirError> {
        let root = fs::canonicalize(archive).map_err(DirError::io("find", archive))?;
        archive::refuse_used(&root, &[])?;
        archive::lock(&root).map(drop)
    }

    /// Makes the archive directory `warc/` of a worker, and locks it as long as the file is open.
    ///
    /// # Errors
    /// [`DirError::ArchiveInUse`]: by another process, which may name it by another path.
    #[cfg(any(feature = "cluster", test))]
    pub(crate) fn lock_archive(&self) -> Result<Option<File>, DirError> {
        let dir = self.warc();
        fs::create_dir_all(&dir).map_err(DirError::io("create the directory", &dir))?;
        archive::lock(&dir)
    }

    /// Locks the archive of this directory where it is there. Refused as by [`Self::refuse_used_archive`].
    fn take_archive(&mut self) -> Result<(), DirError> {
        self.refuse_used_archive()?;
        let dir = self.warc();
        if dir.is_dir() {
            self.archive = archive::lock(&dir)?;
        }
        Ok(())
    }

    /// Refuses the archive of this directory where another process uses it, or one around it or in it.
    fn refuse_used_archive(&self) -> Result<(), DirError> {
        let root = fs::canonicalize(&self.root).map_err(DirError::io("find", &self.root))?;
        archive::refuse_used(&root.join("warc"), &[&root])
    }

    fn lock(root: &Path) -> Result<Self, DirError> {
        let path = root.join(".lock");
        let mut lock = nofollow::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(nofollow::explain)
            .map_err(DirError::io("write in the directory", root))?;
        match lock.try_lock() {
            Ok(()) => {
                archive::note(&mut lock, None).map_err(DirError::io("write in the directory", root))?;
                Ok(Self { root: root.to_owned(), lock: Some(lock), archive: None })
            }
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
        let dirs = ["log", "index", "index-later"].map(|name| self.root.join(name));
        for path in dirs.into_iter().chain([self.unfinished_db(), self.db(), self.warc()]) {
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

    /// How a process takes directories.
    #[derive(Debug, Clone, Copy)]
    enum Taken<'a> {
        /// A crawl on one machine: `--out`.
        Crawl(&'a str),
        /// A worker: `--out`.
        Worker(&'a str),
        /// A worker: `--out` and `--warc`.
        Apart(&'a str, &'a str),
        /// A crawl of before, for `warc.dedup` or `crawl repair`.
        Read(&'a str),
        /// `crawl forget`, `resume`.
        Again(&'a str),
        /// `crawl cluster download --out`.
        Copy(&'a str),
    }

    fn take(top: &Path, taken: Taken<'_>) -> Result<Vec<CrawlDir>, DirError> {
        let at = |name: &str| if name == "." { top.to_owned() } else { top.join(name) };
        Ok(match taken {
            Taken::Crawl(out) => {
                let dir = CrawlDir::create(&at(out))?;
                dir.write_settings("x = 1\n").unwrap();
                dir.finish_db().unwrap();
                fs::create_dir_all(dir.warc()).unwrap();
                vec![dir]
            }
            Taken::Worker(out) => {
                let dir = CrawlDir::of_worker(&at(out))?;
                fs::create_dir_all(dir.warc()).unwrap();
                vec![dir]
            }
            Taken::Apart(out, archive) => {
                let dir = CrawlDir::of_worker(&at(out))?;
                vec![CrawlDir::of_archive(&at(archive), &dir)?, dir]
            }
            Taken::Read(out) => CrawlDir::hold(&at(out))?.into_iter().collect(),
            Taken::Again(out) => vec![CrawlDir::open_alone(&at(out))?],
            Taken::Copy(out) => {
                fs::create_dir_all(at(out)).unwrap();
                CrawlDir::refuse_used(&at(out)).map(|()| Vec::new())?
            }
        })
    }

    /// Whoever comes second finds the first one, whichever of the directories either of them names, and however.
    #[test]
    fn one_process_at_a_time_has_an_archive_directory_whoever_names_it_and_how() {
        use Taken::{Again, Apart, Copy, Crawl, Read, Worker};
        let refused = [
            // The same archive, its parent, a directory in it, one around it, by its name and through links.
            (Worker("one"), Apart("two", "one/warc")),
            (Worker("one"), Apart("two", "one")),
            (Worker("one"), Apart("two", "one/warc/sub")),
            (Worker("one"), Apart("two", "one/warc/sub/deeper")),
            (Worker("one"), Apart("two", "one/warc/../warc/.")),
            (Worker("one"), Apart("two", "link-to-one/warc")),
            (Worker("one"), Apart("two", "link-to-warc")),
            (Worker("one"), Apart("two", "link-to-warc/sub")),
            (Worker("link-to-one"), Apart("two", "one/warc")),
            (Worker("in/one"), Apart("two", "in")),
            (Apart("one", "a"), Apart("two", "a")),
            (Apart("one", "a"), Apart("two", "link-to-a")),
            (Apart("one", "link-to-a"), Apart("two", "a")),
            (Apart("one", "a"), Apart("two", "a/b")),
            (Apart("one", "a"), Apart("two", "a/b/c/d")),
            (Apart("one", "a/b"), Apart("two", "a")),
            (Apart("one", "a/b/c"), Apart("two", "a")),
            (Apart("one", "a"), Worker("a")),
            (Apart("one", "a"), Worker("a/two")),
            (Apart("one", "two/warc"), Worker("two")),
            (Apart("one", "two/warc/sub"), Worker("two")),
            (Apart("one", "a"), Crawl("a")),
            (Apart("one", "a"), Crawl("a/two")),
            (Apart("one", "two/warc"), Crawl("two")),
            (Crawl("one"), Apart("two", "one/warc")),
            (Crawl("one"), Apart("two", "one/warc/sub")),
            (Crawl("one"), Apart("two", "link-to-warc")),
            (Crawl("one"), Worker("one/warc/two")),
            (Crawl("one"), Crawl("one/warc/two")),
            (Apart("one", "before/warc"), Read("before")),
            (Apart("one", "before/warc"), Again("before")),
            (Worker("one"), Copy("one/warc")),
            (Apart("one", "a"), Copy("a")),
            (Apart("one", "a"), Copy("link-to-a")),
        ];
        let allowed = [
            (Worker("one"), Worker("two")),
            (Worker("one"), Apart("two", "a")),
            (Worker("one"), Crawl("two")),
            (Apart("one", "a"), Apart("two", "b")),
            (Apart("one", "in/a"), Apart("two", "in/b")),
            (Apart("one", "one/warc"), Worker("two")),
            (Apart("one", "one/archive"), Worker("two")),
            (Crawl("one"), Crawl("one/two")),
            (Worker("one"), Copy("copy/warc")),
        ];
        let cases = refused.map(|case| (case, true)).into_iter().chain(allowed.map(|case| (case, false)));
        for ((first, second), is_refused) in cases {
            let top = tempfile::tempdir().unwrap();
            for (link, target) in [("link-to-one", "one"), ("link-to-warc", "one/warc"), ("link-to-a", "a")] {
                fs::create_dir_all(top.path().join("a")).unwrap();
                std::os::unix::fs::symlink(target, top.path().join(link)).unwrap();
            }
            // What links lead to has to be there before.
            if matches!(first, Worker("link-to-one")) {
                fs::create_dir_all(top.path().join("one")).unwrap();
            }
            let is_later = matches!(second, Read("before") | Again("before"));
            let held = take(top.path(), first).unwrap_or_else(|error| panic!("{first:?}: {error}"));
            if is_later {
                // A crawl at rest whose archive the worker was given before the crawl had its settings back.
                fs::write(top.path().join("before/crawl.toml"), "x = 1\n").unwrap();
            }
            let found = take(top.path(), second);
            assert_eq!(found.is_err(), is_refused, "{first:?} {second:?}: {found:?}");
            if let Err(error) = &found {
                let words = error.to_string();
                let is_clear = ["in use by another", "has the archive of the crawl"]
                    .iter()
                    .any(|words_of| words.contains(words_of));
                assert!(is_clear && words.contains(&top.path().display().to_string()), "{words}");
            }
            drop((found.ok(), held));
            if !is_refused {
                continue;
            }
            let free = take(top.path(), second);
            assert!(
                free.is_ok() || matches!(free, Err(DirError::ArchiveOfCrawl { .. })),
                "{first:?} {second:?}, once the first has ended: {free:?}"
            );
        }
    }

    /// One that is mounted in two places, as into two containers, has no path in common.
    #[test]
    fn an_archive_directory_is_locked_itself() {
        let top = tempfile::tempdir().unwrap();
        let is_used = |found: Result<_, DirError>| matches!(found, Err(DirError::ArchiveInUse { .. }));
        let elsewhere = |path: &str| {
            let dir = File::open(top.path().join(path)).unwrap();
            dir.try_lock().map(|()| dir)
        };
        let worker = CrawlDir::of_worker(&top.path().join("one")).unwrap();
        let held = worker.lock_archive().unwrap();
        assert!(held.is_some() && elsewhere("one/warc").is_err());
        assert!(is_used(CrawlDir::refuse_used(&worker.warc())));
        drop(held);
        let lock = elsewhere("one/warc").unwrap();
        assert!(is_used(worker.lock_archive().map(drop)));
        drop(lock);

        drop(take(top.path(), Taken::Crawl("crawl")).unwrap());
        let lock = elsewhere("crawl/warc").unwrap();
        assert!(is_used(take(top.path(), Taken::Again("crawl")).map(drop)));
        assert!(is_used(take(top.path(), Taken::Read("crawl")).map(drop)));
        drop(lock);
        let held = take(top.path(), Taken::Again("crawl")).unwrap();
        assert!(elsewhere("crawl/warc").is_err());
        drop(held);

        let held = take(top.path(), Taken::Apart("two", "a")).unwrap();
        assert!(elsewhere("a").is_err());
        drop(held);
        let lock = elsewhere("a").unwrap();
        assert!(is_used(take(top.path(), Taken::Apart("two", "a")).map(drop)));
        drop(lock);
        assert!(take(top.path(), Taken::Apart("two", "a")).is_ok());
    }

    #[test]
    fn a_worker_is_not_given_the_archive_of_a_crawl_nor_its_own_directory() {
        let top = tempfile::tempdir().unwrap();
        drop(take(top.path(), Taken::Crawl("crawl")).unwrap());
        for archive in ["crawl", "crawl/warc"] {
            let error = take(top.path(), Taken::Apart("one", archive)).unwrap_err();
            assert!(matches!(error, DirError::ArchiveOfCrawl { .. }), "{error}");
        }
        let error = take(top.path(), Taken::Apart("one", "one")).unwrap_err();
        assert!(matches!(error, DirError::ArchiveIsOwn(_)), "{error}");
        // What is no file keeps nobody waiting.
        let pipe = top.path().join(".lock");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(take(top.path(), Taken::Apart("one", "a")).is_ok());
    }
}
