//! `crawl report DIR`: the report of a crawl for its researcher, and with `--host` the one for a site's owner.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
#[cfg(feature = "cluster")]
use crawler::cluster::Address;
use crawler::view::View;

use crate::exit::{self, Stop};
use crate::reading::ReadingArgs;
use crate::show::view_error;
use crate::terminal::Console;

/// Options of `report`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
The report of a crawl is one HTML file that needs no network and no script: what was fetched, from
which hosts, how fast, what was skipped and why, errors, links between hosts. With --json it is one
JSON object with the same figures.

Examples:
  crawl report crawl-data -o report.html
  crawl report crawl-data --json | jq .activity.gaps
  crawl report crawl-data --provenance deposit --author 'Ann Example' --license https://spdx.org/licenses/CC0-1.0
  crawl report crawl-data --host www.example.org -o for-the-owner.md
  crawl report --cluster postgres://crawl@db.example.org/study -o report.html")]
pub(crate) struct ReportArgs {
    /// Directory of the crawl
    #[cfg_attr(feature = "cluster", arg(required_unless_present = "cluster"))]
    #[cfg_attr(not(feature = "cluster"), arg(required = true))]
    dir: Option<PathBuf>,
    /// Instead of a directory: the crawl on many machines in this PostgreSQL database
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DATABASE", value_parser = crate::database::address, conflicts_with = "dir")]
    cluster: Option<Address>,
    /// Write the report for the owner of this host instead: its requests, and its broken links
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Write the metadata of a deposit to this directory: RO-Crate, Croissant, CITATION.cff, datasheet, methods
    #[arg(long, value_name = "DIR", conflicts_with_all = ["host", "output"])]
    provenance: Option<PathBuf>,
    /// Title of the data, for --provenance [default: Crawl and its id]
    #[arg(long, value_name = "TITLE", requires = "provenance")]
    title: Option<String>,
    /// Author of the data, for --provenance; repeatable [default: the operators of the robot]
    #[arg(long, value_name = "NAME", requires = "provenance")]
    author: Vec<String>,
    /// URL of the licence of the data, for --provenance [default: none]
    #[arg(long, value_name = "URL", requires = "provenance")]
    license: Option<String>,
    /// Output file, - for standard output [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
}

impl ReportArgs {
    /// What is read, as other commands name it.
    fn place(&self) -> String {
        #[cfg(feature = "cluster")]
        if self.cluster.is_some() {
            return "--cluster DATABASE".to_owned();
        }
        crate::options::path_text(self.dir())
    }

    fn dir(&self) -> &Path {
        self.dir.as_deref().unwrap_or_else(|| Path::new(""))
    }

    /// The store that has a host.
    #[cfg_attr(not(feature = "cluster"), expect(unused_variables, reason = "there is one store"))]
    fn view_with(&self, host: &str) -> anyhow::Result<View> {
        #[cfg(feature = "cluster")]
        if let Some(database) = &self.cluster {
            return crate::database::view_of(
                database,
                &host.trim().trim_end_matches('.').to_ascii_lowercase(),
            );
        }
        self.reading.open(self.dir())
    }

    #[cfg(feature = "report")]
    fn report(&self) -> anyhow::Result<crawler::report::Report> {
        use crawler::report::Report;

        #[cfg(feature = "cluster")]
        if let Some(database) = &self.cluster {
            let (is_running, runs) = crate::database::course(database)?;
            let parts = crate::database::snapshot_views(database)?;
            return Report::of_parts(&parts, is_running, runs).map_err(|error| view_error(&error));
        }
        Report::of(&self.reading.open(self.dir())?).map_err(|error| view_error(&error))
    }
}

/// Writes the report.
pub(crate) fn run(args: &ReportArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    match &args.host {
        Some(host) => owner_report(args, host, console),
        None => whole_report(args, console),
    }
}

fn owner_report(args: &ReportArgs, host: &str, console: Console) -> anyhow::Result<i32> {
    let report = args.view_with(host)?.owner_report(host).map_err(|error| view_error(&error))?;
    let report = report.ok_or_else(|| {
        let host = page::clean::clean(host);
        let place = args.place();
        Stop::new(exit::USAGE, format!("the crawl has no host {host}; `crawl show {place} hosts` lists them"))
    })?;
    write_to(args.output.as_deref(), |mut out| {
        if console.json { report.write_json(&mut out) } else { report.write_text(&mut out) }
    })
}

#[cfg(feature = "report")]
fn whole_report(args: &ReportArgs, console: Console) -> anyhow::Result<i32> {
    if let Some(dir) = &args.provenance {
        return provenance(args, dir, console);
    }
    if args.output.is_none() && !console.json && io::IsTerminal::is_terminal(&io::stdout()) {
        let words = "the report is an HTML file; name it: `crawl report DIR -o report.html` (or give --json)";
        return Err(Stop::new(exit::USAGE, words).into());
    }
    let report = args.report()?;
    write_to(args.output.as_deref(), |mut out| {
        if console.json { report.write_json(&mut out) } else { report.write_html(&mut out) }
    })
}

/// Writes the metadata of a deposit, and says which files.
#[cfg(feature = "report")]
fn provenance(args: &ReportArgs, dir: &Path, console: Console) -> anyhow::Result<i32> {
    use crawler::report::{About, write_provenance};

    if let Some(license) = &args.license
        && url::Url::parse(license).is_err()
    {
        let words = format!(
            "--license {} isn't a URL; write one, as in https://spdx.org/licenses/CC0-1.0",
            page::clean::clean(license)
        );
        return Err(Stop::new(exit::USAGE, words).into());
    }
    let report = args.report()?;
    let about =
        About { title: args.title.clone(), authors: args.author.clone(), license: args.license.clone() };
    let done = write_provenance(&report, &about, dir)?;
    let place = crate::options::path_text(dir);
    crate::robots_history::write(|out| {
        if console.json {
            let line = serde_json::json!({"v": 1, "written": done.written, "kept": done.kept, "described": done.described});
            return writeln!(out, "{line}");
        }
        writeln!(out, "wrote to {place}: {}", done.written.join(", "))?;
        if !done.kept.is_empty() {
            writeln!(
                out,
                "kept as they are: {} (delete them to have them written again)",
                done.kept.join(", ")
            )?;
        }
        writeln!(out, "described: {}", page::quantity::count(done.described as u64, "file"))
    })
}

#[cfg(not(feature = "report"))]
fn whole_report(_: &ReportArgs, _: Console) -> anyhow::Result<i32> {
    let words = "this program was built without the report of a whole crawl (cargo feature `report`); \
                 `crawl report DIR --host HOST` writes the report for the owner of one host";
    Err(Stop::new(exit::USAGE, words).into())
}

/// Writes to a file, or to standard output where none is named.
fn write_to(
    file: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<i32> {
    let Some(file) = file.filter(|file| *file != Path::new("-")) else {
        return crate::robots_history::write(|mut out| write(&mut out));
    };
    let name = crate::options::path_text(file);
    match crawler::output_file::write(file, |error| error, |out| write(out)) {
        // A reader that went away is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        written => written.with_context(|| format!("can't write {name}"))?,
    }
    Ok(exit::COMPLETE)
}
