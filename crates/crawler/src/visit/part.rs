//! Which incomplete responses are used.

use robots::StatusClass;

use crate::fetch::{ErrorKind, FetchError, Response, Truncation};
use page::extract::{self, Document};
use page::url::CrawlUrl;

/// Refuses a response that ends early, unless what came of it can be used: a page whose head is whole, or any response whose status
/// alone counts.
///
/// Cost: the head of such a page is read again; nothing for a whole one.
pub(super) fn check(url: &CrawlUrl, response: &Response) -> Result<(), FetchError> {
    let (kind, detail) = match response.truncated {
        Some(Truncation::Disconnect) => (ErrorKind::Truncated, "the connection ended before the body did"),
        Some(Truncation::Coding) => (ErrorKind::Decode, "the content coding ends before the body does"),
        _ => return Ok(()),
    };
    if !StatusClass::of(response.status).is_success() {
        return Ok(());
    }
    let document = Document::of(response.lines(), &response.body);
    if extract::has_whole_head(&document, &response.body, &url.to_url()) {
        return Ok(());
    }
    Err(FetchError {
        elapsed: response.elapsed,
        connected: true,
        status: Some(response.status),
        headers: response.headers.clone(),
        received: response.wire_body.len() as u64,
        ..FetchError::new(kind, detail)
    })
}
