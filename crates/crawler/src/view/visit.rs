//! One URL of a crawl: the record of its last visit, the outcome of its links, and the archived response.

use bytes::Bytes;

use super::host_ids::HostIds;
use super::open::{View, ViewError};
use crate::fetch;
use crate::frontier::HostId;
use crate::page_store;
use crate::record::{LinkOutcome, LinkRecord, PageRecord, withhold_links};
use crate::warc::{self, Location};
use page::url::{CrawlUrl, Fingerprint};

/// What the database keeps of the last visit of a URL.
#[derive(Debug)]
pub struct StoredVisit {
    /// The record, as it may be shown now.
    pub record: PageRecord,
    /// Its links, with what became of each.
    pub links: Vec<LinkRecord>,
}

/// An archived response.
#[derive(Debug)]
pub struct StoredResponse {
    /// The header lines, in the order received.
    pub headers: Vec<(String, String)>,
    /// The body, content codings undone where that can be done.
    pub body: Bytes,
}

/// Why an archived response can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The archive.
    #[error(transparent)]
    Warc(#[from] warc::Error),
    /// The record isn't a response.
    #[error("the record isn't a response")]
    NoResponse,
}

impl View {
    /// Finds the last visit of a URL; none where it was never visited.
    pub fn visit(&self, url: &CrawlUrl) -> Result<Option<StoredVisit>, ViewError> {
        let Some(host) = HostIds::default().of(self.store(), self.key(), url)? else { return Ok(None) };
        let Some((mut record, links)) = self.visit_at(host, url.fingerprint(self.key()))? else {
            return Ok(None);
        };
        self.complete(&mut record)?;
        Ok(Some(StoredVisit { record, links }))
    }

    /// The record of a page and its links, as they may be shown now.
    pub(super) fn visit_at(
        &self,
        host: HostId,
        page: Fingerprint,
    ) -> Result<Option<(PageRecord, Vec<LinkRecord>)>, ViewError> {
        let Some((number, entry)) = page_store::find(self.store(), host, page)? else { return Ok(None) };
        let record = self.shown(entry.read()?);
        if !record.lists_links() {
            return Ok(Some((record, Vec::new())));
        }
        let mut links = page_store::links_of_number(self.store(), number, &entry)?;
        if record.is_withheld() {
            withhold_links(&mut links);
        }
        Ok(Some((record, links)))
    }

    /// The archive file that has a visit's response, where it is out of reach: in the directory of a cluster's worker.
    pub fn archived_elsewhere<'a>(&self, record: &'a PageRecord) -> Option<&'a str> {
        let file = record.warc.as_ref()?.file.as_str();
        self.archive_of(file).is_none().then_some(file)
    }

    /// Reads a visit's response from the archive, checks made; none where it isn't there, or out of reach.
    pub fn archived(&self, record: &PageRecord) -> Result<Option<StoredResponse>, ArchiveError> {
        let Some(place) = &record.warc else { return Ok(None) };
        let Some(dir) = self.archive_of(&place.file) else { return Ok(None) };
        let place = Location { file: place.file.clone(), offset: place.offset, length: place.length };
        let stored = warc::read_response(&dir, &place)?;
        if stored.kind() != "response" {
            return Err(ArchiveError::NoResponse);
        }
        let (head, wire) = stored.http().ok_or(ArchiveError::NoResponse)?;
        let headers: Vec<(String, String)> = fetch::field_lines_of(head)
            .into_iter()
            .map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned()))
            .collect();
        let codings = headers.iter().filter(|(name, _)| name == "content-encoding");
        let codings: Vec<&str> = codings.map(|(_, value)| value.as_str()).collect();
        let body = fetch::decode_body(Some(&codings.join(",")), wire);
        Ok(Some(StoredResponse { headers, body }))
    }
}

impl StoredVisit {
    /// Counts the links by what became of them, in the order of the first of each kind; those that aren't listed too.
    pub fn outcomes(&self) -> Vec<(&'static str, u64)> {
        let mut counts: Vec<(&'static str, u64)> = Vec::new();
        let unlisted = self.record.unlisted_links();
        if unlisted > 0 {
            counts.push((LinkOutcome::PageNofollow.as_str(), unlisted));
        }
        for link in &self.links {
            let name = link.outcome.as_str();
            match counts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
        }
        counts
    }
}
