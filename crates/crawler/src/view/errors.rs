//! Table `errors`: what failed.

use super::cell::Moment;
use super::open::{View, ViewError};
use super::row::row;
use crate::store::Store;
use crate::url::CrawlUrl;

row! {
    /// A visit that failed: no response, a broken one, or status 4xx or 5xx.
    ErrorRow {
        /// The URL.
        url: String,
        /// The kind of failure: `http_404`, `timeout`, `tls` ...
        kind: String,
        /// The particulars.
        detail: Option<String>,
        /// The status code; null if there was no response.
        status: Option<u16>,
        /// When the last request was sent, or failed.
        at: Moment,
        /// Tries that the visit took.
        tries: u8,
        /// The host.
        host: String,
    }
}

impl<S: Store> View<S> {
    /// The rows of table `errors`, by host and fingerprint.
    pub fn errors(&self) -> impl Iterator<Item = Result<ErrorRow, ViewError>> + '_ {
        self.page_records().filter_map(|record| {
            let record = match record {
                Ok(record) => record,
                Err(error) => return Some(Err(error)),
            };
            let kind = record.error?;
            let host = CrawlUrl::parse(&record.url).map(|url| url.host().to_owned()).unwrap_or_default();
            Some(Ok(ErrorRow {
                url: record.url,
                kind,
                detail: record.detail,
                status: record.status,
                at: Moment(record.fetched_at),
                tries: record.tries,
                host,
            }))
        })
    }
}
