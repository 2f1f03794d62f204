//! The outcome of a visit, as plain values, for the engine.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::read_pool::BacklogBytes;
use super::visited::Visited;
use crate::encoded::Size;
use crate::fetch::{self, Booked, ErrorKind, FetchError, FetchResult, Truncation};
use crate::frontier::{Booking, Lease, RobotsFetch};
use crate::pace::Delay;
use crate::post::HopAnswer;
use crate::record::{RobotsEvidence, SiteFile, SiteFileRecord};
use crate::robots_cache::Entry;
use crate::warc::Encoded;
use page::clock::Now;
use page::sitemap::{Sitemap, SitemapFormat, SitemapUrl};
use page::url::CrawlUrl;
use walls::Verdict;

/// What a visit came to.
#[derive(Debug)]
pub struct Outcome {
    /// When the last byte of a response had arrived, if a request was made.
    pub request: Option<Requested>,
    /// The URL that was asked for, where that was one of a robots.txt and so isn't the lease's own.
    pub robots_url: Option<CrawlUrl>,
    /// The gap that the origin's robots.txt asks for.
    pub asked: Option<Delay>,
    /// The usual rate is to be halved: an unreachable robots.txt is applied as last fetched.
    pub half_rate: bool,
    /// What this takes in memory, until it is committed.
    pub held: BacklogBytes,
    /// For the archive, where the request wasn't for a page.
    pub captured: Option<Captured>,
    /// What happened.
    pub event: Event,
}

/// Records for the archive, and the memory that they take until they are committed.
#[derive(Debug)]
pub struct Captured {
    /// The URL that was asked for.
    pub url: CrawlUrl,
    /// The records.
    pub encoded: Encoded,
    /// What they take.
    pub held: BacklogBytes,
}

/// Times of a request.
#[derive(Debug, Clone, Copy)]
pub struct Requested {
    /// When it was sent.
    pub started: Now,
    /// When it was over.
    pub ended: Now,
    /// Bytes of the body as sent.
    pub bytes: u64,
    /// The status; none if no response came.
    pub status: Option<u16>,
    /// `Retry-After` of the response, whatever its status.
    pub retry_after: Option<Duration>,
    /// The address that answered, or that was tried where it was the only one.
    pub address: Option<IpAddr>,
    /// The booked address took no connection.
    pub unreached: bool,
    /// The response was given up after its head: its connection was closed before the server had sent everything.
    pub given_up: bool,
}

impl Requested {
    pub(super) fn new(started: Now, ended: Now, answer: &FetchResult, booking: Option<Booking>) -> Self {
        let booked = booking.and_then(|booking| match booking.at {
            Booked::At(address) => Some(address),
            Booked::Nowhere => None,
        });
        let (headers, bytes, status, address) = match answer {
            Ok(response) => (
                &response.headers,
                response.wire_body.len() as u64,
                Some(response.status),
                response.remote.map(|addr| addr.ip()).or(booked),
            ),
            // No name server was asked, nor is this machine the one that the request went to.
            Err(error) if matches!(error.kind, ErrorKind::Dns | ErrorKind::Local) => {
                (&error.headers, error.received, None, None)
            }
            Err(error) => (&error.headers, error.received, None, booked),
        };
        let unreached = booked.is_some()
            && answer.as_ref().is_err_and(|error| {
                !error.connected && matches!(error.kind, ErrorKind::Connection | ErrorKind::Timeout)
            });
        let retry_after = fetch::retry_after(headers, ended.wall);
        let given_up = match answer {
            Ok(response) => matches!(
                response.truncated,
                Some(Truncation::WireLimit | Truncation::Disconnect | Truncation::Coding)
            ),
            Err(error) => error.status.is_some(),
        };
        Self { started, ended, bytes, status, retry_after, address, unreached, given_up }
    }
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// A request for a robots.txt had no response. It is asked for again after a pause; nothing is known yet.
    RobotsAgain(FetchError),
    /// A robots.txt became known; the URL is still to be visited.
    Robots(Arc<Entry>),
    /// The robots.txt of the host that was asked became known, before a hop of another origin's to it. The hop is still to be
    /// made, or that origin counts as unreachable by it.
    RobotsBefore(Arc<Entry>, Result<RobotsFetch, Arc<Entry>>),
    /// A robots.txt redirects: another URL has to be asked first.
    RobotsHop(RobotsFetch),
    /// What came of a hop that another partition of a cluster's crawl waits for.
    HopForOther(Box<HopAnswer>),
    /// robots.txt forbids the URL.
    Denied(RobotsEvidence),
    /// robots.txt allows the URL, and nothing more was wanted.
    Judged(RobotsEvidence),
    /// A file in which the site speaks of uses was asked for; the URL is still to be visited.
    SiteFile(Box<SiteFileAnswer>),
    /// The site denies every declared purpose in words.
    Refused(Vec<meta::consent::Statement>),
    /// The host has to wait.
    Wait(Delay, String),
    /// As [`Event::Wait`], for an origin whose robots.txt was never reachable: another one of the host may respond.
    NeverKnown(Delay, String),
    /// The host's addresses became known, in the order in which they are to be tried; the URL is still to be visited.
    Addresses(Vec<IpAddr>),
    /// The host asks for a longer gap than is waited for.
    TooSlow(Delay),
    /// A response came, and was read.
    Page(Box<Visited>),
    /// The answer to a request for a sitemap came, and was read.
    Sitemap(Box<SitemapRead>),
    /// The server closed a connection that was kept, perhaps after it had read the request, or the booked address of several
    /// took no connection: asked again at the next turn.
    Unanswered,
    /// The head of a URL that may be large was asked for, and nothing in it refuses the URL, which is still to be visited.
    Head(Box<HeadAnswer>),
    /// The head of a response says that it isn't wanted.
    Unwanted(UnwantedAnswer),
    /// No response came.
    Failed(FetchError, RobotsEvidence),
    /// This machine had no resources for the request or its response: that says nothing about the site.
    Local(FetchError),
}

impl Event {
    /// The status of a response that wasn't read to its end.
    pub(crate) fn status_of_unfinished(&self) -> Option<u16> {
        match self {
            Self::Unwanted(answer) => Some(answer.status),
            Self::Failed(error, _) | Self::RobotsAgain(error) => error.status,
            Self::Head(answer) => answer.failure.as_ref()?.status,
            Self::SiteFile(answer) => answer.failure.as_ref()?.status,
            _ => None,
        }
        .filter(|status| *status > 0)
    }
}

/// A response that isn't wanted.
#[derive(Debug)]
pub struct UnwantedAnswer {
    /// A limit refuses it; else the types that the crawl keeps.
    pub is_limit: bool,
    /// Its status.
    pub status: u16,
    /// What it is, and which setting refuses it, in words.
    pub words: String,
    /// What robots.txt said.
    pub robots: RobotsEvidence,
}

/// What a HEAD request came to that refuses nothing.
#[derive(Debug)]
pub struct HeadAnswer {
    /// What it said, in words.
    pub words: String,
    /// The status, if there was a response.
    pub status: Option<u16>,
    /// Why there was no response.
    pub failure: Option<FetchError>,
    /// What robots.txt said.
    pub robots: RobotsEvidence,
}

/// What a request for a file of the site came to.
#[derive(Debug)]
pub struct SiteFileAnswer {
    /// Which file.
    pub file: SiteFile,
    /// The URL that was asked for.
    pub url: CrawlUrl,
    /// The version to be stored; none where it has to be asked for again.
    pub record: Option<Arc<SiteFileRecord>>,
    /// What that record takes encoded; 0 without one.
    pub(crate) size: Size,
    /// The status, if there was a response.
    pub status: Option<u16>,
    /// Why there was no usable response.
    pub failure: Option<FetchError>,
}

/// Some URLs of a sitemap that is still being read.
#[derive(Debug)]
pub struct SitemapPart {
    /// The lease of the sitemap.
    pub lease: Lease,
    /// Format of the sitemap.
    pub form: SitemapFormat,
    /// URLs of this part, in the order in which they are queued.
    pub urls: Vec<SitemapUrl>,
    /// Bytes of the whole response, as transferred.
    pub bytes: u64,
    /// What they take in memory, until they are committed.
    pub held: BacklogBytes,
}

/// Where visits hand over the URLs of large sitemaps. A visit waits there until its engine has taken them. Boxed: a channel keeps space for 32.
pub type SitemapParts = tokio::sync::mpsc::Sender<Box<SitemapPart>>;

/// The answer to a request for a sitemap, read.
#[derive(Debug)]
pub struct SitemapRead {
    /// What robots.txt said.
    pub robots: RobotsEvidence,
    /// Its status.
    pub status: u16,
    /// Bytes of the body as decoded.
    pub bytes: u64,
    /// Where it redirects to: none if it doesn't, an error with the text if that is no http URL.
    pub redirect: Option<Result<CrawlUrl, String>>,
    /// What a status of 2xx brought: of its URLs those that were not handed over before.
    pub sitemap: Option<Sitemap>,
    /// What was sent in its place, where that is a wall for certain.
    pub wall: Option<Verdict>,
}
