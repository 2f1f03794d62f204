//! The data of a generated web: plain values that both the server and the truth read.

use std::collections::BTreeMap;
use std::time::Duration;

use crawler::fetch::ErrorKind;

use crate::rules::Rules;

/// The product token that the sites' robots.txt files and directives speak to.
pub const AGENT: &str = "superrobot";

/// A whole web.
#[derive(Clone, Debug)]
pub struct Web {
    /// The seed that it was generated from.
    pub seed: u64,
    /// The sites by host name.
    pub sites: BTreeMap<String, Site>,
    /// The URLs that a crawl starts from; their hosts are the crawl's scope.
    pub seeds: Vec<String>,
}

/// One host, served over `http` on port 80.
#[derive(Clone, Debug)]
pub struct Site {
    /// What `/robots.txt` answers.
    pub robots: Robots,
    /// How long an answer takes.
    pub latency: Duration,
    /// What there is, by path with query; everything else is 404.
    pub resources: BTreeMap<String, Resource>,
}

/// A site's robots.txt.
#[derive(Clone, Debug)]
pub struct Robots {
    /// What binds our robot once the file is known.
    pub rules: Rules,
    /// The form in which it is published.
    pub form: RobotsForm,
    /// These answers come first, one a request.
    pub failures: Vec<Failure>,
    /// What comes after the first file that is no failure, one a request, the last of them for good.
    pub later: Vec<Later>,
    /// `Cache-Control: max-age`, in seconds.
    pub max_age: Option<u64>,
}

/// What a robots.txt becomes.
#[derive(Clone, Debug)]
pub enum Later {
    /// A file with other rules, in the same shape.
    Rules(Rules),
    /// No file.
    Failure(Failure),
}

/// The shape of a robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsForm {
    /// A file with the rules in the group `*`.
    Star,
    /// A file with the rules in our own group; `*` closes everything.
    Named,
    /// 404: everything is open.
    Missing,
    /// 403: everything is closed.
    Forbidden,
    /// An HTML page under the name robots.txt: no rules.
    Html,
    /// The rules, then more bytes than are read, then a line that would close `/late/`.
    Oversize,
    /// A redirect to this URL, on another host perhaps, where the file is.
    Moved(String),
    /// A redirect that leads back to itself: everything is closed.
    Circle,
}

/// One thing that can be asked for.
#[derive(Clone, Debug)]
pub struct Resource {
    /// These answers come first, one a request.
    pub failures: Vec<Failure>,
    /// What comes then.
    pub kind: Kind,
}

/// An answer that isn't the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A status code, with `Retry-After` in seconds perhaps.
    Status(u16, Option<u64>),
    /// No answer until the client gives up.
    Timeout,
    /// No connection.
    Refused,
    /// The connection ends in the middle of the body.
    Truncated,
    /// The client's own fault, of this kind, with these words.
    Fault(ErrorKind, &'static str),
    /// The page, of which the end doesn't arrive.
    Cut,
    /// The answer meets a defect of the crawler's own, and whoever reads it panics.
    Panic,
}

/// What a resource is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// An HTML page.
    Page(Page),
    /// A redirect: status code and target URL.
    Redirect(u16, String),
    /// Anything that isn't HTML.
    Other(Content),
    /// Never answers with content.
    Broken(Failure),
}

/// A body that isn't parsed for links.
#[derive(Clone, Debug)]
pub struct Content {
    /// Its media type.
    pub content_type: &'static str,
    /// Its bytes; they may look like HTML.
    pub body: String,
}

/// An HTML page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Is in the title, in a paragraph and in the description, and nowhere else on the web.
    pub marker: String,
    /// The links in document order.
    pub links: Vec<Link>,
    /// What the page asks of robots.
    pub directives: Vec<(Directive, Place)>,
    /// `<base href>`, if the links are written relative to something else than the page.
    pub base: Option<String>,
    /// Bytes of filling text before the last link.
    pub padding: usize,
}

/// A page directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    /// Don't store content.
    Noindex,
    /// Don't queue links.
    Nofollow,
    /// Don't keep the body.
    Noarchive,
    /// Noindex and nofollow.
    None,
}

impl Directive {
    /// The word on the page.
    pub fn word(self) -> &'static str {
        match self {
            Self::Noindex => "noindex",
            Self::Nofollow => "nofollow",
            Self::Noarchive => "noarchive",
            Self::None => "none",
        }
    }
}

/// The place of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `<meta name="robots">`.
    Meta,
    /// `<meta name="superrobot">`.
    AgentMeta,
    /// `X-Robots-Tag: ...`.
    Header,
    /// `X-Robots-Tag: superrobot: ...`.
    AgentHeader,
    /// `<meta name="otherbot">`: not for us.
    OtherMeta,
    /// `X-Robots-Tag: otherbot: ...`: not for us.
    OtherHeader,
}

impl Place {
    /// Returns whether our robot is meant.
    pub fn applies_to_us(self) -> bool {
        !matches!(self, Self::OtherMeta | Self::OtherHeader)
    }
}

/// A link on a page.
#[derive(Clone, Debug)]
pub struct Link {
    /// The element.
    pub kind: LinkKind,
    /// The URL in normal form, without fragment.
    pub to: String,
    /// As written on the page.
    pub href: String,
    /// `rel=nofollow`.
    pub nofollow: bool,
}

/// The element of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// `<a href>`.
    Anchor,
    /// `<area href>`.
    Area,
    /// `<iframe src>`.
    Iframe,
    /// `<link rel=next href>`.
    Next,
    /// `<meta http-equiv=refresh>`.
    Refresh,
    /// `<img src>`.
    Image,
    /// `<script src>`.
    Script,
    /// `<link rel=stylesheet href>`.
    Stylesheet,
    /// `<form action>`.
    Form,
}

impl LinkKind {
    /// Returns whether a crawl queues such links by default: the navigational ones.
    pub fn is_queued(self) -> bool {
        !matches!(self, Self::Image | Self::Script | Self::Stylesheet | Self::Form)
    }
}

impl Page {
    /// Returns whether a directive binds our robot on this page.
    pub fn asks(&self, directive: Directive) -> bool {
        self.directives.iter().any(|&(found, place)| {
            let either = found == directive
                || (found == Directive::None
                    && matches!(directive, Directive::Noindex | Directive::Nofollow));
            either && place.applies_to_us()
        })
    }
}

impl Web {
    /// Splits `http://host/path?query` into host and path.
    ///
    /// # Panics
    /// If it isn't such a URL: the generator writes no other.
    pub fn split(url: &str) -> (&str, &str) {
        let rest = url.strip_prefix("http://").expect("the model has http URLs only");
        let slash = rest.find('/').expect("the model's URLs have a path");
        (&rest[..slash], &rest[slash..])
    }

    /// Finds what is at a URL in normal form.
    pub fn resource(&self, url: &str) -> Option<&Resource> {
        let (host, path) = Self::split(url);
        self.sites.get(host)?.resources.get(path)
    }
}
