//! Memory stays bounded whatever servers send, with the settings of a user who changed nothing but the delay.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use whole_program::memory::{Limited, Peak};
use whole_program::program::{Crawl, PATIENCE};
use whole_program::random::Random;

/// Largest body by default.
const LARGEST: usize = 10 << 20;

/// Bytes of memory that the whole program may take.
const MOST: Peak = Peak(300_000_000);

/// What the hosts send, by the first part of their name.
struct Bodies {
    noise: Vec<u8>,
    html: Vec<u8>,
    bomb: Vec<u8>,
    links: Vec<u8>,
    robots: Vec<u8>,
}

impl Bodies {
    fn new() -> Self {
        let mut random = Random::new(1);
        let noise = std::iter::repeat_with(|| random.between(0, u64::MAX - 1).to_le_bytes());
        let noise: Vec<u8> = noise.flatten().take(LARGEST).collect();
        // Characters that take three bytes as text.
        let html = [b"<!doctype html><p>".to_vec(), vec![0x80; LARGEST - 18]].concat();
        let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
        for _ in 0..64 {
            bomb.write_all(&vec![b' '; 1 << 20]).expect("a bomb is made");
        }
        // Short references that become long addresses.
        let mut links = format!("<base href=\"/{}/\">", "b".repeat(1_900));
        for n in 0..9_000 {
            let _ = write!(links, "<a href={n}>");
        }
        let robots = "User-agent: *\nDisallow: /a$b*\n".repeat(17_000);
        Self {
            noise,
            html,
            bomb: bomb.finish().expect("a bomb is made"),
            links: links.into_bytes(),
            robots: robots.into_bytes(),
        }
    }

    /// Writes the answer for a host.
    fn answer(&self, host: &str, path: &str, stream: &mut TcpStream) -> std::io::Result<()> {
        let kind =
            host.trim_end_matches(|c: char| !c.is_ascii_lowercase()).split('-').next().unwrap_or_default();
        let html = "Content-Type: text/html; charset=windows-1252\r\n";
        let (fields, body): (&str, &[u8]) = match (kind, path) {
            ("robots", "/robots.txt") => ("", &self.robots),
            (_, "/robots.txt") => ("", b""),
            ("noise", _) => ("", &self.noise),
            ("html", _) => (html, &self.html),
            ("bomb", _) => ("Content-Encoding: gzip\r\n", &self.bomb),
            ("links", "/") => (html, &self.links),
            _ => (html, b"<title>small</title><a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>"),
        };
        let length = body.len();
        write!(stream, "HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n")?;
        stream.write_all(body)
    }
}

fn serve(stream: TcpStream, bodies: &Bodies) -> std::io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut path, mut host, mut line) = (String::new(), String::new(), String::new());
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(rest) = line.strip_prefix("GET ") {
                rest.split(' ').next().unwrap_or_default().clone_into(&mut path);
            } else if let Some(value) = line.strip_prefix("host: ") {
                value.trim().clone_into(&mut host);
            } else if line == "\r\n" {
                break;
            }
        }
        bodies.answer(&host, &path, &mut writer)?;
    }
}

/// Starts a server with a thread for each connection.
fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let address = listener.local_addr().expect("a bound socket has an address");
    let bodies = Arc::new(Bodies::new());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let bodies = Arc::clone(&bodies);
            // A client that goes away in the middle is what a limit looks like from here.
            thread::spawn(move || serve(stream, &bodies));
        }
    });
    address
}

/// Crawls hosts of these kinds, so many of each; gives the peak of memory and the pages.
fn crawl(kinds: &[(&str, usize)]) -> (Peak, Vec<serde_json::Value>) {
    let address = start();
    let directory = tempfile::tempdir().expect("a directory for the test");
    let (mut seeds, mut rules) = (String::new(), String::new());
    for (kind, count) in kinds {
        for n in 0..*count {
            let _ = writeln!(seeds, "http://{kind}-{n}.test/");
            let _ = writeln!(rules, "{kind}-{n}.test:{address}");
        }
    }
    let path = |name| directory.path().join(name);
    let (file, hosts, out) = (path("seeds.txt"), path("hosts.txt"), path("out"));
    std::fs::write(&file, seeds).expect("the seed file can be written");
    std::fs::write(&hosts, rules).expect("the file of hosts can be written");
    let command = Crawl::new([
        "--agent",
        "SuperRobot/1.0",
        "--delay",
        "20ms",
        "--adaptive",
        "0",
        "--max-pages-per-host",
        "4",
    ])
    .args([Path::new("--seed"), &file, Path::new("--out"), &out])
    .args([Path::new("--resolve-file"), &hosts]);
    let (output, most) = Limited::start(command, MOST).wait(PATIENCE);
    assert!(matches!(output.code, Some(0 | 10)), "{output}");
    let pages = Crawl::new([Path::new("export"), &out]).args(["--table", "pages", "--format", "jsonl"]).run();
    (most, pages.expect(0).json())
}

fn of<'a>(pages: &'a [serde_json::Value], kind: &str) -> Vec<&'a serde_json::Value> {
    let prefix = format!("http://{kind}-");
    pages.iter().filter(|page| page["url"].as_str().is_some_and(|url| url.starts_with(&prefix))).collect()
}

#[test]
fn large_bodies_and_bombs_from_many_hosts_at_once_stay_under_300_mb() {
    let (most, pages) = crawl(&[("noise", 40), ("bomb", 60), ("html", 2), ("small", 20)]);
    eprintln!("peak {most}");
    // All are there, and the innocent ones whole.
    for (kind, count, bytes) in [
        ("noise", 40, Some(LARGEST)),
        ("bomb", 60, Some(LARGEST)),
        ("html", 2, Some(LARGEST)),
        ("small", 80, None),
    ] {
        let found = of(&pages, kind);
        assert_eq!(found.len(), count, "{kind}");
        for page in found {
            assert!(page["status"] == 200, "{page}");
            assert!(bytes.is_none_or(|bytes| page["bytes"] == bytes), "{page}");
        }
    }
}

#[test]
fn links_and_robots_files_that_grow_in_memory_stay_under_300_mb() {
    let (most, pages) = crawl(&[("links", 30), ("robots", 80), ("small", 20)]);
    eprintln!("peak {most}");
    assert_eq!(of(&pages, "small").len(), 80);
    assert_eq!(of(&pages, "robots").len(), 320);
}
