//! A large body waits for memory that other bodies hold, and a connection ends with its request.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use super::*;
use crate::frontier::Permit;

const LARGE: usize = (MIDDLE as usize) + 1;

/// A server that sends one large body; returns its URL.
fn large_page() -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _request = stream.read(&mut [0; 4096]).unwrap();
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {LARGE}\r\n\r\n").unwrap();
        // The reader may be gone.
        let _written = stream.write_all(&vec![b'x'; LARGE]);
    });
    Url::parse(&url).unwrap()
}

/// Fetches a large page while the pool is taken for `taken`, within 3 s beside the wait.
#[expect(clippy::disallowed_methods, reason = "the memory is held for longer than the server may take")]
async fn fetch_beside(taken: Duration, patience: Duration) -> FetchResult {
    let fetch = HttpFetch::new(FetchSettings {
        timeout: Duration::from_secs(3),
        memory_patience: patience,
        allow_net: vec!["127.0.0.0/8".parse().unwrap()],
        ..FetchSettings::new("SuperRobot/1.0")
    })
    .unwrap();
    let mut others = Claim::new(&fetch.budget, None, u64::MAX, 0);
    others.wire(MIDDLE + 1).await;
    let freed = async {
        tokio::time::sleep(taken).await;
        drop(others);
    };
    tokio::join!(fetch.fetch(FetchRequest::new(&Permit::of_a_test(), large_page(), RequestKind::Page)), freed)
        .0
}

#[tokio::test]
async fn a_body_that_waits_for_memory_is_read_when_it_has_it() {
    let secs = Duration::from_secs;
    let response = fetch_beside(secs(4), secs(600)).await.unwrap();
    assert_eq!((response.body.len(), response.truncated), (LARGE, None));
    let error = fetch_beside(secs(6), secs(1)).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Local, Some(200)), "{}", error.detail);
}

/// A server that sends `first`, then `more` without end or nothing; in the end, how its connection ended.
fn endless(first: &'static str, more: Option<&'static str>) -> (Url, JoinHandle<std::io::ErrorKind>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let _request = stream.read(&mut [0; 4096]).unwrap();
        let mut run = || -> std::io::Result<()> {
            stream.write_all(first.as_bytes())?;
            match more {
                Some(more) => loop {
                    stream.write_all(more.repeat(100).as_bytes())?;
                },
                None => stream.read_exact(&mut [0; 4096]),
            }
        };
        run().unwrap_err().kind()
    });
    (Url::parse(&url).unwrap(), server)
}

/// On one thread, which waits for the server afterwards: nothing is closed any more that isn't when the fetch returns.
#[tokio::test(flavor = "current_thread")]
async fn the_connection_of_a_try_that_failed_is_closed_when_it_returns() {
    let (interim, head) =
        ("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n");
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (first, more, kind) in [
        ("", None, Some(ErrorKind::Timeout)),
        (interim, Some(interim), Some(ErrorKind::TooLarge)),
        (head, Some("X-Field: value\r\n"), Some(ErrorKind::TooLarge)),
        (head, None, Some(ErrorKind::Timeout)),
        (chunked, None, Some(ErrorKind::Timeout)),
        (chunked, Some("5\r\nwords\r\n"), None),
    ] {
        // What ends for another reason has time for it on a busy machine.
        let timeout = if kind == Some(ErrorKind::Timeout) { 500 } else { 30_000 };
        let fetch = HttpFetch::new(FetchSettings {
            timeout: Duration::from_millis(timeout),
            max_body: 100_000,
            allow_net: vec!["127.0.0.0/8".parse().unwrap()],
            ..FetchSettings::new("SuperRobot/1.0")
        })
        .unwrap();
        let (url, server) = endless(first, more);
        let ended = fetch.fetch(FetchRequest::new(&Permit::of_a_test(), url, RequestKind::Page)).await;
        let found = ended.map_or_else(|error| Some(error.kind), |_| None);
        assert_eq!(found, kind, "{first:?} {more:?}");
        let closed = server.join().unwrap();
        assert!(
            !matches!(closed, std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut),
            "{first:?} {more:?}: still open"
        );
    }
}
