//! The page about one URL: the answer why it was fetched or not, its record, directives, links, history and archived copy.

use maud::{Markup, html};
use serde::Serialize;

use super::charts::time;
use super::crawl_view::CrawlView;
use super::failure::Failure;
use super::layout::{host_link, sentence, shown, url_link};
use super::params::link;
use super::reading::Until;
use super::tables_page::value_of;
use crate::record::{in_words, outcome_in_words};
use crate::view::{Explanation, Fate, LedgerRow, PathStep, Rows, Table, Value, View};
use page::quantity::grouped;
use page::url::CrawlUrl;

/// Links that the page lists in each direction; table `links` has all.
const LINKS: usize = 100;

/// What is said about a URL.
#[derive(Debug, Serialize)]
pub(super) struct AboutUrl {
    /// Form of this object: 1.
    v: u32,
    /// Every decision about it.
    pub(super) explanation: Explanation,
    /// Links of the page with what became of each: the first 100.
    pub(super) links: Vec<LinkOut>,
    /// How many links the page has.
    pub(super) links_count: u64,
    /// The type of the archived response, as it was sent; null where none is archived.
    pub(super) archived_type: Option<String>,
    /// The archive file that has the response, where this server can't read it: it is in the directory of a worker.
    archived_elsewhere: Option<String>,
    /// The columns of its record and their values.
    #[serde(skip)]
    record: Vec<(String, String, Value)>,
}

/// A link of a page.
#[derive(Debug, Serialize)]
pub(super) struct LinkOut {
    /// Where it leads.
    pub(super) to: String,
    /// Its text.
    pub(super) text: String,
    /// Its `rel`.
    pub(super) rel: String,
    /// The element.
    pub(super) kind: String,
    /// What became of it.
    pub(super) outcome: String,
}

/// A URL that somebody typed.
pub(super) fn parse(text: &str) -> Result<CrawlUrl, Failure> {
    let about = page::clean::clean_to(text, 200);
    CrawlUrl::parse(text).map_err(|error| Failure::bad(format!("{about} can't be crawled: {error}")))
}

/// Reads what there is about a URL.
pub(super) fn read(view: &CrawlView, url: &CrawlUrl) -> Result<AboutUrl, Failure> {
    let explanation = view.explain(url)?;
    let view = view.of_host(url.host());
    let visit = view.visit(url)?;
    let record = view.page(url)?.map(record_rows).transpose()?.unwrap_or_default();
    let mut about = AboutUrl {
        v: 1,
        explanation,
        links: Vec::new(),
        links_count: 0,
        archived_type: None,
        archived_elsewhere: None,
        record,
    };
    if let Some(visit) = visit {
        about.links_count = visit.links.len() as u64;
        about.links = visit
            .links
            .into_iter()
            .take(LINKS)
            .map(|link| LinkOut {
                to: link.to.into_string(),
                text: link.text.into_string(),
                rel: link.rel,
                kind: link.kind.into_owned(),
                outcome: link.outcome.as_str().to_owned(),
            })
            .collect();
        about.archived_elsewhere = view.archived_elsewhere(&visit.record).map(str::to_owned);
        if visit.record.warc.is_some() && about.archived_elsewhere.is_none() {
            about.archived_type = Some(visit.record.content_type.clone().unwrap_or_default());
        }
    }
    Ok(about)
}

fn record_rows(mut rows: Rows<'static>) -> Result<Vec<(String, String, Value)>, Failure> {
    let columns = rows.columns().to_vec();
    let Some(row) = rows.next().transpose()? else { return Ok(Vec::new()) };
    let facts = columns.into_iter().zip(row);
    Ok(facts.map(|(column, value)| (column.name.to_string(), column.unit.to_owned(), value)).collect())
}

/// Pages that link to a URL: the first ones, and whether there are more. Reads table `links`.
pub(super) fn linked_from(
    view: &CrawlView,
    url: &CrawlUrl,
    until: &Until,
) -> Result<(Vec<(String, String)>, bool), Failure> {
    let mut found = Vec::new();
    for row in view.parts().flat_map(View::links) {
        until.check()?;
        let row = row?;
        if row.to == url.as_str() && !row.from_noindex {
            if found.len() == LINKS {
                return Ok((found, true));
            }
            found.push((row.from.unwrap_or_default(), row.text));
        }
    }
    Ok((found, false))
}

/// The form, without an answer.
pub(super) fn form(url: Option<&str>) -> Markup {
    html! {
        form .query action="/url" method="get" role="search" aria-label="Explain a URL" {
            div .field .wide {
                label for="url" { "URL" }
                input #url name="url" type="url" required value=[url] placeholder="https://www.example.org/page" spellcheck="false" autocomplete="off";
            }
            div .field .button { button type="submit" { "Explain" } }
        }
    }
}

/// The page without a URL.
pub(super) fn empty() -> Markup {
    html! {
        h1 { "Explain a URL" }
        p { "Why a URL was fetched, skipped, indexed, archived or followed: every decision with its reason. The URL needn't be part of the crawl." }
        (form(None))
    }
}

/// The page's main part. `frame` is the address of the archived copy on the other origin.
pub(super) fn main(about: &AboutUrl, frame: Option<&str>) -> Markup {
    let story = &about.explanation;
    html! {
        (form(Some(&story.url)))
        h1 .long { bdi { (shown(&story.url)) } }
        p .fate data-fate=(fate(story.fate)) { strong { (fate(story.fate)) } }
        p .answer { (sentence(&story.answer)) }
        @if !story.change.is_empty() {
            h2 { "What would change this" }
            ul { @for change in &story.change { li { (sentence(change)) } } }
        }
        (robots(story))
        @if !story.found.is_empty() { h2 { "How it was found" } ol .path { @for step in &story.found { (path_step(step)) } } }
        @if !story.redirects.is_empty() {
            h2 { "Redirects" }
            ol { @for (to, status) in &story.redirects { li { (url_link(to)) @if let Some(status) = status { " (HTTP " (status) ")" } } } }
        }
        (directives(story))
        (decisions(&story.decisions))
        @if !about.record.is_empty() { (record(&about.record)) }
        (copy(about, frame))
        (links(about))
    }
}

fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Fetched => "fetched",
        Fate::Redirected => "redirected",
        Fate::Error => "error",
        Fate::Failed => "failed",
        Fate::Queued => "queued",
        Fate::Parked => "host skipped",
        Fate::Skipped => "skipped",
        Fate::Unseen => "not seen",
    }
}

fn robots(story: &Explanation) -> Markup {
    let Some(robots) = &story.robots else { return html! {} };
    html! {
        h2 { "robots.txt" }
        p {
            "The robots.txt of " (robots.origin) ", fetched at " (time(&robots.fetched_at.to_string())) ", "
            @if robots.is_deferred() { "can't be used: " } @else if robots.allowed { strong { "allows" } " it: " } @else { strong { "denies" } " it: " }
            @match (robots.says.line, &robots.says.rule) {
                (Some(line), Some(rule)) => { "line " (line) ", " code { bdi { (shown(rule)) } } @if let Some(group) = &robots.says.group { " in the group of " code { bdi { (shown(group)) } } } },
                _ => (shown(&robots.says.reason)),
            }
            "."
        }
        @for license in &robots.license {
            p { "Licence named in line " (license.line) ": " code { bdi { (shown(&license.url)) } } }
        }
        @if let Some(host) = &story.host { p { "More: " (host_link(&host.host)) } }
    }
}

fn path_step(step: &PathStep) -> Markup {
    html! {
        li {
            (url_link(&step.url))
            span .quiet {
                " " (in_words(&step.by))
                @if let Some(text) = &step.text { ", text “" bdi { (shown(text)) } "”" }
                @if let Some(rel) = &step.rel { ", rel " bdi { (shown(rel)) } }
                @if let Some(outcome) = step.outcome { ", " (outcome_in_words(outcome)) }
            }
        }
    }
}

/// The page's directives with the tag or header line that each comes from.
fn directives(story: &Explanation) -> Markup {
    let Some(page) = &story.page else { return html! {} };
    html! {
        h2 { "Directives" }
        @if page.directives.is_empty() {
            p .quiet { "The response has no robots directives: it may be indexed, archived and followed." }
        } @else {
            div .scroll tabindex="0" role="region" aria-label="Directives" {
                table {
                    thead { tr { th scope="col" { "Directive" } th scope="col" { "From" } } }
                    tbody {
                        @for entry in &page.directives {
                            tr {
                                th scope="row" { (shown(&entry.directive)) }
                                td { bdi { (shown(&entry.source)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Every decision, in order: the URL's history.
fn decisions(decisions: &[LedgerRow]) -> Markup {
    html! {
        h2 { "History" }
        @if decisions.is_empty() {
            p .quiet { "The ledger has no entry about it." }
        } @else {
            div .scroll tabindex="0" role="region" aria-label="Decisions" {
                table {
                    thead { tr { th scope="col" { "Time" } th scope="col" { "Decision" } th scope="col" { "Layer" } th scope="col" { "Reason" } th scope="col" { "Evidence" } } }
                    tbody {
                        @for row in decisions {
                            tr {
                                td { (time(&row.at.to_string())) }
                                td { (in_words(row.decision.as_str())) } td { (row.layer) } td { (in_words(&row.reason.as_str())) }
                                td .wide { bdi { (shown(&row.evidence.as_ref().map(ToString::to_string).unwrap_or_default())) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn record(record: &[(String, String, Value)]) -> Markup {
    let shown = record.iter().filter(|(.., value)| value.text().is_some_and(|text| !text.is_empty()));
    html! {
        details {
            summary { "Record: every column that has a value" }
            dl .facts {
                @for (name, unit, value) in shown {
                    dt { (name) @if !unit.is_empty() { span .quiet { " (" (unit) ")" } } }
                    dd { (value_of(name, value, value.text().as_deref())) }
                }
            }
        }
    }
}

fn copy(about: &AboutUrl, frame: Option<&str>) -> Markup {
    if let Some(file) = &about.archived_elsewhere {
        return elsewhere(file);
    }
    let Some(kind) = &about.archived_type else { return html! {} };
    html! {
        h2 { "Archived copy" }
        p {
            a href=(link("/copy", "url", &about.explanation.url)) download { "Download the archived body" }
            span .quiet { " as it was received" @if !kind.is_empty() { ", " bdi { (shown(kind)) } } }
        }
        @if let Some(frame) = frame {
            details {
                summary { "Show it here" }
                p .quiet { "Without scripts, style sheets and images: nothing is requested from the site." }
                iframe .copy title="Archived copy" src=(frame) sandbox="" loading="lazy" referrerpolicy="no-referrer" {}
            }
        }
    }
}

/// Where a copy is that this server can't read.
fn elsewhere(file: &str) -> Markup {
    html! {
        h2 { "Archived copy" }
        p {
            "It is in " code { bdi { (shown(file)) } } ", in the directory of the worker that fetched it. This server shows it where that directory is given with "
            code { "--warc" } "."
        }
    }
}

fn links(about: &AboutUrl) -> Markup {
    let url = &about.explanation.url;
    let quoted = url.replace('"', "\"\"");
    html! {
        h2 { "Links" }
        p {
            a href=(link("/url/links", "url", url)) { "Pages that link here" }
            span .quiet { " (reads all links of the crawl)" }
        }
        @if about.links.is_empty() {
            p .quiet { "No links of it are on record." }
        } @else {
            h3 { "Links on this page: " (grouped(about.links_count)) }
            div .scroll tabindex="0" role="region" aria-label="Links on this page" {
                table {
                    thead { tr { th scope="col" { "To" } th scope="col" { "Text" } th scope="col" { "Element" } th scope="col" { "What became of it" } } }
                    tbody {
                        @for link in &about.links {
                            tr { td .wide { (url_link(&link.to)) } td .wide { bdi { (shown(&link.text)) } } td { (link.kind) } td { (outcome_in_words(&link.outcome)) } }
                        }
                    }
                }
            }
            @if about.links_count > LINKS as u64 {
                p { a href=(link("/table/links", "where", &format!("from = \"{quoted}\""))) { "All links of this page" } }
            }
        }
    }
}

/// The page of those that link to a URL.
pub(super) fn incoming(url: &CrawlUrl, found: &[(String, String)], more: bool) -> Markup {
    let quoted = url.as_str().replace('"', "\"\"");
    html! {
        h1 { "Pages that link here" }
        p .long { (url_link(url.as_str())) }
        @if found.is_empty() {
            p { "No page that may be indexed links to it." }
        } @else {
            div .scroll tabindex="0" role="region" aria-label="Pages that link here" {
                table {
                    thead { tr { th scope="col" { "Page" } th scope="col" { "Text of the link" } } }
                    tbody { @for (from, text) in found { tr { td .wide { (url_link(from)) } td .wide { bdi { (shown(text)) } } } } }
                }
            }
        }
        @if more { p { "The first " (LINKS) " are shown. " a href=(link("/table/links", "where", &format!("to = \"{quoted}\""))) { "All of them, by part" } } }
        p .quiet { "Table " (Table::Links.name()) " has every link." }
    }
}
