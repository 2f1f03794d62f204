//! A crawl that is open for reading.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crawler::live::Copies;
use crawler::search::{Found, Request as Query, Search, is_behind, parse_since, parse_until};
use crawler::view::{Table as Name, TableFormat, ViewError, write_rows};
use jiff::Timestamp;
use page::url::CrawlUrl;
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::{PyLookupError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;

use crate::error::{of_search, of_view};
use crate::reading::Opened;
use crate::request::{Refused, Request, SharedView, Wanted, table_of};
use crate::row::{loads, loads_lines};
use crate::table::Table;

/// Most hits.
const MOST: usize = 10_000;

/// One value or several.
#[derive(Debug, FromPyObject)]
enum OneOrMore {
    One(String),
    Several(Vec<String>),
}

impl OneOrMore {
    fn all(this: Option<Self>) -> Vec<String> {
        match this {
            None => Vec::new(),
            Some(Self::One(one)) => vec![one],
            Some(Self::Several(several)) => several,
        }
    }
}

/// A date or a time: a text as `crawl search --since` takes it, a `datetime.date`, or a `datetime.datetime` with a zone.
fn time(
    name: &str,
    value: Option<&Bound<'_, PyAny>>,
    parse: fn(&str) -> Result<Timestamp, String>,
) -> PyResult<Option<Timestamp>> {
    let Some(value) = value else { return Ok(None) };
    let text: String = match value.extract() {
        Ok(text) => text,
        Err(_) if value.hasattr("isoformat")? => value.call_method0("isoformat")?.extract()?,
        Err(_) => {
            let what = format!("{name} is a str, a date or a datetime, not {}", value.get_type().name()?);
            return Err(PyTypeError::new_err(what));
        }
    };
    let time = parse(&text).map_err(|what| PyValueError::new_err(format!("{name} is {text:?}; {what}")))?;
    Ok(Some(time))
}

/// A crawl, open for reading: `Crawl("crawl-data")`.
///
/// Opening locks the directory until `close()`, the end of a `with` block, or until the object is gone: no crawl runs there meanwhile, and no
/// command of `crawl` reads there. Nothing that the crawl stored is changed. Any thread may use it.
///
/// snapshot_dir: where to copy the database if this user can't write in the directory, with a UserWarning; None: the directory for temporary
/// files. The copy goes when the crawl is closed.
///
/// Raises NoCrawlError where the directory holds no crawl, InUseError where it is in use, CrawlError where it can't be read.
#[pyclass(frozen, module = "crawl")]
#[derive(Debug)]
pub(crate) struct Crawl {
    opened: Arc<Opened>,
}

impl Crawl {
    fn view(&self) -> PyResult<SharedView> {
        Ok(self.opened.view()?)
    }

    fn table_with(&self, py: Python<'_>, table: Name, wanted: Wanted) -> PyResult<Table> {
        let request = py.detach(|| {
            let view = self.view()?;
            Request::new(&view, table, wanted).map_err(|refused| match refused {
                Refused::Argument(what) => PyValueError::new_err(what),
                Refused::View(error) => of_view(&error),
            })
        });
        Ok(Table::new(Arc::clone(&self.opened), request?))
    }

    /// What is written as JSON without Python's lock.
    fn json(
        &self,
        py: Python<'_>,
        write: impl FnOnce(&SharedView, &mut Vec<u8>) -> PyResult<()> + Send,
    ) -> PyResult<Vec<u8>> {
        py.detach(|| {
            let mut lines = Vec::new();
            write(&self.view()?, &mut lines)?;
            Ok(lines)
        })
    }

    /// One JSON object.
    fn object<'py>(
        &self,
        py: Python<'py>,
        write: impl FnOnce(&SharedView, &mut Vec<u8>) -> PyResult<()> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let json = self.json(py, write)?;
        loads(py, &String::from_utf8_lossy(&json))
    }

    fn find(&self, py: Python<'_>, query: &Query) -> PyResult<Vec<u8>> {
        // A closed crawl is an error here too.
        drop(self.view()?);
        let root = self.opened.root();
        if is_behind(root) {
            let what = format!(
                "the full-text index may lack what was stored last; after close(), `crawl search {} WORD` takes it in",
                root.display()
            );
            let category = py.get_type::<PyUserWarning>();
            py.import("warnings")?.call_method1("warn", (what, category, 2))?;
        }
        py.detach(|| {
            let found: Result<Found, _> =
                Search::open(root).and_then(|index| index.find(query, page::clock::wall()));
            let mut lines = Vec::new();
            found.map_err(|error| of_search(&error))?.write_json(&mut lines).map_err(written)?;
            Ok(lines)
        })
    }

    /// The origins of a host, or that nothing is stored.
    fn origins(view: &SharedView, host: &str) -> PyResult<Vec<String>> {
        let origins = view.robots_origins(host).map_err(|error| of_view(&error))?;
        if origins.is_empty() {
            let what = format!("nothing is stored of a robots.txt of {host}; table `robots` lists all");
            return Err(PyLookupError::new_err(what));
        }
        Ok(origins)
    }
}

/// A failure of writing to memory.
fn written(error: std::io::Error) -> PyErr {
    of_view(&ViewError::Write(error))
}

fn parsed(url: &str) -> PyResult<CrawlUrl> {
    CrawlUrl::parse(url).map_err(|error| PyValueError::new_err(format!("{url} can't be crawled: {error}")))
}

/// Collects what opening warns of.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<u8>>>);

impl Write for Warnings {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Warnings {
    /// Does something, and gives what it warned of.
    fn during<T>(work: impl FnOnce() -> T) -> (T, String) {
        let warnings = Self::default();
        let writer = warnings.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::WARN)
            .without_time()
            .with_level(false)
            .with_target(false)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        let result = tracing::subscriber::with_default(subscriber, work);
        let bytes = std::mem::take(&mut *warnings.0.lock().unwrap_or_else(PoisonError::into_inner));
        (result, String::from_utf8_lossy(&bytes).trim().to_owned())
    }
}

/// The methods of tables that have options of their own or none.
macro_rules! wanted {
    ($condition:ident, $columns:ident, $sort:ident, $limit:ident, $order:ident) => {
        Wanted {
            condition: $condition,
            columns: $columns,
            sort: $sort,
            limit: $limit,
            order: $order.to_owned(),
            ..Wanted::default()
        }
    };
}

#[pymethods]
impl Crawl {
    #[new]
    #[pyo3(signature = (directory, /, *, snapshot_dir=None))]
    fn new(py: Python<'_>, directory: PathBuf, snapshot_dir: Option<PathBuf>) -> PyResult<Self> {
        let copies = Copies { dir: snapshot_dir, ..Copies::default() };
        let (opened, warnings) = py.detach(|| Warnings::during(|| Opened::open(&directory, &copies)));
        let opened = opened.map_err(|error| of_view(&error))?;
        if !warnings.is_empty() {
            py.import("warnings")?.call_method1("warn", (warnings, py.get_type::<PyUserWarning>(), 2))?;
        }
        Ok(Self { opened: Arc::new(opened) })
    }

    /// The directory as it was named.
    #[getter]
    fn directory(&self) -> PathBuf {
        self.opened.root().to_owned()
    }

    /// The names of the tables.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        Name::ALL.iter().map(|table| table.name()).collect()
    }

    /// Rows of a table by its name, as `crawl show` and `crawl export` have them; see `tables`.
    ///
    /// where: a condition, as `crawl show --where` takes it: 'status >= 400 and depth < 3'.
    /// columns: the columns in this order; None: all, with those of `[[extract]]` behind the others.
    /// sort: columns, each ascending or, with :desc, descending: 'bytes:desc,url'.
    /// limit: no more rows than this.
    /// order: 'export', by host and URL, so that two crawls can be compared (all rows are sorted in temporary files beside the crawl before the
    /// first one comes), or 'stored', as `crawl show` has them: the first row comes at once.
    ///
    /// Raises ValueError where there is no such table or column, or the condition can't be read.
    #[pyo3(signature = (name, *, r#where=None, columns=None, sort=None, limit=None, order="export"))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn table(
        &self,
        py: Python<'_>,
        name: &str,
        r#where: Option<String>,
        columns: Option<Vec<String>>,
        sort: Option<String>,
        limit: Option<usize>,
        order: &str,
    ) -> PyResult<Table> {
        let table = table_of(name).map_err(PyValueError::new_err)?;
        self.table_with(py, table, wanted!(r#where, columns, sort, limit, order))
    }

    /// What was answered, one row a URL. Options as of `table`; with `purpose` only pages that may serve it (the crawl must have declared it).
    #[pyo3(signature = (*, r#where=None, columns=None, sort=None, limit=None, order="export", purpose=None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn pages(
        &self,
        py: Python<'_>,
        r#where: Option<String>,
        columns: Option<Vec<String>>,
        sort: Option<String>,
        limit: Option<usize>,
        order: &str,
        purpose: Option<String>,
    ) -> PyResult<Table> {
        let wanted = Wanted { purpose, ..wanted!(r#where, columns, sort, limit, order) };
        self.table_with(py, Name::Pages, wanted)
    }

    /// What links where, and what became of each link. Options as of `table`; with `include_noindex` also the links of pages under noindex, for
    /// an audit.
    #[pyo3(signature = (*, r#where=None, columns=None, sort=None, limit=None, order="export", include_noindex=false))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn links(
        &self,
        py: Python<'_>,
        r#where: Option<String>,
        columns: Option<Vec<String>>,
        sort: Option<String>,
        limit: Option<usize>,
        order: &str,
        include_noindex: bool,
    ) -> PyResult<Table> {
        let wanted = Wanted { include_noindex, ..wanted!(r#where, columns, sort, limit, order) };
        self.table_with(py, Name::Links, wanted)
    }

    /// What each host was asked, how fast, and why so. Options as of `table`.
    #[pyo3(signature = (*, r#where=None, columns=None, sort=None, limit=None, order="export"))]
    fn hosts(
        &self,
        py: Python<'_>,
        r#where: Option<String>,
        columns: Option<Vec<String>>,
        sort: Option<String>,
        limit: Option<usize>,
        order: &str,
    ) -> PyResult<Table> {
        self.table_with(py, Name::Hosts, wanted!(r#where, columns, sort, limit, order))
    }

    /// What is still to be fetched. Options as of `table`.
    #[pyo3(signature = (*, r#where=None, columns=None, sort=None, limit=None, order="export"))]
    fn queue(
        &self,
        py: Python<'_>,
        r#where: Option<String>,
        columns: Option<Vec<String>>,
        sort: Option<String>,
        limit: Option<usize>,
        order: &str,
    ) -> PyResult<Table> {
        self.table_with(py, Name::Queue, wanted!(r#where, columns, sort, limit, order))
    }

    /// What was left out, and why. Options as of `table`.
    #[pyo3(signature = (*, r#where=None, columns=None, sort=None, limit=None, order="export"))]
    fn skipped(
        &self,
        py: Python<'_>,
        r#where: Option<String>,
        columns: Option<Vec<String>>,
        sort: Option<String>,
        limit: Option<usize>,
        order: &str,
    ) -> PyResult<Table> {
        self.table_with(py, Name::Skipped, wanted!(r#where, columns, sort, limit, order))
    }

    /// Every decision in its order. Options as of `table`.
    #[pyo3(signature = (*, r#where=None, columns=None, sort=None, limit=None, order="export"))]
    fn ledger(
        &self,
        py: Python<'_>,
        r#where: Option<String>,
        columns: Option<Vec<String>>,
        sort: Option<String>,
        limit: Option<usize>,
        order: &str,
    ) -> PyResult<Table> {
        self.table_with(py, Name::Ledger, wanted!(r#where, columns, sort, limit, order))
    }

    /// What failed, and how. Options as of `table`.
    #[pyo3(signature = (*, r#where=None, columns=None, sort=None, limit=None, order="export"))]
    fn errors(
        &self,
        py: Python<'_>,
        r#where: Option<String>,
        columns: Option<Vec<String>>,
        sort: Option<String>,
        limit: Option<usize>,
        order: &str,
    ) -> PyResult<Table> {
        self.table_with(py, Name::Errors, wanted!(r#where, columns, sort, limit, order))
    }

    /// What says the same as another page, or nearly. Options as of `table`.
    #[pyo3(signature = (*, r#where=None, columns=None, sort=None, limit=None, order="export"))]
    fn duplicates(
        &self,
        py: Python<'_>,
        r#where: Option<String>,
        columns: Option<Vec<String>>,
        sort: Option<String>,
        limit: Option<usize>,
        order: &str,
    ) -> PyResult<Table> {
        self.table_with(py, Name::Duplicates, wanted!(r#where, columns, sort, limit, order))
    }

    /// What later visits of pages found changed. Options as of `table`.
    #[pyo3(signature = (*, r#where=None, columns=None, sort=None, limit=None, order="export"))]
    fn changes(
        &self,
        py: Python<'_>,
        r#where: Option<String>,
        columns: Option<Vec<String>>,
        sort: Option<String>,
        limit: Option<usize>,
        order: &str,
    ) -> PyResult<Table> {
        self.table_with(py, Name::Changes, wanted!(r#where, columns, sort, limit, order))
    }

    /// Without a host, table `robots`: every answer to a request for robots.txt, options as of `table`. With a host's name, an origin or a URL: the
    /// answers of that host as a list of dicts, the oldest first, as `crawl robots log --json` prints them.
    ///
    /// Raises LookupError where nothing is stored of that host.
    #[pyo3(signature = (host=None, *, r#where=None, columns=None, sort=None, limit=None, order="export"))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn robots<'py>(
        &self,
        py: Python<'py>,
        host: Option<&str>,
        r#where: Option<String>,
        columns: Option<Vec<String>>,
        sort: Option<String>,
        limit: Option<usize>,
        order: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(host) = host else {
            let table = self.table_with(py, Name::Robots, wanted!(r#where, columns, sort, limit, order))?;
            return table.into_bound_py_any(py);
        };
        if r#where.is_some() || columns.is_some() || sort.is_some() || limit.is_some() || order != "export" {
            return Err(PyValueError::new_err(
                "where, columns, sort, limit and order go with the table, without a host",
            ));
        }
        let lines = self.json(py, |view, out| {
            for origin in Self::origins(view, host)? {
                for answer in view.robots_log(&origin).map_err(|error| of_view(&error))? {
                    answer.write_json(out).map_err(written)?;
                }
            }
            Ok(())
        });
        loads_lines(py, &lines?)?.into_bound_py_any(py)
    }

    /// The robots.txt of a host's origins as last answered, with the lines that bind this crawl's robot: dicts as `crawl show DIR robots HOST --json`
    /// prints them.
    ///
    /// Raises LookupError where nothing is stored of that host.
    fn robots_txt<'py>(&self, py: Python<'py>, host: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let lines = self.json(py, |view, out| {
            for origin in Self::origins(view, host)? {
                if let Some(stored) = view.stored_robots(&origin).map_err(|error| of_view(&error))? {
                    stored.write_json(out).map_err(written)?;
                }
            }
            Ok(())
        });
        loads_lines(py, &lines?)
    }

    /// The row of table `pages` of one URL as a dict; None where it wasn't answered.
    ///
    /// Raises ValueError where the URL can't be crawled.
    fn page<'py>(&self, py: Python<'py>, url: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let url = parsed(url)?;
        let lines = self.json(py, |view, out| {
            if let Some(rows) = view.page(&url).map_err(|error| of_view(&error))? {
                write_rows(rows, TableFormat::Jsonl, out).map_err(|error| of_view(&error))?;
            }
            Ok(())
        });
        let Some(row) = loads_lines(py, &lines?)?.pop() else { return Ok(None) };
        row.del_item("v")?;
        Ok(Some(row))
    }

    /// Every decision about a URL, and what would change the answer: a dict as `crawl explain --json` prints it. Also of a URL that the crawl never
    /// met.
    ///
    /// Raises ValueError where the URL can't be crawled.
    fn explain<'py>(&self, py: Python<'py>, url: &str) -> PyResult<Bound<'py, PyAny>> {
        let url = parsed(url)?;
        self.object(py, |view, out| {
            view.explain(&url).map_err(|error| of_view(&error))?.write_json(out).map_err(written)
        })
    }

    /// The crawl as a whole: a dict as `crawl show --json` prints it.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.object(py, |view, out| {
            view.summary().map_err(|error| of_view(&error))?.write_json(out).map_err(written)
        })
    }

    /// The pages with these words, the best first: dicts as `crawl search --json` prints them, at most `limit` (1 to 10,000). docs/search.md says what
    /// a query may hold.
    ///
    /// host: only pages of this host, or of these. lang: only pages in this language, or in these, as in 'en' or 'zh'.
    /// since: only pages fetched at this time or later. until: only pages fetched before this time. Each is an RFC 3339 time, a datetime with a
    /// time zone, or a date in UTC ('2026-01-31' or a date), which stands for its beginning in since and for its end in until.
    ///
    /// Raises ValueError where the query or a time can't be read, CrawlError where there is no full-text index. Warns where the index may lack something.
    #[pyo3(signature = (query, *, limit=10, host=None, lang=None, since=None, until=None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn search<'py>(
        &self,
        py: Python<'py>,
        query: String,
        limit: usize,
        host: Option<OneOrMore>,
        lang: Option<OneOrMore>,
        since: Option<&Bound<'py, PyAny>>,
        until: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        if limit == 0 || limit > MOST {
            return Err(PyValueError::new_err(format!("limit is 1 to {MOST}, not {limit}")));
        }
        let query = Query {
            query,
            hosts: OneOrMore::all(host),
            langs: OneOrMore::all(lang),
            since: time("since", since, parse_since)?,
            until: time("until", until, parse_until)?,
            limit,
            facets: false,
        };
        let lines = loads_lines(py, &self.find(py, &query)?)?;
        Ok(lines.into_iter().skip(1).collect())
    }

    /// How many pages have these words: a dict of `total`, `host` and `language`, of which the last two count the 20 with most of them, the most
    /// frequent first. Options as of `search`.
    #[pyo3(signature = (query, *, host=None, lang=None, since=None, until=None))]
    fn search_counts<'py>(
        &self,
        py: Python<'py>,
        query: String,
        host: Option<OneOrMore>,
        lang: Option<OneOrMore>,
        since: Option<&Bound<'py, PyAny>>,
        until: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let query = Query {
            query,
            hosts: OneOrMore::all(host),
            langs: OneOrMore::all(lang),
            since: time("since", since, parse_since)?,
            until: time("until", until, parse_until)?,
            limit: 0,
            facets: true,
        };
        let counts = pyo3::types::PyDict::new(py);
        for facet in ["host", "language"] {
            counts.set_item(facet, pyo3::types::PyDict::new(py))?;
        }
        for line in loads_lines(py, &self.find(py, &query)?)? {
            if let Ok(total) = line.get_item("total") {
                counts.set_item("total", total)?;
            } else {
                let facet = counts.as_any().get_item(line.get_item("facet")?)?;
                facet.set_item(line.get_item("value")?, line.get_item("count")?)?;
            }
        }
        Ok(counts.into_any())
    }

    /// Ends every reading and unlocks the directory. A reading that sorts its rows is waited for. Closing twice is no error.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.opened.close());
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        format!("<crawl.Crawl {:?}>", self.opened.root().display().to_string())
    }
}
