//! `crawl export`: tables of one or several crawls as files for other programs.

mod output;
mod package;

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use crawler::causes::with_causes;
use crawler::cdxj::{self, CdxjError};
#[cfg(feature = "cluster")]
use crawler::cluster::Address;
use crawler::crawl_dir::refuse_links;
use crawler::view::{Rows, Table, View, ViewError, Written, columns_of, stable_rows_of};
use meta::consent::Purpose;

use self::output::Output;
use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::reading::ReadingArgs;
use crate::terminal::Console;
use crate::{show, table_name};

/// Options of `export`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  crawl export crawl-data --table pages --format csv -o pages.csv
  crawl export crawl-data --table links --format jsonl | gzip > links.jsonl.gz
  crawl export crawl-data --format parquet -o tables/
  crawl export crawl-data --format sqlite -o crawl.sqlite
  crawl export spring autumn --format sqlite -o both.sqlite
  crawl export crawl-data --table hosts --format graphml -o hosts.graphml
  crawl export crawl-data --format cdxj -o index.cdxj
  crawl export spring autumn --format wacz -o both.wacz --sign key.pem
  crawl export --cluster postgres://crawl@db.example.org/study --warc worker-1/warc --format wacz -o study.wacz")]
pub(crate) struct ExportArgs {
    /// Directory of a crawl; with several, column `crawl` has the directory of each row
    #[cfg_attr(feature = "cluster", arg(required_unless_present = "cluster", value_name = "DIR"))]
    #[cfg_attr(not(feature = "cluster"), arg(required = true, value_name = "DIR"))]
    dirs: Vec<PathBuf>,
    /// Instead of directories: the crawl on many machines in this PostgreSQL database; column `crawl` has the partition of each row
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DATABASE", value_parser = crate::database::address, conflicts_with = "dirs")]
    cluster: Option<Address>,
    /// With --cluster and --format cdxj or wacz: the archive of a worker; name all workers'
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DIR", requires = "cluster")]
    warc: Vec<PathBuf>,
    /// Table to export; graphml and edges: `pages` or `hosts` [default: all, to the directory or database of -o]
    #[arg(long, value_name = "TABLE", value_parser = table_name::parser())]
    table: Option<Table>,
    /// Output format
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// Columns to export, in this order, or `all` [default: all; csv: without those that are mostly empty]
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    columns: Vec<String>,
    /// Don't escape CSV cells that a spreadsheet would run as formulas
    #[arg(long)]
    raw: bool,
    /// Export only pages that may be used for this purpose; the crawl must have declared it
    #[arg(long, value_name = "PURPOSE")]
    purpose: Option<Purpose>,
    /// With --table links: include the links of pages under noindex, for an audit; column `from_noindex` marks them
    #[arg(long)]
    include_noindex: bool,
    /// Omit the main texts from the full-text search of a SQLite database, or the excerpts from the page list of a WACZ file; reading
    /// them takes about a millisecond per page
    #[arg(long)]
    no_text: bool,
    /// Sign a WACZ file with this ed25519 key (PEM, PKCS#8, not encrypted)
    #[arg(long, value_name = "KEYFILE")]
    sign: Option<PathBuf>,
    /// Output file, or directory for several tables; sqlite: the database [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Format of an exported table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated, with a header line; formulas are escaped
    Csv,
    /// One JSON object per line
    Jsonl,
    /// Typed, compressed columns
    Parquet,
    /// One database with indexes, full-text search and views
    Sqlite,
    /// The graph of pages or hosts, for Gephi and networkx
    Graphml,
    /// The edges of that graph as CSV: source, target, weight
    Edges,
    /// Index of the archive for replay (pywb), instead of a table
    Cdxj,
    /// The archives of all crawls as one file for sharing and replay (WACZ 1.1.1), instead of a table
    Wacz,
}

impl Format {
    /// It is of the archive, and no table.
    fn is_archive(self) -> bool {
        matches!(self, Self::Cdxj | Self::Wacz)
    }

    fn is_graph(self) -> bool {
        matches!(self, Self::Graphml | Self::Edges)
    }

    /// What its files end in.
    fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
            Self::Sqlite => "sqlite",
            Self::Graphml => "graphml",
            Self::Edges => "edges.csv",
            Self::Cdxj => "cdxj",
            Self::Wacz => "wacz",
        }
    }

    /// Refuses a format that this program was built without.
    fn check(self) -> anyhow::Result<()> {
        let feature = match self {
            Self::Parquet if cfg!(not(feature = "parquet")) => "parquet",
            Self::Sqlite if cfg!(not(feature = "sqlite")) => "sqlite",
            _ => return Ok(()),
        };
        let what = format!("this binary was built without {feature}: build it with `--features {feature}`");
        Err(Stop::new(exit::USAGE, what).into())
    }
}

/// What is exported: the crawls by the names of their directories, and how.
struct Job<'a> {
    args: &'a ExportArgs,
    crawls: Vec<(String, View)>,
}

/// Exports tables.
pub(crate) fn run(args: &ExportArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    check(args)?;
    #[cfg(feature = "cluster")]
    if args.format == Format::Cdxj && args.cluster.is_some() {
        return package::index_of_cluster(args);
    }
    if args.format == Format::Cdxj {
        return index_archives(args);
    }
    if args.format == Format::Wacz {
        return package::run(args, console);
    }
    let output = Output::new(args)?;
    #[cfg(feature = "cluster")]
    if let Some(database) = &args.cluster {
        let views = crate::database::views(database)?.into_iter();
        let set_up = |view: View| view.serving(args.purpose).with_noindex(args.include_noindex);
        let crawls = views.map(|(part, view)| (part, set_up(view))).collect();
        return export(&Job { args, crawls }, &output, console);
    }
    let mut crawls = Vec::with_capacity(args.dirs.len());
    for dir in &args.dirs {
        let view = args.reading.open(dir)?.serving(args.purpose).with_noindex(args.include_noindex);
        crawls.push((path_text(dir), view));
    }
    export(&Job { args, crawls }, &output, console)
}

fn export(job: &Job<'_>, output: &Output, console: Console) -> anyhow::Result<i32> {
    job.check_columns()?;
    let omitted = match output.write(job) {
        Ok(omitted) => omitted,
        // A reader that went away is no error.
        Err(ViewError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(ViewError::Write(error)) => {
            let what = format!("{} can't be written: {error}", output.name());
            return Err(Stop::new(exit::STORAGE, what).into());
        }
        Err(error) => return Err(show::view_error(&error)),
    };
    show::report_omitted(Written { omitted, ..Written::default() }, console);
    Ok(exit::COMPLETE)
}

/// Writes the index of the archives. Reads no database, so it also works while the crawl runs.
fn index_archives(args: &ExportArgs) -> anyhow::Result<i32> {
    let mut archives = Vec::with_capacity(args.dirs.len());
    for dir in &args.dirs {
        refuse_links(dir).map_err(|error| Stop::new(exit::STORAGE, with_causes(&error)))?;
        let archive = dir.join("warc");
        if !archive.is_dir() {
            let what = format!("{} has no archive: there is no directory `warc` in it", path_text(dir));
            return Err(Stop::new(exit::USAGE, what).into());
        }
        archives.push(archive);
    }
    let path = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let written = match path {
        Some(path) => cdxj::export_to(&archives, path),
        None => cdxj::export(&archives, Path::new("standard output"), &mut io::stdout().lock()),
    };
    match written {
        Ok(_) => Ok(exit::COMPLETE),
        Err(CdxjError::Write { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => {
            Ok(exit::COMPLETE)
        }
        Err(error) => Err(Stop::new(exit::STORAGE, with_causes(&error)).into()),
    }
}

/// Refuses options that don't go together.
fn check(args: &ExportArgs) -> anyhow::Result<()> {
    let usage = |what: &str| Err(Stop::new(exit::USAGE, what).into());
    args.format.check()?;
    if args.purpose.is_some() && args.table != Some(Table::Pages) {
        return usage("--purpose requires --table pages");
    }
    if args.format.is_archive() {
        if args.table.is_some() || !args.columns.is_empty() {
            return usage("--format cdxj and wacz write the archive: they have no --table and no --columns");
        }
    } else if args.format.is_graph() {
        if !matches!(args.table, None | Some(Table::Pages | Table::Hosts)) {
            return usage("a graph requires --table pages or --table hosts");
        }
        if !args.columns.is_empty() || args.purpose.is_some() {
            return usage("--columns and --purpose can't be used with a graph");
        }
    } else if args.table.is_some() {
        show::check_noindex(args.include_noindex, args.table)?;
    } else if !args.columns.is_empty() && !args.takes_all_columns() {
        return usage("--columns requires --table: each table has its own columns");
    }
    if args.raw && args.format != Format::Csv {
        return usage("--raw requires --format csv: the other formats don't escape any text");
    }
    if args.no_text && !matches!(args.format, Format::Sqlite | Format::Wacz) {
        return usage("--no-text requires --format sqlite or wacz: the other formats have no main texts");
    }
    #[cfg(feature = "cluster")]
    if args.cluster.is_some() && args.warc.is_empty() == args.format.is_archive() {
        return usage(if args.format.is_archive() {
            "--format cdxj and wacz read the archive: name the directories of all workers with --warc, such as --warc worker-1/warc"
        } else {
            "--warc requires --format cdxj or wacz: tables are in the database"
        });
    }
    if args.sign.is_some() && args.format != Format::Wacz {
        return usage("--sign requires --format wacz");
    }
    let mut dirs: Vec<_> = args.dirs.iter().collect();
    dirs.sort();
    if let Some(pair) = dirs.windows(2).find(|pair| pair[0] == pair[1]) {
        return usage(&format!("{} is given twice", path_text(pair[0])));
    }
    Ok(())
}

impl ExportArgs {
    fn takes_all_columns(&self) -> bool {
        self.columns == ["all"]
    }
}

impl Job<'_> {
    /// Refuses an unknown column before anything is read.
    fn check_columns(&self) -> anyhow::Result<()> {
        let Some(table) = self.args.table.filter(|_| !self.args.takes_all_columns()) else { return Ok(()) };
        let rows = columns_of(&self.crawls, table).map_err(|error| show::view_error(&error))?;
        for name in &self.args.columns {
            show::place(&rows, table, name)?;
        }
        Ok(())
    }

    /// The rows of a table as they are exported.
    fn rows(&self, table: Table) -> Result<Rows<'_>, ViewError> {
        let rows = stable_rows_of(&self.crawls, table)?;
        Ok(match &self.args.columns[..] {
            [] if self.args.format == Format::Csv => rows.compact(),
            [] => rows,
            _ if self.args.takes_all_columns() => rows,
            names => rows.select(names).map_err(io::Error::other)?,
        })
    }
}
