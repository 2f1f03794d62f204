//! How a URL was found: the path from a seed.

use serde::Serialize;

use super::super::lookup::{page_elsewhere, stored_sitemap};
use super::super::open::{View, ViewError};
use crate::costly::{leads_to, normal_forms};
use crate::frontier::{HostId, QueuedUrl, Via, stored_queue_of};
use crate::page_store;
use crate::record::{LinkOutcome, LinkRecord, PageRecord, SitemapFound, SitemapRecord, link_key};
use crate::store::{Store, Tree};
use page::url::CrawlUrl;

/// Steps of a path that are listed; a longer one begins with those next to the URL.
const STEPS: usize = 1000;

/// How a page was found that another partition of a cluster's crawl has.
const PARTITION: &str = "partition";

/// One step on the way from a seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathStep {
    /// The URL.
    pub url: String,
    /// How it was found: `seed`, the element of the link (`a`, `frame` ...) or `redirect`; `sitemap` where the one before it is
    /// one, `robots_txt` or `well_known` for a sitemap itself; `partition` for a page of another partition of a cluster's crawl, and
    /// `from_partition` for what was found there; `unlisted` where the links of the page before it are kept nowhere,
    /// `unknown` where it lists no such link.
    pub by: String,
    /// The anchor text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The `rel` attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rel: Option<String>,
    /// What became of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
}

impl PathStep {
    /// The page before which another partition of a cluster's crawl knows the path.
    pub(super) fn page_of_other(&self) -> Option<CrawlUrl> {
        CrawlUrl::parse(&self.url).ok().filter(|_| self.by == PARTITION)
    }
}

impl View {
    /// The record of a URL's last visit.
    pub(super) fn record_of(&self, url: &CrawlUrl) -> Result<Option<PageRecord>, ViewError> {
        match self.id_of(url.host())? {
            Some(host) => self.record_at(Via { host, page: url.fingerprint(self.key()) }),
            None => Ok(None),
        }
    }

    fn record_at(&self, at: Via) -> Result<Option<PageRecord>, ViewError> {
        Ok(page_store::record_of(self.store(), at.host, at.page)?.map(|record| self.shown(record)))
    }

    pub(in crate::view) fn id_of(&self, host: &str) -> Result<Option<HostId>, ViewError> {
        Ok(self.host_ids().named(self.store(), self.key(), host)?)
    }

    /// The URL as it waits in its host's queue.
    pub(super) fn queued_url(&self, url: &CrawlUrl) -> Result<Option<QueuedUrl>, ViewError> {
        let Some(id) = self.id_of(url.host())? else { return Ok(None) };
        let page = url.fingerprint(self.key());
        for stored in stored_queue_of(self.store(), id)? {
            let stored = stored?;
            let waits = stored.url.url(&stored.host.host);
            if waits.is_ok_and(|waits| waits.fingerprint(self.key()) == page) {
                return Ok(Some(stored.url));
            }
        }
        Ok(None)
    }

    pub(super) fn page_url(&self, via: Option<Via>) -> Result<Option<String>, ViewError> {
        let Some(via) = via else { return Ok(None) };
        if via.host == HostId::ELSEWHERE {
            return page_elsewhere(self, via.page);
        }
        match self.record_at(via)? {
            Some(record) => Ok(Some(record.url)),
            None => stored_sitemap(self, via.host, via.page),
        }
    }

    /// The record of a sitemap by its URL.
    fn sitemap_of(&self, url: &CrawlUrl) -> Result<Option<SitemapRecord>, ViewError> {
        let Some(host) = self.id_of(url.host())? else { return Ok(None) };
        let value = self.store().get(Tree::Sitemaps, &link_key(host, url.fingerprint(self.key())))?;
        value.map(|value| SitemapRecord::read(&value).map_err(ViewError::packed(Tree::Sitemaps))).transpose()
    }

    /// The way to a URL that was found on `via`; `is_known` says that it has a record or waits, so that one without a page
    /// before it is a seed.
    pub(super) fn path_to(
        &self,
        url: &CrawlUrl,
        via: Option<String>,
        is_known: bool,
    ) -> Result<Vec<PathStep>, ViewError> {
        let mut path: Vec<PathStep> = Vec::new();
        let mut target = url.clone();
        let mut via = via;
        loop {
            let Some(page) = via.as_deref().and_then(|via| CrawlUrl::parse(via).ok()) else {
                if is_known || !path.is_empty() {
                    path.push(plain(&target, "seed"));
                }
                break;
            };
            if self.is_elsewhere(&page)? {
                // How it was found itself is on record in its own partition.
                path.push(plain(&target, "from_partition"));
                path.push(plain(&page, PARTITION));
                break;
            }
            path.push(self.step(&page, &target)?);
            let known = |step: &PathStep| step.url == page.as_str();
            if path.len() >= STEPS || path.iter().any(known) {
                break;
            }
            via = match (self.record_of(&page)?, self.sitemap_of(&page)?) {
                (_, Some(sitemap)) if path.last().is_some_and(|step| step.by == "sitemap") => {
                    if matches!(sitemap.found, SitemapFound::RobotsTxt | SitemapFound::WellKnown) {
                        path.push(plain(&page, sitemap.found.as_str()));
                        break;
                    }
                    Some(sitemap.from)
                }
                (Some(record), _) => self.page_url(record.via)?,
                (None, _) => None,
            };
            target = page;
        }
        path.reverse();
        Ok(path)
    }

    /// Puts the way to a page before a path that begins with it, where that path is of another partition of a cluster's crawl and this one has the
    /// page. False where nothing more is known.
    pub(super) fn lengthen(&self, path: &mut Vec<PathStep>) -> Result<bool, ViewError> {
        let [first, second, ..] = &path[..] else { return Ok(false) };
        let (Ok(page), Ok(target)) = (CrawlUrl::parse(&first.url), CrawlUrl::parse(&second.url)) else {
            return Ok(false);
        };
        let Some(record) = self.record_of(&page)?.filter(|_| first.by == PARTITION) else { return Ok(false) };
        let mut step = self.step(&page, &target)?;
        if step.outcome == Some(LinkOutcome::Untested.as_str()) {
            // It came in there by this link.
            step.outcome = Some(LinkOutcome::Queued.as_str());
        }
        let before = self.path_to(&page, self.page_url(record.via)?, true)?;
        let is_known = |step: &PathStep| path.iter().skip(1).any(|known| known.url == step.url);
        if before.iter().any(is_known) || before.len() + path.len() > STEPS {
            return Ok(false);
        }
        path.splice(..2, before.into_iter().chain([step]));
        Ok(true)
    }

    /// Whether this is a page of another partition of a cluster's crawl.
    fn is_elsewhere(&self, page: &CrawlUrl) -> Result<bool, ViewError> {
        Ok(page_elsewhere(self, page.fingerprint(self.key()))?.is_some() && self.record_of(page)?.is_none())
    }

    /// The link on `page` that leads to `target`: the one that queued it, or one that was followed, if there is one.
    fn step(&self, page: &CrawlUrl, target: &CrawlUrl) -> Result<PathStep, ViewError> {
        let other = if self.sitemap_of(page)?.is_some() { "sitemap" } else { "unknown" };
        let Some(host) = self.id_of(page.host())? else { return Ok(plain(target, other)) };
        let Some((record, links)) = self.visit_at(host, page.fingerprint(self.key()))? else {
            return Ok(plain(target, other));
        };
        let wanted = target.fingerprint(self.key());
        let leads = |link: &&LinkRecord| {
            link.to == target.as_str()
                || CrawlUrl::parse(&link.to).is_ok_and(|to| {
                    let is_wanted = |to: &CrawlUrl| to.fingerprint(self.key()) == wanted;
                    let is_bare = || normal_forms(to.as_str()).iter().any(|form| form == target.as_str());
                    to.host() == target.host() && (is_wanted(&to) || is_bare())
                })
        };
        let links: Vec<_> = links.iter().filter(leads).collect();
        let queued = links.iter().find(|link| link.outcome == LinkOutcome::Queued);
        let followed = || links.iter().find(|link| !link.outcome.is_skip());
        let link = queued.or_else(followed).or(links.first());
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Ok(match link {
            Some(link) => PathStep {
                url: target.to_string(),
                by: link.kind.to_string(),
                text: some(&link.text),
                rel: some(&link.rel),
                outcome: Some(link.outcome.as_str()),
            },
            None if record.redirect.as_deref().is_some_and(|to| leads_to(to, target.as_str())) => {
                plain(target, "redirect")
            }
            None if !record.lists_links() => plain(target, "unlisted"),
            None => plain(target, other),
        })
    }
}

fn plain(url: &CrawlUrl, by: &str) -> PathStep {
    PathStep { url: url.to_string(), by: by.to_owned(), text: None, rel: None, outcome: None }
}
