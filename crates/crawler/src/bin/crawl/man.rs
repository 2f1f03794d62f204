//! `crawl man`: the manual pages.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Command};

use crate::exit::{self, Stop};

/// Options of `man`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  crawl man | man -l -
  crawl man resume > crawl-resume.1
  crawl man --all /usr/local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Command to print the page of, as in `crawl man config show` [default: the program]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of the program and of every command to this directory, crawl.1 and crawl-COMMAND.1, in place of those there
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    all: Option<PathBuf>,
}

/// Prints a manual page of the whole command line as roff, or writes all pages.
pub(crate) fn run(args: &ManArgs, cli: Command) -> anyhow::Result<i32> {
    if let Some(dir) = &args.all {
        write_all(cli, dir)?;
        return Ok(exit::COMPLETE);
    }
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

/// Writes a page for the program and each of its commands. The directory is made where it is missing.
fn write_all(root: Command, dir: &Path) -> anyhow::Result<()> {
    let write = || {
        std::fs::create_dir_all(dir)?;
        let made = tempfile::tempdir()?;
        clap_mangen::generate_to(root, made.path())?;
        for page in std::fs::read_dir(made.path())? {
            let page = page?;
            let text = std::fs::read(page.path())?;
            let path = dir.join(page.file_name());
            crawler::output_file::write(&path, |error| error, |out| out.write_all(&text))?;
        }
        Ok::<_, io::Error>(())
    };
    write().with_context(|| format!("can't write {}", dir.display()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// The names of the pages of a command and those below it, without hidden ones.
    fn names(command: &Command, above: &str) -> Vec<String> {
        let own = if above.is_empty() {
            command.get_name().to_owned()
        } else {
            format!("{above}-{}", command.get_name())
        };
        let below = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set() && command.get_name() != "help");
        let below: Vec<_> = below.flat_map(|command| names(command, &own)).collect();
        [vec![own], below].concat()
    }

    #[test]
    fn all_pages_are_those_of_every_command() {
        let dir = tempfile::tempdir().unwrap();
        let pages = dir.path().join("share/man1");
        write_all(Cli::command(), &pages).unwrap();
        let mut found: Vec<_> = std::fs::read_dir(&pages)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        let mut root = Cli::command();
        root.build();
        let mut expected: Vec<_> = names(&root, "").iter().map(|name| format!("{name}.1")).collect();
        expected.sort();
        assert_eq!(found, expected);
        for name in ["crawl.1", "crawl-resume.1", "crawl-config-show.1"] {
            let page = std::fs::read_to_string(pages.join(name)).unwrap();
            assert!(
                page.contains(".SH SYNOPSIS")
                    && page.contains(&format!(".TH {}", name.trim_end_matches(".1"))),
                "{name}: {page}"
            );
        }
        // Again, in place of those there.
        write_all(Cli::command(), &pages).unwrap();
        let file = pages.join("crawl.1");
        let error = write_all(Cli::command(), &file).unwrap_err();
        assert!(format!("{error:#}").starts_with(&format!("can't write {}: ", file.display())), "{error:#}");
    }

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
