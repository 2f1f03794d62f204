//! A large frontier on sled: how fast URLs are admitted, what they cost in memory and on disk, how fast it opens.
//!
//! `URLS=5000000 HOSTS=10000 ORDER=host|page|random cargo bench -p crawler --bench large_frontier`; without the variables,
//! 200,000 URLs of 1,000 hosts. The URLs come host by host; 60 of a host at a time, as a page names them, the hosts at random; or each at random.

mod shared;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use crawler::frontier::{Frontier, FrontierLimits, Priority, QueuedUrl};
use crawler::pace::{Delay, DelayReason};
use crawler::store::{SledStore, Store, Tree, Write};
use page::clock::{Clock, Now};
use page::url::{CrawlUrl, FingerprintKey};

use shared::disk;

const KEY: FingerprintKey = FingerprintKey::new([9; 16]);
const NO_GAP: Delay = Delay { length: Duration::ZERO, why: DelayReason::Configured };

/// URLs between two commits.
const GROUP: u64 = 50_000;

/// Links of a page, with `ORDER=page`.
const LINKS: u64 = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let number =
        |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (urls, hosts) = (number("URLS", 200_000), number("HOSTS", 1_000).max(1));
    let order = std::env::var("ORDER").unwrap_or_else(|_| "host".to_owned());
    // An odd multiplier visits every number once, far from its neighbours.
    let at_random = |n: u64| n.wrapping_mul(0x9E37_79B1) % hosts;
    let host_of: Box<dyn Fn(u64) -> u64> = match &*order {
        "host" => Box::new(|n| n / urls.div_ceil(hosts)),
        "page" => Box::new(|n| at_random(n / LINKS)),
        "random" => Box::new(at_random),
        other => return Err(format!("ORDER={other}: expected host, page or random").into()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let guard = runtime.enter();
    let clock = Clock::system();
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("db");

    let store = Arc::new(SledStore::create(&path)?);
    store.commit(vec![Write::put(Tree::Meta, "format", "1")])?;
    let mut frontier = Frontier::open(&store, FrontierLimits::default(), NO_GAP, KEY, clock.now())?;
    let start = clock.now().mono;
    for n in 0..urls {
        let host = host_of(n);
        let text =
            format!("http://www.site-{host:05}.example/section-{}/a-page-with-a-slug-{n}.html", n % 17);
        let url = CrawlUrl::parse(&text)?;
        let id = frontier.host_id(url.host()).expect("a host");
        frontier.admit(id, url.fingerprint(&KEY), QueuedUrl::link(&url, 1, None), Priority::Link, true)?;
        if n % GROUP == GROUP - 1 {
            commit(&mut frontier, clock.now())?;
        }
    }
    commit(&mut frontier, clock.now())?;
    let took = clock.now().mono.saturating_sub(start);
    let queued = frontier.counts().queued;
    println!("urls {queued} hosts {hosts} order {order}");
    println!("admit {:.0} URLs/s ({:.2} s)", queued as f64 / took.as_secs_f64(), took.as_secs_f64());
    println!("memory {} MB now, {} MB at most", status("VmRSS:")? / 1024, status("VmHWM:")? / 1024);
    drop(frontier);
    drop(store);
    println!("disk {:.1} bytes a URL", disk(&path)? as f64 / queued as f64);

    let start = clock.now().mono;
    let store = Arc::new(SledStore::open(&path)?);
    let opened = clock.now().mono.saturating_sub(start);
    let mut frontier = Frontier::open(&store, FrontierLimits::default(), NO_GAP, KEY, clock.now())?;
    let first = frontier.lease(clock.now())?;
    let ready = clock.now().mono.saturating_sub(start);
    println!("reopen {:.3} s, first lease after {:.3} s", opened.as_secs_f64(), ready.as_secs_f64());
    assert!(first.is_some(), "a URL is leased");
    assert_eq!(frontier.counts().queued, queued, "nothing is lost");
    assert!(ready < Duration::from_secs(600), "it opens");
    drop(guard);
    Ok(())
}

fn commit(frontier: &mut Frontier<SledStore>, now: Now) -> Result<(), Box<dyn Error>> {
    let (generation, writes) = frontier.cut(now)?;
    frontier.store().commit(writes)?;
    frontier.committed(generation);
    Ok(())
}

/// A figure of this process in KiB, from the kernel.
fn status(name: &str) -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find(|line| line.starts_with(name)).ok_or("no such figure")?;
    Ok(line.split_whitespace().nth(1).ok_or("no figure")?.parse()?)
}
