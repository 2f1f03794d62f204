//! The tables of a crawl as `crawl export --format jsonl` writes them, by URL: what statements are compared with.

use std::collections::{BTreeMap, BTreeSet};

use crawler::view::{Table, TableFormat, View, write_table};
use serde_json::Value;

/// The rows of a table as `crawl export --format jsonl` writes them.
pub(crate) fn rows(view: &View, table: Table) -> Vec<Value> {
    let mut text = Vec::new();
    let written = write_table(view, table, TableFormat::Jsonl, &mut text).expect("the table can be written");
    let rows: Vec<Value> = String::from_utf8(text)
        .expect("JSON is UTF-8")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON value"))
        .collect();
    assert_eq!(rows.len() as u64, written.rows);
    rows
}

/// The value of a column as text; empty where there is none.
pub(crate) fn text<'a>(row: &'a Value, column: &str) -> &'a str {
    row[column].as_str().unwrap_or_default()
}

type ByUrl = BTreeMap<String, Value>;

/// All that is compared.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) pages: ByUrl,
    /// Links by their targets.
    pub(crate) links: BTreeMap<String, Vec<Value>>,
    pub(crate) skipped: ByUrl,
    pub(crate) queue: ByUrl,
    pub(crate) errors: ByUrl,
    pub(crate) hosts: ByUrl,
    /// The last row of each origin.
    pub(crate) robots: ByUrl,
    pub(crate) ledger: BTreeMap<String, Vec<Value>>,
}

impl Tables {
    pub(crate) fn read(view: &View) -> Self {
        let by = |table, column: &str| -> ByUrl {
            // Of several rows the last one.
            rows(view, table).into_iter().map(|row| (text(&row, column).to_owned(), row)).collect()
        };
        let lists = |table, column: &str| {
            let mut lists: BTreeMap<String, Vec<Value>> = BTreeMap::new();
            for row in rows(view, table) {
                lists.entry(text(&row, column).to_owned()).or_default().push(row);
            }
            lists
        };
        Self {
            pages: by(Table::Pages, "url"),
            links: lists(Table::Links, "to"),
            skipped: by(Table::Skipped, "url"),
            queue: by(Table::Queue, "url"),
            errors: by(Table::Errors, "url"),
            hosts: by(Table::Hosts, "host"),
            robots: by(Table::Robots, "origin"),
            ledger: lists(Table::Ledger, "url"),
        }
    }

    /// Every URL that a table has.
    pub(crate) fn urls(&self) -> BTreeSet<&str> {
        let tables = [&self.pages, &self.skipped, &self.queue, &self.errors];
        let listed = tables.into_iter().flat_map(BTreeMap::keys);
        listed.chain(self.links.keys()).chain(self.ledger.keys()).map(String::as_str).collect()
    }

    /// What the tables have of a URL, for messages of failed tests.
    pub(crate) fn about(&self, url: &str) -> String {
        let tables = [
            ("pages", &self.pages),
            ("skipped", &self.skipped),
            ("queue", &self.queue),
            ("errors", &self.errors),
        ];
        let rows = tables.iter().filter_map(|(name, table)| Some(format!("\n  {name} {}", table.get(url)?)));
        let lists = [("links", &self.links), ("ledger", &self.ledger)];
        let lists = lists.iter().flat_map(|(name, table)| {
            table.get(url).into_iter().flatten().map(move |row| format!("\n  {name} {row}"))
        });
        rows.chain(lists).collect()
    }
}
