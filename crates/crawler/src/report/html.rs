//! The report as one HTML file: no script, nothing to load. Text of the web is escaped, and cleaned of what could reorder or hide it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Report;
use super::network::network;
use super::plot;
use crate::record::in_words;
use crate::view::{Counted, HostState, Status};
use page::clean::clean;
use page::quantity::{self, grouped};
use page::units;

const STYLE: &str = include_str!("report.css");

/// Rows of a table; the rest is counted, and the tables of the crawl have them all.
const HOSTS_LISTED: usize = 200;
const COUNTS_LISTED: usize = 100;
const SEEDS_LISTED: usize = 50;
const FAILURES_LISTED: usize = 200;
const UNSEEN_LISTED: usize = 200;
const LINKS_LISTED: usize = 60;
const RUNS_LISTED: usize = 200;

/// Hosts in the plot of the largest.
const LARGEST: usize = 12;

/// The sections: id and title.
const SECTIONS: [(&str, &str); 10] = [
    ("request", "What was asked for"),
    ("result", "What was fetched"),
    ("hosts", "Coverage by host"),
    ("politeness", "Requests and politeness"),
    ("pages", "The pages"),
    ("skipped", "What was skipped, and why"),
    ("unseen", "What this crawl could not see"),
    ("errors", "Errors"),
    ("links", "Links between hosts"),
    ("provenance", "Provenance"),
];

/// The whole file.
pub(super) fn page(report: &Report) -> Markup {
    let summary = &report.summary;
    let title = format!("Crawl report {}", short_id(&summary.crawl_id));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    p { (state(report)) }
                    p.quiet { "Computed at " (report.generated) " from the crawl's database." }
                    nav aria-label="Sections" {
                        ul { @for (id, title) in SECTIONS { li { a href={ "#" (id) } { (title) } } } }
                    }
                }
                main {
                    (section(0, &request(report)))
                    (section(1, &result(report)))
                    (section(2, &hosts(report)))
                    (section(3, &politeness(report)))
                    (section(4, &pages(report)))
                    (section(5, &skipped(report)))
                    (section(6, &unseen(report)))
                    (section(7, &errors(report)))
                    (section(8, &links(report)))
                    (section(9, &provenance(report)))
                }
            }
        }
    }
}

fn section(place: usize, content: &Markup) -> Markup {
    let (id, title) = SECTIONS[place];
    html! { section id=(id) aria-labelledby={ (id) "-title" } { h2 id={ (id) "-title" } { (title) } (content) } }
}

fn short_id(id: &str) -> String {
    clean(id.split('-').next().unwrap_or_default()).into_owned()
}

/// How much of the crawl there is, in a sentence.
fn state(report: &Report) -> Markup {
    let summary = &report.summary;
    let words = match summary.status {
        Status::Complete => {
            "Complete: every URL that was found, belongs to the crawl and may be fetched was fetched, or has a final reason on record."
        }
        Status::CompleteWithinLimits => {
            "Complete within limits: nothing remains but what a limit of the crawl keeps out."
        }
        Status::CompleteExceptWalls => {
            "Complete except walls: nothing remains but what sites keep out by challenges, refusals, sign-ins, or pages without content."
        }
        Status::Incomplete => {
            "Incomplete: URLs or hosts remain that may be fetched, or reading one ended a process."
        }
    };
    let end = summary.end.as_ref().map(|end| end.end.as_str());
    html! {
        strong { (words) }
        @if summary.queued > 0 { " " (urls(summary.queued)) " are queued." }
        @match end {
            Some("running") => { " The crawl was running, or had been killed, when this was computed." }
            Some(end) if end != "complete" => { " The last run ended: " (in_words(end)) "." }
            _ => {}
        }
    }
}

fn request(report: &Report) -> Markup {
    let summary = &report.summary;
    html! {
        table {
            tbody {
                tr { th scope="row" { "User-Agent" } td { (clean(summary.agent.as_deref().unwrap_or("unknown"))) } }
                @if let Some(started) = summary.started { tr { th scope="row" { "Started" } td { (started) } } }
                tr { th scope="row" { "Runs" } td { (summary.totals.runs) } }
                tr { th scope="row" { "Seeds" } td { (summary.seeds.len()) } }
                @if summary.unusable_seeds > 0 {
                    tr { th scope="row" { "Unusable lines of the seed file" } td { (summary.unusable_seeds) } }
                }
            }
        }
        details {
            summary { "Seeds" }
            ul { @for seed in summary.seeds.iter().take(SEEDS_LISTED) { li { (clean(seed)) } } }
            @if !summary.unfetched_seeds.is_empty() {
                p { "No page was fetched:" }
                ul { @for seed in &summary.unfetched_seeds { li { (clean(&seed.url)) ": " (clean(&seed.answer)) } } }
            }
            (more(summary.seeds.len(), SEEDS_LISTED, "seeds", "crawl.toml"))
            @if !summary.unusable.is_empty() {
                p { "Lines that can't be crawled:" }
                ul { @for bad in &summary.unusable { li { (clean(&bad.to_string())) } } }
            }
        }
        details open {
            summary { "Settings that differ from the defaults" }
            table {
                thead { tr { th scope="col" { "Setting" } th scope="col" { "Value" } } }
                tbody { @for setting in &report.settings { tr { td.key { code { (setting.key) } } td { (clean(&report.course.value(setting))) } } } }
            }
        }
        @if !report.wishes.is_empty() { (wishes(report)) }
        @if !report.activity.runs.is_empty() { (runs(report)) }
    }
}

/// What owners of hosts asked for, and who asked.
fn wishes(report: &Report) -> Markup {
    html! {
        h3 { "Wishes of owners" }
        table {
            thead { tr { th scope="col" { "Hosts" } th scope="col" { "Wish" } } }
            tbody {
                @for wish in &report.wishes {
                    tr { td { (clean(&wish.hosts.join(", "))) } td { (clean(&wish.wish)) } }
                }
            }
        }
    }
}

/// The runs, each with its delay as it was set and as it was kept.
fn runs(report: &Report) -> Markup {
    let seconds = |length: Option<f64>| length.map_or_else(|| "-".to_owned(), |length| format!("{length} s"));
    let runs = &report.activity.runs;
    html! {
        h3 { "Runs" }
        div.wide tabindex="0" role="region" aria-label="Table of runs" {
            table {
                thead { tr {
                    th.number scope="col" { "Run" } th scope="col" { "Started" } th scope="col" { "Ended" }
                    th.number scope="col" { "Requests" } th.number scope="col" { "Delay set" }
                    th.number scope="col" { "Shortest gap" } th.number scope="col" { "Median gap" }
                } }
                tbody {
                    @for run in runs.iter().take(RUNS_LISTED) {
                        tr {
                            td.number { (run.run) } td { (run.started) }
                            td { @match (&run.ended, &run.end) {
                                (Some(at), Some(end)) => { (at) " (" (in_words(end)) ")" }
                                _ => "killed, or still running",
                            } }
                            td.number { (grouped(run.requests)) } td.number { (seconds(run.delay)) }
                            td.number { (seconds(run.least_gap)) } td.number { (seconds(run.median_gap)) }
                        }
                    }
                }
            }
        }
        (more(runs.len(), RUNS_LISTED, "runs", "crawl report DIR --json"))
    }
}

fn result(report: &Report) -> Markup {
    let (summary, activity) = (&report.summary, &report.activity);
    let totals = &summary.totals;
    let span = activity.first_request.zip(activity.last_request);
    let figures: [(&str, String); 13] = [
        ("Pages", grouped(totals.pages)),
        ("Resources of pages", grouped(totals.resources)),
        ("Pages that may be indexed", grouped(summary.indexed)),
        ("Pages under noindex", grouped(summary.noindex)),
        ("Bodies in the archive", grouped(summary.archived)),
        ("Redirects", grouped(totals.redirects)),
        ("Failed", grouped(totals.failed)),
        ("Skipped", grouped(totals.skipped)),
        ("Queued", grouped(summary.queued)),
        ("Hosts", grouped(summary.hosts_known)),
        ("Requests", grouped(totals.requests)),
        ("Bodies received", quantity::size(totals.bytes)),
        ("Sitemaps", grouped(summary.sitemaps_known)),
    ];
    html! {
        dl.figures { @for (name, value) in &figures { div { dt { (name) } dd { (value) } } } }
        @if let Some((first, last)) = span {
            p { "First request " (first) ", last request " (last) "." }
        }
        h3 { "Responses by status" }
        (bars(&statuses(report), "status", "Responses by status"))
        @if !summary.moved_seeds.is_empty() {
            h3 { "Moved seeds" }
            ul { @for moved in &summary.moved_seeds { li { (clean(&moved.line())) } } }
            (more(summary.moved_seeds_known as usize, summary.moved_seeds.len(), "moved seeds", "crawl show DIR"))
        }
        @if !summary.limits.is_empty() {
            h3 { "Limits that were reached" }
            (table("Limit", "times", &summary.limits_in_words(), clean_name))
        }
    }
}

fn statuses(report: &Report) -> Vec<Counted> {
    let statuses = report.summary.statuses.iter();
    statuses.map(|(status, count)| Counted { what: status.to_string(), count: *count }).collect()
}

fn hosts(report: &Report) -> Markup {
    let summary = &report.summary;
    let mut largest: Vec<_> = summary.hosts.iter().collect();
    largest.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.host.cmp(&b.host)));
    let largest: Vec<Counted> = largest
        .into_iter()
        .filter(|host| host.pages > 0)
        .take(LARGEST)
        .map(|host| Counted { what: host.host.clone(), count: host.pages })
        .collect();
    html! {
        p {
            (quantity::count(summary.hosts_known, "host")) ": " (summary.hosts_complete) " complete, "
            (summary.hosts_complete_within_limits) " complete within limits, "
            @if summary.hosts_complete_except_walls > 0 { (summary.hosts_complete_except_walls) " complete except walls, " }
            (summary.hosts_incomplete) " incomplete."
        }
        @if largest.len() > 1 {
            h3 { "Largest hosts by pages" }
            (bars(&largest, "host", "Pages of the largest hosts"))
        }
        @for note in summary.notes() { p { (clean(&note)) "." } }
        @if !summary.groups.is_empty() {
            h3 { "Hosts that share one delay" }
            ul { @for group in &summary.groups { li { (clean(&group.line())) } } }
            (more(summary.groups_known as usize, summary.groups.len(), "groups", "crawl show DIR hosts"))
        }
        h3 { "All hosts" }
        div.wide tabindex="0" role="region" aria-label="Table of hosts" {
            table {
                thead { tr {
                    th scope="col" { "Host" } th.number scope="col" { "Pages" } th.number scope="col" { "Requests" }
                    th.number scope="col" { "Errors" } th.number scope="col" { "Queued" } th.number scope="col" { "Delay" }
                    th scope="col" { "Coverage" }
                } }
                tbody {
                    @for host in summary.hosts.iter().take(HOSTS_LISTED) {
                        tr {
                            td.name { (clean(&host.host)) }
                            td.number { (grouped(host.pages)) } td.number { (grouped(host.requests)) }
                            td.number { (grouped(host.errors)) } td.number { (grouped(host.queued)) }
                            td.number title=(host.delay_reason) { (host.delay) " s" }
                            td.words {
                                (clean(&host.because))
                                @for note in &host.notes { "; " (clean(note)) }
                                @if host.state == HostState::Parked { " (skipped for the rest of the run)" }
                            }
                        }
                    }
                }
            }
        }
        (more(summary.hosts_known as usize, HOSTS_LISTED, "hosts", "crawl show DIR hosts"))
    }
}

fn politeness(report: &Report) -> Markup {
    let activity = &report.activity;
    let gaps = &activity.gaps;
    if activity.requests == 0 {
        return html! { p { "The ledger has no request." } };
    }
    let step =
        units::format_duration(std::time::Duration::from_secs(activity.timeline.step_s.unsigned_abs()));
    let alternative = format!(
        "Requests over time in steps of {step}: at most {} in a step.",
        activity.timeline.steps.iter().map(|step| step.requests).max().unwrap_or(0)
    );
    let kept = match gaps.short {
        0 => "None was shorter than the delay that was in effect.".to_owned(),
        1 => "One was shorter than the delay that was in effect.".to_owned(),
        short => format!("{short} were shorter than the delay that was in effect."),
    };
    let overlaps = match gaps.overlaps {
        0 => "No request was sent before the last response of its host was complete.".to_owned(),
        1 => "One request was sent before the last response of its host was complete.".to_owned(),
        many => format!("{many} requests were sent before the last response of their host was complete."),
    };
    html! {
        h3 { "Requests over time (UTC)" }
        figure tabindex="0" {
            (PreEscaped(plot::timeline(&activity.timeline, &alternative)))
            figcaption { "Requests in steps of " (step) "; in the second colour those that failed (no response, 4xx, 5xx)." }
        }
        details {
            summary { "Numbers" }
            table {
                thead { tr {
                    th scope="col" { "Step" } th.number scope="col" { "Requests" } th.number scope="col" { "Failed" }
                    th.number scope="col" { "Bytes" }
                } }
                tbody {
                    @for (place, step) in activity.timeline.steps.iter().enumerate().filter(|(_, step)| step.requests > 0) {
                        tr {
                            td { (activity.timeline.time_of(place).map(|at| at.to_string()).unwrap_or_default()) }
                            td.number { (step.requests) } td.number { (step.failed) } td.number { (step.bytes) }
                        }
                    }
                }
            }
        }
        h3 { "Gaps between requests to the same host" }
        p {
            (quantity::count(gaps.count, "gap")) " between the end of a response and the next request. " (kept) " " (overlaps)
            @if let Some(least) = gaps.least { " The shortest was " (least) " s." }
            @if gaps.without_delay > 0 { " Before " (gaps.without_delay) " no delay was in effect." }
        }
        (bars(&plot::gap_counts(&gaps.classes), "gap", "Gaps as multiples of the delay that was in effect"))
        h3 { "What set the delay" }
        (table("Reason", "requests", &activity.delays, in_words))
        @if !activity.pauses.is_empty() {
            h3 { "Pauses of hosts" }
            (table("Reason", "pauses", &activity.pauses, in_words))
        }
    }
}

fn pages(report: &Report) -> Markup {
    let contents = &report.contents;
    let depths: Vec<Counted> = contents
        .depths
        .iter()
        .map(|(depth, count)| Counted { what: depth.to_string(), count: *count })
        .collect();
    let sizes: Vec<Counted> = contents
        .sizes
        .iter()
        .map(|(from, count)| Counted {
            what: if *from == 0 { "empty".to_owned() } else { format!("from {}", quantity::size(*from)) },
            count: *count,
        })
        .collect();
    html! {
        p { (quantity::count(contents.pages, "page")) ", resources of pages among them: responses with status 2xx, except 206." }
        table {
            thead { tr { th scope="col" { "Kind" } th.number scope="col" { "Pages" } th.number scope="col" { "Resources of pages" } } }
            tbody {
                @for count in &contents.kinds {
                    tr { td { (count.kind) } td.number { (grouped(count.pages)) } td.number { (grouped(count.resources)) } }
                }
            }
        }
        h3 { "Media types" }
        (bars(&contents.types, "type", "Pages by media type"))
        h3 { "Declared languages" }
        (bars(&contents.languages, "language", "Pages by declared language"))
        h3 { "Depth: links from a seed" }
        (bars(&depths, "depth", "Pages by depth"))
        h3 { "Size of the decoded body" }
        (bars(&sizes, "size", "Pages by size of the decoded body"))
        h3 { "Directives of pages (meta tags and headers)" }
        (table("Directive", "pages", &contents.directives, clean_name))
        h3 { "Statements about the use of pages" }
        (table("Statement", "pages", &contents.consent, clean_name))
        h3 { "robots.txt by origin" }
        (table("Latest response", "origins", &report.summary.robots, clean_name))
    }
}

fn skipped(report: &Report) -> Markup {
    html! {
        p {
            (urls(report.summary.totals.skipped)) " found and not fetched, each counted once. "
            code { "crawl show DIR skipped" } " lists them with the line, tag or limit that decided."
            @if report.summary.skipped_not_listed > 0 {
                " " (urls(report.summary.skipped_not_listed)) " more are only counted, not listed: a page may add only so much to the database (column skipped_not_listed)."
            }
        }
        (table("Reason", "URLs", &report.summary.skipped, in_words))
        @if !report.summary.costly.is_empty() {
            h3 { "Costly for their site, by kind of site and class" }
            (table("Kind and class", "URLs", &report.summary.costly, clean_name))
        }
        @if !report.summary.cheaper.is_empty() {
            h3 { "Cheaper ways to the content" }
            ul {
                @for way in &report.summary.cheaper {
                    li { (way.host) " (" (way.kind) "): " (way.way) ", " (way.at) }
                }
            }
        }
    }
}

/// What sites, and limits of the crawl, kept out: URLs that nothing is known of but that they exist.
fn unseen(report: &Report) -> Markup {
    let summary = &report.summary;
    let skipped = |reason: &str| summary.skipped.iter().find(|skipped| skipped.what == reason);
    let by_site = [("robots_txt", "denied by robots.txt"), ("consent", "no declared use is permitted")];
    let by_site =
        by_site.into_iter().filter_map(|(reason, words)| Some((words.to_owned(), skipped(reason)?.count)));
    let walls = summary.walls.iter().map(|wall| (format!("wall: {}", in_words(&wall.what)), wall.count));
    let queued = [("still queued".to_owned(), summary.queued)];
    let counts: Vec<Counted> = by_site
        .chain(walls)
        .chain(queued)
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| Counted { what, count })
        .collect();
    let hosts: Vec<_> = summary.hosts.iter().filter(|host| host.coverage != Status::Complete).collect();
    html! {
        p { "URLs that were found and whose pages nobody has read, by what kept them out. Limits of the crawl are among the skipped URLs above." }
        (bars(&counts, "kept out by", "URLs that were not seen"))
        @if summary.suspects > 0 {
            p { (quantity::count(summary.suspects, "response")) " that were taken for what they seem may be walls: column " code { "suspect" } " of table pages." }
        }
        @if !hosts.is_empty() {
            h3 { "Hosts that are not complete" }
            ul { @for host in hosts.iter().take(UNSEEN_LISTED) { li { (clean(&host.host)) " is " (clean(&host.because)) } } }
            (more(hosts.len(), UNSEEN_LISTED, "hosts", "crawl show DIR"))
        }
    }
}

fn errors(report: &Report) -> Markup {
    let contents = &report.contents;
    let kinds: Vec<Counted> = report
        .summary
        .errors
        .iter()
        .map(|(kind, count)| Counted { what: kind.clone(), count: *count })
        .collect();
    html! {
        (table("Failure", "URLs", &kinds, in_words))
        @if !contents.failures.is_empty() {
            details {
                summary { "Failed URLs, with the page that links to each" }
                div.wide tabindex="0" role="region" aria-label="Table of failed URLs" {
                    table {
                        thead { tr { th scope="col" { "URL" } th scope="col" { "Failure" } th scope="col" { "Found on" } } }
                        tbody {
                            @for failure in contents.failures.iter().take(FAILURES_LISTED) {
                                tr {
                                    td.name { (link(&failure.url)) }
                                    td { (in_words(&failure.kind)) @if let Some(detail) = &failure.detail { ": " (clean(detail)) } }
                                    td.name { @match &failure.via { Some(via) => (link(via)), None => "a seed" } }
                                }
                            }
                        }
                    }
                }
                (more(contents.failure_count as usize, FAILURES_LISTED, "failed URLs", "crawl show DIR errors"))
            }
        }
    }
}

fn links(report: &Report) -> Markup {
    let links = &report.host_links;
    if links.strongest.is_empty() {
        return html! { p { "No page links to another host." } };
    }
    html! {
        p {
            (grouped(links.links)) " links lead from one host to another, between " (quantity::count(links.pairs, "pair"))
            " of hosts. Links of pages under noindex aren't counted."
        }
        figure tabindex="0" {
            (PreEscaped(network(links)))
            figcaption { "The hosts with the strongest connections; the width of a line is the number of links." }
        }
        details {
            summary { "Numbers" }
            table {
                thead { tr { th scope="col" { "From" } th scope="col" { "To" } th.number scope="col" { "Links" } } }
                tbody {
                    @for link in links.strongest.iter().take(LINKS_LISTED) {
                        tr { td { (clean(&link.from)) } td { (clean(&link.to)) } td.number { (grouped(link.links)) } }
                    }
                }
            }
            (more(links.pairs as usize, LINKS_LISTED, "pairs", "crawl export DIR --table hosts --format edges"))
        }
    }
}

fn provenance(report: &Report) -> Markup {
    let summary = &report.summary;
    html! {
        table {
            tbody {
                tr { th scope="row" { "Crawl" } td { code { (clean(&summary.crawl_id)) } } }
                tr { th scope="row" { "Program" } td { (clean(report.program.as_deref().unwrap_or("unknown"))) } }
                tr {
                    th scope="row" { "Head of the ledger's chain" }
                    td { @match &summary.head { Some(head) => code { (head) }, None => "no ledger is kept" } }
                }
            }
        }
        p {
            "Every decision of the crawl is in its ledger, whose entries are chained by digests: "
            code { "crawl audit DIR --head HEAD" } " checks that nothing was changed since, and that the crawl kept its rules."
        }
    }
}

/// Counts as bars, with the numbers behind them.
fn bars(counts: &[Counted], noun: &str, alternative: &str) -> Markup {
    if counts.is_empty() {
        return html! { p.quiet { "None." } };
    }
    let first = plot::bars_of(counts);
    let listed: Vec<String> =
        first.iter().map(|bar| format!("{}: {}", clean(&bar.what), bar.count)).collect();
    let alternative = format!("{alternative}. {}", listed.join(", "));
    html! {
        figure tabindex="0" { (PreEscaped(plot::bars(counts, &alternative))) }
        details { summary { "Numbers" } (table(&capital(noun), "number", counts, clean_name)) }
    }
}

/// Counts as a table.
fn table(name: &str, unit: &str, counts: &[Counted], words: fn(&str) -> String) -> Markup {
    if counts.is_empty() {
        return html! { p.quiet { "None." } };
    }
    html! {
        table {
            thead { tr { th scope="col" { (name) } th.number scope="col" { (capital(unit)) } } }
            tbody {
                @for counted in counts.iter().take(COUNTS_LISTED) {
                    tr { td { (clean(&words(&counted.what))) } td.number { (grouped(counted.count)) } }
                }
            }
        }
        (more(counts.len(), COUNTS_LISTED, "rows", "crawl report DIR --json"))
    }
}

/// What isn't listed, and where it is.
fn more(all: usize, listed: usize, noun: &str, place: &str) -> Markup {
    html! {
        @if all > listed { p.quiet { (all - listed) " more " (noun) ": " code { (place) } "." } }
    }
}

/// A URL that can be opened; only one of the web that is shown as it is becomes a link.
fn link(url: &str) -> Markup {
    let is_web = (url.starts_with("http://") || url.starts_with("https://")) && clean(url) == url;
    html! {
        @if is_web { a href=(url) rel="noreferrer nofollow" { (clean(url)) } } @else { (clean(url)) }
    }
}

fn clean_name(name: &str) -> String {
    clean(name).into_owned()
}

fn urls(count: u64) -> String {
    quantity::count(count, "URL")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
