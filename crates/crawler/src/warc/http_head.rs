//! HTTP heads as archived.

use super::exchange::Exchange;

/// Status line and header fields, so changed that they describe the stored body (see the module's own text).
pub(super) fn response_head(exchange: &Exchange<'_>) -> Vec<u8> {
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
        head.extend(name.bytes().map(|byte| if is_tchar(byte) { byte } else { b'_' }));
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
            (sent.status, sent.reason) = (*status, "");
            let fields: Vec<_> = stored.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let fields = fields.concat();
            let head = String::from_utf8(response_head(&sent)).unwrap();
            assert_eq!(head, format!("HTTP/1.1 {status} \r\n{fields}\r\n"));
        }
    }

    #[test]
    fn http_2_and_later_are_written_as_1_1() {
        for (version, line) in [
            ("HTTP/1.0", "HTTP/1.0 200 OK\r\n"),
            ("HTTP/1.1", "HTTP/1.1 200 OK\r\n"),
            ("HTTP/2", "HTTP/1.1 200 OK\r\n"),
            ("HTTP/3.0", "HTTP/1.1 200 OK\r\n"),
        ] {
            let mut sent = exchange("http://a.test/", &[], b"");
            sent.version = version;
            assert!(response_head(&sent).starts_with(line.as_bytes()));
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
