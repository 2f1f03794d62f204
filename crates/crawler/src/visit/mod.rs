//! The pipeline of one visit, one straight function: clearance by robots.txt and consent, one request, the page's directives.
//!
//! Nothing here changes the frontier or the store: a visit takes a permit and gives an [`Outcome`].

mod ask;
mod capture;
mod clearance;
mod found;
mod growth;
mod head;
mod kept;
mod outcome;
mod page;
mod part;
mod read_pool;
mod reread;
mod revisit;
mod robots_txt;
mod rules;
mod sitemap;
mod text_marks;
mod trial;
mod visited;

use self::ask::{Answered, ask};
use self::capture::capture;
use self::clearance::{Clearance, MayAsk, clearance};
pub(crate) use self::clearance::{asked_gap, evidence};
pub use self::found::FoundLink;
pub use self::growth::Growth;
use self::head::ask_head;
pub use self::outcome::{
    Captured, Event, HeadAnswer, Outcome, Requested, SiteFileAnswer, SitemapPart, SitemapParts, SitemapRead,
    UnwantedAnswer,
};
use self::page::PageContext;
pub use self::read_pool::{BacklogBytes, ReadPool};
pub(crate) use self::reread::reread;
use self::robots_txt::ask_robots;
pub use self::rules::PageRules;
use self::sitemap::ask_sitemap;
pub(crate) use self::trial::{Crashed, Rereading, read_alone};
pub use self::visited::Visited;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::consent::{self, ConsentCache};
use crate::encoded::Size;
use crate::fetch::{ErrorKind, Fetch, FetchError, FetchRequest, RequestKind, Response};
use crate::frontier::{Lease, Permit, Work};
use crate::origin_cache::OriginCache;
use crate::pace::Delay;
use crate::page_store;
use crate::record::{PageRecord, SiteFile};
use crate::robots_cache::{Known, RobotsCache};
use crate::store::{Store, StoreError};
use ::page::clock::Clock;
use ::page::url::CrawlUrl;

/// The records of earlier visits, where URLs are visited again.
#[derive(Debug)]
pub struct Revisiting<S> {
    store: Option<Arc<S>>,
    is_on: AtomicBool,
}

impl<S> Revisiting<S> {
    /// Those of a store; compared with from now on, or only once they [begin](Self::begin).
    pub fn of(store: Arc<S>, is_on: bool) -> Self {
        Self { store: Some(store), is_on: AtomicBool::new(is_on) }
    }

    /// No URL is visited again.
    pub fn never() -> Self {
        Self { store: None, is_on: AtomicBool::new(false) }
    }

    /// Has visits compare a page with its record from now on, where there is a store.
    pub fn begin(&self) {
        self.is_on.store(true, Ordering::Release);
    }

    /// Whether they do.
    pub fn is_on(&self) -> bool {
        self.store().is_some()
    }

    fn store(&self) -> Option<&Arc<S>> {
        self.store.as_ref().filter(|_| self.is_on.load(Ordering::Acquire))
    }
}

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
    pub revisiting: Revisiting<S>,
    /// How pages are read.
    pub pages: Arc<PageRules>,
    /// The clock.
    pub clock: Clock,
    /// Hosts that the seed file names.
    pub seed_hosts: HashSet<Box<str>>,
    /// Longest Crawl-delay or Request-rate interval that is waited for.
    pub max_crawl_delay: Duration,
    /// How often a request without a usable response is repeated.
    pub retries: u32,
    /// The longest pause of a host that a crawl with nothing else to do waits for.
    pub max_wait: Duration,
}

/// Makes one visit: at most one request. The URLs of a large sitemap go through `parts`.
pub async fn visit<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    permit: &Permit,
    parts: &SitemapParts,
) -> Result<Outcome, StoreError> {
    attempt(context, permit, parts, false).await
}

/// As [`visit`], but a page is judged and not asked for: robots.txt and sitemaps alone are.
pub async fn judge<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    permit: &Permit,
    parts: &SitemapParts,
) -> Result<Outcome, StoreError> {
    attempt(context, permit, parts, true).await
}

/// Bytes of robots.txt and consent files that are read in passing; more of them are read off the async threads, in turn.
const IN_PASSING: usize = 16 << 10;

async fn attempt<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    permit: &Permit,
    parts: &SitemapParts,
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
    let cleared = if unread > IN_PASSING {
        let _place = context.pages.read_pool.place(unread).await;
        let (context, lease) = (Arc::clone(context), lease.clone());
        reading(unread, move || clearance(&context, &lease, only_judge)).await?
    } else {
        clearance(context, lease, only_judge)?
    };
    let may_ask = match cleared {
        Clearance::Over(outcome) => return Ok(*outcome),
        Clearance::Robots(robots_fetch) => return ask_robots(context, permit, robots_fetch).await,
        Clearance::Sitemap { asked, half_rate, evidence } => {
            return ask_sitemap(context, half_rate, permit, asked, evidence, parts).await;
        }
        Clearance::File { asked, half_rate, file, url } => {
            return ask_file(context, permit, half_rate, asked, file, &url).await;
        }
        Clearance::Page(may_ask) => *may_ask,
    };
    let MayAsk { asked, half_rate, evidence, noindex, said } = may_ask;
    let Some(item) = item else { return Ok(without_request(asked, Event::Unanswered)) };

    // One request, one hop.
    let previous = previous(context, lease)?;
    if previous.as_ref().is_some_and(|page| page.error.as_deref() == Some(ErrorKind::Crashed.as_str())) {
        context.pages.suspects.add(lease.url.fingerprint(&context.pages.key));
    }
    let is_new = previous.is_none() && !item.is_seed() && !item.has_head_seen();
    if is_new && context.pages.wanted.asks_head_first(lease.url.path_and_query()) {
        return Ok(ask_head(context, permit, asked, half_rate, evidence).await);
    }
    let kind = if item.is_resource() { RequestKind::Resource } else { RequestKind::Page };
    let conditions = |previous| revisit::conditions(previous, &said, &context.pages.policy);
    let conditions = previous.as_deref().map(conditions).unwrap_or_default();
    let Answered { answer, requested, again, .. } = ask(context, permit, &lease.url, kind, conditions).await;
    let (response, requested) = match (answer, requested) {
        (Ok(response), Some(requested)) => (response, requested),
        (Ok(_), None) => return Ok(without_request(asked, Event::Unanswered)),
        (Err(error), request) if error.kind == ErrorKind::Local => {
            return Ok(local(error, request, asked, half_rate));
        }
        (Err(error), request) => {
            let event = match error.kind {
                _ if again => Event::Unanswered,
                ErrorKind::UnwantedType | ErrorKind::UnwantedSize => Event::Unwanted(UnwantedAnswer {
                    is_limit: error.kind == ErrorKind::UnwantedSize,
                    status: error.status.unwrap_or_default(),
                    words: error.detail,
                    robots: evidence,
                }),
                _ => Event::Failed(error, evidence),
            };
            return Ok(Outcome {
                request,
                robots_url: None,
                asked,
                half_rate,
                held: BacklogBytes::default(),
                captured: None,
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
    let (event, held) = match read(context, page, response, requested).await {
        Ok((visited, held)) => (Event::Page(Box::new(visited)), held),
        Err(error) => (Event::Failed(error, evidence), BacklogBytes::default()),
    };
    Ok(Outcome { request: Some(requested), robots_url: None, asked, half_rate, held, captured: None, event })
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

async fn read<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    page: PageContext,
    response: Response,
    requested: Requested,
) -> Result<(Visited, BacklogBytes), FetchError> {
    let failed = || FetchError::new(ErrorKind::Parse, "reading the page failed");
    let rules = Arc::clone(&context.pages);
    let bytes = response.body.len().max(response.wire_body.len());
    let _place = context.pages.read_pool.place(bytes).await.ok_or_else(failed)?;
    let reading = move || {
        let _noted = rules.noted(&page.url, &response.body);
        part::check(&page.url, &response)?;
        let mut visited = page::read(&rules, page, &response, requested);
        let held = rules.read_pool.hold(visited.measure());
        Ok((visited, held))
    };
    // Where reading takes less time than to wake another thread.
    if bytes <= read_pool::SMALL && context.pages.selectors.is_empty() {
        return catch_unwind(AssertUnwindSafe(reading)).map_err(|_| failed())?;
    }
    tokio::task::spawn_blocking(reading).await.map_err(|_| failed())?
}

/// The record of the last visit, in a crawl that visits again.
fn previous<F, S: Store>(
    context: &VisitContext<F, S>,
    lease: &Lease,
) -> Result<Option<Box<PageRecord>>, StoreError> {
    let Some(store) = context.revisiting.store() else { return Ok(None) };
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
    let Answered { answer, ended, requested, again, .. } =
        ask(context, permit, url, RequestKind::SiteFile, Vec::new()).await;
    if again {
        let captured = capture(context, url, RequestKind::SiteFile, &answer, requested)?;
        return Ok(Outcome { captured, ..unanswered(requested, asked, half_rate) });
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
        let _noted = answer.as_ref().ok().and_then(|response| known.pages.noted(&asked_for, &response.body));
        let may_ask = |target: &CrawlUrl| {
            Ok(match known.robots.lookup(&target.origin(), ended)? {
                Known::Fresh(entry) | Known::Stale(entry) => {
                    entry.robots.verdict(target.path_and_query()).allowed
                }
                Known::Missing => false,
            })
        };
        let step = known.consent.answered(file, &asked_for, &answer, known.retries, ended.wall, may_ask)?;
        let record = match step {
            consent::SiteFileStep::Known(record) => {
                // Here, where it is noted: whatever it does is done before it is stored.
                known.consent.try_reading(&record);
                Some(record)
            }
            consent::SiteFileStep::Again => None,
        };
        let size = record.as_ref().map(Size::of).unwrap_or_default();
        let captured = capture(&known, &asked_for, RequestKind::SiteFile, &answer, requested)?;
        Ok((record, size, answer, captured))
    };
    let (record, size, answer, captured) = reading(bytes, read).await?;
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
    Ok(Outcome { request: requested, robots_url: None, asked, half_rate, held, captured, event })
}

/// Looks up where the host of a permit is, without asking it anything.
pub async fn look_up<F: Fetch, S: Store>(context: &Arc<VisitContext<F, S>>, permit: &Permit) -> Outcome {
    let request = FetchRequest::new(permit, permit.lease().url.to_url(), RequestKind::Page);
    without_request(None, Event::Addresses(context.fetch.addresses(&request).await))
}

fn unanswered(request: Option<Requested>, asked: Option<Delay>, half_rate: bool) -> Outcome {
    Outcome {
        request,
        robots_url: None,
        asked,
        half_rate,
        held: BacklogBytes::default(),
        captured: None,
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
        captured: None,
        event: Event::Local(error),
    }
}

fn without_request(asked: Option<Delay>, event: Event) -> Outcome {
    Outcome {
        request: None,
        robots_url: None,
        asked,
        half_rate: false,
        held: BacklogBytes::default(),
        captured: None,
        event,
    }
}
