//! Compares what is stored with its digests in the ledger: page records, their links, versions of robots.txt and of
//! consent files, captures in the archive.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;

use super::requests::Place;
use super::{AuditError, AuditRules, Check, LISTED};
use crate::ledger;
use crate::nofollow;
use crate::page_store::{self, scan_with_links};
use crate::record::{FoundLinks, RepairRecord, Seal, StoredKind};
use crate::sorter::{self, Sorter};
use crate::store::{Store, Tree};
use crate::warc::Record;

/// Kinds of what is sorted by a digest: what the ledger says, and what is there.
const SEALED: u8 = 0;
const FOUND: u8 = 1;

/// Bytes of a digest.
const SEAL: usize = 16;

/// What the ledger says, sorted while it is read.
pub(super) struct Seals {
    pages: Sorter,
    files: Sorter,
    captures: Sorter,
    /// Every record has to have a digest in the ledger: the crawl was begun by a version that enters them.
    binds_all: bool,
    any: bool,
}

/// The digests of a page or capture in parts of a fixed length; zeros for none.
fn bytes_of(seal: Option<Seal>) -> [u8; SEAL] {
    seal.map_or([0; SEAL], |seal| seal.0)
}

impl Seals {
    /// Reads the ledger. Cost: one pass.
    pub(super) fn read<S: Store>(store: &S, rules: &AuditRules) -> Result<Self, AuditError> {
        let mut seals = Self {
            pages: rules.sorter(),
            files: rules.sorter(),
            captures: rules.sorter(),
            binds_all: false,
            any: false,
        };
        let mut runs = 0;
        for pair in store.scan(Tree::Ledger, &[]) {
            let (key, value) = pair?;
            // What can't be read is a fault of the chain, and reported there.
            let Ok(block) = ledger::read(&value) else { continue };
            for (number, entry) in (0..).zip(block.decisions) {
                if entry.begins_a_run() {
                    runs += 1;
                    seals.binds_all |= runs == 1 && entry.evidence.run.is_some();
                }
                let Some(stored) = entry.evidence.stored else { continue };
                seals.any = true;
                let place = Place::new(sorter::number(&key, 0, 8), number).bytes();
                match stored.kind {
                    StoredKind::Page => {
                        let (links, has) = (bytes_of(stored.links), u8::from(stored.links.is_some()));
                        let url = Seal::of(entry.url.as_bytes()).0;
                        seals.pages.push_parts(&[
                            &url,
                            &[SEALED],
                            &place,
                            &stored.record.0,
                            &[has],
                            &links,
                        ])?;
                    }
                    StoredKind::Robots | StoredKind::SiteFile => {
                        seals.files.push_parts(&[&stored.record.0, &[SEALED], &place])?;
                    }
                    StoredKind::Archive => {}
                }
                if let Some(capture) = stored.archive {
                    seals.captures.push_parts(&[&capture.0, &[SEALED]])?;
                }
            }
        }
        Ok(seals)
    }

    /// Whether what has no digest in the ledger is a fault; else it is of an older version.
    fn new_check(&self) -> Check {
        let mut check = Check::new(
            "seals",
            "each page record, list of links, robots.txt, consent file and capture has the digest in the ledger",
        );
        if !self.any && !self.binds_all {
            check.unjudged =
                Some("the ledger has no digests: an older crawl, or its ledger was off".to_owned());
        }
        check
    }

    /// Compares all but the archive, which [`Captures`] reads.
    pub(super) fn judge<S: Store>(
        self,
        store: &S,
        rules: &AuditRules,
        repair: Option<&RepairRecord>,
    ) -> Result<(Check, Captures), AuditError> {
        let mut check = self.new_check();
        let Self { pages, files, captures, binds_all, any } = self;
        let repaired = repair.map(|repair| repair.at);
        let mut captures = Captures { sorter: captures, file: None, pending: None, binds_all, repaired };
        if any || binds_all {
            judge_pages(store, pages, binds_all, repair, &mut check)?;
            judge_files(store, files, binds_all, repair, &mut check)?;
        } else {
            captures.sorter = rules.sorter();
        }
        Ok((check, captures))
    }
}

fn judge_pages<S: Store>(
    store: &S,
    mut sorter: Sorter,
    binds_all: bool,
    repair: Option<&RepairRecord>,
    check: &mut Check,
) -> Result<(), AuditError> {
    for page in scan_with_links(store) {
        let page = page?;
        let url = Seal::of(page.record()?.url.as_bytes()).0;
        let links = FoundLinks::of(&page.links()?).map_err(AuditError::record(Tree::Links))?;
        let record = Seal::of(page.json()).0;
        sorter.push_parts(&[&url, &[FOUND], &page.number.to_be_bytes(), &record, &links.0])?;
    }
    let url_of = |check: &Check, number: u64| -> Result<String, AuditError> {
        // Those behind are counted.
        Ok(if check.first.len() < LISTED { page_store::record_at(store, number)?.url } else { String::new() })
    };
    let is_lost = repair.is_some();
    // Of the page that is read: what the last entries about it say.
    let mut sealed: Option<Sealed> = None;
    for part in sorter.sorted()? {
        let part = part?;
        let (url, rest) = part.split_at(SEAL.min(part.len()));
        if sealed.as_ref().is_some_and(|sealed| sealed.url != url) {
            gone(store, sealed.take(), is_lost, check)?;
        }
        let rest = rest.get(1..).unwrap_or_default();
        if part.get(SEAL) == Some(&SEALED) {
            let place = Place::read(rest);
            let rest = rest.get(Place::BYTES..).unwrap_or_default();
            let links = sealed.take().and_then(|sealed| sealed.links);
            let links = if rest.get(SEAL) == Some(&1) { Some(seal_at(rest, SEAL + 1)) } else { links };
            sealed = Some(Sealed { url: url.to_vec(), place, record: seal_at(rest, 0), links });
            continue;
        }
        check.case();
        let number = sorter::number(rest, 0, 8);
        let (record, links) = (seal_at(rest, 8), FoundLinks(bytes_at(rest, 8 + SEAL)));
        match sealed.take() {
            None if binds_all => {
                // What was stored again by a repair has no entry, where the ledger was lost as a whole.
                let is_lost = match repair {
                    Some(repair) => page_store::record_at(store, number)?.fetched_at < repair.at,
                    None => false,
                };
                let url = url_of(check, number)?;
                let what = "no entry of the ledger says that this page was stored";
                check.lost_or_broken(is_lost, &url, None, what);
            }
            None => check.unbound += 1,
            Some(sealed) => {
                if sealed.record != record {
                    let what = "its record doesn't have the digest in the ledger";
                    check.broken(url_of(check, number)?, None, what);
                }
                if sealed.links.is_some_and(|sealed| !links.are_of(sealed)) {
                    let what = "its links don't have the digest in the ledger";
                    check.broken(url_of(check, number)?, None, what);
                }
            }
        }
    }
    gone(store, sealed, is_lost, check)
}

struct Sealed {
    url: Vec<u8>,
    place: Place,
    record: Seal,
    links: Option<Seal>,
}

fn gone<S: Store>(
    store: &S,
    sealed: Option<Sealed>,
    is_lost: bool,
    check: &mut Check,
) -> Result<(), AuditError> {
    let Some(sealed) = sealed else { return Ok(()) };
    check.case();
    let url = if check.first.len() < LISTED { sealed.place.url(store)? } else { String::new() };
    check.lost_or_broken(is_lost, &url, None, "the ledger says that it was stored, but it is missing");
    Ok(())
}

fn seal_at(bytes: &[u8], at: usize) -> Seal {
    Seal(bytes_at(bytes, at))
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

fn judge_files<S: Store>(
    store: &S,
    mut sorter: Sorter,
    binds_all: bool,
    repair: Option<&RepairRecord>,
    check: &mut Check,
) -> Result<(), AuditError> {
    for tree in [Tree::Robots, Tree::SiteFiles] {
        for pair in store.scan(tree, &[]) {
            let (key, value) = pair?;
            sorter.push_parts(&[&Seal::of_value(&key, &value).0, &[FOUND], &key])?;
        }
    }
    let is_lost = repair.is_some();
    let mut sealed: Option<(Vec<u8>, Place)> = None;
    let mut missing = Vec::new();
    for part in sorter.sorted()? {
        let part = part?;
        let (digest, rest) = part.split_at(SEAL.min(part.len()));
        if part.get(SEAL) == Some(&SEALED) {
            missing
                .extend(sealed.replace((digest.to_vec(), Place::read(&rest[1..]))).map(|(_, place)| place));
        } else {
            check.case();
            if sealed.take_if(|(sealed, _)| sealed == digest).is_some() {
                continue;
            }
            let origin = rest[1..].split(|byte| *byte == 0).next().unwrap_or_default();
            let what = "this version doesn't have a digest in the ledger";
            if binds_all {
                check.lost_or_broken(is_lost, &String::from_utf8_lossy(origin), None, what);
            } else {
                check.unbound += 1;
            }
        }
        // Only as many as are named one by one.
        while missing.len() > LISTED {
            missing.pop();
            check.case();
            check.lost_or_broken(is_lost, "", None, "a version named in the ledger is missing");
        }
    }
    missing.extend(sealed.map(|(_, place)| place));
    for place in missing {
        check.case();
        let what = "a version named in the ledger is missing";
        check.lost_or_broken(is_lost, &place.url(store)?, None, what);
    }
    Ok(())
}

/// The captures of the archive, taken as the archive is read.
pub(super) struct Captures {
    sorter: Sorter,
    file: Option<(String, File)>,
    /// Records that were written together, as far as they have come.
    pending: Option<Group>,
    binds_all: bool,
    /// The ledger may have lost the digests of captures from before.
    repaired: Option<Timestamp>,
}

/// Records that were written together: the first one, and those that name it as concurrent.
struct Group {
    /// First byte, and the first behind.
    from: u64,
    to: u64,
    /// What they are about.
    url: String,
    /// The ID of the first.
    id: String,
    is_lost: bool,
    /// The first was overwritten: nothing has its digest any more.
    is_withdrawn: bool,
}

impl Captures {
    /// Takes the next record of a file.
    pub(super) fn take(
        &mut self,
        path: &Path,
        name: &str,
        record: &Record,
        is_withdrawn: bool,
        check: &mut Check,
    ) -> Result<(), AuditError> {
        if self.file.as_ref().is_none_or(|(open, _)| open != name) {
            self.finish_group()?;
            self.file = nofollow::open(path).ok().map(|file| (name.to_owned(), file));
        }
        let url = record.field("WARC-Target-URI").unwrap_or_default();
        let at = record.field("WARC-Date").and_then(|date| date.parse::<Timestamp>().ok());
        let is_lost = self.repaired.is_some_and(|repaired| at.is_some_and(|at| at < repaired));
        if let (Some(group), Some(first)) = (&mut self.pending, record.field("WARC-Concurrent-To"))
            && (group.is_withdrawn || group.id == first)
        {
            group.to = record.offset + record.length;
            return Ok(());
        }
        self.finish_group()?;
        match record.kind() {
            "warcinfo" if record.offset == 0 => {}
            "response" | "revisit" | "resource" | "metadata" => {
                self.pending = Some(Group {
                    from: record.offset,
                    to: record.offset + record.length,
                    url: url.to_owned(),
                    id: record.field("WARC-Record-ID").unwrap_or_default().to_owned(),
                    is_lost,
                    is_withdrawn,
                });
            }
            kind => {
                check.case();
                if self.binds_all {
                    let what = format!(
                        "{name} at {}: a record of type {kind} that the crawl didn't write",
                        record.offset
                    );
                    check.lost_or_broken(is_lost, url, None, what);
                } else {
                    check.unbound += 1;
                }
            }
        }
        Ok(())
    }

    /// Behind what was taken a record can't be read: it may be one of the group.
    pub(super) fn torn(&mut self) {
        self.pending = None;
    }

    /// The records of a group are complete: their digest is compared later.
    fn finish_group(&mut self) -> Result<(), AuditError> {
        let Some(group) = self.pending.take().filter(|group| !group.is_withdrawn) else { return Ok(()) };
        let name = self.file.as_ref().map(|(name, _)| name.clone()).unwrap_or_default();
        self.found(group.from, group.to, group.is_lost, &name, &group.url)
    }

    fn found(&mut self, from: u64, to: u64, is_lost: bool, name: &str, url: &str) -> Result<(), AuditError> {
        let Some((_, file)) = &mut self.file else { return Ok(()) };
        let mut bytes = Vec::new();
        let read =
            file.seek(SeekFrom::Start(from)).and_then(|_| file.take(to - from).read_to_end(&mut bytes));
        if read.is_ok() {
            self.sorter.push_parts(&[
                &Seal::of(&bytes).0,
                &[FOUND],
                &from.to_be_bytes(),
                &[u8::from(is_lost)],
                name.as_bytes(),
                b" ",
                url.as_bytes(),
            ])?;
        }
        Ok(())
    }

    /// Compares what was taken.
    pub(super) fn judge(mut self, check: &mut Check) -> Result<(), AuditError> {
        self.finish_group()?;
        let mut sealed = None;
        for part in self.sorter.sorted()? {
            let part = part?;
            let (digest, rest) = part.split_at(SEAL.min(part.len()));
            if part.get(SEAL) == Some(&SEALED) {
                sealed = Some(digest.to_vec());
                continue;
            }
            check.case();
            if sealed.as_deref() == Some(digest) {
                continue;
            }
            let place = sorter::number(rest, 1, 8);
            let is_lost = rest.get(9) == Some(&1);
            let words = String::from_utf8_lossy(rest.get(10..).unwrap_or_default()).into_owned();
            let (file, url) = words.split_once(' ').unwrap_or((&words, ""));
            if self.binds_all {
                check.lost_or_broken(
                    is_lost,
                    url,
                    None,
                    format!("{file} at {place}: the ledger has no digest of this capture"),
                );
            } else {
                check.unbound += 1;
            }
        }
        Ok(())
    }
}
