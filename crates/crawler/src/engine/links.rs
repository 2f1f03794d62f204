//! Handles a page's links: scope, seen set, queue, and a ledger entry for each that is skipped.

use super::Engine;
use crate::commit::CommitError;
use crate::config::LedgerLevel;
use crate::fetch::Fetch;
use crate::frontier::{Admitted, Finding, FingerprintSet, HostId, Lease, Marks, Priority, QueuedUrl, Via};
use crate::ledger;
use crate::post::{Letter, SentLink};
use crate::record::{
    Decided, Decision, GROWTH, Layer, LinkOutcome, LinkRecord, MovedSeed, NOT_LISTED, PageRecord,
    SCOPE_ADDED, names_the_page, read_scope_added, write_scope_added,
};
use crate::scope::{Scope, is_same_site};
use crate::store::{Store, StoreError, Tree};
use crate::trap::{BudgetExceeded, Domains, by_form};
use crate::visit::{FoundLink, Growth, Visited};
use page::clean::clean_to;
use page::clock::Now;
use page::url::{CrawlUrl, Fingerprint};

/// What belongs to the crawl.
pub(super) struct Bounds {
    pub(super) scope: Scope,
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
        } else if finding.is_seed() && finding.redirects > 0 {
            self.scope.judge_moved_seed(url, finding.depth)
        } else {
            self.scope.judge(url, finding.depth)
        }
    }
}

/// What became of a link, or why it is held back.
pub(super) enum Judged {
    Known(LinkOutcome),
    Held(BudgetExceeded),
    /// It is costly: the kind of its site and the class.
    Costly(String),
}

impl From<LinkOutcome> for Judged {
    fn from(outcome: LinkOutcome) -> Self {
        Self::Known(outcome)
    }
}

/// A link that is skipped, whose entry isn't made yet.
struct Skip {
    /// Place in the page's links.
    link: usize,
    outcome: LinkOutcome,
    /// The budget that holds it back, in words.
    held: Option<String>,
    mark: Fingerprint,
}

/// Entries about skipped links that are made at a time.
const SKIPS_AT_ONCE: usize = 2_048;

impl<F: Fetch, S: Store> Engine<F, S> {
    #[expect(clippy::too_many_arguments, reason = "what is known of one page")]
    pub(super) fn admit_links(
        &mut self,
        lease: &Lease,
        item: &QueuedUrl,
        page: Fingerprint,
        visited: &mut Visited,
        refused: Option<LinkOutcome>,
        says_the_same: bool,
        now: Now,
    ) -> Result<Vec<LinkRecord>, CommitError> {
        let via = Via { host: lease.host, page };
        let mut links = std::mem::take(&mut visited.links);
        self.normalise_on_site(lease, &mut links);
        let mut outcomes = Vec::with_capacity(links.len());
        let mut skips = Vec::new();
        self.bounds.domains.begin_page(0);
        let of_own_host = links.iter().filter_map(FoundLink::known);
        let of_own_host = of_own_host.filter(|(url, _)| url.host() == lease.url.host());
        let of_own_host: Vec<_> = of_own_host.map(|(_, fingerprint)| fingerprint).collect();
        self.frontier.read_ahead(lease.host, &of_own_host);
        for (place, link) in links.iter().enumerate() {
            let skip = link.skip.or(refused.filter(|_| link.is_redirect()));
            let (outcome, held) = match (link.known(), skip) {
                (None, _) => (LinkOutcome::NotHttp, None),
                (Some(_), Some(outcome)) => (outcome, None),
                (Some((url, _)), None) => {
                    let judged =
                        self.admit_link(lease, item, via, &mut visited.growth, link, says_the_same)?;
                    let judged = match judged {
                        // There may be more space than it seemed.
                        Judged::Known(LinkOutcome::Growth) if visited.weigh(&links) => {
                            self.admit_link(lease, item, via, &mut visited.growth, link, says_the_same)?
                        }
                        judged => judged,
                    };
                    match judged {
                        Judged::Known(outcome) => (outcome, None),
                        Judged::Held(held) => (held.budget.outcome(), Some(held.evidence(url))),
                        Judged::Costly(why) => (LinkOutcome::Costly, Some(why)),
                    }
                }
            };
            outcomes.push(outcome);
            if outcome == LinkOutcome::Growth {
                visited.record.hit_limit(GROWTH);
            }
            if outcome.is_skip() {
                skips.push(Skip { link: place, outcome, held, mark: link.mark() });
            } else if let Some((url, _)) = link.known() {
                self.enter_link(lease, &mut visited.growth, url, outcome, now);
            }
        }
        self.skip_links(lease, visited, &links, skips, now);
        Ok(links.into_iter().zip(outcomes).map(|(link, outcome)| link.into_record(outcome)).collect())
    }

    fn admit_link(
        &mut self,
        lease: &Lease,
        item: &QueuedUrl,
        via: Via,
        growth: &mut Growth,
        link: &FoundLink,
        says_the_same: bool,
    ) -> Result<Judged, CommitError> {
        let Some((url, fingerprint)) = link.known() else { return Ok(LinkOutcome::NotHttp.into()) };
        let redirect = link.is_redirect();
        let depth = if redirect { item.depth } else { item.depth.saturating_add(1) };
        let mut finding = Finding::link(depth, via);
        if link.is_resource || redirect && item.is_resource() {
            finding.marks = finding.marks.with(Marks::RESOURCE);
        }
        let is_repeat = if redirect { item.is_repeat() } else { says_the_same };
        // The resources of a page with known content aren't without end, those of such a style sheet may be.
        let may_be_endless = !link.is_resource || item.is_resource();
        if is_repeat && may_be_endless && url.host() == lease.url.host() {
            finding.marks = finding.marks.with(Marks::REPEAT);
        }
        if names_the_page(link.kind, &link.rel) {
            finding.marks = finding.marks.with(Marks::EXEMPT);
        }
        if redirect {
            finding.redirects = item.redirects.saturating_add(1);
            let before = item.via;
            // A seed that is visited again has no mark. A repaired record may lack how its page was found.
            let is_seed = item.is_seed()
                || match before {
                    Some(before) => self.is_moved_seed(before.page, &lease.url)?,
                    None => item.depth == 0 && !item.is_resource(),
                };
            if is_seed {
                finding.marks = finding.marks.with(Marks::SEED);
                self.seed_redirects(&lease.url, via.page, before, url)?;
            }
        }
        if let Some(outcome) = self.bounds.judge(url, finding, lease.url.host()) {
            return Ok(outcome.into());
        }
        if let Some(part) = self.elsewhere(url.host()) {
            // Its own partition stores its URL, too.
            if !growth.may_queue(url) {
                return Ok(LinkOutcome::Growth.into());
            }
            growth.add(url.as_str().len());
            let Finding { redirects, marks, .. } = finding;
            let sent = SentLink { url: url.to_string(), depth, redirects, marks };
            self.send_link(part, lease.url.as_str(), sent, fingerprint);
            // Its own partition compares it with what is known there.
            return Ok(LinkOutcome::Untested.into());
        }
        if let Some(why) = self.judge_cost(url, fingerprint, &mut finding, lease.url.as_str()) {
            return Ok(Judged::Costly(why));
        }
        let own = (lease.url.host(), lease.host);
        let is_new_host = url.host() != own.0 && self.frontier.known(url.host()).is_none();
        if is_new_host && !growth.may_add_host() {
            return Ok(LinkOutcome::Growth.into());
        }
        let host = match self.host_within_budgets(own, finding, url)? {
            Ok(host) => host,
            Err(held) => return Ok(Judged::Held(held)),
        };
        let (priority, is_own) = (finding.priority(), host == lease.host);
        self.admit_within(growth, host, is_own, (url, fingerprint), priority, finding)
    }

    /// Queues a URL, if it is new and the page may add it.
    pub(super) fn admit_within(
        &mut self,
        growth: &mut Growth,
        host: HostId,
        is_own: bool,
        (url, fingerprint): (&CrawlUrl, Fingerprint),
        priority: Priority,
        finding: Finding,
    ) -> Result<Judged, CommitError> {
        let pack = || growth.may_queue(url).then(|| QueuedUrl::found(url, finding));
        Ok(match self.frontier.admit_if(host, fingerprint, priority, is_own, pack)? {
            None => LinkOutcome::Growth.into(),
            Some(Admitted::Queued) => LinkOutcome::Queued.into(),
            Some(Admitted::Seen) => LinkOutcome::Seen.into(),
            Some(Admitted::Untested) => LinkOutcome::Untested.into(),
            Some(Admitted::Held(held)) => Judged::Held(held),
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

    /// A seed redirects, or a URL that one redirected to. Within its site the scope follows it; the target on another site is fetched, and
    /// that site is crawled only where the settings say so. `from` is the redirecting URL, `before` the one that redirected to it.
    pub(super) fn seed_redirects(
        &mut self,
        from: &CrawlUrl,
        page: Fingerprint,
        before: Option<Via>,
        to: &CrawlUrl,
    ) -> Result<(), CommitError> {
        if self.bounds.scope.judge_alone(to).is_some() {
            return Ok(());
        }
        let known = match before {
            Some(before) => self.moved_seed(before.page)?.map(|moved| (before.page, moved)),
            None => None,
        };
        let seed = match &known {
            Some((_, moved)) => moved.seed.clone(),
            None => self.records().chain_to(from.as_str(), before)?.first,
        };
        let is_of_seed = known.is_some() || self.bounds.scope.is_inside(from);
        let same_site = is_of_seed && CrawlUrl::parse(&seed).is_ok_and(|seed| is_same_site(&seed, to));
        let inside = self.bounds.scope.is_inside(to);
        if let Some((before, moved)) = known {
            self.put_moved_seed(before, &MovedSeed { passed: true, ..moved })?;
        }
        if inside && same_site {
            return Ok(());
        }
        let moved = MovedSeed { v: 1, seed, to: to.to_string(), same_site, inside, passed: false };
        let is_outside = !inside && moved.brought_in(self.bounds.scope.follows_moved_seeds()).is_none();
        if is_outside && from.host() != to.host() {
            tracing::warn!(
                "seed {} redirects to another site, {}: only that page is fetched; use --follow-moved-seeds to crawl the site",
                clean_to(&moved.seed, 200),
                clean_to(to.host(), 200)
            );
        }
        self.put_moved_seed(page, &moved)
    }

    /// Whether a seed, or a URL that one redirected to, redirects from this page to this URL.
    pub(super) fn is_moved_seed(&mut self, from: Fingerprint, to: &CrawlUrl) -> Result<bool, CommitError> {
        Ok(self.moved_seed(from)?.is_some_and(|moved| moved.to == to.as_str()))
    }

    fn moved_seed(&mut self, from: Fingerprint) -> Result<Option<MovedSeed>, CommitError> {
        let value = self.frontier.get(Tree::Meta, &MovedSeed::key(from))?;
        Ok(value.map(|value| MovedSeed::read(&value)).transpose()?)
    }

    /// Stores where a seed redirects to, and tells the other partitions.
    fn put_moved_seed(&mut self, from: Fingerprint, moved: &MovedSeed) -> Result<(), CommitError> {
        if self.moved_seed(from)?.as_ref() == Some(moved) {
            return Ok(());
        }
        let value = moved.write()?;
        self.send_all(&Letter::Moved { from: from.0, record: value.clone() });
        self.take_moved_seed(from, moved, value);
        Ok(())
    }

    /// Stores where a seed redirects to. The target's site belongs to the crawl from now on if the scope follows the seed there.
    pub(super) fn take_moved_seed(&mut self, from: Fingerprint, moved: &MovedSeed, value: Vec<u8>) {
        if let Some(url) = moved.brought_in(self.bounds.scope.follows_moved_seeds()) {
            self.bounds.scope.add_seed(&url);
        }
        self.touch(value.len());
        self.frontier.put(Tree::Meta, MovedSeed::key(from), value);
    }

    /// Takes a URL into the scope that a partition of an earlier version sent.
    pub(super) fn add_to_scope(&mut self, url: &CrawlUrl) -> Result<(), CommitError> {
        if self.bounds.scope.add_seed(url) {
            let added = self.frontier.get(Tree::Meta, SCOPE_ADDED)?;
            let added = added.map(|value| read_scope_added(&value)).transpose()?.unwrap_or_default();
            let urls = added.iter().chain(std::iter::once(url)).map(CrawlUrl::to_string).collect();
            self.frontier.put(Tree::Meta, SCOPE_ADDED.to_vec(), write_scope_added(urls)?);
        }
        Ok(())
    }

    /// True the first time that a URL is skipped for a reason, as far as that is remembered.
    pub(super) fn is_new_skip(&mut self, mark: Fingerprint, outcome: LinkOutcome) -> bool {
        if self.bounds.skips.len() >= self.remembered_at_most {
            self.bounds.skips.clear();
        }
        self.bounds.skips.insert(skip_key(mark, outcome))
    }

    /// Enters the links of a page that aren't queued, each once for its URL and reason as far as memory reaches, and as many as the page may
    /// add; the others are counted.
    fn skip_links(
        &mut self,
        lease: &Lease,
        visited: &mut Visited,
        links: &[FoundLink],
        mut skips: Vec<Skip>,
        now: Now,
    ) {
        let mut met = FingerprintSet::default();
        skips.retain(|skip| {
            let key = skip_key(skip.mark, skip.outcome);
            !self.bounds.skips.contains(&key) && met.insert(key)
        });
        let mut not_listed = 0;
        for some in skips.chunks_mut(SKIPS_AT_ONCE) {
            if not_listed > 0 {
                not_listed += some.len() as u64;
                continue;
            }
            let entries: Vec<_> =
                some.iter_mut().map(|skip| skip.entry(lease, &visited.record, links, now)).collect();
            let (count, bytes) = match self.settings.ledger {
                LedgerLevel::Off => (entries.len(), 0),
                _ => match ledger::fitting(&entries, visited.growth.left_for_skips()) {
                    (count, _) if count < entries.len() && visited.weigh(links) => {
                        ledger::fitting(&entries, visited.growth.left_for_skips())
                    }
                    all => all,
                },
            };
            visited.growth.add(bytes);
            not_listed += (some.len() - count) as u64;
            for (skip, entry) in some.iter().zip(entries).take(count) {
                self.is_new_skip(skip.mark, skip.outcome);
                self.totals.skipped += 1;
                self.decide(entry);
            }
        }
        if not_listed > 0 {
            visited.record.skipped_not_listed = not_listed;
            visited.record.hit_limit(NOT_LISTED);
            self.decide(not_listed_entry(lease.url.as_str(), lease.url.host(), not_listed, now.wall));
        }
    }
}

/// How many URLs that a page or file names are skipped and not in the ledger, since it may add no more to the database.
pub(super) fn not_listed_entry(url: &str, host: &str, count: u64, at: jiff::Timestamp) -> Decision {
    Decision {
        at,
        url: url.to_owned(),
        host: host.to_owned(),
        decision: Decided::NotListed,
        layer: Layer::Limit,
        reason: LinkOutcome::Growth.into(),
        evidence: format!("{count} {}", if count == 1 { "URL" } else { "URLs" }).into(),
        via: None,
    }
}

/// What is remembered of a URL that was skipped for a reason.
pub(super) fn skip_key(mark: Fingerprint, outcome: LinkOutcome) -> Fingerprint {
    Fingerprint(mark.0 ^ (outcome as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl Skip {
    fn entry(&mut self, lease: &Lease, page: &PageRecord, links: &[FoundLink], now: Now) -> Decision {
        let link = &links[self.link];
        let (url, host) = match &link.target {
            Ok((url, _)) => {
                let url = link.normal.as_ref().unwrap_or(url);
                (url.to_string(), url.host().to_owned())
            }
            Err(text) => (text.clone(), String::new()),
        };
        let directive = match self.outcome {
            LinkOutcome::PageNofollow => Some("nofollow"),
            LinkOutcome::NoImageIndex => Some("noimageindex"),
            _ => None,
        };
        let evidence = directive
            .and_then(|directive| page.directives.iter().find(|because| because.directive == directive));
        let evidence = match (self.held.take(), evidence) {
            (Some(held), _) => held,
            (None, Some(because)) => because.source.to_string(),
            // The ledger keeps what it holds: of `rel` it gets the words that decide, and nothing that somebody wrote.
            (None, None) if link.rel_words.is_empty() => link.kind.to_owned(),
            (None, None) => format!("{} rel=\"{}\"", link.kind, link.rel_words.join(" ")),
        };
        Decision {
            at: now.wall,
            url,
            host,
            decision: Decided::Skipped,
            layer: Layer::of_skip(self.outcome),
            reason: self.outcome.into(),
            evidence: evidence.into(),
            via: Some(lease.url.to_string()),
        }
    }
}
