//! Responses that were read: a retry, or a page with what its directives forbid.

use jiff::Timestamp;
use meta::{Cause, Effect, Effects};
use robots::StatusClass;

use super::{FollowUp, Place, Settled, Settling};
use crate::config::LedgerLevel;
use crate::frontier::{WALLED, Work};
use crate::pace::{Delay, DelayReason};
use crate::record::{
    Decided, Decision, EffectsTaken, Evidence, Layer, PageRecord, PlainReason, Reason, Wall,
};
use crate::visit::Visited;
use page::url::Fingerprint;
use walls::{Decision as Walled, Outcome, Verdict};

/// Whether the next request for the same URL would meet this wall too, so that it isn't made. What asks to come back later is no such
/// wall.
pub(super) fn is_met_again(verdict: &Verdict) -> bool {
    verdict.is_certain() && verdict.outcome != Outcome::RateLimited
}

impl Settling<'_> {
    /// A response came, and was read.
    pub(super) fn page(mut self, mut visited: Box<Visited>) -> Settled {
        let Work::Visit(item) = &self.lease.work else { return self.end(Place::Stays, FollowUp::Nothing) };
        let status = visited.status.unwrap_or_default();
        let class = StatusClass::of(status);
        self.pause_after(status);
        let is_wall = visited.verdict.as_ref().is_some_and(is_met_again);
        if class.may_pass()
            && !is_wall
            && let Some(again) = self.again(item)
        {
            let evidence = Evidence { robots: Some(visited.record.robots), ..Evidence::default() };
            let evidence = evidence
                .with_words(format!("http_{status}, try {}", again.tries))
                .with_request(self.request.take());
            self.decided(Decided::Retry, Layer::Fetch, PlainReason::Status, evidence);
            return self.end(Place::Again(again), FollowUp::Nothing);
        }
        let earlier = self.observe_walls(&mut visited);
        self.leave_duplicate(&mut visited);
        self.enter_page(&visited);
        if let Some(outcome) = self.facts.redirect {
            visited.record.error = Some(outcome.as_str().to_owned());
            visited.record.detail.clone_from(&visited.record.redirect);
        }
        self.count_page(class, &visited);
        if let Some(most) = self.rules.max_pages_per_host.filter(|_| !item.is_resource()) {
            self.park_full(most);
        }
        let refused = self.facts.redirect;
        self.end(Place::Done, FollowUp::Page(visited, refused, earlier))
    }

    /// Counts a wall, or a page that ends a row of them: the host pauses, or is skipped until the next run. Returns the pages whose
    /// answers before this one become walls with it.
    fn observe_walls(&mut self, visited: &mut Visited) -> Vec<Fingerprint> {
        let Some(verdict) = visited.verdict.take() else { return Vec::new() };
        let Walled { now_certain, earlier, .. } = self.observe_wall(&verdict, visited.page.0);
        visited.verdict = Some(verdict);
        if now_certain.is_some() {
            visited.become_wall();
        }
        earlier.into_iter().map(Fingerprint).collect()
    }

    /// Has an answer counted among the walls of its host.
    pub(super) fn observe_wall(&mut self, verdict: &Verdict, url: u64) -> Walled {
        let words = Wall::of(verdict).as_ref().map(Wall::in_words).unwrap_or_default();
        let before = &self.lease.state.walls;
        let mut walls = before.clone();
        let decision = walls.observe(verdict, url);
        if walls != *before {
            self.host.walls = Some(walls);
        }
        if let Some(length) = decision.pause {
            let pause = Delay { length, why: DelayReason::Wall };
            self.soon = true;
            self.decided(Decided::Paused, Layer::Pace, pause.why, Evidence::from(pause).with_words(&words));
            self.gap = self.gap.or_later(self.ended(), pause);
        }
        if decision.end.is_some() {
            self.soon = true;
            self.host.parked = Some(format!("{WALLED}{words}"));
            self.decided(Decided::Parked, Layer::Fetch, DelayReason::Wall, Evidence::from(words));
        }
        decision
    }

    /// Leaves the body of a duplicate out of the archive, where the page that it names as the original is in there already.
    fn leave_duplicate(&mut self, visited: &mut Visited) {
        let Some((original, how)) = self.facts.original.take() else { return };
        visited.warc = None;
        visited.record.archived = false;
        visited.record.duplicate_of = Some(original.to_string());
        let evidence = Evidence {
            to: Some(original.to_string()),
            ..Evidence::from(format!("same digest as its {how}"))
        };
        self.decided(Decided::NotArchived, Layer::Dedup, PlainReason::Duplicate, evidence);
    }

    fn count_page(&mut self, class: StatusClass, visited: &Visited) {
        let is_sound = visited.record.error.is_none();
        match class {
            StatusClass::Success if is_sound && visited.record.resource => self.totals.resources += 1,
            StatusClass::Success if is_sound => {
                self.host.counts.pages += 1;
                self.totals.pages += 1;
            }
            StatusClass::NotModified if visited.keeps_links => self.totals.unchanged += 1,
            StatusClass::Redirect | StatusClass::OtherRedirection if is_sound => self.totals.redirects += 1,
            _ => {
                self.host.counts.errors += 1;
                self.totals.failed += 1;
            }
        }
        self.totals.indexed += u64::from(visited.record.indexed);
        self.totals.archived += u64::from(visited.record.archived);
    }

    /// Skips the host from now on, if it has brought so many pages.
    fn park_full(&mut self, most: u64) {
        let pages = self.lease.state.counts.pages + self.host.counts.pages;
        if pages >= most {
            self.host.parked = Some(format!("max-pages-per-host {pages}"));
            let evidence = Evidence::limit("max-pages-per-host", pages.to_string());
            self.decided(Decided::Parked, Layer::Limit, PlainReason::MaxPagesPerHost, evidence);
        }
    }

    /// Enters what became of a page: the visit itself, and each thing that its directives forbid.
    fn enter_page(&mut self, visited: &Visited) {
        if self.rules.ledger == LedgerLevel::Off {
            return;
        }
        let record = &visited.record;
        let PageRecord { indexed, archived, followed, .. } = *record;
        let status = visited.status.unwrap_or_default();
        let is_page = matches!(StatusClass::of(status), StatusClass::Success | StatusClass::NotModified);
        let evidence = Evidence {
            request: self.request.take(),
            robots: Some(record.robots.clone()),
            effects: is_page.then_some(EffectsTaken { indexed, archived, followed }),
            to: record.redirect.clone(),
            ..Evidence::default()
        };
        let entry = self.about(Decided::Fetched, Layer::Fetch, Reason::Http(status), evidence);
        self.enter(entry, false);
        let wall = visited.verdict.as_ref().and_then(Wall::of).filter(Wall::is_certain);
        let wall = wall.as_ref().or(record.certain_wall());
        if let Some(wall) = wall {
            let words = wall.in_words();
            let entry = self.about(Decided::NotIndexed, Layer::Fetch, DelayReason::Wall, words.into());
            self.enter(entry, false);
        }
        let is_page = is_page && wall.is_none();
        let Effects { store_text, store_body, enqueue_links } = &visited.effects;
        let expects_body = is_page && self.rules.archive && record.duplicate_of.is_none();
        for (taken, decision, effect, expected) in [
            (indexed, Decided::NotIndexed, store_text, is_page),
            (archived, Decided::NotArchived, store_body, expects_body),
            (followed, Decided::NotFollowed, enqueue_links, is_page),
        ] {
            if !taken && let Some((layer, reason, evidence)) = cause(visited, effect, expected) {
                let entry = self.about(decision, layer, reason, evidence);
                self.enter(entry, false);
            }
        }
        if let Some(entry) = unlisted(self.lease.url.host().to_owned(), record, self.facts.now.wall) {
            self.enter(entry, false);
        }
    }
}

/// How many links of a page are on record nowhere, since it allows neither to index nor to follow.
pub(in crate::engine) fn unlisted(host: String, record: &PageRecord, at: Timestamp) -> Option<Decision> {
    let count = record.unlisted_links();
    (count > 0).then(|| Decision {
        at,
        url: record.url.clone(),
        host,
        decision: Decided::NotListed,
        layer: Layer::Directive,
        reason: PlainReason::None.into(),
        evidence: format!("{count} {}", if count == 1 { "link" } else { "links" }).into(),
        via: None,
    })
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
