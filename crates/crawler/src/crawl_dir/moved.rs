//! A crawl that is continued elsewhere: the file that keeps it from being continued here as well. Two crawls that go on from one state ask each
//! host twice, each at its own pace.

use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CrawlDir, DirError};
use crate::nofollow;
use page::clean::clean;

/// The file's name in the output directory.
pub(crate) const FILE: &str = "moved.json";

/// Where a crawl is continued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Form of this record: 1.
    pub v: u32,
    /// The database or the directory, in words.
    pub to: String,
    /// Since when.
    pub at: Timestamp,
}

impl Moved {
    /// A crawl that is continued there from now on.
    pub fn new(to: String, now: Timestamp) -> Self {
        Self { v: 1, to, at: now }
    }
}

/// Where it is continued and since when, for people.
impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {:.0}", clean(&self.to), self.at)
    }
}

impl CrawlDir {
    /// Marks the crawl as continued elsewhere, which survives a power cut.
    pub fn mark_moved(&self, moved: &Moved) -> Result<(), DirError> {
        let path = self.root.join(FILE);
        let write = || -> io::Result<()> {
            let mut file = nofollow::create(&path)?;
            serde_json::to_writer(&mut file, moved)?;
            file.write_all(b"\n")?;
            file.sync_all()
        };
        write().map_err(DirError::io("write", &path))?;
        self.sync()
    }

    /// Takes the mark away: the crawl wasn't moved after all.
    pub fn unmark_moved(&self) -> Result<(), DirError> {
        let path = self.root.join(FILE);
        fs::remove_file(&path).map_err(DirError::io("remove", &path))?;
        self.sync()
    }
}

/// Refuses a crawl that is continued elsewhere. A mark that can't be read counts: what it said isn't known.
pub(super) fn refuse(root: &Path) -> Result<(), DirError> {
    let path = root.join(FILE);
    let text = match nofollow::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(DirError::io("read", &path)(error)),
    };
    let to = match serde_json::from_str::<Moved>(&text) {
        Ok(moved) => moved.to_string(),
        Err(_) => "another place".to_owned(),
    };
    Err(DirError::Moved { root: root.to_owned(), to })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawl_that_was_moved_is_not_continued_even_where_the_mark_is_damaged() {
        let top = tempfile::tempdir().unwrap();
        assert!(refuse(top.path()).is_ok());
        let moved = r#"{"v":1,"to":"study on db.test","at":"2026-11-24T00:00:00Z"}"#;
        fs::write(top.path().join(FILE), moved).unwrap();
        let refused = refuse(top.path()).unwrap_err().to_string();
        assert!(refused.contains("study on db.test on 2026-11-24T00:00:00Z"), "{refused}");
        for damaged in ["", "{", "{\"v\":2}", "\u{0}"] {
            fs::write(top.path().join(FILE), damaged).unwrap();
            assert!(matches!(refuse(top.path()), Err(DirError::Moved { .. })), "{damaged:?}");
        }
    }
}
