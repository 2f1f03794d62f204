//! The texts of pages that are due and aren't archived (noarchive, an archive that is off): in `index-later/`, a file for each entry
//! of [`due`](super::due) that has any, until the index holds it.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::due::DuePage;
use super::error::SearchError;
use crate::nofollow;
use crate::packed::{pack, unpack};
use crate::record::PageRecord;
use page::extract::MainText;

/// The directory in a crawl's.
const DIR: &str = "index-later";

/// A file that isn't whole yet.
const PART: &str = "part";

/// The text of one version of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnarchivedText {
    pub(super) page: DuePage,
    /// When this version was fetched, in milliseconds since 1970.
    pub(super) fetched: i64,
    pub(super) text: MainText,
}

impl UnarchivedText {
    /// Whether it is the text of this page as its record is now.
    pub(super) fn is_of(&self, page: DuePage, record: &PageRecord) -> bool {
        self.page == page && self.fetched == record.fetched_at.as_millisecond() && record.warc.is_none()
    }
}

/// The directory `index-later/` of a crawl.
#[derive(Debug, Clone)]
pub(super) struct UnarchivedTexts {
    dir: PathBuf,
}

impl UnarchivedTexts {
    /// Those of the crawl in `root`.
    pub(super) fn new(root: &Path) -> Self {
        Self { dir: root.join(DIR) }
    }

    /// Keeps those of an entry. They survive kill -9; they aren't synced.
    pub(super) fn keep(&self, number: u64, texts: &[UnarchivedText]) -> Result<(), SearchError> {
        if texts.is_empty() {
            return Ok(());
        }
        fs::create_dir_all(&self.dir).map_err(SearchError::io("create", &self.dir))?;
        let (part, path) = (self.dir.join(PART), self.path(number));
        let write = || {
            let packed = texts.iter().map(|text| postcard::to_stdvec(text).map(pack));
            let packed = packed.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
            let bytes = postcard::to_stdvec(&packed).map_err(io::Error::other)?;
            nofollow::create(&part)?.write_all(&bytes)?;
            fs::rename(&part, &path)
        };
        write().map_err(SearchError::io("write", &path))
    }

    /// Those of an entry. A file that can't be read has none: its pages are counted as unarchived.
    pub(super) fn of(&self, number: u64) -> Vec<UnarchivedText> {
        let bytes = nofollow::read(&self.path(number)).unwrap_or_default();
        let packed: Vec<Vec<u8>> = postcard::from_bytes(&bytes).unwrap_or_default();
        packed.iter().filter_map(|text| postcard::from_bytes(&unpack(text).ok()?).ok()).collect()
    }

    /// Removes those of an entry.
    pub(super) fn remove(&self, number: u64) -> Result<(), SearchError> {
        remove(&self.path(number))
    }

    /// Removes those of all entries up to this one, and what was written in part.
    pub(super) fn remove_upto(&self, upto: u64) -> Result<(), SearchError> {
        remove(&self.dir.join(PART))?;
        for number in self.numbers()? {
            if number <= upto {
                self.remove(number)?;
            }
        }
        // It stays where it holds something.
        let _is_empty = fs::remove_dir(&self.dir);
        Ok(())
    }

    /// Removes those that `keeps` is false for.
    pub(super) fn retain(
        &self,
        mut keeps: impl FnMut(&UnarchivedText) -> Result<bool, SearchError>,
    ) -> Result<(), SearchError> {
        for number in self.numbers()? {
            let (all, mut kept) = (self.of(number), Vec::new());
            for text in &all {
                if keeps(text)? {
                    kept.push(text.clone());
                }
            }
            match kept.len() {
                0 => self.remove(number)?,
                some if some < all.len() => self.keep(number, &kept)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.dir.join(number.to_string())
    }

    /// The entries that have a file.
    fn numbers(&self) -> Result<Vec<u64>, SearchError> {
        let files = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            files => files.and_then(Iterator::collect::<Result<Vec<_>, _>>),
        };
        let files = files.map_err(SearchError::io("read", &self.dir))?;
        Ok(files.iter().filter_map(|file| file.file_name().to_str()?.parse().ok()).collect())
    }
}

fn remove(path: &Path) -> Result<(), SearchError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(SearchError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::HostId;
    use page::url::Fingerprint;

    #[test]
    fn texts_that_are_not_archived_are_kept_until_they_are_taken_in_or_have_to_go() {
        let top = tempfile::tempdir().unwrap();
        let texts = UnarchivedTexts::new(top.path());
        let text = |page| UnarchivedText {
            page: (HostId(1), Fingerprint(page)),
            fetched: 7,
            text: MainText { text: format!("text {page} ").repeat(99), ..MainText::default() },
        };
        texts.keep(1, &[]).unwrap();
        texts.remove_upto(9).unwrap();
        assert!(!top.path().join(DIR).exists());
        for number in [1, 2, 3] {
            texts.keep(number, &[text(10 * number), text(10 * number + 1)]).unwrap();
        }
        assert_eq!(texts.of(2), [text(20), text(21)]);
        assert_eq!(texts.of(4), []);
        texts.retain(|text| Ok(!matches!(text.page.1.0, 20 | 30 | 31))).unwrap();
        assert_eq!(texts.of(2), [text(21)]);
        assert!(!top.path().join(DIR).join("3").exists());
        fs::write(top.path().join(DIR).join(PART), "torn").unwrap();
        fs::write(top.path().join(DIR).join("2"), "torn").unwrap();
        assert_eq!(texts.of(2), []);
        texts.remove_upto(1).unwrap();
        assert_eq!(texts.numbers().unwrap(), [2]);
        texts.remove_upto(2).unwrap();
        assert!(!top.path().join(DIR).exists());
    }
}
