//! The methods paragraph and the datasheet.

use std::fmt::Write as _;

use super::facts::{Counts, Facts};
use crate::clean::markdown;
use crate::quantity;
use crate::view::Status;

/// Reasons that are named in a sentence.
const REASONS: usize = 6;

/// Seeds that the datasheet lists.
const SEEDS: usize = 100;

/// One sentence: what the data are.
pub(super) fn abstract_text(facts: &Facts) -> String {
    format!(
        "{} of {}, crawled{} by {} {} as {}.",
        quantity::count(facts.counts.pages, "web page"),
        quantity::count(facts.counts.hosts, "host"),
        period(facts),
        facts.program.0,
        facts.program.1,
        facts.agent,
    )
}

/// ` from START to END`, as far as it is known.
fn period(facts: &Facts) -> String {
    let start = facts.start.map(|at| format!(" from {at}")).unwrap_or_default();
    let end = facts.end.map(|at| format!(" to {at}")).unwrap_or_default();
    start + &end
}

/// How the data were collected, as a paragraph for an article.
pub(super) fn methods(facts: &Facts) -> String {
    let Counts { requests, pages, redirects, failed, skipped, queued, noindex, archived, bytes, hosts } =
        &facts.counts;
    let (name, version) = &facts.program;
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
    format!(
        "We crawled {seeds}{period} with {name} {version}, in {runs}, as {agent}. Scope: {scope}. The crawler sent {pace}. robots.txt was obeyed in the \
         dialect `{dialect}`, page directives (robots meta tags, X-Robots-Tag, rel) were honoured, and content under noindex was not stored. \
         {requests} returned {pages} (2xx) and {redirects}, {size} of bodies from {hosts}; {failed} failed. {skipped} found and skipped{skips}.{remaining} {noindex} under noindex; \
         {archived} archived. {gaps} {status}{head}",
        seeds = quantity::count(facts.seeds.len() as u64, "seed"),
        period = period(facts),
        runs = quantity::count(facts.runs, "run"),
        agent = facts.agent,
        scope = facts.scope,
        pace = facts.pace,
        dialect = facts.dialect,
        requests = quantity::count(*requests, "request"),
        pages = quantity::count(*pages, "page"),
        redirects = quantity::count(*redirects, "redirect"),
        size = quantity::size(*bytes),
        hosts = quantity::count(*hosts, "host"),
        skipped = were(*skipped, "URL"),
        noindex = were(*noindex, "page"),
        archived = if *archived == 1 { "1 body was".to_owned() } else { format!("{archived} bodies were") },
        gaps = facts.gaps,
        status = status(facts.status),
    )
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
        Status::Incomplete => {
            "The crawl is incomplete: URLs remain that may be fetched, or reading one ended a process."
        }
    }
}

/// `methods.md`.
pub(super) fn methods_file(facts: &Facts) -> String {
    format!("# Methods\n\n{}\n", methods(&facts.for_markdown()))
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
    let (name, version) = &facts.program;
    let Counts { pages, hosts, failed, skipped, queued, noindex, archived, .. } = &facts.counts;
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
                    "{} of {}, with the links between them, every decision of the crawler, and {} in the archive.",
                    quantity::count(*pages, "web page"),
                    quantity::count(*hosts, "host"),
                    if *archived == 1 { "1 body".to_owned() } else { format!("{archived} bodies") }
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
            ("With which software?", format!("{name} {version}.")),
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
    let mut text = String::from("The defaults, except:\n");
    for setting in &facts.settings {
        let _ = write!(text, "\n- `{}` = {}", setting.key, markdown::code(&setting.value));
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
