//! Reads sitemaps (sitemaps.org protocol 0.9): urlset, index, plain text, RSS and Atom, each also as gzip. Pure; never
//! fails, never panics, bounded in time and memory. What can't be read is said in [`Sitemap::fault`].
//!
//! XML is read as a stream of events without document type definitions: a document that has one is refused, no entity
//! but the five of XML is known, nothing is fetched.
//!
//! Deviation: a sitemap may name URLs outside its own directory of the same host (the protocol restricts it to URLs
//! below its own path): where they may be fetched is for scope and robots.txt to say.

mod date;
mod text;
mod xml;

use jiff::Timestamp;
use url::Url;

use crate::url::CrawlUrl;

/// Where reading ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SitemapLimits {
    /// Bytes of a sitemap as decoded. Default: 50 MiB, as the protocol has it.
    pub bytes: usize,
    /// URLs of one sitemap, or sitemaps of one index. Default: 50,000, as the protocol has it.
    pub urls: usize,
    /// Bytes of one URL or date. Default: 8 KiB.
    pub value_bytes: usize,
    /// Elements within each other. Default: 32.
    pub elements: usize,
    /// Indexes within each other. Default: 3; the protocol allows one.
    pub nesting: u8,
    /// Sitemaps of one host. Default: 500.
    pub per_host: usize,
}

impl Default for SitemapLimits {
    fn default() -> Self {
        Self { bytes: 50 << 20, urls: 50_000, value_bytes: 8 << 10, elements: 32, nesting: 3, per_host: 500 }
    }
}

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SitemapFormat {
    /// `urlset`.
    UrlSet,
    /// `sitemapindex`.
    Index,
    /// One URL a line.
    Text,
    /// RSS 0.9 to 2.0.
    Rss,
    /// Atom.
    Atom,
    /// No sitemap.
    Other,
}

impl SitemapFormat {
    /// The name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UrlSet => "urlset",
            Self::Index => "index",
            Self::Text => "text",
            Self::Rss => "rss",
            Self::Atom => "atom",
            Self::Other => "other",
        }
    }
}

/// Why a document wasn't read, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It isn't a sitemap.
    #[error("not a sitemap")]
    NotOne,
    /// It has a document type definition.
    #[error("it has a document type definition, which isn't supported")]
    DocType,
    /// More bytes than the limit.
    #[error("truncated at the size limit")]
    Bytes,
    /// More URLs than the limit.
    #[error("truncated at the URL limit")]
    Urls,
    /// Elements nested too deeply.
    #[error("its elements are nested too deeply")]
    Elements,
    /// The XML or gzip is broken.
    #[error("broken: {0}")]
    Broken(String),
}

impl Fault {
    /// One word for tables and the ledger.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotOne => "not_a_sitemap",
            Self::DocType => "doctype",
            Self::Bytes => "sitemap_bytes",
            Self::Urls => "sitemap_urls",
            Self::Elements => "sitemap_elements",
            Self::Broken(_) => "sitemap_broken",
        }
    }
}

/// One URL of a sitemap.
#[derive(Debug, Clone, PartialEq)]
pub struct SitemapUrl {
    /// The URL.
    pub url: CrawlUrl,
    /// When the page last changed, as the site says.
    pub lastmod: Option<Timestamp>,
    /// Its weight among the site's pages, 0 to 1; 0.5 where nothing is said.
    pub priority: f32,
}

/// A sitemap, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Sitemap {
    /// What it is.
    pub form: SitemapFormat,
    /// Its URLs (of an index: sitemaps), the weightiest first, then the ones changed last, then as written.
    pub urls: Vec<SitemapUrl>,
    /// Entries that hold no http URL.
    pub bad: u64,
    /// What kept it from being read to its end.
    pub fault: Option<Fault>,
}

impl Sitemap {
    fn of(form: SitemapFormat) -> Self {
        Self { form, urls: Vec::new(), bad: 0, fault: None }
    }

    fn faulty(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::of(SitemapFormat::Other) }
    }
}

/// Reads a sitemap. `base` is its own URL, `is_cut` says that the fetch cut its bytes already. Takes time in the order
/// of its bytes, and at most about twice their memory.
pub fn read(bytes: &[u8], is_cut: bool, base: &Url, limits: &SitemapLimits) -> Sitemap {
    let unpacked;
    let mut is_cut = is_cut;
    let mut bytes = bytes;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        match text::gunzip(bytes, limits.bytes) {
            Ok(plain) => unpacked = plain,
            // What came before the break is of use where the fetch made the break.
            Err((plain, _)) if is_cut => unpacked = plain,
            Err((_, error)) => return Sitemap::faulty(Fault::Broken(format!("gzip: {error}"))),
        }
        bytes = &unpacked;
    }
    if bytes.len() > limits.bytes {
        is_cut = true;
        bytes = &bytes[..limits.bytes];
    }
    let text = text::decode(bytes);
    let mut sitemap = if text.trim_start().starts_with('<') {
        xml::read(&text, base, limits)
    } else {
        text::read(&text, base, limits)
    };
    if is_cut && !matches!(sitemap.fault, Some(Fault::NotOne | Fault::DocType | Fault::Urls)) {
        sitemap.fault = Some(Fault::Bytes);
    }
    sitemap.urls.sort_by(|a, b| b.priority.total_cmp(&a.priority).then_with(|| b.lastmod.cmp(&a.lastmod)));
    sitemap
}

#[cfg(test)]
mod tests;
