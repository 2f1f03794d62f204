//! Decides a page as the crawl would.

use std::collections::HashSet;

use jiff::Timestamp;
use meta::consent::{Statement, page_statements};
use meta::{Agent, Dialect, Directives};
use page::extract::{Document, ExtractInput, ExtractLimits, Extracted, Link, Readings, read};
use page::url::CrawlUrl;
use url::Url;

/// Base of a page whose URL isn't known. Links that need it are omitted.
const NOWHERE: &str = "http://url-unknown.invalid/";

/// A page with what came along, and by whom it's read.
pub(super) struct Check {
    pub(super) html: Option<Vec<u8>>,
    /// The Content-Type lines.
    pub(super) content_types: Vec<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) agent: Agent,
    pub(super) dialect: Dialect,
    pub(super) now: Timestamp,
    pub(super) url: Option<Url>,
    pub(super) limits: ExtractLimits,
    /// A limit cut the page.
    pub(super) is_cut: bool,
    /// Whether a page whose head wasn't read to its end is kept out of index and archive.
    pub(super) closes_unread_head: bool,
}

/// What the page says.
pub(super) struct Checked {
    pub(super) directives: Directives,
    pub(super) statements: Vec<Statement>,
    pub(super) links: Vec<String>,
    pub(super) canonical: Option<String>,
}

impl Check {
    pub(super) fn decide(&self) -> Checked {
        let nowhere = Url::parse(NOWHERE).ok();
        let url = self.url.as_ref().or(nowhere.as_ref());
        let link_headers = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("link"));
        let link_headers: Vec<String> = link_headers.map(|(_, value)| value.clone()).collect();
        let body = self.html.as_deref().unwrap_or_default();
        let mut document = Document::of(self.lines(), body);
        document.is_cut = self.is_cut;
        let readings = match url {
            Some(url) => {
                let input = ExtractInput {
                    body,
                    content_type: document.content_type.as_deref(),
                    url,
                    link_headers: &link_headers,
                    limits: &self.limits,
                    want_text: false,
                    want_styles: false,
                };
                read(&input, &document, &self.agent)
            }
            None => Readings::default(),
        };
        let closes = self.closes_unread_head && self.dialect == Dialect::Strict;
        let directives = readings.resolve(&self.headers, &self.agent, self.dialect, self.now, closes);
        let page = readings.page;
        let statements = page_statements(&self.headers, &directives, None, self.now);
        let mut links = page.as_ref().map(|page| queued(page, &directives)).unwrap_or_default();
        if directives.follow {
            self.refreshes(url, &mut links);
        }
        let by_page = page.as_ref().and_then(|page| page.canonical.clone());
        let by_header = || CrawlUrl::join(url?, directives.canonical.as_deref()?).ok();
        let canonical = by_page.or_else(by_header).filter(is_known);
        Checked { statements, links, canonical: canonical.map(String::from), directives }
    }
}

impl Check {
    /// The header lines that say how the page is read. A page that comes without any is HTML: whoever asks says so.
    fn lines(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let presumed = self.content_types.is_empty().then_some("text/html");
        let types = self.content_types.iter().map(String::as_str).chain(presumed);
        let types = types.map(|value| ("content-type", value.as_bytes()));
        let others = self.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        types.chain(others.map(|(name, value)| (name.as_str(), value.as_bytes())))
    }

    /// Adds the targets of `Refresh` header lines, as far as they can be resolved.
    fn refreshes(&self, base: Option<&Url>, links: &mut Vec<String>) {
        let fields = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("refresh"));
        let targets = fields.filter_map(|(_, value)| base?.join(&meta::Refresh::parse(value)?.url?).ok());
        for url in targets.filter_map(|url| CrawlUrl::from_url(url).ok()).filter(is_known) {
            if !links.iter().any(|link| link == url.as_str()) {
                links.push(url.to_string());
            }
        }
    }
}

/// Lists the URLs that may be queued through the page, in order, each once.
fn queued(page: &Extracted, directives: &Directives) -> Vec<String> {
    let mut seen = HashSet::new();
    let may_queue = |link: &&Link| {
        directives.effects().enqueue_links.is_allowed() && !link.nofollow && link.is_navigational()
    };
    let targets = page.links.iter().filter(may_queue).filter_map(|link| link.target.clone().ok());
    let urls = targets.filter(is_known).map(|url| url.as_str().to_owned());
    urls.filter(|url| seen.insert(url.clone())).collect()
}

fn is_known(url: &CrawlUrl) -> bool {
    !url.as_str().starts_with(NOWHERE)
}
