//! `crawl repair`: copies what is readable of a damaged crawl to a new directory.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use crawler::causes::with_causes;
use crawler::repair::{RepairError, Repaired, repair};

use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::terminal::Console;
use page::quantity::{count, size};

/// Options of `repair`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
DIR is only read. NEWDIR becomes a complete crawl directory: `crawl resume NEWDIR` continues the
crawl. Lost page records are rebuilt from the archive; a page whose links are lost is queued again.

Example:
  crawl repair crawl-data --out repaired")]
pub(crate) struct RepairArgs {
    /// Directory of the damaged crawl
    dir: PathBuf,
    /// New directory for the repaired crawl; it must not exist
    #[arg(long, value_name = "NEWDIR")]
    out: PathBuf,
}

/// Repairs a crawl.
pub(crate) fn run(args: &RepairArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let repaired =
        repair(&args.dir, &args.out, page::clock::wall()).map_err(|error| with_exit_code(&error))?;
    let out = path_text(&args.out);
    let mut stdout = io::stdout().lock();
    if console.json {
        let mut line = serde_json::to_value(&repaired)?;
        line["v"] = 1.into();
        writeln!(stdout, "{line}")?;
    } else if !console.quiet {
        for line in lines(&repaired) {
            writeln!(stdout, "{line}")?;
        }
        writeln!(stdout, "continue with: crawl resume {}", page::clean::clean(&out))?;
    }
    Ok(exit::COMPLETE)
}

fn lines(repaired: &Repaired) -> Vec<String> {
    let mut lines = vec![
        format!("database   {}", repaired.database),
        format!(
            "pages      {} recovered, {} rebuilt from the archive, {} queued again because their links are lost",
            repaired.pages, repaired.pages_from_archive, repaired.pages_again
        ),
        match repaired.pages_lost {
            Some(0) => "           no page record is lost".to_owned(),
            Some(lost) => {
                format!(
                    "           {} lost; known links to those pages are queued again",
                    count(lost, "page record")
                )
            }
            None => "           the number of lost page records is unknown; known links without a page are queued again".to_owned(),
        },
        format!(
            "archive    {}; {} unreadable; {} without their body",
            count(repaired.archive_records, "intact record"),
            size(repaired.archive_bytes_lost),
            count(repaired.bodies_lost, "page")
        ),
        format!("others     {}, {}",
            count(repaired.robots, "robots.txt version"),
            count(repaired.decisions, "decision")),
        format!("queue      {}", count(repaired.queued, "URL")),
    ];
    if repaired.crashed > 0 {
        lines.push(format!(
            "not read   {}, whose body ended a process that read it",
            count(repaired.crashed, "archived page")
        ));
    }
    if !repaired.torn.is_empty() {
        lines.push(format!("incomplete {}", repaired.torn.join(", ")));
    }
    if repaired.settings_from_database {
        lines.push(
            "settings   crawl.toml was restored from the database, with the settings of the first run"
                .to_owned(),
        );
    }
    lines
}

fn with_exit_code(error: &RepairError) -> anyhow::Error {
    use crawler::job::DirError;
    let code = match error {
        RepairError::Exists(_) | RepairError::Dir(DirError::NoCrawl(_)) => exit::USAGE,
        RepairError::Config(error) => error.exit_code(),
        _ => exit::STORAGE,
    };
    Stop::new(code, with_causes(error)).into()
}
