//! Finds pages in an index.

use std::collections::HashMap;
use std::path::Path;

use jiff::Timestamp;
use tantivy::aggregation::agg_req::Aggregations;
use tantivy::aggregation::agg_result::AggregationResults;
use tantivy::aggregation::{AggContextParams, AggregationCollector};
use tantivy::collector::{Count, MultiCollector, TopDocs};
use tantivy::query::Query;
use tantivy::schema::{Field, Value as _};
use tantivy::snippet::SnippetGenerator;
use tantivy::{Index, IndexReader, ReloadPolicy, Searcher, TantivyDocument};

use super::error::SearchError;
use super::query::{self, Request};
use super::schema::{FORM, Fields};
use super::snippet::{self, Marked};
use super::writer::{self, DIR};
use crate::crawl_dir::refuse_links;
use page::url::CrawlUrl;

/// Values of a facet that are listed.
const FACET_VALUES: u64 = 20;

/// An index that is open to be searched. It shows the state of its last commit when it was opened.
pub struct Search {
    index: Index,
    reader: IndexReader,
    fields: Fields,
}

impl std::fmt::Debug for Search {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search").finish_non_exhaustive()
    }
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Pages that match, whatever the limit.
    pub total: u64,
    /// Pages that are in the index.
    pub searchable: u64,
    /// Pages that it lacks, or has as they were before. Only [`super::lacking`] finds out.
    pub lacking: u64,
    /// The index is being written, or that was interrupted: it may lack pages. Only [`super::is_behind`] finds out.
    pub is_behind: bool,
    /// The best of them, the best first.
    pub hits: Vec<Hit>,
    /// How many there are of each host and language, where that was asked.
    pub facets: Option<Facets>,
}

impl Found {
    /// Says how many pages are searchable, where others are due.
    pub fn searchable_yet(&self, number: impl Fn(u64) -> String) -> Option<String> {
        let Self { searchable, lacking, .. } = *self;
        let all = searchable + lacking;
        (lacking > 0).then(|| format!("{} of {} pages are searchable yet", number(searchable), number(all)))
    }
}

/// Counts of matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facets {
    /// By host: the 20 with most matches.
    pub hosts: Vec<FacetCount>,
    /// By language: the 20 with most matches.
    pub langs: Vec<FacetCount>,
}

/// A value with the number of its matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetCount {
    /// The host, or the code of the language.
    pub value: String,
    /// Pages that match.
    pub count: u64,
}

/// A page that matches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hit {
    /// How well it matches: comparable within one search alone.
    pub score: f32,
    /// The URL as requested.
    pub url: String,
    /// Its host.
    pub host: String,
    /// Its title; empty where it has none.
    pub title: String,
    /// The language (ISO 639-1), `und` where it isn't known.
    pub lang: String,
    /// When it was fetched.
    pub fetched_at: Timestamp,
    /// The status code.
    pub status: u64,
    /// Links from a seed.
    pub depth: u64,
    /// A part of its text, or its description, as far as its author lets it be shown; without control characters.
    pub snippet: String,
    /// What was found in the snippet: ranges of bytes.
    pub found: Vec<std::ops::Range<usize>>,
}

impl Search {
    /// Opens the index of the crawl in `root`. Nothing is locked: a crawl may go on there.
    pub fn open(root: &Path) -> Result<Self, SearchError> {
        refuse_links(root)?;
        let dir = root.join(DIR);
        let found = writer::open(&dir)?.filter(|(_, _, mark)| mark.v == FORM);
        let Some((index, fields, _)) = found else {
            let is_there = dir.join("meta.json").is_file();
            return Err(if is_there { SearchError::OtherForm } else { SearchError::None }(root.to_owned()));
        };
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { index, reader, fields })
    }

    /// Pages that are in the index.
    pub fn pages(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Finds pages, as asked at a time.
    pub fn find(&self, request: &Request, now: Timestamp) -> Result<Found, SearchError> {
        let searcher = self.reader.searcher();
        let query = query::build(&self.index, &self.fields, &searcher, request, now)?;
        let mut collectors = MultiCollector::new();
        let count = collectors.add_collector(Count);
        let top = collectors.add_collector(TopDocs::with_limit(request.limit.max(1)).order_by_score());
        let facets = request.facets.then(|| {
            let wanted = serde_json::json!({
                "host": { "terms": { "field": "host", "size": FACET_VALUES } },
                "lang": { "terms": { "field": "lang", "size": FACET_VALUES } },
            });
            serde_json::from_value::<Aggregations>(wanted)
        });
        let facets = facets.transpose().map_err(std::io::Error::from)?;
        let facets = facets.map(|wanted| {
            collectors.add_collector(AggregationCollector::from_aggs(wanted, AggContextParams::default()))
        });
        let mut fruits = searcher.search(&query, &collectors)?;
        let total = count.extract(&mut fruits) as u64;
        let top = top.extract(&mut fruits);
        let facets = facets.map(|facets| facets_of(facets.extract(&mut fruits)));
        let mut snippets = Snippets { searcher: &searcher, query: &*query, generators: HashMap::new() };
        let mut hits = Vec::new();
        for (score, address) in top.into_iter().take(request.limit) {
            let document: TantivyDocument = searcher.doc(address)?;
            hits.push(self.hit(score, &document, &mut snippets)?);
        }
        Ok(Found { total, searchable: searcher.num_docs(), lacking: 0, is_behind: false, hits, facets })
    }

    fn hit(
        &self,
        score: f32,
        document: &TantivyDocument,
        snippets: &mut Snippets<'_>,
    ) -> Result<Hit, SearchError> {
        let fields = &self.fields;
        let text =
            |field: Field| document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default();
        let number = |field: Field| document.get_first(field).and_then(|value| value.as_u64());
        let (url, lang) = (text(fields.url).to_owned(), text(fields.lang).to_owned());
        let most = number(fields.max_snippet).map_or(snippet::CHARACTERS, |most| {
            usize::try_from(most).unwrap_or(usize::MAX).min(snippet::CHARACTERS)
        });
        let described = fields.description.of(&lang);
        let (description, shown) = (text(described), text(fields.shown));
        let shown = &shown[..shown.floor_char_boundary(snippet::SEARCHED)];
        let mut snippet = snippets.of(fields.text.of(&lang), shown, most)?;
        if snippet.found.is_empty() {
            let of_description = snippets.of(described, description, most)?;
            if !of_description.found.is_empty() || snippet.text.is_empty() {
                snippet = of_description;
            }
        }
        let fetched = document.get_first(fields.fetched).and_then(|value| value.as_datetime());
        let fetched = fetched.and_then(|at| Timestamp::from_millisecond(at.into_timestamp_millis()).ok());
        Ok(Hit {
            score,
            host: CrawlUrl::parse(&url).map(|url| url.host().to_owned()).unwrap_or_default(),
            url,
            title: text(fields.title.of(&lang)).to_owned(),
            lang,
            fetched_at: fetched.unwrap_or_default(),
            status: number(fields.status).unwrap_or_default(),
            depth: number(fields.depth).unwrap_or_default(),
            snippet: snippet.text,
            found: snippet.found,
        })
    }

    /// Everything in the index, including removed documents, as far as it is in its files: words, and stored
    /// texts. For checks that something isn't there.
    pub fn contents(&self) -> Result<Contents, SearchError> {
        let searcher = self.reader.searcher();
        let mut contents = Contents::default();
        for segment in searcher.segment_readers() {
            for (field, entry) in self.index.schema().fields() {
                if !entry.is_indexed() || !matches!(entry.field_type(), tantivy::schema::FieldType::Str(_)) {
                    continue;
                }
                let inverted = segment.inverted_index(field)?;
                let mut terms = inverted.terms().stream()?;
                while terms.advance() {
                    contents.words.push(String::from_utf8_lossy(terms.key()).into_owned());
                }
            }
            let stored = segment.get_store_reader(1)?;
            for document in 0..segment.max_doc() {
                let document: TantivyDocument = stored.get(document)?;
                let texts =
                    document.field_values().filter_map(|(_, value)| value.as_str().map(str::to_owned));
                contents.texts.extend(texts);
            }
        }
        Ok(contents)
    }
}

/// What is in the files of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// The words of every field, each once a segment.
    pub words: Vec<String>,
    /// The stored texts.
    pub texts: Vec<String>,
}

/// Makes the snippets of a search.
struct Snippets<'a> {
    searcher: &'a Searcher,
    query: &'a dyn Query,
    generators: HashMap<Field, SnippetGenerator>,
}

impl Snippets<'_> {
    /// The part of a text with most of what was looked for; its beginning if it has none of that.
    fn of(&mut self, field: Field, text: &str, most: usize) -> Result<Marked, SearchError> {
        if most == 0 || text.is_empty() {
            return Ok(Marked::default());
        }
        let generator = match self.generators.entry(field) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(SnippetGenerator::create(self.searcher, self.query, field)?)
            }
        };
        generator.set_max_num_chars(most);
        let snippet = generator.snippet(text);
        if snippet.highlighted().is_empty() {
            return Ok(snippet::bound(text, &[], most));
        }
        Ok(snippet::bound(snippet.fragment(), snippet.highlighted(), most))
    }
}

fn facets_of(results: AggregationResults) -> Facets {
    let results = serde_json::to_value(results).unwrap_or_default();
    let of = |name: &str| {
        let buckets = results[name]["buckets"].as_array().cloned().unwrap_or_default();
        buckets
            .iter()
            .map(|bucket| FacetCount {
                value: bucket["key"].as_str().unwrap_or_default().to_owned(),
                count: bucket["doc_count"].as_u64().unwrap_or_default(),
            })
            .collect()
    };
    Facets { hosts: of("host"), langs: of("lang") }
}
