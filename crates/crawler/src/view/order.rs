//! The order in which tables are exported: host, then URL, so that two exports can be compared line by line; one crawl or several.

use std::cell::Cell;
use std::rc::Rc;

use super::Table;
use super::cell::Kind;
use super::open::{View, ViewError};
use super::row::Column;
use super::row_sorter::{RowSorter, write_key};
use super::rows::{RowStream, Rows};
use super::sorted_pages::sorted_pages;
use super::widening::Widening;
use crate::sorter::Sorter;

/// The column that names the crawl where several are written into one table.
pub const CRAWL_COLUMN: &str = "crawl";

/// The columns that a table is ordered by: host (or the URL or origin that it is taken from), URL. The ledger has an order of its own.
fn ordered_by(table: Table) -> Option<(&'static str, &'static str)> {
    match table {
        Table::Pages => Some(("url", "url")),
        Table::Links => Some(("from", "from")),
        Table::Hosts => Some(("host", "host")),
        Table::Robots => Some(("origin", "origin")),
        Table::Queue | Table::Skipped | Table::Errors | Table::Changes => Some(("host", "url")),
        Table::Ledger | Table::Duplicates => None,
    }
}

impl View {
    /// The rows of a table in the order that two exports are compared by: host, then URL, then as stored; the ledger in that of its
    /// numbers, duplicates by group. All rows are read, and sorted in temporary files, before the first one comes; memory: some 16 MB; of
    /// pages, 16 MB for each of up to four threads.
    pub fn stable_rows(&self, table: Table) -> Result<Rows<'_>, ViewError> {
        if table == Table::Pages {
            return sorted_pages(&[(self, None)], self.columns(table)?);
        }
        self.ordered(self.rows(table)?)
    }

    /// Rows of a table, perhaps fewer than all, in the order of [`View::stable_rows`]. They need the columns that the table is ordered by.
    pub fn ordered<'a>(&self, rows: Rows<'a>) -> Result<Rows<'a>, ViewError> {
        in_order(vec![rows], self.sorter())
    }
}

/// The rows of a table of several crawls in one order, with the name of each row's crawl in a column `crawl`, the first one. Rows that differ in
/// the crawl alone are in the order of the crawls; the ledgers follow each other. See [`View::stable_rows`]. Of one crawl there is no
/// such column.
pub fn stable_rows_of(crawls: &[(String, View)], table: Table) -> Result<Rows<'_>, ViewError> {
    if table == Table::Pages && !crawls.is_empty() {
        let columns = columns_of(crawls, table)?;
        let mut with_names = Vec::with_capacity(crawls.len());
        for (name, view) in crawls {
            let widening = if crawls.len() < 2 {
                None
            } else {
                Some(Widening::new(name, &view.columns(table)?, &columns))
            };
            with_names.push((view, widening));
        }
        return sorted_pages(&with_names, columns);
    }
    let mut streams = Vec::with_capacity(crawls.len());
    for (_, view) in crawls {
        streams.push(view.rows(table)?);
    }
    let sorter = crawls.first().map_or_else(|| Sorter::new(None), |(_, view)| view.sorter());
    if crawls.len() < 2 {
        return in_order(streams, sorter);
    }
    let columns = all_columns(streams.iter().flat_map(Rows::columns));
    let named = crawls.iter().zip(streams).map(|((name, _), rows)| named(name, rows, &columns)).collect();
    in_order(named, sorter)
}

/// The rows of a table of several crawls as they are stored, one crawl after the other, with a column `crawl` as in [`stable_rows_of`]. A
/// crawl is read when its turn comes: the first rows cost little, however many there are.
pub fn rows_of(crawls: &[(String, View)], table: Table) -> Result<Rows<'_>, ViewError> {
    if let [(_, view)] = crawls {
        return view.rows(table);
    }
    let columns = columns_of(crawls, table)?;
    let omitted: Rc<Cell<u64>> = Rc::default();
    let (all, counter) = (columns.clone(), Rc::clone(&omitted));
    let rows = crawls.iter().flat_map(move |(name, view)| -> RowStream<'_> {
        match view.rows_counted(table, Rc::clone(&counter)) {
            Ok(rows) => Box::new(named(name, rows, &all)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    });
    Ok(Rows::chained(table, columns, Box::new(rows), omitted))
}

/// The columns of a table of one or several crawls: see [`stable_rows_of`].
pub fn columns_of(crawls: &[(String, View)], table: Table) -> Result<Vec<Column>, ViewError> {
    let mut streams = Vec::with_capacity(crawls.len());
    for (_, view) in crawls {
        streams.push(view.columns(table)?);
    }
    let is_one = streams.len() < 2;
    Ok(if is_one { streams.pop().unwrap_or_default() } else { all_columns(streams.iter().flatten()) })
}

fn crawl_column() -> Column {
    Column::new(
        CRAWL_COLUMN,
        Kind::Text,
        false,
        &[],
        " Directory of the crawl, as given; only if several are exported.",
    )
    .names()
}

/// The columns of all streams; one that is a list in any of them is a list.
fn all_columns<'a>(of_streams: impl Iterator<Item = &'a Column>) -> Vec<Column> {
    let mut columns = vec![crawl_column()];
    for column in of_streams {
        match columns.iter_mut().find(|known| known.name == column.name) {
            Some(known) if known.kind != column.kind && column.kind == Kind::List => *known = column.clone(),
            Some(_) => {}
            None => columns.push(column.clone()),
        }
    }
    columns
}

/// Rows with the name of their crawl, under the columns of all crawls.
fn named<'a>(name: &str, rows: Rows<'a>, columns: &[Column]) -> Rows<'a> {
    let widening = Widening::new(name, rows.columns(), columns);
    rows.with(columns.to_vec(), move |rows| Box::new(rows.map(move |row| Ok(widening.of(row?)))))
}

/// Sorts the rows of one table, of several crawls where there are several streams, as exports have them. Their columns may be fewer than the
/// table's, but not without those that it is ordered by.
pub(crate) fn in_order(mut streams: Vec<Rows<'_>>, sorter: Sorter) -> Result<Rows<'_>, ViewError> {
    let first = if streams.is_empty() { Rows::none() } else { streams.remove(0) };
    let columns = first.columns().to_vec();
    let Some((host, url)) = ordered_by(first.table()) else {
        return Ok(first.with(columns, |rows| {
            let others: RowStream<'_> = Box::new(streams.into_iter().flatten());
            Box::new(rows.chain(others))
        }));
    };
    let place = |name: &str| columns.iter().position(|column| column.name == name).unwrap_or_default();
    let (host, url) = (place(host), place(url));
    let mut by_key = RowSorter::new(sorter);
    let mut key = Vec::new();
    let mut first = first;
    let mut omitted = 0;
    for rows in std::iter::once(&mut first).chain(&mut streams) {
        for row in &mut *rows {
            let row = row?;
            let (host, url) = (row[host].as_str().unwrap_or_default(), row[url].as_str().unwrap_or_default());
            write_key(&mut key, host, url);
            by_key.push(&key, &row)?;
        }
        omitted += rows.omitted();
    }
    let rows = Rows::sorted(first.table(), columns, by_key.sorted()?);
    rows.set_omitted(omitted);
    Ok(rows)
}
