//! `crawl demo`: two classic sites on loopback, three robots.

use std::path::PathBuf;

use clap::Args;

use crate::terminal::Talk;

/// Options of `demo`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Serves Joe's Hardware and Mary's Antiques under their names on 127.0.0.1, crawls them as Suzy-Spider, Furniture-Finder and
Nosy-Bot, and prints what each of them could see and why. Needs nothing installed and no internet; ends by itself.")]
pub(crate) struct DemoArgs {
    /// Directory in which the three crawls are kept [default: a directory that is removed at the end]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the demonstration.
pub(crate) fn run(args: &DemoArgs, talk: Talk) -> anyhow::Result<i32> {
    // todo: the integrator calls the library here.
    crate::logging::start(talk, None);
    anyhow::bail!("the demo isn't wired yet ({:?})", args.out)
}
