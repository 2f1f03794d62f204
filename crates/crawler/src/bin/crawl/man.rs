//! `crawl man`: the manual page.

use clap::{Args, Command};

use crate::exit::{self, Stop};

/// Options of `man`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  crawl man | man -l -
  crawl man resume > crawl-resume.1")]
pub(crate) struct ManArgs {
    /// Command to print the page of, as in `crawl man config show` [default: the program]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

/// Prints a manual page of the whole command line as roff.
pub(crate) fn run(args: &ManArgs, cli: Command) -> anyhow::Result<i32> {
    let page = page(cli, &args.command)?;
    exit::print(&page)
}

fn page(mut root: Command, names: &[String]) -> anyhow::Result<Vec<u8>> {
    root.build();
    let mut command = &root;
    for name in names {
        command = command.find_subcommand(name).ok_or_else(|| {
            Stop::new(
                exit::USAGE,
                format!("there is no command {:?}: `crawl --help` lists them", names.join(" ")),
            )
        })?;
    }
    let title =
        std::iter::once("crawl").chain(names.iter().map(String::as_str)).collect::<Vec<_>>().join("-");
    let mut roff = Vec::new();
    clap_mangen::Man::new(command.clone()).title(title).render(&mut roff)?;
    Ok(roff)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_has_a_page() {
        for names in [&[][..], &["run"], &["resume"], &["config", "show"]] {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let roff = String::from_utf8(page(Cli::command(), &names).unwrap()).unwrap();
            assert!(roff.contains(".SH SYNOPSIS"), "{names:?}");
        }
        assert!(page(Cli::command(), &["nothing".to_owned()]).is_err());
    }
}
