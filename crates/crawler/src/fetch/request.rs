//! One request, as the pipeline asks for it.

use url::Url;

/// What a request is for: sets the Accept field and the size limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A page or any other document of the web.
    Page,
    /// A robots.txt file.
    Robots,
    /// A sitemap, a feed or a list of URLs.
    Sitemap,
    /// A file in which a site speaks of the uses of its pages: `tdmrep.json`, `ai.txt`.
    SiteFile,
}

impl Purpose {
    /// Returns the value of the Accept field.
    ///
    /// Source: the digest's 2.1 for robots.txt, RFC 9110 section 12.5.1 for the form.
    pub fn accept(self) -> &'static str {
        match self {
            Self::Page => "text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8",
            Self::Robots => "text/plain, */*;q=0.1",
            Self::Sitemap => "application/xml, text/xml, text/plain;q=0.9, */*;q=0.5",
            Self::SiteFile => "application/json, text/plain, */*;q=0.1",
        }
    }
}

/// One GET request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRequest {
    /// The absolute URL, `http` or `https`. Userinfo and fragment are never sent.
    pub url: Url,
    /// What the answer is for.
    pub purpose: Purpose,
    /// Fields of this request alone: `If-None-Match`, `If-Modified-Since`, `Referer`.
    ///
    /// A field whose name or value isn't valid (control characters, say) is left out, never sent.
    pub headers: Vec<(String, String)>,
    /// Whether the seed file itself names this host, which may then sit on a private or loopback address too.
    pub host_is_seed: bool,
}

impl FetchRequest {
    /// Makes a request without fields of its own, for a host that no seed names.
    pub fn new(url: Url, purpose: Purpose) -> Self {
        Self { url, purpose, headers: Vec::new(), host_is_seed: false }
    }
}
