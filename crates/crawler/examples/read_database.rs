//! Reads a crawl's output: `cargo run --example read_database -- crawl-data`.
//!
//! `View` is the reader of the tables: rows as structs (`pages`, `links`, `hosts` ...), or any table as plain values (`rows`). The database can be opened
//! by sled alone, too, with the settings of docs/storage.md; its values are packed, so use the reader to get at their content.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use crawler::store::SEGMENT_SIZE;
use crawler::view::{Table, View};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: read_database DIR")?;
    read(&dir, &mut std::io::stdout().lock())
}

/// Writes the pages, how many rows each table has, and how many entries each tree of the database.
pub(crate) fn read(dir: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let view = View::open(dir)?;
    for page in view.pages() {
        let page = page?;
        writeln!(out, "{} {} {}", page.status, page.url, page.title.as_deref().unwrap_or("-"))?;
    }
    for table in Table::ALL {
        writeln!(out, "{}: {} rows", table.name(), view.rows(table)?.count())?;
    }
    drop(view);
    let database = sled::Config::new().path(dir.join("db")).segment_size(SEGMENT_SIZE).open()?;
    for tree in database.tree_names() {
        let entries = database.open_tree(&tree)?.len();
        writeln!(out, "tree {}: {entries} entries", String::from_utf8_lossy(&tree))?;
    }
    Ok(())
}
