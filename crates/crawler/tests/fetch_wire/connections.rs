//! Connections that are kept, go stale, and end.

use std::time::Duration;

use crawler::fetch::{ErrorKind, FetchSettings, HttpFetch, RequestKind};

use crate::server::{Server, answer, bounded, settings};

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let server = Server::saying(answer("", b"ok")).await;
    let http = HttpFetch::new(settings()).unwrap();
    for _ in 0..5 {
        bounded(&http, server.request("/", RequestKind::Page)).await.unwrap();
    }
    assert_eq!(server.connections(), 1);
}

/// The task of a connection may not have given it back when the next request is made: it waits for that, and opens no second one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_request_that_follows_at_once_opens_no_second_connection() {
    let server = Server::saying(answer("", b"ok")).await;
    let http = HttpFetch::new(settings()).unwrap();
    for _ in 0..2000 {
        bounded(&http, server.request("/", RequestKind::Page)).await.unwrap();
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the end of a connection takes a moment to be seen")]
async fn a_kept_connection_that_the_server_closed_is_replaced() {
    let server = Server::start(|mut conn| async move {
        conn.request().await;
        conn.send(answer("", b"ok")).await;
    })
    .await;
    let http = HttpFetch::new(settings()).unwrap();
    for connections in 1..=4 {
        let response = bounded(&http, server.request("/", RequestKind::Page)).await.unwrap();
        assert_eq!((response.status, server.connections()), (200, connections));
        // As long as the client needs to see the end; a host's gap is longer.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn an_idle_connection_that_closes_on_a_request_is_reported_and_not_retried_at_once() {
    for resets in [false, true] {
        let server = Server::start(move |mut conn| async move {
            conn.request().await;
            conn.send(answer("", b"ok")).await;
            conn.request().await;
            if resets {
                conn.stream.set_zero_linger().unwrap();
            }
        })
        .await;
        let http = HttpFetch::new(settings()).unwrap();
        for connections in 1..=4 {
            let response = bounded(&http, server.request("/", RequestKind::Page)).await.unwrap();
            assert_eq!((response.status, server.connections()), (200, connections), "{resets}");
            // The server has seen this one: asking again is for whoever keeps the host's gap.
            let error = bounded(&http, server.request("/", RequestKind::Page)).await.unwrap_err();
            assert!(error.stale && error.kind == ErrorKind::Connection, "{error:?}");
            assert_eq!(server.connections(), connections, "{resets}");
        }
    }
}

#[tokio::test]
async fn a_fresh_connection_that_closes_is_a_failure_at_once() {
    let server = Server::start(|mut conn| async move {
        if conn.number == 1 {
            conn.request().await;
            conn.send(answer("", b"ok")).await;
        }
        conn.request().await;
    })
    .await;
    let http = HttpFetch::new(settings()).unwrap();
    bounded(&http, server.request("/", RequestKind::Page)).await.unwrap();
    // The kept one is stale; nothing is kept then, and a fresh one that closes is the server's failure.
    for (connections, stale) in [(1, true), (2, false), (3, false)] {
        let error = bounded(&http, server.request("/", RequestKind::Page)).await.unwrap_err();
        assert_eq!((error.kind, error.stale), (ErrorKind::Connection, stale), "{error}");
        assert_eq!(server.connections(), connections, "{error}");
    }
}

#[tokio::test]
async fn connections_have_a_life_span_and_a_number() {
    for (spent, connections) in [
        (FetchSettings { connection_life: Duration::ZERO, ..settings() }, 4),
        (FetchSettings { max_connections: 1, ..settings() }, 4),
        (FetchSettings { max_connections: 2, ..settings() }, 1),
    ] {
        // Two origins in turn: one kept connection is one too few.
        let server = Server::saying(answer("", b"ok")).await;
        let other = Server::saying(answer("", b"ok")).await;
        let http = HttpFetch::new(spent).unwrap();
        for _ in 0..4 {
            bounded(&http, server.request("/", RequestKind::Page)).await.unwrap();
            bounded(&http, other.request("/", RequestKind::Page)).await.unwrap();
        }
        assert_eq!((server.connections(), other.connections()), (connections, connections));
    }
}

#[tokio::test]
async fn the_connection_of_an_evicted_origin_closes() {
    let (gone, mut is_gone) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |mut conn| {
        let gone = gone.clone();
        async move {
            while conn.request().await.is_some() && conn.send(answer("", b"ok")).await {}
            gone.send(conn.number).unwrap();
        }
    })
    .await;
    let other = Server::saying(answer("", b"ok")).await;
    let http = HttpFetch::new(FetchSettings { max_connections: 1, ..settings() }).unwrap();
    bounded(&http, server.request("/", RequestKind::Page)).await.unwrap();
    bounded(&http, other.request("/", RequestKind::Page)).await.unwrap();
    assert_eq!(tokio::time::timeout(crate::server::BOUND, is_gone.recv()).await.unwrap(), Some(1));
}
