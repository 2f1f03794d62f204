//! `crawl resume`: continues a crawl that stopped.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use crawler::config::{CliOverrides, Loaded, Record, load, units};
use crawler::job::{Job, Rejudged};
use crawler::quantity::count;

use crate::crawling;
use crate::exit::{self, Stop};
use crate::options::{AdjustableArgs, adjustable_environment, path_text};
use crate::terminal::Console;

/// Options of `resume`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
All other settings, such as seeds, agent and dialect, come from crawl.toml in the directory. URLs
that were skipped because of a limit or the scope are checked again if that setting has changed.

Examples:
  crawl resume crawl-data --max-pages 20000
  crawl resume crawl-data --max-depth 5 --scope domain")]
pub(crate) struct ResumeArgs {
    /// Directory of the crawl
    dir: PathBuf,
    /// Revisit pages last visited at least this long ago, but no earlier than their revisit-after
    #[arg(long, value_name = "AGE", value_parser = units::parse_duration, help_heading = "Limits")]
    revisit: Option<Duration>,
    #[command(flatten)]
    adjustable: AdjustableArgs,
}

impl ResumeArgs {
    /// Refuses a directory without a crawl, and a truncated `crawl.toml`: a crawl must not run with part of its settings.
    fn record(&self) -> anyhow::Result<Record> {
        let file = self.dir.join("crawl.toml");
        if !file.is_file() {
            let dir = path_text(&self.dir);
            if self.dir.join("db").exists() || self.dir.join("warc").exists() {
                let what = format!(
                    "{dir} has a crawl without its crawl.toml: restore the file, or run `crawl repair {dir} --out NEWDIR` to save what can be read"
                );
                return Err(Stop::new(exit::STORAGE, what).into());
            }
            return Err(exit::no_crawl(&self.dir));
        }
        whole_record(&file)
    }

    /// Builds the settings: those of the crawl's own `crawl.toml`, then the environment, then these options.
    pub(crate) fn load(&self) -> anyhow::Result<Loaded> {
        let mut overrides = CliOverrides::default();
        // The directory may have been moved.
        overrides.set("out", path_text(&self.dir));
        self.adjustable.add_to(&mut overrides);
        Ok(load(&overrides, adjustable_environment(), Some(&self.dir.join("crawl.toml")))?)
    }
}

/// The record of the crawl's start in `crawl.toml`; a file without seeds is incomplete.
pub(crate) fn whole_record(file: &Path) -> anyhow::Result<Record> {
    let record = crawler::config::read_record(file)?;
    if record.seeds.is_empty() {
        let dir = path_text(file.parent().unwrap_or(file));
        let what = format!(
            "{dir}/crawl.toml has no seeds in its section [record]: it was truncated or changed; restore the file, or run `crawl repair {dir} --out NEWDIR` to save what can be read"
        );
        return Err(Stop::new(exit::CONFIG, what).into());
    }
    Ok(record)
}

/// Resumes a crawl.
pub(crate) fn run(args: &ResumeArgs, console: Console) -> anyhow::Result<i32> {
    let record = args.record()?;
    let loaded = args.load()?;
    loaded.product()?;
    for warning in &loaded.warnings {
        console.warning(warning);
    }
    let now = crawler::clock::wall();
    let mut job =
        Job::resume(loaded.settings, &record, now).map_err(|error| crawling::with_exit_code(&error))?;
    report_rejudged(job.rejudged(), console);
    if args.revisit.is_some() {
        let queued = job.revisit(args.revisit, now).map_err(|error| crawling::with_exit_code(&error))?;
        console.note(&format!("revisiting {}", count(queued, "page")));
    }
    crawling::crawl(job, console)
}

/// Reports what is checked again, and what can't be.
fn report_rejudged(rejudged: &Rejudged, console: Console) {
    if rejudged.changed.is_empty() {
        return;
    }
    let changed: Vec<String> =
        rejudged.changed.iter().map(|(key, value)| format!("{key} is now {value}")).collect();
    console.note(&format!("checking skipped URLs again: {}", changed.join(", ")));
    if rejudged.is_unrecorded {
        console.warning(
            "a run with --ledger off has no record of the URLs it skipped: they can't be checked again; a new crawl finds them",
        );
    }
}
