//! `crawl repair`: builds a new directory from what is readable of a damaged one, which is only read.
//!
//! ```text
//! crawl.toml, or the database's copy of it -> settings, seeds
//! db/   copied; sled opens the copy as well as it can -> every record that can be read   \
//! warc/ copied; whole records found, tails cut       -> responses without a page record  > a new database
//! links of all pages, seeds, queues that can be read -> what is queued                   /
//! ```
//!
//! A page whose record is lost is read again from the archive; one whose links are lost as well is queued again. What is known
//! to be done isn't asked for again, what isn't is: nothing is lost that was linked, and no page is in the tables twice.

mod archive;
mod rebuild;
mod salvage;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::commit::CommitError;
use crate::config::{self, ConfigError, Record, Settings};
use crate::intents;
use crate::job::{CrawlDir, DirError, JobError};
use crate::nofollow;
use crate::store::{StoreError, Tree};
use crate::visit::Rereading;
use crate::warc;

/// Why nothing could be repaired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// One of the two directories.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// The new directory holds something.
    #[error("{} already exists; choose a new directory for --out", .0.display())]
    Exists(PathBuf),
    /// Neither file nor database tells settings and seeds.
    #[error("{} has no readable crawl.toml, and its database has no copy: restore a crawl.toml with the settings and seeds of the crawl (section [record])", .0.display())]
    NoSettings(PathBuf),
    /// The settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The new database, or the settings.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The new database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The new database.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The new archive.
    #[error("the archive can't be copied")]
    Warc(#[from] warc::Error),
    /// The system refused.
    #[error("can't copy {} to {}", .from.display(), .to.display())]
    Copy {
        /// What was read.
        from: PathBuf,
        /// What was written.
        to: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
}

/// What was kept and what was lost.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Repaired {
    /// How the database was opened, in words.
    pub database: String,
    /// `crawl.toml` was put back from the database.
    pub settings_from_database: bool,
    /// Page records kept.
    pub pages: u64,
    /// Pages read again from the archive.
    pub pages_from_archive: u64,
    /// Pages that are known to have been visited and are queued again, since their links were lost.
    pub pages_again: u64,
    /// Page records that were counted and are neither kept nor read again; none where the count itself was lost.
    pub pages_lost: Option<u64>,
    /// Pages whose body is lost from the archive.
    pub bodies_lost: u64,
    /// Archived pages that weren't read again, because their body ended a process that read it.
    pub crashed: u64,
    /// Versions of robots.txt kept.
    pub robots: u64,
    /// Decisions kept; their chain starts over.
    pub decisions: u64,
    /// Trees of which a part couldn't be read.
    pub torn: Vec<&'static str>,
    /// Whole records in the archive.
    pub archive_records: u64,
    /// Bytes of the archive that belong to no whole record, torn tails among them.
    pub archive_bytes_lost: u64,
    /// URLs queued now.
    pub queued: u64,
}

impl Repaired {
    /// True if something is lost that resuming can't recover.
    pub fn has_losses(&self) -> bool {
        self.pages_lost.is_none_or(|lost| lost > 0)
            || self.bodies_lost > 0
            || self.archive_bytes_lost > 0
            || self.crashed > 0
            || !self.torn.is_empty()
    }
}

/// Rebuilds the crawl in `from` in `out`, which must not exist.
pub fn repair(from: &Path, out: &Path, now: Timestamp) -> Result<Repaired, RepairError> {
    crate::crawl_dir::refuse_links(from)?;
    let is_any =
        ["crawl.toml", "db", "db.old", "db.scrubbed", "warc"].iter().any(|name| from.join(name).exists());
    if !is_any {
        return Err(DirError::NoCrawl(from.to_owned()).into());
    }
    if out.exists() {
        return Err(RepairError::Exists(out.to_owned()));
    }
    let _held = CrawlDir::hold(from)?;
    let dir = CrawlDir::create(out)?;
    match into(from, &dir, now) {
        Ok(repaired) => Ok(repaired),
        Err(error) => {
            dir.undo();
            Err(error)
        }
    }
}

fn into(from: &Path, dir: &CrawlDir, now: Timestamp) -> Result<Repaired, RepairError> {
    let salvaged = salvage::open(&crate::crawl_dir::whole_database(from), &dir.root().join("db.salvage"));
    let mut repaired = Repaired { database: salvaged.outcome.clone(), ..Repaired::default() };
    let (settings, record, text) = settings(from, dir, &salvaged, &mut repaired)?;
    let key = salvaged.key();
    let archive = archive::copy(&from.join("warc"), &dir.warc(), key)?;
    repaired.archive_records = archive.records;
    repaired.archive_bytes_lost = archive.lost;
    // A file that can't be read says nothing.
    let in_flight = intents::left(from).unwrap_or_default();
    let rereading = Rereading::new(Some(from), || config::settings_in_force(&settings).ok());
    rebuild::rebuild(
        dir,
        &salvaged,
        key,
        &archive,
        rereading,
        in_flight,
        &settings,
        &record,
        &text,
        now,
        &mut repaired,
    )?;
    drop(salvaged);
    let log = from.join("log");
    if log.is_dir() {
        // The log of the old directory is of use to people only.
        drop(crate::store::copy_database(&log, &dir.root().join("log")));
    }
    // Pauses that may not be in the database yet; as a rule there are none.
    drop(nofollow::copy(&from.join(crate::pauses::FILE), &dir.root().join(crate::pauses::FILE)));
    let moved = from.join(crate::crawl_dir::moved::FILE);
    if moved.exists() {
        // A crawl that is continued elsewhere isn't continued in its copy either.
        let to = dir.root().join(crate::crawl_dir::moved::FILE);
        nofollow::copy(&moved, &to).map_err(|source| RepairError::Copy {
            from: moved.clone(),
            to,
            source,
        })?;
    }
    dir.write_settings(&text)?;
    dir.finish_db()?;
    Ok(repaired)
}

/// Settings and seeds from the directory's file, or from the database.
fn settings(
    from: &Path,
    dir: &CrawlDir,
    salvaged: &salvage::Salvage,
    repaired: &mut Repaired,
) -> Result<(Settings, Record, String), RepairError> {
    let file = from.join("crawl.toml");
    if let Ok(read) = read_settings(&file, dir)
        && let Ok(text) = nofollow::read_to_string(&file)
    {
        return Ok((read.0, read.1, text));
    }
    let kept = salvaged.get(Tree::Meta, b"settings").and_then(|value| String::from_utf8(value).ok());
    let Some(text) = kept else { return Err(RepairError::NoSettings(from.to_owned())) };
    dir.write_settings(&text)?;
    repaired.settings_from_database = true;
    let (settings, record) = read_settings(&dir.settings(), dir)?;
    Ok((settings, record, text))
}

fn read_settings(file: &Path, dir: &CrawlDir) -> Result<(Settings, Record), RepairError> {
    let record = config::read_record(file)?;
    if record.seeds.is_empty() {
        return Err(RepairError::NoSettings(file.to_owned()));
    }
    Ok((config::read_own(file, dir.root())?, record))
}
