//! The query language, and its translation to tantivy queries.

use std::ops::Bound;

use jiff::Timestamp;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, QueryParser, RangeQuery, TermQuery};
use tantivy::query_grammar::{UserInputAst, UserInputLeaf, UserInputLiteral, parse_query};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Index, Searcher, Term};

use super::document::date;
use super::error::{QueryError, SearchError};
use super::language::UNKNOWN;
use super::schema::Fields;
use super::words::{Use, folded_text, has_words, tokenizers};

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Words, phrases and fields; a page has to have all words unless `OR` is between them. See `docs/search.md`.
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

/// Bytes of a query at most: each of its words is looked up in every language of the index.
pub const QUERY_BYTES: usize = 8 * 1024;

/// Opening parentheses and `NOT`s of a query at most, wherever they are: the parser calls itself for each that is open, and which of them are
/// closed it alone knows.
pub const QUERY_NESTING: usize = 64;

/// Characters of a phrase at most: finding one takes time in proportion to the square of its words.
pub const PHRASE_CHARACTERS: usize = 1000;

/// Hosts and languages at most that a search is limited to.
pub const QUERY_FILTERS: usize = 1000;

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
    if request.hosts.len() + request.langs.len() > QUERY_FILTERS {
        return Err(QueryError::TooManyFilters(QUERY_FILTERS).into());
    }
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

/// Parses a query that is neither too long nor nested too deeply.
///
/// Source of what nests: `leaf` and `term_group` of tantivy-query-grammar, which call themselves for `(`, for `field:(` and for `NOT`. The tree has a
/// level for each of these, whatever is between them, and so have those that are made from it.
fn parse(query: &str) -> Result<UserInputAst, QueryError> {
    if query.len() > QUERY_BYTES {
        return Err(QueryError::TooLong(QUERY_BYTES));
    }
    let is_not =
        |rest: &str| rest.strip_prefix("NOT").is_some_and(|rest| rest.starts_with(char::is_whitespace));
    let nests = |(at, c): &(usize, char)| *c == '(' || *c == 'N' && is_not(&query[*at..]);
    if let Some((at, _)) = query.char_indices().filter(nests).nth(QUERY_NESTING) {
        return Err(QueryError::Nested { most: QUERY_NESTING, at: query[..at].chars().count() + 1 });
    }
    let ast = parse_query(query).map_err(|_| QueryError::Syntax)?;
    if has_long_phrase(&ast) {
        return Err(QueryError::LongPhrase(PHRASE_CHARACTERS));
    }
    Ok(ast)
}

fn has_long_phrase(ast: &UserInputAst) -> bool {
    match ast {
        UserInputAst::Clause(clauses) => clauses.iter().any(|(_, ast)| has_long_phrase(ast)),
        UserInputAst::Boost(ast, _) => has_long_phrase(ast),
        UserInputAst::Leaf(leaf) => match &**leaf {
            UserInputLeaf::Literal(literal) => literal.phrase.chars().nth(PHRASE_CHARACTERS).is_some(),
            _ => false,
        },
    }
}

/// Checks a query without an index: whether it can be parsed.
pub fn check_query(query: &str) -> Result<(), QueryError> {
    parse(query).map(drop)
}

/// Reads the words of a request.
fn words(
    index: &Index,
    fields: &Fields,
    searcher: &Searcher,
    query: &str,
) -> Result<Box<dyn Query>, SearchError> {
    let (mut asked, mut parts) = (Vec::new(), Vec::new());
    for part in fields.parts() {
        let mut names = Vec::new();
        for (field, name) in part.fields() {
            if has_terms(searcher, field)? {
                asked.push(field);
                names.push(name);
            }
        }
        parts.push((part.name, names));
    }
    if asked.is_empty() {
        asked.push(fields.text.of(UNKNOWN));
    }
    let mut parser = QueryParser::new(index.schema(), asked, tokenizers(Use::Query));
    parser.set_conjunction_by_default();
    for (part, weight) in [(&fields.title, TITLE), (&fields.headings, HEADINGS)] {
        for (field, _) in part.fields() {
            parser.set_field_boost(field, weight);
        }
    }
    let ast = expand(parse(query)?, &parts).unwrap_or_else(UserInputAst::empty_query);
    Ok(parser.build_query_from_user_input_ast(ast).map_err(QueryError::from)?)
}

/// Sets for each word and phrase where it may be: a part of the page that is named is a field in each language of the index, and
/// texts may leave out the diacritics that the query has. None where nothing of it is a word.
fn expand(ast: UserInputAst, parts: &[(&str, Vec<&str>)]) -> Option<UserInputAst> {
    match ast {
        UserInputAst::Clause(clauses) => {
            let clauses: Vec<_> =
                clauses.into_iter().filter_map(|(occur, ast)| Some((occur, expand(ast, parts)?))).collect();
            (!clauses.is_empty()).then_some(UserInputAst::Clause(clauses))
        }
        UserInputAst::Boost(ast, boost) => Some(UserInputAst::Boost(Box::new(expand(*ast, parts)?), boost)),
        UserInputAst::Leaf(leaf) => match *leaf {
            UserInputLeaf::Literal(literal) => expand_literal(literal, parts),
            leaf => Some(leaf.into()),
        },
    }
}

fn expand_literal(literal: UserInputLiteral, parts: &[(&str, Vec<&str>)]) -> Option<UserInputAst> {
    let names = match &literal.field_name {
        None => vec![None],
        Some(named) => match parts.iter().find(|(name, _)| name == named) {
            // A whole value, or no field.
            None => return Some(UserInputLeaf::from(literal).into()),
            // No page has this part: nothing is found in the field that is named.
            Some((name, fields)) if fields.is_empty() => vec![Some(*name)],
            Some((_, fields)) => fields.iter().copied().map(Some).collect(),
        },
    };
    if !has_words(&literal.phrase) {
        return None;
    }
    let folded = folded_text(&literal.phrase);
    let phrases = std::iter::once(&literal.phrase).chain(&folded);
    let forms = phrases.flat_map(|phrase| names.iter().map(move |name| (phrase, name)));
    let forms = forms.map(|(phrase, name)| {
        let field_name = name.map(str::to_owned);
        UserInputLeaf::from(UserInputLiteral { field_name, phrase: phrase.clone(), ..literal.clone() }).into()
    });
    Some(UserInputAst::or(forms.collect()))
}

fn has_terms(searcher: &Searcher, field: Field) -> Result<bool, SearchError> {
    for segment in searcher.segment_readers() {
        if segment.inverted_index(field)?.terms().num_terms() > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::Request;
    use crate::search::document::Document;
    use crate::search::writer::Writer;
    use crate::search::{QueryError, Search, SearchError};
    use page::extract::MainText;

    fn search() -> (tempfile::TempDir, Search) {
        let top = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(top.path(), "c", 0).unwrap();
        for (name, lang, title, headings, description, text) in [
            ("en", "en", "Binding books", "Sewn bindings", "How books are bound", "Needles and thread"),
            ("de", "de", "Häuser binden", "Alte Häuser", "Von Häusern", "Wände und Dächer"),
            ("es", "es", "Informacion", "Titulares", "Sin acentos", "canciones"),
            ("pl", "pl", "Łódź", "Miasta", "Opis", "tekst"),
            ("zh", "zh", "全文搜索", "索引", "网页", "词语"),
        ] {
            let text =
                MainText { text: text.to_owned(), headings: headings.to_owned(), ..MainText::default() };
            let document = Document {
                url: format!("http://a.test/{name}"),
                title: title.to_owned(),
                description: description.to_owned(),
                declared: Some(lang.to_owned()),
                text,
                ..Document::default()
            };
            writer.add(&document).unwrap();
        }
        writer.finish(top.path()).unwrap();
        let search = Search::open(top.path()).unwrap();
        (top, search)
    }

    /// An index of some documents.
    fn index(documents: impl IntoIterator<Item = Document>) -> (tempfile::TempDir, Search) {
        let top = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(top.path(), "c", 0).unwrap();
        for document in documents {
            writer.add(&document).unwrap();
        }
        writer.finish(top.path()).unwrap();
        let search = Search::open(top.path()).unwrap();
        (top, search)
    }

    fn request(query: &str) -> Request {
        Request { query: query.to_owned(), limit: 9, ..Request::default() }
    }

    fn found(search: &Search, request: &Request) -> String {
        let found = search.find(request, Timestamp::UNIX_EPOCH).unwrap();
        let mut names: Vec<_> =
            found.hits.iter().map(|hit| hit.url.trim_start_matches("http://a.test/")).collect();
        names.sort_unstable();
        names.join(" ")
    }

    fn names(search: &Search, query: &str) -> String {
        found(search, &request(query))
    }

    #[test]
    fn words_of_a_named_part_are_found_in_any_form_and_language() {
        let (_top, search) = search();
        for (query, expected) in [
            ("title:bind", "de en"),
            ("title:BINDING", "en"),
            ("title:Bind", "de en"),
            ("title:\"bind book\"", "en"),
            ("title:\"book binding\"", ""),
            ("headings:binding", "en"),
            ("headings:haus", "de"),
            ("headings:hauser", "de"),
            ("description:book", "en"),
            ("description:haus", "de"),
            ("title:needle", ""),
            ("text:needle", "en"),
            ("text:binding", ""),
            ("title:información", "es"),
            ("title:lodz", "pl"),
            ("title:搜索", "zh"),
            ("title:索搜", ""),
            ("title:(book haus)", ""),
            ("title:(book OR haus)", "de en"),
        ] {
            assert_eq!(names(&search, query), expected, "{query}");
        }
    }

    #[test]
    fn excluded_words_are_excluded_in_every_form() {
        let (_top, search) = search();
        for (query, expected) in [
            ("* -title:binding", "de es pl zh"),
            ("* -title:bind", "es pl zh"),
            ("* -información", "de en pl zh"),
            ("* -title:información", "de en pl zh"),
            // Signs that are no words are as good as not there.
            ("book & bind", "en"),
            ("book -\"?!\"", "en"),
            ("\"?!\"", ""),
        ] {
            assert_eq!(names(&search, query), expected, "{query}");
        }
    }

    #[test]
    fn a_search_is_limited_to_a_time_that_includes_its_beginning_and_not_its_end() {
        let at = |milli: i64| Timestamp::from_millisecond(milli).unwrap();
        let (_top, search) = index([1000, 1001, 1999, 2000].map(|milli| Document {
            url: format!("http://a.test/{milli}"),
            fetched_at: at(milli),
            text: MainText { text: "needle".to_owned(), ..MainText::default() },
            ..Document::default()
        }));
        for (since, until, expected) in [
            (None, None, "1000 1001 1999 2000"),
            (Some(at(1001)), None, "1001 1999 2000"),
            (Some(at(1002)), None, "1999 2000"),
            (None, Some(at(1001)), "1000"),
            (None, Some(at(1999)), "1000 1001"),
            (None, Some(at(2000)), "1000 1001 1999"),
            (Some(at(1001)), Some(at(1999)), "1001"),
            (Some(at(1999)), Some(at(1999)), ""),
            (Some(at(2001)), None, ""),
        ] {
            let request = Request { since, until, ..request("needle") };
            assert_eq!(found(&search, &request), expected, "{since:?} {until:?}");
        }
    }

    #[test]
    fn matches_are_counted_by_host_and_language_whatever_the_limit() {
        let of = |url: &str, lang: &str| Document {
            url: url.to_owned(),
            declared: Some(lang.to_owned()),
            text: MainText { text: "needle".to_owned(), ..MainText::default() },
            ..Document::default()
        };
        let (_top, search) =
            index([of("http://a.test/1", "en"), of("http://a.test/2", "de"), of("http://b.test/", "en")]);
        let counts = |query: &str| {
            let request = Request { limit: 1, facets: true, ..request(query) };
            let found = search.find(&request, Timestamp::UNIX_EPOCH).unwrap();
            let facets = found.facets.unwrap();
            let of = |counts: Vec<crate::search::FacetCount>| {
                counts.into_iter().map(|count| (count.value, count.count)).collect::<Vec<_>>()
            };
            (of(facets.hosts), of(facets.langs))
        };
        let named = |counts: &[(&str, u64)]| {
            counts.iter().map(|(value, count)| ((*value).to_owned(), *count)).collect::<Vec<_>>()
        };
        let all = (named(&[("a.test", 2), ("b.test", 1)]), named(&[("en", 2), ("de", 1)]));
        assert_eq!(counts("needle"), all);
        assert_eq!(counts("needle host:b.test"), (named(&[("b.test", 1)]), named(&[("en", 1)])));
        let without = search.find(&request("needle"), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(without.facets, None);
    }

    #[test]
    fn a_hit_shows_no_more_of_a_page_than_its_author_allows() {
        let of = |most: Option<u64>| Document {
            url: format!("http://a.test/{}", most.map_or("all".to_owned(), |most| most.to_string())),
            description: "A description of the needle in the haystack".to_owned(),
            max_snippet: most,
            text: MainText {
                text: "Some words before the needle, and many more behind it".to_owned(),
                ..MainText::default()
            },
            ..Document::default()
        };
        let (_top, search) = index([Some(0), Some(1), Some(12), None].map(of));
        let hits = search.find(&request("needle"), Timestamp::UNIX_EPOCH).unwrap().hits;
        let shown = |name: &str| {
            let hit = hits.iter().find(|hit| hit.url.ends_with(name)).unwrap();
            hit.snippet.chars().count()
        };
        assert_eq!((shown("/0"), hits.len()), (0, 4));
        assert!(shown("/1") <= 1 && shown("/12") <= 12 && shown("/12") > 1);
        assert!(shown("/all") > 12);
    }

    #[test]
    fn a_query_has_bounds_and_takes_little_stack() {
        let (_top, search) = search();
        // Half of what a thread of the server has. In tests the library isn't optimised, and takes 9 KB for each level.
        let find = |query: &str| {
            std::thread::scope(|scope| {
                let find = || search.find(&request(query), Timestamp::UNIX_EPOCH).map(|found| found.total);
                std::thread::Builder::new()
                    .stack_size(1 << 20)
                    .spawn_scoped(scope, find)
                    .unwrap()
                    .join()
                    .unwrap()
            })
        };
        // At the limit.
        for (open, close) in [
            ("(", ")"),
            ("-(", ")"),
            ("+(needles ", ")"),
            ("(needles OR ", ")"),
            ("title:(", ")"),
            ("NOT ", ""),
            ("(", ")^2"),
        ] {
            let at =
                |levels: usize| format!("needles {}needles{}", open.repeat(levels), close.repeat(levels));
            assert!(matches!(find(&at(64)), Ok(0 | 1)), "{open}");
            for levels in [65, 400] {
                let error = find(&at(levels)).unwrap_err();
                assert!(
                    matches!(&error, SearchError::Query(QueryError::Nested { most: 64, .. })),
                    "{error:?}"
                );
            }
        }
        assert_eq!(find(&format!("needles{}", " OR needles".repeat(740))).unwrap(), 1, "a list isn't nested");
        assert!(matches!(find(&"a ".repeat(4097)), Err(SearchError::Query(QueryError::TooLong(8192)))));
        let phrase = |words: usize| format!("\"{}\"~9", "x ".repeat(words));
        assert_eq!(find(&phrase(500)).unwrap(), 0);
        assert!(matches!(find(&phrase(501)), Err(SearchError::Query(QueryError::LongPhrase(1000)))));
        let request = Request { hosts: vec!["a.test".to_owned(); 1001], ..request("needles") };
        let error = search.find(&request, Timestamp::UNIX_EPOCH).unwrap_err();
        assert!(matches!(&error, SearchError::Query(QueryError::TooManyFilters(1000))), "{error:?}");
        // What is no operator isn't counted.
        assert_eq!(find(&format!("needles {}", "OR NOTEBOOK ".repeat(100))).unwrap(), 1);
    }

    #[test]
    fn a_field_that_is_not_there_is_an_error_whatever_is_looked_for() {
        let (_top, search) = search();
        let request = Request { query: "nosuch:x".to_owned(), limit: 9, ..Request::default() };
        let error = search.find(&request, Timestamp::UNIX_EPOCH).unwrap_err();
        assert!(
            matches!(&error, SearchError::Query(QueryError::NoField(name)) if name == "nosuch"),
            "{error:?}"
        );
        assert!(
            error.message().starts_with("the query can't be read: there is no field `nosuch`; fields are ")
        );
    }
}
