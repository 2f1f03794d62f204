//! `crawl show`: a crawl's summary or one of its tables.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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
}

/// A table of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// What was fetched, one row a page
    Pages,
    /// What links where, and what became of each link
    Links,
    /// What each host was asked, how fast, and why so
    Hosts,
    /// Every version of every robots.txt
    Robots,
    /// What is still to be fetched
    Queue,
    /// What was left, and why
    Skipped,
    /// Every decision in its order
    Ledger,
    /// What failed, and how
    Errors,
}

/// Shows a crawl.
pub(crate) fn run(args: &ShowArgs, talk: Talk) -> anyhow::Result<i32> {
    // todo: the integrator calls the library here.
    crate::logging::start(talk, None);
    anyhow::bail!("show isn't wired yet ({}, {:?})", args.dir.display(), args.table)
}
