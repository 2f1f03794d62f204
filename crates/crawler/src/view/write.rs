//! Writes a table in one of four forms, row by row.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use super::cell::Kind;
use super::open::{View, ViewError};
use super::row::{Column, Row};
use super::{Table, json};
use crate::clean::{clean, clean_to};
use crate::store::Store;

/// The form in which a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One JSON object a line, beginning with `"v":1`.
    Jsonl,
    /// RFC 4180: comma separated, a header line, CRLF. Text is cleaned, and cells that a spreadsheet would run are made
    /// harmless by an apostrophe in front.
    Csv,
    /// Tab separated, a header line. Text is cleaned.
    Tabs,
    /// Columns under one another, each line cut to this many characters.
    Aligned(usize),
}

/// What was written of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Rows.
    pub rows: u64,
    /// Links of pages under noindex that were left out.
    pub left_out: u64,
}

/// Writes a table. Of the links those of pages under noindex are left out, unless the view has them.
pub fn write_table<S: Store>(
    view: &View<S>,
    table: Table,
    form: Form,
    out: &mut impl Write,
) -> Result<Written, ViewError> {
    let mut left_out = 0;
    let rows = match table {
        Table::Pages => write_rows(view.pages(), form, out),
        Table::Links => {
            let links = view.links().filter(|row| {
                let is_out = !view.has_noindex() && matches!(row, Ok(link) if link.from_noindex);
                left_out += u64::from(is_out);
                !is_out
            });
            write_rows(links, form, out)
        }
        Table::Hosts => write_rows(view.hosts(), form, out),
        Table::Robots => write_rows(view.robots(), form, out),
        Table::Queue => write_rows(view.queue(), form, out),
        Table::Skipped => write_rows(view.skipped()?, form, out),
        Table::Ledger => write_rows(view.ledger(), form, out),
        Table::Errors => write_rows(view.errors(), form, out),
    }?;
    Ok(Written { rows, left_out })
}

pub(super) fn write_rows<R: Row>(
    rows: impl Iterator<Item = Result<R, ViewError>>,
    form: Form,
    out: &mut impl Write,
) -> Result<u64, ViewError> {
    match form {
        Form::Jsonl => jsonl(rows, out),
        Form::Csv => csv(rows, out),
        Form::Tabs => tabs(rows, out),
        Form::Aligned(width) => aligned(rows, width, out),
    }
}

fn jsonl<R: Row>(
    rows: impl Iterator<Item = Result<R, ViewError>>,
    out: &mut impl Write,
) -> Result<u64, ViewError> {
    #[derive(Serialize)]
    struct Line<R> {
        v: u32,
        #[serde(flatten)]
        row: R,
    }
    let mut count = 0;
    for row in rows {
        json::write_line(out, &Line { v: 1, row: row? })?;
        count += 1;
    }
    Ok(count)
}

fn csv<R: Row>(
    rows: impl Iterator<Item = Result<R, ViewError>>,
    out: &mut impl Write,
) -> Result<u64, ViewError> {
    let mut csv = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    csv.write_record(R::COLUMNS.iter().map(|column| column.name)).map_err(io_error)?;
    let mut count = 0;
    for row in rows {
        let row = row?;
        let cells = row.cells().into_iter().zip(R::COLUMNS).map(|(cell, column)| match cell {
            Some(text) => neutral(&text, column.kind).into_owned(),
            None => String::new(),
        });
        csv.write_record(cells).map_err(io_error)?;
        count += 1;
    }
    csv.flush()?;
    Ok(count)
}

/// The error of the system, if it is one: csv's own conversion hides its kind, and with it that a reader went away.
fn io_error(error: csv::Error) -> io::Error {
    if !error.is_io_error() {
        return error.into();
    }
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

/// Cleans a cell. One that a spreadsheet would take for a formula (beginning with `=`, `+`, `-`, `@`, their full-width
/// forms, tab or CR) gets an apostrophe in front, which spreadsheets take for "this is text".
pub(super) fn neutral(text: &str, kind: Kind) -> Cow<'_, str> {
    if !matches!(kind, Kind::Text | Kind::List | Kind::Object) {
        return Cow::Borrowed(text);
    }
    let cleaned = clean(text);
    let runs = text.starts_with(['\t', '\r'])
        || cleaned.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    if runs { Cow::Owned(format!("'{cleaned}")) } else { cleaned }
}

fn tabs<R: Row>(
    rows: impl Iterator<Item = Result<R, ViewError>>,
    out: &mut impl Write,
) -> Result<u64, ViewError> {
    let names: Vec<_> = R::COLUMNS.iter().map(|column| column.name).collect();
    writeln!(out, "{}", names.join("\t"))?;
    let mut count = 0;
    for row in rows {
        let row = row?;
        for (index, cell) in row.cells().into_iter().enumerate() {
            let separator = if index == 0 { "" } else { "\t" };
            write!(out, "{separator}{}", clean(&cell.unwrap_or_default()))?;
        }
        writeln!(out)?;
        count += 1;
    }
    Ok(count)
}

/// Rows by which the widths of columns are set.
const MEASURED: usize = 200;

/// Most characters of a cell where columns are aligned; the first column may take half the line.
const WIDEST: usize = 40;

fn aligned<R: Row>(
    mut rows: impl Iterator<Item = Result<R, ViewError>>,
    width: usize,
    out: &mut impl Write,
) -> Result<u64, ViewError> {
    let most = |index: usize| if index == 0 { WIDEST.max(width / 2) } else { WIDEST };
    let short = |row: &R| -> Vec<String> {
        let cells = row.cells().into_iter().enumerate();
        cells
            .map(|(index, cell)| cell.map_or_else(|| "-".to_owned(), |text| clean_to(&text, most(index))))
            .collect()
    };
    let mut first = Vec::new();
    for row in rows.by_ref().take(MEASURED) {
        first.push(short(&row?));
    }
    let widths: Vec<usize> = (0..R::COLUMNS.len())
        .map(|index| {
            let cells = first.iter().map(|row| row[index].chars().count());
            cells.chain([R::COLUMNS[index].name.len()]).max().unwrap_or_default()
        })
        .collect();
    let names: Vec<_> = R::COLUMNS.iter().map(|column| column.name.to_owned()).collect();
    writeln!(out, "{}", line(&names, &widths, R::COLUMNS, width))?;
    let mut count = 0;
    for row in &first {
        writeln!(out, "{}", line(row, &widths, R::COLUMNS, width))?;
        count += 1;
    }
    for row in rows {
        let cells: Vec<_> =
            short(&row?).iter().zip(&widths).map(|(cell, width)| clean_to(cell, *width)).collect();
        writeln!(out, "{}", line(&cells, &widths, R::COLUMNS, width))?;
        count += 1;
    }
    Ok(count)
}

fn line(cells: &[String], widths: &[usize], columns: &[Column], width: usize) -> String {
    let mut line = String::new();
    for ((cell, column), fill) in cells.iter().zip(columns).zip(widths) {
        if !line.is_empty() {
            line.push_str("  ");
        }
        let padding = " ".repeat(fill.saturating_sub(cell.chars().count()));
        let is_number = matches!(column.kind, Kind::Integer | Kind::Number);
        let (left, right) = if is_number { (padding.as_str(), "") } else { ("", padding.as_str()) };
        line.push_str(left);
        line.push_str(cell);
        line.push_str(right);
    }
    clean_to(line.trim_end(), width)
}
