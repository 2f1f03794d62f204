//! Every way in which a server fails, by the name that records carry.

use std::time::Duration;

use crawler::fetch::{ErrorKind, FetchError, FetchSettings, HttpFetch, RequestKind, Truncation};

use crate::server::{Server, bounded, fetch, request, settings};

async fn failure(server: &Server) -> FetchError {
    fetch(FetchSettings { timeout: Duration::from_secs(5), ..settings() }, server, RequestKind::Page)
        .await
        .unwrap_err()
}

fn hasty() -> FetchSettings {
    FetchSettings { timeout: Duration::from_millis(250), ..settings() }
}

#[test]
fn kinds_carry_the_names_of_the_records() {
    for (kind, name) in [
        (ErrorKind::Timeout, "timeout"),
        (ErrorKind::TooLarge, "too_large"),
        (ErrorKind::Decode, "decode"),
        (ErrorKind::Truncated, "truncated"),
        (ErrorKind::Protocol, "protocol"),
        (ErrorKind::Connection, "connection"),
        (ErrorKind::Tls, "tls"),
        (ErrorKind::Dns, "dns"),
        (ErrorKind::BlockedAddress, "blocked_address"),
    ] {
        assert_eq!(kind.to_string(), name);
    }
}

#[tokio::test]
async fn one_deadline_covers_silence_and_drips_in_head_and_body() {
    for (said_first, dripped, status) in [
        ("", "", None),
        ("", "H", None),
        ("HTTP/1.1 200 OK\r\n", "A: b\r\n", None),
        ("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n", None),
        ("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", "x", Some(200)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", Some(200)),
    ] {
        let server = Server::start(move |mut conn| async move {
            conn.request().await;
            conn.send(said_first).await;
            let mut beat = tokio::time::interval(Duration::from_millis(20));
            while conn.send(dripped).await {
                beat.tick().await;
            }
        })
        .await;
        let error = fetch(hasty(), &server, RequestKind::Page).await.unwrap_err();
        assert_eq!(
            (error.kind, error.status),
            (ErrorKind::Timeout, status),
            "{said_first:?} {dripped:?}: {error}"
        );
        assert!(error.connected);
        assert!(
            error.elapsed >= hasty().timeout && error.elapsed < Duration::from_secs(3),
            "{:?}",
            error.elapsed
        );
    }
}

#[tokio::test]
async fn a_body_that_ends_too_early_is_used_for_a_page_and_truncated_for_a_file_of_the_site() {
    for (bytes, came) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", "hello"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", ""),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "hello"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", "hello"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", "he"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5", "hello"),
    ] {
        for purpose in [RequestKind::Page, RequestKind::Resource, RequestKind::Robots, RequestKind::SiteFile]
        {
            let server = Server::saying_once(bytes).await;
            let http = HttpFetch::new(settings()).unwrap();
            let answer = bounded(&http, server.request("/", purpose)).await;
            let is_used = matches!(purpose, RequestKind::Page | RequestKind::Resource) && !came.is_empty();
            match answer {
                Ok(response) => {
                    let said = (is_used, &response.body[..], response.truncated);
                    assert_eq!(said, (true, came.as_bytes(), Some(Truncation::Disconnect)), "{bytes:?}");
                }
                Err(error) => {
                    let said = (is_used, error.kind, error.status, error.received);
                    let received = came.len() as u64;
                    assert_eq!(
                        said,
                        (false, ErrorKind::Truncated, Some(200), received),
                        "{bytes:?}: {error}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn a_malformed_chunk_is_a_protocol_error() {
    for chunks in [
        "zz\r\nhello\r\n0\r\n\r\n",
        "5\r\nhelloworld\r\n0\r\n\r\n",
        "fffffffffffffffff\r\nhello",
        "5\r\nhello\r\n-1\r\n",
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
        let error = failure(&Server::saying_once(bytes).await).await;
        assert_eq!((error.kind, error.status), (ErrorKind::Protocol, Some(200)), "{chunks:?}: {error}");
    }
}

#[tokio::test]
async fn a_control_character_in_a_field_that_frames_the_body_is_a_protocol_error() {
    for field in [
        "Content-Length: 5\x01",
        "Content-Encoding: \x0cgzip",
        "Location\x7f: /x",
        "\x1bTransfer-Encoding: chunked",
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\nRetry-After: 7\x01\r\n{field}\r\n\r\nhello");
        let error = failure(&Server::saying_once(bytes).await).await;
        assert_eq!((error.kind, error.status), (ErrorKind::Protocol, Some(200)), "{field:?}: {error}");
        assert!(error.headers.contains(&("retry-after".to_owned(), b"7".to_vec())), "{field:?}");
    }
}

#[tokio::test]
async fn a_reset_is_truncation_in_a_body_and_a_broken_connection_before() {
    for (said, kind) in [
        ("", ErrorKind::Connection),
        ("HTTP/1.1 200 OK\r\nContent-", ErrorKind::Connection),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nx", ErrorKind::Truncated),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end of", ErrorKind::Truncated),
    ] {
        let server = Server::start(move |mut conn| async move {
            conn.request().await;
            conn.send(said).await;
            conn.stream.set_zero_linger().unwrap();
        })
        .await;
        let error = failure(&server).await;
        assert_eq!(error.kind, kind, "{said:?}: {error}");
        assert!(error.connected);
    }
}

#[tokio::test]
async fn what_is_not_http_is_a_protocol_error() {
    for bytes in [
        "SSH-2.0-OpenSSH_9.9\r\n\r\n",
        "<html>HTTP/0.9 had no head</html>\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nxx",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ] {
        let error = failure(&Server::saying_once(bytes).await).await;
        assert_eq!(error.kind, ErrorKind::Protocol, "{bytes:?}: {error}");
    }
}

#[tokio::test]
async fn header_sections_are_bounded_in_bytes_and_lines() {
    let lines = |count: usize| {
        let lines = "A: b\r\n".repeat(count);
        format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 0\r\n\r\n")
    };
    let long =
        |size: usize| format!("HTTP/1.1 200 OK\r\nA: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(size));
    for (bytes, fits) in [
        (lines(99), true),
        (lines(100), false),
        (long(60 << 10), true),
        (long(64 << 10), false),
        (long(2 << 20), false),
    ] {
        let result = fetch(settings(), &Server::saying_once(bytes).await, RequestKind::Page).await;
        match result {
            Ok(_) => assert!(fits),
            Err(error) => assert_eq!((error.kind, fits), (ErrorKind::TooLarge, false), "{error}"),
        }
    }
    let many = FetchSettings { max_header_count: 300, ..settings() };
    assert!(fetch(many, &Server::saying(lines(200)).await, RequestKind::Page).await.is_ok());
}

#[tokio::test]
async fn an_endless_header_section_ends() {
    for line in ["A: b\r\n", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"] {
        let server = Server::start(move |mut conn| async move {
            conn.request().await;
            conn.send("HTTP/1.1 200 OK\r\nB: ").await;
            while conn.send(line.repeat(100)).await {}
        })
        .await;
        let error = failure(&server).await;
        assert_eq!(error.kind, ErrorKind::TooLarge, "{error}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_an_error_from_before_anything_was_sent() {
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let http = HttpFetch::new(settings()).unwrap();
    let error =
        bounded(&http, request(&format!("http://127.0.0.1:{port}/"), RequestKind::Page)).await.unwrap_err();
    assert_eq!((error.kind, error.connected), (ErrorKind::Connection, false), "{error}");
    assert!(error.detail.contains("refused"), "{error}");
}

#[tokio::test]
async fn a_name_without_an_address_is_a_dns_error() {
    // No label may be longer than 63 bytes (RFC 1035 section 2.3.4), so this needs no name server to fail.
    let url = format!("http://{}.example/", "a".repeat(64));
    let error =
        bounded(&HttpFetch::new(settings()).unwrap(), request(&url, RequestKind::Page)).await.unwrap_err();
    assert_eq!((error.kind, error.connected), (ErrorKind::Dns, false), "{error}");
}

#[tokio::test]
async fn urls_that_are_not_fetched_over_http_are_protocol_errors() {
    let http = HttpFetch::new(settings()).unwrap();
    for url in ["ftp://127.0.0.1/", "data:text/plain,x", "mailto:a@b.example"] {
        let error = bounded(&http, request(url, RequestKind::Page)).await.unwrap_err();
        assert_eq!((error.kind, error.connected), (ErrorKind::Protocol, false), "{url}: {error}");
    }
}
