//! Sitemaps: found by robots.txt, asked for like pages, their URLs admitted like links. A sitemap is no page: it has a
//! record of its own, and isn't in table `pages`. The archive has the exchange, with the beginning of the body.

use std::collections::HashMap;

use robots::StatusClass;
use tokio::sync::mpsc;

use super::Engine;
use super::links::{Judged, not_listed_entry, skip_key};
use super::settlement::asked_for;
use crate::commit::CommitError;
use crate::config::LedgerLevel;
use crate::fetch::Fetch;
use crate::frontier::{Finding, FingerprintSet, Frontier, HostId, Lease, Marks, Via, Work};
use crate::ledger;
use crate::post::SentLink;
use crate::record::{
    Decided, Decision, Evidence, Layer, LinkOutcome, PlainReason, Reason, RequestMade, RobotsEvidence,
    SitemapFound, SitemapRecord, SitemapState, Wall, link_key,
};
use crate::robots_cache::Entry;
use crate::store::{Store, Tree};
use crate::visit::{Event, Growth, SitemapPart, SitemapParts, SitemapRead};
use page::clock::Now;
use page::quantity::count;
use page::sitemap::{Fault, SitemapFormat, SitemapLimits, SitemapUrl};
use page::url::{CrawlUrl, Fingerprint};

/// Links from the root of a site to a URL of its sitemap: one, as from its front page.
pub(super) const DEPTH: u32 = 1;

/// Sitemaps known, and how many a host may have; and those that are being read.
#[derive(Debug)]
pub(super) struct Sitemaps {
    known: HashMap<HostId, usize>,
    limits: SitemapLimits,
    max_redirects: u32,
    /// Where visits hand over the URLs of large sitemaps, and where they come out.
    parts: (SitemapParts, mpsc::Receiver<Box<SitemapPart>>),
    /// What became of the URLs so far.
    counts: HashMap<(HostId, Fingerprint), Counts>,
    /// What the robots.txt or index that is looked through may still add, and the sitemaps that are only counted, since it may add no more.
    growth: Option<Growth>,
    not_listed: u64,
}

/// What became of the URLs of a sitemap, and what it may still add.
#[derive(Debug, Default)]
struct Counts {
    urls: u64,
    queued: u64,
    seen: u64,
    refused: u64,
    skipped_not_listed: u64,
    /// Hosts that it made known.
    hosts: u64,
    growth: Growth,
    /// The URLs that stay out, each with its reason.
    met: FingerprintSet,
    /// It may add no further entry.
    is_full: bool,
}

impl Counts {
    /// For a response of so many bytes, as transferred.
    fn of(bytes: u64) -> Self {
        Self { growth: Growth::of(bytes as usize), ..Self::default() }
    }
}

impl Sitemaps {
    pub(super) fn new(known: HashMap<HostId, usize>, limits: SitemapLimits, max_redirects: u32) -> Self {
        let (parts, counts) = (mpsc::channel(1), HashMap::new());
        Self { known, limits, max_redirects, parts, counts, growth: None, not_listed: 0 }
    }

    /// True where an entry of so many bytes may be made; otherwise it is counted.
    fn may_enter(&mut self, bytes: usize) -> bool {
        let Some(growth) = &mut self.growth else { return true };
        let may = growth.left_for_skips() >= bytes;
        if may {
            growth.add(bytes);
        } else {
            self.not_listed += 1;
        }
        may
    }

    /// Where a visit hands over the URLs of a large sitemap.
    pub(super) fn parts(&self) -> SitemapParts {
        self.parts.0.clone()
    }

    /// The next URLs of a sitemap that is being read.
    pub(super) async fn next_part(&mut self) -> Option<Box<SitemapPart>> {
        self.parts.1.recv().await
    }

    /// Why a sitemap of a host isn't asked for; otherwise it is counted.
    fn refusal(&mut self, host: HostId, record: &SitemapRecord) -> Option<(Reason, Evidence)> {
        let SitemapLimits { per_host, nesting, .. } = self.limits;
        let known = self.known.entry(host).or_default();
        if *known >= per_host {
            let evidence = Evidence::limit("sitemap.per_host", per_host.to_string());
            return Some((PlainReason::SitemapsPerHost.into(), evidence));
        }
        if record.nesting > nesting {
            let evidence = Evidence::limit("sitemap.nesting", nesting.to_string());
            return Some((PlainReason::SitemapNesting.into(), evidence.with_words(record.from.clone())));
        }
        if u32::from(record.redirects) > self.max_redirects {
            return Some((LinkOutcome::TooManyRedirects.into(), Evidence::from(record.from.clone())));
        }
        *known += 1;
        None
    }
}

/// Takes up the sitemaps that wait, and counts all by host.
pub(super) fn restore<S: Store>(frontier: &mut Frontier<S>) -> Result<HashMap<HostId, usize>, CommitError> {
    let mut known: HashMap<HostId, usize> = HashMap::new();
    let store = std::sync::Arc::clone(frontier.store());
    for pair in store.scan(Tree::Sitemaps, &[]) {
        let (key, value) = pair?;
        let (Some((id, _)), Some((_, fingerprint))) =
            (key.split_first_chunk::<4>(), key.split_last_chunk::<8>())
        else {
            continue;
        };
        let id = HostId(u32::from_be_bytes(*id));
        let record = SitemapRecord::read(&value)?;
        *known.entry(id).or_default() += 1;
        if record.state == SitemapState::Waits {
            frontier.load(id)?;
            frontier.send_sitemap(id, Fingerprint(u64::from_be_bytes(*fingerprint)));
        }
    }
    Ok(known)
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// A robots.txt became known: queues the sitemaps that it names, and `/sitemap.xml`.
    pub(super) fn look_for_sitemaps(&mut self, entry: &Entry) -> Result<(), CommitError> {
        if !self.settings.sitemaps || entry.deferred {
            return Ok(());
        }
        let origin = &entry.record.origin;
        let Ok(root) = CrawlUrl::parse(origin) else { return Ok(()) };
        let at = entry.record.fetched_at;
        let named = entry.robots.sitemaps().to_vec();
        self.sitemaps.growth = Some(Growth::of(entry.record.bytes as usize));
        for text in named {
            // The protocol wants a whole URL; a path is what many write.
            match CrawlUrl::join(&root.to_url(), &text) {
                Ok(url) => {
                    let from = format!("{origin}/robots.txt");
                    let mut record = SitemapRecord::found(url.to_string(), SitemapFound::RobotsTxt, from, at);
                    record.speaks_for.push(root.host().to_owned());
                    self.queue_sitemap(&url, record)?;
                }
                Err(_) => {
                    self.refuse_sitemap(
                        &text,
                        root.host(),
                        Layer::Scope,
                        LinkOutcome::NotHttp,
                        Evidence::default(),
                    );
                }
            }
        }
        self.sitemaps.growth = None;
        let not_listed = std::mem::take(&mut self.sitemaps.not_listed);
        if not_listed > 0 {
            self.decide(not_listed_entry(&format!("{origin}/robots.txt"), root.host(), not_listed, at));
        }
        if let Ok(url) = CrawlUrl::join(&root.to_url(), "/sitemap.xml") {
            let from = origin.clone();
            self.queue_sitemap(
                &url,
                SitemapRecord::found(url.to_string(), SitemapFound::WellKnown, from, at),
            )?;
        }
        Ok(())
    }

    pub(super) fn queue_sitemap(&mut self, url: &CrawlUrl, record: SitemapRecord) -> Result<(), CommitError> {
        if !self.bounds.scope.has_host(url) {
            let from = Evidence::from(record.from);
            self.refuse_sitemap(url.as_str(), url.host(), Layer::Scope, LinkOutcome::OtherHost, from);
            return Ok(());
        }
        if self.bounds.scope.is_too_long(url) {
            let from = Evidence::from(record.from);
            self.refuse_sitemap(url.as_str(), url.host(), Layer::Limit, LinkOutcome::TooLong, from);
            return Ok(());
        }
        if let Some(part) = self.elsewhere(url.host()) {
            return self.send_sitemap(part, &record);
        }
        let host = self.frontier.host_id(url.host())?;
        let fingerprint = url.fingerprint(&self.key);
        let key = link_key(host, fingerprint);
        if let Some(value) = self.frontier.get(Tree::Sitemaps, &key)? {
            return self.speak_for(host, url, SitemapRecord::read(&value)?, record.speaks_for);
        }
        if let Some((reason, evidence)) = self.sitemaps.refusal(host, &record) {
            self.refuse_sitemap(url.as_str(), url.host(), Layer::Limit, reason, evidence);
            return Ok(());
        }
        self.touch(256);
        self.frontier.put(Tree::Sitemaps, key, record.write()?);
        self.frontier.send_sitemap(host, fingerprint);
        Ok(())
    }

    /// A sitemap that is known already may speak for one more host from now on. What it said of that host before was
    /// refused; as long as it waits nothing is lost.
    fn speak_for(
        &mut self,
        host: HostId,
        url: &CrawlUrl,
        mut known: SitemapRecord,
        hosts: Vec<String>,
    ) -> Result<(), CommitError> {
        let more: Vec<_> = hosts.into_iter().filter(|host| !known.speaks_for.contains(host)).collect();
        if more.is_empty() {
            return Ok(());
        }
        let is_of_others = more.iter().any(|host| host != url.host());
        let fingerprint = url.fingerprint(&self.key);
        known.speaks_for.extend(more);
        // What was already read is read again, for those hosts.
        if known.state == SitemapState::Read && is_of_others {
            known.state = SitemapState::Waits;
            self.frontier.send_sitemap(host, fingerprint);
        }
        self.touch(256);
        self.frontier.put(Tree::Sitemaps, link_key(host, fingerprint), known.write()?);
        Ok(())
    }

    /// Takes in what became of a sitemap. `again` says that it is to be tried again.
    pub(super) fn sitemap_over(
        &mut self,
        lease: &Lease,
        record: SitemapRecord,
        event: Event,
        again: bool,
        request: Option<(RequestMade, CrawlUrl)>,
    ) -> Result<(), CommitError> {
        let now = self.clock.now();
        let fingerprint = lease.url.fingerprint(&self.key);
        let key = link_key(lease.host, fingerprint);
        // Another robots.txt may have named it since it was leased.
        let mut record = match self.frontier.get(Tree::Sitemaps, &key)? {
            Some(value) => SitemapRecord { tries: record.tries, ..SitemapRecord::read(&value)? },
            None => record,
        };
        let before = match &lease.work {
            Work::Sitemap(leased) => leased.speaks_for.len(),
            _ => record.speaks_for.len(),
        };
        let request = request.map(|(request, _)| request);
        record.at = request.as_ref().map_or(now.wall, RequestMade::ended);
        record.tries = record.tries.saturating_add(1);
        let (mut robots, mut has_parts) = (None, false);
        match event {
            Event::Denied(evidence) => {
                record.state = SitemapState::Denied;
                record.detail = Some(evidence.to_string());
                let (url, host) = (lease.url.as_str(), lease.url.host());
                self.refuse_sitemap(url, host, Layer::Robots, PlainReason::RobotsTxt, evidence.into());
            }
            Event::Failed(error, evidence) => {
                robots = Some(evidence);
                record.status = error.status;
                // Its body broke off.
                record.incomplete = error.status.is_some_and(|status| StatusClass::of(status).is_success());
                record.state = SitemapState::Failed;
                record.detail = Some(error.to_string());
            }
            Event::Sitemap(read) => {
                let bytes = request.as_ref().map_or(0, |request| request.bytes);
                robots = Some(read.robots.clone());
                record.detail = None;
                record.status = Some(read.status);
                record.bytes = read.bytes;
                // What was handed over before the end comes before it.
                while let Ok(part) = self.sitemaps.parts.1.try_recv() {
                    self.sitemap_part(part)?;
                }
                has_parts = self.sitemaps.counts.contains_key(&(lease.host, fingerprint));
                self.sitemap_answered(lease, &mut record, bytes, *read, now)?;
            }
            _ => {}
        }
        self.sitemaps.counts.remove(&(lease.host, fingerprint));
        // What was handed over before another host was spoken for is read again for that host.
        let is_read_again =
            has_parts && record.state == SitemapState::Read && record.speaks_for.len() > before;
        self.touch(512);
        if again {
            record.state = SitemapState::Waits;
            if let Some(request) = request {
                self.decide(asked_for(lease, now, request, None));
            }
        } else {
            self.enter_sitemap(lease, &record, robots, request, now);
        }
        if is_read_again {
            record.state = SitemapState::Waits;
        }
        self.frontier.put(Tree::Sitemaps, key, record.write()?);
        if again || is_read_again {
            self.frontier.send_sitemap(lease.host, fingerprint);
        }
        Ok(())
    }

    fn sitemap_answered(
        &mut self,
        lease: &Lease,
        record: &mut SitemapRecord,
        bytes: u64,
        read: SitemapRead,
        now: Now,
    ) -> Result<(), CommitError> {
        record.state = SitemapState::Failed;
        record.incomplete = false;
        if let Some(wall) = read.wall.as_ref().and_then(Wall::of) {
            // What the site has there stays unknown, whoever named it. A wall's redirect isn't followed.
            record.incomplete = record.found != SitemapFound::WellKnown;
            record.detail = Some(wall.in_words());
            return Ok(());
        }
        if let Some(target) = read.redirect {
            record.state = SitemapState::Redirects;
            match target {
                Ok(url) => {
                    record.detail = Some(url.to_string());
                    let mut next = SitemapRecord::found(
                        url.to_string(),
                        SitemapFound::Redirect,
                        record.url.clone(),
                        now.wall,
                    );
                    next.redirects = record.redirects.saturating_add(1);
                    next.nesting = record.nesting;
                    next.speaks_for.clone_from(&record.speaks_for);
                    self.queue_sitemap(&url, next)?;
                }
                Err(text) => {
                    let host = lease.url.host();
                    self.refuse_sitemap(
                        &text,
                        host,
                        Layer::Scope,
                        LinkOutcome::NotHttp,
                        record.url.clone().into(),
                    );
                    record.detail = Some(text);
                }
            }
            return Ok(());
        }
        let Some(sitemap) = read.sitemap else {
            record.detail = Some(format!("http_{}", read.status));
            return Ok(());
        };
        record.detail = sitemap.fault.as_ref().map(ToString::to_string);
        record.form = Some(sitemap.form.as_str().to_owned());
        // Many sites answer any URL with some page.
        record.incomplete = match sitemap.fault {
            Some(Fault::NotOne) => record.found != SitemapFound::WellKnown,
            ref fault => fault.is_some(),
        };
        if sitemap.form == SitemapFormat::Other {
            return Ok(());
        }
        record.state = SitemapState::Read;
        record.urls = sitemap.count;
        if sitemap.too_long > 0 {
            let words = format!(
                "URLs that are longer than limits.max_url_length once they are percent-encoded: {}",
                sitemap.too_long
            );
            self.totals.skipped += sitemap.too_long;
            self.decided(lease, now, Decided::Cut, Layer::Limit, LinkOutcome::TooLong, words.clone());
            add_detail(record, words);
        }
        if sitemap.relative > 0 {
            add_detail(record, format!("{}, resolved", count(sitemap.relative, "relative URL")));
        }
        if let Some(fault @ (Fault::Bytes | Fault::Urls | Fault::Elements)) = &sitemap.fault {
            self.decided(lease, now, Decided::Cut, Layer::Limit, fault.as_str(), fault.to_string());
        }
        let (form, bad, too_long) = (sitemap.form, sitemap.bad, sitemap.too_long);
        let of = (lease.host, lease.url.fingerprint(&self.key));
        let mut counts = self.sitemaps.counts.remove(&of).unwrap_or_else(|| Counts::of(bytes));
        self.take_in(lease, record, form, sitemap.urls, &mut counts, now)?;
        // A sitemap that is read again is counted from zero.
        (record.queued, record.seen) = (counts.queued, counts.seen);
        record.refused = counts.refused + bad + too_long;
        record.skipped_not_listed = counts.skipped_not_listed;
        Ok(())
    }

    /// Takes in some URLs of a sitemap that is still being read.
    pub(super) fn sitemap_part(&mut self, part: Box<SitemapPart>) -> Result<(), CommitError> {
        let SitemapPart { lease, form, urls, bytes, held } = *part;
        let of = (lease.host, lease.url.fingerprint(&self.key));
        let key = link_key(of.0, of.1);
        let mut record = match self.frontier.get(Tree::Sitemaps, &key)? {
            Some(value) => SitemapRecord::read(&value)?,
            None => return Ok(()),
        };
        let mut counts = self.sitemaps.counts.remove(&of).unwrap_or_else(|| Counts::of(bytes));
        let now = self.clock.now();
        counts.urls += urls.len() as u64;
        self.take_in(&lease, &record, form, urls, &mut counts, now)?;
        // A crawl that dies before the end knows where these URLs come from.
        record.urls = counts.urls;
        self.sitemaps.counts.insert(of, counts);
        self.touch(512);
        self.frontier.put(Tree::Sitemaps, key, record.write()?);
        self.group.batch.held.push(held);
        Ok(())
    }

    /// Queues the URLs of a sitemap, or enters why they stay out.
    fn take_in(
        &mut self,
        lease: &Lease,
        record: &SitemapRecord,
        form: SitemapFormat,
        urls: Vec<SitemapUrl>,
        counts: &mut Counts,
        now: Now,
    ) -> Result<(), CommitError> {
        if form == SitemapFormat::Index {
            return self.queue_children(record, counts, urls, now);
        }
        let via = Via { host: lease.host, page: lease.url.fingerprint(&self.key) };
        counts.growth.allow_for_urls(urls.iter().map(|entry| entry.url.as_str().len()).sum());
        self.bounds.domains.begin_page(counts.hosts);
        let mut refused = Vec::new();
        for entry in urls {
            let fingerprint = entry.url.fingerprint(&self.key);
            let target = (&entry.url, fingerprint);
            let (outcome, held) =
                match self.admit_from_sitemap(lease, record, via, &mut counts.growth, target)? {
                    Judged::Known(LinkOutcome::Queued | LinkOutcome::Untested) => {
                        counts.queued += 1;
                        continue;
                    }
                    Judged::Known(LinkOutcome::Seen) => {
                        counts.seen += 1;
                        continue;
                    }
                    Judged::Known(outcome) => (outcome, None),
                    Judged::Held(held) => (held.budget.outcome(), Some(held.evidence(&entry.url))),
                    Judged::Costly(why) => (LinkOutcome::Costly, Some(why)),
                };
            counts.refused += 1;
            let mark = skip_key(fingerprint, outcome);
            if self.bounds.skips.contains(&mark) || !counts.met.insert(mark) {
                continue;
            }
            if counts.is_full {
                counts.skipped_not_listed += 1;
                continue;
            }
            refused.push((fingerprint, outcome, refused_entry(lease, &entry.url, outcome, held, now)));
            if refused.len() >= REFUSED_AT_ONCE {
                self.refuse_urls(counts, std::mem::take(&mut refused));
            }
        }
        self.refuse_urls(counts, refused);
        counts.hosts = self.bounds.domains.of_page();
        Ok(())
    }

    fn queue_children(
        &mut self,
        record: &SitemapRecord,
        counts: &mut Counts,
        children: Vec<SitemapUrl>,
        now: Now,
    ) -> Result<(), CommitError> {
        self.sitemaps.growth = Some(std::mem::take(&mut counts.growth));
        for child in children {
            let mut next = SitemapRecord::found(
                child.url.to_string(),
                SitemapFound::Index,
                record.url.clone(),
                now.wall,
            );
            next.nesting = record.nesting.saturating_add(1);
            next.speaks_for.clone_from(&record.speaks_for);
            self.queue_sitemap(&child.url, next)?;
        }
        counts.growth = self.sitemaps.growth.take().unwrap_or_default();
        counts.skipped_not_listed += std::mem::take(&mut self.sitemaps.not_listed);
        Ok(())
    }

    fn admit_from_sitemap(
        &mut self,
        lease: &Lease,
        record: &SitemapRecord,
        via: Via,
        growth: &mut Growth,
        (url, fingerprint): (&CrawlUrl, Fingerprint),
    ) -> Result<Judged, CommitError> {
        let is_own = url.host() == lease.url.host();
        if !is_own && !record.speaks_for.iter().any(|host| host == url.host()) {
            return Ok(LinkOutcome::SitemapHost.into());
        }
        if let Some(outcome) = self.bounds.scope.judge(url, DEPTH) {
            return Ok(outcome.into());
        }
        if let Some(part) = self.elsewhere(url.host()) {
            if !growth.may_queue(url) {
                return Ok(LinkOutcome::Growth.into());
            }
            growth.add(url.as_str().len());
            let marks = Marks::EXEMPT;
            let sent = SentLink { url: url.to_string(), depth: DEPTH, redirects: 0, marks };
            self.send_link(part, lease.url.as_str(), sent, fingerprint);
            return Ok(LinkOutcome::Untested.into());
        }
        let mut finding = Finding { marks: Marks::EXEMPT, ..Finding::link(DEPTH, via) };
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
        self.admit_within(growth, host, is_own, (url, fingerprint), finding.priority(), finding)
    }

    /// Enters URLs of a sitemap that stay out, as many as it may add; the others are counted.
    fn refuse_urls(&mut self, counts: &mut Counts, refused: Vec<(Fingerprint, LinkOutcome, Decision)>) {
        let (marks, entries): (Vec<_>, Vec<_>) =
            refused.into_iter().map(|(mark, outcome, entry)| ((mark, outcome), entry)).unzip();
        let (count, bytes) = match self.settings.ledger {
            LedgerLevel::Off => (entries.len(), 0),
            _ => ledger::fitting(&entries, counts.growth.left_for_skips()),
        };
        counts.growth.add(bytes);
        counts.is_full |= count < entries.len();
        counts.skipped_not_listed += (entries.len() - count) as u64;
        for ((mark, outcome), entry) in marks.into_iter().zip(entries).take(count) {
            self.is_new_skip(mark, outcome);
            self.totals.skipped += 1;
            self.decide(entry);
        }
    }

    /// Enters a sitemap that isn't asked for.
    pub(super) fn refuse_sitemap(
        &mut self,
        url: &str,
        host: &str,
        layer: Layer,
        reason: impl Into<Reason>,
        evidence: Evidence,
    ) {
        let url = page::clean::clean_to(url, 2_048);
        let words = evidence.words.as_ref().map_or(0, String::len);
        if !self.sitemaps.may_enter(url.len() + words + REFUSAL) {
            return;
        }
        self.decide(Decision {
            at: self.clock.now().wall,
            url,
            host: host.to_owned(),
            decision: Decided::SitemapRefused,
            layer,
            reason: reason.into(),
            evidence,
            via: None,
        });
    }

    /// Enters what a sitemap brought.
    fn enter_sitemap(
        &mut self,
        lease: &Lease,
        record: &SitemapRecord,
        robots: Option<RobotsEvidence>,
        request: Option<RequestMade>,
        now: Now,
    ) {
        if record.state == SitemapState::Denied {
            return;
        }
        let SitemapRecord { urls, queued, seen, refused, .. } = record;
        let mut words = match record.state {
            SitemapState::Read => format!("{urls} URLs: {queued} queued, {seen} known, {refused} refused"),
            _ => String::new(),
        };
        if let Some(detail) = &record.detail {
            words.push_str(if words.is_empty() { "" } else { "; " });
            words.push_str(detail);
        }
        if record.skipped_not_listed > 0 {
            let count = record.skipped_not_listed;
            self.decide(not_listed_entry(lease.url.as_str(), lease.url.host(), count, now.wall));
        }
        let reason = record.form.as_deref().filter(|_| record.state == SitemapState::Read);
        let evidence = Evidence::from(Some(words).filter(|words| !words.is_empty()));
        let evidence = Evidence { robots, ..evidence.with_request(request) };
        self.decide(Decision {
            at: now.wall,
            url: lease.url.to_string(),
            host: lease.url.host().to_owned(),
            decision: record.state.into(),
            layer: Layer::Fetch,
            reason: reason.unwrap_or(record.found.as_str()).into(),
            evidence,
            via: Some(record.from.clone()),
        });
    }
}

/// Adds to what is wrong with a sitemap.
fn add_detail(record: &mut SitemapRecord, words: String) {
    record.detail = Some(match record.detail.take() {
        Some(detail) => format!("{detail}; {words}"),
        None => words,
    });
}

/// Bytes of an entry about a refused sitemap beside its texts, at most.
const REFUSAL: usize = 100;

/// Entries about URLs that stay out which are made at a time.
const REFUSED_AT_ONCE: usize = 2_048;

fn refused_entry(
    lease: &Lease,
    url: &CrawlUrl,
    outcome: LinkOutcome,
    held: Option<String>,
    now: Now,
) -> Decision {
    let layer = match outcome {
        LinkOutcome::TooLong | LinkOutcome::TooDeep | LinkOutcome::Growth => Layer::Limit,
        outcome if outcome.is_trap() => Layer::Trap,
        _ => Layer::Scope,
    };
    Decision {
        at: now.wall,
        url: url.to_string(),
        host: url.host().to_owned(),
        decision: Decided::Skipped,
        layer,
        reason: outcome.into(),
        evidence: held.unwrap_or_else(|| "sitemap".to_owned()).into(),
        via: Some(lease.url.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sitemap_over_a_limit_is_refused_and_not_counted() {
        let limits = SitemapLimits { per_host: 2, nesting: 1, ..SitemapLimits::default() };
        let mut sitemaps = Sitemaps::new(HashMap::from([(HostId(1), 1)]), limits, 3);
        let url = "http://a.test/sitemap.xml".to_owned();
        let record =
            SitemapRecord::found(url, SitemapFound::Index, String::new(), jiff::Timestamp::UNIX_EPOCH);
        for (host, nesting, redirects, refused) in [
            (1, 2, 0, Some(Reason::from(PlainReason::SitemapNesting))),
            (1, 1, 4, Some(LinkOutcome::TooManyRedirects.into())),
            (1, 1, 3, None),
            (1, 0, 0, Some(PlainReason::SitemapsPerHost.into())),
            (2, 0, 0, None),
            (2, 0, 0, None),
            (2, 0, 0, Some(PlainReason::SitemapsPerHost.into())),
        ] {
            let record = SitemapRecord { nesting, redirects, ..record.clone() };
            let answer = sitemaps.refusal(HostId(host), &record).map(|(reason, _)| reason);
            assert_eq!(answer, refused, "{host} {nesting} {redirects}");
        }
    }
}
