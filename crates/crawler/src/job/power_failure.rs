//! What a power failure took from the archive: captures that the database names, and that never came to the disk. Their pages are
//! fetched again.
//!
//! Archive and database are written before they are synced, and each may come to the disk before the other. The database says up to where
//! the archive was synced; what lies behind is read again before the crawl goes on.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::CrawlDir;
use crate::commit::{ArchiveEnd, Batch, CommitError, Committer, SettledPage, WARC_END};
use crate::engine::LOST;
use crate::frontier::{Frontier, FrontierLimits, QueuedUrl};
use crate::ledger;
use crate::pace::{Delay, DelayReason};
use crate::page_store;
use crate::record::{Archived, Decided, Decision, Layer, PlainReason};
use crate::removal;
use crate::store::{Store, Tree};
use crate::warc::{self, Position};
use page::clock::Now;
use page::url::{CrawlUrl, FingerprintKey};

/// Finds what the archive lost since it was last synced, takes it out of the page records, and queues these pages again. Returns how many. Repeating
/// it changes nothing.
///
/// Cost: reads what was appended since, as a rule what a crawl writes in a tenth of a second; where something was lost, one pass over the
/// page records.
///
/// # Errors
/// The archive can't be read, or the database not read or written.
pub(crate) fn mend_archive<S: Store>(
    dir: &CrawlDir,
    store: &Arc<S>,
    key: FingerprintKey,
    now: Timestamp,
) -> Result<u64, CommitError> {
    let now = Now { mono: Duration::ZERO, wall: now };
    let Some(value) = store.get(Tree::Meta, WARC_END.as_bytes())? else { return Ok(0) };
    let ArchiveEnd { end, synced } = serde_json::from_slice(&value)?;
    let Some(synced) = synced else { return Ok(0) };
    if warc::serial(&end.file).is_none() {
        // No file of an archive, but perhaps one elsewhere. Whoever opens the archive refuses it.
        return Ok(0);
    }
    let whole = warc::whole_until(&dir.warc().join(&end.file), synced, end.offset)?;
    if whole < synced {
        // What was on the disk is gone: no power failure does that. Whoever opens the archive refuses it.
        return Ok(0);
    }
    let no_gap = Delay { length: Duration::ZERO, why: DelayReason::Configured };
    let mut frontier = Frontier::open_now(store, FrontierLimits::default(), no_gap, key, now)?;
    let mut batch = removal::batch(&**store)?;
    let mut queued = 0;
    if whole < end.offset {
        queued = lose(&mut frontier, &mut batch, &Position { offset: whole, ..end.clone() }, now)?;
        if ledger::head(&**store)?.is_none() {
            // None is kept.
            batch.decisions.clear();
        }
    }
    if queued > 0 {
        frontier.put(Tree::Meta, LOST.to_vec(), Vec::new());
    }
    let end = ArchiveEnd { end: Position { offset: whole, ..end }, synced: None };
    frontier.put(Tree::Meta, WARC_END.into(), serde_json::to_vec(&end)?);
    let (generation, writes) = frontier.cut(now)?;
    Committer::open(Arc::clone(store), None)?.commit(Batch { generation, writes, ..batch })?;
    Ok(queued)
}

/// Takes the captures from a position on out of the page records, and queues those pages again whose last response is one of them, unless
/// nobody may have them any more. Returns how many.
fn lose<S: Store>(
    frontier: &mut Frontier<S>,
    batch: &mut Batch,
    from: &Position,
    now: Now,
) -> Result<u64, CommitError> {
    let mut queued = 0;
    let is_lost = |of: &Archived| of.file == from.file && of.offset >= from.offset;
    let store = Arc::clone(frontier.store());
    for page in page_store::scan(&*store) {
        let page = page?;
        let mut record = page.record()?;
        if !record.captures().any(is_lost) {
            continue;
        }
        let may_be_kept = !record.forgotten && !record.is_unavailable(now.wall);
        if record.lose(now.wall, is_lost)
            && may_be_kept
            && let Ok(url) = CrawlUrl::parse(&record.url)
        {
            batch.decisions.push(Decision {
                at: now.wall,
                url: record.url.clone(),
                host: frontier.name(page.host).to_owned(),
                decision: Decided::BodyLost,
                layer: Layer::Fetch,
                reason: PlainReason::Body.into(),
                evidence: format!("a power failure took the end of archive file {}", from.file).into(),
                via: None,
            });
            let item = QueuedUrl::again(&url, record.depth, record.via, record.resource);
            frontier.load(page.host)?;
            frontier.requeue(page.host, item);
            queued += 1;
        }
        batch.pages.push(SettledPage {
            keeps_links: true,
            ..SettledPage::taken_over(page.host, page.page, record, Vec::new())
        });
    }
    Ok(queued)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::commit::Unsynced;
    use crate::config::Settings;
    use crate::job;
    use crate::record::PageRecord;
    use crate::store::{MemoryStore, PowerCutStore};
    use crate::warc::{Exchange, WarcInfo, encode};

    const KEY: FingerprintKey = FingerprintKey::new([7; 16]);

    fn now() -> Now {
        Now { mono: Duration::ZERO, wall: "2026-03-01T12:00:00Z".parse().unwrap() }
    }

    fn url(number: u64) -> CrawlUrl {
        CrawlUrl::parse(&format!("http://a.test/{number}")).unwrap()
    }

    /// A crawl of four pages, of which the archive was synced behind the second one.
    struct Crawl {
        dir: CrawlDir,
        store: Arc<PowerCutStore>,
        /// Where the records of the pages end.
        ends: Vec<Position>,
        committer: Committer<PowerCutStore>,
        _top: tempfile::TempDir,
    }

    impl Crawl {
        fn new() -> Self {
            let top = tempfile::tempdir().unwrap();
            let dir = CrawlDir::unlocked(top.path());
            let store = Arc::new(PowerCutStore::new(Arc::<MemoryStore>::default(), u64::MAX).unwrap());
            let mut scope = job::scope(&Settings::default()).unwrap();
            let seed = url(0);
            scope.add_seed(&seed);
            job::queue_seeds(&store, &scope, &[seed], &[], KEY, now().wall).unwrap();
            let info = WarcInfo::example(now().wall);
            let mut committer =
                Committer::open(Arc::clone(&store), Some((&dir.warc(), &info, u64::MAX))).unwrap();
            let (mut ends, mut archive_synced) = (Vec::new(), None);
            for number in 1..=4 {
                let pages = vec![page(number)];
                let unsynced = committer.write(Batch {
                    pages,
                    archive_synced: archive_synced.take(),
                    ..Batch::default()
                });
                let unsynced: Option<Unsynced> = unsynced.unwrap();
                ends.push(end(&*store).end);
                if number == 2 {
                    archive_synced = unsynced.expect("a deferred sync").sync(&*store).unwrap();
                }
            }
            Self { dir, store, ends, committer, _top: top }
        }

        fn file(&self) -> std::path::PathBuf {
            self.dir.warc().join(&self.ends[0].file)
        }

        fn mend(&self) -> u64 {
            mend_archive(&self.dir, &self.store, KEY, now().wall).unwrap()
        }

        /// The numbers of the pages that have a place in the archive.
        fn archived(&self) -> Vec<u64> {
            let pages = page_store::scan(&*self.store).map(|page| page.unwrap().record().unwrap());
            let archived = pages.filter(|page| page.warc.is_some());
            archived.map(|page| page.url.rsplit('/').next().unwrap().parse().unwrap()).collect()
        }
    }

    fn page(number: u64) -> SettledPage {
        let address = url(number).to_string();
        let record =
            PageRecord { url: address.clone(), status: Some(200), archived: true, ..PageRecord::default() };
        let body = blake3::hash(address.as_bytes()).to_hex().repeat(20);
        let exchange = Exchange::example(&address, body.as_bytes(), now().wall);
        SettledPage {
            warc: Some(encode(&exchange)),
            ..SettledPage::taken_over(
                crate::frontier::HostId(0),
                url(number).fingerprint(&KEY),
                record,
                Vec::new(),
            )
        }
    }

    fn end<S: Store>(store: &S) -> ArchiveEnd {
        serde_json::from_slice(&store.get(Tree::Meta, WARC_END.as_bytes()).unwrap().unwrap()).unwrap()
    }

    fn cut(path: &Path, length: u64) {
        std::fs::File::options().write(true).open(path).unwrap().set_len(length).unwrap();
    }

    /// Zeros where the data never came, in a file that has its whole length.
    fn blank(path: &Path, from: u64) {
        let mut bytes = std::fs::read(path).unwrap();
        bytes[from as usize..].fill(0);
        std::fs::write(path, bytes).unwrap();
    }

    #[test]
    fn the_database_says_how_much_of_the_archive_was_synced() {
        let crawl = Crawl::new();
        let end = end(&*crawl.store);
        assert_eq!((&end.end, end.synced), (&crawl.ends[3], Some(crawl.ends[1].offset)));
        // Where the store syncs each commit, the archive was synced before.
        let store = Arc::new(MemoryStore::default());
        let top = tempfile::tempdir().unwrap();
        let info = WarcInfo::example(now().wall);
        let mut committer = Committer::open(Arc::clone(&store), Some((top.path(), &info, u64::MAX))).unwrap();
        for number in 1..=2 {
            let unsynced = committer.write(Batch { pages: vec![page(number)], ..Batch::default() }).unwrap();
            assert!(unsynced.is_none());
            assert_eq!(super::tests::end(&*store).synced, None);
        }
    }

    #[test]
    fn pages_whose_captures_never_came_to_the_disk_are_queued_again() {
        for (fault, damage, lost) in [
            ("nothing is lost", (|_, _| ()) as fn(&Path, &[Position]), 0),
            ("the file ends behind what was synced", |path, ends| cut(path, ends[1].offset), 2),
            ("it ends within a record", |path, ends| cut(path, ends[2].offset - 1), 2),
            ("it ends before the request of the last one", |path, ends| cut(path, ends[3].offset - 1), 1),
            (
                "its last record is gone, so the one before may not be whole",
                |path, ends| cut(path, ends[2].offset),
                2,
            ),
            ("a record is blank", |path, ends| blank(path, ends[2].offset + 100), 2),
            ("a record and what follows is blank", |path, ends| blank(path, ends[1].offset + 300), 2),
        ] {
            let crawl = Crawl::new();
            damage(&crawl.file(), &crawl.ends);
            assert_eq!(crawl.mend(), lost, "{fault}");
            let kept = 4 - lost;
            assert_eq!(crawl.archived(), (1..=kept).collect::<Vec<_>>(), "{fault}");
            let whole = ArchiveEnd { end: crawl.ends[kept as usize - 1].clone(), synced: None };
            assert_eq!(end(&*crawl.store), whole, "{fault}");
            let no_gap = Delay { length: Duration::ZERO, why: DelayReason::Configured };
            let limits = FrontierLimits::default();
            let frontier = Frontier::open_now(&crawl.store, limits, no_gap, KEY, now()).unwrap();
            assert_eq!(frontier.counts().queued, 1 + lost, "{fault}: and the seed");
            assert_eq!(crawl.store.get(Tree::Meta, LOST).unwrap().is_some(), lost > 0, "{fault}");
            // Another look finds nothing more, and the archive can be continued.
            assert_eq!(crawl.mend(), 0, "{fault}");
            let info = WarcInfo::example(now().wall);
            Committer::open(Arc::clone(&crawl.store), Some((&crawl.dir.warc(), &info, u64::MAX))).unwrap();
            assert_eq!(std::fs::metadata(crawl.file()).unwrap().len(), whole.end.offset, "{fault}");
        }
    }

    #[test]
    fn after_a_failed_sync_the_archive_has_what_was_synced_before_it() {
        let mut crawl = Crawl::new();
        crawl.committer.drop_unsynced_archive(Some(&crawl.ends[2])).unwrap();
        let length = || std::fs::metadata(crawl.file()).unwrap().len();
        assert_eq!(length(), crawl.ends[2].offset, "the third page was synced since the last commit");
        assert_eq!(crawl.mend(), 2, "and the last exchange of a cut file isn't certain to be whole");
        let mut crawl = Crawl::new();
        crawl.committer.drop_unsynced_archive(None).unwrap();
        assert_eq!(std::fs::metadata(crawl.file()).unwrap().len(), crawl.ends[1].offset);
        assert_eq!(crawl.mend(), 2);
    }

    #[test]
    fn an_archive_that_lacks_what_was_synced_is_damaged_and_not_mended() {
        let crawl = Crawl::new();
        cut(&crawl.file(), crawl.ends[1].offset - 1);
        assert_eq!(crawl.mend(), 0);
        assert_eq!(crawl.archived(), [1, 2, 3, 4]);
        let info = WarcInfo::example(now().wall);
        let archive = Some((&*crawl.dir.warc(), &info, u64::MAX));
        let refused = Committer::open(Arc::clone(&crawl.store), archive).unwrap_err();
        assert!(matches!(refused, CommitError::Warc(warc::Error::Short { .. })), "{refused}");
    }
}
