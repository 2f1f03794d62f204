//! The rows of any table as plain values, with the columns of `[[extract]]`, in the order in which they are stored or
//! in the stable order of exports.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use super::Table;
use super::cell::{Field, Kind};
use super::lookup::PageUrls;
use super::open::{View, ViewError};
use super::pages::{PageRow, page_row};
use super::row::{Column, Row};
use super::row_sorter::SortedRows;
use super::runs::all_runs;
use super::value::{Value, ValueRef};
use crate::page_store;
use page::url::CrawlUrl;

/// Rows as values, one for each column.
pub type RowStream<'a> = Box<dyn Iterator<Item = Result<Vec<Value>, ViewError>> + 'a>;

/// The rows of a table with its columns. Rows come one by one; none is held.
pub struct Rows<'a> {
    table: Table,
    columns: Vec<Column>,
    stream: Source<'a>,
    omitted: Rc<Cell<u64>>,
}

/// Where rows come from.
enum Source<'a> {
    Values(RowStream<'a>),
    Sorted(SortedRows),
}

impl<'a> Source<'a> {
    fn into_stream(self) -> RowStream<'a> {
        match self {
            Self::Values(stream) => stream,
            Self::Sorted(rows) => Box::new(rows),
        }
    }
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Vec<Value>, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.stream {
            Source::Values(stream) => stream.next(),
            Source::Sorted(rows) => rows.next(),
        }
    }
}

/// A column that the table doesn't have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("table {table} has no column {name:?}{}; it has: {columns}", .nearest.as_ref().map(|name| format!(" (did you mean {name:?}?)")).unwrap_or_default())]
pub struct UnknownColumn {
    table: &'static str,
    name: String,
    nearest: Option<String>,
    columns: String,
}

impl UnknownColumn {
    /// The error, with the column that is spelt most alike.
    pub fn new(table: Table, columns: &[Column], name: &str) -> Self {
        let alike = |column: &&Column| strsim::jaro_winkler(&column.name, name);
        let nearest = columns.iter().max_by(|a, b| alike(a).total_cmp(&alike(b)));
        let names: Vec<_> = columns.iter().map(|column| column.name.as_ref()).collect();
        Self {
            table: table.name(),
            name: name.to_owned(),
            nearest: nearest.filter(|column| alike(column) > 0.8).map(|column| column.name.to_string()),
            columns: names.join(" "),
        }
    }
}

impl<'a> Rows<'a> {
    /// No rows.
    pub(crate) fn none() -> Self {
        let rows = Source::Values(Box::new(std::iter::empty()));
        Self { table: Table::Pages, columns: Vec::new(), stream: rows, omitted: Rc::default() }
    }

    /// A single row.
    pub fn one(table: Table, columns: Vec<Column>, row: Vec<Value>) -> Self {
        let rows = Source::Values(Box::new(std::iter::once(Ok(row))));
        Self { table, columns, stream: rows, omitted: Rc::default() }
    }

    /// Rows from several crawls, and what counts the links that are omitted.
    pub(super) fn chained(
        table: Table,
        columns: Vec<Column>,
        rows: RowStream<'a>,
        omitted: Rc<Cell<u64>>,
    ) -> Self {
        Self { table, columns, stream: Source::Values(rows), omitted }
    }

    /// Rows of a table that were sorted.
    pub(super) fn sorted(table: Table, columns: Vec<Column>, rows: SortedRows) -> Self {
        Self { table, columns, stream: Source::Sorted(rows), omitted: Rc::default() }
    }

    /// Gives the values of the next row that aren't null to a function, each with the place of its column, without making texts of their own of
    /// them; false at the end.
    pub(crate) fn next_with(
        &mut self,
        mut take: impl FnMut(usize, ValueRef<'_>) -> Result<(), ViewError>,
    ) -> Result<bool, ViewError> {
        match &mut self.stream {
            Source::Values(stream) => {
                let Some(row) = stream.next() else { return Ok(false) };
                let row = row?;
                let mut values = row.iter().enumerate().filter(|(_, value)| **value != Value::Null);
                values.try_for_each(|(place, value)| take(place, value.into()))?;
                Ok(true)
            }
            Source::Sorted(rows) => rows.next_with(take),
        }
    }

    /// The table.
    pub fn table(&self) -> Table {
        self.table
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Links of pages under noindex that were omitted so far.
    pub fn omitted(&self) -> u64 {
        self.omitted.get()
    }

    pub(crate) fn set_omitted(&self, count: u64) {
        self.omitted.set(count);
    }

    /// Keeps the rows that a test lets pass.
    #[must_use]
    pub fn keep(self, test: impl Fn(&[Value]) -> bool + 'a) -> Self {
        let rows = self.stream.into_stream();
        let rows = rows.filter(move |row| row.as_ref().map_or(true, |row| test(row)));
        Self { stream: Source::Values(Box::new(rows)), ..self }
    }

    /// Keeps the first rows.
    #[must_use]
    pub fn first(self, most: usize) -> Self {
        let rows = Box::new(self.stream.into_stream().take(most));
        Self { stream: Source::Values(rows), ..self }
    }

    /// Other rows under other columns.
    pub(crate) fn with(
        self,
        columns: Vec<Column>,
        rows: impl FnOnce(RowStream<'a>) -> RowStream<'a>,
    ) -> Self {
        Self { columns, stream: Source::Values(rows(self.stream.into_stream())), ..self }
    }

    /// The place of a column.
    pub fn place(&self, name: &str) -> Result<usize, UnknownColumn> {
        let place = self.columns.iter().position(|column| column.name == name);
        place.ok_or_else(|| UnknownColumn::new(self.table, &self.columns, name))
    }

    /// Takes columns by their names, in this order.
    pub fn select(self, names: &[impl AsRef<str>]) -> Result<Self, UnknownColumn> {
        let places = names.iter().map(|name| self.place(name.as_ref())).collect::<Result<Vec<_>, _>>()?;
        Ok(self.at(places))
    }

    /// Without the columns that have nothing in most rows; see [`Column::is_detail`].
    #[must_use]
    pub fn compact(self) -> Self {
        let places = (0..self.columns.len()).filter(|place| !self.columns[*place].is_detail).collect();
        self.at(places)
    }

    fn at(self, places: Vec<usize>) -> Self {
        let columns = places.iter().map(|place| self.columns[*place].clone()).collect();
        let stream = match self.stream {
            // No values are made of them.
            Source::Sorted(mut rows) if places.is_sorted_by(|a, b| a < b) => {
                rows.take_at(&places);
                Source::Sorted(rows)
            }
            stream => Source::Values(Box::new(stream.into_stream().map(move |row| Ok(taken(row?, &places))))),
        };
        Self { columns, stream, ..self }
    }
}

/// The values of a row at some places.
fn taken(mut row: Vec<Value>, places: &[usize]) -> Vec<Value> {
    let mut taken = Vec::with_capacity(places.len());
    for (index, place) in places.iter().enumerate() {
        let is_last = !places[index + 1..].contains(place);
        let value =
            if is_last { std::mem::replace(&mut row[*place], Value::Null) } else { row[*place].clone() };
        taken.push(value);
    }
    taken
}

/// What a column of `[[extract]]` begins with.
pub const FIELD_PREFIX: &str = "field_";

fn field_column(name: &str, all: bool) -> Column {
    let kind = if all { Kind::List } else { Kind::Text };
    let column = Column::new("", kind, !all, &[], "");
    Column {
        name: Cow::Owned(format!("{FIELD_PREFIX}{name}")),
        about: Cow::Owned(format!(" Field `{name}` of `[[extract]]`.")),
        null_when: if all { "never" } else { "nothing matched, or noindex" },
        ..column
    }
}

impl View {
    /// The fields of all runs' settings: name, and whether any run takes every match.
    pub(super) fn extracted(&self) -> Result<Vec<(String, bool)>, ViewError> {
        let mut fields: BTreeMap<String, bool> = BTreeMap::new();
        for field in all_runs(self.store())?.into_iter().flatten().flat_map(|settings| settings.extract) {
            *fields.entry(field.name).or_default() |= field.all;
        }
        Ok(fields.into_iter().collect())
    }

    /// The columns of a table in this crawl: with `pages`, those of `[[extract]]` follow the others.
    pub fn columns(&self, table: Table) -> Result<Vec<Column>, ViewError> {
        let mut columns = table.columns().to_vec();
        if table == Table::Pages {
            columns.extend(self.extracted()?.iter().map(|(name, all)| field_column(name, *all)));
        }
        Ok(columns)
    }

    /// The rows of a table in the order of the typed ones. Links of pages under noindex are omitted, unless the view
    /// has them.
    pub fn rows(&self, table: Table) -> Result<Rows<'_>, ViewError> {
        self.rows_counted(table, Rc::default())
    }

    /// As [`View::rows`]; the links that are omitted are added to `omitted`.
    pub(super) fn rows_counted(&self, table: Table, omitted: Rc<Cell<u64>>) -> Result<Rows<'_>, ViewError> {
        fn plain<'a, R: Row>(rows: impl Iterator<Item = Result<R, ViewError>> + 'a) -> RowStream<'a> {
            Box::new(rows.map(|row| Ok(row?.into_values())))
        }
        let rows = match table {
            Table::Pages => {
                let fields = self.extracted()?;
                Box::new(self.pages().map(move |row| Ok(with_fields(row?, &fields)))) as RowStream<'_>
            }
            Table::Links => {
                let omitted = Rc::clone(&omitted);
                plain(self.links().filter(move |row| {
                    let is_out = !self.has_noindex() && matches!(row, Ok(link) if link.from_noindex);
                    omitted.set(omitted.get() + u64::from(is_out));
                    !is_out
                }))
            }
            Table::Hosts => plain(self.hosts()),
            Table::Robots => plain(self.robots()),
            Table::Queue => plain(self.queue()),
            Table::Skipped => plain(self.skipped()?),
            Table::Ledger => plain(self.ledger()),
            Table::Errors => plain(self.errors()),
            Table::Duplicates => plain(self.duplicates()?),
            Table::Changes => plain(self.changes()),
        };
        Ok(Rows { table, columns: self.columns(table)?, stream: Source::Values(rows), omitted })
    }
}

impl View {
    /// The row of table `pages` of one URL, with its columns; none where it wasn't answered. Cost: one look-up.
    pub fn page(&self, url: &CrawlUrl) -> Result<Option<Rows<'static>>, ViewError> {
        let Some(host) = self.host_ids().of(self.store(), self.key(), url)? else { return Ok(None) };
        let page = url.fingerprint(self.key());
        let Some(record) = page_store::record_of(self.store(), host, page)? else { return Ok(None) };
        let mut record = self.shown(record);
        let Some(status) = record.status else { return Ok(None) };
        self.complete(&mut record)?;
        let via = PageUrls::default().of(self, record.via)?;
        let row = with_fields(page_row(record, status, via), &self.extracted()?);
        Ok(Some(Rows::one(Table::Pages, self.columns(Table::Pages)?, row)))
    }
}

/// The values of a row of table `pages` with those of `[[extract]]`.
pub(super) fn with_fields(row: PageRow, fields: &[(String, bool)]) -> Vec<Value> {
    let found = if fields.is_empty() { BTreeMap::new() } else { row.fields.clone() };
    let mut values = row.into_values();
    for field in fields {
        give_field(&found, field, &mut |value| values.push(value.into()));
    }
    values
}

/// Gives the same values to a function.
pub(super) fn give_with_fields(row: &PageRow, fields: &[(String, bool)], take: &mut dyn FnMut(ValueRef<'_>)) {
    row.give(take);
    for field in fields {
        give_field(&row.fields, field, take);
    }
}

fn give_field(
    found: &BTreeMap<String, Vec<String>>,
    (name, all): &(String, bool),
    take: &mut dyn FnMut(ValueRef<'_>),
) {
    match found.get(name) {
        Some(texts) if *all => texts.give(take),
        None if *all => Vec::<String>::new().give(take),
        texts => {
            take(texts.and_then(|texts| texts.first()).map_or(ValueRef::Null, |text| ValueRef::Text(text)));
        }
    }
}
