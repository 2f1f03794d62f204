//! `crawl schema`: names, types, units and meanings of all columns.

use std::io::Write;

use clap::Args;
use crawler::view::{Table, write_schema_json, write_schema_markdown, write_schema_text};

use crate::terminal::Console;
use crate::{exit, table_name};

/// Options of `schema`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  crawl schema --table pages
  crawl schema --json | jq -r 'select(.unit == \"bytes\") | .table + \".\" + .column'")]
pub(crate) struct SchemaArgs {
    /// Table to describe [default: all]
    #[arg(long, value_name = "TABLE", value_parser = table_name::parser())]
    table: Option<Table>,
    /// Print docs/schema.md
    #[arg(long, conflicts_with_all = ["table", "json"])]
    markdown: bool,
}

/// Prints the schema.
pub(crate) fn run(args: &SchemaArgs, console: Console) -> anyhow::Result<i32> {
    let mut out = Vec::new();
    if args.markdown {
        write_schema_markdown(&mut out)?;
        return exit::print(&out);
    }
    let tables = args.table.map_or_else(|| Table::ALL.to_vec(), |table| vec![table]);
    for (number, table) in tables.into_iter().enumerate() {
        if console.json {
            write_schema_json(table, table.columns(), &mut out)?;
            continue;
        }
        if number > 0 {
            writeln!(out)?;
        }
        write_schema_text(table, table.columns(), &mut out)?;
    }
    exit::print(&out)
}
