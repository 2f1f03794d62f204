//! The reason of a decision: one word, from the vocabulary of the layer that decided.

use std::borrow::Cow;

use super::words::{words, written_as_word};
use super::{LinkOutcome, SiteFile};
use crate::error_kind::ErrorKind;
use crate::pace::DelayReason;

words! {
    /// Reasons that belong to no other vocabulary.
    PlainReason {
        /// robots.txt says so, or it was asked for.
        RobotsTxt = "robots_txt",
        /// The robots.txt of another origin was asked for.
        RobotsElsewhere = "robots_elsewhere",
        /// robots.txt has other rules than before.
        OtherVersion = "other_version",
        /// Every declared purpose is denied.
        Consent = "consent",
        /// What a page says to robots.
        Directive = "directive",
        /// `noindex`.
        NoIndex = "noindex",
        /// `nofollow`.
        NoFollow = "nofollow",
        /// `noarchive`.
        NoArchive = "noarchive",
        /// `nocache`.
        NoCache = "nocache",
        /// `none`: neither index nor follow.
        None = "none",
        /// `unavailable_after`.
        UnavailableAfter = "unavailable_after",
        /// `document-state`.
        DocumentState = "document-state",
        /// A body is in the archive under another URL.
        Duplicate = "duplicate",
        /// Title, text and body of a page.
        Content = "content",
        /// The body of a page alone.
        Body = "body",
        /// The status of an answer.
        Status = "status",
        /// A request.
        Request = "request",
        /// A mistake of the crawler.
        Internal = "internal",
        /// A stored record.
        Record = "record",
        /// A line of the seed file that can't be crawled.
        UnusableSeed = "unusable_seed",
        /// A gap longer than `--max-crawl-delay`.
        MaxCrawlDelay = "max_crawl_delay",
        /// As many pages of a host as `--max-pages-per-host`.
        MaxPagesPerHost = "max_pages_per_host",
        /// A skipped host.
        Parked = "parked",
        /// Nobody names the sitemap: it lies at its usual place.
        WellKnown = "well_known",
        /// A sitemap index lists it.
        Index = "index",
        /// A redirect leads to it.
        Redirect = "redirect",
        /// A sitemap in XML.
        UrlSet = "urlset",
        /// A sitemap of one URL a line.
        Text = "text",
        /// A feed.
        Rss = "rss",
        /// A feed.
        Atom = "atom",
        /// A sitemap is longer than its limit.
        SitemapBytes = "sitemap_bytes",
        /// A sitemap has more URLs than its limit.
        SitemapUrls = "sitemap_urls",
        /// A sitemap has more nested elements than its limit.
        SitemapElements = "sitemap_elements",
        /// More sitemaps of a host than its limit.
        SitemapsPerHost = "sitemaps_per_host",
        /// More sitemap indexes above it than the limit.
        SitemapNesting = "sitemap_nesting",
        /// A run.
        Run = "run",
        /// A run was stopped.
        Stopped = "stopped",
        /// A run ended with nothing more to do.
        Complete = "complete",
        /// A run ended at a limit.
        Limit = "limit",
        /// A run ended by a signal.
        Interrupted = "interrupted",
        /// A run ended by a second signal.
        Forced = "forced",
        /// A directory was repaired.
        Repair = "repair",
        /// The head of a URL was asked for before the URL.
        Head = "head",
        /// A crawl became one on many machines, or the other way round.
        Move = "move",
    }
}

/// Why something was decided.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A word that belongs to no other vocabulary, or, of an answer for robots.txt, a sentence.
    Plain(PlainReason),
    /// The status of an answer: `http_200`.
    Http(u16),
    /// What became of a link.
    Link(LinkOutcome),
    /// What went wrong with a request.
    Failure(ErrorKind),
    /// What a host waits for.
    Pause(DelayReason),
    /// The file that says what uses a site permits: its path.
    File(SiteFile),
}

impl Reason {
    /// All reasons but statuses other than 200, which stands for them.
    pub fn all() -> Vec<Self> {
        let failures = ErrorKind::ALL.into_iter().chain([ErrorKind::Parse]);
        let plain = PlainReason::ALL.into_iter().map(Self::Plain);
        let links = LinkOutcome::ALL.into_iter().map(Self::Link);
        let files = [SiteFile::TdmRep, SiteFile::AiTxt].map(Self::File);
        let others =
            failures.map(Self::Failure).chain(DelayReason::ALL.into_iter().map(Self::Pause)).chain(files);
        plain.chain(links).chain(others).chain([Self::Http(200)]).collect()
    }

    /// The word, as records and tables hold it.
    pub fn as_str(&self) -> Cow<'_, str> {
        match self {
            Self::Plain(plain) => plain.as_str().into(),
            Self::Http(status) => format!("http_{status}").into(),
            Self::Link(outcome) => outcome.as_str().into(),
            Self::Failure(kind) => kind.as_str().into(),
            Self::Pause(why) => why.as_str().into(),
            Self::File(file) => file.path().into(),
        }
    }
}

impl From<&str> for Reason {
    fn from(word: &str) -> Self {
        let status = || {
            let digits = word.strip_prefix("http_")?;
            // Nothing but what is written so.
            let status = digits.parse().ok().filter(|status: &u16| status.to_string() == digits);
            status.map(Self::Http)
        };
        let others = || match PlainReason::from(word) {
            PlainReason::Other(_) => None,
            plain => Some(Self::Plain(plain)),
        };
        let file = || [SiteFile::TdmRep, SiteFile::AiTxt].into_iter().find(|file| file.path() == word);
        others()
            .or_else(|| LinkOutcome::of_word(word).map(Self::Link))
            .or_else(|| ErrorKind::of_word(word).map(Self::Failure))
            .or_else(|| DelayReason::of_word(word).map(Self::Pause))
            .or_else(status)
            .or_else(|| file().map(Self::File))
            .unwrap_or_else(|| Self::Plain(PlainReason::from(word)))
    }
}

impl From<PlainReason> for Reason {
    fn from(plain: PlainReason) -> Self {
        Self::Plain(plain)
    }
}

impl From<LinkOutcome> for Reason {
    fn from(outcome: LinkOutcome) -> Self {
        Self::Link(outcome)
    }
}

impl From<ErrorKind> for Reason {
    fn from(kind: ErrorKind) -> Self {
        Self::Failure(kind)
    }
}

impl From<DelayReason> for Reason {
    fn from(why: DelayReason) -> Self {
        Self::Pause(why)
    }
}

impl PartialEq<PlainReason> for Reason {
    fn eq(&self, other: &PlainReason) -> bool {
        matches!(self, Self::Plain(plain) if plain == other)
    }
}

impl PartialEq<LinkOutcome> for Reason {
    fn eq(&self, other: &LinkOutcome) -> bool {
        *self == Self::Link(*other)
    }
}

written_as_word!(Reason);
