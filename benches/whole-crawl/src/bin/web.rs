//! Serves the generated web on loopback until `/__quit` is asked for: `web PORT HOSTS PAGES [MILLISECONDS] [small]`.
//!
//! Each response waits for so many milliseconds, 0 by default. `/__seeds` lists the front pages, `/__stats` counts as JSON what the crawler did.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use whole_crawl::{SMALL, USUAL, Web};

/// What one host saw.
#[derive(Debug, Default)]
struct Host {
    pages: Vec<bool>,
    has_robots: bool,
    /// The end of the last response, noted before it is sent; of one under way, when its request came.
    last: Option<Instant>,
}

#[derive(Debug, Default)]
struct Stats {
    requests: u64,
    pages: u64,
    unique: u64,
    missing: u64,
    disallowed: u64,
    before_robots: u64,
    /// Milliseconds from the end of a response to the next request to the same host.
    least_gap: Option<f64>,
    /// Seconds from requests to the ends of their responses, in all.
    responding: f64,
    hosts: HashMap<usize, Host>,
}

struct Server {
    web: Web,
    stats: Mutex<Stats>,
    latency: Duration,
    quit: Notify,
}

impl Server {
    fn answer(&self, local: IpAddr, path: &str) -> (u16, &'static str, Bytes) {
        let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        match path {
            "/__seeds" => {
                let seeds: String = (0..self.web.hosts).map(|host| self.web.front(host) + "\n").collect();
                return (200, "text/plain", seeds.into());
            }
            "/__stats" => {
                let Stats { requests, pages, unique, missing, disallowed, before_robots, least_gap, responding, .. } =
                    &*stats;
                let object = serde_json::json!({
                    "requests": requests, "pages": pages, "unique_pages": unique, "missing": missing,
                    "disallowed": disallowed, "before_robots": before_robots, "least_gap_ms": least_gap,
                    "responding_s": responding,
                });
                return (200, "application/json", object.to_string().into());
            }
            "/__quit" => {
                self.quit.notify_one();
                return (200, "text/plain", Bytes::new());
            }
            _ => {}
        }
        let IpAddr::V4(address) = local else { return (404, "text/plain", Bytes::new()) };
        let Some(number) = self.web.host_of(address) else { return (404, "text/plain", Bytes::new()) };
        stats.requests += 1;
        let now = Instant::now();
        let count = self.web.pages;
        let host = stats.hosts.entry(number).or_insert_with(|| Host { pages: vec![false; count], ..Host::default() });
        let gap = host.last.replace(now).map(|last| now.duration_since(last).as_secs_f64() * 1e3);
        let had_robots = host.has_robots;
        if path == "/robots.txt" {
            host.has_robots = true;
        }
        let page = self.web.page_of(path);
        let is_new = page.is_some_and(|page| !std::mem::replace(&mut host.pages[page], true));
        if let Some(gap) = gap {
            stats.least_gap = Some(stats.least_gap.map_or(gap, |least| least.min(gap)));
        }
        if path == "/robots.txt" {
            return (200, "text/plain", Bytes::from_static(b"User-agent: *\nDisallow: /private/\n"));
        }
        stats.before_robots += u64::from(!had_robots);
        stats.disallowed += u64::from(path.starts_with("/private/"));
        let Some(page) = page else {
            stats.missing += 1;
            return (404, "text/html", Bytes::from_static(b"<title>missing</title>"));
        };
        stats.pages += 1;
        stats.unique += u64::from(is_new);
        drop(stats);
        (200, "text/html; charset=utf-8", self.web.page(number, page).into())
    }

    /// Notes the end of a response that is about to be sent; `start` is when its request came.
    fn ends(&self, local: IpAddr, start: Instant) {
        let IpAddr::V4(address) = local else { return };
        let Some(number) = self.web.host_of(address) else { return };
        let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        stats.responding += now.duration_since(start).as_secs_f64();
        if let Some(host) = stats.hosts.get_mut(&number) {
            host.last = Some(now);
        }
    }
}

#[tokio::main]
async fn main() {
    let size = if std::env::args().any(|argument| argument == "small") { SMALL } else { USUAL };
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let (&[port, hosts, pages], latency) = (match &numbers[..] {
        [first @ .., latency] if first.len() == 3 => (first, *latency),
        all => (all, 0),
    }) else {
        panic!("usage: web PORT HOSTS PAGES [MILLISECONDS] [small]")
    };
    let port = u16::try_from(port).expect("a port");
    let latency = Duration::from_millis(latency as u64);
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await.expect("the port is free");
    let server = Arc::new(Server { web: Web::new(hosts, pages, port, size), stats: Mutex::default(), latency, quit: Notify::new() });
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(_) => continue,
            },
            () = server.quit.notified() => return,
        };
        let Ok(local) = stream.local_addr() else { continue };
        drop(stream.set_nodelay(true));
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let start = Instant::now();
                let (status, kind, body) = server.answer(local.ip(), request.uri().path());
                let response = Response::builder().status(status).header("content-type", kind).body(Full::new(body));
                let server = &server;
                let is_page = !request.uri().path().starts_with("/__");
                async move {
                    if is_page {
                        if !server.latency.is_zero() {
                            tokio::time::sleep(server.latency).await;
                        }
                        server.ends(local.ip(), start);
                    }
                    Ok::<_, Infallible>(response.expect("a valid response"))
                }
            });
            // Whoever asked may be gone.
            drop(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}
