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
    /// It couldn't be read to its end, or isn't a sitemap though a robots.txt or an index says so.
    pub incomplete: bool,
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
            incomplete: record.incomplete,
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

    /// What its host's coverage says of it: that it couldn't be fetched, or not be read to its end; none where nothing is missing. A sitemap that
    /// doesn't exist says nothing.
    pub(crate) fn note(&self) -> Option<String> {
        let is_missing = matches!(self.status, Some(200..300 | 400..=428 | 430..500));
        let is_failed = self.state == SitemapState::Failed.as_str();
        let what = if self.incomplete {
            if is_failed { "couldn't be read" } else { "couldn't be read to its end" }
        } else if is_failed && !is_missing {
            "couldn't be fetched"
        } else {
            return None;
        };
        let detail = self.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        Some(format!("sitemap {} {what}{detail}", self.url))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SitemapFound;

    #[test]
    fn coverage_names_what_was_not_read_whole_and_not_what_does_not_exist() {
        let note = |state, status, incomplete, detail: &str| {
            let url = "http://a.test/s.xml".to_owned();
            let found = SitemapRecord::found(
                url,
                SitemapFound::RobotsTxt,
                String::new(),
                jiff::Timestamp::UNIX_EPOCH,
            );
            let detail = Some(detail.to_owned());
            SitemapSummary::from(SitemapRecord { state, status, detail, incomplete, ..found }).note()
        };
        let says = |what: &str| Some(format!("sitemap http://a.test/s.xml {what}"));
        let (read, failed) = (SitemapState::Read, SitemapState::Failed);
        assert_eq!(note(read, Some(200), true, "x"), says("couldn't be read to its end: x"));
        assert_eq!(note(failed, Some(200), true, "x"), says("couldn't be read: x"));
        assert_eq!(note(failed, Some(503), false, "x"), says("couldn't be fetched: x"));
        assert_eq!(note(failed, Some(429), false, "x"), says("couldn't be fetched: x"));
        assert_eq!(note(failed, Some(302), false, "x"), says("couldn't be fetched: x"));
        assert_eq!(note(failed, None, false, "x"), says("couldn't be fetched: x"));
        // What answers for a URL that nobody calls a sitemap.
        assert_eq!(note(failed, Some(200), false, "x"), None);
        for state in [read, failed, SitemapState::Denied, SitemapState::Redirects, SitemapState::Waits] {
            assert_eq!(note(state, Some(404), false, "x"), None, "{state:?}");
        }
    }
}
