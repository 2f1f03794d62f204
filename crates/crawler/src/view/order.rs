//! The order in which tables are exported: host, then URL, so that two exports can be compared line by line; one crawl or several.

use std::borrow::Cow;

use super::Table;
use super::cell::{Field, Kind};
use super::open::{View, ViewError};
use super::row::Column;
use super::rows::{RowStream, Rows};
use super::sorted_pages::sorted_pages;
use super::value::Value;
#[cfg(feature = "parquet")]
use super::value::ValueRef;
use crate::sorter::{Ahead, SortError, Sorter};
use crate::store::Store;

/// The column that names the crawl where several are written into one table.
pub const CRAWL_COLUMN: &str = "crawl";

/// The columns that a table is ordered by: host (or the URL or origin that it is taken from), URL. The ledger has an order of its own.
fn ordered_by(table: Table) -> Option<(&'static str, &'static str)> {
    match table {
        Table::Pages => Some(("url", "url")),
        Table::Links => Some(("from", "from")),
        Table::Hosts => Some(("host", "host")),
        Table::Robots => Some(("origin", "origin")),
        Table::Queue | Table::Skipped | Table::Errors => Some(("host", "url")),
        Table::Ledger | Table::Duplicates => None,
    }
}

/// The host of a URL or origin as the crawl writes them, normalised and without user information; a name is one itself.
pub(crate) fn host_of(url: &str) -> &str {
    let Some((_, rest)) = url.split_once("://") else { return url };
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    match authority.rfind(':') {
        Some(colon) if !authority[colon..].contains(']') => &authority[..colon],
        _ => authority,
    }
}

/// Sorts rows by keys in temporary files; rows with the same key stay in their order.
pub(crate) struct RowSorter {
    sorter: Sorter,
    count: u64,
    record: Vec<u8>,
}

impl RowSorter {
    pub(crate) fn new(sorter: Sorter) -> Self {
        Self { sorter, count: 0, record: Vec::new() }
    }

    pub(crate) fn push(&mut self, key: &[u8], row: &[Value]) -> Result<(), ViewError> {
        self.count += 1;
        self.push_at(key, self.count - 1, row)
    }

    /// Takes a row with its place among those of the same key.
    pub(super) fn push_at(&mut self, key: &[u8], place: u64, row: &[Value]) -> Result<(), ViewError> {
        self.record.clear();
        self.record.extend_from_slice(key);
        self.record.extend_from_slice(&place.to_be_bytes());
        let length = self.record.len() as u32;
        let record =
            postcard::to_extend(row, std::mem::take(&mut self.record)).map_err(|error| form(&error))?;
        self.record = record;
        self.record.extend_from_slice(&length.to_le_bytes());
        Ok(self.sorter.push(&self.record)?)
    }

    /// Takes the rows of another sorter.
    pub(super) fn take_all(&mut self, other: Self) -> Result<(), SortError> {
        self.sorter.take_all(other.sorter)
    }

    pub(crate) fn sorted(self) -> Result<impl Iterator<Item = Result<Vec<Value>, ViewError>>, SortError> {
        Ok(self.rows()?.map(|row| row?.values()))
    }

    /// The rows in order, as they were packed.
    pub(super) fn rows(self) -> Result<SortedRows, SortError> {
        Ok(SortedRows(self.sorter.sorted()?.read_ahead()?))
    }
}

/// Rows in order.
pub(super) struct SortedRows(Ahead);

impl Iterator for SortedRows {
    type Item = Result<SortedRow, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map(SortedRow).map_err(ViewError::Sort))
    }
}

/// A row as it was packed, behind its key: see [`RowSorter::push_at`].
pub(super) struct SortedRow(Vec<u8>);

impl SortedRow {
    fn packed(&self) -> Result<&[u8], ViewError> {
        let split = self.0.split_last_chunk::<4>();
        let row = split.and_then(|(record, length)| record.get(u32::from_le_bytes(*length) as usize..));
        row.ok_or_else(|| form(&postcard::Error::DeserializeUnexpectedEnd))
    }

    pub(super) fn values(&self) -> Result<Vec<Value>, ViewError> {
        postcard::from_bytes(self.packed()?).map_err(|error| form(&error))
    }

    /// Gives each value to a function.
    #[cfg(feature = "parquet")]
    pub(super) fn each(
        &self,
        mut take: impl FnMut(ValueRef<'_>) -> Result<(), ViewError>,
    ) -> Result<(), ViewError> {
        let (count, mut rest) =
            postcard::take_from_bytes::<usize>(self.packed()?).map_err(|error| form(&error))?;
        for _ in 0..count {
            let value;
            (value, rest) = postcard::take_from_bytes(rest).map_err(|error| form(&error))?;
            take(value)?;
        }
        Ok(())
    }
}

/// What was sorted comes back as it was given, or the disk is at fault.
fn form(error: &postcard::Error) -> ViewError {
    ViewError::Write(std::io::Error::other(format!(
        "a temporary file holds another row than was written: {error}"
    )))
}

impl<S: Store> View<S> {
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
pub fn stable_rows_of<S: Store>(crawls: &[(String, View<S>)], table: Table) -> Result<Rows<'_>, ViewError> {
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

/// The columns of a table of one or several crawls: see [`stable_rows_of`].
pub fn columns_of<S: Store>(crawls: &[(String, View<S>)], table: Table) -> Result<Vec<Column>, ViewError> {
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

/// Brings the rows of a crawl under the columns of several, the first of which names it.
pub(super) struct Widening {
    name: String,
    /// For each column behind the first: its place in the crawl's rows, whether a text becomes a list there, and whether it is a list.
    places: Vec<(Option<usize>, bool, bool)>,
}

impl Widening {
    fn new(name: &str, own: &[Column], columns: &[Column]) -> Self {
        let place = |column: &Column| {
            let place = own.iter().position(|known| known.name == column.name);
            let becomes_list = place.is_some_and(|place| own[place].kind != column.kind);
            (place, becomes_list, column.kind == Kind::List)
        };
        Self { name: name.to_owned(), places: columns.iter().skip(1).map(place).collect() }
    }

    pub(super) fn of(&self, mut row: Vec<Value>) -> Vec<Value> {
        let mut wide = Vec::with_capacity(self.places.len() + 1);
        wide.push(Value::Text(Cow::Owned(self.name.clone())));
        wide.extend(self.places.iter().map(|(place, becomes_list, is_list)| match place {
            Some(place) => match std::mem::replace(&mut row[*place], Value::Null) {
                Value::Text(text) if *becomes_list => vec![text.into_owned()].into_value(),
                Value::Null if *becomes_list => Value::empty_list(),
                value => value,
            },
            None if *is_list => Value::empty_list(),
            None => Value::Null,
        }));
        wide
    }
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
    let rows = Rows::sorted(first.table(), columns, by_key.rows()?);
    rows.set_omitted(omitted);
    Ok(rows)
}

/// The key that the rows of a host and URL are sorted by.
pub(super) fn write_key(key: &mut Vec<u8>, host: &str, url: &str) {
    key.clear();
    key.extend_from_slice(host_of(host).as_bytes());
    key.push(0);
    key.extend_from_slice(url.as_bytes());
    key.push(0);
}
