//! What the index costs beside tantivy alone: for the bench `full_text`.

use std::path::Path;

use jiff::Timestamp;
use tantivy::indexer::IndexWriterOptions;
use tantivy::{Index, IndexWriter};

use super::archived::Archive;
use super::document::{Document, kind};
use super::error::SearchError;
use super::merging::{MERGED_BYTES, MergeByBytes};
use super::schema::schema;
use super::words::{Use, tokenizers};
use super::writer::{HEAP, Writer, index_settings};
use crate::page_store;
use crate::store::AnyStore;
use page::extract::ExtractLimits;

/// The pages of a crawl as its index takes them, in memory.
#[derive(Debug)]
pub struct PagesInMemory(Vec<Document>);

impl PagesInMemory {
    /// Reads what the index of the crawl in `root` holds from records and archive. Memory: all texts.
    pub fn read(
        root: &Path,
        store: &AnyStore,
        limits: ExtractLimits,
        now: Timestamp,
    ) -> Result<Self, SearchError> {
        let mut archive = Archive::new(root, limits);
        let mut documents = Vec::new();
        for page in page_store::scan(store) {
            let record = page?.record()?;
            if let Some(kind) = kind(&record).filter(|_| !record.is_unavailable(now)) {
                documents.push(archive.document(&record, kind));
            }
        }
        Ok(Self(documents))
    }

    /// How many there are.
    pub fn pages(&self) -> usize {
        self.0.len()
    }

    /// Bytes of their texts.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(Document::bytes).sum()
    }

    /// Writes the index as a crawl does, into `root`: languages are detected, commits are made as texts come.
    pub fn index(&self, root: &Path) -> Result<(), SearchError> {
        let mut writer = Writer::create(root, "bench", 0)?;
        for document in &self.0 {
            writer.put(document)?;
            if writer.is_full() {
                writer.commit()?;
            }
        }
        writer.finish(root)
    }

    /// Writes the same with tantivy alone, into `dir`, and gives the time that `now` says it took: the same schema, analyzers, heap and
    /// merges, one thread, one commit. Languages are detected, and documents made, before the measurement starts.
    pub fn index_with_tantivy<T>(
        &self,
        dir: &Path,
        mut now: impl FnMut() -> T,
    ) -> Result<(T, T), SearchError> {
        let (schema, fields) = schema();
        let documents: Vec<_> = self.0.iter().map(|document| document.fill(&fields)).collect();
        let began = now();
        let mut index = Index::builder().schema(schema).settings(index_settings()).create_in_dir(dir)?;
        index.set_tokenizers(tokenizers(Use::Index));
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(HEAP)
            .build();
        let mut writer: IndexWriter = index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(MergeByBytes::new(dir, MERGED_BYTES)));
        for document in documents {
            writer.add_document(document)?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        Ok((began, now()))
    }
}
