//! HTTP heads as archived.

use super::exchange::Exchange;

/// Status line and header fields, so changed that they describe the stored body (see the module's own text).
pub(super) fn response_head(exchange: &Exchange<'_>) -> Vec<u8> {
    match exchange.response_head {
        Some(sent) => as_sent(exchange, sent),
        None => written(exchange),
    }
}

/// The head byte for byte, except for the names of fields that the stored body makes untrue. A head whose lines don't end with CR LF
/// gets such ends, and loses other control characters that end a line: a reader has to find the body.
fn as_sent(exchange: &Exchange<'_>, sent: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = sent
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .skip_while(|line| line.is_empty())
        .collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let names: Vec<&[u8]> = lines.iter().map(|line| name_of(line)).collect();
    let values = lines.iter().zip(&names).map(|(line, name)| line.get(name.len() + 1..).unwrap_or_default());
    let framing = Framing::of(exchange, names.iter().map(|name| name.trim_ascii()).zip(values));
    let mut head = Vec::with_capacity(sent.len() + 64);
    for (index, (line, name)) in lines.iter().zip(&names).enumerate() {
        if index > 0 && framing.is_renamed(name.trim_ascii()) {
            head.extend_from_slice(ORIGINAL);
        }
        extend_clean(&mut head, line);
        head.extend_from_slice(b"\r\n");
    }
    framing.finish(&mut head);
    head
}

/// The name of a field line, up to its colon; empty for a line that continues another one, or is no field.
fn name_of(line: &[u8]) -> &[u8] {
    let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
    if name.len() == line.len() || line.starts_with(b" ") || line.starts_with(b"\t") { &[] } else { name }
}

/// A head in the form of HTTP/1.1 for a response that has none as text: over HTTP/2 there is no reason phrase, and names are in lower case.
fn written(exchange: &Exchange<'_>) -> Vec<u8> {
    let lines = exchange.headers.iter().map(|(name, value)| (name.as_bytes(), value.as_slice()));
    let framing = Framing::of(exchange, lines);
    let mut head =
        Vec::with_capacity(64 + exchange.headers.iter().map(|(n, v)| n.len() + v.len() + 4).sum::<usize>());
    head.extend_from_slice(if exchange.version == "HTTP/1.0" { b"HTTP/1.0 " } else { b"HTTP/1.1 " });
    head.extend_from_slice(format!("{:03} \r\n", exchange.status).as_bytes());
    for (name, value) in exchange.headers {
        if framing.is_renamed(name.as_bytes()) {
            head.extend_from_slice(ORIGINAL);
        }
        head.extend(name.bytes().map(|byte| if is_tchar(byte) { byte } else { b'_' }));
        head.extend_from_slice(b": ");
        extend_clean(&mut head, value);
        head.extend_from_slice(b"\r\n");
    }
    framing.finish(&mut head);
    head
}

/// What a field is renamed with that the stored body makes untrue.
const ORIGINAL: &[u8] = b"X-Archive-Orig-";

/// What of a head doesn't fit the stored body.
#[derive(Debug)]
struct Framing {
    length: usize,
    /// The length has to be stated again.
    is_replaced: bool,
}

impl Framing {
    fn of<'a>(exchange: &Exchange<'_>, mut lines: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Self {
        let length = exchange.wire_body.len();
        let has_no_body = matches!(exchange.status, 100..=199 | 204 | 304);
        let is_untrue = |(name, value): (&[u8], &[u8])| {
            name.eq_ignore_ascii_case(b"transfer-encoding")
                || name.eq_ignore_ascii_case(b"content-length")
                    && value.trim_ascii() != length.to_string().as_bytes()
        };
        let is_replaced = !has_no_body && lines.any(is_untrue);
        Self { length, is_replaced }
    }

    fn is_renamed(&self, name: &[u8]) -> bool {
        name.eq_ignore_ascii_case(b"transfer-encoding")
            || self.is_replaced && name.eq_ignore_ascii_case(b"content-length")
    }

    fn finish(&self, head: &mut Vec<u8>) {
        if self.is_replaced {
            head.extend_from_slice(format!("Content-Length: {}\r\n", self.length).as_bytes());
        }
        head.extend_from_slice(b"\r\n");
    }
}

/// Adds text of a server without what could end its line.
fn extend_clean(head: &mut Vec<u8>, text: &[u8]) {
    head.extend(text.iter().map(|byte| if matches!(byte, b'\r' | b'\n' | 0) { b' ' } else { *byte }));
}

/// Bytes of a field name (RFC 9110 section 5.6.2).
fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The request's head with the blank line that ends it.
pub(super) fn request_head(head: &[u8]) -> Vec<u8> {
    let mut block = head.to_vec();
    while !block.ends_with(b"\r\n\r\n") {
        block.extend_from_slice(if block.ends_with(b"\r\n") || block.is_empty() {
            b"\r\n".as_slice()
        } else {
            b"\r\n\r\n"
        });
    }
    block
}

#[cfg(test)]
mod tests {
    use super::{request_head, response_head};
    use crate::warc::tests::exchange;

    type HeaderFields = &'static [(&'static str, &'static str)];

    /// Status, header fields received, length of the stored body, the same fields as stored.
    const HEADS: &[(u16, HeaderFields, usize, HeaderFields)] = &[
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
            sent.status = *status;
            let fields: Vec<_> = stored.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let fields = fields.concat();
            let head = String::from_utf8(response_head(&sent)).unwrap();
            assert_eq!(head, format!("HTTP/1.1 {status} \r\n{fields}\r\n"));
        }
    }

    #[test]
    fn http_2_and_later_are_written_as_1_1() {
        for (version, line) in [
            ("HTTP/1.0", "HTTP/1.0 200 \r\n"),
            ("HTTP/1.1", "HTTP/1.1 200 \r\n"),
            ("HTTP/2", "HTTP/1.1 200 \r\n"),
            ("HTTP/3.0", "HTTP/1.1 200 \r\n"),
        ] {
            let mut sent = exchange("http://a.test/", &[], b"");
            sent.version = version;
            assert!(response_head(&sent).starts_with(line.as_bytes()));
        }
    }

    /// Head as sent, length of the stored body, head as stored.
    const SENT: &[(&str, usize, &str)] = &[
        (
            "HTTP/1.1 200 All Is Well\r\nSERVER:x \r\nset-cookie: a\r\nX-b:\tc\r\nSet-Cookie: d\r\nContent-length:5\r\n\r\n",
            5,
            "HTTP/1.1 200 All Is Well\r\nSERVER:x \r\nset-cookie: a\r\nX-b:\tc\r\nSet-Cookie: d\r\nContent-length:5\r\n\r\n",
        ),
        ("HTTP/1.1 200\r\n\r\n", 5, "HTTP/1.1 200\r\n\r\n"),
        (
            "HTTP/1.1 200 OK\r\nTRANSFER-encoding : chunked\r\nA: b\r\n\r\n",
            5,
            "HTTP/1.1 200 OK\r\nX-Archive-Orig-TRANSFER-encoding : chunked\r\nA: b\r\nContent-Length: 5\r\n\r\n",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nA: b\r\n Content-Length: 7\r\n\r\n",
            5,
            "HTTP/1.1 200 OK\r\nX-Archive-Orig-Content-Length: 9\r\nA: b\r\n Content-Length: 7\r\nContent-Length: 5\r\n\r\n",
        ),
        ("HTTP/1.1 200 OK\nA: b\n\n", 0, "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        ("HTTP/1.1 200 OK\r\nA: b\rc\0d\r\n\r\n", 0, "HTTP/1.1 200 OK\r\nA: b c d\r\n\r\n"),
        ("HTTP/1.1 200 OK\r\nno field\r\n: x\r\n\r\n", 0, "HTTP/1.1 200 OK\r\nno field\r\n: x\r\n\r\n"),
    ];

    #[test]
    fn a_head_is_stored_as_it_was_sent() {
        for (sent, length, stored) in SENT {
            let body = vec![b'x'; *length];
            let mut exchange = exchange("http://a.test/", &[], &body);
            exchange.response_head = Some(sent.as_bytes());
            assert_eq!(String::from_utf8(response_head(&exchange)).unwrap(), *stored);
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
            assert_eq!(request_head(given.as_bytes()), stored.as_bytes());
        }
    }
}
