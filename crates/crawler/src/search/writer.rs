//! Writes the index: one thread of tantivy's, with a small heap, and commits that say up to which entry they reach.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::indexer::{IndexWriterOptions, NoMergePolicy};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{Index, IndexSettings, IndexWriter, Term};

use super::directory::SyncedLater;
use super::document::Document;
use super::error::SearchError;
use super::merging::{MERGED_BYTES, MergeByBytes};
use super::schema::{FORM, Fields, RENEWED, schema};
use super::words::{Use, tokenizers};
use crate::nofollow;

/// The index in a crawl's directory.
pub(super) const DIR: &str = "index";
/// One that is being built.
const NEW: &str = "index.new";

/// A file in the index while it is written: what a crash interrupted has to be added.
const WRITING: &str = "writing";

/// Bytes that tantivy takes before it writes a segment: the least that it works with.
pub(super) const HEAP: usize = 15_000_000;

/// Bytes of text after which a commit is made. tantivy queues documents without a bound on their size, so this bounds its memory.
const COMMIT_BYTES: usize = 8 << 20;

/// Documents after which a commit is made.
const COMMIT_DOCUMENTS: usize = 2_000;

/// Bytes of texts that are compressed together: at the fastest level these take less than 16 KiB do at the usual one.
const BLOCK_BYTES: usize = 64 << 10;

/// How texts are stored: in zstd frames, as the database has them, so that whoever looks for a text in the files can find it.
pub(super) fn index_settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::Zstd(ZstdCompressor { compression_level: Some(1) }),
        docstore_compress_dedicated_thread: false,
        docstore_blocksize: BLOCK_BYTES,
        ..IndexSettings::default()
    }
}

/// What a commit of the index says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The form of the index.
    pub(super) v: u32,
    /// The crawl that it belongs to.
    pub(super) crawl: String,
    /// The last entry of [`due`](super::due) that it holds.
    pub(super) upto: u64,
    /// Of a crawl on many machines: how many entries of the ledger of each partition it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<u64>,
}

/// Writes an index.
pub(super) struct Writer {
    index: Index,
    inner: IndexWriter,
    fields: Fields,
    mark: Mark,
    /// Bytes of text and documents since the last commit.
    bytes: usize,
    documents: usize,
    is_changed: bool,
    /// The file that says that it is written.
    writing: Option<PathBuf>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("mark", &self.mark).finish_non_exhaustive()
    }
}

impl Writer {
    /// Opens the index of a crawl to continue it; none if there is none that can be continued.
    pub(super) fn open(root: &Path, crawl: &str) -> Result<Option<Self>, SearchError> {
        let dir = root.join(DIR);
        let Some((index, fields, mark)) = open(&dir)? else { return Ok(None) };
        if mark.crawl != crawl {
            return Ok(None);
        }
        let writing = dir.join(WRITING);
        nofollow::create(&writing).map_err(SearchError::io("write", &writing))?;
        Ok(Some(Self { writing: Some(writing), ..Self::over(&dir, index, fields, mark)? }))
    }

    /// Begins an index beside the one that is there: [`finish`](Self::finish) puts it into its place.
    pub(super) fn create(root: &Path, crawl: &str, upto: u64) -> Result<Self, SearchError> {
        let dir = root.join(NEW);
        remove(&dir)?;
        fs::create_dir(&dir).map_err(SearchError::io("create", &dir))?;
        let (schema, fields) = schema();
        let files = SyncedLater::open(&dir)?;
        let mut index = Index::create(files, schema, index_settings())?;
        index.set_tokenizers(tokenizers(Use::Index));
        Self::over(&dir, index, fields, Mark { v: FORM, crawl: crawl.to_owned(), upto, parts: Vec::new() })
    }

    fn over(dir: &Path, index: Index, fields: Fields, mark: Mark) -> Result<Self, SearchError> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(HEAP)
            .build();
        let writer: IndexWriter = index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(MergeByBytes::new(dir, MERGED_BYTES)));
        Ok(Self {
            index,
            inner: writer,
            fields,
            mark,
            bytes: 0,
            documents: 0,
            is_changed: false,
            writing: None,
        })
    }

    /// Whether the index has an earlier form: it may hold pages that are denied search.
    pub(super) fn is_earlier(&self) -> bool {
        self.mark.v < FORM
    }

    #[cfg(test)]
    pub(super) fn set_form(&mut self, form: u32) {
        self.mark.v = form;
    }

    /// Notes that the index has the present form.
    pub(super) fn renew(&mut self) {
        self.is_changed = true;
        self.mark.v = FORM;
    }

    /// The last entry that is taken in.
    pub(super) fn upto(&self) -> u64 {
        self.mark.upto
    }

    /// Puts a document in the place of the one of this URL.
    pub(super) fn put(&mut self, document: &Document) -> Result<(), SearchError> {
        self.delete(&document.url);
        self.add(document)
    }

    /// Adds a document whose URL isn't there.
    pub(super) fn add(&mut self, document: &Document) -> Result<(), SearchError> {
        self.bytes += document.bytes();
        self.documents += 1;
        self.is_changed = true;
        self.inner.add_document(document.fill(&self.fields))?;
        Ok(())
    }

    /// Takes the document of a URL out. Its words stay in the files until [`purge`].
    pub(super) fn delete(&mut self, url: &str) {
        self.is_changed = true;
        self.inner.delete_term(Term::from_field_text(self.fields.url, url));
    }

    /// Notes that everything up to an entry is taken in.
    pub(super) fn reach(&mut self, upto: u64) {
        self.is_changed |= upto > self.mark.upto;
        self.mark.upto = self.mark.upto.max(upto);
    }

    /// How many entries of the ledger of each partition are taken in.
    pub(super) fn parts(&self) -> &[u64] {
        &self.mark.parts
    }

    /// Notes how many entries of the ledger of each partition are taken in.
    pub(super) fn reach_parts(&mut self, parts: Vec<u64>) {
        self.is_changed |= parts != self.mark.parts;
        self.mark.parts = parts;
    }

    /// Whether so much waits that a commit is due.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= COMMIT_BYTES || self.documents >= COMMIT_DOCUMENTS
    }

    /// Makes what was taken in durable. Does nothing where nothing was.
    pub(super) fn commit(&mut self) -> Result<(), SearchError> {
        if !std::mem::take(&mut self.is_changed) {
            return Ok(());
        }
        (self.bytes, self.documents) = (0, 0);
        let mark = serde_json::to_string(&self.mark).map_err(std::io::Error::from)?;
        let mut commit = self.inner.prepare_commit()?;
        commit.set_payload(&mark);
        commit.commit()?;
        Ok(())
    }

    /// Leaves the index marked as one that lacks something.
    pub(super) fn stay_unfinished(&mut self) {
        self.writing = None;
    }

    /// Commits and ends; waits for merges under way. With `purge` nothing of a document that was taken out stays in any file.
    pub(super) fn close(mut self, purge: bool) -> Result<(), SearchError> {
        self.commit()?;
        self.inner.wait_merging_threads()?;
        if purge {
            purge_deleted(&self.index)?;
        }
        if let Some(writing) = self.writing {
            fs::remove_file(&writing).map_err(SearchError::io("remove", &writing))?;
        }
        Ok(())
    }

    /// Ends an index that was begun by [`create`](Self::create), and puts it into its place.
    pub(super) fn finish(mut self, root: &Path) -> Result<(), SearchError> {
        self.is_changed = true;
        self.close(false)?;
        let (new, dir) = (root.join(NEW), root.join(DIR));
        remove(&dir)?;
        fs::rename(&new, &dir).map_err(SearchError::io("rename", &new))?;
        fs::File::open(root).and_then(|root| root.sync_all()).map_err(SearchError::io("sync", root))
    }
}

/// Rewrites each segment that has removed documents: until then their words are in its files.
fn purge_deleted(index: &Index) -> Result<(), SearchError> {
    let mut writer: IndexWriter = index.writer_with_num_threads(1, HEAP)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for segment in index.searchable_segment_metas()? {
        if segment.num_deleted_docs() > 0 {
            writer.merge(&[segment.id()]).wait()?;
        }
    }
    writer.garbage_collect_files().wait()?;
    writer.wait_merging_threads()?;
    Ok(())
}

/// Returns whether there is an index of an earlier form, which can be renewed.
pub(super) fn is_earlier(root: &Path) -> bool {
    open(&root.join(DIR)).is_ok_and(|found| found.is_some_and(|(_, _, mark)| mark.v < FORM))
}

/// Returns whether the index is being written, or was when its process ended.
pub(super) fn is_unfinished(root: &Path) -> bool {
    root.join(DIR).join(WRITING).exists()
}

/// Opens an index; none where there is none of a form that this version continues.
pub(super) fn open(dir: &Path) -> Result<Option<(Index, Fields, Mark)>, SearchError> {
    let list = dir.join("meta.json");
    match nofollow::open(&list) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(SearchError::io("read", &list)(error));
        }
        Err(_) => return Ok(None),
    }
    let (schema, fields) = schema();
    // What can't be opened is rebuilt: everything in it is also elsewhere.
    let Ok(mut index) = Index::open(SyncedLater::open(dir)?) else { return Ok(None) };
    if index.schema() != schema {
        return Ok(None);
    }
    let mark = index.load_metas()?.payload.and_then(|mark| serde_json::from_str::<Mark>(&mark).ok());
    let Some(mark) = mark.filter(|mark| (RENEWED..=FORM).contains(&mark.v)) else { return Ok(None) };
    index.set_tokenizers(tokenizers(Use::Index));
    Ok(Some((index, fields, mark)))
}

/// Removes a directory, if it is there.
fn remove(dir: &PathBuf) -> Result<(), SearchError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(SearchError::io("remove", dir)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Request, Search};
    use page::extract::MainText;

    fn document(url: &str, text: &str) -> Document {
        Document {
            url: url.to_owned(),
            title: format!("Title of {text}"),
            text: MainText { text: text.to_owned(), ..MainText::default() },
            ..Document::default()
        }
    }

    fn urls(root: &Path, query: &str) -> Vec<String> {
        let request = Request { query: query.to_owned(), limit: 9, ..Request::default() };
        let found = Search::open(root).unwrap().find(&request, jiff::Timestamp::UNIX_EPOCH).unwrap();
        let mut urls: Vec<String> = found.hits.into_iter().map(|hit| hit.url).collect();
        urls.sort();
        urls
    }

    #[test]
    fn what_is_put_is_found_and_what_is_taken_out_leaves_the_files() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path();
        assert!(Writer::open(root, "c").unwrap().is_none());
        let mut writer = Writer::create(root, "c", 7).unwrap();
        for (url, text) in [("http://a.test/1", "one apple"), ("http://a.test/2", "two secrets")] {
            writer.add(&document(url, text)).unwrap();
        }
        writer.finish(root).unwrap();
        assert_eq!(urls(root, "apple"), ["http://a.test/1"]);
        assert!(!is_unfinished(root));
        assert!(Writer::open(root, "other").unwrap().is_none(), "the index of another crawl");

        let mut writer = Writer::open(root, "c").unwrap().unwrap();
        assert!(is_unfinished(root));
        assert_eq!(writer.upto(), 7);
        writer.put(&document("http://a.test/1", "one pear")).unwrap();
        writer.delete("http://a.test/2");
        writer.reach(9);
        writer.commit().unwrap();
        assert!(urls(root, "apple OR secrets").is_empty());
        assert_eq!(urls(root, "pear"), ["http://a.test/1"]);
        writer.close(true).unwrap();
        let contents = Search::open(root).unwrap().contents().unwrap();
        assert!(contents.words.iter().any(|word| word == "pear"));
        for gone in ["secrets", "apple"] {
            assert!(!contents.words.iter().any(|word| word.contains(gone)), "{gone}");
            assert!(!contents.texts.iter().any(|text| text.contains(gone)), "{gone}");
        }
        assert_eq!(Writer::open(root, "c").unwrap().unwrap().upto(), 9);
    }
}
