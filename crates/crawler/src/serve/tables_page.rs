//! Tables: the list of them, and one with its filter, order, columns and parts.

use maud::{Markup, html};

use super::charts::time;
use super::failure::Failure;
use super::layout::{host_link, sentence, shown, url_link};
use super::params::Params;
use super::table_query::{MOST_ROWS, Part, ROWS};
use crate::view::{Column, Kind, Table, Value};
use page::quantity::grouped;

/// Characters of a cell; the rest is in the page of the URL, in the API and in downloads.
const CELL: usize = 200;

/// The columns that a table shows unless others are asked for.
pub(super) fn usual(table: Table) -> &'static [&'static str] {
    match table {
        Table::Pages => &[
            "url",
            "status",
            "title",
            "content_type",
            "language",
            "depth",
            "bytes",
            "duration_ms",
            "fetched_at",
            "indexed",
        ],
        Table::Links => &["from", "to", "text", "rel", "kind", "outcome"],
        Table::Hosts => &[
            "host",
            "pages",
            "requests",
            "queued",
            "errors",
            "skipped",
            "delay",
            "delay_reason",
            "robots_status",
            "next_at",
            "parked",
        ],
        Table::Robots => &["origin", "fetched_at", "status", "access", "reason", "bytes", "warnings"],
        Table::Queue => &["url", "depth", "priority", "tries", "via", "next_at"],
        Table::Skipped => &["url", "reason", "detail", "via", "at"],
        Table::Ledger => &["seq", "at", "url", "decision", "layer", "reason", "evidence"],
        Table::Errors => &["url", "kind", "detail", "status", "tries", "at"],
        Table::Duplicates | Table::Changes => &[],
    }
}

/// A filter for a table, as an example.
fn example(table: Table) -> &'static str {
    match table {
        Table::Pages => "status >= 400 and depth < 3",
        Table::Links => "outcome = \"queued\" and text contains \"more\"",
        Table::Hosts => "errors > 0 or parked is not null",
        Table::Robots => "access != \"rules\"",
        Table::Queue => "tries > 0",
        Table::Skipped => "reason in (\"robots_txt\", \"too_deep\")",
        Table::Ledger => "layer = \"robots\" and decision = \"skipped\"",
        Table::Errors => "kind = \"timeout\"",
        Table::Duplicates => "url ~ \"/print/\"",
        Table::Changes => "status != status_before",
    }
}

/// The list of tables.
pub(super) fn list() -> Markup {
    html! {
        h1 { "Tables" }
        p { "Everything that the crawl has on record. Each table can be filtered, sorted and downloaded; " code { "crawl schema" } " describes every column." }
        ul .tiles {
            @for table in Table::ALL {
                li { a href=(format!("/table/{}", table.name())) { strong { (table.name()) } span { (table.holds()) } } }
            }
        }
    }
}

/// One table.
pub(super) fn main(table: Table, params: &Params, part: Result<&Part, &Failure>) -> Markup {
    html! {
        h1 { "Table " (table.name()) }
        p .quiet { (table.about()) " " a href="/tables" { "Other tables" } }
        @match part {
            Ok(part) => (rows(table, params, part)),
            // What was typed stays, to be corrected.
            Err(failure) => {
                (form(table, &format!("/table/{}", table.name()), params, table.columns(), &|column| usual(table).contains(&&*column.name), ROWS))
                div .notice role="alert" { p { (sentence(&failure.what)) } }
            }
        }
    }
}

fn rows(table: Table, params: &Params, part: &Part) -> Markup {
    let path = format!("/table/{}", table.name());
    let page = |offset: usize| {
        format!(
            "{path}?{}",
            params.with("offset", &if offset == 0 { String::new() } else { offset.to_string() })
        )
    };
    let download = |format: &str| {
        format!(
            "/download/{}?{}",
            table.name(),
            params.with("offset", "")
                + if params.with("offset", "").is_empty() { "" } else { "&" }
                + "format="
                + format
        )
    };
    let first = part.offset + 1;
    let last = part.offset + part.rows.len();
    let is_taken = |column: &Column| part.columns.iter().any(|taken| taken.name == column.name);
    html! {
        (form(table, &path, params, &part.all, &is_taken, part.limit))
        div .above {
            p role="status" {
                @if part.rows.is_empty() { "No rows." } @else { "Rows " (grouped(first as u64)) " to " (grouped(last as u64)) @if part.more { ", and more." } @else { ", the last." } }
                @if part.omitted > 0 { " Omitted links of pages under noindex: " (grouped(part.omitted)) "." }
            }
            p { "Download all rows: " a href=(download("csv")) download { "CSV" } ", " a href=(download("jsonl")) download { "JSON lines" } }
        }
        div .scroll tabindex="0" role="region" aria-label=(format!("Rows of table {}", table.name())) {
            table .data {
                thead { tr { @for column in &part.columns { (head(&path, params, column)) } } }
                tbody {
                    @for row in &part.rows {
                        tr { @for (column, value) in part.columns.iter().zip(row) { (cell(column, value)) } }
                    }
                }
            }
        }
        nav .pages aria-label="Parts of the table" {
            @if part.offset > 0 {
                a href=(page(0)) { "First" }
                a rel="prev" href=(page(part.offset.saturating_sub(part.limit))) { "Previous" }
            }
            @if part.more { a rel="next" href=(page(part.offset + part.limit)) { "Next" } }
        }
    }
}

fn form(
    table: Table,
    path: &str,
    params: &Params,
    columns: &[Column],
    is_taken: &dyn Fn(&Column) -> bool,
    limit: usize,
) -> Markup {
    let taken = columns.iter().filter(|column| is_taken(column)).count();
    html! {
        form .query action=(path) method="get" role="search" aria-label="Filter and columns" {
            div .field .wide {
                label for="where" { "Filter" }
                input #where name="where" type="text" value=[params.get("where")] placeholder=(example(table)) spellcheck="false" autocomplete="off" aria-describedby="where-help";
                p #where-help .quiet { "For example " code { (example(table)) } ", as with " code { "--where" } "." }
            }
            div .field {
                label for="sort" { "Sort" }
                input #sort name="sort" type="text" value=[params.get("sort")] placeholder="COLUMN:desc" spellcheck="false" autocomplete="off";
            }
            div .field {
                label for="limit" { "Rows" }
                input #limit name="limit" type="number" min="1" max=(MOST_ROWS) value=(limit);
            }
            div .field .button { button type="submit" { "Apply" } @if params != &Params::default() { a href=(path) { "Reset" } } }
            details .wide {
                summary { "Columns (" (taken) " of " (columns.len()) ")" }
                fieldset {
                    legend .visually-hidden { "Columns" }
                    @for column in columns {
                        label .check {
                            input type="checkbox" name="columns" value=(column.name) checked[is_taken(column)];
                            span { (column.name) @if !column.unit.is_empty() { span .quiet { " (" (column.unit) ")" } } }
                        }
                    }
                }
            }
        }
    }
}

/// A column's name, which sorts the table when it is followed.
fn head(path: &str, params: &Params, column: &Column) -> Markup {
    let sorted = params.get("sort").unwrap_or_default();
    let (name, direction) = sorted.split_once(':').unwrap_or((sorted, "asc"));
    let is_by = name == column.name;
    let next =
        if is_by && direction == "asc" { format!("{}:desc", column.name) } else { column.name.to_string() };
    let query = Params::read(params.with("offset", "").as_bytes()).with("sort", &next);
    let order = is_by.then_some(if direction == "desc" { "descending" } else { "ascending" });
    html! {
        th scope="col" .number[is_number(column)] aria-sort=[order] {
            a href=(format!("{path}?{query}")) { (column.name) @if is_by { span aria-hidden="true" { (if direction == "desc" { " ↓" } else { " ↑" }) } } }
        }
    }
}

fn is_number(column: &Column) -> bool {
    matches!(column.kind, Kind::Integer | Kind::Number)
}

/// A cell. URLs and hosts of the crawl are links to their pages here; nothing leads to the web.
fn cell(column: &Column, value: &Value) -> Markup {
    let text = value.text();
    html! {
        td .number[is_number(column)] .names[column.has_few_values] .wide[!column.has_few_values && matches!(column.kind, Kind::Text | Kind::List | Kind::Object)] { (value_of(&column.name, value, text.as_deref())) }
    }
}

/// The value of a column, as it is shown in a table and in a record.
pub(super) fn value_of(name: &str, value: &Value, text: Option<&str>) -> Markup {
    html! {
        @match (value, text) {
            (Value::Null, _) | (_, None) => span .quiet title="null" { "–" },
            (Value::Time(_), Some(text)) => (time(text)),
            (Value::Integer(count), _) => (grouped(*count)),
            (Value::Number(number), _) => (number),
            (Value::Boolean(is_true), _) => (if *is_true { "yes" } else { "no" }),
            (_, Some(text)) if matches!(name, "url" | "via" | "from" | "to" | "canonical" | "duplicate_of" | "redirect") && text.len() <= CELL * 4 => (url_link(text)),
            (_, Some(text)) if name == "host" && !text.is_empty() => (host_link(text)),
            (_, Some(text)) => bdi { (cut(text)) },
        }
    }
}

/// The beginning of a long text, with how much follows.
fn cut(text: &str) -> String {
    let text = shown(text);
    match text.char_indices().nth(CELL) {
        None => text,
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_that_a_table_shows_exists() {
        for table in Table::ALL {
            for name in usual(table) {
                assert!(
                    table.columns().iter().any(|column| column.name == *name),
                    "{}: {name}",
                    table.name()
                );
            }
        }
    }

    #[test]
    fn a_long_text_says_how_long_it_is() {
        assert_eq!(cut("short"), "short");
        assert!(cut(&"ä".repeat(300)).ends_with("ä… (300 characters)"));
    }
}
