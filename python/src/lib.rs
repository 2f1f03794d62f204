//! The extension module of the Python package `crawl`: the reader of `crawler::view` for Python.
//!
//! A [`Crawl`](crawl::Crawl) holds the database. Each pass over a table is a [`Reading`](reading::Reading): a thread with a view of its own, which hands over
//! rows in batches, at most one ahead, as dicts ([`row`]) or as Arrow record batches ([`batch`]).

mod batch;
mod crawl;
mod error;
mod reading;
mod request;
mod row;
mod table;

use pyo3::prelude::*;

/// The native part of the package `crawl`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // What the database's engine gives up on comes back as an error with its words.
        if !crawler::store::is_caught() {
            usual(panic);
        }
    }));
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SCHEMA_VERSION", crawler::view::SCHEMA_VERSION)?;
    module.add("CrawlError", py.get_type::<error::CrawlError>())?;
    module.add("NoCrawlError", py.get_type::<error::NoCrawlError>())?;
    module.add("InUseError", py.get_type::<error::InUseError>())?;
    module.add_class::<crawl::Crawl>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<table::RowIterator>()
}
