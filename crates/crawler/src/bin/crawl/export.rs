//! `crawl export`: a table of a crawl as a file.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::show::Table;
use crate::terminal::Talk;

/// Options of `export`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  crawl export crawl-data --table pages --format csv -o pages.csv
  crawl export crawl-data --table links --format jsonl | gzip > links.jsonl.gz")]
pub(crate) struct ExportArgs {
    /// Directory of the crawl
    dir: PathBuf,
    /// Table to write
    #[arg(long, value_name = "TABLE")]
    table: Table,
    /// Form in which it is written
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Form of an exported table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Comma separated, a header line, cells that a spreadsheet would run made harmless
    Csv,
    /// One JSON object a line
    Jsonl,
}

/// Exports a table.
pub(crate) fn run(args: &ExportArgs, talk: Talk) -> anyhow::Result<i32> {
    // todo: the integrator calls the library here.
    crate::logging::start(talk, None);
    let to = args.output.as_ref().map(|path| path.display().to_string());
    anyhow::bail!("export isn't wired yet ({} {:?} {:?} {to:?})", args.dir.display(), args.table, args.format)
}
