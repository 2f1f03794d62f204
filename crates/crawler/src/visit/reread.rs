//! Reads an archived response again, for a page whose record was lost.

use bytes::Bytes;
use jiff::Timestamp;

use super::Requested;
use super::page::{self, PageContext};
use super::rules::PageRules;
use super::visited::Visited;
use crate::consent::SiteStatements;
use crate::fetch::{BodyPermit, Response, Truncation, decode_body, field_lines_of, is_whole_range};
use crate::frontier::QueuedUrl;
use crate::record::RobotsEvidence;
use crate::suspects;
use crate::warc::Record;
use ::page::clock::Now;
use ::page::url::CrawlUrl;

/// Reads an archived response as the visit did: record and links, without its place in the archive. None where the record is
/// no response to this URL.
///
/// What robots.txt said isn't known any more; that it let the request pass, and that the page may be kept, is shown by the record's
/// being there. Of the body as decoded `most` bytes are read: what the visit had of it, where that is known.
pub(crate) fn reread(
    rules: &PageRules,
    url: &CrawlUrl,
    record: &Record,
    most: Option<u64>,
) -> Option<Visited> {
    let at: Timestamp = record.field("WARC-Date")?.parse().ok()?;
    let (head, body) = record.http()?;
    let line = std::str::from_utf8(head.split(|byte| *byte == b'\r').next()?).ok()?;
    let mut status = line.split(' ').nth(1)?.parse().ok()?;
    let headers = field_lines_of(head);
    if status == 206 && is_whole_range(&headers, body.len() as u64) {
        status = 200;
    }
    let codings = headers.iter().filter(|(name, _)| name == "content-encoding");
    let codings: Vec<&str> = codings.filter_map(|(_, value)| std::str::from_utf8(value).ok()).collect();
    let encoding = (!codings.is_empty()).then(|| codings.join(","));
    let mut whole = decode_body(encoding.as_deref(), body);
    let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let cut = (whole.len() > most).then_some(Truncation::DecodedLimit);
    whole.truncate(most);
    suspects::abort_on_mark(&whole);
    let response = Response {
        status,
        version: "HTTP/1.1",
        headers,
        wire_body: Bytes::copy_from_slice(body),
        body: whole,
        content_encoding: encoding,
        truncated: cut.or_else(|| {
            let why = record.field("WARC-Truncated")?;
            Some(if why == "disconnect" { Truncation::Disconnect } else { Truncation::WireLimit })
        }),
        remote: None,
        tls: None,
        response_head: Some(head.to_vec()),
        request_head: Vec::new(),
        elapsed: std::time::Duration::ZERO,
        permit: BodyPermit::default(),
    };
    let moment = Now { mono: std::time::Duration::ZERO, wall: at };
    let requested = Requested {
        started: moment,
        ended: moment,
        bytes: body.len() as u64,
        status: Some(status),
        retry_after: None,
        address: None,
        unreached: false,
        given_up: false,
    };
    let page = PageContext {
        url: url.clone(),
        item: QueuedUrl::link(url, 0, None),
        robots: RobotsEvidence {
            reason: "read again from the archive".to_owned(),
            ..RobotsEvidence::default()
        },
        noindex: None,
        said: SiteStatements::default(),
        previous: None,
    };
    Some(page::read(rules, page, &response, requested))
}
