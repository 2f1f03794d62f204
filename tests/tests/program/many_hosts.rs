//! Hosts that are only known take next to no memory, and a crawl of many of them is soon resumed.
//!
//! `WHOLE_PROGRAM_HOSTS=1000000` tries as many; by default 100,000.

use std::fmt::Write as _;
use std::time::Duration;

use whole_program::memory::{Limited, Peak};
use whole_program::program::Output;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// Links of one page, as many as are read of it by default.
const LINKS: usize = 10_000;

/// Memory of the whole program.
const MOST: Peak = Peak(300_000_000);

fn hosts() -> usize {
    let number = std::env::var("WHOLE_PROGRAM_HOSTS").ok().and_then(|text| text.parse().ok());
    number.unwrap_or(100_000)
}

/// A page with links to hosts of their own domains, with so much text that it may add all of them to the database.
fn page(n: usize) -> Answer {
    let mut body = format!("<title>{n}</title>");
    for host in n * LINKS..(n + 1) * LINKS {
        let _ = write!(body, "<a href=http://www.domain-{host}.test/>The site of domain {host}</a>");
    }
    Answer::html(body)
}

fn run(command: whole_program::program::Crawl) -> (Output, Peak) {
    Limited::start(command, MOST).wait(Duration::from_mins(20))
}

#[test]
fn hosts_that_are_only_known_take_next_to_no_memory() {
    let pages = hosts() / LINKS;
    let site = (0..pages).fold(Sites::new(), |sites, n| sites.page(&format!("seed-{n}.test"), "/", page(n)));
    let scene = Scene::new(site);
    let any = format!("*:{}", scene.server.address());
    let most = pages.to_string();
    let command = scene.crawl().args(["--scope", "any", "--resolve", &any, "--max-pages", &most]);
    std::fs::write(scene.path("all.toml"), "[traps]\nhosts_per_page = \"none\"\n").unwrap();
    let config = scene.path("all.toml");
    let (output, peak) = run(command.args(["--no-warc", "--config"]).args([config]));
    output.expect(10);
    let (again, resumed) = run(scene.resume().args(["--max-pages", &most]));
    again.expect(10);
    let hosts = scene.look("show", &["--json"]).expect(0).json();
    eprintln!("{} hosts: peak {peak}, resumed {resumed}: {}", self::hosts(), hosts[0]["queued"]);
    let known =
        scene.look("export", &["--table", "hosts", "--format", "csv"]).expect(0).stdout.lines().count() - 1;
    assert_eq!(known, pages * (LINKS + 1), "every host is known once");
}
