//! One request and its response as two WARC records.

use super::digest::sha1;
use super::fields::{Fields, date, record_id};
use super::member;
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
    /// Returns the word that stands in `WARC-Truncated`.
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

/// Encodes an exchange as two gzip members.
///
/// CPU work: belongs on a thread that may block. Cost: about 0.2 ms for a page of 42 KB, a tenth of that where the body came compressed
/// (it is stored as it is). A pure function: equal exchanges give equal octets.
pub fn encode(exchange: &Exchange<'_>) -> Encoded {
    let head = http_head(exchange);
    let body = exchange.wire_body;
    let block_digest = sha1(&[&head, body]);
    let payload_digest = sha1(&[body]);
    let nanosecond = exchange.fetched_at.as_nanosecond().to_be_bytes();
    let identity: [&[u8]; 4] =
        [exchange.url.as_bytes(), &nanosecond, block_digest.as_bytes(), exchange.request_head];
    let id_of = |kind: &[u8]| record_id(&[kind, identity[0], identity[1], identity[2], identity[3]]);
    let response_id = id_of(b"response");

    let mut fields = Fields::new("response");
    say_where(&mut fields, exchange, &response_id);
    if let Some(protocol) = protocol(exchange.version) {
        fields.add("WARC-Protocol", protocol);
    }
    if let Some(why) = exchange.truncated {
        fields.add("WARC-Truncated", why.as_str());
    }
    fields.add("WARC-Payload-Digest", &payload_digest);
    fields.add("WARC-Block-Digest", &block_digest);
    fields.add("Content-Type", "application/http;msgtype=response");
    let record = fields.finish(head.len() + body.len());
    let dense = is_dense(exchange.headers);
    let mut bytes = Vec::with_capacity(if dense { body.len() + 2048 } else { body.len() / 3 + 2048 });
    member::append(&mut bytes, &[record.as_bytes(), &head, body, END], dense);
    let response_length = bytes.len() as u64;

    let request = request_block(exchange.request_head);
    let mut fields = Fields::new("request");
    say_where(&mut fields, exchange, &id_of(b"request"));
    fields.add("WARC-Concurrent-To", &response_id);
    fields.add("WARC-Block-Digest", &sha1(&[&request]));
    fields.add("Content-Type", "application/http;msgtype=request");
    let record = fields.finish(request.len());
    member::append(&mut bytes, &[record.as_bytes(), &request, END], false);

    Encoded { bytes, response_length, payload_digest, block_digest, record_id: response_id }
}

/// What ends every record (WARC 1.1 section 4).
const END: &[u8] = b"\r\n\r\n";

fn say_where(fields: &mut Fields, exchange: &Exchange<'_>, id: &str) {
    fields.add("WARC-Record-ID", id);
    fields.add("WARC-Date", &date(exchange.fetched_at));
    fields.add("WARC-Target-URI", exchange.url);
    if let Some(ip) = exchange.ip {
        fields.add("WARC-IP-Address", &ip.to_canonical().to_string());
    }
}

/// The token of the protocol, where the stored head can't name it itself.
fn protocol(version: &str) -> Option<&'static str> {
    match version {
        "HTTP/2" | "HTTP/2.0" => Some("h2"),
        "HTTP/3" | "HTTP/3.0" => Some("h3"),
        _ => None,
    }
}

/// Status line and header fields, so changed that they describe the stored body (see the module's own text).
fn http_head(exchange: &Exchange<'_>) -> Vec<u8> {
    let length = exchange.wire_body.len().to_string();
    let has_no_body = matches!(exchange.status, 100..=199 | 204 | 304);
    let any = |wanted: &str, is_so: &dyn Fn(&[u8]) -> bool| {
        exchange.headers.iter().any(|(name, value)| name.eq_ignore_ascii_case(wanted) && is_so(value))
    };
    let was_framed = any("transfer-encoding", &|_| true);
    let wrong_length = any("content-length", &|value| value.trim_ascii() != length.as_bytes());
    let replaced = !has_no_body && (was_framed || wrong_length);

    let mut head =
        Vec::with_capacity(64 + exchange.headers.iter().map(|(n, v)| n.len() + v.len() + 4).sum::<usize>());
    head.extend_from_slice(if exchange.version == "HTTP/1.0" { b"HTTP/1.0 " } else { b"HTTP/1.1 " });
    head.extend_from_slice(format!("{:03} ", exchange.status).as_bytes());
    extend_clean(&mut head, exchange.reason.as_bytes());
    head.extend_from_slice(b"\r\n");
    for (name, value) in exchange.headers {
        let is_framing = name.eq_ignore_ascii_case("transfer-encoding")
            || replaced && name.eq_ignore_ascii_case("content-length");
        if is_framing {
            head.extend_from_slice(b"X-Archive-Orig-");
        }
        head.extend(name.bytes().map(|octet| if is_tchar(octet) { octet } else { b'_' }));
        head.extend_from_slice(b": ");
        extend_clean(&mut head, value);
        head.extend_from_slice(b"\r\n");
    }
    if replaced {
        head.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Adds text of a server without what could end its line.
fn extend_clean(head: &mut Vec<u8>, text: &[u8]) {
    head.extend(text.iter().map(|octet| if matches!(octet, b'\r' | b'\n' | 0) { b' ' } else { *octet }));
}

/// Octets of a field name (RFC 9110 section 5.6.2).
fn is_tchar(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&octet)
}

fn request_block(head: &[u8]) -> Vec<u8> {
    let mut block = head.to_vec();
    while !block.ends_with(END) {
        block.extend_from_slice(if block.ends_with(b"\r\n") || block.is_empty() { b"\r\n" } else { END });
    }
    block
}

/// Asks whether compressing the body again would be in vain.
fn is_dense(headers: &[(String, Vec<u8>)]) -> bool {
    headers.iter().any(|(name, value)| {
        let value = value.trim_ascii().to_ascii_lowercase();
        if name.eq_ignore_ascii_case("content-encoding") {
            return !value.is_empty() && value != b"identity";
        }
        name.eq_ignore_ascii_case("content-type") && DENSE_TYPES.iter().any(|dense| value.starts_with(dense))
    })
}

/// Media types whose octets are compressed by nature.
const DENSE_TYPES: &[&[u8]] = &[
    b"image/jpeg",
    b"image/png",
    b"image/gif",
    b"image/webp",
    b"image/avif",
    b"video/",
    b"audio/",
    b"font/woff",
    b"application/zip",
    b"application/gzip",
    b"application/x-gzip",
    b"application/x-7z",
    b"application/x-bzip2",
];

#[cfg(test)]
mod tests {
    use super::{encode, http_head, request_block};
    use crate::warc::tests::exchange;

    /// Status, header fields received, length of the stored body, the same fields as stored.
    const HEADS: &[(u16, &[(&str, &str)], usize, &[(&str, &str)])] = &[
        (200, &[("content-length", "5")], 5, &[("content-length", "5")]),
        (200, &[], 5, &[]),
        (
            200,
            &[("Transfer-Encoding", "chunked"), ("X-A", "b")],
            5,
            &[("X-Archive-Orig-Transfer-Encoding", "chunked"), ("X-A", "b"), ("Content-Length", "5")],
        ),
        (
            200,
            &[("content-length", "9"), ("transfer-encoding", "chunked")],
            5,
            &[
                ("X-Archive-Orig-content-length", "9"),
                ("X-Archive-Orig-transfer-encoding", "chunked"),
                ("Content-Length", "5"),
            ],
        ),
        (
            200,
            &[("Content-Length", "5000")],
            5,
            &[("X-Archive-Orig-Content-Length", "5000"), ("Content-Length", "5")],
        ),
        (304, &[("Content-Length", "5000")], 0, &[("Content-Length", "5000")]),
        (204, &[("Transfer-Encoding", "chunked")], 0, &[("X-Archive-Orig-Transfer-Encoding", "chunked")]),
        (200, &[("Evil", "a\r\nSet-Cookie: b\n\0c")], 0, &[("Evil", "a  Set-Cookie: b  c")]),
        (200, &[("a b:\r\n", "c")], 0, &[("a_b___", "c")]),
    ];

    #[test]
    fn the_stored_head_describes_the_stored_body() {
        for (status, received, length, stored) in HEADS {
            let headers: Vec<_> = received
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
                .collect();
            let body = vec![b'x'; *length];
            let mut sent = exchange("http://a.test/", &headers, &body);
            (sent.status, sent.reason) = (*status, "");
            let fields: String = stored.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let head = String::from_utf8(http_head(&sent)).unwrap();
            assert_eq!(head, format!("HTTP/1.1 {status} \r\n{fields}\r\n"));
        }
    }

    #[test]
    fn http_2_is_written_as_1_1_and_named_beside_it() {
        for (version, line, protocol) in [
            ("HTTP/1.0", "HTTP/1.0 200 OK", None),
            ("HTTP/1.1", "HTTP/1.1 200 OK", None),
            ("HTTP/2", "HTTP/1.1 200 OK", Some("h2")),
            ("HTTP/2.0", "HTTP/1.1 200 OK", Some("h2")),
            ("HTTP/3.0", "HTTP/1.1 200 OK", Some("h3")),
        ] {
            let mut sent = exchange("http://a.test/", &[], b"");
            sent.version = version;
            assert!(http_head(&sent).starts_with(line.as_bytes()));
            assert_eq!(super::protocol(version), protocol);
        }
    }

    #[test]
    fn a_body_that_came_compressed_is_stored_as_it_is() {
        let body = vec![b'x'; 10_000];
        for (name, value, is_dense) in [
            ("Content-Encoding", "gzip", true),
            ("content-encoding", "br", true),
            ("Content-Encoding", "identity", false),
            ("Content-Type", "image/png", true),
            ("Content-Type", "Image/JPEG; q=1", true),
            ("Content-Type", "image/svg+xml", false),
            ("Content-Type", "text/html", false),
        ] {
            let headers = [(name.to_owned(), value.as_bytes().to_vec())];
            let length = encode(&exchange("http://a.test/", &headers, &body)).response_length;
            assert_eq!(length > 10_000, is_dense, "{name}: {value}");
        }
    }

    #[test]
    fn a_request_always_ends_its_head() {
        for (given, stored) in [
            ("", "\r\n\r\n"),
            ("GET / HTTP/1.1", "GET / HTTP/1.1\r\n\r\n"),
            ("GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\n\r\n"),
            ("GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"),
        ] {
            assert_eq!(request_block(given.as_bytes()), stored.as_bytes());
        }
    }
}
