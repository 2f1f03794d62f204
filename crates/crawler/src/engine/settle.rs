//! Handles the outcome of a visit: counters, pace, links, ledger, and the permit back to the frontier.

use std::time::Duration;

use robots::StatusClass;

use super::gap::Gap;
use super::{Engine, redirect, sitemaps};
use crate::clock::Now;
use crate::commit::{CommitError, SettledPage};
use crate::encoded::{Size, packed_size};
use crate::event::CrawlEvent;
use crate::fetch::Fetch;
use crate::frontier::{HostId, Lease, Permit, QueuedUrl, RobotsFetch, Settlement, Work};
use crate::pace::{self, Delay, DelayReason};
use crate::page_store;
use crate::record::{
    Decided, Decision, Evidence, Layer, LimitReached, LinkRecord, PageRecord, PlainReason, RobotsEvidence,
};
use crate::robots_cache::Entry;
use crate::store::Store;
use crate::url::Fingerprint;
use crate::visit::{Event, Outcome, Requested, Visited};

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Takes in what a visit came to.
    pub(super) fn settle(&mut self, permit: Permit, mut outcome: Outcome) -> Result<(), CommitError> {
        let lease = permit.lease().clone();
        let now = self.clock.now();
        self.touch(64);
        self.done.visit(&outcome.event);
        self.note_request(&lease, outcome.request);
        self.made_for = outcome.robots_url.take();
        self.pass_gates(&lease, outcome.request.as_ref());
        if !matches!(outcome.event, Event::Local(_)) {
            self.shortage.passed(&lease, outcome.request.is_some());
        }
        let gap = self.gap_after(&lease, &outcome);
        let mut held = std::mem::take(&mut outcome.held);
        if let Event::Robots(entry) | Event::RobotsBefore(entry, _) = &outcome.event {
            // Its rules go with this visit; the record is written as it is, and as JSON.
            held.shrink(4096 + 2 * entry.record.bytes as usize);
        }
        self.batch.held.push(held);
        self.enter_gap(&lease, now, gap.delay);
        let outcome = match (&lease.work, outcome) {
            (Work::Sitemap(sitemap), outcome) if sitemaps::is_end(&outcome.event) => {
                return self.sitemap_over(permit, (**sitemap).clone(), outcome, gap);
            }
            (_, outcome) => outcome,
        };
        if !matches!(outcome.event, Event::NeverKnown(..) | Event::Addresses(_)) {
            self.asides.end_row(lease.host);
        }
        match outcome.event {
            Event::Robots(entry) => {
                self.robots_known(&lease, origin_host(&lease), &entry, outcome.request, outcome.asked)?;
                self.give_back(permit, false, None, gap);
            }
            Event::RobotsBefore(entry, then) => {
                self.robots_known(&lease, lease.url.host(), &entry, outcome.request, outcome.asked)?;
                if let Err(refused) = &then {
                    self.robots_known(&lease, origin_host(&lease), refused, None, None)?;
                }
                self.give_back(permit, false, None, gap);
                if let Ok(robots_fetch) = then {
                    // It was taken out of its host's list when it was leased.
                    self.frontier.send(lease.host, robots_fetch);
                }
            }
            Event::RobotsHop(robots_fetch) => self.robots_elsewhere(permit, robots_fetch, gap, now)?,
            Event::Judged(evidence) => {
                self.tell_judged(&lease, &evidence, true);
                self.give_back(permit, true, None, gap);
            }
            Event::Denied(evidence) => {
                self.tell_judged(&lease, &evidence, false);
                let (_, counts) = self.frontier.pace_and_counts(lease.host);
                counts.skipped += 1;
                self.totals.skipped += 1;
                self.denied_later(&lease, now, &evidence.to_string());
                self.decided(&lease, now, Decided::Skipped, Layer::Robots, PlainReason::RobotsTxt, evidence);
                self.give_back(permit, true, None, gap);
            }
            Event::SiteFile(answer) => self.site_file(permit, *answer, outcome.request, gap),
            Event::Refused(statements) => self.refused(permit, &statements, gap, now),
            Event::Wait(wait, why) => self.pause_host(permit, wait, why, now),
            Event::NeverKnown(wait, why) => match &lease.work {
                Work::Visit(item) if self.stands_aside(&lease) => {
                    self.set_aside(permit, item.clone(), &why, gap, now);
                }
                _ => self.pause_host(permit, wait, why, now),
            },
            Event::Unanswered => {
                self.enter_request(&lease, now);
                self.give_back(permit, false, None, gap);
                if let Work::RobotsFetch(robots_fetch) = &lease.work {
                    self.frontier.send(lease.host, robots_fetch.clone());
                }
            }
            Event::Addresses(found) => self.located(permit, found, gap),
            Event::TooSlow(asked) => {
                self.too_slow(&lease, lease.host, asked, now);
                self.give_back(permit, false, None, gap);
            }
            Event::Sitemap(_) => self.give_back(permit, true, None, gap),
            Event::Page(visited) => self.page(permit, *visited, outcome.request, gap)?,
            Event::Local(error) => self.local(permit, &error, outcome.request, gap, now)?,
            Event::Failed(error, evidence) => {
                self.failed(permit, &error, evidence, outcome.request, gap, now);
            }
        }
        self.enter_request(&lease, now);
        Ok(())
    }

    fn pause_host(&mut self, permit: Permit, wait: Delay, why: String, now: Now) {
        let lease = permit.lease().clone();
        let evidence = Evidence::from(wait).with_words(why);
        self.decided(&lease, now, Decided::Paused, Layer::Pace, wait.why, evidence);
        let gap = Gap { not_before: now.mono + wait.length, delay: wait, asked: false };
        self.give_back(permit, false, None, gap);
        if let Work::RobotsFetch(robots_fetch) = &lease.work {
            // It was taken out of its host's list when it was leased.
            self.frontier.send(lease.host, robots_fetch.clone());
        }
    }

    /// What the host has waited for since its last answer stays what its next request has to wait for.
    pub(super) fn gap_without_request(&self, host: HostId) -> Gap {
        let delay = self.frontier.waited(host).or_longer(self.frontier.gap(host));
        Gap { not_before: self.frontier.not_before(host), delay, asked: false }
    }

    /// Counts the request and gives the host's next time by the ordinary gap.
    fn gap_after(&mut self, lease: &Lease, outcome: &Outcome) -> Gap {
        let Some(Requested { started, ended, bytes, retry_after, .. }) = outcome.request else {
            return self.gap_without_request(lease.host);
        };
        let took = ended.mono.saturating_sub(started.mono);
        let rules = self.settings.pace;
        let (pace_of_host, counts) = self.frontier.pace_and_counts(lease.host);
        counts.requests += 1;
        counts.bytes += bytes;
        counts.slowest_ms = counts.slowest_ms.max(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        // What the robots.txt of another host's origin asks for isn't for the host that gave it: its own gap goes on.
        let foreign =
            origin_host(lease) != lease.url.host() && !matches!(outcome.event, Event::RobotsBefore(..));
        let mut delay = pace_of_host.gap(&rules, outcome.asked.filter(|_| !foreign), took);
        if foreign {
            delay = delay.or_longer(self.frontier.gap(lease.host));
        }
        if outcome.half_rate {
            delay.length = delay.length.max(Duration::from_millis(500)).saturating_mul(2);
        }
        self.totals.requests += 1;
        self.totals.bytes += bytes;
        self.frontier.set_gap(lease.host, delay);
        let gap = Gap { not_before: ended.mono + pace::as_the_site_sees(delay.length), delay, asked: true };
        // On any response, that to a robots.txt or one of its hops included.
        match retry_after {
            Some(length) => {
                self.flush_soon();
                self.retry_after(
                    lease,
                    outcome,
                    gap.or_later(ended, Delay { length, why: DelayReason::RetryAfter }),
                )
            }
            None => gap,
        }
    }

    /// Enters a pause that a robots.txt asks for; those of pages are entered with the page.
    fn retry_after(&mut self, lease: &Lease, outcome: &Outcome, gap: Gap) -> Gap {
        if !matches!(outcome.event, Event::Page(_)) && gap.delay.why == DelayReason::RetryAfter {
            let evidence = Evidence::from(gap.delay).with_words("for the whole host");
            let now = self.clock.now();
            self.decided(lease, now, Decided::Paused, Layer::Pace, gap.delay.why, evidence);
        }
        gap
    }

    pub(super) fn give_back(&mut self, permit: Permit, done: bool, again: Option<QueuedUrl>, gap: Gap) {
        let Gap { not_before, delay, asked } = gap;
        let settlement = Settlement { done, asked, again, not_before, wait: delay };
        self.frontier.settle(permit, settlement);
    }

    /// The limit that a Crawl-delay may not pass.
    fn max_crawl_delay(&self) -> LimitReached {
        let value = format!("{}s", self.context.max_crawl_delay.as_secs());
        LimitReached { name: "max-crawl-delay".to_owned(), value }
    }

    /// Takes in what a robots.txt came to, and lets the visits go on that wait for it.
    pub(super) fn robots_known(
        &mut self,
        lease: &Lease,
        origin_host: &str,
        entry: &Entry,
        request: Option<Requested>,
        asked: Option<Delay>,
    ) -> Result<(), CommitError> {
        let (_, counts) = self.frontier.pace_and_counts(lease.host);
        counts.robots_requests += u64::from(request.is_some());
        for comment in entry.robots.signals().comments() {
            // Its author addresses the operator of the crawl.
            tracing::info!(origin = entry.record.origin, "robots.txt says: {comment}");
        }
        let record = std::sync::Arc::clone(&entry.record);
        let origin_host = self.frontier.host_id(origin_host)?;
        self.frontier.set_robots_status(origin_host, &format!("{}: {}", record.access, record.reason));
        let host = self.frontier.name(origin_host).to_owned();
        self.enter_robots(lease, &record, &host, entry.digest.as_ref())?;
        self.touch(entry.record_size().encoded);
        self.batch.robots.push(record);
        self.look_for_sitemaps(entry)?;
        if let Some(asked) = asked.filter(|asked| asked.length > self.context.max_crawl_delay) {
            // Known now: waiting for the end of that gap, to find it too long then, could take forever.
            self.too_slow(lease, origin_host, asked, self.clock.now());
        }
        let own = self.frontier.gap(origin_host);
        self.frontier.release_visits(origin_host, asked.map_or(own, |asked| asked.or_longer(own)));
        Ok(())
    }

    /// A host asks for a longer delay than is accepted: it is skipped.
    fn too_slow(&mut self, lease: &Lease, host: HostId, asked: Delay, now: Now) {
        let reason = format!("{} {} s is over max-crawl-delay", asked.why, asked.length.as_secs());
        self.frontier.park(host, &reason);
        self.decide(Decision {
            at: now.wall,
            url: lease.url.to_string(),
            host: self.frontier.name(host).to_owned(),
            decision: Decided::Parked,
            layer: Layer::Pace,
            reason: PlainReason::MaxCrawlDelay.into(),
            evidence: Evidence { limit: Some(self.max_crawl_delay()), ..Evidence::from(asked) },
            via: None,
        });
    }

    /// A robots.txt redirects. The next hop is a request to its own host, with that host's pace.
    fn robots_elsewhere(
        &mut self,
        permit: Permit,
        robots_fetch: RobotsFetch,
        gap: Gap,
        now: Now,
    ) -> Result<(), CommitError> {
        let lease = permit.lease().clone();
        self.enter_robots_hop(&lease, &robots_fetch, now);
        let (_, counts) = self.frontier.pace_and_counts(lease.host);
        counts.robots_requests += 1;
        let origin_host = self.frontier.host_id(&robots_fetch.origin.host)?;
        let target = self.frontier.host_id(robots_fetch.url.host())?;
        self.give_back(permit, false, None, gap);
        if target != origin_host {
            self.frontier.hold_visits(origin_host);
        }
        // A robots fetch goes before its host's own visits, after the gap.
        self.frontier.send(target, robots_fetch);
        Ok(())
    }

    fn page(
        &mut self,
        permit: Permit,
        mut visited: Visited,
        request: Option<Requested>,
        mut gap: Gap,
    ) -> Result<(), CommitError> {
        let lease = permit.lease().clone();
        let Work::Visit(item) = &lease.work else {
            self.give_back(permit, false, None, gap);
            return Ok(());
        };
        let now = self.clock.now();
        let ended = request.map_or(now, |request| request.ended);
        let status = visited.status.unwrap_or_default();
        if let Some(pause) = self.pause_after(&lease, status, request, now) {
            gap = gap.or_later(ended, pause);
        }
        let class = StatusClass::of(status);
        if class.may_pass()
            && let Some(again) = self.again(item)
        {
            let evidence = Evidence { robots: Some(visited.record.robots), ..Evidence::default() };
            let evidence = evidence
                .with_words(format!("http_{status}, try {}", again.tries))
                .with_request(self.pending_request.take());
            self.decided(&lease, now, Decided::Retry, Layer::Fetch, PlainReason::Status, evidence);
            self.give_back(permit, true, Some(again), gap);
            return Ok(());
        }
        let fingerprint = lease.url.fingerprint(&self.key);
        self.leave_duplicate(&lease, &mut visited, now);
        self.enter_page(&lease, &visited, now);
        let mut links = self.admit_links(&lease, item, fingerprint, &visited, now)?;
        if let Some(kind) = redirect::error_of(&links) {
            visited.record.error = Some(kind.to_owned());
            visited.record.detail.clone_from(&visited.record.redirect);
        }
        if !visited.record.lists_links() {
            links.clear();
        }
        let (_, counts) = self.frontier.pace_and_counts(lease.host);
        match class {
            StatusClass::Success if visited.record.error.is_none() => {
                counts.pages += 1;
                self.totals.pages += 1;
            }
            StatusClass::NotModified if visited.keeps_links => self.totals.unchanged += 1,
            StatusClass::Redirect | StatusClass::OtherRedirection if visited.record.error.is_none() => {
                self.totals.redirects += 1;
            }
            _ => {
                counts.errors += 1;
                self.totals.failed += 1;
            }
        }
        let pages = counts.pages;
        if let Some(mark) = visited.mark {
            self.frontier.page_said(lease.host, &lease.url, mark);
        }
        self.totals.indexed += u64::from(visited.record.indexed);
        self.totals.archived += u64::from(visited.record.archived);
        self.store_page(&lease, fingerprint, visited, links);
        if self.settings.max_pages_per_host.is_some_and(|most| pages >= most) {
            let reason = format!("max-pages-per-host {pages}");
            self.frontier.park(lease.host, &reason);
            let evidence = Evidence::limit("max-pages-per-host", pages.to_string());
            self.decided(&lease, now, Decided::Parked, Layer::Limit, PlainReason::MaxPagesPerHost, evidence);
        }
        self.give_back(permit, true, None, gap);
        Ok(())
    }

    /// Tells who plans what robots.txt says to a page.
    fn tell_judged(&mut self, lease: &Lease, evidence: &RobotsEvidence, allowed: bool) {
        if self.settings.plan {
            let (url, evidence) = (lease.url.clone(), Box::new(evidence.clone()));
            (self.listener)(CrawlEvent::Judged { url, evidence, allowed });
        }
    }

    /// The pause that a response asks of the whole host, by `Retry-After`, by 429 and 503, or by five 5xx in a row.
    pub(super) fn pause_after(
        &mut self,
        lease: &Lease,
        status: u16,
        request: Option<Requested>,
        now: Now,
    ) -> Option<Delay> {
        let retry_after = request.and_then(|request| request.retry_after);
        let (jitter, rules) = (self.jitter.draw(), self.settings.pace);
        let (pace, _) = self.frontier.pace_and_counts(lease.host);
        let pause = pace.answered(status, retry_after, &rules, jitter)?;
        self.flush_soon();
        let evidence = Evidence::from(pause).with_words(format!("status {status}"));
        self.decided(lease, now, Decided::Paused, Layer::Pace, pause.why, evidence);
        Some(pause)
    }

    pub(super) fn store_page(
        &mut self,
        lease: &Lease,
        page: Fingerprint,
        visited: Visited,
        links: Vec<LinkRecord>,
    ) {
        let Visited { record, warc, text, keeps_links, withdrawn, .. } = visited;
        let blanks_links = self.withholds_links(lease.host, page, &record, keeps_links);
        self.withdraw_captures(lease.host, page, &record, withdrawn);
        if record.holds_content()
            && let Some(date) = record.unavailable_after
        {
            self.enter_due(date, lease.host, page);
        }
        (self.listener)(CrawlEvent::Page {
            url: record.url.clone(),
            status: record.status.unwrap_or_default(),
        });
        let bytes = Size::of(&record).encoded
            + warc.as_ref().map_or(0, |encoded| encoded.bytes.len())
            + text.as_ref().map_or(0, |text| text.text.len())
            + packed_size(&links);
        self.touch(bytes);
        let host = lease.host;
        let settled = SettledPage { host, page, record, links, keeps_links, blanks_links, warc, text };
        self.batch.pages.push(settled);
    }

    /// The record of a page that was stored before.
    pub(super) fn stored_page(&self, host: HostId, page: Fingerprint) -> Option<PageRecord> {
        page_store::record_of(self.frontier.store(), host, page).ok()?
    }
}

/// The host whose robots.txt a lease is after.
fn origin_host(lease: &Lease) -> &str {
    match &lease.work {
        Work::RobotsFetch(robots_fetch) => &robots_fetch.origin.host,
        Work::Visit(_) | Work::Sitemap(_) => lease.url.host(),
    }
}
