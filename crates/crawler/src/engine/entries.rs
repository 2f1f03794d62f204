//! The engine's entries in the ledger: each request once, the results of robots.txt and directives, starts and ends.

use jiff::Timestamp;
use meta::{Cause, Effect, Effects};
use robots::StatusClass;

use super::{End, Engine, Summary};
use crate::clock::Now;
use crate::commit::CommitError;
use crate::config::LedgerLevel;
use crate::encoded::packed_size;
use crate::event::CrawlEvent;
use crate::fetch::Fetch;
use crate::frontier::{Lease, QueuedUrl, RobotsFetch, Via, Work};
use crate::record::{
    Decided, Decision, EffectsTaken, EndRecord, Evidence, Layer, LinkOutcome, PageRecord, PlainReason,
    RUN_END, Reason, RequestMade, RobotsAccess, RobotsRecord, SitemapRecord, Versions, link_key,
};
use crate::robots_history;
use crate::store::{Store, Tree};
use crate::visit::{Requested, Visited};

/// URLs of pages that others were found on, remembered.
const URLS_REMEMBERED: usize = 512;

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Enters a decision.
    pub(super) fn decide(&mut self, mut decision: Decision) {
        let has_clock = decision.evidence.pause.is_some() || decision.layer == Layer::Robots;
        if has_clock && decision.evidence.robots.is_none() {
            decision.evidence = decision.evidence.with_clock(self.clock.now().mono);
        }
        (self.listener)(CrawlEvent::Decided(Box::new(decision.clone())));
        if self.settings.ledger == LedgerLevel::Off {
            return;
        }
        self.touch(packed_size(&decision));
        self.batch.decisions.push(decision);
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
        let via = match &lease.work {
            Work::Visit(QueuedUrl { via: Some(via), .. }) => self.url_of(*via),
            _ => None,
        };
        self.decide(Decision { via, ..about(lease, now, decision, layer, reason, evidence.into()) });
    }

    /// The URL of a page that was stored before.
    pub(super) fn url_of(&mut self, via: Via) -> Option<String> {
        if let Some(url) = self.urls.get(&via) {
            return Some(url.to_string());
        }
        let url = if let Some(record) = self.stored_page(via.host, via.page) {
            record.url
        } else {
            let value = self.frontier.store().get(Tree::Sitemaps, &link_key(via.host, via.page)).ok()??;
            SitemapRecord::read(&value).ok()?.url
        };
        // The URLs that a page brought are visited one after the other.
        if self.urls.len() >= URLS_REMEMBERED {
            self.urls.clear();
        }
        self.urls.insert(via, url.as_str().into());
        Some(url)
    }

    /// The request of the visit that is being settled, with the gap that it had to keep; its entry is to take it.
    pub(super) fn note_request(&mut self, lease: &Lease, request: Option<Requested>) {
        let gap = self.frontier.waited(lease.host);
        self.pending_request = request.map(|Requested { started, ended, bytes, status, address, .. }| {
            RequestMade::new(started, ended, status, bytes, gap).with_address(address)
        });
    }

    /// Enters a request that no other entry took.
    pub(super) fn enter_request(&mut self, lease: &Lease, now: Now) {
        if let Some(request) = self.pending_request.take() {
            let evidence = Evidence::default().with_request(Some(request));
            let entry = match self.made_for.take() {
                Some(url) => {
                    let entry =
                        about(lease, now, Decided::Asked, Layer::Robots, PlainReason::RobotsTxt, evidence);
                    Decision { url: url.to_string(), ..entry }
                }
                None => about(lease, now, Decided::Asked, Layer::Fetch, PlainReason::Request, evidence),
            };
            self.decide(entry);
        }
    }

    /// Enters an ordinary gap; `full` alone.
    pub(super) fn enter_gap(&mut self, lease: &Lease, now: Now, delay: crate::pace::Delay) {
        if self.settings.ledger == LedgerLevel::Full {
            let name = self.frontier.name(lease.host).to_owned();
            let entry = about(lease, now, Decided::Waits, Layer::Pace, delay.why, delay.into());
            self.decide(Decision { url: name, ..entry });
        }
    }

    /// Enters what became of a page: the visit itself, and each thing that its directives forbid.
    pub(super) fn enter_page(&mut self, lease: &Lease, visited: &Visited, now: Now) {
        if self.settings.ledger == LedgerLevel::Off {
            return;
        }
        let record = &visited.record;
        let PageRecord { indexed, archived, followed, .. } = *record;
        let status = visited.status.unwrap_or_default();
        let is_page = matches!(StatusClass::of(status), StatusClass::Success | StatusClass::NotModified);
        let evidence = Evidence {
            request: self.pending_request.take(),
            robots: Some(record.robots.clone()),
            effects: is_page.then_some(EffectsTaken { indexed, archived, followed }),
            to: record.redirect.clone(),
            ..Evidence::default()
        };
        let entry = about(lease, now, Decided::Fetched, Layer::Fetch, Reason::Http(status), evidence);
        self.decide(entry);
        let archive = self.context.pages.archive;
        let Effects { store_text, store_body, enqueue_links } = &visited.effects;
        let expects_body = is_page && archive && record.duplicate_of.is_none();
        for (taken, decision, effect, expected) in [
            (indexed, Decided::NotIndexed, store_text, is_page),
            (archived, Decided::NotArchived, store_body, expects_body),
            (followed, Decided::NotFollowed, enqueue_links, is_page),
        ] {
            if !taken && let Some((layer, reason, evidence)) = cause(visited, effect, expected) {
                let entry = about(lease, now, decision, layer, reason, evidence);
                self.decide(entry);
            }
        }
        self.enter_unlisted(lease.url.host().to_owned(), record, now.wall);
    }

    /// Enters how many links of a page are on record nowhere, since it allows neither to index nor to follow.
    pub(super) fn enter_unlisted(&mut self, host: String, record: &PageRecord, at: Timestamp) {
        let count = record.unlisted_links();
        if count == 0 {
            return;
        }
        self.decide(Decision {
            at,
            url: record.url.clone(),
            host,
            decision: Decided::NotListed,
            layer: Layer::Directive,
            reason: PlainReason::None.into(),
            evidence: format!("{count} {}", if count == 1 { "link" } else { "links" }).into(),
            via: None,
        });
    }

    /// Enters the outcome of a link that isn't skipped; only with `full`.
    pub(super) fn enter_link(
        &mut self,
        lease: &Lease,
        url: &str,
        host: &str,
        outcome: LinkOutcome,
        now: Now,
    ) {
        if self.settings.ledger != LedgerLevel::Full {
            return;
        }
        let layer = if outcome == LinkOutcome::Queued { Layer::Scope } else { Layer::Seen };
        let entry = about(lease, now, Decided::Link, layer, outcome, Evidence::default());
        let via = Some(lease.url.to_string());
        self.decide(Decision { url: url.to_owned(), host: host.to_owned(), via, ..entry });
    }

    /// Enters an answer to a request for robots.txt, and whether the rules changed by it.
    pub(super) fn enter_robots(
        &mut self,
        lease: &Lease,
        record: &RobotsRecord,
        host: &str,
        digest: Option<&String>,
    ) -> Result<(), CommitError> {
        if self.settings.ledger == LedgerLevel::Off {
            return Ok(());
        }
        let now = Now { wall: record.fetched_at, mono: std::time::Duration::ZERO };
        let request = self.pending_request.take();
        let url = self.made_for.take().unwrap_or_else(|| lease.url.clone());
        let is_own = url.origin().to_string() == record.origin;
        let (own, elsewhere) = if is_own { (request, None) } else { (None, request) };
        if let Some(request) = elsewhere {
            let evidence = Evidence::from(whose(&record.origin)).with_request(Some(request));
            let entry =
                about(lease, now, Decided::Asked, Layer::Robots, PlainReason::RobotsElsewhere, evidence);
            self.decide(Decision { url: url.to_string(), ..entry });
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

    /// Enters a hop of a robots.txt that redirects.
    pub(super) fn enter_robots_hop(&mut self, lease: &Lease, robots_fetch: &RobotsFetch, now: Now) {
        let evidence = Evidence { to: Some(robots_fetch.url.to_string()), ..Evidence::default() };
        let words = whose(&robots_fetch.origin.to_string());
        let evidence = evidence.with_words(words).with_request(self.pending_request.take());
        let entry = about(lease, now, Decided::Redirected, Layer::Robots, PlainReason::RobotsTxt, evidence);
        let url = robots_fetch.hops.last().cloned().unwrap_or_else(|| lease.url.to_string());
        self.decide(Decision { url, ..entry });
    }

    /// Enters a request that was interrupted: it may have reached its host.
    pub(super) fn enter_interrupted(&mut self, lease: &Lease, now: Now) {
        let words = "the request may have reached the host; the URL stays queued";
        self.decide(about(lease, now, Decided::CutOff, Layer::Stop, PlainReason::Stopped, words.into()));
    }

    /// Enters the start of a run.
    pub(super) fn enter_start(&mut self, now: Now) -> Result<(), CommitError> {
        let (decision, pace) =
            (if self.totals.runs > 1 { Decided::Resumed } else { Decided::Started }, self.settings.pace);
        let words = format!(
            "run {}; delay {} s, adaptive {}, max-delay {} s{}",
            self.totals.runs,
            pace.delay.as_secs_f64(),
            pace.adaptive,
            pace.max_delay.as_secs_f64(),
            if self.settings.per_ip { ", per-ip" } else { "" }
        );
        let boot = self.clock.boot().map(Box::new);
        let run = self.settings.run.take().map(|(run, text)| {
            self.frontier.put(Tree::Meta, run.key(), text.into_bytes());
            Box::new(run)
        });
        let evidence = Evidence { boot, run, ..words.into() };
        self.enter_run(decision, PlainReason::Run, evidence, now);
        self.put_end(&EndRecord { end: "running".to_owned(), limit: None, at: now.wall })
    }

    /// Enters the end of a run and puts it on record. False if that was done before.
    pub(super) fn enter_end(&mut self, summary: &Summary, now: Now) -> Result<bool, CommitError> {
        if std::mem::replace(&mut self.end_entered, true) {
            return Ok(false);
        }
        let (reason, limit) = match &summary.end {
            End::Complete => (PlainReason::Complete, None),
            End::Limit(limit) => (PlainReason::Limit, Some(limit.clone())),
            End::Interrupted => (PlainReason::Interrupted, None),
            End::Forced => (PlainReason::Forced, None),
        };
        let words = format!("{} URLs still queued", summary.queued);
        let evidence = match limit.as_deref().and_then(|limit| limit.split_once(' ')) {
            Some((name, value)) => Evidence::limit(name, value).with_words(words),
            None => words.into(),
        };
        let end = reason.to_string();
        self.enter_run(Decided::Ended, reason, evidence, now);
        self.put_end(&EndRecord { end, limit, at: now.wall })?;
        self.touch(64);
        Ok(true)
    }

    fn enter_run(&mut self, decision: Decided, reason: PlainReason, evidence: Evidence, now: Now) {
        self.decide(Decision {
            at: now.wall,
            url: String::new(),
            host: String::new(),
            decision,
            layer: Layer::Stop,
            reason: reason.into(),
            evidence: evidence.with_clock(now.mono),
            via: None,
        });
    }

    fn put_end(&mut self, record: &EndRecord) -> Result<(), CommitError> {
        self.frontier.put(Tree::Meta, RUN_END.into(), serde_json::to_vec(record)?);
        Ok(())
    }
}

/// Whose robots.txt a request to another place was for.
fn whose(origin: &str) -> String {
    format!("robots.txt of {origin}")
}

fn about(
    lease: &Lease,
    now: Now,
    decision: Decided,
    layer: Layer,
    reason: impl Into<Reason>,
    evidence: Evidence,
) -> Decision {
    Decision {
        at: now.wall,
        url: lease.url.to_string(),
        host: lease.url.host().to_owned(),
        decision,
        layer,
        reason: reason.into(),
        evidence,
        via: None,
    }
}

/// What forbids something, as an entry says it. None where nothing does and nothing is `expected` to.
fn cause(visited: &Visited, effect: &Effect, expected: bool) -> Option<(Layer, Reason, Evidence)> {
    match effect.cause() {
        Some(Cause::Directive(because)) => {
            let word = because.directive.split([':', '=', ' ']).next().unwrap_or_default();
            Some((Layer::Directive, word.into(), Evidence::directive(because)))
        }
        Some(Cause::Consent) => Some(consent(visited)),
        Some(Cause::Unstated) | None if !expected => None,
        // It was refused at an earlier visit, of which the record is kept.
        Some(Cause::Unstated) | None if visited.record.serves.is_empty() => Some(consent(visited)),
        Some(Cause::Unstated) | None => {
            let said = visited.record.directives.iter().map(|said| said.source.to_string());
            let words = said.collect::<Vec<_>>().join("; ");
            Some((Layer::Directive, PlainReason::Directive.into(), Evidence::from(words)))
        }
    }
}

fn consent(visited: &Visited) -> (Layer, Reason, Evidence) {
    let silence = || "no declared purpose is permitted by silence".to_owned();
    let words = visited.denials.clone().unwrap_or_else(silence);
    (Layer::Consent, PlainReason::Consent.into(), words.into())
}
