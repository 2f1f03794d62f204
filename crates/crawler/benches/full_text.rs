//! The full-text index of a crawl: how long queries take, what the index costs beside tantivy alone, and how large it is.
//!
//! `DIR=crawl-data cargo bench -p crawler --bench full_text`; the directory is a crawl's with an index and an archive. `ROUNDS` (20): how
//! often each query is asked; `PASSES` (5): how often each index is written. Every figure of the two indexes comes from passes that
//! take turns, of which the fastest counts.

mod shared;

use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crawler::config::Settings;
use crawler::search::{PagesInMemory, Request, Search};
use crawler::view::View;
use page::clock::Clock;

use shared::disk;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Words, phrases, operators, fields, filters; common ones and rare ones.
const QUERIES: [&str; 20] = [
    "install",
    "configuration file",
    "\"command line\"",
    "regular expression",
    "title:tutorial",
    "title:configuration",
    "headings:options",
    "description:documentation",
    "thread OR process",
    "error -warning",
    "\"standard library\" AND unicode",
    "(parse OR read) json",
    "status:200 logging",
    "lang:en database",
    "connection timeout retry",
    "\"how to\"~2",
    "nosuchwordanywhere",
    "the of and to in",
    "socket bind address",
    "*",
];

fn main() -> Result<()> {
    let number = |name: &str, usual: usize| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let Some(dir) = std::env::var_os("DIR").map(PathBuf::from) else {
        println!("DIR names no crawl: DIR=crawl-data cargo bench -p crawler --bench full_text");
        return Ok(());
    };
    let clock = Clock::system();
    let now = clock.now().wall;

    let search = Search::open(&dir)?;
    let mut times = Vec::new();
    for round in 0..=number("ROUNDS", 20) {
        for query in QUERIES {
            let request = Request { query: query.to_owned(), limit: 10, ..Request::default() };
            let began = clock.now().mono;
            let found = search.find(&request, now)?;
            let took = clock.now().mono.saturating_sub(began);
            // The first round warms.
            if round == 0 {
                println!("  {query}: {} pages, {took:?} cold", found.total);
            } else {
                times.push(took);
            }
        }
    }
    tell("in-process, warm, 10 hits with snippets", &mut times);
    times.clear();
    for round in 0..3 {
        for query in QUERIES {
            let began = clock.now().mono;
            let mut command = Command::new(env!("CARGO_BIN_EXE_crawl"));
            command.arg("search").arg(&dir).args(["--json", "--", query]);
            let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            let took = clock.now().mono.saturating_sub(began);
            if !status.success() {
                return Err(format!("{query}: {status}").into());
            }
            if round > 0 {
                times.push(took);
            }
        }
    }
    tell("crawl search, a process each", &mut times);

    let view = View::open(&dir)?;
    let settings = Settings::default();
    let limits = settings.page.extract_limits(settings.limits.max_links_per_page);
    let pages = PagesInMemory::read(&dir, view.store(), limits, now)?;
    let count = pages.pages().max(1) as f64;
    println!("pages: {}, {:.0} bytes of text each", pages.pages(), pages.bytes() as f64 / count);
    let (mut ours, mut alone) = (Duration::MAX, Duration::MAX);
    let mut sizes = (0, 0);
    for _ in 0..number("PASSES", 5) {
        let place = tempfile::tempdir()?;
        let began = clock.now().mono;
        pages.index(place.path())?;
        ours = ours.min(clock.now().mono.saturating_sub(began));
        sizes.0 = disk(&place.path().join("index"))?;
        let place = tempfile::tempdir()?;
        let (began, ended) = pages.index_with_tantivy(place.path(), || clock.now().mono)?;
        alone = alone.min(ended.saturating_sub(began));
        sizes.1 = disk(place.path())?;
    }
    let each = |took: Duration| took.as_secs_f64() * 1e6 / count;
    println!(
        "index: {:.0} us a page; tantivy alone on the same texts: {:.0} us; ratio {:.2}",
        each(ours),
        each(alone),
        ours.as_secs_f64() / alone.as_secs_f64()
    );
    println!(
        "size: {:.0} bytes a page; tantivy alone: {:.0}; the crawl's own index: {:.0}",
        sizes.0 as f64 / count,
        sizes.1 as f64 / count,
        disk(&dir.join("index"))? as f64 / count
    );
    Ok(())
}

fn tell(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
    println!("{what}: p50 {:?}, p95 {:?}, at most {:?} ({} queries)", at(50), at(95), at(100), times.len());
}
