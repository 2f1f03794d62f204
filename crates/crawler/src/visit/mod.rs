//! The pipeline of one visit, one straight function: robots.txt, its verdict, one request, what the page says.
//!
//! Nothing here changes the frontier or the store: a visit takes a lease's plain value and gives an [`Outcome`].

mod ask;
mod desk;
mod found;
mod kept;
mod outcome;
mod page;
mod reread;
mod revisit;
mod robots_txt;
mod sitemap;

use self::ask::{Answered, ask};
pub use self::desk::{Desk, Held};
pub use self::found::FoundLink;
pub use self::outcome::{Event, Outcome, Requested, SiteFileAnswer};
use self::page::Page;
pub use self::page::{PageRules, Visited};
pub(crate) use self::reread::reread;
use self::robots_txt::ask_robots;
pub use self::sitemap::SitemapRead;
use self::sitemap::ask_sitemap;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use robots::{Dialect, IntervalReason, Verdict};

use crate::clean::clean_within;
use crate::clock::{Clock, Now};
use crate::consent::{self, Before, ConsentCache};
use crate::fetch::{ErrorKind, Fetch, FetchError, Purpose, Response};
use crate::frontier::{Errand, Lease, Work};
use crate::pace::{Delay, Why};
use crate::page_store;
use crate::record::{PageRecord, RobotsEvidence, RobotsRecord, SiteFile, Size};
use crate::robots_cache::{Entry, Known, RobotsCache};
use crate::store::{Store, StoreError};
use crate::url::CrawlUrl;

/// Bytes kept of a line of robots.txt as evidence. Its record has the whole of it.
const LINE_BYTES: usize = 2_048;

/// What every visit of a crawl shares.
#[derive(Debug)]
pub struct VisitContext<F, S> {
    /// The network.
    pub fetch: F,
    /// robots.txt files.
    pub robots: RobotsCache<S>,
    /// What sites say to the uses of their pages.
    pub consent: ConsentCache<S>,
    /// The records of earlier visits, where URLs are visited again.
    pub revisiting: Option<Arc<S>>,
    /// How pages are read.
    pub pages: Arc<PageRules>,
    /// The clock.
    pub clock: Clock,
    /// Hosts that the seed file names.
    pub seed_hosts: HashSet<Box<str>>,
    /// Longest Crawl-delay or Request-rate interval that is waited for.
    pub max_crawl_delay: Duration,
}

/// Makes one visit: at most one request.
pub async fn visit<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    lease: &Lease,
) -> Result<Outcome, StoreError> {
    attempt(context, lease, false).await
}

/// As [`visit`], but a page is judged and not asked for: robots.txt and sitemaps alone are.
pub async fn judge<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    lease: &Lease,
) -> Result<Outcome, StoreError> {
    attempt(context, lease, true).await
}

async fn attempt<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    lease: &Lease,
    only_judge: bool,
) -> Result<Outcome, StoreError> {
    let now = context.clock.now();
    let item = match &lease.work {
        Work::Errand(errand) => return ask_robots(context, lease, errand.clone()).await,
        Work::Visit(item) => Some(item),
        Work::Sitemap(_) => None,
    };

    // Layer one: robots.txt. Its freshness is judged now, at the moment of sending.
    let origin = lease.url.origin();
    let entry = match context.robots.lookup(&origin, now)? {
        Known::Fresh(entry) => entry,
        // The file that was in force binds the request for the next one.
        Known::Stale(entry) if let Some(wait) = rest(context, asked_gap(&entry, now), lease) => {
            return Ok(wait);
        }
        Known::Stale(_) | Known::Missing => {
            let url = robots_txt::robots_url(&origin)?;
            let errand = Errand { origin, url, hops: Vec::new(), judged: false };
            return ask_robots(context, lease, errand).await;
        }
    };
    if entry.deferred {
        let wait = Delay { length: entry.remaining(now), why: Why::RobotsUnreachable };
        let reason = entry.record.reason.clone();
        let event = match (entry.record.good_copy, &lease.work) {
            (None, Work::Visit(_)) => Event::NeverKnown(wait, reason),
            // It stands where another origin's robots.txt names it: the host has better to do than to wait for it.
            (None, Work::Sitemap(_)) => Event::Denied(RobotsEvidence { reason, ..RobotsEvidence::default() }),
            _ => Event::Wait(wait, reason),
        };
        return Ok(without_request(None, event));
    }
    let verdict = entry.robots.verdict(lease.url.path_and_query());
    let evidence = evidence(&verdict, &entry);
    if !verdict.allowed {
        return Ok(without_request(None, Event::Denied(evidence)));
    }
    let asked = asked_gap(&entry, now);
    if only_judge && item.is_some() {
        return Ok(without_request(asked, Event::Judged(evidence)));
    }
    if let Some(gap) = asked.filter(|gap| gap.length > context.max_crawl_delay) {
        return Ok(without_request(None, Event::TooSlow(gap)));
    }
    if let Some(length) = entry.robots.timing().visit_wait(now.wall).filter(|wait| !wait.is_zero()) {
        let wait = Delay { length, why: Why::VisitTime };
        return Ok(without_request(asked, Event::Wait(wait, "Visit-time".to_owned())));
    }

    if let Some(wait) = rest(context, asked, lease) {
        return Ok(wait);
    }
    let Some(item) = item else {
        return Ok(ask_sitemap(context, &entry, lease, asked, evidence).await);
    };

    // Consent, as far as it is known before the page: robots.txt and the site's files.
    let said = match context.consent.before(&entry, &lease.url, now.wall)? {
        Before::Ask(file, url) => return Ok(ask_file(context, lease, &entry, asked, file, &url).await),
        Before::Said(said) => said,
    };
    if !context.consent.policy().may_fetch(said.before()) {
        return Ok(without_request(asked, Event::Refused(said.before().cloned().collect())));
    }
    let (half_rate, noindex) = (entry.half_rate, noindex(&entry, &lease.url));
    // Rules may be large: nobody holds them while a server takes its time.
    drop(entry);

    // One request, one hop.
    let previous = previous(context, lease)?;
    let conditions = previous.as_deref().map(revisit::conditions).unwrap_or_default();
    let Answered { answer, requested, again, .. } =
        ask(context, lease, &lease.url, Purpose::Page, conditions).await;
    let (response, requested) = match (answer, requested) {
        (Ok(response), Some(requested)) => (response, requested),
        (Ok(_), None) => return Ok(without_request(asked, Event::Unanswered)),
        (Err(error), request) if error.kind == ErrorKind::Local => {
            return Ok(local(error, request, asked, half_rate));
        }
        (Err(error), request) => {
            let event = if again { Event::Unanswered } else { Event::Failed(error, evidence) };
            return Ok(Outcome { request, robots_url: None, asked, half_rate, held: Held::default(), event });
        }
    };
    // Layer two: what the page says about itself. Read off the async threads.
    let page = Page {
        url: lease.url.clone(),
        item: item.clone(),
        robots: evidence.clone(),
        noindex,
        said,
        previous,
    };
    let visited = read(context, page, response, requested).await;
    let (event, held) = if let Some((visited, held)) = visited {
        (Event::Page(Box::new(visited)), held)
    } else {
        let error = FetchError::new(ErrorKind::Parse, "reading the page failed");
        (Event::Failed(error, evidence), Held::default())
    };
    Ok(Outcome { request: Some(requested), robots_url: None, asked, half_rate, held, event })
}

/// What is left of a gap that the host's last request didn't know of: a Request-rate that began to count since, a file that
/// changed, or that of another port.
fn rest<F, S>(context: &VisitContext<F, S>, asked: Option<Delay>, lease: &Lease) -> Option<Outcome> {
    let gap = asked.filter(|gap| gap.length <= context.max_crawl_delay)?;
    let rested = lease.rested?;
    let length = gap.length.checked_sub(rested).filter(|left| !left.is_zero())?;
    let words = format!("{} s", gap.length.as_secs_f64());
    Some(without_request(asked, Event::Wait(Delay { length, why: gap.why }, words)))
}

async fn read<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    page: Page,
    response: Response,
    requested: Requested,
) -> Option<(Visited, Held)> {
    let rules = Arc::clone(&context.pages);
    let _place = context.pages.desk.place(response.body.len().max(response.wire_body.len())).await?;
    let reading = move || {
        let visited = page::read(&rules, page, &response, requested);
        let held = rules.desk.hold(visited.bytes_held());
        (visited, held)
    };
    tokio::task::spawn_blocking(reading).await.ok()
}

/// The record of the last visit, in a crawl that visits again.
fn previous<F, S: Store>(
    context: &VisitContext<F, S>,
    lease: &Lease,
) -> Result<Option<Box<PageRecord>>, StoreError> {
    let Some(store) = &context.revisiting else { return Ok(None) };
    let page = lease.url.fingerprint(&context.pages.key);
    Ok(page_store::record_of(store, lease.host, page)?.map(Box::new))
}

async fn ask_file<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    lease: &Lease,
    entry: &Entry,
    asked: Option<Delay>,
    file: SiteFile,
    url: &CrawlUrl,
) -> Outcome {
    let Answered { answer, ended, requested, again } =
        ask(context, lease, url, Purpose::SiteFile, Vec::new()).await;
    if again {
        return unanswered(requested, asked, entry.half_rate);
    }
    let answer = match answer {
        Err(error) if error.kind == ErrorKind::Local => {
            return local(error, requested, asked, entry.half_rate);
        }
        answer => answer,
    };
    let record = match context.consent.answered(entry, file, url, &answer, ended.wall) {
        consent::Step::Known(record) => Some(*record),
        consent::Step::Again => None,
    };
    let held = record.as_ref().map(Size::of).unwrap_or_default();
    let held = context.pages.desk.hold(4096 + held.until_committed());
    let response = answer.as_ref().ok();
    let answer = SiteFileAnswer {
        file,
        url: url.clone(),
        record,
        status: response.map(|response| response.status),
        failure: answer.err(),
    };
    Outcome {
        request: requested,
        robots_url: None,
        asked,
        half_rate: entry.half_rate,
        held,
        event: Event::SiteFile(Box::new(answer)),
    }
}

/// The `Noindex` line of robots.txt that covers a URL: the careful dialects take it for a page's noindex (spec 1.7).
fn noindex(entry: &Entry, url: &CrawlUrl) -> Option<meta::Because> {
    if !matches!(entry.robots.dialect(), Dialect::Hardened | Dialect::Strictest) {
        return None;
    }
    let line = entry.robots.signals().noindex(url.path_and_query())?;
    let source = meta::Source::new(meta::Origin::RobotsTxt, line, "Noindex", url.path_and_query());
    Some(meta::Because { directive: "noindex".to_owned(), source })
}

/// Looks up where the host of a lease is, without asking it anything.
pub async fn look_up<F: Fetch, S: Store>(context: &Arc<VisitContext<F, S>>, lease: &Lease) -> Outcome {
    let request = ask::request(lease, &lease.url, Purpose::Page);
    without_request(None, Event::Addresses(context.fetch.addresses(&request).await))
}

fn unanswered(request: Option<Requested>, asked: Option<Delay>, half_rate: bool) -> Outcome {
    Outcome { request, robots_url: None, asked, half_rate, held: Held::default(), event: Event::Unanswered }
}

/// A request that this machine itself couldn't make, or couldn't hold the answer of: then one was made.
fn local(error: FetchError, request: Option<Requested>, asked: Option<Delay>, half_rate: bool) -> Outcome {
    let request = request.filter(|_| error.connected);
    Outcome { request, robots_url: None, asked, half_rate, held: Held::default(), event: Event::Local(error) }
}

fn without_request(asked: Option<Delay>, event: Event) -> Outcome {
    Outcome { request: None, robots_url: None, asked, half_rate: false, held: Held::default(), event }
}

fn asked_gap(entry: &Entry, now: Now) -> Option<Delay> {
    entry.robots.timing().interval(now.wall).map(|interval| {
        let why = match interval.reason {
            IntervalReason::RequestRate => Why::RequestRate,
            IntervalReason::CrawlDelay => Why::CrawlDelay,
        };
        Delay { length: interval.every, why }
    })
}

pub(crate) fn evidence(verdict: &Verdict, entry: &Entry) -> RobotsEvidence {
    RobotsEvidence {
        line: verdict.line,
        rule: verdict.rule.as_deref().map(|rule| clean_within(rule, LINE_BYTES).0),
        group: verdict.group.as_deref().map(|group| clean_within(group, LINE_BYTES).0),
        dialect: verdict.dialect,
        reason: verdict.reason.to_string(),
        digest: rules_digest(entry),
    }
}

fn rules_digest(entry: &Entry) -> Option<String> {
    let RobotsRecord { access, .. } = &entry.record;
    matches!(access.as_str(), "rules" | "stored").then(|| entry.digest.clone()).flatten()
}
