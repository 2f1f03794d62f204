//! The server of the test sites: one listener on 127.0.0.1 for all of them.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::time::Instant;

use super::answer::{Answer, Sites};
use super::connection::{self, RequestHead};
use crate::request_log::{Lesson, Request, RequestKind};
use crate::rules::Rules;

/// One line of the server's log.
#[derive(Clone, Debug)]
pub struct Hit {
    /// What the oracle reads.
    pub request: Request,
    /// `GET`, if all is well.
    pub method: String,
    /// The request's fields, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Whether the answer was written whole.
    pub finished: bool,
}

impl Hit {
    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// A running server; it ends with the value.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    // Dropped last: it carries the connections.
    _runtime: Runtime,
}

#[derive(Debug)]
struct Shared {
    sites: Sites,
    start: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    asked: HashMap<(String, String), usize>,
    changed: HashMap<(String, String), Answer>,
    hits: Vec<Hit>,
}

impl Server {
    /// Serves sites on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// If the machine gives no port.
    pub fn start(sites: Sites) -> Self {
        Self::start_on(SocketAddr::from(([127, 0, 0, 1], 0)), sites)
    }

    /// Serves sites on an address of this machine; port 0 is a free one.
    ///
    /// # Panics
    /// If the machine doesn't give it.
    pub fn start_on(address: SocketAddr, sites: Sites) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime can be made");
        let listener = runtime.block_on(TcpListener::bind(address)).expect("a port of this machine");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared { sites, start: Instant::now(), state: Mutex::default() });
        runtime.spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, _runtime: runtime }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The options that make the crawl find the sites under their names, on port 80.
    pub fn resolve(&self) -> Vec<String> {
        let option = |host: &str| ["--resolve".to_owned(), format!("{host}:{}", self.address)];
        self.shared.sites.hosts().flat_map(option).collect()
    }

    /// Changes what a path is answered with, from now on.
    pub fn change(&self, host: &str, path: &str, answer: Answer) {
        self.shared.state().changed.insert((host.to_owned(), path.to_owned()), answer);
    }

    /// Every request so far, in the order in which they ended.
    pub fn hits(&self) -> Vec<Hit> {
        self.shared.state().hits.clone()
    }

    /// The same for the oracle.
    pub fn log(&self) -> Vec<Request> {
        self.hits().into_iter().map(|hit| hit.request).collect()
    }

    /// The URLs of the page requests in order of start.
    pub fn pages(&self) -> Vec<String> {
        let mut log = self.log();
        log.sort_by_key(|request| request.start);
        log.iter().filter(|request| request.purpose == RequestKind::Page).map(Request::url).collect()
    }

    /// Time since the start of the log.
    pub fn now(&self) -> Duration {
        self.shared.start.elapsed()
    }

    /// How many requests there were so far.
    pub fn count(&self) -> usize {
        self.shared.state().hits.len()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, host: &str, path: &str) -> Answer {
        let mut state = self.state();
        let place = (host.to_owned(), path.to_owned());
        if let Some(answer) = state.changed.get(&place) {
            return answer.clone();
        }
        let nth = state.asked.entry(place).or_default();
        *nth += 1;
        self.sites.answer(host, path, *nth - 1)
    }

    fn record(&self, head: RequestHead, host: &str, answer: &Answer, end: Instant, finished: bool) {
        let name = host.split(':').next().unwrap_or_default().to_owned();
        let origin = format!("http://{host}");
        let robots = head.path == "/robots.txt";
        let after = answer.field("Retry-After").and_then(|value| value.parse().ok());
        let request = Request {
            start: head.start - self.start,
            end: end - self.start,
            host: name,
            purpose: if robots { RequestKind::Robots } else { RequestKind::Page },
            status: Some(answer.status),
            retry_after: after.map(Duration::from_secs),
            lesson: if robots { lesson(&origin, answer) } else { None },
            origin,
            path: head.path,
        };
        self.state().hits.push(Hit { request, method: head.method, headers: head.headers, finished });
    }
}

/// What an answer to `/robots.txt` tells: digest 2.2.
fn lesson(origin: &str, answer: &Answer) -> Option<Lesson> {
    let rules = match answer.status {
        300..=399 => return None,
        401 | 403 => Some(Rules::closed()),
        429 | 500..=599 => None,
        _ => Some(answer.rules.clone().unwrap_or_default()),
    };
    Some(Lesson { origin: origin.to_owned(), rules, fresh_for: Duration::from_hours(24) })
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // A client that goes away in the middle is part of the tests.
            let _ended = serve(stream, &shared).await;
        });
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    while let Some(head) = connection::read(&mut stream).await? {
        let host = head.field("host").unwrap_or_default().to_owned();
        let mut answer = shared.answer(&host, &head.path);
        let is_head = head.method == "HEAD";
        if let Some(status) = answer.head_status.filter(|_| is_head) {
            answer = Answer::status(status);
        }
        think(answer.delay).await;
        let record = |end, whole| shared.record(head, &host, &answer, end, whole);
        connection::write(&mut stream, &answer, !is_head, record).await?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a slow server is what some tests are about")]
async fn think(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    fn ask(server: &Server, bytes: &str) -> String {
        let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn answers_by_host_path_and_turn_and_keeps_a_log() {
        let rules = Rules::default().deny("/x");
        let sites = Sites::new()
            .page("a.test", "/robots.txt", Answer::robots(rules.clone()))
            .page(
                "a.test",
                "/",
                Answer::status(503).header("Retry-After", "7").after(Duration::from_millis(30)),
            )
            .page("a.test", "/", Answer::html("second"));
        let server = Server::start(sites);
        let get = |path: &str| ask(&server, &format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n"));
        assert!(get("/robots.txt").ends_with("\r\n\r\nUser-agent: *\nDisallow: /x\n"));
        assert!(get("/").starts_with("HTTP/1.1 503 Test\r\nContent-Length: 0\r\nRetry-After: 7\r\n"));
        assert!(get("/").ends_with("second"));
        assert!(get("/none").starts_with("HTTP/1.1 404 "));
        server.change("a.test", "/", Answer::html("third"));
        assert!(get("/").ends_with("third") && get("/").ends_with("third"));
        let log = server.log();
        assert_eq!(log[0].lesson.as_ref().unwrap().rules, Some(rules));
        assert_eq!((log[1].status, log[1].retry_after), (Some(503), Some(Duration::from_secs(7))));
        assert!(log[1].end >= log[1].start + Duration::from_millis(30));
        assert_eq!(server.pages(), ["/", "/", "/none", "/", "/"].map(|path| format!("http://a.test{path}")));
        assert_eq!(server.resolve()[1], format!("a.test:{}", server.address()));
    }

    #[test]
    fn a_connection_serves_many_requests() {
        let server = Server::start(Sites::new().tree("a.test", 3, Duration::ZERO));
        let one = "GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n";
        let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
        for _ in 0..3 {
            stream.write_all(one.as_bytes()).unwrap();
            let mut text = String::new();
            while !text.ends_with("</html>") {
                let mut part = [0; 100];
                let count = stream.read(&mut part).unwrap();
                text.push_str(std::str::from_utf8(&part[..count]).unwrap());
            }
            assert!(text.contains("Page 1 of a.test"));
        }
        drop(stream);
        assert_eq!(server.count(), 3);
    }
}
