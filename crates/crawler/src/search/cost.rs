//! What each part of the index costs, from tantivy alone to what a crawl writes: for the bench `full_text`.

use std::path::Path;

use jiff::Timestamp;
use tantivy::indexer::{IndexWriterOptions, NoMergePolicy};
use tantivy::schema::Schema;
use tantivy::tokenizer::{LowerCaser, SimpleTokenizer, TextAnalyzer, TokenizerManager};
use tantivy::{Index, IndexWriter};

use super::archived::Archive;
use super::document::{Document, kind};
use super::error::SearchError;
use super::language::STEMMED;
use super::merging::{MERGED_BYTES, MergeByBytes};
use super::schema::schema;
use super::words::{PLAIN, Use, tokenizers};
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

    /// Writes the texts into `dir` with tantivy as far as this part, and gives the time that `now` says it took. Languages are
    /// detected, and documents made, before the measurement starts, except by [`Added::Languages`].
    pub fn index_with_tantivy<T>(
        &self,
        dir: &Path,
        added: Added,
        mut now: impl FnMut() -> T,
    ) -> Result<(T, T), SearchError> {
        let (schema, fields) = schema();
        let schema = added.schema(&schema)?;
        let made = |document: &Document| document.fill(&fields);
        let mut documents: Vec<_> = self.0.iter().map(made).collect();
        let began = now();
        if added == Added::Languages {
            documents = self.0.iter().map(made).collect();
        }
        let mut index = Index::builder().schema(schema).settings(index_settings()).create_in_dir(dir)?;
        index.set_tokenizers(added.tokenizers());
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(HEAP)
            .build();
        let mut writer: IndexWriter = index.writer_with_options(options)?;
        if added < Added::Merges {
            writer.set_merge_policy(Box::new(NoMergePolicy));
        } else {
            writer.set_merge_policy(Box::new(MergeByBytes::new(dir, MERGED_BYTES)));
        }
        for document in documents {
            writer.add_document(document)?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        Ok((began, now()))
    }
}

/// What is added to an index, each part to all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Added {
    /// Tantivy with the crawl's fields and its own simple tokenizer, in lower case: which document has which word how often.
    Words,
    /// The positions of words, for phrases.
    Positions,
    /// The stored fields: title, description, the text for snippets, dates and numbers.
    Stored,
    /// Segments are merged. What a user of tantivy has by default.
    Merges,
    /// The crawl's own words: all scripts, without diacritics.
    OwnWords,
    /// Stems, with the cache of them.
    Stems,
    /// The language of each text is detected, and the document made.
    Languages,
}

impl Added {
    /// All parts in order.
    pub const ALL: [Self; 7] = [
        Self::Words,
        Self::Positions,
        Self::Stored,
        Self::Merges,
        Self::OwnWords,
        Self::Stems,
        Self::Languages,
    ];

    /// The schema with what this part and those before it have.
    fn schema(self, whole: &Schema) -> Result<Schema, SearchError> {
        let mut text = serde_json::to_string(whole).map_err(tantivy::TantivyError::from)?;
        if self < Self::Positions {
            text = text.replace("\"record\":\"position\"", "\"record\":\"freq\"");
        }
        if self < Self::Stored {
            text = text.replace("\"stored\":true", "\"stored\":false");
        }
        Ok(serde_json::from_str(&text).map_err(tantivy::TantivyError::from)?)
    }

    fn tokenizers(self) -> TokenizerManager {
        let own = tokenizers(Use::Index);
        if self >= Self::Stems {
            return own;
        }
        let words = if self >= Self::OwnWords {
            own.get(PLAIN).unwrap_or_default()
        } else {
            TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser).build()
        };
        for name in STEMMED.iter().map(|language| language.tokenizer).chain([PLAIN]) {
            own.register(name, words.clone());
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_adds_what_it_says() {
        let whole = schema().0;
        let text = |added: Added| serde_json::to_string(&added.schema(&whole).unwrap()).unwrap();
        assert!(!text(Added::Words).contains("position") && !text(Added::Words).contains("\"stored\":true"));
        let positions = text(Added::Positions);
        assert!(positions.contains("position") && !positions.contains("\"stored\":true"));
        assert_eq!(text(Added::Stored), serde_json::to_string(&whole).unwrap());
        let words = |added: Added, name: &str| {
            let mut analyzer = added.tokenizers().get(name).unwrap();
            let mut stream = analyzer.token_stream("Häuser running");
            let mut words = Vec::new();
            stream.process(&mut |token| words.push(token.text.clone()));
            words
        };
        let english = STEMMED.iter().find(|language| language.code == "en").unwrap().tokenizer;
        assert_eq!(words(Added::Merges, english), ["häuser", "running"]);
        assert!(words(Added::OwnWords, english).contains(&"hauser".to_owned()));
        assert!(words(Added::Stems, english).contains(&"run".to_owned()));
    }
}
