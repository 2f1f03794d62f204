//! The full-text index of a crawl: how long queries take, what each part of the index costs, and how large it is.
//!
//! `DIR=crawl-data cargo bench -p crawler --bench full_text`; the directory is a crawl's with an index and an archive. `ROUNDS` (20): how
//! often each query is asked; `PASSES` (5): how often each index is written. Every figure of an index comes from passes that take
//! turns, of which the one with the least processor time counts.

mod shared;

use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crawler::config::Settings;
use crawler::search::{Added, PagesInMemory, Request, Search};
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
    let began = processor_time()?;
    let pages = PagesInMemory::read(&dir, view.store(), limits, now)?;
    let reading = processor_time()?.saturating_sub(began);
    let count = pages.pages().max(1) as f64;
    println!("pages: {}, {:.0} bytes of text each", pages.pages(), pages.bytes() as f64 / count);
    let each = |took: Duration| took.as_secs_f64() * 1e6 / count;

    // Each part with all before it; the crawl's own writer last.
    let mut parts = Added::ALL.map(|added| (Some(added), Duration::MAX, 0)).to_vec();
    parts.push((None, Duration::MAX, 0));
    for _ in 0..number("PASSES", 5) {
        for (added, least, size) in &mut parts {
            let place = tempfile::tempdir()?;
            let (began, ended) = if let Some(added) = added {
                let (began, ended) = pages.index_with_tantivy(place.path(), *added, processor_time)?;
                (began?, ended?)
            } else {
                let began = processor_time()?;
                pages.index(place.path())?;
                (began, processor_time()?)
            };
            *least = (*least).min(ended.saturating_sub(began));
            *size = disk(place.path())?;
        }
    }
    println!("processor time of a page, each part with all before it:");
    let mut before = Duration::ZERO;
    for (added, took, size) in &parts {
        let name = added.map_or_else(|| "Writer".to_owned(), |added| format!("{added:?}"));
        println!(
            "  {name:<10} {:>5.0} us, {:>+5.0} us; {:.0} bytes on disk",
            each(*took),
            each(*took) - each(before),
            *size as f64 / count
        );
        before = *took;
    }
    println!("  texts read again from the archive: {:.0} us", each(reading));
    println!("size of the crawl's own index: {:.0} bytes a page", disk(&dir.join("index"))? as f64 / count);
    Ok(())
}

/// What this process has used of the processor, in all its threads, to a hundredth of a second.
fn processor_time() -> std::io::Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // After the name of the program, which may have blanks: user and system time are the 12th and 13th field.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}

fn tell(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
    println!("{what}: p50 {:?}, p95 {:?}, at most {:?} ({} queries)", at(50), at(95), at(100), times.len());
}
