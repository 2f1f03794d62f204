//! A table of a crawl, or the rows of it that were asked for.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ffi::FFI_ArrowSchema;
use crawler::view::{ViewError, write_schema_json};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyString};

use crate::batch;
use crate::error::{CrawlError, of_view};
use crate::reading::{Failure, Opened, Reading};
use crate::request::Request;
use crate::row::{self, Batch};

impl From<Failure> for PyErr {
    fn from(error: Failure) -> Self {
        match error {
            Failure::View(error) => of_view(&error),
            Failure::Other(what) => CrawlError::new_err(what),
        }
    }
}

/// Rows of a table. Nothing is read before it is iterated over, or handed to a library that reads Arrow streams; each time it is read anew.
///
/// Iterating gives dicts, as `crawl export --format jsonl` writes them, without `v`. `pyarrow.table(rows)`, `polars.DataFrame(rows)` and
/// `duckdb.from_arrow(rows)` take it by the Arrow PyCapsule interface; types are those of the Parquet export (docs/schema.md).
#[pyclass(frozen, module = "crawl")]
#[derive(Debug)]
pub(crate) struct Table {
    opened: Arc<Opened>,
    request: Request,
}

impl Table {
    pub(crate) fn new(opened: Arc<Opened>, request: Request) -> Self {
        Self { opened, request }
    }
}

#[pymethods]
impl Table {
    /// The table's name.
    #[getter]
    fn name(&self) -> &'static str {
        self.request.table().name()
    }

    /// The names of the columns, in order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.request.columns().iter().map(|column| column.name.to_string()).collect()
    }

    /// What each column is: dicts as `crawl schema --json` prints them.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut lines = Vec::new();
        write_schema_json(self.request.table(), self.request.columns(), &mut lines)
            .map_err(|error| of_view(&ViewError::Write(error)))?;
        row::loads_lines(py, &lines)
    }

    /// Iterates over the rows as dicts.
    fn __iter__(&self, py: Python<'_>) -> PyResult<RowIterator> {
        let names = self.request.columns().iter().map(|column| PyString::new(py, &column.name).unbind());
        let names = names.collect();
        let reading = py.detach(|| Reading::start(&self.opened, self.request.clone(), row::batches))?;
        Ok(RowIterator { reading, names, batch: Vec::new().into_iter() })
    }

    /// The rows as an Arrow C stream (PyCapsule interface). Batches have 16,384 rows or 8 MiB at most; another schema isn't made.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer that can't convert give its own schema.
        let _ = requested_schema;
        let schema = batch::schema(self.request.table(), self.request.columns());
        let reading = py.detach(|| Reading::start(&self.opened, self.request.clone(), batch::batches))?;
        let stream = FFI_ArrowArrayStream::new(Box::new(batch::Reader { schema, reading }));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The schema as an Arrow C schema (PyCapsule interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = batch::schema(self.request.table(), self.request.columns());
        let schema = FFI_ArrowSchema::try_from(schema.as_ref());
        let schema = schema.map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// All rows as a `pyarrow.Table`; needs pyarrow.
    fn to_arrow(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// All rows as a `pandas.DataFrame`; needs pandas and pyarrow. Times have their zone, lists are arrays, objects JSON texts.
    fn to_pandas(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        Self::to_arrow(slf)?.call_method0("to_pandas")
    }

    fn __repr__(&self) -> String {
        let columns = self.columns().join(", ");
        format!("<crawl.Table {} of {:?}: {columns}>", self.name(), self.opened.root().display().to_string())
    }
}

/// Iterates over rows as dicts.
#[pyclass(module = "crawl")]
#[derive(Debug)]
pub(crate) struct RowIterator {
    reading: Arc<Reading<Batch>>,
    names: Vec<Py<PyString>>,
    batch: std::vec::IntoIter<Vec<crawler::view::Value>>,
}

#[pymethods]
impl RowIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.reading.check()?;
        loop {
            if let Some(row) = self.batch.next() {
                return row::dict(py, &self.names, row).map(Some);
            }
            let reading = &self.reading;
            #[expect(
                clippy::redundant_closure_for_method_calls,
                reason = "the method itself has one lifetime"
            )]
            let next = py.detach(|| reading.next(|| Python::attach(|py| py.check_signals())));
            match next? {
                Some(batch) => self.batch = batch.into_iter(),
                None => return Ok(None),
            }
        }
    }
}
