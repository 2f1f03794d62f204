//! Rows as Python dicts: what `crawl export --format jsonl` writes, without `v`.

use crawler::view::{Rows, Value};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::reading::{Failure, Out};

/// Rows of the first batch, which comes soon.
const FIRST: usize = 16;

/// Rows of a batch at most.
const ROWS: usize = 1024;

/// Bytes of texts of a batch, about.
const BYTES: usize = 1 << 20;

/// Rows that are handed over at a time.
pub(crate) type Batch = Vec<Vec<Value>>;

/// Makes batches of rows.
pub(crate) fn batches(rows: Rows<'_>, out: &Out<Batch>) -> Result<(), Failure> {
    let (mut batch, mut bytes, mut most) = (Vec::new(), 0, FIRST);
    for row in rows {
        let row = row?;
        bytes += row.iter().map(size).sum::<usize>();
        batch.push(row);
        if batch.len() == most || bytes >= BYTES {
            if !out.send(std::mem::take(&mut batch)) {
                return Ok(());
            }
            bytes = 0;
            most = (2 * most).min(ROWS);
        }
    }
    if !batch.is_empty() {
        out.send(batch);
    }
    Ok(())
}

fn size(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Compound { json, text } => json.len() + text.len(),
        _ => size_of::<Value>(),
    }
}

/// Reads JSON.
pub(crate) fn loads<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "json"))?.call_method1(intern!(py, "loads"), (json,))
}

/// Reads JSON lines.
pub(crate) fn loads_lines<'py>(py: Python<'py>, lines: &[u8]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let lines = String::from_utf8_lossy(lines);
    lines.split('\n').filter(|line| !line.is_empty()).map(|line| loads(py, line)).collect()
}

/// A row as a dict.
pub(crate) fn dict<'py>(
    py: Python<'py>,
    names: &[Py<PyString>],
    row: Vec<Value>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in names.iter().zip(row) {
        let name = name.bind(py);
        match value {
            Value::Null => dict.set_item(name, py.None())?,
            Value::Text(text) => dict.set_item(name, text)?,
            Value::Integer(number) => dict.set_item(name, number)?,
            Value::Number(number) => dict.set_item(name, number)?,
            Value::Boolean(value) => dict.set_item(name, value)?,
            Value::Time(_) => dict.set_item(name, value.text())?,
            Value::Compound { json, .. } if json == "[]" => dict.set_item(name, PyList::empty(py))?,
            Value::Compound { json, .. } => dict.set_item(name, loads(py, &json)?)?,
        }
    }
    Ok(dict)
}
