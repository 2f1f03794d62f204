//! One request and its response, as they are to be archived.

use std::net::IpAddr;

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
    /// Status code.
    pub status: u16,
    /// Reason phrase; empty if there was none.
    pub reason: &'a str,
    /// Protocol spoken: `HTTP/1.0`, `HTTP/1.1`, `HTTP/2`, `HTTP/3`.
    pub version: &'a str,
    /// Header fields of the response, in the order received.
    pub headers: &'a [(String, Vec<u8>)],
    /// The body before content decoding, transfer coding removed.
    pub wire_body: &'a [u8],
    /// Set if `wire_body` isn't the whole body.
    pub truncated: Option<Truncated>,
    /// Address of the server, where known.
    pub ip: Option<IpAddr>,
    /// When the request was sent.
    pub fetched_at: jiff::Timestamp,
}

/// Two encoded records, ready to be appended to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// The response's member, then the request's.
    pub bytes: Vec<u8>,
    /// Length of the first of the two members.
    pub response_length: u64,
    /// Digest of the stored body: `sha1:` and base 32.
    pub payload_digest: String,
    /// Digest of the stored head and body: `sha1:` and base 32.
    pub block_digest: String,
    /// `WARC-Record-ID` of the response, with its angle brackets.
    pub record_id: String,
}
