//! A large crawl's records on sled: what they cost in memory and on disk while they are written and when they are read.
//!
//! `PAGES=1000000 cargo bench -p crawler --bench large_store` writes the records of a crawl without its network: frontier, pages with ten
//! links each, ledger and archive; then each reader of the program `crawl` runs over them, and its peak memory is printed. Without
//! the variable, 20,000 pages. `HOSTS` (1,000), `BATCH` (pages a commit, 50), `WARC=0` (no archive), `DIR` (kept; a crawl that is
//! there already is only read).

mod shared;

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crawler::commit::{Batch, Committer, SettledPage, Totals};
use crawler::config::{Record, Settings, to_toml};
use crawler::frontier::{
    Frontier, FrontierLimits, HostCounts, HostDelta, Priority, QueuedUrl, Settlement, Via, Work,
};
use crawler::job::{CrawlDir, FORMAT};
use crawler::pace::{Delay, DelayReason};
use crawler::record::{
    Decision, EffectsTaken, Evidence, Layer, LinkOutcome, LinkRecord, PageRecord, RequestMade, RobotsAccess,
    RobotsEvidence, RobotsRecord,
};
use crawler::store::{SledStore, Store, Tree, Write};
use crawler::warc::{Exchange, WarcInfo, encode};
use page::clock::{Clock, Now};
use page::url::{CrawlUrl, FingerprintKey};

use shared::disk;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const KEY: FingerprintKey = FingerprintKey::new([9; 16]);
const GAP: Delay = Delay { length: Duration::from_secs(1), why: DelayReason::Configured };
const TOOK: Duration = Duration::from_millis(100);
const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn main() -> Result<()> {
    let number =
        |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (pages, hosts, batch) = (number("PAGES", 20_000), number("HOSTS", 1_000).max(1), number("BATCH", 50));
    let place = tempfile::tempdir()?;
    let dir = std::env::var_os("DIR").map_or_else(|| place.path().join("crawl"), PathBuf::from);
    if !dir.join("db").exists() {
        write(&dir, pages, hosts, batch.max(1), number("WARC", 1) != 0)?;
    }
    let tables = ["pages", "links", "hosts", "queue", "skipped", "ledger", "errors"];
    read(&dir, &["show"])?;
    for table in tables {
        read(&dir, &["export", "--table", table, "--format", "jsonl"])?;
    }
    for table in ["pages", "links"] {
        read(&dir, &["export", "--table", table, "--format", "parquet"])?;
    }
    read(&dir, &["export", "--table", "duplicates", "--format", "jsonl"])?;
    let database = place.path().join("crawl.sqlite");
    read(&dir, &["export", "--format", "sqlite", "-o", &database.to_string_lossy()])?;
    read(&dir, &["audit"])?;
    read(&dir, &["report", "--host", "www.site-00000.example"])
}

/// Runs the program on the directory and tells its time and peak memory.
#[expect(clippy::disallowed_methods, reason = "a benchmark looks at a child while it runs")]
fn read(dir: &Path, arguments: &[&str]) -> Result<()> {
    let clock = Clock::system();
    let start = clock.now().mono;
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawl"));
    command.arg(arguments[0]).arg(dir).args(&arguments[1..]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.spawn()?;
    let (_never, pause) = channel::<()>();
    let mut most = 0;
    let status = loop {
        // Until the child has taken up its own program, its mark is this process's.
        let program = |pid: &str| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        if program(&child.id().to_string()) != program("self") {
            most = most.max(figure(&format!("/proc/{}/status", child.id()), "VmHWM:").unwrap_or(0));
        }
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if pause.recv_timeout(Duration::from_millis(5)) == Err(RecvTimeoutError::Disconnected) {
            break child.wait()?;
        }
    };
    let took = clock.now().mono.saturating_sub(start).as_secs_f64();
    println!("crawl {}: {} MB at most, {took:.1} s, {status}", arguments.join(" "), most / 1024);
    if status.success() { Ok(()) } else { Err(format!("crawl {} failed", arguments.join(" ")).into()) }
}

/// Writes the records of a crawl whose clock is a number.
fn write(dir: &Path, pages: u64, hosts: u64, batch: u64, archive: bool) -> Result<()> {
    let clock = Clock::system();
    let began = clock.now();
    let held = CrawlDir::create(dir)?;
    let url = |host: u64, page: u64| -> Result<CrawlUrl> {
        let text =
            format!("http://www.site-{host:05}.example/section-{}/a-page-with-a-slug-{page}.html", page % 17);
        Ok(CrawlUrl::parse(&text)?)
    };
    let mut settings = Settings::default();
    "SuperRobot/1.0".clone_into(&mut settings.agent.product);
    let seeds = (0..hosts).map(|host| Ok(url(host, 0)?.to_string())).collect::<Result<Vec<_>>>()?;
    let urls = seeds.iter().map(|seed| CrawlUrl::parse(seed)).collect::<std::result::Result<Vec<_>, _>>()?;
    let (run, in_force) = crawler::config::run_settings(&settings, &urls)?;
    let record = Record { program: "bench".to_owned(), started: began.wall, seeds, ..Record::default() };
    let text = to_toml(&settings, &record)?;
    held.write_settings(&text)?;
    {
        let store = SledStore::create(&held.unfinished_db())?;
        store.commit(vec![
            Write::put(Tree::Meta, "format", FORMAT.to_string()),
            Write::put(Tree::Meta, "crawl_id", "large-store"),
            Write::put(Tree::Meta, "fingerprint_key", KEY.bytes()),
            Write::put(Tree::Meta, "started", began.wall.to_string()),
            Write::put(Tree::Meta, "settings", text),
            Write::put(Tree::Meta, run.key(), in_force),
        ])?;
    }
    held.finish_db()?;
    let store = Arc::new(SledStore::open(&held.db())?);
    let mut now = Now { mono: Duration::ZERO, wall: began.wall };
    let mut frontier = Frontier::open(&store, FrontierLimits::default(), GAP, KEY, now)?;
    let info = WarcInfo {
        software: "bench".to_owned(),
        robots: "obeyed".to_owned(),
        user_agent: settings.agent.user_agent(),
        from: None,
        operator: None,
        settings: None,
        is_part_of: "large_store".to_owned(),
        started_at: began.wall,
    };
    let warc = held.warc();
    let archive = archive.then_some((warc.as_path(), &info, 1_000_000_000));
    let is_archived = archive.is_some();
    let mut committer = Committer::open(Arc::clone(&store), archive)?;
    let mut crawl = Batch::default();
    crawl.decisions.push(decision(
        now,
        "",
        "started",
        Layer::Stop,
        Evidence { run: Some(Box::new(run)), ..Evidence::from("run 1; delay 1 s, adaptive 5") },
    ));
    for host in 0..hosts {
        let seed = url(host, 0)?;
        let id = frontier.host_id(seed.host())?;
        frontier.admit(id, seed.fingerprint(&KEY), QueuedUrl::seed(&seed), Priority::First, true)?;
        crawl.robots.push(robots_txt(&seed, now).into());
    }
    let mut next_robots = Duration::from_secs(12 * 3600);
    let mut totals = Totals { runs: 1, ..Totals::default() };
    let per_host = pages.div_ceil(hosts);
    while totals.pages < pages {
        let Some(permit) = frontier.lease(now)? else {
            let ready = frontier.next_ready().ok_or("no URL waits")?;
            now = now_at(began, ready);
            if now.mono >= next_robots {
                next_robots = now.mono + Duration::from_secs(12 * 3600);
                for host in 0..hosts {
                    crawl.robots.push(robots_txt(&url(host, 0)?, now).into());
                }
            }
            continue;
        };
        let lease = permit.lease().clone();
        let Work::Visit(item) = &lease.work else { return Err("a robots fetch".into()) };
        let page = lease.url.fingerprint(&KEY);
        let name: u64 = lease.url.host()[9..14].parse()?;
        let path = lease.url.path_and_query();
        let digits =
            path.rsplit_once('-').and_then(|(_, rest)| rest.strip_suffix(".html")).ok_or("a path")?;
        let own: u64 = digits.parse()?;
        let via = Some(Via { host: lease.host, page });
        let mut links = Vec::new();
        for child in 4 * own + 1..=4 * own + 4 {
            let target = url(name, child)?;
            if child < per_host {
                let next = QueuedUrl::link(&target, item.depth + 1, via);
                frontier.admit(lease.host, target.fingerprint(&KEY), next, Priority::Link, true)?;
                links.push(link(&target, child, LinkOutcome::Queued));
            } else {
                links.push(link(&url(name, child % per_host)?, child, LinkOutcome::Seen));
            }
        }
        for other in 0..4 {
            let known = own.wrapping_mul(7).wrapping_add(other) % (own + 1);
            links.push(link(&url(name, known)?, known, LinkOutcome::Seen));
        }
        let outside = CrawlUrl::parse(&format!("http://www.other-{}.example/", own % 50))?;
        links.push(link(&outside, own, LinkOutcome::OtherHost));
        let closed = CrawlUrl::parse(&format!("http://{}/login?from={own}", lease.url.host()))?;
        links.push(LinkRecord {
            rel: "nofollow".to_owned(),
            nofollow: true,
            ..link(&closed, own, LinkOutcome::RelNofollow)
        });
        let skipped = |url: &CrawlUrl, layer, reason: &str| Decision {
            reason: reason.into(),
            via: Some(lease.url.to_string()),
            ..decision(now, url.as_str(), "skipped", layer, Evidence::default())
        };
        crawl.decisions.push(skipped(&closed, Layer::Directive, "nofollow_rel"));
        if own < 50 {
            crawl.decisions.push(skipped(&outside, Layer::Scope, "other_host"));
        }
        let ended = now_at(began, now.mono + TOOK);
        let robots = RobotsEvidence { reason: "no rule matches".to_owned(), ..RobotsEvidence::default() };
        let made = RequestMade::new(now, ended, Some(200), 900, GAP);
        let effects = EffectsTaken { indexed: true, archived: is_archived, followed: true };
        let evidence =
            Evidence { robots: Some(robots.clone()), effects: Some(effects), ..Evidence::default() }
                .with_request(Some(made));
        crawl.decisions.push(decision(ended, lease.url.as_str(), "fetched", Layer::Fetch, evidence));
        let title = format!("Page {own} of site {name}");
        let description = format!("What page {own} is about, in some words of its author");
        let body = body(&title, &description, own, &links);
        let headers = [("content-type".to_owned(), b"text/html".to_vec())];
        let encoded = is_archived.then(|| {
            encode(&Exchange {
                url: lease.url.as_str(),
                request_head: b"GET / HTTP/1.1\r\n\r\n",
                response_head: None,
                tls: None,
                purpose: None,
                status: 200,
                version: "HTTP/1.1",
                headers: &headers,
                wire_body: body.as_bytes(),
                truncated: None,
                ip: None,
                fetched_at: now.wall,
            })
        });
        let record = PageRecord {
            v: 1,
            url: lease.url.to_string(),
            status: Some(200),
            content_type: Some("text/html".to_owned()),
            charset: Some("utf-8".to_owned()),
            title: Some(title),
            description: Some(description),
            keywords: Some(vec!["nails".to_owned(), format!("wood {}", own % 100)]),
            language: Some("en".to_owned()),
            depth: item.depth,
            via: item.via,
            fetched_at: now.wall,
            duration_ms: 100,
            bytes: body.len() as u64,
            wire_bytes: body.len() as u64,
            digest: Some(format!("blake3:{}", blake3::hash(body.as_bytes()).to_hex())),
            indexed: true,
            archived: is_archived,
            followed: true,
            links_out: links.len() as u64,
            robots,
            tries: 1,
            serves: vec![meta::consent::Purpose::Search, meta::consent::Purpose::Archive],
            ..PageRecord::default()
        };
        totals.pages += 1;
        totals.requests += 1;
        totals.indexed += 1;
        totals.archived += u64::from(is_archived);
        crawl.pages.push(SettledPage {
            host: lease.host,
            page,
            record,
            links,
            keeps_links: false,
            blanks_links: false,
            warc: encoded,
            discovery: None,
            text: None,
        });
        let counts = HostCounts { pages: 1, requests: 1, ..HostCounts::default() };
        let host = HostDelta { counts, ..HostDelta::default() };
        let not_before = ended.mono + GAP.length + Duration::from_millis(1);
        frontier.settle(permit, Settlement { host, ..Settlement::finished(not_before, GAP) });
        if totals.pages.is_multiple_of(batch) || totals.pages == pages {
            let (generation, writes) = frontier.cut(now)?;
            let batch = std::mem::take(&mut crawl);
            committer.commit(Batch { generation, writes, totals, ..batch })?;
            frontier.committed(generation);
        }
        if totals.pages.is_multiple_of(100_000) {
            let status = "/proc/self/status";
            println!("  {} pages: {} MB", totals.pages, figure(status, "VmRSS:")? / 1024);
        }
    }
    let took = clock.now().mono.saturating_sub(began.mono).as_secs_f64();
    println!("written: {pages} pages of {hosts} hosts, {batch} a commit: {:.0} pages/s", pages as f64 / took);
    println!("memory {} MB at most", figure("/proc/self/status", "VmHWM:")? / 1024);
    drop((frontier, committer, store));
    let database = disk(&held.db())?;
    println!(
        "disk {:.0} bytes a page, and {:.0} of the archive",
        database as f64 / pages as f64,
        disk(&warc).unwrap_or(0) as f64 / pages as f64
    );
    Ok(())
}

fn now_at(began: Now, mono: Duration) -> Now {
    let since = jiff::SignedDuration::try_from(mono).unwrap_or_default();
    Now { mono, wall: began.wall.checked_add(since).unwrap_or(began.wall) }
}

fn decision(now: Now, url: &str, decision: &str, layer: Layer, evidence: Evidence) -> Decision {
    Decision {
        at: now.wall,
        url: url.to_owned(),
        host: CrawlUrl::parse(url).map(|url| url.host().to_owned()).unwrap_or_default(),
        decision: decision.into(),
        layer,
        reason: "bench".into(),
        evidence,
        via: None,
    }
}

/// What the page's record and its links were read from.
fn body(title: &str, description: &str, own: u64, links: &[LinkRecord]) -> String {
    let keywords = format!("nails, wood {}", own % 100);
    let mut body = format!(
        "<html lang=en><head><title>{title}</title><meta name=description content='{description}'>\
         <meta name=keywords content='{keywords}'></head><body>"
    );
    for link in links {
        let rel = if link.nofollow { " rel=nofollow" } else { "" };
        let _ = write!(body, "<a href='{}'{rel}>{}</a> ", link.to, link.text);
    }
    body + "</body></html>"
}

fn link(to: &CrawlUrl, number: u64, outcome: LinkOutcome) -> LinkRecord {
    LinkRecord {
        to: to.as_str().into(),
        kind: "a".into(),
        rel: String::new(),
        text: format!("The page with number {number}").into(),
        nofollow: false,
        outcome,
        position: None,
        hreflang: None,
    }
}

fn robots_txt(url: &CrawlUrl, now: Now) -> RobotsRecord {
    let mut record = RobotsRecord {
        v: 1,
        origin: url.origin().to_string(),
        fetched_at: now.wall,
        status: Some(200),
        access: RobotsAccess::Rules,
        reason: "status 200".to_owned(),
        expires: now_at(now, now.mono + Duration::from_secs(24 * 3600)).wall,
        digest: None,
        bytes: ROBOTS.len() as u64,
        body: None,
        body_base64: None,
        hops: Vec::new(),
        headers: Vec::new(),
        consent_lines: None,
        clocks: None,
        warnings: Vec::new(),
        first_failure: None,
        failures: 0,
        good_copy: None,
        failure: None,
    };
    record.set_body(ROBOTS.as_bytes());
    record
}

/// A figure in KiB, from the kernel.
fn figure(path: &str, name: &str) -> Result<u64> {
    let text = std::fs::read_to_string(path)?;
    let line = text.lines().find(|line| line.starts_with(name)).ok_or("no such figure")?;
    Ok(line.split_whitespace().nth(1).ok_or("no figure")?.parse()?)
}
