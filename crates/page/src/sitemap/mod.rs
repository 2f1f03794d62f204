//! Reads sitemaps (sitemaps.org protocol 0.9): urlset, index, plain text, RSS and Atom, each also as gzip. Pure; never
//! fails, never panics, bounded in time and memory. What can't be read is said in [`Sitemap::fault`].
//!
//! A sitemap is read as a stream: neither its bytes nor its text are ever whole in memory. Its URLs are given away in parts.
//!
//! XML that isn't well-formed is read on: `&` and `<` that begin no markup are text, an end tag closes what is open within its element,
//! and one without an element is passed over. A URL that is relative is resolved and counted, though the protocol asks for absolute ones.
//!
//! XML is read as a stream of events without document type definitions: a document that has one is refused, no entity
//! but the five of XML is known, nothing is fetched.
//!
//! Deviation: a sitemap may name URLs outside its own directory of the same host (the protocol restricts it to URLs
//! below its own path): where they may be fetched is for scope and robots.txt to say.

mod date;
mod escape;
mod parts;
mod stream;
mod text;
mod xml;

use std::io::BufRead;

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
    /// Bytes of one URL or date as it is written. Default: 8 KiB.
    pub value_bytes: usize,
    /// Bytes of one URL as it would be requested, percent-encoded. Default: 2,083.
    pub url_length: usize,
    /// Elements within each other. Default: 32.
    pub elements: usize,
    /// Indexes within each other. Default: 3; the protocol allows one.
    pub nesting: u8,
    /// Sitemaps of one host. Default: 500.
    pub per_host: usize,
}

impl Default for SitemapLimits {
    fn default() -> Self {
        Self {
            bytes: 50 << 20,
            urls: 50_000,
            value_bytes: 8 << 10,
            url_length: 2_083,
            elements: 32,
            nesting: 3,
            per_host: 500,
        }
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
    /// Its URLs (of an index: sitemaps), the weightiest first, then the ones changed last, then as written. Of a sitemap that is read in
    /// parts, the last part.
    pub urls: Vec<SitemapUrl>,
    /// How many URLs it has in all parts.
    pub count: u64,
    /// Entries that hold no http URL.
    pub bad: u64,
    /// URLs of an urlset or index that were relative, and are resolved.
    pub relative: u64,
    /// URLs that are longer than the limit once they are percent-encoded. They are counted, and not kept.
    pub too_long: u64,
    /// What kept it from being read to its end.
    pub fault: Option<Fault>,
    /// Bytes of it that were read, as decoded.
    pub bytes: u64,
}

impl Sitemap {
    fn of(form: SitemapFormat) -> Self {
        Self { form, urls: Vec::new(), count: 0, bad: 0, relative: 0, too_long: 0, fault: None, bytes: 0 }
    }

    /// A sitemap that can't be read at all.
    pub fn broken(error: &std::io::Error) -> Self {
        Self::faulty(broken(error))
    }

    fn faulty(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::of(SitemapFormat::Other) }
    }
}

/// Takes the URLs of a part; false where nobody wants any more of them.
pub type Give<'g> = &'g mut dyn FnMut(SitemapFormat, Vec<SitemapUrl>) -> bool;

/// Reads a sitemap that is in memory, whole. `base` is its own URL, `is_cut` says that the fetch cut its bytes already. Takes time in the
/// order of its bytes, and the memory of its URLs.
pub fn read(bytes: &[u8], is_cut: bool, base: &Url, limits: &SitemapLimits) -> Sitemap {
    let mut urls = Vec::new();
    let mut give = |_, part| {
        urls.extend::<Vec<SitemapUrl>>(part);
        true
    };
    let mut sitemap = read_parts(bytes, is_cut, base, limits, &mut give);
    urls.append(&mut sitemap.urls);
    parts::sort(&mut urls);
    Sitemap { urls, ..sitemap }
}

/// Reads a sitemap as a stream, and gives its URLs away in parts of at most 8 MiB, each in order. Memory: that of a part, 1 MiB for the
/// longest tag or text, and the window of a gzip file, 32 KiB.
pub fn read_parts(
    bytes: impl BufRead,
    is_cut: bool,
    base: &Url,
    limits: &SitemapLimits,
    give: Give<'_>,
) -> Sitemap {
    let mut parts = parts::Parts::new(base, limits, give);
    let mut bytes = stream::Text::new(bytes, limits.bytes);
    let mut sitemap = match bytes.starts_with_tag() {
        Ok(true) => xml::read(&mut bytes, &mut parts),
        Ok(false) => text::read(&mut bytes, &mut parts),
        Err(error) => Sitemap::faulty(broken(&error)),
    };
    sitemap.bytes = bytes.read_bytes();
    let is_cut = is_cut || bytes.is_cut();
    if is_cut && !matches!(sitemap.fault, Some(Fault::NotOne | Fault::DocType | Fault::Urls)) {
        sitemap.fault = Some(Fault::Bytes);
    }
    parts.end(sitemap)
}

/// A stream that ends with an error.
fn broken(error: &std::io::Error) -> Fault {
    Fault::Broken(crate::clean::clean_to(&error.to_string(), 200))
}

#[cfg(test)]
mod tests;
