//! The IP addresses that a worker of a crawl on many machines may ask (`--per-ip`). The crawl's database says which worker has an address; the
//! engines of that worker take turns there. A worker has an address until the gap after its last request is over, so what others
//! have to wait for is in nobody's clock but its own.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use page::clock;

/// Who hasn't asked for an address for so long doesn't want it any more.
const WANTED: Duration = Duration::from_secs(2);

/// How long an address that nobody here wants is kept, once its gap is over.
const KEPT: Duration = Duration::from_secs(1);

/// How long a server is thought to work, at most, on a request that nobody waits for any more.
const STILL_AT_WORK: Duration = Duration::from_secs(30);

/// What a worker has of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing: the database is asked for it.
    Wanted,
    /// It may be asked from then on.
    Free(Duration),
    /// An engine asks there; if it makes no request, it may be asked from then on again.
    Busy(Duration),
    /// It is being given back.
    Returning,
}

#[derive(Debug)]
struct Place {
    state: State,
    /// When an engine wanted it last, and didn't get it.
    wanted: Duration,
    /// Which of the worker's questions it was given for.
    turn: i64,
    /// Another worker waits for it.
    has_others: bool,
}

/// The addresses of a worker. Times are those of the machine's clock since boot.
#[derive(Debug)]
pub struct AddressPool {
    gap: Duration,
    places: Mutex<HashMap<IpAddr, Place>>,
    wanted: Notify,
}

impl AddressPool {
    /// With this gap between two requests to an address.
    pub fn new(gap: Duration) -> Self {
        Self { gap: crate::pace::as_the_site_sees(gap), places: Mutex::default(), wanted: Notify::new() }
    }

    fn places(&self) -> MutexGuard<'_, HashMap<IpAddr, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when an engine wants an address that the worker hasn't got.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Takes an address for one request, if it may be asked now.
    fn take(&self, address: IpAddr, now: Duration) -> bool {
        let mut places = self.places();
        let new = Place { state: State::Wanted, wanted: now, turn: 0, has_others: false };
        let place = places.entry(address).or_insert(new);
        place.wanted = now;
        match place.state {
            // After a request it is the others' turn.
            State::Free(from) if from <= now && !place.has_others => {
                place.state = State::Busy(from);
                true
            }
            State::Wanted => {
                self.wanted.notify_one();
                false
            }
            _ => false,
        }
    }

    /// An engine has asked there, and the address rests until then; or hasn't.
    fn give_back(&self, address: IpAddr, rests_until: Option<Duration>) {
        if let Some(place) = self.places().get_mut(&address)
            && let State::Busy(from) = place.state
        {
            place.state = State::Free(rests_until.map_or(from, |until| from.max(until)));
        }
    }

    /// The addresses that the database is to be asked for. Those that nobody wants any more are forgotten.
    pub fn wants(&self, now: Duration) -> Vec<IpAddr> {
        let mut places = self.places();
        places.retain(|_, place| place.state != State::Wanted || place.wanted + WANTED > now);
        let wanted = places.iter().filter(|(_, place)| place.state == State::Wanted);
        wanted.map(|(address, _)| *address).collect()
    }

    /// The worker has an address, for its question of this number. `rests` where a worker had it that is dead: what that one asked last, the
    /// server may still work on.
    pub fn given(&self, address: IpAddr, turn: i64, rests: bool, now: Duration) {
        let mut places = self.places();
        if let Some(place) = places.get_mut(&address)
            && place.state == State::Wanted
        {
            let from = if rests { now + STILL_AT_WORK + self.gap } else { now };
            (place.state, place.turn, place.has_others) = (State::Free(from), turn, false);
        }
    }

    /// Takes in what the database says of an address that the worker has there. False if the worker doesn't know that it has it.
    pub fn seen(&self, address: IpAddr, turn: i64, has_others: bool) -> bool {
        match self.places().get_mut(&address) {
            Some(place) if place.turn == turn && place.state != State::Wanted => {
                place.has_others = has_others;
                true
            }
            // It is being asked for, and given.
            Some(place) => place.state == State::Wanted,
            None => false,
        }
    }

    /// The addresses to be given back, each with its question: the gap is over, and another worker waits or nobody here wants it. Nobody is
    /// asked there until [`AddressPool::returned`].
    pub fn leave(&self, now: Duration) -> Vec<(IpAddr, i64)> {
        let mut left = Vec::new();
        for (address, place) in self.places().iter_mut() {
            let is_over = match place.state {
                State::Free(from) => from <= now && (place.has_others || place.wanted + KEPT <= now),
                // An earlier attempt failed.
                State::Returning => true,
                State::Wanted | State::Busy(_) => false,
            };
            if is_over {
                place.state = State::Returning;
                left.push((*address, place.turn));
            }
        }
        left
    }

    /// An address is given back.
    pub fn returned(&self, address: IpAddr) {
        if let Some(place) = self.places().get_mut(&address)
            && place.state == State::Returning
        {
            (place.state, place.has_others) = (State::Wanted, false);
        }
    }

    /// Whether there is nothing to be done about any address.
    pub fn is_empty(&self) -> bool {
        self.places().is_empty()
    }
}

/// The addresses that one engine asks at the moment. Whatever becomes of the engine, they are given back.
#[derive(Debug)]
pub(super) struct Taken {
    pool: Arc<AddressPool>,
    addresses: Vec<IpAddr>,
}

impl Taken {
    pub(super) fn new(pool: Arc<AddressPool>) -> Self {
        Self { pool, addresses: Vec::new() }
    }

    /// Takes an address for one request, if it may be asked now.
    pub(super) fn take(&mut self, address: IpAddr) -> bool {
        let took = clock::since_boot().is_some_and(|now| self.pool.take(address, now));
        if took {
            self.addresses.push(address);
        }
        took
    }

    /// A request there is over, and the address rests for so long from now on; or none was made.
    pub(super) fn give_back(&mut self, address: IpAddr, rest: Option<Duration>) {
        if let Some(at) = self.addresses.iter().position(|taken| *taken == address) {
            self.addresses.swap_remove(at);
            let until = rest.and_then(|rest| Some(clock::since_boot()? + rest));
            self.pool.give_back(address, until);
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let now = clock::since_boot().unwrap_or_default();
        for address in self.addresses.drain(..) {
            // Aborted: its server may still be at work.
            self.pool.give_back(address, Some(now + STILL_AT_WORK + self.pool.gap));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_secs(10);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(1_000 + seconds)
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn an_address_is_asked_once_it_is_given_and_kept_until_its_gap_is_over() {
        let pool = AddressPool::new(GAP);
        let a = address(1);
        assert!(!pool.take(a, at(0)));
        assert_eq!(pool.wants(at(1)), [a]);
        pool.given(a, 7, false, at(1));
        assert!(pool.take(a, at(1)));
        assert!(!pool.take(a, at(1)), "another engine asks there");
        assert_eq!(pool.leave(at(2)), []);
        pool.give_back(a, Some(at(12) + Duration::from_millis(20)));
        assert!(!pool.take(a, at(12)), "the gap is 10.02 s");
        assert_eq!(pool.leave(at(12)), [], "the gap belongs to it");
        assert!(pool.take(a, at(13)), "nobody else waits");
        pool.give_back(a, None);
        assert_eq!(pool.leave(at(13)), [], "it may be wanted again at once");
        assert_eq!(pool.leave(at(14)), [(a, 7)]);
        assert!(!pool.take(a, at(14)), "it is being given back");
        assert_eq!(pool.leave(at(14)), [(a, 7)], "until that is answered");
        pool.returned(a);
        assert_eq!(pool.wants(at(15)), [a]);
        assert!(pool.wants(at(17)).is_empty(), "nobody wants it any more");
        assert!(pool.is_empty());
    }

    #[test]
    fn other_workers_have_their_turn_after_a_request() {
        let pool = AddressPool::new(GAP);
        let a = address(1);
        pool.take(a, at(0));
        pool.given(a, 1, false, at(0));
        assert!(pool.take(a, at(0)));
        assert!(pool.seen(a, 1, true));
        pool.give_back(a, Some(at(12)));
        assert!(!pool.take(a, at(20)));
        assert_eq!(pool.leave(at(11)), [], "not within the gap");
        assert_eq!(pool.leave(at(20)), [(a, 1)]);
        assert!(pool.seen(a, 1, true));
        assert!(!pool.seen(address(2), 1, false), "one that it doesn't know of");
        pool.returned(a);
        pool.given(a, 2, false, at(21));
        assert!(!pool.seen(a, 1, true), "of an earlier question");
    }

    #[test]
    fn an_address_that_a_dead_worker_had_rests() {
        let pool = AddressPool::new(GAP);
        let a = address(1);
        pool.take(a, at(0));
        pool.given(a, 1, true, at(0));
        assert!(!pool.take(a, at(40)));
        assert!(pool.take(a, at(41)), "30 s for its server, and the gap");
    }

    #[test]
    fn what_an_engine_asks_when_it_ends_rests_as_well() {
        let now = clock::since_boot().unwrap();
        let pool = Arc::new(AddressPool::new(GAP));
        let a = address(1);
        let mut taken = Taken::new(Arc::clone(&pool));
        assert!(!taken.take(a));
        pool.given(a, 1, false, now);
        assert!(taken.take(a));
        drop(taken);
        assert!(!pool.take(a, now + STILL_AT_WORK + GAP));
        assert!(pool.take(a, clock::since_boot().unwrap() + STILL_AT_WORK + GAP * 2));
    }
}
