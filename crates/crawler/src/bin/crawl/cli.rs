//! The command line as a whole: subcommands, options that every one of them takes, the bare form.

use std::ffi::OsString;
use std::io::Write;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit;
#[cfg(feature = "search")]
use crate::full_text;
use crate::terminal::{Color, Talk};
use crate::{
    audit, completions, config_show, demo, diff, explain, export, man, page_check, plan, repair, report,
    resume, robots_check, robots_history, run, schema, show,
};

const EXAMPLES: &str = "\
Examples:
  crawl --seed urls.txt --agent SuperRobot/1.0 --contact ann@example.org
  crawl --seed - --agent SuperRobot/1.0 --delay 2s --max-pages 1000 < urls.txt
  crawl resume crawl-data
  crawl show crawl-data
  crawl demo";

const LONG: &str = "\
Examples:
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
  a limit may be none

Settings:
  an option beats its environment variable (CRAWL_MAX_DELAY for --max-delay), which beats the file of --config, which
  beats the default; `crawl config show` prints what is in force and where it comes from

Exit codes:
   0  complete: every URL found was fetched whole, or has a final reason
   1  unexpected failure; robots check, explain: not allowed; diff: something differs
   2  usage: wrong option or value
   3  config: wrong file or environment variable
   4  no seed could be crawled
   5  storage or disk
  10  complete within limits, or ended by a limit; can be resumed with others
  11  interrupted (Ctrl-C, SIGTERM); can be resumed
  12  forced to stop (second Ctrl-C); can be resumed
  13  incomplete: URLs or hosts remain, or a seed can't be crawled; can be resumed
  14  audit found a violation

Output directory:
  db/ the database, warc/ the bodies, index/ the full-text index, log/ the log, crawl.toml the settings in force";

/// Crawls the web politely: asks robots.txt, waits, obeys what pages say, and keeps the reason of every decision.
#[derive(Debug, Parser)]
#[command(
    name = "crawl",
    version,
    after_help = EXAMPLES,
    after_long_help = LONG,
    override_usage = "crawl --seed FILE --agent NAME/VERSION [OPTIONS]\n       crawl [OPTIONS] COMMAND",
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
    /// Crawls from a list of seeds; the same as no command at all
    Run(run::RunArgs),
    /// Goes on with a crawl where it stopped, for whatever reason it stopped
    Resume(resume::ResumeArgs),
    /// Saves what can be read of a damaged crawl into a new directory
    Repair(repair::RepairArgs),
    /// Serves two example sites on loopback and crawls them with three robots
    Demo(demo::DemoArgs),
    /// Says what a crawl may fetch, by which rules and how fast, before it does; asks for robots.txt and sitemaps alone
    Plan(plan::PlanArgs),
    /// Shows a crawl: its summary, one of its tables, a page, or a stored robots.txt
    Show(show::ShowArgs),
    /// Writes tables of crawls as CSV, JSON lines, Parquet, SQLite, GraphML or lists of edges
    Export(export::ExportArgs),
    /// Lists the columns of all tables: name, type, unit, meaning
    Schema(schema::SchemaArgs),
    /// Compares two crawls: pages, robots.txt and directives that were added, are gone or changed
    Diff(diff::DiffArgs),
    /// Finds pages by their words
    #[cfg(feature = "search")]
    Search(full_text::SearchArgs),
    /// Builds the full-text index of a crawl from its archive
    #[cfg(feature = "search")]
    Index(full_text::IndexArgs),
    /// Judges a crawl from its own records: was it polite, and does it hold only what it may?
    Audit(audit::AuditArgs),
    /// Tells the story of one URL: how it was found, what was decided about it, and why
    Explain(explain::ExplainArgs),
    /// Writes what was asked of a host, and what is broken there, to be sent to its owner
    Report(report::ReportArgs),
    /// Reads pages for what they ask of a robot
    #[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
    Page {
        #[command(subcommand)]
        command: PageCommand,
    },
    /// Looks at a robots.txt
    #[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
    Robots {
        #[command(subcommand)]
        command: RobotsCommand,
    },
    /// Shows the settings in force
    #[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Prints the completions for a shell
    Completions(completions::CompletionsArgs),
    /// Prints the manual page, as roff
    Man(man::ManArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum PageCommand {
    /// Tells what a page's directives say, and which tag or header line said it
    Check(page_check::PageCheckArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum RobotsCommand {
    /// Says what a robots.txt says about URLs, and what its author should know
    Check(robots_check::RobotsCheckArgs),
    /// Lists every answer of a site to the crawl's requests for its robots.txt
    Log(robots_history::RobotsLogArgs),
    /// Compares two versions of a site's robots.txt, and tells what changes for the crawl
    Diff(robots_history::RobotsDiffArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Prints every setting with its value and where it comes from
    Show(config_show::ConfigShowArgs),
}

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Messages")]
pub(crate) struct GlobalArgs {
    /// Writes results and progress as JSON, one object a line, each with "v":1
    #[arg(long, global = true)]
    json: bool,
    /// Says nothing but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Says more: -v what happens, -vv every decision with its reason
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Colours messages; auto: on a terminal, unless `NO_COLOR` is set [default: auto]
    #[arg(long, global = true, value_name = "WHEN", hide_possible_values = false)]
    color: Option<Color>,
}

impl GlobalArgs {
    pub(crate) fn talk(&self) -> Talk {
        Talk {
            json: self.json,
            quiet: self.quiet,
            verbose: self.verbose,
            color: self.color.unwrap_or_default(),
        }
    }
}

/// Reads the command line. Help, version and usage errors are printed here; their exit code is the error.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, i32> {
    let args: Vec<OsString> = args.into_iter().collect();
    let mut command = Cli::command().color(Color::asked(&args).for_help());
    if args.len() < 2
        && std::env::var_os("CRAWL_SEED").is_none()
        && std::env::var_os("CRAWL_CONFIG").is_none()
    {
        // Nobody is left to tell when stderr can't be written.
        drop(write!(std::io::stderr().lock(), "{}", command.render_help()));
        return Err(exit::USAGE);
    }
    let parsed = command.try_get_matches_from_mut(args).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = parsed.map_err(tell)?;
    if cli.command.is_some() && !cli.run.is_empty() {
        let what =
            "an option of the crawl stands before the command: options of a command stand after its name";
        return Err(tell(command.error(ErrorKind::ArgumentConflict, what)));
    }
    Ok(cli)
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands it over")]
fn tell(error: clap::Error) -> i32 {
    // Where not even this can be written, the exit code still tells.
    drop(error.print());
    error.exit_code()
}
