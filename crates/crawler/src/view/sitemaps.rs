//! The sitemaps of a crawl: how each was found, and its URLs. Part of the summary.

use serde::Serialize;

use super::moment::Moment;
use super::open::{View, ViewError};
use crate::error_kind::ErrorKind;
use crate::record::{SitemapFound, SitemapRecord, SitemapState};
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
    /// A robots.txt or an index names it, or what redirects to it: nobody guessed its URL.
    #[serde(skip)]
    pub(crate) is_named: bool,
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
        // The target of a redirect speaks for the hosts whose robots.txt led to it; that of a guessed one for none.
        let is_named = matches!(record.found, SitemapFound::RobotsTxt | SitemapFound::Index)
            || !record.speaks_for.is_empty();
        Self {
            is_named,
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

    /// What its host's coverage says of it: that it couldn't be fetched, or not be read to its end; none where nothing is missing, as where
    /// a URL that nobody names isn't a sitemap, or doesn't exist.
    pub(crate) fn note(&self) -> Option<String> {
        let is_missing = match self.status {
            Some(200..300) => true,
            Some(400..=428 | 430..500) => !self.is_named,
            _ => false,
        };
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

    fn note(found: SitemapFound, speaks_for: &[&str], change: impl Fn(&mut SitemapRecord)) -> Option<String> {
        let (url, at) = ("http://a.test/s.xml".to_owned(), jiff::Timestamp::UNIX_EPOCH);
        let mut record = SitemapRecord::found(url, found, String::new(), at);
        record.speaks_for = speaks_for.iter().map(|host| (*host).to_owned()).collect();
        record.detail = Some("x".to_owned());
        change(&mut record);
        SitemapSummary::from(record).note()
    }

    fn says(what: &str) -> String {
        format!("sitemap http://a.test/s.xml {what}: x")
    }

    #[test]
    fn coverage_names_what_was_not_read_whole() {
        let note = |state, status, incomplete| {
            note(SitemapFound::WellKnown, &[], |record| {
                (record.state, record.status, record.incomplete) = (state, status, incomplete);
            })
        };
        let (read, failed) = (SitemapState::Read, SitemapState::Failed);
        assert_eq!(note(read, Some(200), true), Some(says("couldn't be read to its end")));
        assert_eq!(note(failed, Some(200), true), Some(says("couldn't be read")));
        for status in [Some(503), Some(429), Some(302), None] {
            assert_eq!(note(failed, status, false), Some(says("couldn't be fetched")), "{status:?}");
        }
        // What answers for a URL that nobody calls a sitemap.
        assert_eq!(note(failed, Some(200), false), None);
        for state in [read, SitemapState::Denied, SitemapState::Redirects, SitemapState::Waits] {
            assert_eq!(note(state, Some(404), false), None, "{state:?}");
        }
    }

    #[test]
    fn coverage_names_a_missing_sitemap_where_somebody_names_it() {
        use SitemapFound::{Index, Redirect, RobotsTxt, WellKnown};
        for (found, speaks_for, is_named) in [
            (RobotsTxt, &["a.test"][..], true),
            // What a robots.txt names since the guess was made.
            (WellKnown, &["a.test"], true),
            (WellKnown, &[], false),
            (Index, &["a.test"], true),
            (Index, &[], true),
            // Behind a sitemap that a robots.txt names, and behind a guessed one.
            (Redirect, &["a.test"], true),
            (Redirect, &[], false),
        ] {
            for status in [400, 401, 403, 404, 405, 406, 410, 418, 428, 429, 431, 451, 499] {
                let note = note(found, speaks_for, |record| {
                    (record.state, record.status) = (SitemapState::Failed, Some(status));
                });
                let expected =
                    (is_named || status == 429).then(|| Some(says("couldn't be fetched"))).flatten();
                assert_eq!(note, expected, "{found:?} {speaks_for:?} {status}");
            }
        }
    }
}
