//! One request, as the pipeline asks for it.

use std::sync::{Arc, OnceLock};

use hyper::Method;
use url::Url;

use super::Spool;
use crate::address::{AddressClass, Booked};
use crate::frontier::Permit;

/// What a request is for: sets the Accept field and the size limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// A page or any other document of the web.
    Page,
    /// A resource of a page: an image, a script, a style sheet.
    Resource,
    /// The head of a document that may be large: the method is HEAD.
    Head,
    /// A robots.txt file.
    Robots,
    /// A sitemap, a feed or a list of URLs.
    Sitemap,
    /// A file in which a site speaks of the uses of its pages: `tdmrep.json`, `ai.txt`.
    SiteFile,
}

impl RequestKind {
    /// Returns the method of the request.
    pub fn method(self) -> Method {
        if self == Self::Head { Method::HEAD } else { Method::GET }
    }

    /// Returns whether an answer to it is judged by [`Wanted`](crate::wanted::Wanted).
    pub(super) fn is_of_choice(self) -> bool {
        matches!(self, Self::Page | Self::Resource)
    }

    /// Returns whether a body that ended early is used as far as it came, as browsers do. Of robots.txt and other files that speak for
    /// a site only whole ones are.
    pub(super) fn takes_partial_bodies(self) -> bool {
        matches!(self, Self::Page | Self::Resource)
    }

    /// Returns the value of the Accept field.
    ///
    /// Source: the digest's 2.1 for robots.txt, RFC 9110 section 12.5.1 for the form.
    pub fn accept(self) -> &'static str {
        match self {
            Self::Resource => "*/*",
            Self::Page | Self::Head => "text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8",
            Self::Robots => "text/plain, */*;q=0.1",
            Self::Sitemap => "application/xml, text/xml, text/plain;q=0.9, */*;q=0.5",
            Self::SiteFile => "application/json, text/plain, */*;q=0.1",
        }
    }
}

/// One request. Made from a [`Permit`] and in no other way, so that none is sent that the frontier didn't lease:
///
/// ```compile_fail
/// use crawler::fetch::{FetchRequest, RequestKind};
///
/// // A request can't be put together by hand.
/// let request = FetchRequest {
///     url: "http://a.test/".parse().unwrap(),
///     purpose: RequestKind::Page,
///     headers: Vec::new(),
///     class: Default::default(),
///     booked: None,
/// };
/// ```
///
/// ```compile_fail,E0308
/// use crawler::fetch::{FetchRequest, RequestKind};
/// use crawler::frontier::Lease;
///
/// // Nor from a lease, which may be copied.
/// fn request(lease: &Lease) -> FetchRequest {
///     FetchRequest::new(lease, lease.url.to_url(), RequestKind::Page)
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct FetchRequest {
    /// The absolute URL, `http` or `https`. Userinfo and fragment are never sent.
    pub url: Url,
    /// What the answer is for.
    pub purpose: RequestKind,
    /// Fields of this request alone: `If-None-Match`, `If-Modified-Since`, `Referer`.
    ///
    /// A field whose name or value isn't valid (control characters, say) is omitted, never sent.
    pub headers: Vec<(String, String)>,
    /// The class of addresses that the host's name was answered with first in this crawl. The fetcher sets it with the first
    /// answer, and lets no other class through once it is set. Not used for hosts without a name.
    pub class: Arc<OnceLock<AddressClass>>,
    /// The answer may be of any size: somebody names this very URL.
    pub is_seed: bool,
    /// Where the host is booked; none lets the fetcher connect to any address of the host that is open.
    pub booked: Option<Booked>,
    /// Takes the body in place of the response: it is read as a stream. None has the response hold it.
    pub spool: Option<Spool>,
    permitted: Permitted,
}

/// What [`FetchRequest::new`] alone puts into a request.
#[derive(Debug, PartialEq, Eq)]
struct Permitted;

impl FetchRequest {
    /// Makes a request without fields of its own, to the host that a permit is for: where that is booked, and to addresses of the
    /// class that it has. `url` is the permit's own, or another one of its host: a file that speaks for the site, or a hop to it.
    pub fn new(permit: &Permit, url: Url, purpose: RequestKind) -> Self {
        let lease = permit.lease();
        Self {
            url,
            purpose,
            headers: Vec::new(),
            is_seed: false,
            class: Arc::clone(&lease.class),
            booked: lease.booking.map(|booking| booking.at),
            spool: None,
            permitted: Permitted,
        }
    }
}
