//! Truncates what a killed run appended but didn't commit.

use super::sync::sync_dir;
use super::{Error, Position, Reader, Result, name};
use crate::nofollow;
use std::path::{Path, PathBuf};

/// What [`repair()`] did, for the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repaired {
    /// The file that was cut, and the bytes it lost.
    pub cut: Option<(String, u64)>,
    /// Files that held nothing committed and were removed.
    pub removed: Vec<String>,
}

/// Cuts the archive back to the last committed position: the file it names is shortened to it, later files
/// are removed, earlier ones aren't touched. `None`: nothing was ever committed, so every archive file goes.
/// Repeating it changes nothing.
///
/// Must run before a [`super::WarcWriter`] opens the directory. A directory that doesn't exist is empty.
///
/// # Errors
/// [`Error::Short`] where committed bytes are missing; nothing has been changed then.
pub fn repair(dir: &Path, last: Option<&Position>) -> Result<Repaired> {
    repair_series(dir, None, last)
}

/// As [`repair()`], for the files of one series; the others aren't touched.
pub fn repair_series(dir: &Path, series: Option<&str>, last: Option<&Position>) -> Result<Repaired> {
    let mut repaired = Repaired::default();
    let kept = match last {
        None => None,
        Some(last) => {
            let serial = name::serial(&last.file).ok_or_else(|| Error::Name(last.file.clone()))?;
            repaired.cut = cut(&dir.join(&last.file), last)?;
            Some(serial)
        }
    };
    for (serial, path) in files(dir)? {
        if path.file_name().and_then(|name| name.to_str()).and_then(name::series) != series {
            continue;
        }
        let is_kept = kept.is_some_and(|kept| serial <= kept);
        if !is_kept {
            std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
            repaired.removed.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    if repaired != Repaired::default() {
        sync_dir(dir)?;
    }
    Ok(repaired)
}

fn cut(path: &Path, last: &Position) -> Result<Option<(String, u64)>> {
    let short = |found| Error::Short { path: path.to_owned(), found, committed: last.offset };
    let file = match nofollow::options().write(true).open(path).map_err(nofollow::explain) {
        Err(missing) if missing.kind() == std::io::ErrorKind::NotFound => return Err(short(0)),
        opened => opened.map_err(Error::io("open", path))?,
    };
    let found = file.metadata().map_err(Error::io("look at", path))?.len();
    if found < last.offset {
        return Err(short(found));
    }
    if found == last.offset {
        return Ok(None);
    }
    file.set_len(last.offset).map_err(Error::io("cut", path))?;
    file.sync_all().map_err(Error::io("sync", path))?;
    Ok(Some((last.file.clone(), found - last.offset)))
}

/// Returns how much is there of the records between two places in a file: the second place, or the end of the last exchange that is certain to be whole, since
/// another one begins behind it. A file that is missing, or shorter, has none. Syncs the file, so that what is there is there for good.
///
/// Cost: reads and checks what lies in between. Memory: one record.
///
/// # Errors
/// [`Error::Io`] where the file can't be read or synced.
pub fn whole_until(path: &Path, from: u64, to: u64) -> Result<u64> {
    let file = match nofollow::open(path) {
        Err(missing) if missing.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        opened => opened.map_err(Error::io("open", path))?,
    };
    file.sync_all().map_err(Error::io("sync", path))?;
    let found = file.metadata().map_err(Error::io("look at", path))?.len();
    let mut whole = from.min(found);
    let mut end = whole;
    let mut reader = Reader::open_at(path, end)?;
    while end < to {
        match reader.next() {
            Some(Ok(record)) => {
                if record.field("WARC-Concurrent-To").is_none() {
                    whole = record.offset;
                }
                end = record.offset + record.length;
            }
            Some(Err(Error::Record { .. })) | None => return Ok(whole),
            Some(Err(error)) => return Err(error),
        }
    }
    Ok(if end == to { to } else { whole })
}

/// The series that the archive files of a directory belong to.
pub fn series_in(dir: &Path) -> Result<Vec<String>> {
    let mut found: Vec<String> = files(dir)?
        .into_iter()
        .filter_map(|(_, path)| path.file_name()?.to_str().and_then(name::series).map(str::to_owned))
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// The archive files of a directory in the order of their serial numbers; other files are passed over.
pub(crate) fn files(dir: &Path) -> Result<Vec<(u32, PathBuf)>> {
    let entries = match std::fs::read_dir(dir) {
        Err(missing) if missing.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(Error::io("list", dir))?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Error::io("list", dir))?;
        if let Some(serial) = entry.file_name().to_str().and_then(name::serial) {
            files.push((serial, entry.path()));
        }
    }
    files.sort();
    Ok(files)
}
