//! The pipeline of one visit, one straight function: robots.txt, its verdict, one request, the page's directives.
//!
//! Nothing here changes the frontier or the store: a visit takes a permit and gives an [`Outcome`].

mod ask;
mod found;
mod kept;
mod outcome;
mod page;
mod read_pool;
mod reread;
mod revisit;
mod robots_txt;
mod rules;
mod simhash;
mod sitemap;
mod visited;

use self::ask::{Answered, ask};
pub use self::found::FoundLink;
pub use self::outcome::{Event, Outcome, Requested, SiteFileAnswer, SitemapRead};
use self::page::PageContext;
pub use self::read_pool::{BacklogBytes, ReadPool};
pub(crate) use self::reread::reread;
use self::robots_txt::ask_robots;
pub use self::rules::PageRules;
use self::sitemap::ask_sitemap;
pub use self::visited::Visited;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use robots::{Dialect, IntervalReason, Verdict};

use crate::clean::clean_within;
use crate::clock::{Clock, Now};
use crate::consent::{self, Before, ConsentCache, SiteStatements};
use crate::encoded::Size;
use crate::fetch::{ErrorKind, Fetch, FetchError, FetchRequest, RequestKind, Response};
use crate::frontier::{Lease, Permit, RobotsFetch, Work};
use crate::origin_cache::OriginCache;
use crate::pace::{Delay, DelayReason};
use crate::page_store;
use crate::record::{PageRecord, RobotsEvidence, SiteFile};
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
    /// What is kept in memory of origins.
    pub caches: Arc<OriginCache>,
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
    permit: &Permit,
) -> Result<Outcome, StoreError> {
    attempt(context, permit, false).await
}

/// As [`visit`], but a page is judged and not asked for: robots.txt and sitemaps alone are.
pub async fn judge<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    permit: &Permit,
) -> Result<Outcome, StoreError> {
    attempt(context, permit, true).await
}

/// Bytes of robots.txt and consent files that are read in passing; more of them are read off the async threads, in turn.
const IN_PASSING: usize = 16 << 10;

/// What is known before anything is asked for.
enum Judged {
    /// Nothing is asked for.
    Over(Box<Outcome>),
    /// robots.txt comes first.
    Robots(RobotsFetch),
    /// A sitemap may be asked for.
    Sitemap { asked: Option<Delay>, half_rate: bool, evidence: RobotsEvidence },
    /// A consent file comes first.
    File { asked: Option<Delay>, half_rate: bool, file: SiteFile, url: CrawlUrl },
    /// The page may be asked for.
    Page(Box<MayAsk>),
}

/// What the rules say of a page that may be asked for, without the rules: they may be large, and nobody holds them while a server
/// takes its time.
struct MayAsk {
    asked: Option<Delay>,
    half_rate: bool,
    evidence: RobotsEvidence,
    noindex: Option<meta::DirectiveSource>,
    said: SiteStatements,
}

async fn attempt<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    permit: &Permit,
    only_judge: bool,
) -> Result<Outcome, StoreError> {
    let lease = permit.lease();
    let item = match &lease.work {
        Work::RobotsFetch(robots_fetch) => return ask_robots(context, permit, robots_fetch.clone()).await,
        Work::Visit(item) => Some(item),
        Work::Sitemap(_) => None,
    };
    let origin = lease.url.origin();
    let unread = context.robots.unread(&origin)? + context.consent.unread(&origin)?;
    let judged = if unread > IN_PASSING {
        let _place = context.pages.read_pool.place(unread).await;
        let (context, lease) = (Arc::clone(context), lease.clone());
        reading(unread, move || judge_url(&context, &lease, only_judge)).await?
    } else {
        judge_url(context, lease, only_judge)?
    };
    let may_ask = match judged {
        Judged::Over(outcome) => return Ok(*outcome),
        Judged::Robots(robots_fetch) => return ask_robots(context, permit, robots_fetch).await,
        Judged::Sitemap { asked, half_rate, evidence } => {
            return Ok(ask_sitemap(context, half_rate, permit, asked, evidence).await);
        }
        Judged::File { asked, half_rate, file, url } => {
            return ask_file(context, permit, half_rate, asked, file, &url).await;
        }
        Judged::Page(may_ask) => *may_ask,
    };
    let MayAsk { asked, half_rate, evidence, noindex, said } = may_ask;
    let Some(item) = item else { return Ok(without_request(asked, Event::Unanswered)) };

    // One request, one hop.
    let previous = previous(context, lease)?;
    let conditions = previous.as_deref().map(revisit::conditions).unwrap_or_default();
    let Answered { answer, requested, again, .. } =
        ask(context, permit, &lease.url, RequestKind::Page, conditions).await;
    let (response, requested) = match (answer, requested) {
        (Ok(response), Some(requested)) => (response, requested),
        (Ok(_), None) => return Ok(without_request(asked, Event::Unanswered)),
        (Err(error), request) if error.kind == ErrorKind::Local => {
            return Ok(local(error, request, asked, half_rate));
        }
        (Err(error), request) => {
            let event = if again { Event::Unanswered } else { Event::Failed(error, evidence) };
            return Ok(Outcome {
                request,
                robots_url: None,
                asked,
                half_rate,
                held: BacklogBytes::default(),
                event,
            });
        }
    };
    // Layer two: what the page says about itself. Read off the async threads.
    let page = PageContext {
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
        (Event::Failed(error, evidence), BacklogBytes::default())
    };
    Ok(Outcome { request: Some(requested), robots_url: None, asked, half_rate, held, event })
}

/// Reads files of so many bytes, off the async threads unless that takes no time.
async fn reading<T: Send + 'static>(
    bytes: usize,
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    if bytes <= IN_PASSING {
        return read();
    }
    match tokio::task::spawn_blocking(read).await {
        Ok(read) => read,
        // The visit's own panic: its engine knows what to do.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Stopped),
        },
    }
}

/// Judges a URL by the rules that are known.
fn judge_url<F: Fetch, S: Store>(
    context: &VisitContext<F, S>,
    lease: &Lease,
    only_judge: bool,
) -> Result<Judged, StoreError> {
    let now = context.clock.now();
    let over = |asked, event| Ok(Judged::Over(Box::new(without_request(asked, event))));

    // Layer one: robots.txt. Its freshness is judged now, at the moment of sending.
    let origin = lease.url.origin();
    let entry = match context.robots.lookup(&origin, now)? {
        Known::Fresh(entry) => entry,
        // The file that was in force binds the request for the next one.
        Known::Stale(entry) if let Some(wait) = rest(context, asked_gap(&entry, now), lease) => {
            return Ok(Judged::Over(Box::new(wait)));
        }
        Known::Stale(_) | Known::Missing => {
            let url = robots_txt::robots_url(&origin)?;
            return Ok(Judged::Robots(RobotsFetch { origin, url, hops: Vec::new(), judged: false }));
        }
    };
    if entry.deferred {
        let wait = Delay { length: entry.remaining(now), why: DelayReason::RobotsUnreachable };
        let reason = entry.record.reason.clone();
        let event = match (entry.record.good_copy, &lease.work) {
            (None, Work::Visit(_)) => Event::NeverKnown(wait, reason),
            // Another origin's robots.txt named it: the host has better to do than to wait for it.
            (None, Work::Sitemap(_)) => Event::Denied(RobotsEvidence { reason, ..RobotsEvidence::default() }),
            _ => Event::Wait(wait, reason),
        };
        return over(None, event);
    }
    let verdict = entry.robots.verdict(lease.url.path_and_query());
    let evidence = evidence(&verdict, &entry);
    if !verdict.allowed {
        return over(None, Event::Denied(evidence));
    }
    let is_page = matches!(lease.work, Work::Visit(_));
    let asked = asked_gap(&entry, now);
    if only_judge && is_page {
        return over(asked, Event::Judged(evidence));
    }
    if let Some(gap) = asked.filter(|gap| gap.length > context.max_crawl_delay) {
        return over(None, Event::TooSlow(gap));
    }
    if let Some(length) = entry.robots.timing().visit_wait(now.wall).filter(|wait| !wait.is_zero()) {
        let wait = Delay { length, why: DelayReason::VisitTime };
        return over(asked, Event::Wait(wait, "Visit-time".to_owned()));
    }

    if let Some(wait) = rest(context, asked, lease) {
        return Ok(Judged::Over(Box::new(wait)));
    }
    let half_rate = entry.half_rate;
    if !is_page {
        return Ok(Judged::Sitemap { asked, half_rate, evidence });
    }

    // Consent, as far as it is known before the page: robots.txt and the site's files.
    let said = match context.consent.before(&entry, &lease.url, now.wall)? {
        Before::Ask(file, url) => return Ok(Judged::File { asked, half_rate, file, url }),
        Before::SiteStatements(said) => said,
    };
    if !context.consent.policy().may_fetch(said.before()) {
        return over(asked, Event::Refused(said.before().cloned().collect()));
    }
    let noindex = noindex(&entry, &lease.url);
    Ok(Judged::Page(Box::new(MayAsk { asked, half_rate, evidence, noindex, said })))
}

/// The rest of a delay that the host's last request didn't know of: a Request-rate that began to count since, a file that
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
    page: PageContext,
    response: Response,
    requested: Requested,
) -> Option<(Visited, BacklogBytes)> {
    let rules = Arc::clone(&context.pages);
    let _place = context.pages.read_pool.place(response.body.len().max(response.wire_body.len())).await?;
    let reading = move || {
        let visited = page::read(&rules, page, &response, requested);
        let held = rules.read_pool.hold(visited.bytes_held());
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
    permit: &Permit,
    half_rate: bool,
    asked: Option<Delay>,
    file: SiteFile,
    url: &CrawlUrl,
) -> Result<Outcome, StoreError> {
    let Answered { answer, ended, requested, again } =
        ask(context, permit, url, RequestKind::SiteFile, Vec::new()).await;
    if again {
        return Ok(unanswered(requested, asked, half_rate));
    }
    let answer = match answer {
        Err(error) if error.kind == ErrorKind::Local => {
            return Ok(local(error, requested, asked, half_rate));
        }
        answer => answer,
    };
    let bytes = answer.as_ref().map_or(0, |response| response.body.len());
    let _place = context.pages.read_pool.place(bytes).await;
    let (known, asked_for) = (Arc::clone(context), url.clone());
    let read = move || {
        let may_ask = |target: &CrawlUrl| {
            Ok(match known.robots.lookup(&target.origin(), ended)? {
                Known::Fresh(entry) | Known::Stale(entry) => {
                    entry.robots.verdict(target.path_and_query()).allowed
                }
                Known::Missing => false,
            })
        };
        let step = known.consent.answered(file, &asked_for, &answer, ended.wall, may_ask)?;
        let record = match step {
            consent::SiteFileStep::Known(record) => Some(record),
            consent::SiteFileStep::Again => None,
        };
        let size = record.as_ref().map(Size::of).unwrap_or_default();
        Ok((record, size, answer))
    };
    let (record, size, answer) = reading(bytes, read).await?;
    let held = context.pages.read_pool.hold(4096 + size.until_committed());
    let response = answer.as_ref().ok();
    let answer = SiteFileAnswer {
        file,
        url: url.clone(),
        record,
        size,
        status: response.map(|response| response.status),
        failure: answer.err(),
    };
    let event = Event::SiteFile(Box::new(answer));
    Ok(Outcome { request: requested, robots_url: None, asked, half_rate, held, event })
}

/// The `Noindex` line of robots.txt that covers a URL: the careful dialects take it for a page's noindex.
fn noindex(entry: &Entry, url: &CrawlUrl) -> Option<meta::DirectiveSource> {
    if !matches!(entry.robots.dialect(), Dialect::Hardened | Dialect::Strictest) {
        return None;
    }
    let line = entry.robots.signals().noindex(url.path_and_query())?;
    let source = meta::Source::new(meta::SourceKind::RobotsTxt, line, "Noindex", url.path_and_query());
    Some(meta::DirectiveSource { directive: "noindex".to_owned(), source })
}

/// Looks up where the host of a permit is, without asking it anything.
pub async fn look_up<F: Fetch, S: Store>(context: &Arc<VisitContext<F, S>>, permit: &Permit) -> Outcome {
    let request = FetchRequest::new(permit, permit.lease().url.as_url().clone(), RequestKind::Page);
    without_request(None, Event::Addresses(context.fetch.addresses(&request).await))
}

fn unanswered(request: Option<Requested>, asked: Option<Delay>, half_rate: bool) -> Outcome {
    Outcome {
        request,
        robots_url: None,
        asked,
        half_rate,
        held: BacklogBytes::default(),
        event: Event::Unanswered,
    }
}

/// A request that this machine itself couldn't make, or couldn't hold the answer of: then one was made.
fn local(error: FetchError, request: Option<Requested>, asked: Option<Delay>, half_rate: bool) -> Outcome {
    let request = request.filter(|_| error.connected);
    Outcome {
        request,
        robots_url: None,
        asked,
        half_rate,
        held: BacklogBytes::default(),
        event: Event::Local(error),
    }
}

fn without_request(asked: Option<Delay>, event: Event) -> Outcome {
    Outcome { request: None, robots_url: None, asked, half_rate: false, held: BacklogBytes::default(), event }
}

fn asked_gap(entry: &Entry, now: Now) -> Option<Delay> {
    entry.robots.timing().interval(now.wall).map(|interval| {
        let why = match interval.reason {
            IntervalReason::RequestRate => DelayReason::RequestRate,
            IntervalReason::CrawlDelay => DelayReason::CrawlDelay,
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
    entry.record.access.has_rules().then(|| entry.digest.clone()).flatten()
}
