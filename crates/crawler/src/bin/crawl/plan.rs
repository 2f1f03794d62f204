//! `crawl plan`: the dry run of a crawl.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use crawler::config::{load_own, read_record};
use crawler::crawl_dir::refuse_links;
use crawler::job;
use crawler::plan::Plan;
use crawler::store::AnyStore;
use crawler::view::{ViewError, write_json_line};
use page::url::CrawlUrl;

use crate::exit;
use crate::options::environment;
use crate::reading::ReadingArgs;
use crate::run::{self, RunArgs};
use crate::terminal::Console;
use crate::{crawling, show};

/// Options of `plan`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Requests robots.txt, and sitemaps with --sitemaps, with the delays of a crawl; with --offline
nothing. Prints the plan and writes no files. Takes the options of `crawl run`.

Examples:
  crawl plan --seed urls.txt --agent SuperRobot/1.0 --sitemaps
  crawl plan --offline crawl-data --json | jq '.hosts[] | {host, delay, least_duration}'

Exit codes: 0; 4 if none of the known URLs may be fetched")]
pub(crate) struct PlanArgs {
    /// Plan from what the crawl in this directory has stored, without any request
    #[arg(long, value_name = "DIR", help_heading = "What and where")]
    offline: Option<PathBuf>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Makes a plan and prints it.
pub(crate) fn run(args: &PlanArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    #[cfg(feature = "serve")]
    if args.run.serves() {
        return Err(exit::Stop::new(
            exit::USAGE,
            "--serve is for `crawl run` and `crawl resume`: a plan isn't served",
        )
        .into());
    }
    let plan = match &args.offline {
        Some(dir) => offline(args, dir, console)?,
        None => online(args, console)?,
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if console.json { write_json_line(&mut out, &plan) } else { plan.write_text(&mut out) };
    let written = written.and_then(|()| out.flush()).map_err(ViewError::from);
    // What is still in the buffer has been written, or nobody wants it.
    let (_, _) = out.into_parts();
    show::finish(written)?;
    Ok(if plan.allowed == 0 { exit::NO_SEED } else { exit::COMPLETE })
}

fn online(args: &PlanArgs, console: Console) -> anyhow::Result<Plan> {
    let job = run::prepare(&args.run, console)?;
    let seeds: Vec<CrawlUrl> = job.seeds.seeds.into_iter().map(|(_, url)| url).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let plan =
        runtime.block_on(job::plan(&job.settings, &seeds)).map_err(|error| crawling::with_exit_code(&error));
    runtime.shutdown_background();
    plan
}

fn offline(args: &PlanArgs, dir: &std::path::Path, console: Console) -> anyhow::Result<Plan> {
    refuse_links(dir).map_err(|error| crawling::with_exit_code(&error.into()))?;
    exit::expect_crawl(dir)?;
    let file = dir.join("crawl.toml");
    let overrides = args.run.overrides();
    let has_seeds = overrides.iter().any(|(path, _)| path == "seed");
    let loaded = load_own(&overrides, environment(), &file, args.run.config().as_deref())?;
    for warning in &loaded.warnings {
        console.warning(warning);
    }
    let settings = loaded.settings;
    let seeds: Vec<CrawlUrl> = if has_seeds {
        let list = crawler::seeds::read(&settings.seed)?;
        list.seeds.into_iter().map(|(_, url)| url).collect()
    } else {
        read_record(&file)?.seed_urls()?
    };
    let view = args.reading.open(dir)?;
    let store = Arc::new(AnyStore::clone(view.store()));
    job::plan_stored(&settings, &seeds, &store, page::clock::wall())
        .map_err(|error| crawling::with_exit_code(&error))
}
