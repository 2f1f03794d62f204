//! `crawl repair`: saves what can be read of a damaged crawl into a new directory.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use crawler::causes::with_causes;
use crawler::repair::{RepairError, Repaired, repair};

use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::terminal::Talk;

/// Options of `repair`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Nothing is written into DIR. NEWDIR holds a whole crawl afterwards: `crawl resume NEWDIR` goes on with it. Page records that are lost
are read again from the archive; a page whose links are lost as well is queued again.

Example:
  crawl repair crawl-data --out repaired")]
pub(crate) struct RepairArgs {
    /// Directory of the damaged crawl; it is only read
    dir: PathBuf,
    /// New directory for what can be read; it must not exist
    #[arg(long, value_name = "NEWDIR")]
    out: PathBuf,
}

/// Repairs a crawl.
pub(crate) fn run(args: &RepairArgs, talk: Talk) -> anyhow::Result<i32> {
    crate::logging::start(talk, None);
    let repaired = repair(&args.dir, &args.out, crawler::clock::wall()).map_err(|error| told(&error))?;
    let out = path_text(&args.out);
    let mut stdout = io::stdout().lock();
    if talk.json {
        let mut line = serde_json::to_value(&repaired)?;
        line["v"] = 1.into();
        writeln!(stdout, "{line}")?;
    } else if !talk.quiet {
        for line in lines(&repaired) {
            writeln!(stdout, "{line}")?;
        }
        writeln!(stdout, "go on with: crawl resume {}", crawler::clean::clean(&out))?;
    }
    Ok(exit::COMPLETE)
}

fn lines(repaired: &Repaired) -> Vec<String> {
    let mut lines = vec![
        format!("database   {}", repaired.database),
        format!(
            "pages      {} kept, {} read again from the archive, {} queued again because their links are lost",
            repaired.pages, repaired.pages_from_archive, repaired.pages_again
        ),
        match repaired.pages_lost {
            Some(0) => "           no page record is lost".to_owned(),
            Some(lost) => {
                format!("           {lost} page records are lost; what links lead to is queued again")
            }
            None => "           how many there were isn't known: what links lead to and isn't kept is queued again".to_owned(),
        },
        format!(
            "archive    {} whole records; {} bytes belong to none; {} pages lost their body",
            repaired.archive_records, repaired.archive_bytes_lost, repaired.bodies_lost
        ),
        format!("others     {} robots.txt versions, {} decisions", repaired.robots, repaired.decisions),
        format!("queue      {} URLs", repaired.queued),
    ];
    if !repaired.torn.is_empty() {
        lines.push(format!("incomplete {}", repaired.torn.join(", ")));
    }
    if repaired.settings_from_database {
        lines.push("settings   crawl.toml was put back from the database, as the crawl began".to_owned());
    }
    lines
}

fn told(error: &RepairError) -> anyhow::Error {
    use crawler::job::DirError;
    let code = match error {
        RepairError::Exists(_) | RepairError::Dir(DirError::NoCrawl(_)) => exit::USAGE,
        RepairError::Config(error) => error.exit_code(),
        _ => exit::STORAGE,
    };
    Stop::new(code, with_causes(error)).into()
}
