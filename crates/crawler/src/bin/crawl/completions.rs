//! `crawl completions`: the completions for a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit;

/// Options of `completions`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
  crawl completions bash > ~/.local/share/bash-completion/completions/crawl")]
pub(crate) struct CompletionsArgs {
    /// Shell
    shell: Shell,
}

/// Prints the completions.
pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<i32> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "crawl", &mut script);
    exit::print(&script)
}
