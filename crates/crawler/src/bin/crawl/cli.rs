//! The command line: subcommands, global options, and the form without a subcommand.

use std::ffi::OsString;
use std::io::Write;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

#[cfg(feature = "cluster")]
use crate::cluster;
use crate::exit;
#[cfg(feature = "search")]
use crate::full_text;
use crate::hints::with_hint;
#[cfg(feature = "serve")]
use crate::serve;
use crate::terminal::{Color, Console};
#[cfg(feature = "cluster")]
use crate::worker;
use crate::{
    audit, completions, config_show, demo, diff, explain, export, forget, man, page_check, plan, recrawl,
    repair, report, resume, robots_check, robots_history, run, schema, show, steer,
};

const EXAMPLES: &str = "\
Examples:
  crawl https://example.org --agent SuperRobot/1.0 --contact ann@example.org
  crawl --seed urls.txt --agent SuperRobot/1.0 --contact ann@example.org
  crawl --seed - --agent SuperRobot/1.0 --delay 2s --max-pages 1000 < urls.txt
  crawl resume crawl-data
  crawl show crawl-data
  crawl demo";

const LONG: &str = "\
Examples:
  crawl https://example.org --agent SuperRobot/1.0 --contact ann@example.org
  crawl --seed urls.txt --agent SuperRobot/1.0 --contact ann@example.org
  crawl --seed - --agent SuperRobot/1.0 --delay 2s --max-pages 1000 < urls.txt
  crawl --config study.toml
  crawl plan --seed urls.txt --agent SuperRobot/1.0 --sitemaps
  crawl resume crawl-data
  crawl show crawl-data pages
  crawl export crawl-data --table pages --format csv -o pages.csv
  crawl robots check --agent SuperRobot/1.0 robots.txt https://example.org/private/
  crawl demo

Units:
  durations: 500ms 10s 5m 2h 1d; sizes: 512B 10KB (10,000) 4MiB (4,194,304) 1GiB; a unit is required;
  a limit may be `none`

Settings:
  an option overrides its environment variable (CRAWL_MAX_DELAY for --max-delay), which overrides
  the file given by --config, which overrides the default; `crawl config show` prints the
  effective settings and where each comes from

Exit codes:
   0  complete: every URL found was fetched, or has a final reason why not
   1  unexpected failure; robots check, explain: not allowed; diff: differences found
   2  usage: invalid option or value
   3  configuration: invalid file or environment variable
   4  no seed could be crawled
   5  storage or disk error
  10  complete within limits, or ended by a limit; can be resumed with a higher one
  11  interrupted (Ctrl-C, SIGTERM); can be resumed
  12  forced to stop (second Ctrl-C); can be resumed
  13  incomplete: URLs or hosts remain, one crashed, or a seed can't be crawled; can be resumed
  14  audit found a violation

Output directory:
  db/ the database, warc/ the bodies, index/ the full-text index, log/ the log,
  crawl.toml the effective settings";

/// A polite web crawler: honours robots.txt, robots meta tags and X-Robots-Tag, limits its request rate per host, and
/// records the reason for every decision.
#[derive(Debug, Parser)]
#[command(
    name = "crawl",
    version,
    after_help = EXAMPLES,
    after_long_help = LONG,
    override_usage = "crawl --seed FILE --agent NAME/VERSION [OPTIONS]\n       crawl URL... --agent NAME/VERSION [OPTIONS]\n       crawl COMMAND [OPTIONS]",
    max_term_width = 110,
    disable_help_subcommand = true,
    subcommand_value_name = "COMMAND"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: run::RunArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Crawl from a list of seeds; the default without a command
    Run(run::RunArgs),
    /// Resume a crawl
    Resume(resume::ResumeArgs),
    /// Visit stored pages again, and record what changed
    Recrawl(recrawl::RecrawlArgs),
    /// Show what a running crawl does, or how it ended
    Status(steer::StatusArgs),
    /// Stop a running crawl, as Ctrl-C does, and wait until it has ended
    Stop(steer::StopArgs),
    /// Pause a running crawl, or one of its hosts
    Pause(steer::PauseArgs),
    /// Continue a paused crawl, or one of its hosts
    Continue(steer::PauseArgs),
    /// Set a longer delay for a running crawl, or one of its hosts
    Set(steer::SetArgs),
    /// Copy what is readable of a damaged crawl to a new directory
    Repair(repair::RepairArgs),
    /// Serve two example sites on loopback and crawl them with three robots
    Demo(demo::DemoArgs),
    /// Dry run: list what may be fetched, the rules that apply and the expected duration; requests only robots.txt and sitemaps
    Plan(plan::PlanArgs),
    /// Show a crawl's summary, one of its tables, a page, or a stored robots.txt
    Show(show::ShowArgs),
    /// Serve a crawl, running or finished, to browsers
    #[cfg(feature = "serve")]
    Serve(serve::ServeArgs),
    /// Export tables as CSV, JSON lines, Parquet, SQLite, GraphML or edge lists
    Export(export::ExportArgs),
    /// Remove what a crawl has of a URL, a host or matching URLs, and never fetch them again
    Forget(forget::ForgetArgs),
    /// List the columns of all tables: name, type, unit, meaning
    Schema(schema::SchemaArgs),
    /// Compare two crawls: pages, robots.txt and directives that were added, removed or changed
    Diff(diff::DiffArgs),
    /// Full-text search
    #[cfg(feature = "search")]
    Search(full_text::SearchArgs),
    /// Build the full-text index of a crawl from its archive
    #[cfg(feature = "search")]
    Index(full_text::IndexArgs),
    /// Verify from a crawl's own records that it was polite and stored only what it was allowed to
    Audit(audit::AuditArgs),
    /// Explain every decision about a URL: how it was found, what was decided, and why
    Explain(explain::ExplainArgs),
    /// Write the report of a crawl as an HTML file, or the report for the owner of one host
    Report(report::ReportArgs),
    /// Make, show, stop and resume a crawl on many machines
    #[cfg(feature = "cluster")]
    #[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
    Cluster {
        #[command(subcommand)]
        command: cluster::ClusterCommand,
    },
    /// Work on a crawl on many machines
    #[cfg(feature = "cluster")]
    Worker(worker::WorkerArgs),
    /// Check the robots directives of a page
    #[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
    Page {
        #[command(subcommand)]
        command: PageCommand,
    },
    /// Check a robots.txt, or its versions during a crawl
    #[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
    Robots {
        #[command(subcommand)]
        command: RobotsCommand,
    },
    /// Show the effective settings
    #[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Print shell completions
    Completions(completions::CompletionsArgs),
    /// Print the manual page, as roff
    Man(man::ManArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum PageCommand {
    /// Show the effective directives of a page, and the tag or header line each comes from
    Check(page_check::PageCheckArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum RobotsCommand {
    /// Test URLs against a robots.txt, and list warnings for its author
    Check(robots_check::RobotsCheckArgs),
    /// List every response to the crawl's requests for a site's robots.txt
    Log(robots_history::RobotsLogArgs),
    /// Compare two versions of a site's robots.txt, and list what changes for the crawl
    Diff(robots_history::RobotsDiffArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting with its value and where it comes from
    Show(config_show::ConfigShowArgs),
}

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Messages")]
pub(crate) struct GlobalArgs {
    /// Write results and progress as JSON, one object per line, each with "v":1
    #[arg(long, global = true)]
    json: bool,
    /// Print only errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more: -v a line for each page, -vv every decision with its reason
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// When to colour messages [default: auto]
    #[arg(long, global = true, value_name = "WHEN", hide_possible_values = false)]
    color: Option<Color>,
}

impl GlobalArgs {
    pub(crate) fn console(&self) -> Console {
        Console {
            json: self.json,
            quiet: self.quiet,
            verbose: self.verbose,
            color: self.color.unwrap_or_default(),
        }
    }
}

/// `crawl help COMMAND` is `crawl COMMAND --help`.
fn help_asked(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_some_and(|word| word == "help") {
        args.remove(1);
        args.push("--help".into());
    }
    args
}

/// Reads the command line. Help, version and usage errors are printed here; their exit code is the error.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, i32> {
    let args = help_asked(args.into_iter().collect());
    let mut command = Cli::command().color(Color::asked(&args).for_help());
    if args.len() < 2
        && std::env::var_os("CRAWL_SEED").is_none()
        && std::env::var_os("CRAWL_CONFIG").is_none()
    {
        // If stderr can't be written, there is nowhere to report it.
        drop(write!(std::io::stderr().lock(), "{}", command.render_help()));
        return Err(exit::USAGE);
    }
    let parsed = command.try_get_matches_from_mut(args).and_then(|matches| Cli::from_arg_matches(&matches));
    let names = || command.get_subcommands().map(clap::Command::get_name);
    let cli = parsed.map_err(|error| exit::print_argument_error(with_hint(error, names())))?;
    if cli.command.is_some() && !cli.run.is_empty() {
        let what = "crawl options go after the subcommand: crawl COMMAND [OPTIONS]";
        return Err(exit::print_argument_error(command.error(ErrorKind::ArgumentConflict, what)));
    }
    Ok(cli)
}
