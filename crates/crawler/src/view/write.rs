//! Writes rows in one of the text formats, one by one.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

use super::cell::Kind;
use super::open::{View, ViewError};
use super::row::Column;
use super::rows::Rows;
use super::value::Value;
use super::{Table, width};
use page::clean::clean;

/// The form in which a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// One JSON object a line, beginning with `"v":1`.
    Jsonl,
    /// RFC 4180: comma separated, a header line, CRLF. Text is cleaned, and cells that a spreadsheet would run are made
    /// harmless by an apostrophe; the last column, `altered`, names the columns whose text isn't as it was found.
    Csv,
    /// The same with every text as it was found, and without `altered`: nothing for a terminal or a spreadsheet.
    RawCsv,
    /// Tab separated, a header line. Text is cleaned.
    Tabs,
    /// Each column of a row on a line of its own, without those that are empty; an empty line between rows. Text is cleaned.
    Lines,
    /// Columns under one another, each line cut to this many cells of a terminal.
    Aligned(usize),
}

/// What was written of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows.
    pub rows: u64,
    /// Omitted links of pages under noindex.
    pub omitted: u64,
    /// Columns that had no place on a line.
    pub narrowed: usize,
}

/// The column of a CSV file that names the columns whose text was altered.
pub const ALTERED_COLUMN: &str = "altered";

/// Writes a table with all its columns, in the order in which it is stored. Links of pages under noindex are omitted,
/// unless the view has them.
pub fn write_table(
    view: &View,
    table: Table,
    form: TableFormat,
    out: &mut dyn Write,
) -> Result<Written, ViewError> {
    write_rows(view.rows(table)?, form, out)
}

/// Writes rows.
pub fn write_rows(mut rows: Rows<'_>, form: TableFormat, out: &mut dyn Write) -> Result<Written, ViewError> {
    let mut written = Written::default();
    written.rows = match form {
        TableFormat::Jsonl => jsonl(&mut rows, out),
        TableFormat::Csv => csv(&mut rows, true, out),
        TableFormat::RawCsv => csv(&mut rows, false, out),
        TableFormat::Tabs => tabs(&mut rows, out),
        TableFormat::Lines => lines(&mut rows, out),
        TableFormat::Aligned(width) => aligned(&mut rows, width, &mut written.narrowed, out),
    }?;
    written.omitted = rows.omitted();
    Ok(written)
}

fn jsonl(rows: &mut Rows<'_>, out: &mut dyn Write) -> Result<u64, ViewError> {
    let mut names = Vec::new();
    for column in rows.columns() {
        let mut name = b",".to_vec();
        super::json::write(&mut name, &column.name)?;
        name.push(b':');
        names.push(name);
    }
    let write_nulls = |line: &mut Vec<u8>, places: Range<usize>| {
        for name in names.get(places).unwrap_or_default() {
            line.extend_from_slice(name);
            line.extend_from_slice(b"null");
        }
    };
    let (mut count, mut line) = (0, Vec::new());
    loop {
        line.clear();
        line.extend_from_slice(b"{\"v\":1");
        let mut next = 0;
        let has_row = rows.next_with(|place, value| {
            let Some(name) = names.get(place) else { return Ok(()) };
            write_nulls(&mut line, next..place);
            next = place + 1;
            line.extend_from_slice(name);
            Ok(value.write_json(&mut line)?)
        })?;
        if !has_row {
            return Ok(count);
        }
        write_nulls(&mut line, next..names.len());
        line.extend_from_slice(b"}\n");
        out.write_all(&line)?;
        count += 1;
    }
}

fn csv(rows: &mut Rows<'_>, is_safe: bool, out: &mut dyn Write) -> Result<u64, ViewError> {
    let columns = rows.columns().to_vec();
    let mut csv = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    let names = columns.iter().map(|column| column.name.as_ref());
    csv.write_record(names.chain(is_safe.then_some(ALTERED_COLUMN))).map_err(io_error)?;
    let (mut count, mut altered) = (0, String::new());
    loop {
        altered.clear();
        let mut next = 0;
        let has_row = rows.next_with(|place, value| {
            let Some(column) = columns.get(place) else { return Ok(()) };
            write_empty(&mut csv, place - next)?;
            next = place + 1;
            let text = value.text().unwrap_or_default();
            let safe = if is_safe { neutral(&text, column.kind) } else { Cow::Borrowed(&*text) };
            if let Cow::Owned(_) = safe {
                altered.push_str(if altered.is_empty() { "" } else { "; " });
                altered.push_str(&column.name);
            }
            Ok(csv.write_field(safe.as_bytes()).map_err(io_error)?)
        })?;
        if !has_row {
            csv.flush()?;
            return Ok(count);
        }
        write_empty(&mut csv, columns.len() - next)?;
        if is_safe {
            csv.write_field(&altered).map_err(io_error)?;
        }
        csv.write_record(None::<&[u8]>).map_err(io_error)?;
        count += 1;
    }
}

fn write_empty(csv: &mut csv::Writer<impl Write>, fields: usize) -> io::Result<()> {
    (0..fields).try_for_each(|_| csv.write_field([]).map_err(io_error))
}

/// The error of the system, if it is one: csv's own conversion hides its kind, and with it that a reader went away.
pub(crate) fn io_error(error: csv::Error) -> io::Error {
    if !error.is_io_error() {
        return error.into();
    }
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

/// Cleans a cell; gives a text of its own only where that changes it. One that a spreadsheet would take for a formula (beginning with `=`, `+`, `-`, `@`, their full-width
/// forms, tab or CR) gets an apostrophe in front, which spreadsheets take for "this is text". Where the list separator is a semicolon, as it is
/// in many countries, a cell begins behind each semicolon too: `x;=1+1` becomes `x;'=1+1`.
pub(crate) fn neutral(text: &str, kind: Kind) -> Cow<'_, str> {
    if !matches!(kind, Kind::Text | Kind::List | Kind::Object) {
        return Cow::Borrowed(text);
    }
    let cleaned = clean(text);
    let runs = |text: &str, blanks: &[char]| {
        let begin = text.trim_start().trim_start_matches(blanks).trim_start();
        begin.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
    };
    let begins = text.starts_with(['\t', '\r']) || runs(&cleaned, &[]);
    let semicolons: Vec<usize> = cleaned
        .match_indices(';')
        .map(|(place, _)| place + 1)
        .filter(|place| runs(&cleaned[*place..], &['"']))
        .collect();
    if !begins && semicolons.is_empty() {
        return cleaned;
    }
    let mut safe = String::with_capacity(cleaned.len() + 1 + semicolons.len());
    safe.push_str(if begins { "'" } else { "" });
    let mut from = 0;
    for place in semicolons {
        safe.push_str(&cleaned[from..place]);
        safe.push('\'');
        from = place;
    }
    safe.push_str(&cleaned[from..]);
    Cow::Owned(safe)
}

fn tabs(rows: &mut Rows<'_>, out: &mut dyn Write) -> Result<u64, ViewError> {
    let names: Vec<_> = rows.columns().iter().map(|column| clean(&column.name).into_owned()).collect();
    writeln!(out, "{}", names.join("\t"))?;
    let mut count = 0;
    for row in rows {
        for (index, value) in row?.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\t" };
            write!(out, "{separator}{}", clean(&value.text().unwrap_or_default()))?;
        }
        writeln!(out)?;
        count += 1;
    }
    Ok(count)
}

fn lines(rows: &mut Rows<'_>, out: &mut dyn Write) -> Result<u64, ViewError> {
    let columns = rows.columns().to_vec();
    let longest = columns.iter().map(|column| width::cells(&column.name)).max().unwrap_or_default();
    let mut count = 0;
    for row in rows {
        if count > 0 {
            writeln!(out)?;
        }
        for (value, column) in row?.iter().zip(&columns) {
            let text = value.text().unwrap_or_default();
            if !text.is_empty() {
                let fill = " ".repeat(longest - width::cells(&column.name));
                writeln!(out, "{}{fill}  {}", clean(&column.name), clean(&text))?;
            }
        }
        count += 1;
    }
    Ok(count)
}

/// Rows by which the widths of columns are set.
const MEASURED: usize = 200;

/// Most terminal cells of a column where columns are aligned; the first one may take half the line.
const WIDEST: usize = 40;

/// Fewest cells that a column is shrunk to.
const NARROWEST: usize = 6;

fn aligned(
    rows: &mut Rows<'_>,
    line_width: usize,
    narrowed: &mut usize,
    out: &mut dyn Write,
) -> Result<u64, ViewError> {
    let columns = rows.columns().to_vec();
    let most = |index: usize| if index == 0 { WIDEST.max(line_width / 2) } else { WIDEST };
    let short = |row: &[Value]| -> Vec<String> {
        let cells = row.iter().enumerate();
        cells
            .map(|(index, value)| {
                value.text().map_or_else(|| "-".to_owned(), |text| width::fit(&text, most(index)))
            })
            .collect()
    };
    let mut first = Vec::new();
    for row in rows.by_ref().take(MEASURED) {
        first.push(short(&row?));
    }
    let names: Vec<String> = columns.iter().map(|column| width::fit(&column.name, WIDEST)).collect();
    let mut widths: Vec<usize> = (0..columns.len())
        .map(|index| {
            let cells = first.iter().map(|row| width::cells(&row[index]));
            cells.chain([width::cells(&names[index])]).max().unwrap_or_default()
        })
        .collect();
    *narrowed = narrow(&mut widths, line_width);
    writeln!(out, "{}", line(&names, &widths, &columns, line_width))?;
    let mut count = 0;
    for row in &first {
        writeln!(out, "{}", line(row, &widths, &columns, line_width))?;
        count += 1;
    }
    for row in rows {
        writeln!(out, "{}", line(&short(&row?), &widths, &columns, line_width))?;
        count += 1;
    }
    Ok(count)
}

/// Makes columns narrower, the widest first, until the line holds as many of them as it can; those behind are dropped. Gives how many.
/// The first column, which says what the row is about, keeps half of the line.
fn narrow(widths: &mut Vec<usize>, line_width: usize) -> usize {
    let all = widths.len();
    let least = |(index, wanted): (usize, &usize)| match index {
        0 => (*wanted).min(line_width / 2),
        _ => (*wanted).min(NARROWEST.max(wanted / 2)),
    };
    let mut leasts: Vec<usize> = widths.iter().enumerate().map(least).collect();
    let total = |widths: &[usize]| widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
    while leasts.len() > 1 && total(&leasts) > line_width {
        leasts.pop();
    }
    widths.truncate(leasts.len());
    while total(widths) > line_width {
        let shrinkable = widths.iter_mut().zip(&leasts).filter(|(width, least)| **width > **least);
        let Some((widest, _)) = shrinkable.max_by_key(|(width, _)| **width) else { break };
        *widest -= 1;
    }
    all - widths.len()
}

fn line(cells: &[String], widths: &[usize], columns: &[Column], line_width: usize) -> String {
    let mut line = String::new();
    for ((cell, column), fill) in cells.iter().zip(columns).zip(widths) {
        if !line.is_empty() {
            line.push_str("  ");
        }
        let cell = width::fit(cell, *fill);
        let padding = " ".repeat(fill.saturating_sub(width::cells(&cell)));
        let is_number = matches!(column.kind, Kind::Integer | Kind::Number);
        let (left, right) = if is_number { (padding.as_str(), "") } else { ("", padding.as_str()) };
        line.push_str(left);
        line.push_str(&cell);
        line.push_str(right);
    }
    width::fit(line.trim_end(), line_width)
}
