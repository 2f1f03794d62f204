//! What a request asks of a table: a filter, an order, columns, and a part of the rows.

use super::crawl_view::CrawlView;
use super::failure::Failure;
use super::params::Params;
use super::reading::Until;
use crate::tables::filter::Filter;
use crate::tables::sort::{parse_sort, sort_rows};
use crate::view::{Column, Rows, Table, Value};

/// Rows of a part unless another number is asked for.
pub(super) const ROWS: usize = 50;

/// The most rows of a part.
pub(super) const MOST_ROWS: usize = 1000;

/// A part of the rows of a table.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) columns: Vec<Column>,
    /// All columns of the table.
    pub(super) all: Vec<Column>,
    pub(super) rows: Vec<Vec<Value>>,
    /// Rows before the first of these.
    pub(super) offset: usize,
    pub(super) limit: usize,
    /// There are rows behind the last of these.
    pub(super) more: bool,
    /// Links of pages under noindex that were omitted so far.
    pub(super) omitted: u64,
}

/// The table of a name.
pub(super) fn table(name: &str) -> Result<Table, Failure> {
    let names = || Table::ALL.map(Table::name).join(" ");
    Table::named(name).ok_or_else(|| {
        Failure::not_found(format!(
            "there is no table {}; there are: {}",
            page::clean::clean_to(name, 40),
            names()
        ))
    })
}

/// The rows that pass the filter, in the order that is asked for, all columns.
fn chosen<'a>(
    view: &'a CrawlView,
    table: Table,
    params: &Params,
    until: &Until,
) -> Result<Rows<'a>, Failure> {
    let mut rows = view.rows(table)?;
    let keys = params.get("sort").map(|text| parse_sort(text, &rows)).transpose();
    let keys = keys.map_err(|error| Failure::bad(plain(&error.to_string())))?;
    let filter = params.get("where").map(|text| Filter::parse(text, &rows)).transpose();
    let filter = filter.map_err(|error| Failure::bad(plain(&error.to_string())))?;
    let (columns, until) = (rows.columns().to_vec(), until.clone());
    rows = rows.with(columns, move |rows| {
        Box::new(rows.map(move |row| {
            until.check()?;
            row
        }))
    });
    if let Some(filter) = filter {
        rows = rows.keep(move |row| filter.passes(row));
    }
    if let Some(keys) = keys {
        rows = sort_rows(rows, &keys, view.temporary())?;
    }
    Ok(rows)
}

/// An error of the command line, without its options' dashes.
fn plain(error: &str) -> String {
    let error =
        error.strip_prefix("--where, ").map_or_else(|| error.to_owned(), |rest| format!("filter, {rest}"));
    page::clean::clean(error.trim_start_matches("--")).into_owned()
}

/// The columns that are asked for, else those of `usual`, else all.
fn select<'a>(rows: Rows<'a>, params: &Params, usual: &[&str]) -> Result<Rows<'a>, Failure> {
    let asked: Vec<&str> = params.all("columns").flat_map(|names| names.split(',')).map(str::trim).collect();
    let most = rows.columns().len();
    if asked.len() > most {
        return Err(Failure::bad(format!("columns names {} columns, and the table has {most}", asked.len())));
    }
    let bad = |error: crate::view::UnknownColumn| Failure::bad(plain(&error.to_string()));
    match asked.as_slice() {
        ["all"] => Ok(rows),
        [] if usual.is_empty() => Ok(rows),
        [] => rows.select(usual).map_err(bad),
        names => rows.select(names).map_err(bad),
    }
}

fn number(params: &Params, name: &str, usual: usize) -> Result<usize, Failure> {
    let Some(text) = params.get(name) else { return Ok(usual) };
    text.parse()
        .map_err(|_| Failure::bad(format!("{name} isn't a number: {}", page::clean::clean_to(text, 40))))
}

/// Reads a part of a table.
pub(super) fn part(
    view: &CrawlView,
    table: Table,
    params: &Params,
    usual: &[&str],
    until: &Until,
) -> Result<Part, Failure> {
    let offset = number(params, "offset", 0)?;
    let limit = number(params, "limit", ROWS)?;
    if !(1..=MOST_ROWS).contains(&limit) {
        return Err(Failure::bad(format!("limit is from 1 to {MOST_ROWS}: a download has all rows")));
    }
    let rows = chosen(view, table, params, until)?;
    let all = rows.columns().to_vec();
    let mut rows = select(rows, params, usual)?;
    let columns = rows.columns().to_vec();
    for skipped in rows.by_ref().take(offset) {
        skipped?;
    }
    let mut taken = rows.by_ref().take(limit + 1).collect::<Result<Vec<_>, _>>()?;
    let more = taken.len() > limit;
    taken.truncate(limit);
    Ok(Part { columns, all, rows: taken, offset, limit, more, omitted: rows.omitted() })
}

/// All rows that are asked for, for a download.
pub(super) fn whole<'a>(
    view: &'a CrawlView,
    table: Table,
    params: &Params,
    until: &Until,
) -> Result<Rows<'a>, Failure> {
    select(chosen(view, table, params, until)?, params, &[])
}
