//! Decodes an HTML page and reads it in one pass without building a tree: title, base, links, metas, text.

mod charset;
mod limits;
mod link;
mod select;

pub use charset::{CharsetSource, Decoded, decode};
pub use limits::{ExtractLimits, LimitHit};
pub use link::{Link, LinkKind, Rel};
pub use select::{BadSelector, Field, HowMany, SelectError, SelectLimits, SelectRule, Take, select};

use meta::MetaTag;
use url::Url;

/// Holds a fetched page, as [`extract`] wants it.
#[derive(Debug, Clone, Copy)]
pub struct ExtractInput<'a> {
    /// The body, content coding undone.
    pub body: &'a [u8],
    /// The Content-Type header field.
    pub content_type: Option<&'a str>,
    /// The URL of the response: the base until the page names another.
    pub url: &'a Url,
    /// The `Link` header field lines.
    pub link_headers: &'a [String],
    /// What the page may cost.
    pub limits: &'a ExtractLimits,
    /// Whether the visible text is wanted: it costs time.
    pub want_text: bool,
}

/// Holds what a page says.
#[derive(Debug, Clone)]
pub struct Extracted {
    /// The encoding's name in lower case: `utf-8`, `windows-1252`, ...
    pub charset: &'static str,
    /// Who decided on the encoding.
    pub charset_source: CharsetSource,
    /// The text of the first `<title>` of the HTML (never an svg one), white space folded.
    pub title: Option<String>,
    /// The URL that relative links were resolved against.
    pub base: Url,
    /// The `<meta>` elements in document order.
    pub metas: Vec<MetaTag>,
    /// The links in document order, those of `Link` headers first.
    pub links: Vec<Link>,
    /// Addresses of schemes other than http and https, which aren't recorded as links.
    pub other_schemes: u32,
    /// `rel=canonical`, where it is an http or https URL.
    pub canonical: Option<Url>,
    /// `lang` of the `<html>` element.
    pub language: Option<String>,
    /// The visible text, white space folded; `None` where it wasn't wanted.
    pub text: Option<String>,
    /// The `application/ld+json` blocks, raw.
    pub json_ld: Vec<String>,
    /// The limits that cut something off, sorted, each once.
    pub limits_hit: Vec<LimitHit>,
}

/// Reads a page. Total: any octets give a value; linear in the size of the body; memory is bounded by the limits
/// and the size of the body.
pub fn extract(input: &ExtractInput<'_>) -> Extracted {
    let decoded = decode(input.body, input.content_type);
    Extracted {
        charset: decoded.charset,
        charset_source: decoded.source,
        title: None,
        base: input.url.clone(),
        metas: Vec::new(),
        links: Vec::new(),
        other_schemes: 0,
        canonical: None,
        language: None,
        text: input.want_text.then(String::new),
        json_ld: Vec::new(),
        limits_hit: Vec::new(),
    }
}
