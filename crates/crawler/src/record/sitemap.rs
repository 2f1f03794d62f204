//! One sitemap of one host: how it was found, and its result. JSON.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::RecordError;
use crate::error_kind::ErrorKind;

/// How a sitemap was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SitemapFound {
    /// A `Sitemap` line of a robots.txt.
    RobotsTxt,
    /// Nobody names it: `/sitemap.xml`.
    WellKnown,
    /// An index lists it.
    Index,
    /// Another one redirects to it.
    Redirect,
}

impl SitemapFound {
    /// The name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RobotsTxt => "robots_txt",
            Self::WellKnown => "well_known",
            Self::Index => "index",
            Self::Redirect => "redirect",
        }
    }
}

/// What became of a sitemap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SitemapState {
    /// It is to be fetched.
    Waits,
    /// It was read, up to a limit perhaps.
    Read,
    /// It leads elsewhere.
    Redirects,
    /// robots.txt denies it.
    Denied,
    /// It is unreachable, or isn't a sitemap.
    Failed,
}

impl SitemapState {
    /// The name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Read => "read",
            Self::Redirects => "redirects",
            Self::Denied => "denied",
            Self::Failed => "failed",
        }
    }
}

/// A sitemap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SitemapRecord {
    /// Form of this record: 1.
    pub v: u32,
    /// Its URL.
    pub url: String,
    /// How it was found.
    pub found: SitemapFound,
    /// The robots.txt or sitemap that named it.
    pub from: String,
    /// Hosts besides its own for which it may speak, because their robots.txt names it or an index above it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub speaks_for: Vec<String>,
    /// Indexes above it.
    pub nesting: u8,
    /// Redirects that led to it, in a row.
    pub redirects: u8,
    /// Attempts so far.
    pub tries: u8,
    /// What became of it.
    pub state: SitemapState,
    /// When.
    pub at: Timestamp,
    /// The status code of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// `urlset`, `index`, `text`, `rss`, `atom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// What was wrong with it, or where it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// It couldn't be read to its end, or isn't a sitemap though somebody says that it is one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// Bytes of the body as decoded.
    #[serde(default)]
    pub bytes: u64,
    /// URLs in it; of an index: sitemaps.
    #[serde(default)]
    pub urls: u64,
    /// URLs of it that were new, and queued.
    #[serde(default)]
    pub queued: u64,
    /// URLs of it that were known already.
    #[serde(default)]
    pub seen: u64,
    /// URLs of it that were refused.
    #[serde(default)]
    pub refused: u64,
    /// Of these, URLs that are not in the ledger, because a sitemap may add only so much to the database.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped_not_listed: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl SitemapRecord {
    /// A sitemap that was just found.
    pub fn found(url: String, found: SitemapFound, from: String, at: Timestamp) -> Self {
        Self {
            v: 1,
            url,
            found,
            from,
            speaks_for: Vec::new(),
            nesting: 0,
            redirects: 0,
            tries: 0,
            state: SitemapState::Waits,
            at,
            status: None,
            form: None,
            detail: None,
            incomplete: false,
            bytes: 0,
            urls: 0,
            queued: 0,
            seen: 0,
            refused: 0,
            skipped_not_listed: 0,
        }
    }

    /// Whether reading it ended a process when it was asked for last.
    pub fn is_crashed(&self) -> bool {
        let crashed = ErrorKind::Crashed.as_str();
        self.detail.as_deref().is_some_and(|detail| detail.starts_with(crashed))
    }

    /// Packs the record.
    pub fn write(&self) -> Result<Vec<u8>, RecordError> {
        serde_json::to_vec(self).map_err(RecordError::from)
    }

    /// Unpacks a record.
    pub fn read(value: &[u8]) -> Result<Self, RecordError> {
        serde_json::from_slice(value).map_err(RecordError::from)
    }
}
