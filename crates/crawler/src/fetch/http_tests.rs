//! A large body waits for memory that other bodies hold.

use std::io::{Read, Write};
use std::net::TcpListener;

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
