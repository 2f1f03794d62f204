//! `crawl report DIR --host HOST`: a report for the owner of a site. Without a host it is reserved for the report of a
//! whole crawl.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::exit::{self, Stop};
use crate::show::{open, view_error};
use crate::terminal::Console;

/// Options of `report`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
  crawl report crawl-data --host www.example.org -o for-the-owner.md")]
pub(crate) struct ReportArgs {
    /// Directory of the crawl
    dir: PathBuf,
    /// Host that the report is about; required, because the HTML report of a whole crawl doesn't exist yet
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Output file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes the report.
pub(crate) fn run(args: &ReportArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let Some(host) = &args.host else {
        let words = "the HTML report of a whole crawl doesn't exist yet; `crawl report DIR --host HOST` writes the report \
                     for the owner of one host (`crawl show DIR hosts` lists them)";
        return Err(Stop::new(exit::USAGE, words).into());
    };
    let view = open(&args.dir)?;
    let report = view.owner_report(host).map_err(|error| view_error(&error))?;
    let report = report.ok_or_else(|| {
        let host = crawler::clean::clean(host);
        Stop::new(exit::USAGE, format!("the crawl has no host {host}; `crawl show DIR hosts` lists them"))
    })?;
    let Some(file) = &args.output else {
        return crate::robots_history::write(|out| {
            if console.json { report.write_json(out) } else { report.write_text(out) }
        });
    };
    let name = crate::options::path_text(file);
    let mut out = BufWriter::new(File::create(file).with_context(|| format!("can't write {name}"))?);
    let written = if console.json { report.write_json(&mut out) } else { report.write_text(&mut out) };
    written.and_then(|()| out.flush()).with_context(|| format!("can't write {name}"))?;
    Ok(exit::COMPLETE)
}
