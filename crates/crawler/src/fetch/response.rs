//! One response, as it came over the wire.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use super::TlsUsed;
use super::body_budget::BodyPermit;

/// A header section: names in lower case, values as sent, one entry a field line.
///
/// In order of arrival by the first line of each name; lines of the same name are adjacent, in their order.
pub type FieldLines = Vec<(String, Vec<u8>)>;

/// `Retry-After` of a header section; the longest, where there are several.
pub(crate) fn retry_after(headers: &FieldLines, now: Timestamp) -> Option<Duration> {
    let lines = headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
    robots::access::retry_after(lines, now)
}

/// Why the body of a response isn't whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truncation {
    /// More bytes were on the wire than the limit allows.
    WireLimit,
    /// The body as decoded is larger than the limit allows.
    DecodedLimit,
}

/// A response with its body read.
#[derive(Clone)]
pub struct Response {
    /// The status code, 200-999 (1xx answers are passed over).
    pub status: u16,
    /// The version on the status line: `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`.
    pub version: &'static str,
    /// The header section, bounded in count and size by the settings.
    pub headers: FieldLines,
    /// The body as it was sent: without transfer coding, with content coding.
    pub wire_body: Bytes,
    /// The body with content codings undone. Shares its memory with `wire_body` where there was none.
    pub body: Bytes,
    /// The value of the Content-Encoding field, lower-case, when it names a coding other than `identity`.
    pub content_encoding: Option<String>,
    /// Set when a limit cut the body. `body` is then the beginning, up to that limit.
    pub truncated: Option<Truncation>,
    /// The address that answered.
    pub remote: Option<SocketAddr>,
    /// What TLS was agreed on; none without TLS.
    pub tls: Option<TlsUsed>,
    /// The request line and header section as sent, for the WARC request record. Ends with an empty line.
    ///
    /// A request over HTTP/2 is written down in the form of HTTP/1.1.
    pub request_head: Vec<u8>,
    /// The status line and header section as sent, byte for byte. None over HTTP/2, where a head has no text, and where
    /// twice `max_header_bytes` weren't enough.
    pub response_head: Option<Vec<u8>>,
    /// The time from the call to the last byte of the body.
    pub elapsed: Duration,
    /// What the bodies take of the memory budget that all responses share; returned when the response is dropped.
    pub permit: BodyPermit,
}

/// Shows the sizes of the bodies only.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("version", &self.version)
            .field("wire_body", &self.wire_body.len())
            .field("body", &self.body.len())
            .field("content_encoding", &self.content_encoding)
            .field("truncated", &self.truncated)
            .field("remote", &self.remote)
            .field("elapsed", &self.elapsed)
            .finish_non_exhaustive()
    }
}

impl Response {
    /// Returns the first value of the field `name` (lower case), when it is UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(n, _)| n == name)?;
        std::str::from_utf8(value).ok()
    }

    /// Iterates over the values of every field line `name` (lower case), in order of arrival, that are UTF-8.
    pub fn headers_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(n, _)| n == name).filter_map(|(_, v)| std::str::from_utf8(v).ok())
    }

    /// Iterates over all field lines as sent.
    pub fn lines(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// Returns the bytes of the response as transferred: status line, header section and body.
    pub fn sent_bytes(&self) -> usize {
        let lines = self.lines().map(|(name, value)| name.len() + value.len() + ": \r\n".len());
        "HTTP/1.1 200 \r\n\r\n".len() + lines.sum::<usize>() + self.wire_body.len()
    }

    /// Returns the Content-Type field as sent.
    pub fn content_type(&self) -> Option<&str> {
        self.header("content-type")
    }
}
