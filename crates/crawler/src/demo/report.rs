//! The output of the demo: the robots.txt of each site, and what each robot was allowed to fetch by which line; as details the
//! outcome of all pages.
//!
//! Pure: rows in, text out. Nothing here looks at a database or a terminal.

mod layout;

use super::sites::{self, CLASSIC};
use layout::{Cell, Paint, table};
use page::clean::clean;
use std::io::{self, Write};

/// What one robot did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RobotReport {
    /// Name as given to `--agent`: `Suzy-Spider/1.0`.
    pub robot: String,
    /// One row for each URL that it found, in any order.
    pub rows: Vec<Row>,
}

/// What one robot did with one URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// Absolute URL.
    pub url: String,
    /// Status of the response, `None` if the URL was skipped.
    pub fetched: Option<u16>,
    /// Number of the robots.txt line that decided, `None` if none did.
    pub line: Option<u32>,
    /// Text of that line; without a line, the reason in words.
    pub reason: String,
    /// Whether its text was put into the index; `None` where there was none to put (redirect, error, not
    /// fetched).
    pub indexed: Option<bool>,
    /// Whether its body was kept.
    pub archived: Option<bool>,
    /// Whether its links were queued.
    pub followed: Option<bool>,
    /// What the page said about it, with the place where it said so.
    pub directives: Vec<Directive>,
}

/// A page directive and where it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directive {
    /// The directive: `noindex`.
    pub term: String,
    /// The place: `meta robots`, `X-Robots-Tag`.
    pub found: String,
}

/// How much is printed, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Form {
    /// Words are marked by colour; only right where the output is a terminal and `NO_COLOR` isn't set. Without it no escape code is written.
    pub colour: bool,
    /// For each robot also all URLs that it found, and what became of each.
    pub details: bool,
}

/// What is to be seen.
const INTRODUCTION: &str = "\
Three robots have just crawled two small sites on this machine; nothing went over a network.
Each site's robots.txt says who may fetch what, in groups of rules: a robot obeys the group that names it,
or else the group of \"*\", and in it the rule with the longest match. Below: the files, and what came of them.
";

/// Prints the reports, 100 columns wide. Text from the web is stripped of control characters.
pub fn print(out: &mut dyn Write, robots: &[RobotReport], form: Form) -> io::Result<()> {
    let paint = Paint { colour: form.colour };
    if robots.is_empty() {
        return Ok(());
    }
    out.write_all(INTRODUCTION.as_bytes())?;
    for host in hosts(robots) {
        print_robots_txt(out, host, paint)?;
        print_side_by_side(out, robots, host, paint)?;
    }
    writeln!(out)?;
    for report in robots {
        print_totals(out, report)?;
    }
    if form.details {
        for report in robots {
            print_robot(out, report, paint)?;
        }
    }
    Ok(())
}

/// The file that the rules come from, with the numbers of its lines.
fn print_robots_txt(out: &mut dyn Write, host: &str, paint: Paint) -> io::Result<()> {
    let Some(site) = sites::all().into_iter().find(|site| site.host == host) else { return Ok(()) };
    let title = format!("{}: http://{host}/robots.txt", site.name);
    writeln!(out, "\n{}\n", paint.title(&title))?;
    for (number, line) in (1..).zip(site.robots_txt.lines()) {
        writeln!(out, "{}", format!("  {number:>3}  {}", clean(line)).trim_end())?;
    }
    Ok(())
}

fn print_totals(out: &mut dyn Write, report: &RobotReport) -> io::Result<()> {
    let count = |is_so: fn(&Row) -> bool| report.rows.iter().filter(|row| is_so(row)).count();
    writeln!(
        out,
        "{}: {} URLs found, {} fetched, {} skipped; {} pages indexed, {} archived.",
        clean(&report.robot),
        report.rows.len(),
        count(|row| row.fetched.is_some()),
        count(|row| row.fetched.is_none()),
        count(|row| row.indexed == Some(true)),
        count(|row| row.archived == Some(true)),
    )
}

fn print_robot(out: &mut dyn Write, report: &RobotReport, paint: Paint) -> io::Result<()> {
    for host in hosts([report]) {
        writeln!(out, "\n{}\n", paint.title(&format!("{} at {host}: all URLs it found", report.robot)))?;
        table(
            out,
            &["URL", "", "indexed", "archived", "followed", "because"],
            &page_rows(report, host),
            paint,
        )?;
    }
    Ok(())
}

/// The pages of a host in the order of their paths: fetched ones first, then skipped ones.
fn page_rows(report: &RobotReport, host: &str) -> Vec<Vec<Cell>> {
    let mut rows: Vec<(&str, &Row)> = report
        .rows
        .iter()
        .map(|row| (split(&row.url), row))
        .filter(|((h, _), _)| *h == host)
        .map(|((_, path), row)| (path, row))
        .collect();
    rows.sort_by_key(|(path, row)| (row.fetched.is_none(), *path));
    rows.into_iter()
        .map(|(path, row)| {
            let because = if row.fetched.is_none() {
                decided_by(row)
            } else {
                let said: Vec<String> =
                    row.directives.iter().map(|said| format!("{} ({})", said.term, said.found)).collect();
                said.join(", ")
            };
            vec![
                Cell::plain(path),
                row.fetched.map_or(Cell::bad("skipped"), |status| Cell::plain(&status.to_string())),
                answer(row.indexed),
                answer(row.archived),
                answer(row.followed),
                Cell::plain(&because),
            ]
        })
        .collect()
}

/// The six URLs of a site with all robots beside each other: the form of table 9-4, with the line that decided.
fn print_side_by_side(
    out: &mut dyn Write,
    robots: &[RobotReport],
    host: &str,
    paint: Paint,
) -> io::Result<()> {
    writeln!(out)?;
    let mut header = vec!["URL"];
    header.extend(robots.iter().map(|report| report.robot.as_str()));
    let rows: Vec<Vec<Cell>> = CLASSIC
        .iter()
        .map(|path| {
            let mut row = vec![Cell::plain(path)];
            row.extend(robots.iter().map(|report| fate(find(report, host, path))));
            row
        })
        .collect();
    table(out, &header, &rows, paint)
}

fn fate(row: Option<&Row>) -> Cell {
    let Some(row) = row else { return Cell::plain("not found") };
    let line = row.line.map(|line| format!(" (line {line})")).unwrap_or_default();
    match row.fetched {
        Some(200) => Cell::good(&format!("fetched{line}")),
        Some(status) => Cell::plain(&format!("fetched {status}{line}")),
        None => Cell::bad(&format!("skipped{line}")),
    }
}

fn answer(is_so: Option<bool>) -> Cell {
    match is_so {
        Some(true) => Cell::good("yes"),
        Some(false) => Cell::bad("no"),
        None => Cell::plain("-"),
    }
}

fn decided_by(row: &Row) -> String {
    match row.line {
        Some(line) => format!("line {line}: {}", row.reason),
        None => row.reason.clone(),
    }
}

fn find<'a>(report: &'a RobotReport, host: &str, path: &str) -> Option<&'a Row> {
    report.rows.iter().find(|row| split(&row.url) == (host, path))
}

/// The hosts in the order in which they first appear.
fn hosts<'a>(robots: impl IntoIterator<Item = &'a RobotReport>) -> Vec<&'a str> {
    let mut hosts = Vec::new();
    for row in robots.into_iter().flat_map(|report| &report.rows) {
        let (host, _) = split(&row.url);
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

/// Splits an absolute URL into its authority and the rest.
fn split(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()))
}

#[cfg(test)]
mod tests;
