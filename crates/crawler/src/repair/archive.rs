//! Copies the archive, and determines which of its records are intact.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use super::RepairError;
use crate::nofollow;
use crate::record::Archived;
use crate::warc;
use page::url::{CrawlUrl, Fingerprint, FingerprintKey};

/// The archive as copied.
#[derive(Debug, Default)]
pub(super) struct Archive {
    files: Vec<String>,
    /// File and offset of each whole response.
    whole: HashSet<(usize, u64)>,
    /// The last response of each URL: file, offset, length.
    responses: HashMap<Fingerprint, (usize, u64, u64)>,
    pub(super) records: u64,
    pub(super) lost: u64,
    /// The end of the last file.
    pub(super) end: Option<(String, u64)>,
}

impl Archive {
    /// Whether the place holds a whole response.
    pub(super) fn holds(&self, place: &Archived) -> bool {
        let file = self.files.iter().position(|name| *name == place.file);
        file.is_some_and(|file| self.whole.contains(&(file, place.offset)))
    }

    /// The URLs that have a response, in the order of the archive.
    pub(super) fn places(&self) -> Vec<(Fingerprint, Archived)> {
        let mut places: Vec<_> = self.responses.iter().map(|(page, place)| (*place, *page)).collect();
        places.sort_unstable_by_key(|(place, _)| *place);
        let place = |(file, offset, length): (usize, u64, u64)| Archived {
            file: self.files[file].clone(),
            offset,
            length,
        };
        places.into_iter().map(|(at, page)| (page, place(at))).collect()
    }
}

/// Copies the archive's files, cuts torn tails off the copies, and indexes their responses. Memory: about 60 bytes a response.
pub(super) fn copy(from: &Path, to: &Path, key: FingerprintKey) -> Result<Archive, RepairError> {
    let mut archive = Archive::default();
    let files = warc::files(from)?;
    if !files.is_empty() {
        fs::create_dir_all(to).map_err(|source| copy_error(from, to, source))?;
    }
    for (_, path) in files {
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { continue };
        let target = to.join(&name);
        let length = nofollow::copy(&path, &target).map_err(|source| copy_error(&path, &target, source))?;
        let index = archive.files.len();
        let salvaged = warc::salvage(&target, |record| {
            if !matches!(record.kind(), "response" | "revisit") {
                return;
            }
            archive.whole.insert((index, record.offset));
            if record.is_not_modified() || record.field(warc::PURPOSE).is_some() {
                // No page, or no content of its own: a robots.txt, a sitemap or a consent file.
                return;
            }
            if let Some(Ok(url)) = record.field("WARC-Target-URI").map(CrawlUrl::parse) {
                let place = (index, record.offset, record.length);
                archive.responses.insert(url.fingerprint(&key), place);
            }
        })?;
        archive.records += salvaged.records;
        archive.lost += salvaged.lost + (length - salvaged.end);
        if salvaged.end == 0 {
            fs::remove_file(&target).map_err(|source| copy_error(&path, &target, source))?;
        } else if salvaged.end < length {
            let cut = nofollow::options().write(true).open(&target);
            let cut = cut.and_then(|file| file.set_len(salvaged.end).and_then(|()| file.sync_all()));
            cut.map_err(|source| copy_error(&path, &target, source))?;
        }
        if salvaged.end > 0 {
            archive.end = Some((name.clone(), salvaged.end));
        }
        archive.files.push(name);
    }
    Ok(archive)
}

fn copy_error(from: &Path, to: &Path, source: std::io::Error) -> RepairError {
    RepairError::Copy { from: from.to_owned(), to: to.to_owned(), source }
}
