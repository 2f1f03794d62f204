//! Tables as one SQLite database: primary keys, indices, full-text search over titles, descriptions and main texts, views.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Statement};

use crate::view::{CRAWL_COLUMN, Column, Rows, SCHEMA_VERSION, Table, Value, ViewError};

/// A SQLite database in the making. It is written without a journal: give the file its name when [`SqliteOutput::finish`] returned.
#[derive(Debug)]
pub struct SqliteOutput {
    connection: Connection,
    tables: Vec<(Table, Vec<Column>)>,
    has_texts: bool,
}

/// How full-text search cuts texts into words: runs of letters and digits, without case and diacritics.
const TOKENIZE: &str = "tokenize = 'unicode61 remove_diacritics 2'";

/// A name in SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn error(error: rusqlite::Error) -> ViewError {
    ViewError::Write(io::Error::other(error))
}

/// The columns that tell rows apart.
fn primary_key(table: Table) -> &'static [&'static str] {
    match table {
        Table::Pages | Table::Duplicates => &["url"],
        Table::Hosts => &["host"],
        Table::Robots => &["origin", "fetched_at"],
        Table::Ledger => &["seq"],
        Table::Links | Table::Queue | Table::Skipped | Table::Errors | Table::Changes => &[],
    }
}

fn indices(table: Table) -> &'static [&'static str] {
    match table {
        Table::Pages => &["status", "digest", "fetched_at"],
        Table::Links => &["from", "to"],
        Table::Hosts => &[],
        Table::Robots => &["digest"],
        Table::Queue | Table::Changes => &["url", "host"],
        Table::Skipped => &["url", "reason", "host"],
        Table::Ledger => &["url", "host", "decision"],
        Table::Duplicates => &["group_url"],
        Table::Errors => &["url", "kind", "host"],
    }
}

impl SqliteOutput {
    /// Makes an empty database at `path`, where nothing is yet.
    pub fn create(path: &Path) -> Result<Self, ViewError> {
        let connection = Connection::open(path).map_err(error)?;
        // A reader never sees the file before it is whole, so that a journal would protect nobody.
        connection
            .execute_batch(&format!(
                "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000; \
                 PRAGMA user_version = {SCHEMA_VERSION}; BEGIN;"
            ))
            .map_err(error)?;
        Ok(Self { connection, tables: Vec::new(), has_texts: false })
    }

    /// Writes a table; gives the number of its rows. Memory: SQLite's own cache of 16 MB.
    pub fn table(&mut self, rows: &mut Rows<'_>) -> Result<u64, ViewError> {
        let table = rows.table();
        let columns = distinct(rows.columns());
        let mut sql = format!("CREATE TABLE {} (", quoted(table.name()));
        for column in &columns {
            let null = if column.nullable { "" } else { " NOT NULL" };
            write!(sql, "{} {}{null}, ", quoted(&column.name), column.kind.sqlite())
                .map_err(|_| io_other())?;
        }
        let is_there = |name: &str| columns.iter().any(|column| column.name == name);
        let crawl = is_there(CRAWL_COLUMN).then_some(CRAWL_COLUMN);
        let key = primary_key(table);
        if !key.is_empty() && key.iter().all(|name| is_there(name)) {
            let names: Vec<_> = crawl.iter().chain(key).map(|name| quoted(name)).collect();
            write!(sql, "PRIMARY KEY ({}), ", names.join(", ")).map_err(|_| io_other())?;
        }
        sql.truncate(sql.len() - 2);
        sql.push(')');
        self.connection.execute_batch(&sql).map_err(error)?;
        let places = vec!["?"; columns.len()].join(", ");
        let mut insert = self
            .connection
            .prepare(&format!("INSERT INTO {} VALUES ({places})", quoted(table.name())))
            .map_err(error)?;
        let mut count = 0;
        for row in rows {
            add(&mut insert, &row?).map_err(error)?;
            count += 1;
        }
        drop(insert);
        for name in indices(table).iter().filter(|name| is_there(name)) {
            let index = format!("{}_{name}", table.name());
            let sql =
                format!("CREATE INDEX {} ON {} ({})", quoted(&index), quoted(table.name()), quoted(name));
            self.connection.execute_batch(&sql).map_err(error)?;
        }
        self.tables.push((table, columns));
        Ok(count)
    }

    /// Makes table `pages_text` for full-text search over titles, descriptions and main texts. It holds words and their places, and no
    /// text (contentless), since a text that may be searched needn't be one that may be shown. Does nothing without table `pages` and its
    /// URLs.
    pub fn begin_texts(&mut self) -> Result<(), ViewError> {
        if !self.has(Table::Pages, &["url"]) {
            return Ok(());
        }
        self.has_texts = true;
        let sql = format!(
            "CREATE VIRTUAL TABLE pages_text USING fts5(title, description, text, content = '', {TOKENIZE})"
        );
        self.connection.execute_batch(&sql).map_err(error)
    }

    /// Finds the row of a page in table `pages`, where its text goes; `crawl` is its name where the table has several crawls. None where
    /// it has no row, or texts aren't wanted.
    pub fn text_row(&self, crawl: &str, url: &str) -> Result<Option<i64>, ViewError> {
        if !self.has_texts {
            return Ok(None);
        }
        let find = |sql: &str, values: &[&str]| {
            let mut find = self.connection.prepare(sql)?;
            find.query_row(rusqlite::params_from_iter(values), |row| row.get(0)).optional()
        };
        if self.has(Table::Pages, &[CRAWL_COLUMN]) {
            find("SELECT rowid FROM pages WHERE crawl = ? AND url = ?", &[crawl, url])
        } else {
            find("SELECT rowid FROM pages WHERE url = ?", &[url])
        }
        .map_err(error)
    }

    /// Adds the text of a page to `pages_text`. Memory: SQLite's own, of some MB.
    pub fn add_text(&self, row: i64, title: &str, description: &str, text: &str) -> Result<(), ViewError> {
        let sql = "INSERT INTO pages_text (rowid, title, description, text) VALUES (?, ?, ?, ?)";
        let mut insert = self.connection.prepare(sql).map_err(error)?;
        insert.execute((row, title, description, text)).map_err(error)?;
        Ok(())
    }

    fn has(&self, table: Table, names: &[&str]) -> bool {
        let columns = self.tables.iter().find(|(known, _)| *known == table).map(|(_, columns)| columns);
        columns
            .is_some_and(|columns| names.iter().all(|name| columns.iter().any(|column| column.name == *name)))
    }

    /// Adds full-text search and views, as far as the tables and columns that they need are there, and closes the database.
    pub fn finish(self) -> Result<(), ViewError> {
        let mut sql = String::new();
        if self.has(Table::Pages, &["title", "description", "searchable"]) {
            sql.push_str("CREATE VIRTUAL TABLE pages_fts USING fts5(title, description, content=\"pages\", ");
            sql.push_str(TOKENIZE);
            sql.push_str(
                "); INSERT INTO pages_fts (rowid, title, description) \
                 SELECT rowid, title, description FROM pages WHERE searchable;",
            );
        }
        if self.has(Table::Pages, &["status"]) {
            sql.push_str("CREATE VIEW pages_ok AS SELECT * FROM pages WHERE status BETWEEN 200 AND 299;");
        }
        if self.has(Table::Links, &["from", "to", "text", "kind"])
            && self.has(Table::Errors, &["url", "kind", "status"])
        {
            let (crawl, same) = if self.has(Table::Links, &[CRAWL_COLUMN]) {
                ("links.crawl, ", " AND links.crawl = errors.crawl")
            } else {
                ("", "")
            };
            write!(
                sql,
                "CREATE VIEW broken_links AS SELECT {crawl}links.\"from\", links.\"to\", links.text, links.kind AS element, \
                 errors.kind, errors.status FROM errors JOIN links ON links.\"to\" = errors.url{same};"
            )
            .map_err(|_| io_other())?;
        }
        if self.has(Table::Skipped, &["reason", "layer"]) {
            let crawl = if self.has(Table::Skipped, &[CRAWL_COLUMN]) { "crawl, " } else { "" };
            write!(
                sql,
                "CREATE VIEW skipped_by_reason AS SELECT {crawl}reason, layer, count(*) AS count FROM skipped \
                 GROUP BY {crawl}reason, layer ORDER BY count DESC;"
            )
            .map_err(|_| io_other())?;
        }
        sql.push_str("COMMIT; ANALYZE;");
        self.connection.execute_batch(&sql).map_err(error)?;
        self.connection.close().map_err(|(_, source)| error(source))
    }
}

fn io_other() -> ViewError {
    ViewError::Write(io::Error::other("a statement can't be written"))
}

/// The columns with names that differ in more than upper and lower case, which SQLite takes for the same.
fn distinct(columns: &[Column]) -> Vec<Column> {
    let mut all: Vec<Column> = Vec::with_capacity(columns.len());
    for column in columns {
        let mut column = column.clone();
        let plain = column.name.clone();
        let mut number = 2;
        while all.iter().any(|known| known.name.eq_ignore_ascii_case(&column.name)) {
            column.name = format!("{plain}_{number}").into();
            number += 1;
        }
        all.push(column);
    }
    all
}

fn add(insert: &mut Statement<'_>, row: &[Value]) -> rusqlite::Result<()> {
    for (index, value) in row.iter().enumerate() {
        insert.raw_bind_parameter(index + 1, Cell(value))?;
    }
    insert.raw_execute()?;
    Ok(())
}

/// A value as SQLite takes it.
struct Cell<'a>(&'a Value);

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Value::Compound { json, .. } => ToSqlOutput::Borrowed(ValueRef::Text(json.as_bytes())),
            Value::Integer(number) => {
                ToSqlOutput::Borrowed(ValueRef::Integer(i64::try_from(*number).unwrap_or(i64::MAX)))
            }
            Value::Number(number) => ToSqlOutput::Borrowed(ValueRef::Real(*number)),
            Value::Boolean(value) => ToSqlOutput::Borrowed(ValueRef::Integer((*value).into())),
            time @ Value::Time(_) => match time.text() {
                Some(text) => ToSqlOutput::Owned(rusqlite::types::Value::Text(text.into_owned())),
                None => ToSqlOutput::Borrowed(ValueRef::Null),
            },
        })
    }
}
