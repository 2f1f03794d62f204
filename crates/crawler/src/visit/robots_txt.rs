//! Asks for a robots.txt, hop by hop.

use std::sync::Arc;

use super::ask::{Answered, ask};
use super::{Event, Held, Outcome, VisitContext, asked_gap, local, unanswered, without_request};
use crate::fetch::{ErrorKind, Fetch, Purpose};
use crate::frontier::{Errand, Lease};
use crate::record::RobotsEvidence;
use crate::robots_cache::{Known, RobotsCache, Step};
use crate::store::{Store, StoreError, Tree};
use crate::url::{CrawlUrl, Origin};

pub(super) async fn ask_robots<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    lease: &Lease,
    errand: Errand,
) -> Result<Outcome, StoreError> {
    let url = errand.url.clone();
    let outcome = request(context, lease, errand).await?;
    Ok(Outcome { robots_url: outcome.request.map(|_| url), ..outcome })
}

async fn request<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    lease: &Lease,
    errand: Errand,
) -> Result<Outcome, StoreError> {
    let known = context.robots.lookup(&errand.origin, context.clock.now().wall)?;
    let conditions = RobotsCache::<S>::conditions(&known);
    let Answered { answer, ended, requested: request, again } =
        ask(context, lease, &errand.url, Purpose::Robots, conditions).await;
    if let Err(error) = &answer {
        match error.kind {
            ErrorKind::Local => {
                // This machine had no means to ask: that says nothing about the site.
                return Ok(local(error.clone(), request, None, false));
            }
            // A host that may not be asked has no robots.txt, and no pages: nothing will change that.
            ErrorKind::BlockedAddress if errand.hops.is_empty() => {
                return Ok(without_request(None, Event::Failed(error.clone(), RobotsEvidence::default())));
            }
            _ => {}
        }
    }
    if again {
        let asked = match &known {
            Known::Stale(entry) | Known::Fresh(entry) => asked_gap(entry, ended),
            Known::Missing => None,
        };
        return Ok(unanswered(request, asked, false));
    }
    let octets = answer.as_ref().map_or(0, |response| response.body.len());
    let _place = context.pages.desk.place(octets).await;
    let (asked, half_rate, held, event) =
        match context.robots.answered(&errand, &known, &answer, ended.wall)? {
            Step::Known(entry) => {
                let held = context.pages.desk.hold(4096 + 2 * entry.record.bytes as usize);
                (asked_gap(&entry, ended), entry.half_rate, held, Event::Robots(entry))
            }
            Step::Hop(next) => (None, false, Held::default(), Event::RobotsHop(next)),
        };
    Ok(Outcome { request, robots_url: None, asked, half_rate, held, event })
}

pub(super) fn robots_url(origin: &Origin) -> Result<CrawlUrl, StoreError> {
    origin
        .robots_url()
        .map_err(|error| StoreError::Form { tree: Tree::Queue.name(), detail: error.to_string() })
}
