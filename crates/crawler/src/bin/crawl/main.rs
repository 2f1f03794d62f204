//! The command `crawl`: one file for each subcommand, the work itself is in the library.

mod allocator;
mod audit;
mod cli;
#[cfg(feature = "cluster")]
mod cluster;
mod completions;
mod config_show;
mod crawling;
#[cfg(feature = "cluster")]
mod database;
mod demo;
mod diff;
mod exit;
mod explain;
mod export;
mod forget;
#[cfg(feature = "search")]
mod full_text;
mod hints;
mod logging;
mod man;
mod options;
#[cfg(test)]
mod packaging_tests;
mod page_check;
mod place;
mod plan;
mod progress;
mod reading;
mod recrawl;
mod repair;
mod report;
mod resume;
mod robots_check;
mod robots_history;
mod run;
mod schema;
mod screen;
#[cfg(feature = "serve")]
mod serve;
mod show;
mod signals;
mod steer;
#[cfg(test)]
mod surface_tests;
mod table_name;
mod terminal;
#[cfg(feature = "cluster")]
mod worker;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::CommandFactory;
use crawler::suspects;

use crate::cli::{Cli, Command, ConfigCommand, PageCommand, RobotsCommand, parse};
use crate::terminal::Console;

fn main() -> ExitCode {
    if is_called_with(suspects::TRIAL_ARGUMENT) {
        return exit::status(crawler::job::read_response_alone());
    }
    suspects::may_start_trials();
    #[cfg(feature = "search")]
    if is_called_with(crawler::search::PDF_ARGUMENT) {
        return exit::status(crawler::search::read_pdf());
    }
    #[cfg(feature = "search")]
    crawler::search::may_read_pdf();
    let cli = match parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(code) => return exit::status(code),
    };
    if matches!(cli.command, None | Some(Command::Run(_) | Command::Resume(_) | Command::Recrawl(_)))
        || is_worker(&cli)
    {
        allocator::reexec(std::env::args_os());
    }
    let console = cli.global.console();
    #[cfg(feature = "cluster")]
    database::warn(console);
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // What the database's engine gives up on comes back as an error with its words.
        if !crawler::store::is_caught() {
            usual(panic);
        }
    }));
    let code = match std::panic::catch_unwind(AssertUnwindSafe(|| dispatch(cli, console))) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => exit::report(&error, console),
        // The panic hook has printed what and where.
        Err(_) => exit::UNEXPECTED,
    };
    exit::status(code)
}

/// Whether this process is one that reads a document alone: this is its only argument.
fn is_called_with(argument: &str) -> bool {
    let mut arguments = std::env::args_os().skip(1);
    arguments.next().is_some_and(|first| first == argument) && arguments.next().is_none()
}

#[cfg(feature = "cluster")]
fn is_worker(cli: &Cli) -> bool {
    matches!(cli.command, Some(Command::Worker(_)))
}

#[cfg(not(feature = "cluster"))]
fn is_worker(_: &Cli) -> bool {
    false
}

/// Runs the subcommand; the bare form is `run`.
fn dispatch(cli: Cli, console: Console) -> anyhow::Result<i32> {
    match cli.command {
        None => run::run(&cli.run, console),
        Some(Command::Run(args)) => run::run(&args, console),
        Some(Command::Resume(args)) => resume::run(&args, console),
        Some(Command::Recrawl(args)) => recrawl::run(&args, console),
        Some(Command::Repair(args)) => repair::run(&args, console),
        Some(Command::Demo(args)) => demo::run(&args, console),
        Some(Command::Plan(args)) => plan::run(&args, console),
        Some(Command::Status(args)) => steer::status(&args, console),
        Some(Command::Stop(args)) => steer::stop(&args, console),
        Some(Command::Pause(args)) => steer::pause(&args, console),
        Some(Command::Continue(args)) => steer::carry_on(&args, console),
        Some(Command::Set(args)) => steer::set(&args, console),
        Some(Command::Show(args)) => show::run(&args, console),
        #[cfg(feature = "serve")]
        Some(Command::Serve(args)) => serve::run(&args, console),
        Some(Command::Export(args)) => export::run(&args, console),
        Some(Command::Forget(args)) => forget::run(&args, console),
        Some(Command::Diff(args)) => diff::run(&args, console),
        Some(Command::Schema(args)) => schema::run(&args, console),
        #[cfg(feature = "search")]
        Some(Command::Search(args)) => full_text::search(&args, console),
        #[cfg(feature = "search")]
        Some(Command::Index(args)) => full_text::index(&args, console),
        #[cfg(feature = "cluster")]
        Some(Command::Cluster { command }) => cluster::run(&command, console),
        #[cfg(feature = "cluster")]
        Some(Command::Worker(args)) => worker::run(&args, console),
        Some(Command::Audit(args)) => audit::run(&args, console),
        Some(Command::Explain(args)) => explain::run(&args, console),
        Some(Command::Report(args)) => report::run(&args, console),
        Some(Command::Page { command: PageCommand::Check(args) }) => page_check::run(&args, console),
        Some(Command::Robots { command: RobotsCommand::Check(args) }) => robots_check::run(&args, console),
        Some(Command::Robots { command: RobotsCommand::Log(args) }) => robots_history::log(&args, console),
        Some(Command::Robots { command: RobotsCommand::Diff(args) }) => robots_history::diff(&args, console),
        Some(Command::Config { command: ConfigCommand::Show(args) }) => config_show::run(&args, console),
        Some(Command::Completions(args)) => completions::run(&args, Cli::command()),
        Some(Command::Man(args)) => man::run(&args, Cli::command()),
    }
}
