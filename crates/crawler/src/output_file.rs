//! Files that a user names for output: what may be replaced, and what is written in place.
//!
//! A regular file appears as a whole: it is made as `FILE.part` and renamed. A device, a pipe and what a link leads to stay what they
//! are, and are written to; a link in the directory of a crawl alone is replaced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::nofollow;

/// Bytes that are written to a file at once.
const AT_ONCE: usize = 256 * 1024;

/// Writes a file, whole or not at all where it is a regular one or none: `fill` gets what it is written to. `failed` makes the caller's error of the
/// system's. A device, a pipe, or a file behind a link is written to as it is, so what `fill` wrote before it failed remains there.
///
/// A pipe that nobody reads keeps this waiting, as any program.
pub fn write<T, E>(
    path: &Path,
    failed: impl Fn(io::Error) -> E,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<T, E>,
) -> Result<T, E> {
    let write = |file: File| {
        let mut out = BufWriter::with_capacity(AT_ONCE, file);
        let filled = fill(&mut out)?;
        out.flush().and_then(|()| sync(out.get_ref())).map_err(&failed)?;
        Ok(filled)
    };
    if stays(path).map_err(&failed)? {
        return write(open(path).map_err(&failed)?);
    }
    let part = part_of(path);
    let filled = nofollow::create(&part)
        .map_err(&failed)
        .and_then(write)
        .and_then(|filled| finish(&part, path, filled, &failed));
    undo(&part, filled)
}

/// As [`write()`], for what is made by a library that opens the file itself: `make` gets the path of one that isn't there. What is written in place
/// is made in the directory for temporary files first, and copied.
pub fn write_by_path<T, E>(
    path: &Path,
    failed: impl Fn(io::Error) -> E,
    make: impl FnOnce(&Path) -> Result<T, E>,
) -> Result<T, E> {
    if stays(path).map_err(&failed)? {
        let mut to = open(path).map_err(&failed)?;
        let dir = tempfile::tempdir().map_err(&failed)?;
        let output = dir.path().join("output");
        let filled = make(&output)?;
        let mut copy = || io::copy(&mut nofollow::open(&output)?, &mut to).and_then(|_| sync(&to));
        copy().map_err(&failed)?;
        return Ok(filled);
    }
    let part = part_of(path);
    match fs::remove_file(&part) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let filled = make(&part).and_then(|filled| {
        nofollow::open(&part).and_then(|file| file.sync_all()).map_err(&failed)?;
        finish(&part, path, filled, &failed)
    });
    undo(&part, filled)
}

/// Whether what is there stays what it is: anything but a regular file, and every link but one in the directory of a crawl, which may come from
/// somebody else: that link is replaced.
fn stays(path: &Path) -> io::Result<bool> {
    let is_in_crawl = || path.ancestors().skip(1).any(|dir| dir.join("crawl.toml").is_file());
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_symlink() => Ok(!is_in_crawl()),
        Ok(about) => Ok(!about.is_file()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens what stays. A file behind a link is emptied, and made where the link leads nowhere.
fn open(path: &Path) -> io::Result<File> {
    let is_new = fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    // A terminal that is written to doesn't become that of this process.
    OpenOptions::new().write(true).truncate(true).create(is_new).custom_flags(libc::O_NOCTTY).open(path)
}

/// What was written is on disk; a device or a pipe has none.
fn sync(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.sync_all() } else { Ok(()) }
}

fn part_of(path: &Path) -> PathBuf {
    let part = path.with_added_extension("part");
    // It may lie in a directory of somebody else, who would choose what is overwritten.
    if fs::symlink_metadata(&part).is_ok_and(|about| !about.is_file()) {
        drop(fs::remove_file(&part));
    }
    part
}

/// Gives a complete file its name, and the permissions of the one that it replaces.
fn finish<T, E>(part: &Path, path: &Path, filled: T, failed: impl Fn(io::Error) -> E) -> Result<T, E> {
    let replace = || {
        if let Ok(before) = fs::symlink_metadata(path) {
            fs::set_permissions(part, before.permissions())?;
        }
        match fs::rename(part, path) {
            // A file that is mounted, as into a container, can't be replaced.
            Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                let mut to = open(path)?;
                io::copy(&mut nofollow::open(part)?, &mut to)?;
                sync(&to)?;
                fs::remove_file(part)
            }
            renamed => renamed,
        }
    };
    replace().map(|()| filled).map_err(failed)
}

/// Removes what is incomplete. The error itself is what has to be reported.
fn undo<T, E>(part: &Path, filled: Result<T, E>) -> Result<T, E> {
    if filled.is_err() {
        drop(fs::remove_file(part));
    }
    filled
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};

    use rustix::fs::{CWD, FileType, makedev, mknodat};

    use super::*;

    const TEXT: &[u8] = b"what is written\n";

    /// Both ways to write a file.
    fn ways() -> [fn(&Path) -> io::Result<()>; 2] {
        let by_name = |path: &Path| write(path, |error| error, |out| out.write_all(TEXT));
        let by_path = |path: &Path| write_by_path(path, |error| error, |made| fs::write(made, TEXT));
        [by_name, by_path]
    }

    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_regular_file_is_replaced_as_a_whole_or_stays() {
        for way in ways() {
            let top = tempfile::tempdir().unwrap();
            let path = top.path().join("new.csv");
            way(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), TEXT);
            let path = top.path().join("old.csv");
            fs::write(&path, "before, and longer than what comes").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            let reader = File::open(&path).unwrap();
            way(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), TEXT);
            assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
            assert_eq!(io::read_to_string(reader).unwrap(), "before, and longer than what comes");
            assert_eq!(names(top.path()), ["new.csv", "old.csv"]);
        }
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("old.csv");
        fs::write(&path, "before").unwrap();
        let half = |out: &mut BufWriter<File>| {
            out.write_all(TEXT)?;
            Err::<(), _>(io::Error::other("no more"))
        };
        assert!(write(&path, |error| error, half).is_err());
        assert!(
            write_by_path(
                &path,
                |error| error,
                |made| fs::write(made, TEXT).and(Err::<(), _>(io::Error::other("no more")))
            )
            .is_err()
        );
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(names(top.path()), ["old.csv"]);
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_written() {
        for way in ways() {
            let top = tempfile::tempdir().unwrap();
            let (file, link) = (top.path().join("file"), top.path().join("link"));
            fs::write(&file, "before, and longer than what comes").unwrap();
            let inode = file.metadata().unwrap().ino();
            symlink("file", &link).unwrap();
            symlink("link", top.path().join("second")).unwrap();
            symlink("missing", top.path().join("dangling")).unwrap();
            for name in ["link", "second", "dangling"] {
                way(&top.path().join(name)).unwrap();
                assert!(top.path().join(name).symlink_metadata().unwrap().is_symlink(), "{name}");
                assert_eq!(fs::read(top.path().join(name)).unwrap(), TEXT, "{name}");
            }
            assert_eq!(file.metadata().unwrap().ino(), inode);
            assert_eq!(fs::read(top.path().join("missing")).unwrap(), TEXT);
            // A link in the place of the incomplete file is somebody else's choice.
            symlink("file", top.path().join("new.part")).unwrap();
            fs::write(&file, "precious").unwrap();
            way(&top.path().join("new")).unwrap();
            assert_eq!(fs::read(&file).unwrap(), b"precious");
        }
    }

    #[test]
    fn a_pipe_and_a_device_stay_and_are_written_to() {
        for way in ways() {
            let top = tempfile::tempdir().unwrap();
            let (pipe, link) = (top.path().join("pipe"), top.path().join("link"));
            mknodat(CWD, &pipe, FileType::Fifo, 0o600.into(), 0).unwrap();
            symlink("pipe", &link).unwrap();
            for path in [&pipe, &link] {
                let (from, mut got) = (pipe.clone(), Vec::new());
                let reader = std::thread::spawn(move || {
                    File::open(from).unwrap().read_to_end(&mut got).unwrap();
                    got
                });
                way(path).unwrap();
                // Otherwise its reader waits for good.
                assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
                assert_eq!(reader.join().unwrap(), TEXT);
            }
            assert_eq!(names(top.path()), ["link", "pipe"]);
            // The device that takes everything, under a name of this test's own; only root may make one, and not everywhere.
            let device = top.path().join("device");
            let made = mknodat(CWD, &device, FileType::CharacterDevice, 0o600.into(), makedev(1, 3));
            if made.is_err() || OpenOptions::new().write(true).open(&device).is_err() {
                continue;
            }
            way(&device).unwrap();
            let about = device.symlink_metadata().unwrap();
            assert!(about.file_type().is_char_device() && about.rdev() == makedev(1, 3));
        }
    }

    #[test]
    fn a_directory_is_no_file() {
        for way in ways() {
            let top = tempfile::tempdir().unwrap();
            assert_eq!(way(top.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
        }
    }
}
