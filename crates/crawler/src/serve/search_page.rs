//! Full-text search with facets.

use std::path::Path;

use maud::{Markup, html};
use serde_json::{Value, json};

use super::charts::time;
use super::crawl_view::CrawlView;
use super::failure::Failure;
use super::layout::{host_link, sentence, shown};
use super::params::{Params, link};
use crate::search::{
    FacetCount, Found, Hit, Part, Request, Search, SearchError, is_behind, parse_since, parse_until,
};
use crate::view::Moment;
use page::quantity::grouped;

/// Hits of a page.
const HITS: usize = 20;

/// The most hits that are asked for at once.
const MOST_HITS: usize = 200;

/// Searches the index of a crawl; none without a query.
pub(super) fn find(root: Option<&Path>, params: &Params) -> Result<Option<Found>, Failure> {
    let root = root.ok_or_else(|| {
        let what = "a crawl on many machines has its full-text index in a directory of its own: build it with `crawl index --cluster`, and start this server with --index";
        Failure::not_found(what)
    })?;
    let Some(query) = params.get("q") else { return Ok(None) };
    let bad = |name: &str, error: &str| Failure::bad(format!("{name}: {error}"));
    let limit = params.get("limit").map_or(Ok(HITS), str::parse).unwrap_or(0);
    if !(1..=MOST_HITS).contains(&limit) {
        return Err(Failure::bad(format!("limit is from 1 to {MOST_HITS}")));
    }
    let request = Request {
        query: query.to_owned(),
        hosts: params.all("host").map(str::to_owned).collect(),
        langs: params.all("lang").map(str::to_owned).collect(),
        since: params.get("since").map(parse_since).transpose().map_err(|error| bad("since", &error))?,
        until: params.get("until").map(parse_until).transpose().map_err(|error| bad("until", &error))?,
        limit,
        facets: true,
    };
    let index = Search::open(root).map_err(failure)?;
    let found = index.find(&request, page::clock::wall()).map_err(failure)?;
    Ok(Some(Found { is_behind: is_behind(root), ..found }))
}

#[expect(clippy::needless_pass_by_value, reason = "it ends here")]
fn failure(error: SearchError) -> Failure {
    let what = page::clean::clean(&error.message()).into_owned();
    match error {
        SearchError::Query(_) => Failure::bad(what),
        SearchError::None(_) | SearchError::OtherForm(_) => Failure::not_found(what),
        _ => Failure::busy(what),
    }
}

/// How many pages the index lacks.
pub(super) fn lacking(root: &Path, view: &CrawlView) -> Result<u64, Failure> {
    view.parts().map(|view| crate::search::lacking(root, view.store()).map_err(failure)).sum()
}

/// What was found, as the API answers.
pub(super) fn answer(found: &Found) -> Value {
    let hits = found.hits.iter().map(|hit| {
        json!({
            "url": hit.url, "host": hit.host, "title": hit.title, "lang": hit.lang, "fetched_at": Moment(hit.fetched_at),
            "status": hit.status, "depth": hit.depth, "snippet": hit.snippet, "score": hit.score,
        })
    });
    let counts = |counts: &[FacetCount]| -> Vec<Value> {
        counts.iter().map(|facet| json!({"value": facet.value, "count": facet.count})).collect()
    };
    let facets = found.facets.clone().unwrap_or_default();
    json!({
        "v": 1, "total": found.total, "searchable": found.searchable, "lacking": found.lacking, "behind": found.is_behind,
        "hits": hits.collect::<Vec<_>>(),
        "facets": {"hosts": counts(&facets.hosts), "langs": counts(&facets.langs)},
    })
}

/// The page's main part.
pub(super) fn main(params: &Params, found: Result<Option<&Found>, &Failure>) -> Markup {
    html! {
        h1 { "Search" }
        form .query action="/search" method="get" role="search" aria-label="Full text" {
            div .field .wide {
                label for="q" { "Query" }
                input #q name="q" type="search" required value=[params.get("q")] placeholder="robots \"exclusion protocol\" -draft" aria-describedby="q-help";
                p #q-help .quiet { "All words, in any form; " code { "\"a phrase\"" } ", " code { "OR" } ", " code { "-word" } ", " code { "title:word" } "." }
            }
            @for name in ["host", "lang"] {
                @for value in params.all(name) { input type="hidden" name=(name) value=(value); }
            }
            div .field { label for="since" { "Fetched since" } input #since name="since" type="date" value=[params.get("since")]; }
            div .field { label for="until" { "Until" } input #until name="until" type="date" value=[params.get("until")]; }
            div .field .button { button type="submit" { "Search" } }
        }
        @match found {
            Err(failure) => div .notice role="alert" { p { (sentence(&failure.what)) } },
            Ok(None) => {},
            Ok(Some(found)) => (results(params, found)),
        }
    }
}

fn results(params: &Params, found: &Found) -> Markup {
    let facets = found.facets.as_ref();
    let limit = params.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(HITS);
    html! {
        p role="status" {
            @match found.total { 0 if found.is_behind => "Nothing found yet.", 0 => "Nothing found.", 1 => "1 page found.", total => { (grouped(total)) " pages found." } }
        }
        @if let Some(searchable) = found.searchable_yet(grouped) {
            p .quiet { (searchable) "." }
        } @else if found.is_behind {
            p .quiet { "The index is being written: it may lack the latest pages." }
        }
        (taken(params))
        div .results {
            ol .hits { @for hit in &found.hits { (hit_of(hit)) } }
            @if let Some(facets) = facets {
                aside aria-label="Narrow the search" {
                    (facet(params, "host", "Hosts", &facets.hosts))
                    (facet(params, "lang", "Languages", &facets.langs))
                }
            }
        }
        @if found.total > found.hits.len() as u64 && limit < MOST_HITS {
            p { a href=(format!("/search?{}", params.with("limit", &(limit * 2).min(MOST_HITS).to_string()))) { "Show more" } }
        } @else if found.total > found.hits.len() as u64 {
            p .quiet { "The best " (MOST_HITS) " are shown: add words, or use " code { "crawl search --limit" } "." }
        }
    }
}

/// The facets that are taken, each with a link that takes it away.
fn taken(params: &Params) -> Markup {
    let names = ["host", "lang"].into_iter().filter(|name| params.get(name).is_some());
    html! {
        @for name in names {
            p { "Only " (name) " " @for value in params.all(name) { strong { bdi { (shown(value)) } } " " } a href=(format!("/search?{}", params.with(name, ""))) { "of any " (name) } }
        }
    }
}

fn hit_of(hit: &Hit) -> Markup {
    let title = if hit.title.trim().is_empty() { &hit.url } else { &hit.title };
    html! {
        li {
            h2 { a href=(link("/url", "url", &hit.url)) { bdi { (shown(title)) } } }
            p .quiet .long { bdi { (shown(&hit.url)) } }
            @if !hit.snippet.is_empty() {
                p { bdi { @for Part { text, found } in hit.parts() { @if found { mark { (shown(text)) } } @else { (shown(text)) } } } }
            }
            p .quiet { (host_link(&hit.host)) " · " (hit.lang) " · " (time(&Moment(hit.fetched_at).to_string())) }
        }
    }
}

fn facet(params: &Params, name: &str, heading: &str, counts: &[FacetCount]) -> Markup {
    html! {
        @if !counts.is_empty() {
            h2 { (heading) }
            ul {
                @for count in counts {
                    li { a href=(format!("/search?{}", params.with(name, &count.value))) { bdi { (shown(&count.value)) } } " " span .quiet { (grouped(count.count)) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_is_behind_is_said_to_be_so() {
        let shown = |is_behind: bool| {
            results(&Params::read(b"q=x"), &Found { is_behind, ..Found::default() }).into_string()
        };
        assert!(shown(false).contains("Nothing found.") && !shown(false).contains("index"));
        assert!(
            shown(true).contains("Nothing found yet.") && shown(true).contains("may lack the latest pages")
        );
        let found = Found { is_behind: true, searchable: 568, lacking: 3_993, ..Found::default() };
        let shown = results(&Params::read(b"q=x"), &found).into_string();
        assert!(shown.contains("568 of 4\u{202f}561 pages are searchable yet."), "{shown}");
        assert_eq!((&answer(&found)["searchable"], &answer(&found)["lacking"]), (&568.into(), &3_993.into()));
    }
}
