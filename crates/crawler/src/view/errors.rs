//! Table `errors`: failed visits.

use super::lookup::PageUrls;
use super::moment::Moment;
use super::open::{View, ViewError};
use super::row::row;
use crate::frontier::{StoredUrl, stored_queue};
use crate::record::{RobotsAccess, RobotsRecord};
use crate::store::{Store, Tree};
use page::url::CrawlUrl;

row! {
    /// A visit that failed: no response, an invalid one, or status 4xx or 5xx; or a URL that is queued because its host, or
    /// its host's robots.txt, is unreachable.
    ErrorRow {
        /// The URL.
        url: String,
        /// `http_404` and the like, or one of the kinds of [limits.md](limits.md#kinds-of-failure).
        kind: String [names],
        /// Details.
        detail: Option<String> [null = "the kind needs no detail"],
        /// The status code.
        status: Option<u16> [null = "there was no response"],
        /// When the last request was sent, or failed.
        at: Moment,
        /// Attempts of the visit.
        tries: u8,
        /// The host.
        host: String [names],
        /// URL of the page on which it was first found.
        via: Option<String> [null = "it is a seed"],
    }
}

impl View {
    /// The rows of table `errors`: the visits as in table `pages`, then the URLs that wait for a robots.txt.
    pub fn errors(&self) -> impl Iterator<Item = Result<ErrorRow, ViewError>> + '_ {
        self.failed_visits().chain(self.unreachable())
    }

    fn failed_visits(&self) -> impl Iterator<Item = Result<ErrorRow, ViewError>> + '_ {
        let urls = PageUrls::default();
        self.page_records().filter_map(move |record| {
            let record = match record {
                Ok(record) => record,
                Err(error) => return Some(Err(error)),
            };
            let kind = record.error?;
            let host = CrawlUrl::parse(&record.url).map(|url| url.host().to_owned()).unwrap_or_default();
            let via = match urls.of(self, record.via) {
                Ok(via) => via,
                Err(error) => return Some(Err(error)),
            };
            Some(Ok(ErrorRow {
                url: record.url,
                kind,
                detail: record.detail,
                status: record.status,
                at: Moment(record.fetched_at),
                tries: record.tries,
                host,
                via,
            }))
        })
    }

    /// The queued URLs whose origin's robots.txt was unreachable at the last request.
    pub(super) fn unreachable(&self) -> impl Iterator<Item = Result<ErrorRow, ViewError>> + '_ {
        let (stored, error) = match stored_queue(self.store()) {
            Ok(stored) => (Some(stored), None),
            Err(error) => (None, Some(Err(ViewError::from(error)))),
        };
        let mut last: Option<(String, Option<RobotsRecord>)> = None;
        let urls = PageUrls::default();
        let rows = stored.into_iter().flatten().filter_map(move |stored| {
            let row = stored
                .map_err(ViewError::from)
                .and_then(|stored| self.waits_in_vain(&stored, &mut last, &urls));
            row.transpose()
        });
        rows.chain(error)
    }

    /// `last` is the previous origin, and its robots.txt.
    fn waits_in_vain(
        &self,
        stored: &StoredUrl,
        last: &mut Option<(String, Option<RobotsRecord>)>,
        urls: &PageUrls,
    ) -> Result<Option<ErrorRow>, ViewError> {
        let host = &stored.host.host;
        let url = stored.url.url(host).map_err(|error| ViewError::record(Tree::Queue, error))?;
        let origin = url.origin().to_string();
        if last.as_ref().is_none_or(|(known, _)| *known != origin) {
            let value = self.store().last(Tree::Robots, &RobotsRecord::prefix(&origin))?;
            let record = value.map(|(_, value)| RobotsRecord::read(&value)).transpose();
            let record = record.map_err(|error| ViewError::record(Tree::Robots, error))?;
            *last = Some((origin, record));
        }
        let Some((_, Some(record))) = last else { return Ok(None) };
        let Some(kind) = record.failure.as_ref().filter(|_| record.access == RobotsAccess::Defer) else {
            return Ok(None);
        };
        Ok(Some(ErrorRow {
            url: url.to_string(),
            kind: kind.clone(),
            detail: Some(format!("robots.txt {}", record.reason)),
            status: record.status,
            at: Moment(record.fetched_at),
            tries: stored.url.tries,
            host: host.clone(),
            via: urls.of(self, stored.url.via)?,
        }))
    }
}
