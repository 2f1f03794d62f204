//! `crawl diff`: compares two crawls.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::Args;
use crawler::tables::diff::{DiffFormat, write_diff};
use crawler::view::ViewError;

use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::reading::ReadingArgs;
use crate::show::{Pager, finish, view_error};
use crate::terminal::Console;

/// Options of `diff`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  crawl diff spring autumn
  crawl diff spring autumn --json | jq -r 'select(.change == \"gone\") | .url'

Exit codes:
  0  no differences
  1  differences found")]
pub(crate) struct DiffArgs {
    /// Directory of the earlier crawl
    before: PathBuf,
    /// Directory of the later crawl
    after: PathBuf,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Compares two crawls.
pub(crate) fn run(args: &DiffArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    if args.before == args.after {
        let what = format!("{} is given twice", path_text(&args.before));
        return Err(Stop::new(exit::USAGE, what).into());
    }
    let (before, after) = (args.reading.open(&args.before)?, args.reading.open(&args.after)?);
    let form = if console.json { DiffFormat::Json } else { DiffFormat::Text };
    let mut out = Pager::start(io::stdout().is_terminal() && !console.json);
    let counts = match write_diff(&before, &after, form, &mut out) {
        Ok(counts) => counts,
        // A pager that was closed early had a difference to show.
        Err(ViewError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(exit::UNEXPECTED);
        }
        Err(error) => return Err(view_error(&error)),
    };
    finish(out.finish().map_err(ViewError::from))?;
    Ok(if counts.is_same() { exit::COMPLETE } else { exit::UNEXPECTED })
}
