//! One request, as the pipeline asks for it.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use url::Url;

use super::AddressClass;

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
    /// The class of addresses that the host's name was answered with first in this crawl. The fetcher sets it with the first
    /// answer, and lets no other class through once it is set. Not used for hosts without a name.
    pub class: Arc<OnceLock<AddressClass>>,
    /// Where the host is booked; none lets the fetcher connect to any address of the host that is open.
    pub booked: Option<Booked>,
}

/// The address that a host is booked on, so that no other host is asked there at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booked {
    /// Connect here and nowhere else.
    At(IpAddr),
    /// It had none when it was looked up: connect nowhere.
    Nowhere,
}

impl FetchRequest {
    /// Makes a request without fields of its own, for a host that isn't booked and whose class isn't known.
    pub fn new(url: Url, purpose: Purpose) -> Self {
        Self { url, purpose, headers: Vec::new(), class: Arc::default(), booked: None }
    }
}
