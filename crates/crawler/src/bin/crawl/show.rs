//! `crawl show`: a crawl's summary, one of its tables, a page, or a stored robots.txt.

mod pager;

use std::io::{self, IsTerminal};
use std::path::Path;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
#[cfg(feature = "cluster")]
use crawler::cluster::Address;
use crawler::live::Holder;
use crawler::tables::filter::Filter;
use crawler::tables::sort::{parse_sort, sort_rows};
use crawler::view::{
    Column, Summary, Table, TableFormat, UnknownColumn, View, ViewError, Written, stable_rows_of, write_rows,
};
use page::clean::clean;
use page::url::CrawlUrl;

pub(crate) use self::pager::Pager;
pub(crate) use crate::exit::view_error;
use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::reading::ReadingArgs;
use crate::table_name::value;
use crate::terminal::Console;

/// Options of `show`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  crawl show crawl-data
  crawl show crawl-data hosts
  crawl show crawl-data pages --where 'status >= 400 and depth < 3' --sort bytes:desc --columns url,status,bytes
  crawl show crawl-data page https://example.org/
  crawl show crawl-data robots example.org
  crawl show crawl-data skipped --json | jq -r .reason | sort | uniq -c
  crawl show --cluster postgres://crawl@db.example.org/study hosts --sort pages:desc

Conditions of --where:
  COLUMN = != < <= > >= VALUE; ~ and !~ with a regular expression; contains; in (VALUE, ...); is null;
  and, or, not, ( ); quote strings and times: 'fetched_at >= \"2026-03-01\" and not url ~ \"[.]pdf$\"'.
  `crawl schema` lists the columns.")]
pub(crate) struct ShowArgs {
    /// Directory of the crawl
    #[cfg_attr(feature = "cluster", arg(required_unless_present = "cluster"))]
    #[cfg_attr(not(feature = "cluster"), arg(required = true))]
    dir: Option<String>,
    /// Table to show; without it the summary; `page` needs a URL
    #[arg(value_name = "TABLE", hide_possible_values = false, value_parser = ShownName)]
    table: Option<String>,
    /// With `page`: its URL; with `robots`: a host or origin whose stored file to show, with the lines that apply marked
    #[arg(value_name = "URL|HOST")]
    about: Option<String>,
    /// Show only rows that match this condition
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Sort by these columns, descending with :desc [default: as stored]
    #[arg(long, value_name = "COLUMN[:desc],...")]
    sort: Option<String>,
    /// Columns to show, in this order [default: all; on a terminal, those that fit]
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    columns: Vec<String>,
    /// Maximum number of rows [default: all]
    #[arg(long, value_name = "N", value_parser = row_count)]
    limit: Option<usize>,
    /// With `links`: include the links of pages under noindex, for an audit; column `from_noindex` marks them
    #[arg(long)]
    include_noindex: bool,
    /// Instead of a directory: the crawl on many machines in this PostgreSQL database
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DATABASE", value_parser = crate::database::address)]
    cluster: Option<Address>,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Where the crawl is, what of it is shown, and what it is about.
struct Asked<'a> {
    dir: Option<&'a Path>,
    shown: Option<Shown>,
    about: Option<&'a str>,
}

impl ShowArgs {
    /// With `--cluster` there is no DIR, and each argument is in the place before its own.
    fn asked(&self) -> anyhow::Result<Asked<'_>> {
        let places = [&self.dir, &self.table, &self.about].map(|text| text.as_deref());
        #[cfg(feature = "cluster")]
        if self.cluster.is_some() {
            let [table, about, more] = places;
            if let Some(more) = more {
                let what = format!("{}: with --cluster there is no DIR", clean(more));
                return Err(Stop::new(exit::USAGE, what).into());
            }
            return Ok(Asked { dir: None, shown: table.map(Shown::named).transpose()?, about });
        }
        let [dir, table, about] = places;
        Ok(Asked { dir: dir.map(Path::new), shown: table.map(Shown::named).transpose()?, about })
    }

    /// The crawl as messages name it.
    fn place(&self) -> String {
        #[cfg(feature = "cluster")]
        if let Some(database) = &self.cluster {
            return format!("--cluster {database}");
        }
        self.dir.clone().unwrap_or_default()
    }
}

/// Reads the name of what is shown. With `--cluster` the argument of that name may be a URL or host: so it is judged later.
#[derive(Clone)]
struct ShownName;

impl TypedValueParser for ShownName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        clap::builder::StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values: Vec<_> = Shown::parser().possible_values().into_iter().flatten().collect();
        Some(Box::new(values.into_iter()))
    }
}

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// A table.
    Table(Table),
    /// One page, by its URL.
    Page,
}

impl Shown {
    const PAGE: &str = "page";

    /// Reads the name of a table, or `page`.
    fn parser() -> impl TypedValueParser<Value = Self> {
        let shown = |table| match table {
            Table::Robots => value(table).help(format!("{}; with a host, its stored file", table.holds())),
            _ => value(table),
        };
        let page = PossibleValue::new(Self::PAGE).help("One page, by its URL");
        PossibleValuesParser::new(Table::ALL.map(shown).into_iter().chain([page])).try_map(|name| {
            let table = Table::named(&name).map(Self::Table);
            table.or_else(|| (name == Self::PAGE).then_some(Self::Page)).ok_or("no table")
        })
    }

    /// What has this name; a usage error as that of any other wrong value.
    fn named(name: &str) -> anyhow::Result<Self> {
        let command = ShowArgs::augment_args(clap::Command::new("crawl show"));
        let arg = command.get_arguments().find(|arg| arg.get_id() == "table");
        Ok(Self::parser().parse_ref(&command, arg, name.as_ref())?)
    }

    fn table(self) -> Table {
        match self {
            Self::Table(table) => table,
            Self::Page => Table::Pages,
        }
    }
}

/// Shows a crawl.
pub(crate) fn run(args: &ShowArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let asked = match args.asked() {
        Ok(asked) => asked,
        // Reported as that of any argument.
        Err(error) => return error.downcast().map(exit::print_argument_error),
    };
    check_noindex(args.include_noindex, asked.shown.map(Shown::table))?;
    check(args, &asked)?;
    #[cfg(feature = "cluster")]
    if let Some(database) = &args.cluster {
        return show_cluster(database, args, &asked, console);
    }
    let view = args.reading.open(asked.dir.unwrap_or(Path::new("")))?;
    let is_running = view.holder() == Some(Holder::Crawl);
    match (asked.shown, asked.about) {
        (Some(Shown::Page), Some(url)) => show_page(&view, &parsed(url)?, args, console),
        (Some(Shown::Table(Table::Robots)), Some(origin)) => {
            show_robots(&view, origin, &path_text(asked.dir.unwrap_or(Path::new(""))), console)
        }
        (Some(shown), _) => {
            let views = [(String::new(), view.with_noindex(args.include_noindex))];
            show_table(&views, shown.table(), args, console)
        }
        (None, _) => {
            let summary = view.summary().map_err(|error| view_error(&error))?;
            show_summary(&summary, &path_text(asked.dir.unwrap_or(Path::new(""))), is_running, console)
        }
    }
}

#[cfg(feature = "cluster")]
fn show_cluster(
    database: &Address,
    args: &ShowArgs,
    asked: &Asked<'_>,
    console: Console,
) -> anyhow::Result<i32> {
    match (asked.shown, asked.about) {
        (Some(Shown::Page), Some(url)) => {
            let url = parsed(url)?;
            show_page(&crate::database::view_of(database, url.host())?, &url, args, console)
        }
        (Some(Shown::Table(Table::Robots)), Some(origin)) => {
            let url = if origin.contains("://") { origin.to_owned() } else { format!("https://{origin}/") };
            let view = crate::database::view_of(database, parsed(&url)?.host())?;
            show_robots(&view, origin, "--cluster DATABASE", console)
        }
        (Some(shown), _) => {
            let views = crate::database::views(database)?.into_iter();
            let views: Vec<_> =
                views.map(|(part, view)| (part, view.with_noindex(args.include_noindex))).collect();
            show_table(&views, shown.table(), args, console)
        }
        (None, _) => {
            let (is_running, runs) = crate::database::course(database)?;
            let views = crate::database::snapshot_views(database)?;
            let summary =
                crawler::view::summary_of(&views, is_running, runs).map_err(|error| view_error(&error))?;
            show_summary(&summary, &database.to_string(), is_running, console)
        }
    }
}

fn show_summary(summary: &Summary, place: &str, is_running: bool, console: Console) -> anyhow::Result<i32> {
    let mut out = Pager::start(io::stdout().is_terminal() && !console.json);
    let written = if console.json {
        summary.write_json(&mut out)
    } else {
        summary.write_text(place, is_running, &mut out)
    };
    finish(written.and_then(|()| out.finish()).map_err(ViewError::from))
}

fn parsed(url: &str) -> anyhow::Result<CrawlUrl> {
    CrawlUrl::parse(url)
        .map_err(|error| Stop::new(exit::USAGE, format!("{} can't be crawled: {error}", clean(url))).into())
}

/// Refuses options and arguments that can't be combined.
fn check(args: &ShowArgs, asked: &Asked<'_>) -> anyhow::Result<()> {
    let usage = |what: &str| Err(Stop::new(exit::USAGE, what).into());
    let is_table = asked.shown.is_some_and(|shown| shown != Shown::Page) && asked.about.is_none();
    let has_options = args.condition.is_some() || args.sort.is_some() || args.limit.is_some();
    match (asked.shown, asked.about) {
        (Some(Shown::Page), None) => usage("`crawl show DIR page` needs a URL"),
        (Some(Shown::Page | Shown::Table(Table::Robots)), Some(_)) | (_, None) => {
            if has_options && !is_table {
                return usage("--where, --sort and --limit require a table");
            }
            if !args.columns.is_empty() && !is_table && asked.shown != Some(Shown::Page) {
                return usage("--columns requires a table");
            }
            Ok(())
        }
        (_, Some(about)) => {
            let what = format!("{}: a URL or host requires `page` or `robots`", clean(about));
            usage(&what)
        }
    }
}

/// Shows a table: of one crawl as stored, of the partitions of a cluster in the order of exports.
fn show_table(
    views: &[(String, View)],
    table: Table,
    args: &ShowArgs,
    console: Console,
) -> anyhow::Result<i32> {
    let is_terminal = io::stdout().is_terminal();
    let rows = match views {
        [(_, view)] => view.rows(table),
        views => stable_rows_of(views, table),
    };
    let mut rows = rows.map_err(|error| view_error(&error))?;
    let usage = |what: String| anyhow::Error::from(Stop::new(exit::USAGE, what));
    for name in args.columns.iter().filter(|_| !takes_all(&args.columns)) {
        place(rows.columns(), table, name)?;
    }
    let keys = args.sort.as_deref().map(|text| parse_sort(text, &rows)).transpose();
    let keys = keys.map_err(|error| usage(error.to_string()))?;
    if let Some(text) = &args.condition {
        let filter =
            Filter::parse(text, &rows).map_err(|error| usage(clean(&error.to_string()).into_owned()))?;
        rows = rows.keep(move |row| filter.passes(row));
    }
    if let Some(keys) = keys {
        let dir = views.first().and_then(|(_, view)| view.temporary());
        rows = sort_rows(rows, &keys, dir).map_err(|error| view_error(&error))?;
    }
    if let Some(limit) = args.limit {
        rows = rows.first(limit);
    }
    if !args.columns.is_empty() && !takes_all(&args.columns) {
        rows = rows.select(&args.columns).map_err(|error| usage(error.to_string()))?;
    }
    let form = match terminal_width() {
        _ if console.json => TableFormat::Jsonl,
        Some(width) if is_terminal => TableFormat::Aligned(width),
        _ => TableFormat::Tabs,
    };
    if matches!(form, TableFormat::Aligned(_)) && args.columns.is_empty() {
        let first = table.first_columns();
        let mut names: Vec<String> = rows.columns().iter().map(|column| column.name.to_string()).collect();
        names.sort_by_key(|name| first.iter().position(|first| first == name).unwrap_or(first.len()));
        rows = rows.select(&names).map_err(|error| usage(error.to_string()))?;
    }
    let mut out = Pager::start(is_terminal && !console.json);
    let written = write_rows(rows, form, &mut out);
    let written = written.and_then(|written| Ok(out.finish().map(|()| written)?));
    for (_, view) in views.iter().filter(|_| table == Table::Ledger && written.is_ok()) {
        let verdict = view.verify_ledger().map_err(|error| view_error(&error))?;
        if verdict.intact {
            console.note(&verdict.to_string());
        } else {
            console.warning(&verdict.to_string());
        }
    }
    finish(written.map(|written| {
        report_omitted(written, console);
        if written.narrowed > 0 {
            let what = "columns that don't fit";
            console.note(&format!(
                "{what}: {}; choose others with --columns, `crawl schema` lists all",
                written.narrowed
            ));
        }
    }))
}

fn takes_all(columns: &[String]) -> bool {
    columns == ["all"]
}

/// Shows one row of table pages, a column a line.
fn show_page(view: &View, url: &CrawlUrl, args: &ShowArgs, console: Console) -> anyhow::Result<i32> {
    let Some(mut rows) = view.page(url).map_err(|error| view_error(&error))? else {
        let place = args.place();
        let what = format!(
            "{} has no row in table pages: no response was received; `crawl explain {place} URL` says why",
            clean(url.as_str())
        );
        return Err(Stop::new(exit::USAGE, what).into());
    };
    if !args.columns.is_empty() && !takes_all(&args.columns) {
        let unknown = |error: UnknownColumn| Stop::new(exit::USAGE, error.to_string());
        rows = rows.select(&args.columns).map_err(unknown)?;
    }
    let mut out = Pager::start(io::stdout().is_terminal() && !console.json);
    let form = if console.json { TableFormat::Jsonl } else { TableFormat::Lines };
    let written = write_rows(rows, form, &mut out);
    finish(written.and_then(|_| Ok(out.finish()?)))
}

/// A value of `--limit`.
fn row_count(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| format!("{text:?} isn't a number of rows, such as 20; without --limit all are shown"))
}

/// Shows the stored robots.txt of a host's origins. `place`: how the command names the crawl.
fn show_robots(view: &View, origin: &str, place: &str, console: Console) -> anyhow::Result<i32> {
    let origins = view.robots_origins(origin).map_err(|error| view_error(&error))?;
    if origins.is_empty() {
        let origin = clean(origin);
        let what = format!("no robots.txt of {origin} is stored; `crawl show {place} robots` lists all");
        return Err(Stop::new(exit::USAGE, what).into());
    }
    let mut out = Pager::start(io::stdout().is_terminal() && !console.json);
    for origin in origins {
        if let Some(stored) = view.stored_robots(&origin).map_err(|error| view_error(&error))? {
            let written =
                if console.json { stored.write_json(&mut out) } else { stored.write_text(&mut out) };
            if written.is_err() {
                return finish(written.map_err(ViewError::from));
            }
        }
    }
    finish(out.finish().map_err(ViewError::from))
}

/// The width of the terminal on standard output; 80 if unknown. `COLUMNS` is ignored.
fn terminal_width() -> Option<usize> {
    io::stdout()
        .is_terminal()
        .then(|| terminal_size::terminal_size().map_or(80, |(width, _)| width.0.max(20).into()))
}

/// The index of a column, or a usage error that lists the columns.
pub(crate) fn place(columns: &[Column], table: Table, name: &str) -> anyhow::Result<usize> {
    let place = columns.iter().position(|column| column.name == name);
    let unknown =
        || Stop::new(exit::USAGE, format!("--columns: {}", UnknownColumn::new(table, columns, &clean(name))));
    place.ok_or_else(|| unknown().into())
}

/// Only table `links` has the links of pages under noindex.
pub(crate) fn check_noindex(include_noindex: bool, table: Option<Table>) -> anyhow::Result<()> {
    if include_noindex && table != Some(Table::Links) {
        return Err(Stop::new(exit::USAGE, "--include-noindex requires table links").into());
    }
    Ok(())
}

/// Reports how many rows were omitted.
pub(crate) fn report_omitted(written: Written, console: Console) {
    if written.omitted > 0 {
        console.note(&format!(
            "omitted links of pages under noindex: {}; --include-noindex includes them",
            written.omitted
        ));
    }
}

/// Returns the exit code; a closed pipe is no error.
pub(crate) fn finish(result: Result<(), ViewError>) -> anyhow::Result<i32> {
    match result {
        Ok(()) => Ok(exit::COMPLETE),
        Err(ViewError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit::COMPLETE),
        Err(error) => Err(view_error(&error)),
    }
}
