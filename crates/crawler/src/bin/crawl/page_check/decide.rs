//! Decides a page as the crawl would.

use std::collections::HashSet;

use crawler::extract::{ExtractInput, ExtractLimits, Extracted, Link, extract};
use crawler::url::CrawlUrl;
use jiff::Timestamp;
use meta::consent::{Statement, page_statements};
use meta::{Agent, Dialect, Directives, MetaTag, Sources};
use url::Url;

/// Base of a page whose URL isn't known. Links that need it can't be told and are left out.
const NOWHERE: &str = "http://url-unknown.invalid/";

/// A page with what came along, and by whom it's read.
pub(super) struct Check {
    pub(super) html: Option<Vec<u8>>,
    pub(super) content_type: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) agent: Agent,
    pub(super) dialect: Dialect,
    pub(super) now: Timestamp,
    pub(super) url: Option<Url>,
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
        let page = url.map(|url| {
            extract(&ExtractInput {
                body: self.html.as_deref().unwrap_or_default(),
                content_type: self.content_type.as_deref(),
                url,
                link_headers: &link_headers,
                limits: &ExtractLimits::default(),
                want_text: false,
            })
        });
        let metas: &[MetaTag] = page.as_ref().map_or(&[], |page| &page.metas);
        let sources = Sources { headers: &self.headers, metas };
        let directives = meta::resolve(&sources, &self.agent, self.dialect, self.now);
        let statements = page_statements(&self.headers, &directives, None, self.now);
        let links = page.as_ref().map(|page| queued(page, &directives)).unwrap_or_default();
        let by_page = page.as_ref().and_then(|page| page.canonical.clone());
        let by_header = || url.and_then(|url| url.join(directives.canonical.as_deref()?).ok());
        let canonical =
            by_page.or_else(by_header).filter(|url| is_known(url) && url.scheme().starts_with("http"));
        Checked { statements, links, canonical: canonical.map(String::from), directives }
    }
}

/// Lists the URLs that may be queued through the page, in order, each once.
fn queued(page: &Extracted, directives: &Directives) -> Vec<String> {
    let mut seen = HashSet::new();
    let may_queue =
        |link: &&Link| directives.effects().enqueue_links && !link.nofollow && link.is_navigational();
    let targets = page.links.iter().filter(may_queue).filter_map(|link| link.target.clone().ok());
    let urls = targets.filter(is_known).filter_map(|url| CrawlUrl::from_url(url).ok());
    urls.map(|url| url.as_str().to_owned()).filter(|url| seen.insert(url.clone())).collect()
}

fn is_known(url: &Url) -> bool {
    !url.as_str().starts_with(NOWHERE)
}
