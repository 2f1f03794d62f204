//! The overview: what the crawl does now, and what it has done.

use maud::{Markup, html};
use serde_json::Value;

use super::charts::{Bar, bars, time, time_line};
use super::failure::Failure;
use super::figures::Counted;
use super::layout::{host_link, sentence, shown, url_link};
use super::params::link;
use crate::pace::DelayReason;
use crate::record::in_words as words;
use crate::view::{Activity, HostSummary, Summary};
use page::quantity::{count, grouped, size};

/// Hosts that the overview lists.
const HOSTS: usize = 20;

/// Reasons and kinds that a list names.
const LISTED: usize = 12;

/// The page's main part. `now` is the status; the two figures may not be there yet.
pub(super) fn main(
    now: &Value,
    summary: Result<&Counted<Summary>, &Failure>,
    activity: Result<&Counted<Activity>, &Failure>,
) -> Markup {
    let is_cluster = now["workers"].is_array();
    let is_running = now["pid"].is_u64()
        || is_cluster && matches!(now["state"].as_str(), Some("running" | "waiting_for_workers"));
    let waits = summary.is_err() || activity.is_err();
    html! {
        div #live data-events=[is_running.then_some("/api/v1/events")] data-reload=[waits.then_some("3000")] {
            div .title {
                h1 { "Overview" }
                (state(now))
            }
            (cards(now, summary.ok().map(|summary| summary.value.hosts_known)))
            @if is_cluster { (workers(now)) } @else if is_running { (waiting(now)) }
        }
        div #counted {
            @match summary {
                Ok(summary) => (counted(summary, activity)),
                Err(failure) => div .notice role="status" { p { (sentence(&failure.what)) } },
            }
        }
    }
}

/// The state in one word, with what goes with it. The element is updated by events.
fn state(now: &Value) -> Markup {
    let state = now["state"].as_str().unwrap_or("unknown");
    html! {
        p .state data-state=(state) {
            span .dot aria-hidden="true" {}
            strong data-live="state" { (words(state)) }
            @if let Some(at) = now["ended"].as_str() { span { "since " (time(at)) } }
            @if let Some(limit) = now["limit"].as_str() { span { "· limit reached: " (limit) } }
            @if let Some(eta) = now["eta"].as_str() { span { "· estimated time remaining: " span data-live="eta" { (eta) } } }
        }
        p .visually-hidden #announce role="status" {}
    }
}

/// `hosts` is how many were counted, where the state doesn't say it.
fn cards(now: &Value, hosts: Option<u64>) -> Markup {
    let total = |name: &str| now["totals"][name].as_u64().unwrap_or_default();
    let card = |name: &str, key: &str, value: String, href: Option<&str>| {
        html! {
            div .card {
                dt { @if let Some(href) = href { a href=(href) { (name) } } @else { (name) } }
                dd data-live=(key) { (value) }
            }
        }
    };
    let of = |key: &str| now[key].as_u64().unwrap_or_default();
    html! {
        dl .cards {
            (card("Pages", "totals.pages", grouped(total("pages")), Some("/table/pages")))
            (card("Queued", "queued", grouped(of("queued")), Some("/table/queue")))
            (card("Failed", "totals.failed", grouped(total("failed")), Some("/table/errors")))
            @if let Some(hosts) = now["hosts"].as_u64().or(hosts) { (card("Hosts", "hosts", grouped(hosts), Some("/table/hosts"))) }
            (card("Requests", "totals.requests", grouped(total("requests")), None))
            (card("Received", "totals.bytes", size(total("bytes")), None))
            @if now["in_flight"].is_u64() {
                @let rate = now["pages_per_second"].as_f64().map_or_else(|| "–".to_owned(), |rate| format!("{rate:.1}"));
                (card("Pages per second", "pages_per_second", rate, None))
                (card("In flight", "in_flight", grouped(of("in_flight")), None))
            }
        }
    }
}

/// What hosts wait for by the name of the reason, as JSON for the script that fills the table.
fn awaited() -> String {
    let words = DelayReason::ALL.map(|why| (why.as_str().to_owned(), Value::from(why.awaited())));
    Value::Object(words.into_iter().collect()).to_string()
}

/// What a running crawl waits for. Filled again by events.
fn waiting(now: &Value) -> Markup {
    html! {
        section .columns aria-label="What the crawl waits for" {
            div {
                h2 { "What hosts wait for" }
                table .live {
                    thead { tr { th scope="col" { "Hosts wait for" } th .number scope="col" { "Hosts" } } }
                    tbody #waiting data-words=(awaited()) {
                        @for (why, hosts) in now["waiting"].as_object().into_iter().flatten() {
                            tr { td { (DelayReason::of_word(why).map_or(why.as_str(), |why| why.awaited())) } td .number { (grouped(hosts.as_u64().unwrap_or_default())) } }
                        }
                    }
                }
            }
            div {
                h2 { "Hosts with most to do" }
                div .scroll tabindex="0" role="region" aria-label="Hosts with most to do" {
                    table .live {
                        thead {
                            tr {
                                th scope="col" { "Host" } th .number scope="col" { "Queued" } th .number scope="col" { "Next in (s)" }
                                th scope="col" { "Because" }
                            }
                        }
                        tbody #longest {
                            @for host in now["longest"].as_array().into_iter().flatten() {
                                tr {
                                    td { (host_link(host["host"].as_str().unwrap_or_default())) }
                                    td .number { (grouped(host["queued"].as_u64().unwrap_or_default())) }
                                    td .number { (format!("{:.1}", host["next_s"].as_f64().unwrap_or_default())) }
                                    td { (host["why"].as_str().unwrap_or_default()) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Who crawls, of a crawl on many machines, and what remains. Filled again by events.
fn workers(now: &Value) -> Markup {
    let list = |key: &str| now[key].as_array().into_iter().flatten();
    let of = |entry: &Value, key: &str| grouped(entry[key].as_u64().unwrap_or_default());
    html! {
        section .columns aria-label="Who crawls, and what remains" {
            div {
                h2 { "Workers" }
                p .quiet {
                    span data-live="partitions_free" { (of(now, "partitions_free")) } " of " (of(now, "partitions")) " partitions have no worker."
                }
                div .scroll tabindex="0" role="region" aria-label="Workers" {
                    table .live {
                        thead {
                            tr {
                                th scope="col" { "Worker" } th .number scope="col" { "Partitions" } th .number scope="col" { "Queued" }
                                th .number scope="col" { "In flight" }
                            }
                        }
                        tbody #workers {
                            @for worker in list("workers") {
                                tr {
                                    td { (of(worker, "id")) " (" bdi { (shown(worker["name"].as_str().unwrap_or_default())) } ")" }
                                    td .number { (of(worker, "partitions")) } td .number { (of(worker, "queued")) } td .number { (of(worker, "in_flight")) }
                                }
                            }
                        }
                    }
                }
            }
            div {
                h2 { "Partitions with most to do" }
                p .quiet { span data-live="letters" { (of(now, "letters")) } " letters are under way between partitions." }
                div .scroll tabindex="0" role="region" aria-label="Partitions with most to do" {
                    table .live {
                        thead {
                            tr {
                                th scope="col" { "Partition" } th scope="col" { "Worker" } th .number scope="col" { "Queued" }
                                th .number scope="col" { "In flight" } th .number scope="col" { "Letters" }
                            }
                        }
                        tbody #partitions {
                            @for part in list("longest_partitions") {
                                tr {
                                    td { (of(part, "partition")) }
                                    td { @match part["worker"].as_u64() { Some(worker) => (worker), None => "none" } }
                                    td .number { (of(part, "queued")) } td .number { (of(part, "in_flight")) } td .number { (of(part, "letters")) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn counted(summary: &Counted<Summary>, activity: Result<&Counted<Activity>, &Failure>) -> Markup {
    let (at, summary) = (summary.at, &summary.value);
    html! {
        p .quiet { "The figures below were counted at " (time(&crate::view::Moment(at).to_string())) "." }
        section {
            h2 { "Requests over time" }
            @match activity {
                Ok(activity) => (time_line("Requests over time", &activity.value.timeline)),
                Err(failure) => p .quiet { (sentence(&failure.what)) },
            }
        }
        div .blocks {
            section {
                h2 { "Politeness" }
                @match activity {
                    Ok(activity) => (gaps(&activity.value)),
                    Err(failure) => p .quiet { (sentence(&failure.what)) },
                }
            }
            section {
                h2 { "Coverage of hosts" }
                (bars("Hosts by coverage", "Coverage", &[
                    Bar { label: html! { "complete" }, count: summary.hosts_complete },
                    Bar { label: html! { "complete within limits" }, count: summary.hosts_complete_within_limits },
                    Bar { label: html! { "complete except walls" }, count: summary.hosts_complete_except_walls },
                    Bar { label: html! { "incomplete" }, count: summary.hosts_incomplete },
                ]))
            }
            section {
                h2 { "Responses by status" }
                @if summary.statuses.is_empty() { p .quiet { "No response yet." } }
                (bars("Responses by status", "Status", &first(summary.statuses.iter().map(|(status, count)| {
                    (status.to_string(), link("/table/pages", "where", &format!("status = {status}")), *count)
                }))))
            }
            section {
                h2 { "Skipped, by reason" }
                @if summary.skipped.is_empty() { p .quiet { "Nothing was skipped." } }
                @if summary.skipped_not_listed > 0 {
                    p { (count(summary.skipped_not_listed, "more URL")) " skipped and not listed here, since a page may add only so much to the database: column " code { "skipped_not_listed" } " of table pages has their number." }
                }
                (bars("Skipped URLs by reason", "Reason", &first(summary.skipped.iter().map(|skipped| {
                    (words(&skipped.what), link("/table/skipped", "where", &format!("reason = \"{}\"", skipped.what)), skipped.count)
                }))))
            }
            section {
                h2 { "Errors, by kind" }
                @if summary.errors.is_empty() { p .quiet { "Nothing failed." } }
                (bars("Failed URLs by kind", "Kind", &first(summary.errors.iter().map(|(kind, count)| {
                    (words(kind), link("/table/errors", "where", &format!("kind = \"{kind}\"")), *count)
                }))))
            }
            section {
                h2 { "robots.txt" }
                @if summary.robots.is_empty() { p .quiet { "No robots.txt was requested yet." } }
                (bars("Origins by their robots.txt", "Meaning", &summary.robots.iter().take(LISTED).map(|robots| {
                    Bar { label: html! { bdi { (shown(&words(&robots.what))) } }, count: robots.count }
                }).collect::<Vec<_>>()))
            }
        }
        section {
            h2 { "Hosts" }
            (hosts(&summary.hosts))
            p { a href="/table/hosts" { "All " (grouped(summary.hosts_known)) " hosts" } }
        }
        section {
            h2 { "This crawl" }
            dl .facts {
                dt { "Agent" } dd { (summary.agent.as_deref().unwrap_or("unknown")) }
                dt { "Started" } dd { @match summary.started { Some(at) => (time(&at.to_string())), None => "unknown" } }
                dt { "Seeds" } dd {
                    @for seed in summary.seeds.iter().take(LISTED) { (url_link(seed)) br; }
                    @if summary.seeds.len() > LISTED { "and " (grouped((summary.seeds.len() - LISTED) as u64)) " more" }
                }
                @if !summary.unfetched_seeds.is_empty() {
                    dt { "No page yet" } dd {
                        @for seed in &summary.unfetched_seeds { (url_link(&seed.url)) ": " bdi { (shown(&seed.answer)) } br; }
                    }
                }
                @if !summary.moved_seeds.is_empty() {
                    dt { "Moved seeds" } dd {
                        @for moved in summary.moved_seeds.iter().take(LISTED) { bdi { (shown(&moved.line())) } br; }
                        @let more = (summary.moved_seeds_known as usize).saturating_sub(LISTED);
                        @if more > 0 { "and " (grouped(more as u64)) " more" }
                    }
                }
                @if let Some(head) = summary.head { dt { "Head of the ledger" } dd { code { (head) } } }
                dt { "Id" } dd { code { (summary.crawl_id) } }
            }
        }
    }
}

/// The first bars of a list; the last one has the sum of the others.
fn first(counts: impl Iterator<Item = (String, String, u64)>) -> Vec<Bar> {
    let mut counts: Vec<_> = counts.collect();
    counts.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
    let others = counts.split_off(counts.len().min(LISTED));
    let mut bars: Vec<Bar> = counts
        .into_iter()
        .map(|(name, href, count)| Bar { label: html! { a href=(href) { bdi { (name) } } }, count })
        .collect();
    if !others.is_empty() {
        let label = html! { (others.len()) " others" };
        bars.push(Bar { label, count: others.iter().map(|(.., count)| count).sum() });
    }
    bars
}

/// How long the gaps were, against the delay in effect.
pub(super) fn gaps(activity: &Activity) -> Markup {
    let gaps = &activity.gaps;
    let classes = gaps.classes.iter().map(|class| Bar { label: html! { (class) }, count: class.count });
    html! {
        @if gaps.count == 0 {
            p .quiet { "No host was asked twice yet." }
        } @else {
            p {
                strong { (grouped(gaps.short)) } " of " (grouped(gaps.count))
                " gaps between a response and the next request to the same host were shorter than the delay in effect."
                @if gaps.overlaps > 0 { " Requests overlapped " (grouped(gaps.overlaps)) " times." }
            }
            (bars("Gaps as multiples of the delay in effect", "Gap", &classes.collect::<Vec<_>>()))
        }
    }
}

fn hosts(hosts: &[HostSummary]) -> Markup {
    html! {
        div .scroll tabindex="0" role="region" aria-label="Hosts" {
            table {
                thead {
                    tr {
                        th scope="col" { "Host" } th .number scope="col" { "Pages" } th .number scope="col" { "Queued" }
                        th .number scope="col" { "Errors" } th .number scope="col" { "Delay (s)" } th scope="col" { "Set by" } th scope="col" { "Coverage" }
                    }
                }
                tbody {
                    @for host in hosts.iter().take(HOSTS) {
                        tr {
                            th scope="row" { (host_link(&host.host)) }
                            td .number { (grouped(host.pages)) } td .number { (grouped(host.queued)) } td .number { (grouped(host.errors)) }
                            td .number { (host.delay) } td { (host.delay_reason) } td .prose { bdi { (shown(&host.because)) } @for note in &host.notes { "; " bdi { (shown(note)) } } }
                        }
                    }
                }
            }
        }
    }
}
