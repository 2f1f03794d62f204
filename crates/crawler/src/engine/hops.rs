//! Redirects of robots.txt files from one partition of a cluster's crawl to another.
//!
//! A hop is a request to its target's host, so the owner of that host makes it, as it makes those for its own hosts: under its lease, after
//! the host's gap, by the target's own robots.txt where that has to judge it. Whoever has the site asks for it by letter, again every
//! 15 seconds, since a new owner of the other partition knows nothing of it, and continues with what comes back. What comes twice does
//! nothing the second time. Without an answer in time the robots.txt counts as unreachable, and is asked for again as any such one.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use lru::LruCache;

use super::Engine;
use super::settlement::{about_url, whose};
use crate::commit::CommitError;
use crate::fetch::Fetch;
use crate::frontier::{Permit, RobotsFetch, Work};
use crate::post::{HopAnswer, HopRequest, Letter};
use crate::record::{Decided, Evidence, Layer, PlainReason};
use crate::robots_cache::RobotsStep;
use crate::store::Store;
use crate::visit::asked_gap;
use page::clean::clean_to;
use page::clock::Now;
use page::ids::HopId;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_hours(1);

/// How often one is asked for.
const AGAIN: Duration = Duration::from_secs(15);

/// A hop that nobody has asked for again for so long isn't wanted any more: it was taken back, or counts as unreachable by now.
const FORGOTTEN: Duration = Duration::from_mins(1);

/// Hops that other partitions are asked for at a time, in all and of one host. The others wait their turn.
const OPEN: usize = 128;
const OPEN_PER_HOST: usize = 4;

/// Answered hops of others that are remembered, so that a letter which comes again makes no second request.
const ANSWERED: usize = 4_096;

/// A hop that another partition is to make.
#[derive(Debug)]
struct Open {
    robots_fetch: RobotsFetch,
    to: u32,
    since: Duration,
    /// When it was asked for last; none while it waits its turn.
    asked: Option<Duration>,
}

/// Hops between this partition and the others.
#[derive(Debug)]
pub(super) struct Hops {
    open: HashMap<HopId, Open>,
    /// Those that wait their turn.
    waiting: VecDeque<HopId>,
    /// How many are asked for, by host.
    of_host: HashMap<Box<str>, usize>,
    /// Those that others wait for, and when they asked last.
    for_others: HashMap<HopId, Duration>,
    answered: LruCache<HopId, ()>,
}

impl Default for Hops {
    fn default() -> Self {
        let (open, waiting, of_host, for_others) = Default::default();
        Self { open, waiting, of_host, for_others, answered: LruCache::unbounded() }
    }
}

impl Hops {
    /// Whether an answer is waited for.
    pub(super) fn waits(&self) -> bool {
        !self.open.is_empty()
    }

    /// Remembers an answered hop; the one that was used longest ago goes. Space is taken as they come: a worker may have thousands of partitions.
    fn remember_answered(&mut self, id: HopId) {
        self.answered.put(id, ());
        if self.answered.len() > ANSWERED {
            self.answered.pop_lru();
        }
    }

    /// Takes a place for one more of this host, if there is one.
    fn begin(&mut self, host: &str) -> bool {
        let in_all: usize = self.of_host.values().sum();
        let of_host = self.of_host.get(host).copied().unwrap_or_default();
        let has_room = in_all < OPEN && of_host < OPEN_PER_HOST;
        if has_room {
            self.of_host.insert(host.into(), of_host + 1);
        }
        has_room
    }

    /// Takes one out, and gives its place back.
    fn close(&mut self, id: HopId) -> Option<Open> {
        let open = self.open.remove(&id)?;
        let host = open.robots_fetch.url.host();
        if open.asked.is_none() {
            self.waiting.retain(|other| *other != id);
        } else if let Some(of_host) = self.of_host.get_mut(host) {
            *of_host -= 1;
            if *of_host == 0 {
                self.of_host.remove(host);
            }
        }
        Some(open)
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// A robots.txt redirects. The next hop is a request to its own host, with that host's pace.
    pub(super) fn robots_elsewhere(&mut self, robots_fetch: RobotsFetch) -> Result<(), CommitError> {
        let origin_host = self.frontier.host_id(&robots_fetch.origin.host)?;
        if let Some(to) = self.elsewhere(robots_fetch.url.host())
            && let Some(id) = self.next_hop_id()
        {
            self.frontier.hold_visits(origin_host);
            let now = self.clock.now();
            self.hops.open.insert(id, Open { robots_fetch, to, since: now.mono, asked: None });
            self.hops.waiting.push_back(id);
            self.ask_for_hops(now);
            return Ok(());
        }
        let target = self.frontier.host_id(robots_fetch.url.host())?;
        if target != origin_host {
            self.frontier.hold_visits(origin_host);
        }
        // A robots fetch goes before its host's own visits, after the gap.
        self.frontier.queue_robots_fetch(target, robots_fetch);
        Ok(())
    }

    /// Asks for the hops that wait their turn, as far as there is a place.
    fn ask_for_hops(&mut self, now: Now) {
        for id in std::mem::take(&mut self.hops.waiting) {
            let Some(open) = self.hops.open.get(&id) else { continue };
            let host = open.robots_fetch.url.host().to_owned();
            if self.hops.begin(&host) {
                self.ask_for_hop(id, now);
            } else {
                self.hops.waiting.push_back(id);
            }
        }
    }

    fn ask_for_hop(&mut self, id: HopId, now: Now) {
        let Some(open) = self.hops.open.get_mut(&id) else { return };
        open.asked = Some(now.mono);
        let (to, letter) = (open.to, Letter::Hop(HopRequest::new(id, &open.robots_fetch)));
        self.send_letter(to, letter);
    }

    /// Asks again for what wasn't answered, and waits no longer for what wasn't for too long.
    pub(super) fn retry_hops(&mut self, now: Now) -> Result<(), CommitError> {
        let (mut over, mut again) = (Vec::new(), Vec::new());
        for (id, open) in &self.hops.open {
            if now.mono.saturating_sub(open.since) >= PATIENCE {
                over.push(*id);
            } else if open.asked.is_some_and(|asked| now.mono.saturating_sub(asked) >= AGAIN) {
                again.push(*id);
            }
        }
        for id in again {
            self.ask_for_hop(id, now);
        }
        let is_over = !over.is_empty();
        for id in over {
            if let Some(open) = self.hops.close(id) {
                let minutes = PATIENCE.as_secs() / 60;
                let why = format!("no answer of the partition of its host within {minutes} minutes");
                let reason = format!("redirect to {}: {why}", clean_to(open.robots_fetch.url.as_str(), 300));
                self.hop_refused(&open.robots_fetch, &reason, now)?;
            }
        }
        if is_over {
            self.ask_for_hops(now);
        }
        let most = now.mono.saturating_sub(FORGOTTEN);
        self.hops.for_others.retain(|_, asked| *asked >= most);
        Ok(())
    }

    /// The hop isn't made: the origin counts as unreachable.
    fn hop_refused(&mut self, robots_fetch: &RobotsFetch, reason: &str, now: Now) -> Result<(), CommitError> {
        let entry = self.context.robots.refused(robots_fetch, reason, now)?;
        self.robots_known(&robots_fetch.url, &robots_fetch.origin.host, &entry, None, None)
    }

    /// Another partition asks for a hop to a host of this one.
    pub(super) fn take_hop(&mut self, request: HopRequest, now: Now) -> Result<(), CommitError> {
        let id = request.id;
        if self.hops.answered.contains(&id) {
            return Ok(());
        }
        let is_new = self.hops.for_others.insert(id, now.mono).is_none();
        let robots_fetch = request.robots_fetch().filter(|hop| self.elsewhere(hop.url.host()).is_none());
        let Some(robots_fetch) = robots_fetch else {
            self.send_hop_answer(HopAnswer::refused(
                id,
                now.wall,
                "redirect to no host of the crawl".to_owned(),
            ));
            return Ok(());
        };
        let target = self.frontier.host_id(robots_fetch.url.host())?;
        let pause = self.frontier.pause_of(target, now);
        if pause > self.settings.max_wait {
            // Who asked would wait for it, and with it the end of the crawl.
            let url = clean_to(robots_fetch.url.as_str(), 300);
            let reason = format!("redirect to {url}, whose host pauses for {} s", pause.as_secs());
            self.send_hop_answer(HopAnswer::refused(id, now.wall, reason));
        } else if is_new {
            self.frontier.queue_robots_fetch(target, robots_fetch);
        }
        Ok(())
    }

    /// A permit, unless it is for a hop that nobody waits for any more.
    pub(super) fn unless_given_up(&mut self, permit: Permit, now: Now) -> Option<Permit> {
        let lease = permit.lease();
        let Work::RobotsFetch(RobotsFetch { for_other: Some(id), .. }) = &lease.work else {
            return Some(permit);
        };
        let asked = self.hops.for_others.get(id);
        if asked.is_some_and(|asked| now.mono.saturating_sub(*asked) < FORGOTTEN) {
            return Some(permit);
        }
        let (not_before, wait) = lease.state.standing_wait();
        self.frontier.release(permit, not_before, wait);
        None
    }

    /// Tells another partition what came of a hop that it asked for.
    pub(super) fn send_hop_answer(&mut self, answer: HopAnswer) {
        self.hops.for_others.remove(&answer.id);
        self.hops.remember_answered(answer.id);
        self.touch(answer.bytes());
        self.send_letter(answer.id.part, Letter::HopAnswer(answer));
    }

    /// The answer to a hop came. One that isn't waited for any more says nothing: the answer to a later question comes, or that one is given up.
    pub(super) fn take_hop_answer(&mut self, answer: HopAnswer, now: Now) -> Result<(), CommitError> {
        let Some(Open { robots_fetch, since, .. }) = self.hops.close(answer.id) else { return Ok(()) };
        let age = Duration::try_from(now.wall.duration_since(answer.at())).unwrap_or_default();
        let age = age.min(now.mono.saturating_sub(since));
        let earlier = jiff::SignedDuration::try_from(age).unwrap_or_default();
        let ended = Now {
            mono: now.mono.saturating_sub(age),
            wall: now.wall.saturating_sub(earlier).unwrap_or(now.wall),
        };
        match answer.came.into_answer() {
            Err(reason) => self.hop_refused(&robots_fetch, &reason, ended)?,
            Ok(answer) => match self.context.robots.answered(&robots_fetch, &answer, ended)? {
                RobotsStep::Known(entry) => {
                    let asked = asked_gap(&entry, now);
                    self.robots_known(&robots_fetch.url, &robots_fetch.origin.host, &entry, None, asked)?;
                }
                RobotsStep::Hop(next) => {
                    let words = whose(&next.origin.to_string());
                    let evidence = Evidence { to: Some(next.url.to_string()), ..Evidence::from(words) };
                    let (layer, reason) = (Layer::Robots, PlainReason::RobotsTxt);
                    self.decide(about_url(
                        &robots_fetch.url,
                        ended,
                        Decided::Redirected,
                        layer,
                        reason,
                        evidence,
                    ));
                    self.robots_elsewhere(next)?;
                }
            },
        }
        self.ask_for_hops(now);
        Ok(())
    }
}
