//! A URL in a queue, in the packed form that chunks and the journal hold.

use serde::{Deserialize, Serialize};

use super::priority::Priority;
use page::ids::Via;
use page::url::{CrawlUrl, Scheme, UrlError, written};

/// A URL of a known host, with what the visit has to know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedUrl {
    /// http or https.
    pub scheme: Scheme,
    /// The port, if it isn't the scheme's default.
    pub port: Option<u16>,
    /// Path and query as requested.
    pub path: Box<str>,
    /// Links from a seed.
    pub depth: u32,
    /// Attempts so far.
    pub tries: u8,
    /// Redirects that led here, in a row.
    pub redirects: u8,
    /// What else has to be known of it.
    pub marks: Marks,
    /// The page that it was found on; none for seeds.
    pub via: Option<Via>,
}

/// How a URL was found: what of a [`QueuedUrl`] doesn't depend on its address.
#[derive(Debug, Clone, Copy)]
pub struct Finding {
    /// Links from a seed.
    pub depth: u32,
    /// Redirects that led here, in a row.
    pub redirects: u8,
    /// What else has to be known of it.
    pub marks: Marks,
    /// The page that it was found on; none for seeds.
    pub via: Option<Via>,
}

impl Finding {
    /// Found in a link of the page `via`.
    pub fn link(depth: u32, via: Via) -> Self {
        Self { depth, redirects: 0, marks: Marks::default(), via: Some(via) }
    }

    /// Whether it is a seed, or what a seed redirects to.
    pub fn is_seed(self) -> bool {
        self.marks.has(Marks::SEED)
    }

    /// Whether it is a resource of the page that it was found on.
    pub fn is_resource(self) -> bool {
        self.marks.has(Marks::RESOURCE)
    }

    /// Whether it is requested whatever it costs its site.
    pub fn is_exempt(self) -> bool {
        self.marks.has(Marks::EXEMPT)
    }

    /// The queue for a first visit of it.
    pub fn priority(self) -> Priority {
        if self.is_resource() {
            Priority::Resource
        } else if self.is_seed() || self.redirects > 0 {
            Priority::First
        } else if self.marks.has(Marks::COSTLY) {
            Priority::Costly
        } else {
            Priority::Link
        }
    }
}

/// What has to be known of a queued URL, in one byte. A byte of format 2, which was 1 for seeds and 0 for others, says the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Marks(u8);

impl Marks {
    /// A seed, or what a seed redirects to.
    pub const SEED: Self = Self(1);
    /// A resource of the page that it was found on, or what one redirects to.
    pub const RESOURCE: Self = Self(2);
    /// Its head was asked for, and lets the URL itself be asked for.
    pub const HEAD_SEEN: Self = Self(4);
    /// It was found on a page with known content, or is like the URL of such a page.
    pub const REPEAT: Self = Self(8);
    /// It is requested whatever it costs its site, as long as it changes nothing: a sitemap has it, or a page names it as its canonical URL.
    pub const EXEMPT: Self = Self(16);
    /// It costs its site much, and has a budget.
    pub const COSTLY: Self = Self(32);

    /// These marks, too.
    #[must_use]
    pub const fn with(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    const fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }
}

impl QueuedUrl {
    /// Whether it is a seed, or what a seed redirects to.
    pub fn is_seed(&self) -> bool {
        self.marks.has(Marks::SEED)
    }

    /// Whether it is a resource of the page that it was found on: an image, a script, a style sheet. It comes after the host's pages, and
    /// doesn't count as one.
    pub fn is_resource(&self) -> bool {
        self.marks.has(Marks::RESOURCE)
    }

    /// Whether it was found on a page with known content, or is like the URL of such a page.
    pub fn is_repeat(&self) -> bool {
        self.marks.has(Marks::REPEAT)
    }

    /// Whether it costs its site much, and has a budget.
    pub fn is_costly(&self) -> bool {
        self.marks.has(Marks::COSTLY)
    }

    /// Whether its head was asked for.
    pub fn has_head_seen(&self) -> bool {
        self.marks.has(Marks::HEAD_SEEN)
    }

    /// How it was found.
    pub fn finding(&self) -> Finding {
        let Self { depth, redirects, marks, via, .. } = *self;
        Finding { depth, redirects, marks, via }
    }

    /// The queue for a first visit of it.
    pub fn priority(&self) -> Priority {
        self.finding().priority()
    }

    /// The queue in which it waits without precedence before other links, however it was found.
    pub(super) fn priority_as_link(&self) -> Priority {
        if self.is_resource() {
            Priority::Resource
        } else if self.is_costly() {
            Priority::Costly
        } else {
            Priority::Link
        }
    }

    /// The queue for another try of it.
    pub(super) fn priority_again(&self) -> Priority {
        if self.is_resource() { Priority::Resource } else { Priority::First }
    }

    /// The same with this mark.
    #[must_use]
    pub fn marked(self, mark: Marks) -> Self {
        Self { marks: self.marks.with(mark), ..self }
    }

    /// Packs a URL as a seed: depth 0, no tries.
    pub fn seed(url: &CrawlUrl) -> Self {
        Self::link(url, 0, None).marked(Marks::SEED)
    }

    /// Packs a URL found at `depth`.
    pub fn link(url: &CrawlUrl, depth: u32, via: Option<Via>) -> Self {
        Self::found(url, Finding { depth, redirects: 0, marks: Marks::default(), via })
    }

    /// Packs the URL of a page that is stored, to be visited again.
    pub(crate) fn again(url: &CrawlUrl, depth: u32, via: Option<Via>, is_resource: bool) -> Self {
        let item = Self::link(url, depth, via);
        if is_resource { item.marked(Marks::RESOURCE) } else { item }
    }

    /// Packs a URL that was found so.
    pub fn found(url: &CrawlUrl, finding: Finding) -> Self {
        let Finding { depth, redirects, marks, via } = finding;
        Self {
            scheme: url.scheme(),
            port: url.port(),
            path: url.path_and_query().into(),
            depth,
            tries: 0,
            redirects,
            marks,
            via,
        }
    }

    /// The whole URL on its host.
    pub fn url(&self, host: &str) -> Result<CrawlUrl, UrlError> {
        CrawlUrl::from_text(written(self.scheme, host, self.port, &self.path))
    }

    /// Bytes of the packed form, rough.
    pub(crate) fn bytes(&self) -> usize {
        self.path.len() + 20
    }
}
