//! A crawl on many machines becomes one on a single machine: what its database has goes into a new directory, with its archive.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::init::beginning;
use super::reading::stores;
use super::state::{self, State};
use super::transfer::{About, TransferError, Transferred, transfer};
use super::worker::{CRAWL_FILE, crawl_name};
use super::{Address, ClusterError, machine, moved};
use crate::causes::Cause;
use crate::commit::{CommitError, WARC_END, read_warc_end, warc_end_key};
use crate::config;
use crate::crawl_dir::{CrawlDir, DirError, Moved};
use crate::forgotten::forget_rules;
use crate::format::{FormatError, read_key};
use crate::ledger;
use crate::nofollow;
use crate::page_store;
use crate::post::{ForgottenFile, Series};
use crate::record::{EndRecord, RUN_END, Round};
use crate::store::{AnyStore, SledStore, Store as _, StoreError, Tree, Write};
use crate::warc;

/// Why a crawl can't be moved from a cluster. The cluster is as it was, and the directory is removed again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The cluster's database.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Workers are at work, or may be.
    #[error("the crawl is running: `crawl cluster stop DATABASE` first")]
    Running,
    /// A copy of what is continued in a directory.
    #[error(
        "the crawl was moved to a directory before: export it without --copy, where that directory is deleted"
    )]
    Moved,
    /// Workers crawled meanwhile.
    #[error("workers crawled while it was read; stop the crawl, and try again")]
    Changed,
    /// Pages are still to be visited again.
    #[error("a recrawl is under way: `crawl cluster resume DATABASE`, and let the workers end it")]
    Recrawl,
    /// The archive has content that has to go.
    #[error("{0}")]
    Forgotten(String),
    /// Bodies are elsewhere.
    #[error(
        "pages have their bodies in archive files that none of the directories given has, such as {example}: give the `warc` directory of each worker with --warc ({workers})"
    )]
    NoArchive {
        /// One of them.
        example: String,
        /// Workers that are missing, in words.
        workers: String,
    },
    /// There is no such directory.
    #[error("{} isn't a directory: --warc names the `warc` directory of a worker", .0.display())]
    NoDir(PathBuf),
    /// The directory is another crawl's.
    #[error("{} has the archive of another crawl", .0.display())]
    OtherCrawl(PathBuf),
    /// The new directory.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// The new database, or that of the cluster.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The form of the partitions.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The archive.
    #[error("the archive can't be copied")]
    Warc(#[from] warc::Error),
    /// What is stored of the archive.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// A file of the archive.
    #[error("{} can't be copied", .path.display())]
    Copy {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Cause,
    },
    /// The move.
    #[error(transparent)]
    Transfer(#[from] TransferError),
}

type Result<T> = std::result::Result<T, ExportError>;

/// Which of the two is continued after an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continued {
    /// The new directory. The cluster is marked, and refuses to go on.
    Directory,
    /// The cluster. The new directory is marked: it can be read, not continued.
    Cluster,
}

/// Moves a cluster's crawl into a new directory, or copies it. `archives` are the `warc` directories of its workers: files are copied.
pub fn export(
    address: &Address,
    out: &Path,
    archives: &[PathBuf],
    continued: Continued,
    now: Timestamp,
) -> Result<Transferred> {
    let status = state::status(address)?;
    match status.state {
        State::Making => return Err(ClusterError::Making.into()),
        State::Adding => return Err(ClusterError::Adding { address: address.to_string() }.into()),
        State::Running => return Err(ExportError::Running),
        State::Moved if continued == Continued::Cluster => return Err(ExportError::Moved),
        State::Stopped | State::Complete | State::Moved
            if status.free < u64::from(status.terms.partitions) =>
        {
            return Err(ExportError::Running);
        }
        State::Stopped | State::Complete | State::Moved => {}
    }
    let before = state::commits(address)?;
    let parts = stores(address)?;
    check_forgotten(&parts)?;
    if status.at_rest != State::Complete || status.limit.is_some() {
        check_recrawl(&parts)?;
    }
    let files = Files::find(&parts, archives)?;
    let dir = CrawlDir::create(out)?;
    let filled = fill(&dir, &parts, &files, &status, now).and_then(|moved| {
        if state::commits(address)? == before { Ok(moved) } else { Err(ExportError::Changed) }
    });
    // The mark comes first: an end between leaves one crawl too few that goes on, and not two.
    let finished = filled.and_then(|moved| {
        match continued {
            Continued::Directory => {
                let path = std::path::absolute(out).unwrap_or_else(|_| out.to_owned());
                let to = format!("the directory {} on {}", path.display(), machine());
                if !moved::set(address, (to, status.at_rest.as_str()), &before, now)? {
                    return Err(ExportError::Changed);
                }
                if let Err(error) = dir.finish_db() {
                    if status.state != State::Moved {
                        moved::unset(address, status.at_rest.as_str())?;
                    }
                    return Err(error.into());
                }
            }
            Continued::Cluster => {
                dir.mark_moved(&Moved::new(format!("the cluster {address}"), now))?;
                dir.finish_db()?;
            }
        }
        Ok(moved)
    });
    match finished {
        Ok(moved) => Ok(moved),
        Err(error) => {
            dir.undo();
            Err(error)
        }
    }
}

/// Refuses to copy what was to be removed.
fn check_forgotten(parts: &[AnyStore]) -> Result<()> {
    for part in parts {
        if forget_rules(part)?.iter().any(|(_, rule)| !rule.done) {
            let what = "`crawl cluster forget` was interrupted; run it again";
            return Err(ExportError::Forgotten(what.to_owned()));
        }
        if let Some(pair) = part.scan(Tree::Meta, ForgottenFile::PREFIX).next() {
            let file = ForgottenFile::read(&pair?.0).map(|file| file.to_string()).unwrap_or_default();
            return Err(ExportError::Forgotten(format!(
                "archive files still have what was removed by `crawl cluster forget` ({file}); start the workers that have them with their directories (`crawl cluster status` names them)"
            )));
        }
    }
    Ok(())
}

/// A recrawl that is under way isn't on record in the directory.
fn check_recrawl(parts: &[AnyStore]) -> Result<()> {
    for part in parts {
        if Round::is_open(part)? {
            return Err(ExportError::Recrawl);
        }
    }
    Ok(())
}

/// What a cluster knows of its crawl, beside what the partitions have.
#[derive(Debug, Clone)]
pub struct Joined<'a> {
    /// The settings and seeds that it was made with, as in `crawl.toml`.
    pub settings: &'a str,
    /// When it was made.
    pub started: Timestamp,
    /// How often it was begun or continued.
    pub runs: u64,
    /// How it came to rest, and when.
    pub end: EndRecord,
}

/// Copies what the partitions of a crawl have, in the order of their numbers, into one store, which is empty. [`export()`] does so with a new directory,
/// into which it copies the archive, too. Cost and memory as of a move.
pub fn join(parts: &[AnyStore], target: AnyStore, of: &Joined<'_>) -> Result<Transferred> {
    let [first, ..] = parts else { return Err(ClusterError::Making.into()) };
    let (settings, _) = config::read_record_text(of.settings).map_err(ClusterError::Settings)?;
    let key = read_key(first)?;
    let crawl_id = first.get(Tree::Meta, b"crawl_id")?.unwrap_or_default();
    let crawl_id = String::from_utf8_lossy(&crawl_id);
    let mut about = beginning(&crawl_id, key, of.started, of.settings.to_owned());
    about.push(Write::put(Tree::Meta, RUN_END, serde_json::to_vec(&of.end).map_err(CommitError::from)?));
    target.commit(about)?;
    let from = format!("a cluster of {} partitions", parts.len());
    let head = ledger::joint_head(parts)?.to_string();
    let about = About {
        key,
        delay: settings.pace.delay,
        from: &from,
        head: &head,
        runs: Some(of.runs),
        now: of.end.at,
    };
    Ok(transfer(parts, vec![target], about)?.0)
}

fn fill(
    dir: &CrawlDir,
    parts: &[AnyStore],
    files: &Files,
    status: &state::Status,
    now: Timestamp,
) -> Result<Transferred> {
    files.copy(parts, &dir.warc())?;
    let store = Arc::new(SledStore::create(&dir.unfinished_db())?);
    let end = match (&status.limit, status.at_rest) {
        (Some(_), _) => "limit",
        (None, State::Complete) => "complete",
        _ => "interrupted",
    };
    let about = Joined {
        settings: &status.settings,
        started: status.started,
        runs: status.totals.runs,
        end: EndRecord { end: end.to_owned(), limit: status.limit.clone(), at: now },
    };
    let moved = join(parts, Arc::clone(&store) as AnyStore, &about)?;
    if !files.has_old {
        // Without those files their end would be looked for.
        store.commit(vec![Write::remove(Tree::Meta, WARC_END)])?;
    }
    dir.write_settings(&status.settings)?;
    Ok(moved)
}

/// The archive's files in the directories of workers.
struct Files {
    found: Vec<(String, PathBuf)>,
    /// Some of them are of the time before the crawl was a cluster's.
    has_old: bool,
}

impl Files {
    /// Finds the files, all that pages refer to. Cost: one pass over the page records.
    fn find(parts: &[AnyStore], archives: &[PathBuf]) -> Result<Self> {
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        let name = parts.first().map(read_key).transpose()?.map(|key| crawl_name(&key));
        for archive in archives {
            if !archive.is_dir() {
                return Err(ExportError::NoDir(archive.clone()));
            }
            let of = archive.parent().and_then(|dir| nofollow::read_to_string(&dir.join(CRAWL_FILE)).ok());
            if of.is_some_and(|of| Some(of.trim()) != name.as_deref()) {
                return Err(ExportError::OtherCrawl(archive.clone()));
            }
            for (_, path) in warc::files(archive)? {
                if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
                    found.push((name.to_owned(), path.clone()));
                }
            }
        }
        let names: BTreeSet<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let mut missing = BTreeSet::new();
        for part in parts {
            for page in page_store::scan(part) {
                let record = page?.record()?;
                missing.extend(
                    record
                        .captures()
                        .filter(|of| !names.contains(of.file.as_str()))
                        .map(|of| of.file.clone()),
                );
            }
        }
        if let Some(example) = missing.first() {
            let workers: BTreeSet<String> = missing.iter().map(|file| worker_of(file)).collect();
            let workers = workers.into_iter().collect::<Vec<_>>().join(", ");
            return Err(ExportError::NoArchive { example: example.clone(), workers });
        }
        let has_old = found.iter().any(|(name, _)| warc::series(name).is_none());
        Ok(Self { found, has_old })
    }

    /// Copies them, each up to the end that was committed.
    fn copy(&self, parts: &[AnyStore], to: &Path) -> Result<()> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source: std::io::Error| ExportError::Copy { path, source: source.into() }
        };
        if !self.found.is_empty() {
            fs::create_dir_all(to).map_err(failed(to))?;
        }
        for (name, path) in &self.found {
            let copy = to.join(name);
            nofollow::copy(path, &copy).map_err(failed(path))?;
            fs::File::open(&copy).and_then(|file| file.sync_all()).map_err(failed(&copy))?;
        }
        for series in warc::series_in(to).unwrap_or_default() {
            let Some(part) = Series::read(&series).and_then(|series| parts.get(series.part as usize)) else {
                continue;
            };
            let end = part.get(Tree::Meta, warc_end_key(&series).as_bytes())?;
            let end = end.map(|end| read_warc_end(&end)).transpose()?;
            warc::repair_series(to, Some(&series), end.as_ref())?;
        }
        Ok(())
    }
}

/// Whose file this is, in words.
fn worker_of(file: &str) -> String {
    match warc::series(file).and_then(Series::read) {
        Some(series) => format!("worker {}", series.worker),
        None => "the directory that the crawl was imported from".to_owned(),
    }
}
