//! The engine's entries in the ledger: each request once, the results of robots.txt and directives, starts and ends.

use super::Engine;
use super::settlement::{Entered, about, about_url, whose};
use crate::commit::CommitError;
use crate::config::LedgerLevel;
use crate::encoded::packed_size;
use crate::event::CrawlEvent;
use crate::fetch::Fetch;
use crate::frontier::{HostId, Lease, QueuedUrl, Via, Work};
use crate::record::{
    Decided, Decision, Evidence, Layer, LinkOutcome, PlainReason, Reason, RequestMade, RobotsAccess,
    RobotsRecord, SitemapRecord, Versions, link_key,
};
use crate::robots_history;
use crate::store::{Store, Tree};
use crate::visit::Growth;
use page::clock::Now;
use page::ids::elsewhere_key;
use page::url::CrawlUrl;

/// URLs of pages that others were found on, remembered: of a whole crawl, and of one of many partitions in a process. The least recently used one
/// goes; it is looked up in the store when it is needed. About 140 bytes each.
pub(super) const URLS_REMEMBERED: [usize; 2] = [16_384, 512];

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Enters a decision.
    pub(super) fn decide(&mut self, mut decision: Decision) {
        let has_clock = decision.evidence.pause.is_some() || decision.layer == Layer::Robots;
        // Of what another process was in the middle of, its clock is entered.
        let has_clock = has_clock && decision.decision != Decided::Interrupted;
        if has_clock && decision.evidence.robots.is_none() {
            decision.evidence = decision.evidence.with_clock(self.clock.now().mono);
        }
        (self.reports.listener)(CrawlEvent::Decided(&decision));
        if self.settings.ledger == LedgerLevel::Off {
            return;
        }
        self.touch(packed_size(&decision));
        self.group.batch.decisions.push(decision);
    }

    /// Enters a decision about a lease's URL.
    pub(super) fn decided(
        &mut self,
        lease: &Lease,
        now: Now,
        decision: Decided,
        layer: Layer,
        reason: impl Into<Reason>,
        evidence: impl Into<Evidence>,
    ) {
        let decision = about(lease, now, decision, layer, reason, evidence.into());
        self.enter(lease, Entered { decision, has_via: true });
    }

    /// Enters what settling a visit decided.
    pub(super) fn enter(&mut self, lease: &Lease, entry: Entered) {
        let via = match &lease.work {
            Work::Visit(QueuedUrl { via: Some(via), .. }) if entry.has_via => self.url_of(*via),
            _ => None,
        };
        self.decide(Decision { via, ..entry.decision });
    }

    /// The URL of a page that was stored before.
    pub(super) fn url_of(&mut self, via: Via) -> Option<String> {
        if let Some(url) = self.urls.get(via) {
            return Some(url.to_owned());
        }
        let url = if via.host == HostId::ELSEWHERE {
            String::from_utf8(self.frontier.get(Tree::Meta, &elsewhere_key(via.page)).ok()??).ok()?
        } else {
            let store = self.frontier.store();
            if let Some(url) = self.urls.look_up(store, via).unwrap_or_default() {
                return Some(url);
            }
            let value = store.get(Tree::Sitemaps, &link_key(via.host, via.page)).ok()??;
            SitemapRecord::read(&value).ok()?.url
        };
        self.urls.remember(via, &url);
        Some(url)
    }

    /// Remembers the URL of a page whose links are queued: their entries name it, one after the other.
    pub(super) fn remember_url(&mut self, via: Via, url: &str) {
        self.urls.remember(via, url);
    }

    /// Enters the outcome of a link that isn't skipped; only with `full`.
    pub(super) fn enter_link(
        &mut self,
        lease: &Lease,
        growth: &mut Growth,
        url: &CrawlUrl,
        outcome: LinkOutcome,
        now: Now,
    ) {
        if self.settings.ledger != LedgerLevel::Full || growth.left_for_skips() < url.as_str().len() {
            return;
        }
        growth.add(url.as_str().len());
        let layer = if outcome == LinkOutcome::Queued { Layer::Scope } else { Layer::Seen };
        let entry = about(lease, now, Decided::Link, layer, outcome, Evidence::default());
        let via = Some(lease.url.to_string());
        self.decide(Decision { url: url.to_string(), host: url.host().to_owned(), via, ..entry });
    }

    /// Enters an answer to a request for robots.txt, and whether the rules changed by it.
    pub(super) fn enter_robots(
        &mut self,
        record: &RobotsRecord,
        host: &str,
        digest: Option<&String>,
        at: &CrawlUrl,
        request: Option<(RequestMade, CrawlUrl)>,
    ) -> Result<(), CommitError> {
        if self.settings.ledger == LedgerLevel::Off {
            return Ok(());
        }
        let now = Now { wall: record.fetched_at, mono: std::time::Duration::ZERO };
        let mut own = None;
        if let Some((request, url)) = request {
            if url.origin().to_string() == record.origin {
                own = Some(request);
            } else {
                let evidence = Evidence::from(whose(&record.origin)).with_request(Some(request));
                let entry =
                    about_url(at, now, Decided::Asked, Layer::Robots, PlainReason::RobotsElsewhere, evidence);
                self.decide(Decision { url: url.to_string(), ..entry });
            }
        }
        let about_origin = |decision: Decided, reason: Reason, evidence: Evidence| Decision {
            at: record.fetched_at,
            url: record.origin.clone(),
            host: host.to_owned(),
            decision,
            layer: Layer::Robots,
            reason,
            evidence,
            via: None,
        };
        let before = robots_history::in_force(&**self.frontier.store(), &record.origin)?;
        let after = digest.cloned().filter(|_| record.access.has_rules());
        let versions = Versions { before: before.as_ref().and_then(|before| before.digest.clone()), after };
        let evidence = Evidence { versions: Some(versions.clone()), ..Evidence::default().with_request(own) };
        self.decide(about_origin(Decided::from(&record.access), record.reason.as_str().into(), evidence));
        if let Some(before) = before
            && record.access != RobotsAccess::Defer
            && !before.is_same(&record.access, versions.after.as_deref())
        {
            let words = format!("{} before, {} now: {}", before.access, record.access, record.reason);
            let evidence = Evidence { versions: Some(versions), ..Evidence::from(words) };
            self.decide(about_origin(Decided::RobotsChanged, PlainReason::OtherVersion.into(), evidence));
        }
        Ok(())
    }

    /// Enters a visit that was aborted, where requests aren't noted before they are sent: its request may have reached the host.
    pub(super) fn enter_cut_off(&mut self, lease: &Lease, now: Now) {
        let words = "the request may have reached the host; the URL stays queued";
        self.decide(about(lease, now, Decided::CutOff, Layer::Stop, PlainReason::Stopped, words.into()));
    }

    /// Enters what was held back when its host woke or was to be asked.
    pub(super) fn enter_held(&mut self, now: Now) -> Result<(), CommitError> {
        for (id, url, item, held) in self.frontier.take_held()? {
            self.totals.skipped += 1;
            let via = item.via.and_then(|via| self.url_of(via));
            self.decide(Decision {
                at: now.wall,
                url: url.to_string(),
                host: self.frontier.name(id).to_owned(),
                decision: Decided::Skipped,
                layer: Layer::of_skip(held.budget.outcome()),
                reason: held.budget.outcome().into(),
                evidence: held.evidence(&url).into(),
                via,
            });
        }
        Ok(())
    }
}
