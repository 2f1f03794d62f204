//! The response that is judged.

use std::borrow::Cow;

/// What was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// A page of the crawl: anything that is no other one of these.
    #[default]
    Page,
    /// A robots.txt: lines of rules win over what its body looks like.
    Robots,
    /// A sitemap or a feed.
    Sitemap,
    /// A document such as a PDF file.
    Document,
    /// An image, a style sheet, a font: anything that belongs to a page.
    Resource,
}

/// A response: its status, the header fields that matter, its body, and what was asked.
///
/// The order of header fields doesn't matter: of several with one name any may be the one that says something.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) url: &'a str,
    pub(crate) asked: Asked,
    pub(crate) body: &'a [u8],
    pub(crate) is_whole: bool,
    fields: Vec<(String, Cow<'a, str>)>,
}

/// Beginnings of the names of header fields that some rule reads.
const READ: [&str; 14] = [
    "cf-mitigated",
    "content-type",
    "crawler-error",
    "crawler-price",
    "location",
    "refresh",
    "server",
    "www-authenticate",
    "x-adblock-key",
    "x-amzn-waf-action",
    "x-azure-ref",
    "x-kpsdk-",
    "x-sucuri-block",
    "x-vercel-mitigated",
];

/// How a body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Html,
    Text,
    Json,
    Other,
}

impl<'a> Answer<'a> {
    /// A response to a request for a URL, without header fields and body.
    pub fn new(status: u16, url: &'a str) -> Self {
        Self { status, url, asked: Asked::Page, body: &[], is_whole: true, fields: Vec::new() }
    }

    /// With header fields: names and values, in any order.
    #[must_use]
    pub fn with_headers<N, V>(mut self, headers: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: AsRef<str>,
        V: Into<&'a [u8]>,
    {
        for (name, value) in headers {
            let name = name.as_ref();
            let is_read =
                |read: &&str| name.get(..read.len()).is_some_and(|start| start.eq_ignore_ascii_case(read));
            if READ.iter().any(is_read) {
                self.fields.push((name.to_ascii_lowercase(), String::from_utf8_lossy(value.into())));
            }
        }
        self
    }

    /// With a body, decoded from its content encoding.
    #[must_use]
    pub fn with_body(mut self, body: &'a [u8]) -> Self {
        self.body = body;
        self
    }

    /// With what was asked for; without it, a page.
    #[must_use]
    pub fn to(mut self, asked: Asked) -> Self {
        self.asked = asked;
        self
    }

    /// The body is only the beginning of what was sent: what is missing on it may follow.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.is_whole = false;
        self
    }

    /// The values of a header field.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.trim())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    pub(crate) fn has_prefix(&self, prefix: &str) -> bool {
        self.fields.iter().any(|(name, _)| name.starts_with(prefix))
    }

    pub(crate) fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// How the body is read: by its type, or by its beginning where it has none. Of several types the first of [`Form`] counts.
    pub(crate) fn form(&self) -> Form {
        let form = self.values("content-type").filter_map(|value| {
            let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            match essence.as_str() {
                "" => None,
                "text/html" | "application/xhtml+xml" => Some(Form::Html),
                "text/plain" => Some(Form::Text),
                "application/json" => Some(Form::Json),
                other if other.ends_with("+json") => Some(Form::Json),
                _ => Some(Form::Other),
            }
        });
        form.min().unwrap_or_else(|| if is_html(self.body) { Form::Html } else { Form::Text })
    }
}

/// What HTML begins with (WHATWG MIME Sniffing, 7.1), and two elements that fragments begin with.
const BEGINNINGS: [&str; 20] = [
    "!doctype html",
    "html",
    "head",
    "script",
    "iframe",
    "h1",
    "div",
    "font",
    "table",
    "a",
    "style",
    "title",
    "b",
    "body",
    "br",
    "p",
    "!--",
    "meta",
    "noscript",
    "frameset",
];

/// Whether a body without a type begins as HTML does.
fn is_html(body: &[u8]) -> bool {
    let start = &body[..body.len().min(512)];
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let Some(start) = start.strip_prefix(b"<") else { return false };
    BEGINNINGS.iter().any(|mark| {
        let Some((name, rest)) = start.split_at_checked(mark.len()) else { return false };
        let ends = |byte: &u8| matches!(byte, b'>' | b'/') || byte.is_ascii_whitespace();
        name.eq_ignore_ascii_case(mark.as_bytes()) && (*mark == "!--" || rest.first().is_none_or(ends))
    })
}
