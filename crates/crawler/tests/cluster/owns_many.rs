//! A worker that owns many partitions takes no more threads and memory for that.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use crate::program::{Worker, expect_clean_audit_of, run, status, text};
use crate::server::{Server, wait};

/// Hosts, of which the first 16 partitions have some 25 and 256 have nearly all, and pages of each.
const HOSTS: usize = 400;
const PAGES: usize = 5;

/// What the issue that asked for it says: threads, and megabytes in memory with those of the program itself.
const THREADS: u64 = 40;
const MEGABYTES: u64 = 120;

/// Of a released program some 27 MB of its file are in memory. Those of the program under test, which has no optimization of its size, are twice as many, so they aren't counted.
const PROGRAM: u64 = 27;

/// Hosts that ask for no gap, each with a few pages; the first pages name two other hosts each. Counts the pages that were asked for.
struct Web {
    port: u16,
    pages: Arc<AtomicUsize>,
}

impl Web {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let pages = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&pages);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                // Ends with its connection.
                let serve = move || serve(&client, &counted);
                drop(std::thread::Builder::new().stack_size(128 * 1024).spawn(serve).unwrap());
            }
        });
        Self { port, pages }
    }
}

fn serve(client: &TcpStream, counted: &AtomicUsize) {
    let mut received = BufReader::new(client).lines().map_while(Result::ok);
    while let Some(first) = received.next() {
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let head: Vec<String> = received.by_ref().take_while(|line| !line.is_empty()).collect();
        let host = head.iter().find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("host: h")?.split('.').next()?.parse().ok()
        });
        let Some(host): Option<usize> = host else { return };
        let (kind, body) = if path == "/robots.txt" {
            ("text/plain", "User-agent: *\nDisallow: /private/\n".to_owned())
        } else {
            counted.fetch_add(1, Ordering::SeqCst);
            let further =
                [2 * host + 1, 2 * host + 2].into_iter().filter(|next| path == "/" && *next < HOSTS);
            let mut links: Vec<String> =
                further.map(|next| format!("<a href=\"http://h{next}.test/\">x</a>")).collect();
            links.extend((1..PAGES).map(|page| format!("<a href=\"/p{page}\">x</a>")));
            (
                "text/html",
                format!(
                    "<title>{host}{path}</title>{}<p>{}",
                    links.concat(),
                    "some words of a page ".repeat(200)
                ),
            )
        };
        let length = body.len();
        let answer =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}");
        let mut client = client;
        if client.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// What a worker took at most: threads, and memory but that of the program's file.
#[derive(Debug, Default)]
struct Peak {
    threads: u64,
    megabytes: u64,
}

impl Peak {
    /// Looks at a worker until it ends.
    fn of(worker: &mut Worker) -> Self {
        let mut peak = Self::default();
        for _ in 0..20_000 {
            let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", worker.id())) else { break };
            let number = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
            };
            // One that has ended has no memory.
            let Some(kilobytes) = number("RssAnon:") else { break };
            peak.megabytes = peak.megabytes.max(kilobytes / 1024);
            peak.threads = peak.threads.max(number("Threads:").unwrap());
            wait(Duration::from_millis(10));
        }
        peak
    }
}

#[test]
fn a_worker_of_256_partitions_keeps_to_40_threads_and_120_mb() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, web, dir) = (server.database(), Web::start(), TempDir::new().unwrap());
    let resolve = format!("*:127.0.0.1:{}", web.port);
    let init = [
        "cluster",
        "init",
        &url,
        "http://h0.test/",
        "--agent",
        "SuperRobot/1.0",
        "--scope",
        "any",
        "--delay",
        "0s",
    ];
    let made = run(&[&init[..], &["--resolve", &resolve, "--partitions", "256", "--single-server"]].concat());
    assert!(made.status.success(), "{}", text(&made));
    let mut worker = Worker::start(&url, dir.path(), "one");
    let peak = Peak::of(&mut worker);
    assert_eq!(worker.code(), Some(0));
    assert_eq!(web.pages.load(Ordering::SeqCst), HOSTS * PAGES);
    assert_eq!(status(&url)["totals"]["pages"].as_u64(), Some((HOSTS * PAGES) as u64));
    let crawls = "select count(distinct part) from kv where tree = 6";
    let busy: u64 = server.sql(&url, crawls).parse().unwrap();
    assert!(busy > 150, "{busy} partitions have pages");
    assert!(peak.threads <= THREADS && peak.megabytes <= MEGABYTES - PROGRAM, "{peak:?}");
    let archive = dir.path().join("one").join("warc").display().to_string();
    expect_clean_audit_of(&["audit", "--cluster", &url, "--json", "--warc", &archive]);
}
