//! The only writer: archive, then database, then the acknowledgement.
//!
//! Order of a commit: append to WARC, one transaction with the offsets, flush; fdatasync of the WARC file, fsync of the database,
//! acknowledge. What is acknowledged survives kill -9 and power loss; what is flushed survives kill -9, and the next commit may be written
//! while it is synced. The database says how much of the archive was synced: after a power cut the rest is read again at the start. The
//! ledger gets a digest of each record and capture that is stored.

mod bodies;
mod discovered;
mod earlier;
mod error;
mod recent;
mod seals;
mod under_way;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use robots::StatusClass;
use serde::{Deserialize, Serialize};

use self::bodies::{Bodies, Known};
pub(crate) use self::discovered::failure_metadata;
pub use self::earlier::{EarlierBodies, EarlierError};
pub use self::error::CommitError;
pub use self::recent::RecentBodies;
use self::seals::Seals;
use self::under_way::Rest;
pub use self::under_way::{Begun, UnderWay, Unsynced};
use crate::cdxj::Rotation;
use crate::encoded::json;
use crate::frontier::HostId;
use crate::ledger::Ledger;
use crate::page_store::{self, Change, PageWriter};
use crate::record::{
    Archived, Decision, LinkRecord, PageRecord, RobotsRecord, SiteFileRecord, StoredKind, Withdrawal,
    decode_links, encode_links, withhold_links,
};
use crate::store::{Durability, Store, StoreError, Tree, Write, Writing};
use crate::visit::BacklogBytes;
use crate::warc::{self, Encoded, Location, Metadata, Position, WarcInfo, WarcWriter, WrittenFile};
use page::extract::MainText;
use page::url::Fingerprint;

/// What the crawl counted, over all its runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Requests sent, robots.txt included.
    pub requests: u64,
    /// Pages with status 2xx.
    pub pages: u64,
    /// Resources of pages with status 2xx: images, scripts, style sheets.
    pub resources: u64,
    /// Redirects.
    pub redirects: u64,
    /// Visits that found a page as it was before (status 304).
    #[serde(default)]
    pub unchanged: u64,
    /// Visits that ended in an error, 4xx and 5xx included.
    pub failed: u64,
    /// URLs that robots.txt or a limit kept from being requested.
    pub skipped: u64,
    /// Bytes of bodies received, as transferred.
    pub bytes: u64,
    /// Pages that may be indexed.
    pub indexed: u64,
    /// Responses archived.
    pub archived: u64,
    /// Times the crawl was taken up.
    pub runs: u64,
}

impl Totals {
    /// Adds what one visit counted.
    pub fn add(&mut self, more: &Self) {
        let Self {
            requests,
            pages,
            resources,
            redirects,
            unchanged,
            failed,
            skipped,
            bytes,
            indexed,
            archived,
            runs,
        } = more;
        self.requests += requests;
        self.pages += pages;
        self.resources += resources;
        self.redirects += redirects;
        self.unchanged += unchanged;
        self.failed += failed;
        self.skipped += skipped;
        self.bytes += bytes;
        self.indexed += indexed;
        self.archived += archived;
        self.runs += runs;
    }

    /// Counts a page that is stored.
    pub(crate) fn add_page(&mut self, record: &PageRecord) {
        match record.status.map(StatusClass::of) {
            Some(StatusClass::Success) if record.resource => self.resources += 1,
            Some(StatusClass::Success) => self.pages += 1,
            Some(class) if class.leads_elsewhere() => self.redirects += 1,
            _ => self.failed += 1,
        }
        self.indexed += u64::from(record.indexed);
        self.archived += u64::from(record.archived);
        self.bytes += record.wire_bytes;
    }

    /// What was counted since these.
    #[cfg(feature = "cluster")]
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests),
            pages: self.pages.saturating_sub(before.pages),
            resources: self.resources.saturating_sub(before.resources),
            redirects: self.redirects.saturating_sub(before.redirects),
            unchanged: self.unchanged.saturating_sub(before.unchanged),
            failed: self.failed.saturating_sub(before.failed),
            skipped: self.skipped.saturating_sub(before.skipped),
            bytes: self.bytes.saturating_sub(before.bytes),
            indexed: self.indexed.saturating_sub(before.indexed),
            archived: self.archived.saturating_sub(before.archived),
            runs: self.runs.saturating_sub(before.runs),
        }
    }
}

/// A settled visit with its page.
#[derive(Debug)]
pub struct SettledPage {
    /// The page's host.
    pub host: HostId,
    /// The page's fingerprint.
    pub page: Fingerprint,
    /// Its record.
    pub record: PageRecord,
    /// Its links, with what became of each.
    pub links: Vec<LinkRecord>,
    /// The links of an earlier visit stay; none are given here.
    pub keeps_links: bool,
    /// Links that stay are those of a page that is withheld now: they lose what they tell of it, or go.
    pub blanks_links: bool,
    /// What goes to the archive.
    pub warc: Option<Encoded>,
    /// How its URL was found; none where the record is changed without a visit.
    pub discovery: Option<Box<Discovery>>,
    /// What goes to the full-text index.
    pub text: Option<Box<MainText>>,
}

impl SettledPage {
    /// A stored page whose record changes without a visit: its links stay, and nothing is archived or indexed.
    pub(crate) fn changed(host: HostId, page: Fingerprint, record: PageRecord) -> Self {
        Self {
            host,
            page,
            record,
            links: Vec::new(),
            keeps_links: true,
            blanks_links: false,
            warc: None,
            discovery: None,
            text: None,
        }
    }
}

impl SettledPage {
    /// A page of another database, with its links as they are there: nothing of it goes to the archive or the index.
    pub(crate) fn taken_over(
        host: HostId,
        page: Fingerprint,
        record: PageRecord,
        links: Vec<LinkRecord>,
    ) -> Self {
        Self {
            host,
            page,
            record,
            links,
            keeps_links: false,
            blanks_links: false,
            warc: None,
            discovery: None,
            text: None,
        }
    }
}

/// How a URL was found, for the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// The page that it was found on; none for seeds.
    pub via: Option<String>,
    /// Links from a seed.
    pub depth: u32,
    /// Redirects that led here, in a row.
    pub redirects: u8,
    /// Of a visit that changed nothing in the record of an earlier one: when it was settled, and the status of its response.
    pub kept: Option<(jiff::Timestamp, Option<u16>)>,
}

/// Everything that lands together.
#[derive(Debug, Default)]
pub struct Batch {
    /// Number of the frontier's cut.
    pub generation: u64,
    /// The frontier's changes.
    pub writes: Vec<Write>,
    /// Settled pages.
    pub pages: Vec<SettledPage>,
    /// Records of the archive that belong to no page, with the URLs that they are about.
    pub archive: Vec<(String, Encoded)>,
    /// Versions of robots.txt.
    pub robots: Vec<Arc<RobotsRecord>>,
    /// Versions of files in which sites speak of the uses of their pages.
    pub site_files: Vec<Arc<SiteFileRecord>>,
    /// Captures that have to leave the archive.
    pub withdrawals: Vec<Withdrawal>,
    /// Keys that go, beside the frontier's own, and letters to other partitions of a cluster's crawl.
    pub removes: Vec<Write>,
    /// Stored content was removed: its remains in the database's free space have to be removed as well.
    pub scrub: bool,
    /// Decisions.
    pub decisions: Vec<Decision>,
    /// The counters after all this.
    pub totals: Totals,
    /// What all this takes in memory; free when it is committed.
    pub held: Vec<BacklogBytes>,
    /// How far the archive was synced since the last commit.
    pub archive_synced: Option<Position>,
}

impl CommitError {
    /// Whether what was appended to the archive may not have come to the disk.
    pub(crate) fn is_of_archive_sync(&self) -> bool {
        matches!(self, Self::Warc(error) if error.is_of_sync())
    }
}

/// Takes what is committed into the full-text index.
pub trait Indexer: std::fmt::Debug + Send {
    /// Returns the writes that enter these pages as due to be indexed, for the transaction that stores them; and keeps what is to be
    /// indexed of them. Called once a commit, before it; the captures of the pages are in the archive by then.
    fn enter(&mut self, pages: &mut [SettledPage]) -> Vec<Write>;

    /// Hands on what [`enter`](Self::enter) kept: it is written now. Waits while too much is to be indexed; `held` counts as memory
    /// that is taken until it is.
    fn committed(&mut self, held: Vec<BacklogBytes>) -> Result<(), CommitError>;
}

/// Owner of archive and database while they are written.
#[derive(Debug)]
pub struct Committer<S> {
    store: Arc<S>,
    warc: Option<WarcWriter>,
    warc_dir: Option<PathBuf>,
    /// Files of the archive are elsewhere too, and who has them removes what has to go from them.
    shares_archive: bool,
    /// Key of `meta` for the end of the archive.
    warc_end_key: String,
    stores_bodies_once: bool,
    earlier: Option<EarlierBodies>,
    recent: Option<Arc<RecentBodies>>,
    /// Complete files are moved elsewhere: none has an index.
    moves_files: bool,
    /// Writes the indexes of complete files, from the first on.
    rotation: Arc<OnceLock<Rotation>>,
    ledger: Ledger,
    pages: PageWriter,
    index: Option<Box<dyn Indexer>>,
}

/// Key of `meta` that says: the database holds content in its free space that was withdrawn.
pub const SCRUB: &str = "scrub";

impl<S: Store> Committer<S> {
    /// Takes up a store. The archive, if one is kept, is first cut back to what was committed.
    pub fn open(store: Arc<S>, archive: Option<(&Path, &WarcInfo, u64)>) -> Result<Self, CommitError> {
        let ledger = Ledger::open(&store)?;
        let pages = PageWriter::open(&store)?;
        let warc = match archive {
            Some((dir, info, max_file_size)) => {
                let end = store.get(Tree::Meta, WARC_END.as_bytes())?;
                let end = end.map(|value| read_warc_end(&value)).transpose()?;
                warc::repair(dir, end.as_ref())?;
                Some(WarcWriter::open(dir, info, max_file_size)?)
            }
            None => None,
        };
        Ok(Self {
            store,
            warc,
            warc_dir: None,
            shares_archive: false,
            warc_end_key: WARC_END.to_owned(),
            stores_bodies_once: false,
            earlier: None,
            recent: None,
            moves_files: false,
            rotation: Arc::default(),
            ledger,
            pages,
            index: None,
        })
    }

    /// Has bodies archived in a directory that others add to as well, in files of a series that this committer alone writes. Captures that
    /// have to leave files in other directories are entered as not done.
    pub fn archiving_series(
        self,
        dir: &Path,
        info: &WarcInfo,
        max_file_size: u64,
        series: &str,
    ) -> Result<Self, CommitError> {
        let warc = WarcWriter::open(dir, info, max_file_size)?.in_series(series.to_owned());
        let warc_end_key = warc_end_key(series);
        Ok(Self {
            warc: Some(warc),
            warc_dir: Some(dir.to_owned()),
            shares_archive: true,
            warc_end_key,
            ..self
        })
    }

    /// Makes a batch durable.
    pub fn commit(&mut self, batch: Batch) -> Result<(), CommitError> {
        if let Some(unsynced) = self.write(batch)?
            && let Some(end) = unsynced.sync(&*self.store)?
            && let Some(warc) = &mut self.warc
        {
            warc.note_synced(&end);
        }
        Ok(())
    }

    /// Writes a batch, which survives the end of the process then. What it returns has to be synced before it is durable; none if it is
    /// already, as what is followed by what mustn't precede it: captures overwritten, the index of a complete file.
    pub fn write(&mut self, batch: Batch) -> Result<Option<Unsynced>, CommitError> {
        let (outcome, rest) = self.write_by(batch, Store::write)?;
        self.finish(outcome?, rest)
    }

    /// As [`write`](Self::write), but where the store's outcome comes later, it isn't waited for: [`UnderWay::finish`] does.
    pub fn begin(&mut self, batch: Batch) -> Result<Begun, CommitError> {
        let (writing, rest) = self.write_by(batch, Store::begin_write)?;
        Ok(match writing {
            Writing::Over(outcome) => Begun::Written(self.finish(outcome?, rest)?),
            Writing::UnderWay(outcome) => Begun::UnderWay(UnderWay { outcome, rest }),
        })
    }

    /// Appends to the archive, and has `write` write to the store.
    fn write_by<W: From<Result<Durability, StoreError>>>(
        &mut self,
        batch: Batch,
        write: impl FnOnce(&S, Vec<Write>) -> W,
    ) -> Result<(W, Rest), CommitError> {
        let Batch { mut writes, mut pages, robots, site_files, withdrawals, removes, scrub, .. } = batch;
        let Batch { mut decisions, totals, held, archive, archive_synced, .. } = batch;
        if let (Some(warc), Some(end)) = (&mut self.warc, archive_synced) {
            warc.note_synced(&end);
        }
        let mut seals = Seals::default();
        writes.extend(self.archive(&mut pages, archive, &withdrawals, &mut seals)?);
        if let Some(index) = &mut self.index {
            writes.extend(index.enter(&mut pages));
        }
        writes.extend(removes);
        let mut changes = Vec::with_capacity(pages.len());
        for page in &pages {
            let change = self.change(page, &changes)?;
            seals.page(&page.record, &change);
            changes.push(change);
        }
        drop(pages);
        writes.extend(self.pages.store(&self.store, changes)?);
        for version in &site_files {
            let key = self.behind(Tree::SiteFiles, version.key(), &writes)?;
            let value = version.write()?;
            seals.file(StoredKind::SiteFile, &version.origin, version.fetched_at, (&key, &value));
            writes.push(Write::put(Tree::SiteFiles, key, value));
        }
        for withdrawal in &withdrawals {
            writes.push(Write::put(Tree::Withdrawn, withdrawal.key(), serde_json::to_vec(withdrawal)?));
        }
        if scrub {
            writes.push(Write::put(Tree::Meta, SCRUB, "due"));
        }
        for version in &robots {
            let key = self.behind(Tree::Robots, version.key(), &writes)?;
            let value = version.write()?;
            seals.file(StoredKind::Robots, &version.origin, version.fetched_at, (&key, &value));
            writes.push(Write::put(Tree::Robots, key, value));
        }
        // Where no ledger is kept, nothing holds the digests either.
        if self.ledger.state().count > 0 || !decisions.is_empty() {
            seals.enter(&mut decisions);
        }
        writes.extend(self.ledger.append(decisions)?);
        writes.push(Write::put(Tree::Meta, "totals", serde_json::to_vec(&totals)?));
        let has_complete = self.warc.as_ref().is_some_and(WarcWriter::has_complete);
        let is_followed = scrub || has_complete || !withdrawals.is_empty();
        if let Some(warc) = &mut self.warc {
            if is_followed || warc.begins_file() || !self.store.defers_syncs() {
                warc.sync()?;
            } else {
                warc.write_out()?;
            }
            if let Some(end) = ArchiveEnd::of(warc) {
                writes.push(Write::put(Tree::Meta, self.warc_end_key.clone(), serde_json::to_vec(&end)?));
            }
        }
        let outcome = if is_followed {
            self.store.commit(writes)?;
            W::from(Ok(Durability::PowerCut))
        } else {
            write(&self.store, writes)
        };
        Ok((outcome, Rest { robots, site_files, withdrawals, held }))
    }

    /// Does what remains of a batch once it is written.
    fn finish(&mut self, durability: Durability, rest: Rest) -> Result<Option<Unsynced>, CommitError> {
        let Rest { robots, site_files, withdrawals, held } = rest;
        let unsynced = match (durability, &mut self.warc) {
            (Durability::PowerCut, Some(warc)) => warc.sync().map(|()| None)?,
            (Durability::PowerCut, None) => None,
            (Durability::Process, warc) => {
                Some(Unsynced { archive: warc.as_ref().and_then(WarcWriter::unsynced) })
            }
        };
        self.index_complete_files();
        // Not before: until then they are looked for here.
        drop((robots, site_files));
        self.withdraw(withdrawals)?;
        if let Some(index) = &mut self.index {
            index.committed(held)?;
        }
        Ok(unsynced)
    }

    /// After an error of a sync of the archive: cuts off what may not be on the disk, although the system would still show it. `synced` is how
    /// far it was synced since the last commit.
    pub fn drop_unsynced_archive(&mut self, synced: Option<&Position>) -> Result<(), CommitError> {
        let Some(warc) = &mut self.warc else { return Ok(()) };
        if let Some(end) = synced {
            warc.note_synced(end);
        }
        let Some(end) = warc.position().zip(warc.synced()).map(|(end, offset)| Position { offset, ..end })
        else {
            return Ok(());
        };
        Ok(warc.roll_back_to(Some(&end))?)
    }

    /// Ends the writing of the archive: the files of this run whose indexes aren't written yet.
    pub fn finish_archive(self) -> Vec<WrittenFile> {
        self.warc.map(WarcWriter::finish).unwrap_or_default()
    }

    /// Has the indexes written of the files to which nothing is appended any more. Without a thread for it the end of the run writes
    /// them.
    fn index_complete_files(&mut self) {
        let files = self.warc.as_mut().map(WarcWriter::take_complete).unwrap_or_default();
        if files.is_empty() || self.moves_files {
            return;
        }
        if self.rotation.get().is_none()
            && let Ok(rotation) = Rotation::start()
        {
            // Another one may have been first: one is enough.
            drop(self.rotation.set(rotation));
        }
        if let Some(rotation) = self.rotation.get() {
            for file in files {
                rotation.complete(file);
            }
        }
    }

    /// The store that it writes to.
    pub fn store(&self) -> &Arc<S> {
        &self.store
    }

    /// Has equal bodies of pages stored once.
    #[must_use]
    pub fn storing_bodies_once(self, stores_bodies_once: bool) -> Self {
        Self { stores_bodies_once, ..self }
    }

    /// Has bodies that earlier crawls stored not stored again.
    #[must_use]
    pub fn sharing_bodies_of(self, earlier: Option<EarlierBodies>) -> Self {
        Self { earlier, ..self }
    }

    /// Has equal bodies of pages stored once in each archive file; none has each response stored with its body.
    #[must_use]
    pub fn sharing_bodies_within_files(self, recent: Option<Arc<RecentBodies>>) -> Self {
        Self { recent, ..self }
    }

    /// Has no index written of a complete file: it is moved elsewhere.
    #[must_use]
    pub fn moving_files(self, moves_files: bool) -> Self {
        Self { moves_files, ..self }
    }

    /// Has the indexes of complete files written by the thread that others use too; it is started with the first of them.
    #[must_use]
    pub fn indexing_by(self, rotation: Arc<OnceLock<Rotation>>) -> Self {
        Self { rotation, ..self }
    }

    /// Has what is committed taken into a full-text index.
    #[must_use]
    pub fn with_index(self, index: Option<Box<dyn Indexer>>) -> Self {
        Self { index, ..self }
    }

    /// The key of a new version of a file, whose last 8 bytes are its time in milliseconds: behind every version that is there, also
    /// where somebody has set the wall clock back since. The last one is the one in force.
    fn behind(&self, tree: Tree, mut key: Vec<u8>, writes: &[Write]) -> Result<Vec<u8>, CommitError> {
        let Some((prefix, time)) = key.split_last_chunk::<8>() else { return Ok(key) };
        let time = u64::from_be_bytes(*time);
        let time_of =
            |key: &[u8]| Some(u64::from_be_bytes(<[u8; 8]>::try_from(key.strip_prefix(prefix)?).ok()?));
        let stored = self.store.last(tree, prefix)?.and_then(|(key, _)| time_of(&key));
        let waiting =
            writes.iter().filter(|write| write.tree == tree).filter_map(|write| time_of(&write.key));
        if let Some(last) = waiting.chain(stored).max().filter(|last| *last >= time) {
            key.truncate(key.len() - 8);
            key.extend((last + 1).to_be_bytes());
        }
        Ok(key)
    }

    /// Overwrites captures that have to go. They are on record before: what a crash cuts off is done at the next start.
    fn withdraw(&mut self, withdrawals: Vec<Withdrawal>) -> Result<(), CommitError> {
        let Some(dir) = &self.warc_dir else { return Ok(()) };
        if withdrawals.is_empty() {
            return Ok(());
        }
        let mut done = Vec::new();
        for withdrawal in withdrawals {
            let Archived { file, offset, length } = withdrawal.place.clone();
            let place = Location { file, offset, length };
            let path = dir.join(&place.file);
            if self.shares_archive && !path.exists() {
                continue;
            }
            let _withdrawing = self.rotation.get().map(|rotation| rotation.withdrawing(&path));
            warc::write_tombstone(dir, &place, &withdrawal.url, withdrawal.at, &withdrawal.because)?;
            let withdrawal = Withdrawal { done: true, ..withdrawal };
            done.push(Write::put(Tree::Withdrawn, withdrawal.key(), serde_json::to_vec(&withdrawal)?));
        }
        self.store.commit(done)?;
        Ok(())
    }

    /// Names the archive's directory, whether or not this run adds to it, and finishes the withdrawals that a crash interrupted.
    pub fn with_archive_dir(mut self, dir: &Path) -> Result<Self, CommitError> {
        self.warc_dir = Some(dir.to_owned());
        let mut open = Vec::new();
        for pair in self.store.scan(Tree::Withdrawn, &[]) {
            let withdrawal: Withdrawal = serde_json::from_slice(&pair?.1)?;
            if !withdrawal.done {
                open.push(withdrawal);
            }
        }
        self.withdraw(open)?;
        Ok(self)
    }

    /// A page as the store takes it; `before` are those of the same batch that come first.
    fn change(&self, page: &SettledPage, before: &[Change]) -> Result<Change, CommitError> {
        let links = if !page.links.is_empty() {
            Some(encode_links(&page.links)?)
        } else if page.blanks_links && page.record.lists_links() {
            Some(self.withheld_links(page, before)?)
        } else if page.blanks_links || page.record.visits_before > 0 && !page.keeps_links {
            Some(Vec::new())
        } else {
            None
        };
        Ok(Change { host: page.host, page: page.page, record: json(&page.record)?, links })
    }

    /// What remains of a page's links when it is withheld, encoded.
    fn withheld_links(&self, page: &SettledPage, before: &[Change]) -> Result<Vec<u8>, CommitError> {
        let is_it = |change: &&Change| (change.host, change.page) == (page.host, page.page);
        let mut before = before.iter().rev().filter(is_it);
        let mut links = match before.find_map(|change| change.links.as_ref()) {
            Some(encoded) => decode_links(encoded)?,
            None => page_store::links_of(&*self.store, page.host, page.page)?,
        };
        withhold_links(&mut links);
        Ok(encode_links(&links)?)
    }

    fn archive(
        &mut self,
        pages: &mut [SettledPage],
        others: Vec<(String, Encoded)>,
        withdrawals: &[Withdrawal],
        seals: &mut Seals,
    ) -> Result<Vec<Write>, CommitError> {
        let Some(warc) = &mut self.warc else { return Ok(Vec::new()) };
        let known = match &self.recent {
            Some(recent) => Some(Known::OfFile(recent)),
            None => self.stores_bodies_once.then(|| Known::All(&*self.store, self.earlier.as_ref())),
        };
        let mut bodies = Bodies::new(known, self.warc_dir.as_deref(), withdrawals);
        for (url, mut encoded) in others {
            warc.append(&mut encoded)?;
            seals.other(url, &encoded.bytes);
        }
        for page in pages {
            let metadata = discovered::metadata(page);
            let captured = page.warc.take();
            let is_response = captured.is_some();
            let encoded = match (captured, metadata) {
                (Some(encoded), metadata) => shared(encoded, metadata.as_ref(), bodies.as_ref(), warc)?,
                (None, Some(metadata)) => Encoded::of_metadata(&metadata),
                (None, None) => continue,
            };
            let mut encoded = encoded;
            let place = warc.append(&mut encoded)?;
            seals.capture(&page.record.url, &encoded.bytes);
            if let Some(bodies) = &mut bodies {
                bodies.stored(&encoded, &place);
            }
            if is_response {
                let place = Archived { file: place.file, offset: place.offset, length: place.length };
                if page.discovery.as_ref().is_some_and(|discovery| discovery.kept.is_some()) {
                    // An answer 304: the last response remains the one that counts.
                    page.record.unchanged.push(place);
                } else {
                    page.record.warc = Some(place);
                }
            }
        }
        Ok(bodies.map(Bodies::into_writes).unwrap_or_default())
    }
}

/// A response as it goes to the archive, with what is said of its visit: without its body, where that is stored.
fn shared<S: Store>(
    encoded: Encoded,
    metadata: Option<&Metadata>,
    bodies: Option<&Bodies<'_, S>>,
    warc: &mut WarcWriter,
) -> Result<Encoded, CommitError> {
    let told = |encoded: Encoded| match metadata {
        Some(metadata) => encoded.with_metadata(metadata),
        None => encoded,
    };
    if let Some(bodies) = bodies
        && let Some(original) = bodies.original(&encoded, warc)?
    {
        let revisit = told(encoded.clone().into_revisit(&original));
        if bodies.may_refer(&revisit, &original, warc) {
            return Ok(revisit);
        }
    }
    Ok(told(encoded))
}

/// Key of `meta` for the end of the archive of a crawl on one machine.
pub(crate) const WARC_END: &str = "warc_end";

/// Key of `meta` for the end of a series of archive files.
pub(crate) fn warc_end_key(series: &str) -> String {
    format!("{WARC_END}/{series}")
}

/// Reads what is stored there.
pub(crate) fn read_warc_end(value: &[u8]) -> Result<Position, CommitError> {
    Ok(serde_json::from_slice(value)?)
}

/// What is stored there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchiveEnd {
    /// The end of what is committed.
    #[serde(flatten)]
    pub(crate) end: Position,
    /// How much of this file was on the disk for certain then; none if all of it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) synced: Option<u64>,
}

impl ArchiveEnd {
    fn of(warc: &WarcWriter) -> Option<Self> {
        let (end, synced) = warc.position().zip(warc.synced())?;
        let synced = Some(synced).filter(|synced| *synced < end.offset);
        Some(Self { end, synced })
    }
}
