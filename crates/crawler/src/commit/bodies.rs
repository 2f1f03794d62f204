//! Equal bodies are stored once: a response whose body is in the archive already becomes a `revisit` record.
//!
//! The index is a tree of the store, so memory doesn't grow with it; in a cluster it is [`RecentBodies`]. A body counts as stored only if its
//! record can be read now: one that was withdrawn or damaged is stored again.

use std::collections::HashMap;
use std::path::Path;

use super::CommitError;
use super::earlier::EarlierBodies;
use super::recent::RecentBodies;
use crate::record::{Archived, Withdrawal};
use crate::store::{Store, Tree, Write};
use crate::warc::{self, Encoded, Location, Original, WarcWriter};

/// The bodies of one commit, and of those before.
pub(super) struct Bodies<'a, S> {
    dir: &'a Path,
    withdrawals: &'a [Withdrawal],
    known: Known<'a, S>,
    /// By digest, what this commit stored.
    new: HashMap<String, Original>,
}

/// What a response may refer to.
pub(super) enum Known<'a, S> {
    /// All bodies of the crawl, by the index in the store, and those of earlier crawls.
    All(&'a S, Option<&'a EarlierBodies>),
    /// Those of the file that the response itself goes to.
    OfFile(&'a RecentBodies),
}

impl<'a, S: Store> Bodies<'a, S> {
    /// None where no directory of the archive is known, or no body may be shared.
    pub(super) fn new(
        known: Option<Known<'a, S>>,
        dir: Option<&'a Path>,
        withdrawals: &'a [Withdrawal],
    ) -> Option<Self> {
        Some(Self { dir: dir?, withdrawals, known: known?, new: HashMap::new() })
    }

    /// The response that has the body of this one, if it is stored, here or by an earlier crawl. `warc` is what this one is written by. Cost: one
    /// look into the index, a search in that of earlier bodies, and one read of a record that is found, for which it is written out.
    pub(super) fn original(
        &self,
        encoded: &Encoded,
        warc: &mut WarcWriter,
    ) -> Result<Option<Original>, CommitError> {
        let Some(digest) = encoded.shareable() else { return Ok(None) };
        let (store, earlier) = match self.known {
            Known::All(store, earlier) => (store, earlier),
            Known::OfFile(recent) => {
                let place = warc.position().and_then(|end| recent.find(&end.file, digest));
                let Some(place) = place.filter(|place| !self.goes(place)) else { return Ok(None) };
                warc.write_out()?;
                let record = warc::read(self.dir, &place).ok();
                return Ok(record.and_then(|record| record.as_original(digest, place)));
            }
        };
        let original = match self.new.get(digest) {
            Some(original) => Some(original.clone()),
            None => match store.get(Tree::Payloads, digest.as_bytes())? {
                Some(value) => serde_json::from_slice(&value)?,
                None => None,
            },
        };
        if original.is_some() {
            warc.write_out()?;
        }
        match original.filter(|original| self.is_there(original, digest)) {
            Some(original) => Ok(Some(original)),
            None => Ok(earlier.map(|earlier| earlier.find(digest)).transpose()?.flatten()),
        }
    }

    /// Whether a `revisit` record may refer to this original: always, but where both have to be in one file, and the record would begin the next.
    pub(super) fn may_refer(&self, revisit: &Encoded, original: &Original, warc: &WarcWriter) -> bool {
        match self.known {
            Known::All(..) => true,
            Known::OfFile(_) => warc.file_for(revisit) == Some(&original.place.file),
        }
    }

    /// Notes a response that was appended with its body.
    pub(super) fn stored(&mut self, encoded: &Encoded, place: &Location) {
        let Some(digest) = encoded.shareable() else { return };
        match self.known {
            Known::OfFile(recent) => recent.stored(digest, place),
            Known::All(..) => {
                if let Some(original) = encoded.original(place) {
                    self.new.insert(digest.to_owned(), original);
                }
            }
        }
    }

    /// What enters the bodies of this commit.
    pub(super) fn into_writes(self) -> Vec<Write> {
        let write = |(digest, original): (String, Original)| {
            let value = serde_json::to_vec(&original).ok()?;
            Some(Write::put(Tree::Payloads, digest.into_bytes(), value))
        };
        self.new.into_iter().filter_map(write).collect()
    }

    fn is_there(&self, original: &Original, digest: &str) -> bool {
        !self.goes(&original.place)
            && warc::read(self.dir, &original.place).is_ok_and(|record| record.has_body(digest))
    }

    /// Those of this commit are still to be overwritten.
    fn goes(&self, place: &Location) -> bool {
        let Location { file, offset, length } = place.clone();
        let place = Archived { file, offset, length };
        self.withdrawals.iter().any(|withdrawal| withdrawal.place == place)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Batch, Committer, RecentBodies, SettledPage};
    use crate::frontier::HostId;
    use crate::record::{Archived, PageRecord, Withdrawal};
    use crate::store::MemoryStore;
    use crate::warc::{self, Exchange, Location, Record, WarcInfo, encode};
    use page::url::Fingerprint;

    /// A crawl whose archive others add to as well.
    struct Crawl {
        dir: tempfile::TempDir,
        committer: Committer<MemoryStore>,
        pages: u64,
    }

    impl Crawl {
        fn new(max_file_size: u64, bodies: &Arc<RecentBodies>) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let info = WarcInfo::example("2026-03-01T12:00:00Z".parse().unwrap());
            let committer = Committer::open(Arc::new(MemoryStore::default()), None).unwrap();
            let committer = committer.archiving_series(dir.path(), &info, max_file_size, "w3p017f5").unwrap();
            let committer = committer.sharing_bodies_within_files(Some(Arc::clone(bodies)));
            Self { dir, committer, pages: 0 }
        }

        /// Commits a page with this body, and captures that have to go. Returns the page's own record, and where it is.
        fn store(&mut self, body: &str, withdrawals: Vec<Withdrawal>) -> (Record, Location) {
            self.pages += 1;
            let url = format!("http://a.test/{}", self.pages);
            let record = PageRecord { url: url.clone(), status: Some(200), ..PageRecord::default() };
            let at = "2026-03-01T12:00:00Z".parse().unwrap();
            let exchange = Exchange::example(&url, body.as_bytes(), at);
            let page = SettledPage {
                warc: Some(encode(&exchange)),
                ..SettledPage::taken_over(HostId(0), Fingerprint(self.pages), record, Vec::new())
            };
            self.committer.commit(Batch { pages: vec![page], withdrawals, ..Batch::default() }).unwrap();
            let file = self.committer.warc.as_ref().unwrap().position().unwrap().file;
            let path = self.dir.path().join(&file);
            let records = warc::Reader::open(&path).unwrap().map(Result::unwrap);
            let own = { records }.filter(|record| record.field("WARC-Target-URI") == Some(&url));
            let record = { own }.find(|record| record.kind() != "request").unwrap();
            let (offset, length) = (record.offset, record.length);
            (record, Location { file, offset, length })
        }

        /// The body of the page at this place, from wherever it is.
        fn body(&self, place: &Location) -> Vec<u8> {
            warc::read_response(self.dir.path(), place).unwrap().http().unwrap().1.to_vec()
        }
    }

    /// Text that hardly becomes shorter.
    fn text(seed: u32, length: usize) -> String {
        let hash = |part: usize| blake3::hash(format!("{seed} {part}").as_bytes()).to_hex().to_string();
        (0..length / 64).map(hash).collect()
    }

    #[test]
    fn where_others_add_to_the_archive_a_response_refers_to_its_own_file_alone() {
        let bodies = Arc::new(RecentBodies::default());
        let mut crawl = Crawl::new(50_000, &bodies);
        let (same, mut kinds) = (text(0, 20_000), Vec::new());
        for number in 1..40 {
            // What lies between makes the file full at some place, also where a `revisit` record would be the next.
            crawl.store(&text(number, 2_000), Vec::new());
            let (record, place) = crawl.store(&same, Vec::new());
            assert_eq!(crawl.body(&place), same.as_bytes());
            if let Some(original) = record.refers_to() {
                assert_eq!(original.place.file, place.file);
            }
            kinds.push((place.file, record.kind().to_owned()));
        }
        let first = |file: &str| kinds.iter().find(|(of, _)| of == file).map(|(_, kind)| kind.clone());
        let files: std::collections::BTreeSet<&String> = kinds.iter().map(|(file, _)| file).collect();
        assert!(files.len() > 1, "{kinds:?}");
        for file in &files {
            assert_eq!(first(file).as_deref(), Some("response"), "each file has the body itself: {kinds:?}");
        }
        let shared = kinds.iter().filter(|(_, kind)| kind == "revisit").count();
        assert_eq!(shared, kinds.len() - files.len(), "and has it once: {kinds:?}");
        for (_, path) in warc::files(crawl.dir.path()).unwrap() {
            assert!(std::fs::metadata(path).unwrap().len() <= 50_000);
        }

        // Another archive, of another worker or of a later time, has nothing of it.
        let mut other = Crawl::new(50_000, &bodies);
        std::fs::remove_dir_all(crawl.dir.path()).unwrap();
        assert_eq!(other.store(&same, Vec::new()).0.kind(), "response");
    }

    #[test]
    fn equal_bodies_of_one_commit_are_stored_once() {
        let info = WarcInfo::example("2026-03-01T12:00:00Z".parse().unwrap());
        let same = text(0, 2_000);
        for is_shared in [true, false] {
            let Crawl { dir, committer, .. } = Crawl::new(u64::MAX, &Arc::default());
            let mut committer = if is_shared {
                committer
            } else {
                let archive = Some((dir.path(), &info, u64::MAX));
                let committer = Committer::open(Arc::new(MemoryStore::default()), archive).unwrap();
                committer.storing_bodies_once(true).with_archive_dir(dir.path()).unwrap()
            };
            let page = |number: u64| {
                let url = format!("http://a.test/{number}");
                let record = PageRecord { url: url.clone(), status: Some(200), ..PageRecord::default() };
                let at = "2026-03-01T12:00:00Z".parse().unwrap();
                let encoded = encode(&Exchange::example(&url, same.as_bytes(), at));
                let page = SettledPage::taken_over(HostId(0), Fingerprint(number), record, Vec::new());
                SettledPage { warc: Some(encoded), ..page }
            };
            committer.commit(Batch { pages: (0..3).map(page).collect(), ..Batch::default() }).unwrap();
            let (_, path) = warc::files(dir.path()).unwrap().remove(0);
            let records = warc::Reader::open(&path).unwrap().map(Result::unwrap);
            let kinds = records.map(|record| record.kind().to_owned()).filter(|kind| kind != "request");
            assert_eq!(kinds.collect::<Vec<_>>(), ["warcinfo", "response", "revisit", "revisit"]);
        }
    }

    #[test]
    fn a_body_that_has_to_go_is_not_referred_to() {
        let mut crawl = Crawl::new(u64::MAX, &Arc::default());
        let same = text(0, 2_000);
        let (_, place) = crawl.store(&same, Vec::new());
        let Location { file, offset, length } = place;
        let place = Archived { file, offset, length };
        let at = "2026-03-01T12:00:00Z".parse().unwrap();
        let gone = |place| vec![Withdrawal::new("http://a.test/1", place, at, "noarchive")];
        let (record, place) = crawl.store(&same, gone(place));
        assert_eq!(record.kind(), "response", "in the commit that says so");
        assert_eq!(crawl.store(&same, Vec::new()).0.kind(), "revisit");
        let Location { file, offset, length } = place;
        crawl.store(&text(1, 2_000), gone(Archived { file, offset, length }));
        assert_eq!(crawl.store(&same, Vec::new()).0.kind(), "response", "nor later");
    }
}
