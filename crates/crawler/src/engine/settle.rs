//! Carries out what a visit came to: the host's next time, totals, entries of the ledger, and what concerns other hosts and URLs.

use std::sync::Arc;

use super::aside::Asides;
use super::records::Records;
use super::settlement::{self, Facts, FollowUp, Rules, Settled, origin_host};
use super::{CRASHED, Engine};
use crate::commit::{CommitError, Discovery, SettledPage};
use crate::encoded::{Size, packed_size};
use crate::error_kind::ErrorKind;
use crate::event::CrawlEvent;
use crate::fetch::{DnsAnswer, Fetch, FetchError};
use crate::frontier::{Lease, Permit, QueuedUrl, Via, Work};
use crate::origin_cache::Kind;
use crate::pace::{Delay, DelayReason, Jitter};
use crate::record::{
    Decided, Evidence, LICENSES, Layer, LinkOutcome, LinkRecord, OriginTerms, PageRecord, RequestMade,
    RobotsEvidence, price,
};
use crate::robots_cache::Entry;
use crate::store::{Store, Tree};
use crate::visit::{Captured, Event, Outcome, Requested, Visited};
use crate::warc::{self, Encoded};
use page::clean::clean_to;
use page::clock::{Now, instant};
use page::url::{CrawlUrl, Fingerprint};

/// Comments of a robots.txt that are logged, and characters of each.
const COMMENTS: usize = 8;
const COMMENT: usize = 400;

/// Characters that are kept of a licence's URL and of a price.
const LICENSE: usize = 2_048;
const PRICE: usize = 200;

/// What judging an outcome needs from one visit to the next.
pub(super) struct Judge {
    pub(super) rules: Rules,
    pub(super) jitter: Jitter,
    pub(super) asides: Asides,
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Takes in what a visit came to.
    pub(super) fn settle(&mut self, mut permit: Permit, mut outcome: Outcome) -> Result<(), CommitError> {
        let lease = permit.lease().clone();
        if let Some(place) = permit.take_place() {
            match outcome.request {
                Some(_) => self.group.places.push(place),
                None => place.erase(),
            }
        }
        self.touch(64);
        self.reports.done.visit(&outcome.event);
        let request = outcome.request.as_ref();
        self.gates.passed(&lease, request);
        let requested = outcome.request;
        let mut held = std::mem::take(&mut outcome.held);
        if let Event::Robots(entry) | Event::RobotsBefore(entry, _) = &outcome.event {
            // Its rules go with this visit; the record is written as it is, and as JSON.
            held.shrink(4096 + 2 * entry.record.bytes as usize);
        }
        self.group.batch.held.push(held);
        self.archive_aside(outcome.captured.take());
        self.archive_dns_answers();
        if let Event::RobotsAgain(error) = &outcome.event {
            self.tell_robots_again(outcome.robots_url.as_ref().unwrap_or(&lease.url), error);
        }
        let facts = self.facts(&lease, &outcome)?;
        let is_in_row = matches!(outcome.event, Event::NeverKnown(..) | Event::Addresses(_));
        if !is_in_row && !matches!(lease.work, Work::Sitemap(_)) {
            self.judge.asides.end_row(lease.host);
        }
        let settled = settlement::settle(&lease, outcome, facts, &self.judge.rules);
        self.carry_out(permit, &lease, requested, settled)
    }

    /// Has records archived that belong to no page.
    fn archive_aside(&mut self, captured: Option<Captured>) {
        if let Some(Captured { url, encoded, held }) = captured {
            self.touch(encoded.bytes.len());
            self.group.batch.held.push(held);
            self.group.batch.archive.push((url.to_string(), encoded));
        }
    }

    /// Has what name servers answered archived.
    fn archive_dns_answers(&mut self) {
        let answers = self.context.fetch.take_dns_answers();
        if answers.is_empty() {
            return;
        }
        let (now, wall) = (instant(), self.clock.now().wall);
        for DnsAnswer { host, at, records } in answers {
            let ago = jiff::SignedDuration::try_from(now.saturating_duration_since(at)).unwrap_or_default();
            let at = wall.checked_sub(ago).unwrap_or(wall);
            let encoded = Encoded::of_dns_answer(&host, at, &records);
            self.touch(encoded.bytes.len());
            self.group.batch.archive.push((warc::dns_url(&host), encoded));
        }
    }

    /// How the URL of a lease was found.
    pub(super) fn discovery(
        &mut self,
        lease: &Lease,
        kept: Option<(jiff::Timestamp, Option<u16>)>,
    ) -> Option<Discovery> {
        let Work::Visit(item) = &lease.work else { return None };
        let via = item.via.and_then(|via| self.url_of(via));
        Some(Discovery { via, depth: item.depth, redirects: item.redirects, kept })
    }

    /// What settling a visit has to know from elsewhere.
    fn facts(&mut self, lease: &Lease, outcome: &Outcome) -> Result<Facts, CommitError> {
        let now = self.clock.now();
        let is_page = matches!(lease.work, Work::Visit(_));
        let shortage = if matches!(outcome.event, Event::Local(_)) {
            let asked = outcome.request.map(|request| request.started.mono);
            Some(self.gates.shortage.failed(lease, asked, self.settings.local_patience, now.mono))
        } else {
            self.gates.shortage.passed(lease, outcome.request.is_some());
            None
        };
        let (original, redirect) = match (&outcome.event, &lease.work) {
            (Event::Page(visited), Work::Visit(item)) => {
                let records = self.records();
                let refused = records.refused_redirect(lease, item, visited, self.settings.max_redirects)?;
                (records.original(lease, visited), refused)
            }
            _ => (None, None),
        };
        let never_known = matches!(outcome.event, Event::NeverKnown(..));
        let queued = || self.frontier.queued_of(lease.host);
        let stands_aside = is_page && never_known && self.judge.asides.stands_aside(lease, queued());
        let host = self.frontier.name(lease.host);
        let own = Delay { length: self.steers.delay(host), why: DelayReason::Operator };
        let own_delay = own.or_longer(self.settings.wishes.delay(host, now.wall));
        Ok(Facts {
            now,
            jitter: self.judge.jitter.draw(),
            own_delay,
            stands_aside,
            shortage,
            original,
            redirect,
        })
    }

    fn carry_out(
        &mut self,
        permit: Permit,
        lease: &Lease,
        requested: Option<Requested>,
        settled: Settled,
    ) -> Result<(), CommitError> {
        let Settled { settlement, totals, entries, request, resend, soon, follow_up } = settled;
        let now = self.clock.now();
        if soon {
            self.flush_soon();
        }
        self.totals.add(&totals);
        for entry in entries {
            self.enter(lease, entry);
        }
        let (not_before, wait) = (settlement.not_before, settlement.wait);
        self.frontier.settle(permit, settlement);
        if let Some(robots_fetch) = resend {
            self.frontier.queue_robots_fetch(lease.host, robots_fetch);
        }
        self.free_group(lease, requested, (not_before, wait), now);
        match follow_up {
            FollowUp::Nothing => {}
            FollowUp::Robots { entry, asked } => {
                self.robots_known(&lease.url, origin_host(lease), &entry, request, asked)?;
            }
            FollowUp::RobotsBefore { entry, asked, then } => {
                self.robots_known(&lease.url, lease.url.host(), &entry, request, asked)?;
                match then {
                    Ok(robots_fetch) => self.frontier.queue_robots_fetch(lease.host, robots_fetch),
                    Err(refused) => {
                        self.robots_known(&lease.url, origin_host(lease), &refused, None, None)?;
                    }
                }
            }
            FollowUp::RobotsHop(robots_fetch) => self.robots_elsewhere(robots_fetch)?,
            FollowUp::HopForOther(answer) => self.send_hop_answer(*answer),
            FollowUp::Judged(evidence) => self.tell_judged(lease, &evidence, true),
            FollowUp::Denied(evidence) => {
                self.tell_judged(lease, &evidence, false);
                self.denied_later(lease, now, &evidence.to_string());
            }
            FollowUp::Refused(words) => self.refused_later(lease, now, &words),
            FollowUp::SiteFile(record, size) => {
                self.touch(size.encoded);
                self.group.batch.site_files.push(record);
            }
            FollowUp::Aside(item, why) => self.set_aside(lease, item, &why, now),
            FollowUp::Addresses(found) => self.gates.located(&mut self.frontier, lease.host, found, now),
            FollowUp::Sitemap { record, event, again } => {
                if record.is_crashed() {
                    self.note_crash();
                }
                self.sitemap_over(lease, *record, event, again, request)?;
            }
            FollowUp::Page(visited, refused, walls) => {
                self.become_walls(lease.host, &walls);
                self.page(lease, *visited, refused, now)?;
            }
            FollowUp::Failed(record) => {
                if record.error.as_deref() == Some(ErrorKind::Crashed.as_str()) {
                    self.note_crash();
                }
                self.store_failure(lease, *record);
            }
        }
        Ok(())
    }

    /// Notes for the workers of a cluster that reading a URL ended a process: whether it was read since, its record says.
    fn note_crash(&mut self) {
        if self.post.is_some() {
            self.frontier.put(Tree::Meta, CRASHED.to_vec(), Vec::new());
        }
    }

    /// Takes in what a robots.txt came to, and lets the visits go on that wait for it. `at` is what was to be asked for.
    pub(super) fn robots_known(
        &mut self,
        at: &CrawlUrl,
        origin_host: &str,
        entry: &Entry,
        request: Option<(RequestMade, CrawlUrl)>,
        asked: Option<Delay>,
    ) -> Result<(), CommitError> {
        // Their author addresses the operator of the crawl, who doesn't want 500 KiB of them in the log.
        let comments = entry.robots.signals().comments();
        for comment in comments.iter().take(COMMENTS) {
            let comment = clean_to(comment, COMMENT);
            tracing::info!(origin = entry.record.origin, "robots.txt says: {comment}");
        }
        if let Some(more) = comments.len().checked_sub(COMMENTS).filter(|more| *more > 0) {
            tracing::info!(origin = entry.record.origin, "robots.txt says more: {more} comments");
        }
        let record = Arc::clone(&entry.record);
        let origin_host = self.frontier.host_id(origin_host)?;
        self.frontier.set_robots_status(origin_host, &format!("{}: {}", record.access, record.reason));
        let host = self.frontier.name(origin_host).to_owned();
        self.enter_robots(&record, &host, entry.digest.as_ref(), at, request)?;
        self.touch(entry.record_size().encoded);
        let license = entry.robots.signals().licenses().iter().take(LICENSES);
        let license = license.map(|url| clean_to(url, LICENSE)).collect();
        let headers = record.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let payment = price(record.status.unwrap_or_default(), headers).map(|price| clean_to(price, PRICE));
        let is_unreachable = record.is_unreachable();
        self.note_terms(&record.origin, |before| OriginTerms {
            v: 1,
            license: if is_unreachable { before.license } else { license },
            payment: payment.or(before.payment),
        })?;
        self.group.batch.robots.push(record);
        self.look_for_sitemaps(entry)?;
        if let Some(asked) = asked.filter(|asked| asked.length > self.context.max_crawl_delay) {
            // Known now: waiting for the end of that gap, to find it too long then, could take forever.
            let (reason, entry) =
                settlement::too_slow(at.as_str(), &host, asked, &self.judge.rules, self.clock.now());
            self.frontier.park(origin_host, &reason);
            self.decide(entry);
        }
        let own = self.frontier.gap(origin_host);
        self.slows_group(origin_host, asked.map_or(own, |asked| asked.or_longer(own)));
        self.frontier.release_visits(origin_host, asked.map_or(own, |asked| asked.or_longer(own)));
        Ok(())
    }

    /// Stores the licences and the price that an origin names, where they aren't those that are stored.
    fn note_terms(
        &mut self,
        origin: &str,
        now: impl FnOnce(OriginTerms) -> OriginTerms,
    ) -> Result<(), CommitError> {
        let key = OriginTerms::key(origin);
        let stored = self.frontier.get(Tree::Meta, &key)?;
        let before = stored.as_deref().map(OriginTerms::read).transpose()?.unwrap_or_default();
        let now = now(before.clone());
        let is_known = stored.is_some() || now.license.is_empty() && now.payment.is_none();
        if is_known && now.license == before.license && now.payment == before.payment {
            return Ok(());
        }
        let value = now.write()?;
        self.touch(value.len());
        self.frontier.put(Tree::Meta, key, value);
        Ok(())
    }

    /// Takes in a page: its links are judged, and it is stored. `refused` says why its redirect isn't followed.
    fn page(
        &mut self,
        lease: &Lease,
        mut visited: Visited,
        refused: Option<LinkOutcome>,
        now: Now,
    ) -> Result<(), CommitError> {
        let Work::Visit(item) = &lease.work else { return Ok(()) };
        let fingerprint = lease.url.fingerprint(&self.key);
        self.learn_kinds(lease.url.host(), std::mem::take(&mut visited.kinds))?;
        let says_the_same = self.says_the_same(lease, item, &visited)?;
        let mut links =
            self.admit_links(lease, item, fingerprint, &mut visited, refused, says_the_same, now)?;
        if !visited.record.lists_links() {
            links.clear();
        }
        if let Some(price) = visited.record.payment.clone() {
            let origin = lease.url.origin().to_string();
            self.note_terms(&origin, |before| OriginTerms { v: 1, payment: Some(price), ..before })?;
        }
        self.store_page(lease, fingerprint, visited, links);
        Ok(())
    }

    /// Whether a page says what another page of its host said.
    fn says_the_same(
        &mut self,
        lease: &Lease,
        item: &QueuedUrl,
        visited: &Visited,
    ) -> Result<bool, CommitError> {
        let Some(mark) = visited.mark else { return Ok(false) };
        let PageRecord { visits_before, withheld, .. } = visited.record;
        if visits_before > 0 {
            self.frontier.page_said_again(lease.host, mark, withheld)?;
            return Ok(false);
        }
        Ok(self.frontier.page_said(lease.host, &lease.url, mark, item, withheld)?)
    }

    /// Tells who plans what robots.txt says to a page.
    fn tell_judged(&mut self, lease: &Lease, evidence: &RobotsEvidence, allowed: bool) {
        if self.settings.plan {
            let (url, evidence) = (lease.url.clone(), Box::new(evidence.clone()));
            (self.reports.listener)(CrawlEvent::Judged { url, evidence, allowed });
        }
    }

    /// Says that a robots.txt is asked for again: a plan shows no progress meanwhile.
    fn tell_robots_again(&self, url: &CrawlUrl, error: &FetchError) {
        let pauses =
            "it is requested again after 1 s, and from the second failure in a row on after a minute";
        if self.settings.plan {
            tracing::warn!(%url, "robots.txt can't be fetched: {error}; {pauses}");
        } else {
            tracing::info!(%url, "robots.txt can't be fetched: {error}; {pauses}");
        }
    }

    pub(super) fn store_page(
        &mut self,
        lease: &Lease,
        page: Fingerprint,
        visited: Visited,
        links: Vec<LinkRecord>,
    ) {
        let Visited { record, warc, text, keeps_links, withdrawn, status, encoded, .. } = visited;
        let blanks_links = self.withholds_links(lease.host, page, &record, keeps_links);
        self.withdraw_captures(lease.host, page, &record, withdrawn);
        if record.holds_content()
            && let Some(date) = record.unavailable_after
        {
            self.enter_due(date, lease.host, page);
        }
        if !links.is_empty() {
            self.remember_url(Via { host: lease.host, page }, &record.url);
        }
        (self.reports.listener)(CrawlEvent::Page {
            url: record.url.clone(),
            status: record.status.unwrap_or_default(),
        });
        let encoded = encoded.unwrap_or_else(|| Size::of(&record).encoded + packed_size(&links));
        let bytes = encoded
            + warc.as_ref().map_or(0, |encoded| encoded.bytes.len())
            + text.as_ref().map_or(0, |text| text.text.len());
        self.touch(bytes);
        let host = lease.host;
        let kept = keeps_links.then(|| (self.clock.now().wall, status));
        let discovery = self.discovery(lease, kept).map(Box::new);
        let settled =
            SettledPage { host, page, record, links, keeps_links, blanks_links, warc, discovery, text };
        self.group.batch.pages.push(settled);
    }

    /// Puts a URL at the end of its host's queue. `gap` is what the host waits for anyhow.
    fn set_aside(&mut self, lease: &Lease, item: QueuedUrl, why: &str, now: Now) {
        let origin = lease.url.origin().to_string();
        let caches = &self.context.caches;
        if caches.get::<()>(Kind::SetAside, &origin).is_none() {
            caches.keep(Kind::SetAside, &origin, Arc::new(()), 0);
            let words =
                format!("{origin}: {why}; its URLs are queued behind those of the host's other origins");
            let evidence = Evidence::from(words);
            self.decided(
                lease,
                now,
                Decided::PutBack,
                Layer::Robots,
                DelayReason::RobotsUnreachable,
                evidence,
            );
        }
        self.frontier.requeue(lease.host, item);
    }

    /// What is stored of pages, or waits to be.
    pub(super) fn records(&self) -> Records<'_, S> {
        Records { frontier: &self.frontier, batch: &self.group.batch, key: &self.key }
    }
}
