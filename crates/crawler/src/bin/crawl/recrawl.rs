//! `crawl recrawl`: visits stored pages again.

use std::time::Duration;

use clap::Args;
use crawler::config::units;
use crawler::job::Revisit;

use crate::resume::{self, Again, ContinueArgs};
use crate::terminal::Console;

/// Options of `recrawl`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Each page has an interval of its own: short if earlier visits found it changed, long if they didn't
(docs/how-to/recrawl.md has the formula). No page is visited earlier than its revisit-after or its
Cache-Control allow. Requests are conditional; an unchanged page costs one small response. What
wasn't finished before is continued as well. All other settings come from crawl.toml.

Examples:
  crawl recrawl crawl-data
  crawl recrawl crawl-data --older-than 7d
  crawl show crawl-data changes --where 'at >= \"2026-11-01\"'")]
pub(crate) struct RecrawlArgs {
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    continued: ContinueArgs,
}

/// Which pages are visited again.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct WhichArgs {
    /// Visit pages last visited at least this long ago, instead of those whose own interval has passed
    #[arg(long, value_name = "AGE", value_parser = units::parse_duration, help_heading = "Limits")]
    older_than: Option<Duration>,
    /// Visit only pages that an earlier visit found changed
    #[arg(long, help_heading = "Limits")]
    changed_only: bool,
}

impl WhichArgs {
    pub(crate) fn revisit(self) -> Revisit {
        Revisit { older_than: self.older_than, changed_only: self.changed_only }
    }
}

/// Visits pages again.
pub(crate) fn run(args: &RecrawlArgs, console: Console) -> anyhow::Result<i32> {
    let again = Again { revisit: Some(args.which.revisit()), crashed: false };
    resume::resume(&args.continued, again, console)
}
