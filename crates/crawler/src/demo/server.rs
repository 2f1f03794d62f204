//! A small HTTP/1.1 server for the two sites, on loopback.
//!
//! It answers GET and HEAD by the Host field, keeps connections open, and writes down each request. Not made
//! for the open net: it reads what a well-behaved client sends and closes the connection on anything else.

use super::sites::{self, Site};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// The longest request head that is read.
const MAX_HEAD: usize = 16 * 1024;

/// How long a connection may be silent.
const IDLE: Duration = Duration::from_secs(30);

/// One request that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `GET`, `HEAD` or what else was sent.
    pub method: String,
    /// Host field, lower case, without the port.
    pub host: String,
    /// Path and query.
    pub path: String,
    /// User-Agent field; empty if there was none.
    pub agent: String,
    /// Status of the answer.
    pub status: u16,
}

/// The running server. It ends when this is dropped.
#[derive(Debug)]
pub struct Served {
    addr: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Served {
    /// Returns the address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns all requests so far, in the order of their answers.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> usize {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves [`sites::all`] on a listener, in a task of the current tokio runtime.
///
/// # Errors
/// Where the listener doesn't know its own address.
///
/// # Panics
/// Outside a tokio runtime.
pub fn serve(listener: TcpListener) -> std::io::Result<Served> {
    let addr = listener.local_addr()?;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let task = tokio::spawn(accept(listener, Arc::new(sites::all()), Arc::clone(&asked)));
    Ok(Served { addr, asked, task })
}

async fn accept(listener: TcpListener, sites: Arc<Vec<Site>>, asked: Arc<Mutex<Vec<Asked>>>) {
    // The set ends its connections when this task is aborted.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(converse(stream, Arc::clone(&sites), Arc::clone(&asked)));
            }
            Some(_) = connections.join_next() => {}
            else => return,
        }
    }
}

/// Answers the requests of one connection, one after the other. An error only ends the connection.
async fn converse(mut stream: TcpStream, sites: Arc<Vec<Site>>, asked: Arc<Mutex<Vec<Asked>>>) -> Option<()> {
    let mut read = Vec::with_capacity(4096);
    loop {
        let head = next_head(&mut stream, &mut read).await?;
        let Some(request) = Request::parse(&head) else {
            return refuse(stream).await;
        };
        let answer = Answer::to(&request, &sites);
        stream.write_all(&answer.bytes(&request)).await.ok()?;
        let keeps = request.keeps_connection;
        let entry = Asked {
            method: request.method,
            host: request.host,
            path: request.path,
            agent: request.agent,
            status: answer.status,
        };
        asked.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        if !keeps {
            return None;
        }
    }
}

/// Says that this was no request, and closes the connection so that the answer arrives: what is still unread
/// when a socket closes makes a reset of it, which would overtake the answer.
async fn refuse(mut stream: TcpStream) -> Option<()> {
    stream
        .write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .await
        .ok()?;
    stream.shutdown().await.ok()?;
    let mut rest = stream.take(MAX_HEAD as u64);
    tokio::time::timeout(IDLE, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await.ok()?.ok().map(drop)
}

/// Reads up to the next blank line, or [`MAX_HEAD`] bytes (then it is no request). `read` keeps what came
/// after it.
async fn next_head(stream: &mut TcpStream, read: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(end) = memchr::memmem::find(read, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).into_owned();
            read.drain(..end + 4);
            return Some(head);
        }
        if read.len() > MAX_HEAD {
            return Some(String::new());
        }
        let got = tokio::time::timeout(IDLE, stream.read_buf(read)).await.ok()?.ok()?;
        if got == 0 {
            return None;
        }
    }
}

#[derive(Debug)]
struct Request {
    method: String,
    path: String,
    host: String,
    agent: String,
    keeps_connection: bool,
}

impl Request {
    /// Reads a request's head; `None` if it isn't one, or announces a body (which nothing here wants).
    fn parse(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut start = lines.next()?.split(' ');
        let (method, path, version) = (start.next()?, start.next()?, start.next()?);
        if !path.starts_with('/') || start.next().is_some() {
            return None;
        }
        let mut request = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            host: String::new(),
            agent: String::new(),
            keeps_connection: version == "HTTP/1.1",
        };
        for line in lines {
            let (name, value) = line.split_once(':')?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "host" => request.host = value.split(':').next().unwrap_or_default().to_ascii_lowercase(),
                "user-agent" => value.clone_into(&mut request.agent),
                "connection" if value.eq_ignore_ascii_case("close") => request.keeps_connection = false,
                "transfer-encoding" => return None,
                "content-length" if value != "0" => return None,
                _ => {}
            }
        }
        Some(request)
    }
}

/// What the server says to a request.
#[derive(Debug, PartialEq, Eq)]
struct Answer<'a> {
    status: u16,
    headers: Vec<(&'a str, &'a str)>,
    body: &'a str,
}

const TEXT: (&str, &str) = ("Content-Type", "text/plain; charset=utf-8");

impl<'a> Answer<'a> {
    fn to(request: &Request, sites: &'a [Site]) -> Self {
        let said = |status, body| Self { status, headers: vec![TEXT], body };
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Self {
                status: 405,
                headers: vec![TEXT, ("Allow", "GET, HEAD")],
                body: "only looking, please\n",
            };
        }
        let Some(site) = sites.iter().find(|site| site.host == request.host) else {
            return said(421, "no site of that name here\n");
        };
        if request.path == "/robots.txt" {
            return said(200, site.robots_txt);
        }
        match site.page(&request.path) {
            Some(page) => Self { status: page.status, headers: page.headers.clone(), body: &page.body },
            None => said(404, "nothing here\n"),
        }
    }

    // No Date field: this server has no clock, and RFC 9110 section 6.6.1 wants none from such a server.
    fn bytes(&self, request: &Request) -> Vec<u8> {
        let reason = match self.status {
            200 => "OK",
            301 => "Moved Permanently",
            404 => "Not Found",
            405 => "Method Not Allowed",
            421 => "Misdirected Request",
            _ => "",
        };
        let mut bytes =
            format!("HTTP/1.1 {} {reason}\r\nContent-Length: {}\r\n", self.status, self.body.len());
        for (name, value) in &self.headers {
            bytes.extend([name, ": ", value, "\r\n"]);
        }
        if !request.keeps_connection {
            bytes.push_str("Connection: close\r\n");
        }
        bytes.push_str("\r\n");
        if request.method != "HEAD" {
            bytes.push_str(self.body);
        }
        bytes.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{Served, serve};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    async fn served() -> Served {
        serve(TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap()
    }

    /// Sends text on one connection, reads until the server closes it.
    async fn say(served: &Served, text: &str) -> String {
        let mut stream = TcpStream::connect(served.addr()).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8(answer).unwrap()
    }

    fn request(method: &str, host: &str, path: &str, close: bool) -> String {
        let close = if close { "Connection: close\r\n" } else { "" };
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: Suzy-Spider/1.0\r\n{close}\r\n")
    }

    #[tokio::test]
    async fn answers_by_host_and_path() {
        let served = served().await;
        for (method, host, path, status, in_answer) in [
            ("GET", "www.joes-hardware.com", "/", "200 OK", "<h1>Joe's Hardware</h1>"),
            ("GET", "WWW.Marys-Antiques.com:8080", "/", "200 OK", "<h1>Mary's Antiques</h1>"),
            ("GET", "www.joes-hardware.com", "/robots.txt", "200 OK", "Disallow: /tmp"),
            ("GET", "www.marys-antiques.com", "/dynamic/buy-stuff?id=3546", "200 OK", "grandfather clock"),
            ("GET", "www.marys-antiques.com", "/dynamic/buy-stuff?id=1", "404 Not Found", "nothing here"),
            ("GET", "www.marys-antiques.com", "/dynamic/buy-stuff", "404 Not Found", "nothing here"),
            (
                "GET",
                "www.joes-hardware.com",
                "/catalog.html",
                "301 Moved Permanently",
                "Location: /catalogue-2026.html\r\n",
            ),
            ("GET", "www.marys-antiques.com", "/ledger.txt", "200 OK", "X-Robots-Tag: noarchive\r\n"),
            ("GET", "www.elsewhere.com", "/", "421 Misdirected Request", "no site of that name"),
            ("POST", "www.joes-hardware.com", "/", "405 Method Not Allowed", "Allow: GET, HEAD\r\n"),
        ] {
            let answer = say(&served, &request(method, host, path, true)).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{method} {host}{path}: {answer}");
            assert!(answer.contains(in_answer), "{method} {host}{path}: {answer}");
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
            assert!(head.ends_with("\r\nConnection: close"), "{head}");
        }
    }

    #[tokio::test]
    async fn head_is_get_without_the_body() {
        let served = served().await;
        let [got, head] = ["GET", "HEAD"].map(|method| request(method, "www.joes-hardware.com", "/", true));
        let (got, head) = (say(&served, &got).await, say(&served, &head).await);
        let length =
            |answer: &str| answer.lines().find(|line| line.starts_with("Content-Length")).unwrap().to_owned();
        assert_eq!(length(&got), length(&head));
        assert!(head.ends_with("\r\n\r\n") && got.ends_with("</html>\n"));
    }

    #[tokio::test]
    async fn requests_are_counted_also_many_on_one_connection() {
        let served = served().await;
        let text: String = ["/", "/lamps.html", "/no"]
            .map(|path| request("GET", "www.marys-antiques.com", path, path == "/no"))
            .concat();
        assert_eq!(say(&served, &text).await.matches("HTTP/1.1 ").count(), 3);
        assert_eq!(served.requests(), 3);
        let asked: Vec<_> =
            served.asked().into_iter().map(|asked| (asked.path, asked.status, asked.agent)).collect();
        let suzy = || "Suzy-Spider/1.0".to_owned();
        assert_eq!(
            asked,
            [("/".into(), 200, suzy()), ("/lamps.html".into(), 200, suzy()), ("/no".into(), 404, suzy())]
        );
    }

    #[tokio::test]
    async fn what_is_no_request_ends_the_connection_and_not_the_server() {
        let served = served().await;
        let long = "x".repeat(20_000);
        for nonsense in [
            long.as_str(),
            "\r\n\r\n",
            "GET\r\n\r\n",
            "GET x HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
        ] {
            assert!(say(&served, nonsense).await.starts_with("HTTP/1.1 400 "), "{nonsense:?}");
        }
        assert_eq!(served.requests(), 0);
        let still = say(&served, &request("GET", "www.joes-hardware.com", "/", true)).await;
        assert!(still.starts_with("HTTP/1.1 200 "));
    }

    #[tokio::test]
    async fn dropping_it_closes_the_port_and_open_connections() {
        let served = served().await;
        let addr = served.addr();
        let mut open = TcpStream::connect(addr).await.unwrap();
        open.write_all(request("GET", "www.joes-hardware.com", "/", false).as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        open.read_exact(&mut answer).await.unwrap();
        drop(served);
        let mut rest = Vec::new();
        open.read_to_end(&mut rest).await.unwrap();
        assert!(TcpStream::connect(addr).await.is_err());
    }
}
