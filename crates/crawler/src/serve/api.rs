//! The JSON API under `/api/v1`. `assets/openapi.json` describes it, and a test compares the two.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::failure::Failure;
use super::figures::Counted;
use super::table_query::Part;
use crate::view::{Column, Moment, Table};

/// The description of the API.
pub(super) const OPENAPI: &str = include_str!("assets/openapi.json");

/// How long an answer waits for figures that aren't counted yet.
pub(super) const PATIENCE: Duration = Duration::from_secs(25);

/// The body of an answer that isn't the one that was asked for.
pub(super) fn failure(failure: &Failure) -> Json {
    json!({"v": 1, "error": {"status": failure.status.as_u16(), "message": failure.what}})
}

/// A figure with the time at which it was counted.
pub(super) fn counted<T: Serialize>(counted: &Counted<T>) -> Result<Json, Failure> {
    let value = object(&*counted.value)?;
    Ok(json!({"v": 1, "counted_at": Moment(counted.at), "value": value}))
}

/// A value as JSON.
pub(super) fn object(value: &impl Serialize) -> Result<Json, Failure> {
    serde_json::to_value(value).map_err(|error| {
        Failure::new(
            axum::http::StatusCode::INTERNAL_SERVER_ERROR,
            format!("the answer can't be written: {error}"),
        )
    })
}

/// The tables with their columns.
pub(super) fn tables() -> Json {
    let tables = Table::ALL.map(|table| {
        json!({"name": table.name(), "holds": table.holds(), "columns": table.columns().iter().map(column).collect::<Vec<_>>()})
    });
    json!({"v": 1, "tables": tables})
}

fn column(column: &Column) -> Json {
    let unit = Some(column.unit).filter(|unit| !unit.is_empty());
    json!({"name": column.name, "type": column.kind.name(), "unit": unit, "nullable": column.nullable})
}

/// A part of a table.
pub(super) fn part(table: Table, part: &Part) -> Result<Vec<u8>, Failure> {
    let columns = part.columns.iter().map(column).collect::<Vec<_>>();
    let head = json!({
        "v": 1, "table": table.name(), "columns": columns, "offset": part.offset, "limit": part.limit, "more": part.more,
        "omitted": part.omitted,
    });
    let mut out = head.to_string().into_bytes();
    // Rows follow as the last member, in the form of `crawl export`.
    out.pop();
    out.extend_from_slice(b",\"rows\":[");
    for (number, row) in part.rows.iter().enumerate() {
        out.extend_from_slice(if number == 0 { b"{" } else { b",{" });
        for (place, (column, value)) in part.columns.iter().zip(row).enumerate() {
            if place > 0 {
                out.push(b',');
            }
            out.extend_from_slice(json!(column.name).to_string().as_bytes());
            out.push(b':');
            value.write_json(&mut out).map_err(crate::view::ViewError::from)?;
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
    Ok(out)
}
