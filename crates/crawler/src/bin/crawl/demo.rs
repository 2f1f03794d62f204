//! `crawl demo`: two classic sites on loopback, three robots.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use crawler::demo::report::Form;
use crawler::demo::{self, TourError};
use page::clean::clean;

use crate::exit;
use crate::terminal::Console;

/// Options of `demo`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Serves Joe's Hardware and Mary's Antiques under their names on 127.0.0.1, crawls them as
Suzy-Spider, Furniture-Finder and Nosy-Bot, and prints what each of them was allowed to see, and
why. -v also prints every URL that each of them found, and what became of it. Needs no network and
takes a few seconds.")]
pub(crate) struct DemoArgs {
    /// Directory for the three crawls [default: a temporary directory that is removed at the end]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the demonstration.
pub(crate) fn run(args: &DemoArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let passing = match args.out {
        Some(_) => None,
        None => Some(tempfile::tempdir().context("can't create a temporary directory")?),
    };
    let out = match (&args.out, &passing) {
        (Some(out), _) => out.clone(),
        (None, Some(dir)) => dir.path().to_owned(),
        (None, None) => std::env::temp_dir(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let reports = runtime.block_on(demo::tour(&out, crate::run::PROGRAM)).map_err(|error| match &error {
        TourError::Job(job) => crate::crawling::with_exit_code(job),
        _ => error.into(),
    })?;
    let stdout = io::stdout();
    let colour = console.color.allows(stdout.is_terminal(), std::env::var_os("NO_COLOR").as_ref());
    let form = Form { colour, details: console.verbose > 0 };
    demo::report::print(&mut stdout.lock(), &reports, form)?;
    let program = started_as(std::env::args_os().next());
    exit::print(next_steps(&program, args, form.details).as_bytes())?;
    Ok(exit::COMPLETE)
}

/// The program as the user can start it again: by its path where it was started so, as by `cargo run`.
fn started_as(argument: Option<OsString>) -> String {
    let path = argument.map(PathBuf::from).filter(|path| path.components().count() > 1);
    path.map_or_else(|| "crawl".to_owned(), |path| clean(&path.display().to_string()).into_owned())
}

/// What to try next.
fn next_steps(program: &str, args: &DemoArgs, has_details: bool) -> String {
    let mut steps = Vec::new();
    if !has_details {
        steps.push((
            format!("{program} demo -v"),
            "every URL that each robot found, with the page directives",
        ));
    }
    match &args.out {
        Some(out) => {
            let out = clean(&out.display().to_string()).into_owned();
            steps.push((
                format!("{program} show {out}/Suzy-Spider"),
                "one of the three crawls; they are kept",
            ));
            let url = "http://www.joes-hardware.com/private/payroll.xls";
            steps.push((format!("{program} explain {out}/Suzy-Spider {url}"), "why a URL wasn't fetched"));
        }
        None => steps.push((format!("{program} demo --out demo"), "keep the three crawls, to examine them")),
    }
    let own = "https://www.example.org/ --agent MyRobot/1.0 --contact you@university.example";
    steps.push((format!("{program} {own}"), "a crawl of your own"));
    let lines = steps.into_iter().map(|(command, what)| format!("  {command}\n      {what}\n"));
    format!("\nTry next:\n\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_try_next_is_started_as_the_demo_was() {
        for (argument, program) in [
            (Some("crawl"), "crawl"),
            (None, "crawl"),
            (Some("target/release/crawl"), "target/release/crawl"),
            (Some("./crawl"), "./crawl"),
        ] {
            let program_found = started_as(argument.map(OsString::from));
            assert_eq!(program_found, program);
            for out in [None, Some(PathBuf::from("kept"))] {
                let steps = next_steps(&program_found, &DemoArgs { out }, false);
                let commands: Vec<&str> = steps
                    .lines()
                    .filter_map(|line| line.strip_prefix("  "))
                    .filter(|line| !line.starts_with(' '))
                    .collect();
                assert!(
                    commands.len() >= 3
                        && commands.iter().all(|line| line.starts_with(&format!("{program} "))),
                    "{steps}"
                );
            }
        }
    }
}
