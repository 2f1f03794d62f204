//! What a response holds, and where it is cut.

use std::io::Write;
use std::sync::{Arc, Mutex};

use crawler::fetch::{ErrorKind, FetchSettings, HttpFetch, RequestKind, Response, Truncation};

use crate::server::{Server, answer, bounded, fetch, settings};

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

async fn page(bytes: Vec<u8>) -> Response {
    fetch(settings(), &Server::saying(bytes).await, RequestKind::Page).await.unwrap()
}

#[tokio::test]
async fn a_response_is_returned_as_received() {
    let seen = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&seen);
    let server = Server::start(move |mut conn| {
        let heard = Arc::clone(&heard);
        async move {
            *heard.lock().unwrap() = conn.request().await.unwrap();
            conn.send(answer(
                "X-Robots-Tag: noindex\r\nContent-Type: text/html\r\nx-robots-tag: a: b\r\n",
                b"hi",
            ))
            .await;
        }
    })
    .await;
    let mut request = server.request("/p?q=1#f", RequestKind::Page);
    request.headers.push(("Referer".to_owned(), "http://a.example/".to_owned()));
    let response = bounded(&HttpFetch::new(settings()).unwrap(), request).await.unwrap();
    assert_eq!((response.status, response.version), (200, "HTTP/1.1"));
    assert_eq!(response.headers_named("x-robots-tag").collect::<Vec<_>>(), ["noindex", "a: b"]);
    assert_eq!(response.content_type(), Some("text/html"));
    assert_eq!((&response.body[..], &response.wire_body[..]), (&b"hi"[..], &b"hi"[..]));
    assert_eq!(response.remote, Some(server.addr));
    assert_eq!((response.truncated, response.content_encoding), (None, None));
    assert!(response.elapsed > std::time::Duration::ZERO);
    let written = String::from_utf8(response.request_head).unwrap();
    assert!(written.starts_with("GET /p?q=1 HTTP/1.1\r\nhost: 127.0.0.1:"), "{written}");
    assert!(written.contains("\r\nreferer: http://a.example/\r\n"), "{written}");
    assert_eq!(written, *seen.lock().unwrap(), "the request is written down as the server saw it");
}

#[tokio::test]
async fn heads_are_recorded_as_they_were_sent() {
    let head = "HTTP/1.1 200 All Is Well\r\nSERVER:x \r\nset-COOKIE: a\r\nX-Empty:\r\nSet-Cookie: b\r\nbroken line\r\n\
                X-Folded: c\r\n d\r\nContent-length: 2\r\n\r\n";
    let answer = format!("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n{head}hi");
    let seen = Arc::new(Mutex::new(String::new()));
    let requests = Arc::clone(&seen);
    let server = Server::start(move |mut conn| {
        let (requests, answer) = (Arc::clone(&requests), answer.clone());
        async move {
            while let Some(request) = conn.request().await {
                *requests.lock().unwrap() = request;
                // In parts, so that the head comes in several reads.
                for part in answer.as_bytes().chunks(60) {
                    conn.send(part).await;
                    tokio::task::yield_now().await;
                }
            }
        }
    })
    .await;
    let http = HttpFetch::new(settings()).unwrap();
    for path in ["/1", "/2"] {
        let response = bounded(&http, server.request(path, RequestKind::Page)).await.unwrap();
        assert_eq!(response.body, "hi");
        assert_eq!(String::from_utf8(response.response_head.unwrap()).unwrap(), head);
        assert_eq!(String::from_utf8(response.request_head).unwrap(), *seen.lock().unwrap());
        assert_eq!(response.tls, None);
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn bodies_end_by_length_by_chunks_and_by_the_end_of_the_connection() {
    for bytes in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nTrailer: x\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
    ] {
        let server = Server::saying_once(bytes).await;
        let response = fetch(settings(), &server, RequestKind::Page).await.unwrap();
        assert_eq!(response.body, "hello", "{bytes}");
    }
}

#[tokio::test]
async fn answers_without_a_body_are_answers() {
    for bytes in [
        "HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 500\r\n\r\n",
        "HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n",
    ] {
        let response = page(bytes.into()).await;
        assert!(response.body.is_empty(), "{bytes}");
        assert!([204, 304, 503, 410].contains(&response.status), "{bytes}");
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let server =
        Server::saying("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n").await;
    let http = HttpFetch::new(settings()).unwrap();
    let response = bounded(&http, server.request("/", RequestKind::Page)).await.unwrap();
    assert_eq!((response.status, response.header("location")), (302, Some("/elsewhere")));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn field_lines_that_browsers_forgive_are_forgiven() {
    let bytes =
        "HTTP/1.1 200 OK\r\nnonsense\r\nX-Folded: a\r\n b\r\nX-Space : c\r\nContent-Length: 2\r\n\r\nok";
    let response = page(bytes.into()).await;
    assert_eq!(response.body, "ok");
    assert_eq!(response.header("x-space"), Some("c"));
}

#[tokio::test]
async fn field_lines_with_control_characters_are_read_without_them() {
    let bytes = "HTTP/1.1 200 OK\r\nX-Robots-Tag: noindex\x01\r\nretry-after\x0b: \x1b7\r\nContent-Length: 2\r\n\r\nok";
    let response = page(bytes.into()).await;
    assert_eq!(
        (response.header("x-robots-tag"), response.header("retry-after")),
        (Some("noindex"), Some("7"))
    );
    assert_eq!(response.body, "ok");
}

#[tokio::test]
async fn bodies_whose_coding_or_length_is_wrong_are_whole_if_their_data_is() {
    let text = b"<p>some text of a page</p>".repeat(1000);
    let whole = gzip(&text);
    let framed = |length: usize, wire: &[u8]| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        [head.as_bytes(), wire].concat()
    };
    let no_trailer = &whole[..whole.len() - 8];
    for (bytes, truncated) in [
        (framed(text.len(), &whole), Truncation::Framing),
        (framed(text.len(), no_trailer), Truncation::Framing),
        (framed(no_trailer.len(), no_trailer), Truncation::Unfinished),
    ] {
        let robots = Server::saying_once(bytes.clone()).await;
        let response = fetch(settings(), &Server::saying_once(bytes).await, RequestKind::Page).await.unwrap();
        assert!(response.body == text && response.truncated == Some(truncated), "{truncated:?}");
        fetch(settings(), &robots, RequestKind::Robots).await.unwrap_err();
    }
    let cut = &whole[..whole.len() / 2];
    let response = page(framed(cut.len(), cut)).await;
    assert!(text.starts_with(&response.body) && !response.body.is_empty());
    assert_eq!(response.truncated, Some(Truncation::Coding));
}

#[tokio::test]
async fn a_206_with_the_whole_range_counts_as_200_for_a_page() {
    for (range, status) in [("bytes 0-4/5", 200), ("bytes 0-4/6", 206), ("bytes 1-5/6", 206)] {
        let bytes = format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: {range}\r\nContent-Length: 5\r\n\r\nhello"
        );
        assert_eq!(page(bytes.clone().into()).await.status, status, "{range}");
        let robots = fetch(settings(), &Server::saying_once(bytes).await, RequestKind::Robots).await.unwrap();
        assert_eq!(robots.status, 206, "{range}");
    }
}

#[tokio::test]
async fn content_codings_are_undone_and_the_wire_is_kept() {
    let text = b"<p>some text of a page</p>".repeat(1000);
    for (coding, wire) in [
        ("gzip", gzip(&text)),
        ("x-gzip", gzip(&text)),
        ("GZIP", gzip(&text)),
        ("deflate", zlib(&text)),
        ("zstd", zstd::encode_all(&text[..], 1).unwrap()),
        ("gzip, zstd", zstd::encode_all(&gzip(&text)[..], 1).unwrap()),
        ("identity", text.clone()),
        ("utf-8", text.clone()),
    ] {
        let response = page(answer(&format!("Content-Encoding: {coding}\r\n"), &wire)).await;
        assert!(response.body == text, "{coding}");
        assert!(response.wire_body == wire, "{coding}");
        let named = (coding != "identity").then(|| coding.to_ascii_lowercase());
        assert_eq!(response.content_encoding, named);
    }
    // "A" as an uncompressed meta-block of RFC 7932 section 9.2.
    let response = page(answer("Content-Encoding: br\r\n", &[0x00, 0x00, 0x10, b'A', 0x03])).await;
    assert_eq!(response.body, "A");
}

#[tokio::test]
async fn a_body_that_is_not_in_its_coding_is_a_decode_error() {
    for coding in ["gzip", "deflate", "br", "zstd", "gzip, gzip, gzip, gzip"] {
        let server =
            Server::saying(answer(&format!("Content-Encoding: {coding}\r\n"), b"<html>plain</html>")).await;
        let error = fetch(settings(), &server, RequestKind::Page).await.unwrap_err();
        assert_eq!((error.kind, error.status), (ErrorKind::Decode, Some(200)), "{coding}");
        assert!(error.connected);
    }
}

#[tokio::test]
async fn a_body_at_the_limit_is_whole_and_one_byte_more_is_cut() {
    let limited = || FetchSettings { max_body: 1000, ..settings() };
    for (size, truncated) in [(999, None), (1000, None), (1001, Some(Truncation::WireLimit))] {
        for chunked in [false, true] {
            let body = vec![b'x'; size];
            let bytes = if chunked {
                let mut bytes =
                    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{size:x}\r\n").into_bytes();
                bytes.extend(&body);
                bytes.extend(b"\r\n0\r\n\r\n");
                bytes
            } else {
                answer("", &body)
            };
            let response = fetch(limited(), &Server::saying(bytes).await, RequestKind::Page).await.unwrap();
            assert_eq!(response.truncated, truncated, "{size} {chunked}");
            assert_eq!(response.body.len(), size.min(1000));
        }
        let bytes = answer("Content-Encoding: gzip\r\n", &gzip(&vec![b'x'; size]));
        let response = fetch(limited(), &Server::saying(bytes).await, RequestKind::Page).await.unwrap();
        assert_eq!(response.truncated, truncated.map(|_| Truncation::DecodedLimit), "{size} gzip");
        assert_eq!(response.body.len(), size.min(1000));
    }
}

#[tokio::test]
async fn an_endless_body_is_cut_and_its_connection_closed() {
    let (closed, mut is_closed) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |mut conn| {
        let closed = closed.clone();
        async move {
            conn.request().await;
            conn.send("HTTP/1.1 200 OK\r\n\r\n").await;
            while conn.send([b'x'; 4096]).await {}
            closed.send(()).unwrap();
        }
    })
    .await;
    let limited = FetchSettings { max_body: 1 << 20, max_sitemap: 2 << 20, ..settings() };
    let http = HttpFetch::new(limited).unwrap();
    for (purpose, limit) in
        [(RequestKind::Robots, 512_000), (RequestKind::Page, 1 << 20), (RequestKind::Sitemap, 2 << 20)]
    {
        let response = bounded(&http, server.request("/", purpose)).await.unwrap();
        assert_eq!(
            (response.body.len(), response.truncated),
            (limit, Some(Truncation::WireLimit)),
            "{purpose:?}"
        );
        tokio::time::timeout(crate::server::BOUND, is_closed.recv()).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn bombs_cost_the_limit_and_no_more() {
    let zeros = vec![0; 64 << 20];
    let zstd = zstd::encode_all(&zeros[..], 3).unwrap();
    for (coding, wire) in [("gzip", gzip(&zeros)), ("deflate", zlib(&zeros)), ("zstd", zstd)] {
        let wire_size = wire.len();
        let server = Server::saying(answer(&format!("Content-Encoding: {coding}\r\n"), &wire)).await;
        let limited = FetchSettings { max_body: 3 << 20, ..settings() };
        let response = fetch(limited, &server, RequestKind::Page).await.unwrap();
        assert_eq!(response.truncated, Some(Truncation::DecodedLimit), "{coding}");
        assert_eq!((response.wire_body.len(), response.body.len()), (wire_size, 3 << 20), "{coding}");
        let error = fetch(settings(), &server, RequestKind::Robots).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::TooLarge, "{coding}: {error}");
    }
}

#[tokio::test]
async fn an_over_size_robots_txt_is_used_up_to_its_limit() {
    let lines = b"Disallow: /some/path\n".repeat(30_000);
    for bytes in [answer("", &lines), answer("Content-Encoding: gzip\r\n", &gzip(&lines))] {
        let response = fetch(settings(), &Server::saying(bytes).await, RequestKind::Robots).await.unwrap();
        assert!(response.truncated.is_some());
        assert!(response.body == lines[..512_000]);
    }
    // The rule on growth: over 20 times and over 1 MiB. Two MiB that don't shrink well pass, up to the limit.
    let varied: Vec<u8> =
        (0..100_000_u32).flat_map(|i| format!("Disallow: /{:x}\n", i * 7919 % 65_537).into_bytes()).collect();
    assert!(varied.len() > 1 << 20 && gzip(&varied).len() * 20 > 1 << 20);
    let bytes = answer("Content-Encoding: gzip\r\n", &gzip(&varied));
    let response = fetch(settings(), &Server::saying(bytes).await, RequestKind::Robots).await.unwrap();
    assert_eq!(response.truncated, Some(Truncation::DecodedLimit));
    assert!(response.body == varied[..512_000]);
}
