//! `crawl export`: a table of a crawl as a file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use crawler::store::SledStore;
use crawler::view::{Form, Table, View, ViewError, Written, write_table};
use meta::consent::Purpose;

use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::show;
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
    /// Writes only pages that may serve this purpose; the crawl must have declared it
    #[arg(long, value_name = "PURPOSE")]
    purpose: Option<Purpose>,
    /// Writes with --table links also the links of pages under noindex, for an audit; column `from_noindex` marks them
    #[arg(long)]
    include_noindex: bool,
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
    crate::logging::start(talk, None);
    if args.purpose.is_some() && args.table != Table::Pages {
        return Err(Stop::new(exit::USAGE, "--purpose goes with --table pages alone").into());
    }
    show::check_noindex(args.include_noindex, Some(args.table))?;
    let view = show::open(&args.dir)?.serving(args.purpose).with_noindex(args.include_noindex);
    let form = match args.format {
        Format::Csv => Form::Csv,
        Format::Jsonl => Form::Jsonl,
    };
    let table = args.table;
    let Some(path) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
        let mut out = BufWriter::new(io::stdout().lock());
        let written = write_table(&view, table, form, &mut out);
        let written = written.and_then(|written| Ok(out.flush().map(|()| written)?));
        // What is still in the buffer has been written, or nobody wants it.
        let (_, _) = out.into_parts();
        return show::finish(written.map(|written| show::tell_left_out(written, talk)));
    };
    match write_file(&view, table, form, path) {
        Ok(written) => {
            show::tell_left_out(written, talk);
            Ok(exit::COMPLETE)
        }
        Err(ViewError::Write(error)) => {
            let what = format!("{} can't be written: {error}", path_text(path));
            Err(Stop::new(exit::STORAGE, what).into())
        }
        Err(error) => Err(show::told(&error)),
    }
}

/// Writes a file whole or not at all: as `FILE.part`, which gets its name at the end.
fn write_file(view: &View<SledStore>, table: Table, form: Form, path: &Path) -> Result<Written, ViewError> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let write = || -> Result<Written, ViewError> {
        let mut out = BufWriter::new(File::create(&part)?);
        let written = write_table(view, table, form, &mut out)?;
        out.flush()?;
        out.get_ref().sync_all()?;
        fs::rename(&part, path)?;
        Ok(written)
    };
    let written = write();
    if written.is_err() {
        // The error itself is what has to be told.
        drop(fs::remove_file(&part));
    }
    written
}
