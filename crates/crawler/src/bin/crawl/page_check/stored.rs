//! A URL that a crawl visited: its directives then, and what the crawl did.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use crawler::causes::with_causes;
use crawler::config::{Settings, read_own};
use crawler::record::PageRecord;
use crawler::view::{StoredResponse, StoredVisit};
use jiff::Timestamp;
use meta::{Agent, Dialect, DirectiveSource, Directives, MetaTag, SourceKind, Sources};
use page::clean::clean;
use page::url::CrawlUrl;
use serde_json::{Map, Value, json};

use super::answer;
use super::decide::{Check, Checked};
use super::words;
use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::reading::ReadingArgs;
use crate::show;
use crate::terminal::Console;

/// What is asked of a crawl's directory.
pub(super) struct Asked<'a> {
    pub(super) dir: &'a Path,
    pub(super) reading: &'a ReadingArgs,
    pub(super) url: &'a str,
    /// None: the crawl's own.
    pub(super) agent: Option<&'a str>,
    pub(super) aliases: &'a [String],
    pub(super) dialect: Dialect,
    pub(super) now: Timestamp,
}

/// How much of the page the answer rests on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// The response in the archive.
    Archive,
    /// What was recorded when it was visited.
    Record,
    /// Header lines, and tags for everybody: those for other robots weren't kept.
    Headers,
}

impl Basis {
    fn name(self) -> &'static str {
        match self {
            Self::Archive => "archive",
            Self::Record => "record",
            Self::Headers => "headers",
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Archive => "judged from the response in the archive",
            Self::Record => "as recorded at the visit: the body wasn't stored",
            Self::Headers => {
                "judged from the header lines and the tags for all robots: neither the body nor the tags for other robots were stored"
            }
        }
    }
}

/// Tells of one visited URL.
pub(super) fn run(asked: &Asked<'_>, console: Console, out: &mut dyn Write) -> anyhow::Result<i32> {
    let Asked { dir, url, .. } = asked;
    let url = CrawlUrl::parse(url)
        .map_err(|error| Stop::new(exit::USAGE, format!("{url:?} can't be crawled: {error}")))?;
    let view = asked.reading.open(dir)?;
    let settings = own_settings(dir)?;
    let own = Agent::new(&settings.agent.product).with_aliases(&settings.agent.aliases);
    let agent = match asked.agent {
        Some(name) => Agent::new(name).with_aliases(asked.aliases),
        None => own.clone(),
    };
    let Some(visit) = view.visit(&url).map_err(|error| show::view_error(&error))? else {
        let dir = path_text(dir);
        let what = format!("{dir} has no visit of {url}; `crawl explain {dir} {url}` says why");
        return Err(Stop::new(exit::USAGE, what).into());
    };
    let response = view.archived(&visit.record).unwrap_or_else(|error| {
        console
            .warning(&format!("the archive can't be read, using the page record: {}", with_causes(&error)));
        None
    });
    let check = Check {
        content_types: content_types(&visit.record, response.as_ref()),
        headers: response
            .as_ref()
            .map_or_else(|| visit.record.headers.clone(), |found| found.headers.clone()),
        html: response.as_ref().map(|found| found.body.to_vec()),
        limits: settings.page.extract_limits(settings.limits.max_links_per_page),
        is_cut: visit.record.is_cut(),
        closes_unread_head: matches!(
            settings.robots.dialect,
            robots::Dialect::Hardened | robots::Dialect::Strictest
        ),
        agent,
        dialect: asked.dialect,
        now: asked.now,
        url: Some(url.to_url()),
    };
    let is_own = check.agent == own && check.dialect == Dialect::Strict;
    let basis = match (&response, is_own) {
        (Some(_), _) => Basis::Archive,
        (None, true) => Basis::Record,
        (None, false) => Basis::Headers,
    };
    let mut checked = match basis {
        Basis::Archive => check.decide(),
        Basis::Record | Basis::Headers => from_record(&visit, &check, basis),
    };
    if is_own {
        // The site's own files and robots.txt had a say, too.
        checked.statements.clone_from(&visit.record.consent);
        let noindex =
            visit.record.directives.iter().find(|because| because.source.origin == SourceKind::RobotsTxt);
        if let Some(because) = noindex.filter(|because| !checked.directives.because.contains(because)) {
            checked.directives.index = false;
            checked.directives.because.push(because.clone());
        }
    }
    if console.json {
        writeln!(out, "{}", as_json(&visit, &check, &checked, basis))?;
    } else {
        write_text(&visit, &check, &checked, basis, out)?;
    }
    Ok(exit::COMPLETE)
}

/// The settings that the crawl read its pages by.
fn own_settings(dir: &Path) -> anyhow::Result<Settings> {
    Ok(read_own(&dir.join("crawl.toml"), dir)?)
}

/// The Content-Type lines as sent; an empty one where there was none, which is as good as none.
fn content_types(record: &PageRecord, response: Option<&StoredResponse>) -> Vec<String> {
    let mut types: Vec<String> = match response {
        Some(found) => {
            let lines = found.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
            lines.map(|(_, value)| value.clone()).collect()
        }
        None => record.content_type.iter().cloned().collect(),
    };
    if types.is_empty() {
        types.push(String::new());
    }
    types
}

/// Makes a decision of what was recorded: each directive that took effect, said again as a tag.
fn from_record(visit: &StoredVisit, check: &Check, basis: Basis) -> Checked {
    let record = &visit.record;
    let counts = |because: &&DirectiveSource| {
        basis == Basis::Record
            || because.source.origin == SourceKind::Unread
            || because.source.origin == SourceKind::Meta && because.source.name.eq_ignore_ascii_case("robots")
    };
    let recorded: Vec<&DirectiveSource> = record.directives.iter().filter(counts).collect();
    let tag = |because: &&DirectiveSource| MetaTag {
        name: Some("robots".to_owned()),
        content: Some(because.directive.clone()),
        ..MetaTag::default()
    };
    let metas: Vec<MetaTag> = recorded.iter().map(tag).collect();
    let headers: &[(String, String)] = if basis == Basis::Record { &[] } else { &check.headers };
    let sources = Sources { headers, metas: &metas };
    let mut directives = meta::resolve(&sources, &check.agent, check.dialect, check.now);
    directives.because.retain(|because| because.source.origin == SourceKind::Header);
    directives.because.extend(recorded.into_iter().cloned());
    directives.because.sort();
    directives.warnings.clear();
    if basis == Basis::Record {
        about(record, &mut directives);
    }
    let statements = meta::consent::page_statements(headers, &directives, None, check.now);
    let queued = visit.links.iter().filter(|link| !link.outcome.is_skip()).map(|link| link.to.to_string());
    Checked { statements, links: queued.collect(), canonical: record.canonical.clone(), directives }
}

fn about(record: &PageRecord, directives: &mut Directives) {
    let has = |directive: &str| record.directives.iter().any(|because| because.directive == directive);
    directives.document_state = record.about.document_state;
    directives.revisit_after = record.revisit_after_s.map(Duration::from_secs);
    directives.tdm_reservation =
        has("tdm-reservation:1").then_some(1).or_else(|| has("tdm-reservation:0").then_some(0));
    directives.meta_url.clone_from(&record.about.meta_url);
    directives.description.clone_from(&record.description);
    directives.keywords = record.keywords.clone().unwrap_or_default();
    directives.refresh.clone_from(&record.about.refresh);
}

/// What the crawl did with text, body and links.
struct Done {
    text: &'static str,
    body: String,
    links: Vec<(&'static str, u64)>,
}

fn done(visit: &StoredVisit) -> Done {
    let record = &visit.record;
    let text = match (&record.withdrawn, record.indexed) {
        (_, true) => "stored",
        (Some(_), false) => "withdrawn",
        (None, false) => "not stored",
    };
    let body = match (&record.warc, &record.withdrawn) {
        (Some(place), _) => format!("archived in {} at byte {}", place.file, place.offset),
        (None, Some(withdrawn)) => format!("withdrawn: {}", withdrawn.because),
        (None, None) => "not archived".to_owned(),
    };
    Done { text, body, links: visit.outcomes() }
}

fn as_json(visit: &StoredVisit, check: &Check, checked: &Checked, basis: Basis) -> Value {
    let record = &visit.record;
    let Done { text, body, links } = done(visit);
    let said = |because: &DirectiveSource| json!({"directive": because.directive, "source": because.source.to_string()});
    let mut answer = Map::from_iter([
        ("v".to_owned(), json!(1)),
        ("id".to_owned(), Value::Null),
        ("url".to_owned(), json!(record.url)),
        ("agent".to_owned(), json!(check.agent.token())),
        ("judged".to_owned(), json!(basis.name())),
    ]);
    answer.extend(answer::as_json(checked));
    if record.is_withheld() {
        // Their number follows below; their targets are only in table links, and there only on request.
        answer.insert("links".to_owned(), json!([]));
    }
    let visit = json!({
        "fetched_at": record.fetched_at,
        "status": record.status,
        "directives": record.directives.iter().map(said).collect::<Vec<_>>(),
        "warnings": record.directive_warnings,
        "headers": record.headers,
        "indexed": record.indexed,
        "archived": record.warc.is_some(),
        "followed": record.followed,
        "text": text,
        "body": body,
        "links": links.into_iter().map(|(what, count)| (what.to_owned(), json!(count))).collect::<Map<_, _>>(),
    });
    answer.insert("visit".to_owned(), visit);
    Value::Object(answer)
}

fn write_text(
    visit: &StoredVisit,
    check: &Check,
    checked: &Checked,
    basis: Basis,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let record = &visit.record;
    let Done { text, body, links } = done(visit);
    let status = record.status.map_or_else(|| "no response".to_owned(), |status| format!("status {status}"));
    writeln!(out, "{}: visited {}, {status}", clean(&record.url), record.fetched_at)?;
    writeln!(out, "{}", basis.in_words())?;
    words::write_text(check, checked, out)?;
    let links: Vec<String> = links.iter().map(|(what, count)| format!("{count} {what}")).collect();
    let links = if links.is_empty() { "none found".to_owned() } else { links.join(", ") };
    writeln!(out, "what the crawl did")?;
    for (name, what) in [("text", text), ("body", body.as_str()), ("links", links.as_str())] {
        writeln!(out, "  {name:<18} {}", clean(what))?;
    }
    if basis != Basis::Archive {
        for warning in &record.directive_warnings {
            writeln!(out, "warning: {}", clean(warning))?;
        }
    }
    Ok(())
}
