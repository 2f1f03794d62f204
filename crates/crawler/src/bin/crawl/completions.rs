//! `crawl completions`: the completions for a shell.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit;

/// Options of `completions`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
  crawl completions bash > ~/.local/share/bash-completion/completions/crawl")]
pub(crate) struct CompletionsArgs {
    /// Shell to generate completions for
    shell: Shell,
}

/// Prints the completions of the whole command line.
pub(crate) fn run(args: &CompletionsArgs, mut cli: Command) -> anyhow::Result<i32> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "crawl", &mut script);
    exit::print(&script)
}
