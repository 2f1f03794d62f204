//! Whether a host that was leased may be asked: its URL still belongs to the crawl, the user hasn't paused it, its owner
//! has no other wish, and its group is free.
//!
//! URLs were queued under the settings of earlier runs: a resumed crawl may have another scope or depth, and asks for nothing outside of
//! it. What is dropped here is judged again (`rejudge`) when the settings change again.

use std::time::Duration;

use super::Engine;
use super::costly::Cost;
use super::turns::Turn;
use crate::commit::CommitError;
use crate::fetch::Fetch;
use crate::frontier::{HostCounts, Lease, Permit, QueuedUrl, Settlement, Work};
use crate::pace::{Delay, DelayReason, as_the_site_sees};
use crate::record::{A_SEED, Decided, Layer, LinkOutcome, SitemapState, link_key};
use crate::store::{Store, Tree};
use crate::trap::by_form;
use crate::wishes::WishedWait;
use page::clock::Now;
use page::url::CrawlUrl;

/// Evidence of an entry for a URL that was queued before the settings excluded it.
pub(super) const WAS_QUEUED: &str = "queued under earlier settings";

/// What a permit may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// A request.
    Request,
    /// A look-up of the host's addresses, without which its turn isn't known.
    LookUp,
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Lets a permit through, and says for what. None: its host has to wait, or its URL was dropped from its queue.
    pub(super) fn let_pass(
        &mut self,
        permit: Permit,
        now: Now,
    ) -> Result<Option<(Permit, Use)>, CommitError> {
        let Some(permit) = self.still_in_scope(permit, now)? else { return Ok(None) };
        let Some(permit) = self.unless_steered(permit, now) else { return Ok(None) };
        let Some(permit) = self.unless_wished(permit, now) else { return Ok(None) };
        let Some(permit) = self.unless_given_up(permit, now) else { return Ok(None) };
        let Some((permit, of)) = self.turn(permit, now) else { return Ok(None) };
        if let Some(why) = self.gates.leased(permit.lease(), of == Use::LookUp, now) {
            let most = match why {
                DelayReason::MaxRate => self.settings.max_rate.map(|most| most.to_string()),
                _ => self.settings.max_bandwidth.map(|most| most.to_string()),
            };
            let evidence = format!("{} per second over all hosts; reported once", most.unwrap_or_default());
            self.decided(permit.lease(), now, Decided::Paused, Layer::Pace, why, evidence);
        }
        Ok(Some((permit, of)))
    }

    /// Lets a permit through if the settings in force still let its URL in. Otherwise the URL leaves its queue, with an entry in
    /// the ledger, and nothing is asked for. A few microseconds.
    fn still_in_scope(&mut self, permit: Permit, now: Now) -> Result<Option<Permit>, CommitError> {
        let lease = permit.lease().clone();
        let (outcome, held) = match &lease.work {
            Work::Visit(item) => match self.outside(&lease.url, item)? {
                Some(outcome) => (outcome, None),
                None if item.is_seed() => return Ok(Some(permit)),
                None => match by_form(&self.settings.traps, &lease.url, item.depth) {
                    Some(held) => (held.budget.outcome(), Some(held.evidence(&lease.url))),
                    None => match self.skipped_as_costly(&lease, item, now) {
                        Some(why) => (LinkOutcome::Costly, Some(why)),
                        None => return Ok(Some(permit)),
                    },
                },
            },
            Work::Sitemap(_) if !self.bounds.scope.has_host(&lease.url) => (LinkOutcome::OtherHost, None),
            Work::Sitemap(_) | Work::RobotsFetch(_) => return Ok(Some(permit)),
        };
        let fingerprint = lease.url.fingerprint(&self.key);
        match &lease.work {
            Work::Sitemap(sitemap) => {
                let mut record = (**sitemap).clone();
                record.state = SitemapState::Denied;
                record.detail = Some(outcome.as_str().to_owned());
                self.frontier.put(Tree::Sitemaps, link_key(lease.host, fingerprint), record.write()?);
                let (url, host) = (lease.url.as_str(), lease.url.host());
                self.refuse_sitemap(url, host, Layer::Scope, outcome, WAS_QUEUED.to_owned().into());
            }
            work => {
                // A page that is stored stays stored, and counts as visited.
                if self.records().stored(lease.host, fingerprint).is_none() {
                    self.totals.skipped += 1;
                }
                let is_seed = matches!(work, Work::Visit(item) if item.via.is_none());
                let evidence = held.unwrap_or_else(|| if is_seed { A_SEED } else { WAS_QUEUED }.to_owned());
                self.decided(&lease, now, Decided::Skipped, Layer::of_skip(outcome), outcome, evidence);
            }
        }
        let (not_before, wait) = lease.state.standing_wait();
        self.frontier.settle(permit, Settlement::finished(not_before, wait));
        Ok(None)
    }

    /// Why a queued URL isn't requested any more that costs its site much. A page that is stored is visited again, unless it changes something.
    fn skipped_as_costly(&self, lease: &Lease, item: &QueuedUrl, now: Now) -> Option<String> {
        let Cost::Skipped { why, is_effect } = self.cost(&lease.url, item.finding(), None, now) else {
            return None;
        };
        let page = lease.url.fingerprint(&self.key);
        (is_effect || self.records().stored(lease.host, page).is_none()).then_some(why)
    }

    /// Why a queued URL stays outside by the settings in force.
    fn outside(&mut self, url: &CrawlUrl, item: &QueuedUrl) -> Result<Option<LinkOutcome>, CommitError> {
        if !item.is_resource() {
            let outcome = self.bounds.judge(url, item.finding(), "");
            // A page that is visited again is no longer marked as a seed's.
            if matches!(outcome, Some(LinkOutcome::OtherHost | LinkOutcome::OtherPath))
                && let Some(via) = item.via
                && self.is_moved_seed(via.page, url)?
            {
                return Ok(self.bounds.scope.judge_moved_seed(url, item.depth));
            }
            return Ok(outcome);
        }
        if !self.settings.resources {
            return Ok(Some(LinkOutcome::Resource));
        }
        let page = item.via.and_then(|via| self.url_of(via)).and_then(|page| CrawlUrl::parse(&page).ok());
        // Where its page isn't known any more it is judged as one of its own host.
        Ok(self.bounds.judge(url, item.finding(), page.as_ref().unwrap_or(url).host()))
    }

    /// Lets a permit through unless its host is paused, or has to wait longer by the user's own delay.
    fn unless_steered(&mut self, permit: Permit, now: Now) -> Option<Permit> {
        let lease = permit.lease();
        let Some(wait) = self.steers.wait(self.frontier.name(lease.host), lease, now) else {
            return Some(permit);
        };
        let (length, delay) = wait;
        self.put_back(permit, now.mono + length, delay);
        None
    }

    /// Lets a permit through if the wishes of its host's owner let it be asked now.
    fn unless_wished(&mut self, permit: Permit, now: Now) -> Option<Permit> {
        if self.settings.wishes.is_empty() {
            return Some(permit);
        }
        let (id, rested) = (permit.lease().host, permit.lease().rested);
        let wishes = &self.settings.wishes;
        self.frontier.begin_days(id, wishes, now.wall);
        // What a dead owner of the partition had in flight isn't counted yet.
        let HostCounts { requests, bytes, .. } = self.frontier.state(id).counts;
        let counts = (requests.saturating_add(self.takeover.uncounted(now)), bytes);
        let host = self.frontier.name(id);
        if let Some(wait) = wishes.wait(host, self.frontier.days(id), now.wall, counts) {
            let WishedWait { length, why, words } = wait;
            let until = now.wall.saturating_add(jiff::SignedDuration::try_from(length).unwrap_or_default());
            let until = until.map_or_else(|_| String::new(), |until| format!("until {until:.0}: "));
            self.decided(permit.lease(), now, Decided::Paused, Layer::Pace, why, format!("{until}{words}"));
            self.put_back(permit, now.mono + length, Delay { length, why });
            return None;
        }
        let delay = wishes.delay(host, now.wall);
        let remaining = as_the_site_sees(delay.length).saturating_sub(rested.unwrap_or(Duration::MAX));
        if !remaining.is_zero() {
            self.put_back(permit, now.mono + remaining, delay);
            return None;
        }
        Some(permit)
    }

    /// Lets a permit through if its host's group is free, or its address isn't known yet.
    fn turn(&mut self, mut permit: Permit, now: Now) -> Option<(Permit, Use)> {
        match self.gates.turn(&self.frontier, permit.lease(), now) {
            Turn::Alone => {}
            Turn::Now(delay, booking) => {
                permit.book(booking);
                permit.waited_with_others(delay);
                self.note_address(permit.lease());
            }
            Turn::Unknown => return Some((permit, Use::LookUp)),
            Turn::At(at, wait) => {
                self.put_back(permit, at, wait);
                return None;
            }
        }
        Some((permit, Use::Request))
    }

    /// Returns a permit back as if it had never been out: a robots fetch, too, is still to be done.
    fn put_back(&mut self, permit: Permit, not_before: Duration, wait: Delay) {
        let (host, work) = (permit.lease().host, permit.lease().work.clone());
        self.frontier.release(permit, not_before, wait);
        if let Work::RobotsFetch(robots_fetch) = work {
            self.frontier.queue_robots_fetch(host, robots_fetch);
        }
    }
}
