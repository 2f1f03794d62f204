//! Files that are opened only where they really are, and not through a symbolic link.
//!
//! A crawl's directory may come from somebody else. A link in it that were followed would let its author choose which files of this
//! user are cut, appended to, overwritten or read. So [`refuse`] looks through the directory before anything in it is used, and every
//! file that isn't opened by sled or tantivy is opened with `O_NOFOLLOW` besides.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Names that the directories begin with in which a crawl keeps its own files: database, archive, log and full-text index, with the copies
/// that are made while one is replaced.
const OWN: [&str; 4] = ["db", "warc", "log", "index"];

/// What in a crawl's directory can't be what a crawl made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Path of what may not be opened.
    pub(crate) path: PathBuf,
    /// What it is, with its article.
    pub(crate) what: &'static str,
}

/// How to open a file that is no symbolic link; add `read`, `write` and so on. A link gives the error of [`explain`].
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NOFOLLOW);
    options
}

/// Says of an error of opening that it was a symbolic link, which the system calls a loop.
pub(crate) fn explain(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::new(
            ErrorKind::InvalidInput,
            "it is a symbolic link; files of a crawl aren't opened through one",
        ),
        _ => error,
    }
}

/// Whether an error says that this user can't write in a place: for want of permission, or because its file system is read-only.
pub(crate) fn is_write_refused(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Opens a file to read.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    options().read(true).open(path).map_err(explain)
}

/// Opens a file to write, empty; makes it if it isn't there.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(true).open(path).map_err(explain)
}

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole file of UTF-8 text.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Copies a file to one that isn't there yet or is replaced; returns its bytes.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    io::copy(&mut open(from)?, &mut create(to)?)
}

/// Looks for what a crawl never makes: a symbolic link, device or pipe at the top of a directory or anywhere in the directories of the
/// crawl's own files, or a socket other than `socket`. A directory that isn't there has none. Other directories in it aren't looked
/// through: no command opens a file there.
///
/// Cost: lists the directories, and opens no file.
///
/// # Errors
/// A directory that can't be listed, with the system's words.
pub(crate) fn find(root: &Path, socket: &str) -> Result<Option<Refused>, (PathBuf, io::Error)> {
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        let is_top = dir == root;
        let entries = match std::fs::read_dir(&dir) {
            // A process that uses the directory may have removed it since it was listed.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            // A file in the place of a directory is no link, and whoever opens it finds out.
            Err(error) if error.kind() == ErrorKind::NotADirectory => continue,
            entries => entries.map_err(|error| (dir.clone(), error))?,
        };
        for entry in entries {
            let entry = entry.map_err(|error| (dir.clone(), error))?;
            let kind = match entry.file_type() {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                kind => kind.map_err(|error| (entry.path(), error))?,
            };
            let name = entry.file_name();
            if kind.is_dir() {
                let is_own = name.to_str().is_some_and(|name| OWN.iter().any(|own| name.starts_with(own)));
                if !is_top || is_own {
                    dirs.push(entry.path());
                }
            } else if !(kind.is_file() || is_top && kind.is_socket() && name == socket) {
                return Ok(Some(Refused { path: entry.path(), what: name_of(kind) }));
            }
        }
    }
    Ok(None)
}

fn name_of(kind: FileType) -> &'static str {
    if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_link_is_never_opened_whatever_for_and_what_it_names_stays_as_it_was() {
        let top = tempfile::tempdir().unwrap();
        let (file, link, dangling) =
            (top.path().join("file"), top.path().join("link"), top.path().join("dangling"));
        fs::write(&file, "precious").unwrap();
        symlink(&file, &link).unwrap();
        symlink(top.path().join("new"), &dangling).unwrap();
        for link in [&link, &dangling] {
            let refused = [
                open(link).map(drop),
                create(link).map(drop),
                read(link).map(drop),
                read_to_string(link).map(drop),
                copy(link, &top.path().join("copy")).map(drop),
                copy(&file, link).map(drop),
                options().append(true).create(true).open(link).map_err(explain).map(drop),
                options().write(true).open(link).map_err(explain).map(drop),
            ];
            for (number, refused) in refused.into_iter().enumerate() {
                let error = refused.expect_err(&format!("{number}: {}", link.display()));
                assert!(error.to_string().contains("symbolic link"), "{number}: {error}");
            }
        }
        assert_eq!(fs::read(&file).unwrap(), b"precious");
        assert!(!top.path().join("new").exists());
        // A directory that the user gives may itself be reached through a link.
        symlink(top.path(), top.path().join("dir")).unwrap();
        assert_eq!(read(&top.path().join("dir/file")).unwrap(), b"precious");
    }

    #[test]
    fn links_are_found_at_the_top_and_in_the_directories_of_the_crawl() {
        const SOCKET: &str = ".crawl.sock";
        let make = || {
            let top = tempfile::tempdir().unwrap();
            for dir in ["db/blobs", "warc", "log", "index", "notes"] {
                fs::create_dir_all(top.path().join(dir)).unwrap();
            }
            fs::write(top.path().join("crawl.toml"), "").unwrap();
            fs::write(top.path().join("warc/crawl-20260301120000-00001.warc.gz"), "").unwrap();
            top
        };
        let top = make();
        assert_eq!(find(&top.path().join("none"), SOCKET).unwrap(), None);
        let listener = UnixListener::bind(top.path().join(SOCKET)).unwrap();
        assert_eq!(find(top.path(), SOCKET).unwrap(), None);
        symlink("/etc", top.path().join("notes/link")).unwrap();
        assert_eq!(find(top.path(), SOCKET).unwrap(), None, "not the crawl's");
        drop(listener);
        for place in [
            ".lock",
            "crawl.toml.part",
            "db.new",
            "index.new",
            "anything",
            "warc/crawl-20260301120000-00002.warc.gz",
            "warc/deeper",
            "db/conf",
            "db/blobs/7",
            "index/meta.json",
            "log/crawl.jsonl",
        ] {
            for target in ["/etc", "/etc/hostname", "/nowhere"] {
                let top = make();
                let path = top.path().join(place);
                symlink(target, &path).unwrap();
                let found = find(top.path(), SOCKET).unwrap();
                assert_eq!(found, Some(Refused { path, what: "a symbolic link" }), "{place} -> {target}");
            }
        }
        let top = make();
        let _other = UnixListener::bind(top.path().join("log/crawl.jsonl")).unwrap();
        assert_eq!(find(top.path(), SOCKET).unwrap().unwrap().what, "a socket");
    }
}
