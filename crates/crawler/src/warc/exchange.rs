//! One request and its response, as they are to be archived.

use std::net::IpAddr;

use super::member::{self, Stamp};

/// Why a body is shorter than what the server had (WARC 1.1 section 5.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncated {
    /// It was longer than the limit.
    Length,
    /// It took longer than the limit.
    Time,
    /// The connection ended early.
    Disconnect,
}

impl Truncated {
    /// Returns the value of `WARC-Truncated`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
        }
    }
}

/// A request and the response to it, as they are to be archived.
#[derive(Debug, Clone)]
pub struct Exchange<'a> {
    /// The URL requested, normalised, without userinfo and fragment.
    pub url: &'a str,
    /// The request's head in HTTP/1.1 form, as near as it is known; a missing blank line at its end is added.
    pub request_head: &'a [u8],
    /// Status line and header section of the response as sent, byte for byte. Without it (over HTTP/2) the head is written from
    /// what follows.
    pub response_head: Option<&'a [u8]>,
    /// Status code.
    pub status: u16,
    /// Protocol spoken: `HTTP/1.0`, `HTTP/1.1`, `HTTP/2`, `HTTP/3`.
    pub version: &'a str,
    /// Header fields of the response, in the order received.
    pub headers: &'a [(String, Vec<u8>)],
    /// The body before content decoding, transfer coding removed.
    pub wire_body: &'a [u8],
    /// Set if `wire_body` isn't the whole body.
    pub truncated: Option<Truncated>,
    /// What TLS was agreed on, as `WARC-Protocol` and `WARC-Cipher-Suite` name it: `tls/1.3`, `TLS_AES_256_GCM_SHA384`.
    pub tls: Option<(&'a str, &'a str)>,
    /// What the request is for, if that isn't a page: value of the field `Crawl-Purpose`.
    pub purpose: Option<&'a str>,
    /// Address of the server, where known.
    pub ip: Option<IpAddr>,
    /// When the request was sent.
    pub fetched_at: jiff::Timestamp,
}

#[cfg(test)]
impl<'a> Exchange<'a> {
    /// One for tests that look at its URL, body and time alone.
    pub(crate) fn example(url: &'a str, wire_body: &'a [u8], fetched_at: jiff::Timestamp) -> Self {
        Self {
            url,
            request_head: b"GET / HTTP/1.1\r\n\r\n",
            response_head: None,
            status: 200,
            version: "HTTP/1.1",
            headers: &[],
            wire_body,
            truncated: None,
            tls: None,
            purpose: None,
            ip: None,
            fetched_at,
        }
    }
}

/// Encoded records, ready to be appended to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// The members: the response's, then the request's.
    pub bytes: Vec<u8>,
    /// Length of the first of the members.
    pub response_length: u64,
    /// Where the writer enters the `warcinfo` record of the file.
    pub(super) stamps: Vec<Stamp>,
    /// Digest of the stored body: `sha1:` and base 32.
    pub payload_digest: String,
    /// Digest of the stored head and body: `sha1:` and base 32.
    pub block_digest: String,
    /// When the capture was made: the `WARC-Date` of each of its records (WARC 1.1 section 5.4).
    pub(super) at: jiff::Timestamp,
    /// `WARC-Record-ID` of the response, with its angle brackets.
    pub record_id: String,
    /// What a `revisit` record is made from; none without a response.
    pub(super) responded: Option<Box<Responded>>,
}

/// What of an encoded response a `revisit` record is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Responded {
    /// URL and date, for records that refer to it.
    pub(super) url: String,
    pub(super) date: String,
    /// Lines of the record's head, without version, type, digests and lengths.
    pub(super) lines: String,
    /// The HTTP head.
    pub(super) head: Vec<u8>,
    /// The body may be shared: it is whole, and not empty.
    pub(super) is_whole: bool,
}

impl Encoded {
    /// Enters the `warcinfo` record of the file that the records go to.
    pub(super) fn enter(&mut self, info_id: &str) {
        for stamp in &self.stamps {
            member::stamp(&mut self.bytes, stamp, info_id);
        }
    }
}
