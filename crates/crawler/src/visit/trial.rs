//! Reads a response of a suspected URL in a process of its own, before the crawl reads it: how it is handed over, and what the process does with it.
//! The same for archived responses that are read again.

use std::io::{self, Cursor};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::page::{self, PageContext};
use super::rules::PageRules;
use super::{Requested, VisitContext};
use crate::consent::{ConsentCache, SiteFileStep, SiteStatements};
use crate::fetch::{
    BodyPermit, ErrorKind, Fetch, FetchError, FetchResult, FieldLines, RequestKind, Response, Spool,
    SpooledBody, Truncation, decode_body, field_lines_of,
};
use crate::frontier::{QueuedUrl, RobotsFetch};
use crate::record::{RobotsEvidence, SiteFile};
use crate::robots_cache::{RobotsCache, RobotsStep};
use crate::store::Store;
use crate::suspects::{self, Noted, OpenBody, Suspects, TrialEnd};
use crate::warc::Record;
use ::page::clean::clean;
use ::page::clock::Now;
use ::page::sitemap;
use ::page::url::{CrawlUrl, Fingerprint, FingerprintKey};

/// What a body is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum What {
    Page,
    Robots,
    Sitemap,
    SiteFile,
    /// A page in the archive, whose text is read as well.
    Archived,
}

impl What {
    fn of(purpose: RequestKind) -> Option<Self> {
        match purpose {
            RequestKind::Page | RequestKind::Resource => Some(Self::Page),
            RequestKind::Robots => Some(Self::Robots),
            RequestKind::Sitemap => Some(Self::Sitemap),
            RequestKind::SiteFile => Some(Self::SiteFile),
            // No body.
            RequestKind::Head => None,
        }
    }
}

/// What is said of a body before it; JSON on one line.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    what: What,
    url: String,
    status: u16,
    headers: FieldLines,
    is_cut: bool,
    /// `Content-Encoding`, where the body is given as it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    coding: Option<String>,
}

/// Returns the answer, unless its URL is suspected and the trial process dies: then an error of kind `Crashed`. If no trial can be run, an error of
/// kind `Local`. `spool` has the body where the response doesn't.
pub(super) async fn unless_it_dies<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    url: &CrawlUrl,
    purpose: RequestKind,
    answer: FetchResult,
    spool: Option<&Spool>,
) -> FetchResult {
    let suspects = &context.pages.suspects;
    let fingerprint = || url.fingerprint(&context.pages.key);
    let (Ok(response), Some(what)) = (&answer, What::of(purpose)) else { return answer };
    let Some(trials) = suspects.trials_of(fingerprint) else { return answer };
    let spooled = spool.and_then(|spool| Some((spool.clone(), spool.sent()?)));
    let head = Head {
        what,
        url: url.to_string(),
        status: response.status,
        headers: response.headers.clone(),
        is_cut: response.is_cut(),
        coding: spooled.as_ref().and_then(|_| response.content_encoding.clone()),
    };
    let sent = spooled.as_ref().map(|(_, sent)| *sent);
    let body: OpenBody = if let Some((spool, _)) = spooled {
        Box::new(move || match spool.open() {
            Some(body) => Ok(Box::new(body?)),
            None => Err(io::ErrorKind::NotFound.into()),
        })
    } else {
        let body = response.body.clone();
        Box::new(move || Ok(Box::new(Cursor::new(body.clone()))))
    };
    let end = match serde_json::to_string(&head) {
        Ok(head) => trials.run(head, body).await,
        Err(error) => TrialEnd::Untried(error.to_string()),
    };
    suspects.tried(fingerprint(), &end);
    let (kind, words) = match end {
        TrialEnd::Survived => return answer,
        TrialEnd::Died(how) => {
            let (status, bytes) = (response.status, sent.unwrap_or(response.body.len() as u64));
            (
                ErrorKind::Crashed,
                format!("a process that read it alone ended with {how}; status {status}, {bytes} bytes"),
            )
        }
        TrialEnd::Untried(why) => (ErrorKind::Local, format!("no process can read it alone: {why}")),
    };
    let error = FetchError::new(kind, &words);
    Err(FetchError {
        connected: true,
        elapsed: response.elapsed,
        received: sent.unwrap_or(response.wire_body.len() as u64),
        ..error
    })
}

/// Reads archived responses again so that none of them stops a command for good: each is noted while it is read, and what an earlier process had
/// noted is read alone first.
#[derive(Debug)]
pub(crate) struct Rereading {
    suspects: Suspects,
    is_used: AtomicBool,
}

/// A response that isn't read again: a process that did nothing else died of it, or none could be started.
#[derive(Debug)]
pub(crate) struct Crashed;

impl Rereading {
    /// Notes are in the directory `root`; without one nothing is noted, and nobody suspected. `settings` are those of the crawl, as TOML.
    pub(crate) fn new(root: Option<&Path>, settings: impl FnOnce() -> Option<String>) -> Self {
        let settings = || settings().unwrap_or_default();
        let suspects = root.map_or_else(Suspects::default, |root| Suspects::of_archive(root, settings));
        Self { suspects, is_used: AtomicBool::new(false) }
    }

    /// Notes that the response at the beginning of this record of a file is being read, until the value that this returns is dropped. Where it is suspected it
    /// is read alone first; one that isn't to be read is reported.
    pub(crate) fn begin(&self, file: &str, record: &Record) -> Result<Option<Noted<'_>>, Crashed> {
        // Places are no secret.
        const KEY: FingerprintKey = FingerprintKey::new([0; 16]);
        self.is_used.store(true, Ordering::Relaxed);
        let place = Fingerprint(KEY.hash(&format!("{file} {}", record.offset)));
        if let Some(trials) = self.suspects.trials_of(|| place) {
            let url = record.field("WARC-Target-URI").unwrap_or_default();
            let end = archived(url, record).map_or(TrialEnd::Survived, |(head, body)| {
                let body = Bytes::copy_from_slice(body);
                trials.run_and_wait(&head, Box::new(move || Ok(Box::new(Cursor::new(body.clone())))))
            });
            self.suspects.tried(place, &end);
            let why = match end {
                TrialEnd::Survived => return Ok(self.suspects.note(place)),
                TrialEnd::Died(how) => format!("a process that read it alone ended with {how}"),
                TrialEnd::Untried(why) => format!("no process can read it alone: {why}"),
            };
            let url = clean(url);
            tracing::warn!(%url, %file, offset = record.offset, "this archived response isn't read: {why}");
            return Err(Crashed);
        }
        Ok(self.suspects.note(place))
    }
}

impl Drop for Rereading {
    fn drop(&mut self) {
        if self.is_used.load(Ordering::Relaxed) {
            self.suspects.finish(false);
        }
    }
}

/// What is handed over of an archived response; none where it isn't read as one.
fn archived<'a>(url: &str, record: &'a Record) -> Option<(String, &'a [u8])> {
    let (head, body) = record.http()?;
    let status = std::str::from_utf8(head).ok().and_then(|head| head.split(' ').nth(1)?.parse().ok());
    let headers = field_lines_of(head);
    let codings = headers.iter().filter(|(name, _)| name == "content-encoding");
    let codings: Vec<_> = codings.map(|(_, value)| String::from_utf8_lossy(value)).collect();
    let coding = (!codings.is_empty()).then(|| codings.join(","));
    let head = Head {
        what: What::Archived,
        url: url.to_owned(),
        status: status.unwrap_or(200),
        is_cut: record.field("WARC-Truncated").is_some(),
        headers,
        coding,
    };
    Some((serde_json::to_string(&head).ok()?, body))
}

/// Reads a body as a visit does, in the process that does nothing else. None where the head can't be read.
pub(crate) fn read_alone<S: Store>(
    mut rules: PageRules,
    robots: &RobotsCache<S>,
    consent: &ConsentCache<S>,
    head: &str,
    body: Bytes,
) -> Option<()> {
    let Head { what, url, status, headers, is_cut, coding } = serde_json::from_str(head).ok()?;
    let url = CrawlUrl::parse(&url).ok()?;
    let is_archived = matches!(what, What::Archived);
    rules.index |= is_archived;
    let body = if is_archived { decode_body(coding.as_deref(), &body) } else { body };
    let response = Response {
        status,
        version: "HTTP/1.1",
        headers,
        wire_body: body.clone(),
        body,
        content_encoding: None,
        truncated: is_cut.then_some(Truncation::DecodedLimit),
        remote: None,
        tls: None,
        response_head: None,
        request_head: Vec::new(),
        elapsed: Duration::ZERO,
        permit: BodyPermit::default(),
    };
    suspects::abort_on_mark(&response.body);
    let moment = Now { mono: Duration::ZERO, wall: jiff::Timestamp::UNIX_EPOCH };
    match what {
        What::Page | What::Archived => {
            let requested = Requested {
                started: moment,
                ended: moment,
                bytes: response.wire_body.len() as u64,
                status: Some(status),
                retry_after: None,
                address: None,
                unreached: false,
                given_up: false,
            };
            let page = PageContext {
                item: QueuedUrl::link(&url, 0, None),
                url,
                robots: RobotsEvidence::default(),
                noindex: None,
                said: SiteStatements::default(),
                previous: None,
            };
            let mut visited = page::read(&rules, page, &response, requested);
            visited.measure();
        }
        What::Robots => {
            let asked = RobotsFetch::new(url.origin(), url);
            if let Ok(RobotsStep::Known(entry)) = robots.answered(&asked, &Ok(response), moment) {
                entry.record_size();
            }
        }
        What::Sitemap => {
            let mut body = SpooledBody::in_memory(response.body, coding.as_deref());
            if let Ok(body) = body.reader() {
                sitemap::read_parts(body, is_cut, &url.to_url(), &rules.sitemap_limits, &mut |_, _| true);
            }
        }
        What::SiteFile => {
            let answer = Ok(response);
            for file in [SiteFile::TdmRep, SiteFile::AiTxt] {
                let step = consent.answered(file, &url, &answer, 0, moment.wall, |_| Ok(false));
                if let Ok(SiteFileStep::Known(record)) = step {
                    consent.try_reading(&record);
                }
            }
        }
    }
    Some(())
}
