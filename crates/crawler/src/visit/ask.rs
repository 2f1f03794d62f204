//! Sends one request, and records what is known about it, whatever it was for.

use std::sync::Arc;

use super::{Requested, VisitContext, trial};
use crate::fetch::{Booked, ErrorKind, Fetch, FetchRequest, FetchResult, RequestKind, Spool};
use crate::frontier::{Lease, Permit, Work};
use crate::intents::{Aim, Intent, Place};
use crate::store::Store;
use page::clock::{Clock, Now};
use page::url::CrawlUrl;

/// The answer to one request.
pub(super) struct Answered {
    pub(super) answer: FetchResult,
    pub(super) ended: Now,
    /// None if the request was never sent, since the address isn't allowed.
    pub(super) requested: Option<Requested>,
    /// It says nothing about the host: the request is to be made again at the host's next turn.
    pub(super) again: bool,
    /// Where the body is, if it is read as a stream.
    pub(super) spool: Option<Spool>,
}

/// Asks the host of a permit for one of its URLs. A body of a URL that is suspected is read alone first.
pub(super) async fn ask<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    permit: &Permit,
    url: &CrawlUrl,
    purpose: RequestKind,
    headers: Vec<(String, String)>,
) -> Answered {
    let booking = permit.lease().booking;
    let mut request = FetchRequest::new(permit, url.to_url(), purpose);
    request.headers = headers;
    request.spool = (purpose == RequestKind::Sitemap).then(|| Spool::in_turn(permit.awaited()));
    let spool = request.spool.clone();
    request.is_seed = matches!(&permit.lease().work, Work::Visit(item) if item.is_seed());
    let started = context.clock.now();
    if let Some(place) = permit.place() {
        place.note(intent(place, permit.lease(), url, purpose, started, context.clock));
    }
    let answer = context.fetch.fetch(request).await;
    let ended = context.clock.now();
    let is_closed = answer.as_ref().is_err_and(|error| error.kind == ErrorKind::BlockedAddress);
    let mut requested = (!is_closed).then(|| Requested::new(started, ended, &answer, booking));
    if let (Some(requested), Some(sent)) = (&mut requested, spool.as_ref().and_then(Spool::sent)) {
        requested.bytes = sent;
    }
    let is_stale = answer.as_ref().is_err_and(|error| error.stale || error.http_1);
    let has_other = booking.is_some_and(|booking| !booking.is_last);
    let again = is_stale || (has_other && requested.is_some_and(|requested| requested.unreached));
    let answer = trial::unless_it_dies(context, url, purpose, answer, spool.as_ref()).await;
    Answered { answer, ended, requested, again, spool }
}

/// What is noted of a request before it is sent.
fn intent(
    place: &Place,
    lease: &Lease,
    url: &CrawlUrl,
    purpose: RequestKind,
    started: Now,
    clock: Clock,
) -> Intent {
    let micros = |length: std::time::Duration| u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
    let aim = match (purpose, &lease.work) {
        (RequestKind::Robots, Work::RobotsFetch(of)) if of.origin != url.origin() => {
            Aim::RobotsOf(of.origin.to_string())
        }
        (RequestKind::Robots, _) => Aim::Robots,
        (RequestKind::SiteFile, _) => Aim::SiteFile,
        _ => Aim::Url,
    };
    Intent {
        run: place.run(),
        number: lease.state.counts.requests,
        host: lease.url.host().to_owned(),
        url: url.to_string(),
        aim,
        started_us: started.wall.as_microsecond(),
        clock_us: micros(started.mono),
        boot: clock.boot(),
        timeout_ms: u64::try_from(place.timeout().as_millis()).unwrap_or(u64::MAX),
        gap_us: micros(lease.state.waited.length),
        gap_why: lease.state.waited.why,
        address: lease.booking.and_then(|booking| match booking.at {
            Booked::At(address) => Some(address),
            Booked::Nowhere => None,
        }),
    }
}
