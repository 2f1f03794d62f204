//! Reads the response to a sitemap request, off the async threads.

use std::sync::Arc;

use robots::StatusClass;

use super::ask::{Answered, ask};
use super::capture::capture;
use super::outcome::Captured;
use super::{BacklogBytes, Event, Outcome, Requested, SitemapRead, VisitContext, local};
use crate::clean::clean_within;
use crate::fetch::{ErrorKind, Fetch, FetchError, RequestKind, Response};
use crate::frontier::{Permit, Work};
use crate::pace::Delay;
use crate::record::RobotsEvidence;
use crate::sitemap;
use crate::store::{Store, StoreError};
use crate::url::CrawlUrl;

/// Bytes kept of where a sitemap redirects to, if that is no http URL.
const LONGEST_REFERENCE: usize = 2_048;

/// Asks for a sitemap. Nothing but robots.txt speaks of the use of a sitemap: it is read for its URLs and not kept.
pub(super) async fn ask_sitemap<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    half_rate: bool,
    permit: &Permit,
    asked: Option<Delay>,
    evidence: RobotsEvidence,
) -> Result<Outcome, StoreError> {
    let url = &permit.lease().url;
    if matches!(&permit.lease().work, Work::Sitemap(record) if record.is_crashed()) {
        context.pages.suspects.add(url.fingerprint(&context.pages.key));
    }
    let Answered { answer, requested: request, again, .. } =
        ask(context, permit, url, RequestKind::Sitemap, Vec::new()).await;
    let mut captured = match &answer {
        Ok(_) => None,
        Err(_) => capture(context, url, RequestKind::Sitemap, &answer, request)?,
    };
    let event = match answer {
        Ok(response) => match read(context, url, response, request, evidence.clone()).await {
            Some((read, encoded)) => {
                captured = encoded?;
                Event::Sitemap(Box::new(read))
            }
            None => {
                Event::Failed(FetchError::new(ErrorKind::Protocol, "reading the sitemap failed"), evidence)
            }
        },
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

async fn read<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    url: &CrawlUrl,
    response: Response,
    requested: Option<Requested>,
    robots: RobotsEvidence,
) -> Option<(SitemapRead, Result<Option<Captured>, StoreError>)> {
    let _place = context.pages.read_pool.place(response.body.len().max(response.wire_body.len())).await?;
    let url = url.clone();
    let limits = context.pages.sitemap_limits;
    let context = Arc::clone(context);
    tokio::task::spawn_blocking(move || {
        let _noted = context.pages.noted(&url, &response.body);
        let ok = StatusClass::of(response.status).is_success();
        let is_cut = response.truncated.is_some();
        let sitemap = ok.then(|| sitemap::read(&response.body, is_cut, &url.to_url(), &limits));
        let read = SitemapRead {
            robots,
            status: response.status,
            bytes: response.body.len() as u64,
            redirect: super::found::redirect_target(&url, &response)
                .map(|target| target.map_err(|text| clean_within(&text, LONGEST_REFERENCE).0)),
            sitemap,
        };
        let answer = Ok(response);
        (read, capture(&context, &url, RequestKind::Sitemap, &answer, requested))
    })
    .await
    .ok()
}
