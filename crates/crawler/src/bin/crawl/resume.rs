//! `crawl resume`: continues a crawl that stopped.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use crawler::config::{CliOverrides, Loaded, Record, load_own, units};
use crawler::crawl_dir::refuse_links;
use crawler::job::{Job, Rejudged, Revisit};
use crawler::view::Moment;
use page::quantity::count;

use crate::crawling;
use crate::exit::{self, Stop};
use crate::options::{AdjustableArgs, adjustable_environment, config_variable, path_text};
#[cfg(feature = "serve")]
use crate::serve::ServeWhileArgs;
use crate::terminal::Console;

/// Options of `resume`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
All other settings, such as seeds, agent and dialect, come from crawl.toml in the directory. URLs
that were skipped because of a limit or the scope are checked again if that setting has changed.

Examples:
  crawl resume crawl-data --max-pages 20000
  crawl resume crawl-data --max-depth 5 --scope domain
  crawl resume crawl-data --retry-crashed")]
pub(crate) struct ResumeArgs {
    /// Revisit pages last visited at least this long ago: `crawl recrawl DIR --older-than AGE`
    #[arg(long, value_name = "AGE", value_parser = units::parse_duration, help_heading = "Limits")]
    revisit: Option<Duration>,
    /// Retry URLs whose body crashed the process (`crashed`); each is first read in a process of its own
    #[arg(long, help_heading = "Limits")]
    retry_crashed: bool,
    #[command(flatten)]
    continued: ContinueArgs,
}

/// Which crawl is continued, and what changes: for `resume` and `recrawl`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ContinueArgs {
    /// Directory of the crawl
    dir: PathBuf,
    #[command(flatten)]
    adjustable: AdjustableArgs,
    /// TOML file from which only paths outside of the directory are taken (`fetch.resolve_file`, `warc.dedup`)
    #[arg(long, value_name = "FILE", help_heading = "What and where")]
    config: Option<PathBuf>,
    #[cfg(feature = "serve")]
    #[command(flatten)]
    serve: ServeWhileArgs,
}

/// Refuses a directory without a crawl, and a truncated `crawl.toml`: a crawl must not run with part of its settings.
fn record_of(dir: &Path) -> anyhow::Result<Record> {
    refuse_links(dir).map_err(|error| crawling::with_exit_code(&error.into()))?;
    let file = dir.join("crawl.toml");
    if !file.is_file() {
        if dir.join("db").exists() || dir.join("warc").exists() {
            let dir = path_text(dir);
            let what = format!(
                "{dir} has a crawl without its crawl.toml: restore the file, or run `crawl repair {dir} --out NEWDIR` to save what can be read"
            );
            return Err(Stop::new(exit::STORAGE, what).into());
        }
        return Err(exit::no_crawl(dir));
    }
    whole_record(&file)
}

/// The settings: those of the crawl's own `crawl.toml`, what the file of `--config` says of paths outside, then the environment, then these options.
fn load_of(args: &ContinueArgs) -> anyhow::Result<Loaded> {
    let ContinueArgs { dir, config, adjustable, .. } = args;
    let mut overrides = CliOverrides::default();
    // The directory may have been moved.
    overrides.set("out", path_text(dir));
    adjustable.add_to(&mut overrides);
    let config = config.clone().or_else(config_variable);
    Ok(load_own(&overrides, adjustable_environment(), &dir.join("crawl.toml"), config.as_deref())?)
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
    let older_than = args.revisit;
    let revisit = older_than.is_some().then_some(Revisit { older_than, changed_only: false });
    resume(&args.continued, Again { revisit, crashed: args.retry_crashed }, console)
}

/// What is visited again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    /// Which stored pages are visited again.
    pub(crate) revisit: Option<Revisit>,
    /// URLs whose reading ended a process.
    pub(crate) crashed: bool,
}

/// Resumes a crawl, and visits again what is due.
pub(crate) fn resume(args: &ContinueArgs, again: Again, console: Console) -> anyhow::Result<i32> {
    let Again { revisit, crashed } = again;
    let record = record_of(&args.dir)?;
    let loaded = load_of(args)?;
    loaded.product()?;
    for warning in &loaded.warnings {
        console.warning(warning);
    }
    #[cfg(feature = "serve")]
    let bound = args.serve.bind(&args.dir)?;
    let now = page::clock::wall();
    let mut job =
        Job::resume(loaded.settings, &record, now).map_err(|error| crawling::with_exit_code(&error))?;
    if job.lost() > 0 {
        console.warning(&format!(
            "a power failure took the bodies of {}, which weren't on the disk yet: they are fetched again",
            count(job.lost(), "page")
        ));
    }
    report_rejudged(job.rejudged(), console);
    if job.rejudged().again > 0 {
        let kinds: Vec<_> = job.rejudged().failures.iter().map(|kind| kind.as_str()).collect();
        let urls = count(job.rejudged().again, "URL");
        console
            .note(&format!("trying {urls} again that failed ({}): the settings changed", kinds.join(", ")));
    }
    if revisit.is_some() {
        let begun = job.revisit(revisit, now).map_err(|error| crawling::with_exit_code(&error))?;
        console.note(&match (begun.queued, begun.next) {
            (0, Some(next)) => format!("no page is due; the next is due at {}", Moment(next)),
            (0, None) => "no page is due".to_owned(),
            (queued, _) => format!("revisiting {}", count(queued, "page")),
        });
    }
    if crashed {
        let queued = job.retry_crashed(now).map_err(|error| crawling::with_exit_code(&error))?;
        console.note(&format!("retrying {} that crashed the process", count(queued, "URL")));
    }
    // The directory is locked: no visitor comes in between.
    #[cfg(feature = "serve")]
    let _server =
        bound.map(|bound| crate::serve::start(bound, &path_text(job.dir().root()), console)).transpose()?;
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
