//! Reads the response to a sitemap request, off the async threads and as a stream.

use std::io::{self, BufRead, Cursor, Read};
use std::sync::Arc;

use bytes::Bytes;
use robots::StatusClass;
use tokio::runtime::Handle;
use walls::Verdict;

use super::ask::{Answered, ask};
use super::capture::capture;
use super::outcome::{Captured, SitemapPart, SitemapParts};
use super::{BacklogBytes, Event, Outcome, Requested, SitemapRead, VisitContext, local};
use crate::config::Walls;
use crate::fetch::{ErrorKind, Fetch, FetchError, RequestKind, Response, SpooledBody, Truncation};
use crate::frontier::{Lease, Permit, Work};
use crate::pace::Delay;
use crate::record::RobotsEvidence;
use crate::store::{Store, StoreError};
use crate::wall;
use page::clean::clean_within;
use page::sitemap::{self, Sitemap, SitemapFormat, SitemapUrl};
use page::url::CrawlUrl;

/// Bytes kept of where a sitemap redirects to, if that is no http URL.
const LONGEST_REFERENCE: usize = 2_048;

/// Bytes of URLs that are handed over at a time.
const SLICE: usize = 512 << 10;

/// Bytes of a response that are looked at to tell a wall from what is no sitemap: no wall has more.
const WALL_BYTES: u64 = (128 << 10) + 1;

/// Bytes of a sitemap that are archived, as it was sent.
const ARCHIVED: usize = 8 << 20;

/// Asks for a sitemap. Nothing but robots.txt speaks of the use of a sitemap: it is read for its URLs and not kept.
pub(super) async fn ask_sitemap<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    half_rate: bool,
    permit: &Permit,
    asked: Option<Delay>,
    evidence: RobotsEvidence,
    parts: &SitemapParts,
) -> Result<Outcome, StoreError> {
    let url = &permit.lease().url;
    if matches!(&permit.lease().work, Work::Sitemap(record) if record.is_crashed()) {
        context.pages.suspects.add(url.fingerprint(&context.pages.key));
    }
    let Answered { answer, requested: request, again, spool, .. } =
        ask(context, permit, url, RequestKind::Sitemap, Vec::new()).await;
    let mut captured = match &answer {
        Ok(_) => None,
        Err(_) => capture(context, url, RequestKind::Sitemap, &answer, request)?,
    };
    let event = match answer {
        Ok(response) => {
            let body = spool.and_then(|spool| spool.take());
            let asked = Asked { lease: permit.lease().clone(), response, body, request };
            match read(context, asked, evidence.clone(), parts.clone()).await {
                Some((read, encoded)) => {
                    captured = encoded?;
                    Event::Sitemap(Box::new(read))
                }
                None => Event::Failed(
                    FetchError::new(ErrorKind::Protocol, "reading the sitemap failed"),
                    evidence,
                ),
            }
        }
        Err(error) if error.kind == ErrorKind::Local => {
            return Ok(Outcome { captured, ..local(error, request, asked, half_rate) });
        }
        Err(_) if again => Event::Unanswered,
        Err(error) => Event::Failed(error, evidence),
    };
    Ok(Outcome {
        request,
        robots_url: None,
        asked,
        half_rate,
        held: BacklogBytes::default(),
        captured,
        event,
    })
}

/// A sitemap that was asked for.
struct Asked {
    lease: Lease,
    response: Response,
    /// The body, where the response doesn't hold it.
    body: Option<SpooledBody>,
    request: Option<Requested>,
}

async fn read<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    asked: Asked,
    robots: RobotsEvidence,
    parts: SitemapParts,
) -> Option<(SitemapRead, Result<Option<Captured>, StoreError>)> {
    let _place = context.pages.read_pool.place_of_sitemap().await?;
    let context = Arc::clone(context);
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let Asked { lease, mut response, mut body, request } = asked;
        let url = lease.url.clone();
        let received = request.map_or(0, |request| request.bytes);
        let start = match &mut body {
            // Only builds for tests look at it.
            Some(body) if cfg!(debug_assertions) => body.wire(SLICE).unwrap_or_default().0,
            _ => response.body.clone(),
        };
        let _noted = context.pages.noted(&url, &start);
        let ok = StatusClass::of(response.status).is_success();
        let mut give = |form, urls: Vec<SitemapUrl>| {
            slices(urls).all(|(urls, bytes)| {
                runtime.block_on(context.pages.read_pool.less());
                // As text, and as what is written of it.
                let held = context.pages.read_pool.hold(2 * bytes);
                let lease = lease.clone();
                parts
                    .blocking_send(Box::new(SitemapPart { lease, form, urls, bytes: received, held }))
                    .is_ok()
            })
        };
        let sitemap = ok.then(|| {
            let mut sitemap = match stream(&response, body.as_mut()) {
                Ok(bytes) => {
                    let (base, is_cut) = (url.to_url(), response.truncated.is_some());
                    sitemap::read_parts(bytes, is_cut, &base, &context.pages.sitemap_limits, &mut give)
                }
                Err(error) => Sitemap::broken(&error),
            };
            if size(&sitemap.urls) > SLICE {
                give(sitemap.form, std::mem::take(&mut sitemap.urls));
            }
            sitemap
        });
        let is_other = sitemap.as_ref().is_none_or(|sitemap| sitemap.form == SitemapFormat::Other);
        let may_be_wall = is_other && context.pages.walls == Walls::Count;
        let wall = may_be_wall.then(|| wall(&url, &response, body.as_mut())).flatten();
        let read = SitemapRead {
            robots,
            status: response.status,
            bytes: sitemap.as_ref().map_or(0, |sitemap| sitemap.bytes),
            redirect: super::found::redirect_target(&url, &response)
                .map(|target| target.map_err(|text| clean_within(&text, LONGEST_REFERENCE).0)),
            sitemap,
            wall,
        };
        if let Some(body) = body.as_mut().filter(|_| context.pages.archive) {
            let (wire, is_whole) = body.wire(ARCHIVED).unwrap_or((Bytes::new(), false));
            response.wire_body = wire;
            if !is_whole {
                response.truncated = Some(Truncation::WireLimit);
            }
        }
        drop(body);
        (read, capture(&context, &url, RequestKind::Sitemap, &Ok(response), request))
    })
    .await
    .ok()
}

/// The wall that was sent in place of a sitemap, where it is one for certain.
fn wall(url: &CrawlUrl, response: &Response, body: Option<&mut SpooledBody>) -> Option<Verdict> {
    let mut start = Vec::new();
    stream(response, body).ok()?.take(WALL_BYTES).read_to_end(&mut start).ok()?;
    let response = Response { body: start.into(), ..response.clone() };
    // Many sites answer any URL with their start page, which may be nothing but scripts.
    let is_wall = |verdict: &Verdict| verdict.wall().is_some_and(|wall| wall != walls::Outcome::Shell);
    wall::verdict(url, walls::Asked::Sitemap, &response).filter(is_wall)
}

/// The bytes of a sitemap, with its content codings undone.
fn stream(response: &Response, body: Option<&mut SpooledBody>) -> io::Result<Box<dyn BufRead>> {
    Ok(match body {
        Some(body) => Box::new(body.reader()?),
        None => Box::new(Cursor::new(response.body.clone())),
    })
}

/// What URLs take in memory.
fn size(urls: &[SitemapUrl]) -> usize {
    urls.iter().map(size_of_one).sum()
}

fn size_of_one(entry: &SitemapUrl) -> usize {
    entry.url.as_str().len() + size_of::<SitemapUrl>()
}

/// Takes URLs apart, in order, with what each part takes in memory.
fn slices(urls: Vec<SitemapUrl>) -> impl Iterator<Item = (Vec<SitemapUrl>, usize)> {
    let mut urls = urls.into_iter();
    std::iter::from_fn(move || {
        let (mut slice, mut bytes) = (Vec::new(), 0);
        while bytes < SLICE
            && let Some(entry) = urls.next()
        {
            bytes += size_of_one(&entry);
            slice.push(entry);
        }
        (!slice.is_empty()).then_some((slice, bytes))
    })
}
