//! The page about one host: its figures, its robots.txt with the lines that bind the crawl, its requests over time.

use std::collections::BTreeSet;

use maud::{Markup, html};
use serde::Serialize;

use super::charts::{time, time_line};
use super::crawl_view::CrawlView;
use super::failure::Failure;
use super::layout::shown;
use super::overview::gaps;
use super::params::link;
use super::reading::Until;
use crate::view::{Activity, Answer, HostRow, StoredRobots};
use page::quantity::{grouped, size};

/// What is said about a host.
#[derive(Debug, Serialize)]
pub(super) struct AboutHost {
    /// Form of this object: 1.
    v: u32,
    /// Its row in table `hosts`.
    pub(super) host: HostRow,
    /// Its requests over time, and the pauses between them.
    activity: Activity,
    /// The robots.txt of each of its origins.
    robots: Vec<RobotsOf>,
}

/// The robots.txt of an origin.
#[derive(Debug, Serialize)]
struct RobotsOf {
    /// Its text, and the lines that bind the crawl's robot.
    stored: StoredRobots,
    /// Every answer to a request for it.
    log: Vec<Answer>,
}

/// Reads what there is about a host.
pub(super) fn read(view: &CrawlView, name: &str, until: &Until) -> Result<AboutHost, Failure> {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let unknown =
        || Failure::not_found(format!("the crawl has no host {}", page::clean::clean_to(&name, 100)));
    let view = view.of_host(&name);
    let mut host = None;
    for row in view.hosts() {
        until.check()?;
        let row = row?;
        if row.host == name {
            host = Some(row);
            break;
        }
    }
    let host = host.ok_or_else(unknown)?;
    let activity = view.activity_of(Some(&name), &|| until.check())?;
    let mut robots = Vec::new();
    for origin in view.robots_origins(&name)? {
        if let Some(stored) = view.stored_robots(&origin)? {
            robots.push(RobotsOf { stored, log: view.robots_log(&origin)? });
        }
    }
    Ok(AboutHost { v: 1, host, activity, robots })
}

/// The page's main part.
pub(super) fn main(about: &AboutHost) -> Markup {
    let host = &about.host;
    let of = |table: &str, column: &str| {
        link(&format!("/table/{table}"), "where", &format!("{column} = \"{}\"", host.host))
    };
    html! {
        h1 .long { "Host " bdi { (shown(&host.host)) } }
        dl .cards {
            div .card { dt { "Pages" } dd { (grouped(host.pages)) } }
            div .card { dt { "Requests" } dd { (grouped(host.requests)) } }
            div .card { dt { a href=(of("queue", "host")) { "Queued" } } dd { (grouped(host.queued)) } }
            div .card { dt { a href=(of("errors", "host")) { "Errors" } } dd { (grouped(host.errors)) } }
            div .card { dt { a href=(of("skipped", "host")) { "Denied by robots.txt" } } dd { (grouped(host.skipped)) } }
            div .card { dt { "Received" } dd { (size(host.bytes)) } }
        }
        @if let Some(why) = &host.parked { div .notice { p { "Skipped for the rest of the run: " (shown(why)) "." } } }
        h2 { "Delay" }
        p {
            strong { (host.delay) " s" } " between the end of a response and the next request, set by " strong { (host.delay_reason) } ". "
            "Next request not before " (time(&host.next_at.to_string())) " (" (host.wait_reason) "). "
            "Slowest response: " (grouped(host.slowest_ms)) " ms."
            @if let Some(group) = &host.group { " It shares its delay with the group " bdi { (shown(group)) } "." }
        }
        (gaps(&about.activity))
        h2 { "Requests over time" }
        (time_line("Requests to this host", &about.activity.timeline))
        h2 { "robots.txt" }
        @for url in &host.license { p { "Licence: " code { bdi { (shown(url)) } } } }
        @if let Some(price) = &host.payment { p { "Price that it asks for: " code { bdi { (shown(price)) } } } }
        @if about.robots.is_empty() { p .quiet { "No robots.txt of this host is on record." } }
        @for robots in &about.robots { (robots_of(robots)) }
        p { a href=(of("ledger", "host")) { "Every decision about this host" } }
    }
}

fn robots_of(robots: &RobotsOf) -> Markup {
    let stored = &robots.stored;
    let binding: BTreeSet<u32> = stored.binding.iter().map(|line| line.line).collect();
    html! {
        section {
            h3 .long { bdi { (shown(&stored.answer.origin)) } }
            p {
                "Fetched at " (time(&stored.answer.fetched_at.to_string())) ": "
                @if let Some(status) = stored.answer.status { "HTTP " (status) ", " }
                (stored.answer.access) " (" (shown(&stored.answer.reason)) "), valid until " (time(&stored.answer.expires.to_string())) "."
            }
            @if !stored.text.is_empty() {
                p .quiet { (binding.len()) " of its lines bind this crawl; they are marked." }
                div .scroll tabindex="0" role="region" aria-label="robots.txt" {
                    ol .robots {
                        @for (number, line) in (1_u32..).zip(stored.text.lines()) {
                            @let binds = binding.contains(&number);
                            li .binds[binds] {
                                @if binds { span .visually-hidden { "Binding: " } }
                                code { bdi { (shown(line)) } }
                            }
                        }
                    }
                }
            }
            @if robots.log.len() > 1 {
                details {
                    summary { "Responses to requests for it: " (robots.log.len()) }
                    div .scroll tabindex="0" role="region" aria-label="Responses" {
                        table {
                            thead { tr { th scope="col" { "Time" } th scope="col" { "Status" } th scope="col" { "Meaning" } th scope="col" { "Changed" } } }
                            tbody {
                                @for answer in &robots.log {
                                    tr {
                                        td { (time(&answer.fetched_at.to_string())) }
                                        td { @match answer.status { Some(status) => (status), None => "–" } }
                                        td { (answer.access) " (" (shown(&answer.reason)) ")" } td { (if answer.changed { "yes" } else { "no" }) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
