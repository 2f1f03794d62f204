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
use crate::clock::Now;
use crate::commit::CommitError;
use crate::fetch::Fetch;
use crate::frontier::{HostId, Permit};
use crate::live::{Answer, Order, Steered};
use crate::pace::{Delay, DelayReason, as_the_site_sees};
use crate::record::{Decided, Decision, Evidence, Layer};
use crate::store::{Store, Tree};
use crate::units::format_duration;

/// Key in tree `meta`.
pub(crate) const KEY: &[u8] = b"steering";

/// Hosts that may be paused or slowed down one by one.
const HOSTS: usize = 10_000;

/// The longest delay.
const MAX_DELAY: Duration = Duration::from_hours(366 * 24);

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
    pub(super) fn new(now: Steering) -> Self {
        Self { now, orders: None, delay_set: Duration::ZERO }
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
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Takes orders while the crawl runs.
    pub fn take_orders(&mut self, orders: mpsc::UnboundedReceiver<Steer>) {
        self.steers.orders = Some(orders);
    }

    /// The delay that the user asks for between two requests to a host.
    pub(super) fn steered_delay(&self, host: HostId) -> Duration {
        if self.steers.now.changes_nothing() {
            return Duration::ZERO;
        }
        self.steers.now.delay(self.frontier.name(host))
    }

    /// Lets a permit through unless its host is paused, or has to wait longer by the user's own delay.
    pub(super) fn unless_steered(&mut self, permit: Permit, now: Now) -> Option<Permit> {
        if self.steers.now.changes_nothing() {
            return Some(permit);
        }
        let lease = permit.lease();
        let name = self.frontier.name(lease.host);
        if self.steers.now.host(name).paused {
            self.put_back(permit, now.mono + LOOK, Delay { length: LOOK, why: DelayReason::Paused });
            return None;
        }
        let length = self.steers.now.delay(name);
        // Where it isn't known when the host was asked last, that was before the delay was set: settling a visit sees to the others.
        let rested = lease.rested.unwrap_or(now.mono.saturating_sub(self.steers.delay_set));
        let remaining = as_the_site_sees(length).saturating_sub(rested);
        if remaining.is_zero() || lease.rested.is_none() && lease.state.counts.requests == 0 {
            return Some(permit);
        }
        self.put_back(permit, now.mono + remaining, Delay { length, why: DelayReason::Operator });
        None
    }

    /// Carries out an order, and answers it.
    pub(super) fn steer(&mut self, (order, user, reply): Steer) -> Result<(), CommitError> {
        let answer = match order {
            Order::Steer { host, change } => match self.check(host.as_deref(), change)? {
                Some(refused) => Answer::Refused(refused),
                None => self.carry_out_order(host.as_deref(), change, user)?,
            },
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

    /// Why an order isn't carried out.
    fn check(&mut self, host: Option<&str>, change: Steered) -> Result<Option<String>, CommitError> {
        let shown = format_duration;
        if let Some(name) = host {
            let Some(id) = self.frontier.find(name) else {
                return Ok(Some(format!("the crawl has no host {name}; `crawl show DIR hosts` lists them")));
            };
            if self.steers.now.hosts.len() >= HOSTS && !self.steers.now.hosts.contains_key(name) {
                return Ok(Some(format!("{HOSTS} hosts are paused or slowed down already")));
            }
            self.frontier.load(id)?;
            let gap = self.frontier.gap(id);
            let is_asked =
                matches!(gap.why, DelayReason::CrawlDelay | DelayReason::RequestRate | DelayReason::BackOff);
            if let Steered::Delay(length) = change
                && is_asked
                && length < gap.length
            {
                let least = shown(gap.length);
                return Ok(Some(format!(
                    "{name} is asked every {least} ({}): a delay may only be longer",
                    gap.why
                )));
            }
        }
        Ok(match change {
            Steered::Delay(length) if length < self.settings.pace.delay => {
                let least = shown(self.settings.pace.delay);
                Some(format!("the crawl's delay is {least}: a delay may only be longer"))
            }
            Steered::Delay(length) if length > MAX_DELAY => {
                Some(format!("a delay of more than {} isn't possible", shown(MAX_DELAY)))
            }
            _ => None,
        })
    }

    fn carry_out_order(
        &mut self,
        host: Option<&str>,
        change: Steered,
        user: u32,
    ) -> Result<Answer, CommitError> {
        let now = self.clock.now().mono;
        let steering = &mut self.steers.now;
        let mut whole = HostSteering { paused: steering.paused, delay_ms: steering.delay_ms };
        let target = match host {
            Some(name) => steering.hosts.entry(name.to_owned()).or_default(),
            None => &mut whole,
        };
        let whom = host.unwrap_or("every host");
        let (decision, words) = match change {
            Steered::Pause => {
                target.paused = true;
                (Decided::OperatorPaused, format!("{whom} is paused"))
            }
            Steered::Continue => {
                target.paused = false;
                (Decided::OperatorContinued, format!("{whom} is no longer paused"))
            }
            Steered::Delay(length) => {
                target.delay_ms = u64::try_from(length.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
                self.steers.delay_set = now;
                (Decided::DelaySet, format!("the delay of {whom} is at least {}", format_duration(length)))
            }
        };
        (steering.paused, steering.delay_ms) = (whole.paused, whole.delay_ms);
        steering.hosts.retain(|_, host| *host != HostSteering::default());
        let value = serde_json::to_vec(&*steering)?;
        self.frontier.put(Tree::Meta, KEY.to_vec(), value);
        let evidence = match change {
            Steered::Delay(length) => Evidence::from(Delay { length, why: DelayReason::Operator }),
            _ => Evidence::default(),
        };
        self.enter_order_with(decision, Layer::Pace, host.unwrap_or_default(), evidence, &words, user);
        self.flush_soon();
        Ok(Answer::Done(words))
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
