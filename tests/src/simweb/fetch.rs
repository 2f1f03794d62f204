//! The simulated web behind the crawler's seam [`Fetch`].

use std::time::Duration;

use bytes::Bytes;
use crawler::fetch::{
    BodyPermit, ErrorKind, Fetch, FetchError, FetchRequest, FetchResult, RequestKind, Response, Truncation,
};
use tokio::time::Instant;

use super::answer::Reply;
use super::model::Failure;
use super::sim::SimWeb;

/// After this long a client of ours gives up.
const TIMEOUT: Duration = Duration::from_secs(30);
/// What a client of ours reads of a robots.txt (digest 2.4).
const ROBOTS_LIMIT: usize = 512_000;

impl Fetch for SimWeb {
    async fn fetch(&self, request: FetchRequest) -> FetchResult {
        let begun = Instant::now();
        if self.is_short() {
            return Err(FetchError::new(ErrorKind::Local, "Too many open files"));
        }
        let host = request.url.host_str().unwrap_or_default().to_owned();
        if self.is_down(&host) {
            return Err(FetchError::new(ErrorKind::Connection, "connection refused"));
        }
        let (answer, flight) = self.begin(&request.url);
        let wait = match answer.as_ref().map(|answer| &answer.reply) {
            Some(Reply::Failure(Failure::Timeout)) => TIMEOUT,
            _ => self.latency(&host),
        };
        pass(wait).await;
        let error = |kind, detail| {
            let mut error = FetchError::new(kind, detail);
            error.elapsed = begun.elapsed();
            error
        };
        let Some(answer) = answer else { return Err(error(ErrorKind::Dns, "no such host in this web")) };
        flight.answered(&answer);
        match answer.reply {
            Reply::Response { status, headers, body } => {
                Ok(response(&request, status, headers, body, begun.elapsed()))
            }
            Reply::Failure(Failure::Fault(kind, detail)) => Err(error(kind, detail)),
            Reply::Failure(Failure::Cut) => {
                let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
                let body = b"<html><title>Half</title><p>half of a page".to_vec();
                let whole = response(&request, 200, headers, body, begun.elapsed());
                Ok(Response { truncated: Some(Truncation::Disconnect), ..whole })
            }
            Reply::Failure(Failure::Panic) => panic!("a defect, simulated"),
            Reply::Failure(Failure::Refused) => Err(error(ErrorKind::Connection, "connection refused")),
            Reply::Failure(Failure::Truncated) => {
                let mut error = error(ErrorKind::Truncated, "connection closed within the body");
                error.connected = true;
                error.status = Some(200);
                Err(error)
            }
            Reply::Failure(Failure::Timeout | Failure::Status(..)) => {
                let mut error = error(ErrorKind::Timeout, "no answer");
                error.connected = true;
                Err(error)
            }
        }
    }
}

/// Lets simulated time pass.
#[expect(clippy::disallowed_methods, reason = "the response time of a simulated server, on the paused clock")]
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

fn response(
    request: &FetchRequest,
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    elapsed: Duration,
) -> Response {
    let mut body = Bytes::from(body);
    let mut truncated = None;
    if request.purpose == RequestKind::Robots && body.len() > ROBOTS_LIMIT {
        body.truncate(ROBOTS_LIMIT);
        truncated = Some(Truncation::DecodedLimit);
    }
    let path = &request.url[url::Position::BeforePath..];
    let host = request.url.host_str().unwrap_or_default();
    Response {
        status,
        version: "HTTP/1.1",
        headers: headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect(),
        wire_body: body.clone(),
        body,
        content_encoding: None,
        truncated,
        remote: None,
        tls: None,
        response_head: None,
        request_head: format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes(),
        elapsed,
        permit: BodyPermit::default(),
    }
}
