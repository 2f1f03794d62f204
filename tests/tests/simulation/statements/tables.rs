//! The tables of a crawl as `crawl export --format jsonl` writes them, by URL: what statements are compared with.

use std::collections::{BTreeMap, BTreeSet};

use crawler::post::partition;
use crawler::view::{Table, TableFormat, View, write_table};
use page::url::CrawlUrl;
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
    /// All rows of a URL: of a crawl in several partitions each may have one.
    pub(crate) all_skipped: BTreeMap<String, Vec<Value>>,
    pub(crate) queue: ByUrl,
    pub(crate) errors: ByUrl,
    pub(crate) hosts: ByUrl,
    /// The last row of each origin.
    pub(crate) robots: ByUrl,
    /// Of a crawl in several partitions the entries that the one of its host has of a URL, and those of the others where that one doesn't know it.
    pub(crate) ledger: BTreeMap<String, Vec<Value>>,
}

impl Tables {
    /// Of a crawl in one store, or in the partitions in the order of their numbers.
    pub(crate) fn read(parts: &[(String, View)]) -> Self {
        let all = |table| parts.iter().flat_map(move |(_, view)| rows(view, table));
        let by = |table, column: &str| -> ByUrl {
            // Of several rows the last one.
            all(table).map(|row| (text(&row, column).to_owned(), row)).collect()
        };
        let lists = |rows: &mut dyn Iterator<Item = Value>, column: &str| {
            let mut lists: BTreeMap<String, Vec<Value>> = BTreeMap::new();
            for row in rows {
                lists.entry(text(&row, column).to_owned()).or_default().push(row);
            }
            lists
        };
        let of = u32::try_from(parts.len()).expect("few partitions");
        let is_own = |part: usize, url: &str| {
            let host = CrawlUrl::parse(url).map_or(String::new(), |url| url.host().to_owned());
            partition(&host, of) as usize == part
        };
        let (pages, queue, errors) =
            (by(Table::Pages, "url"), by(Table::Queue, "url"), by(Table::Errors, "url"));
        let mut known: BTreeSet<String> =
            [&pages, &queue, &errors].into_iter().flat_map(BTreeMap::keys).cloned().collect();
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (part, (_, view)) in parts.iter().enumerate() {
            let skipped = rows(view, Table::Skipped).into_iter().map(|row| text(&row, "url").to_owned());
            known.extend(skipped.filter(|url| is_own(part, url)));
            for row in rows(view, Table::Ledger) {
                let list = if is_own(part, text(&row, "url")) { &mut own } else { &mut others };
                list.push(row);
            }
        }
        others.retain(|row| !known.contains(text(row, "url")));
        Self {
            links: lists(&mut all(Table::Links), "to"),
            skipped: by(Table::Skipped, "url"),
            all_skipped: lists(&mut all(Table::Skipped), "url"),
            hosts: by(Table::Hosts, "host"),
            robots: by(Table::Robots, "origin"),
            ledger: lists(&mut own.into_iter().chain(others), "url"),
            pages,
            queue,
            errors,
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
