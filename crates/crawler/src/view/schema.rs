//! The schema of the tables for people and programs: `crawl schema`, `docs/schema.md`. All of it comes from the columns themselves.

use std::io::{self, Write};

use serde::Serialize;

use super::cell::Kind;
use super::row::Column;
use super::{Table, json, width};

/// The version of the schema: it grows by one when a column changes its name, type or meaning. New columns don't change it.
pub const SCHEMA_VERSION: u32 = 1;

/// What a kind of column is in each format.
pub const KINDS: [Kind; 7] =
    [Kind::Text, Kind::Integer, Kind::Number, Kind::Boolean, Kind::Time, Kind::List, Kind::Object];

impl Kind {
    /// The type in SQLite.
    pub fn sqlite(self) -> &'static str {
        match self {
            Self::Text | Self::Time | Self::List | Self::Object => "TEXT",
            Self::Integer | Self::Boolean => "INTEGER",
            Self::Number => "REAL",
        }
    }

    /// The representation in each format: CSV, JSON lines, Parquet, SQLite.
    fn forms(self) -> [&'static str; 4] {
        match self {
            Self::Text => ["text", "string", "`BYTE_ARRAY`, `STRING`", "`TEXT`"],
            Self::Integer => ["digits", "number", "`INT64`", "`INTEGER`"],
            Self::Number => ["digits", "number", "`DOUBLE`", "`REAL`"],
            Self::Boolean => ["`true`, `false`", "true, false", "`BOOLEAN`", "`INTEGER`: 0, 1"],
            Self::Time => [
                "RFC 3339, UTC, milliseconds",
                "the same as a string",
                "`INT64`, `TIMESTAMP(MILLIS, UTC)`",
                "`TEXT`: the same",
            ],
            Self::List => ["items joined by `; `", "array", "`LIST` of strings or of groups", "`TEXT`: JSON"],
            Self::Object => ["JSON, or text (`evidence`)", "object", "`STRING`: JSON", "`TEXT`: JSON"],
        }
    }
}

/// A column as `crawl schema --json` prints it.
#[derive(Debug, Serialize)]
struct ColumnLine<'a> {
    v: u32,
    table: &'static str,
    column: &'a str,
    r#type: &'static str,
    unit: Option<&'static str>,
    nullable: bool,
    null_when: Option<&'static str>,
    about: String,
    members: Vec<MemberLine>,
    dictionary: bool,
    compact: bool,
    since: &'static str,
}

#[derive(Debug, Serialize)]
struct MemberLine {
    name: &'static str,
    r#type: &'static str,
}

/// Writes the columns as JSON lines.
pub fn write_schema_json(table: Table, columns: &[Column], out: &mut impl Write) -> io::Result<()> {
    for column in columns {
        let members = column.members.iter().map(|(name, kind)| MemberLine { name, r#type: kind.name() });
        let line = ColumnLine {
            v: 1,
            table: table.name(),
            column: &column.name,
            r#type: column.kind.name(),
            unit: Some(column.unit).filter(|unit| !unit.is_empty()),
            nullable: column.nullable,
            null_when: column.nullable.then_some(column.null_when),
            about: plain(&column.about),
            members: members.collect(),
            dictionary: column.has_few_values,
            compact: !column.is_detail,
            since: column.since,
        };
        json::write_line(out, &line)?;
    }
    Ok(())
}

/// Writes the columns of a table as text.
pub fn write_schema_text(table: Table, columns: &[Column], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", table.name())?;
    let longest =
        |of: fn(&Column) -> &str| columns.iter().map(|column| width::cells(of(column))).max().unwrap_or(0);
    let (names, kinds) = (longest(|column| &column.name), longest(|column| column.kind.name()));
    for column in columns {
        let mut facts = plain(&column.about);
        if !column.unit.is_empty() && !facts.contains(column.unit) {
            facts = format!("{facts} Unit: {}.", column.unit);
        }
        if column.nullable {
            facts = format!("{facts} Null: {}.", plain(column.null_when));
        }
        writeln!(out, "  {:names$}  {:kinds$}  {facts}", column.name, column.kind.name())?;
    }
    Ok(())
}

/// Writes `docs/schema.md`.
pub fn write_schema_markdown(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{HEAD}")?;
    writeln!(out, "| type | CSV | JSON lines | Parquet | SQLite |\n|---|---|---|---|---|")?;
    for kind in KINDS {
        writeln!(out, "| {} | {} |", kind.name(), kind.forms().join(" | "))?;
    }
    writeln!(out, "\n{FORMATS}")?;
    for table in Table::ALL {
        writeln!(out, "\n## {}\n", table.name())?;
        writeln!(out, "{}\n", table.about())?;
        writeln!(
            out,
            "| column | type | unit | null when | since | description |\n|---|---|---|---|---|---|"
        )?;
        for column in table.columns() {
            let mut kind = column.kind.name().to_owned();
            if !column.members.is_empty() {
                let members: Vec<_> =
                    column.members.iter().map(|(name, kind)| format!("`{name}` {}", kind.name())).collect();
                kind = format!("{kind} of {}", members.join(", "));
            }
            if column.has_few_values {
                kind.push_str(", dictionary");
            }
            if column.is_detail {
                kind.push_str(", detail");
            }
            writeln!(
                out,
                "| `{}` | {kind} | {} | {} | {} | {} |",
                column.name,
                column.unit,
                column.null_when,
                column.since,
                column.about.trim(),
            )?;
        }
    }
    Ok(())
}

const HEAD: &str = "\
# Schema of the tables

Generated by `crawl schema --markdown` from the definition in the code, which every export uses; a test compares this file with the code.
`crawl schema --table TABLE --json` prints the same for programs. [outputs.md](outputs.md) describes the tables.

Schema version 1. It is incremented when a column changes its name, type or meaning; new columns are added at the end and don't change it. Parquet
files have it in their metadata (`crawl.schema_version`), SQLite databases in `PRAGMA user_version`.
";

const FORMATS: &str = "\
Null is an empty cell in CSV, and null in JSON lines, Parquet and SQLite. A list is never null unless its row below says so.

- *dictionary*: a column with few different values; Parquet stores it dictionary-encoded, ready to be read as the type `category` or `ENUM`:
  `pyarrow.parquet.read_table(file, read_dictionary=[...])`, `CREATE TYPE ... AS ENUM` in DuckDB.
- *detail*: empty in most rows of most crawls. `crawl export --format csv` omits these columns; `--columns all` writes them, `--columns a,b,c` writes
  only the columns named. All other formats have every column.
- `field_NAME`: table `pages` has such a column for each `[[extract]]` rule of the crawl, after all others, in every format: text (null if nothing matched), or a
  list if the rule has `all = true`.
- `crawl`: when several directories are exported to one output, the first column of each table is the directory as given.
- `altered`: the last column of CSV (not with `--raw`): the names of the columns whose text was escaped in that row, joined by `; `.

Exports are ordered by host, then URL (`links` by page, then in document order; `robots` by origin and time; the ledger by number; `duplicates` by
group), so two exports can be compared line by line.";

/// Markdown without its links and backquotes.
fn plain(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut rest = markdown.trim();
    while let Some(open) = rest.find('[') {
        let link = rest[open..].find("](").and_then(|end| {
            let close = rest[open + end..].find(')')?;
            Some((&rest[open + 1..open + end], &rest[open + end + close + 1..]))
        });
        if let Some((label, after)) = link.filter(|(label, _)| !label.contains('[')) {
            text.push_str(&rest[..open]);
            text.push_str(label);
            rest = after;
        } else {
            text.push_str(&rest[..=open]);
            rest = &rest[open + 1..];
        }
    }
    text.push_str(rest);
    text.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema.md");

    #[test]
    fn the_document_is_what_the_code_says() {
        let mut generated = Vec::new();
        write_schema_markdown(&mut generated).unwrap();
        let generated = String::from_utf8(generated).unwrap();
        let document = std::fs::read_to_string(DOC).unwrap();
        for (number, (written, expected)) in document.lines().zip(generated.lines()).enumerate() {
            assert_eq!(
                written,
                expected,
                "docs/schema.md line {}: write it by `crawl schema --markdown`",
                number + 1
            );
        }
        assert_eq!(document, generated);
        assert!(generated.contains(&format!("Schema version {SCHEMA_VERSION}.")));
    }

    #[test]
    fn every_column_says_what_it_is_and_what_null_means() {
        for table in Table::ALL {
            for column in table.columns() {
                let about = column.about.trim();
                assert!(
                    about.ends_with('.') && about.len() > 5,
                    "{} {}: {about:?}",
                    table.name(),
                    column.name
                );
                assert_eq!(column.nullable, column.null_when != "never", "{} {}", table.name(), column.name);
                assert!(!column.about.contains('|'), "{}: a table in Markdown can't hold it", column.name);
            }
        }
    }

    #[test]
    fn links_become_their_labels() {
        for (markdown, text) in [
            (" By [limits.md](limits.md#of-a-page).", "By limits.md."),
            ("What `[[extract]]` asks for", "What [[extract]] asks for"),
            ("`{\"a\"}` [x](y) [z](w)", "{\"a\"} x z"),
        ] {
            assert_eq!(plain(markdown), text);
        }
    }
}
