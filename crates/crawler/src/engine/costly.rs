//! Judges URLs by what they cost their site: when they are found, and again before they are requested, since by then more may be known of the
//! site.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use super::Engine;
use crate::commit::CommitError;
use crate::costly::{Action, Class, Shown, Site, Standing};
use crate::fetch::Fetch;
use crate::frontier::{Finding, Lease, Marks};
use crate::record::{HostKinds, names_the_page};
use crate::robots_cache::Known;
use crate::store::{Store, Tree};
use crate::visit::FoundLink;
use page::clock::Now;
use page::url::{CrawlUrl, Fingerprint};

/// What is done about a URL by what it costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cost {
    /// It is a URL like others.
    Usual,
    /// A few of its group are requested.
    Budgeted,
    /// It isn't requested: the kind of site and the class, `mediawiki:diff`.
    Skipped {
        /// The reason for the ledger: `kind:class`.
        why: String,
        /// It changes something on the site.
        is_effect: bool,
    },
}

/// The kinds of site of hosts, as far as they were looked up lately. What is known of all hosts is in the database.
pub(super) struct KnownKinds(Mutex<LruCache<Box<str>, Option<Arc<Site>>>>);

/// Hosts whose kinds are kept in memory, some hundred bytes each.
const HOSTS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(8_191);

impl Default for KnownKinds {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(HOSTS)))
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// The kinds of site that a host has shown. What can't be read isn't known.
    fn site_of(&self, host: &str) -> Option<Arc<Site>> {
        let mut known = self.kinds.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(site) = known.get(host) {
            return site.clone();
        }
        let stored = self.frontier.get(Tree::Meta, &HostKinds::key(host)).ok().flatten();
        let kinds = stored.and_then(|value| HostKinds::read(&value).ok());
        let site = kinds.map(|kinds| Arc::new(kinds.site()));
        known.put(host.into(), site.clone());
        site
    }

    /// Takes in the kinds of site that a page of a host shows. URLs that wait are judged by them when their turn comes.
    pub(super) fn learn_kinds(&mut self, host: &str, shown: Vec<Shown>) -> Result<(), CommitError> {
        if shown.is_empty() {
            return Ok(());
        }
        let mut site = self.site_of(host).as_deref().cloned().unwrap_or_default();
        if !site.add(shown) {
            return Ok(());
        }
        let value = HostKinds::of(&site).write()?;
        self.touch(value.len());
        self.frontier.put(Tree::Meta, HostKinds::key(host), value);
        let known = self.kinds.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        known.put(host.into(), Some(Arc::new(site)));
        Ok(())
    }

    /// Gives the links of a page within its own host the URLs that they stand for on a site of a known kind.
    pub(super) fn normalise_on_site(&self, lease: &Lease, links: &mut [FoundLink]) {
        let Some(site) = self.site_of(lease.url.host()) else { return };
        let is_open = |link: &&mut FoundLink| {
            link.skip.is_none()
                && !link.is_resource
                && !link.is_redirect()
                && !names_the_page(link.kind, &link.rel)
        };
        for link in links.iter_mut().filter(is_open) {
            let Some((url, _)) = link.known().filter(|(url, _)| url.host() == lease.url.host()) else {
                continue;
            };
            if let Some(normal) = self.context.pages.costly.normal_on(url, &site) {
                link.stands_for(normal, &self.key);
            }
        }
    }

    /// What is done about a URL that was found so on a page. Some microseconds.
    pub(super) fn cost(&self, url: &CrawlUrl, finding: Finding, page: Option<&str>, now: Now) -> Cost {
        let host = self.frontier.known(url.host());
        // Where a site redirects to a list in its own order, the list has no other URL.
        let is_redirect = finding.redirects > 0;
        let is_known = |base: &str| {
            let seen =
                |base: CrawlUrl| self.frontier.has_seen(host?, base.fingerprint(&self.key)).then_some(());
            !is_redirect && CrawlUrl::parse(base).ok().and_then(seen).is_some()
        };
        let page = page.filter(|_| !is_redirect);
        let rules = &self.context.pages.costly;
        let site = self.site_of(url.host());
        let judged = rules.judge(url, page, standing(finding), site.as_deref(), is_known, now.wall);
        let Some(reason) = judged.reason else { return Cost::Usual };
        let is_effect = reason.class == Class::Effect;
        let cost = match judged.action {
            Action::Skip => Cost::Skipped { why: reason.to_string(), is_effect },
            Action::Budget => Cost::Budgeted,
            // What is stripped was stripped when the page was read.
            Action::Keep | Action::Normalise(_) => return Cost::Usual,
        };
        if !is_effect && (self.bounds.scope.includes(url) || self.is_allowed_by_line(url, now)) {
            return Cost::Usual;
        }
        cost
    }

    /// Why a URL that was found so on a page isn't queued, if it is new; one that has a budget is marked.
    pub(super) fn judge_cost(
        &self,
        url: &CrawlUrl,
        fingerprint: Fingerprint,
        finding: &mut Finding,
        page: &str,
    ) -> Option<String> {
        let host = self.frontier.known(url.host());
        if host.is_some_and(|host| self.frontier.has_seen(host, fingerprint)) {
            return None;
        }
        match self.cost(url, *finding, Some(page), self.clock.now()) {
            Cost::Usual => None,
            Cost::Budgeted => {
                finding.marks = finding.marks.with(Marks::COSTLY);
                None
            }
            Cost::Skipped { why, .. } => Some(why),
        }
    }

    /// Whether a line of robots.txt allows a URL, and not the whole site with it.
    fn is_allowed_by_line(&self, url: &CrawlUrl, now: Now) -> bool {
        let Ok(Known::Fresh(entry) | Known::Stale(entry)) = self.context.robots.lookup(&url.origin(), now)
        else {
            return false;
        };
        let verdict = entry.robots.verdict(url.path_and_query());
        let rule = verdict.rule.as_deref().and_then(|rule| rule.split_once(':'));
        verdict.allowed
            && rule.is_some_and(|(name, path)| {
                let path = path.trim().trim_end_matches(['*', '$']);
                name.trim().eq_ignore_ascii_case("allow") && path.len() > 1
            })
    }
}

/// How a URL came into the crawl, as far as that exempts it.
fn standing(finding: Finding) -> Standing {
    if finding.is_seed() && finding.redirects == 0 || finding.via.is_none() {
        Standing::Seed
    } else if finding.is_resource() {
        Standing::Requisite
    } else if finding.is_seed() || finding.is_exempt() {
        Standing::Included
    } else {
        Standing::Found
    }
}
