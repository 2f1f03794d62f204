//! The fields of the index.

use std::collections::BTreeMap;

use tantivy::schema::{
    DateOptions, FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};

use super::language::STEMMED;
use super::words::{PLAIN, RAW, WHOLE};

/// The form of the index that this version writes and reads.
pub(super) const FORM: u32 = 1;

/// The fields, found by name once.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    /// The URL as requested: the name of the document.
    pub(super) url: Field,
    pub(super) host: Field,
    /// ISO 639-1 code, or `und`.
    pub(super) lang: Field,
    pub(super) title: Field,
    pub(super) description: Field,
    pub(super) headings: Field,
    /// Title, description and main text of a language without a stemmer.
    pub(super) text: Field,
    /// The same of each language with a stemmer, by its code.
    pub(super) texts: BTreeMap<&'static str, Field>,
    /// The main text as far as it may be shown: stored, not indexed.
    pub(super) shown: Field,
    /// Longest excerpt that may be shown, in characters; none where there is no limit.
    pub(super) max_snippet: Field,
    pub(super) fetched: Field,
    /// From this time on it may not be shown.
    pub(super) until: Field,
    pub(super) status: Field,
    pub(super) depth: Field,
}

/// Makes the schema.
pub(super) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let indexed = |tokenizer: &str| {
        TextFieldIndexing::default()
            .set_tokenizer(tokenizer)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions)
    };
    let text = |tokenizer: &str| TextOptions::default().set_indexing_options(indexed(tokenizer));
    let word = TextFieldIndexing::default()
        .set_tokenizer(WHOLE)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    let word = TextOptions::default().set_indexing_options(word);
    let raw = TextFieldIndexing::default()
        .set_tokenizer(RAW)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    let date = DateOptions::from(INDEXED | FAST);
    let fields = Fields {
        url: schema.add_text_field("url", TextOptions::default().set_indexing_options(raw).set_stored()),
        host: schema.add_text_field("host", word.clone().set_fast("raw")),
        lang: schema.add_text_field("lang", word.set_fast("raw").set_stored()),
        title: schema.add_text_field("title", text(PLAIN).set_stored()),
        description: schema.add_text_field("description", text(PLAIN).set_stored()),
        headings: schema.add_text_field("headings", text(PLAIN)),
        text: schema.add_text_field("text", text(PLAIN)),
        texts: STEMMED
            .iter()
            .map(|language| (language.code, schema.add_text_field(language.field, text(language.field))))
            .collect(),
        shown: schema.add_text_field("shown", STORED),
        max_snippet: schema.add_u64_field("max_snippet", STORED),
        fetched: schema.add_date_field("fetched", date.clone() | STORED),
        until: schema.add_date_field("until", date),
        status: schema.add_u64_field("status", INDEXED | STORED),
        depth: schema.add_u64_field("depth", INDEXED | STORED),
    };
    (schema.build(), fields)
}

impl Fields {
    /// The field that holds the texts of a language.
    pub(super) fn text_of(&self, lang: &str) -> Field {
        self.texts.get(lang).copied().unwrap_or(self.text)
    }
}
