//! `crawl audit`: verifies a crawl's output.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use crawler::audit::{self, AuditRules, Report};
use crawler::causes::with_causes;
#[cfg(feature = "cluster")]
use crawler::cluster::Address;
use crawler::config::{self, read_own};
use crawler::job;
use crawler::live::Holder;
#[cfg(feature = "cluster")]
use crawler::store::AnyStore;
use crawler::view::{View, ViewError, write_json_line};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::reading::ReadingArgs;
use crate::resume::whole_record;
use crate::show;
use crate::terminal::Console;

/// Options of `audit`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Exit codes: 0 no violation; 14 violations found, the first of each kind are listed in full.

Examples:
  crawl audit crawl-data
  crawl audit crawl-data --head 6f1ed002ab559585
  crawl audit crawl-data --json | jq '.checks[] | {name, judged, margin_s}'
  crawl audit --cluster postgres://crawl@db.example.org/study --warc worker-1/warc --warc worker-2/warc")]
pub(crate) struct AuditArgs {
    /// Directory of the crawl
    #[cfg_attr(feature = "cluster", arg(required_unless_present = "cluster"))]
    #[cfg_attr(not(feature = "cluster"), arg(required = true))]
    dir: Option<PathBuf>,
    /// Expected head of the ledger, as the crawl printed it, or at least its first 16 digits
    ///
    /// The head changes if anything in the ledger changes, or anything whose digest it contains: page records, links,
    /// robots.txt versions, the archive, settings.
    #[arg(long, value_name = "HEX", value_parser = head)]
    head: Option<String>,
    /// Instead of a directory: the crawl on many machines in this PostgreSQL database
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DATABASE", value_parser = crate::database::address, conflicts_with = "dir")]
    cluster: Option<Address>,
    /// With --cluster: the archive of a worker; name all workers', or the archive isn't judged
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DIR", requires = "cluster")]
    warc: Vec<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// A head, or a prefix too long to match by chance.
fn head(text: &str) -> Result<String, String> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex && (16..=64).contains(&text.len()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("16 to 64 hex digits are required".to_owned())
    }
}

/// Judges a crawl.
pub(crate) fn run(args: &AuditArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let bar = spinner(console);
    let mut step = |what: &'static str| {
        if let Some(bar) = &bar {
            bar.set_message(format!("auditing: {what}"));
        }
    };
    let report = match &args.dir {
        Some(dir) => of_dir(dir, args, &mut step),
        None => of_cluster(args, &mut step),
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let report = report?;
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if console.json { write_json(&report, &mut out) } else { report.write_text(&mut out) };
    let written = written.and_then(|()| out.flush()).map_err(ViewError::from);
    // What is still in the buffer has been written, or nobody wants it.
    let (_, _) = out.into_parts();
    show::finish(written)?;
    Ok(if report.violations() > 0 { exit::VIOLATION } else { exit::COMPLETE })
}

fn of_dir(dir: &Path, args: &AuditArgs, step: &mut dyn FnMut(&'static str)) -> anyhow::Result<Report> {
    let view = args.reading.open(dir)?;
    let (settings, record) = settings(dir)?;
    let rules = AuditRules {
        temporary: view.temporary().map(Path::to_owned),
        is_running: view.holder() == Some(Holder::Crawl),
        ..rules(&view, settings, record, args)?
    };
    let warc = dir.join("warc");
    let report = audit::audit_step_by_step(view.store(), warc.is_dir().then_some(&warc), &rules, step);
    report.map_err(|error| Stop::new(exit::STORAGE, with_causes(&error)).into())
}

#[cfg(feature = "cluster")]
fn of_cluster(args: &AuditArgs, step: &mut dyn FnMut(&'static str)) -> anyhow::Result<Report> {
    let storage = |what: String| anyhow::Error::from(Stop::new(exit::STORAGE, what));
    let Some(database) = &args.cluster else { return Err(storage("no database is given".to_owned())) };
    for dir in &args.warc {
        if !dir.is_dir() {
            return Err(
                Stop::new(exit::USAGE, format!("--warc {}: no such directory", path_text(dir))).into()
            );
        }
    }
    // Asked first: what it removes from the archive afterwards isn't removed in what is read then.
    let is_running = crate::database::is_running(database)?;
    let views = crate::database::snapshot_views(database)?;
    let text = crate::database::settings(database)?;
    let (settings, record) = config::read_record_text(&text)
        .map_err(|error| storage(format!("the crawl's settings can't be read: {error}")))?;
    let Some((_, first)) = views.first() else { return Err(storage("there is no partition".to_owned())) };
    let rules = AuditRules { is_running, ..rules(first, settings, record, args)? };
    let stores: Vec<AnyStore> = views.iter().map(|(_, view)| AnyStore::clone(view.store())).collect();
    let report = audit::audit_cluster(&stores, &args.warc, &rules, step);
    report.map_err(|error| storage(with_causes(&error)))
}

#[cfg(not(feature = "cluster"))]
fn of_cluster(_: &AuditArgs, _: &mut dyn FnMut(&'static str)) -> anyhow::Result<Report> {
    Err(Stop::new(exit::USAGE, "no directory is given").into())
}

fn rules(
    view: &View,
    settings: config::Settings,
    record: config::Record,
    args: &AuditArgs,
) -> anyhow::Result<AuditRules> {
    let key = job::read_key(view.store()).map_err(|error| Stop::new(exit::STORAGE, with_causes(&error)))?;
    Ok(AuditRules {
        agent: robots::Agent::new(&settings.agent.product).with_aliases(&settings.agent.aliases),
        options: settings.robots_options(),
        limits: settings.page.extract_limits(settings.limits.max_links_per_page),
        page_agent: meta::Agent::new(&settings.agent.product).with_aliases(&settings.agent.aliases),
        policy: job::consent_rules(&settings).policy,
        delay: settings.pace.delay,
        settings,
        seeds: record.seeds,
        key,
        head: args.head.clone(),
        temporary: None,
        is_running: false,
    })
}

/// Shows what is read, on a terminal.
fn spinner(console: Console) -> Option<ProgressBar> {
    if console.quiet || console.json || !io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(200));
    Some(bar)
}

fn settings(dir: &Path) -> anyhow::Result<(config::Settings, config::Record)> {
    let file = dir.join("crawl.toml");
    let record = whole_record(&file)?;
    Ok((read_own(&file, dir)?, record))
}

fn write_json(report: &Report, out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Whole<'a> {
        v: u32,
        violations: u64,
        #[serde(flatten)]
        report: &'a Report,
    }
    write_json_line(out, &Whole { v: 1, violations: report.violations(), report })
}
