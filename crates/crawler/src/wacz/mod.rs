//! The archive of one or several crawls as one file for sharing and replay: WACZ 1.1.1
//! (<https://specs.webrecorder.net/wacz/1.1.1/>).
//!
//! A ZIP file, written from front to back: `pages/pages.jsonl`, the WARC files as they are (stored), the index of their records in
//! compressed blocks with an index of these (CDXJ as `cdxj`), logs, `datapackage.json` with the size and SHA-256 of each of them, and
//! `datapackage-digest.json` with that of `datapackage.json`, signed if a key is given.
//!
//! A crawl is read as its last commit made it. What may not be shown any more and is still in the archive (the date of an
//! `unavailable_after` came, or a run was killed while it removed a capture) is omitted: a tombstone of the same length is in its place.

mod archive;
mod blocks;
mod package;
mod pages;
mod sign;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use self::archive::Archive;
use self::blocks::Blocks;
use self::package::{Package, Packing};
pub use self::sign::{KeyError, SigningKey};
use crate::cdxj::CdxjError;
use crate::ledger;
use crate::nofollow;
use crate::sorter::{SortError, Sorter};
use crate::store::{AnyStore, Store as _, StoreError, Tree};
use crate::warc;
use page::extract::ExtractLimits;

/// Version of the format that is written.
pub const VERSION: &str = "1.1.1";

/// Why no file can be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaczError {
    /// A directory has no archive.
    #[error("{} has no archive: there are no WARC files of this crawl in it", .0.display())]
    NoArchive(PathBuf),
    /// The archive of a cluster isn't given as a whole.
    #[error(
        "the archive file {0} is in none of the directories that are given: name those of all workers with --warc; where one is lost, run `crawl cluster lost`"
    )]
    Missing(String),
    /// What a cluster's crawl was to forget is still in the archive.
    #[error(
        "archive files still have what was removed by `crawl cluster forget` ({0}); start the workers that have them with their directories (`crawl cluster status` names them)"
    )]
    Forgotten(String),
    /// The archive can't be read.
    #[error("the archive can't be read")]
    Warc(#[from] warc::Error),
    /// The index can't be made.
    #[error(transparent)]
    Cdxj(#[from] CdxjError),
    /// Lines can't be sorted.
    #[error(transparent)]
    Sort(#[from] SortError),
    /// The database can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record of the database can't be read, or a line can't be written.
    #[error("a record of the database can't be read")]
    Record(#[from] serde_json::Error),
    /// A file of the crawl can't be read.
    #[error("{} can't be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The output can't be written.
    #[error("the output can't be written")]
    Write(#[from] io::Error),
}

impl From<rawzip::Error> for WaczError {
    fn from(error: rawzip::Error) -> Self {
        Self::Write(match error.into_kind() {
            rawzip::ErrorKind::IO(error) => error,
            kind => io::Error::other(rawzip::Error::from(kind)),
        })
    }
}

/// A crawl that goes into the file.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    /// Its directory, with its logs; none of a crawl on many machines.
    pub root: Option<&'a Path>,
    /// The directories of its archive. Without `root`, every file that a page refers to has to be there.
    pub archive: &'a [PathBuf],
    /// Its database, or that of each partition, in their order.
    pub stores: &'a [AnyStore],
    /// How much of a page is read for its excerpt.
    pub limits: ExtractLimits,
}

/// How the file is written.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The list of pages has excerpts of their texts; needs the cargo feature `search`.
    pub with_texts: bool,
    /// Signs `datapackage.json`.
    pub key: Option<&'a SigningKey>,
    /// The time of writing.
    pub now: Timestamp,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Lines of the list of pages.
    pub pages: u64,
    /// Lines of the index: responses and revisits.
    pub records: u64,
    /// WARC files.
    pub files: u64,
    /// The digest of `datapackage.json`: `sha256:` and 64 hex digits.
    pub digest: String,
}

/// Writes the archives of some crawls as one WACZ file.
///
/// Cost: reads each archive twice, once for its bytes and once for its index; with texts about a millisecond per page. Memory: one record
/// of the archive, what the sorter keeps, and about 200 bytes per WARC file and per capture that is omitted; the rest is in temporary files.
///
/// # Errors
/// [`WaczError::NoArchive`] before anything is written.
pub fn write(parts: &[Part<'_>], options: Options<'_>, out: &mut dyn Write) -> Result<Written, WaczError> {
    let mut archives = Vec::with_capacity(parts.len());
    for (number, part) in parts.iter().enumerate() {
        archives.push(Archive::open(part, number, &archives)?);
    }
    let mut package = Package::new(out, options.now);
    let mut written = Written::default();

    let mut main = None;
    package.member("pages/pages.jsonl", Packing::Deflated, |out| {
        pages::write_head(options.with_texts, out)?;
        for (number, (part, archive)) in parts.iter().zip(&mut archives).enumerate() {
            let listed = pages::write(part, number, options, archive, out)?;
            written.pages += listed.count;
            main = main.take().or(listed.first_seed);
        }
        Ok(())
    })?;

    for archive in &archives {
        for file in archive.files() {
            package
                .member(&format!("archive/{}", file.name), Packing::Stored, |out| archive.copy(file, out))?;
            written.files += 1;
        }
    }

    let mut sorter = Sorter::new(parts.first().and_then(|part| part.root));
    for archive in &archives {
        archive.index(&mut sorter)?;
    }
    let mut blocks = Blocks::new(parts.first().and_then(|part| part.root))?;
    package.member("indexes/index.cdx.gz", Packing::Stored, |out| {
        let mut last = Vec::new();
        for line in sorter.sorted()? {
            let line = line?;
            if line != last {
                blocks.push(&line, out)?;
                written.records += 1;
                last = line;
            }
        }
        blocks.finish(out)
    })?;
    package.member("indexes/index.idx", Packing::Deflated, |out| blocks.copy_index(out))?;

    for (number, part) in parts.iter().enumerate() {
        let prefix = if parts.len() > 1 { format!("{}-", number + 1) } else { String::new() };
        let Some(root) = part.root else { continue };
        for (name, path) in logs(root)? {
            package.member(&format!("logs/{prefix}{name}"), Packing::Deflated, |out| copy_log(&path, out))?;
        }
    }
    let crawls = parts.iter().map(|part| described(part.stores)).collect::<Result<Vec<_>, _>>()?;
    written.digest = package.finish(&crawls, main.as_ref(), options.key)?;
    Ok(written)
}

/// Writes the index (CDXJ) of what [`write()`] would pack of a crawl, in order; returns how many lines, each once.
///
/// # Errors
/// As [`write()`].
pub fn write_index(part: &Part<'_>, out: &mut dyn Write) -> Result<u64, WaczError> {
    let mut sorter = Sorter::new(part.root);
    Archive::open(part, 0, &[])?.index(&mut sorter)?;
    let mut out = io::BufWriter::new(out);
    let (mut count, mut last) = (0, Vec::new());
    for line in sorter.sorted()? {
        let line = line?;
        if line != last {
            out.write_all(&line)?;
            out.write_all(b"\n")?;
            count += 1;
            last = line;
        }
    }
    out.flush()?;
    Ok(count)
}

/// What identifies a crawl, for `datapackage.json`.
fn described(stores: &[AnyStore]) -> Result<serde_json::Value, WaczError> {
    let text = |store: &AnyStore, key: &[u8]| -> Result<Option<String>, WaczError> {
        Ok(store.get(Tree::Meta, key)?.map(|value| String::from_utf8_lossy(&value).into_owned()))
    };
    let Some(first) = stores.first() else { return Ok(serde_json::Value::Null) };
    let (mut entries, mut head) = (None, None);
    for store in stores {
        let ledger: Option<serde_json::Value> =
            text(store, b"ledger")?.map(|value| serde_json::from_str(&value)).transpose()?;
        if let Some(ledger) = ledger {
            entries = Some(entries.unwrap_or(0) + ledger["count"].as_u64().unwrap_or_default());
            head = Some(ledger["head"].clone());
        }
    }
    if stores.len() > 1 {
        head = Some(ledger::joint_head(stores)?.to_string().into());
    }
    Ok(serde_json::json!({
        "id": text(first, b"crawl_id")?,
        "started": text(first, b"started")?,
        "ledgerEntries": entries,
        "ledgerHead": head,
    }))
}

/// The logs of a crawl, by their names.
fn logs(root: &Path) -> Result<Vec<(String, PathBuf)>, WaczError> {
    let dir = root.join("log");
    let error = |source| WaczError::Read { path: dir.clone(), source };
    let entries = match std::fs::read_dir(&dir) {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(error)?,
    };
    let mut logs = Vec::new();
    for entry in entries {
        let entry = entry.map_err(error)?;
        // The crawler's own names alone.
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_file() && name.starts_with("crawl") && name.contains(".jsonl") {
            logs.push((name, entry.path()));
        }
    }
    logs.sort();
    Ok(logs)
}

/// Copies the whole lines of a log: a running crawl may be writing to it.
fn copy_log(path: &Path, out: &mut dyn Write) -> Result<(), WaczError> {
    use std::io::BufRead as _;

    let error = |source| WaczError::Read { path: path.to_owned(), source };
    let file = nofollow::open(path).map_err(error)?;
    let length = file.metadata().map_err(error)?.len();
    let mut reader = io::Read::take(io::BufReader::new(file), length);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(error)? > 0 {
        if line.ends_with(b"\n") {
            out.write_all(&line)?;
        }
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
