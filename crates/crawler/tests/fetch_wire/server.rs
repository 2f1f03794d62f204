//! A server that says what a test tells it to say, byte by byte.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crawler::fetch::{Fetch, FetchRequest, FetchResult, FetchSettings, HttpFetch, RequestKind};
use crawler::frontier::{Frontier, FrontierLimits, Permit, Priority, QueuedUrl};
use crawler::pace::{Delay, DelayReason};
use crawler::store::MemoryStore;
use page::clock::Now;
use page::url::{CrawlUrl, FingerprintKey};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Longer than any test may take.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

/// One connection as the server sees it.
pub(crate) struct Conn {
    pub(crate) stream: TcpStream,
    /// 1 for the first connection to this server.
    pub(crate) number: usize,
}

impl Conn {
    /// Reads one request head; `None` when the client has closed.
    pub(crate) async fn request(&mut self) -> Option<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.stream.read_u8().await.ok()?);
        }
        Some(String::from_utf8(head).unwrap())
    }

    /// Sends bytes; false when the client has closed.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).await.is_ok()
    }
}

/// A running server.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server that treats each connection with `talk`; it ends with the test's runtime.
    pub(crate) async fn start<F, T>(talk: F) -> Self
    where
        F: Fn(Conn) -> T + Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { addr: listener.local_addr().unwrap(), connections: Arc::default() };
        let connections = Arc::clone(&server.connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = connections.fetch_add(1, Ordering::SeqCst) + 1;
                tokio::spawn(talk(Conn { stream, number }));
            }
        });
        server
    }

    /// Starts a server that answers each request with the same bytes and keeps the connection.
    pub(crate) async fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer: Arc<[u8]> = answer.into().into();
        Self::start(move |mut conn| {
            let answer = Arc::clone(&answer);
            async move { while conn.request().await.is_some() && conn.send(&answer).await {} }
        })
        .await
    }

    /// Starts a server that answers one request with these bytes and closes.
    pub(crate) async fn saying_once(answer: impl Into<Vec<u8>>) -> Self {
        let answer: Arc<[u8]> = answer.into().into();
        Self::start(move |mut conn| {
            let answer = Arc::clone(&answer);
            async move {
                conn.request().await;
                conn.send(&answer).await;
            }
        })
        .await
    }

    /// How many connections there were.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn request(&self, path: &str, purpose: RequestKind) -> FetchRequest {
        request(&format!("http://{}{path}", self.addr), purpose)
    }
}

pub(crate) fn request(url: &str, purpose: RequestKind) -> FetchRequest {
    FetchRequest::new(&permit(), url.parse().unwrap(), purpose)
}

/// A permit for a host, leased from a frontier of its own.
fn permit() -> Permit {
    let store = Arc::new(MemoryStore::default());
    let (now, key) = (Now::of_day(jiff::Timestamp::UNIX_EPOCH), FingerprintKey::new([7; 16]));
    let gap = Delay { length: Duration::ZERO, why: DelayReason::Configured };
    let mut frontier = Frontier::open(&store, FrontierLimits::default(), gap, key, now).unwrap();
    let url = CrawlUrl::parse("http://a.test/").unwrap();
    let id = frontier.host_id(url.host()).unwrap();
    frontier.admit(id, url.fingerprint(&key), QueuedUrl::seed(&url), Priority::First, true).unwrap();
    frontier.lease(now).unwrap().expect("a host that is ready")
}

/// A complete answer with these additional field lines and this body.
pub(crate) fn answer(fields: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Settings that open nothing but what is public.
pub(crate) fn closed() -> FetchSettings {
    FetchSettings::new("SuperRobot/1.0 (+https://example.org/robot)")
}

/// Settings that open loopback, where the servers of these tests are.
pub(crate) fn settings() -> FetchSettings {
    FetchSettings { allow_net: vec!["127.0.0.0/8".parse().unwrap()], ..closed() }
}

/// Fetches one page from `server`.
pub(crate) async fn fetch(settings: FetchSettings, server: &Server, purpose: RequestKind) -> FetchResult {
    bounded(&HttpFetch::new(settings).unwrap(), server.request("/", purpose)).await
}

/// Fetches, and fails the test where that has no end.
pub(crate) async fn bounded(http: &HttpFetch, request: FetchRequest) -> FetchResult {
    tokio::time::timeout(BOUND, http.fetch(request)).await.expect("a fetch has an end")
}
