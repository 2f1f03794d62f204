//! `crawl worker`: crawls parts of a crawl on many machines.

use std::path::PathBuf;

use clap::Args;
use crawler::causes::with_causes;
#[cfg(feature = "object-storage")]
use crawler::cluster::ObjectsError;
use crawler::cluster::{self, Address, ArchiveError, ArchivePlace, Ended, Figures, WorkError, WorkerOptions};
use crawler::crawl_dir::CrawlDir;
use crawler::engine::Stop as Request;
use page::quantity::{count, size};
use serde_json::json;
use tokio::sync::watch;

use crate::database::{address, database_error};
use crate::exit::{self, Stop};
use crate::run::PROGRAM;
use crate::terminal::Console;

/// The reason of URLs whose reading ended a process, as outputs have it.
const CRASHED: &str = "crashed";

/// Calls of `tell`, one a second, from one line of progress to the next.
const EVERY: u32 = 10;

const WARC: &str =
    "Where the archive goes: a directory of this worker alone, or s3://BUCKET/PREFIX [default: warc/ in DIR]";

#[cfg(feature = "serve")]
const SERVE: &str =
    "Serve /metrics and /healthz of this worker while it runs [default address: 127.0.0.1:8470]";
#[cfg(feature = "serve")]
const TOKEN_FILE: &str = "File with a token that whoever reads them must give, at least 16 characters";

/// Options of `worker`.
#[derive(Clone, Debug, Args)]
#[cfg_attr(feature = "serve", command(mut_arg("serve", |arg| arg.help(SERVE)), mut_arg("token_file", |arg| arg.help(TOKEN_FILE))))]
#[command(after_help = "\
Settings and seeds are those of `crawl cluster init`; --concurrency holds for each worker. Ends when
the crawl is complete or stopped. Ctrl-C finishes the requests in flight and gives the worker's part
of the crawl to the others; a second one aborts them.

Example:
  crawl worker --cluster postgres://crawl@db.example.org/study --out worker-data")]
pub(crate) struct WorkerArgs {
    /// URL of the crawl's database; a password can be in the variable PGPASSWORD
    #[arg(long, value_name = "DATABASE", value_parser = address)]
    cluster: Address,
    /// Directory for the archive and the log of this worker; one worker at a time uses it
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Where the archive goes: a directory, or object storage [default: warc/ in DIR]
    #[arg(long, value_name = "DIR|URL", help = WARC)]
    warc: Option<ArchivePlace>,
    /// Name of this worker in `crawl cluster status` [default: the machine's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[cfg(feature = "serve")]
    #[command(flatten)]
    serve: crate::serve::ServeWhileArgs,
}

pub(crate) fn run(args: &WorkerArgs, console: Console) -> anyhow::Result<i32> {
    let dir =
        CrawlDir::of_worker(&args.out).map_err(|error| crate::crawling::with_exit_code(&error.into()))?;
    let log = dir.log().map_err(|error| crate::crawling::with_exit_code(&error.into()))?;
    crate::logging::start(console, Some(log));
    let (ask, asked) = watch::channel(Request::No);
    crate::signals::listen(ask, move |words, _| console.note(words))?;
    let name = args.name.clone().unwrap_or_else(crawler::cluster::machine);
    let options = WorkerOptions {
        address: args.cluster.clone(),
        name,
        program: PROGRAM.to_owned(),
        archive: args.warc.clone().unwrap_or_default(),
    };
    #[cfg(feature = "serve")]
    let board = std::sync::Arc::default();
    #[cfg(feature = "serve")]
    let _server = args.serve.serve_worker(&board, console)?;
    let mut calls = 0;
    let mut last = Figures::default();
    let mut tell = |figures: Figures| {
        if calls % EVERY == 0 && !console.quiet {
            console.note(&progress(&figures));
        }
        calls += 1;
        #[cfg(feature = "serve")]
        board.show(figures);
        last = figures;
    };
    let ended = cluster::work(&options, &dir, &asked, &mut tell);
    let ended = ended.map_err(|error| with_exit_code(&error))?;
    let (code, words) = match ended {
        Ended::Complete => complete(&args.cluster)?,
        Ended::CrawlStopped => (exit::INTERRUPTED, "the crawl was stopped".to_owned()),
        Ended::Stopped => (exit::INTERRUPTED, "this worker was stopped".to_owned()),
        Ended::Silent => (
            exit::INTERRUPTED,
            "this worker was stopped while the database didn't answer: what that hasn't confirmed may be fetched again"
                .to_owned(),
        ),
        Ended::Forced => (exit::FORCED, "this worker was stopped at once".to_owned()),
    };
    let text = if console.json {
        let totals = last.totals;
        format!(
            "{}\n",
            json!({"v": 1, "event": "summary", "end": words, "exit_code": code, "totals": totals})
        )
    } else {
        format!("{words}; show the crawl with: crawl cluster status DATABASE\n")
    };
    exit::print(text.as_bytes())?;
    Ok(code)
}

/// The end of a crawl of which nothing remains to be done.
fn complete(database: &Address) -> anyhow::Result<(i32, String)> {
    let status = cluster::status(database).map_err(|error| database_error(&error))?;
    let remain = "the crawl has ended, with URLs that remain; `crawl cluster resume DATABASE` continues it";
    let crashed = "the crawl has ended, but reading some URLs ended a process; `crawl cluster resume DATABASE --retry-crashed` tries them again";
    Ok(if let Some(limit) = &status.limit {
        (exit::LIMIT, format!("limit reached: {limit}"))
    } else if status.totals.pages == 0 {
        (exit::NO_SEED, "no seed could be crawled".to_owned())
    } else if status.queued > 0 {
        (exit::REMAINING, remain.to_owned())
    } else if status.has_crashed && has_urls_that_crashed(database, status.totals.runs)? {
        (exit::REMAINING, crashed.to_owned())
    } else {
        (exit::COMPLETE, "the crawl is complete".to_owned())
    })
}

/// Whether there are URLs whose reading ended a process, and that weren't read since. Cost: all records are read, so it is only asked where there were any.
fn has_urls_that_crashed(database: &Address, runs: u64) -> anyhow::Result<bool> {
    let views = crate::database::snapshot_views(database)?;
    let summary =
        crawler::view::summary_of(&views, false, runs).map_err(|error| crate::exit::view_error(&error))?;
    Ok(summary.sitemaps_crashed > 0 || summary.errors.contains_key(CRASHED))
}

fn progress(figures: &Figures) -> String {
    let Figures { worker, partitions, queued, in_flight, totals, lease, silent, .. } = figures;
    let waits = if lease.is_none() {
        "; waits for the database, and asks no host meanwhile"
    } else if *silent >= cluster::ANSWER {
        "; the database doesn't answer"
    } else {
        ""
    };
    format!(
        "worker {worker}: {}, {}, {queued} queued, {in_flight} in flight, {}{waits}",
        count(*partitions, "partition"),
        count(totals.pages, "page"),
        size(totals.bytes)
    )
}

fn with_exit_code(error: &WorkError) -> anyhow::Error {
    let code = match error {
        WorkError::Cluster(error) => return database_error(error),
        WorkError::Prepare(error) => return crate::crawling::with_exit_code(error),
        WorkError::Version { .. }
        | WorkError::CrawlStopped
        | WorkError::Moved(_)
        | WorkError::OtherCrawl(_) => exit::USAGE,
        WorkError::Config(_) => exit::CONFIG,
        WorkError::Archive(ArchiveError::Dir(error)) => return crate::crawling::with_exit_code(error),
        #[cfg(feature = "object-storage")]
        WorkError::Archive(ArchiveError::Objects(ObjectsError::OtherCrawl(_))) => exit::USAGE,
        WorkError::Archive(_) => exit::STORAGE,
        WorkError::Warc(_) | WorkError::Commit(_) | WorkError::Store(_) => exit::STORAGE,
        _ => exit::UNEXPECTED,
    };
    Stop::new(code, with_causes(error)).into()
}
