//! The methods paragraph and the datasheet.

use std::fmt::Write as _;

use super::facts::{Counts, Facts};
use crate::record::in_words;
use crate::view::Status;
use page::clean::markdown;
use page::quantity;

/// Reasons that are named in a sentence.
const REASONS: usize = 6;

/// The kind of the documents that are counted apart from the others.
const HTML_PAGE: &str = "HTML page";

/// Runs that the table of runs lists.
const RUNS: usize = 200;

/// Seeds that the datasheet lists.
const SEEDS: usize = 100;

/// One sentence: what the data are.
pub(super) fn abstract_text(facts: &Facts) -> String {
    format!(
        "{} of {}, crawled{} by {} as {}.",
        documents(facts),
        quantity::count(facts.counts.hosts_with_documents, "host"),
        period(facts),
        program(facts),
        facts.agent,
    )
}

/// `40 HTML pages and 7 other documents`: what was fetched and is stored.
fn documents(facts: &Facts) -> String {
    let of = |is_html: bool| {
        let kinds = facts.kinds.iter().filter(|count| (count.kind == HTML_PAGE) == is_html);
        kinds.map(|count| count.pages + count.resources).sum::<u64>()
    };
    let pages = quantity::count(of(true), HTML_PAGE);
    match of(false) {
        0 => pages,
        others => format!("{pages} and {}", quantity::count(others, "other document")),
    }
}

/// `: 5 images, 2 PDF files`, and how many of all are resources; empty where there are only HTML pages that were found as links.
fn kinds(facts: &Facts) -> String {
    let mut text = String::new();
    let others: Vec<String> = facts
        .kinds
        .iter()
        .filter(|count| count.kind != HTML_PAGE)
        .map(|count| quantity::count(count.pages + count.resources, count.kind))
        .collect();
    if !others.is_empty() {
        let _ = write!(text, ": {}", others.join(", "));
    }
    let resources: Vec<String> = facts
        .kinds
        .iter()
        .filter(|count| count.resources > 0)
        .map(|count| quantity::count(count.resources, count.kind))
        .collect();
    if !resources.is_empty() {
        let _ = write!(text, "; fetched as resources of pages: {}", resources.join(", "));
    }
    text
}

/// `crawl 0.1.0`. Which version continued a crawl isn't on record.
fn program(facts: &Facts) -> String {
    let (name, version) = &facts.program;
    let begun = if facts.runs > 1 { " (the version of the first run)" } else { "" };
    format!("{name} {version}{begun}")
}

/// ` from START to END`, as far as it is known.
fn period(facts: &Facts) -> String {
    let start = facts.start.map(|at| format!(" from {at}")).unwrap_or_default();
    let end = facts.end.map(|at| format!(" to {at}")).unwrap_or_default();
    start + &end
}

/// How the data were collected, as a paragraph for an article.
pub(super) fn methods(facts: &Facts) -> String {
    let Counts { requests, redirects, failed, skipped, queued, noindex, archived, bytes, .. } = &facts.counts;
    let skips = match facts.skipped.as_slice() {
        [] => String::new(),
        reasons => format!(" ({})", Facts::phrase(reasons, REASONS)),
    };
    let remaining = match queued {
        0 => String::new(),
        queued => format!(" {} remained in the queue.", quantity::count(*queued, "URL")),
    };
    let head = match &facts.head {
        Some(head) => format!(" The head of the ledger of all decisions is {head}."),
        None => " No ledger of the decisions was kept.".to_owned(),
    };
    let delays = match facts.delays.as_slice() {
        [] => String::new(),
        delays => format!(" What set the delay before them: {}.", Facts::phrase(delays, REASONS)),
    };
    let responses = match facts.responses.as_str() {
        "" => String::new(),
        responses => format!(" (responses by status: {responses})"),
    };
    let changed = match facts.changed.as_slice() {
        [] => String::new(),
        changed => format!(" Settings that changed between runs: {}.", listed(changed).join(", ")),
    };
    format!(
        "We crawled {seeds}{period} with {program}, in {runs}, as {agent}. {scope} The crawler sent {pace}.{orders} robots.txt was obeyed in the \
         dialect {dialect}, page directives (robots meta tags, X-Robots-Tag, rel) were honoured, and content under noindex was not stored.{changed} \
         {requests} were sent, those for robots.txt included{responses}.{delays} {size} of bodies were received. \
         The data have {documents} (status 2xx) of {hosts_with}{kinds}. \
         {redirects} and {failed} that failed are recorded. {skipped} found and skipped{skips}.{remaining} {noindex} under noindex; \
         the bodies of {archived} are in the archive. {gaps} {status}{head}",
        seeds = quantity::count(facts.seeds.len() as u64, "seed"),
        period = period(facts),
        program = program(facts),
        runs = quantity::count(facts.runs, "run"),
        agent = facts.agent,
        scope = facts.scope,
        pace = facts.pace,
        orders = facts.orders,
        dialect = facts.dialect,
        requests = quantity::count(*requests, "request"),
        documents = documents(facts),
        hosts_with = quantity::count(facts.counts.hosts_with_documents, "host"),
        kinds = kinds(facts),
        redirects = quantity::count(*redirects, "redirect"),
        failed = quantity::count(*failed, "URL"),
        size = quantity::size(*bytes),
        skipped = were(*skipped, "URL"),
        noindex = were(*noindex, "page"),
        archived = quantity::count(*archived, "URL"),
        gaps = facts.gaps,
        status = status(facts.status),
    )
}

/// Settings with their values, as Markdown.
fn listed(settings: &[(&'static str, String)]) -> Vec<String> {
    settings.iter().map(|(key, value)| format!("`{key}` = {}", markdown::code(value))).collect()
}

fn were(number: u64, noun: &str) -> String {
    format!("{} {}", quantity::count(number, noun), if number == 1 { "was" } else { "were" })
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Complete => {
            "The crawl is complete: every URL that was found, belongs to it and may be fetched was fetched, or has a final reason on record."
        }
        Status::CompleteWithinLimits => "The crawl is complete within its limits.",
        Status::CompleteExceptWalls => {
            "The crawl is complete except walls: what remains is kept out by challenges, refusals, sign-ins, or pages without content."
        }
        Status::Incomplete => {
            "The crawl is incomplete: URLs remain that may be fetched, or reading one ended a process."
        }
    }
}

/// `methods.md`.
pub(super) fn methods_file(facts: &Facts) -> String {
    let facts = &facts.for_markdown();
    let mut text = format!("# Methods\n\n{}\n", methods(facts));
    if facts.course.is_empty() {
        return text;
    }
    text.push_str(
        "\n## Runs\n\nTimes in UTC. A gap is the time from the end of a response to the next request to the same host.\n\n\
         | run | started | ended | requests | delay set | gaps | shortest gap | median gap |\n|---|---|---|---|---|---|---|---|\n",
    );
    let seconds = |length: Option<f64>| length.map_or_else(|| "-".to_owned(), |length| format!("{length} s"));
    for run in facts.course.iter().take(RUNS) {
        let ended = match (run.ended, &run.end) {
            (Some(at), Some(end)) => format!("{at} ({})", markdown::text(&in_words(end))),
            _ => "killed, or still running".to_owned(),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {ended} | {} | {} | {} | {} | {} |",
            run.run,
            run.started,
            run.requests,
            seconds(run.delay),
            run.gaps,
            seconds(run.least_gap),
            seconds(run.median_gap)
        );
    }
    if facts.course.len() > RUNS {
        let _ = writeln!(text, "\n{} more runs are in report.json.", facts.course.len() - RUNS);
    }
    text
}

/// `datasheet.md`: the questions of Gebru et al. by section. What only the authors know is marked as theirs to write.
pub(super) fn datasheet(facts: &Facts) -> String {
    let facts = &facts.for_markdown();
    let mut text = format!("# Datasheet: {}\n\n{}\n", facts.title, abstract_text(facts));
    text.push_str(
        "\nThe answers come from the crawl's database. *To be written by the authors* marks what it can't know.\n",
    );
    let mut section = |title: &str, answers: &[(&str, String)]| {
        let _ = write!(text, "\n## {title}\n");
        for (question, answer) in answers {
            let _ = write!(text, "\n**{question}** {answer}\n");
        }
    };
    let authors = || "*To be written by the authors.*".to_owned();
    let Counts { failed, skipped, queued, noindex, archived, .. } = &facts.counts;
    section(
        "Motivation",
        &[
            ("For what purpose was the data set made?", authors()),
            ("Who made it?", facts.creators().join(", ") + "."),
            ("Who funded it?", authors()),
        ],
    );
    section(
        "Composition",
        &[
            (
                "What are the instances?",
                format!(
                    "{} (status 2xx) of {}{}. With them come the links between them, {} and the bodies of {} in the archive.",
                    documents(facts),
                    quantity::count(facts.counts.hosts_with_documents, "host"),
                    kinds(facts),
                    if facts.head.is_some() {
                        "every decision of the crawler"
                    } else {
                        "no record of the decisions"
                    },
                    quantity::count(*archived, "URL")
                ),
            ),
            (
                "Is it a sample, or everything?",
                format!(
                    "{} {} failed, {} found and skipped, {} remained in the queue.",
                    status(facts.status),
                    quantity::count(*failed, "URL"),
                    were(*skipped, "URL"),
                    queued
                ),
            ),
            ("Media types", list(&facts.types)),
            ("Declared languages", list(&facts.languages)),
            (
                "What is missing, and why?",
                if facts.skipped.is_empty() {
                    "Nothing was skipped.".to_owned()
                } else {
                    format!("Skipped URLs by reason: {}.", Facts::phrase(&facts.skipped, usize::MAX))
                },
            ),
            (
                "What did site owners exclude?",
                format!(
                    "URLs that robots.txt disallows were not requested. {} under noindex: their content was not stored. Bodies under noarchive are not in the archive.",
                    were(*noindex, "page")
                ),
            ),
            (
                "May it contain personal, confidential or offensive data?",
                format!(
                    "It contains what the sites published; nothing was filtered by content. {}",
                    authors()
                ),
            ),
        ],
    );
    section(
        "Collection process",
        &[
            ("How were the data acquired?", methods(facts)),
            ("With which software?", format!("{}.", program(facts))),
            ("With which settings?", settings(facts)),
            ("From which seeds?", seeds(facts)),
            ("Was there an ethical review?", authors()),
            (
                "Were the site owners notified, and could they object?",
                format!(
                    "Every request named the robot as {}. Owners could keep it out by robots.txt, page directives and HTTP headers, which were obeyed.",
                    facts.agent
                ),
            ),
        ],
    );
    section(
        "Preprocessing",
        &[(
            "Was anything processed?",
            "The archive has the bodies as received, without the transfer coding. Titles, descriptions, links and directives were extracted by the crawler.".to_owned(),
        )],
    );
    section("Uses", &[("For what has it been used, and for what should it not be used?", authors())]);
    section(
        "Distribution",
        &[
            (
                "Under which licence?",
                facts.license.clone().unwrap_or_else(|| {
                    "None was named. The pages remain under the rights of their authors.".to_owned()
                }),
            ),
            ("Where?", authors()),
        ],
    );
    section(
        "Maintenance",
        &[
            ("Who maintains it, and how can they be reached?", contact(facts)),
            (
                "How can it be checked that it is unchanged?",
                match &facts.head {
                    Some(head) => format!(
                        "`crawl audit DIR --head {head}` checks the whole directory against the head of its ledger."
                    ),
                    None => "By the digests in ro-crate-metadata.json; the crawl kept no ledger.".to_owned(),
                },
            ),
        ],
    );
    text
}

fn contact(facts: &Facts) -> String {
    if facts.contacts.is_empty() {
        return "*To be written by the authors.*".to_owned();
    }
    let contacts: Vec<String> =
        facts.contacts.iter().map(|contact| markdown::text(&contact.to_string())).collect();
    format!("{}.", contacts.join(", "))
}

fn list(counts: &[crate::view::Counted]) -> String {
    if counts.is_empty() { "none.".to_owned() } else { Facts::phrase(counts, 20) + "." }
}

fn settings(facts: &Facts) -> String {
    if facts.settings.is_empty() {
        return "The defaults.".to_owned();
    }
    let mut text = "The defaults, except:\n".to_owned();
    for setting in listed(&facts.settings) {
        let _ = write!(text, "\n- {setting}");
    }
    text
}

fn seeds(facts: &Facts) -> String {
    let mut text = quantity::count(facts.seeds.len() as u64, "URL");
    if facts.unusable_seeds > 0 {
        let _ = write!(
            text,
            "; {} of the seed file couldn't be used",
            quantity::count(facts.unusable_seeds, "line")
        );
    }
    text.push_str(":\n");
    for seed in facts.seeds.iter().take(SEEDS) {
        let _ = write!(text, "\n- <{seed}>");
    }
    if facts.seeds.len() > SEEDS {
        let _ = write!(text, "\n- {} more in crawl.toml", facts.seeds.len() - SEEDS);
    }
    text
}
