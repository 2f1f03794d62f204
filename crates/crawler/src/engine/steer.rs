//! What the user changes while the crawl runs: pauses, and longer delays. Kept in the database, so that a resumed crawl keeps
//! them; and entered in the ledger with the user's id.
//!
//! Nothing here makes the crawl less polite: a delay is added to what the settings and the site ask for, and a host that was
//! paused has waited for its gap before it is asked again.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use super::Engine;
use crate::commit::CommitError;
use crate::fetch::Fetch;
use crate::frontier::Lease;
use crate::live::{Answer, Order, Steered};
use crate::pace::{Delay, DelayReason, as_the_site_sees};
use crate::post::SteerOrder;
use crate::record::{Decided, Decision, Evidence, Layer};
use crate::store::{Store, Tree};
use crate::wishes::{MOST, STEERING, Wish, WishSettings, Wishes};
use page::clean::clean;
use page::clock::Now;
use page::units::format_duration;

/// Key in tree `meta`.
pub(crate) const KEY: &[u8] = STEERING;

/// Hosts that may be paused or slowed down one by one.
const HOSTS: usize = 10_000;

/// The longest delay.
pub(crate) const MAX_DELAY: Duration = Duration::from_hours(366 * 24);

/// How often a paused host is looked at again.
const LOOK: Duration = Duration::from_secs(1);

/// An order, the user who gave it, and where the answer goes.
pub type Steer = (Order, u32, oneshot::Sender<Answer>);

/// What the user changed; JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Steering {
    /// No host is asked.
    pub paused: bool,
    /// The delay for every host, in milliseconds.
    pub delay_ms: u64,
    /// What holds for single hosts.
    pub hosts: BTreeMap<String, HostSteering>,
    /// What owners of hosts asked for while the crawl ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wishes: Vec<WishSettings>,
}

/// What the user changed for one host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSteering {
    /// The host isn't asked.
    pub paused: bool,
    /// Its delay, in milliseconds.
    pub delay_ms: u64,
}

impl Steering {
    /// What a crawl's database has; the default where nothing was changed.
    pub fn stored<S: Store>(store: &S) -> Result<Self, CommitError> {
        let value = store.get(Tree::Meta, KEY)?;
        Ok(value.map(|value| serde_json::from_slice(&value)).transpose()?.unwrap_or_default())
    }

    fn host(&self, name: &str) -> HostSteering {
        self.hosts.get(name).copied().unwrap_or_default()
    }

    /// The delay that the user asks for between two requests to a host.
    fn delay(&self, host: &str) -> Duration {
        Duration::from_millis(self.delay_ms.max(self.host(host).delay_ms))
    }

    /// Changes what holds for a host, or for every host.
    pub(crate) fn change(&mut self, host: Option<&str>, change: Steered) {
        let mut whole = HostSteering { paused: self.paused, delay_ms: self.delay_ms };
        let target = match host {
            Some(name) => self.hosts.entry(name.to_owned()).or_default(),
            None => &mut whole,
        };
        match change {
            Steered::Pause => target.paused = true,
            Steered::Continue => target.paused = false,
            Steered::Delay(length) => {
                target.delay_ms = u64::try_from(length.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
            }
        }
        (self.paused, self.delay_ms) = (whole.paused, whole.delay_ms);
        self.hosts.retain(|_, host| *host != HostSteering::default());
    }

    /// Has a wish hold in place of the one for the same hosts; one that asks for nothing ends that.
    fn wish(&mut self, wish: WishSettings) {
        self.wishes.retain(|other| other.hosts != wish.hosts);
        if !wish.asks_for_nothing() {
            self.wishes.push(wish);
        }
    }

    /// Adds what holds in another part of the crawl.
    #[cfg(feature = "cluster")]
    pub(crate) fn add(&mut self, other: Self) {
        self.paused |= other.paused;
        self.delay_ms = self.delay_ms.max(other.delay_ms);
        self.hosts.extend(other.hosts);
        for wish in other.wishes {
            self.wish(wish);
        }
    }

    /// What of it holds where there are only these hosts.
    #[cfg(feature = "cluster")]
    pub(crate) fn of_hosts(&self, is_there: impl Fn(&str) -> bool) -> Self {
        let there = self.hosts.iter().filter(|(name, _)| is_there(name));
        let hosts = there.map(|(name, host)| (name.clone(), *host)).collect();
        Self { paused: self.paused, delay_ms: self.delay_ms, hosts, wishes: self.wishes.clone() }
    }

    fn changes_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The orders that a run takes, and what they changed so far.
#[derive(Debug, Default)]
pub(super) struct Steers {
    pub(super) now: Steering,
    orders: Option<mpsc::UnboundedReceiver<Steer>>,
    /// When a delay was set last, on the run's clock.
    delay_set: Duration,
}

impl Steers {
    /// `now`: what was steered before. `orders`: what is ordered while the crawl runs.
    pub(super) fn new(now: Steering, orders: Option<mpsc::UnboundedReceiver<Steer>>) -> Self {
        Self { now, orders, delay_set: Duration::ZERO }
    }

    /// An order that is there already.
    pub(super) fn waiting(&mut self) -> Option<Steer> {
        self.orders.as_mut()?.try_recv().ok()
    }

    /// The next order; never, where none are taken.
    pub(super) async fn next(&mut self) -> Steer {
        if let Some(orders) = &mut self.orders {
            if let Some(order) = orders.recv().await {
                return order;
            }
            self.orders = None;
        }
        std::future::pending().await
    }

    /// The delay that the user asks for between two requests to a host.
    pub(super) fn delay(&self, host: &str) -> Duration {
        if self.now.changes_nothing() { Duration::ZERO } else { self.now.delay(host) }
    }

    /// How long a host that was leased has to wait by the user's orders, and the delay that says so; none where it may be asked.
    pub(super) fn wait(&self, host: &str, lease: &Lease, now: Now) -> Option<(Duration, Delay)> {
        if self.now.changes_nothing() {
            return None;
        }
        if self.now.host(host).paused {
            return Some((LOOK, Delay { length: LOOK, why: DelayReason::Paused }));
        }
        let length = self.now.delay(host);
        // Where it isn't known when the host was asked last, that was before the delay was set: settling a visit sees to the others.
        let rested = lease.rested.unwrap_or(now.mono.saturating_sub(self.delay_set));
        let remaining = as_the_site_sees(length).saturating_sub(rested);
        if remaining.is_zero() || lease.rested.is_none() && lease.state.counts.requests == 0 {
            return None;
        }
        Some((remaining, Delay { length, why: DelayReason::Operator }))
    }

    /// Why a change isn't carried out. `host`: its name, and the gap that it has now; `least`: the crawl's delay.
    fn refusal(&self, host: Option<(&str, Delay)>, change: Steered, least: Duration) -> Option<String> {
        if let Some((name, gap)) = host {
            if self.now.hosts.len() >= HOSTS && !self.now.hosts.contains_key(name) {
                return Some(format!("{HOSTS} hosts are paused or slowed down already"));
            }
            let is_asked =
                matches!(gap.why, DelayReason::CrawlDelay | DelayReason::RequestRate | DelayReason::BackOff);
            if let Steered::Delay(length) = change
                && is_asked
                && length < gap.length
            {
                let least = format_duration(gap.length);
                return Some(format!(
                    "{name} is asked every {least} ({}): a delay may only be longer",
                    gap.why
                ));
            }
        }
        match change {
            Steered::Delay(length) if length < least => {
                let least = format_duration(least);
                Some(format!("the crawl's delay is {least}: a delay may only be longer"))
            }
            Steered::Delay(length) if length > MAX_DELAY => {
                Some(format!("a delay of more than {} isn't possible", format_duration(MAX_DELAY)))
            }
            _ => None,
        }
    }

    /// Has orders hold that were given while nobody ran the crawl. They are put on record when their letters are read.
    pub(super) fn accept(&mut self, orders: Vec<SteerOrder>, now: Duration) {
        for SteerOrder { host, change, .. } in orders {
            self.change(host.as_deref(), change, now);
        }
    }

    /// Changes what holds for a host, or for every host. Returns the entry's decision, and what was done in words.
    fn change(&mut self, host: Option<&str>, change: Steered, now: Duration) -> (Decided, String) {
        self.now.change(host, change);
        let decision = match change {
            Steered::Pause => Decided::OperatorPaused,
            Steered::Continue => Decided::OperatorContinued,
            Steered::Delay(_) => {
                self.delay_set = now;
                Decided::DelaySet
            }
        };
        (decision, change.in_words(host))
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Carries out an order, and answers it.
    pub(super) fn steer(&mut self, (order, user, reply): Steer) -> Result<(), CommitError> {
        let answer = match order {
            Order::Steer { host, change } => match self.check(host.as_deref(), change)? {
                Some(refused) => Answer::Refused(refused),
                None => Answer::Done(self.carry_out_order(host.as_deref(), change, Some(user))?),
            },
            Order::Wish(wish) => self.set_wish(&wish, user)?,
            Order::Stop { now } => {
                let how = if now { "at once" } else { "after the requests in flight" };
                self.enter_order(Decided::StopAsked, Layer::Stop, "", how, user);
                Answer::Done(format!("stopping {how}"))
            }
            Order::Status => Answer::Refused("the crawl describes itself elsewhere".to_owned()),
        };
        // Whoever asked may be gone.
        drop(reply.send(answer));
        Ok(())
    }

    /// Has a wish hold from now on, and in later runs.
    fn set_wish(&mut self, text: &str, user: u32) -> Result<Answer, CommitError> {
        let refused = |why: String| Ok(Answer::Refused(why));
        let wish: WishSettings = match serde_json::from_str(text) {
            Ok(wish) => wish,
            Err(error) => return refused(error.to_string()),
        };
        let known = self.steers.now.wishes.iter().any(|other| other.hosts == wish.hosts);
        let hosts = clean(&wish.hosts.join(", ")).into_owned();
        let words = if wish.asks_for_nothing() {
            if !known {
                return refused(format!("no wish was set for {hosts}"));
            }
            format!("the wish that was set for {hosts} is over")
        } else {
            if !known && self.steers.now.wishes.len() >= MOST {
                return refused(format!("{MOST} wishes are set already"));
            }
            match Wishes::read(std::slice::from_ref(&wish), self.settings.wishes.zone()) {
                Ok(read) => {
                    let words: Vec<String> = read.iter().map(Wish::in_words).collect();
                    format!("{hosts}: {}", words.join("; "))
                }
                Err(error) => return refused(error.to_string()),
            }
        };
        let host = Some(&wish.hosts).and_then(|hosts| hosts.first()).filter(|_| wish.hosts.len() == 1);
        let host = host.cloned().unwrap_or_default();
        self.steers.now.wish(wish);
        self.settings.wishes = std::mem::take(&mut self.settings.wishes).with_set(&self.steers.now.wishes);
        let value = serde_json::to_vec(&self.steers.now)?;
        self.frontier.put(Tree::Meta, KEY.to_vec(), value);
        self.enter_order_with(Decided::WishSet, Layer::Pace, &host, Evidence::default(), text, user);
        self.flush_soon();
        Ok(Answer::Done(words))
    }

    /// Carries out an order that came as a letter. Who gave it doesn't wait for an answer, and the host may not be known yet: what can't be carried
    /// out is reported in the log.
    pub(super) fn steer_from_outside(&mut self, order: &SteerOrder) -> Result<(), CommitError> {
        let host = order.host.as_deref();
        let named = host.map(|name| (name, Delay { length: Duration::ZERO, why: DelayReason::Configured }));
        if let Some(why) = self.steers.refusal(named, order.change, self.settings.pace.delay) {
            tracing::warn!("an order can't be carried out: {why}");
            return Ok(());
        }
        // One entry is enough for what holds in all partitions.
        let is_recorded = host.is_some() || self.post.as_ref().is_none_or(|post| post.part() == 0);
        self.carry_out_order(host, order.change, is_recorded.then_some(order.user))?;
        Ok(())
    }

    /// Why an order isn't carried out.
    fn check(&mut self, host: Option<&str>, change: Steered) -> Result<Option<String>, CommitError> {
        let host = match host {
            Some(name) => {
                let Some(id) = self.frontier.find(name) else {
                    let words = format!("the crawl has no host {name}; `crawl show DIR hosts` lists them");
                    return Ok(Some(words));
                };
                self.frontier.load(id)?;
                Some((name, self.frontier.gap(id)))
            }
            None => None,
        };
        Ok(self.steers.refusal(host, change, self.settings.pace.delay))
    }

    /// Returns what was done, in words. `user` is who the ledger says gave the order; none where it doesn't say so here.
    fn carry_out_order(
        &mut self,
        host: Option<&str>,
        change: Steered,
        user: Option<u32>,
    ) -> Result<String, CommitError> {
        let (decision, words) = self.steers.change(host, change, self.clock.now().mono);
        let value = serde_json::to_vec(&self.steers.now)?;
        self.frontier.put(Tree::Meta, KEY.to_vec(), value);
        let evidence = match change {
            Steered::Delay(length) => Evidence::from(Delay { length, why: DelayReason::Operator }),
            _ => Evidence::default(),
        };
        if let Some(user) = user {
            self.enter_order_with(decision, Layer::Pace, host.unwrap_or_default(), evidence, &words, user);
        }
        self.touch(64);
        self.flush_soon();
        Ok(words)
    }

    fn enter_order(&mut self, decision: Decided, layer: Layer, host: &str, words: &str, user: u32) {
        self.enter_order_with(decision, layer, host, Evidence::default(), words, user);
        self.flush_soon();
    }

    fn enter_order_with(
        &mut self,
        decision: Decided,
        layer: Layer,
        host: &str,
        evidence: Evidence,
        words: &str,
        user: u32,
    ) {
        let now = self.clock.now();
        self.touch(64);
        self.decide(Decision {
            at: now.wall,
            url: host.to_owned(),
            host: host.to_owned(),
            decision,
            layer,
            reason: DelayReason::Operator.into(),
            evidence: evidence.with_words(format!("{words}; by user {user}")).with_clock(now.mono),
            via: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::Permit;

    const CRAWLS_DELAY: Duration = Duration::from_secs(2);

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    /// What remains of a delay of so many seconds after some of them.
    fn still(delay: u64, rested: u64) -> Duration {
        as_the_site_sees(secs(delay)).saturating_sub(secs(rested))
    }

    #[test]
    fn a_delay_is_never_shorter_than_what_the_crawl_or_the_site_asks_for() {
        let steers = Steers::default();
        let gap = |length, why| Some(("a.test", Delay { length: secs(length), why }));
        for (host, change, refused) in [
            (None, Steered::Delay(secs(1)), Some("the crawl's delay is 2s")),
            (None, Steered::Delay(secs(2)), None),
            (None, Steered::Delay(MAX_DELAY), None),
            (None, Steered::Delay(MAX_DELAY + secs(1)), Some("isn't possible")),
            (None, Steered::Pause, None),
            (gap(9, DelayReason::Adaptive), Steered::Delay(secs(3)), None),
            (gap(9, DelayReason::CrawlDelay), Steered::Delay(secs(8)), Some("a.test is asked every 9s")),
            (gap(9, DelayReason::RequestRate), Steered::Delay(secs(8)), Some("a.test is asked every 9s")),
            (gap(9, DelayReason::BackOff), Steered::Delay(secs(8)), Some("a.test is asked every 9s")),
            (gap(9, DelayReason::CrawlDelay), Steered::Delay(secs(9)), None),
            (gap(9, DelayReason::CrawlDelay), Steered::Pause, None),
            (gap(9, DelayReason::CrawlDelay), Steered::Continue, None),
        ] {
            let answer = steers.refusal(host, change, CRAWLS_DELAY);
            match refused {
                Some(words) => {
                    assert!(answer.as_ref().is_some_and(|why| why.contains(words)), "{change:?}: {answer:?}");
                }
                None => assert_eq!(answer, None, "{host:?} {change:?}"),
            }
        }
        let mut full = Steers::default();
        for n in 0..HOSTS {
            full.now.hosts.insert(format!("h{n}.test"), HostSteering { paused: true, delay_ms: 0 });
        }
        let known = Some(("h7.test", Delay { length: secs(2), why: DelayReason::Configured }));
        assert_eq!(full.refusal(known, Steered::Pause, CRAWLS_DELAY), None);
        assert!(
            full.refusal(gap(2, DelayReason::Configured), Steered::Pause, CRAWLS_DELAY).is_some(),
            "one more"
        );
    }

    #[test]
    fn what_a_user_changed_holds_until_it_is_changed_back() {
        let mut steers = Steers::default();
        let permit = Permit::of_a_test();
        let mut lease = permit.lease().clone();
        lease.rested = Some(secs(1));
        let now = Now { mono: secs(100), wall: jiff::Timestamp::UNIX_EPOCH };
        assert_eq!(steers.wait("a.test", &lease, now), None);
        // Whom, what, and how long a host that rested for a second waits then.
        for (whom, change, wait) in [
            (Some("a.test"), Steered::Pause, Some((LOOK, DelayReason::Paused))),
            (Some("a.test"), Steered::Continue, None),
            (Some("b.test"), Steered::Pause, None),
            (None, Steered::Delay(secs(5)), Some((still(5, 1), DelayReason::Operator))),
            (Some("a.test"), Steered::Delay(secs(9)), Some((still(9, 1), DelayReason::Operator))),
            (Some("a.test"), Steered::Delay(secs(0)), Some((still(5, 1), DelayReason::Operator))),
            (None, Steered::Delay(secs(0)), None),
        ] {
            steers.change(whom, change, now.mono);
            let waits = steers.wait("a.test", &lease, now).map(|(length, delay)| (length, delay.why));
            assert_eq!(waits, wait, "{whom:?} {change:?}");
        }
        assert_eq!(steers.now.hosts.len(), 1, "b.test is paused, nothing else is remembered");
        let order = |change| SteerOrder { host: Some("a.test".to_owned()), change, user: 7 };
        steers.accept(vec![order(Steered::Continue), order(Steered::Pause)], now.mono);
        assert!(steers.wait("a.test", &lease, now).is_some(), "the last order holds");
        steers.accept(vec![order(Steered::Continue)], now.mono);
        steers.change(None, Steered::Delay(secs(5)), secs(98));
        lease.rested = None;
        assert_eq!(steers.wait("a.test", &lease, now), None, "it was never asked");
        lease.state.counts.requests = 1;
        let waits = steers.wait("a.test", &lease, now).map(|(length, _)| length);
        assert_eq!(waits, Some(still(5, 2)), "since the delay was set");
    }
}
