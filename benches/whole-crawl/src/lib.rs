//! The generated web: which pages there are, and what they link to.
//!
//! Deterministic: the same numbers always give the same pages. Text comes from a few blocks that are made once, so that a page costs the server
//! little beside the crawler that is measured.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use fastrand::Rng;

/// What a page has.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Links, the two to its children included.
    pub links: usize,
    /// Bytes of text beside its links.
    pub text: usize,
}

/// 42 KB with 62 links.
pub const USUAL: Size = Size { links: 62, text: 37_000 };

/// 1.5 KB with 8 links: a crawl of a million takes minutes.
pub const SMALL: Size = Size { links: 8, text: 800 };

/// Different texts.
const BLOCKS: usize = 32;

const WORDS: [&str; 40] = [
    "harbour", "tide", "lantern", "river", "archive", "stone", "letter", "winter", "garden", "engine", "ledger", "signal", "orchard",
    "copper", "meadow", "station", "paper", "window", "island", "bridge", "market", "thunder", "violin", "compass", "library", "granite",
    "falcon", "weather", "village", "mirror", "shadow", "kettle", "anchor", "forest", "canvas", "mountain", "saddle", "candle",
    "northern", "quiet",
];

/// A web of so many hosts with so many pages each.
#[derive(Debug)]
pub struct Web {
    pub hosts: usize,
    pub pages: usize,
    pub port: u16,
    size: Size,
    blocks: Vec<String>,
}

impl Web {
    pub fn new(hosts: usize, pages: usize, port: u16, size: Size) -> Self {
        let blocks = (0..BLOCKS as u64).map(|seed| block(&mut Rng::with_seed(seed), size.text)).collect();
        Self { hosts, pages, port, size, blocks }
    }

    /// The address of a host: one in 127.1.0.0/16 each, so that no name has to be looked up.
    pub fn address(&self, host: usize) -> Ipv4Addr {
        Ipv4Addr::new(127, 1, (host / 250) as u8, (host % 250 + 1) as u8)
    }

    pub fn host_of(&self, address: Ipv4Addr) -> Option<usize> {
        let [_, _, high, low] = address.octets();
        let host = usize::from(high) * 250 + usize::from(low).checked_sub(1)?;
        (host < self.hosts).then_some(host)
    }

    /// The front page of a host.
    pub fn front(&self, host: usize) -> String {
        format!("http://{}:{}/", self.address(host), self.port)
    }

    /// The number of a page by its path; none where there is no such page.
    pub fn page_of(&self, path: &str) -> Option<usize> {
        if path == "/" {
            return Some(0);
        }
        let number = path.strip_prefix("/p/")?.strip_suffix(".html")?.parse().ok()?;
        (1..self.pages).contains(&number).then_some(number)
    }

    /// A page. Page N links to 2N+1 and 2N+2, so that every page of a host can be found from its front page.
    pub fn page(&self, host: usize, page: usize) -> String {
        let mut random = Rng::with_seed((host as u64) << 32 | page as u64);
        let mut html = String::with_capacity(self.size.text + 8_000);
        let _ = write!(
            html,
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page {page} of host {host}</title>\
             <meta name=\"description\" content=\"Generated page {page}\"></head><body><h1>Page {page}</h1><nav>"
        );
        for child in [2 * page + 1, 2 * page + 2] {
            let target = if child < self.pages { child } else { page };
            let _ = write!(html, "<a href=\"/p/{}.html\">next {child}</a> ", target.max(1));
        }
        for n in 2..self.size.links {
            // Of a single page it is the page itself.
            let target = (1 + random.usize(..(self.pages - 1).max(1))) % self.pages;
            match random.usize(..10) {
                0..=2 => {
                    let other = random.usize(..self.hosts);
                    let (address, port) = (self.address(other), self.port);
                    let _ = write!(html, "<a href=\"http://{address}:{port}/p/{target}.html\">elsewhere {n}</a> ");
                }
                3 | 4 => drop(write!(html, "<a href=\"/p/../p/{target}.html#s{n}\">up {n}</a> ")),
                _ => drop(write!(html, "<a class=\"c{n}\" href=\"/p/{target}.html\">page {target}</a> ")),
            }
        }
        if page % 5 == 0 {
            let _ = write!(html, "<a href=\"/private/{page}\">private</a>");
        }
        html.push_str("</nav><main>");
        html.push_str(&self.blocks[random.usize(..BLOCKS)]);
        html.push_str("</main></body></html>");
        html
    }
}

fn block(random: &mut Rng, length: usize) -> String {
    let mut text = String::with_capacity(length + 1_000);
    while text.len() < length {
        text.push_str("<p>");
        for _ in 0..60 {
            text.push_str(WORDS[random.usize(..WORDS.len())]);
            let _ = write!(text, "{} ", if random.usize(..6) == 0 { random.usize(..100_000).to_string() } else { String::new() });
        }
        text.push_str("</p>\n");
    }
    text
}
