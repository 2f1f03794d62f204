//! Crawl directories that earlier versions of the program wrote, the sites that they crawled, and what must be in them.
//!
//! `cargo run -p whole-program --example write_stored_crawl` writes one. Every later version must be able to show, explain, audit, export
//! and resume it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::rules::Rules;
use crate::site::{Answer, Sites};

/// The crawls in `tests/data`, by the format of their database (docs/storage.md).
pub const FORMATS: [u32; 1] = [5];

/// Unpacks the crawl with a database format into a directory, and returns the path of the crawl.
///
/// # Panics
/// If it can't be unpacked.
pub fn unpack(format: u32, directory: &Path) -> PathBuf {
    let archive = format!("{}/data/crawl-format-{format}.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let status = Command::new("tar").args(["-xzf", &archive, "-C"]).arg(directory).status();
    assert!(status.expect("tar can be started").success(), "{archive}");
    directory.join("crawl-data")
}

/// The sites: two are crawled in part, `closed.test` has an unreachable robots.txt.
pub const HOSTS: [&str; 3] = ["archive.test", "closed.test", "library.test"];

/// Pages of the tree of `library.test` and of `archive.test`.
pub const TREES: [(&str, usize); 2] = [("library.test", 180), ("archive.test", 140)];

/// The URL that was forgotten.
pub const FORGOTTEN: &str = "http://library.test/7";

/// The URLs that were forgotten by a regular expression.
pub const FORGOTTEN_BY_PATTERN: [&str; 2] = ["http://archive.test/30", "http://archive.test/31"];

/// A word that only one page of a tree has.
pub fn word(host: &str, number: usize) -> String {
    format!("zq{}{number}", &host[..3])
}

/// What the sites serve. Pages 40 to 45 of each tree change after the first request.
pub fn sites() -> Sites {
    let mut sites = Sites::new()
        .page("library.test", "/robots.txt", Answer::robots(Rules::default().deny("/private/")))
        .page("closed.test", "/robots.txt", Answer::status(503))
        .page("closed.test", "/", Answer::html("<title>Closed</title>"));
    for (host, pages) in TREES {
        for number in 0..pages {
            sites = sites.page(host, &path(number), page(host, number, pages, "first"));
            if (40..46).contains(&number) {
                sites = sites.page(host, &path(number), page(host, number, pages, "second"));
            }
        }
    }
    let noindex = "<title>zqhidden</title><meta name=robots content=noindex><a href=/from-noindex>x</a>";
    let noarchive = "<title>Kept out</title><meta name=robots content=noarchive><p>zqnoarchive";
    let nofollow = "<title>No links</title><meta name=robots content=nofollow><a href=/from-nofollow>x</a>";
    for (path, answer) in [
        ("/noindex", Answer::html(noindex)),
        ("/noarchive", Answer::html(noarchive)),
        ("/nofollow", Answer::html(nofollow)),
        ("/from-noindex", Answer::html("<title>From noindex</title>")),
        ("/from-nofollow", Answer::html("<title>Never asked for</title>")),
        ("/private/secret", Answer::html("<title>Never asked for</title>")),
        ("/moved", Answer::redirect(301, "/1")),
        ("/data.json", Answer::content("application/json", "{\"a\": [1, 2, 3]}")),
        ("/feed.xml", Answer::content("application/rss+xml", FEED)),
    ] {
        sites = sites.page("library.test", path, answer);
    }
    sites
}

const FEED: &str = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>News</title><link>http://library.test/</link>\
    <item><title>One</title><link>http://library.test/1</link></item></channel></rss>";

fn path(number: usize) -> String {
    if number == 0 { "/".to_owned() } else { format!("/{number}") }
}

fn page(host: &str, number: usize, pages: usize, version: &str) -> Answer {
    let children = (4 * number + 1..=4 * number + 4).filter(|&child| child < pages);
    let links: Vec<String> = children.map(|child| format!("<a href=\"/{child}\">page {child}</a>")).collect();
    let others = if number == 0 && host == "library.test" { EXTRA } else { "" };
    let text: Vec<String> = (0..12).map(|place| format!("word{} {version}", number * 31 + place)).collect();
    let body = format!(
        "<!doctype html><html lang=en><head><title>Page {number} of {host}</title>\
         <meta name=description content=\"Number {number}\"></head><body><nav>{}</nav>{others}<p>{} {}</p></body></html>",
        links.join(" "),
        word(host, number),
        text.join(" ")
    );
    Answer::html(body).header("ETag", &format!("\"{version}-{number}\""))
}

const EXTRA: &str = "<a href=/noindex>a</a> <a href=/noarchive>b</a> <a href=/nofollow>c</a> <a href=/private/secret>d</a> \
    <a href=/moved>e</a> <a href=/missing>f</a> <a href=http://elsewhere.test/>g</a> <a rel=nofollow href=/by-nofollow>h</a> \
    <a href=/data.json>i</a> <a href=/feed.xml>j</a>";

/// Every URL that a complete crawl has a page record of: the trees, and the other pages that robots.txt and directives allow.
pub fn all_pages() -> BTreeSet<String> {
    let trees = TREES
        .iter()
        .flat_map(|&(host, pages)| (0..pages).map(move |number| format!("http://{host}{}", path(number))));
    let others =
        ["noindex", "from-noindex", "noarchive", "nofollow", "moved", "missing", "data.json", "feed.xml"];
    trees.chain(others.iter().map(|name| format!("http://library.test/{name}"))).collect()
}

/// Every URL that is skipped, with its reason in table `skipped`.
pub const SKIPPED: [(&str, &str); 4] = [
    ("http://elsewhere.test/", "other_host"),
    ("http://library.test/by-nofollow", "nofollow_rel"),
    ("http://library.test/from-nofollow", "nofollow_page"),
    ("http://library.test/private/secret", "robots_txt"),
];
