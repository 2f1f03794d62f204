//! `crawl audit`: verifies a crawl's output.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use crawler::audit::{self, AuditRules, Report};
use crawler::causes::with_causes;
use crawler::config::{self, CliOverrides, load};
use crawler::job;
use crawler::live::Holder;
use crawler::view::{ViewError, write_json_line};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::exit::{self, Stop};
use crate::options::path_text;
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
  crawl audit crawl-data --json | jq '.checks[] | {name, judged, margin_s}'")]
pub(crate) struct AuditArgs {
    /// Directory of the crawl
    dir: PathBuf,
    /// Expected head of the ledger, as the crawl printed it, or at least its first 16 digits
    ///
    /// The head changes if anything in the ledger changes, or anything whose digest it contains: page records, links,
    /// robots.txt versions, the archive, settings.
    #[arg(long, value_name = "HEX", value_parser = head)]
    head: Option<String>,
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
    let view = show::open(&args.dir)?;
    let (settings, record) = settings(args)?;
    let key = job::read_key(view.store()).map_err(|error| Stop::new(exit::STORAGE, with_causes(&error)))?;
    let rules = AuditRules {
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
        temporary: Some(args.dir.clone()),
        is_running: view.holder() == Some(Holder::Crawl),
    };
    let warc = args.dir.join("warc");
    let bar = spinner(console);
    let mut step = |what: &'static str| {
        if let Some(bar) = &bar {
            bar.set_message(format!("auditing: {what}"));
        }
    };
    let report = audit::audit_step_by_step(view.store(), warc.is_dir().then_some(&warc), &rules, &mut step);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let report = report.map_err(|error| Stop::new(exit::STORAGE, with_causes(&error)))?;
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if console.json { write_json(&report, &mut out) } else { report.write_text(&mut out) };
    let written = written.and_then(|()| out.flush()).map_err(ViewError::from);
    // What is still in the buffer has been written, or nobody wants it.
    let (_, _) = out.into_parts();
    show::finish(written)?;
    Ok(if report.violations() > 0 { exit::VIOLATION } else { exit::COMPLETE })
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

fn settings(args: &AuditArgs) -> anyhow::Result<(config::Settings, config::Record)> {
    let file = args.dir.join("crawl.toml");
    let record = whole_record(&file)?;
    let mut overrides = CliOverrides::default();
    overrides.set("out", path_text(&args.dir));
    let settings = load(&overrides, [], Some(&file))?.settings;
    Ok((settings, record))
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
