//! What is asked of a table: which rows, in which order, with which columns.

use std::str::FromStr;

use crawler::tables::filter::Filter;
use crawler::tables::sort::{parse_sort, sort_rows};
use crawler::view::{Column, Rows, Table, UnknownColumn, View, ViewError};
use meta::consent::Purpose;

/// The view of one pass over a table.
pub(crate) type SharedView = View;

/// What is asked of a table, as Python says it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) condition: Option<String>,
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) sort: Option<String>,
    pub(crate) limit: Option<usize>,
    pub(crate) order: String,
    pub(crate) purpose: Option<String>,
    pub(crate) include_noindex: bool,
}

/// The same, checked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    table: Table,
    wanted: Wanted,
    columns: Vec<Column>,
    purpose: Option<Purpose>,
    is_as_stored: bool,
}

/// Says what can't be asked.
pub(crate) enum Refused {
    /// Something that the caller can put right, in words.
    Argument(String),
    /// The crawl can't be read.
    View(ViewError),
}

impl From<ViewError> for Refused {
    fn from(error: ViewError) -> Self {
        Self::View(error)
    }
}

/// The table of a name.
pub(crate) fn table_of(name: &str) -> Result<Table, String> {
    Table::named(name).ok_or_else(|| {
        let names: Vec<_> = Table::ALL.iter().map(|table| table.name()).collect();
        format!("there is no table {name:?}; there are: {}", names.join(" "))
    })
}

/// An error that names an option, as Python's argument is named: `--where` is `where`.
fn without_dashes(error: &impl std::fmt::Display) -> String {
    error.to_string().trim_start_matches("--").to_owned()
}

impl Request {
    /// Checks everything that can be wrong before a row is read.
    pub(crate) fn new(view: &SharedView, table: Table, wanted: Wanted) -> Result<Self, Refused> {
        let argument = |what: String| Refused::Argument(what);
        let all = view.columns(table)?;
        if let Some(text) = &wanted.condition {
            Filter::of(text, table, &all).map_err(|error| argument(without_dashes(&error)))?;
        }
        if let Some(text) = &wanted.sort {
            parse_sort(text, &Rows::one(table, all.clone(), Vec::new()))
                .map_err(|error| argument(without_dashes(&error)))?;
        }
        let column_of = |name: &String| {
            let column = all.iter().find(|column| column.name == *name);
            column.cloned().ok_or_else(|| argument(UnknownColumn::new(table, &all, name).to_string()))
        };
        let columns = match &wanted.columns {
            None => all.clone(),
            Some(names) => names.iter().map(column_of).collect::<Result<_, _>>()?,
        };
        let is_as_stored = match wanted.order.as_str() {
            "export" => false,
            "stored" => true,
            other => {
                return Err(argument(format!("order is \"export\" or \"stored\", not {other:?}")));
            }
        };
        let purpose = wanted.purpose.as_deref().map(Purpose::from_str).transpose();
        let purpose = purpose.map_err(|error| argument(without_dashes(&error)))?;
        Ok(Self { table, wanted, columns, purpose, is_as_stored })
    }

    /// The table.
    pub(crate) fn table(&self) -> Table {
        self.table
    }

    /// The columns of each row.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Sets what the view has to show.
    pub(crate) fn prepare(&self, view: SharedView) -> SharedView {
        view.serving(self.purpose).with_noindex(self.wanted.include_noindex)
    }

    /// The rows, of a view that was prepared.
    pub(crate) fn rows<'a>(&self, view: &'a SharedView) -> Result<Rows<'a>, ViewError> {
        let changed =
            |error: &dyn std::fmt::Display| ViewError::Write(std::io::Error::other(error.to_string()));
        let mut rows = view.rows(self.table)?;
        if let Some(text) = &self.wanted.condition {
            let filter = Filter::parse(text, &rows).map_err(|error| changed(&error))?;
            rows = rows.keep(move |row| filter.passes(row));
        }
        if !self.is_as_stored {
            rows = view.ordered(rows)?;
        }
        if let Some(text) = &self.wanted.sort {
            let keys = parse_sort(text, &rows).map_err(|error| changed(&error))?;
            rows = sort_rows(rows, &keys, view.temporary())?;
        }
        if let Some(limit) = self.wanted.limit {
            rows = rows.first(limit);
        }
        match &self.wanted.columns {
            None => Ok(rows),
            Some(names) => rows.select(names).map_err(|error| changed(&error)),
        }
    }
}
