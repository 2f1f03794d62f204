//! The memory budget of bodies: what all responses together may occupy, whatever servers send.
//!
//! Every response has a small budget of its own, so that small ones always get through. Beyond that it takes part of a
//! pool, and beyond a megabyte of a second one, each at once and for the whole of what it may come to need there: nobody
//! who waits for a pool holds part of it, so that none can wait for one another. The big ones take turns. A body that arrives slowly
//! while others wait for the part of a pool that it holds is given up: a server that sends a byte now and then holds up itself alone.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::deadline::MemoryWait;
use page::clock::instant;

/// What every response has to itself, as sent and as decoded each.
pub(super) const OWN: u64 = 64 << 10;
/// What a response may have of the first pool, as sent and as decoded each.
pub(super) const MIDDLE: u64 = 1 << 20;
/// The first pool.
const MIDDLE_POOL: u64 = 24 << 20;
/// The second pool. A response that may need more than all of it takes all of it.
const LARGE_POOL: u64 = 32 << 20;
/// The unit of the pools.
const UNIT: u64 = 1 << 10;
/// How long a body may hold a part of a pool while others wait for it, whatever arrives.
const UNDISTURBED: Duration = Duration::from_secs(5);
/// Bytes a second that have to arrive after that.
pub(super) const LEAST_RATE: u64 = 64 << 10;

/// The pools.
#[derive(Debug)]
pub(super) struct BodyBudget {
    middle: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// Claims that wait for the first pool, and for the second.
    waiting: [AtomicUsize; 2],
}

/// Counts a claim that waits, until this is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for BodyBudget {
    fn default() -> Self {
        let pool = |bytes: u64| Arc::new(Semaphore::new((bytes / UNIT) as usize));
        Self { middle: pool(MIDDLE_POOL), large: pool(LARGE_POOL), waiting: Default::default() }
    }
}

/// How much of a pool is held, until the last copy of this is gone.
#[derive(Clone, Default)]
pub struct BodyPermit(#[expect(dead_code, reason = "held, not read")] Option<Arc<OwnedSemaphorePermit>>);

impl fmt::Debug for BodyPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BodyPermit")
    }
}

/// The budget of one response while it is read.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    budget: &'a BodyBudget,
    /// The most bytes of the body as sent.
    wire: u64,
    /// The most bytes of each body.
    limit: u64,
    /// How many bodies there are besides the one as sent: a coding makes another, and two of them are there at once.
    copies: u64,
    tier: Tier,
    held: Option<OwnedSemaphorePermit>,
    /// Since when, and how many bytes had arrived then.
    since: Option<(Instant, u64)>,
    /// Bytes of the body as sent, up to now.
    arrived: u64,
    /// Where the time of waiting is noted.
    wait: MemoryWait,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Own,
    Middle,
    Large,
}

/// Whether a body that has been under way since then, for at least five seconds, arrives slowly: `arrived` bytes came of it.
pub(super) fn is_slow(since: Instant, arrived: u64) -> bool {
    let held = instant().saturating_duration_since(since);
    held >= UNDISTURBED && arrived < held.as_secs().saturating_mul(LEAST_RATE)
}

impl<'a> Claim<'a> {
    /// A claim of nothing yet. `announced` is Content-Length, `limit` the largest body, as sent and as decoded.
    pub(super) fn new(budget: &'a BodyBudget, announced: Option<u64>, limit: u64, codings: usize) -> Self {
        let wire = announced.unwrap_or(limit).min(limit);
        let (copies, wait) = (codings.min(2) as u64, MemoryWait::default());
        let tier = Tier::Own;
        Self { budget, wire, limit, copies, tier, held: None, since: None, arrived: 0, wait }
    }

    /// Records in `wait` how long the claim waits.
    pub(super) fn noting(self, wait: &MemoryWait) -> Self {
        Self { wait: wait.clone(), ..self }
    }

    /// Reserves `bytes` of the body as sent, and waits for them.
    pub(super) async fn wire(&mut self, bytes: u64) {
        self.arrived = bytes;
        if bytes > MIDDLE {
            self.rise_to(Tier::Large, self.wire + self.copies * self.limit).await;
        } else if bytes > OWN {
            self.rise_to(Tier::Middle, self.wire.min(MIDDLE) + self.copies * MIDDLE).await;
        }
    }

    /// Reserves more of the decoded body than [`Claim::decoded_now`], and waits for it. `wire` bytes were sent.
    pub(super) async fn decoded(&mut self, wire: u64) {
        if self.tier < Tier::Middle {
            self.rise_to(Tier::Middle, wire + self.copies * MIDDLE).await;
        } else {
            self.rise_to(Tier::Large, wire + self.copies * self.limit).await;
        }
    }

    /// How many bytes of the decoded body there may be now.
    pub(super) fn decoded_now(&self) -> u64 {
        match self.tier {
            Tier::Own => OWN.min(self.limit),
            Tier::Middle => MIDDLE.min(self.limit),
            Tier::Large => self.limit,
        }
    }

    /// Whether it holds a part of a pool.
    pub(super) fn holds_pool(&self) -> bool {
        self.since.is_some()
    }

    /// Whether others wait for the part of a pool that it holds, while its body arrives slowly.
    pub(super) fn holds_up_others(&self) -> bool {
        let Some((since, before)) = self.since else { return false };
        let waiting = &self.budget.waiting[usize::from(self.tier == Tier::Large)];
        waiting.load(Ordering::Relaxed) > 0 && is_slow(since, self.arrived.saturating_sub(before))
    }

    async fn rise_to(&mut self, tier: Tier, bytes: u64) {
        if tier <= self.tier {
            return;
        }
        let (pool, size, waiting) = match tier {
            Tier::Large => (&self.budget.large, LARGE_POOL, &self.budget.waiting[1]),
            _ => (&self.budget.middle, MIDDLE_POOL, &self.budget.waiting[0]),
        };
        let units = bytes.min(size).div_ceil(UNIT);
        let _waiting = self.wait.begin();
        let _counted = Counted::new(waiting);
        // The pools are never closed.
        if let Ok(permit) = Arc::clone(pool).acquire_many_owned(units as u32).await {
            // What was held of the first pool is part of what is held of the second.
            self.held = Some(permit);
            self.since = Some((instant(), self.arrived));
        }
        self.tier = tier;
    }

    /// Ends the claim: what isn't needed for `bytes` is given back.
    pub(super) fn keep(mut self, bytes: u64) -> BodyPermit {
        let Some(mut held) = self.held.take().filter(|_| bytes > OWN) else { return BodyPermit::default() };
        let units = bytes.div_ceil(UNIT) as usize;
        match held.split(units) {
            Some(needed) => BodyPermit(Some(Arc::new(needed))),
            // It was more than the whole pool.
            None => BodyPermit(Some(Arc::new(held))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 10 << 20;

    fn free(budget: &BodyBudget) -> (u64, u64) {
        (budget.middle.available_permits() as u64 * UNIT, budget.large.available_permits() as u64 * UNIT)
    }

    #[tokio::test]
    async fn a_small_body_needs_no_pool_and_a_large_one_moves_from_the_first_to_the_second() {
        let budget = BodyBudget::default();
        let mut claim = Claim::new(&budget, None, LIMIT, 0);
        claim.wire(OWN).await;
        assert_eq!(free(&budget), (MIDDLE_POOL, LARGE_POOL));
        claim.wire(OWN + 1).await;
        assert_eq!(free(&budget), (MIDDLE_POOL - MIDDLE, LARGE_POOL));
        claim.wire(MIDDLE + 1).await;
        assert_eq!(free(&budget), (MIDDLE_POOL, LARGE_POOL - LIMIT));
        let permit = claim.keep(3 << 20);
        assert_eq!(free(&budget), (MIDDLE_POOL, LARGE_POOL - (3 << 20)));
        drop(permit);
        assert_eq!(free(&budget), (MIDDLE_POOL, LARGE_POOL));
    }

    #[tokio::test]
    async fn a_body_that_expands_has_memory_for_both_forms() {
        let budget = BodyBudget::default();
        let mut bomb = Claim::new(&budget, Some(10_000), LIMIT, 1);
        bomb.wire(10_000).await;
        assert_eq!(bomb.decoded_now(), OWN);
        bomb.decoded(10_000).await;
        assert_eq!(bomb.decoded_now(), MIDDLE);
        assert_eq!(free(&budget), (MIDDLE_POOL - MIDDLE - 10 * UNIT, LARGE_POOL));
        bomb.decoded(10_000).await;
        assert_eq!(bomb.decoded_now(), LIMIT);
        assert_eq!(free(&budget), (MIDDLE_POOL, LARGE_POOL - LIMIT - 10 * UNIT));
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_take_turns_and_small_ones_pass() {
        let budget = BodyBudget::default();
        let mut held = Vec::new();
        for _ in 0..3 {
            let mut claim = Claim::new(&budget, None, LIMIT, 0);
            claim.wire(MIDDLE + 1).await;
            held.push(claim);
        }
        let mut fourth = Claim::new(&budget, None, LIMIT, 0);
        let soon = std::time::Duration::from_secs(9);
        assert!(tokio::time::timeout(soon, fourth.wire(MIDDLE + 1)).await.is_err(), "there is no memory");
        let mut middle = Claim::new(&budget, None, LIMIT, 0);
        assert!(tokio::time::timeout(soon, middle.wire(MIDDLE)).await.is_ok(), "a middling one passes");
        held.pop();
        assert!(tokio::time::timeout(soon, fourth.wire(MIDDLE + 1)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_arrives_slowly_is_in_the_way_once_others_wait() {
        let budget = BodyBudget::default();
        let soon = Duration::from_millis(1);
        let pass = async |seconds: u64| tokio::time::advance(Duration::from_secs(seconds)).await;
        let mut slow = Claim::new(&budget, None, 1 << 40, 0);
        assert!(!slow.holds_pool());
        slow.wire(MIDDLE + 1).await;
        assert!(slow.holds_pool());
        pass(60).await;
        assert!(!slow.holds_up_others(), "nobody waits");
        let mut other = Claim::new(&budget, None, LIMIT, 0);
        {
            let mut waits = std::pin::pin!(other.wire(MIDDLE + 1));
            assert!(tokio::time::timeout(soon, waits.as_mut()).await.is_err());
            assert!(slow.holds_up_others());
            slow.wire(MIDDLE + 1 + 61 * LEAST_RATE).await;
            assert!(!slow.holds_up_others(), "enough arrived");
            pass(2).await;
            assert!(slow.holds_up_others());
        }
        assert!(!slow.holds_up_others(), "the other one was given up");
        drop(slow);
        let mut fresh = Claim::new(&budget, None, 1 << 40, 0);
        fresh.wire(MIDDLE + 1).await;
        let mut waits = std::pin::pin!(other.wire(MIDDLE + 1));
        assert!(tokio::time::timeout(soon, waits.as_mut()).await.is_err());
        pass(4).await;
        assert!(!fresh.holds_up_others(), "it has its turn");
        pass(1).await;
        assert!(fresh.holds_up_others());
    }

    #[tokio::test]
    async fn a_limit_over_the_pool_takes_all_of_it() {
        let budget = BodyBudget::default();
        let mut claim = Claim::new(&budget, None, 1 << 40, 1);
        claim.wire(OWN + 1).await;
        claim.wire(MIDDLE + 1).await;
        assert_eq!(claim.decoded_now(), 1 << 40);
        assert_eq!(free(&budget), (MIDDLE_POOL, 0));
        let permit = claim.keep(LARGE_POOL + 1);
        assert_eq!(free(&budget).1, 0);
        drop(permit);
        assert_eq!(free(&budget).1, LARGE_POOL);
    }
}
