//! The fields of the index.

use tantivy::schema::{
    DateOptions, DateTimePrecision, FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, SchemaBuilder,
    TextFieldIndexing, TextOptions,
};

use super::language::STEMMED;
use super::words::{PLAIN, RAW, WHOLE};

/// The form of the index that this version writes and reads.
pub(super) const FORM: u32 = 4;

/// The earliest form that is continued: it has the same fields; pages that are denied search are removed from it before it is used.
pub(super) const RENEWED: u32 = 3;

/// A part of a page that words are looked for in: a field for each language with a stemmer, and one for all others.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// What queries call it, and the name of the field of the languages without a stemmer.
    pub(super) name: &'static str,
    plain: Field,
    /// By the code of the language, with the field's name.
    stemmed: Vec<(&'static str, Field, String)>,
}

impl Part {
    /// The field that holds this part of pages in a language.
    pub(super) fn of(&self, lang: &str) -> Field {
        let stemmed = self.stemmed.iter().find(|(code, ..)| *code == lang);
        stemmed.map_or(self.plain, |(_, field, _)| *field)
    }

    /// Each field with its name.
    pub(super) fn fields(&self) -> impl Iterator<Item = (Field, &str)> {
        let stemmed = self.stemmed.iter().map(|(_, field, name)| (*field, name.as_str()));
        std::iter::once((self.plain, self.name)).chain(stemmed)
    }
}

/// The fields, found by name once.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    /// The URL as requested: the name of the document.
    pub(super) url: Field,
    pub(super) host: Field,
    /// ISO 639-1 code, or `und`.
    pub(super) lang: Field,
    pub(super) title: Part,
    pub(super) description: Part,
    pub(super) headings: Part,
    /// The main text.
    pub(super) text: Part,
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
    let part = |name: &'static str, is_stored: bool, schema: &mut SchemaBuilder| {
        let options = |tokenizer: &str| {
            let options = TextOptions::default().set_indexing_options(indexed(tokenizer));
            if is_stored { options.set_stored() } else { options }
        };
        let plain = schema.add_text_field(name, options(PLAIN));
        let stemmed = STEMMED.iter().map(|language| {
            let name = format!("{name}_{}", language.code);
            (language.code, schema.add_text_field(&name, options(language.tokenizer)), name)
        });
        Part { name, plain, stemmed: stemmed.collect() }
    };
    let word = TextFieldIndexing::default()
        .set_tokenizer(WHOLE)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    let word = TextOptions::default().set_indexing_options(word);
    let raw = TextFieldIndexing::default()
        .set_tokenizer(RAW)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    // As the tables have them; by default tantivy compares whole seconds.
    let date = DateOptions::from(INDEXED | FAST).set_precision(DateTimePrecision::Milliseconds);
    let fields = Fields {
        url: schema.add_text_field("url", TextOptions::default().set_indexing_options(raw).set_stored()),
        host: schema.add_text_field("host", word.clone().set_fast("raw")),
        lang: schema.add_text_field("lang", word.set_fast("raw").set_stored()),
        title: part("title", true, &mut schema),
        description: part("description", true, &mut schema),
        headings: part("headings", false, &mut schema),
        text: part("text", false, &mut schema),
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
    /// The parts that words are looked for in.
    pub(super) fn parts(&self) -> [&Part; 4] {
        [&self.title, &self.headings, &self.description, &self.text]
    }
}
