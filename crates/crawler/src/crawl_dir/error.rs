//! Why a directory can't be used.

use std::io;
use std::path::{Path, PathBuf};

use crate::nofollow;

/// Why a directory can't be used, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirError {
    /// A crawl is there already.
    #[error("{} already has a crawl: continue it with `crawl resume {}`, or choose another --out", .0.display(), .0.display())]
    HoldsCrawl(PathBuf),
    /// A crawl without a page is there, by rules that hold for a whole crawl.
    #[error("{} has a crawl without a page, which had other values of {keys}: they hold for the whole crawl. Give the same to begin a new run there, or choose another --out", .root.display())]
    OtherRules {
        /// The directory.
        root: PathBuf,
        /// The keys of the settings, separated by commas.
        keys: String,
    },
    /// Something else is there.
    #[error("{} has a database but no crawl.toml, and wasn't changed: choose another --out, restore crawl.toml, or run `crawl repair {} --out NEWDIR` to save what can be read", .0.display(), .0.display())]
    NoSettings(PathBuf),
    /// No crawl is there.
    #[error("{} has no crawl; start one with `crawl --seed FILE --agent NAME/VERSION --out {}`", .0.display(), .0.display())]
    NoCrawl(PathBuf),
    /// Another process works on it.
    #[error("{} is in use by another crawl or a program that reads it; wait for it to end, or stop a crawl with `crawl stop {}`", .0.display(), .0.display())]
    InUse(PathBuf),
    /// Another process writes in the archive directory, or in one around it or in it.
    #[error("{} can't be used for an archive: {} is in use by another crawl, worker or program that reads it, and one of the two lies in the archive of the other. Give each an archive directory of its own (--out, --warc), or wait for the other to end", .archive.display(), .holder.display())]
    ArchiveInUse {
        /// The archive directory.
        archive: PathBuf,
        /// The directory that the other process holds.
        holder: PathBuf,
    },
    /// A worker's archive would be that of a crawl on one machine.
    #[error("{} has the archive of the crawl in {}: give the worker another directory (--warc)", .archive.display(), .crawl.display())]
    ArchiveOfCrawl {
        /// The archive directory.
        archive: PathBuf,
        /// The directory of the crawl.
        crawl: PathBuf,
    },
    /// A worker's archive would be beside its log.
    #[error("--warc {} is the worker's own directory: leave --warc out for warc/ in it, or name another directory", .0.display())]
    ArchiveIsOwn(PathBuf),
    /// Something in it may lead outside of it, and nothing there was used.
    #[error("{} is {what}: nothing in the directory of a crawl is opened through one, because the directory may come from somebody else; remove it, or replace it with the file itself", .path.display())]
    Link {
        /// The link, pipe, device or socket that was found.
        path: PathBuf,
        /// What it is: `a symbolic link`, `a named pipe`.
        what: &'static str,
    },
    /// The crawl is continued elsewhere.
    #[error("{} was moved to {to}, and is continued there: it can be read here, not continued. Where that is gone and asks no host again, remove {}/moved.json and try again", .root.display(), .root.display())]
    Moved {
        /// The directory.
        root: PathBuf,
        /// Where to, and when.
        to: String,
    },
    /// The system refused to open, create, lock or list it.
    #[error("can't {action} {}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or directory that it was refused for.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
}

impl DirError {
    /// Whether this user can't write there. What can't be read is refused in the same words by the system: trying to read tells.
    pub fn is_write_refused(&self) -> bool {
        matches!(self, Self::Io { source, .. } if nofollow::is_write_refused(source))
    }

    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
