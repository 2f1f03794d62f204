//! What is asked of the index, and how that becomes a query of tantivy's.

use std::ops::Bound;

use jiff::Timestamp;
use tantivy::query::{
    BooleanQuery, BoostQuery, Occur, Query, QueryParser, QueryParserError, RangeQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Index, Searcher, Term};

use super::document::date;
use super::error::SearchError;
use super::schema::Fields;
use super::words::{Use, tokenizers};

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Words, phrases and fields; a page has to have all words unless `OR` stands between them. See `docs/search.md`.
    pub query: String,
    /// Only pages of these hosts; none: of all.
    pub hosts: Vec<String>,
    /// Only pages in these languages (ISO 639-1); none: in all.
    pub langs: Vec<String>,
    /// Only pages that were fetched at this time or later.
    pub since: Option<Timestamp>,
    /// Only pages that were fetched before this time.
    pub until: Option<Timestamp>,
    /// Hits at most.
    pub limit: usize,
    /// Whether hits are counted by host and language.
    pub facets: bool,
}

/// The fields that a query may name, as told to people.
const NAMED: &str = "title, description, headings, host, lang, url, status, depth";

/// Weights of words in these parts of a page; that of the main text is 1.
const TITLE: f32 = 2.0;
const HEADINGS: f32 = 1.5;

/// Makes the query of a request, as asked at a time.
pub(super) fn build(
    index: &Index,
    fields: &Fields,
    searcher: &Searcher,
    request: &Request,
    now: Timestamp,
) -> Result<Box<dyn Query>, SearchError> {
    let mut all: Vec<(Occur, Box<dyn Query>)> =
        vec![(Occur::Must, words(index, fields, searcher, &request.query)?)];
    let any = |field: Field, values: &[String]| -> Box<dyn Query> {
        let term = |value: &String| -> Box<dyn Query> {
            let term = Term::from_field_text(field, &value.to_lowercase());
            Box::new(TermQuery::new(term, IndexRecordOption::Basic))
        };
        Box::new(BooleanQuery::union(values.iter().map(term).collect()))
    };
    // Filters don't weigh.
    let mut filter = |query: Box<dyn Query>| all.push((Occur::Must, Box::new(BoostQuery::new(query, 0.0))));
    if !request.hosts.is_empty() {
        filter(any(fields.host, &request.hosts));
    }
    if !request.langs.is_empty() {
        filter(any(fields.lang, &request.langs));
    }
    let bound = |at: Timestamp| Term::from_field_date(fields.fetched, date(at));
    if request.since.is_some() || request.until.is_some() {
        let since = request.since.map_or(Bound::Unbounded, |at| Bound::Included(bound(at)));
        let until = request.until.map_or(Bound::Unbounded, |at| Bound::Excluded(bound(at)));
        filter(Box::new(RangeQuery::new(since, until)));
    }
    // Pages whose date of unavailable_after has come since they were indexed.
    let over = Bound::Included(Term::from_field_date(fields.until, date(now)));
    all.push((Occur::MustNot, Box::new(RangeQuery::new(Bound::Unbounded, over))));
    Ok(Box::new(BooleanQuery::new(all)))
}

/// Reads the words of a request.
fn words(
    index: &Index,
    fields: &Fields,
    searcher: &Searcher,
    query: &str,
) -> Result<Box<dyn Query>, SearchError> {
    let mut asked = vec![fields.title, fields.headings, fields.description, fields.text];
    for field in fields.texts.values() {
        if has_terms(searcher, *field)? {
            asked.push(*field);
        }
    }
    let parse = |made_for| {
        let mut parser = QueryParser::new(index.schema(), asked.clone(), tokenizers(made_for));
        parser.set_conjunction_by_default();
        parser.set_field_boost(fields.title, TITLE);
        parser.set_field_boost(fields.headings, HEADINGS);
        parser.parse_query(query).map_err(|error| told(&error))
    };
    let parsed = parse(Use::Query)?;
    if query.is_ascii() {
        return Ok(parsed);
    }
    // Texts may leave out diacritics that the query has.
    Ok(Box::new(BooleanQuery::union(vec![parsed, parse(Use::FoldedQuery)?])))
}

fn has_terms(searcher: &Searcher, field: Field) -> Result<bool, SearchError> {
    for segment in searcher.segment_readers() {
        if segment.inverted_index(field)?.terms().num_terms() > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is wrong with a query, in words for whoever wrote it.
fn told(error: &QueryParserError) -> SearchError {
    let what = match error {
        QueryParserError::SyntaxError(_) => {
            "a quote or bracket isn't closed, or an operator stands alone; put a part with special characters in quotes".to_owned()
        }
        QueryParserError::FieldDoesNotExist(name) => {
            format!("there is no field `{name}`; fields are {NAMED}; put a word with a colon in quotes")
        }
        QueryParserError::AllButQueryForbidden => "it only says what is left out".to_owned(),
        QueryParserError::ExpectedInt(_) => "status and depth take a whole number".to_owned(),
        QueryParserError::FieldNotIndexed(name) => format!("field `{name}` can't be searched; fields are {NAMED}"),
        QueryParserError::FieldDoesNotHavePositionsIndexed(name) => format!("field `{name}` takes one word, no phrase"),
        error => error.to_string(),
    };
    SearchError::Query(what)
}
