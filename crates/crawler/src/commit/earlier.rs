//! Bodies that earlier crawls have in their archives: their digests and places in one sorted file, which is searched on disk.
//!
//! Memory: the names of the files. The file has no name and goes with the process; the next run makes it again, since an earlier crawl
//! may have been continued, or content withdrawn from it.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path, PathBuf};

use crate::cdxj::{self, CdxjError};
use crate::crawl_dir::{CrawlDir, DirError};
use crate::sorter::{SortError, Sorter};
use crate::warc::{self, Location, Original};

/// Why the bodies of an earlier crawl can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EarlierError {
    /// A directory has no archive.
    #[error("warc.dedup: {} has no archive; name the output directory of a crawl", .0.display())]
    NoArchive(PathBuf),
    /// A directory is the one that the crawl writes to.
    #[error("warc.dedup: {} is the directory of this crawl; \"crawl\" is the setting for its own bodies", .0.display())]
    Own(PathBuf),
    /// A crawl writes there now: what it hasn't committed may be removed again.
    #[error("warc.dedup: a crawl that runs can't be an earlier one")]
    InUse(#[source] DirError),
    /// A path that can't be written in a record.
    #[error("warc.dedup: the path of {} isn't text, or has control characters", .0.display())]
    Path(PathBuf),
    /// Its archive can't be read.
    #[error("warc.dedup: the archive of an earlier crawl can't be read")]
    Archive(#[from] warc::Error),
    /// The digests can't be sorted.
    #[error(transparent)]
    Sort(#[from] SortError),
    /// The sorted file can't be written or read.
    #[error("warc.dedup: the index of earlier bodies can't be written or read")]
    Index(#[source] io::Error),
}

/// Bytes of a digest: SHA-1.
const DIGEST: usize = 20;

/// Bytes of an entry: digest, number of the file, offset, length.
const ENTRY: usize = DIGEST + 4 + 8 + 8;

/// Records that are read for one digest: if none of them has its body any more, it is stored again.
const TRIED: usize = 8;

/// The bodies of earlier crawls.
#[derive(Debug)]
pub struct EarlierBodies {
    archives: Vec<Archive>,
    /// The files, with the number of their archive.
    files: Vec<(usize, String)>,
    index: File,
    count: u64,
}

#[derive(Debug)]
struct Archive {
    dir: PathBuf,
    /// Its relative path from the archive of this crawl.
    from_own: String,
}

impl EarlierBodies {
    /// Checks that each directory has an archive to which no crawl writes; reads nothing of it.
    ///
    /// # Errors
    /// [`EarlierError::NoArchive`], [`EarlierError::InUse`].
    pub fn check(dirs: &[PathBuf]) -> Result<(), EarlierError> {
        if let Some(dir) = dirs.iter().find(|dir| !dir.join("warc").is_dir()) {
            return Err(EarlierError::NoArchive(dir.clone()));
        }
        dirs.iter().try_for_each(|dir| CrawlDir::hold(dir).map(drop).map_err(EarlierError::InUse))
    }

    /// Reads the indexes (CDXJ) beside the archives of output directories; of a file that has none, or was changed since, the file itself.
    /// `own` is the archive of this crawl; temporary files go there.
    ///
    /// # Errors
    /// See [`EarlierError`]. A damaged record only ends what is read of its file.
    pub fn open(own: &Path, dirs: &[PathBuf]) -> Result<Self, EarlierError> {
        let own = own.canonicalize().map_err(EarlierError::Index)?;
        let (mut archives, mut files, mut paths) = (Vec::new(), Vec::new(), Vec::new());
        for root in dirs {
            let dir = root.join("warc").canonicalize();
            let dir = dir.map_err(|_| EarlierError::NoArchive(root.clone()))?;
            if dir == own {
                return Err(EarlierError::Own(root.clone()));
            }
            let from_own = relative(&own, &dir).ok_or_else(|| EarlierError::Path(root.clone()))?;
            // What is there while no crawl writes is committed.
            let held = CrawlDir::hold(root).map_err(EarlierError::InUse)?;
            for (_, path) in warc::files(&dir)? {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                files.push((archives.len(), name.unwrap_or_default()));
                paths.push(path);
            }
            drop(held);
            archives.push(Archive { dir, from_own });
        }
        let mut sorter = Sorter::new(Some(&own));
        for (number, path) in paths.iter().enumerate() {
            let taken = cdxj::bodies(path, |digest, offset, length| {
                let Some(digest) = digest_bytes(digest) else { return Ok(()) };
                let number = (number as u32).to_be_bytes();
                sorter.push_parts(&[&digest, &number, &offset.to_be_bytes(), &length.to_be_bytes()])
            });
            match taken {
                Ok(()) => {}
                Err(CdxjError::Sort(error)) => return Err(error.into()),
                Err(error) => tracing::warn!(
                    "{}: what is behind a damaged place isn't used: {}",
                    path.display(),
                    crate::causes::with_causes(&error)
                ),
            }
        }
        let (index, count) = written(&own, sorter)?;
        Ok(Self { archives, files, index, count })
    }

    /// Returns a response that has a body with this digest (`sha1:` and base 32), if its record can be read now.
    ///
    /// Cost: a binary search in the file, and a read of the record.
    ///
    /// # Errors
    /// [`EarlierError::Index`].
    pub fn find(&self, digest: &str) -> Result<Option<Original>, EarlierError> {
        let Some(wanted) = digest_bytes(digest) else { return Ok(None) };
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle)?[..DIGEST] < wanted[..] { low = middle + 1 } else { high = middle }
        }
        for number in (low..self.count).take(TRIED) {
            let entry = self.entry(number)?;
            if entry[..DIGEST] != wanted[..] {
                break;
            }
            if let Some(original) = self.original(&entry, digest) {
                return Ok(Some(original));
            }
        }
        Ok(None)
    }

    fn entry(&self, number: u64) -> Result<[u8; ENTRY], EarlierError> {
        let mut entry = [0; ENTRY];
        self.index.read_exact_at(&mut entry, number * ENTRY as u64).map_err(EarlierError::Index)?;
        Ok(entry)
    }

    /// The response at an entry's place, if it is there and has a whole body with this digest.
    fn original(&self, entry: &[u8; ENTRY], digest: &str) -> Option<Original> {
        let (file, place) = entry[DIGEST..].split_first_chunk::<4>()?;
        let (offset, length) = place.split_first_chunk::<8>()?;
        let length = u64::from_be_bytes(*length.first_chunk()?);
        let (archive, file) = self.files.get(u32::from_be_bytes(*file) as usize)?;
        let archive = self.archives.get(*archive)?;
        let place = Location { file: file.clone(), offset: u64::from_be_bytes(*offset), length };
        let record = warc::read(&archive.dir, &place).ok()?;
        let original = record.as_original(digest, place)?;
        Some(Original { archive: Some(archive.from_own.clone()), ..original })
    }
}

fn written(dir: &Path, sorter: Sorter) -> Result<(File, u64), EarlierError> {
    let file = tempfile::tempfile_in(dir).map_err(EarlierError::Index)?;
    let mut out = BufWriter::new(file);
    let mut count = 0;
    for entry in sorter.sorted()? {
        out.write_all(&entry?).map_err(EarlierError::Index)?;
        count += 1;
    }
    let file = out.into_inner().map_err(|error| EarlierError::Index(error.into_error()))?;
    Ok((file, count))
}

fn digest_bytes(digest: &str) -> Option<[u8; DIGEST]> {
    let text = digest.strip_prefix("sha1:")?;
    data_encoding::BASE32.decode(text.as_bytes()).ok()?.try_into().ok()
}

/// The relative path from one directory to another, both canonical, as a record can have it.
fn relative(from: &Path, to: &Path) -> Option<String> {
    let (mut from, mut to) = (from.components().peekable(), to.components().peekable());
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    let path: PathBuf = from.map(|_| Component::ParentDir).chain(to).collect();
    path.to_str().filter(|text| !text.contains(char::is_control)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_named_by_its_relative_path() {
        for (from, to, path) in [
            ("/crawls/autumn/warc", "/crawls/spring/warc", Some("../../spring/warc")),
            ("/crawls/autumn/warc", "/data/my spring/warc", Some("../../../data/my spring/warc")),
            ("/a/warc", "/a/warc/old/warc", Some("old/warc")),
            ("/a/warc", "/b\nc/warc", None),
        ] {
            assert_eq!(relative(Path::new(from), Path::new(to)).as_deref(), path);
        }
    }
}
