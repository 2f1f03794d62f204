//! What is kept of one visited page.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::frontier::Via;

/// The robots.txt line that let the request pass, or the reason why there was none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsEvidence {
    /// Number of the deciding line, from 1.
    pub line: Option<u32>,
    /// The deciding rule as written.
    pub rule: Option<String>,
    /// The value of the user-agent line that chose the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The dialect that decided.
    #[serde(default)]
    pub dialect: robots::Dialect,
    /// The reason in words.
    pub reason: String,
    /// Digest of the robots.txt version.
    pub digest: Option<String>,
}

/// Where the response stands in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archived {
    /// File in `warc/`.
    pub file: String,
    /// Offset of the response record's gzip member, in octets.
    pub offset: u64,
    /// Length of the member, in octets.
    pub length: u64,
}

/// One visited URL; JSON. A page under noindex keeps none of the fields that tell of its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageRecord {
    /// Form of this record: 1.
    pub v: u32,
    /// The URL as requested.
    pub url: String,
    /// The status code; none if no response could be had.
    pub status: Option<u16>,
    /// The kind of failure: `timeout`, `tls`, `http_404` ...; none for 2xx and 3xx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The particulars of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// `Content-Type` as sent, without control characters.
    pub content_type: Option<String>,
    /// The character encoding that was used.
    pub charset: Option<String>,
    /// Text of the first `title` element.
    pub title: Option<String>,
    /// Meta description.
    pub description: Option<String>,
    /// Meta keywords.
    pub keywords: Option<Vec<String>>,
    /// Declared language.
    pub language: Option<String>,
    /// Links from a seed.
    pub depth: u32,
    /// The page it was found on.
    pub via: Option<Via>,
    /// When the request was sent.
    pub fetched_at: Timestamp,
    /// From the request to the last octet.
    pub duration_ms: u64,
    /// Octets of the body as decoded.
    pub bytes: u64,
    /// Octets of the body as sent.
    pub wire_bytes: u64,
    /// BLAKE3 of the body as decoded, `blake3:` and 64 hex digits.
    pub digest: Option<String>,
    /// Set where a limit cut the body: `wire` or `decoded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<String>,
    /// Each directive that took effect, with the tag or header line that gave it.
    pub directives: Vec<meta::Because>,
    /// What said something about the page and couldn't be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directive_warnings: Vec<String>,
    /// The page may be indexed: its content fields are kept.
    pub indexed: bool,
    /// The body was archived.
    pub archived: bool,
    /// Links of the page may be queued.
    pub followed: bool,
    /// `rel=canonical`, resolved.
    pub canonical: Option<String>,
    /// Where a redirect leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// Links found.
    pub links_out: u64,
    /// What robots.txt said.
    pub robots: RobotsEvidence,
    /// Place in the archive.
    pub warc: Option<Archived>,
    /// Fields that the researcher named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Vec<String>>,
    /// `ETag` and `Last-Modified`, for conditional revisits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub validators: BTreeMap<String, String>,
    /// Limits of reading that were hit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits_hit: Vec<String>,
    /// Tries that the visit took.
    pub tries: u8,
}
