//! Fetches a robots.txt, hop by hop, if the target of each redirect may be requested.

use std::sync::Arc;

use super::ask::{Answered, ask};
use super::capture::capture;
use super::clearance::{asked_gap, evidence, rest, robots_url};
use super::outcome::Captured;
use super::{
    BacklogBytes, Event, Outcome, Requested, VisitContext, local, reading, unanswered, without_request,
};
use crate::fetch::{ErrorKind, Fetch, FetchError, RequestKind};
use crate::frontier::{Lease, Permit, RobotsFetch};
use crate::pace::{Delay, DelayReason};
use crate::post::HopAnswer;
use crate::record::RobotsEvidence;
use crate::robots_cache::{Entry, Known, RobotsStep};
use crate::store::{Store, StoreError};
use page::clean::clean_to;
use page::clock::Now;
use page::url::{CrawlUrl, Origin};

/// Where a robots.txt lies that may be asked for whatever the rules say.
const PATH: &str = "/robots.txt";

/// Characters of a URL in a reason.
const URL_IN_REASON: usize = 300;

/// What is done with a hop.
enum Hop {
    /// It is made.
    Make,
    /// The robots.txt of this origin, the target's own, is asked for first.
    After(Origin),
    /// The host has to wait.
    Wait(Box<Outcome>),
    /// It isn't made, for this reason.
    Refuse(String),
}

pub(super) async fn ask_robots<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    permit: &Permit,
    robots_fetch: RobotsFetch,
) -> Result<Outcome, StoreError> {
    let (url, origin) = match judge(context, permit.lease(), &robots_fetch)? {
        Hop::Make => (robots_fetch.url.clone(), robots_fetch.origin.clone()),
        Hop::After(target) => (robots_url(&target)?, target),
        Hop::Wait(outcome) => return Ok(*outcome),
        Hop::Refuse(reason) => return refused(context, &robots_fetch, None, &reason, context.clock.now()),
    };
    let outcome = request(context, permit, robots_fetch, url.clone(), origin).await?;
    Ok(Outcome { robots_url: outcome.request.map(|_| url), ..outcome })
}

/// Asks for `url`, which is a hop of the robots fetch, or the robots.txt of `origin`, which has to judge that hop.
async fn request<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    permit: &Permit,
    robots_fetch: RobotsFetch,
    url: CrawlUrl,
    origin: Origin,
) -> Result<Outcome, StoreError> {
    // Rules may be large: nobody holds them while a server takes its time.
    let conditions = context.robots.conditions(&origin, context.clock.now())?;
    let answered = ask(context, permit, &url, RequestKind::Robots, conditions).await;
    let mut captured = match &answered.answer {
        Ok(_) => None,
        Err(_) => capture(context, &url, RequestKind::Robots, &answered.answer, answered.requested)?,
    };
    let outcome = read_answer(context, permit, robots_fetch, (url, origin), answered, &mut captured).await?;
    Ok(Outcome { captured, ..outcome })
}

/// Takes in an answer.
async fn read_answer<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    permit: &Permit,
    robots_fetch: RobotsFetch,
    (url, origin): (CrawlUrl, Origin),
    Answered { answer, ended, requested, again, .. }: Answered,
    captured: &mut Option<Captured>,
) -> Result<Outcome, StoreError> {
    let is_before = origin != robots_fetch.origin;
    if let Err(error) = &answer {
        match error.kind {
            ErrorKind::Local => {
                // This machine had no means to ask: that says nothing about the site.
                return Ok(local(error.clone(), requested, None, false));
            }
            // A host that may not be asked has no robots.txt, and no pages: nothing will change that.
            ErrorKind::BlockedAddress if robots_fetch.hops.is_empty() => {
                return Ok(without_request(None, Event::Failed(error.clone(), RobotsEvidence::default())));
            }
            ErrorKind::BlockedAddress => {
                let reason = format!("redirect to {}: {}", clean_url(&robots_fetch.url), error.detail);
                return refused(context, &robots_fetch, None, &reason, ended);
            }
            _ => {}
        }
    }
    if again {
        let asked = match &context.robots.lookup(&origin, ended)? {
            Known::Stale(entry) | Known::Fresh(entry) => asked_gap(entry, ended),
            Known::Missing => None,
        };
        return Ok(unanswered(requested, asked, false));
    }
    if let Err(error) = &answer
        && requested.is_some()
        && is_asked_again(context, permit.lease(), &origin, error)?
    {
        return Ok(answered(requested, BacklogBytes::default(), Event::RobotsAgain(error.clone())));
    }
    let bytes = answer.as_ref().map_or(0, |response| response.body.len());
    let _place = context.pages.read_pool.place(bytes).await;
    if let Some(id) = robots_fetch.for_other.filter(|_| !is_before) {
        // Its rules are read where they hold.
        let robots = Arc::clone(context);
        let read = move || {
            let _noted = answer.as_ref().ok().and_then(|response| robots.pages.noted(&url, &response.body));
            let captured = match &answer {
                Ok(_) => capture(&robots, &url, RequestKind::Robots, &answer, requested)?,
                Err(_) => None,
            };
            Ok((HopAnswer::new(id, ended.wall, &answer), captured))
        };
        let (hop, encoded) = reading(bytes, read).await?;
        *captured = captured.take().or(encoded);
        let held = context.pages.read_pool.hold(hop.bytes());
        return Ok(answered(requested, held, Event::HopForOther(Box::new(hop))));
    }
    let asking = if is_before { RobotsFetch::new(origin, url.clone()) } else { robots_fetch.clone() };
    let robots = Arc::clone(context);
    let read = move || {
        let _noted = answer.as_ref().ok().and_then(|response| robots.pages.noted(&url, &response.body));
        let step = robots.robots.answered(&asking, &answer, ended)?;
        if let RobotsStep::Known(entry) = &step {
            entry.record_size();
        }
        let captured = match &answer {
            Ok(_) => capture(&robots, &url, RequestKind::Robots, &answer, requested)?,
            Err(_) => None,
        };
        Ok((step, captured))
    };
    let (step, encoded) = reading(bytes, read).await?;
    *captured = captured.take().or(encoded);
    let (event, entry) = match step {
        RobotsStep::Known(entry) if is_before => {
            let robots_fetch = RobotsFetch { judged: true, ..robots_fetch };
            let then = match judge(context, permit.lease(), &robots_fetch)? {
                Hop::Refuse(reason) if robots_fetch.for_other.is_none() => {
                    Err(refusal(context, &robots_fetch, &reason, ended)?)
                }
                // At its own turn, where it is for another partition.
                _ => Ok(robots_fetch),
            };
            (Event::RobotsBefore(Arc::clone(&entry), then), entry)
        }
        RobotsStep::Known(entry) => (Event::Robots(Arc::clone(&entry)), entry),
        RobotsStep::Hop(_) if is_before => {
            let reason = format!(
                "redirect to {}, whose host's robots.txt redirects too",
                clean_url(&robots_fetch.url)
            );
            return refused(context, &robots_fetch, requested, &reason, ended);
        }
        RobotsStep::Hop(next) => {
            return Ok(answered(requested, BacklogBytes::default(), Event::RobotsHop(next)));
        }
    };
    let held = entry.record_size().until_committed() + entry.memory();
    let held = context.pages.read_pool.hold(4096 + held);
    let (asked, half_rate) = (asked_gap(&entry, ended), entry.half_rate);
    Ok(Outcome { asked, half_rate, ..answered(requested, held, event) })
}

/// Whether the robots.txt of an origin is asked for again after its host's pause: no response came, as may happen to a page, and the
/// host hasn't failed as often as a page is tried, nor pauses for longer than a crawl waits. Of an origin whose last answers failed one attempt is enough: it is unreachable, and
/// is asked for again after longer pauses.
fn is_asked_again<F: Fetch, S: Store>(
    context: &VisitContext<F, S>,
    lease: &Lease,
    origin: &Origin,
    error: &FetchError,
) -> Result<bool, StoreError> {
    let is_over = error.status.is_some() || !error.kind.is_of_host() || !error.kind.may_pass();
    if is_over || !lease.state.pace.may_ask_robots_again(context.retries, context.max_wait) {
        return Ok(false);
    }
    Ok(match context.robots.lookup(origin, context.clock.now())? {
        Known::Fresh(entry) | Known::Stale(entry) => entry.record.failures == 0,
        Known::Missing => true,
    })
}

fn answered(request: Option<Requested>, held: BacklogBytes, event: Event) -> Outcome {
    Outcome { request, robots_url: None, asked: None, half_rate: false, held, captured: None, event }
}

/// Whether a hop may be made now. Its own origin's URLs may be, since its rules aren't known before; `/robots.txt` of any other
/// may; what else lies on another origin is judged by that origin's robots.txt, like a page.
fn judge<F: Fetch, S: Store>(
    context: &VisitContext<F, S>,
    lease: &Lease,
    robots_fetch: &RobotsFetch,
) -> Result<Hop, StoreError> {
    let target = robots_fetch.url.origin();
    let now = context.clock.now();
    if robots_fetch.hops.is_empty()
        || target == robots_fetch.origin
        || robots_fetch.url.path_and_query() == PATH
    {
        // The file that was in force binds each request for the next one, hops included.
        let asked = match context.robots.lookup(&target, now)? {
            Known::Stale(entry) | Known::Fresh(entry) => asked_gap(&entry, now),
            Known::Missing => None,
        };
        return Ok(rest(context, asked, lease).map_or(Hop::Make, |wait| Hop::Wait(Box::new(wait))));
    }
    let url = clean_url(&robots_fetch.url);
    let entry = match context.robots.lookup(&target, now)? {
        Known::Fresh(entry) => entry,
        // Its own robots.txt led here, whatever that says: its rules, too, are known by this request alone.
        _ if is_of_target(robots_fetch, &target) => return Ok(Hop::Make),
        _ if robots_fetch.judged => {
            let reason = format!("redirect to {url}, whose host's robots.txt ends before its delay is over");
            return Ok(Hop::Refuse(reason));
        }
        // The file that was in force binds the request for the next one.
        Known::Stale(entry) if let Some(wait) = rest(context, asked_gap(&entry, now), lease) => {
            return Ok(Hop::Wait(Box::new(wait)));
        }
        Known::Stale(_) | Known::Missing => return Ok(Hop::After(target)),
    };
    if entry.record.is_unreachable() {
        let why = &entry.record.reason;
        return Ok(Hop::Refuse(format!("redirect to {url}, whose host's robots.txt is unreachable: {why}")));
    }
    let verdict = entry.robots.verdict(robots_fetch.url.path_and_query());
    if !verdict.allowed {
        let evidence = evidence(&verdict, &entry);
        return Ok(Hop::Refuse(format!("redirect to {url}, which its host's robots.txt denies: {evidence}")));
    }
    let asked = asked_gap(&entry, now);
    if let Some(gap) = asked.filter(|gap| gap.length > context.max_crawl_delay) {
        let (why, length) = (gap.why, gap.length.as_secs());
        let reason =
            format!("redirect to {url}, whose host's robots.txt asks for too long a gap: {why} {length} s");
        return Ok(Hop::Refuse(reason));
    }
    if let Some(length) = entry.robots.timing().visit_wait(now.wall).filter(|wait| !wait.is_zero()) {
        let wait = Delay { length, why: DelayReason::VisitTime };
        let outcome = without_request(asked, Event::Wait(wait, "Visit-time".to_owned()));
        return Ok(Hop::Wait(Box::new(outcome)));
    }
    Ok(rest(context, asked, lease).map_or(Hop::Make, |wait| Hop::Wait(Box::new(wait))))
}

/// Whether the hops before came from the robots.txt of the target's own origin.
fn is_of_target(robots_fetch: &RobotsFetch, target: &Origin) -> bool {
    let hops = robots_fetch.hops.iter().rev().map_while(|hop| CrawlUrl::parse(hop).ok());
    let mut own = hops.take_while(|hop| hop.origin() == *target);
    own.any(|hop| hop.path_and_query() == PATH)
}

/// The hop isn't made: the origin counts as unreachable.
fn refused<F: Fetch, S: Store>(
    context: &VisitContext<F, S>,
    robots_fetch: &RobotsFetch,
    request: Option<Requested>,
    reason: &str,
    now: Now,
) -> Result<Outcome, StoreError> {
    if let Some(id) = robots_fetch.for_other {
        let hop = HopAnswer::refused(id, now.wall, reason.to_owned());
        return Ok(answered(request, BacklogBytes::default(), Event::HopForOther(Box::new(hop))));
    }
    let entry = refusal(context, robots_fetch, reason, now)?;
    let held = context.pages.read_pool.hold(4096 + entry.record_size().until_committed());
    let half_rate = entry.half_rate;
    Ok(Outcome { half_rate, ..answered(request, held, Event::Robots(entry)) })
}

fn refusal<F: Fetch, S: Store>(
    context: &VisitContext<F, S>,
    robots_fetch: &RobotsFetch,
    reason: &str,
    now: Now,
) -> Result<Arc<Entry>, StoreError> {
    context.robots.refused(robots_fetch, reason, now)
}

fn clean_url(url: &CrawlUrl) -> String {
    clean_to(url.as_str(), URL_IN_REASON)
}
