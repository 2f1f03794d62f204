//! What the engine does with each outcome: counters, pace, links, ledger, and the permit back to the frontier.

use std::time::Duration;

use super::Engine;
use crate::clock::Now;
use crate::commit::{CommitError, SettledPage};
use crate::event::CrawlEvent;
use crate::fetch::Fetch;
use crate::frontier::{Errand, Lease, Permit, QueuedUrl, Settlement, Via, Work};
use crate::pace::{Delay, Why};
use crate::record::{Decision, Layer, LinkRecord, PageRecord, RobotsEvidence, page_key};
use crate::robots_cache::Entry;
use crate::store::{Store, Tree};
use crate::url::Fingerprint;
use crate::visit::{Event, Outcome, Requested, Visited};

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Takes in what a visit came to.
    pub(super) fn settle(&mut self, permit: Permit, outcome: Outcome) -> Result<(), CommitError> {
        let lease = permit.lease().clone();
        let now = self.clock.now();
        self.touch(64);
        self.pass_gates(&lease, outcome.request.as_ref());
        let gap = self.gap_after(&lease, &outcome);
        self.batch.held.push(outcome.held);
        match outcome.event {
            Event::Robots(entry) => self.robots_known(permit, &entry, outcome.asked, gap),
            Event::RobotsHop(errand) => self.robots_elsewhere(permit, errand, gap),
            Event::Denied(evidence) => {
                let (_, counts) = self.frontier.pace_and_counts(lease.host);
                counts.skipped += 1;
                self.totals.skipped += 1;
                let evidence = describe(&evidence);
                self.decided(&lease, now, "skipped", Layer::Robots, "robots_txt", Some(evidence));
                self.give_back(permit, true, None, gap);
            }
            Event::Wait(wait, why) => {
                let evidence = format!("{why}; {:.0} s", wait.length.as_secs_f64());
                self.decided(&lease, now, "paused", Layer::Pace, wait.why.as_str(), Some(evidence));
                let gap = Gap { not_before: now.mono + wait.length, delay: wait, asked: false };
                self.give_back(permit, false, None, gap);
            }
            Event::Address(address) => self.located(permit, address, gap),
            Event::TooSlow(asked) => {
                let reason = format!("{} {} s is over max-crawl-delay", asked.why, asked.length.as_secs());
                self.frontier.park(lease.host, &reason);
                self.decided(&lease, now, "parked", Layer::Pace, "max_crawl_delay", Some(reason));
                self.give_back(permit, false, None, gap);
            }
            Event::Page(visited) => self.page(permit, *visited, outcome.request, gap)?,
            Event::Failed(error, evidence) => {
                self.failed(permit, &error, evidence, outcome.request, gap, now);
            }
        }
        Ok(())
    }

    /// Counts the request and gives the host's next time by the ordinary gap.
    fn gap_after(&mut self, lease: &Lease, outcome: &Outcome) -> Gap {
        let Some(Requested { started, ended, bytes, retry_after, .. }) = outcome.request else {
            let delay = self.frontier.gap(lease.host);
            return Gap { not_before: self.frontier.not_before(lease.host), delay, asked: false };
        };
        let took = ended.mono.saturating_sub(started.mono);
        let rules = self.settings.pace;
        let (pace, counts) = self.frontier.pace_and_counts(lease.host);
        counts.requests += 1;
        counts.bytes += bytes;
        counts.slowest_ms = counts.slowest_ms.max(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        // What the robots.txt of another host's origin asks for isn't for the host that gave it: its own gap goes on.
        let foreign = matches!(&lease.work, Work::Errand(errand) if &*errand.origin.host != lease.url.host());
        let mut delay = pace.gap(&rules, outcome.asked.filter(|_| !foreign), took);
        if foreign {
            delay = delay.or_longer(self.frontier.gap(lease.host));
        }
        if outcome.half_rate {
            delay.length = delay.length.max(Duration::from_millis(500)).saturating_mul(2);
        }
        self.totals.requests += 1;
        self.totals.bytes += bytes;
        self.frontier.set_gap(lease.host, delay);
        let gap = Gap { not_before: ended.mono + delay.length, delay, asked: true };
        // On any response, that to a robots.txt or one of its hops included.
        match retry_after {
            Some(length) => {
                self.retry_after(lease, outcome, gap.or_later(ended, Delay { length, why: Why::RetryAfter }))
            }
            None => gap,
        }
    }

    /// Enters a pause that a robots.txt asks for; those of pages are entered with the page.
    fn retry_after(&mut self, lease: &Lease, outcome: &Outcome, gap: Gap) -> Gap {
        if !matches!(outcome.event, Event::Page(_)) && gap.delay.why == Why::RetryAfter {
            let evidence = format!("{} s, for the whole host", gap.delay.length.as_secs());
            let now = self.clock.now();
            self.decided(lease, now, "paused", Layer::Pace, gap.delay.why.as_str(), Some(evidence));
        }
        gap
    }

    pub(super) fn give_back(&mut self, permit: Permit, done: bool, again: Option<QueuedUrl>, gap: Gap) {
        let Gap { not_before, delay, asked } = gap;
        let settlement = Settlement { done, asked, again, not_before, wait: delay };
        self.frontier.settle(permit, settlement);
    }

    fn robots_known(&mut self, permit: Permit, entry: &Entry, asked: Option<Delay>, gap: Gap) {
        let lease = permit.lease().clone();
        let (_, counts) = self.frontier.pace_and_counts(lease.host);
        counts.robots_requests += 1;
        for comment in entry.robots.signals().comments() {
            // Its author addresses the operator of the crawl.
            tracing::info!(origin = entry.record.origin, "robots.txt says: {comment}");
        }
        let record = entry.record.clone();
        let origin_host = match &lease.work {
            Work::Errand(errand) => self.frontier.host_id(&errand.origin.host),
            Work::Visit(_) => lease.host,
        };
        self.frontier.set_robots_status(origin_host, &format!("{}: {}", record.access, record.reason));
        let at = record.fetched_at;
        self.decide(Decision {
            at,
            url: record.origin.clone(),
            host: self.frontier.name(origin_host).to_owned(),
            decision: format!("robots_{}", record.access),
            layer: Layer::Robots,
            reason: record.reason.clone(),
            evidence: record.digest.clone(),
            via: None,
        });
        self.touch(record.bytes as usize + 256);
        self.batch.robots.push(record);
        let own = self.frontier.gap(origin_host);
        self.frontier.release_visits(origin_host, asked.map_or(own, |asked| asked.or_longer(own)));
        self.give_back(permit, false, None, gap);
    }

    /// A robots.txt redirects. The next hop is a request to its own host, with that host's pace.
    fn robots_elsewhere(&mut self, permit: Permit, errand: Errand, gap: Gap) {
        let lease = permit.lease().clone();
        let (_, counts) = self.frontier.pace_and_counts(lease.host);
        counts.robots_requests += 1;
        let origin_host = self.frontier.host_id(&errand.origin.host);
        let target = self.frontier.host_id(errand.url.host());
        self.give_back(permit, false, None, gap);
        if target != origin_host {
            self.frontier.hold_visits(origin_host);
        }
        // An errand goes before its host's own visits, after the gap.
        self.frontier.send(target, errand);
    }

    fn page(
        &mut self,
        permit: Permit,
        visited: Visited,
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
        let status = visited.record.status.unwrap_or_default();
        let retry_after = visited.retry_after.as_deref();
        let retry_after = retry_after.and_then(|value| robots::access::retry_after(value, ended.wall));
        let jitter = self.jitter.draw();
        let (pace, _) = self.frontier.pace_and_counts(lease.host);
        let pause = match status {
            429 | 503 => Some(pace.pushed_back(retry_after, jitter)),
            _ => {
                pace.answered();
                retry_after.map(|length| Delay { length, why: Why::RetryAfter })
            }
        };
        if let Some(pause) = pause {
            let evidence = format!("status {status}; {:.0} s", pause.length.as_secs_f64());
            self.decided(&lease, now, "paused", Layer::Pace, pause.why.as_str(), Some(evidence));
            gap = gap.or_later(ended, pause);
        }
        if matches!(status, 408 | 421 | 425 | 429 | 500 | 502 | 503 | 504)
            && let Some(again) = self.again(item)
        {
            let evidence = format!("http_{status}, try {}", again.tries);
            self.decided(&lease, now, "retry", Layer::Fetch, "status", Some(evidence));
            self.give_back(permit, true, Some(again), gap);
            return Ok(());
        }
        let fingerprint = lease.url.fingerprint(&self.key);
        let links = self.admit_links(&lease, item, fingerprint, &visited, now)?;
        let (_, counts) = self.frontier.pace_and_counts(lease.host);
        match status {
            200..300 => {
                counts.pages += 1;
                self.totals.pages += 1;
            }
            300..400 => self.totals.redirects += 1,
            _ => {
                counts.errors += 1;
                self.totals.failed += 1;
            }
        }
        let pages = counts.pages;
        self.totals.indexed += u64::from(visited.record.indexed);
        self.totals.archived += u64::from(visited.record.archived);
        self.store_page(&lease, fingerprint, visited, links);
        if self.settings.max_pages_per_host.is_some_and(|most| pages >= most) {
            let reason = format!("max-pages-per-host {pages}");
            self.frontier.park(lease.host, &reason);
            self.decided(&lease, now, "parked", Layer::Limit, "max_pages_per_host", Some(reason));
        }
        self.give_back(permit, true, None, gap);
        Ok(())
    }

    pub(super) fn store_page(
        &mut self,
        lease: &Lease,
        page: Fingerprint,
        visited: Visited,
        links: Vec<LinkRecord>,
    ) {
        let Visited { record, warc, .. } = visited;
        (self.listener)(CrawlEvent::Page {
            url: record.url.clone(),
            status: record.status.unwrap_or_default(),
        });
        let octets = 1024
            + warc.as_ref().map_or(0, |encoded| encoded.bytes.len())
            + links.iter().map(|link| 150 + link.to.len() + link.text.len()).sum::<usize>();
        self.touch(octets);
        self.batch.pages.push(SettledPage { host: lease.host, page, record, links, warc });
    }

    /// The URL of a page that was stored before.
    fn url_of(&self, via: Via) -> Option<String> {
        let key = page_key(via.host, via.page, 0);
        let value = self.frontier.store().get(Tree::Pages, &key).ok()??;
        serde_json::from_slice::<PageRecord>(&value).ok().map(|record| record.url)
    }

    pub(super) fn decided(
        &mut self,
        lease: &Lease,
        now: Now,
        decision: &str,
        layer: Layer,
        reason: &str,
        evidence: Option<String>,
    ) {
        let via = match &lease.work {
            Work::Visit(QueuedUrl { via: Some(via), .. }) => self.url_of(*via),
            _ => None,
        };
        self.decide(Decision {
            at: now.wall,
            url: lease.url.to_string(),
            host: lease.url.host().to_owned(),
            decision: decision.to_owned(),
            layer,
            reason: reason.to_owned(),
            evidence,
            via,
        });
    }
}

/// A host's next time, and the rule that set it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    not_before: Duration,
    delay: Delay,
    /// A request was made.
    asked: bool,
}

impl Gap {
    /// The host's next time, and what it waits for.
    pub(super) fn wait(self) -> (Duration, Delay) {
        (self.not_before, self.delay)
    }

    /// The later of this and a pause that begins with the end of the response.
    pub(super) fn or_later(self, ended: Now, pause: Delay) -> Self {
        let not_before = ended.mono.saturating_add(pause.length);
        if not_before > self.not_before { Self { not_before, delay: pause, ..self } } else { self }
    }
}

fn describe(evidence: &RobotsEvidence) -> String {
    let RobotsEvidence { line, rule, group, dialect, reason, .. } = evidence;
    let group = group.as_ref().map(|group| format!("group {group}, ")).unwrap_or_default();
    match (line, rule) {
        (Some(line), Some(rule)) => format!("line {line}: {rule} ({group}{dialect})"),
        (Some(line), None) => format!("line {line} ({group}{dialect})"),
        _ => format!("{reason} ({group}{dialect})"),
    }
}
