//! Memory stays bounded whatever servers send, with the settings of a user who changed nothing but the delay.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use whole_program::memory::{Limited, Peak};
use whole_program::program::{Crawl, PATIENCE};
use whole_program::random::Random;

use crate::search::{inflating_pdf, writing_pdf};

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
    pdfs: [Vec<u8>; 2],
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
        Self {
            noise,
            html,
            bomb: bomb.finish().expect("a bomb is made"),
            links: links.into_bytes(),
            robots: robots(),
            pdfs: [writing_pdf(), inflating_pdf()],
        }
    }

    /// Writes the answer for a host.
    fn answer(&self, host: &str, path: &str, stream: &mut TcpStream) -> std::io::Result<()> {
        let kind =
            host.trim_end_matches(|c: char| !c.is_ascii_lowercase()).split('-').next().unwrap_or_default();
        let html = "Content-Type: text/html; charset=windows-1252\r\n";
        let value = Value::of(kind);
        let named = match value {
            Some(_) => format!("Sitemap: http://{host}/map.xml\n").into_bytes(),
            None => Vec::new(),
        };
        let map = match value {
            Some(value) if path == "/map.xml" => value.sitemap(host)?,
            _ => Vec::new(),
        };
        let (fields, body): (&str, &[u8]) = match (kind, path) {
            ("robots", "/robots.txt") => ("", &self.robots),
            (_, "/robots.txt") => ("", &named),
            (_, "/map.xml") => ("Content-Type: application/xml\r\nContent-Encoding: gzip\r\n", &map),
            // One page is enough: a verdict by such a file takes a while.
            ("robots", _) => (html, b"<title>robots</title>"),
            ("noise", _) => ("", &self.noise),
            ("html", _) => (html, &self.html),
            ("bomb", _) => ("Content-Encoding: gzip\r\n", &self.bomb),
            ("links", "/") => (html, &self.links),
            ("pdf", "/1") => ("Content-Type: application/pdf\r\n", &self.pdfs[0]),
            ("pdf", "/2") => ("Content-Type: application/pdf\r\n", &self.pdfs[1]),
            _ => (html, b"<title>small</title><a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>"),
        };
        let length = body.len();
        write!(stream, "HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n")?;
        stream.write_all(body)
    }
}

/// A robots.txt of the largest size whose words have a meaning as they are written and another one decoded, and which each dialect reads
/// in a way of its own.
fn robots() -> Vec<u8> {
    const LARGEST_ROBOTS: usize = 500 << 10;
    let mut file = "User-agent: *\n# \0\nDisallow:\u{200b} /zz\n".as_bytes().to_vec();
    let words = |word: &str| format!("Disallow: {}\n", vec![word; 60].join(" "));
    let lines = [words("%24%24%24%24"), words("%2A%2A%2A%2A")];
    for line in lines.iter().cycle() {
        if file.len() + line.len() > LARGEST_ROBOTS - 16 {
            break;
        }
        file.extend(line.bytes());
    }
    file.extend(b"Allow: /\n");
    file
}

/// What the URLs of a sitemap end in. Percent-encoded, it takes three times its bytes.
#[derive(Clone, Copy)]
enum Value {
    /// 8 KiB of `"`: longer than a URL may be.
    Quotes,
    /// 8 KiB of `é`.
    Accents,
    /// As many `"` as a URL may have.
    Short,
}

impl Value {
    fn of(kind: &str) -> Option<Self> {
        match kind {
            "quotes" => Some(Self::Quotes),
            "accents" => Some(Self::Accents),
            "short" => Some(Self::Short),
            _ => None,
        }
    }

    /// A sitemap for a host, as gzip: of 50 MiB, or with URLs that take 30 MB once they are encoded.
    fn sitemap(self, host: &str) -> std::io::Result<Vec<u8>> {
        let member = |text: &str| -> std::io::Result<Vec<u8>> {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(text.as_bytes())?;
            gzip.finish()
        };
        let entries = |numbers: Range<u32>, value: &str| -> String {
            let entry = |n| format!("<url><loc>http://{host}/{n}{value}</loc></url>");
            numbers.map(entry).collect::<Vec<_>>().concat()
        };
        let head = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">";
        let all = match self {
            // What is too long counts each time: the same is sent again and again.
            Self::Quotes => member(&entries(0..60, &"\"".repeat(8_100)))?.repeat(106),
            Self::Accents => member(&entries(0..60, &"é".repeat(4_050)))?.repeat(106),
            Self::Short => member(&entries(0..15_000, &"\"".repeat(670)))?,
        };
        Ok([member(head)?, all, member("</urlset>")?].concat())
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

/// What a crawl came to.
struct Crawled {
    pages: Vec<serde_json::Value>,
    /// What `crawl show --json` says.
    summary: serde_json::Value,
}

impl Crawled {
    /// The pages of the hosts of a kind.
    fn of(&self, kind: &str) -> Vec<&serde_json::Value> {
        let prefix = format!("http://{kind}-");
        let is_of =
            |page: &&serde_json::Value| page["url"].as_str().is_some_and(|url| url.starts_with(&prefix));
        self.pages.iter().filter(is_of).collect()
    }
}

/// Crawls hosts of these kinds, so many of each, within the bound.
fn crawl(kinds: &[(&str, usize)], options: &[&str]) -> Crawled {
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
    .args(options)
    .args([Path::new("--seed"), &file, Path::new("--out"), &out])
    .args([Path::new("--resolve-file"), &hosts]);
    let (output, most) = Limited::start(command, MOST).wait(PATIENCE);
    eprintln!("{kinds:?}: peak {most}");
    assert!(matches!(output.code, Some(0 | 10)), "{output}");
    let pages = Crawl::new([Path::new("export"), &out]).args(["--table", "pages", "--format", "jsonl"]).run();
    let summary = Crawl::new([Path::new("show"), &out]).args(["--json"]).run();
    Crawled { pages: pages.expect(0).json(), summary: summary.expect(0).json().remove(0) }
}

#[test]
fn large_bodies_and_bombs_from_many_hosts_at_once_stay_under_300_mb() {
    let crawled = crawl(&[("noise", 40), ("bomb", 60), ("html", 2), ("small", 20)], &[]);
    // All are there, and the innocent ones whole.
    for (kind, count, bytes) in [
        ("noise", 40, Some(LARGEST)),
        ("bomb", 60, Some(LARGEST)),
        ("html", 2, Some(LARGEST)),
        ("small", 80, None),
    ] {
        let found = crawled.of(kind);
        assert_eq!(found.len(), count, "{kind}");
        for page in found {
            assert!(page["status"] == 200, "{page}");
            assert!(bytes.is_none_or(|bytes| page["bytes"] == bytes), "{page}");
        }
    }
}

#[test]
fn robots_files_that_grow_in_memory_beside_heavy_pages_stay_under_300_mb() {
    let crawled = crawl(&[("robots", 20), ("links", 10), ("html", 4), ("noise", 4), ("small", 20)], &[]);
    assert_eq!(crawled.of("small").len(), 80);
    assert_eq!(crawled.of("robots").len(), 20);
    assert_eq!(crawled.of("html").len(), 4);
}

/// Checks that so many sitemaps were read to their ends, and that the other hosts were crawled.
fn sitemaps(kinds: &[(&str, usize)]) {
    let crawled = crawl(kinds, &["--sitemaps"]);
    assert_eq!(crawled.of("small").len(), 80);
    let count: usize =
        kinds.iter().filter(|(kind, _)| Value::of(kind).is_some()).map(|(_, count)| count).sum();
    let maps = crawled.summary["sitemaps"].as_array().expect("a list");
    let read = maps.iter().filter(|map| map["url"].as_str().is_some_and(|url| url.ends_with("/map.xml")));
    let read: Vec<_> = read.filter(|map| map["state"] == "read").collect();
    assert_eq!(read.len(), count, "{maps:?}");
}

#[test]
fn a_sitemap_whose_urls_grow_threefold_stays_under_300_mb() {
    sitemaps(&[("quotes", 1), ("small", 20)]);
}

#[test]
fn sitemaps_of_six_hosts_whose_urls_grow_threefold_stay_under_300_mb() {
    sitemaps(&[("quotes", 3), ("accents", 2), ("short", 1), ("small", 20)]);
}

#[test]
fn heavy_pdf_files_beside_heavy_pages_stay_under_300_mb_with_the_process_that_reads_them() {
    let crawled = crawl(&[("pdf", 2), ("links", 10), ("html", 4), ("noise", 4), ("small", 20)], &[]);
    assert_eq!(crawled.of("small").len(), 80);
    assert_eq!(crawled.of("pdf").len(), 8);
    assert_eq!(crawled.of("html").len(), 4);
    // They were read, as far as their limits let them.
    let limits = crawled.summary["limits"].as_array().expect("a list");
    let of_memory = limits.iter().find(|limit| limit["what"] == "PDF memory");
    assert_eq!(of_memory.expect("files over the limit")["count"], 2, "{limits:?}");
}
