//! Tells what a site sent instead of a page.

use walls::{Answer, Asked, Verdict, classify};

use crate::fetch::Response;
use page::url::CrawlUrl;

/// What a response is, as far as its status, header and body tell. None for 304: it is about a page that is known.
pub(crate) fn verdict(url: &CrawlUrl, asked: Asked, response: &Response) -> Option<Verdict> {
    if response.status == 304 {
        return None;
    }
    let headers = response.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
    let answer = Answer::new(response.status, url.as_str()).with_headers(headers);
    let answer = answer.with_body(&response.body).to(asked);
    Some(classify(&if response.is_cut() { answer.cut() } else { answer }))
}
