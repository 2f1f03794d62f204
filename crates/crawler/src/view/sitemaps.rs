//! The sitemaps of a crawl: how each was found, and its URLs. Part of the summary.

use serde::Serialize;

use super::moment::Moment;
use super::open::{View, ViewError};
use crate::error_kind::ErrorKind;
use crate::record::{SitemapRecord, SitemapState};
use crate::store::{Store, Tree};

/// A sitemap, as the summary tells it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SitemapSummary {
    /// Its URL.
    pub url: String,
    /// `waits`, `read`, `redirects`, `denied`, `failed`.
    pub state: &'static str,
    /// `robots_txt`, `well_known`, `index`, `redirect`.
    pub found: &'static str,
    /// The robots.txt or sitemap that named it.
    pub from: String,
    /// `urlset`, `index`, `text`, `rss`, `atom`; null where it wasn't read.
    pub form: Option<String>,
    /// The status code of the last answer.
    pub status: Option<u16>,
    /// URLs in it; of an index: sitemaps.
    pub urls: u64,
    /// URLs of it that were new, and queued.
    pub queued: u64,
    /// URLs of it that were known already.
    pub seen: u64,
    /// URLs of it that were refused; the ledger says why.
    pub refused: u64,
    /// Of these, URLs that the ledger doesn't have, since a sitemap may add only so much to the database.
    pub skipped_not_listed: u64,
    /// Bytes, as decoded.
    pub bytes: u64,
    /// When that was known.
    pub at: Moment,
    /// What is wrong with it, where it was cut, or where it leads.
    pub detail: Option<String>,
}

impl View {
    /// The sitemaps, by host.
    pub fn sitemaps(&self) -> impl Iterator<Item = Result<SitemapSummary, ViewError>> + '_ {
        stored_sitemaps(self.store())
    }
}

/// The sitemaps of a store, by host.
pub fn stored_sitemaps<S: Store>(store: &S) -> impl Iterator<Item = Result<SitemapSummary, ViewError>> + '_ {
    store.scan(Tree::Sitemaps, &[]).map(|pair| {
        let (_, value) = pair?;
        SitemapRecord::read(&value).map(SitemapSummary::from).map_err(ViewError::packed(Tree::Sitemaps))
    })
}

impl From<SitemapRecord> for SitemapSummary {
    fn from(record: SitemapRecord) -> Self {
        Self {
            url: record.url,
            state: record.state.as_str(),
            found: record.found.as_str(),
            from: record.from,
            form: record.form.filter(|_| record.state == SitemapState::Read),
            status: record.status,
            urls: record.urls,
            queued: record.queued,
            seen: record.seen,
            refused: record.refused,
            skipped_not_listed: record.skipped_not_listed,
            bytes: record.bytes,
            at: Moment(record.at),
            detail: record.detail,
        }
    }
}

impl SitemapSummary {
    /// Reading it ended a process.
    pub(crate) fn is_crashed(&self) -> bool {
        let is_crashed = |detail: &String| detail.starts_with(ErrorKind::Crashed.as_str());
        self.state == SitemapState::Failed.as_str() && self.detail.as_ref().is_some_and(is_crashed)
    }

    /// One line for people.
    pub(crate) fn line(&self) -> String {
        let Self { url, state, urls, queued, seen, refused, .. } = self;
        let detail = self.detail.as_ref().map(|detail| format!("; {detail}")).unwrap_or_default();
        match (*state, self.form.as_deref()) {
            ("read", Some("index")) => format!("  {url}  index of {urls}{detail}"),
            ("read", form) => format!(
                "  {url}  {}, {urls} URLs: {queued} queued, {seen} known, {refused} refused{detail}",
                form.unwrap_or_default()
            ),
            _ => format!("  {url}  {state}{detail}"),
        }
    }
}
