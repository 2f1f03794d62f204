//! The output of the demo: for each robot the six classic URLs with the line that decided, then the outcome of all pages.
//!
//! Pure: rows in, text out. Nothing here looks at a database or a terminal.

mod layout;

use super::sites::CLASSIC;
use crate::clean::clean;
use layout::{Cell, Paint, table};
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

/// Prints the reports, 100 columns wide. Text from the web is stripped of control characters.
///
/// `colour`: whether to mark words by colour; only right where `out` is a terminal and `NO_COLOR` isn't set.
/// Without it no escape code is written.
pub fn print(out: &mut dyn Write, robots: &[RobotReport], colour: bool) -> io::Result<()> {
    let paint = Paint { colour };
    for report in robots {
        print_robot(out, report, paint)?;
    }
    if robots.len() > 1 {
        print_side_by_side(out, robots, paint)?;
    }
    Ok(())
}

fn print_robot(out: &mut dyn Write, report: &RobotReport, paint: Paint) -> io::Result<()> {
    writeln!(out, "{}", paint.title(&report.robot))?;
    writeln!(out, "{}", paint.title(&"=".repeat(report.robot.chars().count())))?;
    for host in hosts([report]) {
        writeln!(out, "\n{}: the six classic URLs", clean(host))?;
        let rows: Vec<Vec<Cell>> = CLASSIC
            .iter()
            .map(|path| {
                let row = find(report, host, path);
                vec![Cell::plain(path), fate(row), Cell::plain(&row.map_or_else(String::new, decided_by))]
            })
            .collect();
        table(out, &["URL", "", "robots.txt"], &rows, paint)?;

        writeln!(out, "\n{}: all URLs it found", clean(host))?;
        table(
            out,
            &["URL", "", "indexed", "archived", "followed", "because"],
            &page_rows(report, host),
            paint,
        )?;
    }
    let count = |is_so: fn(&Row) -> bool| report.rows.iter().filter(|row| is_so(row)).count();
    writeln!(
        out,
        "\n{} URLs found: {} fetched, {} skipped. {} pages indexed, {} archived.\n",
        report.rows.len(),
        count(|row| row.fetched.is_some()),
        count(|row| row.fetched.is_none()),
        count(|row| row.indexed == Some(true)),
        count(|row| row.archived == Some(true)),
    )
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

/// The six URLs of each site with all robots beside each other: the form of table 9-4.
fn print_side_by_side(out: &mut dyn Write, robots: &[RobotReport], paint: Paint) -> io::Result<()> {
    writeln!(out, "{}", paint.title("Side by side"))?;
    writeln!(out, "{}", paint.title("============"))?;
    for host in hosts(robots) {
        writeln!(out, "\n{}", clean(host))?;
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
        table(out, &header, &rows, paint)?;
    }
    Ok(())
}

fn fate(row: Option<&Row>) -> Cell {
    match row.map(|row| row.fetched) {
        Some(Some(200)) => Cell::good("fetched"),
        Some(Some(status)) => Cell::plain(&format!("fetched {status}")),
        Some(None) => Cell::bad("skipped"),
        None => Cell::plain("not found"),
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
