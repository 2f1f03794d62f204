//! What the outcome of a visit means for its host, its URL and the ledger: values in, values out.
//!
//! [`settle`] reads no clock, no store and no frontier. What it has to know of those comes in a [`Facts`]; what it decides goes
//! out in a [`Settled`], which the engine carries out. What concerns other hosts, other URLs or the store ([`FollowUp`]) is the engine's.

mod failure;
mod gap;
mod page;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

pub(super) use self::failure::failure_record;
use self::gap::Gap;
pub(super) use self::gap::origin_host;
pub(super) use self::page::unlisted;
use crate::commit::Totals;
use crate::config::LedgerLevel;
use crate::consent::denials;
use crate::encoded::Size;
use crate::frontier::{HostDelta, Lease, Marks, QueuedUrl, RobotsFetch, Settlement, Work};
use crate::pace::{Delay, PaceRules};
use crate::post::HopAnswer;
use crate::record::{
    Decided, Decision, Evidence, Layer, LimitReached, LinkOutcome, PageRecord, PlainReason, Reason,
    RequestMade, RobotsEvidence, SiteFileRecord, SitemapRecord,
};
use crate::robots_cache::Entry;
use crate::visit::{Event, HeadAnswer, Outcome, Requested, SiteFileAnswer, UnwantedAnswer, Visited};
use ::page::clock::Now;
use ::page::url::{CrawlUrl, Fingerprint};

/// The settings that settling depends on.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) pace: PaceRules,
    pub(super) retries: u32,
    pub(super) max_crawl_delay: Duration,
    pub(super) max_pages_per_host: Option<u64>,
    pub(super) local_patience: Duration,
    pub(super) ledger: LedgerLevel,
    pub(super) archive: bool,
}

/// What isn't known from the host's state, the outcome and the settings.
#[derive(Debug)]
pub(super) struct Facts {
    /// When the visit is settled.
    pub(super) now: Now,
    /// In 0..1, for the pauses of hosts that fail.
    pub(super) jitter: f64,
    /// The delay that the user set for the host while the crawl runs, or that its owner asked for.
    pub(super) own_delay: Delay,
    /// The host has URLs of other origins, whose robots.txt may be reachable.
    pub(super) stands_aside: bool,
    /// What follows from a request that this machine couldn't make.
    pub(super) shortage: Option<Shortfall>,
    /// The page in the archive that this one names as its original, with the same body; and how it names it.
    pub(super) original: Option<(CrawlUrl, &'static str)>,
    /// Why the redirect isn't followed, where that is its own fault.
    pub(super) redirect: Option<LinkOutcome>,
}

/// What follows from a request that this machine couldn't make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shortfall {
    /// The crawl's pause began with it.
    pub(super) begins: bool,
    /// Its URL was patient for long enough.
    pub(super) gives_up: bool,
    /// How long its host waits.
    pub(super) wait: Duration,
}

/// What a visit comes to.
#[derive(Debug)]
pub(super) struct Settled {
    /// For the frontier: the URL's place in its queue, the host's next time, and what changes of the host.
    pub(super) settlement: Settlement,
    /// What is added to the totals of the crawl.
    pub(super) totals: Totals,
    /// For the ledger, in this order.
    pub(super) entries: Vec<Entered>,
    /// The request, where an entry that the engine makes is to take it, and the URL that it was for.
    pub(super) request: Option<(RequestMade, CrawlUrl)>,
    /// A robots fetch that is still to be done: it was taken out of its host's list when it was leased.
    pub(super) resend: Option<RobotsFetch>,
    /// A site asked for a pause: it is to be on record soon.
    pub(super) soon: bool,
    /// What concerns more than the host and the URL.
    pub(super) follow_up: FollowUp,
}

/// An entry of the ledger.
#[derive(Debug)]
pub(super) struct Entered {
    pub(super) decision: Decision,
    /// The page that led to the URL is named with it.
    pub(super) has_via: bool,
}

/// What of a visit concerns other hosts, other URLs or the store.
#[derive(Debug)]
pub(super) enum FollowUp {
    Nothing,
    /// A robots.txt became known.
    Robots {
        entry: Arc<Entry>,
        asked: Option<Delay>,
    },
    /// The host's own became known before a hop of another origin's, which goes on or ends by it.
    RobotsBefore {
        entry: Arc<Entry>,
        asked: Option<Delay>,
        then: Result<RobotsFetch, Arc<Entry>>,
    },
    /// A robots.txt redirects.
    RobotsHop(RobotsFetch),
    /// What came of a hop is for another partition.
    HopForOther(Box<HopAnswer>),
    /// robots.txt allows the URL, and no more was wanted.
    Judged(RobotsEvidence),
    /// robots.txt denies the URL.
    Denied(RobotsEvidence),
    /// Every declared use of the page is denied, in these words.
    Refused(String),
    /// A file of the site's is to be stored; with its size.
    SiteFile(Arc<SiteFileRecord>, Size),
    /// The URL goes behind those of the host's other origins, for the reason given.
    Aside(QueuedUrl, String),
    /// The host's addresses became known.
    Addresses(Vec<IpAddr>),
    /// A sitemap's visit is over; `again` says that it is to be tried again.
    Sitemap {
        record: Box<SitemapRecord>,
        event: Event,
        again: bool,
    },
    /// A page, to be stored, with its links to be judged; why its redirect isn't followed; and the pages before it that turn out to be walls.
    Page(Box<Visited>, Option<LinkOutcome>, Vec<Fingerprint>),
    /// The record of a URL that failed.
    Failed(Box<PageRecord>),
}

/// What becomes of the URL in its queue.
enum Place {
    /// It goes.
    Done,
    /// It stays at the head.
    Stays,
    /// It goes, and comes back in this form.
    Again(QueuedUrl),
}

/// Judges the outcome of a visit. Pure: the same arguments, the same result.
pub(super) fn settle(lease: &Lease, outcome: Outcome, facts: Facts, rules: &Rules) -> Settled {
    let mut visit = Settling::new(lease, &outcome, facts, rules);
    visit.request_ended(&outcome);
    visit.event(outcome.event, outcome.asked)
}

/// A visit that is being settled.
struct Settling<'a> {
    lease: &'a Lease,
    rules: &'a Rules,
    facts: Facts,
    requested: Option<Requested>,
    /// The request, until an entry of the ledger has taken it.
    request: Option<RequestMade>,
    /// The URL that was asked for, if it isn't the lease's own.
    robots_url: Option<CrawlUrl>,
    gap: Gap,
    host: HostDelta,
    totals: Totals,
    entries: Vec<Entered>,
    soon: bool,
}

impl<'a> Settling<'a> {
    fn new(lease: &'a Lease, outcome: &Outcome, facts: Facts, rules: &'a Rules) -> Self {
        let request = outcome.request.map(|Requested { started, ended, bytes, status, address, .. }| {
            let status = status.or_else(|| outcome.event.status_of_unfinished());
            RequestMade::new(started, ended, status, bytes, lease.state.waited).with_address(address)
        });
        Self {
            lease,
            rules,
            facts,
            requested: outcome.request,
            request,
            robots_url: outcome.robots_url.clone(),
            gap: Gap::without_request(&lease.state),
            host: HostDelta::default(),
            totals: Totals::default(),
            entries: Vec::new(),
            soon: false,
        }
    }

    fn event(mut self, event: Event, asked: Option<Delay>) -> Settled {
        if matches!(
            event,
            Event::Robots(_) | Event::RobotsBefore(..) | Event::RobotsHop(_) | Event::HopForOther(_)
        ) {
            self.robots_answered();
        }
        if let Work::Sitemap(record) = &self.lease.work
            && self.ends_sitemap(&event)
        {
            return self.sitemap(record.clone(), event);
        }
        match event {
            Event::RobotsAgain(error) => self.robots_again(&error),
            Event::Robots(entry) => {
                self.host.counts.robots_requests += u64::from(self.requested.is_some());
                self.end(Place::Stays, FollowUp::Robots { entry, asked })
            }
            Event::RobotsBefore(entry, then) => {
                self.host.counts.robots_requests += u64::from(self.requested.is_some());
                self.end(Place::Stays, FollowUp::RobotsBefore { entry, asked, then })
            }
            Event::RobotsHop(robots_fetch) => {
                self.robots_hop(&robots_fetch);
                self.end(Place::Stays, FollowUp::RobotsHop(robots_fetch))
            }
            Event::HopForOther(answer) => {
                self.hop_for_other();
                self.end(Place::Stays, FollowUp::HopForOther(answer))
            }
            Event::Judged(evidence) => self.end(Place::Done, FollowUp::Judged(evidence)),
            Event::Denied(evidence) => {
                self.skipped(Layer::Robots, PlainReason::RobotsTxt, evidence.clone());
                self.end(Place::Done, FollowUp::Denied(evidence))
            }
            Event::Refused(statements) => {
                let words = denials(&statements);
                self.skipped(Layer::Consent, PlainReason::Consent, words.clone());
                self.end(Place::Done, FollowUp::Refused(words.unwrap_or_default()))
            }
            Event::SiteFile(answer) => self.site_file(*answer),
            Event::Wait(wait, why) => self.wait(wait, why),
            Event::NeverKnown(wait, why) => match &self.lease.work {
                Work::Visit(item) if self.facts.stands_aside => {
                    let item = item.clone();
                    self.end(Place::Done, FollowUp::Aside(item, why))
                }
                _ => self.wait(wait, why),
            },
            Event::Unanswered => self.unfinished(FollowUp::Nothing),
            Event::Addresses(found) => self.unfinished(FollowUp::Addresses(found)),
            Event::TooSlow(asked) => {
                let (reason, entry) = too_slow(
                    self.lease.url.as_str(),
                    self.lease.url.host(),
                    asked,
                    self.rules,
                    self.facts.now,
                );
                self.host.parked = Some(reason);
                self.enter(entry, false);
                self.end(Place::Stays, FollowUp::Nothing)
            }
            Event::Sitemap(_) => self.end(Place::Done, FollowUp::Nothing),
            Event::Page(visited) => self.page(visited),
            Event::Local(error) => self.local(&error),
            Event::Head(answer) => self.head(*answer),
            Event::Unwanted(answer) => self.unwanted(answer),
            Event::Failed(error, evidence) => self.failed(&error, evidence),
        }
    }

    /// robots.txt redirects: the next hop is a request to its own host, with that host's pace.
    fn robots_hop(&mut self, robots_fetch: &RobotsFetch) {
        self.host.counts.robots_requests += 1;
        let evidence = Evidence { to: Some(robots_fetch.url.to_string()), ..Evidence::default() };
        let words = whose(&robots_fetch.origin.to_string());
        let evidence = evidence.with_words(words).with_request(self.request.take());
        let entry = self.about(Decided::Redirected, Layer::Robots, PlainReason::RobotsTxt, evidence);
        let url = robots_fetch.hops.last().cloned().unwrap_or_else(|| self.lease.url.to_string());
        self.enter(Decision { url, ..entry }, false);
    }

    /// A hop was made for another partition, or a request that had to come before it. What came of it is on record there.
    fn hop_for_other(&mut self) {
        let Work::RobotsFetch(robots_fetch) = &self.lease.work else { return };
        let Some(request) = self.request.take() else { return };
        self.host.counts.robots_requests += 1;
        let evidence = Evidence::from(whose(&robots_fetch.origin.to_string())).with_request(Some(request));
        let entry = self.about(Decided::Asked, Layer::Robots, PlainReason::RobotsElsewhere, evidence);
        let url = self.robots_url.take().map_or(entry.url.clone(), |url| url.to_string());
        self.enter(Decision { url, ..entry }, false);
    }

    /// The URL isn't asked for.
    fn skipped(&mut self, layer: Layer, reason: impl Into<Reason>, evidence: impl Into<Evidence>) {
        self.host.counts.skipped += 1;
        self.totals.skipped += 1;
        self.decided(Decided::Skipped, layer, reason, evidence);
    }

    /// The head of a URL was asked for, and lets the URL itself be asked for at the host's next turn.
    fn head(mut self, answer: HeadAnswer) -> Settled {
        let Work::Visit(item) = &self.lease.work else { return self.end(Place::Stays, FollowUp::Nothing) };
        match &answer.failure {
            Some(error) => self.pause_after_failure(error),
            None => self.pause_after(answer.status.unwrap_or_default()),
        }
        let evidence =
            Evidence::from(answer.robots).with_words(answer.words).with_request(self.request.take());
        self.decided(Decided::Asked, Layer::Fetch, PlainReason::Head, evidence);
        let again = item.clone().marked(Marks::HEAD_SEEN);
        self.end(Place::Again(again), FollowUp::Nothing)
    }

    /// The head of a response says that it isn't wanted.
    fn unwanted(mut self, answer: UnwantedAnswer) -> Settled {
        let UnwantedAnswer { is_limit, status, words, robots } = answer;
        self.pause_after(status);
        let evidence = Evidence::from(robots).with_words(words).with_request(self.request.take());
        let layer = if is_limit { Layer::Limit } else { Layer::Scope };
        self.skipped(layer, LinkOutcome::Type, evidence);
        self.end(Place::Done, FollowUp::Nothing)
    }

    fn site_file(mut self, answer: SiteFileAnswer) -> Settled {
        let SiteFileAnswer { file, url, record, size, status, failure } = answer;
        match &failure {
            Some(error) => self.pause_after_failure(error),
            None => self.pause_after(status.unwrap_or_default()),
        }
        let words = match (&record, status, &failure) {
            (Some(record), ..) => record.reason.clone(),
            (None, Some(status), _) => format!("status {status}; retrying"),
            (None, None, Some(error)) => format!("{}; retrying", error.kind.as_str()),
            (None, None, None) => String::new(),
        };
        let decision = match &record {
            Some(record) if record.unreachable => Decided::FileUnreachable,
            Some(_) => Decided::FileKnown,
            None => Decided::Retry,
        };
        let evidence = Evidence::from(words).with_request(self.request.take());
        let entry = self.about(decision, Layer::Consent, Reason::File(file), evidence);
        self.enter(Decision { at: self.ended().wall, url: url.to_string(), ..entry }, false);
        let follow_up = record.map_or(FollowUp::Nothing, |record| FollowUp::SiteFile(record, size));
        self.end(Place::Stays, follow_up)
    }

    /// The host has to wait before anything is asked.
    fn wait(mut self, wait: Delay, why: String) -> Settled {
        let evidence = Evidence::from(wait).with_words(why);
        self.decided(Decided::Paused, Layer::Pace, wait.why, evidence);
        let not_before = self.facts.now.mono + wait.length;
        self.gap = Gap { not_before, delay: wait, asked: false };
        self.unfinished(FollowUp::Nothing)
    }

    /// Whether an event says something about a sitemap; the others are about its host.
    fn ends_sitemap(&self, event: &Event) -> bool {
        match event {
            Event::Denied(_) | Event::Sitemap(_) | Event::Failed(..) => true,
            Event::Local(_) => self.facts.shortage.is_some_and(|shortage| shortage.gives_up),
            _ => false,
        }
    }

    /// Judges what became of a sitemap.
    fn sitemap(mut self, record: Box<SitemapRecord>, mut event: Event) -> Settled {
        let may_try = u32::from(record.tries.saturating_add(1)) <= self.rules.retries;
        if let Event::Local(error) = event {
            self.enter_shortage(&error);
            event = Event::Failed(error, RobotsEvidence::default());
        }
        let again = match &event {
            Event::Failed(error, _) => {
                self.pause_after_failure(error);
                error.kind.may_pass() && may_try
            }
            Event::Sitemap(read) => {
                self.pause_after(read.status);
                let is_met_again = read.wall.as_ref().is_some_and(page::is_met_again);
                let again = robots::StatusClass::of(read.status).may_pass() && may_try && !is_met_again;
                if let Some(wall) = read.wall.as_ref().filter(|_| !again) {
                    self.observe_wall(wall, 0);
                }
                again
            }
            _ => false,
        };
        self.end(Place::Done, FollowUp::Sitemap { record, event, again })
    }

    /// When the response was over, or now.
    fn ended(&self) -> Now {
        self.requested.map_or(self.facts.now, |requested| requested.ended)
    }

    /// The next attempt of a URL, if there is one.
    fn again(&self, item: &QueuedUrl) -> Option<QueuedUrl> {
        let tries = item.tries.saturating_add(1);
        (u32::from(tries) <= self.rules.retries).then(|| QueuedUrl { tries, ..item.clone() })
    }

    fn enter(&mut self, decision: Decision, has_via: bool) {
        self.entries.push(Entered { decision, has_via });
    }

    /// Enters a decision about the lease's URL.
    fn decided(
        &mut self,
        decision: Decided,
        layer: Layer,
        reason: impl Into<Reason>,
        evidence: impl Into<Evidence>,
    ) {
        let entry = self.about(decision, layer, reason, evidence.into());
        self.enter(entry, true);
    }

    fn about(
        &self,
        decision: Decided,
        layer: Layer,
        reason: impl Into<Reason>,
        evidence: Evidence,
    ) -> Decision {
        about(self.lease, self.facts.now, decision, layer, reason, evidence)
    }

    /// The URL stays where it is; a robots fetch, too, is still to be done.
    fn unfinished(self, follow_up: FollowUp) -> Settled {
        let resend = match &self.lease.work {
            Work::RobotsFetch(robots_fetch) => Some(robots_fetch.clone()),
            Work::Visit(_) | Work::Sitemap(_) => None,
        };
        let mut settled = self.end(Place::Stays, follow_up);
        settled.resend = resend;
        settled
    }

    fn end(mut self, place: Place, follow_up: FollowUp) -> Settled {
        // These have entries of their own, which the engine makes.
        let is_claimed = matches!(
            follow_up,
            FollowUp::Robots { .. } | FollowUp::RobotsBefore { .. } | FollowUp::Sitemap { .. }
        );
        let url = self.robots_url.take();
        let request = match self.request.take() {
            Some(request) if is_claimed => Some((request, url.unwrap_or_else(|| self.lease.url.clone()))),
            Some(request) => {
                let entry = asked_for(self.lease, self.facts.now, request, url.as_ref());
                self.enter(entry, false);
                None
            }
            None => None,
        };
        let (done, again) = match place {
            Place::Done => (true, None),
            Place::Stays => (false, None),
            Place::Again(item) => (true, Some(item)),
        };
        let Gap { not_before, delay, asked } = self.gap;
        Settled {
            settlement: Settlement { done, asked, again, not_before, wait: delay, host: self.host },
            totals: self.totals,
            entries: self.entries,
            request,
            resend: None,
            soon: self.soon,
            follow_up,
        }
    }
}

/// A request that no other entry takes. `robots_url` is what it was for, if that was a robots.txt.
pub(super) fn asked_for(
    lease: &Lease,
    now: Now,
    request: RequestMade,
    robots_url: Option<&CrawlUrl>,
) -> Decision {
    let evidence = Evidence::default().with_request(Some(request));
    match robots_url {
        Some(url) => {
            let entry = about(lease, now, Decided::Asked, Layer::Robots, PlainReason::RobotsTxt, evidence);
            Decision { url: url.to_string(), ..entry }
        }
        None => about(lease, now, Decided::Asked, Layer::Fetch, PlainReason::Request, evidence),
    }
}

/// A host asks for a longer delay than is accepted: why it is skipped, and the entry that says so. `url` is what was to be requested, or the
/// host.
pub(super) fn too_slow(url: &str, host: &str, asked: Delay, rules: &Rules, now: Now) -> (String, Decision) {
    let reason = asked.over_max_crawl_delay();
    let value = format!("{}s", rules.max_crawl_delay.as_secs());
    let limit = Some(LimitReached { name: "max-crawl-delay".to_owned(), value });
    let evidence = Evidence { limit, ..Evidence::from(asked) };
    let entry = Decision {
        at: now.wall,
        url: url.to_owned(),
        host: host.to_owned(),
        decision: Decided::Parked,
        layer: Layer::Pace,
        reason: PlainReason::MaxCrawlDelay.into(),
        evidence,
        via: None,
    };
    (reason, entry)
}

/// Whose robots.txt a request to another place was for.
pub(super) fn whose(origin: &str) -> String {
    format!("robots.txt of {origin}")
}

/// An entry about the URL of a lease.
pub(super) fn about(
    lease: &Lease,
    now: Now,
    decision: Decided,
    layer: Layer,
    reason: impl Into<Reason>,
    evidence: Evidence,
) -> Decision {
    about_url(&lease.url, now, decision, layer, reason, evidence)
}

/// An entry about a URL.
pub(super) fn about_url(
    url: &CrawlUrl,
    now: Now,
    decision: Decided,
    layer: Layer,
    reason: impl Into<Reason>,
    evidence: Evidence,
) -> Decision {
    Decision {
        at: now.wall,
        url: url.to_string(),
        host: url.host().to_owned(),
        decision,
        layer,
        reason: reason.into(),
        evidence,
        via: None,
    }
}
