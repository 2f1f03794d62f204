//! The plain values that the frontier returns and accepts: permits, leases, settlements, and figures.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::host::RobotsFetch;
use super::item::QueuedUrl;
use super::state::{HostDelta, HostState};
use crate::address::{AddressClass, Booked};
use crate::intents::Place;
use crate::pace::{Delay, DelayReason};
use crate::record::SitemapRecord;
use crate::trap::BudgetExceeded;
use page::ids::HostId;
use page::url::CrawlUrl;

/// The right to make one request to one host. Can't be copied or made elsewhere; ends in [`Frontier::settle`](super::Frontier::settle).
///
/// ```
/// # use crawler::{fetch::{FetchRequest, RequestKind}, frontier::{Frontier, Permit, Settlement}, store::MemoryStore};
/// fn ends(frontier: &mut Frontier<MemoryStore>, permit: Permit, settlement: Settlement) {
///     let url = permit.lease().url.to_url();
///     let _request = FetchRequest::new(&permit, url, RequestKind::Page);
///     frontier.settle(permit, settlement);
/// }
/// ```
///
/// It isn't settled twice, nothing is asked for with one that is settled, and there is never a second one:
///
/// ```compile_fail,E0382
/// # use crawler::{frontier::{Frontier, Permit, Settlement}, store::MemoryStore};
/// fn twice(frontier: &mut Frontier<MemoryStore>, permit: Permit, settlement: Settlement) {
///     frontier.settle(permit, settlement.clone());
///     frontier.settle(permit, settlement);
/// }
/// ```
///
/// ```compile_fail,E0382
/// # use crawler::{fetch::{FetchRequest, RequestKind}, frontier::{Frontier, Permit, Settlement}, store::MemoryStore};
/// fn late(frontier: &mut Frontier<MemoryStore>, permit: Permit, settlement: Settlement) {
///     let url = permit.lease().url.to_url();
///     frontier.settle(permit, settlement);
///     let _request = FetchRequest::new(&permit, url, RequestKind::Page);
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use crawler::frontier::Permit;
/// fn another(permit: &Permit) -> Permit {
///     Permit::clone(permit)
/// }
/// ```
///
/// ```compile_fail,E0451
/// # use crawler::frontier::{Lease, Permit};
/// fn made(lease: Lease) -> Permit {
///     Permit { lease, place: None, awaited: None }
/// }
/// ```
#[derive(Debug)]
pub struct Permit {
    lease: Lease,
    place: Option<Place>,
    /// Whether other hosts wait until this request ends; none where none ever does.
    awaited: Option<Arc<AtomicBool>>,
}

impl Permit {
    pub(super) fn new(lease: Lease) -> Self {
        Self { lease, place: None, awaited: None }
    }

    /// Tells the request whether other hosts wait until it ends.
    #[must_use]
    pub(super) fn in_turn(self, awaited: Arc<AtomicBool>) -> Self {
        Self { awaited: Some(awaited), ..self }
    }

    /// Whether other hosts wait until the request ends: it is read again while it is under way.
    pub(crate) fn awaited(&self) -> Arc<AtomicBool> {
        self.awaited.as_ref().map(Arc::clone).unwrap_or_default()
    }

    /// What the permit is for.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    pub(super) fn into_lease(self) -> Lease {
        self.lease
    }

    /// Returns where the host is booked.
    pub fn book(&mut self, booking: Option<Booking>) {
        self.lease.booking = booking;
    }

    /// The host has waited for this delay of its group, if that is longer than its own.
    pub(crate) fn waited_with_others(&mut self, delay: Delay) {
        let waited = &mut self.lease.state.waited;
        if waited.why.is_shared() || waited.why.is_usual() && delay.length > waited.length {
            *waited = delay;
        }
    }

    /// Has the request noted there before it is sent.
    pub(crate) fn note_in(&mut self, place: Place) {
        self.place = Some(place);
    }

    /// Where the request is to be noted before it is sent.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Takes what [`Permit::note_in`] put in.
    pub(crate) fn take_place(&mut self) -> Option<Place> {
        self.place.take()
    }
}

/// What a permit is for, as a plain value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The host.
    pub host: HostId,
    /// Number of this lease among the host's; a later one fences it.
    pub token: u64,
    /// The URL.
    pub url: CrawlUrl,
    /// What to do with it.
    pub work: Work,
    /// For how long the host has rested since its last request ended, as far as this process knows.
    pub rested: Option<Duration>,
    /// The class of the host's addresses, as [`FetchRequest`](crate::fetch::FetchRequest) has it.
    pub class: Arc<OnceLock<AddressClass>>,
    /// Where the host is booked, if hosts of one address take turns.
    pub booking: Option<Booking>,
    /// The host as it was when the lease was given out.
    pub state: HostState,
}

/// Where a host is booked, and whether there is another address to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booking {
    /// The address.
    pub at: Booked,
    /// It is the last of the host's addresses.
    pub is_last: bool,
}

/// The two kinds of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Visit a queued URL.
    Visit(QueuedUrl),
    /// Fetch a hop of another origin's robots.txt.
    RobotsFetch(RobotsFetch),
    /// Fetch a sitemap.
    Sitemap(Box<SitemapRecord>),
}

/// What became of a lease, as far as the frontier is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// True takes the URL off its queue; false leaves it at the head, to be leased again.
    pub done: bool,
    /// A request was made. The host isn't leased again before this settlement is durable, so that a crash costs a site no
    /// more than the one request under way.
    pub asked: bool,
    /// The URL goes back into the queue [`Priority::First`](super::Priority::First) in this form (another try).
    pub again: Option<QueuedUrl>,
    /// The host's next request starts at this time (monotonic) at the earliest.
    pub not_before: Duration,
    /// Why, and how long the wait is.
    pub wait: Delay,
    /// What changes of the host beside its wait.
    pub host: HostDelta,
}

impl Settlement {
    /// The URL stays at the head of its queue, and the host waits until `not_before` (monotonic). No request was made.
    pub fn untouched(not_before: Duration, wait: Delay) -> Self {
        Self { done: false, asked: false, again: None, not_before, wait, host: HostDelta::default() }
    }

    /// The URL is off its queue, and the host waits until `not_before` (monotonic). No request was made.
    pub fn finished(not_before: Duration, wait: Delay) -> Self {
        Self { done: true, ..Self::untouched(not_before, wait) }
    }

    /// The same after a request.
    #[must_use]
    pub fn after_request(self) -> Self {
        Self { asked: true, ..self }
    }
}

/// Whether [`Frontier::settle`](super::Frontier::settle) did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Completion {
    /// It did.
    Applied,
    /// The lease was settled before, or a later one took its place.
    Fenced,
}

/// What became of a URL that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Admitted {
    /// It was new, and is queued.
    Queued,
    /// It was seen before.
    Seen,
    /// It is queued, and will be tested when its host wakes.
    Untested,
    /// It is new, and held back: a budget of its host is used up. It isn't remembered as seen.
    Held(BudgetExceeded),
}

/// The frontier's figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontierCounts {
    /// URLs queued, leased ones included.
    pub queued: u64,
    /// Leases in force.
    pub in_flight: u64,
    /// Hosts known.
    pub hosts: u64,
}

/// A host with URLs queued, and no request under way.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    /// The host's name.
    pub host: &'a str,
    /// What for.
    pub why: DelayReason,
    /// How much longer.
    pub remaining: Duration,
    /// The gap in force.
    pub gap: Delay,
    /// URLs it holds back.
    pub queued: u64,
    /// Set if it is skipped for the rest of this process.
    pub parked: Option<&'a str>,
}

#[cfg(test)]
impl Permit {
    /// A permit that no frontier knows.
    pub(crate) fn of_a_test() -> Self {
        let url = CrawlUrl::parse("http://a.test/").unwrap();
        let work = Work::Visit(QueuedUrl::seed(&url));
        Self::new(Lease {
            host: HostId(0),
            token: 0,
            url,
            work,
            rested: None,
            class: Arc::default(),
            booking: None,
            state: HostState::of_a_test(),
        })
    }
}
