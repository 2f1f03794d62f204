//! Errors as Python exceptions, with the words that the program prints.

use crawler::job::DirError;
use crawler::search::SearchError;
use crawler::view::ViewError;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::{PyErr, create_exception};

create_exception!(
    crawl,
    CrawlError,
    PyException,
    "A crawl can't be read. The message is the one of the program `crawl`."
);
create_exception!(crawl, NoCrawlError, CrawlError, "The directory holds no crawl.");
create_exception!(
    crawl,
    InUseError,
    CrawlError,
    "A running crawl, or another program that reads, holds the directory."
);

/// The exception of an error of reading.
pub(crate) fn of_view(error: &ViewError) -> PyErr {
    let message = error.message();
    match error {
        ViewError::Dir(DirError::NoCrawl(_)) => NoCrawlError::new_err(message),
        ViewError::InUse(_) => InUseError::new_err(message),
        _ => CrawlError::new_err(message),
    }
}

/// The exception of an error of searching.
pub(crate) fn of_search(error: &SearchError) -> PyErr {
    let message = error.message();
    match error {
        SearchError::Query(_) => PyValueError::new_err(message),
        _ => CrawlError::new_err(message),
    }
}
