//! Handles a page's links: scope, seen set, queue, and a ledger entry for each that is skipped.

use super::{Engine, ScopeAdded};
use crate::clock::Now;
use crate::commit::CommitError;
use crate::fetch::Fetch;
use crate::frontier::{Admitted, Finding, FingerprintSet, HostId, Lease, Marks, QueuedUrl, Via};
use crate::post::SentLink;
use crate::record::{Decided, Decision, Layer, LinkOutcome, LinkRecord, PageRecord};
use crate::scope::Scope;
use crate::store::{Store, StoreError, Tree};
use crate::trap::{BudgetExceeded, Domains, by_form};
use crate::url::{CrawlUrl, Fingerprint};
use crate::visit::{FoundLink, Visited};

/// What belongs to the crawl.
pub(super) struct Bounds {
    pub(super) scope: Scope,
    /// URLs that a redirect from a seed brought into the scope.
    pub(super) added: Vec<String>,
    /// How many hosts the registered domains have.
    pub(super) domains: Domains,
    /// URLs whose skip was entered, remembered so that a footer's links are entered once and not once a page.
    pub(super) skips: FingerprintSet,
}

impl Bounds {
    /// Why a URL that was found on a page of the host `of` stays outside; none lets it in.
    pub(super) fn judge(&self, url: &CrawlUrl, finding: Finding, of: &str) -> Option<LinkOutcome> {
        if finding.is_resource() {
            self.scope.judge_resource(url, of)
        } else {
            self.scope.judge(url, finding.depth)
        }
    }
}

/// What became of a link, or why it is held back.
pub(super) enum Judged {
    Known(LinkOutcome),
    Held(BudgetExceeded),
}

impl From<LinkOutcome> for Judged {
    fn from(outcome: LinkOutcome) -> Self {
        Self::Known(outcome)
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    pub(super) fn admit_links(
        &mut self,
        lease: &Lease,
        item: &QueuedUrl,
        page: Fingerprint,
        visited: &mut Visited,
        refused: Option<LinkOutcome>,
        now: Now,
    ) -> Result<Vec<LinkRecord>, CommitError> {
        let via = Via { host: lease.host, page };
        let links = std::mem::take(&mut visited.links);
        let mut records = Vec::with_capacity(links.len());
        self.bounds.domains.begin_page(0);
        let of_own_host = links.iter().filter_map(|link| link.target.as_ref().ok());
        let of_own_host = of_own_host.filter(|(url, _)| url.host() == lease.url.host());
        let of_own_host: Vec<_> = of_own_host.map(|(_, fingerprint)| *fingerprint).collect();
        self.frontier.read_ahead(lease.host, &of_own_host);
        for link in links {
            let skip = link.skip.or(refused.filter(|_| link.is_redirect()));
            let (outcome, held) = match (&link.target, skip) {
                (Err(_), _) => (LinkOutcome::NotHttp, None),
                (Ok(_), Some(outcome)) => (outcome, None),
                (Ok((url, fingerprint)), None) => {
                    match self.admit_link(lease, item, via, &link, url, *fingerprint)? {
                        Judged::Known(outcome) => (outcome, None),
                        Judged::Held(held) => (held.budget.outcome(), Some(held.evidence(url))),
                    }
                }
            };
            if outcome.is_skip() {
                self.skip_link(lease, &visited.record, &link, outcome, held, now);
            } else if let Ok((url, _)) = &link.target {
                self.enter_link(lease, url.as_str(), url.host(), outcome, now);
            }
            records.push(link.into_record(outcome));
        }
        Ok(records)
    }

    fn admit_link(
        &mut self,
        lease: &Lease,
        item: &QueuedUrl,
        via: Via,
        link: &FoundLink,
        url: &CrawlUrl,
        fingerprint: Fingerprint,
    ) -> Result<Judged, CommitError> {
        let redirect = link.is_redirect();
        let depth = if redirect { item.depth } else { item.depth.saturating_add(1) };
        let mut finding = Finding::link(depth, via);
        if link.is_resource || redirect && item.is_resource() {
            finding.marks = finding.marks.with(Marks::RESOURCE);
        }
        if redirect {
            finding.redirects = item.redirects.saturating_add(1);
            if item.is_seed() {
                finding.marks = finding.marks.with(Marks::SEED);
                self.widen_scope(url, depth)?;
            }
        }
        if let Some(outcome) = self.bounds.judge(url, finding, lease.url.host()) {
            return Ok(outcome.into());
        }
        if let Some(part) = self.elsewhere(url.host()) {
            let Finding { redirects, marks, .. } = finding;
            let sent = SentLink { url: url.to_string(), depth, redirects, marks };
            self.send_link(part, lease.url.as_str(), sent, fingerprint);
            // Its own partition compares it with what is known there.
            return Ok(LinkOutcome::Untested.into());
        }
        let host = match self.host_within_budgets((lease.url.host(), lease.host), finding, url)? {
            Ok(host) => host,
            Err(held) => return Ok(Judged::Held(held)),
        };
        let (priority, is_own) = (finding.priority(), host == lease.host);
        let pack = || QueuedUrl::found(url, finding);
        Ok(match self.frontier.admit_with(host, fingerprint, priority, is_own, pack)? {
            Admitted::Queued => LinkOutcome::Queued.into(),
            Admitted::Seen => LinkOutcome::Seen.into(),
            Admitted::Untested => LinkOutcome::Untested.into(),
            Admitted::Held(held) => Judged::Held(held),
        })
    }

    /// The host of a URL that was found on a page of `own`, unless the URL's form, or the number of
    /// hosts of its domain or of that page, holds it back.
    pub(super) fn host_within_budgets(
        &mut self,
        own: (&str, HostId),
        finding: Finding,
        url: &CrawlUrl,
    ) -> Result<Result<HostId, BudgetExceeded>, StoreError> {
        if !finding.is_seed()
            && let Some(held) = by_form(&self.settings.traps, url, finding.depth)
        {
            return Ok(Err(held));
        }
        if url.host() == own.0 {
            return Ok(Ok(own.1));
        }
        if let Some(host) = self.frontier.known(url.host()) {
            return Ok(Ok(host));
        }
        if !finding.is_seed()
            && let Some(held) = self.bounds.domains.judge(&self.settings.traps, url.host())
        {
            return Ok(Err(held));
        }
        self.bounds.domains.add(url.host());
        self.frontier.host_id(url.host()).map(Ok)
    }

    /// Where a seed redirects to belongs to the crawl as the seed does.
    pub(super) fn widen_scope(&mut self, url: &CrawlUrl, depth: u32) -> Result<(), CommitError> {
        if self.bounds.scope.judge(url, depth).is_some() && self.add_to_scope(url)? {
            self.send_scope(url);
        }
        Ok(())
    }

    /// Takes a URL in as a seed. False if the scope has it already.
    pub(super) fn add_to_scope(&mut self, url: &CrawlUrl) -> Result<bool, CommitError> {
        if !self.bounds.scope.add_seed(url) {
            return Ok(false);
        }
        self.bounds.added.push(url.to_string());
        let added = ScopeAdded { urls: self.bounds.added.clone() };
        self.frontier.put(Tree::Meta, b"scope_added".to_vec(), serde_json::to_vec(&added)?);
        Ok(true)
    }

    /// True the first time that a URL is skipped for a reason, as far as that is remembered.
    pub(super) fn is_new_skip(&mut self, mark: Fingerprint, outcome: LinkOutcome) -> bool {
        if self.bounds.skips.len() >= super::SKIPS_REMEMBERED {
            self.bounds.skips.clear();
        }
        self.bounds.skips.insert(Fingerprint(mark.0 ^ (outcome as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// Enters a URL that was found and isn't queued, once for each URL and reason as far as memory reaches.
    fn skip_link(
        &mut self,
        lease: &Lease,
        page: &PageRecord,
        link: &FoundLink,
        outcome: LinkOutcome,
        held: Option<String>,
        now: Now,
    ) {
        let mark = match &link.target {
            Ok((_, fingerprint)) => *fingerprint,
            Err(text) => {
                let hash = blake3::hash(text.as_bytes());
                Fingerprint(hash.as_bytes()[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
            }
        };
        if !self.is_new_skip(mark, outcome) {
            return;
        }
        let (url, host) = match &link.target {
            Ok((url, _)) => (url.to_string(), url.host().to_owned()),
            Err(text) => (text.clone(), String::new()),
        };
        self.totals.skipped += 1;
        let layer = layer_of(outcome);
        let directive = match outcome {
            LinkOutcome::PageNofollow => Some("nofollow"),
            LinkOutcome::NoImageIndex => Some("noimageindex"),
            _ => None,
        };
        let evidence = directive
            .and_then(|directive| page.directives.iter().find(|because| because.directive == directive));
        let evidence = match evidence {
            _ if held.is_some() => held.unwrap_or_default(),
            Some(because) => because.source.to_string(),
            // The ledger keeps what it holds: of `rel` it gets the words that decide, and nothing that somebody wrote.
            None if link.rel_words.is_empty() => link.kind.to_owned(),
            None => format!("{} rel=\"{}\"", link.kind, link.rel_words.join(" ")),
        };
        self.decide(Decision {
            at: now.wall,
            url,
            host,
            decision: Decided::Skipped,
            layer,
            reason: outcome.into(),
            evidence: evidence.into(),
            via: Some(lease.url.to_string()),
        });
    }
}

/// Who leaves such a URL out.
pub(super) fn layer_of(outcome: LinkOutcome) -> Layer {
    match outcome {
        LinkOutcome::PageNofollow | LinkOutcome::RelNofollow | LinkOutcome::NoImageIndex => Layer::Directive,
        LinkOutcome::TooLong
        | LinkOutcome::TooManyRedirects
        | LinkOutcome::RedirectLoop
        | LinkOutcome::TooDeep
        | LinkOutcome::Type => Layer::Limit,
        outcome if outcome.is_trap() => Layer::Trap,
        _ => Layer::Scope,
    }
}
