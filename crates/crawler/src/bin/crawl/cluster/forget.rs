//! `crawl cluster forget`: removes what a cluster's crawl has of some URLs.

use clap::Args;
use crawler::causes::with_causes;
use crawler::cluster::{self, Address, ForgetError, Forgot};
use page::clock::wall;
use page::quantity::count;
use serde_json::json;

use super::{address, at_rest_error};
use crate::exit::{self, Stop};
use crate::forget::AskedArgs;
use crate::run::PROGRAM;
use crate::terminal::Console;

/// Options of `cluster forget`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
The content goes from the database at once, and from each archive file when the worker that has it is
started the next time with its directory, also where the crawl stays stopped or is complete.
`crawl cluster status` says what remains. The URL, the time and the reason stay. robots.txt and the
ledger stay, too.

Examples:
  crawl cluster stop postgres://crawl@db.example.org/study
  crawl cluster forget postgres://crawl@db.example.org/study www.example.org --reason 'asked for on 2026-11-20'")]
pub(crate) struct ForgetArgs {
    /// URL of the crawl's database
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
    #[command(flatten)]
    asked: AskedArgs,
}

pub(super) fn run(args: &ForgetArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let (what, reason) = args.asked.read()?;
    let done = cluster::forget(&args.database, PROGRAM, what, &reason, wall());
    let Forgot { pages, files } = done.map_err(|error| match &error {
        ForgetError::Partitions(error) => at_rest_error(error),
        _ => Stop::new(exit::USAGE, with_causes(&error)).into(),
    })?;
    if console.json {
        let line = json!({"v": 1, "event": "cluster_forget", "pages": pages, "files": files});
        return exit::print(format!("{line}\n").as_bytes());
    }
    if console.quiet {
        return Ok(exit::COMPLETE);
    }
    let rest = match files {
        0 => "the archive has no files that could have more of it".to_owned(),
        files => format!(
            "{} of the archive to be searched: start each worker once with its directory",
            count(files, "file")
        ),
    };
    exit::print(format!("forgotten: {}; never fetched again\n{rest}\n", count(pages, "page")).as_bytes())
}
