//! One response, as it came over the wire.

use std::borrow::Cow;
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

/// Whether a response of status 206 has the whole of what it is a range of: `Content-Range: bytes 0-9/10` and 10 bytes (RFC 9110
/// section 14.4). `length` is that of the body as sent.
pub(crate) fn is_whole_range(headers: &FieldLines, length: u64) -> bool {
    let mut ranges = headers.iter().filter(|(name, _)| name == "content-range");
    let (Some((_, range)), None) = (ranges.next(), ranges.next()) else { return false };
    let range = std::str::from_utf8(range).ok().and_then(|range| range.trim().split_once([' ', '\t']));
    let Some((unit, range)) = range else { return false };
    let numbers = range.trim().split_once('/').and_then(|(range, complete)| {
        let (first, last) = range.split_once('-')?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        Some((number(first)?, number(last)?, number(complete)?))
    });
    let Some((first, last, complete)) = numbers else { return false };
    unit.eq_ignore_ascii_case("bytes")
        && first == 0
        && last.checked_add(1) == Some(complete)
        && complete == length
}

/// Why the body of a response isn't whole, or can't be shown to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truncation {
    /// More bytes were on the wire than the limit allows.
    WireLimit,
    /// The body as decoded is larger than the limit allows.
    DecodedLimit,
    /// The connection ended before the length or the last chunk said so.
    Disconnect,
    /// The same, but the content coding shows that the body is whole: its Content-Length counts the decoded body, say.
    Framing,
    /// All data of the content coding is there, but not the trailer.
    Unfinished,
    /// The content coding ends within its data.
    Coding,
}

impl Truncation {
    /// Returns the word in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WireLimit => "wire",
            Self::DecodedLimit => "decoded",
            Self::Disconnect => "disconnect",
            Self::Framing => "framing",
            Self::Unfinished => "unfinished",
            Self::Coding => "coding",
        }
    }

    /// Returns whether a part of the body may be missing.
    pub fn is_cut(self) -> bool {
        !matches!(self, Self::Framing | Self::Unfinished)
    }
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
    /// Set when a limit cut the body, which is then the beginning, up to that limit, or when its end is missing.
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
    /// Returns whether a part of the body may be missing.
    pub fn is_cut(&self) -> bool {
        self.truncated.is_some_and(Truncation::is_cut)
    }

    /// Returns the first value of the field `name` (lower case), when it is UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(n, _)| n == name)?;
        std::str::from_utf8(value).ok()
    }

    /// Returns the first value of the field `name` (lower case) as a reference to a URL: bytes that aren't UTF-8 are percent-encoded.
    pub fn reference(&self, name: &str) -> Option<Cow<'_, str>> {
        let (_, value) = self.headers.iter().find(|(n, _)| n == name)?;
        Some(as_reference(value))
    }

    /// Iterates over the values of every field line `name` (lower case), as [`Response::reference`] gives the first one.
    pub fn references<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
        self.headers.iter().filter(move |(n, _)| n == name).map(|(_, value)| as_reference(value))
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

/// Text with a URL in it. What isn't UTF-8 is taken for bytes in another encoding, each of which is percent-encoded.
fn as_reference(value: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(value) {
        return text.into();
    }
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0').to_ascii_uppercase();
    let mut text = String::with_capacity(value.len() + 32);
    for byte in value {
        match byte {
            0x80.. => text.extend(['%', digit(byte >> 4), digit(byte & 15)]),
            _ => text.push(char::from(*byte)),
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_whole_if_nothing_lies_outside() {
        for (range, length, is_whole) in [
            ("bytes 0-9/10", 10, true),
            ("Bytes  0-9/10 ", 10, true),
            ("bytes 0-9/10", 9, false),
            ("bytes 0-9/*", 10, false),
            ("bytes 0-9/11", 10, false),
            ("bytes 1-10/10", 10, false),
            ("bytes */10", 10, false),
            ("pages 0-9/10", 10, false),
            ("bytes=0-9/10", 10, false),
            ("bytes 0-18446744073709551615/0", 0, false),
            ("", 0, false),
        ] {
            let line = ("content-range".to_owned(), range.as_bytes().to_vec());
            assert_eq!(is_whole_range(&vec![line.clone()], length), is_whole, "{range}");
            assert!(!is_whole_range(&vec![line.clone(), line], length));
        }
        assert!(!is_whole_range(&Vec::new(), 0));
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_percent_encoded() {
        for (value, text) in [
            (&b"/caf\xe9?\xa3=1"[..], "/caf%E9?%A3=1"),
            ("/caf\u{e9}".as_bytes(), "/caf\u{e9}"),
            (b"/a b%20\xff", "/a b%20%FF"),
        ] {
            assert_eq!(as_reference(value), text);
        }
    }
}
