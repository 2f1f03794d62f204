//! `crawl robots log` and `crawl robots diff`: the versions of a site's robots.txt during a crawl.

use std::io::{self, BufWriter, Write};

use clap::Args;
use crawler::view::{View, ViewError, Which};

use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::place::directory_first;
use crate::reading::ReadingArgs;
use crate::show::{finish, view_error};
use crate::terminal::Console;

/// Options of `robots log`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
  crawl robots log crawl-data https://example.org")]
pub(crate) struct RobotsLogArgs {
    /// Directory of the crawl
    dir: String,
    /// Host, with or without a port, or origin, as in <https://example.org:8443>, or any URL of it
    origin: String,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Options of `robots diff`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  crawl robots diff crawl-data https://example.org
  crawl robots diff crawl-data example.org 1 3")]
pub(crate) struct RobotsDiffArgs {
    /// Directory of the crawl
    dir: String,
    /// Host, with or without a port, or origin, as in <https://example.org:8443>, or any URL of it
    origin: String,
    /// The older response: its number in the log, or a prefix of its digest [default: the one before the last change]
    #[arg(requires = "b")]
    a: Option<String>,
    /// The newer response [default: the last change]
    b: Option<String>,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Lists the answers of an origin.
pub(crate) fn log(args: &RobotsLogArgs, console: Console) -> anyhow::Result<i32> {
    let (view, origins) =
        open_at([&args.dir, &args.origin], &args.reading, "crawl robots log DIR ORIGIN", console)?;
    let mut logs = Vec::with_capacity(origins.len());
    for origin in &origins {
        logs.push((origin, view.robots_log(origin).map_err(|error| view_error(&error))?));
    }
    write(|out| {
        for (origin, answers) in &logs {
            if !console.json {
                if logs.len() > 1 {
                    writeln!(out, "{}", page::clean::clean(origin))?;
                }
                writeln!(
                    out,
                    "{:>4}  {:<24}  {:<9}  {:<12}  {:>7}  why",
                    "no", "fetched", "meaning", "digest", "bytes"
                )?;
            }
            for answer in answers {
                if console.json { answer.write_json(out)? } else { answer.write_text(out)? }
            }
        }
        Ok(())
    })
}

/// Compares two answers of an origin.
pub(crate) fn diff(args: &RobotsDiffArgs, console: Console) -> anyhow::Result<i32> {
    let (view, origins) =
        open_at([&args.dir, &args.origin], &args.reading, "crawl robots diff DIR ORIGIN [A B]", console)?;
    let [origin] = &origins[..] else {
        let what = format!("several origins have a stored robots.txt, choose one: {}", origins.join(" "));
        return Err(Stop::new(exit::USAGE, page::clean::clean(&what).into_owned()).into());
    };
    let pair = args.a.clone().zip(args.b.clone()).map(|(a, b)| [Which(a), Which(b)]);
    let named = pair.is_some();
    match view.robots_diff(origin, pair.as_ref()).map_err(|error| view_error(&error))? {
        Some(difference) => {
            write(|out| if console.json { difference.write_json(out) } else { difference.write_text(out) })
        }
        None if named => {
            let what = format!(
                "{origin} has no such response: `crawl robots log` lists them with number and digest"
            );
            Err(Stop::new(exit::USAGE, what).into())
        }
        None => {
            console.note(&format!("the robots.txt of {origin} never changed during this crawl"));
            Ok(exit::COMPLETE)
        }
    }
}

fn open_at(
    [first, second]: [&str; 2],
    reading: &ReadingArgs,
    usage: &str,
    console: Console,
) -> anyhow::Result<(View, Vec<String>)> {
    crate::logging::start(console, None);
    let (dir, origin) = directory_first(first, second, usage)?;
    let view = reading.open(&dir)?;
    let found = view.robots_origins(origin).map_err(|error| view_error(&error))?;
    if found.is_empty() {
        let text = page::clean::clean(origin);
        let dir = path_text(&dir);
        let what = format!("no robots.txt of {text} is stored; `crawl show {dir} robots` lists all");
        return Err(Stop::new(exit::USAGE, what).into());
    }
    Ok((view, found))
}

/// Writes to standard output.
pub(crate) fn write(
    what: impl FnOnce(&mut BufWriter<io::StdoutLock<'static>>) -> io::Result<()>,
) -> anyhow::Result<i32> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = what(&mut out).and_then(|()| out.flush());
    // What is still in the buffer has been written, or nobody wants it.
    let (_, _) = out.into_parts();
    finish(written.map_err(ViewError::from))
}
