//! Hops of a robots.txt's redirects to hosts of other partitions. The owner of the host makes the request, with that host's pace and under its
//! own lease; what comes of it goes back to the partition of the site whose robots.txt is looked for.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::fetch::{BodyPermit, ErrorKind, FetchError, FetchResult, FieldLines, Response};
use crate::frontier::RobotsFetch;
use page::ids::HopId;
use page::url::CrawlUrl;

/// A hop that another partition is asked to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopRequest {
    /// Which one it is, for who asks.
    pub id: HopId,
    /// A URL of the origin whose robots.txt is looked for.
    origin: String,
    /// What is to be asked for.
    url: String,
    /// The URLs so far, the first authority's robots.txt first.
    hops: Vec<String>,
}

impl HopRequest {
    /// The hop of a robots fetch.
    pub fn new(id: HopId, robots_fetch: &RobotsFetch) -> Self {
        Self {
            id,
            origin: format!("{}/", robots_fetch.origin),
            url: robots_fetch.url.to_string(),
            hops: robots_fetch.hops.clone(),
        }
    }

    /// The robots fetch, for who makes the request; none where its URLs can't be read.
    pub fn robots_fetch(self) -> Option<RobotsFetch> {
        let origin = CrawlUrl::parse(&self.origin).ok()?.origin();
        let url = CrawlUrl::parse(&self.url).ok()?;
        Some(RobotsFetch { origin, url, hops: self.hops, judged: false, for_other: Some(self.id) })
    }
}

/// What came of a hop that another partition made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopAnswer {
    /// Which one it is.
    pub id: HopId,
    /// When it was over, in milliseconds of Unix time.
    at_ms: i64,
    /// What came of it.
    pub came: Came,
}

/// What came of a hop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Came {
    /// A response.
    Response {
        /// The status.
        status: u16,
        /// The header section.
        headers: FieldLines,
        /// The body, decoded.
        body: Vec<u8>,
    },
    /// A failure.
    Failure {
        /// The name of its kind.
        kind: String,
        /// The particulars.
        detail: String,
        /// Whether anything of the request may have reached the server.
        connected: bool,
        /// The status, if there was one.
        status: Option<u16>,
    },
    /// It wasn't made, for this reason.
    Refused(String),
}

impl HopAnswer {
    /// What a request came to that was over then.
    pub fn new(id: HopId, at: Timestamp, answer: &FetchResult) -> Self {
        let came = match answer {
            Ok(response) => Came::Response {
                status: response.status,
                headers: response.headers.clone(),
                body: response.body.to_vec(),
            },
            Err(error) => Came::Failure {
                kind: error.kind.as_str().to_owned(),
                detail: error.detail.clone(),
                connected: error.connected,
                status: error.status,
            },
        };
        Self { id, at_ms: at.as_millisecond(), came }
    }

    /// The hop isn't made.
    pub fn refused(id: HopId, at: Timestamp, reason: String) -> Self {
        Self { id, at_ms: at.as_millisecond(), came: Came::Refused(reason) }
    }

    /// When it was over.
    pub fn at(&self) -> Timestamp {
        Timestamp::from_millisecond(self.at_ms).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// About how many bytes its letter has.
    pub fn bytes(&self) -> usize {
        match &self.came {
            Came::Response { headers, body, .. } => {
                headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>()
                    + body.len()
                    + 64
            }
            Came::Failure { detail: text, .. } | Came::Refused(text) => text.len() + 64,
        }
    }
}

impl Came {
    /// The answer as if it had been got here; else the reason for which nothing was asked.
    pub fn into_answer(self) -> Result<FetchResult, String> {
        match self {
            Self::Response { status, headers, body } => Ok(Ok(Response {
                status,
                version: "HTTP/1.1",
                headers,
                wire_body: Vec::new().into(),
                body: body.into(),
                content_encoding: None,
                truncated: None,
                remote: None,
                tls: None,
                request_head: Vec::new(),
                response_head: None,
                elapsed: std::time::Duration::ZERO,
                permit: BodyPermit::default(),
            })),
            Self::Failure { kind, detail, connected, status } => {
                let kind = ErrorKind::of_word(&kind).unwrap_or(ErrorKind::Connection);
                Ok(Err(FetchError { connected, status, ..FetchError::new(kind, &detail) }))
            }
            Self::Refused(reason) => Err(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: HopId = HopId { part: 3, fence: 2, number: 7 };

    #[test]
    fn a_hop_comes_out_as_it_went_in() {
        let origin = CrawlUrl::parse("https://a.test:8443/").unwrap().origin();
        let url = CrawlUrl::parse("http://b.test/robots.txt?of=a").unwrap();
        let hops = vec!["https://a.test:8443/robots.txt".to_owned()];
        let robots_fetch = RobotsFetch { hops, ..RobotsFetch::new(origin, url) };
        let request = HopRequest::new(ID, &robots_fetch);
        let read: HopRequest = postcard::from_bytes(&postcard::to_allocvec(&request).unwrap()).unwrap();
        assert_eq!(read.robots_fetch(), Some(RobotsFetch { for_other: Some(ID), ..robots_fetch }));
        let unreadable = HopRequest { url: "nowhere".to_owned(), ..request };
        assert_eq!(unreadable.robots_fetch(), None);
    }

    #[test]
    fn an_answer_comes_out_as_it_went_in() {
        let at: Timestamp = "2026-03-01T12:00:00.5Z".parse().unwrap();
        let headers = vec![("location".to_owned(), b"/\xff".to_vec())];
        let came = Came::Response { status: 301, headers: headers.clone(), body: b"User-agent: *".to_vec() };
        let answer = HopAnswer::new(ID, at, &came.clone().into_answer().unwrap());
        assert_eq!((answer.id, answer.at(), &answer.came), (ID, at, &came));
        assert!(answer.bytes() >= 13 + 8 + 2);
        let read: HopAnswer = postcard::from_bytes(&postcard::to_allocvec(&answer).unwrap()).unwrap();
        let response = read.came.into_answer().unwrap().unwrap();
        assert_eq!(
            (response.status, response.headers, &response.body[..]),
            (301, headers, &b"User-agent: *"[..])
        );

        let error = FetchError {
            connected: true,
            status: Some(200),
            ..FetchError::new(ErrorKind::Truncated, "the connection ended")
        };
        let failed = HopAnswer::new(ID, at, &Err(error.clone())).came.into_answer().unwrap();
        assert_eq!(failed.unwrap_err(), error);
        let refused = HopAnswer::refused(ID, at, "no".to_owned()).came.into_answer();
        assert_eq!(refused.unwrap_err(), "no");
    }
}
