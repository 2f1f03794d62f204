//! `crawl resume`: goes on where a crawl stopped.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use crawler::config::{CliOverrides, Loaded, Record, load, units};
use crawler::job::{Job, Rejudged};

use crate::crawling;
use crate::exit::{self, Stop};
use crate::options::{AdjustableArgs, adjustable_environment, path_text};
use crate::terminal::Talk;

/// Options of `resume`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Everything else stays as the crawl began: seeds, agent and dialect stand in crawl.toml of its directory. URLs that a limit or the scope
left out before are judged again where it is different now.

Examples:
  crawl resume crawl-data --max-pages 20000
  crawl resume crawl-data --max-depth 5 --scope domain")]
pub(crate) struct ResumeArgs {
    /// Directory of the crawl
    dir: PathBuf,
    /// Visits every page again whose last visit is at least this long ago, and no earlier than its author wishes
    #[arg(long, value_name = "AGE", value_parser = units::parse_duration, help_heading = "Limits")]
    revisit: Option<Duration>,
    #[command(flatten)]
    adjustable: AdjustableArgs,
}

impl ResumeArgs {
    /// Refuses a directory without a crawl, and settings that are a part of the file: nothing may be done by them.
    fn record(&self) -> anyhow::Result<Record> {
        let file = self.dir.join("crawl.toml");
        if !file.is_file() {
            let dir = path_text(&self.dir);
            if self.dir.join("db").exists() || self.dir.join("warc").exists() {
                let what = format!(
                    "{dir} holds a crawl without its crawl.toml: put the file back, or `crawl repair {dir} --out NEWDIR` saves what can be read"
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
        // The directory may have moved since.
        overrides.set("out", path_text(&self.dir));
        self.adjustable.add_to(&mut overrides);
        Ok(load(&overrides, adjustable_environment(), Some(&self.dir.join("crawl.toml")))?)
    }
}

/// What a crawl's `crawl.toml` says of its start; one without seeds isn't whole.
pub(crate) fn whole_record(file: &Path) -> anyhow::Result<Record> {
    let record = crawler::config::read_record(file)?;
    if record.seeds.is_empty() {
        let dir = path_text(file.parent().unwrap_or(file));
        let what = format!(
            "{dir}/crawl.toml holds no seeds in its section [record]: it was cut or changed. Put the file back, or `crawl repair {dir} --out NEWDIR` saves what can be read"
        );
        return Err(Stop::new(exit::CONFIG, what).into());
    }
    Ok(record)
}

/// Goes on with a crawl.
pub(crate) fn run(args: &ResumeArgs, talk: Talk) -> anyhow::Result<i32> {
    let record = args.record()?;
    let loaded = args.load()?;
    loaded.product()?;
    for warning in &loaded.warnings {
        talk.warning(warning);
    }
    let now = crawler::clock::wall();
    let mut job = Job::resume(loaded.settings, &record, now).map_err(|error| crawling::told(&error))?;
    tell_rejudged(job.rejudged(), talk);
    if args.revisit.is_some() {
        let queued = job.revisit(args.revisit, now).map_err(|error| crawling::told(&error))?;
        talk.note(&format!("{queued} pages are due to be visited again"));
    }
    crawling::crawl(job, talk)
}

/// Tells what is judged again, and what can't be.
fn tell_rejudged(rejudged: &Rejudged, talk: Talk) {
    if rejudged.changed.is_empty() {
        return;
    }
    let changed: Vec<String> =
        rejudged.changed.iter().map(|(key, value)| format!("{key} is {value} now")).collect();
    talk.note(&format!("URLs that were left out before are judged again: {}", changed.join(", ")));
    if rejudged.is_unrecorded {
        talk.warning(
            "a run with --ledger off kept no record of the URLs that it left out: those can't be judged again; a new crawl finds them",
        );
    }
}
