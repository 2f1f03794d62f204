//! `crawl cluster recrawl`: visits pages of a cluster's crawl again.

use clap::Args;
use crawler::causes::with_causes;
use crawler::cluster::{self, Address, RecrawlError};
use page::clock::wall;
use page::quantity::count;
use serde_json::json;

use super::{NewLimitsArgs, address, at_rest_error, continue_with};
use crate::exit::{self, Stop};
use crate::recrawl::WhichArgs;
use crate::run::PROGRAM;
use crate::terminal::Console;

/// Options of `cluster recrawl`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
The pages that are due are queued, and workers may continue the crawl: start them. Which pages are due
is decided as by `crawl recrawl`: no page is visited earlier than its revisit-after or its
Cache-Control allow. A recrawl that was stopped is continued, not started over.

Examples:
  crawl cluster recrawl postgres://crawl@db.example.org/study
  crawl cluster recrawl postgres://crawl@db.example.org/study --older-than 7d")]
pub(crate) struct RecrawlArgs {
    /// URL of the crawl's database
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    limits: NewLimitsArgs,
}

pub(super) fn run(args: &RecrawlArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let queued = cluster::recrawl(&args.database, PROGRAM, args.which.revisit(), wall());
    let queued = queued.map_err(|error| match &error {
        RecrawlError::Partitions(error) => at_rest_error(error),
        _ => Stop::new(exit::STORAGE, with_causes(&error)).into(),
    })?;
    if queued > 0 {
        continue_with(&args.database, &args.limits, false)?;
    }
    if console.json {
        let line = json!({"v": 1, "event": "cluster_recrawl", "queued": queued});
        return exit::print(format!("{line}\n").as_bytes());
    }
    let rest = match queued {
        0 => "no page is due; the crawl isn't resumed".to_owned(),
        queued => format!(
            "{} to be visited again; workers may continue the crawl: crawl worker --cluster DATABASE --out DIR",
            count(queued, "page")
        ),
    };
    exit::print(format!("{rest}\n").as_bytes())
}
