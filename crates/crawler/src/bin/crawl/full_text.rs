//! `crawl search` and `crawl index`: full-text search, and its index.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use crawler::causes::with_causes;
#[cfg(feature = "cluster")]
use crawler::cluster::Address;
use crawler::config::read_own;
use crawler::crawl_dir::refuse_links;
use crawler::job::{CrawlDir, DirError};
use crawler::search::{self, Built, FacetCount, Found, Part, Request, Search, SearchError};
use crawler::store::{AnyStore, SledStore};
#[cfg(feature = "cluster")]
use crawler::warc::Directories;
use indicatif::ProgressBar;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use page::clean::clean;
use page::extract::ExtractLimits;

use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::reading::ReadingArgs;
use crate::show;
use crate::terminal::Console;

/// Options of `search`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
A page matches if it contains all words, in any inflected form. Quote \"a phrase\"; combine words
with OR, NOT (or -word) and parentheses; search in one field with title:, headings:, description:,
host:, lang:, url:, status: or depth:. See docs/search.md.

Exit codes: 0 also if nothing is found; 2 the query is invalid, or there is no index.

Examples:
  crawl search crawl-data robots exclusion
  crawl search crawl-data '\"full text\" AND (title:index OR -draft)' --lang en --limit 20
  crawl search crawl-data suche --since 2026-01-01 --facets
  crawl search crawl-data index --json | jq -r 'select(.kind == \"hit\") | .url'
  crawl search --cluster postgres://crawl@db.example.org/study --index study-index robots exclusion")]
pub(crate) struct SearchArgs {
    /// Directory of the crawl, or of an index that `crawl index --cluster` built
    dir: PathBuf,
    /// Search query; several words need no quotes
    #[cfg_attr(feature = "cluster", arg(required_unless_present = "cluster", num_args = 0..))]
    #[cfg_attr(not(feature = "cluster"), arg(required = true, num_args = 1..))]
    query: Vec<String>,
    /// Instead of a directory: the crawl on many machines in this PostgreSQL database, with --index
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DATABASE", value_parser = crate::database::address, requires = "index")]
    cluster: Option<Address>,
    /// With --cluster: directory of the index that `crawl index --cluster` built
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DIR", requires = "cluster")]
    index: Option<PathBuf>,
    /// Only pages of this host; repeatable
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
    /// Only pages in this language, as in en or zh; repeatable
    #[arg(long, value_name = "LANGUAGE")]
    lang: Vec<String>,
    /// Only pages fetched at this time or later: a date (UTC) or an RFC 3339 time
    #[arg(long, value_name = "TIME", value_parser = search::parse_since)]
    since: Option<Timestamp>,
    /// Only pages fetched before this time, or up to the end of this date
    #[arg(long, value_name = "TIME", value_parser = search::parse_until)]
    until: Option<Timestamp>,
    /// Maximum number of hits [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: Option<u32>,
    /// Also count the hits per host and per language
    #[arg(long)]
    facets: bool,
}

/// Options of `index`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Reads the page records and the archive, and sends no requests. If the index lacks pages, these are
added; otherwise it is built again, and the existing one is used until the new one is complete.
Pages whose bodies aren't archived (noarchive, --no-warc) can then be found only by title,
description and URL.

With --cluster the index is in a directory of its own. The next time it is brought up to date: what
was stored, changed or withdrawn since then is taken in.

Examples:
  crawl index crawl-data
  crawl index --cluster postgres://crawl@db.example.org/study --warc worker-1/warc -o study-index")]
pub(crate) struct IndexArgs {
    /// Directory of the crawl
    #[cfg_attr(feature = "cluster", arg(required_unless_present = "cluster"))]
    #[cfg_attr(not(feature = "cluster"), arg(required = true))]
    dir: Option<PathBuf>,
    /// Instead of a directory: the crawl on many machines in this PostgreSQL database
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DATABASE", value_parser = crate::database::address, conflicts_with = "dir", requires = "output")]
    cluster: Option<Address>,
    /// With --cluster: `warc` directory of a worker; repeatable. Name those of all workers
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DIR", requires = "cluster")]
    warc: Vec<PathBuf>,
    /// With --cluster: directory of the index
    #[cfg(feature = "cluster")]
    #[arg(short, long, value_name = "DIR", requires = "cluster")]
    output: Option<PathBuf>,
}

/// Hits without `--limit`.
const LIMIT: u32 = 10;

/// Finds pages.
pub(crate) fn search(args: &SearchArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let now = page::clock::wall();
    let (dir, query) = args.asked(console)?;
    search::check_query(&query).map_err(|error| with_exit_code(&error.into()))?;
    refuse_links(dir).map_err(|error| Stop::new(exit::STORAGE, with_causes(&error)))?;
    let is_crawl = dir.join("crawl.toml").is_file() || dir.join("db").is_dir();
    // A directory without an index may be no crawl's at all.
    if !is_crawl && !search::is_index(dir) {
        return Err(exit::no_crawl(dir));
    }
    let mut lacking = 0;
    if search::is_behind(dir) {
        if is_crawl {
            lacking = catch_up(dir, now, console);
        } else {
            console.note("the index is being written, or that was interrupted: it may lack the latest pages");
        }
    }
    let index = Search::open(dir).map_err(|error| with_exit_code(&error))?;
    let request = Request {
        query,
        hosts: args.host.clone(),
        langs: args.lang.clone(),
        since: args.since,
        until: args.until,
        limit: args.limit.unwrap_or(LIMIT) as usize,
        facets: args.facets,
    };
    let found = index.find(&request, now).map_err(|error| with_exit_code(&error))?;
    let found = Found { lacking, ..found };
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if console.json {
        found.write_json(&mut out)
    } else {
        let is_terminal = io::stdout().is_terminal();
        let color = console.color.allows(is_terminal, std::env::var_os("NO_COLOR").as_ref());
        let width =
            is_terminal.then(|| terminal_size::terminal_size().map_or(100, |(width, _)| width.0.into()));
        write_text(&found, color, width, &mut out)
    };
    let code = show::finish(written.and_then(|()| out.flush()).map_err(Into::into))?;
    // What is still in the buffer has been written, or nobody wants it.
    let (_, _) = out.into_parts();
    Ok(code)
}

impl SearchArgs {
    /// Where the index is, and the query. With `--cluster` there is no DIR: its place has the first word.
    #[cfg_attr(
        not(feature = "cluster"),
        expect(unused_variables, clippy::unnecessary_wraps, reason = "there are directories alone")
    )]
    fn asked(&self, console: Console) -> anyhow::Result<(&Path, String)> {
        let words = self.query.join(" ");
        #[cfg(feature = "cluster")]
        if let (Some(database), Some(index)) = (&self.cluster, &self.index) {
            let lag = search::lag(index, &crate::database::views(database)?);
            let lag = lag.map_err(|error| with_exit_code(&error))?;
            if lag > 0 {
                console.note(&format!(
                    "the crawl went on since the index was written: {} aren't in it; `crawl index --cluster` takes them in",
                    page::quantity::count(lag, "decision")
                ));
            }
            return Ok((index, format!("{} {words}", self.dir.display()).trim().to_owned()));
        }
        Ok((&self.dir, words))
    }
}

/// Pages up to which a search takes in what the index lacks: a second's work.
const TAKEN_UP: u64 = 1_000;

/// Updates the index of a crawl that was killed. If that isn't possible, or would take long, the index is searched as it is. Returns how
/// many pages it lacks, as far as that is known.
fn catch_up(dir: &Path, now: Timestamp, console: Console) -> u64 {
    let take_up = |held: &CrawlDir| -> anyhow::Result<u64> {
        let store = SledStore::open(&held.db())?;
        let lacking = search::lacking(dir, &store)?;
        if lacking > TAKEN_UP {
            console.note("the next run or `crawl index DIR` takes in the pages that the index lacks");
            return Ok(lacking);
        }
        let built = search::take_up(dir, &store, &limits(dir)?, now, &mut |_| {})?;
        report(built, "pages added to the index", console);
        Ok(0)
    };
    let lacking = match CrawlDir::open(dir) {
        Err(DirError::InUse(_)) => ReadingArgs::default()
            .open(dir)
            .and_then(|view| Ok(search::lacking(dir, view.store())?))
            .map_err(|_| anyhow::Error::from(DirError::InUse(dir.to_owned()))),
        Err(error) => Err(error.into()),
        Ok(held) => take_up(&held),
    };
    lacking.unwrap_or_else(|error| {
        console.warning(&format!("{error:#}; the index may lack the latest pages"));
        0
    })
}

/// How much of a page's text is read, by the settings of its crawl.
pub(crate) fn limits(dir: &Path) -> anyhow::Result<ExtractLimits> {
    let settings = read_own(&dir.join("crawl.toml"), dir)?;
    Ok(settings.page.extract_limits(settings.limits.max_links_per_page))
}

/// Reports what an index was built from.
fn report(built: Built, what: &str, console: Console) {
    console.note(&format!("{what}: {}", built.pages));
    if built.unarchived > 0 {
        console.warning(&format!(
            "pages whose bodies aren't archived, found only by title, description and URL: {}",
            built.unarchived
        ));
    }
    if built.unread > 0 {
        console.warning(&format!(
            "documents whose text can't be read, found only by title, description and URL: {}",
            built.unread
        ));
    }
    if built.slow > 0 {
        console.warning(&format!(
            "of these, PDF files over the limit of time or memory, or skipped because several of their site were: {}",
            built.slow
        ));
    }
    if built.crashed > 0 {
        console
            .warning(&format!("of these, pages whose body ended a process that read it: {}", built.crashed));
    }
    if built.out_of_reach > 0 {
        console.warning(&format!(
            "pages whose bodies are in none of the directories given with --warc, found only by title, description and URL: {}; the next run takes them in where it has them",
            built.out_of_reach
        ));
    }
}

/// Takes into the index what it lacks; rebuilds one that lacks nothing.
pub(crate) fn index(args: &IndexArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let bar = if console.json || console.quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
    let mut progress = |pages: u64| {
        bar.set_message(format!("{pages} pages"));
        bar.tick();
    };
    #[cfg(feature = "cluster")]
    if let (Some(database), Some(out)) = (&args.cluster, &args.output) {
        let built = index_cluster(database, &args.warc, out, &mut progress);
        bar.finish_and_clear();
        let built = built?;
        if console.json {
            return print_built(built, Some(built.out_of_reach));
        }
        report(built, &format!("pages taken into {}", path_text(&out.join("index"))), console);
        return Ok(exit::COMPLETE);
    }
    let dir = args.dir.as_deref().unwrap_or_else(|| Path::new(""));
    if let Err(error) = CrawlDir::open(dir)
        && error.is_write_refused()
    {
        return Err(Stop::new(exit::STORAGE, with_causes(&error)).into());
    }
    let view = ReadingArgs::default().open(dir)?;
    if view.holder().is_some() {
        // It writes beside the database, which is for one process.
        return Err(Stop::new(exit::STORAGE, DirError::InUse(dir.to_owned()).to_string()).into());
    }
    // What becomes of PDF files is written to the database, which the view only reads.
    drop(view);
    let held = CrawlDir::open(dir).map_err(|error| Stop::new(exit::STORAGE, with_causes(&error)))?;
    let store = SledStore::open(&held.db()).map_err(|error| with_exit_code(&error.into()))?;
    let store: AnyStore = Arc::new(store);
    let (limits, now) = (limits(dir)?, page::clock::wall());
    let lacking = search::lacking(dir, &store).map_err(|error| with_exit_code(&error))?;
    let (built, what) = if lacking > 0 && search::is_index(dir) {
        (search::take_up_with_pdf(dir, &store, &limits, now, &mut progress), "pages taken into")
    } else {
        (search::rebuild(dir, &store, limits, now, &mut progress), "pages in")
    };
    bar.finish_and_clear();
    let built = built.map_err(|error| with_exit_code(&error))?;
    if console.json {
        return print_built(built, None);
    }
    report(built, &format!("{what} {}", path_text(&dir.join("index"))), console);
    Ok(exit::COMPLETE)
}

/// `out_of_reach` is for crawls on many machines.
fn print_built(built: Built, out_of_reach: Option<u64>) -> anyhow::Result<i32> {
    let Built { pages, unarchived, unread, slow, crashed, .. } = built;
    let mut line = serde_json::json!({
        "v": 1, "pages": pages, "unarchived": unarchived, "unread": unread, "slow": slow, "crashed": crashed,
    });
    if let Some(pages) = out_of_reach {
        line["out_of_reach"] = pages.into();
    }
    exit::print(format!("{line}\n").as_bytes())
}

/// Brings the index of a crawl on many machines up to date.
#[cfg(feature = "cluster")]
fn index_cluster(
    database: &Address,
    archive: &[PathBuf],
    out: &Path,
    progress: &mut dyn FnMut(u64),
) -> anyhow::Result<Built> {
    let usage = |what: String| anyhow::Error::from(Stop::new(exit::USAGE, what));
    if let Some(dir) = archive.iter().find(|dir| !dir.is_dir()) {
        let dir = path_text(dir);
        return Err(usage(format!("{dir} isn't a directory: --warc names the `warc` directory of a worker")));
    }
    if out.join("crawl.toml").is_file() || out.join("db").is_dir() {
        let out = path_text(out);
        return Err(usage(format!("{out} holds a crawl, with an index of its own; name another directory")));
    }
    let settings = crate::database::settings(database)?;
    let (settings, _) = crawler::config::read_record_text(&settings)
        .map_err(|error| Stop::new(exit::CONFIG, with_causes(&error)))?;
    let limits = settings.page.extract_limits(settings.limits.max_links_per_page);
    let parts = crate::database::views(database)?;
    let archive = Directories::new(archive.to_vec());
    search::index_parts(out, &parts, archive, limits, page::clock::wall(), progress)
        .map_err(|error| with_exit_code(&error))
}

/// An error with its exit code: usage if another command line helps, otherwise storage.
fn with_exit_code(error: &SearchError) -> anyhow::Error {
    let code = match error {
        SearchError::Query(_)
        | SearchError::None(_)
        | SearchError::OtherForm(_)
        | SearchError::OtherCrawl(_)
        | SearchError::NoLedger => exit::USAGE,
        _ => exit::STORAGE,
    };
    Stop::new(code, error.message()).into()
}

/// Writes the hits for people: wrapped to the width of a terminal, otherwise one line per part.
fn write_text(found: &Found, color: bool, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    let paint = |on: &'static str| if color { (on, "\x1b[0m") } else { ("", "") };
    let (bold, dim, marked) = (paint("\x1b[1m"), paint("\x1b[2m"), paint("\x1b[1;33m"));
    for hit in &found.hits {
        let title = clean(if hit.title.is_empty() { &hit.url } else { &hit.title });
        writeln!(out, "{}{}{}", bold.0, title.trim(), bold.1)?;
        writeln!(out, "  {}{}  {}  {}{}", dim.0, clean(&hit.url), hit.lang, day(hit.fetched_at), dim.1)?;
        if !hit.snippet.is_empty() {
            let indent = "  ";
            write!(out, "{indent}")?;
            let mut column = indent.len();
            for Part { text, found } in hit.parts() {
                let (on, off) = if found { marked } else { ("", "") };
                write!(out, "{on}")?;
                for word in text.split_inclusive(' ') {
                    let length = word.chars().count();
                    if width.is_some_and(|width| column + length > width && column > indent.len()) {
                        write!(out, "\n{indent}")?;
                        column = indent.len();
                    }
                    write!(out, "{}", clean(word))?;
                    column += length;
                }
                write!(out, "{off}")?;
            }
            writeln!(out)?;
        }
        writeln!(out)?;
    }
    if let Some(facets) = &found.facets {
        for (name, counts) in [("hosts", &facets.hosts), ("languages", &facets.langs)] {
            writeln!(out, "{}{name}{}", bold.0, bold.1)?;
            for FacetCount { value, count } in counts {
                writeln!(out, "{count:>8}  {}", clean(value))?;
            }
            writeln!(out)?;
        }
    }
    let shown = found.hits.len() as u64;
    match found.total {
        0 => writeln!(out, "nothing found"),
        1 => writeln!(out, "1 page found"),
        total if shown < total => {
            writeln!(out, "{total} pages found, showing the best {shown}: use --limit for more")
        }
        total => writeln!(out, "{total} pages found"),
    }?;
    match found.searchable_yet(|number| number.to_string()) {
        Some(searchable) => writeln!(out, "{searchable}"),
        None => Ok(()),
    }
}

/// The day of a time.
fn day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).date().to_string()
}

#[cfg(test)]
mod tests {
    use crawler::search::Hit;

    use super::*;

    fn found() -> Found {
        let hit = Hit {
            url: "http://a.test/1".to_owned(),
            title: "Title \u{1b}[31mred".to_owned(),
            lang: "en".to_owned(),
            snippet: "a needle in a haystack".to_owned(),
            found: std::iter::once(2..8).collect(),
            ..Hit::default()
        };
        Found { total: 12, hits: vec![hit], ..Found::default() }
    }

    fn text(color: bool, width: Option<usize>) -> String {
        let mut out = Vec::new();
        write_text(&found(), color, width, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_found_is_marked_where_colour_is_wanted_alone() {
        assert!(text(true, None).contains("a \x1b[1;33mneedle\x1b[0m in"));
        let plain = text(false, None);
        assert!(!plain.contains('\x1b'), "{plain:?}");
        assert!(plain.contains("a needle in a haystack\n"), "{plain}");
        assert!(plain.ends_with("12 pages found, showing the best 1: use --limit for more\n"), "{plain}");
        assert!(text(false, Some(12)).contains("  a needle \n  in a \n  haystack\n"));
    }
}
