//! `crawl show`: a crawl's summary or one of its tables.

use std::error::Error;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use crawler::job::DirError;
use crawler::store::SledStore;
use crawler::view::{Form, Table, View, ViewError, Written, write_table};

use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::terminal::Talk;

/// Options of `show`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  crawl show crawl-data
  crawl show crawl-data hosts
  crawl show crawl-data skipped --json | jq -r .reason | sort | uniq -c")]
pub(crate) struct ShowArgs {
    /// Directory of the crawl
    dir: PathBuf,
    /// Table to show; none: the summary
    #[arg(value_name = "TABLE", hide_possible_values = false)]
    table: Option<Table>,
    /// Shows in table links also the links of pages under noindex, for an audit; column `from_noindex` marks them
    #[arg(long)]
    include_noindex: bool,
}

/// Shows a crawl.
pub(crate) fn run(args: &ShowArgs, talk: Talk) -> anyhow::Result<i32> {
    crate::logging::start(talk, None);
    check_noindex(args.include_noindex, args.table)?;
    let view = open(&args.dir)?.with_noindex(args.include_noindex);
    let stdout = io::stdout();
    let width =
        stdout.is_terminal().then(|| terminal_size::terminal_size().map_or(100, |(width, _)| width.0));
    let mut out = BufWriter::new(stdout.lock());
    let shown = match args.table {
        Some(table) => {
            let form = match width {
                _ if talk.json => Form::Jsonl,
                Some(width) => Form::Aligned(width.into()),
                None => Form::Tabs,
            };
            write_table(&view, table, form, &mut out).map(Some)
        }
        None => view.summary().and_then(|summary| {
            let place = path_text(&args.dir);
            let written =
                if talk.json { summary.write_json(&mut out) } else { summary.write_text(&place, &mut out) };
            written?;
            Ok(None)
        }),
    };
    let written = shown.and_then(|written| Ok(out.flush().map(|()| written)?));
    // What is still in the buffer has been written, or nobody wants it.
    let (_, _) = out.into_parts();
    if args.table == Some(Table::Ledger) && written.is_ok() {
        let verdict = view.verify_ledger().map_err(|error| told(&error))?;
        if verdict.intact { talk.note(&verdict.to_string()) } else { talk.warning(&verdict.to_string()) }
    }
    finish(written.map(|written| {
        if let Some(written) = written {
            tell_left_out(written, talk);
        }
    }))
}

/// The links of pages under noindex stand in one table alone.
pub(crate) fn check_noindex(include_noindex: bool, table: Option<Table>) -> anyhow::Result<()> {
    if include_noindex && table != Some(Table::Links) {
        return Err(Stop::new(exit::USAGE, "--include-noindex goes with table links alone").into());
    }
    Ok(())
}

/// Tells how many rows were left out.
pub(crate) fn tell_left_out(written: Written, talk: Talk) {
    if written.left_out > 0 {
        talk.note(&format!(
            "links of pages under noindex that are left out: {}; --include-noindex has them",
            written.left_out
        ));
    }
}

/// Opens a crawl, or says why not.
pub(crate) fn open(dir: &Path) -> anyhow::Result<View<SledStore>> {
    View::open(dir).map_err(|error| told(&error))
}

/// Gives the exit code; a reader that went away is no error.
pub(crate) fn finish(result: Result<(), ViewError>) -> anyhow::Result<i32> {
    match result {
        Ok(()) => Ok(exit::COMPLETE),
        Err(ViewError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit::COMPLETE),
        Err(error) => Err(told(&error)),
    }
}

/// An error with its causes. A directory without a crawl is a wrong word of the command line; all else is of storage or disk.
pub(crate) fn told(error: &ViewError) -> anyhow::Error {
    let mut what = error.to_string();
    if let Some(cause) = error.source().map(ToString::to_string).filter(|cause| !what.contains(cause)) {
        what.push_str(": ");
        what.push_str(&cause);
    }
    let code = match error {
        ViewError::Dir(DirError::NoCrawl(_)) => exit::USAGE,
        _ => exit::STORAGE,
    };
    Stop::new(code, what).into()
}
