//! The state of the crawl, counted once a second.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{Listener, Steering};
use crate::commit::Totals;
use crate::event::{CrawlEvent, HostWait, Progress, Step};
use crate::frontier::{Frontier, Waiting};
use crate::pace::DelayReason;
use crate::store::Store;
use crate::visit::Event;
use page::clock::Now;

/// Seconds over which the rate is taken.
const WINDOW: usize = 10;

/// Hosts that are named.
const LONGEST: usize = 10;

/// Durable pages at the last ticks.
#[derive(Debug, Default)]
struct Pages(VecDeque<(Duration, u64)>);

impl Pages {
    fn rate(&mut self, now: Duration, pages: u64) -> f64 {
        self.0.push_back((now, pages));
        if self.0.len() > WINDOW {
            self.0.pop_front();
        }
        match (self.0.front(), self.0.back()) {
            (Some((from, first)), Some((to, last))) if to > from => {
                last.saturating_sub(*first) as f64 / to.saturating_sub(*from).as_secs_f64()
            }
            _ => 0.0,
        }
    }
}

/// What the run has done so far.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) begun: u64,
    pub(super) over: u64,
    pub(super) fruitful: u64,
    pub(super) commits: u64,
}

impl Done {
    /// Counts a visit that is over.
    pub(super) fn visit(&mut self, event: &Event) {
        self.over += 1;
        let is_vain = matches!(
            event,
            Event::Wait(..)
                | Event::NeverKnown(..)
                | Event::Local(_)
                | Event::Addresses(_)
                | Event::Unanswered
        );
        self.fruitful += u64::from(!is_vain);
    }
}

/// What is reported of the run while it goes on.
pub(super) struct Reports {
    pub(super) listener: Listener,
    /// For the rate.
    pages: Pages,
    pub(super) done: Done,
}

impl Reports {
    pub(super) fn new(listener: Listener) -> Self {
        Self { listener, pages: Pages::default(), done: Done::default() }
    }

    /// Reports what the loop waits for.
    pub(super) fn step(&mut self, now: Now, until: Duration, is_committing: bool) {
        let Done { begun, over, fruitful, commits } = self.done;
        let until = (until < Duration::MAX).then_some(until);
        (self.listener)(CrawlEvent::Step(Step {
            at: now.mono,
            until,
            begun,
            over,
            fruitful,
            commits,
            is_committing,
        }));
    }

    /// Reports how far the crawl is. `closed`: why hosts that are ready aren't asked; `durable`: what is on record.
    pub(super) fn progress<S: Store>(
        &mut self,
        frontier: &Frontier<S>,
        closed: Option<DelayReason>,
        steering: &Steering,
        durable: Totals,
        now: Now,
    ) {
        let mut waiting = BTreeMap::new();
        let mut slowest = None;
        let mut longest: BTreeMap<(Duration, &str), HostWait> = BTreeMap::new();
        // Skipped hosts keep their URLs, but the crawl doesn't wait for them.
        for host in frontier.waiting(now).filter(|host| host.parked.is_none()) {
            let held = closed.filter(|_| host.remaining.is_zero());
            if let Some(why) = held.or((host.remaining > Duration::ZERO).then_some(host.why)) {
                *waiting.entry(why).or_insert(0) += 1;
            }
            let left = host
                .gap
                .length
                .saturating_mul(u32::try_from(host.queued).unwrap_or(u32::MAX))
                .max(host.remaining);
            if longest.len() < LONGEST || longest.first_key_value().is_some_and(|(least, _)| least.0 < left) {
                let Waiting { queued, remaining, why, .. } = host;
                let wait = HostWait { needs: left, host: host.host.to_owned(), queued, remaining, why };
                longest.insert((left, host.host), wait);
                if longest.len() > LONGEST {
                    longest.pop_first();
                }
            }
            if slowest.as_ref().is_none_or(|(_, _, most, _)| left > *most) {
                slowest = Some((host.host, host.queued, left, host.why));
            }
        }
        for (why, left, is_parked) in frontier.idle_waits(now) {
            if !is_parked && left > Duration::ZERO {
                *waiting.entry(why).or_insert(0) += 1;
            }
        }
        let slowest = slowest.map(|(host, queued, left, why)| (host.to_owned(), queued, left, why));
        let longest = longest.into_values().rev().collect();
        let (paused, hosts_paused) =
            (steering.paused, steering.hosts.values().filter(|host| host.paused).count() as u64);
        let counts = frontier.counts();
        let pages_per_second = self.pages.rate(now.mono, durable.pages);
        (self.listener)(CrawlEvent::Progress(Progress {
            totals: durable,
            queued: counts.queued,
            in_flight: counts.in_flight,
            hosts: counts.hosts,
            waiting: waiting.into_iter().collect(),
            slowest,
            elapsed: now.mono,
            pages_per_second,
            longest,
            paused,
            hosts_paused,
            to_index: None,
        }));
    }
}
